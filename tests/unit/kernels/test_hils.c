/* HiLS attention in sessions: models made for it against a plain reading of the
 * paper (tests/experiments/model/make_hils.py), and `exact` with any other. */
#include "tests/unit/support/models.h"

static const char *const made[] = {"hils-olmo", "hils-qwen", "hils-shared"};
enum { MADE = sizeof made / sizeof made[0], LONG = 300 };

/* The plain kernels are slow: where a test has both, they do its first model. */

static struct model *open_exact_kind(const char *kind, size_t b)
{
    char path[128];
    snprintf(path, sizeof path, MODELS "%s", kind);
    return open_at(path, backend(b), true, true);
}

static struct session *open_exact(struct model *model, size_t top_k,
                                  size_t window)
{
    struct session_exact exact = {.top_k = top_k, .window = window};
    struct session *session = NULL;
    assert_int_equal(session_open_exact(model, &exact, &session, NULL), 0);
    assert_string_equal(session_attention(session), "exact");
    return session;
}

/* ---- Models made for it ---- */

static void logits_are_the_papers(void **state)
{
    (void)state;
    static const size_t decodes[] = {0, 1, 37, 99};
    for (size_t k = 0; k < MADE; k++) {
        struct model *model = open_kind(made[k], kernels_cpu());
        struct session *session = open_session(model);
        assert_string_equal(session_attention(session), "hils");
        session_close(session);
        model_close(model);
        check_golden(made[k], decodes, sizeof decodes / sizeof decodes[0]);
    }
}

/* The same weights with chunks of `chunk` slots, in the test's own folder. */
static void save_with_chunk(const char *kind, size_t chunk)
{
    char script[64];
    snprintf(script, sizeof script, "s/\"chunk_size\": 8/\"chunk_size\": %zu/",
             chunk);
    save_edited(kind, script);
}

static void a_step_over_landmarks_reads_as_a_pass(void **state)
{
    (void)state;
    int32_t ids[LONG];
    for (size_t k = 0; k < MADE; k++)
        for (size_t b = k > 0; b < BACKENDS; b++)
            for (size_t chunk = 8; chunk <= 64; chunk *= 8) {
                save_with_chunk(made[k], chunk);
                struct model *model =
                    open_at(own_folder, backend(b), false, true);
                fill_ids(ids, LONG, model_facts(model)->vocabulary, 17);
                for (size_t n = 5; n <= 131; n += n == 16   ? 46
                                                  : n == 67 ? 57
                                                            : 1)
                    check_boundary(made[k], model, open_session(model),
                                   open_session(model), ids, n);
                model_close(model);
            }
}

static void sessions_of_such_models_fork_and_step(void **state)
{
    (void)state;
    int32_t ids[LONG];
    for (size_t k = 0; k < MADE; k++) {
        struct model *model = open_kind(made[k], kernels_cpu());
        size_t vocabulary = model_facts(model)->vocabulary;
        fill_ids(ids, LONG, vocabulary, 17);
        for (size_t at = 20; at < 31; at++) {
            struct session *whole = open_session(model), *fork = NULL;
            struct session *alone = open_session(model);
            feed(whole, ids, 45);
            assert_int_equal(session_fork(whole, at, &fork, NULL), 0);
            feed(alone, ids, at);
            for (size_t i = 0; i < 20; i++) {
                struct session *both[] = {whole, fork};
                int32_t next[] = {ids[45 + i], ids[100 + i]};
                assert_int_equal(
                    session_decode_batch(both, next, 2, NULL, NULL), 0);
                feed(alone, next + 1, 1);
                check_near("fork", session_logits(fork), session_logits(alone),
                           vocabulary, 1e-5);
            }
            session_rewind(whole, at);
            for (size_t i = 0; i < 20; i++)
                feed(whole, ids + 100 + i, 1);
            check_near("truncated", session_logits(whole),
                       session_logits(alone), vocabulary, 1e-5);
            session_close(whole);
            session_close(fork);
            session_close(alone);
        }
        model_close(model);
    }
}

