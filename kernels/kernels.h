/* Kernels: one table of operations, filled by each backend.
 *
 * Operations take raw pointers, sizes and a `struct kernel_run`; they open no
 * file, write no log, keep no state beyond the table's own device context.
 * Matrices are row-major and dense, shapes are written [rows, columns].
 * Activations are f32; weights are f32 or bf16 as they lie in the file.
 *
 * `ref` is plain C with double accumulators: the oracle of all others.  `cpu`
 * starts as a copy of it and overrides what is worth it.  `cuda` lives on a
 * device: every pointer it takes, but those named `host`, points there.
 *
 * Every entry of every table can be called.  Functions return 0, or a negative
 * `enum kernel_error`; outputs are then unspecified.  An operation that a
 * backend does not have yet returns KERNEL_UNSUPPORTED and touches nothing: it
 * is never done elsewhere behind the caller's back.
 *
 * One run serves one thread at a time.  Weights may be shared between runs.
 * Outputs overlap no input unless said; a size of 0 rows does nothing. */
#ifndef KERNELS_KERNELS_H
#define KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kernel_error {
    KERNEL_OK = 0,
    KERNEL_NO_MEMORY = -1,   /* here or on the device; the caller survives,
                                unless it was oneDNN that got none: that may
                                end the process */
    KERNEL_UNSUPPORTED = -2, /* this backend cannot, or not at these sizes */
    KERNEL_FAILED = -3       /* the library or the device said no */
};

enum kernel_type { KERNEL_F32, KERNEL_BF16 };
static inline size_t kernel_type_size(int type)
{
    return type == KERNEL_BF16 ? 2 : 4;
}

/* Work shared out over the caller's threads: body(argument, from, to) is called
 * for ranges that cover [0, count) once; returns when all are done.  A NULL
 * function: everything runs in the caller. */
struct kernel_pool {
    void *context;
    void (*parallel_for)(void *context, size_t count,
                         void (*body)(void *argument, size_t from, size_t to),
                         void *argument);
    unsigned threads;
};

struct kernel_run {
    struct kernel_pool pool;
    void *stream; /* cuda: cudaStream_t */
};

/* A weight matrix [n, k] in the form in which a backend multiplies by it. */
struct kernel_weight;

struct kernels {
    const char *name; /* "ref", "cpu", "cuda" */

    /* ---- Memory of the device (ref, cpu: the process's own) ---- */

    void *(*allocate)(struct kernel_run *run, size_t bytes); /* NULL: none */
    void (*release)(struct kernel_run *run, void *memory);   /* NULL: ok */
    int (*upload)(struct kernel_run *run, void *to, const void *host,
                  size_t bytes);
    /* Waits until all that was asked for before is done. */
    int (*download)(struct kernel_run *run, void *host, const void *from,
                    size_t bytes);

    /* ---- Products ---- */

    /* `host` [n, k] of `type` must stay where it is until weight_free; the
     * backend may use it in place, or keep a packed copy (cpu: from the first
     * product of 16 rows or more on).  `host` may be unaligned. */
    int (*weight)(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret);
    void (*weight_free)(struct kernel_run *run, struct kernel_weight *weight);

    /* out [m, n] = a [m, k] . w^T (+ out when `add`).  Where the hardware gains
     * by it, products of many rows with a bf16 weight round `a` to bf16 too. */
    int (*product)(struct kernel_run *run, float *out, const float *a,
                   const struct kernel_weight *w, size_t m, bool add);

    /* ---- The transformer ---- */

    /* out [m, k] = rows of w [n, k]; row [m] on the host, each < n. */
    int (*gather)(struct kernel_run *run, float *out,
                  const struct kernel_weight *w, const int32_t *host_row,
                  size_t m);

    /* out [m, d] = x / sqrt(mean(x^2) + eps) * weight [d]; out may be x. */
    int (*rms_norm)(struct kernel_run *run, float *out, const float *x,
                    const float *weight, size_t m, size_t d, float eps);

