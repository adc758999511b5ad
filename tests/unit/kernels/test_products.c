/* Products of every table that is there, with weights of each type, and rows of
 * them: against `ref`, and what must hold of their numbers. */
#include "tests/unit/support/bench_fixtures.h"

#include "kernels/half.h"
#include "kernels/cpu/packed_cache.h"

/* A weight at an odd address, where a file may have it. */
struct laid {
    char *bytes;
    float *scale;
    struct kernel_int8 int8;
    const void *host; /* as kernels->weight takes it */
};

static struct laid lay(struct bench *b, int type, size_t n, size_t k)
{
    float *values = numbers(b, n * k, 1);
    size_t size = kernel_type_size(type);
    struct laid laid = {.bytes = mem_alloc(n * k * size + 1),
                        .scale = numbers(b, n, 0.01F)};
    char *at = laid.bytes + 1;
    for (size_t i = 0; i < n * k; i++, at += size) {
        uint16_t half =
            type == KERNEL_BF16 ? ref_to_bf16(values[i]) : half_of(values[i]);
        int8_t byte = (int8_t)(unit_below(&b->random, 256) - 128);
        if (type == KERNEL_INT8)
            memcpy(at, &byte, size);
        else if (type == KERNEL_F32)
            memcpy(at, &values[i], size);
        else
            memcpy(at, &half, size);
    }
    free(values);
    laid.int8.rows = (const int8_t *)laid.bytes + 1;
    laid.int8.scale = laid.scale;
    laid.host = laid.bytes + 1;
    return laid;
}

/* Where it lies is the caller's. */
static const void *host_of(struct laid *laid, int type)
{
    return type == KERNEL_INT8 ? (const void *)&laid->int8 : laid->host;
}

static void lay_free(struct laid *laid)
{
    free(laid->bytes);
    free(laid->scale);
}

static void drive_matmul(struct bench *b, int type, size_t m, size_t n,
                         size_t k)
{
    struct laid laid = lay(b, type, n, k);
    struct kernel_weight *mine = NULL, *theirs = NULL;
    assert_int_equal(
        ref->weight(&alone, host_of(&laid, type), type, n, k, &theirs), 0);
    if (!done(
            b, "weight",
            b->table->weight(&b->run, host_of(&laid, type), type, n, k, &mine)))
        goto out;
    double bound = b->bound;
    if (type == KERNEL_BF16 && m >= 16 && !strcmp(b->table->name, "cuda"))
        b->bound = 4e-3; /* both factors are rounded to 8 bits */
    for (int add = 0; add < 2; add++)
        for (int again = 0; again <= (m >= 16); again++) { /* then packed */
            float *a = numbers(b, m * k, 1), *before = numbers(b, m * n, 1);
            float *expected = add ? copy(before, m * n) : poisoned(m * n);
            ref->matmul(&alone, expected, a, theirs, m, add);
            const float *in = put(b, a, m * k);
            float *out = put(b, add ? before : NULL, m * n);
            if (done(b, "product",
                     b->table->matmul(&b->run, out, in, mine, m, add)))
                check(b, "product", out, expected, m * n);
            settle(b, "product");
            float *bias = numbers(b, n, 1);
            const float *more = put(b, bias, n);
            in = put(b, a, m * k);
            out = put(b, add ? before : NULL, m * n);
            for (size_t i = 0; i < m * n; i++)
                expected[i] += bias[i % n];
            if (done(b, "product_bias",
                     b->table->matmul_bias(&b->run, out, in, mine, more, m,
                                           add)))
                check(b, "product_bias", out, expected, m * n);
            settle(b, "product_bias");
            free(bias);
            free(a);
            free(before);
            free(expected);
        }
    b->bound = bound;
out:
    b->table->weight_free(&b->run, mine);
    ref->weight_free(&alone, theirs);
    lay_free(&laid);
}

static void drive_matmuls(struct bench *b)
{
    static const size_t rows[] = {1, 2, 3, 7, 16, 17, 47};
    static const size_t shapes[][2] = {{1, 1},    {3, 5},    {17, 33},
                                       {64, 64},  {65, 127}, {130, 96},
                                       {333, 40}, {20, 515}, {35, 0}};
    for (int type = 0; type < KERNEL_TYPES; type++) {
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
                drive_matmul(b, type, rows[r], shapes[s][0], shapes[s][1]);
        drive_matmul(b, type, 256, 17, 33);
        drive_matmul(b, type, 275, 130, 31);
        drive_matmul(b, type, 35, 37, 2100); /* in several pieces of k */
    }
    b->table->weight_free(&b->run, NULL);
}

