/* The Model Context Protocol on standard input and output, as a bridge to the
 * daemon: https://modelcontextprotocol.io/specification
 *
 * Revisions with a handshake (`initialize`), and 2026-07-28, in which every request
 * says its revision in `_meta` and `server/discover` says what there is.  Arrays of
 * messages, which 2025-03-26 alone had, are refused.
 *
 *     agent ──stdin──► mcp_server ──► mcp_tools ──► connection ──socket──► lecternd
 *           ◄─stdout── mcp_server ◄── mcp_page ◄─────────────────────────
 *
 * Requests are answered in the order in which the daemon is done with them. */
#ifndef CLI_MCP_MCP_H
#define CLI_MCP_MCP_H

#include "cli/cli.h"

/* Serves until standard input ends and all that was asked is answered. */
int mcp_serve(struct cli *cli, struct err *err);

#endif
