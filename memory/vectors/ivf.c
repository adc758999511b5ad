#include "memory/vectors/ivf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vector.h"
#include "memory/vectors/ivf_dot.h"

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

const double nearest_recall = 0.99;

/* Vectors in 8 bits a value, each with a scale: (byte - ZERO) scale. */
struct codes {
    uint8_t *values; /* [count, width] */
    float *scales;   /* [count] */
};

struct nearest {
    const struct dots *dots;
    size_t width;
    uint32_t count, lists, probes;
    struct codes centres; /* [lists] */
    uint32_t *first;      /* [lists + 1] place of each list's first row */
    uint32_t *rows;       /* [count] by place */
    struct codes codes;   /* [count] by place */
};

void nearest_free(struct nearest *nearest)
{
    if (!nearest)
        return;
    free(nearest->centres.values);
    free(nearest->centres.scales);
    free(nearest->first);
    free(nearest->rows);
    free(nearest->codes.values);
    free(nearest->codes.scales);
    free(nearest);
}

uint32_t nearest_lists(const struct nearest *nearest)
{
    return nearest->lists;
}

uint32_t nearest_probes(const struct nearest *nearest)
{
    return nearest->probes;
}

size_t nearest_bytes(const struct nearest *nearest)
{
    return (nearest->count + (size_t)nearest->lists) *
               (nearest->width + sizeof(float) + sizeof(uint32_t)) +
           sizeof *nearest;
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
    size_t count, most;
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
    if (best->count < best->most) {
        best->items[best->count] = (struct near_row){row, score};
        rise(best, best->count++);
    } else if (score > best->items[0].score) {
        best->items[0] = (struct near_row){row, score};
        sink(best);
    }
}

/* Scores the coded rows [from, end); those kept are named by `names` (NULL: by
 * their index). */
static void keep_scored(const struct nearest *nearest,
                        const struct codes *codes, const uint32_t *names,
                        uint32_t from, uint32_t end, const struct query *query,
                        struct best *best)
{
    int32_t products[CHUNK];
    for (uint32_t at = from; at < end; at += CHUNK) {
        uint32_t count = end - at < CHUNK ? end - at : CHUNK;
        nearest->dots->bytes(query->values, codes->values + at * nearest->width,
                             count, nearest->width, products);
        for (uint32_t i = 0; i < count; i++)
            keep(best, names ? names[at + i] : at + i,
                 score_of(query, products[i], codes->scales[at + i]));
    }
}

size_t nearest_search(const struct nearest *nearest, const float *query,
                      uint32_t probes, size_t most, struct near_row *ret,
                      size_t *ret_seen)
{
    struct best best = {.items = ret, .most = most};
    size_t seen = 0;
    if (probes > nearest->lists)
        probes = nearest->lists;
    struct query coded = {.values = mem_alloc(nearest->width)};
    struct best lists = {.items = mem_alloc(probes * sizeof *lists.items),
                         .most = probes};
    set_query(&coded, query, nearest->width);
    if (most && probes)
        keep_scored(nearest, &nearest->centres, NULL, 0, nearest->lists, &coded,
                    &lists);
    for (size_t i = 0; i < lists.count; i++) {
        uint32_t list = lists.items[i].row;
        keep_scored(nearest, &nearest->codes, nearest->rows,
                    nearest->first[list], nearest->first[list + 1], &coded,
                    &best);
        seen += nearest->first[list + 1] - nearest->first[list];
    }
    free(lists.items);
    free(coded.values);
    if (ret_seen)
        *ret_seen = seen;
    return best.count;
}

/* ---- Making it ---- */

