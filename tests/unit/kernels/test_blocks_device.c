/* Weights in blocks on a device: emulated, and a real one where there is one. */
#include "tests/unit/support/block_fixtures.h"
#include "tests/unit/support/devices.h"

#include "tests/programs/cases.h"

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

static void check_bounds(const struct product *p, const char *what,
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
    check_bounds(&p, "product", got);
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

static bool is_emulated(const struct kernels *table)
{
    const char *reason;
    return table == kernels_emulated(&reason);
}

static void multiply(const struct kernels *table)
{
    static const size_t rows[] = {1, 2, 5, 17};
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++) {
        size_t values = block_kind(type)->values;
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            check_on_device(table, type, rows[r], 1, values, false);
            check_on_device(table, type, rows[r], 9, 5 * values, true);
            check_on_device(table, type, rows[r], 70, 2 * values, false);
        }
        /* more than is rounded at once */
        check_on_device(table, type, 1, 5, 16384 + 3 * values, false);
        check_on_device(table, type, 6, 5, 4096 + 3 * values, true);
        if (!is_emulated(table))
            continue;
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

static void take_several(const struct kernels *table)
{
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++) {
        size_t k = type < KERNEL_Q2_K ? 96 : 512;
        int other = type < KERNEL_Q2_K ? KERNEL_Q8_0 : KERNEL_Q6_K;
        check_together(table, type, other, 1, k);
        check_together(table, type, other, 3, k);
        check_together(table, type, KERNEL_F32, 1, k);
    }
    check_together(table, KERNEL_Q4_K, KERNEL_Q6_K, 5, 4096 + 512);
    check_together(table, KERNEL_Q5_0, KERNEL_Q8_0, 20, 64);
}

/* As of other weights: a launch for products of the same rows, one for gate and up,
 * and one that puts the step's words there. */
static void count_launches(const struct kernels *table)
{
    enum { N = 21, K = 512, STEPS = 8 };
    static const int types[] = {KERNEL_Q4_K, KERNEL_Q4_K, KERNEL_Q6_K};
    struct kernel_product of[3] = {{0}};
    struct kernel_weight *w[3] = {NULL};
    unsigned char *host[3];
    float *x = numbers(K);
    its.step = NULL;
    float *memory = on_device(table, x, K);
    const struct kernel_rows in = {.x = memory};
    for (size_t i = 0; i < 3; i++) {
        host[i] = some_blocks(types[i], N, K);
        assert_int_equal(table->weight(&its, host[i], types[i], N, K, &w[i]),
                         0);
        of[i] =
            (struct kernel_product){.out = on_device(table, x, N), .w = w[i]};
    }
    for (size_t i = 0; i < STEPS; i++) {
        const struct kernel_gate gate = {of[0], of[1], KERNEL_SILU};
        assert_int_equal(table->graph_begin(&its), 0);
        assert_int_equal(table->matmuls(&its, of, 3, &in, 1), 0);
        assert_int_equal(table->matmul_gated(&its, &gate, &in, 1), 0);
        assert_int_equal(table->graph_end(&its), 0);
    }
    if (is_emulated(table))
        assert_int_equal(emulated_steps_seen()->nodes, 3);
    for (size_t i = 0; i < 3; i++) {
        table->weight_free(&its, w[i]);
        table->release(&its, of[i].out);
        free(host[i]);
    }
    table->release(&its, memory);
    table->run_end(&its);
    free(x);
}

/* Rows of an embedding are the decoded ones. */
static void decode_rows(const struct kernels *table)
{
    enum { N = 5, COUNT = 3 };
    static const int32_t row[COUNT] = {4, 0, 4};
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++) {
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
static void keep_bytes(const struct kernels *table)
{
    enum { N = 3000, K = 4096 }; /* the largest here */
    struct kernel_weight *w = NULL;
    struct kernel_device facts;
    unsigned char *host = some_blocks(KERNEL_Q4_K, N, K);
    size_t bytes = N * kernel_row_bytes(KERNEL_Q4_K, K);
    assert_int_equal(table->weight(&its, host, KERNEL_Q4_K, N, K, &w), 0);
    assert_true(table->device(&facts));
    if (is_emulated(table)) /* a device's pool grows by large steps */
        assert_in_range(facts.held, bytes, bytes + bytes / 8);
    table->weight_free(&its, w);
    free(host);
}

static void check_refusals(const struct kernels *table, int type)
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

static void refuse(const struct kernels *table)
{
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++)
        check_refusals(table, type);
}

#define ON_DEVICES(test, body)                                                 \
    static void test(void **state)                                             \
    {                                                                          \
        (void)state;                                                           \
        for (int t = 0; t < TABLES; t++) {                                     \
            const struct kernels *table = device_table(t);                     \
            if (table)                                                         \
                body(table);                                                   \
        }                                                                      \
    }

ON_DEVICES(a_device_multiplies_by_them, multiply)
ON_DEVICES(a_device_takes_several, take_several)
ON_DEVICES(a_step_takes_no_more_launches, count_launches)
ON_DEVICES(a_device_decodes_rows, decode_rows)
ON_DEVICES(a_device_keeps_their_bytes, keep_bytes)
ON_DEVICES(a_device_refuses_as_well, refuse)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_multiplies_by_them),
        cmocka_unit_test(a_device_takes_several),
        cmocka_unit_test(a_step_takes_no_more_launches),
        cmocka_unit_test(a_device_decodes_rows),
        cmocka_unit_test(a_device_keeps_their_bytes),
        cmocka_unit_test(a_device_refuses_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
