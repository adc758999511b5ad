/* cuBLASLt, opened at run time: a program that finds no device, or no such
 * library, does without. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_plans.h"

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
    cublasLtHandle_t handles[CUDA_STREAMS];
};

struct library blas;
bool found;

template <typename T> bool find(void *file, const char *name, T *ret)
{
    *ret = reinterpret_cast<T>(dlsym(file, name));
    return *ret != nullptr;
}

/* Where the loader looks, and CUDA's own folders. */
const char *const PLACES[] = {
    "libcublasLt.so.13",
    "/usr/local/cuda/lib64/libcublasLt.so.13",
    "/usr/local/cuda-13/lib64/libcublasLt.so.13",
    "/usr/local/cuda/targets/x86_64-linux/lib/libcublasLt.so.13",
    "/usr/local/cuda/targets/sbsa-linux/lib/libcublasLt.so.13",
};

void open()
{
    void *file = nullptr;
    for (const char *place : PLACES)
        file = file ? file : dlopen(place, RTLD_NOW | RTLD_LOCAL);
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
        blas.create(&blas.handles[CUDA_ANSWERS]) == CUBLAS_STATUS_SUCCESS &&
        blas.create(&blas.handles[CUDA_BACKGROUND]) == CUBLAS_STATUS_SUCCESS;
}

uint32_t alignment_of(const void *at)
{
    uint32_t bytes = 256;
    while (reinterpret_cast<uintptr_t>(at) % bytes)
        bytes /= 2;
    return bytes;
}

/* What describes one product, and the library's way to do it.  The library
 * counts columns first: it sees the transposes of our matrices, out^T =
 * op(w^T) . a^T, and a bias of out's rows is one of its columns. */
struct plan {
    struct matmul_shape shape;
    uint64_t used; /* when, as its plans count */
    bool known;    /* a way was looked for */
    bool possible; /* and found */
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t w, a, out;
    cublasLtMatmulHeuristicResult_t way;
};

/* Asking takes as long as many products: each shape asks once, until another
 * takes its place.  Under `lock`, also while a plan is used: each stream has its own,
 * so that the thread of one does not wait while another's asks. */
struct plans {
    struct plan of[CUDA_PLANS];
    uint64_t now;
};

struct plans all_plans[CUDA_STREAMS];
pthread_mutex_t locks[CUDA_STREAMS] = {PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER};

void forget(struct plan *p)
{
    if (p->out)
        blas.layout_destroy(p->out);
    if (p->a)
        blas.layout_destroy(p->a);
    if (p->w)
        blas.layout_destroy(p->w);
    if (p->desc)
        blas.desc_destroy(p->desc);
    *p = {};
}

bool lay_out(cublasLtMatrixLayout_t *ret, cudaDataType_t type, size_t rows,
             size_t columns)
{
    return blas.layout_create(ret, type, rows, columns,
                              static_cast<int64_t>(rows)) ==
           CUBLAS_STATUS_SUCCESS;
}

template <typename T>
bool describe(struct plan *p, cublasLtMatmulDescAttributes_t which,
              const T &value)
{
    return blas.desc_set(p->desc, which, &value, sizeof value) ==
           CUBLAS_STATUS_SUCCESS;
}

template <typename T>
bool prefer(cublasLtMatmulPreference_t preference,
            cublasLtMatmulPreferenceAttributes_t which, const T &value)
{
    return blas.preference_set(preference, which, &value, sizeof value) ==
           CUBLAS_STATUS_SUCCESS;
}