struct making {
    struct nearest *nearest;
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
static uint32_t random_below(struct making *making, uint32_t end)
{
    uint64_t x = making->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((x ^ x >> 31) % end);
}

static void take_sample(struct making *making)
{
    uint32_t count = making->nearest->count;
    uint64_t wanted = (uint64_t)making->nearest->lists * SAMPLE_A_LIST;
    uint32_t *all = mem_alloc(count * sizeof *all);
    making->sampled = wanted < count ? (uint32_t)wanted : count;
    for (uint32_t i = 0; i < count; i++)
        all[i] = i;
    for (uint32_t i = 0; i < making->sampled; i++) {
        uint32_t j = i + random_below(making, count - i), swap = all[i];
        all[i] = all[j];
        all[j] = swap;
    }
    making->sample = all;
}

static float list_score(const struct making *making, uint32_t list)
{
    return score_of(&making->query, making->products[list],
                    making->nearest->centres.scales[list]);
}

static void score_lists(struct making *making, const float *vector)
{
    const struct nearest *nearest = making->nearest;
    set_query(&making->query, vector, nearest->width);
    nearest->dots->bytes(making->query.values, nearest->centres.values,
                         nearest->lists, nearest->width, making->products);
}

static uint32_t nearest_list(struct making *making, const float *vector)
{
    uint32_t best = 0;
    float highest = -2;
    score_lists(making, vector);
    for (uint32_t l = 0; l < making->nearest->lists; l++) {
        float score = list_score(making, l);
        if (score > highest) {
            highest = score;
            best = l;
        }
    }
    return best;
}

/* Puts rows into lists: those of the sample, or all.  False: cancelled. */
static bool assign(struct making *making, const uint32_t *rows, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = rows ? rows[i] : i;
        if (i % POLL == 0 && making->cancel && atomic_load(making->cancel))
            return false;
        making->lists[row] = nearest_list(making, making->rows[row]);
    }
    return true;
}

static void copy_row(struct making *making, uint32_t list, uint32_t row)
{
    size_t width = making->nearest->width;
    memcpy(making->centres + list * width, making->rows[row],
           width * sizeof(float));
}

/* Each centre becomes the mean of its rows; one that has none, a row. */
static void move_centres(struct making *making)
{
    const struct nearest *nearest = making->nearest;
    size_t width = nearest->width;
    uint32_t *counts = mem_alloc(nearest->lists * sizeof *counts);
    memset(making->centres, 0, nearest->lists * width * sizeof(float));
    for (uint32_t i = 0; i < making->sampled; i++) {
        uint32_t row = making->sample[i], list = making->lists[row];
        float *centre = making->centres + list * width;
        counts[list]++;
        for (size_t x = 0; x < width; x++)
            centre[x] += making->rows[row][x];
    }
    for (uint32_t l = 0; l < nearest->lists; l++) {
        if (!counts[l])
            copy_row(making, l,
                     making->sample[random_below(making, making->sampled)]);
        vector_unit(making->centres + l * width, width);
    }
    free(counts);
}

static void encode_centres(struct making *making)
{
    size_t width = making->nearest->width;
    for (uint32_t l = 0; l < making->nearest->lists; l++)
        encode(making->centres + l * width, width, &making->nearest->centres,
               l);
}

/* Spherical k-means. */
static bool find_centres(struct making *making)
{
    for (uint32_t l = 0; l < making->nearest->lists; l++)
        copy_row(making, l, making->sample[l]);
    encode_centres(making);
    for (int round = 0; round < ROUNDS; round++) {
        if (!assign(making, making->sample, making->sampled))
            return false;
        move_centres(making);
        encode_centres(making);
    }
    return true;
}

static void fill_lists(struct making *making)
{
    struct nearest *nearest = making->nearest;
    size_t width = nearest->width;
    uint32_t *next = mem_alloc(nearest->lists * sizeof *next);
    for (uint32_t row = 0; row < nearest->count; row++)
        nearest->first[making->lists[row] + 1]++;
    for (uint32_t l = 0; l < nearest->lists; l++) {
        next[l] = nearest->first[l];
        nearest->first[l + 1] += nearest->first[l];
    }
    for (uint32_t row = 0; row < nearest->count; row++) {
        uint32_t place = next[making->lists[row]]++;
        nearest->rows[place] = row;
        encode(making->rows[row], width, &nearest->codes, place);
    }
    free(next);
}

/* ---- How many lists are looked through ---- */

static void make_query(struct making *making, float *ret)
{
    size_t width = making->nearest->width;
    memset(ret, 0, width * sizeof *ret);
    for (int m = 0; m < MIXED; m++) {
        const float *row =
            making->rows[random_below(making, making->nearest->count)];
        for (size_t i = 0; i < width; i++)
            ret[i] += row[i];
    }
    vector_unit(ret, width);
}

