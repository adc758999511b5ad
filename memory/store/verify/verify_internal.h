/* What the files of the verification share. */
#ifndef MEMORY_STORE_VERIFY_VERIFY_INTERNAL_H
#define MEMORY_STORE_VERIFY_VERIFY_INTERNAL_H

#include "memory/embeddings/plan.h"
#include "memory/store/store_internal.h"
#include "memory/vectors/vectors.h"
#include "memory/store/verify/store_verify.h"

/* The sum of hashes of a node's postings, and how many there are. */
struct digest {
    uint64_t sum;
    uint32_t count;
};

struct verify_id {
    uint64_t id;
    uint32_t node;
};

struct verification {
    const struct verify_options *options;
    struct verify_report report;
    struct snapshot *snapshot; /* keeps what is read from being collected */
    const struct view *view;   /* NULL: not on the snapshot */
    struct buf record;         /* of the manual, as it was at first */
    struct manual manual;
    struct tree *outline;    /* NULL: it cannot be read */
    struct verify_id *by_id; /* [outline->count] ascending */
    struct file *files;      /* [file_count] sorted by path */
    size_t file_count, file_capacity;
    struct file **file_of;      /* [outline->file_count] NULL: no record */
    struct digest *kept, *made; /* [outline->count] */
    struct build build;
    struct plan plan;  /* nodes NULL: no plan is at hand */
    struct buf doomed; /* table, key of damaged records */
    bool has_delta;    /* of its vectors */
    bool drop_vectors;
    size_t done, total; /* for progress */
};

/* STORE: a repair of all, not of one manual. */
enum remedy {
    REMEDY_FORCE,
    REMEDY_REPAIR,
    REMEDY_STORE,
    REMEDY_ADD,
    REMEDY_COMPACT
};

void verify_fault(struct verification *v, int table, enum remedy remedy,
                  const char *place, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The record goes when repair is asked for. */
void verify_doom(struct verification *v, int table, struct slice key);
int verify_drop_doomed(const struct verification *v, struct store_txn *txn,
                       struct err *err);
/* Moves what was found into the caller's report. */
void verify_add_report(struct verify_report *to, struct verify_report *from);
/* Counts one thing done.  ERR_CANCELLED. */
int verify_step(struct verification *v, struct err *err);
/* "n12 (its title)". */
void verify_node_place(const struct verification *v, uint32_t node,
                       char place[128]);
/* Index in the outline; TREE_NONE: none. */
uint32_t verify_find(const struct verification *v, uint64_t id);

/* verify_records.c: what a counter gives next; one that is not there gives 1, as
 * the store has it.  False: it is damaged. */
bool verify_read_counter(struct store_txn *txn, const char *name,
                         uint64_t *ret_next);
/* A greater one is damage, and no reason to go on from it. */
#define MAX_NODE_NUMBER (UINT64_MAX / 2)

/* verify_content.c: files, outline, trees, postings, segments' texts. */
int verify_content(struct verification *v, struct err *err);

/* verify_memories.c: plan, vectors, and what they are made of.  `plan` comes
 * before verify_content, which then calls verify_segments for each node. */
int verify_plan(struct verification *v, struct err *err);
void verify_segments(struct verification *v, uint32_t node,
                     const struct node *content);
int verify_vectors(struct verification *v, struct err *err);

#endif
