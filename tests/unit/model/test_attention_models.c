/* Models with the attention of HiLS, STAR and HiCI: their keys and their
 * tensors, under their authors' names. */
#include "tests/unit/support/models.h"

#include "base/buf.h"
#include "model/weights/weights.h"

/* ---- Checkpoints of random weights ---- */

enum {
    D = 32,
    HEADS = 4,
    KEY_HEADS = 2,
    HEAD = 8,
    INNER = 24,
    IDS = 40,
    PADDED = 64, /* the multiple of 32 after IDS */
    LAYERS = 4,
    RANK = 5,
    MAX = 160
};

struct made {
    struct tensor tensors[MAX];
    char names[MAX][96];
    size_t count;
    uint64_t seed;
};

static struct made *make(uint64_t seed)
{
    struct made *m = mem_alloc(sizeof *m);
    m->seed = seed;
    return m;
}

static void put(struct made *m, const char *name, int rank, size_t rows,
                size_t columns)
{
    size_t values = rows * (rank == 2 ? columns : 1);
    float *data = mem_alloc(values * sizeof *data);
    for (size_t i = 0; i < values; i++)
        data[i] = (float)unit_below(&m->seed, 2001) / 1000.0F - 1.0F;
    assert_true(m->count < MAX);
    snprintf(m->names[m->count], sizeof m->names[0], "%s", name);
    m->tensors[m->count] = (struct tensor){
        .name = slice_of(m->names[m->count]),
        .type = TENSOR_F32,
        .rank = rank,
        .shape = {rows, columns},
        .data = data,
        .bytes = values * sizeof *data,
    };
    m->count++;
}

static void put_in(struct made *m, size_t layer, const char *part, int rank,
                   size_t rows, size_t columns)
{
    char name[96];
    snprintf(name, sizeof name, "model.layers.%zu.%s", layer, part);
    put(m, name, rank, rows, columns);
}

static void put_layer(struct made *m, size_t layer, const char *const norms[2],
                      bool whole)
{
    size_t wide = HEADS * HEAD, narrow = KEY_HEADS * HEAD;
    put_in(m, layer, norms[0], 1, D, 0);
    put_in(m, layer, norms[1], 1, D, 0);
    put_in(m, layer, "self_attn.q_proj.weight", 2, wide, D);
    put_in(m, layer, "self_attn.k_proj.weight", 2, narrow, D);
    put_in(m, layer, "self_attn.v_proj.weight", 2, narrow, D);
    put_in(m, layer, "self_attn.o_proj.weight", 2, D, wide);
    put_in(m, layer, "self_attn.q_norm.weight", 1, whole ? wide : HEAD, 0);
    put_in(m, layer, "self_attn.k_norm.weight", 1, whole ? narrow : HEAD, 0);
    put_in(m, layer, "mlp.gate_proj.weight", 2, INNER, D);
    put_in(m, layer, "mlp.up_proj.weight", 2, INNER, D);
    put_in(m, layer, "mlp.down_proj.weight", 2, D, INNER);
}

static const char *const olmo_norms[] = {"post_attention_layernorm.weight",
                                         "post_feedforward_layernorm.weight"};
static const char *const qwen_norms[] = {"input_layernorm.weight",
                                         "post_attention_layernorm.weight"};

/* As Olmo3 was converted: every 4th layer is HiLS. */
static struct made *olmo(void)
{
    struct made *m = make(7);
    put(m, "model.embed_tokens.weight", 2, IDS, D);
    put(m, "model.lmk_embed", 1, D, 0);
    put(m, "model.norm.weight", 1, D, 0);
    put(m, "lm_head.weight", 2, IDS, D);
    for (size_t i = 0; i < LAYERS; i++)
        put_layer(m, i, olmo_norms, true);
    put_in(m, 3, "self_attn.lmk_q_proj.0.weight", 2, RANK, D);
    put_in(m, 3, "self_attn.lmk_q_proj.1.weight", 2, HEADS * HEAD, RANK);
    put_in(m, 3, "self_attn.lmk_q_norm.weight", 1, HEADS * HEAD, 0);
    return m;
}

