/* What is in a packed file of a manual, for a browser, which shows none. */
#ifndef CLI_OUTPUT_GUNZIP_COPY_H
#define CLI_OUTPUT_GUNZIP_COPY_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the path of a copy of what is in `file`, a name that ends in ".gz":
 * below $XDG_CACHE_HOME/lectern or, where that cannot be written,
 * $XDG_RUNTIME_DIR/lectern; written anew each time.  Nothing is appended for
 * another name.  ERR_IO (also: its data are damaged),
 * ERR_LIMIT (above 64 MiB). */
int unpacked_copy(const char *file, struct buf *out, struct err *err);

#endif
