/* The choice of many queries among many chunks, whose scores are never written (on
 * devices with cuda_group_scores.h's products).  They are computed twice:
 *
 *     sum_candidates    what each head's softmax divides by, and the highest score of
 *                       each of many groups of chunks
 *     find_limits       where as many groups as chunks are wanted have a chunk worth
 *                       at least x, no chunk worth less than x is among the best
 *     keep_candidates   the few chunks that are worth as much go to a list
 *     choose_candidates the best of each list
 *     choose_again      of queries whose list overflowed, from all chunks
 *
 * What a chunk is worth is its score less the logarithm of that sum, of a key-value
 * head's query heads the highest.  Exponents are of 2. */
#ifndef KERNELS_CUDA_CUDA_CANDIDATES_H
#define KERNELS_CUDA_CUDA_CANDIDATES_H

#include "kernels/cuda/cuda_choose.h"
#include "kernels/cuda/cuda_group_scores.h"

constexpr unsigned LIST_ROOM = 1024; /* of a query and key-value head */
constexpr unsigned LIST_THREADS = 128, LIST_WARPS = LIST_THREADS / WARP;
constexpr float LIMIT_SLACK = 1e-3f; /* both products round otherwise */
constexpr float HIGH_SHARE = 16;     /* exponents that sums have room for */

/* Groups of a tile's chunks: a row's four threads have GROUPS / 4 each. */
constexpr unsigned FEW_GROUPS = 4, MANY_GROUPS = 16;

struct found_chunk {
    unsigned id;
    float worth;
};

struct candidate_lists {
    struct group_packed packed;
    size_t first, m, chunks;
    float
        *log; /* [windows + parts, m, hq], natural: of windows, of candidates */
    size_t windows, parts;
    float *high; /* [hq, key_tiles, tiles GROUP_TILE, groups] */
    unsigned groups;
    float
        *less; /* [hq, tiles GROUP_TILE] what each head's softmax divides by */
    float *limit; /* [m, hkv] */
    unsigned
        *count; /* [m, hkv] of the list, may be more than it has room for */
    struct found_chunk *list; /* [m, hkv, LIST_ROOM] */
    unsigned *again;          /* [1 + m hkv] how many lists overflowed, which */
    float *worth;             /* [blocks of choose_again, chunks] */
    int32_t *chosen; /* [.., hkv, top_k] from the first query of all on */

    __device__ size_t rows() const
    {
        return size_t{packed.tiles} * GROUP_TILE;
    }
    __device__ int32_t *choice(const struct hils_source &s, size_t row) const
    {
        return chosen + (first * s.sizes.hkv + row) * s.sizes.top_k;
    }
};

/* ---- Sums ---- */

static __device__ __forceinline__ unsigned candidates_of(
    const struct candidate_lists &a, const struct hils_source &s, size_t i)
{
    return i < a.m ? static_cast<unsigned>(s.candidates(a.first + i)) : 0;
}

/* The part of tiles of chunks [*from, *to) that this block has, of those that any of
 * its rows may choose from.  All threads come. */
static __device__ __forceinline__ void tiles_of_part(const unsigned *candidates,
                                                     float *room,
                                                     unsigned *from,
                                                     unsigned *to)
{
    unsigned most =
        candidates[0] > candidates[1] ? candidates[0] : candidates[1];
    most = static_cast<unsigned>(block_max(static_cast<float>(most), room));
    unsigned tiles = (most + GROUP_TILE - 1) / GROUP_TILE;
    *from = blockIdx.z * tiles / gridDim.z;
    *to = (blockIdx.z + 1) * tiles / gridDim.z;
}

