/* The thread that makes the vectors' search index (memory/vectors/dense.h), whenever
 * there is none or the one there is has become too old.  Nobody waits for it. */
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/thread.h"

enum { NICENESS = 10 /* questions come first */ };

static void make(struct jobs *jobs)
{
    struct err err;
    double start = clock_seconds();
    int code = library_index(jobs->options.library, &jobs->stop_index, &err);
    if (!code)
        code = jobs_refresh(jobs, &err);
    if (!code)
        log_info("the index of vectors was made, %.1f s",
                 clock_seconds() - start);
    else if (code != ERR_CANCELLED)
        log_warn("the index of vectors was not made: %s", err.message);
}

/* What jobs_refresh calls at the end of `make` wakes it once more: then the
 * index is new, or, while rows came meanwhile, due again. */
static void *search_index_thread(void *context)
{
    struct jobs *jobs = context;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    pthread_mutex_lock(&jobs->lock);
    while (!jobs->stopping) {
        bool look = jobs->refreshed;
        jobs->refreshed = false;
        if (!look) {
            pthread_cond_wait(&jobs->changed, &jobs->lock);
            continue;
        }
        pthread_mutex_unlock(&jobs->lock);
        if (library_wants_index(jobs->options.library))
            make(jobs);
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

int jobs_start_index(struct jobs *jobs, struct err *err)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->refreshed = true; /* the snapshot that the daemon began with */
    pthread_mutex_unlock(&jobs->lock);
    errno =
        pthread_create(&jobs->index_thread, NULL, search_index_thread, jobs);
    if (errno)
        return err_errno(err, ERR_IO, "cannot start the search index's thread");
    jobs->index_started = true;
    return 0;
}

bool jobs_stop_index(struct jobs *jobs, int64_t deadline_ms)
{
    return !jobs->index_started || thread_join(jobs->index_thread, deadline_ms);
}
