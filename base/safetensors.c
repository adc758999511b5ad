#include "base/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/weight_bytes.h"

struct safetensors {
    struct slice bytes;           /* the file's; none: the caller's */
    cJSON *header;                /* owns all names */
    const cJSON *meta;            /* within it, or NULL */
    struct tensor *tensors;       /* [count], by data */
    const struct tensor **byname; /* [count], by name */
    size_t count;
};

static const struct dtype {
    const char *name;
    int type;
    size_t size;
} dtypes[] = {{"F32", TENSOR_F32, 4},       {"F16", TENSOR_F16, 2},
              {"BF16", TENSOR_BF16, 2},     {"I32", TENSOR_I32, 4},
              {"F64", TENSOR_OTHER, 8},     {"I64", TENSOR_OTHER, 8},
              {"U64", TENSOR_OTHER, 8},     {"U32", TENSOR_OTHER, 4},
              {"I16", TENSOR_OTHER, 2},     {"U16", TENSOR_OTHER, 2},
              {"I8", TENSOR_I8, 1},         {"U8", TENSOR_OTHER, 1},
              {"BOOL", TENSOR_OTHER, 1},    {"F8_E4M3", TENSOR_OTHER, 1},
              {"F8_E5M2", TENSOR_OTHER, 1}, {NULL, 0, 0}};

size_t tensor_type_size(int type)
{
    if (type == TENSOR_OTHER)
        return 0;
    for (const struct dtype *t = dtypes; t->name; t++)
        if (t->type == type)
            return t->size;
    return 0;
}

/* False when the product does not fit. */
static bool count_values(const struct tensor *tensor, size_t *ret)
{
    size_t values = 1;
    for (int i = 0; i < tensor->rank; i++)
        if (!mem_mul(values, tensor->shape[i], &values))
            return false;
    *ret = values;
    return true;
}

size_t tensor_values(const struct tensor *tensor)
{
    size_t values = 0;
    count_values(tensor, &values);
    return values;
}

/* ---- Reading ---- */

static bool whole_number(const cJSON *item, uint64_t *ret)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) ||
        !(item->valuedouble <= 9007199254740992.0) ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *ret = (uint64_t)item->valuedouble;
    return true;
}

static const struct dtype *find_dtype(const cJSON *item)
{
    for (const struct dtype *t = dtypes; cJSON_IsString(item) && t->name; t++)
        if (!strcmp(t->name, item->valuestring))
            return t;
    return NULL;
}

static int bad(struct err *err, const char *name, const char *what)
{
    return err_set(err, ERR_FORMAT, "tensor '%.200s': %s", name, what);
}

/* One member of the header; `data` are the bytes behind it. */
static int read_tensor(const cJSON *item, struct slice data,
                       struct tensor *tensor, struct err *err)
{
    const char *name = item->string;
    tensor->name = slice_of(name);
    if (!cJSON_IsObject(item))
        return bad(err, name, "not an object");
    const struct dtype *dtype =
        find_dtype(cJSON_GetObjectItemCaseSensitive(item, "dtype"));
    if (!dtype)
        return bad(err, name, "no dtype that is known");
    tensor->type = dtype->type;

    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape");
    if (!cJSON_IsArray(shape))
        return bad(err, name, "no shape");
    const cJSON *size;
    cJSON_ArrayForEach (size, shape) {
        if (tensor->rank == TENSOR_MAX_RANK)
            return bad(err, name, "more than 8 dimensions");
        if (!whole_number(size, &tensor->shape[tensor->rank++]))
            return bad(err, name, "a shape of something but whole numbers");
    }

    const cJSON *from = cJSON_GetArrayItem(
        cJSON_GetObjectItemCaseSensitive(item, "data_offsets"), 0);
    uint64_t begin, end;
    if (!from || !from->next || from->next->next ||
        !whole_number(from, &begin) || !whole_number(from->next, &end))
        return bad(err, name, "data_offsets are not two whole numbers");
    if (begin > end || end > data.size)
        return bad(err, name, "data_offsets outside of the file");
    size_t bytes;
    if (!count_values(tensor, &bytes) || !mem_mul(bytes, dtype->size, &bytes) ||
        bytes != end - begin)
        return bad(err, name, "its shape is not the length of its data");
    tensor->data = data.data + begin;
    tensor->bytes = bytes;
    return 0;
}

static int compare_data(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    const char *p = x->data, *q = y->data;
    if (p != q)
        return p < q ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int compare_name(const void *a, const void *b)
{
    const struct tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name.data, (*y)->name.data);
}

