/* Products with weights, and their rows.
 *
 * Few rows: our own kernel, which reads the weight once for four of them and
 * keeps f32 activations (a decode step is bound by the weight's bytes), or, with a
 * weight in blocks, 15 bits of them.  Many rows: cuBLASLt on the tensor cores; with
 * a bf16 weight the activations are rounded to bf16 too, and blocks are made bf16
 * for the one product.  Where cuBLASLt is not there or knows no way, or there is no
 * memory for that: our own again. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_bend.h"
#include "kernels/cuda/cuda_rounded.h"

#include <cstdlib>
#include <cstring>

constexpr size_t MANY_ROWS = 16;
constexpr unsigned THREADS = 128;
constexpr unsigned MAX_THREADS = 512; /* of weights in blocks */
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

/* Copies what is on the host as the device has it. */
static int uploaded(struct kernel_run *run, const void *host, int type, size_t n,
                    size_t k, size_t bytes, struct kernel_weight **ret)
{
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

/* Blocks, sorted. */
static int sorted(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret)
{
    size_t bytes;
    if (k % parts_of_block(type).values || k > INT32_MAX)
        return KERNEL_UNSUPPORTED;
    if (__builtin_mul_overflow(n, block_row_bytes(type, k), &bytes))
        return KERNEL_NO_MEMORY;
    void *rows = malloc(bytes ? bytes : 1);
    if (!rows)
        return KERNEL_NO_MEMORY;
    cuda_blocks_sort(rows, host, type, n, k);
    int code = uploaded(run, rows, type, n, k, bytes, ret);
    free(rows);
    return code;
}

static int weight(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret)
{
    size_t bytes;
    if (type < 0 || type >= KERNEL_ALL_TYPES)
        return KERNEL_UNSUPPORTED;
    if (are_blocks(type))
        return sorted(run, host, type, n, k, ret);
    if (type == KERNEL_F16 || type == KERNEL_INT8)
        return widened(run, host, type, n, k, ret);
    if (__builtin_mul_overflow(n, k, &bytes) ||
        __builtin_mul_overflow(bytes, kernel_type_size(type), &bytes))
        return KERNEL_NO_MEMORY;
    return uploaded(run, host, type, n, k, bytes, ret);
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

/* *sum += eight bf16 times the eight floats at a, which is aligned; NORMED: each
 * times its own of the norm, and *square += what is at a, squared. */
template <bool NORMED>
static __device__ inline void take_eight(float *sum, float *square, uint4 eight,
                                         const float *a, const float *norm)
{
    const float4 *four = reinterpret_cast<const float4 *>(a);
    const float4 x = four[0], y = four[1];
    const unsigned pairs[] = {eight.x, eight.y, eight.z, eight.w};
    float by[] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
    if constexpr (NORMED) {
        const float4 *of = reinterpret_cast<const float4 *>(norm);
        const float4 p = of[0], q = of[1];
        const float norms[] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
#pragma unroll
        for (unsigned l = 0; l < 8; l++) {
            *square += by[l] * by[l];
            by[l] *= norms[l];
        }
    }
#pragma unroll
    for (unsigned p = 0; p < 4; p++) {
        *sum += __uint_as_float(pairs[p] << 16) * by[2 * p];
        *sum += __uint_as_float(pairs[p] & 0xFFFF0000u) * by[2 * p + 1];
    }
}

/* A weight that rows are multiplied by, and how. */
struct factor {
    float *out;
    const void *w;
    const float *bias;
    size_t n;
    const float *plus; /* [m, n]; may be out; nullptr: nothing is added */
    unsigned blocks; /* of this one and those before, in the grid */
    int type;
    bool wide; /* eight bf16 at a time */
};

/* Up to so many by one launch, whose blocks they share. */
struct factors {
    struct factor of[KERNEL_MAX_PRODUCTS];
};

struct factor_pair {
    struct factor of[2];
};

/* The rows; with a norm each product is times what makes their norm 1. */
struct factor_rows {
    const float *x, *norm;
    float eps;
    size_t m, k;
};

/* sum [ROWS] = `rows` rows from `first` on times a row of the weight, in all lanes. */
template <unsigned ROWS, bool NORMED>
static __device__ inline void multiply_rows(float *sum,
                                            const struct factor_rows &a,
                                            const struct factor &f, size_t j,
                                            size_t first, unsigned rows)
{
    const float *x = a.x + first * a.k;
    float square[ROWS] = {};
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        sum[r] = 0;
    if (f.wide) {
        const uint4 *row = reinterpret_cast<const uint4 *>(
            static_cast<const uint16_t *>(f.w) + j * a.k);
#pragma unroll 4
        for (size_t l = lane_of_thread(); l < a.k / 8; l += WARP) {
            const uint4 eight = row[l];
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                if (r < rows)
                    take_eight<NORMED>(&sum[r], &square[r], eight,
                                       x + r * a.k + 8 * l, a.norm + 8 * l);
        }
    } else
        for (size_t l = lane_of_thread(); l < a.k; l += WARP) {
            float by = value_of(f.w, f.type, j * a.k + l);
            float factor = NORMED ? by * a.norm[l] : by;
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++) {
                float value = r < rows ? x[r * a.k + l] : 0;
                sum[r] += factor * value;
                if constexpr (NORMED)
                    square[r] += value * value;
            }
        }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        sum[r] = warp_sum(sum[r]);
        if constexpr (NORMED)
            sum[r] *= rsqrtf(warp_sum(square[r]) / static_cast<float>(a.k) +
                             a.eps);
    }
}

