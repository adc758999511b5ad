/* Updates that are asked for, and what becomes of them. */
#include "tests/unit/support/folder.h"
#include "tests/unit/support/stores.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spare.h"
#include "daemon/jobs/jobs.h"
#include "indexer/index.h"
#include "memory/snapshot/library.h"

enum { WAIT_MS = 20000 };

/* The state of the manual's job when what was asked for has ended. */
static struct job_state ended(struct jobs *jobs, uint32_t manual)
{
    struct job_state state = {.queued = true};
    int64_t until = clock_ms() + WAIT_MS;
    while ((state.queued || state.running) && clock_ms() < until) {
        usleep(1000);
        jobs_state(jobs, manual, &state);
    }
    assert_false(state.queued || state.running);
    return state;
}

/* `rm` may come between the look into the store and the asking.  What is there, and fails,
 * is tried again. */
static void what_was_removed_is_not_tried_again(void **state)
{
    struct engine_options none = {0};
    struct jobs_options options = {0};
    struct source_root root = {.path = own_folder};
    struct watch_state seen;
    struct scan scan;
    uint32_t there = 0;
    (void)state;
    options.store = open_store(own_folder);
    options.index.watch = watch_new(WATCH_INOTIFY);
    put_manual(options.store, "there", 0, 0, &there);
    assert_int_equal(
        watch_scan(options.index.watch, there + 1, &root, "", &scan, NULL), 0);
    scan_free(&scan);
    assert_int_equal(library_open(options.store, &options.library, NULL), 0);
    assert_int_equal(engine_start(&none, &options.engine, NULL), 0);
    struct jobs *jobs = jobs_new(&options);
    jobs_update(jobs, there + 1, "gone", false);
    jobs_update(jobs, there, "there", false);
    assert_int_equal(jobs_start(jobs, NULL), 0);
    struct job_state gone = ended(jobs, there + 1);
    struct job_state failed = ended(jobs, there);
    assert_int_equal(gone.err.code, 0);
    assert_int_equal(gone.retry_ms, -1);
    assert_int_equal(failed.err.code, ERR_IO);
    assert_true(failed.retry_ms > 0);
    watch_forget(options.index.watch, there);
    watch_state(options.index.watch, &seen);
    assert_int_equal(seen.folders, 0); /* nor is it watched */
    jobs_cancel(jobs);
    assert_true(jobs_stop(jobs, clock_ms() + WAIT_MS));
    assert_true(engine_stop(options.engine, clock_ms() + WAIT_MS));
    library_close(options.library);
    watch_free(options.index.watch);
    store_close(options.store);
}

/* Want of memory is not too large a request: it may be asked for again. */
static void without_memory_a_job_is_put_off(void **state)
{
    enum { SPARE = 1 << 20 };
    struct engine_options none = {0};
    struct jobs_options options = {0};
    uint32_t there = 0;
    (void)state;
    assert_true(spare_open(SPARE));
    void *taken = spare_take(SPARE - SPARE / 4);
    assert_non_null(taken);
    options.store = open_store(own_folder);
    put_manual(options.store, "there", 0, 0, &there);
    assert_int_equal(library_open(options.store, &options.library, NULL), 0);
    assert_int_equal(engine_start(&none, &options.engine, NULL), 0);
    struct jobs *jobs = jobs_new(&options);
    jobs_update(jobs, there, "there", false);
    assert_int_equal(jobs_start(jobs, NULL), 0);
    struct job_state late = ended(jobs, there);
    assert_string_equal(err_name(late.err.code), "busy");
    assert_non_null(strstr(late.err.message, "out of memory"));
    assert_true(late.retry_ms > 0);
    assert_true(spare_give(taken));
    jobs_cancel(jobs);
    assert_true(jobs_stop(jobs, clock_ms() + WAIT_MS));
    assert_true(engine_stop(options.engine, clock_ms() + WAIT_MS));
    library_close(options.library);
    store_close(options.store);
}

/* ---- Mending ---- */

static struct index_options index_options(void)
{
    const char *program = getenv("LECTERN_PARSE");
    return (struct index_options){
        .parser = {.program =
                       program ? program : "build/release/lectern-parse"}};
}

static void write_page(const char *folder, const char *text)
{
    struct buf path = {0}, page = {0};
    file_join(&path, folder, "page.html");
    buf_printf(&page, "<title>Pumps</title><h1>Pumps</h1><p>%s", text);
    assert_int_equal(file_write(path.data, buf_slice(&page), NULL), 0);
    buf_free(&path);
    buf_free(&page);
}

static void index_now(struct store *store, uint32_t manual)
{
    struct index_options options = index_options();
    struct index_report report;
    struct err err = {0};
    if (index_update(store, manual, &options, NULL, NULL, NULL, &report, &err))
        fail_msg("%s", err.message);
}