/* Lists nearer to the query than `list`. */
static uint32_t rank_of(const struct making *making, uint32_t list)
{
    uint32_t rank = 0;
    float score = list_score(making, list);
    for (uint32_t l = 0; l < making->nearest->lists; l++)
        rank += list_score(making, l) > score;
    return rank;
}

/* Counts at which rank of its lists each of the query's neighbours is, but for
 * the row that it may be. */
static void try_query(struct making *making, const float *vector,
                      const uint32_t *itself, uint32_t *counts)
{
    const struct nearest *nearest = making->nearest;
    struct near_row found[NEIGHBOURS + 1];
    struct best best = {.items = found, .most = NEIGHBOURS + (itself ? 1 : 0)};
    score_lists(making, vector);
    keep_scored(nearest, &nearest->codes, nearest->rows, 0, nearest->count,
                &making->query, &best);
    for (size_t i = 0; i < best.count; i++)
        if (!itself || found[i].row != *itself)
            counts[rank_of(making, making->lists[found[i].row])]++;
}

static uint32_t probes_for(const uint32_t *counts, uint32_t lists)
{
    double all = 0, held = 0;
    uint32_t probes = 0;
    for (uint32_t l = 0; l < lists; l++)
        all += counts[l];
    while (probes < lists && held < nearest_recall * all)
        held += counts[probes++];
    return probes;
}

/* Queries of two kinds, and what the harder one needs: rows, that are to find
 * others, hard where rows have no structure; and means of rows, which are about
 * as far from what is nearest to them as questions are, and rows are not. */
static bool choose_probes(struct making *making)
{
    struct nearest *nearest = making->nearest;
    uint32_t *rows = mem_alloc(nearest->lists * sizeof *rows);
    uint32_t *means = mem_alloc(nearest->lists * sizeof *means);
    float *query = mem_alloc(nearest->width * sizeof *query);
    bool cancelled = false;
    for (uint32_t t = 0; t < TRIALS && !cancelled; t++) {
        uint32_t row = making->sample[t % making->sampled];
        try_query(making, making->rows[row], &row, rows);
        make_query(making, query);
        try_query(making, query, NULL, means);
        cancelled = making->cancel && atomic_load(making->cancel);
    }
    uint32_t by_rows = probes_for(rows, nearest->lists);
    nearest->probes = probes_for(means, nearest->lists);
    if (by_rows > nearest->probes)
        nearest->probes = by_rows;
    free(query);
    free(rows);
    free(means);
    return !cancelled;
}

static bool make(struct making *making)
{
    struct nearest *nearest = making->nearest;
    size_t width = nearest->width;
    nearest->centres = codes_of(nearest->lists, width);
    nearest->codes = codes_of(nearest->count, width);
    nearest->first =
        mem_alloc(((size_t)nearest->lists + 1) * sizeof *nearest->first);
    nearest->rows = mem_alloc(nearest->count * sizeof *nearest->rows);
    making->centres = mem_alloc(nearest->lists * width * sizeof(float));
    making->lists = mem_alloc(nearest->count * sizeof *making->lists);
    making->query.values = mem_alloc(width);
    making->products = mem_alloc(nearest->lists * sizeof *making->products);
    take_sample(making);
    bool done = find_centres(making) && assign(making, NULL, nearest->count);
    if (done) {
        fill_lists(making);
        done = choose_probes(making);
    }
    free(making->sample);
    free(making->centres);
    free(making->lists);
    free(making->query.values);
    free(making->products);
    return done;
}

static uint32_t lists_for(uint32_t count)
{
    uint32_t lists = (uint32_t)(LISTS_A_ROOT * sqrt((double)count));
    return lists < count ? lists : count;
}

int nearest_make(const float *const *rows, uint32_t count, size_t width,
                 const atomic_bool *cancel, struct nearest **ret,
                 struct err *err)
{
    struct nearest *nearest = mem_alloc(sizeof *nearest);
    struct making making = {
        .nearest = nearest, .rows = rows, .cancel = cancel, .random = count};
    *nearest = (struct nearest){.dots = dots_best(),
                                .width = width,
                                .count = count,
                                .lists = lists_for(count)};
    if (count && !make(&making)) {
        nearest_free(nearest);
        return err_set(err, ERR_CANCELLED, "cancelled");
    }
    *ret = nearest;
    return 0;
}
