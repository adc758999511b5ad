/* Whole models through the device's table, and the emulation itself. */
#include "tests/unit/support/devices.h"

#include <signal.h>
#include <sys/wait.h>

/* Of the largest value.  With bf16 weights both factors of large products are
 * rounded to 8 bits. */
static const double F32_BOUND = 1e-3, BF16_BOUND = 3e-2;

/* Without its tokenizer: only ids are read here. */
static struct model *open_model(const char *kind, const struct kernels *table,
                                bool exact)
{
    char path[128];
    snprintf(path, sizeof path, MODELS "%s", kind);
    return open_at(path, table, exact, false);
}

static double bound_of(const struct model *model)
{
    return strcmp(model_facts(model)->type, "f32") != 0 ? BF16_BOUND
                                                        : F32_BOUND;
}

static void check_kind(const char *kind, const struct kernels *table)
{
    struct safetensors *file = open_golden(kind);
    size_t count = tensor_values(safetensors_find(file, "ids"));
    int32_t *ids = golden(file, "ids");
    float *logits = golden(file, "logits");
    struct model *model = open_model(kind, table, false);
    check_logits(model, ids, count, 32, logits, bound_of(model));
    model_close(model);
    free(ids);
    free(logits);
    safetensors_close(file);
}

static void decoders_give_the_logits(void **state)
{
    (void)state;
    static const char *const hils[] = {"hils-olmo", "hils-qwen", "hils-shared"};
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        for (size_t k = 0; table && k < DECODERS; k++)
            check_kind(decoders[k], table);
        for (size_t k = 0; table && k < 3; k++)
            check_kind(hils[k], table);
    }
}

static void check_embedder(const char *kind, const struct kernels *table)
{
    enum { INPUTS = 4 };
    struct safetensors *file = open_golden(kind);
    struct model *model = open_model(kind, table, false);
    size_t width = model_facts(model)->width;
    float *got = mem_alloc(INPUTS * width * sizeof *got);
    for (size_t i = 0; i < INPUTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "ids.%zu", i);
        int32_t *ids = golden(file, name);
        struct embed_input input = {
            .ids = ids, .count = tensor_values(safetensors_find(file, name))};
        snprintf(name, sizeof name, "embedding.%zu", i);
        float *wanted = golden(file, name);
        assert_int_equal(model_embed(model, &input, 1, NULL, got, NULL), 0);
        check_near(kind, got, wanted, width, bound_of(model));
        free(ids);
        free(wanted);
    }
    free(got);
    model_close(model);
    safetensors_close(file);
}

/* The texts of a golden in one batch, between soft tokens. */
static void check_made_for_hils(const char *kind, const struct kernels *table)
{
    enum { TEXTS = 10 };
    char path[128];
    struct safetensors *file = NULL;
    struct embed_input inputs[TEXTS];
    snprintf(path, sizeof path, MODELS "%s/vectors.safetensors", kind);
    assert_int_equal(safetensors_open(path, &file, NULL), 0);
    int32_t *ids = golden(file, "ids"), *lengths = golden(file, "lengths");
    float *soft = golden(file, "soft"), *wanted = golden(file, "wrapped");
    struct model *model = open_model(kind, table, false);
    size_t width = model_facts(model)->width;
    float *got = mem_alloc(TEXTS * width * sizeof *got);
    for (size_t i = 0; i < TEXTS; i++)
        inputs[i] = (struct embed_input){
            .ids = ids, .count = (size_t)lengths[i], .soft = soft};
    assert_int_equal(model_embed(model, inputs, TEXTS, NULL, got, NULL), 0);
    check_near(kind, got, wanted, TEXTS * width, bound_of(model));
    free(got);
    model_close(model);
    free(ids);
    free(lengths);
    free(soft);
    free(wanted);
    safetensors_close(file);
}

static void embedders_give_the_vectors(void **state)
{
    (void)state;
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        for (size_t k = 0; table && k < EMBEDDERS; k++)
            check_embedder(embedders[k], table);
        if (table) {
            check_made_for_hils("hils-olmo", table);
            check_made_for_hils("hils-memory", table);
        }
    }
}

static size_t texts_asked; /* calls of attend_texts */

