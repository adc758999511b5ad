#include "tree/tree.h"

#include <stdlib.h>
#include <string.h>

#include "tree/pending.h"

static const char *const kind_names[BLOCK_KINDS] = {
    "paragraph", "code", "table",  "list",      "quote",
    "note",      "math", "figure", "definition"};

const char *block_kind_name(int kind)
{
    return kind >= 0 && kind < BLOCK_KINDS ? kind_names[kind] : "paragraph";
}

static const char *const encoding_names[ENCODINGS] = {
    "utf-8",          "windows-1252", "utf-16le",     "utf-16be",
    "ibm866",         "iso-8859-2",   "iso-8859-3",   "iso-8859-4",
    "iso-8859-5",     "iso-8859-6",   "iso-8859-7",   "iso-8859-8",
    "iso-8859-10",    "iso-8859-13",  "iso-8859-14",  "iso-8859-15",
    "iso-8859-16",    "koi8-r",       "koi8-u",       "macintosh",
    "x-mac-cyrillic", "windows-874",  "windows-1250", "windows-1251",
    "windows-1253",   "windows-1254", "windows-1255", "windows-1256",
    "windows-1257",   "windows-1258", "gb18030",      "big5",
    "euc-jp",         "shift_jis",    "euc-kr"};

const char *encoding_name(int encoding)
{
    bool known = encoding >= 0 && encoding < ENCODINGS;
    return encoding_names[known ? encoding : ENCODING_UTF8];
}

static const char *const excluded_names[EXCLUDED_KINDS] = {
    [EXCLUDED_NOT] = "",           [EXCLUDED_REDIRECT] = "redirect",
    [EXCLUDED_SEARCH] = "search",  [EXCLUDED_WHOLE] = "whole",
    [EXCLUDED_PART] = "part",      [EXCLUDED_MENU] = "menu",
    [EXCLUDED_SAME] = "same",      [EXCLUDED_LISTS] = "lists",
    [EXCLUDED_VARIANT] = "variant"};

const char *excluded_name(int excluded)
{
    bool known = excluded >= 0 && excluded < EXCLUDED_KINDS;
    return excluded_names[known ? excluded : EXCLUDED_NOT];
}

struct tree *tree_new(bool outline)
{
    struct tree *tree = mem_alloc(sizeof *tree);
    tree->outline = outline;
    tree->pending = mem_alloc(sizeof *tree->pending);
    return tree;
}

static void pending_free(struct tree_pending *pending)
{
    if (!pending)
        return;
    free(pending->nodes);
    free(pending->files);
    for (int list = 0; list < PENDING_LISTS; list++)
        free(pending->lists[list].items);
    free(pending);
}

void tree_free(struct tree *tree)
{
    if (!tree)
        return;
    pending_free(tree->pending);
    arena_free(&tree->arena);
    free(tree);
}

struct slice tree_copy_text(struct tree *tree, struct slice text)
{
    if (!text.size)
        return (struct slice){"", 0};
    return (struct slice){arena_copy(&tree->arena, text.data, text.size),
                          text.size};
}

struct page_link *tree_copy_links(struct tree *tree,
                                  const struct page_link *links, size_t count)
{
    struct page_link *copy = arena_alloc(&tree->arena, count * sizeof *copy);
    if (count)
        memcpy(copy, links, count * sizeof *copy);
    return copy;
}

