#include "model/inference/forward_internal.h"

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

int forward_renew(struct model *m, float **memory, size_t rows, size_t columns)
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

/* As many as 256 MiB have room for, of `most`. */
static size_t max_texts(const struct model_config *c, size_t most)
{
    size_t rows = ((size_t)256 << 20) / row_bytes(c);
    rows = rows < most ? rows : most;
    return rows > FORWARD_MAX_ROWS ? rows : FORWARD_MAX_ROWS;
}

size_t forward_max_texts(const struct model *m)
{
    return max_texts(&m->config, m->kernels->pass_rows);
}

/* Rows of one cache's pass on the processor. */
static size_t max_rows(const struct model *m, const struct cache *cache)
{
    const size_t room = (size_t)64 << 20;
    size_t rows = room / row_bytes(&m->config);
    if (!cache->hils.chunk || rows < FORWARD_MAX_ROWS)
        return FORWARD_MAX_ROWS;
    return rows < FORWARD_MAX_CHOOSING ? rows : FORWARD_MAX_CHOOSING;
}

size_t forward_next(const struct model *m, const struct cache *cache,
                    size_t left)
{
    bool wide = forward_is_wide(m);
    size_t max = wide ? forward_max_texts(m) : max_rows(m, cache);
    if (left <= max)
        return left;
    if (!wide)
        return max;
    size_t passes = left / max + (left % max != 0);
    return left / passes + (left % passes != 0);
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
        {&w->angles[0], c->head},
        {&w->angles[1], c->head},
    };
    w->rows = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int code = forward_renew(m, parts[i].memory, rows, parts[i].columns);
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
    w->host_places = mem_resize(w->host_places, rows, sizeof *w->host_places);
    w->host_starts =
        mem_resize(w->host_starts, rows + 1, sizeof *w->host_starts);
    w->rows = rows;
    return 0;
}

uint64_t forward_work_bytes(const struct model_config *c)
{
    uint64_t columns = 2 * ((uint64_t)c->width + c->heads * c->head +
                            c->key_heads * c->head + c->inner + c->head);
    return sizeof(float) *
           (max_texts(c, FORWARD_MAX_TEXTS) * columns + c->vocabulary);
}

void workspace_free(struct model *m)
{
    struct workspace *w = &m->work;
    float *parts[] = {w->x,         w->h,         w->q,     w->mixed,
                      w->k,         w->v,         w->gate,  w->up,
                      w->angles[0], w->angles[1], w->logits};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        m->kernels->release(&m->run, parts[i]);
    m->kernels->release(&m->run, w->tables);
    free(w->host_ids);
    free(w->host_positions);
    free(w->host_slots);
    free(w->host_places);
    free(w->host_starts);
    forward_hils_free(m);
    forward_hici_free(m);
    *w = (struct workspace){0};
}

/* ---- The pass ---- */

/* Room for parts that choose what they read, if there are some. */
static int prepare_hils(struct model *m, const struct forward_part *parts,
                        size_t count, size_t rows, bool *ret_some)
{
    size_t top_k = 0;
    for (size_t i = 0; i < count; i++) {
        size_t needed = parts[i].cache ? forward_hils_chosen(&parts[i]) : 0;
        top_k = needed > top_k ? needed : top_k;
    }
    if (!top_k)
        return 0;
    *ret_some = true;
    return forward_hils_reserve(m, rows, top_k);
}

/* By what the rows are turned, for each kind of layer that does. */
static int make_angles(struct model *m, size_t layers, size_t rows)
{
    const struct model_config *c = &m->config;
    struct workspace *w = &m->work;
    bool made[2] = {false, false};
    int code = 0;
    if (c->architecture->positions != POSITIONS_ROTARY)
        return 0;
    for (size_t layer = 0; layer < layers && !code; layer++) {
        size_t kind = config_rotary(c, layer);
        if (!made[kind])
            code =
                m->kernels->angles(&m->run, w->angles[kind], w->host_positions,
                                   m->frequencies[kind], rows, c->head);
        made[kind] = true;
    }
    return code;
}

int forward(struct model *m, const struct forward_part *parts, size_t count,
            size_t layers, const struct cancel *cancel, struct err *err)
{
    size_t rows = 0;
    bool some_choose = false;
    for (size_t i = 0; i < count; i++)
        rows += forward_rows(&parts[i]);
    int code = work_reserve(m, rows, err);
    if (code)
        return code;
    for (size_t i = 0, row = 0; i < count; i++)
        row = forward_lay_out(m, &parts[i], row);
    code = prepare_hils(m, parts, count, rows, &some_choose);
    if (!code && rows == count)
        code = m->kernels->graph_begin(&m->run);
    if (!code && some_choose)
        code = m->kernels->upload(&m->run, m->work.slots, m->work.host_slots,
                                  rows * sizeof *m->work.host_slots);
    if (!code)
        code = forward_read_inputs(m, parts, count, rows);
    if (!code)
        code = make_angles(m, layers, rows);
    for (size_t layer = 0; layer < layers && !code; layer++) {
        if (cancel && cancel->asked && cancel->asked(cancel->context)) {
            m->kernels->graph_end(&m->run);
            return err_set(err, ERR_CANCELLED, "cancelled");
        }
        code = forward_layer(m, parts, count, layer, rows);
    }
    if (code)
        m->kernels->graph_end(&m->run);
    return forward_error(code, err);
}
