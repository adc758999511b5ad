/* GGUF's blocks (kernels/blocks.h) as the device keeps and reads them.
 *
 * A row has the bytes that it has in the file, sorted: all its low bits, then all
 * its high bits, then of each block the rest (scales, offsets, d, m).  A row begins
 * at a multiple of 16 bytes, so that lanes side by side read 16, 8 or 4 bytes side
 * by side; in the file blocks of 18, 34 or 210 bytes are aligned to two.
 *
 * A lane takes 32 weights at a time, a group: eight times four neighbours, each four
 * bytes of a word.  Where they are depends on which bits lie together:
 *
 *   RUN 32  group g is weights 32 g to 32 g + 31
 *   RUN 16  of 64, 16 (low nibbles) and the 16 that are 32 later (high nibbles)
 *   RUN 8   of 128, 8 and those that are 32, 64 and 96 later */
#ifndef KERNELS_CUDA_CUDA_BLOCKS_H
#define KERNELS_CUDA_CUDA_BLOCKS_H

#include "kernels/kernels.h"
#include "kernels/cuda/cuda_device.h"

#ifdef __CUDACC__

static __device__ __forceinline__ float half_value(unsigned half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;"
        : "=f"(value)
        : "h"(static_cast<unsigned short>(half)));
    return value;
}

/* To the cache that all processors share. */
static __device__ __forceinline__ void prefetch_line(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" : : "l"(at));
}

#else
#include "kernels/half.h"

static inline void prefetch_line(const void *)
{
}
#endif

constexpr unsigned GROUP = 32; /* weights that a lane takes */

/* kernel_is_blocks, there too. */
static __host__ __device__ constexpr bool are_blocks(int type)
{
    return type > KERNEL_INT8;
}

/* Where a block's bits are in the file; what is neither low nor high is the rest. */
struct block_parts {
    unsigned values, bytes; /* of a block */
    unsigned low_at, low, high_at, high;
};

static __host__ __device__ constexpr struct block_parts parts_of_block(int type)
{
    switch (type) {
    case KERNEL_Q4_0: return {32, 18, 2, 16, 2, 0};
    case KERNEL_Q4_1: return {32, 20, 4, 16, 4, 0};
    case KERNEL_Q5_0: return {32, 22, 6, 16, 2, 4};
    case KERNEL_Q5_1: return {32, 24, 8, 16, 4, 4};
    case KERNEL_Q8_0: return {32, 34, 2, 32, 2, 0};
    case KERNEL_IQ4_NL: return {32, 18, 2, 16, 2, 0};
    case KERNEL_Q2_K: return {256, 84, 16, 64, 16, 0};
    case KERNEL_Q3_K: return {256, 110, 32, 64, 0, 32};
    case KERNEL_Q4_K: return {256, 144, 16, 128, 16, 0};
    case KERNEL_Q5_K: return {256, 176, 48, 128, 16, 32};
    case KERNEL_Q6_K: return {256, 210, 0, 128, 128, 64};
    default: return {256, 136, 8, 128, 8, 0}; /* KERNEL_IQ4_XS */
    }
}

static __host__ __device__ constexpr size_t block_row_bytes(int type, size_t k)
{
    const struct block_parts p = parts_of_block(type);
    return (k / p.values * p.bytes + 15) / 16 * 16;
}

static __host__ __device__ constexpr unsigned block_run(int type)
{
    switch (type) {
    case KERNEL_Q2_K:
    case KERNEL_Q3_K:
    case KERNEL_Q6_K: return 8;
    case KERNEL_Q4_K:
    case KERNEL_Q5_K: return 16;
    default: return 32;
    }
}

static __device__ inline const unsigned char *block_row(const void *w, int type,
                                                        size_t j, size_t k)
{
    return static_cast<const unsigned char *>(w) + j * block_row_bytes(type, k);
}

