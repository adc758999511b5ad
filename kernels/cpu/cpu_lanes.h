/* The inner loops of the processor's operations, once for each instruction set:
 * cpu_lanes_body.h is compiled by cpu_plain.c (any processor), cpu_avx2.c and cpu_avx512.c.
 * Everything is f32 with f32 sums; nothing needs alignment. */
#ifndef KERNELS_CPU_CPU_LANES_H
#define KERNELS_CPU_CPU_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/blocks.h"
#include "kernels/kernels.h"

/* Rows [n, k] of a weight, as they lie. */
struct lanes_weight {
    const void *rows;
    const float *scale; /* [n], of int8; else NULL */
    int type;           /* enum kernel_type */
};

static inline struct lanes_weight lanes_floats(const float *rows)
{
    return (struct lanes_weight){rows, NULL, KERNEL_F32};
}

/* From row `row` on. */
static inline struct lanes_weight lanes_weight_from(struct lanes_weight w,
                                                    size_t row, size_t k)
{
    w.rows = (const char *)w.rows + row * kernel_row_bytes(w.type, k);
    w.scale = w.scale ? w.scale + row : NULL;
    return w;
}

/* A query's softmax as it runs. */
struct lanes_row {
    const float *q;     /* [d] */
    float *values;      /* [d] */
    float *max, *total; /* [1] */
    float shift;        /* of its scores */
};

struct lanes {
    const char *name;

    /* out [m, n] = a [m, k] . w [n, k]^T (+ out when `add`); rows of out are
     * `out_step` apart.  Reads w once from memory: for few rows m; w is not of
     * blocks. */
    void (*rows)(float *out, size_t out_step, const float *a,
                 struct lanes_weight w, size_t m, size_t n, size_t k, bool add);

    /* out [m, n] = p . v [k, n] (+ out when `add`); p(i, l) is at
     * p[i * p_row + l * p_column]; rows of out and v are out_step, v_step
     * apart. */
    void (*mix)(float *out, size_t out_step, const float *p, size_t p_row,
                size_t p_column, const float *v, size_t v_step, size_t m,
                size_t n, size_t k, bool add);

    float (*dot)(const float *a, const float *b, size_t count);
    /* score [keys] = q . key scale + shift, keys being `step` floats apart; the
     * bits of one do not depend on the others */
    void (*dots)(float *score, const float *q, const float *key, size_t step,
                 size_t d, size_t keys, float scale, float shift);
    /* best [rows] = the highest of q [rows, d] . key [keys, d] scale + shift, keys
     * in bf16 */
    void (*best_dots)(float *best, const float *q, size_t rows,
                      const uint16_t *key, size_t d, size_t keys, float scale,
                      float shift);
    /* x = max(x, y) */
    void (*max_of)(float *x, const float *y, size_t count);
    /* x += y */
    void (*add)(float *x, const float *y, size_t count);
    /* out = x * scale * weight (NULL: 1) */
    void (*scale)(float *out, const float *x, const float *weight, float scale,
                  size_t count);
    /* out = (x - mean) / sqrt(variance + eps) * weight + bias */
    void (*layer_norm)(float *out, const float *x, const float *weight,
                       const float *bias, float eps, size_t count);
    /* x = gelu(x + bias) */
    void (*gelu)(float *x, const float *bias, size_t count);
    /* out = gate / (1 + exp(-gate)) * up */
    void (*swiglu)(float *out, const float *gate, const float *up,
                   size_t count);
    /* out = gelu(gate) * up, by tanh */
    void (*geglu)(float *out, const float *gate, const float *up, size_t count);
    /* the same by the error function */
    void (*geglu_exact)(float *out, const float *gate, const float *up,
                        size_t count);
    /* (x, y) turns by the angles given */
    void (*rotate)(float *x, float *y, const float *cosine, const float *sine,
                   size_t count);
    /* x = exp(x - most); returns their sum */
    float (*exp_sum)(float *x, float max, size_t count);
    /* x is about scale * out, where the largest of out is 127 or -127; returns scale,
     * a NaN where x has one */
    float (*to_int8)(int8_t *out, const float *x, size_t count);
    /* out [n, k] = w */
    void (*widen)(float *out, struct lanes_weight w, size_t n, size_t k);

    /* A step of softmax over keys that come in blocks, a column for each query:
     * score [keys, LANES_ROWS] becomes exp(score - most), where the running
     * most [rows] and total [rows] take the block in; what was summed up before
     * must be multiplied by shrink [rows].  Where `from` is given, key j counts
     * for column r only if from[r] <= j < to[r].  rows is a multiple of 16. */
    void (*fold)(float *score, float *max, float *total, float *shrink,
                 const int32_t *from, const int32_t *to, size_t keys,
                 size_t rows);

    /* The same for one query alone: score [keys], at most LANES_ROWS, with room
     * for as many.  Returns what was summed up before must be multiplied by. */
    float (*fold_row)(float *score, size_t keys, float *max, float *total);

    /* The whole step for some queries, with keys [d, LANES_ROWS], a column each,
     * and values [keys, d] (NULL: only most and total take them in).  No query's
     * bits depend on the others. */
    void (*fold_rows)(const struct lanes_row *row, size_t count,
                      const float *key, const float *value, size_t d,
                      size_t keys, float scale);

    /* Bit j is set unless score[j] <= least; score [LANES_ROWS]. */
    uint64_t (*above)(const float *score, float min);

    /* out [d, rows] with rows LANES_ROWS apart = x scale, row r [d] at x[r];
     * rows is a multiple of 16. */
    void (*columns)(float *out, const float *const *x, float scale, size_t rows,
                    size_t d);
};

enum { LANES_ROWS = 64 };

/* What `most` starts with: so low that any score replaces it, but finite. */
#define LANES_LEAST (-1e30f)

extern const struct lanes lanes_plain;
#if defined(__x86_64__)
extern const struct lanes lanes_avx2;   /* with FMA */
extern const struct lanes lanes_avx512; /* F, BW, DQ, VL */
#endif

#endif
