/* Whether a text stands in a section, and where in its file as it is now. */
#include "base/text.h"
#include "daemon/answer/answer.h"
#include "daemon/answer/freshness.h"
#include "daemon/verbs/result.h"
#include "memory/snapshot/content.h"

/* nearest: what stands there instead, or empty. */
static void put_unverified(struct json *json, const struct view *view,
                           uint32_t node, const char *reason,
                           struct slice nearest)
{
    json_begin(json, '{');
    json_field_text(json, "status", cite_status_name(CITE_UNVERIFIED));
    json_field_bool(json, "fresh", freshness_of_node(view, node));
    result_node_id(json, "node", view, node);
    json_field_text(json, "manual", view->manual.name);
    result_path(json, view, node);
    result_place(json, view, node);
    if (reason)
        json_field_text(json, "reason", reason);
    if (nearest.size)
        json_field_string(json, "nearest", nearest);
    json_end(json, '}');
}

/* The claim was found in the store: is it in the file? */
static int put_cited(struct call *call, struct json *json,
                     const struct passage *passage, int status, struct err *err)
{
    struct answer answer = {.fresh = true};
    struct err why = {.position = -1};
    int code = answer_cite(call, &answer, passage, status, false, &why);
    if (!code) {
        json_begin(json, '{');
        answer_put_citation_members(json, &answer, 0);
        json_field_bool(json, "fresh", answer.fresh);
        json_end(json, '}');
    } else if (answer_is_lost(code)) {
        *err = why;
    } else {
        put_unverified(json, passage->view, passage->node, why.message,
                       (struct slice){0});
        code = 0;
    }
    answer_free(&answer);
    return code;
}

static int check_quote(struct call *call, const struct snapshot *snapshot,
                       struct json *json, struct err *err)
{
    const struct view *view;
    struct content content;
    struct cite cite;
    uint32_t node;
    struct slice quote = slice_of(json_get_text(call->params, "quote", ""));
    if (!cite_has_words(quote))
        return err_set(err, ERR_USAGE, "the quote has no words");
    int code = call_node(call, snapshot, &view, &node, err);
    if (code)
        return code;
    code = content_open(snapshot, view, node, &content, err);
    if (code && code != ERR_NOT_FOUND)
        return code;
    if (code) {
        put_unverified(json, view, node, NULL, (struct slice){0});
        return 0;
    }
    struct cite_source source = {.blocks = content.node->blocks,
                                 .count = content.node->block_count};
    cite_check_claim(quote, &source, &cite);
    if (cite.status == CITE_UNVERIFIED && cite.block) {
        put_unverified(json, view, node,
                       "what stands there has another number, unit, name or "
                       "option, or denies what this says: see nearest",
                       cite_unmarked(&cite));
    } else if (cite.status == CITE_UNVERIFIED) {
        put_unverified(json, view, node, NULL, (struct slice){0});
    } else {
        struct passage passage = {.view = view,
                                  .node = node,
                                  .text = cite_unmarked(&cite),
                                  .block = cite.block->origin,
                                  .kind = cite.block->kind,
                                  .encoding = content.page->encoding};
        passage.block.file = content_file(&content, view, node, cite.block);
        passage.at = (size_t)(passage.text.data - cite.block->text.data);
        code = put_cited(call, json, &passage, cite.status, err);
    }
    content_close(&content);
    return code;
}

int verb_quote(struct call *call, struct json *json, struct err *err)
{
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    int code = check_quote(call, snapshot, json, err);
    snapshot_unref(snapshot);
    return code;
}
