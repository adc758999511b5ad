#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu_internal.h"
#include "kernels/cpu/cpu_pages.h"
#include "kernels/ref/ref.h"

float cpu_softmax(float *score, size_t n, float share)
{
    float max = -INFINITY;
    for (size_t j = 0; j < n; j++)
        max = score[j] > max ? score[j] : max;
    float total = cpu_lanes->exp_sum(score, max, n);
    cpu_lanes->scale(score, score, NULL, share / total, n);
    return max + logf(total);
}

struct summaries {
    const struct kernel_summaries *to;
    const struct kernel_pages *pages;
    size_t first, chunk, keys, hq, hkv, d;
};

enum { MAX_KEYS = 1024, MAX_D = 256 /* of a chunk; above, `ref` does it */ };
enum { RUN = 64 };

/* A key-value head's keys from slot on, as far as they lie in one page, at most
 * `count` and RUN. */
static struct cpu_run run_from(const struct summaries *job, size_t kv,
                               size_t slot, size_t count)
{
    count = ref_stretch(job->pages, slot, count);
    return (struct cpu_run){.pages = job->pages,
                            .hkv = job->hkv,
                            .d = job->d,
                            .head = kv,
                            .slot = slot,
                            .count = count < RUN ? count : RUN};
}

static void summarise(const struct summaries *job, size_t c, size_t head)
{
    SCRATCH float room[RUN * MAX_D];
    size_t d = job->d, slot = c * job->chunk, step;
    size_t kv = head / (job->hq / job->hkv);
    float *key = job->to->keys[c] + job->to->key_at + head * d;
    float scale = 1 / sqrtf((float)d), p[MAX_KEYS], score[MAX_KEYS];
    for (size_t j = 0, some; j < job->keys; j += some) {
        struct cpu_run run = run_from(job, kv, slot + j, job->keys - j);
        const float *at = cpu_keys(&run, room, &step);
        some = run.count;
        for (size_t i = 0; i < some; i++)
            score[j + i] = cpu_lanes->dot(at + i * step, key, d) * scale;
    }
    memcpy(p, score, job->keys * sizeof *p);
    double all = (double)cpu_softmax(p, job->keys, 1), entropy = 0;
    for (size_t j = 0; j < job->keys; j++) /* ln p = score - all */
        if (!(p[j] <= 0))
            entropy += (double)p[j] * (all - (double)score[j]);
    job->to->biases[c][job->to->bias_at + head] = (float)entropy;
    for (size_t j = 0, some; j < job->keys; j += some) {
        struct cpu_run run = run_from(job, kv, slot + j, job->keys - j);
        const float *at = cpu_keys(&run, room, &step);
        some = run.count;
        cpu_lanes->mix(key, d, p + j, 0, 1, at, step, 1, d, some, j > 0);
    }
}

static void summary_part(void *argument, size_t from, size_t to)
{
    const struct summaries *job = argument;
    for (size_t c = from; c < to; c++)
        for (size_t head = 0; head < job->hq; head++)
            summarise(job, job->first + c, head);
}

static int chunk_summary(struct kernel_run *run,
                         const struct kernel_summaries *summaries,
                         const struct kernel_pages *pages, size_t first,
                         size_t chunks, size_t chunk, size_t hq, size_t hkv,
                         size_t d)
{
    if (chunk > MAX_KEYS || d > MAX_D)
        return kernels_ref()->chunk_summary(run, summaries, pages, first,
                                            chunks, chunk, hq, hkv, d);
    struct summaries job = {.to = summaries,
                            .pages = pages,
                            .first = first,
                            .chunk = chunk,
                            .keys = chunk - 1,
                            .hq = hq,
                            .hkv = hkv,
                            .d = d};
    cpu_share(run, chunks,
              2 * (double)chunks * (double)chunk * (double)hq * (double)d,
              summary_part, &job);
    return KERNEL_OK;
}

/* ret [d] = the mean of a head's keys from slot on. */
static void average(const struct summaries *job, size_t kv, size_t slot,
                    uint16_t *ret)
{
    SCRATCH float room[RUN * MAX_D];
    float mean[MAX_D] = {0};
    size_t step;
    for (size_t j = 0, some; j < job->keys; j += some) {
        struct cpu_run run = run_from(job, kv, slot + j, job->keys - j);
        const float *key = cpu_keys(&run, room, &step);
        some = run.count;
        for (size_t i = 0; i < some; i++)
            cpu_lanes->add(mean, key + i * step, job->d);
    }
    for (size_t l = 0; l < job->d; l++)
        ret[l] = ref_to_bf16(mean[l] / (float)job->keys);
}

static void average_part(void *argument, size_t from, size_t to)
{
    const struct summaries *job = argument;
    size_t means = job->to->means;
    for (size_t c = job->first + from; c < job->first + to; c++)
        for (size_t i = 0; i < job->hkv * means; i++)
            average(job, i / means, c * job->chunk + i % means * job->keys,
                    ref_mean(job->to, c, i, job->d));
}

static int chunk_means(struct kernel_run *run,
                       const struct kernel_summaries *summaries,
                       const struct kernel_pages *pages, size_t first,
                       size_t chunks, size_t chunk, size_t hkv, size_t d)
{
    if (d > MAX_D)
        return kernels_ref()->chunk_means(run, summaries, pages, first, chunks,
                                          chunk, hkv, d);
    struct summaries job = {.to = summaries,
                            .pages = pages,
                            .first = first,
                            .chunk = chunk,
                            .keys = chunk / summaries->means,
                            .hkv = hkv,
                            .d = d};
    cpu_share(run, chunks,
              (double)chunks * (double)chunk * (double)hkv * (double)d,
              average_part, &job);
    return KERNEL_OK;
}

void cpu_fill_summaries(struct kernels *table)
{
    table->chunk_summary = chunk_summary;
    table->chunk_means = chunk_means;
}
