/* Recall and pooling of memories. */
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_device.h"

#include <cmath>
#include <cstdlib>

constexpr unsigned THREADS = 256;
constexpr unsigned COLUMNS = 32, STRIPES = 8; /* of `mix`: THREADS in all */
constexpr size_t ROOM = MAX_WARPS * sizeof(float);

static float root_of(size_t width)
{
    return static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
}

/* ---- Sums over rows ---- */

/* out [d] = weight [n] . rows [n, d]; no weights: their mean.  A block takes 32
 * columns, from `from` on; its warps take turns down the rows. */
static __device__ void mix_block(float *out, const float *weight,
                                 const float *rows, size_t n, size_t d,
                                 size_t from)
{
    float *part = static_cast<float *>(cuda_shared()); /* [STRIPES, COLUMNS] */
    size_t column = from + lane_of_thread();
    unsigned stripe = warp_of_thread();
    float sum = 0;
    for (size_t i = stripe; i < n && column < d; i += STRIPES)
        sum += (weight ? weight[i] : 1) * rows[i * d + column];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (stripe || column >= d)
        return;
    for (unsigned s = 1; s < STRIPES; s++)
        sum += part[s * COLUMNS + lane_of_thread()];
    out[column] = weight ? sum : sum / static_cast<float>(n);
}

static __global__ void __launch_bounds__(THREADS)
    mix_rows(float *out, const float *weight, const float *rows, size_t n,
             size_t d)
{
    mix_block(out, weight, rows, n, d, blockIdx.x * size_t{COLUMNS});
}

/* Group blockIdx.x of the rows. */
static __global__ void __launch_bounds__(THREADS)
    mean_groups(float *out, const float *rows, const size_t *start, size_t d)
{
    size_t first = start[blockIdx.x];
    mix_block(out + blockIdx.x * d, nullptr, rows + first * d,
              start[blockIdx.x + 1] - first, d, blockIdx.y * size_t{COLUMNS});
}

static int mix(struct kernel_run *run, float *out, const float *weight,
               const float *rows, size_t n, size_t d)
{
    return cuda_launch(
        run, mix_rows,
        {cuda_ceil(d, COLUMNS), 1, 1, THREADS, THREADS * sizeof(float)}, out,
        weight, rows, n, d);
}

static int pool_mean(struct kernel_run *run, float *out, const float *children,
                     size_t n, size_t d)
{
    return mix(run, out, nullptr, children, n, d);
}

static int pool_means(struct kernel_run *run, float *out, const float *children,
                      const size_t *host_start, size_t groups, size_t d)
{
    cuda_workspace room(run);
    if (!groups || !d)
        return KERNEL_OK;
    const size_t *start = room.take_copy(host_start, groups + 1);
    if (!start)
        return KERNEL_NO_MEMORY;
    return cuda_launch(
        run, mean_groups,
        {groups, cuda_ceil(d, COLUMNS), 1, THREADS, THREADS * sizeof(float)},
        out, children, start, d);
}

/* ---- Products with what is no weight of the model ---- */

constexpr unsigned PROJECT_THREADS = 1024, PROJECT_ROWS = 4;
constexpr unsigned PROJECT_COLUMNS = 8; /* a sector of f32 */
constexpr unsigned PROJECT_STRIPES = PROJECT_THREADS / PROJECT_COLUMNS;

/* out [n, p] = rows [n, d] . w [d, p]; a block makes a few columns of a few rows, its
 * threads in stripes down w: there may be one row, and then w is all that counts. */
static __global__ void __launch_bounds__(PROJECT_THREADS)
    project_rows(float *out, const float *rows, const float *w, size_t n,
                 size_t d, size_t p)
{
    auto *part =
        static_cast<float *>(cuda_shared()); /* [warps, rows, columns] */
    constexpr unsigned PARTS = PROJECT_ROWS * PROJECT_COLUMNS;
    const unsigned column = threadIdx.x % PROJECT_COLUMNS;
    const size_t first = blockIdx.y * size_t{PROJECT_ROWS};
    const size_t from = blockIdx.x * size_t{PROJECT_COLUMNS};
    const size_t stop = from + column < p ? d : 0;
    const size_t count = n - first < PROJECT_ROWS ? n - first : PROJECT_ROWS;
    float sum[PROJECT_ROWS] = {};
    rows += first * d;
#pragma unroll 4
    for (size_t l = threadIdx.x / PROJECT_COLUMNS; l < stop;
         l += PROJECT_STRIPES) {
        const float by = w[l * p + from + column];
#pragma unroll
        for (unsigned r = 0; r < PROJECT_ROWS; r++)
            if (r < count)
                sum[r] += rows[r * d + l] * by;
    }
#pragma unroll
    for (unsigned r = 0; r < PROJECT_ROWS; r++) {
        for (unsigned step = WARP / 2; step >= PROJECT_COLUMNS; step /= 2)
            sum[r] +=
                __shfl_xor_sync(WHOLE_WARP, sum[r], static_cast<int>(step));
        if (lane_of_thread() < PROJECT_COLUMNS)
            part[warp_of_thread() * PARTS + r * PROJECT_COLUMNS + column] =
                sum[r];
    }
    __syncthreads();
    const size_t r = threadIdx.x / PROJECT_COLUMNS;
    if (r >= count || from + column >= p)
        return;
    float all = 0;
    for (unsigned i = 0; i < PROJECT_THREADS / WARP; i++)
        all += part[i * PARTS + threadIdx.x];
    out[(first + r) * p + from + column] = all;
}

