/* Answers and indexing on one device: each has its stream, neither waits for the
 * other, and what they say is what they say alone.  By emulated streams, which do
 * nothing before they are waited for, or mix what two were asked for (tests/cuda). */
#include "tests/unit/support/devices.h"

#include <pthread.h>

enum { ANSWERS = 1, BACKGROUND }; /* as the device's table makes them */
enum {
    PROMPT = 9,
    STEPS = 12,
    COUNT = PROMPT + STEPS,
    TEXTS = 4,
    LONGEST = 14
};

static const char *const models[] = {"memory", "qwen2", "hils-qwen",
                                     "hils-memory"};
enum { MODEL_COUNT = sizeof models / sizeof models[0] };

static size_t undone(size_t stream)
{
    return emulated_stream_seen(stream)->undone;
}

static struct model *open_model(const char *kind, const struct kernels *table)
{
    char path[128];
    snprintf(path, sizeof path, MODELS "%s", kind);
    return open_at(path, table, false, false);
}

/* A model that answers, and what shares it to index. */
struct both {
    struct model *model, *sharing;
    struct session *session; /* has read the prompt */
    int32_t ids[COUNT], texts[TEXTS * LONGEST];
    struct embed_input inputs[TEXTS];
    size_t vocabulary, width, read;
    float *logits, *vectors; /* [STEPS, vocabulary], [TEXTS, width] */
    size_t asked;       /* how often one was asked while the other waited */
    size_t most_undone; /* of the other's stream then */
};

static void begin(struct both *b, const char *kind, const struct kernels *table)
{
    *b = (struct both){.model = open_model(kind, table)};
    b->sharing = model_share(b->model, (struct kernel_pool){0});
    b->vocabulary = model_facts(b->model)->vocabulary;
    b->width = model_facts(b->model)->width;
    b->logits = mem_alloc(STEPS * b->vocabulary * sizeof *b->logits);
    b->vectors = mem_alloc(TEXTS * b->width * sizeof *b->vectors);
    fill_ids(b->ids, COUNT, 60, 3);
    fill_ids(b->texts, TEXTS * LONGEST, 60, 5);
    for (size_t i = 0; i < TEXTS; i++)
        b->inputs[i] = (struct embed_input){.ids = b->texts + i * LONGEST,
                                            .count = LONGEST - i,
                                            .soft = model_mem(b->model)};
    b->session = open_session(b->model);
    feed(b->session, b->ids, PROMPT);
}

static void end(struct both *b)
{
    session_close(b->session);
    model_close(b->sharing);
    model_close(b->model);
    free(b->logits);
    free(b->vectors);
}

/* Reads a token, if there is one left. */
static void step(struct both *b)
{
    if (b->read == STEPS)
        return;
    feed(b->session, b->ids + PROMPT + b->read, 1);
    memcpy(b->logits + b->read * b->vocabulary, session_logits(b->session),
           b->vocabulary * sizeof *b->logits);
    b->read++;
}

static void embed(struct both *b)
{
    struct err err = {0};
    if (model_embed(b->sharing, b->inputs, TEXTS, NULL, b->vectors, &err))
        fail_msg("%s", err.message);
}

/* Whatever the indexing still has to do, a step is done, and does nothing of it. */
static void step_meanwhile(void *context)
{
    struct both *b = context;
    size_t before = undone(BACKGROUND);
    step(b);
    assert_int_equal(undone(BACKGROUND), before);
    b->most_undone = before > b->most_undone ? before : b->most_undone;
    b->asked++;
}

static void embed_meanwhile(void *context)
{
    struct both *b = context;
    size_t before = undone(ANSWERS);
    if (b->asked++ % 8)
        return;
    embed(b);
    assert_int_equal(undone(ANSWERS), before);
    b->most_undone = before > b->most_undone ? before : b->most_undone;
}

static void mix_steps(void *context)
{
    step(context);
}

static void mix_embedding(void *context)
{
    struct both *b = context;
    if (b->asked++ % 8 == 0)
        embed(b);
}

static const struct {
    enum emulated_order order;
    bool embedding_first;
    void (*meanwhile)(void *context);
} ways[] = {{EMULATED_HELD, true, step_meanwhile},
            {EMULATED_HELD, false, embed_meanwhile},
            {EMULATED_MIXED, true, mix_steps},
            {EMULATED_MIXED, false, mix_embedding}};

