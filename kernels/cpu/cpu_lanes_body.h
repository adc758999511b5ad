/* The loops of cpu_lanes.h over vectors of LANES_WIDTH floats.  Included once by a
 * file that defines LANES_WIDTH, LANES_TARGET (the attribute of every function),
 * LANES_MAX and LANES_MIN (of two vectors; of a NaN and a number the second),
 * LANES_ABOVE (the mask of the lanes where not a <= b), LANES_BF16, LANES_F16 and
 * LANES_INT8 (of these to f32), and LANES_TABLE, LANES_NAME.
 *
 * a * b + c becomes one instruction: this folder is compiled with
 * -ffp-contract=fast. */
#include <string.h>

#include "kernels/cpu/cpu_lanes.h"

typedef float vec __attribute__((vector_size(LANES_WIDTH * 4)));
typedef int32_t ivec __attribute__((vector_size(LANES_WIDTH * 4)));
typedef uint32_t uvec __attribute__((vector_size(LANES_WIDTH * 4)));
typedef uint16_t hvec __attribute__((vector_size(LANES_WIDTH * 2)));
typedef int8_t bvec __attribute__((vector_size(LANES_WIDTH)));

#define INLINE      static inline __attribute__((always_inline)) LANES_TARGET
#define BODY        static LANES_TARGET
#define UNROLL      _Pragma("GCC unroll 8")
#define UNROLL_MORE _Pragma("GCC unroll 16")
#define UNROLL_LESS _Pragma("GCC unroll 4")

enum { WIDTH = LANES_WIDTH, TILE_ROWS = 6, TILE_VECS = WIDTH == 16 ? 4 : 2 };

/* ---- Vectors ---- */

INLINE vec load(const float *from)
{
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void store(float *to, vec v)
{
    memcpy(to, &v, sizeof v);
}

/* The first `count` lanes, the others 0. */
INLINE vec load_some(const float *from, size_t count)
{
    vec v = {0};
    memcpy(&v, from, count * sizeof *from);
    return v;
}

INLINE void store_some(float *to, vec v, size_t count)
{
    memcpy(to, &v, count * sizeof *to);
}

INLINE vec all(float x)
{
    return x - (vec){0};
}

/* `count` numbers of a weight of `type`, then zeros; the scale is left out. */
INLINE vec load_some_weight(const char *w, size_t at, int type, size_t count)
{
    vec v = {0};
    hvec h = {0};
    bvec b = {0};
    if (type == KERNEL_F32) {
        memcpy(&v, w + at * 4, count * 4);
        return v;
    }
    if (type == KERNEL_INT8) {
        memcpy(&b, w + at, count);
        return LANES_INT8(b);
    }
    memcpy(&h, w + at * 2, count * 2);
    return type == KERNEL_BF16 ? LANES_BF16(h) : LANES_F16(h);
}

INLINE vec load_weight(const char *w, size_t at, int type)
{
    return load_some_weight(w, at, type, WIDTH);
}

INLINE float sum(vec v)
{
#if LANES_WIDTH == 16
    typedef float eight __attribute__((vector_size(32)));
    eight e = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
              __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#elif LANES_WIDTH == 8
    vec e = v;
#endif
    typedef float four __attribute__((vector_size(16)));
#if LANES_WIDTH >= 8
    four f = __builtin_shufflevector(e, e, 0, 1, 2, 3) +
             __builtin_shufflevector(e, e, 4, 5, 6, 7);
#else
    four f = v;
#endif
    return (f[0] + f[2]) + (f[1] + f[3]);
}

/* Relative error under 2e-7; 0 below -87.3; a NaN stays one. */
INLINE vec exp_of(vec x)
{
    const vec low = all(-87.3f), magic = all(12582912.0f);
    ivec under = x < low;
    x = LANES_MAX(low, LANES_MIN(all(88.3f), x));
    vec n = (x * 1.44269504f + magic) - magic; /* to the nearest integer */
    vec r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    vec y = all(1.9875691500e-4f);
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    vec power = (vec)((__builtin_convertvector(n, ivec) + 127) << 23);
    return (vec)((ivec)(y * power) & ~under);
}

/* ---- Products ---- */

/* Bytes that are asked for before they are needed, in each stream of a weight:
 * the processor does not look far enough ahead by itself. */
enum { AHEAD = 2048 };

/* One vector of each of m rows of a by one of each of n streams of w. */
INLINE void rows_step(vec acc[4][4], const float *a, const char *w, size_t at,
                      size_t step, int type, size_t m, size_t n, size_t k)
{
    vec b[4];
    UNROLL
    for (size_t j = 0; j < n; j++)
        b[j] = load_weight(w, j * step + at, type);
    UNROLL
    for (size_t i = 0; i < m; i++) {
        vec x = load(a + i * k);
        UNROLL
        for (size_t j = 0; j < n; j++)
            acc[i][j] += x * b[j];
    }
}

/* m rows by n columns of `rows`; m, n and type are constants where it is
 * inlined.  The columns are `apart` rows of w, and places of out and scale, from
 * one another. */
INLINE void rows_tile(float *out, size_t out_step, const float *a,
                      const char *w, const float *scale, size_t apart, int type,
                      size_t m, size_t n, size_t k, bool add)
{
    vec acc[4][4] = {{{0}}};
    size_t l = 0, step = apart * k, size = kernel_type_size(type);
    size_t line = 64 / size; /* numbers */
    for (; l + line <= k; l += line) {
        UNROLL
        for (size_t j = 0; j < n; j++)
            __builtin_prefetch(w + (j * step + l) * size + AHEAD, 0, 3);
        UNROLL_LESS
        for (size_t part = 0; part < line; part += WIDTH)
            rows_step(acc, a + l + part, w, l + part, step, type, m, n, k);
    }
    for (; l + WIDTH <= k; l += WIDTH)
        rows_step(acc, a + l, w, l, step, type, m, n, k);
    if (l < k) {
        UNROLL
        for (size_t i = 0; i < m; i++) {
            vec x = load_some(a + i * k + l, k - l);
            UNROLL
            for (size_t j = 0; j < n; j++)
                acc[i][j] += x * load_some_weight(w, j * step + l, type, k - l);
        }
    }
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t j = 0; j < n; j++) {
            float *to = &out[i * out_step + j * apart];
            float by = type == KERNEL_INT8 ? scale[j * apart] : 1;
            *to = sum(acc[i][j]) * by + (add ? *to : 0);
        }
    }
}

