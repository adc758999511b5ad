#include "memory/vectors/ivf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector.h"
#include "memory/vectors/dots.h"

enum {
    LISTS_A_ROOT = 4,   /* lists for each of the square root of rows */
    SAMPLE_A_LIST = 40, /* rows from which centres are made */
    ROUNDS = 8,         /* of k-means */
    TRIALS = 200,       /* queries of each kind, by which probes are chosen */
    NEIGHBOURS = 10,    /* of each */
    MIXED = 32,         /* rows that a query is the mean of */
    CHUNK = 256,        /* rows scored at once */
    POLL = 64,          /* rows between looks at `cancel` */
    ZERO = 128          /* of bytes */
};

const double ivf_recall = 0.99;

/* Vectors in 8 bits a value, each with a scale: (byte - ZERO) scale. */
struct codes {
    uint8_t *values; /* [count, width] */
    float *scales;   /* [count] */
};

struct ivf {
    const struct dots *dots;
    size_t width;
    uint32_t count, lists, probes;
    struct codes centres; /* [lists] */
    uint32_t *first;      /* [lists + 1] place of each list's first row */
    uint32_t *rows;       /* [count] by place */
    struct codes codes;   /* [count] by place */
};

void ivf_free(struct ivf *ivf)
{
    if (!ivf)
        return;
    free(ivf->centres.values);
    free(ivf->centres.scales);
    free(ivf->first);
    free(ivf->rows);
    free(ivf->codes.values);
    free(ivf->codes.scales);
    free(ivf);
}

uint32_t ivf_lists(const struct ivf *ivf)
{
    return ivf->lists;
}

uint32_t ivf_probes(const struct ivf *ivf)
{
    return ivf->probes;
}

size_t ivf_bytes(const struct ivf *ivf)
{
    return (ivf->count + (size_t)ivf->lists) *
               (ivf->width + sizeof(float) + sizeof(uint32_t)) +
           sizeof *ivf;
}

/* ---- Vectors in 8 bits ---- */

static float scale_of(const float *vector, size_t width)
{
    float largest = 0;
    for (size_t i = 0; i < width; i++)
        if (fabsf(vector[i]) > largest)
            largest = fabsf(vector[i]);
    return largest > 0 ? largest / INT8_MAX : 1;
}

static void encode(const float *vector, size_t width, struct codes *codes,
                   size_t at)
{
    float scale = codes->scales[at] = scale_of(vector, width);
    for (size_t i = 0; i < width; i++)
        codes->values[at * width + i] =
            (uint8_t)(ZERO + (int)lrintf(vector[i] / scale));
}

/* A query's bytes have a sign. */
struct query {
    int8_t *values; /* [width] */
    float scale;
    int32_t zero; /* what a row of zeros comes to */
};

static void set_query(struct query *query, const float *vector, size_t width)
{
    query->scale = scale_of(vector, width);
    query->zero = 0;
    for (size_t i = 0; i < width; i++) {
        query->values[i] = (int8_t)lrintf(vector[i] / query->scale);
        query->zero += ZERO * query->values[i];
    }
}

static float score_of(const struct query *query, int32_t product, float scale)
{
    return (float)(product - query->zero) * scale * query->scale;
}

static struct codes codes_of(size_t count, size_t width)
{
    return (struct codes){mem_alloc(count * width),
                          mem_alloc(count * sizeof(float))};
}

/* ---- The best of many ---- */

/* A heap whose root is the worst of those kept. */
struct best {
    struct near_row *items;
    size_t count, max;
};

static void sink(struct best *best)
{
    struct near_row item = best->items[0];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < best->count; at = child) {
        if (child + 1 < best->count &&
            best->items[child + 1].score < best->items[child].score)
            child++;
        if (item.score <= best->items[child].score)
            break;
        best->items[at] = best->items[child];
    }
    best->items[at] = item;
}

static void rise(struct best *best, size_t at)
{
    struct near_row item = best->items[at];
    for (; at && best->items[(at - 1) / 2].score > item.score;
         at = (at - 1) / 2)
        best->items[at] = best->items[(at - 1) / 2];
    best->items[at] = item;
}

static inline void keep(struct best *best, uint32_t row, float score)
{
    if (best->count < best->max) {
        best->items[best->count] = (struct near_row){row, score};
        rise(best, best->count++);
    } else if (score > best->items[0].score) {
        best->items[0] = (struct near_row){row, score};
        sink(best);
    }
}

/* Scores the coded rows [from, end); those kept are named by `names` (NULL: by
 * their index). */
static void keep_scored(const struct ivf *ivf, const struct codes *codes,
                        const uint32_t *names, uint32_t from, uint32_t end,
                        const struct query *query, struct best *best)
{
    int32_t products[CHUNK];
    for (uint32_t at = from; at < end; at += CHUNK) {
        uint32_t count = end - at < CHUNK ? end - at : CHUNK;
        ivf->dots->bytes(query->values, codes->values + at * ivf->width, count,
                         ivf->width, products);
        for (uint32_t i = 0; i < count; i++)
            keep(best, names ? names[at + i] : at + i,
                 score_of(query, products[i], codes->scales[at + i]));
    }
}

