/* The reference's normalisers of marks, controls and punctuation know Unicode 8.
 * Our libraries know 14 and 15: these are the marks, format controls and signs of
 * punctuation that came later, or became such. */
#ifndef MODEL_OLD_UNICODE_H
#define MODEL_OLD_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Whether it came later; also for some neighbours that are neither. */
bool old_unicode_lacks(uint32_t c);

/* Appends a regular expression of one sign of punctuation. */
void old_unicode_punctuation(struct buf *regex);

#endif
