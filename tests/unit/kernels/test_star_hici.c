/* Models with STAR and HiCI attention in sessions, against a plain reading of
 * the papers (tests/experiments/model/make_star_hici.py). */
#include "tests/unit/support/models.h"

#include "daemon/engine/engine.h"
#include "daemon/engine/engine_internal.h"
#include "model/inference/forward.h"

static const char *const star[] = {"star-qwen", "star-olmo"};
static const char *const hici[] = {"hici-qwen", "hici-causal"};
enum { EACH = 2, LONG = 700, STEPS = 32, WIDE_D = 32 };

/* The plain kernels are slow: where a test has both, they do its first model. */

/* One that has read these in one feed. */
static struct session *having_read(struct model *model, const int32_t *ids,
                                   size_t count)
{
    struct session *session = open_session(model);
    feed(session, ids, count);
    return session;
}

static void check_same_logits(const char *what, struct session *got,
                              struct session *want, double bound)
{
    size_t vocabulary = 60;
    check_near(what, session_logits(got), session_logits(want), vocabulary,
               bound);
}

/* ---- Both ---- */

static void logits_are_the_papers(void **state)
{
    (void)state;
    static const size_t decodes[] = {STEPS, 0, 1, 99};
    for (size_t k = 0; k < EACH; k++) {
        check_golden(star[k], decodes, 4);
        check_golden(hici[k], decodes, 1);
    }
}

static void check_threads(const char *kind)
{
    struct session *sessions[2];
    struct model *models[2];
    int32_t ids[LONG];
    char path[128];
    snprintf(path, sizeof path, MODELS "%s", kind);
    for (size_t t = 0; t < 2; t++) {
        models[t] = open_at(path, kernels_cpu(), false, t);
        fill_ids(ids, LONG, model_facts(models[t])->vocabulary, 23);
        sessions[t] = having_read(models[t], ids, 660);
        for (size_t i = 660; i < LONG; i++)
            feed(sessions[t], ids + i, 1);
    }
    assert_memory_equal(session_logits(sessions[0]),
                        session_logits(sessions[1]),
                        model_facts(models[0])->vocabulary *
                            sizeof *session_logits(sessions[0]));
    for (size_t t = 0; t < 2; t++) {
        session_close(sessions[t]);
        model_close(models[t]);
    }
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    for (size_t k = 0; k < EACH; k++) {
        check_threads(star[k]);
        check_threads(hici[k]);
    }
}

static void such_models_neither_embed_nor_are_exact(void **state)
{
    (void)state;
    const char *const kinds_of[] = {star[0], hici[0]};
    int32_t ids[] = {1, 2};
    struct embed_input input = {.ids = ids, .count = 2};
    float out[WIDE_D];
    for (size_t k = 0; k < 2; k++) {
        char path[128];
        struct session *session = NULL;
        struct session_exact exact = {0};
        snprintf(path, sizeof path, MODELS "%s", kinds_of[k]);
        struct model *model = open_at(path, kernels_cpu(), true, true);
        assert_int_equal(model_embed(model, &input, 1, NULL, out, NULL),
                         ERR_USAGE);
        assert_false(model_facts(model)->exact);
        assert_int_equal(session_open_exact(model, &exact, &session, NULL),
                         ERR_USAGE);
        session = open_session(model);
        assert_string_equal(session_attention(session), k ? "hici" : "star");
        assert_int_equal(model_facts(model)->whole, k);
        session_close(session);
        model_close(model);
    }
}

/* ---- STAR ---- */

/* The same weights with chunks of `slots` slots, in the test's own folder. */
static void save_with_chunk(const char *kind, size_t slots)
{
    char script[64];
    snprintf(script, sizeof script, "s/\"chunk\": [0-9]*/\"chunk\": %zu/",
             slots);
    save_edited(kind, script);
}

static void a_step_over_chunks_reads_as_a_pass(void **state)
{
    (void)state;
    static const size_t slots[] = {2, 9, 64, 65, 100};
    int32_t ids[LONG];
    fill_ids(ids, LONG, 60, 23);
    for (size_t k = 0; k < EACH; k++)
        for (size_t b = k > 0; b < BACKENDS; b++)
            for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
                save_with_chunk(star[k], slots[i]);
                struct model *model =
                    open_at(own_folder, backend(b), false, true);
                for (size_t n = 6; n <= 130; n += n == 17   ? 45
                                                  : n == 66 ? 60
                                                            : 1)
                    check_boundary(star[k], model, open_session(model),
                                   open_session(model), ids, n);
                model_close(model);
            }
}

