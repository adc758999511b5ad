/* How warps of a block hand tiles to one another where they do different things, on
 * devices of compute capability 9.0 (mbarrier, bar, setmaxnreg).  On other devices
 * nothing of it may be called; elsewhere tests/cuda's stand-in.
 *
 *     ring_start(b, count)    by one thread, before a barrier of the block
 *     ring_arrive(b)          the thread is done with what b stands for; what it did
 *                             before is seen by who waits
 *     ring_wait(b, parity)    until `count` threads have arrived for the (parity)th,
 *                             and every second one after, time; parity 1 at first: at once
 *     meet_warps(id, threads)     a barrier of so many threads, whole warps, id 1 to 15
 *     give_registers, take_registers  of a thread from now on; all four warps come */
#ifndef KERNELS_CUDA_CUDA_RING_H
#define KERNELS_CUDA_CUDA_RING_H

#include "kernels/cuda/cuda_fragments.h"

#ifdef __CUDACC__
#ifdef __CUDA_ARCH_FEAT_SM90_ALL

static __device__ __forceinline__ void ring_start(uint64_t *b, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :
                 : "r"(shared_address(b)), "r"(count)
                 : "memory");
}

static __device__ __forceinline__ void ring_arrive(uint64_t *b)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :
                 : "r"(shared_address(b))
                 : "memory");
}

static __device__ __forceinline__ void ring_wait(uint64_t *b, unsigned parity)
{
    asm volatile("{ .reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again; }"
                 :
                 : "r"(shared_address(b)), "r"(parity)
                 : "memory");
}

static __device__ __forceinline__ void meet_warps(unsigned id, unsigned threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
}

template <unsigned COUNT>
static __device__ __forceinline__ void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(COUNT));
}
template <unsigned COUNT>
static __device__ __forceinline__ void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(COUNT));
}

#else

static __device__ __forceinline__ void ring_start(uint64_t *, unsigned)
{
}
static __device__ __forceinline__ void ring_arrive(uint64_t *)
{
}
static __device__ __forceinline__ void ring_wait(uint64_t *, unsigned)
{
}
static __device__ __forceinline__ void meet_warps(unsigned, unsigned)
{
}
template <unsigned COUNT>
static __device__ __forceinline__ void give_registers()
{
}
template <unsigned COUNT>
static __device__ __forceinline__ void take_registers()
{
}

#endif
#endif

#endif
