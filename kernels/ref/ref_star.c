/* STAR attention, a query and a head at a time. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

/* One query of one head. */
struct star {
    const float *q;
    const struct kernel_pages *pages;
    size_t step, at; /* a slot's floats; where the key-value head's begin */
    size_t d, chunk, top_k;
    size_t *slot;  /* [n], what a part attends to */
    double *score; /* [n] */
    size_t count;
    int32_t *best;      /* [top_k] */
    double *best_score; /* [top_k] */
};

static void take(struct star *s, size_t slot)
{
    const float *key = ref_key(s->pages, slot, s->step) + s->at;
    double sum = 0;
    for (size_t l = 0; l < s->d; l++)
        sum += (double)s->q[l] * (double)key[l];
    s->slot[s->count] = slot;
    s->score[s->count++] = sum / sqrt((double)s->d);
}

static void take_all(struct star *s, size_t from, size_t to)
{
    s->count = 0;
    for (size_t j = from; j < to; j++)
        take(s, j);
}

/* sum [d] += share * attention to what was taken. */
static void add_part(const struct star *s, double share, double *sum)
{
    double max = -INFINITY, total = 0;
    for (size_t j = 0; j < s->count; j++)
        max = fmax(max, s->score[j]);
    for (size_t j = 0; j < s->count; j++)
        total += exp(s->score[j] - max);
    for (size_t j = 0; j < s->count; j++) {
        const float *value = ref_value(s->pages, s->slot[j], s->step) + s->at;
        double weight = share * exp(s->score[j] - max) / total;
        for (size_t l = 0; l < s->d; l++)
            sum[l] += weight * (double)value[l];
    }
}

/* The query at slot t; gate [3], already a softmax. */
static void attend(struct star *s, size_t t, const double *gate, double *sum)
{
    size_t before = t / s->chunk, chosen = 0;
    memset(sum, 0, s->d * sizeof *sum);
    take_all(s, before * s->chunk, t + 1);
    add_part(s, before ? gate[0] : 1, sum);
    if (!before)
        return;
    s->count = 0;
    for (size_t c = 0; c < before; c++)
        take(s, c * s->chunk + s->chunk - 1);
    add_part(s, gate[1], sum);
    for (size_t c = 0; c < before; c++)
        ref_rank(s->best, s->best_score, &chosen, s->top_k, c, s->score[c]);
    s->count = 0;
    for (size_t c = 0; c < chosen; c++)
        for (size_t j = 0; j < s->chunk; j++)
            take(s, (size_t)s->best[c] * s->chunk + j);
    add_part(s, gate[2], sum);
}

static void gate_of(const float *gate, double *ret)
{
    double max = -INFINITY, total = 0;
    for (size_t i = 0; i < 3; i++)
        max = fmax(max, (double)gate[i]);
    for (size_t i = 0; i < 3; i++)
        total += ret[i] = exp((double)gate[i] - max);
    for (size_t i = 0; i < 3; i++)
        ret[i] /= total;
}

static int star_attention(struct kernel_run *run, float *out, const float *q,
                          const struct kernel_pages *pages, const float *gate,
                          size_t m, size_t n, size_t hq, size_t hkv, size_t d,
                          size_t chunk, size_t top_k)
{
    (void)run;
    struct star s = {.pages = pages,
                     .step = ref_step(pages, hkv, d),
                     .d = d,
                     .chunk = chunk,
                     .top_k = top_k};
    double share[3], *sum = calloc(d, sizeof *sum);
    s.slot = calloc(n + 1, sizeof *s.slot);
    s.score = calloc(n + 1, sizeof *s.score);
    s.best = calloc(top_k, sizeof *s.best);
    s.best_score = calloc(top_k, sizeof *s.best_score);
    int code = sum && s.slot && s.score && s.best && s.best_score
                   ? KERNEL_OK
                   : KERNEL_NO_MEMORY;
    if (m)
        gate_of(gate, share);
    for (size_t i = 0; !code && i < m; i++)
        for (size_t head = 0; head < hq; head++, out += d) {
            s.q = q + (i * hq + head) * d;
            s.at = ref_at(pages, head / (hq / hkv), d);
            attend(&s, n - m + i, share, sum);
            for (size_t l = 0; l < d; l++)
                out[l] = (float)sum[l];
        }
    free(sum);
    free(s.slot);
    free(s.score);
    free(s.best);
    free(s.best_score);
    return code;
}

void ref_fill_star(struct kernels *table)
{
    table->star_attention = star_attention;
}