template <unsigned GROUPS> struct sum_turns {
    static constexpr unsigned EACH = GROUPS / 4; /* of a thread and row */
    float less[2];                               /* the most that was seen */
    float total[2];
    unsigned candidates[2];
    float *high; /* where the block's first row's go, of the first tile */
    size_t step; /* from tile to tile */

    __device__ __forceinline__ void take(float (*c)[4], unsigned at)
    {
        constexpr unsigned BLOCKS = GROUP_BLOCKS / EACH;
        float *to = high + at / GROUP_TILE * step;
        group_hide(c, at, candidates);
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            float most = minus_infinity(), its[EACH];
#pragma unroll
            for (unsigned g = 0; g < EACH; g++) {
                its[g] = minus_infinity();
#pragma unroll
                for (unsigned i = g * BLOCKS; i < (g + 1) * BLOCKS; i++)
                    its[g] = fmaxf(its[g],
                                   fmaxf(c[i][half * 2], c[i][half * 2 + 1]));
                most = fmaxf(most, its[g]);
                its[g] += less[half];
            }
            float *place = to + group_tile_row(half) * GROUPS +
                           lane_of_thread() % 4 * EACH;
            if constexpr (EACH == 4)
                *reinterpret_cast<float4 *>(place) = {its[0], its[1], its[2],
                                                      its[3]};
            else
                *place = its[0];
            bool rises = most > minus_infinity() &&
                         (total[half] == 0 || most > HIGH_SHARE);
            if (__ballot_sync(WHOLE_WARP, rises)) {
                float up = rises ? most : 0;
                if (total[half] > 0)
                    total[half] *= exp2_near(-up);
                less[half] += up;
#pragma unroll
                for (unsigned i = 0; i < GROUP_BLOCKS; i++)
                    for (unsigned e = 0; e < 2; e++)
                        c[i][half * 2 + e] -= up;
            }
            float sum[4] = {};
#pragma unroll
            for (unsigned i = 0; i < GROUP_BLOCKS; i++)
                for (unsigned e = 0; e < 2; e++)
                    sum[i % 2 * 2 + e] += exp2_near(c[i][half * 2 + e]);
            total[half] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
        }
    }
};

/* grid: tiles of queries, query heads, parts of the chunks. */
template <unsigned GROUPS>
static __global__ void __launch_bounds__(GROUP_TILE_THREADS, 2)
    sum_candidates(struct candidate_lists a, struct hils_source s)
{
    auto *t = static_cast<struct group_memory *>(cuda_shared());
    const unsigned tile = blockIdx.x, head = blockIdx.y;
    struct sum_turns<GROUPS> turns = {
    };
    unsigned from, to;
    for (unsigned half = 0; half < 2; half++)
        turns.candidates[half] = candidates_of(
            a, s, size_t{tile} * GROUP_TILE + group_tile_row(half));
    turns.step = a.rows() * GROUPS;
    turns.high = a.high + size_t{head} * a.packed.key_tiles * turns.step +
                 size_t{tile} * GROUP_TILE * GROUPS;
    tiles_of_part(turns.candidates, t->room, &from, &to);
    group_walk(t, a.packed, head, tile, from, to, turns);
    for (unsigned half = 0; half < 2; half++) {
        size_t i = size_t{tile} * GROUP_TILE + group_tile_row(half);
        bool some = turns.total[half] > 0;
        float own = some ? turns.less[half] : minus_infinity();
        float most = quad_max(own);
        float all = quad_sum(turns.total[half] * share_of_2(own, most));
        if (i < a.m && !(lane_of_thread() % 4))
            a.log[((a.windows + blockIdx.z) * a.m + i) * s.heads + head] =
                log_of_total(most, all);
    }
}

/* ---- Limits ---- */

/* The highest number x that `wanted` of values [count] are at least, by their order;
 * value(i) gives the i-th.  0: there are not as many.  All lanes come. */
template <typename Value>
static __device__ inline unsigned warp_limit(unsigned count, unsigned wanted,
                                             const Value &value)
{
    unsigned limit = 0;
    for (unsigned bit = 0x80000000u; bit; bit >>= 1) {
        unsigned there = 0, its = limit | bit;
        for (unsigned at = 0; at < count; at += WARP) {
            unsigned i = at + lane_of_thread();
            bool is = i < count && value(i) >= its;
            there +=
                static_cast<unsigned>(__popc(__ballot_sync(WHOLE_WARP, is)));
        }
        if (there >= wanted)
            limit = its;
        if (there == wanted)
            break;
    }
    return limit;
}

