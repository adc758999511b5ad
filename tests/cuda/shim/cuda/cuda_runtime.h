/* Stands in for CUDA's runtime, so that a plain C++ compiler compiles
 * kernels/cuda and a processor runs it.  What it shows is the logic of the
 * kernels and of what starts them; it is no result of a GPU.
 *
 * Blocks run one after the other, forwards or backwards; a block's threads are
 * fibres, run one after the other from barrier to barrier in an order that
 * changes.  So a missing barrier gives wrong numbers, and a barrier that not all
 * threads reach ends the program with a message.  Memory of the device comes
 * from malloc, filled with NaNs: the address sanitizer watches it.
 * Not shown: timing, the order of memory within a warp, arithmetic of the GPU
 * (its fused products and sums, its exp). */
#ifndef TESTS_CUDA_SHIM_CUDA_CUDA_RUNTIME_H
#define TESTS_CUDA_SHIM_CUDA_CUDA_RUNTIME_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "tests/cuda/race.h"

using std::size_t;

/* What kernels/cuda shows to the linker has names of its own here, so that both
 * can be in one program. */
#define kernels_cuda_choose   kernels_emulated_choose
#define cuda_bind             emulated_bind
#define cuda_stream           emulated_stream_of
#define cuda_code             emulated_code
#define cuda_fetch            emulated_fetch
#define cuda_has_warpgroups   emulated_has_warpgroups
#define cuda_begins_early     emulated_begins_early
#define cuda_processors       emulated_processors
#define cuda_blocks_of_shared emulated_blocks_of_shared
#define cuda_put_off          emulated_put_off
#define cuda_start_put_off    emulated_start_put_off
#define cuda_step_words       emulated_step_words
#define cuda_direct           emulated_direct
#define cuda_scratch          emulated_scratch
#define cuda_scratch_end      emulated_scratch_end
#define cuda_fill_steps       emulated_fill_steps
#define cuda_workspace        emulated_room
#define cuda_launch           emulated_start
#define cuda_blas_matmul      emulated_blas_matmul
#define cuda_blas_lacks       emulated_blas_lacks
#define cuda_matmul           emulated_matmul
#define cuda_matmuls_few      emulated_matmuls_few
#define cuda_gated_few        emulated_gated_few
#define cuda_blocks_sort      emulated_blocks_sort
#define cuda_blocks_decode    emulated_blocks_decode
#define cuda_copy             emulated_copy
#define cuda_bend             emulated_bend
#define cuda_add_bias         emulated_add_bias
#define cuda_rms_norm         emulated_rms_norm
#define cuda_rms_norm_rounded emulated_rms_norm_rounded
#define cuda_bend_rounded     emulated_bend_rounded
#define cuda_gelu_rounded     emulated_gelu_rounded
#define cuda_bend_narrow      emulated_bend_narrow
#define cuda_gelu_narrow      emulated_gelu_narrow
#define cuda_are_joined       emulated_are_joined
#define cuda_joined           emulated_joined
#define cuda_are_rounded      emulated_are_rounded
#define cuda_rows_rounded     emulated_rows_rounded
#define cuda_matmul_narrow    emulated_matmul_narrow
#define cuda_matmul_joined    emulated_matmul_joined
#define cuda_matmul_rounded   emulated_matmul_rounded
#define cuda_gelu             emulated_gelu
#define cuda_round            emulated_round
#define cuda_layer_norm       emulated_layer_norm
#define cuda_scale            emulated_scale
#define cuda_join             emulated_join
#define cuda_attend_segments  emulated_attend_segments
#define cuda_hils_choose      emulated_hils_choose
#define cuda_fill_matmuls     emulated_fill_matmuls
#define cuda_fill_transformer emulated_fill_transformer
#define cuda_fill_heads       emulated_fill_heads
#define cuda_fill_attention   emulated_fill_attention
#define cuda_fill_texts       emulated_fill_texts
#define cuda_fill_memories    emulated_fill_memories
#define cuda_fill_summaries   emulated_fill_summaries
#define cuda_fill_hils        emulated_fill_hils
#define cuda_fill_star        emulated_fill_star
#define cuda_fill_hici        emulated_fill_hici
#define cuda_fill_top_k       emulated_fill_top_k
#define paged                 emulated_paged
#define segments              emulated_segments
#define texts                 emulated_texts
#define hils_source           emulated_hils_source
#define star_source           emulated_star_source
#define cuda_grid             emulated_grid
#define dense_sizes           emulated_dense_sizes
#define tensor_tile           emulated_tensor_tile
#define union_state           emulated_union_state
#define dense_turns           emulated_dense_turns
#define hils_turns            emulated_hils_turns
#define score_turns           emulated_score_turns
#define star_turns            emulated_star_turns
#define warp_pages            emulated_warp_pages
#define dense_walk            emulated_dense_walk
#define prompt_tile           emulated_prompt_tile
#define prompt_rows           emulated_prompt_rows
#define prompt_item           emulated_prompt_item
#define hils_walk             emulated_hils_walk
#define list_walk             emulated_list_walk
#define candidate_lists       emulated_candidate_lists
#define sum_turns             emulated_sum_turns
#define keep_turns            emulated_keep_turns

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__

