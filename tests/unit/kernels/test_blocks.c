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

/* ---- On a device, by emulation ---- */

static struct kernel_run its;

static float *on_device(const struct kernels *table, const float *values,
                        size_t count)
{
    float *memory = table->allocate(&its, (count + 1) * sizeof *memory);
    assert_non_null(memory);
    assert_int_equal(
        table->upload(&its, memory, values, count * sizeof *values), 0);
    return memory;
}

static float *numbers(size_t count)
{
    float *values = mem_alloc((count + 1) * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = i / 32 % 5 == 3 ? 0 : number();
    return values;
}

static void check_near(const struct product *p, const char *what,
                       const float *got)
{
    for (size_t i = 0; i < p->m * p->n; i++)
        if (!(fabsf(got[i] - p->expected[i]) <= p->bound[i]))
            fail_msg("%s, %s, %zu rows [%zu, %zu]: %g, not %g, within %g", what,
                     block_kind(p->type)->name, p->m, p->n, p->k,
                     (double)got[i], (double)p->expected[i],
                     (double)p->bound[i]);
}

/* Of 16 rows and more weights and rows are rounded to 8 bits each, half of 2^-8. */
static void bound_of_many(struct product *p)
{
    float *row = mem_alloc(p->k * sizeof *row);
    struct kernel_weight *w = NULL;
    kernels_ref()->weight(&run, p->w, p->type, p->n, p->k, &w);
    for (size_t j = 0; j < p->n; j++) {
        ref_weight_values(w, j, row);
        for (size_t i = 0; i < p->m; i++) {
            float bound = 2e-6F;
            for (size_t l = 0; l < p->k; l++)
                bound += fabsf(p->a[i * p->k + l] * row[l]) * 0x1.02p-8F;
            p->bound[i * p->n + j] = bound;
        }
    }
    kernels_ref()->weight_free(&run, w);
    free(row);
}

/* What many rows may have to do without; our own kernel rounds as of few, then. */
enum lack { LACKS_NOTHING, LACKS_BLAS, LACKS_MEMORY };

static void check_without(const struct kernels *table, int type, size_t m,
                          size_t n, size_t k, bool add, enum lack lack)
{
    struct product p = {.type = type, .m = m, .n = n, .k = k, .add = add};
    struct kernel_weight *w = NULL;
    float *got = mem_alloc(m * n * sizeof *got);
    p.a = numbers(m * k);
    p.expected = mem_alloc(m * n * sizeof *p.expected);
    p.bound = mem_alloc(m * n * sizeof *p.bound);
    p.w = some_blocks(type, n, k);
    expect(&p);
    if (m >= 16 && lack == LACKS_NOTHING)
        bound_of_many(&p);
    for (size_t i = 0; i < m * n; i++)
        got[i] = 1;
    float *x = on_device(table, p.a, m * k),
          *out = on_device(table, got, m * n);
    assert_int_equal(table->weight(&its, p.w, type, n, k, &w), 0);
    emulated_without_blas(lack == LACKS_BLAS);
    if (lack == LACKS_MEMORY)
        emulated_fail(EMULATED_NO_MEMORY, 1); /* behind the rounded rows */
    assert_int_equal(table->matmul(&its, out, x, w, m, add), 0);
    emulated_without_blas(false);
    assert_int_equal(table->download(&its, got, out, m * n * sizeof *got), 0);
    check_near(&p, "product", got);
    table->weight_free(&its, w);
    table->release(&its, x);
    table->release(&its, out);
    free(p.a);
    free(p.expected);
    free(p.bound);
    free(p.w);
    free(got);
}

static void check_on_device(const struct kernels *table, int type, size_t m,
                            size_t n, size_t k, bool add)
{
    check_without(table, type, m, n, k, add, LACKS_NOTHING);
}

static const struct kernels *emulated(void)
{
    const char *reason = NULL;
    const struct kernels *table = kernels_emulated(&reason);
    if (!table)
        printf("SKIP cuda emulated: %s\n", reason);
    return table;
}

static void a_device_multiplies_by_them(void **state)
{
    static const size_t rows[] = {1, 2, 5, 17};
    const struct kernels *table = emulated();
    (void)state;
    for (int type = KERNEL_Q4_0; table && type < KERNEL_ALL_TYPES; type++) {
        size_t values = block_kind(type)->values;
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            check_on_device(table, type, rows[r], 1, values, false);
            check_on_device(table, type, rows[r], 9, 5 * values, true);
            check_on_device(table, type, rows[r], 70, 2 * values, false);
        }
        /* more than is rounded at once */
        check_on_device(table, type, 1, 5, 16384 + 3 * values, false);
        check_on_device(table, type, 6, 5, 4096 + 3 * values, true);
        check_without(table, type, 17, 9, 2 * values, true, LACKS_BLAS);
        check_without(table, type, 17, 9, 2 * values, true, LACKS_MEMORY);
    }
}

