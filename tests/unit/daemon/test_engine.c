/* The engine with a real model, made of random numbers. */
#include "tests/unit/support/folder.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/safetensors.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/engine_folder.h"

#define MODEL "tests/golden/models/memory"
#define PLAIN "tests/golden/models/tied"
enum { MAX_WIDTH = 64, STOP_MS = 20000 };

static struct engine *start(const char *folder)
{
    struct engine_options options = {.folder = folder};
    struct engine *engine = NULL;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    return engine;
}

static void stop(struct engine *engine)
{
    assert_true(engine_stop(engine, clock_ms() + STOP_MS));
}

static struct model *open_model(const char *folder)
{
    struct model_options options = {.kernels = kernels_cpu()};
    struct model *model = NULL;
    struct err err = {0};
    if (model_open(folder, &options, &model, &err))
        fail_msg("%s: %s", err.path, err.message);
    return model;
}

/* The largest difference; written so that NaN fails. */
static void check_near(const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= 1e-5))
            fail_msg("%zu: %g is not %g", i, (double)got[i], (double)want[i]);
}

static void check_unit(const float *vector, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)vector[i] * (double)vector[i];
    if (!(fabs(sum - 1) <= 1e-5))
        fail_msg("a length of %g", sqrt(sum));
}

static struct embed_ids tokens_of(const struct embedder *embedder,
                                  const char *text)
{
    struct embed_ids ids = {0};
    assert_int_equal(
        embedder->tokenize(embedder->context, slice_of(text), &ids, NULL), 0);
    assert_true(ids.count > 0);
    return ids;
}

/* ---- Embeddings ---- */

/* A model twice: as the engine embeds by it, and by itself. */
struct both {
    struct engine *engine;
    struct model *model;
    struct engine_embedder e; /* its context: stays where it is */
    struct embedder_facts facts;
};

static void open_both(const char *folder, struct both *ret)
{
    ret->engine = start(folder);
    ret->model = open_model(folder);
    engine_embedder(ret->engine, true, NULL, &ret->e);
    assert_int_equal(ret->e.embedder.facts(&ret->e, &ret->facts, NULL), 0);
}

static void close_both(struct both *both)
{
    model_close(both->model);
    stop(both->engine);
}

static void memories_are_those_of_the_model(void **state)
{
    (void)state;
    struct both b;
    open_both(MODEL, &b);
    assert_true(b.facts.recalls);
    assert_int_equal(b.facts.width, model_facts(b.model)->width);
    assert_int_equal(b.facts.context, model_facts(b.model)->context - 2);
    assert_true(hash_equal(b.facts.model, model_facts(b.model)->fingerprint));
    struct embed_ids ids =
        tokens_of(&b.e.embedder, "A vacuum frees dead rows.");
    float recalled[MAX_WIDTH];
    for (size_t i = 0; i < b.facts.width; i++)
        recalled[i] = (float)i / 50 - 0.3F;
    enum { TEXTS = 150 }; /* several pieces */
    struct embed_text texts[TEXTS];
    struct embed_input inputs[TEXTS];
    for (size_t i = 0; i < TEXTS; i++) {
        size_t count = 1 + i % ids.count;
        const float *softs[] = {model_mem(b.model), model_mem0(b.model),
                                recalled};
        texts[i] = (struct embed_text){.ids = ids.ids,
                                       .count = count,
                                       .soft = (int)(i % 3),
                                       .recall = recalled};
        inputs[i] = (struct embed_input){
            .ids = ids.ids, .count = count, .soft = softs[i % 3]};
    }
    float *got = mem_alloc(TEXTS * b.facts.width * sizeof *got);
    float *want = mem_alloc(TEXTS * b.facts.width * sizeof *want);
    assert_int_equal(b.e.embedder.embed(&b.e, texts, TEXTS, got, NULL), 0);
    assert_int_equal(model_embed(b.model, inputs, TEXTS, NULL, want, NULL), 0);
    check_near(got, want, TEXTS * b.facts.width);
    float one[MAX_WIDTH], other[MAX_WIDTH];
    const size_t five[] = {0, 5};
    assert_int_equal(b.e.embedder.recall(&b.e, got, got, 5, one, NULL), 0);
    assert_int_equal(model_recall(b.model, want, want, 5, other, NULL), 0);
    check_near(one, other, b.facts.width);
    assert_int_equal(b.e.embedder.aggregate(&b.e, AGGREGATE_ATTENTION, got,
                                            five, 1, one, NULL),
                     0);
    assert_int_equal(model_pool(b.model, POOL_ATTENTION, want, 5, other, NULL),
                     0);
    check_near(one, other, b.facts.width);
    assert_int_equal(
        b.e.embedder.aggregate(&b.e, AGGREGATE_MEAN, got, five, 1, one, NULL),
        0);
    assert_int_equal(model_pool(b.model, POOL_MEAN, want, 5, other, NULL), 0);
    check_near(one, other, b.facts.width);
    free(got);
    free(want);
    free(ids.ids);
    close_both(&b);
}

