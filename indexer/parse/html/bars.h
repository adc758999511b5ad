/* What stands above the text of a page as plain links and signs, whoever made it: the
 * manual's name, a bar of links to its neighbours ("[ Previous Page | Next Page | Index ]"),
 * and the trail to it ("Guide > Use > Pumps"). */
#ifndef INDEXER_PARSE_HTML_BARS_H
#define INDEXER_PARSE_HTML_BARS_H

#include "indexer/parse/html/dom/dom.h"

/* Is the heading what a <header> says of the whole manual: a link to another page, before
 * a heading as high, which is the page's own? */
bool bars_is_banner(const xmlNode *heading);

/* Does the element hold links to the neighbours and nothing else? */
bool bars_is_neighbours(const xmlNode *element);

/* Where such a bar leads: to the page above and to the next one; NULL: not there. */
const char *bars_up(const xmlNode *bar);
const char *bars_next(const xmlNode *bar);

/* Is it the trail to the heading below it?  `ret_above` (NULL: not asked for) becomes the
 * link to the page above. */
bool bars_is_trail(const xmlNode *element, const char **ret_above);

/* A menu by hand: a box that is called so and holds lists, mostly of links. */
bool bars_is_menu(const xmlNode *element);

#endif
