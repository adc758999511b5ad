/* Norms, activations: a block a row, or a thread some values. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_bend.h"
#include "kernels/cuda/cuda_reads.h"

constexpr unsigned THREADS = 256;

/* ---- Four numbers ---- */

static __device__ inline float4 operator*(const float4 &a, const float4 &b)
{
    return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
}
static __device__ inline float4 operator+(const float4 &a, const float4 &b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}
static __device__ inline float4 operator*(const float4 &a, float b)
{
    return {a.x * b, a.y * b, a.z * b, a.w * b};
}
static __device__ inline float sum_four(const float4 &a)
{
    return a.x + a.y + (a.z + a.w);
}

/* ---- Norms: a block for each row ---- */

constexpr unsigned MAX_NORM_THREADS = 1024;
constexpr unsigned HELD = 4;     /* fours of a row that a thread keeps */
constexpr unsigned SHORT = 1024; /* numbers of a row that a warp keeps */

/* Threads for rows of d: one for each four, as long as there are few rows. */
static unsigned norm_threads(size_t m, size_t d)
{
    const size_t max = m <= cuda_processors() ? MAX_NORM_THREADS : THREADS;
    const size_t needed = cuda_ceil(d, 4 * WARP) * WARP;
    return static_cast<unsigned>(needed > max ? max : needed ? needed : WARP);
}

/* A row, of whose fours a thread has every `step`-th from `first` on; it keeps the first
 * KEPT of these and reads the others again. */
template <unsigned KEPT> struct held_row {
    float4 of[KEPT];
    const float *x;
    size_t d;
    unsigned first, step;

    /* The thread's e-th four begins there. */
    __device__ inline size_t place(size_t e) const
    {
        return 4 * (first + e * step);
    }

    __device__ inline void take(const float *row, size_t width)
    {
        x = row;
        d = width;
#pragma unroll
        for (unsigned e = 0; e < KEPT; e++)
            if (place(e) < d)
                of[e] = read_four(x, place(e), d);
    }

    /* Calls each(place, four) for all of the thread's. */
    template <typename Each> __device__ inline void each(const Each &each) const
    {
#pragma unroll
        for (unsigned e = 0; e < KEPT; e++)
            if (place(e) < d)
                each.of(place(e), of[e]);
        for (size_t e = KEPT; place(e) < d; e++)
            each.of(place(e), read_four(x, place(e), d));
    }
};

/* Sums of the numbers, and of squares of what they are more than `mean`; behind the row's
 * end there are none. */
struct add_up {
    float *sum;
    __device__ inline void of(size_t, const float4 &four) const
    {
        *sum += sum_four(four);
    }
};
struct add_squares {
    float *sum, mean;
    size_t d;
    __device__ inline void of(size_t l, const float4 &four) const
    {
        const float by[] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
            *sum += l + i < d ? (by[i] - mean) * (by[i] - mean) : 0;
    }
};
template <typename Number> struct write_normed {
    Number *out;
    const float *weight, *bias; /* nullptr: none */
    float mean, scale;
    size_t d;
    __device__ inline void of(size_t l, const float4 &four) const
    {
        float4 normed = {four.x - mean, four.y - mean, four.z - mean,
                         four.w - mean};
        normed = normed * scale * read_four(weight, l, d);
        write_four(out, l, d, bias ? normed + read_four(bias, l, d) : normed);
    }
};

/* What both norms are given; bias nullptr: none. */
template <typename Number> struct norm_args {
    Number *out;
    const float *x, *weight, *bias;
    size_t m, d;
    float eps;

    __device__ inline struct write_normed<Number> writing(size_t row,
                                                          float mean,
                                                          float scale) const
    {
        return {out + row * d, weight, bias, mean, scale, d};
    }
};

/* A block for each row; CENTRED: layer norm. */
template <typename Number, bool CENTRED>
static __global__ void __launch_bounds__(MAX_NORM_THREADS)
    norm_rows(const struct norm_args<Number> a)
{
    float *room = static_cast<float *>(cuda_shared()), sum = 0, square = 0;
    const float count = static_cast<float>(a.d);
    struct held_row<HELD> row = {{}, nullptr, 0, threadIdx.x, blockDim.x};
    row.take(a.x + blockIdx.x * a.d, a.d);
    if (CENTRED)
        row.each(add_up{&sum});
    const float mean = CENTRED ? block_sum(sum, room) / count : 0;
    row.each(add_squares{&square, mean, a.d});
    const float scale = rsqrtf(block_sum(square, room) / count + a.eps);
    row.each(a.writing(blockIdx.x, mean, scale));
}

