#include "model/inference/sparse_config.h"

#include <math.h>
#include <string.h>

#include "model/json_members.h"

static const double PI = 3.14159265358979323846;

static const char *const names[] = {[ATTENTION_FULL] = "full",
                                    [ATTENTION_HILS] = "hils",
                                    [ATTENTION_STAR] = "star",
                                    [ATTENTION_HICI] = "hici"};

const char *attention_name(int kind)
{
    return names[kind];
}

bool hils_layer(const struct attention_config *a, size_t layer)
{
    const struct hils_config *h = &a->hils;
    return a->kind == ATTENTION_HILS && h->every && layer >= h->first &&
           (layer - h->first) % h->every == h->every - 1;
}

/* ---- HiLS ---- */

/* A key by the name it has now or had at first; both must not be there. */
struct renamed {
    const char *now, *once;
};

static int name_in(const cJSON *root, struct renamed key, const char **ret,
                   struct err *err)
{
    *ret = member_find(root, key.once) ? key.once : key.now;
    if (member_find(root, key.now) && member_find(root, key.once))
        return err_set(err, ERR_FORMAT, "both \"%s\" and \"%s\"", key.now,
                       key.once);
    return 0;
}

/* Where these are absent they are as what is supported. */
static int check_hils(const cJSON *root, struct err *err)
{
    static const struct {
        const char *name;
        bool supported;
    } keys[] = {{"enable_prior_query", true}, {"enable_chunk_pooling", false},
                {"insert_landmarks", true},   {"adjust_lmk_pos", true},
                {"attention_bias", false},    {"mlp_bias", false}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        bool value = keys[i].supported;
        int code = member_bool(root, keys[i].name, &value, err);
        if (code)
            return code;
        if (value != keys[i].supported)
            return err_set(err, ERR_FORMAT,
                           "\"%s\": %s is not supported with HiLS attention",
                           keys[i].name, value ? "true" : "false");
    }
    return 0;
}

static int take_flags(const cJSON *root, bool whole, struct hils_config *h,
                      struct err *err)
{
    const char *rotary;
    bool whole_keys = false;
    int code =
        name_in(root, (struct renamed){"apply_hils_rope", "apply_hsa_rope"},
                &rotary, err);
    const struct {
        const char *name;
        bool *ret;
    } flags[] = {{rotary, &h->rotary},
                 {"enable_softmax1", &h->softmax1},
                 {"enable_lmk_q_proj", &h->calibrated},
                 {"layerwise_lmkq_norm", &h->whole_norm},
                 {"layerwise_qk_norm", &whole_keys},
                 {"shared_q_c", &h->shared_query},
                 {"mask_lmk_token", &h->hide_landmarks},
                 {"enable_external_lmk_embed", &h->landmark_apart}};
    h->softmax1 = true;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0] && !code; i++)
        code = member_bool(root, flags[i].name, flags[i].ret, err);
    if (!code && whole_keys != whole)
        code = err_set(err, ERR_FORMAT,
                       "\"layerwise_qk_norm\": %s is not supported in this "
                       "family",
                       whole ? "false" : "true");
    return code;
}

/* A rank of 0 or less, or none: the projection has its full rank. */
static int take_rank(const cJSON *root, struct hils_config *h, struct err *err)
{
    double rank = 0;
    int code = member_number(root, "lmk_q_lora_dim", &rank, err);
    if (!code && (!(rank <= 1 << 20) || floor(rank) != rank))
        code = member_not(err, "lmk_q_lora_dim", "a whole number to 1048576");
    h->rank = !code && h->calibrated && rank > 0 ? (size_t)rank : 0;
    return code;
}

/* Without `use_sliding_window` the others see all, and HiLS layers have no
 * window unless there is a key of their own. */
static int take_hils_windows(const cJSON *root, struct hils_config *h,
                             struct err *err)
{
    const char *name;
    bool slides = false;
    int code = member_bool(root, "use_sliding_window", &slides, err);
    if (!code && slides)
        code = member_size(root, "sliding_window", 1, 1 << 30, 4096,
                           &h->window_of_others, err);
    if (!code)
        code = name_in(
            root, (struct renamed){"hils_sliding_window", "hsa_sliding_window"},
            &name, err);
    if (!code)
        code =
            member_size(root, name, 1, 1 << 30,
                        h->window_of_others ? (int64_t)h->window_of_others : -1,
                        &h->window, err);
    return code;
}

static int take_hils_sizes(const cJSON *root, size_t layers,
                           struct hils_config *h, struct err *err)
{
    const char *name;
    int code =
        name_in(root, (struct renamed){"hils_topk", "hsa_topk"}, &name, err);
    if (!code)
        code = member_size(root, name, 1, 1 << 20, 16, &h->top_k, err);
    if (!code)
        code = member_size(root, "chunk_size", 2, 1 << 16, 64, &h->chunk, err);
    if (!code)
        code = member_size(root, "num_swa_layers", 0, (int64_t)layers, 0,
                           &h->first, err);
    if (!code)
        code = member_size(root, "full_attn_interleave", 0, 1 << 20, 4,
                           &h->every, err);
    return code ? code : take_hils_windows(root, h, err);
}

/* `layer_types`, which transformers writes, say the same: HiLS layers are
 * "full_attention". */
