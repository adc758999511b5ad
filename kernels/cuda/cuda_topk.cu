/* The likeliest of a row of logits: of each share of the row first, by a block,
 * then of these. */
#include "kernels/cuda/cuda_max.h"
#include "kernels/cuda/cuda_internal.h"

constexpr unsigned THREADS = CHOOSE_THREADS;
constexpr size_t SHARE = 4096; /* logits */

/* Over a share: its largest logit, sums as kernel_likeliest's. */
struct sums {
    float most, sum, sum_beta;
};

struct ranking {
    float *logit;      /* [shares, KERNEL_LIKELIEST], ids ascending in each */
    int32_t *id;       /* [shares, KERNEL_LIKELIEST]; -1: none */
    struct sums *sums; /* [shares] */
    float beta;
};

struct rank_memory {
    struct choose_memory choose;
    int32_t chosen[KERNEL_LIKELIEST];
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
    float most = minus_infinity(), sum = 0, sum_beta = 0;
    for (size_t i = threadIdx.x; i < count; i += THREADS) {
        float logit = logits[first + i];
        m->value[i] = logit == logit ? logit : minus_infinity();
        most = fmaxf(most, m->value[i]);
    }
    most = block_max(most, m->choose.room);
    for (size_t i = threadIdx.x; i < count && most > minus_infinity();
         i += THREADS) {
        sum += expf(m->value[i] - most);
        sum_beta += expf((m->value[i] - most) * r.beta);
    }
    sum = block_sum(sum, m->choose.room);
    sum_beta = block_sum(sum_beta, m->choose.room);
    if (!threadIdx.x)
        r.sums[blockIdx.x] = {most, sum, sum_beta};
    choose_best(&m->choose, m->chosen, m->value, count, KERNEL_LIKELIEST);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < KERNEL_LIKELIEST; i += THREADS) {
        int32_t at = m->chosen[i];
        size_t to = blockIdx.x * size_t{KERNEL_LIKELIEST} + i;
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
        all.most = fmaxf(all.most, r.sums[s].most);
    all.most = block_max(all.most, room);
    for (size_t s = threadIdx.x; s < shares; s += THREADS) {
        const struct sums &own = r.sums[s];
        if (!(own.most > minus_infinity()))
            continue;
        all.sum += own.sum * expf(own.most - all.most);
        all.sum_beta += own.sum_beta * expf((own.most - all.most) * r.beta);
    }
    all.sum = block_sum(all.sum, room);
    all.sum_beta = block_sum(all.sum_beta, room);
    return all;
}

/* One block. */
static __global__ void __launch_bounds__(THREADS)
    rank_shares(struct kernel_likeliest *ret, struct ranking r, size_t shares)
{
    auto *m = static_cast<struct rank_memory *>(cuda_shared());
    struct sums all = add_shares(r, shares, m->choose.room);
    choose_best(&m->choose, m->chosen, r.logit, shares * KERNEL_LIKELIEST,
                KERNEL_LIKELIEST);
    __syncthreads();
    if (!threadIdx.x) {
        ret->sum = all.sum;
        ret->sum_beta = all.sum_beta;
    }
    if (threadIdx.x >= KERNEL_LIKELIEST)
        return;
    int32_t at = m->chosen[threadIdx.x];
    float logit = r.logit[at];
    unsigned rank = 0;
    for (unsigned i = 0; i < KERNEL_LIKELIEST; i++) {
        float other = r.logit[m->chosen[i]];
        rank += other > logit || (!(other < logit) && i < threadIdx.x);
    }
    ret->id[rank] = r.id[at];
    ret->logit[rank] = logit;
}

static int likeliest(struct kernel_run *run, struct kernel_likeliest *host_ret,
                     const float *logits, size_t n, float beta)
{
    size_t shares = cuda_ceil(n, SHARE);
    cuda_room rooms[] = {cuda_room(run), cuda_room(run), cuda_room(run),
                         cuda_room(run)};
    auto *ret = rooms[0].take<struct kernel_likeliest>(1);
    struct ranking r = {rooms[1].take<float>(shares, KERNEL_LIKELIEST),
                        rooms[2].take<int32_t>(shares, KERNEL_LIKELIEST),
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

void cuda_fill_likeliest(struct kernels *table)
{
    table->likeliest = likeliest;
}
