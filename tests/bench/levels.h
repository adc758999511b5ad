/* Choices of chunks by fewer bytes than all their summaries have, beside those by all, in
 * plain arithmetic (bench_levels.c).
 *
 * By groups: so many neighbouring chunks have one summary; of the groups that score
 * highest, `refined` of all, the chunks are scored, and of these the best are chosen.
 *     mean    mean key and mean bias
 *     own     HiLS's eq. 8 over the group's summaries, by its last landmark's query
 *     bound   the highest that a key within the group's elementwise limits could score
 *     spread  mean, and half the variance along the query: the logarithm of the
 *             group's mean exp(score), were keys normally distributed
 *     best    the highest score of the group's chunks, which no summary knows
 * By bits: summary keys of so many bits a number, with a scale of 16 bits for each 32;
 * the best by these, some `times` as many as are chosen, are scored by the keys.
 * `centred`: less their mean over all chunks, which is the same for all. */
#ifndef TESTS_BENCH_LEVELS_H
#define TESTS_BENCH_LEVELS_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum way { MEAN, OWN, BOUND, SPREAD, BEST, WAYS };
static const char *const way_names[WAYS] = {"mean", "own", "bound", "spread",
                                            "best"};
/* How many vectors a group has. */
static const size_t way_keys[WAYS] = {1, 1, 2, 2, 1};
static const size_t sizes[] = {8, 16, 64};
static const double shares[] = {1. / 16, 1. / 8, 1. / 4, 1. / 2};
static const int bit_counts[] = {1, 2, 4, 8};
static const size_t factors[] = {1, 2, 4, 8};

struct sums {
    double recall, weight, read;
    size_t count;
};

static struct {
    struct sums groups[COUNT(sizes)][WAYS][COUNT(shares)];
    struct sums bits[2][COUNT(bit_counts)][COUNT(factors)];
    double window, chosen; /* weights */
    size_t choices, heads;
} got;

/* ---- Summaries ---- */

/* Of a layer, or of groups of its chunks. */
struct table {
    size_t count, hq, d;
    float *keys;          /* [hq, count, d]; of `bound` the least */
    float *spread;        /* the same: variances, of `bound` the most */
    float *biases;        /* [hq, count] */
    float *centre;        /* [hq, d] their mean */
    const float *proxies; /* [count, hq, d]; NULL: there are none */
};

static inline struct table table_of(size_t count, size_t hq, size_t d)
{
    return (struct table){
        .count = count,
        .hq = hq,
        .d = d,
        .keys = mem_alloc((hq * count * d + 1) * sizeof(float)),
        .spread = mem_alloc((hq * count * d + 1) * sizeof(float)),
        .biases = mem_alloc((hq * count + 1) * sizeof(float)),
        .centre = mem_alloc(hq * d * sizeof(float))};
}

static inline void table_free(struct table *t)
{
    free(t->keys);
    free(t->spread);
    free(t->biases);
    free(t->centre);
}

static inline float narrow_dot(const float *a, const float *b, size_t d)
{
    float sum = 0;
    for (size_t l = 0; l < d; l++)
        sum += a[l] * b[l];
    return sum;
}

static inline double score_of(const struct table *t, const float *q,
                              size_t head, size_t c)
{
    size_t at = head * t->count + c;
    return (double)narrow_dot(q, t->keys + at * t->d, t->d) /
               sqrt((double)t->d) +
           (double)t->biases[at];
}

/* p [size]: what each of the chunks from `from` on counts for, all together 1. */
static inline void shares_of(const struct table *t, enum way way, size_t head,
                             size_t from, size_t size, double *p)
{
    double top = -INFINITY, all = 0;
    for (size_t i = 0; i < size; i++) {
        p[i] = way == OWN
                   ? score_of(t,
                              t->proxies +
                                  ((from + size - 1) * t->hq + head) * t->d,
                              head, from + i)
                   : 0;
        top = fmax(top, p[i]);
    }
    for (size_t i = 0; i < size; i++)
        all += p[i] = exp(p[i] - top);
    for (size_t i = 0; i < size; i++)
        p[i] /= all;
}

