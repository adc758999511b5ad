#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu_internal.h"

/* Room for a * b + c floats, or NULL. */
static float *room(size_t a, size_t b, size_t c)
{
    size_t count;
    if (__builtin_mul_overflow(a, b, &count) ||
        __builtin_add_overflow(count, c, &count) || count > SIZE_MAX / 4)
        return NULL;
    return malloc(count ? count * sizeof(float) : 1);
}

/* weight [n] becomes exp(weight - its maximum); returns their sum. */
static float exponents(float *weight, size_t n, float *ret_max)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++)
        max = weight[i] > max ? weight[i] : max;
    *ret_max = max;
    return cpu_lanes->exp_sum(weight, max, n);
}

static int recall(struct kernel_run *run, float *out, const float *q,
                  const float *memory, const float *wq, const float *wk,
                  size_t n, size_t d, size_t p)
{
    float *query = room(1, p, d + n);
    if (!query)
        return KERNEL_NO_MEMORY;
    /* (q wq) . (memory_i wk) = memory_i . (wk (q wq)): no [n, p] is made */
    float *proxy = query + p, *weight = proxy + d, max;
    cpu_mix(run, query, q, 0, 1, wq, 1, p, d);
    cpu_lanes->scale(query, query, NULL, 1 / sqrtf((float)p), p);
    cpu_rows(run, proxy, query, lanes_floats(wk), 1, d, p, false);
    cpu_rows(run, weight, proxy, lanes_floats(memory), 1, n, d, false);
    float total = exponents(weight, n, &max);
    cpu_lanes->scale(weight, weight, NULL, 1 / total, n);
    cpu_mix(run, out, weight, 0, 1, memory, 1, d, n);
    free(query);
    return KERNEL_OK;
}

static int pool_mean(struct kernel_run *run, float *out, const float *children,
                     size_t n, size_t d)
{
    const float each = 1 / (float)n;
    cpu_mix(run, out, &each, 0, 0, children, 1, d, n);
    return KERNEL_OK;
}

static int pool_means(struct kernel_run *run, float *out, const float *children,
                      const size_t *host_start, size_t groups, size_t d)
{
    int code = KERNEL_OK;
    for (size_t g = 0; g < groups && !code; g++)
        code = pool_mean(run, out + g * d, children + host_start[g] * d,
                         host_start[g + 1] - host_start[g], d);
    return code;
}

/* Rows of the score matrix that one thread has at a time. */
enum { ROWS = 32 };

struct scores {
    const float *children, *wq, *wk;
    float *query, *key; /* [n, width] */
    float *part;        /* [blocks, n]: each block's sum of its rows of A */
    float scale;
    size_t n, d, width;
    atomic_bool failed; /* no memory */
};

static size_t rows_of(const struct scores *s, size_t block)
{
    size_t left = s->n - block * ROWS;
    return left < ROWS ? left : ROWS;
}

static void unit(float *out, const float *x, size_t d)
{
    const float min = 1e-30F, max = 1e30F;
    float square = cpu_lanes->dot(x, x, d);
    if (square > min && square < max) {
        cpu_lanes->scale(out, x, NULL, 1 / sqrtf(square), d);
        return;
    }
    /* out of the range of floats, or nearly */
    double sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += (double)x[i] * (double)x[i];
    for (size_t i = 0; i < d; i++)
        out[i] = sum > 0 ? (float)((double)x[i] / sqrt(sum)) : 0;
}

static void project_part(void *argument, size_t from, size_t to)
{
    const struct scores *s = argument;
    for (size_t block = from; block < to; block++) {
        size_t rows = rows_of(s, block), at = block * ROWS;
        const float *x = s->children + at * s->d;
        float *query = s->query + at * s->width, *key = s->key + at * s->width;
        if (s->wq) {
            cpu_lanes->mix(query, s->width, x, s->d, 1, s->wq, s->width, rows,
                           s->width, s->d, false);
            cpu_lanes->mix(key, s->width, x, s->d, 1, s->wk, s->width, rows,
                           s->width, s->d, false);
        } else {
            for (size_t i = 0; i < rows; i++)
                unit(key + i * s->d, x + i * s->d, s->d);
        }
    }
}

