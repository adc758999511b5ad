/* Files, folders, clocks: the operating system with our error convention. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"

/* The whole of a regular file into `ret` (which must be empty); ERR_LIMIT when
 * larger than `limit` bytes. */
int file_read(const char *path, size_t limit, struct buf *ret, struct err *err);

/* Bytes [from, to) of a file.  ERR_STALE: it ends before. */
int file_read_span(const char *path, uint64_t from, uint64_t to,
                   struct buf *ret, struct err *err);

/* Opens a regular file for reading, without waiting for anybody: its descriptor,
 * or ERR_IO. */
int file_open_regular(const char *path, struct err *err);

/* The same of files that are open; `path` is for messages. */
int file_read_open(int fd, const char *path, size_t limit, struct buf *ret,
                   struct err *err);
int file_read_open_span(int fd, const char *path, uint64_t from, uint64_t to,
                        struct buf *ret, struct err *err);

/* Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed: the
 * next file opened would get the number, and messages would be written into
 * it.  Only for reading as standard output: file_end_output tells that what was written
 * there is lost.  First thing in every main. */
void file_open_standard(void);

/* Writes out what standard output holds.  ERR_IO: not all that was printed could be
 * written, now or before.  Last thing in every main that prints. */
int file_end_output(struct err *err);

/* Writes a new file beside `path`, syncs it, and renames it into place: only its owner
 * may read and write it. */
int file_write(const char *path, struct slice content, struct err *err);
/* The same, but whoever might read or write what was there still may. */
int file_rewrite(const char *path, struct slice content, struct err *err);

/* Names made, renamed or removed in the folder are on the disk when it returns:
 * a file's own fsync does not see to that.  A folder that may be entered but not
 * read cannot be synced: it is left to the system. */
int file_sync_folder(const char *path, struct err *err);

/* All that was written to the disk that has `path`, files and names, is on it when it
 * returns: for many files at once. */
int file_sync_disk(const char *path, struct err *err);

/* An exclusive flock.  A process that was killed holds its lock until the
 * system has cleared it away: some patience before it is taken for a live one.
 * -1 with errno. */
int file_lock_patiently(int fd);

/* mkdir -p; the last folder gets `mode`.  What is made is on the disk, too. */
int file_make_folder(const char *path, unsigned mode, struct err *err);

/* Removes a folder with all that is in it, as far as that can be; links are not
 * followed. */
void file_remove_folder(const char *path);

/* Whether both paths lead to one place; of what is not there, whether they are equal. */
bool file_is_same_place(const char *a, const char *b);

/* Whether the path is the folder's own or leads below it; both as realpath has them. */
bool file_is_below(const char *path, const char *folder);

/* Whether nothing is there: not of what cannot be looked at, as on a disk that fails. */
bool file_is_gone(const char *path);

/* Whether it can be the name of a file or a folder right in another one that shows it:
 * with no "/", and not hidden. */
bool file_is_name(const char *name);

/* Appends `folder/name`. */
void file_join(struct buf *buf, const char *folder, const char *name);

int64_t clock_nanoseconds(struct timespec at);
int64_t clock_ms(void);     /* monotonic */
double clock_seconds(void); /* monotonic, for measuring */

#endif
