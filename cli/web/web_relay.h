/* A request to the daemon on behalf of a browser: its events as they come, then its
 * end.  One that the browser no longer waits for is cancelled. */
#ifndef CLI_WEB_WEB_RELAY_H
#define CLI_WEB_WEB_RELAY_H

#include "cli/connection.h"
#include "cli/web/web.h"

struct relay {
    struct connection connection;
    int browser; /* its socket, watched for its end; not ours to close */
};

enum relay_kind {
    RELAY_EVENT,  /* of an `ask` that streams: the notification's params */
    RELAY_RESULT, /* the result; the last */
    RELAY_ERROR,  /* {"code","message",...}, as the daemon's "data"; the last */
    RELAY_GONE    /* the browser does not wait any more; the last */
};

/* Sends the request.  Close with relay_close, also after a failure. */
int relay_open(struct relay *relay, const struct web *web, int browser,
               const char *method, struct slice params, struct err *err);

/* Waits for what comes next; *ret_value is valid until the next call.  An error is
 * that the daemon went away, or takes no more clients: ERR_UNREACHABLE. */
int relay_next(struct relay *relay, enum relay_kind *ret_kind,
               struct slice *ret_value, struct err *err);

/* Cancels what was not answered. */
void relay_close(struct relay *relay);

#endif
