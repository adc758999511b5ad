/* Those who want the index thread to rest. */
#include <time.h>

#include "base/file.h"
#include "daemon/jobs/jobs_internal.h"

enum { HOLD_POLL_MS = 20, SETTLE_MS = 3000 };

int jobs_hold(struct jobs *jobs, const atomic_bool *cancel, struct err *err)
{
    int code = 0;
    pthread_mutex_lock(&jobs->lock);
    jobs->held++;
    pthread_cond_broadcast(&jobs->changed);
    while (!jobs->resting && !code) {
        int64_t at = clock_ms() + HOLD_POLL_MS;
        struct timespec until = {at / 1000, at % 1000 * 1000000};
        if (jobs->current && jobs->current->encoding)
            atomic_store(&jobs->cancel, true);
        pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until);
        if (jobs->stopping || (cancel && atomic_load(cancel)))
            code = err_set(err, ERR_CANCELLED, "cancelled");
    }
    pthread_mutex_unlock(&jobs->lock);
    if (code)
        jobs_go_on(jobs);
    return code;
}

void jobs_go_on(struct jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->held--;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

static bool settles(struct jobs *jobs, const atomic_bool *cancel)
{
    int64_t end = clock_ms() + SETTLE_MS;
    const struct timespec pause = {0, HOLD_POLL_MS * 1000000L};
    while (!library_is_settled(jobs->options.library)) {
        if (clock_ms() > end || atomic_load(cancel))
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

int jobs_collect_held(struct jobs *jobs, const atomic_bool *cancel,
                      struct err *err)
{
    pthread_mutex_lock(&jobs->lock);
    bool due = jobs->refresh;
    pthread_mutex_unlock(&jobs->lock);
    if (due || !settles(jobs, cancel))
        return 0;
    return store_collect(jobs->options.store, err);
}
