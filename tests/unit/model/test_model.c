#include "tests/unit/support/models.h"

/* ---- Against PyTorch ---- */

static void same_logits_as_the_reference(void **state)
{
    (void)state;
    static const size_t decodes[] = {0, 1, 32, 56};
    for (size_t k = 0; k < DECODERS; k++)
        check_golden(decoders[k], decodes, sizeof decodes / sizeof decodes[0]);
}

static void greedy_answer_as_the_reference(void **state)
{
    (void)state;
    static const int32_t none = -1;
    for (size_t k = 0; k < DECODERS; k++) {
        struct safetensors *file = open_golden(decoders[k]);
        int32_t *ids = golden(file, "ids");
        struct model *model = open_kind(decoders[k], kernels_cpu());
        struct session *session = open_session(model);
        struct answer answer = {.max = MAX_IDS};
        struct generate_options options = {
            .max = 32, .eos_ids = &none, .eos_count = 1};
        size_t made;
        assert_int_equal(session_prefill(session, ids, 24, NULL, NULL, NULL),
                         0);
        assert_int_equal(session_generate(session, &options, take_token,
                                          &answer, &made, NULL),
                         0);
        assert_int_equal(made, 32);
        assert_int_equal(session_length(session), 24 + 32);
        assert_memory_equal(answer.ids, ids + 24, 32 * sizeof *ids);
        session_close(session);
        model_close(model);
        free(ids);
        safetensors_close(file);
    }
}

/* Inputs of one pass, alone and together, in both orders. */
static void same_embeddings_as_the_reference(void **state)
{
    (void)state;
    enum { INPUTS = 4 };
    for (size_t k = 0; k < EMBEDDERS; k++) {
        struct safetensors *file = open_golden(embedders[k]);
        struct embed_input inputs[INPUTS];
        int32_t *ids[INPUTS];
        float *wanted[INPUTS];
        for (size_t i = 0; i < INPUTS; i++) {
            char name[32];
            snprintf(name, sizeof name, "ids.%zu", i);
            ids[i] = golden(file, name);
            inputs[i] = (struct embed_input){
                .ids = ids[i],
                .count = tensor_values(safetensors_find(file, name))};
            snprintf(name, sizeof name, "embedding.%zu", i);
            wanted[i] = golden(file, name);
        }
        for (size_t b = 0; b < BACKENDS; b++) {
            struct model *model = open_kind(embedders[k], backend(b));
            size_t width = model_facts(model)->width;
            float *got = mem_alloc(INPUTS * width * sizeof *got);
            float *alone = mem_alloc(width * sizeof *got);
            assert_int_equal(
                model_embed(model, inputs, INPUTS, NULL, got, NULL), 0);
            for (size_t i = 0; i < INPUTS; i++) {
                check_near(embedders[k], got + i * width, wanted[i], width,
                           1e-4);
                assert_int_equal(
                    model_embed(model, &inputs[i], 1, NULL, alone, NULL), 0);
                check_near("alone", alone, got + i * width, width, 1e-5);
            }
            free(got);
            free(alone);
            model_close(model);
        }
        for (size_t i = 0; i < INPUTS; i++) {
            free(ids[i]);
            free(wanted[i]);
        }
        safetensors_close(file);
    }
}

static void encoders_do_not_write(void **state)
{
    (void)state;
    static const char *const poolings[] = {"mean", "first", "last", "mean"};
    static const size_t contexts[] = {64, 80, 512, 128};
    int32_t ids[129] = {0};
    float soft[64] = {0}, out[64];
    for (size_t k = 0; k < EMBEDDERS; k++) {
        struct model *model = open_kind(embedders[k], kernels_cpu());
        const struct model_facts *facts = model_facts(model);
        struct session *session = NULL;
        struct err err = {0};
        assert_int_equal(session_open(model, &session, &err), ERR_USAGE);
        assert_false(facts->writes);
        assert_string_equal(facts->pooling, poolings[k]);
        /* bert: of its 80 positions sentence_bert_config.json allows 64;
         * xlm-roberta: 82, but for the two below the first */
        assert_int_equal(facts->context, contexts[k]);
        struct embed_input input = {.ids = ids, .count = facts->context + 1};
        if (k != 2) {
            assert_int_equal(model_embed(model, &input, 1, NULL, out, &err),
                             ERR_LIMIT);
            input.count--;
            assert_int_equal(model_embed(model, &input, 1, NULL, out, &err), 0);
            input = (struct embed_input){.ids = ids, .count = 3, .soft = soft};
            assert_int_equal(model_embed(model, &input, 1, NULL, out, &err),
                             ERR_USAGE);
        } else {
            assert_string_equal(facts->query_prefix, "Instruct: Find.\nQuery:");
            assert_null(facts->passage_prefix);
        }
        model_close(model);
    }
}

