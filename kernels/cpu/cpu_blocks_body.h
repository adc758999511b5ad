/* The loops of cpu_blocks.h over 32 integers of 16 bits at a time.  Included once by a
 * file that defines BLOCKS_TARGET (the attribute of every function), BLOCKS_TABLE,
 * BLOCKS_HIDE(x) (the compiler knows nothing of the floats x then), and before that,
 * of this target, with BLOCKS_INLINE:
 *
 *   ints     32 of them; floats: as many sums as a product of two ints has
 *   widen(u, is_signed)   bytes as ints; in their order or any other, but a half
 *   put_ints(to, q)       stays a half; the same order, of integers of 32 bits
 *   ints_at(from)         what was put
 *   dot(a, b)             sums of neighbours' products, as floats
 *   all_of(x), halves_of(low, high), multiply(x, y), add_product(x, y, sum),
 *   sum_floats(x)         floats; halves_of: for sums of each half */
#include <string.h>

#include "kernels/cpu/cpu_internal.h"

#define INLINE BLOCKS_INLINE
#define BODY   static BLOCKS_TARGET
#define UNROLL _Pragma("GCC unroll 8")

enum {
    PART = 32,
    MOST = 4,        /* rows of a at once, from which on w is unpacked before */
    COLUMNS = 2,     /* of w at once where it is not */
    GROUP = 64,      /* of these in a cache */
    MAX_PARTS = 512, /* of a row that is unpacked */
    AHEAD = 1024     /* bytes that are asked for before they are needed */
};

/* ---- Rounding ---- */

INLINE float max_of(__m256 v)
{
    __m128 x =
        _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
}

INLINE float sum_of(__m256 v)
{
    __m128 x =
        _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

INLINE void round_part(struct rounded *ret, const float *a)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const float range = 127 * 128;
    __m256 x[4], max = _mm256_setzero_ps();
    __m256i q[4];
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        x[i] = _mm256_loadu_ps(a + 8 * i);
        max = _mm256_max_ps(max, _mm256_andnot_ps(sign, x[i]));
    }
    float most = max_of(max), by = most > 0 ? range / most : 0;
    /* what is no number comes out as none */
    float none = 0 * sum_of((x[0] + x[1]) + (x[2] + x[3]));
    ret->d = most / range + none;
    UNROLL
    for (size_t i = 0; i < 4; i++)
        q[i] = _mm256_cvtps_epi32(_mm256_mul_ps(x[i], _mm256_set1_ps(by)));
    UNROLL
    for (size_t i = 0; i < 2; i++)
        ret->parts[i] = ret->d * sum_of(_mm256_cvtepi32_ps(
                                     _mm256_add_epi32(q[2 * i], q[2 * i + 1])));
    ret->sum = ret->parts[0] + ret->parts[1];
    put_ints(ret->q, q);
}

BODY void round_row(struct rounded *ret, const float *a, size_t k)
{
    for (size_t i = 0; i < k / PART; i++)
        round_part(ret + i, a + i * PART);
}

/* ---- Blocks ---- */

/* What is summed up of one row of w and up to four of a. */
struct sums {
    floats acc[MOST];
};

/* 32 weights scale u + offset, each half with its own; where there are no
 * offsets u is signed. */
struct part {
    __m256i u;
    float scale[2], offset[2];
};

/* Those of a row, widened. */
struct unpacked {
    ints w[MAX_PARTS];
    float scale[MAX_PARTS][2], offset[MAX_PARTS][2];
};

INLINE float half_at(const unsigned char *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return _cvtsh_ss(half);
}

INLINE __m256i bytes_at(const void *at)
{
    return _mm256_loadu_si256((const __m256i *)at);
}

/* 16 bytes as 32 nibbles: the low ones, then the high ones. */
INLINE __m256i nibbles_at(const unsigned char *at)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(x),
                                           _mm_srli_epi16(x, 4), 1);
    return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

