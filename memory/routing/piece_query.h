/* A question's pieces and what each of them tells, after sections were compared with it
 * (route_pieces.c): so the texts of these sections are told apart the same way. */
#ifndef MEMORY_ROUTING_PIECE_QUERY_H
#define MEMORY_ROUTING_PIECE_QUERY_H

#include <stdint.h>

#include "base/buf.h"
#include "memory/embeddings/pieces.h"

enum { PIECE_QUERY_MAX = 24 };

struct piece_query {
    struct pieces *pieces;          /* kept; NULL: sections were not compared */
    int32_t ids[PIECE_QUERY_MAX];   /* [count] */
    float weights[PIECE_QUERY_MAX]; /* [count] of sum 1 */
    size_t count;
};

void piece_query_free(struct piece_query *query);

/* 0..1: what is held of the question by what comes as near to each of its pieces. */
double piece_query_match(const struct piece_query *query, const float *near);

/* How near the pieces of texts come to a question's, each piece compared once. */
struct piece_near {
    const struct piece_query *query;
    uint32_t
        *place; /* of each of the model's pieces, from 1; 0: not compared yet */
    float *near; /* [count, query->count] */
    size_t count, capacity;
    struct embed_ids ids,
        fresh; /* of the present text, and those not met before */
};

/* False: the question has none, and `ret` is empty. */
bool piece_near_new(const struct piece_query *query, struct piece_near *ret);
void piece_near_free(struct piece_near *near);

/* best [query->count] becomes the greater of itself and of the cosine that some piece of
 * the text has with each of the question's; stays as it was where the text cannot be
 * cut into pieces. */
void piece_near_raise(struct piece_near *near, struct slice text, float *best);

#endif
