#include <stdlib.h>

#include "memory/routing/route_internal.h"

enum { MIN_DEPTH = 100 };

void ranking_add(struct ranking *ranking, size_t scope, uint32_t node,
                 double score)
{
    MEM_RESERVE(ranking->items, &ranking->capacity, ranking->count + 1);
    ranking->items[ranking->count++] = (struct ranked){scope, node, score};
}

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Puts the item at `at` where it belongs in a heap whose root is the worst. */
static void sink(struct ranked *heap, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && by_score(&heap[child], &heap[child + 1]) < 0)
            child++;
        if (by_score(&heap[at], &heap[child]) > 0)
            return;
        struct ranked item = heap[at];
        heap[at] = heap[child];
        heap[child] = item;
    }
}

static void make_heap(struct ranked *items, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        sink(items, count, at);
}

double ranking_least(const struct ranking *ranking, size_t max)
{
    return ranking->count < max ? 0 : ranking->items[0].score;
}

/* A heap from when it is full on. */
void ranking_offer(struct ranking *ranking, size_t max, size_t scope,
                   uint32_t node, double score)
{
    if (ranking->count < max) {
        ranking_add(ranking, scope, node, score);
        if (ranking->count == max)
            make_heap(ranking->items, max);
    } else if (score > ranking->items[0].score) {
        ranking->items[0] = (struct ranked){scope, node, score};
        sink(ranking->items, max, 0);
    }
}

/* The first `most` stay, in no order: few of many that match are looked at. */
static void keep_best(struct ranking *ranking, size_t max)
{
    struct ranked *items = ranking->items;
    make_heap(items, max);
    for (size_t i = max; i < ranking->count && max; i++) {
        if (by_score(&items[i], &items[0]) > 0)
            continue;
        items[0] = items[i];
        sink(items, max, 0);
    }
    ranking->count = max;
}

void ranking_sort(struct ranking *ranking, size_t max)
{
    if (ranking->count > max)
        keep_best(ranking, max);
    if (ranking->count)
        qsort(ranking->items, ranking->count, sizeof *ranking->items, by_score);
}

size_t ranking_depth(const struct routing *routing)
{
    size_t max = routing->request->max;
    return max > MIN_DEPTH ? max : MIN_DEPTH;
}

/* ---- Fusing ---- */

static int by_node(const void *a, const void *b)
{
    const struct fused *x = a, *y = b;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Score in the first ranking that holds it. */
static double first_score(const struct fused *item)
{
    int r = 0;
    while (!item->by[r].rank)
        r++;
    return item->by[r].score;
}

static int by_fused(const void *a, const void *b)
{
    const struct fused *x = a, *y = b;
    double p = first_score(x), q = first_score(y);
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    if (p != q)
        return p > q ? -1 : 1;
    return by_node(a, b);
}

static size_t put_together(const struct ranking rankings[ROUTE_RANKINGS],
                           struct fused *items)
{
    size_t count = 0;
    for (int r = 0; r < ROUTE_RANKINGS; r++) {
        for (size_t i = 0; i < rankings[r].count; i++) {
            const struct ranked *item = &rankings[r].items[i];
            items[count] =
                (struct fused){.scope = item->scope, .node = item->node};
            items[count++].by[r] =
                (struct route_place){(uint32_t)i + 1, item->score};
        }
    }
    return count;
}

/* Items of the same node, side by side, become one. */
static size_t merge_nodes(struct fused *items, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!kept || by_node(&items[kept - 1], &items[i])) {
            items[kept++] = items[i];
            continue;
        }
        for (int r = 0; r < ROUTE_RANKINGS; r++)
            if (items[i].by[r].rank)
                items[kept - 1].by[r] = items[i].by[r];
    }
    return kept;
}

/* What is worth 0 and what 1 in a ranking. */
struct scale {
    double low, high;
};

/* BM25 has a zero of its own; where a cosine says nothing differs from model
 * to model and from question to question, so the 100th is worth 0. */
static struct scale scale_of(const struct ranking *ranking, int which)
{
    size_t count = ranking->count < MIN_DEPTH ? ranking->count : MIN_DEPTH;
    bool cosine = which == ROUTE_BY_DENSE || which == ROUTE_BY_TREE;
    if (!count)
        return (struct scale){0, 1};
    return (struct scale){cosine && count > 1 ? ranking->items[count - 1].score
                                              : 0,
                          ranking->items[0].score};
}

static double scaled(const struct scale *scale, double score)
{
    if (score >= scale->high)
        return 1;
    return score > scale->low
               ? (score - scale->low) / (scale->high - scale->low)
               : 0;
}

static double fused_score(const struct fused *item,
                          const struct scale scales[ROUTE_RANKINGS],
                          const struct route_weights *weights)
{
    double score = 0;
    for (int r = 0; r < ROUTE_RANKINGS; r++)
        if (item->by[r].rank)
            score += weights->by[r] * scaled(&scales[r], item->by[r].score);
    return score;
}

static bool is_weighed(const struct fused *item,
                       const struct route_weights *weights)
{
    for (int r = 0; r < ROUTE_RANKINGS; r++)
        if (item->by[r].rank && weights->by[r] > 0)
            return true;
    return false;
}

size_t rankings_fuse(const struct ranking rankings[ROUTE_RANKINGS],
                     const struct route_weights *weights, struct fused **ret)
{
    struct scale scales[ROUTE_RANKINGS];
    size_t max = 0, count = 0;
    for (int r = 0; r < ROUTE_RANKINGS; r++) {
        max += rankings[r].count;
        scales[r] = scale_of(&rankings[r], r);
    }
    struct fused *items = mem_alloc(max * sizeof *items);
    max = put_together(rankings, items);
    if (max)
        qsort(items, max, sizeof *items, by_node);
    max = merge_nodes(items, max);
    for (size_t i = 0; i < max; i++) {
        items[i].ranked = fused_score(&items[i], scales, weights);
        items[i].score = items[i].ranked;
        if (is_weighed(&items[i], weights))
            items[count++] = items[i];
    }
    *ret = items;
    return count;
}

void rankings_add(struct fused *items, size_t count,
                  double (*bonus)(const void *context,
                                  const struct fused *item),
                  const void *context)
{
    for (size_t i = 0; i < count; i++)
        items[i].score += bonus(context, &items[i]);
}

void rankings_sort(struct fused *items, size_t count)
{
    if (count)
        qsort(items, count, sizeof *items, by_fused);
}

struct placed {
    struct fused item;
    double score;
    size_t place; /* before */
};

static int by_placed_score(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void rankings_reorder(struct fused *items, const double *scores, size_t count)
{
    struct placed *order = mem_alloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (struct placed){items[i], scores[i], i};
    if (count)
        qsort(order, count, sizeof *order, by_placed_score);
    for (size_t i = 0; i < count; i++) {
        double score = items[i].score;
        items[i] = order[i].item;
        items[i].score = score;
    }
    free(order);
}
