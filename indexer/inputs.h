/* The files that LaTeX documents include: which file of the manual a name
 * means, and of which a tree was made, so that a change in one has the
 * documents read again that include it.
 *
 * A name is resolved only to a file that the scan has found: what is hidden,
 * ignored or outside of the manual's folder cannot be included, however it is
 * written. */
#ifndef INDEXER_INPUTS_H
#define INDEXER_INPUTS_H

#include "base/buf.h"
#include "base/hash.h"
#include "indexer/parser.h"
#include "indexer/scan.h"

/* The file meant by one of `names` (paths as written in the document, one a
 * line, the first that is there counts), by its place in the scan; SIZE_MAX:
 * none, and a reason in `ret_reason` if there is one.  A path is looked for
 * from the folder of `document` (a path relative to the manual's root), also
 * packed, then whatever its capital letters are; a path that is not there is the
 * one file of the manual whose path ends in it. */
size_t inputs_find(const struct scan *scan, const char *document,
                   struct slice names, struct buf *ret_reason);

/* A file as it was when the document asked for it first: read and unpacked once,
 * however often it is included. */
struct input {
    size_t file;         /* of the scan */
    struct buf bytes;    /* unpacked */
    struct buf reason;   /* why it cannot be read; empty: it can */
    struct hash128 hash; /* of the bytes on the disk */
};

/* The files that one document is made of while it is parsed. */
struct inputs {
    const struct scan *scan;
    const struct source_root *root;
    const char *document; /* relative to the root */
    struct buf record;    /* as struct file has it (memory/store/store.h) */
    struct input *read;   /* [read_count], PARSER_MAX_BYTES at the most */
    size_t read_count, read_capacity, read_bytes;
    size_t unpacked_bytes; /* for it, also of files that were refused */
    bool unread;           /* the disk did not give one of them */
    struct err shortage;   /* code 0: none; the document must be read again */
};

/* Frees all but the record. */
void inputs_free(struct inputs *inputs);

/* parser_inputs.open with a struct inputs as its context. */
bool inputs_open(void *context, struct slice names, struct slice *ret_bytes,
                 struct buf *ret_path);

/* The record of a file that is read in what includes it and not by itself: that it
 * includes nothing, by a name that none has. */
#define INPUTS_OF_PART "\t\t00000000000000000000000000000000\n"

/* Would the names in a record be resolved as they were, to files of the same
 * content?  `content` has the hash of each file of the scan, 0, 0 where it is
 * not known. */
bool inputs_are_same(const struct scan *scan, const char *document,
                     const char *record, const struct hash128 *content);

#endif