/* What a model says that a token takes is what a session takes for it. */
static void tokens_take_what_is_said(void **state)
{
    (void)state;
    for (size_t k = 0; k < MADE; k++) {
        struct model *model = open_kind(made[k], kernels_cpu());
        const struct model_facts *facts = model_facts(model);
        struct session *session = open_session(model);
        int32_t ids[LONG];
        assert_int_equal(facts->chunk, 8);
        fill_ids(ids, 70, facts->vocabulary, 3);
        feed(session, ids, 70); /* ten chunks of seven */
        assert_int_equal(session_bytes(session) % 10, 0);
        assert_in_range(facts->token_bytes * 70, session_bytes(session),
                        session_bytes(session) + 69);
        session_close(session);
        model_close(model);
    }
}

static void such_models_are_not_exact(void **state)
{
    (void)state;
    struct model *model = open_kind("hils-olmo", kernels_cpu());
    struct session *session = NULL;
    struct session_exact exact = {0};
    assert_int_equal(session_open_exact(model, &exact, &session, NULL),
                     ERR_USAGE);
    model_close(model);
    model = open_kind("tied", kernels_cpu());
    assert_int_equal(session_open_exact(model, &exact, &session, NULL),
                     ERR_USAGE);
    assert_null(session);
    model_close(model);
}

/* The model with a head apart, the embedding's rows with the other sign: one for
 * each id, or as many as the embedding has, of which the last are no ids'. */
static void save_with_head(const char *kind, size_t rows, size_t ids)
{
    struct safetensors *file = open_beside(kind, "model");
    float *head = golden(file, "model.embed_tokens.weight");
    struct tensor tensors[64];
    size_t count = safetensors_count(file);
    assert_true(count < 64);
    for (size_t i = 0; i < count; i++)
        tensors[i] = *safetensors_at(file, i);
    struct tensor *last = &tensors[count++];
    *last = *safetensors_find(file, "model.embed_tokens.weight");
    size_t width = last->shape[1];
    for (size_t i = 0; i < rows * width; i++)
        head[i] = i < ids * width ? -head[i] : NAN;
    last->name = slice_of("lm_head.weight");
    last->shape[0] = rows;
    last->data = head;
    last->bytes = rows * width * sizeof *head;
    save_with(kind, "\"tie_word_embeddings\": false");
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    free(head);
    safetensors_close(file);
}

static void a_head_may_lie_apart(void **state)
{
    (void)state;
    enum { IDS = 60, PADDED = 64, COUNT = 50, STEPS = 20 };
    int32_t ids[COUNT];
    float tied[COUNT * IDS], apart[COUNT * IDS];
    for (size_t b = 0; b < BACKENDS; b++)
        for (size_t rows = IDS; rows <= PADDED; rows += PADDED - IDS) {
            struct model *model = open_kind("hils-qwen", backend(b));
            assert_int_equal(model_facts(model)->vocabulary, IDS);
            fill_ids(ids, COUNT, IDS, 17);
            session_close(read_all(model, ids, COUNT, STEPS, tied));
            model_close(model);
            save_with_head("hils-qwen", rows, IDS);
            model = open_at(own_folder, backend(b), false, true);
            session_close(read_all(model, ids, COUNT, STEPS, apart));
            model_close(model);
            for (size_t i = 0; i < COUNT * IDS; i++)
                apart[i] = -apart[i];
            check_near("a head apart", apart, tied, COUNT * IDS, 1e-6);
        }
    save_with_head("hils-qwen", IDS + 1, IDS);
    unlink(in_folder("tokenizer.json"));
    REFUSED(ERR_FORMAT, "misshapen lm_head.weight [61, 32] (not [60, 32])");
}

/* ---- `exact` with any other ---- */

