/* The chunks that each query of HiLS attention reads: scores of all candidates,
 * the logarithm of what each head's softmax divides by, the best. */
#include "kernels/cuda/choose.h"
#include "kernels/cuda/hils_turns.h"

constexpr unsigned FEW = 4, MANY = 16; /* rows of a block */

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

/* The same on the tensor cores, in parts: log [parts, m, hq].  grid: tiles of
 * rows, key-value heads, parts. */
template <unsigned ROWS, unsigned WIDTH>
static __global__ void __launch_bounds__(TENSOR_THREADS, 2)
    sum_by_tensors(float *log, struct hils_source s, const float *q,
                   size_t first, size_t m)
{
    struct tensor_rows<ROWS, WIDTH> own;
    auto turns =
        hils_turns_of<ROWS, WIDTH>(s, q, nullptr, first * s.group, m * s.group);
    tensor_begin(&own);
    turns.take_queries(&own);
    tensor_walk<false>(&turns.m->tile, &own, s.d, s.scale * LOG2_E, turns);
    for (unsigned half = 0; half < 2; half++) {
        float *to = nullptr;
        if (turns.is_row(half))
            to = log + (turns.part * m + turns.query(half) - first) * s.heads +
                 turns.head(half);
        tensor_leave_log(&own, half, to);
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

static __device__ float log_of_both(float a, float b)
{
    float most = fmaxf(a, b), total = share_of(a, most) + share_of(b, most);
    return total == 0 ? minus_infinity() : most + logf(total);
}

/* A block for each query and key-value head; log is in parts.  Over the first of the group's
 * rows of scores goes what a chunk is worth: the highest of the heads' scores,
 * each less its total. */
static __global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_chunks(int32_t *chosen, float *score, const float *log, size_t parts,
                  struct hils_source s, size_t first, size_t chunks)
{
    auto *m = static_cast<struct choose_memory *>(cuda_shared());
    float *total = reinterpret_cast<float *>(m + 1); /* [group] */
    size_t i = blockIdx.x, kv = blockIdx.y;
    size_t count = s.candidates(first + i), head = kv * s.group;
    score += (i * s.heads + head) * chunks;
    for (size_t g = 0; g < s.group; g++) {
        float window = minus_infinity();
        for (size_t p = 0; p < parts; p++)
            window = log_of_both(window,
                                 log[(p * gridDim.x + i) * s.heads + head + g]);
        float all = log_total(score + g * chunks, count, window, m->room);
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

/* Sums of the windows of queries [first, first + m), in `parts`. */
struct windows {
    float *log;
    const float *q;
    size_t first, m, parts;
};

template <unsigned ROWS, unsigned WIDTH>
static int sum_tiles(struct kernel_run *run, const struct hils_source &s,
                     const struct windows &w)
{
    return cuda_launch(run, sum_by_tensors<ROWS, WIDTH>,
                       {cuda_ceil(w.m * s.group, ROWS), s.sizes.hkv, w.parts,
                        TENSOR_THREADS,
                        sizeof(struct hils_memory<ROWS, WIDTH>)},
                       w.log, s, w.q, w.first, w.m);
}

template <unsigned WIDTH>
static int sum_on_tensors(struct kernel_run *run, const struct hils_source &s,
                          const struct windows &w)
{
    return w.m * s.group <= TENSOR_FEW
               ? sum_tiles<TENSOR_FEW, WIDTH>(run, s, w)
               : sum_tiles<TENSOR_MANY, WIDTH>(run, s, w);
}

/* Wider heads: one part. */
template <unsigned ROWS>
static int sum_by_threads(struct kernel_run *run, const struct hils_source &s,
                          const struct windows &w)
{
    return cuda_launch(run, sum_windows<ROWS>,
                       {cuda_ceil(w.m * s.group, ROWS), s.sizes.hkv, 1,
                        tile_threads(s.d), tile_bytes<ROWS>(s.d)},
                       w.log, s, w.q, w.first, w.m);
}

/* Blocks enough for the device, each with one of the window's tiles at least. */
static size_t parts_of(const struct hils_source &s, size_t m)
{
    const struct kernel_hils &z = s.sizes;
    if (z.d > TENSOR_MOST_WIDTH)
        return 1;
    size_t rows = m * s.group <= TENSOR_FEW ? TENSOR_FEW : TENSOR_MANY;
    size_t blocks = cuda_ceil(m * s.group, rows) * z.hkv;
    size_t wanted = cuda_ceil(2 * size_t{cuda_processors()}, blocks);
    size_t tiles = cuda_ceil(z.window < z.n ? z.window : z.n, TENSOR_SLOTS) + 1;
    return wanted < tiles ? wanted : tiles;
}

static int choose_batch(struct kernel_run *run, int32_t *chosen,
                        const struct hils_source &s, float *score,
                        const struct windows &w)
{
    const struct kernel_hils &z = s.sizes;
    int code = score_all(run, score, s, w.first, w.m, z.chunks);
    if (code)
        return code;
    if (s.d <= TENSOR_MOST_WIDTH / 2)
        code = sum_on_tensors<TENSOR_MOST_WIDTH / 2>(run, s, w);
    else if (s.d <= TENSOR_MOST_WIDTH)
        code = sum_on_tensors<TENSOR_MOST_WIDTH>(run, s, w);
    else
        code = w.m * s.group <= FEW ? sum_by_threads<FEW>(run, s, w)
                                    : sum_by_threads<MANY>(run, s, w);
    return code ? code
                : cuda_launch(
                      run, choose_chunks,
                      {w.m, z.hkv, 1, CHOOSE_THREADS,
                       sizeof(struct choose_memory) + s.group * sizeof(float)},
                      chosen, score, static_cast<const float *>(w.log), w.parts,
                      s, w.first, z.chunks);
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
        sizes->n > INT32_MAX || sizes->m > INT32_MAX / sizes->hq ||
        sizes->chunk > INT32_MAX)
        return KERNEL_UNSUPPORTED;
    struct hils_source s =
        hils_source_of(qhat, pages, summaries, position, landmark, sizes);
    size_t each = sizes->chunks * sizes->hq;
    size_t batch = each ? CHOOSE_MOST_SCORES / each : sizes->m;
    batch = batch < 1 ? 1 : batch < sizes->m ? batch : sizes->m;
    batch = batch < CUDA_MOST_ROWS ? batch : CUDA_MOST_ROWS;
    cuda_room scores(run), logs(run);
    size_t parts = parts_of(s, batch);
    float *score = scores.take<float>(batch, each);
    float *log = logs.take<float>(parts, batch, sizes->hq);
    int code = score && log ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t at = 0; !code && at < sizes->m; at += batch) {
        size_t m = sizes->m - at < batch ? sizes->m - at : batch;
        code = choose_batch(run, chosen, s, score, {log, q, at, m, parts});
    }
    return code;
}
