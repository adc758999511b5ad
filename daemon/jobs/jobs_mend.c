/* What is damaged in the store is made anew without being asked: a value was read
 * that is not what was written; all manuals are looked through, what is damaged in
 * them is dropped, and those are indexed from their files.  What that cannot mend
 * (a manual's own record, LMDB's pages) is left to `lectern verify`, which names it. */
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "daemon/jobs/jobs_internal.h"
#include "indexer/parsers.h"
#include "indexer/source.h"
#include "memory/store/verify/store_verify.h"

enum {
    BETWEEN_MS = 60 * 1000,
    AGAIN_MS = 1000, /* after it gave way */
    TRIES = 3        /* of a manual that changes */
};

void jobs_mend(struct jobs *jobs)
{
    if (jobs->options.no_mending)
        return;
    pthread_mutex_lock(&jobs->lock);
    if (!jobs->mend_at)
        jobs->mend_at = jobs->mended_at ? jobs->mended_at + BETWEEN_MS : 1;
    pthread_cond_broadcast(&jobs->changed);
    pthread_mutex_unlock(&jobs->lock);
}

static int mend_manual(struct jobs *jobs, const struct manual *manual,
                       struct err *err)
{
    struct verify_report report = {0};
    struct verify_options options = {.store = jobs->options.store,
                                     .library = jobs->options.library,
                                     .policy = jobs->options.policy,
                                     .is_tree = parsers_is_tree,
                                     .is_packed = source_is_gzipped,
                                     .drop = true,
                                     .cancel = &jobs->cancel};
    int code = verify_manual(&options, manual->id, &report, err);
    if (!code && report.fault_count) {
        log_warn("%s: %zu faults in the store, the first in its table '%s' "
                 "(%s): it is indexed anew",
                 manual->name, report.fault_count, report.faults[0].table,
                 report.faults[0].what);
        jobs_update(jobs, manual->id, manual->name, true);
    }
    verify_report_free(&report);
    return code;
}

/* Looked at anew where it has changed meanwhile, or since the library was read. */
static int mend_still(struct jobs *jobs, const struct manual *manual,
                      struct err *err)
{
    int code = mend_manual(jobs, manual, err);
    for (int tries = 1; tries < TRIES && code == ERR_STALE; tries++) {
        code = jobs_refresh(jobs, err);
        if (!code)
            code = mend_manual(jobs, manual, err);
    }
    return code == ERR_NOT_FOUND ? 0 : code;
}

/* One that cannot be looked at keeps no other from being mended. */
static int mend_all(struct jobs *jobs, struct err *err)
{
    struct manual *manuals;
    size_t count;
    int code = store_read_manuals(jobs->options.store, &manuals, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++) {
        struct err why = {.position = -1};
        int one =
            code == ERR_CANCELLED ? 0 : mend_still(jobs, &manuals[i], &why);
        if (one && (!code || one == ERR_CANCELLED)) {
            *err = why;
            code = one;
        }
        manual_free(&manuals[i]);
    }
    free(manuals);
    return code;
}

/* Until it is tried again; 0: it is not. */
static int64_t pause_ms(int code)
{
    bool gave_way = code == ERR_CANCELLED || code == ERR_BUSY;
    return gave_way ? AGAIN_MS : code == ERR_STALE ? BETWEEN_MS : 0;
}

void jobs_mend_now(struct jobs *jobs)
{
    struct err err;
    atomic_store(&jobs->cancel, false);
    pthread_mutex_unlock(&jobs->lock);
    int code = jobs_may_begin(jobs, &err);
    if (!code)
        code = mend_all(jobs, &err);
    int refreshed = jobs_refresh(jobs, code ? NULL : &err);
    code = code ? code : refreshed;
    int64_t pause = pause_ms(code);
    if (code && pause != AGAIN_MS)
        log_warn("what is damaged in the store could not be mended: %s",
                 err.message);
    store_forget_damage(jobs->options.store);
    pthread_mutex_lock(&jobs->lock);
    jobs->mended_at = clock_ms();
    jobs->mend_at = pause ? jobs->mended_at + pause : 0;
}
