/* The weights of a model, checked against its config and handed to a backend.
 *
 * They lie in `model.safetensors`, or in the files that
 * `model.safetensors.index.json` names, under the names that transformers gives
 * the family (architectures.h); or in a GGUF file, under those of llama.cpp.
 * A matrix X.weight, the embedding and the head too, may be of int8, [n, k], with
 * X.weight_scale, f32 [n]: a row's numbers are its integers times its scale.
 * Our own, all optional, and each pair whole or not at all:
 *
 *   lectern.mem, lectern.mem0            [D]     soft tokens
 *   lectern.recall.wq, lectern.recall.wk [D, p]  recall projections
 *   lectern.pool.wq, lectern.pool.wk     [D, p]  pooling projections
 *
 * HiLS (sparse_config.h): `lmk_embed` [D], or a row of the embedding behind its ids;
 * in HiLS layers `self_attn.lmk_q_proj`, whole or as `.0` and `.1`, its
 * `lmk_q_norm`, and `q_c`.  HiCI, in each layer, with its authors' names:
 * `self_attn.local_constructor.*` and `self_attn.global_integrator.*`.  STAR's are
 * ours: lectern.star.summary [D], lectern.star.gate [layers, 3]. */
#ifndef MODEL_WEIGHTS_WEIGHTS_H
#define MODEL_WEIGHTS_WEIGHTS_H

#include "base/err.h"
#include "base/gguf.h"
#include "base/hash.h"
#include "kernels/kernels.h"
#include "model/weights/model_config.h"

/* Pointers to float are the backend's memory, but those named host. */
struct linear {
    struct kernel_weight *weight; /* [n, k] */
    float *bias;                  /* [n]; NULL: none */
};

struct norm {
    float *weight, *bias; /* [D]; both NULL: no such norm; bias: LayerNorm's */
};

/* The weights that a layer of HiLS adds: the calibration of a landmark's query, up (down h)
 * with Wq h added, or full h; all NULL: there is none. */
struct hils_weights {
    struct kernel_weight *down, *up; /* [r, D], [Hq d, r] */
    struct kernel_weight *full;      /* [Hq d, D] */
    float *norm;                     /* [d], or [Hq d] */
    float *q_c;                      /* [Hq, d]; NULL: none */
};

enum { HICI_MATRICES = 11, HICI_VECTORS = 6 };
struct hici_weights {
    struct kernel_hici hici; /* points to these: */
    struct kernel_weight *matrices[HICI_MATRICES];
    float *vectors[HICI_VECTORS];
};

struct layer_weights {
    struct norm attention_norm; /* [D] */
    struct linear q, k, v;      /* [Hq d, D], [Hkv d, D], [Hkv d, D] */
    struct linear o;            /* [D, Hq d] */
    struct norm q_norm, k_norm; /* [d], or [Hq d] and [Hkv d]; or none */
    struct norm inner_norm;     /* [D] */
    struct norm attention_norm_after, inner_norm_after; /* [D], or none */
    struct linear gate, up, down; /* [inner, D], the same, [D, inner]; gate may
                                      be none */
    struct hils_weights hils;     /* of HiLS layers */
    struct hici_weights *hici;    /* NULL: none */
};

struct projections {
    float *wq, *wk; /* [D, p]; NULL: none */
    size_t p;
};

struct model_weights {
    struct kernel_weight *embedding; /* [vocabulary, D] */
    struct kernel_weight *positions; /* [first + context, D], with the type's
                                        vector in each; or NULL */
    float *token_type;               /* [D] all tokens', where there are no
                                        positions; NULL: none */
    float *type_change; /* [D] what makes a vector of the first type one of the
                           second; NULL: there is no second, or nobody asks */
    struct norm embedding_norm;   /* [D], or none */
    struct kernel_weight *head;   /* [vocabulary, D]; may be `embedding`; NULL
                                        where nothing is written */
    float *host_landmark;         /* [D] HiLS: a landmark's embedding */
    float *host_summary;          /* [D] STAR: a summary token's */
    float *star_gate;             /* [layers, 3] */
    struct norm norm;             /* [D], the last one, or none */
    struct layer_weights *layers; /* [layers] */
    float *host_mem, *host_mem0;  /* [D]; NULL: none */
    float *host_dense[2]; /* [dense_width, D], [D, dense_width]; NULL: none */
    size_t dense_width;
    struct scoring { /* a decoder's has host_out alone */
        float *host_dense, *host_dense_bias; /* [D, D], [D]; or NULL */
        float *host_norm, *host_norm_bias;   /* [D], [D]; or NULL */
        float *host_out, *host_out_bias;     /* [D], [1] or NULL; both NULL: no
                                                reranker */
    } scoring;
    float *host_rotary; /* [d / 2] by what frequencies are divided; NULL: 1 */
    struct projections recall, pool;
    struct hash128 hash; /* of names, types, shapes and data; not of a check */
    uint64_t parameters; /* scales are none */
    uint64_t bytes;      /* of memory for these */
    uint64_t wide_bytes; /* the same with f16 and int8 as f32 */
    bool soft_tokens, recalls, pools; /* it has lectern.* of these kinds */
    const char *type; /* of the embedding: "f32", "bf16", "f16", "int8", or
                         the name of blocks (blocks.h) */

    const struct kernels *kernels;
    struct weight_files *files;
};

/* ERR_FORMAT with the names of all tensors that are missing, of another shape
 * or type than they must be, or not known.  `gguf`: they are those of this file,
 * which must outlive the weights, as `run` must; NULL: of the folder `path`.
 * `check`: nothing is taken, all pointers are NULL. */
int model_weights_open(const char *path, const struct gguf *gguf,
                       const struct model_config *config,
                       const struct kernels *kernels, struct kernel_run *run,
                       bool check, struct model_weights *ret, struct err *err);
void model_weights_close(struct model_weights *weights,
                         const struct model_config *config,
                         struct kernel_run *run);

#endif
