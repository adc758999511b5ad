/* Folders that are not as they should be. */
#include "tests/unit/support/models.h"

#include <sys/resource.h>
#include <sys/wait.h>

static void answering_has_defaults(void **state)
{
    (void)state;
    struct model_config c = {0};
#define DECODER(context, more)                                                 \
    slice_of(                                                                  \
        "{\"model_type\":\"qwen3\",\"vocab_size\":9,\"hidden_size\":4,"        \
        "\"intermediate_size\":4,\"num_hidden_layers\":1,"                     \
        "\"num_attention_heads\":1,\"max_position_embeddings\":" context more  \
        "}")
    const struct slice none = {"", 0};
    assert_int_equal(model_config_from(DECODER("32768", ""), none, &c, NULL),
                     0);
    assert_int_equal(c.answering.prompt_tokens, 4096);
    assert_int_equal(c.answering.passages, 8);
    assert_int_equal(c.answering.passage_tokens, 512);
    assert_true(c.answering.threshold == (double)-INFINITY);
    assert_false(c.answering.copies);
    model_config_free(&c);
    assert_int_equal(model_config_from(DECODER("512", ""), none, &c, NULL), 0);
    struct hash128 hash = c.hash;
    assert_int_equal(c.answering.prompt_tokens, 256);
    assert_int_equal(c.answering.passage_tokens, 86);
    model_config_free(&c);
    assert_int_equal(
        model_config_from(
            DECODER("512", ",\"lectern\":{\"answer_threshold\":1}"), none, &c,
            NULL),
        0);
    assert_true(hash_equal(c.hash, hash));
    model_config_free(&c);
    assert_int_equal(
        model_config_from(DECODER("1024",
                                  ",\"lectern\":{\"prompt_tokens\":448,"
                                  "\"passages\":3,\"passage_tokens\":130,"
                                  "\"answer_threshold\":-1.5,"
                                  "\"copies\":true}"),
                          none, &c, NULL),
        0);
    assert_int_equal(c.answering.prompt_tokens, 448);
    assert_int_equal(c.answering.passages, 3);
    assert_int_equal(c.answering.passage_tokens, 130);
    assert_true(c.answering.threshold == -1.5);
    assert_true(c.answering.copies);
    assert_false(hash_equal(c.hash, hash));
    model_config_free(&c);
}

static void wrong_weights_are_named(void **state)
{
    (void)state;
    static const struct edit all[] = {
        {"norm.weight", DROP},
        {"layers.1.mlp.up_proj.weight", DROP},
        {"layers.0.self_attn.q_norm.weight", RENAME},
        {"layers.0.mlp.down_proj.weight", RESHAPE},
        {"lectern.mem0", DROP},
        {"layers.1.input_layernorm.weight", RETYPE},
    };
    struct model *model = NULL;
    write_weights(NULL, 0);
    assert_int_equal(try_open(own_folder, kernels_ref(), &model, NULL), 0);
    model_close(model);
    write_weights(all, 1);
    REFUSED(ERR_FORMAT, "1 tensors", "missing norm.weight");
    write_weights(all, sizeof all / sizeof all[0]);
    REFUSED(ERR_FORMAT, "7 tensors", "missing norm.weight",
            "missing layers.1.mlp.up_proj.weight",
            "missing layers.0.self_attn.q_norm.weight",
            "not known layers.0.surprise",
            "misshapen layers.0.mlp.down_proj.weight [1, 3960]",
            "missing lectern.mem0",
            "of another type layers.1.input_layernorm.weight");
    static const struct edit one[] = {{"lectern.recall.wk", DROP}};
    write_weights(one, 1);
    REFUSED(ERR_FORMAT, "missing lectern.recall.wk");
}

static void weights_cut_off_are_refused(void **state)
{
    (void)state;
    struct buf bytes = {0};
    assert_int_equal(
        file_read(MODELS "memory/model.safetensors", 1 << 20, &bytes, NULL), 0);
    for (size_t size = 0; size < bytes.size; size = size * 3 + 1) {
        struct slice part = {bytes.data, size};
        assert_int_equal(file_write(in_folder("model.safetensors"), part, NULL),
                         0);
        REFUSED(ERR_FORMAT, "model.safetensors");
    }
    struct slice part = {bytes.data, bytes.size - 1};
    assert_int_equal(file_write(in_folder("model.safetensors"), part, NULL), 0);
    REFUSED(ERR_FORMAT, "model.safetensors");
    buf_free(&bytes);
    unlink(in_folder("model.safetensors"));
    REFUSED(ERR_IO, "model.safetensors");
}

