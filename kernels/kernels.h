/* Kernels: one table of operations, filled by each backend.
 *
 * Operations take raw pointers, sizes and a `struct kernel_run`; they open no
 * file, write no log, keep no state beyond the table's own device context.
 * Matrices are row-major and dense, shapes are written [rows, columns].
 * Activations are f32; weights are f32, bf16, f16, int8 with a scale for each
 * row, or blocks of a few bits a weight (blocks.h), as they lie in the file.
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
    KERNEL_NO_MEMORY = -1,    /* here or on the device; the caller survives,
                                unless it was oneDNN that got none: that may
                                end the process */
    KERNEL_UNSUPPORTED = -2,  /* this backend cannot, or not at these sizes */
    KERNEL_FAILED = -3,       /* the library said no */
    KERNEL_DEVICE_FAILED = -4 /* the device failed (`lost` says how): nothing of
                                it can be used before the process ends */
};

enum kernel_type {
    KERNEL_F32,
    KERNEL_BF16,
    KERNEL_F16,  /* IEEE 754 binary16 */
    KERNEL_INT8, /* with a scale: see kernel_int8 */
    KERNEL_Q4_0, /* this and those below: blocks.h; a row is of whole blocks */
    KERNEL_Q4_1,
    KERNEL_Q5_0,
    KERNEL_Q5_1,
    KERNEL_Q8_0,
    KERNEL_IQ4_NL,
    KERNEL_Q2_K, /* this and those below: of 256 */
    KERNEL_Q3_K,
    KERNEL_Q4_K,
    KERNEL_Q5_K,
    KERNEL_Q6_K,
    KERNEL_IQ4_XS
};
enum {
    KERNEL_TYPES = KERNEL_INT8 + 1, /* of numbers */
    KERNEL_ALL_TYPES = KERNEL_IQ4_XS + 1
};
static inline bool kernel_is_blocks(int type)
{
    return type > KERNEL_INT8;
}
/* Bytes of a number; not of blocks. */
static inline size_t kernel_type_size(int type)
{
    return type == KERNEL_F32 ? 4 : type == KERNEL_INT8 ? 1 : 2;
}

/* Bytes of a row of keys or values [d] in pages of a type, its scales among them. */
enum { KERNEL_PAGE_GROUP = 32 /* numbers that share a scale */ };
static inline size_t kernel_page_row_bytes(int type, size_t d)
{
    size_t groups = (d + KERNEL_PAGE_GROUP - 1) / KERNEL_PAGE_GROUP;
    return d * kernel_type_size(type) + (type == KERNEL_INT8 ? 4 * groups : 0);
}

/* Weights of eight bits: weight (i, j) is scale[i] * rows[i k + j]. */
struct kernel_int8 {
    const int8_t *rows; /* [n, k] */
    const float *scale; /* [n], aligned */
};

/* Threads that share the work.  parallel_for calls body(argument, from, to) for ranges
 * that cover [0, count) once and returns when all are done; NULL: everything runs in
 * the caller.  A body takes up to 1.6 MB of stack: 2 MB a thread, the caller's too,
 * are enough. */
struct kernel_pool {
    void *context;
    void (*parallel_for)(void *context, size_t count,
                         void (*body)(void *argument, size_t from, size_t to),
                         void *argument);
    unsigned threads;
};

/* `background`: a device does this run's work in a stream apart from other runs', which
 * goes first.  Either kind may be under way in threads of its own, and neither waits
 * for the other; what one left in memory the other may use once it was waited for.
 *
 * `int8`: products may round both sides to eight bits, each row of `a` and
 * of the weight with a scale of its own.  For numbers that only put things in order: a
 * result is off by some hundredth of what its row and column could come to.  A weight
 * is rounded for each product of it or for none, so that a row has the same bits
 * whatever stands beside it. */
struct kernel_run {
    struct kernel_pool pool;
    bool background;
    bool int8;
    void *step; /* the backend's own; set to NULL before graph_begin */
};

