#include "memory/embeddings/plan_cache.h"

#include <stdlib.h>

#include "base/mem.h"

struct kept {
    size_t most_bytes, bytes;
    struct kept_manual *manuals; /* [count], the last used first */
    size_t count, capacity;
};

struct kept *kept_new(size_t most_bytes)
{
    struct kept *kept = mem_alloc(sizeof *kept);
    kept->most_bytes = most_bytes;
    return kept;
}

static size_t bytes_of(const struct kept_manual *of)
{
    return of->count * (sizeof *of->nodes + of->width * sizeof *of->c);
}

static void forget(struct kept *kept, size_t at)
{
    kept->bytes -= bytes_of(&kept->manuals[at]);
    free(kept->manuals[at].nodes);
    free(kept->manuals[at].c);
    kept->count--;
    for (; at < kept->count; at++)
        kept->manuals[at] = kept->manuals[at + 1];
}

void kept_free(struct kept *kept)
{
    if (!kept)
        return;
    while (kept->count)
        forget(kept, kept->count - 1);
    free(kept->manuals);
    free(kept);
}

static size_t place_of(const struct kept *kept, uint32_t manual)
{
    size_t at = 0;
    while (at < kept->count && kept->manuals[at].manual != manual)
        at++;
    return at;
}

const struct kept_manual *kept_find(struct kept *kept, uint32_t manual,
                                    uint64_t vectors, struct hash128 policy)
{
    size_t at = kept ? place_of(kept, manual) : 0;
    if (!kept || at == kept->count || kept->manuals[at].vectors != vectors ||
        !hash_equal(kept->manuals[at].policy, policy))
        return NULL;
    struct kept_manual found = kept->manuals[at];
    for (; at; at--)
        kept->manuals[at] = kept->manuals[at - 1];
    kept->manuals[0] = found;
    return &kept->manuals[0];
}

static int by_id(const void *a, const void *b)
{
    const struct kept_node *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

const struct kept_node *kept_same(const struct kept_manual *of, uint64_t id,
                                  struct hash128 merkle)
{
    struct kept_node key = {.id = id};
    const struct kept_node *found =
        of->count ? bsearch(&key, of->nodes, of->count, sizeof key, by_id)
                  : NULL;
    return found && hash_equal(found->merkle, merkle) ? found : NULL;
}

void kept_put(struct kept *kept, struct kept_manual *of)
{
    size_t at = place_of(kept, of->manual);
    void *manuals = kept->manuals;
    if (at < kept->count)
        forget(kept, at);
    mem_reserve(&manuals, &kept->capacity, kept->count + 1, sizeof *of);
    kept->manuals = manuals;
    qsort(of->nodes, of->count, sizeof *of->nodes, by_id);
    for (at = kept->count++; at; at--)
        kept->manuals[at] = kept->manuals[at - 1];
    kept->manuals[0] = *of;
    kept->bytes += bytes_of(of);
    *of = (struct kept_manual){0};
    while (kept->bytes > kept->most_bytes)
        forget(kept, kept->count - 1);
}
