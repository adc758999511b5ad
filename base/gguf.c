#include "base/gguf_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/weight_bytes.h"

enum {
    MAX_RANK = 4,
    MAX_KEY = 1 << 16, /* bytes of a key or name */
    MIN_VALUE = 8 + 4 + 1,
    MIN_TENSOR = 8 + 4 + 8 + 4 + 8,
    ALIGNMENT = 32
};

/* What is read next, and for messages of what. */
struct place {
    struct reader reader;
    struct err *err;
};

static int bad_at(struct place *p, const char *what)
{
    int code =
        err_set(p->err, ERR_FORMAT, "%s, at byte %zu", what, p->reader.at);
    if (p->err)
        p->err->position = (int64_t)p->reader.at;
    return code;
}

static int bad(struct err *err, const char *kind, struct slice name,
               const char *what)
{
    int shown = name.size < 200 ? (int)name.size : 200;
    return err_set(err, ERR_FORMAT, "%s '%.*s': %s", kind, shown, name.data,
                   what);
}

static uint64_t little_endian(const char *bytes, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | (unsigned char)bytes[size];
    return value;
}

/* False: cut off. */
static bool take(struct place *p, size_t size, uint64_t *ret)
{
    const void *bytes = read_bytes(&p->reader, size);
    if (bytes)
        *ret = little_endian(bytes, size);
    return bytes;
}

static size_t left(const struct place *p)
{
    return p->reader.size - p->reader.at;
}

static bool take_text(struct place *p, struct slice *ret)
{
    uint64_t size;
    if (!take(p, 8, &size) || size > left(p))
        return false;
    *ret = (struct slice){read_bytes(&p->reader, (size_t)size), (size_t)size};
    return true;
}

static bool take_name(struct place *p, struct slice *ret)
{
    if (!take_text(p, ret) || !ret->size || ret->size > MAX_KEY)
        return false;
    for (size_t i = 0; i < ret->size; i++)
        if (ret->data[i] <= ' ' || ret->data[i] > '~')
            return false;
    return true;
}

/* ---- Metadata ---- */

/* Bytes of one; 0: of a text, a list, or no type. */
static size_t size_of(uint64_t type)
{
    static const unsigned char sizes[] = {
        [GGUF_U8] = 1,  [GGUF_I8] = 1,  [GGUF_U16] = 2, [GGUF_I16] = 2,
        [GGUF_U32] = 4, [GGUF_I32] = 4, [GGUF_F32] = 4, [GGUF_BOOL] = 1,
        [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8};
    return type < sizeof sizes ? sizes[type] : 0;
}

static bool skip_texts(struct place *p, uint64_t count)
{
    struct slice text;
    for (; count > 0; count--)
        if (!take_text(p, &text))
            return false;
    return true;
}

/* Past `count` things of the value's type. */
static int skip_items(struct place *p, const struct gguf_value *v)
{
    size_t size = size_of((uint64_t)v->type), bytes;
    if (v->type == GGUF_LIST)
        return bad(p->err, "metadata", v->key,
                   "a list of lists, which is not supported");
    if (!size && v->type != GGUF_TEXT)
        return bad(p->err, "metadata", v->key, "of no type that is known");
    bool whole =
        v->type == GGUF_TEXT
            ? v->count <= left(p) / 8 && skip_texts(p, v->count)
            : mem_mul(size, v->count, &bytes) && read_bytes(&p->reader, bytes);
    return whole ? 0 : bad(p->err, "metadata", v->key, "cut off");
}

static int take_value(struct place *p, struct gguf_value *v)
{
    uint64_t type;
    if (!take_name(p, &v->key))
        return bad_at(p, "metadata without a key of printable characters");
    if (!take(p, 4, &type))
        return bad(p->err, "metadata", v->key, "cut off");
    v->list = type == GGUF_LIST;
    v->count = 1;
    if (v->list && (!take(p, 4, &type) || !take(p, 8, &v->count)))
        return bad(p->err, "metadata", v->key, "cut off");
    v->type = type <= GGUF_F64 ? (int)type : -1;
    size_t from = p->reader.at;
    int code = skip_items(p, v);
    v->bytes = (struct slice){(const char *)p->reader.data + from,
                              p->reader.at - from};
    return code;
}

static int compare_keys(const void *a, const void *b)
{
    const struct gguf_value *const *x = a, *const *y = b;
    return slice_compare((*x)->key, (*y)->key);
}

static int take_values(struct gguf *file, struct place *p, size_t count)
{
    int code = 0;
    file->values = mem_alloc((count + 1) * sizeof *file->values);
    file->by_key = mem_alloc((count + 1) * sizeof *file->by_key);
    for (; file->value_count < count && !code; file->value_count++)
        code = take_value(p, &file->values[file->value_count]);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++)
        file->by_key[i] = &file->values[i];
    qsort(file->by_key, count, sizeof *file->by_key, compare_keys);
    for (size_t i = 1; i < count; i++)
        if (!compare_keys(&file->by_key[i - 1], &file->by_key[i]))
            return bad(p->err, "metadata", file->by_key[i]->key,
                       "occurs twice");
    return 0;
}

