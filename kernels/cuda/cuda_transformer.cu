/* Norms, rotary positions, activations: one row or one value a thread. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"

#include <cstring>

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

/* ---- Rotary: a block for each row ---- */

/* What comes from the host goes with the launch where it is little, as in a
 * decode step: a copy would wait for what was asked for before. */
struct turns {
    static constexpr size_t MAX_ROWS = 64, MAX_PAIRS = 128;
    const int32_t *position; /* nullptr: few_positions */
    const double *frequency; /* nullptr: few_frequencies */
    int32_t few_positions[MAX_ROWS];
    double few_frequencies[MAX_PAIRS];
};

/* The angle in double: in f32 those of late positions are wrong. */
static __global__ void __launch_bounds__(THREADS)
    rotate_rows(float *x, const struct turns by, size_t h, size_t d)
{
    size_t half = d / 2;
    int32_t position =
        by.position ? by.position[blockIdx.x] : by.few_positions[blockIdx.x];
    x += blockIdx.x * h * d;
    for (size_t j = threadIdx.x; j < half; j += THREADS) {
        double sine, cosine;
        sincos(position *
                   (by.frequency ? by.frequency[j] : by.few_frequencies[j]),
               &sine, &cosine);
        float s = static_cast<float>(sine), c = static_cast<float>(cosine);
        for (size_t head = 0; head < h; head++) {
            float *pair = x + head * d + j;
            float a = pair[0], b = pair[half];
            pair[0] = a * c - b * s;
            pair[half] = b * c + a * s;
        }
    }
}

static int rotary(struct kernel_run *run, float *x,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t h, size_t d)
{
    struct turns by = {};
    cuda_workspace positions(run), frequencies(run);
    size_t half = d / 2;
    if (!m || !half)
        return KERNEL_OK;
    if (m <= turns::MAX_ROWS)
        memcpy(by.few_positions, host_position, m * sizeof *host_position);
    else if (!(by.position = positions.take_copy(host_position, m)))
        return KERNEL_NO_MEMORY;
    if (half <= turns::MAX_PAIRS)
        memcpy(by.few_frequencies, host_frequency,
               half * sizeof *host_frequency);
    else if (!(by.frequency = frequencies.take_copy(host_frequency, half)))
        return KERNEL_NO_MEMORY;
    return cuda_launch(run, rotate_rows, {m, 1, 1, THREADS}, x, by, h, d);
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
    swiglu_values(float *out, const float *gate, const float *up, size_t count)
{
    size_t i = value_of_thread();
    if (i < count)
        out[i] = gate[i] / (1 + expf(-gate[i])) * up[i];
}

static int swiglu(struct kernel_run *run, float *out, const float *gate,
                  const float *up, size_t count)
{
    return cuda_launch(run, swiglu_values, over(count), out, gate, up, count);
}

static __device__ inline float gelu_of(float x)
{
    const float root_half = 0.70710678f;
    return x * 0.5f * erfcf(-x * root_half);
}

static __global__ void __launch_bounds__(THREADS)
    geglu_values(float *out, const float *gate, const float *up, size_t count,
                 bool exact)
{
    const float twice = 1.5957691f; /* the root of 2 / pi */
    size_t i = value_of_thread();
    if (i >= count)
        return;
    float g = gate[i];
    float bent = exact ? gelu_of(g)
                       : g / (1 + expf(-twice * (g + 0.044715f * g * g * g)));
    out[i] = bent * up[i];
}

static int geglu(struct kernel_run *run, float *out, const float *gate,
                 const float *up, size_t count, bool exact)
{
    return cuda_launch(run, geglu_values, over(count), out, gate, up, count,
                       exact);
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

static __device__ inline void put_number(float *to, float x)
{
    *to = x;
}
static __device__ inline void put_number(uint16_t *to, float x)
{
    *to = to_bf16(x);
}

/* A block for each slot. */
template <typename Number>
static __global__ void __launch_bounds__(THREADS)
    put_slots(float *const *pages, size_t at, size_t slots, const float *x,
              size_t first, size_t hkv, size_t d)
{
    size_t slot = first + blockIdx.x, within = slot % slots;
    auto *to = reinterpret_cast<Number *>(pages[slot / slots] + at);
    for (size_t i = threadIdx.x; i < hkv * d; i += THREADS)
        put_number(to + (i / d * slots + within) * d + i % d,
                   x[blockIdx.x * hkv * d + i]);
}

static int kv_write(struct kernel_run *run, float *const *pages, size_t at,
                    size_t slots, int type, const float *x, size_t first,
                    size_t rows, size_t hkv, size_t d)
{
    if (type != KERNEL_F32 && type != KERNEL_BF16)
        return KERNEL_UNSUPPORTED;
    return cuda_launch(
        run, type == KERNEL_F32 ? put_slots<float> : put_slots<uint16_t>,
        {rows, 1, 1, THREADS}, pages, at, slots, x, first, hkv, d);
}

void cuda_fill_transformer(struct kernels *table)
{
    table->kv_write = kv_write;
    table->rms_norm = cuda_rms_norm;
    table->layer_norm = cuda_layer_norm;
    table->rotary = rotary;
    table->swiglu = swiglu;
    table->geglu = geglu;
    table->gelu = gelu;
    table->add = add;
    table->add_bias = cuda_add_bias;
    table->scale = cuda_scale;
}
