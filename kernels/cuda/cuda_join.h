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

/* Shared memory for join_rows. */
constexpr unsigned JOIN_EACH = 4; /* of four columns: a lane's at once */
inline size_t join_bytes(size_t count, size_t rows, unsigned threads)
{
    return (count + 1) * rows * sizeof(float) +
           (size_t{threads} * JOIN_EACH + 1) * sizeof(float4);
}

/* *sum += part p of four columns, where all come so, by its share. */
static __device__ __forceinline__ void add_share(float4 *sum, float share,
                                                 const float4 &x)
{
    sum->x += share * x.x;
    sum->y += share * x.y;
    sum->z += share * x.z;
    sum->w += share * x.w;
}

/* out [.., d] of the tile's rows = their parts by their weights, as join_parts
 * does it; place_of(r): row r's among `all`; `one`: 1 is added to what softmax
 * divides by.  Each warp takes its part of the parts; room: join_bytes of shared
 * memory that nobody uses. */
template <typename Place>
static __device__ inline void join_rows(float *out,
                                        const struct tile_parts &parts,
                                        size_t count, size_t all, size_t d,
                                        bool one, unsigned rows, void *room,
                                        const Place &place_of)
{
    unsigned warp = warp_of_thread(), warps = blockDim.x / WARP;
    unsigned lane = lane_of_thread(), some = static_cast<unsigned>(count);
    auto *sums = static_cast<float4 *>(room); /* [threads, JOIN_EACH] */
    auto *total = reinterpret_cast<float *>(sums + blockDim.x * JOIN_EACH);
    float *share = total + rows; /* [count, rows] */
    for (unsigned i = threadIdx.x; i < some * rows; i += blockDim.x)
        share[i] = parts.log[i / rows * all + place_of(i % rows)];
    __syncthreads();
    for (unsigned r = warp; r < rows; r += warps) {
        float max = one ? 0 : minus_infinity(), sum = 0;
        for (unsigned p = lane; p < some; p += WARP)
            max = fmaxf(max, share[p * rows + r]);
        max = warp_max(max);
        for (unsigned p = lane; p < some; p += WARP)
            sum += share[p * rows + r] = share_of(share[p * rows + r], max);
        sum = warp_sum(sum);
        if (!lane)
            total[r] = sum + (one ? share_of(0, max) : 0);
    }
    __syncthreads();
    unsigned fours = static_cast<unsigned>(d + 3) / 4, items = rows * fours;
    size_t step = all * d;
    for (unsigned first = 0; first < items; first += WARP * JOIN_EACH) {
        float4 sum[JOIN_EACH] = {};
        unsigned row[JOIN_EACH], l[JOIN_EACH];
        const float *from[JOIN_EACH];
#pragma unroll
        for (unsigned e = 0; e < JOIN_EACH; e++) {
            unsigned item = first + e * WARP + lane;
            item = item < items ? item : items - 1; /* nobody takes it */
            row[e] = item / fours;
            l[e] = item % fours * 4;
            from[e] = parts.out + place_of(row[e]) * d;
        }
        if (d % 4 == 0 && aligned_16(parts.out))
#pragma unroll 4
            for (unsigned p = warp; p < some; p += warps)
#pragma unroll
                for (unsigned e = 0; e < JOIN_EACH; e++)
                    add_share(&sum[e], share[p * rows + row[e]],
                              *reinterpret_cast<const float4 *>(
                                  from[e] + p * step + l[e]));
        else
            for (unsigned p = warp; p < some; p += warps)
#pragma unroll
                for (unsigned e = 0; e < JOIN_EACH; e++)
                    add_share(&sum[e], share[p * rows + row[e]],
                              read_four(from[e] + p * step, l[e], d));
#pragma unroll
        for (unsigned e = 0; e < JOIN_EACH; e++)
            sums[(warp * JOIN_EACH + e) * WARP + lane] = sum[e];
        __syncthreads();
        for (unsigned i = threadIdx.x; i < WARP * JOIN_EACH * 4;
             i += blockDim.x) {
            unsigned item = first + i / 4, at = item % fours * 4 + i % 4;
            const float *its = reinterpret_cast<const float *>(sums) + i;
            float its_sum = 0;
            if (item >= items || at >= d)
                continue;
            for (unsigned w = 0; w < warps; w++)
                its_sum += its[w * WARP * JOIN_EACH * 4];
            float all_of = total[item / fours];
            out[place_of(item / fours) * d + at] =
                all_of == 0 ? 0 : its_sum / all_of;
        }
        __syncthreads();
    }
}

#endif
