/* Labels: short lines with an anchor that is called as they are, or that the page links to
 * in their very words, many of one kind on a page, each above what it names, and
 * questions above their answers ("Q: How ...?").  A page of such a run is looked up
 * entry by entry, whatever tool made it. */
#ifndef INDEXER_PARSE_HTML_LABELS_H
#define INDEXER_PARSE_HTML_LABELS_H

#include "indexer/parse/html/dom/dom.h"

struct label_kind {
    int tag;            /* GumboTag */
    const char *class;  /* "": none; of the dom */
    bool question;      /* begins with "Q:" */
    size_t count;       /* of labels */
    size_t first, last; /* words of the page before the first and the last */
};

/* A link of the page to a place in it. */
struct label_link {
    const char *anchor; /* of the dom */
    struct buf text;    /* white space folded */
};

struct labels {
    struct label_kind *kinds; /* [count] */
    size_t count, capacity;
    struct label_link *links; /* [link_count] */
    size_t link_count, link_capacity;
};

/* Finds the kinds of label of which the page has a run.  Free with labels_free,
 * before the dom. */
struct labels labels_find(const struct dom *dom);
void labels_free(struct labels *labels);

/* Tells whether the element is a label of one of these kinds. */
bool labels_has(const struct labels *labels, const xmlNode *element);

/* Returns the label right below this one, with nothing but anchors between: both
 * name what follows, as the forms of one keyword do.  NULL: there is none. */
const xmlNode *labels_next(const struct labels *labels, const xmlNode *label);

/* Is the anchor of `holder` called just as the element reads, signs and case aside? */
bool labels_is_called(const xmlNode *element, const xmlNode *holder);

/* Is the anchor called as the first word that the element reads? */
bool labels_begins_as(const xmlNode *element, const xmlNode *anchor);

/* Has the element an anchor that is called as it reads: in it, right above, or as the
 * id of `holder`? */
bool labels_is_named(const xmlNode *element, const xmlNode *holder);

#endif
