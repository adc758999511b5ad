/* Scores of few queries, which are bound by the reading of keys: each is read once
 * for each four rows that share it, 16 bytes a lane, several keys of a lane under way at a
 * time.  A block walks over many keys; what softmax divides by is made as it goes.
 *
 * A `Source` says what cuda_select.h names, and
 *
 *     SHARED        whether the heads of a group read the same keys; a row is a query,
 *                   or else a query and a head of the group
 *     from(i)       where the candidates of query i begin
 *     there(c)      whether candidate c counts
 *
 * Lanes side by side read neighbouring keys where keys are shared, else the same
 * candidate's keys of neighbouring heads: these lie side by side. */
#ifndef KERNELS_CUDA_CUDA_FEW_H
#define KERNELS_CUDA_CUDA_FEW_H

#include "kernels/cuda/cuda_reads.h"
#include "kernels/cuda/cuda_tiles.h"

constexpr size_t SCORE_FEW = 4; /* queries */
constexpr unsigned FEW_THREADS = 256, FEW_WARPS = FEW_THREADS / WARP;
constexpr unsigned FEW_SPAN = 32; /* candidates of a warp at once, at most */

/* How a warp reads keys of up to WIDTH numbers. */
template <unsigned WIDTH, typename Number> struct few_shape {
    static constexpr unsigned EACH =
        16 / sizeof(Number); /* of a lane, a piece */
    static constexpr unsigned ALL = WIDTH / EACH;
    static constexpr unsigned LANES = ALL < WARP ? ALL : WARP; /* of a key */
    static constexpr unsigned PIECES = ALL / LANES;
    static constexpr unsigned SIDE = WARP / LANES;  /* keys side by side */
    static constexpr unsigned BATCH = 8 / PIECES;   /* keys of a lane at once */
    static constexpr unsigned SAME = LANES / BATCH; /* lanes that have a sum */
};

/* Over the lanes of a key, sum [BATCH]: which of these a lane is left with goes by
 * its place among them, place / SAME. */
template <unsigned LANES, unsigned BATCH>
static __device__ inline float few_turn(float *sum)
{
    unsigned step = LANES / 2;
#pragma unroll
    for (unsigned count = BATCH / 2; count; count /= 2, step /= 2) {
        bool upper = lane_of_thread() & step;
#pragma unroll
        for (unsigned b = 0; b < count; b++) {
            float give = upper ? sum[b] : sum[b + count];
            float keep = upper ? sum[b + count] : sum[b];
            sum[b] = keep +
                     __shfl_xor_sync(WHOLE_WARP, give, static_cast<int>(step));
        }
    }
#pragma unroll
    for (; step; step /= 2)
        sum[0] += __shfl_xor_sync(WHOLE_WARP, sum[0], static_cast<int>(step));
    return sum[0];
}

/* The sum of exp(score) of what a lane was given, of each row. */
template <unsigned ROWS> struct few_sums {
    float max[ROWS], total[ROWS];

    __device__ void begin()
    {
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            max[r] = minus_infinity();
            total[r] = 0;
        }
    }
    __device__ void add(unsigned r, float its)
    {
        float high = fmaxf(max[r], its);
        total[r] = total[r] * share_of(max[r], high) + share_of(its, high);
        max[r] = high;
    }
};

/* What becomes of scores: they stay, [m, heads, chunks], or nothing is asked but
 * their sum (`score` nullptr). */
struct few_keep {
    float *score;
    size_t chunks;

    __device__ static unsigned task(unsigned span)
    {
        return span;
    }
    /* A lane has row r's score of candidate c, `place` the row's among all; `is`: it
     * is one, and no other lane has it. */
    template <unsigned ROWS>
    __device__ void take(struct few_sums<ROWS> *sums, unsigned r, size_t place,
                         unsigned c, float its, bool is, unsigned)
    {
        if (is && score)
            score[place * chunks + c] = its;
        sums->add(r, is ? its : minus_infinity());
    }
    /* A task's last scores were given. */
    template <unsigned ROWS, typename Rows>
    __device__ void end(struct few_sums<ROWS> *, const Rows &, unsigned)
    {
    }
};

