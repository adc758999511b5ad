/* The forward pass, through the table of kernels only. */
#ifndef MODEL_INFERENCE_FORWARD_H
#define MODEL_INFERENCE_FORWARD_H

#include "model/inference/kv_cache.h"
#include "model/model.h"
#include "model/encode/pooling.h"
#include "model/weights/weights.h"

enum {
    FORWARD_MAX_ROWS = 512,   /* tokens at once */
    FORWARD_MAX_TEXTS = 8192, /* on a device */
    /* Where each chooses what it reads: as many of these as take 64 MiB to work
     * in.  What they choose is read once for all of them. */
    FORWARD_MAX_CHOOSING = 4096
};

/* Scratch of a forward pass: grows to the largest batch seen, then stays. */
struct workspace {
    size_t rows;
    float *x;             /* [rows, D] the residual stream */
    float *h;             /* [rows, D] */
    float *q, *mixed;     /* [rows, Hq d] */
    float *k, *v;         /* [rows, Hkv d] */
    const float **tables; /* [2] the addresses of k and v, on the device */
    float *gate, *up;     /* [rows, inner] */
    float *angles[2];     /* [rows, d] of rotary positions, by config_rotary */
    size_t logit_rows;
    float *logits; /* [logit_rows, vocabulary] */
    int32_t *host_ids, *host_positions, *host_slots; /* [rows] */
    struct kernel_places *host_places; /* [rows] of each part, one layer's */
    size_t *host_starts;               /* [rows + 1] each part's first row */
    /* Of HiLS (forward_hils.c): */
    float *qhat;        /* [rows, Hq d] calibrated queries */
    float *low;         /* [rows, rank] */
    int32_t *slots;     /* [rows] */
    int32_t *chosen;    /* [chosen_count] chunks */
    int32_t *landmarks; /* [landmark_count] for each slot whether it is one */
    size_t hils_rows, chosen_count, landmark_count;
    /* Of HiCI (forward_hici.c): */
    float *local, *shown;   /* [local_rows, D], [shown_rows, D] */
    float *slot_k, *slot_v; /* [shown_rows, Hkv d] */
    size_t local_rows, shown_rows;
};

/* The recall projections as weights of products: [0] Wk, [1] Wq. */
struct key_weights {
    float *host[2]; /* [p, D] */
    struct kernel_weight *weight[2];
};

struct model {
    bool shared; /* all but run, work, pages and keys is another's */
    const struct kernels *kernels;
    struct kernel_run run;
    struct model_config config;
    struct pooling pooling;
    struct gguf *gguf; /* where the weights lie; NULL: in a folder */
    struct model_weights weights;
    struct tokenizer *tokenizer;
    struct chat *chat; /* NULL: no template */
    struct workspace work;
    struct page_pool pages;
    struct key_weights keys;
    double *frequencies[2]; /* [d / 2]; config_rotary says of which layers */
    struct model_facts facts;
    char *name;
};

/* A run of rows that see one another, those before them or all, and, when there
 * is a cache, all it holds.  No two parts have the same cache. */
struct forward_part {
    const int32_t *ids; /* [count] */
    size_t count;
    size_t second;   /* the token from which on they are of the second type; 0:
                        none is */
    size_t inserted; /* rows that are no tokens (kv_cache.h), besides these */
    const float *host_before, *host_after; /* [D] soft tokens; NULL: none */
    struct cache *cache; /* NULL: no past, none is kept, and each row sees all
                            before it, also in layers that would choose */
};
static inline size_t forward_rows(const struct forward_part *part)
{
    return part->count + part->inserted + (part->host_before != NULL) +
           (part->host_after != NULL);
}

/* Tokens of the next pass, where `left` of one cache's are to be read.  On a
 * device as many as of texts, in passes of one size. */
size_t forward_next(const struct model *model, const struct cache *cache,
                    size_t left);
/* Whether passes are wider than those of a processor. */
static inline bool forward_is_wide(const struct model *model)
{
    return model->kernels->pass_rows > FORWARD_MAX_ROWS;
}
/* Rows of a pass of texts side by side. */
size_t forward_max_texts(const struct model *model);
/* Most tokens of a text that HiCI attention reads as a whole: as many as take a
 * GiB to work in. */
size_t forward_max_whole(const struct model *model);

/* Leaves the residual stream of all rows, in order, behind the first `layers`
 * layers in work.x, or on its way there: where each part is one row it begins a
 * step (kernels.h), which forward_logits ends, or whatever is downloaded; keys
 * and values of these layers go into the caches, which have room for them
 * (cache_reserve), and whose lengths are the caller's to change. */