/* An encoder with a tokenizer and E5's prefixes. */
static const char *make_encoder(void)
{
    static char folder[256];
    char command[700], path[300];
    struct buf config = {0}, made = {0};
    snprintf(folder, sizeof folder, "%s", unit_folder());
    snprintf(command, sizeof command,
             "cp -r tests/golden/models/bert/. "
             "tests/golden/tokenizers/bert/tokenizer.json '%s'",
             folder);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(file_read(path, 1 << 16, &config, NULL), 0);
    buf_put_text(&made, "{\"lectern\":{\"query_prefix\":\"query: \","
                        "\"passage_prefix\":\"passage: \"},");
    buf_put_text(&made, config.data + 1);
    assert_int_equal(file_write(path, buf_slice(&made), NULL), 0);
    buf_free(&config);
    buf_free(&made);
    return folder;
}

/* Prefix and text as one, with all that the tokenizer adds. */
static struct ids framed(const struct model *model, const char *prefix,
                         const char *text)
{
    struct buf whole = {0};
    struct ids ids = {0};
    buf_put_text(&whole, prefix);
    buf_put_text(&whole, text);
    assert_int_equal(tokenizer_encode(model_tokenizer(model), buf_slice(&whole),
                                      true, &ids, NULL),
                     0);
    buf_free(&whole);
    return ids;
}

/* The embedding of a text as the reference would have it. */
static void embed_whole(struct model *model, const char *prefix,
                        const char *text, float *ret)
{
    struct ids ids = framed(model, prefix, text);
    struct embed_input input = {.ids = ids.items, .count = ids.count};
    assert_int_equal(model_embed(model, &input, 1, NULL, ret, NULL), 0);
    ids_free(&ids);
}

/* The vectors of `count` tokens of prefix and text, as the tokenizer frames them, from the
 * `first` on. */
static void embed_tokens(struct model *model, const char *prefix,
                         const char *text, size_t first, size_t count,
                         float *ret)
{
    struct ids ids = framed(model, prefix, text);
    float vector[MAX_WIDTH];
    struct embed_input input = {.ids = ids.items,
                                .count = ids.count,
                                .first = first,
                                .tokens = count,
                                .ret_tokens = ret};
    assert_int_equal(ids.count, first + count + 1); /* and [SEP] */
    assert_int_equal(model_embed(model, &input, 1, NULL, vector, NULL), 0);
    ids_free(&ids);
}

/* Those of the text itself, read behind [CLS] and the prefix; among texts of which no
 * tokens are wanted. */
static void tokens_are_without_prefix(void **state)
{
    (void)state;
    enum { MAX_TOKENS = 32 };
    static const char text[] = "A vacuum frees dead rows.";
    const char *folder = make_encoder();
    struct both b;
    open_both(folder, &b);
    struct embed_ids ids = tokens_of(&b.e.embedder, text);
    struct embed_ids prefix = tokens_of(&b.e.embedder, "passage:");
    assert_in_range(ids.count, 3, MAX_TOKENS);
    float got[MAX_TOKENS * MAX_WIDTH], want[MAX_TOKENS * MAX_WIDTH];
    float vectors[3 * MAX_WIDTH];
    struct embed_text texts[] = {
        {.ids = ids.ids, .count = 2, .soft = EMBED_ALONE},
        {.ids = ids.ids,
         .count = ids.count,
         .soft = EMBED_ALONE,
         .ret_tokens = got},
        {.soft = EMBED_ALONE}};
    assert_int_equal(b.e.embedder.embed(&b.e, texts, 3, vectors, NULL), 0);
    embed_tokens(b.model, "passage: ", text, 1 + prefix.count, ids.count, want);
    check_near(got, want, ids.count * b.facts.width);
    free(ids.ids);
    free(prefix.ids);
    close_both(&b);
    unit_folder_remove(folder);
}

