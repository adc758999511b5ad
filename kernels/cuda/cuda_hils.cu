/* HiLS attention: attention to the window and to the chosen chunks; the choice
 * is in cuda_select.cu.  On the tensor cores a block has a tile of neighbouring queries
 * times the heads that share a key-value head, and reads the union of what they
 * chose (cuda_hils_turns.h); over bf16 pages each warp does so for a few of them
 * (cuda_hils_walk.h); wider heads, and longer chunks that weigh as a whole, go
 * the older way, the heads of one query a block.  Where there are too few blocks
 * for the device, the window and the chunks are split over several whose parts
 * are joined. */
#include "kernels/cuda/cuda_hils_turns.h"
#include "kernels/cuda/cuda_hils_walk.h"
#include "kernels/cuda/cuda_join.h"

#include <type_traits>

constexpr unsigned FEW = 4, MANY = 16; /* heads of a block */

struct hils_args {
    struct hils_source s;
    const float *q;
    const int32_t *chosen; /* [m, hkv, top_k] */
    float *out;
    struct tile_parts parts; /* log nullptr: none, out is all there is */
    size_t part_count;
};

/* What was gathered of a row before the chunk at hand. */
template <unsigned ROWS> struct gathered {
    float max[ROWS], total[ROWS]; /* of weights: exp(log - most) */
    float log[ROWS];              /* of the chunk at hand */
    float old_factor[ROWS], new_factor[ROWS];
};

/* log: what was just seen weighs its own exp(score)s. */
template <unsigned ROWS, typename Number>
static __device__ void weigh_own(const struct tile_memory<ROWS, Number> *t,
                                 struct gathered<ROWS> *g)
{
    for (unsigned r = threadIdx.x; r < ROWS; r += blockDim.x)
        g->log[r] =
            t->total[r] == 0 ? minus_infinity() : t->max[r] + logf(t->total[r]);
}

/* log: it weighs exp(the chunk's score); a warp a row. */
template <unsigned ROWS, typename Number>
static __device__ void weigh_chunk(const struct tile_memory<ROWS, Number> *t,
                                   struct gathered<ROWS> *g,
                                   const struct hils_source &s, size_t i,
                                   size_t head, size_t c)
{
    for (unsigned r = warp_of_thread(); r < t->rows; r += blockDim.x / WARP) {
        const float *q = s.query(i, head + r);
        const Number *key = s.summary<Number>(c, head + r);
        float sum = 0;
        for (size_t l = lane_of_thread(); l < s.d; l += WARP)
            sum += q[l] * widened(key[l]);
        sum = warp_sum(sum) * s.scale + s.bias(c, head + r);
        if (!lane_of_thread())
            g->log[r] = t->total[r] == 0 ? minus_infinity() : sum;
    }
    for (unsigned r = t->rows + threadIdx.x; r < ROWS; r += blockDim.x)
        g->log[r] = minus_infinity();
}

/* all [ROWS] takes sum [ROWS], what was just seen. */
template <unsigned ROWS, typename Number>
static __device__ void gather(const struct tile_memory<ROWS, Number> *t,
                              struct gathered<ROWS> *g, const float *sum,
                              float *all)
{
    __syncthreads();
    for (unsigned r = threadIdx.x; r < ROWS; r += blockDim.x) {
        float max = fmaxf(g->max[r], g->log[r]);
        float share = share_of(g->log[r], max);
        g->old_factor[r] = share_of(g->max[r], max);
        g->new_factor[r] = t->total[r] == 0 ? 0 : share / t->total[r];
        g->total[r] = g->total[r] * g->old_factor[r] + share;
        g->max[r] = max;
    }
    __syncthreads();
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        all[r] = all[r] * g->old_factor[r] + sum[r] * g->new_factor[r];
}