/* A warp for each row, all of which it keeps. */
template <typename Number, bool CENTRED>
static __global__ void __launch_bounds__(THREADS)
    norm_short_rows(const struct norm_args<Number> a)
{
    const size_t at = blockIdx.x * size_t{THREADS / WARP} + warp_of_thread();
    const float count = static_cast<float>(a.d);
    struct held_row<SHORT / WARP / 4> row = {
        {}, nullptr, 0, lane_of_thread(), WARP};
    float sum = 0, square = 0;
    if (at >= a.m)
        return;
    row.take(a.x + at * a.d, a.d);
    if (CENTRED)
        row.each(add_up{&sum});
    const float mean = CENTRED ? warp_sum(sum) / count : 0;
    row.each(add_squares{&square, mean, a.d});
    const float scale = rsqrtf(warp_sum(square) / count + a.eps);
    row.each(a.writing(at, mean, scale));
}

/* Where there are rows for all warps, each has one. */
template <typename Number, bool CENTRED>
static int normalise(struct kernel_run *run, const struct norm_args<Number> &a)
{
    constexpr size_t EACH = THREADS / WARP;
    if (a.d <= SHORT && a.m >= EACH * cuda_processors())
        return cuda_launch(run, norm_short_rows<Number, CENTRED>,
                           {cuda_ceil(a.m, EACH), 1, 1, THREADS}, a);
    return cuda_launch(
        run, norm_rows<Number, CENTRED>,
        {a.m, 1, 1, norm_threads(a.m, a.d), MAX_WARPS * sizeof(float)}, a);
}

int cuda_rms_norm(struct kernel_run *run, float *out, const float *x,
                  const float *weight, size_t m, size_t d, float eps)
{
    return normalise<float, false>(
        run, {out, x, weight, nullptr, m, d, eps});
}

int cuda_rms_norm_rounded(struct kernel_run *run, uint16_t *out, const float *x,
                          const float *weight, size_t m, size_t d, float eps)
{
    return normalise<uint16_t, false>(
        run, {out, x, weight, nullptr, m, d, eps});
}

int cuda_layer_norm(struct kernel_run *run, float *out, const float *x,
                    const float *weight, const float *bias, size_t m, size_t d,
                    float eps)
{
    return normalise<float, true>(
        run, {out, x, weight, bias, m, d, eps});
}

/* ---- Values ---- */

constexpr unsigned EACH = 4; /* fours of a thread */

/* What becomes of each of many values.  A thread reads all that it is to write
 * before it writes any: outputs may be inputs.  `whole`: there are fours throughout,
 * aligned. */
template <typename Values>
static __global__ void __launch_bounds__(THREADS, 2) /* without it some are spilled */
    change_values(const Values values, size_t count, bool whole)
{
    const size_t first =
        4 * (blockIdx.x * size_t{THREADS * EACH} + threadIdx.x);
    if (!whole) {
        const size_t begin = blockIdx.x * size_t{4 * THREADS * EACH};
        for (size_t i = begin + threadIdx.x;
             i < count && i < begin + 4 * THREADS * EACH; i += THREADS)
            write_one(values.out + i, values.one(i));
        return;
    }
    float4 four[EACH];
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (first + e * 4 * THREADS < count)
            four[e] = values.four(first + e * 4 * THREADS);
#pragma unroll
    for (unsigned e = 0; e < EACH; e++)
        if (first + e * 4 * THREADS < count)
            write_whole(values.out + first + e * 4 * THREADS, four[e]);
}

static bool fours_lie(const void *at)
{
    return reinterpret_cast<uintptr_t>(at) % sizeof(float4) == 0;
}

template <typename Values>
static int change(struct kernel_run *run, const Values &values, size_t count,
                  bool aligned)
{
    return cuda_launch(run, change_values<Values>,
                       {cuda_ceil(count, 4 * THREADS * EACH), 1, 1, THREADS},
                       values, count,
                       aligned && fours_lie(values.out) && count % 4 == 0);
}

static __device__ inline float4 four_at(const float *at)
{
    return *reinterpret_cast<const float4 *>(at);
}
static __device__ inline float4 four_at(const uint16_t *at)
{
    return read_four(at, 0, 4);
}
static __device__ inline float one_at(const float *at)
{
    return *at;
}
static __device__ inline float one_at(const uint16_t *at)
{
    return from_bf16(*at);
}

/* Which of n columns the i-th number is in. */
static __device__ inline size_t column_of(size_t i, size_t n)
{
    return (i | n) >> 32 ? i % n
                         : static_cast<unsigned>(i) % static_cast<unsigned>(n);
}

struct rounded_values {
    uint16_t *out;
    const float *in;
    __device__ inline float one(size_t i) const
    {
        return in[i];
    }
    __device__ inline float4 four(size_t i) const
    {
        return four_at(in + i);
    }
};

int cuda_round(struct kernel_run *run, uint16_t *out, const float *in,
               size_t count)
{
    return change(run, rounded_values{out, in}, count, fours_lie(in));
}

/* What is written in bf16 is bent to about 2^-20 of it. */
template <typename Number>
static __device__ inline float bent_to(float x, int bend)
{
    return sizeof(Number) == sizeof(float) ? bend_value(x, bend)
                                           : bend_near(x, bend);
}

