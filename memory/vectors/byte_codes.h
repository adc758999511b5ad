/* Vectors in 8 bits a value, each with a scale of its own: what is compared is a byte a
 * value instead of a float, and bytes are what processors multiply fastest (dots.h). */
#ifndef MEMORY_VECTORS_BYTE_CODES_H
#define MEMORY_VECTORS_BYTE_CODES_H

#include <stddef.h>
#include <stdint.h>

/* A value is (byte - CODE_ZERO) scale. */
enum { CODE_ZERO = 128 };
struct codes {
    uint8_t *values; /* [count, width] */
    float *scales;   /* [count] */
};

/* Free with codes_free. */
struct codes codes_of(size_t count, size_t width);
void codes_free(struct codes *codes);
void codes_put(struct codes *codes, size_t at, const float *vector,
               size_t width);

/* A query's bytes have a sign. */
struct coded_query {
    int8_t *values; /* [width], the caller's */
    float scale;
    int32_t zero; /* what a row of zeros comes to */
};

void coded_query_set(struct coded_query *query, const float *vector,
                     size_t width);
/* The query that is row `at` of codes. */
void coded_query_take(struct coded_query *query, const struct codes *codes,
                      size_t at, size_t width);
/* `product`: dots.h's of the query with a row that has this scale. */
static inline float coded_score(const struct coded_query *query,
                                int32_t product, float scale)
{
    return (float)(product - query->zero) * scale * query->scale;
}

#endif
