/* HiCI attention: construction and integration are products, norms and
 * attention over all segments at once; the broadcast is dense attention. */
#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_device.h"

#include <cmath>

constexpr unsigned THREADS = 128;
constexpr unsigned VIEWS = 5; /* statistics of the slots */

/* ---- Local construction ---- */

static int hici_local(struct kernel_run *run, float *out, const float *x,
                      const struct kernel_hici *hici, size_t n, size_t segment)
{
    size_t segments = cuda_ceil(n, segment), rows = segments * hici->slots;
    cuda_workspace rooms[] = {cuda_workspace(run), cuda_workspace(run), cuda_workspace(run),
                         cuda_workspace(run)};
    float *q = rooms[0].take<float>(hici->slots, hici->a);
    float *k = rooms[1].take<float>(n, hici->a);
    float *v = rooms[2].take<float>(n, hici->a);
    float *read = rooms[3].take<float>(rows, hici->a);
    if (!q || !k || !v || !read)
        return KERNEL_NO_MEMORY;
    struct segments s = {};
    s.sizes = dense_sizes_of(rows * hici->heads, hici->heads, hici->heads,
                             hici->a / hici->heads);
    s.q = q;
    s.out = read;
    s.k = k;
    s.v = v;
    s.n = n;
    s.segment = segment;
    s.asked = hici->slots;
    int code = cuda_matmul(run, q, hici->slot, hici->lq, hici->slots, false);
    if (!code)
        code = cuda_matmul(run, k, x, hici->lk, n, false);
    if (!code)
        code = cuda_matmul(run, v, x, hici->lv, n, false);
    if (!code)
        code = cuda_attend_segments(run, s, segments);
    return code ? code : cuda_matmul(run, out, read, hici->lo, rows, false);
}

/* ---- Global integration ---- */

/* view [sets, VIEWS, d], all but the last of them (eq. 3-6): set i is of the
 * first (i + 1) / sets of the rows [sets * each, d].  A thread a column; the
 * squares are of the differences from the mean (Welford). */
static __global__ void __launch_bounds__(THREADS)
    view_columns(float *view, const float *rows, size_t sets, size_t each,
                 size_t d)
{
    const float min = 1e-6f;
    size_t l = blockIdx.x * size_t{THREADS} + threadIdx.x;
    if (l >= d)
        return;
    float mean = 0, square = 0, highest = 0, lowest = 0;
    for (size_t i = 0; i < sets * each; i++) {
        float x = rows[i * d + l], off = x - mean;
        mean += off / static_cast<float>(i + 1);
        square += off * (x - mean);
        highest = i ? fmaxf(highest, x) : x;
        lowest = i ? fminf(lowest, x) : x;
        if ((i + 1) % each == 0) {
            float *to = view + i / each * VIEWS * d + l;
            to[0] = mean;
            to[d] = highest;
            to[2 * d] = lowest;
            to[3 * d] = fmaxf(sqrtf(square / static_cast<float>(i + 1)), min);
        }
    }
}

/* The last view (eq. 7): the mean over its length; a block a set. */
static __global__ void __launch_bounds__(THREADS)
    view_direction(float *view, size_t d)
{
    float *part = static_cast<float *>(cuda_shared()); /* [THREADS] */
    float *mean = view + blockIdx.x * VIEWS * d;
    float sum = 0;
    for (size_t l = threadIdx.x; l < d; l += THREADS)
        sum += mean[l] * mean[l];
    part[threadIdx.x] = sum;
    for (unsigned step = THREADS / 2; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
    }
    __syncthreads();
    float length = fmaxf(sqrtf(part[0]), 1e-6f);
    for (size_t l = threadIdx.x; l < d; l += THREADS)
        mean[4 * d + l] = mean[l] / length;
}

static int make_views(struct kernel_run *run, float *view, const float *local,
                      size_t sets, size_t each, size_t d)
{
    int code =
        cuda_launch(run, view_columns, {cuda_ceil(d, THREADS), 1, 1, THREADS},
                    view, local, sets, each, d);
    return code ? code
                : cuda_launch(run, view_direction,
                              {sets, 1, 1, THREADS, THREADS * sizeof(float)},
                              view, d);
}

/* The arrays of the integration of `sets` sets. */
struct global {
    float *view;                /* [sets, VIEWS, D] */
    float *small;               /* [sets, VIEWS, s] */
    float *state, *k, *v;       /* [sets, VIEWS, b] */
    float *q;                   /* [queries, b] */
    float *read, *mixed, *done; /* [sets, queries, b], .., [.., D] */
};

/* state: the statistics, squeezed twice (eq. 8). */
static int squeeze(struct kernel_run *run, const struct kernel_hici *hici,
                   const struct global *g, size_t views)
{
    int code = cuda_matmul(run, g->small, g->view, hici->gc, views, false);
    if (!code)
        code = cuda_layer_norm(run, g->small, g->small, hici->gc_norm,
                               hici->gc_bias, views, hici->s, hici->eps);
    if (!code)
        code = cuda_matmul(run, g->state, g->small, hici->gb, views, false);
    return code ? code
                : cuda_layer_norm(run, g->state, g->state, hici->gb_norm,
                                  hici->gb_bias, views, hici->b, hici->eps);
}

