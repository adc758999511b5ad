#include "kernels/q8.h"

#include <math.h>
#include <stdint.h>

#include "kernels/half.h"

enum { BLOCK = 64, SCALE_BYTES = 2, MAX = 127 };

size_t q8_size(size_t count)
{
    return count + (count + BLOCK - 1) / BLOCK * SCALE_BYTES;
}

static uint16_t scale_of(const float *values, size_t count)
{
    float max = 0;
    for (size_t i = 0; i < count; i++)
        max = fmaxf(max, fabsf(values[i]));
    return half_of(fminf(max / MAX, 65504.0F));
}

void q8_encode(const float *values, size_t count, unsigned char *ret)
{
    for (size_t from = 0; from < count; from += BLOCK) {
        size_t size = count - from < BLOCK ? count - from : BLOCK;
        uint16_t half = scale_of(values + from, size);
        float scale = half_value(half);
        *ret++ = (unsigned char)(half & 255);
        *ret++ = (unsigned char)(half >> 8);
        for (size_t i = 0; i < size; i++) {
            float steps = scale > 0 ? nearbyintf(values[from + i] / scale) : 0;
            steps = fmaxf(-MAX, fminf(steps, MAX));
            *ret++ = (unsigned char)(int)steps;
        }
    }
}

bool q8_decode(const unsigned char *bytes, size_t count, float *ret)
{
    bool finite = true;
    for (size_t from = 0; from < count; from += BLOCK) {
        size_t size = count - from < BLOCK ? count - from : BLOCK;
        uint16_t half = (uint16_t)(bytes[0] | bytes[1] << 8);
        float scale = half_value(half);
        finite = finite && half_is_finite(half);
        bytes += SCALE_BYTES;
        for (size_t i = 0; i < size; i++)
            ret[from + i] = scale * (float)(signed char)*bytes++;
    }
    return finite;
}