/* Positions are those of slots: a full context has no summary token too many. */
static void summary_tokens_take_positions(void **state)
{
    (void)state;
    static const size_t tokens[][2] = {{2, 1024},    {3, 1365},   {9, 1821},
                                       {64, 2016},   {65, 2017},  {2048, 2047},
                                       {2049, 2047}, {5000, 2048}};
    int32_t *ids = mem_alloc(2048 * sizeof *ids);
    fill_ids(ids, 2048, 60, 23);
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        save_with_chunk(star[0], tokens[i][0]);
        struct model *model = open_at(own_folder, kernels_cpu(), false, true);
        size_t max = model_facts(model)->context;
        size_t every = tokens[i][0] - 1;
        assert_int_equal(max, tokens[i][1]);
        assert_true(max + max / every <= 2048);
        assert_true(max + 1 + (max + 1) / every > 2048);
        model_close(model);
    }
    struct model *model = open_at(own_folder, kernels_cpu(), false, true);
    struct session *session = having_read(model, ids, 2000);
    assert_int_equal(session_prefill(session, ids, 49, NULL, NULL, NULL),
                     ERR_LIMIT);
    session_close(session);
    model_close(model);
    free(ids);
}

static void sessions_fork_truncate_and_step_together(void **state)
{
    (void)state;
    int32_t ids[LONG];
    fill_ids(ids, LONG, 60, 23);
    for (size_t k = 0; k < EACH; k++) {
        struct model *model = open_kind(star[k], kernels_cpu());
        for (size_t at = 50; at < 68; at++) {
            struct session *whole = having_read(model, ids, 90), *fork = NULL;
            struct session *alone = having_read(model, ids, at);
            assert_int_equal(session_fork(whole, at, &fork, NULL), 0);
            for (size_t i = 0; i < 20; i++) {
                struct session *both[] = {whole, fork};
                int32_t next[] = {ids[90 + i], ids[200 + i]};
                assert_int_equal(
                    session_decode_batch(both, next, 2, NULL, NULL), 0);
                feed(alone, next + 1, 1);
                check_same_logits("fork", fork, alone, 1e-5);
            }
            struct session *further = having_read(model, ids, 110);
            check_same_logits("not the fork", whole, further, 1e-5);
            session_rewind(whole, at);
            for (size_t i = 0; i < 20; i++)
                feed(whole, ids + 200 + i, 1);
            check_same_logits("truncated", whole, alone, 1e-5);
            session_close(whole);
            session_close(further);
            session_close(fork);
            session_close(alone);
        }
        model_close(model);
    }
}

/* ---- HiCI ---- */

/* Whether the first token's logits change when the last token does. */
static bool sees_the_end(struct model *model, size_t count)
{
    int32_t ids[LONG];
    float *one = mem_alloc(2 * LONG * 60 * sizeof *one), *two = one + LONG * 60;
    fill_ids(ids, LONG, 60, 23);
    for (int other = 0; other < 2; other++) {
        struct session *session = open_session(model);
        ids[count - 1] = other;
        assert_int_equal(
            session_prefill(session, ids, count, NULL, other ? two : one, NULL),
            0);
        session_close(session);
    }
    bool same = !memcmp(one, two, (count - 1) * 60 * sizeof *one);
    bool first = !memcmp(one, two, 60 * sizeof *one);
    assert_true(same == first);
    assert_memory_not_equal(one + (count - 1) * 60, two + (count - 1) * 60,
                            60 * sizeof *one);
    free(one);
    return !same;
}

static void published_tokens_see_later_ones(void **state)
{
    (void)state;
    for (size_t k = 0; k < EACH; k++) {
        struct model *model = open_kind(hici[k], kernels_cpu());
        assert_int_equal(sees_the_end(model, 61), k == 0);
        assert_int_equal(sees_the_end(model, 610), k == 0);
        model_close(model);
    }
}

/* What is left of a text, when its end is forgotten, is the text; what was read
 * after it can be forgotten without that. */
static void a_text_cut_short_is_read_as_such(void **state)
{
    (void)state;
    int32_t ids[LONG];
    fill_ids(ids, LONG, 60, 23);
    for (size_t k = 0; k < EACH; k++)
        for (size_t at = 10; at < 80; at += 7) {
            struct model *model = open_kind(hici[k], kernels_cpu());
            size_t text = at < 60 ? at : 60;
            struct session *whole = having_read(model, ids, 60), *fork = NULL;
            struct session *alone = having_read(model, ids, text);
            for (size_t i = text; i < at; i++)
                feed(alone, ids + i, 1);
            feed(whole, ids + 60, 25);
            assert_int_equal(session_fork(whole, at, &fork, NULL), 0);
            session_rewind(whole, at);
            for (size_t i = 0; i < 10; i++) {
                struct session *two[] = {whole, fork};
                int32_t next[] = {ids[100 + i], ids[100 + i]};
                assert_int_equal(session_decode_batch(two, next, 2, NULL, NULL),
                                 0);
                feed(alone, next, 1);
                check_same_logits("truncated", whole, alone, 1e-5);
                check_same_logits("fork", fork, alone, 1e-5);
            }
            session_close(whole);
            session_close(fork);
            session_close(alone);
            model_close(model);
        }
}

