/* Choosing a token from logits. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* The index of the largest (the first of equals), -1 when there is none: all
 * are NaN. */
int32_t sample_greedy(const float *logits, size_t count);

/* A draw from softmax(logits / temperature); *state is SplitMix64's, and moves
 * on by one.  Temperature 0, or too small to tell: the largest. */
int32_t sample_draw(const float *logits, size_t count, double temperature,
                    uint64_t *state);

/* ln softmax(logits)[id]; NaN when the logits are no numbers. */
double sample_log_chance(const float *logits, size_t count, int32_t id);

#endif
