/* What HiLS attention knows of a chunk: summaries, or means of its keys. */
#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_reads.h"
#include "kernels/cuda/cuda_tiles.h"

constexpr unsigned THREADS = 128;

/* A head's summary key of chunk c. */
template <typename Number>
static __device__ __forceinline__ Number *summary_key(
    const struct kernel_summaries &summaries, size_t c, size_t head, size_t d)
{
    return reinterpret_cast<Number *>(summaries.keys[c] + summaries.key_at) +
           head * d;
}

/* ---- Proxies ---- */

/* A block for each chunk and query head. */
template <typename Number>
static __global__ void __launch_bounds__(THREADS)
    put_proxies(const struct kernel_summaries summaries,
                const struct kernel_proxies proxies, size_t first, size_t d)
{
    size_t half = proxies.angles ? d / 2 : 0;
    Number *key =
        summary_key<Number>(summaries, first + blockIdx.x, blockIdx.y, d);
    const float *x = proxies.x + blockIdx.x * proxies.step + blockIdx.y * d;
    const float *by = proxies.angles + blockIdx.x * proxies.turn;
    for (size_t j = threadIdx.x; j < half; j += THREADS) {
        float p = x[j], q = x[j + half], c = by[j], s = by[j + half];
        write_one(key + j, p * c - q * s);
        write_one(key + j + half, q * c + p * s);
    }
    for (size_t j = 2 * half + threadIdx.x; j < d; j += THREADS)
        write_one(key + j, x[j]);
}

static int chunk_proxies(struct kernel_run *run,
                         const struct kernel_summaries *summaries,
                         const struct kernel_proxies *proxies, size_t first,
                         size_t chunks, size_t hq, size_t d)
{
    if (summaries->type != KERNEL_F32 && summaries->type != KERNEL_BF16)
        return KERNEL_UNSUPPORTED;
    return cuda_launch(run,
                       summaries->type == KERNEL_BF16 ? put_proxies<uint16_t>
                                                      : put_proxies<float>,
                       {chunks, hq, 1, THREADS}, *summaries, *proxies, first,
                       d);
}

/* ---- Summaries ---- */

struct summary_sizes {
    size_t first, chunk, keys; /* keys: of a chunk but its landmark's */
    size_t group, hkv, d;
    float scale;
};

/* score [keys] = proxy . k / sqrt(d), a warp a key; then their shares.  Gives
 * -sum p ln p. */
template <typename Number>
static __device__ __forceinline__ float weigh_keys(
    float *score, const float *proxy, const struct kernel_pages &pages,
    const struct summary_sizes &z, size_t slot, size_t at, float *room)
{
    for (size_t j = warp_of_thread(); j < z.keys; j += THREADS / WARP) {
        const Number *key =
            key_at<Number>(pages, slot + j, page_step(pages, z.hkv, z.d)) + at;
        float sum = 0;
        for (size_t l = lane_of_thread(); l < z.d; l += WARP)
            sum += widened(key[l]) * proxy[l];
        sum = warp_sum(sum) * z.scale;
        if (!lane_of_thread())
            score[j] = sum;
    }
    __syncthreads();
    float max = minus_infinity(), total = 0, entropy = 0;
    for (size_t j = threadIdx.x; j < z.keys; j += THREADS)
        max = fmaxf(max, score[j]);
    max = block_max(max, room);
    for (size_t j = threadIdx.x; j < z.keys; j += THREADS)
        total += expf(score[j] - max);
    total = block_sum(total, room);
    float all = logf(total);
    for (size_t j = threadIdx.x; j < z.keys; j += THREADS) {
        float log = score[j] - max - all, p = expf(log);
        entropy -= p > 0 ? p * log : 0;
        score[j] = p;
    }
    return block_sum(entropy, room); /* its barriers let score be read */
}

