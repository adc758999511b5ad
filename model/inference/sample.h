/* Choosing a token from logits, as transformers does: among those that may be
 * chosen, a penalty for what was read already, the temperature, then the filters
 * top-k, top-p and min-p.  A draw goes through what is left, the likeliest
 * first.
 *
 * The likeliest alone (kernels.h) mostly tell; where they do not, all logits
 * are asked for, and tell the same, but for rounding. */
#ifndef MODEL_INFERENCE_SAMPLE_H
#define MODEL_INFERENCE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "kernels/kernels.h"
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
    struct candidate *candidates; /* [count], to draw from */
};

/* ERR_USAGE for what makes no sense, ERR_LIMIT; the sampler is then as before.
 * `count`: logits, always the same. */
int sampler_set(struct sampler *sampler, const struct sampling *how,
                size_t count, struct err *err);
void sampler_free(struct sampler *sampler);

/* The `beta` of the likeliest that it chooses from. */
float sampler_beta(const struct sampler *sampler);

/* A token of the likeliest; SAMPLER_ALL, and the sampler is as before: they do
 * not tell.  Allocates nothing. */
enum { SAMPLER_ALL = -2 };
int32_t sampler_choose_top_k(struct sampler *sampler,
                             const struct kernel_top_k *list);

/* A token, -1 when there is none: all logits are NaN, or of tokens that may not
 * be chosen.  `read` [read_count]: the ids read so far.  Allocates nothing. */
int32_t sampler_choose(struct sampler *sampler, const float *logits,
                       const int32_t *read, size_t read_count);

/* ln softmax(logits) of a token with this logit, from what the likeliest say of
 * all; NaN when the logits are no numbers. */
double sample_logprob(const struct kernel_top_k *top_k, float logit);

#endif
