/* Exponents: "2<sup>31</sup>" and 2\textsuperscript{31} are read as "2^31", for "231" is
 * another number.  The sign alone does not stand in the file, which has markup in its
 * place (daemon/answer/quote.h). */
#ifndef INDEXER_PARSE_OUTLINE_EXPONENTS_H
#define INDEXER_PARSE_OUTLINE_EXPONENTS_H

#include "indexer/parse/outline/writer.h"

/* Is what is raised behind the last text its exponent: a number or a letter, directly
 * behind a number, a unit, a letter or a bracket?  `next`: the byte behind it; names are
 * written so, too, I2C and LaTeX's. */
bool exponents_follow(const struct writer *writer, struct slice raised,
                      char next);

/* The sign before it. */
void exponents_begin(struct writer *writer);

#endif
