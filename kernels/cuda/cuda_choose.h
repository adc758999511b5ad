/* The best chunks of HiLS attention by their scores: what each head's softmax divides
 * by, what chunks are worth then, the best of these.  Few queries with many
 * candidates: these are split over blocks, the last of which chooses of all. */
#ifndef KERNELS_CUDA_CUDA_CHOOSE_H
#define KERNELS_CUDA_CUDA_CHOOSE_H

#include "kernels/cuda/cuda_hils.h"
#include "kernels/cuda/cuda_join.h"
#include "kernels/cuda/cuda_max.h"

/* The logarithm of exp(log) and of all exp(score) together.  All threads come. */
static __device__ float log_total(const float *score, size_t count, float log,
                                  float *room)
{
    float max = log, total = 0;
    for (size_t c = threadIdx.x; c < count; c += CHOOSE_THREADS)
        max = fmaxf(max, score[c]);
    max = block_max(max, room);
    for (size_t c = threadIdx.x; c < count; c += CHOOSE_THREADS)
        total += share_of(score[c], max);
    total = block_sum(total, room) + share_of(log, max);
    return total == 0 ? minus_infinity() : max + logf(total);
}

static __device__ float log_of_both(float a, float b)
{
    float max = fmaxf(a, b), total = share_of(a, max) + share_of(b, max);
    return total == 0 ? minus_infinity() : max + logf(total);
}

/* Logarithms [m, hq] that are in parts [parts, m, hq]: what row `row` has of head
 * `head`.  All lanes of a warp come. */
static __device__ float log_of_parts(const float *log, size_t parts, size_t m,
                                     size_t heads, size_t row, size_t head)
{
    float max = minus_infinity(), total = 0;
    log += row * heads + head;
#pragma unroll 4
    for (size_t p = lane_of_thread(); p < parts; p += WARP) {
        float its = log[p * m * heads], high = fmaxf(max, its);
        total = total * share_of(max, high) + share_of(its, high);
        max = high;
    }
    float high = warp_max(max);
    total = warp_sum(total * share_of(max, high));
    return total == 0 ? minus_infinity() : high + logf(total);
}

/* Scores of a tile of candidates, which the block's threads hold as choose_place
 * says, of HEADS of a group's heads. */
constexpr unsigned HEADS = 8, HELD = 4;
constexpr size_t HELD_TILE = CHOOSE_THREADS * HELD;

struct held_scores {
    float of[HEADS][HELD];

    /* Of heads from `head` on and candidates [from, to): -infinity where none is.
     * score [group, chunks]. */
    __device__ inline void take(const float *score, size_t chunks, size_t group,
                                size_t head, size_t from, size_t to)
    {
#pragma unroll
        for (unsigned g = 0; g < HEADS; g++)
#pragma unroll
            for (unsigned i = 0; i < HELD; i++) {
                size_t c = from + choose_place<HELD>(i);
                of[g][i] = head + g < group && c < to
                               ? score[(head + g) * chunks + c]
                               : minus_infinity();
            }
    }
    /* worth [HELD]: the highest of the heads' scores, each less its total [group]. */
    __device__ inline void give(float *worth, const float *total, size_t group,
                                size_t head) const
    {
#pragma unroll
        for (unsigned g = 0; g < HEADS; g++) {
            float its = head + g < group ? total[head + g] : 0;
#pragma unroll
            for (unsigned i = 0; i < HELD; i++) {
                float one = of[g][i] - its;
                if (head + g < group)
                    worth[i] = head + g ? fmaxf(worth[i], one) : one;
            }
        }
    }
};

/* worth [HELD] of candidates [from, to), of which the first heads' scores are held. */
static __device__ inline void make_worth(float *worth, struct held_scores *held,
                                         const float *score, const float *total,
                                         size_t chunks, size_t group,
                                         size_t from, size_t to)
{
    held->give(worth, total, group, 0);
    for (size_t head = HEADS; head < group; head += HEADS) {
        held->take(score, chunks, group, head, from, to);
        held->give(worth, total, group, head);
    }
}

/* Scores of queries [first, first + m), and where their choice goes. */
struct choosing {
    int32_t *chosen;  /* [.., hkv, top_k] from the first of all on */
    float *score;     /* [m, hq, chunks] */
    float *each;      /* [m, hq, chunks, means]; nullptr: there are no means, or
                         few queries */
    const float *log; /* [parts, m, hq] of the windows */
    size_t parts, first, m, chunks;
    float *sum;  /* [sums, m, hq] logarithms of shares of the candidates, of few
                    queries of the windows too */
    size_t sums; /* 0: none were left by scoring */
    /* Where the candidates are split over blocks: */
    int32_t *best; /* [m, hkv, splits, top_k] the best of each share */
    float *worth;  /* the same, what they are worth */
    size_t splits;
    unsigned stream; /* whose launch it is (cuda_join.h) */

