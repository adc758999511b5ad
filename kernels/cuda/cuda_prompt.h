/* Dense attention of many queries over bf16 pages, on devices of compute capability
 * 9.0 (cuda_warpgroup.h): heads of WIDTH, 64 or 128.
 *
 * A block has four warps that bring tiles of PROMPT_SLOTS slots, and two groups of
 * four that have 64 rows each and read the same tiles.  They hand them over by
 * cuda_ring.h; nobody else waits.  A tile's shares are made while the tile before is
 * multiplied with its values.
 *
 * Queries, times scale and log2(e), are two bf16s each, shares one. */
#ifndef KERNELS_CUDA_CUDA_PROMPT_H
#define KERNELS_CUDA_CUDA_PROMPT_H

#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_ring.h"
#include "kernels/cuda/cuda_tensor_rows.h"
#include "kernels/cuda/cuda_warpgroup.h"

constexpr unsigned PROMPT_SLOTS = 128;

/* How a block is made up: TERMS of a query, groups that attend, stages of a ring,
 * registers of a thread that brings and of one that attends. */
template <unsigned OF> struct prompt_way {
    static constexpr unsigned WIDTH = OF, TERMS = 2, CONSUMERS = 2;
    static constexpr unsigned ROWS = CONSUMERS * GROUP_ROWS;
    static constexpr unsigned THREADS = (CONSUMERS + 1) * WARPGROUP_THREADS;
    static constexpr unsigned STAGES = WIDTH == 64 ? 3 : 2;
    static constexpr unsigned BRINGING = 40, TAKING = 232;
};

template <typename Way> struct prompt_tile {
    uint16_t keys[Way::STAGES][PROMPT_SLOTS * Way::WIDTH];
    uint16_t values[Way::STAGES][PROMPT_SLOTS * Way::WIDTH];
    uint16_t queries[Way::CONSUMERS][Way::TERMS][GROUP_ROWS * Way::WIDTH];
    uint64_t keys_there[Way::STAGES], keys_done[Way::STAGES];
    uint64_t values_there[Way::STAGES], values_done[Way::STAGES];
};

/* What a block takes at a time. */
struct prompt_item {
    unsigned kv, part, count; /* every count-th tile of slots */
    unsigned first, rows;     /* queries times heads */
    unsigned begin, end;      /* slots; begin of a tile */
    unsigned turns;

    __device__ unsigned at(unsigned turn) const
    {
        return begin + (part + turn * count) * PROMPT_SLOTS;
    }
};

/* The block's, of each key-value head, tile of rows and part: those whose rows see most
 * come first. */
template <typename Way>
static __device__ __forceinline__ struct prompt_item prompt_item_of(
    const struct paged<uint16_t> &s, size_t parts)
{
    const unsigned heads = static_cast<unsigned>(s.sizes.group);
    const unsigned hkv = static_cast<unsigned>(s.sizes.hkv);
    const unsigned count = static_cast<unsigned>(parts);
    const unsigned all = static_cast<unsigned>(s.m) * heads;
    const unsigned at = gridDim.x - 1 - blockIdx.x;
    struct prompt_item item = {};
    item.kv = at % hkv;
    item.part = at / hkv % count;
    item.count = count;
    item.first = at / hkv / count * Way::ROWS;
    item.rows = all - item.first < Way::ROWS ? all - item.first : Way::ROWS;
    const unsigned last = (item.first + item.rows - 1) / heads;
    item.end = static_cast<unsigned>(s.to(0, last));
    item.begin = static_cast<unsigned>(s.from(0, item.first / heads)) /
                 PROMPT_SLOTS * PROMPT_SLOTS;
    const unsigned tiles =
        (item.end - item.begin + PROMPT_SLOTS - 1) / PROMPT_SLOTS;
    item.turns =
        tiles > item.part ? (tiles - item.part + count - 1) / count : 0;
    return item;
}

/* A stage of a ring of COUNT, and how often it was used before, odd or even. */
template <unsigned COUNT> struct ring_place {
    unsigned stage = 0, parity = 0;

    __device__ void next()
    {
        stage++;
        if (stage == COUNT) {
            stage = 0;
            parity ^= 1;
        }
    }
};

