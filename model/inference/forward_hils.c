/* HiLS attention within the forward pass (Hierarchical Sparse Attention Done
 * Right): as models were made for it, with landmarks and calibrated queries, and
 * `exact`, ours, for any other. */
#include "model/inference/forward.h"

#include <stdlib.h>

#include "base/mem.h"

bool forward_is_hils(const struct model *m, const struct cache *cache,
                     size_t layer)
{
    if (!cache || !cache->hils.chunk)
        return false;
    return cache->hils.exact
               ? !m->config.window[layer] && layer >= cache->hils.full
               : hils_layer(&m->config.attention, layer);
}

/* ---- How a cache's layers choose ---- */

size_t forward_hils_max(const struct model *m, size_t top_k, size_t chunk)
{
    size_t max = m->config.context / (chunk > 1 ? chunk - 1 : 1) + 1;
    return top_k < max ? top_k : max;
}

struct hils_use forward_hils_use(const struct model *m)
{
    const struct hils_config *h = &m->config.attention.hils;
    if (m->config.attention.kind != ATTENTION_HILS)
        return (struct hils_use){.chunk = 0};
    return (struct hils_use){.chunk = h->chunk,
                             .window = h->window,
                             .top_k = forward_hils_max(m, h->top_k, h->chunk),
                             .softmax1 = h->softmax1};
}

static size_t looked_at(const struct hils_use *h, size_t chunks)
{
    size_t all = chunks ? chunks : 1;
    return h->looks < all ? h->looks : all;
}

size_t forward_hils_chosen(const struct forward_part *part)
{
    const struct cache *cache = part->cache;
    const struct hils_use *h = &cache->hils;
    size_t slots = cache->length + forward_rows(part);
    return h->top_k + looked_at(h, h->chunk ? slots / h->chunk : 0);
}

/* ---- Room ---- */

static int renew(struct model *m, void *memory, size_t count, size_t size)
{
    void **place = memory;
    size_t bytes;
    m->kernels->release(&m->run, *place);
    *place = NULL;
    if (!mem_mul(count, size, &bytes))
        return KERNEL_NO_MEMORY;
    *place = m->kernels->allocate(&m->run, bytes);
    return *place ? 0 : KERNEL_NO_MEMORY;
}

int forward_hils_reserve(struct model *m, size_t rows, size_t top_k)
{
    struct workspace *w = &m->work;
    const struct model_config *c = &m->config;
    size_t wide = c->heads * c->head, chosen = rows * c->key_heads * top_k;
    int code = 0;
    if (rows > w->hils_rows) {
        w->hils_rows = 0;
        code = renew(m, &w->slots, rows, sizeof *w->slots);
        if (!code && c->attention.kind == ATTENTION_HILS)
            code = renew(m, &w->qhat, rows * wide, sizeof *w->qhat);
        if (!code && c->attention.hils.rank)
            code = renew(m, &w->low, rows * c->attention.hils.rank,
                         sizeof *w->low);
        if (!code)
            w->hils_rows = rows;
    }
    if (!code && chosen > w->chosen_count) {
        w->chosen_count = 0;
        code = renew(m, &w->chosen, chosen, sizeof *w->chosen);
        if (!code)
            w->chosen_count = chosen;
    }
    return code;
}

int forward_hils_landmarks(struct model *m, const struct cache *cache,
                           size_t slots)
{
    struct workspace *w = &m->work;
    if (!cache->hils.chunk || !cache->inserted || slots <= w->landmark_count)
        return 0;
    size_t count = 2 * w->landmark_count, chunk = cache->hils.chunk;
    count = count < slots ? slots : count;
    w->landmark_count = 0;
    int code = renew(m, &w->landmarks, count, sizeof *w->landmarks);
    if (code)
        return code;
    int32_t *host = mem_alloc(count * sizeof *host);
    for (size_t j = chunk - 1; j < count; j += chunk)
        host[j] = 1;
    code =
        m->kernels->upload(&m->run, w->landmarks, host, count * sizeof *host);
    free(host);
    if (!code)
        w->landmark_count = count;
    return code;
}

