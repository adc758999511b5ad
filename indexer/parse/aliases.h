/* The entries of an alphabetical index: what a manual calls its sections besides
 * their titles. */
#ifndef INDEXER_PARSE_ALIASES_H
#define INDEXER_PARSE_ALIASES_H

#include "indexer/parse/dom.h"
#include "tree/tree.h"

/* Into tree->page, when its role is that of an index: each entry once for each
 * link that it has to another page.  An entry within another reads "indexes,
 * partial". */
void aliases_read(const struct dom *dom, struct tree *tree);

#endif