/* ---- Those that bring ---- */

/* Place of a number in panels of ROWS rows. */
template <unsigned ROWS>
static __device__ __forceinline__ unsigned panel_place(unsigned row,
                                                       unsigned column)
{
    return column / 64 * ROWS * 64 + row * 64 +
           ((column / 8 % 8) ^ (row % 8)) * 8 + column % 8;
}

/* Slots [at, at + PROMPT_SLOTS); of those from `end` on the last before it, which
 * nobody sees there. */
template <unsigned WIDTH>
static __device__ __forceinline__ void bring_tile(
    uint16_t *to, const struct paged<uint16_t> &s, unsigned at, unsigned end,
    size_t head_at, bool values)
{
    constexpr unsigned EACH = WIDTH / 8, STEP = WARPGROUP_THREADS / EACH,
                       PIECE = 64;
    const unsigned thread = threadIdx.x % WARPGROUP_THREADS;
    const unsigned l = thread % EACH * 8, first = thread / EACH;
    uint16_t *place = to + panel_place<PROMPT_SLOTS>(first, l);
#pragma unroll 1
    for (unsigned piece = 0; piece < PROMPT_SLOTS; piece += PIECE) {
        const uint16_t *key, *value;
        size_t step;
        bool quick = at + piece + PIECE <= end &&
                     s.one_page(at + piece, PIECE, &key, &value, &step);
        if (quick) {
            const uint16_t *row =
                (values ? value : key) + head_at + l + first * step;
            quick = aligned_16(row);
            if (quick)
#pragma unroll
                for (unsigned i = 0; i < PIECE / STEP; i++)
                    copy_16(place + (piece + i * STEP) * 64,
                            row + i * STEP * step);
        }
        if (!quick)
#pragma unroll 1
            for (unsigned i = 0; i < PIECE / STEP; i++) {
                unsigned j = at + piece + first + i * STEP;
                j = j < end ? j : end - 1;
                const uint16_t *row =
                    (values ? s.value(0, j) : s.key(0, j)) + head_at + l;
                uint16_t *its = place + (piece + i * STEP) * 64;
                if (aligned_16(row))
                    copy_16(its, row);
                else
#pragma unroll 1
                    for (unsigned e = 0; e < 8; e++)
                        its[e] = row[e];
            }
    }
}

/* Of an item the keys of tile 0, then of a tile the keys and of the one before the
 * values, at last the last values: in the order in which they are asked for. */
template <typename Way>
static __device__ __forceinline__ void prompt_bring(
    struct prompt_tile<Way> *t, const struct paged<uint16_t> &s,
    const struct prompt_item &item)
{
    struct ring_place<Way::STAGES> key, value;
    uint64_t *asked =
        nullptr; /* what is under way, while the next is asked for */
    const unsigned loads = 2 * item.turns;
    const size_t head_at = s.head_at(item.kv);
#pragma unroll 1
    for (unsigned i = 0; i < loads; i++) {
        const bool values = i && (i % 2 == 0 || i + 1 == loads);
        const unsigned turn = !values          ? (i + 1) / 2
                              : i + 1 == loads ? item.turns - 1
                                               : i / 2 - 1;
        const unsigned stage = values ? value.stage : key.stage;
        const unsigned parity = values ? value.parity : key.parity;
        ring_wait((values ? t->values_done : t->keys_done) + stage, parity ^ 1);
        bring_tile<Way::WIDTH>(values ? t->values[stage] : t->keys[stage], s,
                               item.at(turn), item.end, head_at, values);
        end_copies();
        if (asked) {
            wait_copies<1>();
            publish_shared();
            ring_arrive(asked);
        }
        asked = (values ? t->values_there : t->keys_there) + stage;
        if (values)
            value.next();
        else
            key.next();
    }
    wait_copies<0>();
    publish_shared();
    if (asked)
        ring_arrive(asked);
}

/* ---- Those that attend ---- */