static void drive_gather(struct bench *b)
{
    enum { N = 7, M = 5, MANY = 70 };
    int32_t row[MANY] = {4, 0, 6, 6, 1};
    for (size_t i = M; i < MANY; i++)
        row[i] = (int32_t)unit_below(&b->random, N);
    for (size_t k = 1, m = M; k < 70; k += 17, m = m == M ? MANY : M)
        for (int type = 0; type < KERNEL_TYPES; type++) {
            struct laid laid = lay(b, type, N, k);
            struct kernel_weight *mine = NULL, *theirs = NULL;
            ref->weight(&alone, host_of(&laid, type), type, N, k, &theirs);
            float *expected = poisoned(m * k);
            ref->gather(&alone, expected, theirs, row, m);
            if (done(b, "weight",
                     b->table->weight(&b->run, host_of(&laid, type), type, N, k,
                                      &mine))) {
                float *out = put(b, NULL, m * k);
                if (done(b, "gather",
                         b->table->gather(&b->run, out, mine, row, m)))
                    check(b, "gather", out, expected, m * k);
                settle(b, "gather");
            }
            b->table->weight_free(&b->run, mine);
            ref->weight_free(&alone, theirs);
            free(expected);
            lay_free(&laid);
        }
}

/* The bits of products of the same rows asked for one by one; the last two are
 * added to something, which may be where they go. */
static void drive_together(struct bench *b)
{
    enum { COUNT = KERNEL_MAX_PRODUCTS, K = 64, MAX_ROWS = 17 };
    static const size_t n[COUNT] = {37, 1, 130, 4},
                        rows[] = {1, 3, 9, MAX_ROWS};
    for (size_t i = 0; i < KERNEL_TYPES * 8; i++) {
        int type = (int)(i % KERNEL_TYPES);
        size_t m = rows[i / KERNEL_TYPES % 4];
        bool joined = i >= KERNEL_TYPES * 4; /* the first two */
        struct laid laid[COUNT];
        struct kernel_product products[COUNT] = {{0}};
        struct kernel_weight *w[COUNT] = {NULL};
        float *plus[COUNT]; /* what is there before, and products one by one */
        float *a = numbers(b, m * K, 1), *host = mem_alloc(m * 130 * sizeof *a);
        const float *in = put(b, a, m * K);
        for (size_t p = 0; p < COUNT; p++) {
            float *bias = numbers(b, n[p], 1), *more = numbers(b, m * n[p], 1);
            laid[p] = lay(b, type, n[p], K);
            done(b, "weight",
                 b->table->weight(&b->run, host_of(&laid[p], type), type, n[p],
                                  K, &w[p]));
            products[p] = (struct kernel_product){
                .out = put(b, p == 3 ? more : NULL, m * n[p]),
                .w = w[p],
                .bias = p % 2 ? put(b, bias, n[p]) : NULL};
            products[p].plus = p == 3   ? products[p].out
                               : p == 2 ? put(b, more, m * n[p])
                                        : NULL;
            plus[p] = put(b, p >= 2 ? more : NULL, m * n[p]);
            free(bias);
            free(more);
        }
        if (joined)
            assert_int_equal(b->table->weights_join(&b->run, w, 2), 0);
        done(b, "products",
             b->table->matmuls(&b->run, products, COUNT,
                               &(struct kernel_rows){.x = in}, m));
        for (size_t p = 0; p < COUNT; p++) {
            const struct kernel_product *one = &products[p];
            done(b, "product",
                 one->bias ? b->table->matmul_bias(&b->run, plus[p], in, w[p],
                                                   one->bias, m, one->plus)
                           : b->table->matmul(&b->run, plus[p], in, w[p], m,
                                              one->plus));
            b->table->download(&b->run, host, plus[p], m * n[p] * sizeof *host);
            const double bound = b->bound;
            b->bound =
                joined ? 1e-5 : 0; /* cuBLASLt may sum in another order */
            check(b, "products", one->out, host, m * n[p]);
            b->bound = bound;
        }
        settle(b, "products");
        for (size_t p = 0; p < COUNT; p++) {
            b->table->weight_free(&b->run, w[p]);
            lay_free(&laid[p]);
        }
        free(a);
        free(host);
    }
}

