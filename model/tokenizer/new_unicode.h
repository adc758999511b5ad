/* Characters that came after Unicode 14, which PCRE2 knows, up to 16, which the
 * reference's patterns know; and U+1171E, whose category changed. */
#ifndef MODEL_TOKENIZER_NEW_UNICODE_H
#define MODEL_TOKENIZER_NEW_UNICODE_H

#include "base/buf.h"

/* Appends those of a general category ("L", "Lu"), or of the script "Han", as
 * members of a class of a regular expression; nothing for what is neither. */
void new_unicode_put(struct buf *out, struct slice property);

/* The same for what \w stands for. */
void new_unicode_put_words(struct buf *out);

#endif
