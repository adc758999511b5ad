/* What the files of the device's table share on the host.
 *
 * All of it is C++ that nvcc compiles; every kernel is started by `launch`, not
 * by <<<...>>>, so that a plain C++ compiler can compile the same files over
 * tests/cuda's stand-in for the runtime and run the kernels' logic. */
#ifndef KERNELS_CUDA_CUDA_INTERNAL_H
#define KERNELS_CUDA_CUDA_INTERNAL_H

#include <cuda_runtime.h>

#include "kernels/kernels.h"

/* A weight on the device, aligned, as it lay in the file, or with each row's blocks
 * sorted (cuda_blocks.h). */
struct kernel_weight {
    void *device; /* [n, k] */
    int type;     /* enum kernel_type */
    size_t n, k;
    struct cuda_joined *joined; /* whose memory it is in; nullptr: its own */
};

/* Whether products of the same rows by all of `count` weights can be one. */
bool cuda_are_joined(const struct kernel_product *products, size_t count);

/* The calling thread works with the device that was chosen. */
void cuda_bind();

/* The device's streams, which do not wait for each other; what their work shares
 * (counters, cuBLASLt's plans) each has for itself. */
enum { CUDA_ANSWERS, CUDA_BACKGROUND, CUDA_STREAMS };

inline unsigned cuda_stream_number(const struct kernel_run *run)
{
    return run->background ? CUDA_BACKGROUND : CUDA_ANSWERS;
}

/* The run's; binds, too. */
cudaStream_t cuda_stream(const struct kernel_run *run);

/* Maps the runtime's answer, and forgets it, so that the next call starts
 * clean.  A lack of memory, and what was refused as it was asked, are errors of
 * that call; any other means that the device is lost: what went wrong in a kernel
 * shows in whatever is asked next. */
int cuda_code(cudaError_t error);

/* The table's `copy` (cuda_graphs.cu). */
int cuda_copy(struct kernel_run *run, void *to, const void *from, size_t bytes);

/* The table's `download`. */
int cuda_fetch(struct kernel_run *run, void *host, const void *from,
               size_t bytes);

/* Processors of the device. */
unsigned cuda_processors();
/* Blocks for which a processor has shared memory, `bytes` for each; 1 at least. */
size_t cuda_blocks_of_shared(size_t bytes);
/* Whether kernels may find has_warpgroups() (cuda_warpgroup.h) true. */
bool cuda_has_warpgroups();
/* Whether a kernel may begin while the one before it ends (wait_for_earlier). */
bool cuda_begins_early();

/* ---- A step (cuda_graphs.cu) ---- */

/* Puts a launch off, while a step is recorded; false: it is not.  `values`
 * [count] are the kernel's parameters, of `sizes` bytes; `early`: as in cuda_grid. */
bool cuda_put_off(struct kernel_run *run, const cudaLaunchConfig_t *config,
                  bool early, const void *kernel, void **values,
                  const size_t *sizes, size_t count);
/* Before anything but a launch is asked of the stream: starts what was put off,
 * and puts nothing off before the next step.  Returns what failed then. */
int cuda_direct(struct kernel_run *run);
/* The same where no error can be returned: what fails is returned by the next
 * cuda_direct, or by the step's end. */
void cuda_start_put_off(struct kernel_run *run);
/* Memory that stays where it is from step to step, so that launches stay the
 * same; nullptr: no step is recorded.  Given back by its end. */
void *cuda_scratch(struct kernel_run *run, size_t bytes);
void cuda_scratch_end(struct kernel_run *run, void *memory, size_t bytes);

/* What is another in each step: rows to gather, positions, slots to write to, how
 * many slots attention sees, what is uploaded. */
enum cuda_word { CUDA_ROW, CUDA_POSITION, CUDA_SLOT, CUDA_LENGTH, CUDA_UPLOAD };

/* Where kernels read `values` [count] in memory, so that what they are given stays
 * the same from step to step: the step's first launch puts all of these there.
 * nullptr: no step is recorded, or it has no room for more; values go with the
 * launch then. */
const uint32_t *cuda_step_words(struct kernel_run *run, enum cuda_word kind,
                                const uint32_t *values, size_t count);

inline const int32_t *cuda_step_ints(struct kernel_run *run,
                                     enum cuda_word kind, const int32_t *values,
                                     size_t count)
{
    return reinterpret_cast<const int32_t *>(cuda_step_words(
        run, kind, reinterpret_cast<const uint32_t *>(values), count));
}

#ifdef __CUDACC__
/* The emulation must be told a kernel's parameters to start it by its address. */
template <typename Kernel> inline void cuda_know(Kernel)
{
}
#endif

/* Memory in the order of the run's stream, from the device's one pool; given
 * back when the last operation that was asked for before is done with it. */
