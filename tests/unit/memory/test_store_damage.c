/* A store whose file was damaged, cut short or taken away: an error, in time. */
#include "tests/unit/support/stores.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "memory/store/store_internal.h"

enum { FILE_MAX = 64 << 20, CHILD_SECONDS = 30, TREES = 4 };

static struct buf data_path(const char *folder)
{
    struct buf path = {0};
    file_join(&path, folder, "data.mdb");
    return path;
}

static struct buf read_data(const char *folder)
{
    struct buf path = data_path(folder), bytes = {0};
    assert_int_equal(file_read(path.data, FILE_MAX, &bytes, NULL), 0);
    buf_free(&path);
    return bytes;
}

static void write_data(const char *folder, const struct buf *bytes)
{
    struct buf path = data_path(folder);
    FILE *file = fopen(path.data, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->data, 1, bytes->size, file), bytes->size);
    assert_int_equal(fclose(file), 0);
    buf_free(&path);
}

/* Names of trees in the order of their keys. */
static struct hash128 name_of(unsigned which)
{
    static const uint64_t bytes[TREES] = {
        0x1111111111111111, 0x7777777777777777, 0x8888888888888888,
        0x9999999999999999};
    return (struct hash128){bytes[which], bytes[which]};
}

/* A manual whose file is of the first tree; nothing refers to the others. */
static void fill(const char *folder)
{
    struct store *store = open_store(folder);
    struct store_txn *txn;
    uint32_t id = 0;
    struct file file = {.path = mem_strdup("a.html"),
                        .tree = name_of(0),
                        .failure = mem_strdup("")};
    put_manual(store, "m", 1, 1, &id);
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of("title"), slice_of(""));
    assert_int_equal(tree_seal(tree, NULL), 0);
    assert_int_equal(store_write(store, &txn, NULL), 0);
    for (unsigned i = 0; i < TREES; i++)
        assert_int_equal(store_put_tree(txn, name_of(i), tree, NULL), 0);
    assert_int_equal(store_put_outline(txn, id, 1, tree, NULL), 0);
    assert_int_equal(store_put_file(txn, id, &file, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    tree_free(tree);
    file_free(&file);
    store_close(store);
}

static int no_more(void *context, struct slice key, struct slice value,
                   struct err *err)
{
    (void)err;
    *(size_t *)context += key.size + value.size;
    return 0;
}

/* All that goes through the store's tables; the first error. */
static int go_through(struct store *store, struct err *err)
{
    struct manual *manuals;
    struct store_txn *txn;
    size_t count, bytes = 0;
    int code = 0;
    for (int table = 0; table < TABLES && !code; table++)
        code = table_walk(store, table, (struct slice){0}, NULL, no_more,
                          &bytes, err);
    if (!code)
        code = store_read(store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, &manuals, &count, err);
    for (size_t i = 0; !code && i < count; i++)
        manual_free(&manuals[i]);
    if (!code)
        free(manuals);
    store_end(txn);
    return code ? code : store_collect(store, err);
}

enum { WORDS = 2048, BYTES = 300, PAGES = 200, PAGE = 4096 };

/* Runs it in a process of its own, which has an end: the code, or a failure;
 * `words` is what it said. */
static int opened(const char *folder, char words[WORDS])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        struct err err = {0};
        struct store *store;
        struct store_options options = {.folder = folder,
                                        .max_bytes = 64 << 20};
        signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
        dup2(ends[1], STDERR_FILENO);
        alarm(CHILD_SECONDS);
        int code = store_open(&options, &store, &err);
        if (!code)
            code = go_through(store, &err);
        fprintf(stderr, "%s\n", err.message);
        _exit(-code);
    }
    close(ends[1]);
    ssize_t size, all = 0;
    while ((size = read(ends[0], words + all, (size_t)(WORDS - 1 - all))) > 0)
        all += size;
    words[all] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("the process ended by signal %d: %s", WTERMSIG(status), words);
    return -WEXITSTATUS(status);
}

static void expect_damage(const char *folder, const char *words)
{
    char message[WORDS];
    assert_int_equal(opened(folder, message), ERR_STORE);
    if (!strstr(message, words))
        fail_msg("'%s' does not say '%s'", message, words);
}

static void a_whole_store_is_gone_through(void **state)
{
    (void)state;
    char message[WORDS];
    char *folder = unit_folder();
    fill(folder);
    assert_int_equal(opened(folder, message), 0);
    unit_folder_remove(folder);
}

/* Every copy of the key in the file, whatever page it is on, becomes `to`. */
static void replace_key(struct buf *bytes, struct hash128 from,
                        struct hash128 to, char *done)
{
    unsigned char old[16], new[16];
    hash_write(from, old);
    hash_write(to, new);
    for (size_t at = 0; at + sizeof old <= bytes->size; at++)
        if (!done[at] && !memcmp(bytes->data + at, old, sizeof old)) {
            memcpy(bytes->data + at, new, sizeof new);
            done[at] = 1;
        }
}