/* The device that a table's operations run on. */
struct kernel_device {
    char name[256];
    unsigned number;       /* as the driver counts */
    unsigned major, minor; /* its compute capability */
    uint64_t total, free;  /* bytes of its memory; what of it is free now */
    uint64_t held;         /* maximum that the table allocated at once */
    const char *lacks; /* what it does without, and is slow; NULL: nothing */
};

/* Keys and values in pages of `slots` slots: a page's keys are [slots, hkv, d] at
 * keys[page] + key_at, or `by_head` [hkv, slots, d], so that what one head reads
 * lies together; values alike.  A session's pages hold all layers; what is in one
 * piece is one page.  The struct is on the host, the two tables and what they
 * point to on the device.
 *
 * `type`: KERNEL_F32, or, of a table with `bf16_pages`, KERNEL_BF16: then from
 * the same places on lie numbers of two bytes.  They are widened as they are read;
 * queries, scores, sums and outputs are f32 all the same.  Where a part begins at
 * a multiple of 16 bytes and d is one of 8, they come 16 bytes at a time. */
/* KERNEL_INT8, of a table with `int8_pages`, is `by_head` alone: of a head a scale (f32)
 * for each 32 numbers of a row, the last may be fewer, [slots, ceil(d / 32)], and
 * behind them integers [slots, d]; a number is its integer times its scale.  slots d
 * is a multiple of 4. */
struct kernel_pages {
    const float *const *keys, *const *values; /* [ceil(n / slots)] */
    size_t key_at, value_at;                  /* floats, whatever the type */
    size_t slots;                             /* >= 1 */
    int type;                                 /* enum kernel_type */
    bool by_head;
    size_t hidden; /* of `attention`: the last of each so many slots is seen by
                      nobody; 0: none is hidden */
};

/* What HiLS attention chooses complete chunks by, each chunk's at its own address: of
 * models made for it the summary keys of chunk c [hq, d] at keys[c] + key_at, its
 * biases [hq] at biases[c] + bias_at; of others, where `means` is not 0, the means of
 * as many runs of its keys [hkv, means, d], bf16, at keys[c] + key_at.  On the host and
 * on the device as kernel_pages.
 *
 * `type`, of summary keys: KERNEL_BF16 where the pages are, rounded to the nearest as
 * keys are; else KERNEL_F32.  Biases are f32.  Where a chunk's begin at a multiple of
 * 16 bytes and d is one of 8, they come 16 bytes at a time. */
struct kernel_summaries {
    float *const *keys, *const *biases; /* [chunks]; no biases of means */
    size_t key_at, bias_at;             /* floats, whatever the type */
    size_t means;                       /* divides the chunk */
    int type;                           /* enum kernel_type; not of means */
};

/* Floats in whose room a chunk's summary keys lie. */
static inline size_t kernel_summary_floats(int type, size_t hq, size_t d)
{
    return (hq * d * kernel_type_size(type) + 3) / 4;
}

/* The same of its means. */
static inline size_t kernel_means_floats(size_t hkv, size_t means, size_t d)
{
    return (hkv * means * d + 1) / 2;
}

/* Proxies [hq, d] of neighbouring chunks: the i-th at x + i * step, turned by the
 * d numbers at angles + i * turn, of `angles` (NULL: it is not). */
struct kernel_proxies {
    const float *x;
    size_t step; /* floats; 0: all have the same */
    const float *angles;
    size_t turn; /* floats */
};

/* A weight matrix [n, k] in the form in which a backend multiplies by it. */
struct kernel_weight;

/* One of several products of the same rows. */
struct kernel_product {
    float *out; /* [m, n] */
    const struct kernel_weight *w;
    const float *bias; /* [n]; NULL: none is added */
    const float
        *plus; /* [m, n], is added too, and may be out; NULL: nothing is */
};
enum { KERNEL_MAX_PRODUCTS = 4 };

/* Rows that are multiplied: x, or, where there is a norm, rms_norm's of x. */
struct kernel_rows {
    const float *x;    /* [m, k] */
    const float *norm; /* [k]; NULL: none */
    float eps;
    float *room; /* [m, k], with a norm: for the backend's use */
};