/* One number of all the group's keys, or its biases: ret_second may be NULL. */
static inline void join(const float *x, size_t step, size_t size, enum way way,
                        const double *p, float *ret, float *ret_second)
{
    double mean = 0, square = 0, least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < size; i++) {
        double its = (double)x[i * step];
        mean += p[i] * its;
        square += p[i] * its * its;
        least = fmin(least, its);
        most = fmax(most, its);
    }
    *ret = (float)(way == BOUND ? ret_second ? least : most : mean);
    if (ret_second)
        *ret_second = (float)(way == BOUND ? most : square - mean * mean);
}

static inline struct table group(const struct table *t, enum way way,
                                 size_t size)
{
    struct table ret = table_of(t->count / size, t->hq, t->d);
    double *p = mem_alloc(size * sizeof *p);
    for (size_t at = 0; at < ret.hq * ret.count; at++) {
        size_t head = at / ret.count, from = at % ret.count * size;
        size_t first = head * t->count + from;
        shares_of(t, way, head, from, size, p);
        for (size_t l = 0; l < t->d; l++)
            join(t->keys + first * t->d + l, t->d, size, way, p,
                 ret.keys + at * t->d + l, ret.spread + at * t->d + l);
        join(t->biases + first, 1, size, way, p, ret.biases + at, NULL);
        for (size_t i = 0; i < size && way == OWN; i++)
            ret.biases[at] -= p[i] > 0 ? (float)(p[i] * log(p[i])) : 0;
    }
    free(p);
    return ret;
}

static inline double score_group(const struct table *t, enum way way,
                                 const float *q, size_t head, size_t g)
{
    size_t at = head * t->count + g;
    const float *a = t->keys + at * t->d, *b = t->spread + at * t->d;
    double score = (double)t->biases[at];
    if (way == MEAN || way == OWN)
        return score_of(t, q, head, g);
    for (size_t l = 0; l < t->d; l++) {
        double x = (double)q[l] / sqrt((double)t->d);
        score += way == BOUND ? fmax(x * (double)a[l], x * (double)b[l])
                              : x * (double)a[l] + x * x * (double)b[l] / 2;
    }
    return score;
}

/* ---- One query and key-value head ---- */

/* A layer's summaries, and their groups'. */
struct levels {
    struct table all, groups[COUNT(sizes)][BEST];
};

struct query {
    const struct levels *by;
    const float *q;      /* [group, d] */
    size_t first, group; /* heads */
    size_t candidates, top_k;
    double *score; /* [group, candidates] */
    double *total; /* [group] the logarithm of what softmax divides by */
    double *value; /* [candidates] what is ranked: the highest of the heads' */
    bool *flat;    /* [candidates] chosen by all summaries */
};

struct ranked {
    double value;
    size_t at;
};

static inline int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->value < y->value   ? 1
           : x->value > y->value ? -1
                                 : (x->at > y->at) - (x->at < y->at);
}

/* The chunks' weights in all heads. */
static inline double weight_of(const struct query *y,
                               const struct ranked *items, size_t count)
{
    double sum = 0;
    for (size_t g = 0; g < y->group; g++)
        for (size_t i = 0; i < count; i++)
            sum += exp(y->score[g * y->candidates + items[i].at] - y->total[g]);
    return sum;
}

/* The best of items [count], which are put in order. */
static inline void count_choice(const struct query *y, struct ranked *items,
                                size_t count, double read, struct sums *sums)
{
    size_t found = 0;
    qsort(items, count, sizeof *items, by_value);
    count = count < y->top_k ? count : y->top_k;
    for (size_t i = 0; i < count; i++)
        found += y->flat[items[i].at];
    sums->recall += (double)found / (double)y->top_k;
    sums->weight += weight_of(y, items, count);
    sums->read += read;
    sums->count++;
}

/* Of all; window [group], logarithms. */
static inline void choose_all(struct query *y, const double *window)
{
    struct ranked *all = mem_alloc(y->candidates * sizeof *all);
    for (size_t g = 0; g < y->group; g++) {
        double *score = y->score + g * y->candidates, top = window[g], sum = 0;
        for (size_t c = 0; c < y->candidates; c++) {
            score[c] =
                score_of(&y->by->all, y->q + g * y->by->all.d, y->first + g, c);
            top = fmax(top, score[c]);
        }
        for (size_t c = 0; c < y->candidates; c++)
            sum += exp(score[c] - top);
        y->total[g] = top + log(sum + exp(window[g] - top));
        got.window += exp(window[g] - y->total[g]);
    }
    for (size_t c = 0; c < y->candidates; c++) {
        y->value[c] = -INFINITY;
        for (size_t g = 0; g < y->group; g++)
            y->value[c] = fmax(y->value[c],
                               y->score[g * y->candidates + c] - y->total[g]);
        all[c] = (struct ranked){y->value[c], c};
    }
    qsort(all, y->candidates, sizeof *all, by_value);
    for (size_t i = 0; i < y->top_k; i++)
        y->flat[all[i].at] = true;
    got.chosen += weight_of(y, all, y->top_k);
    got.choices++;
    got.heads += y->group;
    free(all);
}

