/* Weights in blocks: what they are, and products with them. */
#include "tests/unit/support/unit.h"

#include <math.h>
#include <string.h>

#include "base/gguf.h"
#include "base/mem.h"
#include "kernels/blocks.h"
#include "kernels/cpu/cpu_internal.h"
#include "kernels/ref/ref.h"
#include "tests/cuda/emulated.h"
#include "tests/programs/cases.h"

static struct kernel_run run;
static uint64_t seed = 28;

static float number(void)
{
    return (float)unit_below(&seed, 2001) / 1000 - 1;
}

static const struct tensor *golden(const struct safetensors *file, int type,
                                   const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s", block_kind(type)->name, part);
    const struct tensor *tensor = safetensors_find(file, name);
    assert_non_null(tensor);
    return tensor;
}

/* As llama.cpp's own package decodes them. */
static void test_decode(void **state)
{
    struct safetensors *file;
    (void)state;
    assert_int_equal(
        safetensors_open("tests/golden/blocks/blocks.safetensors", &file, NULL),
        0);
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++) {
        const struct tensor *blocks = golden(file, type, "blocks"),
                            *weights = golden(file, type, "weights");
        size_t count = tensor_values(weights);
        float *out = mem_alloc(count * sizeof *out);
        assert_int_equal(blocks->shape[1], block_kind(type)->bytes);
        assert_int_equal(weights->shape[1], block_kind(type)->values);
        assert_int_equal(kernel_row_bytes(type, count), blocks->bytes);
        blocks_decode(type, blocks->data, count, out);
        for (size_t i = 0; i < count; i++) {
            float expected;
            memcpy(&expected, (const char *)weights->data + i * 4, 4);
            if (!(fabsf(out[i] - expected) <= 1e-6F * fabsf(expected) + 1e-7F))
                fail_msg("%s, weight %zu: %g, not %g", block_kind(type)->name,
                         i, (double)out[i], (double)expected);
        }
        free(out);
    }
    safetensors_close(file);
}

/* ---- Products ---- */

/* Random golden blocks in random order. */
static unsigned char *some_blocks(int type, size_t n, size_t k)
{
    struct safetensors *file;
    size_t bytes = block_kind(type)->bytes,
           size = n * kernel_row_bytes(type, k);
    unsigned char *rows = mem_alloc(size + 64);
    assert_int_equal(
        safetensors_open("tests/golden/blocks/blocks.safetensors", &file, NULL),
        0);
    const struct tensor *blocks = golden(file, type, "blocks");
    for (size_t at = 0; at < size; at += bytes)
        memcpy(rows + at,
               (const char *)blocks->data +
                   unit_below(&seed, (uint32_t)blocks->shape[0]) * bytes,
               bytes);
    safetensors_close(file);
    return rows;
}

/* The most that a number may be off where rows are rounded (cpu_blocks.h). */
static float rounding(const float *x, size_t at)
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
static void expect(struct product *p)
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

static void check_product(const struct product *p, const char *level)
{
    struct kernel_weight *w = NULL;
    float *out = mem_alloc(p->m * p->n * sizeof *out),
          *one = mem_alloc(p->n * sizeof *one);
    assert_int_equal(kernels_cpu()->weight(&run, p->w, p->type, p->n, p->k, &w),
                     0);
    for (size_t i = 0; i < p->m * p->n; i++)
        out[i] = 1;
    assert_int_equal(kernels_cpu()->matmul(&run, out, p->a, w, p->m, p->add),
                     0);
    for (size_t i = 0; i < p->m * p->n; i++)
        if (!(fabsf(out[i] - p->expected[i]) <= p->bound[i]))
            fail_msg("%s, %s, %zu rows [%zu, %zu]: %g, not %g", level,
                     block_kind(p->type)->name, p->m, p->n, p->k,
                     (double)out[i], (double)p->expected[i]);
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++)
            one[j] = 1;
        kernels_cpu()->matmul(&run, one, p->a + i * p->k, w, 1, p->add);
        assert_memory_equal(one, out + i * p->n, p->n * sizeof *one);
    }
    kernels_cpu()->weight_free(&run, w);
    free(out);
    free(one);
}