static void encoders_embed_with_their_prefixes(void **state)
{
    (void)state;
    static const char *const texts[] = {"A vacuum frees dead rows.", "",
                                        "query plans", "a"};
    enum { TEXTS = sizeof texts / sizeof texts[0] };
    const char *folder = make_encoder();
    struct both b;
    open_both(folder, &b);
    assert_false(b.facts.recalls);
    struct embed_ids ids[TEXTS] = {{0}}, prefix = {0};
    struct embed_text inputs[TEXTS];
    float got[TEXTS * MAX_WIDTH], want[MAX_WIDTH];
    assert_int_equal(
        b.e.embedder.tokenize(&b.e, slice_of("passage:"), &prefix, NULL), 0);
    assert_int_equal(b.facts.context, 64 - 2 - prefix.count);
    for (size_t i = 0; i < TEXTS; i++) {
        assert_int_equal(
            b.e.embedder.tokenize(&b.e, slice_of(texts[i]), &ids[i], NULL), 0);
        inputs[i] = (struct embed_text){
            .ids = ids[i].ids, .count = ids[i].count, .soft = EMBED_ALONE};
    }
    assert_int_equal(b.e.embedder.embed(&b.e, inputs, TEXTS, got, NULL), 0);
    for (size_t i = 0; i < TEXTS; i++) {
        embed_whole(b.model, "passage: ", texts[i], want);
        check_near(got + i * b.facts.width, want, b.facts.width);
        assert_int_equal(b.e.embedder.question(&b.e, texts[i], got, NULL), 0);
        embed_whole(b.model, "query: ", texts[i], want);
        check_near(got, want, b.facts.width);
    }
    /* more than it takes is cut, not refused */
    int32_t many[200];
    for (size_t i = 0; i < 200; i++)
        many[i] = ids[0].ids[i % ids[0].count];
    float *cut = mem_alloc(200 * b.facts.width * sizeof *cut);
    memset(cut, 1, 200 * b.facts.width * sizeof *cut);
    struct embed_text longer[] = {
        {.ids = many, .count = 200, .soft = EMBED_ALONE, .ret_tokens = cut},
        {.ids = many, .count = b.facts.context, .soft = EMBED_ALONE}};
    assert_int_equal(b.e.embedder.embed(&b.e, longer, 2, got, NULL), 0);
    check_near(got, got + b.facts.width, b.facts.width);
    check_unit(cut + (b.facts.context - 1) * b.facts.width, b.facts.width);
    for (size_t i = b.facts.context * b.facts.width; i < 200 * b.facts.width;
         i++)
        assert_true(cut[i] <= 0 && cut[i] >= 0);
    free(cut);
    struct engine_prompt prompt = {.text = slice_of("hello"), .max = 3};
    struct engine_answer answer = {0};
    struct err err = {0};
    assert_int_equal(engine_generate(b.engine, &prompt, &answer, &err),
                     ERR_MODEL);
    assert_non_null(strstr(err.message, "does not write"));
    for (size_t i = 0; i < TEXTS; i++)
        free(ids[i].ids);
    free(prefix.ids);
    close_both(&b);
    unit_folder_remove(folder);
}

/* Recall is a softmax over scores that the keys give, too. */
static void keys_are_those_of_recall(void **state)
{
    (void)state;
    struct engine *engine = start(MODEL);
    struct model *model = open_model(MODEL);
    enum { MEMORIES = 3 };
    size_t width = model_facts(model)->width, p = model_facts(model)->key_width;
    assert_true(p > 0 && p != width && p <= MAX_WIDTH);
    float memories[MEMORIES * MAX_WIDTH], keys[MEMORIES * MAX_WIDTH];
    float query[MAX_WIDTH], key[MAX_WIDTH], want[MAX_WIDTH];
    for (size_t i = 0; i < MEMORIES * width; i++)
        memories[i] = sinf((float)i * 7) * 4;
    for (size_t i = 0; i < width; i++)
        query[i] = cosf((float)i * 5) * 4;
    assert_int_equal(model_keys(model, memories, MEMORIES, false, keys, NULL),
                     0);
    assert_int_equal(model_keys(model, query, 1, true, key, NULL), 0);
    assert_int_equal(model_recall(model, query, memories, MEMORIES, want, NULL),
                     0);
    double weights[MEMORIES], sum = 0;
    for (size_t m = 0; m < MEMORIES; m++) {
        double score = 0;
        for (size_t i = 0; i < p; i++)
            score += (double)key[i] * (double)keys[m * p + i];
        sum += weights[m] = exp(score / sqrt((double)p));
    }
    for (size_t i = 0; i < width; i++) {
        double value = 0;
        for (size_t m = 0; m < MEMORIES; m++)
            value += weights[m] / sum * (double)memories[m * width + i];
        if (!(fabs(value - (double)want[i]) <= 1e-4))
            fail_msg("%zu: %g is not %g", i, value, (double)want[i]);
    }
    struct engine_embedder e;
    float unit[MEMORIES * MAX_WIDTH];
    engine_embedder(engine, false, NULL, &e);
    assert_int_equal(e.embedder.keys(&e, memories, MEMORIES, unit, NULL), 0);
    for (size_t m = 0; m < MEMORIES; m++) {
        check_unit(unit + m * p, p);
        double ratio = (double)keys[m * p] / (double)unit[m * p];
        for (size_t i = 0; i < p; i++)
            keys[m * p + i] = (float)((double)keys[m * p + i] / ratio);
    }
    check_near(unit, keys, MEMORIES * p);
    assert_int_equal(e.embedder.question(&e, "How are rows freed?", key, NULL),
                     0);
    check_unit(key, p);
    model_close(model);
    stop(engine);
}

