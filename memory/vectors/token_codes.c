#include "memory/vectors/token_codes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    BLOCK = 64, /* values that one word of signs has */
    ROUNDS = 3, /* after two each value depends on all */
    PLANES = 4, /* bits of a value of the question's */
    LEVELS = 1 << PLANES
};

static const float NOTHING = -2;

struct token_query {
    size_t count, words; /* of a code */
    uint64_t *planes;    /* [count, PLANES, words] of values in LEVELS steps */
    float *scale;        /* [count] value of a step, */
    float *least;        /* of level 0, */
    float *sum;          /* and the sum of all */
};

static size_t words_of(size_t width)
{
    return (width + BLOCK - 1) / BLOCK;
}

size_t token_code_size(size_t width)
{
    return words_of(width) * sizeof(uint64_t);
}

/* ---- The rotation ---- */

/* splitmix64 of the position: as good as drawn, and the same everywhere. */
static uint64_t draw(uint64_t at)
{
    uint64_t z = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Walsh and Hadamard's transform of 64 values, of which each then is of length 8. */
static void transform(float *x)
{
    for (size_t half = 1; half < BLOCK; half *= 2)
        for (size_t i = 0; i < BLOCK; i += 2 * half)
            for (size_t k = i; k < i + half; k++) {
                float a = x[k], b = x[k + half];
                x[k] = a + b;
                x[k + half] = a - b;
            }
}

/* Signs, a transform of each block, and the values dealt out to other blocks; the
 * result is longer by 8 for each round.  x, scratch [words * BLOCK] */
static void rotate(float *x, size_t words, float *scratch)
{
    size_t n = words * BLOCK;
    for (size_t round = 0; round < ROUNDS; round++) {
        for (size_t w = 0; w < words; w++) {
            uint64_t signs = draw(round * 4096 + w);
            for (size_t i = 0; i < BLOCK; i++)
                if (signs >> i & 1)
                    x[w * BLOCK + i] = -x[w * BLOCK + i];
            transform(x + w * BLOCK);
        }
        for (size_t w = 0; w < words; w++)
            for (size_t i = 0; i < BLOCK; i++)
                scratch[i * words + w] = x[w * BLOCK + i];
        memcpy(x, scratch, n * sizeof *x);
    }
}

/* Room for a vector that is rotated, and as much beside it. */
static float *room_of(size_t width)
{
    return mem_alloc(2 * words_of(width) * BLOCK * sizeof(float));
}

/* x [words * BLOCK] of room_of = the vector, rotated. */
static void put_rotated(float *x, const float *vector, size_t width)
{
    size_t words = words_of(width), n = words * BLOCK;
    memcpy(x, vector, width * sizeof *x);
    memset(x + width, 0, (n - width) * sizeof *x);
    rotate(x, words, x + n);
}

static void put_signs(const float *x, size_t bytes, struct buf *ret)
{
    for (size_t byte = 0; byte < bytes; byte++) {
        unsigned bits = 0;
        for (unsigned i = 0; i < 8; i++)
            bits |= (unsigned)(x[8 * byte + i] > 0) << i;
        buf_put_byte(ret, (int)bits);
    }
}

void token_codes_put(const float *vectors, size_t count, size_t width,
                     struct buf *ret)
{
    float *x = room_of(width);
    for (size_t i = 0; i < count; i++) {
        put_rotated(x, vectors + i * width, width);
        put_signs(x, token_code_size(width), ret);
    }
    free(x);
}

/* ---- A question ---- */

/* x [words * BLOCK]: the token's vector, rotated. */
static void add_token(struct token_query *query, size_t t, const float *x)
{
    float low = x[0], high = x[0];
    size_t n = query->words * BLOCK;
    uint64_t *planes = query->planes + t * PLANES * query->words;
    float length = 512; /* 8 for each round */
    for (size_t i = 0; i < n; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    float step = high > low ? (high - low) / (LEVELS - 1) : 1;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t level = (uint64_t)lroundf((x[i] - low) / step);
        sum += (double)level;
        for (size_t p = 0; p < PLANES; p++)
            planes[p * query->words + i / BLOCK] |= (level >> p & 1)
                                                    << i % BLOCK;
    }
    length *= sqrtf((float)n); /* a sign stands for 1 / sqrt(n) */
    query->scale[t] = step / length;
    query->least[t] = low / length;
    query->sum[t] = (float)sum * query->scale[t] + (float)n * query->least[t];
}

struct token_query *token_query_new(const float *vectors, size_t count,
                                    size_t width)
{
    struct token_query *query = mem_alloc(sizeof *query);
    query->count = count;
    query->words = words_of(width);
    query->planes =
        mem_alloc(count * PLANES * query->words * sizeof *query->planes);
    query->scale = mem_alloc(count * sizeof *query->scale);
    query->least = mem_alloc(count * sizeof *query->least);
    query->sum = mem_alloc(count * sizeof *query->sum);
    float *x = room_of(width);
    for (size_t t = 0; t < count; t++) {
        put_rotated(x, vectors + t * width, width);
        add_token(query, t, x);
    }
    free(x);
    return query;
}

void token_query_free(struct token_query *query)
{
    if (!query)
        return;
    free(query->planes);
    free(query->scale);
    free(query->least);
    free(query->sum);
    free(query);
}

size_t token_query_count(const struct token_query *query)
{
    return query->count;
}

/* ---- Matching ---- */

static inline __attribute__((always_inline)) uint64_t word_at(
    const unsigned char *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < sizeof word; i++)
        word |= (uint64_t)bytes[i] << 8 * i;
    return word;
}

