/* Each call that the store makes to LMDB, zstd and the system fails, as each of its
 * callers: the work fails with an error, or does what it would have done; the store then
 * opens, with what was committed, and the same work succeeds. */
#include "tests/unit/support/indexed_house.h"

#include "base/log.h"
#include "indexer/parsers.h"
#include "memory/store/store_internal.h"
#include "memory/store/verify/store_verify.h"
#include "tests/unit/support/failing_calls.h"

enum { BIG_NODES = 3000, FILE_MOST = 16 << 20, MAP_BYTES = 64 << 20 };

/* What the work is done with: an indexed manual, and a tree that is kept in parts. */
struct bench {
    struct house *house;
    char folder[300], copy[320], data[340];
    struct buf bytes, old; /* of data.mdb; and of one of an older schema */
    struct buf damaged;    /* and of one whose records are others */
    struct store *store;   /* NULL: the work opens it */
    struct hash128 name, big;
    uint64_t answer;
};

static void note(struct bench *b, const void *data, size_t size)
{
    b->answer = b->answer * 31 + hash_bytes64(data, size);
}

static void note_tree(struct bench *b, struct tree *tree)
{
    struct buf bytes = {0};
    tree_encode(tree, &bytes);
    note(b, bytes.data, bytes.size);
    buf_free(&bytes);
    tree_free(tree);
}

/* ---- Reading ---- */

static int read_files(struct bench *b, struct store_txn *txn, uint32_t manual)
{
    struct file *files;
    size_t count;
    int code = store_list_files(txn, manual, &files, &count, NULL);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++) {
        note(b, files[i].path, strlen(files[i].path));
        note(b, &files[i].tree, sizeof files[i].tree);
        file_free(&files[i]);
    }
    free(files);
    return 0;
}

static int read_trees(struct bench *b, struct store_txn *txn,
                      const struct manual *manual)
{
    struct tree *tree;
    uint32_t first;
    int code =
        store_get_outline(txn, manual->id, manual->generation, &tree, NULL);
    if (code)
        return code;
    note_tree(b, tree);
    code = store_get_tree(txn, b->big, &tree, NULL);
    if (code)
        return code;
    note(b, &tree->count, sizeof tree->count);
    tree_free(tree);
    code = store_get_tree_part(txn, b->big, BIG_NODES / 2, &tree, &first, NULL);
    if (code)
        return code;
    note(b, &tree->count, sizeof tree->count);
    tree_free(tree);
    code = store_get_tree_part(txn, b->name, 1, &tree, &first, NULL);
    if (!code)
        note_tree(b, tree);
    return code;
}

static bool note_term(void *context, struct slice term, size_t size)
{
    struct bench *b = context;
    note(b, term.data, term.size);
    note(b, &size, sizeof size);
    return true;
}

static bool stop(void *context, struct slice term, size_t size)
{
    (void)size;
    note(context, term.data, term.size);
    return false;
}

static int read_values(struct bench *b, struct store_txn *txn,
                       const struct manual *manual)
{
    struct slice value = {0};
    float memory[TOY_WIDTH];
    int code = store_each_term(txn, manual->id, manual->epoch, slice_of(""),
                               note_term, b, NULL);
    if (!code)
        code = store_each_term(txn, manual->id, manual->epoch, slice_of("1"),
                               stop, b, NULL);
    if (!code)
        code = store_get_postings(txn, manual->id, manual->epoch,
                                  slice_of("1apple"), &value, NULL);
    if (!code)
        code = store_get_vectors(txn, manual->id, &value, NULL);
    if (!code)
        note(b, value.data, value.size);
    if (!code)
        code = store_get_segments(txn, b->name, &value, NULL);
    if (!code)
        code = store_get_memory(txn, b->name, memory, TOY_WIDTH, NULL);
    if (!code)
        note(b, memory, sizeof memory);
    return code;
}

static int read_within(struct bench *b, struct store_txn *txn)
{
    struct manual manual, *all = NULL;
    size_t count = 0;
    int code = store_list_manuals(txn, &all, &count, NULL);
    for (size_t i = 0; i < count && !code; i++)
        manual_free(&all[i]);
    if (!code) {
        free(all);
        code = store_check_manuals(txn, count, NULL);
    }
    if (!code)
        code = store_find_manual(txn, "m", &manual, NULL);
    if (code)
        return code;
    note(b, &manual.generation, sizeof manual.generation);
    code = read_files(b, txn, manual.id);
    if (!code)
        code = read_trees(b, txn, &manual);
    if (!code)
        code = read_values(b, txn, &manual);
    manual_free(&manual);
    return code;
}

