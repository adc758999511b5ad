/* Stands in for cuBLASLt, which may be missing. */
#include "kernels/cuda/cuda_device.h"
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

struct matmul {
    void *out; /* of bf16 where `narrow` */
    bool narrow;
    const void *a, *w;
    const float *bias;
    int type;
    size_t m, n, k;
    bool add;
};

static void multiply(const struct matmul *x)
{
    for (size_t i = 0; i < x->m; i++)
        for (size_t j = 0; j < x->n; j++) {
            const size_t at = i * x->n + j;
            auto *wide = static_cast<float *>(x->out);
            float sum = x->bias ? x->bias[j] : 0;
            for (size_t l = 0; l < x->k; l++)
                sum += value_of(x->a, x->type, i * x->k + l) *
                       value_of(x->w, x->type, j * x->k + l);
            if (x->narrow)
                static_cast<uint16_t *>(x->out)[at] = to_bf16(sum);
            else
                wide[at] = x->add ? wide[at] + sum : sum;
        }
}

int cuda_blas_matmul(struct kernel_run *run, void *out, bool narrow,
                     const void *a, const void *w, const float *bias, int type,
                     size_t m, size_t n, size_t k, bool add)
{
    if (is_missing || k % 2 || (bias && k % 3)) /* or ways that it does not know */
        return KERNEL_UNSUPPORTED;
    struct matmul matmul = {out, narrow, a, w, bias, type, m, n, k, add};
    emulated_ask(
        cuda_stream(run),
        [](void *of, void *) { multiply(static_cast<struct matmul *>(of)); },
        &matmul, sizeof matmul);
    return KERNEL_OK;
}

const char *cuda_blas_lacks()
{
    return is_missing ? "libcublasLt.so.13 is not found" : nullptr;
}

extern "C" size_t emulated_plan_place(size_t m, size_t n, size_t k)
{
    const struct matmul_shape shape = {KERNEL_BF16, false, false, m, n, k,
                                       256,         256,   256};
    return plan_place(&shape);
}
