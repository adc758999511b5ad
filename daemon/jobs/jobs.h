/* The index thread updates manuals, one after the other, and answers the requests that
 * wait for it.
 *
 * An update that fails leaves the generation before in place and is tried again after
 * 30 s, then after twice as long, up to 1 h; up to 1 min if the store could not be
 * written, as on a full disk.  With a model, memories are made after the update; until
 * then, and while they fail, the manual is searched by words.  When the model has been
 * replaced all memories are made again. */
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
    struct engine *engine;        /* of memories */
    struct engine *answer_engine; /* looked after as well; NULL: none */
    struct engine *rank_engine;   /* likewise */
    struct index_options index;
    struct memory_policy policy;
    bool no_mending; /* jobs_mend does nothing */
};

/* Makes the queue, with no thread yet.  Never NULL; end it with jobs_stop. */
struct jobs *jobs_new(const struct jobs_options *options);

/* For spare_on_shortage: what runs gives way, fails for want of memory, and is tried
 * again.  `context`: the jobs. */
void jobs_on_shortage(void *context);

/* Starts the thread; requests made before only queue. */
int jobs_start(struct jobs *jobs, struct err *err);

/* Queues an update of the manual; updates that have not begun are merged.  `force`:
 * unchanged files are parsed again. */
void jobs_update(struct jobs *jobs, uint32_t manual, const char *name,
                 bool force);

/* Queues an update that parses failed files again. */
void jobs_retry(struct jobs *jobs, uint32_t manual, const char *name);

/* A damaged value was read (store_saw_damage): what is damaged is looked for, dropped
 * and made anew, soon, and at most once a minute. */
void jobs_mend(struct jobs *jobs);

/* Marks the manual as behind: its files may have changed.  It stays so until an update
 * that begins later has ended.  jobs_update_marked queues that update, once the files
 * rest.  Such updates take at most half of the time, and none is delayed by more than
 * 5 s; a manual that fails waits for its next try, unless its folder could not be
 * scanned. */
void jobs_mark(struct jobs *jobs, uint32_t manual);
void jobs_update_marked(struct jobs *jobs, uint32_t manual);

/* Queues a rescan of the manual, or (0) of all that do not fail.  A rescan of all finds
 * what watching has missed; it does not make a manual count as stale. */
void jobs_look(struct jobs *jobs, uint32_t manual);

/* Tells whether the manual is current as far as is known: no file is marked as changed
 * or being parsed, and its last update did not fail. */
bool jobs_is_current(struct jobs *jobs, uint32_t manual);

/* Takes over the request, sends it progress, and answers it when all that was queued
 * so far has ended, memories included: of the manual, or (0) of all.  Result:
 * job_report, or for all {"manuals":[job_report...]}. */
void jobs_wait(struct jobs *jobs, struct request *request, uint32_t manual);

/* Answers a waiting request with `cancelled`; returns false if it does not wait. */
bool jobs_withdraw(struct jobs *jobs, struct request *request);

/* Cancels the manual's update, waits for its end and forgets it, so that the manual can
 * be deleted.  ERR_CANCELLED if the daemon stops meanwhile. */
int jobs_forget(struct jobs *jobs, uint32_t manual, struct err *err);

/* Calls library_refresh, one caller at a time; any thread. */
int jobs_refresh(struct jobs *jobs, struct err *err);

/* Pauses the index thread, which then does not write, until jobs_go_on: waits for the
 * update that runs; memories are interrupted and go on later.  ERR_CANCELLED if the
 * daemon stops or `cancel` is set. */
int jobs_hold(struct jobs *jobs, const atomic_bool *cancel, struct err *err);
void jobs_go_on(struct jobs *jobs);
/* Collects, while paused, what nothing refers to, if the readers of older generations
 * end soon; else leaves it for later. */
int jobs_collect_held(struct jobs *jobs, const atomic_bool *cancel,
                      struct err *err);

/* Abandons the memories being made and queues all again: another model is about to
 * replace the one in use (engine_use). */
void jobs_model_changes(struct jobs *jobs);

/* Queues the collection of deleted records, for when there is nothing else to do. */
void jobs_collect(struct jobs *jobs);

/* State of a manual's update. */
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

/* Cancels what runs and answers the requests that wait.  Does not wait itself. */
void jobs_cancel(struct jobs *jobs);

/* Joins the thread, after jobs_cancel, and frees all.  Returns false, and frees
 * nothing, if it is still busy at `deadline_ms`. */
bool jobs_stop(struct jobs *jobs, int64_t deadline_ms);

#endif
