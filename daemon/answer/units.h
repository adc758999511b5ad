/* Units, what a person would cut out of a manual around a passage: the whole paragraph, item
 * or piece of code, a definition with its term, what leads in to an example and
 * the example that a sentence announces. */
#ifndef DAEMON_ANSWER_UNITS_H
#define DAEMON_ANSWER_UNITS_H

#include "daemon/answer/unit_text.h"

/* How much is quoted. */
enum extent {
    EXTENT_NORMAL,
    EXTENT_BRIEF, /* a short best section without its links, or the units around its
                     first passage and, where these are short, its second; of a
                     comparison each side */
    EXTENT_FULL /* the best section whole, if it is not very long */
};

/* Cuts the units around passages, in their order: for each the lead-in, if any, the
 * unit that holds it, below its table's head if it is a row of three cells or more, and
 * what the unit announces, if any; of a table that is announced and does not fit the
 * head and the rows of further passages that hold more of the question; a short best
 * section whole, and first its first lines where its title is what is asked about; all of
 * one node stand together, and nothing twice; of a table that is referred to by its number
 * ("see Tbl. 6.1"), in the section, below it or in one that it is of, the rows that answer,
 * and a box of bits with the item that names a field of it.  In brief those around the
 * first passage, and beside a short one the second, if it is of the same section, behind it
 * unless it stands right before it; of what
 * is asked by its name the first lines alone, and those of what is called as another side
 * of a comparison.
 * `kinds`: only from blocks of these; 0: of all.  Free `ret` with passages_free.
 * ERR_CANCELLED, and what content_open returns. */
int units_of(const struct snapshot *snapshot, const struct route_result *route,
             const struct passages *passages, kind_set kinds,
             enum extent extent, const atomic_bool *cancel,
             struct passages *ret, struct err *err);

/* A passage's unit with what leads in to it and what it leads in to. */
enum { UNITS_AROUND = 16 };

/* Cuts the unit that holds `size` bytes from `at` on of a block of the node, what it
 * goes on from or is led in to by, and what it announces or goes on in, up to a limit:
 * in the order of the node.  What is cut within a sentence, a statement or what was
 * announced says so.  Returns how many. */
size_t units_around(const struct node *node, uint32_t block, size_t at,
                    size_t size, struct unit ret[UNITS_AROUND]);

#endif
