/* Dense search over a snapshot's vectors, where there are so many that looking at
 * each takes too long: through an index of them all (ivf.h).
 *
 * An index is made of one moment's rows and serves snapshots that come after:
 * rows are known by their hashes, wherever they stand.  Rows that it does not
 * know (the delta) are looked at one by one, those that are gone are passed over
 * (tombstones).  When either have become many a new index is worth making;
 * meanwhile the old one serves.  It is not kept on disk: it is made again in
 * less time than it takes to trust a file, and until then every row is looked
 * at (docs/log/retrieval.md). */
#ifndef MEMORY_VECTORS_DENSE_H
#define MEMORY_VECTORS_DENSE_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/hash.h"
#include "memory/snapshot/library.h"

struct dense_index;

/* Builds the index of the rows with the policy that most rows of `views` have.  The rows are
 * not kept.  ERR_CANCELLED. */
int dense_index_make(struct view *const *views, size_t count,
                     const atomic_bool *cancel, struct dense_index **ret,
                     struct err *err);
struct dense_index *dense_index_keep(struct dense_index *index);
void dense_index_unref(struct dense_index *index); /* NULL: ok */

/* Fewer rows are searched one by one. */
extern const size_t dense_min_rows;

/* Returns the vectors of a snapshot; immutable.  `views` must outlive it.  `index` (NULL: none
 * yet) is kept. */
struct dense *dense_new(struct dense_index *index, struct view *const *views,
                        size_t count);
void dense_free(struct dense *dense); /* NULL: ok */

/* An index is worth making: there is none, or it is too old. */
bool dense_is_due(const struct dense *dense);

struct dense_state {
    size_t rows; /* of the policy that most have */
    bool indexed;
    size_t added, gone;     /* since the index was made */
    uint32_t lists, probes; /* of the index: all, and those that a search looks
                               through at most */
    size_t bytes;           /* of the index */
};
void dense_state(const struct dense *dense, struct dense_state *ret);

struct dense_query {
    const float *vector;   /* unit */
    struct hash128 policy; /* of vectors that it may be compared with */
    size_t rows;           /* of nodes that are accepted */
    bool (*accept)(void *context, size_t view, uint32_t node);
    void *context;
    size_t max; /* nodes wanted */
};

struct dense_hit {
    size_t view;
    uint32_t node;
    float score; /* cosine of its best segment among those looked at */
};

struct dense_trace {
    uint32_t lists, probes; /* of the index: all, and those looked through */
    size_t seen;            /* rows in these lists */
    size_t added;           /* rows looked at besides */
};

/* The accepted nodes whose best segments are nearest, best first; hits [most].
 * False: what is accepted is too little for the index, or there is none; then
 * each row must be looked at (vectors_search). */
bool dense_search(const struct dense *dense, const struct dense_query *query,
                  struct dense_hit *hits, size_t *ret_count,
                  struct dense_trace *ret_trace);

#endif
