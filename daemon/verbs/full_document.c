/* Answers from a document as a whole: what H2MT's routing is measured against.
 *
 *     full   the document as the one source of a prompt, cut where the model's
 *            context ends
 *     hmt    the document read segment by segment, the question behind what is
 *            recalled of it (model/encode/hmt.h)
 *
 * The document is a manual, a file of it, or what is below a node.  What is
 * written is not looked up anywhere: it cites nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "daemon/engine/engine.h"
#include "daemon/roles.h"
#include "daemon/answer/hmt_cache.h"
#include "daemon/verbs/result.h"
#include "memory/snapshot/content.h"

enum { DEFAULT_TOKENS = 96 };

struct whole {
    const struct call *call;
    struct snapshot *snapshot;
    bool hmt; /* else full */
    const struct view *view;
    uint32_t from, end, file; /* nodes; TREE_NONE: of any file */
    struct engine_state state;
    struct buf tail; /* of the prompt: the question */
    struct ids ids;  /* of the document */
    size_t max;      /* tokens of the answer */
    bool cut;        /* the document does not fit */
    struct reading reading;
    struct engine_answer written;
    double start, prepared; /* clock_seconds */
};

static struct engine *engine_of(const struct whole *whole)
{
    return roles_answers(whole->call->daemon);
}

/* ---- The document ---- */

static int read_method(struct whole *whole, struct err *err)
{
    const char *name = json_get_text(whole->call->params, "method", "");
    whole->hmt = !strcmp(name, "hmt");
    return whole->hmt || !strcmp(name, "full")
               ? 0
               : err_set(err, ERR_USAGE,
                         "method must be full or hmt, not '%.40s'", name);
}

/* The one manual that has the file; without one, the one there is. */
static int find_view(struct whole *whole, const char *file, struct err *err)
{
    const struct view *found = NULL;
    for (size_t i = 0; i < whole->snapshot->count; i++) {
        const struct view *view = whole->snapshot->views[i];
        if (file && view_file(view, file) == TREE_NONE)
            continue;
        if (found)
            return err_set(
                err, ERR_USAGE,
                "several manuals have a document like that: name one");
        found = view;
    }
    whole->view = found;
    if (found || snapshot_check(whole->snapshot, NULL, err))
        return found ? 0 : ERR_STORE;
    return file ? err_set(err, ERR_NOT_FOUND, "no file %s is indexed", file)
                : err_set(err, ERR_NOT_FOUND,
                          "no manual is indexed yet: lectern add DIR");
}

static int find_document(struct whole *whole, struct err *err)
{
    const cJSON *params = whole->call->params;
    const char *manual = json_get_text(params, "manual", NULL);
    const char *under = json_get_text(params, "under", NULL);
    const char *file = json_get_text(params, "file", NULL);
    uint64_t id;
    int code = 0;
    whole->file = TREE_NONE;
    bool named = under && node_parse(under, &id);
    if (under && (!named || !snapshot_find(whole->snapshot, id, &whole->view,
                                           &whole->from)))
        return named && snapshot_check(whole->snapshot, NULL, err)
                   ? ERR_STORE
                   : err_set(err, ERR_USAGE,
                             "under: '%.100s' does not name a node", under);
    if (!under)
        code = manual ? call_view(whole->call, whole->snapshot, manual,
                                  &whole->view, err)
                      : find_view(whole, file, err);
    if (code)
        return code;
    if (file)
        whole->file = view_file(whole->view, file);
    if (file && whole->file == TREE_NONE)
        return err_set(err, ERR_NOT_FOUND, "no file %s is indexed", file);
    whole->end = whole->view->outline->nodes[whole->from].end;
    return 0;
}

/* Answers from what is left of a document would be compared with those from
 * all of it: so nothing is left out. */
static int unreadable(const struct node *node, int code,
                      const struct err *cause, struct err *err)
{
    char name[24];
    node_name(node->id, name);
    return err_set(err, code,
                   "the document cannot be read as a whole, for want of %s "
                   "(%.*s): %s",
                   name, (int)(node->title.size < 80 ? node->title.size : 80),
                   node->title.data, cause->message);
}

/* Its title, and its text where it has any. */
static int put_node(const struct whole *whole, uint32_t node, struct buf *text,
                    struct err *err)
{
    const struct node *outline = &whole->view->outline->nodes[node];
    struct content content;
    if (whole->file != TREE_NONE && outline->source_tree != whole->file)
        return 0;
    buf_put_slice(text, outline->title);
    buf_put_byte(text, '\n');
    if (!outline->words)
        return 0;
    struct err cause = {.position = -1};
    int code =
        content_open(whole->snapshot, whole->view, node, &content, &cause);
    if (code)
        return unreadable(outline, code, &cause, err);
    tree_node_text(content.node, text);
    buf_put_text(text, "\n\n");
    content_close(&content);
    return 0;
}

/* Its tokens, of which the first `most` are wanted. */
static int take_document(struct whole *whole, size_t max, struct err *err)
{
    struct buf text = {0};
    int code = 0;
    buf_put_text(&text, "[1] ");
    for (uint32_t n = whole->from;
         n < whole->end && whole->ids.count <= max && !code; n++) {
        if (atomic_load(&whole->call->request->cancelled))
            code = err_set(err, ERR_CANCELLED, "cancelled");
        if (!code)
            code = put_node(whole, n, &text, err);
        if (!code && text.size)
            code = engine_tokens(engine_of(whole), buf_slice(&text),
                                 &whole->ids, err);
        buf_clear(&text);
    }
    buf_free(&text);
    whole->cut = whole->ids.count > max;
    if (whole->cut)
        whole->ids.count = max;
    return code;
}

/* ---- HMT ---- */

