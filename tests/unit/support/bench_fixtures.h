/* A bench on which operations of every table are held against `ref`.
 *
 * All arrays lie between guards, nowhere aligned, or (a device's a second time)
 * all aligned for 16 bytes; outputs are poisoned before the call.  Guards and poison are one NaN, so that what is read beyond an
 * array, or never written, shows in the result, and what is written beyond it
 * shows in the guard. */
#ifndef TESTS_UNIT_SUPPORT_BENCH_H
#define TESTS_UNIT_SUPPORT_BENCH_H

#include "tests/unit/support/unit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "kernels/cpu/cpu_internal.h"
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"
#include "tests/cuda/emulated.h"
#include "tests/programs/cases.h"

enum { GUARD = 19, MAX_ARRAYS = 24, MAX_TABLES = 16 };

static const uint32_t poison = 0x7FC0DEADu;

/* The table under test and the arrays of one call. */
struct bench {
    const struct kernels *table;
    struct kernel_run run;
    char label[64];
    double bound;
    size_t shift; /* floats before the first guard: 1 aligns the values */
    int kept;     /* KERNEL_F32 or KERNEL_BF16: keys and values in pages */
    struct {
        float *block; /* on the device: shift, guard, values, guard */
        size_t count;
    } arrays[MAX_ARRAYS];
    size_t count;
    void *tables[MAX_TABLES]; /* of pages, on the device */
    size_t table_count;
    uint64_t random;
};

/* ---- Arrays ---- */

static inline void fill_poison(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&values[i], &poison, sizeof poison);
}

/* On the device, a copy of `values` (NULL: poison) between guards. */
static inline float *put(struct bench *b, const float *values, size_t count)
{
    size_t whole = b->shift + count + 2 * GUARD;
    float *host = mem_alloc(whole * sizeof *host);
    fill_poison(host, whole);
    if (values)
        memcpy(host + b->shift + GUARD, values, count * sizeof *host);
    float *block = b->table->allocate(&b->run, whole * sizeof *block);
    assert_non_null(block);
    assert_int_equal(
        b->table->upload(&b->run, block, host, whole * sizeof *host), 0);
    free(host);
    assert_true(b->count < MAX_ARRAYS);
    b->arrays[b->count].block = block;
    b->arrays[b->count++].count = count;
    return block + b->shift + GUARD;
}

static inline int32_t *put_i32(struct bench *b, const int32_t *values,
                               size_t count)
{
    return (int32_t *)(void *)put(b, (const float *)(const void *)values,
                                  count);
}

/* On the device, the addresses of `count` pieces of `step` floats each, one
 * behind the other. */
static inline void *put_table(struct bench *b, float *pieces, size_t count,
                              size_t step)
{
    float **table = mem_alloc((count + 1) * sizeof *table);
    for (size_t i = 0; i < count; i++)
        table[i] = pieces + i * step;
    void *device = b->table->allocate(&b->run, (count + 1) * sizeof *table);
    assert_non_null(device);
    assert_true(b->table_count < MAX_TABLES);
    assert_int_equal(
        b->table->upload(&b->run, device, table, (count + 1) * sizeof *table),
        0);
    b->tables[b->table_count++] = device;
    free(table);
    return device;
}

/* ---- Pages ---- */

/* What pages keep of keys or values. */
static inline void keep(const struct bench *b, float *values, size_t count)
{
    for (size_t i = 0; b->kept == KERNEL_BF16 && i < count; i++)
        values[i] = ref_from_bf16(ref_to_bf16(values[i]));
}

/* Floats that so many numbers of a page take. */
static inline size_t kept_floats(const struct bench *b, size_t count)
{
    return b->kept == KERNEL_BF16 ? (count + 1) / 2 : count;
}

/* Values [count] into a page on the host, as number `at` and those after it. */
static inline void keep_in(const struct bench *b, float *page, size_t at,
                           const float *values, size_t count)
{
    uint16_t half;
    if (b->kept == KERNEL_F32) {
        memcpy(page + at, values, count * sizeof *page);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        half = ref_to_bf16(values[i]);
        memcpy((char *)page + (at + i) * sizeof half, &half, sizeof half);
    }
}

/* NaNs of either kind. */
static inline void fill_page_poison(const struct bench *b, float *page,
                                    size_t floats)
{
    static const uint32_t two = 0x7FC07FC0u;
    fill_poison(page, floats);
    for (size_t i = 0; b->kept == KERNEL_BF16 && i < floats; i++)
        memcpy(&page[i], &two, sizeof two);
}

/* On the device, values [n, hkv, d] in pages of `slots`, as they are kept, laid
 * out by slots or by heads, the last page first; what lies behind the last slot
 * is poison.  Returns their table. */
