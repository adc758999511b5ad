/* For processors with AVX-512 VL and VNNI. */
#if defined(__x86_64__)

#include <immintrin.h>

#define BLOCKS_TARGET                                                          \
    __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,avx512vnni,"     \
                          "avx2,fma,f16c")))
#define BLOCKS_DOT(sums, u, s) _mm256_dpbusd_epi32(sums, u, s)
#define BLOCKS_TABLE           block_lanes_vnni

#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