static inline double group_value(const struct query *y, const struct table *t,
                                 enum way way, size_t size, size_t at)
{
    double value = -INFINITY;
    for (size_t i = 0; i < size && way == BEST; i++)
        value = fmax(value, y->value[at * size + i]);
    for (size_t g = 0; g < y->group && way != BEST; g++)
        value =
            fmax(value, score_group(t, way, y->q + g * t->d, y->first + g, at) -
                            y->total[g]);
    return value;
}

/* Chunks behind the last whole group are scored always. */
static inline void choose_by_groups(const struct query *y, size_t s,
                                    enum way way)
{
    size_t size = sizes[s], groups = y->candidates / size;
    struct ranked *order = mem_alloc((groups + 1) * sizeof *order);
    struct ranked *items = mem_alloc(y->candidates * sizeof *items);
    for (size_t i = 0; i < groups; i++)
        order[i] = (struct ranked){
            group_value(y, way == BEST ? NULL : &y->by->groups[s][way], way,
                        size, i),
            i};
    qsort(order, groups, sizeof *order, by_value);
    for (size_t share = 0; share < COUNT(shares); share++) {
        size_t refined = (size_t)ceil(shares[share] * (double)groups),
               count = 0;
        for (size_t i = 0; i < refined * size; i++) {
            size_t c = order[i / size].at * size + i % size;
            items[count++] = (struct ranked){y->value[c], c};
        }
        for (size_t c = groups * size; c < y->candidates; c++)
            items[count++] = (struct ranked){y->value[c], c};
        count_choice(y, items, count,
                     (double)(groups * way_keys[way] + count) /
                         (double)y->candidates,
                     &got.groups[s][way][share]);
    }
    free(order);
    free(items);
}

/* A number of a group of 32: one bit is the sign of their mean size; two are .55 or 1.8
 * of it; of more the largest is the largest integer. */
static inline double rounded(double x, int bits, double scale)
{
    return bits == 1   ? copysign(scale, x)
           : bits == 2 ? copysign(fabs(x) < 1.2 * scale ? .55 : 1.8, x) * scale
           : scale > 0 ? scale * round(x / scale)
                       : 0;
}

static inline double rounded_score(const struct table *t, const float *q,
                                   size_t head, size_t c, int bits,
                                   bool centred)
{
    enum { TOGETHER = 32 };
    size_t at = head * t->count + c;
    const float *key = t->keys + at * t->d, *centre = t->centre + head * t->d;
    double sum = 0;
    for (size_t i = 0, end; i < t->d; i = end) {
        double mean = 0, most = 0, x[TOGETHER];
        end = i + TOGETHER < t->d ? i + TOGETHER : t->d;
        for (size_t l = i; l < end; l++) {
            x[l - i] = (double)key[l] - (centred ? (double)centre[l] : 0);
            mean += fabs(x[l - i]) / (double)(end - i);
            most = fmax(most, fabs(x[l - i]));
        }
        double scale = bits <= 2 ? mean : most / ((1 << (bits - 1)) - 1);
        for (size_t l = i; l < end; l++)
            sum += (double)q[l] * (rounded(x[l - i], bits, scale) +
                                   (centred ? (double)centre[l] : 0));
    }
    return sum / sqrt((double)t->d) + (double)t->biases[at];
}

