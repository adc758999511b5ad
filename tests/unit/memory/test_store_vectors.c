/* Memories and vectors in the store, and the numbers they are kept in. */
#include "tests/unit/support/stores.h"

#include <math.h>

#include "kernels/half.h"
#include "kernels/q8.h"
#include "memory/store/store_internal.h"
#include "memory/vectors/vectors.h"

static void vectors_are_counted(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    uint32_t id = 0;
    struct store_txn *txn;
    struct slice bytes;
    put_manual(store, "m", 1, 1, &id);
    assert_int_equal(vectors_of(store, id), 0);
    put_vectors(store, id, slice_of("first"));
    put_vectors(store, id, slice_of("second"));
    assert_int_equal(vectors_of(store, id), 2);
    put_manual(store, "m", 2, 1, &id); /* by one who does not know of them */
    assert_int_equal(vectors_of(store, id), 2);
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_get_vectors(txn, id, &bytes, NULL), 0);
    assert_true(slice_is(bytes, "second"));
    assert_int_equal(store_put_vectors(txn, id + 1, bytes, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_delete_manual(txn, id, NULL), 0);
    assert_int_equal(store_get_vectors(txn, id, &bytes, NULL), ERR_NOT_FOUND);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

enum { WIDTH = 5 };

static void put_memory(struct store *store, struct hash128 name)
{
    struct store_txn *txn;
    float memory[WIDTH] = {0, 1, -127, 0.4F, (float)name.low};
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_memory(txn, name, memory, WIDTH, NULL), 0);
    assert_int_equal(store_put_segments(txn, name, slice_of("segments"), NULL),
                     0);
    assert_int_equal(store_commit(txn, NULL), 0);
}

static void check_memory(struct store *store, struct hash128 name, int want)
{
    struct store_txn *txn;
    float memory[WIDTH];
    struct slice value;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_get_memory(txn, name, memory, WIDTH, NULL), want);
    assert_int_equal(store_get_segments(txn, name, &value, NULL), want);
    if (!want) {
        assert_true(memory[1] == 1 && memory[2] == -127 && memory[3] == 0);
        assert_true(memory[4] == (float)name.low);
        assert_true(slice_is(value, "segments"));
        assert_true(store_has_memory(txn, name, WIDTH));
        assert_false(store_has_memory(txn, name, WIDTH + 1));
        assert_int_equal(store_get_memory(txn, name, memory, WIDTH + 1, NULL),
                         ERR_STORE);
    }
    store_end(txn);
}

static struct vector_table some_vectors(uint64_t generation, uint32_t nodes,
                                        uint32_t rows)
{
    uint64_t seed = generation;
    struct vector_table table = {.policy = {4, 5},
                                 .generation = generation,
                                 .width = 3,
                                 .segments = rows + 2,
                                 .tokens = 1000,
                                 .node_count = nodes,
                                 .row_count = rows,
                                 .name_count = 2};
    table.nodes = mem_alloc(nodes * sizeof *table.nodes);
    table.subtrees = mem_alloc(3 * nodes * sizeof *table.subtrees);
    table.row_nodes = mem_alloc(rows * sizeof *table.row_nodes);
    table.keys = mem_alloc(3 * rows * sizeof *table.keys);
    table.names = mem_alloc(2 * sizeof *table.names);
    table.names[0] = (struct hash128){1, 1};
    table.names[1] = (struct hash128){2, 2};
    for (uint32_t i = 0; i < nodes; i++)
        table.nodes[i] = unit_random(&seed);
    for (uint32_t i = 0; i < rows; i++)
        table.row_nodes[i] = i * nodes / rows;
    for (uint32_t i = 0; i < 3 * nodes; i++)
        table.subtrees[i] = (float)unit_below(&seed, 2001) / 1000 - 1;
    for (uint32_t i = 0; i < 3 * rows; i++)
        table.keys[i] = (float)unit_below(&seed, 2001) / 1000 - 1;
    return table;
}

