/* Checksums of values: a change of one bit, a value in another's place, a value cut
 * short; and those that a store of before is given. */
#include "tests/unit/support/stores.h"

#include <string.h>

#include "memory/store/store_internal.h"

enum { KEYS = 400, LONGEST = 6000 };

/* The value that a number has, of many sizes, also of several pages. */
static struct slice value_of(int number, char bytes[LONGEST])
{
    size_t size = (size_t)number * 37 % 300;
    if (number % 50 == 7)
        size = LONGEST - (size_t)number;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(number + (int)i * 7);
    return (struct slice){bytes, size};
}

static struct slice key_of(int number, char bytes[8])
{
    key_u64(bytes, (uint64_t)number);
    return (struct slice){bytes, 8};
}

static void put_all(struct store *store, int table)
{
    struct store_txn *txn;
    char key[8], value[LONGEST];
    assert_int_equal(store_write(store, &txn, NULL), 0);
    for (int n = 0; n < KEYS; n++)
        assert_int_equal(
            table_put(txn, table, key_of(n, key), value_of(n, value), NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
}

static void check_all(struct store *store, int table)
{
    struct store_txn *txn;
    char key[8], bytes[LONGEST];
    assert_int_equal(store_read(store, &txn, NULL), 0);
    for (int n = 0; n < KEYS; n++) {
        struct slice found, wanted = value_of(n, bytes);
        assert_int_equal(table_get(txn, table, key_of(n, key), &found, NULL),
                         0);
        assert_true(slice_equal(found, wanted));
    }
    store_end(txn);
}

/* What LMDB has for it, changed or another's. */
static void put_raw(struct store *store, int table, int number,
                    struct slice value)
{
    struct store_txn *txn;
    char key[8];
    assert_int_equal(store_write(store, &txn, NULL), 0);
    MDB_val k = {8, (void *)(uintptr_t)key_of(number, key).data};
    MDB_val v = {value.size, (void *)(uintptr_t)value.data};
    assert_int_equal(mdb_put(txn->mdb, txn->env->tables[table], &k, &v, 0), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
}

static void get_raw(struct store *store, int table, int number, struct buf *ret)
{
    struct store_txn *txn;
    char key[8];
    assert_int_equal(store_read(store, &txn, NULL), 0);
    MDB_val k = {8, (void *)(uintptr_t)key_of(number, key).data}, v;
    assert_int_equal(mdb_get(txn->mdb, txn->env->tables[table], &k, &v), 0);
    buf_clear(ret);
    buf_put(ret, v.mv_data, v.mv_size);
    store_end(txn);
}

/* By look-up, by cursor; and how those look at it who name what is damaged. */
static void check_refused(struct store *store, int table, int number)
{
    struct store_txn *txn;
    struct table_cursor cursor;
    struct slice key, value;
    struct err err = {0};
    char bytes[8];
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(table_get(txn, table, key_of(number, bytes), &value, &err),
                     ERR_STORE);
    assert_non_null(strstr(err.message, table_names[table]));
    assert_int_equal(
        table_get_lenient(txn, table, key_of(number, bytes), &value, &err), 0);
    assert_null(value.data);
    for (enum cursor_kind kind = CURSOR_STRICT; kind <= CURSOR_RAW; kind++) {
        assert_int_equal(table_cursor_open(txn, table, &cursor, NULL), 0);
        cursor.kind = kind;
        assert_int_equal(table_cursor_seek(&cursor, key_of(number, bytes), &key,
                                           &value, NULL),
                         kind == CURSOR_STRICT ? ERR_STORE : 0);
        if (kind != CURSOR_STRICT)
            assert_int_equal(value.data != NULL, kind == CURSOR_RAW);
        table_cursor_close(&cursor);
    }
    store_end(txn);
}

static void in_each_table(void (*test)(struct store *store, int table))
{
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    for (int t = 0; t < TABLES; t++) {
        if (!table_has_sums(t))
            continue;
        put_all(store, t);
        check_all(store, t);
        test(store, t);
        check_all(store, t);
    }
    store_close(store);
    unit_folder_remove(folder);
}

static void change_bits(struct store *store, int table)
{
    struct buf whole = {0};
    for (int n = 0; n < KEYS; n += 131) {
        get_raw(store, table, n, &whole);
        for (size_t bit = 0; bit < whole.size * 8; bit += 1 + whole.size * 3) {
            whole.data[bit / 8] ^= (char)(1 << bit % 8);
            put_raw(store, table, n, buf_slice(&whole));
            check_refused(store, table, n);
            whole.data[bit / 8] ^= (char)(1 << bit % 8);
        }
        put_raw(store, table, n, buf_slice(&whole));
    }
    buf_free(&whole);
}

static void a_changed_bit_is_noticed(void **state)
{
    (void)state;
    in_each_table(change_bits);
}

static void misplace(struct store *store, int table)
{
    struct buf own = {0}, other = {0};
    get_raw(store, table, 20, &own);
    get_raw(store, table, 21, &other);
    put_raw(store, table, 20, buf_slice(&other));
    check_refused(store, table, 20);
    for (size_t size = 0; size < 6; size++) {
        put_raw(store, table, 20, (struct slice){own.data, size});
        check_refused(store, table, 20);
    }
    put_raw(store, table, 20, buf_slice(&own));
    buf_free(&own);
    buf_free(&other);
}

static void a_value_in_anothers_place_is_noticed(void **state)
{
    (void)state;
    in_each_table(misplace);
}

/* The same value under the same key of two tables has two sums. */
static void a_value_of_another_table_is_noticed(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct buf value = {0};
    put_all(store, TABLE_SEGMENTS);
    put_all(store, TABLE_MEMORIES);
    get_raw(store, TABLE_SEGMENTS, 9, &value);
    put_raw(store, TABLE_MEMORIES, 9, buf_slice(&value));
    check_refused(store, TABLE_MEMORIES, 9);
    buf_free(&value);
    store_close(store);
    unit_folder_remove(folder);
}

/* All of them, in tables of several levels. */
static void values_of_before_are_given_sums(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct store_txn *txn;
    char bytes[LONGEST];
    for (int n = 0; n < KEYS; n++)
        put_raw(store, TABLE_POSTINGS, n, value_of(n, bytes));
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(sums_add(txn->env, txn->mdb, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    check_all(store, TABLE_POSTINGS);
    store_close(store);
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_bit_is_noticed),
        cmocka_unit_test(a_value_in_anothers_place_is_noticed),
        cmocka_unit_test(a_value_of_another_table_is_noticed),
        cmocka_unit_test(values_of_before_are_given_sums)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
