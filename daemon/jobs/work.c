#include "daemon/jobs/work.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/spare.h"
#include "daemon/engine/engine.h"
#include "daemon/fleet/with_others.h"
#include "daemon/jobs/jobs.h"
#include "daemon/roles.h"
#include "daemon/jobs/thread.h"

enum { MAX_THREADS = 4 };

struct pool {
    struct daemon *daemon;
    bool parses; /* each of its threads owns a parser */
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct requests queue;
    bool stopping;
    pthread_t threads[MAX_THREADS];
    unsigned count;
};

struct work {
    bool asks_others;
    struct pool pools[VERB_THREADS]; /* none for VERB_LOOP */
};

static const unsigned threads_of[VERB_THREADS] = {
    [VERB_QUERY] = 2,       [VERB_ANSWER] = 4,       [VERB_WRITE] = 1,
    [VERB_MAINTENANCE] = 1, [VERB_QUERY_OTHERS] = 4, [VERB_ANSWER_OTHERS] = 4};

/* Where those go that may wait for other daemons; the rest has none. */
static const enum verb_thread others_of[VERB_THREADS] = {
    [VERB_QUERY] = VERB_QUERY_OTHERS, [VERB_ANSWER] = VERB_ANSWER_OTHERS};

/* What has begun ends from what is set aside, and nothing else begins meanwhile. */
static int no_memory(struct err *err)
{
    return err_set(err, ERR_BUSY,
                   "the daemon is out of memory: ask again later, or give it "
                   "more");
}

static int cancelled(struct err *err)
{
    return err_set(err, ERR_CANCELLED, "cancelled");
}

/* One model for all that it asks. */
static int run_verb(struct call *call, struct json *json, struct err *err)
{
    roles_ref(call->daemon);
    int code = call->request->verb->run(call, json, err);
    roles_unref(call->daemon);
    /* What came of it may be made of what could not be read. */
    return code ? code : store_damage(call->daemon->store, err);
}

static void done(struct pool *pool, struct peer *peer)
{
    pthread_mutex_lock(&pool->lock);
    requests_done(&pool->queue, peer);
    if (pool->queue.first)
        pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
    peer_unref(peer);
}

static void run(struct pool *pool, struct request *request,
                struct parser *parser)
{
    struct buf result = {0};
    struct json json = json_to(&result);
    struct err err = {.position = -1};
    struct call call = {pool->daemon, request, request->rpc.params, parser};
    const char *verb = request->verb->name;
    double from = clock_seconds();
    int code;
    if (atomic_load(&request->cancelled))
        code = cancelled(&err);
    else if (spare_is_low())
        code = no_memory(&err);
    else
        code = run_verb(&call, &json, &err);
    /* A writes that is done is done, and says so. */
    if (!code && pool->parses && atomic_load(&request->cancelled))
        code = cancelled(&err);
    if (store_saw_damage(pool->daemon->store))
        jobs_mend(pool->daemon->jobs);
    if (code < 0)
        log_debug("%s: %s", verb, err.message);
    if (code != CALL_LATER)
        request_answer(pool->daemon->response_queue, request, code,
                       buf_slice(&result), &err);
    size_t spare = spare_used();
    if (spare)
        log_warn("%s: there was not enough memory; %zu KiB are in use of what "
                 "is set aside for that",
                 verb, spare >> 10);
    log_debug("%s took %.1f ms", verb, (clock_seconds() - from) * 1000);
    buf_free(&result);
}

static struct request *take(struct pool *pool)
{
    struct request *request = NULL;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping && !(request = requests_take(&pool->queue)))
        pthread_cond_wait(&pool->more, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return request;
}

static void *work_thread(void *context)
{
    struct pool *pool = context;
    struct parser *parser =
        pool->parses ? parser_new(&pool->daemon->parser) : NULL;
    struct request *request;
    while ((request = take(pool))) {
        struct peer *peer = request->peer ? peer_ref(request->peer) : NULL;
        run(pool, request, parser);
        done(pool, peer);
    }
    if (parser)
        parser_free(parser);
    return NULL;
}

/* One client has a thread for its answers, and one for what it reads. */
static void pool_init(struct pool *pool, struct daemon *daemon, int thread)
{
    pool->daemon = daemon;
    pool->parses = thread == VERB_QUERY || thread == VERB_ANSWER ||
                   thread == VERB_QUERY_OTHERS || thread == VERB_ANSWER_OTHERS;
    pool->queue.pool = thread;
    pool->queue.max_running = pool->parses ? 1 : 0;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->more, NULL);
}

static int pool_start(struct pool *pool, unsigned threads, struct err *err)
{
    while (pool->count < threads) {
        pthread_t *thread = &pool->threads[pool->count];
        errno = pthread_create(thread, NULL, work_thread, pool);
        if (errno)
            return err_errno(err, ERR_IO, "cannot start a thread");
        pool->count++;
    }
    return 0;
}

static void pool_end(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}

static bool pool_join(struct pool *pool, int64_t deadline_ms)
{
    while (pool->count)
        if (!thread_join(pool->threads[--pool->count], deadline_ms))
            return false;
    struct err err;
    err_set(&err, ERR_CANCELLED, "the daemon is stopping");
    struct request *request;
    while ((request = pool->queue.first)) {
        pool->queue.first = request->next;
        request_answer(pool->daemon->response_queue, request, err.code,
                       (struct slice){0}, &err);
    }
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->lock);
    return true;
}

bool work_stop(struct work *work, int64_t deadline_ms)
{
    for (int i = 0; i < VERB_THREADS; i++)
        pool_end(&work->pools[i]);
    for (int i = 0; i < VERB_THREADS; i++)
        if (!pool_join(&work->pools[i], deadline_ms))
            return false;
    free(work);
    return true;
}

int work_start(struct daemon *daemon, struct work **ret_work, struct err *err)
{
    struct work *work = mem_alloc(sizeof *work);
    int code = 0;
    work->asks_others = daemon->other_readers;
    for (int i = 0; i < VERB_THREADS; i++)
        pool_init(&work->pools[i], daemon, i);
    for (int i = 0; i < VERB_THREADS && !code; i++)
        if (i < VERB_QUERY_OTHERS || work->asks_others)
            code = pool_start(&work->pools[i], threads_of[i], err);
    if (code)
        work_stop(work, clock_ms() + 10000);
    else
        *ret_work = work;
    return code;
}

static struct pool *pool_of(struct work *work, const struct request *request)
{
    enum verb_thread thread = request->verb->thread;
    if (thread == VERB_QUERY &&
        json_get_bool(request->rpc.params, "expand", false))
        thread = VERB_ANSWER; /* a model writes for it */
    return &work->pools[work->asks_others && others_may_wait(request)
                            ? others_of[thread]
                            : thread];
}

void work_submit(struct work *work, struct request *request)
{
    struct pool *pool = pool_of(work, request);
    pthread_mutex_lock(&pool->lock);
    requests_put(&pool->queue, request);
    pthread_cond_signal(&pool->more);
    pthread_mutex_unlock(&pool->lock);
}

void work_wake(struct work *work)
{
    for (int i = 0; i < VERB_THREADS; i++) {
        pthread_mutex_lock(&work->pools[i].lock);
        pthread_cond_broadcast(&work->pools[i].more);
        pthread_mutex_unlock(&work->pools[i].lock);
    }
}

bool work_withdraw(struct work *work, struct request *request)
{
    struct pool *pool = pool_of(work, request);
    pthread_mutex_lock(&pool->lock);
    bool found = requests_remove(&pool->queue, request);
    pthread_mutex_unlock(&pool->lock);
    return found;
}
