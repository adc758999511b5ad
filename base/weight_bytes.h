/* A file of weights as bytes that stay where they are. */
#ifndef BASE_WEIGHT_BYTES_H
#define BASE_WEIGHT_BYTES_H

#include "base/buf.h"
#include "base/err.h"

/* Reads a regular file of up to 256 MiB: what becomes of it afterwards changes
 * nothing.  A larger one is mapped and must not shrink or be written in while
 * its bytes are used; to rename another into its place is safe. */
int weight_bytes_open(const char *path, struct slice *ret, struct err *err);
void weight_bytes_close(struct slice bytes);
/* Lets go of the memory of a mapped file, which is read again, from the system's
 * cache, where it is used: what is never used takes none then.  Of one that was
 * read, or of no bytes: nothing. */
void weight_bytes_let_go(struct slice bytes);

#endif
