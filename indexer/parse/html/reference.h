/* Reference entries: what a manual describes by name (functions, options,
 * parameters), told by the marks of the tools that manuals are made with. */
#ifndef INDEXER_PARSE_HTML_REFERENCE_H
#define INDEXER_PARSE_HTML_REFERENCE_H

#include "indexer/parse/html/dom/dom.h"

/* Is each term of this <dl> an entry?  Within an entry only a list that was
 * surely made for entries is; others explain that one. */
bool reference_is_list(const xmlNode *list, bool within);

/* Is the list one that a tool makes for signatures alone? */
bool reference_is_signatures(const xmlNode *list);

/* Does an entry begin with this element, as a section does with its heading,
 * and go on to the next? */
bool reference_is_heading(const xmlNode *element);

/* The element that names the entry which this one holds whole, or NULL: it
 * holds none. */
const xmlNode *reference_name_in(const xmlNode *box);

/* A <section> around nothing but the heading of an entry. */
bool reference_is_bare(const xmlNode *section);

#endif