/* A warp for each query and key-value head.  Shared memory: [LIST_WARPS, key_tiles
 * groups] orders, then [LIST_WARPS, group]. */
static __global__ void __launch_bounds__(LIST_THREADS)
    find_limits(struct candidate_lists a, struct hils_source s)
{
    const size_t row = blockIdx.x * size_t{LIST_WARPS} + warp_of_thread();
    const unsigned all = a.packed.key_tiles * a.groups;
    auto *order = static_cast<unsigned *>(cuda_shared());
    float *less = reinterpret_cast<float *>(order + LIST_WARPS * all) +
                  warp_of_thread() * s.group;
    order += warp_of_thread() * all;
    if (!blockIdx.x && !threadIdx.x)
        a.again[0] = 0;
    if (row >= a.m * s.sizes.hkv)
        return;
    const size_t i = row / s.sizes.hkv, head = row % s.sizes.hkv * s.group;
    const size_t step = a.rows() * a.groups;
    const unsigned mine = candidates_of(a, s, i);
    const unsigned count = (mine + GROUP_TILE - 1) / GROUP_TILE * a.groups;
    for (size_t g = 0; g < s.group; g++) {
        float log = log_of_parts(a.log, a.windows + a.parts, a.m, s.heads, i,
                                 head + g) *
                    LOG2_E;
        if (!lane_of_thread()) {
            less[g] = log;
            a.less[(head + g) * a.rows() + i] = log;
        }
    }
    __syncwarp();
    for (unsigned at = lane_of_thread(); at < count; at += WARP) {
        float worth = minus_infinity();
        const float *from = a.high + head * a.packed.key_tiles * step +
                            at / a.groups * step + i * a.groups + at % a.groups;
#pragma unroll 4
        for (size_t g = 0; g < s.group; g++)
            worth = fmaxf(worth, from[g * a.packed.key_tiles * step] - less[g]);
        order[at] = order_of(worth);
    }
    __syncwarp();
    unsigned limit = warp_limit(count, static_cast<unsigned>(s.sizes.top_k),
                                [&](unsigned at) { return order[at]; });
    if (!lane_of_thread()) {
        a.limit[row] = limit > order_of(minus_infinity())
                           ? value_of_order(limit) - LIMIT_SLACK
                           : minus_infinity();
        a.count[row] = 0;
    }
}

/* ---- Lists ---- */

struct keep_turns {
    float less[2], limit[2];
    unsigned candidates[2];
    unsigned *count;
    struct found_chunk *list;
    size_t row[2]; /* of lists */

    __device__ __forceinline__ void take(float (*c)[4], unsigned at)
    {
        group_hide(c, at, candidates);
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            float most = minus_infinity();
#pragma unroll
            for (unsigned i = 0; i < GROUP_BLOCKS; i++)
                most = fmaxf(most, fmaxf(c[i][half * 2], c[i][half * 2 + 1]));
            if (!(most > limit[half]))
                continue;
#pragma unroll
            for (unsigned i = 0; i < GROUP_BLOCKS; i++)
#pragma unroll
                for (unsigned e = 0; e < 2; e++)
                    if (c[i][half * 2 + e] > limit[half])
                        put(half, at + i * 8 + group_column() + e,
                            c[i][half * 2 + e]);
        }
    }
    __device__ void put(unsigned half, unsigned id, float worth)
    {
        unsigned place = atomicAdd(count + row[half], 1u);
        if (place < LIST_ROOM)
            list[row[half] * LIST_ROOM + place] = {id, worth};
    }
};

