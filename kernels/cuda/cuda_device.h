/* What the kernels share: sums and maxima over a warp and over a block, bf16.
 *
 * A block's threads are a line, whole warps.  All shared memory is dynamic, of
 * the size that the launch names, and starts at cuda_shared(). */
#ifndef KERNELS_CUDA_CUDA_DEVICE_H
#define KERNELS_CUDA_CUDA_DEVICE_H

#include <cuda_runtime.h>

#include <cstdint>

constexpr unsigned WARP = 32;
constexpr unsigned MAX_WARPS = 32;
constexpr unsigned WHOLE_WARP = 0xFFFFFFFFu;

#ifdef __CUDACC__
static __device__ inline void *cuda_shared()
{
    /* as cuda_warpgroup.h needs it */
    extern __shared__ __align__(1024) unsigned char cuda_shared_memory[];
    return cuda_shared_memory;
}
#endif

#ifdef __CUDACC__
/* A kernel whose launch says `early` (cuda_internal.h) may begin, in a step, while the one
 * before it ends: what is the same in all steps, weights, it may ask for at once; what
 * another kernel writes or reads, only behind this, where all of them are done. */
static __device__ inline void wait_for_earlier()
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/* From here on the next may begin, where the device has room beside this one. */
static __device__ inline void let_later_begin()
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
#endif

static __device__ inline unsigned lane_of_thread()
{
    return threadIdx.x % WARP;
}
static __device__ inline unsigned warp_of_thread()
{
    return threadIdx.x / WARP;
}

static __device__ inline float minus_infinity()
{
    return __uint_as_float(0xFF800000u);
}

static __device__ inline float warp_sum(float value)
{
    for (unsigned step = WARP / 2; step; step /= 2)
        value += __shfl_xor_sync(WHOLE_WARP, value, static_cast<int>(step));
    return value;
}

static __device__ inline float warp_max(float value)
{
    for (unsigned step = WARP / 2; step; step /= 2)
        value = fmaxf(
            value, __shfl_xor_sync(WHOLE_WARP, value, static_cast<int>(step)));
    return value;
}

/* Over the block, in every thread; room: MAX_WARPS floats of shared memory,
 * which may be used again at once. */
static __device__ inline float block_sum(float value, float *room)
{
    value = warp_sum(value);
    if (!lane_of_thread())
        room[warp_of_thread()] = value;
    __syncthreads();
    value = 0;
    for (unsigned i = 0; i < blockDim.x / WARP; i++)
        value += room[i];
    __syncthreads();
    return value;
}

static __device__ inline float block_max(float value, float *room)
{
    value = warp_max(value);
    if (!lane_of_thread())
        room[warp_of_thread()] = value;
    __syncthreads();
    value = room[0];
    for (unsigned i = 1; i < blockDim.x / WARP; i++)
        value = fmaxf(value, room[i]);
    __syncthreads();
    return value;
}

static __device__ inline float from_bf16(uint16_t half)
{
    return __uint_as_float(static_cast<unsigned>(half) << 16);
}

/* Rounds to the nearest, ties to even; a NaN stays one. */
static __device__ inline uint16_t to_bf16(float value)
{
    unsigned bits = __float_as_uint(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return static_cast<uint16_t>(bits >> 16 | 0x40u);
    bits += 0x7FFFu + (bits >> 16 & 1u);
    return static_cast<uint16_t>(bits >> 16);
}

#endif
