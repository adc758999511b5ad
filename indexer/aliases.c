#include "indexer/aliases.h"

#include <stdlib.h>

#include "base/url.h"

/* A place that a link can name: a file, or an anchor in it. */
struct target {
    struct hash128 hash;
    uint32_t node;
};

struct named {
    uint32_t node;
    struct slice text;
};

struct giving {
    struct tree *outline;
    struct target *targets; /* [target_count] by hash, then node */
    size_t target_count;
    uint32_t *worded;    /* [outline->count] it, or the next after it that has
                            text; TREE_NONE: none has */
    struct named *named; /* [named_count] */
    size_t named_count, named_capacity;
    struct buf key;
};

/* ---- Targets ---- */

static struct hash128 hash_target(struct buf *key, struct slice path,
                                  struct slice anchor)
{
    buf_clear(key);
    buf_put_string(key, path);
    buf_put_slice(key, anchor);
    return hash_bytes(key->data, key->size);
}

static int by_hash(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    int order = hash_compare(&x->hash, &y->hash);
    return order ? order : x->node < y->node ? -1 : x->node > y->node;
}

static void add_target(struct giving *g, uint32_t node, struct slice path,
                       struct slice anchor)
{
    g->targets[g->target_count++] =
        (struct target){hash_target(&g->key, path, anchor), node};
}

/* Each node's own anchor and others, and each file it heads: of its own, and
 * of those that hold the same. */
static void find_targets(struct giving *g)
{
    const struct tree *outline = g->outline;
    size_t max = 0;
    for (uint32_t n = 0; n < outline->count; n++)
        max += outline->nodes[n].anchor_count + outline->nodes[n].origin_count +
               (size_t)1;
    g->targets = mem_alloc(max * sizeof *g->targets);
    for (uint32_t n = 1; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        if (node->source_tree == TREE_NONE)
            continue;
        struct slice path = outline->files[node->source_tree];
        for (uint32_t i = 0; i < node->anchor_count; i++)
            add_target(g, n, path, node->anchors[i]);
        if (node->anchor.size)
            add_target(g, n, path, node->anchor);
        for (uint32_t i = 0; i < node->origin_count; i++)
            add_target(g, n, outline->files[node->origins[i].file],
                       (struct slice){"", 0});
    }
    if (g->target_count)
        qsort(g->targets, g->target_count, sizeof *g->targets, by_hash);
}

static void find_worded(struct giving *g)
{
    const struct tree *outline = g->outline;
    uint32_t next = TREE_NONE;
    g->worded = mem_alloc(outline->count * sizeof *g->worded);
    for (uint32_t n = outline->count; n-- > 0;) {
        next = outline->nodes[n].words ? n : next;
        g->worded[n] = next;
    }
}

static uint32_t find(struct giving *g, struct slice path, struct slice anchor)
{
    struct target wanted = {hash_target(&g->key, path, anchor), 0};
    size_t low = 0, high = g->target_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_hash(&g->targets[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found =
        low < g->target_count && hash_equal(g->targets[low].hash, wanted.hash);
    return found ? g->targets[low].node : (uint32_t)TREE_NONE;
}

/* The page where it has no such anchor, as browsers do. */
static uint32_t find_or_page(struct giving *g, struct slice path,
                             struct slice anchor)
{
    uint32_t node = find(g, path, anchor);
    return node == TREE_NONE && anchor.size
               ? find(g, path, (struct slice){"", 0})
               : node;
}

/* An anchor as it is written goes before what it decodes to, as browsers have it:
 * docsets name their anchors so. */
static uint32_t find_written(struct giving *g, struct slice path,
                             struct slice url)
{
    const char *hash = memchr(url.data, '#', url.size);
    if (!hash)
        return TREE_NONE;
    size_t from = (size_t)(hash + 1 - url.data);
    struct slice anchor = {url.data + from, url.size - from};
    return memchr(anchor.data, '%', anchor.size) ? find(g, path, anchor)
                                                 : (uint32_t)TREE_NONE;
}

static uint32_t find_place(struct giving *g, struct slice path,
                           struct slice anchor, struct slice url)
{
    uint32_t node = find_written(g, path, url);
    return node == TREE_NONE ? find_or_page(g, path, anchor) : node;
}

static uint32_t resolve(struct giving *g, const char *base, struct slice url)
{
    struct buf path = {0}, anchor = {0};
    uint32_t node = TREE_NONE;
    if (url_resolve(slice_of(base), url, &path, &anchor)) {
        node = find_place(g, buf_slice(&path), buf_slice(&anchor), url);
        if (node == TREE_NONE) {
            url_other_packing(&path);
            node = find_place(g, buf_slice(&path), buf_slice(&anchor), url);
        }
    }
    buf_free(&path);
    buf_free(&anchor);
    return node;
}

/* ---- Giving ---- */

static void collect(struct giving *g, const struct piece *piece)
{
    const struct page *page = &piece->skeleton->page;
    for (uint32_t i = 0; i < page->alias_count; i++) {
        const struct page_alias *alias = &page->aliases[i];
        uint32_t node = resolve(g, piece->path, alias->url);
        if (node == TREE_NONE)
            continue;
        uint32_t at = g->worded[node];
        if (at == TREE_NONE || at >= g->outline->nodes[node].end)
            continue;
        MEM_RESERVE(g->named, &g->named_capacity, g->named_count + 1);
        g->named[g->named_count++] = (struct named){at, alias->text};
    }
}

static int by_node(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return slice_compare(x->text, y->text);
}

static void deal_out(struct giving *g)
{
    struct tree *outline = g->outline;
    struct slice *all =
        arena_alloc(&outline->arena, g->named_count * sizeof *all);
    if (g->named_count)
        qsort(g->named, g->named_count, sizeof *g->named, by_node);
    for (size_t i = 0; i < g->named_count; i++) {
        if (i && !by_node(&g->named[i], &g->named[i - 1]))
            continue;
        struct node *node = &outline->nodes[g->named[i].node];
        if (!node->alias_count)
            node->aliases = all;
        *all++ = tree_copy_text(outline, g->named[i].text);
        node->alias_count++;
    }
}

static bool any_entry(const struct piece *pieces, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (pieces[i].skeleton->page.alias_count)
            return true;
    return false;
}

void aliases_give(struct tree *outline, const struct piece *pieces,
                  uint32_t count)
{
    struct giving giving = {.outline = outline};
    outline->has_aliases = true;
    if (!any_entry(pieces, count))
        return;
    find_targets(&giving);
    find_worded(&giving);
    for (uint32_t i = 0; i < count; i++)
        collect(&giving, &pieces[i]);
    deal_out(&giving);
    free(giving.targets);
    free(giving.worded);
    free(giving.named);
    buf_free(&giving.key);
}

bool aliases_equal(const struct node *a, const struct node *b)
{
    bool equal = a->alias_count == b->alias_count;
    for (uint32_t i = 0; i < a->alias_count && equal; i++)
        equal = slice_equal(a->aliases[i], b->aliases[i]);
    return equal;
}
