/* Is it HTML at all, and in which encoding. */
#ifndef INDEXER_PARSE_SNIFF_H
#define INDEXER_PARSE_SNIFF_H

#include "base/err.h"
#include "indexer/parse/lexer.h"

/* ERR_FORMAT: not an HTML file; ERR_LIMIT: too large. */
int sniff_source(struct slice bytes, struct source *ret, struct err *err);

#endif
