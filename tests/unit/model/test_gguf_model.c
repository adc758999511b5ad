/* Golden models and tokenizers written as GGUF files are what they are in
 * folders. */
#include "tests/unit/support/models.h"

#include "base/json.h"
#include "model/tokenizer/tokenizer.h"
#include "model/weights/architectures.h"
#include "model/weights/gguf_config.h"
#include "tests/unit/support/gguf_writing.h"

/* ---- A folder's model as a file ---- */

struct writing {
    struct buf values, tensors, data;
    unsigned value_count, tensor_count;
};

static void put_whole(struct writing *w, const char *key, double value)
{
    gguf_put_key(&w->values, key, GGUF_U32);
    gguf_put_number(&w->values, (uint64_t)value, 4);
    w->value_count++;
}

static void put_float(struct writing *w, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    gguf_put_key(&w->values, key, GGUF_F64);
    gguf_put_number(&w->values, bits, 8);
    w->value_count++;
}

static void put_word(struct writing *w, const char *key, const char *text)
{
    gguf_put_key(&w->values, key, GGUF_TEXT);
    gguf_put_text(&w->values, text);
    w->value_count++;
}

/* `head`: rows are put in pairs; 0: as they lie. */
static void put_floats(struct writing *w, const char *name,
                       const struct tensor *t, size_t head)
{
    static const unsigned types[] = {
        [TENSOR_F32] = 0, [TENSOR_F16] = 1, [TENSOR_BF16] = 30};
    size_t rows = (size_t)t->shape[0], columns = tensor_values(t) / rows;
    size_t bytes = t->bytes / rows;
    while (w->data.size % 32)
        buf_put_byte(&w->data, 0);
    gguf_put_tensor(&w->tensors, name, t->rank == 2 ? columns : rows,
                    t->rank == 2 ? rows : 0, types[t->type], w->data.size);
    w->tensor_count++;
    for (size_t i = 0; i < rows; i++) {
        size_t within = head ? i % head : 0, from = i;
        if (head)
            from = i - within + within / 2 + within % 2 * (head / 2);
        buf_put(&w->data, (const char *)t->data + from * bytes, bytes);
    }
}

/* As the name that the same part has in a GGUF file. */
static void put_part(struct writing *w, const struct tensor *t,
                     const struct model_config *c)
{
    const struct tensor_names *from = c->architecture->names,
                              *to = c->architecture->gguf_names;
    const char *const parts[][2] = {
        {from->embedding, to->embedding},
        {from->norm, to->norm},
        {from->head, to->head},
        {from->attention_norm, to->attention_norm},
        {from->q_norm, to->q_norm},
        {from->k_norm, to->k_norm},
        {from->q, to->q},
        {from->k, to->k},
        {from->v, to->v},
        {from->o, to->o},
        {from->inner_norm, to->inner_norm},
        {from->gate, to->gate},
        {from->up, to->up},
        {from->down, to->down},
    };
    const char *name = t->name.data, *end = strrchr(name, '.');
    unsigned layer = 0;
    int size = 0;
    char full[128];
    if (!strncmp(name, "model.", 6))
        name += 6;
    bool in_layer = sscanf(name, "layers.%u.%n", &layer, &size) == 1;
    name += size;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!parts[i][0] || (size_t)(end - name) != strlen(parts[i][0]) ||
            strncmp(name, parts[i][0], (size_t)(end - name)) != 0)
            continue;
        bool turned = parts[i][0] == from->q || parts[i][0] == from->k;
        if (in_layer)
            snprintf(full, sizeof full, "blk.%u.%s%s", layer, parts[i][1], end);
        else
            snprintf(full, sizeof full, "%s%s", parts[i][1], end);
        put_floats(w, full, t, turned && to->paired ? c->head : 0);
        return;
    }
    fail_msg("%s has no name there", t->name.data);
}

/* The scaled frequencies as factors of the plain ones. */
static void put_factors(struct writing *w, const struct model_config *c)
{
    struct rotary plain = c->rotary[0];
    double scaled[64], whole[64];
    float factors[64];
    if (plain.kind != ROTARY_LLAMA3)
        return;
    plain.kind = ROTARY_PLAIN;
    rotary_frequencies(&c->rotary[0], c->head, scaled);
    rotary_frequencies(&plain, c->head, whole);
    for (size_t i = 0; i < c->head / 2; i++)
        factors[i] = (float)(whole[i] / scaled[i]);
    struct tensor t = {.rank = 1,
                       .shape = {c->head / 2},
                       .data = factors,
                       .bytes = c->head / 2 * sizeof factors[0]};
    put_floats(w, "rope_freqs.weight", &t, 0);
}

