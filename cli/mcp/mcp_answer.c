#include "cli/mcp/mcp_answer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/url.h"
#include "daemon/net/rpc.h"

const char *const mcp_versions[MCP_VERSIONS] = {
    "2024-11-05", MCP_WITH_BATCHES, "2025-06-18", "2025-11-25", "2026-07-28"};

static void write_line(struct buf *line)
{
    buf_put_byte(line, '\n');
    fwrite(line->data, 1, line->size, stdout);
    fflush(stdout);
    buf_free(line);
}

static void give(struct mcp_batch *batch, struct buf *answer)
{
    if (!batch) {
        write_line(answer);
        return;
    }
    buf_put_byte(&batch->answers, batch->answers.size ? ',' : '[');
    buf_put_slice(&batch->answers, buf_slice(answer));
    buf_free(answer);
}

void mcp_batch_done(struct mcp_batch *batch)
{
    if (!batch || --batch->awaited)
        return;
    if (batch->answers.size) { /* of notifications alone there are none */
        buf_put_byte(&batch->answers, ']');
        write_line(&batch->answers);
    }
    free(batch);
}

static struct json begin_answer(struct buf *line, const cJSON *id)
{
    struct json json = json_to(line);
    json_begin(&json, '{');
    json_field_text(&json, "jsonrpc", "2.0");
    json_key(&json, "id");
    rpc_id_value(&json, id);
    return json;
}

void mcp_answer_result(struct mcp_batch *batch, const cJSON *id,
                       struct slice result)
{
    struct buf line = {0};
    struct json json = begin_answer(&line, id);
    json_key(&json, "result");
    json_raw(&json, result);
    json_end(&json, '}');
    give(batch, &line);
}

/* JSON-RPC's own codes are in the error; those of ours are its parameters' fault,
 * or the daemon's. */
static int error_code(int code)
{
    if (code <= -32000)
        return code;
    return code == ERR_USAGE ? MCP_BAD_PARAMS : MCP_INTERNAL;
}

void mcp_put_versions(struct json *json)
{
    json_begin(json, '[');
    for (int i = MCP_VERSIONS; i-- > 0;)
        json_text(json, mcp_versions[i]);
    json_end(json, ']');
}

void mcp_answer_error(struct mcp_batch *batch, const cJSON *id,
                      const struct err *err, const char *requested)
{
    struct buf line = {0};
    struct json json = begin_answer(&line, id);
    json_key(&json, "error");
    json_begin(&json, '{');
    json_field_int(&json, "code", error_code(err->code));
    json_field_text(&json, "message", err->message);
    if (requested) {
        json_key(&json, "data");
        json_begin(&json, '{');
        json_key(&json, "supported");
        mcp_put_versions(&json);
        json_field_text(&json, "requested", requested);
        json_end(&json, '}');
    }
    json_end(&json, '}');
    json_end(&json, '}');
    give(batch, &line);
}

void mcp_put_complete(struct json *json)
{
    json_field_text(json, "resultType", "complete");
}

void mcp_put_not_kept(struct json *json)
{
    mcp_put_complete(json);
    json_field_int(json, "ttlMs", 0);
    json_field_text(json, "cacheScope", "private");
}

void mcp_put_tool_result(struct json *json, const char *text, bool error)
{
    json_begin(json, '{');
    json_key(json, "content");
    json_begin(json, '[');
    json_begin(json, '{');
    json_field_text(json, "type", "text");
    json_field_text(json, "text", text);
    json_end(json, '}');
    json_end(json, ']');
    if (!error) {
        json_key(json, "structuredContent");
        json_raw(json, slice_of(text));
    }
    json_field_bool(json, "isError", error);
    mcp_put_complete(json);
    json_end(json, '}');
}

void mcp_put_contents(struct json *json, const char *uri, const char *text)
{
    json_begin(json, '{');
    json_key(json, "contents");
    json_begin(json, '[');
    json_begin(json, '{');
    json_field_text(json, "uri", uri);
    json_field_text(json, "mimeType", "application/json");
    json_field_text(json, "text", text);
    json_end(json, '}');
    json_end(json, ']');
    mcp_put_not_kept(json);
    json_end(json, '}');
}

static void put_manual(struct json *json, const cJSON *manual)
{
    const char *name = json_get_text(manual, "name", "");
    struct buf text = {0};
    json_begin(json, '{');
    buf_put_text(&text, MCP_MANUAL_URI);
    url_put_encoded(&text, slice_of(name), "-._~");
    json_field_text(json, "uri", text.data);
    json_field_text(json, "name", name);
    const char *root = json_get_text(manual, "root", "its folder");
    buf_clear(&text);
    long long nodes = json_get_int(manual, "nodes", 0);
    buf_printf(&text, "The table of contents of %s: %lld %s, from %s%s", name,
               nodes, nodes == 1 ? "section" : "sections",
               root[0] ? root : "a pack",
               json_get_bool(manual, "stale", false)
                   ? "; files have changed since they were read"
                   : "");
    json_field_text(json, "description", text.data);
    json_field_text(json, "mimeType", "application/json");
    json_end(json, '}');
    buf_free(&text);
}

void mcp_put_manuals(struct json *json, const cJSON *result)
{
    const cJSON *manual;
    json_begin(json, '{');
    json_key(json, "resources");
    json_begin(json, '[');
    cJSON_ArrayForEach (manual,
                        cJSON_GetObjectItemCaseSensitive(result, "manuals"))
        put_manual(json, manual);
    json_end(json, ']');
    mcp_put_not_kept(json);
    json_end(json, '}');
}
