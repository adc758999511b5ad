/* The device's kernels under the race detector (races.h):
 *
 *     race            small kernels that race and that do not; every operation at
 *                     all its ways; what is found when barriers are taken away
 *     race --short    as much as passes each barrier; taken away are the waits of kernels
 *                     that begin early and what orders attention of a prompt by a ring
 *
 * What is computed is for other tests to say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/race_order.h"
#include "tests/cuda/races.h"

enum { MAX_PIECES = 1 << 12, MAX_PLACES = 512 };

static bool is_short;
static const struct kernels *table;
static struct kernel_run run;
static void *pieces[MAX_PIECES];
static size_t piece_count;

static void *piece(size_t bytes)
{
    assert_true(piece_count < MAX_PIECES);
    void *memory = table->allocate(&run, bytes);
    assert_non_null(memory);
    pieces[piece_count++] = memory;
    return memory;
}

static void *uploaded(const void *host, size_t bytes)
{
    void *memory = piece(bytes);
    assert_int_equal(table->upload(&run, memory, host, bytes), 0);
    return memory;
}

/* Numbers from -1 to 1. */
static float *numbers(size_t count)
{
    static uint64_t seed = 7;
    float *host = mem_alloc(count * sizeof *host);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        host[i] = (float)(seed >> 40) / (float)(1 << 23) - 1;
    }
    float *memory = uploaded(host, count * sizeof *host);
    free(host);
    return memory;
}

static void release_all(void)
{
    while (piece_count)
        table->release(&run, pieces[--piece_count]);
}

/* ---- Operations ---- */

/* Attention's sizes: m queries at the end of n slots. */
struct sizes {
    size_t m, n, hq, hkv, d;
    int type;
};

/* n slots written in pages of `slots`, with room for a summary or two means in each;
 * *ret_table: their addresses. */
static struct kernel_pages make_pages(const struct sizes *z, size_t slots,
                                      float ***ret_table)
{
    size_t part = slots * z->hkv * z->d * kernel_type_size(z->type);
    size_t count = (z->n + slots - 1) / slots;
    float **host = mem_alloc(count * sizeof *host);
    part = (part + 15) / 16 * 4;
    for (size_t i = 0; i < count; i++)
        host[i] = numbers(2 * part + (z->hq + 2 * z->hkv) * (z->d + 1));
    float **pages = uploaded(host, count * sizeof *host);
    free(host);
    for (size_t at = 0; at <= part; at += part)
        assert_int_equal(table->kv_write(&run, pages, at, slots, z->type,
                                         numbers(z->n * z->hkv * z->d), 0, z->n,
                                         z->hkv, z->d),
                         0);
    *ret_table = pages;
    return (struct kernel_pages){.keys = (const float *const *)pages,
                                 .values = (const float *const *)pages,
                                 .value_at = part,
                                 .slots = slots,
                                 .type = z->type,
                                 .by_head = true};
}

static void attend_dense(struct sizes z, size_t window)
{
    float **addresses;
    struct kernel_pages pages = make_pages(&z, 16, &addresses);
    size_t wide = z.m * z.hq * z.d;
    assert_int_equal(table->attention(&run, piece(wide * 4), numbers(wide),
                                      &pages, z.m, z.n, z.hq, z.hkv, z.d,
                                      window),
                     0);
    release_all();
}

/* On devices with products of warpgroups, and without. */
static void run_dense(struct sizes z, size_t window)
{
    attend_dense(z, window);
    emulated_without_warpgroups(true);
    attend_dense(z, window);
    emulated_without_warpgroups(false);
}

/* By a ring (cuda_prompt.h), of whose keys' stages the first two are filled anew; the
 * emulated device has six processors, so that nothing is split. */
static void run_ring(size_t width, int type)
{
    const size_t stages = width == 64 ? 3 : 2;
    attend_dense((struct sizes){20, (stages + 1) * 128 + 3, 6, 6, width, type},
                 0);
}

