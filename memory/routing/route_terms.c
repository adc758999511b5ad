#include <math.h>
#include <stdlib.h>

#include "memory/routing/route_internal.h"

/* What the sub-tree as a whole adds to its best node when a branch is chosen,
 * and what the branch a node stands in adds to the node. */
static const double WHOLE_BRANCH = 0.3, CONTEXT = 0.1;

/* Nodes whose blocks of the wanted kinds are looked at; of the rest title and
 * path alone count. */
enum { MAX_LOOKED_AT = 100 };

/* Sections that are called as the question names them, besides the best by score. */
enum { CALLED = 30 };

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

/* A sub-tree as one text: for every term the number of its nodes that hold it,
 * against the share that chance would give, saturated; the title of its own
 * root weighs more. */
static double score_subtree(const struct query *query,
                            const struct scope *scope, uint32_t node)
{
    const struct matches *matches = &scope->matches;
    uint32_t from = matches_from(matches, node);
    uint32_t end = matches_from(matches, scope->view->ends[node]);
    uint32_t held[QUERY_MAX_TERMS] = {0};
    if (from == end)
        return 0;
    for (uint32_t i = matches_first(matches, from);
         i < matches_first(matches, end); i++)
        held[matches->items[i].term]++;
    struct match_row row = matches_row(matches, node);
    double owners = scope->view->nodes[node].owned, score = 0;
    for (size_t t = 0; t < query->count; t++) {
        if (!held[t])
            continue;
        double tf = held[t] / (1.0 + 0.05 * owners) +
                    (row.of[t].title || row.of[t].alias ? 2.0 : 0.0);
        score += query->terms[t].weight * query->terms[t].idf * tf / (1.0 + tf);
    }
    return score;
}

/* What a node's own text gains from what it stands in. */
static double score_parent(const struct query *query, struct scope *scope,
                           uint32_t parent)
{
    if (scope->parent != parent) {
        scope->parent_score = score_subtree(query, scope, parent);
        scope->parent = parent;
    }
    return CONTEXT * scope->parent_score;
}

static double own_score(const struct routing *routing, struct scope *scope,
                        uint32_t place)
{
    if (scope->own[place] < 0)
        scope->own[place] = lexical_score_found(&routing->query, scope->view,
                                                &scope->matches, place);
    return scope->own[place];
}

/* The score of a place where it is above `least`, else no more than that. */
static double score_above(const struct routing *routing, struct scope *scope,
                          uint32_t place, double least)
{
    return fabs(scope->own[place]) > least ? own_score(routing, scope, place)
                                           : 0;
}

/* The best node of a sub-tree; 0: nothing in it can be found. */
static double best_within(const struct routing *routing, struct scope *scope,
                          uint32_t node)
{
    uint32_t end = matches_from(&scope->matches, scope->view->ends[node]);
    double best = 0;
    for (uint32_t p = matches_from(&scope->matches, node); p < end; p++) {
        double score = score_above(routing, scope, p, best);
        best = score > best ? score : best;
    }
    return best;
}

static int correct_terms(struct routing *routing, struct store_txn *txn,
                         struct err *err)
{
    size_t count = routing->scope_count;
    const struct view **views = mem_alloc(count * sizeof(*views));
    int code = find_language(routing, txn, err);
    for (size_t s = 0; s < count; s++)
        views[s] = routing->scopes[s].view;
    if (!code && routing->request->typing)
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
static int score_kinds(struct routing *routing, struct err *err)
{
    const struct query *query = &routing->query;
    struct ranking ranking = {0};
    struct analyzer *maker = analyzer_new();
    int code = 0;
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        for (uint32_t p = 0; p < scope->matches.count; p++) {
            uint32_t node = scope->matches.nodes[p].node;
            if (!(own_score(routing, scope, p) > 0))
                continue;
            ranking_add(&ranking, s, node, scope->own[p]);
            scope->own[p] = score_heads(routing, scope, node);
        }
    }
    ranking_sort(&ranking, MAX_LOOKED_AT);
    for (size_t i = 0; i < ranking.count && !code; i++) {
        struct scope *scope = &routing->scopes[ranking.items[i].scope];
        uint32_t n = ranking.items[i].node;
        struct match_row row = matches_row(&scope->matches, n);
        struct kind_block best;
        code = kinds_best(routing->snapshot, scope->view, n, scope->wanted,
                          query, &routing->sought, row.of, maker, &best, err);
        if (!code)
            scope->own[matches_from(&scope->matches, n)] = best.score;
    }
    free(ranking.items);
    analyzer_free(maker);
    return code;
}

/* A section without text is found by its own title alone. */
static bool may_score(const struct scope *scope, uint32_t place)
{
    const struct matches *matches = &scope->matches;
    uint32_t node = matches->nodes[place].node;
    bool own = matches_first(matches, place) < matches->nodes[place].end;
    return (own || bitset_has(scope->view->texts, node)) &&
           scope_accepts(scope, node);
}

/* Most nodes hold a common word or two, and are scored only if that could matter. */
static void bound_own(struct routing *routing)
{
    struct lexical_bounds bounds;
    lexical_bounds(&routing->query, &bounds);
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        scope->own = mem_alloc(scope->matches.count * sizeof *scope->own);
        for (uint32_t p = 0; p < scope->matches.count; p++)
            if (may_score(scope, p))
                scope->own[p] =
                    -lexical_bound_found(&bounds, &scope->matches, p);
    }
}

/* What each scope's matching came to. */
struct matching {
    struct routing *routing;
    struct err *errs; /* [scope_count] */
    int *codes;       /* [scope_count] */
};

