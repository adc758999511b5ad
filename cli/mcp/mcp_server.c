#include "cli/mcp/mcp.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/url.h"
#include "base/version.h"
#include "cli/mcp/mcp_answer.h"
#include "cli/connection.h"
#include "cli/mcp/mcp_page.h"
#include "daemon/net/protocol.h"
#include "daemon/net/rpc.h"

enum {
    READ_AT_ONCE = 1 << 16,
    LATER = 1 /* of a method: the daemon's answer will be its */
};

#define CAPABILITIES "{\"tools\":{},\"resources\":{}}"
#define VERSION_KEY  "io.modelcontextprotocol/protocolVersion"

static const char instructions[] =
    "Lectern holds manuals that are kept up to date with their files. search "
    "finds sections, get reads one, toc lists them, ask answers with "
    "citations. "
    "Cite a section by its path and file#anchor; check a quote with "
    "verify_citation before you give it. Where a result says fresh: false, "
    "files have changed since they were read, or are not here: say so.";

/* A request that the daemon is at work on. */
struct pending {
    struct pending *next;
    int64_t daemon_id;
    cJSON *id; /* the agent's */
    /* What it becomes: a tool's result; with `uri` that as a resource; without a
     * tool the list of resources. */
    const struct mcp_tool *tool;
    char *cursor; /* NULL: none */
    char *uri;
    struct mcp_batch *batch; /* that it came in; NULL: alone */
};

struct mcp {
    struct cli *cli;
    struct connection daemon;
    struct line_reader in;
    struct pending *pending;
    bool ended;              /* nothing more is asked */
    bool batches;            /* the revision agreed on has arrays of messages */
    struct mcp_batch *batch; /* that is heard; NULL: a message alone */
};

/* ---- What the daemon answers ---- */

static void pending_free(struct pending *pending)
{
    cJSON_Delete(pending->id);
    free(pending->cursor);
    free(pending->uri);
    mcp_batch_done(pending->batch);
    free(pending);
}

static struct pending **find_pending(struct mcp *mcp, int64_t daemon_id)
{
    struct pending **at = &mcp->pending;
    while (*at && (*at)->daemon_id != daemon_id)
        at = &(*at)->next;
    return at;
}

/* A tool's failure is for the model to read; any other is an error. */
static void answer_failure(const struct pending *pending, struct err *err)
{
    if (pending->tool && !pending->uri) {
        struct buf result = {0};
        struct json json = json_to(&result);
        mcp_put_tool_result(&json, err->message, true);
        mcp_answer_result(pending->batch, pending->id, buf_slice(&result));
        buf_free(&result);
        return;
    }
    if (pending->uri && (err->code == ERR_NOT_FOUND || err->code == ERR_USAGE))
        err->code = MCP_NO_RESOURCE;
    mcp_answer_error(pending->batch, pending->id, err, NULL);
}

/* Takes the result over. */
static void answer_pending(const struct pending *pending, cJSON *result)
{
    const struct mcp_tool *tool = pending->tool;
    struct err err = {.position = -1};
    struct buf out = {0};
    struct json json = json_to(&out);
    if (tool && tool->shape)
        result = tool->shape(result);
    int code = tool ? mcp_page_cut(tool, pending->cursor, result, &err) : 0;
    if (code) {
        answer_failure(pending, &err);
    } else if (tool) {
        char *text = cJSON_PrintUnformatted(result);
        if (pending->uri)
            mcp_put_contents(&json, pending->uri, text);
        else
            mcp_put_tool_result(&json, text, false);
        cJSON_free(text);
    } else {
        mcp_put_manuals(&json, result);
    }
    if (!code)
        mcp_answer_result(pending->batch, pending->id, buf_slice(&out));
    cJSON_Delete(result);
    buf_free(&out);
}

/* The daemon's error, with the code that it has there. */
static void take_error(const struct pending *pending, const cJSON *error)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(error, "data");
    const char *path = json_get_text(data, "path", "");
    struct err err = {.position = -1};
    err_set(&err, (int)json_get_int(error, "code", ERR_INTERNAL), "%s%s%s",
            path, path[0] ? ": " : "",
            json_get_text(error, "message", "it failed"));
    answer_failure(pending, &err);
}

