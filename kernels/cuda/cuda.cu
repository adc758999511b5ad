/* The device's table and its memory.  The runtime is linked statically and finds
 * the driver itself; without one there is no device, and no error.
 *
 * All memory comes from the device's own pool in the order of the run's stream
 * and goes back there, not to the driver.  Out of memory is an answer like any
 * other.
 *
 * There are two streams, of answers and of the background, made once; neither is the
 * runtime's own, which waits for all others.  Nothing here waits for the whole
 * device. */
#include "kernels/cuda/cuda_internal.h"

#include <cstdio>
#include <pthread.h>

static unsigned chosen;      /* the device's number */
static const char *lost_why; /* nullptr: it works; set once */

/* The runtime keeps the device for each thread. */
void cuda_bind()
{
    static thread_local bool bound;
    if (!bound && chosen)
        cudaSetDevice(static_cast<int>(chosen));
    bound = true;
}

static cudaStream_t streams[CUDA_STREAMS];

cudaStream_t cuda_stream(const struct kernel_run *run)
{
    cuda_bind();
    return streams[cuda_stream_number(run)];
}

/* What was asked was wrong, and was not begun. */
static bool is_refusal(cudaError_t error)
{
    return error == cudaErrorInvalidValue ||
           error == cudaErrorInvalidConfiguration ||
           error == cudaErrorInvalidDeviceFunction ||
           error == cudaErrorLaunchOutOfResources;
}

int cuda_code(cudaError_t error)
{
    const char *none = nullptr;
    if (error == cudaSuccess)
        return KERNEL_OK;
    cudaGetLastError();
    if (error == cudaErrorMemoryAllocation)
        return KERNEL_NO_MEMORY;
    if (is_refusal(error))
        return KERNEL_FAILED;
    __atomic_compare_exchange_n(&lost_why, &none, cudaGetErrorString(error),
                                false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return KERNEL_DEVICE_FAILED;
}

static const char *lost()
{
    return __atomic_load_n(&lost_why, __ATOMIC_SEQ_CST);
}

/* ---- Memory ---- */

static void *allocate(struct kernel_run *run, size_t bytes)
{
    void *memory = nullptr;
    return cuda_code(
               cudaMallocAsync(&memory, bytes ? bytes : 1, cuda_stream(run)))
               ? nullptr
               : memory;
}

static void release(struct kernel_run *run, void *memory)
{
    if (!memory)
        return;
    cuda_start_put_off(run);
    cuda_code(cudaFreeAsync(memory, cuda_stream(run)));
}

/* Waits, so that another run may use what was put there. */
static int move(struct kernel_run *run, void *to, const void *from,
                size_t bytes, cudaMemcpyKind kind)
{
    int code = cuda_direct(run);
    if (code)
        return code;
    cudaError_t error =
        bytes ? cudaMemcpyAsync(to, from, bytes, kind, cuda_stream(run))
              : cudaSuccess;
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(cuda_stream(run));
    return cuda_code(error);
}

/* In a step little goes with its words. */
static int upload(struct kernel_run *run, void *to, const void *host,
                  size_t bytes)
{
    const uint32_t *words = nullptr;
    if (bytes && bytes % sizeof *words == 0)
        words = cuda_step_words(run, CUDA_UPLOAD,
                                static_cast<const uint32_t *>(host),
                                bytes / sizeof *words);
    if (words)
        return cuda_copy(run, to, words, bytes);
    return move(run, to, host, bytes, cudaMemcpyHostToDevice);
}

int cuda_fetch(struct kernel_run *run, void *host, const void *from,
               size_t bytes)
{
    return move(run, host, from, bytes, cudaMemcpyDeviceToHost);
}

/* ---- The table ---- */

static struct kernels table;
static const char *missing; /* why there is no device; nullptr: there is one */
static unsigned processors;

unsigned cuda_processors()
{
    return processors;
}

static size_t shared; /* bytes of a processor */

size_t cuda_blocks_of_shared(size_t bytes)
{
    constexpr size_t OWN = 1024; /* that every block takes beside what it asks for */
    size_t blocks = shared / (bytes + OWN);
    return blocks ? blocks : 1;
}

static bool warpgroups, begins_early;

bool cuda_begins_early()
{
    return begins_early;
}

bool cuda_has_warpgroups()
{
#ifdef __CUDACC__
    return warpgroups;
#else
    return warpgroups && has_warpgroups(); /* the emulation's, from now on */
#endif
}

/* Nothing of what was freed goes back to the driver before the end, and no stream gets
 * memory that it had to wait for another to be done with. */
static cudaError_t keep_memory(int device)
{
    cudaMemPool_t pool;
    uint64_t max = UINT64_MAX;
    int none = 0;
    cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, device);
    if (!error)
        error = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold,
                                        &max);
    return error ? error
                 : cudaMemPoolSetAttribute(
                       pool, cudaMemPoolReuseAllowInternalDependencies, &none);
}