/* Two products of the same rows, the first bent, of which one is made. */
enum kernel_bend { KERNEL_SILU, KERNEL_GELU, KERNEL_GELU_TANH };
struct kernel_gate {
    struct kernel_product gate,
        up; /* no `plus`; up.out: room for the backend */
    enum kernel_bend bend;
};

/* A feed-forward part: two products bent into one, or one alone through gelu, and the
 * product of that. */
struct kernel_feed {
    struct kernel_gate
        inner; /* gate.w NULL: up alone, which then has a bias, through gelu;
                  both outs: room, no `plus` */
    struct kernel_product down; /* out may be the rows' x or room */
};

/* Heads of queries, keys or values on their way to attention. */
struct kernel_heads {
    float *x; /* [m, h, d], changed in place */
    size_t h;
    const float *norm; /* [d], of a norm of each head; NULL: none */
    float eps;         /* the norm's */
    bool turned;       /* by the angles of their rows */
    float factor;      /* what they are multiplied by at last; 1 */
    bool kept;         /* written to slots, at `at` of each page */
    size_t at;         /* floats */
};
enum { KERNEL_MAX_HEADS = 4 };

/* Slots [first, first + rows) of a cache, for as many rows. */
struct kernel_places {
    float *const *pages; /* of `kv_write`; NULL: the rows are not kept */
    size_t first, rows;
};

/* A layer's attention of texts that lie one behind the other and see themselves alone,
 * from the rows that it reads to what it makes of them. */
struct kernel_text_part {
    struct kernel_product q, k, v; /* outs: room for the backend; no `plus` */
    struct kernel_heads q_head,
        k_head;               /* of these; x as their outs, none kept */
    const float *angles;      /* of `angles`; NULL where none are turned */
    const size_t *host_start; /* this and those below: attention_texts' */
    size_t texts, hkv, d, window;
    bool causal;
    float *mixed;              /* [m, hq, d], room for the backend */
    struct kernel_product out; /* of attention's outputs; out may be the rows' x
                                  or room */
};

/* The sizes of one call of HiLS attention.  `n` slots hold keys and values;
 * chunk c is slots [c chunk, (c + 1) chunk).  Query i at slot t = position[i]
 * sees the window [l, t], l = max(0, floor((t - window + 1) / chunk) chunk),
 * and chooses among the chunks before it, which are complete. */
struct kernel_hils {
    size_t m;          /* queries */
    size_t n;          /* slots, more than any position */
    size_t chunks;     /* summaries, at least as many as any query's
                          candidates l / chunk */
    size_t hq, hkv, d; /* heads, hkv dividing hq, and their width */
    size_t chunk;      /* slots of a chunk, >= 1 */
    size_t window;     /* slots, >= 1 */
    size_t top_k;      /* chunks chosen by a query, >= 1 */
    bool exact;        /* tokens of chosen chunks weigh their own exp(score) */
    bool softmax1;     /* 1 is added to what softmax divides by */
};

/* HiCI's own weights, each [outputs, inputs].  D: the model's width; a, b: the
 * widths in which slots and statistics are attended to, multiples of `heads`. */
struct kernel_hici {
    const float *slot;                        /* [slots, D] */
    const struct kernel_weight *lq, *lk, *lv; /* [a, D] */
    const struct kernel_weight *lo;           /* [D, a] */
    const struct kernel_weight *gc;           /* [s, D], the first squeeze */
    const float *gc_norm, *gc_bias;           /* [s], of its layer norm */
    const struct kernel_weight *gb;           /* [b, s], the second */
    const float *gb_norm, *gb_bias;           /* [b] */
    const float *query;                       /* [queries, b] */
    const struct kernel_weight *gq, *gk, *gv; /* [b, b] */
    const struct kernel_weight *go;           /* [b, b] */
    const struct kernel_weight *expand;       /* [D, b] */
    float beta;                               /* the gate is softplus(beta) */
    float eps;                                /* of the layer norms */
    size_t slots, queries, heads, width, a, s, b; /* width is D */
};

/* The largest logits of a row, in descending order, ties to the lower id; behind the
 * last -1, of -infinity.  A NaN counts as -infinity.  The sums are over the whole
 * row. */
