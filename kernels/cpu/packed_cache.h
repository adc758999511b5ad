/* How many copies of weights, in the form in which they are multiplied best, a
 * process keeps: those of small models (all weights together, vocabularies aside, up
 * to 128 MiB as f32, whatever type they are of: a copy of int8 is larger than what it
 * is made of), and of these at most 64 MiB.  Of larger ones each product lays its
 * blocks out anew, so that a model takes not much more memory than its weights.
 * Copies in eight bits (kernel_run.int8) are of encoders and rerankers, and smaller than
 * most of what they are made of: 256 MiB of them, whatever the model. */
#ifndef KERNELS_CPU_PACKED_CACHE_H
#define KERNELS_CPU_PACKED_CACHE_H

#include <stdbool.h>
#include <stddef.h>

/* There is a weight of so many bytes as f32, or no more. */
void packed_cache_weight(size_t bytes);
void packed_cache_weight_gone(size_t bytes);

/* Whether so many bytes more may be kept (int8: in eight bits); if so, they count from
 * now on. */
bool kept_take(size_t bytes, bool int8);
void kept_give(size_t bytes, bool int8);

#endif
