/* Every operation of every table that is there, against `ref` and the golden cases.
 * Products: test_products.c; those of papers: test_attention.c and its neighbour. */
#include "tests/unit/support/bench_fixtures.h"

#include <glob.h>

#include "base/buf.h"

/* ---- The transformer ---- */

/* Of norms; more rows than a device has warps, of which each then has one. */
static const size_t norm_rows[] = {1, 3, 40, 1100};
static void drive_rms_norm(struct bench *b)
{
    static const size_t widths[] = {1, 7, 16, 65, 384, 1003};
    for (size_t r = 0; r < 4; r++)
        for (size_t w = 0; w < 6; w++) {
            size_t m = norm_rows[r], d = widths[w];
            float *x = numbers(b, m * d, 3), *weight = numbers(b, d, 2);
            float *expected = poisoned(m * d);
            ref->rms_norm(&alone, expected, x, weight, m, d, 1e-6f);
            float *in = put(b, x, m * d), *out = put(b, NULL, m * d);
            const float *by = put(b, weight, d);
            if (done(b, "rms_norm",
                     b->table->rms_norm(&b->run, out, in, by, m, d, 1e-6f))) {
                check(b, "rms_norm", out, expected, m * d);
                check(b, "rms_norm, its input", in, x, m * d);
                b->table->rms_norm(&b->run, in, in, by, m, d, 1e-6f);
                check(b, "rms_norm in place", in, expected, m * d);
            }
            settle(b, "rms_norm");
            free(x);
            free(weight);
            free(expected);
        }
}

static void drive_layer_norm(struct bench *b)
{
    static const size_t widths[] = {2, 7, 16, 65, 384, 1003};
    for (size_t r = 0; r < 4; r++)
        for (size_t w = 0; w < 6; w++) {
            size_t m = norm_rows[r], d = widths[w];
            float *x = numbers(b, m * d, 3), *weight = numbers(b, d, 2);
            float *bias = numbers(b, d, 1), *expected = poisoned(m * d);
            for (size_t i = 0; i < m * d; i++)
                x[i] += 5; /* far from even */
            ref->layer_norm(&alone, expected, x, weight, bias, m, d, 1e-12f);
            float *in = put(b, x, m * d), *out = put(b, NULL, m * d);
            const float *by = put(b, weight, d), *with = put(b, bias, d);
            if (done(b, "layer_norm",
                     b->table->layer_norm(&b->run, out, in, by, with, m, d,
                                          1e-12f))) {
                check(b, "layer_norm", out, expected, m * d);
                check(b, "layer_norm, its input", in, x, m * d);
                b->table->layer_norm(&b->run, in, in, by, with, m, d, 1e-12f);
                check(b, "layer_norm in place", in, expected, m * d);
            }
            settle(b, "layer_norm");
            free(x);
            free(weight);
            free(bias);
            free(expected);
        }
}

static void drive_rotary(struct bench *b)
{
    static const size_t shapes[][3] = {{1, 1, 2},   {5, 3, 6},   {33, 2, 64},
                                       {4, 5, 128}, {3, 1, 300}, {65, 3, 10},
                                       {70, 1, 260}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        size_t m = shapes[s][0], h = shapes[s][1], d = shapes[s][2];
        double *frequency = mem_alloc(d / 2 * sizeof *frequency);
        int32_t *position = mem_alloc(m * sizeof *position);
        for (size_t i = 0; i < d / 2; i++)
            frequency[i] = pow(10000, -2.0 * (double)i / (double)d);
        for (size_t i = 0; i < m; i++)
            position[i] = (int32_t)unit_below(&b->random, 1000000);
        float *x = numbers(b, m * h * d, 1), *expected = copy(x, m * h * d);
        ref->rotary(&alone, expected, position, frequency, m, h, d);
        float *out = put(b, x, m * h * d);
        if (done(b, "rotary",
                 b->table->rotary(&b->run, out, position, frequency, m, h, d)))
            check(b, "rotary", out, expected, m * h * d);
        settle(b, "rotary");
        free(x);
        free(expected);
        free(frequency);
        free(position);
    }
}

/* The sizes of a call of `heads`. */
struct head_sizes {
    size_t m, h, hkv, d, slots;
    bool turned, normed;
};

/* Heads of two kinds, the second kept in the slots of two caches, the rows between
 * these in none; the oracle is made of its other operations. */
