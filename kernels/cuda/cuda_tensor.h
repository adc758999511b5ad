/* Attention by tiles on the tensor cores: heads of up to TENSOR_MAX_WIDTH.
 *
 * A block of four warps has up to ROWS queries ("rows") that read the same
 * key-value head.  64 rows: a warp has 16 of them, all slots and columns.  16
 * rows, few queries: each warp scores a quarter of a tile's slots for all rows,
 * and sums a quarter of the columns.  WIDTH is the head's width, rounded up to
 * what there is code for; the columns beyond are zeros.
 *
 * Keys and values come by copies that run on behind the program.  `Number` is
 * what they are kept as:
 *
 *     float      A tile's keys come while the values of the one before are
 *                summed, its values while its keys are scored.  In shared memory
 *                each number is then split in two bf16s, and a product is of three
 *                terms (cuda_fragments.h).
 *     uint16_t   bf16.  They come to where products read them, while the tile
 *                before is worked on; a product is of two terms.
 *
 * Queries and shares are split in two either way: f32's result to about 1e-5 of
 * it, of the keys and values that there are, where bf16 alone would be 1e-2 off as
 * soon as scores are large.  Sums are f32.
 *
 * What a tile is says `Turns`, a struct of the caller's:
 *
 *     SPARSE                whether it is worth asking if a warp's rows see
 *                           anything of a tile
 *     void find(turn)       the first warp calls t->place, twice, for the slots of
 *                           tile `turn`, and one lane sets t->some[turn & 1]
 *     void prepare(turn)    all threads; what they leave in shared memory is there
 *                           for rows of the same warp, or (16 rows) for all, at
 *                           `take`
 *     uint64_t seen(turn, half)   bit i: the thread's row (tensor_row(half)) sees
 *                                 slot i
 *     void take(rows, scores, own, turn)   makes shares of the scores
 *                                          (tensor_weigh); own: bits of own_bits
 *
 * Softmax is made as it goes (Milakov and Gimelshein 2018), with exponents of 2:
 * scores are times log2(e). */
#ifndef KERNELS_CUDA_CUDA_TENSOR_H
#define KERNELS_CUDA_CUDA_TENSOR_H

#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_fragments.h"
#include "kernels/cuda/cuda_tiles.h"

constexpr unsigned TENSOR_THREADS = 128, TENSOR_WARPS = 4;
constexpr unsigned TENSOR_SLOTS = 64;
constexpr size_t TENSOR_MAX_WIDTH = 128;
constexpr unsigned TENSOR_FEW = 16, TENSOR_MANY = 64; /* rows */
constexpr float LOG2_E = 1.44269504088896341f, LN_2 = 0.693147180559945309f;

/* Numbers of a tile as products read them: a slot's 16 bytes i lie at
 * i ^ (slot % 8), so that eight slots' lie in different banks. */
template <unsigned WIDTH, typename Number> struct tensor_numbers;

template <unsigned WIDTH> struct tensor_numbers<WIDTH, float> {
    static constexpr unsigned HALVES = TENSOR_SLOTS * WIDTH;

    /* As they came; aligned for 16 bytes. */
    float raw_key[TENSOR_SLOTS * WIDTH], raw_value[TENSOR_SLOTS * WIDTH];
    /* Split: first the keys, then the values. */
    uint16_t high[HALVES], low[HALVES];
};

template <unsigned WIDTH> struct tensor_numbers<WIDTH, uint16_t> {
    static constexpr unsigned HALVES = TENSOR_SLOTS * WIDTH;

    /* Of the tile at hand and of the next, by turn & 1; aligned as above. */
    uint16_t keys[2][HALVES], values[2][HALVES];
};

template <unsigned WIDTH, typename Number> struct tensor_tile {
    struct tensor_numbers<WIDTH, Number> numbers;
    /* Of the tile at hand and of the next, by turn & 1. */
    const Number *key[2][TENSOR_SLOTS], *value[2][TENSOR_SLOTS];
    unsigned there[2][TENSOR_SLOTS / WARP]; /* bits: slots with a key */
    unsigned some[2];                       /* whether there is such a tile */

    /* By the first warp, for slot 32 half + lane; nullptr: none. */
    __device__ void place(unsigned turn, unsigned half, const Number *its_key,
                          const Number *its_value)
    {
        unsigned side = turn & 1, slot = half * WARP + lane_of_thread();
        unsigned bits = __ballot_sync(WHOLE_WARP, its_key != nullptr);
        key[side][slot] = its_key;
        value[side][slot] = its_value;
        if (!lane_of_thread())
            there[side][half] = bits;
    }
    __device__ uint64_t there_bits(unsigned turn) const
    {
        return there[turn & 1][0] | static_cast<uint64_t>(there[turn & 1][1])
                                        << 32;
    }
};

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

