#include "indexer/repeated.h"

#include <stdlib.h>

#include "base/text.h"

enum { LEAST_PAGES = 8, MOST_TEXT = 2000 };

struct sight {
    uint64_t hash;
    uint32_t page;
};

struct sights {
    struct sight *items;
    size_t count, capacity;
    uint32_t pages;
};

uint64_t repeated_hash(struct slice text)
{
    struct buf folded = {0};
    text_fold_compare(&folded, text);
    uint64_t hash = folded.size ? hash_bytes64(folded.data, folded.size) : 0;
    buf_free(&folded);
    return hash;
}

uint64_t repeated_block_hash(const struct block *block)
{
    if (block->kind == BLOCK_CODE || block->text.size > MOST_TEXT)
        return 0;
    return repeated_hash(block->text);
}

static void see(struct sights *sights, uint64_t hash, uint32_t page)
{
    if (!hash)
        return;
    void *items = sights->items;
    mem_reserve(&items, &sights->capacity, sights->count + 1,
                sizeof *sights->items);
    sights->items = items;
    sights->items[sights->count++] = (struct sight){hash, page};
}

static int by_hash(const void *a, const void *b)
{
    const struct sight *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->page < y->page ? -1 : x->page > y->page;
}

/* Takes the sights; keeps what was seen on more than half of the pages. */
static void take_common(struct sights *sights, struct repeated *ret)
{
    *ret = (struct repeated){0};
    if (sights->count && sights->pages >= LEAST_PAGES) {
        qsort(sights->items, sights->count, sizeof *sights->items, by_hash);
        ret->hashes = mem_alloc(sights->count * sizeof *ret->hashes);
        size_t pages = 0;
        for (size_t i = 0; i < sights->count; i++) {
            const struct sight *now = &sights->items[i];
            bool first = !i || now[-1].hash != now->hash;
            pages = first ? 1 : pages + (now[-1].page != now->page);
            bool last = i + 1 == sights->count || now[1].hash != now->hash;
            if (last && 2 * pages > sights->pages)
                ret->hashes[ret->count++] = now->hash;
        }
    }
    free(sights->items);
}

void repeated_blocks(const struct piece *pieces, uint32_t count,
                     struct repeated *ret)
{
    struct sights sights = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct tree *bones = pieces[i].skeleton;
        bool content = false;
        for (uint32_t n = 0; n < bones->count; n++) {
            content |= bones->nodes[n].text_count > 0;
            for (uint32_t t = 0; t < bones->nodes[n].text_count; t++)
                see(&sights, bones->nodes[n].texts[t], i);
        }
        sights.pages += content;
    }
    take_common(&sights, ret);
}

void repeated_titles(const struct piece *pieces, uint32_t count,
                     struct repeated *ret)
{
    struct sights sights = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct tree *bones = pieces[i].skeleton;
        if (bones->count < 2)
            continue;
        sights.pages++;
        see(&sights, repeated_hash(bones->nodes[0].title), i);
    }
    take_common(&sights, ret);
}

void repeated_free(struct repeated *repeated)
{
    free(repeated->hashes);
    *repeated = (struct repeated){0};
}

bool repeated_has(const struct repeated *repeated, uint64_t hash)
{
    size_t low = 0, high = repeated->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (repeated->hashes[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low < repeated->count && repeated->hashes[low] == hash;
}
