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
 * Queries are split in two either way, and so are shares, but where four warps
 * multiply bf16 values together (mix_group: rounded, 2^-9 of what a result is made
 * of): f32's result to about 1e-5 of it, of the keys and values that there are, where
 * queries in bf16 alone would be 1e-2 off as soon as scores are large.  Sums are f32.
 *
 * What a tile is says `Turns`, a struct of the caller's:
 *
 *     TOGETHER              whether all warps of 64 rows may multiply together, and
 *                           tensor_queries have room behind the tile: not SPARSE
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
#include "kernels/cuda/cuda_tensor_rows.h"
#include "kernels/cuda/cuda_tensor_tile.h"

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
            unsigned place = split_place(slot + i * 16, column + k * 16);
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

/* Queries as four warps multiply them together: two terms, behind the tile. */
template <unsigned WIDTH> struct tensor_queries {
    uint16_t high[TENSOR_MANY * WIDTH], low[TENSOR_MANY * WIDTH];
};

/* Bytes of a tile with them, and where they lie; a multiple of what cuda_warpgroup.h
 * asks for.  Wide tiles of f32 leave them no room: two blocks to a processor are worth
 * more. */
template <unsigned ROWS, unsigned WIDTH, typename Number>
constexpr bool TENSOR_KEEPS = ROWS == TENSOR_MANY &&
                              (sizeof(Number) == 2 || WIDTH < TENSOR_MAX_WIDTH);
template <unsigned WIDTH, typename Number>
constexpr size_t TENSOR_TILE_BYTES =
    (sizeof(struct tensor_tile<WIDTH, Number>) + 1023) / 1024 * 1024;
template <unsigned ROWS, unsigned WIDTH, typename Number>
static inline size_t tensor_bytes()
{
    constexpr bool keeps = TENSOR_KEEPS<ROWS, WIDTH, Number>;
    constexpr size_t tile = sizeof(struct tensor_tile<WIDTH, Number>);
    constexpr size_t whole = TENSOR_TILE_BYTES<WIDTH, Number>;
    constexpr size_t both = whole + sizeof(struct tensor_queries<WIDTH>);
    static_assert((keeps ? both : tile) <= CUDA_MAX_ASKED, "no room for it");
    return keeps && cuda_has_warpgroups() ? both : tile;
}

template <unsigned WIDTH, typename Number>
static __device__ __forceinline__ struct tensor_queries<WIDTH>
    *tensor_queries_of(struct tensor_tile<WIDTH, Number> *t) {
    return reinterpret_cast<struct tensor_queries<WIDTH> *>(
        reinterpret_cast<unsigned char *>(t) +
        TENSOR_TILE_BYTES<WIDTH, Number>);
}

/* The thread's parts of its rows; a barrier must follow. */
template <unsigned WIDTH>
static __device__ __forceinline__ void tensor_keep_queries(
    struct tensor_queries<WIDTH> *to,
    const struct tensor_rows<TENSOR_MANY, WIDTH> *rows)
{
#pragma unroll
    for (unsigned k = 0; k < WIDTH / 16; k++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            unsigned column = k * 16 + i / 2 * 8 + lane_of_thread() % 4 * 2;
            unsigned place =
                split_place(tensor_row<TENSOR_MANY>(i % 2), column);
            *reinterpret_cast<unsigned *>(to->high + place) = rows->high[k][i];
            *reinterpret_cast<unsigned *>(to->low + place) = rows->low[k][i];
        }
    publish_shared();
}

/* The same of all slots, by the four warps together. */
template <unsigned WIDTH, bool LOW>
static __device__ __forceinline__ void score_group(
    const uint16_t *high, const uint16_t *low,
    const struct tensor_queries<WIDTH> *queries, float (*of)[4])
{
    begin_products();
#pragma unroll
    for (unsigned k = 0; k < WIDTH / 16; k++) {
        const unsigned at = k / 4 * GROUP_PANEL + k % 4 * 16;
        const uint16_t *a = queries->high + at, *rest = queries->low + at;
        if (!k)
            multiply_group<TENSOR_SLOTS, true>(of, rest, high + at);
        else
            multiply_group<TENSOR_SLOTS, false>(of, rest, high + at);
        if (LOW)
            multiply_group<TENSOR_SLOTS, false>(of, a, low + at);
        multiply_group<TENSOR_SLOTS, false>(of, a, high + at);
    }
    end_products();
    hold<TENSOR_SLOTS / 8>(of);
}

