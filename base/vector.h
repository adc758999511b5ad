/* Arithmetic of single vectors, wherever no model's backend is at hand. */
#ifndef BASE_VECTOR_H
#define BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

/* Makes `vector` [width] of length 1; one of zeros stays one.  Returns the length that it
 * had. */
double vector_unit(float *vector, size_t width);

/* A NaN counts as zero. */
bool vector_is_zero(const float *vector, size_t width);

#endif