enum { KERNEL_TOP_K = 64 };
struct kernel_top_k {
    int32_t id[KERNEL_TOP_K];
    float logit[KERNEL_TOP_K];
    float sum;      /* of exp(logit - logit[0]) */
    float sum_beta; /* of exp(beta (logit - logit[0])) */
};

struct kernels {
    const char *name;    /* "ref", "cpu", "cuda" */
    const char *variant; /* instructions in use, by which last bits may
                            differ: "avx512"; NULL: one kind alone */
    bool bf16_pages;     /* keys and values in pages may be KERNEL_BF16 */
    bool int8_pages; /* or KERNEL_INT8, but for STAR's and HiCI's attention */

    bool reranks;     /* has hils_rerank */
    size_t pass_rows; /* of a pass, beyond which more are no faster */

    /* ---- The device (ref, cpu: none) ---- */

    /* Describes the device; false: there is none, or it does not answer. */
    bool (*device)(struct kernel_device *ret);
    /* Returns why the device has failed, from the first KERNEL_DEVICE_FAILED on;
     * NULL: it works.  Any thread. */
    const char *(*lost)(void);

    /* ---- Memory of the device (ref, cpu: the process's own) ---- */

    /* Allocates memory; NULL: there is none left.  Free it with `release`. */
    void *(*allocate)(struct kernel_run *run, size_t bytes);
    void (*release)(struct kernel_run *run, void *memory); /* NULL: nothing */
    /* Copies from the host to the device. */
    int (*upload)(struct kernel_run *run, void *to, const void *host,
                  size_t bytes);
    /* Copies to the host, after all operations before have ended. */
    int (*download)(struct kernel_run *run, void *host, const void *from,
                    size_t bytes);
    /* Copies within the device. */
    int (*copy)(struct kernel_run *run, void *to, const void *from,
                size_t bytes);

    /* ---- A step: few rows, asked for again and again ---- */

    /* Begin and end the capture of a graph: operations between the two may be put off
     * until graph_end, until something is uploaded, downloaded (by top_k too) or
     * released, or until the next graph_begin, and are then launched as one; errors
     * show there.  Outputs are the same.  ref, cpu: nothing is put off. */
    int (*graph_begin)(struct kernel_run *run);
    int (*graph_end)(struct kernel_run *run);
    /* Waits for what the run asked for, and frees what it holds; to be called last. */
    void (*run_end)(struct kernel_run *run);

    /* ---- Matmul ---- */

    /* Has weights of the same inputs lie side by side, where products of the same rows
     * by all of them can be made as one (cuda: of bf16); each stays a weight of its
     * own.  Of an error nothing is changed. */
    int (*weights_join)(struct kernel_run *run,
                        struct kernel_weight *const *weights, size_t count);

    /* Makes a weight of `host` [n, k] of `type`, which must stay where it is until
     * weight_free; the backend may use it in place, or keep a packed copy (cpu: from the first
     * matmul of 16 rows or more on).  `host` may be unaligned.  KERNEL_INT8:
     * `host` is a struct kernel_int8, and what that points to must stay.
     * cuda holds a copy, f16 and int8 as f32. */
    int (*weight)(struct kernel_run *run, const void *host, int type, size_t n,
                  size_t k, struct kernel_weight **ret);
    void (*weight_free)(struct kernel_run *run, struct kernel_weight *weight);

    /* Multiplies: out [m, n] = a [m, k] . w^T (+ out when `add`). */
    int (*matmul)(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, size_t m, bool add);

    /* Multiplies and adds bias [n] to every row. */
    int (*matmul_bias)(struct kernel_run *run, float *out, const float *a,
                       const struct kernel_weight *w, const float *bias,
                       size_t m, bool add);

    /* Multiplies the same rows by up to KERNEL_MAX_PRODUCTS weights, all of k inputs:
     * each out is what matmul, or matmul_bias, makes of them, and `plus`.  cuda: few
     * rows in one launch, their norm too; many rows are rounded once. */
    int (*matmuls)(struct kernel_run *run,
                   const struct kernel_product *products, size_t count,
                   const struct kernel_rows *a, size_t m);

