#include "memory/routing/kinds.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "memory/lexical/sentences.h"
#include "memory/snapshot/content.h"

enum { LONG_BLOCK = 1000, MIN_PIECE = 300 }; /* bytes */

/* Neighbours in the outline are neighbours in their file, so each file is
 * decoded about once. */
static int read_kinds(const struct snapshot *snapshot, const struct view *view,
                      kind_set *kinds, struct err *err)
{
    for (uint32_t n = 0; n < view->outline->count; n++) {
        struct content content;
        if (!view->outline->nodes[n].words)
            continue;
        int code = content_open(snapshot, view, n, &content, err);
        if (code == ERR_NOT_FOUND)
            continue;
        if (code)
            return code;
        for (uint32_t b = 0; b < content.node->block_count; b++)
            kinds[n] |= kind_bit(content.node->blocks[b].kind);
        content_close(&content);
    }
    return 0;
}

int kinds_of(const struct snapshot *snapshot, const struct view *view,
             const kind_set **ret, struct err *err)
{
    struct view_kinds *place = view->kinds;
    uint32_t *there = atomic_load(&place->sets);
    if (!there) {
        kind_set *made = mem_alloc((view->outline->count + 1) * sizeof *made);
        int code = read_kinds(snapshot, view, made, err);
        if (code) {
            free(made);
            return code;
        }
        /* Of two that read at once the first one's stays. */
        if (atomic_compare_exchange_strong(&place->sets, &there, made))
            there = made;
        else
            free(made);
    }
    *ret = there;
    return 0;
}

/* One node's pieces are scored. */
struct scoring {
    const struct view *view;
    uint32_t node;
    const struct query *query;
    const struct match *row; /* of the node */
    struct analyzer *maker;
    const struct sought_terms *sought;
};

struct counting {
    const struct query *query;
    struct match *row;
};

static void count_term(void *context, const struct term_at *at)
{
    struct counting *counting = context;
    int term = query_find(counting->query, at->term);
    if (term >= 0 && counting->row[term].body < UINT16_MAX)
        counting->row[term].body++;
}

static double score_piece(const struct scoring *scoring, struct slice text)
{
    struct match mine[QUERY_MAX_TERMS];
    struct counting counting = {scoring->query, mine};
    for (size_t t = 0; t < scoring->query->count; t++) {
        mine[t] = scoring->row[t];
        mine[t].body = 0;
        mine[t].defined = 0;
    }
    analyze_sought(scoring->maker, scoring->sought, text, count_term,
                   &counting);
    return lexical_score(scoring->query, scoring->view, scoring->node, mine);
}

/* By the best piece of a long one: a page in one <pre> has every word somewhere. */
static double score_block(const struct scoring *scoring, struct slice text)
{
    double best = 0;
    if (text.size <= LONG_BLOCK)
        return score_piece(scoring, text);
    for (size_t at = 0; at < text.size;) {
        size_t from = at;
        while (at < text.size && at - from < MIN_PIECE)
            sentences_piece(text, &at);
        double score =
            score_piece(scoring, (struct slice){text.data + from, at - from});
        best = score > best ? score : best;
    }
    return best;
}

int kinds_best(const struct snapshot *snapshot, const struct view *view,
               uint32_t node, kind_set kinds, const struct query *query,
               const struct sought_terms *sought, const struct match *row,
               struct analyzer *maker, struct kind_block *ret, struct err *err)
{
    struct content content;
    struct kind_block best = {.block = TREE_NONE};
    struct scoring scoring = {.view = view,
                              .node = node,
                              .query = query,
                              .row = row,
                              .maker = maker,
                              .sought = sought};
    int code = content_open(snapshot, view, node, &content, err);
    if (code && code != ERR_NOT_FOUND)
        return code;
    for (uint32_t b = 0; !code && b < content.node->block_count; b++) {
        const struct block *block = &content.node->blocks[b];
        if (!(kinds & kind_bit(block->kind)))
            continue;
        double score = score_block(&scoring, block->text);
        if (best.block == TREE_NONE || score > best.score)
            best = (struct kind_block){b, score};
    }
    content_close(&content);
    *ret = best;
    return 0;
}
