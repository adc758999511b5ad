#include "model/inference/forward.h"

#include <math.h>
#include <stdlib.h>

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
    case KERNEL_DEVICE_FAILED:
        return err_set(err, ERR_INTERNAL,
                       "the device failed, and is of no use before a restart");
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

/* Bytes that a row of a pass takes; up to SIZE_MAX. */
static size_t row_bytes(const struct model_config *c)
{
    size_t heads, keys, bytes;
    bool fits = mem_mul(c->heads, c->head, &heads) &&
                mem_mul(c->key_heads, c->head, &keys) &&
                mem_add(c->width, heads, &bytes) &&
                mem_add(bytes, keys, &bytes) &&
                mem_add(bytes, c->inner, &bytes) &&
                mem_mul(bytes, 2 * sizeof(float), &bytes);
    return fits && bytes ? bytes : SIZE_MAX;
}

size_t forward_max(const struct model *m, const struct cache *cache)
{
    const size_t room = (size_t)64 << 20;
    size_t rows = room / row_bytes(&m->config);
    if (!cache->hils.chunk || rows < FORWARD_MAX_ROWS)
        return FORWARD_MAX_ROWS;
    return rows < FORWARD_MAX_CHOOSING ? rows : FORWARD_MAX_CHOOSING;
}

size_t forward_max_whole(const struct model *m)
{
    return ((size_t)1 << 30) / row_bytes(&m->config);
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
    float *const host_tables[] = {w->k, w->v};
    if (!w->tables)
        w->tables = m->kernels->allocate(&m->run, sizeof host_tables);
    int code = w->tables ? m->kernels->upload(&m->run, w->tables, host_tables,
                                              sizeof host_tables)
                         : KERNEL_NO_MEMORY;
    if (code)
        return forward_error(code, err);
    w->host_ids = mem_resize(w->host_ids, rows, sizeof *w->host_ids);
    w->host_positions =
        mem_resize(w->host_positions, rows, sizeof *w->host_positions);
    w->host_slots = mem_resize(w->host_slots, rows, sizeof *w->host_slots);
    w->rows = rows;
    return 0;
}

uint64_t forward_work_bytes(const struct model_config *c)
{
    uint64_t columns = 2 * ((uint64_t)c->width + c->heads * c->head +
                            c->key_heads * c->head + c->inner);
    return sizeof(float) * (FORWARD_MAX_ROWS * columns + c->vocabulary);
}

void workspace_free(struct model *m)
{
    struct workspace *w = &m->work;
    float *parts[] = {w->x, w->h,    w->q,  w->mixed, w->k,
                      w->v, w->gate, w->up, w->logits};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        m->kernels->release(&m->run, parts[i]);
    m->kernels->release(&m->run, w->tables);
    free(w->host_ids);
    free(w->host_positions);
    free(w->host_slots);
    forward_hils_free(m);
    forward_hici_free(m);
    *w = (struct workspace){0};
}

/* ---- The pass ---- */

static bool is_inserted(const struct forward_part *part, size_t slot)
{
    return part->cache && cache_is_inserted(part->cache, slot);
}

/* Which row comes from where; a soft token's, or what is inserted, is any, and
 * filled after.  A landmark has the position of the token behind it, a summary
 * token of STAR's one of its own. */
static size_t lay_out(struct model *m, const struct forward_part *part,
                      size_t row)
{
    struct workspace *w = &m->work;
    size_t rows = forward_rows(part),
           past = part->cache ? part->cache->length : 0;
    size_t before = part->host_before ? 1 : 0, token = 0;
    bool landmarks = m->config.attention.kind == ATTENTION_HILS;
    size_t chunk = landmarks && part->cache ? part->cache->inserted : SIZE_MAX;
    for (size_t i = 0; i < rows; i++) {
        size_t slot = past + i;
        bool own =
            i >= before && token < part->count && !is_inserted(part, slot);
        w->host_ids[row + i] = own ? part->ids[token++] : 0;
        w->host_positions[row + i] = (int32_t)(slot - slot / chunk);
        w->host_slots[row + i] = (int32_t)slot;
    }
    return row + rows;
}

static int put_inserted(struct model *m, const struct forward_part *parts,
                        size_t count)
{
    bool star = m->config.attention.kind == ATTENTION_STAR;
    const float *host =
        star ? m->weights.host_summary : m->weights.host_landmark;
    size_t width = m->config.width;
    float *x = m->work.x;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        size_t rows = forward_rows(&parts[i]);
        for (size_t r = 0; r < rows && parts[i].inserted && !code; r++)
            if (is_inserted(&parts[i], parts[i].cache->length + r))
                code = m->kernels->upload(&m->run, x + r * width, host,
                                          width * sizeof *x);
        x += rows * width;
    }
    return code;
}

