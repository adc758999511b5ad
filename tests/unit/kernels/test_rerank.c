/* Choosing chunks again, by the keys themselves, against a plain reading. */
#include "tests/unit/support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "kernels/kernels.h"

enum { MAX_CHUNKS = 24 };

struct given {
    struct kernel_hils sizes;
    size_t many;
    float *q, *k;      /* [m, hq, d], [n, hkv, d] */
    int32_t *position; /* [m] */
    int32_t *wide;     /* [m, hkv, many] */
    float **pages;     /* [chunks] by heads [hkv, chunk, d] */
};

static float some(uint64_t *seed)
{
    return (float)unit_below(seed, 2001) / 500 - 2;
}

static float *numbers(size_t count, uint64_t *seed)
{
    float *ret = mem_alloc(count * sizeof *ret);
    for (size_t i = 0; i < count; i++)
        ret[i] = some(seed);
    return ret;
}

static size_t window_of(const struct kernel_hils *z, size_t t)
{
    return t + 1 > z->window ? (t + 1 - z->window) / z->chunk * z->chunk : 0;
}

static struct given make(size_t hq, size_t hkv, size_t d, size_t chunk,
                         size_t top_k, uint64_t seed)
{
    size_t n = MAX_CHUNKS * chunk, m = 3;
    struct given g = {.sizes = {.m = m,
                                .n = n,
                                .chunks = MAX_CHUNKS,
                                .hq = hq,
                                .hkv = hkv,
                                .d = d,
                                .chunk = chunk,
                                .window = 3,
                                .top_k = top_k,
                                .exact = true},
                      .many = 2 * top_k};
    g.q = numbers(m * hq * d, &seed);
    g.k = numbers(n * hkv * d, &seed);
    g.position = mem_alloc(m * sizeof *g.position);
    g.wide = mem_alloc(m * hkv * g.many * sizeof *g.wide);
    g.pages = mem_alloc(MAX_CHUNKS * sizeof *g.pages);
    for (size_t i = 0; i < m; i++)
        g.position[i] = (int32_t)(n - 1 - i * 2 * chunk);
    for (size_t row = 0; row < m * hkv; row++) {
        size_t end = window_of(&g.sizes, (size_t)g.position[row / hkv]) / chunk;
        size_t at = 0;
        for (size_t c = 0; c < end && at < g.many - row % 2; c++)
            if (unit_below(&seed, 3))
                g.wide[row * g.many + at++] = (int32_t)c;
        while (at < g.many)
            g.wide[row * g.many + at++] = -1;
    }
    for (size_t c = 0; c < MAX_CHUNKS; c++) {
        g.pages[c] = mem_alloc(hkv * chunk * d * sizeof(float));
        for (size_t h = 0; h < hkv; h++)
            for (size_t j = 0; j < chunk; j++)
                memcpy(g.pages[c] + (h * chunk + j) * d,
                       g.k + ((c * chunk + j) * hkv + h) * d,
                       d * sizeof(float));
    }
    return g;
}

static void end(struct given *g)
{
    for (size_t c = 0; c < MAX_CHUNKS; c++)
        free(g->pages[c]);
    free(g->pages);
    free(g->q);
    free(g->k);
    free(g->position);
    free(g->wide);
}

static double weight(const struct given *g, size_t i, size_t head, size_t from,
                     size_t to)
{
    const struct kernel_hils *z = &g->sizes;
    size_t kv = head / (z->hq / z->hkv);
    double sum = 0;
    for (size_t j = from; j < to; j++) {
        double dot = 0;
        for (size_t l = 0; l < z->d; l++)
            dot += (double)g->q[(i * z->hq + head) * z->d + l] *
                   (double)g->k[(j * z->hkv + kv) * z->d + l];
        sum += exp(dot / sqrt((double)z->d));
    }
    return sum;
}

/* The highest part that the chunk has in any head of the group. */
static double part_of(const struct given *g, size_t row, size_t k)
{
    const struct kernel_hils *z = &g->sizes;
    const int32_t *wide = g->wide + row * g->many;
    size_t i = row / z->hkv, kv = row % z->hkv, group = z->hq / z->hkv;
    size_t t = (size_t)g->position[i];
    double best = 0;
    for (size_t h = kv * group; h < (kv + 1) * group; h++) {
        double all = weight(g, i, h, window_of(z, t), t + 1), own = 0;
        for (size_t c = 0; c < g->many && wide[c] >= 0; c++) {
            size_t from = (size_t)wide[c] * z->chunk;
            double one = weight(g, i, h, from, from + z->chunk);
            all += one;
            own = c == k ? one : own;
        }
        best = fmax(best, own / all);
    }
    return best;
}

/* A chunk is chosen if fewer than top_k have a higher part. */
static void check_row(const struct given *g, size_t row, const int32_t *chosen)
{
    const int32_t *wide = g->wide + row * g->many;
    size_t top_k = g->sizes.top_k, count = 0;
    double parts[64];
    while (count < g->many && wide[count] >= 0)
        count++;
    for (size_t k = 0; k < count; k++)
        parts[k] = part_of(g, row, k);
    size_t at = 0;
    for (size_t k = 0; k < count; k++) {
        size_t higher = 0;
        for (size_t o = 0; o < count; o++)
            higher += parts[o] > parts[k];
        if (higher < top_k)
            assert_int_equal(chosen[at++], wide[k]);
    }
    for (; at < top_k; at++)
        assert_int_equal(chosen[at], -1);
}

static void check(const struct kernels *table, struct pool *pool,
                  const struct given *g)
{
    struct kernel_run run = {.pool = {pool, pool_parallel_for, 2}};
    const struct kernel_hils *z = &g->sizes;
    const float *const *keys = (const float *const *)g->pages;
    struct kernel_pages pages = {
        .keys = keys, .values = keys, .slots = z->chunk, .by_head = true};
    size_t rows = z->m * z->hkv;
    int32_t *chosen = mem_alloc(rows * z->top_k * sizeof *chosen);
    assert_true(table->reranks);
    assert_int_equal(table->hils_rerank(&run, chosen, g->wide, g->many, g->q,
                                        &pages, g->position, z),
                     0);
    for (size_t row = 0; row < rows; row++)
        check_row(g, row, chosen + row * z->top_k);
    free(chosen);
}

static void the_heaviest_chunks_stay(void **state)
{
    (void)state;
    static const size_t shapes[][5] = {{1, 1, 4, 4, 1},   {4, 2, 16, 8, 3},
                                       {7, 1, 64, 64, 5}, {6, 3, 33, 65, 2},
                                       {2, 2, 8, 1, 8},   {3, 1, 5, 70, 4}};
    struct pool *pool = NULL;
    assert_int_equal(pool_new(2, &pool, NULL), 0);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const size_t *s = shapes[i];
        struct given g = make(s[0], s[1], s[2], s[3], s[4], 7 + i);
        check(kernels_ref(), pool, &g);
        check(kernels_cpu(), pool, &g);
        end(&g);
    }
    pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_heaviest_chunks_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
