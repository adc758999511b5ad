/* For processors with AVX-512 VL and VNNI. */
#if defined(__x86_64__)

#include <immintrin.h>

#define BLOCKS_TARGET                                                          \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,"     \
                          "avx2,fma,f16c")))
#define BLOCKS_DOT(u, s) _mm256_dpbusd_epi32(_mm256_setzero_si256(), u, s)
#define BLOCKS_DOT_SIGNED(x, s)                                                \
    BLOCKS_DOT(_mm256_abs_epi8(x), _mm256_sign_epi8(s, x))
#define BLOCKS_TABLE block_lanes_vnni

#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
