#include "model/weights/gguf_config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

enum { MAX_ENDS = 8 /* tokens that end a turn, besides "eos" and "eot" */ };

/* The keys of one architecture, and where they go. */
struct keys {
    const struct gguf *gguf;
    const char *architecture;
    struct json json;
    struct err *err;
};

static const struct gguf_value *find(const struct keys *k, const char *name)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", k->architecture, name);
    return gguf_find(k->gguf, key);
}

static int bad(const struct keys *k, const char *name, const char *what)
{
    return err_set(k->err, ERR_FORMAT, "%s.%s %s", k->architecture, name, what);
}

static void put_number(struct json *json, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.17g", value);
    json_key(json, name);
    json_raw(json, slice_of(text));
}

/* ---- Numbers ---- */

static const struct number_key {
    const char *name, *to; /* here and in config.json */
    bool needed;
} numbers[] = {
    {"block_count", "num_hidden_layers", true},
    {"context_length", "max_position_embeddings", true},
    {"embedding_length", "hidden_size", true},
    {"feed_forward_length", "intermediate_size", true},
    {"attention.head_count", "num_attention_heads", true},
    {"attention.head_count_kv", "num_key_value_heads", false},
    {"attention.key_length", "head_dim", false},
    {"rope.freq_base", "rope_theta", false},
    {"attention.sliding_window", "sliding_window", false},
};

/* A single number; *ret stays where there is none that must be. */
static int get_number(const struct keys *k, const char *name, bool needed,
                      double *ret)
{
    const struct gguf_value *v = find(k, name);
    if (!v && needed)
        return bad(k, name, "is missing");
    if (v && (v->list || !gguf_number(v, 0, ret) || !isfinite(*ret)))
        return bad(k, name, "is no number");
    return 0;
}

static int put_numbers(struct keys *k, const struct architecture *a)
{
    const char *eps = a->norm == NORM_LAYER
                          ? "attention.layer_norm_epsilon"
                          : "attention.layer_norm_rms_epsilon";
    double value = NAN;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int code = get_number(k, numbers[i].name, numbers[i].needed, &value);
        if (code)
            return code;
        if (!isnan(value))
            put_number(&k->json, numbers[i].to, value);
        value = NAN;
    }
    int code = get_number(k, eps, true, &value);
    if (!code)
        put_number(&k->json, a->eps_name, value);
    return code;
}

/* What has one value that is supported. */
static int check_sizes(const struct keys *k)
{
    double width = NAN, heads = NAN, head = NAN, value = NAN, rotary = NAN,
           experts = 0;
    int code = get_number(k, "embedding_length", true, &width);
    if (!code)
        code = get_number(k, "attention.head_count", true, &heads);
    head = width / heads;
    if (!code)
        code = get_number(k, "attention.key_length", false, &head);
    value = rotary = head;
    if (!code)
        code = get_number(k, "attention.value_length", false, &value);
    if (!code)
        code = get_number(k, "rope.dimension_count", false, &rotary);
    if (!code)
        code = get_number(k, "expert_count", false, &experts);
    if (!code && value != head)
        code = bad(k, "attention.value_length",
                   "is not that of keys, which is not supported");
    if (!code && rotary != head)
        code = bad(k, "rope.dimension_count",
                   "is not all of a head, which is not supported");
    if (!code && experts != 0)
        code = bad(k, "expert_count", "is not supported");
    return code;
}

/* What Gemma's files may say, or are known by, that is not supported. */
static int check_gemma(const struct keys *k)
{
    enum { LAYERS_OF_27B = 62 };
    double layers = 0, pattern = 6, cap = 0;
    int code = get_number(k, "block_count", true, &layers);
    if (!code)
        code =
            get_number(k, "attention.sliding_window_pattern", false, &pattern);
    if (!code)
        code = get_number(k, "final_logit_softcapping", false, &cap);
    if (!code && layers == LAYERS_OF_27B)
        code = bad(k, "block_count",
                   "is that of 27B, whose scores are scaled otherwise, which "
                   "is not supported");
    if (!code && pattern != 6)
        code = bad(k, "attention.sliding_window_pattern", "is not 6");
    if (!code && cap != 0)
        code = bad(k, "final_logit_softcapping", "is not supported");
    return code;
}

/* Whether tokens see later ones, as in the family they must or must not. */
static int check_causal(const struct keys *k, const struct architecture *a)
{
    const struct gguf_value *v = find(k, "attention.causal");
    bool causal = !a->encoder;
    if (v && !gguf_bool(v, &causal))
        return bad(k, "attention.causal", "is no bool");
    if (causal == a->encoder)
        return bad(k, "attention.causal",
                   a->encoder ? "is true, which is not supported"
                              : "is false, which is not supported");
    return 0;
}

/* ---- Positions ---- */

