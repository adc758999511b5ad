#include <math.h>
#include <stdlib.h>

#include "memory/routing/route_internal.h"

/* What the sub-tree as a whole adds to its best node when a branch is chosen,
 * and what the branch a node stands in adds to the node. */
static const double WHOLE_BRANCH = 0.3, CONTEXT = 0.1;

/* Nodes whose blocks of the wanted kinds are looked at; of the rest title and
 * path alone count. */
enum { MAX_LOOKED_AT = 100 };

/* ---- Scores ---- */

static void weigh_terms(struct routing *routing)
{
    struct query *query = &routing->query;
    double owners = 0, words = 0;
    for (size_t s = 0; s < routing->scope_count; s++) {
        const struct scope *scope = &routing->scopes[s];
        owners += scope->view->owners;
        words += scope->view->owners * scope->view->mean_words;
        for (uint32_t n = 0; n < scope->view->outline->count; n++) {
            if (!(scope->matches.found[n] & FOUND_OWN) ||
                !scope->view->nodes[n].words)
                continue;
            const struct match *row = matches_row(&scope->matches, n);
            for (size_t t = 0; t < query->count; t++)
                query->terms[t].nodes += match_holds(&row[t]);
        }
    }
    query_weigh(query, owners, owners > 0 ? words / owners : 0);
}

/* A sub-tree as one text: for every term the number of its nodes that hold it,
 * against the share that chance would give, saturated; the title of its own
 * root weighs more. */
static void score_subtrees(const struct query *query, struct scope *scope)
{
    const struct tree *outline = scope->view->outline;
    size_t terms = query->count;
    float *held = mem_alloc(outline->count * terms * sizeof *held);
    bool *holds = mem_alloc(outline->count * sizeof *holds);
    for (uint32_t n = outline->count; n-- > 0;) {
        if (!holds[n] && !(scope->matches.found[n] & FOUND_OWN))
            continue;
        uint32_t parent = scope->view->nodes[n].parent;
        const struct match *row = matches_row(&scope->matches, n);
        double owners = scope->view->nodes[n].owned;
        float *mine = &held[n * terms];
        for (size_t t = 0; t < terms; t++) {
            mine[t] += match_holds(&row[t]);
            if (!(mine[t] > 0))
                continue;
            double tf = (double)mine[t] / (1.0 + 0.05 * owners) +
                        (row[t].title || row[t].alias ? 2.0 : 0.0);
            scope->whole[n] +=
                query->terms[t].weight * query->terms[t].idf * tf / (1.0 + tf);
        }
        if (parent == TREE_NONE)
            continue;
        holds[parent] = true;
        for (size_t t = 0; t < terms; t++)
            held[parent * terms + t] += mine[t];
    }
    free(held);
    free(holds);
}

/* A mean washes out what one section says, so a branch is worth its best node
 * and a little of the whole; 0: nothing in it can be found. */
static void score_branches(struct scope *scope)
{
    const struct view_node *nodes = scope->view->nodes;
    for (uint32_t n = scope->view->outline->count; n-- > 0;) {
        double best =
            scope->branch[n] > scope->own[n] ? scope->branch[n] : scope->own[n];
        if (!(best > 0))
            continue;
        uint32_t parent = nodes[n].parent;
        if (parent != TREE_NONE && scope->branch[parent] < best)
            scope->branch[parent] = best;
        scope->branch[n] = best + WHOLE_BRANCH * scope->whole[n];
    }
}

static int correct_terms(struct routing *routing, struct store_txn *txn,
                         struct err *err)
{
    size_t count = routing->scope_count;
    const struct view **views = mem_alloc(count * sizeof(*views));
    for (size_t s = 0; s < count; s++)
        views[s] = routing->scopes[s].view;
    int code = 0;
    if (routing->request->typing)
        code = query_complete(&routing->query, routing->request->query, txn,
                              views, count, err);
    if (!code)
        code = query_correct(&routing->query, txn, views, count, err);
    int mode = routing->request->mode;
    if (!code && (mode == ROUTE_AUTO || mode == ROUTE_LEXICAL))
        code = query_alternatives(&routing->query, routing->request->query, txn,
                                  views, count, err);
    free(views);
    return code;
}

/* What title and path alone are worth. */
static double score_heads(const struct routing *routing,
                          const struct scope *scope, uint32_t node)
{
    const struct query *query = &routing->query;
    struct match row[QUERY_MAX_TERMS];
    for (size_t t = 0; t < query->count; t++) {
        row[t] = matches_row(&scope->matches, node)[t];
        row[t].body = 0;
        row[t].defined = 0;
    }
    return lexical_score(query, scope->view, node, row);
}

