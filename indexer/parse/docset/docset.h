/* The table of symbols of a docset, as Dash and Zeal read them: a folder NAME.docset with
 * HTML in Contents/Resources/Documents and, beside that, docSet.dsidx, an SQLite
 * database that says where each function, class or option is described. */
#ifndef INDEXER_PARSE_DOCSET_DOCSET_H
#define INDEXER_PARSE_DOCSET_DOCSET_H

#include "tree/tree.h"

/* Takes what SQLite wants of the system, before the process locks itself in. */
void docset_load(void);

/* Reads the database as a page without content (PAGE_MADE) whose aliases are the
 * symbols, with their places as links from the file.  ERR_FORMAT: it is no
 * database, is damaged, or has no such table; ERR_LIMIT. */
int docset_parse(struct slice bytes, struct tree **ret_tree, struct err *err);

#endif