enum calibration { NONE, LOW_RANK, FULL_RANK };

/* The small models: all layers are HiLS, the landmark is a row. */
static struct made *qwen(enum calibration calibration, bool shared)
{
    struct made *m = make(8);
    put(m, "model.embed_tokens.weight", 2, PADDED, D);
    put(m, "model.norm.weight", 1, D, 0);
    for (size_t i = 0; i < LAYERS; i++) {
        put_layer(m, i, qwen_norms, false);
        if (calibration == LOW_RANK) {
            put_in(m, i, "self_attn.lmk_q_proj.0.weight", 2, RANK, D);
            put_in(m, i, "self_attn.lmk_q_proj.1.weight", 2, HEADS * HEAD,
                   RANK);
        }
        if (calibration == FULL_RANK)
            put_in(m, i, "self_attn.lmk_q_proj.weight", 2, HEADS * HEAD, D);
        if (calibration != NONE)
            put_in(m, i, "self_attn.lmk_q_norm.weight", 1, HEAD, 0);
        if (shared)
            put_in(m, i, "self_attn.q_c", 2, HEADS, HEAD);
    }
    return m;
}

static void save(const struct made *m)
{
    struct err err = {0};
    if (safetensors_write(in_folder("model.safetensors"), m->tensors, m->count,
                          NULL, &err))
        fail_msg("%s", err.message);
}

static void forget(struct made *m)
{
    for (size_t i = 0; i < m->count; i++) {
        void *data;
        memcpy(&data, &m->tensors[i].data, sizeof data);
        free(data);
    }
    free(m);
}

