/* The loops of cpu_blocks.h.  Included once by a file that defines BLOCKS_TARGET (the
 * attribute of every function), BLOCKS_TABLE, and before that, of this target, with
 * BLOCKS_INLINE:
 *
 *   wide, ints   floats and integers of 32 bits, of LANES columns
 *   ROWS, VECTORS   rows and vectors of columns whose sums fit the registers
 *   put_part(to, part, q)         32 integers, in this target's order
 *   half_sums(ret[2], u, a, count)   sums of `count` parts' products, in the order of
 *                                 half_lane
 *   SPLIT, split(ret, u)          vectors of eight integers as which 32 bytes are
 *                                 multiplied, for columns side by side: of these
 *   strip_sums(ret, w, a, apart, part, from, to, m)   of a part's quarters from..to,
 *                                 of eight numbers, the sums with each of m rows
 *   store_wide(at, x), same_wide(x), same_ints(x), floats_of(x), shift_left(x, bits),
 *   fma_wide(x, y, sum); low_two(x, y), high_two, low_pairs, high_pairs, which are
 *   unpack..._epi32 and _epi64 */
#include <string.h>

#include "kernels/cpu/cpu_internal.h"

#define INLINE BLOCKS_INLINE
#define BODY   static BLOCKS_TARGET

#include "kernels/cpu/cpu_blocks_groups.h"

enum {
    MOST = 4,        /* rows of a at once, from which on w is unpacked before */
    COLUMNS = 2,     /* of w at once where it is not */
    MANY = 128,      /* rows that stay in a cache */
    MAX_GROUPS = 64, /* of a row that is unpacked */
    STRIP = VECTORS * LANES,
    AHEAD = 4096 /* bytes that are asked for before they are needed */
};

/* ---- Rounding ---- */

INLINE float max_of(__m256 v)
{
    __m128 x =
        _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

/* ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)), as put_strip has it. */
INLINE float sum_of(__m256 v)
{
    __m128 x =
        _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

INLINE int32_t total_of(__m256i q)
{
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(q),
                              _mm256_extracti128_si256(q, 1));
    x = _mm_add_epi32(x, _mm_unpackhi_epi64(x, x));
    return _mm_cvtsi128_si32(x) + _mm_extract_epi32(x, 1);
}

INLINE void put_totals(struct rounded *ret, size_t part, const __m256i q[4],
                       int bias)
{
    const float d = ret->d[part_lane(part)];
    int32_t all = 0;
    UNROLL
    for (size_t i = 0; i < 2; i++) {
        int32_t total = total_of(_mm256_add_epi32(q[2 * i], q[2 * i + 1]));
        ret->half_bias[half_lane(part, i)] = total * bias;
        ret->half_sum[half_lane(part, i)] = d * (float)total;
        all += total;
    }
    ret->bias[part_lane(part)] = all * bias;
    ret->sum[part_lane(part)] = d * (float)all;
}

INLINE void round_part(struct rounded *ret, size_t part, const float *a,
                       int bias)
{
    const __m256 sign = _mm256_set1_ps(-0.0F), zero = _mm256_setzero_ps();
    const float range = 127 * 128, least = 1e-34F; /* range / least is finite */
    __m256 x[4], max = zero, none = zero;
    __m256i q[4];
    _Alignas(32) int32_t numbers[PART];
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        x[i] = _mm256_loadu_ps(a + 8 * i);
        max = _mm256_max_ps(max, _mm256_andnot_ps(sign, x[i]));
        none = _mm256_fmadd_ps(x[i], zero, none);
    }
    /* what is no number comes out as none, by its d */
    const float most = max_of(max), by = most > least ? range / most : 0,
                nothing = sum_of(none);
    const __m256i numbers_only = _mm256_set1_epi32(nothing == 0 ? -1 : 0);
    ret->d[part_lane(part)] = most / range + nothing;
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], _mm256_set1_ps(by)));
        q[i] = _mm256_and_si256(q[i], numbers_only);
        _mm256_store_si256((__m256i *)(void *)(numbers + 8 * i), q[i]);
    }
    put_totals(ret, part, q, bias);
    put_part(ret, part, numbers);
}

BODY void round_row(struct rounded *ret, const float *a, size_t k, int type)
{
    if (k % GROUP_VALUES)
        memset(ret + k / GROUP_VALUES, 0, sizeof *ret);
    for (size_t i = 0; i < k / PART; i++)
        round_part(ret + i / GROUP, i % GROUP, a + i * PART, bias_of(type));
}

