/* Manuals that came as an archive, or are made of something else: each has a folder of
 * its own in a place that is the store's alone, STORE/manuals, and so ours to replace
 * and to remove.
 *
 *     manuals/pumps        its files
 *     manuals/.from.pumps  where they came from: a path of an archive, "--man 3"
 *     manuals/.new.pumps   while they are unpacked
 *     manuals/.old.pumps   while they are replaced
 *
 * A folder keeps its name when its manual gets another one. */
#ifndef CLI_ARCHIVE_UNPACKED_H
#define CLI_ARCHIVE_UNPACKED_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Tells whether the name of a file ends as that of an archive. */
bool unpacked_is_archive(const char *path);

/* What the manual of an archive is called, as that of a folder; to be freed. */
char *unpacked_title(const char *archive);

/* Waits until no other process unpacks into the place, which is made if it is not there;
 * none does until *ret_fd is closed. */
int unpacked_lock(const char *place, int *ret_fd, struct err *err);

/* Unpacks an archive beside what becomes PLACE/NAME; appends the folder.  On an error
 * nothing is left of it. */
int unpacked_make(const char *archive, const char *place, const char *name,
                  struct buf *ret_fresh, struct err *err);

/* Puts what unpacked_make has made in place of what is there.  On an error what was there
 * stays. */
int unpacked_settle(const char *place, const char *name, const char *source,
                    struct err *err);

/* Notes where the files of PLACE/NAME come from. */
void unpacked_note_source(const char *place, const char *name,
                          const char *source);

/* Appends that of a folder; nothing where nobody has noted it. */
void unpacked_put_source(struct buf *out, const char *folder);

/* The name of a folder in the place; NULL: it is not in it. */
const char *unpacked_name(const char *place, const char *folder);

/* Removes a folder, if it is in the place. */
void unpacked_remove(const char *place, const char *folder);

#endif