/* Without soft tokens: the last token of what the tokenizer makes of it. */
static void plain_models_embed_by_their_last_token(void **state)
{
    (void)state;
    struct both b;
    open_both(PLAIN, &b);
    assert_false(b.facts.recalls);
    assert_int_equal(b.facts.key_width, b.facts.width);
    const char *text = "A vacuum frees dead rows.";
    struct embed_ids plain = tokens_of(&b.e.embedder, text);
    struct ids all = {0};
    assert_int_equal(tokenizer_encode(model_tokenizer(b.model), slice_of(text),
                                      true, &all, NULL),
                     0);
    struct embed_text input = {.ids = plain.ids, .count = plain.count};
    float got[MAX_WIDTH], want[MAX_WIDTH];
    struct embed_input whole = {.ids = all.items, .count = all.count};
    assert_int_equal(b.e.embedder.embed(&b.e, &input, 1, got, NULL), 0);
    assert_int_equal(model_embed(b.model, &whole, 1, NULL, want, NULL), 0);
    check_near(got, want, b.facts.width);
    struct embed_text empty = {.ids = NULL};
    assert_int_equal(b.e.embedder.embed(&b.e, &empty, 1, got, NULL), 0);
    for (size_t i = 0; i < b.facts.width && all.count == plain.count; i++)
        assert_true(got[i] <= 0 && got[i] >= 0);
    free(plain.ids);
    ids_free(&all);
    close_both(&b);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    static const char *const folders[] = {MODEL, PLAIN};
    for (size_t f = 0; f < 2; f++) {
        struct engine *engine = start(folders[f]);
        struct engine_embedder e;
        struct embedder_facts facts;
        engine_embedder(engine, true, NULL, &e);
        assert_int_equal(e.embedder.facts(&e, &facts, NULL), 0);
        size_t count = facts.context + 300;
        int32_t *ids = mem_alloc(count * sizeof *ids);
        for (size_t i = 0; i < count; i++)
            ids[i] = (int32_t)(i % 200 + 1);
        struct embed_text texts[] = {
            {.ids = ids, .count = count, .soft = EMBED_ALONE},
            {.ids = ids, .count = facts.context, .soft = EMBED_ALONE}};
        float out[2 * MAX_WIDTH];
        assert_int_equal(e.embedder.embed(&e, texts, 2, out, NULL), 0);
        check_near(out, out + facts.width, facts.width);
        free(ids);
        stop(engine);
    }
}

/* ---- Order ---- */

struct indexing {
    struct engine *engine;
    atomic_bool cancel, done;
    int code;
};

/* Some seconds of work. */
static void *index_much(void *context)
{
    struct indexing *indexing = context;
    struct engine_embedder e;
    engine_embedder(indexing->engine, true, &indexing->cancel, &e);
    enum { TEXTS = 20000, COUNT = 200 };
    int32_t ids[COUNT];
    for (int i = 0; i < COUNT; i++)
        ids[i] = i + 1;
    struct embed_text *texts = mem_alloc(TEXTS * sizeof *texts);
    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = (struct embed_text){
            .ids = ids, .count = COUNT, .soft = EMBED_ALONE};
    float *out = mem_alloc(TEXTS * MAX_WIDTH * sizeof *out);
    indexing->code = e.embedder.embed(&e, texts, TEXTS, out, NULL);
    free(out);
    free(texts);
    atomic_store(&indexing->done, true);
    return NULL;
}

