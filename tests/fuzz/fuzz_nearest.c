/* Fuzz target: bytes as rows of a matrix and a query.  A search through all lists of an
 * inverted file for all rows looks at each; what looks at each finds what exact search
 * does, as far as numbers of 8 bits can tell rows apart; what looks at fewer finds nothing
 * that is further than it says. */
#include <math.h>

#include "memory/vectors/ivf.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_ROWS = 300, MAX_WIDTH = 24, MAX_FOUND = 12 };

static void make_unit(float *row, size_t width)
{
    double square = 0;
    for (size_t i = 0; i < width; i++)
        square += (double)row[i] * (double)row[i];
    if (square == 0)
        row[0] = 1;
    else
        for (size_t i = 0; i < width; i++)
            row[i] = (float)((double)row[i] / sqrt(square));
}

static uint64_t mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    return z ^ (z >> 29);
}

/* A row of its own, one near the row before, or the same; or a query. */
static void make_row(struct choices *c, uint64_t *seed, const float *before,
                     size_t width, float *row)
{
    uint32_t kind = choose(c, 4);
    for (size_t i = 0; i < width; i++) {
        float noise = (float)(mix(seed) % 2001) / 1000 - 1;
        row[i] = kind == 0 || !before ? noise
                 : kind == 1          ? before[i]
                 : kind == 2          ? before[i] + noise / 20
                                      : (float)(i == choose(c, 24) % width);
    }
    make_unit(row, width);
}

static float cosine(const float *a, const float *b, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)a[i] * (double)b[i];
    return (float)sum;
}

/* Each of two vectors is off by half a step of 1/127 of its greatest value in each
 * place, so their product by the sum of the other's values times that. */
static float tolerance(size_t width)
{
    return 2 * sqrtf((float)width) / 127 / 2 + 1e-3F;
}

struct house {
    float rows[MAX_ROWS][MAX_WIDTH], query[MAX_WIDTH];
    const float *pointers[MAX_ROWS];
    uint32_t count;
    size_t width;
};

/* The score of the row that is the nth best. */
static float nth_best(const struct house *h, size_t n)
{
    float scores[MAX_ROWS] = {0};
    for (uint32_t i = 0; i < h->count; i++) {
        float score = cosine(h->rows[i], h->query, h->width);
        uint32_t at = i;
        for (; at && scores[at - 1] < score; at--)
            scores[at] = scores[at - 1];
        scores[at] = score;
    }
    return scores[n - 1];
}

static void check_search(const struct house *h, const struct ivf *ivf,
                         uint32_t probes, size_t max)
{
    struct near_row found[MAX_ROWS];
    bool met[MAX_ROWS] = {false};
    struct ivf_seen seen;
    size_t count = ivf_search(ivf, h->query, probes, max, found, &seen);
    bool all = seen.rows == h->count;
    CHECK(count <= max && seen.rows <= h->count && seen.lists <= probes);
    CHECK(count == (seen.rows < max ? seen.rows : max));
    CHECK(all || probes < ivf_lists(ivf) || max < h->count);
    float least = count ? nth_best(h, count) : 0;
    for (size_t i = 0; i < count; i++) {
        CHECK(found[i].row < h->count && !met[found[i].row]);
        met[found[i].row] = true;
        float exact = cosine(h->rows[found[i].row], h->query, h->width);
        CHECK(fabsf(exact - found[i].score) <= tolerance(h->width));
        CHECK(!all || exact >= least - 2 * tolerance(h->width));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct house h;
    struct choices c = {data, size, 0};
    uint64_t seed = choose(&c, 1 << 16);
    struct ivf *ivf;
    h.count = 1 + choose(&c, MAX_ROWS);
    h.width = 1 + choose(&c, MAX_WIDTH);
    for (uint32_t i = 0; i < h.count; i++) {
        make_row(&c, &seed, i ? h.rows[i - 1] : NULL, h.width, h.rows[i]);
        h.pointers[i] = h.rows[i];
    }
    make_row(&c, &seed, h.rows[choose(&c, h.count)], h.width, h.query);
    CHECK(!ivf_make(h.pointers, h.count, h.width, NULL, &ivf, NULL));
    CHECK(ivf_lists(ivf) >= 1 && ivf_probes(ivf) >= 1 &&
          ivf_probes(ivf) <= ivf_lists(ivf));
    check_search(&h, ivf, ivf_lists(ivf), h.count);
    check_search(&h, ivf, ivf_lists(ivf), MAX_FOUND);
    check_search(&h, ivf, ivf_probes(ivf), MAX_FOUND);
    check_search(&h, ivf, 1, MAX_FOUND);
    ivf_free(ivf);
    return 0;
}
