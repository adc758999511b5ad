#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cli/web/openai.h"
#include "cli/web/web_reply.h"

#define NOTHING  "Nothing in the manuals answers this."
#define DOUBTFUL "The manuals may not answer this."

struct chat {
    char id[48], model[256];
    int64_t created;
    bool begun; /* the first chunk was sent */
};

/* ---- What is asked ---- */

/* Appends a message's text, which may be in parts. */
static void put_content(const cJSON *message, struct buf *out)
{
    const cJSON *content = cJSON_GetObjectItemCaseSensitive(message, "content");
    const cJSON *part;
    if (cJSON_IsString(content))
        buf_put_text(out, content->valuestring);
    else
        cJSON_ArrayForEach (part, content)
            buf_put_text(out, json_get_text(part, "text", ""));
}

static int put_question(struct json *params, const cJSON *body, struct err *err)
{
    const cJSON *messages = cJSON_GetObjectItemCaseSensitive(body, "messages");
    const cJSON *message, *last = NULL;
    struct buf text = {0};
    cJSON_ArrayForEach (message, messages)
        if (!strcmp(json_get_text(message, "role", ""), "user"))
            last = message;
    put_content(last, &text);
    json_field_string(params, "query", buf_slice(&text));
    int code = text.size ? 0
                         : err_set(err, ERR_USAGE,
                                   "messages holds none of the user, or an "
                                   "empty one");
    buf_free(&text);
    return code;
}

/* A parameter that has another name here; what it may be, the daemon knows. */
static void put_same(struct json *params, const cJSON *body, const char *theirs,
                     const char *ours)
{
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(body, theirs);
    if (!value || cJSON_IsNull(value))
        return;
    char *text = cJSON_PrintUnformatted(value);
    json_key(params, ours);
    json_raw(params, slice_of(text));
    cJSON_free(text);
}

static void put_stop(struct json *params, const cJSON *body)
{
    const char *one = json_get_text(body, "stop", NULL);
    if (!one) {
        put_same(params, body, "stop", "stop");
        return;
    }
    json_key(params, "stop");
    json_begin(params, '[');
    json_text(params, one);
    json_end(params, ']');
}

static int put_params(const cJSON *body, struct buf *out, struct err *err)
{
    struct json params = json_to(out);
    bool former = cJSON_GetObjectItemCaseSensitive(body, "max_tokens");
    json_begin(&params, '{');
    int code = put_question(&params, body, err);
    if (!code)
        code = openai_put_model(&params, json_get_text(body, "model", ""), err);
    put_same(&params, body, former ? "max_tokens" : "max_completion_tokens",
             "max_tokens");
    put_same(&params, body, "temperature", "temperature");
    put_same(&params, body, "top_p", "top_p");
    put_same(&params, body, "seed", "seed");
    put_same(&params, body, "stream", "stream");
    put_stop(&params, body);
    json_end(&params, '}');
    return code;
}

/* ---- What is answered ---- */

/* [1] manual: path › of › titles  file#anchor */
static void put_citation(const cJSON *citation, struct buf *out)
{
    const char *anchor = json_get_text(citation, "anchor", "");
    const char *before = ": ", *above = "";
    const cJSON *title;
    buf_printf(out, "[%lld] %s", (long long)json_get_int(citation, "n", 0),
               json_get_text(citation, "manual", ""));
    cJSON_ArrayForEach (title,
                        cJSON_GetObjectItemCaseSensitive(citation, "path")) {
        const char *text = cJSON_IsString(title) ? title->valuestring : "";
        if (!strcmp(text, above))
            continue;
        buf_printf(out, "%s%s", before, text);
        before = " › ";
        above = text;
    }
    buf_printf(out, "  %s%s%s\n", json_get_text(citation, "file", ""),
               anchor[0] ? "#" : "", anchor);
}

static void put_citations(const cJSON *result, struct buf *out)
{
    const cJSON *citation;
    const char *before = "\n\n";
    if (json_get_bool(result, "doubtful", false))
        buf_put_text(out, "\n\n" DOUBTFUL);
    cJSON_ArrayForEach (citation,
                        cJSON_GetObjectItemCaseSensitive(result, "citations")) {
        buf_put_text(out, before);
        put_citation(citation, out);
        before = "";
    }
}

static bool is_none(const cJSON *result)
{
    return !strcmp(json_get_text(result, "kind", ""), "none");
}

static void begin(struct json *json, const struct chat *chat,
                  const char *object)
{
    json_begin(json, '{');
    json_field_text(json, "id", chat->id);
    json_field_text(json, "object", object);
    json_field_int(json, "created", chat->created);
    json_field_text(json, "model", chat->model);
}

/* Why an answer ends there. */
static const char *finish_of(const cJSON *result)
{
    return json_get_bool(result, "truncated", false) ? "length" : "stop";
}

