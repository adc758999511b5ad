/* A question being routed: what route.c and its parts share. */
#ifndef MEMORY_ROUTING_ROUTE_INTERNAL_H
#define MEMORY_ROUTING_ROUTE_INTERNAL_H

#include <math.h>

#include "memory/lexical/lexical.h"
#include "memory/routing/route.h"
#include "memory/vectors/vectors.h"

/* One view under a question. */
struct scope {
    const struct view *view;
    uint32_t from, end;    /* nodes that may be found: [from, end) */
    uint32_t file;         /* only of this file; TREE_NONE: any */
    uint64_t names;        /* a bit for each term that it alone is called */
    bool called;           /* the question says all of its name, and it alone */
    bool spoken;           /* alone in the question's language, not English */
    const kind_set *kinds; /* [outline->count]; NULL: any will do */
    kind_set wanted;       /* of these */
    bool *refused; /* [outline->count] by the query's operators; NULL: none */
    const struct vectors *vectors; /* that the question may be compared with;
                                      NULL: none */
    size_t rows;                   /* of them, of nodes that may be found */
    struct matches matches;
    /* [matches.count] lexical score; 0: it may not be found; below 0: it is not
     * known yet and is at most that much (MaxScore: Turtle and Flood 1995). */
    double *own;
    /* Whose score as a branch was asked for last, as it is for each child of it. */
    uint32_t parent;
    double parent_score;
};

struct routing {
    const struct route_request *request;
    const struct snapshot *snapshot;
    struct query query;
    struct sought_terms sought; /* all of its terms; score_terms makes it */
    struct scope *scopes;       /* [scope_count] */
    size_t scope_count;
    bool calls; /* some scope is called */
    struct route_result *result;
    size_t step_capacity;
};

/* What a term of the question before counts at least where this one points back at it. */
extern const double carried_pointed;
/* What a question counts for the one that follows it up; each before it that share of a
 * share. */
double route_carried(const struct route_context *context);

/* Shares out what has `count` parts, as pool_parallel_for does; not where steps are
 * noted, one after the other. */
void routing_share(const struct routing *routing, size_t count,
                   void (*body)(void *context, size_t from, size_t to),
                   void *context);

/* May the node be found? */
bool scope_accepts(const struct scope *scope, uint32_t node);

/* ---- Rankings: rankings.c ---- */

struct ranked {
    size_t scope;
    uint32_t node;
    double score;
};

struct ranking {
    struct ranked *items;
    size_t count, capacity;
};

void ranking_add(struct ranking *ranking, size_t scope, uint32_t node,
                 double score);
/* The same where no more than `max`, at least 1, are to stay, scores are above 0 and
 * nodes come in document order; in no order until ranking_sort. */
void ranking_offer(struct ranking *ranking, size_t max, size_t scope,
                   uint32_t node, double score);
/* What scores no more than this would not stay. */
double ranking_least(const struct ranking *ranking, size_t max);
/* Best first, ties in document order; the first `most` stay. */
void ranking_sort(struct ranking *ranking, size_t max);

/* How many of a ranking are fused: as many as are wanted, if that is more
 * than 100. */
size_t ranking_depth(const struct routing *routing);

struct fused {
    size_t scope;
    uint32_t node;
    double score;
    double ranked; /* the score before any rule added to it */
    struct route_place by[ROUTE_RANKINGS];
    struct route_place pieces;
    uint8_t sides; /* of a comparison that it is called as, a bit each */
};

static inline const struct node *fused_node(const struct routing *routing,
                                            const struct fused *item)
{
    return &routing->scopes[item->scope].view->outline->nodes[item->node];
}

/* ret: in no order, without nodes that only rankings of weight 0 hold; freed by the
 * caller.  Returns how many. */
size_t rankings_fuse(const struct ranking rankings[ROUTE_RANKINGS],
                     const struct route_weights *weights, struct fused **ret);

/* Adds to the score of each item what `bonus` says. */
void rankings_add(struct fused *items, size_t count,
                  double (*bonus)(const void *context,
                                  const struct fused *item),
                  const void *context);

/* Best first. */
void rankings_sort(struct fused *items, size_t count);

/* Puts the items in the order of `scores` [count], highest first, ties as they stand; the
 * first has the score that the first had, and so on. */
void rankings_reorder(struct fused *items, const double *scores, size_t count);

/* ---- Operators: route_operators.c ---- */

/* Finds the nodes that the query's operators refuse, and says of each operator what
 * became of it. */
