/* What Doxygen writes around what it reads in sources. */
#ifndef INDEXER_PARSE_HTML_DOXYGEN_H
#define INDEXER_PARSE_HTML_DOXYGEN_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where Doxygen means something else by the element. */
void doxygen_apply(const xmlNode *element, struct rule *rule);

/* Level of a heading, 0: Doxygen does not say.  Those of a text stand below "Detailed
 * Description", which is h2 as its members are. */
int doxygen_level(const xmlNode *heading);

/* A listing of a file, whatever that is called: its lines are numbered from the first. */
bool doxygen_is_listing(const xmlNode *box);

/* Does a letter stand in it, of the list of all classes before 1.8.18? */
bool doxygen_is_letter(const xmlNode *box);

/* A page that a program fills with all names of one letter. */
bool doxygen_is_search(const xmlNode *body);

/* The rule from which on a page has nothing but of which files it was made. */
bool doxygen_is_end(const xmlNode *rule);

#endif
