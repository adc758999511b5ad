/* How fast products are, beside what the processor can do in the same minute:
 *
 *     products [SECONDS]    for each figure, a third of one when not given
 *
 * One JSON object.  Each line has a rate by the clock, on all threads, and
 * `core`, by the time that the threads really ran: on a machine shared with
 * others only that says what the code is worth.  `limit` is what a loop of
 * nothing but multiply-adds in registers reaches (for "decode": one that sums
 * up memory), measured just before and after; `share` is of the core's. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "kernels/cpu/cpu_internal.h"
#include "kernels/kernels.h"
#include "tests/bench/rate.h"
#include "tests/bench/read_limit.h"

static const struct kernels *table;
static struct kernel_run run;
static struct pool *pool;
/* ---- Peaks ---- */

enum { CHAINS = 12, TURNS = 200000 };

typedef float wide16 __attribute__((vector_size(64)));
typedef float wide8 __attribute__((vector_size(32)));
typedef float wide4 __attribute__((vector_size(16)));

static volatile float one = 1, tiny = 1e-9f, sink;

/* Independent chains, enough of them to hide how long an addition takes; each
 * step needs the one before, so none can be left out. */
#define FMA_LOOP(name, vector)                                                 \
    static void name(void)                                                     \
    {                                                                          \
        vector a[CHAINS], x = (vector){0} + one;                               \
        vector y = (vector){0} + tiny, total = {0};                            \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] =       \
            y * (float)i;                                                      \
        for (int turn = 0; turn < TURNS; turn++) {                             \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] =   \
                a[i] * x + y;                                                  \
        }                                                                      \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) total +=     \
            a[i];                                                              \
        sink = total[0];                                                       \
    }

FMA_LOOP(fma_plain, wide4)
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) FMA_LOOP(fma_avx2, wide8)
    __attribute__((target("avx512f,fma"))) FMA_LOOP(fma_avx512, wide16)
#endif

        static void fma_part(void *argument, size_t from, size_t to)
{
    (void)argument;
    for (; from < to; from++) {
#if defined(__x86_64__)
        if (cpu_lanes == &lanes_avx512)
            fma_avx512();
        else if (cpu_lanes == &lanes_avx2)
            fma_avx2();
        else
#endif
            fma_plain();
    }
}

static void fma_all(void *argument)
{
    pool_parallel_for(pool, 4 * pool_threads(pool), fma_part, argument);
}

static struct rate peak(void)
{
    size_t width = 4;
#if defined(__x86_64__)
    width = cpu_lanes == &lanes_avx512 ? 16 : cpu_lanes == &lanes_avx2 ? 8 : 4;
#endif
    double each = 2e-9 * CHAINS * TURNS * (double)width;
    return rate(fma_all, NULL, each * 4 * pool_threads(pool));
}

enum { PAGE = 4096 };
static char *memory;
static size_t memory_size = (size_t)512 << 20;

static void read_part(void *argument, size_t from, size_t to)
{
    (void)argument;
    struct read_range range = {memory + from * PAGE, (to - from) * PAGE};
    read_whole(&range);
}

static void read_all(void *argument)
{
    pool_parallel_for(pool, memory_size / PAGE, read_part, argument);
}

static struct rate read_peak(void)
{
    return rate(read_all, NULL, (double)memory_size * 1e-9);
}

/* ---- Operations ---- */

struct matmul {
    struct kernel_weight *weight;
    float *out, *a;
    size_t m;
};

static void matmul_once(void *argument)
{
    struct matmul *p = argument;
    if (table->matmul(&run, p->out, p->a, p->weight, p->m, false))
        abort();
}

static float *filled(size_t count)
{
    float *values = mem_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)(i % 31) * 0.01f;
    return values;
}

/* Of a [m, k] and a weight [n, k]; one product is `amount`. */
static struct rate matmuls(int type, size_t m, size_t n, size_t k,
                           double amount)
{
    struct matmul p = {.m = m, .a = filled(m * k), .out = filled(m * n)};
    float *scale = filled(n);
    struct kernel_int8 int8 = {(const int8_t *)memory, scale};
    if (table->weight(&run, type == KERNEL_INT8 ? (void *)&int8 : memory, type,
                      n, k, &p.weight))
        abort();
    struct rate result = rate(matmul_once, &p, amount);
    table->weight_free(&run, p.weight);
    free(p.a);
    free(p.out);
    free(scale);
    return result;
}

/* The end of a line, its beginning being what was measured. */
static void show(const char *unit, struct rate got, struct rate limit,
                 bool last)
{
    printf("\"%s\": %.1f, \"core\": %.1f, \"limit\": %.1f, "
           "\"core_limit\": %.1f, \"share\": %.3f}%s\n",
           unit, got.wall, got.core, limit.wall, limit.core,
           got.core / limit.core, last ? "" : ",");
    fflush(stdout);
}

