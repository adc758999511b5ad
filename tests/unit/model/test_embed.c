/* Vectors of texts by models made for HiLS, against a plain reading of the paper
 * (tests/experiments/model/make_hils_memory.py), and who makes none. */
#include "base/vector.h"
#include "kernels/cpu/cpu_internal.h"
#include "tests/unit/support/models.h"

static const char *const made[] = {"hils-olmo", "hils-qwen", "hils-shared",
                                   "hils-memory"};
enum { MADE = sizeof made / sizeof made[0], MAX_LENGTHS = 16 };

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
    assert_in_range(w.count, 1, MAX_LENGTHS);
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
    struct embed_input inputs[MAX_LENGTHS], turned[MAX_LENGTHS];
    size_t width = w->width, bytes = w->count * width * sizeof(float);
    float *together = mem_alloc(bytes), *other = mem_alloc(bytes);
    for (size_t i = 0; i < w->count; i++) {
        inputs[i] = (struct embed_input){
            .ids = w->ids, .count = (size_t)w->lengths[i], .soft = soft};
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

static void means_are_of_tokens_alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < MADE; k++) {
        struct wanted w = open_wanted(made[k]);
        save_with(made[k], "\"lectern\": {\"pooling\": \"mean\"}");
        struct model *model = open_at(own_folder, kernels_cpu(), false, true);
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
    struct embed_input input = {.ids = ids, .count = count};
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
        struct model *model = open_at(own_folder, kernels_cpu(), false, true);
        fill_ids(ids, 60, model_facts(model)->vocabulary, 5);
        for (size_t count = 1; count <= 60; count++)
            check_as_session(model, head, ids, count);
        model_close(model);
        free(head);
        safetensors_close(file);
    }
}

/* ---- Vectors of tokens ---- */

/* A token of a text that is read forwards alone has the vector of the text that ends with
 * it, whichever part of the text's tokens is asked for. */
static void check_tokens(struct model *model, const struct wanted *w,
                         const float *soft, const float *want)
{
    size_t width = w->width, all = 0;
    for (size_t i = 0; i < w->count; i++)
        all = (size_t)w->lengths[i] > all ? (size_t)w->lengths[i] : all;
    float *tokens = mem_alloc(all * width * sizeof *tokens);
    float *ends = mem_alloc(3 * width * sizeof *ends);
    float *vectors = mem_alloc(3 * width * sizeof *vectors);
    struct embed_input inputs[] = {{.ids = w->ids, .count = 2, .soft = soft},
                                   {.ids = w->ids,
                                    .count = all,
                                    .soft = soft,
                                    .tokens = all,
                                    .ret_tokens = tokens},
                                   {.ids = w->ids,
                                    .count = all,
                                    .soft = soft,
                                    .first = all - 3,
                                    .tokens = 3,
                                    .ret_tokens = ends}};
    embed(model, inputs, 3, vectors);
    check_near("its end", ends, tokens + (all - 3) * width, 3 * width, 1e-5);
    for (size_t i = 0; i < w->count && want; i++) {
        float *unit = mem_alloc(width * sizeof *unit);
        memcpy(unit, want + i * width, width * sizeof *unit);
        vector_unit(unit, width);
        check_near("as the text that it ends",
                   tokens + ((size_t)w->lengths[i] - 1) * width, unit, width,
                   1e-5);
        free(unit);
    }
    embed(model, inputs, 1, vectors + 2 * width);
    check_near("beside others", vectors, vectors + 2 * width, width, 1e-5);
    free(tokens);
    free(ends);
    free(vectors);
}

static void tokens_have_vectors(void **state)
{
    (void)state;
    for (size_t k = 0; k < MADE; k++) {
        struct wanted w = open_wanted(made[k]);
        for (size_t b = 0; b < BACKENDS; b++) {
            struct model *model = open_kind(made[k], backend(b));
            check_tokens(model, &w, NULL, w.last);
            check_tokens(model, &w, w.soft, NULL);
            model_close(model);
        }
        close_wanted(&w);
    }
}

/* Of an encoder, whose tokens see all of the text: the mean of one is that token, and
 * what is asked of tokens changes no text's vector. */