/* Bit i of four bytes as 16 in byte i. */
INLINE __m256i fifths_at(const unsigned char *at)
{
    uint32_t bits;
    memcpy(&bits, at, sizeof bits);
    __m256i spread = _mm256_shuffle_epi8(
        _mm256_set1_epi32((int)bits),
        _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2,
                         2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
    const __m256i mask = _mm256_set1_epi64x((long long)0x8040201008040201);
    return _mm256_and_si256(
        _mm256_cmpeq_epi8(_mm256_and_si256(spread, mask), mask),
        _mm256_set1_epi8(16));
}

/* Whether each half of a part has its own scale, and whether its numbers have
 * signs, and no offset. */
INLINE bool by_halves(int type)
{
    return type == KERNEL_Q2_K || type == KERNEL_Q3_K || type == KERNEL_Q6_K;
}

INLINE bool with_signs(int type)
{
    return type == KERNEL_Q8_0 || type == KERNEL_IQ4_NL ||
           type == KERNEL_IQ4_XS || type == KERNEL_Q4_0 ||
           type == KERNEL_Q5_0 || type == KERNEL_Q3_K || type == KERNEL_Q6_K;
}

INLINE __m256i less(__m256i u, char by)
{
    return _mm256_sub_epi8(u, _mm256_set1_epi8(by));
}

/* One of w and of each row of a; type and m are constants where it is
 * inlined. */
INLINE void add_part(struct sums *s, ints w, const float scale[2],
                     const float offset[2], int type, const struct rounded *a,
                     size_t step, size_t m)
{
    const bool halves = by_halves(type);
    const floats scales =
        halves ? halves_of(scale[0], scale[1]) : all_of(scale[0]);
    const floats offsets = halves ? first_two(offset) : all_of(offset[0]);
    UNROLL
    for (size_t i = 0; i < m; i++, a += step) {
        /* the same number either way; one that the compiler takes for a
         * broadcast it would multiply before, which costs a shuffle */
        floats by = all_of(m == 1 && !halves ? scale[0] * a->d : a->d);
        if (m > 1 || halves) {
            BLOCKS_HIDE(by);
            by = multiply(scales, by);
        }
        s->acc[i] = add_product(dot(ints_at(a->q), w), by, s->acc[i]);
        if (!with_signs(type)) /* in the first sums, the others being 0 */
            s->acc[i] =
                add_product(halves ? first_two(a->parts) : first_one(&a->sum),
                            offsets, s->acc[i]);
    }
}

INLINE struct part part_of(__m256i u, float scale, float offset)
{
    return (struct part){u, {scale, scale}, {offset, offset}};
}

/* Part j of two halves of 128 with a scale for each 16. */
INLINE struct part part_q6_k(const unsigned char *w, size_t j)
{
    const signed char *scales = (const signed char *)w + 192 + 2 * j;
    const float d = half_at(w + 208);
    __m256i low = bytes_at(w + j / 4 * 64 + j % 2 * 32),
            high = bytes_at(w + 128 + j / 4 * 32);
    low = j % 4 > 1 ? _mm256_srli_epi16(low, 4) : low;
    low = _mm256_and_si256(low, _mm256_set1_epi8(15));
    high = _mm256_srli_epi16(high, (int)(2 * (j % 4)));
    high = _mm256_and_si256(high, _mm256_set1_epi8(3));
    float one = d * (float)scales[0], two = d * (float)scales[1];
    return (struct part){
        less(_mm256_or_si256(low, _mm256_slli_epi16(high, 4)), 32),
        {one, two},
        {0, 0}};
}

/* Pair j % 4 of the 32 bytes of a half of 128. */
INLINE __m256i pairs_at(const unsigned char *pairs, size_t j)
{
    __m256i x =
        _mm256_srli_epi16(bytes_at(pairs + j / 4 * PART), (int)(2 * (j % 4)));
    return _mm256_and_si256(x, _mm256_set1_epi8(3));
}

INLINE struct part part_q2_k(const unsigned char *w, size_t j)
{
    const float d = half_at(w + 80), m = half_at(w + 82);
    const unsigned char *parts = w + 2 * j;
    return (struct part){
        pairs_at(w + 16, j),
        {d * (float)(parts[0] & 15), d * (float)(parts[1] & 15)},
        {-m * (float)(parts[0] >> 4), -m * (float)(parts[1] >> 4)}};
}

/* blocks.c has it in words. */
INLINE float scale_q3_k(const unsigned char *packed, size_t i)
{
    int low = i < 8 ? packed[i] & 15 : packed[i - 8] >> 4;
    int high = packed[8 + i % 4] >> 2 * (i / 4) & 3;
    return (float)((low | high << 4) - 32);
}

INLINE struct part part_q3_k(const unsigned char *w, size_t j)
{
    const float d = half_at(w + 108);
    __m256i third = _mm256_srli_epi16(bytes_at(w), (int)j);
    third = _mm256_and_si256(third, _mm256_set1_epi8(1));
    float one = d * scale_q3_k(w + 96, 2 * j),
          two = d * scale_q3_k(w + 96, 2 * j + 1);
    return (struct part){
        less(_mm256_or_si256(pairs_at(w + 32, j), _mm256_slli_epi16(third, 2)),
             4),
        {one, two},
        {0, 0}};
}

/* 16 bytes of nibbles as the numbers of blocks_iq4. */
INLINE __m256i iq4_at(const unsigned char *at)
{
    __m256i table = _mm256_broadcastsi128_si256(
        _mm_loadu_si128((const __m128i *)(const void *)blocks_iq4));
    return _mm256_shuffle_epi8(table, nibbles_at(at));
}

INLINE struct part part_iq4_xs(const unsigned char *w, size_t j)
{
    int low = w[4 + j / 2] >> j % 2 * 4 & 15;
    int high = w[2 + j / 4] >> j % 4 * 2 & 3;
    float scale = half_at(w) * (float)((low | high << 4) - 32);
    return (struct part){iq4_at(w + 8 + 16 * j), {scale, scale}, {0, 0}};
}

/* The scales of eight parts, then their offsets (blocks.c has it in words). */
INLINE void unpack_scales(uint8_t ret[16], const unsigned char *packed)
{
    const uint32_t six = 0x3F3F3F3F, four = 0x0F0F0F0F, two = 0x03030303;
    uint32_t in[3], out[4];
    memcpy(in, packed, sizeof in);
    out[0] = in[0] & six;
    out[1] = (in[2] & four) | (in[0] >> 6 & two) << 4;
    out[2] = in[1] & six;
    out[3] = (in[2] >> 4 & four) | (in[1] >> 6 & two) << 4;
    memcpy(ret, out, sizeof out);
}

/* Part j of 128 bytes of nibbles; `fifth`: bit j of the 32 bytes before them. */
INLINE struct part part_k(const unsigned char *w, const uint8_t scales[16],
                          const unsigned char *nibbles, bool fifth, size_t j)
{
    __m256i u = bytes_at(nibbles + j / 2 * PART);
    u = j % 2 ? _mm256_srli_epi16(u, 4) : u;
    u = _mm256_and_si256(u, _mm256_set1_epi8(15));
    if (fifth) {
        __m256i bits = _mm256_srli_epi16(bytes_at(nibbles - PART), (int)j);
        bits = _mm256_and_si256(bits, _mm256_set1_epi8(1));
        u = _mm256_or_si256(u, _mm256_slli_epi16(bits, 4));
    }
    return part_of(u, half_at(w) * (float)scales[j],
                   -half_at(w + 2) * (float)scales[8 + j]);
}

INLINE struct part part_small(const unsigned char *w, int type)
{
    const float d = half_at(w);
    switch (type) {
    case KERNEL_Q4_0: return part_of(less(nibbles_at(w + 2), 8), d, 0);
    case KERNEL_IQ4_NL: return part_of(iq4_at(w + 2), d, 0);
    case KERNEL_Q4_1: return part_of(nibbles_at(w + 4), d, half_at(w + 2));
    case KERNEL_Q5_0:
        return part_of(
            less(_mm256_or_si256(nibbles_at(w + 6), fifths_at(w + 2)), 16), d,
            0);
    case KERNEL_Q5_1:
        return part_of(_mm256_or_si256(nibbles_at(w + 8), fifths_at(w + 4)), d,
                       half_at(w + 2));
    default: return part_of(bytes_at(w + 2), d, 0);
    }
}

/* Part j of a block, whose scales were unpacked if it has any. */
INLINE struct part part_at(const unsigned char *w, const uint8_t scales[16],
                           int type, size_t j)
{
    if (type < KERNEL_Q2_K)
        return part_small(w, type);
    if (type == KERNEL_Q2_K)
        return part_q2_k(w, j);
    if (type == KERNEL_Q3_K)
        return part_q3_k(w, j);
    if (type == KERNEL_Q6_K)
        return part_q6_k(w, j);
    if (type == KERNEL_IQ4_XS)
        return part_iq4_xs(w, j);
    return part_k(w, scales, w + (type == KERNEL_Q5_K ? 48 : 16),
                  type == KERNEL_Q5_K, j);
}

/* One row of w, as it lies in blocks of this type: bytes and parts of each. */
#define SHAPE(type)                                                            \
    const size_t parts = (type) < KERNEL_Q2_K ? 1 : 8;                         \
    const size_t bytes = (type) == KERNEL_Q4_0     ? 18                        \
                         : (type) == KERNEL_IQ4_NL ? 18                        \
                         : (type) == KERNEL_Q2_K   ? 84                        \
                         : (type) == KERNEL_Q3_K   ? 110                       \
                         : (type) == KERNEL_IQ4_XS ? 136                       \
                         : (type) == KERNEL_Q4_1   ? 20                        \
                         : (type) == KERNEL_Q5_0   ? 22                        \
                         : (type) == KERNEL_Q5_1   ? 24                        \
                         : (type) == KERNEL_Q8_0   ? 34                        \
                         : (type) == KERNEL_Q4_K   ? 144                       \
                         : (type) == KERNEL_Q5_K   ? 176                       \
                                                   : 210

/* A row's parts, one after the other; type is a constant where it is inlined. */
INLINE void unpack_row(struct unpacked *ret, const unsigned char *w, int type,
                       size_t k)
{
    SHAPE(type);
    uint8_t scales[16] = {0};
    for (size_t l = 0; l < k / PART; l += parts, w += bytes) {
        if (type == KERNEL_Q4_K || type == KERNEL_Q5_K)
            unpack_scales(scales, w + 4);
        UNROLL
        for (size_t j = 0; j < parts; j++) {
            const struct part p = part_at(w, scales, type, j);
            ret->w[l + j] = widen(p.u, with_signs(type));
            memcpy(ret->scale[l + j], p.scale, sizeof p.scale);
            memcpy(ret->offset[l + j], p.offset, sizeof p.offset);
        }
    }
}

/* ---- Rows ---- */

/* The product of up to four rows and two columns. */
struct tile {
    float *out;
    size_t out_step; /* from row to row; */
    size_t apart;    /* and from column to column */
    const struct rounded *a;
    size_t k;
    bool add;
};

INLINE void put_sums(const struct tile *t, const struct sums *s, size_t m,
                     size_t n)
{
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t j = 0; j < n; j++) {
            float *to = &t->out[i * t->out_step + j * t->apart];
            *to = sum_floats(s[j].acc[i]) + (t->add ? *to : 0);
        }
    }
}

