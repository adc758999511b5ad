/* An inverted file (ivf.h) as those see it who search it and who make it. */
#ifndef MEMORY_VECTORS_IVF_INTERNAL_H
#define MEMORY_VECTORS_IVF_INTERNAL_H

#include "memory/vectors/byte_codes.h"
#include "memory/vectors/dots.h"
#include "memory/vectors/ivf.h"

struct ivf {
    const struct dots *dots;
    size_t width;
    uint32_t count, lists, probes;
    struct codes centres; /* [lists] */
    uint32_t *first;      /* [lists + 1] place of each list's first row */
    uint32_t *rows;       /* [count] by place */
    struct codes codes;   /* [count] by place */
};

/* ---- The best of many ---- */

/* A heap whose root is the worst of those kept. */
struct best_rows {
    struct near_row *items; /* [max] */
    size_t count, max;
};

/* Scores the coded rows [from, end); those kept are named by `names` (NULL: by
 * their index).  Returns whether any is kept. */
bool best_rows_of(struct best_rows *best, const struct ivf *ivf,
                  const struct codes *codes, const uint32_t *names,
                  uint32_t from, uint32_t end, const struct coded_query *query);

#endif
