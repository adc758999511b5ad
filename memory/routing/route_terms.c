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

/* What a manual is called says which is meant; of its sections it tells what it tells
 * among them alone: "bash" stands in each of Bash's manual. */
static void limit_names(struct routing *routing)
{
    for (size_t s = 0; s < routing->scope_count; s++) {
        const struct scope *scope = &routing->scopes[s];
        for (size_t t = 0; t < routing->query.count; t++)
            if (scope->names >> t & 1)
                routing->query.terms[t].most =
                    idf_of(scope->view->owners, scope->matches.owners[t]);
    }
}

static void weigh_terms(struct routing *routing)
{
    struct query *query = &routing->query;
    double owners = 0, words = 0;
    for (size_t s = 0; s < routing->scope_count; s++) {
        const struct scope *scope = &routing->scopes[s];
        owners += scope->view->owners;
        words += scope->view->owners * scope->view->mean_words;
        for (size_t t = 0; t < query->count; t++)
            query->terms[t].nodes += scope->matches.owners[t];
    }
    limit_names(routing);
    query_weigh(query, owners, owners > 0 ? words / owners : 0);
}

/* ---- Sub-trees ---- */

/* For each term the nodes that hold it, in order: those of a sub-tree follow each
 * other. */
struct subtrees {
    uint32_t *nodes;                  /* of one term after the other */
    size_t from[QUERY_MAX_TERMS + 1]; /* of each term's */
    /* Whose score was asked for last, as it is for each of its children. */
    uint32_t parent;
    double score;
};

void subtrees_free(struct subtrees *subtrees)
{
    if (!subtrees)
        return;
    free(subtrees->nodes);
    free(subtrees);
}

static struct subtrees *list_holders(const struct scope *scope)
{
    const struct matches *matches = &scope->matches;
    uint32_t count = scope->view->outline->count;
    const struct found_term *end = matches_end(matches, count - 1);
    struct subtrees *subtrees = mem_alloc(sizeof *subtrees);
    size_t at[QUERY_MAX_TERMS];
    subtrees->parent = TREE_NONE;
    for (const struct found_term *item = matches->items; item < end; item++)
        subtrees->from[item->term + 1]++;
    for (size_t t = 0; t < matches->terms; t++) {
        subtrees->from[t + 1] += subtrees->from[t];
        at[t] = subtrees->from[t];
    }
    subtrees->nodes =
        mem_alloc(subtrees->from[matches->terms] * sizeof *subtrees->nodes);
    const struct found_term *item = matches->items;
    for (uint32_t n = 0; n < count; n++)
        for (; item < matches_end(matches, n); item++)
            subtrees->nodes[at[item->term]++] = n;
    return subtrees;
}

/* The first place from `at` to `end` whose node is this one or later. */
static size_t place_of(const struct subtrees *subtrees, size_t at, size_t end,
                       uint32_t node)
{
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (subtrees->nodes[middle] < node)
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

/* A sub-tree as one text: for every term the number of its nodes that hold it,
 * against the share that chance would give, saturated; the title of its own
 * root weighs more. */
static double score_subtree(const struct query *query,
                            const struct scope *scope, uint32_t node)
{
    const struct subtrees *subtrees = scope->subtrees;
    struct match_row row = matches_row(&scope->matches, node);
    double owners = scope->view->nodes[node].owned, score = 0;
    for (size_t t = 0; t < query->count; t++) {
        size_t end = subtrees->from[t + 1];
        size_t first = place_of(subtrees, subtrees->from[t], end, node);
        size_t held = place_of(subtrees, first, end,
                               scope->view->outline->nodes[node].end) -
                      first;
        if (!held)
            continue;
        double tf = (double)held / (1.0 + 0.05 * owners) +
                    (row.of[t].title || row.of[t].alias ? 2.0 : 0.0);
        score += query->terms[t].weight * query->terms[t].idf * tf / (1.0 + tf);
    }
    return score;
}

/* What a node's own text gains from what it stands in. */
static double score_parent(const struct query *query, const struct scope *scope,
                           uint32_t parent)
{
    struct subtrees *subtrees = scope->subtrees;
    if (subtrees->parent != parent) {
        subtrees->score = score_subtree(query, scope, parent);
        subtrees->parent = parent;
    }
    return CONTEXT * subtrees->score;
}

/* The best node of each sub-tree; 0: nothing in it can be found. */
static void score_branches(struct scope *scope)
{
    const struct view_node *nodes = scope->view->nodes;
    for (uint32_t n = scope->view->outline->count; n-- > 0;) {
        double best =
            scope->branch[n] > scope->own[n] ? scope->branch[n] : scope->own[n];
        uint32_t parent = nodes[n].parent;
        if (parent != TREE_NONE && scope->branch[parent] < best)
            scope->branch[parent] = best;
        scope->branch[n] = best;
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
    struct match_row row = matches_row(&scope->matches, node);
    for (size_t t = 0; t < query->count; t++) {
        row.of[t].body = 0;
        row.of[t].defined = 0;
    }
    return lexical_score(query, scope->view, node, row.of);
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
        struct match_row row = matches_row(&scope->matches, n);
        struct kind_block best;
        code = kinds_best(snapshot, scope->view, n, scope->wanted, query,
                          row.of, maker, &best, err);
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
                scope->own[n] = lexical_score_found(
                    &routing->query, scope->view, n, &scope->matches);
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
    find_named_manuals(routing);
    weigh_terms(routing);
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        uint32_t count = scope->view->outline->count;
        scope->own = mem_alloc(count * sizeof *scope->own);
        scope->branch = mem_alloc(count * sizeof *scope->branch);
    }
    score_own(routing);
    if (routing->request->kinds)
        code = score_kinds(routing, snapshot, err);
    if (!is_descended(routing->request))
        return code;
    for (size_t s = 0; s < routing->scope_count && !code; s++) {
        routing->scopes[s].subtrees = list_holders(&routing->scopes[s]);
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

/* A mean washes out what one section says, so a branch is worth its best node and a
 * little of the whole. */
static double branch_score(const struct routing *routing,
                           const struct scope *scope, uint32_t node)
{
    return scope->branch[node] > 0
               ? scope->branch[node] +
                     WHOLE_BRANCH * score_subtree(&routing->query, scope, node)
               : NOTHING;
}

static double leaf_score(const struct routing *routing,
                         const struct scope *scope, uint32_t node)
{
    uint32_t parent = scope->view->outline->nodes[node].parent;
    if (!(scope->own[node] > 0))
        return NOTHING;
    return scope->own[node] +
           (parent == TREE_NONE ? 0
                                : score_parent(&routing->query, scope, parent));
}

void rank_terms(struct routing *routing, struct ranking *ranking)
{
    static const struct beam_search by_terms = {ROUTE_BY_TERMS, enters,
                                                branch_score, leaf_score};
    descend(routing, &by_terms, ranking);
}
