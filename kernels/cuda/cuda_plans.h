/* Where cuBLASLt's plans lie: a table in which each shape of a product has a few
 * places.  Plain C++, so that the tests see it too. */
#ifndef KERNELS_CUDA_CUDA_PLANS_H
#define KERNELS_CUDA_CUDA_PLANS_H

#include <cstddef>
#include <cstdint>

/* What a way was found for.  An address counts by what it is a multiple of. */
struct matmul_shape {
    int type;
    bool biased, narrow; /* narrow: out in bf16 */
    size_t m, n, k;
    uint32_t out_align, a_align, w_align;
};

constexpr size_t CUDA_PLANS = 1024;
constexpr size_t CUDA_PLAN_PLACES = 4; /* of a shape, side by side */

static inline bool same_shape(const struct matmul_shape *a,
                              const struct matmul_shape *b)
{
    return a->type == b->type && a->biased == b->biased &&
           a->narrow == b->narrow && a->m == b->m && a->n == b->n &&
           a->k == b->k && a->out_align == b->out_align &&
           a->a_align == b->a_align && a->w_align == b->w_align;
}

/* The first of the shape's places.  Sizes of models are multiples of large powers
 * of two: each is multiplied before the next is added, and the upper bits, which all
 * the lower ones reach, count. */
static inline size_t plan_place(const struct matmul_shape *s)
{
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    const uint64_t parts[] = {s->m,
                              s->n,
                              s->k,
                              s->out_align + (s->narrow ? 1u << 16 : 0),
                              s->a_align,
                              s->w_align,
                              2 * static_cast<uint64_t>(s->type) + s->biased};
    uint64_t hash = 0;
    for (uint64_t part : parts) {
        hash = (hash ^ part) * odd;
        hash ^= hash >> 32;
    }
    return static_cast<size_t>(hash * odd >> 32) %
           (CUDA_PLANS / CUDA_PLAN_PLACES) * CUDA_PLAN_PLACES;
}

#endif