static int count_texts(struct kernel_run *run,
                       const struct kernel_text_part *part,
                       const struct kernel_rows *rows, size_t m)
{
    const char *reason;
    texts_asked++;
    return kernels_emulated(&reason)->attend_texts(run, part, rows, m);
}

/* More texts than a processor's pass has, with and without soft tokens: one pass,
 * which gives what each text alone does. */
static void check_batch(const char *kind, const struct kernels *table,
                        bool soft)
{
    enum { TEXTS = 90, LONGEST = 12, IDS = TEXTS * LONGEST };
    struct kernels counting = *table;
    counting.attend_texts = count_texts;
    struct model *model = open_model(kind, &counting, false);
    struct model *plain = open_model(kind, kernels_ref(), false);
    size_t width = model_facts(model)->width, from = 0;
    int32_t ids[IDS];
    struct embed_input inputs[TEXTS];
    float *got = mem_alloc(TEXTS * width * sizeof *got);
    float *want = mem_alloc(width * sizeof *want);
    fill_ids(ids, IDS, 60, 5);
    for (size_t i = 0; i < TEXTS; i++) {
        size_t count = LONGEST - i % 7;
        inputs[i] =
            (struct embed_input){.ids = ids + from,
                                 .count = count,
                                 .soft = soft ? model_mem(model) : NULL};
        from += count;
    }
    texts_asked = 0;
    assert_int_equal(model_embed(model, inputs, TEXTS, NULL, got, NULL), 0);
    assert_int_equal(texts_asked, model_facts(model)->memory_layers);
    for (size_t i = 0; i < TEXTS; i++) {
        assert_int_equal(model_embed(plain, &inputs[i], 1, NULL, want, NULL),
                         0);
        check_near(kind, got + i * width, want, width, bound_of(model));
    }
    free(got);
    free(want);
    model_close(model);
    model_close(plain);
}

static void many_texts_are_one_pass(void **state)
{
    (void)state;
    const struct kernels *table = device_table(0);
    for (size_t k = 0; table && k < EMBEDDERS; k++)
        check_batch(embedders[k], table, false);
    if (table)
        check_batch("hils-memory", table, true);
}

static void exact_sessions_read_as_full_ones(void **state)
{
    (void)state;
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        if (!table)
            continue;
        struct model *model = open_model("qwen2", table, true);
        check_exact(model, bound_of(model));
        model_close(model);
    }
}

/* Steps that are one graph each give the bits of those that are not; the graph is
 * made once, and once more when more slots need one more kernel. */
static void steps_are_replayed(void **state)
{
    (void)state;
    enum { PROMPT = 20, COUNT = 90, STEPS = COUNT - PROMPT };
    static const char *const models[] = {"llama3", "qwen2", "hils-qwen",
                                         "star-olmo"};
    const struct kernels *table = device_table(0);
    struct emulated_steps *seen = emulated_steps_seen();
    int32_t ids[COUNT];
    fill_ids(ids, COUNT, 60, 3);
    for (size_t k = 0; table && k < sizeof models / sizeof models[0]; k++) {
        struct model *model = open_model(models[k], table, false);
        size_t values = STEPS * model_facts(model)->vocabulary;
        struct emulated_steps before = *seen;
        float *with = read_steps(model, ids, PROMPT, COUNT);
        size_t started = seen->started - before.started;
        size_t made = seen->made - before.made;
        size_t changed = seen->changed - before.changed;
        if (started < STEPS / 2 || made > 10)
            fail_msg("%s: %zu of %d steps by %zu graphs", models[k], started,
                     STEPS, made);
        /* One is given other numbers, all where there is room for more; STAR's
         * choice is not by memory. */
        if (k < 3 ? changed > started + 4 * seen->nodes
                  : changed >= started * seen->nodes * 2 / 3)
            fail_msg("%s: %zu nodes changed in %zu steps of %zu", models[k],
                     changed, started, seen->nodes);
        seen->refused = true;
        model_close(model);
        model = open_model(models[k], table, false);
        before = *seen;
        float *without = read_steps(model, ids, PROMPT, COUNT);
        assert_int_equal(seen->started, before.started);
        seen->refused = false;
        assert_memory_equal(with, without, values * sizeof *with);
        free(with);
        free(without);
        model_close(model);
    }
}

