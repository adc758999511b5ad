/* Attention other than a decoder's own, as config.json asks for it.
 *
 * HiLS (Hierarchical Sparse Attention Done Right): models of the families
 * `olmo_hils` and `qwen_hils` say so with their authors' keys, which begin with
 * `hils_` (in their first configurations with `hsa_`).
 *
 * STAR and HiCI have no keys of their own; any decoder without windows is made
 * to use them by ours:
 *
 *   "lectern_attention": {"kind": "star", "chunk": 64, "top_k": 4}
 *   "lectern_attention": {"kind": "hici", "segment": 1024, "heads": 8,
 *                         "causal": false}
 *
 * STAR's chunk counts its summary token, which has a position as tokens have.
 * HiCI reads a text as a whole, as published or `causal` (kernels.h); its heads
 * are those of its own attention, to segments and to statistics. */
#ifndef MODEL_INFERENCE_SPARSE_CONFIG_H
#define MODEL_INFERENCE_SPARSE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/json.h"
#include "model/weights/rotary.h"

enum attention_kind {
    ATTENTION_FULL, /* of every layer, or of a window */
    ATTENTION_HILS,
    ATTENTION_STAR,
    ATTENTION_HICI
};

/* Layer i is HiLS iff i >= first and (i - first) % every == every - 1; the
 * others look at a window. */
struct hils_config {
    size_t first, every;     /* every 0: none */
    size_t chunk;            /* S slots, the last of them a landmark's */
    size_t window;           /* W slots */
    size_t top_k;            /* K chunks */
    size_t window_of_others; /* slots; 0: they see all */
    bool rotary;             /* queries and keys turn */
    bool softmax1;
    bool calibrated;     /* landmarks' queries have a projection */
    size_t rank;         /* of that; 0: full, and Wq h is not added */
    bool whole_norm;     /* the norm of such a query is over all heads */
    bool shared_query;   /* q_c in place of the landmarks' queries */
    bool hide_landmarks; /* windows do not see landmarks either */
    bool landmark_apart; /* its embedding is a tensor, not a row */
};

struct attention_config {
    int kind; /* enum attention_kind; below, what belongs to it */
    struct hils_config hils;
    struct {
        size_t chunk, top_k;
    } star;
    struct {
        size_t segment, heads;
        bool causal;
    } hici;
};

/* "full", "hils", "star", "hici" */
const char *attention_name(int kind);

bool hils_layer(const struct attention_config *attention, size_t layer);

/* Reads the keys of a family that is HiLS, and ret_rotary [2] (layers of HiLS, the
 * others) with the frequencies masked that the family masks, rotary.h having
 * read them.  `whole`: the family's norm of queries and keys is over all heads.
 * What would change the result and is not supported is an ERR_FORMAT by
 * name. */
int hils_from(const cJSON *root, bool whole, size_t layers, size_t context,
              struct attention_config *ret, struct rotary ret_rotary[2],
              struct err *err);

/* Reads any other family's "lectern_attention"; full if there is none.  ERR_FORMAT too where keys
 * of HiLS stand in a model that is none. */
int attention_from(const cJSON *root, struct attention_config *ret,
                   struct err *err);

#endif