/* Of each `means` candidates, a chunk's, the highest stays, and `shift`. */
struct few_highest {
    float *score;
    size_t chunks;
    unsigned means;
    float shift;
    float *room; /* of the warp, [SCORE_FEW, FEW_SPAN] */
    float
        high[SCORE_FEW]; /* where a chunk's are more than a warp has at once */

    __device__ unsigned task(unsigned span) const
    {
        return means <= span ? span / means * means : means;
    }
    template <unsigned ROWS>
    __device__ void take(struct few_sums<ROWS> *, unsigned r, size_t, unsigned,
                         float its, bool is, unsigned at)
    {
        if (is)
            room[r * FEW_SPAN + at] = its;
        high[r] = fmaxf(high[r], is ? its : minus_infinity());
    }
    template <unsigned ROWS, typename Rows>
    __device__ void end(struct few_sums<ROWS> *sums, const Rows &rows,
                        unsigned at)
    {
        unsigned c = at / means + lane_of_thread();
        __syncwarp();
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            bool is = r < rows.count && c < rows.to[r] / means;
            float max = high[r];
            if (means > rows.SPAN) {
                max = warp_max(max);
                is = is && !lane_of_thread();
            } else {
                is = is && (lane_of_thread() + 1) * means <= rows.SPAN;
                max = is ? room[r * FEW_SPAN + lane_of_thread() * means] : 0;
                for (unsigned i = 1; is && i < means; i++)
                    max = fmaxf(
                        max, room[r * FEW_SPAN + lane_of_thread() * means + i]);
            }
            if (is)
                score[rows.place(r) * chunks + c] = max + shift;
            sums->add(r, is ? max + shift : minus_infinity());
            high[r] = minus_infinity();
        }
        __syncwarp();
    }
};

/* The rows that a warp's lane scores: those of unit `unit`, which is a set of ROWS of
 * a key-value head's, or SIDE heads with a query a row. */