static void run_star(struct sizes z, size_t chunk, size_t top_k)
{
    float **addresses;
    struct kernel_pages pages = make_pages(&z, 16, &addresses);
    size_t wide = z.m * z.hq * z.d;
    assert_int_equal(table->star_attention(&run, piece(wide * 4), numbers(wide),
                                           &pages, numbers(3), z.m, z.n, z.hq,
                                           z.hkv, z.d, chunk, top_k),
                     0);
    release_all();
}

static void run_hils(struct sizes z, struct kernel_hils how, bool landmarks)
{
    float **addresses;
    struct kernel_pages pages = make_pages(&z, how.chunk, &addresses);
    struct kernel_summaries summaries = {.keys = addresses,
                                         .biases = addresses,
                                         .key_at = 2 * pages.value_at,
                                         .bias_at =
                                             2 * pages.value_at + z.hq * z.d,
                                         .type = z.type};
    size_t wide = z.m * z.hq * z.d;
    float *q = numbers(wide), *qhat = numbers(wide);
    int32_t *position = mem_alloc(z.m * sizeof *position);
    int32_t *landmark = mem_alloc(z.n * sizeof *landmark);
    for (size_t i = 0; i < z.m; i++)
        position[i] = (int32_t)(z.n - z.m + i);
    for (size_t j = 0; j < z.n; j++)
        landmark[j] = (j + 1) % how.chunk == 0;
    int32_t *at = uploaded(position, z.m * sizeof *position);
    int32_t *hidden =
        landmarks ? uploaded(landmark, z.n * sizeof *landmark) : NULL;
    int32_t *chosen = piece(z.m * z.hkv * how.top_k * sizeof *chosen);
    free(position);
    free(landmark);
    how.m = z.m;
    how.n = z.n;
    how.chunks = z.n / how.chunk;
    how.hq = z.hq;
    how.hkv = z.hkv;
    how.d = z.d;
    const struct kernel_proxies proxies = {qhat, 0, NULL, 0};
    assert_int_equal(table->chunk_proxies(&run, &summaries, &proxies, 0,
                                          how.chunks, z.hq, z.d),
                     0);
    assert_int_equal(table->chunk_summary(&run, &summaries, &pages, 0,
                                          how.chunks, how.chunk, z.hq, z.hkv,
                                          z.d),
                     0);
    assert_int_equal(table->hils_choose(&run, chosen, q, qhat, &pages,
                                        &summaries, at, hidden, &how),
                     0);
    struct kernel_summaries means = {.keys = addresses,
                                     .key_at = 2 * pages.value_at,
                                     .means = how.chunk % 2 ? 1 : 2};
    assert_int_equal(table->chunk_means(&run, &means, &pages, 0, how.chunks,
                                        how.chunk, z.hkv, z.d),
                     0);
    assert_int_equal(table->hils_choose(&run, chosen, q, qhat, &pages, &means,
                                        at, hidden, &how),
                     0);
    assert_int_equal(table->hils_attention(&run, piece(wide * 4), q, qhat,
                                           &pages, &summaries, at, hidden,
                                           chosen, &how),
                     0);
    release_all();
}

static void run_bidirectional(size_t n, size_t heads, size_t d, size_t window)
{
    size_t wide = n * heads * d;
    assert_int_equal(table->attention_bidirectional(
                         &run, piece(wide * 4), numbers(wide), numbers(wide),
                         numbers(wide), n, n, heads, heads, d, window),
                     0);
    release_all();
}

static void run_texts(bool causal)
{
    enum { HEADS = 4, D = 32 };
    static const size_t start[] = {0, 3, 70, 71, 90};
    size_t wide = start[4] * HEADS * D;
    assert_int_equal(table->attention_texts(
                         &run, piece(wide * 4), numbers(wide), numbers(wide),
                         numbers(wide), start, 4, HEADS, HEADS, D, 0, causal),
                     0);
    release_all();
}

static void run_hici(size_t n, size_t segment, size_t shown)
{
    enum { HEADS = 4, D = 32 };
    size_t wide = n * HEADS * D;
    size_t slots = (n + segment - 1) / segment * shown * HEADS * D;
    assert_int_equal(table->hici_attention(
                         &run, piece(wide * 4), numbers(wide), numbers(wide),
                         numbers(wide), numbers(slots), numbers(slots), n,
                         segment, shown, HEADS, HEADS, D, true),
                     0);
    release_all();
}

