/* What goes into a pass: which row is what, and the rows' vectors. */
#include "model/inference/forward_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

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

enum {
    FEW_GIVEN = 8, /* rows that are uploaded one by one */
    FEW_ROWS = 64  /* of a pass, listed on the stack */
};

/* A row that is no token's, and what it is. */
struct given_row {
    size_t row;
    const float *host; /* [D] */
};

/* Soft tokens, landmarks, summary tokens of the pass; returns how many. */
static size_t list_given(const struct model *m,
                         const struct forward_part *parts, size_t count,
                         struct given_row *ret)
{
    bool star = m->config.attention.kind == ATTENTION_STAR;
    const float *inserted =
        star ? m->weights.host_summary : m->weights.host_landmark;
    size_t row = 0, some = 0;
    for (size_t i = 0; i < count; i++) {
        size_t rows = forward_rows(&parts[i]), end = row + rows;
        if (parts[i].host_before)
            ret[some++] = (struct given_row){row, parts[i].host_before};
        for (size_t r = 0; r < rows && parts[i].inserted; r++)
            if (is_inserted(&parts[i], parts[i].cache->length + r))
                ret[some++] = (struct given_row){row + r, inserted};
        if (parts[i].host_after)
            ret[some++] = (struct given_row){end - 1, parts[i].host_after};
        row = end;
    }
    return some;
}

/* In one upload, to work.h, whose rows they are copied from. */
static int put_many(struct model *m, const struct given_row *given,
                    size_t count)
{
    struct workspace *w = &m->work;
    size_t width = m->config.width, bytes = width * sizeof(float);
    float *host = mem_alloc(count * bytes);
    for (size_t i = 0; i < count; i++)
        memcpy(host + i * width, given[i].host, bytes);
    int code = m->kernels->upload(&m->run, w->h, host, count * bytes);
    for (size_t i = 0; i < count && !code; i++)
        code = m->kernels->copy(&m->run, w->x + given[i].row * width,
                                w->h + i * width, bytes);
    free(host);
    return code;
}

/* A step's few one by one: it allocates nothing. */
static int put_given(struct model *m, const struct given_row *given,
                     size_t count)
{
    size_t width = m->config.width;
    int code = 0;
    if (count > FEW_GIVEN)
        return put_many(m, given, count);
    for (size_t i = 0; i < count && !code; i++)
        code = m->kernels->upload(&m->run, m->work.x + given[i].row * width,
                                  given[i].host, width * sizeof(float));
    return code;
}

static bool some_are_given(const struct forward_part *parts, size_t count)
{
    bool some = false;
    for (size_t i = 0; i < count; i++)
        some = some || parts[i].host_before || parts[i].host_after ||
               parts[i].inserted;
    return some;
}

static int put_all_given(struct model *m, const struct forward_part *parts,
                         size_t count, size_t rows)
{
    if (!some_are_given(parts, count))
        return 0;
    struct given_row few[FEW_ROWS];
    struct given_row *many =
        rows > FEW_ROWS ? mem_alloc(rows * sizeof *many) : NULL;
    struct given_row *given = many ? many : few;
    int code = put_given(m, given, list_given(m, parts, count, given));
    free(many);
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
        code = put_all_given(m, parts, count, rows);
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