static int project(struct kernel_run *run, float *out, const float *rows,
                   const float *w, size_t n, size_t d, size_t p)
{
    constexpr size_t max = CUDA_MAX_ROWS * PROJECT_ROWS;
    int code = KERNEL_OK;
    for (size_t at = 0; at < n && !code; at += max) {
        const size_t m = n - at < max ? n - at : max;
        code = cuda_launch(run, project_rows,
                           {cuda_ceil(p, PROJECT_COLUMNS),
                            cuda_ceil(m, PROJECT_ROWS), 1, PROJECT_THREADS,
                            PROJECT_THREADS / WARP * PROJECT_ROWS *
                                PROJECT_COLUMNS * sizeof(float)},
                           out + at * p, rows + at * d, w, m, d, p);
    }
    return code;
}

/* out [n] = (rows [n, d] . by [d]) * factor (+ more [n]); a warp makes one. */
static __global__ void __launch_bounds__(THREADS)
    dot_rows(float *out, const float *rows, const float *by, const float *more,
             float factor, size_t n, size_t d)
{
    size_t i = blockIdx.x * size_t{THREADS / WARP} + warp_of_thread();
    if (i >= n)
        return;
    float sum = 0;
    for (size_t l = lane_of_thread(); l < d; l += WARP)
        sum += rows[i * d + l] * by[l];
    sum = warp_sum(sum) * factor;
    if (!lane_of_thread())
        out[i] = more ? sum + more[i] : sum;
}

static int dots(struct kernel_run *run, float *out, const float *rows,
                const float *by, const float *more, float factor, size_t n,
                size_t d)
{
    return cuda_launch(run, dot_rows,
                       {cuda_ceil(n, THREADS / WARP), 1, 1, THREADS}, out, rows,
                       by, more, factor, n, d);
}

/* ---- Softmax ---- */

/* weight [n] becomes its softmax, entry `skip` without any (n: none); gives the
 * logarithm of the sum.  All threads of the block come. */
static __device__ float soften(float *weight, size_t n, size_t skip,
                               float *room)
{
    float max = minus_infinity(), total = 0;
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        max = i == skip ? max : fmaxf(max, weight[i]);
    max = block_max(max, room);
    for (size_t i = threadIdx.x; i < n; i += THREADS) {
        weight[i] = i == skip ? 0 : expf(weight[i] - max);
        total += weight[i];
    }
    total = block_sum(total, room);
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        weight[i] /= total;
    return max + logf(total);
}

static __global__ void __launch_bounds__(THREADS)
    soften_one(float *weight, size_t n)
{
    soften(weight, n, n, static_cast<float *>(cuda_shared()));
}

/* ---- Recall ---- */

/* (q wq) . (memory wk) = memory . (wk (q wq)): no key of a memory is made. */
static int recall(struct kernel_run *run, float *out, const float *q,
                  const float *memory, const float *wq, const float *wk,
                  size_t n, size_t d, size_t p)
{
    cuda_workspace rooms[] = {cuda_workspace(run), cuda_workspace(run),
                              cuda_workspace(run)};
    float *query = rooms[0].take<float>(p), *back = rooms[1].take<float>(d);
    float *weight = rooms[2].take<float>(n);
    if (!query || !back || !weight)
        return KERNEL_NO_MEMORY;
    int code = project(run, query, q, wq, 1, d, p);
    if (!code)
        code = dots(run, back, wk, query, nullptr, root_of(p), d, p);
    if (!code)
        code = dots(run, weight, memory, back, nullptr, 1, n, d);
    if (!code)
        code =
            cuda_launch(run, soften_one, {1, 1, 1, THREADS, ROOM}, weight, n);
    return code ? code : mix(run, out, weight, memory, n, d);
}