static int read_all(struct bench *b)
{
    struct store_txn *txn;
    int code = store_check(b->store, true, NULL);
    if (!code)
        code = store_check_postings(b->store, NULL);
    if (!code)
        code = store_read(b->store, &txn, NULL);
    if (code)
        return code;
    code = read_within(b, txn);
    store_end(txn);
    return code;
}

/* ---- Writing ---- */

static int put_values(struct bench *b, struct store_txn *txn, uint32_t manual)
{
    float memory[TOY_WIDTH] = {1};
    struct file file = {.path = "z.html", .failure = "", .inputs = "x"};
    uint64_t id;
    uint32_t epoch;
    int code = store_put_segments(txn, b->name, slice_of("s"), NULL);
    if (!code)
        code = store_put_memory(txn, b->name, memory, TOY_WIDTH, NULL);
    if (!code)
        code = store_put_vector_delta(txn, manual, slice_of("d"), NULL);
    if (!code)
        code = store_put_vectors(txn, manual, slice_of("v"), NULL);
    if (!code)
        code = store_put_file(txn, manual, &file, NULL);
    if (!code)
        code = store_delete_file(txn, manual, "a.html", NULL);
    if (!code)
        code = store_take_ids(txn, 3, &id, NULL);
    if (!code)
        code = store_take_epoch(txn, &epoch, NULL);
    if (!code)
        code = store_put_postings(txn, manual, 9, slice_of("t"), slice_of("p"),
                                  NULL);
    return code ? code
                : store_put_postings(txn, manual, 9, slice_of("t"),
                                     slice_of(""), NULL);
}

static struct tree *big_tree(uint32_t nodes)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    for (uint32_t n = 0; n < nodes; n++) {
        char text[80];
        snprintf(text, sizeof text, "%u of a tree in parts, %u", n, n * 7919u);
        tree_add_node(tree, n ? 0 : TREE_NONE, 1, slice_of(text), slice_of(""));
        tree_add_block(tree, n, BLOCK_PARAGRAPH, slice_of(text), slice_of(""),
                       (struct origin){0, {0, 1}});
    }
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

static int put_all(struct bench *b, struct store_txn *txn)
{
    struct manual manual = {.name = "n", .root = "/r", .ignore = ""};
    struct tree *tree = big_tree(2);
    const struct hash128 name = hash_bytes("other", 5);
    int code = store_put_manual(txn, &manual, NULL);
    if (!code)
        code = store_put_tree(txn, name, tree, NULL);
    if (!code)
        code = store_put_outline(txn, manual.id, 1, tree, NULL);
    tree_free(tree);
    if (!code)
        code = put_values(b, txn, b->house->manual);
    if (!code)
        code = store_delete_vectors(txn, b->house->manual, NULL);
    return code;
}

static int write_all(struct bench *b)
{
    struct store_txn *txn;
    int code = store_may_write(b->store, NULL);
    if (!code)
        code = store_write(b->store, &txn, NULL);
    if (code)
        return code;
    code = put_all(b, txn);
    if (!code)
        return store_commit(txn, NULL);
    store_end(txn);
    return code;
}

static int write_parts(struct bench *b)
{
    struct store_txn *txn;
    int code = store_write(b->store, &txn, NULL);
    if (code)
        return code;
    struct tree *tree = big_tree(BIG_NODES);
    code = store_put_tree(txn, hash_bytes("big", 3), tree, NULL);
    tree_free(tree);
    if (!code)
        return store_commit(txn, NULL);
    store_end(txn);
    return code;
}

static int delete_manual(struct bench *b)
{
    struct store_txn *txn;
    int code = store_write(b->store, &txn, NULL);
    if (code)
        return code;
    code = store_delete_manual(txn, b->house->manual, NULL);
    if (!code)
        return store_commit(txn, NULL);
    store_end(txn);
    return code;
}

