/* The store: everything Lectern keeps, in one LMDB environment.
 *
 * One daemon opens a store at a time (a lock file says so).  Any thread may
 * read; one at a time may write.  Reads copy out what they return (but for
 * postings), so a read transaction is as short as its calls.  The tables are drawn at the top of
 * store.c.
 *
 * A manual becomes visible, and changes, only by `store_put_manual` with a new
 * generation: trees, postings and outlines written before under names that no
 * manual refers to are invisible until then, and are collected when none does.
 *
 * Errors are ERR_STORE unless said otherwise; the message says whether the
 * disk is full, the store locked, of a newer schema or damaged. */
#ifndef MEMORY_STORE_STORE_H
#define MEMORY_STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "tree/tree.h"

struct store;
struct store_txn;

struct store_options {
    const char *folder; /* made when absent, mode 0700 */
    const char
        *address; /* where its user is reached, told whoever else opens it;
                            NULL: nowhere */
    uint64_t max_bytes; /* address space of the map; 0: 256 GiB */
};

/* ERR_STORE when it is in use: "another daemon (pid N, at ADDRESS) uses the store". */
int store_open(const struct store_options *options, struct store **ret_store,
               struct err *err);
void store_close(struct store *store);
const char *store_folder(const struct store *store);
void store_size(struct store *store, uint64_t *ret_used, uint64_t *ret_map);

/* ERR_STORE when a part of the file could not be read since it was opened: what
 * was read meanwhile may be wrong, and nothing can be read any more. */
int store_damage(struct store *store, struct err *err);

/* A value was read that is not what was written, since the store was opened or
 * that was forgotten. */
bool store_saw_damage(const struct store *store);
void store_forget_damage(struct store *store);

/* ERR_STORE when what is written would be lost: the file was removed, or is
 * damaged, as far as that is known. */
int store_may_write(struct store *store, struct err *err);

/* ERR_STORE when pages are damaged, so that what is there may not be found: to be
 * asked before it is said that something is not there.  It is done before the
 * first writing, too; the first time all pages but those of long values are looked
 * at, then it is known unless `again`. */
int store_check(struct store *store, bool again, struct err *err);

/* ERR_STORE, noted as store_saw_damage does, when a posting is not what was written: the
 * term that it was of would not be found, though all pages are in order.  To be asked
 * after store_check before it is said that nothing holds a term; all postings are looked at
 * the first time, and again after store_forget_damage. */
int store_check_postings(struct store *store, struct err *err);

/* Counts the store's bytes by table.  `exact`: all of one moment, for which it waits
 * until nobody writes. */
enum { STORE_MAX_TABLES = 16 };
struct store_pages {
    uint64_t bytes; /* of the file, as far as pages of it were ever used */
    uint64_t free;  /* of these: taken again before the file grows */
    struct {
        const char *name;
        uint64_t entries, bytes;
    } tables[STORE_MAX_TABLES];
    size_t count;
};
int store_pages(struct store *store, bool exact, struct store_pages *ret,
                struct err *err);

/* A reading transaction sees one moment of the store. */
int store_read(struct store *store, struct store_txn **ret_txn,
               struct err *err);
/* Waits until no other writes. */
int store_write(struct store *store, struct store_txn **ret_txn,
                struct err *err);
int store_commit(struct store_txn *txn, struct err *err); /* ends it too */
void store_end(struct store_txn *txn); /* drops what was written; NULL: ok */

/* ---- Manuals ---- */

struct manual {
    uint32_t id;         /* 0: store_put_manual gives the next one */
    uint64_t generation; /* 0: nothing indexed yet */
    uint32_t epoch;      /* names its postings; 0: none */
    uint32_t lexical;    /* LEXICAL_VERSION that made them */
    uint64_t vectors;    /* number of its vectors' making; 0: none */
    char *name;          /* unique */
    char *root;          /* absolute path of its folder; "": its files are not
                            here (memory/pack) */
    char *ignore;        /* globs, one a line; "" */
    bool all_links;      /* links are followed out of its folder */
    int64_t
        indexed_at; /* seconds since 1970, when its files were looked at; 0: never */
    /* Totals of the generation. */
    uint64_t files, failed, not_followed, nodes, words;
};
void manual_free(struct manual *manual); /* its strings, not itself */

/* `vectors` stays as the store has it: store_put_vectors counts it. */
int store_put_manual(struct store_txn *txn, struct manual *manual,
                     struct err *err);
/* ERR_NOT_FOUND.  Free with manual_free. */
int store_get_manual(struct store_txn *txn, uint32_t id,
                     struct manual *ret_manual, struct err *err);
