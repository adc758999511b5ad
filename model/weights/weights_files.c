#include "model/weights/weights_internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

enum { MAX_FILES = 1024, MAX_INDEX = 16 << 20 };

static int open_file(struct weight_files *files, const char *folder,
                     const char *name, struct err *err)
{
    struct buf path = {0};
    struct safetensors *file = NULL;
    file_join(&path, folder, name);
    int code = safetensors_open(path.data, &file, err);
    if (code && err)
        err_at(err, path.data);
    buf_free(&path);
    if (code)
        return code;
    MEM_RESERVE(files->files, &files->capacity, files->count + 1);
    files->files[files->count++] = file;
    return 0;
}

/* The latest first: most tensors lie in the file of the one before. */
static bool is_open(const char *const *opened, size_t count, const char *name)
{
    while (count > 0)
        if (!strcmp(opened[--count], name))
            return true;
    return false;
}

static int open_named(struct weight_files *files, const char *folder,
                      const cJSON *root, struct err *err)
{
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(root, "weight_map");
    const char *opened[MAX_FILES];
    const cJSON *item;
    if (!cJSON_IsObject(map))
        return err_set(err, ERR_FORMAT, "the index has no \"weight_map\"");
    cJSON_ArrayForEach (item, map) {
        const char *name = cJSON_GetStringValue(item);
        if (!name || strchr(name, '/'))
            return err_set(err, ERR_FORMAT,
                           "the index names something else than a file");
        if (is_open(opened, files->count, name))
            continue;
        if (files->count == MAX_FILES)
            return err_set(err, ERR_FORMAT,
                           "the index names more than %d files", MAX_FILES);
        opened[files->count] = name;
        int code = open_file(files, folder, name, err);
        if (code)
            return code;
    }
    return 0;
}

static int open_index(struct weight_files *files, const char *folder,
                      const char *path, struct err *err)
{
    struct buf text = {0};
    cJSON *root = NULL;
    int code = file_read(path, MAX_INDEX, &text, err);
    if (!code)
        code = json_parse(buf_slice(&text), &root, err);
    if (!code)
        code = open_named(files, folder, root, err);
    cJSON_Delete(root);
    buf_free(&text);
    if (code && err)
        err_at(err, path);
    return code;
}

static int compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return strcmp(x->tensor->name.data, y->tensor->name.data);
}

static int sort_tensors(struct weight_files *files, struct err *err)
{
    size_t count = files->tensor_count;
    if (count)
        qsort(files->tensors, count, sizeof *files->tensors, compare);
    for (size_t i = 1; i < count; i++)
        if (!compare(&files->tensors[i - 1], &files->tensors[i]))
            return err_set(err, ERR_FORMAT, "tensor %.200s is in two files",
                           files->tensors[i].tensor->name.data);
    return 0;
}

static int take_tensors(struct weight_files *files, struct err *err)
{
    size_t count = 0;
    for (size_t f = 0; f < files->count; f++)
        count += safetensors_count(files->files[f]);
    files->tensors = mem_alloc(count * sizeof *files->tensors);
    for (size_t f = 0; f < files->count; f++)
        for (size_t i = 0; i < safetensors_count(files->files[f]); i++)
            files->tensors[files->tensor_count++].tensor =
                safetensors_at(files->files[f], i);
    return sort_tensors(files, err);
}

int weight_files_of(struct weight_files *files, const struct gguf *gguf,
                    struct err *err)
{
    size_t count = gguf_count(gguf);
    files->tensors = mem_alloc(count * sizeof *files->tensors);
    for (; files->tensor_count < count; files->tensor_count++)
        files->tensors[files->tensor_count].tensor =
            gguf_at(gguf, files->tensor_count);
    return sort_tensors(files, err);
}

int weight_files_open(struct weight_files *files, const char *folder,
                      struct err *err)
{
    struct buf path = {0};
    struct stat st;
    int code;
    file_join(&path, folder, "model.safetensors.index.json");
    if (stat(path.data, &st) == 0)
        code = open_index(files, folder, path.data, err);
    else
        code = open_file(files, folder, "model.safetensors", err);
    buf_free(&path);
    return code ? code : take_tensors(files, err);
}

void weight_files_close(struct weight_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        safetensors_close(files->files[i]);
    for (size_t i = 0; i < files->copy_count; i++)
        free(files->copies[i]);
    free(files->files);
    free(files->tensors);
    free(files->copies);
    free(files);
}

struct named *weight_files_find(const struct weight_files *files,
                                const char *name)
{
    struct tensor wanted = {.name = slice_of(name)};
    struct named key = {&wanted, false};
    if (!files->tensor_count)
        return NULL;
    return bsearch(&key, files->tensors, files->tensor_count, sizeof key,
                   compare);
}

struct hash128 weight_files_hash(const struct weight_files *files)
{
    struct buf all = {0};
    unsigned char bytes[16];
    for (size_t i = 0; i < files->tensor_count; i++) {
        const struct tensor *t = files->tensors[i].tensor;
        buf_put_string(&all, t->name);
        buf_put_varint(&all, (uint64_t)t->type);
        for (int d = 0; d < t->rank; d++)
            buf_put_varint(&all, t->shape[d]);
        hash_write(hash_bytes(t->data, t->bytes), bytes);
        buf_put(&all, bytes, sizeof bytes);
    }
    struct hash128 hash = hash_bytes(buf_slice(&all).data, all.size);
    buf_free(&all);
    return hash;
}
