/* What a warp does alone with eight rows (queries of one key-value head): products are
 * of slots by rows, so that eight rows fill them, where 16 rows by slots would be half
 * empty for one query of eight heads.  With g = lane / 4, t = lane % 4 a lane has of a
 * product's scores slots g and g + 8 of each 16, rows 2 t and 2 t + 1; of the sums
 * columns g and g + 8 of each 16, of the same rows.
 *
 * Queries and shares are split in two as in cuda_tensor.h.  Exponents are of 2. */
#ifndef KERNELS_CUDA_CUDA_WARP_ROWS_H
#define KERNELS_CUDA_CUDA_WARP_ROWS_H

#include "kernels/cuda/cuda_tensor_rows.h"
#include "kernels/cuda/cuda_warp_tile.h"

constexpr unsigned WARP_ROWS = 8;

template <unsigned WIDTH> struct warp_rows {
    unsigned high[WIDTH / 16][2], low[WIDTH / 16][2]; /* of the query, row g */
    float sum[WIDTH / 16][4]; /* column 16 i + g + 8 h, row 2 t + e: 2 h + e */
    float max[2], total[2];   /* total: of the lane's own slots */
};

/* [i][2 h + e]: slot 16 i + 8 h + g, row 2 t + e. */
struct warp_scores {
    float of[WARP_SLOTS / 16][4];
};

/* The row of a lane's query, and those of its scores. */
static __device__ __forceinline__ unsigned warp_query_row()
{
    return lane_of_thread() / 4;
}
static __device__ __forceinline__ unsigned warp_row(unsigned e)
{
    return lane_of_thread() % 4 * 2 + e;
}

/* Over the lanes that share a lane's rows. */
static __device__ __forceinline__ float rows_max(float value)
{
#pragma unroll
    for (int step = 4; step < 32; step *= 2)
        value = fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, step));
    return value;
}
static __device__ __forceinline__ float rows_sum(float value)
{
#pragma unroll
    for (int step = 4; step < 32; step *= 2)
        value += __shfl_xor_sync(WHOLE_WARP, value, step);
    return value;
}

/* Takes the lane's part of row g's query; nullptr: there is none. */
template <unsigned WIDTH>
static __device__ __forceinline__ void warp_begin(struct warp_rows<WIDTH> *rows,
                                                  const float *q, size_t d)
{
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 8; i++) {
        unsigned l = i * 8 + lane_of_thread() % 4 * 2;
        float a = q && l < d ? q[l] : 0, b = q && l + 1 < d ? q[l + 1] : 0;
        unsigned packed = pack_bf16(a, b);
        rows->high[i / 2][i % 2] = packed;
        rows->low[i / 2][i % 2] = rest_bf16(a, b, packed);
    }
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 16; i++)
        for (unsigned e = 0; e < 4; e++)
            rows->sum[i][e] = 0;
    for (unsigned e = 0; e < 2; e++) {
        rows->max[e] = minus_infinity();
        rows->total[e] = 0;
    }
}

/* ---- Products ---- */

/* scores = keys . queries. */
template <unsigned WIDTH>
static __device__ __forceinline__ void warp_score(
    const uint16_t *keys, const struct warp_rows<WIDTH> *rows,
    struct warp_scores *scores)
{
    unsigned slot = lane_of_thread() % 16, column = lane_of_thread() / 16 * 8;
#pragma unroll
    for (unsigned i = 0; i < WARP_SLOTS / 16; i++)
        for (unsigned e = 0; e < 4; e++)
            scores->of[i][e] = 0;
#pragma unroll
    for (unsigned k = 0; k < WIDTH / 16; k++) {
        unsigned a[WARP_SLOTS / 16][4];
#pragma unroll
        for (unsigned i = 0; i < WARP_SLOTS / 16; i++)
            read_matrices(a[i],
                          keys + split_place(slot + i * 16, column + k * 16));
#pragma unroll
        for (unsigned i = 0; i < WARP_SLOTS / 16; i++)
            multiply_bf16(scores->of[i], a[i], rows->low[k]);
#pragma unroll
        for (unsigned i = 0; i < WARP_SLOTS / 16; i++)
            multiply_bf16(scores->of[i], a[i], rows->high[k]);
    }
}

