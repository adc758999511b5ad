#include "model/weights/architectures.h"

#include <string.h>

/* Llama's names, which most decoders took over. */
#define DECODER_NAMES                                                          \
    .prefixes = {"model."}, .embedding = "embed_tokens", .norm = "norm",       \
    .head = "lm_head", .layer = "layers.", .q = "self_attn.q_proj",            \
    .k = "self_attn.k_proj", .v = "self_attn.v_proj", .o = "self_attn.o_proj", \
    .gate = "mlp.gate_proj", .up = "mlp.up_proj", .down = "mlp.down_proj",     \
    .score = "score", .unused = {"rotary_emb.inv_freq"}

#define NORMS_BEFORE                                                           \
    .attention_norm = "input_layernorm",                                       \
    .inner_norm = "post_attention_layernorm"

#define NORMS_AFTER                                                            \
    .attention_norm = "post_attention_layernorm",                              \
    .inner_norm = "post_feedforward_layernorm"

#define HEAD_NORMS .q_norm = "self_attn.q_norm", .k_norm = "self_attn.k_norm"

#define HILS_NAMES                                                             \
    .landmark = "lmk_embed", .calibrate = "self_attn.lmk_q_proj",              \
    .calibrate_norm = "self_attn.lmk_q_norm", .shared_query = "self_attn.q_c"

static const struct tensor_names llama_names = {DECODER_NAMES, NORMS_BEFORE},
                                 qwen3_names = {DECODER_NAMES, NORMS_BEFORE,
                                                HEAD_NORMS},
                                 olmo_names = {DECODER_NAMES, NORMS_AFTER,
                                               HEAD_NORMS},
                                 olmo_hils_names = {DECODER_NAMES, HILS_NAMES,
                                                    NORMS_AFTER, HEAD_NORMS},
                                 qwen_hils_names = {DECODER_NAMES, HILS_NAMES,
                                                    NORMS_BEFORE, HEAD_NORMS};

#define BERT_NAMES                                                             \
    .prefixes = {"bert.", "roberta."},                                         \
    .embedding = "embeddings.word_embeddings",                                 \
    .positions = "embeddings.position_embeddings",                             \
    .types = "embeddings.token_type_embeddings",                               \
    .embedding_norm = "embeddings.LayerNorm", .layer = "encoder.layer.",       \
    .q = "attention.self.query", .k = "attention.self.key",                    \
    .v = "attention.self.value", .o = "attention.output.dense",                \
    .attention_norm = "attention.output.LayerNorm",                            \
    .up = "intermediate.dense", .down = "output.dense",                        \
    .inner_norm = "output.LayerNorm",                                          \
    .unused = {"pooler.dense.", "position_ids", "cls.", "lm_head."}

static const struct tensor_names bert_names = {BERT_NAMES,
                                               .score_dense = "pooler.dense",
                                               .score = "classifier"},
                                 roberta_names = {
                                     BERT_NAMES,
                                     .score_dense = "classifier.dense",
                                     .score = "classifier.out_proj",
                                     .score_bare = true};

static const struct tensor_names modernbert_names = {
    .prefixes = {"model."},
    .embedding = "embeddings.tok_embeddings",
    .embedding_norm = "embeddings.norm",
    .norm = "final_norm",
    .layer = "layers.",
    .attention_norm = "attn_norm",
    .qkv = "attn.Wqkv",
    .o = "attn.Wo",
    .inner_norm = "mlp_norm",
    .gate_up = "mlp.Wi",
    .down = "mlp.Wo",
    .score_dense = "head.dense",
    .score_norm = "head.norm",
    .score = "classifier",
    .score_bare = true,
    .unused = {"head.dense.", "head.norm.", "decoder."},
};

/* Those of llama.cpp, in GGUF files. */
#define GGUF_NAMES                                                             \
    .prefixes = {""}, .embedding = "token_embd", .norm = "output_norm",        \
    .head = "output", .layer = "blk.", .attention_norm = "attn_norm",          \
    .q = "attn_q", .k = "attn_k", .v = "attn_v", .o = "attn_output",           \
    .inner_norm = "ffn_norm", .gate = "ffn_gate", .up = "ffn_up",              \
    .down = "ffn_down", .rotary = "rope_freqs"

