/* Keeping the ids of nodes from one generation to the next. */
#include <stdlib.h>
#include <string.h>

#include "indexer/assemble.h"

struct key {
    struct hash128 hash;
    uint32_t node;
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->hash.high != y->hash.high)
        return x->hash.high < y->hash.high ? -1 : 1;
    if (x->hash.low != y->hash.low)
        return x->hash.low < y->hash.low ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The keys of all nodes; a hash of 0, 0: this node has no such key. */
typedef void make_keys(const struct tree *tree, struct key *keys);

static void keys_by_anchor(const struct tree *tree, struct key *keys)
{
    struct buf text = {0};
    for (uint32_t n = 1; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        if (node->source_tree == TREE_NONE ||
            (!node->anchor.size && node->source_node))
            continue;
        buf_clear(&text);
        buf_put_string(&text, tree->files[node->source_tree]);
        buf_put_slice(&text, node->anchor);
        keys[n].hash = hash_bytes(text.data, text.size);
    }
    buf_free(&text);
}

/* Parent's key, title, and how many siblings before have that title: sorted
 * by the first two, the ordinal is the place in the run of equals. */
static void keys_by_titles(const struct tree *tree, struct key *keys)
{
    struct key *siblings = mem_alloc(tree->count * sizeof *siblings);
    for (uint32_t parent = 0; parent < tree->count; parent++) {
        size_t count = 0;
        struct buf text = {0};
        for (uint32_t c = parent + 1; c < tree->nodes[parent].end;
             c = tree->nodes[c].end) {
            unsigned char above[16];
            hash_write(keys[parent].hash, above);
            buf_clear(&text);
            buf_put(&text, above, sizeof above);
            buf_put_slice(&text, tree->nodes[c].title);
            siblings[count++] =
                (struct key){hash_bytes(text.data, text.size), c};
        }
        buf_free(&text);
        qsort(siblings, count, sizeof *siblings, by_key);
        uint64_t ordinal = 0;
        for (size_t i = 0; i < count; i++) {
            ordinal = i && hash_equal(siblings[i].hash, siblings[i - 1].hash)
                          ? ordinal + 1
                          : 0;
            keys[siblings[i].node].hash = siblings[i].hash;
            keys[siblings[i].node].hash.low += ordinal;
        }
    }
    free(siblings);
}

/* Path of titles and own hash, so that of equal titles each keeps its text. */
static void keys_by_titles_and_content(const struct tree *tree,
                                       struct key *keys)
{
    struct hash128 *paths = mem_alloc(tree->count * sizeof *paths);
    struct buf text = {0};
    for (uint32_t n = 1; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        unsigned char bytes[16];
        buf_clear(&text);
        hash_write(paths[node->parent], bytes);
        buf_put(&text, bytes, sizeof bytes);
        buf_put_slice(&text, node->title);
        paths[n] = hash_bytes(text.data, text.size);
        buf_clear(&text);
        hash_write(paths[n], bytes);
        buf_put(&text, bytes, sizeof bytes);
        hash_write(node->own, bytes);
        buf_put(&text, bytes, sizeof bytes);
        keys[n].hash = hash_bytes(text.data, text.size);
    }
    buf_free(&text);
    free(paths);
}

static void keys_by_content(const struct tree *tree, struct key *keys)
{
    for (uint32_t n = 1; n < tree->count; n++)
        keys[n].hash = tree->nodes[n].own;
}

/* next[i]: where the search in the run of equals that starts at i goes on;
 * what was taken stays taken, so each run is walked once. */
static const struct key *find_free(const struct key *keys, size_t count,
                                   struct hash128 hash, const bool *taken,
                                   uint32_t *next)
{
    struct key wanted = {hash, 0};
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key(&keys[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count)
        return NULL;
    size_t at = next[low] > low ? next[low] : low;
    while (at < count && hash_equal(keys[at].hash, hash) &&
           taken[keys[at].node])
        at++;
    next[low] = (uint32_t)at;
    return at < count && hash_equal(keys[at].hash, hash) ? &keys[at] : NULL;
}

static void match_by(make_keys *make, struct tree *outline,
                     const struct tree *old, bool *taken, uint32_t *ret_old)
{
    struct key *now = mem_alloc(outline->count * sizeof *now);
    struct key *before = mem_alloc(old->count * sizeof *before);
    uint32_t *next = mem_alloc(old->count * sizeof *next);
    make(outline, now);
    make(old, before);
    for (uint32_t n = 0; n < old->count; n++)
        before[n].node = n;
    qsort(before, old->count, sizeof *before, by_key);
    for (uint32_t n = 1; n < outline->count; n++) {
        if (ret_old[n] != TREE_NONE || (!now[n].hash.low && !now[n].hash.high))
            continue;
        const struct key *found =
            find_free(before, old->count, now[n].hash, taken, next);
        if (!found)
            continue;
        taken[found->node] = true;
        ret_old[n] = found->node;
        outline->nodes[n].id = old->nodes[found->node].id;
    }
    free(next);
    free(now);
    free(before);
}

void assemble_match(struct tree *outline, const struct tree *old,
                    uint32_t *ret_old)
{
    for (uint32_t n = 0; n < outline->count; n++)
        ret_old[n] = TREE_NONE;
    if (!old)
        return;
    bool *taken = mem_alloc(old->count * sizeof *taken);
    taken[0] = true;
    ret_old[0] = 0;
    outline->nodes[0].id = old->nodes[0].id;
    match_by(keys_by_anchor, outline, old, taken, ret_old);
    match_by(keys_by_titles_and_content, outline, old, taken, ret_old);
    match_by(keys_by_titles, outline, old, taken, ret_old);
    match_by(keys_by_content, outline, old, taken, ret_old);
    free(taken);
}
