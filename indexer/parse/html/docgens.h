/* What further generators of references write around what they describe: phpDocumentor,
 * YUIDoc, ASDoc, Epydoc, PasDoc, HeaderDoc, appledoc, dox, doc-gen4; and what Just the Docs and
 * ikiwiki have on each page. */
#ifndef INDEXER_PARSE_HTML_DOCGENS_H
#define INDEXER_PARSE_HTML_DOCGENS_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where such a tool means something else by the element. */
void docgens_apply(const xmlNode *element, struct rule *rule);

/* Level of a heading, 0: none of the tools says. */
int docgens_level(const xmlNode *heading);

/* Does it name what is described behind it? */
bool docgens_is_heading(const xmlNode *element);

/* The element that names what is described in this box, or NULL: it is none of theirs. */
const xmlNode *docgens_name_in(const xmlNode *box);

/* Is its page nothing but a source, all names by letter, or what is shown in a frame:
 * YUIDoc's, ASDoc's, Epydoc's? */
bool docgens_is_listing(const xmlNode *element);

/* The pages of a site that Just the Docs made, on each of them. */
bool docgens_is_menu(const xmlNode *list);

/* The page of the package, in the first row of a class's head: ASDoc's; or NULL. */
const char *docgens_above(const xmlNode *row);

#endif
