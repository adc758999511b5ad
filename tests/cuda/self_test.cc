#include "tests/cuda/emulated.h"

#include "kernels/cuda/cuda_ring.h"
#include "kernels/cuda/cuda_warpgroup.h"
#include "tests/cuda/races.h"

static __global__ void pass_on(int *out, bool barrier)
{
    int *shared = static_cast<int *>(cuda_shared());
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (barrier)
        __syncthreads();
    out[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
}

static __global__ void wait_in_part()
{
    if (threadIdx.x < blockDim.x / 2)
        __syncthreads();
}

static __global__ void shuffle_in_part()
{
    if (threadIdx.x % 32 < 16)
        __shfl_xor_sync(0xFFFFFFFFu, 1, 1);
}

static __global__ void copy_numbers(int *out, const int *from, bool soon)
{
    int *shared = static_cast<int *>(cuda_shared());
    copy_4(&shared[threadIdx.x], &from[threadIdx.x]);
    end_copies();
    if (!soon)
        wait_copies<0>();
    __syncthreads();
    out[threadIdx.x] = shared[(threadIdx.x + 1) % blockDim.x];
    wait_copies<0>();
}

static __global__ void never_wait(const int *from)
{
    copy_4(cuda_shared(), from);
    end_copies();
}

/* In two steps, each of which needs its barrier. */
static __global__ void pass_on_twice(int *out, bool first, bool second)
{
    int *shared = static_cast<int *>(cuda_shared());
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (first)
        __syncthreads();
    int next = shared[(threadIdx.x + 1) % blockDim.x];
    if (second)
        __syncthreads();
    shared[threadIdx.x] = next;
    out[threadIdx.x] = next;
}

/* The same within a warp: a shuffle between them orders nothing. */
static __global__ void pass_on_in_warp(int *out, bool first, bool second)
{
    int *own = static_cast<int *>(cuda_shared()) + threadIdx.x / 32 * 32;
    unsigned lane = threadIdx.x % 32;
    own[lane] = static_cast<int>(lane);
    __shfl_sync(0xFFFFFFFFu, 0, 0);
    if (first)
        __syncwarp();
    int next = own[(lane + 1) % 32];
    __shfl_sync(0xFFFFFFFFu, 0, 0);
    if (second)
        __syncwarp();
    own[lane] = next;
    out[threadIdx.x] = next;
}

static __global__ void add_up(unsigned *out, bool barrier)
{
    unsigned *sum = static_cast<unsigned *>(cuda_shared());
    if (!threadIdx.x)
        *sum = 0;
    __syncthreads();
    atomicAdd(sum, 1);
    if (barrier)
        __syncthreads();
    if (!threadIdx.x)
        *out = *sum;
}

static __global__ void write_all(unsigned *out, bool own)
{
    if (!threadIdx.x)
        out[own ? blockIdx.x : 0] = 1;
}

/* a [16, 16]; b [16, 8]. */
static __global__ void multiply_once(const float *a, const float *b, float *out,
                                     enum emulated_turn turn, bool swapped)
{
    bool turned = turn != EMULATED_TURN_NONE;
    auto *left = static_cast<uint16_t *>(cuda_shared()); /* [16, 16] */
    uint16_t *right = left + 256; /* [16, 8], or its transpose [8, 16] */
    unsigned lane = threadIdx.x, g = lane / 4, t = lane % 4;
    for (unsigned i = lane; i < 256; i += 32)
        left[i] = to_bf16(a[i]);
    for (unsigned i = lane; i < 128; i += 32)
        right[turned ? i : i % 8 * 16 + i / 8] = to_bf16(b[i]);
    __syncwarp();
    unsigned x[4], y[4];
    float c[4] = {};
    /* Matrices of a: rows 0 and 8 of column 0, then of column 8. */
    read_matrices(x, left + lane % 16 * 16 + lane / 16 * 8);
    if (turn == EMULATED_TURN_READ) {
        read_turned(y, right + lane % 16 * 8);
    } else if (turn == EMULATED_TURN_KEPT) {
        read_matrices(y, right + lane % 16 * 8);
        for (unsigned i = 0; i < 2; i++)
            y[i] = turn_matrix(y[i]);
    } else
        read_matrices(y, right + lane % 8 * 16 + lane / 8 % 2 * 8);
    if (swapped) {
        unsigned kept = x[1];
        x[1] = x[2];
        x[2] = kept;
    }
    multiply_bf16(c, x, y);
    for (unsigned e = 0; e < 4; e++)
        out[(g + e / 2 * 8) * 8 + 2 * t + e % 2] = c[e];
}

extern "C" void emulated_matmul_test(const float *a, const float *b, float *c,
                                     enum emulated_turn turn, bool swapped)
{
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(32);
    config.dynamicSmemBytes = (256 + 128) * sizeof(uint16_t);
    cudaLaunchKernelEx(&config, multiply_once, a, b, c, turn, swapped);
}

/* Reads what the kernel before wrote, and writes, beside its wait for it. */
enum early_way { READS_SOON, WRITES_SOON, NEVER_WAITS, WAITS };

static __global__ void begin_early(int *out, const int *from,
                                   enum early_way way)
{
    int value = way == READS_SOON ? from[threadIdx.x] : 0;
    if (way == WRITES_SOON)
        out[threadIdx.x] = 0;
    if (way != NEVER_WAITS)
        wait_for_earlier();
    out[threadIdx.x] = way == READS_SOON ? value : from[threadIdx.x];
}

static __global__ void write_each(int *out)
{
    out[threadIdx.x] = 1;
}

/* As a graph of two. */
static void start_early(enum early_way way)
{
    static unsigned step = 1u << 31; /* no graph's */
    static int first[64], second[64];
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(64);
    config.step = ++step;
    cudaLaunchKernelEx(&config, write_each, static_cast<int *>(first));
    config.early = true;
    cudaLaunchKernelEx(&config, begin_early, static_cast<int *>(second),
                       static_cast<const int *>(first), way);
}

static __global__ void multiply_copies(const uint16_t *from, bool all)
{
    auto *a = static_cast<uint16_t *>(cuda_shared()), *b = a + GROUP_PANEL;
    float c[8][4] = {};
    for (unsigned i = threadIdx.x * 8; i < GROUP_PANEL; i += blockDim.x * 8)
        copy_16(b + i, from + i);
    end_copies();
    wait_copies<0>();
    publish_shared();
    for (unsigned i = threadIdx.x * 8; i < GROUP_PANEL; i += blockDim.x * 8)
        copy_16(a + i, from + i);
    end_copies();
    wait_copies<0>();
    if (all)
        publish_shared();
    __syncthreads();
    begin_products();
    multiply_group<64, true>(c, a, b);
    end_products();
}

static void multiply_panels(bool all)
{
    alignas(16) static const uint16_t zeros[GROUP_PANEL] = {};
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(WARPGROUP_THREADS);
    config.dynamicSmemBytes = 2 * sizeof zeros;
    cudaLaunchKernelEx(&config, multiply_copies,
                       static_cast<const uint16_t *>(zeros), all);
}

extern "C" void emulated_self_test(enum emulated_test test, int *out,
                                   unsigned count)
{
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(count ? count : 64);
    config.dynamicSmemBytes = count * sizeof *out;
    if (test == EMULATED_BARRIER_IN_PART)
        cudaLaunchKernelEx(&config, wait_in_part);
    else if (test == EMULATED_SHUFFLE_IN_PART)
        cudaLaunchKernelEx(&config, shuffle_in_part);
    else if (test == EMULATED_EARLY || test == EMULATED_EARLY_NO_WAIT)
        start_early(test == EMULATED_EARLY ? WAITS : NEVER_WAITS);
    else if (test == EMULATED_PUBLISHED || test == EMULATED_NOT_PUBLISHED)
        multiply_panels(test == EMULATED_PUBLISHED);
    else if (test == EMULATED_COPY || test == EMULATED_COPY_SOON) {
        int numbers[1024];
        for (unsigned i = 0; i < config.blockDim.x; i++)
            numbers[i] = static_cast<int>(i);
        cudaLaunchKernelEx(&config, copy_numbers, out,
                           static_cast<const int *>(numbers),
                           test == EMULATED_COPY_SOON);
    } else if (test == EMULATED_COPY_NO_WAIT) {
        const int number = 1;
        config.dynamicSmemBytes = sizeof number;
        cudaLaunchKernelEx(&config, never_wait, &number);
    } else
        cudaLaunchKernelEx(&config, pass_on, out, test == EMULATED_RIGHT);
}

/* Each block writes; the last one reads what both wrote. */
static __global__ void meet(unsigned *at, bool before, bool after,
                            bool together)
{
    auto *last = static_cast<unsigned *>(cuda_shared());
    unsigned *written = at + 1;
    written[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    __syncthreads();
    if (!threadIdx.x) {
        if (before)
            __threadfence();
        *last = !together || atomicInc(at, 1) == 1;
        if (after)
            __threadfence();
    }
    __syncthreads();
    if (*last && !threadIdx.x)
        for (unsigned i = 0; i < 2 * blockDim.x; i++)
            at[129] += written[i];
}

/* One warp writes, the other reads, some times, behind one another by a ring. */
static __global__ void hand_over(int *out, enum emulated_race test)
{
    auto *there = static_cast<uint64_t *>(cuda_shared()), *done = there + 1;
    int *numbers = reinterpret_cast<int *>(there + 2);
    const unsigned lane = threadIdx.x % 32;
    if (!threadIdx.x) {
        ring_start(there, 32);
        ring_start(done, 1);
    }
    __syncthreads();
    for (unsigned turn = 0; turn < 3; turn++)
        if (threadIdx.x < 32) {
            if (test != RACE_TEST_RING_WRITE)
                ring_wait(done, turn % 2 ^ 1);
            if (test == RACE_TEST_RING_ARRIVE)
                ring_arrive(there);
            numbers[lane] = static_cast<int>(turn);
            if (test == RACE_TEST_RING_WRITE)
                ring_wait(done, turn % 2 ^ 1);
            if (test != RACE_TEST_RING_ARRIVE)
                ring_arrive(there);
        } else {
            if (test != RACE_TEST_RING_READ && !lane)
                ring_wait(there, turn % 2);
            __syncwarp();
            out[lane] = numbers[(lane + 1) % 32];
            if (test == RACE_TEST_RING_READ)
                ring_wait(there, turn % 2);
            __syncwarp();
            if (!lane)
                ring_arrive(done);
        }
}

/* Two of three warps pass something on. */
static __global__ void meet_two(int *out, bool meets)
{
    int *shared = static_cast<int *>(cuda_shared());
    if (threadIdx.x >= 64)
        return;
    shared[threadIdx.x] = static_cast<int>(threadIdx.x);
    if (meets)
        meet_warps(1, 64);
    out[threadIdx.x] = shared[(threadIdx.x + 32) % 64];
}

static __global__ void multiply_written(enum emulated_race test)
{
    auto *a = static_cast<uint16_t *>(cuda_shared()), *b = a + GROUP_PANEL;
    float c[8][4] = {};
    for (unsigned i = threadIdx.x; i < 2 * GROUP_PANEL; i += blockDim.x)
        a[i] = 0;
    if (test != RACE_TEST_PRODUCT_LATE && test != RACE_TEST_PRODUCT_PLAIN)
        publish_shared();
    __syncthreads();
    if (test == RACE_TEST_PRODUCT_LATE)
        publish_shared();
    begin_products();
    multiply_group<64, true>(c, a, b);
    commit_products();
    if (test == RACE_TEST_PRODUCT_WRITE && !threadIdx.x)
        b[0] = 0;
    wait_products<0>();
    __syncthreads();
    b[threadIdx.x] = 0;
}

extern "C" void emulated_race_test(enum emulated_race test)
{
    int out[64], from[64] = {0};
    unsigned sums[2];
    static unsigned
        meeting[130]; /* who came; of each thread of two blocks; sum */
    cudaLaunchConfig_t config = {};
    config.blockDim = dim3(64);
    config.dynamicSmemBytes = sizeof out;
    switch (test) {
    case RACE_TEST_BLOCK_READ:
    case RACE_TEST_BLOCK_WRITE:
    case RACE_TEST_BLOCK_NONE:
        cudaLaunchKernelEx(&config, pass_on_twice, static_cast<int *>(out),
                           test != RACE_TEST_BLOCK_READ,
                           test != RACE_TEST_BLOCK_WRITE);
        break;
    case RACE_TEST_WARP_READ:
    case RACE_TEST_WARP_WRITE:
    case RACE_TEST_WARP_NONE:
        cudaLaunchKernelEx(&config, pass_on_in_warp, static_cast<int *>(out),
                           test != RACE_TEST_WARP_READ,
                           test != RACE_TEST_WARP_WRITE);
        break;
    case RACE_TEST_COPY:
    case RACE_TEST_COPY_NONE:
        cudaLaunchKernelEx(&config, copy_numbers, static_cast<int *>(out),
                           static_cast<const int *>(from),
                           test == RACE_TEST_COPY);
        break;
    case RACE_TEST_ATOMIC:
    case RACE_TEST_ATOMIC_NONE:
        cudaLaunchKernelEx(&config, add_up, static_cast<unsigned *>(sums),
                           test != RACE_TEST_ATOMIC);
        break;
    case RACE_TEST_MEET_LATE:
    case RACE_TEST_MEET_SOON:
    case RACE_TEST_MEET_APART:
    case RACE_TEST_MEET_NONE:
        config.gridDim = dim3(2);
        cudaLaunchKernelEx(&config, meet, static_cast<unsigned *>(meeting),
                           test != RACE_TEST_MEET_LATE,
                           test != RACE_TEST_MEET_SOON,
                           test != RACE_TEST_MEET_APART);
        break;
    case RACE_TEST_EARLY_READ: start_early(READS_SOON); break;
    case RACE_TEST_EARLY_WRITE: start_early(WRITES_SOON); break;
    case RACE_TEST_EARLY_END: start_early(NEVER_WAITS); break;
    case RACE_TEST_EARLY_NONE: start_early(WAITS); break;
    case RACE_TEST_RING_ARRIVE:
    case RACE_TEST_RING_READ:
    case RACE_TEST_RING_WRITE:
    case RACE_TEST_RING_NONE:
        cudaLaunchKernelEx(&config, hand_over, static_cast<int *>(out), test);
        break;
    case RACE_TEST_MEET_WARPS:
    case RACE_TEST_MEET_WARPS_NONE:
        config.blockDim = dim3(96);
        cudaLaunchKernelEx(&config, meet_two, static_cast<int *>(out),
                           test == RACE_TEST_MEET_WARPS_NONE);
        break;
    case RACE_TEST_PRODUCT_WRITE:
    case RACE_TEST_PRODUCT_PLAIN:
    case RACE_TEST_PRODUCT_LATE:
    case RACE_TEST_PRODUCT_NONE:
        config.blockDim = dim3(WARPGROUP_THREADS);
        config.dynamicSmemBytes = 2 * GROUP_PANEL * sizeof(uint16_t);
        cudaLaunchKernelEx(&config, multiply_written, test);
        break;
    case RACE_TEST_BLOCKS:
    case RACE_TEST_BLOCKS_NONE:
        config.gridDim = dim3(2);
        cudaLaunchKernelEx(&config, write_all, static_cast<unsigned *>(sums),
                           test != RACE_TEST_BLOCKS);
        break;
    }
}
