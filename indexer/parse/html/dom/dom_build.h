/* Building a struct dom in document order, from whatever reads the page. */
#ifndef INDEXER_PARSE_HTML_DOM_DOM_BUILD_H
#define INDEXER_PARSE_HTML_DOM_DOM_BUILD_H

#include "indexer/parse/html/dom/dom.h"

/* Formatting that is closed late nests deeper than its tags tell. */
enum { MAX_DEPTH = 2500 };

struct build {
    struct dom dom;
    size_t depth;
    xmlNode *open[MAX_DEPTH + 1]; /* [depth + 1], the document first */
};

void build_init(struct build *build, const struct source *source);

/* `name` must live as long as the tree, `span` is the start tag's.  False:
 * nests too deep, nothing was opened. */
bool build_open(struct build *build, const char *name, int tag, bool foreign,
                struct span span);

/* Says whether the page leaves the element opened last open. */
void build_is_open(struct build *build, bool open);

/* The attribute's name, if anybody asks for one so called; else NULL. */
const char *build_reads(struct slice name);

/* Adds an attribute to the element opened last, if anybody asks for one of that
 * name. */
void build_attribute(struct build *build, const char *name, struct slice value);

/* Says of an element of the tree that it is not shown. */
void build_hide(const xmlNode *element);

/* The text that stands at `span`; of running text, only its white space. */
void build_text(struct build *build, struct span span, bool space);

void build_close(struct build *build);

#endif
