#include "model/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below, the likeliest token is meant. */
static const double least_temperature = 1e-6;

int32_t sample_greedy(const float *logits, size_t count)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (best == SIZE_MAX ? !isnan(logits[i]) : logits[i] > logits[best])
            best = i;
    return best == SIZE_MAX ? -1 : (int32_t)best;
}

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

static double weight_of(float logit, float top, double temperature)
{
    double weight = exp(((double)logit - (double)top) / temperature);
    return weight > 0 ? weight : 0; /* NaN: never */
}

int32_t sample_draw(const float *logits, size_t count, double temperature,
                    uint64_t *state)
{
    int32_t best = sample_greedy(logits, count);
    double unit = next_unit(state), sum = 0;
    if (best < 0 || !(temperature > least_temperature) ||
        !isfinite(logits[best]))
        return best;
    for (size_t i = 0; i < count; i++)
        sum += weight_of(logits[i], logits[best], temperature);
    double left = unit * sum;
    for (size_t i = 0; i < count; i++) {
        double weight = weight_of(logits[i], logits[best], temperature);
        if (left < weight)
            return (int32_t)i;
        left -= weight;
    }
    return best;
}

double sample_log_chance(const float *logits, size_t count, int32_t id)
{
    int32_t best = sample_greedy(logits, count);
    double sum = 0;
    if (best < 0)
        return NAN;
    for (size_t i = 0; i < count; i++)
        sum += weight_of(logits[i], logits[best], 1);
    return (double)logits[id] - (double)logits[best] - log(sum);
}

/* ---- The sampler ---- */

static bool in_range(double value, double most)
{
    return value >= 0 && value <= most; /* no NaN */
}

static int check(const struct sampling *how, struct err *err)
{
    const double most = 1e6;
    if (!in_range(how->temperature, most))
        return err_set(err, ERR_USAGE, "a temperature of %g: it is 0 or more",
                       how->temperature);
    if (!in_range(how->top_p, 1))
        return err_set(err, ERR_USAGE, "a top-p of %g: it is from 0 to 1",
                       how->top_p);
    if (!in_range(how->min_p, 1))
        return err_set(err, ERR_USAGE, "a min-p of %g: it is from 0 to 1",
                       how->min_p);
    if (!in_range(how->penalty, most))
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

static bool has_filter(const struct sampling *how)
{
    return how->temperature > least_temperature &&
           (how->top_k || (how->top_p > 0 && how->top_p < 1) || how->min_p > 0);
}

int sampler_set(struct sampler *s, const struct sampling *how, size_t count,
                struct err *err)
{
    int code = check(how, err);
    if (code)
        return code;
    if (has_scores(how) && !s->scores)
        s->scores = calloc(count, sizeof *s->scores);
    if (has_filter(how) && !s->candidates)
        s->candidates = calloc(count, sizeof *s->candidates);
    if ((has_scores(how) && !s->scores) || (has_filter(how) && !s->candidates))
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

/* What may not be chosen is never drawn: it has no score.  Where only the largest
 * counts, that is mostly allowed, or one of the next: others are not asked
 * for. */
static void leave_out(struct sampler *s)
{
    const struct token_filter *only = &s->how.only;
    bool greedy = !(s->how.temperature > least_temperature);
    for (size_t i = 0; greedy && i < TRIES; i++) {
        int32_t best = sample_greedy(s->scores, s->count);
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

/* ---- Filters: a heap of the candidates, the largest first ---- */

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

static size_t make_heap(struct candidate *heap, const float *scores,
                        size_t count)
{
    size_t made = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(scores[i]))
            heap[made++] = (struct candidate){scores[i], (int32_t)i};
    for (size_t i = made / 2; i-- > 0;)
        sink(heap, made, i);
    return made;
}

/* Moves the largest behind the others. */
static struct candidate pop(struct candidate *heap, size_t *left)
{
    struct candidate top = heap[0];
    heap[0] = heap[--*left];
    heap[*left] = top;
    sink(heap, *left, 0);
    return top;
}

/* What all candidates that top-k leaves weigh together, where top-p asks. */
static double weigh_all(const struct sampler *s, const float *scores, float top)
{
    double sum = 0;
    if (s->how.top_k && s->how.top_k < s->count) {
        size_t left = make_heap(s->candidates, scores, s->count);
        for (size_t i = 0; i < s->how.top_k && left; i++)
            sum += weight_of(pop(s->candidates, &left).score, top,
                             s->how.temperature);
        return sum;
    }
    for (size_t i = 0; i < s->count; i++)
        sum += weight_of(scores[i], top, s->how.temperature);
    return sum;
}

/* Takes candidates from the largest on: `top_k`, until they weigh `top_p` of
 * all, and none below `min_p` of the first; then draws one of those taken,
 * which lie behind the others in the heap. */
static int32_t draw_filtered(struct sampler *s, const float *scores,
                             int32_t best)
{
    const struct sampling *how = &s->how;
    float top = scores[best];
    bool cut = how->top_p > 0 && how->top_p < 1;
    double unit = next_unit(&s->state), sum = 0;
    double most = cut ? how->top_p * weigh_all(s, scores, top) : HUGE_VAL;
    size_t left = make_heap(s->candidates, scores, s->count), all = left;
    size_t limit = how->top_k ? how->top_k : all;
    while (left && all - left < limit && !(sum >= most)) {
        double weight =
            weight_of(s->candidates[0].score, top, how->temperature);
        if (left < all && (weight < how->min_p || !(weight > 0)))
            break;
        pop(s->candidates, &left);
        sum += weight;
    }
    double rest = unit * sum;
    for (size_t i = all; i-- > left;) {
        double weight =
            weight_of(s->candidates[i].score, top, how->temperature);
        if (rest < weight)
            return s->candidates[i].id;
        rest -= weight;
    }
    return best;
}

int32_t sampler_choose(struct sampler *s, const float *logits,
                       const int32_t *read, size_t read_count)
{
    const float *scores = score(s, logits, read, read_count);
    if (!has_filter(&s->how))
        return sample_draw(scores, s->count, s->how.temperature, &s->state);
    int32_t best = sample_greedy(scores, s->count);
    return best < 0 || !isfinite(scores[best]) ? best
                                               : draw_filtered(s, scores, best);
}