template <typename Number, typename From> struct bent_values {
    Number *out;
    const From *gate, *up;
    int bend;
    __device__ inline float one(size_t i) const
    {
        return bent_to<Number>(one_at(gate + i), bend) * one_at(up + i);
    }
    __device__ inline float4 four(size_t i) const
    {
        const float4 g = four_at(gate + i), u = four_at(up + i);
        return float4{bent_to<Number>(g.x, bend), bent_to<Number>(g.y, bend),
                      bent_to<Number>(g.z, bend), bent_to<Number>(g.w, bend)} *
               u;
    }
};

template <typename Number, typename From>
static int bend_to(struct kernel_run *run, Number *out, const From *gate,
                   const From *up, size_t count, enum kernel_bend bend)
{
    return change(run, bent_values<Number, From>{out, gate, up, bend}, count,
                  fours_lie(gate) && fours_lie(up));
}

int cuda_bend(struct kernel_run *run, float *out, const float *gate,
              const float *up, size_t count, enum kernel_bend bend)
{
    return bend_to(run, out, gate, up, count, bend);
}

int cuda_bend_rounded(struct kernel_run *run, uint16_t *out, const float *gate,
                      const float *up, size_t count, enum kernel_bend bend)
{
    return bend_to(run, out, gate, up, count, bend);
}

int cuda_bend_narrow(struct kernel_run *run, uint16_t *out,
                     const uint16_t *gate, const uint16_t *up, size_t count,
                     enum kernel_bend bend)
{
    return bend_to(run, out, gate, up, count, bend);
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

template <typename Number, typename From> struct gelu_values {
    Number *out;
    const From *x;
    const float *bias;
    size_t n;
    __device__ inline float one(size_t i) const
    {
        return bent_to<Number>(one_at(x + i) + bias[column_of(i, n)],
                               KERNEL_GELU);
    }
    __device__ inline float4 four(size_t i) const
    {
        const float4 sum = four_at(x + i) + four_at(bias + column_of(i, n));
        return {bent_to<Number>(sum.x, KERNEL_GELU),
                bent_to<Number>(sum.y, KERNEL_GELU),
                bent_to<Number>(sum.z, KERNEL_GELU),
                bent_to<Number>(sum.w, KERNEL_GELU)};
    }
};

template <typename Number, typename From>
static int gelu_to(struct kernel_run *run, Number *out, const From *x,
                   const float *bias, size_t m, size_t n)
{
    return change(run, gelu_values<Number, From>{out, x, bias, n}, m * n,
                  fours_lie(x) && fours_lie(bias) && n % 4 == 0);
}

int cuda_gelu(struct kernel_run *run, float *x, const float *bias, size_t m,
              size_t n)
{
    return gelu_to(run, x, x, bias, m, n);
}

int cuda_gelu_rounded(struct kernel_run *run, uint16_t *out, const float *x,
                      const float *bias, size_t m, size_t n)
{
    return gelu_to(run, out, x, bias, m, n);
}

int cuda_gelu_narrow(struct kernel_run *run, uint16_t *out, const uint16_t *x,
                     const float *bias, size_t m, size_t n)
{
    return gelu_to(run, out, x, bias, m, n);
}

struct sums {
    float *out;
    const float *y;
    __device__ inline float one(size_t i) const
    {
        return out[i] + y[i];
    }
    __device__ inline float4 four(size_t i) const
    {
        return four_at(out + i) + four_at(y + i);
    }
};

static int add(struct kernel_run *run, float *x, const float *y, size_t count)
{
    return change(run, sums{x, y}, count, fours_lie(y));
}

struct biased_values {
    float *out;
    const float *bias;
    size_t n;
    __device__ inline float one(size_t i) const
    {
        return out[i] + bias[column_of(i, n)];
    }
    __device__ inline float4 four(size_t i) const
    {
        return four_at(out + i) + four_at(bias + column_of(i, n));
    }
};

int cuda_add_bias(struct kernel_run *run, float *x, const float *bias, size_t m,
                  size_t n)
{
    return change(run, biased_values{x, bias, n}, m * n,
                  fours_lie(bias) && n % 4 == 0);
}

struct scaled_values {
    float *out, factor;
    __device__ inline float one(size_t i) const
    {
        return out[i] * factor;
    }
    __device__ inline float4 four(size_t i) const
    {
        return four_at(out + i) * factor;
    }
};

int cuda_scale(struct kernel_run *run, float *x, float factor, size_t count)
{
    return change(run, scaled_values{x, factor}, count, true);
}

void cuda_fill_transformer(struct kernels *table)
{
    table->rms_norm = cuda_rms_norm;
    table->layer_norm = cuda_layer_norm;
    table->swiglu = swiglu;
    table->geglu = geglu;
    table->gelu = cuda_gelu;
    table->add = add;
    table->add_bias = cuda_add_bias;
    table->scale = cuda_scale;
}
