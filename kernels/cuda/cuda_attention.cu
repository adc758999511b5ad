/* Dense attention: causal over pages, over all keys (encoders), and HiCI's over
 * segments.  A block takes a tile of rows (queries times the heads that share a
 * key-value head); where there are too few blocks for the device, the keys are
 * split over several (split-KV) whose parts are joined.  Heads of up to
 * TENSOR_MAX_WIDTH go over the tensor cores; few queries over bf16 pages so that
 * each warp has tiles of its own. */
#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_dense_walk.h"
#include "kernels/cuda/cuda_join.h"
#include "kernels/cuda/cuda_prompt.h"
#include "kernels/cuda/cuda_tensor.h"
#include "kernels/cuda/cuda_tiles.h"

#include <type_traits>

constexpr size_t SPLIT_MIN = 64;   /* slots of a part */
constexpr size_t SPLIT_MORE = 1024; /* and where the device is full without it */

/* The rows of a tile, and the widest range of slots that one of them sees. */
struct rows {
    size_t first, count; /* of the batch's queries * group */
    size_t from, to;
};

template <typename Source>
static __device__ inline struct rows rows_of(const Source &s, size_t batch,
                                             size_t tile, unsigned max)
{
    size_t all = s.queries(batch) * s.sizes.group, first = tile * max;
    struct rows rows = {first, 0, 0, 0};
    if (first >= all)
        return rows;
    rows.count = all - first < max ? all - first : max;
    size_t last = (first + rows.count - 1) / s.sizes.group;
    rows.from = s.from(batch, first / s.sizes.group);
    rows.to = s.to(batch, last);
    return rows;
}

/* grid: tiles of rows, key-value heads times parts, batches. */
template <unsigned ROWS, typename Source>
static __global__ void __launch_bounds__(TILE_MAX_WIDTH, 1)
    attend(Source s, struct tile_parts parts, size_t count)
{
    using memory = struct tile_memory<ROWS, typename Source::number>;
    auto *t = static_cast<memory *>(cuda_shared());
    const struct dense_sizes &z = s.sizes;
    size_t batch = blockIdx.z, kv = blockIdx.y % z.hkv;
    size_t part = blockIdx.y / z.hkv;
    struct rows rows = rows_of(s, batch, blockIdx.x, ROWS);
    float sum[ROWS];
    if (!rows.count)
        return;
    if (!threadIdx.x)
        t->rows = static_cast<unsigned>(rows.count);
    for (unsigned r = 0; r < ROWS; r++) {
        size_t row = rows.first + r;
        tile_take_query(t, r,
                        r < rows.count ? s.query(batch, row / z.group,
                                                 kv * z.group + row % z.group)
                                       : nullptr,
                        z.d);
    }
    tile_begin(t, sum);
    size_t tiles = (rows.to - rows.from + TILE - 1) / TILE;
    size_t each = (tiles + count - 1) / count;
    size_t end = (part + 1) * each < tiles ? (part + 1) * each : tiles;
    for (size_t i = part * each; i < end; i++) {
        size_t at = rows.from + i * TILE;
        if (threadIdx.x < TILE) {
            size_t j = at + threadIdx.x;
            bool there = j < rows.to && !s.hidden(j);
            t->key[threadIdx.x] =
                there ? s.key(batch, j) + s.head_at(kv) : nullptr;
            t->value[threadIdx.x] =
                there ? s.value(batch, j) + s.head_at(kv) : nullptr;
        }
        tile_take(
            t, z.d, z.scale,
            [&](unsigned r, unsigned slot) {
                size_t query = (rows.first + r) / z.group;
                return at + slot >= s.from(batch, query) &&
                       at + slot < s.to(batch, query);
            },
            sum);
    }
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        size_t row = rows.first + r;
        if (r < rows.count) {
            size_t place =
                s.place(batch, row / z.group, kv * z.group + row % z.group);
            float *out = parts.log ? parts.out + (part * z.places + place) * z.d
                                   : s.out + place * z.d;
            tile_leave(t, r, sum[r], z.d, out,
                       parts.log ? parts.log + part * z.places + place
                                 : nullptr);
        }
    }
}

/* ---- On the tensor cores ---- */

/* Part `part` of `count` has every count-th tile of the rows' slots.  32 bits do
 * for rows and slots (attend_over), and leave registers for sums. */
