/* STAR attention, a query and a head at a time. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"
#include "kernels/ref/ref.h"

struct job {
    float *out;
    const float *q, *k, *v;
    float gate[3]; /* a softmax */
    size_t m, n, hq, hkv, d, chunk, top_k;
    atomic_bool failed; /* no memory */
};

/* What one thread works with; k, v: of the key-value head. */
struct scratch {
    const float *q, *k, *v;
    float *score;  /* [n] */
    int32_t *best; /* [top_k] */
    double *rank;  /* [top_k] */
};

/* score [count] of the slots first, first + apart, ... */
static void scores(const struct job *job, const struct scratch *s, float *score,
                   size_t first, size_t apart, size_t count)
{
    size_t step = job->hkv * job->d;
    float scale = 1 / sqrtf((float)job->d);
    for (size_t j = 0; j < count; j++)
        score[j] =
            cpu_lanes->dot(s->q, s->k + (first + j * apart) * step, job->d) *
            scale;
}

/* out [d] (+)= the values of the same slots, weighted. */
static void mix(const struct job *job, const struct scratch *s, float *out,
                const float *weight, size_t first, size_t apart, size_t count,
                bool add)
{
    size_t step = job->hkv * job->d;
    cpu_lanes->mix(out, job->d, weight, 0, 1, s->v + first * step, apart * step,
                   1, job->d, count, add);
}

/* The query at slot t. */
static void attend(const struct job *job, struct scratch *s, size_t t,
                   float *out)
{
    size_t chunk = job->chunk, before = t / chunk, chosen = 0;
    size_t first = before * chunk, own = t + 1 - first;
    scores(job, s, s->score, first, 1, own);
    cpu_softmax(s->score, own, before ? job->gate[0] : 1);
    mix(job, s, out, s->score, first, 1, own, false);
    if (!before)
        return;
    scores(job, s, s->score, chunk - 1, chunk, before);
    for (size_t c = 0; c < before; c++)
        ref_rank(s->best, s->rank, &chosen, job->top_k, c, (double)s->score[c]);
    cpu_softmax(s->score, before, job->gate[1]);
    mix(job, s, out, s->score, chunk - 1, chunk, before, true);
    for (size_t c = 0; c < chosen; c++)
        scores(job, s, s->score + c * chunk, (size_t)s->best[c] * chunk, 1,
               chunk);
    cpu_softmax(s->score, chosen * chunk, job->gate[2]);
    for (size_t c = 0; c < chosen; c++)
        mix(job, s, out, s->score + c * chunk, (size_t)s->best[c] * chunk, 1,
            chunk, true);
}

static void part(void *argument, size_t from, size_t to)
{
    struct job *job = argument;
    struct scratch s = {.score = calloc(job->n, sizeof *s.score),
                        .best = calloc(job->top_k, sizeof *s.best),
                        .rank = calloc(job->top_k, sizeof *s.rank)};
    bool ready = s.score && s.best && s.rank;
    if (!ready)
        atomic_store(&job->failed, true);
    for (size_t index = from; ready && index < to; index++) {
        size_t query = index / job->hq, head = index % job->hq;
        size_t at = head / (job->hq / job->hkv) * job->d;
        s.q = job->q + index * job->d;
        s.k = job->k + at;
        s.v = job->v + at;
        attend(job, &s, job->n - job->m + query, job->out + index * job->d);
    }
    free(s.score);
    free(s.best);
    free(s.rank);
}

static int star_attention(struct kernel_run *run, float *out, const float *q,
                          const float *k, const float *v, const float *gate,
                          size_t m, size_t n, size_t hq, size_t hkv, size_t d,
                          size_t chunk, size_t top_k)
{
    struct job job = {.out = out,
                      .q = q,
                      .k = k,
                      .v = v,
                      .m = m,
                      .n = n,
                      .hq = hq,
                      .hkv = hkv,
                      .d = d,
                      .chunk = chunk,
                      .top_k = top_k};
    if (!m)
        return KERNEL_OK;
    for (size_t i = 0; i < 3; i++)
        job.gate[i] = gate[i];
    cpu_softmax(job.gate, 3, 1);
    double reach =
        (double)chunk * (1 + (double)top_k) + (double)n / (double)chunk;
    if (reach > (double)n)
        reach = (double)n;
    cpu_share(run, m * hq, 2 * (double)m * (double)hq * (double)d * reach, part,
              &job);
    return atomic_load(&job.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}

void cpu_fill_star(struct kernels *table)
{
    table->star_attention = star_attention;
}