bool choose(cublasLtHandle_t handle, struct plan *p)
{
    const struct matmul_shape *s = &p->shape;
    cublasLtMatmulPreference_t preference = nullptr;
    int count = 0;
    bool found_way =
        blas.preference_create(&preference) == CUBLAS_STATUS_SUCCESS &&
        prefer(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
               WORKSPACE) &&
        prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
               s->w_align) &&
        prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
               s->a_align) &&
        prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
               s->out_align) &&
        prefer(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
               s->out_align) &&
        blas.heuristic(handle, p->desc, p->w, p->a, p->out, p->out,
                       preference, 1, &p->way,
                       &count) == CUBLAS_STATUS_SUCCESS &&
        count > 0;
    if (preference)
        blas.preference_destroy(preference);
    return found_way;
}

bool prepare(cublasLtHandle_t handle, struct plan *p)
{
    const struct matmul_shape *s = &p->shape;
    cudaDataType_t in = s->type == KERNEL_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    cudaDataType_t out = s->narrow ? CUDA_R_16BF : CUDA_R_32F;
    return blas.desc_create(&p->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
               CUBLAS_STATUS_SUCCESS &&
           describe(p, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T) &&
           (!s->biased ||
            (describe(p, CUBLASLT_MATMUL_DESC_EPILOGUE,
                      CUBLASLT_EPILOGUE_BIAS) &&
             describe(p, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F))) &&
           lay_out(&p->w, in, s->k, s->n) && lay_out(&p->a, in, s->k, s->m) &&
           lay_out(&p->out, out, s->n, s->m) && choose(handle, p);
}

/* The shape's, or of its places the one that was used longest ago.  With the
 * lock. */
struct plan *plan_for(unsigned stream, const struct matmul_shape *shape)
{
    struct plans *plans = &all_plans[stream];
    struct plan *places = &plans->of[plan_place(shape)], *p = places;
    for (size_t i = 0; i < CUDA_PLAN_PLACES; i++) {
        if (places[i].known && same_shape(&places[i].shape, shape)) {
            places[i].used = ++plans->now;
            return &places[i];
        }
        if (places[i].used < p->used)
            p = &places[i];
    }
    forget(p);
    p->shape = *shape;
    p->possible = prepare(blas.handles[stream], p);
    p->known = true;
    p->used = ++plans->now;
    return p;
}

int multiply(struct kernel_run *run, struct plan *p, void *out, const void *a,
             const void *w, const float *bias, bool add)
{
    const float one = 1, before = add ? 1.0f : 0.0f;
    if (!p->possible ||
        (bias && !describe(p, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias)))
        return KERNEL_UNSUPPORTED;
    cuda_workspace room(run);
    void *workspace = room.take<char>(p->way.workspaceSize);
    if (!workspace)
        return KERNEL_NO_MEMORY;
    if (blas.matmul(blas.handles[cuda_stream_number(run)], p->desc, &one, w, p->w, a, p->a, &before, out,
                    p->out, out, p->out, &p->way.algo, workspace,
                    p->way.workspaceSize,
                    cuda_stream(run)) == CUBLAS_STATUS_SUCCESS)
        return KERNEL_OK;
    int code = cuda_code(cudaGetLastError());
    return code ? code : KERNEL_FAILED;
}

}  // namespace

const char *cuda_blas_lacks()
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open);
    return found ? nullptr
                 : "libcublasLt.so.13 is not found (LD_LIBRARY_PATH): products "
                   "of 16 rows and more are many times slower";
}

int cuda_blas_matmul(struct kernel_run *run, void *out, bool narrow,
                     const void *a, const void *w, const float *bias, int type,
                     size_t m, size_t n, size_t k, bool add)
{
    const struct matmul_shape shape = {type,
                                bias != nullptr,
                                narrow,
                                m,
                                n,
                                k,
                                alignment_of(out),
                                alignment_of(a),
                                alignment_of(w)};
    if (cuda_blas_lacks())
        return KERNEL_UNSUPPORTED;
    unsigned stream = cuda_stream_number(run);
    pthread_mutex_lock(&locks[stream]);
    int code = multiply(run, plan_for(stream, &shape), out, a, w, bias, add);
    pthread_mutex_unlock(&locks[stream]);
    return code;
}