template <unsigned ROWS, unsigned WIDTH, typename Source> struct dense_turns {
    static constexpr bool TOGETHER = true;
    static constexpr bool SPARSE = false;
    const Source &s;
    struct tensor_tile<WIDTH, typename Source::number> *t;
    unsigned batch, kv, part, count;
    unsigned first, rows;            /* the block's rows */
    unsigned begin, end;             /* the widest range of slots */
    unsigned row_from[2], row_to[2]; /* of the thread's rows */

    __device__ unsigned at(unsigned turn) const
    {
        return begin + (part + turn * count) * TENSOR_SLOTS;
    }
    __device__ bool is_row(unsigned half) const
    {
        return tensor_row<ROWS>(half) < rows;
    }
    __device__ unsigned query(unsigned half) const
    {
        return (first + tensor_row<ROWS>(half)) /
               static_cast<unsigned>(s.sizes.group);
    }
    __device__ unsigned head(unsigned half) const
    {
        unsigned group = static_cast<unsigned>(s.sizes.group);
        return kv * group + (first + tensor_row<ROWS>(half)) % group;
    }
    __device__ void take_queries(struct tensor_rows<ROWS, WIDTH> *own)
    {
        for (unsigned half = 0; half < 2; half++) {
            bool is = is_row(half);
            size_t i = query(half);
            row_from[half] = is ? static_cast<unsigned>(s.from(batch, i)) : 0;
            row_to[half] = is ? static_cast<unsigned>(s.to(batch, i)) : 0;
            tensor_take_query(own, half,
                              is ? s.query(batch, query(half), head(half))
                                 : nullptr,
                              s.sizes.d);
        }
    }
    /* Of a tile that lies in one page the table is read once. */
    __device__ bool find_in_page(unsigned turn)
    {
        if constexpr (Source::PAGED) {
            const typename Source::number *key, *value;
            size_t step;
            if (at(turn) >= end || !s.one_page(at(turn), TENSOR_SLOTS, &key,
                                               &value, &step))
                return false;
            const size_t from = s.head_at(kv) + lane_of_thread() * step;
            for (unsigned half = 0; half < 2; half++) {
                unsigned j = at(turn) + half * WARP + lane_of_thread();
                bool there = j < end && !s.hidden(j);
                size_t its = from + half * WARP * step;
                t->place(turn, half, there ? key + its : nullptr,
                         there ? value + its : nullptr);
            }
            return true;
        }
        return false;
    }
    __device__ void find(unsigned turn)
    {
        bool found = find_in_page(turn);
        for (unsigned half = 0; !found && half < 2; half++) {
            unsigned j = at(turn) + half * WARP + lane_of_thread();
            bool there = j < end && !s.hidden(j);
            t->place(turn, half,
                     there ? s.key(batch, j) + s.head_at(kv) : nullptr,
                     there ? s.value(batch, j) + s.head_at(kv) : nullptr);
        }
        if (!lane_of_thread())
            t->some[turn & 1] = at(turn) < end;
    }
    __device__ void prepare(unsigned)
    {
    }
    __device__ uint64_t seen(unsigned turn, unsigned half) const
    {
        return tensor_bits(at(turn), row_from[half], row_to[half]);
    }
    __device__ void take(struct tensor_rows<ROWS, WIDTH> *own,
                         struct tensor_scores *scores, unsigned bits,
                         unsigned) const
    {
        tensor_weigh(own, scores, bits);
    }
};

/* Blocks to a processor: as many as shared memory has room for, without spills.  GROUP:
 * where has_warpgroups(), and queries are not in registers. */
template <unsigned ROWS, unsigned WIDTH, typename Number, bool GROUP>
constexpr int TENSOR_BLOCKS = ROWS == TENSOR_FEW || WIDTH == TENSOR_MAX_WIDTH ? 2
                              : sizeof(Number) == 2 && GROUP                 ? 4
                                                                             : 3;

