/* Products of two rows of bf16, or f32, weights with rows that a block of threads puts
 * into shared memory once, times their norm.
 *
 * What a step of decoding takes is the weights' way from memory: a lane asks for the
 * first DEPTH pieces, of eight weights, of both rows before anything else, and for one
 * more as soon as it has used one.  Where there are few outputs, `share` warps have an
 * output's k in turns, and their sums are joined.
 *
 * In shared memory a row is two planes of four numbers, those of pieces' first and
 * second halves: lanes that read at once hit neighbouring sixteens. */
#ifndef KERNELS_CUDA_CUDA_STAGED_H
#define KERNELS_CUDA_CUDA_STAGED_H

#include "kernels/cuda/cuda_factors.h"
#include "kernels/cuda/cuda_reads.h"

constexpr unsigned PIECE = 8; /* weights, 16 bytes of bf16 */
constexpr unsigned DEPTH = 4; /* pieces of each row that are on their way */
constexpr unsigned MAX_SHARE = 8;

/* Numbers of so many rows that are in shared memory at once: whole pieces. */
template <unsigned ROWS> constexpr unsigned STAGED_AT_ONCE = 16384 / ROWS;

struct staged {
    float *squares; /* [rows, MAX_WARPS] */
    float *sums;    /* [MAX_WARPS, 2 rows] */
    float4 *x;      /* [rows, 2, plane] */
    unsigned plane;
};

/* Behind each plane is half of what the banks are wide: the two are written at once. */
static __host__ __device__ constexpr unsigned staged_plane(size_t k,
                                                           unsigned at_once)
{
    return ((k < at_once ? static_cast<unsigned>(k) : at_once) + 8 * PIECE -
            1) /
               (8 * PIECE) * 8 +
           4;
}

template <unsigned ROWS> constexpr size_t staged_bytes(size_t k)
{
    return sizeof(float) * 3 * ROWS * MAX_WARPS +
           sizeof(float4) * 2 * ROWS * staged_plane(k, STAGED_AT_ONCE<ROWS>);
}

template <unsigned ROWS>
static __device__ inline struct staged staged_at(void *memory, size_t k)
{
    auto *squares = static_cast<float *>(memory);
    float *sums = squares + ROWS * MAX_WARPS;
    return {squares, sums,
            reinterpret_cast<float4 *>(sums + 2 * ROWS * MAX_WARPS),
            staged_plane(k, STAGED_AT_ONCE<ROWS>)};
}

#ifdef __CUDACC__

/* What is read once, and must not take the place of what is read again. */
static __device__ __forceinline__ uint4 read_once(const uint4 *at)
{
    uint4 ret;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(ret.x), "=r"(ret.y), "=r"(ret.z), "=r"(ret.w)
                 : "l"(at));
    return ret;
}

#else

static inline uint4 read_once(const uint4 *at)
{
    return *at;
}

#endif

/* Two rows of weights; `wide`: both are bf16, of whole pieces. */
struct weight_rows {
    const void *of[2];
    int type[2];
    bool wide;
};

/* Numbers [begin, begin + count) of `rows` rows from a.x on, times the norm where there
 * is one; whole pieces, zeros behind.  The squares of what each warp read of x join what
 * it found before. */
template <unsigned ROWS, bool NORMED>
static __device__ inline void stage_rows(const struct staged &to,
                                         const struct factor_rows &a,
                                         const float *x, unsigned rows,
                                         size_t begin, unsigned count)
{
    const unsigned fours = (count + PIECE - 1) / PIECE * 2;
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++) {
        float square = 0;
        if (r >= rows)
            break;
#pragma unroll(NORMED ? 2 : 4)
        for (unsigned i = threadIdx.x; i < fours; i += blockDim.x) {
            float4 four = read_four(x + r * a.k + begin, 4 * i, count);
            if constexpr (NORMED) {
                const float4 by = read_four(a.norm + begin, 4 * i, count);
                square += four.x * four.x + four.y * four.y + four.z * four.z +
                          four.w * four.w;
                four = {four.x * by.x, four.y * by.y, four.z * by.z,
                        four.w * by.w};
            }
            to.x[(2 * r + i % 2) * to.plane + i / 2] = four;
        }
        if constexpr (NORMED) {
            square = warp_sum(square);
            float *at = to.squares + r * MAX_WARPS + warp_of_thread();
            if (!lane_of_thread())
                *at = begin ? *at + square : square;
        }
    }
}