/* Four columns at a time, each from a quarter of its own: four streams of
 * memory that go on from row to row. */
INLINE void rows_of(float *out, size_t out_step, const float *a,
                    struct lanes_weight weight, int type, size_t m, size_t n,
                    size_t k, bool add)
{
    const char *w = weight.rows;
    const float *scale = weight.scale;
    size_t row = k * kernel_type_size(type), apart = n / 4;
    for (size_t j = 0; j < apart; j++, out++, w += row) {
        size_t i = 0;
        for (; i + 4 <= m; i += 4)
            rows_tile(out + i * out_step, out_step, a + i * k, w, scale, apart,
                      type, 4, 4, k, add);
        for (; i + 2 <= m; i += 2)
            rows_tile(out + i * out_step, out_step, a + i * k, w, scale, apart,
                      type, 2, 4, k, add);
        if (i < m)
            rows_tile(out + i * out_step, out_step, a + i * k, w, scale, apart,
                      type, 1, 4, k, add);
        if (type == KERNEL_INT8)
            scale++;
    }
    out += 3 * apart;
    w += 3 * apart * row;
    if (type == KERNEL_INT8)
        scale += 3 * apart;
    for (size_t j = 4 * apart; j < n; j++, out++, w += row) {
        for (size_t i = 0; i < m; i++)
            rows_tile(out + i * out_step, out_step, a + i * k, w, scale, 0,
                      type, 1, 1, k, add);
        if (type == KERNEL_INT8)
            scale++;
    }
}

BODY void rows(float *out, size_t out_step, const float *a,
               struct lanes_weight w, size_t m, size_t n, size_t k, bool add)
{
    if (w.type == KERNEL_BF16)
        rows_of(out, out_step, a, w, KERNEL_BF16, m, n, k, add);
    else if (w.type == KERNEL_INT8)
        rows_of(out, out_step, a, w, KERNEL_INT8, m, n, k, add);
    else if (w.type == KERNEL_F16)
        rows_of(out, out_step, a, w, KERNEL_F16, m, n, k, add);
    else
        rows_of(out, out_step, a, w, KERNEL_F32, m, n, k, add);
}

struct mix {
    float *out;
    size_t out_step;
    const float *p;
    size_t p_row, p_column;
    const float *v;
    size_t v_step, k;
    bool add;
};

