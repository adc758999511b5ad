/* Manuals that came as an archive, or are made of something else: each has a folder of
 * its name below $XDG_DATA_HOME/lectern/manuals, which is ours to replace and to remove. */
#ifndef CLI_ARCHIVE_UNPACKED_H
#define CLI_ARCHIVE_UNPACKED_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Tells whether the name of a file ends as that of an archive. */
bool unpacked_is_archive(const char *path);

/* Unpacks an archive as the manual `name` (NULL: as the file is called) in place of
 * what was there; appends the folder.  On an error what was there stays. */
int unpacked_make(const char *archive, const char *name, struct buf *ret_folder,
                  struct err *err);

/* Appends the folder of the manual `name`, there or not. */
void unpacked_put_folder(struct buf *out, const char *name);

/* Removes the folder if it is one of those. */
void unpacked_remove(const char *folder);

#endif
