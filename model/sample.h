/* Choosing a token from logits, as transformers does: among those that may be
 * chosen, a penalty for what was read already, the temperature, then the filters
 * top-k, top-p and min-p. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/model.h"

struct candidate {
    float score;
    int32_t id;
};

struct sampler {
    struct sampling how;
    uint64_t state; /* SplitMix64's */
    size_t count;   /* logits */
    /* taken when they are needed first: */
    float *scores; /* [count] with the penalty; NaN: may not be */
    struct candidate *candidates; /* [count] of the filters */
};

/* ERR_USAGE for what makes no sense, ERR_LIMIT; the sampler is then as before.
 * `count`: logits, always the same. */
int sampler_set(struct sampler *sampler, const struct sampling *how,
                size_t count, struct err *err);
void sampler_free(struct sampler *sampler);

/* A token, -1 when there is none: all logits are NaN, or of tokens that may not
 * be chosen.  `read` [read_count]: the ids read so far.  Allocates nothing. */
int32_t sampler_choose(struct sampler *sampler, const float *logits,
                       const int32_t *read, size_t read_count);

/* The index of the largest (the first of equals), -1 when there is none: all
 * are NaN. */
int32_t sample_greedy(const float *logits, size_t count);

/* A draw from softmax(logits / temperature); *state moves on by one.
 * Temperature 0, or too small to tell: the largest. */
int32_t sample_draw(const float *logits, size_t count, double temperature,
                    uint64_t *state);

/* ln softmax(logits)[id]; NaN when the logits are no numbers. */
double sample_log_chance(const float *logits, size_t count, int32_t id);

#endif
