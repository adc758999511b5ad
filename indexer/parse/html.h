/* An HTML file's bytes, nobody having looked at them yet, as a sealed tree.
 * ERR_FORMAT: not HTML; ERR_LIMIT: too deep or too large. */
#ifndef INDEXER_PARSE_HTML_H
#define INDEXER_PARSE_HTML_H

#include "tree/tree.h"

int html_parse(struct slice bytes, struct tree **ret_tree, struct err *err);

#endif
