/* Backups and compaction: copies that hold all that was committed, while others
 * read and write, and whatever kills the one who copies. */
#include "tests/unit/support/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "memory/store/store_internal.h"

enum { MAP = 128 << 20 };

static struct store *open_store(const char *folder)
{
    struct store *store;
    struct err err = {0};
    struct store_options options = {.folder = folder, .max_bytes = MAP};
    if (store_open(&options, &store, &err))
        fail_msg("%s", err.message);
    return store;
}

static struct slice term_of(uint64_t number, char term[32])
{
    snprintf(term, 32, "%016llx",
             (unsigned long long)(number * 0x9E3779B97F4A7C15u));
    return slice_of(term);
}

/* Records of these numbers; the value tells its number over and over, none: the
 * record goes.  One commit. */
static int put_numbers(struct store *store, uint64_t from, uint64_t to,
                       size_t size)
{
    struct store_txn *txn;
    char term[32];
    struct buf value = {0};
    int code = store_write(store, &txn, NULL);
    for (uint64_t number = from; number <= to && !code; number++) {
        buf_clear(&value);
        while (value.size < size)
            buf_printf(&value, "%llu ", (unsigned long long)number);
        code = store_put_postings(txn, 1, 1, term_of(number, term),
                                  buf_slice(&value), NULL);
    }
    buf_free(&value);
    return code ? code : store_commit(txn, NULL);
}

static int put_number(struct store *store, uint64_t number, size_t size)
{
    return put_numbers(store, number, number, size);
}

static bool has_number(struct store_txn *txn, uint64_t number)
{
    char term[32], start[32];
    struct slice value;
    snprintf(start, sizeof start, "%llu ", (unsigned long long)number);
    assert_int_equal(
        store_get_postings(txn, 1, 1, term_of(number, term), &value, NULL), 0);
    return value.size > strlen(start) &&
           !memcmp(value.data, start, strlen(start));
}

static uint64_t count_numbers(struct store *store, uint64_t max)
{
    struct store_txn *txn;
    uint64_t count = 0;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    while (count < max && has_number(txn, count + 1))
        count++;
    store_end(txn);
    return count;
}

static void check_pages(struct store *store)
{
    struct store_pages pages;
    assert_int_equal(store_pages(store, true, &pages, NULL), 0);
    uint64_t known = pages.free;
    for (size_t t = 0; t < pages.count; t++)
        known += pages.tables[t].bytes;
    assert_int_equal(known, pages.bytes);
}

static void compacting_gives_back_what_is_free(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct copy_report report;
    assert_int_equal(put_numbers(store, 1, 600, 5000), 0);
    assert_int_equal(put_numbers(store, 101, 600, 0), 0);
    assert_int_equal(store_compact(store, NULL, NULL, NULL, &report, NULL), 0);
    assert_true(report.before > 600 * 5000);
    assert_true(report.after < 100 * 10000);
    assert_true(report.needed < report.before / 2);
    assert_int_equal(count_numbers(store, 600), 100);
    check_pages(store);
    struct buf path = {0};
    struct stat st;
    file_join(&path, folder, "data.mdb");
    assert_int_equal(stat(path.data, &st), 0);
    assert_int_equal(st.st_size, report.after);
    buf_free(&path);
    /* It goes on, and a second time too. */
    assert_int_equal(put_numbers(store, 101, 150, 300), 0);
    assert_int_equal(store_compact(store, NULL, NULL, NULL, &report, NULL), 0);
    assert_int_equal(put_number(store, 151, 300), 0);
    store_close(store);
    store = open_store(folder);
    assert_int_equal(count_numbers(store, 600), 151);
    check_pages(store);
    store_close(store);
    unit_folder_remove(folder);
}

