/* Keys and values of what sessions have read, in pages of one chunk: 64 slots,
 * all layers.  Pages come from the model's pool and are counted: a fork shares
 * those of its beginning.
 *
 *   page: for each layer  keys [Hkv, S, d], values [Hkv, S, d], and where it may
 *         choose  the chunk's means of keys [Hkv, 8, d] (`exact`), or, in models made
 *         for HiLS, its summary keys [Hq, d] and biases [Hq]
 *
 * S is 64, in models made for HiLS their chunk.
 *
 * Keys and values are of the pool's `type`, one for all pages of a model: int8 where
 * it was asked for, bf16 where the table of kernels has such pages and the weights
 * are not f32, else f32.  Means are bf16; summary keys bf16 where keys are, else f32;
 * biases f32.  Each layer's keys, values and what stands behind them begin at a multiple
 * of 16 bytes.
 *
 * A slot is a token, or what the model has inserted behind those of a chunk.
 *
 * 1. A page with several users is never written to: cache_reserve copies the
 *    one that the next tokens go into.
 * 2. pages[i] holds the slots [S i, S (i + 1)); all slots before `length` are
 *    filled, and chunks that are complete have their means or summaries.
 * 3. `table` on the device has the pages' addresses, in order. */
#ifndef MODEL_INFERENCE_KV_CACHE_H
#define MODEL_INFERENCE_KV_CACHE_H

#include "base/err.h"
#include "kernels/kernels.h"

struct model;

enum {
    CACHE_PAGE = 64, /* slots; also the chunk of `exact` */
    CACHE_MEANS = 8  /* of a chunk of `exact` */
};

struct page {
    float *memory;
    size_t users;
    struct page *next; /* of the spare ones */
};

/* Pages that nobody uses are kept, up to some, for the next who asks. */
struct page_pool {
    struct page *spare;
    size_t spare_count, used; /* pages */
    int type;                 /* KERNEL_F32, KERNEL_BF16 or KERNEL_INT8 */
    size_t slots;             /* of a page */
    size_t floats;            /* of a page: its bytes by four */
    size_t *at;               /* [layers] where each layer's part begins */
};

/* How a cache's layers choose what they read; chunk 0: they read all. */
struct hils_use {
    size_t chunk, window, top_k;
    bool exact; /* of layers without a window; chosen tokens weigh their own */
    size_t looks; /* so many chunks are looked at by their keys; SIZE_MAX: all;
                     0: means decide (`exact`) */
    size_t full;  /* the first so many layers read all (`exact`) */
    size_t read;  /* several rows at once read all of so many slots (`exact`) */
    bool all; /* nothing is chosen, means are made: the last `window` slots are
                 read, 0: all of them (`exact`) */
    bool softmax1;
};

struct cache {
    struct page **pages; /* [count] */
    float **host_table;  /* [count] */
    float **table;       /* [count], on the device */
    size_t length;       /* slots */
    size_t count, capacity;
    /* Of each so many slots the last is no token: a landmark of HiLS's, or a
     * summary token of STAR's; 0: all are. */
    size_t inserted;
    struct hils_use hils;
};

/* The slots of `tokens` tokens from the first on, with what is inserted. */
static inline size_t cache_slots(const struct cache *cache, size_t tokens)
{
    size_t every = cache->inserted;
    return every ? tokens + tokens / (every - 1) : tokens;
}

static inline bool cache_is_inserted(const struct cache *cache, size_t slot)
{
    return cache->inserted && slot % cache->inserted == cache->inserted - 1;
}

/* Room for `needed` slots; those from `length` on may then be written. */
int cache_reserve(struct model *model, struct cache *cache, size_t needed,
                  struct err *err);
/* Forgets the slots from `length` on, and gives their pages back. */
void cache_rewind(struct model *model, struct cache *cache, size_t length);
/* *to, which is empty, becomes what *from is up to `length`. */
int cache_fork(struct model *model, const struct cache *from, size_t length,
               struct cache *to, struct err *err);
void cache_free(struct model *model, struct cache *cache);

/* Where `rows` more rows go: behind what is there. */
struct kernel_places cache_places(const struct cache *cache, size_t rows);
/* A layer's keys and values. */
struct kernel_pages cache_pages(const struct model *model,
                                const struct cache *cache, size_t layer);

/* The chunks' summaries, or means, of a layer that may choose. */
struct kernel_summaries cache_summaries(const struct model *model,
                                        const struct cache *cache,
                                        size_t layer);

/* Lays the model's pages out, once, by its kernels, config and weights' type;
 * `exact`: layers that see all have room for means; `int8`: keys and values have
 * eight bits, if the table and the attention can. */
void page_pool_lay_out(struct model *model, bool exact, bool int8);
/* Whether the pages of this layer have that room. */
bool cache_has_summaries(const struct model *model, size_t layer);

/* Bytes of a page. */
size_t cache_page_bytes(const struct model *model);
/* Floats of a layer's keys and values in a page, which stand first. */
size_t cache_layer_floats(const struct model *model);
/* Gives the spare pages back. */
void page_pool_free(struct model *model);

#endif