/* "general.alignment" */
static int take_general(struct gguf *file, struct err *err)
{
    double alignment = ALIGNMENT;
    const struct gguf_value *v = gguf_find(file, "general.alignment");
    if (v && !gguf_number(v, 0, &alignment))
        alignment = 0;
    file->alignment =
        alignment >= 8 && alignment <= 1 << 20 ? (size_t)alignment : 0;
    if (file->alignment & (file->alignment - 1) || !file->alignment ||
        (double)file->alignment != alignment)
        return err_set(err, ERR_FORMAT,
                       "metadata 'general.alignment': no power of two from 8 "
                       "on");
    return 0;
}

/* ---- Tensors ---- */

static const struct ggml_type {
    const char *name;
    int type;             /* enum tensor_type; TENSOR_OTHER: not read */
    size_t values, bytes; /* of a block */
} ggml_types[] = {
    [0] = {"F32", TENSOR_F32, 1, 4},
    [1] = {"F16", TENSOR_F16, 1, 2},
    [2] = {"Q4_0", TENSOR_Q4_0, 32, 18},
    [3] = {"Q4_1", TENSOR_Q4_1, 32, 20},
    [6] = {"Q5_0", TENSOR_Q5_0, 32, 22},
    [7] = {"Q5_1", TENSOR_Q5_1, 32, 24},
    [8] = {"Q8_0", TENSOR_Q8_0, 32, 34},
    [9] = {"Q8_1", TENSOR_OTHER, 0, 0},
    [10] = {"Q2_K", TENSOR_Q2_K, 256, 84},
    [11] = {"Q3_K", TENSOR_Q3_K, 256, 110},
    [12] = {"Q4_K", TENSOR_Q4_K, 256, 144},
    [13] = {"Q5_K", TENSOR_Q5_K, 256, 176},
    [14] = {"Q6_K", TENSOR_Q6_K, 256, 210},
    [15] = {"Q8_K", TENSOR_OTHER, 0, 0},
    [16] = {"IQ2_XXS", TENSOR_OTHER, 0, 0},
    [17] = {"IQ2_XS", TENSOR_OTHER, 0, 0},
    [18] = {"IQ3_XXS", TENSOR_OTHER, 0, 0},
    [19] = {"IQ1_S", TENSOR_OTHER, 0, 0},
    [20] = {"IQ4_NL", TENSOR_IQ4_NL, 32, 18},
    [21] = {"IQ3_S", TENSOR_OTHER, 0, 0},
    [22] = {"IQ2_S", TENSOR_OTHER, 0, 0},
    [23] = {"IQ4_XS", TENSOR_IQ4_XS, 256, 136},
    [24] = {"I8", TENSOR_OTHER, 0, 0},
    [25] = {"I16", TENSOR_OTHER, 0, 0},
    [26] = {"I32", TENSOR_OTHER, 0, 0},
    [27] = {"I64", TENSOR_OTHER, 0, 0},
    [28] = {"F64", TENSOR_OTHER, 0, 0},
    [29] = {"IQ1_M", TENSOR_OTHER, 0, 0},
    [30] = {"BF16", TENSOR_BF16, 1, 2},
    [34] = {"TQ1_0", TENSOR_OTHER, 0, 0},
    [35] = {"TQ2_0", TENSOR_OTHER, 0, 0},
    [39] = {"MXFP4", TENSOR_OTHER, 0, 0},
};

