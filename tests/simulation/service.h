/* The daemon without its socket: store, library, jobs, watching, as lecternd_main.c and
 * following.c put them together; the script is its client. */
#ifndef TESTS_SIMULATION_SERVICE_H
#define TESTS_SIMULATION_SERVICE_H

#include "base/config.h"
#include "daemon/daemon.h"
#include "daemon/net/watching.h"
#include "tests/simulation/files.h"

struct service {
    struct daemon daemon;
    struct config config;
    struct watching *watching;
    uv_loop_t loop;
    unsigned loop_fibre;
    struct followed {
        uint32_t id;
        char name[4], root[192];
    } manuals[FILES_MANUALS]; /* [count] */
    unsigned count;
    bool looked; /* at the folders, since the start: status has said so */
    char store[192];
};

/* Manuals are called m0, m1, ... */
void service_start(struct service *service, const char *store,
                   const char *const *roots, unsigned count);
void service_stop(struct service *service);
/* Stops it, calls `meanwhile`, and starts it. */
void service_restart(struct service *service,
                     void (*meanwhile)(struct service *service));
/* The same, but it is killed: what it does now and has not committed is lost. */
void service_killed(struct service *service,
                    void (*meanwhile)(struct service *service));

/* As each request does: what has happened is known. */
void service_hears(struct service *service);
/* What `status` says: nothing is stale, nothing failed. */
bool service_is_current(struct service *service);
/* What an answer says, once the folder was looked at: the manual's files are as they
 * were indexed, as far as is known. */
bool service_answers_currently(struct service *service);
bool service_has_memories(struct service *service);
/* Of one of the manuals; of all. */
void service_update(struct service *service, bool force);
void service_retry(struct service *service);
/* rm, and add once more, of one of them. */
void service_again(struct service *service, void (*meanwhile)(void));
/* The index thread is held for so long, as by `compact`. */
void service_rests(struct service *service, int64_t ns);

#endif