/* Several products of normed rows, of other types too, and two that become one: as of
 * the decoded weights in f32, within what rounding of the rows does. */
static void check_together(const struct kernels *table, int type, int other,
                           size_t m, size_t k)
{
    enum { N = 21, COUNT = 3 };
    const int types[COUNT] = {type, other, KERNEL_F32};
    struct kernel_weight *mine[COUNT] = {NULL}, *wide[COUNT] = {NULL};
    struct kernel_product got[COUNT], want[COUNT];
    void *host[COUNT], *decoded[COUNT];
    float *a = numbers(m * k), *norm = numbers(k), *bias = numbers(N);
    float *x = on_device(table, a, m * k), *of = on_device(table, norm, k);
    float *more = on_device(table, bias, N), *zeros = numbers(m * N);
    const struct kernel_rows in = {x, of, 1e-5F, on_device(table, a, m * k)};
    for (size_t i = 0; i < COUNT; i++) {
        float *values = mem_alloc(N * k * sizeof *values);
        host[i] = types[i] == KERNEL_F32 ? (void *)numbers(N * k)
                                         : some_blocks(types[i], N, k);
        if (types[i] == KERNEL_F32)
            memcpy(values, host[i], N * k * sizeof *values);
        else
            blocks_decode(types[i], host[i], N * k, values);
        decoded[i] = values;
        assert_int_equal(table->weight(&its, host[i], types[i], N, k, &mine[i]),
                         0);
        assert_int_equal(
            table->weight(&its, values, KERNEL_F32, N, k, &wide[i]), 0);
        got[i] = (struct kernel_product){on_device(table, zeros, m * N),
                                         mine[i], i ? NULL : more, NULL};
        want[i] = got[i];
        want[i].out = on_device(table, zeros, m * N);
        want[i].w = wide[i];
    }
    for (int gated = 0; gated < 2; gated++) {
        const struct kernel_gate ours = {got[0], got[1], KERNEL_SILU};
        const struct kernel_gate theirs = {want[0], want[1], KERNEL_SILU};
        assert_int_equal(gated ? table->matmul_gated(&its, &ours, &in, m)
                               : table->matmuls(&its, got, COUNT, &in, m),
                         0);
        assert_int_equal(gated ? table->matmul_gated(&its, &theirs, &in, m)
                               : table->matmuls(&its, want, COUNT, &in, m),
                         0);
        for (size_t i = 0; i < (gated ? 1 : COUNT); i++) {
            float *one = mem_alloc(m * N * sizeof *one);
            float *two = mem_alloc(m * N * sizeof *two);
            table->download(&its, one, got[i].out, m * N * sizeof *one);
            table->download(&its, two, want[i].out, m * N * sizeof *two);
            double error = case_error(one, two, m * N);
            if (!(error <= (m < 16 ? 1e-3 : 8e-3)))
                fail_msg("%s, %zu rows of %zu, product %zu%s: error %g",
                         block_kind(type)->name, m, k, i,
                         gated ? ", gated" : "", error);
            free(one);
            free(two);
        }
    }
    for (size_t i = 0; i < COUNT; i++) {
        table->weight_free(&its, mine[i]);
        table->weight_free(&its, wide[i]);
        table->release(&its, got[i].out);
        table->release(&its, want[i].out);
        free(host[i]);
        free(decoded[i]);
    }
    table->release(&its, x);
    table->release(&its, of);
    table->release(&its, more);
    table->release(&its, in.room);
    free(a);
    free(norm);
    free(bias);
    free(zeros);
}

static void a_device_takes_several(void **state)
{
    const struct kernels *table = emulated();
    (void)state;
    for (int type = KERNEL_Q4_0; table && type < KERNEL_ALL_TYPES; type++) {
        size_t k = type < KERNEL_Q2_K ? 96 : 512;
        int other = type < KERNEL_Q2_K ? KERNEL_Q8_0 : KERNEL_Q6_K;
        check_together(table, type, other, 1, k);
        check_together(table, type, other, 3, k);
        check_together(table, type, KERNEL_F32, 1, k);
    }
    if (table) {
        check_together(table, KERNEL_Q4_K, KERNEL_Q6_K, 5, 4096 + 512);
        check_together(table, KERNEL_Q5_0, KERNEL_Q8_0, 20, 64);
    }
}

/* As of other weights: a launch for products of the same rows, one for gate and up,
 * and one that puts the step's words there. */
