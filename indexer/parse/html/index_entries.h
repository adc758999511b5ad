/* The entries of an alphabetical index: what a manual calls its sections besides
 * their titles. */
#ifndef INDEXER_PARSE_HTML_INDEX_ENTRIES_H
#define INDEXER_PARSE_HTML_INDEX_ENTRIES_H

#include "indexer/parse/html/page.h"

/* Into tree->page, whose role is known: each entry once for each link that it
 * has to another page, or, where an index is but a part of a page with content,
 * to another place of this one.  An entry within another reads "indexes,
 * partial". */
void aliases_read(const struct dom *dom, const struct page_facts *facts,
                  struct tree *tree);

#endif
