/* What the files of the index thread share; jobs.c says who may touch what. */
#ifndef DAEMON_JOBS_JOBS_INTERNAL_H
#define DAEMON_JOBS_JOBS_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/jobs/jobs.h"

/* Beside `enum index_phase`. */
enum { PHASE_MEMORIES = INDEX_STORE + 1 };

enum {
    FIRST_RETRY_MS = 30 * 1000,
    LONGEST_RETRY_MS = 3600 * 1000,
    LONGEST_STORE_RETRY_MS = 60 * 1000 /* space may be made at any time */
};

struct job {
    struct job *next;
    uint32_t manual;
    char *name;
    uint64_t queued, running;  /* tickets of updates; 0: it is not */
    uint64_t wanted, encoding; /* the same of memories */
    uint64_t marked;           /* the same of changes that are not queued */
    bool behind;               /* what runs, or failed, is for such changes */
    bool force, retry;         /* the queued one */
    bool asked;                /* for the queued one, by someone */
    bool awaited;              /* someone waits for this manual, not for all */
    bool quiet;                /* what runs: nobody, and no change is known */
    bool forgotten;            /* its end is awaited */
    int phase;                 /* of what runs */
    size_t done, total;
    bool partial;                    /* an update failed after its scan */
    struct index_report report;      /* of the last that ended well */
    struct err err;                  /* of the last; code 0: it ended well */
    int64_t retry_delay, retry_at;   /* ms; 0: no retry is due */
    int64_t rests_until;             /* ms; before it changes start no update */
    struct memories_report memories; /* the same of memories */
    size_t interrupted; /* segments encoded by runs that were, since then */
    double interrupted_seconds; /* that these runs took */
    size_t left; /* segments that such a run had still to encode; 0: none */
    struct err memory_err;
    uint64_t encoded; /* segments in all, also of those that were interrupted */
    int64_t memory_delay, memory_at;
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
    unsigned uncollected;       /* runs since the last collection */
    bool resting;               /* the thread waits for something to do */
    unsigned held;              /* by those who want it to */
    bool refresh;               /* the thread's: jobs_refresh is due */
    pthread_mutex_t refreshing; /* else an older snapshot could come last */
    pthread_t index_thread;     /* jobs_ivf.c */
    bool index_started;
    bool refreshed;         /* since that thread has looked */
    atomic_bool stop_index; /* ends what it makes */
    int64_t look_at;        /* the thread's: when to look at the model */
    uint64_t exchanges;     /* the thread's: of models, that it knows of */
    bool model_changes;     /* look at it, even if there is none by now */
    struct plan_cache *plan_cache; /* the thread's: of vectors that were made */
    int64_t told_at;               /* ms: the last notification of progress */
    atomic_bool cancel;            /* stops index_update */
    int64_t mend_at, mended_at;    /* ms: what is damaged; 0: never */
    atomic_bool shortage;          /* of memory, for which that was set */
    int64_t encoding_since;        /* clock_ms: of memories that are made */
    int64_t patience; /* ms, for which updates that nobody asked for leave them
                         be */
};

/* All of these with the lock. */
struct job *jobs_find(const struct jobs *jobs, uint32_t manual);
/* Queues its update, also between memories. */
void jobs_enqueue(struct jobs *jobs, struct job *job);
/* The job is what runs now, and nobody has asked it to stop. */
void jobs_begin(struct jobs *jobs, struct job *job, int phase);
/* Doubles a delay, within bounds, after a failure with the code. */
int64_t jobs_back_off(int64_t delay, int code);

/* jobs_wait.c: answers everyone whose wait is over; notes how far the running
 * job is, and tells them from time to time (without the lock). */
void jobs_settle(struct jobs *jobs);
void jobs_progress(void *context, int phase, size_t done, size_t total);

/* jobs_mend.c: makes anew what is damaged; gives the lock back meanwhile. */
void jobs_mend_now(struct jobs *jobs);

/* jobs_shortage.c: ERR_BUSY while there is too little memory to begin; and the
 * code and message of a job that was cancelled for that. */
int jobs_may_begin(struct jobs *jobs, struct err *err);
int jobs_why_ended(struct jobs *jobs, int code, struct err *err);

/* jobs_memories.c: computes the memories of the job's manual; gives the lock
 * back meanwhile. */
void jobs_encode(struct jobs *jobs, struct job *job);
/* From time to time: has the model changed?  Then all memories are made again.
 * Gives the lock back meanwhile.  When to do so; 0: never. */
void jobs_reload_model(struct jobs *jobs);
int64_t jobs_reload_at(const struct jobs *jobs);
/* jobs_ivf.c: the thread of the search index of vectors.  False: still busy
 * at the deadline. */
int jobs_start_index(struct jobs *jobs, struct err *err);
bool jobs_stop_index(struct jobs *jobs, int64_t deadline_ms);
/* An update waits: memories make room for it. */
bool jobs_update_is_due(const struct jobs *jobs);
/* Somebody waits for the memories of another manual than those that are made, which
 * nobody waits for: these make room for them. */
bool jobs_other_is_awaited(const struct jobs *jobs);
/* They have gone on for long enough to be interrupted. */
bool jobs_may_interrupt(const struct jobs *jobs);

#endif
