/* Where the links of a page lead, when the page says itself from where they do. */
#ifndef INDEXER_PARSE_HTML_DOM_LINKS_H
#define INDEXER_PARSE_HTML_DOM_LINKS_H

#include "indexer/parse/html/dom/dom.h"

/* Changes links as `<base href="../">` has it, into such as lead there from the page's
 * own folder. */
void links_rebase(struct dom *dom);

#endif
