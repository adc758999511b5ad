/* The weights of a model, checked against its config and handed to a backend.
 *
 * They lie in `model.safetensors`, or in the files that
 * `model.safetensors.index.json` names, under the names that transformers gives
 * the family (architectures.h).
 * Our own, all optional, and each pair whole or not at all:
 *
 *   lectern.mem, lectern.mem0            [D]     soft tokens
 *   lectern.recall.wq, lectern.recall.wk [D, p]  recall projections
 *   lectern.pool.wq, lectern.pool.wk     [D, p]  pooling projections */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "base/err.h"
#include "base/hash.h"
#include "kernels/kernels.h"
#include "model/config.h"

/* Pointers to float are the backend's memory, but those named host. */
struct linear {
    struct kernel_weight *weight; /* [n, k] */
    float *bias;                  /* [n]; NULL: none */
};

struct norm {
    float *weight, *bias; /* [D]; both NULL: no such norm; bias: LayerNorm's */
};

struct layer_weights {
    struct norm attention_norm;   /* [D] */
    struct linear q, k, v;        /* [Hq d, D], [Hkv d, D], [Hkv d, D] */
    struct linear o;              /* [D, Hq d] */
    struct norm q_norm, k_norm;   /* [d], or [Hq d] and [Hkv d]; or none */
    struct norm inner_norm;       /* [D] */
    struct linear gate, up, down; /* [inner, D], the same, [D, inner]; gate may
                                      be none */
};

struct projections {
    float *wq, *wk; /* [D, p]; NULL: none */
    size_t p;
};

struct model_weights {
    struct kernel_weight *embedding; /* [vocabulary, D] */
    struct kernel_weight *positions; /* [first + context, D], with the type's
                                        vector in each; or NULL */
    struct norm embedding_norm;      /* [D], or none */
    struct kernel_weight *head;   /* [vocabulary, D]; may be `embedding`; NULL
                                        where nothing is written */
    struct norm norm;             /* [D], the last one, or none */
    struct layer_weights *layers; /* [layers] */
    float *host_mem, *host_mem0;  /* [D]; NULL: none */
    struct projections recall, pool;
    struct hash128 hash; /* of names, types, shapes and data */
    uint64_t parameters;
    const char *type; /* of the embedding: "f32", "bf16", "f16" */

    const struct kernels *kernels;
    struct weight_files *files;
};

/* ERR_FORMAT with the names of all tensors that are missing, of another shape
 * or type than they must be, or not known.  `run` must outlive the weights. */
int model_weights_open(const char *folder, const struct model_config *config,
                       const struct kernels *kernels, struct kernel_run *run,
                       struct model_weights *ret, struct err *err);
void model_weights_close(struct model_weights *weights,
                         const struct model_config *config,
                         struct kernel_run *run);

#endif
