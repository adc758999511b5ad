/* Blocks of one launch that finish each other's work: the last of those that made
 * parts of the same rows joins them, instead of another launch.
 *
 * Counters are zero between launches: the last one that counts sets its own back.
 * Each stream has its own, for launches of two may be under way together. */
#ifndef KERNELS_CUDA_CUDA_JOIN_H
#define KERNELS_CUDA_CUDA_JOIN_H

#include "kernels/cuda/cuda_reads.h"
#include "kernels/cuda/cuda_tiles.h"

constexpr size_t JOIN_MAX = 1024; /* groups of blocks of a launch */
static __device__ unsigned join_count[CUDA_STREAMS][JOIN_MAX];

/* Whether all other blocks of the `count` of group `group` have come here before;
 * then what they wrote can be read.  `stream`: the launch's (cuda_stream_number).  All
 * threads come; *room: shared memory. */
static __device__ inline bool is_last_block(unsigned stream, size_t group,
                                            size_t count, unsigned *room)
{
    __syncthreads(); /* all of this block has been written */
    if (!threadIdx.x) {
        unsigned most = static_cast<unsigned>(count - 1);
        __threadfence();
        *room = atomicInc(&join_count[stream][group], most) == most;
        __threadfence();
    }
    __syncthreads();
    return *room;
}

/* out [.., d] of the tile's rows = their parts by their weights, as join_parts
 * does it; place_of(r): row r's among `all`; `one`: 1 is added to what softmax
 * divides by. */
template <typename Place>
static __device__ inline void join_rows(float *out,
                                        const struct tile_parts &parts,
                                        size_t count, size_t all, size_t d,
                                        bool one, unsigned rows,
                                        const Place &place_of)
{
    size_t fours = (d + 3) / 4;
    for (size_t i = threadIdx.x; i < rows * fours; i += blockDim.x) {
        size_t place = place_of(static_cast<unsigned>(i / fours));
        size_t l = i % fours * 4;
        float max = one ? 0 : minus_infinity(), sum[4] = {};
        for (size_t p = 0; p < count; p++)
            max = fmaxf(max, parts.log[p * all + place]);
        float total = one ? share_of(0, max) : 0;
#pragma unroll 4
        for (size_t p = 0; p < count; p++) {
            float share = share_of(parts.log[p * all + place], max);
            float4 x = read_four(parts.out + (p * all + place) * d, l, d);
            total += share;
            sum[0] += share * x.x;
            sum[1] += share * x.y;
            sum[2] += share * x.z;
            sum[3] += share * x.w;
        }
        for (size_t e = 0; e < 4 && l + e < d; e++)
            out[place * d + l + e] = total == 0 ? 0 : sum[e] / total;
    }
}

#endif