/* sum [COUNT, ROWS] = the same of row j of COUNT weights in blocks.  All threads of
 * the block come, also of outputs that are not there. */
template <unsigned COUNT, unsigned ROWS, bool NORMED>
static __device__ inline void
multiply_blocks(float (*sum)[ROWS], const struct factor_rows &a,
                const struct factor *f, size_t j, size_t first, unsigned rows)
{
    constexpr unsigned AT_ONCE = ROUNDED_AT_ONCE<ROWS>;
    const unsigned k = static_cast<unsigned>(a.k);
    auto *squares = static_cast<float *>(cuda_shared()); /* [ROWS, MAX_WARPS] */
    const struct rounded rounded = rounded_at(squares + ROWS * MAX_WARPS, ROWS,
                                              rounded_groups(a.k, AT_ONCE));
#pragma unroll
    for (unsigned i = 0; i < COUNT * ROWS; i++)
        sum[i / ROWS][i % ROWS] = 0;
#pragma unroll
    for (unsigned i = 0; i < COUNT; i++)
        if (j < f[i].n)
            prefetch_row(block_row(f[i].w, f[i].type, j, k),
                         block_row_bytes(f[i].type, k));
    for (unsigned begin = 0; begin < k; begin += AT_ONCE) {
        const unsigned count = k - begin < AT_ONCE ? k - begin : AT_ONCE;
        if (begin)
            __syncthreads();
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++)
            if (r < rows) {
                float square = round_row<NORMED>(
                    rounded, r, a.x + (first + r) * a.k + begin,
                    NORMED ? a.norm + begin : nullptr, count);
                float *at = squares + r * MAX_WARPS + warp_of_thread();
                if (NORMED && !lane_of_thread())
                    *at = begin ? *at + square : square;
            }
        __syncthreads();
#pragma unroll
        for (unsigned i = 0; i < COUNT; i++)
            if (j < f[i].n) {
                const struct add_block_products<ROWS> products = {
                    sum[i],
                    block_row(f[i].w, f[i].type, j, k),
                    k,
                    begin,
                    count,
                    rounded,
                    rows};
                with_block_type(f[i].type, products);
            }
    }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        float by = 1;
        if constexpr (NORMED) {
            float square = 0;
            for (unsigned i = 0; i < blockDim.x / WARP && r < rows; i++)
                square += squares[r * MAX_WARPS + i];
            by = rsqrtf(square / static_cast<float>(a.k) + a.eps);
        }
