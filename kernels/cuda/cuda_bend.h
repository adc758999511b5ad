/* What bends a value between two products. */
#ifndef KERNELS_CUDA_CUDA_BEND_H
#define KERNELS_CUDA_CUDA_BEND_H

#include "kernels/kernels.h"

#include <cuda_runtime.h>

static __device__ inline float gelu_of(float x)
{
    const float root_half = 0.70710678f;
    return x * 0.5f * erfcf(-x * root_half);
}

/* bend: enum kernel_bend. */
static __device__ inline float bend_value(float x, int bend)
{
    const float twice = 1.5957691f; /* the root of 2 / pi */
    if (bend == KERNEL_GELU)
        return gelu_of(x);
    float slope = bend == KERNEL_SILU ? x : twice * (x + 0.044715f * x * x * x);
    return x / (1 + expf(-slope));
}

#endif
