/* HiLS attention, a query and a head at a time. */
#include <math.h>
#include <stdlib.h>

#include "kernels/ref/ref.h"

double ref_log_add(double a, double b)
{
    double max = a > b ? a : b, min = a > b ? b : a;
    return min == -HUGE_VAL ? max : max + log1p(exp(min - max));
}

static int by_value(const void *a, const void *b)
{
    int32_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

void ref_ascending(int32_t *chosen, const int32_t *best, size_t count,
                   size_t max)
{
    for (size_t i = 0; i < max; i++)
        chosen[i] = i < count ? best[i] : -1;
    qsort(chosen, count, sizeof *chosen, by_value);
}

/* What both operations take. */
struct hils {
    const struct kernel_hils *sizes;
    const float *q, *qhat;
    const struct kernel_pages *pages;
    const struct kernel_summaries *summaries;
    const int32_t *position, *landmark;
};

static double score_of(const float *q, const float *k, size_t d)
{
    double sum = 0;
    for (size_t l = 0; l < d; l++)
        sum += (double)q[l] * (double)k[l];
    return sum / sqrt((double)d);
}

static const float *query_of(const struct hils *h, const float *q, size_t i,
                             size_t head)
{
    return q + (i * h->sizes->hq + head) * h->sizes->d;
}

/* Where query head `head` lies in a slot. */
static size_t step_of(const struct hils *h)
{
    return ref_step(h->pages, h->sizes->hkv, h->sizes->d);
}
static size_t place_of(const struct hils *h, size_t head)
{
    return ref_at(h->pages, head / (h->sizes->hq / h->sizes->hkv), h->sizes->d);
}

static bool real(const struct hils *h, size_t j)
{
    return !h->landmark || !h->landmark[j];
}

/* The highest of the chunk's means, which each stand for as many keys. */
static double means_score(const struct hils *h, const float *q, size_t head,
                          size_t c)
{
    const struct kernel_summaries *s = h->summaries;
    size_t d = h->sizes->d, group = h->sizes->hq / h->sizes->hkv;
    size_t keys = h->sizes->chunk / s->means;
    double highest = -INFINITY;
    for (size_t r = 0; r < s->means; r++) {
        const uint16_t *mean = ref_mean(s, c, head / group * s->means + r, d);
        double sum = 0;
        for (size_t l = 0; l < d; l++)
            sum += (double)q[l] * (double)ref_from_bf16(mean[l]);
        highest = fmax(highest, sum / sqrt((double)d));
    }
    return highest + log((double)keys);
}

static double chunk_score(const struct hils *h, size_t i, size_t head, size_t c)
{
    const struct kernel_summaries *s = h->summaries;
    const float *q = query_of(h, h->qhat, i, head);
    size_t d = h->sizes->d;
    return s->means ? means_score(h, q, head, c)
                    : score_of(q, s->keys[c] + s->key_at + head * d, d) +
                          (double)s->biases[c][s->bias_at + head];
}

/* Of slot j's key. */
static double slot_score(const struct hils *h, size_t i, size_t head, size_t j)
{
    const float *q = query_of(h, h->q, i, head);
    size_t step = step_of(h), at = place_of(h, head);
    double sum = 0;
    for (size_t l = 0; l < h->sizes->d; l++)
        sum += (double)q[l] * (double)ref_key_number(h->pages, j, step, at, l);
    return sum / sqrt((double)h->sizes->d);
}

/* The logarithm of what softmax divides by, were all candidates chosen. */
static double log_total(const struct hils *h, size_t i, size_t head)
{
    size_t t = (size_t)h->position[i];
    size_t from = ref_window(h->sizes, t);
    double total = -INFINITY;
    for (size_t j = from; j <= t; j++)
        if (real(h, j))
            total = ref_log_add(total, slot_score(h, i, head, j));
    for (size_t c = 0; c < from / h->sizes->chunk; c++)
        total = ref_log_add(total, chunk_score(h, i, head, c));
    return total;
}

/* The chunks of query i for one key-value head; best, score [top_k] and total
 * [group] are room. */
static void choose_for(const struct hils *h, size_t i, size_t kv,
                       int32_t *chosen, int32_t *best, double *score,
                       double *total)
{
    const struct kernel_hils *z = h->sizes;
    size_t group = z->hq / z->hkv, first = kv * group, count = 0;
    size_t candidates = ref_window(z, (size_t)h->position[i]) / z->chunk;
    for (size_t g = 0; g < group; g++)
        total[g] = log_total(h, i, first + g);
    for (size_t c = 0; c < candidates; c++) {
        double highest = -INFINITY;
        for (size_t g = 0; g < group; g++)
            highest = fmax(highest, chunk_score(h, i, first + g, c) - total[g]);
        ref_rank(best, score, &count, z->top_k, c, highest);
    }
    ref_ascending(chosen, best, count, z->top_k);
}

static int hils_choose(struct kernel_run *run, int32_t *chosen, const float *q,
                       const float *qhat, const struct kernel_pages *pages,
                       const struct kernel_summaries *summaries,
                       const int32_t *position, const int32_t *landmark,
                       const struct kernel_hils *sizes)
{
    (void)run;
    const struct hils h = {.sizes = sizes,
                           .q = q,
                           .qhat = qhat,
                           .pages = pages,
                           .summaries = summaries,
                           .position = position,
                           .landmark = landmark};
    int32_t *best = calloc(sizes->top_k, sizeof *best);
    double *score = calloc(sizes->top_k, sizeof *score);
    double *total = calloc(sizes->hq, sizeof *total);
    int code = best && score && total ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t i = 0; !code && i < sizes->m; i++)
        for (size_t kv = 0; kv < sizes->hkv; kv++)
            choose_for(&h, i, kv, chosen + (i * sizes->hkv + kv) * sizes->top_k,
                       best, score, total);
    free(best);
    free(score);
    free(total);
    return code;
}

