/* What goes out to the agent: a line for each answer, and results in the protocol's
 * form. */
#ifndef CLI_MCP_MCP_ANSWER_H
#define CLI_MCP_MCP_ANSWER_H

#include "base/err.h"
#include "base/json.h"

/* Revisions that are spoken, oldest first; the first MCP_HANDSHAKES are agreed on
 * by `initialize`, those after them are said in each request. */
enum { MCP_VERSIONS = 5, MCP_HANDSHAKES = 4 };
extern const char *const mcp_versions[MCP_VERSIONS];
/* The one whose lines may hold an array of messages. */
#define MCP_WITH_BATCHES "2025-03-26"

/* Codes of JSON-RPC and of the protocol, beside those of daemon/net/rpc.h. */
enum {
    MCP_BAD_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_NO_RESOURCE = -32002,
    MCP_NO_VERSION = -32022
};

#define MCP_MANUAL_URI "lectern://manual/"
#define MCP_NODE_URI   "lectern://node/"

/* Answers to the messages of one array, which go out as one, when all are there. */
struct mcp_batch {
    size_t awaited; /* messages that may still be answered */
    struct buf answers;
};

/* One message less is awaited.  With the last one the answers are written, if there
 * are any, and the batch is freed.  NULL: nothing. */
void mcp_batch_done(struct mcp_batch *batch);

/* Write an answer to standard output, or, if `batch` is not NULL, to its others.
 * `id` NULL: null; the error's code is one of JSON-RPC, or of ours, which is
 * translated; `requested`: of MCP_NO_VERSION the revision that is not spoken, else
 * NULL. */
void mcp_answer_result(struct mcp_batch *batch, const cJSON *id,
                       struct slice result);
void mcp_answer_error(struct mcp_batch *batch, const cJSON *id,
                      const struct err *err, const char *requested);

/* Write members that every result has, and those of one that clients shall not
 * keep. */
void mcp_put_complete(struct json *json);
void mcp_put_not_kept(struct json *json);

/* Write mcp_versions, newest first, as one value. */
void mcp_put_versions(struct json *json);

/* Write a tool's result: `text` is JSON, or of an error its message. */
void mcp_put_tool_result(struct json *json, const char *text, bool error);

/* Write a resource's contents: `text` is JSON. */
void mcp_put_contents(struct json *json, const char *uri, const char *text);

/* Write the list of resources, of what the daemon's `ls` says. */
void mcp_put_manuals(struct json *json, const cJSON *result);

#endif