class cuda_workspace
{
  public:
    cuda_workspace(const cuda_workspace &) = delete;
    cuda_workspace &operator=(const cuda_workspace &) = delete;
    explicit cuda_workspace(struct kernel_run *of) : run(of)
    {
    }
    ~cuda_workspace()
    {
        if (memory && scratch)
            cuda_scratch_end(run, memory, size);
        else if (memory)
            cuda_code(cudaFreeAsync(memory, cuda_stream(run)));
    }

    /* nullptr: no memory, or more than a size_t counts. */
    template <typename T> T *take(size_t a, size_t b = 1, size_t c = 1)
    {
        size_t bytes = sizeof(T);
        const size_t factors[] = {a, b, c};
        for (size_t factor : factors)
            if (__builtin_mul_overflow(bytes, factor, &bytes))
                return nullptr;
        if (memory)
            return nullptr;
        size = bytes;
        memory = cuda_scratch(run, bytes);
        scratch = memory != nullptr;
        if (!scratch && cuda_code(cudaMallocAsync(&memory, bytes ? bytes : 1,
                                                  cuda_stream(run))))
            memory = nullptr;
        return static_cast<T *>(memory);
    }

    /* The same, and what is there on the host, which is read before this
     * returns: the caller may free it then. */
    template <typename T> T *take_copy(const T *host, size_t count)
    {
        T *place = take<T>(count);
        if (!place || cuda_direct(run) ||
            cuda_code(cudaMemcpyAsync(place, host, count * sizeof(T),
                                      cudaMemcpyHostToDevice,
                                      cuda_stream(run))) ||
            cuda_code(cudaStreamSynchronize(cuda_stream(run))))
            return nullptr;
        return place;
    }

  private:
    struct kernel_run *run;
    void *memory = nullptr;
    size_t size = 0;
    bool scratch = false;
};

constexpr size_t CUDA_MAX_BLOCKS = 0x7FFFFFFF;
constexpr size_t CUDA_MAX_ROWS = 65535;      /* grid.y, grid.z */
constexpr size_t CUDA_MAX_SHARED = 48 << 10; /* what needs no asking */
constexpr size_t CUDA_MAX_ASKED = 99 << 10;  /* that every device has */
constexpr size_t CUDA_MAX_MORE = 227 << 10;  /* where cuda_has_warpgroups() */

constexpr size_t cuda_ceil(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

/* A grid of blocks, `x` the one that may be long. */
struct cuda_grid {
    size_t x, y = 1, z = 1;
    unsigned threads;
    size_t shared = 0;  /* bytes that cuda_shared() gives */
    bool early = false; /* the kernel calls wait_for_earlier: all its blocks do,
                           before anything else is read that others write */
};

template <typename... Parameters>
bool cuda_put_off_values(struct kernel_run *run,
                         const cudaLaunchConfig_t *config, bool early,
                         void (*kernel)(Parameters...), Parameters... values)
{
    void *at[] = {static_cast<void *>(&values)...};
    const size_t sizes[] = {sizeof(Parameters)...};
    cuda_know(kernel);
    return cuda_put_off(run, config, early,
                        reinterpret_cast<const void *>(kernel), at, sizes,
                        sizeof...(Parameters));
}

/* A grid without blocks is no error, and nothing is done. */
template <typename... Parameters, typename... Arguments>
int cuda_launch(struct kernel_run *run, void (*kernel)(Parameters...),
                const struct cuda_grid &grid, Arguments... arguments)
{
    if (!grid.x || !grid.y || !grid.z)
        return KERNEL_OK;
    if (grid.x > CUDA_MAX_BLOCKS || grid.y > CUDA_MAX_ROWS ||
        grid.z > CUDA_MAX_ROWS ||
        grid.shared > (cuda_has_warpgroups() ? CUDA_MAX_MORE : CUDA_MAX_ASKED))
        return KERNEL_UNSUPPORTED;
    if (grid.shared > CUDA_MAX_SHARED) {
        cuda_bind();
        int code = cuda_code(cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
            static_cast<int>(grid.shared > CUDA_MAX_ASKED
                                 ? CUDA_MAX_MORE
                                 : CUDA_MAX_ASKED))); /* the kernel's, whoever
                                                         asks */
        if (code)
            return code;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim =
        dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
             static_cast<unsigned>(grid.z));
    config.blockDim = dim3(grid.threads);
    config.dynamicSmemBytes = grid.shared;
    config.stream = cuda_stream(run);
    if (run->step && cuda_put_off_values<Parameters...>(
                         run, &config, grid.early, kernel, arguments...))
        return KERNEL_OK;
    return cuda_code(cudaLaunchKernelEx(&config, kernel, arguments...));
}

/* cuBLASLt, opened when the first product asks for it (cuda_blas.cu).  Both matrices
 * of `type`, out in f32 or, `narrow`, in bf16, sums in f32: out [m, n] = a [m, k] .
 * w [n, k]^T (+ bias [n], unless it is nullptr) (+ out).  KERNEL_UNSUPPORTED: there is
 * no such library, or it knows no way. */
