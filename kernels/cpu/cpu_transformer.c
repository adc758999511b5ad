#include <math.h>

#include "kernels/cpu/cpu_internal.h"
#include "kernels/ref/ref.h"

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

struct turn_job {
    float *x;
    const float *angles;
    size_t h, d;
};

static void turn_part(void *argument, size_t from, size_t to)
{
    const struct turn_job *job = argument;
    size_t half = job->d / 2;
    for (size_t i = from; i < to; i++) {
        const float *by = job->angles + i * job->d;
        float *x = job->x + i * job->h * job->d;
        for (size_t head = 0; head < job->h; head++, x += job->d)
            cpu_lanes->rotate(x, x + half, by, by + half, half);
    }
}

static int heads(struct kernel_run *run, const struct kernel_heads *of,
                 size_t count, const float *angles,
                 const struct kernel_places *places, size_t place_count,
                 size_t slots, int type, size_t m, size_t d)
{
    const struct kernels *table = kernels_cpu();
    int code = KERNEL_OK;
    for (size_t i = 0; i < count && !code; i++) {
        const struct kernel_heads *z = &of[i];
        struct turn_job job = {z->x, angles, z->h, d};
        if (z->norm)
            code = rms_norm(run, z->x, z->x, z->norm, m * z->h, d, z->eps);
        if (z->turned)
            cpu_share(run, m, 0.5 * (double)m * (double)(z->h * d), turn_part,
                      &job);
        if (!code && z->factor != 1)
            code = table->scale(run, z->x, z->factor, m * z->h * d);
        if (!code)
            code = ref_keep(table, run, z, places, place_count, slots, type, d);
    }
    return code;
}

struct angle_job {
    float *out;
    const int32_t *position;
    const double *frequency;
    size_t d;
};

static void angle_part(void *argument, size_t from, size_t to)
{
    const struct angle_job *job = argument;
    size_t half = job->d / 2;
    for (size_t i = from; i < to; i++)
        for (size_t j = 0; j < half; j++) {
            double angle = job->position[i] * job->frequency[j];
            job->out[i * job->d + j] = (float)cos(angle);
            job->out[i * job->d + half + j] = (float)sin(angle);
        }
}

static int angles(struct kernel_run *run, float *out,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t d)
{
    struct angle_job job = {out, host_position, host_frequency, d};
    /* a sine and a cosine cost as much as some hundred multiplications */
    cpu_share(run, m, (double)m * (double)d * 200, angle_part, &job);
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
    table->angles = angles;
    table->heads = heads;
    table->swiglu = swiglu;
    table->geglu = geglu;
    table->gelu = gelu;
    table->add = add;
    table->add_bias = add_bias;
}