/* Deleted, then collected: the calls of both fail. */
static int collect_deleted(struct bench *b)
{
    int code = delete_manual(b);
    return code ? code : store_collect(b->store, NULL);
}

static int collect_all(struct bench *b)
{
    return store_collect(b->store, NULL);
}

static int note_made(struct bench *b)
{
    struct store_txn *txn;
    const struct hash128 names[2] = {b->big, b->name};
    const enum unfinished_kind kind = UNFINISHED_TREES;
    const uint32_t manual = b->house->manual;
    int code = store_write(b->store, &txn, NULL);
    if (code)
        return code;
    code = store_note_made(txn, manual, kind, names, 2, NULL);
    if (code) {
        store_end(txn);
        return code;
    }
    code = store_commit(txn, NULL);
    if (!code)
        code = store_prune_made(b->store, manual, kind, names, 1, NULL);
    if (!code)
        code = store_write(b->store, &txn, NULL);
    if (code)
        return code;
    code = store_forget_made(txn, manual, kind, NULL);
    if (!code)
        return store_commit(txn, NULL);
    store_end(txn);
    return code;
}

/* ---- The store as a whole ---- */

static int open_file(struct bench *b)
{
    struct store *store;
    struct store_options options = {.folder = b->folder,
                                    .max_bytes = MAP_BYTES};
    int code = store_open(&options, &store, NULL);
    if (!code)
        store_close(store);
    return code;
}

static int count_pages(struct bench *b)
{
    struct store_pages pages;
    int code = store_pages(b->store, true, &pages, NULL);
    if (!code)
        note(b, &pages.count, sizeof pages.count);
    return code;
}

static int back_up(struct bench *b)
{
    struct copy_report report;
    char command[800];
    snprintf(command, sizeof command, "rm -rf '%s' '%s.partial'", b->copy,
             b->copy);
    assert_int_equal(system(command), 0);
    return store_backup(b->store, b->copy, NULL, NULL, NULL, &report, NULL);
}

static int make_dense(struct bench *b)
{
    struct copy_report report;
    return store_compact(b->store, NULL, NULL, NULL, &report, NULL);
}

static int verify_with(struct bench *b, bool drop)
{
    struct library *library;
    struct verify_report report = {0};
    int code = library_open(b->store, &library, NULL);
    if (code)
        return code;
    struct verify_options options = {.store = b->store,
                                     .library = library,
                                     .facts = &b->house->toy.facts,
                                     .policy = policy,
                                     .is_tree = parsers_is_tree,
                                     .is_packed = source_is_gzipped,
                                     .drop = drop};
    code = verify_store(&options, &report, NULL);
    if (!code)
        code = verify_manual(&options, b->house->manual, &report, NULL);
    /* What could not be read is a fault, which tells. */
    if (!code && report.fault_count)
        code = ERR_STORE;
    verify_report_free(&report);
    library_close(library);
    return code;
}

static int verify_all(struct bench *b)
{
    return verify_with(b, false);
}

static int verify_dropping(struct bench *b)
{
    return verify_with(b, true);
}

/* What is damaged goes, and counters go on. */
static int drop_damaged(struct bench *b)
{
    int code = verify_with(b, true);
    return code == ERR_STORE || code == ERR_NOT_FOUND ? 0 : code;
}

/* ---- Failures ---- */

struct work {
    const char *name;
    int (*run)(struct bench *b);
    enum {
        OF_NOW,
        OF_BEFORE,
        OF_DAMAGED,
        OF_NONE
    } file; /* data.mdb that it begins with */
    bool opens;
    bool
        mends; /* what cannot be read is dropped: the manual's records change */
};

static const struct work works[] = {
    {"open", open_file, OF_NOW, true, false},
    {"open an older one", open_file, OF_BEFORE, true, false},
    {"make", open_file, OF_NONE, true, false},
    {"read", read_all, OF_NOW, false, false},
    {"write", write_all, OF_NOW, false, false},
    {"write in parts", write_parts, OF_NOW, false, false},
    {"delete and collect", collect_deleted, OF_NOW, false, false},
    {"collect", collect_all, OF_NOW, false, false},
    {"note", note_made, OF_NOW, false, false},
    {"pages", count_pages, OF_NOW, false, false},
    {"backup", back_up, OF_NOW, false, false},
    {"compact", make_dense, OF_NOW, false, false},
    {"verify", verify_all, OF_NOW, false, false},
    {"verify --drop", verify_dropping, OF_NOW, false, true},
    {"drop what is damaged", drop_damaged, OF_DAMAGED, false, true},
};

