/* What a generator of sites reads before the HTML of a page and never shows: the lines of
 * YAML between two "---" of Jekyll's and Hugo's sources, and the comment in JSON that Go's
 * documents begin with. */
#ifndef INDEXER_PARSE_HTML_FRONT_MATTER_H
#define INDEXER_PARSE_HTML_FRONT_MATTER_H

#include "base/buf.h"
#include "tree/tree.h"

struct front_matter {
    size_t
        size; /* bytes of YAML at the beginning, no text of the page; 0: none */
    struct slice name; /* what the page is called; empty: it has none */
    struct span title; /* the same, in the text */
};

struct front_matter front_matter_read(struct slice text);

#endif
