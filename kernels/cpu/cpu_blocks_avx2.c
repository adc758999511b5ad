/* For processors with AVX2, FMA and F16C. */
#if defined(__x86_64__)

#include <immintrin.h>

#define BLOCKS_TARGET __attribute__((target("avx2,fma,f16c")))
#define BLOCKS_DOT(u, s)                                                       \
    _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1))
#define BLOCKS_DOT_SIGNED(x, s)                                                \
    BLOCKS_DOT(_mm256_abs_epi8(x), _mm256_sign_epi8(s, x))
#define BLOCKS_TABLE block_lanes_avx2

#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