/* The values at which a code has a one, less those at which it has none:
 * 2 (scale A + least B) - sum, A being the levels at ones, B how many there are. */
static inline __attribute__((always_inline)) void match(
    const struct token_query *query, const unsigned char *code, float *best)
{
    size_t words = query->words;
    uint64_t bits[TOKEN_MAX_WIDTH / BLOCK];
    unsigned ones = 0;
    for (size_t w = 0; w < words; w++) {
        bits[w] = word_at(code + w * sizeof *bits);
        ones += (unsigned)__builtin_popcountll(bits[w]);
    }
    for (size_t t = 0; t < query->count; t++) {
        const uint64_t *planes = query->planes + t * PLANES * words;
        unsigned levels = 0;
        for (unsigned p = 0; p < PLANES; p++, planes += words) {
            unsigned some = 0;
            for (size_t w = 0; w < words; w++)
                some += (unsigned)__builtin_popcountll(planes[w] & bits[w]);
            levels += some << p;
        }
        float score = 2 * (query->scale[t] * (float)levels +
                           query->least[t] * (float)ones) -
                      query->sum[t];
        best[t] = score > best[t] ? score : best[t];
    }
}

#define DEFINE(NAME, TARGET)                                                   \
    TARGET static void match_##NAME(const struct token_query *query,           \
                                    const unsigned char *codes, size_t count,  \
                                    float *best)                               \
    {                                                                          \
        for (size_t i = 0; i < count; i++)                                     \
            match(query, codes + i * query->words * sizeof(uint64_t), best);   \
    }

DEFINE(plain, )
#ifdef __x86_64__
DEFINE(popcnt, __attribute__((target("popcnt"))))
#endif

void token_match_start(const struct token_query *query, float *best)
{
    for (size_t t = 0; t < query->count; t++)
        best[t] = NOTHING;
}

void token_match_add(const struct token_query *query, struct slice codes,
                     float *best)
{
    const unsigned char *bytes = (const unsigned char *)codes.data;
    size_t count = codes.size / (query->words * sizeof(uint64_t));
#ifdef __x86_64__
    if (__builtin_cpu_supports("popcnt")) {
        match_popcnt(query, bytes, count, best);
        return;
    }
#endif
    match_plain(query, bytes, count, best);
}

double token_match_end(const struct token_query *query, const float *best)
{
    double sum = 0;
    for (size_t t = 0; t < query->count; t++)
        sum += (double)best[t];
    return query->count ? sum / (double)query->count : (double)NOTHING;
}
