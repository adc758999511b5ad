/* The programming language of code. */
#ifndef INDEXER_PARSE_HTML_LANGUAGE_H
#define INDEXER_PARSE_HTML_LANGUAGE_H

#include "indexer/parse/html/dom/dom.h"

/* What a <pre> or what is around it names; empty: nothing. */
struct slice language_of(const xmlNode *code);

#endif
