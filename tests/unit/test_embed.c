/* Vectors of texts by models made for HiLS, against a plain reading of the paper
 * (tests/oracle/model/make_hils_memory.py), and who makes none. */
#include "tests/unit/models.h"

static const char *const made[] = {"hils-olmo", "hils-qwen", "hils-shared",
                                   "hils-memory"};
enum { MADE = sizeof made / sizeof made[0], MOST_LENGTHS = 16 };

struct wanted {
    struct safetensors *file;
    int32_t *ids, *lengths;
    float *soft, *last, *mean, *wrapped; /* [D], then [count, D] */
    size_t count, width;
};

static struct wanted open_wanted(const char *kind)
{
    struct wanted w = {0};
    w.file = open_beside(kind, "vectors");
    w.ids = golden(w.file, "ids");
    w.lengths = golden(w.file, "lengths");
    w.soft = golden(w.file, "soft");
    w.last = golden(w.file, "last");
    w.mean = golden(w.file, "mean");
    w.wrapped = golden(w.file, "wrapped");
    w.count = tensor_values(safetensors_find(w.file, "lengths"));
    w.width = tensor_values(safetensors_find(w.file, "soft"));
    assert_in_range(w.count, 1, MOST_LENGTHS);
    return w;
}

static void close_wanted(struct wanted *w)
{
    free(w->ids);
    free(w->lengths);
    free(w->soft);
    free(w->last);
    free(w->mean);
    free(w->wrapped);
    safetensors_close(w->file);
}

static void embed(struct model *model, const struct embed_input *inputs,
                  size_t count, float *ret)
{
    struct err err = {0};
    if (model_embed(model, inputs, count, NULL, ret, &err))
        fail_msg("%s", err.message);
}

/* Each text alone, all in one call, and from the longest to the shortest. */
static void check_vectors(struct model *model, const struct wanted *w,
                          const float *soft, const float *want)
{
    struct embed_input inputs[MOST_LENGTHS], turned[MOST_LENGTHS];
    size_t width = w->width, bytes = w->count * width * sizeof(float);
    float *together = mem_alloc(bytes), *other = mem_alloc(bytes);
    for (size_t i = 0; i < w->count; i++) {
        inputs[i] = (struct embed_input){w->ids, (size_t)w->lengths[i], soft};
        turned[w->count - 1 - i] = inputs[i];
    }
    embed(model, inputs, w->count, together);
    embed(model, turned, w->count, other);
    for (size_t i = 0; i < w->count; i++) {
        const float *one = together + i * width;
        float *alone = mem_alloc(width * sizeof *alone);
        embed(model, &inputs[i], 1, alone);
        check_near("golden", one, want + i * width, width, 1e-5);
        check_near("alone", alone, one, width, 1e-5);
        check_near("the other way round", other + (w->count - 1 - i) * width,
                   one, width, 1e-5);
        free(alone);
    }
    free(together);
    free(other);
}

static void vectors_are_the_papers(void **state)
{
    (void)state;
    for (size_t k = 0; k < MADE; k++) {
        struct wanted w = open_wanted(made[k]);
        for (size_t b = 0; b < BACKENDS; b++) {
            struct model *model = open_kind(made[k], backend(b));
            assert_true(model_facts(model)->embeds);
            check_vectors(model, &w, NULL, w.last);
            check_vectors(model, &w, w.soft, w.wrapped);
            model_close(model);
        }
        close_wanted(&w);
    }
}

/* The model in the test's own folder, with `member` in its config.json. */
static void save_with(const char *kind, const char *member)
{
    char script[200];
    int size = snprintf(script, sizeof script, "1s/{/{%s,/", member);
    assert_in_range(size, 1, sizeof script - 1);
    save_edited(kind, script);
}

static void means_are_of_tokens_alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < MADE; k++) {
        struct wanted w = open_wanted(made[k]);
        save_with(made[k], "\"lectern\": {\"pooling\": \"mean\"}");
        struct model *model = open_at(folder, kernels_cpu(), false, true);
        check_vectors(model, &w, NULL, w.mean);
        check_vectors(model, &w, w.soft, w.wrapped);
        model_close(model);
        close_wanted(&w);
    }
}

/* The head's rows by a text's vector are its last token's logits. */
static void check_as_session(struct model *model, const float *head,
                             const int32_t *ids, size_t count)
{
    const struct model_facts *facts = model_facts(model);
    struct embed_input input = {ids, count, NULL};
    float *vector = mem_alloc(facts->width * sizeof *vector);
    float *logits = mem_alloc(facts->vocabulary * sizeof *logits);
    struct session *session = open_session(model);
    feed(session, ids, count);
    embed(model, &input, 1, vector);
    for (size_t i = 0; i < facts->vocabulary; i++) {
        logits[i] = 0;
        for (size_t j = 0; j < facts->width; j++)
            logits[i] += head[i * facts->width + j] * vector[j];
    }
    check_near("as a session", logits, session_logits(session),
               facts->vocabulary, 1e-5);
    session_close(session);
    free(vector);
    free(logits);
}