/* Bits [from, to) of a tile whose first slot is `at`. */
static __device__ __forceinline__ uint64_t tensor_bits(unsigned at,
                                                       unsigned from,
                                                       unsigned to)
{
    uint64_t all = ~uint64_t{0};
    unsigned end = at + TENSOR_SLOTS;
    if (from >= to || to <= at || from >= end)
        return 0;
    if (from > at)
        all <<= from - at;
    return to < end ? all & ~(~uint64_t{0} << (to - at)) : all;
}

/* exp2(a - b), where nothing less nothing is 0. */
static __device__ __forceinline__ float share_of_2(float a, float b)
{
    return exp2f(a - (b == minus_infinity() ? 0 : b));
}

/* ---- Into the tile ---- */

template <unsigned WIDTH>
static __device__ __forceinline__ unsigned split_place(unsigned slot,
                                                       unsigned column)
{
    return slot * WIDTH + ((column / 8) ^ (slot % 8)) * 8 + column % 8;
}

/* Asks for the slots' numbers; their group is ended whatever there is. */
template <unsigned WIDTH>
static __device__ __forceinline__ void tensor_fetch(float *to,
                                                    const float *const *from,
                                                    size_t d, bool some)
{
    if (some)
#pragma unroll 1 /* nobody waits for these, and registers are few */
        for (unsigned at = threadIdx.x; at < TENSOR_SLOTS * WIDTH / 4;
             at += TENSOR_THREADS) {
            unsigned slot = at / (WIDTH / 4), l = at % (WIDTH / 4) * 4;
            const float *row = from[slot];
            float *place = to + slot * WIDTH + l;
            if (!row || l >= d)
                continue;
            if (l + 4 <= d && aligned_16(row + l))
                copy_16(place, row + l);
            else
                for (unsigned e = 0; e < 4 && l + e < d; e++)
                    copy_4(place + e, row + l + e);
        }
    end_copies();
}

/* The same of bf16, to where products read it; zeros where there is nothing. */
template <unsigned WIDTH>
static __device__ __forceinline__ void tensor_fetch(uint16_t *to,
                                                    const uint16_t *const *from,
                                                    size_t d, bool some)
{
    if (some)
#pragma unroll 1
        for (unsigned at = threadIdx.x; at < TENSOR_SLOTS * WIDTH / 8;
             at += TENSOR_THREADS) {
            unsigned slot = at / (WIDTH / 8), l = at % (WIDTH / 8) * 8;
            const uint16_t *row = from[slot];
            uint16_t *place = to + split_place<WIDTH>(slot, l);
            if (row && l + 8 <= d && aligned_16(row + l))
                copy_16(place, row + l);
            else
#pragma unroll 1
                for (unsigned e = 0; e < 8; e++)
                    place[e] = row && l + e < d ? row[l + e] : uint16_t{0};
        }
    end_copies();
}

/* high and low of what came; zeros where nothing did. */
template <unsigned WIDTH>
static __device__ __forceinline__ void tensor_split(
    struct tensor_numbers<WIDTH, float> *t, const float *raw, size_t d,
    uint64_t there)
{
#pragma unroll 2
    for (unsigned at = threadIdx.x; at < TENSOR_SLOTS * WIDTH / 4;
         at += TENSOR_THREADS) {
        unsigned slot = at / (WIDTH / 4), l = at % (WIDTH / 4) * 4;
        float4 x = *reinterpret_cast<const float4 *>(raw + slot * WIDTH + l);
        bool is = there >> slot & 1;
        x.x = is && l < d ? x.x : 0;
        x.y = is && l + 1 < d ? x.y : 0;
        x.z = is && l + 2 < d ? x.z : 0;
        x.w = is && l + 3 < d ? x.w : 0;
        unsigned place = split_place<WIDTH>(slot, l);
        uint2 high = {pack_bf16(x.x, x.y), pack_bf16(x.z, x.w)};
        uint2 low = {rest_bf16(x.x, x.y, high.x), rest_bf16(x.z, x.w, high.y)};
        *reinterpret_cast<uint2 *>(t->high + place) = high;
        *reinterpret_cast<uint2 *>(t->low + place) = low;
    }
}

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

/* ---- Scores ---- */

/* of[first ..] = q . k for `COUNT` pairs of eight slots, from pair `first`.
 * LOW: keys are in two terms. */
