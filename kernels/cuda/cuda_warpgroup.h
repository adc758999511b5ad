/* What four warps do together on devices of compute capability 9.0 (wgmma): products
 * of 64 x 16 by 16 x COLUMNS on the tensor cores, whose right side is read from shared
 * memory as it lies, once for all four.  On other devices has_warpgroups() is false
 * and nothing of it may be called; elsewhere tests/cuda's stand-in.
 *
 * Each warp has 16 of the 64 rows of a and of the result, laid out as
 * cuda_fragments.h says: c[i] is of columns 8 i to 8 i + 7.
 *
 * What is the same in each turn of a loop comes from shared memory too: of CUDA 13.0's
 * ptxas registers with a that a loop does not change may be given to something else
 * behind the first products.
 *
 * In shared memory a matrix is rows of 64 bf16, 128 bytes, from a multiple of 1,024
 * bytes on; 16 bytes i of a row lie at i ^ (row % 8).  Wider ones are panels of such
 * rows behind one another, GROUP_PANEL numbers each.
 *
 *     multiply_group          a [64 rows, 16 of the sum], b [COLUMNS rows, the same 16],
 *                             each from this number of the first row on: before
 *                             16 bytes change places
 *     multiply_group_turned   b [16 rows of the sum, COLUMNS], `b` the first row; a in
 *                             registers
 *
 * Products that run on behind the program, until wait_products<LATER> says that all of
 * the warp's groups but the last LATER are done: a matrix is group_matrix_of<ROWS>, its
 * first number, of panels of ROWS rows, or what is `numbers` behind (group_matrix_at).
 *
 *     multiply_128            a [64 rows, 16 of the sum], b [128 rows, the same 16]
 *     multiply_turned         b [16 rows of the sum, COLUMNS]; a in registers
 *     commit_products         those since the last one are a group
 *
 * begin_products ... end_products: between them no other instruction touches c or a;
 * then the sums are there.  hold: what was written to the registers is, before what
 * follows, and nothing behind reads them sooner; c and a are held before and c behind.
 * All threads of the warpgroup's four warps come. */
#ifndef KERNELS_CUDA_CUDA_WARPGROUP_H
#define KERNELS_CUDA_CUDA_WARPGROUP_H

#include "kernels/cuda/cuda_fragments.h"

constexpr unsigned WARPGROUP_THREADS = 4 * WARP;
constexpr unsigned GROUP_ROWS = 64; /* of a panel, and of a product */
constexpr unsigned GROUP_PANEL = GROUP_ROWS * 64;

/* What starts kernels goes by the device alone (cuda.cu). */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ == 900 &&                           \
    !defined __CUDA_ARCH_FEAT_SM90_ALL
#error "sm_90's kernels would do nothing: build sm_90a (CUDA_ARCHS=90a)"
#endif

/* Whether what is compiled now is for such a device: not the host's part of a file, nor
 * the emulation, where has_warpgroups() may be true all the same. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool FOR_WARPGROUPS = true;
#else
constexpr bool FOR_WARPGROUPS = false;
#endif

#ifdef __CUDACC__
/* PTX's matrix descriptor, whose upper half is the same for all. */
struct group_matrix {
    unsigned low;
};

static __device__ __forceinline__ constexpr bool has_warpgroups()
{
    return FOR_WARPGROUPS;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* What the thread wrote to shared memory, and its copies that it waited for, are
 * there for products behind the next barrier. */
static __device__ __forceinline__ void publish_shared()
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}

template <unsigned COUNT>
static __device__ __forceinline__ void hold(float (*c)[4])
{
#pragma unroll
    for (unsigned i = 0; i < COUNT; i++)
        asm volatile(""
                     : "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]),
                       "+f"(c[i][3])
                     :
                     : "memory");
}
template <unsigned COUNT>
static __device__ __forceinline__ void hold(unsigned (*a)[4])
{
#pragma unroll
    for (unsigned i = 0; i < COUNT; i++)
        asm volatile(""
                     : "+r"(a[i][0]), "+r"(a[i][1]), "+r"(a[i][2]),
                       "+r"(a[i][3])
                     :
                     : "memory");
}

