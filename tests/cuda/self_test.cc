#include "tests/cuda/emulated.h"

#include <cuda_runtime.h>

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
    else
        cudaLaunchKernelEx(&config, pass_on, out, test == EMULATED_RIGHT);
}
