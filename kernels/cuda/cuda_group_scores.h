/* Scores of many queries with all chunks before them, by two times four warps together
 * (cuda_warpgroup.h), which never leave the processor: what is made of a tile of them
 * says `Turns`.  Queries and summaries are packed before, so that a tile of either is
 * one piece of memory that lies as products read it.
 *
 * Scores are of exponents of 2: queries are packed times scale log2(e), in two bf16s
 * (cuda_tensor.h), biases times log2(e). */
#ifndef KERNELS_CUDA_CUDA_GROUP_SCORES_H
#define KERNELS_CUDA_CUDA_GROUP_SCORES_H

#include "kernels/cuda/cuda_hils.h"
#include "kernels/cuda/cuda_tensor_rows.h"

constexpr unsigned GROUP_WIDTH = 64; /* of heads, at most */
constexpr unsigned GROUP_TILE = 128; /* queries of a block; chunks of a turn */
constexpr unsigned GROUP_TILE_THREADS = 2 * WARPGROUP_THREADS;
constexpr unsigned GROUP_STAGES = 3; /* tiles of chunks in shared memory */
constexpr unsigned GROUP_BLOCKS = GROUP_TILE / 8; /* of eight chunks */

/* What is packed: of heads, tiles of GROUP_TILE rows, zeros behind the last. */
struct group_packed {
    uint16_t *queries; /* [hq, tiles, 2 warpgroups, 2 terms, GROUP_PANEL] */
    uint16_t *keys;    /* [hq, key_tiles, 2, GROUP_PANEL] */
    float *biases; /* [hq, key_tiles, GROUP_TILE], -infinity behind the last */
    unsigned tiles, key_tiles;
};

struct group_memory {
    uint16_t queries[2][2][GROUP_PANEL]; /* warpgroups, terms */
    uint16_t keys[GROUP_STAGES][2 * GROUP_PANEL];
    float biases[GROUP_STAGES][GROUP_TILE];
    float room[MAX_WARPS];
};
static_assert(sizeof(struct group_memory) <= CUDA_MAX_ASKED, "no room for it");

/* ---- Packing ---- */

/* grid: panels of 64 queries from `first` on, query heads. */
static __global__ void __launch_bounds__(GROUP_TILE_THREADS)
    pack_queries(struct group_packed p, struct hils_source s, size_t first,
                 size_t m)
{
    constexpr unsigned PIECES = GROUP_ROWS * GROUP_WIDTH / 8;
    const unsigned head = blockIdx.y, panel = blockIdx.x;
    uint16_t *to =
        p.queries + (size_t{head} * p.tiles * 2 + panel) * 2 * GROUP_PANEL;
    const float scale = s.scale * LOG2_E;
    for (unsigned at = threadIdx.x; at < PIECES; at += GROUP_TILE_THREADS) {
        unsigned row = at / 8, l = at % 8 * 8;
        size_t i = panel * size_t{GROUP_ROWS} + row;
        const float *q = i < m ? s.query(first + i, head) : nullptr;
        float x[8];
        uint4 high, low;
        for (unsigned e = 0; e < 8; e++)
            x[e] = q && l + e < s.d ? q[l + e] * scale : 0;
        high = {pack_bf16(x[0], x[1]), pack_bf16(x[2], x[3]),
                pack_bf16(x[4], x[5]), pack_bf16(x[6], x[7])};
        low = {rest_bf16(x[0], x[1], high.x), rest_bf16(x[2], x[3], high.y),
               rest_bf16(x[4], x[5], high.z), rest_bf16(x[6], x[7], high.w)};
        unsigned place = split_place(row, l);
        *reinterpret_cast<uint4 *>(to + place) = high;
        *reinterpret_cast<uint4 *>(to + GROUP_PANEL + place) = low;
    }
}

/* grid: panels of 64 of the `chunks`, query heads. */
static __global__ void __launch_bounds__(GROUP_TILE_THREADS)
    pack_keys(struct group_packed p, struct hils_source s, size_t chunks)
{
    constexpr unsigned PIECES = GROUP_ROWS * GROUP_WIDTH / 8;
    const unsigned head = blockIdx.y, panel = blockIdx.x;
    const size_t at = size_t{head} * p.key_tiles * 2 + panel;
    uint16_t *to = p.keys + at * GROUP_PANEL;
    for (unsigned i = threadIdx.x; i < PIECES; i += GROUP_TILE_THREADS) {
        unsigned row = i / 8, l = i % 8 * 8;
        size_t c = panel * size_t{GROUP_ROWS} + row;
        const uint16_t *key =
            c < chunks ? s.summary<uint16_t>(c, head) : nullptr;
        uint16_t *place = to + split_place(row, l);
        if (key && l + 8 <= s.d && aligned_16(key + l))
            *reinterpret_cast<uint4 *>(place) =
                *reinterpret_cast<const uint4 *>(key + l);
        else
            for (unsigned e = 0; e < 8; e++)
                place[e] = key && l + e < s.d ? key[l + e] : uint16_t{0};
        if (!l)
            p.biases[at * GROUP_ROWS + row] =
                key ? s.bias(c, head) * LOG2_E : minus_infinity();
    }
}

