/* Architectures, what distinguishes one family of models from another: one table,
 * which config, weights and the forward pass read.  A new family is an
 * entry there and a test against its reference.
 *
 * Every family is a stack of layers over a residual stream x: attention, then a
 * feed-forward part. */
#ifndef MODEL_WEIGHTS_ARCHITECTURES_H
#define MODEL_WEIGHTS_ARCHITECTURES_H

#include <stdbool.h>
#include <stddef.h>

enum norm_kind {
    NORM_RMS,  /* weight */
    NORM_LAYER /* weight and bias */
};

/* Where a layer's two norms stand, f being one of its parts. */
enum norm_place {
    NORM_BEFORE,  /* x + f(norm(x)) */
    NORM_AFTER,   /* x + norm(f(x)) */
    NORM_OUTSIDE, /* norm(x + f(x)), and none after the last layer */
    NORM_BOTH     /* x + norm_after(f(norm(x))) */
};

/* Norms of queries and keys before they are rotated. */
enum head_norm {
    HEAD_NORM_NONE,
    HEAD_NORM_EACH, /* of each head: [d] */
    HEAD_NORM_WHOLE /* of all heads together: [heads d] */
};

enum positions {
    POSITIONS_ROTARY,
    POSITIONS_LEARNED, /* a vector for each, added to the token's */
    POSITIONS_NONE     /* a token's vector is the same everywhere */
};

/* Which layers look only at a window of keys, where `layer_types` does not say
 * so. */
enum windows {
    WINDOWS_NONE,
    WINDOWS_ON_REQUEST,    /* with `use_sliding_window`, from layer
                             `max_window_layers` on */
    WINDOWS_ALL,           /* with a `sliding_window`, all */
    WINDOWS_THREE_OF_FOUR, /* all but each fourth */
    WINDOWS_FIVE_OF_SIX,   /* all but each sixth */
    WINDOWS_TWO_OF_THREE   /* all but the first and each third behind it, or as
                             `global_attn_every_n_layers` says */
};

/* What a feed-forward part's gate goes through. */
enum gate {
    GATE_NONE,     /* there is none: gelu(up + bias) */
    GATE_SILU,     /* silu(gate) * up */
    GATE_GELU,     /* gelu(gate) * up */
    GATE_GELU_TANH /* the same by gelu's approximation */
};

/* Names of tensors without ".weight" and ".bias"; NULL: there is none. */
struct tensor_names {
    bool whole; /* the embedding's name has no ".weight" behind it */
    const char *prefixes[3]; /* one of them, or "", precedes all but `head` */
    const char *embedding, *positions, *types, *embedding_norm;
    const char *norm, *head;
    const char *layer; /* then the number, a dot, and these: */
    const char *attention_norm, *q, *k, *v, *o, *q_norm, *k_norm;
    const char *qkv; /* the rows of q, k and v in one, instead of these */
    const char *inner_norm, *gate, *up, *down;
    const char *gate_up; /* the rows of gate and up in one, instead of these */
    const char *attention_norm_after, *inner_norm_after;   /* NORM_BOTH's */
    const char *calibrate, *calibrate_norm, *shared_query; /* HiLS layers' */
    const char *dense[2]; /* what a text's vector goes through, one after the
                             other, [n, D] and [D, n]; both may be absent */
    const char *score_dense, *score; /* of a reranker: [D, D] and [1, D], with
                                        biases; a decoder's has the latter alone,
                                        without one, and [2, D] for two labels */
    const char *score_norm;          /* between them; NULL: none */
    bool score_bare;      /* no prefix precedes `score_dense` either */
    const char *landmark; /* of the model, its embedding alone */
    const char *rotary;   /* by what each pair's frequency is divided; may be
                              absent */
    bool paired; /* rows of q and k: a head's pairs of dimensions that turn
                    together lie side by side, not half a head apart */
    const char *unused[4]; /* a tensor whose name has one of these is passed
                              over */
};

struct architecture {
    const char *type; /* `model_type` in config.json */
    bool encoder;     /* every token sees all others; nothing is generated */
    bool bag;         /* an encoder without layers: a text is the mean of its
                         tokens' vectors, and nothing is put around it */
    int norm, norm_place, head_norm, positions, windows; /* the enums above */
    int gate;                                            /* enum gate */
    bool scaled_embedding; /* times the root of the width */
    bool rotary_by_kind;   /* windows turn by plain frequencies, others may be
                            scaled */
    bool qkv_bias;         /* of q, k and v; */
    bool bias;             /* of all products */
    bool bare_norms;       /* without biases, unless `norm_bias` says so */
    bool bare_first;       /* no norm precedes the first layer's attention */
    bool offset_positions; /* the first is `pad_token_id` + 1 */
    bool double_separator; /* two end markers part a pair of texts, not one */
    bool hils;             /* sparse_config.h; `windows` are read there too */
    double window_theta;   /* of layers with a window where nothing says it; 0:
                              the same */
    size_t head;           /* d without a `head_dim`; 0: width / heads */
    size_t key_heads;      /* without `num_key_value_heads`; 0: as queries */
    size_t context;        /* without `max_position_embeddings` */
    const char *window_name; /* NULL: sliding_window */
    const char *eps_name;
    double eps, theta; /* where config.json says nothing */
    const char *query_prefix, *passage_prefix; /* what such models were trained
                                                  with, where GGUF files do not
                                                  say it; NULL: nothing */
    const struct tensor_names *names;          /* in a folder, */
    const struct tensor_names *gguf_names; /* in a GGUF file; NULL: it has no
                                              models of this kind */
};

/* NULL: not supported. */
const struct architecture *architecture_find(const char *type);
/* The types, for a message; NULL beyond the last one. */
const char *architecture_at(size_t i);

#endif