static const struct tensor_names
    gguf_llama_names = {GGUF_NAMES, .paired = true},
    gguf_qwen2_names = {GGUF_NAMES},
    gguf_qwen3_names = {GGUF_NAMES, .q_norm = "attn_q_norm",
                        .k_norm = "attn_k_norm", .score = "cls.output"},
    gguf_gemma3_names = {GGUF_NAMES, .q_norm = "attn_q_norm",
                         .k_norm = "attn_k_norm",
                         .attention_norm_after = "post_attention_norm",
                         .inner_norm_after = "post_ffw_norm"},
    gguf_gemma_embedding_names = {GGUF_NAMES,
                                  .q_norm = "attn_q_norm",
                                  .k_norm = "attn_k_norm",
                                  .attention_norm_after = "post_attention_norm",
                                  .inner_norm_after = "post_ffw_norm",
                                  .dense = {"dense_2", "dense_3"}};

static const struct tensor_names gguf_bert_names =
                                     {
                                         .prefixes = {""},
                                         .embedding = "token_embd",
                                         .positions = "position_embd",
                                         .types = "token_types",
                                         .embedding_norm = "token_embd_norm",
                                         .layer = "blk.",
                                         .q = "attn_q",
                                         .k = "attn_k",
                                         .v = "attn_v",
                                         .o = "attn_output",
                                         .attention_norm = "attn_output_norm",
                                         .up = "ffn_up",
                                         .down = "ffn_down",
                                         .inner_norm = "layer_output_norm",
                                         .score_dense = "cls",
                                         .score = "cls.output",
                                         .score_bare = true,
                                         .unused = {"cls."},
},
                                 gguf_nomic_names = {
                                     .prefixes = {""},
                                     .embedding = "token_embd",
                                     .types = "token_types",
                                     .embedding_norm = "token_embd_norm",
                                     .layer = "blk.",
                                     .qkv = "attn_qkv",
                                     .o = "attn_output",
                                     .attention_norm = "attn_output_norm",
                                     .gate = "ffn_gate",
                                     .up = "ffn_up",
                                     .down = "ffn_down",
                                     .inner_norm = "layer_output_norm",
};

static const struct tensor_names model2vec_names = {.whole = true,
                                                    .embedding = "embeddings"};

#define DECODER .gate = GATE_SILU, .eps_name = "rms_norm_eps"

#define BERT                                                                   \
    .encoder = true, .norm = NORM_LAYER, .norm_place = NORM_OUTSIDE,           \
    .positions = POSITIONS_LEARNED, .bias = true, .context = 512,              \
    .eps_name = "layer_norm_eps", .eps = 1e-12

/* Norms' weights are 1 + w in a folder: from GGUF files only. */
#define GEMMA3                                                                 \
    .gate = GATE_GELU_TANH, .eps_name = "rms_norm_eps",                        \
    .norm_place = NORM_BOTH, .head_norm = HEAD_NORM_EACH,                      \
    .windows = WINDOWS_FIVE_OF_SIX, .rotary_by_kind = true,                    \
    .scaled_embedding = true, .window_theta = 10000, .eps = 1e-6, .theta = 1e6

