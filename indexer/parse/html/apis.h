/* What tools write that make references of libraries out of comments, as far as that is no
 * text about what they describe: pdoc, Jazzy, Doctum, dartdoc,
 * Nim's, FORD, pkgdown, pydoctor, Macaulay2's, odoc, Documenter, ESDoc. */
#ifndef INDEXER_PARSE_HTML_APIS_H
#define INDEXER_PARSE_HTML_APIS_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where such a tool means something else by the element. */
void apis_apply(const xmlNode *element, struct rule *rule);

/* Level of a heading, 0: none of the tools says. */
int apis_level(const xmlNode *heading);

/* The element that names what pdoc, Jazzy, odoc, Documenter or ESDoc describes in this
 * box, or NULL: it is none of theirs. */
const xmlNode *apis_name_in(const xmlNode *box);

/* Is each term of the <dl> the signature of what Nim's tool describes? */
bool apis_is_signatures(const xmlNode *list, const xmlNode *first_term);

/* A list of pages, each by the names of the functions that it describes: pkgdown's. */
bool apis_is_list_of_names(const xmlNode *box);

/* The page above, where the heading of a page names all that it stands in; or NULL. */
const char *apis_above(const xmlNode *heading);

/* Has its page nothing but a source, or a table of all sources: ESDoc's? */
bool apis_is_listing(const xmlNode *element);

/* Does it head a page that lists all names, or is it one of such a list? */
bool apis_is_list_of_all(const xmlNode *element);

#endif
