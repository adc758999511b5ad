/* What the templates of Sphinx and QDoc print around the text of each page, where a class
 * alone does not tell it. */
#ifndef INDEXER_PARSE_HTML_THEMES_H
#define INDEXER_PARSE_HTML_THEMES_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where such a template means something else by the element. */
void themes_apply(const xmlNode *element, struct rule *rule);

#endif
