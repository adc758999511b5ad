/* The vectors of a manual as bytes; numbers are varints unless said:
 *
 *   version (2), flags, flags & 2: hash of the base 8, policy 16, generation, width, segments, tokens,
 *   nodes, rows, names, each name 16,                    the head ends here
 *   each node's id, each row's node less that of the row before,
 *   flags & 1: each row's index into names
 *   wholes as kernels/q8.h draws them, unless flags & 1 the keys likewise,
 *   hash of all that stands before 8, low byte first
 *
 * Version 1, which is read still, has no flags and no hash, and f16 each value,
 * low byte first. */
#include "base/vector.h"
#include "memory/vectors/vectors.h"

#include <stdlib.h>

#include "kernels/half.h"
#include "base/mem.h"
#include "kernels/q8.h"

enum {
    VERSION = 2,
    HALVES_VERSION = 1,
    FLAG_ROW_NAMES = 1,
    FLAG_DELTA = 2,
    MAX_WIDTH = 1 << 16,
    HASH_BYTES = 8
};

void vector_table_free(struct vector_table *table)
{
    free(table->nodes);
    free(table->subtrees);
    free(table->row_nodes);
    free(table->row_names);
    free(table->keys);
    free(table->names);
    *table = (struct vector_table){0};
}

static void put_name(struct buf *ret, struct hash128 name)
{
    unsigned char bytes[16];
    hash_write(name, bytes);
    buf_put(ret, bytes, sizeof bytes);
}

static void put_vectors(struct buf *ret, const float *vectors, size_t count,
                        size_t width)
{
    size_t each = q8_size(width);
    buf_reserve(ret, count * each);
    for (size_t i = 0; i < count; i++) {
        q8_encode(vectors + i * width, width,
                  (unsigned char *)ret->data + ret->size);
        ret->size += each;
    }
    buf_put(ret, "", 0);
}

static void put_hash(struct buf *ret, uint64_t hash)
{
    for (int i = 0; i < HASH_BYTES; i++)
        buf_put_byte(ret, (int)(hash >> 8 * i & 255));
}

static uint64_t take_hash(const void *bytes)
{
    const unsigned char *from = bytes;
    uint64_t hash = 0;
    for (int i = HASH_BYTES; from && i-- > 0;)
        hash = hash << 8 | from[i];
    return hash;
}

void vector_table_encode(const struct vector_table *table, struct buf *ret)
{
    buf_put_varint(ret, VERSION);
    buf_put_varint(ret, (table->row_names ? FLAG_ROW_NAMES : 0) |
                            (table->base ? FLAG_DELTA : 0));
    if (table->base)
        put_hash(ret, table->base);
    put_name(ret, table->policy);
    buf_put_varint(ret, table->generation);
    buf_put_varint(ret, table->width);
    buf_put_varint(ret, table->segments);
    buf_put_varint(ret, table->tokens);
    buf_put_varint(ret, table->node_count);
    buf_put_varint(ret, table->row_count);
    buf_put_varint(ret, table->name_count);
    for (uint32_t i = 0; i < table->name_count; i++)
        put_name(ret, table->names[i]);
    for (uint32_t i = 0; i < table->node_count; i++)
        buf_put_varint(ret, table->nodes[i]);
    for (uint32_t i = 0; i < table->row_count; i++)
        buf_put_varint(ret,
                       table->row_nodes[i] - (i ? table->row_nodes[i - 1] : 0));
    for (uint32_t i = 0; table->row_names && i < table->row_count; i++)
        buf_put_varint(ret, table->row_names[i]);
    put_vectors(ret, table->subtrees, table->node_count, table->width);
    if (!table->row_names)
        put_vectors(ret, table->keys, table->row_count, table->width);
    put_hash(ret, hash_bytes64(ret->data, ret->size));
}

static struct hash128 take_name(struct reader *in)
{
    const unsigned char *bytes = read_bytes(in, 16);
    return bytes ? hash_read(bytes) : (struct hash128){0};
}

struct taking {
    struct reader in;
    uint64_t version, flags;
    struct vector_table table;
};

/* A failed reader is the caller's to see. */
static void take_head(struct taking *t)
{
    struct reader *in = &t->in;
    struct vector_table *table = &t->table;
    t->version = read_varint(in);
    if (!t->version || t->version > VERSION || in->size - in->at < HASH_BYTES)
        in->failed = true;
    else if (t->version > HALVES_VERSION)
        in->size -= HASH_BYTES;
    t->flags = t->version > HALVES_VERSION ? read_varint(in) : 0;
    if (t->flags > (FLAG_ROW_NAMES | FLAG_DELTA))
        in->failed = true;
    if (t->flags & FLAG_DELTA)
        table->base = take_hash(read_bytes(in, HASH_BYTES));
    table->policy = take_name(in);
    table->generation = read_varint(in);
    table->width = read_u32(in);
    if (!table->width || table->width > MAX_WIDTH)
        in->failed = true;
    table->segments = read_varint(in);
    table->tokens = read_varint(in);
    table->node_count = read_u32(in);
    table->row_count = read_u32(in);
    table->name_count = (uint32_t)read_count(in, 16);
    table->names = mem_alloc(table->name_count * sizeof *table->names);
    for (uint32_t i = 0; i < table->name_count; i++)
        table->names[i] = take_name(in);
}