static const struct tensor *tensor_of(const struct made *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (!strcmp(m->names[i], name))
            return &m->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

#define SIZES                                                                  \
    "\"hidden_size\":32,\"num_attention_heads\":4,\"num_key_value_heads\":2,"  \
    "\"num_hidden_layers\":4,\"intermediate_size\":24,\"vocab_size\":40,"      \
    "\"max_position_embeddings\":4096,\"rms_norm_eps\":1e-6"
/* `more` stands before the rest: the first of two members counts. */
#define OLMO(more)                                                             \
    "{\"model_type\":\"olmo_hils\"" more                                       \
    ",\"architectures\":[\"HiLSForCausalLM\"]," SIZES                          \
    ",\"rope_theta\":500000.0,\"sliding_window\":512,"                         \
    "\"hils_sliding_window\":256,\"use_sliding_window\":true,"                 \
    "\"full_attn_interleave\":4,\"chunk_size\":64,\"hils_topk\":32,"           \
    "\"enable_lmk_q_proj\":true,\"lmk_q_lora_dim\":5,"                         \
    "\"layerwise_qk_norm\":true,\"layerwise_lmkq_norm\":true,"                 \
    "\"apply_hils_rope\":true,\"enable_prior_query\":true,"                    \
    "\"mask_lmk_token\":true,\"enable_external_lmk_embed\":true,"              \
    "\"enable_softmax1\":false,\"use_hope\":true,"                             \
    "\"enable_inrange_rope\":true,\"rope_context_length\":8192,"               \
    "\"rope_period_multiplier\":2.0,\"adjust_lmk_pos\":true,"                  \
    "\"tie_word_embeddings\":false}"
#define QWEN(more)                                                             \
    "{\"model_type\":\"qwen_hils\"" more ",\"head_dim\":8," SIZES              \
    ",\"rope_theta\":10000.0,\"sliding_window\":512,"                          \
    "\"use_sliding_window\":true,\"tie_word_embeddings\":true}"

static struct model_config config_of(const char *text)
{
    struct model_config c = {0};
    struct err err = {0};
    if (model_config_from(slice_of(text), (struct slice){"", 0}, &c, &err))
        fail_msg("%s: %s", text, err.message);
    return c;
}

/* ---- Configurations ---- */

static void converted_models_are_read(void **state)
{
    (void)state;
    struct model_config c = config_of(OLMO(""));
    const struct hils_config *h = &c.attention.hils;
    assert_int_equal(c.attention.kind, ATTENTION_HILS);
    for (size_t i = 0; i < LAYERS; i++) {
        assert_int_equal(hils_layer(&c.attention, i), i % 4 == 3);
        assert_int_equal(c.window[i], i % 4 == 3 ? 0 : 512);
    }
    assert_int_equal(h->chunk, 64);
    assert_int_equal(h->window, 256);
    assert_int_equal(h->top_k, 32);
    assert_int_equal(h->rank, 5);
    assert_true(h->rotary && h->calibrated && h->whole_norm);
    assert_true(h->hide_landmarks && h->landmark_apart);
    assert_false(h->softmax1 || h->shared_query);
    /* HoPE in HiLS layers alone */
    assert_true(fabs(c.rotary[0].min - 4 * 3.14159265358979 / 8192) < 1e-12);
    assert_true(c.rotary[1].min <= 0);
    model_config_free(&c);
}

static void defaults_are_the_authors(void **state)
{
    (void)state;
    struct model_config c = config_of(QWEN(""));
    const struct hils_config *h = &c.attention.hils;
    assert_int_equal(h->top_k, 16);
    assert_int_equal(h->every, 4);
    assert_int_equal(h->first, 0);
    assert_int_equal(h->chunk, 64);
    assert_int_equal(h->window, 512);
    assert_true(h->softmax1);
    assert_false(h->rotary || h->calibrated || h->hide_landmarks ||
                 h->landmark_apart || h->shared_query || h->whole_norm);
    assert_true(c.rotary[0].min <= 0);
    model_config_free(&c);
    /* the context is the model's, the multiplier 1; in all layers */
    c = config_of(QWEN(",\"enable_inrange_rope\":true"));
    assert_true(fabs(c.rotary[0].min - 2 * 3.14159265358979 / 4096) < 1e-12);
    assert_true(fabs(c.rotary[1].min - c.rotary[0].min) <= 0);
    model_config_free(&c);
    /* without use_hope the Olmo family masks nothing */
    c = config_of(OLMO(",\"use_hope\":false"));
    assert_true(c.rotary[0].min <= 0);
    model_config_free(&c);
}

static void first_names_and_layer_numbers_are_read(void **state)
{
    (void)state;
    struct model_config c =
        config_of(QWEN(",\"hsa_topk\":8,\"hsa_sliding_window\":128,"
                       "\"apply_hsa_rope\":true,\"num_swa_layers\":1,"
                       "\"full_attn_interleave\":3,\"lmk_q_lora_dim\":-1,"
                       "\"enable_lmk_q_proj\":true,\"layer_types\":["
                       "\"sliding_attention\",\"sliding_attention\","
                       "\"sliding_attention\",\"full_attention\"]"));
    const struct hils_config *h = &c.attention.hils;
    assert_int_equal(h->top_k, 8);
    assert_int_equal(h->window, 128);
    assert_true(h->rotary && h->calibrated);
    assert_int_equal(h->rank, 0);
    for (size_t i = 0; i < LAYERS; i++)
        assert_int_equal(hils_layer(&c.attention, i), i == 3);
    model_config_free(&c);
    c = config_of(QWEN(",\"use_sliding_window\":false,"
                       "\"hils_sliding_window\":64"));
    assert_int_equal(c.window[0], 0);
    assert_int_equal(c.attention.hils.window, 64);
    model_config_free(&c);
}

/* transformers 5 writes these in place of "rope_theta". */
static void rope_parameters_are_read(void **state)
{
    (void)state;
    struct model_config c = config_of(
        "{\"model_type\":\"qwen_hils\"," SIZES
        ",\"hils_sliding_window\":64,\"dtype\":\"bfloat16\","
        "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":777}}");
    assert_true(fabs(c.rotary[0].theta - 777) <= 0);
    model_config_free(&c);
}

