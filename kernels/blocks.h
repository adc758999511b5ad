/* Weights in blocks of a few bits each, byte for byte as GGUF files have them.
 *
 * A block of 32 is one scale d (a half), in some one offset m, and 32 numbers q
 * of 4, 5 or 8 bits; nibbles are those of weights 0..15, low, and 16..31, high:
 *
 *   Q4_0  d, 16 bytes of nibbles                  d (q - 8)
 *   Q4_1  d, m, 16 bytes of nibbles               d q + m
 *   Q5_0  d, u32 of fifth bits, 16 of nibbles     d (q - 16)
 *   Q5_1  d, m, u32 of fifth bits, 16 of nibbles  d q + m
 *   Q8_0  d, 32 signed bytes                      d q
 *   IQ4_NL  d, 16 bytes of nibbles                d blocks_iq4[q]
 *
 * A block of 256 has parts of 32 (or 16) with scales s, and offsets o, of 6 (or 8)
 * bits each:
 *
 *   Q2_K  16 of s (low) and o (high), 64 of pairs, d, m         d s q - m o
 *   Q3_K  32 of third bits, 64 of pairs, 12 bytes of s, d       d s (q - 4)
 *   Q4_K  d, m, 12 bytes of s and o, 128 of nibbles             d s q - m o
 *   Q5_K  d, m, 12 bytes of s and o, 32 of fifth bits, 128      d s q - m o
 *   Q6_K  128 of low nibbles, 64 of high pairs, 16 signed s, d  d s (q - 32)
 *   IQ4_XS  d, 6 bytes of s, 128 of nibbles                     d s blocks_iq4[q] */
#ifndef KERNELS_BLOCKS_H
#define KERNELS_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct block_kind {
    const char *name;     /* "q4_0" */
    size_t values, bytes; /* of a block */
    void (*decode)(const unsigned char *block, float *out);
};

/* The numbers of IQ4_NL and IQ4_XS, farther apart the larger they are. */
extern const int8_t blocks_iq4[16];

/* Returns the layout of an enum kernel_type of blocks. */
const struct block_kind *block_kind(int type);

/* out [count] = the weights of so many, a multiple of a block's, that begin at
 * `blocks`. */
void blocks_decode(int type, const void *blocks, size_t count, float *out);

/* Bytes of a row of k weights of any enum kernel_type. */
size_t kernel_row_bytes(int type, size_t k);

#endif
