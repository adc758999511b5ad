#include "memory/vectors/dots.h"

/* Sums that do not wait for each other: the compiler keeps them in registers,
 * and may not reorder a sum of floats by itself. */
enum { LANES = 16, SUMS = 2 };
typedef float lanes
    __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

static inline __attribute__((always_inline)) float dot_floats(const float *a,
                                                              const float *b,
                                                              size_t width)
{
    lanes sums[SUMS] = {{0}};
    size_t i = 0;
    for (; i + SUMS * LANES <= width; i += SUMS * LANES)
        for (int s = 0; s < SUMS; s++)
            sums[s] += *(const lanes *)(a + i + s * LANES) *
                       *(const lanes *)(b + i + s * LANES);
    float sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += sums[0][l] + sums[1][l];
    for (; i < width; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline __attribute__((always_inline)) int32_t dot_bytes(const int8_t *a,
                                                               const uint8_t *b,
                                                               size_t width)
{
    int32_t sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += a[i] * b[i];
    return sum;
}

#define DEFINE_FLOATS(NAME, TARGET)                                            \
    TARGET static void floats_##NAME(const float *a, const float *rows,        \
                                     size_t count, size_t width, float *ret)   \
    {                                                                          \
        for (size_t i = 0; i < count; i++)                                     \
            ret[i] = dot_floats(a, rows + i * width, width);                   \
    }
#define DEFINE_BYTES(NAME, TARGET)                                             \
    TARGET static void bytes_##NAME(const int8_t *a, const uint8_t *rows,      \
                                    size_t count, size_t width, int32_t *ret)  \
    {                                                                          \
        for (size_t i = 0; i < count; i++)                                     \
            ret[i] = dot_bytes(a, rows + i * width, width);                    \
    }

DEFINE_FLOATS(plain, )
DEFINE_BYTES(plain, )
static const struct dots dots_plain = {floats_plain, bytes_plain};

#ifdef __x86_64__
#define AVX2 __attribute__((target("avx2,fma")))
enum { BLOCK = 1024 }; /* values of a that are widened at once */

/* AVX2 multiplies pairs of 16 bits: a is widened once for many rows. */
AVX2 static void bytes_avx2(const int8_t *a, const uint8_t *rows, size_t count,
                            size_t width, int32_t *ret)
{
    int16_t wide[BLOCK];
    for (size_t from = 0; from < width; from += BLOCK) {
        size_t size = width - from < BLOCK ? width - from : BLOCK;
        for (size_t i = 0; i < size; i++)
            wide[i] = (int16_t)a[from + i];
        for (size_t r = 0; r < count; r++) {
            const uint8_t *row = rows + r * width + from;
            int32_t sum = 0;
            for (size_t i = 0; i < size; i++)
                sum += wide[i] * (int16_t)row[i];
            ret[r] = from ? ret[r] + sum : sum;
        }
    }
}

#define AVX512                                                                 \
    __attribute__((                                                            \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,"       \
               "prefer-vector-width=512")))
DEFINE_FLOATS(avx2, AVX2)
DEFINE_FLOATS(avx512, AVX512)
DEFINE_BYTES(avx512, AVX512)
#endif

const struct dots *dots_at(size_t number)
{
    const struct dots *there[4] = {NULL};
    size_t count = 0;
#ifdef __x86_64__
    static const struct dots avx2 = {floats_avx2, bytes_avx2},
                             avx512 = {floats_avx512, bytes_avx512};
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni"))
        there[count++] = &avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        there[count++] = &avx2;
#endif
    there[count++] = &dots_plain;
    return number < count ? there[number] : NULL;
}
