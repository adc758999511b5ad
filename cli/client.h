/* The daemon seen from the command line: a blocking connection that takes one
 * request at a time. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"

struct client;

/* Called for each notification that comes before the reply. */
typedef void client_notify(void *user, struct slice method,
                           struct slice params);

/* A connected socket.  ERR_UNREACHABLE when nobody answers there, and when
 * the one who does is another user. */
int client_connect(const char *path, int *ret_fd, struct err *err);

/* Right after client_connect returned `code`: whether nobody is there at all,
 * so that a daemon can be started. */
bool client_nobody(int code);

/* Connects as client_connect, and starts the daemon first when none answers. */
int client_reach(const struct config *config, const char *config_flag,
                 int *ret_fd, struct err *err);

/* Connects, and starts the daemon first when none answers and `start` is
 * true. */
int client_open(const struct config *config, const char *config_flag,
                bool start, struct client **ret_client, struct err *err);
void client_close(struct client *client);

/* Whether the daemon was started by this client_open and still is that one:
 * another client's may have been faster. */
bool client_launched(const struct client *client);

/* Sends a request and waits for its result, which is copied into `ret_result`
 * (empty) as it came.  An interrupt (SIGINT) cancels the request:
 * ERR_CANCELLED. */
int client_call(struct client *client, const char *method, struct slice params,
                client_notify *notify, void *user, struct buf *ret_result,
                struct err *err);

/* Refuses a daemon that has another store than `config` names, by its `status` with
 * "config"; one that does not say is taken.  ERR_USAGE. */
int client_check_store(const struct config *config, const cJSON *status,
                       struct err *err);

/* The value of a member of a JSON object, unparsed: replies can be many
 * megabytes that only pass through. */
bool client_member(struct slice object, const char *key,
                   struct slice *ret_value);

/* launch.c: starts lecternd and connects to it.  `config_flag`: the --config
 * it is given, NULL for none.  *ret_own: it is not one that another process
 * started in the meantime. */
int launch_daemon(const struct config *config, const char *config_flag,
                  int *ret_fd, bool *ret_own, struct err *err);

/* The daemon's words by the configuration: lecternd and what it is told.
 * [LAUNCH_WORDS], the last ones NULL; they point into the arguments. */
enum { LAUNCH_WORDS = 12 };
void launch_words(const struct config *config, const char *config_flag,
                  char **ret_words);

/* Appends the path of one of our programs: beside the running one, else in
 * $PATH.  False when there is none. */
bool launch_find(const char *program, struct buf *out);

/* This process becomes that program, found as launch_find does; returns only with
 * ERR_UNREACHABLE. */
int launch_become(const char *program, char *const *argv, struct err *err);

#endif