/* One row by n columns of w as they lie. */
INLINE void lying_tile(const struct tile *t, const unsigned char *w, int type,
                       size_t n)
{
    SHAPE(type);
    const size_t count = t->k / PART,
                 apart = t->apart * (count / parts * bytes);
    const struct rounded *a = t->a;
    struct sums s[COLUMNS];
    uint8_t scales[16] = {0};
    memset(s, 0, sizeof s);
    for (size_t l = 0; l < count; l += parts, w += bytes, a += parts) {
        UNROLL
        for (size_t j = 0; j < n; j++) {
            const unsigned char *at = w + j * apart;
            __builtin_prefetch(at + AHEAD, 0, 3);
            if (type == KERNEL_Q4_K || type == KERNEL_Q5_K)
                unpack_scales(scales, at + 4);
            UNROLL
            for (size_t i = 0; i < parts; i++) {
                const struct part p = part_at(at, scales, type, i);
                add_part(&s[j], widen(p.u, with_signs(type)), p.scale, p.offset,
                         type, a + i, 0, 1);
            }
        }
    }
    put_sums(t, s, 1, n);
}

/* m rows by n columns that are unpacked. */
INLINE void unpacked_tile(const struct tile *t, const struct unpacked *w,
                          int type, size_t m, size_t n)
{
    const size_t parts = t->k / PART;
    struct sums s[2];
    memset(s, 0, sizeof s);
    for (size_t l = 0; l < parts; l++) {
        UNROLL
        for (size_t j = 0; j < n; j++)
            add_part(&s[j], w[j].w[l], w[j].scale[l], w[j].offset[l], type,
                     t->a + l, parts, m);
    }
    put_sums(t, s, m, n);
}

