/* For processors with AVX-512 and VNNI. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/cpu_blocks.h"

#include <string.h>

#define BLOCKS_TARGET                                                          \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,"     \
                          "avx2,fma,f16c")))
#define BLOCKS_INLINE static inline __attribute__((always_inline)) BLOCKS_TARGET
#define BLOCKS_TABLE  block_lanes_vnni

enum { LANES = 16, ROWS = 4, VECTORS = 2 };
typedef __m512 wide;
typedef int32_t ints __attribute__((vector_size(64), may_alias));

BLOCKS_INLINE void store_wide(float *at, wide x)
{
    _mm512_storeu_ps(at, x);
}

BLOCKS_INLINE wide same_wide(float x)
{
    return _mm512_set1_ps(x);
}

BLOCKS_INLINE ints same_ints(int32_t x)
{
    return (ints)_mm512_set1_epi32(x);
}

BLOCKS_INLINE wide floats_of(ints x)
{
    return _mm512_cvtepi32_ps((__m512i)x);
}

BLOCKS_INLINE ints shift_left(ints x, int bits)
{
    return (ints)_mm512_slli_epi32((__m512i)x, (unsigned)bits);
}

BLOCKS_INLINE wide fma_wide(wide x, wide y, wide sum)
{
    return _mm512_fmadd_ps(x, y, sum);
}

BLOCKS_INLINE ints low_two(ints x, ints y)
{
    return (ints)_mm512_unpacklo_epi32((__m512i)x, (__m512i)y);
}

BLOCKS_INLINE ints high_two(ints x, ints y)
{
    return (ints)_mm512_unpackhi_epi32((__m512i)x, (__m512i)y);
}

BLOCKS_INLINE ints low_pairs(ints x, ints y)
{
    return (ints)_mm512_unpacklo_epi64((__m512i)x, (__m512i)y);
}

BLOCKS_INLINE ints high_pairs(ints x, ints y)
{
    return (ints)_mm512_unpackhi_epi64((__m512i)x, (__m512i)y);
}

BLOCKS_INLINE ints products(ints sums, ints u, ints signed_bytes)
{
    return (ints)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)u,
                                     (__m512i)signed_bytes);
}

/* Two parts a vector. */
BLOCKS_INLINE void half_sums(__m256i ret[2], const __m256i u[GROUP],
                             const struct rounded *a, size_t count)
{
    ints x[GROUP / 2] = {0};
    UNROLL
    for (size_t i = 0; i < GROUP / 2; i++) {
        if (2 * i >= count)
            continue;
        const ints both = (ints)_mm512_inserti64x4(
            _mm512_castsi256_si512(u[2 * i]), u[2 * i + 1], 1);
        const ints *q = (const ints *)(const void *)a->q.bytes[i];
        ints high = products(same_ints(0), both, q[0]);
        x[i] = products(shift_left(high, 8), both, q[1]);
    }
    const ints one = low_two(x[0], x[1]) + high_two(x[0], x[1]),
               two = low_two(x[2], x[3]) + high_two(x[2], x[3]);
    const __m512i sums = (__m512i)(low_pairs(one, two) + high_pairs(one, two));
    ret[0] = _mm512_castsi512_si256(sums);
    ret[1] = _mm512_extracti64x4_epi64(sums, 1);
}

#include "kernels/cpu/cpu_blocks_bytes.h"
#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
