#include <stdlib.h>

#include "memory/vectors/dense.h"
#include "memory/routing/route_internal.h"

/* Is all of the view asked? */
static bool is_whole(const struct scope *scope)
{
    return !scope->from && scope->end == scope->view->outline->count &&
           !scope->refused && !scope->kinds && scope->file == TREE_NONE;
}

static size_t count_rows(const struct scope *scope)
{
    size_t rows = 0;
    if (is_whole(scope))
        return vectors_kept(scope->vectors);
    for (uint32_t n = scope->from; n < scope->end; n++)
        if (scope_accepts(scope, n))
            rows += vectors_rows_of(scope->vectors, n);
    return rows;
}

void find_vectors(struct routing *routing)
{
    const struct route_request *request = routing->request;
    for (size_t s = 0; s < routing->scope_count && request->vector; s++) {
        struct scope *scope = &routing->scopes[s];
        const struct vectors *vectors = scope->view->vectors;
        if (!vectors || !hash_equal(vectors_policy(vectors), request->policy))
            continue;
        scope->vectors = vectors;
        scope->rows = count_rows(scope);
    }
}

/* ---- Dense ---- */

/* Which of the scopes is a view's, of those with vectors. */
struct accepting {
    const struct routing *routing;
    size_t *scope_of; /* [snapshot->count]; SIZE_MAX: none */
};

static bool accepts_of(void *context, size_t view, uint32_t node)
{
    const struct accepting *accepting = context;
    size_t scope = accepting->scope_of[view];
    return scope != SIZE_MAX &&
           scope_accepts(&accepting->routing->scopes[scope], node);
}

static void map_scopes(struct accepting *accepting)
{
    const struct routing *routing = accepting->routing;
    accepting->scope_of =
        mem_alloc(routing->snapshot->count * sizeof *accepting->scope_of);
    for (size_t v = 0; v < routing->snapshot->count; v++) {
        accepting->scope_of[v] = SIZE_MAX;
        for (size_t s = 0; s < routing->scope_count; s++)
            if (routing->scopes[s].view == routing->snapshot->views[v] &&
                routing->scopes[s].vectors)
                accepting->scope_of[v] = s;
    }
}

static bool rank_by_index(struct routing *routing, size_t max,
                          struct ranking *ranking)
{
    struct route_dense *dense = &routing->result->dense;
    struct accepting accepting = {routing, NULL};
    map_scopes(&accepting);
    struct dense_query query = {.vector = routing->request->vector,
                                .policy = routing->request->policy,
                                .rows = dense->rows,
                                .accept = accepts_of,
                                .context = &accepting,
                                .max = max};
    struct dense_hit *hits = mem_alloc(max * sizeof *hits);
    struct dense_trace trace;
    size_t count = 0;
    bool found =
        dense_search(routing->snapshot->dense, &query, hits, &count, &trace);
    for (size_t i = 0; i < count && found; i++)
        ranking_add(ranking, accepting.scope_of[hits[i].view], hits[i].node,
                    (double)hits[i].score);
    if (found)
        *dense = (struct route_dense){dense->rows, trace.lists, trace.probes,
                                      trace.seen, trace.added};
    free(hits);
    free(accepting.scope_of);
    return found;
}

static bool accepts(void *context, uint32_t node)
{
    return scope_accepts(context, node);
}

static void rank_by_rows(struct routing *routing, size_t max,
                         struct ranking *ranking)
{
    struct vector_hit *hits = mem_alloc(max * sizeof *hits);
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        size_t count = 0;
        if (scope->vectors)
            count = vectors_search(
                scope->vectors, routing->request->vector, scope->from,
                scope->end, is_whole(scope) ? NULL : accepts, scope, max, hits);
        for (size_t i = 0; i < count; i++)
            ranking_add(ranking, s, hits[i].node, (double)hits[i].score);
    }
    free(hits);
}

void rank_dense(struct routing *routing, struct ranking *ranking)
{
    size_t max = ranking_depth(routing);
    for (size_t s = 0; s < routing->scope_count; s++)
        routing->result->dense.rows += routing->scopes[s].rows;
    if (!rank_by_index(routing, max, ranking))
        rank_by_rows(routing, max, ranking);
    ranking_sort(ranking, max);
}

/* ---- Descent by memories ---- */

static bool enters(const struct routing *routing, const struct scope *scope)
{
    (void)routing;
    return scope->vectors != NULL;
}

static double cosine_or_nothing(float cosine)
{
    return cosine > -2 ? (double)cosine : NOTHING;
}

/* Of the sub-tree, may something be found? */
static bool holds_candidate(const struct scope *scope, uint32_t node)
{
    uint32_t end = scope->view->ends[node];
    while (node < end && !scope_accepts(scope, node))
        node++;
    return node < end;
}

static double branch_score(const struct routing *routing, struct scope *scope,
                           uint32_t node)
{
    return holds_candidate(scope, node)
               ? cosine_or_nothing(vectors_whole(
                     scope->vectors, routing->request->vector, node))
               : NOTHING;
}

static double leaf_score(const struct routing *routing, struct scope *scope,
                         uint32_t node)
{
    return scope_accepts(scope, node)
               ? cosine_or_nothing(vectors_own(scope->vectors,
                                               routing->request->vector, node))
               : NOTHING;
}

void rank_tree(struct routing *routing, struct ranking *ranking)
{
    static const struct beam_search by_memories = {ROUTE_BY_TREE, enters,
                                                   branch_score, leaf_score};
    descend(routing, &by_memories, ranking);
}
