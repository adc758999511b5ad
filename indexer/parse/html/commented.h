/* What ApiGen, ROBODoc, m2html and pkgdown write around what comments in sources say:
 * summaries, labels, trails, and lists of all names. */
#ifndef INDEXER_PARSE_HTML_COMMENTED_H
#define INDEXER_PARSE_HTML_COMMENTED_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where such a tool means something else by the element. */
void commented_apply(const xmlNode *element, struct rule *rule);

/* The element that names what ApiGen describes in this box, or NULL: it is none. */
const xmlNode *commented_name_in(const xmlNode *box);

/* Is the heading what pkgdown says of a function?  Leaves the function's name of the page's
 * <title>. */
bool commented_name_of(const xmlNode *heading, struct slice *title);

/* Is its page nothing but a source (ApiGen), or all names by letter (ROBODoc)? */
bool commented_is_listing(const xmlNode *element);

#endif