    /* out [m, d] = (x - mean) / sqrt(variance + eps) * weight [d] + bias [d],
     * the variance over d, not d - 1; out may be x. */
    int (*layer_norm)(struct kernel_run *run, float *out, const float *x,
                      const float *weight, const float *bias, size_t m,
                      size_t d, float eps);

    /* x [m, h, d], in place, rotate-half layout: pair (i, i + d/2) turns by
     * position * frequency[i].  host_position [m], host_frequency [d/2]
     * (double: in float32 the angles of late positions are wrong). */
    int (*rotary)(struct kernel_run *run, float *x,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t h, size_t d);

    /* Causal attention of m new queries over n keys, the last m of which are
     * their own (m <= n): query i sees keys [0, n - m + i], and of these only the last
     * `window` when window > 0.  out, q [m, hq, d]; k, v [n, hkv, d]; hq is a
     * multiple of hkv; scores are times 1/sqrt(d). */
    int (*attention)(struct kernel_run *run, float *out, const float *q,
                     const float *k, const float *v, size_t m, size_t n,
                     size_t hq, size_t hkv, size_t d, size_t window);

    /* The same where every query sees all n keys (encoders); any m. */
    int (*attention_all)(struct kernel_run *run, float *out, const float *q,
                         const float *k, const float *v, size_t m, size_t n,
                         size_t hq, size_t hkv, size_t d);

    /* out [count] = silu(gate) * up; out may be either. */
    int (*swiglu)(struct kernel_run *run, float *out, const float *gate,
                  const float *up, size_t count);

    /* x [m, n] = gelu(x + bias [n]), with the error function, not its tanh
     * approximation. */
    int (*gelu)(struct kernel_run *run, float *x, const float *bias, size_t m,
                size_t n);

    /* x [count] += y. */
    int (*add)(struct kernel_run *run, float *x, const float *y, size_t count);

    /* Each row of x [m, n] += bias [n]. */
    int (*add_bias)(struct kernel_run *run, float *x, const float *bias,
                    size_t m, size_t n);

    /* x [count] *= factor. */
    int (*scale)(struct kernel_run *run, float *x, float factor, size_t count);

    /* ---- Memories (H2MT 2.2) ---- */

    /* Recall over n >= 1 memories (HMT; H2MT eq. in 2.2.2): out [d] =
     * softmax((q wq)(memory wk)^T / sqrt(p)) memory.  q [d], memory [n, d],
     * wq, wk [d, p]. */
    int (*recall)(struct kernel_run *run, float *out, const float *q,
                  const float *memory, const float *wq, const float *wk,
                  size_t n, size_t d, size_t p);

    /* Aggregation of n >= 1 children [n, d] (H2MT 2.2.3): the mean. */
    int (*pool_mean)(struct kernel_run *run, float *out, const float *children,
                     size_t n, size_t d);

    /* Attention pooling: A = softmax(C wq (C wk)^T / sqrt(p)), diagonal masked
     * when n > 1; weight_j = sum_i A_ij / n; out [d] = weight . C.
     * weight [n]; wq, wk [d, p], both NULL: tau cos(C_i, C_j) as scores, the
     * cosine with a vector of zeros being 0. */
    int (*pool_attention)(struct kernel_run *run, float *out, float *weight,
                          const float *children, const float *wq,
                          const float *wk, float tau, size_t n, size_t d,
                          size_t p);

    /* Landmark pooling (HiLS Prop. 3.1 on the tree): weight_j proportional to
     * exp(tau C_j . proxy + bias_j); out [d] = weight . C, ret_bias [1] =
     * weight . (bias - ln weight), where 0 ln 0 = 0. */
    int (*pool_landmark)(struct kernel_run *run, float *out, float *ret_bias,
                         const float *children, const float *bias,
                         const float *proxy, float tau, size_t n, size_t d);
};

const struct kernels *kernels_ref(void);
const struct kernels *kernels_cpu(void);
/* NULL when there is no device, or the program was built without nvcc;
 * *ret_reason says which. */
const struct kernels *kernels_cuda(const char **ret_reason);

#ifdef __cplusplus
}
#endif

#endif
