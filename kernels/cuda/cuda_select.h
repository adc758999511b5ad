/* Scores of chunks, which HiLS and STAR attention choose the best of.  A `Source`
 * says who the queries are, what a chunk's key is and what its numbers are
 * (`number`, as in cuda_tensor.h), and how many chunks a query may choose from (its
 * candidates are the chunks before that). */
#ifndef KERNELS_CUDA_CUDA_SELECT_H
#define KERNELS_CUDA_CUDA_SELECT_H

#include "kernels/cuda/cuda_few.h"
#include "kernels/cuda/cuda_max.h"
#include "kernels/cuda/cuda_tensor.h"
#include "kernels/cuda/cuda_tiles.h"

/* Scores that are held at once; the emulation has its own. */
static inline size_t choose_max_scores()
{
    constexpr size_t MOST = size_t{64} << 20;
#ifdef __CUDACC__
    return MOST;
#else
    return emulated_most_scores(MOST); /* fewer, where a test says so */
#endif
}

/* ---- Scores ----
 *
 * score [m, heads, chunks] = query . key * scale + bias, of the candidates alone,
 * of the queries from `first` on. */

constexpr unsigned SCORE_TILES = 8; /* of a block on the tensor cores */

/* A tile of queries of one head by SCORE_TILES tiles of chunks: the keys are
 * those of the chunks, and the scores are all there is to it. */
template <unsigned ROWS, unsigned WIDTH, typename Source> struct score_turns {
    static constexpr bool TOGETHER = true;
    static constexpr bool SPARSE = false;
    const Source &s;
    struct tensor_tile<WIDTH, typename Source::number> *t;
    float *score;
    size_t chunks;
    unsigned first, row, rows, head;
    unsigned begin, end;
    float bias[2]; /* of the tile's slots lane and lane + 32 */

    __device__ bool is_row(unsigned half) const
    {
        return tensor_row<ROWS>(half) < rows;
    }
    __device__ unsigned at(unsigned turn) const
    {
        return begin + turn * TENSOR_SLOTS;
    }
    __device__ void take_queries(struct tensor_rows<ROWS, WIDTH> *own)
    {
        unsigned max = 0;
        for (unsigned r = 0; r < rows; r++) {
            auto its = static_cast<unsigned>(s.candidates(first + row + r));
            max = its > max ? its : max;
        }
        end = begin + SCORE_TILES * TENSOR_SLOTS;
        end = end < max ? end : max;
        for (unsigned half = 0; half < 2; half++)
            tensor_take_query(
                own, half,
                is_row(half)
                    ? s.query(first + row + tensor_row<ROWS>(half), head)
                    : nullptr,
                s.d);
    }
    __device__ void find(unsigned turn)
    {
        for (unsigned half = 0; half < 2; half++) {
            unsigned c = at(turn) + half * WARP + lane_of_thread();
            t->place(turn, half, c < end ? s.key(c, head) : nullptr, nullptr);
        }
        if (!lane_of_thread())
            t->some[turn & 1] = at(turn) < end;
    }
    /* Before scores are there: each is behind a pointer of its own. */
    __device__ void prepare(unsigned turn)
    {
#pragma unroll
        for (unsigned half = 0; half < 2; half++) {
            unsigned c = at(turn) + half * WARP + lane_of_thread();
            bias[half] = c < end ? s.bias(c, head) : 0;
        }
    }
    __device__ uint64_t seen(unsigned turn, unsigned half) const
    {
        return is_row(half) ? tensor_bits(at(turn), begin, end) : 0;
    }
    /* Of two neighbours those that are seen, at once where they may lie so. */
    __device__ static void put_two(float *to, const float *score,
                                   const float *its, unsigned seen, bool even)
    {
        if (seen == 3 && even) {
            *reinterpret_cast<float2 *>(to) = {score[0] + its[0],
                                               score[1] + its[1]};
            return;
        }
        for (unsigned e = 0; e < 2; e++)
            if (seen >> e & 1)
                to[e] = score[e] + its[e];
    }
    __device__ void take(struct tensor_rows<ROWS, WIDTH> *,
                         const struct tensor_scores *scores, unsigned own,
                         unsigned turn) const
    {
        /* 16 rows: all warps have all scores. */
        if (ROWS == TENSOR_FEW && warp_of_thread())
            return;
        const int lane = static_cast<int>(lane_of_thread()) % 4 * 2;
        float *to =
            score + ((row + tensor_row<ROWS>(0)) * s.heads + head) * chunks;
        size_t half = 8 * s.heads * chunks; /* to the other half's row */
        const bool even = chunks % 2 == 0;
#pragma unroll
        for (unsigned i = 0; i < TENSOR_SLOTS / 8; i++) {
            float its[2];
#pragma unroll
            for (unsigned e = 0; e < 2; e++)
                its[e] = __shfl_sync(WHOLE_WARP, bias[i / 4],
                                     static_cast<int>(i % 4 * 8 + e) + lane);
            put_two(to + at(turn) + i * 8 + lane, scores->of[i], its,
                    own >> i * 2 & 3, even);
            put_two(to + half + at(turn) + i * 8 + lane, scores->of[i] + 2, its,
                    own >> (16 + i * 2) & 3, even);
        }
    }
};

