/* The encoding of a tree, version 4.  Varints, signed (zig-zag) varints and
 * strings are those of base/buf.h; a count comes before its items.
 *
 *   "LT"  version  flags          4 bytes; flags bit 0: outline; bit 1: its
 *                                 nodes were given their aliases; bit 2: the
 *                                 page's up ends a trail; bit 3: names of the
 *                                 pages above are there
 *   files:   string path ...
 *   outline: varint why it is left out, for each file
 *   page:    varint role, varint encoding, string title, up, prev, next;
 *            with bit 3: string above, home
 *     links: varint kind of contents, string url, varint depth, string
 *            title ...
 *     aliases: string text, string url ...
 *   nodes, in pre-order:
 *     varint   distance to the parent (own index - parent's; 0: the root)
 *     varint   level, and 8 for an entry
 *     string   title, string anchor
 *     anchors: string ...
 *     origins: varint file, signed from - previous to, varint to - from ...
 *     blocks:  varint kind, string text, string info, origin as above ...
 *     refs:    string text, string url ...
 *     outline: varint id, varint source tree + 1 (0: none), varint source
 *              node, varint words, 16 bytes own hash
 *     dropped: varint block - the one before ...
 *     aliases: string ...
 *
 * Version 3, which is read still, has neither aliases nor titles of links, and
 * does not say why files are left out; version 2, read too, has no links, entries
 * or dropped blocks either.
 *
 * "Previous to" is the end of the span decoded last, so that spans, which
 * mostly follow one another, take few bytes.  Heights, ends and hashes of
 * content are computed again on decoding. */
#include <stdlib.h>

#include "tree/tree.h"

enum {
    VERSION = 4,
    OLDEST_VERSION = 2,
    FLAG_OUTLINE = 1,
    FLAG_ALIASES = 2,
    FLAG_TRAIL = 4,
    FLAG_ABOVE = 8
};

/* Bytes that the smallest of each takes, so that a count is believed only as
 * far as the input can hold it. */
enum {
    MIN_NODE = 8,
    MIN_ORIGIN = 3,
    MIN_BLOCK = 6,
    MIN_REF = 2,
    MIN_LINK = 2,
    MIN_ALIAS = 2
};

static void put_origin(struct buf *out, struct origin origin, uint64_t *last)
{
    buf_put_varint(out, origin.file);
    buf_put_signed(out, (int64_t)(origin.span.from - *last));
    buf_put_varint(out, origin.span.to - origin.span.from);
    *last = origin.span.to;
}

static void put_node(const struct tree *tree, uint32_t index, struct buf *out,
                     uint64_t *last)
{
    const struct node *node = &tree->nodes[index];
    buf_put_varint(out, index ? index - node->parent : 0);
    buf_put_varint(out, (uint64_t)node->level | (node->entry ? 8 : 0));
    buf_put_string(out, node->title);
    buf_put_string(out, node->anchor);
    buf_put_varint(out, node->anchor_count);
    for (uint32_t i = 0; i < node->anchor_count; i++)
        buf_put_string(out, node->anchors[i]);
    buf_put_varint(out, node->origin_count);
    for (uint32_t i = 0; i < node->origin_count; i++)
        put_origin(out, node->origins[i], last);
    buf_put_varint(out, node->block_count);
    for (uint32_t i = 0; i < node->block_count; i++) {
        buf_put_varint(out, (uint64_t)node->blocks[i].kind);
        buf_put_string(out, node->blocks[i].text);
        buf_put_string(out, node->blocks[i].info);
        put_origin(out, node->blocks[i].origin, last);
    }
    buf_put_varint(out, node->ref_count);
    for (uint32_t i = 0; i < node->ref_count; i++) {
        buf_put_string(out, node->refs[i].text);
        buf_put_string(out, node->refs[i].url);
    }
    if (!tree->outline)
        return;
    unsigned char own[16];
    hash_write(node->own, own);
    buf_put_varint(out, node->id);
    buf_put_varint(out, node->source_tree == TREE_NONE
                            ? 0
                            : (uint64_t)node->source_tree + 1);
    buf_put_varint(out, node->source_node);
    buf_put_varint(out, node->words);
    buf_put(out, own, sizeof own);
    buf_put_varint(out, node->dropped_count);
    for (uint32_t i = 0, before = 0; i < node->dropped_count; i++) {
        buf_put_varint(out, node->boilerplate[i] - before);
        before = node->boilerplate[i];
    }
    buf_put_varint(out, node->alias_count);
    for (uint32_t i = 0; i < node->alias_count; i++)
        buf_put_string(out, node->aliases[i]);
}

