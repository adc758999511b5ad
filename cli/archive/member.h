/* The files that are in an archive, which come from strangers, on their way to the disk. */
#ifndef CLI_ARCHIVE_MEMBER_H
#define CLI_ARCHIVE_MEMBER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

extern const uint64_t
    member_max_unpacked; /* bytes of all files of an archive */

/* Makes a file below `folder`, with the folders that its name leads through; returns its
 * descriptor.  `archive` is for messages.  ERR_FORMAT: the name leads out of the folder;
 * ERR_IO: also where there is one of that name. */
int member_create(const char *archive, const char *folder, struct slice name,
                  struct err *err);

/* Writes all bytes: ERR_IO, with errno. */
int member_write(int fd, const void *bytes, size_t size);

#endif