static void wrong_indexes_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "", "{}", "{\"weight_map\":{\"a\":7}}",
        "{\"weight_map\":{\"a\":\"../model.safetensors\"}}"};
    write_weights(NULL, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_text("model.safetensors.index.json", wrong[i]);
        REFUSED(ERR_FORMAT, "index.json");
    }
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"other.safetensors\"}}");
    REFUSED(ERR_IO, "other.safetensors");
}

/* Many names of tensors, of three files: each is opened once, in time. */
static void long_indexes_are_read(void **state)
{
    (void)state;
    struct buf text = {0};
    struct model *model = NULL;
    struct err err = {0};
    const struct tensor one = {
        .name = slice_of("rotary_emb.inv_freq"), .type = TENSOR_F32, .rank = 1};
    write_weights(NULL, 0);
    assert_int_equal(
        safetensors_write(in_folder("other.safetensors"), &one, 1, NULL, NULL),
        0);
    assert_int_equal(
        safetensors_write(in_folder("third.safetensors"), NULL, 0, NULL, NULL),
        0);
    buf_put_text(&text, "{\"weight_map\":{");
    for (int i = 0; i < 200000; i++)
        buf_printf(&text, "%s\"%d\":\"%s.safetensors\"", i ? "," : "", i,
                   i < 100000 ? "model"
                   : i % 2    ? "other"
                              : "third");
    buf_put_text(&text, "}}");
    write_text("model.safetensors.index.json", text.data);
    double start = unit_seconds();
    if (try_open(own_folder, kernels_ref(), &model, &err))
        fail_msg("%s: %s", err.path, err.message);
    assert_true(unit_seconds() - start < 10);
    model_close(model);
    buf_free(&text);
}

/* Memory is bounded in a child: what a model is too large for is an error. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { BOUNDED = 0 };
#else
enum { BOUNDED = 1 };
#endif

static int open_in_little_memory(size_t more)
{
    struct model *model = NULL;
    struct err err = {0};
    struct model_options options = {.kernels = kernels_ref()};
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return 1;
    fclose(file);
    rlim_t max = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    if (setrlimit(RLIMIT_AS, &(struct rlimit){max, max}))
        return 2;
    int code = model_open(own_folder, &options, &model, &err);
    if (code == ERR_LIMIT && strstr(err.message, "embed_tokens"))
        return 0;
    fprintf(stderr, "%d %s\n", code, err.message);
    return 3;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    enum { ROWS = 1 << 19, WIDTH = 44, BYTES = ROWS * WIDTH * 2 };
    struct safetensors *file = NULL;
    struct tensor tensors[65] = {{.name = slice_of("rotary_emb.inv_freq"),
                                  .type = TENSOR_I8,
                                  .rank = 1,
                                  .shape = {1},
                                  .data = "",
                                  .bytes = 1}};
    size_t count = 1;
    if (!BOUNDED)
        skip();
    assert_int_equal(
        safetensors_open(MODELS "memory/model.safetensors", &file, NULL), 0);
    void *halves = mem_alloc(BYTES);
    for (size_t i = 0; i < safetensors_count(file); i++, count++) {
        tensors[count] = *safetensors_at(file, i);
        if (!slice_is(tensors[count].name, "embed_tokens.weight"))
            continue;
        tensors[count].type = TENSOR_F16;
        tensors[count].shape[0] = ROWS;
        tensors[count].data = halves;
        tensors[count].bytes = BYTES;
    }
    assert_int_equal(safetensors_write(in_folder("model.safetensors"), tensors,
                                       count, NULL, NULL),
                     0);
    free(halves);
    safetensors_close(file);
    write_text("config.json",
               "{\"model_type\":\"qwen3\",\"vocab_size\":524288,"
               "\"hidden_size\":44,\"intermediate_size\":90,"
               "\"num_hidden_layers\":2,\"num_attention_heads\":3,"
               "\"num_key_value_heads\":3,\"head_dim\":16,"
               "\"tie_word_embeddings\":true}");
    /* enough for the file, but not for an aligned copy */
    pid_t child = fork();
    if (!child)
        _exit(open_in_little_memory((size_t)BYTES * 3 / 2));
    int status = 1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void wrong_tokenizers_are_refused(void **state)
{
    (void)state;
    struct model *model = NULL;
    write_weights(NULL, 0);
    write_text("tokenizer.json", "{\"model\":{\"type\":\"Odd\"}}");
    REFUSED(ERR_FORMAT, "tokenizer.json", "Odd");
    write_text("tokenizer.json",
               "{\"model\":{\"vocab\":{\"a\":70000},\"merges\":[]},"
               "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}");
    REFUSED(ERR_FORMAT, "tokenizer.json", "70000");
#define SMALL(more)                                                            \
    "{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}," more                     \
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\"}}"
    write_text("sentence_bert_config.json", "{\"do_lower_case\":true}");
    write_text("tokenizer.json", SMALL(""));
    REFUSED(ERR_FORMAT, "tokenizer.json", "do_lower_case");
    write_text("tokenizer.json",
               SMALL("\"normalizer\":{\"type\":\"Lowercase\"},"));
    assert_int_equal(try_open(own_folder, kernels_ref(), &model, NULL), 0);
    model_close(model);
    model = NULL;
    unlink(in_folder("sentence_bert_config.json"));
    unlink(in_folder("tokenizer.json"));
    assert_int_equal(try_open(own_folder, kernels_ref(), &model, NULL), 0);
    assert_null(model_tokenizer(model));
    model_close(model);
}

