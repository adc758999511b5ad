/* What the style sheets in a page itself hide from its readers. */
#ifndef INDEXER_PARSE_HTML_DOM_STYLES_H
#define INDEXER_PARSE_HTML_DOM_STYLES_H

#include "indexer/parse/html/dom/dom.h"

/* Gives "hidden" to the elements that a <style> of the page says are displayed as
 * "none", by class or id; not for print alone, and not what another rule, a state
 * or a script of the page may show: readers want what stands in its tabs.  Linked
 * sheets are not read. */
void styles_hide(struct dom *dom);

#endif