/* A launch that is put off and finds no memory when it is started: the step says
 * so, wherever it was among those of a first step, whose scratch memory is too
 * small, or of a graph's; and the model goes on. */
static void a_step_says_what_failed(void **state)
{
    (void)state;
    enum { PROMPT = 20, STEPS = 5, COUNT = PROMPT + STEPS };
    enum { PLACES = 15, EACH = 8 };
    const struct kernels *table = device_table(0);
    int32_t ids[COUNT];
    fill_ids(ids, COUNT, 60, 3);
    size_t failures = 0;
    if (!table)
        return;
    struct model *model = open_model("hils-qwen", table, false);
    size_t vocabulary = model_facts(model)->vocabulary;
    float *want = read_steps(model, ids, PROMPT, COUNT);
    for (unsigned at = 0; at < PLACES * EACH; at += EACH) {
        struct session *s = NULL;
        model_close(model);
        model = open_model("hils-qwen", table, false);
        assert_int_equal(session_open(model, &s, NULL), 0);
        assert_int_equal(session_prefill(s, ids, PROMPT, NULL, NULL, NULL), 0);
        emulated_fail(EMULATED_LAUNCH_NO_MEMORY, at);
        int code = 0;
        for (size_t i = 0; i < STEPS && !code; i++) {
            code = session_prefill(s, ids + PROMPT + i, 1, NULL, NULL, NULL);
            if (!code && memcmp(session_logits(s), want + i * vocabulary,
                                vocabulary * sizeof *want) != 0)
                fail_msg("launch %u failed, and step %zu is wrong", at, i);
        }
        failures += code != 0;
        session_close(s);
        float *again = read_steps(model, ids, PROMPT, COUNT);
        assert_memory_equal(again, want, STEPS * vocabulary * sizeof *want);
        free(again);
    }
    assert_int_equal(failures, PLACES);
    model_close(model);
    free(want);
}

/* Sessions that come and go in the same steps, and prompts between them, change
 * no other's logits. */
static void steps_of_many_are_replayed(void **state)
{
    (void)state;
    enum { SESSIONS = 3, STEPS = 24, PROMPT = 9 };
    const struct kernels *table = device_table(0);
    int32_t ids[SESSIONS * 64];
    fill_ids(ids, SESSIONS * 64, 60, 7);
    if (!table)
        return;
    struct model *model = open_model("mistral", table, false);
    struct model *plain = open_model("mistral", kernels_ref(), false);
    struct session *sessions[SESSIONS], *alone[SESSIONS];
    size_t vocabulary = model_facts(model)->vocabulary, open = 0;
    size_t started = emulated_steps_seen()->started;
    for (size_t step = 0; step < STEPS; step++) {
        int32_t next[SESSIONS];
        if (step % 8 == 0) {
            const int32_t *prompt = ids + open * 64;
            assert_int_equal(session_open(model, &sessions[open], NULL), 0);
            assert_int_equal(session_open(plain, &alone[open], NULL), 0);
            assert_int_equal(session_prefill(sessions[open], prompt, PROMPT,
                                             NULL, NULL, NULL),
                             0);
            assert_int_equal(
                session_prefill(alone[open], prompt, PROMPT, NULL, NULL, NULL),
                0);
            open++;
        }
        for (size_t i = 0; i < open; i++)
            next[i] = ids[i * 64 + session_length(sessions[i])];
        assert_int_equal(session_decode_batch(sessions, next, open, NULL, NULL),
                         0);
        for (size_t i = 0; i < open; i++) {
            assert_int_equal(
                session_prefill(alone[i], &next[i], 1, NULL, NULL, NULL), 0);
            check_near("a step of many", session_logits(sessions[i]),
                       session_logits(alone[i]), vocabulary, bound_of(model));
        }
    }
    assert_int_equal(open, SESSIONS);
    /* Of each eight the first finds others in the step before. */
    assert_true(emulated_steps_seen()->started - started >= SESSIONS * 6);
    for (size_t i = 0; i < open; i++) {
        session_close(sessions[i]);
        session_close(alone[i]);
    }
    model_close(model);
    model_close(plain);
}

