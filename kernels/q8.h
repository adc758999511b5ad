/* Vectors in 8 bits a value: blocks of 64 values, each block its scale as a half
 * (kernels/half.h) and then a signed byte a value, the scale's multiple that is
 * nearest.  The last block may be shorter.  What is lost is at most 1/253 of the
 * largest value of the block, where that is between 2^-10 and 2^22 (halves do not
 * hold the scale of others well): the cosine with the vector itself is .9999 and
 * more where no value stands out by far. */
#ifndef KERNELS_Q8_H
#define KERNELS_Q8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that `count` values take. */
size_t q8_size(size_t count);
/* ret: [q8_size(count)].  Values are finite. */
void q8_encode(const float *values, size_t count, unsigned char *ret);
/* False: some are not numbers. */
bool q8_decode(const unsigned char *bytes, size_t count, float *ret);

#endif