static void an_encoders_tokens_have_vectors(void **state)
{
    (void)state;
    enum { COUNT = 60 };
    struct model *model = open_at(MODELS "bert", kernels_cpu(), false, true);
    size_t width = model_facts(model)->width;
    int32_t ids[COUNT];
    float *tokens = mem_alloc((COUNT + 1) * width * sizeof *tokens);
    float *with = mem_alloc(2 * width * sizeof *with);
    float *without = mem_alloc(2 * width * sizeof *without);
    fill_ids(ids, COUNT, model_facts(model)->vocabulary, 5);
    struct embed_input inputs[] = {
        {.ids = ids, .count = COUNT, .tokens = COUNT, .ret_tokens = tokens},
        {.ids = ids,
         .count = 1,
         .tokens = 1,
         .ret_tokens = tokens + COUNT * width}};
    embed(model, inputs, 2, with);
    inputs[0].ret_tokens = inputs[1].ret_tokens = NULL;
    embed(model, inputs, 2, without);
    assert_memory_equal(with, without, 2 * width * sizeof *with);
    vector_unit(with + width, width);
    check_near("of one token", tokens + COUNT * width, with + width, width,
               1e-5);
    for (size_t i = 0; i < COUNT; i++) {
        double length = 0;
        for (size_t j = 0; j < width; j++)
            length +=
                (double)tokens[i * width + j] * (double)tokens[i * width + j];
        assert_true(fabs(length - 1) < 1e-4);
    }
    free(tokens);
    free(with);
    free(without);
    model_close(model);
}

/* The vectors have the same bits for any number of threads. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    struct wanted w = open_wanted("hils-memory");
    struct embed_input inputs[MAX_LENGTHS];
    float *vectors[2];
    for (size_t i = 0; i < w.count; i++)
        inputs[i] = (struct embed_input){
            .ids = w.ids, .count = (size_t)w.lengths[i], .soft = w.soft};
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
    struct embed_input inputs[] = {
        {.ids = w.ids, .count = 99, .soft = w.soft},
        {.ids = w.ids, .count = 700, .soft = w.soft}};
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

/* ---- Where the first layers make memories ---- */

/* Of all positions, the last ones read one by one with a vector made between. */
static void check_same_logits(struct model *a, struct model *b)
{
    enum { COUNT = 99, STEPS = 20 };
    int32_t ids[COUNT];
    size_t vocabulary = model_facts(a)->vocabulary;
    size_t width = model_facts(a)->width;
    float *of_a = mem_alloc(COUNT * vocabulary * sizeof *of_a);
    float *of_b = mem_alloc(COUNT * vocabulary * sizeof *of_b);
    float *vector = mem_alloc(width * sizeof *vector);
    struct embed_input input = {.ids = ids, .count = COUNT};
    fill_ids(ids, COUNT, vocabulary, 5);
    struct session *one = read_all(a, ids, COUNT, STEPS, of_a);
    struct session *other = read_all(b, ids, COUNT, STEPS, of_b);
    assert_memory_equal(of_a, of_b, COUNT * vocabulary * sizeof *of_a);
    for (size_t i = 0; i < STEPS; i++) {
        embed(b, &input, 1, vector);
        feed(one, ids + i, 1);
        feed(other, ids + i, 1);
        assert_memory_equal(session_logits(one), session_logits(other),
                            vocabulary * sizeof *of_a);
    }
    session_close(one);
    session_close(other);
    free(of_a);
    free(of_b);
    free(vector);
}

static void the_first_layers_make_vectors(void **state)
{
    (void)state;
    struct wanted w = open_wanted("hils-memory");
    float *last = golden(w.file, "first_layer");
    float *wrapped = golden(w.file, "first_layer_wrapped");
    save_with("hils-memory", "\"lectern_memory_layers\": 1");
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model = open_at(own_folder, backend(b), false, true);
        struct model *all = open_kind("hils-memory", backend(b));
        check_vectors(model, &w, NULL, last);
        check_vectors(model, &w, w.soft, wrapped);
        check_same_logits(all, model);
        model_close(model);
        model_close(all);
    }
    free(last);
    free(wrapped);
    close_wanted(&w);
}

