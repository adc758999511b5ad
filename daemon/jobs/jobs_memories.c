/* The memories of manuals, after their updates. */
#include "base/file.h"
#include "base/log.h"
#include "daemon/jobs/jobs_internal.h"

enum {
    MODEL_LOOK_MS = 5000,    /* until a model may have changed */
    SETTLE_MODEL_MS = 10000, /* most time for another model to come */
    FIRST_PATIENCE_MS = 1000,
    MAX_PATIENCE_MS = 30 * 1000
};

static const struct view *view_of(const struct snapshot *snapshot,
                                  uint32_t manual)
{
    for (size_t i = 0; i < snapshot->count; i++)
        if (snapshot->views[i]->manual.id == manual)
            return snapshot->views[i];
    return NULL;
}

/* Makes room for an update that waits, for a manual that somebody waits for, and for
 * another model, which an answer may have kept away for longer than
 * SETTLE_MODEL_MS. */
static void on_progress(void *context, size_t done, size_t total)
{
    struct jobs *jobs = context;
    jobs_progress(jobs, PHASE_MEMORIES, done, total);
    bool awaited = engine_is_awaited(jobs->options.engine);
    pthread_mutex_lock(&jobs->lock);
    if (awaited || jobs_other_is_awaited(jobs) ||
        (jobs_update_is_due(jobs) && jobs_may_interrupt(jobs)))
        atomic_store(&jobs->cancel, true);
    pthread_mutex_unlock(&jobs->lock);
}

static int encode(struct jobs *jobs, uint32_t manual,
                  struct memories_report *report, size_t *ret_encoded,
                  struct err *err)
{
    struct engine_embedder e;
    struct embedder_facts facts;
    *ret_encoded = 0;
    engine_swap_pending(jobs->options.engine, SETTLE_MODEL_MS);
    if (!engine_has_model(jobs->options.engine))
        return 0;
    engine_ref(jobs->options.engine);
    engine_embedder(jobs->options.engine, true, &jobs->cancel, &e);
    int code = jobs_may_begin(jobs, err);
    if (!code)
        code = e.embedder.facts(&e, &facts, err);
    struct snapshot *snapshot = library_snapshot(jobs->options.library);
    const struct view *view = view_of(snapshot, manual);
    if (!code && view)
        code = memories_update(snapshot, view, &e.embedder,
                               &jobs->options.policy, jobs->plan_cache,
                               on_progress, jobs, &jobs->cancel, report, err);
    snapshot_unref(snapshot);
    engine_unref(jobs->options.engine);
    *ret_encoded = e.encoded;
    jobs->refresh = jobs->refresh || (!code && report->changed);
    if (code || !jobs->refresh)
        return code;
    code = jobs_refresh(jobs, err);
    jobs->refresh = code != 0;
    return code;
}

static void fail(struct jobs *jobs, struct job *job, const struct err *err)
{
    bool no_model =
        err->code == ERR_MODEL && !engine_context(jobs->options.engine);
    if (strcmp(err->message, job->memory_err.message) != 0)
        log_warn("%s: its memories are not up to date: %s", job->name,
                 err->message);
    job->memory_err = *err;
    job->memory_delay =
        no_model ? MODEL_LOOK_MS : jobs_back_off(job->memory_delay, err->code);
    job->memory_at = clock_ms() + job->memory_delay;
}

/* Interrupted: its turn comes again.  When nobody asked for that, the manual
 * is not what it was, and is looked at first. */
static void interrupt(struct jobs *jobs, struct job *job, uint64_t ticket)
{
    if (job->forgotten)
        return;
    job->wanted = ticket;
    if (!atomic_load(&jobs->cancel) && !job->queued)
        job->queued = ticket;
}

static void ended(struct jobs *jobs, struct job *job, int code,
                  const struct err *err, const struct memories_report *report)
{
    uint64_t ticket = job->encoding;
    job->encoding = 0;
    if (code == ERR_CANCELLED) {
        interrupt(jobs, job, ticket);
    } else if (code) {
        fail(jobs, job, err);
    } else {
        if (report->encoded)
            log_info("%s: %zu of %zu segments encoded, %.1f s", job->name,
                     report->encoded, report->segments, report->seconds);
        job->memories = *report;
        job->memories.encoded += job->interrupted;
        job->memories.seconds += job->interrupted_seconds;
        job->interrupted = 0;
        job->interrupted_seconds = 0;
        job->memory_err = (struct err){.position = -1};
        job->memory_delay = 0;
    }
}

