#include "model/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

/* Of answers, where config.json has no word about them. */
enum { MOST_PROMPT = 4096, PASSAGES = 8, PASSAGE_TOKENS = 512 };

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNull(item) ? NULL : item;
}

/* A whole number in [least, most]; `absent` when there is none, ERR_FORMAT when
 * that is negative. */
static int take_size(const cJSON *root, const char *name, int64_t least,
                     int64_t most, int64_t absent, size_t *ret, struct err *err)
{
    const cJSON *item = member(root, name);
    if (!item && absent < 0)
        return err_set(err, ERR_FORMAT, "\"%s\" is missing", name);
    double value = item ? -1 : (double)absent;
    if (cJSON_IsNumber(item))
        value = item->valuedouble;
    if (!(value >= (double)least && value <= (double)most) ||
        floor(value) != value)
        return err_set(err, ERR_FORMAT,
                       "\"%s\" is not a whole number from %lld to %lld", name,
                       (long long)least, (long long)most);
    *ret = (size_t)value;
    return 0;
}

static int take_sizes(const cJSON *root, struct model_config *c,
                      struct err *err)
{
    const struct {
        const char *name;
        int64_t most, absent;
        size_t *ret;
    } sizes[] = {
        {"vocab_size", 1 << 24, -1, &c->vocabulary},
        {"hidden_size", 1 << 20, -1, &c->width},
        {"intermediate_size", 1 << 20, -1, &c->inner},
        {"num_hidden_layers", CONFIG_MOST_LAYERS, -1, &c->layers},
        {"num_attention_heads", 1 << 12, -1, &c->heads},
        {"num_key_value_heads", 1 << 12, -2, &c->key_heads},
        {"head_dim", 1 << 12, 128, &c->head},
        {"max_position_embeddings", 1 << 30, 32768, &c->context},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t absent = sizes[i].absent;
        if (absent == -2) /* as the heads, which come before */
            absent = (int64_t)c->heads;
        int code = take_size(root, sizes[i].name, 1, sizes[i].most, absent,
                             sizes[i].ret, err);
        if (code)
            return code;
    }
    if (c->heads % c->key_heads)
        return err_set(err, ERR_FORMAT,
                       "%zu attention heads are not a multiple of %zu "
                       "key-value heads",
                       c->heads, c->key_heads);
    if (c->head % 2)
        return err_set(err, ERR_FORMAT, "\"head_dim\" %zu is odd", c->head);
    return 0;
}

static int not_a(struct err *err, const char *name, const char *what)
{
    return err_set(err, ERR_FORMAT, "\"%s\" is not %s", name, what);
}

/* The members below keep what *ret has when they are absent. */
static int take_bool(const cJSON *root, const char *name, bool *ret,
                     struct err *err)
{
    const cJSON *item = member(root, name);
    if (item && !cJSON_IsBool(item))
        return not_a(err, name, "true or false");
    *ret = item ? cJSON_IsTrue(item) : *ret;
    return 0;
}

static int take_text(const cJSON *root, const char *name, const char **ret,
                     struct err *err)
{
    const cJSON *item = member(root, name);
    if (item && !cJSON_IsString(item))
        return not_a(err, name, "a text");
    *ret = item ? item->valuestring : *ret;
    return 0;
}

static int take_number(const cJSON *root, const char *name, double *ret,
                       struct err *err)
{
    const cJSON *item = member(root, name);
    if (item && !cJSON_IsNumber(item))
        return not_a(err, name, "a number");
    *ret = item ? item->valuedouble : *ret;
    return 0;
}

/* What this file does not compute must be off. */
static int check_kind(const cJSON *root, struct err *err)
{
    const char *type = "", *act = "silu";
    bool bias = false;
    int code = take_text(root, "model_type", &type, err);
    if (!code)
        code = take_text(root, "hidden_act", &act, err);
    if (!code)
        code = take_bool(root, "attention_bias", &bias, err);
    if (code)
        return code;
    if (strcmp(type, "qwen3") != 0)
        return err_set(err, ERR_FORMAT,
                       "model_type \"%.60s\" is not supported (qwen3 is)",
                       type);
    if (strcmp(act, "silu") != 0)
        return err_set(err, ERR_FORMAT, "hidden_act \"%.60s\" is not supported",
                       act);
    if (bias)
        return err_set(err, ERR_FORMAT, "attention_bias is not supported");
    if (member(root, "quantization_config"))
        return err_set(err, ERR_FORMAT, "quantised weights are not supported");
    return 0;
}

static int check_whole(const cJSON *object, struct err *err)
{
    double part = 1;
    int code = take_number(object, "partial_rotary_factor", &part, err);
    if (!code && part != 1)
        code =
            err_set(err, ERR_FORMAT, "partial_rotary_factor is not supported");
    return code;
}

/* One of the objects that may say how positions are turned: it must not say
 * anything but the plain way, and the same for all layers. */
static int take_rotary_object(const cJSON *root, const char *name,
                              double *theta, struct err *err)
{
    static const char *const kinds[] = {"rope_type", "type"};
    const cJSON *object = member(root, name), *item;
    int code = 0;
    if (!object)
        return 0;
    if (!cJSON_IsObject(object))
        return not_a(err, name, "an object");
    cJSON_ArrayForEach (item, object)
        if (cJSON_IsObject(item))
            return err_set(err, ERR_FORMAT,
                           "\"%s\" for each type of layer (\"%.60s\") is not "
                           "supported",
                           name, item->string);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *kind = "default";
        code = take_text(object, kinds[i], &kind, err);
        if (code)
            return code;
        if (strcmp(kind, "default") != 0)
            return err_set(err, ERR_FORMAT,
                           "rope_type \"%.60s\" is not supported", kind);
    }
    code = check_whole(object, err);
    return code ? code : take_number(object, "rope_theta", theta, err);
}

