/* The forward pass, through the table of kernels only. */
#ifndef MODEL_FORWARD_H
#define MODEL_FORWARD_H

#include "model/model.h"
#include "model/pooling.h"
#include "model/weights.h"

enum {
    FORWARD_MOST_ROWS = 512, /* tokens at once */
    CACHE_PAGE = 64          /* tokens; also the chunk of HiLS */
};

/* Keys and values of what a session has read. */
struct cache {
    float **keys, **values; /* [layers], each [capacity, Hkv, d] */
    size_t length, capacity;
};

/* What a pass works in: grows to the largest batch seen, then stays. */
struct workspace {
    size_t rows;
    float *x;         /* [rows, D] the residual stream */
    float *h;         /* [rows, D] */
    float *q, *mixed; /* [rows, Hq d] */
    float *k, *v;     /* [rows, Hkv d] */
    float *gate, *up; /* [rows, inner] */
    size_t logit_rows;
    float *logits;                      /* [logit_rows, vocabulary] */
    int32_t *host_ids, *host_positions; /* [rows] */
};

/* The recall projections as weights of products: [0] Wk, [1] Wq. */
struct key_weights {
    float *host[2]; /* [p, D] */
    struct kernel_weight *weight[2];
};

struct model {
    const struct kernels *kernels;
    struct kernel_run run;
    struct model_config config;
    struct pooling pooling;
    struct model_weights weights;
    struct tokenizer *tokenizer;
    struct workspace work;
    struct key_weights keys;
    double *frequencies[2]; /* [d / 2] of layers that see all, of the others */
    struct model_facts facts;
    char *name;
};

/* A run of rows that see one another, those before them or all, and, when there
 * is a cache, all it holds.  Rows of a batch with a cache are one part. */
struct forward_part {
    const int32_t *ids; /* [count] */
    size_t count;
    const float *host_before, *host_after; /* [D] soft tokens; NULL: none */
    struct cache *cache;                   /* NULL: no past, and none is kept */
};
static inline size_t forward_rows(const struct forward_part *part)
{
    return part->count + (part->host_before != NULL) +
           (part->host_after != NULL);
}

/* Leaves the residual stream of all rows, in order, in work.x; keys and values
 * go into the cache, whose length is the caller's to change. */
int forward(struct model *model, const struct forward_part *parts, size_t count,
            const struct cancel *cancel, struct err *err);

/* The last norm of work.x's row, if there is one, downloaded.  host_out [D] */
int forward_state(struct model *model, size_t row, float *host_out,
                  struct err *err);
/* The mean of that over rows [from, from + rows). */
int forward_mean(struct model *model, size_t from, size_t rows, float *host_out,
                 struct err *err);
/* The logits of work.x's rows [from, from + rows), downloaded. */
int forward_logits(struct model *model, size_t from, size_t rows,
                   float *host_out, struct err *err);

int cache_reserve(struct model *model, struct cache *cache, size_t needed,
                  struct err *err);
void cache_free(struct model *model, struct cache *cache);
void workspace_free(struct model *model);
void keys_free(struct model *model);

/* A backend's refusal as one of our errors. */
int forward_error(int kernel_code, struct err *err);

#endif
