/* What bends a value between two products. */
#ifndef KERNELS_CUDA_CUDA_BEND_H
#define KERNELS_CUDA_CUDA_BEND_H

#include "kernels/kernels.h"

#include "kernels/cuda/cuda_fragments.h"

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

/* gelu_of to about 1e-6 of x: the error function by Abramowitz and Stegun 7.1.26. */
static __device__ inline float gelu_near(float x)
{
    const float z = fabsf(x) * 0.70710678f;
    const float t = reciprocal_near(1 + 0.3275911f * z);
    float rest = 1.061405429f;
    rest = rest * t - 1.453152027f;
    rest = rest * t + 1.421413741f;
    rest = rest * t - 0.284496736f;
    rest = rest * t + 0.254829592f;
    rest *= 0.5f * t * exp2_near(-1.44269504f * z * z); /* of the tail beyond */
    return x * (x < 0 ? rest : 1 - rest);
}

/* bend_value to about 2^-18 of x, where what comes is rounded to bf16. */
static __device__ inline float bend_near(float x, int bend)
{
    const float twice = 1.5957691f; /* the root of 2 / pi */
    if (bend == KERNEL_GELU)
        return gelu_near(x);
    float slope = bend == KERNEL_SILU ? x : twice * (x + 0.044715f * x * x * x);
    return x * reciprocal_near(1 + exp2_near(-1.44269504f * slope));
}

#endif