template <unsigned WIDTH, unsigned ROWS, typename Source> struct few_rows_of {
    using number = typename Source::number;
    using shape = struct few_shape<WIDTH, number>;
    static constexpr unsigned SPAN =
        Source::SHARED ? shape::BATCH * shape::SIDE : shape::BATCH;
    static constexpr unsigned SPREAD = Source::SHARED ? WARP : shape::LANES;
    const Source &s;
    unsigned unit, first, m;
    unsigned head = 0, row = 0, count = 0; /* the lane's; 0: no such head */
    unsigned from[ROWS] = {}, to[ROWS] = {}, begin = 0, end = 0;

    __host__ __device__ static unsigned sets(unsigned group, unsigned m)
    {
        return (m * group + ROWS - 1) / ROWS;
    }
    __host__ __device__ static unsigned units(const Source &s, unsigned m)
    {
        unsigned heads = static_cast<unsigned>(s.heads);
        unsigned group = static_cast<unsigned>(s.group);
        return Source::SHARED ? heads / group * sets(group, m)
                              : (heads + shape::SIDE - 1) / shape::SIDE;
    }
    __device__ unsigned query(unsigned r) const
    {
        return Source::SHARED ? (row + r) / static_cast<unsigned>(s.group) : r;
    }
    __device__ unsigned head_of(unsigned r) const
    {
        return Source::SHARED
                   ? head + (row + r) % static_cast<unsigned>(s.group)
                   : head;
    }
    __device__ size_t place(unsigned r) const
    {
        return query(r) * s.heads + head_of(r);
    }
    /* `group` of the warp, SPREAD lanes each. */
    __device__ void find(unsigned side)
    {
        unsigned group = static_cast<unsigned>(s.group), all = m;
        row = 0;
        if (Source::SHARED) {
            head = unit / sets(group, m) * group;
            row = unit % sets(group, m) * ROWS;
            all = m * group - row;
        } else
            head = unit * shape::SIDE + side;
        count = head >= s.heads ? 0 : all < ROWS ? all : ROWS;
    }
    __device__ void begin_rows()
    {
        find(lane_of_thread() / SPREAD);
        begin = UINT32_MAX;
        end = 0;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            bool is = r < (Source::SHARED ? count : m);
            size_t i = first + (is ? query(r) : 0);
            from[r] = is ? static_cast<unsigned>(s.from(i)) : 0;
            to[r] = is ? static_cast<unsigned>(s.candidates(i)) : 0;
            begin = is && from[r] < begin ? from[r] : begin;
            end = to[r] > end ? to[r] : end;
        }
    }

    /* The keys from candidate `at` on. */
    __device__ inline void read(uint4 (*key)[shape::BATCH], unsigned at,
                                unsigned most) const
    {
        const number *place[shape::BATCH];
        unsigned d = static_cast<unsigned>(s.d), odd = 0;
#pragma unroll
        for (unsigned b = 0; b < shape::BATCH; b++) {
            unsigned c = at + candidate(b);
            place[b] =
                count && c < most && s.there(c) ? s.key(c, head) : nullptr;
            odd |= static_cast<unsigned>(reinterpret_cast<uintptr_t>(place[b]));
        }
#pragma unroll
        for (unsigned p = 0; p < shape::PIECES; p++) {
            unsigned l = number_of(p);
            if (l + shape::EACH <= d && odd % 16 == 0) {
#pragma unroll
                for (unsigned b = 0; b < shape::BATCH; b++)
                    key[p][b] =
                        place[b]
                            ? *reinterpret_cast<const uint4 *>(place[b] + l)
                            : uint4{0, 0, 0, 0};
            } else {
#pragma unroll
                for (unsigned b = 0; b < shape::BATCH; b++)
                    key[p][b] = place[b] ? odd_piece(place[b], l, d)
                                         : uint4{0, 0, 0, 0};
            }
        }
    }
    __device__ static unsigned number_of(unsigned piece)
    {
        return (piece * shape::LANES + lane_of_thread() % shape::LANES) *
               shape::EACH;
    }
    /* The lane's b-th of SPAN; and the one whose sum it is left with. */
    __device__ static unsigned candidate(unsigned b)
    {
        return Source::SHARED
                   ? b * shape::SIDE + lane_of_thread() / shape::LANES
                   : b;
    }
    __device__ static unsigned own()
    {
        return candidate(lane_of_thread() % shape::LANES / shape::SAME);
    }
    __device__ static bool leads()
    {
        return lane_of_thread() % shape::SAME == 0;
    }
    __device__ inline void take_query(float *q, unsigned r,
                                      unsigned piece) const
    {
        unsigned l = number_of(piece);
        const float *from_q =
            r < count ? s.query(first + query(r), head_of(r)) : nullptr;
#pragma unroll
        for (unsigned e = 0; e < shape::EACH; e++)
            q[e] = from_q && l + e < s.d ? from_q[l + e] : 0;
    }

    /* All candidates of the rows, dealt out to the warps of `blocks` blocks. */
    template <typename Keep>
    __device__ inline void walk(struct few_sums<ROWS> *sums, Keep &keep,
                                unsigned block, unsigned blocks)
    {
        float held[ROWS][shape::EACH];
        const unsigned task = keep.task(SPAN), own_at = own();
#pragma unroll
        for (unsigned r = 0; shape::PIECES == 1 && r < ROWS; r++)
            take_query(held[r], r, 0);
        for (unsigned at =
                 begin + (block * FEW_WARPS + warp_of_thread()) * task;
             at < end; at += blocks * FEW_WARPS * task) {
            unsigned most = end - at < task ? end : at + task;
            for (unsigned sub = at; sub < most; sub += SPAN) {
                unsigned c = sub + own_at;
                uint4 key[shape::PIECES][shape::BATCH];
                bool is = count && c < most && s.there(c);
                float bias = is ? s.bias(c, head) : 0;
                read(key, sub, most);
                is = is && leads();
#pragma unroll
                for (unsigned r = 0; r < ROWS; r++) {
                    float sum[shape::BATCH] = {};
                    if (r >= (Source::SHARED ? count : m))
                        continue;
#pragma unroll
                    for (unsigned p = 0; p < shape::PIECES; p++) {
                        if (shape::PIECES > 1)
                            take_query(held[r], r, p);
#pragma unroll
                        for (unsigned b = 0; b < shape::BATCH; b++)
                            sum[b] =
                                dot_piece<number>(key[p][b], held[r], sum[b]);
                    }
                    float its =
                        few_turn<shape::LANES, shape::BATCH>(sum) * s.scale +
                        bias;
                    keep.take(sums, r, place(r), c, its,
                              is && c >= from[r] && c < to[r], own_at);
                }
            }
            keep.end(sums, *this, at);
        }
    }

    /* log [m, heads] of the block's sums.  All threads come; room: shared memory. */
    __device__ inline void leave(float *log, const struct few_sums<ROWS> *sums,
                                 float *room)
    {
        constexpr unsigned SIDES = WARP / SPREAD, EACH_WARP = SIDES * ROWS;
        float *maxima = room, *totals = room + FEW_WARPS * EACH_WARP;
        unsigned side = lane_of_thread() / SPREAD;
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++) {
            float max = sums->max[r], total;
            for (unsigned step = SPREAD / 2; step; step /= 2)
                max = fmaxf(max, __shfl_xor_sync(WHOLE_WARP, max,
                                                 static_cast<int>(step)));
            total = sums->total[r] * share_of(sums->max[r], max);
            for (unsigned step = SPREAD / 2; step; step /= 2)
                total +=
                    __shfl_xor_sync(WHOLE_WARP, total, static_cast<int>(step));
            unsigned to_room = warp_of_thread() * EACH_WARP + side * ROWS + r;
            if (lane_of_thread() % SPREAD == 0) {
                maxima[to_room] = max;
                totals[to_room] = total;
            }
        }
        __syncthreads();
        if (threadIdx.x >= EACH_WARP)
            return;
        unsigned r = threadIdx.x % ROWS;
        find(threadIdx.x / ROWS);
        if (r >= count)
            return;
        float max = minus_infinity(), total = 0;
        for (unsigned w = 0; w < FEW_WARPS; w++)
            max = fmaxf(max, maxima[w * EACH_WARP + threadIdx.x]);
        for (unsigned w = 0; w < FEW_WARPS; w++)
            total += totals[w * EACH_WARP + threadIdx.x] *
                     share_of(maxima[w * EACH_WARP + threadIdx.x], max);
        log[place(r)] = total == 0 ? minus_infinity() : max + logf(total);
    }
};