static void questions_overtake_indexing(void **state)
{
    (void)state;
    struct indexing indexing = {.engine = start(MODEL)};
    pthread_t thread;
    struct engine_embedder e;
    struct embedder_facts facts;
    float key[MAX_WIDTH], want[MAX_WIDTH];
    engine_embedder(indexing.engine, false, NULL, &e);
    assert_int_equal(e.embedder.facts(&e, &facts, NULL), 0);
    assert_int_equal(e.embedder.question(&e, "dead rows", want, NULL), 0);
    pthread_create(&thread, NULL, index_much, &indexing);
    for (int i = 0; i < 20; i++) {
        usleep(2000);
        assert_int_equal(e.embedder.question(&e, "dead rows", key, NULL), 0);
        check_near(key, want, facts.key_width);
    }
    assert_false(atomic_load(&indexing.done));
    atomic_store(&indexing.cancel, true);
    pthread_join(thread, NULL);
    assert_int_equal(indexing.code, ERR_CANCELLED);
    stop(indexing.engine);
}

static void the_end_cancels_all(void **state)
{
    (void)state;
    struct indexing indexing = {.engine = start(MODEL)};
    pthread_t thread;
    pthread_create(&thread, NULL, index_much, &indexing);
    usleep(20000);
    engine_cancel(indexing.engine);
    pthread_join(thread, NULL);
    assert_int_equal(indexing.code, ERR_CANCELLED);
    size_t count;
    struct err err = {0};
    if (engine_count(indexing.engine, slice_of("a"), &count, &err))
        assert_int_equal(err.code, ERR_CANCELLED);
    stop(indexing.engine);
}

/* ---- Answers ---- */

struct pieces {
    struct buf text;
    size_t count, max;
};

static bool take_piece(void *context, struct slice text)
{
    struct pieces *pieces = context;
    buf_put_slice(&pieces->text, text);
    return ++pieces->count < pieces->max;
}

static struct engine_prompt prompt_of(const char *text, struct pieces *pieces)
{
    return (struct engine_prompt){.text = slice_of(text),
                                  .max = 40,
                                  .sampling = {.temperature = 0.9, .seed = 7},
                                  .piece = take_piece,
                                  .context = pieces};
}

static void answers_are_the_sessions(void **state)
{
    (void)state;
    struct engine *engine = start(MODEL);
    struct pieces pieces = {.max = SIZE_MAX}, again = {.max = SIZE_MAX};
    struct engine_prompt prompt = prompt_of("What frees rows?", &pieces);
    struct engine_answer answer = {0}, same = {0};
    assert_int_equal(engine_generate(engine, &prompt, &answer, NULL), 0);
    assert_true(slice_equal(buf_slice(&answer.text), buf_slice(&pieces.text)));
    assert_true(answer.tokens > 0 && answer.tokens <= 40);
    assert_true(answer.ended == (answer.tokens < 40));
    assert_true(answer.mean_log < 0 && isfinite(answer.mean_log));
    assert_true(answer.first_ms > 0 && answer.first_ms <= answer.total_ms);
    prompt.context = &again;
    assert_int_equal(engine_generate(engine, &prompt, &same, NULL), 0);
    assert_true(slice_equal(buf_slice(&answer.text), buf_slice(&same.text)));
    assert_true(same.mean_log == answer.mean_log);
    size_t plain;
    assert_int_equal(engine_count(engine, prompt.text, &plain, NULL), 0);
    /* This tokenizer puts one token before a text, and one behind. */
    assert_int_equal(answer.prompt_tokens, plain + 1);
    buf_free(&answer.text);
    buf_free(&same.text);
    buf_free(&pieces.text);
    buf_free(&again.text);
    stop(engine);
}