/* rope_theta and rope_scaling, or transformers 5's rope_parameters. */
static int take_rotary(const cJSON *root, struct model_config *c,
                       struct err *err)
{
    double by_parameters = NAN, by_scaling = NAN, eps = 1e-6;
    c->theta = 10000;
    int code = take_number(root, "rope_theta", &c->theta, err);
    if (!code)
        code = check_whole(root, err);
    if (!code)
        code = take_rotary_object(root, "rope_parameters", &by_parameters, err);
    if (!code)
        code = take_rotary_object(root, "rope_scaling", &by_scaling, err);
    if (!code)
        code = take_number(root, "rms_norm_eps", &eps, err);
    if (code)
        return code;
    if (isless(by_parameters, by_scaling) ||
        isgreater(by_parameters, by_scaling))
        return err_set(err, ERR_FORMAT,
                       "two \"rope_theta\" that differ: %g and %g",
                       by_parameters, by_scaling);
    if (!isnan(by_scaling))
        c->theta = by_scaling;
    if (!isnan(by_parameters))
        c->theta = by_parameters;
    if (!(c->theta > 0) || !isfinite(c->theta))
        return not_a(err, "rope_theta", "positive");
    c->eps = (float)eps;
    if (!(c->eps >= 0) || !isfinite(c->eps))
        return not_a(err, "rms_norm_eps", "positive");
    return 0;
}

static int take_layer_types(const cJSON *types, size_t window,
                            struct model_config *c, struct err *err)
{
    const cJSON *type;
    size_t i = 0;
    if (!cJSON_IsArray(types))
        return not_a(err, "layer_types", "a list");
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

static int take_windows(const cJSON *root, struct model_config *c,
                        struct err *err)
{
    size_t window = 0, full;
    const cJSON *types = member(root, "layer_types");
    const cJSON *none =
        cJSON_GetObjectItemCaseSensitive(root, "sliding_window");
    bool slides = false;
    int code = take_bool(root, "use_sliding_window", &slides, err);
    if (!code && slides && !cJSON_IsNull(none)) /* null: no window */
        code =
            take_size(root, "sliding_window", 1, 1 << 30, 4096, &window, err);
    if (!code)
        code = take_size(root, "max_window_layers", 0, 1 << 20, 28, &full, err);
    if (code)
        return code;
    c->window = mem_alloc(c->layers * sizeof *c->window);
    if (types)
        return take_layer_types(types, window, c, err);
    for (size_t i = 0; i < c->layers; i++)
        c->window[i] = i >= full ? window : 0;
    return 0;
}

/* A whole number; what is no id of the vocabulary never comes up. */
static int take_stop(struct model_config *c, const cJSON *id, struct err *err)
{
    double value = cJSON_IsNumber(id) ? id->valuedouble : 0.5;
    if (floor(value) != value)
        return not_a(err, "eos_token_id", "a whole number or a list of them");
    if (value >= 0 && value < (double)c->vocabulary &&
        c->stop_count < CONFIG_MOST_STOPS)
        c->stops[c->stop_count++] = (int32_t)value;
    return 0;
}

/* One id or a list of them. */
static int take_stops(struct model_config *c, const cJSON *root,
                      struct err *err)
{
    const cJSON *ids = member(root, "eos_token_id"), *id;
    int code = 0;
    if (!ids)
        return 0;
    c->stop_count = 0;
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
 * "answer_threshold":x}, of which any may be absent. */
static int take_answering(const cJSON *root, struct model_config *c,
                          struct err *err)
{
    const cJSON *object = member(root, "lectern");
    struct answering *ret = &c->answering;
    int64_t half = c->context / 2 ? (int64_t)(c->context / 2) : 1;
    ret->threshold = -INFINITY;
    if (object && !cJSON_IsObject(object))
        return not_a(err, "lectern", "an object");
    int code = take_size(object, "prompt_tokens", 1, 1 << 30,
                         half < MOST_PROMPT ? half : MOST_PROMPT,
                         &ret->prompt_tokens, err);
    if (!code)
        code =
            take_size(object, "passages", 1, 99, PASSAGES, &ret->passages, err);
    if (!code)
        code = take_size(object, "passage_tokens", 1, 1 << 20,
                         passage_tokens(ret->prompt_tokens),
                         &ret->passage_tokens, err);
    if (!code)
        code = take_number(object, "answer_threshold", &ret->threshold, err);
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
    code = take_stops(c, root, err);
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

int model_config_from(struct slice config, struct slice generation,
                      struct model_config *ret, struct err *err)
{
    struct model_config c = {0};
    cJSON *root;
    int code = json_parse(config, &root, err);
    if (code)
        return code;
    code = check_kind(root, err);
    if (!code)
        code = take_sizes(root, &c, err);
    if (!code)
        code = take_rotary(root, &c, err);
    if (!code)
        code = take_windows(root, &c, err);
    if (!code)
        code = take_bool(root, "tie_word_embeddings", &c.tied, err);
    if (!code)
        code = take_stops(&c, root, err);
    if (!code)
        code = take_answering(root, &c, err);
    if (!code)
        code = take_generation(generation, &c, err);
    if (!code)
        c.hash = hash_of(root);
    cJSON_Delete(root);
    if (code)
        model_config_free(&c);
    else
        *ret = c;
    return code;
}

void model_config_free(struct model_config *config)
{
    free(config->window);
    *config = (struct model_config){0};
}