/* done: each set's G (eq. 9, 10). */
static int integrate(struct kernel_run *run, const struct kernel_hici *hici,
                     const struct global *g, size_t sets)
{
    float beta = hici->beta;
    float gate = (beta > 0 ? beta : 0) + log1pf(expf(-fabsf(beta)));
    size_t queries = hici->queries, rows = sets * queries;
    size_t views = sets * VIEWS;
    struct segments s = {};
    s.sizes = dense_sizes_of(rows * hici->heads, hici->heads, hici->heads,
                             hici->b / hici->heads);
    s.q = g->q;
    s.out = g->read;
    s.k = g->k;
    s.v = g->v;
    s.n = views;
    s.segment = VIEWS;
    s.asked = queries;
    int code = squeeze(run, hici, g, views);
    if (!code)
        code = cuda_matmul(run, g->q, hici->query, hici->gq, queries, false);
    if (!code)
        code = cuda_matmul(run, g->k, g->state, hici->gk, views, false);
    if (!code)
        code = cuda_matmul(run, g->v, g->state, hici->gv, views, false);
    if (!code)
        code = cuda_attend_segments(run, s, sets);
    if (!code)
        code = cuda_matmul(run, g->mixed, g->read, hici->go, rows, false);
    if (!code)
        code = cuda_matmul(run, g->done, g->mixed, hici->expand, rows, false);
    return code ? code : cuda_scale(run, g->done, gate, rows * hici->width);
}

/* out [segments, queries + slots, D]; a block a row.  `back`: what segment i is
 * shown is of the one before, and the first is shown zeros. */
static __global__ void __launch_bounds__(THREADS)
    show(float *out, const float *done, const float *local, size_t queries,
         size_t slots, size_t d, bool back)
{
    size_t segment = blockIdx.x / (queries + slots);
    size_t row = blockIdx.x % (queries + slots);
    size_t of = back ? segment - 1 : segment, set = back ? of : 0;
    bool none = back && !segment;
    const float *from = row < queries
                            ? done + (set * queries + row) * d
                            : local + (of * slots + row - queries) * d;
    for (size_t l = threadIdx.x; l < d; l += THREADS)
        out[blockIdx.x * d + l] = none ? 0 : from[l];
}

static int hici_context(struct kernel_run *run, float *out, const float *local,
                        const struct kernel_hici *hici, size_t segments,
                        bool causal)
{
    size_t d = hici->width, queries = hici->queries, slots = hici->slots;
    if (!segments)
        return KERNEL_OK;
    size_t sets = causal ? segments - 1 : 1;
    size_t each = causal ? slots : segments * slots, views = sets * VIEWS;
    cuda_workspace rooms[] = {cuda_workspace(run), cuda_workspace(run), cuda_workspace(run),
                         cuda_workspace(run), cuda_workspace(run), cuda_workspace(run),
                         cuda_workspace(run), cuda_workspace(run), cuda_workspace(run)};
    const struct global g = {rooms[0].take<float>(views, d),
                             rooms[1].take<float>(views, hici->s),
                             rooms[2].take<float>(views, hici->b),
                             rooms[3].take<float>(views, hici->b),
                             rooms[4].take<float>(views, hici->b),
                             rooms[5].take<float>(queries, hici->b),
                             rooms[6].take<float>(sets, queries, hici->b),
                             rooms[7].take<float>(sets, queries, hici->b),
                             rooms[8].take<float>(sets, queries, d)};
    if (!g.view || !g.small || !g.state || !g.k || !g.v || !g.q || !g.read ||
        !g.mixed || !g.done)
        return KERNEL_NO_MEMORY;
    int code = make_views(run, g.view, local, sets, each, d);
    if (!code)
        code = integrate(run, hici, &g, sets);
    return code ? code
                : cuda_launch(run, show,
                              {segments * (queries + slots), 1, 1, THREADS},
                              out, static_cast<const float *>(g.done), local,
                              queries, slots, d, causal);
}

/* ---- Broadcast ---- */

static int hici_attention(struct kernel_run *run, float *out, const float *q,
                          const float *k, const float *v, const float *slot_k,
                          const float *slot_v, size_t n, size_t segment,
                          size_t shown, size_t hq, size_t hkv, size_t d,
                          bool causal)
{
    struct segments s = {};
    s.sizes = dense_sizes_of(n * hq, hq, hkv, d);
    s.q = q;
    s.out = out;
    s.k = k;
    s.v = v;
    s.slot_k = slot_k;
    s.slot_v = slot_v;
    s.n = n;
    s.segment = segment;
    s.shown = shown;
    s.first_bare = causal;
    return n ? cuda_attend_segments(run, s, cuda_ceil(n, segment)) : KERNEL_OK;
}

void cuda_fill_hici(struct kernels *table)
{
    table->hici_local = hici_local;
    table->hici_context = hici_context;
    table->hici_attention = hici_attention;
}
