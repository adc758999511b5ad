#include "memory/routing/piece_query.h"

#include <stdlib.h>

#include "base/mem.h"

void piece_query_free(struct piece_query *query)
{
    pieces_unref(query->pieces);
    *query = (struct piece_query){0};
}

double piece_query_match(const struct piece_query *query, const float *near)
{
    double sum = 0;
    for (size_t q = 0; q < query->count; q++)
        sum += (double)query->weights[q] * (double)near[q];
    return sum;
}

bool piece_near_new(const struct piece_query *query, struct piece_near *ret)
{
    *ret = (struct piece_near){.query = query};
    if (!query->pieces || !query->count)
        return false;
    ret->place = mem_alloc(pieces_count(query->pieces) * sizeof *ret->place);
    return true;
}

void piece_near_free(struct piece_near *near)
{
    free(near->place);
    free(near->near);
    free(near->ids.ids);
    free(near->fresh.ids);
    *near = (struct piece_near){0};
}

static void compare_fresh(struct piece_near *near)
{
    const struct piece_query *query = near->query;
    size_t count = near->count + near->fresh.count;
    if (!near->fresh.count)
        return;
    MEM_RESERVE(near->near, &near->capacity, count * query->count);
    pieces_near(query->pieces, query->ids, query->count, near->fresh.ids,
                near->fresh.count, near->near + near->count * query->count);
    near->count = count;
}

static void find_fresh(struct piece_near *near)
{
    struct embed_ids *fresh = &near->fresh;
    fresh->count = 0;
    for (size_t i = 0; i < near->ids.count; i++) {
        int32_t id = near->ids.ids[i];
        if (near->place[id])
            continue;
        MEM_RESERVE(fresh->ids, &fresh->capacity, fresh->count + 1);
        fresh->ids[fresh->count++] = id;
        near->place[id] = (uint32_t)(near->count + fresh->count);
    }
}

void piece_near_raise(struct piece_near *near, struct slice text, float *best)
{
    size_t asked = near->query->count;
    near->ids.count = 0;
    if (pieces_cut(near->query->pieces, text, &near->ids, NULL))
        return;
    find_fresh(near);
    compare_fresh(near);
    for (size_t i = 0; i < near->ids.count; i++) {
        const float *one =
            near->near + (near->place[near->ids.ids[i]] - 1) * asked;
        for (size_t q = 0; q < asked; q++)
            best[q] = one[q] > best[q] ? one[q] : best[q];
    }
}
