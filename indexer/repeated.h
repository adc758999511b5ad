/* Texts that stand on most pages of a manual: banners, menus, footers. */
#ifndef INDEXER_REPEATED_H
#define INDEXER_REPEATED_H

#include "indexer/navigation/navigation.h"

struct repeated {
    uint64_t *hashes;      /* [count] ascending */
    uint32_t *first_pages; /* [count] that it stands on */
    bool *often;           /* [count] on most of these several times */
    size_t count;
};

/* Blocks whose text stands on more than half of the pages with content that are
 * not left out, of which there must be at least eight.  places: [count]. */
void repeated_blocks(const struct piece *pieces, const struct place *places,
                     uint32_t count, struct repeated *ret);
/* The same of the titles of pages that have sections. */
void repeated_titles(const struct piece *pieces, const struct place *places,
                     uint32_t count, struct repeated *ret);
/* Titles that three pages or more have above the heading of their own, as their
 * <title> says: "Reference (10.1) - The Realm" above "Reference" and "The Realm". */
void repeated_banners(const struct piece *pieces, const struct place *places,
                      uint32_t count, struct repeated *ret);
/* Titles that eight pages or more have both as their <title> and above sections: that of
 * a book, on each of its pages. */
void repeated_books(const struct piece *pieces, const struct place *places,
                    uint32_t count, struct repeated *ret);
/* Does nothing stand at the node but what is repeated? */
bool repeated_is_all(const struct repeated *blocks, const struct node *node);
/* Is that all it says, under a name of its own: an entry that each command of a program
 * has, a section that each function on a page has ("Returns"), or on the first of their
 * pages one that all pages have ("License"); no menu? */
bool repeated_is_kept(const struct repeated *blocks,
                      const struct tree *skeleton, uint32_t page,
                      uint32_t node);
/* Does the page's <title> begin with one of the two, and end with the other? */
bool repeated_is_banner(const struct tree *skeleton, struct slice banner,
                        struct slice title);
/* ret[i]: page i is the manual, or much of it, once more on one page: nearly
 * all of its texts stand elsewhere, and whole other pages, each less than half
 * of it, on it.  [count] */
void repeated_subtrees(const struct piece *pieces, uint32_t count, bool *ret);

void repeated_free(struct repeated *repeated);

bool repeated_has(const struct repeated *repeated, uint64_t hash);
uint64_t repeated_hash(struct slice text);

/* The hash of a block; 0: it is never taken for repeated. */
uint64_t repeated_block_hash(const struct block *block);

#endif
