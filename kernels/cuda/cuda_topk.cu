/* The likeliest of a row of logits: of each share of the row first, by a block,
 * then of these. */
#include "kernels/cuda/cuda_max.h"
#include "kernels/cuda/cuda_internal.h"

constexpr unsigned THREADS = CHOOSE_THREADS;
constexpr size_t SHARE = 4096; /* logits */

/* Over a share: its largest logit, sums as kernel_top_k's. */
struct sums {
    float max, sum, sum_beta;
};

struct ranking {
    float *logit;      /* [shares, KERNEL_TOP_K], ids ascending in each */
    int32_t *id;       /* [shares, KERNEL_TOP_K]; -1: none */
    struct sums *sums; /* [shares] */
    float beta;
};

struct rank_memory {
    struct choose_memory choose;
    int32_t chosen[KERNEL_TOP_K];
};
struct share_memory : rank_memory {
    float value[SHARE];
};

static __global__ void __launch_bounds__(THREADS)
    rank_share(struct ranking r, const float *logits, size_t n)
{
    auto *m = static_cast<struct share_memory *>(cuda_shared());
    size_t first = blockIdx.x * SHARE;
    size_t count = n - first < SHARE ? n - first : SHARE;
    float max = minus_infinity(), sum = 0, sum_beta = 0;
    for (size_t i = threadIdx.x; i < count; i += THREADS) {
        float logit = logits[first + i];
        m->value[i] = logit == logit ? logit : minus_infinity();
        max = fmaxf(max, m->value[i]);
    }
    max = block_max(max, m->choose.room);
    for (size_t i = threadIdx.x; i < count && max > minus_infinity();
         i += THREADS) {
        sum += expf(m->value[i] - max);
        sum_beta += expf((m->value[i] - max) * r.beta);
    }
    sum = block_sum(sum, m->choose.room);
    sum_beta = block_sum(sum_beta, m->choose.room);
    if (!threadIdx.x)
        r.sums[blockIdx.x] = {max, sum, sum_beta};
    choose_best(&m->choose, m->chosen, m->value, count, KERNEL_TOP_K);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < KERNEL_TOP_K; i += THREADS) {
        int32_t at = m->chosen[i];
        size_t to = blockIdx.x * size_t{KERNEL_TOP_K} + i;
        r.logit[to] = at < 0 ? minus_infinity() : m->value[at];
        r.id[to] = at < 0 ? -1 : static_cast<int32_t>(first) + at;
    }
}

/* What all shares sum up to, in every thread. */
static __device__ struct sums add_shares(const struct ranking &r, size_t shares,
                                         float *room)
{
    struct sums all = {minus_infinity(), 0, 0};
    for (size_t s = threadIdx.x; s < shares; s += THREADS)
        all.max = fmaxf(all.max, r.sums[s].max);
    all.max = block_max(all.max, room);
    for (size_t s = threadIdx.x; s < shares; s += THREADS) {
        const struct sums &own = r.sums[s];
        if (!(own.max > minus_infinity()))
            continue;
        all.sum += own.sum * expf(own.max - all.max);
        all.sum_beta += own.sum_beta * expf((own.max - all.max) * r.beta);
    }
    all.sum = block_sum(all.sum, room);
    all.sum_beta = block_sum(all.sum_beta, room);
    return all;
}

/* One block. */
static __global__ void __launch_bounds__(THREADS)
    rank_shares(struct kernel_top_k *ret, struct ranking r, size_t shares)
{
    auto *m = static_cast<struct rank_memory *>(cuda_shared());
    struct sums all = add_shares(r, shares, m->choose.room);
    choose_best(&m->choose, m->chosen, r.logit, shares * KERNEL_TOP_K,
                KERNEL_TOP_K);
    __syncthreads();
    if (!threadIdx.x) {
        ret->sum = all.sum;
        ret->sum_beta = all.sum_beta;
    }
    if (threadIdx.x >= KERNEL_TOP_K)
        return;
    int32_t at = m->chosen[threadIdx.x];
    float logit = r.logit[at];
    unsigned rank = 0;
    for (unsigned i = 0; i < KERNEL_TOP_K; i++) {
        float other = r.logit[m->chosen[i]];
        rank += other > logit || (!(other < logit) && i < threadIdx.x);
    }
    ret->id[rank] = r.id[at];
    ret->logit[rank] = logit;
}

static int top_k(struct kernel_run *run, struct kernel_top_k *host_ret,
                     const float *logits, size_t n, float beta)
{
    size_t shares = cuda_ceil(n, SHARE);
    cuda_workspace rooms[] = {cuda_workspace(run), cuda_workspace(run), cuda_workspace(run),
                         cuda_workspace(run)};
    auto *ret = rooms[0].take<struct kernel_top_k>(1);
    struct ranking r = {rooms[1].take<float>(shares, KERNEL_TOP_K),
                        rooms[2].take<int32_t>(shares, KERNEL_TOP_K),
                        rooms[3].take<struct sums>(shares), beta};
    if (!ret || !r.logit || !r.id || !r.sums)
        return KERNEL_NO_MEMORY;
    int code = cuda_launch(run, rank_share,
                           {shares, 1, 1, THREADS, sizeof(struct share_memory)},
                           r, logits, n);
    if (!code)
        code = cuda_launch(run, rank_shares,
                           {1, 1, 1, THREADS, sizeof(struct rank_memory)}, ret,
                           r, shares);
    return code ? code : cuda_fetch(run, host_ret, ret, sizeof *host_ret);
}

void cuda_fill_top_k(struct kernels *table)
{
    table->top_k = top_k;
}