static void put_links(const struct page *page, struct buf *out)
{
    buf_put_varint(out, (uint64_t)page->contents);
    buf_put_varint(out, page->link_count);
    for (uint32_t i = 0; i < page->link_count; i++) {
        buf_put_string(out, page->links[i].url);
        buf_put_varint(out, page->links[i].depth);
        buf_put_string(out, page->links[i].title);
    }
    buf_put_varint(out, page->alias_count);
    for (uint32_t i = 0; i < page->alias_count; i++) {
        buf_put_string(out, page->aliases[i].text);
        buf_put_string(out, page->aliases[i].url);
    }
}

static bool has_above(const struct page *page)
{
    return page->above.size || page->home.size;
}

static void put_head(const struct tree *tree, struct buf *out)
{
    bool above = has_above(&tree->page);
    buf_put_text(out, "LT");
    buf_put_byte(out, VERSION);
    buf_put_byte(out, (tree->outline ? FLAG_OUTLINE : 0) |
                          (tree->has_aliases ? FLAG_ALIASES : 0) |
                          (tree->page.trail ? FLAG_TRAIL : 0) |
                          (above ? FLAG_ABOVE : 0));
    buf_put_varint(out, tree->file_count);
    for (uint32_t i = 0; i < tree->file_count; i++)
        buf_put_string(out, tree->files[i]);
    for (uint32_t i = 0; tree->outline && i < tree->file_count; i++)
        buf_put_varint(out, tree->excluded ? tree->excluded[i] : 0);
    buf_put_varint(out, (uint64_t)tree->page.role);
    buf_put_varint(out, (uint64_t)tree->page.encoding);
    buf_put_string(out, tree->page.title);
    buf_put_string(out, tree->page.up);
    buf_put_string(out, tree->page.prev);
    buf_put_string(out, tree->page.next);
    if (above) {
        buf_put_string(out, tree->page.above);
        buf_put_string(out, tree->page.home);
    }
    put_links(&tree->page, out);
    buf_put_varint(out, tree->count);
}

void tree_encode(const struct tree *tree, struct buf *out)
{
    uint64_t last = 0;
    put_head(tree, out);
    for (uint32_t i = 0; i < tree->count; i++)
        put_node(tree, i, out, &last);
}

void tree_encode_cut(const struct tree *tree, size_t size, struct buf *out,
                     struct tree_cut **ret_cuts, size_t *ret_count)
{
    struct tree_cut *cuts = NULL;
    size_t count = 0, capacity = 0, begun = out->size;
    uint64_t last = 0, before = 0;
    put_head(tree, out);
    for (uint32_t i = 0; i < tree->count; i++) {
        size_t at = out->size - begun;
        if (!i || at - before >= size) {
            MEM_RESERVE(cuts, &capacity, count + 1);
            cuts[count++] = (struct tree_cut){at, i, last};
            before = at;
        }
        put_node(tree, i, out, &last);
    }
    *ret_cuts = cuts;
    *ret_count = count;
}

/* ---- Decoding ---- */

struct decoding {
    struct tree *tree;
    struct reader in;
    struct tree_limits left;
    int version;
    bool part;     /* nodes' parents may be missing */
    bool named;    /* the page has names of those above */
    uint64_t last; /* end of the span decoded last */
};

static size_t take_count(struct reader *in, size_t each, size_t *left)
{
    size_t count = read_count(in, each);
    if (count > *left)
        in->failed = true;
    if (in->failed)
        return 0;
    *left -= count;
    return count;
}

static struct origin take_origin(struct decoding *d)
{
    struct reader *in = &d->in;
    struct origin origin = {.file = read_u32(in)};
    origin.span.from = d->last + (uint64_t)read_signed(in);
    uint64_t size = read_varint(in);
    origin.span.to = origin.span.from + size;
    if (origin.span.from > INT64_MAX || size > INT64_MAX ||
        origin.file >= d->tree->file_count)
        in->failed = true;
    d->last = origin.span.to;
    return origin;
}

static void take_dropped(struct decoding *d, struct node *n)
{
    size_t count = take_count(&d->in, 1, &d->left.items);
    uint64_t block = 0;
    n->boilerplate =
        arena_alloc(&d->tree->arena, count * sizeof *n->boilerplate);
    for (size_t i = 0; i < count && !d->in.failed; i++) {
        uint64_t step = read_varint(&d->in);
        block += step;
        if (step > UINT32_MAX || block > UINT32_MAX || (i && !step))
            d->in.failed = true;
        else
            n->boilerplate[n->dropped_count++] = (uint32_t)block;
    }
}