static void run_pooling(void)
{
    enum { ROWS = 90, D = 70, P = 33, GROUPS = 5 };
    static const size_t start[] = {0, 1, 4, 40, 41, ROWS};
    float *rows = numbers((size_t)ROWS * D);
    float *wq = numbers((size_t)D * P), *wk = numbers((size_t)D * P);
    float *out = piece(sizeof(float) * GROUPS * D), *weight = numbers(ROWS);
    assert_int_equal(table->pool_means(&run, out, rows, start, GROUPS, D), 0);
    assert_int_equal(table->pool_attentions(&run, out, weight, rows, wq, wk, 20,
                                            start, GROUPS, D, P),
                     0);
    assert_int_equal(table->pool_attentions(&run, out, weight, rows, NULL, NULL,
                                            20, start, GROUPS, D, 0),
                     0);
    assert_int_equal(table->pool_landmark(&run, out, piece(4), rows,
                                          numbers(ROWS), numbers(D), 20, ROWS,
                                          D),
                     0);
    assert_int_equal(
        table->recall(&run, out, numbers(D), rows, wq, wk, ROWS, D, P), 0);
    release_all();
}

static void run_norms(void)
{
    enum { ROWS = 3, D = 700 };
    float *x = numbers((size_t)ROWS * D), *weight = numbers(D);
    float *bias = numbers(D);
    assert_int_equal(table->rms_norm(&run, x, x, weight, ROWS, D, 1e-6F), 0);
    assert_int_equal(
        table->layer_norm(&run, x, x, weight, bias, ROWS, D, 1e-6F), 0);
    assert_int_equal(table->gelu(&run, x, bias, ROWS, D), 0);
    assert_int_equal(
        table->swiglu(&run, x, x, numbers((size_t)ROWS * D), (size_t)ROWS * D),
        0);
    assert_int_equal(table->geglu(&run, x, x, numbers((size_t)ROWS * D),
                                  (size_t)ROWS * D, false),
                     0);
    release_all();
}

/* What is asked for in each of some steps, enough for scratch memory to be large enough
 * and a graph to be made and started: its kernels begin early. */
static void in_steps(void (*ask)(const void *of), const void *of)
{
    enum { MANY = 24 };
    size_t before = emulated_steps_seen()->started;
    for (int i = 0; i < MANY && emulated_steps_seen()->started < before + 2;
         i++) {
        assert_int_equal(table->graph_begin(&run), 0);
        ask(of);
        assert_int_equal(table->graph_end(&run), 0);
    }
    assert_true(emulated_steps_seen()->early > 0);
    table->run_end(&run);
    assert_true(emulated_steps_seen()->started >= before + 2);
}

struct step_heads {
    float *angles;
    const struct kernel_heads *of;
    const struct kernel_places *places;
    int type;
};
enum { HEADS_ROWS = 5, HEADS_WIDTH = 40, HEADS_SLOTS = 4 };

static void ask_heads(const void *of)
{
    static const int32_t position[HEADS_ROWS] = {0, 5, 6, 7, 8};
    static const double frequency[HEADS_WIDTH / 2] = {1, 0.1};
    const struct step_heads *a = of;
    assert_int_equal(table->angles(&run, a->angles, position, frequency,
                                   HEADS_ROWS, HEADS_WIDTH),
                     0);
    assert_int_equal(table->heads(&run, a->of, 2, a->angles, a->places, 2,
                                  HEADS_SLOTS, a->type, HEADS_ROWS,
                                  HEADS_WIDTH),
                     0);
}