template <typename Way> struct prompt_rows {
    float sum[Way::WIDTH / 8][4];
    float max[2], total[2], factor[2];
    unsigned from[2], to[2]; /* slots that are seen */
};

struct prompt_scores {
    float of[PROMPT_SLOTS / 8][4];
};
struct prompt_shares {
    unsigned of[PROMPT_SLOTS / 16][4];
};

/* The same for a warp, which the compiler is told so. */
static __device__ __forceinline__ unsigned group_of_thread()
{
    return __shfl_sync(WHOLE_WARP, threadIdx.x / WARPGROUP_THREADS, 0);
}

/* The group's row of a thread. */
static __device__ __forceinline__ unsigned warpgroup_row(unsigned half)
{
    return warp_of_thread() % 4 * 16 + lane_of_thread() / 4 + 8 * half;
}

/* Eight numbers of a query, times `scale`; q nullptr: zeros. */
static __device__ __forceinline__ void take_eight(float *to, const float *q,
                                                  float scale, bool aligned)
{
    if (q && aligned) {
        const float4 a = *reinterpret_cast<const float4 *>(q);
        const float4 b = *reinterpret_cast<const float4 *>(q + 4);
        const float all[] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
        for (unsigned e = 0; e < 8; e++)
            to[e] = all[e] * scale;
    } else
#pragma unroll
        for (unsigned e = 0; e < 8; e++)
            to[e] = q ? q[e] * scale : 0;
}

/* The group's 64 queries; a barrier of the group must follow. */
template <typename Way>
static __device__ __forceinline__ void prompt_take_queries(
    uint16_t (*to)[GROUP_ROWS * Way::WIDTH], const struct paged<uint16_t> &s,
    unsigned heads, unsigned first, unsigned rows, unsigned kv)
{
    constexpr unsigned EACH = Way::WIDTH / 8, STEP = WARPGROUP_THREADS / EACH;
    constexpr unsigned AT_ONCE = 4;
    const float scale = s.sizes.scale * LOG2_E;
    const bool aligned = aligned_16(s.q);
    const unsigned thread = threadIdx.x % WARPGROUP_THREADS;
    const unsigned l = thread % EACH * 8;
#pragma unroll 1
    for (unsigned from = thread / EACH; from < GROUP_ROWS;
         from += AT_ONCE * STEP) {
        float x[AT_ONCE][8];
#pragma unroll
        for (unsigned i = 0; i < AT_ONCE; i++) {
            const unsigned row = from + i * STEP, its = first + row;
            const float *q = nullptr;
            if (row < rows)
                q = s.query(0, its / heads, kv * heads + its % heads) + l;
            take_eight(x[i], q, scale, aligned);
        }
#pragma unroll
        for (unsigned i = 0; i < AT_ONCE; i++) {
            const unsigned place = panel_place<GROUP_ROWS>(from + i * STEP, l);
#pragma unroll
            for (unsigned e = 0; e < 8; e += 2) {
                unsigned packed = pack_bf16(x[i][e], x[i][e + 1]);
                *reinterpret_cast<unsigned *>(to[0] + place + e) = packed;
                if constexpr (Way::TERMS == 2)
                    *reinterpret_cast<unsigned *>(to[1] + place + e) =
                        rest_bf16(x[i][e], x[i][e + 1], packed);
            }
        }
    }
    publish_shared();
}

/* Asks for the scores of a tile. */
template <typename Way>
static __device__ __forceinline__ void prompt_score(
    const uint16_t (*queries)[GROUP_ROWS * Way::WIDTH], const uint16_t *keys,
    struct prompt_scores *scores)
{
    const struct group_matrix k = group_matrix_of<PROMPT_SLOTS>(keys);
#pragma unroll
    for (unsigned term = Way::TERMS; term-- > 0;) {
        const struct group_matrix q =
            group_matrix_of<GROUP_ROWS>(queries[term]);
#pragma unroll
        for (unsigned i = 0; i < Way::WIDTH / 16; i++) {
            const unsigned column = i % 4 * 16;
            const struct group_matrix a =
                group_matrix_at(q, i / 4 * GROUP_ROWS * 64 + column);
            const struct group_matrix b =
                group_matrix_at(k, i / 4 * PROMPT_SLOTS * 64 + column);
            if (term + 1 == Way::TERMS && !i)
                multiply_128<true>(scores->of, a, b);
            else
                multiply_128<false>(scores->of, a, b);
        }
    }
    commit_products();
}

