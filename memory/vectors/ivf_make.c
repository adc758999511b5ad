/* Making an inverted file (ivf.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector.h"
#include "memory/vectors/ivf_internal.h"

enum {
    LISTS_A_ROOT = 4,   /* lists for each of the square root of rows */
    SAMPLE_A_LIST = 40, /* rows from which centres are made */
    ROUNDS = 8,         /* of k-means, of which */
    ROUGH = 6,          /* the first look at a quarter of these rows */
    TRIALS = 200,       /* queries of each kind, by which probes are chosen */
    NEIGHBOURS = 10,    /* of each */
    MIXED = 32,         /* rows that a query is the mean of */
    POLL = 64,          /* rows between looks at `cancel` */
    MANY_CENTRES = 256, /* which have an index of their own */
    CENTRE_SHARE = 3    /* of whose probes this part is enough for a round */
};

const double ivf_recall = 0.99;

struct build {
    struct ivf *ivf;
    const float *const *rows;
    const atomic_bool *cancel;
    uint64_t random;
    uint32_t *sample; /* [sampled] rows, in random order */
    uint32_t sampled;
    float *centres;      /* [lists, width] unit */
    struct ivf *nearest; /* of the centres, where there are many; else NULL */
    uint32_t *lists;     /* [count] of each row */
    struct coded_query query;
    int32_t *products; /* [lists] of the query and the centres */
};

/* splitmix64 */
static uint32_t random_below(struct build *build, uint32_t end)
{
    uint64_t x = build->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((x ^ x >> 31) % end);
}

static void take_sample(struct build *build)
{
    uint32_t count = build->ivf->count;
    uint64_t wanted = (uint64_t)build->ivf->lists * SAMPLE_A_LIST;
    uint32_t *all = mem_alloc(count * sizeof *all);
    build->sampled = wanted < count ? (uint32_t)wanted : count;
    for (uint32_t i = 0; i < count; i++)
        all[i] = i;
    for (uint32_t i = 0; i < build->sampled; i++) {
        uint32_t j = i + random_below(build, count - i), swap = all[i];
        all[i] = all[j];
        all[j] = swap;
    }
    build->sample = all;
}

static float list_score(const struct build *build, uint32_t list)
{
    return coded_score(&build->query, build->products[list],
                       build->ivf->centres.scales[list]);
}

static void score_lists(struct build *build, const float *vector)
{
    const struct ivf *ivf = build->ivf;
    coded_query_set(&build->query, vector, ivf->width);
    ivf->dots->bytes(build->query.values, ivf->centres.values, ivf->lists,
                     ivf->width, build->products);
}

/* Of many centres about the nearest: a search among them looks through this part of
 * the lists that hold it nearly always. */
static uint32_t ivf_list(struct build *build, const float *vector,
                         uint32_t share)
{
    uint32_t best = 0;
    float highest = -2;
    struct near_row near;
    if (build->nearest &&
        ivf_search(build->nearest, vector,
                   1 + ivf_probes(build->nearest) / share, 1, &near, NULL))
        return near.row;
    score_lists(build, vector);
    for (uint32_t l = 0; l < build->ivf->lists; l++) {
        float score = list_score(build, l);
        if (score > highest) {
            highest = score;
            best = l;
        }
    }
    return best;
}

/* Puts rows into lists: those of the sample, or all.  False: cancelled. */
static bool assign(struct build *build, const uint32_t *rows, uint32_t count,
                   uint32_t share)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = rows ? rows[i] : i;
        if (i % POLL == 0 && build->cancel && atomic_load(build->cancel))
            return false;
        build->lists[row] = ivf_list(build, build->rows[row], share);
    }
    return true;
}

static void copy_row(struct build *build, uint32_t list, uint32_t row)
{
    size_t width = build->ivf->width;
    memcpy(build->centres + list * width, build->rows[row],
           width * sizeof(float));
}

