#include "memory/routing/route_internal.h"

/* Sections whose blocks are looked at; chosen with the ranking's weight. */
enum { DEPTH = 30 };

struct blocks {
    const struct routing *routing;
    const struct ranking *lexical;
    struct kind_block best[DEPTH];
};

static void find_best(void *context, size_t from, size_t to)
{
    struct blocks *blocks = context;
    const struct routing *routing = blocks->routing;
    struct analyzer *maker = analyzer_new();
    for (size_t i = from; i < to; i++) {
        const struct ranked *item = &blocks->lexical->items[i];
        const struct scope *scope = &routing->scopes[item->scope];
        kind_set kinds = scope->wanted ? scope->wanted : ~(kind_set)0;
        struct match_row row = matches_row(&scope->matches, item->node);
        /* What cannot be read here is told where it is shown. */
        if (kinds_best(routing->snapshot, scope->view, item->node, kinds,
                       &routing->query, &routing->sought, row.of, maker,
                       &blocks->best[i], NULL))
            blocks->best[i].block = TREE_NONE;
    }
    analyzer_free(maker);
}

/* Words that stand together in one paragraph say more than words strewn over a long
 * section: BM25 of each section with its best block for its body (MaxP of Dai and
 * Callan, "Deeper text understanding for IR", 2019, by words). */
void rank_blocks(const struct routing *routing, const struct ranking *lexical,
                 struct ranking *ranking)
{
    struct blocks blocks = {.routing = routing, .lexical = lexical};
    size_t count = lexical->count < DEPTH ? lexical->count : DEPTH;
    routing_share(routing, count, find_best, &blocks);
    for (size_t i = 0; i < count; i++)
        if (blocks.best[i].block != TREE_NONE)
            ranking_add(ranking, lexical->items[i].scope,
                        lexical->items[i].node, blocks.best[i].score);
    ranking_sort(ranking, DEPTH);
}
