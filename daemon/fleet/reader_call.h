/* Requests to other daemons, over their sockets, that are waited for no longer than a
 * deadline: whoever is dead there holds up nobody here. */
#ifndef DAEMON_FLEET_READER_CALL_H
#define DAEMON_FLEET_READER_CALL_H

#include <stdatomic.h>

#include "base/json.h"
#include "daemon/net/line_reader.h"

enum {
    READER_CALLS_MAX = 8,        /* that are waited for at once */
    READER_MAX_ANSWER = 8 << 20, /* bytes of all that one call is sent */
};

struct reader_call {
    int fd; /* -1: it did not begin, or has ended */
    struct line_reader in;
    size_t size; /* bytes that came */

    /* How it ended. */
    int code;
    cJSON *result;  /* the caller's, when `code` is 0; else NULL */
    struct err err; /* when it is not */
};

/* Connects and sends, without waiting; reader_calls_end is to be called on success.
 * ERR_UNREACHABLE: nobody is there, or somebody else's daemon. */
int reader_call_begin(const char *path, const char *method, const cJSON *params,
                      struct reader_call *ret, struct err *err);

/* Waits until clock_ms is `deadline_ms` for all at once, READER_CALLS_MAX at most; those
 * that did not begin are left alone.  ERR_UNREACHABLE: it went away; ERR_LIMIT: there
 * is no answer yet, or one that is too long; ERR_CANCELLED; else the error that the
 * other answered. */
void reader_calls_end(struct reader_call *const calls[], size_t count,
                      int64_t deadline_ms, const atomic_bool *cancelled);

#endif
