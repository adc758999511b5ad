/* Products with weights in blocks, as they lie (blocks.h).
 *
 * Where there is AVX2 the rows of `a` become integers of 15 bits, a scale for each
 * 32 of them (an error of 1/32512 of the largest at most), that are multiplied with
 * the blocks' own integers and summed up in f32; a row's bits do not depend on the
 * others, so those of a prompt are those of a token.  Without, they stay floats. */
#ifndef KERNELS_CPU_CPU_BLOCKS_H
#define KERNELS_CPU_CPU_BLOCKS_H

#include "kernels/ref/ref.h"

/* As kernels->matmul. */
int cpu_blocks_matmul(struct kernel_run *run, float *out, const float *a,
                      const struct kernel_weight *w, size_t m, bool add);

/* 32 numbers d q of a row. */
struct rounded {
    int16_t q[32];  /* to 127 * 128, in the order that the loops want */
    float d, sum;   /* sum: of all 32; */
    float parts[2]; /* of the first 16 and the others */
};

/* The loops, once for each instruction set. */
struct block_lanes {
    /* ret [k / 32] = a [k] */
    void (*round)(struct rounded *ret, const float *a, size_t k);
    /* out [m, n] = a [m, k] . w [n, k]^T (+ out when `add`), w being of blocks of
     * `type` in rows one after the other; rows of out are out_step apart. */
    void (*rows)(float *out, size_t out_step, const struct rounded *a,
                 const void *w, int type, size_t m, size_t n, size_t k,
                 bool add);
};

#if defined(__x86_64__)
extern const struct block_lanes block_lanes_avx2;
extern const struct block_lanes block_lanes_vnni; /* AVX-512 VL and VNNI */
#endif

#endif
