/* Stands in for cuBLASLt, which may be missing. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_plans.h"
#include "tests/cuda/emulated.h"

static bool is_missing;

extern "C" void emulated_without_blas(bool missing)
{
    is_missing = missing;
}

static float value_of(const void *values, int type, size_t at)
{
    if (type == KERNEL_BF16)
        return __uint_as_float(
            static_cast<unsigned>(static_cast<const uint16_t *>(values)[at])
            << 16);
    return static_cast<const float *>(values)[at];
}

int cuda_blas_matmul(struct kernel_run *, float *out, const void *a,
                      const void *w, const float *bias, int type, size_t m,
                      size_t n, size_t k, bool add)
{
    if (is_missing || k % 2 || (bias && k % 3)) /* or ways that it does not know */
        return KERNEL_UNSUPPORTED;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            float sum = bias ? bias[j] : 0;
            for (size_t l = 0; l < k; l++)
                sum +=
                    value_of(a, type, i * k + l) * value_of(w, type, j * k + l);
            out[i * n + j] = add ? out[i * n + j] + sum : sum;
        }
    return KERNEL_OK;
}

const char *cuda_blas_lacks()
{
    return is_missing ? "libcublasLt.so.13 is not found" : nullptr;
}

extern "C" size_t emulated_plan_place(size_t m, size_t n, size_t k)
{
    const struct matmul_shape shape = {KERNEL_BF16, false, m, n, k, 256, 256,
                                       256};
    return plan_place(&shape);
}