struct number {
    const char *name;
    double value;
};

static void put_config(struct writing *w, const struct model_config *c)
{
    const char *type = c->architecture->type;
    const struct {
        const char *name;
        size_t value;
    } sizes[] = {
        {"block_count", c->layers},
        {"context_length", c->context},
        {"embedding_length", c->width},
        {"feed_forward_length", c->inner},
        {"attention.head_count", c->heads},
        {"attention.head_count_kv", c->key_heads},
        {"attention.key_length", c->head},
        {"attention.value_length", c->head},
    };
    char key[96];
    put_word(w, "general.architecture", type);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        snprintf(key, sizeof key, "%s.%s", type, sizes[i].name);
        put_whole(w, key, (double)sizes[i].value);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", type);
    put_float(w, key, (double)c->eps);
    snprintf(key, sizeof key, "%s.rope.freq_base", type);
    put_float(w, key, c->rotary[0].theta);
}

static void read_config(const char *kind, struct model_config *ret)
{
    struct buf path = {0}, text = {0};
    buf_printf(&path, MODELS "%s/config.json", kind);
    assert_int_equal(file_read(path.data, 1 << 16, &text, NULL), 0);
    assert_int_equal(
        model_config_from(buf_slice(&text), slice_of(""), ret, NULL), 0);
    buf_free(&path);
    buf_free(&text);
}

static void save(struct writing *w, const char *name)
{
    struct buf all = {0};
    gguf_put_head(&all, 3, w->tensor_count, w->value_count);
    buf_put_slice(&all, buf_slice(&w->values));
    buf_put_slice(&all, buf_slice(&w->tensors));
    gguf_put_data(&all, 0);
    buf_put_slice(&all, buf_slice(&w->data));
    assert_int_equal(file_write(in_folder(name), buf_slice(&all), NULL), 0);
    buf_free(&all);
    buf_free(&w->values);
    buf_free(&w->tensors);
    buf_free(&w->data);
}

/* The golden model as x.gguf of the test's folder, with no tokenizer. */
static void save_kind(const char *kind)
{
    struct writing w = {0};
    struct model_config c;
    struct safetensors *file = open_beside(kind, "model");
    read_config(kind, &c);
    put_config(&w, &c);
    for (size_t i = 0; i < safetensors_count(file); i++)
        put_part(&w, safetensors_at(file, i), &c);
    put_factors(&w, &c);
    save(&w, "x.gguf");
    safetensors_close(file);
    model_config_free(&c);
}

/* What positions are in a file with these words and numbers. */
static struct rotary rotary_of(const char *type, const struct number *numbers,
                               size_t count)
{
    struct writing w = {0};
    struct gguf *gguf;
    struct model_config c;
    struct err err = {0};
    char key[96];
    read_config("llama3", &c);
    put_config(&w, &c);
    gguf_put_tensor(&w.tensors, "token_embd.weight", c.width, 1, 0, 0);
    w.tensor_count++;
    for (size_t i = 0; i < c.width * 4; i++)
        buf_put_byte(&w.data, 0);
    model_config_free(&c);
    if (type)
        put_word(&w, "llama.rope.scaling.type", type);
    for (size_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "llama.rope.%s", numbers[i].name);
        put_float(&w, key, numbers[i].value);
    }
    save(&w, "z.gguf");
    assert_int_equal(gguf_open(in_folder("z.gguf"), &gguf, NULL), 0);
    if (gguf_config_from(gguf, &c, &err))
        fail_msg("%s", err.message);
    struct rotary ret = c.rotary[0];
    model_config_free(&c);
    gguf_close(gguf);
    return ret;
}

static void positions_are_scaled_as_files_say(void **state)
{
    static const struct number named[] = {{"scaling.factor", 4}},
                               old[] = {{"scale_linear", 8}},
                               none[] = {{"scaling.factor", 0}},
                               yarn[] = {
                                   {"scaling.factor", 4},
                                   {"scaling.original_context_length", 64},
                                   {"scaling.yarn_beta_fast", 16},
                                   {"scaling.yarn_beta_slow", 2}};
    (void)state;
    assert_int_equal(rotary_of(NULL, NULL, 0).kind, ROTARY_PLAIN);
    assert_int_equal(rotary_of(NULL, none, 1).kind, ROTARY_PLAIN);
    assert_int_equal(rotary_of("none", named, 1).kind, ROTARY_PLAIN);
    struct rotary got = rotary_of(NULL, named, 1);
    assert_int_equal(got.kind, ROTARY_LINEAR);
    assert_true(got.factor == 4);
    got = rotary_of(NULL, old, 1);
    assert_int_equal(got.kind, ROTARY_LINEAR);
    assert_true(got.factor == 8);
    got = rotary_of("yarn", yarn, 4);
    assert_int_equal(got.kind, ROTARY_YARN);
    assert_true(got.high == 16 && got.low == 2);
}