/* Where only some kinds of block are wanted, a node is worth its best one: the
 * nodes that are best by all of their text are looked at. */
static int score_kinds(struct routing *routing, const struct snapshot *snapshot,
                       struct err *err)
{
    const struct query *query = &routing->query;
    struct ranking ranking = {0};
    struct analyzer *maker = analyzer_new();
    int code = 0;
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        for (uint32_t n = scope->from; n < scope->end; n++) {
            if (!(scope->own[n] > 0))
                continue;
            ranking_add(&ranking, s, n, scope->own[n]);
            scope->own[n] = score_heads(routing, scope, n);
        }
    }
    ranking_sort(&ranking, MAX_LOOKED_AT);
    for (size_t i = 0; i < ranking.count && !code; i++) {
        struct scope *scope = &routing->scopes[ranking.items[i].scope];
        uint32_t n = ranking.items[i].node;
        struct kind_block best;
        code = kinds_best(snapshot, scope->view, n, scope->wanted, query,
                          matches_row(&scope->matches, n), maker, &best, err);
        if (!code)
            scope->own[n] = best.score;
    }
    free(ranking.items);
    analyzer_free(maker);
    return code;
}

/* Only a descent asks what sub-trees are worth. */
static bool is_descended(const struct route_request *request)
{
    return request->explain ||
           (request->mode != ROUTE_LEXICAL && request->mode != ROUTE_DENSE);
}

/* A section without text is found by its own title alone. */
static bool may_score(const struct scope *scope, uint32_t n)
{
    uint8_t found = scope->matches.found[n];
    if (!scope->view->nodes[n].words)
        found &= FOUND_OWN;
    return found && scope_accepts(scope, n);
}

static void score_own(struct routing *routing)
{
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        for (uint32_t n = scope->from; n < scope->end; n++)
            if (may_score(scope, n))
                scope->own[n] = lexical_score(&routing->query, scope->view, n,
                                              matches_row(&scope->matches, n));
    }
}

int score_terms(struct routing *routing, const struct snapshot *snapshot,
                struct err *err)
{
    struct store_txn *txn;
    int code = store_read(snapshot->store, &txn, err);
    if (code)
        return code;
    code = correct_terms(routing, txn, err);
    for (size_t s = 0; s < routing->scope_count && !code; s++)
        code = lexical_match(txn, routing->scopes[s].view, &routing->query,
                             &routing->scopes[s].matches, err);
    store_end(txn);
    if (code)
        return code;
    weigh_terms(routing);
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        uint32_t count = scope->view->outline->count;
        scope->own = mem_alloc(count * sizeof *scope->own);
        scope->branch = mem_alloc(count * sizeof *scope->branch);
        scope->whole = mem_alloc(count * sizeof *scope->whole);
    }
    score_own(routing);
    if (routing->request->kinds)
        code = score_kinds(routing, snapshot, err);
    if (!is_descended(routing->request))
        return code;
    for (size_t s = 0; s < routing->scope_count && !code; s++) {
        score_subtrees(&routing->query, &routing->scopes[s]);
        score_branches(&routing->scopes[s]);
    }
    return code;
}

/* ---- Rankings ---- */

void rank_lexical(struct routing *routing, struct ranking *ranking)
{
    for (size_t s = 0; s < routing->scope_count; s++) {
        const struct scope *scope = &routing->scopes[s];
        for (uint32_t n = scope->from; n < scope->end; n++)
            if (scope->own[n] > 0)
                ranking_add(ranking, s, n, scope->own[n]);
    }
    ranking_sort(ranking, ranking_depth(routing));
}

static bool enters(const struct routing *routing, const struct scope *scope)
{
    return routing->request->mode != ROUTE_TREE || !scope->vectors;
}

static double branch_score(const struct routing *routing,
                           const struct scope *scope, uint32_t node)
{
    (void)routing;
    return scope->branch[node] > 0 ? scope->branch[node] : NOTHING;
}

static double leaf_score(const struct routing *routing,
                         const struct scope *scope, uint32_t node)
{
    (void)routing;
    uint32_t parent = scope->view->outline->nodes[node].parent;
    double context = parent == TREE_NONE ? 0 : scope->whole[parent];
    return scope->own[node] > 0 ? scope->own[node] + CONTEXT * context
                                : NOTHING;
}

void rank_terms(struct routing *routing, struct ranking *ranking)
{
    static const struct beam_search by_terms = {ROUTE_BY_TERMS, enters,
                                                branch_score, leaf_score};
    descend(routing, &by_terms, ranking);
}