/* ---- The launch ---- */

struct few_scores {
    float *score; /* [m, heads, chunks] of queries [first, first + m) */
    float *log;   /* [blocks + parts, m, heads] of what each block's softmax
                     divides by, of candidates and of windows; nullptr: nobody asks */
    size_t chunks;
    unsigned first, m;
    unsigned blocks, parts; /* of a unit; of the windows' */
    float shift;            /* of the highest of a chunk's means */
};

/* Nobody asks for the windows' sums. */
struct few_no_window {
    static constexpr bool IS = false;
};

/* What block `block` of a unit's does. */
template <typename Rows, unsigned ROWS, typename Keep>
static __device__ inline void score_unit(Rows rows, Keep keep, float *log,
                                         float *room, unsigned block,
                                         unsigned blocks)
{
    struct few_sums<ROWS> sums;
    sums.begin();
    rows.begin_rows();
    rows.walk(&sums, keep, block, blocks);
    if (log)
        rows.leave(log, &sums, room);
}

/* Shared memory: each warp's, then the block's. */
constexpr unsigned FEW_ROOM = SCORE_FEW * FEW_SPAN;
constexpr size_t FEW_BYTES =
    (FEW_WARPS * FEW_ROOM + 2 * FEW_WARPS * SCORE_FEW * WARP / 8) *
    sizeof(float);

/* Rows of a window's unit: beside summaries one, since a warp has one turn, whose code is
 * as long as its rows are many, and all of it is waited for; beside means (`exact`) as
 * many as of its candidates'. */
template <typename Source>
constexpr unsigned WINDOW_ROWS = Source::MEANS ? SCORE_FEW : 1;