int cuda_blas_matmul(struct kernel_run *run, void *out, bool narrow,
                     const void *a, const void *w, const float *bias, int type,
                     size_t m, size_t n, size_t k, bool add);

/* Returns what is slow without the library, where it is missing; nullptr: it is
 * there. */
const char *cuda_blas_lacks();

/* Few rows, by our own kernels (cuda_few.cu): the table's `matmuls`, however many rows
 * there are, and `matmul_gated`, KERNEL_UNSUPPORTED of one weight in blocks beside one
 * that is not. */
int cuda_matmuls_few(struct kernel_run *run,
                     const struct kernel_product *products, size_t count,
                     const struct kernel_rows *rows, size_t m);
int cuda_gated_few(struct kernel_run *run, const struct kernel_gate *gate,
                   const struct kernel_rows *rows, size_t m);

/* Products whose rows are in bf16 (cuda_matmul.cu): whether all of `products` can be
 * asked for so, of m rows; the rows, made in `room` (nullptr: no memory, or what failed
 * is in *ret_code); and one, p.out in bf16, without bias and plus, or in f32 with them.
 * KERNEL_UNSUPPORTED: the library knows no way, and nothing was touched. */
bool cuda_are_rounded(const struct kernel_product *products, size_t count,
                      size_t m);
const uint16_t *cuda_rows_rounded(struct kernel_run *run, cuda_workspace *room,
                                  const struct kernel_rows *rows, size_t m,
                                  size_t k, int *ret_code);
int cuda_matmul_narrow(struct kernel_run *run, const struct kernel_product &p,
                       const uint16_t *a, size_t m);
/* All of `count` products that are joined, as one: out [m, their n one behind the
 * other], in bf16. */
int cuda_matmul_joined(struct kernel_run *run, uint16_t *out,
                       const struct kernel_product *products, size_t count,
                       const uint16_t *a, size_t m);
int cuda_matmul_rounded(struct kernel_run *run, const struct kernel_product &p,
                        const uint16_t *a, size_t m);

/* Weights of blocks (cuda_blocks.cu): n rows of the file as the device has them, in
 * room of n * block_row_bytes; and, on the device, in bf16, out [n, k]. */
void cuda_blocks_sort(void *to, const void *host, int type, size_t n, size_t k);
int cuda_blocks_decode(struct kernel_run *run, uint16_t *out,
                       const struct kernel_weight *w);

/* Sums, norms and attention that other operations are made of. */
int cuda_matmul(struct kernel_run *run, float *out, const float *a,
                const struct kernel_weight *w, size_t m, bool add);
int cuda_bend(struct kernel_run *run, float *out, const float *gate,
              const float *up, size_t count, enum kernel_bend bend);
int cuda_gelu(struct kernel_run *run, float *x, const float *bias, size_t m,
              size_t n);
int cuda_add_bias(struct kernel_run *run, float *x, const float *bias, size_t m,
                  size_t n);
int cuda_rms_norm(struct kernel_run *run, float *out, const float *x,
                  const float *weight, size_t m, size_t d, float eps);
/* The same, and any numbers, in bf16. */
int cuda_rms_norm_rounded(struct kernel_run *run, uint16_t *out, const float *x,
                          const float *weight, size_t m, size_t d, float eps);
int cuda_bend_rounded(struct kernel_run *run, uint16_t *out, const float *gate,
                      const float *up, size_t count, enum kernel_bend bend);
int cuda_gelu_rounded(struct kernel_run *run, uint16_t *out, const float *x,
                      const float *bias, size_t m, size_t n);
/* Of what is in bf16 already; out may be an input. */
int cuda_bend_narrow(struct kernel_run *run, uint16_t *out,
                     const uint16_t *gate, const uint16_t *up, size_t count,
                     enum kernel_bend bend);
int cuda_gelu_narrow(struct kernel_run *run, uint16_t *out, const uint16_t *x,
                     const float *bias, size_t m, size_t n);
int cuda_round(struct kernel_run *run, uint16_t *out, const float *in,
               size_t count);
int cuda_layer_norm(struct kernel_run *run, float *out, const float *x,
                    const float *weight, const float *bias, size_t m, size_t d,
                    float eps);
int cuda_scale(struct kernel_run *run, float *x, float factor, size_t count);

/* Each file's operations. */
void cuda_fill_steps(struct kernels *table);
void cuda_fill_matmuls(struct kernels *table);
void cuda_fill_transformer(struct kernels *table);
void cuda_fill_heads(struct kernels *table);
void cuda_fill_attention(struct kernels *table);
void cuda_fill_texts(struct kernels *table);
void cuda_fill_memories(struct kernels *table);
void cuda_fill_summaries(struct kernels *table);
void cuda_fill_hils(struct kernels *table);
void cuda_fill_star(struct kernels *table);
void cuda_fill_hici(struct kernels *table);
void cuda_fill_top_k(struct kernels *table);

#endif