static void lay_out(struct bench *b, const struct work *work)
{
    char command[400];
    snprintf(command, sizeof command, "%s/lock.mdb", b->folder);
    unlink(command);
    if (work->file == OF_NONE) {
        unlink(b->data);
        return;
    }
    const struct buf *bytes = work->file == OF_NOW      ? &b->bytes
                              : work->file == OF_BEFORE ? &b->old
                                                        : &b->damaged;
    FILE *file = fopen(b->data, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    assert_int_equal(fclose(file), 0);
}

static void open_again(struct bench *b)
{
    struct err err = {0};
    struct store_options options = {.folder = b->folder,
                                    .max_bytes = MAP_BYTES};
    if (store_open(&options, &b->store, &err))
        fail_msg("%s", err.message);
}

/* The work, from a store as it was laid out. */
__attribute__((noinline)) static int do_work(struct bench *b,
                                             const struct work *work)
{
    calls_begin();
    b->answer = 0;
    if (!work->opens && !b->store)
        open_again(b);
    return work->run(b);
}

static void close_store(struct bench *b)
{
    store_close(b->store);
    b->store = NULL;
}

/* One site fails: at its first call (at = 1), or each time (0). */
static void fail_at(struct bench *b, const struct work *work, uint64_t site,
                    unsigned at, int number, uint64_t answer)
{
    lay_out(b, work);
    if (!work->opens)
        open_again(b);
    calls.at = at;
    calls.seen = 0;
    calls.number = number;
    calls.failed = false;
    calls.victim = site;
    int code = do_work(b, work);
    calls.victim = 0;
    assert_true(calls.failed);
    if (!code && b->answer != answer)
        fail_msg("%s: another answer, without an error", work->name);
    close_store(b);
    int again = do_work(b, work);
    if ((again || b->answer != answer) && !work->mends)
        fail_msg("%s, call %d: %d once the failure is over", work->name, number,
                 again);
    close_store(b);
}

static void try_work(struct bench *b, const struct work *work)
{
    static const int numbers[] = {EIO,       ENOMEM,        ENOSPC,
                                  MDB_PANIC, MDB_CORRUPTED, MDB_PAGE_NOTFOUND,
                                  EACCES};
    enum { NUMBERS = sizeof numbers / sizeof numbers[0] };
    lay_out(b, work);
    if (!work->opens)
        open_again(b);
    calls.count = 0;
    memset(calls.calls, 0, sizeof calls.calls);
    calls.counts = true;
    assert_int_equal(do_work(b, work), 0);
    calls.counts = false;
    close_store(b);
    uint64_t answer = b->answer;
    static uint64_t sites[MAX_SITES];
    const size_t count = calls.count;
    static unsigned met[MAX_SITES];
    memcpy(sites, calls.sites, count * sizeof *sites);
    memcpy(met, calls.calls, count * sizeof *met);
    for (size_t i = 0; i < count; i++)
        for (unsigned at = 0; at < 3 && at <= met[i]; at++)
            for (size_t n = 0; n < (work->opens ? NUMBERS : 1); n++)
                fail_at(b, work, sites[i], at,
                        numbers[(i + 2 * at + n) % NUMBERS], answer);
    printf("%s: %zu calls\n", work->name, count);
}

/* LMDB lets nobody in any more, and its file cannot be opened anew at first. */
static void a_store_that_cannot_be_opened_anew_tells(void **state)
{
    struct bench *b = *state;
    struct store_txn *txn;
    struct err err;
    uint64_t used, map;
    lay_out(b, &works[3]);
    open_again(b);
    calls.panics = calls.opens_fail = true;
    calls.number = MDB_PANIC;
    assert_int_equal(store_read(b->store, &txn, &err), ERR_STORE);
    calls.panics = false;
    assert_int_equal(store_read(b->store, &txn, &err), ERR_STORE);
    assert_non_null(strstr(err.message, "cannot be opened yet"));
    assert_int_equal(store_may_write(b->store, &err), ERR_STORE);
    store_size(b->store, &used, &map);
    calls.opens_fail = false;
    assert_int_equal(store_read(b->store, &txn, &err), 0);
    store_end(txn);
    close_store(b);
}

static void each_call_fails(void **state)
{
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        try_work(*state, &works[i]);
}

/* ---- Set-up ---- */

static void put_what_is_read(struct bench *b)
{
    struct store_txn *txn;
    float memory[TOY_WIDTH] = {.5F, 1};
    struct tree *big = big_tree(BIG_NODES), *small = big_tree(3);
    b->name = hash_bytes("read", 4);
    b->big = hash_bytes("parts", 5);
    assert_int_equal(store_write(b->house->store, &txn, NULL), 0);
    assert_int_equal(store_put_tree(txn, b->big, big, NULL), 0);
    assert_int_equal(store_put_tree(txn, b->name, small, NULL), 0);
    assert_int_equal(store_put_segments(txn, b->name, slice_of("s"), NULL), 0);
    assert_int_equal(store_put_memory(txn, b->name, memory, TOY_WIDTH, NULL),
                     0);
    assert_int_equal(store_note_made(txn, b->house->manual, UNFINISHED_TREES,
                                     (struct hash128[]){b->big, b->name}, 2,
                                     NULL),
                     0);
    assert_int_equal(store_note_made(txn, b->house->manual, UNFINISHED_SEGMENTS,
                                     &b->name, 1, NULL),
                     0);
    assert_int_equal(store_note_made(txn, b->house->manual, UNFINISHED_MEMORIES,
                                     &b->name, 1, NULL),
                     0);
    assert_int_equal(store_commit(txn, NULL), 0);
    tree_free(big);
    tree_free(small);
}

/* Another value for the first record of each table but that of manuals. */
static void damage_records(struct bench *b)
{
    struct store_txn *txn;
    lay_out(b, &works[3]);
    open_again(b);
    assert_int_equal(store_write(b->store, &txn, NULL), 0);
    for (int t = 0; t < TABLES; t++) {
        MDB_cursor *cursor;
        MDB_val key, value;
        char bytes[MDB_MAX_KEY];
        if (t == TABLE_MANUALS ||
            mdb_cursor_open(txn->mdb, txn->env->tables[t], &cursor))
            continue;
        int rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
        if (!rc)
            memcpy(bytes, key.mv_data, key.mv_size);
        mdb_cursor_close(cursor);
        if (!rc)
            assert_int_equal(table_put(txn, t,
                                       (struct slice){bytes, key.mv_size},
                                       slice_of("another value"), NULL),
                             0);
    }
    assert_int_equal(store_commit(txn, NULL), 0);
    close_store(b);
    assert_int_equal(file_read(b->data, FILE_MOST, &b->damaged, NULL), 0);
}

static int set_up(void **state)
{
    struct bench *b = mem_alloc(sizeof *b);
    char command[400];
    void *house;
    log_set_level(LOG_LEVEL_ERROR);
    open_house(&house);
    b->house = house;
    snprintf(b->folder, sizeof b->folder, "%s/store", b->house->folder);
    snprintf(b->copy, sizeof b->copy, "%s/copy", b->house->folder);
    snprintf(b->data, sizeof b->data, "%s/data.mdb", b->folder);
    put_what_is_read(b);
    library_close(b->house->library);
    store_close(b->house->store);
    assert_int_equal(file_read(b->data, FILE_MOST, &b->bytes, NULL), 0);
    snprintf(command, sizeof command,
             "gzip -dc tests/golden/stores/schema-1.mdb.gz > '%s'", b->copy);
    assert_int_equal(system(command), 0);
    assert_int_equal(file_read(b->copy, FILE_MOST, &b->old, NULL), 0);
    damage_records(b);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    unit_folder_remove(b->house->folder);
    buf_free(&b->bytes);
    buf_free(&b->old);
    buf_free(&b->damaged);
    free(b->house);
    free(b);
    return 0;
}

int main(void)
{
    if (!access("/dev/shm", W_OK)) /* flushes that wait for no disk */
        setenv("TMPDIR", "/dev/shm", 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_call_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_store_that_cannot_be_opened_anew_tells, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
