/* What the model runs on, chosen and lost: by the emulated device, which fails
 * when it is told to. */
#include "tests/unit/support/models.h"

#include "daemon/engine/engine.h"
#include "tests/cuda/emulated.h"

#define MODEL MODELS "memory"
enum { STOP_MS = 60000, PLENTY = 1 << 30, TOKENS = 12 };

/* Its threads are asked one after the other: the emulation knows one at a time. */
static struct engine *start(const struct kernels *(*find)(const char **),
                            bool only)
{
    struct engine_options options = {.folder = MODEL,
                                     .device_name = only ? "cuda" : "auto",
                                     .find_device = find,
                                     .device_only = only};
    struct engine *engine = NULL;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    return engine;
}

static void stop(struct engine *engine)
{
    assert_true(engine_stop(engine, clock_ms() + STOP_MS));
}

static struct engine_state state_of(struct engine *engine)
{
    struct engine_state state;
    engine_ready(engine, STOP_MS);
    engine_state(engine, &state);
    return state;
}

/* What the model says; *ret_code: why it does not. */
static struct buf ask(struct engine *engine, int *ret_code, struct err *err)
{
    struct engine_prompt prompt = {.text = slice_of("A vacuum frees"),
                                   .max = TOKENS};
    struct engine_answer answer = {.text = {0}};
    *ret_code = engine_generate(engine, &prompt, &answer, err);
    return answer.text;
}

static void check_answers(struct engine *engine)
{
    struct engine *other = start(NULL, false);
    struct err err = {0};
    int code;
    struct buf want = ask(other, &code, &err);
    assert_int_equal(code, 0);
    struct buf got = ask(engine, &code, &err);
    if (code)
        fail_msg("%s", err.message);
    assert_string_equal(got.data, want.data);
    buf_free(&want);
    buf_free(&got);
    stop(other);
}

static bool emulated(void)
{
    const char *reason = NULL;
    if (kernels_emulated(&reason))
        return true;
    printf("SKIP cuda emulated: %s\n", reason);
    return false;
}

static void a_device_is_taken(void **state)
{
    (void)state;
    if (!emulated())
        return;
    struct engine *engine = start(kernels_emulated, false);
    check_answers(engine);
    struct engine_state s = state_of(engine);
    assert_string_equal(s.facts.backend, "cuda");
    assert_string_equal(s.device_name, "auto");
    assert_string_equal(s.device_note, "");
    assert_true(s.device_there && !s.device_failed);
    assert_string_equal(s.device.name, "an emulated device");
    assert_int_equal(s.device.major, 9);
    assert_true(s.device.free == PLENTY && s.device.total == PLENTY);
    stop(engine);
}

/* Without cuBLASLt the device does all, and its state says what it does without. */
static void a_missing_library_is_said(void **state)
{
    (void)state;
    if (!emulated())
        return;
    for (int missing = 1; missing >= 0; missing--) {
        emulated_without_blas(missing);
        struct engine *engine = start(kernels_emulated, true);
        check_answers(engine);
        struct engine_state s = state_of(engine);
        assert_string_equal(s.facts.backend, "cuda");
        if (missing)
            assert_string_equal(s.device.lacks,
                                "libcublasLt.so.13 is not found");
        else
            assert_null(s.device.lacks);
        stop(engine);
    }
}

/* Texts that the thread of indexing embeds go to the device's second stream, what else is
 * asked to the first; the vectors are the same. */
static void indexing_has_its_stream(void **state)
{
    (void)state;
    enum { ANSWERS = 1, BACKGROUND, MAX_WIDTH = 128 };
    const int32_t ids[] = {5, 9, 30, 2, 7};
    const struct embed_text text = {.ids = ids, .count = 5};
    float vectors[2][MAX_WIDTH];
    struct engine_embedder e;
    struct embedder_facts facts;
    if (!emulated())
        return;
    struct engine *engine = start(kernels_emulated, true);
    engine_ref(engine);
    for (int indexing = 0; indexing < 2; indexing++) {
        engine_embedder(engine, indexing, NULL, &e);
        assert_int_equal(e.embedder.facts(&e, &facts, NULL), 0);
        assert_true(facts.width <= MAX_WIDTH);
        const struct emulated_work *its =
            emulated_stream_seen(indexing ? BACKGROUND : ANSWERS);
        const struct emulated_work *other =
            emulated_stream_seen(indexing ? ANSWERS : BACKGROUND);
        size_t launches = its->launches, others = other->launches;
        assert_int_equal(
            e.embedder.embed(&e, &text, 1, vectors[indexing], NULL), 0);
        assert_true(its->launches > launches);
        assert_int_equal(other->launches, others);
    }
    assert_memory_equal(vectors[0], vectors[1],
                        facts.width * sizeof vectors[0][0]);
    engine_unref(engine);
    stop(engine);
}