#pragma unroll
        for (unsigned i = 0; i < COUNT; i++)
            sum[i][r] = warp_sum(sum[i][r]) * by;
    }
}

/* A warp makes one output of up to ROWS rows, of the weight whose blocks of threads
 * it is among.  BLOCKS: all weights are in blocks. */
template <unsigned ROWS, bool NORMED, bool BLOCKS>
static __global__ void __launch_bounds__(BLOCKS ? MAX_THREADS : THREADS,
                                         BLOCKS && ROWS == 1 ? 2 : 0)
    few_rows(const struct factors factors, const struct factor_rows a)
{
    unsigned which = 0;
    while (blockIdx.x >= factors.of[which].blocks)
        which++;
    unsigned begin = which ? factors.of[which - 1].blocks : 0;
    const size_t outputs = (BLOCKS ? blockDim.x : THREADS) / WARP;
    size_t j = (blockIdx.x - begin) * outputs + warp_of_thread();
    size_t first = blockIdx.y * size_t{ROWS};
    unsigned rows = static_cast<unsigned>(a.m - first < ROWS ? a.m - first : ROWS);
    float sum[1][ROWS];
    if constexpr (BLOCKS)
        multiply_blocks<1, ROWS, NORMED>(sum, a, &factors.of[which], j, first,
                                         rows);
    const struct factor f = factors.of[which];
    if (j >= f.n)
        return;
    if constexpr (!BLOCKS)
        multiply_rows<ROWS, NORMED>(sum[0], a, f, j, first, rows);
    const float more = f.bias ? f.bias[j] : 0;
    size_t at = first * f.n + j;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++, at += f.n)
        if (!lane_of_thread() && r < rows)
            f.out[at] =
                (f.plus ? f.plus[at] + sum[0][r] : sum[0][r]) + more;
}

/* The same of two weights, gate and up, whose outputs become one.  BLOCKS: both are
 * in blocks. */
template <unsigned ROWS, bool NORMED, bool BLOCKS>
static __global__ void __launch_bounds__(BLOCKS ? MAX_THREADS : THREADS,
                                         BLOCKS && ROWS == 1 ? 2 : 0)
    few_gated(const struct factor_pair both, int bend,
              const struct factor_rows a)
{
    const struct factor &gate = both.of[0], &up = both.of[1];
    const size_t outputs = (BLOCKS ? blockDim.x : THREADS) / WARP;
    size_t j = blockIdx.x * outputs + warp_of_thread();
    size_t first = blockIdx.y * size_t{ROWS};
    unsigned rows = static_cast<unsigned>(a.m - first < ROWS ? a.m - first : ROWS);
    float sum[2][ROWS];
    if constexpr (BLOCKS)
        multiply_blocks<2, ROWS, NORMED>(sum, a, both.of, j, first, rows);
    if (j >= gate.n)
        return;
    if constexpr (!BLOCKS) {
        multiply_rows<ROWS, NORMED>(sum[0], a, gate, j, first, rows);
        multiply_rows<ROWS, NORMED>(sum[1], a, up, j, first, rows);
    }
    const float more = gate.bias ? gate.bias[j] : 0;
    const float rest = up.bias ? up.bias[j] : 0;
    size_t at = first * gate.n + j;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++, at += gate.n)
        if (!lane_of_thread() && r < rows)
            gate.out[at] =
                bend_value(sum[0][r] + more, bend) * (sum[1][r] + rest);
}

