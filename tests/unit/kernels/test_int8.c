/* Products whose two sides are rounded to eight bits (kernel_run.int8). */
#include "tests/unit/support/bench_fixtures.h"

#include "kernels/cpu/packed_cache.h"

enum { SHAPES = 8 };

static const size_t shapes[SHAPES][3] = {
    {16, 64, 64},    {17, 33, 40}, {47, 130, 127}, {300, 200, 384},
    {531, 384, 160}, {20, 1, 3},   {1, 384, 384},  {5, 70, 96}};

/* What is multiplied: numbers of unlike size from row to row. */
struct sides {
    size_t m, n, k;
    float *a, *w, *before;
    struct kernel_weight *weight;
};

static float *spread(uint64_t *random, size_t rows, size_t columns)
{
    float *x = mem_alloc(rows * columns * sizeof *x);
    for (size_t i = 0; i < rows * columns; i++)
        x[i] = ((float)unit_below(random, 2001) / 1000 - 1) *
               (float)(i / columns % 7 + 1);
    return x;
}

static struct sides take(size_t shape)
{
    uint64_t random = shape + 1;
    struct sides s = {shapes[shape][0],
                      shapes[shape][1],
                      shapes[shape][2],
                      NULL,
                      NULL,
                      NULL,
                      NULL};
    s.a = spread(&random, s.m, s.k);
    s.w = spread(&random, s.n, s.k);
    s.before = spread(&random, s.m, s.n);
    assert_int_equal(
        kernels_cpu()->weight(&alone, s.w, KERNEL_F32, s.n, s.k, &s.weight), 0);
    return s;
}

static void give(struct sides *s)
{
    kernels_cpu()->weight_free(&alone, s->weight);
    free(s->a);
    free(s->w);
    free(s->before);
}

static struct kernel_run int8_run(unsigned threads)
{
    return (struct kernel_run){.pool = {pool, pool_parallel_for, threads},
                               .int8 = true};
}

static float *multiply(const struct sides *s, struct kernel_run run, size_t m,
                       bool add)
{
    float *out = mem_alloc(m * s->n * sizeof *out);
    if (add)
        memcpy(out, s->before, m * s->n * sizeof *out);
    assert_int_equal(kernels_cpu()->matmul(&run, out, s->a, s->weight, m, add),
                     0);
    return out;
}

static double largest(const float *x, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = fabs((double)x[i]) > most ? fabs((double)x[i]) : most;
    return most;
}

/* What rounding each number to the nearest can come to. */
static double bound_of(const float *a, const float *w, size_t k)
{
    double half_a = largest(a, k) / 127 / 2, half_w = largest(w, k) / 127 / 2;
    double sum = 0;
    for (size_t l = 0; l < k; l++)
        sum += fabs((double)a[l]) * half_w + fabs((double)w[l]) * half_a +
               half_a * half_w;
    return sum * (1 + 1e-4) + 1e-5;
}

static void check_product(const struct sides *s, const float *out, bool add)
{
    bool rounded = false;
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < s->n; j++) {
            const float *a = s->a + i * s->k, *w = s->w + j * s->k;
            double sum = add ? (double)s->before[i * s->n + j] : 0;
            for (size_t l = 0; l < s->k; l++)
                sum += (double)a[l] * (double)w[l];
            double off = fabs(sum - (double)out[i * s->n + j]);
            if (!(off <= bound_of(a, w, s->k)))
                fail_msg("%zu x %zu x %zu: %g off at %zu, %zu", s->m, s->n,
                         s->k, off, i, j);
            rounded = rounded || off > 1e-3;
        }
    if (s->k > 16)
        assert_true(rounded); /* else f32 was multiplied */
}

static bool here(void)
{
    kernels_cpu();
    if (!cpu_int8)
        print_message("SKIP: this processor has no VNNI\n");
    return cpu_int8;
}

static void a_result_is_off_by_what_rounding_costs(void **state)
{
    (void)state;
    for (size_t shape = 0; here() && shape < SHAPES; shape++) {
        struct sides s = take(shape);
        for (int add = 0; add < 2; add++) {
            float *out = multiply(&s, int8_run(3), s.m, add);
            check_product(&s, out, add);
            free(out);
        }
        give(&s);
    }
}