/* sum + eight bf16 times the eight floats of both halves. */
static __device__ inline float add_piece(float sum, const uint4 &piece,
                                         const float4 &x, const float4 &y)
{
    const float by[] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
    return dot_piece<uint16_t>(piece, by, sum);
}

/* sum [2, ROWS] += both pieces times piece l of each row. */
template <unsigned ROWS>
static __device__ inline void add_pieces(float (*sum)[ROWS], const uint4 &first,
                                         const uint4 &second,
                                         const struct staged &a, unsigned l,
                                         unsigned rows)
{
#pragma unroll
    for (unsigned r = 0; r < ROWS; r++)
        if (ROWS == 1 || r < rows) {
            const float4 x = a.x[2 * r * a.plane + l];
            const float4 y = a.x[(2 * r + 1) * a.plane + l];
            sum[0][r] = add_piece(sum[0][r], first, x, y);
            sum[1][r] = add_piece(sum[1][r], second, x, y);
        }
}

/* The pieces that a lane is about to multiply: of each row every `step`-th. */
struct pieces {
    uint4 of[2][DEPTH];
    const uint4 *row[2];
    unsigned first, step, end;

    __device__ inline void ask(unsigned d, unsigned l)
    {
        of[0][d] = read_once(row[0] + l);
        of[1][d] = read_once(row[1] + l);
    }

    __device__ inline void begin(unsigned count)
    {
        end = count / PIECE;
#pragma unroll
        for (unsigned d = 0; d < DEPTH; d++)
            if (first + d * step < end)
                ask(d, first + d * step);
    }

    template <unsigned ROWS>
    __device__ inline void multiply(float (*sum)[ROWS], const struct staged &a,
                                    unsigned rows)
    {
        unsigned l = first;
        for (; l + (2 * DEPTH - 1) * step < end; l += DEPTH * step)
#pragma unroll
            for (unsigned d = 0; d < DEPTH; d++) {
                add_pieces<ROWS>(sum, of[0][d], of[1][d], a, l + d * step,
                                 rows);
                ask(d, l + (DEPTH + d) * step);
            }
        for (; l < end; l += DEPTH * step)
#pragma unroll
            for (unsigned d = 0; d < DEPTH; d++) {
                if (l + d * step < end)
                    add_pieces<ROWS>(sum, of[0][d], of[1][d], a, l + d * step,
                                     rows);
                if (l + (DEPTH + d) * step < end)
                    ask(d, l + (DEPTH + d) * step);
            }
    }
};

/* The same of any weights, one by one. */
template <unsigned ROWS>
static __device__ inline void add_singly(float (*sum)[ROWS],
                                         const struct weight_rows &w,
                                         size_t begin, unsigned count,
                                         const struct staged &a, unsigned rows,
                                         unsigned part, unsigned share)
{
    const auto *x = reinterpret_cast<const float *>(a.x);
    for (unsigned l = part * WARP + lane_of_thread(); l < count;
         l += share * WARP) {
        const float first = value_of(w.of[0], w.type[0], begin + l);
        const float second = value_of(w.of[1], w.type[1], begin + l);
#pragma unroll
        for (unsigned r = 0; r < ROWS; r++)
            if (ROWS == 1 || r < rows) {
                const float by =
                    x[((2 * r + l / 4 % 2) * a.plane + l / PIECE) * 4 + l % 4];
                sum[0][r] += first * by;
                sum[1][r] += second * by;
            }
    }
}

