#include "kernels/cpu/packed_cache.h"

#include <stdatomic.h>

enum { SMALL = 128 << 20, MAX_KEPT = 64 << 20, MAX_INT8 = 256 << 20 };

/* Bytes of all weights there are, as f32, and of their copies. */
static atomic_size_t weights, kept[2];

void packed_cache_weight(size_t bytes)
{
    atomic_fetch_add(&weights, bytes);
}

void packed_cache_weight_gone(size_t bytes)
{
    atomic_fetch_sub(&weights, bytes);
}

bool kept_take(size_t bytes, bool int8)
{
    size_t max = int8 ? MAX_INT8 : MAX_KEPT;
    if (!int8 && atomic_load(&weights) > SMALL)
        return false;
    if (atomic_fetch_add(&kept[int8], bytes) + bytes <= max)
        return true;
    atomic_fetch_sub(&kept[int8], bytes);
    return false;
}

void kept_give(size_t bytes, bool int8)
{
    atomic_fetch_sub(&kept[int8], bytes);
}
