/* The parts of a question that asks more than one thing: "what does it do, and how
 * is it turned off?" */
#ifndef MEMORY_LEXICAL_PARTS_H
#define MEMORY_LEXICAL_PARTS_H

#include <stddef.h>

#include "base/buf.h"

enum { QUESTION_MAX_PARTS = 4 };

/* Splits the text behind a question mark or a semicolon, and before an "and" that a
 * question's word follows (what, how, is, ...), where what is before and behind has two
 * words or more.  Returns how many parts `ret` has: at least 1. */
size_t question_parts(struct slice text, struct slice ret[QUESTION_MAX_PARTS]);

#endif
