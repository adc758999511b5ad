/* The operations of STAR attention and HiCI: every table against `ref`, and what
 * must hold of them whatever the numbers are. */
#include "tests/unit/support/papers.h"

struct star {
    size_t m, n, hq, hkv, d, chunk, top_k;
    size_t slots; /* of a page */
};

static void drive_star_of(struct bench *b, struct star z, float scale,
                          bool by_head)
{
    size_t queries = z.m * z.hq * z.d, keys = z.n * z.hkv * z.d;
    float *q = numbers(b, queries, scale), *k = numbers(b, keys, scale);
    float *v = numbers(b, keys, 1), *gate = numbers(b, 3, 2);
    float *expected = poisoned(queries);
    keep(b, k, keys);
    keep(b, v, keys);
    const float *k_page = k, *v_page = v;
    struct kernel_pages whole = one_page(&k_page, &v_page, z.n);
    struct kernel_pages pages = {
        .keys = lay_pages(b, k, z.n, z.hkv, z.d, z.slots, by_head),
        .values = lay_pages(b, v, z.n, z.hkv, z.d, z.slots, by_head),
        .slots = z.slots,
        .type = b->kept,
        .by_head = by_head};
    ref->star_attention(&alone, expected, q, &whole, gate, z.m, z.n, z.hq,
                        z.hkv, z.d, z.chunk, z.top_k);
    const float *in = put(b, q, queries), *by = put(b, gate, 3);
    float *out = put(b, NULL, queries);
    if (done(b, "star_attention",
             b->table->star_attention(&b->run, out, in, &pages, by, z.m, z.n,
                                      z.hq, z.hkv, z.d, z.chunk, z.top_k))) {
        check_attention(b, "star_attention", out, expected, queries,
                        z.m * z.hq / z.hkv);
        if (on_processor(b)) {
            b->table->star_attention(&alone, expected, q, &pages, gate, z.m,
                                     z.n, z.hq, z.hkv, z.d, z.chunk, z.top_k);
            check_same(b->label, "star on one thread", out, expected,
                       queries * sizeof *expected);
        }
    }
    settle(b, "star_attention");
    free(q);
    free(k);
    free(v);
    free(gate);
    free(expected);
}

static void drive_star(struct bench *b)
{
    static const struct star sizes[] = {
        {1, 1, 1, 1, 1, 1, 1, 1},       {9, 9, 2, 1, 5, 3, 1, 3},
        {7, 7, 3, 3, 16, 8, 2, 64},     {33, 90, 6, 2, 33, 8, 3, 7},
        {1, 400, 8, 1, 64, 9, 4, 63},   {100, 100, 2, 2, 130, 7, 99, 14},
        {20, 300, 2, 1, 257, 4, 2, 8},  {3, 900, 2, 1, 8, 2, 70, 100},
        {40, 300, 4, 2, 100, 65, 2, 65}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        drive_star_of(b, sizes[i], 1, i % 2);
        drive_star_of(b, sizes[i], 4, i % 2 == 0);
    }
}

DRIVE_PAGES(star)

/* ---- HiCI ---- */

enum { HICI_WEIGHTS = 10, HICI_VECTORS = 6 };

/* HiCI's weights twice, of the table under test and of ref. */
struct hici {
    struct kernel_hici mine, theirs;
    struct weights weights[HICI_WEIGHTS];
    float *vectors[HICI_VECTORS]; /* on the host */
    bool ready;
};

