#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"

float cpu_softmax(float *score, size_t n, float share)
{
    float most = -INFINITY;
    for (size_t j = 0; j < n; j++)
        most = score[j] > most ? score[j] : most;
    float total = cpu_lanes->exp_sum(score, most, n);
    cpu_lanes->scale(score, score, NULL, share / total, n);
    return most + logf(total);
}

static int calibrate(struct kernel_run *run, float *out, const float *h,
                     const struct kernel_weight *down,
                     const struct kernel_weight *up,
                     const struct kernel_weight *wq, const float *norm,
                     size_t m, float eps)
{
    return ref_calibrate(kernels_cpu(), run, out, h, down, up, wq, norm, m,
                         eps);
}

struct proxies {
    float *out;
    const float *q;
    size_t chunk, width;
};

static void proxy_part(void *argument, size_t from, size_t to)
{
    const struct proxies *job = argument;
    size_t width = job->width;
    for (size_t c = from; c < to; c++) {
        float *out = job->out + c * width;
        const float *q = job->q + c * job->chunk * width;
        memcpy(out, q, width * sizeof *out);
        for (size_t i = 1; i < job->chunk; i++)
            cpu_lanes->add(out, q + i * width, width);
        cpu_lanes->scale(out, out, NULL, 1 / (float)job->chunk, width);
    }
}

static int chunk_proxy(struct kernel_run *run, float *out, const float *q,
                       size_t chunks, size_t chunk, size_t width)
{
    struct proxies job = {out, q, chunk, width};
    cpu_share(run, chunks, (double)chunks * (double)chunk * (double)width,
              proxy_part, &job);
    return KERNEL_OK;
}

struct summaries {
    float *key, *bias;
    const float *k, *proxy;
    size_t chunk, keys, hq, hkv, d;
    atomic_bool failed; /* no memory */
};

/* p, score [keys] are room. */
static void summarise(const struct summaries *job, size_t c, size_t head,
                      float *p, float *score)
{
    size_t own = c * job->hq + head, d = job->d, step = job->hkv * d;
    const float *k =
        job->k + c * job->chunk * step + head / (job->hq / job->hkv) * d;
    float scale = 1 / sqrtf((float)d);
    for (size_t j = 0; j < job->keys; j++)
        score[j] =
            cpu_lanes->dot(k + j * step, job->proxy + own * d, d) * scale;
    memcpy(p, score, job->keys * sizeof *p);
    double all = (double)cpu_softmax(p, job->keys, 1), entropy = 0;
    for (size_t j = 0; j < job->keys; j++) /* ln p = score - all */
        if (!(p[j] <= 0))
            entropy += (double)p[j] * (all - (double)score[j]);
    job->bias[own] = (float)entropy;
    cpu_lanes->mix(job->key + own * d, d, p, 0, 1, k, step, 1, d, job->keys,
                   false);
}

static void summary_part(void *argument, size_t from, size_t to)
{
    struct summaries *job = argument;
    float *room = calloc(job->keys, 2 * sizeof *room);
    if (!room)
        atomic_store(&job->failed, true);
    for (size_t c = from; room && c < to; c++)
        for (size_t head = 0; head < job->hq; head++)
            summarise(job, c, head, room, room + job->keys);
    free(room);
}

static int chunk_summary(struct kernel_run *run, float *key, float *bias,
                         const float *k, const float *proxy, size_t chunks,
                         size_t chunk, size_t hq, size_t hkv, size_t d,
                         bool landmark)
{
    struct summaries job = {.key = key,
                            .bias = bias,
                            .k = k,
                            .proxy = proxy,
                            .chunk = chunk,
                            .keys = landmark ? chunk - 1 : chunk,
                            .hq = hq,
                            .hkv = hkv,
                            .d = d};
    cpu_share(run, chunks,
              2 * (double)chunks * (double)chunk * (double)hq * (double)d,
              summary_part, &job);
    return atomic_load(&job.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}

void cpu_fill_summaries(struct kernels *table)
{
    table->calibrate = calibrate;
    table->chunk_proxy = chunk_proxy;
    table->chunk_summary = chunk_summary;
}
