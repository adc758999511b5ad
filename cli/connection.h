/* A connection to the daemon that does not wait: several requests at once, of which
 * one can be cancelled while another is answered, and events as they come. */
#ifndef CLI_CONNECTION_H
#define CLI_CONNECTION_H

#include "base/config.h"
#include "daemon/net/line_reader.h"

/* Zero-initialise it but for `fd`, -1: not connected.  Close with
 * connection_close. */
struct connection {
    int fd;
    int64_t last_id;
    struct line_reader in;
};

/* Sends a request; connects first, and starts the daemon, where need be, with
 * `config_flag` as its --config (NULL: none).  What comes meanwhile is kept for
 * connection_next: the daemon reads no further while too much is left unread.
 * ERR_UNREACHABLE; ERR_LIMIT: the request is too long. */
int connection_send(struct connection *connection, const struct config *config,
                    const char *config_flag, const char *method,
                    struct slice params, int64_t *ret_id, struct err *err);

/* Tells the daemon that nobody wants the answer any more. */
void connection_cancel(struct connection *connection, int64_t id);

/* Reads what has come.  False: the daemon has gone, and is disconnected. */
bool connection_read(struct connection *connection);

/* Takes the next line that has come; false: there is none. */
bool connection_next(struct connection *connection, struct slice *ret_line);

void connection_close(struct connection *connection);

#endif
