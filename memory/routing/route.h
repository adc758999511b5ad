/* Routing: which sections answer a question.
 *
 * Rankings of the nodes that own content, fused by their scores:
 *   lexical  BM25 over title, path and body (lexical.h);
 *   terms    descent from the root, beam 4, each branch scored by its best node
 *            and by the whole;
 *   dense    nodes by their best segment's cosine with the question;
 *   tree     descent by memories (H2MT 2.4), each branch scored by the cosine
 *            of its whole sub-tree, each node by its best segment's.
 * The last two need the question's vector, and take part of each manual that
 * has vectors of the same policy.
 *
 * Then the thirty best of mode auto may be put in order anew by the question's pieces
 * (route_pieces.c).
 *
 * Fused score = sum of weight times score, each ranking's scores scaled so that
 * its best is 1 and 0 (cosines: its 100th) is 0; depth 100 or the hits wanted,
 * absent = 0.  (Reciprocal ranks forget how sure the words are, and lose at the
 * first place what scores gain: docs/log/retrieval.md.)  Modes:
 *   auto     all four, weighted; with a model made to embed, behind the first
 *            five in turn what is next by dense and what is next by score;
 *   tree     descent by memories where a manual has them, else by terms;
 *   dense, lexical  the one ranking. */
#ifndef MEMORY_ROUTING_ROUTE_H
#define MEMORY_ROUTING_ROUTE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "memory/lexical/operators.h"
#include "memory/lexical/option_letters.h"
#include "memory/routing/confidence.h"
#include "memory/routing/kinds.h"
#include "memory/snapshot/library.h"

enum route_mode { ROUTE_AUTO, ROUTE_TREE, ROUTE_DENSE, ROUTE_LEXICAL };

enum route_ranking {
    ROUTE_BY_LEXICAL,
    ROUTE_BY_TERMS,
    ROUTE_BY_DENSE,
    ROUTE_BY_TREE,
    ROUTE_BY_BLOCK,
    ROUTE_RANKINGS
};
extern const char *const route_ranking_names[ROUTE_RANKINGS];

/* The weight of each ranking in the fused one. */
struct route_weights {
    double by[ROUTE_RANKINGS];
};

/* The questions that a question follows up: its predecessors, the last one first, and the
 * sections that answered them.  The terms of each count a share of what those of
 * its successor do, and what stands in or beside these sections is
 * preferred. */
enum { ROUTE_MAX_NEAR = 8 };
struct route_context {
    const char *const *questions; /* [question_count] */
    size_t question_count;
    bool names;           /* the question names a subject of its own */
    bool points;          /* it points back at theirs */
    const uint64_t *near; /* [near_count] ids of nodes, those that are gone are
                             passed over; at most ROUTE_MAX_NEAR */
    size_t near_count;
};

struct route_request {
    const char *query;
    const struct query_operators
        *operators;               /* what hits must and must not hold;
                                                NULL: nothing */
    const atomic_bool *cancelled; /* NULL: it never is */
    const char *const *manuals;   /* [manual_count]; none: all */
    size_t manual_count;
    const char *file;    /* only nodes of this file; NULL: all */
    uint64_t under;      /* only the sub-tree of this node; 0: all */
    int mode;            /* enum route_mode */
    kind_set kinds;      /* only nodes that own a block of these, scored by the
                              best of them; 0: all */
    size_t max;          /* hits wanted */
    const float *vector; /* the question in key space; NULL: no model */
    struct hash128 policy; /* of the vectors that it may be compared with */
    struct pieces *pieces; /* by which the best of mode auto are put in order;
                              NULL: they are not */
    bool embeds; /* the vector is of a model made to embed texts: its cosines
                    count more in mode auto */
    bool typing; /* the query is still being typed: its last word may go on */
    bool explain;
    const struct route_context *context; /* NULL: the question stands alone */
    /* Of mode auto; NULL: the standard ones.  For measuring what weights do. */
    const struct route_weights *weights;
    struct pool *pool; /* shares the work out; NULL: the caller does it all */
};

struct route_place {
    uint32_t rank; /* from 1; 0: not in this ranking */
    double score;  /* in this ranking */
};

struct route_hit {
    const struct view *view;
    uint32_t node;
    double score; /* fused; of no meaning beyond its order; of one that its turn
                        has moved up, that of the next behind it */
    double coverage; /* 0..1: share of the question's information (idf) whose
                         terms occur in the node, its title or its path */
    uint32_t block;  /* with `kinds`: the best of them, an index in the node's
                        content; else TREE_NONE */
    struct route_place by[ROUTE_RANKINGS];
    struct route_place pieces; /* by its match with the question's pieces */
    uint8_t sides; /* of a comparison that it is called as, a bit each */
};

/* One node that a descent looked at. */
struct route_step {
    int ranking; /* ROUTE_BY_TERMS or ROUTE_BY_TREE */
    const struct view *view;
    uint32_t node;
    uint32_t depth; /* level of the descent */
    double score;
    bool kept; /* false: pruned */
};

/* How the vectors of sections were searched. */
struct route_dense {
    size_t rows;    /* segments of the nodes that may be found; 0: dense took
                        no part */
    uint32_t lists; /* of the index of all segments; 0: each row was compared */
    uint32_t probes; /* of the lists, those whose rows were */
    size_t seen;     /* rows in them, compared in 8 bits */
    size_t added; /* rows that the index does not hold yet, compared besides */
};

struct route_term {
    char *term;     /* as in the index; "=": an identifier as a whole */
    char *written;  /* as the question has it, when no node holds that and
                       `term` is the nearest one; else NULL */
    uint32_t nodes; /* that hold it */
    double idf;
    double weight;       /* what it counts */
    bool common;         /* an everyday word of a sentence: beside the point */
    uint32_t instead_of; /* a bit for each of the terms that it may stand for;
                            0: it is of the question itself */
    uint8_t parts;       /* a bit for each part of the question that has it */
    uint8_t sides;       /* and for each side of what it compares */
};

/* What became of an operator of the query. */
struct route_operator {
    char *text;
    bool exclude;
    bool demanded;  /* each hit holds it */
    bool nowhere;   /* a phrase that no section holds */
    uint32_t nodes; /* that hold it */
};

struct route_result {
    struct route_hit *hits; /* [count], best first */
    size_t count;
    struct route_step *steps; /* [step_count], only with explain */
    size_t step_count;
    struct route_term *terms; /* [term_count] */
    size_t term_count;
    struct option_letters letters; /* that it names, or is carried */
    size_t parts;                  /* things that the question asks */
    char *expanded; /* what the caller searched for, too, to be freed with the
                       result; NULL: nothing */
    struct route_operator operators[OPERATORS_MAX]; /* [operator_count] */
    size_t operator_count;
    struct route_weights weights; /* by which they are fused */
    struct route_dense dense;
    double confidence; /* 0..1: probability that the manuals hold an answer */
    double features[CONFIDENCE_FEATURES]; /* from which it is told */
};

/* ERR_USAGE: empty query, unknown manual, node or file.  ERR_CANCELLED.  ERR_MODEL: mode dense
 * without a vector, or where no manual has vectors for it.  No hit is not an
 * error.  Free the result with route_result_free. */
int route_question(const struct snapshot *snapshot,
                   const struct route_request *request,
                   struct route_result *ret_result, struct err *err);
void route_result_free(struct route_result *result);

/* Below this confidence nothing in the manuals answers the question. */
extern const double route_min_confidence;
/* Below this one what is found may well not answer it. */
extern const double route_sure_confidence;

#endif
