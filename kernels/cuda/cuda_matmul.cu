/* Products with weights, and their rows.
 *
 * Few rows: our own kernel, which reads the weight once for four of them and
 * keeps f32 activations (a decode step is bound by the weight's bytes).  Many rows:
 * cuBLASLt on the tensor cores; with a bf16 weight the activations are rounded
 * to bf16 too.  Where cuBLASLt is not there or knows no way: our own again. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"

#include <cstdlib>
#include <cstring>

constexpr size_t MANY_ROWS = 16;
constexpr unsigned THREADS = 128;
constexpr unsigned OUTPUTS = THREADS / WARP; /* of a block, one a warp */
constexpr unsigned ELEMENTS = 256;           /* threads over single values */

/* ---- Weights ---- */

static void weight_free(struct kernel_run *run, struct kernel_weight *w)
{
    if (w && w->device) {
        cuda_start_put_off(run);
        cuda_code(cudaFreeAsync(w->device, cuda_stream(run)));
    }
    free(w);
}

static int widened(struct kernel_run *run, const void *host, int type, size_t n,
                   size_t k, struct kernel_weight **ret);

static int weight(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret)
{
    size_t bytes;
    if (type == KERNEL_F16 || type == KERNEL_INT8)
        return widened(run, host, type, n, k, ret);
    if (type != KERNEL_F32 && type != KERNEL_BF16)
        return KERNEL_UNSUPPORTED;
    if (__builtin_mul_overflow(n, k, &bytes) ||
        __builtin_mul_overflow(bytes, kernel_type_size(type), &bytes))
        return KERNEL_NO_MEMORY;
    struct kernel_weight *w =
        static_cast<struct kernel_weight *>(calloc(1, sizeof *w));
    if (!w)
        return KERNEL_NO_MEMORY;
    w->type = type;
    w->n = n;
    w->k = k;
    int code = cuda_code(
        cudaMallocAsync(&w->device, bytes ? bytes : 1, cuda_stream(run)));
    if (code)
        w->device = nullptr;
    if (!code && bytes)
        code = cuda_code(cudaMemcpyAsync(
            w->device, host, bytes, cudaMemcpyHostToDevice, cuda_stream(run)));
    if (!code) /* another run may use it */
        code = cuda_code(cudaStreamSynchronize(cuda_stream(run)));
    if (code)
        weight_free(run, w);
    else
        *ret = w;
    return code;
}

/* A type that nothing here multiplies by, as f32: row by row, by the oracle. */
static int widened(struct kernel_run *run, const void *host, int type, size_t n,
                   size_t k, struct kernel_weight **ret)
{
    const struct kernels *ref = kernels_ref();
    struct kernel_weight *narrow = nullptr;
    size_t bytes;
    if (n > INT32_MAX || __builtin_mul_overflow(n, k, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(float), &bytes))
        return KERNEL_NO_MEMORY;
    float *values = static_cast<float *>(malloc(bytes ? bytes : 1));
    int code =
        values ? ref->weight(run, host, type, n, k, &narrow) : KERNEL_NO_MEMORY;
    for (size_t i = 0; !code && i < n; i++) {
        int32_t row = static_cast<int32_t>(i);
        code = ref->gather(run, values + i * k, narrow, &row, 1);
    }
    if (narrow)
        ref->weight_free(run, narrow);
    if (!code)
        code = weight(run, values, KERNEL_F32, n, k, ret);
    free(values);
    return code;
}

static __device__ inline float value_of(const void *w, int type, size_t at)
{
    return type == KERNEL_BF16 ? from_bf16(static_cast<const uint16_t *>(w)[at])
                               : static_cast<const float *>(w)[at];
}

/* ---- Few rows ---- */

/* *sum += eight bf16 times the eight floats at a, which is aligned. */
static __device__ inline void take_eight(float *sum, uint4 eight,
                                         const float *a)
{
    const float4 *four = reinterpret_cast<const float4 *>(a);
    const float4 x = four[0], y = four[1];
    const unsigned pairs[] = {eight.x, eight.y, eight.z, eight.w};
    const float by[] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
#pragma unroll
    for (unsigned p = 0; p < 4; p++) {
        *sum += __uint_as_float(pairs[p] << 16) * by[2 * p];
        *sum += __uint_as_float(pairs[p] & 0xFFFF0000u) * by[2 * p + 1];
    }
}

/* A warp makes one output of up to ROWS rows.  `wide`: eight bf16 at a time,
 * where k is a multiple of eight and `a` aligned. */
template <unsigned ROWS>
static __global__ void __launch_bounds__(THREADS)
    few_rows(float *out, const float *a, const void *w, const float *bias,
             int type, size_t m, size_t n, size_t k, bool add, bool wide)
{
    size_t j = blockIdx.x * size_t{OUTPUTS} + warp_of_thread();
    size_t first = blockIdx.y * size_t{ROWS};
    unsigned rows = static_cast<unsigned>(m - first < ROWS ? m - first : ROWS);
    float sum[ROWS] = {};
    if (j >= n)
        return;
    a += first * k;
    if (wide) {
        const uint4 *row = reinterpret_cast<const uint4 *>(
            static_cast<const uint16_t *>(w) + j * k);
#pragma unroll 4
        for (size_t l = lane_of_thread(); l < k / 8; l += WARP) {
            const uint4 eight = row[l];
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                if (r < rows)
                    take_eight(&sum[r], eight, a + r * k + 8 * l);
        }
    } else {
        for (size_t l = lane_of_thread(); l < k; l += WARP) {
            float by = value_of(w, type, j * k + l);
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                if (r < rows)
                    sum[r] += by * a[r * k + l];
        }
    }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        sum[r] = warp_sum(sum[r]);
    const float more = bias ? bias[j] : 0;
    out += first * n + j;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        if (!lane_of_thread() && r < rows)
            out[r * n] = (add ? out[r * n] + sum[r] : sum[r]) + more;
}