static void what_is_not_supported_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *config, *says;
    } cases[] = {
        {QWEN(",\"use_hope\":true"), "use_hope"},
        {QWEN(",\"enable_prior_query\":false"), "enable_prior_query"},
        {QWEN(",\"enable_chunk_pooling\":true"), "enable_chunk_pooling"},
        {QWEN(",\"insert_landmarks\":false"), "insert_landmarks"},
        {QWEN(",\"adjust_lmk_pos\":false"), "adjust_lmk_pos"},
        {QWEN(",\"attention_bias\":true"), "attention_bias"},
        {QWEN(",\"layerwise_qk_norm\":true"), "layerwise_qk_norm"},
        {OLMO(",\"layerwise_qk_norm\":false"), "layerwise_qk_norm"},
        {QWEN(",\"hils_topk\":0"), "hils_topk"},
        {QWEN(",\"hils_topk\":3,\"hsa_topk\":4"), "hsa_topk"},
        {QWEN(",\"chunk_size\":1"), "chunk_size"},
        {QWEN(",\"num_swa_layers\":5"), "num_swa_layers"},
        {QWEN(",\"use_sliding_window\":false"), "hils_sliding_window"},
        {QWEN(",\"rope_period_multiplier\":0"), "rope_period_multiplier"},
        {QWEN(",\"lmk_q_lora_dim\":1.5"), "lmk_q_lora_dim"},
        {QWEN(",\"head_dim\":16"), "head_dim"},
        {QWEN(",\"layer_types\":[\"full_attention\"]"), "layer_types"},
        {QWEN(",\"layer_types\":[\"full_attention\",\"full_attention\","
              "\"full_attention\",\"full_attention\"]"),
         "at layer 0"},
        {QWEN(",\"quantization_config\":{\"bits\":4}"), "quantised"},
        {"{\"model_type\":\"qwen3\",\"hils_topk\":4," SIZES "}", "hils_topk"},
        {"{\"model_type\":\"qwen3\",\"lectern_attention\":1," SIZES "}",
         "lectern_attention"},
        {"{\"model_type\":\"qwen3\",\"lectern_attention\":{\"kind\":\"x\"}"
         "," SIZES "}",
         "\"x\""},
        {"{\"model_type\":\"qwen3\",\"lectern_attention\":{\"kind\":\"star\"}"
         "," SIZES "}",
         "chunk"},
        {"{\"model_type\":\"qwen3\",\"lectern_attention\":{\"kind\":\"hici\"}"
         "," SIZES "}",
         "segment"},
        {"{\"model_type\":\"mistral\",\"lectern_attention\":{\"kind\":\"star\","
         "\"chunk\":4,\"top_k\":1}," SIZES "}",
         "sliding_window"},
        {"{\"model_type\":\"bert\",\"lectern_attention\":{\"kind\":\"star\","
         "\"chunk\":4,\"top_k\":1}," SIZES "}",
         "decoders"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model_config c = {0};
        struct err err = {0};
        int code = model_config_from(slice_of(cases[i].config),
                                     (struct slice){"", 0}, &c, &err);
        if (code != ERR_FORMAT || !strstr(err.message, cases[i].says))
            fail_msg("%s: %d %s", cases[i].config, code, err.message);
    }
}

static size_t turning(double theta, size_t d)
{
    struct rotary r = {.theta = theta,
                       .min = 2 * 3.14159265358979 * 2.0 / 8192};
    double *frequencies = mem_alloc(d / 2 * sizeof *frequencies);
    size_t count = 0;
    rotary_frequencies(&r, d, frequencies);
    assert_true(frequencies[0] > 0);
    for (size_t i = 0; i < d / 2; i++)
        count += frequencies[i] > 0;
    free(frequencies);
    return count;
}

static void slow_pairs_stand_still(void **state)
{
    (void)state;
    assert_int_equal(turning(1e4, 64), 23);
    assert_int_equal(turning(5e5, 128), 32);
}

/* ---- Weights ---- */