static void drive_heads_of(struct bench *b, struct head_sizes z)
{
    enum { CACHES = 2, FIRST = 2, AT = 4, PAGES = 40 };
    size_t wide = z.m * z.h * z.d, narrow = z.m * z.hkv * z.d, half = z.d / 2;
    size_t page = AT + kept_floats(b, z.slots * z.hkv * z.d);
    double *frequency = mem_alloc((half + 1) * sizeof *frequency);
    int32_t *position = mem_alloc(z.m * sizeof *position);
    float *q = numbers(b, wide, 1), *k = numbers(b, narrow, 1);
    float *norm = numbers(b, z.d, 1), *want_q = copy(q, wide);
    float *want_k = copy(k, narrow), *memory[CACHES], *host_memory[CACHES];
    const float *by = z.normed ? put(b, norm, z.d) : NULL;
    float *angles = put(b, NULL, z.m * z.d), *first = put(b, q, wide);
    float *second = put(b, k, narrow);
    size_t rows = z.m / 3;
    struct kernel_places places[] = {
        {NULL, FIRST, rows}, {NULL, 0, z.m - 2 * rows}, {NULL, FIRST, rows}};
    for (size_t i = 0; i < half; i++)
        frequency[i] = pow(10000, -2.0 * (double)i / (double)z.d);
    for (size_t i = 0; i < z.m; i++)
        position[i] = (int32_t)unit_below(&b->random, 1000000);
    for (size_t i = 0; i < CACHES; i++) {
        memory[i] = put(b, NULL, PAGES * page);
        host_memory[i] = poisoned(PAGES * page);
        places[2 * i].pages = put_table(b, memory[i], PAGES, page);
    }
    if (z.normed) {
        ref->rms_norm(&alone, want_q, want_q, norm, z.m * z.h, z.d, 1e-5F);
        ref->rms_norm(&alone, want_k, want_k, norm, z.m * z.hkv, z.d, 1e-5F);
    }
    if (z.turned) {
        ref->rotary(&alone, want_q, position, frequency, z.m, z.h, z.d);
        ref->rotary(&alone, want_k, position, frequency, z.m, z.hkv, z.d);
    }
    ref->scale(&alone, want_q, 1.5F, wide);
    const struct kernel_heads of[] = {
        {first, z.h, by, 1e-5F, z.turned, 1.5F, false, 0},
        {second, z.hkv, by, 1e-5F, z.turned, 1, true, AT}};
    done(b, "angles",
         b->table->angles(&b->run, angles, position, frequency, z.m, z.d));
    done(b, "heads",
         b->table->heads(&b->run, of, 2, angles, places, 3, z.slots, b->kept,
                         z.m, z.d));
    check(b, "heads", first, want_q, wide);
    check(b, "heads that are kept", second, want_k, narrow);
    /* What is kept are the bits of what is there. */
    b->table->download(&b->run, want_k, second, narrow * sizeof *want_k);
    for (size_t i = 0; i < CACHES; i++) {
        float *got = poisoned(PAGES * page);
        const float *x = want_k + (i ? z.m - rows : 0) * z.hkv * z.d;
        for (size_t r = 0; r < rows * z.hkv; r++)
            keep_in(b,
                    host_memory[i] + (FIRST + r / z.hkv) / z.slots * page + AT,
                    (r % z.hkv * z.slots + (FIRST + r / z.hkv) % z.slots) * z.d,
                    x + r * z.d, z.d);
        b->table->download(&b->run, got, memory[i], PAGES * page * sizeof *got);
        if (memcmp(got, host_memory[i], PAGES * page * sizeof *got) != 0)
            fail_msg("%s heads: cache %zu", b->label, i);
        free(got);
        free(host_memory[i]);
    }
    settle(b, "heads");
    free(frequency);
    free(position);
    free(q);
    free(k);
    free(norm);
    free(want_q);
    free(want_k);
}

static void drive_heads(struct bench *b)
{
    static const struct head_sizes sizes[] = {
        {3, 1, 1, 2, 4, true, true},    {6, 5, 2, 6, 4, true, false},
        {7, 4, 2, 64, 5, false, true},  {9, 3, 3, 128, 1, true, true},
        {70, 2, 1, 10, 2, true, true},  {5, 2, 2, 7, 3, true, true},
        {4, 1, 1, 300, 4, true, false}, {3, 3, 1, 5, 2, false, false}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        drive_heads_of(b, sizes[i]);
}

struct attention {
    size_t m, n, hq, hkv, d, window;
};

/* Pages of 64 and of 5 slots, by slots and by heads, give the bits that one page
 * gives. */
static void drive_attention_pages(struct bench *b, struct attention s,
                                  const float *q, const float *k,
                                  const float *v, const float *expected,
                                  const float *unrounded)
{
    const size_t slots[] = {s.n, 64, 5, 64, 5};
    size_t queries = s.m * s.hq * s.d;
    float *first = poisoned(queries), *host = poisoned(queries);
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        struct kernel_pages pages = {
            .keys = lay_pages(b, k, s.n, s.hkv, s.d, slots[i], i > 2),
            .values = lay_pages(b, v, s.n, s.hkv, s.d, slots[i], i > 2),
            .slots = slots[i],
            .type = b->kept,
            .by_head = i > 2};
        const float *in = put(b, q, queries);
        float *out = put(b, NULL, queries);
        if (done(b, "attention",
                 b->table->attention(&b->run, out, in, &pages, s.m, s.n, s.hq,
                                     s.hkv, s.d, s.window))) {
            char what[128];
            snprintf(
                what, sizeof what,
                "attention m%zu n%zu hq%zu hkv%zu d%zu w%zu, pages of %zu%s",
                s.m, s.n, s.hq, s.hkv, s.d, s.window, slots[i],
                i > 2 ? " by heads" : "");
            check_attention(b, what, out, expected, queries,
                            s.m * s.hq / s.hkv);
            if (unrounded)
                check_rounded(b, what, out, unrounded, queries);
            b->table->download(&b->run, i ? host : first, out,
                               queries * sizeof *host);
            if (i && memcmp(host, first, queries * sizeof *host) != 0)
                fail_msg("%s %s: other bits than in one page", b->label, what);
        }
        settle(b, "attention");
    }
    free(first);
    free(host);
}