/* grid: of each unit its blocks, then those of the windows. */
template <unsigned WIDTH, unsigned ROWS, typename Source, typename Window>
static __global__ void __launch_bounds__(FEW_THREADS, 2)
    score_few(struct few_scores a, Source s, Window w)
{
    let_later_begin();
    wait_for_earlier();
    using rows = struct few_rows_of<WIDTH, ROWS, Source>;
    unsigned units = rows::units(s, a.m), at = blockIdx.x;
    size_t step = a.m * s.heads;
    float *own = static_cast<float *>(cuda_shared());
    float *room = own + FEW_WARPS * FEW_ROOM;
    own += warp_of_thread() * FEW_ROOM;
    if (at < units * a.blocks) {
        rows its = {s, at % units, a.first, a.m};
        unsigned block = at / units;
        float *log = a.log ? a.log + block * step : nullptr;
        if constexpr (Source::MEANS) {
            struct few_highest keep = {
                a.score, a.chunks, static_cast<unsigned>(s.summaries.means),
                a.shift, own,      {}};
            for (unsigned r = 0; r < SCORE_FEW; r++)
                keep.high[r] = minus_infinity();
            score_unit<rows, ROWS>(its, keep, log, room, block, a.blocks);
        } else
            score_unit<rows, ROWS>(its, few_keep{a.score, a.chunks}, log, room,
                                   block, a.blocks);
        return;
    }
    if constexpr (Window::IS) {
        using window = struct few_rows_of<WIDTH, WINDOW_ROWS<Source>, Window>;
        at -= units * a.blocks;
        units = window::units(w, a.m);
        window its = {w, at % units, a.first, a.m};
        score_unit<window, WINDOW_ROWS<Source>>(
            its, few_keep{nullptr, 0}, a.log + (a.blocks + at / units) * step,
            room, at / units, a.parts);
    }
}

/* Blocks for so many candidates of each of `units`: all that are asked for run at
 * once, two to a processor, with `others`; no more than have something to read. */
static inline unsigned few_blocks(size_t candidates, size_t span, size_t units,
                                  size_t others)
{
    size_t most = 2 * size_t{cuda_processors()};
    size_t wanted = most > others + units ? (most - others) / units : 1;
    size_t max = cuda_ceil(candidates, FEW_WARPS * span);
    return static_cast<unsigned>(wanted < max ? wanted : max);
}

template <unsigned WIDTH, unsigned ROWS, typename Source, typename Window>
static int start_few(struct kernel_run *run, struct few_scores *a,
                     const Source &s, const Window &w, size_t candidates,
                     size_t window)
{
    using rows = struct few_rows_of<WIDTH, ROWS, Source>;
    size_t units = rows::units(s, a->m), all = 0;
    if constexpr (Window::IS) {
        using window_rows =
            struct few_rows_of<WIDTH, WINDOW_ROWS<Source>, Window>;
        size_t its = window_rows::units(w, a->m);
        /* Half of what runs at once is for the candidates. */
        a->parts =
            few_blocks(window, window_rows::SPAN, its, cuda_processors());
        all = its * a->parts;
    }
    a->blocks = few_blocks(candidates, rows::SPAN, units, all);
    all += units * a->blocks;
    return cuda_launch(run, score_few<WIDTH, ROWS, Source, Window>,
                       {all, 1, 1, FEW_THREADS, FEW_BYTES, true}, *a, s, w);
}

template <unsigned WIDTH, typename Source, typename Window>
static int start_few(struct kernel_run *run, struct few_scores *a,
                     const Source &s, const Window &w, size_t candidates,
                     size_t window)
{
    if constexpr (!Source::SHARED)
        if (a->m == 1)
            return start_few<WIDTH, 1>(run, a, s, w, candidates, window);
    return start_few<WIDTH, SCORE_FEW>(run, a, s, w, candidates, window);
}

/* Scores of up to SCORE_FEW queries; `candidates` of the last of them, slots of its
 * window.  Fills a's blocks and parts, together no more than
 * few_logs. */
template <typename Source, typename Window>
static int start_few(struct kernel_run *run, struct few_scores *a,
                     const Source &s, const Window &w, size_t candidates,
                     size_t window)
{
    constexpr unsigned NARROW = 64, MEDIUM = 128;
    if (s.d <= NARROW)
        return start_few<NARROW>(run, a, s, w, candidates, window);
    if (s.d <= MEDIUM)
        return start_few<MEDIUM>(run, a, s, w, candidates, window);
    return start_few<TILE_MAX_WIDTH>(run, a, s, w, candidates, window);
}

static inline size_t few_logs()
{
    return 2 * (2 * size_t{cuda_processors()});
}

#endif
