/* For processors with AVX2 and AVX-VNNI, which Intel's without AVX-512 have. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels/cpu/cpu_blocks.h"

#define BLOCKS_TARGET __attribute__((target("avxvnni,avx2,fma,f16c")))
#define BLOCKS_TABLE  block_lanes_avxvnni

#include "kernels/cpu/cpu_blocks_eight.h"

/* sums of high and low bytes apart: 8 of 16 registers */
enum { ROWS = 2, VECTORS = 2 };

BLOCKS_INLINE ints products(ints sums, ints u, ints signed_bytes)
{
    return (ints)_mm256_dpbusd_avx_epi32((__m256i)sums, (__m256i)u,
                                         (__m256i)signed_bytes);
}

#include "kernels/cpu/cpu_blocks_bytes.h"

BLOCKS_INLINE void part_sums(__m256i ret[GROUP], const __m256i u[GROUP],
                             const struct rounded *a, size_t count)
{
    UNROLL
    for (size_t i = 0; i < GROUP; i++) {
        if (i >= count)
            continue;
        const int8_t(*q)[2][PART] = a->q.bytes[i / 2];
        const ints *high = (const ints *)(const void *)q[0][i % 2],
                   *low = (const ints *)(const void *)q[1][i % 2];
        ints sums = products(same_ints(0), (ints)u[i], *high);
        ret[i] = (__m256i)products(shift_left(sums, 8), (ints)u[i], *low);
    }
}

#include "kernels/cpu/cpu_blocks_halves.h"
#include "kernels/cpu/cpu_blocks_body.h"

#else
typedef int nothing_here;
#endif
