/* Products with weights, and their rows.
 *
 * Few rows: our own kernels (cuda_few.cu).  Many rows: cuBLASLt on the tensor cores; with
 * a bf16 weight the activations are rounded to bf16 too, and blocks are made bf16
 * for the one product.  Where cuBLASLt is not there or knows no way, or there is no
 * memory for that: our own again. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_blocks.h"
#include "kernels/cuda/cuda_reads.h"

#include <cstdlib>
#include <cstring>

constexpr size_t MANY_ROWS = 16;
constexpr unsigned ELEMENTS = 256; /* threads over numbers */

/* ---- Weights ---- */

/* Memory of several weights, freed with the last of them. */
struct cuda_joined {
    void *device;
    size_t weights;
};

static void memory_free(struct kernel_run *run, void *device)
{
    cuda_start_put_off(run);
    cuda_code(cudaFreeAsync(device, cuda_stream(run)));
}

static void weight_free(struct kernel_run *run, struct kernel_weight *w)
{
    if (w && w->joined && !--w->joined->weights) {
        memory_free(run, w->joined->device);
        free(w->joined);
    } else if (w && w->device && !w->joined)
        memory_free(run, w->device);
    free(w);
}

static size_t number_bytes_of(const struct kernel_weight *w)
{
    return w->n * w->k * kernel_type_size(w->type);
}

/* Whether each begins where the one before ends. */
static bool lie_together(const struct kernel_weight *const *w, size_t count)
{
    bool together = count > 1;
    for (size_t i = 0; i < count; i++)
        together = together && w[i]->type == KERNEL_BF16 && w[i]->joined &&
                   w[i]->k == w[0]->k &&
                   (!i || w[i]->device ==
                              static_cast<char *>(w[i - 1]->device) +
                                  number_bytes_of(w[i - 1]));
    return together;
}

bool cuda_are_joined(const struct kernel_product *products, size_t count)
{
    const struct kernel_weight *w[KERNEL_MAX_PRODUCTS];
    if (count > KERNEL_MAX_PRODUCTS)
        return false;
    for (size_t i = 0; i < count; i++)
        w[i] = products[i].w;
    return lie_together(w, count);
}

/* Copies weights to one memory. */
static int copy_together(struct kernel_run *run, char *to,
                         struct kernel_weight *const *weights, size_t count)
{
    int code = KERNEL_OK;
    for (size_t i = 0; i < count && !code; i++) {
        const size_t bytes = number_bytes_of(weights[i]);
        code = cuda_copy(run, to, weights[i]->device, bytes);
        to += bytes;
    }
    return code;
}

static int weights_join(struct kernel_run *run,
                        struct kernel_weight *const *weights, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (weights[i]->type != KERNEL_BF16 || weights[i]->joined ||
            weights[i]->k != weights[0]->k)
            return KERNEL_OK;
        bytes += number_bytes_of(weights[i]);
    }
    if (count < 2 || !bytes)
        return KERNEL_OK;
    void *memory = nullptr;
    auto *joined = static_cast<struct cuda_joined *>(malloc(sizeof *weights[0]->joined));
    int code = joined ? cuda_code(cudaMallocAsync(&memory, bytes, cuda_stream(run)))
                      : KERNEL_NO_MEMORY;
    if (!code)
        code = copy_together(run, static_cast<char *>(memory), weights, count);
    if (!code)
        code = cuda_code(cudaStreamSynchronize(cuda_stream(run))); /* as `weight` */
    if (code) {
        if (memory)
            memory_free(run, memory);
        free(joined);
        return code;
    }
    *joined = {memory, count};
    char *at = static_cast<char *>(memory);
    for (size_t i = 0; i < count; i++) {
        memory_free(run, weights[i]->device);
        weights[i]->device = at;
        weights[i]->joined = joined;
        at += number_bytes_of(weights[i]);
    }
    return KERNEL_OK;
}

static int widened(struct kernel_run *run, const void *host, int type, size_t n,
                   size_t k, struct kernel_weight **ret);

/* Copies what is on the host as the device has it. */
static int uploaded(struct kernel_run *run, const void *host, int type,
                    size_t n, size_t k, size_t bytes,
                    struct kernel_weight **ret)
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

/* ---- Many rows ---- */

