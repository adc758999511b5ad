/* A layer of a pass: attention, then the feed-forward part. */
#include "model/inference/forward_internal.h"

int forward_normalise(struct model *m, float *out, const float *x,
                      const struct norm *norm, size_t rows, size_t width)
{
    const struct model_config *c = &m->config;
    if (c->architecture->norm == NORM_LAYER)
        return m->kernels->layer_norm(&m->run, out, x, norm->weight, norm->bias,
                                      rows, width, c->eps);
    return m->kernels->rms_norm(&m->run, out, x, norm->weight, rows, width,
                                c->eps);
}

int forward_multiply(struct model *m, float *out, const float *in,
                     const struct linear *linear, size_t rows, bool add)
{
    if (!linear->bias)
        return m->kernels->matmul(&m->run, out, in, linear->weight, rows, add);
    return m->kernels->matmul_bias(&m->run, out, in, linear->weight,
                                   linear->bias, rows, add);
}

static struct kernel_product product_of(float *out, const struct linear *linear)
{
    return (struct kernel_product){
        .out = out, .w = linear->weight, .bias = linear->bias};
}

/* What a layer's part reads: x, or its norm, which is made here where products do not
 * make it, or `whole`: where it is read by more than these. */
static int enter(struct model *m, const struct norm *norm, size_t rows,
                 bool whole, struct kernel_rows *ret)
{
    struct workspace *w = &m->work;
    int place = m->config.architecture->norm_place;
    *ret = (struct kernel_rows){.x = w->x};
    if ((place != NORM_BEFORE && place != NORM_BOTH) || !norm->weight)
        return 0;
    if (m->config.architecture->norm != NORM_LAYER && !whole) {
        ret->norm = norm->weight;
        ret->eps = m->config.eps;
        ret->room = w->h;
        return 0;
    }
    ret->x = w->h;
    return forward_normalise(m, w->h, w->x, norm, rows, m->config.width);
}

/* The norm that follows a layer's part, where one does. */
static const struct norm *norm_after(const struct model *m,
                                     const struct norm *norm,
                                     const struct norm *after)
{
    return m->config.architecture->norm_place == NORM_BOTH ? after : norm;
}

/* Where a layer's part has its last product: it joins x, or is normed apart. */
static bool stands_apart(const struct model *m)
{
    int place = m->config.architecture->norm_place;
    return place == NORM_AFTER || place == NORM_BOTH;
}

/* A part's last product. */
static struct kernel_product last_product(struct model *m,
                                          const struct linear *linear)
{
    struct workspace *w = &m->work;
    bool apart = stands_apart(m);
    struct kernel_product p = product_of(apart ? w->h : w->x, linear);
    p.plus = apart ? NULL : w->x;
    return p;
}

/* What it made joins x, with a norm before or after that. */
static int leave(struct model *m, const struct norm *norm, size_t rows)
{
    struct workspace *w = &m->work;
    size_t width = m->config.width;
    bool apart = stands_apart(m);
    int code = 0;
    if (apart)
        code = forward_normalise(m, w->h, w->h, norm, rows, width);
    if (!code && apart)
        code = m->kernels->add(&m->run, w->x, w->h, rows * width);
    if (!code && m->config.architecture->norm_place == NORM_OUTSIDE)
        code = forward_normalise(m, w->x, w->x, norm, rows, width);
    return code;
}

/* STAR: all layers, over the cache. */
static int attend_star(struct model *m, const struct cache *cache, size_t row,
                       size_t rows, size_t layer)
{
    const struct model_config *c = &m->config;
    struct kernel_pages pages = cache_pages(m, cache, layer);
    size_t at = row * c->heads * c->head;
    return m->kernels->star_attention(
        &m->run, m->work.mixed + at, m->work.q + at, &pages,
        m->weights.star_gate + 3 * layer, rows, cache->length + rows, c->heads,
        c->key_heads, c->head, c->attention.star.chunk,
        c->attention.star.top_k);
}

/* One part's attention: its queries over its keys, or over the cache's.
 * in [rows, D]: what they were made of. */
