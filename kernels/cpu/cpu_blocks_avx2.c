/* For processors with AVX2, FMA and F16C. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/cpu_blocks.h"

#define BLOCKS_TARGET  __attribute__((target("avx2,fma,f16c")))
#define BLOCKS_HIDE(x) __asm__("" : "+x"(x))
#define BLOCKS_INLINE  static inline __attribute__((always_inline)) BLOCKS_TARGET
#define BLOCKS_TABLE   block_lanes_avx2

/* Of each four bytes' numbers the first and the third, then the others: so they
 * are taken apart by shifts alone. */
typedef struct {
    __m256i even, odd;
} ints;
typedef __m256 floats;

BLOCKS_INLINE ints widen(__m256i u, bool is_signed)
{
    if (is_signed)
        return (ints){_mm256_srai_epi16(_mm256_slli_epi16(u, 8), 8),
                      _mm256_srai_epi16(u, 8)};
    return (ints){_mm256_and_si256(u, _mm256_set1_epi16(255)),
                  _mm256_srli_epi16(u, 8)};
}

/* 16 integers of 32 bits as ones of 16, in their order. */
BLOCKS_INLINE __m256i narrow(__m256i one, __m256i two)
{
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(one, two), 0xD8);
}

BLOCKS_INLINE void put_ints(int16_t to[32], const __m256i q[4])
{
    __m256i *at = (__m256i *)(void *)to;
    __m256i x = narrow(q[0], q[1]), y = narrow(q[2], q[3]);
    _mm256_storeu_si256(
        at, narrow(_mm256_srai_epi32(_mm256_slli_epi32(x, 16), 16),
                   _mm256_srai_epi32(_mm256_slli_epi32(y, 16), 16)));
    _mm256_storeu_si256(
        at + 1, narrow(_mm256_srai_epi32(x, 16), _mm256_srai_epi32(y, 16)));
}

BLOCKS_INLINE ints ints_at(const int16_t *from)
{
    const __m256i *at = (const __m256i *)(const void *)from;
    return (ints){_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
}

BLOCKS_INLINE floats dot(ints a, ints b)
{
    return _mm256_cvtepi32_ps(_mm256_add_epi32(
        _mm256_madd_epi16(a.even, b.even), _mm256_madd_epi16(a.odd, b.odd)));
}

BLOCKS_INLINE floats all_of(float x)
{
    return _mm256_set1_ps(x);
}

BLOCKS_INLINE floats halves_of(float low, float high)
{
    return _mm256_set_m128(_mm_set1_ps(high), _mm_set1_ps(low));
}

BLOCKS_INLINE floats first_one(const float *at)
{
    return _mm256_zextps128_ps256(_mm_load_ss(at));
}

BLOCKS_INLINE floats first_two(const float at[2])
{
    __m128i two = _mm_loadl_epi64((const __m128i *)(const void *)at);
    return _mm256_zextps128_ps256(_mm_castsi128_ps(two));
}

BLOCKS_INLINE floats multiply(floats x, floats y)
{
    return _mm256_mul_ps(x, y);
}

BLOCKS_INLINE floats add_product(floats x, floats y, floats sum)
{
    return _mm256_fmadd_ps(x, y, sum);
}

BLOCKS_INLINE float sum_floats(floats v)
{
    __m128 x =
        _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
