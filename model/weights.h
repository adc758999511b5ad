/* The weights of a model, checked against its config and handed to a backend.
 *
 * They lie in `model.safetensors`, or in the files that
 * `model.safetensors.index.json` names, under the names transformers gives
 * them (with or without the leading "model.").
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
struct layer_weights {
    float *input_norm;          /* [D] */
    struct kernel_weight *q;    /* [Hq d, D] */
    struct kernel_weight *k;    /* [Hkv d, D] */
    struct kernel_weight *v;    /* [Hkv d, D] */
    struct kernel_weight *o;    /* [D, Hq d] */
    float *q_norm;              /* [d] */
    float *k_norm;              /* [d] */
    float *inner_norm;          /* [D] */
    struct kernel_weight *gate; /* [inner, D] */
    struct kernel_weight *up;   /* [inner, D] */
    struct kernel_weight *down; /* [D, inner] */
};

struct projections {
    float *wq, *wk; /* [D, p]; NULL: none */
    size_t p;
};

struct model_weights {
    struct kernel_weight *embedding; /* [vocabulary, D] */
    struct kernel_weight *head;      /* the same; may be `embedding` */
    float *norm;                     /* [D] */
    struct layer_weights *layers;    /* [layers] */
    float *host_mem, *host_mem0;     /* [D]; NULL: none */
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
