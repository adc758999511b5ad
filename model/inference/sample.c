#include "model/inference/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below, the likeliest token is meant. */
static const double min_temperature = 1e-6;

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static double next_unit(uint64_t *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

double sample_logprob(const struct kernel_top_k *top_k, float logit)
{
    return (double)logit - (double)top_k->logit[0] - log((double)top_k->sum);
}

/* ---- The sampler ---- */

static bool in_range(double value, double max)
{
    return value >= 0 && value <= max; /* no NaN */
}

static int check(const struct sampling *how, struct err *err)
{
    const double max = 1e6;
    if (!in_range(how->temperature, max))
        return err_set(err, ERR_USAGE, "a temperature of %g: it is 0 or more",
                       how->temperature);
    if (!in_range(how->top_p, 1))
        return err_set(err, ERR_USAGE, "a top-p of %g: it is from 0 to 1",
                       how->top_p);
    if (!in_range(how->min_p, 1))
        return err_set(err, ERR_USAGE, "a min-p of %g: it is from 0 to 1",
                       how->min_p);
    if (!in_range(how->penalty, max))
        return err_set(err, ERR_USAGE,
                       "a repetition penalty of %g: it is above 0, 1 is none",
                       how->penalty);
    return 0;
}

static bool has_penalty(const struct sampling *how)
{
    return how->penalty > 0 && fabs(how->penalty - 1) > 0;
}

/* Whether what is chosen from is not just the logits. */
static bool has_scores(const struct sampling *how)
{
    return has_penalty(how) || how->only.allows;
}

static bool draws(const struct sampling *how)
{
    return how->temperature > min_temperature;
}

static bool has_cut(const struct sampling *how)
{
    return how->top_p > 0 && how->top_p < 1;
}

static bool has_filter(const struct sampling *how)
{
    return how->top_k || has_cut(how) || how->min_p > 0;
}

int sampler_set(struct sampler *s, const struct sampling *how, size_t count,
                struct err *err)
{
    int code = check(how, err);
    if (code)
        return code;
    if (has_scores(how) && !s->scores)
        s->scores = calloc(count, sizeof *s->scores);
    if (draws(how) && !s->candidates)
        s->candidates = calloc(count, sizeof *s->candidates);
    if ((has_scores(how) && !s->scores) || (draws(how) && !s->candidates))
        return err_set(err, ERR_LIMIT, "no memory left for the model");
    s->how = *how;
    s->state = how->seed;
    s->count = count;
    return 0;
}

void sampler_free(struct sampler *s)
{
    free(s->scores);
    free(s->candidates);
    *s = (struct sampler){.count = 0};
}

float sampler_beta(const struct sampler *s)
{
    return draws(&s->how) ? (float)(1 / s->how.temperature) : 1;
}

/* ---- Candidates, the likeliest first: a list's, or a heap's ---- */

struct ranking {
    const struct kernel_top_k *list; /* NULL: the heap's */
    bool short_of;                   /* one beyond the list was asked for */
    bool any_order;                  /* of those beyond as many as a list has */
    struct candidate *heap; /* [all]; those taken lie behind the others */
    size_t all, left;
    float top; /* the first one's score */
    double temperature;
};

static bool before(struct candidate a, struct candidate b)
{
    return a.score > b.score || (!(a.score < b.score) && a.id < b.id);
}

static void sink(struct candidate *heap, size_t count, size_t at)
{
    struct candidate item = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(heap[child + 1], heap[child]))
            child++;
        if (!before(heap[child], item))
            break;
        heap[at] = heap[child];
    }
    heap[at] = item;
}

/* scores: one at least that is a number. */
static struct ranking rank_all(struct sampler *s, const float *scores)
{
    struct ranking r = {.heap = s->candidates,
                        .temperature = s->how.temperature};
    for (size_t i = 0; i < s->count; i++)
        if (!isnan(scores[i]))
            r.heap[r.all++] = (struct candidate){scores[i], (int32_t)i};
    for (size_t i = r.all / 2; i-- > 0;)
        sink(r.heap, r.all, i);
    r.left = r.all;
    r.top = r.heap[0].score;
    return r;
}

static void take_first(struct ranking *r)
{
    struct candidate first = r->heap[0];
    r->heap[0] = r->heap[--r->left];
    r->heap[r->left] = first;
    sink(r->heap, r->left, 0);
}

/* The candidate with `i` before it; false: there is none, or none is known. */
static bool rank(struct ranking *r, size_t i, struct candidate *ret)
{
    if (r->list) {
        bool known = i < KERNEL_TOP_K;
        r->short_of = r->short_of || !known;
        if (known)
            *ret = (struct candidate){r->list->logit[i], r->list->id[i]};
        return known && ret->id >= 0;
    }
    if (i >= r->all)
        return false;
    bool in_order = !r->any_order || i < KERNEL_TOP_K;
    while (in_order && r->all - r->left <= i)
        take_first(r);
    size_t taken = r->all - r->left;
    *ret = r->heap[i < taken ? r->all - 1 - i : i - taken];
    return true;
}

static double weight_of(const struct ranking *r, float score)
{
    double weight = exp(((double)score - (double)r->top) / r->temperature);
    return weight > 0 ? weight : 0; /* NaN: never */
}

