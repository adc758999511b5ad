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

static int chunk_proxy(struct kernel_run *run, float *mean, const float *q,
                       size_t rows, size_t width, size_t before)
{
    (void)run;
    if (!rows)
        return KERNEL_OK;
    if (before)
        cpu_lanes->scale(mean, mean, NULL, (float)before, width);
    else
        memcpy(mean, q, width * sizeof *mean);
    for (size_t i = before ? 0 : 1; i < rows; i++)
        cpu_lanes->add(mean, q + i * width, width);
    cpu_lanes->scale(mean, mean, NULL, 1 / (float)(before + rows), width);
    return KERNEL_OK;
}

struct summaries {
    const struct kernel_summaries *to;
    const struct kernel_pages *pages;
    size_t first, chunk, keys, hq, hkv, d;
};

enum { MAX_KEYS = 1024, MAX_D = 256 /* of a chunk; above, `ref` does it */ };
enum { RUN = 64 };

/* The keys from slot on, as far as they lie in one page, at most `count` and RUN. */
static struct cpu_run run_from(const struct summaries *job, size_t head,
                               size_t slot, size_t count)
{
    count = ref_stretch(job->pages, slot, count);
    return (struct cpu_run){.pages = job->pages,
                            .hkv = job->hkv,
                            .d = job->d,
                            .head = head / (job->hq / job->hkv),
                            .slot = slot,
                            .count = count < RUN ? count : RUN};
}

static void summarise(const struct summaries *job, size_t c, size_t head)
{
    SCRATCH float room[RUN * MAX_D];
    size_t d = job->d, slot = c * job->chunk, step;
    float *key = job->to->keys[c] + job->to->key_at + head * d;
    float scale = 1 / sqrtf((float)d), p[MAX_KEYS], score[MAX_KEYS];
    for (size_t j = 0, some; j < job->keys; j += some) {
        struct cpu_run run = run_from(job, head, slot + j, job->keys - j);
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
        struct cpu_run run = run_from(job, head, slot + j, job->keys - j);
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
                         size_t d, bool landmark)
{
    if (chunk > MAX_KEYS || d > MAX_D)
        return kernels_ref()->chunk_summary(
            run, summaries, pages, first, chunks, chunk, hq, hkv, d, landmark);
    struct summaries job = {.to = summaries,
                            .pages = pages,
                            .first = first,
                            .chunk = chunk,
                            .keys = landmark ? chunk - 1 : chunk,
                            .hq = hq,
                            .hkv = hkv,
                            .d = d};
    cpu_share(run, chunks,
              2 * (double)chunks * (double)chunk * (double)hq * (double)d,
              summary_part, &job);
    return KERNEL_OK;
}

void cpu_fill_summaries(struct kernels *table)
{
    table->chunk_proxy = chunk_proxy;
    table->chunk_summary = chunk_summary;
}