/* m rows by `vecs` vectors of columns, the last of `last` lanes; m and vecs are
 * constants where it is inlined. */
INLINE void mix_tile(const struct mix *t, size_t row, size_t column, size_t m,
                     size_t vecs, size_t last)
{
    vec acc[TILE_ROWS][TILE_VECS];
    float *out = t->out + row * t->out_step + column;
    const float *p = t->p + row * t->p_row, *v = t->v + column;
    bool some = last < WIDTH;
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t c = 0; c < vecs; c++) {
            const float *at = out + i * t->out_step + c * WIDTH;
            if (!t->add)
                acc[i][c] = (vec){0};
            else
                acc[i][c] = some ? load_some(at, last) : load(at);
        }
    }
    for (size_t l = 0; l < t->k; l++, v += t->v_step, p += t->p_column) {
        vec b[TILE_VECS];
        UNROLL
        for (size_t c = 0; c < vecs; c++)
            b[c] = some ? load_some(v, last) : load(v + c * WIDTH);
        UNROLL
        for (size_t i = 0; i < m; i++) {
            float x = p[i * t->p_row];
            UNROLL
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] += x * b[c];
        }
    }
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t c = 0; c < vecs; c++) {
            float *at = out + i * t->out_step + c * WIDTH;
            if (some)
                store_some(at, acc[i][c], last);
            else
                store(at, acc[i][c]);
        }
    }
}

INLINE void mix_rows(const struct mix *t, size_t m, size_t column, size_t vecs,
                     size_t last)
{
    size_t i = 0;
    for (; i + TILE_ROWS <= m; i += TILE_ROWS)
        mix_tile(t, i, column, TILE_ROWS, vecs, last);
    for (; i + 2 <= m; i += 2)
        mix_tile(t, i, column, 2, vecs, last);
    if (i < m)
        mix_tile(t, i, column, 1, vecs, last);
}

BODY void mix(float *out, size_t out_step, const float *p, size_t p_row,
              size_t p_column, const float *v, size_t v_step, size_t m,
              size_t n, size_t k, bool add)
{
    const struct mix t = {out, out_step, p, p_row, p_column, v, v_step, k, add};
    size_t j = 0;
    for (; j + TILE_VECS * WIDTH <= n; j += TILE_VECS * WIDTH)
        mix_rows(&t, m, j, TILE_VECS, WIDTH);
    for (; j + 2 * WIDTH <= n; j += 2 * WIDTH)
        mix_rows(&t, m, j, 2, WIDTH);
    for (; j + WIDTH <= n; j += WIDTH)
        mix_rows(&t, m, j, 1, WIDTH);
    if (j < n)
        mix_rows(&t, m, j, 1, n - j);
}

/* ---- Along one row ---- */

BODY float dot(const float *a, const float *b, size_t count)
{
    vec acc[4] = {{0}};
    size_t i = 0;
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH) {
        UNROLL
        for (size_t c = 0; c < 4; c++)
            acc[c] += load(a + i + c * WIDTH) * load(b + i + c * WIDTH);
    }
    for (; i + WIDTH <= count; i += WIDTH)
        acc[0] += load(a + i) * load(b + i);
    if (i < count)
        acc[1] += load_some(a + i, count - i) * load_some(b + i, count - i);
    return sum((acc[0] + acc[1]) + (acc[2] + acc[3]));
}

BODY void add_to(float *x, const float *y, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        store(x + i, load(x + i) + load(y + i));
    for (; i < count; i++)
        x[i] += y[i];
}

BODY void scale_by(float *out, const float *x, const float *weight, float scale,
                   size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        vec v = load(x + i) * scale;
        store(out + i, weight ? v * load(weight + i) : v);
    }
    for (; i < count; i++)
        out[i] = x[i] * scale * (weight ? weight[i] : 1);
}