/* *ret = a weight in blocks as bf16, as long as there is the room. */
static int decoded(struct kernel_run *run, cuda_workspace *room,
                   const struct kernel_weight *w, struct kernel_weight *ret)
{
    uint16_t *rows =
        cuda_blas_lacks() ? nullptr : room->take<uint16_t>(w->n, w->k);
    if (!rows)
        return KERNEL_UNSUPPORTED;
    ret->device = rows;
    ret->type = KERNEL_BF16;
    return cuda_blocks_decode(run, rows, w);
}

/* By numbers of the weight's type, or, of blocks, bf16; out in bf16 where `narrow`. */
static int matmul_blas(struct kernel_run *run, void *out, bool narrow,
                       const void *a, const struct kernel_weight *w,
                       const float *bias, size_t m, bool add)
{
    struct kernel_weight wide = *w;
    cuda_workspace room(run);
    int code = cuda_direct(run);
    if (!code && are_blocks(w->type))
        code = decoded(run, &room, w, &wide);
    if (code)
        return code;
    code = cuda_blas_matmul(run, out, narrow, a, wide.device, bias, wide.type,
                            m, w->n, w->k, add);
    if (code != KERNEL_UNSUPPORTED || !bias || narrow)
        return code;
    /* It may know a way without the bias only. */
    code = cuda_blas_matmul(run, out, false, a, wide.device, nullptr, wide.type,
                            m, w->n, w->k, add);
    return code ? code
                : cuda_add_bias(run, static_cast<float *>(out), bias, m, w->n);
}

/* Whether the library is asked for products of so many rows. */
static bool are_many(size_t m)
{
    return m >= MANY_ROWS && !cuda_blas_lacks();
}

static bool many_rows(const struct kernel_weight *w, size_t m)
{
    return are_many(m) && w->k && w->n;
}

/* Rows that many products read: in f32 and in bf16, each made when the first asks for it. */
struct many {
    const struct kernel_rows *rows; /* nullptr: in bf16 alone, which are made */
    size_t m, k;
    const float *plain;
    const uint16_t *rounded;
};

static int take_plain(struct kernel_run *run, struct many *a)
{
    const struct kernel_rows *rows = a->rows;
    if (a->plain)
        return KERNEL_OK;
    a->plain = rows->norm ? rows->room : rows->x;
    return rows->norm ? cuda_rms_norm(run, rows->room, rows->x, rows->norm,
                                      a->m, a->k, rows->eps)
                      : KERNEL_OK;
}

static int take_rounded(struct kernel_run *run, cuda_workspace *room,
                        struct many *a)
{
    const struct kernel_rows *rows = a->rows;
    if (a->rounded)
        return KERNEL_OK;
    auto *to = room->take<uint16_t>(a->m, a->k);
    if (!to)
        return KERNEL_NO_MEMORY;
    a->rounded = to;
    return rows->norm ? cuda_rms_norm_rounded(run, to, rows->x, rows->norm,
                                              a->m, a->k, rows->eps)
                      : cuda_round(run, to, rows->x, a->m * a->k);
}

/* By the library, which multiplies numbers of the weight's type; else by our own. */
static int matmul_many(struct kernel_run *run, cuda_workspace *room,
                       const struct kernel_product &p, struct many *a)
{
    const bool plain = p.w->type == KERNEL_F32;
    int code = KERNEL_OK;
    if (!p.w->n)
        return KERNEL_OK;
    if (!many_rows(p.w, a->m))
        return cuda_matmuls_few(run, &p, 1, a->rows, a->m);
    code = plain ? take_plain(run, a) : take_rounded(run, room, a);
    if (!code && p.plus && p.plus != p.out)
        code = cuda_copy(run, p.out, p.plus, a->m * p.w->n * sizeof *p.out);
    if (!code)
        code = matmul_blas(run, p.out, false,
                           plain ? static_cast<const void *>(a->plain)
                                 : static_cast<const void *>(a->rounded),
                           p.w, p.bias, a->m, p.plus != nullptr);
    return code == KERNEL_UNSUPPORTED && a->rows
               ? cuda_matmuls_few(run, &p, 1, a->rows, a->m)
               : code;
}

/* Many rows are rounded once for all. */
static int matmuls_many(struct kernel_run *run,
                        const struct kernel_product *products, size_t count,
                        const struct kernel_rows *rows, size_t m)
{
    cuda_workspace room(run);
    struct many a = {rows, m, products[0].w->k, nullptr, nullptr};
    int code = KERNEL_OK;
    for (size_t i = 0; i < count && !code; i++)
        code = matmul_many(run, &room, products[i], &a);
    return code;
}

/* ---- Between products in bf16 ---- */

