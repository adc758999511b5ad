/* XML as a page: XHTML as it is, DocBook as the HTML that it would be made
 * into.  libxml2 says whether it is well-formed and reads the attributes, the
 * lexer finds the places.  Nothing is fetched, and the only entities that are replaced
 * by more than a character are those of text/declared.h. */
#ifndef INDEXER_PARSE_HTML_DOM_XHTML_H
#define INDEXER_PARSE_HTML_DOM_XHTML_H

#include "indexer/parse/html/dom/dom.h"

/* Before the jail is entered. */
void xhtml_load(void);

/* ERR_FORMAT: not well-formed, or neither XHTML nor DocBook. */
int xhtml_parse(const struct source *source, struct dom *ret, struct err *err);

#endif
