/* Products with weights in blocks, as they lie (blocks.h).
 *
 * Where there is AVX2 the rows of `a` become integers of 15 bits, a scale for each
 * 32 of them (an error of 1/32512 of the largest at most; 32 below 1e-34 are 0), that
 * are multiplied with the blocks' own integers; sums of 32 (16 where a type has a
 * scale for 16) are exact, and are summed up in f32 in one order, whatever the
 * instruction set and the number of rows: so a prompt's bits are those of its tokens
 * one by one.  Without, they stay floats. */
#ifndef KERNELS_CPU_CPU_BLOCKS_H
#define KERNELS_CPU_CPU_BLOCKS_H

#include "kernels/ref/ref.h"

/* As kernels->matmul. */
int cpu_blocks_matmul(struct kernel_run *run, float *out, const float *a,
                      const struct kernel_weight *w, size_t m, bool add);

#define UNROLL _Pragma("GCC unroll 8")

enum {
    PART = 32, /* numbers that have one scale */
    GROUP = 8, /* parts that are summed up side by side */
    GROUP_VALUES = GROUP * PART
};

/* The order of a group's parts in vectors: 0 2 4 6 1 3 5 7; of their halves: the
 * first halves of 0 2 4 6, the second ones, and the same of 1 3 5 7. */
static inline size_t part_lane(size_t part)
{
    return part % 2 * 4 + part / 2;
}

static inline size_t half_lane(size_t part, size_t half)
{
    return part % 2 * 8 + half * 4 + part / 2;
}

/* 256 numbers d q of a row, those behind its end 0. */
struct rounded {
    _Alignas(64) union {
        int16_t words[GROUP][2][PART / 2]; /* of a part: 0 2 4 ..., 1 3 5 ... */
        int8_t bytes[GROUP / 2][2][2][PART]; /* q = bytes[][0] * 256 +
                                                bytes[][1], two parts each */
    } q;
    float d[GROUP], sum[GROUP], half_sum[2 * GROUP]; /* sum: of all d q; */
    int32_t bias[GROUP], half_bias[2 * GROUP]; /* of q, times the bias of a type
                                                  without offsets */
};

/* So many of a row. */
static inline size_t rounded_groups(size_t k)
{
    return (k + GROUP_VALUES - 1) / GROUP_VALUES;
}

/* The loops, once for each instruction set. */
struct block_lanes {
    /* ret [rounded_groups(k)] = a [k], for blocks of `type` */
    void (*round)(struct rounded *ret, const float *a, size_t k, int type);
    /* out [m, n] = a [m, k] . w [n, k]^T (+ out when `add`), w being of blocks of
     * `type` in rows one after the other; rows of out are out_step apart. */
    void (*rows)(float *out, size_t out_step, const struct rounded *a,
                 const void *w, int type, size_t m, size_t n, size_t k,
                 bool add);
};

#if defined(__x86_64__)
extern const struct block_lanes block_lanes_avx2;
extern const struct block_lanes block_lanes_avxvnni; /* AVX2 and AVX-VNNI */
extern const struct block_lanes block_lanes_vnni;    /* AVX-512 VL and VNNI */
#endif

#endif
