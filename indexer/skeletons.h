/* Skeletons of files' trees (assemble.h), kept between updates: an edit of one
 * file needs those of all the others, which are not read again.  Of one thread. */
#ifndef INDEXER_SKELETONS_H
#define INDEXER_SKELETONS_H

#include "base/hash.h"
#include "tree/tree.h"

struct skeletons;

/* Keeps at most `most` bytes from one round to the next. */
struct skeletons *skeletons_new(size_t max);
void skeletons_free(struct skeletons *skeletons); /* NULL is allowed */

/* Returns the skeleton, valid until the round ends, not to be changed. */
struct tree *skeletons_find(struct skeletons *skeletons, struct hash128 name);
/* Adds the skeleton, and owns it. */
void skeletons_add(struct skeletons *skeletons, struct hash128 name,
                   struct tree *skeleton);

/* Ends a round: gives back what is too much, what it did not use first. */
void skeletons_end_round(struct skeletons *skeletons);

#endif