/* Each centre becomes the mean of its rows; one that has none, a row. */
static void move_centres(struct build *build, uint32_t sampled)
{
    const struct ivf *ivf = build->ivf;
    size_t width = ivf->width;
    uint32_t *counts = mem_alloc(ivf->lists * sizeof *counts);
    memset(build->centres, 0, ivf->lists * width * sizeof(float));
    for (uint32_t i = 0; i < sampled; i++) {
        uint32_t row = build->sample[i], list = build->lists[row];
        float *centre = build->centres + list * width;
        counts[list]++;
        for (size_t x = 0; x < width; x++)
            centre[x] += build->rows[row][x];
    }
    for (uint32_t l = 0; l < ivf->lists; l++) {
        if (!counts[l])
            copy_row(build, l,
                     build->sample[random_below(build, build->sampled)]);
        vector_unit(build->centres + l * width, width);
    }
    free(counts);
}

static int make_index(const float *const *rows, uint32_t count, size_t width,
                      uint32_t lists, const atomic_bool *cancel,
                      struct ivf **ret, struct err *err);

/* False: cancelled. */
static bool encode_centres(struct build *build)
{
    size_t width = build->ivf->width;
    uint32_t lists = build->ivf->lists;
    for (uint32_t l = 0; l < lists; l++)
        codes_put(&build->ivf->centres, l, build->centres + l * width, width);
    if (lists < MANY_CENTRES)
        return true;
    ivf_free(build->nearest);
    build->nearest = NULL;
    const float **rows = mem_alloc(lists * sizeof *rows);
    for (uint32_t l = 0; l < lists; l++)
        rows[l] = build->centres + l * width;
    struct err err;
    int code = make_index(rows, lists, width, (uint32_t)sqrt(lists),
                          build->cancel, &build->nearest, &err);
    free(rows);
    return !code;
}

/* Spherical k-means. */
static bool find_centres(struct build *build)
{
    for (uint32_t l = 0; l < build->ivf->lists; l++)
        copy_row(build, l, build->sample[l]);
    bool done = encode_centres(build);
    for (int round = 0; round < ROUNDS && done; round++) {
        uint32_t some = round < ROUGH ? build->sampled / 4 : build->sampled;
        done = assign(build, build->sample, some, CENTRE_SHARE);
        if (!done)
            break;
        move_centres(build, some);
        done = encode_centres(build);
    }
    return done;
}

static void fill_lists(struct build *build)
{
    struct ivf *ivf = build->ivf;
    size_t width = ivf->width;
    uint32_t *next = mem_alloc(ivf->lists * sizeof *next);
    for (uint32_t row = 0; row < ivf->count; row++)
        ivf->first[build->lists[row] + 1]++;
    for (uint32_t l = 0; l < ivf->lists; l++) {
        next[l] = ivf->first[l];
        ivf->first[l + 1] += ivf->first[l];
    }
    for (uint32_t row = 0; row < ivf->count; row++) {
        uint32_t place = next[build->lists[row]]++;
        ivf->rows[place] = row;
        codes_put(&ivf->codes, place, build->rows[row], width);
    }
    free(next);
}

/* ---- How many lists are looked through ---- */

static void make_query(struct build *build, float *ret)
{
    size_t width = build->ivf->width;
    memset(ret, 0, width * sizeof *ret);
    for (int m = 0; m < MIXED; m++) {
        const float *row = build->rows[random_below(build, build->ivf->count)];
        for (size_t i = 0; i < width; i++)
            ret[i] += row[i];
    }
    vector_unit(ret, width);
}

/* Lists nearer to the query than `list`. */
static uint32_t rank_of(const struct build *build, uint32_t list)
{
    uint32_t rank = 0;
    float score = list_score(build, list);
    for (uint32_t l = 0; l < build->ivf->lists; l++)
        rank += list_score(build, l) > score;
    return rank;
}

/* Counts at which rank of its lists each of the query's neighbours is, but for
 * the row that it may be. */
