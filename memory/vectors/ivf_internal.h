/* An inverted file (ivf.h) as those see it who search it and who make it. */
#ifndef MEMORY_VECTORS_IVF_INTERNAL_H
#define MEMORY_VECTORS_IVF_INTERNAL_H

#include "memory/vectors/dots.h"
#include "memory/vectors/ivf.h"

/* Vectors in 8 bits a value, each with a scale: (byte - IVF_ZERO) scale. */
enum { IVF_ZERO = 128 };
struct codes {
    uint8_t *values; /* [count, width] */
    float *scales;   /* [count] */
};

struct ivf {
    const struct dots *dots;
    size_t width;
    uint32_t count, lists, probes;
    struct codes centres; /* [lists] */
    uint32_t *first;      /* [lists + 1] place of each list's first row */
    uint32_t *rows;       /* [count] by place */
    struct codes codes;   /* [count] by place */
};

/* ---- Vectors in 8 bits ---- */

struct codes codes_of(size_t count, size_t width);
void codes_put(struct codes *codes, size_t at, const float *vector,
               size_t width);

/* A query's bytes have a sign. */
struct coded_query {
    int8_t *values; /* [width] */
    float scale;
    int32_t zero; /* what a row of zeros comes to */
};

void coded_query_set(struct coded_query *query, const float *vector,
                     size_t width);
static inline float coded_score(const struct coded_query *query,
                                int32_t product, float scale)
{
    return (float)(product - query->zero) * scale * query->scale;
}

/* ---- The best of many ---- */

/* A heap whose root is the worst of those kept. */
struct best_rows {
    struct near_row *items; /* [max] */
    size_t count, max;
};

/* Scores the coded rows [from, end); those kept are named by `names` (NULL: by
 * their index). */
void best_rows_of(struct best_rows *best, const struct ivf *ivf,
                  const struct codes *codes, const uint32_t *names,
                  uint32_t from, uint32_t end, const struct coded_query *query);

#endif