/* An error without an id is of all: the daemon takes no more clients, and has
 * closed or is about to, so the next request tries anew. */
static void turn_away(struct mcp *mcp, const cJSON *error)
{
    connection_close(&mcp->daemon);
    while (mcp->pending) {
        struct pending *pending = mcp->pending;
        mcp->pending = pending->next;
        take_error(pending, error);
        pending_free(pending);
    }
}

static void hear_daemon(struct mcp *mcp, struct slice line)
{
    cJSON *message;
    if (json_parse(line, &message, NULL))
        return;
    if (cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(message, "id")))
        turn_away(mcp, cJSON_GetObjectItemCaseSensitive(message, "error"));
    struct pending **at = find_pending(mcp, json_get_int(message, "id", -1));
    struct pending *pending = *at;
    /* Of one that was cancelled nobody hears any more. */
    if (pending) {
        cJSON *result =
            cJSON_DetachItemFromObjectCaseSensitive(message, "result");
        *at = pending->next;
        if (result)
            answer_pending(pending, result);
        else
            take_error(pending,
                       cJSON_GetObjectItemCaseSensitive(message, "error"));
        pending_free(pending);
    }
    cJSON_Delete(message);
}

static void lose_daemon(struct mcp *mcp)
{
    struct err err = {.position = -1};
    while (mcp->pending) {
        struct pending *pending = mcp->pending;
        mcp->pending = pending->next;
        err_set(&err, ERR_UNREACHABLE,
                "the daemon went away before it answered; ask again");
        answer_failure(pending, &err);
        pending_free(pending);
    }
}

/* ---- What the agent asks ---- */

typedef int method(struct mcp *mcp, const struct rpc *rpc, struct json *result,
                   struct err *err);

static void put_server(struct json *json)
{
    json_key(json, "serverInfo");
    json_begin(json, '{');
    json_field_text(json, "name", "lectern");
    json_field_text(json, "title", "Lectern");
    json_field_text(json, "version", LECTERN_VERSION);
    json_end(json, '}');
    json_key(json, "capabilities");
    json_raw(json, slice_of(CAPABILITIES));
    json_field_text(json, "instructions", instructions);
}

static int initialize(struct mcp *mcp, const struct rpc *rpc,
                      struct json *result, struct err *err)
{
    const char *asked = json_get_text(rpc->params, "protocolVersion", NULL);
    const char *agreed = mcp_versions[MCP_HANDSHAKES - 1];
    if (!asked)
        return err_set(err, MCP_BAD_PARAMS,
                       "initialize needs the parameter 'protocolVersion'");
    for (int i = 0; i < MCP_HANDSHAKES; i++)
        if (!strcmp(asked, mcp_versions[i]))
            agreed = mcp_versions[i];
    mcp->batches = !strcmp(agreed, MCP_WITH_BATCHES);
    json_begin(result, '{');
    json_field_text(result, "protocolVersion", agreed);
    put_server(result);
    json_end(result, '}');
    return 0;
}

static int discover(struct mcp *mcp, const struct rpc *rpc, struct json *result,
                    struct err *err)
{
    (void)mcp;
    (void)rpc;
    (void)err;
    json_begin(result, '{');
    json_key(result, "supportedVersions");
    mcp_put_versions(result);
    put_server(result);
    mcp_put_not_kept(result);
    json_end(result, '}');
    return 0;
}

static int ping(struct mcp *mcp, const struct rpc *rpc, struct json *result,
                struct err *err)
{
    (void)mcp;
    (void)rpc;
    (void)err;
    json_begin(result, '{');
    mcp_put_complete(result);
    json_end(result, '}');
    return 0;
}

static int list_tools(struct mcp *mcp, const struct rpc *rpc,
                      struct json *result, struct err *err)
{
    (void)mcp;
    (void)rpc;
    (void)err;
    json_begin(result, '{');
    json_key(result, "tools");
    mcp_tools_put(result);
    mcp_put_not_kept(result);
    json_end(result, '}');
    return 0;
}