static void run_heads(int type, bool steps)
{
    enum { M = HEADS_ROWS, H = 3, D = HEADS_WIDTH, PAGES = 2 };
    float *page[PAGES] = {numbers((size_t)HEADS_SLOTS * H * D),
                          numbers((size_t)HEADS_SLOTS * H * D)};
    const struct kernel_places places[] = {
        {uploaded(page, sizeof page), 1, M - 1}, {NULL, 0, 1}};
    float *norm = numbers(D);
    const struct kernel_heads of[] = {
        {numbers((size_t)M * H * D), H, norm, 1e-6F, true, 2, true, 0},
        {numbers((size_t)M * D), 1, NULL, 0, false, 1, false, 0}};
    const struct step_heads a = {piece(sizeof(float) * M * D), of, places,
                                 type};
    if (steps)
        in_steps(ask_heads, &a);
    else
        ask_heads(&a);
    release_all();
}

/* `host`: [n, k] of the type. */
static void run_matmuls(const void *host, int type, size_t n, size_t k)
{
    struct kernel_weight *weight = NULL;
    assert_int_equal(table->weight(&run, host, type, n, k, &weight), 0);
    for (size_t m = 1; m < 20; m += 6)
        assert_int_equal(table->matmul_bias(&run, numbers(m * n),
                                            numbers(m * k), weight, numbers(n),
                                            m, true),
                         0);
    for (size_t m = 1; m < 20; m += 6) {
        const struct kernel_rows in = {numbers(m * k), numbers(k), 1e-6F,
                                       numbers(m * k)};
        const struct kernel_product two[] = {
            {numbers(m * n), weight, NULL, NULL},
            {numbers(m * n), weight, numbers(n), numbers(m * n)}};
        const struct kernel_gate gate = {
            two[0], {numbers(m * n), weight, NULL, NULL}, KERNEL_SILU};
        assert_int_equal(table->matmuls(&run, two, 2, &in, m), 0);
        assert_int_equal(table->matmul_gated(&run, &gate, &in, m), 0);
    }
    table->weight_free(&run, weight);
    release_all();
}

static void run_bf16_matmuls(void)
{
    enum { N = 9, K = 520 }; /* warps share it */
    static uint16_t host[N * K];
    for (size_t i = 0; i < (size_t)N * K; i++)
        host[i] = 0x3F80;
    run_matmuls(host, KERNEL_BF16, N, K);
}

/* More inputs than are rounded at once. */
static void run_block_matmuls(int type)
{
    enum { N = 5, K = 4096 + 256 };
    static unsigned char blocks[N * K * 2];
    run_matmuls(blocks, type, N, K);
}

static void run_top_k(size_t n)
{
    struct kernel_top_k best;
    assert_int_equal(table->top_k(&run, &best, numbers(n), n, 1.3F), 0);
    release_all();
}

/* ---- Steps ---- */

struct step_matmuls {
    struct kernel_product first, second;
    struct kernel_gate gate;
    struct kernel_rows in, between;
};

/* The second reads what the first wrote. */
static void ask_matmuls(const void *of)
{
    const struct step_matmuls *a = of;
    assert_int_equal(table->matmuls(&run, &a->first, 1, &a->in, 1), 0);
    assert_int_equal(table->matmuls(&run, &a->second, 1, &a->between, 1), 0);
    assert_int_equal(table->matmul_gated(&run, &a->gate, &a->between, 1), 0);
}

static void step_matmuls(const void *host, int type)
{
    enum { N = 512 };
    struct kernel_weight *w = NULL;
    assert_int_equal(table->weight(&run, host, type, N, N, &w), 0);
    float *middle = numbers(N);
    const struct step_matmuls a = {
        .first = {middle, w, NULL, NULL},
        .second = {numbers(N), w, NULL, NULL},
        .gate = {{numbers(N), w, NULL, NULL},
                 {numbers(N), w, NULL, NULL},
                 KERNEL_SILU},
        .in = {numbers(N), numbers(N), 1e-6F, numbers(N)},
        .between = {middle, NULL, 0, NULL}};
    in_steps(ask_matmuls, &a);
    table->weight_free(&run, w);
    release_all();
}

struct step_attention {
    struct sizes z;
    struct kernel_pages pages;
    struct kernel_summaries summaries;
    struct kernel_hils how;
    const float *q, *qhat;
    float *out;
    int32_t *chosen;
    const int32_t *position;
};

