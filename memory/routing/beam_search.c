#include <stdlib.h>

#include "memory/routing/route_internal.h"

enum { BEAM = 4, MAX_DEPTH = 512 /* each level looks at all below it */ };

static void note_step(struct routing *routing,
                      const struct beam_search *beam_search,
                      const struct ranked *item, uint32_t depth, bool kept)
{
    struct route_result *result = routing->result;
    if (!routing->request->explain)
        return;
    MEM_RESERVE(result->steps, &routing->step_capacity, result->step_count + 1);
    result->steps[result->step_count++] =
        (struct route_step){.ranking = beam_search->ranking,
                            .view = routing->scopes[item->scope].view,
                            .node = item->node,
                            .depth = depth,
                            .score = item->score,
                            .kept = kept};
}

static void add_branch(const struct routing *routing,
                       const struct beam_search *beam_search, size_t s,
                       uint32_t node, struct ranking *branches)
{
    double score = beam_search->branch(routing, &routing->scopes[s], node);
    if (score > NOTHING)
        ranking_add(branches, s, node, score);
}

/* A node's own content is a leaf child of it, which does not compete for the
 * beam. */
static void add_leaf(const struct routing *routing,
                     const struct beam_search *beam_search, size_t s,
                     uint32_t node, struct ranking *leaves)
{
    double score = beam_search->leaf(routing, &routing->scopes[s], node);
    if (score > NOTHING)
        ranking_add(leaves, s, node, score);
}

/* The branches that the beam goes on with; the others are pruned. */
static void prune(struct routing *routing,
                  const struct beam_search *beam_search,
                  struct ranking *branches, uint32_t depth)
{
    ranking_sort(branches, ranking_depth(routing));
    for (size_t i = 0; i < branches->count; i++)
        note_step(routing, beam_search, &branches->items[i], depth, i < BEAM);
    if (branches->count > BEAM)
        branches->count = BEAM;
}

static void expand(const struct routing *routing,
                   const struct beam_search *beam_search,
                   const struct ranked *item, struct ranking *branches,
                   struct ranking *leaves)
{
    const struct scope *scope = &routing->scopes[item->scope];
    const struct node *nodes = scope->view->outline->nodes;
    for (uint32_t c = item->node + 1; c < nodes[item->node].end;
         c = nodes[c].end) {
        add_leaf(routing, beam_search, item->scope, c, leaves);
        if (nodes[c].end > c + 1)
            add_branch(routing, beam_search, item->scope, c, branches);
    }
}

void descend(struct routing *routing, const struct beam_search *beam_search,
             struct ranking *ranking)
{
    struct ranking beam = {0};
    for (size_t s = 0; s < routing->scope_count; s++)
        if (beam_search->enters(routing, &routing->scopes[s]))
            add_branch(routing, beam_search, s, routing->scopes[s].from, &beam);
    prune(routing, beam_search, &beam, 0);
    for (size_t i = 0; i < beam.count; i++)
        add_leaf(routing, beam_search, beam.items[i].scope, beam.items[i].node,
                 ranking);
    for (uint32_t depth = 1; beam.count && depth < MAX_DEPTH; depth++) {
        struct ranking branches = {0};
        for (size_t i = 0; i < beam.count; i++)
            expand(routing, beam_search, &beam.items[i], &branches, ranking);
        prune(routing, beam_search, &branches, depth);
        free(beam.items);
        beam = branches;
    }
    free(beam.items);
    ranking_sort(ranking, ranking_depth(routing));
}