static struct hash128 name_of(const struct whole *whole)
{
    struct buf name = {0};
    buf_put(&name, (const char *)&whole->state.facts.fingerprint,
            sizeof whole->state.facts.fingerprint);
    buf_put_varint(&name, whole->view->manual.id);
    buf_put_varint(&name, whole->view->manual.generation);
    buf_put_varint(&name, whole->from);
    buf_put_varint(&name, whole->file);
    struct hash128 hash = hash_bytes(name.data, name.size);
    buf_free(&name);
    return hash;
}

static int read_document(struct whole *whole, struct err *err)
{
    struct reading *reading = &whole->reading;
    struct hash128 name = name_of(whole);
    if (hmt_cache_take(whole->call->daemon->hmt_cache, name, reading))
        return 0;
    double start = clock_seconds();
    int code = take_document(whole, SIZE_MAX - 1, err);
    if (!code)
        code =
            engine_read(engine_of(whole), whole->ids.items, whole->ids.count,
                        &whole->call->request->cancelled, &reading->hmt, err);
    reading->of = name;
    reading->tokens = whole->ids.count;
    reading->ms = (clock_seconds() - start) * 1000;
    return code;
}

/* ---- Full ---- */

static int fill_context(struct whole *whole, struct err *err)
{
    enum {
        WRAPPING = 16 /* tokens that a tokenizer may put around a prompt */
    };
    size_t tail, context = whole->state.facts.context;
    int code =
        engine_count(engine_of(whole), buf_slice(&whole->tail), &tail, err);
    if (code)
        return code;
    if (tail + whole->max + WRAPPING >= context)
        return err_set(err, ERR_LIMIT,
                       "the question leaves no room for the document in the "
                       "model's %zu tokens: ask it shorter",
                       context);
    return take_document(whole, context - whole->max - tail - WRAPPING, err);
}

/* ---- The answer ---- */

static int prepare(struct whole *whole, struct err *err)
{
    size_t tokens;
    int code = read_method(whole, err);
    if (!code)
        code = find_document(whole, err);
    if (!code) /* opens the model */
        code = engine_count(engine_of(whole), slice_of(""), &tokens, err);
    if (code)
        return code;
    engine_state(engine_of(whole), &whole->state);
    whole->max =
        (size_t)json_get_int(whole->call->params, "max_tokens", DEFAULT_TOKENS);
    if (whole->max > whole->state.facts.context / 2)
        whole->max = whole->state.facts.context / 2;
    buf_printf(&whole->tail, "\n\nQuestion: %s\nAnswer:",
               json_get_text(whole->call->params, "query", ""));
    whole->start = clock_seconds();
    return whole->hmt ? read_document(whole, err) : fill_context(whole, err);
}

static int write_answer(struct whole *whole, struct err *err)
{
    struct engine_prompt prompt = {.text = buf_slice(&whole->tail),
                                   .hmt = whole->reading.hmt,
                                   .alone = true,
                                   .max = whole->max,
                                   .cancel = &whole->call->request->cancelled};
    if (!whole->hmt) {
        prompt.before = whole->ids.items;
        prompt.before_count = whole->ids.count;
    }
    whole->prepared = clock_seconds();
    return engine_generate(engine_of(whole), &prompt, &whole->written, err);
}

/* What took how long had nothing been read before; with HMT's memories made, it is
 * `kept`. */
static void put_costs(struct json *json, const struct whole *whole)
{
    const struct engine_answer *written = &whole->written;
    double prepared = (whole->prepared - whole->start) * 1000;
    double read = whole->hmt ? whole->reading.ms : prepared;
    json_key(json, "ms");
    json_begin(json, '{');
    json_field_double(json, "read", read, 3);
    json_field_double(json, "first_token", read + written->first_ms, 3);
    if (whole->hmt)
        json_field_double(json, "first_token_kept", written->first_ms, 3);
    json_field_double(json, "total", read + written->total_ms, 3);
    json_end(json, '}');
    json_key(json, "tokens");
    json_begin(json, '{');
    json_field_int(
        json, "document",
        (int64_t)(whole->hmt ? whole->reading.tokens : whole->ids.count));
    json_field_int(json, "prompt", (int64_t)written->prompt_tokens);
    json_field_int(json, "answer", (int64_t)written->tokens);
    json_end(json, '}');
}

static void put_result(struct json *json, const struct whole *whole)
{
    struct slice text = buf_slice(&whole->written.text);
    while (text.size && strchr(" \n\t", text.data[0])) {
        text.data++;
        text.size--;
    }
    size_t memories = 0;
    if (whole->hmt)
        hmt_memories(whole->reading.hmt, &memories);
    json_begin(json, '{');
    json_field_text(json, "kind", text.size ? "generated" : "none");
    json_field_string(json, "answer", text);
    json_field_text(json, "method", whole->hmt ? "hmt" : "full");
    json_field_bool(json, "cut", whole->cut);
    if (whole->hmt)
        json_field_int(json, "memories", (int64_t)memories);
    json_field_text(json, "model", whole->state.facts.name);
    json_field_text(json, "attention", whole->written.attention);
    json_field_double(json, "answer_confidence", whole->written.mean_log, 4);
    put_costs(json, whole);
    json_end(json, '}');
}

int verb_whole(struct call *call, struct json *json, struct err *err)
{
    struct whole whole = {.call = call};
    whole.snapshot = library_snapshot(call->daemon->library);
    int code = prepare(&whole, err);
    if (!code)
        code = write_answer(&whole, err);
    if (!code)
        put_result(json, &whole);
    if (whole.reading.hmt)
        hmt_cache_put(call->daemon->hmt_cache, &whole.reading);
    buf_free(&whole.written.text);
    buf_free(&whole.tail);
    ids_free(&whole.ids);
    snapshot_unref(whole.snapshot);
    return code;
}