static void check_way(const struct kernels *table, const char *kind, size_t way,
                      const struct both *alone)
{
    struct both b;
    emulated_hold(ways[way].order, NULL, NULL);
    begin(&b, kind, table);
    emulated_hold(ways[way].order, ways[way].meanwhile, &b);
    if (ways[way].embedding_first) {
        embed(&b);
        emulated_hold(ways[way].order, NULL, NULL);
    }
    while (b.read < STEPS)
        step(&b);
    emulated_hold(ways[way].order, NULL, NULL);
    if (ways[way].order == EMULATED_HELD && (!b.asked || !b.most_undone))
        fail_msg("%s, %zu: nothing was under way", kind, way);
    if (memcmp(b.logits, alone->logits,
               STEPS * b.vocabulary * sizeof *b.logits) != 0)
        fail_msg("%s, %zu: other logits", kind, way);
    if (memcmp(b.vectors, alone->vectors,
               TEXTS * b.width * sizeof *b.vectors) != 0)
        fail_msg("%s, %zu: other vectors", kind, way);
    end(&b);
    emulated_hold(EMULATED_AT_ONCE, NULL, NULL);
}

static void neither_waits_for_the_other(void **state)
{
    (void)state;
    const struct kernels *table = device_table(0);
    for (size_t k = 0; table && k < MODEL_COUNT; k++) {
        struct both alone;
        begin(&alone, models[k], table);
        embed(&alone);
        while (alone.read < STEPS)
            step(&alone);
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++)
            check_way(table, models[k], way, &alone);
        end(&alone);
    }
}

static void *keep_embedding(void *context)
{
    enum { TIMES = 3 };
    for (int i = 0; i < TIMES; i++)
        embed(context);
    return NULL;
}

/* The same by two threads: on a device, if there is one, and on the CPU. */
static void threads_work_at_once(void **state)
{
    (void)state;
    const double bound = 1e-3; /* of the largest value */
    const struct kernels *const tables[] = {kernels_cpu(), device_table(1)};
    for (size_t t = 0; t < 2 && tables[t]; t++)
        for (size_t k = 0; k < MODEL_COUNT; k++) {
            struct both alone, b;
            pthread_t thread;
            begin(&alone, models[k], tables[t]);
            embed(&alone);
            while (alone.read < STEPS)
                step(&alone);
            begin(&b, models[k], tables[t]);
            assert_int_equal(pthread_create(&thread, NULL, keep_embedding, &b),
                             0);
            while (b.read < STEPS)
                step(&b);
            assert_int_equal(pthread_join(thread, NULL), 0);
            check_near(models[k], b.logits, alone.logits, STEPS * b.vocabulary,
                       bound);
            check_near(models[k], b.vectors, alone.vectors, TEXTS * b.width,
                       bound);
            end(&alone);
            end(&b);
        }
}

/* Nothing goes to the runtime's own stream, which would wait for both. */
static void each_has_its_stream(void **state)
{
    (void)state;
    const struct kernels *table = device_table(0);
    if (!table)
        return;
    const struct emulated_work *answers = emulated_stream_seen(ANSWERS);
    const struct emulated_work *other = emulated_stream_seen(BACKGROUND);
    assert_non_null(answers);
    assert_non_null(other);
    assert_null(emulated_stream_seen(BACKGROUND + 1));
    assert_true(answers->priority < other->priority); /* lower: earlier */
    struct both b;
    begin(&b, "hils-qwen", table);
    size_t launches = answers->launches, waits = answers->waits;
    assert_int_equal(emulated_stream_seen(0)->launches, 0);
    embed(&b);
    assert_int_equal(answers->launches, launches);
    assert_int_equal(answers->waits, waits);
    assert_true(other->launches && other->waits);
    launches = other->launches;
    waits = other->waits;
    while (b.read < STEPS)
        step(&b);
    assert_int_equal(other->launches, launches);
    assert_int_equal(other->waits, waits);
    assert_int_equal(emulated_stream_seen(0)->launches, 0);
    assert_int_equal(emulated_stream_seen(0)->waits, 0);
    end(&b);
}

/* Attention of one query over so many slots that its parts are joined by the last of
 * a tile's blocks, which a counter tells: the counters of two streams are apart, whose
 * blocks come between each other's. */