/* ---- Attention pooling ---- */

/* out [n, d] = rows, each over its length; a block a row.  Squares in double:
 * in f32 those of very long or short vectors are nothing or too much. */
static __global__ void __launch_bounds__(THREADS)
    unit_rows(float *out, const float *rows, size_t d)
{
    double *part = static_cast<double *>(cuda_shared()); /* [THREADS] */
    rows += blockIdx.x * d;
    out += blockIdx.x * d;
    double sum = 0;
    for (size_t l = threadIdx.x; l < d; l += THREADS)
        sum += static_cast<double>(rows[l]) * static_cast<double>(rows[l]);
    part[threadIdx.x] = sum;
    for (unsigned step = THREADS / 2; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
    }
    __syncthreads();
    double length = sqrt(part[0]);
    for (size_t l = threadIdx.x; l < d; l += THREADS)
        out[l] = length == 0 ? 0 : static_cast<float>(rows[l] / length);
}

/* Rows [first, first + count) of the children are a family's; its scores [count,
 * count] begin at `pairs` of those of all families that are done together. */
struct family {
    size_t first, count, pairs;
};

/* Scores of families together, 256 KB of them, or of one that is larger. */
constexpr size_t MAX_PAIRS = size_t{1} << 16;

/* The family that `row` is of. */
static __device__ family family_of(const family *families, size_t count,
                                   size_t row)
{
    size_t from = 0;
    while (count > 1) {
        size_t half = count / 2;
        if (families[from + half].first <= row)
            from += half, count -= half;
        else
            count = half;
    }
    return families[from];
}

/* A block makes a row of A: query . key of the family's, softened, none to the
 * row's own child where there are others. */
static __global__ void __launch_bounds__(THREADS)
    attend_family(float *share, const float *query, const float *key,
                  const family *families, size_t count, float factor, size_t d)
{
    size_t row = families[0].first + blockIdx.x;
    family f = family_of(families, count, row);
    size_t own = row - f.first;
    share += f.pairs + own * f.count;
    query += row * d;
    key += f.first * d;
    for (size_t j = warp_of_thread(); j < f.count; j += THREADS / WARP) {
        float sum = 0;
        for (size_t l = lane_of_thread(); l < d; l += WARP)
            sum += query[l] * key[j * d + l];
        sum = warp_sum(sum);
        if (!lane_of_thread())
            share[j] = sum * factor;
    }
    __syncthreads();
    soften(share, f.count, f.count > 1 ? own : f.count,
           static_cast<float *>(cuda_shared()));
}

/* What each child of family blockIdx.x got, over the rows. */
static __global__ void __launch_bounds__(THREADS)
    weigh_families(float *weight, const float *share, const family *families)
{
    family f = families[blockIdx.x];
    mix_block(weight + f.first, nullptr, share + f.pairs, f.count, f.count,
              blockIdx.y * size_t{COLUMNS});
}

static __global__ void __launch_bounds__(THREADS)
    mix_families(float *out, const float *weight, const float *rows,
                 const family *families, size_t d)
{
    family f = families[blockIdx.x];
    mix_block(out + blockIdx.x * d, weight + f.first, rows + f.first * d,
              f.count, d, blockIdx.y * size_t{COLUMNS});
}

/* query, key [n, width]: by projections, or the children's directions. */
static int make_sides(struct kernel_run *run, float *query, float *key,
                      const float *children, const float *wq, const float *wk,
                      size_t n, size_t d, size_t p)
{
    if (!wq)
        return cuda_launch(run, unit_rows,
                           {n, 1, 1, THREADS, THREADS * sizeof(double)}, query,
                           children, d);
    int code = project(run, query, children, wq, n, d, p);
    return code ? code : project(run, key, children, wk, n, d, p);
}

struct attending {
    float *out, *weight;
    const float *children, *query, *key;
    float factor;
    size_t d, width;
};

/* `count` families at once: three launches. */
static int pool_families(struct kernel_run *run, const attending &a,
                         const family *host, size_t count)
{
    const family &last = host[count - 1];
    size_t rows = last.first + last.count - host->first, max = 0;
    for (size_t f = 0; f < count; f++)
        max = host[f].count > max ? host[f].count : max;
    cuda_workspace rooms[] = {cuda_workspace(run), cuda_workspace(run)};
    float *share = rooms[0].take<float>(last.pairs + last.count * last.count);
    const family *families = rooms[1].take_copy(host, count);
    if (!share || !families)
        return KERNEL_NO_MEMORY;
    constexpr size_t shared = THREADS * sizeof(float);
    int code =
        cuda_launch(run, attend_family, {rows, 1, 1, THREADS, ROOM}, share,
                    a.query, a.key, families, count, a.factor, a.width);
    if (!code)
        code =
            cuda_launch(run, weigh_families,
                        {count, cuda_ceil(max, COLUMNS), 1, THREADS, shared},
                        a.weight, static_cast<const float *>(share), families);
    if (!code)
        code = cuda_launch(run, mix_families,
                           {count, cuda_ceil(a.d, COLUMNS), 1, THREADS, shared},
                           a.out, static_cast<const float *>(a.weight),
                           a.children, families, a.d);
    return code;
}

