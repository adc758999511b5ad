/* Terms that are sought in many texts: most words of a text are told apart from all
 * of them by how they begin, and need not be stemmed. */
#ifndef MEMORY_LEXICAL_SOUGHT_H
#define MEMORY_LEXICAL_SOUGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { SOUGHT_SETS = 32 };

struct sought_terms { /* begins as zeros */
    /* By the first and the second byte a bit for each third. */
    uint32_t words[SOUGHT_SETS * SOUGHT_SETS];
    uint32_t wholes[SOUGHT_SETS * SOUGHT_SETS];
    uint32_t either[SOUGHT_SETS * SOUGHT_SETS];
};

/* A term as analyze.h has them; a whole begins with "=". */
void sought_add(struct sought_terms *sought, struct slice term);

/* May a term that was added be what becomes of this word, this identifier?  False: none
 * is. */
bool sought_word(const struct sought_terms *sought, struct slice word);
bool sought_whole(const struct sought_terms *sought, struct slice whole);

/* The first place from `at` on, the end of a run or before one, where something begins
 * that one may be, or what is put together anew (brackets); text.size: there is none. */
size_t sought_next(const struct sought_terms *sought, struct slice text,
                   size_t at);

#endif