/* sum [2, ROWS] = this lane's part of two rows of weights times `rows` rows from x on;
 * *ret_plus = *plus, 0 where that is nullptr.  All threads of the block come; `there`: the
 * warp has weights. */
template <unsigned ROWS, bool NORMED, bool WIDE>
static __device__ inline void sum_staged(
    float (*sum)[ROWS], const struct staged &staged,
    const struct weight_rows &w, bool there, const struct factor_rows &a,
    const float *x, unsigned rows, unsigned share, const float *plus,
    float *ret_plus)
{
    constexpr unsigned AT_ONCE = STAGED_AT_ONCE<ROWS>;
    const unsigned part = warp_of_thread() % share;
    const unsigned k = static_cast<unsigned>(a.k);
    struct pieces pieces;
    unsigned begin = 0;
    for (unsigned i = 0; i < 2; i++)
        pieces.row[i] = static_cast<const uint4 *>(w.of[i]);
    pieces.first = part * WARP + lane_of_thread();
    pieces.step = share * WARP;
    do {
        const unsigned count = k - begin < AT_ONCE ? k - begin : AT_ONCE;
        if constexpr (WIDE)
            pieces.begin(there ? count : 0);
        if (begin) {
            __syncthreads();
        } else {
            wait_for_earlier();
            *ret_plus = plus ? *plus : 0;
        }
        stage_rows<ROWS, NORMED>(staged, a, x, rows, begin, count);
        __syncthreads();
        if constexpr (WIDE) {
            pieces.multiply<ROWS>(sum, staged, rows);
            pieces.row[0] += AT_ONCE / PIECE;
            pieces.row[1] += AT_ONCE / PIECE;
        } else if (there)
            add_singly<ROWS>(sum, w, begin, count, staged, rows, part, share);
        begin += AT_ONCE;
    } while (begin < k);
}

/* Lane 2 r + i of the first of `share` warps gets row r, of `rows` from `x` on, times row
 * i of the weights, and *plus, unless that is nullptr.  All threads of the block come;
 * `there`: the warp has weights. */
template <unsigned ROWS, bool NORMED>
static __device__ inline float multiply_staged(
    const struct weight_rows &w, bool there, const struct factor_rows &a,
    const float *x, unsigned rows, unsigned share, const float *plus = nullptr)
{
    constexpr unsigned SUMS = 2 * ROWS;
    const struct staged staged = staged_at<ROWS>(cuda_shared(), a.k);
    const unsigned lane = lane_of_thread(), part = warp_of_thread() % share;
    float sum[2][ROWS] = {}, ret = 0, held;
    if (w.wide)
        sum_staged<ROWS, NORMED, true>(sum, staged, w, there, a, x, rows, share,
                                       plus, &held);
    else
        sum_staged<ROWS, NORMED, false>(sum, staged, w, there, a, x, rows,
                                        share, plus, &held);
#pragma unroll
    for (unsigned i = 0; i < SUMS; i++) {
        const float all = warp_sum(sum[i % 2][i / 2]);
        ret = lane == i ? all : ret;
    }
    if constexpr (NORMED) {
        float square = 0;
        for (unsigned i = 0; i < blockDim.x / WARP && lane / 2 < rows; i++)
            square += staged.squares[lane / 2 * MAX_WARPS + i];
        ret *= rsqrtf(square / static_cast<float>(a.k) + a.eps);
    }
    ret += held;
    if (share == 1)
        return ret;
    float *sums = staged.sums + warp_of_thread() * SUMS;
    if (lane < SUMS)
        sums[lane] = ret;
    __syncthreads();
    for (unsigned i = 1; i < share && !part && lane < SUMS; i++)
        ret += sums[i * SUMS + lane];
    return ret;
}

#endif