/* Of pages by heads the slots that are written, and no other, change. */
static void drive_kv_write(struct bench *b)
{
    enum { HKV = 3, D = 5, SLOTS = 4, N = 3 * SLOTS, FIRST = 3, AT = 2 };
    enum { PART = SLOTS * HKV * D, PAGE = AT + PART };
    static const size_t counts[] = {0, 1, 6, 9};
    float *x = numbers(b, N * HKV * D, 1);
    /* Ties to either side, what is not finite, what becomes infinite. */
    static const uint32_t odd[] = {0x3F808000u, 0x3F818000u, 0x3F808001u,
                                   0x7F800001u, 0xFFFFFFFFu, 0x7F800000u,
                                   0x7F7FFFFFu, 0x80000000u, 0x00018000u};
    memcpy(x, odd, sizeof odd);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        float *expected = poisoned(3 * PAGE);
        float *memory = put(b, NULL, 3 * PAGE);
        for (size_t i = 0; i < counts[c]; i++)
            for (size_t h = 0; h < HKV; h++)
                keep_in(b, expected + (FIRST + i) / SLOTS * PAGE + AT,
                        (h * SLOTS + (FIRST + i) % SLOTS) * D,
                        x + (i * HKV + h) * D, D);
        if (done(b, "page_put",
                 b->table->kv_write(&b->run, put_table(b, memory, 3, PAGE), AT,
                                    SLOTS, b->kept, put(b, x, N * HKV * D),
                                    FIRST, counts[c], HKV, D))) {
            float *host = poisoned(3 * PAGE);
            b->table->download(&b->run, host, memory, 3 * PAGE * sizeof *host);
            if (memcmp(host, expected, 3 * PAGE * sizeof *host) != 0)
                fail_msg("%s page_put: %zu slots", b->label, counts[c]);
            free(host);
        }
        settle(b, "page_put");
        free(expected);
    }
    free(x);
}

/* A factor of `scale` makes the softmax sharp. */
static void drive_attention_of(struct bench *b, struct attention s, float scale)
{
    size_t queries = s.m * s.hq * s.d, keys = s.n * s.hkv * s.d;
    float *q = numbers(b, queries, scale), *k = numbers(b, keys, scale);
    float *v = numbers(b, keys, 1), *expected = poisoned(queries);
    const float *key = k, *value = v;
    struct kernel_pages pages = one_page(&key, &value, s.n);
    float *unrounded = poisoned(queries);
    ref->attention(&alone, unrounded, q, &pages, s.m, s.n, s.hq, s.hkv, s.d,
                   s.window);
    keep(b, k, keys);
    keep(b, v, keys);
    ref->attention(&alone, expected, q, &pages, s.m, s.n, s.hq, s.hkv, s.d,
                   s.window);
    drive_attention_pages(b, s, q, k, v, expected,
                          scale > 1 ? NULL : unrounded);
    free(q);
    free(k);
    free(v);
    free(expected);
    free(unrounded);
}

static void drive_attention_bidirectional_of(struct bench *b,
                                             struct attention s, float scale)
{
    size_t queries = s.m * s.hq * s.d, keys = s.n * s.hkv * s.d;
    float *q = numbers(b, queries, scale), *k = numbers(b, keys, scale);
    float *v = numbers(b, keys, 1), *expected = poisoned(queries);
    ref->attention_bidirectional(&alone, expected, q, k, v, s.m, s.n, s.hq,
                                 s.hkv, s.d, s.window);
    const float *in = put(b, q, queries), *key = put(b, k, keys);
    const float *value = put(b, v, keys);
    float *out = put(b, NULL, queries);
    if (done(b, "attention_all",
             b->table->attention_bidirectional(&b->run, out, in, key, value,
                                               s.m, s.n, s.hq, s.hkv, s.d,
                                               s.window)))
        check(b, "attention_all", out, expected, queries);
    settle(b, "attention_all");
    free(q);
    free(k);
    free(v);
    free(expected);
}

/* Texts of all lengths, some empty and more than go with one launch. */
static void drive_attention_texts(struct bench *b)
{
    enum { TEXTS = 530, HQ = 4, HKV = 2, D = 12 };
    static const size_t lengths[] = {3, 70, 0, 1, 5};
    size_t start[TEXTS + 1] = {0};
    for (size_t t = 0; t < TEXTS; t++)
        start[t + 1] = start[t] + (t < 5 ? lengths[t] : t % 3);
    size_t n = start[TEXTS], wide = n * HQ * D, narrow = n * HKV * D;
    float *q = numbers(b, wide, 1), *k = numbers(b, narrow, 1);
    float *v = numbers(b, narrow, 1), *expected = poisoned(wide);
    for (size_t i = 0; i < 4; i++) {
        size_t window = i % 2 ? 9 : 0, texts = i < 2 ? 5 : TEXTS;
        size_t count = start[texts] * HQ * D;
        bool causal = i == 1 || i == 2;
        ref->attention_texts(&alone, expected, q, k, v, start, texts, HQ, HKV,
                             D, window, causal);
        float *out = put(b, NULL, count);
        if (done(b, "attention_texts",
                 b->table->attention_texts(&b->run, out, put(b, q, count),
                                           put(b, k, narrow), put(b, v, narrow),
                                           start, texts, HQ, HKV, D, window,
                                           causal)))
            check(b, "attention_texts", out, expected, count);
        settle(b, "attention_texts");
    }
    free(q);
    free(k);
    free(v);
    free(expected);
}

static void drive_attention_bidirectional(struct bench *b)
{
    static const struct attention sizes[] = {
        {1, 1, 1, 1, 1, 0},      {7, 7, 2, 2, 64, 0},
        {65, 65, 12, 12, 32, 0}, {2, 130, 4, 2, 33, 0},
        {70, 5, 3, 1, 16, 0},    {3, 5, 2, 1, 300, 0},
        {9, 200, 8, 2, 128, 0},  {7, 7, 2, 1, 12, 3},
        {65, 65, 6, 2, 32, 20},  {150, 150, 3, 1, 64, 64},
        {9, 9, 2, 2, 300, 1},    {70, 70, 2, 2, 16, 200}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        drive_attention_bidirectional_of(b, sizes[i], 1);
        drive_attention_bidirectional_of(b, sizes[i], 20);
    }
}