struct alignas(16) uint4 { /* which BUILD=asan checks at each read */
    unsigned x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};

/* ---- What a kernel sees ---- */

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

void *cuda_shared();
void emulated_block_barrier();
void emulated_warp_barrier(const char *file, unsigned line);
/* All lanes of a warp come with a value each; gives that of lane `from`. */
uint64_t emulated_exchange(uint64_t value, unsigned from);
/* Bit i: lane i came with something true. */
unsigned emulated_ballot(bool value);

/* Where it is called is told to the race detector. */
static inline void __syncthreads(const char *file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE())
{
    emulated_block_barrier();
    race_block_barrier(file, line);
}

static inline void __syncwarp(unsigned = 0xFFFFFFFFu,
                              const char *file = __builtin_FILE(),
                              unsigned line = __builtin_LINE())
{
    emulated_warp_barrier(file, line);
}

template <typename T> static inline T emulated_shuffle(T value, unsigned from)
{
    uint64_t bits = 0;
    static_assert(sizeof value <= sizeof bits, "too wide to shuffle");
    std::memcpy(&bits, &value, sizeof value);
    bits = emulated_exchange(bits, from);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
static inline T __shfl_xor_sync(unsigned, T value, int mask)
{
    return emulated_shuffle(value,
                            threadIdx.x % 32 ^ static_cast<unsigned>(mask));
}

template <typename T> static inline T __shfl_sync(unsigned, T value, int lane)
{
    return emulated_shuffle(value, static_cast<unsigned>(lane) % 32);
}

template <typename T>
static inline T __shfl_up_sync(unsigned, T value, unsigned step)
{
    unsigned lane = threadIdx.x % 32;
    return emulated_shuffle(value, lane < step ? lane : lane - step);
}

static inline unsigned __ballot_sync(unsigned, bool value)
{
    return emulated_ballot(value);
}

static inline bool __any_sync(unsigned, bool value)
{
    return emulated_ballot(value) != 0;
}

/* What tensor cores and copies behind the program's back do
 * (kernels/cuda/cuda_fragments.h), bit for bit as PTX lays matrices out.  A copy is
 * made when its group is waited for, not before: who does not wait reads NaNs. */
void multiply_bf16(float *c, const unsigned *a, const unsigned *b);
void read_matrices(unsigned *to, const void *row);
void read_turned(unsigned *to, const void *row);
unsigned turn_matrix(unsigned two);
unsigned pack_bf16(float low, float high);
static inline float exp2_near(float x)
{
    return exp2f(x);
}
static inline float reciprocal_near(float x)
{
    return 1 / x;
}
void copy_16(void *shared, const void *global);
void copy_4(void *shared, const void *global);
void end_copies();
void emulated_wait_copies(unsigned later, bool counts);

template <unsigned LATER>
static inline void wait_copies(const char *file = __builtin_FILE(),
                               unsigned line = __builtin_LINE())
{
    emulated_wait_copies(LATER, race_counts(RACE_CLASS_WAIT, file, line));
}

/* What four warps do together (kernels/cuda/cuda_warpgroup.h), warp by warp. */
bool has_warpgroups();
void publish_shared(const char *file = __builtin_FILE(),
                    unsigned line = __builtin_LINE());
template <unsigned COUNT, typename T> static inline void hold(T (*)[4])
{
}
static inline void begin_products()
{
}
void commit_products();
void emulated_wait_products(unsigned later, bool counts);
template <unsigned LATER>
static inline void wait_products(const char *file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE())
{
    emulated_wait_products(LATER, race_counts(RACE_CLASS_PRODUCTS, file, line));
}
static inline void end_products(const char *file = __builtin_FILE(),
                                unsigned line = __builtin_LINE())
{
    commit_products();
    wait_products<0>(file, line);
}
void emulated_multiply_group(float (*c)[4], const unsigned *a,
                             const uint16_t *shared_a, const uint16_t *b,
                             unsigned columns, bool turned, bool fresh,
                             unsigned panel = 64 * 64);
template <unsigned COLUMNS, bool FRESH>
static inline void multiply_group(float (*c)[4], const uint16_t *a,
                                  const uint16_t *b)
{
    emulated_multiply_group(c, nullptr, a, b, COLUMNS, false, FRESH);
}
template <unsigned COLUMNS>
static inline void multiply_group_turned(float (*c)[4], const unsigned *a,
                                         const uint16_t *b)
{
    emulated_multiply_group(c, a, nullptr, b, COLUMNS, true, false);
}

/* The same, of matrices whose panels may be of more rows. */
struct group_matrix {
    const uint16_t *at;
    unsigned panel;
};
template <unsigned ROWS>
static inline struct group_matrix group_matrix_of(const uint16_t *at)
{
    return {at, ROWS * 64};
}
static inline struct group_matrix group_matrix_at(struct group_matrix of,
                                                  unsigned numbers)
{
    return {of.at + numbers, of.panel};
}
static inline void first_of_all(float)
{
}
template <bool FRESH>
static inline void multiply_128(float (*c)[4], struct group_matrix a,
                                struct group_matrix b)
{
    emulated_multiply_group(c, nullptr, a.at, b.at, 128, false, FRESH);
}
template <unsigned COLUMNS>
static inline void multiply_turned(float (*c)[4], const unsigned *a,
                                   struct group_matrix b)
{
    emulated_multiply_group(c, a, nullptr, b.at, COLUMNS, true, false, b.panel);
}

/* How warps hand tiles to one another (kernels/cuda/cuda_ring.h). */
void ring_start(uint64_t *b, unsigned count);
void ring_arrive(uint64_t *b, const char *file = __builtin_FILE(),
                 unsigned line = __builtin_LINE());
void ring_wait(uint64_t *b, unsigned parity,
               const char *file = __builtin_FILE(),
               unsigned line = __builtin_LINE());
void meet_warps(unsigned id, unsigned count,
                const char *file = __builtin_FILE(),
                unsigned line = __builtin_LINE());
template <unsigned COUNT> static inline void give_registers()
{
}
template <unsigned COUNT> static inline void take_registers()
{
}

/* What begins while the kernels before it end (kernels/cuda/cuda_device.h): here when
 * they have, but each thread must come, and before it nothing of theirs is read. */
void emulated_waited();
static inline void wait_for_earlier(const char *file = __builtin_FILE(),
                                    unsigned line = __builtin_LINE())
{
    if (race_counts(RACE_CLASS_EARLY, file, line))
        emulated_waited();
}
static inline void let_later_begin()
{
}

/* c + two integers of 16 bits times the lower, or the upper, two of four bytes. */
static inline int __dp2a_lo(int a, int b, int c)
{
    return c + static_cast<int16_t>(a) * static_cast<int8_t>(b) +
           (a >> 16) * static_cast<int8_t>(b >> 8);
}

static inline int __dp2a_hi(int a, int b, int c)
{
    return __dp2a_lo(a, b >> 16, c);
}

/* Four of the eight bytes of both words, each by three bits of `which`. */
static inline unsigned __byte_perm(unsigned low, unsigned high, unsigned which)
{
    const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
    unsigned ret = 0;
    for (unsigned i = 0; i < 4; i++)
        ret |= static_cast<unsigned>(both >> 8 * (which >> 4 * i & 7) & 0xFF)
               << 8 * i;
    return ret;
}

static inline int __popc(unsigned value)
{
    return __builtin_popcount(value);
}

unsigned atomicAdd(unsigned *at, unsigned value);
/* One more, or 0 after `most`. */
unsigned atomicInc(unsigned *at, unsigned most);
/* Blocks run one after the other: only the race detector listens. */
static inline void __threadfence(const char *file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE())
{
    race_fence(file, line);
}

static inline unsigned __float_as_uint(float value)
{
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float __uint_as_float(unsigned bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float rsqrtf(float value)
{
    return 1 / sqrtf(value);
}

/* ---- What starts kernels ---- */

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInsufficientDriver = 35,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind {
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
};
enum cudaDeviceAttr {
    cudaDevAttrComputeCapabilityMajor,
    cudaDevAttrComputeCapabilityMinor,
    cudaDevAttrMultiProcessorCount,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor,
    cudaDevAttrMemoryPoolsSupported
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum cudaMemPoolAttr {
    cudaMemPoolAttrReleaseThreshold,
    cudaMemPoolReuseAllowInternalDependencies,
    cudaMemPoolAttrReservedMemCurrent,
    cudaMemPoolAttrUsedMemCurrent
};
struct cudaDeviceProp {
    char name[256];
    int major, minor;
};
typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_pool *cudaMemPool_t;
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    /* Ours: which start of a graph it is of (0: none); whether it begins early. */
    unsigned step;
    bool early;
};

cudaError_t cudaMallocAsync(void **ret, size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes,
                            cudaStream_t stream);
/* All that waits is this: what would wait for the whole device (cudaMalloc, cudaFree,
 * cudaDeviceSynchronize, cudaMemcpy) is not here, and does not compile. */
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
enum { cudaStreamNonBlocking = 1 };
cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags,
                                         int priority);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDeviceCount(int *ret);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret, int device);
cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total);
cudaError_t cudaDeviceGetAttribute(int *ret, cudaDeviceAttr attribute,
                                   int device);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *ret, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool,
                                    cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool,
                                    cudaMemPoolAttr attribute, void *ret);