struct page_alias *tree_copy_aliases(struct tree *tree,
                                     const struct page_alias *aliases,
                                     size_t count)
{
    struct page_alias *copy = arena_alloc(&tree->arena, count * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = (struct page_alias){tree_copy_text(tree, aliases[i].text),
                                      tree_copy_text(tree, aliases[i].url)};
    return copy;
}

uint32_t tree_add_node(struct tree *tree, uint32_t parent, int level,
                       struct slice title, struct slice anchor)
{
    struct tree_pending *p = tree->pending;
    MEM_RESERVE(p->nodes, &p->node_capacity, tree->count + (size_t)1);
    p->nodes[tree->count] = (struct node){
        .parent = parent,
        .level = level,
        .title = tree_copy_text(tree, title),
        .anchor = tree_copy_text(tree, anchor),
        .source_tree = TREE_NONE,
    };
    tree->nodes = p->nodes;
    return tree->count++;
}

uint32_t tree_add_file(struct tree *tree, struct slice path)
{
    struct tree_pending *p = tree->pending;
    MEM_RESERVE(p->files, &p->file_capacity, tree->file_count + (size_t)1);
    p->files[tree->file_count] = tree_copy_text(tree, path);
    return tree->file_count++;
}

static void pend(struct tree *tree, int which, struct pending_item item)
{
    struct pending_list *list = &tree->pending->lists[which];
    MEM_RESERVE(list->items, &list->capacity, list->count + 1);
    list->items[list->count++] = item;
}

void tree_add_anchor(struct tree *tree, uint32_t node, struct slice anchor)
{
    pend(tree, PENDING_ANCHOR,
         (struct pending_item){.node = node,
                               .anchor = tree_copy_text(tree, anchor)});
}

void tree_add_origin(struct tree *tree, uint32_t node, struct origin origin)
{
    pend(tree, PENDING_ORIGIN,
         (struct pending_item){.node = node, .origin = origin});
}

void tree_add_block(struct tree *tree, uint32_t node, int kind,
                    struct slice text, struct slice info, struct origin origin)
{
    struct block block = {.kind = kind,
                          .text = tree_copy_text(tree, text),
                          .info = tree_copy_text(tree, info),
                          .origin = origin};
    pend(tree, PENDING_BLOCK,
         (struct pending_item){.node = node, .block = block});
}

void tree_add_ref(struct tree *tree, uint32_t node, struct slice text,
                  struct slice url)
{
    struct ref ref = {tree_copy_text(tree, text), tree_copy_text(tree, url)};
    pend(tree, PENDING_REF, (struct pending_item){.node = node, .ref = ref});
}

/* ---- Sealing ---- */

/* Items were added in document order but for any node: a counting sort by
 * node keeps that order within each. */
static void deal_out(struct tree *tree, int which)
{
    struct pending_list *list = &tree->pending->lists[which];
    static const size_t sizes[PENDING_LISTS] = {
        sizeof(struct slice), sizeof(struct origin), sizeof(struct block),
        sizeof(struct ref)};
    size_t size = sizes[which];
    char *all = arena_alloc(&tree->arena, list->count * size);
    uint32_t *next = mem_alloc((tree->count + (size_t)1) * sizeof *next);
    for (size_t i = 0; i < list->count; i++)
        next[list->items[i].node + 1]++;
    for (uint32_t n = 0; n < tree->count; n++) {
        struct node *node = &tree->nodes[n];
        char *first = all + next[n] * size;
        uint32_t count = next[n + 1];
        next[n + 1] += next[n];
        switch (which) {
        case PENDING_ANCHOR:
            node->anchors = (struct slice *)(void *)first;
            node->anchor_count = count;
            break;
        case PENDING_ORIGIN:
            node->origins = (struct origin *)(void *)first;
            node->origin_count = count;
            break;
        case PENDING_BLOCK:
            node->blocks = (struct block *)(void *)first;
            node->block_count = count;
            break;
        default:
            node->refs = (struct ref *)(void *)first;
            node->ref_count = count;
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct pending_item *item = &list->items[i];
        memcpy(all + next[item->node]++ * size, &item->anchor, size);
    }
    free(next);
}

static void hash_own(struct node *node, struct buf *scratch)
{
    buf_clear(scratch);
    buf_put_string(scratch, node->title);
    for (uint32_t b = 0; b < node->block_count; b++) {
        buf_put_varint(scratch, (uint64_t)node->blocks[b].kind);
        buf_put_string(scratch, node->blocks[b].info);
        buf_put_string(scratch, node->blocks[b].text);
    }
    node->own = hash_bytes(scratch->data, scratch->size);
}

static void hash_merkle(struct tree *tree, uint32_t index, struct buf *scratch)
{
    struct node *node = &tree->nodes[index];
    unsigned char bytes[16];
    buf_clear(scratch);
    hash_write(node->own, bytes);
    buf_put(scratch, bytes, sizeof bytes);
    for (uint32_t c = index + 1; c < node->end; c = tree->nodes[c].end) {
        hash_write(tree->nodes[c].merkle, bytes);
        buf_put(scratch, bytes, sizeof bytes);
    }
    node->merkle = hash_bytes(scratch->data, scratch->size);
}

/* In pre-order every node stands after its parent, so one pass from the last
 * node to the first meets all children before their parent. */
static void close_nodes(struct tree *tree)
{
    struct buf scratch = {0};
    for (uint32_t i = 0; i < tree->count; i++)
        tree->nodes[i].end = i + 1;
    for (uint32_t i = tree->count; i-- > 0;) {
        struct node *node = &tree->nodes[i];
        if (!tree->outline)
            hash_own(node, &scratch);
        hash_merkle(tree, i, &scratch);
        if (node->parent == TREE_NONE)
            continue;
        struct node *parent = &tree->nodes[node->parent];
        if (parent->end < node->end)
            parent->end = node->end;
        if (parent->height < node->height + 1)
            parent->height = node->height + 1;
    }
    buf_free(&scratch);
}

/* Node 0 alone has no parent; any other has an earlier one whose sub-tree is
 * still open: the node before it or one of that node's ancestors. */
static bool is_pre_order(const struct tree *tree)
{
    for (uint32_t i = 0; i < tree->count; i++) {
        uint32_t parent = tree->nodes[i].parent;
        if (i == 0 ? parent != TREE_NONE : parent >= i)
            return false;
        if (i == 0)
            continue;
        uint32_t open = i - 1;
        while (open != parent && open != TREE_NONE && open > parent)
            open = tree->nodes[open].parent;
        if (open != parent)
            return false;
    }
    return true;
}

int tree_seal(struct tree *tree, struct err *err)
{
    struct tree_pending *pending = tree->pending;
    if (!tree->count)
        return err_set(err, ERR_FORMAT, "a tree without a node");
    if (!is_pre_order(tree))
        return err_set(err, ERR_FORMAT, "the nodes are not in pre-order");
    for (int list = 0; list < PENDING_LISTS; list++)
        for (size_t i = 0; i < pending->lists[list].count; i++)
            if (pending->lists[list].items[i].node >= tree->count)
                return err_set(err, ERR_FORMAT, "content of a missing node");
    tree->nodes = arena_alloc(&tree->arena, tree->count * sizeof *tree->nodes);
    memcpy(tree->nodes, pending->nodes, tree->count * sizeof *tree->nodes);
    tree->files =
        arena_alloc(&tree->arena, tree->file_count * sizeof *tree->files);
    if (tree->file_count)
        memcpy(tree->files, pending->files,
               tree->file_count * sizeof *tree->files);
    for (int list = 0; list < PENDING_LISTS; list++)
        deal_out(tree, list);
    close_nodes(tree);
    pending_free(pending);
    tree->pending = NULL;
    return 0;
}

/* ---- Walking ---- */

void tree_by_height(const struct tree *tree, uint32_t *order, uint32_t *starts)
{
    uint32_t heights = tree->nodes[0].height + 1;
    memset(starts, 0, (heights + (size_t)1) * sizeof *starts);
    for (uint32_t i = 0; i < tree->count; i++)
        starts[tree->nodes[i].height + 1]++;
    for (uint32_t h = 0; h < heights; h++)
        starts[h + 1] += starts[h];
    uint32_t *next = mem_alloc(heights * sizeof *next);
    memcpy(next, starts, heights * sizeof *next);
    for (uint32_t i = 0; i < tree->count; i++)
        order[next[tree->nodes[i].height]++] = i;
    free(next);
}

uint32_t tree_depth(const struct tree *tree, uint32_t node)
{
    uint32_t depth = 0;
    while ((node = tree->nodes[node].parent) != TREE_NONE)
        depth++;
    return depth;
}

void tree_node_text(const struct node *node, struct buf *ret)
{
    for (uint32_t b = 0; b < node->block_count; b++) {
        if (b)
            buf_put_text(ret, "\n\n");
        buf_put_slice(ret, node->blocks[b].text);
    }
    buf_put(ret, "", 0);
}

struct node *tree_node_kept(const struct node *content,
                            const struct node *outline)
{
    struct node *kept =
        mem_alloc(sizeof *kept + content->block_count * sizeof *kept->blocks);
    struct block *blocks = (struct block *)(void *)(kept + 1);
    uint32_t count = 0, drop = 0;
    for (uint32_t b = 0; b < content->block_count; b++) {
        if (drop < outline->dropped_count && outline->boilerplate[drop] == b)
            drop++;
        else
            blocks[count++] = content->blocks[b];
    }
    *kept = *content;
    kept->blocks = blocks;
    kept->block_count = count;
    return kept;
}

struct hash128 tree_hash_kept(struct hash128 own, const uint32_t *boilerplate,
                              uint32_t count)
{
    struct buf bytes = {0};
    unsigned char hash[16];
    if (!count)
        return own;
    hash_write(own, hash);
    buf_put(&bytes, hash, sizeof hash);
    for (uint32_t i = 0; i < count; i++)
        buf_put_varint(&bytes, boilerplate[i]);
    struct hash128 kept = hash_bytes(bytes.data, bytes.size);
    buf_free(&bytes);
    return kept;
}