/* 9 8 1 7, where 1 is kept: a search for what comes behind 1 finds 9 again. */
static void keys_that_go_back_are_damage(void **state)
{
    (void)state;
    static const unsigned becomes[TREES] = {3, 2, 0, 1};
    char *folder = unit_folder();
    fill(folder);
    struct buf bytes = read_data(folder);
    char *done = mem_alloc(bytes.size);
    for (unsigned i = 0; i < TREES; i++) {
        struct hash128 mark = {0xABCDEF0123456789 + i, 0x123456789ABCDEF};
        memset(done, 0, bytes.size);
        replace_key(&bytes, name_of(i), mark, done);
    }
    for (unsigned i = 0; i < TREES; i++) {
        struct hash128 mark = {0xABCDEF0123456789 + i, 0x123456789ABCDEF};
        memset(done, 0, bytes.size);
        replace_key(&bytes, mark, name_of(becomes[i]), done);
    }
    free(done);
    write_data(folder, &bytes);
    expect_damage(folder, "damaged");
    buf_free(&bytes);
    unit_folder_remove(folder);
}

/* LMDB's header of a record: size of the value, flags, size of the key; then the
 * key. */
static void change_headers(const char *folder, size_t back, uint16_t to)
{
    struct buf bytes = read_data(folder);
    unsigned char key[16];
    hash_write(name_of(1), key);
    for (size_t at = 8; at + sizeof key <= bytes.size; at++)
        if (!memcmp(bytes.data + at, key, sizeof key))
            memcpy(bytes.data + at - back, &to, sizeof to);
    write_data(folder, &bytes);
    buf_free(&bytes);
}

static void a_key_of_64_KiB_is_damage(void **state)
{
    (void)state;
    char *folder = unit_folder();
    fill(folder);
    change_headers(folder, 2, 60000);
    expect_damage(folder, "damaged");
    unit_folder_remove(folder);
}

static void a_value_longer_than_the_file_is_damage(void **state)
{
    (void)state;
    char *folder = unit_folder();
    fill(folder);
    change_headers(folder, 6, 0x7FFF);
    expect_damage(folder, "damaged");
    unit_folder_remove(folder);
}

static void expect_an_end(const char *folder)
{
    char message[WORDS];
    int code = opened(folder, message);
    if (code && code != ERR_STORE)
        fail_msg("ended with %d: %s", code, message);
}

/* Whatever byte it is: an end, and no signal. */
static void no_byte_ends_the_process(void **state)
{
    (void)state;
    char *folder = unit_folder();
    fill(folder);
    struct buf whole = read_data(folder);
    uint64_t random = 20;
    for (int i = 0; i < BYTES; i++) {
        size_t at = unit_below(&random, (uint32_t)whole.size);
        char before = whole.data[at];
        whole.data[at] = (char)(before ^ 1 << unit_below(&random, 8));
        write_data(folder, &whole);
        whole.data[at] = before;
        expect_an_end(folder);
    }
    buf_free(&whole);
    unit_folder_remove(folder);
}

/* Noise behind the head that makes it a page of records, too. */
static void spoil_page(char *page, const char *other, int how, uint64_t *random)
{
    if (how == 0)
        memset(page, 0, PAGE);
    if (how == 1)
        memmove(page, other, PAGE);
    for (size_t i = how == 2 ? 0 : 12; how > 1 && i < PAGE; i++)
        page[i] = (char)unit_below(random, 256);
}

static void no_page_ends_the_process(void **state)
{
    (void)state;
    char *folder = unit_folder();
    fill(folder);
    struct buf whole = read_data(folder);
    uint64_t random = 21;
    uint32_t pages = (uint32_t)(whole.size / PAGE);
    for (int i = 0; i < PAGES; i++) {
        char before[PAGE];
        char *page = whole.data + (size_t)unit_below(&random, pages) * PAGE;
        memcpy(before, page, PAGE);
        spoil_page(page, whole.data + (size_t)unit_below(&random, pages) * PAGE,
                   i % 4, &random);
        write_data(folder, &whole);
        memcpy(page, before, PAGE);
        expect_an_end(folder);
    }
    buf_free(&whole);
    unit_folder_remove(folder);
}