    /* The rows of a group's heads. */
    __device__ float *scores(const struct hils_source &s, size_t i,
                             size_t kv) const
    {
        return score + (i * s.heads + kv * s.group) * chunks;
    }
    __device__ int32_t *choice(const struct hils_source &s, size_t i,
                               size_t kv) const
    {
        return chosen + ((first + i) * s.sizes.hkv + kv) * s.sizes.top_k;
    }
    /* Of the shares' best, the first. */
    __device__ size_t place(const struct hils_source &s, size_t i, size_t kv,
                            size_t split) const
    {
        return ((i * s.sizes.hkv + kv) * splits + split) * s.sizes.top_k;
    }
    /* Every share has more candidates than are chosen, or else all are looked
     * through at the end. */
    __device__ bool is_short(const struct hils_source &s, size_t count) const
    {
        return count / splits <= s.sizes.top_k;
    }
};

/* total [group]: what each head's softmax divides by, of shares and the window,
 * unless these have it too. */
static __device__ void join_sums(float *total, const struct choosing &a,
                                 const struct hils_source &s, size_t i,
                                 size_t head)
{
    for (size_t g = warp_of_thread(); g < s.group; g += CHOOSE_WARPS) {
        float both = log_of_parts(a.sum, a.sums, a.m, s.heads, i, head + g);
        if (a.parts)
            both = log_of_both(
                both, log_of_parts(a.log, a.parts, a.m, s.heads, i, head + g));
        if (!lane_of_thread())
            total[g] = both;
    }
}

/* What softmax divides by, of all candidates [0, count) and the window, where no
 * shares were left: the most and total of each of HEADS heads by a thread, a warp,
 * the block.  room [2, HEADS, warps].  `held` has the first tile's scores of the first
 * heads, at the end too where it is the only one. */
static __device__ inline void sum_scores(float *total, float *room,
                                         struct held_scores *held,
                                         const struct choosing &a,
                                         const struct hils_source &s, size_t i,
                                         size_t kv, size_t count)
{
    const float *score = a.scores(s, i, kv);
    for (size_t head = 0; head < s.group; head += HEADS) {
        float max[HEADS], sum[HEADS];
#pragma unroll
        for (unsigned g = 0; g < HEADS; g++) {
            max[g] = minus_infinity();
            sum[g] = 0;
        }
        for (size_t at = 0; at < count; at += HELD_TILE) {
            if (head || at)
                held->take(score, a.chunks, s.group, head, at, count);
#pragma unroll
            for (unsigned g = 0; g < HEADS; g++) {
                float high = max[g];
                for (unsigned e = 0; e < HELD; e++)
                    high = fmaxf(high, held->of[g][e]);
                sum[g] *= share_of(max[g], high);
                for (unsigned e = 0; e < HELD; e++)
                    sum[g] += share_of(held->of[g][e], high);
                max[g] = high;
            }
        }
        __syncthreads(); /* nobody reads what the heads before left */
#pragma unroll
        for (unsigned g = 0; g < HEADS; g++) {
            float high = warp_max(max[g]);
            float all = warp_sum(sum[g] * share_of(max[g], high));
            if (!lane_of_thread()) {
                room[g * CHOOSE_WARPS + warp_of_thread()] = high;
                room[(HEADS + g) * CHOOSE_WARPS + warp_of_thread()] = all;
            }
        }
        __syncthreads();
        size_t own = head + warp_of_thread(); /* a warp a head */
        static_assert(HEADS == CHOOSE_WARPS, "each warp has one to finish");
        if (own >= s.group)
            continue;
        bool is = lane_of_thread() < CHOOSE_WARPS;
        unsigned at = warp_of_thread() * CHOOSE_WARPS + lane_of_thread();
        float high = is ? room[at] : minus_infinity();
        float most = warp_max(high);
        float all = warp_sum(
            is ? room[HEADS * CHOOSE_WARPS + at] * share_of(high, most) : 0);
        float both = log_of_both(
            log_of_parts(a.log, a.parts, a.m, s.heads, i, kv * s.group + own),
            all == 0 ? minus_infinity() : most + logf(all));
        if (!lane_of_thread())
            total[own] = both;
    }
}

struct chosen_memory : choose_memory {
    float sums[2 * HEADS * CHOOSE_WARPS];
    /* then the totals of a group's heads */
};

