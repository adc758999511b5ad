/* A model in several files, as gguf-split makes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gguf_internal.h"

/* "-00001-of-00003.gguf" */
enum { NUMBERED = 20 };

/* A whole number below GGUF_MAX_PARTS; `absent` where there is none. */
static int split_number(const struct gguf *file, const char *key, size_t absent,
                        size_t *ret, struct err *err)
{
    const struct gguf_value *v = gguf_find(file, key);
    double number = (double)absent;
    if (v && (v->list || !gguf_number(v, 0, &number) || !(number >= 0) ||
              number > GGUF_MAX_PARTS || number != (double)(size_t)number))
        return err_set(err, ERR_FORMAT,
                       "metadata '%s': no whole number up to %d", key,
                       GGUF_MAX_PARTS);
    *ret = (size_t)number;
    return 0;
}

int gguf_split_count(const struct gguf *file, size_t *ret, struct err *err)
{
    int code = split_number(file, "split.count", 1, ret, err);
    *ret = code || *ret ? *ret : 1;
    return code;
}

size_t gguf_named_parts(const char *path)
{
    static const char first[] = "-00001-of-";
    enum { DIGITS = 5, BEFORE = sizeof first - 1 };
    size_t size = strlen(path);
    const char *end = path + (size < NUMBERED ? size : size - NUMBERED);
    if (strncmp(end, first, BEFORE) != 0 ||
        strspn(end + BEFORE, "0123456789") != DIGITS ||
        !gguf_is_path(end + BEFORE))
        return 1;
    size_t count = strtoul(end + BEFORE, NULL, 10);
    return count && count <= GGUF_MAX_PARTS ? count : 1;
}

void gguf_put_part(const char *path, size_t i, struct buf *ret)
{
    size_t count = gguf_named_parts(path);
    if (count == 1) {
        buf_put_text(ret, path);
        return;
    }
    buf_put(ret, path, strlen(path) - NUMBERED);
    buf_printf(ret, "-%05zu-of-%05zu.gguf", i + 1, count);
}

/* The name of part `i` of `count`, as the first one's tells it. */
static int part_path(const char *path, size_t i, size_t count, struct buf *ret,
                     struct err *err)
{
    if (gguf_named_parts(path) != count)
        return err_set(err, ERR_FORMAT,
                       "the first of %zu files of a split model, whose name "
                       "does not end with -%05d-of-%05zu.gguf",
                       count, 1, count);
    gguf_put_part(path, i, ret);
    return 0;
}

static int check_part(const struct gguf *part, size_t i, size_t count,
                      struct err *err)
{
    size_t no = 0, parts = 0;
    int code = split_number(part, "split.no", 0, &no, err);
    if (!code)
        code = gguf_split_count(part, &parts, err);
    if (!code && (no != i || parts != count))
        code = err_set(err, ERR_FORMAT,
                       "part %zu of %zu of a split model, where part %zu of "
                       "%zu is expected",
                       no + 1, parts, i + 1, count);
    return code;
}

static void take_tensors(struct gguf *file, const struct gguf *part)
{
    file->tensors = mem_resize(file->tensors, file->count + part->count + 1,
                               sizeof *file->tensors);
    memcpy(file->tensors + file->count, part->tensors,
           part->count * sizeof *part->tensors);
    file->count += part->count;
}

static int join_part(const char *path, size_t i, size_t count,
                     struct gguf *file, struct err *err)
{
    struct buf name = {0};
    struct gguf *part = NULL;
    int code = part_path(path, i, count, &name, err);
    if (!code)
        code = gguf_open_one(name.data, &part, err);
    if (!code) {
        file->parts[file->part_count++] = part;
        code = check_part(part, i, count, err);
        if (code && err)
            err_at(err, name.data);
    }
    if (!code)
        take_tensors(file, part);
    buf_free(&name);
    return code;
}

/* As many tensors as the first says that there are. */
static int check_tensors(const struct gguf *file, struct err *err)
{
    const struct gguf_value *v = gguf_find(file, "split.tensors.count");
    double tensors = (double)file->count;
    if (v && (!gguf_number(v, 0, &tensors) || tensors != (double)file->count))
        return err_set(err, ERR_FORMAT,
                       "the files have %zu tensors, not %.0f as "
                       "split.tensors.count says",
                       file->count, tensors);
    return gguf_check_names(file, err);
}

int gguf_join(const char *path, size_t count, struct gguf *file,
              struct err *err)
{
    size_t no = 0;
    int code = split_number(file, "split.no", 0, &no, err);
    if (!code && no)
        return err_set(err, ERR_FORMAT,
                       "part %zu of %zu of a split model: give its first file",
                       no + 1, count);
    file->parts = mem_alloc(count * sizeof(struct gguf *));
    for (size_t i = 1; i < count && !code; i++)
        code = join_part(path, i, count, file, err);
    return code ? code : check_tensors(file, err);
}
