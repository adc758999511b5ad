/* Updates that are asked for, and what becomes of them. */
#include "tests/unit/support/folder.h"
#include "tests/unit/support/stores.h"

#include <unistd.h>

#include "base/file.h"
#include "daemon/jobs/jobs.h"
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
    uint32_t there = 0;
    (void)state;
    options.store = open_store(own_folder);
    put_manual(options.store, "there", 0, 0, &there);
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
    jobs_cancel(jobs);
    assert_true(jobs_stop(jobs, clock_ms() + WAIT_MS));
    assert_true(engine_stop(options.engine, clock_ms() + WAIT_MS));
    library_close(options.library);
    store_close(options.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_removed_is_not_tried_again,
                                        make_folder, remove_folder),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
