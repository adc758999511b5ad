/* Products of blocks with rows that a block of threads rounds once for its outputs:
 * each 32 numbers become integers of 15 bits and a scale (an error of 1/32512 of the
 * largest at most, as kernels/cpu/cpu_blocks.h has it), which are multiplied with the
 * blocks' own integers, four of them in two instructions.
 *
 * In shared memory eight integers, 16 bytes, are a unit.  Units of 64 numbers change
 * places so that the eight lanes that read at once hit eight different sixteens of
 * the memory's 128 bytes, whatever the blocks' RUN (cuda_blocks.h). */
#ifndef KERNELS_CUDA_CUDA_ROUNDED_H
#define KERNELS_CUDA_CUDA_ROUNDED_H

#include "kernels/cuda/cuda_blocks.h"
#include "kernels/cuda/cuda_reads.h"

/* Numbers of so many rows that are in shared memory at once: whole blocks. */
template <unsigned ROWS> constexpr unsigned ROUNDED_AT_ONCE = 16384 / ROWS;

struct rounded {
    uint4 *units;    /* [rows, groups, 4] */
    float *scales;   /* [rows, groups] */
    float *sums;     /* [rows, 4, groups + 1]: of each unit's integers */
    unsigned groups; /* of a row, even */
};

static __host__ __device__ constexpr unsigned rounded_groups(size_t k,
                                                             unsigned at_once)
{
    return ((k < at_once ? static_cast<unsigned>(k) : at_once) / GROUP + 1) /
           2 * 2;
}

static __host__ __device__ constexpr size_t rounded_bytes(size_t rows,
                                                          size_t groups)
{
    return rows * (groups * (4 * sizeof(uint4) + sizeof(float)) +
                   4 * (groups + 1) * sizeof(float));
}

/* memory: rounded_bytes, aligned. */
static __device__ inline struct rounded rounded_at(void *memory, unsigned rows,
                                                   unsigned groups)
{
    auto *units = static_cast<uint4 *>(memory);
    auto *scales = reinterpret_cast<float *>(units + rows * groups * 4);
    return {units, scales, scales + rows * groups, groups};
}

static __host__ __device__ constexpr unsigned rounded_place(unsigned unit)
{
    return unit ^ (unit >> 3 & 1) ^ (unit >> 4 & 1) * 6;
}

/* Whether eight lanes that begin with `first` read apart. */
static constexpr bool reads_apart(unsigned run, unsigned first, unsigned e)
{
    unsigned seen = 0;
    for (unsigned lane = first; lane < first + 8; lane++)
        seen |= 1u << rounded_place(block_eight(run, lane, e) / 8) % 8;
    return seen == 0xFF;
}

static constexpr bool all_read_apart()
{
    for (unsigned run = 8; run <= 32; run *= 2)
        for (unsigned first = 0; first < WARP; first += 8)
            for (unsigned e = 0; e < 4; e++)
                if (!reads_apart(run, first, e))
                    return false;
    return true;
}
static_assert(all_read_apart(), "lanes that read at once would wait");

/* Eight numbers of four neighbouring lanes, which share a scale; what is no number
 * makes the scale none. */
static __device__ inline void round_eight(const struct rounded &to,
                                          unsigned row, unsigned unit,
                                          const float *x, bool there)
{
    const float range = 127 * 128, middle = 12582912.0f; /* of 2^23 .. 2^24 */
    unsigned max = 0, bits[8];
    int sum = 0;
#pragma unroll
    for (unsigned l = 0; l < 8; l++) {
        const unsigned size = __float_as_uint(x[l]) & 0x7FFFFFFFu;
        max = size > max ? size : max;
    }
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        const unsigned other = __shfl_xor_sync(WHOLE_WARP, max, step);
        max = other > max ? other : max;
    }
    const float largest = __uint_as_float(max);
    const float by = largest > 1e-30f ? range / largest : 0;
#pragma unroll
    for (unsigned l = 0; l < 8; l++) {
        bits[l] = __float_as_uint(x[l] * by + middle);
        sum += static_cast<int>(bits[l] - __float_as_uint(middle));
    }
    if (!there)
        return;
    uint4 units;
    units.x = (bits[0] & 0xFFFFu) | bits[1] << 16;
    units.y = (bits[2] & 0xFFFFu) | bits[3] << 16;
    units.z = (bits[4] & 0xFFFFu) | bits[5] << 16;
    units.w = (bits[6] & 0xFFFFu) | bits[7] << 16;
    to.units[row * to.groups * 4 + rounded_place(unit)] = units;
    to.sums[(row * 4 + unit % 4) * (to.groups + 1) + unit / 4] =
        static_cast<float>(sum);
    if (unit % 4 == 0)
        to.scales[row * to.groups + unit / 4] = largest * (1 / range);
}

