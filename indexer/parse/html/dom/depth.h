/* How deep a page nests, told from its tags alone.  The tree builder takes
 * time by the square of the depth, so what is too deep never gets there. */
#ifndef INDEXER_PARSE_HTML_DOM_DEPTH_H
#define INDEXER_PARSE_HTML_DOM_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

#include "indexer/parse/text/lexer.h"

enum { DEPTH_MAX = 2000 };

struct depth {
    uint16_t open[DEPTH_MAX + 1]; /* tags that wait for their end */
    unsigned count;
    unsigned of_tag[512];
    unsigned formatting; /* <b> and its like that wait for theirs */
};

/* False: deeper than DEPTH_MAX, or far deeper in formatting. */
bool depth_tag(struct depth *depth, const struct markup *markup);

#endif
