/* The programming language of code. */
#ifndef INDEXER_PARSE_HTML_LANGUAGE_H
#define INDEXER_PARSE_HTML_LANGUAGE_H

#include "indexer/parse/html/dom/dom.h"

/* Returns the language that a <pre> or what is around it names; empty: none. */
struct slice language_of(const xmlNode *code);

#endif