static void take_aliases(struct decoding *d, struct node *n)
{
    size_t count = take_count(&d->in, 1, &d->left.items);
    n->aliases = arena_alloc(&d->tree->arena, count * sizeof *n->aliases);
    for (size_t i = 0; i < count && !d->in.failed; i++)
        n->aliases[n->alias_count++] =
            tree_copy_text(d->tree, read_string(&d->in));
}

static void take_outline(struct decoding *d, struct node *n)
{
    struct reader *in = &d->in;
    n->id = read_varint(in);
    uint64_t source = read_varint(in);
    n->source_tree = source ? (uint32_t)(source - 1) : (uint32_t)TREE_NONE;
    n->source_node = read_u32(in);
    n->words = read_u32(in);
    const unsigned char *own = read_bytes(in, 16);
    if (own)
        n->own = hash_read(own);
    if (source > TREE_NONE)
        in->failed = true;
    if (!in->failed && d->version > 2)
        take_dropped(d, n);
    if (!in->failed && d->version > 3)
        take_aliases(d, n);
}

static void take_block(struct decoding *d, uint32_t node)
{
    uint64_t kind = read_varint(&d->in);
    struct slice text = read_string(&d->in), info = read_string(&d->in);
    struct origin origin = take_origin(d);
    if (kind >= BLOCK_KINDS)
        d->in.failed = true;
    else
        tree_add_block(d->tree, node, (int)kind, text, info, origin);
}

static void take_items(struct decoding *d, uint32_t node)
{
    struct tree *tree = d->tree;
    struct reader *in = &d->in;
    size_t *left = &d->left.items;
    for (size_t n = take_count(in, 1, left); n > 0 && !in->failed; n--)
        tree_add_anchor(tree, node, read_string(in));
    for (size_t n = take_count(in, MIN_ORIGIN, left); n > 0 && !in->failed; n--)
        tree_add_origin(tree, node, take_origin(d));
    for (size_t n = take_count(in, MIN_BLOCK, left); n > 0 && !in->failed; n--)
        take_block(d, node);
    for (size_t n = take_count(in, MIN_REF, left); n > 0 && !in->failed; n--) {
        struct slice text = read_string(in);
        tree_add_ref(tree, node, text, read_string(in));
    }
}

static void take_node(struct decoding *d)
{
    struct tree *tree = d->tree;
    struct reader *in = &d->in;
    uint32_t index = tree->count;
    uint32_t distance = read_u32(in);
    uint64_t level = read_varint(in);
    struct slice title = read_string(in), anchor = read_string(in);
    if (!d->part && (distance > index || (distance == 0) != (index == 0)))
        in->failed = true;
    if (level > (d->version > 2 ? 15 : 7))
        in->failed = true;
    if (in->failed)
        return;
    uint32_t parent = distance ? index - distance : (uint32_t)TREE_NONE;
    if (d->part)
        parent = index ? 0 : (uint32_t)TREE_NONE;
    tree_add_node(tree, parent, (int)(level & 7), title, anchor);
    tree->nodes[index].entry = level & 8;
    take_items(d, index);
    if (tree->outline)
        take_outline(d, &tree->nodes[index]);
}

static void take_links(struct decoding *d)
{
    struct reader *in = &d->in;
    struct page *page = &d->tree->page;
    uint64_t kind = read_varint(in);
    size_t count = take_count(in, MIN_LINK, &d->left.items);
    if (kind >= CONTENTS_KINDS)
        in->failed = true;
    if (in->failed)
        return;
    page->contents = (int)kind;
    page->links = arena_alloc(&d->tree->arena, count * sizeof *page->links);
    for (size_t i = 0; i < count && !in->failed; i++) {
        struct slice url = tree_copy_text(d->tree, read_string(in));
        struct page_link link = {url, read_u32(in), {"", 0}};
        if (d->version > 3)
            link.title = tree_copy_text(d->tree, read_string(in));
        page->links[page->link_count++] = link;
    }
}

static void take_page_aliases(struct decoding *d)
{
    struct page *page = &d->tree->page;
    size_t count = take_count(&d->in, MIN_ALIAS, &d->left.items);
    page->aliases = arena_alloc(&d->tree->arena, count * sizeof *page->aliases);
    for (size_t i = 0; i < count && !d->in.failed; i++) {
        struct slice text = tree_copy_text(d->tree, read_string(&d->in));
        struct slice url = tree_copy_text(d->tree, read_string(&d->in));
        page->aliases[page->alias_count++] = (struct page_alias){text, url};
    }
}

