/* Older and newer Unicode: the reference knows another than our libraries, which have 14
 * (PCRE2) and 15 (utf8proc): its normalisers of marks, controls and punctuation
 * know 8, its normal forms 9, its letter case 17. */
#ifndef MODEL_TOKENIZER_OLD_UNICODE_H
#define MODEL_TOKENIZER_OLD_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* A mark, a format control or a sign of punctuation that came after 8, or became
 * such; also some neighbours that are neither. */
bool old_unicode_lacks(uint32_t c);

/* Appends a regular expression of one sign of punctuation. */
void old_unicode_punctuation(struct buf *regex);

/* Came after 9, and normal forms would change it or order marks by it; or
 * utf8proc is wrong about it. */
bool old_unicode_inert(uint32_t c);

/* The small letter of a capital that came after 15; c: none. */
uint32_t new_unicode_lower(uint32_t c);

#endif
