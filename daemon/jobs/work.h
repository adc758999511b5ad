/* The threads that run verbs: some that only read, some for answers, others of
 * both kinds for what may wait for other daemons, one for writes and one that
 * looks after the store, so that neither an answer that is being written nor a
 * writes that waits for the index thread nor a long look at the store keeps
 * others waiting. */
#ifndef DAEMON_JOBS_WORK_H
#define DAEMON_JOBS_WORK_H

#include "daemon/verbs/verbs.h"

struct work;

/* `daemon` must outlive it. */
int work_start(struct daemon *daemon, struct work **ret_work, struct err *err);

/* Hands a request over, not of a VERB_LOOP; it comes back through the
 * response queue. */
void work_submit(struct work *work, struct request *request);

/* A client has read what it left unread: its requests may run. */
void work_wake(struct work *work);

/* Takes back a request that no thread has begun; false: it is not queued. */
bool work_withdraw(struct work *work, struct request *request);

/* Ends the threads; what is queued is answered with `cancelled`.  False when
 * a thread is still busy at `deadline_ms` (clock_ms): then nothing may be
 * freed. */
bool work_stop(struct work *work, int64_t deadline_ms);

#endif
