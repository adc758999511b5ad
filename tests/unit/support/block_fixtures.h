/* What the tests of weights in blocks share: golden blocks, and products by the plain
 * backend with what may differ. */
#ifndef TESTS_UNIT_SUPPORT_BLOCK_FIXTURES_H
#define TESTS_UNIT_SUPPORT_BLOCK_FIXTURES_H

#include "tests/unit/support/unit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/safetensors.h"
#include "kernels/blocks.h"
#include "kernels/ref/ref.h"

static struct kernel_run run;
static uint64_t block_seed = 28;

static inline float number(void)
{
    return (float)unit_below(&block_seed, 2001) / 1000 - 1;
}

static inline const struct tensor *golden_blocks(const struct safetensors *file,
                                                 int type, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", block_kind(type)->name, part);
    const struct tensor *tensor = safetensors_find(file, name);
    assert_non_null(tensor);
    return tensor;
}

/* Random golden blocks in random order. */
static inline unsigned char *some_blocks(int type, size_t n, size_t k)
{
    struct safetensors *file;
    size_t bytes = block_kind(type)->bytes,
           size = n * kernel_row_bytes(type, k);
    unsigned char *rows = mem_alloc(size);
    assert_int_equal(
        safetensors_open("tests/golden/blocks/blocks.safetensors", &file, NULL),
        0);
    const struct tensor *blocks = golden_blocks(file, type, "blocks");
    for (size_t at = 0; at < size; at += bytes)
        memcpy(rows + at,
               (const char *)blocks->data +
                   unit_below(&block_seed, (uint32_t)blocks->shape[0]) * bytes,
               bytes);
    safetensors_close(file);
    return rows;
}

/* The most that a number may be off where rows are rounded (cpu_blocks.h). */
static inline float rounding(const float *x, size_t at)
{
    float max = 0;
    for (size_t i = at / 32 * 32; i < at / 32 * 32 + 32; i++)
        max = fmaxf(max, fabsf(x[i]));
    return max / 32512;
}

struct product {
    int type;
    size_t m, n, k;
    bool add;
    float *a, *expected, *bound; /* [m, k], [m, n]; of the difference */
    unsigned char *w;
};

/* By the plain backend. */
static inline void expect(struct product *p)
{
    float *row = mem_alloc(p->k * sizeof *row);
    struct kernel_weight *w = NULL;
    assert_int_equal(kernels_ref()->weight(&run, p->w, p->type, p->n, p->k, &w),
                     0);
    for (size_t i = 0; i < p->m * p->n; i++)
        p->expected[i] = 1;
    assert_int_equal(
        kernels_ref()->matmul(&run, p->expected, p->a, w, p->m, p->add), 0);
    for (size_t j = 0; j < p->n; j++) {
        ref_weight_values(w, j, row);
        for (size_t i = 0; i < p->m; i++) {
            const float *a = p->a + i * p->k;
            float bound = 2e-6F;
            for (size_t l = 0; l < p->k; l++)
                bound += fabsf(row[l]) * rounding(a, l) +
                         2e-6F * fabsf(a[l]) * (fabsf(row[l]) + .5F);
            p->bound[i * p->n + j] = bound;
        }
    }
    kernels_ref()->weight_free(&run, w);
    free(row);
}

#endif
