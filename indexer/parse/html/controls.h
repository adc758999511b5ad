/* Links and buttons that do something with the page instead of saying anything: an
 * icon whose words are for those alone who do not see it. */
#ifndef INDEXER_PARSE_HTML_CONTROLS_H
#define INDEXER_PARSE_HTML_CONTROLS_H

#include "indexer/parse/html/dom/dom.h"

/* Is it such a link or button, or a button beside the words of a heading? */
bool controls_is(const xmlNode *element);

#endif