bool cuda_are_rounded(const struct kernel_product *products, size_t count,
                      size_t m)
{
    bool are = true;
    for (size_t i = 0; i < count; i++)
        are = are && products[i].w->type != KERNEL_F32 &&
              many_rows(products[i].w, m);
    return are;
}

const uint16_t *cuda_rows_rounded(struct kernel_run *run, cuda_workspace *room,
                                  const struct kernel_rows *rows, size_t m,
                                  size_t k, int *ret_code)
{
    struct many a = {rows, m, k, nullptr, nullptr};
    *ret_code = take_rounded(run, room, &a);
    return *ret_code ? nullptr : a.rounded;
}

int cuda_matmul_narrow(struct kernel_run *run, const struct kernel_product &p,
                       const uint16_t *a, size_t m)
{
    return matmul_blas(run, p.out, true, a, p.w, nullptr, m, false);
}

/* The weight that joined ones are together. */
static struct kernel_weight whole_of(const struct kernel_product *products,
                                     size_t count)
{
    struct kernel_weight whole = *products[0].w;
    for (size_t i = 1; i < count; i++)
        whole.n += products[i].w->n;
    return whole;
}

int cuda_matmul_joined(struct kernel_run *run, uint16_t *out,
                       const struct kernel_product *products, size_t count,
                       const uint16_t *a, size_t m)
{
    const struct kernel_weight whole = whole_of(products, count);
    return matmul_blas(run, out, true, a, &whole, nullptr, m, false);
}

int cuda_matmul_rounded(struct kernel_run *run, const struct kernel_product &p,
                        const uint16_t *a, size_t m)
{
    cuda_workspace none(run);
    struct many rows = {nullptr, m, p.w->k, nullptr, a};
    return matmul_many(run, &none, p, &rows);
}

static int matmuls(struct kernel_run *run,
                   const struct kernel_product *products, size_t count,
                   const struct kernel_rows *a, size_t m)
{
    if (count > KERNEL_MAX_PRODUCTS)
        return KERNEL_UNSUPPORTED;
    if (!count || !m)
        return KERNEL_OK;
    return are_many(m) ? matmuls_many(run, products, count, a, m)
                       : cuda_matmuls_few(run, products, count, a, m);
}

static int matmul_gated(struct kernel_run *run, const struct kernel_gate *gate,
                        const struct kernel_rows *rows, size_t m)
{
    const struct kernel_product both[] = {gate->gate, gate->up};
    int code = KERNEL_UNSUPPORTED;
    if (!m)
        return KERNEL_OK;
    if (!are_many(m))
        code = cuda_gated_few(run, gate, rows, m);
    if (code != KERNEL_UNSUPPORTED)
        return code;
    code = matmuls(run, both, 2, rows, m);
    return code ? code
                : cuda_bend(run, gate->gate.out, gate->gate.out, gate->up.out,
                            m * gate->gate.w->n, gate->bend);
}

/* What `inner` makes of its products, in f32, where the kernels have its input. */
static int bend_plain(struct kernel_run *run, const struct kernel_gate &inner,
                      size_t m)
{
    const size_t n = inner.up.w->n;
    return inner.gate.w ? cuda_bend(run, inner.gate.out, inner.gate.out,
                                    inner.up.out, m * n, inner.bend)
                        : cuda_gelu(run, inner.up.out, inner.up.bias, m, n);
}

static int bend_rounded(struct kernel_run *run, uint16_t *out,
                        const struct kernel_gate &inner, size_t m)
{
    const size_t n = inner.up.w->n;
    return inner.gate.w
               ? cuda_bend_rounded(run, out, inner.gate.out, inner.up.out,
                                   m * n, inner.bend)
               : cuda_gelu_rounded(run, out, inner.up.out, inner.up.bias, m, n);
}

/* Whether what is between all products of m rows can be bf16. */
static bool narrows(const struct kernel_feed *feed, size_t m)
{
    const struct kernel_gate &inner = feed->inner;
    const struct kernel_product products[] = {feed->down, inner.up, inner.gate};
    return inner.gate.w ? cuda_are_rounded(products, 3, m) && !inner.up.bias &&
                              !inner.gate.bias
                        : cuda_are_rounded(products, 2, m);
}

/* What the products leave, in bf16, where their f32 would be. */
static uint16_t *narrow_of(const struct kernel_product &p)
{
    return reinterpret_cast<uint16_t *>(p.out);
}