/* Asks the daemon; *pending says what its answer becomes. */
static int ask_daemon(struct mcp *mcp, const struct rpc *rpc,
                      const char *daemon_method, struct slice params,
                      const struct pending *pending, struct err *err)
{
    int64_t id;
    int code = mcp->daemon.fd < 0 ? cli_check_store(mcp->cli, err) : 0;
    if (!code)
        code = connection_send(&mcp->daemon, &mcp->cli->config,
                               mcp->cli->options.config, daemon_method, params,
                               &id, err);
    if (code)
        return code;
    struct pending *added = mem_alloc(sizeof *added);
    *added = *pending;
    added->daemon_id = id;
    added->id = cJSON_Duplicate(rpc->id, true);
    added->cursor = pending->cursor ? mem_strdup(pending->cursor) : NULL;
    added->uri = pending->uri ? mem_strdup(pending->uri) : NULL;
    added->batch = mcp->batch;
    if (added->batch)
        added->batch->awaited++;
    added->next = mcp->pending;
    mcp->pending = added;
    return LATER;
}

/* Arguments that are wrong are told to the model, which may mend them. */
static int run_tool(struct mcp *mcp, const struct rpc *rpc,
                    const struct mcp_tool *tool, const cJSON *arguments,
                    struct json *result, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    cJSON *cursor = cJSON_GetObjectItemCaseSensitive(arguments, "cursor");
    struct pending pending = {.tool = tool,
                              .cursor = cJSON_GetStringValue(cursor)};
    int code = mcp_tool_params(tool, arguments, &json, err);
    if (!code)
        code = ask_daemon(mcp, rpc, tool->method, buf_slice(&params), &pending,
                          err);
    buf_free(&params);
    if (code >= 0)
        return code;
    mcp_put_tool_result(result, err->message, true);
    return 0;
}

static int call_tool(struct mcp *mcp, const struct rpc *rpc,
                     struct json *result, struct err *err)
{
    const char *name = json_get_text(rpc->params, "name", NULL);
    const cJSON *arguments =
        cJSON_GetObjectItemCaseSensitive(rpc->params, "arguments");
    if (!name)
        return err_set(err, MCP_BAD_PARAMS,
                       "tools/call needs the parameter 'name'");
    if (arguments && !cJSON_IsObject(arguments))
        return err_set(err, MCP_BAD_PARAMS, "arguments must be an object");
    const struct mcp_tool *tool = mcp_tool_find(name);
    if (!tool)
        return err_set(err, MCP_BAD_PARAMS, "there is no tool '%.100s'", name);
    return run_tool(mcp, rpc, tool, arguments, result, err);
}

static int list_resources(struct mcp *mcp, const struct rpc *rpc,
                          struct json *result, struct err *err)
{
    (void)result;
    return ask_daemon(mcp, rpc, "ls", slice_of("{}"), &(struct pending){0},
                      err);
}

static int list_templates(struct mcp *mcp, const struct rpc *rpc,
                          struct json *result, struct err *err)
{
    (void)mcp;
    (void)rpc;
    (void)err;
    json_begin(result, '{');
    json_key(result, "resourceTemplates");
    json_raw(result,
             slice_of("[{\"uriTemplate\":\"" MCP_MANUAL_URI "{name}\",\"name\":"
                      "\"manual\",\"description\":\"A manual's table of "
                      "contents\",\"mimeType\":\"application/json\"},"
                      "{\"uriTemplate\":\"" MCP_NODE_URI "{node}\",\"name\":"
                      "\"section\",\"description\":\"A section's text\","
                      "\"mimeType\":\"application/json\"}]"));
    mcp_put_not_kept(result);
    json_end(result, '}');
    return 0;
}

