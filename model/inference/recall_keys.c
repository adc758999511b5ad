/* Vectors in the key space of the recall projections. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/inference/forward.h"

/* The projection [D, p] as the weight [p, D] of a product. */
static int make_weight(struct model *m, bool query)
{
    const struct projections *p = &m->weights.recall;
    const float *from = query ? p->wq : p->wk;
    size_t width = m->config.width, size = width * p->p;
    float *rows = calloc(size, sizeof *rows);
    float *columns = calloc(size, sizeof *columns);
    int code = KERNEL_NO_MEMORY;
    if (rows && columns)
        code = m->kernels->download(&m->run, rows, from, size * sizeof *rows);
    for (size_t i = 0; i < size && !code; i++)
        columns[i % p->p * width + i / p->p] = rows[i];
    if (!code)
        code = m->kernels->weight(&m->run, columns, KERNEL_F32, p->p, width,
                                  &m->keys.weight[query]);
    free(rows);
    if (code)
        free(columns);
    else
        m->keys.host[query] = columns;
    return code;
}

void keys_free(struct model *m)
{
    for (int i = 0; i < 2; i++) {
        if (m->keys.weight[i])
            m->kernels->weight_free(&m->run, m->keys.weight[i]);
        free(m->keys.host[i]);
    }
}

static int project(struct model *m, const float *vectors, size_t count,
                   const struct kernel_weight *weight, float *ret)
{
    size_t in, out;
    if (!mem_mul(count, m->config.width * sizeof *ret, &in) ||
        !mem_mul(count, m->facts.key_width * sizeof *ret, &out))
        return KERNEL_NO_MEMORY;
    float *a = m->kernels->allocate(&m->run, in);
    float *b = m->kernels->allocate(&m->run, out);
    int code =
        a && b ? m->kernels->upload(&m->run, a, vectors, in) : KERNEL_NO_MEMORY;
    if (!code)
        code = m->kernels->matmul(&m->run, b, a, weight, count, false);
    if (!code)
        code = m->kernels->download(&m->run, ret, b, out);
    m->kernels->release(&m->run, a);
    m->kernels->release(&m->run, b);
    return code;
}

int model_keys(struct model *m, const float *vectors, size_t count, bool query,
               float *ret, struct err *err)
{
    int code = 0;
    if (!m->weights.recall.wq) {
        memcpy(ret, vectors, count * m->config.width * sizeof *ret);
        return 0;
    }
    if (!m->keys.weight[query])
        code = make_weight(m, query);
    if (!code)
        code = project(m, vectors, count, m->keys.weight[query], ret);
    return forward_error(code, err);
}
