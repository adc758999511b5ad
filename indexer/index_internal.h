/* One update of one manual, between the files that make it: index_scan.c,
 * index_parse.c, index_postings.c, index.c. */
#ifndef INDEXER_INDEX_INTERNAL_H
#define INDEXER_INDEX_INTERNAL_H

#include "indexer/index.h"
#include "indexer/scan.h"
#include "memory/lexical/lexical.h"

struct update {
    struct store *store;
    const struct index_options *options;
    index_progress *progress;
    void *context;
    const atomic_bool *cancel;
    struct index_report *report;

    struct manual manual;
    struct source_root root; /* of `manual` */
    int64_t started_ns;      /* since 1970 */
    struct scan scan;
    struct file *old_files; /* [old_file_count] sorted by path */
    size_t old_file_count;
    struct file *files; /* [scan.count] as they will be */
    bool *known;        /* [scan.count] what is recorded is of this parser */
    bool *has_tree;     /* the same: the tree that it has is in the store */
    bool *keep_record;  /* [scan.count] the record needs no writing */
    bool changed;       /* the generation is to be made anew */
    struct skeletons *skeletons;

    uint32_t *indexed; /* [indexed_count] files of the outline */
    uint32_t indexed_count;
    struct tree *outline, *old_outline;
    uint32_t *old_nodes; /* [outline->count] */
    uint32_t epoch;
    struct lexical_delta *delta;
};

/* Tells of the progress; ERR_CANCELLED: it is to stop. */
int update_step(const struct update *u, int phase, size_t done, size_t total,
                struct err *err);

/* ---- index_scan.c ---- */

/* The file's record of the generation before; NULL: there is none. */
const struct file *update_find_old(const struct update *u, const char *path);
/* It failed before its bytes were known. */
bool update_was_unread(const struct file *old);
/* Lists the folder and reads the records. */
int update_scan(struct update *u, struct err *err);
/* Fills files[i] from the record or as new; true: it has to be read. */
bool update_look_up(struct update *u, struct store_txn *txn, size_t i);

/* ---- index_parse.c ---- */

/* Parses what changed; the trees are in the store afterwards. */
int update_parse(struct update *u, struct err *err);
/* Drops the trees that updates before this one parsed and did not come to use. */
int update_prune_trees(struct update *u, struct err *err);

/* ---- index.c ---- */

/* The skeleton of the tree of that name, which u->skeletons owns. */
int update_read_skeleton(struct update *u, struct store_txn *txn,
                         struct hash128 name, struct tree **ret,
                         struct err *err);

/* ---- index_postings.c ---- */

/* So much that all postings are written anew. */
bool update_is_large(const struct update *u);
/* All nodes into a new epoch, in transactions that nobody sees. */
int update_rewrite_postings(struct update *u, struct err *err);
/* What changed, within the transaction that makes it visible. */
int update_change_postings(struct update *u, struct store_txn *txn,
                           struct err *err);

#endif