/* The tool that reads the resource, and its one argument. */
static const struct mcp_tool *tool_of(const char *uri, const char **ret_key,
                                      struct slice *ret_value)
{
    struct slice text = slice_of(uri);
    bool manual = slice_starts(text, slice_of(MCP_MANUAL_URI));
    struct slice prefix = slice_of(manual ? MCP_MANUAL_URI : MCP_NODE_URI);
    if (!slice_starts(text, prefix) || text.size == prefix.size)
        return NULL;
    *ret_key = manual ? "manual" : "node";
    *ret_value =
        (struct slice){text.data + prefix.size, text.size - prefix.size};
    return mcp_tool_find(manual ? "toc" : "get");
}

static int read_resource(struct mcp *mcp, const struct rpc *rpc,
                         struct json *result, struct err *err)
{
    (void)result;
    cJSON *uri = cJSON_GetObjectItemCaseSensitive(rpc->params, "uri");
    struct pending pending = {.uri = cJSON_GetStringValue(uri)};
    const char *key;
    struct slice value;
    if (!pending.uri)
        return err_set(err, MCP_BAD_PARAMS,
                       "resources/read needs the parameter 'uri'");
    pending.tool = tool_of(pending.uri, &key, &value);
    if (!pending.tool)
        return err_set(err, MCP_NO_RESOURCE,
                       "there is no resource '%.200s': " MCP_MANUAL_URI
                       "NAME or " MCP_NODE_URI "ID",
                       pending.uri);
    struct buf decoded = {0}, params = {0};
    struct json json = json_to(&params);
    cJSON *arguments = cJSON_CreateObject();
    url_put_decoded(&decoded, value);
    cJSON_AddStringToObject(arguments, key, decoded.data);
    int code = mcp_tool_params(pending.tool, arguments, &json, err);
    if (!code)
        code = ask_daemon(mcp, rpc, pending.tool->method, buf_slice(&params),
                          &pending, err);
    cJSON_Delete(arguments);
    buf_free(&decoded);
    buf_free(&params);
    return code;
}

static void cancel(struct mcp *mcp, const cJSON *id)
{
    for (struct pending **at = &mcp->pending; *at; at = &(*at)->next) {
        struct pending *pending = *at;
        if (!cJSON_Compare(pending->id, id, true))
            continue;
        connection_cancel(&mcp->daemon, pending->daemon_id);
        *at = pending->next;
        pending_free(pending);
        return;
    }
}

static const struct {
    const char *name;
    method *run;
} methods[] = {
    {"initialize", initialize},
    {"server/discover", discover},
    {"ping", ping},
    {"tools/list", list_tools},
    {"tools/call", call_tool},
    {"resources/list", list_resources},
    {"resources/templates/list", list_templates},
    {"resources/read", read_resource},
};

static method *method_of(const char *name)
{
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (!strcmp(methods[i].name, name))
            return methods[i].run;
    return NULL;
}

/* The revision that the request says it is of and that is not spoken, else NULL. */
static const char *unknown_version(const struct rpc *rpc)
{
    const cJSON *meta = cJSON_GetObjectItemCaseSensitive(rpc->params, "_meta");
    const char *asked = json_get_text(meta, VERSION_KEY, NULL);
    for (int i = MCP_HANDSHAKES; asked && i < MCP_VERSIONS; i++)
        if (!strcmp(asked, mcp_versions[i]))
            asked = NULL;
    return asked;
}

static void answer_request(struct mcp *mcp, const struct rpc *rpc)
{
    struct err err = {.position = -1};
    struct buf result = {0};
    struct json json = json_to(&result);
    const char *version = unknown_version(rpc);
    method *run = method_of(rpc->method);
    int code;
    if (version)
        code = err_set(&err, MCP_NO_VERSION, "unsupported protocol version");
    else if (!run)
        code = err_set(&err, RPC_NO_METHOD, "there is no method '%.100s'",
                       rpc->method);
    else
        code = run(mcp, rpc, &json, &err);
    if (code < 0)
        mcp_answer_error(mcp->batch, rpc->id, &err, version);
    else if (code != LATER)
        mcp_answer_result(mcp->batch, rpc->id, buf_slice(&result));
    buf_free(&result);
}

