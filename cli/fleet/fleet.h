/* lectern-fleet: what its files share.
 *
 * Indexers take leases of the registry (registry.h), have the daemon of this machine
 * index and pack, and put the pack into a place that all reach (place.h).  Readers
 * take packs from there and give them to the daemon.  Neither the daemon nor `lectern`
 * has a connection to the database. */
#ifndef CLI_FLEET_FLEET_H
#define CLI_FLEET_FLEET_H

#include <stdbool.h>

#include "base/config.h"
#include "cli/connection.h"
#include "cli/fleet/registry.h"

struct fleet {
    struct config config;
    const char *config_flag; /* NULL: none */
    bool json, quiet, once;
    struct registry *registry;
    struct connection daemon;
    char name[128];    /* of this machine and process */
    struct buf folder; /* of ours, beside the store; "": not made yet */
};

/* Makes that folder, and locks it as `purpose`, so that one process does that for a store
 * at a time.  ERR_LIMIT: another does. */
int fleet_open_folder(struct fleet *fleet, const char *purpose,
                      struct err *err);

/* On standard error, with --quiet not. */
void fleet_say(const struct fleet *fleet, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* daemon_call.c: asks the daemon of this machine, which is started where need be, and
 * meanwhile calls `each` (NULL: nothing) about every `ms`; what that returns, if not
 * 0, cancels the request and is the error.  Free *ret_result with cJSON_Delete. */
typedef int fleet_each(void *user, struct err *err);
int fleet_call(struct fleet *fleet, const char *method, struct slice params,
               fleet_each *each, void *user, int64_t ms, cJSON **ret_result,
               struct err *err);

/* Refuses a daemon that runs already and has another store than ours, as far as it says so
 * within two seconds; none is started.  ERR_USAGE. */
int fleet_check_store(struct fleet *fleet, struct err *err);

/* As fleet_call, with one parameter, a text. */
int fleet_call_with(struct fleet *fleet, const char *method, const char *key,
                    const char *text, fleet_each *each, void *user, int64_t ms,
                    cJSON **ret_result, struct err *err);

/* Ends when a signal asked for it. */
bool fleet_is_over(void);

/* worker.c, reader.c: until nothing is left to do with --once, else until a signal. */
int fleet_work(struct fleet *fleet, struct err *err);
int fleet_fetch(struct fleet *fleet, struct err *err);

/* registering.c */
int fleet_init(struct fleet *fleet, const char *where, const char *place,
               struct err *err);
int fleet_join(struct fleet *fleet, const char *where, const char *place,
               struct err *err);
int fleet_publish(struct fleet *fleet, const char *name, const char *source,
                  struct err *err);
int fleet_withdraw(struct fleet *fleet, const char *name, struct err *err);
int fleet_status(struct fleet *fleet, struct err *err);

#endif