/* ---- By the keys themselves ---- */

/* The logarithm of what the slots [from, to) weigh. */
static double log_mass(const struct hils *h, size_t i, size_t head, size_t from,
                       size_t to)
{
    double mass = -INFINITY;
    for (size_t j = from; j < to; j++)
        mass = ref_log_add(mass, slot_score(h, i, head, j));
    return mass;
}

/* value [many] becomes at least each chunk's part in this head. */
static void take_parts(const struct hils *h, size_t i, size_t head,
                       const int32_t *wide, size_t many, double *mass,
                       double *value)
{
    size_t t = (size_t)h->position[i], chunk = h->sizes->chunk;
    double total = log_mass(h, i, head, ref_window(h->sizes, t), t + 1);
    for (size_t k = 0; k < many && wide[k] >= 0; k++) {
        size_t from = (size_t)wide[k] * chunk;
        mass[k] = log_mass(h, i, head, from, from + chunk);
        total = ref_log_add(total, mass[k]);
    }
    for (size_t k = 0; k < many && wide[k] >= 0; k++)
        value[k] = fmax(value[k], mass[k] - total);
}

void ref_rerank(const int32_t *wide, const double *value, size_t many,
                size_t top_k, int32_t *best, double *score, int32_t *chosen)
{
    size_t count = 0;
    for (size_t k = 0; k < many && wide[k] >= 0; k++)
        ref_rank(best, score, &count, top_k, (size_t)wide[k], value[k]);
    ref_ascending(chosen, best, count, top_k);
}

static int hils_rerank(struct kernel_run *run, int32_t *chosen,
                       const int32_t *wide, size_t many, const float *q,
                       const struct kernel_pages *pages,
                       const int32_t *position, const struct kernel_hils *sizes)
{
    (void)run;
    const struct hils h = {
        .sizes = sizes, .q = q, .pages = pages, .position = position};
    size_t group = sizes->hq / sizes->hkv;
    int32_t *best = calloc(sizes->top_k + 1, sizeof *best);
    double *score = calloc(sizes->top_k + 1, sizeof *score);
    double *mass = calloc(many + 1, sizeof *mass);
    double *value = calloc(many + 1, sizeof *value);
    int code = best && score && mass && value ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t row = 0; !code && row < sizes->m * sizes->hkv; row++) {
        size_t i = row / sizes->hkv, kv = row % sizes->hkv;
        for (size_t k = 0; k < many; k++)
            value[k] = -INFINITY;
        for (size_t g = 0; g < group; g++)
            take_parts(&h, i, kv * group + g, wide + row * many, many, mass,
                       value);
        ref_rerank(wide + row * many, value, many, sizes->top_k, best, score,
                   chosen + row * sizes->top_k);
    }
    free(best);
    free(score);
    free(mass);
    free(value);
    return code;
}

