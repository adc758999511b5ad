/* The loop thread: clients, their requests and the answers.  It never
 * computes and never waits on the disk.  With watching.c, the only user of libuv. */
#ifndef DAEMON_NET_SERVER_H
#define DAEMON_NET_SERVER_H

#include "daemon/daemon.h"
#include "daemon/jobs/work.h"

struct server;

/* Takes the listening descriptor over. */
int server_new(int fd, struct server **ret_server, struct err *err);

/* Serves until SIGTERM, SIGINT, SIGHUP or the verb `stop`; then cancels what
 * runs, sends what was answered, and returns after at most about a second. */
int server_run(struct server *server, struct daemon *daemon, struct work *work,
               struct err *err);

/* The response queue's `wake`, from any thread, with the server as context. */
void server_wake(void *server);

/* No thread may wake it any more.  NULL is allowed. */
void server_free(struct server *server);

#endif