/* Aligned activations are read another way than those of test_products. */
static void check_aligned_matmul(const struct kernels *table, size_t m,
                                 size_t n, size_t k)
{
    struct kernel_run run = {.step = NULL};
    const struct kernels *ref = kernels_ref();
    struct kernel_weight *mine = NULL, *theirs = NULL;
    uint16_t *half = mem_alloc(n * k * sizeof *half);
    float *a = mem_alloc(m * k * sizeof *a), *want = mem_alloc(m * n * 4);
    float *got = mem_alloc(m * n * sizeof *got);
    uint64_t seed = 3;
    for (size_t i = 0; i < n * k; i++) /* from 0.5 to 2 */
        half[i] = (uint16_t)(0x3F00 + unit_below(&seed, 256));
    for (size_t i = 0; i < m * k; i++)
        a[i] = (float)unit_below(&seed, 2001) / 1000.0F - 1.0F;
    assert_int_equal(ref->weight(&run, half, KERNEL_BF16, n, k, &theirs), 0);
    assert_int_equal(table->weight(&run, half, KERNEL_BF16, n, k, &mine), 0);
    ref->matmul(&run, want, a, theirs, m, false);
    float *in = table->allocate(&run, m * k * sizeof *in);
    float *out = table->allocate(&run, m * n * sizeof *out);
    assert_true(in && out);
    assert_int_equal(table->upload(&run, in, a, m * k * sizeof *a), 0);
    assert_int_equal(table->matmul(&run, out, in, mine, m, false), 0);
    assert_int_equal(table->download(&run, got, out, m * n * sizeof *got), 0);
    check_near("aligned product", got, want, m * n, F32_BOUND);
    table->release(&run, in);
    table->release(&run, out);
    table->weight_free(&run, mine);
    ref->weight_free(&run, theirs);
    free(half);
    free(a);
    free(want);
    free(got);
}

static void aligned_matmuls_are_right(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 3, 4, 7, 15};
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        for (size_t r = 0; table && r < sizeof rows / sizeof rows[0]; r++)
            for (size_t k = 8; k < 400; k += 128)
                check_aligned_matmul(table, rows[r], 5, k);
        /* warps share k; and not all of it is in shared memory at once */
        static const size_t widths[] = {520, 1024, 2056, 4200, 20000};
        for (size_t i = 0; table && i < sizeof widths / sizeof widths[0]; i++) {
            check_aligned_matmul(table, 1, 17, widths[i]);
            check_aligned_matmul(table, 3, 2, widths[i]);
        }
    }
}

/* Products of the same 16 rows and more, which cuBLASLt does: what is launched beside is
 * one rounding for them all, the norm with it, and what bends them. */
