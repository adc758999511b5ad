/* The pass over a manual's nodes, children before their parents, that fills its
 * table of vectors. */
#ifndef MEMORY_EMBEDDINGS_POSTORDER_H
#define MEMORY_EMBEDDINGS_POSTORDER_H

#include "memory/embeddings/encode_segments.h"
#include "memory/vectors/vectors.h"

/* Zeroed but for making, plan, encoder, and table with its arrays allocated. */
struct work {
    struct build *build;
    struct plan plan;
    struct encoder encoder;
    float *subtrees;   /* [nodes, width] c of those that are done */
    uint32_t *order;   /* [nodes] by height */
    uint32_t *entries; /* [nodes] place in the table of those not kept */
    uint32_t *rows;    /* [nodes] first row of those that have any */
    struct vector_table table;
};

/* Fills wholes, table.wholes and table.keys, for the nodes that are not kept. */
int postorder(struct work *work, struct err *err);

#endif
