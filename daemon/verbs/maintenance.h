/* Common parts of the verbs that maintain the store. */
#ifndef DAEMON_VERBS_MAINTENANCE_H
#define DAEMON_VERBS_MAINTENANCE_H

#include "daemon/verbs/verbs.h"

/* Tells the client how far it is, from time to time. */
struct maintenance_progress {
    struct call *call;
    const char *manual, *phase;
    int64_t told_at;
};
void maintenance_progress(void *context, size_t done, size_t total);

#endif
