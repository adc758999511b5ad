/* One job a manual.  Asking for an update gives a ticket, a number that only
 * rises; a job keeps the oldest ticket of those that its queued and its running
 * update serve.
 *
 *     idle ──update──► queued ──► running ──► idle, or failed (retry_at set)
 *                         ▲  update  │
 *                         └──────────┘    (queued and running at once)
 *
 * 1. Everything that is not said to be one thread's is read and written under
 *    `lock`; index_update, library_refresh and store_collect run without it.
 * 2. A running job is freed by nobody but jobs_forget, after its end.
 * 3. Who waits with ticket T is answered when no job of those meant has a
 *    ticket <= T. */
#include "daemon/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/thread.h"

enum {
    FIRST_RETRY_MS = 30 * 1000,
    LONGEST_RETRY_MS = 3600 * 1000,
    PROGRESS_MS = 100,
    SETTLE_MS = 100, /* until readers of an older generation are asked after */
    NICENESS = 10    /* questions come first */
};

struct job {
    struct job *next;
    uint32_t manual;
    char *name;
    uint64_t queued, running; /* tickets; 0: it is not */
    bool force;               /* the queued one */
    bool forgotten;           /* its end is awaited */
    int phase;                /* of the running one */
    size_t done, total;
    struct index_report report;    /* of the last that ended well */
    struct err err;                /* of the last; code 0: it ended well */
    int64_t retry_delay, retry_at; /* ms; 0: no retry is due */
};

struct waiter {
    struct waiter *next;
    struct request *request;
    uint32_t manual; /* 0: all */
    uint64_t ticket;
};

struct jobs {
    struct jobs_options options;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something to do, or a job has ended */
    struct job *all;
    struct job *current; /* the running one */
    struct waiter *waiters;
    uint64_t tickets; /* given so far */
    bool stopping, collect;
    bool unfinished;            /* the last update failed: its trees are kept */
    bool refresh;               /* the thread's: jobs_refresh is due */
    pthread_mutex_t refreshing; /* else an older shelf could come last */
    int64_t told_at;            /* ms: the last notification of progress */
    atomic_bool cancel;         /* stops index_update */
};

