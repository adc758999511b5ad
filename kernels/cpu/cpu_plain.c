/* Vectors of four: what every 64-bit processor has. */
#define LANES_WIDTH 4
#define LANES_TARGET
#define LANES_MAX(a, b)   larger(a, b)
#define LANES_MIN(a, b)   smaller(a, b)
#define LANES_ABOVE(a, b) above_mask(a, b)
#define LANES_BF16(h)     bf16_to_f32(h)
#define LANES_F16(h)      f16_to_f32(h)
#define LANES_INT8(b)     __builtin_convertvector(b, floats)
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

static inline floats bf16_to_f32(halves h)
{
    return (floats)(__builtin_convertvector(h, words) << 16);
}

/* As ref_from_f16. */
static inline floats f16_to_f32(halves h)
{
    words bits = __builtin_convertvector(h, words);
    words sign = (bits & 0x8000) << 16, size = (bits & 0x7FFF) << 13;
    words odd = (words)(size >= 0x7C00u << 13);
    words usual = (words)((floats)size * 0x1p112F);
    return (floats)(sign | (odd & (size | 0x7F800000u)) | (~odd & usual));
}

static inline uint32_t above_mask(floats a, floats b)
{
    integers no = a <= b;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < 4; i++)
        mask |= (uint32_t)!no[i] << i;
    return mask;
}

#include "kernels/cpu/cpu_lanes_body.h"