/* Products of normed rows, and two of them bent into one, beside the oracle's norm,
 * products and activation one by one. */
static void drive_gated_of(struct bench *b, int type, size_t m, size_t k,
                           enum kernel_bend bend)
{
    enum { N = 21 };
    struct laid laid[2];
    struct kernel_weight *mine[2] = {NULL}, *theirs[2] = {NULL};
    float *x = numbers(b, m * k, 1), *norm = numbers(b, k, 1);
    float *bias = numbers(b, N, 1), *normed = mem_alloc((m * k + 1) * 4);
    float *want[2] = {poisoned(m * N), poisoned(m * N)};
    struct kernel_rows rows = {put(b, x, m * k), put(b, norm, k), 1e-5F,
                               put(b, NULL, m * k)};
    const double bound = b->bound;
    if (type == KERNEL_BF16 && m >= 16 && !strcmp(b->table->name, "cuda"))
        b->bound = 8e-3; /* both factors are rounded to 8 bits, twice over */
    ref->rms_norm(&alone, normed, x, norm, m, k, 1e-5F);
    for (size_t i = 0; i < 2; i++) {
        laid[i] = lay(b, type, N, k);
        const void *host = host_of(&laid[i], type);
        ref->weight(&alone, host, type, N, k, &theirs[i]);
        b->table->weight(&b->run, host, type, N, k, &mine[i]);
    }
    ref->matmul_bias(&alone, want[0], normed, theirs[0], bias, m, false);
    ref->matmul(&alone, want[1], normed, theirs[1], m, false);
    const struct kernel_gate gate = {
        .gate = {put(b, NULL, m * N), mine[0], put(b, bias, N), NULL},
        .up = {put(b, NULL, m * N), mine[1], NULL, NULL},
        .bend = bend};
    const struct kernel_product one = {put(b, NULL, m * N), mine[1], NULL,
                                       NULL};
    done(b, "normed product", b->table->matmuls(&b->run, &one, 1, &rows, m));
    check(b, "normed product", one.out, want[1], m * N);
    if (bend == KERNEL_SILU)
        ref->swiglu(&alone, want[0], want[0], want[1], m * N);
    else
        ref->geglu(&alone, want[0], want[0], want[1], m * N,
                   bend == KERNEL_GELU);
    done(b, "gated", b->table->matmul_gated(&b->run, &gate, &rows, m));
    check(b, "gated", gate.gate.out, want[0], m * N);
    check(b, "gated, its input", rows.x, x, m * k);
    settle(b, "gated");
    b->bound = bound;
    for (size_t i = 0; i < 2; i++) {
        b->table->weight_free(&b->run, mine[i]);
        ref->weight_free(&alone, theirs[i]);
        lay_free(&laid[i]);
        free(want[i]);
    }
    free(x);
    free(norm);
    free(bias);
    free(normed);
}

static void drive_gated(struct bench *b)
{
    static const size_t rows[] = {1, 3, 4, 17};
    for (int type = 0; type < KERNEL_TYPES; type++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            drive_gated_of(b, type, rows[i], 37 + i, KERNEL_GELU);
            drive_gated_of(b, type, rows[i], 64, KERNEL_SILU);
            drive_gated_of(b, type, rows[i], 320, KERNEL_GELU_TANH);
            drive_gated_of(b, type, rows[i], 1040, KERNEL_SILU);
        }
}

/* A feed-forward part beside the oracle's operations one by one; `gated`: or through gelu;
 * what it makes is added to its input, or goes where the norm's room is.  With an even
 * number of rows the gate has no bias. */