static int take_type(struct place *p, struct tensor *t,
                     const struct ggml_type **ret)
{
    uint64_t number;
    if (!take(p, 4, &number))
        return bad(p->err, "tensor", t->name, "cut off");
    *ret = number < sizeof ggml_types / sizeof ggml_types[0]
               ? &ggml_types[number]
               : NULL;
    if (!*ret || !(*ret)->name)
        return bad(p->err, "tensor", t->name, "of no type that is known");
    if ((*ret)->type == TENSOR_OTHER)
        return err_set(p->err, ERR_FORMAT,
                       "tensor '%.200s': the type %s is not supported",
                       t->name.data, (*ret)->name);
    t->type = (*ret)->type;
    return 0;
}

static int take_shape(struct place *p, struct tensor *t)
{
    uint64_t rank;
    if (!take(p, 4, &rank) || rank < 1 || rank > MAX_RANK)
        return bad(p->err, "tensor", t->name, "not of 1 to 4 dimensions");
    t->rank = (int)rank;
    for (int i = t->rank; i-- > 0;)
        if (!take(p, 8, &t->shape[i]))
            return bad(p->err, "tensor", t->name, "cut off");
    return 0;
}

/* Of its type and shape; false: more than any file has. */
static bool count_bytes(struct tensor *t, const struct ggml_type *type)
{
    size_t bytes = t->shape[t->rank - 1] / type->values;
    if (!mem_mul(bytes, type->bytes, &bytes))
        return false;
    for (int i = 0; i < t->rank - 1; i++)
        if (!mem_mul(bytes, t->shape[i], &bytes))
            return false;
    t->bytes = bytes;
    return true;
}

/* All but where it lies, which counts from the data. */
static int take_tensor(struct gguf *file, struct place *p, struct tensor *t,
                       uint64_t *ret_offset)
{
    const struct ggml_type *type = NULL;
    if (!take_name(p, &t->name))
        return bad_at(p, "a tensor without a name of printable characters");
    t->name.data = arena_copy(&file->names, t->name.data, t->name.size);
    int code = take_shape(p, t);
    if (!code)
        code = take_type(p, t, &type);
    if (code)
        return code;
    if (t->shape[t->rank - 1] % type->values)
        return bad(p->err, "tensor", t->name,
                   "its rows are not of whole blocks");
    if (!count_bytes(t, type))
        return bad(p->err, "tensor", t->name, "larger than any file");
    if (!take(p, 8, ret_offset) || *ret_offset % file->alignment)
        return bad(p->err, "tensor", t->name,
                   "its offset is no multiple of the alignment");
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

static int compare_names(const void *a, const void *b)
{
    const struct tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name.data, (*y)->name.data);
}

int gguf_check_names(const struct gguf *file, struct err *err)
{
    const struct tensor **names = mem_alloc((file->count + 1) * sizeof *names);
    int code = 0;
    for (size_t i = 0; i < file->count; i++)
        names[i] = &file->tensors[i];
    qsort(names, file->count, sizeof *names, compare_names);
    for (size_t i = 1; i < file->count && !code; i++)
        if (!compare_names(&names[i - 1], &names[i]))
            code = bad(err, "tensor", names[i]->name, "occurs twice");
    free(names);
    return code;
}