/* Of the candidate with `i` before it; 0: there is none. */
static double weigh(struct ranking *r, size_t i)
{
    struct candidate one;
    return rank(r, i, &one) ? weight_of(r, one.score) : 0;
}

static double weigh_all(const struct ranking *r)
{
    double sum = 0;
    if (r->list)
        return (double)r->list->sum_beta;
    for (size_t i = 0; i < r->all; i++)
        sum += weight_of(r, r->heap[i].score);
    return sum;
}

/* ---- Draws ---- */

/* What top-p is a share of. */
static double weigh_first(struct ranking *r, size_t count)
{
    double sum = 0, weight;
    for (size_t i = 0; i < count && (weight = weigh(r, i)) > 0; i++)
        sum += weight;
    return sum;
}

/* How many candidates the filters leave, `top_k`, until they weigh `top_p` of
 * these, and none below `min_p` of the first; and what they weigh together. */
static size_t filter(const struct sampling *how, struct ranking *r,
                     double *ret_sum)
{
    double max = HUGE_VAL, weight;
    size_t limit = how->top_k ? how->top_k : SIZE_MAX, count = 0;
    if (has_cut(how))
        max = how->top_p *
              (how->top_k ? weigh_first(r, how->top_k) : weigh_all(r));
    for (*ret_sum = 0; count < limit && !(*ret_sum >= max); count++) {
        weight = weigh(r, count);
        if (!(weight > 0) || (count && weight < how->min_p))
            break;
        *ret_sum += weight;
    }
    return count;
}

static int32_t draw(struct sampler *s, struct ranking *r)
{
    uint64_t state = s->state;
    size_t count = SIZE_MAX;
    double unit = next_unit(&state), sum;
    struct candidate one = {.id = -1}, next;
    r->any_order = !has_filter(&s->how);
    if (has_filter(&s->how))
        count = filter(&s->how, r, &sum);
    else
        sum = weigh_all(r);
    double rest = unit * sum;
    for (size_t i = 0; i < count && rank(r, i, &next); i++) {
        double weight = weight_of(r, next.score);
        if (!(weight > 0))
            break;
        one = next;
        if (rest < weight)
            break;
        rest -= weight;
    }
    if (r->short_of)
        return SAMPLER_ALL;
    s->state = state;
    return one.id;
}

/* ---- From the likeliest ---- */

static int32_t first_allowed(const struct token_filter *only,
                             const struct kernel_top_k *list)
{
    for (size_t i = 0; i < KERNEL_TOP_K && isfinite(list->logit[i]); i++)
        if (only->allows(only->context, list->id[i]))
            return list->id[i];
    return SAMPLER_ALL;
}

int32_t sampler_choose_top_k(struct sampler *s, const struct kernel_top_k *list)
{
    struct ranking ranking = {
        .list = list, .top = list->logit[0], .temperature = s->how.temperature};
    const struct token_filter *only = &s->how.only;
    if (has_penalty(&s->how) || !isfinite(list->logit[0]) ||
        (only->allows && draws(&s->how)))
        return SAMPLER_ALL;
    if (only->allows)
        return first_allowed(only, list);
    return draws(&s->how) ? draw(s, &ranking) : list->id[0];
}

/* ---- From all logits ---- */

/* The index of the largest (the first of equals), -1 when all are NaN. */
static int32_t largest(const float *logits, size_t count)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (best == SIZE_MAX ? !isnan(logits[i]) : logits[i] > logits[best])
            best = i;
    return best == SIZE_MAX ? -1 : (int32_t)best;
}

/* What was read becomes less likely, however often it was. */
static void penalise(struct sampler *s, const float *logits,
                     const int32_t *read, size_t read_count)
{
    double penalty = s->how.penalty;
    for (size_t i = 0; i < read_count; i++) {
        double logit = (double)logits[read[i]];
        s->scores[read[i]] =
            (float)(logit > 0 ? logit / penalty : logit * penalty);
    }
}

enum { TRIES = 16 };

/* What may not be chosen has no score.  Where only the largest counts, that is
 * mostly allowed, or one of the next: others are not asked for. */
static void leave_out(struct sampler *s)
{
    const struct token_filter *only = &s->how.only;
    for (size_t i = 0; i < TRIES && !draws(&s->how); i++) {
        int32_t best = largest(s->scores, s->count);
        if (best < 0 || only->allows(only->context, best))
            return;
        s->scores[best] = NAN;
    }
    for (size_t i = 0; i < s->count; i++)
        if (!only->allows(only->context, (int32_t)i))
            s->scores[i] = NAN;
}

static const float *score(struct sampler *s, const float *logits,
                          const int32_t *read, size_t read_count)
{
    if (!has_scores(&s->how))
        return logits;
    memcpy(s->scores, logits, s->count * sizeof *logits);
    if (has_penalty(&s->how))
        penalise(s, logits, read, read_count);
    if (s->how.only.allows)
        leave_out(s);
    return s->scores;
}

int32_t sampler_choose(struct sampler *s, const float *logits,
                       const int32_t *read, size_t read_count)
{
    const float *scores = score(s, logits, read, read_count);
    int32_t best = largest(scores, s->count);
    if (best < 0 || !draws(&s->how) || !isfinite(scores[best]))
        return best;
    struct ranking ranking = rank_all(s, scores);
    return draw(s, &ranking);
}
