/* Tasks wait in two queues, each with its thread.  Answers run side by side, a
 * token at a time (generation.c), everything else as a whole.
 *
 *     engine_do ──► queued ──► running ──► ended ──► engine_do returns
 *                      └──── cancelled ──────┘
 *
 * 1. All fields are read and written under `lock`, but those said to be a
 *    thread's; opening and running happen without it.
 * 2. `model` is set by the thread of questions alone, and never while somebody
 *    holds one; whoever has work for the other thread does, so that one finds
 *    the model open, and what it shares may be closed with it.
 * 3. A task that is queued or running is not its caller's to touch.
 * 4. The thread that indexes is nicer, and so are those of its pool, which it
 *    starts: Linux lets a thread become nicer, but not go back. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "daemon/engine/engine_internal.h"
#include "daemon/engine/generation.h"
#include "daemon/jobs/thread.h"

enum {
    POLL_MS = 50,       /* how soon one who waits sees that he is cancelled */
    GIVE_WAY_MS = 2000, /* most, before a model is held that is of no use */
    NICENESS = 5,       /* of indexing */
    EXACT_FROM = 4096   /* tokens (tests/bench/bench_hils.c, bench_context.c) */
};
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

static int no_model(struct err *err)
{
    return err_set(err, ERR_MODEL,
                   "no model is configured: lectern model use DIR, `model =` "
                   "in the configuration, or --model");
}

/* What an error is for those who asked; what needs no model has errors of its
 * own. */
static int error_of(struct engine_task *task, int code)
{
    const struct model *model = task->bare ? NULL : task->engine->model;
    const char *why = code && model ? model_device_failed(model) : NULL;
    if (why && code != ERR_CANCELLED)
        code = err_set(&task->err, ERR_MODEL,
                       "the GPU has failed (%s), and the CPU takes over: ask "
                       "again",
                       why);
    if (code && code != ERR_CANCELLED && code != ERR_LIMIT)
        code = task->err.code = ERR_MODEL;
    return code;
}

static int share(struct engine *engine, struct err *err)
{
    struct pool *pool = engine->pools[INDEXING];
    int code = pool ? 0 : pool_new(0, &pool, err);
    if (code)
        return code;
    engine->pools[INDEXING] = pool;
    struct kernel_pool threads = {pool, pool_parallel_for, pool_threads(pool)};
    struct model *sharing = model_share(engine->model, threads);
    pthread_mutex_lock(&engine->lock);
    engine->sharing = sharing;
    pthread_mutex_unlock(&engine->lock);
    return 0;
}

static struct model *model_of_indexing(struct engine *engine, struct err *err)
{
    pthread_mutex_lock(&engine->lock);
    bool open = engine->model;
    struct model *sharing = engine->sharing;
    if (!open)
        *err = engine->err;
    pthread_mutex_unlock(&engine->lock);
    if (open && !sharing && !share(engine, err))
        sharing = engine->sharing;
    return sharing;
}

/* The model of the task's thread; that of questions is opened if need be. */
static int find_model(struct engine_task *task, struct model **ret)
{
    struct engine *engine = task->engine;
    if (!task->indexing && !task->bare && !engine->model && engine->folder)
        engine_open(engine);
    *ret =
        task->indexing ? model_of_indexing(engine, &task->err) : engine->model;
    if (*ret || task->bare)
        return 0;
    if (!task->indexing && engine->folder)
        task->err = engine->err;
    return task->err.code ? task->err.code : no_model(&task->err);
}

/* With the lock, which is given back meanwhile.  An answer is begun, anything
 * else is done. */
static void perform(struct engine_task *task)
{
    struct engine *engine = task->engine;
    task->stage = STAGE_RUNNING;
    if (is_cancelled(task)) {
        cancel_task(task);
        return;
    }
    pthread_mutex_unlock(&engine->lock);
    struct model *model;
    int code = find_model(task, &model);
    bool begun = !code && task->generation;
    if (begun)
        engine->generations[engine->under_way++] = task->generation;
    else if (!code)
        code = error_of(task, task->run(task, model, &task->err));
    pthread_mutex_lock(&engine->lock);
    if (!begun)
        end(task, code);
    if (code) /* perhaps the device has */
        pthread_cond_signal(&engine->more[QUESTIONS]);
}