static struct hici make_hici(struct bench *b, struct kernel_hici z)
{
    size_t d = z.width;
    const size_t shapes[HICI_WEIGHTS][2] = {
        {z.a, d},   {z.a, d},   {z.a, d},   {d, z.a},   {z.s, d},
        {z.b, z.s}, {z.b, z.b}, {z.b, z.b}, {z.b, z.b}, {z.b, z.b}};
    const size_t counts[HICI_VECTORS] = {z.slots * d, z.s, z.s,
                                         z.b,         z.b, z.queries * z.b};
    struct hici h = {.mine = z, .theirs = z, .ready = true};
    for (size_t i = 0; i < HICI_WEIGHTS; i++)
        h.ready = make_weight(b, &h.weights[i], shapes[i][0], shapes[i][1]) &&
                  h.ready;
    for (size_t i = 0; i < HICI_VECTORS; i++)
        h.vectors[i] = numbers(b, counts[i], 1);
    for (int side = 0; side < 2; side++) {
        struct kernel_hici *to = side ? &h.theirs : &h.mine;
        const struct kernel_weight **places[HICI_WEIGHTS] = {
            &to->lq, &to->lk, &to->lv, &to->lo, &to->gc,
            &to->gb, &to->gq, &to->gk, &to->gv, &to->go};
        const float **vectors[HICI_VECTORS] = {&to->slot,    &to->gc_norm,
                                               &to->gc_bias, &to->gb_norm,
                                               &to->gb_bias, &to->query};
        for (size_t i = 0; i < HICI_WEIGHTS; i++)
            *places[i] = side ? h.weights[i].theirs : h.weights[i].mine;
        for (size_t i = 0; i < HICI_VECTORS; i++)
            *vectors[i] = side ? h.vectors[i] : put(b, h.vectors[i], counts[i]);
    }
    return h;
}

static void free_hici(struct bench *b, struct hici *h)
{
    for (size_t i = 0; i < HICI_WEIGHTS; i++)
        free_weight(b, &h->weights[i]);
    for (size_t i = 0; i < HICI_VECTORS; i++)
        free(h->vectors[i]);
}

static void drive_hici_of(struct bench *b, struct kernel_hici z, size_t n,
                          size_t segment)
{
    struct weights expand;
    bool ready = make_weight(b, &expand, z.width, z.b);
    struct hici h = make_hici(b, z);
    size_t segments = (n + segment - 1) / segment, d = z.width;
    size_t slots = segments * z.slots * d;
    size_t context = segments * (z.slots + z.queries) * d;
    float *x = numbers(b, n * d, 1), *local = poisoned(slots);
    float *shown = poisoned(context);
    h.mine.expand = expand.mine;
    h.theirs.expand = expand.theirs;
    ref->hici_local(&alone, local, x, &h.theirs, n, segment);
    const float *in = put(b, x, n * d);
    float *out = put(b, NULL, slots);
    if (ready && h.ready &&
        done(b, "hici_local",
             b->table->hici_local(&b->run, out, in, &h.mine, n, segment)))
        check(b, "hici_local", out, local, slots);
    const float *from = put(b, local, slots);
    for (int causal = 0; ready && h.ready && causal < 2; causal++) {
        float *to = put(b, NULL, context);
        ref->hici_context(&alone, shown, local, &h.theirs, segments, causal);
        if (done(b, "hici_context",
                 b->table->hici_context(&b->run, to, from, &h.mine, segments,
                                        causal)))
            check(b, "hici_context", to, shown, context);
    }
    settle(b, "hici");
    free(x);
    free(local);
    free(shown);
    free_hici(b, &h);
    free_weight(b, &expand);
}

struct broadcast {
    size_t n, segment, shown, hq, hkv, d;
};

static void drive_broadcast_of(struct bench *b, struct broadcast z, bool causal)
{
    size_t segments = (z.n + z.segment - 1) / z.segment;
    size_t queries = z.n * z.hq * z.d, keys = z.n * z.hkv * z.d;
    size_t slots = segments * z.shown * z.hkv * z.d;
    float *q = numbers(b, queries, 2), *k = numbers(b, keys, 2);
    float *v = numbers(b, keys, 1), *sk = numbers(b, slots, 2);
    float *sv = numbers(b, slots, 1), *expected = poisoned(queries);
    ref->hici_attention(&alone, expected, q, k, v, sk, sv, z.n, z.segment,
                        z.shown, z.hq, z.hkv, z.d, causal);
    const float *in = put(b, q, queries), *key = put(b, k, keys);
    const float *value = put(b, v, keys), *slot_k = put(b, sk, slots);
    const float *slot_v = put(b, sv, slots);
    float *out = put(b, NULL, queries);
    if (done(b, "hici_attention",
             b->table->hici_attention(&b->run, out, in, key, value, slot_k,
                                      slot_v, z.n, z.segment, z.shown, z.hq,
                                      z.hkv, z.d, causal))) {
        check(b, "hici_attention", out, expected, queries);
        if (on_processor(b)) {
            b->table->hici_attention(&alone, expected, q, k, v, sk, sv, z.n,
                                     z.segment, z.shown, z.hq, z.hkv, z.d,
                                     causal);
            check_same(b->label, "hici_attention on one thread", out, expected,
                       queries * sizeof *expected);
        }
    }
    settle(b, "hici_attention");
    free(q);
    free(k);
    free(v);
    free(sk);
    free(sv);
    free(expected);
}

