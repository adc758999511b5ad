/* For processors with AVX2, FMA and F16C. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/cpu_blocks.h"

#define BLOCKS_TARGET __attribute__((target("avx2,fma,f16c")))
#define BLOCKS_TABLE  block_lanes_avx2

#include "kernels/cpu/cpu_blocks_eight.h"

/* of 16 registers 8 are sums, whose products are added to them */
enum { ROWS = 4, VECTORS = 2 };

/* Eight times two numbers: of a part 0 and 2, 4 and 6, ..., then 1 and 3, ...: so bytes
 * are taken apart by shifts alone. */
enum { SPLIT = 2 };

BLOCKS_INLINE void put_part(struct rounded *ret, size_t part,
                            const int32_t q[PART])
{
    for (size_t i = 0; i < PART; i++)
        ret->q.words[part][i % 2][i / 2] = (int16_t)q[i];
}

BLOCKS_INLINE __m256i even_of(__m256i u)
{
    return _mm256_and_si256(u, _mm256_set1_epi16(255));
}

BLOCKS_INLINE __m256i odd_of(__m256i u)
{
    return _mm256_srli_epi16(u, 8);
}

BLOCKS_INLINE void split(__m256i ret[SPLIT], __m256i u)
{
    ret[0] = even_of(u);
    ret[1] = odd_of(u);
}

BLOCKS_INLINE void strip_sums(ints ret[ROWS][VECTORS],
                              const ints w[VECTORS][SPLIT * PART / 4],
                              const struct rounded *a, size_t apart,
                              size_t part, size_t from, size_t to, size_t m)
{
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t v = 0; v < VECTORS; v++)
            ret[i][v] = same_ints(0);
    }
    UNROLL
    for (size_t s = 4 * from; s < 4 * to; s++) {
        const size_t odd = s % 2, at = s / 2;
        UNROLL
        for (size_t i = 0; i < m; i++) {
            int32_t two;
            memcpy(&two, &a[i * apart].q.words[part][odd][2 * at], sizeof two);
            UNROLL
            for (size_t v = 0; v < VECTORS; v++)
                ret[i][v] += (ints)_mm256_madd_epi16(
                    (__m256i)w[v][odd * (PART / 4) + at],
                    _mm256_set1_epi32(two));
        }
    }
}

BLOCKS_INLINE void part_sums(__m256i ret[GROUP], const __m256i u[GROUP],
                             const struct rounded *a, size_t count)
{
    UNROLL
    for (size_t i = 0; i < GROUP; i++) {
        if (i >= count)
            continue;
        const __m256i *q = (const __m256i *)(const void *)a->q.words[i];
        ret[i] = _mm256_add_epi32(_mm256_madd_epi16(even_of(u[i]), q[0]),
                                  _mm256_madd_epi16(odd_of(u[i]), q[1]));
    }
}

#include "kernels/cpu/cpu_blocks_halves.h"
#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
