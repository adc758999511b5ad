/* Links between the files of a manual. */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>

#include "base/buf.h"

/* Resolves `url`, as written in the file `base` (a path relative to the
 * manual's root), to such a path and an anchor (without "#"; may be empty).
 * Percent signs are decoded, a query is dropped, "." and ".." are followed but
 * not above the root; an empty path is `base` itself.  False, and the buffers
 * as they were, when the link leaves the manual: it has a scheme or a host or
 * starts with "/". */
bool url_resolve(struct slice base, struct slice url, struct buf *ret_path,
                 struct buf *ret_anchor);

/* Appends `text` with percent signs decoded; and encoded, byte for byte, but for
 * ASCII letters, digits and what is in `plain`. */
void url_put_decoded(struct buf *out, struct slice text);
void url_put_encoded(struct buf *out, struct slice text, const char *plain);

/* The name of the file that a path may mean as well: with ".gz", or without. */
void url_other_packing(struct buf *path);

#endif