BODY void layer_norm(float *out, const float *x, const float *weight,
                     const float *bias, float eps, size_t count)
{
    vec total = {0}, square = {0};
    size_t i = 0, whole = count / WIDTH * WIDTH, rest = count - whole;
    for (; i < whole; i += WIDTH)
        total += load(x + i);
    float mean = sum(total + load_some(x + whole, rest)) / (float)count;
    for (i = 0; i < whole; i += WIDTH) {
        vec v = load(x + i) - mean;
        square += v * v;
    }
    float squares = sum(square);
    for (i = whole; i < count; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / __builtin_sqrtf(squares / (float)count + eps);
    for (i = 0; i < whole; i += WIDTH)
        store(out + i,
              (load(x + i) - mean) * scale * load(weight + i) + load(bias + i));
    for (; i < count; i++)
        out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

/* x Phi(x), where 1 - Phi(|x|) is Abramowitz and Stegun's 7.1.26: within 1e-7
 * of the largest. */
INLINE vec gelu_of(vec x)
{
    ivec sign = (ivec)x & (ivec)all(-0.0f);
    vec z = (vec)((ivec)x ^ sign) * 0.70710678f;
    vec t = 1.0f / (z * 0.3275911f + 1.0f);
    vec p = t * 1.061405429f - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    vec tail = p * t * exp_of(-(z * z)) * 0.5f;
    ivec negative = x < all(0);
    vec share =
        (vec)(((ivec)tail & negative) | ((ivec)(1.0f - tail) & ~negative));
    return x * share;
}

BODY void gelu(float *x, const float *bias, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        store(x + i, gelu_of(load(x + i) + load(bias + i)));
    if (i < count)
        store_some(x + i,
                   gelu_of(load_some(x + i, count - i) +
                           load_some(bias + i, count - i)),
                   count - i);
}

INLINE vec silu(vec g)
{
    return g / (1.0f + exp_of(-g));
}

BODY void swiglu(float *out, const float *gate, const float *up, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        store(out + i, silu(load(gate + i)) * load(up + i));
    if (i < count)
        store_some(out + i,
                   silu(load_some(gate + i, count - i)) *
                       load_some(up + i, count - i),
                   count - i);
}

/* 1 + tanh(z) is 2 / (1 + exp(-2 z)). */
INLINE vec gelu_by_tanh(vec g)
{
    const float twice = 1.5957691216057308f; /* the root of 2 / pi */
    return g / (1.0f + exp_of(-twice * (g + 0.044715f * g * g * g)));
}

BODY void geglu(float *out, const float *gate, const float *up, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        store(out + i, gelu_by_tanh(load(gate + i)) * load(up + i));
    if (i < count)
        store_some(out + i,
                   gelu_by_tanh(load_some(gate + i, count - i)) *
                       load_some(up + i, count - i),
                   count - i);
}

BODY void geglu_exact(float *out, const float *gate, const float *up,
                      size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        store(out + i, gelu_of(load(gate + i)) * load(up + i));
    if (i < count)
        store_some(out + i,
                   gelu_of(load_some(gate + i, count - i)) *
                       load_some(up + i, count - i),
                   count - i);
}

BODY void rotate(float *x, float *y, const float *cosine, const float *sine,
                 size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        vec a = load(x + i), b = load(y + i);
        vec c = load(cosine + i), s = load(sine + i);
        store(x + i, a * c - b * s);
        store(y + i, b * c + a * s);
    }
    for (; i < count; i++) {
        float a = x[i], b = y[i];
        x[i] = a * cosine[i] - b * sine[i];
        y[i] = b * cosine[i] + a * sine[i];
    }
}

BODY float exp_sum(float *x, float max, size_t count)
{
    vec total = {0};
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) {
        vec e = exp_of(load(x + i) - max);
        total += e;
        store(x + i, e);
    }
    if (i < count) {
        vec e = exp_of(load_some(x + i, count - i) - max);
        store_some(x + i, e, count - i);
        total += load_some(x + i, count - i);
    }
    return sum(total);
}

/* The largest |x|, and in `odd` a NaN where there is one. */
INLINE void take_largest(vec *largest, vec *odd, vec x)
{
    *largest = LANES_MAX(LANES_MAX(x, -x), *largest);
    *odd += x * 0;
}

INLINE bvec to_nearest(vec x)
{
    const vec magic = all(12582912.0f);
    return __builtin_convertvector((ivec)(x + magic) - (ivec)magic, bvec);
}

BODY float to_int8(int8_t *out, const float *x, size_t count)
{
    vec largest = {0}, odd = {0};
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        take_largest(&largest, &odd, load(x + i));
    take_largest(&largest, &odd, load_some(x + i, count - i));
    float most = 0;
    for (size_t lane = 0; lane < WIDTH; lane++)
        most = largest[lane] > most ? largest[lane] : most;
    float factor = most > 1e-30F ? 127 / most : 0;
    for (i = 0; i + WIDTH <= count; i += WIDTH) {
        bvec b = to_nearest(load(x + i) * factor);
        memcpy(out + i, &b, sizeof b);
    }
    bvec b = to_nearest(load_some(x + i, count - i) * factor);
    memcpy(out + i, &b, count - i);
    return most / 127 + sum(odd);
}