/* Asks for the sums of a tile. */
template <typename Way>
static __device__ __forceinline__ void prompt_mix(
    const uint16_t *values, const struct prompt_shares *shares,
    struct prompt_rows<Way> *rows)
{
    const struct group_matrix v = group_matrix_of<PROMPT_SLOTS>(values);
#pragma unroll
    for (unsigned i = 0; i < PROMPT_SLOTS / 16; i++)
        multiply_turned<Way::WIDTH>(rows->sum, shares->of[i],
                                    group_matrix_at(v, i * 16 * 64));
    commit_products();
}

/* Scores of what a row does not see are -infinity. */
template <typename Way>
static __device__ __forceinline__ void prompt_hide(
    struct prompt_scores *s, const struct prompt_rows<Way> *rows, unsigned at)
{
    const unsigned own = at + lane_of_thread() % 4 * 2;
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        if (at >= rows->from[half] && at + PROMPT_SLOTS <= rows->to[half])
            continue;
#pragma unroll
        for (unsigned i = 0; i < PROMPT_SLOTS / 8; i++)
            for (unsigned e = 0; e < 2; e++) {
                unsigned j = own + i * 8 + e;
                if (j < rows->from[half] || j >= rows->to[half])
                    s->of[i][half * 2 + e] = minus_infinity();
            }
    }
}

/* Scores become exp2(score - max); max and total are the tile's as well, and what was
 * summed before counts times `factor`. */
template <typename Way>
static __device__ __forceinline__ void prompt_weigh(
    struct prompt_scores *s, struct prompt_rows<Way> *rows)
{
    constexpr unsigned SIDES = 2; /* sums side by side */
#pragma unroll
    for (unsigned half = 0; half < 2; half++) {
        float best[SIDES], all[SIDES] = {};
#pragma unroll
        for (unsigned e = 0; e < SIDES; e++)
            best[e] = rows->max[half];
#pragma unroll
        for (unsigned i = 0; i < PROMPT_SLOTS / 8; i++)
            for (unsigned e = 0; e < 2; e++)
                best[e] = fmaxf(best[e], s->of[i][half * 2 + e]);
        const float max = quad_max(fmaxf(best[0], best[1]));
        const float base = max == minus_infinity() ? 0 : max;
        rows->factor[half] = exp2_near(rows->max[half] - base);
        rows->max[half] = max;
#pragma unroll
        for (unsigned i = 0; i < PROMPT_SLOTS / 8; i++)
            for (unsigned e = 0; e < 2; e++) {
                s->of[i][half * 2 + e] =
                    exp2_near(s->of[i][half * 2 + e] - base);
                all[e] += s->of[i][half * 2 + e];
            }
        rows->total[half] =
            rows->total[half] * rows->factor[half] + (all[0] + all[1]);
    }
}

static __device__ __forceinline__ void prompt_round(
    const struct prompt_scores *s, struct prompt_shares *to)
{
#pragma unroll
    for (unsigned k = 0; k < PROMPT_SLOTS / 16; k++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const float *two = s->of[2 * k + i / 2] + i % 2 * 2;
            to->of[k][i] = pack_bf16(two[0], two[1]);
        }
}

/* Where no row of the warp has a new highest, nothing changes. */
template <typename Way>
static __device__ __forceinline__ void prompt_shrink(
    struct prompt_rows<Way> *rows)
{
    if (!__any_sync(WHOLE_WARP, rows->factor[0] != 1 || rows->factor[1] != 1))
        return;
#pragma unroll
    for (unsigned i = 0; i < Way::WIDTH / 8; i++)
        for (unsigned e = 0; e < 4; e++)
            rows->sum[i][e] *= rows->factor[e / 2];
}

