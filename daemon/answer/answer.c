#include "daemon/answer/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "memory/lexical/sentences.h"

enum {
    ROUTE_HITS = 5, /* shown under "route" */
    MAX_LINES = 12  /* of a passage that are cited one by one */
};

static struct citation *add(struct answer *answer)
{
    MEM_RESERVE(answer->citations, &answer->capacity, answer->count + 1);
    return &answer->citations[answer->count++];
}

/* Where the passage is cut, of which only the quote was found. */
static unsigned cut_of(const struct passage *passage, const struct quote *quote)
{
    struct buf whole = {0};
    struct slice found = buf_slice(&quote->text);
    text_fold_space(&whole, passage->text);
    unsigned cut = passage->cut;
    if (!slice_starts(buf_slice(&whole), found))
        cut |= CUT_BEGIN;
    if (whole.size < found.size || memcmp(whole.data + whole.size - found.size,
                                          found.data, found.size) != 0)
        cut |= CUT_END;
    buf_free(&whole);
    return cut;
}

int answer_cite(const struct call *call, struct answer *answer,
                const struct passage *passage, int status, bool part,
                struct err *err)
{
    struct quote quote = {0};
    if (atomic_load(&call->request->cancelled))
        return err_set(err, ERR_CANCELLED, "cancelled");
    bool fresh = quote_is_fresh(passage->view, passage->block.file);
    answer->fresh = answer->fresh && fresh;
    int code = quote_check(call->parser, passage, &quote, err);
    if (code)
        return code;
    if (!quote.whole && !fresh && !part) {
        quote_free(&quote);
        return err_set(err, ERR_STALE, "the file has only a part of it now");
    }
    if (!quote.whole && status == CITE_VERIFIED)
        status = CITE_REPAIRED;
    if (quote_is_away(passage->view))
        status = CITE_STORED;
    struct citation *citation = add(answer);
    *citation = (struct citation){*passage, quote, status};
    if (!quote.whole)
        citation->passage.cut = cut_of(passage, &quote);
    return 0;
}

bool answer_cites(const struct answer *answer, const struct passage *passage)
{
    for (size_t i = 0; i < answer->count; i++) {
        const struct citation *citation = &answer->citations[i];
        const struct passage *other = &citation->passage;
        if (citation->status != CITE_UNVERIFIED &&
            other->view == passage->view && other->node == passage->node &&
            other->block.file == passage->block.file &&
            memmem(other->text.data, other->text.size, passage->text.data,
                   passage->text.size))
            return true;
    }
    return false;
}

bool answer_is_lost(int code)
{
    return code == ERR_IO || code == ERR_INTERNAL || code == ERR_CANCELLED;
}

void answer_cite_unverified(struct answer *answer,
                            const struct passage *passage)
{
    *add(answer) = (struct citation){
        .passage = *passage,
        .quote.span = passage->block.span,
        .status = CITE_UNVERIFIED,
    };
}

void answer_free(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        quote_free(&answer->citations[i].quote);
    free(answer->citations);
    buf_free(&answer->text);
    *answer = (struct answer){0};
}

/* What changed since it was indexed is no failure of ours. */
static bool is_failure(int code)
{
    return code && code != ERR_STALE && code != ERR_NOT_FOUND;
}

/* Whether the passage is of the section that the last citation is of. */
static bool is_of_section(const struct passage *passage,
                          const struct answer *answer)
{
    const struct passage *last = &answer->citations[answer->count - 1].passage;
    return last->view == passage->view && last->node == passage->node;
}

/* Whether its line breaks mean something: code, items, a term over what it means. */
static bool has_lines(const struct passage *passage)
{
    return passage->kind == BLOCK_CODE ||
           memchr(passage->text.data, '\n', passage->text.size);
}

static void drop_last(struct answer *answer)
{
    quote_free(&answer->citations[--answer->count].quote);
}

/* Cites the passage's lines one by one, if each stands in the file whole and they do
 * not together, as a term and its definition with a sign between them that links
 * to it; else nothing is changed.  ERR_CANCELLED. */
static int cite_lines(const struct call *call, struct answer *answer,
                      const struct passage *passage, struct err *err)
{
    const struct block block = {.kind = passage->kind, .text = passage->text};
    size_t from = answer->count;
    struct citation part = answer->citations[from - 1];
    bool whole = !part.quote.whole && block.kind != BLOCK_CODE &&
                 memchr(block.text.data, '\n', block.text.size);
    int code = 0;
    for (size_t at = 0; at < block.text.size && whole && !code;) {
        struct passage line = *passage;
        line.text = sentences_unmarked(&block, sentences_line(&block, &at));
        if (!line.text.size)
            continue;
        line.at += (size_t)(line.text.data - passage->text.data);
        line.cut = 0;
        code = answer_cite(call, answer, &line, CITE_VERIFIED, false, err);
        whole = !code && answer->count - from <= MAX_LINES &&
                answer->citations[answer->count - 1].quote.whole;
    }
    if (whole && answer->count > from) {
        quote_free(&part.quote);
        answer->count--;
        memmove(&answer->citations[from - 1], &answer->citations[from],
                (answer->count - from + 1) * sizeof *answer->citations);
    } else {
        while (answer->count > from)
            drop_last(answer);
    }
    return code == ERR_CANCELLED ? code : 0;
}

