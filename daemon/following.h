/* Following manuals: the parser, the watch and the jobs, as the configuration says. */
#ifndef DAEMON_FOLLOWING_H
#define DAEMON_FOLLOWING_H

#include "base/config.h"
#include "daemon/daemon.h"

/* Makes them, for a daemon with its store, library and engines, and queues an update of
 * every manual; jobs_start is the caller's.  `wake`: of the queue of responses
 * (request.h).  `config` is not copied.  ERR_STORE: following_free is still to be called. */
int following_new(struct daemon *daemon, const struct config *config,
                  void (*wake)(void *context), void *context, struct err *err);
/* Frees all but the jobs, which jobs_stop has. */
void following_free(struct daemon *daemon);

#endif