/* A warp has what it will read come nearer while it does something else. */
static __device__ inline void prefetch_row(const unsigned char *row,
                                           size_t bytes)
{
    constexpr unsigned LINE = 128;
    for (size_t at = lane_of_thread() * LINE; at < bytes; at += WARP * LINE)
        prefetch_line(row + at);
}

/* The numbers have signs, and nothing is added to them. */
static __host__ __device__ constexpr bool block_is_plain(int type)
{
    return type == KERNEL_Q8_0 || type == KERNEL_IQ4_NL ||
           type == KERNEL_IQ4_XS;
}

/* Weight 4 r + b is byte b of q[r] times `scale` of its run plus its `offset`. */
struct block_group {
    unsigned q[8];
    float scale[4], offset[4]; /* of as many as there are runs */
};

/* The first of eights e = 0 .. 3 of group g, which are neighbours. */
static __host__ __device__ constexpr unsigned block_eight(unsigned run,
                                                          unsigned g,
                                                          unsigned e)
{
    if (run == 32)
        return g * 32 + e * 8;
    if (run == 16)
        return g / 2 * 64 + g % 2 * 16 + e / 2 * 32 + e % 2 * 8;
    return g / 4 * 128 + g % 4 * 8 + e * 32;
}

/* ---- Bits ---- */

template <typename T>
static __device__ inline T block_bits(const unsigned char *at)
{
    return *reinterpret_cast<const T *>(at);
}

/* Nibbles 0 .. 15 low, 16 .. 31 high. */
static __device__ inline void take_nibbles(unsigned *q, const uint4 low)
{
    const unsigned words[] = {low.x, low.y, low.z, low.w};
#pragma unroll
    for (unsigned r = 0; r < 4; r++) {
        q[r] = words[r] & 0x0F0F0F0Fu;
        q[r + 4] = words[r] >> 4 & 0x0F0F0F0Fu;
    }
}

/* Bit i of four in byte i. */
static __device__ inline unsigned spread_bits(unsigned four)
{
    return (four & 15) * 0x00204081u & 0x01010101u;
}

/* blocks_iq4 of each byte. */
static __device__ inline unsigned take_iq4(unsigned nibbles)
{
    unsigned pairs = (nibbles | nibbles >> 4) & 0x00FF00FFu;
    unsigned three = (pairs | pairs >> 8) & 0x7777u;
    unsigned upper = (nibbles >> 3 & 0x01010101u) * 0xFFu;
    return (__byte_perm(0xBFAD9881u, 0xF6EADDCFu, three) & ~upper) |
           (__byte_perm(0x26190D01u, 0x71594535u, three) & upper);
}

/* ---- Groups of a kind ---- */

/* Where the parts of a row's blocks begin. */
struct block_row_parts {
    const unsigned char *low, *high, *rest;
};

template <int TYPE>
static __device__ inline void take_small(struct block_group *ret,
                                         const struct block_row_parts &row,
                                         unsigned g)
{
    constexpr unsigned REST = parts_of_block(TYPE).bytes -
                              parts_of_block(TYPE).low -
                              parts_of_block(TYPE).high;
    if constexpr (TYPE == KERNEL_Q8_0) {
        const uint4 a = block_bits<uint4>(row.low + 32 * g);
        const uint4 b = block_bits<uint4>(row.low + 32 * g + 16);
        const unsigned words[] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
        for (unsigned r = 0; r < 8; r++)
            ret->q[r] = words[r];
    } else
        take_nibbles(ret->q, block_bits<uint4>(row.low + 16 * g));
    if constexpr (TYPE == KERNEL_Q5_0 || TYPE == KERNEL_Q5_1) {
        const unsigned fifth = block_bits<unsigned>(row.high + 4 * g);
#pragma unroll
        for (unsigned r = 0; r < 8; r++)
            ret->q[r] |= spread_bits(fifth >> 4 * r) << 4;
    }
    if constexpr (TYPE == KERNEL_IQ4_NL)
#pragma unroll
        for (unsigned r = 0; r < 8; r++)
            ret->q[r] = take_iq4(ret->q[r]);
    ret->scale[0] = half_value(block_bits<uint16_t>(row.rest + REST * g));
    if constexpr (REST == 4)
        ret->offset[0] =
            half_value(block_bits<uint16_t>(row.rest + REST * g + 2));
    else
        ret->offset[0] = ret->scale[0] * (TYPE == KERNEL_Q5_0 ? -16.0f : -8.0f);
}

