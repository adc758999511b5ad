/* STAR attention: the best earlier chunks by their summary tokens, then the
 * three parts.  On the tensor cores a block has one part of a tile of queries
 * times the heads that share a key-value head; heads wider than that, a block for
 * each query and head. */
#include "kernels/cuda/cuda_select.h"
#include "kernels/cuda/cuda_dense.h"
#include "kernels/cuda/cuda_union.h"

template <typename Number> struct star_source {
    using number = Number; /* of keys and values */
    static constexpr bool SHARED = true, MEANS = false; /* cuda_few.h */
    const float *q;                                     /* [m, hq, d] */
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
    __device__ static size_t from(size_t)
    {
        return 0;
    }
    __device__ static bool there(size_t)
    {
        return true;
    }
    __device__ const float *query(size_t i, size_t head) const
    {
        return q + (i * heads + head) * d;
    }
    __device__ const Number *key_of(size_t j, size_t head) const
    {
        return key_at<Number>(pages, j, page_step(pages, hkv, d)) +
               page_at(pages, head / group, d);
    }
    __device__ const Number *value_of(size_t j, size_t head) const
    {
        return value_at<Number>(pages, j, page_step(pages, hkv, d)) +
               page_at(pages, head / group, d);
    }
    __device__ size_t summary(size_t c) const
    {
        return c * chunk + chunk - 1;
    }
    __device__ const Number *key(size_t c, size_t head) const
    {
        return key_of(summary(c), head);
    }
    __device__ float bias(size_t, size_t) const
    {
        return 0;
    }
};

/* chosen [m, heads, top_k] by score [m, heads, chunks]; `slot` is the first
 * query's.  grid: queries, heads. */
static __global__ void __launch_bounds__(CHOOSE_THREADS, 2)
    choose_by_summary(int32_t *chosen, const float *score, size_t slot,
                      size_t chunk, size_t chunks, size_t top_k)
{
    size_t row = blockIdx.x * size_t{gridDim.y} + blockIdx.y;
    score += row * chunks;
    chosen += row * top_k;
    choose_best(
        static_cast<struct choose_memory *>(cuda_shared()),
        (slot + blockIdx.x) / chunk, top_k,
        [&](unsigned c) { return score[c]; },
        [&](unsigned place, int32_t c, float) { chosen[place] = c; });
}