/* More than 48 KB of shared memory must be asked for, kernel by kernel, and is
 * 99 KB at most, as on the smallest of the devices; 227 KB of one with wgmma. */
cudaError_t emulated_allow(const void *kernel, int bytes);
template <typename... Parameters>
static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...),
                                               cudaFuncAttribute, int bytes)
{
    return emulated_allow(reinterpret_cast<const void *>(kernel), bytes);
}
bool emulated_allowed(const void *kernel, size_t bytes);
/* Of choices, as emulated_max_scores says. */
size_t emulated_most_scores(size_t usual);

/* Runs body(argument) once for every thread of every block, when it is the stream's
 * turn: the argument's `bytes` are copied until then. */
cudaError_t emulated_launch(const cudaLaunchConfig_t *config,
                            void (*body)(void *argument), void *argument,
                            size_t bytes);
/* call(of, more), when it is the stream's turn, with copies of both (streams.cc). */
void emulated_ask(cudaStream_t stream, void (*call)(void *of, void *more),
                  void *of, size_t bytes, void *more = nullptr,
                  size_t more_bytes = 0);

template <typename... Parameters, typename... Arguments>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config,
                                             void (*kernel)(Parameters...),
                                             Arguments &&...arguments)
{
    auto call = [kernel,
                 values = std::tuple<Parameters...>(arguments...)]() mutable {
        std::apply(kernel, values);
    };
    if (!emulated_allowed(reinterpret_cast<const void *>(kernel),
                          config->dynamicSmemBytes))
        return cudaErrorInvalidConfiguration;
    return emulated_launch(
        config,
        [](void *argument) { (*static_cast<decltype(call) *>(argument))(); },
        &call, sizeof call);
}

