/* The loops of cpu_blocks.h over vectors of 32 bytes.  Included once by a file
 * that defines BLOCKS_TARGET (the attribute of every function), BLOCKS_DOT(sums,
 * u, s) (the eight sums, and of four products of unsigned and signed bytes each;
 * of the unsigned ones none is above 128) and BLOCKS_TABLE. */
#include <immintrin.h>
#include <string.h>

#include "kernels/cpu/cpu_blocks.h"

#define INLINE static inline __attribute__((always_inline)) BLOCKS_TARGET
#define BODY   static BLOCKS_TARGET
#define UNROLL _Pragma("GCC unroll 8")

enum { PART = 32, MOST = 4 /* rows of a at once */, GROUP = 32 };

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

/* 32 weights scale u + offset. */
INLINE void add_part(struct sums *s, __m256i u, float scale, float offset,
                     const struct rounded *a, size_t step, size_t m)
{
    UNROLL
    for (size_t i = 0; i < m; i++, a += step) {
        __m256 products = dot(u, bytes_at(a->high), bytes_at(a->low));
        s->acc[i] =
            _mm256_fmadd_ps(products, _mm256_set1_ps(scale * a->d), s->acc[i]);
        s->offset[i] += offset * a->sum;
    }
}

INLINE void add_q8_0(struct sums *s, const unsigned char *w,
                     const struct rounded *a, size_t step, size_t m)
{
    __m256i q = bytes_at(w + 2), u = _mm256_abs_epi8(q);
    float scale = half_at(w);
    UNROLL
    for (size_t i = 0; i < m; i++, a += step) {
        __m256 products = dot(u, _mm256_sign_epi8(bytes_at(a->high), q),
                              _mm256_sign_epi8(bytes_at(a->low), q));
        s->acc[i] =
            _mm256_fmadd_ps(products, _mm256_set1_ps(scale * a->d), s->acc[i]);
    }
}

/* 256 weights in two halves with a scale for each 16. */
INLINE void add_q6_k(struct sums *s, const unsigned char *w,
                     const struct rounded *a, size_t step, size_t m)
{
    const signed char *scales = (const signed char *)w + 192;
    const float d = half_at(w + 208);
    UNROLL
    for (size_t j = 0; j < 8; j++, a++) {
        __m256i low = bytes_at(w + j / 4 * 64 + j % 2 * 32),
                high = bytes_at(w + 128 + j / 4 * 32);
        low = j % 4 > 1 ? _mm256_srli_epi16(low, 4) : low;
        low = _mm256_and_si256(low, _mm256_set1_epi8(15));
        high = _mm256_srli_epi16(high, (int)(2 * (j % 4)));
        high = _mm256_and_si256(high, _mm256_set1_epi8(3));
        __m256i u = _mm256_or_si256(low, _mm256_slli_epi16(high, 4));
        float one = d * (float)scales[2 * j],
              two = d * (float)scales[2 * j + 1];
        __m256 scale = _mm256_set_m128(_mm_set1_ps(two), _mm_set1_ps(one));
        const struct rounded *at = a;
        UNROLL
        for (size_t i = 0; i < m; i++, at += step) {
            __m256 products = dot(u, bytes_at(at->high), bytes_at(at->low));
            s->acc[i] = _mm256_fmadd_ps(
                products, _mm256_mul_ps(scale, _mm256_set1_ps(at->d)),
                s->acc[i]);
            s->offset[i] -= 32 * (one * at->parts[0] + two * at->parts[1]);
        }
    }
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

/* `fifth`: 32 bytes, bit j of which are the fifth bits of part j. */
INLINE void add_parts(struct sums *s, const unsigned char *w,
                      const unsigned char *nibbles, bool fifth,
                      const struct rounded *a, size_t step, size_t m)
{
    const float d = half_at(w), less = half_at(w + 2);
    uint8_t scales[16];
    unpack_scales(scales, w + 4);
    UNROLL
    for (size_t j = 0; j < 8; j++, a++) {
        __m256i u = bytes_at(nibbles + j / 2 * PART);
        u = j % 2 ? _mm256_srli_epi16(u, 4) : u;
        u = _mm256_and_si256(u, _mm256_set1_epi8(15));
        if (fifth) {
            __m256i bits = _mm256_srli_epi16(bytes_at(nibbles - PART), (int)j);
            bits = _mm256_and_si256(bits, _mm256_set1_epi8(1));
            u = _mm256_or_si256(u, _mm256_slli_epi16(bits, 4));
        }
        add_part(s, u, d * (float)scales[j], -less * (float)scales[8 + j], a,
                 step, m);
    }
}

/* One block of w and of each row of a; type and m are constants where it is
 * inlined. */
INLINE void add_block(struct sums *s, const unsigned char *w, int type,
                      const struct rounded *a, size_t step, size_t m)
{
    switch (type) {
    case KERNEL_Q4_0:
        add_part(s, nibbles_at(w + 2), half_at(w), -8 * half_at(w), a, step, m);
        break;
    case KERNEL_Q4_1:
        add_part(s, nibbles_at(w + 4), half_at(w), half_at(w + 2), a, step, m);
        break;
    case KERNEL_Q5_0:
        add_part(s, _mm256_or_si256(nibbles_at(w + 6), fifths_at(w + 2)),
                 half_at(w), -16 * half_at(w), a, step, m);
        break;
    case KERNEL_Q5_1:
        add_part(s, _mm256_or_si256(nibbles_at(w + 8), fifths_at(w + 4)),
                 half_at(w), half_at(w + 2), a, step, m);
        break;
    case KERNEL_Q8_0: add_q8_0(s, w, a, step, m); break;
    case KERNEL_Q4_K: add_parts(s, w, w + 16, false, a, step, m); break;
    case KERNEL_Q5_K: add_parts(s, w, w + 48, true, a, step, m); break;
    case KERNEL_Q6_K: add_q6_k(s, w, a, step, m); break;
    }
}

/* ---- Rows ---- */

/* m rows by n columns, which are `apart` rows of w, and places of out, from one
 * another. */
INLINE void tile(float *out, size_t out_step, const struct rounded *a,
                 const unsigned char *w, size_t apart, int type, size_t m,
                 size_t n, size_t k, bool add)
{
    const bool large = type >= KERNEL_Q4_K;
    const size_t values = large ? 256 : PART, parts = values / PART;
    const size_t bytes = type == KERNEL_Q4_0   ? 18
                         : type == KERNEL_Q4_1 ? 20
                         : type == KERNEL_Q5_0 ? 22
                         : type == KERNEL_Q5_1 ? 24
                         : type == KERNEL_Q8_0 ? 34
                         : type == KERNEL_Q4_K ? 144
                         : type == KERNEL_Q5_K ? 176
                                               : 210;
    const size_t row = k / values * bytes, step = k / PART;
    struct sums s[4] = {{{{0}}, {0}}};
    for (size_t l = 0; l < k / values; l++, w += bytes, a += parts) {
        UNROLL
        for (size_t j = 0; j < n; j++) {
            __builtin_prefetch(w + j * apart * row + 1024, 0, 3);
            add_block(&s[j], w + j * apart * row, type, a, step, m);
        }
    }
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t j = 0; j < n; j++) {
            float *to = &out[i * out_step + j * apart];
            *to = sum_of(s[j].acc[i]) + s[j].offset[i] + (add ? *to : 0);
        }
    }
}

