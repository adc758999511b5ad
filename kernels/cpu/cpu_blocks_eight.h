/* Vectors of eight numbers, for the instruction sets without those of sixteen, as
 * cpu_blocks_body.h asks for them. */
#define BLOCKS_INLINE static inline __attribute__((always_inline)) BLOCKS_TARGET

#include <string.h>

enum { LANES = 8 };
typedef __m256 wide;
typedef int32_t ints __attribute__((vector_size(32), may_alias));

BLOCKS_INLINE void store_wide(float *at, wide x)
{
    _mm256_storeu_ps(at, x);
}

BLOCKS_INLINE wide same_wide(float x)
{
    return _mm256_set1_ps(x);
}

BLOCKS_INLINE ints same_ints(int32_t x)
{
    return (ints)_mm256_set1_epi32(x);
}

BLOCKS_INLINE wide floats_of(ints x)
{
    return _mm256_cvtepi32_ps((__m256i)x);
}

BLOCKS_INLINE ints shift_left(ints x, int bits)
{
    return (ints)_mm256_slli_epi32((__m256i)x, bits);
}

BLOCKS_INLINE wide fma_wide(wide x, wide y, wide sum)
{
    return _mm256_fmadd_ps(x, y, sum);
}

BLOCKS_INLINE ints low_two(ints x, ints y)
{
    return __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13);
}

BLOCKS_INLINE ints high_two(ints x, ints y)
{
    return __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15);
}

BLOCKS_INLINE ints low_pairs(ints x, ints y)
{
    return __builtin_shufflevector(x, y, 0, 1, 8, 9, 4, 5, 12, 13);
}

BLOCKS_INLINE ints high_pairs(ints x, ints y)
{
    return __builtin_shufflevector(x, y, 2, 3, 10, 11, 6, 7, 14, 15);
}
