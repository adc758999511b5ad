/* What was read is taken out of the outline, and put in elsewhere. */
#include <stdlib.h>

#include "indexer/parse/outline/outline.h"

/* Nodes are told from the piece's first on; OUTSIDE: the one that was being read. */
enum { OUTSIDE = UINT32_MAX };

struct outline_piece {
    unsigned holders;
    size_t bytes;
    struct outline_node *nodes;
    struct outline_block *blocks;
    struct outline_anchor *anchors;
    struct outline_ref *refs;
    size_t count, block_count, anchor_count, ref_count;
};

void outline_mark(const struct outline *o, struct outline_mark *ret)
{
    *ret = (struct outline_mark){.nodes = o->count,
                                 .blocks = o->block_count,
                                 .anchors = o->anchor_count,
                                 .refs = o->ref_count,
                                 .origins = o->origin_count,
                                 .path_count = o->path_count};
    size_t size = o->path_count * sizeof *o->path;
    ret->path = mem_alloc(size + 1);
    if (size)
        memcpy(ret->path, o->path, size);
}

void outline_unmark(struct outline_mark *mark)
{
    free(mark->path);
    mark->path = NULL;
}

static void *tail(const void *items, size_t from, size_t to, size_t size)
{
    void *kept = mem_alloc((to - from) * size + 1);
    if (to > from)
        memcpy(kept, (const char *)items + from * size, (to - from) * size);
    return kept;
}

static uint32_t relative(uint32_t node, size_t first)
{
    return node == TREE_NONE || node < first ? OUTSIDE : node - (uint32_t)first;
}

static void restore_path(struct outline *o, const struct outline_mark *mark)
{
    o->path_count = 0;
    MEM_RESERVE(o->path, &o->path_capacity, mark->path_count);
    if (mark->path_count)
        memcpy(o->path, mark->path, mark->path_count * sizeof *o->path);
    o->path_count = mark->path_count;
}

static bool is_left(const struct outline *o, uint32_t node)
{
    return node == TREE_NONE || node < o->count;
}

/* Those of nodes that are gone. */
static void drop_origins(struct outline *o, const struct outline_mark *mark)
{
    size_t kept = mark->origins;
    for (size_t i = mark->origins; i < o->origin_count; i++)
        if (is_left(o, o->origins[i].node))
            o->origins[kept++] = o->origins[i];
    o->origin_count = kept;
    for (size_t i = 0; i < o->dropped_count; i++)
        if (!is_left(o, o->boilerplate[i].node))
            o->boilerplate[i].node = TREE_NONE;
}

struct outline_piece *outline_take(struct outline *o, struct outline_mark *mark)
{
    struct outline_piece *p = mem_alloc(sizeof *p);
    *p = (struct outline_piece){
        .holders = 1,
        .nodes = tail(o->nodes, mark->nodes, o->count, sizeof *o->nodes),
        .blocks =
            tail(o->blocks, mark->blocks, o->block_count, sizeof *o->blocks),
        .anchors = tail(o->anchors, mark->anchors, o->anchor_count,
                        sizeof *o->anchors),
        .refs = tail(o->refs, mark->refs, o->ref_count, sizeof *o->refs),
        .count = o->count - mark->nodes,
        .block_count = o->block_count - mark->blocks,
        .anchor_count = o->anchor_count - mark->anchors,
        .ref_count = o->ref_count - mark->refs};
    for (size_t i = 0; i < p->block_count; i++) {
        p->bytes += p->blocks[i].text.size;
        p->blocks[i].node = relative(p->blocks[i].node, mark->nodes);
    }
    for (size_t i = 0; i < p->anchor_count; i++)
        p->anchors[i].node = relative(p->anchors[i].node, mark->nodes);
    for (size_t i = 0; i < p->ref_count; i++)
        p->refs[i].node = relative(p->refs[i].node, mark->nodes);
    o->count = mark->nodes;
    o->block_count = mark->blocks;
    o->anchor_count = o->fresh = mark->anchors;
    o->ref_count = mark->refs;
    drop_origins(o, mark);
    restore_path(o, mark);
    outline_unmark(mark);
    return p;
}

/* Where the nodes of a piece are now. */
struct places {
    uint32_t outside;
    uint32_t *nodes; /* [count] */
};

static uint32_t place_of(const struct places *places, uint32_t node)
{
    return node == OUTSIDE ? places->outside : places->nodes[node];
}

static void put_node(struct outline *o, const struct outline_node *node,
                     struct places *places, size_t number)
{
    size_t none = o->ref_count;
    o->file = node->file;
    outline_settle(o);
    outline_heading(o, node->level, node->entry, node->title, node->anchor,
                    node->span, none);
    places->nodes[number] = (uint32_t)o->count - 1;
}

void outline_put(struct outline *o, const struct outline_piece *p)
{
    struct places places = {
        .outside = o->path_count ? o->path[o->path_count - 1].node : TREE_NONE,
        .nodes = mem_alloc((p->count + 1) * sizeof *places.nodes)};
    size_t number = 0;
    for (size_t i = 0; i < p->block_count; i++) {
        const struct outline_block *block = &p->blocks[i];
        while (block->node != OUTSIDE && number <= block->node) {
            put_node(o, &p->nodes[number], &places, number);
            number++;
        }
        o->file = block->file;
        outline_put_block(o, block, place_of(&places, block->node));
    }
    for (; number < p->count; number++)
        put_node(o, &p->nodes[number], &places, number);
    for (size_t i = 0; i < p->anchor_count; i++) {
        MEM_RESERVE(o->anchors, &o->anchor_capacity, o->anchor_count + 1);
        o->anchors[o->anchor_count++] = (struct outline_anchor){
            place_of(&places, p->anchors[i].node), p->anchors[i].name};
    }
    for (size_t i = 0; i < p->ref_count; i++) {
        MEM_RESERVE(o->refs, &o->ref_capacity, o->ref_count + 1);
        o->refs[o->ref_count] = p->refs[i];
        o->refs[o->ref_count++].node = place_of(&places, p->refs[i].node);
    }
    outline_settle(o);
    free(places.nodes);
}

void outline_put_text(const struct outline_piece *p, struct buf *ret)
{
    for (size_t i = 0; i < p->block_count; i++) {
        if (ret->size)
            buf_put_byte(ret, ' ');
        buf_put_slice(ret, p->blocks[i].text);
    }
}

bool outline_is_paragraph(const struct outline_piece *p)
{
    return !p->count && p->block_count == 1 &&
           p->blocks[0].kind == BLOCK_PARAGRAPH;
}

size_t outline_piece_cost(const struct outline_piece *p)
{
    return p->count + p->block_count + p->anchor_count + p->ref_count +
           p->bytes / 16;
}

struct outline_piece *outline_hold(struct outline_piece *p)
{
    p->holders++;
    return p;
}

void outline_drop(struct outline_piece *p)
{
    if (!p || --p->holders)
        return;
    free(p->nodes);
    free(p->blocks);
    free(p->anchors);
    free(p->refs);
    free(p);
}
