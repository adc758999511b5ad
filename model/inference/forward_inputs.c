/* What goes into a pass: which row is what, and the rows' vectors. */
#include "model/inference/forward_internal.h"

#include <math.h>

static bool is_inserted(const struct forward_part *part, size_t slot)
{
    return part->cache && cache_is_inserted(part->cache, slot);
}

/* Which row comes from where; a soft token's, or what is inserted, is any, and
 * filled after.  A landmark has the position of the token behind it, a summary
 * token of STAR's one of its own. */
size_t forward_lay_out(struct model *m, const struct forward_part *part,
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

int forward_read_inputs(struct model *m, const struct forward_part *parts,
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
        code = forward_normalise(m, w->x, w->x, &m->weights.embedding_norm,
                                 rows, m->config.width);
    return code;
}