static bool at_once(void *context)
{
    (void)context;
    return true;
}

/* A text that was cancelled is none: the next one is. */
static void a_cancelled_text_leaves_no_trace(void **state)
{
    (void)state;
    struct cancel cancel = {at_once, NULL};
    int32_t ids[LONG];
    fill_ids(ids, LONG, 60, 23);
    for (size_t k = 0; k < EACH; k++) {
        struct model *model = open_kind(hici[k], kernels_cpu());
        struct session *a = open_session(model);
        struct session *b = having_read(model, ids, 50);
        assert_int_equal(session_prefill(a, ids, 70, &cancel, NULL, NULL),
                         ERR_CANCELLED);
        feed(a, ids, 50);
        assert_memory_equal(session_logits(a), session_logits(b),
                            60 * sizeof *session_logits(a));
        assert_int_equal(session_decode_batch(&a, ids, 1, &cancel, NULL),
                         ERR_CANCELLED);
        feed(a, ids + 50, 1);
        feed(b, ids + 50, 1);
        assert_memory_equal(session_logits(a), session_logits(b),
                            60 * sizeof *session_logits(a));
        session_close(a);
        session_close(b);
        model_close(model);
    }
}

/* ---- In the daemon ---- */

/* The model `memory` with HiCI's tensors of random values, in the test's own
 * folder. */
/* A text that would take more than a GiB to work in is refused. */
static void a_text_too_long_for_memory_is_refused(void **state)
{
    (void)state;
    struct model *model = open_kind("hici-qwen", kernels_cpu());
    struct session *session = open_session(model);
    struct err err = {0};
    int32_t ids[9];
    fill_ids(ids, 9, 60, 1);
    size_t inner = model->config.inner;
    model->config.inner = (size_t)15 << 20; /* 120 MiB and a little a token */
    assert_int_equal(session_prefill(session, ids, 9, NULL, NULL, &err),
                     ERR_LIMIT);
    assert_non_null(strstr(err.message, "9 tokens are more than the 8 that"));
    assert_int_equal(session_length(session), 0);
    model->config.inner = SIZE_MAX / 2;
    assert_int_equal(session_prefill(session, ids, 9, NULL, NULL, &err),
                     ERR_LIMIT);
    model->config.inner = inner;
    assert_int_equal(session_prefill(session, ids, 9, NULL, NULL, &err), 0);
    session_close(session);
    model_close(model);
}

static void save_hici_memory(void)
{
    enum { WIDTH = 44, SLOTS = 3, A = 8, S = 6, B = 12, PARTS = 18, MAX = 80 };
    static const struct {
        const char *name;
        int rank;
        size_t rows, columns;
    } parts[PARTS] = {
        {"local_constructor.memory_slots", 2, SLOTS, WIDTH},
        {"local_constructor.q_proj.weight", 2, A, WIDTH},
        {"local_constructor.k_proj.weight", 2, A, WIDTH},
        {"local_constructor.v_proj.weight", 2, A, WIDTH},
        {"local_constructor.o_proj.weight", 2, WIDTH, A},
        {"global_integrator.shared_compressor.0.weight", 2, S, WIDTH},
        {"global_integrator.shared_compressor.1.weight", 1, S, 1},
        {"global_integrator.shared_compressor.1.bias", 1, S, 1},
        {"global_integrator.stat_expand.0.weight", 2, B, S},
        {"global_integrator.stat_expand.1.weight", 1, B, 1},
        {"global_integrator.stat_expand.1.bias", 1, B, 1},
        {"global_integrator.global_queries", 2, 2, B},
        {"global_integrator.q_proj.weight", 2, B, B},
        {"global_integrator.k_proj.weight", 2, B, B},
        {"global_integrator.v_proj.weight", 2, B, B},
        {"global_integrator.o_proj.weight", 2, B, B},
        {"global_integrator.expand.weight", 2, WIDTH, B},
        {"global_integrator.expand_scale_param", 0, 1, 1}};
    static float values[B * WIDTH];
    static char names[2 * PARTS][96];
    struct tensor tensors[MAX];
    struct safetensors *file = NULL;
    size_t count = 0;
    uint64_t seed = 3;
    for (size_t i = 0; i < B * WIDTH; i++)
        values[i] = (float)unit_below(&seed, 2001) / 1000.0F - 1.0F;
    assert_int_equal(
        safetensors_open(MODELS "memory/model.safetensors", &file, NULL), 0);
    for (; count < safetensors_count(file); count++)
        tensors[count] = *safetensors_at(file, count);
    for (size_t i = 0; i < 2 * PARTS; i++) {
        size_t p = i % PARTS;
        assert_true(count < MAX);
        snprintf(names[i], sizeof names[i], "layers.%zu.self_attn.%s",
                 i / PARTS, parts[p].name);
        tensors[count++] = (struct tensor){
            .name = slice_of(names[i]),
            .type = TENSOR_F32,
            .rank = parts[p].rank,
            .shape = {parts[p].rows, parts[p].columns},
            .data = values,
            .bytes = parts[p].rows * parts[p].columns * sizeof *values};
    }
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    safetensors_close(file);
    char command[800];
    snprintf(command, sizeof command,
             "sed 's/\"model_type\"/\"lectern_attention\": {\"kind\": "
             "\"hici\", \"segment\": 40, \"heads\": 2},&/' " MODELS
             "memory/config.json > '%s/config.json'",
             own_folder);
    assert_int_equal(system(command), 0);
}

