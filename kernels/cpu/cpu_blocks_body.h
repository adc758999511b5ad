/* The loops of cpu_blocks.h over vectors of 32 bytes.  Included once by a file
 * that defines BLOCKS_TARGET (the attribute of every function), BLOCKS_DOT(sums,
 * u, s) (the eight sums, and of four products of unsigned and signed bytes each;
 * of the unsigned ones none is above 128) and BLOCKS_TABLE. */
#include <immintrin.h>
#include <string.h>

#include "kernels/cpu/cpu_blocks.h"
#include "kernels/cpu/cpu_internal.h"

#define INLINE static inline __attribute__((always_inline)) BLOCKS_TARGET
#define BODY   static BLOCKS_TARGET
#define UNROLL _Pragma("GCC unroll 8")

enum {
    PART = 32,
    MOST = 4,        /* rows of a at once, from which on w is unpacked before */
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

/* Four vectors of integers as 32 bytes, in their order. */
INLINE void put_bytes(int8_t to[PART], const __m256i q[4])
{
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]),
                                       _mm256_packs_epi32(q[2], q[3]));
    bytes = _mm256_permutevar8x32_epi32(
        bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(void *)to, bytes);
}

/* To the nearest multiple of 1 / by. */
INLINE __m256i multiple(__m256 x, float by)
{
    return _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(by)));
}

INLINE void round_part(struct rounded *ret, const float *a)
{
    const __m256 sign = _mm256_set1_ps(-0.0f);
    __m256 x[4], max = _mm256_setzero_ps();
    __m256i high[4], low[4], all[4];
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        x[i] = _mm256_loadu_ps(a + 8 * i);
        max = _mm256_max_ps(max, _mm256_andnot_ps(sign, x[i]));
    }
    float most = max_of(max), by = most > 0 ? 127.0f / most : 0;
    /* what is no number comes out as none */
    float none = 0 * sum_of((x[0] + x[1]) + (x[2] + x[3]));
    ret->d = most / (127.0f * 128) + none;
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        high[i] = multiple(x[i], by);
        x[i] -= _mm256_cvtepi32_ps(high[i]) * (most / 127.0f);
        low[i] = multiple(x[i], 128 * by);
        all[i] = _mm256_add_epi32(_mm256_slli_epi32(high[i], 7), low[i]);
    }
    UNROLL
    for (size_t i = 0; i < 2; i++)
        ret->parts[i] = ret->d * sum_of(_mm256_cvtepi32_ps(_mm256_add_epi32(
                                     all[2 * i], all[2 * i + 1])));
    ret->sum = ret->parts[0] + ret->parts[1];
    put_bytes(ret->high, high);
    put_bytes(ret->low, low);
}

BODY void round_row(struct rounded *ret, const float *a, size_t k)
{
    for (size_t i = 0; i < k / PART; i++)
        round_part(ret + i, a + i * PART);
}

/* ---- Blocks ---- */

/* What is summed up of one row of w and up to four of a. */
struct sums {
    __m256 acc[MOST];
    float offset[MOST];
};

/* 32 weights scale u + offset, each half with its own; where there are no
 * offsets u is signed. */