/* Blocks of answers are begun before waiting ones of the background. */
static cudaError_t make_streams()
{
    int last = 0, first = 0; /* as priorities: a lower number is earlier */
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&last, &first);
    if (!error)
        error = cudaStreamCreateWithPriority(&streams[CUDA_ANSWERS],
                                             cudaStreamNonBlocking, first);
    return error ? error
                 : cudaStreamCreateWithPriority(&streams[CUDA_BACKGROUND],
                                                cudaStreamNonBlocking, last);
}

static const char *find_device()
{
    static char too_old[80], too_few[80];
    int devices = 0, pools = 0, major = 0, minor = 0, count = 0, bytes = 0;
    int device = static_cast<int>(chosen);
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error == cudaErrorInsufficientDriver) /* the answer without any, too */
        return "no CUDA driver, or an old one";
    if (!error && devices <= 0)
        return "no CUDA device";
    if (!error && device >= devices) {
        snprintf(too_few, sizeof too_few,
                 "no CUDA device %d, the last one is %d", device, devices - 1);
        return too_few;
    }
    if (!error)
        error = cudaSetDevice(device);
    if (!error)
        error = cudaDeviceGetAttribute(
            &major, cudaDevAttrComputeCapabilityMajor, device);
    if (!error)
        error = cudaDeviceGetAttribute(
            &minor, cudaDevAttrComputeCapabilityMinor, device);
    if (!error)
        error = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount,
                                       device);
    if (!error)
        error = cudaDeviceGetAttribute(
            &bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device);
    if (!error)
        error = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported,
                                       device);
    if (!error && major < 8) {
        snprintf(too_old, sizeof too_old,
                 "the CUDA device's compute capability is %d.%d, 8.0 is "
                 "needed",
                 major, minor);
        return too_old;
    }
    if (!error && !pools)
        return "the CUDA device has no memory pools";
    if (!error)
        error = keep_memory(device);
    if (!error)
        error = make_streams();
    processors = count > 0 ? static_cast<unsigned>(count) : 1;
    shared = static_cast<size_t>(bytes);
    warpgroups = major == 9;
    begins_early = major >= 9;
    return error ? cudaGetErrorString(error) : nullptr;
}

/* What the pool keeps for us is free, too. */
static bool device(struct kernel_device *ret)
{
    struct cudaDeviceProp facts;
    cudaMemPool_t pool;
    uint64_t held = 0, used = 0;
    size_t available = 0, total = 0;
    int number = static_cast<int>(chosen);
    cuda_bind();
    if (lost() || cuda_code(cudaGetDeviceProperties(&facts, number)) ||
        cuda_code(cudaMemGetInfo(&available, &total)) ||
        cuda_code(cudaDeviceGetDefaultMemPool(&pool, number)) ||
        cuda_code(cudaMemPoolGetAttribute(
            pool, cudaMemPoolAttrReservedMemCurrent, &held)) ||
        cuda_code(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent,
                                          &used)))
        return false;
    *ret = {};
    snprintf(ret->name, sizeof ret->name, "%s", facts.name);
    ret->number = chosen;
    ret->major = static_cast<unsigned>(facts.major);
    ret->minor = static_cast<unsigned>(facts.minor);
    ret->total = total;
    ret->free = available + (held > used ? held - used : 0);
    ret->held = held; /* nothing goes back to the driver */
    ret->lacks = cuda_blas_lacks();
    return true;
}

/* Whether the device runs anything: the program may hold no code for it, another
 * program may have it for itself. */
static __global__ void nothing()
{
}

static const char *find_code()
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(32);
    config.stream = streams[CUDA_ANSWERS];
    cudaError_t error = cudaLaunchKernelEx(&config, nothing);
    if (error == cudaErrorNoKernelImageForDevice ||
        error == cudaErrorInvalidDeviceFunction)
        return "the program holds no code for this CUDA device";
    if (!error)
        error = cudaStreamSynchronize(config.stream);
    return error ? cudaGetErrorString(error) : nullptr;
}

static void fill()
{
    missing = find_device();
    if (!missing)
        missing = find_code();
    cudaGetLastError();
    table.name = "cuda";
    table.bf16_pages = true;
    table.pass_rows = 8192;
    table.device = device;
    table.lost = lost;
    table.allocate = allocate;
    table.release = release;
    table.upload = upload;
    table.download = cuda_fetch;
    cuda_fill_steps(&table);
    cuda_fill_matmuls(&table);
    cuda_fill_transformer(&table);
    cuda_fill_heads(&table);
    cuda_fill_attention(&table);
    cuda_fill_texts(&table);
    cuda_fill_memories(&table);
    cuda_fill_summaries(&table);
    cuda_fill_hils(&table);
    cuda_fill_star(&table);
    cuda_fill_hici(&table);
    cuda_fill_top_k(&table);
}

extern "C" void kernels_cuda_choose(unsigned number)
{
    chosen = number;
}

extern "C" const struct kernels *kernels_cuda(const char **ret_reason)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill);
    if (missing)
        *ret_reason = missing;
    return missing ? nullptr : &table;
}
