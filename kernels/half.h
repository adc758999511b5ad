/* Half precision (IEEE 754 binary16): vectors as they are kept. */
#ifndef KERNELS_HALF_H
#define KERNELS_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* To the nearest, ties to even; what is too large becomes infinite. */
static inline uint16_t half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7FFFFFFF;
    if (bits > 0x7F800000)
        return sign | 0x7E00;
    if (bits >= 0x477FF000)
        return sign | 0x7C00;
    if (bits < 0x38800000)
        return sign | (uint16_t)nearbyintf(fabsf(value) * 0x1p24f);
    bits += 0xFFF + (bits >> 13 & 1);
    return sign | (uint16_t)((bits - (112u << 23)) >> 13);
}

static inline float half_value(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, bits;
    uint32_t exponent = half >> 10 & 31, mantissa = half & 0x3FF;
    float value = (float)mantissa * 0x1p-24f;
    if (exponent == 0)
        return sign ? -value : value;
    bits = sign | mantissa << 13;
    bits |= exponent == 31 ? 0x7F800000 : (exponent + 112) << 23;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int half_is_finite(uint16_t half)
{
    return (half & 0x7C00) != 0x7C00;
}

#endif