/* ModernBERT's configuration as it was before transformers told kinds of layers
 * apart: the same vectors. */
static void older_keys_say_the_same(void **state)
{
    (void)state;
    struct safetensors *file = open_golden("modernbert");
    int32_t *ids = golden(file, "ids.2");
    float *wanted = golden(file, "embedding.2"), got[64];
    size_t count = tensor_values(safetensors_find(file, "ids.2"));
    save_edited("modernbert",
                "/\"layer_types\"/,/]/d; /\"rope_parameters\"/,/^ }/d; "
                "1s/{/{\"global_rope_theta\": 160000.0, \"local_rope_theta\": "
                "10000.0, \"global_attn_every_n_layers\": 3,/");
    struct model *model = open_at(own_folder, kernels_cpu(), false, true);
    struct embed_input input = {.ids = ids, .count = count};
    assert_int_equal(model_embed(model, &input, 1, NULL, got, NULL), 0);
    check_near("older keys", got, wanted, model_facts(model)->width, 1e-4);
    model_close(model);
    save_with("modernbert", "\"local_attention\": 1");
    REFUSED(ERR_FORMAT, "local_attention");
    save_edited("modernbert", "/\"rope_parameters\"/,/^ }/d; "
                              "1s/{/{\"local_rope_theta\": 0,/");
    REFUSED(ERR_FORMAT, "local_rope_theta");
    free(ids);
    free(wanted);
    safetensors_close(file);
}

static void same_memories_as_the_reference(void **state)
{
    (void)state;
    struct safetensors *file = open_golden("memory");
    int32_t *ids = golden(file, "embed_ids");
    size_t count = tensor_values(safetensors_find(file, "embed_ids"));
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model = open_kind("memory", backend(b));
        const struct model_facts *facts = model_facts(model);
        assert_true(facts->soft_tokens && facts->recall && facts->pool);
        const struct embed_input inputs[] = {
            {.ids = ids, .count = count, .soft = model_mem(model)},
            {.ids = ids, .count = count, .soft = model_mem0(model)},
            {.ids = ids, .count = count},
            {.ids = ids, .count = 0, .soft = model_mem(model)},
            {.ids = ids, .count = count, .soft = model_mem(model)},
        };
        static const char *const names[] = {"embed_mem", "embed_mem0",
                                            "embed_plain"};
        enum { INPUTS = sizeof inputs / sizeof inputs[0] };
        float *got = mem_alloc(INPUTS * facts->width * sizeof *got);
        float *alone = mem_alloc(facts->width * sizeof *got);
        assert_int_equal(model_embed(model, inputs, INPUTS, NULL, got, NULL),
                         0);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            float *want = golden(file, names[i]);
            check_near(names[i], got + i * facts->width, want, facts->width,
                       1e-4);
            free(want);
        }
        for (size_t i = 0; i < INPUTS; i++) { /* in a batch or not */
            assert_int_equal(
                model_embed(model, &inputs[i], 1, NULL, alone, NULL), 0);
            check_near("alone", alone, got + i * facts->width, facts->width,
                       1e-5);
        }
        float *query = golden(file, "query"), *want = golden(file, "recalled");
        float *memories = golden(file, "memories");
        assert_int_equal(model_recall(model, query, memories, 7, alone, NULL),
                         0);
        check_near("recalled", alone, want, facts->width, 1e-4);
        assert_int_equal(model_recall(model, query, memories, 0, alone, NULL),
                         ERR_USAGE);
        assert_int_equal(model_pool(model, POOL_MEAN, memories, 7, alone, NULL),
                         0);
        assert_int_equal(model_pool(model, 7, memories, 7, got, NULL),
                         ERR_USAGE);
        float sum = 0;
        for (size_t i = 0; i < 7; i++)
            sum += memories[i * facts->width + 3];
        assert_true(fabsf(alone[3] - sum / 7) < 1e-5F);
        assert_int_equal(
            model_pool(model, POOL_ATTENTION, memories, 7, alone, NULL), 0);
        free(query);
        free(want);
        free(memories);
        free(got);
        free(alone);
        model_close(model);
    }
    free(ids);
    safetensors_close(file);
}

