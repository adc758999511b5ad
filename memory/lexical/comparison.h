/* What a question sets against each other: "bagof vs setof", "difference between hot and
 * warm standby in PostgreSQL". */
#ifndef MEMORY_LEXICAL_COMPARISON_H
#define MEMORY_LEXICAL_COMPARISON_H

#include <stddef.h>

#include "base/buf.h"

enum { COMPARISON_MAX_SIDES = 4 };

/* Splits the text at "vs", "vs." and "versus", or what stands behind "difference
 * between" at "and".  The first side begins behind the last word that joins words
 * ("of", "with", "the"), the last ends before one, or with the sentence.  Returns how
 * many sides `ret` has: none, or two and more. */
size_t comparison_sides(struct slice text,
                        struct slice ret[COMPARISON_MAX_SIDES]);

#endif
