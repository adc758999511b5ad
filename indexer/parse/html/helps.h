/* What programs that write the help of other programs print around the text of each page:
 * HelpNDoc, Help & Manual, Scilab; and PeakRDL, which writes that of chips. */
#ifndef INDEXER_PARSE_HTML_HELPS_H
#define INDEXER_PARSE_HTML_HELPS_H

#include "indexer/parse/html/rules.h"

/* Changes the rule where such a program means something else by the element. */
void helps_apply(const xmlNode *element, struct rule *rule);

/* Does it hold links to all pages above this one, and none to this? */
bool helps_is_trail(const xmlNode *element);

/* Such a trail of HelpNDoc's that ends with a book without a page. */
bool helps_is_trail_to_book(const xmlNode *element);

/* Does it hold them, and behind them the name of this page? */
bool helps_is_trail_to(const xmlNode *element);

/* Does it hold the contents of the whole manual? */
bool helps_is_contents(const xmlNode *element);

/* Is it a page's title, in a bar that is not read? */
bool helps_is_title(const xmlNode *heading);

/* Does the link lead to the next page? */
bool helps_is_next(const xmlNode *link);

#endif