/* Takes slots [from, to) that are no landmarks. */
template <unsigned ROWS, typename Number>
static __device__ void take_slots(struct tile_memory<ROWS, Number> *t,
                                  const struct hils_source &s, size_t from,
                                  size_t to, size_t kv, float *sum)
{
    for (size_t at = from; at < to; at += TILE) {
        if (threadIdx.x < TILE) {
            size_t j = at + threadIdx.x;
            bool there = j < to && s.real(j);
            t->key[threadIdx.x] = there ? s.slot_key<Number>(j, kv) : nullptr;
            t->value[threadIdx.x] =
                there ? s.slot_value<Number>(j, kv) : nullptr;
        }
        tile_take(
            t, s.d, s.scale, [](unsigned, unsigned) { return true; }, sum);
    }
}

/* This part's share of `count` things. */
static __device__ inline void share_out(size_t count, size_t parts, size_t part,
                                        size_t *ret_from, size_t *ret_to)
{
    size_t each = (count + parts - 1) / parts;
    *ret_from = part * each < count ? part * each : count;
    *ret_to = *ret_from + each < count ? *ret_from + each : count;
}

/* grid: queries, tiles of heads, parts. */
template <unsigned ROWS, typename Number>
static __global__ void __launch_bounds__(TILE_MAX_WIDTH, 1)
    attend_chosen(struct hils_args a)
{
    auto *t = static_cast<struct tile_memory<ROWS, Number> *>(cuda_shared());
    auto *g = reinterpret_cast<struct gathered<ROWS> *>(tile_queries(t) +
                                                        ROWS * a.s.d);
    const struct hils_source &s = a.s;
    const struct kernel_hils &z = s.sizes;
    size_t i = blockIdx.x, tiles = (s.group + ROWS - 1) / ROWS;
    size_t kv = blockIdx.y / tiles, inner = blockIdx.y % tiles * ROWS;
    size_t head = kv * s.group + inner, rows = s.group - inner;
    rows = rows < ROWS ? rows : ROWS;
    size_t end = static_cast<size_t>(s.position[i]) + 1;
    size_t begin = s.window(i), chunk = z.chunk;
    const int32_t *chosen = a.chosen + (i * z.hkv + kv) * z.top_k;
    float sum[ROWS], all[ROWS] = {};
    if (!threadIdx.x)
        t->rows = static_cast<unsigned>(rows);
    for (unsigned r = threadIdx.x; r < ROWS; r += blockDim.x) {
        g->max[r] = minus_infinity();
        g->total[r] = 0;
    }
    for (unsigned r = 0; r < ROWS; r++)
        tile_take_query(
            t, r, r < rows ? a.q + (i * z.hq + head + r) * s.d : nullptr, s.d);
    size_t from, to;
    share_out((end - begin + TILE - 1) / TILE, a.part_count, blockIdx.z, &from,
              &to);
    tile_begin(t, sum);
    to = begin + to * TILE < end ? begin + to * TILE : end;
    take_slots(t, s, begin + from * TILE, to, kv, sum);
    share_out(z.top_k, a.part_count, blockIdx.z, &from, &to);
    for (size_t c = from; z.exact && c < to && chosen[c] >= 0; c++) {
        size_t slot = static_cast<size_t>(chosen[c]) * chunk;
        take_slots(t, s, slot, slot + chunk, kv, sum);
    }
    weigh_own(t, g);
    gather(t, g, sum, all);
    for (size_t c = from; !z.exact && c < to && chosen[c] >= 0; c++) {
        size_t id = static_cast<size_t>(chosen[c]);
        tile_begin(t, sum);
        take_slots(t, s, id * chunk, id * chunk + chunk, kv, sum);
        weigh_chunk(t, g, s, i, head, id);
        gather(t, g, sum, all);
    }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        if (r < rows) {
            size_t place = i * z.hq + head + r;
            size_t at = blockIdx.z * z.m * z.hq + place;
            float total = g->total[r];
            float *out =
                a.parts.log ? a.parts.out + at * s.d : a.out + place * s.d;
            if (threadIdx.x < s.d)
                out[threadIdx.x] = total == 0 ? 0 : all[r] / total;
            if (a.parts.log && !threadIdx.x)
                a.parts.log[at] =
                    total == 0 ? minus_infinity() : g->max[r] + logf(total);
        }
}