/* The oracle's own mask: the last query sees as much as without one. */
static void the_last_query_sees_all(void **state)
{
    (void)state;
    enum { M = 5, D = 6 };
    struct bench b = {.table = kernels_ref(), .random = 3};
    float *x = numbers(&b, M * D, 2), causal[M * D], all[M * D];
    const float *key = x;
    struct kernel_pages pages = one_page(&key, &key, M);
    b.table->attention(&b.run, causal, x, &pages, M, M, 1, 1, D, 0);
    b.table->attention_bidirectional(&b.run, all, x, x, x, M, M, 1, 1, D, 0);
    assert_memory_equal(causal + (M - 1) * D, all + (M - 1) * D, D * sizeof *x);
    assert_memory_not_equal(causal, all, D * sizeof *x);
    free(x);
}

/* A window that reaches both ways: a query in the middle sees what attention over
 * these keys alone gives it. */
static void a_window_reaches_both_ways(void **state)
{
    (void)state;
    enum { N = 9, D = 6, WINDOW = 2, AT = 4 };
    struct bench b = {.table = kernels_ref(), .random = 5};
    float *x = numbers(&b, N * D, 2), some[N * D], one[D];
    const float *keys = x + (AT - WINDOW) * D;
    b.table->attention_bidirectional(&b.run, some, x, x, x, N, N, 1, 1, D,
                                     WINDOW);
    b.table->attention_bidirectional(&b.run, one, x + AT * D, keys, keys, 1,
                                     2 * WINDOW + 1, 1, 1, D, 0);
    assert_memory_equal(some + AT * D, one, sizeof one);
    b.table->attention_bidirectional(&b.run, one, x, x, x, 1, WINDOW + 1, 1, 1,
                                     D, 0);
    assert_memory_equal(some, one, sizeof one);
    free(x);
}

static void drive_attention(struct bench *b)
{
    static const struct attention sizes[] = {
        {1, 1, 1, 1, 1, 0},        {1, 1, 4, 2, 8, 0},
        {1, 65, 4, 2, 64, 0},      {1, 200, 8, 1, 33, 0},
        {1, 200, 3, 3, 16, 70},    {2, 3, 2, 1, 5, 0},
        {7, 7, 2, 2, 64, 0},       {65, 65, 2, 1, 24, 0},
        {40, 170, 6, 2, 40, 0},    {40, 170, 6, 2, 40, 17},
        {130, 131, 1, 1, 16, 1},   {33, 64, 16, 1, 8, 64},
        {5, 9, 80, 1, 4, 3},       {3, 5, 2, 1, 300, 0},
        {100, 100, 2, 2, 128, 99}, {20, 150, 2, 1, 256, 0},
        {1, 700, 8, 2, 128, 0},    {3, 90, 4, 2, 67, 20},
        {66, 300, 4, 2, 128, 0},   {33, 330, 8, 2, 64, 90},
        {150, 150, 2, 1, 64, 0},   {140, 700, 1, 1, 128, 300},
        {40, 1100, 8, 2, 64, 0},   {40, 1100, 8, 2, 128, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        drive_attention_of(b, sizes[i], 1);
        drive_attention_of(b, sizes[i], 20);
    }
}

static void drive_swiglu_and_add(struct bench *b)
{
    static const size_t counts[] = {1, 15, 16, 17, 1000, 4097, 50001};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        size_t n = counts[c];
        /* far beyond where exp overflows */
        float *x = numbers(b, n, c % 2 ? 300 : 5), *y = numbers(b, n, 2);
        float *gated = poisoned(n), *sum = copy(x, n);
        ref->swiglu(&alone, gated, x, y, n);
        ref->add(&alone, sum, y, n);
        float *gate = put(b, x, n), *up = put(b, y, n), *out = put(b, NULL, n);
        float *other = put(b, x, n);
        if (done(b, "swiglu", b->table->swiglu(&b->run, out, gate, up, n))) {
            check(b, "swiglu", out, gated, n);
            b->table->swiglu(&b->run, gate, gate, up, n);
            check(b, "swiglu over its gate", gate, gated, n);
        }
        for (int exact = 0; exact < 2; exact++) {
            ref->geglu(&alone, gated, x, y, n, exact);
            if (done(b, "geglu",
                     b->table->geglu(&b->run, out, other, up, n, exact)))
                check(b, "geglu", out, gated, n);
        }
        if (done(b, "add", b->table->add(&b->run, other, up, n)))
            check(b, "add", other, sum, n);
        if (done(b, "swiglu", b->table->swiglu(&b->run, up, other, up, n))) {
            ref->swiglu(&alone, gated, sum, y, n);
            check(b, "swiglu over its other input", up, gated, n);
        }
        settle(b, "swiglu and add");
        free(x);
        free(y);
        free(gated);
        free(sum);
    }
}

/* Rows with what no answer is made of (NaN, -infinity) and with equals, in the
 * middle of larger logits that are not theirs. */
static float *odd_logits(struct bench *b, size_t n)
{
    float *x = numbers(b, n + 2, 20);
    x[0] = x[n + 1] = 1e6f;
    for (size_t i = 1; i <= n; i++) {
        uint64_t kind = unit_below(&b->random, 16);
        x[i] = kind == 0   ? NAN
               : kind == 1 ? -INFINITY
               : kind == 2 ? -0.0f
               : kind < 6  ? roundf(x[i])
                           : x[i];
    }
    x[1 + unit_below(&b->random, (uint32_t)n)] = 20.5f;
    return x;
}