bool jobs_may_interrupt(const struct jobs *jobs)
{
    return clock_ms() - jobs->encoding_since >= jobs->patience;
}

/* Is there less to do than when the run before was interrupted, by a half of
 * what was done since?  A file that changes all the time makes up for it. */
static bool came_nearer(const struct job *job, size_t encoded, size_t left)
{
    return encoded && job->total &&
           (!job->left || left + encoded / 2 < job->left);
}

static void set_patience(struct jobs *jobs, struct job *job, int code,
                         size_t encoded)
{
    size_t left = job->total - job->done;
    if (code != ERR_CANCELLED)
        jobs->patience = jobs_update_is_due(jobs) ? jobs->patience : 0;
    else if (!came_nearer(job, encoded, left))
        jobs->patience =
            jobs->patience ? jobs->patience * 2 : FIRST_PATIENCE_MS;
    if (jobs->patience > MAX_PATIENCE_MS)
        jobs->patience = MAX_PATIENCE_MS;
    if (code != ERR_CANCELLED)
        job->left = 0;
    else if (job->total)
        job->left = left;
}

void jobs_encode(struct jobs *jobs, struct job *job)
{
    struct memories_report report = {0};
    struct err err = {.position = -1};
    size_t encoded;
    job->encoding = job->wanted ? job->wanted : ++jobs->tickets;
    job->wanted = 0;
    job->memory_at = 0;
    jobs_begin(jobs, job, PHASE_MEMORIES);
    jobs->encoding_since = clock_ms();
    pthread_mutex_unlock(&jobs->lock);
    int code = encode(jobs, job->manual, &report, &encoded, &err);
    code = jobs_why_ended(jobs, code, &err);
    pthread_mutex_lock(&jobs->lock);
    job->encoded += encoded;
    if (code == ERR_CANCELLED && encoded) {
        job->interrupted += encoded;
        job->interrupted_seconds +=
            (double)(clock_ms() - jobs->encoding_since) / 1000;
    }
    jobs->current = NULL;
    jobs->collect = jobs->collect || report.changed;
    set_patience(jobs, job, code, encoded);
    ended(jobs, job, code, &err, &report);
    pthread_cond_broadcast(&jobs->changed);
    if (!job->forgotten)
        jobs_settle(jobs);
}

static void want_all(struct jobs *jobs)
{
    for (struct job *job = jobs->all; job; job = job->next) {
        if (job->forgotten)
            continue;
        job->wanted = job->wanted ? job->wanted : ++jobs->tickets;
        job->memory_at = 0;
    }
}

void jobs_model_changes(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    if (jobs->current && jobs->current->encoding)
        atomic_store(&jobs->cancel, true);
    want_all(jobs); /* at once, for those who wait */
    jobs->look_at = clock_ms();
    jobs->model_changes = true;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

int64_t jobs_reload_at(const struct jobs *jobs)
{
    struct engine *answers = jobs->options.answer_engine;
    struct engine *ranks = jobs->options.rank_engine;
    bool looks = jobs->model_changes ||
                 engine_has_model(jobs->options.engine) ||
                 (answers && engine_has_model(answers)) ||
                 (ranks && engine_has_model(ranks));
    return looks ? jobs->look_at : 0;
}

void jobs_reload_model(struct jobs *jobs)
{
    jobs->model_changes = false;
    pthread_mutex_unlock(&jobs->lock);
    engine_swap_pending(jobs->options.engine, SETTLE_MODEL_MS);
    uint64_t exchanges = engine_reload(jobs->options.engine);
    if (jobs->options.answer_engine)
        engine_reload(jobs->options.answer_engine);
    if (jobs->options.rank_engine)
        engine_reload(jobs->options.rank_engine);
    pthread_mutex_lock(&jobs->lock);
    if (exchanges != jobs->exchanges)
        want_all(jobs);
    jobs->exchanges = exchanges;
    jobs->look_at = clock_ms() + MODEL_LOOK_MS;
}
