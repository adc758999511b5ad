/* Records whose bytes are others, with a right sum: what reads them tells, or gives what
 * may be; nothing ends the process.  Files whose beginning is another are refused, or
 * opened. */
#include "tests/unit/support/indexed_house.h"
#include "tests/unit/support/stores.h"
#include "tests/unit/support/trapped.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/log.h"
#include "indexer/parsers.h"
#include "memory/store/store_internal.h"
#include "memory/store/verify/store_verify.h"
#include "memory/vectors/vectors.h"

enum { FIRST_BYTES = 48, RECORDS = 3, MAX_KEPT = 64, FILE_MOST = 16 << 20 };

/* ---- Each byte ---- */

struct kept {
    int table;
    struct buf key, value;
};

static size_t keep_some(struct house *h, struct kept *kept)
{
    struct store_txn *txn;
    size_t count = 0;
    assert_int_equal(store_read(h->store, &txn, NULL), 0);
    for (int t = 0; t < TABLES; t++) {
        MDB_cursor *cursor;
        MDB_val key, value;
        assert_int_equal(
            mdb_cursor_open(txn->mdb, txn->env->tables[t], &cursor), 0);
        for (int i = 0; i < RECORDS && count < MAX_KEPT &&
                        !mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
             i++) {
            size_t sum = table_has_sums(t) ? SUM_BYTES : 0;
            struct kept *one = &kept[count++];
            *one = (struct kept){.table = t};
            buf_put(&one->key, key.mv_data, key.mv_size);
            buf_put(&one->value, value.mv_data, value.mv_size - sum);
        }
        mdb_cursor_close(cursor);
    }
    store_end(txn);
    return count;
}

