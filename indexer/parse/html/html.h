/* A page's bytes, nobody having looked at them yet, as a sealed tree.  `format`
 * is enum parser_format.  ERR_FORMAT: not of that format; ERR_LIMIT: too deep
 * or too large.  `ret_reports`: what is wrong in it, a line each; NULL: not asked.
 *
 * html_boilerplate: the same nodes, whose blocks are the texts that html_parse
 * leaves out (chrome, what is hidden, labels; not scripts and comments), `info`
 * saying why. */
#ifndef INDEXER_PARSE_HTML_HTML_H
#define INDEXER_PARSE_HTML_HTML_H

#include "tree/tree.h"

int html_parse(struct slice bytes, int format, struct tree **ret_tree,
               struct buf *ret_reports, struct err *err);
int html_boilerplate(struct slice bytes, int format, struct tree **ret_tree,
                     struct err *err);

#endif
