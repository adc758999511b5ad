/* Quotes with signs that are drawn: "2^31" of 2<sup>31</sup>, "(a+b)/c" of MathML. */
#ifndef DAEMON_ANSWER_QUOTE_DRAWN_H
#define DAEMON_ANSWER_QUOTE_DRAWN_H

#include "indexer/parser.h"
#include "tree/tree.h"

/* Like quote_find, of a quote that is not found by it: each of "^_/()√" may stand where
 * `bytes`, which the text was made from, have the markup that draws it: <sup> for "^",
 * MathML for all. */
bool quote_find_drawn(struct slice bytes, struct slice text,
                      const struct text_place *places, struct slice wanted,
                      struct span *ret_span);

#endif