static int add_positions(struct model *m, size_t rows)
{
    const struct kernels *k = m->kernels;
    struct workspace *w = &m->work;
    for (size_t i = 0; i < rows; i++)
        w->host_positions[i] += (int32_t)m->config.first;
    int code =
        k->gather(&m->run, w->h, m->weights.positions, w->host_positions, rows);
    return code ? code : k->add(&m->run, w->x, w->h, rows * m->config.width);
}

static int put_soft(struct model *m, const struct forward_part *parts,
                    size_t count)
{
    size_t width = m->config.width, bytes = width * sizeof(float);
    float *row = m->work.x;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        float *next = row + forward_rows(&parts[i]) * width;
        if (parts[i].host_before)
            code =
                m->kernels->upload(&m->run, row, parts[i].host_before, bytes);
        if (parts[i].host_after && !code)
            code = m->kernels->upload(&m->run, next - width,
                                      parts[i].host_after, bytes);
        row = next;
    }
    return code;
}

static int normalise(struct model *m, float *out, const float *x,
                     const struct norm *norm, size_t rows, size_t width)
{
    const struct model_config *c = &m->config;
    if (c->architecture->norm == NORM_LAYER)
        return m->kernels->layer_norm(&m->run, out, x, norm->weight, norm->bias,
                                      rows, width, c->eps);
    return m->kernels->rms_norm(&m->run, out, x, norm->weight, rows, width,
                                c->eps);
}

static int add_types(struct model *m, const struct forward_part *parts,
                     size_t count)
{
    size_t width = m->config.width;
    float *x = m->work.x;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        size_t rows = forward_rows(&parts[i]), second = parts[i].second;
        if (second && second < rows)
            code = m->kernels->add_bias(&m->run, x + second * width,
                                        m->weights.type_change, rows - second,
                                        width);
        x += rows * width;
    }
    return code;
}

static int read_inputs(struct model *m, const struct forward_part *parts,
                       size_t count, size_t rows)
{
    struct workspace *w = &m->work;
    int code = m->kernels->gather(&m->run, w->x, m->weights.embedding,
                                  w->host_ids, rows);
    if (!code && m->config.architecture->scaled_embedding)
        code = m->kernels->scale(&m->run, w->x, sqrtf((float)m->config.width),
                                 rows * m->config.width);
    if (!code)
        code = put_soft(m, parts, count);
    if (!code)
        code = put_inserted(m, parts, count);
    if (!code && m->weights.positions)
        code = add_positions(m, rows);
    if (!code && m->weights.token_type)
        code = m->kernels->add_bias(&m->run, w->x, m->weights.token_type, rows,
                                    m->config.width);
    if (!code && m->weights.type_change)
        code = add_types(m, parts, count);
    if (!code && m->weights.embedding_norm.weight)
        code = normalise(m, w->x, w->x, &m->weights.embedding_norm, rows,
                         m->config.width);
    return code;
}

int forward_multiply(struct model *m, float *out, const float *in,
                     const struct linear *linear, size_t rows, bool add)
{
    if (!linear->bias)
        return m->kernels->matmul(&m->run, out, in, linear->weight, rows, add);
    return m->kernels->matmul_bias(&m->run, out, in, linear->weight,
                                   linear->bias, rows, add);
}

/* What a layer's part reads: x, or its norm. */
static int enter(struct model *m, const struct norm *norm, size_t rows,
                 const float **ret)
{
    struct workspace *w = &m->work;
    *ret = w->x;
    int place = m->config.architecture->norm_place;
    if (place != NORM_BEFORE && place != NORM_BOTH)
        return 0;
    *ret = w->h;
    return normalise(m, w->h, w->x, norm, rows, m->config.width);
}

/* The norm that follows a layer's part, where one does. */
static const struct norm *norm_after(const struct model *m,
                                     const struct norm *norm,
                                     const struct norm *after)
{
    return m->config.architecture->norm_place == NORM_BOTH ? after : norm;
}