/* The likeliest tokens after a text that is fed at once, as text. */
static size_t write_alone(struct slice text, size_t max, struct buf *ret)
{
    struct model *model = NULL;
    struct ids ids = {0};
    struct tokenizer_stream stream = {0};
    size_t count = 0;
    assert_int_equal(try_open(own_folder, kernels_cpu(), &model, NULL), 0);
    const struct tokenizer *tokenizer = model_tokenizer(model);
    struct engine_wrapping wrapping = {0};
    assert_int_equal(engine_wrapping(tokenizer, NULL, &wrapping, NULL), 0);
    for (size_t i = 0; i < wrapping.before; i++)
        ids_put(&ids, wrapping.ids.items[i]);
    engine_wrapping_free(&wrapping);
    assert_int_equal(tokenizer_encode(tokenizer, text, false, &ids, NULL), 0);
    size_t read = ids.count;
    struct session *session = having_read(model, ids.items, read);
    for (; count < max; count++) {
        double logprob;
        int32_t id;
        assert_int_equal(session_choose(session, &id, &logprob, NULL), 0);
        if (model_is_eos(model, id))
            break;
        tokenizer_stream_put(tokenizer, &stream, id, ret);
        feed(session, &id, 1);
    }
    tokenizer_stream_end(&stream, ret);
    ids_free(&ids);
    session_close(session);
    model_close(model);
    return read;
}

/* A prompt of several pieces is one text, and nothing of it is kept. */
static void the_daemon_reads_a_text_at_once(void **state)
{
    (void)state;
    static char text[] = "Rows that are dead are freed by vacuum. Who sees a "
                         "row that is dead, and when is it freed? A table has "
                         "rows and columns; each row has a version, and old "
                         "versions stay until nobody can see them any more. "
                         "What does vacuum do to the versions of rows that "
                         "nobody can see? It frees them, one page at a time.";
    struct engine_options options = {.folder = own_folder};
    struct engine *engine = NULL;
    struct buf want = {0};
    save_hici_memory();
    assert_true(write_alone(slice_of(text), 20, &want) > 140);
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    assert_true(engine_ready(engine, 20000));
    for (int again = 0; again < 2; again++) {
        struct engine_prompt prompt = {.text = slice_of(text), .max = 20};
        struct engine_answer answer = {.tokens = 0};
        assert_int_equal(engine_generate(engine, &prompt, &answer, NULL), 0);
        assert_string_equal(answer.attention, "hici");
        assert_int_equal(answer.reused_tokens, 0);
        assert_true(slice_equal(buf_slice(&answer.text), buf_slice(&want)));
        buf_free(&answer.text);
    }
    assert_true(engine_stop(engine, clock_ms() + 20000));
    buf_free(&want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_the_papers),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(such_models_neither_embed_nor_are_exact),
        cmocka_unit_test_setup_teardown(a_step_over_chunks_reads_as_a_pass,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(summary_tokens_take_positions,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(sessions_fork_truncate_and_step_together),
        cmocka_unit_test(published_tokens_see_later_ones),
        cmocka_unit_test(a_text_cut_short_is_read_as_such),
        cmocka_unit_test(a_cancelled_text_leaves_no_trace),
        cmocka_unit_test(a_text_too_long_for_memory_is_refused),
        cmocka_unit_test_setup_teardown(the_daemon_reads_a_text_at_once,
                                        make_model_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