/* ---- Facts ---- */

static void facts_are_told(void **state)
{
    (void)state;
    struct hash128 prints[KINDS];
    for (size_t k = 0; k < KINDS; k++) {
        struct model *model = open_kind(kinds[k], kernels_ref());
        const struct model_facts *facts = model_facts(model);
        assert_string_equal(facts->name, kinds[k]);
        assert_string_equal(facts->type, k == 1 ? "bf16" : "f32");
        assert_string_equal(facts->backend, "ref");
        assert_int_equal(facts->soft_tokens, k == 2);
        assert_int_equal(model_mem(model) != NULL, k == 2);
        assert_int_equal(facts->layers, k == 1 ? 3 : 2);
        assert_true(facts->parameters > 50000);
        assert_non_null(model_tokenizer(model));
        prints[k] = facts->fingerprint;
        float out[64];
        if (k != 2)
            assert_int_equal(model_recall(model, out, out, 1, out, NULL),
                             ERR_USAGE);
        model_close(model);
        model = open_kind(kinds[k], kernels_cpu());
        assert_true(hash_equal(model_facts(model)->fingerprint, prints[k]));
        model_close(model);
    }
    assert_false(hash_equal(prints[0], prints[1]));
}

/* ---- Inputs longer than one pass ---- */

static void lengthen_context(void)
{
    struct buf config = {0};
    write_weights(NULL, 0);
    assert_int_equal(
        file_read(MODELS "memory/config.json", 1 << 16, &config, NULL), 0);
    char *number = strstr(config.data, "\"max_position_embeddings\": 512");
    assert_non_null(number);
    memcpy(strstr(number, "512"), "999", 3);
    assert_int_equal(
        file_write(in_folder("config.json"), buf_slice(&config), NULL), 0);
    buf_free(&config);
}

/* The head of this model is its embedding [vocabulary, width]: state times it
 * are the logits that a session has after the same tokens. */
static void check_state(struct model *model, const float *state,
                        const float *embedding, const int32_t *ids,
                        size_t count)
{
    size_t width = model_facts(model)->width;
    size_t vocabulary = model_facts(model)->vocabulary;
    float *logits = mem_alloc(vocabulary * sizeof *logits);
    struct session *session = open_session(model);
    assert_int_equal(session_prefill(session, ids, count, NULL, NULL, NULL), 0);
    for (size_t t = 0; t < vocabulary; t++)
        for (size_t i = 0; i < width; i++)
            logits[t] += embedding[t * width + i] * state[i];
    check_near("state", logits, session_logits(session), vocabulary, 1e-4);
    session_close(session);
    free(logits);
}

