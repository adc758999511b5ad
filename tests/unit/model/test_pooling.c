#include "tests/unit/support/models.h"

#include "model/encode/pooling.h"

static int read_pooling(const char *config, bool encoder, struct pooling *ret,
                        struct err *err)
{
    *err = (struct err){0};
    return pooling_from(own_folder, slice_of(config), encoder, ret, err);
}

static void nothing_said_is_the_usual(void **state)
{
    (void)state;
    struct pooling p;
    struct err err;
    const struct hash128 none = {0};
    assert_int_equal(read_pooling("{}", true, &p, &err), 0);
    assert_int_equal(p.kind, POOLING_MEAN);
    assert_false(p.unit || p.only);
    assert_false(hash_equal(pooling_hash(&p), none));
    assert_int_equal(read_pooling("{}", false, &p, &err), 0);
    assert_int_equal(p.kind, POOLING_LAST);
    assert_true(hash_equal(pooling_hash(&p), none));
    assert_null(p.query);
    assert_null(p.passage);
}

#define MODULES(more)                                                          \
    "[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"}"   \
    ",{\"path\":\"\",\"type\":\"sentence_transformers.models.Pooling\"}" more  \
    "]"

/* The pooling's file is config.json here: modules.json says where. */
static void the_files_are_read(void **state)
{
    (void)state;
    struct pooling p, other;
    struct err err;
    write_text("modules.json", MODULES(",{\"type\":\"Normalize\"}"));
    write_text("config.json", "{\"pooling_mode_cls_token\":true,"
                              "\"pooling_mode_mean_tokens\":false}");
    write_text("sentence_bert_config.json", "{\"max_seq_length\":77}");
    write_text("config_sentence_transformers.json",
               "{\"prompts\":{\"query\":\"ask: \",\"document\":\"doc: \"}}");
    assert_int_equal(read_pooling("{}", true, &p, &err), 0);
    assert_int_equal(p.kind, POOLING_FIRST);
    assert_true(p.unit && p.only);
    assert_int_equal(p.max, 77);
    assert_string_equal(p.query, "ask: ");
    assert_string_equal(p.passage, "doc: ");
    assert_int_equal(
        read_pooling("{\"lectern\":{\"pooling\":\"mean\",\"query_prefix\":"
                     "\"query: \",\"passage_prefix\":\"\"}}",
                     true, &other, &err),
        0);
    assert_int_equal(other.kind, POOLING_MEAN);
    assert_string_equal(other.query, "query: ");
    assert_null(other.passage);
    assert_false(hash_equal(pooling_hash(&p), pooling_hash(&other)));
    pooling_free(&other);
    assert_int_equal(
        read_pooling("{\"lectern\":{\"query_prefix\":\"query: \"}}", true,
                     &other, &err),
        0);
    assert_true(hash_equal(pooling_hash(&p), pooling_hash(&other)));
    pooling_free(&other);
    assert_int_equal(
        read_pooling("{\"lectern\":{\"passage_prefix\":\"passage: \"}}", true,
                     &other, &err),
        0);
    assert_false(hash_equal(pooling_hash(&p), pooling_hash(&other)));
    pooling_free(&p);
    pooling_free(&other);
    write_text("config.json", "{\"pooling_mode\":\"lasttoken\"}");
    assert_int_equal(read_pooling("{}", true, &p, &err), 0);
    assert_int_equal(p.kind, POOLING_LAST);
    pooling_free(&p);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *says;
    } cases[] = {
        {"modules.json", "{}", "list of modules"},
        {"modules.json", "[", "JSON"},
        {"modules.json", MODULES(",{\"type\":\"a.b.Dense\"}"), "\"Dense\""},
        {"modules.json", "[{\"type\":\"Pooling\",\"path\":\"../x\"}]", "../x"},
        {"modules.json", "[{\"type\":\"Pooling\",\"path\":\"/x\"}]", "/x"},
        {"config.json", "{}", "no kind of pooling"},
        {"config.json", "{\"pooling_mode_max_tokens\":true}", "\"max\""},
        {"config.json", "{\"pooling_mode\":\"odd\"}", "\"odd\""},
        {"config.json",
         "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":true}",
         "cls and mean"},
        {"config.json",
         "{\"pooling_mode_cls_token\":true,\"include_prompt\":false}",
         "without the prompt"},
        {"config.json", "{\"pooling_mode_cls_token\":7}", "not true or false"},
        {"sentence_bert_config.json", "{\"max_seq_length\":0}",
         "max_seq_length"},
        {"config_sentence_transformers.json", "{\"prompts\":{\"query\":1}}",
         "\"query\" is not a text"},
    };
    struct pooling p;
    struct err err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("modules.json", MODULES(""));
        write_text("config.json", "{\"pooling_mode_cls_token\":true}");
        write_text("sentence_bert_config.json", "{}");
        write_text("config_sentence_transformers.json", "{}");
        write_text(cases[i].file, cases[i].text);
        assert_int_equal(read_pooling("{}", true, &p, &err), ERR_FORMAT);
        if (!strstr(err.message, cases[i].says) ||
            !strstr(err.path, cases[i].file))
            fail_msg("%s: %s: %s", cases[i].says, err.path, err.message);
    }
    write_text("config_sentence_transformers.json", "{}");
    write_text("modules.json",
               "[{\"type\":\"Pooling\",\"path\":\"1_Pooling\"}]");
    assert_int_equal(read_pooling("{}", true, &p, &err), ERR_IO);
    assert_non_null(strstr(err.path, "1_Pooling/config.json"));
    write_text("modules.json", MODULES(""));
    assert_int_equal(
        read_pooling("{\"lectern\":{\"pooling\":\"max\"}}", true, &p, &err),
        ERR_FORMAT);
    assert_non_null(strstr(err.message, "mean, first or last"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_said_is_the_usual,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_files_are_read, make_model_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(wrong_files_are_refused,
                                        make_model_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
