#include "model/weights/model_config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/json_members.h"
#include "model/weights/scoring_config.h"

/* Of answers, where config.json has no word about them. */
enum { MAX_PROMPT = 4096, PASSAGES = 8, PASSAGE_TOKENS = 512 };

/* Sizes whose absence is not an error: */
enum { REQUIRED = -1, AS_HEADS = -2, WIDTH_BY_HEADS = -3 };

static int64_t absent_size(const struct model_config *c, int64_t absent)
{
    if (absent == AS_HEADS)
        return (int64_t)c->heads;
    return absent == WIDTH_BY_HEADS ? (int64_t)(c->width / c->heads) : absent;
}

/* Of a bag: one width, and rows for all that its tokenizer has. */
static int take_bag(const cJSON *root, struct model_config *c, struct err *err)
{
    size_t most = c->architecture->context;
    c->heads = c->key_heads = c->head = c->inner = 1;
    int code =
        member_size(root, "hidden_dim", 1, 1 << 20, REQUIRED, &c->width, err);
    if (!code)
        code = member_size(root, "seq_length", 1, 1 << 30, (int64_t)most,
                           &c->context, err);
    c->context = c->context < most ? c->context : most;
    return code;
}

static int take_sizes(const cJSON *root, struct model_config *c,
                      struct err *err)
{
    const struct architecture *a = c->architecture;
    if (a->bag)
        return take_bag(root, c, err);
    const struct {
        const char *name;
        int64_t max, absent;
        size_t *ret;
    } sizes[] = {
        {"vocab_size", 1 << 24, REQUIRED, &c->vocabulary},
        {"hidden_size", 1 << 20, REQUIRED, &c->width},
        {"intermediate_size", 1 << 20, REQUIRED, &c->inner},
        {"num_hidden_layers", CONFIG_MAX_LAYERS, REQUIRED, &c->layers},
        {"num_attention_heads", 1 << 12, REQUIRED, &c->heads},
        {"num_key_value_heads", 1 << 12,
         a->key_heads ? (int64_t)a->key_heads : AS_HEADS, &c->key_heads},
        {"head_dim", 1 << 12, a->head ? (int64_t)a->head : WIDTH_BY_HEADS,
         &c->head},
        {"max_position_embeddings", 1 << 30, (int64_t)a->context, &c->context},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int code =
            member_size(root, sizes[i].name, 1, sizes[i].max,
                        absent_size(c, sizes[i].absent), sizes[i].ret, err);
        if (code)
            return code;
    }
    if (c->heads % c->key_heads)
        return err_set(err, ERR_FORMAT,
                       "%zu attention heads are not a multiple of %zu "
                       "key-value heads",
                       c->heads, c->key_heads);
    if (!a->head && !member_find(root, "head_dim") && c->width % c->heads)
        return err_set(err, ERR_FORMAT,
                       "\"hidden_size\" %zu is not a multiple of %zu heads",
                       c->width, c->heads);
    return member_size(root, "lectern_memory_layers", 1, (int64_t)c->layers,
                       (int64_t)c->layers, &c->memory_layers, err);
}

/* ---- Positions ---- */

static int take_learned(const cJSON *root, struct model_config *c,
                        struct err *err)
{
    const char *kind = "absolute";
    int code = member_text(root, "position_embedding_type", &kind, err);
    if (!code && strcmp(kind, "absolute") != 0)
        code =
            err_set(err, ERR_FORMAT,
                    "position_embedding_type \"%.60s\" is not supported", kind);
    if (!code && c->architecture->offset_positions) {
        code = member_size(root, "pad_token_id", 0, 1 << 24, 1, &c->first, err);
        c->first++;
    }
    if (!code && c->first >= c->context)
        code = member_not(err, "max_position_embeddings",
                          "more than the first position");
    c->context -= code ? 0 : c->first;
    return code;
}

/* ModernBERT's keys, before transformers had them by kind of layer. */
static int take_thetas(const cJSON *root, struct model_config *c,
                       struct err *err)
{
    if (!c->architecture->window_theta || member_find(root, "rope_parameters"))
        return 0;
    double all = c->rotary[0].theta, near = c->architecture->window_theta;
    int code = member_number(root, "global_rope_theta", &all, err);
    if (!code)
        code = member_number(root, "local_rope_theta", &near, err);
    if (!code && (!(all > 0) || !(near > 0)))
        code =
            member_not(err, all > 0 ? "local_rope_theta" : "global_rope_theta",
                       "positive");
    c->rotary[0].theta = all;
    c->rotary[1].theta = near;
    return code;
}

