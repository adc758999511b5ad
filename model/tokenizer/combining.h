/* Combining marks in canonical order, before utf8proc sees them: it puts a run of them
 * in order by exchanging neighbours, so that its time grows with the square of the run's
 * length, and a hostile text may be one run of a megabyte. */
#ifndef MODEL_TOKENIZER_COMBINING_H
#define MODEL_TOKENIZER_COMBINING_H

#include <stdbool.h>

#include "base/buf.h"

/* Whether utf8proc_map with these options would put a long run in order. */
bool combining_is_long(struct slice text, int options);
/* Appends the well-formed text decomposed, each run in order: utf8proc_map with these
 * options makes the same of it as of `text`. */
void combining_put(struct buf *out, struct slice text, int options);

#endif