/* A soft token that is some token's embedding does what that token does. */
static void long_inputs_are_embedded(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 508, 509, 510, 511, 512, 513, 900};
    struct safetensors *file = NULL;
    struct model *model = NULL;
    struct err err = {0};
    lengthen_context();
    assert_int_equal(
        safetensors_open(in_folder("model.safetensors"), &file, NULL), 0);
    float *embedding = golden(file, "embed_tokens.weight");
    if (try_open(own_folder, kernels_cpu(), &model, &err))
        fail_msg("%s", err.message);
    size_t width = model_facts(model)->width;
    int32_t ids[902];
    uint64_t seed = 11;
    for (size_t i = 0; i < 902; i++)
        ids[i] = (int32_t)unit_below(&seed,
                                     (uint32_t)model_facts(model)->vocabulary);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        size_t count = counts[c];
        int32_t last = ids[count + 1];
        float out[2 * 64];
        ids[count + 1] = ids[0];
        const struct embed_input inputs[] = {
            {.ids = ids + 1,
             .count = count,
             .soft = embedding + (size_t)ids[0] * width},
            {.ids = ids, .count = count}};
        assert_int_equal(model_embed(model, inputs, 2, NULL, out, NULL), 0);
        check_state(model, out, embedding, ids, count + 2);
        check_state(model, out + width, embedding, ids, count);
        ids[count + 1] = last;
    }
    model_close(model);
    free(embedding);
    safetensors_close(file);
}

/* One that shares its weights has pages of its own for them. */
static void shared_models_embed_long_inputs(void **state)
{
    (void)state;
    enum { COUNT = 900, MAX = 64 };
    struct model *model = NULL;
    int32_t ids[COUNT];
    float want[MAX], got[MAX];
    const struct embed_input input = {.ids = ids, .count = COUNT};
    lengthen_context();
    assert_int_equal(try_open(own_folder, kernels_cpu(), &model, NULL), 0);
    struct model *sharing = model_share(model, (struct kernel_pool){0});
    size_t width = model_facts(model)->width;
    assert_true(width <= MAX);
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = (int32_t)(i * 7 % model_facts(model)->vocabulary);
    assert_int_equal(model_embed(model, &input, 1, NULL, want, NULL), 0);
    assert_int_equal(model_embed(sharing, &input, 1, NULL, got, NULL), 0);
    assert_memory_equal(got, want, width * sizeof *got);
    model_close(sharing);
    assert_int_equal(model_embed(model, &input, 1, NULL, got, NULL), 0);
    assert_memory_equal(got, want, width * sizeof *got);
    model_close(model);
}

static size_t widest; /* rows */

static int gather_watched(struct kernel_run *run, float *out,
                          const struct kernel_weight *w,
                          const int32_t *host_row, size_t m)
{
    widest = m > widest ? m : widest;
    return kernels_cpu()->gather(run, out, w, host_row, m);
}

static void a_device_embeds_long_inputs_in_passes_of_one_size(void **state)
{
    (void)state;
    enum { COUNT = 900, MAX = 64 };
    struct kernels wide = *kernels_cpu();
    struct model *model = NULL;
    int32_t ids[COUNT];
    float want[MAX], got[MAX];
    const struct embed_input input = {.ids = ids, .count = COUNT};
    wide.pass_rows = COUNT - 1;
    wide.gather = gather_watched;
    for (size_t i = 0; i < COUNT; i++)
        ids[i] = (int32_t)(i * 7 % 50);
    lengthen_context();
    assert_int_equal(try_open(own_folder, kernels_cpu(), &model, NULL), 0);
    size_t width = model_facts(model)->width;
    assert_true(width <= MAX);
    assert_int_equal(model_embed(model, &input, 1, NULL, want, NULL), 0);
    model_close(model);
    assert_int_equal(try_open(own_folder, &wide, &model, NULL), 0);
    assert_int_equal(model_embed(model, &input, 1, NULL, got, NULL), 0);
    model_close(model);
    assert_int_equal(widest, COUNT / 2);
    check_near("passes", got, want, width, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_logits_as_the_reference),
        cmocka_unit_test(greedy_answer_as_the_reference),
        cmocka_unit_test(same_embeddings_as_the_reference),
        cmocka_unit_test(encoders_do_not_write),
        cmocka_unit_test(same_memories_as_the_reference),
        cmocka_unit_test(facts_are_told),
        cmocka_unit_test_setup_teardown(older_keys_say_the_same,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(shared_models_embed_long_inputs,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(long_inputs_are_embedded,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            a_device_embeds_long_inputs_in_passes_of_one_size,
            make_model_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