/* Attention to `count` slots, the i-th of which is slot(i), times `share`. */
template <typename Number, typename Slot>
static __device__ float part_of(struct tile_memory<1, Number> *t,
                                const struct star_source<Number> &s,
                                size_t head, size_t count, float share,
                                Slot slot)
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
template <typename Number>
static __global__ void __launch_bounds__(TILE_MAX_WIDTH, 1)
    attend_parts(float *out, struct star_source<Number> s,
                 const int32_t *chosen, const float *gate, size_t first,
                 size_t top_k)
{
    auto *t = static_cast<struct tile_memory<1, Number> *>(cuda_shared());
    size_t i = first + blockIdx.x, head = blockIdx.y, slot = s.slot(i);
    size_t before = slot / s.chunk, begin = before * s.chunk;
    size_t count = before < top_k ? before : top_k;
    float max = fmaxf(gate[0], fmaxf(gate[1], gate[2]));
    float share[3], all = 0, sum;
    chosen += (blockIdx.x * s.heads + head) * top_k;
    for (unsigned p = 0; p < 3; p++)
        all += share[p] = expf(gate[p] - max);
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

/* ---- On the tensor cores ---- */

enum star_part { STAR_OWN, STAR_SUMMARIES, STAR_CHOSEN, STAR_PARTS };

template <unsigned WIDTH, typename Number> struct star_memory {
    struct tensor_tile<WIDTH, Number> tile;
    struct union_state chunks;
};

/* The tiles of one part.  A row is a query of the batch, which begins at `first`,
 * and a head of the group; each row has a list of its own. */
template <unsigned ROWS, unsigned WIDTH, typename Number> struct star_turns {
    /* Wider, there are no registers to spare for it. */
    static constexpr bool TOGETHER = false;
    static constexpr bool SPARSE = WIDTH < TENSOR_MAX_WIDTH;
    const struct star_source<Number> &s;
    struct star_memory<WIDTH, Number> *m;
    const int32_t *chosen; /* [batch, heads, top_k] */
    unsigned length;       /* top_k */
    unsigned kv, part, first, row, rows;
    unsigned begin, end; /* slots, or chunks, of the first two parts */

    __device__ unsigned group() const
    {
        return static_cast<unsigned>(s.group);
    }
    __device__ unsigned chunk() const
    {
        return static_cast<unsigned>(s.chunk);
    }
    __device__ bool is_row(unsigned half) const
    {
        return tensor_row<ROWS>(half) < rows;
    }
    __device__ unsigned query(unsigned half) const /* of the batch */
    {
        return (row + tensor_row<ROWS>(half)) / group();
    }
    __device__ unsigned head(unsigned half) const
    {
        return kv * group() + (row + tensor_row<ROWS>(half)) % group();
    }
    __device__ unsigned slot(unsigned i) const
    {
        return static_cast<unsigned>(s.slot(first + i));
    }
    __device__ const int32_t *list(unsigned r) const
    {
        size_t i = (row + r) / group(), h = kv * group() + (row + r) % group();
        return chosen + (i * s.heads + h) * length;
    }
    __device__ void take_queries(struct tensor_rows<ROWS, WIDTH> *own)
    {
        unsigned last = slot((row + rows - 1) / group());
        begin = part == STAR_OWN ? slot(row / group()) / chunk() * chunk() : 0;
        end = part == STAR_OWN ? last + 1 : last / chunk();
        for (unsigned half = 0; half < 2; half++)
            tensor_take_query(own, half,
                              is_row(half)
                                  ? s.query(first + query(half), head(half))
                                  : nullptr,
                              s.d);
        if (part == STAR_CHOSEN && !warp_of_thread())
            m->chunks.begin(*this, chunk());
    }
    /* For union_state: row r's chunk at `place` of its list. */
    __device__ unsigned count() const
    {
        return rows;
    }
    __device__ int32_t at(unsigned r, unsigned place) const
    {
        unsigned before = slot((row + r) / group()) / chunk();
        return place < length && place < before ? list(r)[place] : -1;
    }
    __device__ void find(unsigned turn)
    {
        size_t its[2] = {SIZE_MAX, SIZE_MAX};
        unsigned from = begin + turn * TENSOR_SLOTS;
        bool some = part == STAR_CHOSEN
                        ? m->chunks.fill(turn, *this, chunk(), 0, 1, false, its)
                        : from < end;
        for (unsigned half = 0; half < 2; half++) {
            unsigned i = from + half * WARP + lane_of_thread();
            if (part != STAR_CHOSEN && i < end)
                its[half] = part == STAR_OWN ? i : s.summary(i);
            size_t j = its[half], h = kv * group();
            bool there = j != SIZE_MAX;
            m->tile.place(turn, half, there ? s.key_of(j, h) : nullptr,
                          there ? s.value_of(j, h) : nullptr);
        }
        if (!lane_of_thread())
            m->tile.some[turn & 1] = some;
    }
    __device__ void prepare(unsigned)
    {
    }
    __device__ uint64_t seen(unsigned turn, unsigned half) const
    {
        if (!is_row(half))
            return 0;
        unsigned at = begin + turn * TENSOR_SLOTS, own = slot(query(half));
        if (part == STAR_CHOSEN)
            return m->chunks.seen(turn, tensor_row<ROWS>(half));
        return part == STAR_OWN
                   ? tensor_bits(at, own / chunk() * chunk(), own + 1)
                   : tensor_bits(at, 0, own / chunk());
    }
    __device__ void take(struct tensor_rows<ROWS, WIDTH> *own,
                         struct tensor_scores *scores, unsigned bits,
                         unsigned) const
    {
        tensor_weigh(own, scores, bits);
    }
};

/* Each part leaves its own softmax's result, and as the logarithm of its weight
 * that of its gate: joining them is eq. 7.  grid: tiles of rows, key-value heads,
 * the three parts. */
template <unsigned ROWS, unsigned WIDTH, typename Number>
static __global__ void __launch_bounds__(TENSOR_THREADS, 2)
    attend_part(struct tile_parts parts, struct star_source<Number> s,
                const int32_t *chosen, const float *gate, size_t first,
                size_t m, size_t top_k)
{
    auto *memory =
        static_cast<struct star_memory<WIDTH, Number> *>(cuda_shared());
    struct tensor_rows<ROWS, WIDTH> own;
    unsigned row = blockIdx.x * ROWS;
    unsigned all = static_cast<unsigned>(m * s.group);
    struct star_turns<ROWS, WIDTH, Number> turns = {
        s, memory, chosen, static_cast<unsigned>(top_k), blockIdx.y, blockIdx.z,
            static_cast<unsigned>(first), row,
            all - row < ROWS ? all - row : ROWS, 0, 0
    };
    tensor_begin(&own);
    turns.take_queries(&own);
    tensor_walk<true>(&memory->tile, &own, s.d, s.scale * LOG2_E, turns);
    for (unsigned half = 0; half < 2; half++) {
        float *out = nullptr;
        if (turns.is_row(half)) {
            size_t at = turns.part * m * s.heads + turns.query(half) * s.heads +
                        turns.head(half);
            bool alone = turns.slot(turns.query(half)) < turns.chunk();
            out = parts.out + at * s.d;
            if (tensor_leads<ROWS>())
                parts.log[at] = alone && turns.part != STAR_OWN
                                    ? minus_infinity()
                                    : gate[turns.part];
        }
        tensor_leave(&own, half, s.d, out, nullptr);
    }
}

template <unsigned ROWS, unsigned WIDTH, typename Number>
static int attend_tiles(struct kernel_run *run, float *out,
                        const struct star_source<Number> &s,
                        const int32_t *chosen, const float *gate, size_t first,
                        size_t m, size_t top_k)
{
    cuda_workspace outs(run), logs(run);
    struct tile_parts parts = {outs.take<float>(STAR_PARTS, m * s.heads, s.d),
                               logs.take<float>(STAR_PARTS, m, s.heads), false,
                               cuda_stream_number(run)};
    if (!parts.out || !parts.log)
        return KERNEL_NO_MEMORY;
    int code =
        cuda_launch(run, attend_part<ROWS, WIDTH, Number>,
                    {cuda_ceil(m * s.group, ROWS), s.hkv, STAR_PARTS,
                     TENSOR_THREADS, sizeof(struct star_memory<WIDTH, Number>)},
                    parts, s, chosen, gate, first, m, top_k);
    return code ? code
                : cuda_join(run, out + first * s.heads * s.d, &parts,
                            STAR_PARTS, m * s.heads, s.d, false);
}

template <unsigned WIDTH, typename Number>
static int attend_on_tensors(struct kernel_run *run, float *out,
                             const struct star_source<Number> &s,
                             const int32_t *chosen, const float *gate,
                             size_t first, size_t m, size_t top_k)
{
    return m * s.group <= TENSOR_FEW
               ? attend_tiles<TENSOR_FEW, WIDTH>(run, out, s, chosen, gate,
                                                 first, m, top_k)
               : attend_tiles<TENSOR_MANY, WIDTH>(run, out, s, chosen, gate,
                                                  first, m, top_k);
}

template <typename Number>
static int attend_batch(struct kernel_run *run, float *out,
                        const struct star_source<Number> &s, float *score,
                        int32_t *chosen, const float *gate, size_t first,
                        size_t m, size_t chunks, size_t top_k)
{
    int code;
    if (m <= SCORE_FEW) {
        struct few_scores few = {score,
                                 nullptr,
                                 chunks,
                                 static_cast<unsigned>(first),
                                 static_cast<unsigned>(m),
                                 0,
                                 0,
                                 0};
        code = start_few(run, &few, s, few_no_window{}, chunks, 0);
    } else
        code = score_many(run, score, s, first, m, chunks);
    if (!code)
        code = cuda_launch(
            run, choose_by_summary,
            {m, s.heads, 1, CHOOSE_THREADS, sizeof(struct choose_memory)},
            chosen, static_cast<const float *>(score), s.n - s.m + first,
            s.chunk, chunks, top_k);
    if (code)
        return code;
    if (s.d <= TENSOR_MAX_WIDTH / 2)
        return attend_on_tensors<TENSOR_MAX_WIDTH / 2>(run, out, s, chosen,
                                                        gate, first, m, top_k);
    if (s.d <= TENSOR_MAX_WIDTH)
        return attend_on_tensors<TENSOR_MAX_WIDTH>(run, out, s, chosen, gate,
                                                    first, m, top_k);
    return cuda_launch(
        run, attend_parts<Number>,
        {m, s.heads, 1, tile_threads(s.d), tile_bytes<1, Number>(s.d)}, out, s,
        static_cast<const int32_t *>(chosen), gate, first, top_k);
}

template <typename Number>
static int attend(struct kernel_run *run, float *out, const float *q,
                  const struct kernel_pages *pages, const float *gate, size_t m,
                  size_t n, size_t hq, size_t hkv, size_t d, size_t chunk,
                  size_t top_k)
{
    const struct dense_sizes dense = dense_sizes_of(1, hq, hkv, d);
    const struct star_source<Number> s = {
        q, *pages, m, n, hkv, chunk, d, hq, dense.group, dense.scale
    };
    size_t chunks = (n - 1) / chunk; /* of the last query */
    top_k = top_k < chunks ? top_k : chunks;
    if (d <= TENSOR_MAX_WIDTH && top_k > UNION_MAX_LENGTH)
        return KERNEL_UNSUPPORTED;
    size_t batch = chunks ? choose_max_scores() / (chunks * hq) : m;
    batch = batch < 1 ? 1 : batch < m ? batch : m;
    batch = batch < CUDA_MAX_ROWS ? batch : CUDA_MAX_ROWS;
    cuda_workspace scores(run), choices(run);
    float *score = scores.take<float>(batch, hq, chunks);
    int32_t *chosen = choices.take<int32_t>(batch, hq, top_k);
    int code = score && chosen ? KERNEL_OK : KERNEL_NO_MEMORY;
    for (size_t at = 0; !code && at < m; at += batch)
        code = attend_batch(run, out, s, score, chosen, gate, at,
                            m - at < batch ? m - at : batch, chunks, top_k);
    return code;
}

static int star_attention(struct kernel_run *run, float *out, const float *q,
                          const struct kernel_pages *pages, const float *gate,
                          size_t m, size_t n, size_t hq, size_t hkv, size_t d,
                          size_t chunk, size_t top_k)
{
    if (!m || !d)
        return KERNEL_OK;
    if (d > TILE_MAX_WIDTH || n > INT32_MAX || chunk > INT32_MAX ||
        m > INT32_MAX / hq || !are_known(pages))
        return KERNEL_UNSUPPORTED;
    return (are_bf16(pages) ? attend<uint16_t>
                            : attend<float>)(run, out, q, pages, gate, m, n, hq,
                                             hkv, d, chunk, top_k);
}

void cuda_fill_star(struct kernels *table)
{
    table->star_attention = star_attention;
}