size_t ivf_search(const struct ivf *ivf, const float *query, uint32_t probes,
                  size_t max, struct near_row *ret, size_t *ret_seen)
{
    struct best best = {.items = ret, .max = max};
    size_t seen = 0;
    if (probes > ivf->lists)
        probes = ivf->lists;
    struct query coded = {.values = mem_alloc(ivf->width)};
    struct best lists = {.items = mem_alloc(probes * sizeof *lists.items),
                         .max = probes};
    set_query(&coded, query, ivf->width);
    if (max && probes)
        keep_scored(ivf, &ivf->centres, NULL, 0, ivf->lists, &coded, &lists);
    for (size_t i = 0; i < lists.count; i++) {
        uint32_t list = lists.items[i].row;
        keep_scored(ivf, &ivf->codes, ivf->rows, ivf->first[list],
                    ivf->first[list + 1], &coded, &best);
        seen += ivf->first[list + 1] - ivf->first[list];
    }
    free(lists.items);
    free(coded.values);
    if (ret_seen)
        *ret_seen = seen;
    return best.count;
}

/* ---- Making it ---- */

struct build {
    struct ivf *ivf;
    const float *const *rows;
    const atomic_bool *cancel;
    uint64_t random;
    uint32_t *sample; /* [sampled] rows, in random order */
    uint32_t sampled;
    float *centres;  /* [lists, width] unit */
    uint32_t *lists; /* [count] of each row */
    struct query query;
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
    return score_of(&build->query, build->products[list],
                    build->ivf->centres.scales[list]);
}

static void score_lists(struct build *build, const float *vector)
{
    const struct ivf *ivf = build->ivf;
    set_query(&build->query, vector, ivf->width);
    ivf->dots->bytes(build->query.values, ivf->centres.values, ivf->lists,
                     ivf->width, build->products);
}

static uint32_t ivf_list(struct build *build, const float *vector)
{
    uint32_t best = 0;
    float highest = -2;
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
static bool assign(struct build *build, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = rows ? rows[i] : i;
        if (i % POLL == 0 && build->cancel && atomic_load(build->cancel))
            return false;
        build->lists[row] = ivf_list(build, build->rows[row]);
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
static void move_centres(struct build *build)
{
    const struct ivf *ivf = build->ivf;
    size_t width = ivf->width;
    uint32_t *counts = mem_alloc(ivf->lists * sizeof *counts);
    memset(build->centres, 0, ivf->lists * width * sizeof(float));
    for (uint32_t i = 0; i < build->sampled; i++) {
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

static void encode_centres(struct build *build)
{
    size_t width = build->ivf->width;
    for (uint32_t l = 0; l < build->ivf->lists; l++)
        encode(build->centres + l * width, width, &build->ivf->centres, l);
}

/* Spherical k-means. */
static bool find_centres(struct build *build)
{
    for (uint32_t l = 0; l < build->ivf->lists; l++)
        copy_row(build, l, build->sample[l]);
    encode_centres(build);
    for (int round = 0; round < ROUNDS; round++) {
        if (!assign(build, build->sample, build->sampled))
            return false;
        move_centres(build);
        encode_centres(build);
    }
    return true;
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
        encode(build->rows[row], width, &ivf->codes, place);
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
    struct best best = {.items = found, .max = NEIGHBOURS + (itself ? 1 : 0)};
    score_lists(build, vector);
    keep_scored(ivf, &ivf->codes, ivf->rows, 0, ivf->count, &build->query,
                &best);
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
    bool done = find_centres(build) && assign(build, NULL, ivf->count);
    if (done) {
        fill_lists(build);
        done = choose_probes(build);
    }
    free(build->sample);
    free(build->centres);
    free(build->lists);
    free(build->query.values);
    free(build->products);
    return done;
}

static uint32_t lists_for(uint32_t count)
{
    uint32_t lists = (uint32_t)(LISTS_A_ROOT * sqrt((double)count));
    return lists < count ? lists : count;
}

int ivf_make(const float *const *rows, uint32_t count, size_t width,
             const atomic_bool *cancel, struct ivf **ret, struct err *err)
{
    struct ivf *ivf = mem_alloc(sizeof *ivf);
    struct build build = {
        .ivf = ivf, .rows = rows, .cancel = cancel, .random = count};
    *ivf = (struct ivf){.dots = dots_best(),
                        .width = width,
                        .count = count,
                        .lists = lists_for(count)};
    if (count && !make(&build)) {
        ivf_free(ivf);
        return err_set(err, ERR_CANCELLED, "cancelled");
    }
    *ret = ivf;
    return 0;
}
