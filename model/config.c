#include "model/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"

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

/* What this file does not compute must be off. */
static int check_kind(const cJSON *root, struct err *err)
{
    const char *type = json_get_text(root, "model_type", "");
    const char *act = json_get_text(root, "hidden_act", "silu");
    if (strcmp(type, "qwen3") != 0)
        return err_set(err, ERR_FORMAT,
                       "model_type \"%.60s\" is not supported (qwen3 is)",
                       type);
    if (strcmp(act, "silu") != 0)
        return err_set(err, ERR_FORMAT, "hidden_act \"%.60s\" is not supported",
                       act);
    if (json_get_bool(root, "attention_bias", false))
        return err_set(err, ERR_FORMAT, "attention_bias is not supported");
    if (member(root, "quantization_config"))
        return err_set(err, ERR_FORMAT, "quantised weights are not supported");
    return 0;
}

/* rope_theta and rope_scaling, or transformers 5's rope_parameters. */
static int take_rotary(const cJSON *root, struct model_config *c,
                       struct err *err)
{
    const cJSON *parameters = member(root, "rope_parameters");
    const cJSON *scaling =
        parameters ? parameters : member(root, "rope_scaling");
    const char *type = json_get_text(scaling, "rope_type", NULL);
    type = type ? type : json_get_text(scaling, "type", "default");
    if (strcmp(type, "default") != 0)
        return err_set(err, ERR_FORMAT, "rope_type \"%.60s\" is not supported",
                       type);
    c->theta = json_get_double(root, "rope_theta", 10000);
    c->theta = json_get_double(parameters, "rope_theta", c->theta);
    if (!(c->theta > 0) || !isfinite(c->theta))
        return err_set(err, ERR_FORMAT, "\"rope_theta\" is not positive");
    if (json_get_double(parameters, "partial_rotary_factor", 1) < 1)
        return err_set(err, ERR_FORMAT,
                       "partial_rotary_factor is not supported");
    c->eps = (float)json_get_double(root, "rms_norm_eps", 1e-6);
    if (!(c->eps >= 0) || !isfinite(c->eps))
        return err_set(err, ERR_FORMAT, "\"rms_norm_eps\" is not positive");
    return 0;
}

static int take_layer_types(const cJSON *types, size_t window,
                            struct model_config *c, struct err *err)
{
    const cJSON *type;
    size_t i = 0;
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
    bool slides = json_get_bool(root, "use_sliding_window", false);
    int code = 0;
    if (slides)
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

static void take_stop(struct model_config *c, const cJSON *id)
{
    if (cJSON_IsNumber(id) && id->valuedouble >= 0 &&
        id->valuedouble < (double)c->vocabulary &&
        c->stop_count < CONFIG_MOST_STOPS)
        c->stops[c->stop_count++] = (int32_t)id->valuedouble;
}

/* One id or a list of them. */
static void take_stops(struct model_config *c, const cJSON *root)
{
    const cJSON *ids = member(root, "eos_token_id"), *id;
    if (!ids)
        return;
    c->stop_count = 0;
    take_stop(c, ids);
    if (cJSON_IsArray(ids))
        cJSON_ArrayForEach (id, ids)
            take_stop(c, id);
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
    take_stops(c, root);
    cJSON_Delete(root);
    return 0;
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
    if (!code) {
        c.tied = json_get_bool(root, "tie_word_embeddings", false);
        take_stops(&c, root);
        code = take_generation(generation, &c, err);
    }
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