INLINE void widen_as(float *out, const char *x, int type, float scale,
                     size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        store(out + i, load_weight(x, i, type) * scale);
    if (i < count)
        store_some(out + i, load_some_weight(x, i, type, count - i) * scale,
                   count - i);
}

BODY void widen(float *out, struct lanes_weight w, size_t n, size_t k)
{
    const char *x = w.rows;
    if (w.type == KERNEL_F32)
        memcpy(out, x, n * k * sizeof *out);
    else if (w.type == KERNEL_BF16)
        widen_as(out, x, KERNEL_BF16, 1, n * k);
    else if (w.type == KERNEL_F16)
        widen_as(out, x, KERNEL_F16, 1, n * k);
    else if (kernel_is_blocks(w.type))
        blocks_decode(w.type, x, n * k, out);
    else
        for (size_t i = 0; i < n; i++)
            widen_as(out + i * k, x + i * k, KERNEL_INT8, w.scale[i], k);
}

/* ---- Softmax over blocks of keys ---- */

INLINE vec score_at(const float *score, size_t key, const int32_t *from,
                    const int32_t *to)
{
    vec s = load(score + key * LANES_ROWS);
    if (!from)
        return s;
    ivec first, end, at = (int32_t)key - (ivec){0};
    memcpy(&first, from, sizeof first);
    memcpy(&end, to, sizeof end);
    ivec seen = (at >= first) & (at < end);
    ivec none = (ivec)all(-__builtin_inff());
    return (vec)(((ivec)s & seen) | (none & ~seen));
}

INLINE void fold_columns(float *score, float *max, float *total, float *shrink,
                         const int32_t *from, const int32_t *to, size_t keys)
{
    vec before = load(max), now = before;
    for (size_t j = 0; j < keys; j++)
        now = LANES_MAX(score_at(score, j, from, to), now);
    vec less = exp_of(before - now), sums = load(total) * less;
    for (size_t j = 0; j < keys; j++) {
        vec e = exp_of(score_at(score, j, from, to) - now);
        store(score + j * LANES_ROWS, e);
        sums += e;
    }
    store(max, now);
    store(total, sums);
    store(shrink, less);
}

BODY void fold(float *score, float *max, float *total, float *shrink,
               const int32_t *from, const int32_t *to, size_t keys,
               size_t rows_)
{
    for (size_t r = 0; r < rows_; r += WIDTH)
        if (from)
            fold_columns(score + r, max + r, total + r, shrink + r, from + r,
                         to + r, keys);
        else
            fold_columns(score + r, max + r, total + r, shrink + r, NULL, NULL,
                         keys);
}

/* ---- One row of softmax ---- */

#if LANES_WIDTH == 16
#define LANES_EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define LANES_ODD  1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LANES_LOW  0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define LANES_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif LANES_WIDTH == 8
#define LANES_EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define LANES_ODD  1, 3, 5, 7, 9, 11, 13, 15
#define LANES_LOW  0, 8, 1, 9, 2, 10, 3, 11
#define LANES_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define LANES_EVEN 0, 2, 4, 6
#define LANES_ODD  1, 3, 5, 7
#define LANES_LOW  0, 4, 1, 5
#define LANES_HIGH 2, 6, 3, 7
#endif

/* Of each of WIDTH vectors the sum of its lanes: neighbours are added until one
 * vector is left. */
INLINE vec sums_of(vec *of)
{
    UNROLL
    for (size_t n = WIDTH / 2; n > 0; n /= 2) {
        UNROLL
        for (size_t i = 0; i < n; i++) {
            vec a = of[2 * i], b = of[2 * i + 1];
            of[i] = __builtin_shufflevector(a, b, LANES_EVEN) +
                    __builtin_shufflevector(a, b, LANES_ODD);
        }
    }
    return of[0];
}

/* q . key of up to WIDTH keys, 0 for those beyond; d is `vecs` vectors, which is
 * a constant where it matters, and a rest. */
