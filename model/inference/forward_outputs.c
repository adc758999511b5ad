/* What comes out of a pass: states, their mean, logits. */
#include "model/inference/forward_internal.h"

/* The last norm of work.x's rows, in work.h; or work.x where there is none. */
static int last_norm(struct model *m, size_t from, size_t rows, float **ret)
{
    size_t width = m->config.width;
    *ret = m->work.x + from * width;
    if (!m->weights.norm.weight)
        return 0;
    const float *x = *ret;
    *ret = m->work.h;
    return forward_normalise(m, *ret, x, &m->weights.norm, rows, width);
}

int forward_run_states(struct model *m, size_t from, size_t rows,
                       float *host_out, struct err *err)
{
    float *states;
    int code = last_norm(m, from, rows, &states);
    if (!code)
        code = m->kernels->download(&m->run, host_out, states,
                                    rows * m->config.width * sizeof *host_out);
    return forward_error(code, err);
}

int forward_state(struct model *m, size_t row, float *host_out, struct err *err)
{
    return forward_run_states(m, row, 1, host_out, err);
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

int forward_states(struct model *m, const size_t *rows, size_t count,
                   float *host_out, struct err *err)
{
    struct workspace *w = &m->work;
    size_t width = m->config.width, bytes = width * sizeof *host_out;
    int code = 0;
    for (size_t i = 0; i < count && !code; i++)
        code = m->kernels->copy(&m->run, w->h + i * width,
                                w->x + rows[i] * width, bytes);
    if (!code && m->weights.norm.weight)
        code = forward_normalise(m, w->h, w->h, &m->weights.norm, count, width);
    if (!code)
        code = m->kernels->download(&m->run, host_out, w->h, count * bytes);
    return forward_error(code, err);
}

int forward_means(struct model *m, const size_t *starts, size_t count,
                  float *host_out, struct err *err)
{
    struct workspace *w = &m->work;
    size_t width = m->config.width;
    float *states;
    int code = last_norm(m, 0, starts[count], &states);
    float *means = states == w->h ? w->x : w->h;
    if (!code)
        code = m->kernels->pool_means(&m->run, means, states, starts, count,
                                      width);
    if (!code)
        code = m->kernels->download(&m->run, host_out, means,
                                    count * width * sizeof *host_out);
    return forward_error(code, err);
}

int forward_logits(struct model *m, size_t from, size_t rows, struct err *err)
{
    struct workspace *w = &m->work;
    float *states;
    int code = 0;
    if (rows > w->logit_rows) {
        w->logit_rows = 0;
        code = forward_renew(m, &w->logits, rows, m->config.vocabulary);
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
