/* The vectors by which a manual is routed: one unit key for each segment of
 * its nodes (in a FAISS index, for flat dense search) and one for each whole
 * sub-tree (for descent), in the key space of the embedder (embedder.h).
 *
 * Made by memories_update, kept in the store under the manual, read with its
 * view.  They name nodes by id: those of the generation before go on
 * serving until their successors are there, less the nodes that are gone. */
#ifndef MEMORY_VECTORS_VECTORS_H
#define MEMORY_VECTORS_VECTORS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "memory/store/store.h"

/* Tables of vectors: plain arrays, owned by the caller.
 *
 * A manual has a base, the vectors of all its nodes, and may have a delta: those
 * of the nodes that have changed since, which go before the base's. */
struct vector_table {
    uint64_t base;             /* of a delta: vector_table_hash of its base's
                                  bytes; 0: it is a base */
    struct hash128 policy;     /* of all that decides what vectors are */
    uint64_t generation;       /* of the manual, for which they were made */
    size_t width;              /* p */
    uint64_t segments, tokens; /* totals, for reports */
    uint32_t node_count;
    uint64_t *nodes; /* [node_count] ids */
    float *subtrees; /* [node_count, width] M_v, unit */
    uint32_t row_count;
    uint32_t *row_nodes; /* [row_count] index into nodes, ascending */
    float *keys;         /* [row_count, width] unit; NULL: see row_names */
    uint32_t *row_names; /* [row_count] index into names of the memory that the
                            row's key is, made unit length; NULL: they are not */
    uint32_t name_count;
    struct hash128 *names; /* [name_count] segments and memories in the store
                              that they were made of */
};
void vector_table_free(struct vector_table *table); /* its arrays */

/* Vectors are kept in 8 bits a value (kernels/q8.h), and keys not at all where they
 * have row_names. */
void vector_table_encode(const struct vector_table *table, struct buf *ret);
/* Returns the hash of encoded vectors by which a delta names its base.  0: they are of the first
 * version, or too short. */
uint64_t vector_table_hash(struct slice bytes);
/* All bytes are as they were encoded, as far as can be told. */
bool vector_table_is_whole(struct slice bytes);
/* Without the keys that vector_table_read_keys then reads.  ERR_FORMAT. */
int vector_table_decode(struct slice bytes, struct vector_table *ret,
                        struct err *err);
/* Policy, generation, totals, names, without the vectors. */
int vector_table_head(struct slice bytes, struct vector_table *ret,
                      struct err *err);

/* *ret: for each of `ids` [count] what `newer` has of that node, else what
 * `older` has of it, else nothing; names of both, all else of `newer`.  Keys are
 * left out where there are row_names.  ERR_FORMAT: they are not of one kind. */
int vector_table_join(const struct vector_table *older,
                      const struct vector_table *newer, const uint64_t *ids,
                      uint32_t count, struct vector_table *ret,
                      struct err *err);

/* The heads of a manual's vectors in the store, the delta's empty where there is
 * none.  ERR_NOT_FOUND: no vectors; ERR_FORMAT: they are damaged, or a delta is not
 * of the base.  Free both. */
int vectors_heads(struct store_txn *txn, uint32_t manual,
                  struct vector_table *ret_base, struct vector_table *ret_delta,
                  struct err *err);
/* The one that says which generation they are of. */
static inline const struct vector_table *vectors_newest(
    const struct vector_table *base, const struct vector_table *delta)
{
    return delta->width ? delta : base;
}
/* Base and delta as one, of the nodes `ids` [count] as far as there are any;
 * without a delta the whole base.  Errors as above. */
int vectors_read(struct store_txn *txn, uint32_t manual, const uint64_t *ids,
                 uint32_t count, struct vector_table *ret, struct err *err);

/* Makes the keys of a table that has none, from memories.  ERR_NOT_FOUND and
 * ERR_STORE: one is missing or damaged. */
int vector_table_read_keys(struct store_txn *txn, struct vector_table *table,
                           struct err *err);

struct vectors;

/* `node_of` [table->node_count]: the outline's index of each of the table's
 * nodes, TREE_NONE: gone.  Its keys must be there.  Takes the table over (also on
 * failure). */
int vectors_open(struct vector_table *table, const uint32_t *node_of,
                 uint32_t outline_count, struct vectors **ret, struct err *err);
void vectors_close(struct vectors *vectors); /* NULL: ok */

struct hash128 vectors_policy(const struct vectors *vectors);
uint64_t vectors_generation(const struct vectors *vectors);
size_t vectors_width(const struct vectors *vectors);

/* Rows, [0, vectors_segments): each the unit key of a segment, and the node of the
 * outline that owns it (TREE_NONE: gone).  Rows of a node stand together. */
size_t vectors_segments(const struct vectors *vectors);
/* How many of them are of nodes that are not gone. */
size_t vectors_kept(const struct vectors *vectors);
const float *vectors_key(const struct vectors *vectors, uint32_t row);
uint32_t vectors_node(const struct vectors *vectors, uint32_t row);
/* How many of the rows are the node's. */
uint32_t vectors_rows_of(const struct vectors *vectors, uint32_t node);
/* [vectors_segments] hashes of the keys: equal keys, equal hash. */
const uint64_t *vectors_hashes(const struct vectors *vectors);

struct vector_hit {
    uint32_t node; /* of the outline */
    float score;   /* cosine of its best segment */
};

/* The nodes of [from, end) whose best segments are nearest to `query` [width],
 * best first, at most `most`; hits [most].  `accept` (NULL: all) says which
 * nodes count: only theirs are compared.  Returns how many. */
size_t vectors_search(const struct vectors *vectors, const float *query,
                      uint32_t from, uint32_t end,
                      bool (*accept)(void *context, uint32_t node),
                      void *context, size_t max, struct vector_hit *hits);

/* Cosine of the query with a node's whole sub-tree, and with the best of its
 * own segments; -2: it has none. */
float vectors_whole(const struct vectors *vectors, const float *query,
                    uint32_t node);
float vectors_own(const struct vectors *vectors, const float *query,
                  uint32_t node);

#endif