/* grid: as attend's. */
template <unsigned ROWS, unsigned WIDTH, typename Source>
static __global__ void
__launch_bounds__(TENSOR_THREADS,
                  (TENSOR_BLOCKS<ROWS, WIDTH, typename Source::number,
                                 FOR_WARPGROUPS>))
    attend_tensor(Source s, struct tile_parts parts, size_t count)
{
    using tile = struct tensor_tile<WIDTH, typename Source::number>;
    auto *t = static_cast<tile *>(cuda_shared());
    const struct dense_sizes &z = s.sizes;
    const struct rows rows = rows_of(s, blockIdx.z, blockIdx.x, ROWS);
    struct tensor_rows<ROWS, WIDTH> own;
    struct dense_turns<ROWS, WIDTH, Source> turns = {
        s, t, blockIdx.z, blockIdx.y % static_cast<unsigned>(z.hkv),
            blockIdx.y / static_cast<unsigned>(z.hkv),
            static_cast<unsigned>(count), static_cast<unsigned>(rows.first),
            static_cast<unsigned>(rows.count), static_cast<unsigned>(rows.from),
            static_cast<unsigned>(rows.to), {},
        {
        }
    };
    if (!rows.count)
        return;
    tensor_begin(&own);
    turns.take_queries(&own);
    tensor_walk<true>(t, &own, z.d, z.scale * LOG2_E, turns);
    for (unsigned half = 0; half < 2; half++) {
        float *out = nullptr, *log = nullptr;
        if (turns.is_row(half)) {
            size_t place =
                s.place(turns.batch, turns.query(half), turns.head(half));
            size_t at = turns.part * z.places + place;
            out = parts.log ? parts.out + at * z.d : s.out + place * z.d;
            log = parts.log ? parts.log + at : nullptr;
        }
        tensor_leave(&own, half, z.d, out, log);
    }
    if constexpr (ROWS == TENSOR_FEW) {
        size_t group = (blockIdx.z * gridDim.x + blockIdx.x) * z.hkv + turns.kv;
        void *room = cuda_shared();
        if (parts.within && is_last_block(parts.stream, group, count,
                                          static_cast<unsigned *>(room)))
            join_rows(s.out, parts, count, z.places, z.d, false, turns.rows,
                      room, [&](unsigned row) {
                          unsigned its = turns.first + row;
                          unsigned heads = static_cast<unsigned>(z.group);
                          return s.place(turns.batch, its / heads,
                                         turns.kv * heads + its % heads);
                      });
    }
}

/* ---- Each warp on its own ---- */

/* grid: tiles of WARP_ROWS rows, key-value heads, parts. */
template <unsigned WIDTH>
static __global__ void __launch_bounds__(WARP_SHARING<WIDTH> *WARP, 2)
    attend_warps(struct paged<uint16_t> s, struct tile_parts parts)
{
    let_later_begin();
    wait_for_earlier();
    const struct dense_sizes &z = s.sizes;
    unsigned all = static_cast<unsigned>(s.m * z.group);
    unsigned first = blockIdx.x * WARP_ROWS, part = blockIdx.z;
    unsigned warps = blockDim.x / WARP;
    struct warp_rows<WIDTH> own;
    struct dense_walk walk = {s,
                              blockIdx.y,
                              first,
                              all - first < WARP_ROWS ? all - first : WARP_ROWS,
                              part * warps + warp_of_thread(),
                              gridDim.z * warps,
                              0,
                              0,
                              0,
                              {},
                              {}};
    walk.start(&own);
    warp_walk(warp_own_memory<WIDTH>(), &own,
              warp_pages_of(s.pages, z.hkv, z.d, walk.kv), walk);
    warp_gather(&own, z.d, walk.rows, [&](unsigned row, float **out, float **log) {
        size_t place = walk.place(row), at = part * z.places + place;
        *out = parts.log ? parts.out + at * z.d : s.out + place * z.d;
        *log = parts.log ? parts.log + at : nullptr;
    });
    void *room = cuda_shared();
    if (parts.log &&
        is_last_block(parts.stream, blockIdx.x * z.hkv + walk.kv, gridDim.z,
                      static_cast<unsigned *>(room)))
        join_rows(s.out, parts, gridDim.z, z.places, z.d, false, walk.rows, room,
                  [&](unsigned row) { return walk.place(row); });
}

/* ---- Joining ---- */

