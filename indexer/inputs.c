/* A record is a line for each name that was looked for:
 *
 *     names, separated by "|" TAB path, empty: none TAB hash in hexadecimal
 */
#include "indexer/inputs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/file.h"
#include "indexer/source.h"

enum {
    MAX_PATH = 1000,
    MAX_RECORD = 4 << 20, /* bytes; what is looked for then is not there */
    MAX_DEFLATED = 1032,  /* bytes that one of deflate's can stand for */
    MAX_UNPACKED = 4 * PARSER_MAX_BYTES
};

/* ---- Names ---- */

static size_t find_packed(const struct scan *scan, struct buf *path)
{
    size_t found = scan_find(scan, path->data);
    if (found != SIZE_MAX)
        return found;
    buf_put_text(path, ".gz");
    found = scan_find(scan, path->data);
    path->size -= 3;
    path->data[path->size] = '\0';
    return found;
}

/* Appends `name` to the folder in `path`, following "." and ".."; false: it
 * leaves the manual. */
static bool join(struct buf *path, struct slice name)
{
    while (name.size) {
        const char *slash = memchr(name.data, '/', name.size);
        size_t size = slash ? (size_t)(slash - name.data) : name.size;
        struct slice part = {name.data, size};
        if (slice_is(part, "..")) {
            if (!path->size)
                return false;
            while (path->size && path->data[path->size - 1] != '/')
                path->size--;
            path->size -= path->size > 0;
        } else if (size && !slice_is(part, ".")) {
            if (path->size)
                buf_put_byte(path, '/');
            buf_put_slice(path, part);
        }
        size += slash != NULL;
        name.data += size;
        name.size -= size;
    }
    return true;
}

static size_t find_by_end(const struct scan *scan, struct slice name)
{
    struct buf path = {0};
    size_t found =
        join(&path, name) ? scan_find_by_end(scan, buf_slice(&path)) : SIZE_MAX;
    buf_free(&path);
    return found;
}

/* \jobname is the document's own name without its ending. */
static void put_name(struct buf *out, const char *document, struct slice name)
{
    static const char jobname[] = "\\jobname";
    const char *at = memmem(name.data, name.size, jobname, sizeof jobname - 1);
    if (!at) {
        buf_put_slice(out, name);
        return;
    }
    const char *slash = strrchr(document, '/');
    const char *base = slash ? slash + 1 : document;
    buf_put(out, name.data, (size_t)(at - name.data));
    buf_put(out, base, strcspn(base, "."));
    at += sizeof jobname - 1;
    buf_put(out, at, (size_t)(name.data + name.size - at));
}

/* The ways to look for a name, in their order. */
enum way { BY_PATH, BY_PATH_FOLDED, BY_END, BY_SOURCE, WAYS };

static bool has_folder(const struct scan *scan, const char *folder)
{
    size_t low = 0, high = scan->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(scan->files[middle].path, folder) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < scan->count &&
           !strncmp(scan->files[low].path, folder, strlen(folder));
}

/* What a makefile puts into a folder that the manual has not, build/intro.tex, is made of
 * the file of this name beside the document, if there is one. */
static size_t find_source(const struct scan *scan, const char *document,
                          struct buf *path)
{
    static const char ending[] = ".tex";
    const size_t size = sizeof ending - 1;
    struct buf beside = {0};
    size_t found = SIZE_MAX;
    const char *slash = path->size ? strrchr(path->data, '/') : NULL;
    if (!slash || path->size < size ||
        strcmp(path->data + path->size - size, ending) != 0)
        return SIZE_MAX;
    buf_put(&beside, path->data, (size_t)(slash + 1 - path->data));
    if (!has_folder(scan, beside.data)) {
        const char *end = strrchr(document, '/');
        buf_clear(&beside);
        buf_put(&beside, document, end ? (size_t)(end + 1 - document) : 0);
        buf_put_text(&beside, slash + 1);
        found = strcmp(beside.data, document) != 0 ? find_packed(scan, &beside)
                                                   : SIZE_MAX;
    }
    buf_free(&beside);
    return found;
}

static size_t find_one(const struct scan *scan, const char *document,
                       struct slice name, enum way way, bool *ret_leaves)
{
    struct buf path = {0}, whole = {0};
    const char *slash = strrchr(document, '/');
    size_t found = SIZE_MAX;
    put_name(&whole, document, name);
    struct slice wanted = buf_slice(&whole);
    buf_put(&path, document, slash ? (size_t)(slash - document) : 0);
    if (wanted.size && wanted.size < MAX_PATH) {
        bool within = wanted.data[0] != '/' && join(&path, wanted);
        if (!within)
            *ret_leaves = true;
        else if (way == BY_PATH)
            found = find_packed(scan, &path);
        else if (way == BY_PATH_FOLDED)
            found = scan_find_folded(scan, buf_slice(&path));
        else if (way == BY_SOURCE)
            found = find_source(scan, document, &path);
        else
            found = find_by_end(scan, wanted);
    }
    buf_free(&path);
    buf_free(&whole);
    return found;
}

size_t inputs_find(const struct scan *scan, const char *document,
                   struct slice names, struct buf *ret_reason)
{
    bool leaves = false;
    for (enum way way = BY_PATH; way < WAYS; way++) {
        struct slice rest = names;
        while (rest.size) {
            size_t size = 0;
            while (size < rest.size && !strchr("\n|", rest.data[size]))
                size++;
            size_t found = find_one(
                scan, document, (struct slice){rest.data, size}, way, &leaves);
            if (found != SIZE_MAX && !scan->files[found].failure)
                return found;
            size += size < rest.size;
            rest.data += size;
            rest.size -= size;
        }
    }
    if (leaves && ret_reason)
        buf_put_text(ret_reason,
                     "it includes a file that is not in the manual's folder");
    return SIZE_MAX;
}

