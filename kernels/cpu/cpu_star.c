/* STAR attention, a query and a head at a time: slots are taken in blocks, and
 * softmax runs along (cpu_few_rows.h), so that nothing is held of all scores. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kernels/cpu/cpu_few_rows.h"
#include "kernels/ref/ref.h"

enum {
    MAX_D = 256,  /* above, `ref` does it */
    MAX_BEST = 64 /* chunks that are chosen without memory taken for them */
};

struct job {
    float *out;
    const float *q;
    const struct kernel_pages *pages;
    float gate[3]; /* a softmax */
    size_t m, n, hq, hkv, d, chunk, top_k;
    atomic_bool failed; /* no memory */
};

/* The best chunks so far, from the highest score down. */
struct best {
    int32_t *chunk; /* [top_k] */
    double *score;  /* [top_k] */
    size_t count;
};

/* What a query of a head attends to in one part. */
struct sum {
    const float *q;
    size_t at; /* where the key-value head begins in a slot */
    float max, total;
    float values[MAX_D]; /* [d] */
};

/* Slots first, first + apart, ... */
struct slots {
    size_t first, apart, count;
};

static void begin(const struct job *job, struct sum *s)
{
    s->max = LANES_LEAST;
    s->total = 0;
    memset(s->values, 0, job->d * sizeof *s->values);
}

/* How many of the slots from the j-th on are taken at once: of one page. */
static size_t block_of(const struct job *job, const struct slots *slots,
                       size_t j)
{
    size_t page = job->pages->slots;
    size_t left = page - (slots->first + j * slots->apart) % page;
    size_t some = (left + slots->apart - 1) / slots->apart;
    some = some < FEW_KEYS ? some : FEW_KEYS;
    return some < slots->count - j ? some : slots->count - j;
}

/* `best`, where given, ranks them. */
static void take(const struct job *job, struct sum *s, struct slots slots,
                 struct best *best)
{
    float score[FEW_KEYS], scale = 1 / sqrtf((float)job->d);
    size_t d = job->d, step = ref_step(job->pages, job->hkv, d);
    size_t apart = slots.apart * step;
    for (size_t j = 0, some; j < slots.count; j += some) {
        size_t slot = slots.first + j * slots.apart;
        some = block_of(job, &slots, j);
        cpu_lanes->dots(score, s->q, ref_key(job->pages, slot, step) + s->at,
                        apart, d, some, scale, 0);
        for (size_t i = 0; best && i < some; i++)
            ref_rank(best->chunk, best->score, &best->count, job->top_k, j + i,
                     (double)score[i]);
        few_shrink(s->values,
                   cpu_lanes->fold_row(score, some, &s->max, &s->total), d);
        few_mix(s->values, score, ref_value(job->pages, slot, step) + s->at,
                apart, d, some);
    }
}

/* out [d] (+)= share of the part. */
static void end(const struct job *job, const struct sum *s, float share,
                float *out, bool add)
{
    float weight = share / s->total;
    cpu_lanes->mix(out, job->d, &weight, 0, 1, s->values, job->d, 1, job->d, 1,
                   add);
}

/* The query at slot t. */
static void attend(const struct job *job, struct sum *s, struct best *best,
                   size_t t, float *out)
{
    size_t chunk = job->chunk, before = t / chunk, first = before * chunk;
    begin(job, s);
    take(job, s, (struct slots){first, 1, t + 1 - first}, NULL);
    end(job, s, before ? job->gate[0] : 1, out, false);
    if (!before)
        return;
    best->count = 0;
    begin(job, s);
    take(job, s, (struct slots){chunk - 1, chunk, before}, best);
    end(job, s, job->gate[1], out, true);
    begin(job, s);
    for (size_t c = 0; c < best->count; c++)
        take(job, s, (struct slots){(size_t)best->chunk[c] * chunk, 1, chunk},
             NULL);
    end(job, s, job->gate[2], out, true);
}

static void attend_all(struct job *job, struct best *best, size_t from,
                       size_t to)
{
    struct sum s;
    for (size_t index = from; index < to; index++) {
        size_t query = index / job->hq, head = index % job->hq;
        s.q = job->q + index * job->d;
        s.at = ref_at(job->pages, head / (job->hq / job->hkv), job->d);
        attend(job, &s, best, job->n - job->m + query,
               job->out + index * job->d);
    }
}

static void share_of(void *argument, size_t from, size_t to)
{
    struct job *job = argument;
    int32_t few_chunks[MAX_BEST];
    double few_scores[MAX_BEST];
    struct best best = {few_chunks, few_scores, 0};
    bool few = job->top_k <= MAX_BEST;
    if (!few) {
        best.chunk = calloc(job->top_k, sizeof *best.chunk);
        best.score = calloc(job->top_k, sizeof *best.score);
    }
    if (best.chunk && best.score)
        attend_all(job, &best, from, to);
    else
        atomic_store(&job->failed, true);
    if (!few) {
        free(best.chunk);
        free(best.score);
    }
}

static int star_attention(struct kernel_run *run, float *out, const float *q,
                          const struct kernel_pages *pages, const float *gate,
                          size_t m, size_t n, size_t hq, size_t hkv, size_t d,
                          size_t chunk, size_t top_k)
{
    size_t chunks = n / chunk;
    struct job job = {.out = out,
                      .q = q,
                      .pages = pages,
                      .m = m,
                      .n = n,
                      .hq = hq,
                      .hkv = hkv,
                      .d = d,
                      .chunk = chunk,
                      .top_k = chunks && chunks < top_k ? chunks : top_k};
    if (!m)
        return KERNEL_OK;
    if (d > MAX_D)
        return kernels_ref()->star_attention(run, out, q, pages, gate, m, n, hq,
                                             hkv, d, chunk, top_k);
    memcpy(job.gate, gate, sizeof job.gate);
    cpu_softmax(job.gate, 3, 1);
    double reach =
        (double)chunk * (1 + (double)job.top_k) + (double)n / (double)chunk;
    if (reach > (double)n)
        reach = (double)n;
    cpu_share(run, m * hq, 2 * (double)m * (double)hq * (double)d * reach,
              share_of, &job);
    return atomic_load(&job.failed) ? KERNEL_NO_MEMORY : KERNEL_OK;
}

void cpu_fill_star(struct kernels *table)
{
    table->star_attention = star_attention;
}