int store_find_manual(struct store_txn *txn, const char *name,
                      struct manual *ret_manual, struct err *err);
/* All of them in order of their ids; free each, then the array.  A record that
 * is damaged is logged and left out. */
int store_list_manuals(struct store_txn *txn, struct manual **ret_manuals,
                       size_t *ret_count, struct err *err);
/* The same in a transaction of its own. */
int store_read_manuals(struct store *store, struct manual **ret_manuals,
                       size_t *ret_count, struct err *err);
/* ERR_STORE when store_list_manuals, which found `count`, has left one out. */
int store_check_manuals(struct store_txn *txn, size_t count, struct err *err);
/* With all its files, outlines and vectors; the rest is collected later. */
int store_delete_manual(struct store_txn *txn, uint32_t id, struct err *err);

/* ---- Files of a manual ---- */

enum file_state {
    FILE_INDEXED,
    FILE_FAILED,
    FILE_NOT_FOLLOWED /* a link that leads out of the manual's folder */
};

struct file {
    char *path;    /* relative to the manual's root */
    uint64_t size; /* at the last look */
    int64_t mtime_ns;
    uint64_t inode;
    struct hash128 content; /* of the bytes */
    struct hash128 tree;    /* name of its tree; only when indexed */
    int state;              /* enum file_state */
    char *failure;          /* why it failed; "" */
    char *inputs;           /* the files its tree was made of besides, as
                     indexer/inputs.h writes them; NULL, "": none */
    char *reports; /* what is wrong in it though it is read, a line each; NULL,
                      "": nothing */
};
void file_free(struct file *file); /* its strings, not itself */

int store_put_file(struct store_txn *txn, uint32_t manual,
                   const struct file *file, struct err *err);
int store_delete_file(struct store_txn *txn, uint32_t manual, const char *path,
                      struct err *err);
/* All of a manual in byte order of their paths; free each, then the array. */
int store_list_files(struct store_txn *txn, uint32_t manual,
                     struct file **ret_files, size_t *ret_count,
                     struct err *err);

/* ---- Trees of files: named by the hash of all the parser saw ---- */

int store_put_tree(struct store_txn *txn, struct hash128 name,
                   const struct tree *tree, struct err *err);
bool store_has_tree(struct store_txn *txn, struct hash128 name);
/* ERR_NOT_FOUND; ERR_FORMAT: it is damaged. */
int store_get_tree(struct store_txn *txn, struct hash128 name,
                   struct tree **ret_tree, struct err *err);

/* Some nodes of it, `node` among them, from *ret_first on, without the places that
 * they have among the others (tree_decode_part); a short tree is given whole. */
int store_get_tree_part(struct store_txn *txn, struct hash128 name,
                        uint32_t node, struct tree **ret_tree,
                        uint32_t *ret_first, struct err *err);

/* ---- Outlines: the assembled tree of a manual's generation ---- */

int store_put_outline(struct store_txn *txn, uint32_t manual,
                      uint64_t generation, const struct tree *outline,
                      struct err *err);
int store_get_outline(struct store_txn *txn, uint32_t manual,
                      uint64_t generation, struct tree **ret_outline,
                      struct err *err);
/* Takes `count` ids for nodes; the first.  Never gives one twice. */
int store_take_ids(struct store_txn *txn, uint64_t count, uint64_t *ret_first,
                   struct err *err);

/* ---- Postings: bytes under (manual, epoch, term); see lexical.h ---- */

/* The slice is valid until the transaction writes or ends; empty: none. */
int store_get_postings(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                       struct slice term, struct slice *ret_value,
                       struct err *err);
/* An empty value deletes. */
int store_put_postings(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                       struct slice term, struct slice value, struct err *err);
/* The terms that start with `prefix`, in byte order, and the bytes of their
 * postings, until `each` returns false. */
int store_each_term(struct store_txn *txn, uint32_t manual, uint32_t epoch,
                    struct slice prefix,
                    bool (*each)(void *context, struct slice term, size_t size),
                    void *context, struct err *err);
/* An epoch number that was never used. */
int store_take_epoch(struct store_txn *txn, uint32_t *ret_epoch,
                     struct err *err);

/* ---- Memories and vectors: memories.h, vectors.h ---- */

/* Segments of a node, by the hash of its content and of how it was cut.
 * ERR_NOT_FOUND.  Slices are valid until the transaction writes or ends. */
int store_put_segments(struct store_txn *txn, struct hash128 name,
                       struct slice value, struct err *err);
