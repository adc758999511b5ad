/* What the steps of an update share; index.c says which there are. */
#ifndef INDEXER_INDEX_INTERNAL_H
#define INDEXER_INDEX_INTERNAL_H

#include "indexer/index.h"
#include "indexer/parsers.h"
#include "indexer/scan.h"

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

/* Tells of progress; ERR_CANCELLED. */
int update_step(const struct update *u, int phase, size_t done, size_t total,
                struct err *err);

/* index_scan.c: the manual's outline as it was, and the folder as it is; the record
 * that a file of the path had, or NULL. */
int update_read_old_outline(struct update *u, struct err *err);
int update_scan(struct update *u, struct err *err);
const struct file *update_find_old(const struct update *u, const char *path);

/* index_records.c: fills files[i] from the record or as new and tells whether it has to
 * be read; and from what came of reading it. */
bool update_look_up(struct update *u, struct store_txn *txn, size_t i);
void update_take_result(struct update *u, size_t i,
                        const struct parsers_result *r);

/* index_parse.c: reads what has to be read; and drops trees that updates before this
 * one parsed and did not come to use. */
int update_parse(struct update *u, struct err *err);
int update_prune_trees(struct update *u, struct err *err);

/* index_outline.c: reads the skeleton of a tree, which u->skeletons owns then; makes the
 * outline; and gives its new nodes ids. */
int update_read_skeleton(struct update *u, struct store_txn *txn,
                         struct hash128 name, struct tree **ret,
                         struct err *err);
int update_build_outline(struct update *u, struct err *err);
int update_give_ids(struct update *u, struct store_txn *txn, struct err *err);

/* index_postings.c: so much changed that all postings are written, into a new epoch, in
 * transactions nobody sees; or those of what changed, within the flipping one. */
bool update_much_changed(const struct update *u);
int update_rewrite_postings(struct update *u, struct err *err);
int update_change_postings(struct update *u, struct store_txn *txn,
                           struct err *err);

#endif