/* A manual of one page, indexed. */
static uint32_t add(struct store *store, const char *name)
{
    struct buf folder = {0};
    struct manual manual;
    file_join(&folder, own_folder, name);
    assert_int_equal(file_make_folder(folder.data, 0700, NULL), 0);
    write_page(folder.data, "a pump has a valve");
    const struct registering asked = {.folder = {.path = folder.data},
                                      .name = name};
    assert_int_equal(index_register(store, &asked, &manual, NULL), 0);
    uint32_t id = manual.id;
    manual_free(&manual);
    index_now(store, id);
    buf_free(&folder);
    return id;
}

static size_t count_files(struct store *store, uint32_t manual)
{
    struct store_txn *txn;
    struct file *files;
    size_t count;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(store_list_files(txn, manual, &files, &count, NULL), 0);
    store_end(txn);
    for (size_t i = 0; i < count; i++)
        file_free(&files[i]);
    free(files);
    return count;
}

static void lose_file(struct store *store, uint32_t manual)
{
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(store_delete_file(txn, manual, "page.html", NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(count_files(store, manual), 0);
}

/* One that has changed since it was read keeps no other from being mended. */
static void all_that_is_damaged_is_mended(void **state)
{
    struct engine_options none = {0};
    struct jobs_options options = {.index = index_options()};
    char store_folder[300], changed[300];
    (void)state;
    snprintf(store_folder, sizeof store_folder, "%s/store", own_folder);
    snprintf(changed, sizeof changed, "%s/changed", own_folder);
    options.store = open_store(store_folder);
    uint32_t first = add(options.store, "changed"),
             second = add(options.store, "damaged");
    assert_true(first < second);
    assert_int_equal(library_open(options.store, &options.library, NULL), 0);
    assert_int_equal(engine_start(&none, &options.engine, NULL), 0);
    write_page(changed, "a pump has two valves");
    index_now(options.store, first); /* what is read is a generation behind */
    lose_file(options.store, second);
    struct jobs *jobs = jobs_new(&options);
    assert_int_equal(jobs_start(jobs, NULL), 0);
    jobs_mend(jobs);
    int64_t until = clock_ms() + WAIT_MS / 4;
    while (!count_files(options.store, second) && clock_ms() < until)
        usleep(1000);
    assert_int_equal(count_files(options.store, second), 1);
    jobs_cancel(jobs);
    assert_true(jobs_stop(jobs, clock_ms() + WAIT_MS));
    assert_true(engine_stop(options.engine, clock_ms() + WAIT_MS));
    library_close(options.library);
    store_close(options.store);
}

static struct jobs *jobs_short; /* of memory, at the next sorting */

typedef int compare(const void *, const void *);

static int compare_with(const void *a, const void *b, void *context)
{
    return (*(compare **)context)(a, b);
}

/* In the place of the C library's: a manual that is looked through sorts its ids. */
void qsort(void *items, size_t count, size_t size, compare *by)
{
    struct jobs *jobs = jobs_short;
    jobs_short = NULL;
    if (jobs)
        jobs_on_shortage(jobs);
    qsort_r(items, count, size, compare_with, &by);
}

/* Mending gives way to want of memory, and is not forgotten. */
static void what_was_interrupted_is_mended_later(void **state)
{
    struct engine_options none = {0};
    struct jobs_options options = {.index = index_options()};
    char store_folder[300];
    (void)state;
    snprintf(store_folder, sizeof store_folder, "%s/store", own_folder);
    options.store = open_store(store_folder);
    uint32_t manual = add(options.store, "damaged");
    assert_int_equal(library_open(options.store, &options.library, NULL), 0);
    assert_int_equal(engine_start(&none, &options.engine, NULL), 0);
    lose_file(options.store, manual);
    struct jobs *jobs = jobs_new(&options);
    jobs_short = jobs;
    jobs_mend(jobs);
    assert_int_equal(jobs_start(jobs, NULL), 0);
    int64_t until = clock_ms() + WAIT_MS / 4;
    while (!count_files(options.store, manual) && clock_ms() < until)
        usleep(1000);
    assert_null(jobs_short);
    assert_int_equal(count_files(options.store, manual), 1);
    jobs_cancel(jobs);
    assert_true(jobs_stop(jobs, clock_ms() + WAIT_MS));
    assert_true(engine_stop(options.engine, clock_ms() + WAIT_MS));
    library_close(options.library);
    store_close(options.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_memory_a_job_is_put_off,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(all_that_is_damaged_is_mended,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_was_interrupted_is_mended_later,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_was_removed_is_not_tried_again,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
