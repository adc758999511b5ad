/* The largest of many numbers, by one block. */
#ifndef KERNELS_CUDA_CUDA_MAX_H
#define KERNELS_CUDA_CUDA_MAX_H

#include "kernels/cuda/cuda_device.h"

constexpr unsigned CHOOSE_THREADS = 256;
constexpr unsigned CHOOSE_DIGITS = 256;

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
    float room[MAX_WARPS];
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

/* The highest digit that `left` numbers or more have, or a higher one: goes behind
 * `prefix`, and how many of those that have it are wanted to m->left.  By a warp,
 * eight digits a lane from the highest down. */
static __device__ inline void find_digit(struct choose_memory *m,
                                         unsigned prefix, unsigned shift,
                                         unsigned left)
{
    constexpr unsigned EACH = CHOOSE_DIGITS / WARP;
    unsigned digit = CHOOSE_DIGITS - 1 - lane_of_thread() * EACH;
    unsigned own = 0;
    for (unsigned i = 0; i < EACH; i++)
        own += m->digit[digit - i];
    unsigned upto = own; /* of this lane's digits and all higher ones */
    for (unsigned step = 1; step < WARP; step *= 2) {
        unsigned before = __shfl_up_sync(WHOLE_WARP, upto, step);
        upto += lane_of_thread() >= step ? before : 0;
    }
    if (upto < left || upto - own >= left)
        return; /* another lane has it */
    left -= upto - own;
    while (m->digit[digit] < left)
        left -= m->digit[digit--];
    m->left = left;
    m->prefix = prefix | digit << shift;
}

/* The `max`-th largest of value [count], count > max, digit by digit; m->left
 * of those equal to it are among the best. */
static __device__ inline unsigned threshold(struct choose_memory *m,
                                            const float *value, size_t count,
                                            unsigned max)
{
    unsigned prefix = 0, mask = 0, left = max;
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
        if (!warp_of_thread())
            find_digit(m, prefix, shift, left);
        __syncthreads();
        prefix = m->prefix;
        left = m->left;
        mask |= 255u << shift;
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
    unsigned min = threshold(m, value, count, static_cast<unsigned>(top_k));
    unsigned left = m->left, equal = 0, taken = 0, there;
    for (size_t at = 0; at < count; at += CHOOSE_THREADS) {
        size_t c = at + threadIdx.x;
        unsigned order = c < count ? order_of(value[c]) : 0;
        bool same = c < count && order == min;
        unsigned rank = equal + count_before(m, same, &there);
        equal += there;
        bool take = (c < count && order > min) || (same && rank < left);
        unsigned place = taken + count_before(m, take, &there);
        taken += there;
        if (take)
            chosen[place] = static_cast<int32_t>(c);
    }
}

#endif