/* The rows of one block: their scores, their softmax, summed up. */
static void score_block(const struct scores *s, size_t block, float *score)
{
    const float *query = s->wq ? s->query : s->key;
    size_t n = s->n, rows = rows_of(s, block), at = block * ROWS;
    float *part = s->part + block * n, max;
    cpu_lanes->rows(score, n, query + at * s->width, lanes_floats(s->key), rows,
                    n, s->width, false);
    memset(part, 0, n * sizeof *part);
    for (size_t i = 0; i < rows; i++) {
        float *row = score + i * n;
        cpu_lanes->scale(row, row, NULL, s->scale, n);
        if (n > 1)
            row[at + i] = -INFINITY;
        float total = exponents(row, n, &max);
        cpu_lanes->scale(row, row, NULL, 1 / (total * (float)n), n);
        cpu_lanes->add(part, row, n);
    }
}

static void score_part(void *argument, size_t from, size_t to)
{
    struct scores *s = argument;
    float *score = room(ROWS, s->n, 0);
    if (!score)
        atomic_store(&s->failed, true);
    for (size_t block = from; score && block < to; block++)
        score_block(s, block, score);
    free(score);
}

static int pool_attention(struct kernel_run *run, float *out, float *weight,
                          const float *children, const float *wq,
                          const float *wk, float tau, size_t n, size_t d,
                          size_t p)
{
    size_t blocks = (n + ROWS - 1) / ROWS;
    struct scores s = {.children = children,
                       .wq = wq,
                       .wk = wk,
                       .scale = wq ? 1 / sqrtf((float)p) : tau,
                       .n = n,
                       .d = d,
                       .width = wq ? p : d};
    int code = KERNEL_NO_MEMORY;
    s.query = room(wq ? n : 0, s.width, 0);
    s.key = room(n, s.width, 0);
    s.part = room(blocks, n, 0);
    if (s.query && s.key && s.part) {
        double work = (double)n * (double)s.width;
        cpu_share(run, blocks, work * (double)d, project_part, &s);
        cpu_share(run, blocks, work * (double)n, score_part, &s);
        code = atomic_load(&s.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
    }
    if (!code) {
        memcpy(weight, s.part, n * sizeof *weight);
        for (size_t block = 1; block < blocks; block++)
            cpu_lanes->add(weight, s.part + block * n, n);
        cpu_mix(run, out, weight, 0, 1, children, 1, d, n);
    }
    free(s.query);
    free(s.key);
    free(s.part);
    return code;
}

static int pool_attentions(struct kernel_run *run, float *out, float *weight,
                           const float *children, const float *wq,
                           const float *wk, float tau, const size_t *host_start,
                           size_t groups, size_t d, size_t p)
{
    int code = KERNEL_OK;
    for (size_t g = 0; g < groups && !code; g++)
        code = pool_attention(run, out + g * d, weight + host_start[g],
                              children + host_start[g] * d, wq, wk, tau,
                              host_start[g + 1] - host_start[g], d, p);
    return code;
}

static int pool_landmark(struct kernel_run *run, float *out, float *ret_bias,
                         const float *children, const float *bias,
                         const float *proxy, float tau, size_t n, size_t d)
{
    float *score = room(2, n, 0);
    if (!score)
        return KERNEL_NO_MEMORY;
    float *weight = score + n, max;
    cpu_rows(run, score, proxy, lanes_floats(children), 1, n, d, false);
    for (size_t i = 0; i < n; i++)
        weight[i] = score[i] = tau * score[i] + bias[i];
    float total = exponents(weight, n, &max);
    cpu_lanes->scale(weight, weight, NULL, 1 / total, n);
    double all = (double)max + log((double)total), sum = 0;
    for (size_t i = 0; i < n; i++) /* ln weight = score - all */
        if (!(weight[i] <= 0))
            sum +=
                (double)weight[i] * ((double)bias[i] - (double)score[i] + all);
    cpu_mix(run, out, weight, 0, 1, children, 1, d, n);
    *ret_bias = (float)sum;
    free(score);
    return KERNEL_OK;
}

void cpu_fill_memories(struct kernels *table)
{
    table->recall = recall;
    table->pool_mean = pool_mean;
    table->pool_means = pool_means;
    table->pool_attention = pool_attention;
    table->pool_attentions = pool_attentions;
    table->pool_landmark = pool_landmark;
}
