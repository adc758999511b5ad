/* Vectors of sixteen, for processors with AVX-512 F, BW, DQ and VL. */
#if defined(__x86_64__)

#include <immintrin.h>

#define LANES_WIDTH 16
#define LANES_TARGET                                                           \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define LANES_MAX(a, b)   _mm512_max_ps(a, b)
#define LANES_MIN(a, b)   _mm512_min_ps(a, b)
#define LANES_ABOVE(a, b) _mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ)
#define LANES_BF16(h)                                                          \
    ((vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)(h)), 16))
#define LANES_F16(h)  ((vec)_mm512_cvtph_ps((__m256i)(h)))
#define LANES_INT8(b) _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32((__m128i)(b)))
#define LANES_TABLE   lanes_avx512
#define LANES_NAME    "avx512"

#include "kernels/cpu/cpu_lanes_body.h"

#else
typedef int nothing_here;
#endif