static void all_chunks_are_full_attention(void **state)
{
    (void)state;
    int32_t ids[LONG];
    for (size_t k = 0; k < DECODERS; k++)
        for (size_t b = k > 0; b < BACKENDS; b++) {
            struct model *model = open_exact_kind(decoders[k], b);
            if (!strcmp(decoders[k], "mistral")) { /* every layer a window */
                struct session *none = NULL;
                struct session_exact exact = {0};
                assert_int_equal(session_open_exact(model, &exact, &none, NULL),
                                 ERR_USAGE);
                model_close(model);
                continue;
            }
            size_t vocabulary = model_facts(model)->vocabulary;
            fill_ids(ids, LONG, vocabulary, 17);
            struct session *exact = open_exact(model, 99, 30);
            struct session *few = open_exact(model, 1, 30);
            struct session *full = open_session(model);
            feed(exact, ids, 290);
            feed(few, ids, 290);
            feed(full, ids, 290);
            for (size_t i = 290; i < LONG; i++) {
                check_near(decoders[k], session_logits(exact),
                           session_logits(full), vocabulary, 1e-5);
                feed(exact, ids + i, 1);
                feed(full, ids + i, 1);
            }
            assert_memory_not_equal(session_logits(few), session_logits(full),
                                    vocabulary * sizeof *session_logits(few));
            session_close(exact);
            session_close(few);
            session_close(full);
            model_close(model);
        }
}

static void a_step_reads_as_a_pass(void **state)
{
    (void)state;
    static const char *const some[] = {"untied", "llama3", "olmo3", "qwen2"};
    int32_t ids[LONG];
    for (size_t k = 0; k < sizeof some / sizeof some[0]; k++)
        for (size_t b = k > 0; b < BACKENDS; b++) {
            struct model *model = open_exact_kind(some[k], b);
            fill_ids(ids, LONG, model_facts(model)->vocabulary, 17);
            for (size_t n = 62; n <= 194; n += n % 64 == 2 ? 60 : 1)
                check_boundary(some[k], model, open_exact(model, 1, 20),
                               open_exact(model, 1, 20), ids, n);
            model_close(model);
        }
}

/* Also within a chunk. */
static void what_is_forgotten_leaves_no_trace(void **state)
{
    (void)state;
    int32_t ids[LONG];
    struct model *model = open_exact_kind("untied", 1);
    size_t vocabulary = model_facts(model)->vocabulary;
    fill_ids(ids, LONG, vocabulary, 17);
    for (size_t at = 120; at < 136; at += 3) {
        struct session *a = open_exact(model, 1, 20), *fork = NULL;
        struct session *alone = open_exact(model, 1, 20);
        feed(a, ids, 210);
        assert_int_equal(session_fork(a, at, &fork, NULL), 0);
        assert_string_equal(session_attention(fork), "exact");
        session_rewind(a, at);
        assert_int_equal(session_length(a), at);
        feed(alone, ids, at);
        for (size_t i = 0; i < 80; i++) {
            struct session *two[] = {a, fork};
            int32_t next[] = {ids[210 + i], ids[210 + i]};
            assert_int_equal(session_decode_batch(two, next, 2, NULL, NULL), 0);
            feed(alone, next, 1);
        }
        check_near("truncated", session_logits(a), session_logits(alone),
                   vocabulary, 1e-5);
        check_near("fork", session_logits(fork), session_logits(alone),
                   vocabulary, 1e-5);
        session_close(a);
        session_close(fork);
        session_close(alone);
    }
    model_close(model);
}

static bool after_some(void *context)
{
    int *left = context;
    return --*left < 0;
}

