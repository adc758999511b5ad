/* The loop thread's part in watching: bursts of events become one update of
 * each manual, and manuals are rescanned from time to time. */
#ifndef DAEMON_NET_WATCHING_H
#define DAEMON_NET_WATCHING_H

#include <uv.h>

#include "daemon/daemon.h"

struct watching;

int watching_start(struct daemon *daemon, uv_loop_t *loop,
                   struct watching **ret_watching, struct err *err);

/* Takes what has happened so far, so that what is asked next knows of it. */
void watching_read(struct watching *watching);

/* NULL is allowed, for both. */
void watching_stop(struct watching *watching);
/* Once the loop has ended. */
void watching_free(struct watching *watching);

#endif