static void ask_attention(const void *of)
{
    const struct step_attention *a = of;
    const struct sizes *z = &a->z;
    assert_int_equal(table->attention(&run, a->out, a->q, &a->pages, z->m, z->n,
                                      z->hq, z->hkv, z->d, 0),
                     0);
    assert_int_equal(table->hils_choose(&run, a->chosen, a->q, a->qhat,
                                        &a->pages, &a->summaries, a->position,
                                        NULL, &a->how),
                     0);
    assert_int_equal(table->hils_attention(
                         &run, a->out, a->q, a->qhat, &a->pages, &a->summaries,
                         a->position, NULL, a->chosen, &a->how),
                     0);
}

static void step_attention(struct sizes z, size_t chunk)
{
    float **addresses;
    struct kernel_pages pages = make_pages(&z, chunk, &addresses);
    size_t wide = z.m * z.hq * z.d;
    const int32_t position[] = {(int32_t)(z.n - 1)};
    const struct step_attention a = {
        z,
        pages,
        {.keys = addresses,
         .biases = addresses,
         .key_at = 2 * pages.value_at,
         .bias_at = 2 * pages.value_at + z.hq * z.d,
         .type = z.type},
        {.m = z.m,
         .n = z.n,
         .chunks = z.n / chunk,
         .hq = z.hq,
         .hkv = z.hkv,
         .d = z.d,
         .chunk = chunk,
         .window = 20,
         .top_k = 5},
        numbers(wide),
        numbers(wide),
        piece(wide * 4),
        piece(z.m * z.hkv * 5 * sizeof(int32_t)),
        uploaded(position, sizeof position)};
    in_steps(ask_attention, &a);
    release_all();
}

static void run_steps(int type)
{
    enum { N = 512 };
    static uint16_t host[N * N];
    for (size_t i = 0; i < (size_t)N * N; i++)
        host[i] = 0x3F80;
    step_matmuls(host, KERNEL_BF16);
    memset(host, 0, sizeof host);
    step_matmuls(host, KERNEL_Q4_K);
    run_heads(type, true);
    step_attention((struct sizes){1, 400, 4, 2, 64, type}, 8);
    step_attention((struct sizes){1, 2200, 4, 2, 16, type}, 4);
}

/* ---- Parts ----
 *
 * What passes each place of the kernels that orders memory, and little more. */

static void little_dense(int type)
{
    run_dense((struct sizes){20, 150, 4, 2, 64, type}, 0);
    run_dense((struct sizes){5, 70, 2, 1, 136, type}, 0);
    run_dense((struct sizes){1, 400, 4, 2, 64, type}, 0);
}

static void little_star(int type)
{
    run_star((struct sizes){20, 150, 4, 2, 64, type}, 9, 3);
}

static void little_hils(int type)
{
    const struct kernel_hils how = {.chunk = 8, .window = 20, .top_k = 3};
    run_hils((struct sizes){20, 150, 4, 2, 64, type}, how, true);
    run_hils((struct sizes){5, 70, 2, 1, 136, type}, how, true);
}

static void many_chunks(int type)
{
    const struct kernel_hils how = {.chunk = 4, .window = 20, .top_k = 5};
    run_hils((struct sizes){1, 2200, 4, 2, 16, type}, how, true);
}

static void many_queries_and_chunks(int type)
{
    const struct kernel_hils how = {.chunk = 4, .window = 20, .top_k = 16};
    run_hils((struct sizes){70, 2150, 4, 2, 64, type}, how, true);
}

static void little_more(int type)
{
    run_hici(70, 16, 6);
    run_texts(false);
    run_pooling();
    run_norms();
    run_bf16_matmuls();
    run_block_matmuls(KERNEL_Q4_K);
    run_heads(KERNEL_F32, false);
    run_heads(type, false);
    run_top_k(5000);
}

static void ring_64(int type)
{
    run_ring(64, type);
}

static void ring_128(int type)
{
    run_ring(128, type);
}

