/* Finding the files of a manual. */
#ifndef INDEXER_SCAN_H
#define INDEXER_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct scan_file {
    char *path; /* relative to the root, "/" between folders */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t inode;
    char *failure; /* why it cannot be looked at; NULL: it can */
};

struct scan {
    struct scan_file *files; /* [count] in byte order of their paths */
    size_t count;
};

/* All files below `root` that Lectern reads (indexer/source.h), except
 * hidden ones and those that one of the globs in `ignore` (one a line) matches,
 * by path or by name.  A file or folder met twice (by links) counts once, under
 * its own path where it has one.  Links are followed to regular files, wherever
 * these are, and to folders below the root; one to another folder is listed
 * with its failure.  ERR_IO: the root cannot be read. */
int scan_folder(const char *root, const char *ignore, struct scan *ret_scan,
                struct err *err);
void scan_free(struct scan *scan);

#endif
