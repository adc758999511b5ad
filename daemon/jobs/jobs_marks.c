/* Manuals whose files have changed, before an update is asked for. */
#include "base/file.h"
#include "daemon/jobs/jobs_internal.h"

enum { SOON_MS = 2000 }; /* for what failed, when its files have changed */

void jobs_mark(struct jobs *jobs, uint32_t manual)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = jobs_find(jobs, manual);
    if (job && !job->marked && !job->forgotten)
        job->marked = ++jobs->tickets;
    pthread_mutex_unlock(&jobs->lock);
}

static void retry_by(struct jobs *jobs, struct job *job, int64_t at)
{
    if (job->retry_at && job->retry_at <= at)
        return;
    job->retry_at = at;
    pthread_cond_broadcast(&jobs->changed);
}

void jobs_update_marked(struct jobs *jobs, uint32_t manual)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = jobs_find(jobs, manual);
    int64_t now = clock_ms();
    bool marked = job && job->marked;
    if (marked && !job->err.code && now < job->rests_until)
        retry_by(jobs, job, job->rests_until);
    else if (marked && !job->err.code)
        jobs_enqueue(jobs, job);
    else if (marked && !job->partial)
        retry_by(jobs, job, now + SOON_MS);
    pthread_mutex_unlock(&jobs->lock);
}

void jobs_look(struct jobs *jobs, uint32_t manual)
{
    pthread_mutex_lock(&jobs->lock);
    for (struct job *job = jobs->all; job; job = job->next)
        if ((!manual || job->manual == manual) && !job->err.code &&
            !job->forgotten) {
            job->asked = job->asked || manual;
            jobs_enqueue(jobs, job);
        }
    pthread_mutex_unlock(&jobs->lock);
}

bool jobs_is_current(struct jobs *jobs, uint32_t manual)
{
    pthread_mutex_lock(&jobs->lock);
    const struct job *job = jobs_find(jobs, manual);
    bool parsing = job && job->running && !job->quiet &&
                   job->phase == INDEX_PARSE && job->total > job->done;
    bool current =
        !job || (!job->err.code && !job->marked && !job->behind && !parsing);
    pthread_mutex_unlock(&jobs->lock);
    return current;
}
