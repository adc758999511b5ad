/* Attention by tiles: what dense, HiLS, STAR and HiCI attention are made of.
 *
 * A block has up to ROWS queries ("rows") that read the same key-value head.  It
 * goes through slots in tiles of TILE; of each tile it is told where the keys
 * and values lie (nullptr: nobody of the block sees this slot, nothing is read)
 * and which row sees which.  Scores are made by warps, a lane a slot; the sums
 * of values by threads, a thread a column of the head.  Softmax is made as it
 * goes (Milakov and Gimelshein 2018): most and total of the scores so far.
 *
 * `Number` is what keys and values are kept as, float or uint16_t, bf16; all else
 * is f32.  No tensor cores. */
#ifndef KERNELS_CUDA_CUDA_TILES_H
#define KERNELS_CUDA_CUDA_TILES_H

#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"

constexpr unsigned TILE = 32; /* slots: a lane each */
constexpr unsigned SLAB = 64; /* columns of the keys held at once */
constexpr unsigned SLAB_STEP = SLAB + 1;
constexpr size_t TILE_MAX_WIDTH = 512;

/* Threads of a block: one for each column, two warps at least. */
inline unsigned tile_threads(size_t d)
{
    return d <= 2 * WARP ? 2 * WARP
                         : static_cast<unsigned>(cuda_ceil(d, WARP) * WARP);
}

template <unsigned ROWS, typename Number> struct tile_memory {
    const Number *key[TILE], *value[TILE];
    float slab[TILE * SLAB_STEP];
    float share[TILE][ROWS]; /* exp(score - most) */
    float factor[ROWS], max[ROWS], total[ROWS];
    unsigned rows; /* that there are */
    /* then the queries [ROWS, d] */
};

template <unsigned ROWS, typename Number> constexpr size_t tile_bytes(size_t d)
{
    return sizeof(struct tile_memory<ROWS, Number>) + ROWS * d * sizeof(float);
}

template <unsigned ROWS, typename Number>
static __device__ inline float *tile_queries(
    struct tile_memory<ROWS, Number> *t)
{
    return reinterpret_cast<float *>(t + 1);
}

static __device__ inline float widened(float x)
{
    return x;
}
static __device__ inline float widened(uint16_t x)
{
    return from_bf16(x);
}

/* exp(a - b), where nothing less nothing is 0. */
static __device__ inline float share_of(float a, float b)
{
    return expf(a - (b == minus_infinity() ? 0 : b));
}

/* Takes query `r` of the block, or that there is none. */
template <unsigned ROWS, typename Number>
static __device__ inline void tile_take_query(
    struct tile_memory<ROWS, Number> *t, unsigned r, const float *q, size_t d)
{
    for (size_t l = threadIdx.x; l < d; l += blockDim.x)
        tile_queries(t)[r * d + l] = q ? q[l] : 0;
}

/* Forgets what was seen. */
template <unsigned ROWS, typename Number>
static __device__ inline void tile_begin(struct tile_memory<ROWS, Number> *t,
                                         float *sum)
{
    __syncthreads();
    for (unsigned r = threadIdx.x; r < ROWS; r += blockDim.x) {
        t->max[r] = minus_infinity();
        t->total[r] = 0;
    }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        sum[r] = 0;
    __syncthreads();
}

/* The rows of a warp: every warps-th. */
template <unsigned ROWS> struct tile_scores {
    static constexpr unsigned MAX = ROWS > 2 ? ROWS / 2 : 1;
    float of[MAX]; /* of row warp + i warps with the lane's slot */
};

/* scores = q . k * scale, for the tile whose keys' places some threads have just
 * set.  All threads come. */
