/* The index thread: brings manuals up to date, one after the other, and tells
 * those who wait for it.
 *
 * A manual's update that fails keeps the generation before and is tried again
 * after 30 s, then twice as long, at most 1 h; 1 min when the store could not be
 * written, as on a full disk.  With a
 * model its memories follow; while they cannot be made the manual is searched
 * by words, and they are tried again likewise, or once the model's folder has
 * changed.  Another model that is put into that folder is used, and all memories
 * made again, once what is being made is done. */
#ifndef DAEMON_JOBS_JOBS_H
#define DAEMON_JOBS_JOBS_H

#include "base/json.h"
#include "daemon/engine/engine.h"
#include "daemon/jobs/request.h"
#include "indexer/index.h"
#include "memory/embeddings/memories.h"

struct jobs;

struct jobs_options {
    struct store *store;
    struct library *library;
    struct response_queue *response_queue;
    struct engine *engine;
    struct index_options index;
    struct memory_policy policy;
};

struct jobs *jobs_new(const struct jobs_options *options);

/* Starts the thread; before it, requests only queue. */
int jobs_start(struct jobs *jobs, struct err *err);

/* Asks for the manual's update.  Several that have not begun are one. */
void jobs_update(struct jobs *jobs, uint32_t manual, const char *name,
                 bool force);

/* Asks for it with files that have failed parsed again. */
void jobs_retry(struct jobs *jobs, uint32_t manual, const char *name);

/* Files of the manual may have changed: it is behind until an update that
 * begins after this has ended.  That is asked for by jobs_update_marked, once
 * its files rest.  Such updates take at most half of the time, but none is put
 * off by more than 5 s; of manuals that fail, those whose folder could not be
 * scanned are tried again soon, the others when their next try is due. */
void jobs_mark(struct jobs *jobs, uint32_t manual);
void jobs_update_marked(struct jobs *jobs, uint32_t manual);

/* Asks for an update of the manual, or (0) of all, but for those that fail.  All
 * of them: changes that matter are known without it, so what it finds to read
 * does not make the manuals stale. */
void jobs_look(struct jobs *jobs, uint32_t manual);

/* False: the manual is known to be behind its files: they changed, are being
 * parsed, or its last update failed. */
bool jobs_is_current(struct jobs *jobs, uint32_t manual);

/* Takes the request over: it is answered when all that was asked for so far
 * has ended, memories included, for the manual or (0) for all of them, and meanwhile told of the
 * progress.  Result: job_report, or for all {"manuals":[job_report...]}. */
void jobs_wait(struct jobs *jobs, struct request *request, uint32_t manual);

/* Answers a request that waits (with `cancelled`); false: it does not. */
bool jobs_withdraw(struct jobs *jobs, struct request *request);

/* Stops the manual's update, waits for its end and forgets it, so that the
 * manual may be deleted.  ERR_CANCELLED when the daemon stops meanwhile. */
int jobs_forget(struct jobs *jobs, uint32_t manual, struct err *err);

/* library_refresh, one at a time.  Any thread. */
int jobs_refresh(struct jobs *jobs, struct err *err);

/* Waits for the end of what runs (memories are interrupted, and go on later),
 * and lets nothing begin until jobs_go_on: meanwhile the index thread does not
 * write.  ERR_CANCELLED when the daemon stops or `cancel` is set. */
int jobs_hold(struct jobs *jobs, const atomic_bool *cancel, struct err *err);
void jobs_go_on(struct jobs *jobs);
/* For one who holds: collects now what nothing refers to, if those who read an
 * older generation end soon; else it is left for later. */
int jobs_collect_held(struct jobs *jobs, const atomic_bool *cancel,
                      struct err *err);

/* Another model is to take the place of the one in use (engine_use): memories
 * that are being made with that are left, and all are made again. */
void jobs_model_changes(struct jobs *jobs);

/* What was deleted may be collected, when nothing else is to be done. */
void jobs_collect(struct jobs *jobs);

/* A manual's update as it stands. */
struct job_state {
    bool queued, running;
    bool behind;               /* files changed, and are not indexed yet */
    size_t pending;            /* files still to parse */
    bool counted;              /* pending is known */
    struct err err;            /* of the last update; code 0: none */
    int64_t retry_ms;          /* until it is tried again; -1: not planned */
    bool encoding;             /* memories are computed, or will be */
    size_t encoded, to_encode; /* segments, once that is under way */
    uint64_t encoded_so_far;   /* since the daemon started */
    struct err memory_err;     /* of the last time */
};
void jobs_state(struct jobs *jobs, uint32_t manual, struct job_state *ret);

/* Cancels what runs and answers those who wait; returns at once. */
void jobs_cancel(struct jobs *jobs);

/* After jobs_cancel: joins the thread and frees all.  False when it is still
 * busy at `deadline_ms`: then nothing may be freed. */
bool jobs_stop(struct jobs *jobs, int64_t deadline_ms);

#endif