static int check_layer_types(const cJSON *root, size_t layers,
                             const struct attention_config *a, struct err *err)
{
    const cJSON *types = member_find(root, "layer_types"), *type;
    size_t i = 0;
    if (types && (size_t)cJSON_GetArraySize(types) != layers)
        return err_set(err, ERR_FORMAT,
                       "\"layer_types\" are not as many as layers");
    cJSON_ArrayForEach (type, types) {
        const char *want =
            hils_layer(a, i) ? "full_attention" : "sliding_attention";
        if (!cJSON_IsString(type) || strcmp(type->valuestring, want) != 0)
            return err_set(err, ERR_FORMAT,
                           "\"layer_types\" is not \"%s\" at layer %zu, as "
                           "\"full_attn_interleave\" says",
                           want, i);
        i++;
    }
    return 0;
}

/* HoPE: slow frequencies are left out.  The Olmo family, whose norms are over
 * all heads, does so in HiLS layers and with `use_hope` only, the Qwen family
 * in all layers with `enable_inrange_rope` alone. */
static int take_hope(const cJSON *root, bool whole, size_t context,
                     struct rotary ret[2], struct err *err)
{
    bool hope = false, in_range = false;
    double multiplier = 1;
    size_t trained = context;
    int code = member_bool(root, "use_hope", &hope, err);
    if (!code)
        code = member_bool(root, "enable_inrange_rope", &in_range, err);
    if (!code)
        code = member_size(root, "rope_context_length", 1, 1 << 30,
                           (int64_t)context, &trained, err);
    if (!code)
        code = member_number(root, "rope_period_multiplier", &multiplier, err);
    if (!code && (!(multiplier > 0) || !isfinite(multiplier)))
        code = member_not(err, "rope_period_multiplier", "positive");
    if (!code && hope && !in_range)
        code = err_set(err, ERR_FORMAT,
                       "\"use_hope\" without \"enable_inrange_rope\" is not "
                       "supported");
    if (code || !in_range || (whole && !hope))
        return code;
    ret[0].min = 2 * PI * multiplier / (double)trained;
    if (!whole)
        ret[1].min = ret[0].min;
    return 0;
}

int hils_from(const cJSON *root, bool whole, size_t layers, size_t context,
              struct attention_config *ret, struct rotary ret_rotary[2],
              struct err *err)
{
    struct attention_config a = {.kind = ATTENTION_HILS};
    int code = check_hils(root, err);
    if (!code)
        code = take_flags(root, whole, &a.hils, err);
    if (!code)
        code = take_rank(root, &a.hils, err);
    if (!code)
        code = take_hils_sizes(root, layers, &a.hils, err);
    if (!code)
        code = check_layer_types(root, layers, &a, err);
    if (!code)
        code = take_hope(root, whole, context, ret_rotary, err);
    if (!code)
        *ret = a;
    return code;
}

/* ---- The others ---- */

/* Checkpoints made for HiLS attention say so by these; what they compute is not
 * what full attention over the same weights would be. */
static int check_not_hils(const cJSON *root, struct err *err)
{
    static const char *const keys[] = {"hils_topk",
                                       "hsa_topk",
                                       "hils_sliding_window",
                                       "hsa_sliding_window",
                                       "full_attn_interleave",
                                       "enable_lmk_q_proj",
                                       "lmk_q_lora_dim",
                                       "insert_landmarks",
                                       "shared_q_c",
                                       "apply_hils_rope",
                                       "apply_hsa_rope"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (member_find(root, keys[i]))
            return err_set(err, ERR_FORMAT,
                           "the model was made for HiLS attention (\"%s\"), "
                           "but its \"model_type\" is neither olmo_hils nor "
                           "qwen_hils",
                           keys[i]);
    return 0;
}

static int take_star(const cJSON *object, struct attention_config *a,
                     struct err *err)
{
    int code =
        member_size(object, "chunk", 2, 1 << 16, -1, &a->star.chunk, err);
    if (!code)
        code =
            member_size(object, "top_k", 1, 1 << 20, -1, &a->star.top_k, err);
    return code;
}

static int take_hici(const cJSON *object, struct attention_config *a,
                     struct err *err)
{
    int code =
        member_size(object, "segment", 1, 1 << 30, -1, &a->hici.segment, err);
    if (!code)
        code = member_size(object, "heads", 1, 1 << 12, 8, &a->hici.heads, err);
    if (!code)
        code = member_bool(object, "causal", &a->hici.causal, err);
    return code;
}

int attention_from(const cJSON *root, struct attention_config *ret,
                   struct err *err)
{
    static const char key[] = "lectern_attention";
    struct attention_config a = {.kind = ATTENTION_FULL};
    const cJSON *object = member_find(root, key);
    const char *kind = names[ATTENTION_FULL];
    int code = check_not_hils(root, err);
    if (!code && object && !cJSON_IsObject(object))
        code = member_not(err, key, "an object");
    if (!code)
        code = member_text(object, "kind", &kind, err);
    if (code)
        return code;
    if (!strcmp(kind, names[ATTENTION_STAR])) {
        a.kind = ATTENTION_STAR;
        code = take_star(object, &a, err);
    } else if (!strcmp(kind, names[ATTENTION_HICI])) {
        a.kind = ATTENTION_HICI;
        code = take_hici(object, &a, err);
    } else if (strcmp(kind, names[ATTENTION_FULL]) != 0) {
        code = err_set(err, ERR_FORMAT,
                       "the kind \"%.60s\" of \"%s\" is not supported (full, "
                       "star and hici are)",
                       kind, key);
    }
    if (!code)
        *ret = a;
    return code;
}