static void wrong_configs_are_refused(void **state)
{
    (void)state;
#define CONFIG(more)                                                           \
    "{\"model_type\":\"qwen3\",\"vocab_size\":608,\"hidden_size\":44,"         \
    "\"intermediate_size\":90,\"num_hidden_layers\":2,"                        \
    "\"num_attention_heads\":3,\"num_key_value_heads\":3,\"head_dim\":16,"     \
    "\"tie_word_embeddings\":true,\"rope_theta\":10000" more "}"
    static const struct {
        const char *config, *says;
    } cases[] = {
        {"", "JSON"},
        {"{}", "model_type"},
        {"{\"model_type\":\"gpt2\"}", "\"gpt2\" is not supported"},
        {"{\"model_type\":\"gpt2\"}", "qwen3, qwen2, llama"},
        {"{\"model_type\":\"qwen3\"}", "vocab_size"},
        {"{\"model_type\":\"qwen3\",\"vocab_size\":-1}", "vocab_size"},
        {"{\"model_type\":\"qwen3\",\"vocab_size\":1.5}", "vocab_size"},
        {"{\"model_type\":\"qwen3\",\"vocab_size\":1e300}", "vocab_size"},
        {"{\"model_type\":7}", "\"model_type\" is not a text"},
        {CONFIG(",\"hidden_act\":\"gelu\""), "gelu"},
        {CONFIG(",\"hidden_act\":[]"), "\"hidden_act\" is not a text"},
        {CONFIG(",\"attention_bias\":1"),
         "\"attention_bias\" is not true or false"},
        {CONFIG(",\"rms_norm_eps\":\"1e-2\""),
         "\"rms_norm_eps\" is not a number"},
        {CONFIG(",\"rope_parameters\":{\"rope_theta\":\"1000000\"}"),
         "\"rope_theta\" is not a number"},
        {CONFIG(",\"rope_parameters\":{\"rope_type\":7}"),
         "\"rope_type\" is not a text"},
        {CONFIG(",\"rope_parameters\":{\"rope_type\":\"default\"},"
                "\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4}"),
         "yarn"},
        {CONFIG(",\"rope_scaling\":{\"rope_type\":\"default\",\"type\":"
                "\"mrope\"}"),
         "mrope"},
        {CONFIG(",\"rope_parameters\":{\"full_attention\":{\"rope_type\":"
                "\"default\"}}"),
         "full_attention"},
        {CONFIG(",\"rope_parameters\":[]"), "\"rope_parameters\" is not"},
        {CONFIG(",\"rope_scaling\":\"yarn\""), "\"rope_scaling\" is not"},
        {CONFIG(",\"rope_parameters\":{\"rope_theta\":1e6},"
                "\"rope_scaling\":{\"rope_theta\":1e5}"),
         "that differ"},
        {CONFIG(",\"rope_parameters\":{\"partial_rotary_factor\":0.5}"),
         "partial_rotary_factor"},
        {CONFIG(",\"partial_rotary_factor\":\"0.5\""), "partial_rotary_factor"},
        {CONFIG(",\"use_sliding_window\":\"no\""),
         "\"use_sliding_window\" is not"},
        {CONFIG(",\"layer_types\":{\"a\":\"full_attention\",\"b\":"
                "\"full_attention\"}"),
         "\"layer_types\" is not a list"},
        {CONFIG(",\"eos_token_id\":[1,\"x\"]"), "\"eos_token_id\" is not"},
        {CONFIG(",\"eos_token_id\":1.5"), "\"eos_token_id\" is not"},
        {CONFIG(",\"quantization_config\":{}"), "quantised"},
        {CONFIG(",\"is_causal\":false"), "(\"is_causal\") is not supported"},
        {CONFIG(",\"use_bidirectional_attention\":true"),
         "(\"use_bidirectional_attention\") is not supported"},
        {CONFIG(",\"hils_topk\":16"), "HiLS attention (\"hils_topk\")"},
        {CONFIG(",\"rope_scaling\":{\"rope_type\":\"yarn\"}"), "yarn"},
        {CONFIG(",\"rope_scaling\":{\"type\":\"linear\"}"), "linear"},
        {CONFIG(",\"rope_parameters\":{\"rope_type\":\"llama3\"}"), "llama3"},
        {CONFIG(",\"rope_parameters\":{\"rope_theta\":-1}"), "rope_theta"},
        {CONFIG(",\"layer_types\":[\"full_attention\"]"), "layer_types"},
        {CONFIG(",\"layer_types\":[\"full_attention\",\"odd\"]"), "odd"},
        {CONFIG(",\"layer_types\":[\"full_attention\",\"sliding_attention\"]"),
         "sliding_window"},
        {CONFIG(",\"use_sliding_window\":true,\"sliding_window\":0"),
         "sliding_window"},
        {CONFIG(",\"lectern_memory_layers\":0"), "\"lectern_memory_layers\""},
        {CONFIG(",\"lectern_memory_layers\":3"), "\"lectern_memory_layers\""},
        {CONFIG(",\"lectern_memory_layers\":1.5"), "\"lectern_memory_layers\""},
        {CONFIG(",\"lectern_memory_layers\":\"1\""),
         "\"lectern_memory_layers\" is not a whole number from 1 to 2"},
        {CONFIG(",\"lectern\":[]"), "\"lectern\" is not an object"},
        {CONFIG(",\"lectern\":{\"passages\":0}"), "\"passages\" is not"},
        {CONFIG(",\"lectern\":{\"answer_threshold\":\"low\"}"),
         "\"answer_threshold\" is not a number"},
        {CONFIG(",\"lectern\":{\"copies\":1}"),
         "\"copies\" is not true or false"},
    };
    struct model *model = NULL;
    write_weights(NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("config.json", cases[i].config);
        REFUSED(ERR_FORMAT, "config.json", cases[i].says);
    }
    write_text("config.json",
               CONFIG(",\"rope_scaling\":null,\"torch_dtype\":\"float32\""));
    assert_int_equal(try_open(own_folder, kernels_ref(), &model, NULL), 0);
    model_close(model);
    write_text("config.json",
               CONFIG(",\"use_sliding_window\":true,\"max_window_layers\":0,"
                      "\"sliding_window\":null"));
    model = NULL;
    assert_int_equal(try_open(own_folder, kernels_ref(), &model, NULL), 0);
    model_close(model);
    unlink(in_folder("config.json"));
    REFUSED(ERR_IO, "config.json");
}