/* Of weights of every kind the same numbers are rounded. */
static void weights_of_blocks_are_rounded_as_their_values(void **state)
{
    (void)state;
    enum { M = 40, N = 70, K = 256 };
    uint64_t random = 5;
    size_t bytes = kernel_row_bytes(KERNEL_Q8_0, K) * N;
    uint8_t *blocks = mem_alloc(bytes);
    for (size_t i = 0; i < bytes; i++) /* scales (f16) are 0x2Cxx: .0625 */
        blocks[i] = i % 34 == 1 ? 0x2C : (uint8_t)unit_below(&random, 256);
    float *values = mem_alloc(sizeof(float) * N * K);
    float *a = spread(&random, M, K);
    for (size_t j = 0; j < N; j++)
        blocks_decode(KERNEL_Q8_0,
                      (const char *)blocks +
                          j * kernel_row_bytes(KERNEL_Q8_0, K),
                      K, values + j * K);
    float out[2][M * N];
    for (int of_blocks = 0; of_blocks < 2; of_blocks++) {
        struct kernel_run run = int8_run(2);
        struct kernel_weight *w = NULL;
        const void *host = of_blocks ? (const void *)blocks : values;
        assert_int_equal(
            kernels_cpu()->weight(
                &run, host, of_blocks ? KERNEL_Q8_0 : KERNEL_F32, N, K, &w),
            0);
        assert_int_equal(
            kernels_cpu()->matmul(&run, out[of_blocks], a, w, M, false), 0);
        kernels_cpu()->weight_free(&run, w);
    }
    if (here())
        assert_memory_equal(out[0], out[1], sizeof out[0]);
    free(blocks);
    free(values);
    free(a);
}

/* Whatever stands beside a row, and however many threads there are: the same bits. */
static void a_row_has_the_same_bits_in_any_company(void **state)
{
    (void)state;
    for (size_t shape = 0; here() && shape < SHAPES; shape++) {
        struct sides s = take(shape);
        float *all = multiply(&s, int8_run(3), s.m, false);
        for (unsigned turn = 1; turn < 5; turn++) {
            size_t m = turn < 3 || s.m < 7 ? s.m : 7;
            struct sides again = take(shape);
            float *out = multiply(&again, int8_run(turn), m, false);
            assert_memory_equal(out, all, m * s.n * sizeof *out);
            free(out);
            give(&again);
        }
        free(all);
        give(&s);
    }
}

/* To round a weight anew for each product costs more than few rows save. */
static void what_has_no_copy_is_not_rounded(void **state)
{
    (void)state;
    const size_t others = (size_t)256
                          << 20; /* bytes of copies, all there may be */
    assert_true(kept_take(others, true));
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct sides s = take(shape);
        struct kernel_run run = int8_run(2);
        float *out = multiply(&s, run, s.m, false);
        run.int8 = false;
        float *exact = multiply(&s, run, s.m, false);
        assert_memory_equal(out, exact, s.m * s.n * sizeof *out);
        free(out);
        free(exact);
        give(&s);
    }
    kept_give(others, true);
}

/* A copy in eight bits is smaller than what it is made of. */
static void large_models_are_rounded_too(void **state)
{
    (void)state;
    const size_t others = (size_t)1 << 30; /* bytes of weights */
    packed_cache_weight(others);
    for (size_t shape = 0; here() && shape < SHAPES; shape++) {
        struct sides s = take(shape);
        float *out = multiply(&s, int8_run(3), s.m, false);
        check_product(&s, out, false);
        free(out);
        give(&s);
    }
    packed_cache_weight_gone(others);
}

static void a_nan_stays_in_its_row(void **state)
{
    (void)state;
    enum { ROW = 18 };
    if (!here())
        return;
    struct sides s = take(2);
    s.a[ROW * s.k + 5] = NAN;
    float *out = multiply(&s, int8_run(2), s.m, false);
    for (size_t i = 0; i < s.m * s.n; i++)
        assert_int_equal(isnan(out[i]) != 0, i / s.n == ROW);
    free(out);
    give(&s);
}

static void nothing_is_rounded_without_leave(void **state)
{
    (void)state;
    struct sides s = take(3);
    struct kernel_run run = int8_run(2);
    float *rounded = multiply(&s, run, s.m, false);
    run.int8 = false;
    float *exact = multiply(&s, run, s.m, false);
    assert_true(!here() ||
                memcmp(rounded, exact, s.m * s.n * sizeof *exact) != 0);
    free(rounded);
    free(exact);
    /* nor where it would be no faster */
    assert_true(cpu_limit(CPU_PLAIN));
    exact = multiply(&s, run, s.m, false);
    run.int8 = true;
    float *also = multiply(&s, run, s.m, false);
    assert_memory_equal(also, exact, s.m * s.n * sizeof *exact);
    cpu_limit_none();
    free(also);
    free(exact);
    give(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_off_by_what_rounding_costs),
        cmocka_unit_test(weights_of_blocks_are_rounded_as_their_values),
        cmocka_unit_test(a_row_has_the_same_bits_in_any_company),
        cmocka_unit_test(what_has_no_copy_is_not_rounded),
        cmocka_unit_test(large_models_are_rounded_too),
        cmocka_unit_test(a_nan_stays_in_its_row),
        cmocka_unit_test(nothing_is_rounded_without_leave),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
