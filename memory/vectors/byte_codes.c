#include "memory/vectors/byte_codes.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

struct codes codes_of(size_t count, size_t width)
{
    return (struct codes){mem_alloc(count * width),
                          mem_alloc(count * sizeof(float))};
}

void codes_free(struct codes *codes)
{
    free(codes->values);
    free(codes->scales);
    *codes = (struct codes){0};
}

static float scale_of(const float *vector, size_t width)
{
    float largest = 0;
    for (size_t i = 0; i < width; i++)
        if (fabsf(vector[i]) > largest)
            largest = fabsf(vector[i]);
    return largest > 0 ? largest / INT8_MAX : 1;
}

void codes_put(struct codes *codes, size_t at, const float *vector,
               size_t width)
{
    float scale = codes->scales[at] = scale_of(vector, width);
    for (size_t i = 0; i < width; i++)
        codes->values[at * width + i] =
            (uint8_t)(CODE_ZERO + (int)lrintf(vector[i] / scale));
}

void coded_query_set(struct coded_query *query, const float *vector,
                     size_t width)
{
    query->scale = scale_of(vector, width);
    query->zero = 0;
    for (size_t i = 0; i < width; i++) {
        query->values[i] = (int8_t)lrintf(vector[i] / query->scale);
        query->zero += CODE_ZERO * query->values[i];
    }
}

void coded_query_take(struct coded_query *query, const struct codes *codes,
                      size_t at, size_t width)
{
    const uint8_t *row = codes->values + at * width;
    query->scale = codes->scales[at];
    query->zero = 0;
    for (size_t i = 0; i < width; i++) {
        query->values[i] = (int8_t)(row[i] - CODE_ZERO);
        query->zero += CODE_ZERO * query->values[i];
    }
}
