/* Weights in blocks: what they are, and products with them. */
#include "tests/unit/support/block_fixtures.h"

#include <pthread.h>

#include "base/pool.h"
#include "kernels/cpu/cpu_internal.h"

/* As llama.cpp's own package decodes them. */
static void test_decode(void **state)
{
    struct safetensors *file;
    (void)state;
    assert_int_equal(
        safetensors_open("tests/golden/blocks/blocks.safetensors", &file, NULL),
        0);
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++) {
        const struct tensor *blocks = golden_blocks(file, type, "blocks"),
                            *weights = golden_blocks(file, type, "weights");
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

/* `same` [m, n]: what an instruction set before this one had, if any: the same bits. */
static void check_product(const struct product *p, const char *level,
                          float *same, bool compare)
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
    if (compare)
        assert_memory_equal(out, same, p->m * p->n * sizeof *out);
    memcpy(same, out, p->m * p->n * sizeof *out);
    kernels_cpu()->weight_free(&run, w);
    free(out);
    free(one);
}

static void check_shape(int type, size_t m, size_t n, size_t k, bool add)
{
    static const char *const names[] = {"plain", "avx2", "avx_vnni", "avx512",
                                        "amx"};
    struct product p = {.type = type, .m = m, .n = n, .k = k, .add = add};
    float *same = mem_alloc(m * n * sizeof *same);
    bool compare = false;
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
        check_product(&p, names[level], same, compare);
        compare = level > CPU_PLAIN;
    }
    cpu_limit_none();
    free(p.a);
    free(p.expected);
    free(p.bound);
    free(p.w);
    free(same);
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
            check_shape(type, rows[r], 50, 9 * values, true);
        }
    for (size_t parts = 1; parts < 20; parts++) /* of which eight are a group */
        check_shape(KERNEL_Q4_1, 5, 35, 32 * parts, false);
}

/* More rows than are rounded at once. */
static void test_many_rows(void **state)
{
    (void)state;
    check_shape(KERNEL_Q4_0, 300, 3, 8192, false);
}

/* Up to 64 groups of a row are unpacked for many rows; more are not, nor is there
 * room kept for the last. */
static void test_long_rows(void **state)
{
    (void)state;
    check_shape(KERNEL_Q8_0, 5, 3, 16384, false);
    check_shape(KERNEL_Q8_0, 5, 3, 16384 + 32, false);
    check_shape(KERNEL_Q4_K, 5, 3, 16384 + 256, true);
    check_shape(KERNEL_Q4_0, 2, 1, 1401888, false);
}

/* ---- Threads ---- */

/* A product, and what it has to be. */
struct shared {
    const struct kernel_weight *w;
    float *a, *expected;
    size_t m, n;
    struct kernel_pool pool;
    bool same;
};

static void *multiply(void *argument)
{
    struct shared *shared = argument;
    struct kernel_run own = {.pool = shared->pool};
    size_t bytes = shared->m * shared->n * sizeof *shared->expected;
    float *out = mem_alloc(bytes);
    shared->same = true;
    for (size_t i = 0; i < 10; i++) {
        kernels_cpu()->matmul(&own, out, shared->a, shared->w, shared->m,
                              false);
        shared->same = shared->same && !memcmp(out, shared->expected, bytes);
    }
    free(out);
    return NULL;
}

/* Three at once, each with rows of its own: more than there are rooms kept. */
static void multiply_at_once(struct kernel_weight *w, size_t m, size_t n,
                             size_t k, struct kernel_pool pool)
{
    struct shared each[3];
    pthread_t threads[3];
    for (size_t t = 0; t < 3; t++) {
        each[t] = (struct shared){.w = w, .m = m, .n = n, .pool = pool};
        each[t].a = mem_alloc(m * k * sizeof *each[t].a);
        each[t].expected = mem_alloc(m * n * sizeof *each[t].expected);
        for (size_t i = 0; i < m * k; i++)
            each[t].a[i] = number();
        kernels_cpu()->matmul(&run, each[t].expected, each[t].a, w, m, false);
    }
    for (size_t t = 0; t < 3; t++)
        assert_int_equal(pool_thread(&threads[t], multiply, &each[t]), 0);
    for (size_t t = 0; t < 3; t++) {
        pthread_join(threads[t], NULL);
        assert_true(each[t].same);
        free(each[t].a);
        free(each[t].expected);
    }
}

/* Threads that share a product out, and that have one each: the same bits. */
static void test_threads(void **state)
{
    enum { N = 77, K = 2048 };
    static const size_t rows[] = {1, 3, 130};
    struct pool *pool;
    struct kernel_weight *w = NULL;
    unsigned char *blocks = some_blocks(KERNEL_Q4_0, N, K);
    (void)state;
    assert_int_equal(pool_new(3, &pool, NULL), 0);
    assert_int_equal(kernels_cpu()->weight(&run, blocks, KERNEL_Q4_0, N, K, &w),
                     0);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        multiply_at_once(w, rows[r], N, K,
                         (struct kernel_pool){pool, pool_parallel_for, 3});
    kernels_cpu()->weight_free(&run, w);
    free(blocks);
    pool_free(pool);
}

/* x, or x - x + x, by a block of ones. */
static float product_with(float x, bool thrice)
{
    float a[32] = {0}, out[1];
    uint16_t one = 0x3C00; /* 1 in f16 */
    unsigned char block[34];
    struct kernel_weight *w = NULL;
    memset(block, 1, sizeof block);
    memcpy(block, &one, sizeof one);
    a[0] = x;
    if (thrice) {
        a[9] = -x;
        a[16] = x;
    }
    assert_int_equal(kernels_cpu()->weight(&run, block, KERNEL_Q8_0, 1, 32, &w),
                     0);
    assert_int_equal(kernels_cpu()->matmul(&run, out, a, w, 1, false), 0);
    kernels_cpu()->weight_free(&run, w);
    return out[0];
}

/* What is very large or very small is a number still; what is infinite is not. */
static void test_extremes(void **state)
{
    (void)state;
    for (enum cpu_level level = CPU_AVX2; level <= CPU_AMX; level++) {
        if (!cpu_limit(level))
            continue;
        assert_true(fabsf(product_with(3e38F, false) - 3e38F) < 1e35F);
        assert_true(fabsf(product_with(3e38F, true) - 3e38F) < 1e35F);
        assert_true(fabsf(product_with(1e-33F, false) - 1e-33F) < 1e-36F);
        assert_true(fabsf(product_with(1e-40F, true)) < 1e-34F);
        assert_true(!isfinite(product_with(INFINITY, false)));
        assert_true(!isfinite(product_with(-INFINITY, false)));
        assert_true(!isfinite(product_with(INFINITY, true)));
        assert_true(isnan(product_with(NAN, true)));
    }
    cpu_limit_none();
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
        cmocka_unit_test(test_decode),    cmocka_unit_test(test_products),
        cmocka_unit_test(test_many_rows), cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