/* ---- Products ---- */

/* The thread's row of its block's queries, half 0 or 1; its columns of block i of eight
 * chunks are group_column() and the next. */
static __device__ __forceinline__ unsigned group_tile_row(unsigned half)
{
    return warp_of_thread() * 16 + lane_of_thread() / 4 + 8 * half;
}
static __device__ __forceinline__ unsigned group_column()
{
    return lane_of_thread() % 4 * 2;
}

/* Asks for a tile of chunks, unless it is beyond `to`. */
static __device__ __forceinline__ void group_fetch(struct group_memory *t,
                                                   const struct group_packed &p,
                                                   unsigned head, unsigned tile,
                                                   unsigned to, unsigned stage)
{
    constexpr unsigned PIECES = 2 * GROUP_PANEL / 8;
    static_assert(PIECES % GROUP_TILE_THREADS == 0, "all threads have as many");
    const size_t at = size_t{head} * p.key_tiles + tile;
    if (tile < to) {
        const uint16_t *from = p.keys + at * 2 * GROUP_PANEL + threadIdx.x * 8;
        uint16_t *place = t->keys[stage] + threadIdx.x * 8;
#pragma unroll
        for (unsigned i = 0; i < PIECES / GROUP_TILE_THREADS; i++)
            copy_16(place + i * GROUP_TILE_THREADS * 8,
                    from + i * GROUP_TILE_THREADS * 8);
        if (threadIdx.x < GROUP_TILE / 4)
            copy_16(t->biases[stage] + threadIdx.x * 4,
                    p.biases + at * GROUP_TILE + threadIdx.x * 4);
    }
    end_copies();
}

/* Tiles of chunks [from, to) by tile `tile` of one head's queries.  turns.less[half] is
 * subtracted from the scores of the thread's rows; turns.take(c, at) has those with
 * chunks from `at` on: c[i][half * 2 + e].  All threads come. */
template <typename Turns>
static __device__ __forceinline__ void group_walk(struct group_memory *t,
                                                  const struct group_packed &p,
                                                  unsigned head, unsigned tile,
                                                  unsigned from, unsigned to,
                                                  Turns &turns)
{
    constexpr unsigned PIECES = 4 * GROUP_PANEL / 8;
    const uint16_t *its =
        p.queries + (size_t{head} * p.tiles + tile) * 4 * GROUP_PANEL;
    uint16_t *all = t->queries[0][0];
    for (unsigned i = threadIdx.x; i < PIECES; i += GROUP_TILE_THREADS)
        copy_16(all + i * 8, its + i * 8);
    for (unsigned i = 0; i + 1 < GROUP_STAGES; i++)
        group_fetch(t, p, head, from + i, to, i);
    const uint16_t(*own)[GROUP_PANEL] = t->queries[warp_of_thread() / 4];
    unsigned stage = 0;
#pragma unroll 1
    for (unsigned at = from; at < to; at++) {
        unsigned last = stage ? stage - 1 : GROUP_STAGES - 1;
        float c[GROUP_BLOCKS][4];
        wait_copies<GROUP_STAGES - 2>();
        publish_shared();
        __syncthreads(); /* the tile is there, nobody reads the one before */
        group_fetch(t, p, head, at + GROUP_STAGES - 1, to, last);
        const float *biases = t->biases[stage] + group_column();
#pragma unroll
        for (unsigned i = 0; i < GROUP_BLOCKS; i++) {
            float2 two = *reinterpret_cast<const float2 *>(biases + i * 8);
            for (unsigned half = 0; half < 2; half++) {
                c[i][half * 2] = two.x - turns.less[half];
                c[i][half * 2 + 1] = two.y - turns.less[half];
            }
        }
        hold<GROUP_BLOCKS>(c);
        begin_products();
        const struct group_matrix keys =
            group_matrix_of<GROUP_ROWS>(t->keys[stage]);
#pragma unroll
        for (unsigned k = 0; k < GROUP_WIDTH / 16; k++)
#pragma unroll
            for (unsigned term = 2; term-- > 0;)
                multiply_128<false>(
                    c,
                    group_matrix_at(group_matrix_of<GROUP_ROWS>(own[term]),
                                    k * 16),
                    group_matrix_at(keys, k * 16));
        end_products();
        hold<GROUP_BLOCKS>(c);
        turns.take(c, at * GROUP_TILE);
        stage = stage + 1 == GROUP_STAGES ? 0 : stage + 1;
    }
    wait_copies<0>();
}

/* Scores with chunks that a row may not choose become -infinity. */
static __device__ __forceinline__ void group_hide(float (*c)[4], unsigned at,
                                                  const unsigned *candidates)
{
    unsigned least =
        candidates[0] < candidates[1] ? candidates[0] : candidates[1];
    if (!__ballot_sync(WHOLE_WARP, least < at + GROUP_TILE))
        return;
#pragma unroll
    for (unsigned i = 0; i < GROUP_BLOCKS; i++)
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            if (at + i * 8 + group_column() + e % 2 >= candidates[e / 2])
                c[i][e] = minus_infinity();
}

#endif