static void take_excluded(struct decoding *d)
{
    struct tree *tree = d->tree;
    tree->excluded = arena_alloc(&tree->arena, tree->file_count);
    for (uint32_t i = 0; i < tree->file_count && d->version > 3; i++) {
        uint64_t why = read_varint(&d->in);
        if (why >= EXCLUDED_KINDS)
            d->in.failed = true;
        else
            tree->excluded[i] = (uint8_t)why;
    }
}

static void take_head(struct decoding *d)
{
    struct tree *tree = d->tree;
    struct reader *in = &d->in;
    for (size_t n = take_count(in, 1, &d->left.items); n > 0 && !in->failed;
         n--)
        tree_add_file(tree, read_string(in));
    if (tree->outline)
        take_excluded(d);
    uint64_t role = read_varint(in), encoding = read_varint(in);
    if (role > PAGE_MADE || encoding >= ENCODINGS)
        in->failed = true;
    tree->page.role = (int)(role & 7);
    tree->page.encoding = in->failed ? 0 : (int)encoding;
    tree->page.title = tree_copy_text(tree, read_string(in));
    tree->page.up = tree_copy_text(tree, read_string(in));
    tree->page.prev = tree_copy_text(tree, read_string(in));
    tree->page.next = tree_copy_text(tree, read_string(in));
    if (d->named) {
        tree->page.above = tree_copy_text(tree, read_string(in));
        tree->page.home = tree_copy_text(tree, read_string(in));
    }
    if (d->version > 2)
        take_links(d);
    if (!in->failed && d->version > 3)
        take_page_aliases(d);
}

static int decode(struct decoding *d, struct err *err)
{
    struct reader *in = &d->in;
    take_head(d);
    for (size_t n = take_count(in, MIN_NODE, &d->left.nodes);
         n > 0 && !in->failed; n--)
        take_node(d);
    if (!in->failed && in->at == in->size)
        return tree_seal(d->tree, err);
    err_set(err, ERR_FORMAT, "a damaged tree at byte %zu", in->at);
    if (err)
        err->position = (int64_t)in->at;
    return ERR_FORMAT;
}

/* Magic, version and flags. */
static int begin(struct decoding *d, struct err *err)
{
    const unsigned char *magic = read_bytes(&d->in, 4);
    if (!magic || magic[0] != 'L' || magic[1] != 'T')
        return err_set(err, ERR_FORMAT, "not an encoded tree");
    d->version = magic[2];
    if (d->version < OLDEST_VERSION || d->version > VERSION ||
        magic[3] > (FLAG_OUTLINE | FLAG_ALIASES | FLAG_TRAIL | FLAG_ABOVE))
        return err_set(err, ERR_FORMAT, "a tree of encoding %d, not %d",
                       d->version, VERSION);
    d->tree = tree_new(magic[3] & FLAG_OUTLINE);
    d->tree->has_aliases = magic[3] & FLAG_ALIASES;
    d->tree->page.trail = magic[3] & FLAG_TRAIL;
    d->named = magic[3] & FLAG_ABOVE;
    return 0;
}

int tree_decode_within(const void *bytes, size_t size,
                       const struct tree_limits *limits, struct tree **ret_tree,
                       struct err *err)
{
    struct decoding d = {.in = reader_of(bytes, size), .left = *limits};
    int code = begin(&d, err);
    if (code)
        return code;
    code = decode(&d, err);
    if (code)
        tree_free(d.tree);
    else
        *ret_tree = d.tree;
    return code;
}

int tree_decode_part(struct slice head, struct slice nodes, uint64_t before,
                     struct tree **ret_tree, struct err *err)
{
    struct decoding d = {.in = reader_of(head.data, head.size),
                         .left = {SIZE_MAX, SIZE_MAX},
                         .last = before};
    int code = begin(&d, err);
    if (code)
        return code;
    take_head(&d);
    read_varint(&d.in); /* how many nodes the whole tree has */
    bool whole = !d.in.failed && d.in.at == d.in.size;
    d.in = reader_of(nodes.data, nodes.size);
    d.part = true;
    while (whole && !d.in.failed && d.in.at < d.in.size)
        take_node(&d);
    if (whole && !d.in.failed)
        code = tree_seal(d.tree, err);
    else
        code = err_set(err, ERR_FORMAT, "a damaged part of a tree");
    if (code)
        tree_free(d.tree);
    else
        *ret_tree = d.tree;
    return code;
}

int tree_decode(const void *bytes, size_t size, struct tree **ret_tree,
                struct err *err)
{
    static const struct tree_limits none = {SIZE_MAX, SIZE_MAX};
    return tree_decode_within(bytes, size, &none, ret_tree, err);
}
