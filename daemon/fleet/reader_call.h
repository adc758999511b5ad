/* One request to another daemon, over its socket, that is waited for no longer than a
 * deadline: whoever is dead there holds up nobody here. */
#ifndef DAEMON_FLEET_READER_CALL_H
#define DAEMON_FLEET_READER_CALL_H

#include <stdatomic.h>

#include "base/json.h"
#include "daemon/net/line_reader.h"

enum { READER_MAX_ANSWER = 64 << 20 /* bytes */ };

struct reader_call {
    int fd; /* -1: it did not begin, or has ended */
    struct line_reader in;
};

/* Connects and sends, without waiting; reader_call_end is to be called on success.
 * ERR_UNREACHABLE: nobody is there, or somebody else's daemon. */
int reader_call_begin(const char *path, const char *method, const cJSON *params,
                      struct reader_call *ret, struct err *err);

/* Waits until clock_ms is `deadline_ms` for the result, to be freed with
 * cJSON_Delete.  ERR_UNREACHABLE: it went away; ERR_LIMIT: there is no answer yet, or
 * one that is too long; ERR_CANCELLED; else the error that the other answered. */
int reader_call_end(struct reader_call *call, int64_t deadline_ms,
                    const atomic_bool *cancelled, cJSON **ret_result,
                    struct err *err);

#endif