/* Of a small store most is what every store has. */
static void it_takes_no_more_than_it_says(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct copy_report report;
    struct stat lock;
    struct buf path = {0};
    file_join(&path, folder, "lock.mdb");
    for (uint64_t number = 1; number < 20000; number *= 5) {
        assert_int_equal(put_numbers(store, number, number * 5 - 1, 700), 0);
        assert_int_equal(store_compact(store, NULL, NULL, NULL, &report, NULL),
                         0);
        assert_int_equal(stat(path.data, &lock), 0);
        assert_true(report.after + (uint64_t)lock.st_size <= report.needed);
    }
    buf_free(&path);
    store_close(store);
    unit_folder_remove(folder);
}

static void who_reads_goes_on_reading(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct store_txn *before, *after;
    struct copy_report report;
    assert_int_equal(put_numbers(store, 1, 100, 200), 0);
    assert_int_equal(store_read(store, &before, NULL), 0);
    assert_int_equal(store_compact(store, NULL, NULL, NULL, &report, NULL), 0);
    assert_int_equal(put_number(store, 101, 200), 0);
    assert_int_equal(store_read(store, &after, NULL), 0);
    for (uint64_t n = 1; n <= 100; n++)
        assert_true(has_number(before, n) && has_number(after, n));
    assert_false(has_number(before, 101));
    assert_true(has_number(after, 101));
    store_end(before);
    store_end(after);
    assert_int_equal(count_numbers(store, 200), 101);
    store_close(store);
    unit_folder_remove(folder);
}

static void backups_are_stores(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder), *copy;
    struct copy_report report;
    struct err err = {0};
    struct buf backup = {0};
    file_join(&backup, folder, "backup");
    assert_int_equal(put_numbers(store, 1, 100, 200), 0);
    assert_int_equal(
        store_backup(store, backup.data, NULL, NULL, NULL, &report, &err), 0);
    assert_int_equal(put_number(store, 101, 200), 0);
    copy = open_store(backup.data);
    assert_int_equal(count_numbers(copy, 200), 100);
    check_pages(copy);
    store_close(copy);
    assert_int_equal(count_numbers(store, 200), 101);
    assert_int_equal(
        store_backup(store, backup.data, NULL, NULL, NULL, &report, &err),
        ERR_USAGE);
    assert_non_null(strstr(err.message, "is there already"));
    assert_int_equal(
        store_backup(store, "backup", NULL, NULL, NULL, &report, &err),
        ERR_USAGE);
    assert_int_equal(
        store_backup(store, "/nowhere/at/all", NULL, NULL, NULL, &report, &err),
        ERR_USAGE);
    buf_free(&backup);
    store_close(store);
    unit_folder_remove(folder);
}

/* A copy is first written beside its place, where a whole one may stand already. */
static void a_backup_of_such_a_name_is_not_written_over(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder), *copy;
    struct copy_report report;
    struct err err = {0};
    struct buf backup = {0}, partial = {0}, lock = {0};
    file_join(&backup, folder, "backup");
    buf_printf(&partial, "%s.partial", backup.data);
    file_join(&lock, partial.data, "lock.mdb");
    assert_int_equal(put_numbers(store, 1, 100, 200), 0);
    assert_int_equal(
        store_backup(store, partial.data, NULL, NULL, NULL, &report, &err), 0);
    assert_int_equal(
        store_backup(store, backup.data, NULL, NULL, NULL, &report, &err),
        ERR_USAGE);
    assert_non_null(strstr(err.message, "backup.partial"));
    copy = open_store(partial.data);
    assert_int_equal(count_numbers(copy, 200), 100);
    assert_int_equal(/* nor is a store that is in use */
                     store_backup(store, backup.data, NULL, NULL, NULL, &report,
                                  &err),
                     ERR_USAGE);
    store_close(copy);
    file_remove_folder(partial.data);
    assert_int_equal(mkdir(partial.data, 0700), 0); /* one who was killed */
    assert_int_equal(file_write(lock.data, slice_of("x"), NULL), 0);
    assert_int_equal(
        store_backup(store, backup.data, NULL, NULL, NULL, &report, &err), 0);
    assert_int_equal(access(partial.data, F_OK), -1);
    buf_free(&backup);
    buf_free(&partial);
    buf_free(&lock);
    store_close(store);
    unit_folder_remove(folder);
}

