/* UTF-8 that may be ill-formed, read as the tokenizers' reference does: each
 * maximal ill-formed part (Unicode 3.9, table 3-7) counts as one U+FFFD. */
#ifndef MODEL_TOKENIZER_UTF8_H
#define MODEL_TOKENIZER_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum utf8_kind {
    UTF8_WELL, /* a character */
    UTF8_ILL,  /* one maximal ill-formed part */
    UTF8_CUT   /* so far a character, but the text ends within it */
};

/* The bytes of what stands at `at` (which must be < size), at least 1. */
size_t utf8_step(const char *text, size_t size, size_t at,
                 enum utf8_kind *ret_kind);

/* Length of the well-formed start of the text. */
size_t utf8_well(struct slice text);

/* Appends the text with U+FFFD for each ill-formed part. */
void utf8_repair(struct buf *buf, struct slice text);

#endif