/* Rounds x [count], times `norm` where there is one, by all threads of the block.
 * Returns the sum of squares of what the warp read of x; without a norm 0. */
template <bool NORMED>
static __device__ inline float round_row(const struct rounded &to, unsigned row,
                                         const float *x, const float *norm,
                                         unsigned count)
{
    float square = 0;
    const unsigned units = count / 8;
    for (unsigned first = warp_of_thread() * WARP; first < units;
         first += blockDim.x) {
        const unsigned unit = first + lane_of_thread();
        const float4 a = read_four(x, 8 * unit, count);
        const float4 b = read_four(x, 8 * unit + 4, count);
        float eight[] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
        if constexpr (NORMED) {
            const float4 p = read_four(norm, 8 * unit, count);
            const float4 q = read_four(norm, 8 * unit + 4, count);
            const float by[] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w};
#pragma unroll
            for (unsigned l = 0; l < 8; l++) {
                square += eight[l] * eight[l];
                eight[l] *= by[l];
            }
        }
        round_eight(to, row, unit, eight, unit < units);
    }
    return NORMED ? warp_sum(square) : 0;
}

/* sum + four integers of 15 bits, two and two, times four of 8. */
static __device__ inline int multiply_four(int sum, unsigned low, unsigned high,
                                           unsigned q)
{
    sum = __dp2a_lo(static_cast<int>(low), static_cast<int>(q), sum);
    return __dp2a_hi(static_cast<int>(high), static_cast<int>(q), sum);
}

/* Group number `lane` times what of row r stands there; `a` begins where the groups
 * of these lanes do.  The lane's places are those of its first unit and what does not
 * depend on it: no bit is carried from one to the other. */
template <int TYPE>
static __device__ inline float multiply_group(const struct block_group &group,
                                              const struct rounded &a,
                                              unsigned r, unsigned lane)
{
    constexpr unsigned RUN = block_run(TYPE), UNITS = RUN / 8;
    const unsigned first = block_eight(RUN, lane, 0) / 8;
    const uint4 *units = a.units + r * a.groups * 4;
    const float *scales = a.scales + r * a.groups + first / 4;
    const float *sums =
        a.sums + (r * 4 + first % 4) * (a.groups + 1) + first / 4;
    float ret = 0;
#pragma unroll
    for (unsigned e = 0; e < 4; e += UNITS) {
        const unsigned run = e / UNITS;
        int dot = 0;
        float sum = 0;
#pragma unroll
        for (unsigned u = e; u < e + UNITS; u++) {
            const unsigned later = block_eight(RUN, 0, u) / 8;
            const uint4 x = units[rounded_place(first) ^ rounded_place(later)];
            dot = multiply_four(dot, x.x, x.y, group.q[2 * u]);
            dot = multiply_four(dot, x.z, x.w, group.q[2 * u + 1]);
            if constexpr (!block_is_plain(TYPE))
                sum += sums[later % 4 * (a.groups + 1) + later / 4];
        }
        float part = group.scale[run] * static_cast<float>(dot);
        if constexpr (!block_is_plain(TYPE))
            part += group.offset[run] * sum;
        ret += scales[block_eight(RUN, 0, e) / 32] * part;
    }
    return ret;
}

/* sum [ROWS] += the rounded `rows` rows times `count` weights of a row of k, from
 * `begin` on: this lane's groups. */
template <unsigned ROWS> struct add_block_products {
    float *sum;
    const unsigned char *w;
    unsigned k, begin, count;
    struct rounded a;
    unsigned rows;

    template <int TYPE> __device__ inline void of() const
    {
        constexpr struct block_parts P = parts_of_block(TYPE);
        constexpr unsigned TURN = WARP * GROUP / P.values; /* blocks */
        const unsigned lane = lane_of_thread();
        struct block_row_parts parts =
            block_parts_at<TYPE>(w, k, begin / P.values);
        struct rounded at = a;
#pragma unroll 1
        for (unsigned g = lane; g < count / GROUP; g += WARP) {
            struct block_group group;
            take_group<TYPE>(&group, parts, lane);
#pragma unroll
            for (unsigned r = 0; r < ROWS; r++)
                if (ROWS == 1 || r < rows)
                    sum[r] += multiply_group<TYPE>(group, at, r, lane);
            parts.low += TURN * P.low;
            parts.high += TURN * P.high;
            parts.rest += TURN * (P.bytes - P.low - P.high);
            at.units += WARP * 4;
            at.scales += WARP;
            at.sums += WARP;
        }
    }
};

#endif