static int take_positions(const cJSON *root, struct model_config *c,
                          struct err *err)
{
    const struct architecture *a = c->architecture;
    int code =
        member_size(root, "type_vocab_size", 1, 1 << 16, 2, &c->types, err);
    if (code)
        return code;
    if (a->positions == POSITIONS_NONE)
        return 0;
    if (a->positions == POSITIONS_LEARNED)
        return take_learned(root, c, err);
    if (c->head % 2)
        return err_set(err, ERR_FORMAT, "\"head_dim\" %zu is odd", c->head);
    code = rotary_from(root, a->theta, c->context, a->rotary_by_kind, c->rotary,
                       err);
    return code ? code : take_thetas(root, c, err);
}

static int take_eps(const cJSON *root, struct model_config *c, struct err *err)
{
    double eps = c->architecture->eps;
    if (!c->architecture->eps_name)
        return 0;
    int code = member_number(root, c->architecture->eps_name, &eps, err);
    c->eps = (float)eps;
    if (!code && (!(c->eps >= 0) || !isfinite(c->eps)))
        code = member_not(err, c->architecture->eps_name, "positive");
    return code;
}

/* ---- What kind ---- */

static int unknown_type(const char *type, struct err *err)
{
    struct buf known = {0};
    for (size_t i = 0; architecture_at(i); i++)
        if (architecture_find(architecture_at(i))->names)
            buf_printf(&known, "%s%s", i ? ", " : "", architecture_at(i));
    int code = err_set(err, ERR_FORMAT,
                       "model_type \"%.60s\" is not supported (these are: "
                       "%s)",
                       type, known.data);
    buf_free(&known);
    return code;
}

static int check_activation(const cJSON *root, const struct architecture *a,
                            struct err *err)
{
    const char *known = a->gate == GATE_SILU ? "silu" : "gelu", *act = known;
    int code = member_text(root, "hidden_act", &act, err);
    if (!code)
        code = member_text(root, "hidden_activation", &act, err);
    if (!code && strcmp(act, known) != 0)
        code = err_set(err, ERR_FORMAT,
                       "hidden_act \"%.60s\" is not supported (%s is)", act,
                       known);
    return code;
}

static int take_biases(const cJSON *root, struct model_config *c,
                       struct err *err)
{
    c->bias = c->inner_bias = c->architecture->bias;
    int code = member_bool(root, "attention_bias", &c->bias, err);
    if (!code)
        code = member_bool(root, "mlp_bias", &c->inner_bias, err);
    c->qkv_bias = c->bias || c->architecture->qkv_bias;
    c->norm_bias = !c->architecture->bare_norms;
    if (!code)
        code = member_bool(root, "norm_bias", &c->norm_bias, err);
    if (!code && ((c->names->qkv && c->qkv_bias) ||
                  (c->names->gate_up && c->inner_bias)))
        code = err_set(err, ERR_FORMAT,
                       "\"attention_bias\" and \"mlp_bias\" of %s are not "
                       "supported",
                       c->architecture->type);
    return code;
}

/* Decoders made over into encoders say so by these: each token sees all others,
 * which the same weights with a causal mask do not compute. */
static int check_causal(const cJSON *root, const struct architecture *a,
                        struct err *err)
{
    bool causal = true, both = false;
    int code = member_bool(root, "is_causal", &causal, err);
    if (!code)
        code = member_bool(root, "use_bidirectional_attention", &both, err);
    if (!code && !a->encoder && (!causal || both))
        code = err_set(err, ERR_FORMAT,
                       "a %s whose tokens see later ones (\"%s\") is not "
                       "supported",
                       a->type,
                       both ? "use_bidirectional_attention" : "is_causal");
    return code;
}

/* A folder without a head says so: its class is the bare model's. */
static bool has_head(const cJSON *root)
{
    static const char bare[] = "Model";
    const char *name = cJSON_GetStringValue(
        cJSON_GetArrayItem(member_find(root, "architectures"), 0));
    size_t size = name ? strlen(name) : 0, tail = sizeof bare - 1;
    return size < tail || strcmp(name + size - tail, bare) != 0;
}

static int take_kind(const cJSON *root, bool gguf, struct model_config *c,
                     struct err *err)
{
    const char *type = "";
    bool decoder = false;
    int code = member_text(root, "model_type", &type, err);
    if (code)
        return code;
    c->architecture = architecture_find(type);
    if (c->architecture)
        c->names = gguf ? c->architecture->gguf_names : c->architecture->names;
    if (!c->names)
        return unknown_type(type, err);
    code = check_activation(root, c->architecture, err);
    if (!code)
        code = take_biases(root, c, err);
    if (!code)
        code = member_bool(root, "is_decoder", &decoder, err);
    if (!code && decoder && c->architecture->encoder)
        code = err_set(err, ERR_FORMAT, "is_decoder is not supported");
    if (!code)
        code = member_bool(root, "tie_word_embeddings", &c->tied, err);
    if (!code)
        code = check_causal(root, c->architecture, err);
    if (!code && member_find(root, "quantization_config"))
        code = err_set(err, ERR_FORMAT, "quantised weights are not supported");
    c->writes = !c->architecture->encoder && (c->tied || has_head(root));
    return code ? code : scoring_from(root, c, err);
}