    /* Multiplies the rows by both and makes gate.out [m, n] = swiglu or geglu of the
     * two.  cuda: few rows in one launch. */
    int (*matmul_gated)(struct kernel_run *run, const struct kernel_gate *gate,
                        const struct kernel_rows *a, size_t m);

    /* Multiplies the rows by what `inner` has, bends that, and multiplies it by `down`.
     * cuda: of many rows what is bent goes to the last product in its numbers, bf16, not
     * in f32. */
    int (*feed_forward)(struct kernel_run *run, const struct kernel_feed *feed,
                        const struct kernel_rows *a, size_t m);

    /* ---- The transformer ---- */

    /* Gathers rows: out [m, k] = rows of w [n, k]; host_row [m], each < n. */
    int (*gather)(struct kernel_run *run, float *out,
                  const struct kernel_weight *w, const int32_t *host_row,
                  size_t m);

    /* Normalises: out [m, d] = x / sqrt(mean(x^2) + eps) * weight [d]; out may be
     * x. */
    int (*rms_norm)(struct kernel_run *run, float *out, const float *x,
                    const float *weight, size_t m, size_t d, float eps);

    /* Normalises: out [m, d] = (x - mean) / sqrt(variance + eps) * weight [d] +
     * bias [d], the variance over d, not d - 1; out may be x. */
    int (*layer_norm)(struct kernel_run *run, float *out, const float *x,
                      const float *weight, const float *bias, size_t m,
                      size_t d, float eps);

    /* Rotates x [m, h, d] in place, in the rotate-half layout: pair (i, i + d/2) turns by
     * position * frequency[i].  host_position [m], host_frequency [d/2]
     * (double: in float32 the angles of late positions are wrong). */
    int (*rotary)(struct kernel_run *run, float *x,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t h, size_t d);

    /* Computes by what the rows of a pass are turned: out [m, d], of each row d/2
     * cosines and d/2 sines, of position * frequency[i]. */
    int (*angles)(struct kernel_run *run, float *out,
                  const int32_t *host_position, const double *host_frequency,
                  size_t m, size_t d);

    /* Makes heads ready: each of `count` matrices gets its norm (rms_norm), is
     * turned as by rotary, multiplied, and written as by kv_write to pages of
     * `slots` slots of `type`; the rows of the places, one behind the other, are
     * the m rows.  No places: nothing is kept.  angles: of `angles`; NULL where
     * none are turned. */
    int (*heads)(struct kernel_run *run, const struct kernel_heads *heads,
                 size_t count, const float *angles,
                 const struct kernel_places *places, size_t place_count,
                 size_t slots, int type, size_t m, size_t d);

    /* Computes causal attention of m new queries over n keys, the last m of which are
     * their own (m <= n): query i sees keys [0, n - m + i], and of these only the last
     * `window` when window > 0.  out, q [m, hq, d]; pages: n slots; hq is a
     * multiple of hkv; scores are times 1/sqrt(d).  A query that sees no slot
     * gets zeros. */
    int (*attention)(struct kernel_run *run, float *out, const float *q,
                     const struct kernel_pages *pages, size_t m, size_t n,
                     size_t hq, size_t hkv, size_t d, size_t window);

    /* Computes attention in which every query sees all n keys (encoders), any m;
     * or, when window > 0, for which m is n, those at most `window` before and
     * behind its own.  k, v [n, hkv, d]. */
    int (*attention_bidirectional)(struct kernel_run *run, float *out,
                                   const float *q, const float *k,
                                   const float *v, size_t m, size_t n,
                                   size_t hq, size_t hkv, size_t d,
                                   size_t window);

    /* Computes attention of texts that lie one behind the other, each of which sees
     * itself alone: text t is rows [host_start[t], host_start[t + 1]) of q, k and v,
     * host_start [texts + 1] ascending from 0; `causal`: as attention, else as
     * attention_bidirectional.  cuda: in one launch. */
    int (*attention_texts)(struct kernel_run *run, float *out, const float *q,
                           const float *k, const float *v,
                           const size_t *host_start, size_t texts, size_t hq,
                           size_t hkv, size_t d, size_t window, bool causal);