static void rows_are_rounded_once(void **state)
{
    (void)state;
    enum { M = 16, N = 4, K = 8, COUNT = 3 };
    const struct kernels *table = device_table(0);
    struct kernel_run run = {.step = NULL};
    uint16_t half[N * K] = {0};
    struct kernel_weight *weight = NULL, *next = NULL;
    if (!table)
        return;
    float *x = table->allocate(&run, M * K * sizeof *x);
    float *norm = table->allocate(&run, K * sizeof *norm);
    float *room = table->allocate(&run, M * K * sizeof *room);
    float *out = table->allocate(&run, COUNT * M * N * sizeof *out);
    float zeros[M * K] = {0};
    assert_true(x && norm && room && out);
    assert_int_equal(table->upload(&run, x, zeros, sizeof zeros), 0);
    assert_int_equal(table->upload(&run, norm, zeros, K * sizeof *norm), 0);
    assert_int_equal(table->weight(&run, half, KERNEL_BF16, N, K, &weight), 0);
    assert_int_equal(table->weight(&run, half, KERNEL_BF16, N, N, &next), 0);
    struct kernel_product products[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        products[i] =
            (struct kernel_product){.out = out + i * M * N, .w = weight};
    const struct kernel_rows plain = {.x = x}, normed = {x, norm, 1e-5F, room};
    const struct kernel_gate gate = {
        .gate = products[0], .up = products[1], .bend = KERNEL_SILU};
    for (size_t count = 1; count <= COUNT; count++) {
        size_t before = emulated_launches();
        assert_int_equal(table->matmuls(&run, products, count, &plain, M), 0);
        assert_int_equal(emulated_launches() - before, 1);
        before = emulated_launches();
        assert_int_equal(table->matmuls(&run, products, count, &normed, M), 0);
        assert_int_equal(emulated_launches() - before, 1);
    }
    size_t before = emulated_launches();
    assert_int_equal(table->matmul_gated(&run, &gate, &normed, M), 0);
    assert_int_equal(emulated_launches() - before, 2);
    /* and what bends them writes what the next product reads */
    const struct kernel_feed feed = {
        .inner = gate, .down = {.out = out + 2 * M * N, .w = next}};
    before = emulated_launches();
    assert_int_equal(table->feed_forward(&run, &feed, &normed, M), 0);
    assert_int_equal(emulated_launches() - before, 2);
    /* nothing is rounded where there is no cuBLASLt to read it */
    emulated_without_blas(true);
    before = emulated_launches();
    assert_int_equal(table->matmuls(&run, products, COUNT, &normed, M), 0);
    assert_int_equal(emulated_launches() - before, 1);
    before = emulated_launches();
    assert_int_equal(table->feed_forward(&run, &feed, &normed, M), 0);
    assert_int_equal(emulated_launches() - before, 2);
    emulated_without_blas(false);
    table->weight_free(&run, weight);
    table->weight_free(&run, next);
    float *const all[] = {x, norm, room, out};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        table->release(&run, all[i]);
}

/* Without cuBLASLt our own kernels give the logits, of f32 weights and of bf16. */
static void a_missing_library_is_done_without(void **state)
{
    (void)state;
    const struct kernels *table = device_table(0);
    if (!table)
        return;
    emulated_without_blas(true);
    check_kind("llama2", table);
    check_kind("qwen2", table);
    emulated_without_blas(false);
}

/* The caller survives it, and so does the device. */
static void too_much_memory_is_an_answer(void **state)
{
    (void)state;
    for (int t = 0; t < TABLES; t++) {
        const struct kernels *table = device_table(t);
        struct kernel_run run = {.step = NULL};
        if (!table)
            continue;
        float host[4] = {1, 2, 3, 4}, back[4] = {0};
        struct kernel_weight *weight = NULL;
        assert_null(table->allocate(&run, (size_t)1 << 50));
        assert_int_equal(
            table->weight(&run, host, KERNEL_F32, SIZE_MAX / 2, 8, &weight),
            KERNEL_NO_MEMORY);
        assert_null(weight);
        float *x = table->allocate(&run, sizeof host);
        assert_non_null(x);
        assert_int_equal(table->pool_attention(&run, x, x, x, x, x, 1,
                                               (size_t)1 << 30, 1,
                                               (size_t)1 << 30),
                         KERNEL_NO_MEMORY);
        assert_int_equal(table->upload(&run, x, host, sizeof host), 0);
        assert_int_equal(table->scale(&run, x, 2, 4), 0);
        assert_int_equal(table->download(&run, back, x, sizeof back), 0);
        for (int i = 0; i < 4; i++)
            assert_true(back[i] == 2 * host[i]); /* exact in floats */
        table->release(&run, x);
    }
}

/* A launch that the runtime refuses as it is asked: the call's error, and the
 * device goes on. */
static void a_refused_launch_is_an_answer(void **state)
{
    (void)state;
    const struct kernels *table = device_table(0);
    struct kernel_run run = {.step = NULL};
    float host[4] = {1, 2, 3, 4}, back[4] = {0};
    if (!table)
        return;
    float *x = table->allocate(&run, sizeof host);
    assert_int_equal(table->upload(&run, x, host, sizeof host), 0);
    emulated_fail(EMULATED_LAUNCH_REFUSED, 0);
    assert_int_equal(table->scale(&run, x, 2, 4), KERNEL_FAILED);
    assert_null(table->lost());
    assert_int_equal(table->scale(&run, x, 2, 4), 0);
    assert_int_equal(table->download(&run, back, x, sizeof back), 0);
    for (int i = 0; i < 4; i++)
        assert_true(back[i] == 2 * host[i]); /* exact in floats */
    table->release(&run, x);
}

/* The products of models whose sizes are multiples of 1,024, at many lengths of a
 * pass: no more of them want the same places than there are. */
static void plans_lie_apart(void **state)
{
    (void)state;
    enum { EACH = 4, PLACES = 1024 };
    static const size_t shapes[][2] = {
        {4096, 4096},  {1024, 4096},   {14336, 4096},  {4096, 14336},
        {2048, 2048},  {256, 2048},    {5632, 2048},   {2048, 5632},
        {11008, 4096}, {4096, 11008},  {1024, 1024},   {2048, 1024},
        {3072, 1024},  {1024, 3072},   {1024, 2048},   {32000, 2048},
        {32000, 4096}, {151936, 1024}, {128256, 4096}, {6144, 4096}};
    static const size_t rows[] = {16, 512, 1024, 2048, 4096, 8192};
    unsigned wanted[PLACES] = {0};
    const char *reason = NULL;
    if (!kernels_emulated(&reason)) {
        printf("SKIP cuda emulated: %s\n", reason);
        return;
    }
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            size_t at =
                emulated_plan_place(rows[r], shapes[i][0], shapes[i][1]);
            assert_true(at < PLACES && at % EACH == 0);
            if (++wanted[at] > EACH)
                fail_msg("more than %d plans at %zu", EACH, at);
        }
}

