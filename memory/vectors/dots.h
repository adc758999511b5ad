/* Inner products of one vector with many, by the widest lanes that the
 * processor has: Debian's FAISS knows SSE2 alone. */
#ifndef MEMORY_VECTORS_DOTS_H
#define MEMORY_VECTORS_DOTS_H

#include <stddef.h>
#include <stdint.h>

struct dots {
    /* ret[i] = a . rows[i];  a [width], rows [count, width], ret [count] */
    void (*floats)(const float *a, const float *rows, size_t count,
                   size_t width, float *ret);
    /* The same of bytes; width at most 2^16.  Rows have no sign: processors
     * multiply such pairs. */
    void (*bytes)(const int8_t *a, const uint8_t *rows, size_t count,
                  size_t width, int32_t *ret);
};

/* Returns those that this processor has, by number, the fastest first; NULL: no more.
 * Never freed. */
const struct dots *dots_at(size_t number);

static inline const struct dots *dots_best(void)
{
    return dots_at(0);
}

#endif
