#include <stdlib.h>

#include "memory/routing.h"

static void find_holders(struct scope *scope)
{
    const struct tree *outline = scope->volume->outline;
    scope->holds = mem_alloc(outline->count * sizeof *scope->holds);
    for (uint32_t n = outline->count; n-- > 0;) {
        uint32_t parent = outline->nodes[n].parent;
        scope->holds[n] = scope->holds[n] || scope_accepts(scope, n);
        if (parent != TREE_NONE && scope->holds[n])
            scope->holds[parent] = true;
    }
}

void find_vectors(struct routing *routing)
{
    const struct route_request *request = routing->request;
    for (size_t s = 0; s < routing->scope_count && request->vector; s++) {
        struct scope *scope = &routing->scopes[s];
        const struct vectors *vectors = scope->volume->vectors;
        if (!vectors || !hash_equal(vectors_policy(vectors), request->policy))
            continue;
        scope->vectors = vectors;
        find_holders(scope);
    }
}

static bool accepts(void *context, uint32_t node)
{
    return scope_accepts(context, node);
}

void rank_dense(struct routing *routing, struct ranking *ranking)
{
    size_t most = ranking_depth(routing);
    struct vector_hit *hits = mem_alloc(most * sizeof *hits);
    for (size_t s = 0; s < routing->scope_count; s++) {
        struct scope *scope = &routing->scopes[s];
        size_t count = 0;
        if (scope->vectors)
            count = vectors_search(scope->vectors, routing->request->vector,
                                   scope->from, scope->end, accepts, scope,
                                   most, hits);
        for (size_t i = 0; i < count; i++)
            ranking_add(ranking, s, hits[i].node, (double)hits[i].score);
    }
    free(hits);
    ranking_sort(ranking, most);
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

static double branch_score(const struct routing *routing,
                           const struct scope *scope, uint32_t node)
{
    return scope->holds[node]
               ? cosine_or_nothing(vectors_whole(
                     scope->vectors, routing->request->vector, node))
               : NOTHING;
}

static double leaf_score(const struct routing *routing,
                         const struct scope *scope, uint32_t node)
{
    return scope_accepts(scope, node)
               ? cosine_or_nothing(vectors_own(scope->vectors,
                                               routing->request->vector, node))
               : NOTHING;
}

void rank_tree(struct routing *routing, struct ranking *ranking)
{
    static const struct descent by_memories = {ROUTE_BY_TREE, enters,
                                               branch_score, leaf_score};
    descend(routing, &by_memories, ranking);
}
