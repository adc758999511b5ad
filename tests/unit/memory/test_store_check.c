/* LMDB's pages, each field of which is changed in turn while the store is open: what a
 * page's head says is looked at, whatever is changed ends nothing, and what is put back is
 * whole again. */
#include "tests/unit/support/stores.h"
#include "tests/unit/support/trapped.h"
#include "tests/unit/support/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory/store/store_internal.h"

enum {
    PAGE = 4096,
    HEAD = 16,
    NODE_HEAD = 8,
    STARTS = 2,
    TERMS = 700,
    COMMITS = 260,
    LONG = 3 * PAGE,
    LEAF_PAGE = 2,
    LONG_PAGE = 4
};

struct bench {
    char folder[256];
    struct store *store;
    int fd; /* of data.mdb */
    uint64_t pages, changes, noticed;
};

/* ---- A store with pages of all kinds ---- */

static void put_terms(struct store *store, uint32_t epoch, size_t size)
{
    struct store_txn *txn;
    struct buf value = {0};
    while (value.size < size)
        buf_put_byte(&value, 'v');
    assert_int_equal(store_write(store, &txn, NULL), 0);
    for (unsigned i = 0; i < TERMS; i++) {
        char term[32];
        snprintf(term, sizeof term, "term %u", i);
        assert_int_equal(store_put_postings(txn, 1, epoch, slice_of(term),
                                            buf_slice(&value), NULL),
                         0);
    }
    assert_int_equal(store_commit(txn, NULL), 0);
    buf_free(&value);
}

static void put_one(struct store *store, unsigned number, size_t size)
{
    struct store_txn *txn;
    char term[32];
    struct buf value = {0};
    while (value.size < size)
        buf_printf(&value, "%u ", number);
    snprintf(term, sizeof term, "one %u", number % 9);
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(
        store_put_postings(txn, 2, 1, slice_of(term), buf_slice(&value), NULL),
        0);
    assert_int_equal(store_commit(txn, NULL), 0);
    buf_free(&value);
}

/* Branches, leaves, long values; and a list of free pages with branches of its own, since
 * a reader keeps what each of many commits frees, and with a long value, of all that one
 * commit frees. */
static void fill(struct store *store)
{
    struct store_txn *reader;
    mdb_env_set_flags(store->env->mdb, MDB_NOSYNC, 1);
    put_terms(store, 1, 40);
    put_terms(store, 2, 1500);
    put_one(store, 1, LONG);
    assert_int_equal(store_read(store, &reader, NULL), 0);
    put_terms(store, 2, 0);
    for (unsigned i = 0; i < COMMITS; i++)
        put_one(store, i, i % 7 ? 20 : LONG);
    store_end(reader);
}

static int set_up(void **state)
{
    struct bench *b = mem_alloc(sizeof *b);
    char path[300];
    struct stat st;
    snprintf(b->folder, sizeof b->folder, "%s", unit_folder());
    b->store = open_store(b->folder);
    fill(b->store);
    snprintf(path, sizeof path, "%s/data.mdb", b->folder);
    b->fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(b->fd >= 0);
    assert_int_equal(fstat(b->fd, &st), 0);
    b->pages = (uint64_t)st.st_size / PAGE;
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    close(b->fd);
    store_close(b->store);
    unit_folder_remove(b->folder);
    free(b);
    return 0;
}

/* ---- Changes ---- */

static uint64_t read_field(const struct bench *b, uint64_t at, size_t size)
{
    uint64_t value = 0;
    assert_int_equal(pread(b->fd, &value, size, (off_t)at), size);
    return value;
}

static void write_field(const struct bench *b, uint64_t at, uint64_t value,
                        size_t size)
{
    assert_int_equal(pwrite(b->fd, &value, size, (off_t)at), size);
}

static bool is_noticed(struct bench *b)
{
    struct err err;
    return store_check(b->store, true, &err) != 0;
}

/* True when each other value is noticed. */
static bool change(struct bench *b, uint64_t at, size_t size)
{
    const uint64_t old = read_field(b, at, size);
    const uint64_t mask = size == 8 ? UINT64_MAX : (1ULL << 8 * size) - 1;
    const uint64_t values[] = {0,
                               1,
                               4,
                               6,
                               HEAD,
                               HEAD + 2,
                               old + 1,
                               old - 1,
                               old + 2,
                               old - 2,
                               20,
                               PAGE,
                               b->pages + 7,
                               mask,
                               old ^ 0x8000,
                               old ^ 3};
    bool all = true;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if ((values[i] & mask) == old)
            continue;
        write_field(b, at, values[i] & mask, size);
        bool noticed = is_noticed(b);
        all = all && noticed;
        b->noticed += noticed;
        b->changes++;
    }
    write_field(b, at, old, size);
    return all;
}