static const struct kernel_hici hici_sizes[] = {{.slots = 1,
                                                 .queries = 1,
                                                 .heads = 1,
                                                 .width = 4,
                                                 .a = 2,
                                                 .s = 3,
                                                 .b = 2,
                                                 .beta = -3,
                                                 .eps = 1e-5F},
                                                {.slots = 8,
                                                 .queries = 4,
                                                 .heads = 4,
                                                 .width = 65,
                                                 .a = 20,
                                                 .s = 7,
                                                 .b = 36,
                                                 .beta = 0.5F,
                                                 .eps = 1e-5F},
                                                {.slots = 5,
                                                 .queries = 3,
                                                 .heads = 3,
                                                 .width = 130,
                                                 .a = 33,
                                                 .s = 16,
                                                 .b = 24,
                                                 .beta = 100,
                                                 .eps = 1e-6F}};

static void drive_hici(struct bench *b)
{
    static const struct broadcast sizes[] = {{1, 1, 1, 1, 1, 1},
                                             {40, 16, 12, 4, 2, 33},
                                             {130, 64, 5, 6, 3, 64},
                                             {10, 30, 3, 2, 1, 7}};
    drive_hici_of(b, hici_sizes[0], 1, 1);
    drive_hici_of(b, hici_sizes[1], 41, 16);
    drive_hici_of(b, hici_sizes[2], 100, 20);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        drive_broadcast_of(b, sizes[i], false);
        drive_broadcast_of(b, sizes[i], true);
    }
}

DRIVE(hici)

/* ---- What must hold ---- */

static void star_holds(void **state)
{
    (void)state;
    enum { N = 45, D = 10, HQ = 4, HKV = 2, ROW = HQ * D, CHUNK = 8 };
    static const size_t lengths[] = {1, 7, 8, 9, 15, 16, 17, N};
    for (int t = 0; t < 2; t++) {
        struct bench b = {.table = table_at(t), .random = 13};
        struct kernel_run *run = &b.run;
        const struct kernels *table = b.table;
        float *q = numbers(&b, N * ROW, 1), *k = numbers(&b, N * HKV * D, 1);
        float *v = numbers(&b, N * HKV * D, 1);
        float *out = poisoned(N * ROW), *other = poisoned(N * ROW);
        const float *keys = k, *values = v;
        struct kernel_pages pages = one_page(&keys, &values, N);
        const float gate[] = {0.3F, -1, 0.5F}, fine[] = {-200, -200, 200};
        table->star_attention(run, out, q, &pages, gate, N, N, HQ, HKV, D,
                              CHUNK, 2);
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            size_t n = lengths[i], at = (n - 1) * ROW;
            table->star_attention(run, other, q + at, &pages, gate, 1, n, HQ,
                                  HKV, D, CHUNK, 2);
            check_error("star step", other, out + at, ROW, 1e-5);
            table->star_attention(run, other, q, &pages, gate, n, n, HQ, HKV, D,
                                  CHUNK, 2);
            check_same("star", "later slots", other, out,
                       n * ROW * sizeof *out);
        }
        /* one chunk: plain attention; all chunks, the third part alone: plain
         * attention to what was before the query's chunk */
        table->star_attention(run, out, q, &pages, gate, N, N, HQ, HKV, D, N,
                              2);
        attention_over(table, run, other, q, k, v, N, N, HQ, HKV, D);
        check_error("star in one chunk", out, other, N * ROW, 1e-5);
        table->star_attention(run, out, q, &pages, fine, N, N, HQ, HKV, D,
                              CHUNK, N);
        size_t before = (N - 1) / CHUNK * CHUNK, at = (N - 1) * ROW;
        table->attention_bidirectional(run, other, q + at, k, v, 1, before, HQ,
                                       HKV, D, 0);
        check_error("star over all", out + at, other, ROW, 1e-5);
        free(q);
        free(k);
        free(v);
        free(out);
        free(other);
    }
}

