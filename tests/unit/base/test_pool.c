#include "tests/unit/support/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"

enum { MAX = 1000 };

struct marks {
    struct pool *pool;
    unsigned char times[MAX]; /* plain: a race here is a bug TSan must see */
    atomic_int ranges;
};

static void mark(void *argument, size_t from, size_t to)
{
    struct marks *marks = argument;
    atomic_fetch_add(&marks->ranges, 1);
    for (size_t i = from; i < to; i++)
        marks->times[i]++;
}

static struct pool *new_pool(unsigned threads)
{
    struct pool *pool = NULL;
    struct err err = {0};
    assert_int_equal(pool_new(threads, &pool, &err), 0);
    return pool;
}

static void every_index_comes_once(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 7, 8, 16, 17, 100, MAX};
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct pool *pool = new_pool(threads);
        assert_int_equal(pool_threads(pool), threads);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            struct marks marks = {.pool = pool};
            pool_parallel_for(pool, counts[c], mark, &marks);
            for (size_t i = 0; i < MAX; i++)
                assert_int_equal(marks.times[i], i < counts[c]);
            assert_true(atomic_load(&marks.ranges) <= 4 * (int)threads);
        }
        pool_free(pool);
    }
    struct pool *pool = new_pool(0);
    assert_true(pool_threads(pool) >= 1);
    pool_free(pool);
    pool_free(NULL);
}

static void many_small_calls_end(void **state)
{
    (void)state;
    struct pool *pool = new_pool(4);
    for (int i = 0; i < 20000; i++) {
        struct marks marks = {.pool = pool};
        pool_parallel_for(pool, 5, mark, &marks);
        for (int j = 0; j < 5; j++)
            assert_int_equal(marks.times[j], 1);
    }
    pool_free(pool);
}

static void nested(void *argument, size_t from, size_t to)
{
    struct marks *marks = argument;
    for (size_t i = from; i < to; i++) {
        struct marks inner = {.pool = marks->pool};
        pool_parallel_for(marks->pool, 50, mark, &inner);
        marks->times[i] = (unsigned char)atomic_load(&inner.ranges);
        for (int j = 0; j < 50; j++)
            if (inner.times[j] != 1)
                marks->times[i] = 255;
    }
}

static void a_nested_call_runs_alone(void **state)
{
    (void)state;
    struct marks marks = {.pool = new_pool(3)};
    pool_parallel_for(marks.pool, 40, nested, &marks);
    for (int i = 0; i < 40; i++)
        assert_int_equal(marks.times[i], 1);
    pool_free(marks.pool);
}

static void *calls(void *argument)
{
    for (int i = 0; i < 500; i++) {
        struct marks marks = {.pool = argument};
        pool_parallel_for(argument, 33, mark, &marks);
        for (int j = 0; j < 33; j++)
            if (marks.times[j] != 1)
                return argument;
    }
    return NULL;
}

static void callers_from_two_threads_get_along(void **state)
{
    (void)state;
    struct pool *pool = new_pool(3);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, calls, pool), 0);
    assert_null(calls(pool));
    void *failed = pool;
    pthread_join(other, &failed);
    assert_null(failed);
    pool_free(pool);
}

static void take_long_behind(void *argument, size_t from, size_t to)
{
    struct marks *marks = argument;
    mark(marks, from, to);
    if (to == 2)
        usleep(300);
}

/* That one of two pieces takes longer is no reason to do both alone. */
static void unlike_pieces_stay_shared(void **state)
{
    (void)state;
    struct pool *pool = new_pool(2);
    for (int i = 0; i < 100; i++) {
        struct marks marks = {.pool = pool};
        pool_parallel_for(pool, 2, take_long_behind, &marks);
        assert_int_equal(atomic_load(&marks.ranges), 2);
    }
    pool_free(pool);
}

/* Writes 3 MB of the stack it runs on. */
static void go_deep(void *argument, size_t from, size_t to)
{
    volatile char room[3 << 20];
    for (size_t i = 0; i < sizeof room; i += 1024)
        room[i] = (char)i;
    atomic_fetch_add((atomic_int *)argument, (int)(to - from) + room[0]);
}

static void *call_deep(void *argument)
{
    go_deep(argument, 0, 1);
    return NULL;
}

static void stacks_do_not_follow_the_default(void **state)
{
    (void)state;
    pthread_attr_t before, small;
    atomic_int done = 0;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 256 << 10), 0);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    struct pool *pool = new_pool(4);
    pthread_t thread;
    assert_int_equal(pool_thread(&thread, call_deep, &done), 0);
    pthread_join(thread, NULL);
    pool_parallel_for(pool, 16, go_deep, &done);
    assert_int_equal(atomic_load(&done), 17);
    pool_free(pool);
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&small);
    pthread_attr_destroy(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_comes_once),
        cmocka_unit_test(many_small_calls_end),
        cmocka_unit_test(a_nested_call_runs_alone),
        cmocka_unit_test(callers_from_two_threads_get_along),
        cmocka_unit_test(unlike_pieces_stay_shared),
        cmocka_unit_test(stacks_do_not_follow_the_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