static void match_scopes(void *context, size_t from, size_t to)
{
    struct matching *matching = context;
    struct routing *routing = matching->routing;
    struct store_txn *txn = NULL;
    int code =
        store_read(routing->snapshot->store, &txn, &matching->errs[from]);
    for (size_t s = from; s < to && !code; s++)
        code = matching->codes[s] =
            lexical_match(txn, routing->scopes[s].view, &routing->query,
                          &routing->scopes[s].matches, &matching->errs[s]);
    if (!txn)
        matching->codes[from] = code;
    else
        store_end(txn);
}

static int match_each(struct routing *routing, struct err *err)
{
    size_t count = routing->scope_count, s = 0;
    struct matching matching = {routing,
                                mem_alloc((count + 1) * sizeof(struct err)),
                                mem_alloc((count + 1) * sizeof(int))};
    routing_share(routing, count, match_scopes, &matching);
    while (s < count && !matching.codes[s])
        s++;
    int code = matching.codes[s];
    if (code && err)
        *err = matching.errs[s];
    free(matching.errs);
    free(matching.codes);
    return code;
}

int match_terms(struct routing *routing, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(routing->snapshot->store, &txn, err);
    if (code)
        return code;
    code = correct_terms(routing, txn, err);
    store_end(txn);
    return code ? code : match_each(routing, err);
}

int score_terms(struct routing *routing, struct err *err)
{
    routing->sought = query_sought(&routing->query);
    find_named_manuals(routing);
    weigh_terms(routing);
    bound_own(routing);
    return routing->request->kinds ? score_kinds(routing, err) : 0;
}

/* ---- Rankings ---- */

/* Terms that a title may hold for its section to be looked at. */
struct calls {
    uint64_t wholes; /* any of these names, asked or pointed back at, */
    uint64_t own;    /* or all that the question itself says */
};

static struct calls calls_of(const struct query *query)
{
    struct calls calls = {.own = query_own_terms(query)};
    for (size_t t = 0; t < query->count; t++) {
        const struct query_term *term = &query->terms[t];
        if (!term->instead_of && !term->manual && term->whole &&
            term->share >= carried_pointed)
            calls.wholes |= (uint64_t)1 << t;
    }
    return calls;
}

static bool is_called(const struct calls *calls, uint64_t titles)
{
    return titles & calls->wholes ||
           (calls->own && (titles & calls->own) == calls->own);
}

/* Of a ranking that is full and sorted: some of those that are as good as its last. */
static bool is_ranked(const struct ranking *ranking, size_t scope,
                      uint32_t node, double score)
{
    size_t i = ranking->count;
    while (i > 0 && !(ranking->items[i - 1].score > score)) {
        const struct ranked *item = &ranking->items[--i];
        if (item->scope == scope && item->node == node)
            return true;
    }
    return score > ranking->items[ranking->count - 1].score;
}

/* What is called as the question, or as a name in it, comes first (prefer_named) if it
 * is looked at, however many sections say the name more often: of a type, each
 * function. */
static void add_called(struct routing *routing, struct ranking *ranking)
{
    const struct calls calls = calls_of(&routing->query);
    struct ranking called = {0};
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        for (uint32_t p = 0; p < scope->matches.count; p++) {
            uint32_t node = scope->matches.nodes[p].node;
            double score = is_called(&calls, matches_titles(&scope->matches, p))
                               ? own_score(routing, scope, p)
                               : 0;
            if (score > 0 && !is_ranked(ranking, s, node, score))
                ranking_offer(&called, CALLED, s, node, score);
        }
    }
    ranking_sort(&called, CALLED);
    for (size_t i = 0; i < called.count; i++)
        ranking_add(ranking, called.items[i].scope, called.items[i].node,
                    called.items[i].score);
    free(called.items);
}

void rank_lexical(struct routing *routing, struct ranking *ranking)
{
    size_t max = ranking_depth(routing);
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        for (uint32_t p = 0; p < scope->matches.count; p++) {
            double least = ranking_least(ranking, max);
            double score = score_above(routing, scope, p, least);
            if (score > least)
                ranking_offer(ranking, max, s, scope->matches.nodes[p].node,
                              score);
        }
    }
    ranking_sort(ranking, max);
    if (ranking->count == max)
        add_called(routing, ranking);
}

static bool enters(const struct routing *routing, const struct scope *scope)
{
    return routing->request->mode != ROUTE_TREE || !scope->vectors;
}

/* A mean washes out what one section says, so a branch is worth its best node and a
 * little of the whole. */
static double branch_score(const struct routing *routing, struct scope *scope,
                           uint32_t node)
{
    double best = best_within(routing, scope, node);
    return best > 0 ? best + WHOLE_BRANCH *
                                 score_subtree(&routing->query, scope, node)
                    : NOTHING;
}

static double leaf_score(const struct routing *routing, struct scope *scope,
                         uint32_t node)
{
    const struct matches *matches = &scope->matches;
    uint32_t parent = scope->view->outline->nodes[node].parent;
    double own = matches_has(matches, node)
                     ? own_score(routing, scope, matches_from(matches, node))
                     : 0;
    if (!(own > 0))
        return NOTHING;
    return own + (parent == TREE_NONE
                      ? 0
                      : score_parent(&routing->query, scope, parent));
}

void rank_terms(struct routing *routing, struct ranking *ranking)
{
    static const struct beam_search by_terms = {ROUTE_BY_TERMS, enters,
                                                branch_score, leaf_score};
    descend(routing, &by_terms, ranking);
}
