/* Products of many rows, with weights packed in the form in which they are
 * multiplied best.  cpu_dnnl.c does it with oneDNN; cpu_no_dnnl.c, for builds without
 * it (ThreadSanitizer does not understand OpenMP), never. */
#ifndef KERNELS_CPU_CPU_PACKED_H
#define KERNELS_CPU_CPU_PACKED_H

#include "kernels/cpu/cpu_lanes.h"
#include "kernels/ref/ref.h"

/* Rows from which on it is worth it. */
enum { PACKED_MIN_ROWS = 16 };

extern const bool packed_here; /* false: never */

struct packed;

static inline struct lanes_weight lanes_of(const struct kernel_weight *w)
{
    return (struct lanes_weight){w->host, w->scale, w->type};
}

struct packed *packed_new(bool int8);    /* NULL: no memory */
void packed_free(struct packed *packed); /* NULL: ok */

/* As kernels->matmul, m >= PACKED_MIN_ROWS of a weight that is not of blocks; with
 * `int8`, where the processor is cpu_int8, as kernel_run.int8 says, m > 0 of any weight.
 * Packs the weight first when that was not done, or is not kept; of int8 it must be
 * kept.  KERNEL_UNSUPPORTED: `out` is untouched. */
int packed_matmul(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, size_t m, bool int8, bool add);

#endif
