/* STAR attention: the best earlier chunks by their summary tokens, then the
 * three parts; a block for each query and head. */
#include "kernels/cuda/choose.h"
#include "kernels/cuda/dense.h"

constexpr unsigned QUERIES = 16; /* of a block that scores */

struct star_source {
    const float *q; /* [m, hq, d] */
    struct kernel_pages pages;
    size_t m, n, hkv, chunk;
    size_t d, heads, group;
    float scale;

    __device__ size_t slot(size_t i) const
    {
        return n - m + i;
    }
    __device__ size_t candidates(size_t i) const
    {
        return slot(i) / chunk;
    }
    __device__ const float *query(size_t i, size_t head) const
    {
        return q + (i * heads + head) * d;
    }
    __device__ const float *key_of(size_t j, size_t head) const
    {
        return key_at(pages, j, page_step(pages, hkv, d)) +
               page_at(pages, head / group, d);
    }
    __device__ const float *value_of(size_t j, size_t head) const
    {
        return value_at(pages, j, page_step(pages, hkv, d)) +
               page_at(pages, head / group, d);
    }
    __device__ size_t summary(size_t c) const
    {
        return c * chunk + chunk - 1;
    }
    __device__ const float *key(size_t c, size_t head) const
    {
        return key_of(summary(c), head);
    }
    __device__ float bias(size_t, size_t) const
    {
        return 0;
    }
};

/* chosen [m, heads, top_k] by score [m, heads, chunks]. */
static __global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_by_summary(int32_t *chosen, const float *score, struct star_source s,
                      size_t first, size_t chunks, size_t top_k)
{
    size_t row = blockIdx.x * s.heads + blockIdx.y;
    choose_best(static_cast<struct choose_memory *>(cuda_shared()),
                chosen + row * top_k, score + row * chunks,
                s.candidates(first + blockIdx.x), top_k);
}

/* Attention to `count` slots, the i-th of which is slot(i), times `share`. */
template <typename Slot>
static __device__ float part_of(struct tile_memory<1> *t,
                                const struct star_source &s, size_t head,
                                size_t count, float share, Slot slot)
{
    float sum[1];
    tile_begin(t, sum);
    for (size_t at = 0; at < count; at += TILE) {
        if (threadIdx.x < TILE) {
            size_t i = at + threadIdx.x, j = i < count ? slot(i) : 0;
            t->key[threadIdx.x] = i < count ? s.key_of(j, head) : nullptr;
            t->value[threadIdx.x] = i < count ? s.value_of(j, head) : nullptr;
        }
        tile_take(
            t, s.d, s.scale, [](unsigned, unsigned) { return true; }, sum);
    }
    return t->total[0] == 0 ? 0 : share * sum[0] / t->total[0];
}

/* grid: queries, heads.  out [m, heads, d] of the queries from `first` on. */
static __global__ void __launch_bounds__(TILE_MOST_WIDTH, 1)
    attend_parts(float *out, struct star_source s, const int32_t *chosen,
                 const float *gate, size_t first, size_t top_k)
{
    auto *t = static_cast<struct tile_memory<1> *>(cuda_shared());
    size_t i = first + blockIdx.x, head = blockIdx.y, slot = s.slot(i);
    size_t before = slot / s.chunk, begin = before * s.chunk;
    size_t count = before < top_k ? before : top_k;
    float most = fmaxf(gate[0], fmaxf(gate[1], gate[2]));
    float share[3], all = 0, sum;
    chosen += (blockIdx.x * s.heads + head) * top_k;
    for (unsigned p = 0; p < 3; p++)
        all += share[p] = expf(gate[p] - most);
    if (!threadIdx.x)
        t->rows = 1;
    tile_take_query(t, 0, s.query(i, head), s.d);
    sum = part_of(t, s, head, slot - begin + 1, before ? share[0] / all : 1,
                  [&](size_t j) { return begin + j; });
    sum += part_of(t, s, head, before, share[1] / all,
                   [&](size_t c) { return s.summary(c); });
    sum += part_of(t, s, head, count * s.chunk, share[2] / all, [&](size_t j) {
        return static_cast<size_t>(chosen[j / s.chunk]) * s.chunk + j % s.chunk;
    });
    if (threadIdx.x < s.d)
        out[(i * s.heads + head) * s.d + threadIdx.x] = sum;
}

static int attend_batch(struct kernel_run *run, float *out,
                        const struct star_source &s, float *score,
                        int32_t *chosen, const float *gate, size_t first,
                        size_t m, size_t chunks, size_t top_k)
{
    int code =
        cuda_launch(run, score_chunks<QUERIES, struct star_source>,
                    {cuda_ceil(chunks, TILE), s.heads, cuda_ceil(m, QUERIES),
                     tile_threads(s.d), tile_bytes<QUERIES>(s.d)},
                    score, s, first, m, chunks);
    if (!code)
        code = cuda_launch(
            run, choose_by_summary,
            {m, s.heads, 1, CHOOSE_THREADS, sizeof(struct choose_memory)},
            chosen, static_cast<const float *>(score), s, first, chunks, top_k);
    return code ? code
                : cuda_launch(
                      run, attend_parts,
                      {m, s.heads, 1, tile_threads(s.d), tile_bytes<1>(s.d)},
                      out, s, static_cast<const int32_t *>(chosen), gate, first,
                      top_k);
}

static int star_attention(struct kernel_run *run, float *out, const float *q,
                          const struct kernel_pages *pages, const float *gate,
                          size_t m, size_t n, size_t hq, size_t hkv, size_t d,
                          size_t chunk, size_t top_k)
{
    if (!m || !d)
        return KERNEL_OK;
    if (d > TILE_MOST_WIDTH || n > INT32_MAX)
        return KERNEL_UNSUPPORTED;
    const struct dense_sizes dense = dense_sizes_of(1, hq, hkv, d);
    const struct star_source s = {q, *pages, m,           n,          hkv, chunk,
                                  d, hq,     dense.group, dense.scale};
    size_t chunks = (n - 1) / chunk; /* of the last query */
    top_k = top_k < chunks ? top_k : chunks;
    size_t batch = chunks ? CHOOSE_MOST_SCORES / (chunks * hq) : m;
    batch = batch < 1 ? 1 : batch < m ? batch : m;
    batch = batch < CUDA_MOST_ROWS ? batch : CUDA_MOST_ROWS;
    cuda_room scores(run), choices(run);
    float *score = scores.take<float>(batch, hq, chunks);
    int32_t *chosen = choices.take<int32_t>(batch, hq, top_k);
    int code = score && chosen ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t at = 0; !code && at < m; at += batch)
        code = attend_batch(run, out, s, score, chosen, gate, at,
                            m - at < batch ? m - at : batch, chunks, top_k);
    return code;
}

void cuda_fill_star(struct kernels *table)
{
    table->star_attention = star_attention;
}
