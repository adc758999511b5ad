/* What a thread holds of its warp's rows, for attention on the tensor cores: the
 * queries, softmax as it goes, and the sums.
 *
 * Exponents are of 2: scores are times log2(e). */
#ifndef KERNELS_CUDA_CUDA_TENSOR_ROWS_H
#define KERNELS_CUDA_CUDA_TENSOR_ROWS_H

#include "kernels/cuda/cuda_tensor_tile.h"
#include "kernels/cuda/cuda_tiles.h"

constexpr float LOG2_E = 1.44269504088896341f, LN_2 = 0.693147180559945309f;

/* What a thread holds of its warp's rows: row(0) = g, row(1) = g + 8. */
template <unsigned ROWS, unsigned WIDTH> struct tensor_rows {
    static constexpr unsigned COLUMNS =
        ROWS == TENSOR_MANY ? WIDTH : WIDTH / TENSOR_WARPS;

    unsigned high[WIDTH / 16][4], low[WIDTH / 16][4]; /* of the queries */
    float sum[COLUMNS / 8][4];
    float max[2], total[2]; /* total: of the lane's own slots */
};

/* The scores of a thread: [i][0..1] of row(0) with slots 8 i + 2 t and the next,
 * [i][2..3] of row(1). */
struct tensor_scores {
    float of[TENSOR_SLOTS / 8][4];
};

/* The block's row of a thread, half 0 or 1. */
template <unsigned ROWS>
static __device__ __forceinline__ unsigned tensor_row(unsigned half)
{
    return (ROWS == TENSOR_MANY ? warp_of_thread() * 16 : 0) +
           lane_of_thread() / 4 + 8 * half;
}

/* The first column of a warp's sums. */
template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ unsigned tensor_column()
{
    return ROWS == TENSOR_MANY ? 0 : warp_of_thread() * (WIDTH / TENSOR_WARPS);
}

/* exp2(a - b), where nothing less nothing is 0. */
static __device__ __forceinline__ float share_of_2(float a, float b)
{
    return exp2_near(a - (b == minus_infinity() ? 0 : b));
}

/* The natural logarithm of total 2^max. */
static __device__ __forceinline__ float log_of_total(float max, float total)
{
    return total == 0 ? minus_infinity() : (max + log2f(total)) * LN_2;
}

/* ---- Queries ---- */

/* Takes the thread's part of query row(half), nullptr: there is none. */
template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_take_query(
    struct tensor_rows<ROWS, WIDTH> *rows, unsigned half, const float *q,
    size_t d)
{
#pragma unroll
    for (unsigned i = 0; i < WIDTH / 8; i++) {
        unsigned l = i * 8 + lane_of_thread() % 4 * 2;
        float a = q && l < d ? q[l] : 0, b = q && l + 1 < d ? q[l + 1] : 0;
        unsigned packed = pack_bf16(a, b);
        rows->high[i / 2][half + i % 2 * 2] = packed;
        rows->low[i / 2][half + i % 2 * 2] = rest_bf16(a, b, packed);
    }
}

template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_begin(
    struct tensor_rows<ROWS, WIDTH> *rows)
{
    for (unsigned half = 0; half < 2; half++) {
        rows->max[half] = minus_infinity();
        rows->total[half] = 0;
    }
#pragma unroll
    for (unsigned i = 0; i < tensor_rows<ROWS, WIDTH>::COLUMNS / 8; i++)
        for (unsigned e = 0; e < 4; e++)
            rows->sum[i][e] = 0;
}

/* ---- Softmax ---- */

static __device__ __forceinline__ float quad_max(float value)
{
    value = fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, 1));
    return fmaxf(value, __shfl_xor_sync(WHOLE_WARP, value, 2));
}

static __device__ __forceinline__ float quad_sum(float value)
{
    value += __shfl_xor_sync(WHOLE_WARP, value, 1);
    return value + __shfl_xor_sync(WHOLE_WARP, value, 2);
}

/* Bits 2 i and 2 i + 1: whether a row sees slots 8 i + 2 t and the next, those
 * of the thread's scores. */
static __device__ __forceinline__ unsigned own_bits(uint64_t seen)
{
    unsigned own = 0;
    seen >>= lane_of_thread() % 4 * 2;
#pragma unroll
    for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
        own |= static_cast<unsigned>(seen >> i * 8 & 3) << i * 2;
    return own;
}

