/* Aliases: the names that a manual's alphabetical indexes have for its sections. */
#ifndef INDEXER_ALIASES_H
#define INDEXER_ALIASES_H

#include "indexer/assemble.h"

/* Gives each node of the sealed outline the entries that lead to it.  An entry
 * of a section without text of its own goes to the first within it that has
 * some: only those are found. */
void aliases_give(struct tree *outline, const struct piece *pieces,
                  uint32_t count);

bool aliases_equal(const struct node *a, const struct node *b);

#endif
