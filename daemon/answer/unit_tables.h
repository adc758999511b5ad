/* Tables that a text refers to by their number ("see Tbl. 6.1"). */
#ifndef DAEMON_ANSWER_UNIT_TABLES_H
#define DAEMON_ANSWER_UNIT_TABLES_H

#include "tree/tree.h"

/* The number of the next table that the text refers to from *at on, which is moved behind
 * it ("6.1", "A.2"); of none the size is 0. */
struct slice table_reference(struct slice text, size_t *at);

/* Does it refer to tables that stand below, without a number? */
bool table_refers_below(struct slice text);

/* The table of which the block is the caption; TREE_NONE: it is none. */
uint32_t table_of_caption(const struct node *node, uint32_t block);

/* The table of that number, by its caption; TREE_NONE: none of the node is. */
uint32_t table_numbered(const struct node *node, struct slice number);

#endif
