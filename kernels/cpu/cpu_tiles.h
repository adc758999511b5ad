/* Products of many rows on a processor with AMX, which multiplies tiles of
 * bf16 numbers and adds up in f32, at sixteen times the rate of f32.
 *
 * An f32 number is the sum of three of bf16, high + middle + low, of eight bits
 * each: exactly, but for what is below 2^-126.  A product with a bf16 weight is
 * the sum of three, a product with an f32 weight that of six: what is left out
 * there is below 2^-21 of a term, 2^-24 on the average.  An f16 weight is the sum
 * of two, exactly, and a product with it that of five, as near.  An int8 weight is
 * one: its rows' scales come to what is summed up.
 *
 * An infinity is its high term alone.  Times a number of several terms, of which
 * one is 0, it gives NaN: an infinite bf16 weight, and any with an f32 or f16 one.
 *
 * Each value of the result is summed up in the same order, whatever the number
 * of rows, columns and threads. */
#ifndef KERNELS_CPU_CPU_TILES_H
#define KERNELS_CPU_CPU_TILES_H

#include "kernels/ref/ref.h"

/* Rows from which on it is worth it. */
enum { TILES_MIN_ROWS = 16 };

/* Whether processor and kernel have it, and this process may use it. */
bool tiles_usable(void);

/* A weight in the form in which tiles are loaded. */
struct tiles;

struct tiles *tiles_new(void);        /* NULL: no memory */
void tiles_free(struct tiles *tiles); /* NULL: ok */

/* As kernels->product, m >= TILES_MIN_ROWS, k > 0.  Lays the weight out first when
 * that was not done, or is not kept. */
int tiles_matmul(struct kernel_run *run, float *out, const float *a,
                 const struct kernel_weight *w, size_t m, bool add);

#endif
