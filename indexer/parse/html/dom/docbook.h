/* DocBook's elements as those of HTML that they stand for. */
#ifndef INDEXER_PARSE_HTML_DOM_DOCBOOK_H
#define INDEXER_PARSE_HTML_DOM_DOCBOOK_H

#include <stdbool.h>

#include "indexer/parse/html/dom/dom_build.h"

/* What is open, to tell what a <title> or a <listitem> is for. */
struct docbook {
    unsigned char roles[MAX_DEPTH + 2]; /* [depth + 1] */
    size_t depth;
    unsigned sections; /* open */
    bool named;        /* the reference page has its title */
};

struct docbook_element {
    int tag;           /* GumboTag */
    const char *class; /* or NULL */
    bool hidden;
};

/* Is a document of DocBook, by its root?  `space`: namespace or NULL. */
bool docbook_is_root(const char *name, const char *space);

struct docbook_element docbook_open(struct docbook *docbook, const char *name);
void docbook_close(struct docbook *docbook);

/* An attribute of the element opened last, as HTML has it. */
void docbook_attribute(struct build *build, const char *name,
                       struct slice value);

#endif
