#include "tests/unit/support/stores.h"

#include <lmdb.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "memory/store/store_internal.h"

static struct tree *small_tree(const char *title)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of(title), slice_of(""));
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

static void manuals_are_kept(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    uint32_t a = 0, b = 0;
    put_manual(store, "alpha", 3, 1, &a);
    put_manual(store, "beta", 0, 0, &b);
    assert_true(a && b && a != b);
    store_close(store);
    store = open_store(folder);
    struct store_txn *txn;
    struct manual manual, *all;
    size_t count;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_find_manual(txn, "alpha", &manual, NULL), 0);
    assert_int_equal(manual.id, a);
    assert_int_equal(manual.generation, 3);
    manual_free(&manual);
    assert_int_equal(store_find_manual(txn, "gamma", &manual, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(store_list_manuals(txn, &all, &count, NULL), 0);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++)
        manual_free(&all[i]);
    free(all);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

/* What a power cut may leave of a store's making, and nothing else. */
static void an_unfinished_store_is_made_again(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct buf unfinished = {0}, lock = {0};
    struct stat st;
    static const char zeros[8192];
    file_join(&unfinished, folder, "new.mdb");
    file_join(&lock, folder, "lock.mdb");
    assert_int_equal(
        file_write(unfinished.data, (struct slice){zeros, sizeof zeros}, NULL),
        0);
    store_close(open_store(folder));
    assert_int_equal(access(unfinished.data, F_OK), -1);
    assert_int_equal(stat(lock.data, &st), 0);
    assert_true(st.st_blocks * 512 >=
                st.st_size); /* a full disk is no SIGBUS */
    store_close(open_store(folder));
    buf_free(&unfinished);
    buf_free(&lock);
    unit_folder_remove(folder);
}

/* It stands for a store on a disk that is not there just now. */
static void a_link_to_nowhere_is_not_replaced(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store_options options = {.folder = folder, .max_bytes = 64 << 20};
    struct store *store;
    struct buf data = {0};
    struct stat st;
    struct err err = {0};
    file_join(&data, folder, "data.mdb");
    assert_int_equal(symlink("/nowhere/at/all", data.data), 0);
    assert_int_equal(store_open(&options, &store, &err), ERR_STORE);
    assert_int_equal(lstat(data.data, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    buf_free(&data);
    unit_folder_remove(folder);
}

/* As /home often is: its folder may be entered, not read. */
static void a_store_may_stand_in_a_folder_that_cannot_be_read(void **state)
{
    (void)state;
    enum { NOBODY = 65534 };
    char *folder = unit_folder();
    struct buf parent = {0}, own = {0};
    int status;
    file_join(&parent, folder, "parent");
    file_join(&own, parent.data, "store");
    assert_int_equal(mkdir(parent.data, 0700), 0);
    assert_int_equal(mkdir(own.data, 0700), 0);
    if (!geteuid()) {
        assert_int_equal(chmod(folder, 0711), 0);
        assert_int_equal(chown(parent.data, NOBODY, NOBODY), 0);
        assert_int_equal(chown(own.data, NOBODY, NOBODY), 0);
    }
    assert_int_equal(chmod(parent.data, 0311), 0);
    pid_t child = fork();
    if (!child) {
        struct store_options options = {.folder = own.data,
                                        .max_bytes = 64 << 20};
        struct store *store;
        if (!geteuid() && seteuid(NOBODY))
            _exit(2);
        _exit(store_open(&options, &store, NULL) != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(parent.data, 0700), 0);
    buf_free(&parent);
    buf_free(&own);
    unit_folder_remove(folder);
}

static void a_second_opening_is_refused(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store, *other;
    struct store_options first = {
        .folder = folder, .address = "/where/it/is", .max_bytes = 64 << 20};
    assert_int_equal(store_open(&first, &store, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        struct store_options options = {.folder = folder,
                                        .max_bytes = 64 << 20};
        int code = store_open(&options, &other, &err);
        _exit(code == ERR_STORE && strstr(err.message, "another daemon") &&
                      strstr(err.message, "--socket /where/it/is")
                  ? 0
                  : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    store_close(store);
    unit_folder_remove(folder);
}

static void what_is_not_committed_is_not_there(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct tree *tree = small_tree("t"), *got;
    struct hash128 name = {1, 2};
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_tree(txn, name, tree, NULL), 0);
    assert_true(store_has_tree(txn, name));
    store_end(txn);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_false(store_has_tree(txn, name));
    assert_int_equal(store_get_tree(txn, name, &got, NULL), ERR_NOT_FOUND);
    store_end(txn);
    tree_free(tree);
    store_close(store);
    unit_folder_remove(folder);
}

static void ids_are_given_once(void **state)
{
    (void)state;
    char *folder = unit_folder();
    uint64_t last = 0;
    for (int round = 0; round < 3; round++) {
        struct store *store = open_store(folder);
        struct store_txn *txn;
        uint64_t first;
        assert_int_equal(store_write(store, &txn, NULL), 0);
        assert_int_equal(store_take_ids(txn, 10, &first, NULL), 0);
        assert_true(first > last);
        last = first + 9;
        assert_int_equal(store_commit(txn, NULL), 0);
        store_close(store);
    }
    unit_folder_remove(folder);
}

static void put_things(struct store *store, uint32_t manual,
                       uint64_t generation, uint32_t epoch, struct hash128 name)
{
    struct store_txn *txn;
    struct tree *tree = small_tree("x");
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_tree(txn, name, tree, NULL), 0);
    assert_int_equal(store_put_outline(txn, manual, generation, tree, NULL), 0);
    assert_int_equal(store_put_postings(txn, manual, epoch, slice_of("term"),
                                        slice_of("value"), NULL),
                     0);
    assert_int_equal(store_commit(txn, NULL), 0);
    tree_free(tree);
}

static size_t postings_size(struct store_txn *txn, uint32_t manual,
                            uint32_t epoch, struct slice term)
{
    struct slice value;
    assert_int_equal(store_get_postings(txn, manual, epoch, term, &value, NULL),
                     0);
    return value.size;
}

static void collecting_keeps_what_is_referred_to(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    uint32_t id = 0;
    put_manual(store, "m", 2, 7, &id);
    struct hash128 kept = {1, 1}, lost = {2, 2};
    put_things(store, id, 1, 6, lost);
    put_things(store, id, 2, 7, kept);
    put_things(store, id + 1, 1, 8, lost);
    struct file file = {
        .path = mem_strdup("a.html"), .tree = kept, .failure = mem_strdup("")};
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_file(txn, id, &file, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    file_free(&file);
    assert_int_equal(store_collect(store, NULL), 0);
    struct tree *tree;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_true(store_has_tree(txn, kept));
    assert_false(store_has_tree(txn, lost));
    assert_int_equal(store_get_outline(txn, id, 2, &tree, NULL), 0);
    tree_free(tree);
    assert_int_equal(store_get_outline(txn, id, 1, &tree, NULL), ERR_NOT_FOUND);
    assert_int_equal(postings_size(txn, id, 7, slice_of("term")), 5);
    assert_int_equal(postings_size(txn, id, 6, slice_of("term")), 0);
    assert_int_equal(postings_size(txn, id + 1, 8, slice_of("term")), 0);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

static void what_is_wrong_in_a_file_is_kept(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct store_txn *txn;
    struct file kept[3] = {
        {.path = "a", .failure = "", .inputs = "b", .reports = "one\ntwo"},
        {.path = "b", .failure = "", .inputs = "", .reports = "one"},
        {.path = "c", .failure = "", .inputs = "b"}};
    struct file *files;
    size_t count;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_put_file(txn, 1, &kept[i], NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_list_files(txn, 1, &files, &count, NULL), 0);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        const char *reports = kept[i].reports;
        assert_string_equal(files[i].inputs, kept[i].inputs);
        assert_string_equal(files[i].reports, reports ? reports : "");
        file_free(&files[i]);
    }
    free(files);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

static void a_deleted_manual_takes_its_files_along(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    uint32_t a = 0, b = 0;
    put_manual(store, "a", 1, 1, &a);
    put_manual(store, "b", 1, 2, &b);
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    for (int i = 0; i < 100; i++) {
        char path[20];
        snprintf(path, sizeof path, "f%d.html", i);
        struct file file = {.path = path, .failure = path};
        assert_int_equal(store_put_file(txn, i % 2 ? a : b, &file, NULL), 0);
    }
    assert_int_equal(store_delete_manual(txn, a, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    struct file *files;
    struct manual manual;
    size_t count;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_list_files(txn, a, &files, &count, NULL), 0);
    assert_int_equal(count, 0);
    free(files);
    assert_int_equal(store_list_files(txn, b, &files, &count, NULL), 0);
    assert_int_equal(count, 50);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(files[i - 1].path, files[i].path) < 0);
    for (size_t i = 0; i < count; i++)
        file_free(&files[i]);
    free(files);
    assert_int_equal(store_get_manual(txn, a, &manual, NULL), ERR_NOT_FOUND);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

/* Paths of which a 64-bit XXH3 is the same. */
static void colliding_paths_are_two_files(void **state)
{
    (void)state;
    static const char *const paths[] = {"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe"
                                        "AAAAAAAA0123456789a.html",
                                        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe"
                                        "BBBBBBBB0123456789a.html"};
    char *folder = unit_folder(), longer[600] = {0};
    struct store *store = open_store(folder);
    struct store_txn *txn;
    struct file *files;
    size_t count;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    for (int i = 0; i < 2; i++) {
        char *path = mem_strdup(paths[i]);
        struct file file = {.path = path, .failure = path};
        assert_int_equal(store_put_file(txn, 1, &file, NULL), 0);
        memset(longer, 'x', 598);
        longer[597] = (char)('a' + i);
        file.path = longer;
        assert_int_equal(store_put_file(txn, 1, &file, NULL), 0);
        free(path);
    }
    assert_int_equal(store_list_files(txn, 1, &files, &count, NULL), 0);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++)
        file_free(&files[i]);
    free(files);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

static void a_full_store_says_so(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store;
    struct store_options options = {.folder = folder, .max_bytes = 1 << 20};
    struct err err = {0};
    assert_int_equal(store_open(&options, &store, &err), 0);
    struct store_txn *txn;
    int code = store_write(store, &txn, &err);
    char *noise = mem_alloc(100000);
    uint64_t seed = 5;
    for (size_t i = 0; i < 100000; i++)
        noise[i] = (char)unit_below(&seed, 256);
    for (int i = 0; i < 100 && !code; i++) {
        char term[16];
        snprintf(term, sizeof term, "t%d", i);
        code = store_put_postings(txn, 1, 1, slice_of(term),
                                  (struct slice){noise, 100000}, &err);
    }
    assert_int_equal(code, ERR_STORE);
    assert_non_null(strstr(err.message, "greatest size"));
    store_end(txn);
    free(noise);
    store_close(store);
    unit_folder_remove(folder);
}

/* ---- Long trees ---- */

/* A page of many sections, so long that it is kept in pieces. */
static struct tree *long_tree(uint32_t sections)
{
    struct tree *tree = tree_new(false);
    struct buf text = {0};
    tree_add_file(tree, slice_of(""));
    tree->page.encoding = ENCODING_WINDOWS_1252;
    tree_add_node(tree, TREE_NONE, 1, slice_of("all"), slice_of(""));
    for (uint32_t i = 1; i <= sections; i++) {
        struct origin origin = {0, {i * 500, i * 500 + 400}};
        buf_clear(&text);
        for (uint32_t word = 0; word < 60; word++)
            buf_printf(&text, "%u ", i * 7919u * (word + 3u));
        tree_add_node(tree, i % 3 ? i - 1 : 0, 2, buf_slice(&text),
                      slice_of("anchor"));
        tree_add_origin(tree, i, origin);
        tree_add_block(tree, i, BLOCK_PARAGRAPH, buf_slice(&text), slice_of(""),
                       origin);
        tree_add_ref(tree, i, slice_of("there"), slice_of("there.html"));
    }
    buf_free(&text);
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

static void check_same_content(const struct node *got, const struct node *want)
{
    assert_true(hash_equal(got->own, want->own));
    assert_true(slice_equal(got->anchor, want->anchor));
    assert_int_equal(got->origin_count, want->origin_count);
    assert_int_equal(got->block_count, want->block_count);
    assert_int_equal(got->ref_count, want->ref_count);
    for (uint32_t i = 0; i < got->block_count; i++)
        assert_memory_equal(&got->blocks[i].origin.span,
                            &want->blocks[i].origin.span, sizeof(struct span));
    for (uint32_t i = 0; i < got->origin_count; i++)
        assert_memory_equal(&got->origins[i].span, &want->origins[i].span,
                            sizeof(struct span));
}

static void nodes_of_a_long_tree_are_read_alone(void **state)
{
    (void)state;
    enum { SECTIONS = 4000 };
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct tree *tree = long_tree(SECTIONS), *whole, *part;
    struct hash128 name = {1, 2};
    struct store_txn *txn;
    uint32_t first, parts = 0;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_tree(txn, name, tree, NULL), 0);
    assert_int_equal(store_get_tree(txn, name, &whole, NULL), 0);
    assert_int_equal(whole->count, SECTIONS + 1);
    for (uint32_t n = 0; n <= SECTIONS; n++)
        assert_true(hash_equal(whole->nodes[n].merkle, tree->nodes[n].merkle));
    for (uint32_t n = 0, end; n <= SECTIONS; n = end, parts++) {
        assert_int_equal(store_get_tree_part(txn, name, n, &part, &first, NULL),
                         0);
        assert_int_equal(first, n);
        assert_true(part->count < SECTIONS / 4);
        assert_int_equal(part->page.encoding, ENCODING_WINDOWS_1252);
        for (uint32_t i = 0; i < part->count; i++)
            check_same_content(&part->nodes[i], &tree->nodes[first + i]);
        end = first + part->count;
        tree_free(part);
        /* The same by its last node. */
        assert_int_equal(
            store_get_tree_part(txn, name, end - 1, &part, &first, NULL), 0);
        assert_int_equal(first, n);
        tree_free(part);
    }
    assert_true(parts > 8);
    tree_free(whole);
    tree_free(tree);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

static void a_damaged_index_of_a_long_tree_is_noticed(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct tree *tree = long_tree(3000), *part;
    struct hash128 name = {1, 2};
    unsigned char bytes[16];
    struct slice key = {(const char *)bytes, sizeof bytes}, value;
    struct store_txn *txn;
    struct buf copy = {0};
    uint32_t first;
    hash_write(name, bytes);
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_tree(txn, name, tree, NULL), 0);
    assert_int_equal(table_get(txn, TABLE_TREES, key, &value, NULL), 0);
    buf_put_slice(&copy, value);
    for (size_t at = 4; at < 40; at++) {
        copy.data[at] ^= 1;
        assert_int_equal(
            table_put(txn, TABLE_TREES, key, buf_slice(&copy), NULL), 0);
        assert_int_equal(
            store_get_tree_part(txn, name, 1500, &part, &first, NULL),
            ERR_FORMAT);
        assert_int_equal(store_get_tree(txn, name, &part, NULL), ERR_FORMAT);
        copy.data[at] ^= 1;
    }
    for (size_t size = 0; size < 60; size++) {
        struct slice cut = {copy.data, size};
        assert_int_equal(table_put(txn, TABLE_TREES, key, cut, NULL), 0);
        assert_int_equal(
            store_get_tree_part(txn, name, 1500, &part, &first, NULL),
            ERR_FORMAT);
    }
    buf_free(&copy);
    tree_free(tree);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}

/* What it claims is more than a process may have.  (The sanitizer takes
 * terabytes of addresses for itself.) */
#ifndef __SANITIZE_ADDRESS__
static void a_tree_that_claims_much_is_an_error(void **state)
{
    (void)state;
    static const char claim[] = "\x28\xB5\x2F\xFD\xE0" /* no dictionary */
                                "\0\0\0\xC0\3\0\0\0"   /* 15 GiB */
                                "\1\0\0";              /* in no bytes */
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct hash128 name = {1, 2};
    unsigned char key[16];
    struct store_txn *txn;
    struct tree *tree;
    struct rlimit before;
    hash_write(name, key);
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(table_put(txn, TABLE_TREES,
                               (struct slice){(char *)key, sizeof key},
                               (struct slice){claim, sizeof claim - 1}, NULL),
                     0);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    struct rlimit little = {(rlim_t)1 << 33, RLIM_INFINITY};
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    little.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    int code = store_get_tree(txn, name, &tree, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(code, ERR_FORMAT);
    store_end(txn);
    store_close(store);
    unit_folder_remove(folder);
}
#endif

/* ---- Schemas ---- */

static MDB_env *open_tables(const char *folder, MDB_txn **ret_txn)
{
    MDB_env *env;
    assert_int_equal(mdb_env_create(&env), 0);
    mdb_env_set_maxdbs(env, 20);
    mdb_env_set_mapsize(env, 64 << 20);
    assert_int_equal(mdb_env_open(env, folder, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, ret_txn), 0);
    return env;
}

/* Gives the store another schema; ret: the one it had. */
static uint32_t stamp(const char *folder, uint32_t schema)
{
    MDB_txn *txn;
    MDB_dbi meta;
    MDB_val key = {6, (char[]){"schema"}}, value;
    uint32_t old;
    MDB_env *env = open_tables(folder, &txn);
    assert_int_equal(mdb_dbi_open(txn, "meta", 0, &meta), 0);
    assert_int_equal(mdb_get(txn, meta, &key, &value), 0);
    memcpy(&old, value.mv_data, sizeof old);
    value = (MDB_val){sizeof schema, &schema};
    assert_int_equal(mdb_put(txn, meta, &key, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    return old;
}

/* Values as they were before schema 6. */
static void take_sums_off(const char *folder)
{
    MDB_txn *txn;
    MDB_env *env = open_tables(folder, &txn);
    for (int t = 0; t < TABLES; t++) {
        MDB_dbi table;
        MDB_cursor *cursor;
        MDB_val key, value;
        assert_int_equal(mdb_dbi_open(txn, table_names[t], 0, &table), 0);
        assert_int_equal(mdb_cursor_open(txn, table, &cursor), 0);
        while (table_has_sums(t) &&
               !mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
            struct buf name = {0}, plain = {0};
            buf_put(&name, key.mv_data, key.mv_size);
            buf_put(&plain, value.mv_data, value.mv_size - SUM_BYTES);
            key.mv_data = name.data;
            value = (MDB_val){plain.size, plain.data};
            assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT),
                             0);
            buf_free(&name);
            buf_free(&plain);
        }
        mdb_cursor_close(cursor);
    }
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

/* A manual's record as schema 1 had it, and no tables of schema 2. */
static void make_old(const char *folder, uint32_t id)
{
    static const char *const tables[] = {"segments", "memories", "vectors"};
    char bytes[4] = {0, 0, 0, (char)id};
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key = {4, bytes}, value;
    MDB_env *env = open_tables(folder, &txn);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mdb_dbi_open(txn, tables[i], 0, &table), 0);
        assert_int_equal(mdb_drop(txn, table, 1), 0);
    }
    assert_int_equal(mdb_dbi_open(txn, "manuals", 0, &table), 0);
    assert_int_equal(mdb_get(txn, table, &key, &value), 0);
    struct buf record = {0};
    buf_put(&record, value.mv_data, value.mv_size - SUM_BYTES - 3);
    value = (MDB_val){record.size, record.data};
    assert_int_equal(mdb_put(txn, table, &key, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    buf_free(&record);
    stamp(folder, 1);
}

/* As schema 7 had them, of memories by a model with layers. */
static void put_tokens(const char *folder)
{
    MDB_txn *txn;
    MDB_dbi table;
    MDB_val key = {17, (char[17]){1}}, value = {3000, (char[3000]){2}};
    MDB_env *env = open_tables(folder, &txn);
    assert_int_equal(mdb_dbi_open(txn, "tokens", MDB_CREATE, &table), 0);
    assert_int_equal(mdb_put(txn, table, &key, &value, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static bool has_tokens(const char *folder)
{
    MDB_txn *txn;
    MDB_dbi table;
    MDB_env *env = open_tables(folder, &txn);
    int rc = mdb_dbi_open(txn, "tokens", 0, &table);
    mdb_txn_abort(txn);
    mdb_env_close(env);
    return rc != MDB_NOTFOUND;
}

/* Schema 2 had halves for memories and vectors, which are read still
 * (..._of_the_first_version_are_read), and no `makings`; schema 3 no reports of
 * files and no trees in pieces; schema 4 no word on links; schema 5 no sums; schema 7 alone
 * had codes of tokens, which are dropped. */
static void stores_of_older_schemas_open(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    uint32_t id = 0;
    put_manual(store, "m", 3, 1, &id);
    store_close(store);
    make_old(folder, id);
    store = open_store(folder);
    assert_int_equal(vectors_of(store, id), 0);
    put_vectors(store, id, slice_of("v"));
    assert_int_equal(vectors_of(store, id), 1);
    store_close(store);
    for (uint32_t schema = 2; schema < 8; schema++) {
        assert_int_equal(stamp(folder, schema), 8);
        if (schema < 6)
            take_sums_off(folder);
        if (schema == 7)
            put_tokens(folder);
        store = open_store(folder);
        assert_int_equal(vectors_of(store, id), 1);
        store_close(store);
        assert_false(has_tokens(folder));
    }
    assert_int_equal(stamp(folder, 9), 8);
    struct err err = {0};
    struct store_options options = {.folder = folder, .max_bytes = 64 << 20};
    assert_int_equal(store_open(&options, &store, &err), ERR_STORE);
    assert_non_null(strstr(err.message, "schema 9"));
    stamp(folder, 0);
    assert_int_equal(store_open(&options, &store, &err), ERR_STORE);
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manuals_are_kept),
        cmocka_unit_test(an_unfinished_store_is_made_again),
        cmocka_unit_test(a_link_to_nowhere_is_not_replaced),
        cmocka_unit_test(a_store_may_stand_in_a_folder_that_cannot_be_read),
        cmocka_unit_test(a_second_opening_is_refused),
        cmocka_unit_test(what_is_not_committed_is_not_there),
        cmocka_unit_test(ids_are_given_once),
        cmocka_unit_test(collecting_keeps_what_is_referred_to),
        cmocka_unit_test(what_is_wrong_in_a_file_is_kept),
        cmocka_unit_test(a_deleted_manual_takes_its_files_along),
        cmocka_unit_test(colliding_paths_are_two_files),
        cmocka_unit_test(a_full_store_says_so),
        cmocka_unit_test(nodes_of_a_long_tree_are_read_alone),
        cmocka_unit_test(a_damaged_index_of_a_long_tree_is_noticed),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(a_tree_that_claims_much_is_an_error),
#endif
        cmocka_unit_test(stores_of_older_schemas_open),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