/* The highest of a row's scores; those that it does not see become -infinity. */
static __device__ __forceinline__ float tensor_best(struct tensor_scores *s,
                                                    unsigned half, unsigned own)
{
    float best = minus_infinity();
    if (own != ~0u)
#pragma unroll
        for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
            for (unsigned e = 0; e < 2; e++)
                if (!(own >> (half * 16 + i * 2 + e) & 1))
                    s->of[i][half * 2 + e] = minus_infinity();
#pragma unroll
    for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
        for (unsigned e = 0; e < 2; e++)
            best = fmaxf(best, s->of[i][half * 2 + e]);
    return quad_max(best);
}

/* Scores become exp2(score - most); their sum over the lane's slots. */
static __device__ __forceinline__ float tensor_shares(struct tensor_scores *s,
                                                      unsigned half, float max)
{
    float all = 0;
#pragma unroll
    for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
        for (unsigned e = 0; e < 2; e++)
            all += s->of[i][half * 2 + e] =
                share_of_2(s->of[i][half * 2 + e], max);
    return all;
}

/* What was seen before gets smaller by exp2(before - most). */
template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_shrink(
    struct tensor_rows<ROWS, WIDTH> *rows, unsigned half, float max)
{
    float factor = share_of_2(rows->max[half], max);
    rows->max[half] = max;
    rows->total[half] *= factor;
#pragma unroll
    for (unsigned i = 0; i < tensor_rows<ROWS, WIDTH>::COLUMNS / 8; i++)
        for (unsigned e = 0; e < 2; e++)
            rows->sum[i][half * 2 + e] *= factor;
}

/* Each slot weighs exp2 of its score. */
template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_weigh(
    struct tensor_rows<ROWS, WIDTH> *rows, struct tensor_scores *scores,
    unsigned own)
{
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        float best = tensor_best(scores, half, own);
        tensor_shrink(rows, half, fmaxf(rows->max[half], best));
        rows->total[half] += tensor_shares(scores, half, rows->max[half]);
    }
}

/* The tile weighs exp2(its[half]) in all, each slot its part of the tile's own
 * softmax. */
template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_weigh_whole(
    struct tensor_rows<ROWS, WIDTH> *rows, struct tensor_scores *scores,
    unsigned own, const float *its)
{
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        float best = tensor_best(scores, half, own);
        float weight = best == minus_infinity() ? best : its[half];
        tensor_shrink(rows, half, fmaxf(rows->max[half], weight));
        float part = tensor_shares(scores, half, best);
        float all = quad_sum(part);
        float factor = all == 0 ? 0 : share_of_2(weight, rows->max[half]) / all;
        rows->total[half] += part * factor;
#pragma unroll
        for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
            for (unsigned e = 0; e < 2; e++)
                scores->of[i][half * 2 + e] *= factor;
    }
}

/* ---- Out of the tile ---- */

/* Whether it is this thread, of those that share its rows, that writes what there
 * is one of. */
template <unsigned ROWS> static __device__ inline bool tensor_leads()
{
    return !(lane_of_thread() % 4) &&
           (ROWS == TENSOR_MANY || !warp_of_thread());
}

/* Writes the logarithm of what row(half) weighs in all; nullptr: there is no such
 * row.  All lanes come. */
template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_leave_log(
    const struct tensor_rows<ROWS, WIDTH> *rows, unsigned half, float *log)
{
    float total = quad_sum(rows->total[half]);
    if (log && tensor_leads<ROWS>())
        *log = log_of_total(rows->max[half], total);
}

/* Writes row(half) of the thread, as all there is of it or as a part; out of a
 * row that is not there is nullptr.  All lanes come. */
template <unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_leave(
    const struct tensor_rows<ROWS, WIDTH> *rows, unsigned half, size_t d,
    float *out, float *log)
{
    float total = quad_sum(rows->total[half]);
    float factor = total == 0 ? 0 : 1 / total; /* a NaN is no 0 */
    unsigned first = tensor_column<ROWS, WIDTH>() + lane_of_thread() % 4 * 2;
    tensor_leave_log(rows, half, log);
    if (!out)
        return;
#pragma unroll
    for (unsigned i = 0; i < tensor_rows<ROWS, WIDTH>::COLUMNS / 8; i++)
        for (unsigned e = 0; e < 2; e++)
            if (first + i * 8 + e < d)
                out[first + i * 8 + e] = rows->sum[i][half * 2 + e] * factor;
}

#endif
