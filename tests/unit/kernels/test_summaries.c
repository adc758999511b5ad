/* What HiLS attention knows of a chunk, summaries and means of its keys: every table
 * against `ref`, and what must hold of them whatever the numbers are. */
#include "tests/unit/support/summaries.h"

/* Compares them: as any array in f32; in bf16, whose rounding of what `expected` is
 * too, nearly all bits are the same, and no other is off by more than its last one and
 * what f32 may be off. */
static void check_summaries(struct bench *b, const char *what,
                            const float *device, const float *expected,
                            size_t chunks, size_t count)
{
    if (b->kept == KERNEL_F32) {
        check(b, what, device, expected, chunks * count);
        return;
    }
    size_t row = kept_floats(b, count), other = 0;
    float *host = mem_alloc((chunks * row + 1) * sizeof *host), top = 0;
    assert_int_equal(
        b->table->download(&b->run, host, device, chunks * row * sizeof *host),
        0);
    for (size_t i = 0; i < chunks * count; i++)
        top = fmaxf(top, fabsf(expected[i]));
    for (size_t i = 0; i < chunks * count; i++) {
        const uint16_t *mine = (const uint16_t *)(host + i / count * row);
        float a = ref_from_bf16(mine[i % count]), e = expected[i];
        if (!(fabsf(a - e) <= fabsf(e) / 128 + (float)b->bound * top))
            fail_msg("%s %s: %g, not %g", b->label, what, (double)a, (double)e);
        other += a != e;
    }
    if (other > 1 + chunks * count / 100)
        fail_msg("%s %s: %zu of %zu differ", b->label, what, other,
                 chunks * count);
    free(host);
}

static void drive_summary_of(struct bench *b, struct summary z, float scale,
                             bool by_head)
{
    size_t count = z.chunks * z.hq, keys = z.chunks * z.chunk * z.hkv * z.d;
    float *k = numbers(b, keys, scale), *proxy = numbers(b, count * z.d, scale);
    float *key = poisoned(count * z.d), *bias = poisoned(count);
    keep(b, k, keys);
    keep(b, proxy, count * z.d);
    summarise_chunks(ref, &alone, key, bias, k, proxy, z);
    keep(b, key, count * z.d);
    struct kernel_pages pages = {
        .keys =
            lay_pages(b, k, z.chunks * z.chunk, z.hkv, z.d, z.chunk, by_head),
        .slots = z.chunk,
        .type = b->kept,
        .by_head = by_head};
    float *out = put_summaries(b, proxy, z.chunks, z.hq * z.d);
    float *entropy = put(b, NULL, count);
    struct kernel_summaries summaries = {
        .keys = put_table(b, out, z.chunks, kept_floats(b, z.hq * z.d)),
        .biases = put_table(b, entropy, z.chunks, z.hq),
        .type = b->kept};
    int code = 0;
    for (size_t c = 0; c < z.chunks && !code; c += 3) /* some at a time */
        code = b->table->chunk_summary(&b->run, &summaries, &pages, c,
                                       z.chunks - c < 3 ? z.chunks - c : 3,
                                       z.chunk, z.hq, z.hkv, z.d);
    if (done(b, "chunk_summary", code)) {
        check_summaries(b, "chunk_summary", out, key, z.chunks, z.hq * z.d);
        check(b, "chunk_summary, bias", entropy, bias, count);
    }
    if (on_processor(b)) {
        float *again = poisoned(count * z.d);
        summarise_chunks(b->table, &alone, again, bias, k, proxy, z);
        check_same(b->label, "chunk_summary on one thread", out, again,
                   count * z.d * sizeof *again);
        free(again);
    }
    settle(b, "chunk_summary");
    free(k);
    free(proxy);
    free(key);
    free(bias);
}

/* Proxies of all chunks but the first `first`, of rows two chunks apart (`shared`:
 * of one), turned by the positions of such rows or not. */
static void drive_proxies_of(struct bench *b, struct summary z, size_t first,
                             bool shared, bool turned)
{
    size_t wide = z.hq * z.d, count = z.chunks - first;
    size_t step = shared ? 0 : 2 * wide, rows = 2 * count + 1;
    double *frequency = mem_alloc((z.d / 2 + 1) * sizeof *frequency);
    int32_t *position = mem_alloc(rows * sizeof *position);
    float *x = numbers(b, rows * wide, 1), *expected = poisoned(count * wide);
    for (size_t j = 0; j < z.d / 2; j++)
        frequency[j] = 1 / (double)(j + 1);
    for (size_t i = 0; i < rows; i++)
        position[i] = (int32_t)(7 * i + 3);
    for (size_t i = 0; i < count; i++) {
        float *to = expected + i * wide;
        memcpy(to, x + i * step, wide * sizeof *to);
        if (turned)
            ref->rotary(&alone, to, &position[2 * i], frequency, 1, z.hq, z.d);
    }
    keep(b, expected, count * wide);
    float *angles = put(b, NULL, rows * z.d);
    size_t row = kept_floats(b, wide);
    float *out = put_summaries(b, NULL, z.chunks, wide);
    const struct kernel_summaries summaries = {
        .keys = put_table(b, out, z.chunks, row), .type = b->kept};
    const struct kernel_proxies proxies = {put(b, x, rows * wide), step,
                                           turned ? angles : NULL, 2 * z.d};
    done(b, "angles",
         b->table->angles(&b->run, angles, position, frequency, rows, z.d));
    done(b, "chunk_proxies",
         b->table->chunk_proxies(&b->run, &summaries, &proxies, first, count,
                                 z.hq, z.d));
    check_summaries(b, "chunk_proxies", out + first * row, expected, count,
                    wide);
    settle(b, "chunk_proxies");
    free(frequency);
    free(position);
    free(x);
    free(expected);
}

