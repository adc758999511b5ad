/* The rows of a matrix that are nearest to a vector, approximately: an inverted
 * file.  Rows are put into lists by the nearest of some centres (spherical
 * k-means); a search looks through the lists whose centres are nearest to the
 * query, at rows in 8 bits a value.  What it returns are candidates: the caller
 * scores them by the vectors themselves.
 *
 * How many lists are looked through at most is measured when the index is made:
 * on queries made from rows, as many as hold ivf_recall of the ten nearest.
 * Where rows have no structure that is all of them, and the search a scan.  A
 * search whose lists, the nearest first, bring nothing any more ends before
 * (docs/log/ann.md).
 *
 * Immutable; any number of threads may search. */
#ifndef MEMORY_VECTORS_IVF_H
#define MEMORY_VECTORS_IVF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ivf;

/* The share of the ten nearest that the lists looked through hold, on queries
 * made from rows.  Questions are not rows: a margin over .96. */
extern const double ivf_recall;

/* `rows` [count] point to unit vectors [width]; they are not kept.  The same
 * rows make the same index.  ERR_CANCELLED. */
int ivf_make(const float *const *rows, uint32_t count, size_t width,
             const atomic_bool *cancel, struct ivf **ret, struct err *err);
void ivf_free(struct ivf *ivf); /* NULL: ok */

uint32_t ivf_lists(const struct ivf *ivf);
/* Lists that a search looks through at most so that the recall is as promised. */
uint32_t ivf_probes(const struct ivf *ivf);
size_t ivf_bytes(const struct ivf *ivf);

struct near_row {
    uint32_t row;
    float score; /* about its cosine with the query */
};

/* What a search looked at. */
struct ivf_seen {
    uint32_t lists;
    size_t rows; /* in them */
};

/* The `max` best rows of the `probes` nearest lists, at most, in no order; ret [max].
 * Returns how many; ret_seen NULL: ok. */
size_t ivf_search(const struct ivf *ivf, const float *query, uint32_t probes,
                  size_t max, struct near_row *ret, struct ivf_seen *ret_seen);

#endif