/* ---- Records ---- */

static void put_line(struct buf *record, struct slice names, const char *path,
                     struct hash128 hash)
{
    unsigned char bytes[16];
    for (size_t i = 0; i < names.size; i++) {
        char c = names.data[i];
        if (c == '\n' && i + 1 == names.size)
            break;
        buf_put_byte(record, c == '\n' ? '|' : c == '\t' || !c ? ' ' : c);
    }
    buf_printf(record, "\t%s\t", path);
    hash_write(hash, bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        buf_printf(record, "%02x", bytes[i]);
    buf_put_byte(record, '\n');
}

static int too_large(struct err *err)
{
    return err_set(err, ERR_LIMIT,
                   "the files it includes are larger than %d MiB",
                   PARSER_MAX_BYTES >> 20);
}

/* What a packed file may have cost that could not be unpacked. */
static size_t max_unpacked(size_t packed)
{
    return packed < PARSER_MAX_BYTES / MAX_DEFLATED ? packed * MAX_DEFLATED
                                                    : PARSER_MAX_BYTES;
}

/* The work is bounded, too, that comes to nothing. */
static int unpack(struct inputs *inputs, const char *path, struct buf *bytes,
                  struct err *err)
{
    size_t packed = bytes->size;
    if (!source_is_gzipped(path))
        return 0;
    if (inputs->unpacked_bytes >= MAX_UNPACKED)
        return too_large(err);
    int code = source_unpack(path, bytes, err);
    inputs->unpacked_bytes += code ? max_unpacked(packed) : bytes->size;
    return code;
}

static void read_input(struct inputs *inputs, struct input *input)
{
    struct err err = {.position = -1};
    struct buf path = {0};
    file_join(&path, inputs->root->path, inputs->scan->files[input->file].path);
    errno = 0;
    int code = source_read(inputs->root, path.data, &input->bytes, &err);
    if (code && source_is_shortage(errno))
        inputs->shortage = err;
    inputs->unread = inputs->unread || (code && errno == EIO);
    if (!code) {
        input->hash = hash_bytes(input->bytes.data, input->bytes.size);
        code = unpack(inputs, path.data, &input->bytes, &err);
    }
    if (!code && inputs->read_bytes + input->bytes.size > PARSER_MAX_BYTES)
        code = too_large(&err);
    if (code) {
        buf_free(&input->bytes);
        buf_put_text(&input->reason, err.message);
    }
    buf_free(&path);
}

static const struct input *input_of(struct inputs *inputs, size_t file)
{
    for (size_t i = 0; i < inputs->read_count; i++)
        if (inputs->read[i].file == file)
            return &inputs->read[i];
    MEM_RESERVE(inputs->read, &inputs->read_capacity, inputs->read_count + 1);
    struct input *input = &inputs->read[inputs->read_count++];
    *input = (struct input){.file = file};
    read_input(inputs, input);
    inputs->read_bytes += input->bytes.size;
    return input;
}

void inputs_free(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->read_count; i++) {
        buf_free(&inputs->read[i].bytes);
        buf_free(&inputs->read[i].reason);
    }
    free(inputs->read);
    inputs->read = NULL;
    inputs->read_count = inputs->read_capacity = 0;
    inputs->read_bytes = inputs->unpacked_bytes = 0;
}

bool inputs_open(void *context, struct slice names, struct slice *ret_bytes,
                 struct buf *ret_path)
{
    struct inputs *inputs = context;
    struct hash128 hash = {0};
    size_t found = inputs_find(inputs->scan, inputs->document, names, ret_path);
    bool read = false;
    const char *path = "";
    if (inputs->record.size > MAX_RECORD) {
        buf_clear(ret_path);
        buf_put_text(ret_path, "it includes too many files");
        return false;
    }
    if (found != SIZE_MAX) {
        const struct input *input = input_of(inputs, found);
        path = inputs->scan->files[found].path;
        read = !input->reason.size;
        hash = input->hash;
        if (read)
            *ret_bytes = buf_slice(&input->bytes);
        buf_put_text(ret_path, read ? path : input->reason.data);
    }
    put_line(&inputs->record, names, path, hash);
    return read;
}

static bool is_hash(const char *hex, struct hash128 hash)
{
    unsigned char bytes[16];
    hash_write(hash, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        char pair[3];
        snprintf(pair, sizeof pair, "%02x", bytes[i]);
        if (strncmp(hex + 2 * i, pair, 2) != 0)
            return false;
    }
    return true;
}

bool inputs_are_same(const struct scan *scan, const char *document,
                     const char *record, const struct hash128 *content)
{
    while (*record) {
        size_t names = strcspn(record, "\t\n");
        if (record[names] != '\t')
            return false;
        const char *path = record + names + 1;
        size_t size = strcspn(path, "\t\n");
        if (path[size] != '\t')
            return false;
        size_t found =
            inputs_find(scan, document, (struct slice){record, names}, NULL);
        const char *now = found == SIZE_MAX ? "" : scan->files[found].path;
        if (strlen(now) != size || memcmp(now, path, size) != 0)
            return false;
        if (found != SIZE_MAX && !is_hash(path + size + 1, content[found]))
            return false;
        record = path + size + 1;
        record += strcspn(record, "\n");
        record += *record == '\n';
    }
    return true;
}
