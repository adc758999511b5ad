/* How fast products with weights in blocks are, one thread, in one run:
 *
 *     bench_blocks [avx2|avx_vnni|all] [K]
 *
 * all and 2048 when not given.  A JSON object for each type, of random blocks
 * [4096, K]: `one`, the GB/s of weights at which one row is multiplied, and `many`,
 * 10^9 multiplications a second with 512 rows, the best, by the processor's
 * time.  The weights stay in a cache of some MB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/blocks.h"
#include "kernels/cpu/cpu_internal.h"
#include "tests/bench/rate.h"

enum { N = 4096, ROWS = 512 };

struct product {
    float *out;
    const float *a;
    const struct kernel_weight *w;
    size_t m;
};

static void multiply(void *argument)
{
    const struct product *p = argument;
    struct kernel_run run = {0};
    if (kernels_cpu()->matmul(&run, p->out, p->a, p->w, p->m, false))
        exit(1);
}

static void measure(int type, size_t k, struct product p)
{
    const size_t bytes = N * kernel_row_bytes(type, k);
    unsigned char *rows = mem_alloc(bytes);
    struct kernel_run run = {0};
    struct kernel_weight *w = NULL;
    for (size_t i = 0; i < bytes; i++)
        rows[i] = (unsigned char)(rand() & 0x3B); /* halves that are small */
    if (kernels_cpu()->weight(&run, rows, type, N, k, &w))
        exit(1);
    p.w = w;
    p.m = 1;
    printf("{\"type\": \"%s\", \"one\": %.1f, ", block_kind(type)->name,
           1e-9 * rate(multiply, &p, (double)bytes).core);
    p.m = ROWS;
    printf("\"many\": %.1f}\n",
           1e-9 * rate(multiply, &p, (double)ROWS * N * (double)k).core);
    kernels_cpu()->weight_free(&run, w);
    free(rows);
}

int main(int count, char **words)
{
    const char *level = count > 1 ? words[1] : "all";
    const size_t k = count > 2 ? strtoul(words[2], NULL, 10) : 2048;
    if (!strcmp(level, "avx2") && !cpu_limit(CPU_AVX2))
        return 2;
    if (!strcmp(level, "avx_vnni") && !cpu_limit(CPU_AVX_VNNI))
        return 2;
    float *a = mem_alloc(ROWS * k * sizeof *a),
          *out = mem_alloc(ROWS * N * sizeof *out);
    for (size_t i = 0; i < ROWS * k; i++)
        a[i] = (float)rand() / (float)RAND_MAX - 0.5F;
    for (int type = KERNEL_Q4_0; type <= KERNEL_IQ4_XS; type++)
        if (k % block_kind(type)->values == 0)
            measure(type, k, (struct product){out, a, NULL, 0});
    free(a);
    free(out);
    return 0;
}
