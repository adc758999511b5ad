/* Vectors of four: what every 64-bit processor has. */
#define LANES_WIDTH 4
#define LANES_TARGET
#define LANES_MAX(a, b)   larger(a, b)
#define LANES_MIN(a, b)   smaller(a, b)
#define LANES_ABOVE(a, b) above_mask(a, b)
#define LANES_WIDEN(h)    widen(h)
#define LANES_TABLE       lanes_plain
#define LANES_NAME        "plain"

#include <stdint.h>

typedef float floats __attribute__((vector_size(16)));
typedef int32_t integers __attribute__((vector_size(16)));
typedef uint16_t halves __attribute__((vector_size(8)));
typedef uint32_t words __attribute__((vector_size(16)));

static inline floats larger(floats a, floats b)
{
    integers take = a > b;
    return (floats)((take & (integers)a) | (~take & (integers)b));
}

static inline floats smaller(floats a, floats b)
{
    integers take = a < b;
    return (floats)((take & (integers)a) | (~take & (integers)b));
}

static inline floats widen(halves h)
{
    return (floats)(__builtin_convertvector(h, words) << 16);
}

static inline uint32_t above_mask(floats a, floats b)
{
    integers no = a <= b;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < 4; i++)
        mask |= (uint32_t)!no[i] << i;
    return mask;
}

#include "kernels/cpu/lanes_body.h"
