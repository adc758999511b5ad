/* Scores of chunks, and the best of them: what HiLS and STAR attention choose
 * by.  A `Source` says who the queries are, what a chunk's key is, and how many
 * chunks a query may choose from (its candidates are the chunks before that). */
#ifndef KERNELS_CUDA_CHOOSE_H
#define KERNELS_CUDA_CHOOSE_H

#include "kernels/cuda/tiles.h"

constexpr unsigned CHOOSE_THREADS = 256;
constexpr unsigned CHOOSE_DIGITS = 256;
constexpr size_t CHOOSE_MOST_SCORES = size_t{64} << 20; /* held at once */

/* score [m, heads, chunks] = query . key * scale + bias, of the candidates
 * alone.  grid: tiles of chunks, heads, tiles of queries. */
template <unsigned ROWS, typename Source>
static __global__ void __launch_bounds__(TILE_MOST_WIDTH, 1)
    score_chunks(float *score, Source s, size_t first, size_t m, size_t chunks)
{
    auto *t = static_cast<struct tile_memory<ROWS> *>(cuda_shared());
    size_t head = blockIdx.y, i = blockIdx.z * size_t{ROWS};
    size_t at = blockIdx.x * size_t{TILE}, most = 0;
    struct tile_scores<ROWS> scores;
    for (unsigned r = 0; r < ROWS && i + r < m; r++) {
        size_t own = s.candidates(first + i + r);
        most = own > most ? own : most;
    }
    if (at >= most)
        return;
    for (unsigned r = 0; r < ROWS; r++)
        tile_take_query(
            t, r, i + r < m ? s.query(first + i + r, head) : nullptr, s.d);
    if (threadIdx.x < TILE)
        t->key[threadIdx.x] =
            at + threadIdx.x < most ? s.key(at + threadIdx.x, head) : nullptr;
    tile_score(t, s.d, s.scale, &scores);
    size_t c = at + lane_of_thread();
    unsigned warps = blockDim.x / WARP;
#pragma unroll
    for (unsigned r = 0; r < tile_scores<ROWS>::MOST; r++) {
        size_t row = warp_of_thread() + r * warps;
        if (row < ROWS && i + row < m && c < most)
            score[((i + row) * s.heads + head) * chunks + c] =
                scores.of[r] + s.bias(c, head);
    }
}

/* ---- The best ---- */

/* Unsigned numbers in the order of floats, -0 as 0. */
static __device__ inline unsigned order_of(float value)
{
    unsigned bits = __float_as_uint(value + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

struct choose_memory {
    unsigned digit[CHOOSE_DIGITS]; /* how often each occurs */
    unsigned before[CHOOSE_THREADS / WARP];
    unsigned prefix, left;
    float room[MOST_WARPS];
    /* then the totals of a group's heads */
};

/* The number of the threads before this one that say yes; *ret_all: of all. */
static __device__ inline unsigned count_before(struct choose_memory *m,
                                               bool yes, unsigned *ret_all)
{
    unsigned mask = __ballot_sync(WHOLE_WARP, yes), sum = 0, own = 0;
    __syncthreads();
    if (!lane_of_thread())
        m->before[warp_of_thread()] = static_cast<unsigned>(__popc(mask));
    __syncthreads();
    for (unsigned w = 0; w < CHOOSE_THREADS / WARP; w++) {
        own = w == warp_of_thread() ? sum : own;
        sum += m->before[w];
    }
    *ret_all = sum;
    return own +
           static_cast<unsigned>(__popc(mask & ((1u << lane_of_thread()) - 1)));
}

/* The `most`-th largest of value [count], count > most, digit by digit; m->left
 * of those equal to it are among the best. */
static __device__ inline unsigned threshold(struct choose_memory *m,
                                            const float *value, size_t count,
                                            unsigned most)
{
    unsigned prefix = 0, mask = 0;
    if (!threadIdx.x)
        m->left = most;
    for (unsigned shift = 32; shift;) {
        shift -= 8;
        m->digit[threadIdx.x] = 0;
        __syncthreads();
        for (size_t c = threadIdx.x; c < count; c += CHOOSE_THREADS) {
            unsigned order = order_of(value[c]);
            if ((order & mask) == prefix)
                atomicAdd(&m->digit[order >> shift & 255u], 1u);
        }
        __syncthreads();
        if (!threadIdx.x) {
            unsigned digit = CHOOSE_DIGITS - 1, left = m->left;
            while (digit && m->digit[digit] < left)
                left -= m->digit[digit--];
            m->left = left;
            m->prefix = prefix | digit << shift;
        }
        __syncthreads();
        prefix = m->prefix;
        mask |= 255u << shift;
        __syncthreads();
    }
    return prefix;
}

/* chosen [top_k]: the ids of the best of value [count], ties to the lower, in
 * ascending order, then -1.  All threads of the block come. */
static __device__ inline void choose_best(struct choose_memory *m,
                                          int32_t *chosen, const float *value,
                                          size_t count, size_t top_k)
{
    bool all = count <= top_k;
    for (size_t i = threadIdx.x; all && i < top_k; i += CHOOSE_THREADS)
        chosen[i] = i < count ? static_cast<int32_t>(i) : -1;
    if (all)
        return;
    unsigned least = threshold(m, value, count, static_cast<unsigned>(top_k));
    unsigned left = m->left, equal = 0, taken = 0, there;
    for (size_t at = 0; at < count; at += CHOOSE_THREADS) {
        size_t c = at + threadIdx.x;
        unsigned order = c < count ? order_of(value[c]) : 0;
        bool same = c < count && order == least;
        unsigned rank = equal + count_before(m, same, &there);
        equal += there;
        bool take = (c < count && order > least) || (same && rank < left);
        unsigned place = taken + count_before(m, take, &there);
        taken += there;
        if (take)
            chosen[place] = static_cast<int32_t>(c);
    }
}

#endif
