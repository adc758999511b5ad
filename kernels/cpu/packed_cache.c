#include "kernels/cpu/packed_cache.h"

#include <stdatomic.h>

enum {
    LARGE = (4 << 20) / sizeof(float), /* numbers: 1024 x 1024 */
    MAX_KEPT = 64 << 20
};

static atomic_size_t kept; /* bytes of all copies */

bool kept_take(const struct kernel_weight *w, size_t bytes)
{
    if (w->n >= LARGE / (w->k ? w->k : 1))
        return false;
    if (atomic_fetch_add(&kept, bytes) + bytes <= MAX_KEPT)
        return true;
    atomic_fetch_sub(&kept, bytes);
    return false;
}

void kept_give(size_t bytes)
{
    atomic_fetch_sub(&kept, bytes);
}
