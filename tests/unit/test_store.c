#include "tests/unit/unit.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory/store.h"

static struct store *open_store(const char *folder)
{
    struct err err = {0};
    struct store *store = NULL;
    struct store_options options = {.folder = folder, .most_bytes = 64 << 20};
    if (store_open(&options, &store, &err))
        fail_msg("%s", err.message);
    return store;
}

static struct tree *small_tree(const char *title)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of(title), slice_of(""));
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

static void put_manual(struct store *store, const char *name,
                       uint64_t generation, uint32_t epoch, uint32_t *ret_id)
{
    struct store_txn *txn;
    struct manual manual = {.name = mem_strdup(name),
                            .root = mem_strdup("/r"),
                            .ignore = mem_strdup(""),
                            .id = *ret_id,
                            .generation = generation,
                            .epoch = epoch};
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_manual(txn, &manual, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    *ret_id = manual.id;
    manual_free(&manual);
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

static void a_second_opening_is_refused(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder), *other;
    pid_t child = fork();
    if (child == 0) {
        struct err err = {0};
        struct store_options options = {.folder = folder,
                                        .most_bytes = 64 << 20};
        int code = store_open(&options, &other, &err);
        _exit(code == ERR_STORE && strstr(err.message, "another daemon") ? 0
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
    assert_int_equal(store_collect(store, true, NULL), 0);
    struct tree *tree;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_true(store_has_tree(txn, kept));
    assert_false(store_has_tree(txn, lost));
    assert_int_equal(store_get_outline(txn, id, 2, &tree, NULL), 0);
    tree_free(tree);
    assert_int_equal(store_get_outline(txn, id, 1, &tree, NULL), ERR_NOT_FOUND);
    assert_int_equal(postings_size(txn, id, 7, slice_of("term")), 5);
    assert_int_equal(postings_size(txn, id, 6, slice_of("term")), 0);
    assert_int_equal(postings_size(txn, id + 1, 8, slice_of("term")),
                     0);
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
    static const char *const paths[] = {
        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe" "AAAAAAAA0123456789a.html",
        "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe" "BBBBBBBB0123456789a.html"};
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
    struct store_options options = {.folder = folder, .most_bytes = 1 << 20};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manuals_are_kept),
        cmocka_unit_test(a_second_opening_is_refused),
        cmocka_unit_test(what_is_not_committed_is_not_there),
        cmocka_unit_test(ids_are_given_once),
        cmocka_unit_test(collecting_keeps_what_is_referred_to),
        cmocka_unit_test(a_deleted_manual_takes_its_files_along),
        cmocka_unit_test(colliding_paths_are_two_files),
        cmocka_unit_test(a_full_store_says_so),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