static const struct architecture architectures[] = {
    {
        .type = "qwen3",
        DECODER,
        .head_norm = HEAD_NORM_EACH,
        .windows = WINDOWS_ON_REQUEST,
        .head = 128,
        .context = 32768,
        .eps = 1e-6,
        .theta = 10000,
        .query_prefix = "Instruct: Given a question, find the section of a "
                        "manual that answers it\nQuery:",
        .names = &qwen3_names,
        .gguf_names = &gguf_qwen3_names,
    },
    {
        .type = "qwen2",
        DECODER,
        .windows = WINDOWS_ON_REQUEST,
        .qkv_bias = true,
        .context = 32768,
        .eps = 1e-6,
        .theta = 10000,
        .names = &llama_names,
        .gguf_names = &gguf_qwen2_names,
    },
    {
        .type = "llama",
        DECODER,
        .context = 2048,
        .eps = 1e-6,
        .theta = 10000,
        .names = &llama_names,
        .gguf_names = &gguf_llama_names,
    },
    {
        .type = "mistral",
        DECODER,
        .windows = WINDOWS_ALL,
        .key_heads = 8,
        .context = 131072,
        .eps = 1e-6,
        .theta = 10000,
        .names = &llama_names,
    },
    {
        .type = "olmo2",
        DECODER,
        .norm_place = NORM_AFTER,
        .head_norm = HEAD_NORM_WHOLE,
        .context = 2048,
        .eps = 1e-5,
        .theta = 10000,
        .names = &olmo_names,
    },
    {
        .type = "olmo3",
        DECODER,
        .norm_place = NORM_AFTER,
        .head_norm = HEAD_NORM_WHOLE,
        .windows = WINDOWS_THREE_OF_FOUR,
        .rotary_by_kind = true,
        .context = 2048,
        .eps = 1e-5,
        .theta = 500000,
        .names = &olmo_names,
    },
    {
        .type = "olmo_hils",
        DECODER,
        .norm_place = NORM_AFTER,
        .head_norm = HEAD_NORM_WHOLE,
        .hils = true,
        .key_heads = 32,
        .context = 32768,
        .eps = 1e-6,
        .theta = 10000,
        .names = &olmo_hils_names,
    },
    {
        .type = "qwen_hils",
        DECODER,
        .head_norm = HEAD_NORM_EACH,
        .hils = true,
        .key_heads = 32,
        .context = 32768,
        .eps = 1e-6,
        .theta = 10000,
        .names = &qwen_hils_names,
    },
    {.type = "bert",
     BERT,
     .names = &bert_names,
     .gguf_names = &gguf_bert_names},
    {.type = "roberta",
     BERT,
     .offset_positions = true,
     .double_separator = true,
     .names = &roberta_names},
    {.type = "xlm-roberta",
     BERT,
     .offset_positions = true,
     .double_separator = true,
     .names = &roberta_names},
    {
        .type = "modernbert",
        .encoder = true,
        .norm = NORM_LAYER,
        .bare_norms = true,
        .bare_first = true,
        .gate = GATE_GELU,
        .windows = WINDOWS_TWO_OF_THREE,
        .window_name = "local_attention",
        .rotary_by_kind = true,
        .window_theta = 10000,
        .context = 8192,
        .eps_name = "norm_eps",
        .eps = 1e-5,
        .theta = 160000,
        .names = &modernbert_names,
    },
    {
        .type = "model2vec",
        .encoder = true,
        .bag = true,
        .positions = POSITIONS_NONE,
        .context = 512,
        .names = &model2vec_names,
    },
    {.type = "gemma3",
     GEMMA3,
     .context = 32768,
     .gguf_names = &gguf_gemma3_names},
    {
        .type = "gemma-embedding",
        GEMMA3,
        .encoder = true,
        .context = 2048,
        .query_prefix = "task: search result | query: ",
        .passage_prefix = "title: none | text: ",
        .gguf_names = &gguf_gemma_embedding_names,
    },
    {
        .type = "nomic-bert",
        .encoder = true,
        .norm = NORM_LAYER,
        .norm_place = NORM_OUTSIDE,
        .gate = GATE_SILU,
        .context = 2048,
        .eps_name = "layer_norm_eps",
        .eps = 1e-12,
        .theta = 1000,
        .query_prefix = "search_query: ",
        .passage_prefix = "search_document: ",
        .gguf_names = &gguf_nomic_names,
    },
};
enum { COUNT = sizeof architectures / sizeof architectures[0] };

const struct architecture *architecture_find(const char *type)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(type, architectures[i].type))
            return &architectures[i];
    return NULL;
}

const char *architecture_at(size_t i)
{
    return i < COUNT ? architectures[i].type : NULL;
}
