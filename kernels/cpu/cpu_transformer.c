#include <math.h>

#include "kernels/cpu/cpu_internal.h"

struct norm_job {
    float *out;
    const float *x, *weight;
    size_t d;
    float eps;
};

static void norm_part(void *argument, size_t from, size_t to)
{
    const struct norm_job *job = argument;
    for (size_t i = from; i < to; i++) {
        const float *x = job->x + i * job->d;
        float mean = cpu_lanes->dot(x, x, job->d) / (float)job->d;
        cpu_lanes->scale(job->out + i * job->d, x, job->weight,
                         1 / sqrtf(mean + job->eps), job->d);
    }
}

static int rms_norm(struct kernel_run *run, float *out, const float *x,
                    const float *weight, size_t m, size_t d, float eps)
{
    struct norm_job job = {out, x, weight, d, eps};
    cpu_share(run, m, 0.2 * (double)m * (double)d, norm_part, &job);
    return KERNEL_OK;
}

struct layer_norm_job {
    float *out;
    const float *x, *weight, *bias;
    size_t d;
    float eps;
};

static void layer_norm_part(void *argument, size_t from, size_t to)
{
    const struct layer_norm_job *job = argument;
    for (size_t i = from; i < to; i++)
        cpu_lanes->layer_norm(job->out + i * job->d, job->x + i * job->d,
                              job->weight, job->bias, job->eps, job->d);
}

static int layer_norm(struct kernel_run *run, float *out, const float *x,
                      const float *weight, const float *bias, size_t m,
                      size_t d, float eps)
{
    struct layer_norm_job job = {out, x, weight, bias, d, eps};
    cpu_share(run, m, 0.4 * (double)m * (double)d, layer_norm_part, &job);
    return KERNEL_OK;
}

struct rotary_job {
    float *x;
    const int32_t *position;
    const double *frequency;
    size_t h, d;
};

/* Pairs whose angles are computed at a time, for all heads of a row. */
enum { PAIRS = 128 };

static void rotary_part(void *argument, size_t from, size_t to)
{
    const struct rotary_job *job = argument;
    size_t half = job->d / 2;
    float cosine[PAIRS], sine[PAIRS];
    for (size_t i = from; i < to; i++)
        for (size_t pair = 0; pair < half; pair += PAIRS) {
            size_t count = half - pair < PAIRS ? half - pair : PAIRS;
            for (size_t j = 0; j < count; j++) {
                double angle = job->position[i] * job->frequency[pair + j];
                cosine[j] = (float)cos(angle);
                sine[j] = (float)sin(angle);
            }
            float *x = job->x + i * job->h * job->d + pair;
            for (size_t head = 0; head < job->h; head++, x += job->d)
                cpu_lanes->rotate(x, x + half, cosine, sine, count);
        }
}

static int rotary(struct kernel_run *run, float *x,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t h, size_t d)
{
    struct rotary_job job = {x, host_position, host_frequency, h, d};
    /* a sine and a cosine cost as much as some hundred multiplications */
    cpu_share(run, m, (double)m * (double)d * (200 + (double)h), rotary_part,
              &job);
    return KERNEL_OK;
}

struct pair_job {
    float *out;
    const float *x, *y;
    size_t count;
    bool exact; /* geglu's */
};

/* Values that one thread takes at a time. */
enum { VALUES = 4096 };

static void swiglu_part(void *argument, size_t from, size_t to)
{
    const struct pair_job *job = argument;
    size_t first = from * VALUES, end = to * VALUES;
    if (end > job->count)
        end = job->count;
    cpu_lanes->swiglu(job->out + first, job->x + first, job->y + first,
                      end - first);
}

static int swiglu(struct kernel_run *run, float *out, const float *gate,
                  const float *up, size_t count)
{
    struct pair_job job = {out, gate, up, count, false};
    cpu_share(run, (count + VALUES - 1) / VALUES, 4 * (double)count,
              swiglu_part, &job);
    return KERNEL_OK;
}

static void geglu_part(void *argument, size_t from, size_t to)
{
    const struct pair_job *job = argument;
    size_t first = from * VALUES, end = to * VALUES;
    if (end > job->count)
        end = job->count;
    (job->exact ? cpu_lanes->geglu_exact : cpu_lanes->geglu)(
        job->out + first, job->x + first, job->y + first, end - first);
}

static int geglu(struct kernel_run *run, float *out, const float *gate,
                 const float *up, size_t count, bool exact)
{
    struct pair_job job = {out, gate, up, count, exact};
    cpu_share(run, (count + VALUES - 1) / VALUES, 4 * (double)count, geglu_part,
              &job);
    return KERNEL_OK;
}

static void add_part(void *argument, size_t from, size_t to)
{
    const struct pair_job *job = argument;
    size_t first = from * VALUES, end = to * VALUES;
    if (end > job->count)
        end = job->count;
    cpu_lanes->add(job->out + first, job->y + first, end - first);
}

static int add(struct kernel_run *run, float *x, const float *y, size_t count)
{
    struct pair_job job = {x, NULL, y, count, false};
    cpu_share(run, (count + VALUES - 1) / VALUES, 0.3 * (double)count, add_part,
              &job);
    return KERNEL_OK;
}

struct bias_job {
    float *x;
    const float *bias;
    size_t n;
};

static void gelu_part(void *argument, size_t from, size_t to)
{
    const struct bias_job *job = argument;
    for (size_t i = from; i < to; i++)
        cpu_lanes->gelu(job->x + i * job->n, job->bias, job->n);
}

static int gelu(struct kernel_run *run, float *x, const float *bias, size_t m,
                size_t n)
{
    struct bias_job job = {x, bias, n};
    cpu_share(run, m, 6 * (double)m * (double)n, gelu_part, &job);
    return KERNEL_OK;
}

static void bias_part(void *argument, size_t from, size_t to)
{
    const struct bias_job *job = argument;
    for (size_t i = from; i < to; i++)
        cpu_lanes->add(job->x + i * job->n, job->bias, job->n);
}

static int add_bias(struct kernel_run *run, float *x, const float *bias,
                    size_t m, size_t n)
{
    struct bias_job job = {x, bias, n};
    cpu_share(run, m, 0.3 * (double)m * (double)n, bias_part, &job);
    return KERNEL_OK;
}

void cpu_fill_transformer(struct kernels *table)
{
    table->rms_norm = rms_norm;
    table->layer_norm = layer_norm;
    table->rotary = rotary;
    table->swiglu = swiglu;
    table->geglu = geglu;
    table->gelu = gelu;
    table->add = add;
    table->add_bias = add_bias;
}