struct jobs *jobs_new(const struct jobs_options *options)
{
    struct jobs *jobs = mem_alloc(sizeof *jobs);
    jobs->options = *options;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_mutex_init(&jobs->refreshing, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_init(&jobs->cancel, false);
    jobs->collect = true; /* what a crash left behind */
    return jobs;
}

static struct job *find(const struct jobs *jobs, uint32_t manual)
{
    struct job *job = jobs->all;
    while (job && job->manual != manual)
        job = job->next;
    return job;
}

void jobs_update(struct jobs *jobs, uint32_t manual, const char *name,
                 bool force)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = find(jobs, manual);
    if (!job) {
        job = mem_alloc(sizeof *job);
        job->manual = manual;
        job->next = jobs->all;
        jobs->all = job;
    }
    free(job->name);
    job->name = mem_strdup(name);
    uint64_t ticket = ++jobs->tickets;
    if (!job->queued)
        job->queued = ticket;
    job->force = job->force || force;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- Those who wait ---- */

static bool outstanding(const struct job *job, uint64_t ticket)
{
    return (job->queued && job->queued <= ticket) ||
           (job->running && job->running <= ticket);
}

static bool is_done(const struct jobs *jobs, const struct waiter *waiter)
{
    for (const struct job *job = jobs->all; job; job = job->next)
        if ((!waiter->manual || waiter->manual == job->manual) &&
            outstanding(job, waiter->ticket))
            return false;
    return true;
}

static void job_report(const struct job *job, struct json *json)
{
    const struct index_report *report = &job->report;
    json_begin(json, '{');
    json_field_text(json, "manual", job->name);
    json_key(json, "files");
    json_begin(json, '{');
    json_field_int(json, "seen", (int64_t)report->seen);
    json_field_int(json, "indexed", (int64_t)report->indexed);
    json_field_int(json, "failed", (int64_t)report->failed);
    json_end(json, '}');
    json_field_int(json, "parsed", (int64_t)report->parsed);
    json_field_int(json, "nodes", (int64_t)report->nodes);
    json_field_int(json, "segments", (int64_t)report->segments);
    json_field_int(json, "tokens", (int64_t)report->tokens);
    json_field_bool(json, "changed", report->changed);
    json_field_double(json, "seconds", report->seconds, 3);
    if (job->err.code) {
        json_key(json, "error");
        rpc_error_data(json, &job->err);
    }
    json_end(json, '}');
}

static void answer(struct jobs *jobs, struct waiter *waiter)
{
    struct buf result = {0};
    struct json json = json_to(&result);
    struct err err = {.position = -1};
    const struct job *job = find(jobs, waiter->manual);
    if (jobs->stopping) {
        err_set(&err, ERR_CANCELLED, "the daemon is stopping");
    } else if (atomic_load(&waiter->request->cancelled)) {
        err_set(&err, ERR_CANCELLED, "cancelled");
    } else if (!waiter->manual) {
        json_begin(&json, '{');
        json_key(&json, "manuals");
        json_begin(&json, '[');
        for (job = jobs->all; job; job = job->next)
            job_report(job, &json);
        json_end(&json, ']');
        json_end(&json, '}');
    } else if (!job) {
        err_set(&err, ERR_CANCELLED, "the manual was removed meanwhile");
    } else if (job->err.code) {
        err = job->err;
    } else {
        job_report(job, &json);
    }
    request_answer(jobs->options.outbox, waiter->request, err.code,
                   buf_slice(&result), &err);
    buf_free(&result);
}

/* Answers everyone whose wait is over. */
static void settle(struct jobs *jobs)
{
    struct waiter **at = &jobs->waiters;
    while (*at) {
        struct waiter *waiter = *at;
        if (!jobs->stopping && !is_done(jobs, waiter)) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        answer(jobs, waiter);
        free(waiter);
    }
}

void jobs_wait(struct jobs *jobs, struct request *request, uint32_t manual)
{
    struct waiter *waiter = mem_alloc(sizeof *waiter);
    waiter->request = request;
    waiter->manual = manual;
    pthread_mutex_lock(&jobs->lock);
    /* A cancel sets the flag before it asks jobs_withdraw, so it is either
     * seen here or finds the waiter. */
    waiter->ticket = atomic_load(&request->cancelled) ? 0 : jobs->tickets;
    waiter->next = jobs->waiters;
    jobs->waiters = waiter;
    settle(jobs);
    pthread_mutex_unlock(&jobs->lock);
}

bool jobs_withdraw(struct jobs *jobs, struct request *request)
{
    pthread_mutex_lock(&jobs->lock);
    struct waiter **at = &jobs->waiters;
    while (*at && (*at)->request != request)
        at = &(*at)->next;
    struct waiter *waiter = *at;
    if (waiter) {
        *at = waiter->next;
        answer(jobs, waiter);
        free(waiter);
    }
    pthread_mutex_unlock(&jobs->lock);
    return waiter;
}

static void tell(struct jobs *jobs, const struct job *job)
{
    for (struct waiter *w = jobs->waiters; w; w = w->next) {
        if ((w->manual && w->manual != job->manual) || !w->request->rpc.id)
            continue;
        struct buf params = {0};
        struct json json = json_to(&params);
        json_begin(&json, '{');
        json_key(&json, "id");
        rpc_id_value(&json, w->request->rpc.id);
        json_field_text(&json, "manual", job->name);
        json_field_text(&json, "phase", index_phase_name(job->phase));
        json_field_int(&json, "done", (int64_t)job->done);
        json_field_int(&json, "total", (int64_t)job->total);
        json_end(&json, '}');
        request_notify(jobs->options.outbox, w->request, "progress",
                       buf_slice(&params));
        buf_free(&params);
    }
}

static void progress(void *context, int phase, size_t done, size_t total)
{
    struct jobs *jobs = context;
    pthread_mutex_lock(&jobs->lock);
    struct job *job = jobs->current;
    bool first = job->phase != phase;
    job->phase = phase;
    job->done = done;
    job->total = total;
    int64_t now = clock_ms();
    if (first || done == total || now - jobs->told_at >= PROGRESS_MS) {
        jobs->told_at = now;
        tell(jobs, job);
    }
    pthread_mutex_unlock(&jobs->lock);
}

/* ---- The thread ---- */

/* The job to run now, or NULL and when the next retry is due (0: never). */
static struct job *choose(const struct jobs *jobs, int64_t *ret_due)
{
    struct job *best = NULL, *retry = NULL;
    int64_t now = clock_ms();
    *ret_due = 0;
    for (struct job *job = jobs->all; job; job = job->next) {
        if (job->queued && (!best || job->queued < best->queued))
            best = job;
        if (job->retry_at && job->retry_at <= now)
            retry = job;
        else if (job->retry_at && (!*ret_due || job->retry_at < *ret_due))
            *ret_due = job->retry_at;
    }
    return best ? best : retry;
}

static void ended(struct job *job, int code, const struct err *err,
                  const struct index_report *report)
{
    job->running = 0;
    if (!code) {
        log_info("%s: %zu files, %zu failed, %zu parsed, %.1f s", job->name,
                 report->seen, report->failed, report->parsed, report->seconds);
        job->report = *report;
        job->err = (struct err){.position = -1};
        job->retry_delay = 0;
    } else if (code != ERR_CANCELLED) {
        job->err = *err;
        job->retry_delay =
            job->retry_delay ? job->retry_delay * 2 : FIRST_RETRY_MS;
        if (job->retry_delay > LONGEST_RETRY_MS)
            job->retry_delay = LONGEST_RETRY_MS;
        job->retry_at = clock_ms() + job->retry_delay;
        log_warn("%s was not updated: %s; next try in %lld s", job->name,
                 err->message, (long long)job->retry_delay / 1000);
    }
}

int jobs_refresh(struct jobs *jobs, struct err *err)
{
    pthread_mutex_lock(&jobs->refreshing);
    int code = library_refresh(jobs->options.library, err);
    pthread_mutex_unlock(&jobs->refreshing);
    return code;
}

static int update(struct jobs *jobs, uint32_t manual,
                  const struct index_options *options,
                  struct index_report *report, struct err *err)
{
    int code = index_update(jobs->options.store, manual, options, progress,
                            jobs, &jobs->cancel, report, err);
    jobs->refresh = jobs->refresh || (!code && report->changed);
    if (code || !jobs->refresh)
        return code;
    code = jobs_refresh(jobs, err);
    jobs->refresh = code != 0;
    return code;
}

static void run(struct jobs *jobs, struct job *job)
{
    struct index_options options = jobs->options.index;
    struct index_report report = {0};
    struct err err = {.position = -1};
    options.force = job->force;
    job->running = job->queued ? job->queued : ++jobs->tickets;
    job->queued = 0;
    job->force = false;
    job->retry_at = 0;
    job->phase = INDEX_SCAN;
    job->done = job->total = 0;
    jobs->current = job;
    atomic_store(&jobs->cancel, false);
    pthread_mutex_unlock(&jobs->lock);
    int code = update(jobs, job->manual, &options, &report, &err);
    pthread_mutex_lock(&jobs->lock);
    jobs->current = NULL;
    jobs->collect = jobs->collect || code || report.changed;
    jobs->unfinished = code != 0;
    if (code)
        job->force = job->force || options.force;
    ended(job, code, &err, &report);
    pthread_cond_broadcast(&jobs->changed);
    if (!job->forgotten)
        settle(jobs);
}

static void collect(struct jobs *jobs)
{
    struct err err;
    bool trees = !jobs->unfinished;
    jobs->collect = false;
    pthread_mutex_unlock(&jobs->lock);
    if (store_collect(jobs->options.store, trees, &err))
        log_warn("what was deleted stays in the store for now: %s",
                 err.message);
    pthread_mutex_lock(&jobs->lock);
}

static void rest(struct jobs *jobs, int64_t due)
{
    struct timespec until = {due / 1000, due % 1000 * 1000000};
    if (due)
        pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until);
    else
        pthread_cond_wait(&jobs->changed, &jobs->lock);
}