void forward_hils_free(struct model *m)
{
    struct workspace *w = &m->work;
    m->kernels->release(&m->run, w->slots);
    m->kernels->release(&m->run, w->qhat);
    m->kernels->release(&m->run, w->low);
    m->kernels->release(&m->run, w->chosen);
    m->kernels->release(&m->run, w->landmarks);
}

/* ---- Queries ---- */

struct kernel_product forward_hils_product(const struct model *m, size_t layer)
{
    const struct hils_config *h = &m->config.attention.hils;
    const struct hils_weights *l = &m->weights.layers[layer].hils;
    return h->rank ? (struct kernel_product){.out = m->work.low, .w = l->down}
                   : (struct kernel_product){.out = m->work.qhat, .w = l->full};
}

int forward_hils_calibrate(struct model *m, size_t layer, size_t rows)
{
    const struct model_config *c = &m->config;
    const struct hils_config *h = &c->attention.hils;
    const struct hils_weights *l = &m->weights.layers[layer].hils;
    struct workspace *w = &m->work;
    const struct kernel_product up = {.out = w->qhat, .w = l->up, .plus = w->q};
    const struct kernel_rows low = {.x = w->low};
    int code = h->rank ? m->kernels->matmuls(&m->run, &up, 1, &low, rows) : 0;
    if (!code && h->whole_norm)
        code = m->kernels->rms_norm(&m->run, w->qhat, w->qhat, l->norm, rows,
                                    c->heads * c->head, FORWARD_HILS_EPS);
    return code;
}

/* The queries that choose. */
static const float *choosing(const struct model *m, const struct cache *cache)
{
    const struct workspace *w = &m->work;
    bool own = cache->hils.exact || !m->config.attention.hils.calibrated;
    return own ? w->q : w->qhat;
}

/* ---- What chunks are chosen by ---- */

/* The queries of the landmarks of chunks [first, end), or the one that all share. */
static int take_landmarks(struct model *m, const struct cache *cache,
                          size_t row, size_t first, size_t end, size_t layer)
{
    const struct model_config *c = &m->config;
    const struct workspace *w = &m->work;
    const float *shared = m->weights.layers[layer].hils.q_c;
    size_t wide = c->heads * c->head, chunk = cache->hils.chunk;
    struct kernel_summaries summaries = cache_summaries(m, cache, layer);
    size_t at = row + first * chunk + chunk - 1 - cache->length;
    struct kernel_proxies proxies = {.x = choosing(m, cache) + at * wide,
                                     .step = chunk * wide};
    if (shared)
        proxies = (struct kernel_proxies){.x = shared};
    if (shared && c->attention.hils.rotary) {
        proxies.angles = w->angles[config_rotary(c, layer)] + at * c->head;
        proxies.turn = chunk * c->head;
    }
    return m->kernels->chunk_proxies(&m->run, &summaries, &proxies, first,
                                     end - first, c->heads, c->head);
}

/* Of chunks [first, end). */
static int average(struct model *m, const struct cache *cache, size_t first,
                   size_t end, size_t layer)
{
    const struct model_config *c = &m->config;
    struct kernel_pages pages = cache_pages(m, cache, layer);
    struct kernel_summaries means = cache_summaries(m, cache, layer);
    return m->kernels->chunk_means(&m->run, &means, &pages, first, end - first,
                                   cache->hils.chunk, c->key_heads, c->head);
}

int forward_hils_means(struct model *m, const struct cache *cache, size_t first,
                       size_t end)
{
    int code = 0;
    for (size_t i = 0; cache->hils.exact && i < m->config.layers && !code; i++)
        if (forward_is_hils(m, cache, i))
            code = average(m, cache, first, end, i);
    return code;
}