/* Each where its offset says, within the data and in no other. */
static int place_tensors(struct gguf *file, const uint64_t *offsets,
                         struct slice data, struct err *err)
{
    for (size_t i = 0; i < file->count; i++) {
        struct tensor *t = &file->tensors[i];
        if (offsets[i] > data.size || t->bytes > data.size - offsets[i])
            return bad(err, "tensor", t->name,
                       "its data is outside of the file");
        t->data = data.data + offsets[i];
    }
    qsort(file->tensors, file->count, sizeof *file->tensors, compare_data);
    const char *end = data.data;
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor *t = &file->tensors[i];
        if ((const char *)t->data < end)
            return bad(err, "tensor", t->name, "its data is another's too");
        end = (const char *)t->data + t->bytes;
    }
    return gguf_check_names(file, err);
}

/* What follows the tensors' descriptions, from the next multiple on. */
static struct slice data_of(const struct gguf *file, const struct place *p)
{
    size_t at = (p->reader.at + file->alignment - 1) & ~(file->alignment - 1);
    at = at < p->reader.size ? at : p->reader.size;
    return (struct slice){(const char *)p->reader.data + at,
                          p->reader.size - at};
}

static int take_tensors(struct gguf *file, struct place *p, size_t count)
{
    uint64_t *offsets = mem_alloc((count + 1) * sizeof *offsets);
    int code = 0;
    file->tensors = mem_alloc((count + 1) * sizeof *file->tensors);
    for (; file->count < count && !code; file->count++)
        code = take_tensor(file, p, &file->tensors[file->count],
                           &offsets[file->count]);
    if (!code)
        code = place_tensors(file, offsets, data_of(file, p), p->err);
    free(offsets);
    return code;
}

/* ---- The file ---- */

static int take_version(struct place *p)
{
    const char *magic = read_bytes(&p->reader, 4);
    uint64_t version;
    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return err_set(p->err, ERR_FORMAT,
                       "not a GGUF file: it does not begin with \"GGUF\"");
    if (!take(p, 4, &version))
        return bad_at(p, "cut off within its header");
    if (version && !(version & 0xFFFF))
        return err_set(p->err, ERR_FORMAT,
                       "a big-endian GGUF file, which is not supported");
    if (version != 2 && version != 3)
        return err_set(p->err, ERR_FORMAT,
                       "version %llu of GGUF is not supported (2 and 3 are)",
                       (unsigned long long)version);
    return 0;
}

static int take_all(struct gguf *file, struct place *p)
{
    uint64_t tensors, values;
    int code = take_version(p);
    if (code)
        return code;
    if (!take(p, 8, &tensors) || !take(p, 8, &values))
        return bad_at(p, "cut off within its header");
    if (values > left(p) / MIN_VALUE)
        return bad_at(p, "more values of metadata than the file has room for");
    code = take_values(file, p, (size_t)values);
    if (!code)
        code = take_general(file, p->err);
    if (!code && tensors > left(p) / MIN_TENSOR)
        code = bad_at(p, "more tensors than the file has room for");
    return code ? code : take_tensors(file, p, (size_t)tensors);
}

static int over(struct slice bytes, struct gguf **ret, struct err *err)
{
    struct gguf *file = mem_alloc(sizeof *file);
    struct place p = {reader_of(bytes.data, bytes.size), err};
    int code = take_all(file, &p);
    if (code)
        gguf_close(file);
    else
        *ret = file;
    return code;
}

int gguf_over(struct slice bytes, struct gguf **ret, struct err *err)
{
    struct gguf *file = NULL;
    size_t parts;
    int code = over(bytes, &file, err);
    if (!code)
        code = gguf_split_count(file, &parts, err);
    if (!code && parts > 1)
        code = err_set(err, ERR_FORMAT, "one of %zu files of a split model",
                       parts);
    if (code)
        gguf_close(file);
    else
        *ret = file;
    return code;
}