static void open_weights(const struct model_config *c, struct model_weights *w)
{
    struct kernel_run run = {0};
    struct err err = {0};
    if (model_weights_open(own_folder, NULL, c, kernels_ref(), &run, false, w,
                           &err))
        fail_msg("%s", err.message);
}

static void close_weights(struct model_config *c, struct model_weights *w)
{
    struct kernel_run run = {0};
    model_weights_close(w, c, &run);
    model_config_free(c);
}

static void check_values(const float *got, const struct tensor *want,
                         size_t from, size_t count)
{
    assert_non_null(got);
    assert_memory_equal(got, (const float *)want->data + from,
                        count * sizeof *got);
}

/* `weight` [n, D] is the first n rows of the tensor. */
static void check_rows(const struct kernel_weight *weight,
                       const struct tensor *want, size_t row)
{
    struct kernel_run run = {0};
    float out[D];
    assert_non_null(weight);
    assert_int_equal(kernels_ref()->gather(&run, out, weight,
                                           (const int32_t[]){(int32_t)row}, 1),
                     0);
    check_values(out, want, row * D, D);
}

static void converted_weights_load(void **state)
{
    (void)state;
    struct made *m = olmo();
    struct model_config c = config_of(OLMO(""));
    struct model_weights w = {0};
    save(m);
    open_weights(&c, &w);
    check_values(w.host_landmark, tensor_of(m, "model.lmk_embed"), 0, D);
    check_rows(w.head, tensor_of(m, "lm_head.weight"), IDS - 1);
    check_values(w.layers[3].hils.norm,
                 tensor_of(m, "model.layers.3.self_attn.lmk_q_norm.weight"), 0,
                 HEADS * HEAD);
    check_rows(w.layers[3].hils.down,
               tensor_of(m, "model.layers.3.self_attn.lmk_q_proj.0.weight"),
               RANK - 1);
    assert_non_null(w.layers[3].hils.up);
    assert_null(w.layers[3].hils.full);
    assert_null(w.layers[2].hils.norm);
    close_weights(&c, &w);
    forget(m);
}