/* ---- Columns as they lie ---- */

/* The product of some rows and columns. */
struct tile {
    float *out;
    size_t out_step; /* from row to row; */
    size_t apart;    /* and from column to column */
    const struct rounded *a;
    size_t k;
    bool add;
};

/* What is summed up of one column and one row; one, by halves both. */
struct sums {
    __m256 acc[2];
};

INLINE __m256i ints_at(const int32_t *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

INLINE __m256 sums_less(__m256i sums, const int32_t *bias, int type)
{
    if (!with_offsets(type))
        sums = _mm256_sub_epi32(sums, ints_at(bias));
    return _mm256_cvtepi32_ps(sums);
}

INLINE void add_eight(__m256 *acc, __m256 sums, __m256 scale, __m256 d,
                      __m256 offset, const float *a_sums, int type)
{
    *acc = _mm256_fmadd_ps(sums, _mm256_mul_ps(scale, d), *acc);
    if (with_offsets(type))
        *acc = _mm256_fmadd_ps(offset, _mm256_loadu_ps(a_sums), *acc);
}

/* Type is a constant where it is inlined. */
INLINE void add_group(struct sums *s, const struct group *w, int type,
                      const struct rounded *a, size_t count)
{
    __m256i half[2];
    half_sums(half, w->u, a, count);
    if (!by_halves(type)) {
        __m256i sums =
            _mm256_add_epi32(_mm256_permute2x128_si256(half[0], half[1], 0x20),
                             _mm256_permute2x128_si256(half[0], half[1], 0x31));
        add_eight(&s->acc[0], sums_less(sums, a->bias, type), w->scale[0],
                  _mm256_loadu_ps(a->d), w->offset[0], a->sum, type);
        return;
    }
    UNROLL
    for (size_t i = 0; i < 2; i++)
        add_eight(
            &s->acc[i], sums_less(half[i], a->half_bias + 8 * i, type),
            w->scale[i],
            _mm256_broadcast_ps((const __m128 *)(const void *)(a->d + 4 * i)),
            w->offset[i], a->half_sum + 8 * i, type);
}

INLINE void add_lying(struct sums *s, const unsigned char *w, int type,
                      const struct rounded *a, size_t count)
{
    const struct group group = group_at(w, type, count);
    add_group(s, &group, type, a, count);
}

/* The last group of a row, of some numbers of parts as constants. */
INLINE void add_last(struct sums *s, const unsigned char *w, int type,
                     const struct rounded *a, size_t count)
{
    if (count == 4)
        add_lying(s, w, type, a, 4);
    else if (count == 2)
        add_lying(s, w, type, a, 2);
    else if (count == 6)
        add_lying(s, w, type, a, 6);
    else if (count)
        add_lying(s, w, type, a, count);
}

INLINE void put_sums(const struct tile *t, const struct sums *s, int type,
                     size_t n)
{
    UNROLL
    for (size_t j = 0; j < n; j++) {
        float *to = &t->out[j * t->apart];
        __m256 all = s[j].acc[0];
        if (by_halves(type))
            all += s[j].acc[1];
        *to = sum_of(all) + (t->add ? *to : 0);
    }
}

/* One row by n columns of w. */
INLINE void lying_tile(const struct tile *t, const unsigned char *w, int type,
                       size_t n)
{
    const size_t parts = t->k / PART,
                 group = GROUP / block_parts(type) * block_bytes(type),
                 apart =
                     t->apart * (parts / block_parts(type)) * block_bytes(type);
    struct sums s[COLUMNS];
    memset(s, 0, sizeof s);
    const struct rounded *a = t->a;
    for (size_t l = 0; l < parts / GROUP; l++, w += group, a++) {
        UNROLL
        for (size_t j = 0; j < n; j++) {
            UNROLL
            for (size_t i = 0; i < group; i += 64)
                __builtin_prefetch(w + j * apart + AHEAD + i, 0, 3);
            add_lying(&s[j], w + j * apart, type, a, GROUP);
        }
    }
    for (size_t j = 0; j < n && block_parts(type) == 1; j++)
        add_last(&s[j], w + j * apart, type, a, parts % GROUP);
    put_sums(t, s, type, n);
}

INLINE void lying(struct tile t, const unsigned char *w, int type, size_t m,
                  size_t n)
{
    for (; m > 0; m--) {
        lying_tile(&t, w, type, n);
        t.a += rounded_groups(t.k);
        t.out += t.out_step;
    }
}

/* Two columns at a time, each from a half of its own, which are two streams of
 * memory. */
INLINE void few_rows(struct tile t, const unsigned char *w, int type, size_t m,
                     size_t n)
{
    const size_t row = kernel_row_bytes(type, t.k);
    float *out = t.out;
    t.apart = n / COLUMNS;
    for (size_t j = 0; j < t.apart; j++) {
        t.out = out + j;
        lying(t, w + j * row, type, m, COLUMNS);
    }
    for (size_t j = t.apart * COLUMNS; j < n; j++) {
        t.out = out + j;
        lying(t, w + j * row, type, m, 1);
    }
}

/* ---- Columns side by side ---- */

/* A group of VECTORS times LANES columns, the numbers of each part as split() has them. */
struct strip_group {
    ints part[GROUP][VECTORS][SPLIT * PART / 4];
    wide scale[2 * GROUP][VECTORS]; /* as half_lane, or part_lane, has it */
    wide offset[2 * GROUP][VECTORS];
};

struct strip {
    struct strip_group group[MAX_GROUPS];
};

/* Eight numbers each of LANES columns: four of column c of each half at
 * [half][c % 4][c / 4], so that four vectors of them are turned at once. */
struct staged {
    _Alignas(64) __m128i four[2][4][LANES / 4];
};

/* The same of a group. */
struct staged_group {
    struct staged part[GROUP][SPLIT], scale[2], offset[2];
};

INLINE void stage(struct staged *to, size_t column, __m256i eight)
{
    to->four[0][column % 4][column / 4] = _mm256_castsi256_si128(eight);
    to->four[1][column % 4][column / 4] = _mm256_extracti128_si256(eight, 1);
}

/* Eight vectors of LANES numbers each, so many apart. */
INLINE void turn(ints *ret, size_t apart, const struct staged *from)
{
    UNROLL
    for (size_t i = 0; i < 2; i++, ret += 4 * apart) {
        const ints *x = (const ints *)(const void *)from->four[i];
        const ints a = low_two(x[0], x[1]), b = low_two(x[2], x[3]),
                   c = high_two(x[0], x[1]), d = high_two(x[2], x[3]);
        ret[0] = low_pairs(a, b);
        ret[apart] = high_pairs(a, b);
        ret[2 * apart] = low_pairs(c, d);
        ret[3 * apart] = high_pairs(c, d);
    }
}

/* Type is a constant where it is inlined. */
INLINE void stage_group(struct staged_group *to, size_t column,
                        const struct group *group, int type)
{
    const size_t vectors = by_halves(type) ? 2 : 1;
    __m256i split_part[SPLIT];
    UNROLL
    for (size_t i = 0; i < GROUP; i++) {
        split(split_part, group->u[i]);
        UNROLL
        for (size_t j = 0; j < SPLIT; j++)
            stage(&to->part[i][j], column, split_part[j]);
    }
    UNROLL
    for (size_t i = 0; i < vectors; i++) {
        stage(&to->scale[i], column, _mm256_castps_si256(group->scale[i]));
        if (with_offsets(type))
            stage(&to->offset[i], column,
                  _mm256_castps_si256(group->offset[i]));
    }
}

INLINE void turn_group(struct strip_group *ret, size_t vector,
                       const struct staged_group *from, int type)
{
    const size_t vectors = by_halves(type) ? 2 : 1;
    for (size_t i = 0; i < GROUP; i++) {
        UNROLL
        for (size_t j = 0; j < SPLIT; j++)
            turn(ret->part[i][vector] + j * PART / 4, 1, &from->part[i][j]);
    }
    UNROLL
    for (size_t i = 0; i < vectors; i++) {
        turn((ints *)&ret->scale[GROUP * i][vector], VECTORS, &from->scale[i]);
        if (with_offsets(type))
            turn((ints *)&ret->offset[GROUP * i][vector], VECTORS,
                 &from->offset[i]);
    }
}

/* n <= LANES columns, those behind them 0. */
INLINE void unpack_vector(struct strip *ret, size_t vector,
                          const unsigned char *w, int type, size_t k, size_t n)
{
    const size_t parts = k / PART, row = kernel_row_bytes(type, k),
                 bytes = GROUP / block_parts(type) * block_bytes(type);
    SCRATCH struct staged_group staged;
    if (n < LANES)
        memset(&staged, 0, sizeof staged);
    for (size_t l = 0; l * GROUP < parts; l++) {
        const size_t left = parts - l * GROUP;
        for (size_t j = 0; j < n; j++) {
            const unsigned char *at = w + j * row + l * bytes;
            const struct group group = left >= GROUP || block_parts(type) > 1
                                           ? group_at(at, type, GROUP)
                                           : group_at(at, type, left);
            stage_group(&staged, j, &group, type);
        }
        turn_group(&ret->group[l], vector, &staged, type);
    }
}

/* n <= STRIP. */
INLINE void unpack_strip(struct strip *ret, const unsigned char *w, int type,
                         size_t k, size_t n)
{
    const size_t row = kernel_row_bytes(type, k);
    for (size_t i = 0; i < VECTORS; i++) {
        const size_t first = i * LANES < n ? i * LANES : n, left = n - first;
        unpack_vector(ret, i, w + first * row, type, k,
                      left < LANES ? left : LANES);
    }
}

/* How the columns of a strip are to be read. */
struct strip_kind {
    bool halves, offsets;
};

/* Adds what one part of a group has, or half `half` of it, to its lane. */
INLINE void add_strip(wide acc[ROWS][VECTORS], const struct strip_group *w,
                      const struct strip_kind *kind, const struct rounded *a,
                      size_t apart, size_t part, size_t half, size_t m)
{
    const size_t lane = kind->halves ? half_lane(part, half) : part_lane(part);
    ints sums[ROWS][VECTORS];
    if (kind->halves)
        strip_sums(sums, w->part[part], a, apart, part, 2 * half, 2 * half + 2,
                   m);
    else
        strip_sums(sums, w->part[part], a, apart, part, 0, 4, m);
    UNROLL
    for (size_t i = 0; i < m; i++, a += apart) {
        const ints bias =
            same_ints(kind->halves ? a->half_bias[lane] : a->bias[lane]);
        const wide d = same_wide(a->d[part_lane(part)]),
                   sum = same_wide(kind->halves ? a->half_sum[lane]
                                                : a->sum[lane]);
        UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            if (!kind->offsets)
                sums[i][v] -= bias;
            acc[i][v] = fma_wide(floats_of(sums[i][v]), w->scale[lane][v] * d,
                                 acc[i][v]);
            if (kind->offsets)
                acc[i][v] = fma_wide(w->offset[lane][v], sum, acc[i][v]);
        }
    }
}