static void check_shape(int type, size_t m, size_t n, size_t k, bool add)
{
    static const char *const names[] = {"plain", "avx2", "avx512", "amx"};
    struct product p = {.type = type, .m = m, .n = n, .k = k, .add = add};
    p.a = mem_alloc(m * k * sizeof *p.a);
    p.expected = mem_alloc(m * n * sizeof *p.expected);
    p.bound = mem_alloc(m * n * sizeof *p.bound);
    p.w = some_blocks(type, n, k);
    for (size_t i = 0; i < m * k; i++)
        p.a[i] = i / 32 % 5 == 3 ? 0 : number();
    expect(&p);
    for (enum cpu_level level = CPU_PLAIN; level <= CPU_AMX; level++) {
        if (!cpu_limit(level))
            continue;
        check_product(&p, names[level]);
    }
    cpu_limit_none();
    free(p.a);
    free(p.expected);
    free(p.bound);
    free(p.w);
}

static void test_products(void **state)
{
    static const size_t rows[] = {1, 2, 5, 33};
    (void)state;
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++)
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            size_t values = block_kind(type)->values;
            check_shape(type, rows[r], 1, values, false);
            check_shape(type, rows[r], 7, 3 * values, true);
            check_shape(type, rows[r], 32, 2 * values, false);
        }
}

/* On a device blocks are f32: products are the oracle's, of few rows and of many. */
static void check_on_device(const struct kernels *table, int type, size_t m)
{
    enum { N = 9 };
    struct kernel_run its = {.step = NULL};
    struct kernel_weight *plain = NULL, *w = NULL;
    size_t k = 2 * block_kind(type)->values, bytes = m * k * sizeof(float);
    unsigned char *rows = some_blocks(type, N, k);
    float *a = mem_alloc(bytes), *want = mem_alloc(m * N * sizeof *want);
    float *got = mem_alloc(m * N * sizeof *got);
    float *x = table->allocate(&its, bytes);
    float *out = table->allocate(&its, m * N * sizeof *out);
    for (size_t i = 0; i < m * k; i++)
        a[i] = number();
    assert_int_equal(kernels_ref()->weight(&run, rows, type, N, k, &plain), 0);
    assert_int_equal(table->weight(&its, rows, type, N, k, &w), 0);
    assert_int_equal(table->upload(&its, x, a, bytes), 0);
    assert_int_equal(kernels_ref()->matmul(&run, want, a, plain, m, false), 0);
    assert_int_equal(table->matmul(&its, out, x, w, m, false), 0);
    assert_int_equal(table->download(&its, got, out, m * N * sizeof *got), 0);
    double error = case_error(got, want, m * N);
    if (!(error <= 1e-5))
        fail_msg("%s, %zu rows: error %g", block_kind(type)->name, m, error);
    table->weight_free(&its, w);
    kernels_ref()->weight_free(&run, plain);
    table->release(&its, x);
    table->release(&its, out);
    free(rows);
    free(a);
    free(want);
    free(got);
}

static void a_device_widens_them(void **state)
{
    (void)state;
    const char *reason = NULL;
    const struct kernels *table = kernels_emulated(&reason);
    if (!table)
        printf("SKIP cuda emulated: %s\n", reason);
    for (int type = KERNEL_Q4_0; table && type < KERNEL_ALL_TYPES; type++) {
        check_on_device(table, type, 1);
        check_on_device(table, type, 17);
    }
}

/* A row is of whole blocks; what is no number does not get lost. */
static void test_refused(void **state)
{
    float a[256] = {0}, out[1];
    (void)state;
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++) {
        size_t k = block_kind(type)->values;
        struct kernel_weight *w = NULL;
        unsigned char *rows = some_blocks(type, 1, k);
        assert_int_equal(kernels_cpu()->weight(&run, rows, type, 1, k - 1, &w),
                         KERNEL_UNSUPPORTED);
        assert_int_equal(kernels_cpu()->weight(&run, rows, type, 1, k, &w), 0);
        a[k - 3] = NAN;
        assert_int_equal(kernels_cpu()->matmul(&run, out, a, w, 1, false), 0);
        assert_true(isnan(out[0]));
        a[k - 3] = 0;
        assert_int_equal(kernels_cpu()->matmul(&run, out, a, w, 1, false), 0);
        assert_true(out[0] == 0);
        kernels_cpu()->weight_free(&run, w);
        free(rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_products),
        cmocka_unit_test(a_device_widens_them),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