/* Null, which the daemon takes, is no id in this protocol. */
static int check_id(const cJSON *message, struct err *err)
{
    if (!cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(message, "id")))
        return 0;
    return err_set(err, RPC_NOT_A_REQUEST,
                   "not a request: \"id\" must not be null");
}

static void hear_message(struct mcp *mcp, const cJSON *message)
{
    struct err err = {.position = -1};
    struct rpc rpc;
    if (rpc_read(message, &rpc, &err) || check_id(message, &err))
        mcp_answer_error(mcp->batch, rpc_id(message), &err, NULL);
    else if (rpc.id)
        answer_request(mcp, &rpc);
    else if (!strcmp(rpc.method, "notifications/cancelled"))
        cancel(mcp, cJSON_GetObjectItemCaseSensitive(rpc.params, "requestId"));
}

/* JSON-RPC's batch: the answers to its requests are an array, too. */
static void hear_batch(struct mcp *mcp, const cJSON *messages)
{
    const cJSON *one;
    mcp->batch = mem_alloc(sizeof *mcp->batch);
    mcp->batch->awaited = 1; /* it is heard to its end first */
    cJSON_ArrayForEach (one, messages)
        hear_message(mcp, one);
    mcp_batch_done(mcp->batch);
    mcp->batch = NULL;
}

static void hear_agent(struct mcp *mcp, struct slice line)
{
    struct err err = {.position = -1};
    cJSON *message;
    if (json_parse(line, &message, &err)) {
        err.code = RPC_NOT_JSON;
        mcp_answer_error(NULL, NULL, &err, NULL);
        return;
    }
    if (json_check_texts(line, &err))
        mcp_answer_error(NULL, rpc_id(message), &err, NULL);
    else if (mcp->batches && cJSON_GetArraySize(message) > 0 &&
             cJSON_IsArray(message))
        hear_batch(mcp, message);
    else
        hear_message(mcp, message);
    cJSON_Delete(message);
}

/* ---- The loop ---- */

static int read_agent(struct mcp *mcp, struct err *err)
{
    char bytes[READ_AT_ONCE];
    struct slice line;
    int code;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR)
        return 0;
    if (n < 0)
        return err_errno(err, ERR_IO, "cannot read standard input");
    mcp->ended = n == 0;
    if (mcp->ended) /* so does the last line */
        line_reader_put(&mcp->in, "\n", 1);
    else
        line_reader_put(&mcp->in, bytes, (size_t)n);
    while ((code = line_reader_next(&mcp->in, PROTOCOL_MAX_REQUEST, &line,
                                    err)) > 0)
        hear_agent(mcp, line);
    if (code)
        mcp_answer_error(NULL, NULL, err, NULL);
    return code;
}

static void hear_all(struct mcp *mcp)
{
    struct slice line;
    while (connection_next(&mcp->daemon, &line))
        hear_daemon(mcp, line);
}

static void read_daemon(struct mcp *mcp)
{
    if (!connection_read(&mcp->daemon))
        lose_daemon(mcp);
    hear_all(mcp);
}

int mcp_serve(struct cli *cli, struct err *err)
{
    struct mcp mcp = {.cli = cli, .daemon.fd = -1};
    int code = 0;
    while (!code && !(mcp.ended && !mcp.pending)) {
        struct pollfd fds[] = {
            {.fd = mcp.ended ? -1 : STDIN_FILENO, .events = POLLIN},
            {.fd = mcp.daemon.fd, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            code = err_errno(err, ERR_IO, "cannot wait for standard input");
        /* First, so that nothing is sent to a daemon that has gone. */
        if (!code && fds[1].revents)
            read_daemon(&mcp);
        if (!code && fds[0].revents)
            code = read_agent(&mcp, err);
        hear_all(&mcp); /* what came while the daemon was asked */
    }
    while (mcp.pending) {
        struct pending *pending = mcp.pending;
        mcp.pending = pending->next;
        pending_free(pending);
    }
    line_reader_free(&mcp.in);
    connection_close(&mcp.daemon);
    return code;
}