INLINE void put_strip(const struct tile *t,
                      wide lanes[2 * GROUP][ROWS][VECTORS], bool halves,
                      size_t m, size_t n)
{
    for (size_t i = 0; i < m; i++) {
        float out[STRIP], *to = t->out + i * t->out_step;
        UNROLL
        for (size_t v = 0; v < VECTORS; v++) {
            wide x[GROUP];
            for (size_t l = 0; l < GROUP; l++) {
                x[l] = lanes[l][i][v];
                if (halves)
                    x[l] += lanes[l + GROUP][i][v];
            }
            store_wide(out + v * LANES, ((x[0] + x[4]) + (x[2] + x[6])) +
                                            ((x[1] + x[5]) + (x[3] + x[7])));
        }
        for (size_t j = 0; j < n; j++)
            to[j] = out[j] + (t->add ? to[j] : 0);
    }
}

/* m rows by the n columns of a strip; m and what is in kind are constants where it is
 * inlined. */
INLINE void strip_tile(const struct tile *t, const struct strip *w,
                       const struct strip_kind *kind, size_t m, size_t n)
{
    const size_t parts = t->k / PART, apart = rounded_groups(t->k);
    SCRATCH wide lanes[2 * GROUP][ROWS][VECTORS];
    for (size_t i = 0; i < (kind->halves ? 2 : 1) * GROUP; i++) {
        for (size_t j = 0; j < m; j++) {
            UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                lanes[i][j][v] = same_wide(0);
        }
    }
    for (size_t at = 0; at < parts; at++) {
        const size_t part = at % GROUP;
        const struct strip_group *group = &w->group[at / GROUP];
        const struct rounded *a = t->a + at / GROUP;
        if (!kind->halves) {
            add_strip(lanes[part_lane(part)], group, kind, a, apart, part, 0,
                      m);
            continue;
        }
        for (size_t half = 0; half < 2; half++)
            add_strip(lanes[half_lane(part, half)], group, kind, a, apart, part,
                      half, m);
    }
    put_strip(t, lanes, kind->halves, m, n);
}