/* The same of m rows, whatever m. */
INLINE void unpacked_tiles(struct tile t, const struct unpacked *w, int type,
                           size_t m, size_t n)
{
    const size_t step = t.k / PART;
    for (; m >= MOST; m -= MOST) {
        unpacked_tile(&t, w, type, MOST, n);
        t.a += MOST * step;
        t.out += MOST * t.out_step;
    }
    for (; m > 0; m--) {
        unpacked_tile(&t, w, type, 1, n);
        t.a += step;
        t.out += t.out_step;
    }
}

/* m rows by n columns from w on, which are `apart` bytes from one another, as they
 * lie: */
INLINE void lying(struct tile t, const unsigned char *w, int type, size_t m,
                  size_t n)
{
    for (; m > 0; m--) {
        lying_tile(&t, w, type, n);
        t.a += t.k / PART;
        t.out += t.out_step;
    }
}

/* or unpacked before. */
INLINE void unpacked(struct tile t, const unsigned char *w, size_t apart,
                     int type, size_t m, size_t n, struct unpacked columns[2])
{
    for (size_t j = 0; j < n; j++)
        unpack_row(&columns[j], w + j * apart, type, t.k);
    unpacked_tiles(t, columns, type, m, n);
}

/* Few rows: two columns at a time, each from a half of its own, which are two streams
 * of memory. */
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