static void check_top_k(struct bench *b, const float *x, size_t n, float beta)
{
    struct kernel_top_k expected, got = {.sum = NAN};
    ref->top_k(&alone, &expected, x + 1, n, beta);
    const float *in = put(b, x, n + 2);
    if (done(b, "likeliest", b->table->top_k(&b->run, &got, in + 1, n, beta))) {
        for (size_t i = 0; i < KERNEL_TOP_K; i++)
            if (got.id[i] != expected.id[i] ||
                got.logit[i] < expected.logit[i] ||
                got.logit[i] > expected.logit[i])
                fail_msg("%s likeliest of %zu: %zu is %d (%g), not %d (%g)",
                         b->label, n, i, (int)got.id[i], (double)got.logit[i],
                         (int)expected.id[i], (double)expected.logit[i]);
        double error =
            fabs((double)got.sum / (double)expected.sum - 1) +
            fabs((double)got.sum_beta / (double)expected.sum_beta - 1);
        if (!(error <= b->bound))
            fail_msg("%s likeliest of %zu, beta %g: sums %g and %g, not %g and "
                     "%g",
                     b->label, n, (double)beta, (double)got.sum,
                     (double)got.sum_beta, (double)expected.sum,
                     (double)expected.sum_beta);
    }
    settle(b, "likeliest");
}

static void drive_top_k(struct bench *b)
{
    static const size_t counts[] = {1,    5,    63,   64,    65,
                                    1000, 4096, 4097, 12300, 70001};
    static const float betas[] = {1, 0.5f, 1.7f, 40};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        float *x = odd_logits(b, counts[c]);
        check_top_k(b, x, counts[c], betas[c % 4]);
        for (size_t i = 1; i <= counts[c]; i++)
            x[i] = i % 2 ? -INFINITY : NAN; /* one that is a number */
        x[counts[c]] = 3;
        check_top_k(b, x, counts[c], betas[c % 4]);
        free(x);
    }
}

/* Its list, of few, as one would write it down. */
static void the_oracle_lists_the_likeliest(void **state)
{
    (void)state;
    const float logits[] = {2, NAN, 3, -INFINITY, 3, 1};
    static const int32_t ids[] = {2, 4, 0, 5, 1, 3, -1};
    struct kernel_top_k got;
    assert_int_equal(kernels_ref()->top_k(NULL, &got, logits, 6, 2), 0);
    assert_memory_equal(got.id, ids, sizeof ids);
    assert_true(got.logit[3] > 0.5f && got.logit[4] < 0);
    assert_true(fabs((double)got.sum - (2 + exp(-1) + exp(-2))) < 1e-6);
    assert_true(fabs((double)got.sum_beta - (2 + exp(-2) + exp(-4))) < 1e-6);
}

/* ---- Memories ---- */

static const size_t memories[][3] = {{1, 1, 1},    {1, 48, 16},  {2, 5, 3},
                                     {3, 65, 7},   {31, 16, 16}, {33, 100, 64},
                                     {150, 48, 20}};

static void drive_recall(struct bench *b)
{
    for (size_t s = 0; s < sizeof memories / sizeof memories[0]; s++) {
        size_t n = memories[s][0], d = memories[s][1], p = memories[s][2];
        float *q = numbers(b, d, 1), *memory = numbers(b, n * d, 1);
        float *wq = numbers(b, d * p, 1), *wk = numbers(b, d * p, 1);
        float *expected = poisoned(d);
        ref->recall(&alone, expected, q, memory, wq, wk, n, d, p);
        float *out = put(b, NULL, d);
        const float *in = put(b, q, d), *from = put(b, memory, n * d);
        const float *by = put(b, wq, d * p), *with = put(b, wk, d * p);
        if (done(b, "recall",
                 b->table->recall(&b->run, out, in, from, by, with, n, d, p)))
            check(b, "recall", out, expected, d);
        settle(b, "recall");
        free(q);
        free(memory);
        free(wq);
        free(wk);
        free(expected);
    }
}

static void drive_pool_mean(struct bench *b)
{
    for (size_t s = 0; s < sizeof memories / sizeof memories[0]; s++) {
        size_t n = memories[s][0], d = memories[s][1];
        float *children = numbers(b, n * d, 1), *expected = poisoned(d);
        ref->pool_mean(&alone, expected, children, n, d);
        const float *in = put(b, children, n * d);
        float *out = put(b, NULL, d);
        if (done(b, "pool_mean", b->table->pool_mean(&b->run, out, in, n, d)))
            check(b, "pool_mean", out, expected, d);
        settle(b, "pool_mean");
        free(children);
        free(expected);
    }
}

/* Groups of one to many, as one mean each. */
static void drive_pool_means(struct bench *b)
{
    static const size_t groups[] = {1, 2, 33, 100};
    for (size_t s = 0; s < sizeof groups / sizeof groups[0]; s++) {
        size_t d = 1 + 67 * s, start[101] = {0};
        for (size_t g = 0; g < groups[s]; g++)
            start[g + 1] = start[g] + 1 + unit_below(&b->random, 20);
        size_t n = start[groups[s]];
        float *children = numbers(b, n * d, 1);
        float *expected = poisoned(groups[s] * d);
        for (size_t g = 0; g < groups[s]; g++)
            ref->pool_mean(&alone, expected + g * d, children + start[g] * d,
                           start[g + 1] - start[g], d);
        const float *in = put(b, children, n * d);
        float *out = put(b, NULL, groups[s] * d);
        if (done(b, "pool_means",
                 b->table->pool_means(&b->run, out, in, start, groups[s], d)))
            check(b, "pool_means", out, expected, groups[s] * d);
        settle(b, "pool_means");
        free(children);
        free(expected);
    }
}