INLINE void strip_tiles(struct tile t, const struct strip *w,
                        const struct strip_kind *kind, size_t m, size_t n)
{
    const size_t apart = rounded_groups(t.k);
    for (; m >= ROWS; m -= ROWS) {
        strip_tile(&t, w, kind, ROWS, n);
        t.a += ROWS * apart;
        t.out += ROWS * t.out_step;
    }
    for (; m > 0; m--) {
        strip_tile(&t, w, kind, 1, n);
        t.a += apart;
        t.out += t.out_step;
    }
}

/* Once for each of the four ways in which columns are read. */
BODY __attribute__((noinline)) void strip_rows(const struct tile *t,
                                               const struct strip *w,
                                               const struct strip_kind *kind,
                                               size_t m, size_t n)
{
    if (kind->halves && kind->offsets)
        strip_tiles(*t, w, &(struct strip_kind){true, true}, m, n);
    else if (kind->halves)
        strip_tiles(*t, w, &(struct strip_kind){true, false}, m, n);
    else if (kind->offsets)
        strip_tiles(*t, w, &(struct strip_kind){false, true}, m, n);
    else
        strip_tiles(*t, w, &(struct strip_kind){false, false}, m, n);
}

/* A strip at a time.  Rows of a in batches that stay in a cache while all of w
 * goes by. */