/* As many as one of them has in its window, of which GGUF files say nothing. */
enum { SEEN = 11 };

static void check_kind(const char *kind, size_t b)
{
    struct safetensors *file = open_golden(kind);
    int32_t *ids = golden(file, "ids");
    float *wanted = golden(file, "logits");
    struct model *model =
        open_at(in_folder("x.gguf"), backend(b), false, false);
    size_t vocabulary = model_facts(model)->vocabulary;
    float *got = mem_alloc(SEEN * vocabulary * sizeof *got);
    struct session *session = open_session(model);
    assert_string_equal(model_facts(model)->name, "x.gguf");
    assert_int_equal(session_prefill(session, ids, SEEN, NULL, got, NULL), 0);
    check_near(kind, got, wanted, SEEN * vocabulary, 1e-4);
    session_close(session);
    model_close(model);
    free(got);
    free(ids);
    free(wanted);
    safetensors_close(file);
}

static void same_logits_as_the_reference(void **state)
{
    static const char *const files[] = {"tied", "qwen2", "llama3"};
    (void)state;
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        save_kind(files[k]);
        for (size_t b = 0; b < BACKENDS; b++)
            check_kind(files[k], b);
    }
}

/* ---- Tokenizers ---- */

static void put_list(struct writing *w, const char *key, int type, size_t count)
{
    gguf_put_key(&w->values, key, GGUF_LIST);
    gguf_put_number(&w->values, (uint64_t)type, 4);
    gguf_put_number(&w->values, count, 8);
    w->value_count++;
}

enum { MOST = 1024 };

/* tokens[id], as tokenizer.json has them, and which are matched as a whole. */
static size_t tokens_of(const cJSON *json, const char *tokens[MOST],
                        int sorts[MOST])
{
    const cJSON *item, *added = cJSON_GetObjectItem(json, "added_tokens");
    size_t count = 0;
    cJSON_ArrayForEach (
        item,
        cJSON_GetObjectItem(cJSON_GetObjectItem(json, "model"), "vocab")) {
        tokens[item->valueint] = item->string;
        count++;
    }
    cJSON_ArrayForEach (item, added) {
        int id = cJSON_GetObjectItem(item, "id")->valueint;
        count += !tokens[id];
        tokens[id] = json_get_text(item, "content", "");
        sorts[id] = json_get_bool(item, "special", false) ? 3 : 4;
    }
    return count;
}

static void put_tokenizer(struct writing *w, const cJSON *json, const char *pre)
{
    const cJSON *item,
        *merges =
            cJSON_GetObjectItem(cJSON_GetObjectItem(json, "model"), "merges");
    const char *tokens[MOST] = {NULL};
    int sorts[MOST] = {0};
    size_t count = tokens_of(json, tokens, sorts);
    put_word(w, "tokenizer.ggml.model", "gpt2");
    put_word(w, "tokenizer.ggml.pre", pre);
    put_list(w, "tokenizer.ggml.tokens", GGUF_TEXT, count);
    for (size_t i = 0; i < count; i++)
        gguf_put_text(&w->values, tokens[i]);
    put_list(w, "tokenizer.ggml.token_type", GGUF_I32, count);
    for (size_t i = 0; i < count; i++)
        gguf_put_number(&w->values, sorts[i] ? (uint64_t)sorts[i] : 1, 4);
    put_list(w, "tokenizer.ggml.merges", GGUF_TEXT,
             (size_t)cJSON_GetArraySize(merges));
    cJSON_ArrayForEach (item, merges) {
        char text[256];
        snprintf(text, sizeof text, "%s %s",
                 cJSON_GetArrayItem(item, 0)->valuestring,
                 cJSON_GetArrayItem(item, 1)->valuestring);
        gguf_put_text(&w->values, text);
    }
    put_whole(w, "tokenizer.ggml.bos_token_id", 600);
    put_whole(w, "tokenizer.ggml.eos_token_id", 0);
    gguf_put_key(&w->values, "tokenizer.ggml.add_eos_token", GGUF_BOOL);
    gguf_put_number(&w->values, 1, 1);
    w->value_count++;
}

