/* Models without layers, in folders as Model2Vec has them: a text is the mean of its
 * tokens' rows. */
#include "base/vector.h"
#include "tests/unit/support/models.h"

enum { ROWS = 6, WIDTH = 3 };

static const float rows[ROWS][WIDTH] = {{9, 9, 9}, {8, 8, 8},  {1, 0, 0},
                                        {0, 2, 0}, {0, 0, -4}, {3, 1, 2}};

/* Puts [CLS] before a text, as a tokenizer of BERT's does. */
#define TOKENIZER                                                              \
    "{\"added_tokens\":[],\"normalizer\":{\"type\":\"BertNormalizer\","        \
    "\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":"     \
    "true,\"lowercase\":true},\"pre_tokenizer\":{\"type\":"                    \
    "\"BertPreTokenizer\"},\"post_processor\":{\"type\":"                      \
    "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\","  \
    "\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":"   \
    "[],\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[1],"          \
    "\"tokens\":[\"[CLS]\"]}}},\"decoder\":{\"type\":\"WordPiece\","           \
    "\"prefix\":\"##\",\"cleanup\":true},\"model\":{\"type\":\"WordPiece\","   \
    "\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","            \
    "\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,"     \
    "\"pump\":2,\"starts\":3,\"stop\":4,\"##s\":5}}}"

static void write_bag(const char *config, size_t count)
{
    const struct tensor tensor = {.name = slice_of("embeddings"),
                                  .type = TENSOR_F32,
                                  .rank = 2,
                                  .shape = {count, WIDTH},
                                  .data = rows,
                                  .bytes = count * sizeof rows[0]};
    write_text("config.json", config);
    write_text("tokenizer.json", TOKENIZER);
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), &tensor,
                                       1, NULL, NULL),
                     0);
}

#define BAG(more) "{\"model_type\":\"model2vec\",\"hidden_dim\":3" more "}"

static void embed_text(struct model *model, const char *text, float *ret,
                       float *ret_tokens)
{
    struct ids ids = {0};
    struct err err = {0};
    assert_int_equal(tokenizer_encode(model_tokenizer(model), slice_of(text),
                                      true, &ids, NULL),
                     0);
    struct embed_input input = {.ids = ids.items,
                                .count = ids.count,
                                .tokens = ids.count,
                                .ret_tokens = ret_tokens};
    if (model_embed(model, &input, 1, NULL, ret, &err))
        fail_msg("%s", err.message);
    ids_free(&ids);
}

static void a_text_is_the_mean_of_its_tokens(void **state)
{
    (void)state;
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model = NULL;
        struct err err = {0};
        float got[WIDTH], tokens[3 * WIDTH];
        write_bag(BAG(""), ROWS);
        if (try_open(own_folder, backend(b), &model, &err))
            fail_msg("%s", err.message);
        const struct model_facts *facts = model_facts(model);
        assert_true(facts->embeds && facts->bag && !facts->writes);
        assert_int_equal(facts->vocabulary, ROWS);
        assert_int_equal(facts->context, 512);
        /* [CLS] is left out, and so is [UNK]. */
        embed_text(model, "Stops the pump", got, tokens);
        const float mean[] = {4.F / 3, 1.F / 3, -2.F / 3};
        check_near("mean", got, mean, WIDTH, 1e-6);
        const float unit[] = {0, 0, -1};
        check_near("token", tokens, unit, WIDTH, 1e-6);
        model_close(model);
    }
}

static void it_is_of_length_1_where_the_folder_says_so(void **state)
{
    (void)state;
    struct model *model = NULL;
    float got[WIDTH];
    const float want[] = {.6F, .8F, 0};
    write_bag(BAG(",\"normalize\":true,\"seq_length\":7"), ROWS);
    assert_int_equal(try_open(own_folder, kernels_cpu(), &model, NULL), 0);
    assert_int_equal(model_facts(model)->context, 7);
    embed_text(model, "pump pump pump starts starts", got, NULL);
    check_near("unit", got, want, WIDTH, 1e-6);
    model_close(model);
}

/* As one looks whether a model has room. */
static void it_may_be_looked_at_alone(void **state)
{
    (void)state;
    struct model_options options = {
        .kernels = kernels_ref(), .check = true, .no_tokenizer = true};
    struct model *model = NULL;
    struct err err = {0};
    write_bag(BAG(""), ROWS);
    if (model_open(own_folder, &options, &model, &err))
        fail_msg("%s", err.message);
    model_close(model);
}

static void what_does_not_fit_is_named(void **state)
{
    (void)state;
    write_bag(BAG(""), ROWS - 1);
    REFUSED(ERR_FORMAT, "embeddings");
    write_bag("{\"model_type\":\"model2vec\"}", ROWS);
    REFUSED(ERR_FORMAT, "hidden_dim");
    write_bag(BAG(",\"normalize\":3"), ROWS);
    REFUSED(ERR_FORMAT, "normalize");
    write_bag(BAG(""), ROWS);
    unlink(in_folder("tokenizer.json"));
    REFUSED(ERR_IO, "tokenizer.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_is_the_mean_of_its_tokens,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(
            it_is_of_length_1_where_the_folder_says_so, make_model_folder,
            remove_folder),
        cmocka_unit_test_setup_teardown(it_may_be_looked_at_alone,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_named,
                                        make_model_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