static __device__ __forceinline__ void begin_products()
{
    asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}

static __device__ __forceinline__ void end_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;"
                 :
                 :
                 : "memory");
}

/* PTX's matrix descriptor: 128-byte swizzle, 1,024 bytes from eight rows to the next
 * eight, a panel from 64 columns to the next (where these are along a row). */
static __device__ __forceinline__ uint64_t matrix_at(const uint16_t *b)
{
    constexpr uint64_t panel = GROUP_PANEL * sizeof *b >> 4, eight = 1024 >> 4;
    return (shared_address(b) >> 4 & 0x3FFF) | panel << 16 | eight << 32 |
           uint64_t{1} << 62;
}

/* An instruction's first 32 numbers, and eight columns of c's for them. */
#define GROUP_32                                                               \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "   \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "   \
    "%30, %31"
#define GROUP_FOUR(i) "+f"(c[i][0]), "+f"(c[i][1]), "+f"(c[i][2]), "+f"(c[i][3])
#define GROUP_SUMS(i)                                                          \
    GROUP_FOUR(i), GROUP_FOUR(i + 1), GROUP_FOUR(i + 2), GROUP_FOUR(i + 3),    \
        GROUP_FOUR(i + 4), GROUP_FOUR(i + 5), GROUP_FOUR(i + 6),               \
        GROUP_FOUR(i + 7)

/* c (+)= a . b; FRESH: what was in c does not count. */
template <unsigned COLUMNS, bool FRESH>
static __device__ __forceinline__ void multiply_group(float (*c)[4],
                                                      const uint16_t *a,
                                                      const uint16_t *b)
{
    static_assert(COLUMNS == 64, "rows of one panel");
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GROUP_32 "}, "
        "%32, %33, p, 1, 1, 0, 0; }"
        : GROUP_SUMS(0)
        : "l"(matrix_at(a)), "l"(matrix_at(b)), "r"(FRESH ? 0 : 1));
}

static __device__ __forceinline__ void multiply_turned_64(float (*c)[4],
                                                          const unsigned *a,
                                                          const uint16_t *b)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GROUP_32 "}, "
        "{%32, %33, %34, %35}, %36, p, 1, 1, 1; }"
        : GROUP_SUMS(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(matrix_at(b)),
          "r"(1));
}

static __device__ __forceinline__ void multiply_turned_128(float (*c)[4],
                                                           const unsigned *a,
                                                           const uint16_t *b)
{
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" GROUP_32 ", "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, p, 1, 1, 1; }"
        : GROUP_SUMS(0), GROUP_SUMS(8)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(matrix_at(b)),
          "r"(1));
}

/* c += a . b. */
template <unsigned COLUMNS>
static __device__ __forceinline__ void multiply_group_turned(float (*c)[4],
                                                             const unsigned *a,
                                                             const uint16_t *b)
{
    static_assert(COLUMNS == 64 || COLUMNS == 128, "no such product");
    if constexpr (COLUMNS == 64)
        multiply_turned_64(c, a, b);
    else
        multiply_turned_128(c, a, b);
}

/* ---- Products that run on behind the program ---- */

/* Upper half of a descriptor (matrix_at). */
constexpr unsigned GROUP_HIGH = 1u << 30 | 1024 >> 4;

/* Made anew wherever it is asked for: in a loop it would stay in registers. */
template <unsigned ROWS>
static __device__ __forceinline__ struct group_matrix group_matrix_of(
    const uint16_t *at)
{
    constexpr unsigned panel = ROWS * 128 >> 4;
    unsigned low = shared_address(at) >> 4 | panel << 16;
    asm volatile("" : "+r"(low));
    return {low};
}

static __device__ __forceinline__ struct group_matrix group_matrix_at(
    struct group_matrix of, unsigned numbers)
{
    return {of.low + static_cast<unsigned>(numbers * sizeof(uint16_t) >> 4)};
}