INLINE vec dots_of(const float *q, const float *key, size_t step, size_t d,
                   size_t keys, size_t vecs)
{
    vec acc[WIDTH];
    size_t rest = d - vecs * WIDTH;
    UNROLL_MORE
    for (size_t j = 0; j < WIDTH; j++, key += step) {
        acc[j] = (vec){0};
        if (j >= keys)
            continue;
        UNROLL
        for (size_t c = 0; c < vecs; c++)
            acc[j] += load(q + c * WIDTH) * load(key + c * WIDTH);
        if (rest)
            acc[j] += load_some(q + vecs * WIDTH, rest) *
                      load_some(key + vecs * WIDTH, rest);
    }
    return sums_of(acc);
}

INLINE void dots_in(float *score, const float *q, const float *key, size_t step,
                    size_t d, size_t keys, size_t vecs, float scale,
                    float shift)
{
    size_t j = 0;
    for (; j + WIDTH <= keys; j += WIDTH, key += WIDTH * step)
        store(score + j, dots_of(q, key, step, d, WIDTH, vecs) * scale + shift);
    if (j < keys)
        store_some(score + j,
                   dots_of(q, key, step, d, keys - j, vecs) * scale + shift,
                   keys - j);
}

BODY void dots(float *score, const float *q, const float *key, size_t step,
               size_t d, size_t keys, float scale, float shift)
{
    if (d == 4 * WIDTH)
        dots_in(score, q, key, step, 4 * WIDTH, keys, 4, scale, shift);
    else if (d == 8 * WIDTH)
        dots_in(score, q, key, step, 8 * WIDTH, keys, 8, scale, shift);
    else
        dots_in(score, q, key, step, d, keys, d / WIDTH, scale, shift);
}

/* Rows that share what they load of keys, and keys at a time. */
enum { BEST_ROWS = WIDTH == 16 ? 2 : 1, BEST_KEYS = WIDTH / BEST_ROWS };

INLINE vec load_bf16(const uint16_t *from, size_t count)
{
    return load_some_weight((const char *)from, 0, KERNEL_BF16, count);
}

/* The products of rows q with up to BEST_KEYS keys side by side, a row's behind the
 * other's; keys that are not there have the first one's.  d is `vecs` vectors, which
 * is a constant where it matters, and a rest. */
INLINE vec products_of(const float *const *q, const uint16_t *key, size_t d,
                       size_t keys, size_t vecs)
{
    vec acc[WIDTH];
    size_t rest = d - vecs * WIDTH;
    UNROLL_MORE
    for (size_t j = 0; j < WIDTH; j++)
        acc[j] = (vec){0};
    UNROLL
    for (size_t j = 0; j < BEST_KEYS; j++) {
        const uint16_t *its = key + (j < keys ? j : 0) * d;
        UNROLL
        for (size_t c = 0; c < vecs; c++) {
            vec k = load_bf16(its + c * WIDTH, WIDTH);
            UNROLL
            for (size_t r = 0; r < BEST_ROWS; r++)
                acc[r * BEST_KEYS + j] += load(q[r] + c * WIDTH) * k;
        }
        for (size_t r = 0; rest && r < BEST_ROWS; r++)
            acc[r * BEST_KEYS + j] += load_some(q[r] + vecs * WIDTH, rest) *
                                      load_bf16(its + vecs * WIDTH, rest);
    }
    return sums_of(acc);
}

INLINE float highest(vec v)
{
#if LANES_WIDTH == 16
    v = LANES_MAX(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15,
                                             0, 1, 2, 3, 4, 5, 6, 7));
    v = LANES_MAX(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12,
                                             13, 14, 15, 8, 9, 10, 11));
#elif LANES_WIDTH == 8
    v = LANES_MAX(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
#endif
    float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}

/* ret [BEST_ROWS] = the highest of each row's lanes. */
INLINE void highest_of_rows(float *ret, vec v)
{
#if LANES_WIDTH == 16
    v = LANES_MAX(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12,
                                             13, 14, 15, 8, 9, 10, 11));
    v = LANES_MAX(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10,
                                             11, 8, 9, 14, 15, 12, 13));
    v = LANES_MAX(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8,
                                             11, 10, 13, 12, 15, 14));
    ret[0] = v[0];
    ret[1] = v[8];
#else
    ret[0] = highest(v);
#endif
}

