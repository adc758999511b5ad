/* The chunks that each query of HiLS attention reads: scores of all candidates,
 * the logarithm of what each head's softmax divides by, the best. */
#include "kernels/cuda/choose.h"
#include "kernels/cuda/hils.h"

constexpr unsigned FEW = 4, MANY = 16; /* queries, or rows, of a block */

/* log [m, hq] of the sum of the window's exp(score)s.  A block has a tile of
 * rows, queries times the heads of a group.  grid: tiles, key-value heads. */
template <unsigned ROWS>
static __global__ void __launch_bounds__(TILE_MOST_WIDTH, 1)
    sum_windows(float *log, struct hils_source s, const float *q, size_t first,
                size_t m)
{
    auto *t = static_cast<struct tile_memory<ROWS> *>(cuda_shared());
    size_t kv = blockIdx.y, row = blockIdx.x * size_t{ROWS};
    size_t rows = m * s.group - row < ROWS ? m * s.group - row : ROWS;
    size_t begin = SIZE_MAX, end = 0;
    float sum[ROWS];
    if (!threadIdx.x)
        t->rows = static_cast<unsigned>(rows);
    for (unsigned r = 0; r < ROWS; r++) {
        const float *from = nullptr;
        if (r < rows) {
            size_t i = first + (row + r) / s.group;
            size_t head = kv * s.group + (row + r) % s.group;
            size_t to = static_cast<size_t>(s.position[i]) + 1;
            from = q + (i * s.heads + head) * s.d;
            begin = s.window(i) < begin ? s.window(i) : begin;
            end = to > end ? to : end;
        }
        tile_take_query(t, r, from, s.d);
    }
    tile_begin(t, sum);
    for (size_t at = begin; at < end; at += TILE) {
        struct tile_scores<ROWS> scores;
        if (threadIdx.x < TILE) {
            size_t j = at + threadIdx.x;
            t->key[threadIdx.x] =
                j < end && s.real(j) ? s.slot_key(j, kv) : nullptr;
        }
        tile_score(t, s.d, s.scale, &scores);
        tile_weigh(t, &scores, [&](unsigned r, unsigned slot) {
            size_t i = first + (row + r) / s.group;
            return at + slot >= s.window(i) &&
                   at + slot <= static_cast<size_t>(s.position[i]);
        });
        __syncthreads();
    }
    for (unsigned r = threadIdx.x; r < rows; r += blockDim.x) {
        size_t i = (row + r) / s.group;
        size_t head = kv * s.group + (row + r) % s.group;
        log[i * s.heads + head] = t->total[r] == 0
                                      ? minus_infinity()
                                      : t->most[r] + logf(t->total[r]);
    }
}

/* The logarithm of exp(log) and of all exp(score) together.  All threads come. */
static __device__ float log_total(const float *score, size_t count, float log,
                                  float *room)
{
    float most = log, total = 0;
    for (size_t c = threadIdx.x; c < count; c += CHOOSE_THREADS)
        most = fmaxf(most, score[c]);
    most = block_max(most, room);
    for (size_t c = threadIdx.x; c < count; c += CHOOSE_THREADS)
        total += share_of(score[c], most);
    total = block_sum(total, room) + share_of(log, most);
    return total == 0 ? minus_infinity() : most + logf(total);
}

/* A block for each query and key-value head.  Over the first of the group's
 * rows of scores goes what a chunk is worth: the highest of the heads' scores,
 * each less its total. */
static __global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_chunks(int32_t *chosen, float *score, const float *log,
                  struct hils_source s, size_t first, size_t chunks)
{
    auto *m = static_cast<struct choose_memory *>(cuda_shared());
    float *total = reinterpret_cast<float *>(m + 1); /* [group] */
    size_t i = blockIdx.x, kv = blockIdx.y;
    size_t count = s.candidates(first + i), head = kv * s.group;
    score += (i * s.heads + head) * chunks;
    for (size_t g = 0; g < s.group; g++) {
        float all = log_total(score + g * chunks, count,
                              log[i * s.heads + head + g], m->room);
        if (!threadIdx.x)
            total[g] = all;
    }
    __syncthreads();
    for (size_t c = threadIdx.x; c < count; c += CHOOSE_THREADS) {
        float most = score[c] - total[0];
        for (size_t g = 1; g < s.group; g++)
            most = fmaxf(most, score[g * chunks + c] - total[g]);
        score[c] = most;
    }
    __syncthreads();
    choose_best(m, chosen + ((first + i) * s.sizes.hkv + kv) * s.sizes.top_k,
                score, count, s.sizes.top_k);
}

template <unsigned ROWS>
static int choose_by(struct kernel_run *run, int32_t *chosen, const float *q,
                     const struct hils_source &s, float *score, float *log,
                     size_t first, size_t m)
{
    const struct kernel_hils &z = s.sizes;
    unsigned threads = tile_threads(s.d);
    size_t bytes = tile_bytes<ROWS>(s.d);
    int code = cuda_launch(
        run, score_chunks<ROWS, struct hils_source>,
        {cuda_ceil(z.chunks, TILE), z.hq, cuda_ceil(m, ROWS), threads, bytes},
        score, s, first, m, z.chunks);
    if (!code)
        code = cuda_launch(
            run, sum_windows<ROWS>,
            {cuda_ceil(m * s.group, ROWS), z.hkv, 1, threads, bytes}, log, s, q,
            first, m);
    return code ? code
                : cuda_launch(
                      run, choose_chunks,
                      {m, z.hkv, 1, CHOOSE_THREADS,
                       sizeof(struct choose_memory) + s.group * sizeof(float)},
                      chosen, score, static_cast<const float *>(log), s, first,
                      z.chunks);
}

int cuda_hils_choose(struct kernel_run *run, int32_t *chosen, const float *q,
                     const float *qhat, const struct kernel_pages *pages,
                     const struct kernel_summaries *summaries,
                     const int32_t *position, const int32_t *landmark,
                     const struct kernel_hils *sizes)
{
    if (!sizes->m || !sizes->d)
        return KERNEL_OK;
    if (sizes->d > TILE_MOST_WIDTH || sizes->hq > CUDA_MOST_SHARED / 8 ||
        sizes->n > INT32_MAX)
        return KERNEL_UNSUPPORTED;
    struct hils_source s =
        hils_source_of(qhat, pages, summaries, position, landmark, sizes);
    size_t each = sizes->chunks * sizes->hq;
    size_t batch = each ? CHOOSE_MOST_SCORES / each : sizes->m;
    batch = batch < 1 ? 1 : batch < sizes->m ? batch : sizes->m;
    batch = batch < CUDA_MOST_ROWS ? batch : CUDA_MOST_ROWS;
    cuda_room scores(run), logs(run);
    float *score = scores.take<float>(batch, each);
    float *log = logs.take<float>(batch, sizes->hq);
    int code = score && log ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t at = 0; !code && at < sizes->m; at += batch) {
        size_t m = sizes->m - at < batch ? sizes->m - at : batch;
        code = m * s.group <= FEW
                   ? choose_by<FEW>(run, chosen, q, s, score, log, at, m)
                   : choose_by<MANY>(run, chosen, q, s, score, log, at, m);
    }
    return code;
}