/* grid: SCORE_TILES tiles of chunks, heads, tiles of queries. */
template <unsigned ROWS, unsigned WIDTH, typename Source>
static __global__ void __launch_bounds__(TENSOR_THREADS, 2)
    score_tensor(float *score, Source s, size_t first, size_t m, size_t chunks)
{
    using tile = struct tensor_tile<WIDTH, typename Source::number>;
    auto *t = static_cast<tile *>(cuda_shared());
    struct tensor_rows<ROWS, WIDTH> own;
    unsigned row = blockIdx.z * ROWS, all = static_cast<unsigned>(m);
    struct score_turns<ROWS, WIDTH, Source> turns = {
        s, t, score, chunks, static_cast<unsigned>(first), row,
            all - row < ROWS ? all - row : ROWS, blockIdx.y,
            blockIdx.x *SCORE_TILES *TENSOR_SLOTS, 0,
        {
        }
    };
    turns.take_queries(&own);
    tensor_walk<false>(t, &own, s.d, s.scale, turns);
}

/* Wider heads.  grid: tiles of chunks, heads, tiles of queries. */
template <unsigned ROWS, typename Source>
static __global__ void __launch_bounds__(TILE_MAX_WIDTH, 1)
    score_chunks(float *score, Source s, size_t first, size_t m, size_t chunks)
{
    using memory = struct tile_memory<ROWS, typename Source::number>;
    auto *t = static_cast<memory *>(cuda_shared());
    size_t head = blockIdx.y, i = blockIdx.z * size_t{ROWS};
    size_t at = blockIdx.x * size_t{TILE}, max = 0;
    struct tile_scores<ROWS> scores;
    for (unsigned r = 0; r < ROWS && i + r < m; r++) {
        size_t own = s.candidates(first + i + r);
        max = own > max ? own : max;
    }
    if (at >= max)
        return;
    for (unsigned r = 0; r < ROWS; r++)
        tile_take_query(
            t, r, i + r < m ? s.query(first + i + r, head) : nullptr, s.d);
    if (threadIdx.x < TILE)
        t->key[threadIdx.x] =
            at + threadIdx.x < max ? s.key(at + threadIdx.x, head) : nullptr;
    tile_score(t, s.d, s.scale, &scores);
    size_t c = at + lane_of_thread();
    unsigned warps = blockDim.x / WARP;
#pragma unroll
    for (unsigned r = 0; r < tile_scores<ROWS>::MAX; r++) {
        size_t row = warp_of_thread() + r * warps;
        if (row < ROWS && i + row < m && c < max)
            score[((i + row) * s.heads + head) * chunks + c] =
                scores.of[r] + s.bias(c, head);
    }
}

template <unsigned ROWS, unsigned WIDTH, typename Source>
static int score_by_tensors(struct kernel_run *run, float *score,
                            const Source &s, size_t first, size_t m,
                            size_t chunks)
{
    return cuda_launch(run, score_tensor<ROWS, WIDTH, Source>,
                       {cuda_ceil(chunks, SCORE_TILES * TENSOR_SLOTS), s.heads,
                        cuda_ceil(m, ROWS), TENSOR_THREADS,
                        tensor_bytes<ROWS, WIDTH, typename Source::number>()},
                       score, s, first, m, chunks);
}

/* By the way that suits the sizes; m at most CUDA_MAX_ROWS, more than SCORE_FEW. */
template <typename Source>
static int score_many(struct kernel_run *run, float *score, const Source &s,
                      size_t first, size_t m, size_t chunks)
{
    constexpr unsigned ROWS = 16, HALF = TENSOR_MAX_WIDTH / 2;
    if (s.d > TENSOR_MAX_WIDTH)
        return cuda_launch(run, score_chunks<ROWS, Source>,
                           {cuda_ceil(chunks, TILE), s.heads,
                            cuda_ceil(m, ROWS), tile_threads(s.d),
                            tile_bytes<ROWS, typename Source::number>(s.d)},
                           score, s, first, m, chunks);
    if (m <= TENSOR_FEW)
        return s.d <= HALF
                   ? score_by_tensors<TENSOR_FEW, HALF>(run, score, s, first, m,
                                                        chunks)
                   : score_by_tensors<TENSOR_FEW, HALF * 2>(run, score, s,
                                                            first, m, chunks);
    return s.d <= HALF ? score_by_tensors<TENSOR_MANY, HALF>(run, score, s,
                                                             first, m, chunks)
                       : score_by_tensors<TENSOR_MANY, HALF * 2>(
                             run, score, s, first, m, chunks);
}

#endif