static void *index_thread(void *context)
{
    struct jobs *jobs = context;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->stopping) {
        int64_t due;
        struct job *job = choose(jobs, &due);
        if (job)
            run(jobs, job);
        else if (jobs->collect && library_is_settled(jobs->options.library))
            collect(jobs);
        else
            rest(jobs, jobs->collect ? clock_ms() + SETTLE_MS : due);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

int jobs_start(struct jobs *jobs, struct err *err)
{
    errno = pthread_create(&jobs->thread, NULL, index_thread, jobs);
    if (errno)
        return err_errno(err, ERR_IO, "cannot start the index thread");
    jobs->started = true;
    return 0;
}

/* ---- From other threads ---- */

static void job_free(struct jobs *jobs, struct job *job)
{
    struct job **at = &jobs->all;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    free(job->name);
    free(job);
}

int jobs_forget(struct jobs *jobs, uint32_t manual, struct err *err)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = find(jobs, manual);
    if (job) {
        job->forgotten = true;
        job->queued = 0;
        job->retry_at = 0;
    }
    while (job && job->running && !jobs->stopping) {
        atomic_store(&jobs->cancel, true);
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    }
    int code = 0;
    if (jobs->stopping)
        code = err_set(err, ERR_CANCELLED, "the daemon is stopping");
    else if (job)
        job_free(jobs, job);
    settle(jobs);
    pthread_mutex_unlock(&jobs->lock);
    return code;
}

void jobs_collect(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->collect = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_state(struct jobs *jobs, uint32_t manual, struct job_state *ret)
{
    *ret = (struct job_state){.err.position = -1, .retry_ms = -1};
    pthread_mutex_lock(&jobs->lock);
    const struct job *job = find(jobs, manual);
    if (job) {
        ret->queued = job->queued;
        ret->running = job->running;
        ret->err = job->err;
        ret->counted =
            !job->queued && (!job->running || job->phase != INDEX_SCAN);
        if (job->running && job->phase == INDEX_PARSE)
            ret->pending = job->total - job->done;
        if (job->retry_at)
            ret->retry_ms = job->retry_at - clock_ms();
    }
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_cancel(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    atomic_store(&jobs->cancel, true);
    settle(jobs);
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

bool jobs_stop(struct jobs *jobs, int64_t deadline_ms)
{
    if (jobs->started && !thread_join(jobs->thread, deadline_ms))
        return false;
    while (jobs->all)
        job_free(jobs, jobs->all);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->refreshing);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    return true;
}