/* Says how rows are multiplied by the product's weight. */
static struct factor factor_of(const struct kernel_product &p,
                               const struct factor_rows &a)
{
    struct factor f = {};
    f.out = p.out;
    f.w = p.w->device;
    f.bias = p.bias;
    f.plus = p.plus;
    f.n = p.w->n;
    f.type = p.w->type;
    f.wide = p.w->type == KERNEL_BF16 && a.k % 8 == 0 &&
             reinterpret_cast<uintptr_t>(a.x) % sizeof(float4) == 0 &&
             reinterpret_cast<uintptr_t>(a.norm) % sizeof(float4) == 0;
    return f;
}

static struct factor_rows rows_of(const struct kernel_rows &a, size_t m,
                                  size_t k)
{
    return {a.x, a.norm, a.eps, m, k};
}

/* Goes on behind the rows that one launch took. */
static void skip_rows(struct factor *f, size_t rows)
{
    f->out += rows * f->n;
    f->plus += f->plus ? rows * f->n : 0;
}

/* Threads of a block that is to round its rows: the more, the fewer times that is
 * done, as long as there is a block for each processor. */
static unsigned rounding_threads(size_t outputs)
{
    unsigned threads = MAX_THREADS;
    while (threads > THREADS && outputs / (threads / WARP) < cuda_processors())
        threads /= 2;
    return threads;
}

template <unsigned ROWS> static size_t rounding_room(size_t k)
{
    return sizeof(float) * ROWS * MAX_WARPS +
           rounded_bytes(ROWS, rounded_groups(k, ROUNDED_AT_ONCE<ROWS>));
}

template <unsigned ROWS, bool BLOCKS>
static int few_by(struct kernel_run *run, struct factors factors, size_t count,
                  const struct factor_rows &all)
{
    constexpr size_t max = CUDA_MAX_ROWS * ROWS;
    size_t blocks = 0, outputs = 0;
    int code = KERNEL_OK;
    for (size_t i = 0; i < count; i++)
        outputs += factors.of[i].n;
    const unsigned threads = BLOCKS ? rounding_threads(outputs) : THREADS;
    for (size_t i = 0; i < count; i++) {
        blocks += cuda_ceil(factors.of[i].n, threads / WARP);
        if (blocks > CUDA_MAX_BLOCKS)
            return KERNEL_UNSUPPORTED;
        factors.of[i].blocks = static_cast<unsigned>(blocks);
    }
    for (size_t at = 0; !code && at < all.m; at += max) {
        struct factor_rows a = all;
        a.m = all.m - at < max ? all.m - at : max;
        a.x += at * all.k;
        code = cuda_launch(run,
                           a.norm ? few_rows<ROWS, true, BLOCKS>
                                  : few_rows<ROWS, false, BLOCKS>,
                           {blocks, cuda_ceil(a.m, ROWS), 1, threads,
                            BLOCKS ? rounding_room<ROWS>(a.k) : 0},
                           factors, a);
        for (size_t i = 0; i < count; i++)
            skip_rows(&factors.of[i], a.m);
    }
    return code;
}

template <unsigned ROWS, bool BLOCKS>
static int gated_by(struct kernel_run *run, const struct kernel_gate *gate,
                    const struct factor_rows &a)
{
    const struct factor_pair both = {
        {factor_of(gate->gate, a), factor_of(gate->up, a)}};
    const size_t n = both.of[0].n;
    const unsigned threads = BLOCKS ? rounding_threads(n) : THREADS;
    return cuda_launch(run,
                       a.norm ? few_gated<ROWS, true, BLOCKS>
                              : few_gated<ROWS, false, BLOCKS>,
                       {cuda_ceil(n, threads / WARP), cuda_ceil(a.m, ROWS), 1,
                        threads, BLOCKS ? rounding_room<ROWS>(a.k) : 0},
                       both, static_cast<int>(gate->bend), a);
}

/* By our own, however many rows there are.  One launch, but where some weights are in
 * blocks and others not. */
