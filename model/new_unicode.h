/* Characters that came after Unicode 14, which PCRE2 knows, up to 16, which the
 * reference's patterns know; and U+1171E, whose category changed. */
#ifndef MODEL_NEW_UNICODE_H
#define MODEL_NEW_UNICODE_H

#include "base/buf.h"

/* Appends those of a general category ("L", "Lu") as members of a class of a
 * regular expression; nothing for what is none, or has none. */
void new_unicode_put(struct buf *out, struct slice category);

#endif