/* Other memories, so another hash. */
static void all_layers_make_memories_or_the_first(void **state)
{
    (void)state;
    const struct slice none = {"", 0};
    struct model_config all = {0}, first = {0};
    assert_int_equal(model_config_from(slice_of(CONFIG("")), none, &all, NULL),
                     0);
    assert_int_equal(
        model_config_from(slice_of(CONFIG(",\"lectern_memory_layers\":1")),
                          none, &first, NULL),
        0);
    assert_int_equal(all.memory_layers, 2);
    assert_int_equal(first.memory_layers, 1);
    assert_int_equal(first.layers, 2);
    assert_false(hash_equal(all.hash, first.hash));
    model_config_free(&all);
    model_config_free(&first);
}

/* What another family needs is missing all at once; what another kind of
 * position needs is named. */
static void wrong_families_are_refused(void **state)
{
    (void)state;
#define HEADS(type, heads, more)                                               \
    "{\"model_type\":\"" type "\",\"vocab_size\":608,\"hidden_size\":44,"      \
    "\"intermediate_size\":90,\"num_hidden_layers\":2,"                        \
    "\"num_attention_heads\":" heads ",\"tie_word_embeddings\":true" more "}"
#define FAMILY(type, more) HEADS(type, "2", more)
    static const struct {
        const char *config, *says[3];
    } cases[] = {
        {CONFIG(",\"attention_bias\":true"),
         {"8 tensors", "missing layers.0.self_attn.q_proj.bias",
          "layers.1.self_attn.o_proj.bias"}},
        {FAMILY("bert", ""),
         {"missing bert.embeddings.word_embeddings.weight",
          "bert.embeddings.LayerNorm.bias",
          "bert.encoder.layer.0.attention.output.LayerNorm"}},
        {FAMILY("bert", ",\"hidden_act\":\"relu\""), {"relu", "gelu is"}},
        {FAMILY("bert", ",\"is_decoder\":true"), {"is_decoder"}},
        {FAMILY("bert", ",\"position_embedding_type\":\"relative_key\""),
         {"relative_key"}},
        {FAMILY("bert", ",\"type_vocab_size\":0"), {"type_vocab_size"}},
        {FAMILY("roberta", ",\"max_position_embeddings\":2"),
         {"max_position_embeddings"}},
        {HEADS("bert", "7", ""), {"multiple of 7"}},
        {FAMILY("bert", ",\"layer_norm_eps\":-1"), {"layer_norm_eps"}},
        {HEADS("llama", "48", ""), {"head_dim"}},
        {FAMILY("llama", ",\"layer_types\":[\"sliding_attention\","
                         "\"full_attention\"]"),
         {"sliding_window"}},
        {FAMILY("llama",
                ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":-2}"),
         {"\"factor\" is not positive"}},
        {FAMILY("llama", ",\"rope_scaling\":{\"type\":\"dynamic\"}"),
         {"dynamic"}},
        {FAMILY("llama", ",\"rope_scaling\":{\"rope_type\":\"llama3\","
                         "\"factor\":8}"),
         {"llama3", "low_freq_factor"}},
        {FAMILY("llama", ",\"rope_scaling\":{\"rope_type\":\"llama3\","
                         "\"factor\":8,\"low_freq_factor\":4,"
                         "\"high_freq_factor\":4}"),
         {"is not below"}},
        {FAMILY("llama", ",\"rope_scaling\":{\"rope_type\":\"yarn\","
                         "\"factor\":8,\"truncate\":1}"),
         {"truncate"}},
        {FAMILY("olmo3", ",\"rope_parameters\":{\"full_attention\":7}"),
         {"\"full_attention\" is not an object"}},
        {FAMILY("olmo3", ",\"rope_parameters\":{\"full_attention\":7,"
                         "\"sliding_attention\":{}}"),
         {"\"full_attention\" is not an object"}},
    };
    write_weights(NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("config.json", cases[i].config);
        check_refused(ERR_FORMAT,
                      (const char *const[]){cases[i].says[0], cases[i].says[1],
                                            cases[i].says[2], NULL});
    }
}

static void missing_folders_are_refused(void **state)
{
    (void)state;
    struct model *model = NULL;
    struct err err = {0};
    assert_int_equal(
        try_open("/nonexistent/model", kernels_ref(), &model, &err), ERR_IO);
    assert_non_null(strstr(err.path, "/nonexistent/model"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answering_has_defaults),
        cmocka_unit_test_setup_teardown(wrong_weights_are_named,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(weights_cut_off_are_refused,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_indexes_are_refused,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(long_indexes_are_read,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_memory_is_an_error,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_tokenizers_are_refused,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_configs_are_refused,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(all_layers_make_memories_or_the_first),
        cmocka_unit_test_setup_teardown(wrong_families_are_refused,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(missing_folders_are_refused),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
