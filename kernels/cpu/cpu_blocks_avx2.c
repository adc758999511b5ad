/* For processors with AVX2, FMA and F16C. */
#if defined(__x86_64__)

#include <immintrin.h>

#define BLOCKS_TARGET __attribute__((target("avx2,fma,f16c")))
#define BLOCKS_DOT(sums, u, s)                                                 \
    _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s),       \
                                             _mm256_set1_epi16(1)))
#define BLOCKS_TABLE block_lanes_avx2

#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