int store_get_segments(struct store_txn *txn, struct hash128 name,
                       struct slice *ret_value, struct err *err);

/* A segment's memory, of finite values, rounded (kernels/q8.h). */
int store_put_memory(struct store_txn *txn, struct hash128 name,
                     const float *memory, size_t width, struct err *err);
/* ERR_NOT_FOUND; ERR_STORE when it has another width, or no numbers. */
int store_get_memory(struct store_txn *txn, struct hash128 name,
                     float *ret_memory, size_t width, struct err *err);
/* The same as they are kept, for packs.  Slices are valid until the transaction
 * writes or ends. */
int store_put_memory_bytes(struct store_txn *txn, struct hash128 name,
                           struct slice value, struct err *err);
int store_get_memory_bytes(struct store_txn *txn, struct hash128 name,
                           struct slice *ret_value, struct err *err);
/* Whether they are a memory of that width, which is read into `ret` [width]. */
bool store_is_memory(struct slice value, float *ret, size_t width);
/* Whether store_get_memory would give one: what is damaged is encoded again. */
bool store_has_memory(struct store_txn *txn, struct hash128 name, size_t width);

/* Replaces the manual's vectors and counts `manual.vectors` up; the making of
 * its segments and memories is done.
 * ERR_NOT_FOUND: no such manual. */
int store_put_vectors(struct store_txn *txn, uint32_t manual,
                      struct slice value, struct err *err);
/* The same for those that go before them; store_put_vectors takes them away. */
int store_put_vector_delta(struct store_txn *txn, uint32_t manual,
                           struct slice value, struct err *err);
int store_get_vector_delta(struct store_txn *txn, uint32_t manual,
                           struct slice *ret_value, struct err *err);
/* Both, whatever there is; the manual's record is left as it is. */
int store_delete_vectors(struct store_txn *txn, uint32_t manual,
                         struct err *err);
/* ERR_NOT_FOUND.  As with segments, for the slice. */
int store_get_vectors(struct store_txn *txn, uint32_t manual,
                      struct slice *ret_value, struct err *err);

/* ---- Care ---- */

/* Progress of a copy; `done` and `total` in records.  One copy at a time: who asks
 * for it sees to that. */
struct copy_report {
    uint64_t before, after; /* bytes of the store and of the copy */
    uint64_t needed;        /* most bytes of disk that the copy takes */
    uint64_t available;     /* bytes of disk that were free */
};
typedef void store_progress(void *context, size_t done, size_t total);

/* Writes the store as it is at one moment into `folder`, which must not be there
 * or be empty: a store that a daemon can open.  Others go on reading and writing;
 * pages that they free meanwhile are taken again after the end.  What is there
 * of the copy after an error or a crash is a folder FOLDER.partial.  ERR_USAGE:
 * the folder is in use; ERR_STORE: also when the disk has too little room, before
 * anything is written; ERR_CANCELLED. */
int store_backup(struct store *store, const char *folder,
                 store_progress *progress, void *context,
                 const atomic_bool *cancel, struct copy_report *ret,
                 struct err *err);

/* Rewrites the store densely and exchanges its file, while others read; writers
 * wait at the end, all the time only when they do not rest.  The store is the old
 * one or the new one at any moment, each with all that was committed.  Errors as
 * above. */
int store_compact(struct store *store, store_progress *progress, void *context,
                  const atomic_bool *cancel, struct copy_report *ret,
                  struct err *err);

/* Work that may not come to its end notes what it makes, in the transaction that
 * puts it into the store: until that is referred to, or of no use any more, it is
 * not collected. */
enum unfinished_kind {
    UNFINISHED_TREES,
    UNFINISHED_SEGMENTS,
    UNFINISHED_MEMORIES
};
int store_note_made(struct store_txn *txn, uint32_t manual,
                    enum unfinished_kind kind, const struct hash128 *names,
                    size_t count, struct err *err);
/* It is done. */
int store_forget_made(struct store_txn *txn, uint32_t manual,
                      enum unfinished_kind kind, struct err *err);
/* Drops what was noted of a build but these (sorted), which are of use still. */
int store_prune_made(struct store *store, uint32_t manual,
                     enum unfinished_kind kind, const struct hash128 *wanted,
                     size_t count, struct err *err);

/* Deletes what no manual refers to and no unfinished work has noted, in
 * transactions of at most some thousand entries.  Only the thread that indexes,
 * or one for whom it rests, may call it. */
int store_collect(struct store *store, struct err *err);

#endif