int forward(struct model *model, const struct forward_part *parts, size_t count,
            size_t layers, const struct cancel *cancel, struct err *err);

/* ---- HiLS (forward_hils.c), as codes of kernels ---- */

/* Of the norms within layers made for HiLS, whatever the config says. */
#define FORWARD_HILS_EPS 1e-6F

/* Whether the layer chooses what it reads; cache NULL: no. */
bool forward_is_hils(const struct model *model, const struct cache *cache,
                     size_t layer);
/* How a new cache of a model made for HiLS chooses; chunk 0: it was not. */
struct hils_use forward_hils_use(const struct model *model);
/* Chunks for which a row of a part with a cache needs room, for each key-value head:
 * those that are chosen and those that are looked at. */
size_t forward_hils_chosen(const struct forward_part *part);
/* top_k, or as many chunks of so many slots as there can be. */
size_t forward_hils_max(const struct model *model, size_t top_k, size_t chunk);
/* Room for rows that choose `top_k` chunks each, and for `slots` slots with
 * landmarks. */
int forward_hils_reserve(struct model *model, size_t rows, size_t top_k);
int forward_hils_landmarks(struct model *model, const struct cache *cache,
                           size_t slots);
void forward_hils_free(struct model *model);
/* The calibrated queries of a layer made for HiLS, before their norm (eq. 11 as the
 * authors code it): what of them is a product of what the layer reads, to be made
 * with its other products; the rest, from the queries before their norm. */
struct kernel_product forward_hils_product(const struct model *model,
                                           size_t layer);
int forward_hils_calibrate(struct model *model, size_t layer, size_t rows);
/* Makes anew by what `exact` chooses the chunks [first, end), whose keys come from
 * elsewhere. */
int forward_hils_means(struct model *model, const struct cache *cache,
                       size_t first, size_t end);
/* A part's attention, its keys and values being in the cache: means or
 * summaries of the chunks that it completes, the choice, and what is chosen. */
int forward_hils_attend(struct model *model, const struct cache *cache,
                        size_t row, size_t rows, size_t layer);

/* ---- HiCI (forward_hici.c), as codes of kernels ---- */

/* Whether the rows of such a part are a text read as a whole: by a model with
 * HiCI attention, what a cache begins with. */
bool forward_is_hici(const struct model *model, const struct cache *cache);
/* Its attention.  in [rows, D]: what the layer reads of these rows. */
int forward_hici_attend(struct model *model, const float *in, size_t row,
                        size_t rows, size_t layer);
void forward_hici_free(struct model *model);

/* ---- Parts of a layer, as codes of kernels ---- */

/* out [rows, outputs] = in w^T + bias (+ out when `add`). */
int forward_multiply(struct model *model, float *out, const float *in,
                     const struct linear *linear, size_t rows, bool add);
/* The norm of queries' or keys' heads, where the family has one. */
int forward_norm_heads(struct model *model, float *x, const struct norm *norm,
                       size_t rows, size_t heads, size_t layer);

/* The last norm of work.x's row, if there is one, downloaded.  host_out [D] */
int forward_state(struct model *model, size_t row, float *host_out,
                  struct err *err);
/* The same of rows [from, from + rows), in one download; work.x stays.  host_out [rows, D] */
int forward_run_states(struct model *model, size_t from, size_t rows,
                       float *host_out, struct err *err);
/* The same of `count` rows, ascending, in one download.  host_out [count, D] */
int forward_states(struct model *model, const size_t *rows, size_t count,
                   float *host_out, struct err *err);
/* The mean of that over rows [from, from + rows). */
int forward_mean(struct model *model, size_t from, size_t rows, float *host_out,
                 struct err *err);
/* The same of each of `count` runs of rows [starts[i], starts[i + 1]), in one
 * download; nothing may be asked of work.x then.  host_out [count, D] */
int forward_means(struct model *model, const size_t *starts, size_t count,
                  float *host_out, struct err *err);
/* Computes the logits of work.x's rows [from, from + rows); then downloads some,
 * counted from the first of these. */
int forward_logits(struct model *model, size_t from, size_t rows,
                   struct err *err);
int forward_take_logits(struct model *model, size_t from, size_t rows,
                        float *host_out, struct err *err);
/* The same of one, copied to what is on the device. */
int forward_keep_logits(struct model *model, size_t row, float *out,
                        struct err *err);

/* Returns the bytes of scratch of the widest usual pass on a device. */
uint64_t forward_work_bytes(const struct model_config *config);
void workspace_free(struct model *model);
void keys_free(struct model *model);

/* A backend's refusal as one of our errors. */
int forward_error(int kernel_code, struct err *err);

#endif
