/* Several parsers at work on a list of files: reading, hashing and parsing
 * happen in threads of their own, the results come back to the one that asked. */
#ifndef INDEXER_PARSERS_H
#define INDEXER_PARSERS_H

#include <stdbool.h>

#include "base/err.h"
#include "indexer/parser.h"
#include "indexer/scan.h"
#include "memory/store/store.h"
#include "tree/tree.h"

struct parsers_task {
    const char *path; /* absolute */
    const char *name; /* the same, relative to the root */
    bool look;        /* it is read, not parsed */
    bool has_known;   /* `known` is the hash of what is indexed */
    struct hash128 known;
    uint64_t size; /* the file as it was when the scan met it */
    int64_t mtime_ns;
    uint64_t inode;
};

struct parsers_result {
    size_t task;
    struct hash128 content; /* hash of the bytes; only when read */
    struct hash128 name;    /* under which its tree is stored */
    bool unchanged;         /* content is `known` */
    bool moved;  /* what was read is not, or not surely, what the scan met */
    bool stored; /* the store has a tree of that name already */
    struct tree *tree;   /* else this; NULL when failed */
    struct buf mentions; /* of a look: what it names (indexer/mentions.h) */
    struct buf inputs;   /* the record of what it includes (indexer/inputs.h) */
    struct buf reports;  /* what is wrong in a document that is read, a line
                           each */
    struct err err;      /* code 0: fine */
    bool unread; /* the disk did not give the file, or one that it includes */
    bool broken; /* err is not the file's: no parser, no descriptors, cancelled:
                                  no file would fare better */
};

/* The name under which the tree of a file of that name and content is stored. */
struct hash128 parsers_tree_name(struct hash128 content, const char *path);

/* The same of a document that includes others: `inputs` is their record. */
struct hash128 parsers_name_with(struct hash128 name, struct slice inputs);

/* The name of the tree that the record's file has, as it was read. */
struct hash128 parsers_file_tree(const struct file *file);
/* The record names that, or what it was by an earlier version of the parser. */
bool parsers_is_tree(const struct file *file);

/* The tree of a file that is nothing by itself.  The caller frees it. */
struct tree *parsers_part_tree(void);

struct parsers;

/* Parsers, at most so many threads, for files of the folder `root`, of which the scan
 * must outlive them: what documents include is looked for in it. */
struct parsers *parsers_new(struct store *store,
                            const struct parser_options *options,
                            unsigned threads, bool force,
                            const struct source_root *root,
                            const struct scan *scan);

/* Begins with the tasks, which must stay until all of their results are taken, as
 * must those of the tasks before have been.  ERR_IO: not one thread could be started. */
int parsers_give(struct parsers *parsers, const struct parsers_task *tasks,
                 size_t count, struct err *err);

/* The next result in the order of completion; waits for one.  False: all have
 * been given.  The caller owns ret->tree, mentions, inputs and
 * reports. */
bool parsers_next(struct parsers *parsers, struct parsers_result *ret);

/* Ends it; tasks not yet begun are left undone. */
void parsers_stop(struct parsers *parsers);

#endif