INLINE void columns(float *out, size_t out_step, const struct rounded *a,
                    const unsigned char *w, size_t apart, int type, size_t m,
                    size_t n, size_t k, bool add)
{
    size_t i = 0, step = k / PART;
    for (; i + 4 <= m; i += 4)
        tile(out + i * out_step, out_step, a + i * step, w, apart, type, 4, n,
             k, add);
    for (; i < m; i++)
        tile(out + i * out_step, out_step, a + i * step, w, apart, type, 1, n,
             k, add);
}

/* Two columns at a time, each from a half of its own; rows of a in groups that
 * stay in a cache while all of w goes by. */
INLINE void rows_of(float *out, size_t out_step, const struct rounded *a,
                    const unsigned char *w, int type, size_t m, size_t n,
                    size_t k, bool add)
{
    const size_t row = kernel_row_bytes(type, k), apart = n / 2;
    for (size_t i = 0; i < m; i += GROUP) {
        const size_t some = m - i < GROUP ? m - i : GROUP;
        const struct rounded *from = a + i * (k / PART);
        float *to = out + i * out_step;
        for (size_t j = 0; j < apart; j++)
            columns(to + j, out_step, from, w + j * row, apart, type, some, 2,
                    k, add);
        if (n % 2)
            columns(to + n - 1, out_step, from, w + (n - 1) * row, 0, type,
                    some, 1, k, add);
    }
}

BODY void rows(float *out, size_t out_step, const struct rounded *a,
               const void *w, int type, size_t m, size_t n, size_t k, bool add)
{
    switch (type) {
#define ROWS(t)                                                                \
    case t: rows_of(out, out_step, a, w, t, m, n, k, add); break
        ROWS(KERNEL_Q4_0);
        ROWS(KERNEL_Q4_1);
        ROWS(KERNEL_Q5_0);
        ROWS(KERNEL_Q5_1);
        ROWS(KERNEL_Q8_0);
        ROWS(KERNEL_Q4_K);
        ROWS(KERNEL_Q5_K);
        ROWS(KERNEL_Q6_K);
#undef ROWS
    }
}

const struct block_lanes BLOCKS_TABLE = {round_row, rows};
