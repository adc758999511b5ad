/* Numbers of bf16 on the host, not by the device's own way. */
#ifndef TESTS_UNIT_BF16_H
#define TESTS_UNIT_BF16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* To the nearest, ties to even. */
static inline uint16_t bf16_of(float value)
{
    uint32_t bits, rest;
    memcpy(&bits, &value, sizeof bits);
    rest = bits & 0xFFFF;
    bits >>= 16;
    if (isnan(value))
        return (uint16_t)(bits | 0x40);
    if (rest > 0x8000 || (rest == 0x8000 && bits % 2))
        bits++;
    return (uint16_t)bits;
}

static inline float bf16_value(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