/* Many: two columns at a time.  Rows of a in groups that stay in a cache while all of
 * w goes by. */
INLINE void many_rows(struct tile t, const unsigned char *w, int type, size_t m,
                      size_t n, struct unpacked columns[2])
{
    const size_t row = kernel_row_bytes(type, t.k);
    float *out = t.out;
    t.apart = n / 2;
    for (size_t i = 0; i < m; i += GROUP, out += GROUP * t.out_step) {
        const size_t some = m - i < GROUP ? m - i : GROUP;
        for (size_t j = 0; j < n / 2; j++) {
            t.out = out + j;
            unpacked(t, w + j * row, t.apart * row, type, some, 2, columns);
        }
        t.out = out + n - 1;
        if (n % 2)
            unpacked(t, w + (n - 1) * row, 0, type, some, 1, columns);
        t.a += GROUP * (t.k / PART);
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
    SCRATCH struct unpacked columns[2];
    switch (type) {
#define ROWS(t)                                                                \
    case t: many_rows(*all, w, t, m, n, columns); break
        EACH_TYPE(ROWS);
#undef ROWS
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
    if (m >= MOST && k <= MAX_PARTS * PART) {
        rows_by_many(&all, w, type, m, n);
        return;
    }
    switch (type) {
#define ROWS(t)                                                                \
    case t: few_rows(all, w, t, m, n); break
        EACH_TYPE(ROWS);
#undef ROWS
    }
}

const struct block_lanes BLOCKS_TABLE = {round_row, rows};
