/* How many copies of weights, in the form in which they are multiplied best, a
 * process keeps: of matrices of less than 2^20 numbers, which are those of small
 * models, and of these at most 64 MiB.  Of larger ones each product lays its blocks
 * out anew, so that a model takes not much more memory than its weights. */
#ifndef KERNELS_CPU_PACKED_CACHE_H
#define KERNELS_CPU_PACKED_CACHE_H

#include "kernels/ref/ref.h"

/* Whether a copy of so many bytes may be kept of it; if so, they count from now
 * on. */
bool kept_take(const struct kernel_weight *w, size_t bytes);
void kept_give(size_t bytes);

#endif
