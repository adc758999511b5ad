/* A passage of LaTeX found again in its source, where macros may have made some
 * of its words: those that are typed stand there in order. */
#ifndef DAEMON_ANSWER_LATEX_ALIGNMENT_H
#define DAEMON_ANSWER_LATEX_ALIGNMENT_H

#include "indexer/parser.h"
#include "tree/tree.h"

/* Words are runs of letters and digits.  Finds where in `source` (as from
 * parser_text, places: [source.size]) most words of `wanted` stand in order,
 * few others between two of them.  False: less than half of them do, the places of a
 * box's fields ("7-0: CLKDIV") not counted.
 * ret_made: pairs of size_t, the bytes of `wanted` whose words are not typed. */
bool latex_align_find(struct slice source, const struct text_place *places,
                      struct slice wanted, struct span *ret_span,
                      struct buf *ret_made);

#endif