static const struct part {
    void (*run)(int type);
    int type;
} parts[] = {
    {run_steps, KERNEL_BF16},   {ring_64, KERNEL_BF16},
    {ring_128, KERNEL_BF16},    {little_more, KERNEL_BF16},
    {little_star, KERNEL_F32},  {little_star, KERNEL_BF16},
    {little_dense, KERNEL_F32}, {little_dense, KERNEL_BF16},
    {little_hils, KERNEL_F32},  {little_hils, KERNEL_BF16},
    {many_chunks, KERNEL_BF16}, {many_queries_and_chunks, KERNEL_BF16}};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* Of each place, bit i: part i passes it. */
static uint32_t passing[MAX_PLACES];

static void run_part(size_t which)
{
    static size_t before[MAX_PLACES];
    const struct race_site *sites;
    size_t count = race_sites(&sites);
    for (size_t i = 0; i < count; i++)
        before[i] = sites[i].passed;
    parts[which].run(parts[which].type);
    count = race_sites(&sites);
    assert_true(count <= MAX_PLACES);
    for (size_t i = 0; i < count; i++)
        if (sites[i].passed > before[i])
            passing[i] |= 1U << which;
}

static void run_little(void)
{
    for (size_t i = 0; i < PARTS; i++)
        run_part(i);
}

/* Every way that an operation takes for its sizes. */
static void run_all(void)
{
    static const size_t widths[] = {16, 60, 64, 96, 128, 160};
    static const size_t rows[] = {1, 5, 40};
    static const int types[] = {KERNEL_F32, KERNEL_BF16};
    struct kernel_hils how = {.chunk = 8, .window = 20, .top_k = 3};
    struct kernel_hils exact = how;
    exact.exact = true;
    for (size_t i = 0; i < 6 * 3 * 2; i++) {
        struct sizes z = {rows[i / 6 % 3], 130,          4, 2,
                          widths[i % 6],   types[i / 18]};
        run_dense(z, z.m > 20 ? 50 : 0);
        run_star(z, 9, 3);
        run_hils(z, how, true);
        run_hils(z, exact, false);
    }
    how = (struct kernel_hils){.chunk = 64, .window = 70, .top_k = 2};
    run_hils((struct sizes){40, 230, 8, 1, 64, KERNEL_BF16}, how, false);
    how = (struct kernel_hils){
        .chunk = 100, .window = 70, .top_k = 2, .exact = true};
    run_hils((struct sizes){5, 230, 4, 4, 16, KERNEL_F32}, how, true);
    how = (struct kernel_hils){.chunk = 100, .window = 70, .top_k = 2};
    run_hils((struct sizes){5, 230, 4, 4, 16, KERNEL_F32}, how, true);
    run_bidirectional(70, 4, 32, 0);
    run_bidirectional(70, 4, 32, 9);
    for (size_t n = 1; n < 400; n += 63)
        run_top_k(n);
    for (int type = KERNEL_Q4_0; type < KERNEL_ALL_TYPES; type++)
        run_block_matmuls(type);
    run_little();
}

/* ---- Tests ---- */

static int begin(void **state)
{
    const char *reason = NULL;
    (void)state;
    table = kernels_emulated(&reason);
    return !table;
}

/* What threads of one block have seen, those of a later one have not, also behind a
 * smaller one. */
static void blocks_see_nothing_of_each_other(void **state)
{
    static const int ring = 0;
    (void)state;
    order_begin(256);
    order_arrive(0, &ring);
    order_round(&ring);
    struct race_time then = {0, 0};
    order_follow(100, &ring);
    assert_true(order_sees(100, 0, then));
    order_begin(64);
    order_begin(256);
    assert_false(order_sees(100, 0, then));
}