/* The warp is done with it. */
static __device__ __forceinline__ void prompt_release(uint64_t *done)
{
    __syncwarp();
    if (!lane_of_thread())
        ring_arrive(done);
}

/* All tiles of the item; at least one. */
template <typename Way>
static __device__ __forceinline__ void prompt_walk(
    struct prompt_tile<Way> *t, const struct prompt_item &item,
    struct prompt_rows<Way> *rows, unsigned group)
{
    const auto *queries = t->queries[group];
    struct prompt_scores scores;
    struct prompt_shares shares;
    struct ring_place<Way::STAGES> key, value;

    ring_wait(t->keys_there + key.stage, key.parity);
    hold<PROMPT_SLOTS / 8>(scores.of);
    begin_products();
    prompt_score<Way>(queries, t->keys[key.stage], &scores);
    wait_products<0>();
    hold<PROMPT_SLOTS / 8>(scores.of);
    prompt_release(t->keys_done + key.stage);
    key.next();
    prompt_hide(&scores, rows, item.at(0));
    prompt_weigh<Way>(&scores, rows);
    prompt_round(&scores, &shares);

#pragma unroll 1
    for (unsigned turn = 1; turn < item.turns; turn++) {
        ring_wait(t->keys_there + key.stage, key.parity);
        hold<PROMPT_SLOTS / 8>(scores.of);
        hold<PROMPT_SLOTS / 16>(shares.of);
        hold<Way::WIDTH / 8>(rows->sum);
        begin_products();
        prompt_score<Way>(queries, t->keys[key.stage], &scores);
        ring_wait(t->values_there + value.stage, value.parity);
        prompt_mix<Way>(t->values[value.stage], &shares, rows);
        wait_products<1>();
        hold<PROMPT_SLOTS / 8>(scores.of);
        prompt_release(t->keys_done + key.stage);
        prompt_hide(&scores, rows, item.at(turn));
        prompt_weigh<Way>(&scores, rows);
        hold<PROMPT_SLOTS / 8>(scores.of);
        first_of_all(rows->total[0] + rows->total[1]);
        wait_products<0>();
        hold<Way::WIDTH / 8>(rows->sum);
        hold<PROMPT_SLOTS / 16>(shares.of);
        prompt_release(t->values_done + value.stage);
        prompt_round(&scores, &shares);
        prompt_shrink(rows);
        key.next();
        value.next();
    }
    ring_wait(t->values_there + value.stage, value.parity);
    hold<PROMPT_SLOTS / 16>(shares.of);
    hold<Way::WIDTH / 8>(rows->sum);
    begin_products();
    prompt_mix<Way>(t->values[value.stage], &shares, rows);
    wait_products<0>();
    hold<Way::WIDTH / 8>(rows->sum);
    hold<PROMPT_SLOTS / 16>(shares.of);
}

/* Writes a row, as all there is of it or as a part; out nullptr: there is none.  All
 * lanes come. */
template <typename Way>
static __device__ __forceinline__ void prompt_leave(
    const struct prompt_rows<Way> *rows, unsigned half, float *out, float *log)
{
    const float total = quad_sum(rows->total[half]);
    const float factor = total == 0 ? 0 : 1 / total; /* a NaN is no 0 */
    const unsigned first = lane_of_thread() % 4 * 2;
    if (!out)
        return;
    if (log && !(lane_of_thread() % 4))
        *log = log_of_total(rows->max[half], total);
#pragma unroll
    for (unsigned i = 0; i < Way::WIDTH / 8; i++) {
        float a = rows->sum[i][half * 2] * factor;
        float b = rows->sum[i][half * 2 + 1] * factor;
        if (aligned_8(out + first))
            *reinterpret_cast<float2 *>(out + first + i * 8) = {a, b};
        else {
            out[first + i * 8] = a;
            out[first + i * 8 + 1] = b;
        }
    }
}