static void show_shape(size_t m, size_t n, size_t k, int type)
{
    static const char *const types[KERNEL_TYPES] = {"f32", "bf16", "f16",
                                                    "int8"};
    printf("    {\"m\": %zu, \"n\": %zu, \"k\": %zu, \"weight\": \"%s\", ", m,
           n, k, types[type]);
}

static void show_matmul(size_t m, size_t n, size_t k, int type, bool last)
{
    struct rate before = peak();
    struct rate got = matmuls(type, m, n, k, 2e-9 * (double)(m * n * k));
    show_shape(m, n, k, type);
    show("gflops", got, best_of(before, peak()), last);
}

static void show_decode(size_t m, int type, bool last)
{
    size_t k = 2048, n = memory_size / kernel_type_size(type) / k;
    struct rate before = read_peak();
    struct rate got = matmuls(type, m, n, k, 1e-9 * (double)memory_size);
    show_shape(m, n, k, type);
    show("gbytes", got, best_of(before, read_peak()), last);
}

struct attention {
    float *out, *q, *k, *v;
    size_t m, n, hq, hkv, d;
};

static void attention_once(void *argument)
{
    struct attention *t = argument;
    const float *k = t->k, *v = t->v;
    struct kernel_pages pages = {.keys = &k, .values = &v, .slots = t->n};
    if (table->attention(&run, t->out, t->q, &pages, t->m, t->n, t->hq, t->hkv,
                         t->d, 0))
        abort();
}

static void show_attention(size_t m, size_t n, bool last)
{
    struct attention t = {.m = m, .n = n, .hq = 16, .hkv = 2, .d = 64};
    t.q = filled(m * t.hq * t.d);
    t.out = filled(m * t.hq * t.d);
    t.k = filled(n * t.hkv * t.d);
    t.v = filled(n * t.hkv * t.d);
    /* what the causal mask leaves */
    double keys = (double)n - (double)(m - 1) / 2;
    double work = 4e-9 * (double)m * keys * (double)(t.hq * t.d);
    struct rate before = peak(), got = rate(attention_once, &t, work);
    printf("    {\"m\": %zu, \"n\": %zu, \"hq\": %zu, \"hkv\": %zu, "
           "\"d\": %zu, ",
           m, n, t.hq, t.hkv, t.d);
    show("gflops", got, best_of(before, peak()), last);
    free(t.q);
    free(t.out);
    free(t.k);
    free(t.v);
}

int main(int count, char **words)
{
    static const size_t shapes[][3] = {
        {512, 384, 384},   {512, 1536, 384},  {512, 1024, 1024},
        {512, 4096, 1024}, {512, 1024, 4096}, {512, 4096, 4096},
        {300, 1024, 1024}, {64, 1024, 1024},  {16, 1024, 1024}};
    enum { SHAPES = sizeof shapes / sizeof shapes[0] };
    if (count > 1)
        rate_seconds = strtod(words[1], NULL);
    struct err err = {0};
    if (pool_new(0, &pool, &err)) {
        fprintf(stderr, "products: %s\n", err.message);
        return 1;
    }
    run.pool =
        (struct kernel_pool){pool, pool_parallel_for, pool_threads(pool)};
    table = kernels_cpu();
    memory = mem_alloc(memory_size);
    for (size_t i = 0; i < memory_size;
         i += 2) { /* bf16 1, f32 1.0 and a bit */
        memory[i] = (char)0x80;
        memory[i + 1] = 0x3F;
    }
    printf("{\n  \"lanes\": \"%s\", \"amx\": %s, \"threads\": %u,\n"
           "  \"products\": [\n",
           cpu_lanes->name, cpu_amx ? "true" : "false", pool_threads(pool));
    for (int type = 0; type < KERNEL_TYPES; type++)
        for (size_t s = 0; s < SHAPES; s++)
            show_matmul(shapes[s][0], shapes[s][1], shapes[s][2], type,
                        type == KERNEL_TYPES - 1 && s == SHAPES - 1);
    printf("  ],\n  \"decode\": [\n");
    for (size_t m = 1; m <= 4; m *= 4)
        for (int type = 0; type < KERNEL_TYPES; type++)
            show_decode(m, type, m == 4 && type == KERNEL_TYPES - 1);
    printf("  ],\n  \"attention\": [\n");
    show_attention(512, 512, false);
    show_attention(256, 4096, false);
    show_attention(1, 4096, true);
    printf("  ]\n}\n");
    free(memory);
    pool_free(pool);
    return 0;
}
