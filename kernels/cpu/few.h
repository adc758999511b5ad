/* Softmax over blocks of keys for few rows: there a row's keys lie side by side
 * in a vector, not the keys of many rows. */
#ifndef KERNELS_CPU_FEW_H
#define KERNELS_CPU_FEW_H

#include <math.h>

#include "kernels/cpu/cpu.h"

/* FEW_ROWS: up to so many it is faster. */
enum { FEW_ROWS = 4, FEW_KEYS = 64 };

/* score [keys] = q . key scale + shift, keys being `step` floats apart. */
static inline void few_score(float *score, const float *q, const float *key,
                             size_t step, size_t d, size_t keys, float scale,
                             float shift)
{
    for (size_t j = 0; j < keys; j++)
        score[j] = cpu_lanes->dot(q, key + j * step, d) * scale + shift;
}

/* Takes score [keys], at most FEW_KEYS, into a row's running most and total:
 * score becomes exp(score - most).  What was summed up before must be multiplied
 * by what is returned. */
static inline float few_fold(float *score, size_t keys, float *most,
                             float *total)
{
    float now = *most;
    for (size_t j = 0; j < keys; j++)
        now = score[j] > now ? score[j] : now;
    float shrink = expf(*most - now);
    *total = *total * shrink + cpu_lanes->exp_sum(score, now, keys);
    *most = now;
    return shrink;
}

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