/* The one choice: a "message" or a "delta" of this text.  `finish`: NULL: it goes on. */
static void put_choice(struct json *json, const char *key, bool role,
                       struct slice content, const char *finish)
{
    json_key(json, "choices");
    json_begin(json, '[');
    json_begin(json, '{');
    json_field_int(json, "index", 0);
    json_key(json, key);
    json_begin(json, '{');
    if (role)
        json_field_text(json, "role", "assistant");
    if (content.size)
        json_field_string(json, "content", content);
    json_end(json, '}');
    json_field_text(json, "finish_reason", finish);
    json_end(json, '}');
    json_end(json, ']');
}

static void put_raw_citations(struct json *json, const cJSON *result)
{
    char *text = cJSON_PrintUnformatted(
        cJSON_GetObjectItemCaseSensitive(result, "citations"));
    json_key(json, "citations");
    json_raw(json, slice_of(text ? text : "[]"));
    cJSON_free(text);
}

static void put_usage(struct json *json, const cJSON *result)
{
    const cJSON *tokens = cJSON_GetObjectItemCaseSensitive(result, "tokens");
    int64_t prompt = json_get_int(tokens, "prompt", 0);
    int64_t answer = json_get_int(tokens, "answer", 0);
    json_key(json, "usage");
    json_begin(json, '{');
    json_field_int(json, "prompt_tokens", prompt);
    json_field_int(json, "completion_tokens", answer);
    json_field_int(json, "total_tokens", prompt + answer);
    json_end(json, '}');
}

static void put_completion(void *state, const cJSON *result, struct buf *out)
{
    struct chat *chat = state;
    struct json json = json_to(out);
    struct buf text = {0};
    buf_put_text(&text, is_none(result) ? NOTHING
                                        : json_get_text(result, "answer", ""));
    put_citations(result, &text);
    begin(&json, chat, "chat.completion");
    put_choice(&json, "message", true, buf_slice(&text), finish_of(result));
    put_usage(&json, result);
    put_raw_citations(&json, result);
    json_end(&json, '}');
    buf_free(&text);
}

/* ---- The same, as it comes ---- */

static void put_chunk(struct chat *chat, struct slice text, const cJSON *result,
                      struct buf *out)
{
    struct json json = json_to(out);
    buf_put_text(out, "data: ");
    begin(&json, chat, "chat.completion.chunk");
    put_choice(&json, "delta", !chat->begun, text,
               result ? finish_of(result) : NULL);
    if (result)
        put_raw_citations(&json, result);
    json_end(&json, '}');
    buf_put_text(out, "\n\n");
    chat->begun = true;
}

static void put_last(struct chat *chat, const cJSON *result, struct buf *out)
{
    struct buf text = {0};
    if (is_none(result))
        buf_put_text(&text, NOTHING);
    put_citations(result, &text);
    if (text.size)
        put_chunk(chat, buf_slice(&text), NULL, out);
    put_chunk(chat, (struct slice){0}, result, out);
    buf_put_text(out, "data: [DONE]\n\n");
    buf_free(&text);
}

static void put_event(void *state, enum relay_kind kind, struct slice value,
                      struct buf *out)
{
    struct chat *chat = state;
    cJSON *said = NULL;
    if (kind == RELAY_ERROR) {
        buf_printf(out, "data: {\"error\":%.*s}\n\n", (int)value.size,
                   value.data);
        return;
    }
    json_parse(value, &said, NULL);
    if (kind == RELAY_RESULT)
        put_last(chat, said, out);
    else if (!strcmp(json_get_text(said, "event", ""), "token"))
        put_chunk(chat, slice_of(json_get_text(said, "text", "")), NULL, out);
    cJSON_Delete(said);
}

static struct chat *chat_new(const cJSON *body)
{
    static atomic_uint count;
    struct chat *chat = mem_alloc(sizeof *chat);
    chat->created = (int64_t)time(NULL);
    snprintf(chat->id, sizeof chat->id, "chatcmpl-%lld-%u",
             (long long)chat->created, atomic_fetch_add(&count, 1));
    snprintf(chat->model, sizeof chat->model, "%s",
             json_get_text(body, "model", ""));
    return chat;
}

enum MHD_Result openai_chat(const struct web *web,
                            struct MHD_Connection *connection,
                            const cJSON *body)
{
    struct err err = {.position = -1};
    struct buf params = {0};
    enum MHD_Result done;
    int code = put_params(body, &params, &err);
    if (code)
        done = reply_error(connection, &err);
    else if (json_get_bool(body, "stream", false))
        done = reply_stream(web, connection, TYPE_EVENTS, "ask",
                            buf_slice(&params), put_event, chat_new(body));
    else
        done = reply_made(web, connection, "ask", buf_slice(&params),
                          put_completion, chat_new(body));
    buf_free(&params);
    return done;
}