/* Appends the citations from the `from`-th on, which are the passage's. */
static void put_quotes(struct answer *answer, size_t from,
                       const struct passage *passage)
{
    for (size_t i = from; i < answer->count; i++) {
        const struct citation *citation = &answer->citations[i];
        const struct quote *quote = &citation->quote;
        bool laid_out = quote->whole && has_lines(&citation->passage);
        const char *between = passage->kind == BLOCK_DEFINITION ? "\n  " : "\n";
        unsigned cut = citation->passage.cut;
        buf_put_text(&answer->text, i > from ? between : i ? "\n\n" : "");
        const char *beside = passage->kind == BLOCK_CODE ? "\n" : " ";
        if (cut & CUT_BEGIN)
            buf_printf(&answer->text, "…%s", beside);
        buf_put_slice(&answer->text, laid_out ? citation->passage.text
                                              : buf_slice(&quote->text));
        if (cut & CUT_END)
            buf_printf(&answer->text, "%s…", beside);
        buf_printf(&answer->text, " [%zu]", i + 1);
    }
}

int answer_from_passages(const struct call *call,
                         const struct passages *passages, size_t max,
                         struct answer *answer, struct err *err)
{
    struct err failure = {0};
    size_t sections = 0;
    for (size_t i = 0; i < passages->count; i++) {
        const struct passage *passage = &passages->items[i];
        bool next = !answer->count || !is_of_section(passage, answer);
        if (next && sections == max)
            break;
        struct err why = {.position = -1};
        size_t before = answer->count;
        int code =
            answer_cite(call, answer, passage, CITE_VERIFIED, true, &why);
        if (answer_is_lost(code)) {
            *err = why;
            return code;
        }
        if (code) {
            if (is_failure(code)) {
                log_warn("not quoted: %s", why.message);
                failure = why;
            } else {
                log_debug("not quoted: %s", why.message);
            }
            continue;
        }
        sections += next;
        if (cite_lines(call, answer, passage, &why)) {
            *err = why;
            return ERR_CANCELLED;
        }
        put_quotes(answer, before, passage);
    }
    if (answer->count || !failure.code)
        return 0;
    return err_set(err, failure.code,
                   "sections were found, and none could be read to be quoted: "
                   "%s",
                   failure.message);
}

/* What of the quote macros made: byte ranges. */
static void put_made(struct json *json, const struct buf *made)
{
    if (!made->size)
        return;
    json_key(json, "made");
    json_begin(json, '[');
    for (size_t at = 0; at < made->size; at += 2 * sizeof(size_t)) {
        size_t range[2];
        memcpy(range, made->data + at, sizeof range);
        json_begin(json, '[');
        json_int(json, (int64_t)range[0]);
        json_int(json, (int64_t)range[1]);
        json_end(json, ']');
    }
    json_end(json, ']');
}

static const char *cut_name(unsigned cut)
{
    static const char *const names[] = {[CUT_BEGIN] = "begin",
                                        [CUT_END] = "end",
                                        [CUT_BEGIN | CUT_END] = "both"};
    return names[cut];
}

void answer_put_citation_members(struct json *json, const struct answer *answer,
                                 size_t index)
{
    const struct citation *citation = &answer->citations[index];
    const struct passage *passage = &citation->passage;
    const struct view *view = passage->view;
    const struct node *node = &view->outline->nodes[passage->node];
    json_field_int(json, "n", (int64_t)index + 1);
    result_node_id(json, "node", view, passage->node);
    json_field_text(json, "manual", view->manual.name);
    result_path(json, view, passage->node);
    result_entry(json, view, passage->node);
    json_field_string(json, "file", view->outline->files[passage->block.file]);
    if (node->anchor.size)
        json_field_string(json, "anchor", node->anchor);
    else
        json_field_null(json, "anchor");
    json_key(json, "span");
    result_span(json, citation->quote.span);
    json_field_string(json, "quote", buf_slice(&citation->quote.text));
    if (passage->cut)
        json_field_text(json, "cut", cut_name(passage->cut));
    put_made(json, &citation->quote.made);
    json_field_text(json, "status", cite_status_name(citation->status));
}

void answer_put_citation(struct json *json, const struct answer *answer,
                         size_t index)
{
    json_begin(json, '{');
    answer_put_citation_members(json, answer, index);
    json_end(json, '}');
}

void answer_put_route(struct json *json, const struct route_result *route)
{
    json_begin(json, '[');
    for (size_t i = 0; i < route->count && i < ROUTE_HITS; i++) {
        const struct route_hit *hit = &route->hits[i];
        json_begin(json, '{');
        result_node_id(json, "node", hit->view, hit->node);
        json_field_string(json, "title",
                          hit->view->outline->nodes[hit->node].title);
        result_path(json, hit->view, hit->node);
        result_entry(json, hit->view, hit->node);
        json_field_double(json, "score", hit->score, 6);
        json_end(json, '}');
    }
    json_end(json, ']');
}
