/* Stems of English words (Snowball). */
#ifndef MEMORY_LEXICAL_STEMS_H
#define MEMORY_LEXICAL_STEMS_H

#include "base/buf.h"

struct stems; /* one per thread */
struct stems *stems_new(void);
void stems_free(struct stems *stems);

/* Returns the stem of a word in lower case; valid until the next call. */
struct slice stem_of(struct stems *stems, struct slice word);

#endif
