#include "kernels/cpu/packed_cache.h"

#include <stdatomic.h>

enum { SMALL = 128 << 20, MAX_KEPT = 64 << 20 };

/* Bytes of all weights there are, as f32, and of their copies. */
static atomic_size_t weights, kept;

void packed_cache_weight(size_t bytes)
{
    atomic_fetch_add(&weights, bytes);
}

void packed_cache_weight_gone(size_t bytes)
{
    atomic_fetch_sub(&weights, bytes);
}

bool kept_take(size_t bytes)
{
    if (atomic_load(&weights) > SMALL)
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
