#include <stdlib.h>

#include "kernels/ref/ref.h"

static int weight(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret)
{
    (void)run;
    if (type < 0 || type >= KERNEL_TYPES)
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
    (void)run;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < w->n; j++) {
            double sum = add ? (double)out[i * w->n + j] : 0;
            for (size_t l = 0; l < w->k; l++)
                sum += (double)a[i * w->k + l] * (double)ref_weight_at(w, j, l);
            out[i * w->n + j] = (float)sum;
        }
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

static int gather(struct kernel_run *run, float *out,
                  const struct kernel_weight *w, const int32_t *host_row,
                  size_t m)
{
    (void)run;
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < w->k; l++)
            out[i * w->k + l] = ref_weight_at(w, (size_t)host_row[i], l);
    return KERNEL_OK;
}

void ref_fill_matmuls(struct kernels *table)
{
    table->weight = weight;
    table->weight_free = weight_free;
    table->matmul = matmul;
    table->matmul_bias = matmul_bias;
    table->gather = gather;
}