/* ---- The instrument ---- */

/* Whether what a child runs ends it by abort. */
static bool aborts(void (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        body();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void wait_in_part(void)
{
    emulated_self_test(EMULATED_BARRIER_IN_PART, NULL, 0);
}

static void shuffle_in_part(void)
{
    emulated_self_test(EMULATED_SHUFFLE_IN_PART, NULL, 0);
}

static void begin_early(void)
{
    emulated_self_test(EMULATED_EARLY, NULL, 0);
}

static void begin_early_for_good(void)
{
    emulated_self_test(EMULATED_EARLY_NO_WAIT, NULL, 0);
}

static void multiply_published(void)
{
    emulated_self_test(EMULATED_PUBLISHED, NULL, 0);
}

static void multiply_unpublished(void)
{
    emulated_self_test(EMULATED_NOT_PUBLISHED, NULL, 0);
}

/* A kernel without the barrier it needs gives other numbers than with it; one
 * that not all threads reach ends the program. */
static void the_emulation_sees_mistakes(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    int right[COUNT], wrong[COUNT];
    const char *reason = NULL;
    if (!kernels_emulated(&reason)) {
        printf("SKIP cuda emulated: %s\n", reason);
        return;
    }
    bool seen = false;
    for (int i = 0; i < 20; i++) {
        emulated_self_test(EMULATED_RIGHT, right, COUNT);
        emulated_self_test(EMULATED_NO_BARRIER, wrong, COUNT);
        for (int j = 0; j < COUNT; j++)
            assert_int_equal(right[j], (j + 1) % COUNT);
        seen = seen || memcmp(right, wrong, sizeof right) != 0;
    }
    assert_true(seen);
    assert_true(aborts(wait_in_part));
    assert_true(aborts(shuffle_in_part));
    assert_false(aborts(begin_early));
    assert_true(aborts(begin_early_for_good));
    assert_false(aborts(multiply_published));
    assert_true(aborts(multiply_unpublished));
}

static void leave_copies(void)
{
    emulated_self_test(EMULATED_COPY_NO_WAIT, NULL, 0);
}

/* A copy that is not waited for gives other numbers, or ends the program. */
static void the_emulation_sees_missing_waits(void **state)
{
    (void)state;
    enum { COUNT = 64 };
    int right[COUNT], wrong[COUNT];
    const char *reason = NULL;
    if (!kernels_emulated(&reason)) {
        printf("SKIP cuda emulated: %s\n", reason);
        return;
    }
    emulated_self_test(EMULATED_COPY, right, COUNT);
    for (int j = 0; j < COUNT; j++)
        assert_int_equal(right[j], (j + 1) % COUNT);
    emulated_self_test(EMULATED_COPY_SOON, wrong, COUNT);
    assert_memory_not_equal(right, wrong, sizeof right);
    assert_true(aborts(leave_copies));
}

/* The fragments of a product lie as PTX says: by each read of b the product is
 * the plain one's; with two registers in each other's place it is not. */
static void the_emulation_multiplies(void **state)
{
    (void)state;
    float a[16 * 16], b[16 * 8], c[16 * 8], expected[16 * 8];
    uint64_t seed = 5;
    const char *reason = NULL;
    if (!kernels_emulated(&reason)) {
        printf("SKIP cuda emulated: %s\n", reason);
        return;
    }
    for (int i = 0; i < 256; i++)
        a[i] = (float)unit_below(&seed, 100) - 50;
    for (int i = 0; i < 128; i++)
        b[i] = (float)unit_below(&seed, 100) - 50;
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            expected[i * 8 + j] = 0;
            for (int k = 0; k < 16; k++)
                expected[i * 8 + j] += a[i * 16 + k] * b[k * 8 + j];
        }
    for (int turn = 0; turn < EMULATED_TURNS; turn++) {
        emulated_matmul_test(a, b, c, (enum emulated_turn)turn, false);
        assert_memory_equal(c, expected, sizeof c);
        emulated_matmul_test(a, b, c, (enum emulated_turn)turn, true);
        assert_memory_not_equal(c, expected, sizeof c);
    }
}

/* Four rows times a weight of N rows of k numbers. */
struct few {
    struct kernel_weight *weight;
    float *x, *out;
};

static struct few few_of(const struct kernels *table, struct kernel_run *run,
                         size_t k)
{
    enum { M = 4, N = 8 };
    uint16_t *half = mem_alloc(N * k * sizeof *half);
    float *zeros = mem_alloc(M * k * sizeof *zeros);
    struct few ret = {.x = table->allocate(run, M * k * sizeof *zeros),
                      .out =
                          table->allocate(run, M * (size_t)N * sizeof *zeros)};
    memset(half, 0, N * k * sizeof *half);
    memset(zeros, 0, M * k * sizeof *zeros);
    assert_true(ret.x && ret.out);
    assert_int_equal(table->upload(run, ret.x, zeros, M * k * sizeof *zeros),
                     0);
    assert_int_equal(table->weight(run, half, KERNEL_BF16, N, k, &ret.weight),
                     0);
    free(half);
    free(zeros);
    return ret;
}

/* A kernel's limit of shared memory is the kernel's, not the launch's: a step that is
 * written down needs more than what another stream starts before it does. */
static void another_stream_takes_no_shared_memory_away(void **state)
{
    (void)state;
    const char *reason = NULL;
    const struct kernels *table = kernels_emulated(&reason);
    if (!table) {
        printf("SKIP cuda emulated: %s\n", reason);
        return;
    }
    struct kernel_run runs[] = {{.step = NULL}, {.background = true}};
    const size_t wide[] = {8192, 3072};
    struct few few[2];
    for (size_t i = 0; i < 2; i++)
        few[i] = few_of(table, &runs[i], wide[i]);
    assert_int_equal(table->graph_begin(&runs[0]), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(table->matmul(&runs[i], few[i].out, few[i].x,
                                       few[i].weight, 4, false),
                         0);
    assert_int_equal(table->graph_end(&runs[0]), 0);
    for (size_t i = 0; i < 2; i++) {
        table->weight_free(&runs[i], few[i].weight);
        table->release(&runs[i], few[i].x);
        table->release(&runs[i], few[i].out);
        table->run_end(&runs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_stream_takes_no_shared_memory_away),
        cmocka_unit_test(the_emulation_sees_mistakes),
        cmocka_unit_test(the_emulation_sees_missing_waits),
        cmocka_unit_test(the_emulation_multiplies),
        cmocka_unit_test(rows_are_rounded_once),
        cmocka_unit_test(a_missing_library_is_done_without),
        cmocka_unit_test(too_much_memory_is_an_answer),
        cmocka_unit_test(a_refused_launch_is_an_answer),
        cmocka_unit_test(plans_lie_apart),
        cmocka_unit_test(aligned_matmuls_are_right),
        cmocka_unit_test(decoders_give_the_logits),
        cmocka_unit_test(embedders_give_the_vectors),
        cmocka_unit_test(many_texts_are_one_pass),
        cmocka_unit_test(exact_sessions_read_as_full_ones),
        cmocka_unit_test(steps_are_replayed),
        cmocka_unit_test(a_step_says_what_failed),
        cmocka_unit_test(steps_of_many_are_replayed),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