/* A pass that is cancelled between layers leaves no trace. */
static void cancelled_passes_leave_no_trace(void **state)
{
    (void)state;
    int32_t ids[LONG];
    struct model *model = open_exact_kind("untied", 1);
    size_t vocabulary = model_facts(model)->vocabulary;
    fill_ids(ids, LONG, vocabulary, 17);
    struct session *a = open_exact(model, 1, 20);
    struct session *b = open_exact(model, 1, 20);
    feed(a, ids, 150);
    feed(b, ids, 150);
    for (size_t i = 150; i < 250; i += 10) {
        int left = 1;
        struct cancel cancel = {after_some, &left};
        assert_int_equal(session_decode_batch(&a, ids + i, 1, &cancel, NULL),
                         ERR_CANCELLED);
        left = 1;
        assert_int_equal(session_prefill(a, ids + i, 10, &cancel, NULL, NULL),
                         ERR_CANCELLED);
        assert_int_equal(session_length(a), i);
        feed(a, ids + i, 10);
        feed(b, ids + i, 10);
        check_near("cancelled", session_logits(a), session_logits(b),
                   vocabulary, 1e-5);
    }
    session_close(a);
    session_close(b);
    model_close(model);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    int32_t ids[LONG];
    static const char *const folders[] = {MODELS "untied", MODELS "hils-olmo"};
    for (size_t f = 0; f < 2; f++) {
        struct model *models[2];
        struct session *sessions[2];
        for (size_t t = 0; t < 2; t++) {
            models[t] = open_at(folders[f], kernels_cpu(), !f, t);
            sessions[t] =
                f ? open_session(models[t]) : open_exact(models[t], 1, 20);
            fill_ids(ids, LONG, model_facts(models[t])->vocabulary, 17);
            feed(sessions[t], ids, 280);
            for (size_t i = 280; i < LONG; i++)
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
}

/* Passes of thousands of tokens, in several tiles, read as shorter ones, and with
 * the same bits for any number of threads. */
static void long_passes_read_as_short_ones(void **state)
{
    (void)state;
    enum { MANY = 4500, SHORT = 700 };
    int32_t *ids = mem_alloc(MANY * sizeof *ids);
    char command[700];
    snprintf(command, sizeof command,
             "cp " MODELS "untied/model*.safetensors* '%s' && sed -E "
             "'s/(\"max_position_embeddings\": *)[0-9]+/\\18192/' " MODELS
             "untied/config.json >'%s/config.json'",
             own_folder, own_folder);
    assert_int_equal(system(command), 0);
    struct model *alone = open_at(own_folder, kernels_cpu(), true, false);
    struct model *shared = open_at(own_folder, kernels_cpu(), true, true);
    size_t vocabulary = model_facts(alone)->vocabulary;
    fill_ids(ids, MANY, vocabulary, 17);
    struct session *whole = open_exact(alone, 8, 100);
    struct session *threads = open_exact(shared, 8, 100);
    struct session *pieces = open_exact(alone, 8, 100);
    feed(whole, ids, MANY);
    feed(threads, ids, MANY);
    for (size_t at = 0; at < MANY; at += SHORT)
        feed(pieces, ids + at, MANY - at < SHORT ? MANY - at : SHORT);
    check_near("long", session_logits(whole), session_logits(pieces),
               vocabulary, 1e-5);
    assert_memory_equal(session_logits(whole), session_logits(threads),
                        vocabulary * sizeof *session_logits(whole));
    session_close(whole);
    session_close(threads);
    session_close(pieces);
    model_close(alone);
    model_close(shared);
    free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_are_the_papers),
        cmocka_unit_test_setup_teardown(a_step_over_landmarks_reads_as_a_pass,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(sessions_of_such_models_fork_and_step),
        cmocka_unit_test(tokens_take_what_is_said),
        cmocka_unit_test(such_models_are_not_exact),
        cmocka_unit_test_setup_teardown(a_head_may_lie_apart, make_model_folder,
                                        remove_folder),
        cmocka_unit_test(all_chunks_are_full_attention),
        cmocka_unit_test(a_step_reads_as_a_pass),
        cmocka_unit_test(what_is_forgotten_leaves_no_trace),
        cmocka_unit_test(cancelled_passes_leave_no_trace),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test_setup_teardown(long_passes_read_as_short_ones,
                                        make_model_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