static int open_written(struct writing *w, struct tokenizer **ret,
                        struct err *err)
{
    struct gguf *gguf;
    save(w, "t.gguf");
    assert_int_equal(gguf_open(in_folder("t.gguf"), &gguf, NULL), 0);
    int code = tokenizer_of_gguf(gguf, ret, err);
    gguf_close(gguf);
    return code;
}

static void same_ids_as_in_a_folder(void **state)
{
    static const char *const lines[] = {
        "",
        "CREATE INDEX films_idx ON films (title);\n\n\tx  = 12345 + y's",
        "  two  spaces   three \r\n\r\n",
        "caf\xC3\xA9 na\xC3\xAFve \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80 "
        "I'LL",
        "a<|endoftext|>b<|begin|> c",
    };
    struct writing w = {0};
    struct buf text = {0};
    struct tokenizer *one, *two;
    cJSON *json;
    (void)state;
    assert_int_equal(
        file_read(MODELS "memory/tokenizer.json", 1 << 20, &text, NULL), 0);
    assert_int_equal(json_parse(buf_slice(&text), &json, NULL), 0);
    put_tokenizer(&w, json, "llama-bpe"); /* which begins texts by itself */
    assert_int_equal(open_written(&w, &one, NULL), 0);
    assert_int_equal(tokenizer_from(buf_slice(&text), &two, NULL), 0);
    assert_int_equal(tokenizer_count(one), tokenizer_count(two));
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct ids a = {0}, b = {0};
        tokenizer_encode(one, slice_of(lines[i]), true, &a, NULL);
        tokenizer_encode(two, slice_of(lines[i]), true, &b, NULL);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.items, b.items, a.count * sizeof *a.items);
        ids_free(&a);
        ids_free(&b);
    }
    tokenizer_close(one);
    tokenizer_close(two);
    cJSON_Delete(json);
    buf_free(&text);
}

/* As llama.cpp's converter has it: a mark begins a word. */
static void put_wordpiece(struct writing *w, const cJSON *json)
{
    const char *tokens[MOST] = {NULL};
    int sorts[MOST] = {0};
    size_t count = tokens_of(json, tokens, sorts);
    put_word(w, "tokenizer.ggml.model", "bert");
    put_list(w, "tokenizer.ggml.tokens", GGUF_TEXT, count);
    for (size_t i = 0; i < count; i++) {
        char text[256];
        bool inside = !strncmp(tokens[i], "##", 2);
        snprintf(text, sizeof text, "%s%s",
                 sorts[i] || inside ? "" : "\xE2\x96\x81",
                 tokens[i] + (inside ? 2 : 0));
        gguf_put_text(&w->values, text);
    }
    put_list(w, "tokenizer.ggml.token_type", GGUF_I32, count);
    for (size_t i = 0; i < count; i++)
        gguf_put_number(&w->values, sorts[i] ? 3 : 1, 4);
}

static void same_words_as_in_a_folder(void **state)
{
    static const char golden_file[] = "tests/golden/tokenizers/bert/";
    struct writing w = {0};
    struct buf text = {0}, lines = {0};
    struct tokenizer *one, *two;
    cJSON *json, *all;
    const cJSON *line;
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%stokenizer.json", golden_file);
    assert_int_equal(file_read(path, 1 << 20, &text, NULL), 0);
    assert_int_equal(json_parse(buf_slice(&text), &json, NULL), 0);
    assert_int_equal(file_read(MODELS "lines.json", 1 << 20, &lines, NULL), 0);
    assert_int_equal(json_parse(buf_slice(&lines), &all, NULL), 0);
    put_wordpiece(&w, json);
    assert_int_equal(open_written(&w, &one, NULL), 0);
    assert_int_equal(tokenizer_from(buf_slice(&text), &two, NULL), 0);
    assert_true(cJSON_GetArraySize(all) > 20);
    cJSON_ArrayForEach (line, all) {
        struct ids a = {0}, b = {0};
        tokenizer_encode(one, slice_of(line->valuestring), true, &a, NULL);
        tokenizer_encode(two, slice_of(line->valuestring), true, &b, NULL);
        assert_int_equal(a.count, b.count);
        assert_memory_equal(a.items, b.items, a.count * sizeof *a.items);
        ids_free(&a);
        ids_free(&b);
    }
    tokenizer_close(one);
    tokenizer_close(two);
    cJSON_Delete(json);
    cJSON_Delete(all);
    buf_free(&text);
    buf_free(&lines);
}

/* ---- What is refused ---- */