/* The arrays follow one another from the first byte to the last. */
static int check_cover(const struct safetensors *file, struct slice data,
                       struct err *err)
{
    const char *at = data.data;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor *tensor = &file->tensors[i];
        if (tensor->data != at)
            return bad(err, tensor->name.data,
                       "a gap or an overlap before its data");
        at += tensor->bytes;
    }
    if (at != data.data + data.size)
        return err_set(err, ERR_FORMAT, "%zu bytes belong to no tensor",
                       (size_t)(data.data + data.size - at));
    return 0;
}

static int check_names(const struct safetensors *file, struct err *err)
{
    for (size_t i = 1; i < file->count; i++)
        if (compare_name(&file->byname[i - 1], &file->byname[i]) == 0)
            return bad(err, file->byname[i]->name.data, "occurs twice");
    return 0;
}

static int compare_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static int check_meta(const cJSON *meta, struct err *err)
{
    if (!cJSON_IsObject(meta))
        return err_set(err, ERR_FORMAT, "__metadata__ is not an object");
    size_t count = (size_t)cJSON_GetArraySize(meta), n = 0;
    const char **keys = mem_resize(NULL, count + 1, sizeof *keys);
    int code = 0;
    const cJSON *item;
    cJSON_ArrayForEach (item, meta) {
        keys[n++] = item->string;
        if (!code && !cJSON_IsString(item))
            code = err_set(err, ERR_FORMAT, "metadata '%.200s' is not a text",
                           item->string);
    }
    qsort(keys, n, sizeof *keys, compare_text);
    for (size_t i = 1; i < n && !code; i++)
        if (!strcmp(keys[i - 1], keys[i]))
            code = err_set(err, ERR_FORMAT, "metadata '%.200s' occurs twice",
                           keys[i]);
    free(keys);
    return code;
}

static int read_members(struct safetensors *file, struct slice data,
                        struct err *err)
{
    size_t members = (size_t)cJSON_GetArraySize(file->header);
    file->tensors = mem_alloc((members + 1) * sizeof *file->tensors);
    file->byname = mem_alloc((members + 1) * sizeof *file->byname);
    const cJSON *item;
    cJSON_ArrayForEach (item, file->header) {
        int code;
        if (strcmp(item->string, "__metadata__") == 0) {
            code = file->meta
                       ? err_set(err, ERR_FORMAT, "__metadata__ occurs twice")
                       : check_meta(item, err);
            file->meta = item;
        } else {
            code = read_tensor(item, data, &file->tensors[file->count], err);
            file->count++;
        }
        if (code)
            return code;
    }
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_data);
    for (size_t i = 0; i < file->count; i++)
        file->byname[i] = &file->tensors[i];
    qsort(file->byname, file->count, sizeof *file->byname, compare_name);
    int code = check_names(file, err);
    return code ? code : check_cover(file, data, err);
}

static uint64_t little_endian(const char *bytes)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

/* At least as many as the header has values, but for one. */
static size_t count_marks(struct slice text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count +=
            text.data[i] == ',' || text.data[i] == '{' || text.data[i] == '[';
    return count;
}

int safetensors_over(struct slice bytes, struct safetensors **ret,
                     struct err *err)
{
    uint64_t size = bytes.size < 8 ? 0 : little_endian(bytes.data);
    if (bytes.size < 8 || size > bytes.size - 8)
        return err_set(err, ERR_FORMAT, "cut off within its header");
    if (size > SAFETENSORS_MAX_HEADER)
        return err_set(err, ERR_LIMIT, "a header of more than %d MiB",
                       SAFETENSORS_MAX_HEADER >> 20);
    struct slice text = {bytes.data + 8, (size_t)size};
    if (count_marks(text) > SAFETENSORS_MAX_VALUES)
        return err_set(err, ERR_LIMIT, "a header of too many values");
    struct slice data = {text.data + text.size, bytes.size - 8 - text.size};
    struct safetensors *file = mem_alloc(sizeof *file);
    int code = json_parse(text, &file->header, err);
    if (!code && !cJSON_IsObject(file->header))
        code = err_set(err, ERR_FORMAT, "the header is not an object");
    if (!code)
        code = read_members(file, data, err);
    if (code) {
        safetensors_close(file);
        return code;
    }
    *ret = file;
    return 0;
}

int safetensors_open(const char *path, struct safetensors **ret,
                     struct err *err)
{
    struct slice bytes;
    int code = weight_bytes_open(path, &bytes, err);
    if (code)
        return code;
    code = safetensors_over(bytes, ret, err);
    if (code) {
        weight_bytes_close(bytes);
        return err ? err_at(err, path) : code;
    }
    (*ret)->bytes = bytes;
    return 0;
}

void safetensors_let_go(const struct safetensors *file)
{
    weight_bytes_let_go(file->bytes);
}

void safetensors_close(struct safetensors *file)
{
    if (!file)
        return;
    if (file->bytes.data)
        weight_bytes_close(file->bytes);
    cJSON_Delete(file->header);
    free(file->tensors);
    free(file->byname);
    free(file);
}

