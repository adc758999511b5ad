/* The likeliest of a row of logits: of each share of the row first, by a block,
 * then of these, by the last block. */
#include "kernels/cuda/cuda_max.h"
#include "kernels/cuda/cuda_internal.h"
#include "kernels/cuda/cuda_join.h"

constexpr unsigned THREADS = CHOOSE_THREADS, EACH = 8;
constexpr size_t SHARE = THREADS * EACH; /* logits, in registers */

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
    int32_t id[KERNEL_TOP_K];
    float logit[KERNEL_TOP_K];
    unsigned last;
};

/* Both sums over the block, in every thread; room as block_sum's. */
static __device__ inline void block_sums(float *a, float *b, float *room)
{
    *a = warp_sum(*a);
    *b = warp_sum(*b);
    if (!lane_of_thread()) {
        room[warp_of_thread()] = *a;
        room[CHOOSE_WARPS + warp_of_thread()] = *b;
    }
    __syncthreads();
    *a = *b = 0;
    for (unsigned i = 0; i < CHOOSE_WARPS; i++) {
        *a += room[i];
        *b += room[CHOOSE_WARPS + i];
    }
    __syncthreads();
}

static __device__ inline void rank_share(struct rank_memory *m,
                                         const struct ranking &r,
                                         const float *logits, size_t n)
{
    size_t first = blockIdx.x * SHARE, to = blockIdx.x * size_t{KERNEL_TOP_K};
    unsigned count = static_cast<unsigned>(n - first < SHARE ? n - first : SHARE);
    float max = minus_infinity(), sum = 0, sum_beta = 0, held[EACH];
    unsigned order[EACH];
#pragma unroll
    for (unsigned i = 0; i < EACH; i++) {
        unsigned c = choose_place<EACH>(i);
        held[i] = c < count ? logits[first + c] : minus_infinity();
    }
#pragma unroll
    for (unsigned i = 0; i < EACH; i++) {
        held[i] = held[i] == held[i] ? held[i] : minus_infinity();
        order[i] = order_of(held[i]);
        max = fmaxf(max, held[i]);
    }
    max = block_max(max, m->choose.room);
#pragma unroll
    for (unsigned i = 0; i < EACH; i++) {
        sum += share_of(held[i], max);
        sum_beta += held[i] == minus_infinity() ? 0
                                                : expf((held[i] - max) * r.beta);
    }
    block_sums(&sum, &sum_beta, m->choose.room);
    if (!threadIdx.x)
        r.sums[blockIdx.x] = {max, sum, sum_beta};
    choose_held<EACH>(
        &m->choose, order, count, KERNEL_TOP_K, [](unsigned) { return 0.0f; },
        [&](unsigned place, int32_t c, float logit) {
            r.logit[to + place] = logit;
            r.id[to + place] = c < 0 ? -1 : static_cast<int32_t>(first) + c;
        });
}

/* What all shares sum up to, in every thread. */
static __device__ inline struct sums add_shares(const struct ranking &r,
                                                size_t shares, float *room)
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
    block_sums(&all.sum, &all.sum_beta, room);
    return all;
}

static __device__ inline void rank_shares(struct rank_memory *m,
                                          struct kernel_top_k *ret,
                                          const struct ranking &r,
                                          size_t shares)
{
    choose_best(
        &m->choose, shares * KERNEL_TOP_K, KERNEL_TOP_K,
        [&](unsigned c) { return r.logit[c]; },
        [&](unsigned place, int32_t c, float logit) {
            m->id[place] = r.id[c];
            m->logit[place] = logit;
        });
    struct sums all = add_shares(r, shares, m->choose.room); /* has barriers */
    if (!threadIdx.x) {
        ret->sum = all.sum;
        ret->sum_beta = all.sum_beta;
    }
    if (threadIdx.x >= KERNEL_TOP_K)
        return;
    float logit = m->logit[threadIdx.x];
    unsigned rank = 0;
    for (unsigned i = 0; i < KERNEL_TOP_K; i++)
        rank += m->logit[i] > logit ||
                (!(m->logit[i] < logit) && i < threadIdx.x);
    ret->id[rank] = m->id[threadIdx.x];
    ret->logit[rank] = logit;
}

static __global__ void __launch_bounds__(THREADS)
    rank(struct kernel_top_k *ret, struct ranking r, const float *logits,
         size_t n, unsigned stream)
{
    auto *m = static_cast<struct rank_memory *>(cuda_shared());
    rank_share(m, r, logits, n);
    if (is_last_block(stream, 0, gridDim.x, &m->last))
        rank_shares(m, ret, r, gridDim.x);
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
    int code = cuda_launch(run, rank,
                           {shares, 1, 1, THREADS, sizeof(struct rank_memory)},
                           ret, r, logits, n, cuda_stream_number(run));
    return code ? code : cuda_fetch(run, host_ret, ret, sizeof *host_ret);
}

void cuda_fill_top_k(struct kernels *table)
{
    table->top_k = top_k;
}