/* Of families without HiLS, encoders too. */
static void other_layers_might_not_be_there(void **state)
{
    (void)state;
    static const char *const some[] = {"memory", "olmo3", "bert"};
    for (size_t k = 0; k < sizeof some / sizeof some[0]; k++) {
        int32_t ids[60];
        float vectors[2][2][64];
        for (size_t t = 0; t < 2; t++) {
            if (t)
                save_with(some[k], "\"lectern_memory_layers\": 1");
            else
                save_first_layer(some[k]);
            struct model *model =
                open_at(own_folder, kernels_cpu(), false, true);
            fill_ids(ids, 60, model_facts(model)->vocabulary, 5);
            struct embed_input inputs[] = {{.ids = ids, .count = 60},
                                           {.ids = ids, .count = 1}};
            assert_true(model_facts(model)->width <= 64);
            memset(vectors[t], 0, sizeof vectors[t]);
            embed(model, inputs, 2, vectors[t][0]);
            model_close(model);
        }
        assert_memory_equal(vectors[0], vectors[1], sizeof vectors[0]);
    }
}

/* In eight bits an encoder says nearly what it says in f32, the same bits of a text in
 * any company. */
static void an_encoder_may_multiply_in_eight_bits(void **state)
{
    (void)state;
    enum { COUNT = 60, TEXTS = 4 };
    static const size_t lengths[TEXTS] = {COUNT, 3, 17, 40};
    struct model_options options = {
        .kernels = kernels_cpu(), .no_tokenizer = true, .int8 = true};
    struct model *exact = open_at(MODELS "bert", kernels_cpu(), false, true);
    struct model *rounded = NULL;
    assert_int_equal(model_open(MODELS "bert", &options, &rounded, NULL), 0);
    size_t width = model_facts(exact)->width;
    int32_t ids[COUNT];
    float *all = mem_alloc(TEXTS * width * sizeof *all);
    float *alone = mem_alloc(width * sizeof *alone);
    float *as_floats = mem_alloc(width * sizeof *as_floats);
    struct embed_input inputs[TEXTS];
    fill_ids(ids, COUNT, model_facts(exact)->vocabulary, 6);
    for (size_t i = 0; i < TEXTS; i++)
        inputs[i] = (struct embed_input){.ids = ids, .count = lengths[i]};
    embed(rounded, inputs, TEXTS, all);
    bool differs = false;
    for (size_t i = 0; i < TEXTS; i++) {
        embed(rounded, &inputs[i], 1, alone);
        if (cpu_int8)
            assert_memory_equal(alone, all + i * width, width * sizeof *all);
        embed(exact, &inputs[i], 1, as_floats);
        differs =
            differs || memcmp(alone, as_floats, width * sizeof *alone) != 0;
        vector_unit(alone, width);
        vector_unit(as_floats, width);
        double cosine = 0;
        for (size_t j = 0; j < width; j++)
            cosine += (double)alone[j] * (double)as_floats[j];
        assert_true(cosine > .999);
    }
    assert_int_equal(differs, cpu_int8);
    free(all);
    free(alone);
    free(as_floats);
    model_close(exact);
    model_close(rounded);
}

/* What writes is as exact as it was: its words are its own. */
static void what_writes_does_not_multiply_in_eight_bits(void **state)
{
    (void)state;
    struct model_options options = {
        .kernels = kernels_cpu(), .no_tokenizer = true, .int8 = true};
    struct model *rounded = NULL;
    assert_int_equal(model_open(MODELS "hils-memory", &options, &rounded, NULL),
                     0);
    struct model *exact =
        open_at(MODELS "hils-memory", kernels_cpu(), false, false);
    assert_true(model_facts(exact)->writes);
    check_same_logits(exact, rounded);
    model_close(exact);
    model_close(rounded);
}

static void models_of_star_and_hici_do_not_embed(void **state)
{
    (void)state;
    static const char *const others[] = {"star-qwen", "hici-causal"};
    static const char *const says[] = {"star", "hici"};
    for (size_t k = 0; k < 2; k++) {
        char path[128];
        int32_t ids[] = {1, 2};
        struct embed_input input = {.ids = ids, .count = 2};
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
        cmocka_unit_test_setup_teardown(means_are_of_tokens_alone,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(vectors_are_as_sessions_read,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(tokens_have_vectors),
        cmocka_unit_test(an_encoders_tokens_have_vectors),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(an_encoder_may_multiply_in_eight_bits),
        cmocka_unit_test(what_writes_does_not_multiply_in_eight_bits),
        cmocka_unit_test(a_cancelled_batch_leaves_no_trace),
        cmocka_unit_test_setup_teardown(the_first_layers_make_vectors,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(other_layers_might_not_be_there,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(models_of_star_and_hici_do_not_embed),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
