/* HiCI attention within the forward pass (Hierarchical Construction-Integration,
 * 3): of a text that is read as a whole, so that what all its segments say is
 * there before any of its tokens attends. */
#include "model/inference/forward.h"

#include "base/mem.h"

bool forward_is_hici(const struct model *m, const struct cache *cache)
{
    return m->config.attention.kind == ATTENTION_HICI && cache &&
           !cache->length;
}

/* ---- Room ---- */

struct part {
    float **memory;
    size_t columns;
};

static int renew(struct model *m, const struct part *parts, size_t count,
                 size_t rows, size_t *have)
{
    size_t bytes;
    if (rows <= *have)
        return 0;
    *have = 0;
    for (size_t i = 0; i < count; i++) {
        m->kernels->release(&m->run, *parts[i].memory);
        *parts[i].memory = NULL;
        if (!mem_mul(rows, parts[i].columns * sizeof(float), &bytes))
            return KERNEL_NO_MEMORY;
        *parts[i].memory = m->kernels->allocate(&m->run, bytes);
        if (!*parts[i].memory)
            return KERNEL_NO_MEMORY;
    }
    *have = rows;
    return 0;
}

static int reserve(struct model *m, size_t local_rows, size_t shown_rows)
{
    struct workspace *w = &m->work;
    size_t width = m->config.width;
    size_t narrow = m->config.key_heads * m->config.head;
    const struct part local[] = {{&w->local, width}};
    const struct part shown[] = {
        {&w->shown, width}, {&w->slot_k, narrow}, {&w->slot_v, narrow}};
    int code = renew(m, local, 1, local_rows, &w->local_rows);
    return code ? code : renew(m, shown, 3, shown_rows, &w->shown_rows);
}

void forward_hici_free(struct model *m)
{
    float *parts[] = {m->work.local, m->work.shown, m->work.slot_k,
                      m->work.slot_v};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        m->kernels->release(&m->run, parts[i]);
}

/* ---- Attention ---- */

/* What is shown, by the backbone's own projections (eq. 12); slots have no
 * position, so their keys do not turn. */
static int project(struct model *m, size_t rows, size_t layer)
{
    const struct layer_weights *l = &m->weights.layers[layer];
    struct workspace *w = &m->work;
    size_t heads = m->config.key_heads;
    int code = forward_multiply(m, w->slot_k, w->shown, &l->k, rows, false);
    if (!code)
        code = forward_multiply(m, w->slot_v, w->shown, &l->v, rows, false);
    return code ? code
                : forward_norm_heads(m, w->slot_k, &l->k_norm, rows, heads,
                                     layer);
}

int forward_hici_attend(struct model *m, const float *in, size_t row,
                        size_t rows, size_t layer)
{
    const struct model_config *c = &m->config;
    const struct kernel_hici *hici = &m->weights.layers[layer].hici->hici;
    struct workspace *w = &m->work;
    size_t segment = c->attention.hici.segment;
    bool causal = c->attention.hici.causal;
    size_t segments = rows / segment + (rows % segment != 0);
    size_t shown = hici->queries + hici->slots;
    size_t wide = c->heads * c->head, narrow = c->key_heads * c->head;
    int code = reserve(m, segments * hici->slots, segments * shown);
    if (!code)
        code =
            m->kernels->hici_local(&m->run, w->local, in, hici, rows, segment);
    if (!code)
        code = m->kernels->hici_context(&m->run, w->shown, w->local, hici,
                                        segments, causal);
    if (!code)
        code = project(m, segments * shown, layer);
    return code ? code
                : m->kernels->hici_attention(
                      &m->run, w->mixed + row * wide, w->q + row * wide,
                      w->k + row * narrow, w->v + row * narrow, w->slot_k,
                      w->slot_v, rows, segment, shown, c->heads, c->key_heads,
                      c->head, causal);
}