/* What else may scale, each with the value at which it does not. */
static int check_scaling(const struct keys *k)
{
    static const struct {
        const char *name;
        double value;
    } plain[] = {{"rope.scaling.attn_factor", 1},
                 {"rope.scaling.yarn_ext_factor", 1},
                 {"rope.scaling.yarn_attn_factor", 1}};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        double value = plain[i].value;
        int code = get_number(k, plain[i].name, false, &value);
        if (!code && value != plain[i].value)
            code = bad(k, plain[i].name, "is not 1, which is not supported");
        if (code)
            return code;
    }
    return 0;
}

static int put_yarn(struct keys *k)
{
    static const struct number_key keys[] = {
        {"rope.scaling.original_context_length",
         "original_max_position_embeddings", true},
        {"rope.scaling.yarn_beta_fast", "beta_fast", false},
        {"rope.scaling.yarn_beta_slow", "beta_slow", false}};
    int code = 0;
    for (size_t i = 0; !code && i < sizeof keys / sizeof keys[0]; i++) {
        double value = NAN;
        code = get_number(k, keys[i].name, keys[i].needed, &value);
        if (!code && !isnan(value))
            put_number(&k->json, keys[i].to, value);
    }
    return code;
}

/* The members of an object that says how frequencies are scaled: with a factor
 * and no type, evenly.  The factor once had another name. */
static int put_scaling(struct keys *k)
{
    const struct gguf_value *v = find(k, "rope.scaling.type");
    double factor = 0;
    int code = get_number(k, "rope.scale_linear", false, &factor);
    if (!code)
        code = get_number(k, "rope.scaling.factor", false, &factor);
    if (!code)
        code = check_scaling(k);
    if (code)
        return code;
    bool scaled = factor != 0 && factor != 1;
    struct slice type = slice_of(scaled ? "linear" : "none");
    if (v && !gguf_text(v, &type))
        return bad(k, "rope.scaling.type", "is no text");
    if (slice_is(type, "none")) {
        json_field_text(&k->json, "rope_type", "default");
        return 0;
    }
    if (!slice_is(type, "linear") && !slice_is(type, "yarn"))
        return bad(k, "rope.scaling.type", "is not none, linear or yarn");
    if (factor == 0)
        return bad(k, "rope.scaling.factor", "is missing");
    json_field_string(&k->json, "rope_type", type);
    put_number(&k->json, "factor", factor);
    return slice_is(type, "yarn") ? put_yarn(k) : 0;
}

/* Layers with a window may turn by frequencies of their own, never scaled. */
static int put_rotary(struct keys *k, const struct architecture *a)
{
    double theta = a->window_theta;
    bool apart = theta > 0;
    json_key(&k->json, apart ? "rope_parameters" : "rope_scaling");
    json_begin(&k->json, '{');
    if (apart) {
        json_key(&k->json, "full_attention");
        json_begin(&k->json, '{');
    }
    int code = put_scaling(k);
    json_end(&k->json, '}');
    if (code || !apart)
        return code;
    code = get_number(k, "rope.freq_base_swa", false, &theta);
    json_key(&k->json, "sliding_attention");
    json_begin(&k->json, '{');
    json_field_text(&k->json, "rope_type", "default");
    put_number(&k->json, "rope_theta", theta);
    json_end(&k->json, '}');
    json_end(&k->json, '}');
    return code;
}

/* ---- The vocabulary ---- */

/* By which models say that their turn has ended, whatever "eos" is. */
static bool ends_turn(struct slice text)
{
    static const char *const ends[] = {
        "<|im_end|>",    "<|eot_id|>",    "<|eom_id|>",     "<|end|>",
        "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (slice_is(text, ends[i]))
            return true;
    return false;
}

static void put_ends(struct keys *k)
{
    static const char *const names[] = {"tokenizer.ggml.eos_token_id",
                                        "tokenizer.ggml.eot_token_id",
                                        "tokenizer.ggml.eom_token_id"};
    const struct gguf_value *v = gguf_find(k->gguf, "tokenizer.ggml.tokens");
    struct slice text;
    size_t at = 0, found = 0;
    double id;
    json_key(&k->json, "eos_token_id");
    json_begin(&k->json, '[');
    for (int64_t i = 0; v && gguf_next_text(v, &at, &text); i++)
        if (ends_turn(text) && found++ < MAX_ENDS)
            json_int(&k->json, i);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        v = gguf_find(k->gguf, names[i]);
        if (v && gguf_number(v, 0, &id) && id >= 0 && id < INT32_MAX)
            json_int(&k->json, (int64_t)id);
    }
    json_end(&k->json, ']');
}

static const struct tensor *tensor_of(const struct gguf *gguf, const char *part)
{
    char name[64];
    snprintf(name, sizeof name, "%s.weight", part);
    for (size_t i = 0; i < gguf_count(gguf); i++)
        if (!strcmp(gguf_at(gguf, i)->name.data, name))
            return gguf_at(gguf, i);
    return NULL;
}