/* sum += values, turned, . shares. */
template <unsigned WIDTH>
static __device__ __forceinline__ void warp_mix(
    const uint16_t *values, struct warp_rows<WIDTH> *rows,
    const struct warp_scores *shares)
{
    unsigned lane = lane_of_thread();
    unsigned slot = lane % 8 + lane / 16 * 8, column = lane / 8 % 2 * 8;
#pragma unroll
    for (unsigned k = 0; k < WARP_SLOTS / 16; k++) {
        unsigned b[2], rest[2], a[WIDTH / 16][4];
#pragma unroll
        for (unsigned h = 0; h < 2; h++) {
            const float *two = shares->of[k] + h * 2;
            unsigned packed = pack_bf16(two[0], two[1]);
            b[h] = turn_matrix(packed);
            rest[h] = turn_matrix(rest_bf16(two[0], two[1], packed));
        }
#pragma unroll
        for (unsigned i = 0; i < WIDTH / 16; i++)
            read_turned(a[i],
                        values + split_place(slot + k * 16, column + i * 16));
#pragma unroll
        for (unsigned i = 0; i < WIDTH / 16; i++)
            multiply_bf16(rows->sum[i], a[i], rest);
#pragma unroll
        for (unsigned i = 0; i < WIDTH / 16; i++)
            multiply_bf16(rows->sum[i], a[i], b);
    }
}

/* ---- Softmax ---- */

/* Scores that a row does not see become -infinity; seen[e]: slots of row 2 t + e. */
static __device__ __forceinline__ void warp_hide(struct warp_scores *scores,
                                                 const uint64_t *seen)
{
    const uint64_t all = ~uint64_t{0};
    if (!__ballot_sync(WHOLE_WARP, (seen[0] & seen[1]) != all))
        return;
#pragma unroll
    for (unsigned e = 0; e < 2; e++) {
        uint64_t its = seen[e] >> warp_query_row();
#pragma unroll
        for (unsigned i = 0; i < WARP_SLOTS / 8; i++)
            if (!(its >> i * 8 & 1))
                scores->of[i / 2][i % 2 * 2 + e] = minus_infinity();
    }
}

/* The highest score of row 2 t + e. */
static __device__ __forceinline__ float warp_best(const struct warp_scores *s,
                                                  unsigned e)
{
    float best = minus_infinity();
#pragma unroll
    for (unsigned i = 0; i < WARP_SLOTS / 8; i++)
        best = fmaxf(best, s->of[i / 2][i % 2 * 2 + e]);
    return rows_max(best);
}

/* Scores become exp2(score scale - max); their sum over the lane's slots. */
static __device__ __forceinline__ float warp_shares(struct warp_scores *s,
                                                    unsigned e, float scale,
                                                    float max)
{
    float all = 0, less = max == minus_infinity() ? 0 : -max;
#pragma unroll
    for (unsigned i = 0; i < WARP_SLOTS / 8; i++) {
        float *score = &s->of[i / 2][i % 2 * 2 + e];
        all += *score = exp2f(fmaf(*score, scale, less));
    }
    return all;
}

/* What was seen before gets smaller by exp2(before - most). */
template <unsigned WIDTH>
static __device__ __forceinline__ void warp_shrink(
    struct warp_rows<WIDTH> *rows, unsigned e, float max)
{
    float factor = share_of_2(rows->max[e], max);
    rows->max[e] = max;
    rows->total[e] *= factor;
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 16; i++) {
        rows->sum[i][e] *= factor;
        rows->sum[i][2 + e] *= factor;
    }
}

/* Each slot weighs exp2 of its score, times `scale`. */
template <unsigned WIDTH>
static __device__ __forceinline__ void warp_weigh(struct warp_rows<WIDTH> *rows,
                                                  struct warp_scores *scores,
                                                  float scale)
{
#pragma unroll
    for (unsigned e = 0; e < 2; e++) {
        float best = warp_best(scores, e) * scale;
        warp_shrink(rows, e, fmaxf(rows->max[e], best));
        rows->total[e] += warp_shares(scores, e, scale, rows->max[e]);
    }
}

/* The tile weighs exp2(its[e]) in all, each slot its part of the tile's own softmax. */
template <unsigned WIDTH>
static __device__ __forceinline__ void warp_weigh_whole(
    struct warp_rows<WIDTH> *rows, struct warp_scores *scores, float scale,
    const float *its)
{
#pragma unroll
    for (unsigned e = 0; e < 2; e++) {
        float best = warp_best(scores, e) * scale;
        float weight = best == minus_infinity() ? best : its[e];
        warp_shrink(rows, e, fmaxf(rows->max[e], weight));
        float part = warp_shares(scores, e, scale, best);
        float all = rows_sum(part);
        float factor = all == 0 ? 0 : share_of_2(weight, rows->max[e]) / all;
        rows->total[e] += part * factor;
#pragma unroll
        for (unsigned i = 0; i < WARP_SLOTS / 8; i++)
            scores->of[i / 2][i % 2 * 2 + e] *= factor;
    }
}

#endif