static size_t vector_size(const struct taking *t)
{
    return t->version > HALVES_VERSION ? q8_size(t->table.width)
                                       : 2 * t->table.width;
}

/* The nodes and rows that the head tells of fit into what is left. */
static bool fits(const struct taking *t)
{
    size_t each = vector_size(t), nodes, rows,
           row = 1 + (t->flags & FLAG_ROW_NAMES ? 1 : each);
    return !t->in.failed && mem_mul(1 + each, t->table.node_count, &nodes) &&
           mem_mul(row, t->table.row_count, &rows) &&
           nodes <= t->in.size - t->in.at &&
           rows <= t->in.size - t->in.at - nodes;
}

static void take_halves(const unsigned char *bytes, size_t count, float *ret,
                        bool *failed)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half = (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
        ret[i] = half_value(half);
        *failed = *failed || !half_is_finite(half);
    }
}

static float *take_vectors(struct taking *t, size_t count)
{
    size_t width = t->table.width, each = vector_size(t);
    float *vectors = mem_alloc(count * width * sizeof *vectors);
    const unsigned char *bytes = read_bytes(&t->in, count * each);
    for (size_t i = 0; bytes && i < count; i++) {
        if (t->version == HALVES_VERSION)
            take_halves(bytes + i * each, width, vectors + i * width,
                        &t->in.failed);
        else if (!q8_decode(bytes + i * each, width, vectors + i * width))
            t->in.failed = true;
    }
    return vectors;
}

static void take_rows(struct reader *in, struct vector_table *table)
{
    uint64_t node = 0;
    table->row_nodes = mem_alloc(table->row_count * sizeof *table->row_nodes);
    for (uint32_t i = 0; i < table->row_count; i++) {
        node += read_u32(in);
        if (node >= table->node_count) {
            in->failed = true;
            return;
        }
        table->row_nodes[i] = (uint32_t)node;
    }
}

static void take_row_names(struct reader *in, struct vector_table *table)
{
    table->row_names = mem_alloc(table->row_count * sizeof *table->row_names);
    for (uint32_t i = 0; i < table->row_count; i++) {
        table->row_names[i] = read_u32(in);
        if (table->row_names[i] >= table->name_count) {
            in->failed = true;
            return;
        }
    }
}

/* What a reader of version 2 has left out is the hash of the rest. */
static bool is_whole(const struct taking *t)
{
    const struct reader *in = &t->in;
    if (in->failed || t->version == HALVES_VERSION)
        return !in->failed;
    return take_hash(in->data + in->size) == hash_bytes64(in->data, in->size);
}

static void take_body(struct taking *t)
{
    struct reader *in = &t->in;
    struct vector_table *table = &t->table;
    if (!is_whole(t) || !fits(t)) {
        in->failed = true;
        return;
    }
    table->nodes = mem_alloc(table->node_count * sizeof *table->nodes);
    for (uint32_t i = 0; i < table->node_count; i++)
        table->nodes[i] = read_varint(in);
    take_rows(in, table);
    if (t->flags & FLAG_ROW_NAMES)
        take_row_names(in, table);
    table->subtrees = take_vectors(t, table->node_count);
    if (!table->row_names)
        table->keys = take_vectors(t, table->row_count);
    if (in->at != in->size)
        in->failed = true;
}

static int take(struct slice bytes, bool whole, struct vector_table *ret,
                struct err *err)
{
    struct taking t = {.in = reader_of(bytes.data, bytes.size)};
    take_head(&t);
    if (whole)
        take_body(&t);
    if (t.in.failed) {
        vector_table_free(&t.table);
        return err_set(err, ERR_FORMAT,
                       "the vectors are damaged, or of another version");
    }
    *ret = t.table;
    return 0;
}

int vector_table_decode(struct slice bytes, struct vector_table *ret,
                        struct err *err)
{
    return take(bytes, true, ret, err);
}

int vector_table_head(struct slice bytes, struct vector_table *ret,
                      struct err *err)
{
    return take(bytes, false, ret, err);
}

uint64_t vector_table_hash(struct slice bytes)
{
    struct reader in = reader_of(bytes.data, bytes.size);
    if (bytes.size <= HASH_BYTES || read_varint(&in) <= HALVES_VERSION)
        return 0;
    return take_hash(bytes.data + bytes.size - HASH_BYTES);
}

bool vector_table_is_whole(struct slice bytes)
{
    struct taking t = {.in = reader_of(bytes.data, bytes.size)};
    take_head(&t);
    bool whole = is_whole(&t);
    vector_table_free(&t.table);
    return whole;
}

int vector_table_read_keys(struct store_txn *txn, struct vector_table *table,
                           struct err *err)
{
    int code = 0;
    if (table->keys || !table->row_names)
        return 0;
    table->keys = mem_alloc(table->row_count * table->width * sizeof(float));
    for (uint32_t i = 0; i < table->row_count && !code; i++) {
        float *key = table->keys + i * table->width;
        code = store_get_memory(txn, table->names[table->row_names[i]], key,
                                table->width, err);
        vector_unit(key, table->width);
    }
    return code;
}