static inline const float *const *lay_pages(struct bench *b,
                                            const float *values, size_t n,
                                            size_t hkv, size_t d, size_t slots,
                                            bool by_head)
{
    size_t step = hkv * d;
    size_t pages = (n + slots - 1) / slots;
    size_t size = kept_floats(b, slots * step);
    float *host = mem_alloc(pages * size * sizeof *host);
    const float **table = mem_alloc((pages + 1) * sizeof *table);
    fill_page_poison(b, host, pages * size);
    for (size_t p = 0, some; p < pages; p++) {
        float *page = host + (pages - 1 - p) * size;
        some = n - p * slots < slots ? n - p * slots : slots;
        for (size_t j = 0; j < some; j++)
            for (size_t h = 0; h < hkv; h++)
                keep_in(b, page, (by_head ? h * slots + j : j * hkv + h) * d,
                        values + ((p * slots + j) * hkv + h) * d, d);
    }
    const float *block = put(b, host, pages * size);
    for (size_t p = 0; p < pages; p++)
        table[p] = block + (pages - 1 - p) * size;
    void *device = b->table->allocate(&b->run, (pages + 1) * sizeof *table);
    assert_non_null(device);
    assert_true(b->table_count < MAX_TABLES);
    assert_int_equal(
        b->table->upload(&b->run, device, table, (pages + 1) * sizeof *table),
        0);
    b->tables[b->table_count++] = device;
    free(host);
    free(table);
    return device;
}

static inline const float *const *put_pages(struct bench *b,
                                            const float *values, size_t n,
                                            size_t step, size_t slots)
{
    return lay_pages(b, values, n, 1, step, slots, false);
}

/* Compares an array that put() gave with what it should hold. */
static inline void check(struct bench *b, const char *what, const float *device,
                         const float *expected, size_t count)
{
    float *host = mem_alloc(count * sizeof *host);
    assert_int_equal(
        b->table->download(&b->run, host, device, count * sizeof *host), 0);
    double error = case_error(host, expected, count);
    if (!(error <= b->bound))
        fail_msg("%s %s: error %g", b->label, what, error);
    free(host);
}

/* The same of attention: over bf16 of more than 16 rows of a key-value head its
 * shares may be rounded to bf16, 2^-9 each. */
static inline void check_attention(struct bench *b, const char *what,
                                   const float *device, const float *expected,
                                   size_t count, size_t rows)
{
    const double bound = b->bound;
    b->bound = b->kept == KERNEL_BF16 && rows > 16 ? 4e-3 : bound;
    check(b, what, device, expected, count);
    b->bound = bound;
}

/* The same with what would be without rounding of keys and values, of scores that
 * are not large: rounded to 8 bits, each is 2^-9 off, so their sums are. */
static inline void check_rounded(struct bench *b, const char *what,
                                 const float *device, const float *expected,
                                 size_t count)
{
    const double bound = b->bound;
    b->bound = b->kept == KERNEL_BF16 ? 1e-2 : bound;
    check(b, what, device, expected, count);
    b->bound = bound;
}

/* Looks at all guards and gives the arrays back. */
static inline void settle(struct bench *b, const char *what)
{
    float expected[GUARD], host[GUARD];
    fill_poison(expected, GUARD);
    for (size_t i = 0; i < b->count; i++) {
        float *block = b->arrays[i].block, *guard = block + b->shift;
        const float *ends[] = {guard, guard + GUARD + b->arrays[i].count};
        for (int e = 0; e < 2; e++) {
            b->table->download(&b->run, host, ends[e], sizeof host);
            if (memcmp(host, expected, sizeof host) != 0)
                fail_msg("%s %s: array %zu, guard %d", b->label, what, i, e);
        }
        b->table->release(&b->run, block);
    }
    b->count = 0;
    for (size_t i = 0; i < b->table_count; i++)
        b->table->release(&b->run, b->tables[i]);
    b->table_count = 0;
}

/* On the processor, the addresses of `count` pieces, to be freed. */
static inline float **host_table(float *pieces, size_t count, size_t step)
{
    float **table = mem_alloc((count + 1) * sizeof *table);
    for (size_t i = 0; i < count; i++)
        table[i] = pieces + i * step;
    return table;
}

/* Keys and values of the processor in one piece. */
static inline struct kernel_pages one_page(const float *const *k,
                                           const float *const *v, size_t n)
{
    return (struct kernel_pages){.keys = k, .values = v, .slots = n ? n : 1};
}

