/* The device's table.  What is not written for the device yet answers
 * KERNEL_UNSUPPORTED.  The runtime is linked statically and finds the driver
 * itself; without one there is no device, and no error. */
#include <cuda_runtime.h>

#include "kernels/kernels.h"

static cudaStream_t stream_of(const struct kernel_run *run)
{
    return static_cast<cudaStream_t>(run->stream);
}

/* Maps the runtime's answer, and forgets it, so that the next call starts
 * clean. */
static int code_of(cudaError_t error)
{
    if (error == cudaSuccess)
        return KERNEL_OK;
    cudaGetLastError();
    return error == cudaErrorMemoryAllocation ? KERNEL_NO_MEMORY
                                              : KERNEL_FAILED;
}

/* ---- Memory ---- */

static void *allocate(struct kernel_run *, size_t bytes)
{
    void *memory = nullptr;
    return code_of(cudaMalloc(&memory, bytes ? bytes : 1)) ? nullptr : memory;
}

static void release(struct kernel_run *, void *memory)
{
    code_of(cudaFree(memory));
}

static int upload(struct kernel_run *run, void *to, const void *host,
                  size_t bytes)
{
    cudaError_t error = cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice,
                                        stream_of(run));
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream_of(run));
    return code_of(error);
}

static int download(struct kernel_run *run, void *host, const void *from,
                    size_t bytes)
{
    cudaError_t error = cudaMemcpyAsync(host, from, bytes,
                                        cudaMemcpyDeviceToHost, stream_of(run));
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream_of(run));
    return code_of(error);
}

static int copy(struct kernel_run *run, void *to, const void *from,
                size_t bytes)
{
    return code_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                   stream_of(run)));
}

/* ---- Norm ---- */

enum { NORM_THREADS = 256, WARP = 32 };

/* The sum of `value` over the block, in every thread. */
static __device__ float block_sum(float value)
{
    __shared__ float warps[NORM_THREADS / WARP];
    for (int step = WARP / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
    if (threadIdx.x % WARP == 0)
        warps[threadIdx.x / WARP] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < NORM_THREADS / WARP; i++)
        value += warps[i];
    return value;
}

/* One block for each row. */
static __global__ void __launch_bounds__(NORM_THREADS)
    rms_norm_rows(float *out, const float *x, const float *weight, size_t d,
                  float eps)
{
    x += blockIdx.x * d;
    out += blockIdx.x * d;
    float square = 0;
    for (size_t i = threadIdx.x; i < d; i += NORM_THREADS)
        square += x[i] * x[i];
    float scale = rsqrtf(block_sum(square) / static_cast<float>(d) + eps);
    for (size_t i = threadIdx.x; i < d; i += NORM_THREADS)
        out[i] = x[i] * scale * weight[i];
}

static int rms_norm(struct kernel_run *run, float *out, const float *x,
                    const float *weight, size_t m, size_t d, float eps)
{
    if (!m || !d)
        return KERNEL_OK;
    if (m > 0x7FFFFFFF)
        return KERNEL_UNSUPPORTED;
    rms_norm_rows<<<static_cast<unsigned>(m), NORM_THREADS, 0,
                    stream_of(run)>>>(out, x, weight, d, eps);
    return code_of(cudaGetLastError());
}

/* ---- Memories ---- */

enum { MEAN_COLUMNS = 32, MEAN_ROWS = 16 };

/* A block takes 32 columns; its threads above one another take turns down the
 * rows. */
static __global__ void __launch_bounds__(MEAN_COLUMNS *MEAN_ROWS)
    mean_columns(float *out, const float *children, size_t n, size_t d)
{
    __shared__ float part[MEAN_ROWS][MEAN_COLUMNS];
    size_t column = blockIdx.x * size_t(MEAN_COLUMNS) + threadIdx.x;
    float sum = 0;
    for (size_t i = threadIdx.y; i < n && column < d; i += MEAN_ROWS)
        sum += children[i * d + column];
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || column >= d)
        return;
    for (int i = 1; i < MEAN_ROWS; i++)
        sum += part[i][threadIdx.x];
    out[column] = sum / static_cast<float>(n);
}

static int pool_mean(struct kernel_run *run, float *out, const float *children,
                     size_t n, size_t d)
{
    size_t blocks = (d + MEAN_COLUMNS - 1) / MEAN_COLUMNS;
    if (!d)
        return KERNEL_OK;
    if (blocks > 0x7FFFFFFF)
        return KERNEL_UNSUPPORTED;
    mean_columns<<<static_cast<unsigned>(blocks), dim3(MEAN_COLUMNS, MEAN_ROWS),
                   0, stream_of(run)>>>(out, children, n, d);
    return code_of(cudaGetLastError());
}

/* ---- The table ---- */

/* Fits every entry that returns a code. */
template <typename... Arguments> static int unsupported(Arguments...)
{
    return KERNEL_UNSUPPORTED;
}

static void weight_free(struct kernel_run *, struct kernel_weight *)
{
}

static const struct kernels *table()
{
    static struct kernels cuda = {
        "cuda",      allocate,    release,     upload,      download,
        copy,        unsupported, weight_free, unsupported, unsupported,
        rms_norm,    unsupported, unsupported, unsupported, unsupported,
        unsupported, unsupported, unsupported, unsupported, unsupported,
        unsupported, pool_mean,   unsupported, unsupported, unsupported,
        unsupported, unsupported, unsupported, unsupported, unsupported,
        unsupported, unsupported, unsupported};
    return &cuda;
}

extern "C" const struct kernels *kernels_cuda(const char **ret_reason)
{
    int devices = 0;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error == cudaSuccess && devices > 0)
        return table();
    cudaGetLastError();
    if (error == cudaErrorInsufficientDriver) /* the answer without any, too */
        *ret_reason = "no CUDA driver, or an old one";
    else
        *ret_reason = error ? cudaGetErrorString(error) : "no CUDA device";
    return nullptr;
}
