/* Norms, activations: one row or one value a thread. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_bend.h"

constexpr unsigned THREADS = 256;

/* ---- Norms: a block for each row ---- */

static __global__ void __launch_bounds__(THREADS)
    rms_norm_rows(float *out, const float *x, const float *weight, size_t d,
                  float eps)
{
    float *room = static_cast<float *>(cuda_shared());
    x += blockIdx.x * d;
    out += blockIdx.x * d;
    float square = 0;
    for (size_t i = threadIdx.x; i < d; i += THREADS)
        square += x[i] * x[i];
    float scale = rsqrtf(block_sum(square, room) / static_cast<float>(d) + eps);
    for (size_t i = threadIdx.x; i < d; i += THREADS)
        out[i] = x[i] * scale * weight[i];
}

int cuda_rms_norm(struct kernel_run *run, float *out, const float *x,
                  const float *weight, size_t m, size_t d, float eps)
{
    return cuda_launch(run, rms_norm_rows,
                       {m, 1, 1, THREADS, MAX_WARPS * sizeof(float)}, out, x,
                       weight, d, eps);
}

static __global__ void __launch_bounds__(THREADS)
    layer_norm_rows(float *out, const float *x, const float *weight,
                    const float *bias, size_t d, float eps)
{
    float *room = static_cast<float *>(cuda_shared());
    x += blockIdx.x * d;
    out += blockIdx.x * d;
    float sum = 0, square = 0;
    for (size_t i = threadIdx.x; i < d; i += THREADS)
        sum += x[i];
    float mean = block_sum(sum, room) / static_cast<float>(d);
    for (size_t i = threadIdx.x; i < d; i += THREADS)
        square += (x[i] - mean) * (x[i] - mean);
    float scale = rsqrtf(block_sum(square, room) / static_cast<float>(d) + eps);
    for (size_t i = threadIdx.x; i < d; i += THREADS)
        out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

int cuda_layer_norm(struct kernel_run *run, float *out, const float *x,
                    const float *weight, const float *bias, size_t m, size_t d,
                    float eps)
{
    return cuda_launch(run, layer_norm_rows,
                       {m, 1, 1, THREADS, MAX_WARPS * sizeof(float)}, out, x,
                       weight, bias, d, eps);
}

/* ---- Values ---- */

static struct cuda_grid over(size_t count)
{
    return {cuda_ceil(count, THREADS), 1, 1, THREADS};
}

static __device__ inline size_t value_of_thread()
{
    return blockIdx.x * size_t{THREADS} + threadIdx.x;
}

static __global__ void __launch_bounds__(THREADS)
    bend_values(float *out, const float *gate, const float *up, size_t count,
                int bend)
{
    size_t i = value_of_thread();
    if (i < count)
        out[i] = bend_value(gate[i], bend) * up[i];
}

int cuda_bend(struct kernel_run *run, float *out, const float *gate,
              const float *up, size_t count, enum kernel_bend bend)
{
    return cuda_launch(run, bend_values, over(count), out, gate, up, count,
                       static_cast<int>(bend));
}

static int swiglu(struct kernel_run *run, float *out, const float *gate,
                  const float *up, size_t count)
{
    return cuda_bend(run, out, gate, up, count, KERNEL_SILU);
}

static int geglu(struct kernel_run *run, float *out, const float *gate,
                 const float *up, size_t count, bool exact)
{
    return cuda_bend(run, out, gate, up, count,
                     exact ? KERNEL_GELU : KERNEL_GELU_TANH);
}

static __global__ void __launch_bounds__(THREADS)
    gelu_values(float *x, const float *bias, size_t count, size_t n)
{
    size_t i = value_of_thread();
    if (i < count)
        x[i] = gelu_of(x[i] + bias[i % n]);
}

static int gelu(struct kernel_run *run, float *x, const float *bias, size_t m,
                size_t n)
{
    return cuda_launch(run, gelu_values, over(m * n), x, bias, m * n, n);
}

static __global__ void __launch_bounds__(THREADS)
    add_values(float *x, const float *y, size_t count)
{
    size_t i = value_of_thread();
    if (i < count)
        x[i] += y[i];
}

static int add(struct kernel_run *run, float *x, const float *y, size_t count)
{
    return cuda_launch(run, add_values, over(count), x, y, count);
}

static __global__ void __launch_bounds__(THREADS)
    add_bias_values(float *x, const float *bias, size_t count, size_t n)
{
    size_t i = value_of_thread();
    if (i < count)
        x[i] += bias[i % n];
}

int cuda_add_bias(struct kernel_run *run, float *x, const float *bias, size_t m,
                  size_t n)
{
    return cuda_launch(run, add_bias_values, over(m * n), x, bias, m * n, n);
}

static __global__ void __launch_bounds__(THREADS)
    scale_values(float *x, float factor, size_t count)
{
    size_t i = value_of_thread();
    if (i < count)
        x[i] *= factor;
}

int cuda_scale(struct kernel_run *run, float *x, float factor, size_t count)
{
    return cuda_launch(run, scale_values, over(count), x, factor, count);
}

void cuda_fill_transformer(struct kernels *table)
{
    table->rms_norm = cuda_rms_norm;
    table->layer_norm = cuda_layer_norm;
    table->swiglu = swiglu;
    table->geglu = geglu;
    table->gelu = gelu;
    table->add = add;
    table->add_bias = cuda_add_bias;
    table->scale = cuda_scale;
}
