/* The encoding of a tree, version 1.  Varints, signed (zig-zag) varints and
 * strings are those of base/buf.h; a count comes before its items.
 *
 *   "LT"  version  flags          4 bytes; flags bit 0: outline
 *   files:   string path ...
 *   page:    varint role, string title, up, prev, next
 *   nodes, in pre-order:
 *     varint   distance to the parent (own index - parent's; 0: the root)
 *     varint   level
 *     string   title, string anchor
 *     anchors: string ...
 *     origins: varint file, signed from - previous to, varint to - from ...
 *     blocks:  varint kind, string text, string info, origin as above ...
 *     refs:    string text, string url ...
 *     outline: varint id, varint source tree + 1 (0: none), varint source
 *              node, varint words, 16 bytes own hash
 *
 * "Previous to" is the end of the span decoded last, so that spans, which
 * mostly follow one another, take few bytes.  Heights, ends and hashes of
 * content are computed again on decoding. */
#include <stdlib.h>

#include "tree/tree.h"

enum { VERSION = 1, FLAG_OUTLINE = 1 };

/* Bytes that the smallest of each takes, so that a count is believed only as
 * far as the input can hold it. */
enum { LEAST_NODE = 8, LEAST_ORIGIN = 3, LEAST_BLOCK = 6, LEAST_REF = 2 };

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
    buf_put_varint(out, (uint64_t)node->level);
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
}

void tree_encode(const struct tree *tree, struct buf *out)
{
    buf_put_text(out, "LT");
    buf_put_byte(out, VERSION);
    buf_put_byte(out, tree->outline ? FLAG_OUTLINE : 0);
    buf_put_varint(out, tree->file_count);
    for (uint32_t i = 0; i < tree->file_count; i++)
        buf_put_string(out, tree->files[i]);
    buf_put_varint(out, (uint64_t)tree->page.role);
    buf_put_string(out, tree->page.title);
    buf_put_string(out, tree->page.up);
    buf_put_string(out, tree->page.prev);
    buf_put_string(out, tree->page.next);
    buf_put_varint(out, tree->count);
    uint64_t last = 0;
    for (uint32_t i = 0; i < tree->count; i++)
        put_node(tree, i, out, &last);
}

/* ---- Decoding ---- */

static struct origin take_origin(struct tree *tree, struct reader *in,
                                 uint64_t *last)
{
    struct origin origin = {.file = read_u32(in)};
    origin.span.from = *last + (uint64_t)read_signed(in);
    uint64_t size = read_varint(in);
    origin.span.to = origin.span.from + size;
    if (origin.span.from > INT64_MAX || size > INT64_MAX ||
        origin.file >= tree->file_count)
        in->failed = true;
    *last = origin.span.to;
    return origin;
}

static void take_outline(struct tree *tree, uint32_t node, struct reader *in)
{
    struct node *n = &tree->nodes[node];
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
}

static void take_node(struct tree *tree, struct reader *in, uint64_t *last)
{
    uint32_t index = tree->count;
    uint32_t distance = read_u32(in);
    int level = (int)(read_varint(in) & 7);
    struct slice title = read_string(in), anchor = read_string(in);
    if (distance > index || (distance == 0) != (index == 0))
        in->failed = true;
    if (in->failed)
        return;
    uint32_t parent = distance ? index - distance : (uint32_t)TREE_NONE;
    tree_add_node(tree, parent, level, title, anchor);
    for (size_t n = read_count(in, 1); n > 0 && !in->failed; n--)
        tree_add_anchor(tree, index, read_string(in));
    for (size_t n = read_count(in, LEAST_ORIGIN); n > 0 && !in->failed; n--)
        tree_add_origin(tree, index, take_origin(tree, in, last));
    for (size_t n = read_count(in, LEAST_BLOCK); n > 0 && !in->failed; n--) {
        uint64_t kind = read_varint(in);
        struct slice text = read_string(in), info = read_string(in);
        struct origin origin = take_origin(tree, in, last);
        if (kind >= BLOCK_KINDS)
            in->failed = true;
        else
            tree_add_block(tree, index, (int)kind, text, info, origin);
    }
    for (size_t n = read_count(in, LEAST_REF); n > 0 && !in->failed; n--) {
        struct slice text = read_string(in);
        tree_add_ref(tree, index, text, read_string(in));
    }
    if (tree->outline)
        take_outline(tree, index, in);
}

static void take_head(struct tree *tree, struct reader *in)
{
    for (size_t n = read_count(in, 1); n > 0 && !in->failed; n--)
        tree_add_file(tree, read_string(in));
    uint64_t role = read_varint(in);
    if (role > PAGE_SEARCH)
        in->failed = true;
    tree->page.role = (int)(role & 3);
    tree->page.title = tree_copy_text(tree, read_string(in));
    tree->page.up = tree_copy_text(tree, read_string(in));
    tree->page.prev = tree_copy_text(tree, read_string(in));
    tree->page.next = tree_copy_text(tree, read_string(in));
}

int tree_decode(const void *bytes, size_t size, struct tree **ret_tree,
                struct err *err)
{
    struct reader in = reader_of(bytes, size);
    const unsigned char *magic = read_bytes(&in, 4);
    if (!magic || magic[0] != 'L' || magic[1] != 'T')
        return err_set(err, ERR_FORMAT, "not an encoded tree");
    if (magic[2] != VERSION || magic[3] > FLAG_OUTLINE)
        return err_set(err, ERR_FORMAT, "a tree of encoding %d, not %d",
                       magic[2], VERSION);
    struct tree *tree = tree_new(magic[3] & FLAG_OUTLINE);
    take_head(tree, &in);
    uint64_t last = 0;
    for (size_t n = read_count(&in, LEAST_NODE); n > 0 && !in.failed; n--)
        take_node(tree, &in, &last);
    int code = 0;
    if (in.failed || in.at != in.size) {
        code = err_set(err, ERR_FORMAT, "a damaged tree at byte %zu", in.at);
        if (err)
            err->position = (int64_t)in.at;
    } else {
        code = tree_seal(tree, err);
    }
    if (code) {
        tree_free(tree);
        return code;
    }
    *ret_tree = tree;
    return 0;
}
