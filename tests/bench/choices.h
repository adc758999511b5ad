/* Full attention's weights over chunks, and ways to choose some of these, in plain
 * arithmetic: what selection.c compares the engine's choice with. */
#ifndef TESTS_BENCH_CHOICES_H
#define TESTS_BENCH_CHOICES_H

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/kernels.h"
#include "model/inference/kv_cache.h"

enum { CHUNK = CACHE_PAGE, MAX_TOP_K = 512 };

/* Ends the program where the code is not 0. */
static inline void must(int code, const char *what)
{
    if (!code)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

static inline const float *key_of(const struct kernel_pages *pages, size_t slot,
                                  size_t head, size_t hkv, size_t d)
{
    return pages->keys[slot / pages->slots] + pages->key_at +
           (pages->by_head ? head * pages->slots + slot % pages->slots
                           : slot % pages->slots * hkv + head) *
               d;
}

/* ---- True weights ---- */

static inline double dot(const float *a, const float *b, size_t d)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* One query's weights in one key-value head. */
struct weights {
    size_t chunks, group;
    double *of;     /* [group, chunks] of all tokens */
    double *window; /* [group] */
    double *best;   /* [chunks] the highest of the group's heads */
    double *sum;    /* [chunks] */
};

static inline void weigh(struct weights *w, const float *q,
                         const struct kernel_pages *pages, size_t position,
                         size_t head, size_t hkv, size_t d)
{
    size_t n = position + 1;
    double *scores = mem_alloc(n * sizeof *scores);
    memset(w->best, 0, w->chunks * sizeof *w->best);
    memset(w->sum, 0, w->chunks * sizeof *w->sum);
    for (size_t g = 0; g < w->group; g++) {
        double top = -INFINITY, all = 0, *of = w->of + g * w->chunks;
        for (size_t j = 0; j < n; j++) {
            scores[j] = dot(q + g * d, key_of(pages, j, head, hkv, d), d) /
                        sqrt((double)d);
            top = fmax(top, scores[j]);
        }
        for (size_t j = 0; j < n; j++)
            all += scores[j] = exp(scores[j] - top);
        w->window[g] = 0;
        memset(of, 0, w->chunks * sizeof *of);
        for (size_t j = 0; j < n; j++)
            *(j < w->chunks * CHUNK ? &of[j / CHUNK] : &w->window[g]) +=
                scores[j] / all;
        for (size_t c = 0; c < w->chunks; c++) {
            w->best[c] = fmax(w->best[c], of[c]);
            w->sum[c] += of[c];
        }
    }
    free(scores);
}

/* ---- Choices ---- */

struct chosen {
    int32_t items[3 * MAX_TOP_K];
    size_t count;
};

static inline bool holds(const struct chosen *chosen, int32_t chunk)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->items[i] == chunk)
            return true;
    return false;
}

/* The heaviest `most` of those in `of`. */
static inline struct chosen heaviest(const struct chosen *of,
                                     const double *weight, size_t max)
{
    struct chosen ret = {.count = 0};
    while (ret.count < max && ret.count < of->count) {
        int32_t best = -1;
        for (size_t i = 0; i < of->count; i++)
            if (!holds(&ret, of->items[i]) &&
                (best < 0 || weight[of->items[i]] > weight[best]))
                best = of->items[i];
        ret.items[ret.count++] = best;
    }
    return ret;
}

/* The first chunk, and the heaviest others. */
static inline struct chosen with_first(const struct chosen *of,
                                       const double *weight, size_t max)
{
    struct chosen ret = heaviest(of, weight, max);
    if (ret.count && !holds(&ret, 0))
        ret.items[ret.count - 1] = 0;
    return ret;
}

static inline struct chosen heaviest_of_all(const double *weight, size_t chunks,
                                            size_t max)
{
    struct chosen ret = {.count = 0};
    bool *taken = mem_alloc(chunks * sizeof *taken);
    for (; ret.count < max && ret.count < chunks; ret.count++) {
        size_t best = chunks;
        for (size_t c = 0; c < chunks; c++)
            if (!taken[c] && (best == chunks || weight[c] > weight[best]))
                best = c;
        taken[best] = true;
        ret.items[ret.count] = (int32_t)best;
    }
    free(taken);
    return ret;
}

static inline struct chosen any(uint64_t *state, size_t chunks, size_t max)
{
    struct chosen ret = {.count = 0};
    while (ret.count < max && ret.count < chunks) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        int32_t chunk = (int32_t)((*state >> 33) % chunks);
        if (!holds(&ret, chunk))
            ret.items[ret.count++] = chunk;
    }
    return ret;
}

struct share {
    double of_all, of_chunks;
    size_t count;
};

static inline void count_share(struct share *share, const struct weights *w,
                               const struct chosen *chosen)
{
    for (size_t g = 0; g < w->group; g++) {
        const double *of = w->of + g * w->chunks;
        double sum = 0, all = 0;
        for (size_t i = 0; i < chosen->count; i++)
            sum += of[chosen->items[i]];
        for (size_t c = 0; c < w->chunks; c++)
            all += of[c];
        share->of_all += sum + w->window[g];
        share->of_chunks += all > 0 ? sum / all : 1;
        share->count++;
    }
}

#endif