int refuse_nodes(struct routing *routing, struct err *err);

/* ---- Blocks: route_blocks.c ---- */

/* Ranks the first sections of `lexical` by their best block. */
void rank_blocks(const struct routing *routing, const struct ranking *lexical,
                 struct ranking *ranking);

/* ---- Names: route_names.c ---- */

/* Puts what is called as the question is, or as an identifier in it, before what
 * says its words more often; not in the modes that are a paper's. */
void prefer_named(const struct routing *routing, struct fused *fused,
                  size_t count);
/* Puts, behind a section that is called as one side of a comparison, the best one of
 * its manual that is called as another, as high as that. */
void put_sides_together(struct fused *fused, size_t count);
/* The question's language and, if it is another than English, the manuals that are in it,
 * where others are asked, too: what all gain would only make them more alike. */
int find_language(struct routing *routing, struct store_txn *txn,
                  struct err *err);
/* Notes which terms are what a manual is called, and no other of those asked: "in R". */
void find_named_manuals(struct routing *routing);
/* Prefers such a manual. */
void prefer_manual(const struct routing *routing, struct fused *fused,
                   size_t count);

/* ---- Aside: route_aside.c ---- */

/* Puts sections that tell what changed from version to version behind others, unless the
 * question asks what changed, and listings of source, unless it asks for the source; not
 * in the modes that are a paper's. */
void set_aside(const struct routing *routing, struct fused *fused,
               size_t count);

/* ---- Letters: route_letters.c ---- */

/* The options of one letter that the question names or, where it points back at the
 * questions before, the last of these that names any. */
void find_letters(struct routing *routing);
/* Puts what is called as such an option before others and, in manuals that have one,
 * what is called so in the other case ("-c" for "-C") behind them; not in the modes that
 * are a paper's. */
void prefer_letters(const struct routing *routing, struct fused *fused,
                    size_t count);

/* ---- Turns: route_turns.c ---- */

/* Puts, behind the first five, in turn what is next by meaning and what is next by score;
 * in mode auto with the standard weights, with a model made to embed. */
void take_turns(const struct routing *routing, struct fused *fused,
                size_t count);

/* ---- Pieces: route_pieces.c ---- */

/* Puts the thirty best in the order of their scores and of how near the question's pieces
 * come to theirs; in mode auto with the standard weights, unless the model fails. */
void order_by_pieces(const struct routing *routing, struct fused *fused,
                     size_t count);

/* ---- Confidence: route_confidence.c ---- */

/* Share of the question's information found in title, path and body.  `doubtful`:
 * the common words that are not there count in full. */
double coverage(const struct query *query, const struct match *row,
                bool doubtful);

/* Says how likely the manuals hold an answer, from what rankings and rules ranked, best
 * first. */
void give_confidence(struct routing *routing, const struct fused *fused,
                     size_t count);
/* Makes it enough where one of the first results holds most of the question: asked of the
 * order that it was told from, and of the one that is shown. */
void raise_confidence(struct routing *routing, const struct fused *fused,
                      size_t count);

/* ---- Descents: beam_search.c ---- */

#define NOTHING (-HUGE_VAL)

/* How a descent scores; NOTHING: no such thing is there. */
struct beam_search {
    int ranking; /* enum route_ranking */
    /* Does it go through this view? */
    bool (*enters)(const struct routing *routing, const struct scope *scope);
    /* A sub-tree, by which it is kept or pruned. */
    double (*branch)(const struct routing *routing, struct scope *scope,
                     uint32_t node);
    /* A node's own content. */
    double (*leaf)(const struct routing *routing, struct scope *scope,
                   uint32_t node);
};

void descend(struct routing *routing, const struct beam_search *beam_search,
             struct ranking *ranking);

/* ---- By terms: route_terms.c; by vectors: route_vectors.c ---- */

/* Finds the terms of the question, as they are written in the manuals, in each scope. */
int match_terms(struct routing *routing, struct err *err);
/* Weighs them, and says what each node is worth at most. */
int score_terms(struct routing *routing, struct err *err);
void rank_lexical(struct routing *routing, struct ranking *ranking);
void rank_terms(struct routing *routing, struct ranking *ranking);

/* Says which scopes have vectors for the question. */
void find_vectors(struct routing *routing);
void rank_dense(struct routing *routing, struct ranking *ranking);
void rank_tree(struct routing *routing, struct ranking *ranking);

#endif