static __global__ void join_parts(float *out, struct tile_parts parts,
                                  size_t count, size_t rows, size_t d, bool one)
{
    size_t row = blockIdx.x;
    float max = one ? 0 : minus_infinity();
    for (size_t p = 0; p < count; p++)
        max = fmaxf(max, parts.log[p * rows + row]);
    float total = one ? share_of(0, max) : 0;
    for (size_t p = 0; p < count; p++)
        total += share_of(parts.log[p * rows + row], max);
    for (size_t l = threadIdx.x; l < d; l += blockDim.x) {
        float sum = 0;
        for (size_t p = 0; p < count; p++)
            sum += share_of(parts.log[p * rows + row], max) *
                   parts.out[(p * rows + row) * d + l];
        out[row * d + l] = total == 0 ? 0 : sum / total;
    }
}

int cuda_join(struct kernel_run *run, float *out,
              const struct tile_parts *parts, size_t count, size_t rows,
              size_t d, bool one)
{
    return cuda_launch(run, join_parts, {rows, 1, 1, tile_threads(d)}, out,
                       *parts, count, rows, d, one);
}

/* ---- Starting ---- */

/* In how many parts `blocks` that do the same are done soonest, where the device runs
 * `each` to a processor at a time, or as many as have `bytes` of shared memory: in the
 * fewest of those that take about the shortest time, ceil(blocks count / places) /
 * count.  No more than `max`, of which more than fit at once no more than `more`: to
 * join them costs, too. */
static size_t parts_for(size_t blocks, size_t each, size_t bytes, size_t max,
                        size_t more)
{
    constexpr size_t MORE = 2; /* parts that are tried over what fits at once */
    size_t room = cuda_blocks_of_shared(bytes);
    size_t places = (each < room ? each : room) * size_t{cuda_processors()};
    size_t best = places / blocks < max ? places / blocks : max;
    best = best ? best : 1;
    size_t end = best + MORE < more ? best + MORE : more;
    for (size_t count = best + 1; count <= end; count++)
        if (10 * cuda_ceil(blocks * count, places) * best <
            9 * cuda_ceil(blocks * best, places) * count)
            best = count;
    return best;
}

/* Room for what `count` parts leave; false: there is no memory. */
static bool take_parts(struct tile_parts *ret, cuda_workspace *outs,
                       cuda_workspace *logs, size_t count,
                       const struct dense_sizes &z)
{
    ret->out = outs->take<float>(count, z.places, z.d);
    ret->log = logs->take<float>(count, z.places);
    return ret->out && ret->log;
}

/* `kernel` by `rows` rows a block, `each` blocks to a processor; `within`: it can join
 * parts itself. */
template <typename Source>
static int attend_by(struct kernel_run *run, const Source &s, size_t batches,
                     size_t queries, size_t longest, size_t rows,
                     void (*kernel)(Source, struct tile_parts, size_t),
                     unsigned threads, size_t each, size_t bytes, bool within)
{
    const struct dense_sizes &z = s.sizes;
    size_t tiles = cuda_ceil(queries * z.group, rows);
    size_t blocks = tiles * z.hkv * batches;
    size_t count = parts_for(blocks, each, bytes, longest / SPLIT_MIN,
                             longest / (within ? SPLIT_MIN : SPLIT_MORE));
    cuda_workspace outs(run), logs(run);
    struct tile_parts parts = {nullptr, nullptr, false,
                               cuda_stream_number(run)};
    if (count > 1) {
        if (!take_parts(&parts, &outs, &logs, count, z))
            return KERNEL_NO_MEMORY;
        parts.within = within && blocks <= JOIN_MAX;
        size_t joining = parts.within ? join_bytes(count, rows, threads) : 0;
        bytes = joining > bytes ? joining : bytes;
    }
    int code = cuda_launch(run, kernel,
                           {tiles, z.hkv * count, batches, threads, bytes}, s,
                           parts, count);
    return code || count == 1 || parts.within
               ? code
               : cuda_join(run, s.out, &parts, count, z.places, z.d, false);
}

