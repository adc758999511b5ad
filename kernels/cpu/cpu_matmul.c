#include <stdlib.h>

#include "kernels/cpu/cpu_blocks.h"
#include "kernels/cpu/cpu_internal.h"
#include "kernels/cpu/packed_cache.h"
#include "kernels/cpu/cpu_packed.h"
#include "kernels/cpu/cpu_tiles.h"

/* As f32 (packed_cache.h); of a vocabulary 0: rows of it are gathered, and few rows
 * are multiplied by it. */
static size_t size_of(const struct kernel_weight *w)
{
    const size_t most = 8; /* rows for each column, of a layer's weight */
    return w->n / most > w->k ? 0 : w->n * w->k * sizeof(float);
}

static int weight(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret)
{
    struct kernel_weight *w = NULL;
    int code = kernels_ref()->weight(run, host, type, n, k, &w);
    if (code)
        return code;
    w->packed[0] = packed_new(false);
    w->packed[1] = packed_new(true);
    w->tiles = tiles_new();
    if (!w->packed[0] || !w->packed[1] || !w->tiles) {
        packed_free(w->packed[0]);
        packed_free(w->packed[1]);
        tiles_free(w->tiles);
        kernels_ref()->weight_free(run, w);
        return KERNEL_NO_MEMORY;
    }
    packed_cache_weight(size_of(w));
    *ret = w;
    return KERNEL_OK;
}

static void weight_free(struct kernel_run *run, struct kernel_weight *w)
{
    if (w) {
        packed_free(w->packed[0]);
        packed_free(w->packed[1]);
        tiles_free(w->tiles);
        packed_cache_weight_gone(size_of(w));
    }
    kernels_ref()->weight_free(run, w);
}

static int matmul(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, size_t m, bool add)
{
    if (run->int8 && cpu_int8 && m) {
        int code = packed_matmul(run, out, a, w, m, true, add);
        if (code != KERNEL_UNSUPPORTED)
            return code;
    }
    if (m && kernel_is_blocks(w->type))
        return cpu_blocks_matmul(run, out, a, w, m, add);
    if (cpu_amx && m >= TILES_MIN_ROWS && w->k)
        return tiles_matmul(run, out, a, w, m, add);
    if (m >= PACKED_MIN_ROWS) {
        int code = packed_matmul(run, out, a, w, m, false, add);
        if (code != KERNEL_UNSUPPORTED)
            return code;
    }
    if (m)
        cpu_rows(run, out, a, lanes_of(w), m, w->n, w->k, add);
    return KERNEL_OK;
}

static int matmul_bias(struct kernel_run *run, float *out, const float *a,
                       const struct kernel_weight *w, const float *bias,
                       size_t m, bool add)
{
    int code = matmul(run, out, a, w, m, add);
    return code ? code : kernels_cpu()->add_bias(run, out, bias, m, w->n);
}

static int matmuls(struct kernel_run *run,
                   const struct kernel_product *products, size_t count,
                   const struct kernel_rows *a, size_t m)
{
    return ref_matmuls(kernels_cpu(), run, products, count, a, m);
}

static int matmul_gated(struct kernel_run *run, const struct kernel_gate *gate,
                        const struct kernel_rows *a, size_t m)
{
    return ref_matmul_gated(kernels_cpu(), run, gate, a, m);
}

static int feed_forward(struct kernel_run *run, const struct kernel_feed *feed,
                        const struct kernel_rows *a, size_t m)
{
    return ref_feed_forward(kernels_cpu(), run, feed, a, m);
}

static int gather(struct kernel_run *run, float *out,
                  const struct kernel_weight *w, const int32_t *host_row,
                  size_t m)
{
    (void)run;
    for (size_t i = 0; i < m; i++, out += w->k)
        cpu_lanes->widen(
            out, lanes_weight_from(lanes_of(w), (size_t)host_row[i], w->k), 1,
            w->k);
    return KERNEL_OK;
}

void cpu_fill_matmuls(struct kernels *table)
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