static int attend_part(struct model *m, const struct cache *cache,
                       const float *in, size_t row, size_t rows, size_t layer)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    size_t wide = c->heads * c->head, narrow = c->key_heads * c->head;
    float *out = w->mixed + row * wide;
    const float *q = w->q + row * wide;
    struct kernel_pages pages = {.keys = w->tables,
                                 .values = w->tables + 1,
                                 .key_at = row * narrow,
                                 .value_at = row * narrow,
                                 .slots = w->rows};
    if (forward_is_hils(m, cache, layer))
        return forward_hils_attend(m, cache, row, rows, layer);
    if (forward_is_hici(m, cache))
        return forward_hici_attend(m, in, row, rows, layer);
    if (c->attention.kind == ATTENTION_STAR)
        return attend_star(m, cache, row, rows, layer);
    if (cache)
        pages = cache_pages(m, cache, layer);
    if (cache && c->attention.hils.hide_landmarks)
        pages.hidden = cache->inserted;
    return m->kernels->attention(&m->run, out, q, &pages, rows,
                                 cache ? cache->length + rows : rows, c->heads,
                                 c->key_heads, c->head, c->window[layer]);
}

static bool some_have_caches(const struct forward_part *parts, size_t count)
{
    bool some = false;
    for (size_t i = 0; i < count; i++)
        some = some || parts[i].cache;
    return some;
}

/* Whether the parts are texts that see themselves alone. */
static bool are_texts(const struct model *m, const struct forward_part *parts,
                      size_t count)
{
    return !some_have_caches(parts, count) &&
           (m->config.architecture->encoder ||
            m->config.attention.kind != ATTENTION_STAR);
}

/* Where each text begins, in work.host_starts. */
static void list_starts(struct model *m, const struct forward_part *parts,
                        size_t count)
{
    size_t row = 0;
    for (size_t i = 0; i <= count; i++) {
        m->work.host_starts[i] = row;
        row += i < count ? forward_rows(&parts[i]) : 0;
    }
}

static int attend_texts(struct model *m, const struct forward_part *parts,
                        size_t count, size_t layer)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    list_starts(m, parts, count);
    return m->kernels->attention_texts(
        &m->run, w->mixed, w->q, w->k, w->v, w->host_starts, count, c->heads,
        c->key_heads, c->head, c->window[layer], !c->architecture->encoder);
}

static int attend(struct model *m, const struct forward_part *parts,
                  size_t count, const float *in, size_t layer)
{
    int code = 0;
    if (are_texts(m, parts, count))
        return attend_texts(m, parts, count, layer);
    for (size_t i = 0, row = 0, rows; i < count && !code; i++, row += rows) {
        rows = forward_rows(&parts[i]);
        code = attend_part(m, parts[i].cache, in + row * m->config.width, row,
                           rows, layer);
    }
    return code;
}

/* Whether the layer was made for HiLS: it has an eps of its own, and may not
 * turn. */
static bool made_hils(const struct model *m, size_t layer)
{
    return hils_layer(&m->config.attention, layer);
}

static float head_eps(const struct model *m, size_t layer)
{
    return made_hils(m, layer) ? FORWARD_HILS_EPS : m->config.eps;
}

int forward_norm_heads(struct model *m, float *x, const struct norm *norm,
                       size_t rows, size_t heads, size_t layer)
{
    size_t head = m->config.head;
    float eps = head_eps(m, layer);
    int kind = m->config.architecture->head_norm;
    if (kind == HEAD_NORM_NONE)
        return 0;
    if (kind == HEAD_NORM_WHOLE)
        return m->kernels->rms_norm(&m->run, x, x, norm->weight, rows,
                                    heads * head, eps);
    return m->kernels->rms_norm(&m->run, x, x, norm->weight, rows * heads, head,
                                eps);
}

/* Norms over all heads, which `heads` does not make. */
static int norm_whole(struct model *m, size_t layer, size_t rows)
{
    const struct model_config *c = &m->config;
    const struct layer_weights *l = &m->weights.layers[layer];
    if (c->architecture->head_norm != HEAD_NORM_WHOLE)
        return 0;
    int code =
        forward_norm_heads(m, m->work.q, &l->q_norm, rows, c->heads, layer);
    return code ? code
                : forward_norm_heads(m, m->work.k, &l->k_norm, rows,
                                     c->key_heads, layer);
}

/* Whether queries and keys of this layer turn. */
static bool turns(const struct model *m, size_t layer)
{
    return m->config.architecture->positions == POSITIONS_ROTARY &&
           (!made_hils(m, layer) || m->config.attention.hils.rotary);
}