template <unsigned ROWS>
static int few_by(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, const float *bias, size_t m,
                  bool add)
{
    bool wide = w->type == KERNEL_BF16 && w->k % 8 == 0 &&
                reinterpret_cast<uintptr_t>(a) % sizeof(float4) == 0;
    constexpr size_t max = CUDA_MAX_ROWS * ROWS;
    int code = KERNEL_OK;
    for (size_t at = 0; !code && at < m; at += max) {
        size_t rows = m - at < max ? m - at : max;
        code = cuda_launch(
            run, few_rows<ROWS>,
            {cuda_ceil(w->n, OUTPUTS), cuda_ceil(rows, ROWS), 1, THREADS},
            out + at * w->n, a + at * w->k,
            static_cast<const void *>(w->device), bias, w->type, rows, w->n,
            w->k, add, wide);
    }
    return code;
}

static int matmul_few(struct kernel_run *run, float *out, const float *a,
                       const struct kernel_weight *w, const float *bias,
                       size_t m, bool add)
{
    return m == 1 ? few_by<1>(run, out, a, w, bias, m, add)
                  : few_by<4>(run, out, a, w, bias, m, add);
}

/* ---- Many rows ---- */

static __global__ void __launch_bounds__(ELEMENTS)
    round_values(uint16_t *out, const float *in, size_t count)
{
    size_t i = blockIdx.x * size_t{ELEMENTS} + threadIdx.x;
    if (i < count)
        out[i] = to_bf16(in[i]);
}

/* The library may know a way without the bias only. */
static int matmul_blas(struct kernel_run *run, float *out, const void *a,
                        const struct kernel_weight *w, const float *bias,
                        size_t m, bool add)
{
    int code = cuda_direct(run);
    if (code)
        return code;
    code = cuda_blas_matmul(run, out, a, w->device, bias, w->type, m, w->n,
                             w->k, add);
    if (code != KERNEL_UNSUPPORTED || !bias)
        return code;
    code = cuda_blas_matmul(run, out, a, w->device, nullptr, w->type, m, w->n,
                             w->k, add);
    return code ? code : cuda_add_bias(run, out, bias, m, w->n);
}

static int matmul_many(struct kernel_run *run, float *out, const float *a,
                        const struct kernel_weight *w, const float *bias,
                        size_t m, bool add)
{
    if (w->type == KERNEL_F32)
        return matmul_blas(run, out, a, w, bias, m, add);
    cuda_workspace room(run);
    uint16_t *rounded = room.take<uint16_t>(m, w->k);
    if (!rounded)
        return KERNEL_NO_MEMORY;
    int code = cuda_launch(run, round_values,
                           {cuda_ceil(m * w->k, ELEMENTS), 1, 1, ELEMENTS},
                           rounded, a, m * w->k);
    return code ? code : matmul_blas(run, out, rounded, w, bias, m, add);
}

static int matmul_bias(struct kernel_run *run, float *out, const float *a,
                        const struct kernel_weight *w, const float *bias,
                        size_t m, bool add)
{
    if (!m || !w->n)
        return KERNEL_OK;
    int code = m >= MANY_ROWS && w->k
                   ? matmul_many(run, out, a, w, bias, m, add)
                   : KERNEL_UNSUPPORTED;
    return code == KERNEL_UNSUPPORTED
               ? matmul_few(run, out, a, w, bias, m, add)
               : code;
}

int cuda_matmul(struct kernel_run *run, float *out, const float *a,
                 const struct kernel_weight *w, size_t m, bool add)
{
    return matmul_bias(run, out, a, w, nullptr, m, add);
}

/* ---- Rows ---- */

/* Few go with the launch: a copy would wait for what was asked for before. */
struct picks {
    static constexpr size_t MAX = 64;
    const int32_t *row; /* nullptr: few */
    int32_t few[MAX];
};

static __global__ void __launch_bounds__(ELEMENTS)
    gather_rows(float *out, const void *w, int type, const struct picks picks,
                size_t k)
{
    int32_t row = picks.row ? picks.row[blockIdx.x] : picks.few[blockIdx.x];
    size_t from = static_cast<size_t>(row) * k;
    for (size_t l = threadIdx.x; l < k; l += ELEMENTS)
        out[blockIdx.x * k + l] = value_of(w, type, from + l);
}

static int gather(struct kernel_run *run, float *out,
                  const struct kernel_weight *w, const int32_t *host_row,
                  size_t m)
{
    struct picks picks = {};
    cuda_workspace room(run);
    if (!m)
        return KERNEL_OK;
    if (m <= picks::MAX)
        memcpy(picks.few, host_row, m * sizeof *host_row);
    else if (!(picks.row = room.take_copy(host_row, m)))
        return KERNEL_NO_MEMORY;
    return cuda_launch(run, gather_rows, {m, 1, 1, ELEMENTS}, out,
                       static_cast<const void *>(w->device), w->type, picks,
                       w->k);
}

void cuda_fill_matmuls(struct kernels *table)
{
    table->weight = weight;
    table->weight_free = weight_free;
    table->matmul = cuda_matmul;
    table->matmul_bias = matmul_bias;
    table->gather = gather;
}
