/* Tar archives, plain or compressed by gzip, which come from strangers: nothing in them is
 * believed, and nothing is written outside the folder. */
#ifndef CLI_ARCHIVE_TAR_H
#define CLI_ARCHIVE_TAR_H

#include "base/err.h"

/* Unpacks the regular files of an archive below `folder`, which is made.  ERR_FORMAT:
 * it is no archive, is damaged or cut, or has a name that leads out of the folder;
 * ERR_LIMIT: it is too large.  What was unpacked until then stays. */
int tar_unpack(const char *path, const char *folder, struct err *err);

#endif
