#include <stdlib.h>
#include <string.h>

#include "kernels/ref/ref.h"

/* Value i of a row that begins at `at`, without a scale; of no blocks. */
static float number_at(const char *at, int type, size_t i)
{
    uint16_t half;
    float value;
    at += i * kernel_type_size(type);
    if (type == KERNEL_INT8)
        return (float)*(const int8_t *)at;
    if (type == KERNEL_F32) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    memcpy(&half, at, sizeof half);
    return type == KERNEL_BF16 ? ref_from_bf16(half) : ref_from_f16(half);
}

void ref_weight_values(const struct kernel_weight *w, size_t row, float *out)
{
    const char *at = ref_weight_row(w, row);
    if (kernel_is_blocks(w->type)) {
        blocks_decode(w->type, at, w->k, out);
        return;
    }
    for (size_t l = 0; l < w->k; l++)
        out[l] = number_at(at, w->type, l) * (w->scale ? w->scale[row] : 1);
}

static int weight(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret)
{
    (void)run;
    if (type < 0 || type >= KERNEL_ALL_TYPES ||
        (kernel_is_blocks(type) && k % block_kind(type)->values))
        return KERNEL_UNSUPPORTED;
    struct kernel_weight *w = calloc(1, sizeof *w);
    if (!w)
        return KERNEL_NO_MEMORY;
    *w = (struct kernel_weight){.host = host, .type = type, .n = n, .k = k};
    if (type == KERNEL_INT8) {
        const struct kernel_int8 *int8 = host;
        w->host = int8->rows;
        w->scale = int8->scale;
    }
    *ret = w;
    return KERNEL_OK;
}

static void weight_free(struct kernel_run *run, struct kernel_weight *w)
{
    (void)run;
    free(w);
}

static int matmul(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, size_t m, bool add)
{
    float *row = ref_scratch(w->k * sizeof *row);
    (void)run;
    if (!row)
        return KERNEL_NO_MEMORY;
    for (size_t j = 0; j < w->n; j++) {
        ref_weight_values(w, j, row);
        for (size_t i = 0; i < m; i++) {
            double sum = add ? (double)out[i * w->n + j] : 0;
            for (size_t l = 0; l < w->k; l++)
                sum += (double)a[i * w->k + l] * (double)row[l];
            out[i * w->n + j] = (float)sum;
        }
    }
    free(row);
    return KERNEL_OK;
}

static int matmul_bias(struct kernel_run *run, float *out, const float *a,
                       const struct kernel_weight *w, const float *bias,
                       size_t m, bool add)
{
    int code = matmul(run, out, a, w, m, add);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < w->n; j++)
            out[i * w->n + j] += bias[j];
    return code;
}

int ref_matmuls(const struct kernels *table, struct kernel_run *run,
                const struct kernel_product *products, size_t count,
                const struct kernel_rows *a, size_t m)
{
    const float *in = a->norm ? a->room : a->x;
    int code = KERNEL_OK;
    if (a->norm && count)
        code = table->rms_norm(run, a->room, a->x, a->norm, m, products[0].w->k,
                               a->eps);
    for (size_t i = 0; i < count && !code; i++) {
        const struct kernel_product *p = &products[i];
        if (p->plus && p->plus != p->out)
            memcpy(p->out, p->plus, m * p->w->n * sizeof *p->out);
        code = p->bias ? table->matmul_bias(run, p->out, in, p->w, p->bias, m,
                                            p->plus)
                       : table->matmul(run, p->out, in, p->w, m, p->plus);
    }
    return code;
}

int ref_matmul_gated(const struct kernels *table, struct kernel_run *run,
                     const struct kernel_gate *gate,
                     const struct kernel_rows *a, size_t m)
{
    const struct kernel_product both[] = {gate->gate, gate->up};
    float *out = gate->gate.out, *up = gate->up.out;
    size_t count = m * gate->gate.w->n;
    int code = ref_matmuls(table, run, both, 2, a, m);
    if (code)
        return code;
    if (gate->bend == KERNEL_SILU)
        return table->swiglu(run, out, out, up, count);
    return table->geglu(run, out, out, up, count, gate->bend == KERNEL_GELU);
}

int ref_feed_forward(const struct kernels *table, struct kernel_run *run,
                     const struct kernel_feed *feed,
                     const struct kernel_rows *a, size_t m)
{
    const struct kernel_gate *inner = &feed->inner;
    struct kernel_product up = inner->up;
    struct kernel_rows bent = {.x = up.out};
    int code;
    up.bias = NULL; /* is gelu's */
    if (inner->gate.w) {
        bent.x = inner->gate.out;
        code = table->matmul_gated(run, inner, a, m);
    } else {
        code = table->matmuls(run, &up, 1, a, m);
        if (!code)
            code = table->gelu(run, up.out, inner->up.bias, m, up.w->n);
    }
    return code ? code : table->matmuls(run, &feed->down, 1, &bent, m);
}

static int matmuls(struct kernel_run *run,
                   const struct kernel_product *products, size_t count,
                   const struct kernel_rows *a, size_t m)
{
    return ref_matmuls(kernels_ref(), run, products, count, a, m);
}

static int matmul_gated(struct kernel_run *run, const struct kernel_gate *gate,
                        const struct kernel_rows *a, size_t m)
{
    return ref_matmul_gated(kernels_ref(), run, gate, a, m);
}

static int feed_forward(struct kernel_run *run, const struct kernel_feed *feed,
                        const struct kernel_rows *a, size_t m)
{
    return ref_feed_forward(kernels_ref(), run, feed, a, m);
}

static int gather(struct kernel_run *run, float *out,
                  const struct kernel_weight *w, const int32_t *host_row,
                  size_t m)
{
    (void)run;
    for (size_t i = 0; i < m; i++)
        ref_weight_values(w, (size_t)host_row[i], out + i * w->k);
    return KERNEL_OK;
}

int ref_weights_join(struct kernel_run *run,
                     struct kernel_weight *const *weights, size_t count)
{
    (void)run, (void)weights, (void)count;
    return KERNEL_OK;
}

void ref_fill_matmuls(struct kernels *table)
{
    table->weight = weight;
    table->weight_free = weight_free;
    table->weights_join = ref_weights_join;
    table->matmul = matmul;
    table->matmul_bias = matmul_bias;
    table->matmuls = matmuls;
    table->matmul_gated = matmul_gated;
    table->feed_forward = feed_forward;
    table->gather = gather;
}