    /* Computes the part's products of rows, their heads, attention_texts over them and
     * the product of that.  cuda: where weights are bf16 or blocks, m is not few, d is a
     * multiple of 8 up to 128 and, of heads that are normed, turned or scaled, 16, 32,
     * 64 or 128, what lies between two products is bf16, also keys and values. */
    int (*attend_texts)(struct kernel_run *run,
                        const struct kernel_text_part *part,
                        const struct kernel_rows *rows, size_t m);

    /* Writes x [rows, hkv, d] to slots [first, first + rows) of one layer's keys, or
     * values, in pages `by_head` of `type`, rounded to nearest even if that is
     * KERNEL_BF16, of KERNEL_INT8 to the nearest of what the largest of its 32 / 127 makes; a page's [hkv, slots, d] are at pages[page] + at, in floats.  KERNEL_UNSUPPORTED for a type that the table has no pages
     * of. */
    int (*kv_write)(struct kernel_run *run, float *const *pages, size_t at,
                    size_t slots, int type, const float *x, size_t first,
                    size_t rows, size_t hkv, size_t d);

    /* Computes out [count] = silu(gate) * up; out may be either. */
    int (*swiglu)(struct kernel_run *run, float *out, const float *gate,
                  const float *up, size_t count);

    /* Computes out [count] = gelu(gate) * up by gelu's tanh approximation, or by
     * the error function when `exact`; out may be either. */
    int (*geglu)(struct kernel_run *run, float *out, const float *gate,
                 const float *up, size_t count, bool exact);

    /* Computes x [m, n] = gelu(x + bias [n]) by the error function, not its tanh
     * approximation. */
    int (*gelu)(struct kernel_run *run, float *x, const float *bias, size_t m,
                size_t n);

    /* Adds: x [count] += y. */
    int (*add)(struct kernel_run *run, float *x, const float *y, size_t count);

    /* Adds bias [n] to each row of x [m, n]. */
    int (*add_bias)(struct kernel_run *run, float *x, const float *bias,
                    size_t m, size_t n);

    /* Multiplies x [count] by the factor. */
    int (*scale)(struct kernel_run *run, float *x, float factor, size_t count);

    /* Finds the largest of logits [n], n >= 1, and their sums; beta is 1 / temperature.
     * If logit[0] is not finite the sums mean nothing.  Waits as `download` does. */
    int (*top_k)(struct kernel_run *run, struct kernel_top_k *host_ret,
                 const float *logits, size_t n, float beta);

    /* ---- Memories (H2MT 2.2) ---- */

    /* Recalls from n >= 1 memories (HMT; H2MT eq. in 2.2.2): out [d] =
     * softmax((q wq)(memory wk)^T / sqrt(p)) memory.  q [d], memory [n, d],
     * wq, wk [d, p]. */
    int (*recall)(struct kernel_run *run, float *out, const float *q,
                  const float *memory, const float *wq, const float *wk,
                  size_t n, size_t d, size_t p);

    /* Averages n >= 1 children [n, d] (H2MT 2.2.3). */
    int (*pool_mean)(struct kernel_run *run, float *out, const float *children,
                     size_t n, size_t d);

    /* Averages many groups at once, as a whole level of the tree: out [groups, d],
     * group g being the rows [host_start[g], host_start[g + 1]) of
     * children, at least one; host_start [groups + 1] begins with 0. */
    int (*pool_means)(struct kernel_run *run, float *out, const float *children,
                      const size_t *host_start, size_t groups, size_t d);

    /* Pools by attention (H2MT 2.2.3): A = softmax(C wq (C wk)^T / sqrt(p)), diagonal masked
     * when n > 1; weight_j = sum_i A_ij / n; out [d] = weight . C.
     * weight [n]; wq, wk [d, p], both NULL: tau cos(C_i, C_j) as scores, the
     * cosine with a vector of zeros being 0. */
    int (*pool_attention)(struct kernel_run *run, float *out, float *weight,
                          const float *children, const float *wq,
                          const float *wk, float tau, size_t n, size_t d,
                          size_t p);