/* Its last product joins x, with a norm before or after that. */
static int leave(struct model *m, const struct norm *norm, const float *in,
                 const struct linear *linear, size_t rows)
{
    struct workspace *w = &m->work;
    size_t width = m->config.width;
    int place = m->config.architecture->norm_place;
    bool apart = place == NORM_AFTER || place == NORM_BOTH;
    int code =
        forward_multiply(m, apart ? w->h : w->x, in, linear, rows, !apart);
    if (!code && apart)
        code = normalise(m, w->h, w->h, norm, rows, width);
    if (!code && apart)
        code = m->kernels->add(&m->run, w->x, w->h, rows * width);
    if (!code && place == NORM_OUTSIDE)
        code = normalise(m, w->x, w->x, norm, rows, width);
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
    if (c->architecture->encoder)
        return m->kernels->attention_bidirectional(
            &m->run, out, q, w->k + row * narrow, w->v + row * narrow, rows,
            rows, c->heads, c->key_heads, c->head);
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

static int attend(struct model *m, const struct forward_part *parts,
                  size_t count, const float *in, size_t layer)
{
    size_t narrow = m->config.key_heads * m->config.head;
    int code = 0;
    for (size_t i = 0, row = 0, rows; i < count && !code; i++, row += rows) {
        struct cache *cache = parts[i].cache;
        rows = forward_rows(&parts[i]);
        if (cache)
            code = cache_put(m, cache, layer, m->work.k + row * narrow,
                             m->work.v + row * narrow, rows);
        if (!code)
            code = attend_part(m, cache, in + row * m->config.width, row, rows,
                               layer);
    }
    return code;
}

/* Whether the layer was made for HiLS: it has an eps of its own, and may not
 * turn. */
static bool made_hils(const struct model *m, size_t layer)
{
    return hils_layer(&m->config.attention, layer);
}

int forward_norm_heads(struct model *m, float *x, const struct norm *norm,
                       size_t rows, size_t heads, size_t layer)
{
    size_t head = m->config.head;
    float eps = made_hils(m, layer) ? FORWARD_HILS_EPS : m->config.eps;
    int kind = m->config.architecture->head_norm;
    if (kind == HEAD_NORM_NONE)
        return 0;
    if (kind == HEAD_NORM_WHOLE)
        return m->kernels->rms_norm(&m->run, x, x, norm->weight, rows,
                                    heads * head, eps);
    return m->kernels->rms_norm(&m->run, x, x, norm->weight, rows * heads, head,
                                eps);
}

/* Turned queries and keys; a scaling of both is one of the queries. */
static int turn(struct model *m, size_t layer, size_t rows)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    size_t kind = config_rotary(c, layer);
    const double *frequencies = m->frequencies[kind];
    double factor = c->rotary[kind].attention;
    if (c->architecture->positions != POSITIONS_ROTARY ||
        (made_hils(m, layer) && !c->attention.hils.rotary))
        return 0;
    int code = m->kernels->rotary(&m->run, w->q, w->host_positions, frequencies,
                                  rows, c->heads, c->head);
    if (!code)
        code = m->kernels->rotary(&m->run, w->k, w->host_positions, frequencies,
                                  rows, c->key_heads, c->head);
    if (!code && factor != 1)
        code = m->kernels->scale(&m->run, w->q, (float)(factor * factor),
                                 rows * c->heads * c->head);
    return code;
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

static int attention(struct model *m, const struct forward_part *parts,
                     size_t count, size_t layer, size_t rows)
{
    const struct model_config *c = &m->config;
    const struct layer_weights *l = &m->weights.layers[layer];
    struct workspace *w = &m->work;
    const float *in;
    int code = enter(m, &l->attention_norm, rows, &in);
    if (!code)
        code = forward_multiply(m, w->q, in, &l->q, rows, false);
    if (!code)
        code = forward_multiply(m, w->k, in, &l->k, rows, false);
    if (!code)
        code = forward_multiply(m, w->v, in, &l->v, rows, false);
    if (!code)
        code = forward_norm_heads(m, w->q, &l->q_norm, rows, c->heads, layer);
    if (!code)
        code =
            forward_norm_heads(m, w->k, &l->k_norm, rows, c->key_heads, layer);
    if (!code)
        code = turn(m, layer, rows);
    if (!code && made_hils(m, layer) && some_choose(parts, count))
        code = forward_hils_calibrate(m, layer, in, rows);
    if (!code)
        code = attend(m, parts, count, in, layer);
    if (!code)
        code = leave(
            m, norm_after(m, &l->attention_norm, &l->attention_norm_after),
            w->mixed, &l->o, rows);
    return code;
}

/* silu(gate) * up, or gelu(gate) * up, in gate. */
static int gate(struct model *m, const float *in, const struct layer_weights *l,
                size_t rows)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    int code = forward_multiply(m, w->gate, in, &l->gate, rows, false);
    if (!code)
        code = forward_multiply(m, w->up, in, &l->up, rows, false);
    if (code)
        return code;
    return (c->architecture->gelu_gate ? m->kernels->geglu
                                       : m->kernels->swiglu)(
        &m->run, w->gate, w->gate, w->up, rows * c->inner);
}

/* gelu(up), in gate; the bias is part of that operation. */
static int bend(struct model *m, const float *in, const struct layer_weights *l,
                size_t rows)
{
    struct workspace *w = &m->work;
    int code =
        m->kernels->matmul(&m->run, w->gate, in, l->up.weight, rows, false);
    if (!code)
        code = m->kernels->gelu(&m->run, w->gate, l->up.bias, rows,
                                m->config.inner);
    return code;
}