/* grid: tiles of rows, key-value heads, parts. */
template <unsigned ROWS, unsigned WIDTH, typename Number>
static __global__ void __launch_bounds__(TENSOR_THREADS, 2)
    attend_union(struct hils_args a)
{
    struct tensor_rows<ROWS, WIDTH> own;
    const struct hils_source &s = a.s;
    const struct kernel_hils &z = s.sizes;
    auto turns =
        hils_turns_of<ROWS, WIDTH, Number>(s, a.q, a.chosen, 0, z.m * s.group);
    tensor_begin(&own);
    turns.take_queries(&own);
    tensor_walk<true>(&turns.m->tile, &own, s.d, s.scale * LOG2_E, turns);
    for (unsigned half = 0; half < 2; half++) {
        float *out = nullptr, *log = nullptr;
        if (turns.is_row(half)) {
            size_t place = turns.query(half) * z.hq + turns.head(half);
            size_t at = turns.part * z.m * z.hq + place;
            out = a.parts.log ? a.parts.out + at * s.d : a.out + place * s.d;
            log = a.parts.log ? a.parts.log + at : nullptr;
        }
        tensor_leave(&own, half, s.d, out, log);
    }
    if constexpr (ROWS == TENSOR_FEW) {
        void *room = cuda_shared();
        if (a.parts.within &&
            is_last_block(a.parts.stream, blockIdx.x * z.hkv + turns.kv,
                          turns.parts, static_cast<unsigned *>(room)))
            join_rows(a.out, a.parts, turns.parts, z.m * z.hq, s.d, z.softmax1,
                      turns.rows, room, [&](unsigned row) {
                          unsigned its = turns.first + row;
                          return its / turns.group() * z.hq +
                                 turns.kv * turns.group() + its % turns.group();
                      });
    }
}

/* The same of bf16, each warp on its own.  grid: SHARED, tiles of WARP_ROWS rows, which
 * all warps have; else of as many for each warp; key-value heads, parts. */
template <unsigned WIDTH, bool WHOLE, bool SHARED>
static __global__ void __launch_bounds__(
    (SHARED ? WARP_SHARING<WIDTH> : WARP_ALONE) * WARP,
    SHARED ? 2 : 2 * WARP_SHARING<WIDTH> / WARP_ALONE)
    attend_lists(struct hils_args a)
{
    let_later_begin();
    wait_for_earlier();
    const struct hils_source &s = a.s;
    const struct kernel_hils &z = s.sizes;
    unsigned warps = blockDim.x / WARP, warp = warp_of_thread();
    unsigned part = blockIdx.z, all = static_cast<unsigned>(z.m * s.group);
    struct warp_rows<WIDTH> own;
    struct hils_walk<WIDTH, WHOLE> walk(s);
    walk.kv = blockIdx.y;
    walk.first =
        (SHARED ? blockIdx.x : blockIdx.x * WARP_ALONE + warp) * WARP_ROWS;
    if (walk.first >= all)
        return;
    walk.rows = all - walk.first < WARP_ROWS ? all - walk.first : WARP_ROWS;
    walk.worker = SHARED ? part * warps + warp : part;
    walk.workers = SHARED ? gridDim.z * warps : gridDim.z;
    walk.start(&own, a.q, a.chosen);
    warp_walk(warp_own_memory<WIDTH>(), &own,
              warp_pages_of(s.pages, z.hkv, s.d, walk.kv), walk);
    auto where = [&](unsigned row, float **out, float **log) {
        size_t place = walk.place(row), at = part * z.m * z.hq + place;
        *out = a.parts.log ? a.parts.out + at * s.d : a.out + place * s.d;
        *log = a.parts.log ? a.parts.log + at : nullptr;
    };
    if constexpr (SHARED) {
        void *room = cuda_shared();
        warp_gather(&own, s.d, walk.rows, where);
        if (a.parts.within &&
            is_last_block(a.parts.stream, blockIdx.x * z.hkv + walk.kv,
                          gridDim.z, static_cast<unsigned *>(room)))
            join_rows(a.out, a.parts, gridDim.z, z.m * z.hq, s.d, z.softmax1,
                      walk.rows, room,
                      [&](unsigned row) { return walk.place(row); });
    } else {
        for (unsigned e = 0; e < 2; e++) {
            float *out = nullptr, *log = nullptr;
            if (warp_row(e) < walk.rows)
                where(warp_row(e), &out, &log);
            warp_leave(&own, e, s.d, out, log);
        }
    }
}

