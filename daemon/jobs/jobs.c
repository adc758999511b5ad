/* One job a manual.  Asking for an update gives a ticket, a number that only
 * rises; a job keeps the oldest ticket of those that its queued and its running
 * update serve.  With a model, an update that went well is followed by the
 * manual's memories, under the same ticket.
 *
 *     idle ──update──► queued ──► running ──► wanted ──► encoding ──► idle
 *                         ▲  update  │           ▲  an update │
 *                         └──────────┘           └────────────┘
 *
 * Queued and running, wanted and encoding may be so at once.  Updates go before
 * memories, and interrupt them: those that are there stay in the store.  Files
 * may change more often than it takes to find out which are missing, or to make
 * those of what changed: memories that were interrupted and have no less to do
 * than the time before are left alone for longer the next time, up to 30 s, and
 * so they go on to be until no update waits when they end.  Either may fail,
 * which leaves retry_at or memory_at set.
 *
 * 1. Everything that is not said to be one thread's is read and written under
 *    `lock`; index_update, memories_update, library_refresh and store_collect run
 *    without it.
 * 2. A running job is freed by nobody but jobs_forget, after its end, or the index
 *    thread, at its end, if its manual is in the store no more.
 * 3. Who waits with ticket T is answered when no job of those meant has a
 *    ticket <= T. */
#include "daemon/jobs/jobs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/thread.h"

enum {
    SETTLE_MS = 100, /* until readers of an older generation are asked after */
    SETTLED_MS = 2100, /* until a file's time stamp tells its changes apart */
    LONGEST_REST_MS = 5000, /* after an update, before the next unasked one */
    MAX_UNCOLLECTED = 8,    /* runs until a collection goes before others */
    MAX_KEPT = 64 << 20,    /* bytes of what was made of vectors */
    NICENESS = 10           /* questions come first */
};

