/* The vectors by which a manual is routed: one unit key for each segment of
 * its nodes (in a FAISS index, for flat dense search) and one for each whole
 * sub-tree (for descent), in the key space of the embedder (embedder.h).
 *
 * Made by memories_update, kept in the store under the manual, read with its
 * volume.  They name nodes by id: those of the generation before go on
 * serving until their successors are there, less the nodes that are gone. */
#ifndef MEMORY_VECTORS_H
#define MEMORY_VECTORS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "memory/store.h"

/* What is kept: plain arrays, of the caller. */
struct vector_table {
    struct hash128 policy;     /* of all that decides what vectors are */
    uint64_t generation;       /* of the manual, for which they were made */
    size_t width;              /* p */
    uint64_t segments, tokens; /* totals, for reports */
    uint32_t node_count;
    uint64_t *nodes; /* [node_count] ids */
    float *wholes;   /* [node_count, width] M_v, unit */
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

/* Vectors are kept in 8 bits a value (base/q8.h), and keys not at all where they
 * have row_names. */
void vector_table_encode(const struct vector_table *table, struct buf *ret);
/* Without the keys that vector_table_read_keys then reads.  ERR_FORMAT. */
int vector_table_decode(struct slice bytes, struct vector_table *ret,
                        struct err *err);
/* Policy, generation, totals, names, without the vectors. */
int vector_table_head(struct slice bytes, struct vector_table *ret,
                      struct err *err);

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
size_t vectors_segments(const struct vectors *vectors);

struct vector_hit {
    uint32_t node; /* of the outline */
    float score;   /* cosine of its best segment */
};

/* The nodes of [from, end) whose best segments are nearest to `query` [width],
 * best first, at most `most`; hits [most].  `accept` (NULL: all) says which
 * nodes count.  Returns how many. */
size_t vectors_search(const struct vectors *vectors, const float *query,
                      uint32_t from, uint32_t end,
                      bool (*accept)(void *context, uint32_t node),
                      void *context, size_t most, struct vector_hit *hits);

/* Cosine of the query with a node's whole sub-tree, and with the best of its
 * own segments; -2: it has none. */
float vectors_whole(const struct vectors *vectors, const float *query,
                    uint32_t node);
float vectors_own(const struct vectors *vectors, const float *query,
                  uint32_t node);

#endif