/* The slots that a query attends to, and the logarithm of each one's weight
 * before all are divided by their sum. */
struct weights {
    size_t *slot; /* [n] */
    double *log;  /* [n] */
    size_t count;
};

/* Adds the real slots [from, to) with their scores; returns where they begin. */
static size_t take(const struct hils *h, struct weights *w, size_t i,
                   size_t head, size_t from, size_t to)
{
    size_t first = w->count;
    for (size_t j = from; j < to; j++)
        if (real(h, j)) {
            w->slot[w->count] = j;
            w->log[w->count++] = slot_score(h, i, head, j);
        }
    return first;
}

/* Adds chunk c, which as a whole weighs exp(its score). */
static void take_chunk(const struct hils *h, struct weights *w, size_t i,
                       size_t head, size_t c)
{
    size_t chunk = h->sizes->chunk;
    size_t first = take(h, w, i, head, c * chunk, (c + 1) * chunk);
    if (h->sizes->exact)
        return;
    double all = -INFINITY, whole = chunk_score(h, i, head, c);
    for (size_t j = first; j < w->count; j++)
        all = ref_log_add(all, w->log[j]);
    for (size_t j = first; j < w->count; j++)
        w->log[j] += whole - all;
}

/* out [d] = the values of the slots taken, weighted. */
static void mix(const struct hils *h, const struct weights *w, size_t head,
                float *out)
{
    double all = h->sizes->softmax1 ? 0 : -INFINITY;
    for (size_t j = 0; j < w->count; j++)
        all = ref_log_add(all, w->log[j]);
    for (size_t l = 0; l < h->sizes->d; l++) {
        double sum = 0;
        for (size_t j = 0; j < w->count; j++)
            sum += exp(w->log[j] - all) *
                   (double)ref_value_number(h->pages, w->slot[j], step_of(h),
                                            place_of(h, head), l);
        out[l] = (float)sum;
    }
}

static void attend(const struct hils *h, struct weights *w, size_t i,
                   size_t head, const int32_t *chosen, float *out)
{
    const struct kernel_hils *z = h->sizes;
    size_t t = (size_t)h->position[i];
    w->count = 0;
    take(h, w, i, head, ref_window(z, t), t + 1);
    for (size_t c = 0; c < z->top_k && chosen[c] >= 0; c++)
        take_chunk(h, w, i, head, (size_t)chosen[c]);
    mix(h, w, head, out);
}

static int hils_attention(struct kernel_run *run, float *out, const float *q,
                          const float *qhat, const struct kernel_pages *pages,
                          const struct kernel_summaries *summaries,
                          const int32_t *position, const int32_t *landmark,
                          const int32_t *chosen,
                          const struct kernel_hils *sizes)
{
    (void)run;
    const struct hils h = {sizes,     q,        qhat,    pages,
                           summaries, position, landmark};
    size_t n = sizes->n ? sizes->n : 1, d = sizes->d;
    struct weights w = {calloc(n, sizeof *w.slot), calloc(n, sizeof *w.log), 0};
    int code = w.slot && w.log ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t i = 0; !code && i < sizes->m; i++)
        for (size_t head = 0; head < sizes->hq; head++) {
            size_t kv = head / (sizes->hq / sizes->hkv);
            attend(&h, &w, i, head,
                   chosen + (i * sizes->hkv + kv) * sizes->top_k,
                   out + (i * sizes->hq + head) * d);
        }
    free(w.slot);
    free(w.log);
    return code;
}

void ref_fill_hils(struct kernels *table)
{
    table->hils_choose = hils_choose;
    table->hils_rerank = hils_rerank;
    table->reranks = true;
    table->int8_pages = true;
    table->hils_attention = hils_attention;
}