    /* Pools many groups by attention at once, as pool_means: each attends to itself.
     * out [groups, d]; weight [n], a group's behind the other's. */
    int (*pool_attentions)(struct kernel_run *run, float *out, float *weight,
                           const float *children, const float *wq,
                           const float *wk, float tau, const size_t *host_start,
                           size_t groups, size_t d, size_t p);

    /* Pools landmarks (HiLS Prop. 3.1 on the tree): weight_j proportional to
     * exp(tau C_j . proxy + bias_j); out [d] = weight . C, ret_bias [1] =
     * weight . (bias - ln weight), where 0 ln 0 = 0. */
    int (*pool_landmark)(struct kernel_run *run, float *out, float *ret_bias,
                         const float *children, const float *bias,
                         const float *proxy, float tau, size_t n, size_t d);

    /* ---- HiLS attention (Hierarchical Sparse Attention Done Right) ----
     *
     * `position` and `landmark` are on the device, as the other pointers.  qhat
     * are the calibrated queries (eq. 11): products, `plus` one another, and
     * `heads`. */

    /* Puts the proxies of chunks [first, first + chunks) where their summary keys
     * go, in numbers of these.  cuda: in one launch. */
    int (*chunk_proxies)(struct kernel_run *run,
                         const struct kernel_summaries *summaries,
                         const struct kernel_proxies *proxies, size_t first,
                         size_t chunks, size_t hq, size_t d);

    /* Summarises the complete chunks [first, first + chunks), for each query head
     * (eq. 8): over a chunk's keys p = softmax(k . proxy / sqrt(d)), its
     * summary key = p . k, its bias = -sum p ln p (nats).  The proxies
     * [hq, d] lie where the summary keys go.  The last key of each chunk, its
     * landmark's, is left out (chunk >= 2). */
    int (*chunk_summary)(struct kernel_run *run,
                         const struct kernel_summaries *summaries,
                         const struct kernel_pages *pages, size_t first,
                         size_t chunks, size_t chunk, size_t hq, size_t hkv,
                         size_t d);

    /* Averages the keys of the complete chunks [first, first + chunks) by runs of r =
     * chunk / means: mean i, rounded to bf16, is of its keys [i r, (i + 1) r).  Ours,
     * for models that were not made for HiLS. */
    int (*chunk_means)(struct kernel_run *run,
                       const struct kernel_summaries *summaries,
                       const struct kernel_pages *pages, size_t first,
                       size_t chunks, size_t chunk, size_t hkv, size_t d);

    /* Chooses the chunks that each query reads (3, eq. 24): chunk c scores s = qhat .
     * summary_key / sqrt(d) + summary_bias in each head, by means s = the highest
     * qhat . mean / sqrt(d) + ln r; less the logarithm of all exp(s) and of the
     * window's exp(q . k / sqrt(d)) together; of a key-value head's query heads
     * the highest counts.  chosen [m, hkv, top_k]: the best chunks, ties to the
     * lower, in ascending order, then -1.  q, qhat [m, hq, d]; pages: n slots; position [m]; landmark [n], not 0: this slot's
     * key and value are never attended to (NULL: there are none). */
    int (*hils_choose)(struct kernel_run *run, int32_t *chosen, const float *q,
                       const float *qhat, const struct kernel_pages *pages,
                       const struct kernel_summaries *summaries,
                       const int32_t *position, const int32_t *landmark,
                       const struct kernel_hils *sizes);

    /* Chooses again, by the keys themselves: of the chunks wide [m, hkv, many], as
     * hils_choose gives them, the top_k with the most of exp(q . k / sqrt(d)), as a
     * part of all these and the window's; of a key-value head's query heads the
     * highest counts.  Every slot counts: models with landmarks were not trained so.
     * chosen, q, pages and position as above. */
    int (*hils_rerank)(struct kernel_run *run, int32_t *chosen,
                       const int32_t *wide, size_t many, const float *q,
                       const struct kernel_pages *pages,
                       const int32_t *position,
                       const struct kernel_hils *sizes);