/* The thread's rows before they saw anything. */
template <typename Way>
static __device__ __forceinline__ void prompt_begin(
    struct prompt_rows<Way> *own, const struct paged<uint16_t> &s,
    unsigned heads, unsigned first, unsigned rows)
{
    for (unsigned half = 0; half < 2; half++) {
        bool is = warpgroup_row(half) < rows;
        unsigned i = (first + warpgroup_row(half)) / heads;
        own->from[half] = is ? static_cast<unsigned>(s.from(0, i)) : 0;
        own->to[half] = is ? static_cast<unsigned>(s.to(0, i)) : 0;
        own->max[half] = minus_infinity();
        own->total[half] = 0;
    }
#pragma unroll
    for (unsigned i = 0; i < Way::WIDTH / 8; i++)
        for (unsigned e = 0; e < 4; e++)
            own->sum[i][e] = 0;
}

/* Rows of the group. */
template <typename Way>
static __device__ __forceinline__ unsigned rows_of_group(
    const struct prompt_item &item, unsigned group)
{
    return item.rows > group * GROUP_ROWS ? item.rows - group * GROUP_ROWS : 0;
}

template <typename Way>
static __device__ __forceinline__ void prompt_end(
    const struct prompt_rows<Way> *own, const struct paged<uint16_t> &s,
    const struct prompt_item &item, const struct tile_parts &parts,
    unsigned group)
{
    const struct dense_sizes &z = s.sizes;
    const unsigned heads = static_cast<unsigned>(z.group);
    const unsigned rows = rows_of_group<Way>(item, group);
    for (unsigned half = 0; half < 2; half++) {
        float *out = nullptr, *log = nullptr;
        if (warpgroup_row(half) < rows) {
            unsigned row =
                item.first + group * GROUP_ROWS + warpgroup_row(half);
            size_t place =
                s.place(0, row / heads, item.kv * heads + row % heads);
            size_t at = item.part * z.places + place;
            out = parts.log ? parts.out + at * z.d : s.out + place * z.d;
            log = parts.log ? parts.log + at : nullptr;
        }
        prompt_leave(own, half, out, log);
    }
}

template <typename Way>
static __device__ __forceinline__ void prompt_attend(
    struct prompt_tile<Way> *t, const struct paged<uint16_t> &s,
    const struct prompt_item &item, const struct tile_parts &parts,
    unsigned group)
{
    const unsigned heads = static_cast<unsigned>(s.sizes.group);
    const unsigned first = item.first + group * GROUP_ROWS;
    const unsigned rows = rows_of_group<Way>(item, group);
    struct prompt_rows<Way> own;
    prompt_begin(&own, s, heads, first, rows);
    prompt_take_queries<Way>(t->queries[group], s, heads, first, rows, item.kv);
    meet_warps(1 + group, WARPGROUP_THREADS);
    if (item.turns)
        prompt_walk<Way>(t, item, &own, group);
    prompt_end(&own, s, item, parts, group);
}

/* grid: items. */
template <typename Way>
static __global__ void __launch_bounds__(Way::THREADS, 1)
    attend_prompt(struct paged<uint16_t> s, struct tile_parts parts,
                  size_t count)
{
    if (!has_warpgroups())
        return;
    auto *t = static_cast<struct prompt_tile<Way> *>(cuda_shared());
    const struct prompt_item item = prompt_item_of<Way>(s, count);
    const unsigned group = group_of_thread();
    if (threadIdx.x < Way::STAGES) {
        ring_start(t->keys_there + threadIdx.x, WARPGROUP_THREADS);
        ring_start(t->values_there + threadIdx.x, WARPGROUP_THREADS);
        ring_start(t->keys_done + threadIdx.x, 4 * Way::CONSUMERS);
        ring_start(t->values_done + threadIdx.x, 4 * Way::CONSUMERS);
    }
    __syncthreads();
    if (group == Way::CONSUMERS) {
        give_registers<Way::BRINGING>();
        prompt_bring<Way>(t, s, item);
    } else {
        take_registers<Way::TAKING>();
        prompt_attend<Way>(t, s, item, parts, group);
    }
}

#endif