/* Puts into work.host_places where each part's keys and values go; returns in what
 * pages. */
static struct kernel_pages place(struct model *m,
                                 const struct forward_part *parts, size_t count,
                                 size_t layer)
{
    struct kernel_places *places = m->work.host_places;
    struct kernel_pages pages = {.slots = 1};
    for (size_t i = 0; i < count; i++) {
        places[i] = (struct kernel_places){NULL, 0, forward_rows(&parts[i])};
        if (!parts[i].cache)
            continue;
        pages = cache_pages(m, parts[i].cache, layer);
        places[i] = cache_places(parts[i].cache, places[i].rows);
    }
    return pages;
}

/* A layer's heads as they come from products; norm NULL: none of each head. */
static struct kernel_heads heads_of(const struct model *m, size_t layer,
                                    float *x, size_t h, const float *norm)
{
    return (struct kernel_heads){.x = x,
                                 .h = h,
                                 .norm = norm,
                                 .eps = head_eps(m, layer),
                                 .turned = turns(m, layer),
                                 .factor = 1};
}

/* The norm of each head, where there is one. */
static const float *norm_of_heads(const struct model *m,
                                  const struct norm *norm)
{
    bool each = m->config.architecture->head_norm == HEAD_NORM_EACH;
    return each ? norm->weight : NULL;
}

/* A scaling of queries and keys is one of the queries. */
static struct kernel_heads query_heads(const struct model *m, size_t layer)
{
    const struct model_config *c = &m->config;
    const struct layer_weights *l = &m->weights.layers[layer];
    struct kernel_heads q =
        heads_of(m, layer, m->work.q, c->heads, norm_of_heads(m, &l->q_norm));
    double factor =
        turns(m, layer) ? c->rotary[config_rotary(c, layer)].attention : 1;
    q.factor = (float)(factor * factor);
    return q;
}

static struct kernel_heads key_heads(const struct model *m, size_t layer)
{
    return heads_of(m, layer, m->work.k, m->config.key_heads,
                    norm_of_heads(m, &m->weights.layers[layer].k_norm));
}

/* Queries, keys and values as attention reads them, in the caches too. */
static int finish_heads(struct model *m, const struct forward_part *parts,
                        size_t count, size_t layer, size_t rows,
                        bool calibrated)
{
    enum { Q, K, V, CALIBRATED };
    const struct model_config *c = &m->config;
    const struct layer_weights *l = &m->weights.layers[layer];
    struct workspace *w = &m->work;
    bool whole = c->attention.hils.whole_norm;
    struct kernel_heads heads[] = {
        [Q] = query_heads(m, layer),
        [K] = key_heads(m, layer),
        [V] = {.x = w->v, .h = c->key_heads, .factor = 1},
        [CALIBRATED] =
            heads_of(m, layer, w->qhat, c->heads, whole ? NULL : l->hils.norm)};
    const struct kernel_pages pages = place(m, parts, count, layer);
    bool kept = some_have_caches(parts, count);
    heads[K].kept = heads[V].kept = true;
    heads[K].at = pages.key_at;
    heads[V].at = pages.value_at;
    return m->kernels->heads(&m->run, heads, calibrated ? 4 : 3,
                             w->angles[config_rotary(c, layer)], w->host_places,
                             kept ? count : 0, pages.slots, pages.type, rows,
                             c->head);
}

/* Whether any part may choose: one without a cache reads all, short as it is
 * (embed.c). */
static bool some_choose(const struct forward_part *parts, size_t count)
{
    bool some = false;
    for (size_t i = 0; i < count; i++)
        some = some || (parts[i].cache && parts[i].cache->hils.chunk);
    return some;
}

static bool some_are_hici(const struct model *m,
                          const struct forward_part *parts, size_t count)
{
    bool some = false;
    for (size_t i = 0; i < count; i++)
        some = some || forward_is_hici(m, parts[i].cache);
    return some;
}

/* Texts that nothing comes between: their products, attention and its product are one
 * operation. */