void engine_end(struct engine_task *task, int code)
{
    struct engine *engine = task->engine;
    pthread_mutex_lock(&engine->lock);
    end(task, error_of(task, code));
    pthread_mutex_unlock(&engine->lock);
}

/* Answers only while there is room for more. */
static struct engine_task *take(struct engine *engine, int queue)
{
    struct engine_task **at = &engine->queues[queue];
    while (*at && (*at)->generation && engine->under_way == MAX_ANSWERS)
        at = &(*at)->next;
    struct engine_task *task = *at;
    if (task)
        *at = task->next;
    return task;
}

static void open_wanted(struct engine *engine)
{
    pthread_mutex_unlock(&engine->lock);
    if (!engine->model && engine->folder)
        engine_open(engine);
    pthread_mutex_lock(&engine->lock);
    engine->wanted = false;
    pthread_cond_broadcast(&engine->ended);
}

/* There is nothing to do: what was read goes to the disk, a piece at a time. */
static void rest(struct engine *engine)
{
    pthread_mutex_unlock(&engine->lock);
    bool filed = engine_file_prompt(engine);
    pthread_mutex_lock(&engine->lock);
    if (!filed && !engine->queues[QUESTIONS] && !engine->wanted &&
        !engine->next_due && !engine->look_again &&
        !atomic_load(&engine->stopping))
        pthread_cond_wait(&engine->more[QUESTIONS], &engine->lock);
}

/* Questions, then a token for each answer.  Rests only when there was nothing to
 * do: the last holder may have gone while a task ran. */
static void turn(struct engine *engine)
{
    struct engine_task *task;
    bool performed = false;
    pthread_mutex_unlock(&engine->lock);
    engine_check_prompts(engine);
    pthread_mutex_lock(&engine->lock);
    while ((task = take(engine, QUESTIONS))) {
        perform(task);
        performed = true;
    }
    if (engine->under_way) {
        pthread_mutex_unlock(&engine->lock);
        generating_round(engine);
        pthread_mutex_lock(&engine->lock);
    } else if (engine->wanted) {
        open_wanted(engine);
    } else if (!performed && !atomic_load(&engine->stopping)) {
        rest(engine);
    }
}

static void cancel_queue(struct engine *engine, int queue)
{
    struct engine_task *task;
    while ((task = take(engine, queue)))
        cancel_task(task);
}