/* All scores of the warp's rows, times `scale`; the keys are as score_slots has
 * them.  16 rows: the warps change what each has of them, over the keys' first
 * terms, which nobody needs then.  GROUP: 64 rows, and all warps come. */
template <bool LOW, bool GROUP, unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_score(
    uint16_t *high, const uint16_t *low,
    const struct tensor_rows<ROWS, WIDTH> *rows,
    const struct tensor_queries<WIDTH> *queries, float scale,
    struct tensor_scores *scores)
{
    constexpr unsigned STEP = TENSOR_SLOTS + 8; /* banks */
    static_assert(ROWS * STEP * sizeof(float) <=
                          TENSOR_SLOTS * WIDTH * sizeof *high ||
                      ROWS != TENSOR_FEW,
                  "the scores of all warps do not fit over the keys");
    bool done = false;
    if constexpr (GROUP)
        if (has_warpgroups()) {
            score_group<WIDTH, LOW>(high, low, queries, scores->of);
            done = true;
        }
    if (ROWS == TENSOR_MANY && !done) {
        score_slots<ROWS, WIDTH, TENSOR_SLOTS / 16, LOW>(high, low, rows, 0,
                                                         scores->of);
    } else if (!done) {
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

/* ---- Values ---- */

/* The same by the four warps together.  Shares that are not split are rounded to
 * bf16: a result is off by 2^-9 of what it is made of, at most. */
template <unsigned WIDTH, bool LOW>
static __device__ __forceinline__ void mix_group(
    const uint16_t *high, const uint16_t *low,
    struct tensor_rows<TENSOR_MANY, WIDTH> *rows,
    const struct tensor_scores *shares)
{
    constexpr unsigned STEPS = TENSOR_SLOTS / 16;
    unsigned a[STEPS][4], a_rest[LOW ? STEPS : 1][4];
#pragma unroll
    for (unsigned k = 0; k < STEPS; k++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            const float *two = shares->of[2 * k + i / 2] + i % 2 * 2;
            a[k][i] = pack_bf16(two[0], two[1]);
            if (LOW)
                a_rest[k][i] = rest_bf16(two[0], two[1], a[k][i]);
        }
    hold<STEPS>(a);
    if constexpr (LOW)
        hold<STEPS>(a_rest);
    hold<WIDTH / 8>(rows->sum);
    begin_products();
#pragma unroll
    for (unsigned k = 0; k < STEPS; k++) {
        const unsigned at = k * 16 * 64;
        if constexpr (LOW) {
            multiply_group_turned<WIDTH>(rows->sum, a_rest[k], high + at);
            multiply_group_turned<WIDTH>(rows->sum, a[k], low + at);
        }
        multiply_group_turned<WIDTH>(rows->sum, a[k], high + at);
    }
    end_products();
    hold<WIDTH / 8>(rows->sum);
}

/* sum += shares . values, LOW: in two terms; GROUP: as above. */
template <bool LOW, bool GROUP, unsigned ROWS, unsigned WIDTH>
static __device__ __forceinline__ void tensor_mix(
    const uint16_t *high, const uint16_t *low,
    struct tensor_rows<ROWS, WIDTH> *rows, const struct tensor_scores *shares)
{
    if constexpr (GROUP)
        if (has_warpgroups()) {
            mix_group<WIDTH, LOW>(high, low, rows, shares);
            return;
        }
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
            unsigned place = split_place(slot + k * 16, column + i * 16);
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
    uint64_t first = turns.seen(turn, 0) & there;
    uint64_t second = turns.seen(turn, 1) & there;
    if (!~(first & second))
        return ~0u;
    return own_bits(first) | own_bits(second) << 16;
}

/* Whether the warps of a walk may multiply together, and score together. */
template <unsigned ROWS, typename Turns>
constexpr bool TENSOR_TOGETHER = ROWS == TENSOR_MANY &&Turns::TOGETHER;
template <unsigned ROWS, unsigned WIDTH, typename Number, typename Turns>
constexpr bool TENSOR_SCORES =
    TENSOR_KEEPS<ROWS, WIDTH, Number> &&Turns::TOGETHER;

/* All tiles of `turns`.  VALUES false: most and total alone, no sums.  All
 * threads come; shared memory of the tile may be used again after a barrier. */
template <bool VALUES, unsigned ROWS, unsigned WIDTH, typename Turns>
static __device__ __forceinline__ void tensor_walk(
    struct tensor_tile<WIDTH, float> *t, struct tensor_rows<ROWS, WIDTH> *rows,
    size_t d, float scale, Turns &turns)
{
    constexpr bool SCORES = TENSOR_SCORES<ROWS, WIDTH, float, Turns>;
    struct tensor_numbers<WIDTH, float> *x = &t->numbers;
    struct tensor_queries<WIDTH> *queries = tensor_queries_of(t);
    if constexpr (SCORES)
        if (has_warpgroups())
            tensor_keep_queries(queries, rows);
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
        if constexpr (TENSOR_TOGETHER<ROWS, Turns>)
            publish_shared();
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
            tensor_score<true, SCORES>(x->high, x->low, rows, queries, scale,
                                       &scores);
            __syncwarp(); /* what prepare left */
            turns.take(rows, &scores, own, turn);
        }
        if (VALUES) {
            wait_copies<1>();
            __syncthreads(); /* the values are there, nobody reads keys */
            tensor_split(x, x->raw_value, d, t->there_bits(turn));
            if constexpr (TENSOR_TOGETHER<ROWS, Turns>)
                publish_shared();
            __syncthreads(); /* the split values are there */
        }
        tensor_fetch<WIDTH>(x->raw_value, t->value[next], d, VALUES && more);
        if (VALUES && any)
            tensor_mix<true, TENSOR_TOGETHER<ROWS, Turns>>(x->high, x->low,
                                                           rows, &scores);
    }
}