struct jobs *jobs_new(const struct jobs_options *options)
{
    struct jobs *jobs = mem_alloc(sizeof *jobs);
    jobs->options = *options;
    jobs->plan_cache = plan_cache_new(MAX_KEPT);
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_mutex_init(&jobs->refreshing, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&jobs->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    atomic_init(&jobs->cancel, false);
    atomic_init(&jobs->shortage, false);
    atomic_init(&jobs->stop_index, false);
    jobs->collect = true; /* what a crash left behind */
    jobs->look_at = clock_ms();
    return jobs;
}

struct job *jobs_find(const struct jobs *jobs, uint32_t manual)
{
    struct job *job = jobs->all;
    while (job && job->manual != manual)
        job = job->next;
    return job;
}

static void job_free(struct jobs *jobs, struct job *job)
{
    struct job **at = &jobs->all;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    free(job->name);
    free(job);
}

void jobs_enqueue(struct jobs *jobs, struct job *job)
{
    if (!job->queued)
        job->queued = job->marked ? job->marked : ++jobs->tickets;
    if (jobs->current && jobs->current->encoding &&
        (job->asked || jobs_may_interrupt(jobs)))
        atomic_store(&jobs->cancel, true);
    pthread_cond_broadcast(&jobs->changed);
}

static void ask(struct jobs *jobs, uint32_t manual, const char *name,
                bool force, bool retry)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = jobs_find(jobs, manual);
    if (!job) {
        job = mem_alloc(sizeof *job);
        job->manual = manual;
        job->next = jobs->all;
        jobs->all = job;
    }
    free(job->name);
    job->name = mem_strdup(name);
    job->force = job->force || force;
    job->retry = job->retry || retry;
    job->asked = true;
    jobs_enqueue(jobs, job);
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_update(struct jobs *jobs, uint32_t manual, const char *name,
                 bool force)
{
    ask(jobs, manual, name, force, false);
}

void jobs_retry(struct jobs *jobs, uint32_t manual, const char *name)
{
    ask(jobs, manual, name, false, true);
}

/* ---- The thread ---- */

int64_t jobs_back_off(int64_t delay, int code)
{
    int64_t longest =
        code == ERR_STORE ? LONGEST_STORE_RETRY_MS : LONGEST_RETRY_MS;
    delay = delay ? delay * 2 : FIRST_RETRY_MS;
    return delay < longest ? delay : longest;
}

/* Of what is asked for, that of the manual that somebody waits for, else the
 * oldest; else what is to be tried again by now.  *ret_due: the time of the next
 * try, if that is sooner. */
struct choice {
    uint64_t ticket;
    bool awaited;
    struct job *asked, *again;
};

static void consider(struct choice *choice, struct job *job, uint64_t ticket,
                     int64_t retry_at, int64_t now, int64_t *ret_due)
{
    if (ticket &&
        (!choice->asked || job->awaited > choice->awaited ||
         (job->awaited == choice->awaited && ticket < choice->ticket))) {
        choice->asked = job;
        choice->ticket = ticket;
        choice->awaited = job->awaited;
    }
    if (retry_at && retry_at <= now)
        choice->again = job;
    else if (retry_at && (!*ret_due || retry_at < *ret_due))
        *ret_due = retry_at;
}

static struct job *chosen(const struct choice *choice)
{
    return choice->asked ? choice->asked : choice->again;
}

/* The jobs to run now, or NULL, and when the next retry is due (0: never). */
static void choose(const struct jobs *jobs, struct job **ret_update,
                   struct job **ret_memories, int64_t *ret_due)
{
    struct choice update = {0}, memories = {0};
    int64_t now = clock_ms();
    *ret_due = 0;
    for (struct job *job = jobs->all; job; job = job->next) {
        consider(&update, job, job->queued, job->retry_at, now, ret_due);
        consider(&memories, job, job->wanted, job->memory_at, now, ret_due);
    }
    *ret_update = chosen(&update);
    *ret_memories = chosen(&memories);
}

bool jobs_other_is_awaited(const struct jobs *jobs)
{
    struct job *update, *memories;
    int64_t due;
    choose(jobs, &update, &memories, &due);
    return memories && memories->awaited && jobs->current &&
           !jobs->current->awaited;
}

bool jobs_update_is_due(const struct jobs *jobs)
{
    struct job *update, *memories;
    int64_t due;
    choose(jobs, &update, &memories, &due);
    return update;
}

/* The update that begins serves all that was asked for. */
static uint64_t take_ticket(struct jobs *jobs, struct job *job)
{
    uint64_t ticket = job->queued;
    if (job->marked && (!ticket || job->marked < ticket))
        ticket = job->marked;
    job->behind = job->behind || job->marked;
    job->quiet = !job->asked && !job->marked && !job->err.code;
    job->asked = false;
    job->queued = job->marked = 0;
    return ticket ? ticket : ++jobs->tickets;
}

/* A first index may take long; what changes after it does not wait as long. */
static int64_t rest_after(const struct index_report *report)
{
    int64_t ms = (int64_t)(report->seconds * 1000);
    return ms < LONGEST_REST_MS ? ms : LONGEST_REST_MS;
}

static void ended(struct job *job, int code, const struct err *err,
                  const struct index_report *report)
{
    job->running = 0;
    job->partial = code && job->phase != INDEX_SCAN;
    if (!code) {
        log_line(report->changed || report->parsed ? LOG_LEVEL_INFO
                                                   : LOG_LEVEL_DEBUG,
                 "%s: %zu files, %zu failed, %zu parsed, %.1f s", job->name,
                 report->seen, report->failed, report->parsed, report->seconds);
        job->report = *report;
        job->err = (struct err){.position = -1};
        job->retry_delay = 0;
        job->behind = false;
        job->rests_until = clock_ms() + rest_after(report);
        if (report->unsettled)
            job->retry_at = clock_ms() + SETTLED_MS;
    } else if (code != ERR_CANCELLED) {
        job->err = *err;
        job->retry_delay = jobs_back_off(job->retry_delay, code);
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
    if (jobs->options.engine)
        engine_sections_changed(jobs->options.engine);
    if (jobs->options.answer_engine)
        engine_sections_changed(jobs->options.answer_engine);
    pthread_mutex_lock(&jobs->lock);
    jobs->refreshed = jobs->refreshed || !code;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
    return code;
}

static int update_manual(struct jobs *jobs, uint32_t manual,
                         const struct index_options *options,
                         struct index_report *report, struct err *err)
{
    int code = jobs_may_begin(jobs, err);
    if (!code)
        code = store_may_write(jobs->options.store, err);
    if (!code)
        code = index_update(jobs->options.store, manual, options, jobs_progress,
                            jobs, &jobs->cancel, report, err);
    jobs->refresh = jobs->refresh || (!code && report->changed);
    if (code || !jobs->refresh)
        return code;
    code = jobs_refresh(jobs, err);
    jobs->refresh = code != 0;
    return code;
}

void jobs_begin(struct jobs *jobs, struct job *job, int phase)
{
    job->phase = phase;
    job->done = job->total = 0;
    jobs->current = job;
    jobs->uncollected++;
    atomic_store(&jobs->cancel, false);
}

/* Asked for as it was removed? */
static bool is_gone(struct store *store, uint32_t manual)
{
    struct store_txn *txn;
    struct manual record;
    if (store_check(store, false, NULL) || store_read(store, &txn, NULL))
        return false;
    int code = store_get_manual(txn, manual, &record, NULL);
    store_end(txn);
    if (!code)
        manual_free(&record);
    return code == ERR_NOT_FOUND;
}

static void run(struct jobs *jobs, struct job *job)
{
    struct index_options options = jobs->options.index;
    struct index_report report = {0};
    struct err err = {.position = -1};
    options.force = job->force;
    options.retry = job->retry;
    bool settling = !job->queued && !job->marked && !job->err.code;
    uint64_t ticket = take_ticket(jobs, job);
    job->running = ticket;
    job->force = job->retry = false;
    job->retry_at = 0;
    jobs_begin(jobs, job, INDEX_SCAN);
    pthread_mutex_unlock(&jobs->lock);
    int code = update_manual(jobs, job->manual, &options, &report, &err);
    code = jobs_why_ended(jobs, code, &err);
    bool gone =
        code == ERR_NOT_FOUND && is_gone(jobs->options.store, job->manual);
    if (gone)
        code = ERR_CANCELLED; /* there is nothing to try again */
    if (gone)                 /* it may have been scanned as it was removed */
        watch_forget(options.watch, job->manual);
    if (store_saw_damage(jobs->options.store))
        jobs_mend(jobs);
    pthread_mutex_lock(&jobs->lock);
    jobs->current = NULL;
    jobs->collect = jobs->collect || code || report.changed;
    if (code) {
        job->force = job->force || options.force;
        job->retry = job->retry || options.retry;
    }
    ended(job, code, &err, &report);
    bool same = settling && !report.changed;
    if (!code && !same && engine_has_model(jobs->options.engine)) {
        job->wanted = job->wanted ? job->wanted : ticket;
        job->memory_at = 0;
    }
    pthread_cond_broadcast(&jobs->changed);
    if (job->forgotten)
        return;
    if (gone)
        job_free(jobs, job);
    jobs_settle(jobs);
}

static void collect(struct jobs *jobs)
{
    struct err err;
    jobs->collect = false;
    jobs->uncollected = 0;
    pthread_mutex_unlock(&jobs->lock);
    if (store_collect(jobs->options.store, &err))
        log_warn("what was deleted stays in the store for now: %s",
                 err.message);
    pthread_mutex_lock(&jobs->lock);
}

/* Nobody reads what is no longer referred to. */
static bool may_collect(const struct jobs *jobs)
{
    return jobs->collect && !jobs->refresh &&
           library_is_settled(jobs->options.library);
}

static void rest(struct jobs *jobs, int64_t due)
{
    struct timespec until = {due / 1000, due % 1000 * 1000000};
    jobs->resting = true;
    if (due)
        pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until);
    else
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    jobs->resting = false;
}

static void *index_thread(void *context)
{
    struct jobs *jobs = context;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->stopping) {
        struct job *update, *memories;
        int64_t due, look_at = jobs_reload_at(jobs);
        choose(jobs, &update, &memories, &due);
        if (look_at && (!due || look_at < due))
            due = look_at;
        if (jobs->mend_at && (!due || jobs->mend_at < due))
            due = jobs->mend_at;
        bool overdue = jobs->uncollected >= MAX_UNCOLLECTED;
        if (jobs->held)
            rest(jobs, 0);
        else if (jobs->mend_at && jobs->mend_at <= clock_ms())
            jobs_mend_now(jobs);
        else if (overdue && may_collect(jobs))
            collect(jobs);
        else if (update)
            run(jobs, update);
        else if (look_at && look_at <= clock_ms())
            jobs_reload_model(jobs);
        else if (memories)
            jobs_encode(jobs, memories);
        else if (may_collect(jobs))
            collect(jobs);
        else
            rest(jobs, jobs->collect && !jobs->refresh ? clock_ms() + SETTLE_MS
                                                       : due);
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
    return jobs_start_index(jobs, err);
}

/* ---- From other threads ---- */

int jobs_forget(struct jobs *jobs, uint32_t manual, struct err *err)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = jobs_find(jobs, manual);
    if (job) {
        job->forgotten = true;
        job->queued = job->marked = job->wanted = 0;
        job->retry_at = job->memory_at = 0;
    }
    while (job && (job->running || job->encoding) && !jobs->stopping) {
        atomic_store(&jobs->cancel, true);
        pthread_cond_wait(&jobs->changed, &jobs->lock);
    }
    int code = 0;
    if (jobs->stopping)
        code = err_set(err, ERR_CANCELLED, "the daemon is stopping");
    else if (job)
        job_free(jobs, job);
    jobs_settle(jobs);
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
    *ret = (struct job_state){
        .err.position = -1, .memory_err.position = -1, .retry_ms = -1};
    pthread_mutex_lock(&jobs->lock);
    const struct job *job = jobs_find(jobs, manual);
    if (job) {
        ret->queued = job->queued;
        ret->running = job->running && !job->quiet;
        ret->err = job->err;
        ret->counted =
            !job->queued && (!job->running || job->phase != INDEX_SCAN);
        if (job->running && job->phase == INDEX_PARSE)
            ret->pending = job->total - job->done;
        ret->behind = job->marked || job->behind;
        if (job->retry_at && job->err.code)
            ret->retry_ms = job->retry_at - clock_ms();
        ret->encoding = job->wanted || job->encoding;
        ret->memory_err = job->memory_err;
        ret->encoded_so_far = job->encoded;
        if (job->encoding) {
            ret->encoded = job->done;
            ret->to_encode = job->total;
        }
    }
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_cancel(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->stopping = true;
    atomic_store(&jobs->cancel, true);
    atomic_store(&jobs->stop_index, true);
    jobs_settle(jobs);
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

bool jobs_stop(struct jobs *jobs, int64_t deadline_ms)
{
    if (!jobs_stop_index(jobs, deadline_ms) ||
        (jobs->started && !thread_join(jobs->thread, deadline_ms)))
        return false;
    while (jobs->all)
        job_free(jobs, jobs->all);
    plan_cache_free(jobs->plan_cache);
    pthread_cond_destroy(&jobs->changed);
    pthread_mutex_destroy(&jobs->refreshing);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
    return true;
}
