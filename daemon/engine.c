/* Tasks wait in two queues; the thread takes them, questions first.
 *
 *     engine_do ──► queued ──► running ──► ended ──► engine_do returns
 *                      └──── cancelled ──────┘
 *
 * 1. All fields are read and written under `lock`, but those said to be the
 *    thread's; opening and running happen without it.
 * 2. `model` is set by the thread alone, and never while somebody holds one.
 * 3. A task that is queued or running is not its caller's to touch.
 * 4. The thread and its pool keep the usual priority, also for indexing: Linux
 *    lets a thread become nicer, but not go back. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "daemon/engine_parts.h"
#include "daemon/thread.h"

enum { POLL_MS = 50 /* how soon one who waits sees that he is cancelled */ };
enum { STAGE_QUEUED, STAGE_RUNNING, STAGE_ENDED };

/* ---- Tasks ---- */

static bool is_cancelled(const struct engine_task *task)
{
    return atomic_load(&task->engine->stopping) ||
           (task->cancel && atomic_load(task->cancel));
}

static bool asked(void *context)
{
    return is_cancelled(context);
}

struct cancel engine_cancel_of(struct engine_task *task)
{
    return (struct cancel){asked, task};
}

static void end(struct engine_task *task, int code)
{
    task->code = code;
    task->stage = STAGE_ENDED;
    pthread_cond_broadcast(&task->engine->ended);
}

static void cancel_task(struct engine_task *task)
{
    end(task,
        err_set(&task->err, ERR_CANCELLED,
                atomic_load(&task->engine->stopping) ? "the daemon is stopping"
                                                     : "cancelled"));
}

static int work(struct engine_task *task)
{
    struct engine *engine = task->engine;
    if (!engine->model)
        engine_open(engine);
    if (!engine->model) {
        task->err = engine->err;
        return task->err.code;
    }
    int code = task->run(task, engine->model, &task->err);
    if (code && code != ERR_CANCELLED && code != ERR_LIMIT)
        code = task->err.code = ERR_MODEL;
    return code;
}

/* With the lock, which is given back meanwhile. */
static void perform(struct engine_task *task)
{
    struct engine *engine = task->engine;
    task->stage = STAGE_RUNNING;
    if (is_cancelled(task)) {
        cancel_task(task);
        return;
    }
    pthread_mutex_unlock(&engine->lock);
    int code = work(task);
    pthread_mutex_lock(&engine->lock);
    end(task, code);
}

static struct engine_task *take(struct engine *engine, int queue,
                                bool only_brief)
{
    struct engine_task **at = &engine->queues[queue];
    while (*at && only_brief && !(*at)->brief)
        at = &(*at)->next;
    struct engine_task *task = *at;
    if (task)
        *at = task->next;
    return task;
}

void engine_between(struct engine *engine)
{
    struct engine_task *task;
    pthread_mutex_lock(&engine->lock);
    while ((task = take(engine, QUESTIONS, true)))
        perform(task);
    pthread_mutex_unlock(&engine->lock);
}

static void *engine_thread(void *context)
{
    struct engine *engine = context;
    struct engine_task *task;
    pthread_mutex_lock(&engine->lock);
    while (!atomic_load(&engine->stopping)) {
        engine_take_next(engine);
        if ((task = take(engine, QUESTIONS, false)) ||
            (task = take(engine, INDEXING, false))) {
            perform(task);
        } else if (engine->wanted) {
            pthread_mutex_unlock(&engine->lock);
            if (!engine->model)
                engine_open(engine);
            pthread_mutex_lock(&engine->lock);
            engine->wanted = false;
            pthread_cond_broadcast(&engine->ended);
        } else {
            pthread_cond_wait(&engine->more, &engine->lock);
        }
    }
    for (int i = 0; i < QUEUES; i++)
        while ((task = take(engine, i, false)))
            cancel_task(task);
    engine->wanted = false;
    pthread_cond_broadcast(&engine->ended);
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

/* ---- From other threads ---- */

static void put(struct engine *engine, struct engine_task *task)
{
    struct engine_task **at =
        &engine->queues[task->indexing ? INDEXING : QUESTIONS];
    while (*at)
        at = &(*at)->next;
    *at = task;
    pthread_cond_signal(&engine->more);
}

static void withdraw(struct engine_task *task)
{
    struct engine_task **at =
        &task->engine->queues[task->indexing ? INDEXING : QUESTIONS];
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    cancel_task(task);
}

void engine_wait(struct engine *engine, int64_t until_ms)
{
    struct timespec until = {until_ms / 1000, until_ms % 1000 * 1000000};
    pthread_cond_timedwait(&engine->ended, &engine->lock, &until);
}

int engine_do(struct engine *engine, struct engine_task *task, struct err *err)
{
    task->engine = engine;
    task->next = NULL;
    task->stage = STAGE_QUEUED;
    task->err = (struct err){.position = -1};
    if (!engine_has_model(engine))
        return err_set(err, ERR_MODEL,
                       "no model is configured: name its folder with `model =`"
                       " in the configuration, or with --model");
    pthread_mutex_lock(&engine->lock);
    if (is_cancelled(task))
        cancel_task(task);
    else
        put(engine, task);
    while (task->stage != STAGE_ENDED) {
        if (task->stage == STAGE_QUEUED && is_cancelled(task))
            withdraw(task);
        else if (task->cancel)
            engine_wait(engine, clock_ms() + POLL_MS);
        else
            pthread_cond_wait(&engine->ended, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
    if (task->code && err)
        *err = task->err;
    return task->code;
}

/* ---- Holding ---- */

void engine_hold(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->holders++;
    pthread_mutex_unlock(&engine->lock);
}

void engine_release(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->holders--;
    pthread_cond_signal(&engine->more);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- Start and end ---- */

int engine_start(const struct engine_options *options, struct engine **ret,
                 struct err *err)
{
    struct engine *engine = mem_alloc(sizeof *engine);
    if (options->folder && options->folder[0])
        engine->folder = mem_strdup(options->folder);
    engine->err.position = -1;
    atomic_init(&engine->stopping, false);
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->more, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    errno = pthread_create(&engine->thread, NULL, engine_thread, engine);
    if (!errno) {
        *ret = engine;
        return 0;
    }
    int code = err_errno(err, ERR_IO, "cannot start the engine thread");
    free(engine->folder);
    free(engine);
    return code;
}

void engine_cancel(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    atomic_store(&engine->stopping, true);
    pthread_cond_broadcast(&engine->more);
    pthread_cond_broadcast(&engine->ended);
    pthread_mutex_unlock(&engine->lock);
}

bool engine_stop(struct engine *engine, int64_t deadline_ms)
{
    if (!engine)
        return true;
    engine_cancel(engine);
    if (!thread_join(engine->thread, deadline_ms))
        return false;
    model_close(engine->next);
    model_close(engine->model);
    pool_free(engine->pool);
    pthread_cond_destroy(&engine->ended);
    pthread_cond_destroy(&engine->more);
    pthread_mutex_destroy(&engine->lock);
    free(engine->folder);
    free(engine);
    return true;
}