INLINE void best_in(float *best, const float *q, size_t rows,
                    const uint16_t *key, size_t d, size_t keys, size_t vecs,
                    float scale, float shift)
{
    float most[BEST_ROWS];
    for (size_t i = 0; i < rows; i += BEST_ROWS) {
        const float *two[] = {q + i * d, q + (i + 1 < rows ? i + 1 : i) * d};
        vec high = products_of(two, key, d, keys, vecs);
        for (size_t j = BEST_KEYS; j < keys; j += BEST_KEYS)
            high = LANES_MAX(products_of(two, key + j * d, d, keys - j, vecs),
                             high);
        highest_of_rows(most, high);
        for (size_t r = 0; r < BEST_ROWS && i + r < rows; r++)
            best[i + r] = most[r] * scale + shift;
    }
}

BODY void best_dots(float *best, const float *q, size_t rows,
                    const uint16_t *key, size_t d, size_t keys, float scale,
                    float shift)
{
    if (d == 4 * WIDTH)
        best_in(best, q, rows, key, 4 * WIDTH, keys, 4, scale, shift);
    else if (d == 8 * WIDTH)
        best_in(best, q, rows, key, 8 * WIDTH, keys, 8, scale, shift);
    else
        best_in(best, q, rows, key, d, keys, d / WIDTH, scale, shift);
}

BODY void max_of(float *x, const float *y, size_t count)
{
    size_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        store(x + i, LANES_MAX(load(y + i), load(x + i)));
    for (; i < count; i++)
        x[i] = y[i] > x[i] ? y[i] : x[i];
}

/* Lanes behind `keys` get no weight. */
BODY float fold_row(float *score, size_t keys, float *max, float *total)
{
    vec high = all(*max), sums = {0};
    for (size_t j = keys; j % WIDTH; j++)
        score[j] = -__builtin_inff();
    for (size_t j = 0; j < keys; j += WIDTH)
        high = LANES_MAX(load(score + j), high);
    float now = highest(high), shrink = exp_of(all(*max - now))[0];
    for (size_t j = 0; j < keys; j += WIDTH) {
        vec e = exp_of(load(score + j) - now);
        store(score + j, e);
        sums += e;
    }
    *total = *total * shrink + sum(sums);
    *max = now;
    return shrink;
}

/* Rows that share what they load. */
enum { FOLD_ROWS = 4 };

/* score [m][vecs vectors from j on] of packed keys; m and vecs are constants. */
INLINE void score_rows(float score[][LANES_ROWS], const struct lanes_row *row,
                       size_t m, const float *key, size_t d, size_t j,
                       size_t vecs, float scale)
{
    vec acc[FOLD_ROWS][TILE_VECS] = {{{0}}};
    key += j;
    for (size_t l = 0; l < d; l++, key += LANES_ROWS) {
        vec k[TILE_VECS];
        UNROLL
        for (size_t c = 0; c < vecs; c++)
            k[c] = load(key + c * WIDTH);
        UNROLL
        for (size_t i = 0; i < m; i++) {
            float x = row[i].q[l];
            UNROLL
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] += x * k[c];
        }
    }
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t c = 0; c < vecs; c++)
            store(score[i] + j + c * WIDTH, acc[i][c] * scale + row[i].shift);
    }
}

/* values [vecs vectors from c0 on] of m rows; m and vecs are constants. */
INLINE void mix_rows_of(const struct lanes_row *row, size_t m,
                        const float *shrink, float score[][LANES_ROWS],
                        const float *value, size_t d, size_t keys, size_t at,
                        size_t vecs)
{
    vec acc[FOLD_ROWS][TILE_VECS];
    value += at;
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t c = 0; c < vecs; c++)
            acc[i][c] = load(row[i].values + at + c * WIDTH) * shrink[i];
    }
    for (size_t j = 0; j < keys; j++, value += d) {
        vec v[TILE_VECS];
        UNROLL
        for (size_t c = 0; c < vecs; c++)
            v[c] = load(value + c * WIDTH);
        UNROLL
        for (size_t i = 0; i < m; i++) {
            UNROLL
            for (size_t c = 0; c < vecs; c++)
                acc[i][c] += score[i][j] * v[c];
        }
    }
    UNROLL
    for (size_t i = 0; i < m; i++) {
        UNROLL
        for (size_t c = 0; c < vecs; c++)
            store(row[i].values + at + c * WIDTH, acc[i][c]);
    }
}

