#include "model/forward.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int forward_error(int kernel_code, struct err *err)
{
    switch (kernel_code) {
    case KERNEL_OK: return 0;
    case KERNEL_NO_MEMORY:
        return err_set(err, ERR_LIMIT, "no memory left for the model");
    case KERNEL_UNSUPPORTED:
        return err_set(err, ERR_INTERNAL,
                       "the backend cannot do an operation of the model");
    default: return err_set(err, ERR_INTERNAL, "the backend failed");
    }
}

/* ---- Memory ---- */

static int renew(struct model *m, float **memory, size_t rows, size_t columns)
{
    size_t bytes;
    m->kernels->release(&m->run, *memory);
    *memory = NULL;
    if (!mem_mul(rows, columns * sizeof **memory, &bytes))
        return KERNEL_NO_MEMORY;
    *memory = m->kernels->allocate(&m->run, bytes);
    return *memory ? 0 : KERNEL_NO_MEMORY;
}

static int work_reserve(struct model *m, size_t rows, struct err *err)
{
    struct workspace *w = &m->work;
    const struct model_config *c = &m->config;
    if (rows <= w->rows)
        return 0;
    const struct {
        float **memory;
        size_t columns;
    } parts[] = {
        {&w->x, c->width},
        {&w->h, c->width},
        {&w->q, c->heads * c->head},
        {&w->mixed, c->heads * c->head},
        {&w->k, c->key_heads * c->head},
        {&w->v, c->key_heads * c->head},
        {&w->gate, c->inner},
        {&w->up, c->inner},
    };
    w->rows = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int code = renew(m, parts[i].memory, rows, parts[i].columns);
        if (code)
            return forward_error(code, err);
    }
    w->host_ids = mem_resize(w->host_ids, rows, sizeof *w->host_ids);
    w->host_positions =
        mem_resize(w->host_positions, rows, sizeof *w->host_positions);
    w->rows = rows;
    return 0;
}

void workspace_free(struct model *m)
{
    struct workspace *w = &m->work;
    float *parts[] = {w->x, w->h,    w->q,  w->mixed, w->k,
                      w->v, w->gate, w->up, w->logits};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        m->kernels->release(&m->run, parts[i]);
    free(w->host_ids);
    free(w->host_positions);
    *w = (struct workspace){0};
}

/* The table has no copy within a device: what was read goes over the host,
 * each time the cache doubles. */
static int move(struct model *m, float **memory, size_t used, size_t bytes,
                void *host)
{
    float *grown = m->kernels->allocate(&m->run, bytes);
    int code = grown ? 0 : KERNEL_NO_MEMORY;
    if (!code && used)
        code = m->kernels->download(&m->run, host, *memory, used);
    if (!code && used)
        code = m->kernels->upload(&m->run, grown, host, used);
    if (code) {
        m->kernels->release(&m->run, grown);
        return code;
    }
    m->kernels->release(&m->run, *memory);
    *memory = grown;
    return 0;
}

int cache_reserve(struct model *m, struct cache *cache, size_t needed,
                  struct err *err)
{
    const struct model_config *c = &m->config;
    size_t row = c->key_heads * c->head * sizeof(float);
    if (needed <= cache->capacity)
        return 0;
    if (!cache->keys) {
        cache->keys = mem_alloc(c->layers * sizeof *cache->keys);
        cache->values = mem_alloc(c->layers * sizeof *cache->values);
    }
    size_t capacity = cache->capacity * 2;
    if (capacity < needed)
        capacity = needed;
    capacity = (capacity + CACHE_PAGE - 1) / CACHE_PAGE * CACHE_PAGE;
    void *host = malloc(cache->length ? cache->length * row : 1);
    int code = host ? 0 : KERNEL_NO_MEMORY;
    for (size_t i = 0; i < c->layers && !code; i++) {
        code =
            move(m, &cache->keys[i], cache->length * row, capacity * row, host);
        if (!code)
            code = move(m, &cache->values[i], cache->length * row,
                        capacity * row, host);
    }
    free(host);
    if (!code)
        cache->capacity = capacity;
    return forward_error(code, err);
}

void cache_free(struct model *m, struct cache *cache)
{
    for (size_t i = 0; cache->keys && i < m->config.layers; i++) {
        m->kernels->release(&m->run, cache->keys[i]);
        m->kernels->release(&m->run, cache->values[i]);
    }
    free(cache->keys);
    free(cache->values);
    *cache = (struct cache){0};
}

/* ---- The pass ---- */

/* Which row comes from where; a soft token's row is any, and filled after. */
static size_t lay_out(struct model *m, const struct forward_part *part,
                      size_t row)
{
    struct workspace *w = &m->work;
    size_t rows = forward_rows(part),
           past = part->cache ? part->cache->length : 0;
    size_t before = part->host_before ? 1 : 0;
    for (size_t i = 0; i < rows; i++) {
        bool token = i >= before && i - before < part->count;
        w->host_ids[row + i] = token ? part->ids[i - before] : 0;
        w->host_positions[row + i] = (int32_t)(past + i);
    }
    return row + rows;
}

static int read_inputs(struct model *m, const struct forward_part *parts,
                       size_t count, size_t rows)
{
    const struct kernels *k = m->kernels;
    size_t width = m->config.width, bytes = width * sizeof(float);
    float *row = m->work.x;
    int code = k->gather(&m->run, m->work.x, m->weights.embedding,
                         m->work.host_ids, rows);
    for (size_t i = 0; i < count && !code; i++) {
        float *next = row + forward_rows(&parts[i]) * width;
        if (parts[i].host_before)
            code = k->upload(&m->run, row, parts[i].host_before, bytes);
        if (parts[i].host_after && !code)
            code = k->upload(&m->run, next - width, parts[i].host_after, bytes);
        row = next;
    }
    return code;
}

