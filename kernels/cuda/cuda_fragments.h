/* What a warp does at once: products of 16 x 16 by 16 x 8 on the tensor cores,
 * reads of their operands from shared memory, and copies into shared memory that
 * run on behind the program.  On a device PTX (compute capability 8.0 or later),
 * elsewhere tests/cuda's stand-in, which moves and checks the same bits.
 *
 * How a matrix lies in a warp (PTX ISA, mma.m16n8k16, .bf16), g = lane / 4,
 * t = lane % 4, two neighbours of a row to a register, the lower one low:
 *
 *     a [16 rows, 16 of the sum]   a[0] (g, 2t)    a[1] (g + 8, 2t)
 *                                  a[2] (g, 2t+8)  a[3] (g + 8, 2t + 8)
 *     b [16 of the sum, 8 columns] b[0] (2t, g)    b[1] (2t + 8, g)
 *     c [16 rows, 8 columns], f32  c[0] (g, 2t)    c[1] (g, 2t + 1)
 *                                  c[2] (g+8, 2t)  c[3] (g + 8, 2t + 1) */
#ifndef KERNELS_CUDA_CUDA_FRAGMENTS_H
#define KERNELS_CUDA_CUDA_FRAGMENTS_H

#include "kernels/cuda/cuda_device.h"

#ifdef __CUDACC__

static __device__ __forceinline__ unsigned shared_address(const void *at)
{
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

/* c += a . b.  All lanes come. */
static __device__ __forceinline__ void multiply_bf16(float *c,
                                                     const unsigned *a,
                                                     const unsigned *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Four matrices of 8 x 8 bf16: lane i names row i % 8 of matrix i / 8, 16 bytes
 * of shared memory, aligned; to[m] gets (g, 2t) and (g, 2t + 1) of matrix m. */
static __device__ __forceinline__ void read_matrices(unsigned *to,
                                                     const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* The same, each matrix turned: to[m] gets (2t, g) and (2t + 1, g). */
static __device__ __forceinline__ void read_turned(unsigned *to,
                                                   const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* A matrix of 8 x 8 bf16 in registers, of which each lane has (g, 2t) and (g, 2t + 1),
 * turned: (2t, g) and (2t + 1, g).  All lanes come. */
static __device__ __forceinline__ unsigned turn_matrix(unsigned two)
{
    unsigned turned;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                 : "=r"(turned)
                 : "r"(two));
    return turned;
}

/* Both rounded to the nearest, `low` in the lower half. */
static __device__ __forceinline__ unsigned pack_bf16(float low, float high)
{
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

/* 2^x to about 2^-22 of it; less than 2^-126 is 0. */
static __device__ __forceinline__ float exp2_near(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 1 / x to about 2^-22 of it; of infinity 0. */
static __device__ __forceinline__ float reciprocal_near(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 16 bytes, both sides aligned; or 4.  They are there for the thread after
 * wait_copies, for the others after a barrier behind it. */
static __device__ __forceinline__ void copy_16(void *shared, const void *global)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(shared_address(shared)), "l"(global)
                 : "memory");
}
static __device__ __forceinline__ void copy_4(void *shared, const void *global)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :
                 : "r"(shared_address(shared)), "l"(global)
                 : "memory");
}

/* The thread's copies since the last end_copies are a group. */
static __device__ __forceinline__ void end_copies()
{
    asm volatile("cp.async.commit_group;" : : : "memory");
}

/* All groups of the thread but the last LATER are there. */
template <unsigned LATER> static __device__ __forceinline__ void wait_copies()
{
    asm volatile("cp.async.wait_group %0;" : : "n"(LATER) : "memory");
}

#endif

static __device__ inline bool aligned_16(const void *at)
{
    return reinterpret_cast<uintptr_t>(at) % 16 == 0;
}
static __device__ inline bool aligned_8(const void *at)
{
    return reinterpret_cast<uintptr_t>(at) % 8 == 0;
}

/* What bf16 lost of two numbers: with it a product of three terms (high . high,
 * high . low, low . high) is right to about 2^-16 of each factor's size. */
static __device__ inline unsigned rest_bf16(float low, float high,
                                            unsigned packed)
{
    return pack_bf16(low - __uint_as_float(packed << 16),
                     high - __uint_as_float(packed & 0xFFFF0000u));
}

/* c += (a + a_rest) . (b + b_rest), without the product of the rests; LOW false:
 * b has none. */
template <bool LOW>
static __device__ __forceinline__ void multiply_split(float *c,
                                                      const unsigned *a,
                                                      const unsigned *a_rest,
                                                      const unsigned *b,
                                                      const unsigned *b_rest)
{
    multiply_bf16(c, a_rest, b);
    if (LOW)
        multiply_bf16(c, a, b_rest);
    multiply_bf16(c, a, b);
}

#endif