/* Of chunks that become complete: what they are chosen by. */
static int summarise(struct model *m, const struct cache *cache, size_t row,
                     size_t rows, size_t layer)
{
    const struct model_config *c = &m->config;
    const struct hils_use *h = &cache->hils;
    struct kernel_pages pages = cache_pages(m, cache, layer);
    struct kernel_summaries summaries = cache_summaries(m, cache, layer);
    size_t first = cache->length / h->chunk;
    size_t end = (cache->length + rows) / h->chunk;
    if (first == end)
        return 0;
    if (h->exact)
        return average(m, cache, first, end, layer);
    int code = take_landmarks(m, cache, row, first, end, layer);
    if (code)
        return code;
    return m->kernels->chunk_summary(&m->run, &summaries, &pages, first,
                                     end - first, h->chunk, c->heads,
                                     c->key_heads, c->head);
}

/* ---- Attention ---- */

/* Nothing is chosen: all is read, or the last `window` slots. */
static int attend_all(struct model *m, const struct cache *cache, size_t row,
                      size_t rows, size_t layer, size_t window)
{
    const struct model_config *c = &m->config;
    struct kernel_pages pages = cache_pages(m, cache, layer);
    size_t at = row * c->heads * c->head;
    return m->kernels->attention(&m->run, m->work.mixed + at, m->work.q + at,
                                 &pages, rows, cache->length + rows, c->heads,
                                 c->key_heads, c->head, window);
}

/* Into work.chosen, behind which there is room for those that are `looked`
 * at; 0: by means or summaries alone. */
static int choose(struct model *m, const float *q, const float *qhat,
                  const struct kernel_pages *pages,
                  const struct kernel_summaries *summaries,
                  const int32_t *slots, const int32_t *landmarks,
                  const struct kernel_hils *sizes, size_t looked)
{
    struct workspace *w = &m->work;
    struct kernel_hils more = *sizes;
    if (!looked)
        return m->kernels->hils_choose(&m->run, w->chosen, q, qhat, pages,
                                       summaries, slots, landmarks, sizes);
    int32_t *wide = w->chosen + sizes->m * sizes->hkv * sizes->top_k;
    more.top_k = looked;
    int code = m->kernels->hils_choose(&m->run, wide, q, qhat, pages, summaries,
                                       slots, landmarks, &more);
    return code ? code
                : m->kernels->hils_rerank(&m->run, w->chosen, wide, more.top_k,
                                          q, pages, slots, sizes);
}

int forward_hils_attend(struct model *m, const struct cache *cache, size_t row,
                        size_t rows, size_t layer)
{
    const struct model_config *c = &m->config;
    const struct hils_use *h = &cache->hils;
    struct workspace *w = &m->work;
    struct kernel_pages pages = cache_pages(m, cache, layer);
    struct kernel_summaries summaries = cache_summaries(m, cache, layer);
    size_t n = cache->length + rows, wide = c->heads * c->head;
    struct kernel_hils sizes = {.m = rows,
                                .n = n,
                                .chunks = n / h->chunk,
                                .hq = c->heads,
                                .hkv = c->key_heads,
                                .d = c->head,
                                .chunk = h->chunk,
                                .window = h->window,
                                .top_k = h->top_k,
                                .exact = h->exact,
                                .softmax1 = h->softmax1};
    const int32_t *landmarks = cache->inserted ? w->landmarks : NULL;
    const float *q = w->q + row * wide;
    const float *qhat = choosing(m, cache) + row * wide;
    int code = summarise(m, cache, row, rows, layer);
    if (!code && h->all)
        return attend_all(m, cache, row, rows, layer, h->window);
    if (!code && rows > 1 && n <= h->read)
        return attend_all(m, cache, row, rows, layer, 0);
    if (!code)
        code = choose(m, q, qhat, &pages, &summaries, w->slots + row, landmarks,
                      &sizes, looked_at(h, sizes.chunks));
    if (!code)
        code = m->kernels->hils_attention(
            &m->run, w->mixed + row * wide, q, qhat, &pages, &summaries,
            w->slots + row, landmarks, w->chosen, &sizes);
    return code;
}