static void check_gguf_refused(struct writing *w, const char *says)
{
    const struct model_options options = {.kernels = kernels_ref()};
    struct model *model = NULL;
    struct err err = {0};
    save(w, "y.gguf");
    *w = (struct writing){0};
    assert_int_equal(model_open(in_folder("y.gguf"), &options, &model, &err),
                     ERR_FORMAT);
    assert_null(model);
    assert_non_null(strstr(err.path, "y.gguf"));
    if (!strstr(err.message, says))
        fail_msg("\"%s\" does not say \"%s\"", err.message, says);
}

static void others_are_refused_by_name(void **state)
{
    struct writing w = {0};
    struct tokenizer *none = NULL;
    struct err err = {0};
    struct model_config c;
    (void)state;
    check_gguf_refused(&w, "general.architecture");
    put_word(&w, "general.architecture", "mamba");
    check_gguf_refused(&w, "\"mamba\" is not supported (these are: ");
    put_word(&w, "general.architecture", "olmo2");
    check_gguf_refused(&w, "\"olmo2\" is not supported");
    put_word(&w, "general.architecture", "bert");
    check_gguf_refused(&w, "bert.embedding_length is missing");
    put_word(&w, "general.architecture", "llama");
    check_gguf_refused(&w, "llama.embedding_length is missing");
    read_config("llama3", &c);
    put_config(&w, &c);
    put_word(&w, "llama.rope.scaling.type", "longrope");
    check_gguf_refused(&w, "llama.rope.scaling.type");
    put_config(&w, &c);
    put_word(&w, "llama.rope.scaling.type", "linear");
    check_gguf_refused(&w, "llama.rope.scaling.factor is missing");
    put_config(&w, &c);
    put_float(&w, "llama.rope.scaling.attn_factor", 1.19);
    check_gguf_refused(&w, "llama.rope.scaling.attn_factor is not 1");
    put_config(&w, &c);
    put_whole(&w, "llama.expert_count", 8);
    check_gguf_refused(&w, "llama.expert_count");
    put_config(&w, &c);
    put_float(&w, "llama.attention.causal", 1);
    check_gguf_refused(&w, "llama.attention.causal");
    put_config(&w, &c);
    put_whole(&w, "llama.rope.dimension_count", (double)c.head / 2);
    check_gguf_refused(&w, "llama.rope.dimension_count");
    put_config(&w, &c);
    check_gguf_refused(&w, "token_embd.weight");
    model_config_free(&c);
    put_word(&w, "tokenizer.ggml.model", "rwkv");
    assert_int_equal(open_written(&w, &none, &err), ERR_FORMAT);
    assert_non_null(strstr(err.message, "\"rwkv\" is not supported"));
    w = (struct writing){0};
    put_word(&w, "tokenizer.ggml.model", "gpt2");
    put_word(&w, "tokenizer.ggml.pre", "surprise");
    assert_int_equal(open_written(&w, &none, &err), ERR_FORMAT);
    assert_non_null(strstr(err.message, "\"surprise\" is not supported"));
    assert_null(none);
}

/* The trie of a Unigram is as deep as its longest token, and is walked down. */
static void long_tokens_of_a_unigram_are_refused(void **state)
{
    enum { LONG = 4 << 20 };
    struct writing w = {0};
    struct tokenizer *none = NULL;
    struct err err = {0};
    char *token = malloc(LONG + 1);
    (void)state;
    memset(token, 'a', LONG);
    token[LONG] = '\0';
    put_word(&w, "tokenizer.ggml.model", "t5");
    put_list(&w, "tokenizer.ggml.tokens", GGUF_TEXT, 2);
    gguf_put_text(&w.values, "</s>");
    gguf_put_text(&w.values, token);
    put_list(&w, "tokenizer.ggml.scores", GGUF_F32, 2);
    gguf_put_number(&w.values, 0, 4);
    gguf_put_number(&w.values, 0, 4);
    put_whole(&w, "tokenizer.ggml.eos_token_id", 0);
    assert_int_equal(open_written(&w, &none, &err), ERR_LIMIT);
    assert_non_null(strstr(err.message, "token 1 has more than 4096 bytes"));
    assert_null(none);
    free(token);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_logits_as_the_reference),
        cmocka_unit_test(same_ids_as_in_a_folder),
        cmocka_unit_test(same_words_as_in_a_folder),
        cmocka_unit_test(positions_are_scaled_as_files_say),
        cmocka_unit_test(others_are_refused_by_name),
        cmocka_unit_test(long_tokens_of_a_unigram_are_refused),
    };
    return cmocka_run_group_tests(tests, make_model_folder, remove_folder);
}
