/* The bridge's connection to the daemon: several requests at once, so that one
 * can be cancelled while another is answered. */
#ifndef CLI_MCP_MCP_DAEMON_H
#define CLI_MCP_MCP_DAEMON_H

#include "cli/cli.h"
#include "daemon/net/line_reader.h"

/* Zero-initialise it but for `fd`, -1: not connected.  Close with
 * mcp_daemon_close. */
struct mcp_daemon {
    int fd;
    int64_t last_id;
    struct line_reader in;
};

/* Sends a request; connects first, and starts the daemon, where need be.
 * ERR_UNREACHABLE; ERR_LIMIT: the request is too long. */
int mcp_daemon_send(struct mcp_daemon *daemon, const struct cli *cli,
                    const char *method, struct slice params, int64_t *ret_id,
                    struct err *err);

/* Tells the daemon that nobody wants the answer any more. */
void mcp_daemon_cancel(struct mcp_daemon *daemon, int64_t id);

/* Reads what has come.  False: the daemon has gone, and is disconnected. */
bool mcp_daemon_read(struct mcp_daemon *daemon);

/* Takes the next line that has come; false: there is none. */
bool mcp_daemon_next(struct mcp_daemon *daemon, struct slice *ret_line);

void mcp_daemon_close(struct mcp_daemon *daemon);

#endif