static void small_races_are_found(void **state)
{
    (void)state;
    static const struct {
        enum emulated_race test;
        bool races;
    } cases[] = {
        {RACE_TEST_BLOCK_READ, true},    {RACE_TEST_BLOCK_WRITE, true},
        {RACE_TEST_BLOCK_NONE, false},   {RACE_TEST_WARP_READ, true},
        {RACE_TEST_WARP_WRITE, true},    {RACE_TEST_WARP_NONE, false},
        {RACE_TEST_COPY, true},          {RACE_TEST_COPY_NONE, false},
        {RACE_TEST_ATOMIC, true},        {RACE_TEST_ATOMIC_NONE, false},
        {RACE_TEST_BLOCKS, true},        {RACE_TEST_BLOCKS_NONE, false},
        {RACE_TEST_MEET_LATE, true},     {RACE_TEST_MEET_SOON, true},
        {RACE_TEST_MEET_APART, true},    {RACE_TEST_MEET_NONE, false},
        {RACE_TEST_EARLY_READ, true},    {RACE_TEST_EARLY_WRITE, true},
        {RACE_TEST_EARLY_END, true},     {RACE_TEST_EARLY_NONE, false},
        {RACE_TEST_RING_ARRIVE, true},   {RACE_TEST_RING_READ, true},
        {RACE_TEST_RING_WRITE, true},    {RACE_TEST_RING_NONE, false},
        {RACE_TEST_MEET_WARPS, true},    {RACE_TEST_MEET_WARPS_NONE, false},
        {RACE_TEST_PRODUCT_WRITE, true}, {RACE_TEST_PRODUCT_PLAIN, true},
        {RACE_TEST_PRODUCT_LATE, true},  {RACE_TEST_PRODUCT_NONE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        races_forget();
        emulated_race_test(cases[i].test);
        if ((races_found() > 0) != cases[i].races) {
            races_print();
            fail_msg("case %zu: %zu races", i, races_found());
        }
    }
    races_forget();
}

static void the_kernels_do_not_race(void **state)
{
    (void)state;
    races_forget();
    (is_short ? run_little : run_all)();
    races_print();
    assert_int_equal(races_found(), 0);
}

static bool is_of_ring(const struct race_site *site)
{
    return strstr(site->file, "cuda_prompt.h");
}

/* Whether a race is found without what the place does. */
static bool is_missed(const struct race_site *site, uint32_t in)
{
    races_forget();
    race_ignore(site);
    for (size_t i = 0; i < PARTS && !races_found(); i++)
        if (in >> i & 1)
            parts[i].run(parts[i].type);
    race_ignore(NULL);
    return races_found() > 0;
}

/* Each place that the_kernels_do_not_race passed is taken away in turn, --short only
 * those where kernels wait for the ones before, and of the ring, all of which matter. */
static void removed_barriers_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {
        "__syncthreads",    "__syncwarp",   "wait_copies", "__threadfence",
        "wait_for_earlier", "ring_arrive",  "ring_wait",   "meet_warps",
        "publish_shared",   "wait_products"};
    const struct race_site *sites;
    size_t found[RACE_CLASSES] = {0}, all[RACE_CLASSES] = {0}, ring = 0;
    size_t count = race_sites(&sites);
    for (size_t i = 0; i < count; i++) {
        const struct race_site *site = &sites[i];
        const bool must = is_of_ring(site) || site->kind == RACE_CLASS_EARLY;
        if (!passing[i] || (is_short && !must))
            continue;
        const bool missed = is_missed(site, passing[i]);
        all[site->kind]++;
        found[site->kind] += missed;
        ring += is_of_ring(site);
        if (!missed)
            print_message("not missed: %s, %s:%u\n", names[site->kind],
                          site->file, site->line);
        assert_true(missed || !must);
    }
    races_forget();
    for (size_t k = 0; k < RACE_CLASSES; k++) {
        if (all[k])
            print_message("%s: of %zu, %zu are missed when they are gone\n",
                          names[k], all[k], found[k]);
        assert_true(is_short || found[k]);
    }
    print_message("of these %zu are a ring's\n", ring);
    assert_true(ring && found[RACE_CLASS_EARLY]);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_see_nothing_of_each_other),
        cmocka_unit_test(small_races_are_found),
        cmocka_unit_test(the_kernels_do_not_race),
        cmocka_unit_test(removed_barriers_are_found),
    };
    is_short = count > 1 && !strcmp(words[1], "--short");
    return cmocka_run_group_tests(tests, begin, NULL);
}
