/* Products with weights in blocks, as they lie (blocks.h). */
#ifndef KERNELS_CPU_CPU_BLOCKS_H
#define KERNELS_CPU_CPU_BLOCKS_H

#include "kernels/ref/ref.h"

/* As kernels->matmul, for few rows m: reads w once. */
int cpu_blocks_matmul(struct kernel_run *run, float *out, const float *a,
                      const struct kernel_weight *w, size_t m, bool add);

#endif