static int matmuls_few(struct kernel_run *run,
                       const struct kernel_product *products, size_t count,
                       const struct kernel_rows &rows, size_t m)
{
    const struct factor_rows a = rows_of(rows, m, products[0].w->k);
    struct factors of[2] = {};
    size_t counts[2] = {};
    int code = KERNEL_OK;
    for (size_t i = 0; i < count; i++) {
        const bool blocks = are_blocks(products[i].w->type);
        of[blocks].of[counts[blocks]++] = factor_of(products[i], a);
    }
    if (counts[0])
        code = m == 1 ? few_by<1, false>(run, of[0], counts[0], a)
                      : few_by<4, false>(run, of[0], counts[0], a);
    if (counts[1] && !code)
        code = m == 1 ? few_by<1, true>(run, of[1], counts[1], a)
                      : few_by<4, true>(run, of[1], counts[1], a);
    return code;
}

/* ---- Many rows ---- */

static __global__ void __launch_bounds__(ELEMENTS)
    round_values(uint16_t *out, const float *in, size_t count)
{
    size_t i = blockIdx.x * size_t{ELEMENTS} + threadIdx.x;
    if (i < count)
        out[i] = to_bf16(in[i]);
}

/* *ret = a weight in blocks as bf16, as long as there is the room. */
static int decoded(struct kernel_run *run, cuda_workspace *room,
                   const struct kernel_weight *w, struct kernel_weight *ret)
{
    uint16_t *rows = cuda_blas_lacks() ? nullptr
                                       : room->take<uint16_t>(w->n, w->k);
    if (!rows)
        return KERNEL_UNSUPPORTED;
    ret->device = rows;
    ret->type = KERNEL_BF16;
    return cuda_blocks_decode(run, rows, w);
}

/* The library may know a way without the bias only. */
static int matmul_blas(struct kernel_run *run, float *out, const void *a,
                        const struct kernel_weight *w, const float *bias,
                        size_t m, bool add)
{
    struct kernel_weight wide = *w;
    cuda_workspace room(run);
    int code = cuda_direct(run);
    if (!code && are_blocks(w->type))
        code = decoded(run, &room, w, &wide);
    if (code)
        return code;
    code = cuda_blas_matmul(run, out, a, wide.device, bias, wide.type, m, w->n,
                             w->k, add);
    if (code != KERNEL_UNSUPPORTED || !bias)
        return code;
    code = cuda_blas_matmul(run, out, a, wide.device, nullptr, wide.type, m,
                             w->n, w->k, add);
    return code ? code : cuda_add_bias(run, out, bias, m, w->n);
}

/* bf16 [m, k] of a; nullptr: no memory, or the launch failed (*ret_code). */
static const uint16_t *round_rows(struct kernel_run *run, cuda_workspace *room,
                                  const float *a, size_t m, size_t k,
                                  int *ret_code)
{
    uint16_t *rounded = room->take<uint16_t>(m, k);
    *ret_code = rounded
                    ? cuda_launch(run, round_values,
                                  {cuda_ceil(m * k, ELEMENTS), 1, 1, ELEMENTS},
                                  rounded, a, m * k)
                    : KERNEL_NO_MEMORY;
    return *ret_code ? nullptr : rounded;
}

static bool many_rows(const struct kernel_weight *w, size_t m)
{
    return m >= MANY_ROWS && w->k && w->n;
}

/* By the library, else by our own; rounded: a in bf16, if the weight is. */
static int matmul_rounded(struct kernel_run *run,
                          const struct kernel_product &p, const float *a,
                          const uint16_t *rounded, size_t m)
{
    int code = KERNEL_UNSUPPORTED;
    if (!m || !p.w->n)
        return KERNEL_OK;
    if (many_rows(p.w, m) && p.plus && p.plus != p.out)
        code = cuda_copy(run, p.out, p.plus, m * p.w->n * sizeof *p.out);
    else if (many_rows(p.w, m))
        code = KERNEL_OK;
    if (!code)
        code = matmul_blas(run, p.out,
                           p.w->type == KERNEL_F32
                               ? static_cast<const void *>(a)
                               : static_cast<const void *>(rounded),
                           p.w, p.bias, m, p.plus != nullptr);
    if (code != KERNEL_UNSUPPORTED)
        return code;
    return matmuls_few(run, &p, 1, {a, nullptr, 0, nullptr}, m);
}