/* Also where layers beside HiLS's see landmarks, or count them in their windows,
 * and no 1 is added to what softmax divides by. */
static void vectors_are_as_sessions_read(void **state)
{
    (void)state;
    static const char *const members[] = {
        "\"enable_softmax1\": false",
        "\"enable_softmax1\": false, \"mask_lmk_token\": true",
        "\"enable_softmax1\": false, \"mask_lmk_token\": true, "
        "\"hils_sliding_window\": 30",
        "\"enable_softmax1\": true, \"mask_lmk_token\": true"};
    int32_t ids[60];
    struct safetensors *file = NULL;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        save_with("hils-qwen", members[i]);
        assert_int_equal(
            safetensors_open(in_folder("model.safetensors"), &file, NULL), 0);
        float *head = golden(file, "model.embed_tokens.weight");
        struct model *model = open_at(folder, kernels_cpu(), false, true);
        fill_ids(ids, 60, model_facts(model)->vocabulary, 5);
        for (size_t count = 1; count <= 60; count++)
            check_as_session(model, head, ids, count);
        model_close(model);
        free(head);
        safetensors_close(file);
    }
}

/* The vectors have the same bits for any number of threads. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    struct wanted w = open_wanted("hils-memory");
    struct embed_input inputs[MOST_LENGTHS];
    float *vectors[2];
    for (size_t i = 0; i < w.count; i++)
        inputs[i] = (struct embed_input){w.ids, (size_t)w.lengths[i], w.soft};
    for (size_t t = 0; t < 2; t++) {
        struct model *model =
            open_at(MODELS "hils-memory", kernels_cpu(), false, t);
        vectors[t] = mem_alloc(w.count * w.width * sizeof(float));
        embed(model, inputs, w.count, vectors[t]);
        model_close(model);
    }
    assert_memory_equal(vectors[0], vectors[1],
                        w.count * w.width * sizeof(float));
    free(vectors[0]);
    free(vectors[1]);
    close_wanted(&w);
}

/* What a batch with an error, or one that is cancelled, leaves behind is nothing
 * that the next would see. */
static bool after_some(void *context)
{
    int *left = context;
    return --*left < 0;
}

static void a_cancelled_batch_leaves_no_trace(void **state)
{
    (void)state;
    struct wanted w = open_wanted("hils-memory");
    struct model *model =
        open_at(MODELS "hils-memory", kernels_cpu(), false, true);
    struct embed_input inputs[] = {{w.ids, 99, w.soft}, {w.ids, 700, w.soft}};
    float *out = mem_alloc(2 * w.width * sizeof *out);
    for (int layers = 0; layers < 6; layers++) {
        int left = layers;
        struct cancel cancel = {after_some, &left};
        assert_int_equal(model_embed(model, inputs, 2, &cancel, out, NULL),
                         ERR_CANCELLED);
    }
    inputs[1].count = model_facts(model)->context;
    assert_int_equal(model_embed(model, inputs, 2, NULL, out, NULL), ERR_LIMIT);
    check_vectors(model, &w, w.soft, w.wrapped);
    free(out);
    model_close(model);
    close_wanted(&w);
}

static void models_of_star_and_hici_do_not_embed(void **state)
{
    (void)state;
    static const char *const others[] = {"star-qwen", "hici-causal"};
    static const char *const says[] = {"star", "hici"};
    for (size_t k = 0; k < 2; k++) {
        char path[128];
        int32_t ids[] = {1, 2};
        struct embed_input input = {ids, 2, NULL};
        float out[64] = {0};
        struct err err = {0};
        snprintf(path, sizeof path, MODELS "%s", others[k]);
        struct model *model = open_at(path, kernels_cpu(), false, true);
        assert_false(model_facts(model)->embeds);
        assert_int_equal(model_embed(model, &input, 1, NULL, out, &err),
                         ERR_USAGE);
        assert_non_null(strstr(err.message, says[k]));
        assert_non_null(strstr(err.message, "does not embed"));
        model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_the_papers),
        cmocka_unit_test_setup_teardown(means_are_of_tokens_alone, make_folder,
                                        end_folder),
        cmocka_unit_test_setup_teardown(vectors_are_as_sessions_read,
                                        make_folder, end_folder),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(a_cancelled_batch_leaves_no_trace),
        cmocka_unit_test(models_of_star_and_hici_do_not_embed),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