/* All of it in bf16 between products. */
static int feed_narrow(struct kernel_run *run, const struct kernel_feed *feed,
                       const struct kernel_rows *rows, size_t m)
{
    const struct kernel_gate &inner = feed->inner;
    const size_t n = inner.up.w->n;
    cuda_workspace room(run);
    uint16_t *up = narrow_of(inner.up), *out = up;
    int code;
    const uint16_t *a =
        cuda_rows_rounded(run, &room, rows, m, inner.up.w->k, &code);
    if (!code)
        code = cuda_matmul_narrow(run, inner.up, a, m);
    if (!code && inner.gate.w) {
        out = narrow_of(inner.gate);
        code = cuda_matmul_narrow(run, inner.gate, a, m);
        code = code ? code
                    : cuda_bend_narrow(run, out, out, up, m * n, inner.bend);
    } else if (!code)
        code = cuda_gelu_narrow(run, out, up, inner.up.bias, m, n);
    return code ? code : cuda_matmul_rounded(run, feed->down, out, m);
}

/* Few rows: two launches, or three without a gate.  Many: the last product is the
 * library's, of bf16, else our own, of f32. */
static int feed_forward(struct kernel_run *run, const struct kernel_feed *feed,
                        const struct kernel_rows *rows, size_t m)
{
    const struct kernel_gate &inner = feed->inner;
    const struct kernel_product &down = feed->down;
    struct kernel_product products[] = {inner.up, inner.gate};
    const size_t count = inner.gate.w ? 2 : 1;
    const bool rounds = many_rows(down.w, m) && down.w->type != KERNEL_F32;
    int code = KERNEL_UNSUPPORTED;
    cuda_workspace room(run);
    const struct kernel_rows plain = {
        inner.gate.w ? inner.gate.out : inner.up.out, nullptr, 0, nullptr};
    if (!m)
        return KERNEL_OK;
    if (narrows(feed, m))
        code = feed_narrow(run, feed, rows, m);
    if (code != KERNEL_UNSUPPORTED)
        return code;
    if (inner.gate.w && !rounds) {
        code = matmul_gated(run, &inner, rows, m);
        return code ? code : matmuls(run, &down, 1, &plain, m);
    }
    if (!inner.gate.w)
        products[0].bias = nullptr; /* is gelu's */
    code = matmuls(run, products, count, rows, m);
    if (!code && rounds) {
        auto *bent = room.take<uint16_t>(m, down.w->k);
        code = bent ? bend_rounded(run, bent, inner, m) : KERNEL_NO_MEMORY;
        if (!code)
            code = cuda_matmul_rounded(run, down, bent, m);
        if (code != KERNEL_UNSUPPORTED)
            return code;
        code = KERNEL_OK;
    }
    if (!code)
        code = bend_plain(run, inner, m);
    return code ? code : matmuls(run, &down, 1, &plain, m);
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

/* Four numbers a thread; of blocks a row by a block of threads. */
static __global__ void __launch_bounds__(ELEMENTS)
    gather_rows(float *out, const void *w, int type, const struct picks picks,
                size_t k)
{
    const size_t l = 4 * (blockIdx.y * size_t{ELEMENTS} + threadIdx.x);
    int32_t row = picks.row ? picks.row[blockIdx.x] : picks.few[blockIdx.x];
    size_t from = static_cast<size_t>(row) * k;
    if (are_blocks(type)) {
        decode_block_row(out + blockIdx.x * k, w, type,
                         static_cast<size_t>(row), k);
        return;
    }
    if (l >= k)
        return;
    write_four(out + blockIdx.x * k, l, k,
               type == KERNEL_BF16
                   ? read_four(static_cast<const uint16_t *>(w) + from, l, k)
                   : read_four(static_cast<const float *>(w) + from, l, k));
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
    const size_t parts =
        are_blocks(w->type) || !w->k ? 1 : cuda_ceil(w->k, 4 * ELEMENTS);
    return cuda_launch(run, gather_rows, {m, parts, 1, ELEMENTS}, out,
                       static_cast<const void *>(w->device), w->type, picks,
                       w->k);
}

void cuda_fill_matmuls(struct kernels *table)
{
    table->weight = weight;
    table->weight_free = weight_free;
    table->weights_join = weights_join;
    table->matmul = cuda_matmul;
    table->matmul_bias = matmul_bias;
    table->matmuls = matmuls;
    table->matmul_gated = matmul_gated;
    table->feed_forward = feed_forward;
    table->gather = gather;
}