/* What a node says of itself; and the first words of its value: a long value's page,
 * a table's record, a list of free pages. */
static void change_node(struct bench *b, uint64_t page, uint64_t offset)
{
    enum { WORDS = 7 };
    uint64_t at = page + offset;
    for (uint64_t field = 0; field < NODE_HEAD; field += 2)
        change(b, at + field, 2);
    uint64_t value = at + NODE_HEAD + read_field(b, at + 6, 2);
    change(b, at + NODE_HEAD, 8);
    if (value + 8 <= page + PAGE)
        change(b, value + 6, 2); /* the depth of a table */
    for (uint64_t word = 0; word < WORDS && value + 8 * word + 8 <= page + PAGE;
         word++)
        change(b, value + 8 * word, 8);
}

/* All that its head says is noticed, unless nothing leads to the page. */
static bool change_head(struct bench *b, uint64_t page)
{
    if (!change(b, page, 8))
        return false;
    for (uint64_t field = 10; field < HEAD; field += 2)
        assert_true(change(b, page + field, 2));
    return true;
}

static void change_page(struct bench *b, uint64_t number)
{
    uint64_t page = number * PAGE;
    uint64_t flags = read_field(b, page + 10, 2);
    uint64_t lower = read_field(b, page + 12, 2);
    if (!change_head(b, page))
        return; /* a free one */
    if (flags == LONG_PAGE) {
        for (uint64_t word = 0; word < 3; word++)
            change(b, page + HEAD + 8 * word, 8);
        return;
    }
    uint64_t count = (lower - HEAD) / 2;
    const uint64_t chosen[] = {0, 1, count / 2, count - 1};
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
        if (chosen[i] >= count)
            continue;
        uint64_t pointer = page + HEAD + 2 * chosen[i];
        uint64_t offset = read_field(b, pointer, 2);
        change(b, pointer, 2);
        change_node(b, page, offset);
    }
}

static void each_field_may_be_damaged(void **state)
{
    enum { EVERY = 9, ENDS = 40 }; /* of the pages in the middle */
    struct bench *b = *state;
    assert_false(is_noticed(b));
    for (uint64_t number = STARTS; number < b->pages; number++)
        if (number < ENDS || number + ENDS > b->pages || number % EVERY == 0)
            change_page(b, number);
    assert_false(is_noticed(b));
    printf("%llu pages, %llu changes, %llu noticed\n",
           (unsigned long long)b->pages, (unsigned long long)b->changes,
           (unsigned long long)b->noticed);
    assert_true(b->noticed > b->changes / 4);
}

/* The records of the two first tables, in the page that counts. */
static void a_start_page_may_be_damaged(void **state)
{
    struct bench *b = *state;
    for (uint64_t start = 0; start < STARTS; start++)
        for (uint64_t field = 24; field < 136; field += 2)
            change(b, start * PAGE + HEAD + field, field % 8 ? 2 : 8);
    assert_false(is_noticed(b));
}

/* A page that is damaged after all were looked at: the write that comes to it fails, and
 * from then on each. */
static void a_write_into_a_damaged_page_ends_all_writing(void **state)
{
    struct bench *b = *state;
    struct store_txn *txn, *reader;
    struct err err;
    guard_install(); /* cmocka has taken the signals since the store was opened */
    assert_int_equal(store_write(b->store, &txn, NULL), 0);
    for (uint64_t number = STARTS; number < b->pages; number++)
        if (read_field(b, number * PAGE + 10, 2) == LEAF_PAGE)
            for (uint64_t at = HEAD; at < HEAD + 40; at += 2)
                write_field(b, number * PAGE + at, 0xFFFF, 2);
    assert_int_equal(
        store_put_postings(txn, 1, 1, slice_of("term 5"), slice_of("v"), &err),
        ERR_STORE);
    assert_int_equal(store_commit(txn, &err), ERR_STORE);
    assert_int_equal(store_may_write(b->store, &err), ERR_STORE);
    assert_int_equal(store_write(b->store, &txn, &err), ERR_STORE);
    if (!store_read(b->store, &reader, &err))
        store_end(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_field_may_be_damaged, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_start_page_may_be_damaged, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_write_into_a_damaged_page_ends_all_writing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