/* ---- Windows ---- */

static int take_layer_types(const cJSON *types, size_t window,
                            struct model_config *c, struct err *err)
{
    const cJSON *type;
    size_t i = 0;
    if (!cJSON_IsArray(types))
        return member_not(err, "layer_types", "a list");
    if ((size_t)cJSON_GetArraySize(types) != c->layers)
        return err_set(err, ERR_FORMAT,
                       "\"layer_types\" are not as many as layers");
    cJSON_ArrayForEach (type, types) {
        const char *name = cJSON_IsString(type) ? type->valuestring : "";
        bool slides = !strcmp(name, "sliding_attention");
        if (!slides && strcmp(name, "full_attention") != 0)
            return err_set(err, ERR_FORMAT,
                           "layer_type \"%.60s\" is not supported", name);
        if (slides && !window)
            return err_set(err, ERR_FORMAT,
                           "a layer has sliding_attention without a "
                           "\"sliding_window\"");
        c->window[i++] = slides ? window : 0;
    }
    return 0;
}

/* Without `layer_types`. */
static size_t window_of(const struct model_config *c, size_t layer,
                        size_t window, size_t full)
{
    switch (c->architecture->windows) {
    case WINDOWS_ON_REQUEST: return layer >= full ? window : 0;
    case WINDOWS_ALL: return window;
    case WINDOWS_THREE_OF_FOUR: return (layer + 1) % 4 ? window : 0;
    case WINDOWS_FIVE_OF_SIX: return (layer + 1) % 6 ? window : 0;
    case WINDOWS_TWO_OF_THREE: return layer % full ? window : 0;
    default: return 0;
    }
}

/* Of families that have no other attention of their own. */
static int take_windows(const cJSON *root, struct model_config *c,
                        struct err *err)
{
    size_t window = 0, full;
    const struct architecture *a = c->architecture;
    const char *name = a->window_name ? a->window_name : "sliding_window";
    const cJSON *types = member_find(root, "layer_types");
    const cJSON *none = cJSON_GetObjectItemCaseSensitive(root, name);
    bool slides =
        a->windows != WINDOWS_NONE && a->windows != WINDOWS_ON_REQUEST;
    int code = 0;
    if (a->windows == WINDOWS_ON_REQUEST)
        code = member_bool(root, "use_sliding_window", &slides, err);
    if (!code && slides && !cJSON_IsNull(none)) /* null: no window */
        code = member_size(root, name, a->encoder ? 2 : 1, 1 << 30,
                           a->window_name ? 128 : 4096, &window, err);
    if (!code && a->windows == WINDOWS_TWO_OF_THREE)
        code = member_size(root, "global_attn_every_n_layers", 1, 1 << 20, 3,
                           &full, err);
    else if (!code)
        code =
            member_size(root, "max_window_layers", 0, 1 << 20, 28, &full, err);
    if (code)
        return code;
    if (a->encoder)
        window /= 2;
    if (types)
        return take_layer_types(types, window, c, err);
    for (size_t i = 0; i < c->layers; i++)
        c->window[i] = window_of(c, i, window, full);
    return 0;
}

static int take_hils(const cJSON *root, struct model_config *c, struct err *err)
{
    bool whole = c->architecture->head_norm == HEAD_NORM_WHOLE;
    if (c->head * c->heads != c->width)
        return err_set(err, ERR_FORMAT,
                       "\"head_dim\" %zu is not \"hidden_size\" by heads, as "
                       "it must be with HiLS attention",
                       c->head);
    int code = hils_from(root, whole, c->layers, c->context, &c->attention,
                         c->rotary, err);
    for (size_t i = 0; i < c->layers && !code; i++)
        c->window[i] = hils_layer(&c->attention, i)
                           ? 0
                           : c->attention.hils.window_of_others;
    return code;
}

static int take_attention(const cJSON *root, struct model_config *c,
                          struct err *err)
{
    c->window = mem_alloc(c->layers * sizeof *c->window);
    if (c->architecture->hils)
        return take_hils(root, c, err);
    int code = attention_from(root, &c->attention, err);
    if (!code)
        code = take_windows(root, c, err);
    if (code || c->attention.kind == ATTENTION_FULL)
        return code;
    if (c->scores)
        return err_set(err, ERR_FORMAT,
                       "a reranker with \"lectern_attention\" is not "
                       "supported");
    if (c->architecture->encoder)
        return err_set(err, ERR_FORMAT,
                       "\"lectern_attention\" is for decoders, not for %s",
                       c->architecture->type);
    for (size_t i = 0; i < c->layers; i++)
        if (c->window[i])
            return err_set(err, ERR_FORMAT,
                           "\"lectern_attention\" with a \"sliding_window\" "
                           "is not supported");
    return 0;
}

