/* A tile of slots in shared memory, for attention on the tensor cores: where its
 * keys and values come from, how they come, and how they lie for products. */
#ifndef KERNELS_CUDA_CUDA_TENSOR_TILE_H
#define KERNELS_CUDA_CUDA_TENSOR_TILE_H

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_warpgroup.h"

constexpr unsigned TENSOR_THREADS = 128, TENSOR_WARPS = 4;
constexpr unsigned TENSOR_SLOTS = 64;
constexpr size_t TENSOR_MAX_WIDTH = 128;
constexpr unsigned TENSOR_FEW = 16, TENSOR_MANY = 64; /* rows */
static_assert(TENSOR_SLOTS == GROUP_ROWS && TENSOR_MANY == GROUP_ROWS,
              "a tile's slots are the rows of a panel");

/* Numbers of a tile as products read them: panels of 64 columns (cuda_warpgroup.h),
 * in which a slot's 16 bytes i lie at i ^ (slot % 8), so that eight slots' lie in
 * different banks. */
template <unsigned WIDTH, typename Number> struct tensor_numbers;

template <unsigned WIDTH> struct tensor_numbers<WIDTH, float> {
    static constexpr unsigned HALVES = TENSOR_SLOTS * WIDTH;

    /* As they came; aligned for 16 bytes. */
    float raw_key[TENSOR_SLOTS * WIDTH], raw_value[TENSOR_SLOTS * WIDTH];
    /* Split: first the keys, then the values. */
    uint16_t high[HALVES], low[HALVES];
};

template <unsigned WIDTH> struct tensor_numbers<WIDTH, uint16_t> {
    static constexpr unsigned HALVES = TENSOR_SLOTS * WIDTH;

    /* Of the tile at hand and of the next, by turn & 1; aligned as above. */
    uint16_t keys[2][HALVES], values[2][HALVES];
};

template <unsigned WIDTH, typename Number> struct tensor_tile {
    struct tensor_numbers<WIDTH, Number> numbers;
    /* Of the tile at hand and of the next, by turn & 1. */
    const Number *key[2][TENSOR_SLOTS], *value[2][TENSOR_SLOTS];
    unsigned there[2][TENSOR_SLOTS / WARP]; /* bits: slots with a key */
    unsigned some[2];                       /* whether there is such a tile */

    /* By the first warp, for slot 32 half + lane; nullptr: none. */
    __device__ void place(unsigned turn, unsigned half, const Number *its_key,
                          const Number *its_value)
    {
        unsigned side = turn & 1, slot = half * WARP + lane_of_thread();
        unsigned bits = __ballot_sync(WHOLE_WARP, its_key != nullptr);
        key[side][slot] = its_key;
        value[side][slot] = its_value;
        if (!lane_of_thread())
            there[side][half] = bits;
    }
    __device__ uint64_t there_bits(unsigned turn) const
    {
        return there[turn & 1][0] | static_cast<uint64_t>(there[turn & 1][1])
                                        << 32;
    }
};

/* Bits [from, to) of a tile whose first slot is `at`. */
static __device__ __forceinline__ uint64_t tensor_bits(unsigned at,
                                                       unsigned from,
                                                       unsigned to)
{
    uint64_t all = ~uint64_t{0};
    unsigned end = at + TENSOR_SLOTS;
    if (from >= to || to <= at || from >= end)
        return 0;
    if (from > at)
        all <<= from - at;
    return to < end ? all & ~(~uint64_t{0} << (to - at)) : all;
}

/* ---- Into the tile ---- */

static __device__ __forceinline__ unsigned split_place(unsigned slot,
                                                       unsigned column)
{
    return column / 64 * GROUP_PANEL + slot * 64 +
           ((column / 8 % 8) ^ (slot % 8)) * 8 + column % 8;
}

/* Asks for the slots' numbers; their group is ended whatever there is. */
template <unsigned WIDTH>
static __device__ __forceinline__ void tensor_fetch(float *to,
                                                    const float *const *from,
                                                    size_t d, bool some)
{
    if (some)
#pragma unroll 1 /* nobody waits for these, and registers are few */
        for (unsigned at = threadIdx.x; at < TENSOR_SLOTS * WIDTH / 4;
             at += TENSOR_THREADS) {
            unsigned slot = at / (WIDTH / 4), l = at % (WIDTH / 4) * 4;
            const float *row = from[slot];
            float *place = to + slot * WIDTH + l;
            if (!row || l >= d)
                continue;
            if (l + 4 <= d && aligned_16(row + l))
                copy_16(place, row + l);
            else
                for (unsigned e = 0; e < 4 && l + e < d; e++)
                    copy_4(place + e, row + l + e);
        }
    end_copies();
}

/* The same of bf16, to where products read it; zeros where there is nothing. */
template <unsigned WIDTH>
static __device__ __forceinline__ void tensor_fetch(uint16_t *to,
                                                    const uint16_t *const *from,
                                                    size_t d, bool some)
{
    /* A thread's places are of one column, and of slots that change them alike. */
    constexpr unsigned EACH = WIDTH / 8, STEP = TENSOR_THREADS / EACH;
    static_assert(STEP % 8 == 0, "other slots change places otherwise");
    const unsigned l = threadIdx.x % EACH * 8, first = threadIdx.x / EACH;
    const bool whole = l + 8 <= d;
    uint16_t *place = to + split_place(first, l);
    if (some)
#pragma unroll 1
        for (unsigned slot = first; slot < TENSOR_SLOTS;
             slot += STEP, place += STEP * 64) {
            const uint16_t *row = from[slot];
            if (row && whole && aligned_16(row + l))
                copy_16(place, row + l);
            else
#pragma unroll 1
                for (unsigned e = 0; e < 8; e++)
                    place[e] = row && l + e < d ? row[l + e] : uint16_t{0};
        }
    end_copies();
}

/* high and low of what came; zeros where nothing did. */
template <unsigned WIDTH>
static __device__ __forceinline__ void tensor_split(
    struct tensor_numbers<WIDTH, float> *t, const float *raw, size_t d,
    uint64_t there)
{
#pragma unroll 2
    for (unsigned at = threadIdx.x; at < TENSOR_SLOTS * WIDTH / 4;
         at += TENSOR_THREADS) {
        unsigned slot = at / (WIDTH / 4), l = at % (WIDTH / 4) * 4;
        float4 x = *reinterpret_cast<const float4 *>(raw + slot * WIDTH + l);
        bool is = there >> slot & 1;
        x.x = is && l < d ? x.x : 0;
        x.y = is && l + 1 < d ? x.y : 0;
        x.z = is && l + 2 < d ? x.z : 0;
        x.w = is && l + 3 < d ? x.w : 0;
        unsigned place = split_place(slot, l);
        uint2 high = {pack_bf16(x.x, x.y), pack_bf16(x.z, x.w)};
        uint2 low = {rest_bf16(x.x, x.y, high.x), rest_bf16(x.z, x.w, high.y)};
        *reinterpret_cast<uint2 *>(t->high + place) = high;
        *reinterpret_cast<uint2 *>(t->low + place) = low;
    }
}

#endif