/* ---- Kernels by their address, and graphs of them ---- */

/* What starts a kernel that is known by its address alone. */
struct emulated_kernel {
    static constexpr size_t MAX = 32;
    const void *address;
    void (*call)(const void *address, void **values);
    size_t sizes[MAX], count;
};
void emulated_know(const struct emulated_kernel *kernel);

template <typename... Parameters, size_t... I>
static inline void emulated_apply(void (*kernel)(Parameters...), void **values,
                                  std::index_sequence<I...>)
{
    kernel(*static_cast<Parameters *>(values[I])...);
}

template <typename... Parameters>
static void emulated_call(const void *address, void **values)
{
    emulated_apply(
        reinterpret_cast<void (*)(Parameters...)>(const_cast<void *>(address)),
        values, std::index_sequence_for<Parameters...>{});
}

template <typename... Parameters>
static inline void cuda_know(void (*kernel)(Parameters...))
{
    struct emulated_kernel known = {reinterpret_cast<const void *>(kernel),
                                    emulated_call<Parameters...>,
                                    {sizeof(Parameters)...},
                                    sizeof...(Parameters)};
    emulated_know(&known);
}

typedef struct emulated_graph *cudaGraph_t;
typedef struct emulated_ready *cudaGraphExec_t;
typedef struct emulated_node *cudaGraphNode_t;
struct cudaKernelNodeParams {
    void *func;
    dim3 gridDim, blockDim;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
};

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config,
                                const void *kernel, void **values);
cudaError_t cudaGraphCreate(cudaGraph_t *ret, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *ret, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *node);
enum cudaGraphDependencyType_enum {
    cudaGraphDependencyTypeDefault,
    cudaGraphDependencyTypeProgrammatic
};
constexpr unsigned char cudaGraphKernelNodePortProgrammatic = 1;
struct cudaGraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph,
                                     const cudaGraphNode_t *from,
                                     const cudaGraphNode_t *to,
                                     const struct cudaGraphEdgeData *edges,
                                     size_t count);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t graph,
                                 unsigned long long flags);
cudaError_t cudaGraphExecKernelNodeSetParams(
    cudaGraphExec_t ready, cudaGraphNode_t node,
    const struct cudaKernelNodeParams *params);
cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready);

#endif