/* fold_rows for m rows, a constant. */
INLINE void fold_some(const struct lanes_row *row, size_t m, const float *key,
                      const float *value, size_t d, size_t keys, float scale)
{
    _Alignas(64) float score[FOLD_ROWS][LANES_ROWS];
    float shrink[FOLD_ROWS];
    size_t j = 0, c = 0;
    for (; j + TILE_VECS * WIDTH <= keys; j += TILE_VECS * WIDTH)
        score_rows(score, row, m, key, d, j, TILE_VECS, scale);
    for (; j < keys; j += WIDTH)
        score_rows(score, row, m, key, d, j, 1, scale);
    for (size_t i = 0; i < m; i++)
        shrink[i] = fold_row(score[i], keys, row[i].max, row[i].total);
    for (; value && c + TILE_VECS * WIDTH <= d; c += TILE_VECS * WIDTH)
        mix_rows_of(row, m, shrink, score, value, d, keys, c, TILE_VECS);
    for (; value && c + WIDTH <= d; c += WIDTH)
        mix_rows_of(row, m, shrink, score, value, d, keys, c, 1);
    for (; value && c < d; c++)
        for (size_t i = 0; i < m; i++) {
            float x = row[i].values[c] * shrink[i];
            for (size_t k = 0; k < keys; k++)
                x += score[i][k] * value[k * d + c];
            row[i].values[c] = x;
        }
}

BODY void fold_rows(const struct lanes_row *row, size_t count, const float *key,
                    const float *value, size_t d, size_t keys, float scale)
{
    for (; count >= FOLD_ROWS; count -= FOLD_ROWS, row += FOLD_ROWS)
        fold_some(row, FOLD_ROWS, key, value, d, keys, scale);
    for (; count >= 2; count -= 2, row += 2)
        fold_some(row, 2, key, value, d, keys, scale);
    if (count)
        fold_some(row, 1, key, value, d, keys, scale);
}

BODY uint64_t above(const float *score, float min)
{
    uint64_t mask = 0;
    vec limit = all(min);
    UNROLL
    for (size_t r = 0; r < LANES_ROWS; r += WIDTH)
        mask |= (uint64_t)LANES_ABOVE(load(score + r), limit) << r;
    return mask;
}

/* Rows become columns: each step puts the upper bit of a lane's row below those
 * of its column, and the upper bit of its column below those of its row. */
INLINE void turn(vec *a)
{
    UNROLL
    for (size_t step = 1; step < WIDTH; step *= 2) {
        vec t[WIDTH];
        UNROLL
        for (size_t i = 0; i < WIDTH / 2; i++) {
            vec x = a[i], y = a[i + WIDTH / 2];
            t[2 * i] = __builtin_shufflevector(x, y, LANES_LOW);
            t[2 * i + 1] = __builtin_shufflevector(x, y, LANES_HIGH);
        }
        UNROLL_MORE
        for (size_t i = 0; i < WIDTH; i++)
            a[i] = t[i];
    }
}

BODY void columns(float *out, const float *const *x, float scale, size_t rows_,
                  size_t d)
{
    size_t whole = d / WIDTH * WIDTH;
    for (size_t r = 0; r < rows_; r += WIDTH) {
        for (size_t l = 0; l < whole; l += WIDTH) {
            vec a[WIDTH];
            UNROLL_MORE
            for (size_t i = 0; i < WIDTH; i++)
                a[i] = load(x[r + i] + l);
            turn(a);
            UNROLL_MORE
            for (size_t i = 0; i < WIDTH; i++)
                store(out + (l + i) * LANES_ROWS + r, a[i] * scale);
        }
        for (size_t l = whole; l < d; l++)
            for (size_t i = 0; i < WIDTH; i++)
                out[l * LANES_ROWS + r + i] = x[r + i][l] * scale;
    }
}

const struct lanes LANES_TABLE = {.name = LANES_NAME,
                                  .rows = rows,
                                  .mix = mix,
                                  .dot = dot,
                                  .dots = dots,
                                  .best_dots = best_dots,
                                  .max_of = max_of,
                                  .add = add_to,
                                  .scale = scale_by,
                                  .layer_norm = layer_norm,
                                  .gelu = gelu,
                                  .swiglu = swiglu,
                                  .geglu = geglu,
                                  .geglu_exact = geglu_exact,
                                  .rotate = rotate,
                                  .exp_sum = exp_sum,
                                  .to_int8 = to_int8,
                                  .widen = widen,
                                  .fold = fold,
                                  .fold_row = fold_row,
                                  .fold_rows = fold_rows,
                                  .above = above,
                                  .columns = columns};