/* As many families as their scores let be done together, and so on. */
static int pool_all(struct kernel_run *run, attending a,
                    const size_t *host_start, family *families, size_t groups)
{
    size_t count = 0, pairs = 0, square;
    int code = KERNEL_OK;
    for (size_t g = 0; g < groups && !code; g++) {
        size_t n = host_start[g + 1] - host_start[g];
        if (__builtin_mul_overflow(n, n, &square))
            return KERNEL_NO_MEMORY;
        if (count && (pairs > MAX_PAIRS || square > MAX_PAIRS - pairs)) {
            code = pool_families(run, a, families, count);
            a.out += count * a.d;
            count = pairs = 0;
        }
        families[count++] = {host_start[g], n, pairs};
        pairs += square;
    }
    return code || !count ? code : pool_families(run, a, families, count);
}

static int pool_attentions(struct kernel_run *run, float *out, float *weight,
                           const float *children, const float *wq,
                           const float *wk, float tau, const size_t *host_start,
                           size_t groups, size_t d, size_t p)
{
    size_t n = groups ? host_start[groups] : 0, width = wq ? p : d;
    if (!n || !d)
        return KERNEL_OK;
    cuda_workspace rooms[] = {cuda_workspace(run), cuda_workspace(run)};
    float *query = rooms[0].take<float>(n, width);
    float *key = wq ? rooms[1].take<float>(n, width) : query;
    if (!query || !key)
        return KERNEL_NO_MEMORY;
    int code = make_sides(run, query, key, children, wq, wk, n, d, p);
    if (code)
        return code;
    auto *families = static_cast<family *>(malloc(groups * sizeof(family)));
    if (!families)
        return KERNEL_NO_MEMORY;
    float factor = wq ? root_of(p) : tau;
    code = pool_all(run, {out, weight, children, query, key, factor, d, width},
                    host_start, families, groups);
    free(families);
    return code;
}

static int pool_attention(struct kernel_run *run, float *out, float *weight,
                          const float *children, const float *wq,
                          const float *wk, float tau, size_t n, size_t d,
                          size_t p)
{
    const size_t start[] = {0, n};
    return pool_attentions(run, out, weight, children, wq, wk, tau, start, 1, d,
                           p);
}

/* ---- Landmark pooling ---- */

/* score [n] becomes weights; ret_bias = weight . (bias - ln weight), the
 * logarithm of a weight being its score less that of the sum. */
static __global__ void __launch_bounds__(THREADS)
    weigh_landmark(float *weight, const float *score, const float *bias,
                   float *ret_bias, size_t n)
{
    float *room = static_cast<float *>(cuda_shared());
    float sum = 0;
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        weight[i] = score[i];
    float all = soften(weight, n, n, room);
    for (size_t i = threadIdx.x; i < n; i += THREADS)
        sum += weight[i] > 0 ? weight[i] * (bias[i] - (score[i] - all)) : 0;
    sum = block_sum(sum, room);
    if (!threadIdx.x)
        *ret_bias = sum;
}

static int pool_landmark(struct kernel_run *run, float *out, float *ret_bias,
                         const float *children, const float *bias,
                         const float *proxy, float tau, size_t n, size_t d)
{
    cuda_workspace scores(run), weights(run);
    float *score = scores.take<float>(n), *weight = weights.take<float>(n);
    if (!score || !weight)
        return KERNEL_NO_MEMORY;
    int code = dots(run, score, children, proxy, bias, tau, n, d);
    if (!code)
        code =
            cuda_launch(run, weigh_landmark, {1, 1, 1, THREADS, ROOM}, weight,
                        static_cast<const float *>(score), bias, ret_bias, n);
    return code ? code : mix(run, out, weight, children, n, d);
}

void cuda_fill_memories(struct kernels *table)
{
    table->recall = recall;
    table->pool_mean = pool_mean;
    table->pool_means = pool_means;
    table->pool_attention = pool_attention;
    table->pool_attentions = pool_attentions;
    table->pool_landmark = pool_landmark;
}
