/* Vectors of eight, for processors with AVX2 and FMA. */
#if defined(__x86_64__)

#include <immintrin.h>

#define LANES_WIDTH     8
#define LANES_TARGET    __attribute__((target("avx2,fma")))
#define LANES_MAX(a, b) _mm256_max_ps(a, b)
#define LANES_MIN(a, b) _mm256_min_ps(a, b)
#define LANES_WIDEN(h)                                                         \
    ((vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)(h)), 16))
#define LANES_TABLE lanes_avx2
#define LANES_NAME  "avx2"

#include "kernels/cpu/lanes_body.h"

#else
typedef int nothing_here;
#endif