static inline void choose_by_bits(const struct query *y, size_t b, bool centred)
{
    const struct table *t = &y->by->all;
    const double d = (double)t->d, bytes = 2 * d + 4; /* bf16, and the bias */
    struct ranked *order = mem_alloc(y->candidates * sizeof *order);
    struct ranked *items = mem_alloc(y->candidates * sizeof *items);
    for (size_t c = 0; c < y->candidates; c++) {
        order[c] = (struct ranked){-INFINITY, c};
        for (size_t g = 0; g < y->group; g++)
            order[c].value = fmax(
                order[c].value, rounded_score(t, y->q + g * t->d, y->first + g,
                                              c, bit_counts[b], centred) -
                                    y->total[g]);
    }
    qsort(order, y->candidates, sizeof *order, by_value);
    for (size_t f = 0; f < COUNT(factors); f++) {
        size_t count = factors[f] * y->top_k;
        count = count < y->candidates ? count : y->candidates;
        for (size_t i = 0; i < count; i++)
            items[i] = (struct ranked){y->value[order[i].at], order[i].at};
        count_choice(y, items, count,
                     (d * bit_counts[b] / 8 + d / 16 + 4) / bytes +
                         (double)count / (double)y->candidates,
                     &got.bits[centred][b][f]);
    }
    free(order);
    free(items);
}

/* Nothing is measured where all candidates would be chosen. */
static inline void choose_all_ways(struct query *y, const double *window)
{
    if (y->candidates <= y->top_k)
        return;
    y->score = mem_alloc(y->group * y->candidates * sizeof *y->score);
    y->total = mem_alloc(y->group * sizeof *y->total);
    y->value = mem_alloc(y->candidates * sizeof *y->value);
    y->flat = mem_alloc(y->candidates * sizeof *y->flat);
    choose_all(y, window);
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (enum way w = 0; w < WAYS; w++)
            if (w != OWN || y->by->all.proxies)
                choose_by_groups(y, s, w);
    for (size_t b = 0; b < 2 * COUNT(bit_counts); b++)
        choose_by_bits(y, b / 2, b % 2);
    free(y->score);
    free(y->total);
    free(y->value);
    free(y->flat);
}

static inline void levels_open(struct levels *by)
{
    struct table *t = &by->all;
    for (size_t at = 0; at < t->hq * t->count; at++)
        for (size_t l = 0; l < t->d; l++)
            t->centre[at / t->count * t->d + l] +=
                t->keys[at * t->d + l] / (float)t->count;
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (enum way w = 0; w < BEST; w++)
            if (w != OWN || by->all.proxies)
                by->groups[s][w] = group(&by->all, w, sizes[s]);
}

static inline void levels_free(struct levels *by)
{
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (enum way w = 0; w < BEST; w++)
            table_free(&by->groups[s][w]);
    table_free(&by->all);
}

/* ---- What is said ---- */

static inline void show_sums(size_t tokens, const char *kind, const char *what,
                             const struct sums *sum)
{
    double count = (double)sum->count;
    if (sum->count)
        printf("{\"tokens\": %zu, \"queries\": \"%s\", %s, \"recall\": %.4f, "
               "\"kept\": %.4f, \"part\": %.4f}\n",
               tokens, kind, what, sum->recall / count,
               sum->weight / got.chosen, sum->read / count);
}

static inline void show(size_t tokens, const char *kind)
{
    char what[128];
    printf("{\"tokens\": %zu, \"queries\": \"%s\", \"choices\": %zu, "
           "\"window\": %.3f, \"chosen\": %.3f}\n",
           tokens, kind, got.choices, got.window / (double)got.heads,
           got.chosen / (double)got.heads);
    for (size_t s = 0; s < COUNT(sizes); s++)
        for (enum way w = 0; w < WAYS; w++)
            for (size_t i = 0; i < COUNT(shares); i++) {
                snprintf(what, sizeof what,
                         "\"group\": %zu, \"by\": \"%s\", \"refined\": %.4f",
                         sizes[s], way_names[w], shares[i]);
                show_sums(tokens, kind, what, &got.groups[s][w][i]);
            }
    for (size_t b = 0; b < 2 * COUNT(bit_counts); b++)
        for (size_t f = 0; f < COUNT(factors); f++) {
            snprintf(what, sizeof what,
                     "\"bits\": %d, \"centred\": %s, \"times\": %zu",
                     bit_counts[b / 2], b % 2 ? "true" : "false", factors[f]);
            show_sums(tokens, kind, what, &got.bits[b % 2][b / 2][f]);
        }
    fflush(stdout);
    memset(&got, 0, sizeof got);
}

#endif