static void a_greedy_answer_is_the_likeliest(void **state)
{
    (void)state;
    struct engine *engine = start(MODEL);
    struct model *model = open_model(MODEL);
    struct engine_prompt prompt = prompt_of("A row", NULL);
    struct engine_answer answer = {0};
    prompt.piece = NULL;
    prompt.sampling.temperature = 0;
    prompt.max = 1;
    assert_int_equal(engine_generate(engine, &prompt, &answer, NULL), 0);
    struct ids ids = {0};
    ids_put(&ids,
            tokenizer_find(model_tokenizer(model), slice_of("<|begin|>")));
    assert_int_equal(tokenizer_encode(model_tokenizer(model), prompt.text,
                                      false, &ids, NULL),
                     0);
    struct session *session = NULL;
    assert_int_equal(session_open(model, &session, NULL), 0);
    assert_int_equal(
        session_prefill(session, ids.items, ids.count, NULL, NULL, NULL), 0);
    const float *logits = session_logits(session);
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < model_facts(model)->vocabulary; i++) {
        top = fmax(top, (double)logits[i]);
        sum += exp((double)logits[i]);
    }
    if (!(fabs(answer.mean_log - (top - log(sum))) <= 1e-5))
        fail_msg("%g is not %g", answer.mean_log, top - log(sum));
    session_close(session);
    model_close(model);
    ids_free(&ids);
    buf_free(&answer.text);
    stop(engine);
}

static void answers_end_when_told(void **state)
{
    (void)state;
    struct engine *engine = start(MODEL);
    struct pieces pieces = {.max = 3};
    struct engine_prompt prompt = prompt_of("What frees rows?", &pieces);
    struct engine_answer answer = {0};
    assert_int_equal(engine_generate(engine, &prompt, &answer, NULL), 0);
    assert_int_equal(pieces.count, 3);
    assert_false(answer.ended);
    buf_free(&answer.text);
    buf_free(&pieces.text);
    atomic_bool cancel = true;
    struct err err = {0};
    prompt.cancel = &cancel;
    assert_int_equal(engine_generate(engine, &prompt, &answer, &err),
                     ERR_CANCELLED);
    prompt.cancel = NULL;
    prompt.max = 100000;
    assert_int_equal(engine_generate(engine, &prompt, &answer, &err),
                     ERR_LIMIT);
    assert_non_null(strstr(err.message, "100000"));
    stop(engine);
}

struct asking {
    struct engine *engine;
    pthread_t thread;
    bool started;
    atomic_bool answered;
};

static void *ask_once(void *context)
{
    struct asking *asking = context;
    struct engine_embedder e;
    float key[MAX_WIDTH];
    engine_embedder(asking->engine, false, NULL, &e);
    atomic_store(&asking->answered,
                 !e.embedder.question(&e, "dead rows", key, NULL));
    return NULL;
}

/* Ends the answer as soon as the question has its own. */
static bool ask_meanwhile(void *context, struct slice text)
{
    struct asking *asking = context;
    (void)text;
    if (!asking->started)
        pthread_create(&asking->thread, NULL, ask_once, asking);
    asking->started = true;
    usleep(2000);
    return !atomic_load(&asking->answered);
}

static void questions_are_served_between_tokens(void **state)
{
    (void)state;
    struct asking asking = {.engine = start(MODEL)};
    struct engine_prompt prompt = prompt_of("What frees rows?", NULL);
    struct engine_answer answer = {0};
    prompt.piece = ask_meanwhile;
    prompt.context = &asking;
    prompt.max = 400;
    assert_int_equal(engine_generate(asking.engine, &prompt, &answer, NULL), 0);
    assert_true(atomic_load(&asking.answered));
    pthread_join(asking.thread, NULL);
    assert_true(answer.tokens < 400 && !answer.ended);
    buf_free(&answer.text);
    stop(asking.engine);
}

/* ---- Folders ---- */

static void no_model_is_said_so(void **state)
{
    (void)state;
    struct engine *engine = start("");
    struct err err = {0};
    size_t count;
    assert_false(engine_has_model(engine));
    assert_false(engine_ready(engine, 1000));
    assert_int_equal(engine_context(engine), 0);
    assert_int_equal(engine_count(engine, slice_of("a"), &count, &err),
                     ERR_MODEL);
    assert_non_null(strstr(err.message, "--model"));
    stop(engine);
    assert_true(engine_stop(NULL, 0));
}

/* The first `part` of 16 of a file of the model. */
static void copy(const char *name, size_t part)
{
    struct buf from = {0}, bytes = {0};
    file_join(&from, MODEL, name);
    assert_int_equal(file_read(from.data, 1 << 24, &bytes, NULL), 0);
    struct slice some = {bytes.data, bytes.size * part / 16};
    assert_int_equal(file_write(in_folder(name), some, NULL), 0);
    buf_free(&from);
    buf_free(&bytes);
}