/* A whole number; what is no id of the vocabulary never comes up. */
static int take_stop(struct model_config *c, const cJSON *id, struct err *err)
{
    double value = cJSON_IsNumber(id) ? id->valuedouble : 0.5;
    if (floor(value) != value)
        return member_not(err, "eos_token_id",
                          "a whole number or a list of them");
    if (value >= 0 && value < (double)c->vocabulary &&
        c->eos_count < CONFIG_MAX_EOS_IDS)
        c->eos_ids[c->eos_count++] = (int32_t)value;
    return 0;
}

/* One id or a list of them. */
static int take_eos_ids(struct model_config *c, const cJSON *root,
                        struct err *err)
{
    const cJSON *ids = member_find(root, "eos_token_id"), *id;
    int code = 0;
    if (!ids)
        return 0;
    c->eos_count = 0;
    if (!cJSON_IsArray(ids))
        return take_stop(c, ids, err);
    cJSON_ArrayForEach (id, ids)
        if (!code)
            code = take_stop(c, id, err);
    return code;
}

/* Three passages at least find room. */
static int64_t passage_tokens(size_t prompt_tokens)
{
    size_t third = prompt_tokens / 3 + 1;
    return third < PASSAGE_TOKENS ? (int64_t)third : PASSAGE_TOKENS;
}

/* "lectern": {"prompt_tokens":n,"passages":n,"passage_tokens":n,
 * "answer_threshold":x,"copies":true}, of which any may be absent. */
static int take_answering(const cJSON *root, struct model_config *c,
                          struct err *err)
{
    const cJSON *object = member_find(root, "lectern");
    struct answering *ret = &c->answering;
    int64_t half = c->context / 2 ? (int64_t)(c->context / 2) : 1;
    ret->threshold = -INFINITY;
    if (object && !cJSON_IsObject(object))
        return member_not(err, "lectern", "an object");
    int code = member_size(object, "prompt_tokens", 1, 1 << 30,
                           half < MAX_PROMPT ? half : MAX_PROMPT,
                           &ret->prompt_tokens, err);
    if (!code)
        code = member_size(object, "passages", 1, 99, PASSAGES, &ret->passages,
                           err);
    if (!code)
        code = member_size(object, "passage_tokens", 1, 1 << 20,
                           passage_tokens(ret->prompt_tokens),
                           &ret->passage_tokens, err);
    if (!code)
        code = member_number(object, "answer_threshold", &ret->threshold, err);
    if (!code)
        code = member_bool(object, "copies", &ret->copies, err);
    return code;
}

static int take_generation(struct slice text, struct model_config *c,
                           struct err *err)
{
    cJSON *root;
    if (!text.size)
        return 0;
    int code = json_parse(text, &root, err);
    if (code)
        return code;
    code = take_eos_ids(c, root, err);
    cJSON_Delete(root);
    return code;
}

/* Takes "lectern" out: what it says changes no memory. */
static struct hash128 hash_of(cJSON *root)
{
    cJSON_DeleteItemFromObjectCaseSensitive(root, "lectern");
    char *text = cJSON_PrintUnformatted(root);
    struct hash128 hash = hash_bytes(text ? text : "", text ? strlen(text) : 0);
    cJSON_free(text);
    return hash;
}

static int config_from(struct slice config, struct slice generation, bool gguf,
                       struct model_config *ret, struct err *err)
{
    struct model_config c = {0};
    cJSON *root;
    int code = json_parse(config, &root, err);
    if (code)
        return code;
    code = take_kind(root, gguf, &c, err);
    if (!code)
        code = take_sizes(root, &c, err);
    if (!code)
        code = take_positions(root, &c, err);
    if (!code)
        code = take_eps(root, &c, err);
    if (!code)
        code = take_attention(root, &c, err);
    if (!code)
        code = take_eos_ids(&c, root, err);
    if (!code)
        code = take_answering(root, &c, err);
    if (!code)
        code = take_generation(generation, &c, err);
    c.max = c.context;
    if (!code)
        c.hash = hash_of(root);
    cJSON_Delete(root);
    if (code)
        model_config_free(&c);
    else
        *ret = c;
    return code;
}

int model_config_from(struct slice config, struct slice generation,
                      struct model_config *ret, struct err *err)
{
    return config_from(config, generation, false, ret, err);
}

int model_config_of_gguf(struct slice config, struct model_config *ret,
                         struct err *err)
{
    return config_from(config, (struct slice){"", 0}, true, ret, err);
}

void model_config_free(struct model_config *config)
{
    free(config->window);
    free(config->scoring.prompt);
    free(config->scoring.words[0]);
    free(config->scoring.words[1]);
    *config = (struct model_config){0};
}