static void a_step_takes_no_more_launches(void **state)
{
    enum { N = 21, K = 512, STEPS = 8 };
    static const int types[] = {KERNEL_Q4_K, KERNEL_Q4_K, KERNEL_Q6_K};
    const struct kernels *table = emulated();
    struct kernel_product of[3] = {{0}};
    struct kernel_weight *w[3] = {NULL};
    unsigned char *host[3];
    float *x = numbers(K);
    (void)state;
    its.step = NULL;
    float *memory = table ? on_device(table, x, K) : NULL;
    const struct kernel_rows in = {.x = memory};
    for (size_t i = 0; table && i < 3; i++) {
        host[i] = some_blocks(types[i], N, K);
        assert_int_equal(table->weight(&its, host[i], types[i], N, K, &w[i]),
                         0);
        of[i] =
            (struct kernel_product){.out = on_device(table, x, N), .w = w[i]};
    }
    for (size_t i = 0; table && i < STEPS; i++) {
        const struct kernel_gate gate = {of[0], of[1], KERNEL_SILU};
        assert_int_equal(table->graph_begin(&its), 0);
        assert_int_equal(table->matmuls(&its, of, 3, &in, 1), 0);
        assert_int_equal(table->matmul_gated(&its, &gate, &in, 1), 0);
        assert_int_equal(table->graph_end(&its), 0);
    }
    if (table)
        assert_int_equal(emulated_steps_seen()->nodes, 3);
    for (size_t i = 0; table && i < 3; i++) {
        table->weight_free(&its, w[i]);
        table->release(&its, of[i].out);
        free(host[i]);
    }
    if (table) {
        table->release(&its, memory);
        table->run_end(&its);
    }
    free(x);
}

/* Rows of an embedding are the decoded ones. */
static void a_device_decodes_rows(void **state)
{
    enum { N = 5, COUNT = 3 };
    static const int32_t row[COUNT] = {4, 0, 4};
    const struct kernels *table = emulated();
    (void)state;
    for (int type = KERNEL_Q4_0; table && type < KERNEL_ALL_TYPES; type++) {
        size_t k = 3 * block_kind(type)->values;
        struct kernel_weight *w = NULL;
        unsigned char *host = some_blocks(type, N, k);
        float *want = mem_alloc(k * sizeof *want), *got = numbers(COUNT * k);
        float *out = on_device(table, got, COUNT * k);
        assert_int_equal(table->weight(&its, host, type, N, k, &w), 0);
        assert_int_equal(table->gather(&its, out, w, row, COUNT), 0);
        table->download(&its, got, out, COUNT * k * sizeof *got);
        for (size_t i = 0; i < COUNT; i++) {
            size_t from = (size_t)row[i] * kernel_row_bytes(type, k);
            blocks_decode(type, host + from, k, want);
            assert_true(case_error(got + i * k, want, k) <= 1e-6);
        }
        table->weight_free(&its, w);
        table->release(&its, out);
        free(host);
        free(want);
        free(got);
    }
}

/* The file's bytes, and nothing of more bits beside them. */
static void a_device_keeps_their_bytes(void **state)
{
    enum { N = 3000, K = 4096 }; /* the largest here */
    const struct kernels *table = emulated();
    struct kernel_weight *w = NULL;
    struct kernel_device facts;
    (void)state;
    if (!table)
        return;
    unsigned char *host = some_blocks(KERNEL_Q4_K, N, K);
    size_t bytes = N * kernel_row_bytes(KERNEL_Q4_K, K);
    assert_int_equal(table->weight(&its, host, KERNEL_Q4_K, N, K, &w), 0);
    assert_true(table->device(&facts));
    assert_in_range(facts.held, bytes, bytes + bytes / 8);
    table->weight_free(&its, w);
    free(host);
}

static void check_refused(const struct kernels *table, int type)
{
    size_t k = block_kind(type)->values;
    struct kernel_weight *w = NULL;
    unsigned char *rows = some_blocks(type, 1, k);
    float a[256] = {0}, got = 0;
    assert_int_equal(table->weight(&its, rows, type, 1, k - 1, &w),
                     KERNEL_UNSUPPORTED);
    assert_int_equal(table->weight(&its, rows, type, 1, k, &w), 0);
    for (int odd = 0; odd < 2; odd++) {
        a[k - 3] = odd ? NAN : 0;
        float *x = on_device(table, a, k), *out = on_device(table, &got, 1);
        assert_int_equal(table->matmul(&its, out, x, w, 1, false), 0);
        table->download(&its, &got, out, sizeof got);
        assert_true(odd ? isnan(got) : got == 0);
        table->release(&its, x);
        table->release(&its, out);
    }
    table->weight_free(&its, w);
    free(rows);
}

static void a_device_refuses_as_well(void **state)
{
    const struct kernels *table = emulated();
    (void)state;
    for (int type = KERNEL_Q4_0; table && type < KERNEL_ALL_TYPES; type++)
        check_refused(table, type);
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
        cmocka_unit_test(a_device_multiplies_by_them),
        cmocka_unit_test(a_device_takes_several),
        cmocka_unit_test(a_step_takes_no_more_launches),
        cmocka_unit_test(a_device_decodes_rows),
        cmocka_unit_test(a_device_keeps_their_bytes),
        cmocka_unit_test(a_device_refuses_as_well),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