static int put_vocabulary(struct keys *k, const struct tensor_names *names)
{
    const struct tensor *rows = tensor_of(k->gguf, names->embedding);
    if (!rows || rows->shape[0] > INT32_MAX)
        return err_set(k->err, ERR_FORMAT, "there is no tensor %s.weight",
                       names->embedding);
    json_field_int(&k->json, "vocab_size", (int64_t)rows->shape[0]);
    json_field_bool(&k->json, "tie_word_embeddings",
                    names->head && !tensor_of(k->gguf, names->head));
    rows = names->types ? tensor_of(k->gguf, names->types) : NULL;
    if (rows)
        json_field_int(&k->json, "type_vocab_size",
                       rows->rank == 2 && rows->shape[0] < INT32_MAX
                           ? (int64_t)rows->shape[0]
                           : 1);
    put_ends(k);
    return 0;
}

/* In which order the two labels stand: as the file says, "yes" first when it does
 * not. */
static void put_labels(struct keys *k)
{
    const struct gguf_value *v = find(k, "classifier.output_labels");
    struct slice label = {"yes", 3};
    size_t at = 0;
    if (v && !gguf_next_text(v, &at, &label))
        label = (struct slice){"", 0};
    json_key(&k->json, "rerank_labels");
    json_begin(&k->json, '[');
    json_text(&k->json, slice_is(label, "no") ? "no" : "yes");
    json_text(&k->json, slice_is(label, "no") ? "yes" : "no");
    json_end(&k->json, ']');
}

/* A decoder's frame is a template of its own, with {query} and {document}; its
 * score two rows of weights, or, where there are none, those of the tokens. */
static int put_decoder_scores(struct keys *k, const struct architecture *a)
{
    static const char name[] = "tokenizer.chat_template.rerank";
    const struct gguf_value *v = gguf_find(k->gguf, name);
    struct slice prompt;
    if (!v || !gguf_text(v, &prompt))
        return err_set(k->err, ERR_FORMAT,
                       "%s is missing, which says what such a reranker reads",
                       name);
    json_key(&k->json, "lectern");
    json_begin(&k->json, '{');
    json_field_string(&k->json, "rerank_prompt", prompt);
    if (tensor_of(k->gguf, a->gguf_names->score))
        put_labels(k);
    json_end(&k->json, '}');
    return 0;
}

/* As the class of a folder's model says it. */
static int put_scores(struct keys *k, const struct architecture *a)
{
    enum { RANK = 4 };
    double pooling = 0;
    int code = get_number(k, "pooling_type", false, &pooling);
    if (code || pooling != RANK)
        return code;
    if (!a->gguf_names->score)
        return bad(k, "pooling_type", "is rank, which is not supported");
    if (!a->encoder)
        return put_decoder_scores(k, a);
    json_key(&k->json, "architectures");
    json_begin(&k->json, '[');
    json_text(&k->json, "GgufForSequenceClassification");
    json_end(&k->json, ']');
    json_key(&k->json, "id2label");
    json_begin(&k->json, '{');
    json_field_text(&k->json, "0", "");
    json_end(&k->json, '}');
    return 0;
}

/* ---- All ---- */

static const struct architecture *architecture_of(const struct gguf *gguf,
                                                  struct err *err)
{
    const struct gguf_value *v = gguf_find(gguf, "general.architecture");
    const struct architecture *a = NULL;
    struct slice type = {"", 0};
    struct buf known = {0};
    if (v && gguf_text(v, &type))
        for (size_t i = 0; architecture_at(i) && !a; i++)
            if (slice_is(type, architecture_at(i)))
                a = architecture_find(architecture_at(i));
    if (a && a->gguf_names)
        return a;
    for (size_t i = 0; architecture_at(i); i++)
        if (architecture_find(architecture_at(i))->gguf_names)
            buf_printf(&known, "%s%s", known.size ? ", " : "",
                       architecture_at(i));
    err_set(err, ERR_FORMAT,
            "general.architecture \"%.*s\" is not supported (these are: %s)",
            type.size < 60 ? (int)type.size : 60, type.data, known.data);
    buf_free(&known);
    return NULL;
}

int gguf_config_json(const struct gguf *gguf, struct buf *ret, struct err *err)
{
    const struct architecture *a = architecture_of(gguf, err);
    if (!a)
        return ERR_FORMAT;
    struct keys k = {gguf, a->type, json_to(ret), err};
    json_begin(&k.json, '{');
    json_field_text(&k.json, "model_type", a->type);
    int code = check_sizes(&k);
    if (!code)
        code = check_causal(&k, a);
    if (!code && a->scaled_embedding)
        code = check_gemma(&k);
    if (!code)
        code = put_numbers(&k, a);
    if (!code)
        code = put_rotary(&k, a);
    if (!code)
        code = put_scores(&k, a);
    if (!code)
        code = put_vocabulary(&k, a->gguf_names);
    json_end(&k.json, '}');
    return code;
}

int gguf_config_from(const struct gguf *gguf, struct model_config *ret,
                     struct err *err)
{
    struct buf json = {0};
    int code = gguf_config_json(gguf, &json, err);
    if (!code)
        code = model_config_of_gguf(buf_slice(&json), ret, err);
    buf_free(&json);
    return code;
}