template <unsigned ROWS, unsigned WIDTH, unsigned COUNT, bool LOW>
static __device__ __forceinline__ void score_slots(
    const uint16_t *high, const uint16_t *low,
    const struct tensor_rows<ROWS, WIDTH> *rows, unsigned first, float (*of)[4])
{
    unsigned lane = lane_of_thread();
    unsigned slot = first * 16 + lane / 16 * 8 + lane % 8;
    unsigned column = lane / 8 % 2 * 8;
#pragma unroll
    for (unsigned i = 0; i < COUNT; i++) {
#pragma unroll
        for (unsigned e = 0; e < 4; e++)
            of[2 * i][e] = of[2 * i + 1][e] = 0;
#pragma unroll
        for (unsigned k = 0; k < WIDTH / 16; k++) {
            unsigned b[4], b_rest[4] = {};
            unsigned place = split_place<WIDTH>(slot + i * 16, column + k * 16);
            read_matrices(b, high + place);
            if (LOW)
                read_matrices(b_rest, low + place);
            multiply_split<LOW>(of[2 * i], rows->high[k], rows->low[k], b,
                                b_rest);
            multiply_split<LOW>(of[2 * i + 1], rows->high[k], rows->low[k],
                                b + 2, b_rest + 2);
        }
    }
}

/* All scores of the warp's rows, times `scale`; the keys are as score_slots has
 * them.  16 rows: the warps change what each has of them, over the keys' first
 * terms, which nobody needs then. */
template <bool LOW, unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_score(
    uint16_t *high, const uint16_t *low,
    const struct tensor_rows<ROWS, WIDTH> *rows, float scale,
    struct tensor_scores *scores)
{
    constexpr unsigned STEP = TENSOR_SLOTS + 8; /* banks */
    static_assert(ROWS * STEP * sizeof(float) <=
                          TENSOR_SLOTS * WIDTH * sizeof *high ||
                      ROWS != TENSOR_FEW,
                  "the scores of all warps do not fit over the keys");
    if (ROWS == TENSOR_MANY) {
        score_slots<ROWS, WIDTH, TENSOR_SLOTS / 16, LOW>(high, low, rows, 0,
                                                         scores->of);
    } else {
        float own[2][4], *all = reinterpret_cast<float *>(high);
        unsigned warp = warp_of_thread(), lane = lane_of_thread();
        score_slots<ROWS, WIDTH, 1, LOW>(high, low, rows, warp, own);
        __syncthreads();
        for (unsigned i = 0; i < 2; i++)
            for (unsigned e = 0; e < 4; e++)
                all[(lane / 4 + e / 2 * 8) * STEP + warp * 16 + i * 8 +
                    lane % 4 * 2 + e % 2] = own[i][e];
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
            for (unsigned e = 0; e < 4; e++)
                scores->of[i][e] = all[(lane / 4 + e / 2 * 8) * STEP + i * 8 +
                                       lane % 4 * 2 + e % 2];
    }
#pragma unroll
    for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
        for (unsigned e = 0; e < 4; e++)
            scores->of[i][e] *= scale;
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
#pragma unroll
    for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++)
        for (unsigned e = 0; e < 2; e++) {
            float *score = &s->of[i][half * 2 + e];
            if (!(own >> (half * 16 + i * 2 + e) & 1))
                *score = minus_infinity();
            best = fmaxf(best, *score);
        }
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

/* ---- Values ---- */

/* sum += shares . values, LOW: in two terms. */
template <bool LOW, unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_mix(
    const uint16_t *high, const uint16_t *low,
    struct tensor_rows<ROWS, WIDTH> *rows, const struct tensor_scores *shares)
{
    unsigned lane = lane_of_thread();
    unsigned slot = lane % 16;
    unsigned column = tensor_column<ROWS, WIDTH>() + lane / 16 * 8;
#pragma unroll
    for (unsigned k = 0; k < TENSOR_SLOTS / 16; k++) {
        unsigned a[4], a_rest[4];
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const float *two = shares->of[2 * k + i / 2] + i % 2 * 2;
            a[i] = pack_bf16(two[0], two[1]);
            a_rest[i] = rest_bf16(two[0], two[1], a[i]);
        }
#pragma unroll
        for (unsigned i = 0; i < tensor_rows<ROWS, WIDTH>::COLUMNS / 16; i++) {
            unsigned b[4], b_rest[4] = {};
            unsigned place = split_place<WIDTH>(slot + k * 16, column + i * 16);
            read_turned(b, high + place);
            if (LOW)
                read_turned(b_rest, low + place);
            multiply_split<LOW>(rows->sum[2 * i], a, a_rest, b, b_rest);
            multiply_split<LOW>(rows->sum[2 * i + 1], a, a_rest, b + 2,
                                b_rest + 2);
        }
    }
}

/* ---- A walk over tiles ---- */