INLINE void many_rows(struct tile t, const unsigned char *w, int type, size_t m,
                      size_t n, struct strip *strip)
{
    const size_t row = kernel_row_bytes(type, t.k);
    const struct strip_kind kind = {by_halves(type), with_offsets(type)};
    float *out = t.out;
    for (size_t i = 0; i < m; i += MANY, out += MANY * t.out_step) {
        for (size_t j = 0; j < n; j += STRIP) {
            const size_t columns = n - j < STRIP ? n - j : STRIP;
            unpack_strip(strip, w + j * row, type, t.k, columns);
            t.out = out + j;
            strip_rows(&t, strip, &kind, m - i < MANY ? m - i : MANY, columns);
        }
        t.a += MANY * rounded_groups(t.k);
    }
}

#define EACH_TYPE(X)                                                           \
    X(KERNEL_Q4_0);                                                            \
    X(KERNEL_Q4_1);                                                            \
    X(KERNEL_Q5_0);                                                            \
    X(KERNEL_Q5_1);                                                            \
    X(KERNEL_Q8_0);                                                            \
    X(KERNEL_IQ4_NL);                                                          \
    X(KERNEL_Q2_K);                                                            \
    X(KERNEL_Q3_K);                                                            \
    X(KERNEL_IQ4_XS);                                                          \
    X(KERNEL_Q4_K);                                                            \
    X(KERNEL_Q5_K);                                                            \
    X(KERNEL_Q6_K)

/* Apart: few rows are not to pay for the scratch's pages on the stack. */
BODY __attribute__((noinline)) void rows_by_many(const struct tile *all,
                                                 const void *w, int type,
                                                 size_t m, size_t n)
{
    SCRATCH struct strip strip;
    switch (type) {
#define BY_MANY(t)                                                             \
    case t: many_rows(*all, w, t, m, n, &strip); break
        EACH_TYPE(BY_MANY);
#undef BY_MANY
    }
}

BODY void rows(float *out, size_t out_step, const struct rounded *a,
               const void *w, int type, size_t m, size_t n, size_t k, bool add)
{
    const struct tile all = {out, out_step, 0, a, k, add};
    if (!k) {
        for (size_t i = 0; i < m && !add; i++)
            memset(out + i * out_step, 0, n * sizeof *out);
        return;
    }
    if (m >= MOST && rounded_groups(k) <= MAX_GROUPS) {
        rows_by_many(&all, w, type, m, n);
        return;
    }
    switch (type) {
#define BY_FEW(t)                                                              \
    case t: few_rows(all, w, t, m, n); break
        EACH_TYPE(BY_FEW);
#undef BY_FEW
    }
}

const struct block_lanes BLOCKS_TABLE = {round_row, rows};
