#include <stdlib.h>

#include "base/mem.h"
#include "memory/vectors/ivf_internal.h"

enum {
    CHUNK = 256, /* rows scored at once */
    /* A search ends behind a stretch of rows that has brought nothing: this part of
     * all, of which so many would be among the best if they were like those before
     * (docs/log/ann.md). */
    IN_VAIN_PART = 32,
    IN_VAIN_BEST = 40
};

void ivf_free(struct ivf *ivf)
{
    if (!ivf)
        return;
    codes_free(&ivf->centres);
    free(ivf->first);
    free(ivf->rows);
    codes_free(&ivf->codes);
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

static inline bool keep(struct best_rows *best, uint32_t row, float score)
{
    if (best->count < best->max) {
        best->items[best->count] = (struct near_row){row, score};
        rise(best, best->count++);
        return true;
    }
    if (!(score > best->items[0].score))
        return false;
    best->items[0] = (struct near_row){row, score};
    sink(best);
    return true;
}

bool best_rows_of(struct best_rows *best, const struct ivf *ivf,
                  const struct codes *codes, const uint32_t *names,
                  uint32_t from, uint32_t end, const struct coded_query *query)
{
    int32_t products[CHUNK];
    bool any = false;
    for (uint32_t at = from; at < end; at += CHUNK) {
        uint32_t count = end - at < CHUNK ? end - at : CHUNK;
        ivf->dots->bytes(query->values, codes->values + at * ivf->width, count,
                         ivf->width, products);
        for (uint32_t i = 0; i < count; i++)
            any |= keep(best, names ? names[at + i] : at + i,
                        coded_score(query, products[i], codes->scales[at + i]));
    }
    return any;
}

static int nearest_first(const void *a, const void *b)
{
    const struct near_row *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

size_t ivf_search(const struct ivf *ivf, const float *query, uint32_t probes,
                  size_t max, struct near_row *ret, struct ivf_seen *ret_seen)
{
    struct best_rows best = {.items = ret, .max = max};
    struct ivf_seen seen = {0};
    if (probes > ivf->lists)
        probes = ivf->lists;
    struct coded_query coded = {.values = mem_alloc(ivf->width)};
    struct best_rows lists = {.items = mem_alloc(probes * sizeof *lists.items),
                              .max = probes};
    coded_query_set(&coded, query, ivf->width);
    if (max && probes)
        best_rows_of(&lists, ivf, &ivf->centres, NULL, 0, ivf->lists, &coded);
    if (lists.count)
        qsort(lists.items, lists.count, sizeof *lists.items, nearest_first);
    size_t in_vain = 0; /* rows since the last that was kept */
    while (seen.lists < lists.count &&
           (best.count < max || in_vain * IN_VAIN_PART < ivf->count ||
            in_vain * max < IN_VAIN_BEST * (seen.rows - in_vain))) {
        uint32_t list = lists.items[seen.lists++].row;
        uint32_t from = ivf->first[list], end = ivf->first[list + 1];
        bool any =
            best_rows_of(&best, ivf, &ivf->codes, ivf->rows, from, end, &coded);
        in_vain = any ? 0 : in_vain + (end - from);
        seen.rows += end - from;
    }
    free(lists.items);
    free(coded.values);
    if (ret_seen)
        *ret_seen = seen;
    return best.count;
}