static void put_record(struct house *h, int table, struct slice key,
                       struct slice value)
{
    struct store_txn *txn;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(table_put(txn, table, key, value, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
}

static void take_record(struct house *h, int table, struct slice key)
{
    struct store_txn *txn;
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(table_delete(txn, table, key, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
}

static void verify_it(struct house *h)
{
    struct verify_report report = {0};
    struct verify_options options = {.store = h->store,
                                     .library = h->library,
                                     .facts = &h->toy.facts,
                                     .policy = policy,
                                     .is_tree = parsers_is_tree,
                                     .is_packed = source_is_gzipped};
    verify_store(&options, &report, NULL);
    verify_manual(&options, h->manual, &report, NULL);
    verify_report_free(&report);
}

static void read_trees(struct store_txn *txn, struct hash128 name)
{
    struct tree *tree;
    uint32_t first;
    if (!store_get_tree(txn, name, &tree, NULL))
        tree_free(tree);
    if (!store_get_tree_part(txn, name, 1, &tree, &first, NULL))
        tree_free(tree);
}

static void read_table(struct store_txn *txn, uint32_t manual)
{
    struct slice value;
    struct vector_table table;
    if (store_get_vectors(txn, manual, &value, NULL) ||
        vector_table_decode(value, &table, NULL))
        return;
    vector_table_read_keys(txn, &table, NULL);
    vector_table_free(&table);
}

/* All that reads records, by their names. */
static void read_it(struct house *h, const struct kept *of)
{
    struct store_txn *txn;
    struct manual manual, *all;
    struct file *files;
    size_t count;
    assert_int_equal(store_read(h->store, &txn, NULL), 0);
    if (!store_list_manuals(txn, &all, &count, NULL)) {
        for (size_t i = 0; i < count; i++)
            manual_free(&all[i]);
        free(all);
    }
    if (!store_find_manual(txn, "m", &manual, NULL))
        manual_free(&manual);
    if (!store_list_files(txn, h->manual, &files, &count, NULL)) {
        for (size_t i = 0; i < count; i++)
            file_free(&files[i]);
        free(files);
    }
    if (of->table == TABLE_TREES && of->key.size == sizeof(struct hash128)) {
        struct hash128 name;
        memcpy(&name, of->key.data, sizeof name);
        read_trees(txn, name);
    }
    read_table(txn, h->manual);
    store_end(txn);
}

static void change_record(struct house *h, struct kept *one)
{
    static const unsigned char values[] = {0, 0x7F, 0xFF};
    const struct slice key = buf_slice(&one->key);
    struct slice value = buf_slice(&one->value);
    for (size_t at = 0; at < value.size && at < FIRST_BYTES; at++)
        for (size_t i = 0; i < sizeof values; i++) {
            char old = one->value.data[at];
            one->value.data[at] = (char)values[i];
            put_record(h, one->table, key, value);
            one->value.data[at] = old;
            read_it(h, one);
            verify_it(h);
        }
    for (size_t size = 0; size < value.size && size < FIRST_BYTES; size += 3) {
        put_record(h, one->table, key, (struct slice){value.data, size});
        read_it(h, one);
        verify_it(h);
    }
    struct buf longer = {0};
    buf_put_slice(&longer, value);
    buf_put_text(&longer, "more");
    put_record(h, one->table, key, buf_slice(&longer));
    buf_free(&longer);
    read_it(h, one);
    verify_it(h);
    put_record(h, one->table, key, value);
}

static void each_byte_may_be_another(void **state)
{
    struct house *h = *state;
    static struct kept kept[MAX_KEPT];
    size_t count = keep_some(h, kept);
    mdb_env_set_flags(h->store->env->mdb, MDB_NOSYNC, 1);
    for (size_t i = 0; i < count; i++) {
        change_record(h, &kept[i]);
        buf_free(&kept[i].key);
        buf_free(&kept[i].value);
    }
    struct verify_report report = {0};
    struct verify_options options = {.store = h->store,
                                     .library = h->library,
                                     .facts = &h->toy.facts,
                                     .policy = policy,
                                     .is_tree = parsers_is_tree,
                                     .is_packed = source_is_gzipped};
    assert_int_equal(verify_store(&options, &report, NULL), 0);
    assert_int_equal(verify_manual(&options, h->manual, &report, NULL), 0);
    assert_int_equal(report.fault_count, 0);
    verify_report_free(&report);
}

/* Keys that no record has: collected, or told, and the others are read. */
static void keys_may_be_others(void **state)
{
    struct house *h = *state;
    mdb_env_set_flags(h->store->env->mdb, MDB_NOSYNC, 1);
    static const char *const keys[] = {"x", "xyz", "\xFF\xFF\xFF\xFF\xFF"};
    for (int t = TABLE_META; t < TABLES; t++)
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            const struct kept none = {.table = t};
            struct slice key = slice_of(keys[i]);
            put_record(h, t, key, slice_of("value"));
            read_it(h, &none);
            verify_it(h);
            store_collect(h->store, NULL);
            take_record(h, t, key);
        }
}

/* What has no inputs has none when it is read; bytes of another width are no memory. */
static void values_may_be_absent(void **state)
{
    struct house *h = *state;
    const struct file file = {.path = "0.html", .failure = "none"};
    struct file *files;
    struct store_txn *txn;
    size_t count;
    float memory[TOY_WIDTH];
    assert_int_equal(store_write(h->store, &txn, NULL), 0);
    assert_int_equal(store_put_file(txn, h->manual, &file, NULL), 0);
    assert_int_equal(store_list_files(txn, h->manual, &files, &count, NULL), 0);
    assert_string_equal(files[0].path, "0.html");
    assert_string_equal(files[0].inputs, "");
    for (size_t i = 0; i < count; i++)
        file_free(&files[i]);
    free(files);
    store_end(txn);
    assert_false(store_is_memory(slice_of(""), memory, 0));
    assert_false(store_is_memory(slice_of("x"), memory, TOY_WIDTH));
}

/* ---- The file's beginning ---- */

static int try_open(const char *folder, struct err *err)
{
    struct store *store;
    struct store_options options = {
        .folder = folder, .address = "/s", .max_bytes = 64 << 20};
    int code = store_open(&options, &store, err);
    if (!code)
        store_close(store);
    return code;
}

static void beginnings_may_be_others(void **state)
{
    enum { PAGE = 4096, HEAD = 16, START = 136 };
    static const uint16_t values[] = {0, 1, 2, 8, 33, 0x1001, 0xFFFF};
    struct buf bytes = {0};
    char *folder = unit_folder(), path[300];
    struct err err;
    (void)state;
    assert_int_equal(try_open(folder, &err), 0);
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    assert_int_equal(file_read(path, FILE_MOST, &bytes, NULL), 0);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t page = 0; page < 2; page++)
        for (size_t at = 0; at < START; at += 2)
            for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
                off_t place = (off_t)(page * PAGE + HEAD + at);
                assert_int_equal(pwrite(fd, &values[i], 2, place), 2);
                try_open(folder, &err);
                assert_int_equal(ftruncate(fd, 0), 0);
                assert_int_equal(pwrite(fd, bytes.data, bytes.size, 0),
                                 bytes.size);
            }
    assert_int_equal(try_open(folder, &err), 0);
    for (size_t size = 0; size < bytes.size; size += 1000) {
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        assert_true(try_open(folder, &err) != 0 || !size);
        assert_int_equal(pwrite(fd, bytes.data, bytes.size, 0), bytes.size);
    }
    close(fd);
    buf_free(&bytes);
    unit_folder_remove(folder);
}

/* ---- Who uses it ---- */

static void who_uses_a_store_is_named(void **state)
{
    static const struct {
        const char *lock, *says;
    } cases[] = {{"12\n/s", "pid 12"}, {"12", "pid 12"}, {"", "pid unknown"}};
    char *folder = unit_folder(), path[300];
    struct err err;
    (void)state;
    assert_int_equal(try_open(folder, &err), 0);
    snprintf(path, sizeof path, "%s/lock", folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(file_write(path, slice_of(cases[i].lock), NULL), 0);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(try_open(folder, &err), ERR_STORE);
        assert_non_null(strstr(err.message, cases[i].says));
        close(fd);
    }
    unit_folder_remove(folder);
}

/* ---- Where a copy may go ---- */

static void copies_go_into_folders_of_their_own(void **state)
{
    struct house *h = *state;
    struct copy_report report;
    struct err err;
    char path[700];
    static const char *const refused[] = {"", "relative", "/",
                                          "/no/such/folder/copy"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_equal(
            store_backup(h->store, refused[i], NULL, NULL, NULL, &report, &err),
            ERR_USAGE);
    snprintf(path, sizeof path, "%s/a.html/copy", h->root);
    assert_int_equal(
        store_backup(h->store, path, NULL, NULL, NULL, &report, &err),
        ERR_USAGE);
    snprintf(path, sizeof path, "%s/a.html", h->root);
    assert_int_equal(
        store_backup(h->store, path, NULL, NULL, NULL, &report, &err),
        ERR_USAGE);
    assert_int_equal(
        store_backup(h->store, h->root, NULL, NULL, NULL, &report, &err),
        ERR_USAGE);
    snprintf(path, sizeof path, "%s/empty", h->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(
        store_backup(h->store, path, NULL, NULL, NULL, &report, &err), 0);
}

/* ---- Pages that are not there ---- */

/* Read where no call of LMDB is under way: zeros take their place, and the store tells. */
static void pages_that_are_cut_off_are_zeros(void **state)
{
    enum { LONG = 400000 };
    (void)state;
    char *folder = unit_folder(), path[300], other[300];
    struct store_txn *txn;
    struct slice value;
    struct buf longest = {0};
    struct err err;
    while (longest.size < LONG)
        buf_put_text(&longest, "value ");
    snprintf(other, sizeof other, "%s/other", folder);
    struct store *first = open_store(other), *store = open_store(folder);
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(
        store_put_segments(txn, hash_bytes("x", 1), buf_slice(&longest), NULL),
        0);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_get_segments(txn, hash_bytes("x", 1), &value, NULL),
                     0);
    snprintf(path, sizeof path, "%s/data.mdb", folder);
    assert_int_equal(truncate(path, 16384), 0);
    assert_int_equal(((const volatile char *)value.data)[value.size - 1], 0);
    store_end(txn);
    assert_int_equal(store_damage(store, &err), ERR_STORE);
    assert_int_equal(store_read(store, &txn, &err), ERR_STORE);
    store_close(store);
    store_close(first);
    buf_free(&longest);
    unit_folder_remove(folder);
}

/* More stores than have a place in the list of maps: they are read as well. */
static void many_stores_are_open_at_once(void **state)
{
    enum { MANY = 70 };
    struct store *stores[MANY];
    struct err err;
    char *folder = unit_folder(), path[300];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        uint32_t id = 0;
        snprintf(path, sizeof path, "%s/%d", folder, i);
        stores[i] = open_store(path);
        put_manual(stores[i], "m", 1, 1, &id);
        assert_int_equal(store_check(stores[i], true, &err), 0);
        assert_int_equal(store_damage(stores[i], &err), 0);
    }
    for (int i = 0; i < MANY; i++)
        store_close(stores[i]);
    unit_folder_remove(folder);
}

#define IN_HOUSE(name)                                                         \
    cmocka_unit_test_setup_teardown(name, open_house, close_house)

int main(void)
{
    if (!access("/dev/shm", W_OK)) /* flushes that wait for no disk */
        setenv("TMPDIR", "/dev/shm", 0);
    log_set_level(LOG_LEVEL_ERROR);
    const struct CMUnitTest tests[] = {
        IN_HOUSE(each_byte_may_be_another),
        IN_HOUSE(keys_may_be_others),
        IN_HOUSE(values_may_be_absent),
        cmocka_unit_test(beginnings_may_be_others),
        cmocka_unit_test(who_uses_a_store_is_named),
        IN_HOUSE(copies_go_into_folders_of_their_own),
        cmocka_unit_test(pages_that_are_cut_off_are_zeros),
        cmocka_unit_test(many_stores_are_open_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