/* With projections, or by cosines when there are none. */
static void drive_pool_attention_of(struct bench *b, size_t n, size_t d,
                                    size_t p, bool cosine, float scale)
{
    float *children = numbers(b, n * d, scale);
    float *wq = numbers(b, d * p, 1), *wk = numbers(b, d * p, 1);
    float *expected = poisoned(d), *share = poisoned(n);
    if (n > 2) /* a vector of zeros has no direction */
        memset(children + d, 0, d * sizeof *children);
    ref->pool_attention(&alone, expected, share, children, cosine ? NULL : wq,
                        cosine ? NULL : wk, 20, n, d, p);
    const float *in = put(b, children, n * d);
    const float *by = put(b, wq, d * p), *with = put(b, wk, d * p);
    float *out = put(b, NULL, d), *weight = put(b, NULL, n);
    if (done(b, "pool_attention",
             b->table->pool_attention(&b->run, out, weight, in,
                                      cosine ? NULL : by, cosine ? NULL : with,
                                      20, n, d, p))) {
        check(b, "pool_attention", out, expected, d);
        check(b, "pool_attention, weights", weight, share, n);
    }
    settle(b, "pool_attention");
    free(children);
    free(wq);
    free(wk);
    free(expected);
    free(share);
}

static void drive_pool_attention(struct bench *b)
{
    for (size_t s = 0; s < sizeof memories / sizeof memories[0]; s++)
        for (int cosine = 0; cosine < 2; cosine++)
            drive_pool_attention_of(b, memories[s][0], memories[s][1],
                                    memories[s][2], cosine, 1);
    /* directions do not depend on lengths */
    static const float scales[] = {1e-37F, 1e-25F, 1e-15F, 1e15F, 1e20F, 1e30F};
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++)
        drive_pool_attention_of(b, 5, 33, 4, true, scales[s]);
}

/* Groups of one to many, as each by itself. */
static void drive_pool_attentions_of(struct bench *b, size_t groups, size_t min,
                                     uint32_t more, bool cosine)
{
    size_t d = 37, p = 5, *start = calloc(groups + 1, sizeof *start);
    assert_non_null(start);
    for (size_t g = 0; g < groups; g++)
        start[g + 1] = start[g] + min + unit_below(&b->random, more);
    size_t n = start[groups];
    float *children = numbers(b, n * d, 1), *wq = numbers(b, d * p, 1);
    float *wk = numbers(b, d * p, 1), *expected = poisoned(groups * d);
    float *share = poisoned(n);
    for (size_t g = 0; g < groups; g++)
        ref->pool_attention(&alone, expected + g * d, share + start[g],
                            children + start[g] * d, cosine ? NULL : wq,
                            cosine ? NULL : wk, 20, start[g + 1] - start[g], d,
                            p);
    const float *in = put(b, children, n * d);
    const float *by = put(b, wq, d * p), *with = put(b, wk, d * p);
    float *out = put(b, NULL, groups * d), *weight = put(b, NULL, n);
    if (done(b, "pool_attentions",
             b->table->pool_attentions(&b->run, out, weight, in,
                                       cosine ? NULL : by, cosine ? NULL : with,
                                       20, start, groups, d, p))) {
        check(b, "pool_attentions", out, expected, groups * d);
        check(b, "pool_attentions, weights", weight, share, n);
    }
    settle(b, "pool_attentions");
    free(start);
    free(children);
    free(wq);
    free(wk);
    free(expected);
    free(share);
}

static void drive_pool_attentions(struct bench *b)
{
    for (int cosine = 0; cosine < 2; cosine++) {
        drive_pool_attentions_of(b, 1, 1, 40, cosine);
        drive_pool_attentions_of(b, 2, 1, 1, cosine);
        drive_pool_attentions_of(b, 33, 1, 20, cosine);
        drive_pool_attentions_of(b, 200, 1, 5, cosine);
    }
    /* more scores than a device holds at once */
    drive_pool_attentions_of(b, 3, 150, 10, false);
}

static void drive_pool_landmark(struct bench *b)
{
    for (size_t s = 0; s < sizeof memories / sizeof memories[0]; s++) {
        size_t n = memories[s][0], d = memories[s][1];
        float *children = numbers(b, n * d, 1), *bias = numbers(b, n, 2);
        float *proxy = numbers(b, d, 1), *expected = poisoned(d), sum = NAN;
        ref->pool_landmark(&alone, expected, &sum, children, bias, proxy, 20, n,
                           d);
        const float *in = put(b, children, n * d), *with = put(b, bias, n);
        const float *by = put(b, proxy, d);
        float *out = put(b, NULL, d), *ret_bias = put(b, NULL, 1);
        if (done(b, "pool_landmark",
                 b->table->pool_landmark(&b->run, out, ret_bias, in, with, by,
                                         20, n, d))) {
            check(b, "pool_landmark", out, expected, d);
            check(b, "pool_landmark, bias", ret_bias, &sum, 1);
        }
        settle(b, "pool_landmark");
        free(children);
        free(bias);
        free(proxy);
        free(expected);
    }
}

/* ---- What must not be lost ---- */

static void drive_gelu(struct bench *b)
{
    static const size_t shapes[][2] = {{1, 1}, {3, 7}, {2, 64}, {33, 131}};
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        size_t m = shapes[s][0], n = shapes[s][1];
        float *x = numbers(b, m * n, 9), *bias = numbers(b, n, 1);
        float *expected = copy(x, m * n);
        ref->gelu(&alone, expected, bias, m, n);
        float *out = put(b, x, m * n);
        const float *with = put(b, bias, n);
        if (done(b, "gelu", b->table->gelu(&b->run, out, with, m, n)))
            check(b, "gelu", out, expected, m * n);
        settle(b, "gelu");
        free(x);
        free(bias);
        free(expected);
    }
}

