#include "cli/eval/score.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

enum { MAX_TOKENS = 20000 };

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double score_quantile(double *values, size_t count, double share)
{
    if (!count)
        return (double)NAN;
    qsort(values, count, sizeof *values, by_value);
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;
    double part = place - (double)below;
    return values[below] * (1 - part) + values[above] * part;
}

/* Values of a resample, drawn with replacement. */
struct sample {
    const double *parts, *wholes; /* [count]; wholes NULL: 1 each */
    double *drawn;                /* [count], of parts; NULL: not kept */
    size_t count;
};

static double draw_ratio(const struct sample *sample, uint64_t *state)
{
    double part = 0, whole = 0;
    for (size_t i = 0; i < sample->count; i++) {
        size_t at = state ? next_random(state) % sample->count : i;
        part += sample->parts[at];
        whole += sample->wholes ? sample->wholes[at] : 1;
        if (sample->drawn)
            sample->drawn[i] = sample->parts[at];
    }
    return whole > 0 ? part / whole : 0;
}

static double draw_quantile(const struct sample *sample, double share,
                            uint64_t *state)
{
    draw_ratio(sample, state);
    return score_quantile(sample->drawn, sample->count, share);
}

/* `share` below 0: of the ratio. */
static struct score bootstrap(const struct sample *sample, double share)
{
    const double none = (double)NAN;
    struct score score = {none, none, none, sample->count};
    double figures[SCORE_RESAMPLES];
    uint64_t state = 1;
    if (!sample->count)
        return score;
    for (size_t i = 0; i <= SCORE_RESAMPLES; i++) {
        uint64_t *random = i ? &state : NULL;
        double figure = share < 0 ? draw_ratio(sample, random)
                                  : draw_quantile(sample, share, random);
        if (i)
            figures[i - 1] = figure;
        else
            score.mean = figure;
    }
    score.low = score_quantile(figures, SCORE_RESAMPLES, 0.025);
    score.high = score_quantile(figures, SCORE_RESAMPLES, 0.975);
    return score;
}

struct score score_of(const double *values, size_t count)
{
    struct sample sample = {.parts = values, .count = count};
    return bootstrap(&sample, -1);
}

struct score score_of_ratio(const double *parts, const double *wholes,
                            size_t count)
{
    const double none = (double)NAN;
    struct sample sample = {.parts = parts, .wholes = wholes, .count = count};
    double whole = 0;
    for (size_t i = 0; i < count; i++)
        whole += wholes[i];
    return whole > 0 ? bootstrap(&sample, -1)
                     : (struct score){none, none, none, 0};
}

struct score score_of_quantile(const double *values, size_t count, double share)
{
    struct sample sample = {.parts = values,
                            .drawn = mem_alloc((count + 1) * sizeof(double)),
                            .count = count};
    struct score score = bootstrap(&sample, share);
    free(sample.drawn);
    return score;
}

static bool is_punctuation(uint32_t c)
{
    return c > ' ' && c < 0x7F && !text_is_letter(c) && !text_is_digit(c);
}

static bool is_article(const char *word, size_t size)
{
    struct slice text = {word, size};
    return slice_is(text, "a") || slice_is(text, "an") || slice_is(text, "the");
}

struct tokens {
    uint64_t *items; /* hashes of the words */
    size_t count, capacity;
};

static void add_token(struct tokens *tokens, struct buf *word)
{
    if (word->size && !is_article(word->data, word->size) &&
        tokens->count < MAX_TOKENS) {
        MEM_RESERVE(tokens->items, &tokens->capacity, tokens->count + 1);
        tokens->items[tokens->count++] = hash_bytes64(word->data, word->size);
    }
    buf_clear(word);
}

static struct tokens tokens_of(const char *text)
{
    struct tokens tokens = {0};
    struct buf word = {0};
    size_t size = strlen(text);
    for (size_t at = 0, step; at < size; at += step) {
        uint32_t c = text_decode(text, size, at, &step);
        size_t space = text_space(text, size, at);
        if (space) {
            add_token(&tokens, &word);
            step = space;
        } else if (!is_punctuation(c)) {
            text_encode(&word, text_lower(c));
        }
    }
    add_token(&tokens, &word);
    buf_free(&word);
    return tokens;
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t count_common(struct tokens *a, struct tokens *b)
{
    size_t common = 0;
    if (!a->count || !b->count)
        return 0;
    qsort(a->items, a->count, sizeof *a->items, by_hash);
    qsort(b->items, b->count, sizeof *b->items, by_hash);
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        uint64_t x = a->items[i], y = b->items[j];
        common += x == y;
        i += x <= y;
        j += y <= x;
    }
    return common;
}

/* Length of the longest common subsequence. */
static size_t count_sequence(struct tokens *a, struct tokens *b)
{
    size_t *row = mem_alloc((b->count + 1) * sizeof *row);
    for (size_t i = 0; i < a->count; i++) {
        size_t diagonal = 0;
        for (size_t j = 0; j < b->count; j++) {
            size_t above = row[j + 1];
            size_t longer = above > row[j] ? above : row[j];
            bool same = a->items[i] == b->items[j];
            row[j + 1] = same ? diagonal + 1 : longer;
            diagonal = above;
        }
    }
    size_t length = row[b->count];
    free(row);
    return length;
}

static double f_measure(const char *answer, const char *reference,
                        size_t (*count)(struct tokens *, struct tokens *))
{
    struct tokens a = tokens_of(answer), b = tokens_of(reference);
    double result = a.count == b.count; /* of no words, as SQuAD has it */
    if (a.count && b.count)
        result = 2.0 * (double)count(&a, &b) / (double)(a.count + b.count);
    else if (a.count != b.count)
        result = 0;
    free(a.items);
    free(b.items);
    return result;
}

double score_f1(const char *answer, const char *reference)
{
    return f_measure(answer, reference, count_common);
}

double score_rouge_l(const char *answer, const char *reference)
{
    return f_measure(answer, reference, count_sequence);
}