static void check_refused(struct engine *engine, const char *file,
                          const char *part)
{
    struct err err = {0};
    size_t count;
    struct engine_state state_of;
    assert_int_equal(engine_count(engine, slice_of("a"), &count, &err),
                     ERR_MODEL);
    if (!strstr(err.message, in_folder(file)) || !strstr(err.message, part))
        fail_msg("'%s' has not '%s' and '%s'", err.message, in_folder(file),
                 part);
    engine_state(engine, &state_of);
    assert_false(state_of.open);
    assert_int_equal(state_of.err.code, ERR_MODEL);
    assert_string_equal(state_of.err.message, err.message);
    assert_false(engine_ready(engine, 1000));
}

static void broken_folders_are_refused(void **state)
{
    (void)state;
    struct engine *engine = start(in_folder("absent"));
    check_refused(engine, "absent/config.json", "");
    stop(engine);
    copy("config.json", 16);
    copy("model.safetensors", 16);
    engine = start(own_folder);
    check_refused(engine, "tokenizer.json", "there is no");
    stop(engine);
    copy("tokenizer.json", 15);
    engine = start(own_folder);
    check_refused(engine, "tokenizer.json", "");
    stop(engine);
    copy("tokenizer.json", 16);
    copy("model.safetensors", 8);
    engine = start(own_folder);
    check_refused(engine, "model.safetensors", "");
    stop(engine);
}

static void a_mended_model_is_found(void **state)
{
    (void)state;
    struct engine_state state_of;
    size_t count;
    copy("config.json", 16);
    copy("tokenizer.json", 16);
    copy("model.safetensors", 3);
    struct engine *engine = start(own_folder);
    check_refused(engine, "model.safetensors", "");
    engine_state(engine, &state_of);
    assert_false(state_of.changed);
    copy("model.safetensors", 16);
    engine_state(engine, &state_of);
    assert_true(state_of.changed);
    int64_t end = clock_ms() + 30000;
    while (!engine_ready(engine, 100) && clock_ms() < end)
        usleep(100000);
    assert_int_equal(engine_count(engine, slice_of("a"), &count, NULL), 0);
    engine_state(engine, &state_of);
    assert_true(state_of.open && !state_of.changed && !state_of.err.code);
    unlink(in_folder("config.json"));
    engine_state(engine, &state_of);
    assert_true(state_of.open && state_of.changed);
    assert_int_equal(engine_count(engine, slice_of("a"), &count, NULL), 0);
    stop(engine);
}

static struct hash128 fingerprint(struct engine *engine)
{
    struct engine_state state_of;
    engine_state(engine, &state_of);
    assert_true(state_of.open);
    return state_of.facts.fingerprint;
}

/* Its last weight changes. */
static void write_into(const char *name)
{
    FILE *file = fopen(in_folder(name), "r+");
    assert_non_null(file);
    fseek(file, -2, SEEK_END);
    int byte = getc(file);
    fseek(file, -2, SEEK_END);
    putc(byte ^ 1, file);
    fclose(file);
}

static void another_model_takes_its_place(void **state)
{
    (void)state;
    struct engine_state state_of;
    copy("config.json", 16);
    copy("tokenizer.json", 16);
    copy("model.safetensors", 16);
    struct engine *engine = start(own_folder);
    assert_int_equal(engine_reload(engine), 0);
    assert_true(engine_ready(engine, 30000));
    struct hash128 first = fingerprint(engine);
    assert_int_equal(engine_reload(engine) + engine_reload(engine), 0);
    write_into("model.safetensors");
    assert_int_equal(engine_reload(engine), 0); /* it may still change */
    engine_ref(engine);
    assert_int_equal(engine_reload(engine), 0);
    assert_int_equal(engine_reload(engine), 0);
    assert_true(hash_equal(fingerprint(engine), first));
    engine_unref(engine);
    for (int i = 0; i < 300 && !engine_reload(engine); i++)
        usleep(100000);
    assert_int_equal(engine_reload(engine), 1);
    assert_false(hash_equal(fingerprint(engine), first));
    first = fingerprint(engine);
    copy("tokenizer.json", 3);
    assert_int_equal(engine_reload(engine) + engine_reload(engine), 2);
    engine_state(engine, &state_of);
    assert_true(state_of.open && state_of.changed);
    assert_int_equal(state_of.err.code, ERR_MODEL);
    assert_non_null(strstr(state_of.err.message, "tokenizer.json"));
    assert_true(hash_equal(fingerprint(engine), first));
    copy("tokenizer.json", 16);
    write_into("model.safetensors");
    engine_reload(engine);
    assert_int_equal(engine_reload(engine), 2);
    engine_state(engine, &state_of);
    assert_true(!state_of.changed && !state_of.err.code);
    stop(engine);
}

