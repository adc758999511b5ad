/* The encoding of segments whose memories the store does not have yet. */
#ifndef MEMORY_EMBEDDINGS_ENCODE_SEGMENTS_H
#define MEMORY_EMBEDDINGS_ENCODE_SEGMENTS_H

#include "memory/embeddings/plan.h"

/* The recall of an inner node: L_v. */
struct recalled {
    const float *memories; /* [count, width] */
    size_t count;
};

struct encoder {
    const struct build *build;
    const struct plan *plan;
    memories_progress *progress;
    void *context;
    size_t done, encoded, encoded_tokens; /* segments; tokens that were read */
};

/* Sees that the store has the memories of all segments of `nodes`, which are of
 * one height; recalled [count], NULL for leaves or when nothing recalls.  What
 * was encoded is put in the store as it comes, also on failure. */
int encode_nodes(struct encoder *encoder, const uint32_t *nodes, size_t count,
                 const struct recalled *recalled, struct err *err);

#endif
