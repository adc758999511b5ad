/* Routing: which sections answer a question.
 *
 * Two rankings of the nodes that own content, fused by reciprocal rank:
 *   lexical  BM25 over title, path and body (lexical.h);
 *   tree     descent from the root, beam 4 (H2MT 2.4 with terms in place of
 *            memories), each branch scored by its best node and by the whole.
 * Reciprocal rank: k = 60, depth 100 or the hits wanted, absent = 0. */
#ifndef MEMORY_ROUTE_H
#define MEMORY_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/library.h"

enum route_mode { ROUTE_AUTO, ROUTE_TREE, ROUTE_DENSE, ROUTE_LEXICAL };

struct route_request {
    const char *query;
    const char *manual;    /* NULL: all */
    const char *file;      /* only nodes of this file; NULL: all */
    uint64_t under;        /* only the sub-tree of this node; 0: all */
    int mode;              /* enum route_mode */
    size_t most;           /* hits wanted */
    const float *vector;   /* the question in key space; NULL: no model */
    struct hash128 policy; /* of the vectors that it may be compared with */
    bool explain;
};

struct route_hit {
    const struct volume *volume;
    uint32_t node;
    double score;    /* fused; of no meaning beyond its order */
    double lexical;  /* BM25 */
    double coverage; /* 0..1: share of the question's information (idf) whose
                         terms occur in the node, its title or its path */
};

/* One node that the descent looked at. */
struct route_step {
    const struct volume *volume;
    uint32_t node;
    uint32_t depth; /* level of the descent */
    double score;
    bool kept; /* false: pruned */
};

struct route_term {
    char *term;     /* as in the index; "=": an identifier as a whole */
    uint32_t nodes; /* that hold it */
    double idf;
};

struct route_result {
    struct route_hit *hits; /* [count], best first */
    size_t count;
    struct route_step *steps; /* [step_count], only with explain */
    size_t step_count;
    struct route_term *terms; /* [term_count] */
    size_t term_count;
    double confidence; /* greatest coverage among the first hits */
};

/* ERR_USAGE: empty query, unknown manual, node or file.  No hit is not an
 * error.  Free the result with route_result_free. */
int route_question(const struct shelf *shelf,
                   const struct route_request *request,
                   struct route_result *ret_result, struct err *err);
void route_result_free(struct route_result *result);

/* Below this confidence nothing in the manuals answers the question. */
extern const double route_least_confidence;

#endif
