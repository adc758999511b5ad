/* Checking that the store holds what it should: every record against the hashes,
 * references and counts that tie it to others, and what can be made again
 * against what it is made of.
 *
 *   manuals    decode; unique names; totals equal their files' and nodes'; ids,
 *              epochs and numbers below the counters that give them
 *   files      stand under their paths; indexed ones have a tree of the name
 *              that their content's hash gives, and stand in the outline
 *   trees      checksum; decode; the own hash of every node of the outline is
 *              that of the text it stands for (Merkle hashes follow from those)
 *   outlines   checksum; decode; sources, dropped blocks and ids exist;
 *              origins lie within their files
 *   postings   decode, ascend, name nodes of the outline, and are for every node
 *              those that its text gives
 *   vectors    hash; of this manual's nodes, its segments' number, unit length
 *   segments   for every node of the generation; spans and hashes of its text
 *   memories   of every name that the vectors were made of; finite, one width
 *
 * What no record refers to is not looked at: it is collected.  Nothing is held
 * long: records are read in transactions of some thousand, and a manual that
 * changes meanwhile is begun again. */
#ifndef MEMORY_STORE_VERIFY_STORE_VERIFY_H
#define MEMORY_STORE_VERIFY_STORE_VERIFY_H

#include <stdatomic.h>

#include "memory/snapshot/library.h"
#include "memory/embeddings/memories.h"

struct fault {
    const char *table;
    char *manual; /* NULL: none in particular */
    char *place;  /* file, node, term or name of the record */
    char *what;   /* is wrong */
    char *remedy; /* what to do */
};

enum { MAX_FAULTS = 200 }; /* that are described; all are counted */

struct verify_report {
    struct fault *faults; /* [described] */
    size_t described, fault_count;
    /* What was looked at. */
    uint64_t manuals, files, trees, nodes, terms, postings, segments, memories,
        vectors;
    bool by_model; /* memories were compared with what they should be of;
                      false: no model that they are by is at hand */
};
void verify_report_free(struct verify_report *report);

struct verify_options {
    struct store *store;
    struct library *library;
    /* NULL: no model is at hand. */
    const struct embedder_facts *facts;
    struct memory_policy policy;
    /* What the indexer knows: whether the tree that a file's record names is, by
     * some version of the parser, that of what the record says was read, and
     * whether spans are of other bytes than the file's. */
    bool (*is_tree)(const struct file *file);
    bool (*is_packed)(const char *path);
    bool drop; /* delete what is damaged, so that an update makes it anew */
    void (*progress)(void *context, size_t done, size_t total); /* or NULL */
    void *context;
    const atomic_bool *cancel;
};

/* The store as a whole: counters, manuals' records, pages.  With `drop` counters
 * that are damaged or lag behind go on after the greatest number that is in use.
 * Both add to the report. */
int verify_store(const struct verify_options *options,
                 struct verify_report *report, struct err *err);

/* Verifies one manual.  ERR_STALE: it changed meanwhile, and nothing was added.
 * ERR_NOT_FOUND: it is gone.  ERR_CANCELLED. */
int verify_manual(const struct verify_options *options, uint32_t manual,
                  struct verify_report *report, struct err *err);

#endif