/* `kernel` by a grid of `grid.x` times `grid.y` blocks, in as many parts as are
 * `wanted`, `max` at most; `within`: it can join them itself. */
static int attend_in_parts(struct kernel_run *run, struct hils_args *a,
                           void (*kernel)(struct hils_args),
                           struct cuda_grid grid, size_t wanted, size_t max,
                           bool within)
{
    const struct kernel_hils &z = a->s.sizes;
    size_t rows = z.m * z.hq;
    a->part_count = wanted < max ? wanted : max;
    cuda_workspace outs(run), logs(run);
    if (a->part_count > 1 || z.softmax1) { /* which joining adds */
        a->parts.out = outs.take<float>(a->part_count, rows, z.d);
        a->parts.log = logs.take<float>(a->part_count, rows);
        if (!a->parts.out || !a->parts.log)
            return KERNEL_NO_MEMORY;
        a->parts.within = within && grid.x * grid.y <= JOIN_MAX;
        a->parts.stream = cuda_stream_number(run);
        size_t joining =
            a->parts.within
                ? join_bytes(a->part_count, TENSOR_FEW, grid.threads)
                : 0;
        grid.shared = joining > grid.shared ? joining : grid.shared;
    }
    grid.z = a->part_count;
    int code = cuda_launch(run, kernel, grid, *a);
    return code || !a->parts.log || a->parts.within
               ? code
               : cuda_join(run, a->out, &a->parts, a->part_count, rows, z.d,
                           z.softmax1);
}

template <unsigned ROWS, typename Number>
static int attend_one_by_one(struct kernel_run *run, struct hils_args *a)
{
    const struct kernel_hils &z = a->s.sizes;
    size_t window = z.window < z.n ? z.window : z.n;
    size_t max = cuda_ceil(window + z.chunk, TILE);
    size_t tiles = cuda_ceil(a->s.group, ROWS) * z.hkv;
    return attend_in_parts(
        run, a, attend_chosen<ROWS, Number>,
        {z.m, tiles, 1, tile_threads(z.d),
         tile_bytes<ROWS, Number>(z.d) + sizeof(struct gathered<ROWS>)},
        cuda_ceil(2 * size_t{cuda_processors()}, z.m * tiles),
        max > z.top_k ? max : z.top_k, false);
}

template <unsigned ROWS, unsigned WIDTH>
static int attend_tiles(struct kernel_run *run, struct hils_args *a)
{
    const struct kernel_hils &z = a->s.sizes;
    size_t window = z.window < z.n ? z.window : z.n;
    size_t max = cuda_ceil(window, TENSOR_SLOTS) + 1 + z.top_k;
    size_t tiles = cuda_ceil(z.m * a->s.group, ROWS);
    return attend_in_parts(
        run, a, attend_union<ROWS, WIDTH, float>,
        {tiles, z.hkv, 1, TENSOR_THREADS,
         sizeof(struct hils_memory<ROWS, WIDTH, float>)},
        cuda_ceil(2 * size_t{cuda_processors()}, tiles * z.hkv), max,
        ROWS == TENSOR_FEW);
}

/* Of bf16.  Parts are as few as let each warp have a tile where all share rows; else
 * there are several only where the warps would not fill the device. */