/* Eight groups of a block of 256; part i of eight has low nibbles where it is
 * even. */
static __device__ inline void take_iq4_xs(struct block_group *ret,
                                          const struct block_row_parts &row,
                                          unsigned g)
{
    const uint2 rest = block_bits<uint2>(row.rest + 8 * (g / 8));
    const unsigned i = g % 8;
    unsigned scale = (rest.y >> 4 * i & 15) | (rest.x >> (16 + 2 * i) & 3) << 4;
    take_nibbles(ret->q, block_bits<uint4>(row.low + 16 * g));
#pragma unroll
    for (unsigned r = 0; r < 8; r++)
        ret->q[r] = take_iq4(ret->q[r]);
    ret->scale[0] =
        half_value(rest.x & 0xFFFFu) * static_cast<float>(int(scale) - 32);
}

/* Groups 2 j and 2 j + 1 are of parts 2 j and 2 j + 1, whose scales and offsets
 * are neighbours in the 12 bytes (kernels/blocks.c says how they lie). */
template <int TYPE>
static __device__ inline void take_parts(struct block_group *ret,
                                         const struct block_row_parts &row,
                                         unsigned g)
{
    const uint4 rest = block_bits<uint4>(row.rest + 16 * (g / 8));
    const unsigned j = g % 8 / 2;
    const unsigned s = rest.y >> j % 2 * 16, o = rest.z >> j % 2 * 16;
    const unsigned more = rest.w >> j % 2 * 16;
    const bool first = j < 2;
    const unsigned scales =
        first ? s & 0x3F3Fu : (more & 0x0F0Fu) | (s >> 2 & 0x3030u);
    const unsigned offsets =
        first ? o & 0x3F3Fu : (more >> 4 & 0x0F0Fu) | (o >> 2 & 0x3030u);
    const float d = half_value(rest.x & 0xFFFFu);
    const float m = half_value(rest.x >> 16);
    take_nibbles(ret->q, block_bits<uint4>(row.low + 16 * g));
    if constexpr (TYPE == KERNEL_Q5_K) {
        const uint4 high =
            block_bits<uint4>(row.high + 32 * (g / 8) + 16 * (g % 2));
        const unsigned fifth[] = {high.x, high.y, high.z, high.w};
#pragma unroll
        for (unsigned r = 0; r < 8; r++)
            ret->q[r] |= (fifth[r % 4] >> (2 * j + r / 4) & 0x01010101u) << 4;
    }
#pragma unroll
    for (unsigned p = 0; p < 2; p++) {
        ret->scale[p] = d * static_cast<float>(scales >> 8 * p & 0xFFu);
        ret->offset[p] = -m * static_cast<float>(offsets >> 8 * p & 0xFFu);
    }
}