static void drive_proxies(struct bench *b)
{
    static const struct summary sizes[] = {{0, 8, 2, 1, 4},
                                           {1, 2, 1, 1, 1},
                                           {3, 7, 4, 2, 33},
                                           {9, 64, 8, 2, 64},
                                           {2, 65, 3, 3, 330}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int kind = 0; kind < 4; kind++)
            drive_proxies_of(b, sizes[i], sizes[i].chunks > 1, kind & 1,
                             kind & 2);
}

static void drive_summaries(struct bench *b)
{
    static const struct summary sizes[] = {
        {0, 8, 2, 1, 4},  {1, 2, 1, 1, 1},   {3, 7, 4, 2, 33},
        {5, 8, 6, 3, 16}, {9, 64, 8, 2, 64}, {2, 65, 3, 3, 130}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int by_head = 0; by_head < 2; by_head++) {
            drive_summary_of(b, sizes[i], 1, by_head);
            drive_summary_of(b, sizes[i], 9, by_head);
        }
}

/* Means as `expected`, but for the last bit of bf16: sums are rounded otherwise. */
static void check_means(struct bench *b, const float *device,
                        const float *expected, size_t chunks, size_t count)
{
    size_t floats = (count + 1) / 2;
    float *host = mem_alloc((chunks * floats + 1) * sizeof *host);
    assert_int_equal(b->table->download(&b->run, host, device,
                                        chunks * floats * sizeof *host),
                     0);
    for (size_t c = 0; c < chunks; c++) {
        const uint16_t *mine = (const uint16_t *)(host + c * floats);
        const uint16_t *wanted = (const uint16_t *)(expected + c * floats);
        size_t other = 0;
        for (size_t i = 0; i < count; i++) {
            float a = ref_from_bf16(mine[i]), e = ref_from_bf16(wanted[i]);
            if (!(fabsf(a - e) <= fabsf(e) / 128 + 1e-6F))
                fail_msg("%s chunk_means: %g, not %g", b->label, (double)a,
                         (double)e);
            other += mine[i] != wanted[i];
        }
        assert_true(other <= 1 + count / 100);
    }
    free(host);
}

static void drive_means_of(struct bench *b, struct summary z, size_t means,
                           bool by_head)
{
    size_t row = kernel_means_floats(z.hkv, means, z.d);
    size_t keys = z.chunks * z.chunk * z.hkv * z.d;
    float *k = numbers(b, keys, 1), *key = poisoned(z.chunks * row);
    keep(b, k, keys);
    average_keys(ref, &alone, key, k, z, means);
    struct kernel_pages pages = {
        .keys =
            lay_pages(b, k, z.chunks * z.chunk, z.hkv, z.d, z.chunk, by_head),
        .slots = z.chunk,
        .type = b->kept,
        .by_head = by_head};
    float *out = put(b, NULL, z.chunks * row);
    struct kernel_summaries summaries = {
        .keys = put_table(b, out, z.chunks, row), .means = means};
    int code = 0;
    for (size_t c = 0; c < z.chunks && !code; c += 3) /* some at a time */
        code = b->table->chunk_means(&b->run, &summaries, &pages, c,
                                     z.chunks - c < 3 ? z.chunks - c : 3,
                                     z.chunk, z.hkv, z.d);
    if (done(b, "chunk_means", code))
        check_means(b, out, key, z.chunks, z.hkv * means * z.d);
    settle(b, "chunk_means");
    free(k);
    free(key);
}

static void drive_means(struct bench *b)
{
    static const struct summary sizes[] = {
        {0, 8, 2, 1, 4},   {1, 2, 1, 1, 1},   {3, 7, 4, 2, 33},
        {5, 64, 6, 3, 16}, {9, 64, 8, 2, 64}, {2, 40, 3, 3, 300}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        drive_means_of(b, sizes[i], 1, i % 2);
        drive_means_of(b, sizes[i], sizes[i].chunk, i % 2 == 0);
        if (sizes[i].chunk % 8 == 0)
            drive_means_of(b, sizes[i], 8, i % 2);
    }
}

DRIVE_PAGES(proxies)
DRIVE_PAGES(summaries)
DRIVE_PAGES(means)

/* Equal keys: the summary is that key, the bias the logarithm of their count. */
static void a_summary_by_hand(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const struct kernels *table = table_at(t);
        struct kernel_run run = {.step = NULL};
        const float k[] = {3, -1, 3, -1, 3, -1, 90, 90}, proxy[] = {5, 2};
        float key[2], bias;
        summarise_chunks(table, &run, key, &bias, k, proxy,
                         (struct summary){1, 4, 1, 1, 2});
        assert_true(fabsf(key[0] - 3) < 1e-6F && fabsf(key[1] + 1) < 1e-6F);
        assert_true(fabsf(bias - logf(3)) < 1e-6F);
        /* one key takes all: no entropy, and no NaN of 0 ln 0 */
        const float far[] = {1e4F, 0, 0, 0, 0, 0};
        summarise_chunks(table, &run, key, &bias, far, proxy,
                         (struct summary){1, 3, 1, 1, 2});
        assert_true(key[0] > 9.99e3F && fabsf(bias) < 1e-6F);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proxies),
        cmocka_unit_test(test_summaries),
        cmocka_unit_test(test_means),
        cmocka_unit_test(a_summary_by_hand),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