/* Weights that take 100 MiB more, of which nothing is used. */
static void write_large(void)
{
    enum { LARGE = 100 << 20, MAX = 64 };
    struct safetensors *file = NULL;
    struct tensor tensors[MAX + 1];
    size_t count = 0;
    assert_int_equal(safetensors_open(MODEL "/model.safetensors", &file, NULL),
                     0);
    assert_in_range(safetensors_count(file), 1, MAX);
    for (; count < safetensors_count(file); count++)
        tensors[count] = *safetensors_at(file, count);
    void *zeros = mem_alloc(LARGE);
    tensors[count++] = (struct tensor){.name = slice_of("rotary_emb.inv_freq"),
                                       .type = TENSOR_F32,
                                       .rank = 1,
                                       .shape = {LARGE / 4},
                                       .data = zeros,
                                       .bytes = LARGE};
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    free(zeros);
    safetensors_close(file);
}

/* Bytes of address space that the process has. */
static size_t taken(void)
{
    struct buf text = {0};
    assert_int_equal(file_read("/proc/self/statm", 4096, &text, NULL), 0);
    size_t pages = strtoul(text.data, NULL, 10);
    buf_free(&text);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void short_memory_may_pass(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* a sanitizer needs more than it may have */
#endif
    struct engine_state state_of;
    struct rlimit before, some;
    copy("config.json", 16);
    copy("tokenizer.json", 16);
    copy("model.safetensors", 16);
    struct engine *engine = start(own_folder);
    assert_true(engine_ready(engine, 30000));
    struct hash128 first = fingerprint(engine);
    write_large();
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    some = before;
    some.rlim_cur = taken() + ((size_t)70 << 20);
    assert_int_equal(setrlimit(RLIMIT_AS, &some), 0);
    assert_int_equal(engine_reload(engine) + engine_reload(engine), 0);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    engine_state(engine, &state_of);
    if (!strstr(state_of.err.message, "no room"))
        fail_msg("%s", state_of.err.message);
    assert_true(hash_equal(fingerprint(engine), first));
    for (int i = 0; i < 300 && !engine_reload(engine); i++)
        usleep(100000);
    assert_false(hash_equal(fingerprint(engine), first));
    engine_state(engine, &state_of);
    assert_int_equal(state_of.err.code, 0);
    stop(engine);
}

/* Who indexes with the one before learns when nobody else is in the way. */
static void the_last_holder_is_awaited(void **state)
{
    (void)state;
    struct engine *engine = start(MODEL);
    struct err err = {0};
    assert_true(engine_ready(engine, STOP_MS));
    engine_ref(engine); /* an answer */
    engine_ref(engine); /* indexing */
    assert_false(engine_is_awaited(engine));
    assert_int_equal(engine_use(engine, PLAIN, &err), 0);
    engine_swap_pending(engine, 50);
    assert_false(engine_is_awaited(engine));
    engine_unref(engine);
    assert_true(engine_is_awaited(engine));
    engine_unref(engine);
    engine_swap_pending(engine, STOP_MS);
    engine_ref(engine);
    assert_false(engine_is_awaited(engine));
    struct engine_state now;
    engine_state(engine, &now);
    assert_string_equal(now.folder, PLAIN);
    engine_unref(engine);
    stop(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memories_are_those_of_the_model),
        cmocka_unit_test(tokens_are_without_prefix),
        cmocka_unit_test(encoders_embed_with_their_prefixes),
        cmocka_unit_test(keys_are_those_of_recall),
        cmocka_unit_test(plain_models_embed_by_their_last_token),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(questions_overtake_indexing),
        cmocka_unit_test(the_end_cancels_all),
        cmocka_unit_test(answers_are_the_sessions),
        cmocka_unit_test(a_greedy_answer_is_the_likeliest),
        cmocka_unit_test(answers_end_when_told),
        cmocka_unit_test(questions_are_served_between_tokens),
        cmocka_unit_test(no_model_is_said_so),
        cmocka_unit_test_setup_teardown(broken_folders_are_refused, make_folder,
                                        remove_folder),
        cmocka_unit_test(the_last_holder_is_awaited),
        cmocka_unit_test_setup_teardown(another_model_takes_its_place,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(short_memory_may_pass, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_mended_model_is_found, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