static const struct kernels *none(const char **ret_reason)
{
    *ret_reason = "no driver here";
    return NULL;
}

static void without_one_the_cpu_is_taken(void **state)
{
    (void)state;
    struct engine *engine = start(none, false);
    struct engine_state s = state_of(engine);
    assert_string_equal(s.facts.backend, "cpu");
    assert_string_equal(s.device_note, "no driver here");
    assert_false(s.device_there);
    stop(engine);
}

/* 0.35 GB are enough for this model and what it works in, 0.2 are not. */
static void a_model_must_fit(void **state)
{
    (void)state;
    if (!emulated())
        return;
    emulated_memory(200000000);
    struct engine *engine = start(kernels_emulated, false);
    check_answers(engine);
    struct engine_state s = state_of(engine);
    assert_string_equal(s.facts.backend, "cpu");
    assert_string_equal(s.device_note,
                        "the model needs 0.3 GB of the GPU's memory, which has "
                        "0.2 of 1.1 GB free");
    stop(engine);
    engine = start(kernels_emulated, true);
    s = state_of(engine);
    assert_false(s.open);
    assert_int_equal(s.err.code, ERR_MODEL);
    assert_non_null(strstr(s.err.message, "needs 0.3 GB"));
    stop(engine);
    emulated_memory(350000000);
    engine = start(kernels_emulated, true);
    s = state_of(engine);
    assert_string_equal(s.facts.backend, "cuda");
    stop(engine);
    emulated_memory(PLENTY);
}

/* While the model is opened: the CPU; while it is asked: that question's error. */
static void too_little_memory_is_survived(void **state)
{
    (void)state;
    if (!emulated())
        return;
    emulated_fail(EMULATED_NO_MEMORY, 5);
    struct engine *engine = start(kernels_emulated, false);
    struct engine_state s = state_of(engine);
    assert_string_equal(s.facts.backend, "cpu");
    assert_non_null(strstr(s.device_note, "no memory"));
    stop(engine);
    emulated_memory(PLENTY);
    engine = start(kernels_emulated, false);
    for (unsigned after = 0; after < 12; after++) {
        struct err err = {0};
        int code;
        s = state_of(engine);
        emulated_fail(EMULATED_NO_MEMORY, after);
        struct buf text = ask(engine, &code, &err);
        emulated_memory(PLENTY);
        assert_true(!code || code == ERR_LIMIT);
        assert_true(after || code);
        buf_free(&text);
    }
    check_answers(engine);
    assert_string_equal(state_of(engine).facts.backend, "cuda");
    stop(engine);
}

/* The last test: nothing runs on the device after it. */
static void the_cpu_takes_over(void **state)
{
    (void)state;
    if (!emulated())
        return;
    struct engine *engine = start(kernels_emulated, true);
    struct err err = {0};
    int code;
    engine_ref(engine);
    assert_string_equal(state_of(engine).facts.backend, "cuda");
    emulated_fail(EMULATED_LAUNCH, 200); /* in the middle of the answer */
    struct buf text = ask(engine, &code, &err);
    assert_int_equal(code, ERR_MODEL);
    assert_non_null(strstr(err.message, "the GPU has failed"));
    assert_non_null(strstr(err.message, "the CPU takes over"));
    buf_free(&text);
    /* Who holds the model keeps it, as it is. */
    text = ask(engine, &code, &err);
    assert_int_equal(code, ERR_MODEL);
    buf_free(&text);
    assert_string_equal(state_of(engine).facts.backend, "cuda");
    engine_unref(engine);
    engine_swap_pending(engine, STOP_MS);
    check_answers(engine);
    struct engine_state s = state_of(engine);
    assert_string_equal(s.facts.backend, "cpu");
    assert_true(s.device_failed && !s.device_there);
    assert_non_null(strstr(s.device_note, "the GPU has failed"));
    assert_int_equal(s.err.code, 0);
    stop(engine);
    engine = start(kernels_emulated, true);
    check_answers(engine);
    stop(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_one_the_cpu_is_taken),
        cmocka_unit_test(a_device_is_taken),
        cmocka_unit_test(a_missing_library_is_said),
        cmocka_unit_test(indexing_has_its_stream),
        cmocka_unit_test(a_model_must_fit),
        cmocka_unit_test(too_little_memory_is_survived),
        cmocka_unit_test(the_cpu_takes_over),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
