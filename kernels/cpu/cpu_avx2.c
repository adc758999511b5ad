/* Vectors of eight, for processors with AVX2, FMA and F16C. */
#if defined(__x86_64__)

#include <immintrin.h>

#define LANES_WIDTH     8
#define LANES_TARGET    __attribute__((target("avx2,fma,f16c")))
#define LANES_MAX(a, b) _mm256_max_ps(a, b)
#define LANES_MIN(a, b) _mm256_min_ps(a, b)
#define LANES_ABOVE(a, b)                                                      \
    (uint32_t) _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_NLE_UQ))
#define LANES_BF16(h)                                                          \
    ((vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)(h)), 16))
#define LANES_F16(h) ((vec)_mm256_cvtph_ps((__m128i)(h)))
#define LANES_INT8(b)                                                          \
    _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_set_epi64x(0, (long long)(b))))
#define LANES_TABLE lanes_avx2
#define LANES_NAME  "avx2"

#include "kernels/cpu/cpu_lanes_body.h"

#else
typedef int nothing_here;
#endif