static __device__ inline void take_q6_k(struct block_group *ret,
                                        const struct block_row_parts &row,
                                        unsigned g)
{
    const unsigned half = g / 4, l = g % 4;
    const uint2 low[] = {block_bits<uint2>(row.low + 64 * half + 8 * l),
                         block_bits<uint2>(row.low + 64 * half + 32 + 8 * l)};
    const uint2 pairs = block_bits<uint2>(row.high + 32 * half + 8 * l);
    const unsigned char *rest = row.rest + 18 * (g / 8);
    const float d = half_value(block_bits<uint16_t>(rest + 16));
#pragma unroll
    for (unsigned e = 0; e < 4; e++) {
        const signed char scale =
            static_cast<signed char>(rest[half % 2 * 8 + 2 * e + l / 2]);
        const uint2 of = low[e % 2];
        ret->q[2 * e] = (of.x >> e / 2 * 4 & 0x0F0F0F0Fu) |
                        (pairs.x >> 2 * e & 0x03030303u) << 4;
        ret->q[2 * e + 1] = (of.y >> e / 2 * 4 & 0x0F0F0F0Fu) |
                            (pairs.y >> 2 * e & 0x03030303u) << 4;
        ret->scale[e] = d * static_cast<float>(scale);
        ret->offset[e] = -32 * ret->scale[e];
    }
}

static __device__ inline void take_q2_k(struct block_group *ret,
                                        const struct block_row_parts &row,
                                        unsigned g)
{
    const unsigned half = g / 4, l = g % 4;
    const uint2 pairs = block_bits<uint2>(row.low + 32 * half + 8 * l);
    const unsigned char *rest = row.rest + 20 * (g / 8);
    const unsigned both = block_bits<unsigned>(rest + 16);
    const float d = half_value(both & 0xFFFFu), m = half_value(both >> 16);
#pragma unroll
    for (unsigned e = 0; e < 4; e++) {
        const unsigned part = rest[half % 2 * 8 + 2 * e + l / 2];
        ret->q[2 * e] = pairs.x >> 2 * e & 0x03030303u;
        ret->q[2 * e + 1] = pairs.y >> 2 * e & 0x03030303u;
        ret->scale[e] = d * static_cast<float>(part & 15);
        ret->offset[e] = -m * static_cast<float>(part >> 4);
    }
}

static __device__ inline void take_q3_k(struct block_group *ret,
                                        const struct block_row_parts &row,
                                        unsigned g)
{
    const unsigned half = g / 4 % 2, l = g % 4;
    const uint2 pairs = block_bits<uint2>(row.low + 32 * (g / 4) + 8 * l);
    const uint2 third = block_bits<uint2>(row.high + 32 * (g / 8) + 8 * l);
    const unsigned char *rest = row.rest + 14 * (g / 8);
    const float d = half_value(block_bits<uint16_t>(rest + 12));
#pragma unroll
    for (unsigned e = 0; e < 4; e++) {
        const unsigned low = rest[2 * e + l / 2] >> 4 * half & 15;
        const unsigned high =
            rest[8 + e % 2 * 2 + l / 2] >> (4 * half + e / 2 * 2) & 3;
        ret->q[2 * e] = (pairs.x >> 2 * e & 0x03030303u) |
                        (third.x >> (4 * half + e) & 0x01010101u) << 2;
        ret->q[2 * e + 1] = (pairs.y >> 2 * e & 0x03030303u) |
                            (third.y >> (4 * half + e) & 0x01010101u) << 2;
        ret->scale[e] = d * static_cast<float>(int(low | high << 4) - 32);
        ret->offset[e] = -4 * ret->scale[e];
    }
}

/* The parts of a row of k weights, without so many of its blocks. */
template <int TYPE>
static __device__ inline struct block_row_parts block_parts_at(
    const unsigned char *row, unsigned k, unsigned blocks)
{
    constexpr struct block_parts P = parts_of_block(TYPE);
    const unsigned char *high = row + k / P.values * P.low;
    const unsigned char *rest = high + k / P.values * P.high;
    return {row + blocks * P.low, high + blocks * P.high,
            rest + blocks * (P.bytes - P.low - P.high)};
}

