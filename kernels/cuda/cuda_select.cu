/* The chunks that each query of HiLS attention reads: scores of all candidates (of
 * each mean of their keys, of which the highest stays), the logarithm of what each
 * head's softmax divides by, the best. */
#include "kernels/cuda/cuda_select.h"
#include "kernels/cuda/cuda_candidates.h"
#include "kernels/cuda/cuda_choose.h"
#include "kernels/cuda/cuda_hils_turns.h"

constexpr unsigned MANY = 16;        /* rows of a block */
constexpr size_t CHOOSE_SHARE = 256; /* candidates of a block, at least */
constexpr size_t ROOMY_CHUNKS = 16;

/* log [m, hq] of the sum of the window's exp(score)s.  A block has a tile of
 * rows, queries times the heads of a group.  grid: tiles, key-value heads. */
template <unsigned ROWS, typename Number>
static __global__ void __launch_bounds__(TILE_MAX_WIDTH, 1)
    sum_windows(float *log, struct hils_source s, const float *q, size_t first,
                size_t m)
{
    auto *t = static_cast<struct tile_memory<ROWS, Number> *>(cuda_shared());
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
                j < end && s.real(j) ? s.slot_key<Number>(j, kv) : nullptr;
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
        log[i * s.heads + head] =
            t->total[r] == 0 ? minus_infinity() : t->max[r] + logf(t->total[r]);
    }
}

/* The same on the tensor cores, in parts: log [parts, m, hq].  grid: tiles of
 * rows, key-value heads, parts. */