struct part {
    __m256i u;
    float scale[2], offset[2];
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

/* Eight sums of four weights and numbers each, of 15 bits. */
INLINE __m256 dot(__m256i u, __m256i high, __m256i low)
{
    __m256i sums = BLOCKS_DOT(_mm256_setzero_si256(), u, high);
    return _mm256_cvtepi32_ps(BLOCKS_DOT(_mm256_slli_epi32(sums, 7), u, low));
}

/* Whether each half of a part has its own scale, and whether its numbers have
 * signs. */
INLINE bool by_halves(int type)
{
    return type == KERNEL_Q2_K || type == KERNEL_Q3_K || type == KERNEL_Q6_K;
}

INLINE bool with_signs(int type)
{
    return type == KERNEL_Q8_0 || type == KERNEL_IQ4_NL ||
           type == KERNEL_IQ4_XS;
}

/* One of w and of each row of a; type and m are constants where it is
 * inlined. */
INLINE void add_part(struct sums *s, const struct part *p, int type,
                     const struct rounded *a, size_t step, size_t m)
{
    const bool halves = by_halves(type), is_signed = with_signs(type);
    const __m256i u = is_signed ? _mm256_abs_epi8(p->u) : p->u;
    const __m256 scale = halves ? _mm256_set_m128(_mm_set1_ps(p->scale[1]),
                                                  _mm_set1_ps(p->scale[0]))
                                : _mm256_set1_ps(p->scale[0]);
    UNROLL
    for (size_t i = 0; i < m; i++, a += step) {
        __m256i high = bytes_at(a->high), low = bytes_at(a->low);
        if (is_signed) {
            high = _mm256_sign_epi8(high, p->u);
            low = _mm256_sign_epi8(low, p->u);
        }
        /* the same number either way */
        __m256 by = m == 1 && !halves
                        ? _mm256_set1_ps(p->scale[0] * a->d)
                        : _mm256_mul_ps(scale, _mm256_set1_ps(a->d));
        s->acc[i] = _mm256_fmadd_ps(dot(u, high, low), by, s->acc[i]);
        if (halves) {
            s->offset[i] += p->offset[0] * a->parts[0];
            s->offset[i] += p->offset[1] * a->parts[1];
        } else if (!is_signed) {
            s->offset[i] += p->offset[0] * a->sum;
        }
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
    return (struct part){_mm256_or_si256(low, _mm256_slli_epi16(high, 4)),
                         {one, two},
                         {-32 * one, -32 * two}};
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
        _mm256_or_si256(pairs_at(w + 32, j), _mm256_slli_epi16(third, 2)),
        {one, two},
        {-4 * one, -4 * two}};
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
    case KERNEL_Q4_0: return part_of(nibbles_at(w + 2), d, -8 * d);
    case KERNEL_IQ4_NL: return part_of(iq4_at(w + 2), d, 0);
    case KERNEL_Q4_1: return part_of(nibbles_at(w + 4), d, half_at(w + 2));
    case KERNEL_Q5_0:
        return part_of(_mm256_or_si256(nibbles_at(w + 6), fifths_at(w + 2)), d,
                       -16 * d);
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
INLINE void unpack_row(struct part *ret, const unsigned char *w, int type,
                       size_t k)
{
    SHAPE(type);
    uint8_t scales[16] = {0};
    for (size_t l = 0; l < k / PART; l += parts, w += bytes, ret += parts) {
        if (type == KERNEL_Q4_K || type == KERNEL_Q5_K)
            unpack_scales(scales, w + 4);
        UNROLL
        for (size_t j = 0; j < parts; j++)
            ret[j] = part_at(w, scales, type, j);
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
            *to = sum_of(s[j].acc[i]) + s[j].offset[i] + (t->add ? *to : 0);
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
    struct sums s[2] = {{{{0}}, {0}}};
    uint8_t scales[16] = {0};
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
                add_part(&s[j], &p, type, a + i, 0, 1);
            }
        }
    }
    put_sums(t, s, 1, n);
}

/* m rows by n columns that are unpacked. */
INLINE void unpacked_tile(const struct tile *t, const struct part *const w[2],
                          int type, size_t m, size_t n)
{
    const size_t parts = t->k / PART;
    struct sums s[2] = {{{{0}}, {0}}};
    for (size_t l = 0; l < parts; l++) {
        UNROLL
        for (size_t j = 0; j < n; j++)
            add_part(&s[j], &w[j][l], type, t->a + l, parts, m);
    }
    put_sums(t, s, m, n);
}

/* The same of m rows, whatever m. */
INLINE void unpacked_tiles(struct tile t, const struct part *const w[2],
                           int type, size_t m, size_t n)
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

/* m rows by n columns from w on, which are `apart` bytes from one another. */
INLINE void columns(struct tile t, const unsigned char *w, size_t apart,
                    int type, size_t m, size_t n)
{
    SCRATCH struct part unpacked[2][MAX_PARTS];
    const struct part *const both[2] = {unpacked[0], unpacked[1]};
    if (m >= MOST && t.k <= MAX_PARTS * PART) {
        for (size_t j = 0; j < n; j++)
            unpack_row(unpacked[j], w + j * apart, type, t.k);
        unpacked_tiles(t, both, type, m, n);
        return;
    }
    for (; m > 0; m--) {
        lying_tile(&t, w, type, n);
        t.a += t.k / PART;
        t.out += t.out_step;
    }
}

/* Two columns at a time, each from a half of its own: two streams of memory.
 * Rows of a in groups that stay in a cache while all of w goes by. */
INLINE void rows_of(struct tile t, const unsigned char *w, int type, size_t m,
                    size_t n)
{
    const size_t row = kernel_row_bytes(type, t.k);
    float *out = t.out;
    t.apart = n / 2;
    for (size_t i = 0; i < m; i += GROUP, out += GROUP * t.out_step) {
        const size_t some = m - i < GROUP ? m - i : GROUP;
        for (size_t j = 0; j < n / 2; j++) {
            t.out = out + j;
            columns(t, w + j * row, t.apart * row, type, some, 2);
        }
        t.out = out + n - 1;
        if (n % 2)
            columns(t, w + (n - 1) * row, 0, type, some, 1);
        t.a += GROUP * (t.k / PART);
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
    switch (type) {
#define ROWS(t)                                                                \
    case t: rows_of(all, w, t, m, n); break
        ROWS(KERNEL_Q4_0);
        ROWS(KERNEL_Q4_1);
        ROWS(KERNEL_Q5_0);
        ROWS(KERNEL_Q5_1);
        ROWS(KERNEL_Q8_0);
        ROWS(KERNEL_IQ4_NL);
        ROWS(KERNEL_Q2_K);
        ROWS(KERNEL_Q3_K);
        ROWS(KERNEL_IQ4_XS);
        ROWS(KERNEL_Q4_K);
        ROWS(KERNEL_Q5_K);
        ROWS(KERNEL_Q6_K);
#undef ROWS
    }
}

const struct block_lanes BLOCKS_TABLE = {round_row, rows};