size_t safetensors_count(const struct safetensors *file)
{
    return file->count;
}

const struct tensor *safetensors_at(const struct safetensors *file, size_t i)
{
    return &file->tensors[i];
}

const struct tensor *safetensors_find(const struct safetensors *file,
                                      const char *name)
{
    struct tensor key = {.name = slice_of(name)};
    const struct tensor *wanted = &key;
    const struct tensor **found = bsearch(&wanted, file->byname, file->count,
                                          sizeof *file->byname, compare_name);
    return found ? *found : NULL;
}

const char *safetensors_meta(const struct safetensors *file, const char *key)
{
    return json_get_text(file->meta, key, NULL);
}

/* ---- Writing ---- */

static void put_tensor(struct json *json, const struct tensor *tensor,
                       size_t begin)
{
    const struct dtype *dtype = dtypes;
    while (dtype->type != tensor->type)
        dtype++;
    struct buf name = {0};
    buf_put_slice(&name, tensor->name);
    json_key(json, name.data ? name.data : "");
    buf_free(&name);
    json_begin(json, '{');
    json_field_text(json, "dtype", dtype->name);
    json_key(json, "shape");
    json_begin(json, '[');
    for (int i = 0; i < tensor->rank; i++)
        json_int(json, (int64_t)tensor->shape[i]);
    json_end(json, ']');
    json_key(json, "data_offsets");
    json_begin(json, '[');
    json_int(json, (int64_t)begin);
    json_int(json, (int64_t)(begin + tensor->bytes));
    json_end(json, ']');
    json_end(json, '}');
}

/* The length, the header and spaces up to a multiple of eight bytes. */
static int put_header(struct buf *out, const struct tensor *tensors,
                      size_t count, const char *const (*meta)[2],
                      struct err *err)
{
    buf_put(out, "\0\0\0\0\0\0\0", 8);
    struct json json = json_to(out);
    json_begin(&json, '{');
    if (meta && meta[0][0]) {
        json_key(&json, "__metadata__");
        json_begin(&json, '{');
        for (size_t i = 0; meta[i][0]; i++)
            json_field_text(&json, meta[i][0], meta[i][1]);
        json_end(&json, '}');
    }
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = tensor_type_size(tensors[i].type), values;
        if (!bytes || !count_values(&tensors[i], &values) ||
            !mem_mul(bytes, values, &bytes) || bytes != tensors[i].bytes)
            return err_set(err, ERR_USAGE,
                           "tensor %zu: its bytes are not its shape", i);
        put_tensor(&json, &tensors[i], begin);
        begin += bytes;
    }
    json_end(&json, '}');
    while (out->size % 8)
        buf_put_byte(out, ' ');
    for (int i = 0; i < 8; i++)
        out->data[i] = (char)((out->size - 8) >> (8 * i) & 255);
    return 0;
}

static int write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int write_file(const char *path, struct slice header,
                      const struct tensor *tensors, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    int rc = write_all(fd, header.data, header.size);
    for (size_t i = 0; i < count && !rc; i++)
        rc = write_all(fd, tensors[i].data, tensors[i].bytes);
    if (close(fd) < 0)
        rc = -1;
    return rc;
}

static int compare_slice(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    return slice_compare(*x, *y);
}

static int check_written(const struct tensor *tensors, size_t count,
                         struct err *err)
{
    struct slice *names = mem_resize(NULL, count, sizeof *names);
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        names[i] = tensors[i].name;
        if (slice_is(names[i], "__metadata__"))
            code = err_set(err, ERR_USAGE, "a tensor named __metadata__");
    }
    qsort(names, count, sizeof *names, compare_slice);
    for (size_t i = 1; i < count && !code; i++)
        if (!compare_slice(&names[i - 1], &names[i]))
            code = err_set(err, ERR_USAGE, "two tensors named '%.*s'",
                           (int)(names[i].size < 200 ? names[i].size : 200),
                           names[i].data);
    free(names);
    return code;
}

int safetensors_write(const char *path, const struct tensor *tensors,
                      size_t count, const char *const (*meta)[2],
                      struct err *err)
{
    struct buf header = {0}, temp = {0};
    int code = check_written(tensors, count, err);
    if (!code)
        code = put_header(&header, tensors, count, meta, err);
    if (!code) {
        buf_printf(&temp, "%s.%ld.tmp", path, (long)getpid());
        if (write_file(temp.data, buf_slice(&header), tensors, count) < 0 ||
            rename(temp.data, path) < 0) {
            code = err_errno(err, ERR_IO, "cannot write %s", path);
            unlink(temp.data);
        }
    }
    buf_free(&header);
    buf_free(&temp);
    return code;
}
