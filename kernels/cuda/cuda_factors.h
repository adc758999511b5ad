/* Weights that few rows are multiplied by, as kernels get them. */
#ifndef KERNELS_CUDA_CUDA_FACTORS_H
#define KERNELS_CUDA_CUDA_FACTORS_H

#include "kernels/cuda/cuda_device.h"

#include "kernels/kernels.h"

/* A weight that rows are multiplied by, and how. */
struct factor {
    float *out;
    const void *w;
    const float *bias;
    size_t n;
    const float *plus; /* [m, n]; may be out; nullptr: nothing is added */
    unsigned blocks;   /* of this one and those before, in the grid */
    unsigned share;    /* warps that share an output's k; not of blocks */
    int type;
};

/* Up to so many by one launch, whose blocks they share. */
struct factors {
    struct factor of[KERNEL_MAX_PRODUCTS];
};

struct factor_pair {
    struct factor of[2];
};

/* The rows; with a norm each product is times what makes their norm 1. */
struct factor_rows {
    const float *x, *norm;
    float eps;
    size_t m, k;
};

/* Of a weight that is not in blocks: the device has f32 and bf16. */
static __device__ inline size_t number_bytes(int type)
{
    return type == KERNEL_BF16 ? sizeof(uint16_t) : sizeof(float);
}

static __device__ inline float value_of(const void *w, int type, size_t at)
{
    return type == KERNEL_BF16 ? from_bf16(static_cast<const uint16_t *>(w)[at])
                               : static_cast<const float *>(w)[at];
}

#endif
