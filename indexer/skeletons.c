#include "indexer/skeletons.h"

#include <stdlib.h>

#include "base/mem.h"

enum { FIRST_BUCKETS = 1024 };

struct entry {
    struct entry *next; /* of its bucket */
    struct hash128 name;
    struct tree *skeleton;
    uint64_t round; /* that used it last */
};

struct skeletons {
    struct entry **buckets; /* [bucket_count], a power of two */
    size_t bucket_count, count;
    size_t bytes, max;
    uint64_t round;
};

struct skeletons *skeletons_new(size_t max)
{
    struct skeletons *skeletons = mem_alloc(sizeof *skeletons);
    skeletons->max = max;
    skeletons->bucket_count = FIRST_BUCKETS;
    skeletons->buckets = mem_alloc(FIRST_BUCKETS * sizeof *skeletons->buckets);
    return skeletons;
}

static struct entry **bucket_of(const struct skeletons *skeletons,
                                struct hash128 name)
{
    return &skeletons->buckets[name.low & (skeletons->bucket_count - 1)];
}

static void grow(struct skeletons *skeletons)
{
    struct entry **old = skeletons->buckets;
    size_t count = skeletons->bucket_count;
    skeletons->bucket_count *= 2;
    skeletons->buckets = mem_alloc(skeletons->bucket_count * sizeof *old);
    for (size_t i = 0; i < count; i++)
        for (struct entry *entry = old[i], *next; entry; entry = next) {
            struct entry **bucket = bucket_of(skeletons, entry->name);
            next = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
    free(old);
}

/* Drops what was not used since `round`. */
static void drop_before(struct skeletons *skeletons, uint64_t round)
{
    for (size_t i = 0; i < skeletons->bucket_count; i++)
        for (struct entry **at = &skeletons->buckets[i]; *at;) {
            struct entry *entry = *at;
            if (entry->round >= round) {
                at = &entry->next;
                continue;
            }
            *at = entry->next;
            skeletons->bytes -= entry->skeleton->arena.used;
            skeletons->count--;
            tree_free(entry->skeleton);
            free(entry);
        }
}

void skeletons_free(struct skeletons *skeletons)
{
    if (!skeletons)
        return;
    drop_before(skeletons, UINT64_MAX);
    free(skeletons->buckets);
    free(skeletons);
}

struct tree *skeletons_find(struct skeletons *skeletons, struct hash128 name)
{
    struct entry *entry = *bucket_of(skeletons, name);
    while (entry && !hash_equal(entry->name, name))
        entry = entry->next;
    if (!entry)
        return NULL;
    entry->round = skeletons->round;
    return entry->skeleton;
}

void skeletons_add(struct skeletons *skeletons, struct hash128 name,
                   struct tree *skeleton)
{
    if (skeletons->count >= skeletons->bucket_count)
        grow(skeletons);
    struct entry **bucket = bucket_of(skeletons, name);
    struct entry *entry = mem_alloc(sizeof *entry);
    *entry = (struct entry){*bucket, name, skeleton, skeletons->round};
    *bucket = entry;
    skeletons->bytes += skeleton->arena.used;
    skeletons->count++;
}

void skeletons_end_round(struct skeletons *skeletons)
{
    if (skeletons->bytes > skeletons->max)
        drop_before(skeletons, skeletons->round);
    if (skeletons->bytes > skeletons->max)
        drop_before(skeletons, UINT64_MAX);
    skeletons->round++;
}
