#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "memory/vectors/ivf_internal.h"

enum { CHUNK = 256 /* rows scored at once */ };

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

void codes_put(struct codes *codes, size_t at, const float *vector,
               size_t width)
{
    float scale = codes->scales[at] = scale_of(vector, width);
    for (size_t i = 0; i < width; i++)
        codes->values[at * width + i] =
            (uint8_t)(IVF_ZERO + (int)lrintf(vector[i] / scale));
}

void coded_query_set(struct coded_query *query, const float *vector,
                     size_t width)
{
    query->scale = scale_of(vector, width);
    query->zero = 0;
    for (size_t i = 0; i < width; i++) {
        query->values[i] = (int8_t)lrintf(vector[i] / query->scale);
        query->zero += IVF_ZERO * query->values[i];
    }
}

struct codes codes_of(size_t count, size_t width)
{
    return (struct codes){mem_alloc(count * width),
                          mem_alloc(count * sizeof(float))};
}

/* ---- The best of many ---- */

static void sink(struct best_rows *best)
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

static void rise(struct best_rows *best, size_t at)
{
    struct near_row item = best->items[at];
    for (; at && best->items[(at - 1) / 2].score > item.score;
         at = (at - 1) / 2)
        best->items[at] = best->items[(at - 1) / 2];
    best->items[at] = item;
}

static inline void keep(struct best_rows *best, uint32_t row, float score)
{
    if (best->count < best->max) {
        best->items[best->count] = (struct near_row){row, score};
        rise(best, best->count++);
    } else if (score > best->items[0].score) {
        best->items[0] = (struct near_row){row, score};
        sink(best);
    }
}

void best_rows_of(struct best_rows *best, const struct ivf *ivf,
                  const struct codes *codes, const uint32_t *names,
                  uint32_t from, uint32_t end, const struct coded_query *query)
{
    int32_t products[CHUNK];
    for (uint32_t at = from; at < end; at += CHUNK) {
        uint32_t count = end - at < CHUNK ? end - at : CHUNK;
        ivf->dots->bytes(query->values, codes->values + at * ivf->width, count,
                         ivf->width, products);
        for (uint32_t i = 0; i < count; i++)
            keep(best, names ? names[at + i] : at + i,
                 coded_score(query, products[i], codes->scales[at + i]));
    }
}

size_t ivf_search(const struct ivf *ivf, const float *query, uint32_t probes,
                  size_t max, struct near_row *ret, size_t *ret_seen)
{
    struct best_rows best = {.items = ret, .max = max};
    size_t seen = 0;
    if (probes > ivf->lists)
        probes = ivf->lists;
    struct coded_query coded = {.values = mem_alloc(ivf->width)};
    struct best_rows lists = {.items = mem_alloc(probes * sizeof *lists.items),
                              .max = probes};
    coded_query_set(&coded, query, ivf->width);
    if (max && probes)
        best_rows_of(&lists, ivf, &ivf->centres, NULL, 0, ivf->lists, &coded);
    for (size_t i = 0; i < lists.count; i++) {
        uint32_t list = lists.items[i].row;
        best_rows_of(&best, ivf, &ivf->codes, ivf->rows, ivf->first[list],
                     ivf->first[list + 1], &coded);
        seen += ivf->first[list + 1] - ivf->first[list];
    }
    free(lists.items);
    free(coded.values);
    if (ret_seen)
        *ret_seen = seen;
    return best.count;
}
