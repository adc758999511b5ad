/* The numbers that headings begin with: "5.1.1.1 Pumps" stands below "5.1.1 Use", though
 * both are of one tag, since a tool has no more. */
#ifndef INDEXER_PARSE_HTML_NUMBERS_H
#define INDEXER_PARSE_HTML_NUMBERS_H

#include "base/buf.h"
#include "base/mem.h"

enum { NUMBERS_LEVELS = 7 }; /* 0 to 6 */

/* Of the headings so far, by the level of their tag.  All zero at the beginning. */
struct numbers {
    struct slice last[NUMBERS_LEVELS]; /* that is not below one of its level */
    bool below[NUMBERS_LEVELS];        /* is the last heading? */
};

/* Returns the level of a page's next heading, whose tag says `level`. */
int numbers_level(struct numbers *numbers, struct arena *arena, int level,
                  struct slice title);

#endif