/* Causal attention of m queries to keys and values [n, hkv, d] in one piece. */
static inline int attention_over(const struct kernels *table,
                                 struct kernel_run *run, float *out,
                                 const float *q, const float *k, const float *v,
                                 size_t m, size_t n, size_t hq, size_t hkv,
                                 size_t d)
{
    struct kernel_pages pages = one_page(&k, &v, n);
    return table->attention(run, out, q, &pages, m, n, hq, hkv, d, 0);
}

/* Whether the call did it: no table lacks an operation. */
static inline bool done(struct bench *b, const char *what, int code)
{
    if (code != KERNEL_OK)
        fail_msg("%s %s: code %d", b->label, what, code);
    return code == KERNEL_OK;
}

static inline float *numbers(struct bench *b, size_t count, float scale)
{
    float *values = mem_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        double unit = (double)(unit_random(&b->random) >> 11) * 0x1p-53;
        values[i] = (float)(2 * unit - 1) * scale;
    }
    return values;
}

static inline float *poisoned(size_t count)
{
    float *values = mem_alloc(count * sizeof *values);
    fill_poison(values, count);
    return values;
}

static inline float *copy(const float *values, size_t count)
{
    float *result = mem_alloc(count * sizeof *result);
    memcpy(result, values, count * sizeof *result);
    return result;
}

/* The oracle, without a pool. */
static struct kernel_run alone;
static const struct kernels *ref;

/* ---- All tables ---- */

static struct pool *pool;

static inline void drive_kept(const struct kernels *table, const char *label,
                              double bound, bool threads, size_t shift,
                              int kept, void (*drive)(struct bench *))
{
    struct bench b = {.table = table,
                      .bound = bound,
                      .random = 7,
                      .shift = shift,
                      .kept = kept};
    if (threads)
        b.run.pool =
            (struct kernel_pool){pool, pool_parallel_for, pool_threads(pool)};
    snprintf(b.label, sizeof b.label, "%s", label);
    drive(&b);
}

static inline void drive_table(const struct kernels *table, const char *label,
                               double bound, bool threads, size_t shift,
                               void (*drive)(struct bench *))
{
    drive_kept(table, label, bound, threads, shift, KERNEL_F32, drive);
}

/* A device's table, aligned and not; NULL: said why. */
static inline void drive_device(const struct kernels *table, const char *name,
                                const char *reason, bool pages,
                                void (*drive)(struct bench *))
{
    char label[64];
    if (!table)
        printf("SKIP %s: %s\n", name, reason);
    for (int kept = 0; table && kept < (pages ? 2 : 1); kept++)
        for (size_t shift = 0; shift < 2; shift++) {
            snprintf(label, sizeof label, "%s%s%s", name,
                     shift ? ", aligned" : "", kept ? ", bf16 pages" : "");
            drive_kept(table, label, 1e-3, true, shift,
                       kept ? KERNEL_BF16 : KERNEL_F32, drive);
        }
}

/* `pages`: a device's with either kind of them. */
static inline void drive_all(void (*drive)(struct bench *), bool pages)
{
    static const char *const names[] = {"cpu plain", "cpu avx2", "cpu avx_vnni",
                                        "cpu avx512", "cpu amx"};
    ref = kernels_ref();
    drive_table(ref, "ref", 1e-4, true, 0, drive);
    drive_table(kernels_cpu(), "cpu alone", 1e-3, false, 0, drive);
    for (int level = CPU_PLAIN; level <= CPU_AMX; level++)
        if (cpu_limit((enum cpu_level)level))
            drive_table(kernels_cpu(), names[level], 1e-3, true, 0, drive);
        else
            printf("SKIP %s: not this processor\n", names[level]);
    cpu_limit_none();
    const char *reason = NULL;
    const struct kernels *emulated = kernels_emulated(&reason);
    drive_device(emulated, "cuda emulated", reason, pages, drive);
    if (pages && emulated) {
        emulated_without_warpgroups(true);
        drive_kept(emulated, "cuda emulated, no wgmma", 1e-3, true, 1,
                   KERNEL_BF16, drive);
        emulated_without_warpgroups(false);
    }
    const struct kernels *cuda = kernels_cuda(&reason);
    drive_device(cuda, "cuda", reason, pages, drive);
}

#define DRIVE_BY(operation, pages)                                             \
    static void test_##operation(void **state)                                 \
    {                                                                          \
        (void)state;                                                           \
        drive_all(drive_##operation, pages);                                   \
    }
#define DRIVE(operation)       DRIVE_BY(operation, false)
#define DRIVE_PAGES(operation) DRIVE_BY(operation, true)

static inline int set_up(void **state)
{
    (void)state;
    return pool_new(3, &pool, NULL);
}

static inline int tear_down(void **state)
{
    (void)state;
    pool_free(pool);
    return 0;
}

#endif