static const char *dies_at; /* the name that is given last, before or after */
static bool dies_before;

/* In the place of the C library's: whoever is asked to dies there. */
int rename(const char *from, const char *to)
{
    size_t size = strlen(to), last = dies_at ? strlen(dies_at) : 0;
    bool here = dies_at && size >= last && !strcmp(to + size - last, dies_at);
    if (here && dies_before)
        raise(SIGKILL);
    int rc = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (here)
        raise(SIGKILL);
    return rc;
}

static void killed_at(const char *name, bool before, const char *folder,
                      const char *backup)
{
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (!child) {
        struct copy_report report;
        struct store *store = open_store(folder);
        dies_at = name;
        dies_before = before;
        store_backup(store, backup, NULL, NULL, NULL, &report, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Whenever one was killed, the next takes its place. */
static void an_interrupted_backup_is_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool before;
    } kills[] = {{"/data.mdb", false}, {"/backup", true}};
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct copy_report report;
    struct err err = {0};
    struct buf backup = {0}, partial = {0};
    file_join(&backup, folder, "backup");
    buf_printf(&partial, "%s.partial", backup.data);
    assert_int_equal(put_numbers(store, 1, 100, 200), 0);
    store_close(store);
    for (size_t i = 0; i < sizeof kills / sizeof kills[0]; i++) {
        killed_at(kills[i].name, kills[i].before, folder, backup.data);
        assert_int_equal(access(partial.data, F_OK), 0);
        store = open_store(folder);
        if (store_backup(store, backup.data, NULL, NULL, NULL, &report, &err))
            fail_msg("%s: %s", kills[i].name, err.message);
        store_close(store);
        assert_int_equal(access(partial.data, F_OK), -1);
        store = open_store(backup.data);
        assert_int_equal(count_numbers(store, 200), 100);
        store_close(store);
        file_remove_folder(backup.data);
    }
    buf_free(&backup);
    buf_free(&partial);
    unit_folder_remove(folder);
}

static void a_copy_can_be_stopped(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct copy_report report;
    struct err err = {0};
    struct buf path = {0};
    atomic_bool cancel = true;
    assert_int_equal(put_numbers(store, 1, 600, 20), 0);
    assert_int_equal(store_compact(store, NULL, NULL, &cancel, &report, &err),
                     ERR_CANCELLED);
    file_join(&path, folder, "compact");
    assert_int_equal(access(path.data, F_OK), -1);
    buf_clear(&path);
    file_join(&path, folder, "backup");
    assert_int_equal(
        store_backup(store, path.data, NULL, NULL, &cancel, &report, &err),
        ERR_CANCELLED);
    assert_int_equal(access(path.data, F_OK), -1);
    assert_int_equal(mkdir(path.data, 0700), 0); /* and an empty folder stays */
    assert_int_equal(
        store_backup(store, path.data, NULL, NULL, &cancel, &report, &err),
        ERR_CANCELLED);
    assert_int_equal(access(path.data, F_OK), 0);
    atomic_store(&cancel, false);
    assert_int_equal(
        store_backup(store, path.data, NULL, NULL, &cancel, &report, &err), 0);
    struct store *copy = open_store(path.data);
    assert_int_equal(count_numbers(copy, 1000), 600);
    store_close(copy);
    buf_put_text(&path, ".partial");
    assert_int_equal(access(path.data, F_OK), -1);
    buf_free(&path);
    assert_int_equal(count_numbers(store, 1000), 600);
    assert_int_equal(put_number(store, 601, 20), 0);
    store_close(store);
    unit_folder_remove(folder);
}

/* What a compaction that was killed left behind is removed. */
static void leftovers_are_removed(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct buf left = {0}, file = {0};
    assert_int_equal(put_number(store, 1, 20), 0);
    store_close(store);
    file_join(&left, folder, "compact");
    assert_int_equal(mkdir(left.data, 0700), 0);
    file_join(&file, left.data, "data.mdb");
    assert_int_equal(file_write(file.data, slice_of("half a file"), NULL), 0);
    store = open_store(folder);
    assert_int_equal(access(left.data, F_OK), -1);
    assert_int_equal(count_numbers(store, 9), 1);
    store_close(store);
    buf_free(&left);
    buf_free(&file);
    unit_folder_remove(folder);
}

/* ---- While others write ---- */

struct writer {
    struct store *store;
    _Atomic uint64_t written;
    int acknowledge; /* descriptor; -1: none */
    atomic_bool stop;
};

static void *write_numbers(void *context)
{
    struct writer *w = context;
    while (!atomic_load(&w->stop)) {
        if (put_number(w->store, w->written + 1, 700))
            break;
        uint64_t written = ++w->written;
        if (w->acknowledge >= 0 &&
            write(w->acknowledge, &written, sizeof written) < 0)
            break;
    }
    return NULL;
}

static void writers_do_not_keep_it_from_ending(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct writer w = {.store = open_store(folder), .acknowledge = -1};
    struct copy_report report;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_numbers, &w), 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(
            store_compact(w.store, NULL, NULL, NULL, &report, NULL), 0);
        struct buf backup = {0};
        buf_printf(&backup, "%s/backup%d", folder, i);
        assert_int_equal(
            store_backup(w.store, backup.data, NULL, NULL, NULL, &report, NULL),
            0);
        buf_free(&backup);
    }
    /* It is not kept from writing, however slow the disk is. */
    const struct timespec pause = {0, 1000000};
    while (atomic_load(&w.written) <= 10)
        nanosleep(&pause, NULL);
    atomic_store(&w.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(count_numbers(w.store, w.written + 10), w.written);
    check_pages(w.store);
    store_close(w.store);
    unit_folder_remove(folder);
}

