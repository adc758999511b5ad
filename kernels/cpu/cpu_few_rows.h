/* Softmax over blocks of keys for few rows: there a row's keys lie side by side
 * in a vector, not the keys of many rows. */
#ifndef KERNELS_CPU_CPU_FEW_ROWS_H
#define KERNELS_CPU_CPU_FEW_ROWS_H

#include "kernels/cpu/cpu_internal.h"

/* FEW_ROWS: up to so many it is faster. */
enum { FEW_ROWS = 4, FEW_KEYS = LANES_ROWS };

/* values [d] = values * shrink. */
static inline void few_shrink(float *values, float shrink, size_t d)
{
    if (shrink < 1)
        cpu_lanes->scale(values, values, NULL, shrink, d);
}

/* values [d] += score . value [keys], `step` floats apart. */
static inline void few_mix(float *values, const float *score,
                           const float *value, size_t step, size_t d,
                           size_t keys)
{
    cpu_lanes->mix(values, d, score, 0, 1, value, step, 1, d, keys, true);
}

#endif