template <unsigned WIDTH>
static int attend_by_warps(struct kernel_run *run,
                           const struct paged<uint16_t> &s, size_t longest)
{
    constexpr unsigned WARPS = WARP_SHARING<WIDTH>;
    const struct dense_sizes &z = s.sizes;
    size_t rows = cuda_ceil(s.m * z.group, WARP_ROWS);
    size_t tiles = cuda_ceil(longest, WARP_SLOTS) + 1;
    size_t max = cuda_ceil(tiles, WARPS);
    size_t bytes = warp_bytes<WIDTH>(WARPS);
    size_t count = parts_for(rows * z.hkv, 2, bytes, max, max);
    cuda_workspace outs(run), logs(run);
    struct tile_parts parts = {nullptr, nullptr, true, cuda_stream_number(run)};
    if (count > 1 && !take_parts(&parts, &outs, &logs, count, z))
        return KERNEL_NO_MEMORY;
    size_t joining = join_bytes(count, WARP_ROWS, WARPS * WARP);
    return cuda_launch(run, attend_warps<WIDTH>,
                       {rows, z.hkv, count, WARPS * WARP,
                        joining > bytes ? joining : bytes, true},
                       s, parts);
}

/* More than TENSOR_FEW rows over bf16 pages; KERNEL_UNSUPPORTED: another way. */
template <unsigned WIDTH>
static int attend_by_groups(struct kernel_run *run,
                            const struct paged<uint16_t> &s, size_t longest)
{
    using Way = struct prompt_way<WIDTH>;
    if (!cuda_has_warpgroups() || s.sizes.d != WIDTH || s.pages.hidden)
        return KERNEL_UNSUPPORTED;
    constexpr size_t BYTES = sizeof(struct prompt_tile<Way>);
    const struct dense_sizes &z = s.sizes;
    const size_t blocks = cuda_ceil(s.m * z.group, Way::ROWS) * z.hkv;
    const size_t count = parts_for(blocks, 1, BYTES, longest / SPLIT_MIN,
                                   longest / SPLIT_MORE);
    cuda_workspace outs(run), logs(run);
    struct tile_parts parts = {nullptr, nullptr, false,
                               cuda_stream_number(run)};
    if (count > 1 && !take_parts(&parts, &outs, &logs, count, z))
        return KERNEL_NO_MEMORY;
    int code = cuda_launch(run, attend_prompt<Way>,
                           {blocks * count, 1, 1, Way::THREADS, BYTES}, s, parts, count);
    return code || count == 1
               ? code
               : cuda_join(run, s.out, &parts, count, z.places, z.d, false);
}

template <unsigned WIDTH, typename Source>
static int attend_on_tensors(struct kernel_run *run, const Source &s,
                             size_t batches, size_t queries, size_t longest)
{
    if constexpr (std::is_same<Source, struct paged<uint16_t>>::value)
        if (queries * s.sizes.group <= TENSOR_FEW &&
            cuda_ceil(TENSOR_FEW, WARP_ROWS) * s.sizes.hkv <= JOIN_MAX)
            return attend_by_warps<WIDTH>(run, s, longest);
    if constexpr (std::is_same<Source, struct paged<uint16_t>>::value) {
        int code = queries * s.sizes.group <= TENSOR_FEW
                       ? KERNEL_UNSUPPORTED
                       : attend_by_groups<WIDTH>(run, s, longest);
        if (code != KERNEL_UNSUPPORTED)
            return code;
    }
    using number = typename Source::number;
    return queries * s.sizes.group <= TENSOR_FEW
               ? attend_by(run, s, batches, queries, longest, TENSOR_FEW,
                           attend_tensor<TENSOR_FEW, WIDTH, Source>,
                           TENSOR_THREADS,
                           TENSOR_BLOCKS<TENSOR_FEW, WIDTH, number, false>,
                           tensor_bytes<TENSOR_FEW, WIDTH, number>(), true)
               : attend_by(run, s, batches, queries, longest, TENSOR_MANY,
                           attend_tensor<TENSOR_MANY, WIDTH, Source>,
                           TENSOR_THREADS,
                           cuda_has_warpgroups()
                               ? TENSOR_BLOCKS<TENSOR_MANY, WIDTH, number, true>
                               : TENSOR_BLOCKS<TENSOR_MANY, WIDTH, number,
                                               false>,
                           tensor_bytes<TENSOR_MANY, WIDTH, number>(), false);
}

