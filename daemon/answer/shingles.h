/* Shingles: a section's text as a set of hashes of runs of its words; two that
 * share nearly all of them say the same.  (Broder 1997, "On the resemblance and
 * containment of documents".) */
#ifndef DAEMON_ANSWER_SHINGLES_H
#define DAEMON_ANSWER_SHINGLES_H

#include "tree/tree.h"

struct shingles {
    uint64_t *hashes; /* [count] ascending, each once */
    size_t count;
};

/* Hashes the blocks' words, without case and signs; not the title's. */
void shingles_of(const struct node *node, struct shingles *ret);
void shingles_free(struct shingles *shingles);

/* Resemblance: those that both have, as a share of those that either has, 0..1;
 * where neither has any: 0. */
double shingles_alike(const struct shingles *a, const struct shingles *b);

#endif
