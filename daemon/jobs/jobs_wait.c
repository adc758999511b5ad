/* Those who wait for the index thread: what they are told, and when. */
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/jobs/jobs_internal.h"

enum { PROGRESS_MS = 100 };

static bool outstanding(const struct job *job, uint64_t ticket)
{
    /* What fails is not waited for. */
    uint64_t marked = job->err.code && job->partial ? 0 : job->marked;
    const uint64_t tickets[] = {marked, job->queued, job->running, job->wanted,
                                job->encoding};
    for (size_t i = 0; i < sizeof tickets / sizeof tickets[0]; i++)
        if (tickets[i] && tickets[i] <= ticket)
            return true;
    return false;
}

static bool is_done(const struct jobs *jobs, const struct waiter *waiter)
{
    for (const struct job *job = jobs->all; job; job = job->next)
        if ((!waiter->manual || waiter->manual == job->manual) &&
            outstanding(job, waiter->ticket))
            return false;
    return true;
}

static void put_memories(const struct job *job, struct json *json)
{
    const struct memories_report *memories = &job->memories;
    json_field_int(json, "encoded", (int64_t)memories->encoded);
    if (!job->memory_err.code)
        return;
    json_key(json, "memories");
    json_begin(json, '{');
    json_key(json, "error");
    rpc_error_data(json, &job->memory_err);
    json_end(json, '}');
}

static void job_report(const struct job *job, struct json *json)
{
    const struct index_report *report = &job->report;
    const struct memories_report *memories = &job->memories;
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
    json_field_int(json, "segments", (int64_t)memories->segments);
    json_field_int(
        json, "tokens",
        (int64_t)(memories->tokens ? memories->tokens : report->tokens));
    put_memories(job, json);
    json_field_bool(json, "changed", report->changed || memories->changed);
    json_field_double(json, "seconds", report->seconds + memories->seconds, 3);
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
    const struct job *job = jobs_find(jobs, waiter->manual);
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
    request_answer(jobs->options.response_queue, waiter->request, err.code,
                   buf_slice(&result), &err);
    buf_free(&result);
}

static void mark_awaited(const struct jobs *jobs)
{
    for (struct job *job = jobs->all; job; job = job->next)
        job->awaited = false;
    for (const struct waiter *w = jobs->waiters; w; w = w->next) {
        struct job *job = jobs_find(jobs, w->manual);
        if (job)
            job->awaited = true;
    }
}

/* Answers everyone whose wait is over. */
void jobs_settle(struct jobs *jobs)
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
    mark_awaited(jobs);
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
    jobs_settle(jobs);
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
        mark_awaited(jobs);
    }
    pthread_mutex_unlock(&jobs->lock);
    return waiter;
}

static const char *phase_name(int phase)
{
    return phase == PHASE_MEMORIES ? "memories" : index_phase_name(phase);
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
        json_field_text(&json, "phase", phase_name(job->phase));
        json_field_int(&json, "done", (int64_t)job->done);
        json_field_int(&json, "total", (int64_t)job->total);
        json_end(&json, '}');
        request_notify(jobs->options.response_queue, w->request, "progress",
                       buf_slice(&params));
        buf_free(&params);
    }
}

void jobs_progress(void *context, int phase, size_t done, size_t total)
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