/* grid: as of sum_candidates. */
static __global__ void __launch_bounds__(GROUP_TILE_THREADS, 2)
    keep_candidates(struct candidate_lists a, struct hils_source s)
{
    auto *t = static_cast<struct group_memory *>(cuda_shared());
    const unsigned tile = blockIdx.x, head = blockIdx.y;
    struct keep_turns turns = {};
    unsigned from, to;
    turns.count = a.count;
    turns.list = a.list;
    for (unsigned half = 0; half < 2; half++) {
        size_t i = size_t{tile} * GROUP_TILE + group_tile_row(half);
        bool is = i < a.m;
        turns.candidates[half] = candidates_of(a, s, i);
        turns.row[half] = i * s.sizes.hkv + head / s.group;
        turns.less[half] = is ? a.less[head * a.rows() + i] : 0;
        turns.limit[half] = is ? a.limit[turns.row[half]] : 0;
    }
    tiles_of_part(turns.candidates, t->room, &from, &to);
    group_walk(t, a.packed, head, tile, from, to, turns);
}

/* ---- Choices ---- */

/* key [count], a power of two, in ascending order.  A warp's. */
static __device__ inline void warp_sort(uint64_t *key, unsigned count)
{
    for (unsigned size = 2; size <= count; size *= 2)
        for (unsigned step = size / 2; step; step /= 2) {
            for (unsigned at = lane_of_thread(); at < count / 2; at += WARP) {
                unsigned low = at / step * step * 2 + at % step;
                uint64_t a = key[low], b = key[low + step];
                if ((a > b) == !(low & size)) {
                    key[low] = b;
                    key[low + step] = a;
                }
            }
            __syncwarp();
        }
}

/* The list's `found` chunks in key [LIST_ROOM], in ascending order; returns how many
 * different ones there are.  A key is a chunk, then what it is worth, the best first; the
 * others' is worth nothing. */
static __device__ inline unsigned take_list(uint64_t *key,
                                            const struct found_chunk *list,
                                            unsigned found)
{
    unsigned count = WARP, own = 0;
    while (count < found)
        count *= 2;
    for (unsigned at = lane_of_thread(); at < count; at += WARP)
        key[at] = at < found ? static_cast<uint64_t>(list[at].id) << 32 |
                                   ~order_of(list[at].worth)
                             : ~uint64_t{0};
    __syncwarp();
    warp_sort(key, count);
    for (unsigned at = 0; at < found; at += WARP) {
        unsigned i = at + lane_of_thread();
        bool is = i < found && (!i || key[i] >> 32 != key[i - 1] >> 32);
        own += static_cast<unsigned>(__popc(__ballot_sync(WHOLE_WARP, is)));
    }
    return own;
}

/* Writes the best of key [count] as take_list leaves it. */
static __device__ inline void put_best(int32_t *chosen, const uint64_t *key,
                                       unsigned count, unsigned wanted)
{
    auto order = [&](unsigned i) {
        bool is = !i || key[i] >> 32 != key[i - 1] >> 32;
        return is ? ~static_cast<unsigned>(key[i]) : 0u;
    };
    const unsigned limit = warp_limit(count, wanted, order);
    const unsigned below = (1u << lane_of_thread()) - 1;
    unsigned more = 0, before = 0, same = 0;
    for (unsigned at = 0; at < count; at += WARP) {
        unsigned i = at + lane_of_thread();
        bool is = i < count && order(i) > limit;
        more += static_cast<unsigned>(__popc(__ballot_sync(WHOLE_WARP, is)));
    }
    const unsigned left = wanted - more;
    for (unsigned at = 0; at < count; at += WARP) {
        unsigned i = at + lane_of_thread(), its = i < count ? order(i) : 0;
        unsigned high = __ballot_sync(WHOLE_WARP, i < count && its > limit);
        unsigned like = __ballot_sync(WHOLE_WARP, i < count && its == limit);
        unsigned rank = same + static_cast<unsigned>(__popc(like & below));
        unsigned place = before + static_cast<unsigned>(__popc(high & below)) +
                         (rank < left ? rank : left);
        if (high >> lane_of_thread() & 1 ||
            (like >> lane_of_thread() & 1 && rank < left))
            chosen[place] = static_cast<int32_t>(key[i] >> 32);
        before += static_cast<unsigned>(__popc(high));
        same += static_cast<unsigned>(__popc(like));
    }
}

/* A warp for each query and key-value head; shared memory: [LIST_WARPS, LIST_ROOM] keys.
 * A list has two entries of a chunk where two heads keep it. */
