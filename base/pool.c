/* Invariants, under `mutex`:
 *   1. `job` is set while one call of pool_parallel_for shares out its work;
 *      `round` grows with each, and a worker enters each round at most once.
 *   2. `inside` counts the workers that are within the current round.  The
 *      caller clears `job` and leaves only when `inside` is 0 and all pieces
 *      are taken, so no worker touches a job that is over.
 * Pieces are taken by counting `next` up, outside the mutex. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"

enum { MAX_THREADS = 1024, PIECES_A_THREAD = 4 };

enum { LOOKS = 2000 }; /* of about 20 ns each */

/* Rounds after which is looked whether it would have been faster alone, and
 * nanoseconds that a caller then works alone. */
enum { ROUNDS = 32, ALONE = 100000000 };

struct job {
    void (*body)(void *argument, size_t from, size_t to);
    void *argument;
    size_t count;
    size_t pieces;
    atomic_size_t next; /* the first piece that nobody has taken */
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t work; /* a job is there, or stop */
    pthread_cond_t done; /* inside became 0 */
    struct job *job;
    atomic_uint_fast64_t round; /* these two are looked at without it, too */
    atomic_uint inside;
    atomic_bool stop;
    atomic_int_fast64_t alone; /* until then the caller works alone */
    unsigned judged;           /* rounds, of ROUNDS */
    double together, single; /* nanoseconds they took, and would have, alone */
    unsigned threads;        /* with the caller */
    unsigned started;
    pthread_t *workers; /* [started] */
};

/* Returns the number of pieces that it did. */
static size_t work(struct job *job)
{
    size_t done = 0;
    size_t each = job->count / job->pieces, more = job->count % job->pieces;
    for (;;) {
        size_t i =
            atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (i >= job->pieces)
            return done;
        size_t from = i * each + (i < more ? i : more);
        job->body(job->argument, from, from + each + (i < more));
        done++;
    }
}

static void pause_core(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Looks for a while whether there is a round after `seen`: between the products of
 * one token the next is there in less than it takes to wake up. */
static void expect_round(struct pool *pool, uint64_t seen)
{
    for (int i = 0; i < LOOKS && !atomic_load(&pool->stop); i++) {
        if (atomic_load(&pool->round) != seen)
            return;
        pause_core();
    }
}

static void expect_done(struct pool *pool)
{
    for (int i = 0; i < LOOKS && atomic_load(&pool->inside); i++)
        pause_core();
}

static void *worker(void *argument)
{
    struct pool *pool = argument;
    uint64_t seen = 0;
    bool looked = false;
    pthread_mutex_lock(&pool->mutex);
    while (!pool->stop) {
        if (!pool->job || pool->round == seen) {
            if (looked)
                pthread_cond_wait(&pool->work, &pool->mutex);
            else {
                pthread_mutex_unlock(&pool->mutex);
                expect_round(pool, seen);
                pthread_mutex_lock(&pool->mutex);
            }
            looked = !looked;
            continue;
        }
        looked = false;
        seen = pool->round;
        pool->inside++;
        struct job *job = pool->job;
        pthread_mutex_unlock(&pool->mutex);
        work(job);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->inside == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

unsigned pool_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0)
        return 1;
    int cores = CPU_COUNT(&set);
    return cores > 0 ? (unsigned)cores : 1;
}

int pool_thread(pthread_t *ret, void *(*run)(void *), void *context)
{
    const size_t stack = (size_t)4 << 20;
    pthread_attr_t how;
    int failed = pthread_attr_init(&how);
    if (failed)
        return failed;
    failed = pthread_attr_setstacksize(&how, stack);
    if (!failed)
        failed = pthread_create(ret, &how, run, context);
    pthread_attr_destroy(&how);
    return failed;
}

int pool_new(unsigned threads, struct pool **ret, struct err *err)
{
    threads = threads ? threads : pool_cores();
    if (threads > MAX_THREADS)
        return err_set(err, ERR_LIMIT, "%u threads are more than %d", threads,
                       MAX_THREADS);
    struct pool *pool = mem_alloc(sizeof *pool);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->threads = threads;
    pool->workers = mem_alloc(threads * sizeof *pool->workers);
    for (; pool->started + 1 < threads; pool->started++) {
        if (pool_thread(&pool->workers[pool->started], worker, pool)) {
            pool_free(pool);
            return err_set(err, ERR_LIMIT, "cannot start %u threads", threads);
        }
    }
    *ret = pool;
    return 0;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->mutex);
    free(pool->workers);
    free(pool);
}

unsigned pool_threads(const struct pool *pool)
{
    return pool->threads;
}

/* False when somebody else's job is there. */
static bool enter(struct pool *pool, struct job *job)
{
    pthread_mutex_lock(&pool->mutex);
    bool free_now = !pool->job;
    if (free_now) {
        pool->job = job;
        pool->round++;
        pthread_cond_broadcast(&pool->work);
    }
    pthread_mutex_unlock(&pool->mutex);
    return free_now;
}

static int64_t now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return clock_nanoseconds(now);
}

/* Where others want the cores, a thread loses its own within a piece, and all wait for
 * that one: what the caller did, times all pieces by its own, had taken less. */
static void judge(struct pool *pool, double together, double single)
{
    pool->together += together;
    pool->single += single;
    if (++pool->judged < ROUNDS)
        return;
    if (pool->together > pool->single)
        pool->alone = now() + ALONE;
    pool->together = pool->single = 0;
    pool->judged = 0;
}

/* Works, and when all pieces are taken waits for those who still work on theirs. */
static void lead(struct pool *pool, struct job *job)
{
    int64_t start = now();
    size_t mine = work(job);
    int64_t taken = now();
    expect_done(pool);
    pthread_mutex_lock(&pool->mutex);
    while (pool->inside)
        pthread_cond_wait(&pool->done, &pool->mutex);
    /* Of a piece for each thread the caller's own says nothing of the others. */
    if (mine && job->pieces > pool->threads)
        judge(pool, (double)(now() - start),
              (double)(taken - start) * (double)job->pieces / (double)mine);
    pool->job = NULL;
    pthread_mutex_unlock(&pool->mutex);
}

void pool_parallel_for(void *context, size_t count,
                       void (*body)(void *argument, size_t from, size_t to),
                       void *argument)
{
    struct pool *pool = context;
    size_t max = (size_t)pool->threads * PIECES_A_THREAD;
    struct job job = {.body = body,
                      .argument = argument,
                      .count = count,
                      .pieces = count < max ? count : max};
    if (!count)
        return;
    if (count == 1 || pool->started == 0 || now() < pool->alone ||
        !enter(pool, &job))
        body(argument, 0, count);
    else
        lead(pool, &job);
}