int gguf_open_one(const char *path, struct gguf **ret, struct err *err)
{
    struct slice bytes;
    int code = weight_bytes_open(path, &bytes, err);
    if (code)
        return code;
    code = over(bytes, ret, err);
    if (code) {
        weight_bytes_close(bytes);
        return err ? err_at(err, path) : code;
    }
    (*ret)->bytes = bytes;
    return 0;
}

int gguf_open(const char *path, struct gguf **ret, struct err *err)
{
    struct gguf *file = NULL;
    size_t parts = 1;
    int code = gguf_open_one(path, &file, err);
    if (code)
        return code;
    code = gguf_split_count(file, &parts, err);
    if (!code && parts > 1)
        code = gguf_join(path, parts, file, err);
    if (code)
        gguf_close(file);
    else
        *ret = file;
    return code && err ? err_at(err, path) : code;
}

void gguf_let_go(const struct gguf *file)
{
    for (size_t i = 0; i < file->part_count; i++)
        gguf_let_go(file->parts[i]);
    weight_bytes_let_go(file->bytes);
}

void gguf_close(struct gguf *file)
{
    if (!file)
        return;
    for (size_t i = 0; i < file->part_count; i++)
        gguf_close(file->parts[i]);
    free(file->parts);
    if (file->bytes.data)
        weight_bytes_close(file->bytes);
    free(file->values);
    free(file->by_key);
    free(file->tensors);
    arena_free(&file->names);
    free(file);
}

bool gguf_is_path(const char *path)
{
    static const char end[] = ".gguf";
    size_t size = strlen(path), tail = sizeof end - 1;
    return size > tail && !strcmp(path + size - tail, end);
}

/* ---- What is in it ---- */

size_t gguf_count(const struct gguf *file)
{
    return file->count;
}

const struct tensor *gguf_at(const struct gguf *file, size_t i)
{
    return &file->tensors[i];
}

size_t gguf_value_count(const struct gguf *file)
{
    return file->value_count;
}

const struct gguf_value *gguf_value_at(const struct gguf *file, size_t i)
{
    return &file->values[i];
}

const struct gguf_value *gguf_find(const struct gguf *file, const char *key)
{
    const struct gguf_value wanted = {.key = slice_of(key)}, *at = &wanted;
    const struct gguf_value **found =
        bsearch(&at, file->by_key, file->value_count, sizeof *file->by_key,
                compare_keys);
    return found ? *found : NULL;
}

static double float_of(uint64_t bits, size_t size)
{
    uint32_t half = (uint32_t)bits;
    float narrow;
    double wide;
    memcpy(&narrow, &half, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return size == sizeof narrow ? (double)narrow : wide;
}

static double signed_of(uint64_t bits, size_t size)
{
    unsigned shift = 64 - 8 * (unsigned)size;
    return (double)((int64_t)(bits << shift) >> shift);
}

bool gguf_number(const struct gguf_value *value, uint64_t i, double *ret)
{
    size_t size = value->type < 0 ? 0 : size_of((uint64_t)value->type);
    if (!size || value->type == GGUF_BOOL || i >= value->count)
        return false;
    uint64_t bits = little_endian(value->bytes.data + i * size, size);
    switch (value->type) {
    case GGUF_F32:
    case GGUF_F64: *ret = float_of(bits, size); break;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64: *ret = signed_of(bits, size); break;
    default: *ret = (double)bits;
    }
    return true;
}

bool gguf_bool(const struct gguf_value *value, bool *ret)
{
    if (value->type != GGUF_BOOL || value->list)
        return false;
    *ret = value->bytes.data[0];
    return true;
}

bool gguf_next_text(const struct gguf_value *value, size_t *at,
                    struct slice *ret)
{
    if (value->type != GGUF_TEXT || *at >= value->bytes.size)
        return false;
    const char *from = value->bytes.data + *at;
    *ret = (struct slice){from + 8, (size_t)little_endian(from, 8)};
    *at += 8 + ret->size;
    return true;
}

bool gguf_text(const struct gguf_value *value, struct slice *ret)
{
    size_t at = 0;
    return !value->list && gguf_next_text(value, &at, ret);
}