static void small_weights_load(void **state)
{
    (void)state;
    static const struct {
        enum calibration calibration;
        bool shared;
        const char *config;
    } cases[] = {
        {NONE, false, QWEN(",\"full_attn_interleave\":1")},
        {LOW_RANK, false,
         QWEN(",\"full_attn_interleave\":1,\"enable_lmk_q_proj\":true,"
              "\"lmk_q_lora_dim\":5")},
        {FULL_RANK, true,
         QWEN(",\"full_attn_interleave\":1,\"enable_lmk_q_proj\":true,"
              "\"shared_q_c\":true")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made *m = qwen(cases[i].calibration, cases[i].shared);
        struct model_config c = config_of(cases[i].config);
        struct model_weights w = {0};
        save(m);
        open_weights(&c, &w);
        const struct tensor *table = tensor_of(m, "model.embed_tokens.weight");
        check_values(w.host_landmark, table, IDS * D, D);
        check_rows(w.embedding, table, PADDED - 1);
        check_rows(w.head, table, IDS - 1);
        for (size_t l = 0; l < LAYERS; l++) {
            const struct hils_weights *h = &w.layers[l].hils;
            assert_int_equal(h->down && h->up,
                             cases[i].calibration == LOW_RANK);
            assert_int_equal(h->full != NULL,
                             cases[i].calibration == FULL_RANK);
            assert_int_equal(h->norm != NULL, cases[i].calibration != NONE);
            assert_int_equal(h->q_c != NULL, cases[i].shared);
        }
        close_weights(&c, &w);
        forget(m);
    }
}

static void such_models_open(void **state)
{
    (void)state;
    struct made *m = olmo();
    struct model *model = NULL;
    struct err err = {0};
    save(m);
    write_text("config.json", OLMO(""));
    if (try_open(own_folder, kernels_cpu(), &model, &err))
        fail_msg("%s", err.message);
    assert_true(model_facts(model)->writes && !model_facts(model)->whole);
    assert_string_equal(model_facts(model)->attention, "hils");
    model_close(model);
    forget(m);
}

static void wrong_tensors_are_named_together(void **state)
{
    (void)state;
    struct made *m = olmo();
    m->tensors[1].name = slice_of("model.lmk_embedding");
    for (size_t i = 0; i < m->count; i++)
        if (strstr(m->names[i], "lmk_q_norm"))
            m->tensors[i].shape[0] = HEADS * HEAD / 2, m->tensors[i].bytes /= 2;
    put_in(m, 0, "self_attn.lmk_q_proj.0.weight", 2, RANK, D);
    save(m);
    write_text("config.json", OLMO(""));
    REFUSED(
        ERR_FORMAT, "missing model.lmk_embed,", "not known model.lmk_embedding",
        "misshapen model.layers.3.self_attn.lmk_q_norm.weight",
        "not known model.layers.0.self_attn.lmk_q_proj.0.weight", "4 tensors");
    forget(m);
}

static void a_landmark_needs_a_row(void **state)
{
    (void)state;
    struct made *m = qwen(NONE, false);
    m->tensors[0].shape[0] = IDS;
    m->tensors[0].bytes = IDS * D * sizeof(float);
    save(m);
    write_text("config.json", QWEN(",\"full_attn_interleave\":1"));
    REFUSED(ERR_FORMAT, "no row for the landmark in model.embed_tokens.weight");
    forget(m);
}

/* ---- STAR and HiCI ---- */

#define QWEN3(more)                                                            \
    "{\"model_type\":\"qwen3\",\"head_dim\":8," SIZES                          \
    ",\"tie_word_embeddings\":true,\"lectern_attention\":" more "}"
#define STAR QWEN3("{\"kind\":\"star\",\"chunk\":17,\"top_k\":3}")
#define HICI QWEN3("{\"kind\":\"hici\",\"segment\":96,\"heads\":4}")

static struct made *qwen3(void)
{
    struct made *m = make(9);
    put(m, "model.embed_tokens.weight", 2, IDS, D);
    put(m, "model.norm.weight", 1, D, 0);
    for (size_t i = 0; i < LAYERS; i++)
        put_layer(m, i, qwen_norms, false);
    return m;
}

static void check_opens(const char *attention, bool whole)
{
    struct model *model = NULL;
    struct err err = {0};
    if (try_open(own_folder, kernels_cpu(), &model, &err))
        fail_msg("%s", err.message);
    assert_string_equal(model_facts(model)->attention, attention);
    assert_int_equal(model_facts(model)->whole, whole);
    model_close(model);
}

static void star_loads(void **state)
{
    (void)state;
    struct made *m = qwen3();
    struct model_config c = config_of(STAR);
    struct model_weights w = {0};
    put(m, "lectern.star.summary", 1, D, 0);
    put(m, "lectern.star.gate", 2, LAYERS, 3);
    save(m);
    assert_int_equal(c.attention.kind, ATTENTION_STAR);
    assert_int_equal(c.attention.star.chunk, 17);
    assert_int_equal(c.attention.star.top_k, 3);
    open_weights(&c, &w);
    check_values(w.host_summary, tensor_of(m, "lectern.star.summary"), 0, D);
    check_values(w.star_gate, tensor_of(m, "lectern.star.gate"), 0, LAYERS * 3);
    close_weights(&c, &w);
    write_text("config.json", STAR);
    check_opens("star", false);
    forget(m);
}

enum { SLOTS = 3, QUERIES = 2, A = 8, S = 6, B = 12 };

static struct made *hici(void)
{
    struct made *m = qwen3();
#define LOCAL  "self_attn.local_constructor."
#define GLOBAL "self_attn.global_integrator."
    for (size_t i = 0; i < LAYERS; i++) {
        put_in(m, i, LOCAL "memory_slots", 2, SLOTS, D);
        put_in(m, i, LOCAL "q_proj.weight", 2, A, D);
        put_in(m, i, LOCAL "k_proj.weight", 2, A, D);
        put_in(m, i, LOCAL "v_proj.weight", 2, A, D);
        put_in(m, i, LOCAL "o_proj.weight", 2, D, A);
        put_in(m, i, GLOBAL "shared_compressor.0.weight", 2, S, D);
        put_in(m, i, GLOBAL "shared_compressor.1.weight", 1, S, 0);
        put_in(m, i, GLOBAL "shared_compressor.1.bias", 1, S, 0);
        put_in(m, i, GLOBAL "stat_expand.0.weight", 2, B, S);
        put_in(m, i, GLOBAL "stat_expand.1.weight", 1, B, 0);
        put_in(m, i, GLOBAL "stat_expand.1.bias", 1, B, 0);
        put_in(m, i, GLOBAL "global_queries", 2, QUERIES, B);
        put_in(m, i, GLOBAL "q_proj.weight", 2, B, B);
        put_in(m, i, GLOBAL "k_proj.weight", 2, B, B);
        put_in(m, i, GLOBAL "v_proj.weight", 2, B, B);
        put_in(m, i, GLOBAL "o_proj.weight", 2, B, B);
        put_in(m, i, GLOBAL "expand.weight", 2, D, B);
        put_in(m, i, GLOBAL "expand_scale_param", 0, 1, 0);
    }
    return m;
}

static void hici_loads(void **state)
{
    (void)state;
    struct made *m = hici();
    struct model_config c = config_of(HICI);
    struct model_weights w = {0};
    save(m);
    assert_int_equal(c.attention.hici.segment, 96);
    assert_false(c.attention.hici.causal);
    open_weights(&c, &w);
    const struct kernel_hici *h = &w.layers[2].hici->hici;
    assert_int_equal(h->slots, SLOTS);
    assert_int_equal(h->queries, QUERIES);
    assert_int_equal(h->heads, 4);
    assert_int_equal(h->a, A);
    assert_int_equal(h->s, S);
    assert_int_equal(h->b, B);
    check_values(h->slot, tensor_of(m, "model.layers.2." LOCAL "memory_slots"),
                 0, SLOTS * D);
    check_values(h->gb_bias,
                 tensor_of(m, "model.layers.2." GLOBAL "stat_expand.1.bias"), 0,
                 B);
    check_values(&h->beta,
                 tensor_of(m, "model.layers.2." GLOBAL "expand_scale_param"), 0,
                 1);
    check_rows(h->lq, tensor_of(m, "model.layers.2." LOCAL "q_proj.weight"),
               A - 1);
    close_weights(&c, &w);
    write_text("config.json", HICI);
    check_opens("hici", true);
    forget(m);
}

static void wrong_hici_is_named(void **state)
{
    (void)state;
    struct made *m = hici();
    for (size_t i = 0; i < m->count; i++)
        if (!strcmp(m->names[i], "model.layers.1." GLOBAL "expand.weight"))
            m->tensors[i].name = slice_of("model.layers.1." GLOBAL "expanse");
    save(m);
    write_text("config.json", QWEN3("{\"kind\":\"hici\",\"segment\":96,"
                                    "\"heads\":5}"));
    REFUSED(ERR_FORMAT, "missing model.layers.1." GLOBAL "expand.weight",
            "not known model.layers.1." GLOBAL "expanse",
            "not divided by its heads");
    forget(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converted_models_are_read),
        cmocka_unit_test(defaults_are_the_authors),
        cmocka_unit_test(first_names_and_layer_numbers_are_read),
        cmocka_unit_test(rope_parameters_are_read),
        cmocka_unit_test(what_is_not_supported_is_named),
        cmocka_unit_test(slow_pairs_stand_still),
        cmocka_unit_test_setup_teardown(converted_weights_load, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(small_weights_load, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(such_models_open, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(wrong_tensors_are_named_together,
                                        make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_landmark_needs_a_row, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(star_loads, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(hici_loads, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(wrong_hici_is_named, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
