/* Reads and writes of several numbers at once, where these lie so. */
#ifndef KERNELS_CUDA_CUDA_READS_H
#define KERNELS_CUDA_CUDA_READS_H

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_fragments.h"

/* Four numbers of a row of d, zeros behind its end. */
static __device__ inline float4 read_four(const float *row, size_t l, size_t d)
{
    if (l + 4 <= d && aligned_16(row + l))
        return *reinterpret_cast<const float4 *>(row + l);
    return {l < d ? row[l] : 0, l + 1 < d ? row[l + 1] : 0,
            l + 2 < d ? row[l + 2] : 0, l + 3 < d ? row[l + 3] : 0};
}
static __device__ inline float4 read_four(const uint16_t *row, size_t l,
                                          size_t d)
{
    if (l + 4 <= d && aligned_8(row + l)) {
        const uint2 two = *reinterpret_cast<const uint2 *>(row + l);
        return {
            __uint_as_float(two.x << 16), __uint_as_float(two.x & 0xFFFF0000u),
            __uint_as_float(two.y << 16), __uint_as_float(two.y & 0xFFFF0000u)};
    }
    return {l < d ? from_bf16(row[l]) : 0,
            l + 1 < d ? from_bf16(row[l + 1]) : 0,
            l + 2 < d ? from_bf16(row[l + 2]) : 0,
            l + 3 < d ? from_bf16(row[l + 3]) : 0};
}

static __device__ inline void write_whole(float *to, const float4 &four)
{
    *reinterpret_cast<float4 *>(to) = four;
}
static __device__ inline void write_whole(uint16_t *to, const float4 &four)
{
    *reinterpret_cast<uint2 *>(to) = {pack_bf16(four.x, four.y),
                                      pack_bf16(four.z, four.w)};
}
static __device__ inline void write_one(float *to, float value)
{
    *to = value;
}
static __device__ inline void write_one(uint16_t *to, float value)
{
    *to = to_bf16(value);
}

/* What is of a row of d of four numbers, rounded where it is of bf16. */
template <typename Number>
static __device__ inline void write_four(Number *row, size_t l, size_t d,
                                         const float4 &four)
{
    const float by[] = {four.x, four.y, four.z, four.w};
    if (l + 4 <= d &&
        reinterpret_cast<uintptr_t>(row + l) % (4 * sizeof(Number)) == 0) {
        write_whole(row + l, four);
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        if (l + i < d)
            write_one(row + l + i, by[i]);
}

/* The bits of number l of a row of d, 0 behind its end. */
template <typename Number>
static __device__ inline unsigned number_bits(const Number *row, unsigned l,
                                              unsigned d)
{
    if constexpr (sizeof(Number) == sizeof(float))
        return l < d ? __float_as_uint(row[l]) : 0;
    else
        return l < d ? row[l] : 0;
}

/* Sixteen bytes of a row of d from number l on, wherever they lie. */
template <typename Number>
static __device__ inline uint4 odd_piece(const Number *row, unsigned l,
                                         unsigned d)
{
    constexpr unsigned EACH = 4 / sizeof(Number);
    unsigned word[4];
    for (unsigned e = 0; e < 4; e++) {
        word[e] = number_bits(row, l + e * EACH, d);
        if constexpr (EACH == 2)
            word[e] |= number_bits(row, l + e * EACH + 1, d) << 16;
    }
    return {word[0], word[1], word[2], word[3]};
}

/* sum + row . by, of the f32 or bf16 numbers in 16 bytes of a row. */
template <typename Number>
static __device__ inline float dot_piece(const uint4 &piece, const float *by,
                                         float sum)
{
    const unsigned word[] = {piece.x, piece.y, piece.z, piece.w};
#pragma unroll
    for (unsigned e = 0; e < 4; e++)
        if constexpr (sizeof(Number) == sizeof(float)) {
            sum += __uint_as_float(word[e]) * by[e];
        } else {
            sum += __uint_as_float(word[e] << 16) * by[2 * e];
            sum += __uint_as_float(word[e] & 0xFFFF0000u) * by[2 * e + 1];
        }
    return sum;
}

#endif