static int attend_whole(struct model *m, const struct forward_part *parts,
                        size_t count, size_t layer,
                        const struct kernel_rows *in, size_t rows)
{
    const struct model_config *c = &m->config;
    const struct layer_weights *l = &m->weights.layers[layer];
    struct workspace *w = &m->work;
    const struct kernel_text_part part = {
        .q = product_of(w->q, &l->q),
        .k = product_of(w->k, &l->k),
        .v = product_of(w->v, &l->v),
        .q_head = query_heads(m, layer),
        .k_head = key_heads(m, layer),
        .angles = w->angles[config_rotary(c, layer)],
        .host_start = w->host_starts,
        .texts = count,
        .hkv = c->key_heads,
        .d = c->head,
        .window = c->window[layer],
        .causal = !c->architecture->encoder,
        .mixed = w->mixed,
        .out = last_product(m, &l->o)};
    list_starts(m, parts, count);
    return m->kernels->attend_texts(&m->run, &part, in, rows);
}

/* One after the other. */
static int attend_in_steps(struct model *m, const struct forward_part *parts,
                           size_t count, size_t layer,
                           const struct kernel_rows *in, size_t rows,
                           bool calibrated)
{
    const struct layer_weights *l = &m->weights.layers[layer];
    struct workspace *w = &m->work;
    const struct kernel_product products[] = {
        product_of(w->q, &l->q), product_of(w->k, &l->k),
        product_of(w->v, &l->v), forward_hils_product(m, layer)};
    int code =
        m->kernels->matmuls(&m->run, products, calibrated ? 4 : 3, in, rows);
    if (!code && calibrated)
        code = forward_hils_calibrate(m, layer, rows);
    if (!code)
        code = norm_whole(m, layer, rows);
    if (!code)
        code = finish_heads(m, parts, count, layer, rows, calibrated);
    if (!code)
        code = attend(m, parts, count, in->x, layer);
    const struct kernel_product o = last_product(m, &l->o);
    const struct kernel_rows mixed = {.x = w->mixed};
    return code ? code : m->kernels->matmuls(&m->run, &o, 1, &mixed, rows);
}

static int attention(struct model *m, const struct forward_part *parts,
                     size_t count, size_t layer, size_t rows)
{
    const struct layer_weights *l = &m->weights.layers[layer];
    struct kernel_rows in;
    bool hici = some_are_hici(m, parts, count);
    int code = enter(m, &l->attention_norm, rows, hici, &in);
    bool calibrated = m->config.attention.hils.calibrated &&
                      made_hils(m, layer) && some_choose(parts, count);
    bool plain = are_texts(m, parts, count) && !hici &&
                 m->config.architecture->head_norm != HEAD_NORM_WHOLE;
    if (!code)
        code = plain ? attend_whole(m, parts, count, layer, &in, rows)
                     : attend_in_steps(m, parts, count, layer, &in, rows,
                                       calibrated);
    if (!code)
        code = leave(
            m, norm_after(m, &l->attention_norm, &l->attention_norm_after),
            rows);
    return code;
}

/* silu(gate) * up, or gelu(gate) * up, or gelu(up), and the product of that. */
static int feed_forward(struct model *m, size_t layer, size_t rows)
{
    static const enum kernel_bend bends[] = {[GATE_SILU] = KERNEL_SILU,
                                             [GATE_GELU] = KERNEL_GELU,
                                             [GATE_GELU_TANH] =
                                                 KERNEL_GELU_TANH};
    const struct layer_weights *l = &m->weights.layers[layer];
    struct workspace *w = &m->work;
    int gate = m->config.architecture->gate;
    struct kernel_feed feed = {.inner.up =
                                   product_of(gate ? w->up : w->gate, &l->up),
                               .down = last_product(m, &l->down)};
    struct kernel_rows in;
    int code = enter(m, &l->inner_norm, rows, false, &in);
    if (gate) {
        feed.inner.gate = product_of(w->gate, &l->gate);
        feed.inner.bend = bends[gate];
    }
    if (!code)
        code = m->kernels->feed_forward(&m->run, &feed, &in, rows);
    if (!code)
        code =
            leave(m, norm_after(m, &l->inner_norm, &l->inner_norm_after), rows);
    return code;
}

int forward_layer(struct model *m, const struct forward_part *parts,
                  size_t count, size_t layer, size_t rows)
{
    int code = attention(m, parts, count, layer, rows);
    return code ? code : feed_forward(m, layer, rows);
}