static int feed_forward(struct model *m, size_t layer, size_t rows)
{
    const struct layer_weights *l = &m->weights.layers[layer];
    const float *in;
    int code = enter(m, &l->inner_norm, rows, &in);
    if (!code)
        code = m->config.architecture->gated ? gate(m, in, l, rows)
                                             : bend(m, in, l, rows);
    if (!code)
        code = leave(m, norm_after(m, &l->inner_norm, &l->inner_norm_after),
                     m->work.gate, &l->down, rows);
    return code;
}

/* Room for parts that choose what they read, and their slots on the device. */
static int prepare_hils(struct model *m, const struct forward_part *parts,
                        size_t count, size_t rows)
{
    size_t top_k = 0;
    for (size_t i = 0; i < count; i++) {
        const struct hils_use *h =
            parts[i].cache ? &parts[i].cache->hils : NULL;
        size_t needed = !h ? 0 : h->rerank ? 3 * h->top_k : h->top_k;
        top_k = needed > top_k ? needed : top_k;
    }
    if (!top_k)
        return 0;
    int code = forward_hils_reserve(m, rows, top_k);
    return code ? code
                : m->kernels->upload(&m->run, m->work.slots, m->work.host_slots,
                                     rows * sizeof *m->work.host_slots);
}

int forward(struct model *m, const struct forward_part *parts, size_t count,
            size_t layers, const struct cancel *cancel, struct err *err)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += forward_rows(&parts[i]);
    int code = work_reserve(m, rows, err);
    if (code)
        return code;
    for (size_t i = 0, row = 0; i < count; i++)
        row = lay_out(m, &parts[i], row);
    code = prepare_hils(m, parts, count, rows);
    if (!code && rows == count)
        code = m->kernels->graph_begin(&m->run);
    if (!code)
        code = read_inputs(m, parts, count, rows);
    for (size_t layer = 0; layer < layers && !code; layer++) {
        if (cancel && cancel->asked && cancel->asked(cancel->context)) {
            m->kernels->graph_end(&m->run);
            return err_set(err, ERR_CANCELLED, "cancelled");
        }
        code = attention(m, parts, count, layer, rows);
        if (!code)
            code = feed_forward(m, layer, rows);
    }
    if (code)
        m->kernels->graph_end(&m->run);
    return forward_error(code, err);
}

/* The last norm of work.x's rows, in work.h; or work.x where there is none. */
static int last_norm(struct model *m, size_t from, size_t rows, float **ret)
{
    size_t width = m->config.width;
    *ret = m->work.x + from * width;
    if (!m->weights.norm.weight)
        return 0;
    const float *x = *ret;
    *ret = m->work.h;
    return normalise(m, *ret, x, &m->weights.norm, rows, width);
}

int forward_state(struct model *m, size_t row, float *host_out, struct err *err)
{
    float *state;
    int code = last_norm(m, row, 1, &state);
    if (!code)
        code = m->kernels->download(&m->run, host_out, state,
                                    m->config.width * sizeof *host_out);
    return forward_error(code, err);
}

int forward_mean(struct model *m, size_t from, size_t rows, float *host_out,
                 struct err *err)
{
    struct workspace *w = &m->work;
    size_t width = m->config.width;
    float *states;
    int code = last_norm(m, from, rows, &states);
    float *mean = states == w->h ? w->x + from * width : w->h;
    if (!code)
        code = m->kernels->pool_mean(&m->run, mean, states, rows, width);
    if (!code)
        code = m->kernels->download(&m->run, host_out, mean,
                                    width * sizeof *host_out);
    return forward_error(code, err);
}

int forward_logits(struct model *m, size_t from, size_t rows, struct err *err)
{
    struct workspace *w = &m->work;
    float *states;
    int code = 0;
    if (rows > w->logit_rows) {
        w->logit_rows = 0;
        code = renew(m, &w->logits, rows, m->config.vocabulary);
        if (!code)
            w->logit_rows = rows;
    }
    if (!code)
        code = last_norm(m, from, rows, &states);
    if (!code)
        code = m->kernels->matmul(&m->run, w->logits, states, m->weights.head,
                                  rows, false);
    int ended = m->kernels->graph_end(&m->run);
    return forward_error(code ? code : ended, err);
}

int forward_take_logits(struct model *m, size_t from, size_t rows,
                        float *host_out, struct err *err)
{
    size_t vocabulary = m->config.vocabulary;
    return forward_error(
        m->kernels->download(&m->run, host_out,
                             m->work.logits + from * vocabulary,
                             rows * vocabulary * sizeof *host_out),
        err);
}

int forward_keep_logits(struct model *m, size_t row, float *out,
                        struct err *err)
{
    size_t vocabulary = m->config.vocabulary;
    return forward_error(m->kernels->copy(&m->run, out,
                                          m->work.logits + row * vocabulary,
                                          vocabulary * sizeof *out),
                         err);
}