template <typename Source>
static int attend_over(struct kernel_run *run, const Source &s, size_t batches,
                       size_t queries, size_t longest)
{
    using number = typename Source::number;
    if (!batches || !queries || !s.sizes.places || !s.sizes.d)
        return KERNEL_OK;
    size_t d = s.sizes.d;
    if (d > TILE_MAX_WIDTH || longest > INT32_MAX ||
        s.sizes.places > INT32_MAX)
        return KERNEL_UNSUPPORTED;
    if (d <= TENSOR_MAX_WIDTH / 2)
        return attend_on_tensors<TENSOR_MAX_WIDTH / 2>(run, s, batches,
                                                        queries, longest);
    if (d <= TENSOR_MAX_WIDTH)
        return attend_on_tensors<TENSOR_MAX_WIDTH>(run, s, batches, queries,
                                                    longest);
    return queries * s.sizes.group <= 4
               ? attend_by(run, s, batches, queries, longest, 4,
                           attend<4, Source>, tile_threads(d), 2,
                           tile_bytes<4, number>(d), false)
               : attend_by(run, s, batches, queries, longest, 16,
                           attend<16, Source>, tile_threads(d), 2,
                           tile_bytes<16, number>(d), false);
}

int cuda_attend_segments(struct kernel_run *run, const struct segments &s,
                         size_t batches)
{
    return attend_over(run, s, batches, s.max_queries(), s.longest());
}

template <typename Number>
static int attend_pages(struct kernel_run *run, float *out, const float *q,
                        const struct kernel_pages *pages, size_t m, size_t n,
                        size_t hq, size_t hkv, size_t d, size_t window)
{
    paged<Number> s = {};
    const auto length = static_cast<uint32_t>(n);
    s.sizes = dense_sizes_of(m * hq, hq, hkv, d);
    s.q = q;
    s.out = out;
    s.pages = *pages;
    s.m = m;
    s.length = cuda_step_words(run, CUDA_LENGTH, &length, 1);
    s.n = s.length ? 0 : n;
    s.window = window;
    return attend_over(run, s, 1, m, window && window < n ? window : n);
}

static int attention(struct kernel_run *run, float *out, const float *q,
                     const struct kernel_pages *pages, size_t m, size_t n,
                     size_t hq, size_t hkv, size_t d, size_t window)
{
    if (n > INT32_MAX || !are_known(pages))
        return KERNEL_UNSUPPORTED;
    return (are_bf16(pages) ? attend_pages<uint16_t>
                            : attend_pages<float>)(run, out, q, pages, m, n, hq,
                                                   hkv, d, window);
}

static int attention_bidirectional(struct kernel_run *run, float *out, const float *q,
                         const float *k, const float *v, size_t m, size_t n,
                         size_t hq, size_t hkv, size_t d, size_t window)
{
    struct segments s = {};
    s.sizes = dense_sizes_of(m * hq, hq, hkv, d);
    s.q = q;
    s.out = out;
    s.k = k;
    s.v = v;
    s.n = n;
    s.segment = n ? n : 1;
    s.asked = m;
    s.window = window;
    return cuda_attend_segments(run, s, 1);
}

static int attention_texts(struct kernel_run *run, float *out, const float *q,
                           const float *k, const float *v,
                           const size_t *host_start, size_t count, size_t hq,
                           size_t hkv, size_t d, size_t window, bool causal)
{
    struct texts s = {};
    int code = KERNEL_OK;
    if (count && host_start[count] > INT32_MAX)
        return KERNEL_UNSUPPORTED;
    s.q = q;
    s.k = k;
    s.v = v;
    s.out = out;
    s.window = window;
    s.causal = causal;
    for (size_t at = 0, some; at < count && !code; at += some) {
        size_t longest = 0;
        some = count - at < texts::MAX ? count - at : texts::MAX;
        for (size_t t = 0; t <= some; t++) {
            size_t end = host_start[at + t];
            s.start[t] = static_cast<uint32_t>(end);
            if (t && end - s.start[t - 1] > longest)
                longest = end - s.start[t - 1];
        }
        size_t both = causal ? window : 2 * window + 1;
        s.sizes = dense_sizes_of(host_start[count] * hq, hq, hkv, d);
        code = attend_over(run, s, some, longest,
                           window && both < longest ? both : longest);
    }
    return code;
}

void cuda_fill_attention(struct kernels *table)
{
    table->attention = attention;
    table->attention_bidirectional = attention_bidirectional;
    table->attention_texts = attention_texts;
}