static void drive_bias_and_scale(struct bench *b)
{
    enum { M = 37, N = 131 };
    float *x = numbers(b, M * N, 3), *bias = numbers(b, N, 1);
    float *expected = copy(x, M * N);
    ref->add_bias(&alone, expected, bias, M, N);
    float *out = put(b, x, M * N);
    const float *with = put(b, bias, N);
    if (done(b, "add_bias", b->table->add_bias(&b->run, out, with, M, N)))
        check(b, "add_bias", out, expected, M * N);
    ref->scale(&alone, expected, -1.5F, M * N);
    if (done(b, "scale", b->table->scale(&b->run, out, -1.5F, M * N)))
        check(b, "scale", out, expected, M * N);
    settle(b, "add_bias and scale");
    free(x);
    free(bias);
    free(expected);
}

/* gelu(1) = Phi(1), gelu(-1) = -(1 - Phi(1)); a mean of 2 and a deviation of
 * 1 from it. */
static void the_oracle_is_right(void **state)
{
    (void)state;
    const float bias[] = {0, 0}, one[] = {1, 1};
    float x[] = {1, -1}, y[] = {1, 3}, out[2];
    struct kernel_run run = {.step = NULL};
    assert_int_equal(kernels_ref()->gelu(&run, x, bias, 1, 2), 0);
    assert_true(fabsf(x[0] - 0.84134475F) < 1e-7F);
    assert_true(fabsf(x[1] + 0.15865525F) < 1e-7F);
    assert_int_equal(
        kernels_ref()->layer_norm(&run, out, y, one, bias, 1, 2, 0), 0);
    assert_true(fabsf(out[0] + 1) < 1e-6F && fabsf(out[1] - 1) < 1e-6F);
}

/* One NaN among the inputs is in every output that depends on it.  (One among
 * the values may also reach queries that do not see it: 0 times NaN.) */
static void drive_nan(struct bench *b)
{
    enum { M = 20, N = 90, D = 40 };
    float *q = numbers(b, M * D, 1), *k = numbers(b, N * D, 1);
    float *host = mem_alloc(M * D * sizeof *host);
    k[80 * D + 3] = NAN; /* the key of query 10 and those after it */
    float *v = numbers(b, N * D, 1);
    const float *in = put(b, q, M * D);
    struct kernel_pages pages = {.keys = put_pages(b, k, N, D, 64),
                                 .values = put_pages(b, v, N, D, 64),
                                 .slots = 64,
                                 .type = b->kept};
    float *out = put(b, NULL, M * D);
    if (done(b, "attention",
             b->table->attention(&b->run, out, in, &pages, M, N, 1, 1, D, 0))) {
        b->table->download(&b->run, host, out, M * D * sizeof *host);
        for (size_t i = 0; i < M; i++)
            for (size_t l = 0; l < D; l++)
                if (isnan(host[i * D + l]) != (i >= 10))
                    fail_msg("%s attention: query %zu", b->label, i);
    }
    q[7] = NAN;
    float *x = put(b, q, M * D);
    if (done(b, "rms_norm",
             b->table->rms_norm(&b->run, out, x, x, M, D, 1e-6f))) {
        b->table->download(&b->run, host, out, M * D * sizeof *host);
        for (size_t l = 0; l < D; l++)
            assert_true(isnan(host[l]));
    }
    if (done(b, "swiglu", b->table->swiglu(&b->run, out, x, x, D))) {
        b->table->download(&b->run, host, out, M * D * sizeof *host);
        for (size_t l = 0; l < D; l++)
            assert_true(isnan(host[l]) == (l == 7));
    }
    settle(b, "NaN");
    free(q);
    free(k);
    free(v);
    free(host);
}

static void drive_nothing(struct bench *b)
{
    float *values = numbers(b, 12, 1);
    struct kernel_weight *weight = NULL;
    /* What is read is finite: of NaNs come NaNs, which are the poison. */
    static const float finite[12] = {1, 2, 3, 4};
    const float *in = put(b, finite, 12);
    float *x = put(b, NULL, 12), *key = poisoned(4);
    const float *const *table = put_pages(b, key, 1, 4, 1);
    struct kernel_pages pages = {.keys = table, .values = table, .slots = 1};
    if (done(b, "weight",
             b->table->weight(&b->run, values, KERNEL_F32, 3, 4, &weight))) {
        done(b, "product", b->table->matmul(&b->run, x, in, weight, 0, false));
        done(b, "gather", b->table->gather(&b->run, x, weight, NULL, 0));
    }
    done(b, "rms_norm", b->table->rms_norm(&b->run, x, x, x, 0, 4, 0));
    done(b, "rotary", b->table->rotary(&b->run, x, NULL, NULL, 0, 2, 4));
    done(b, "attention",
         b->table->attention(&b->run, x, in, &pages, 0, 1, 2, 1, 4, 0));
    done(b, "attention_all",
         b->table->attention_bidirectional(&b->run, x, in, in, in, 0, 1, 2, 1,
                                           4, 0));
    done(b, "layer_norm", b->table->layer_norm(&b->run, x, x, x, x, 0, 4, 0));
    done(b, "gelu", b->table->gelu(&b->run, x, x, 0, 4));
    done(b, "add_bias", b->table->add_bias(&b->run, x, x, 0, 4));
    done(b, "scale", b->table->scale(&b->run, x, 2, 0));
    done(b, "swiglu", b->table->swiglu(&b->run, x, x, x, 0));
    done(b, "add", b->table->add(&b->run, x, x, 0));
    float *host = mem_alloc(12 * sizeof *host), *expected = poisoned(12);
    b->table->download(&b->run, host, x, 12 * sizeof *host);
    assert_memory_equal(host, expected, 12 * sizeof *host);
    free(key);
    b->table->weight_free(&b->run, weight);
    settle(b, "nothing");
    free(host);
    free(expected);
    free(values);
}

