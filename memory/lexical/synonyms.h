/* Words that a question may have where a manual has another: "delete" where it says
 * "remove".  English; groups of technical writing, from general knowledge of
 * the language. */
#ifndef MEMORY_LEXICAL_SYNONYMS_H
#define MEMORY_LEXICAL_SYNONYMS_H

#include <stddef.h>

#include "base/buf.h"

/* Calls `each` with every word that may stand for this one, which is in lower case
 * and may be inflected. */
void synonyms_of(struct slice word,
                 void (*each)(void *context, struct slice word), void *context);

#endif