static void *indexing_thread(void *context)
{
    struct engine *engine = context;
    struct engine_task *task;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    pthread_setschedparam(pthread_self(), SCHED_BATCH,
                          &(struct sched_param){0});
    pthread_mutex_lock(&engine->lock);
    while (!atomic_load(&engine->stopping)) {
        if ((task = take(engine, INDEXING)))
            perform(task);
        else
            pthread_cond_wait(&engine->more[INDEXING], &engine->lock);
    }
    cancel_queue(engine, INDEXING);
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static void *questions_thread(void *context)
{
    struct engine *engine = context;
    pthread_mutex_lock(&engine->lock);
    while (!atomic_load(&engine->stopping) || engine->under_way) {
        engine_leave_device(engine);
        engine_take_pending(engine);
        turn(engine);
    }
    cancel_queue(engine, QUESTIONS);
    engine->wanted = false;
    pthread_cond_broadcast(&engine->ended);
    pthread_mutex_unlock(&engine->lock);
    return NULL;
}

/* ---- From other threads ---- */

static void put(struct engine *engine, struct engine_task *task)
{
    int queue = task->indexing ? INDEXING : QUESTIONS;
    struct engine_task **at = &engine->queues[queue];
    while (*at)
        at = &(*at)->next;
    *at = task;
    pthread_cond_signal(&engine->more[queue]);
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
    if (!task->bare && !engine_has_model(engine))
        return no_model(err);
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

/* With the lock: another model waits for nobody to hold one whose device is
 * lost. */
static bool gives_way(const struct engine *engine)
{
    return engine->next_due && engine->model &&
           model_device_failed(engine->model) &&
           !atomic_load(&engine->stopping);
}

void engine_ref(struct engine *engine)
{
    int64_t until = clock_ms() + GIVE_WAY_MS;
    pthread_mutex_lock(&engine->lock);
    while (gives_way(engine) && clock_ms() < until)
        engine_wait(engine, until);
    engine->holders++;
    pthread_mutex_unlock(&engine->lock);
}

void engine_unref(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->holders--;
    pthread_cond_signal(&engine->more[QUESTIONS]);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- Start and end ---- */

static void engine_free(struct engine *engine)
{
    prefixes_clear(&engine->prefixes);
    model_close(engine->next);
    model_close(engine->sharing);
    model_close(engine->model);
    for (int i = 0; i < QUEUES; i++) {
        pool_free(engine->pools[i]);
        pthread_cond_destroy(&engine->more[i]);
    }
    pthread_cond_destroy(&engine->ended);
    pthread_mutex_destroy(&engine->lock);
    free(engine->next_folder);
    free(engine->folder);
    free(engine);
}

static int start_threads(struct engine *engine, struct err *err)
{
    errno = pool_thread(&engine->threads[QUESTIONS], questions_thread, engine);
    if (errno)
        return err_errno(err, ERR_IO, "cannot start the engine thread");
    errno = pool_thread(&engine->threads[INDEXING], indexing_thread, engine);
    if (!errno)
        return 0;
    int code = err_errno(err, ERR_IO, "cannot start the engine thread");
    engine_cancel(engine);
    pthread_join(engine->threads[QUESTIONS], NULL);
    return code;
}

int engine_start(const struct engine_options *options, struct engine **ret,
                 struct err *err)
{
    struct engine *engine = mem_alloc(sizeof *engine);
    if (options->folder && options->folder[0])
        engine->folder = mem_strdup(options->folder);
    engine->exact = options->exact;
    engine->keys_int8 = options->keys_int8;
    engine->int8 = options->int8;
    engine->device_name = options->device_name ? options->device_name : "cpu";
    engine->find_device = options->find_device;
    engine->exact_from = options->exact_from ? options->exact_from : EXACT_FROM;
    engine->prefixes.how = options->how;
    engine->prefixes.how.read = PREFIX_READ_IN_FULL;
    engine->device_only = options->device_only;
    engine->check = options->check;
    engine->look_again = options->check.stands;
    engine->prefixes.max_bytes = options->prompt_bytes;
    engine->prefixes.files = options->prompt_files;
    engine->prefixes.rounded = options->prompts_rounded;
    engine->prefixes.min_parameters = options->filed_parameters;
    engine->err.position = -1;
    atomic_init(&engine->stopping, false);
    pthread_mutex_init(&engine->lock, NULL);
    for (int i = 0; i < QUEUES; i++)
        pthread_cond_init(&engine->more[i], NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&engine->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int code = start_threads(engine, err);
    if (code)
        engine_free(engine);
    else
        *ret = engine;
    return code;
}

void engine_cancel(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    atomic_store(&engine->stopping, true);
    for (int i = 0; i < QUEUES; i++)
        pthread_cond_broadcast(&engine->more[i]);
    pthread_cond_broadcast(&engine->ended);
    pthread_mutex_unlock(&engine->lock);
}

bool engine_stop(struct engine *engine, int64_t deadline_ms)
{
    if (!engine)
        return true;
    engine_cancel(engine);
    for (int i = 0; i < QUEUES; i++)
        if (!thread_join(engine->threads[i], deadline_ms))
            return false;
    engine_free(engine);
    return true;
}