template <unsigned ROWS, unsigned WIDTH, typename Number>
static __global__ void __launch_bounds__(TENSOR_THREADS, 2)
    sum_by_tensors(float *log, struct hils_source s, const float *q,
                   size_t first, size_t m)
{
    struct tensor_rows<ROWS, WIDTH> own;
    auto turns = hils_turns_of<ROWS, WIDTH, Number>(
        s, q, nullptr, first * s.group, m * s.group);
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

/* Sums of the windows of queries [first, first + m), in `parts`. */
struct windows {
    float *log;
    const float *q;
    size_t first, m, parts;
};

template <unsigned ROWS, unsigned WIDTH, typename Number>
static int sum_tiles(struct kernel_run *run, const struct hils_source &s,
                     const struct windows &w)
{
    return cuda_launch(run, sum_by_tensors<ROWS, WIDTH, Number>,
                       {cuda_ceil(w.m * s.group, ROWS), s.sizes.hkv, w.parts,
                        TENSOR_THREADS,
                        sizeof(struct hils_memory<ROWS, WIDTH, Number>)},
                       w.log, s, w.q, w.first, w.m);
}

template <unsigned WIDTH, typename Number>
static int sum_on_tensors(struct kernel_run *run, const struct hils_source &s,
                          const struct windows &w)
{
    return w.m * s.group <= TENSOR_FEW
               ? sum_tiles<TENSOR_FEW, WIDTH, Number>(run, s, w)
               : sum_tiles<TENSOR_MANY, WIDTH, Number>(run, s, w);
}

/* Wider heads: one part. */
template <unsigned ROWS, typename Number>
static int sum_by_threads(struct kernel_run *run, const struct hils_source &s,
                          const struct windows &w)
{
    return cuda_launch(run, sum_windows<ROWS, Number>,
                       {cuda_ceil(w.m * s.group, ROWS), s.sizes.hkv, 1,
                        tile_threads(s.d), tile_bytes<ROWS, Number>(s.d)},
                       w.log, s, w.q, w.first, w.m);
}

/* Blocks enough for the device, each with one of the window's tiles at least. */
static size_t parts_of(const struct hils_source &s, size_t m)
{
    const struct kernel_hils &z = s.sizes;
    if (z.d > TENSOR_MAX_WIDTH)
        return 1;
    size_t rows = m * s.group <= TENSOR_FEW ? TENSOR_FEW : TENSOR_MANY;
    size_t blocks = cuda_ceil(m * s.group, rows) * z.hkv;
    size_t wanted = cuda_ceil(2 * size_t{cuda_processors()}, blocks);
    size_t tiles = cuda_ceil(z.window < z.n ? z.window : z.n, TENSOR_SLOTS) + 1;
    return wanted < tiles ? wanted : tiles;
}

/* Blocks enough for the device, each with candidates enough to be worth it and no
 * more than it holds; the best of all shares are then about as many as a share. */
static size_t splits_of(const struct hils_source &s, size_t m)
{
    size_t max = s.sizes.chunks / CHOOSE_SHARE, even = 1;
    size_t wanted = cuda_ceil(2 * size_t{cuda_processors()}, m * s.sizes.hkv);
    wanted = wanted < max ? wanted : max;
    if (wanted <= 1 || m * s.sizes.hkv > JOIN_MAX)
        return 1;
    while (even * even * (s.sizes.top_k + 1) < s.sizes.chunks)
        even++;
    wanted = wanted < even ? wanted : even;
    size_t least = cuda_ceil(s.sizes.chunks, HELD_TILE);
    return wanted > least ? wanted : least;
}

static int choose_split(struct kernel_run *run, const struct hils_source &s,
                        struct choosing a)
{
    const size_t totals = s.group * sizeof(float);
    const size_t memory = sizeof(struct choose_memory);
    int code = KERNEL_OK;
    if (!a.sums)
        code = cuda_launch(run, sum_shares,
                           {a.splits, s.sizes.hkv, a.m, CHOOSE_THREADS,
                            MAX_WARPS * sizeof(float)},
                           a, s);
    a.sums = a.sums ? a.sums : a.splits;
    return code ? code
                : cuda_launch(run, choose_in_shares,
                              {a.splits, s.sizes.hkv, a.m, CHOOSE_THREADS,
                               memory + totals, true},
                              a, s);
}

template <typename Number>
static int sum_all(struct kernel_run *run, const struct hils_source &s,
                   const struct windows &w)
{
    if (s.d <= TENSOR_MAX_WIDTH / 2)
        return sum_on_tensors<TENSOR_MAX_WIDTH / 2, Number>(run, s, w);
    if (s.d <= TENSOR_MAX_WIDTH)
        return sum_on_tensors<TENSOR_MAX_WIDTH, Number>(run, s, w);
    return sum_by_threads<MANY, Number>(run, s, w);
}

/* Chunks by their summaries, which are of the pages' numbers. */
template <typename Number> struct summary_source : hils_source {
    using number = Number;
    static constexpr bool SHARED = false, MEANS = false;
    __device__ const Number *key(size_t c, size_t head) const
    {
        return summary<Number>(c, head);
    }
};

/* Means of keys, each as if it were a chunk. */
struct mean_source : hils_source {
    using number = uint16_t;
    static constexpr bool SHARED = true, MEANS = true;
    __device__ size_t candidates(size_t i) const
    {
        return hils_source::candidates(i) * summaries.means;
    }
    __device__ const uint16_t *key(size_t mean, size_t head) const
    {
        unsigned means = static_cast<unsigned>(summaries.means);
        unsigned c = static_cast<unsigned>(mean) / means;
        return summary<uint16_t>(c, head / group * means +
                                        static_cast<unsigned>(mean) % means);
    }
    __device__ static float bias(size_t, size_t)
    {
        return 0;
    }
};

/* score [m, hq, chunks] = the highest of each chunk's, and shift.  grid: chunks, query
 * heads, queries. */
static __global__ void __launch_bounds__(CHOOSE_THREADS)
    keep_highest(float *score, const float *each, struct hils_source s,
                 size_t first, size_t chunks, float shift)
{
    size_t c = blockIdx.x * size_t{CHOOSE_THREADS} + threadIdx.x;
    size_t row = blockIdx.z * s.heads + blockIdx.y, means = s.summaries.means;
    if (c >= s.candidates(first + blockIdx.z))
        return;
    each += (row * chunks + c) * means;
    float max = each[0];
    for (size_t i = 1; i < means; i++)
        max = fmaxf(max, each[i]);
    score[row * chunks + c] = max + shift;
}

/* What the highest of a chunk's means is short of their sum. */
static float shift_of(const struct hils_source &s)
{
    size_t means = s.summaries.means;
    return means ? logf(static_cast<float>(s.sizes.chunk / means)) : 0;
}

static int score_means(struct kernel_run *run, const struct hils_source &s,
                       const struct choosing &a, const struct windows &w)
{
    struct mean_source each = {s};
    int code = score_many(run, a.each, each, w.first, w.m,
                         a.chunks * s.summaries.means);
    return code ? code
                : cuda_launch(run, keep_highest,
                              {cuda_ceil(a.chunks, CHOOSE_THREADS), s.heads,
                               w.m, CHOOSE_THREADS},
                              a.score, a.each, s, w.first, a.chunks,
                              shift_of(s));
}

/* The slots of windows, whose keys score as candidates do (cuda_few.h). */
template <typename Number> struct window_source : hils_source {
    using number = Number;
    static constexpr bool IS = true, SHARED = true, MEANS = false;
    const float *q; /* [.., hq, d] */

    __device__ size_t from(size_t i) const
    {
        return window(i);
    }
    __device__ size_t candidates(size_t i) const
    {
        return static_cast<size_t>(position[i]) + 1;
    }
    __device__ bool there(size_t j) const
    {
        return real(j);
    }
    __device__ const float *query(size_t i, size_t head) const
    {
        return q + (i * heads + head) * d;
    }
    __device__ const Number *key(size_t j, size_t head) const
    {
        return slot_key<Number>(j, head / group);
    }
    __device__ static float bias(size_t, size_t)
    {
        return 0;
    }
};

/* Few queries: scores of candidates, and what softmax divides by of these and of the
 * windows, by one launch. */
template <typename Number>
static int score_and_sum(struct kernel_run *run, const struct hils_source &s,
                         struct choosing *a, const struct windows &w)
{
    const struct kernel_hils &z = s.sizes;
    const struct window_source<Number> window = {s, w.q};
    size_t means = s.summaries.means;
    size_t slots = (z.window < z.n ? z.window : z.n) + z.chunk;
    struct few_scores its = {a->score,
                             a->sum,
                             a->chunks,
                             static_cast<unsigned>(w.first),
                             static_cast<unsigned>(w.m),
                             0,
                             0,
                             shift_of(s)};
    int code = means ? start_few(run, &its, mean_source{s}, window,
                                 a->chunks * means, slots)
                     : start_few(run, &its, summary_source<Number>{s}, window,
                                 a->chunks, slots);
    a->sums = its.blocks + its.parts;
    a->parts = 0;
    return code;
}

/* The same of more queries, each by a launch of its own. */
template <typename Number>
static int score_then_sum(struct kernel_run *run, const struct hils_source &s,
                          struct choosing *a, const struct windows &w)
{
    a->sums = 0;
    int code = a->each ? score_means(run, s, *a, w)
                       : score_many(run, a->score, summary_source<Number>{s},
                                    w.first, w.m, a->chunks);
    return code ? code : sum_all<Number>(run, s, w);
}

template <typename Number>
static int score(struct kernel_run *run, const struct hils_source &s,
                 struct choosing *a, const struct windows &w)
{
    return w.m <= SCORE_FEW ? score_and_sum<Number>(run, s, a, w)
                            : score_then_sum<Number>(run, s, a, w);
}

static int choose_batch(struct kernel_run *run, const struct hils_source &s,
                        struct choosing a, const struct windows &w)
{
    int code = are_bf16(&s.pages) ? score<uint16_t>(run, s, &a, w)
                                  : score<float>(run, s, &a, w);
    if (code || a.splits > 1)
        return code ? code : choose_split(run, s, a);
    return cuda_launch(run, choose_chunks,
                       {a.m, s.sizes.hkv, 1, CHOOSE_THREADS,
                        sizeof(struct chosen_memory) + s.group * sizeof(float),
                        true},
                       a, s);
}

/* ---- Many queries, many chunks (cuda_candidates.h) ---- */

constexpr size_t GROUP_LEAST = 32;            /* queries */
constexpr size_t GROUP_LEAST_CHUNKS = 512;    /* fewer are chosen from sooner */
constexpr size_t GROUP_MOST_CHUNKS = 1 << 17; /* whose groups a block holds */
constexpr size_t GROUP_MOST_HEADS = 64;       /* of a group */
constexpr size_t GROUP_MOST_CHOSEN = LIST_ROOM / 16; /* lists have more */
constexpr size_t FINE_CHUNKS = 4096; /* up to which groups are small, */
constexpr size_t FINE_CHOSEN = 32;   /* and of more than are chosen */

static bool are_for_groups(const struct hils_source &s)
{
    return cuda_has_warpgroups() && are_bf16(&s.pages) && !s.summaries.means &&
           s.d <= GROUP_WIDTH && s.group <= GROUP_MOST_HEADS &&
           s.sizes.m >= GROUP_LEAST && s.sizes.chunks >= GROUP_LEAST_CHUNKS &&
           s.sizes.chunks <= GROUP_MOST_CHUNKS &&
           s.sizes.top_k <= GROUP_MOST_CHOSEN;
}

/* What find_limits takes of shared memory. */
static size_t limit_bytes(const struct hils_source &s, size_t orders)
{
    return LIST_WARPS * (orders + s.group) * sizeof(float);
}

/* Fewer groups than chunks that are chosen are no limit.  Small ones of few chunks and
 * for many chosen, as long as a block holds them. */
static unsigned groups_of(const struct hils_source &s, size_t key_tiles)
{
    bool fine =
        s.sizes.chunks <= FINE_CHUNKS || s.sizes.top_k > FINE_CHOSEN;
    return fine && limit_bytes(s, key_tiles * MANY_GROUPS) <= CUDA_MAX_MORE
               ? MANY_GROUPS
               : FEW_GROUPS;
}

/* Queries of a batch, all of which are as large, as far as tiles allow. */
static size_t group_batch(const struct hils_source &s, size_t groups,
                          size_t key_tiles)
{
    const struct kernel_hils &z = s.sizes;
    size_t each = z.hq * (key_tiles * groups + GROUP_WIDTH) +
                  z.hkv * LIST_ROOM * (sizeof(struct found_chunk) / 4);
    size_t most = choose_max_scores() / each / GROUP_TILE * GROUP_TILE;
    most = most ? most : GROUP_TILE;
    size_t even = cuda_ceil(z.m, cuda_ceil(z.m, most));
    return cuda_ceil(even, GROUP_TILE) * GROUP_TILE;
}

static int choose_of_groups(struct kernel_run *run, const struct hils_source &s,
                            const struct candidate_lists &a, const struct windows &w)
{
    const struct kernel_hils &z = s.sizes;
    const size_t rows = a.m * z.hkv, tiles = cuda_ceil(a.m, GROUP_TILE);
    const size_t orders = a.packed.key_tiles * a.groups;
    const struct cuda_grid walks = {tiles, z.hq, a.parts, GROUP_TILE_THREADS,
                                    sizeof(struct group_memory)};
    const size_t lists = cuda_ceil(rows, LIST_WARPS);
    int code = cuda_launch(run, pack_queries,
                           {2 * tiles, z.hq, 1, GROUP_TILE_THREADS}, a.packed, s,
                           a.first, a.m);
    code = code ? code : sum_all<uint16_t>(run, s, w);
    code = code ? code
                : cuda_launch(run,
                              a.groups == FEW_GROUPS
                                  ? sum_candidates<FEW_GROUPS>
                                  : sum_candidates<MANY_GROUPS>,
                              walks, a, s);
    code = code ? code
                : cuda_launch(
                      run, find_limits,
                      {lists, 1, 1, LIST_THREADS, limit_bytes(s, orders)},
                      a, s);
    code = code ? code : cuda_launch(run, keep_candidates, walks, a, s);
    code = code ? code
                : cuda_launch(run, choose_candidates,
                              {lists, 1, 1, LIST_THREADS,
                               LIST_WARPS * LIST_ROOM * sizeof(uint64_t)},
                              a, s);
    return code ? code
                : cuda_launch(run, choose_again,
                              {cuda_processors(), 1, 1, CHOOSE_THREADS,
                               sizeof(struct choose_memory) +
                                   s.group * GROUP_WIDTH * sizeof(float)},
                              a, s);
}

/* s.sizes.chunks are no more than there are.  KERNEL_NO_MEMORY: scores may have room
 * all the same. */
static int choose_by_groups(struct kernel_run *run, int32_t *chosen,
                            const float *q, const struct hils_source &s)
{
    const struct kernel_hils &z = s.sizes;
    const size_t key_tiles = cuda_ceil(z.chunks, GROUP_TILE);
    const unsigned groups = groups_of(s, key_tiles);
    const size_t batch = group_batch(s, groups, key_tiles);
    const size_t tiles = batch / GROUP_TILE, lists = batch * z.hkv;
    const size_t parts = cuda_ceil(8 * size_t{cuda_processors()}, tiles * z.hq);
    cuda_workspace queries(run), keys(run), biases(run), logs(run), highs(run);
    cuda_workspace lesses(run), limits(run), counts(run), founds(run);
    cuda_workspace agains(run), worths(run);
    struct candidate_lists a = {};
    a.packed.tiles = static_cast<unsigned>(tiles);
    a.packed.key_tiles = static_cast<unsigned>(key_tiles);
    a.packed.queries =
        queries.take<uint16_t>(z.hq * tiles, size_t{4} * GROUP_PANEL);
    a.packed.keys =
        keys.take<uint16_t>(z.hq * key_tiles, size_t{2} * GROUP_PANEL);
    a.packed.biases = biases.take<float>(z.hq * key_tiles, GROUP_TILE);
    a.chunks = z.chunks;
    a.windows = parts_of(s, batch);
    a.parts = parts < key_tiles ? parts : key_tiles;
    a.log = logs.take<float>(a.windows + a.parts, batch, z.hq);
    a.groups = groups;
    a.high = highs.take<float>(z.hq * key_tiles, batch, groups);
    a.less = lesses.take<float>(z.hq, batch);
    a.limit = limits.take<float>(lists);
    a.count = counts.take<unsigned>(lists);
    a.list = founds.take<struct found_chunk>(lists, LIST_ROOM);
    a.again = agains.take<unsigned>(lists + 1);
    a.worth = worths.take<float>(cuda_processors(), z.chunks);
    a.chosen = chosen;
    if (!a.packed.queries || !a.packed.keys || !a.packed.biases || !a.log ||
        !a.high || !a.less || !a.limit || !a.count || !a.list || !a.again ||
        !a.worth)
        return KERNEL_NO_MEMORY;
    int code = cuda_launch(run, pack_keys,
                           {2 * key_tiles, z.hq, 1, GROUP_TILE_THREADS}, a.packed, s,
                           z.chunks);
    for (; !code && a.first < z.m; a.first += batch) {
        a.m = z.m - a.first < batch ? z.m - a.first : batch;
        code = choose_of_groups(run, s, a,
                                {a.log, q, a.first, a.m, a.windows});
    }
    return code;
}

/* As many chunks or somewhat more, so that what a step asks for stays the same for a
 * while: a sixteenth of it, of few ROOMY_CHUNKS. */
static size_t roomy(size_t chunks)
{
    size_t each = ROOMY_CHUNKS;
    while (each < chunks / 16)
        each *= 2;
    return cuda_ceil(chunks, each) * each;
}

/* Scores of all chunks, of as many queries at once as there is room for. */
static int choose_by_scores(struct kernel_run *run, int32_t *chosen,
                            const float *q, const struct hils_source &s)
{
    const struct kernel_hils &z = s.sizes;
    size_t each = z.chunks * z.hq, means = s.summaries.means;
    size_t batch =
        each ? choose_max_scores() / each / (means ? means : 1) : z.m;
    batch = batch < 1 ? 1 : batch < z.m ? batch : z.m;
    batch = batch < CUDA_MAX_ROWS ? batch : CUDA_MAX_ROWS;
    cuda_workspace scores(run), logs(run), sums(run), bests(run), worths(run);
    cuda_workspace eaches(run);
    struct choosing a = {};
    size_t parts = parts_of(s, batch);
    a.chosen = chosen;
    a.score = scores.take<float>(batch, each);
    bool few = batch <= SCORE_FEW;
    if (means && !few)
        a.each = eaches.take<float>(batch, each, means);
    float *log = logs.take<float>(few ? 0 : parts, batch, z.hq);
    a.log = log;
    a.parts = parts;
    a.chunks = z.chunks;
    a.splits = splits_of(s, batch);
    a.stream = cuda_stream_number(run);
    bool fine = a.score && log && (a.each || !means || few);
    if (fine) {
        size_t logs_of_few = few_logs() * (few ? batch : SCORE_FEW);
        size_t count = a.splits * batch;
        a.sum = sums.take<float>(count > logs_of_few ? count : logs_of_few,
                                 z.hq);
        fine = a.sum;
    }
    if (a.splits > 1 && fine) {
        size_t rows = batch * z.hkv;
        a.best = bests.take<int32_t>(rows, a.splits, z.top_k);
        a.worth = worths.take<float>(rows, a.splits, z.top_k);
        fine = a.best && a.worth;
    }
    int code = fine ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (; !code && a.first < z.m; a.first += batch) {
        size_t left = z.m - a.first;
        a.m = left < batch ? left : batch;
        code = choose_batch(run, s, a, {log, q, a.first, a.m, parts});
    }
    return code;
}

int cuda_hils_choose(struct kernel_run *run, int32_t *chosen, const float *q,
                     const float *qhat, const struct kernel_pages *pages,
                     const struct kernel_summaries *summaries,
                     const int32_t *position, const int32_t *landmark,
                     const struct kernel_hils *asked)
{
    struct kernel_hils sizes = hils_steady(*asked);
    if (!sizes.m || !sizes.d)
        return KERNEL_OK;
    if (sizes.d > TILE_MAX_WIDTH || sizes.hq > CUDA_MAX_SHARED / 8 ||
        asked->n > INT32_MAX || sizes.m > INT32_MAX / sizes.hq ||
        sizes.chunk > INT32_MAX || !are_known(pages) ||
        !are_alike(summaries, pages) || summaries->means > INT32_MAX)
        return KERNEL_UNSUPPORTED;
    struct hils_source s =
        hils_source_of(qhat, pages, summaries, position, landmark, &sizes);
    if (are_for_groups(s)) {
        int code = choose_by_groups(run, chosen, q, s);
        if (code != KERNEL_NO_MEMORY)
            return code;
    }
    s.sizes.chunks = sizes.m <= SCORE_FEW
                         ? roomy(sizes.chunks)
                         : cuda_ceil(sizes.chunks, 2) * 2; /* cuda_select.h */
    return choose_by_scores(run, chosen, q, s);
}
