/* The vectors of a manual as bytes; numbers are varints unless said:
 *
 *   version (2), policy 16, generation, width, segments, tokens,
 *   nodes, rows, names, each name 16,                    the head ends here
 *   each node's id, each row's node less that of the row before,
 *   wholes, then keys: f16 each value, low byte first,
 *   hash of all that stands before 8, low byte first
 *
 * Version 1, which is read still, has no hash. */
#include "memory/vectors.h"

#include <stdlib.h>

#include "base/half.h"
#include "base/mem.h"

enum { VERSION = 2, MOST_WIDTH = 1 << 16, HASH_BYTES = 8 };

void vector_table_free(struct vector_table *table)
{
    free(table->nodes);
    free(table->wholes);
    free(table->row_nodes);
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

static void put_halves(struct buf *ret, const float *values, size_t count)
{
    buf_reserve(ret, 2 * count);
    char *out = ret->data + ret->size;
    for (size_t i = 0; i < count; i++) {
        uint16_t half = half_of(values[i]);
        out[2 * i] = (char)(half & 255);
        out[2 * i + 1] = (char)(half >> 8);
    }
    ret->size += 2 * count;
    buf_put(ret, "", 0);
}

void vector_table_encode(const struct vector_table *table, struct buf *ret)
{
    buf_put_varint(ret, VERSION);
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
    put_halves(ret, table->wholes, table->node_count * table->width);
    put_halves(ret, table->keys, table->row_count * table->width);
    uint64_t hash = hash_bytes64(ret->data, ret->size);
    for (int i = 0; i < HASH_BYTES; i++)
        buf_put_byte(ret, (int)(hash >> 8 * i & 255));
}

static struct hash128 take_name(struct reader *in)
{
    const unsigned char *bytes = read_bytes(in, 16);
    return bytes ? hash_read(bytes) : (struct hash128){0};
}

/* A failed reader is the caller's to see. */
static void take_head(struct reader *in, struct vector_table *table)
{
    uint64_t version = read_varint(in);
    if (!version || version > VERSION || in->size < HASH_BYTES)
        in->failed = true;
    else if (version > 1)
        in->size -= HASH_BYTES;
    table->policy = take_name(in);
    table->generation = read_varint(in);
    table->width = read_u32(in);
    if (!table->width || table->width > MOST_WIDTH)
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

/* The nodes and rows that the head tells of fit into what is left. */
static bool fits(const struct reader *in, const struct vector_table *table)
{
    size_t each = 1 + 2 * table->width, rows;
    return !in->failed &&
           mem_mul(each, (size_t)table->node_count + table->row_count, &rows) &&
           rows <= in->size - in->at;
}

static float *take_halves(struct reader *in, size_t count)
{
    float *values = mem_alloc(count * sizeof *values);
    const unsigned char *bytes = read_bytes(in, 2 * count);
    for (size_t i = 0; bytes && i < count; i++) {
        uint16_t half = (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
        values[i] = half_value(half);
        if (!half_is_finite(half))
            in->failed = true;
    }
    return values;
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

/* What a reader of version 2 has left out is the hash of the rest. */
static bool is_whole(const struct reader *in, size_t size)
{
    uint64_t hash = 0;
    if (in->failed || in->size == size)
        return !in->failed;
    for (int i = HASH_BYTES; i-- > 0;)
        hash = hash << 8 | in->data[in->size + (size_t)i];
    return hash == hash_bytes64(in->data, in->size);
}

static void take_body(struct reader *in, size_t size,
                      struct vector_table *table)
{
    if (!is_whole(in, size) || !fits(in, table)) {
        in->failed = true;
        return;
    }
    table->nodes = mem_alloc(table->node_count * sizeof *table->nodes);
    for (uint32_t i = 0; i < table->node_count; i++)
        table->nodes[i] = read_varint(in);
    take_rows(in, table);
    table->wholes = take_halves(in, table->node_count * table->width);
    table->keys = take_halves(in, table->row_count * table->width);
    if (in->at != in->size)
        in->failed = true;
}

static int take(struct slice bytes, bool whole, struct vector_table *ret,
                struct err *err)
{
    struct reader in = reader_of(bytes.data, bytes.size);
    struct vector_table table = {0};
    take_head(&in, &table);
    if (whole)
        take_body(&in, bytes.size, &table);
    if (in.failed) {
        vector_table_free(&table);
        return err_set(err, ERR_FORMAT,
                       "the vectors are damaged, or of another version");
    }
    *ret = table;
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