template <unsigned WIDTH, bool WHOLE>
static int attend_by_warps(struct kernel_run *run, struct hils_args *a)
{
    constexpr unsigned SHARING = WARP_SHARING<WIDTH>;
    constexpr size_t LEAST = 4; /* tiles of a part */
    const struct kernel_hils &z = a->s.sizes;
    size_t rows = z.m * a->s.group, processors = cuda_processors();
    size_t window = z.window < z.n ? z.window : z.n;
    size_t max = cuda_ceil(window, WARP_SLOTS) + 1 +
                 z.top_k * cuda_ceil(z.chunk, WARP_SLOTS);
    if (rows <= TENSOR_FEW) {
        size_t tiles = cuda_ceil(rows, WARP_ROWS);
        return attend_in_parts(run, a, attend_lists<WIDTH, WHOLE, true>,
                               {tiles, z.hkv, 1, SHARING * WARP,
                                warp_bytes<WIDTH>(SHARING), true},
                               cuda_ceil(2 * processors, tiles * z.hkv),
                               cuda_ceil(max, SHARING), true);
    }
    size_t tiles = cuda_ceil(rows, WARP_ROWS * WARP_ALONE);
    size_t wanted = 2 * SHARING / WARP_ALONE * processors / (tiles * z.hkv);
    return attend_in_parts(run, a, attend_lists<WIDTH, WHOLE, false>,
                           {tiles, z.hkv, 1, WARP_ALONE * WARP,
                            warp_bytes<WIDTH>(WARP_ALONE), true},
                           wanted ? wanted : 1, cuda_ceil(max, LEAST), false);
}

template <unsigned WIDTH, typename Number>
static int attend_on_tensors(struct kernel_run *run, struct hils_args *a)
{
    if constexpr (std::is_same<Number, uint16_t>::value)
        return (a->s.sizes.exact ? attend_by_warps<WIDTH, false>
                                 : attend_by_warps<WIDTH, true>)(run, a);
    else
        return a->s.sizes.m * a->s.group <= TENSOR_FEW
                   ? attend_tiles<TENSOR_FEW, WIDTH>(run, a)
                   : attend_tiles<TENSOR_MANY, WIDTH>(run, a);
}

/* By the way that suits the sizes. */
template <typename Number>
static int attend(struct kernel_run *run, struct hils_args *a)
{
    const struct kernel_hils &z = a->s.sizes;
    bool tensors = z.d <= TENSOR_MAX_WIDTH &&
                   (z.exact || z.chunk <= TENSOR_SLOTS) &&
                   z.top_k <= UNION_MAX_LENGTH;
    if (tensors)
        return z.d <= TENSOR_MAX_WIDTH / 2
                   ? attend_on_tensors<TENSOR_MAX_WIDTH / 2, Number>(run, a)
                   : attend_on_tensors<TENSOR_MAX_WIDTH, Number>(run, a);
    return a->s.group <= FEW ? attend_one_by_one<FEW, Number>(run, a)
                             : attend_one_by_one<MANY, Number>(run, a);
}

static int hils_attention(struct kernel_run *run, float *out, const float *q,
                          const float *qhat, const struct kernel_pages *pages,
                          const struct kernel_summaries *summaries,
                          const int32_t *position, const int32_t *landmark,
                          const int32_t *chosen,
                          const struct kernel_hils *sizes)
{
    struct hils_args a = {};
    if (!sizes->m || !sizes->d)
        return KERNEL_OK;
    if (sizes->d > TILE_MAX_WIDTH || sizes->n > INT32_MAX ||
        sizes->chunk > INT32_MAX || sizes->m > INT32_MAX / sizes->hq ||
        !are_known(pages) || (!sizes->exact && !are_alike(summaries, pages)))
        return KERNEL_UNSUPPORTED;
    struct kernel_hils steady = hils_steady(*sizes);
    steady.chunks = 0; /* a choice is by candidates */
    a.s = hils_source_of(qhat, pages, summaries, position, landmark, &steady);
    a.q = q;
    a.chosen = chosen;
    a.out = out;
    return are_bf16(pages) ? attend<uint16_t>(run, &a) : attend<float>(run, &a);
}

/* Not there: sessions do without (`reranks`). */
static int cuda_hils_rerank(struct kernel_run *, int32_t *, const int32_t *,
                            size_t, const float *, const struct kernel_pages *,
                            const int32_t *, const struct kernel_hils *)
{
    return KERNEL_UNSUPPORTED;
}

void cuda_fill_hils(struct kernels *table)
{
    table->hils_choose = cuda_hils_choose;
    table->hils_rerank = cuda_hils_rerank;
    table->reranks = false;
    table->hils_attention = hils_attention;
}