/* What the thread's rows see of a tile. */
template <unsigned WIDTH, typename Number, typename Turns>
static __device__ __forceinline__ unsigned tensor_own(
    const struct tensor_tile<WIDTH, Number> *t, const Turns &turns,
    unsigned turn)
{
    uint64_t there = t->there_bits(turn);
    return own_bits(turns.seen(turn, 0) & there) |
           own_bits(turns.seen(turn, 1) & there) << 16;
}

/* All tiles of `turns`.  VALUES false: most and total alone, no sums.  All
 * threads come; shared memory of the tile may be used again after a barrier. */
template <bool VALUES, unsigned ROWS, unsigned WIDTH, typename Turns>
static __device__ __forceinline__ void tensor_walk(
    struct tensor_tile<WIDTH, float> *t, struct tensor_rows<ROWS, WIDTH> *rows,
    size_t d, float scale, Turns &turns)
{
    struct tensor_numbers<WIDTH, float> *x = &t->numbers;
    if (!warp_of_thread())
        turns.find(0);
    __syncthreads();
    bool more = t->some[0];
    tensor_fetch<WIDTH>(x->raw_key, t->key[0], d, more);
    tensor_fetch<WIDTH>(x->raw_value, t->value[0], d, VALUES && more);
    for (unsigned turn = 0; more; turn++) {
        unsigned next = (turn + 1) & 1;
        struct tensor_scores scores;
        wait_copies<1>();
        __syncthreads(); /* the keys are there, nobody reads split values */
        tensor_split(x, x->raw_key, d, t->there_bits(turn));
        if (!warp_of_thread())
            turns.find(turn + 1);
        __syncthreads(); /* the split keys are there, and the next places */
        more = t->some[next];
        tensor_fetch<WIDTH>(x->raw_key, t->key[next], d, more);
        turns.prepare(turn);
        unsigned own = tensor_own(t, turns, turn);
        /* Of 16 rows all warps know the same: tensor_score waits for all. */
        bool any = !Turns::SPARSE || __ballot_sync(WHOLE_WARP, own != 0);
        if (any) {
            tensor_score<true>(x->high, x->low, rows, scale, &scores);
            __syncwarp(); /* what prepare left */
            turns.take(rows, &scores, own, turn);
        }
        if (VALUES) {
            wait_copies<1>();
            __syncthreads(); /* the values are there, nobody reads keys */
            tensor_split(x, x->raw_value, d, t->there_bits(turn));
            __syncthreads(); /* the split values are there */
        }
        tensor_fetch<WIDTH>(x->raw_value, t->value[next], d, VALUES && more);
        if (VALUES && any)
            tensor_mix<true>(x->high, x->low, rows, &scores);
    }
}

/* The same of bf16: no split, and room for two tiles. */
template <bool VALUES, unsigned ROWS, unsigned WIDTH, typename Turns>
static __device__ __forceinline__ void tensor_walk(
    struct tensor_tile<WIDTH, uint16_t> *t,
    struct tensor_rows<ROWS, WIDTH> *rows, size_t d, float scale, Turns &turns)
{
    struct tensor_numbers<WIDTH, uint16_t> *x = &t->numbers;
    const uint16_t *none = nullptr;
    if (!warp_of_thread())
        turns.find(0);
    __syncthreads();
    bool more = t->some[0];
    tensor_fetch<WIDTH>(x->keys[0], t->key[0], d, more);
    tensor_fetch<WIDTH>(x->values[0], t->value[0], d, VALUES && more);
    for (unsigned turn = 0; more; turn++) {
        unsigned side = turn & 1, next = side ^ 1;
        struct tensor_scores scores;
        if (!warp_of_thread())
            turns.find(turn + 1); /* over the places of the turn before, */
        wait_copies<1>();         /* which all have left at its last barrier */
        __syncthreads(); /* the keys are there, and the next places; nobody
                            reads the numbers of the turn before */
        more = t->some[next];
        tensor_fetch<WIDTH>(x->keys[next], t->key[next], d, more);
        turns.prepare(turn);
        unsigned own = tensor_own(t, turns, turn);
        bool any = !Turns::SPARSE || __ballot_sync(WHOLE_WARP, own != 0);
        if (any) {
            tensor_score<false>(x->keys[side], none, rows, scale, &scores);
            __syncwarp(); /* what prepare left */
            turns.take(rows, &scores, own, turn);
        }
        wait_copies<1>();
        __syncthreads(); /* the values are there, nobody reads these places */
        tensor_fetch<WIDTH>(x->values[next], t->value[next], d, VALUES && more);
        if (VALUES && any)
            tensor_mix<false>(x->values[side], none, rows, &scores);
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
        *log = total == 0 ? minus_infinity()
                          : (rows->max[half] + log2f(total)) * LN_2;
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
