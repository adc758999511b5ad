/* What the backends on the processor share. */
#ifndef KERNELS_REF_REF_H
#define KERNELS_REF_REF_H

#include <string.h>

#include "kernels/kernels.h"

struct kernel_weight {
    const void *host; /* [n, k], the caller's */
    int type;         /* enum kernel_type */
    size_t n, k;
    struct packed *packed; /* cpu: its own copy, see cpu/packed.h; else NULL */
};

/* bf16 is the upper half of an f32. */
static inline float ref_from_bf16(uint16_t value)
{
    uint32_t bits = (uint32_t)value << 16;
    float result;
    memcpy(&result, &bits, sizeof result);
    return result;
}

/* Rounds to the nearest, ties to even; a NaN stays one. */
static inline uint16_t ref_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    bits += 0x7FFFu + (bits >> 16 & 1u);
    return (uint16_t)(bits >> 16);
}

/* Where a weight's row `row` lies; nowhere aligned. */
static inline const char *ref_weight_row(const struct kernel_weight *w,
                                         size_t row)
{
    return (const char *)w->host + row * w->k * kernel_type_size(w->type);
}

/* Its value i. */
static inline float ref_weight_at(const struct kernel_weight *w, size_t row,
                                  size_t i)
{
    const char *at = ref_weight_row(w, row) + i * kernel_type_size(w->type);
    uint16_t half;
    float value;
    if (w->type == KERNEL_BF16) {
        memcpy(&half, at, sizeof half);
        return ref_from_bf16(half);
    }
    memcpy(&value, at, sizeof value);
    return value;
}

/* The operations, filled in by the files of this folder. */
void ref_fill_memory(struct kernels *table);
void ref_fill_products(struct kernels *table);
void ref_fill_transformer(struct kernels *table);
void ref_fill_memories(struct kernels *table);

#endif