/* Many rows are rounded once for all. */
static int matmuls_many(struct kernel_run *run,
                        const struct kernel_product *products, size_t count,
                        const struct kernel_rows *rows, size_t m)
{
    cuda_workspace room(run);
    const uint16_t *rounded = nullptr;
    const float *a = rows->norm ? rows->room : rows->x;
    size_t k = products[0].w->k;
    int code = rows->norm ? cuda_rms_norm(run, rows->room, rows->x, rows->norm,
                                          m, k, rows->eps)
                          : KERNEL_OK;
    for (size_t i = 0; i < count && !code; i++) {
        const struct kernel_product &p = products[i];
        if (!rounded && many_rows(p.w, m) && p.w->type != KERNEL_F32)
            rounded = round_rows(run, &room, a, m, k, &code);
        if (!code)
            code = matmul_rounded(run, p, a, rounded, m);
    }
    return code;
}

static int matmuls(struct kernel_run *run,
                   const struct kernel_product *products, size_t count,
                   const struct kernel_rows *a, size_t m)
{
    if (count > KERNEL_MAX_PRODUCTS)
        return KERNEL_UNSUPPORTED;
    if (!count || !m)
        return KERNEL_OK;
    return m >= MANY_ROWS ? matmuls_many(run, products, count, a, m)
                          : matmuls_few(run, products, count, *a, m);
}

static int matmul_gated(struct kernel_run *run, const struct kernel_gate *gate,
                        const struct kernel_rows *rows, size_t m)
{
    const struct kernel_product both[] = {gate->gate, gate->up};
    const struct factor_rows a = rows_of(*rows, m, gate->gate.w->k);
    if (!m)
        return KERNEL_OK;
    const bool blocks = are_blocks(gate->gate.w->type);
    const bool alike = blocks == are_blocks(gate->up.w->type);
    if (m < MANY_ROWS && alike && blocks)
        return m == 1 ? gated_by<1, true>(run, gate, a)
                      : gated_by<4, true>(run, gate, a);
    if (m < MANY_ROWS && alike)
        return m == 1 ? gated_by<1, false>(run, gate, a)
                      : gated_by<4, false>(run, gate, a);
    int code = m < MANY_ROWS ? matmuls_few(run, both, 2, *rows, m)
                             : matmuls_many(run, both, 2, rows, m);
    return code ? code
                : cuda_bend(run, gate->gate.out, gate->gate.out, gate->up.out,
                            m * gate->gate.w->n, gate->bend);
}

static int matmul_bias(struct kernel_run *run, float *out, const float *a,
                       const struct kernel_weight *w, const float *bias,
                       size_t m, bool add)
{
    const struct kernel_product p = {out, w, bias, add ? out : nullptr};
    const struct kernel_rows rows = {a, nullptr, 0, nullptr};
    return matmuls(run, &p, 1, &rows, m);
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
    if (are_blocks(type)) {
        decode_block_row(out + blockIdx.x * k, w, type,
                         static_cast<size_t>(row), k);
        return;
    }
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
    picks.row = cuda_step_ints(run, CUDA_ROW, host_row, m);
    if (!picks.row && m <= picks::MAX)
        memcpy(picks.few, host_row, m * sizeof *host_row);
    else if (!picks.row && !(picks.row = room.take_copy(host_row, m)))
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
    table->matmuls = matmuls;
    table->matmul_gated = matmul_gated;
    table->gather = gather;
}