static __global__ void __launch_bounds__(LIST_THREADS)
    choose_candidates(struct candidate_lists a, struct hils_source s)
{
    const size_t row = blockIdx.x * size_t{LIST_WARPS} + warp_of_thread();
    auto *key =
        static_cast<uint64_t *>(cuda_shared()) + warp_of_thread() * LIST_ROOM;
    const unsigned top_k = static_cast<unsigned>(s.sizes.top_k);
    if (row >= a.m * s.sizes.hkv)
        return;
    const unsigned mine = candidates_of(a, s, row / s.sizes.hkv);
    const unsigned wanted = mine < top_k ? mine : top_k;
    int32_t *chosen = a.choice(s, row);
    for (unsigned i = wanted + lane_of_thread(); i < top_k; i += WARP)
        chosen[i] = -1;
    if (mine <= top_k) {
        for (unsigned i = lane_of_thread(); i < mine; i += WARP)
            chosen[i] = static_cast<int32_t>(i);
        return;
    }
    unsigned found = a.count[row], each = 0;
    if (found <= LIST_ROOM)
        each = take_list(key, a.list + row * LIST_ROOM, found);
    if (each >= wanted)
        put_best(chosen, key, found, wanted);
    else if (!lane_of_thread())
        a.again[1 + atomicAdd(a.again, 1u)] = static_cast<unsigned>(row);
}

/* What all chunks are worth, of one query and key-value head.  q: shared memory for a
 * group's queries. */
static __device__ inline void weigh_all(float *worth, float *q,
                                        const struct candidate_lists &a,
                                        const struct hils_source &s, size_t i,
                                        size_t head, unsigned count)
{
    __syncthreads(); /* nobody reads the queries before */
    for (unsigned at = threadIdx.x; at < s.group * GROUP_WIDTH;
         at += CHOOSE_THREADS) {
        unsigned l = at % GROUP_WIDTH;
        const float *from = s.query(a.first + i, head + at / GROUP_WIDTH);
        q[at] = l < s.d ? from[l] * (s.scale * LOG2_E) : 0;
    }
    __syncthreads();
    for (unsigned c = threadIdx.x; c < count; c += CHOOSE_THREADS) {
        float best = minus_infinity();
        for (unsigned g = 0; g < s.group; g++) {
            const size_t tile =
                (head + g) * a.packed.key_tiles * 2 + c / GROUP_ROWS;
            float sum = a.packed.biases[tile * GROUP_ROWS + c % GROUP_ROWS] -
                        a.less[(head + g) * a.rows() + i];
            for (unsigned l = 0; l < GROUP_WIDTH; l += 8) {
                uint4 eight = *reinterpret_cast<const uint4 *>(
                    a.packed.keys + tile * GROUP_PANEL +
                    split_place(c % GROUP_ROWS, l));
                sum = dot_piece<uint16_t>(eight, q + g * GROUP_WIDTH + l, sum);
            }
            best = fmaxf(best, sum);
        }
        worth[c] = best;
    }
    __syncthreads();
}

/* Blocks take the lists that overflowed in turn. */
static __global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_again(struct candidate_lists a, struct hils_source s)
{
    auto *m = static_cast<struct choose_memory *>(cuda_shared());
    float *q = reinterpret_cast<float *>(m + 1);
    float *worth = a.worth + blockIdx.x * a.chunks;
    for (unsigned at = blockIdx.x; at < a.again[0]; at += gridDim.x) {
        const size_t row = a.again[1 + at], i = row / s.sizes.hkv;
        const unsigned count = candidates_of(a, s, i);
        int32_t *chosen = a.choice(s, row);
        weigh_all(worth, q, a, s, i, row % s.sizes.hkv * s.group, count);
        choose_best(
            m, count, s.sizes.top_k, [&](unsigned c) { return worth[c]; },
            [&](unsigned place, int32_t c, float) { chosen[place] = c; });
        __syncthreads(); /* nobody reads what they are worth */
    }
}

#endif