/* The child writes, acknowledges and compacts until it is killed. */
static void work_until_killed(const char *folder, uint64_t written, int pipe)
{
    struct store *store;
    struct store_options options = {.folder = folder, .max_bytes = MAP};
    if (store_open(&options, &store, NULL))
        _exit(1);
    struct writer w = {.store = store, .written = written, .acknowledge = pipe};
    struct copy_report report;
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_numbers, &w))
        _exit(2);
    for (;;)
        if (store_compact(store, NULL, NULL, NULL, &report, NULL))
            _exit(3);
}

static uint64_t kill_one(const char *folder, uint64_t written, long after_us)
{
    int ends[2], status;
    uint64_t number;
    const struct timespec wait = {0, after_us * 1000};
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        work_until_killed(folder, written, ends[1]);
    }
    close(ends[1]);
    /* It works by now. */
    if (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number)
        written = number;
    nanosleep(&wait, NULL);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    while (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number)
        written = number;
    close(ends[0]);
    return written;
}

static void a_kill_loses_nothing_that_was_acknowledged(void **state)
{
    (void)state;
    char *folder = unit_folder();
    uint64_t seed = 3, written = 0;
    for (int round = 0; round < 60; round++) {
        uint64_t known =
            kill_one(folder, written, 500 + unit_below(&seed, 40000));
        struct store *store = open_store(folder);
        written = count_numbers(store, known + 10);
        assert_true(written == known || written == known + 1);
        check_pages(store);
        store_close(store);
    }
    assert_true(written >= 60); /* one a round was waited for */
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compacting_gives_back_what_is_free),
        cmocka_unit_test(it_takes_no_more_than_it_says),
        cmocka_unit_test(who_reads_goes_on_reading),
        cmocka_unit_test(backups_are_stores),
        cmocka_unit_test(a_backup_of_such_a_name_is_not_written_over),
        cmocka_unit_test(an_interrupted_backup_is_replaced),
        cmocka_unit_test(a_copy_can_be_stopped),
        cmocka_unit_test(leftovers_are_removed),
        cmocka_unit_test(writers_do_not_keep_it_from_ending),
        cmocka_unit_test(a_kill_loses_nothing_that_was_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