static void drive_golden(struct bench *b)
{
    glob_t found;
    assert_int_equal(glob("tests/golden/*.safetensors", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct safetensors *file = NULL;
        struct case_result result = {.count = 0};
        struct err err = {0};
        if (safetensors_open(found.gl_pathv[i], &file, &err) ||
            case_run(file, b->table, &b->run, &result, &err) ||
            case_check(file, &result, &err))
            fail_msg("%s: %s", found.gl_pathv[i], err.message);
        assert_true(result.count > 0);
        for (size_t o = 0; o < result.count; o++) {
            const struct case_output *out = &result.outputs[o];
            assert_true(out->expected);
            if (done(b, out->tensor.name.data, out->code) &&
                !(out->error <= b->bound))
                fail_msg("%s %s %s: error %g", b->label, found.gl_pathv[i],
                         out->tensor.name.data, out->error);
        }
        case_free(&result);
        safetensors_close(file);
    }
    globfree(&found);
}

/* A safetensors file in memory: a recall from two memories of one number
 * each, with `more` after its inputs. */
static int check_case(const char *more, size_t more_bytes, struct err *err)
{
    struct buf header = {0}, bytes = {0};
    static const char zeros[64];
    buf_printf(&header,
               "{\"__metadata__\":{\"op\":\"hmt_recall\"},"
               "\"in.q\":{\"dtype\":\"F32\",\"shape\":[1],"
               "\"data_offsets\":[0,4]},"
               "\"in.memory\":{\"dtype\":\"F32\",\"shape\":[2,1],"
               "\"data_offsets\":[4,12]},"
               "\"in.wq\":{\"dtype\":\"F32\",\"shape\":[1,1],"
               "\"data_offsets\":[12,16]},"
               "\"in.wk\":{\"dtype\":\"F32\",\"shape\":[1,1],"
               "\"data_offsets\":[16,20]}%s}",
               more);
    for (int i = 0; i < 8; i++)
        buf_put_byte(&bytes, (int)(header.size >> (8 * i) & 255));
    buf_put_slice(&bytes, buf_slice(&header));
    buf_put(&bytes, zeros, 20 + more_bytes);
    struct safetensors *file = NULL;
    struct case_result result = {.count = 0};
    if (safetensors_over(buf_slice(&bytes), &file, err) ||
        case_run(file, ref, &alone, &result, err))
        fail_msg("%s: %s", more, err->message);
    int code = case_check(file, &result, err);
    case_free(&result);
    safetensors_close(file);
    buf_free(&header);
    buf_free(&bytes);
    return code;
}

/* What is expected must be compared with something. */
static void cases_are_checked_whole(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        size_t bytes;
        const char *says;
    } cases[] = {
        {",\"out.out\":{\"dtype\":\"I32\",\"shape\":[1],"
         "\"data_offsets\":[20,24]}",
         4, "out.out is of another type"},
        {",\"out.out\":{\"dtype\":\"F32\",\"shape\":[2],"
         "\"data_offsets\":[20,28]}",
         8, "out.out is of another type"},
        {",\"out.out\":{\"dtype\":\"F32\",\"shape\":[1,1],"
         "\"data_offsets\":[20,24]}",
         4, "out.out is of another type"},
        {",\"out.uot\":{\"dtype\":\"F32\",\"shape\":[1],"
         "\"data_offsets\":[20,24]}",
         4, "out.uot is no output"},
    };
    struct err err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(check_case(cases[i].more, cases[i].bytes, &err),
                         ERR_FORMAT);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].says, err.message);
    }
    assert_int_equal(check_case("", 0, &err), 0);
    assert_int_equal(check_case(",\"out.out\":{\"dtype\":\"F32\",\"shape\":[1],"
                                "\"data_offsets\":[20,24]}",
                                4, &err),
                     0);
}

DRIVE(rms_norm)
DRIVE(layer_norm)
DRIVE(rotary)
DRIVE_PAGES(kv_write)
DRIVE_PAGES(heads)
DRIVE_PAGES(attention)
DRIVE(attention_bidirectional)
DRIVE(attention_texts)
DRIVE(gelu)
DRIVE(bias_and_scale)
DRIVE(swiglu_and_add)
DRIVE(top_k)
DRIVE(recall)
DRIVE(pool_mean)
DRIVE(pool_means)
DRIVE(pool_attention)
DRIVE(pool_attentions)
DRIVE(pool_landmark)
DRIVE_PAGES(nan)
DRIVE(nothing)
DRIVE(golden)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rms_norm),
        cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_rotary),
        cmocka_unit_test(test_kv_write),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_bidirectional),
        cmocka_unit_test(test_attention_texts),
        cmocka_unit_test(a_window_reaches_both_ways),
        cmocka_unit_test(test_gelu),
        cmocka_unit_test(test_bias_and_scale),
        cmocka_unit_test(the_oracle_is_right),
        cmocka_unit_test(the_last_query_sees_all),
        cmocka_unit_test(test_swiglu_and_add),
        cmocka_unit_test(test_top_k),
        cmocka_unit_test(the_oracle_lists_the_likeliest),
        cmocka_unit_test(test_recall),
        cmocka_unit_test(test_pool_mean),
        cmocka_unit_test(test_pool_means),
        cmocka_unit_test(test_pool_attention),
        cmocka_unit_test(test_pool_attentions),
        cmocka_unit_test(test_pool_landmark),
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_golden),
        cmocka_unit_test(cases_are_checked_whole),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
