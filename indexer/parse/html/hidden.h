/* What attributes take from sight: of an element of the tree, and of a tag, by who reads a
 * part of a file. */
#ifndef INDEXER_PARSE_HTML_HIDDEN_H
#define INDEXER_PARSE_HTML_HIDDEN_H

#include <stdbool.h>

#include "base/buf.h"

struct hiding {
    bool hidden; /* some attribute says so */
    bool tab;    /* one that is not in front, or what opens where something is
                         clicked: somebody may ask for it */
    bool alternative; /* what a script chooses where nothing else is meant */
};

/* Takes one attribute into account. */
void hiding_add(struct hiding *hiding, struct slice name, struct slice value);

/* Hidden, and nothing may show it? */
static inline bool hiding_is(const struct hiding *hiding)
{
    return hiding->hidden && !hiding->tab && !hiding->alternative;
}

#endif
