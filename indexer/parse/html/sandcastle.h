/* Sandcastle's pages of .NET's classes, in the styles of Visual Studio 2005 to 2013. */
#ifndef INDEXER_PARSE_HTML_SANDCASTLE_H
#define INDEXER_PARSE_HTML_SANDCASTLE_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where it means something else by the element. */
void sandcastle_apply(const xmlNode *element, struct rule *rule);

/* Is it a page's title, in parts that a program joins?  The <title> has it whole. */
bool sandcastle_is_title(const xmlNode *cell);

/* The <meta> of a page that lists a class's members. */
bool sandcastle_is_list_of_members(const xmlNode *meta);

/* The page of the class, in the row of links above the text of what is said of a member;
 * NULL: it is another row. */
const char *sandcastle_above(const xmlNode *row);

#endif