    /* Computes attention to the window and the chosen chunks (eq. 24): a token of the
     * window weighs exp(s) / Z, s = q . k / sqrt(d); a token of a chosen chunk
     * its share of the chunk's softmax times exp(the chunk's score) / Z;
     * Z = the window's exp(s) + the chosen chunks' exp(score) (+ 1).  `exact`:
     * each weighs its own exp(s): ours, for models not trained with HiLS; with
     * all candidates chosen it is full attention.  out, q, qhat [m, hq, d];
     * chosen [m, hkv, top_k] as above, each chunk before its
     * query's window; the others as above.  A query that sees no slot but
     * landmarks gets zeros. */
    int (*hils_attention)(struct kernel_run *run, float *out, const float *q,
                          const float *qhat, const struct kernel_pages *pages,
                          const struct kernel_summaries *summaries,
                          const int32_t *position, const int32_t *landmark,
                          const int32_t *chosen,
                          const struct kernel_hils *sizes);

    /* ---- STAR attention (Summary Token-guided Attention and Routing, 3) ----
     *
     * Computes attention of m new queries over n slots, the last m of which are their
     * own.  A chunk is
     * `chunk` slots, the last of them its summary token.  Query t's parts: causal
     * attention in its own chunk (eq. 4); to the summary tokens of the chunks
     * before (eq. 5); to all slots of the `top_k` (>= 1) of these chunks whose
     * summary tokens got the most weight in this head, ties to the lower
     * (eq. 6).  out = softmax(gate [3]) . parts (eq. 7, 8); the first alone in
     * the first chunk.  out, q [m, hq, d]; pages: n slots; scores are times
     * 1/sqrt(d). */
    int (*star_attention)(struct kernel_run *run, float *out, const float *q,
                          const struct kernel_pages *pages, const float *gate,
                          size_t m, size_t n, size_t hq, size_t hkv, size_t d,
                          size_t chunk, size_t top_k);

    /* ---- HiCI attention (Hierarchical Construction-Integration, 3) ----
     *
     * Segment i is rows [i segment, (i + 1) segment) of n; the last may be
     * shorter; segments = ceil(n / segment). */

    /* Constructs locally (eq. 1, 2): out [segments, slots, D], what each segment's
     * slots read from its rows of x [n, D]. */
    int (*hici_local)(struct kernel_run *run, float *out, const float *x,
                      const struct kernel_hici *hici, size_t n, size_t segment);

    /* Integrates globally (eq. 3-10, with the authors' projection go before the
     * expansion): G of some slots is made of five statistics over them: mean,
     * maximum, minimum, standard deviation (over the count, at least 1e-6) and
     * mean / max(|mean|, 1e-6).  out [segments, queries + slots, D]: what
     * segment i is shown, [G of all; L_i] as published.  `causal` (ours), so
     * that no token sees a later one: [G(L_0 .. L_{i-1}); L_{i-1}], zeros for
     * segment 0.  local [segments, slots, D]. */
    int (*hici_context)(struct kernel_run *run, float *out, const float *local,
                        const struct kernel_hici *hici, size_t segments,
                        bool causal);

    /* Broadcasts (eq. 11-13): a token sees its segment's `shown` keys slot_k,
     * slot_v [segments, shown, hkv, d] and of its segment the tokens up to
     * itself.  `causal`: segment 0 is shown none.  out, q [n, hq, d];
     * k, v [n, hkv, d]; scores are times 1/sqrt(d). */
    int (*hici_attention)(struct kernel_run *run, float *out, const float *q,
                          const float *k, const float *v, const float *slot_k,
                          const float *slot_v, size_t n, size_t segment,
                          size_t shown, size_t hq, size_t hkv, size_t d,
                          bool causal);
};

const struct kernels *kernels_ref(void);
const struct kernels *kernels_cpu(void);
/* NULL when there is no device, or the program was built without nvcc;
 * *ret_reason says which. */
const struct kernels *kernels_cuda(const char **ret_reason);
/* Before the first call of kernels_cuda: which device it takes, as the driver
 * counts them; else the first. */
void kernels_cuda_choose(unsigned number);

#ifdef __cplusplus
}
#endif

#endif
