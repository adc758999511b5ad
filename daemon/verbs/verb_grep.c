/* Regular expressions over the sections' text: what is known to be there, word by
 * word, and not where. */
#include <stdlib.h>

#include "base/file.h"
#include "base/text.h"
#include "daemon/answer/freshness.h"
#include "daemon/grep/grep_scan.h"
#include "daemon/verbs/result.h"
#include "daemon/verbs/selection.h"
#include "daemon/verbs/verb_search.h"

enum {
    DEFAULT_MATCHES = 100,
    BEFORE = 1000, /* bytes of a long line that are told before a match, */
    AROUND = 4000  /* and in all */
};

/* A search of all manuals takes a tenth of this; what takes longer is the
 * pattern's doing. */
static const double MAX_SECONDS = 5;

struct grepping {
    const struct call *call;
    struct snapshot *snapshot;
    struct grep_range *ranges; /* [count] */
    size_t count;
    struct grep_scan scan;
    struct json *json;
};

/* ---- Where ---- */

static int choose_node(struct grepping *grepping,
                       const struct selection *selection, const char *name,
                       struct err *err)
{
    uint64_t id;
    const struct view *view;
    uint32_t node;
    if (!node_parse(name, &id))
        return err_set(err, ERR_USAGE, "under: '%.100s' does not name a node",
                       name);
    if (!snapshot_find(grepping->snapshot, id, &view, &node))
        return snapshot_check(grepping->snapshot, NULL, err)
                   ? ERR_STORE
                   : err_set(err, ERR_USAGE,
                             "under: no such node; toc lists those there are");
    if (!selection_has(selection, view->manual.name))
        return err_set(err, ERR_USAGE, "under: the node is of %s, not of %s",
                       view->manual.name, selection->names[0]);
    grepping->ranges[grepping->count++] =
        (struct grep_range){view, node, view->outline->nodes[node].end};
    return 0;
}

static int choose(struct grepping *grepping, struct err *err)
{
    const struct call *call = grepping->call;
    const struct snapshot *snapshot = grepping->snapshot;
    const char *under = json_get_text(call->params, "under", NULL);
    struct selection selection = selection_of(call);
    bool none;
    int code = selection_check(&selection, call, snapshot, &none, err);
    grepping->ranges =
        mem_alloc((snapshot->count + 1) * sizeof *grepping->ranges);
    if (code || none)
        return code;
    if (under)
        return choose_node(grepping, &selection, under, err);
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct view *view = snapshot->views[i];
        if (selection_has(&selection, view->manual.name))
            grepping->ranges[grepping->count++] =
                (struct grep_range){view, 0, view->outline->count};
    }
    return 0;
}

/* ---- What is found ---- */

/* The first place from `at` on where a character begins. */
static size_t character_from(struct slice text, size_t at)
{
    while (at < text.size && ((unsigned char)text.data[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* Of a long line, as a paragraph is one, what is around the match. */
static void put_text(struct json *json, const struct grep_match *match)
{
    struct slice text = match->text;
    size_t from = match->start > BEFORE ? match->start - BEFORE : 0;
    size_t to = text.size - from > AROUND ? from + AROUND : text.size;
    from = character_from(text, from);
    to = character_from(text, to);
    size_t end = match->end < to ? match->end : to;
    json_field_string(json, "text",
                      (struct slice){text.data + from, to - from});
    json_key(json, "match");
    result_span(json, (struct span){match->start - from, end - from});
    if (to - from < text.size)
        json_field_bool(json, "cut", true);
}

/* A block's own place; a title's is its node's. */
static void put_place(struct json *json, const struct grep_match *match)
{
    const struct view *view = match->view;
    const struct node *node = &view->outline->nodes[match->node];
    if (!match->block) {
        result_place(json, view, match->node);
        return;
    }
    uint32_t file =
        content_file(match->content, view, match->node, match->block);
    json_field_string(json, "file", view->outline->files[file]);
    if (node->anchor.size)
        json_field_string(json, "anchor", node->anchor);
    else
        json_field_null(json, "anchor");
    json_key(json, "span");
    result_span(json, match->block->origin.span);
}

static void take(void *context, const struct grep_match *match)
{
    struct grepping *grepping = context;
    struct json *json = grepping->json;
    json_begin(json, '{');
    result_node_id(json, "node", match->view, match->node);
    json_field_text(json, "manual", match->view->manual.name);
    result_path(json, match->view, match->node);
    result_entry(json, match->view, match->node);
    put_place(json, match);
    json_field_text(json, "kind",
                    match->block ? block_kind_name(match->block->kind)
                                 : "title");
    put_text(json, match);
    json_end(json, '}');
}

static int put_results(struct grepping *grepping, struct err *err)
{
    struct json *json = grepping->json;
    struct grep_scan *scan = &grepping->scan;
    int code = 0;
    json_key(json, "results");
    json_begin(json, '[');
    for (size_t i = 0; i < grepping->count && !code; i++)
        code = grep_scan_range(scan, &grepping->ranges[i], err);
    json_end(json, ']');
    json_field_bool(json, "more", scan->more || scan->late);
    if (scan->late)
        json_field_text(json, "stopped", "time");
    if (scan->given_up)
        json_field_int(json, "given_up", (int64_t)scan->given_up);
    return code;
}

static int put_all(struct grepping *grepping, struct err *err)
{
    const struct call *call = grepping->call;
    const cJSON *params = call->params;
    struct json *json = grepping->json;
    double start = clock_seconds();
    struct freshness fresh = freshness_of(call, grepping->snapshot);
    grepping->scan.until = start + MAX_SECONDS;
    json_begin(json, '{');
    json_field_text(json, "pattern", json_get_text(params, "pattern", ""));
    search_generation(json, call, grepping->snapshot);
    int code = put_results(grepping, err);
    freshness_put(json, &fresh, !fresh.away);
    selection_put_searched(json, call, grepping->snapshot);
    selection_put_missing(json, call, grepping->snapshot);
    json_key(json, "ms");
    json_begin(json, '{');
    json_field_double(json, "total", (clock_seconds() - start) * 1000, 3);
    json_end(json, '}');
    json_end(json, '}');
    return code;
}

/* What is damaged might hold a match. */
static int check_damage(const struct grepping *grepping, struct err *err)
{
    struct selection selection = selection_of(grepping->call);
    return grepping->scan.count
               ? 0
               : selection_check_damage(&selection, grepping->snapshot, err);
}

int verb_grep(struct call *call, struct json *json, struct err *err)
{
    const cJSON *params = call->params;
    struct grepping grepping = {.call = call,
                                .json = json,
                                .snapshot =
                                    library_snapshot(call->daemon->library)};
    grepping.scan = (struct grep_scan){
        .snapshot = grepping.snapshot,
        .max = (size_t)json_get_int(params, "n", DEFAULT_MATCHES),
        .cancelled = &call->request->cancelled,
        .take = take,
        .context = &grepping};
    int code =
        grep_pattern_compile(slice_of(json_get_text(params, "pattern", "")),
                             json_get_bool(params, "ignore_case", false),
                             &grepping.scan.pattern, err);
    if (!code)
        code = choose(&grepping, err);
    if (!code)
        code = put_all(&grepping, err);
    if (!code)
        code = check_damage(&grepping, err);
    grep_pattern_free(grepping.scan.pattern);
    free(grepping.ranges);
    snapshot_unref(grepping.snapshot);
    return code;
}
