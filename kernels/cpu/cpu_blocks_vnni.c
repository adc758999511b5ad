/* For processors with AVX-512 and VNNI. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/cpu_blocks.h"

#define BLOCKS_TARGET                                                          \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,"     \
                          "avx2,fma,f16c")))
#define BLOCKS_HIDE(x) __asm__("" : "+v"(x))
#define BLOCKS_INLINE  static inline __attribute__((always_inline)) BLOCKS_TARGET
#define BLOCKS_TABLE   block_lanes_vnni

typedef __m512i ints; /* in their order */
typedef __m512 floats;

BLOCKS_INLINE ints widen(__m256i u, bool is_signed)
{
    return is_signed ? _mm512_cvtepi8_epi16(u) : _mm512_cvtepu8_epi16(u);
}

BLOCKS_INLINE void put_ints(int16_t to[32], const __m256i q[4])
{
    for (size_t i = 0; i < 4; i++)
        _mm_storeu_si128((__m128i *)(void *)(to + 8 * i),
                         _mm256_cvtepi32_epi16(q[i]));
}

BLOCKS_INLINE ints ints_at(const int16_t *from)
{
    return _mm512_loadu_si512(from);
}

BLOCKS_INLINE floats dot(ints a, ints b)
{
    return _mm512_cvtepi32_ps(
        _mm512_dpwssd_epi32(_mm512_setzero_si512(), a, b));
}

BLOCKS_INLINE floats all_of(float x)
{
    return _mm512_set1_ps(x);
}

BLOCKS_INLINE floats halves_of(float low, float high)
{
    return _mm512_mask_blend_ps(0xFF00, _mm512_set1_ps(low),
                                _mm512_set1_ps(high));
}

BLOCKS_INLINE floats first_one(const float *at)
{
    return _mm512_zextps128_ps512(_mm_load_ss(at));
}

BLOCKS_INLINE floats first_two(const float at[2])
{
    __m128i two = _mm_loadl_epi64((const __m128i *)(const void *)at);
    return _mm512_zextps128_ps512(_mm_castsi128_ps(two));
}

BLOCKS_INLINE floats multiply(floats x, floats y)
{
    return _mm512_mul_ps(x, y);
}

BLOCKS_INLINE floats add_product(floats x, floats y, floats sum)
{
    return _mm512_fmadd_ps(x, y, sum);
}

BLOCKS_INLINE float sum_floats(floats v)
{
    return _mm512_reduce_add_ps(v);
}

#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