/* Of 1 7 8 9 the 8 becomes 0: it is not found any more, and no reading fails. */
static void what_cannot_be_found_is_damage(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store_txn *txn;
    struct slice value;
    struct err err = {0};
    struct copy_report report;
    unsigned char key[16];
    fill(folder);
    struct buf bytes = read_data(folder), backup = {0};
    char *done = mem_alloc(bytes.size);
    replace_key(&bytes, name_of(2), (struct hash128){0}, done);
    free(done);
    write_data(folder, &bytes);
    struct store *store = open_store(folder);
    hash_write(name_of(2), key);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(table_get(txn, TABLE_TREES,
                               (struct slice){(char *)key, sizeof key}, &value,
                               NULL),
                     ERR_NOT_FOUND);
    store_end(txn);
    assert_int_equal(store_check(store, false, &err), ERR_STORE);
    assert_non_null(strstr(err.message, "damaged: restore a backup"));
    assert_int_equal(store_write(store, &txn, NULL), ERR_STORE);
    buf_printf(&backup, "%s/backup", folder);
    assert_int_equal(
        store_backup(store, backup.data, NULL, NULL, NULL, &report, NULL),
        ERR_STORE);
    store_close(store);
    buf_free(&backup);
    buf_free(&bytes);
    unit_folder_remove(folder);
}

static void replace_name(struct buf *bytes, const char *from, const char *to)
{
    size_t size = strlen(from);
    for (size_t at = 0; at + size <= bytes->size; at++)
        if (!memcmp(bytes->data + at, from, size))
            memcpy(bytes->data + at, to, size);
}

/* Not a store in which the table is still to be made. */
/* All pages are in order, and the term is not found. */
static void a_term_of_another_name_is_damage(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store_txn *txn;
    struct slice value;
    struct err err = {0};
    struct store *store = open_store(folder);
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_put_postings(txn, 1, 1, slice_of("heronry"),
                                        slice_of("postings"), NULL),
                     0);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(store_check_postings(store, &err), 0);
    store_close(store);
    struct buf bytes = read_data(folder);
    replace_name(&bytes, "heronry", "heronrx");
    write_data(folder, &bytes);
    store = open_store(folder);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(
        store_get_postings(txn, 1, 1, slice_of("heronry"), &value, NULL), 0);
    assert_int_equal(value.size, 0);
    store_end(txn);
    assert_int_equal(store_check(store, true, &err), 0);
    assert_int_equal(store_check_postings(store, &err), ERR_STORE);
    assert_non_null(strstr(err.message, "is not what was written"));
    assert_true(store_saw_damage(store));
    store_close(store);
    buf_free(&bytes);
    unit_folder_remove(folder);
}

static void a_store_that_changes_stays_whole(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store;
    struct copy_report report;
    struct err err = {0};
    fill(folder);
    store = open_store(folder);
    for (uint32_t i = 0; i < 40; i++) {
        char name[8];
        uint32_t id = 0;
        snprintf(name, sizeof name, "n%u", i);
        put_manual(store, name, 1, 1, &id);
        if (i % 8 == 0)
            assert_int_equal(store_collect(store, NULL), 0);
        if (i % 16 == 0)
            assert_int_equal(
                store_compact(store, NULL, NULL, NULL, &report, NULL), 0);
        if (store_check(store, true, &err))
            fail_msg("%s", err.message);
    }
    store_close(store);
    unit_folder_remove(folder);
}

static void a_table_of_another_name_is_damage(void **state)
{
    (void)state;
    char *folder = unit_folder();
    fill(folder);
    struct buf bytes = read_data(folder);
    replace_name(&bytes, "postings", "posuings");
    write_data(folder, &bytes);
    expect_damage(folder, "damaged");
    buf_free(&bytes);
    unit_folder_remove(folder);
}

/* LMDB takes the size of a page from there, and which of the two is later: the
 * earlier one may be from before anything was added. */
static void a_damaged_beginning_is_told(void **state)
{
    (void)state;
    enum { PAGE_SIZE_AT = 40, FLAGS_AT = 92, COMMIT_AT = 144 };
    static const size_t places[] = {
        PAGE_SIZE_AT + 1, PAGE_SIZE_AT + 3, PAGE + PAGE_SIZE_AT + 3, FLAGS_AT,
        PAGE + FLAGS_AT,  COMMIT_AT + 3,    PAGE + COMMIT_AT + 3};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char *folder = unit_folder();
        fill(folder);
        struct buf bytes = read_data(folder);
        bytes.data[places[i]] ^= 0x54;
        write_data(folder, &bytes);
        expect_damage(folder, "lost its beginning");
        buf_free(&bytes);
        unit_folder_remove(folder);
    }
}

static void cut(const char *folder, off_t size)
{
    struct buf path = data_path(folder);
    assert_int_equal(truncate(path.data, size), 0);
    buf_free(&path);
}

static void a_store_cut_short_says_so(void **state)
{
    (void)state;
    char *folder = unit_folder();
    fill(folder);
    struct buf whole = read_data(folder);
    for (size_t size = whole.size - 1; size > 8192; size -= 4096) {
        write_data(folder, &whole);
        cut(folder, (off_t)size);
        expect_damage(folder, "cut short");
    }
    buf_free(&whole);
    unit_folder_remove(folder);
}

