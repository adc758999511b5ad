/* The largest of many numbers, by one block: each thread holds some of them, of
 * which digits are counted until those that stay are known. */
#ifndef KERNELS_CUDA_CUDA_MAX_H
#define KERNELS_CUDA_CUDA_MAX_H

#include "kernels/cuda/cuda_device.h"

constexpr unsigned CHOOSE_THREADS = 256, CHOOSE_WARPS = CHOOSE_THREADS / WARP;
constexpr unsigned CHOOSE_BITS = 11, CHOOSE_DIGITS = 1u << CHOOSE_BITS;

/* Unsigned numbers in the order of floats, -0 as 0. */
static __device__ inline unsigned order_of(float value)
{
    unsigned bits = __float_as_uint(value + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
static __device__ inline float value_of_order(unsigned order)
{
    return __uint_as_float(order & 0x80000000u ? order ^ 0x80000000u : ~order);
}

struct choose_memory {
    uint4 digit[CHOOSE_DIGITS / 4]; /* how often each occurs */
    unsigned before[CHOOSE_WARPS], same[CHOOSE_WARPS];
    unsigned prefix, left, there;
    float room[MAX_WARPS];
    /* then the totals of a group's heads */
};

/* Those whose bits of `mask` are more than prefix are among the best, and the first
 * `left` of those where they are the same. */
struct choose_limit {
    unsigned prefix, mask, left;
};

/* Which number of a tile of CHOOSE_THREADS EACH a thread has as its i-th: a warp's are
 * neighbours. */
template <unsigned EACH>
static __device__ inline unsigned choose_place(unsigned i)
{
    return (warp_of_thread() * EACH + i) * WARP + lane_of_thread();
}

template <unsigned EACH, typename Value>
static __device__ inline void take_orders(unsigned *order, unsigned at,
                                          unsigned count, const Value &value)
{
    float its[EACH];
#pragma unroll
    for (unsigned i = 0; i < EACH; i++) {
        unsigned c = at + choose_place<EACH>(i);
        its[i] = c < count ? value(c) : 0;
    }
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        order[i] = order_of(its[i]);
}

/* The highest digit that limit->left numbers or more have, or a higher one: goes
 * behind the prefix.  Digits were counted, which are none behind this.  Returns
 * whether all that have it are wanted: no further digit is needed. */
static __device__ inline bool find_digit(struct choose_memory *m,
                                         struct choose_limit *limit,
                                         unsigned shift)
{
    constexpr unsigned EACH = CHOOSE_DIGITS / CHOOSE_THREADS;
    static_assert(EACH == 8, "a thread has two times four digits");
    unsigned low = CHOOSE_DIGITS - EACH - threadIdx.x * EACH;
    uint4 *at = m->digit + low / 4;
    const uint4 a = at[0], b = at[1];
    const unsigned its[EACH] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    unsigned own = 0, before = 0;
    at[0] = at[1] = uint4{0, 0, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < EACH; i++)
        own += its[i];
    unsigned upto = own; /* of the thread's digits and all higher ones */
    for (unsigned step = 1; step < WARP; step *= 2) {
        unsigned other = __shfl_up_sync(WHOLE_WARP, upto, step);
        upto += lane_of_thread() >= step ? other : 0;
    }
    if (lane_of_thread() == WARP - 1)
        m->before[warp_of_thread()] = upto;
    __syncthreads();
#pragma unroll
    for (unsigned w = 0; w < CHOOSE_WARPS; w++)
        before += w < warp_of_thread() ? m->before[w] : 0;
    upto += before;
    if (upto >= limit->left && upto - own < limit->left) {
        unsigned left = limit->left - (upto - own), i = EACH - 1;
        bool found = its[i] >= left;
#pragma unroll
        for (unsigned e = EACH - 1; e--;) {
            left -= found ? 0 : its[e + 1];
            i = found ? i : e;
            found = found || its[e] >= left;
        }
        m->left = left;
#pragma unroll
        for (unsigned e = 0; e < EACH; e++)
            if (e == i)
                m->there = its[e];
        m->prefix = limit->prefix | (low + i) << shift;
    }
    __syncthreads();
    limit->prefix = m->prefix;
    limit->left = m->left;
    return m->left == m->there;
}

/* The limit of the `max` best of `count` > max > 0 numbers, of the first of which
 * order [EACH] is. */
template <unsigned EACH, typename Value>
static __device__ inline struct choose_limit find_limit(struct choose_memory *m,
                                                        unsigned *order,
                                                        unsigned count,
                                                        unsigned max,
                                                        const Value &value)
{
    constexpr unsigned TILE_EACH = CHOOSE_THREADS * EACH;
    struct choose_limit limit = {0, 0, max};
    auto *digit = reinterpret_cast<unsigned *>(m->digit);
    for (unsigned i = threadIdx.x; i < CHOOSE_DIGITS / 4; i += CHOOSE_THREADS)
        m->digit[i] = uint4{0, 0, 0, 0};
    __syncthreads();
    for (unsigned from = 32; from;) {
        unsigned bits = from < CHOOSE_BITS ? from : CHOOSE_BITS;
        unsigned shift = from - bits, digits = (1u << bits) - 1;
        for (unsigned at = 0; at < count; at += TILE_EACH) {
            if (count > TILE_EACH)
                take_orders<EACH>(order, at, count, value);
#pragma unroll
            for (unsigned i = 0; i < EACH; i++)
                if (at + choose_place<EACH>(i) < count &&
                    (order[i] & limit.mask) == limit.prefix)
                    atomicAdd(&digit[order[i] >> shift & digits], 1u);
        }
        __syncthreads();
        bool all = find_digit(m, &limit, shift);
        limit.mask |= digits << shift;
        from = all ? 0 : shift;
    }
    return limit;
}

/* put(place, c, value): the best of `count` numbers value(c), ties to the lower, in
 * ascending order, then -1; order [EACH]: of the first CHOOSE_THREADS EACH.  All
 * threads of the block come. */
template <unsigned EACH, typename Value, typename Put>
static __device__ inline void choose_held(struct choose_memory *m,
                                          unsigned *order, unsigned count,
                                          unsigned top_k, const Value &value,
                                          const Put &put)
{
    constexpr unsigned TILE_EACH = CHOOSE_THREADS * EACH;
    struct choose_limit limit = {0, 0, count};
    unsigned more = 0, same = 0; /* before this tile, then before the thread */
    for (unsigned i = count + threadIdx.x; i < top_k; i += CHOOSE_THREADS)
        put(i, -1, minus_infinity());
    if (count > top_k && top_k)
        limit = find_limit<EACH>(m, order, count, top_k, value);
    const unsigned below = (1u << lane_of_thread()) - 1;
    for (unsigned at = 0; top_k && at < count; at += TILE_EACH) {
        unsigned own_more = 0, own_same = 0;
        if (count > TILE_EACH)
            take_orders<EACH>(order, at, count, value);
        unsigned mores[EACH], sames[EACH];
#pragma unroll
        for (unsigned i = 0; i < EACH; i++) {
            bool is = at + choose_place<EACH>(i) < count;
            unsigned bits = order[i] & limit.mask;
            mores[i] = __ballot_sync(WHOLE_WARP, is && bits > limit.prefix);
            sames[i] = __ballot_sync(WHOLE_WARP, is && bits == limit.prefix);
            own_more += static_cast<unsigned>(__popc(mores[i]));
            own_same += static_cast<unsigned>(__popc(sames[i]));
        }
        __syncthreads(); /* nobody reads what the last tile, or digit, left */
        if (!lane_of_thread()) {
            m->before[warp_of_thread()] = own_more;
            m->same[warp_of_thread()] = own_same;
        }
        __syncthreads();
        unsigned all_more = more, all_same = same;
#pragma unroll
        for (unsigned w = 0; w < CHOOSE_WARPS; w++) {
            more += w < warp_of_thread() ? m->before[w] : 0;
            same += w < warp_of_thread() ? m->same[w] : 0;
            all_more += m->before[w];
            all_same += m->same[w];
        }
#pragma unroll
        for (unsigned i = 0; i < EACH; i++) {
            unsigned c = at + choose_place<EACH>(i);
            unsigned rank =
                same + static_cast<unsigned>(__popc(sames[i] & below));
            unsigned place = more +
                             static_cast<unsigned>(__popc(mores[i] & below)) +
                             (rank < limit.left ? rank : limit.left);
            bool is = sames[i] >> lane_of_thread() & 1 && rank < limit.left;
            if (is || mores[i] >> lane_of_thread() & 1)
                put(place, static_cast<int32_t>(c), value_of_order(order[i]));
            more += static_cast<unsigned>(__popc(mores[i]));
            same += static_cast<unsigned>(__popc(sames[i]));
        }
        more = all_more;
        same = all_same;
    }
}

template <unsigned EACH, typename Value, typename Put>
static __device__ inline void choose_by(struct choose_memory *m, unsigned count,
                                        unsigned top_k, const Value &value,
                                        const Put &put)
{
    unsigned order[EACH];
    take_orders<EACH>(order, 0, count, value);
    choose_held<EACH>(m, order, count, top_k, value, put);
}

/* The same of numbers that lie in memory. */
template <typename Value, typename Put>
static __device__ inline void choose_best(struct choose_memory *m, size_t count,
                                          size_t top_k, const Value &value,
                                          const Put &put)
{
    unsigned all = static_cast<unsigned>(count);
    unsigned max = static_cast<unsigned>(top_k);
    if (all <= CHOOSE_THREADS)
        choose_by<1>(m, all, max, value, put);
    else if (all <= 4 * CHOOSE_THREADS)
        choose_by<4>(m, all, max, value, put);
    else
        choose_by<16>(m, all, max, value, put);
}

#endif
