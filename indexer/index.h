/* Bringing a manual's index up to date with its files:
 * scan, parse, assemble, match ids, postings, one short transaction. */
#ifndef INDEXER_INDEX_H
#define INDEXER_INDEX_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "indexer/parser.h"
#include "indexer/skeletons.h"
#include "indexer/source.h"
#include "indexer/watch.h"
#include "memory/store/store.h"

/* The folder of a manual, which must outlive it; "": its files are not here (memory/pack),
 * and it is not updated. */
static inline struct source_root index_root(const struct manual *manual)
{
    return (struct source_root){.path = manual->root,
                                .all_links = manual->all_links};
}

struct index_options {
    struct parser_options parser;
    unsigned parsers;    /* parser processes that work side by side; 0: 1 */
    bool force;          /* parse every file again */
    bool retry;          /* parse files again that have failed */
    bool no_aliases;     /* what indexes call sections is not searched */
    struct watch *watch; /* NULL: folders are only scanned */
    struct skeletons *skeletons; /* NULL: none are kept between updates */
};

enum index_phase { INDEX_SCAN, INDEX_PARSE, INDEX_ASSEMBLE, INDEX_STORE };
const char *index_phase_name(int phase);

/* Called from the indexing thread, often; must be quick. */
typedef void index_progress(void *context, int phase, size_t done,
                            size_t total);

struct index_report {
    size_t seen;      /* files of a kind that is read; no links that are
                         not followed */
    size_t indexed;   /* of these, in the index now */
    size_t failed;    /* of these, failed */
    size_t parsed;    /* parsed in this run */
    size_t unsettled; /* changed so lately that they may change unnoticed */
    size_t nodes;
    size_t segments; /* 0 while no model is in the path */
    size_t tokens;   /* words */
    bool changed;    /* a new generation was made */
    double seconds;
};

/* What is asked of the manual of a folder. */
struct registering {
    struct source_root folder; /* its path is absolute */
    const char *name;          /* NULL: as it is called, a new one as its
                                  folder, made unique */
    const char *ignore;        /* globs, one a line; NULL: as they are, for a
                                  new one none */
    bool keeps_links;          /* one that is there follows the links it does */
    bool moves;                /* the manual of that name leaves its folder for
                                  this one */
};

/* Registers a manual for a folder and returns it: nothing is indexed yet.  The same
 * folder again: the same manual.  A manual of that name whose folder is gone, or that
 * never had one (memory/pack), gets this one.
 * ERR_USAGE: no such folder, a name already taken by another one; ERR_NOT_FOUND:
 * the folder holds no file that Lectern reads. */
int index_check(struct store *store, const struct registering *asked,
                struct err *err); /* only whether it can */
int index_register(struct store *store, const struct registering *asked,
                   struct manual *ret_manual, struct err *err);

/* Updates one manual.  `cancel` is polled between files.  A file that fails is
 * counted, not an error.  After an error or a crash the generation before
 * stands, and the next call goes on with the files parsed so far.  Afterwards
 * the old generation is still in the store: store_collect, once nobody reads
 * it any more (library_is_settled). */
int index_update(struct store *store, uint32_t manual,
                 const struct index_options *options, index_progress *progress,
                 void *context, const atomic_bool *cancel,
                 struct index_report *ret_report, struct err *err);

#endif