/* A block for each chunk and query head, whose summary is of the keys' numbers. */
template <typename Number>
static __global__ void __launch_bounds__(THREADS, 1)
    summarise(struct kernel_summaries summaries, struct kernel_pages pages,
              struct summary_sizes z)
{
    float *room = static_cast<float *>(cuda_shared());
    float *proxy = room + MAX_WARPS, *score = proxy + z.d;
    size_t c = z.first + blockIdx.x, head = blockIdx.y;
    size_t slot = c * z.chunk, at = page_at(pages, head / z.group, z.d);
    Number *key = summary_key<Number>(summaries, c, head, z.d);
    for (size_t l = threadIdx.x; l < z.d; l += THREADS)
        proxy[l] = widened(key[l]);
    __syncthreads();
    float bias = weigh_keys<Number>(score, proxy, pages, z, slot, at, room);
    for (size_t l = threadIdx.x; l < z.d; l += THREADS) {
        float sum = 0;
        for (size_t j = 0; j < z.keys; j++)
            sum += score[j] *
                   widened(key_at<Number>(
                       pages, slot + j, page_step(pages, z.hkv, z.d))[at + l]);
        write_one(key + l, sum);
    }
    if (!threadIdx.x)
        summaries.biases[c][summaries.bias_at + head] = bias;
}

static int chunk_summary(struct kernel_run *run,
                         const struct kernel_summaries *summaries,
                         const struct kernel_pages *pages, size_t first,
                         size_t chunks, size_t chunk, size_t hq, size_t hkv,
                         size_t d)
{
    const struct dense_sizes sizes = dense_sizes_of(1, hq, hkv, d);
    const struct summary_sizes z = {first, chunk, chunk - 1,  sizes.group,
                                    hkv,   d,     sizes.scale};
    if (chunk > CUDA_MAX_SHARED || d > CUDA_MAX_SHARED ||
        first + chunks > INT32_MAX / chunk || !are_known(pages) ||
        summaries->type != pages->type)
        return KERNEL_UNSUPPORTED;
    return cuda_launch(
        run, are_bf16(pages) ? summarise<uint16_t> : summarise<float>,
        {chunks, hq, 1, THREADS, (MAX_WARPS + d + chunk) * sizeof(float)},
        *summaries, *pages, z);
}

/* ---- Means ---- */

/* A block for each chunk and mean of a key-value head. */
template <typename Number>
static __global__ void __launch_bounds__(THREADS)
    average_keys(struct kernel_summaries summaries, struct kernel_pages pages,
                 size_t first, size_t chunk, size_t keys, size_t hkv, size_t d)
{
    size_t c = first + blockIdx.x, kv = blockIdx.y / summaries.means;
    size_t slot = c * chunk + blockIdx.y % summaries.means * keys;
    size_t step = page_step(pages, hkv, d), at = page_at(pages, kv, d);
    uint16_t *mean = summary_key<uint16_t>(summaries, c, blockIdx.y, d);
    for (size_t l = threadIdx.x; l < d; l += THREADS) {
        float sum = 0;
        for (size_t j = slot; j < slot + keys; j++)
            sum += widened(key_at<Number>(pages, j, step)[at + l]);
        mean[l] = to_bf16(sum / static_cast<float>(keys));
    }
}

static int chunk_means(struct kernel_run *run,
                       const struct kernel_summaries *summaries,
                       const struct kernel_pages *pages, size_t first,
                       size_t chunks, size_t chunk, size_t hkv, size_t d)
{
    if (first + chunks > INT32_MAX / chunk || !are_known(pages))
        return KERNEL_UNSUPPORTED;
    return cuda_launch(
        run, are_bf16(pages) ? average_keys<uint16_t> : average_keys<float>,
        {chunks, hkv * summaries->means, 1, THREADS}, *summaries, *pages, first,
        chunk, chunk / summaries->means, hkv, d);
}

void cuda_fill_summaries(struct kernels *table)
{
    table->chunk_proxies = chunk_proxies;
    table->chunk_summary = chunk_summary;
    table->chunk_means = chunk_means;
}