struct query {
    struct kernel_run run;
    float *memory, *out; /* queries, keys, values; [HEADS, D] */
    const float **table;
    float *wanted;
};
enum { HEADS = 2, D = 64, SLOTS = 1500, FLOATS = (1 + 2 * SLOTS) * HEADS * D };

static void attend(const struct kernels *table, struct query *q)
{
    struct kernel_pages pages = {.keys = q->table,
                                 .values = q->table + 1,
                                 .slots = SLOTS,
                                 .type = KERNEL_F32};
    assert_int_equal(table->attention(&q->run, q->out, q->memory, &pages, 1,
                                      SLOTS, HEADS, HEADS, D, 0),
                     0);
}

static void make_query(const struct kernels *table, struct query *q,
                       bool second)
{
    float *host = mem_alloc(FLOATS * sizeof *host);
    uint64_t seed = second ? 5 : 9;
    *q = (struct query){.run = {.background = second}};
    for (size_t i = 0; i < FLOATS; i++)
        host[i] = (float)unit_below(&seed, 2001) / 1000.0F - 1.0F;
    q->memory = table->allocate(&q->run, FLOATS * sizeof *host);
    q->out = table->allocate(&q->run, (size_t)HEADS * D * sizeof *host);
    q->table = table->allocate(&q->run, 2 * sizeof *q->table);
    q->wanted = mem_alloc((size_t)HEADS * D * sizeof *host);
    const float *at[] = {q->memory + HEADS * D,
                         q->memory + (1 + SLOTS) * HEADS * D};
    assert_int_equal(
        table->upload(&q->run, q->memory, host, FLOATS * sizeof *host), 0);
    assert_int_equal(table->upload(&q->run, q->table, at, sizeof at), 0);
    attend(table, q);
    assert_int_equal(table->download(&q->run, q->wanted, q->out,
                                     (size_t)HEADS * D * sizeof *host),
                     0);
    free(host);
}

static void free_query(const struct kernels *table, struct query *q)
{
    table->release(&q->run, q->memory);
    table->release(&q->run, q->out);
    table->release(&q->run, (void *)q->table);
    table->run_end(&q->run);
    free(q->wanted);
}

static void last_blocks_are_told_apart(void **state)
{
    (void)state;
    enum { TIMES = 10 };
    const struct kernels *table = device_table(0);
    struct query queries[2];
    float got[HEADS * D];
    if (!table)
        return;
    make_query(table, &queries[0], false);
    make_query(table, &queries[1], true);
    emulated_hold(EMULATED_MIXED, NULL, NULL);
    size_t launches = emulated_launches();
    for (int i = 0; i < TIMES; i++) {
        attend(table, &queries[0]);
        attend(table, &queries[1]);
        assert_int_equal(emulated_launches() - launches, 2 * (i + 1));
        for (int s = 0; s < 2; s++) {
            struct query *q = &queries[(i + s) % 2];
            assert_int_equal(table->download(&q->run, got, q->out, sizeof got),
                             0);
            assert_memory_equal(got, q->wanted, sizeof got);
        }
    }
    emulated_hold(EMULATED_AT_ONCE, NULL, NULL);
    free_query(table, &queries[0]);
    free_query(table, &queries[1]);
}

static bool after_some(void *context)
{
    return (*(int *)context)-- == 0;
}

/* A pass that is cancelled leaves work behind; who closes the share has it done before
 * the weights are freed, in the other's stream. */
static void closing_waits_for_its_own(void **state)
{
    (void)state;
    const struct kernels *table = device_table(0);
    struct both b;
    int layers = 1;
    const struct cancel cancel = {after_some, &layers};
    if (!table)
        return;
    emulated_hold(EMULATED_HELD, NULL, NULL);
    begin(&b, "memory", table);
    assert_int_equal(
        model_embed(b.sharing, b.inputs, TEXTS, &cancel, b.vectors, NULL),
        ERR_CANCELLED);
    assert_true(undone(BACKGROUND) > 0);
    end(&b);
    assert_int_equal(undone(BACKGROUND), 0);
    emulated_hold(EMULATED_AT_ONCE, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_stream),
        cmocka_unit_test(neither_waits_for_the_other),
        cmocka_unit_test(threads_work_at_once),
        cmocka_unit_test(last_blocks_are_told_apart),
        cmocka_unit_test(closing_waits_for_its_own),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
