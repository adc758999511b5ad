#include "memory/routing/route_internal.h"

/* Sections whose blocks are looked at; chosen with the ranking's weight. */
enum { DEPTH = 30 };

/* Words that stand together in one paragraph say more than words strewn over a long
 * section: BM25 of each section with its best block for its body (MaxP of Dai and
 * Callan, "Deeper text understanding for IR", 2019, by words). */
void rank_blocks(struct routing *routing, const struct ranking *lexical,
                 struct ranking *ranking)
{
    struct analyzer *maker = analyzer_new();
    for (size_t i = 0; i < lexical->count && i < DEPTH; i++) {
        const struct ranked *item = &lexical->items[i];
        const struct scope *scope = &routing->scopes[item->scope];
        kind_set kinds = scope->wanted ? scope->wanted : ~(kind_set)0;
        struct match_row row = matches_row(&scope->matches, item->node);
        struct kind_block best;
        /* What cannot be read here is told where it is shown. */
        if (!kinds_best(routing->snapshot, scope->view, item->node, kinds,
                        &routing->query, row.of, maker, &best, NULL) &&
            best.block != TREE_NONE)
            ranking_add(ranking, item->scope, item->node, best.score);
    }
    ranking_sort(ranking, DEPTH);
    analyzer_free(maker);
}
