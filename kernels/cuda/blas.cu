/* cuBLASLt, opened at run time: a program that finds no device, or no such
 * library, does without. */
#include "kernels/cuda/cuda.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <pthread.h>

namespace
{

constexpr size_t WORKSPACE = 32 << 20;

struct library {
    decltype(&cublasLtCreate) create;
    decltype(&cublasLtMatmulDescCreate) desc_create;
    decltype(&cublasLtMatmulDescDestroy) desc_destroy;
    decltype(&cublasLtMatmulDescSetAttribute) desc_set;
    decltype(&cublasLtMatrixLayoutCreate) layout_create;
    decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
    decltype(&cublasLtMatmulPreferenceCreate) preference_create;
    decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
    decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
    decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
    decltype(&cublasLtMatmul) matmul;
    cublasLtHandle_t handle;
};

struct library blas;
bool found;

template <typename T> bool find(void *file, const char *name, T *ret)
{
    *ret = reinterpret_cast<T>(dlsym(file, name));
    return *ret != nullptr;
}

void open()
{
    void *file = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_LOCAL);
    if (!file)
        file = dlopen("/usr/local/cuda/lib64/libcublasLt.so.13",
                      RTLD_NOW | RTLD_LOCAL);
    found =
        file && find(file, "cublasLtCreate", &blas.create) &&
        find(file, "cublasLtMatmulDescCreate", &blas.desc_create) &&
        find(file, "cublasLtMatmulDescDestroy", &blas.desc_destroy) &&
        find(file, "cublasLtMatmulDescSetAttribute", &blas.desc_set) &&
        find(file, "cublasLtMatrixLayoutCreate", &blas.layout_create) &&
        find(file, "cublasLtMatrixLayoutDestroy", &blas.layout_destroy) &&
        find(file, "cublasLtMatmulPreferenceCreate", &blas.preference_create) &&
        find(file, "cublasLtMatmulPreferenceDestroy",
             &blas.preference_destroy) &&
        find(file, "cublasLtMatmulPreferenceSetAttribute",
             &blas.preference_set) &&
        find(file, "cublasLtMatmulAlgoGetHeuristic", &blas.heuristic) &&
        find(file, "cublasLtMatmul", &blas.matmul) &&
        blas.create(&blas.handle) == CUBLAS_STATUS_SUCCESS;
}

/* What describes one product.  The library counts columns first: it sees the
 * transposes of our matrices, out^T = op(w^T) . a^T. */
struct plan {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t w = nullptr, a = nullptr, out = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulHeuristicResult_t way = {};

    plan() = default;
    plan(const plan &) = delete;
    plan &operator=(const plan &) = delete;
    ~plan()
    {
        if (preference)
            blas.preference_destroy(preference);
        if (out)
            blas.layout_destroy(out);
        if (a)
            blas.layout_destroy(a);
        if (w)
            blas.layout_destroy(w);
        if (desc)
            blas.desc_destroy(desc);
    }

    bool layout(cublasLtMatrixLayout_t *ret, cudaDataType_t type, size_t rows,
                size_t columns)
    {
        return blas.layout_create(ret, type, rows, columns,
                                  static_cast<int64_t>(rows)) ==
               CUBLAS_STATUS_SUCCESS;
    }

    /* The address's alignment is part of what the library is asked. */
    bool align(cublasLtMatmulPreferenceAttributes_t which, const void *at)
    {
        uint32_t bytes = 256;
        while (reinterpret_cast<uintptr_t>(at) % bytes)
            bytes /= 2;
        return blas.preference_set(preference, which, &bytes, sizeof bytes) ==
               CUBLAS_STATUS_SUCCESS;
    }

    bool prepare(const void *out_at, const void *a_at, const void *w_at,
                 int type, size_t m, size_t n, size_t k)
    {
        const cublasOperation_t across = CUBLAS_OP_T;
        const size_t workspace = WORKSPACE;
        cudaDataType_t in = type == KERNEL_BF16 ? CUDA_R_16BF : CUDA_R_32F;
        int count = 0;
        return blas.desc_create(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
                   CUBLAS_STATUS_SUCCESS &&
               blas.desc_set(desc, CUBLASLT_MATMUL_DESC_TRANSA, &across,
                             sizeof across) == CUBLAS_STATUS_SUCCESS &&
               layout(&w, in, k, n) && layout(&a, in, k, m) &&
               layout(&out, CUDA_R_32F, n, m) &&
               blas.preference_create(&preference) == CUBLAS_STATUS_SUCCESS &&
               blas.preference_set(
                   preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                   &workspace, sizeof workspace) == CUBLAS_STATUS_SUCCESS &&
               align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, w_at) &&
               align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a_at) &&
               align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, out_at) &&
               align(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out_at) &&
               blas.heuristic(blas.handle, desc, w, a, out, out, preference, 1,
                              &way, &count) == CUBLAS_STATUS_SUCCESS &&
               count > 0;
    }
};

}  // namespace

int cuda_blas_product(struct kernel_run *run, float *out, const void *a,
                      const void *w, int type, size_t m, size_t n, size_t k,
                      bool add)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const float one = 1, before = add ? 1.0f : 0.0f;
    struct plan plan;
    pthread_once(&once, open);
    if (!found || !plan.prepare(out, a, w, type, m, n, k))
        return KERNEL_UNSUPPORTED;
    cuda_room room(run);
    void *workspace = room.take<char>(plan.way.workspaceSize);
    if (!workspace)
        return KERNEL_NO_MEMORY;
    return blas.matmul(blas.handle, plan.desc, &one, w, plan.w, a, plan.a,
                       &before, out, plan.out, out, plan.out, &plan.way.algo,
                       workspace, plan.way.workspaceSize,
                       cuda_stream(run)) == CUBLAS_STATUS_SUCCESS
               ? KERNEL_OK
               : KERNEL_FAILED;
}
