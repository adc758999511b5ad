/* Finding the files of a manual. */
#ifndef INDEXER_SCAN_H
#define INDEXER_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "indexer/source.h"

struct file; /* memory/store/store.h */

struct scan_file {
    char *path; /* relative to the root, "/" between folders */
    uint64_t size;
    int64_t mtime_ns;
    uint64_t inode;
    int64_t changed_at; /* its inode did, in seconds since 1970 */
    char *failure;      /* why it cannot be looked at; NULL: it can */
    bool not_followed;  /* `failure` is that of a link that is not followed */
};

/* What is said of a file there, but for its path. */
struct scan_file scan_stat(const struct stat *st);

/* Whether a file is as it was when its record was made, at `indexed_at` or before it: not
 * one whose time stamp was set back, as rsync and reproducible builds do, for its inode
 * tells when that was done. */
bool scan_is_untouched(const struct scan_file *now, const struct file *record,
                       int64_t indexed_at);

struct scan {
    struct scan_file *files; /* [count] in byte order of their paths */
    size_t count;
    uint32_t *by_end;        /* [count] files, by their paths read backwards,
                                without .gz */
    uint32_t *by_end_folded; /* [count] the same, capital letters as small */
};

/* All files below `root` that Lectern reads (indexer/source.h), except
 * hidden ones and those that one of the globs in `ignore` (one a line) matches,
 * by path or by name.  A file or folder met twice (by links) counts once, under
 * its own path where it has one.  Links are followed to what is within the root
 * (source_is_within); others, where they are named as files that are read or lead
 * to folders, are listed as not followed; root->except is passed over.  ERR_IO: the
 * root cannot be read. */
int scan_folder(const struct source_root *root, const char *ignore,
                struct scan *ret_scan, struct err *err);
void scan_free(struct scan *scan);
/* The file of that path; SIZE_MAX: there is none. */
size_t scan_find(const struct scan *scan, const char *path);
/* The one file of that path, without .gz, but for capital and small letters of
 * ASCII: names are taken so on the disks of many who write, and by TeX Live. */
size_t scan_find_folded(const struct scan *scan, struct slice path);
/* The one file whose path, without .gz, is `name` or ends in "/" and that; if
 * there is none, but for capital and small letters; SIZE_MAX: there is none, or
 * several. */
size_t scan_find_by_end(const struct scan *scan, struct slice name);
/* Sets ret[i] of the files of that name, without .gz and whatever their folders and
 * capital letters are; of very many in several folders not all. */
void scan_mark_named(const struct scan *scan, struct slice name, bool *ret);

/* Told of what a scan is about to look at, so that who watches it from then on
 * misses nothing. */
struct scan_visitor {
    void *context;
    void (*folder)(void *context, int fd);         /* before it is read */
    void (*link)(void *context, const char *path); /* a symbolic link that is
                                                      followed, or dangles */
};

/* scan_folder with a visitor (NULL: none). */
int scan_visited(const struct source_root *root, const char *ignore,
                 const struct scan_visitor *visitor, struct scan *ret_scan,
                 struct err *err);

/* Whether a file of this name is one that a scan may find. */
bool scan_reads(const char *name);

#endif