static void an_empty_file_is_no_new_store(void **state)
{
    (void)state;
    static const off_t sizes[] = {0, 1, 4096, 8191};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *folder = unit_folder();
        fill(folder);
        cut(folder, sizes[i]);
        expect_damage(folder, "lost its beginning");
        unit_folder_remove(folder);
    }
}

/* The kernel's signal becomes an error, at once and from then on. */
static void a_store_cut_short_while_it_is_open_is_an_error(void **state)
{
    (void)state;
    char *folder = unit_folder();
    int status;
    fill(folder);
    pid_t child = fork();
    if (!child) {
        struct err err = {0};
        struct store *store = open_store(folder);
        size_t bytes = 0;
        cut(folder, 8192);
        int code = table_walk(store, TABLE_TREES, (struct slice){0}, NULL,
                              no_more, &bytes, &err);
        int damage = store_damage(store, &err);
        _exit(damage == ERR_STORE && strstr(err.message, "damaged") &&
                      store_collect(store, NULL) == ERR_STORE
                  ? 0
                  : 1 - code);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unit_folder_remove(folder);
}

static void nothing_is_written_to_a_store_that_is_gone(void **state)
{
    (void)state;
    char *folder = unit_folder();
    fill(folder);
    struct store *store = open_store(folder);
    struct store_txn *txn;
    struct err err = {0};
    struct buf path = data_path(folder);
    assert_int_equal(unlink(path.data), 0);
    assert_int_equal(store_write(store, &txn, &err), ERR_STORE);
    assert_non_null(strstr(err.message, "was removed"));
    buf_free(&path);
    store_close(store);
    unit_folder_remove(folder);
}

static void a_removed_lock_lets_no_second_one_in(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct buf path = {0};
    int status;
    file_join(&path, folder, "lock");
    assert_int_equal(unlink(path.data), 0);
    pid_t child = fork();
    if (!child) {
        struct err err = {0};
        struct store *other;
        struct store_options options = {.folder = folder,
                                        .max_bytes = 64 << 20};
        int code = store_open(&options, &other, &err);
        _exit(code == ERR_STORE && strstr(err.message, "another daemon") ? 0
                                                                         : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    buf_free(&path);
    store_close(store);
    unit_folder_remove(folder);
}

/* As an older copy put over it by hand while the daemon runs. */
static void compacting_a_store_that_another_changes_ends(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct err err = {0};
    struct copy_report report;
    fill(folder);
    struct buf old = read_data(folder);
    struct store *store = open_store(folder);
    uint32_t id = 0;
    put_manual(store, "n", 1, 2, &id);
    put_manual(store, "o", 1, 3, &id);
    write_data(folder, &old);
    alarm(CHILD_SECONDS);
    int code = store_compact(store, NULL, NULL, NULL, &report, &err);
    alarm(0);
    assert_int_equal(code, ERR_STORE);
    assert_non_null(strstr(err.message, "another program"));
    store_close(store);
    buf_free(&old);
    unit_folder_remove(folder);
}

/* Files of other disks may have the number of the store's: where one of those is mapped
 * is no place of it. */
static void another_map_of_its_number_is_not_the_stores(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct err err = {0};
    fill(folder);
    struct buf path = data_path(folder);
    int fd = open(path.data, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    void *before = (void *)0x200000; /* anything else of this process */
    void *other =
        mmap(before, 4096, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    assert_ptr_equal(other, before);
    struct store *store = open_store(folder);
    if (store_check(store, true, &err))
        fail_msg("%s", err.message);
    store_close(store);
    munmap(other, 4096);
    close(fd);
    buf_free(&path);
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_map_of_its_number_is_not_the_stores),
        cmocka_unit_test(a_whole_store_is_gone_through),
        cmocka_unit_test(keys_that_go_back_are_damage),
        cmocka_unit_test(a_key_of_64_KiB_is_damage),
        cmocka_unit_test(a_value_longer_than_the_file_is_damage),
        cmocka_unit_test(no_byte_ends_the_process),
        cmocka_unit_test(no_page_ends_the_process),
        cmocka_unit_test(what_cannot_be_found_is_damage),
        cmocka_unit_test(a_term_of_another_name_is_damage),
        cmocka_unit_test(a_store_that_changes_stays_whole),
        cmocka_unit_test(a_table_of_another_name_is_damage),
        cmocka_unit_test(a_damaged_beginning_is_told),
        cmocka_unit_test(a_store_cut_short_says_so),
        cmocka_unit_test(an_empty_file_is_no_new_store),
        cmocka_unit_test(a_store_cut_short_while_it_is_open_is_an_error),
        cmocka_unit_test(nothing_is_written_to_a_store_that_is_gone),
        cmocka_unit_test(a_removed_lock_lets_no_second_one_in),
        cmocka_unit_test(compacting_a_store_that_another_changes_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