/* Causal context of segment i depends on the segments before it alone; the
 * published one on all.  Each prefix's statistics are those of that prefix. */
static void hici_context_holds(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        enum { SEGMENTS = 5 };
        struct bench b = {.table = table_at(t), .bound = 1, .random = 17};
        struct kernel_hici z = hici_sizes[1];
        struct weights expand;
        assert_true(make_weight(&b, &expand, z.width, z.b));
        struct hici h = make_hici(&b, z);
        h.mine.expand = expand.mine;
        size_t slots = z.slots * z.width;
        size_t shown = (z.slots + z.queries) * z.width;
        size_t global = z.queries * z.width;
        float *local = numbers(&b, SEGMENTS * slots, 1);
        float *causal = poisoned(SEGMENTS * shown),
              *all = poisoned(SEGMENTS * shown);
        assert_int_equal(b.table->hici_context(&b.run, causal, local, &h.mine,
                                               SEGMENTS, true),
                         0);
        for (size_t l = 0; l < shown; l++)
            assert_true(causal[l] == 0);
        for (size_t i = 1; i < SEGMENTS; i++) {
            b.table->hici_context(&b.run, all, local, &h.mine, i, false);
            check_error("a prefix's G", causal + i * shown, all, global, 1e-5);
            check_same("hici", "L", causal + i * shown + global,
                       local + (i - 1) * slots, slots * sizeof *local);
        }
        b.table->hici_context(&b.run, all, local, &h.mine, SEGMENTS, false);
        assert_true(case_error(causal + (SEGMENTS - 1) * shown, all, global) >
                    1e-3);
        settle(&b, "hici_context");
        free(local);
        free(causal);
        free(all);
        free_hici(&b, &h);
        free_weight(&b, &expand);
    }
}

/* One segment without slots is plain causal attention. */
static void hici_broadcast_holds(void **state)
{
    (void)state;
    enum { N = 30, D = 8, HQ = 4, HKV = 2, SHOWN = 3 };
    for (int t = 0; t < 2; t++) {
        struct bench b = {.table = table_at(t), .random = 19};
        float *q = numbers(&b, N * HQ * D, 1), *k = numbers(&b, N * HKV * D, 1);
        float *v = numbers(&b, N * HKV * D, 1);
        float *slots = numbers(&b, 3 * SHOWN * HKV * D, 1);
        float *out = poisoned(N * HQ * D), *plain = poisoned(N * HQ * D);
        attention_over(b.table, &b.run, plain, q, k, v, N, N, HQ, HKV, D);
        b.table->hici_attention(&b.run, out, q, k, v, slots, slots, N, N + 5,
                                SHOWN, HQ, HKV, D, true);
        check_error("one segment", out, plain, N * HQ * D, 1e-5);
        b.table->hici_attention(&b.run, out, q, k, v, slots, slots, N, N + 5,
                                SHOWN, HQ, HKV, D, false);
        assert_true(case_error(out, plain, N * HQ * D) > 1e-3);
        /* the last token of a segment changes none before it */
        b.table->hici_attention(&b.run, out, q, k, v, slots, slots, N, 12,
                                SHOWN, HQ, HKV, D, true);
        for (size_t l = 0; l < HKV * D; l++)
            k[20 * HKV * D + l] = NAN;
        b.table->hici_attention(&b.run, plain, q, k, v, slots, slots, N, 12,
                                SHOWN, HQ, HKV, D, true);
        check_same("hici", "earlier tokens", out, plain,
                   20 * HQ * D * sizeof *out);
        check_same("hici", "the next segment", out + 24 * HQ * D,
                   plain + 24 * HQ * D, 6 * HQ * D * sizeof *out);
        free(q);
        free(k);
        free(v);
        free(slots);
        free(out);
        free(plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_star),
        cmocka_unit_test(test_hici),
        cmocka_unit_test(star_holds),
        cmocka_unit_test(hici_context_holds),
        cmocka_unit_test(hici_broadcast_holds),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