/* A block for each query and key-value head. */
static __global__ void __launch_bounds__(CHOOSE_THREADS, 3)
    choose_chunks(struct choosing a, struct hils_source s)
{
    let_later_begin();
    wait_for_earlier();
    auto *m = static_cast<struct chosen_memory *>(cuda_shared());
    float *total = reinterpret_cast<float *>(m + 1); /* [group] */
    size_t i = blockIdx.x, kv = blockIdx.y;
    size_t count = s.candidates(a.first + i);
    float *score = a.scores(s, i, kv);
    int32_t *chosen = a.choice(s, i, kv);
    struct held_scores held;
    float worth[HELD] = {};
    unsigned order[HELD];
    held.take(score, a.chunks, s.group, 0, 0, count);
    if (a.sums)
        join_sums(total, a, s, i, kv * s.group);
    else
        sum_scores(total, m->sums, &held, a, s, i, kv, count);
    __syncthreads();
    auto put = [&](unsigned place, int32_t c, float) { chosen[place] = c; };
    /* Of more than are held what they are worth goes over the first head's
     * scores. */
    auto of_row = [&](unsigned c) { return score[c]; };
    bool again = !a.sums && (count > HELD_TILE || s.group > HEADS);
    for (size_t at = 0; at < count; at += HELD_TILE) {
        if (at || again)
            held.take(score, a.chunks, s.group, 0, at, count);
        make_worth(worth, &held, score, total, a.chunks, s.group, at, count);
        for (unsigned e = 0; count > HELD_TILE && e < HELD; e++)
            if (at + choose_place<HELD>(e) < count)
                score[at + choose_place<HELD>(e)] = worth[e];
    }
    if (count <= HELD_TILE) {
#pragma unroll
        for (unsigned e = 0; e < HELD; e++)
            order[e] = order_of(worth[e]);
        choose_held<HELD>(m, order, static_cast<unsigned>(count),
                          static_cast<unsigned>(s.sizes.top_k), of_row, put);
        return;
    }
    __syncthreads();
    choose_best(m, count, s.sizes.top_k, of_row, put);
}

/* Few queries with many candidates: these are split over blocks, first for what
 * the softmax divides by.  grid: splits, key-value heads, queries. */
static __global__ void __launch_bounds__(CHOOSE_THREADS)
    sum_shares(struct choosing a, struct hils_source s)
{
    auto *room = static_cast<float *>(cuda_shared());
    size_t split = blockIdx.x, kv = blockIdx.y, i = blockIdx.z;
    size_t count = s.candidates(a.first + i), head = kv * s.group;
    size_t from = split * count / a.splits;
    size_t share = (split + 1) * count / a.splits - from;
    for (size_t g = 0; g < s.group; g++) {
        float all = log_total(a.scores(s, i, kv) + g * a.chunks + from, share,
                              minus_infinity(), room);
        if (!threadIdx.x)
            a.sum[(split * a.m + i) * s.heads + head + g] = all;
    }
}

/* Then for the best of each share, which is held. */
static __device__ inline void choose_in_share(struct choose_memory *m,
                                              const struct choosing &a,
                                              const struct hils_source &s,
                                              size_t count)
{
    float *total = reinterpret_cast<float *>(m + 1); /* [group] */
    size_t split = blockIdx.x, kv = blockIdx.y, i = blockIdx.z;
    size_t place = a.place(s, i, kv, split);
    size_t from = split * count / a.splits;
    size_t to = (split + 1) * count / a.splits;
    float *score = a.scores(s, i, kv);
    struct held_scores held;
    float worth[HELD] = {};
    unsigned order[HELD];
    held.take(score, a.chunks, s.group, 0, from, to);
    join_sums(total, a, s, i, kv * s.group);
    __syncthreads();
    make_worth(worth, &held, score, total, a.chunks, s.group, from, to);
    if (a.is_short(s, count)) {
        for (unsigned e = 0; e < HELD; e++)
            if (from + choose_place<HELD>(e) < to)
                score[from + choose_place<HELD>(e)] = worth[e];
        return;
    }
#pragma unroll
    for (unsigned e = 0; e < HELD; e++)
        order[e] = order_of(worth[e]);
    choose_held<HELD>(
        m, order, static_cast<unsigned>(to - from),
        static_cast<unsigned>(s.sizes.top_k), [](unsigned) { return 0.0f; },
        [&](unsigned at, int32_t c, float its) {
            a.best[place + at] = static_cast<int32_t>(from) + c;
            a.worth[place + at] = its;
        });
}

/* And last for the best of these, which are in ascending order as the shares
 * are. */
static __device__ inline void choose_of_shares(struct choose_memory *m,
                                               const struct choosing &a,
                                               const struct hils_source &s,
                                               size_t count)
{
    size_t kv = blockIdx.y, i = blockIdx.z, top_k = s.sizes.top_k;
    size_t place = a.place(s, i, kv, 0);
    int32_t *chosen = a.choice(s, i, kv);
    bool few = a.is_short(s, count);
    const float *from = few ? a.scores(s, i, kv) : a.worth + place;
    choose_best(
        m, few ? count : a.splits * top_k, top_k,
        [&](unsigned c) { return from[c]; },
        [&](unsigned at, int32_t c, float) {
            chosen[at] = few || c < 0 ? c : a.best[place + c];
        });
}

/* The last block of a query's and key-value head's chooses of all shares.  grid: as
 * before. */
static __global__ void __launch_bounds__(CHOOSE_THREADS, 2)
    choose_in_shares(struct choosing a, struct hils_source s)
{
    let_later_begin();
    wait_for_earlier();
    auto *m = static_cast<struct choose_memory *>(cuda_shared());
    size_t count = s.candidates(a.first + blockIdx.z);
    choose_in_share(m, a, s, count);
    auto *room = reinterpret_cast<unsigned *>(m + 1);
    if (is_last_block(a.stream, blockIdx.z * gridDim.y + blockIdx.y, a.splits,
                      room))
        choose_of_shares(m, a, s, count);
}

#endif