static void drive_feed_of(struct bench *b, int type, size_t m, bool gated)
{
    enum { K = 48, N = 36, PARTS = 3 };
    struct laid laid[PARTS];
    struct kernel_weight *mine[PARTS] = {NULL}, *theirs[PARTS] = {NULL};
    float *x = numbers(b, m * K, 1), *norm = numbers(b, K, 1);
    float *bias = numbers(b, N, gated && m % 2 == 0 ? 0 : 1),
          *normed = mem_alloc((m * K + 1) * 4);
    float *inner = poisoned(m * N), *up = poisoned(m * N),
          *want = copy(x, m * K);
    struct kernel_rows rows = {put(b, x, m * K), put(b, norm, K), 1e-5F,
                               put(b, NULL, m * K)};
    const double bound = b->bound;
    if (type == KERNEL_BF16 && m >= 16 && !strcmp(b->table->name, "cuda"))
        b->bound = 1.2e-2; /* both factors are rounded to 8 bits, thrice over */
    ref->rms_norm(&alone, normed, x, norm, m, K, 1e-5F);
    for (size_t i = 0; i < PARTS; i++) {
        size_t n = i < 2 ? N : K, k = i < 2 ? K : N;
        laid[i] = lay(b, type, n, k);
        const void *host = host_of(&laid[i], type);
        ref->weight(&alone, host, type, n, k, &theirs[i]);
        b->table->weight(&b->run, host, type, n, k, &mine[i]);
    }
    ref->matmul(&alone, up, normed, theirs[1], m, false);
    ref->matmul_bias(&alone, inner, normed, theirs[0], bias, m, false);
    if (gated)
        ref->swiglu(&alone, inner, inner, up, m * N);
    else
        ref->gelu(&alone, memcpy(inner, up, m * N * sizeof *up), bias, m, N);
    ref->matmul(&alone, want, inner, theirs[2], m, gated);
    struct kernel_feed feed = {
        .inner = {.up = {put(b, NULL, m * N), mine[1], NULL, NULL},
                  .bend = KERNEL_SILU},
        .down = {rows.room, mine[2], NULL, NULL}};
    if (gated) {
        feed.inner.gate = (struct kernel_product){
            put(b, NULL, m * N), mine[0], m % 2 ? put(b, bias, N) : NULL, NULL};
        feed.down.out = put(b, x, m * K);
        feed.down.plus = feed.down.out;
    } else
        feed.inner.up.bias = put(b, bias, N);
    done(b, "feed-forward", b->table->feed_forward(&b->run, &feed, &rows, m));
    check(b, "feed-forward", feed.down.out, want, m * K);
    check(b, "feed-forward, its input", rows.x, x, m * K);
    settle(b, "feed-forward");
    b->bound = bound;
    for (size_t i = 0; i < PARTS; i++) {
        b->table->weight_free(&b->run, mine[i]);
        ref->weight_free(&alone, theirs[i]);
        lay_free(&laid[i]);
    }
    float *const all[] = {x, norm, bias, normed, inner, up, want};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void drive_feed(struct bench *b)
{
    static const size_t rows[] = {1, 3, 17, 18};
    for (int type = 0; type < KERNEL_TYPES; type++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            drive_feed_of(b, type, rows[i], true);
            drive_feed_of(b, type, rows[i], false);
        }
}

/* What an attention of texts is tried with. */
struct texts_case {
    size_t d, window;
    bool causal, normed, turned, biased, joined;
    bool many; /* texts, more than go with one launch */
};

/* Weights and biases of queries, keys, values and the product behind. */
struct texts_weights {
    struct laid laid[4];
    struct kernel_weight *mine[4], *theirs[4];
    float *bias[4];
};

static void lay_texts(struct bench *b, int type, const size_t *n,
                      const size_t *k, struct texts_weights *ret)
{
    for (size_t i = 0; i < 4; i++) {
        ret->laid[i] = lay(b, type, n[i], k[i]);
        const void *host = host_of(&ret->laid[i], type);
        ref->weight(&alone, host, type, n[i], k[i], &ret->theirs[i]);
        b->table->weight(&b->run, host, type, n[i], k[i], &ret->mine[i]);
        ret->bias[i] = numbers(b, n[i], 1);
    }
}

static void free_texts(struct bench *b, struct texts_weights *w)
{
    for (size_t i = 0; i < 4; i++) {
        b->table->weight_free(&b->run, w->mine[i]);
        ref->weight_free(&alone, w->theirs[i]);
        lay_free(&w->laid[i]);
        free(w->bias[i]);
    }
}

/* Texts of several lengths, one empty, beside the oracle's operations one by one;
 * what comes is added to the rows. */
static void drive_attend_texts_of(struct bench *b, int type,
                                  const struct texts_case *c)
{
    enum { FEW = 5, MANY = 530, HQ = 4, HKV = 2, K = 48 };
    size_t start[MANY + 1] = {0, 3, 73, 73, 74, 150};
    const size_t texts = c->many ? MANY : FEW;
    for (size_t t = 0; t <= texts && c->many; t++)
        start[t] = t * 6 / 5;
    const size_t m = start[texts];
    size_t d = c->d, wide = HQ * d, narrow = HKV * d;
    const size_t n[] = {wide, narrow, narrow, K}, k[] = {K, K, K, wide};
    struct texts_weights w = {.bias = {NULL}};
    float *x = numbers(b, m * K, 1), *norm = numbers(b, K, 1);
    float *normed = poisoned(m * K), *angles = poisoned(m * d);
    float *head_norm = numbers(b, d, 1), *want = copy(x, m * K);
    float *q = poisoned(m * wide), *key = poisoned(m * narrow),
          *v = poisoned(m * narrow), *mixed = poisoned(m * wide);
    const double bound = b->bound;
    lay_texts(b, type, n, k, &w);
    if (c->joined)
        assert_int_equal(b->table->weights_join(&b->run, w.mine, 3), 0);
    for (size_t i = 0; i < m * d; i++) {
        const size_t half = d / 2, j = i % d, turn = i / d * 7 + j % half;
        angles[i] = j < half ? cosf((float)turn) : sinf((float)turn);
    }
    struct kernel_text_part part = {
        .q = {q, w.theirs[0], c->biased ? w.bias[0] : NULL, NULL},
        .k = {key, w.theirs[1], c->biased ? w.bias[1] : NULL, NULL},
        .v = {v, w.theirs[2], c->biased ? w.bias[2] : NULL, NULL},
        .q_head = {.x = q, .h = HQ, .eps = 1e-5F, .turned = c->turned},
        .k_head = {.x = key, .h = HKV, .eps = 1e-5F, .turned = c->turned},
        .angles = c->turned ? angles : NULL,
        .host_start = start,
        .texts = texts,
        .hkv = HKV,
        .d = d,
        .window = c->window,
        .causal = c->causal,
        .mixed = mixed,
        .out = {want, w.theirs[3], c->biased ? w.bias[3] : NULL, want}};
    part.q_head.factor = c->turned ? 1.5F : 1;
    part.k_head.factor = 1;
    part.q_head.norm = part.k_head.norm = c->normed ? head_norm : NULL;
    ref->rms_norm(&alone, normed, x, norm, m, K, 1e-5F);
    const struct kernel_rows given = {.x = normed};
    assert_int_equal(ref->attend_texts(&alone, &part, &given, m), 0);
    struct kernel_rows rows = {put(b, x, m * K), put(b, norm, K), 1e-5F,
                               put(b, NULL, m * K)};
    part.q = (struct kernel_product){put(b, NULL, m * wide), w.mine[0],
                                     c->biased ? put(b, w.bias[0], wide) : NULL,
                                     NULL};
    part.k = (struct kernel_product){
        put(b, NULL, m * narrow), w.mine[1],
        c->biased ? put(b, w.bias[1], narrow) : NULL, NULL};
    part.v = (struct kernel_product){
        put(b, NULL, m * narrow), w.mine[2],
        c->biased ? put(b, w.bias[2], narrow) : NULL, NULL};
    part.q_head.x = part.q.out;
    part.k_head.x = part.k.out;
    part.q_head.norm = part.k_head.norm =
        c->normed ? put(b, head_norm, d) : NULL;
    part.angles = c->turned ? put(b, angles, m * d) : NULL;
    part.mixed = put(b, NULL, m * wide);
    part.out.out = put(b, x, m * K);
    part.out.plus = part.out.out;
    part.out.w = w.mine[3];
    part.out.bias = c->biased ? put(b, w.bias[3], K) : NULL;
    if (type == KERNEL_BF16 && !strcmp(b->table->name, "cuda"))
        b->bound = 2e-2; /* all that is between products has 8 bits */
    if (done(b, "attend_texts",
             b->table->attend_texts(&b->run, &part, &rows, m)))
        check(b, "attend_texts", part.out.out, want, m * K);
    check(b, "attend_texts, its input", rows.x, x, m * K);
    settle(b, "attend_texts");
    b->bound = bound;
    free_texts(b, &w);
    float *const all[] = {x,    norm, normed, angles, head_norm,
                          want, q,    key,    v,      mixed};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

static void drive_attend_texts(struct bench *b)
{
    static const struct texts_case cases[] = {
        {32, 0, false, false, false, true, true, false}, /* BERT's */
        {16, 0, true, true, true, false, false, false},
        {64, 0, true, true, true, false, true, false},
        {128, 9, true, false, true, true, false, false},
        {40, 7, false, false, false, false, true, false},
        {12, 0, true, true, true, false, true, false},
        {48, 0, true, false, true, true, false, false},
        {64, 70, false, true, false, true, true, false},
    };
    static const struct texts_case many = {32,    0,    false, false,
                                           false, true, true,  true};
    for (int type = 0; type < KERNEL_TYPES; type++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            drive_attend_texts_of(b, type, &cases[i]);
    drive_attend_texts_of(b, KERNEL_BF16, &many);
}

DRIVE(matmuls)
DRIVE(together)
DRIVE(gated)
DRIVE(feed)
DRIVE(attend_texts)
DRIVE(gather)

/* Largest error of a product, of the sum of its terms' magnitudes. */
static double matmul_error(const struct kernels *table, struct kernel_run *run,
                           int type, const float *a, const void *host, size_t m,
                           size_t n, size_t k)
{
    struct kernel_weight *w = NULL;
    float *out = mem_alloc(m * n * sizeof *out),
          *values = mem_alloc(k * sizeof *values);
    double worst = 0;
    assert_int_equal(table->weight(run, host, type, n, k, &w), 0);
    assert_int_equal(table->matmul(run, out, a, w, m, false), 0);
    for (size_t i = 0; i < m * n; i++) {
        const float *row = a + i / n * k;
        double sum = 0, size = 0;
        ref_weight_values(w, i % n, values);
        for (size_t l = 0; l < k; l++) {
            float value = values[l];
            sum += (double)row[l] * (double)value;
            size += fabs((double)row[l] * (double)value);
        }
        double error = fabs((double)out[i] - sum) / (size + 1e-30);
        if (!(error <= worst))
            worst = error;
    }
    table->weight_free(run, w);
    free(values);
    free(out);
    return worst;
}

/* Rounding what is multiplied to 16 bits would be off by 1e-5 here, to 8 by
 * 4e-3. */
static void drive_exactness(struct bench *b)
{
    enum { M = 48, N = 65, K = 5 };
    float *a = numbers(b, M * K, 1);
    for (int type = 0; type < KERNEL_TYPES; type++) {
        struct laid laid = lay(b, type, N, K);
        double error = b->table->download == ref->download
                           ? matmul_error(b->table, &b->run, type, a,
                                          host_of(&laid, type), M, N, K)
                           : 0; /* another memory */
        if (!(error <= 6e-7))
            fail_msg("%s, type %d: %g", b->label, type, error);
        lay_free(&laid);
    }
    free(a);
}

DRIVE(exactness)

/* What is not finite stays so, and in its row or column; of a bf16 weight an
 * infinity is what the oracle says. */
static void drive_not_finite(struct bench *b)
{
    enum { M = 40, N = 35, K = 70, ROW = 21, COLUMN = 33 };
    const float odd[] = {NAN, INFINITY, -INFINITY};
    if (b->table->download != ref->download)
        return;
    for (size_t i = 0; i < 3 * 2 * KERNEL_TYPES; i++) {
        int type = (int)(i % KERNEL_TYPES);
        bool of_w = i / KERNEL_TYPES % 2;
        bool one_term = type == KERNEL_BF16 || type == KERNEL_INT8;
        float *a = numbers(b, M * K, 1), x = odd[i / KERNEL_TYPES / 2];
        float *out = poisoned(M * N), *expected = poisoned(M * N);
        struct laid laid = lay(b, type, N, K);
        struct kernel_weight *mine = NULL, *theirs = NULL;
        uint16_t half = type == KERNEL_BF16 ? ref_to_bf16(x) : half_of(x);
        char *at = laid.bytes + 1 + (COLUMN * K + 67) * kernel_type_size(type);
        if (!of_w)
            a[ROW * K + 67] = x;
        else if (type == KERNEL_INT8)
            laid.scale[COLUMN] = x;
        else if (type == KERNEL_F32)
            memcpy(at, &x, sizeof x);
        else
            memcpy(at, &half, sizeof half);
        b->table->weight(&b->run, host_of(&laid, type), type, N, K, &mine);
        ref->weight(&alone, host_of(&laid, type), type, N, K, &theirs);
        assert_int_equal(b->table->matmul(&b->run, out, a, mine, M, false), 0);
        ref->matmul(&alone, expected, a, theirs, M, false);
        for (size_t j = 0; j < M * N; j++)
            if (isfinite(out[j]) != isfinite(expected[j]))
                fail_msg("%s, case %zu: %g at %zu", b->label, i, (double)out[j],
                         j);
            else if (isinf(expected[j]) && one_term && !of_w)
                assert_true(out[j] == expected[j]);
        b->table->weight_free(&b->run, mine);
        ref->weight_free(&alone, theirs);
        free(a);
        free(out);
        free(expected);
        lay_free(&laid);
    }
}

DRIVE(not_finite)

/* Whatever the number of threads, whatever stands beside, and whether a copy of
 * the weight is kept, as of small models, or not: the same bits. */
static void drive_same_bits(struct bench *b)
{
    static const size_t shapes[][3] = {{40, 384, 384},
                                       {300, 200, 130},
                                       {16, 1024, 64},
                                       {530, 70, 515},
                                       {35, 70, 2100}};
    if (b->table->download != ref->download)
        return;
    for (size_t s = 0; s < KERNEL_TYPES * sizeof shapes / sizeof shapes[0];
         s++) {
        const size_t *shape = shapes[s / KERNEL_TYPES];
        size_t m = shape[0], n = shape[1], k = shape[2];
        int type = (int)(s % KERNEL_TYPES);
        float *a = numbers(b, m * k, 1), *first = mem_alloc(m * n * sizeof *a);
        float *out = mem_alloc(m * n * sizeof *a);
        struct laid laid = lay(b, type, n, k);
        for (unsigned turn = 0; turn < 8; turn++) {
            struct kernel_run run = {.pool = b->run.pool};
            size_t others = turn < 4 ? 0 : (size_t)1 << 30; /* weights */
            run.pool.threads = turn % 4 + 1; /* weights are cut by it */
            struct kernel_weight *w = NULL;
            packed_cache_weight(others);
            b->table->weight(&run, host_of(&laid, type), type, n, k, &w);
            float *to = turn ? out : first;
            assert_int_equal(b->table->matmul(&run, to, a, w, m, false), 0);
            packed_cache_weight_gone(others);
            if (turn)
                assert_memory_equal(out, first, m * n * sizeof *out);
            b->table->weight_free(&run, w);
        }
        lay_free(&laid);
        free(a);
        free(first);
        free(out);
    }
}

DRIVE(same_bits)

/* oneDNN works in our threads only, but a caller's own OpenMP is its own. */
extern int omp_get_max_threads(void) __attribute__((weak));
extern void omp_set_num_threads(int count) __attribute__((weak));

static void openmp_is_left_as_it_was(void **state)
{
    (void)state;
    enum { SIZE = 64 };
    if (!omp_get_max_threads || !omp_set_num_threads)
        skip();
    struct kernel_run run = {.step = NULL};
    const struct kernels *table = kernels_cpu();
    struct kernel_weight *weight = NULL;
    float *values = mem_alloc(SIZE * SIZE * sizeof *values);
    float *out = mem_alloc(SIZE * SIZE * sizeof *out);
    assert_int_equal(
        table->weight(&run, values, KERNEL_F32, SIZE, SIZE, &weight), 0);
    int before = omp_get_max_threads();
    assert_true(cpu_limit(CPU_PLAIN)); /* no tiles: oneDNN does it */
    for (int threads = 3; threads < 6; threads++) {
        omp_set_num_threads(threads);
        assert_int_equal(table->matmul(&run, out, values, weight, SIZE, false),
                         0);
        assert_int_equal(omp_get_max_threads(), threads);
    }
    cpu_limit_none();
    omp_set_num_threads(before);
    table->weight_free(&run, weight);
    free(values);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openmp_is_left_as_it_was), /* the first product */
        cmocka_unit_test(test_matmuls),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_gated),
        cmocka_unit_test(test_feed),
        cmocka_unit_test(test_attend_texts),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_exactness),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