static __device__ __forceinline__ void commit_products()
{
    asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
template <unsigned LATER> static __device__ __forceinline__ void wait_products()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(LATER) : "memory");
}

/* A sum of what is not negative is there before anything behind this begins: the
 * compiler would wait for products first, and make it then. */
static __device__ __forceinline__ void first_of_all(float sum)
{
    asm volatile("{ .reg .pred p; setp.lt.f32 p, %0, 0f00000000; @p trap; }"
                 :
                 : "f"(sum)
                 : "memory");
}

#define GROUP_64                                                               \
    GROUP_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "  \
             "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "    \
             "%56, %57, %58, %59, %60, %61, %62, %63"

template <bool FRESH>
static __device__ __forceinline__ void multiply_128(float (*c)[4],
                                                    struct group_matrix a,
                                                    struct group_matrix b)
{
    asm volatile(
        "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %66, 0;\n"
        "mov.b64 a, {%64, %67}; mov.b64 b, {%65, %67};\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" GROUP_64
        "}, a, b, p, 1, 1, 0, 0; }"
        : GROUP_SUMS(0), GROUP_SUMS(8)
        : "r"(a.low), "r"(b.low), "r"(FRESH ? 0 : 1), "r"(GROUP_HIGH));
}

template <unsigned COLUMNS>
static __device__ __forceinline__ void multiply_turned(float (*c)[4],
                                                       const unsigned *a,
                                                       struct group_matrix b)
{
    static_assert(COLUMNS == 64 || COLUMNS == 128, "no such product");
    if constexpr (COLUMNS == 64)
        asm volatile(
            "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %37, 0;\n"
            "mov.b64 b, {%36, %38};\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GROUP_32
            "}, {%32, %33, %34, %35}, b, p, 1, 1, 1; }"
            : GROUP_SUMS(0)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(1),
              "r"(GROUP_HIGH));
    else
        asm volatile(
            "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %69, 0;\n"
            "mov.b64 b, {%68, %70};\n"
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" GROUP_64
            "}, {%64, %65, %66, %67}, b, p, 1, 1, 1; }"
            : GROUP_SUMS(0), GROUP_SUMS(8)
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b.low), "r"(1),
              "r"(GROUP_HIGH));
}

#undef GROUP_64
#undef GROUP_32
#undef GROUP_FOUR
#undef GROUP_SUMS

#else

static __device__ __forceinline__ void publish_shared()
{
}
template <unsigned COUNT, typename T>
static __device__ __forceinline__ void hold(T (*)[4])
{
}
static __device__ __forceinline__ void begin_products()
{
}
static __device__ __forceinline__ void end_products()
{
}
template <unsigned COLUMNS, bool FRESH>
static __device__ __forceinline__ void multiply_group(float (*)[4],
                                                      const uint16_t *,
                                                      const uint16_t *)
{
}
template <unsigned COLUMNS>
static __device__ __forceinline__ void multiply_group_turned(float (*)[4],
                                                             const unsigned *,
                                                             const uint16_t *)
{
}
template <unsigned ROWS>
static __device__ __forceinline__ struct group_matrix group_matrix_of(
    const uint16_t *)
{
    return {};
}
static __device__ __forceinline__ struct group_matrix group_matrix_at(
    struct group_matrix of, unsigned)
{
    return of;
}
static __device__ __forceinline__ void commit_products()
{
}
template <unsigned LATER> static __device__ __forceinline__ void wait_products()
{
}
static __device__ __forceinline__ void first_of_all(float)
{
}
template <bool FRESH>
static __device__ __forceinline__ void multiply_128(float (*)[4],
                                                    struct group_matrix,
                                                    struct group_matrix)
{
}
template <unsigned COLUMNS>
static __device__ __forceinline__ void multiply_turned(float (*)[4],
                                                       const unsigned *,
                                                       struct group_matrix)
{
}

#endif
#endif

#endif