template <unsigned ROWS, typename Number>
static __device__ inline void tile_score(struct tile_memory<ROWS, Number> *t,
                                         size_t d, float scale,
                                         struct tile_scores<ROWS> *scores)
{
    unsigned warps = blockDim.x / WARP, warp = warp_of_thread();
    const float *q = tile_queries(t);
    constexpr unsigned MAX = tile_scores<ROWS>::MAX;
#pragma unroll
    for (unsigned i = 0; i < MAX; i++)
        scores->of[i] = 0;
    for (size_t from = 0; from < d; from += SLAB) {
        size_t width = d - from < SLAB ? d - from : SLAB;
        __syncthreads();
        for (unsigned at = threadIdx.x; at < TILE * SLAB; at += blockDim.x) {
            unsigned slot = at / SLAB, l = at % SLAB;
            const Number *key = t->key[slot];
            t->slab[slot * SLAB_STEP + l] =
                key && l < width ? widened(key[from + l]) : 0;
        }
        __syncthreads();
        const float *key = t->slab + lane_of_thread() * SLAB_STEP;
        for (size_t l = 0; l < width; l++) {
            float k = key[l];
#pragma unroll
            for (unsigned i = 0; i < MAX; i++)
                if (warp + i * warps < ROWS)
                    scores->of[i] += k * q[(warp + i * warps) * d + from + l];
        }
    }
#pragma unroll
    for (unsigned i = 0; i < MAX; i++)
        scores->of[i] *= scale;
}

/* Takes the tile's scores into most and total; `sees(row, slot of the tile)`.
 * Leaves shares and factors for tile_mix. */
template <unsigned ROWS, typename Number, typename Sees>
static __device__ inline void tile_weigh(struct tile_memory<ROWS, Number> *t,
                                         const struct tile_scores<ROWS> *scores,
                                         Sees sees)
{
    unsigned warps = blockDim.x / WARP, warp = warp_of_thread();
    unsigned lane = lane_of_thread();
#pragma unroll
    for (unsigned i = 0; i < tile_scores<ROWS>::MAX; i++) {
        unsigned r = warp + i * warps;
        if (r < ROWS) { /* the same for the whole warp */
            bool seen = r < t->rows && t->key[lane] && sees(r, lane);
            float score = scores->of[i], before = t->max[r];
            float max =
                fmaxf(before, warp_max(seen ? score : minus_infinity()));
            float share = seen ? share_of(score, max) : 0;
            float all = warp_sum(share);
            t->share[lane][r] = share;
            __syncwarp();
            if (!lane) {
                float factor = share_of(before, max);
                t->factor[r] = factor;
                t->total[r] = t->total[r] * factor + all;
                t->max[r] = max;
            }
        }
    }
}

/* sum [ROWS], of the thread's column, takes the tile's values. */
template <unsigned ROWS, typename Number>
static __device__ inline void tile_mix(
    const struct tile_memory<ROWS, Number> *t, size_t d, float *sum)
{
    __syncthreads();
    if (threadIdx.x < d) {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++)
            sum[r] *= t->factor[r];
        for (unsigned slot = 0; slot < TILE; slot++) {
            const Number *value = t->value[slot];
            if (!value)
                continue;
            float v = widened(value[threadIdx.x]);
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                sum[r] += t->share[slot][r] * v;
        }
    }
    __syncthreads();
}

/* A whole tile. */
template <unsigned ROWS, typename Number, typename Sees>
static __device__ inline void tile_take(struct tile_memory<ROWS, Number> *t,
                                        size_t d, float scale, Sees sees,
                                        float *sum)
{
    struct tile_scores<ROWS> scores;
    tile_score(t, d, scale, &scores);
    tile_weigh(t, &scores, sees);
    tile_mix(t, d, sum);
}

/* ---- Parts of one query's attention, put together again ---- */

/* Attention over some of the slots, divided by its own total, and the logarithm
 * of that total: what one block leaves for cuda_join. */
struct tile_parts {
    float *out;  /* [parts, rows, d] */
    float *log;  /* [parts, rows]; -infinity: nothing was seen */
    bool within; /* the last block of each tile's joins them (cuda_join.h) */
    unsigned stream; /* whose launch it is */
};

/* out [rows, d] = the parts of each row by their weights; `one`: 1 is added to
 * what softmax divides by. */
int cuda_join(struct kernel_run *run, float *out,
              const struct tile_parts *parts, size_t count, size_t rows,
              size_t d, bool one);

/* Writes the block's row r, as all there is of it or as a part. */
template <unsigned ROWS, typename Number>
static __device__ inline void tile_leave(
    const struct tile_memory<ROWS, Number> *t, unsigned r, float sum, size_t d,
    float *out, float *log)
{
    float total = t->total[r];
    if (threadIdx.x < d) /* a NaN is no 0 */
        out[threadIdx.x] = total == 0 ? 0 : sum / total;
    if (log && !threadIdx.x)
        *log = total == 0 ? minus_infinity() : t->max[r] + logf(total);
}

#endif