/* Group g of those. */
template <int TYPE>
static __device__ inline void take_group(struct block_group *ret,
                                         const struct block_row_parts &parts,
                                         unsigned g)
{
    constexpr struct block_parts P = parts_of_block(TYPE);
    if constexpr (P.values == 32)
        take_small<TYPE>(ret, parts, g);
    else if constexpr (TYPE == KERNEL_IQ4_XS)
        take_iq4_xs(ret, parts, g);
    else if constexpr (TYPE == KERNEL_Q2_K)
        take_q2_k(ret, parts, g);
    else if constexpr (TYPE == KERNEL_Q3_K)
        take_q3_k(ret, parts, g);
    else if constexpr (TYPE == KERNEL_Q6_K)
        take_q6_k(ret, parts, g);
    else
        take_parts<TYPE>(ret, parts, g);
}

/* Calls `then.of<TYPE>()` for the type, which is known when the program runs. */
template <typename Then>
static __device__ inline void with_block_type(int type, const Then &then)
{
    switch (type) {
    case KERNEL_Q4_0: return then.template of<KERNEL_Q4_0>();
    case KERNEL_Q4_1: return then.template of<KERNEL_Q4_1>();
    case KERNEL_Q5_0: return then.template of<KERNEL_Q5_0>();
    case KERNEL_Q5_1: return then.template of<KERNEL_Q5_1>();
    case KERNEL_Q8_0: return then.template of<KERNEL_Q8_0>();
    case KERNEL_IQ4_NL: return then.template of<KERNEL_IQ4_NL>();
    case KERNEL_Q2_K: return then.template of<KERNEL_Q2_K>();
    case KERNEL_Q3_K: return then.template of<KERNEL_Q3_K>();
    case KERNEL_Q4_K: return then.template of<KERNEL_Q4_K>();
    case KERNEL_Q5_K: return then.template of<KERNEL_Q5_K>();
    case KERNEL_Q6_K: return then.template of<KERNEL_Q6_K>();
    case KERNEL_IQ4_XS: return then.template of<KERNEL_IQ4_XS>();
    }
}

/* ---- As numbers ---- */

static __device__ inline void put_eight(float *to, const float *eight)
{
    for (unsigned l = 0; l < 8; l++)
        to[l] = eight[l];
}

/* `to` is aligned. */
static __device__ inline void put_eight(uint16_t *to, const float *eight)
{
    unsigned words[4];
#pragma unroll
    for (unsigned p = 0; p < 4; p++)
        words[p] = to_bf16(eight[2 * p]) |
                   static_cast<unsigned>(to_bf16(eight[2 * p + 1])) << 16;
    *reinterpret_cast<uint4 *>(to) = {words[0], words[1], words[2], words[3]};
}

template <typename Number> struct decode_row {
    Number *to;
    const unsigned char *row;
    unsigned k;

    template <int TYPE> __device__ inline void of() const
    {
        constexpr unsigned RUN = block_run(TYPE);
        const struct block_row_parts parts = block_parts_at<TYPE>(row, k, 0);
        for (unsigned g = threadIdx.x; g < k / GROUP; g += blockDim.x) {
            struct block_group group;
            take_group<TYPE>(&group, parts, g);
#pragma unroll
            for (unsigned e = 0; e < 4; e++) {
                const unsigned run = e * 8 / RUN;
                float eight[8];
#pragma unroll
                for (unsigned l = 0; l < 8; l++) {
                    const float q = static_cast<float>(static_cast<signed char>(
                        group.q[2 * e + l / 4] >> l % 4 * 8));
                    eight[l] = group.scale[run] * q;
                    if constexpr (!block_is_plain(TYPE))
                        eight[l] += group.offset[run];
                }
                put_eight(to + block_eight(RUN, g, e), eight);
            }
        }
    }
};

/* to [k] = row j of the weight, by all threads of the block. */
template <typename Number>
static __device__ inline void decode_block_row(Number *to, const void *w,
                                               int type, size_t j, size_t k)
{
    const struct decode_row<Number> row = {
        to, block_row(w, type, j, k), static_cast<unsigned>(k)
    };
    with_block_type(type, row);
}

#endif