static void try_query(struct build *build, const float *vector,
                      const uint32_t *itself, uint32_t *counts)
{
    const struct ivf *ivf = build->ivf;
    struct near_row found[NEIGHBOURS + 1];
    struct best_rows best = {.items = found,
                             .max = NEIGHBOURS + (itself ? 1 : 0)};
    score_lists(build, vector);
    best_rows_of(&best, ivf, &ivf->codes, ivf->rows, 0, ivf->count,
                 &build->query);
    for (size_t i = 0; i < best.count; i++)
        if (!itself || found[i].row != *itself)
            counts[rank_of(build, build->lists[found[i].row])]++;
}

static uint32_t probes_for(const uint32_t *counts, uint32_t lists)
{
    double all = 0, held = 0;
    uint32_t probes = 0;
    for (uint32_t l = 0; l < lists; l++)
        all += counts[l];
    while (probes < lists && held < ivf_recall * all)
        held += counts[probes++];
    return probes;
}

/* Queries of two kinds, and what the harder one needs: rows, that are to find
 * others, hard where rows have no structure; and means of rows, which are about
 * as far from what is nearest to them as questions are, and rows are not. */
static bool choose_probes(struct build *build)
{
    struct ivf *ivf = build->ivf;
    uint32_t *rows = mem_alloc(ivf->lists * sizeof *rows);
    uint32_t *means = mem_alloc(ivf->lists * sizeof *means);
    float *query = mem_alloc(ivf->width * sizeof *query);
    bool cancelled = false;
    for (uint32_t t = 0; t < TRIALS && !cancelled; t++) {
        uint32_t row = build->sample[t % build->sampled];
        try_query(build, build->rows[row], &row, rows);
        make_query(build, query);
        try_query(build, query, NULL, means);
        cancelled = build->cancel && atomic_load(build->cancel);
    }
    uint32_t by_rows = probes_for(rows, ivf->lists);
    ivf->probes = probes_for(means, ivf->lists);
    if (by_rows > ivf->probes)
        ivf->probes = by_rows;
    free(query);
    free(rows);
    free(means);
    return !cancelled;
}

static bool make(struct build *build)
{
    struct ivf *ivf = build->ivf;
    size_t width = ivf->width;
    ivf->centres = codes_of(ivf->lists, width);
    ivf->codes = codes_of(ivf->count, width);
    ivf->first = mem_alloc(((size_t)ivf->lists + 1) * sizeof *ivf->first);
    ivf->rows = mem_alloc(ivf->count * sizeof *ivf->rows);
    build->centres = mem_alloc(ivf->lists * width * sizeof(float));
    build->lists = mem_alloc(ivf->count * sizeof *build->lists);
    build->query.values = mem_alloc(width);
    build->products = mem_alloc(ivf->lists * sizeof *build->products);
    take_sample(build);
    bool done = find_centres(build) && assign(build, NULL, ivf->count, 1);
    if (done) {
        fill_lists(build);
        done = choose_probes(build);
    }
    ivf_free(build->nearest);
    free(build->sample);
    free(build->centres);
    free(build->lists);
    free(build->query.values);
    free(build->products);
    return done;
}

static int make_index(const float *const *rows, uint32_t count, size_t width,
                      uint32_t lists, const atomic_bool *cancel,
                      struct ivf **ret, struct err *err)
{
    struct ivf *ivf = mem_alloc(sizeof *ivf);
    struct build build = {
        .ivf = ivf, .rows = rows, .cancel = cancel, .random = count};
    *ivf = (struct ivf){.dots = dots_best(),
                        .width = width,
                        .count = count,
                        .lists = lists < count ? lists : count};
    if (count && !make(&build)) {
        ivf_free(ivf);
        return err_set(err, ERR_CANCELLED, "cancelled");
    }
    *ret = ivf;
    return 0;
}

int ivf_make(const float *const *rows, uint32_t count, size_t width,
             const atomic_bool *cancel, struct ivf **ret, struct err *err)
{
    return make_index(rows, count, width,
                      (uint32_t)(LISTS_A_ROOT * sqrt((double)count)), cancel,
                      ret, err);
}