/* The same of bf16: no split, and room for two tiles. */
template <bool VALUES, unsigned ROWS, unsigned WIDTH, typename Turns>
static __device__ __forceinline__ void tensor_walk(
    struct tensor_tile<WIDTH, uint16_t> *t,
    struct tensor_rows<ROWS, WIDTH> *rows, size_t d, float scale, Turns &turns)
{
    struct tensor_numbers<WIDTH, uint16_t> *x = &t->numbers;
    constexpr bool SCORES = TENSOR_SCORES<ROWS, WIDTH, uint16_t, Turns>;
    const uint16_t *none = nullptr;
    struct tensor_queries<WIDTH> *queries = tensor_queries_of(t);
    if constexpr (SCORES)
        if (has_warpgroups())
            tensor_keep_queries(queries, rows);
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
        if constexpr (TENSOR_TOGETHER<ROWS, Turns>)
            publish_shared();
        __syncthreads(); /* the keys are there, and the next places; nobody
                            reads the numbers of the turn before */
        more = t->some[next];
        tensor_fetch<WIDTH>(x->keys[next], t->key[next], d, more);
        turns.prepare(turn);
        unsigned own = tensor_own(t, turns, turn);
        bool any = !Turns::SPARSE || __ballot_sync(WHOLE_WARP, own != 0);
        if (any) {
            tensor_score<false, SCORES>(x->keys[side], none, rows, queries,
                                        scale, &scores);
            __syncwarp(); /* what prepare left */
            turns.take(rows, &scores, own, turn);
        }
        wait_copies<1>();
        if constexpr (TENSOR_TOGETHER<ROWS, Turns>)
            publish_shared();
        __syncthreads(); /* the values are there, nobody reads these places */
        tensor_fetch<WIDTH>(x->values[next], t->value[next], d, VALUES && more);
        if (VALUES && any)
            tensor_mix<false, TENSOR_TOGETHER<ROWS, Turns>>(
                x->values[side], none, rows, &scores);
    }
}

#endif
