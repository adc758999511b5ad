#include "kernels/cpu/cpu_packed.h"

#include <stdlib.h>

const bool packed_here = false;

struct packed {
    int nothing;
};

struct packed *packed_new(bool int8)
{
    (void)int8;
    return calloc(1, sizeof(struct packed));
}

void packed_free(struct packed *packed)
{
    free(packed);
}

int packed_matmul(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, size_t m, bool int8, bool add)
{
    (void)run, (void)out, (void)a, (void)w, (void)m, (void)int8, (void)add;
    return KERNEL_UNSUPPORTED;
}
