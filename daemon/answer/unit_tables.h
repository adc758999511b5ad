/* Tables that a text refers to by their number ("see Tbl. 6.1"), and boxes of bits with the
 * items that say what their fields are. */
#ifndef DAEMON_ANSWER_UNIT_TABLES_H
#define DAEMON_ANSWER_UNIT_TABLES_H

#include "tree/tree.h"

/* The number of the next table that the text refers to from *at on, which is moved behind
 * it ("6.1", "A.2"; not of "Table 3 of RFC 959"); of none the size is 0. */
struct slice table_reference(struct slice text, size_t *at);

/* Does it refer to tables that stand below, without a number? */
bool table_refers_below(struct slice text);

/* The table of which the block is the caption; TREE_NONE: it is none. */
uint32_t table_of_caption(const struct node *node, uint32_t block);

/* The table of that number, by its caption; TREE_NONE: none of the node is. */
uint32_t table_numbered(const struct node *node, struct slice number);

/* Is it a table of fields, "7-0: CLKDIV" a cell? */
bool table_is_box(const struct block *block);

/* What an item is called: "Bit 7:0 CLKDIV" of "- Bit 7:0 CLKDIV: ...", the term of a
 * definition. */
struct slice table_item_name(struct slice item);

/* The field of the row that the text names next, from *at in the row on, which is moved
 * behind it; of none the size is 0. */
struct slice table_named_field(struct slice row, struct slice text, size_t *at);

#endif
