#include "memory/embeddings/plan_cache.h"

#include <stdlib.h>

#include "base/mem.h"

struct plan_cache {
    size_t max_bytes, bytes;
    struct plan_cache_manual *manuals; /* [count], the last used first */
    size_t count, capacity;
};

struct plan_cache *plan_cache_new(size_t max_bytes)
{
    struct plan_cache *plan_cache = mem_alloc(sizeof *plan_cache);
    plan_cache->max_bytes = max_bytes;
    return plan_cache;
}

static size_t bytes_of(const struct plan_cache_manual *of)
{
    return of->count * (sizeof *of->nodes + of->width * sizeof *of->c);
}

static void forget(struct plan_cache *plan_cache, size_t at)
{
    plan_cache->bytes -= bytes_of(&plan_cache->manuals[at]);
    free(plan_cache->manuals[at].nodes);
    free(plan_cache->manuals[at].c);
    plan_cache->count--;
    for (; at < plan_cache->count; at++)
        plan_cache->manuals[at] = plan_cache->manuals[at + 1];
}

void plan_cache_free(struct plan_cache *plan_cache)
{
    if (!plan_cache)
        return;
    while (plan_cache->count)
        forget(plan_cache, plan_cache->count - 1);
    free(plan_cache->manuals);
    free(plan_cache);
}

static size_t place_of(const struct plan_cache *plan_cache, uint32_t manual)
{
    size_t at = 0;
    while (at < plan_cache->count && plan_cache->manuals[at].manual != manual)
        at++;
    return at;
}

const struct plan_cache_manual *plan_cache_find(struct plan_cache *plan_cache,
                                                uint32_t manual,
                                                uint64_t vectors,
                                                struct hash128 policy)
{
    size_t at = plan_cache ? place_of(plan_cache, manual) : 0;
    if (!plan_cache || at == plan_cache->count ||
        plan_cache->manuals[at].vectors != vectors ||
        !hash_equal(plan_cache->manuals[at].policy, policy))
        return NULL;
    struct plan_cache_manual found = plan_cache->manuals[at];
    for (; at; at--)
        plan_cache->manuals[at] = plan_cache->manuals[at - 1];
    plan_cache->manuals[0] = found;
    return &plan_cache->manuals[0];
}

static int by_id(const void *a, const void *b)
{
    const struct cached_node *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

const struct cached_node *plan_cache_same(const struct plan_cache_manual *of,
                                          uint64_t id, struct hash128 seen)
{
    struct cached_node key = {.id = id};
    const struct cached_node *found =
        of->count ? bsearch(&key, of->nodes, of->count, sizeof key, by_id)
                  : NULL;
    return found && hash_equal(found->seen, seen) ? found : NULL;
}

void plan_cache_put(struct plan_cache *plan_cache, struct plan_cache_manual *of)
{
    size_t before = place_of(plan_cache, of->manual);
    if (before < plan_cache->count)
        forget(plan_cache, before);
    MEM_RESERVE(plan_cache->manuals, &plan_cache->capacity,
                plan_cache->count + 1);
    qsort(of->nodes, of->count, sizeof *of->nodes, by_id);
    for (size_t at = plan_cache->count++; at; at--)
        plan_cache->manuals[at] = plan_cache->manuals[at - 1];
    plan_cache->manuals[0] = *of;
    plan_cache->bytes += bytes_of(of);
    *of = (struct plan_cache_manual){0};
    while (plan_cache->bytes > plan_cache->max_bytes)
        forget(plan_cache, plan_cache->count - 1);
}
