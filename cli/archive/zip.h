/* Zip archives, which come from strangers: every size and offset in them is checked,
 * and nothing is written outside the folder. */
#ifndef CLI_ARCHIVE_ZIP_H
#define CLI_ARCHIVE_ZIP_H

#include "base/err.h"

/* Unpacks the regular files of an archive below `folder`, which is made.  ERR_FORMAT:
 * it is no archive, is damaged, or has a name that leads out of the folder; ERR_LIMIT:
 * it is encrypted, compressed in another way than deflate, or too large.  What was
 * unpacked until then stays. */
int zip_unpack(const char *path, const char *folder, struct err *err);

#endif