/* Keys and values of a batch go where its attention finds them: into the
 * cache behind what is there, or into the workspace. */
static float *place(const struct model *m, float *scratch, float **cached,
                    const struct cache *cache, size_t layer)
{
    if (!cache)
        return scratch;
    return cached[layer] + cache->length * m->config.key_heads * m->config.head;
}

static int attend(struct model *m, const struct forward_part *parts,
                  size_t count, size_t layer)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    size_t row = 0, wide = c->heads * c->head, narrow = c->key_heads * c->head;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        const struct cache *cache = parts[i].cache;
        size_t rows = forward_rows(&parts[i]);
        size_t keys = cache ? cache->length + rows : rows;
        code = m->kernels->attention(
            &m->run, w->mixed + row * wide, w->q + row * wide,
            cache ? cache->keys[layer] : w->k + row * narrow,
            cache ? cache->values[layer] : w->v + row * narrow, rows, keys,
            c->heads, c->key_heads, c->head, c->window[layer]);
        row += rows;
    }
    return code;
}

static int attention(struct model *m, const struct forward_part *parts,
                     size_t count, size_t layer, size_t rows)
{
    const struct model_config *c = &m->config;
    const struct layer_weights *l = &m->weights.layers[layer];
    const struct kernels *t = m->kernels;
    struct kernel_run *run = &m->run;
    struct workspace *w = &m->work;
    struct cache *cache = parts[0].cache;
    float *k = place(m, w->k, cache ? cache->keys : NULL, cache, layer);
    float *v = place(m, w->v, cache ? cache->values : NULL, cache, layer);
    int code =
        t->rms_norm(run, w->h, w->x, l->input_norm, rows, c->width, c->eps);
    if (!code)
        code = t->product(run, w->q, w->h, l->q, rows, false);
    if (!code)
        code = t->product(run, k, w->h, l->k, rows, false);
    if (!code)
        code = t->product(run, v, w->h, l->v, rows, false);
    if (!code)
        code = t->rms_norm(run, w->q, w->q, l->q_norm, rows * c->heads, c->head,
                           c->eps);
    if (!code)
        code = t->rms_norm(run, k, k, l->k_norm, rows * c->key_heads, c->head,
                           c->eps);
    if (!code)
        code = t->rotary(run, w->q, w->host_positions, m->frequencies, rows,
                         c->heads, c->head);
    if (!code)
        code = t->rotary(run, k, w->host_positions, m->frequencies, rows,
                         c->key_heads, c->head);
    if (!code)
        code = attend(m, parts, count, layer);
    if (!code)
        code = t->product(run, w->x, w->mixed, l->o, rows, true);
    return code;
}

static int feed_forward(struct model *m, size_t layer, size_t rows)
{
    const struct model_config *c = &m->config;
    const struct layer_weights *l = &m->weights.layers[layer];
    const struct kernels *t = m->kernels;
    struct workspace *w = &m->work;
    int code =
        t->rms_norm(&m->run, w->h, w->x, l->inner_norm, rows, c->width, c->eps);
    if (!code)
        code = t->product(&m->run, w->gate, w->h, l->gate, rows, false);
    if (!code)
        code = t->product(&m->run, w->up, w->h, l->up, rows, false);
    if (!code)
        code = t->swiglu(&m->run, w->gate, w->gate, w->up, rows * c->inner);
    if (!code)
        code = t->product(&m->run, w->x, w->gate, l->down, rows, true);
    return code;
}

int forward(struct model *m, const struct forward_part *parts, size_t count,
            const struct cancel *cancel, struct err *err)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += forward_rows(&parts[i]);
    int code = work_reserve(m, rows, err);
    if (code)
        return code;
    for (size_t i = 0, row = 0; i < count; i++)
        row = lay_out(m, &parts[i], row);
    code = read_inputs(m, parts, count, rows);
    for (size_t layer = 0; layer < m->config.layers && !code; layer++) {
        if (cancel && cancel->asked && cancel->asked(cancel->context))
            return err_set(err, ERR_CANCELLED, "cancelled");
        code = attention(m, parts, count, layer, rows);
        if (!code)
            code = feed_forward(m, layer, rows);
    }
    return forward_error(code, err);
}

int forward_state(struct model *m, size_t row, float *host_out, struct err *err)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    int code = m->kernels->rms_norm(&m->run, w->h, w->x + row * c->width,
                                    m->weights.norm, 1, c->width, c->eps);
    if (!code)
        code = m->kernels->download(&m->run, host_out, w->h,
                                    c->width * sizeof *host_out);
    return forward_error(code, err);
}

int forward_logits(struct model *m, size_t from, size_t rows, float *host_out,
                   struct err *err)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    int code = 0;
    if (rows > w->logit_rows) {
        w->logit_rows = 0;
        code = renew(m, &w->logits, rows, c->vocabulary);
        if (!code)
            w->logit_rows = rows;
    }
    if (!code)
        code = m->kernels->rms_norm(&m->run, w->h, w->x + from * c->width,
                                    m->weights.norm, rows, c->width, c->eps);
    if (!code)
        code = m->kernels->product(&m->run, w->logits, w->h, m->weights.head,
                                   rows, false);
    if (!code)
        code = m->kernels->download(&m->run, host_out, w->logits,
                                    rows * c->vocabulary * sizeof *host_out);
    return forward_error(code, err);
}
