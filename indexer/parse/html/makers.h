/* What single tools that make references write in ways of their own, where a class name
 * alone does not tell it: LDoc, Haddock, Natural Docs, DocFX, TypeDoc, JSDoc, Doxygen, ocamldoc,
 * Crystal, Sandcastle, MadCap Flare, LinuxDoc... */
#ifndef INDEXER_PARSE_HTML_MAKERS_H
#define INDEXER_PARSE_HTML_MAKERS_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where such a tool means something else by the element. */
void makers_apply(const xmlNode *element, struct rule *rule);

/* Level of a heading, 0: none of the tools says. */
int makers_level(const xmlNode *heading);

/* Is each term of the <dl> the signature of a function or a field: LDoc's? */
bool makers_is_signatures(const xmlNode *list, const xmlNode *first_term);

/* Printed contents: LinuxDoc's headings and lists of links, Haddock's modules,
 * Flare's pages below. */
bool makers_is_contents(const xmlNode *element);

/* Javadoc's first cell of a row that names a member's type or a service, whose page
 * stands elsewhere, and nothing that stands below. */
bool makers_is_of_member(const xmlNode *cell);

/* Is its page nothing but a program's source: Haddock's, Doxygen's, ocamldoc's? */
bool makers_is_listing(const xmlNode *code);

/* Is it the <meta> that says that this tool made the page? */
bool makers_is_named(const xmlNode *meta, const char *maker);

/* A link of a window that is opened beside the page, to choose what that shows: fpdoc's
 * lists of a class's members. */
bool makers_is_pop_up(const xmlNode *link);

/* Does it hold the contents of the whole manual, by DocFX? */
bool makers_is_menu(const xmlNode *box);

/* Is its page the index of terms of Oxygen's help? */
bool makers_is_index(const xmlNode *body);

/* Does Natural Docs show in it what a search has found: names by a letter? */
bool makers_is_search(const xmlNode *body);

/* A heading's title without what each page has before its own: Confluence's space. */
struct slice makers_title(const xmlNode *heading, struct slice title);

/* The heading from which on a page has nothing but what man2html says of it, or the rule
 * before what Doxygen does. */
bool makers_is_end(const xmlNode *element);

/* Where a member occurs, in Scaladoc's lists of all by letter. */
bool makers_is_occurrence(const xmlNode *element);

#endif