/* What an unfinished making of some manual notes stays, and nothing else does. */
static void what_is_being_made_is_not_collected(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    const struct hash128 plan_cache = {1, 1}, made = {3, 3}, lost = {4, 4};
    uint32_t id = 0, other = 0;
    struct store_txn *txn;
    struct buf bytes = {0};
    put_manual(store, "m", 6, 1, &id);
    put_manual(store, "fails", 1, 1, &other);
    put_memory(store, plan_cache);
    put_memory(store, made);
    put_memory(store, lost);
    struct vector_table table = some_vectors(5, 4, 6);
    vector_table_encode(&table, &bytes);
    put_vectors(store, id, buf_slice(&bytes));
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(
        store_note_made(txn, other, UNFINISHED_MEMORIES, &lost, 1, NULL), 0);
    assert_int_equal(
        store_note_made(txn, other, UNFINISHED_MEMORIES, &made, 1, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(store_collect(store, NULL), 0);
    check_memory(store, plan_cache,
                 0); /* named by vectors of an older generation */
    check_memory(store, made, 0);
    check_memory(store, lost, 0);
    assert_int_equal(
        store_prune_made(store, other, UNFINISHED_SEGMENTS, NULL, 0, NULL), 0);
    assert_int_equal(
        store_prune_made(store, other, UNFINISHED_MEMORIES, &made, 1, NULL), 0);
    assert_int_equal(store_collect(store, NULL), 0);
    check_memory(store, made, 0);
    check_memory(store, lost, ERR_NOT_FOUND);
    put_vectors(store, other, buf_slice(&bytes)); /* it is done, without it */
    assert_int_equal(store_collect(store, NULL), 0);
    check_memory(store, made, ERR_NOT_FOUND);
    check_memory(store, plan_cache, 0);
    vector_table_free(&table);
    buf_free(&bytes);
    store_close(store);
    unit_folder_remove(folder);
}

static void vectors_are_read_as_they_were(void **state)
{
    (void)state;
    struct vector_table table = some_vectors(7, 20, 30), got, head;
    struct buf bytes = {0};
    vector_table_encode(&table, &bytes);
    assert_int_equal(vector_table_decode(buf_slice(&bytes), &got, NULL), 0);
    assert_int_equal(vector_table_head(buf_slice(&bytes), &head, NULL), 0);
    assert_true(hash_equal(got.policy, table.policy));
    assert_int_equal(got.generation, 7);
    assert_int_equal(got.segments, 32);
    assert_int_equal(got.tokens, 1000);
    assert_int_equal(got.node_count, 20);
    assert_int_equal(got.row_count, 30);
    assert_int_equal(head.name_count, 2);
    assert_int_equal(head.tokens, 1000);
    assert_memory_equal(head.names, table.names, 2 * sizeof *head.names);
    assert_memory_equal(got.nodes, table.nodes, 20 * sizeof *got.nodes);
    assert_memory_equal(got.row_nodes, table.row_nodes,
                        30 * sizeof *got.row_nodes);
    for (int i = 0; i < 90; i++)
        assert_true(fabsf(got.keys[i] - table.keys[i]) <= 1.0F / 253);
    for (int i = 0; i < 60; i++)
        assert_true(fabsf(got.subtrees[i] - table.subtrees[i]) <= 1.0F / 253);
    assert_null(got.row_names);
    vector_table_free(&table);
    vector_table_free(&got);
    vector_table_free(&head);
    buf_free(&bytes);
}

/* What the version before wrote. */
static void put_first_version(const struct vector_table *t, struct buf *ret)
{
    const struct {
        const float *values;
        size_t count;
    } parts[] = {{t->subtrees, t->node_count * t->width},
                 {t->keys, t->row_count * t->width}};
    unsigned char name[16];
    const uint64_t head[] = {t->generation, t->width,      t->segments,
                             t->tokens,     t->node_count, t->row_count,
                             t->name_count};
    buf_put_varint(ret, 1);
    hash_write(t->policy, name);
    buf_put(ret, name, sizeof name);
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++)
        buf_put_varint(ret, head[i]);
    for (uint32_t i = 0; i < t->name_count; i++) {
        hash_write(t->names[i], name);
        buf_put(ret, name, sizeof name);
    }
    for (uint32_t i = 0; i < t->node_count; i++)
        buf_put_varint(ret, t->nodes[i]);
    for (uint32_t i = 0; i < t->row_count; i++)
        buf_put_varint(ret, t->row_nodes[i] - (i ? t->row_nodes[i - 1] : 0));
    for (size_t p = 0; p < 2; p++)
        for (size_t i = 0; i < parts[p].count; i++) {
            uint16_t half = half_of(parts[p].values[i]);
            buf_put_byte(ret, half & 255);
            buf_put_byte(ret, half >> 8);
        }
}

static void vectors_of_the_first_version_are_read(void **state)
{
    (void)state;
    struct vector_table table = some_vectors(7, 20, 30), got;
    struct buf bytes = {0};
    put_first_version(&table, &bytes);
    assert_int_equal(vector_table_decode(buf_slice(&bytes), &got, NULL), 0);
    assert_int_equal(got.generation, 7);
    assert_memory_equal(got.nodes, table.nodes, 20 * sizeof *got.nodes);
    for (int i = 0; i < 90; i++)
        assert_true(got.keys[i] == half_value(half_of(table.keys[i])));
    vector_table_free(&table);
    vector_table_free(&got);
    buf_free(&bytes);
}

/* Halves of the version before, and numbers that are none. */
static void memories_of_the_first_version_are_read(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct store_txn *txn;
    const char key[16] = {0}, halves[6] = "\0\x3C\0\xC0\0\x7C";
    struct slice at = {key, 16};
    float memory[3];
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(
        table_put(txn, TABLE_MEMORIES, at, (struct slice){halves, 4}, NULL), 0);
    struct hash128 name = hash_read((const unsigned char *)key);
    memset(memory, 0, sizeof memory);
    assert_int_equal(store_get_memory(txn, name, memory, 3, NULL), ERR_STORE);
    char four[8] = "\0\x3C\0\xC0\0\x40\0\0";
    float values[4];
    assert_int_equal(
        table_put(txn, TABLE_MEMORIES, at, (struct slice){four, 8}, NULL), 0);
    assert_int_equal(store_get_memory(txn, name, values, 4, NULL), 0);
    assert_true(values[0] == 1 && values[1] == -2 && values[2] == 2);
    memcpy(four + 4, halves + 4, 2);
    assert_int_equal(
        table_put(txn, TABLE_MEMORIES, at, (struct slice){four, 8}, NULL), 0);
    assert_int_equal(store_get_memory(txn, name, values, 4, NULL), ERR_STORE);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

static void vectors_in_eight_bits_keep_their_direction(void **state)
{
    (void)state;
    uint64_t seed = 5;
    for (size_t width = 1; width < 400; width += 13) {
        float *vector = mem_alloc(width * sizeof *vector);
        float *read = mem_alloc(width * sizeof *read);
        unsigned char *bytes = mem_alloc(q8_size(width));
        double product = 0, square = 0, length = 0;
        for (size_t i = 0; i < width; i++) {
            vector[i] = 0;
            for (int n = 0; n < 12; n++) /* nearly Gaussian */
                vector[i] += (float)unit_below(&seed, 2001) / 1000 - 1;
            vector[i] *= width % 2 ? 1e-3F : 1e3F;
        }
        q8_encode(vector, width, bytes);
        assert_true(q8_decode(bytes, width, read));
        for (size_t i = 0; i < width; i++) {
            product += (double)vector[i] * (double)read[i];
            square += (double)read[i] * (double)read[i];
            length += (double)vector[i] * (double)vector[i];
        }
        assert_true(product / sqrt(square * length) > 0.99995);
        bytes[1] = 0x7C;
        assert_false(q8_decode(bytes, width, read));
        memset(vector, 0, width * sizeof *vector);
        q8_encode(vector, width, bytes);
        assert_true(q8_decode(bytes, width, read) && read[0] == 0);
        vector[0] = 1e30F;
        q8_encode(vector, width, bytes);
        assert_true(q8_decode(bytes, width, read) && read[0] > 1e6F);
        free(vector);
        free(read);
        free(bytes);
    }
}

/* As kernels/q8.h states it. */
static void eight_bits_lose_no_more_than_stated(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    float values[COUNT], read[COUNT];
    unsigned char bytes[COUNT + 2];
    uint64_t seed = 6;
    assert_int_equal(q8_size(COUNT), sizeof bytes);
    for (double max = 0x1p-10; max <= 0x1p22; max *= 1.07) {
        values[0] = (float)max;
        for (int i = 1; i < COUNT; i++)
            values[i] =
                (float)(max * ((double)unit_below(&seed, 2001) / 1000 - 1));
        q8_encode(values, COUNT, bytes);
        assert_true(q8_decode(bytes, COUNT, read));
        for (int i = 0; i < COUNT; i++)
            assert_true(fabs((double)values[i] - (double)read[i]) <= max / 253);
    }
}

static void damaged_vectors_are_refused(void **state)
{
    (void)state;
    struct vector_table table = some_vectors(7, 20, 30), got;
    struct buf bytes = {0};
    uint64_t seed = 11;
    vector_table_encode(&table, &bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        char *cut = memcpy(mem_alloc(size), bytes.data, size);
        assert_int_equal(
            vector_table_decode((struct slice){cut, size}, &got, NULL),
            ERR_FORMAT);
        free(cut);
    }
    for (int i = 0; i < 20000; i++) {
        char *copy = memcpy(mem_alloc(bytes.size), bytes.data, bytes.size);
        for (uint32_t n = 1 + unit_below(&seed, 3); n > 0; n--)
            copy[unit_below(&seed, i % 2 ? 60 : (uint32_t)bytes.size)] =
                (char)unit_below(&seed, 256);
        struct slice slice = {copy, bytes.size};
        if (!vector_table_head(slice, &got, NULL))
            vector_table_free(&got);
        if (!vector_table_decode(slice, &got, NULL)) {
            for (uint32_t r = 0; r < got.row_count; r++)
                assert_true(got.row_nodes[r] < got.node_count);
            for (size_t k = 0; k < got.row_count * got.width; k++)
                assert_true(isfinite(got.keys[k]));
            vector_table_free(&got);
        }
        free(copy);
    }
    vector_table_free(&table);
    buf_free(&bytes);
}

static void halves_round_to_the_nearest(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float value = half_value((uint16_t)h);
        if ((h & 0x7FFF) > 0x7C00)
            assert_true(isnan(value) && (half_of(value) & 0x7FFF) > 0x7C00);
        else
            assert_int_equal(half_of(value), h);
        if ((h & 0x7FFF) >= 0x7C00 || (h & 0x7FFF) == 0x7BFF)
            continue;
        float next = half_value((uint16_t)(h + 1));
        float middle = (value + next) / 2;
        assert_int_equal(half_of(middle), h + (h & 1)); /* ties to even */
        assert_int_equal(half_of(nextafterf(middle, value)), h);
        assert_int_equal(half_of(nextafterf(middle, next)), h + 1);
    }
    assert_int_equal(half_of(65519.99F), 0x7BFF);
    assert_int_equal(half_of(65520), 0x7C00);
    assert_int_equal(half_of(-1e30F), 0xFC00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_counted),
        cmocka_unit_test(what_is_being_made_is_not_collected),
        cmocka_unit_test(vectors_are_read_as_they_were),
        cmocka_unit_test(vectors_of_the_first_version_are_read),
        cmocka_unit_test(memories_of_the_first_version_are_read),
        cmocka_unit_test(vectors_in_eight_bits_keep_their_direction),
        cmocka_unit_test(eight_bits_lose_no_more_than_stated),
        cmocka_unit_test(damaged_vectors_are_refused),
        cmocka_unit_test(halves_round_to_the_nearest),
    };
    return cmocka_run_group_tests_name("store vectors", tests, NULL, NULL);
}
