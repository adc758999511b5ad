#include "indexer/parse/outline/outline.h"

#include <stdlib.h>

#include "base/text.h"

enum {
    MAX_SIGNATURE = 200,    /* bytes of an entry's title */
    MAX_COMPARED = 50000000 /* references, to find those to footnotes */
};

/* Appends a place to one of the arrays and yields it. */
#define APPEND(o, items, count, capacity)                                      \
    (MEM_RESERVE((o)->items, &(o)->capacity, (o)->count + 1),                  \
     &(o)->items[(o)->count++])

static struct slice keep(struct outline *o, struct slice text)
{
    if (!text.size)
        return (struct slice){"", 0};
    return (struct slice){arena_copy(&o->arena, text.data, text.size),
                          text.size};
}

void outline_init(struct outline *o)
{
    *o = (struct outline){0};
    outline_open(o, false, (struct slice){"", 0});
}

void outline_free(struct outline *o)
{
    arena_free(&o->arena);
    free(o->nodes);
    free(o->blocks);
    free(o->boilerplate);
    free(o->anchors);
    free(o->refs);
    free(o->origins);
    free(o->path);
    free(o->sections);
}

static uint32_t path_end(const struct outline *o)
{
    return o->path_count ? o->path[o->path_count - 1].node : TREE_NONE;
}

/* The node that content belongs to. */
static uint32_t current(const struct outline *o)
{
    return o->turned ? o->turned_to : path_end(o);
}

/* ---- Sections and headings ---- */

void outline_open(struct outline *o, bool strict, struct slice id)
{
    struct outline_section *section =
        APPEND(o, sections, section_count, section_capacity);
    *section = (struct outline_section){
        .base = o->path_count, .strict = strict, .id = id};
}

void outline_close(struct outline *o)
{
    const struct outline_section *section = &o->sections[--o->section_count];
    if (o->path_count > section->base)
        o->path_count = section->base;
}

/* Leaves the path where `least` of it or a heading above `level` is last. */
static void cut(struct outline *o, size_t min, int level)
{
    while (o->path_count > min && o->path[o->path_count - 1].level >= level)
        o->path_count--;
}

/* The way to the parent of a section's first heading. */
static void cut_to_outer(struct outline *o, int level)
{
    size_t outer = o->section_count - 1;
    while (outer > 0 && !o->sections[outer - 1].titled)
        outer--;
    if (!outer)
        return;
    const struct outline_section *section = &o->sections[outer - 1];
    bool all = section->strict && level < TREE_LEVEL_ENTRY;
    cut(o, section->place + 1, all ? 0 : level);
    if (!section->strict && o->path_count == section->place + 1)
        cut(o, section->place, level + 1);
}

static void cut_to_parent(struct outline *o, struct outline_section *section,
                          int level)
{
    if (section->titled)
        cut(o, section->place + (section->strict ? 1 : 0), level);
    else if (o->section_count > 1)
        cut_to_outer(o, level);
    if (!section->titled || o->path_count < section->place)
        section->place = o->path_count;
    section->titled = true;
    if (o->path_count < section->base)
        section->base = o->path_count;
}

/* Anchors since the last text move to the heading `node`; returns the one
 * nearest to it. */
static struct slice claim_anchors(struct outline *o, uint32_t node)
{
    struct slice nearest = {"", 0};
    for (size_t i = o->fresh; i < o->anchor_count; i++) {
        o->anchors[i].node = node;
        nearest = o->anchors[i].name;
    }
    o->fresh = o->anchor_count;
    return nearest;
}

struct slice outline_newest_anchor(const struct outline *o)
{
    return o->anchor_count > o->fresh ? o->anchors[o->anchor_count - 1].name
                                      : (struct slice){"", 0};
}

static void add_origin(struct outline *o, uint32_t node, struct span span)
{
    struct outline_origin *last =
        o->origin_count ? &o->origins[o->origin_count - 1] : NULL;
    if (last && last->node == node && last->file == o->file) {
        if (span.from < last->span.from)
            last->span.from = span.from;
        if (span.to > last->span.to)
            last->span.to = span.to;
        return;
    }
    struct outline_origin *origin =
        APPEND(o, origins, origin_count, origin_capacity);
    *origin = (struct outline_origin){node, span, o->file};
}

/* Adds a node at the end of the path. */
static void descend(struct outline *o, struct outline_node node,
                    struct slice own_id, size_t first_ref)
{
    uint32_t index = (uint32_t)o->count;
    struct slice nearest = claim_anchors(o, index);
    node.parent = path_end(o);
    node.file = o->file;
    if (!node.anchor.size)
        node.anchor = own_id.size ? own_id : nearest;
    *APPEND(o, nodes, count, capacity) = node;
    for (size_t i = first_ref; i < o->ref_count; i++)
        o->refs[i].node = index;
    for (size_t i = o->dropped_count;
         i > 0 && o->boilerplate[i - 1].span.from >= node.span.from; i--)
        o->boilerplate[i - 1].node = index;
    struct outline_step *step = APPEND(o, path, path_count, path_capacity);
    *step = (struct outline_step){index,
                                  node.entry ? TREE_LEVEL_ENTRY : node.level};
    add_origin(o, index, node.span);
}

/* The beginning of a signature, at most MAX_SIGNATURE bytes of whole words. */
static struct slice shorten(struct slice text)
{
    if (text.size <= MAX_SIGNATURE)
        return text;
    size_t size = MAX_SIGNATURE;
    while (size && text.data[size] != ' ')
        size--;
    if (!size)
        size = MAX_SIGNATURE;
    while (size && (text.data[size] & 0xC0) == 0x80)
        size--;
    return (struct slice){text.data, size};
}

bool outline_heading(struct outline *o, int level, bool entry,
                     struct slice title, struct slice own_id, struct span span,
                     size_t first_ref)
{
    struct outline_section *section = &o->sections[o->section_count - 1];
    struct slice id = section->titled ? (struct slice){"", 0} : section->id;
    struct slice name = entry ? shorten(title) : title;
    cut_to_parent(o, section, entry ? TREE_LEVEL_ENTRY : level);
    descend(o,
            (struct outline_node){.level = level,
                                  .entry = entry,
                                  .title = keep(o, name),
                                  .anchor = id,
                                  .span = span},
            own_id, first_ref);
    return name.size == title.size;
}

static size_t letters_in(struct slice text)
{
    size_t letters = 0;
    for (size_t at = 0, step; at < text.size; at += step)
        letters += text_is_letter(text_decode(text.data, text.size, at, &step));
    return letters;
}

struct slice outline_title(const struct outline *o)
{
    return o->path_count ? o->nodes[o->path[o->path_count - 1].node].title
                         : (struct slice){"", 0};
}

bool outline_is_links(const struct outline *o, size_t ref_count, bool *ret_any)
{
    size_t text = 0, linked = 0;
    uint32_t node = path_end(o);
    for (size_t i = o->block_count; i && o->blocks[i - 1].node == node; i--)
        text += letters_in(o->blocks[i - 1].text);
    for (size_t i = ref_count; i && o->refs[i - 1].node == node; i--)
        linked += letters_in(o->refs[i - 1].text);
    *ret_any = linked > 0;
    return text <= linked;
}

void outline_leave(struct outline *o)
{
    o->path_count--;
}

bool outline_is_titled(const struct outline *o)
{
    return o->sections[o->section_count - 1].titled;
}

bool outline_entry(struct outline *o, struct slice signature,
                   struct slice own_id, struct span span, size_t first_ref)
{
    struct outline_section *section = &o->sections[o->section_count - 1];
    struct slice title = shorten(signature);
    section->place = o->path_count;
    section->titled = true;
    descend(o,
            (struct outline_node){.level = TREE_LEVEL_ENTRY,
                                  .entry = true,
                                  .title = keep(o, title),
                                  .anchor = section->id,
                                  .span = span},
            own_id, first_ref);
    return title.size == signature.size;
}

void outline_settle(struct outline *o)
{
    o->fresh = o->anchor_count;
}

void outline_block(struct outline *o, int kind, struct slice text,
                   struct slice info, struct span span)
{
    struct outline_block *block =
        APPEND(o, blocks, block_count, block_capacity);
    *block = (struct outline_block){current(o), kind, keep(o, text),
                                    info,       span, o->file};
    add_origin(o, block->node, span);
    o->fresh = o->anchor_count;
}

void outline_put_block(struct outline *o, const struct outline_block *block,
                       uint32_t node)
{
    struct outline_block *kept = APPEND(o, blocks, block_count, block_capacity);
    *kept = *block;
    kept->node = node;
    add_origin(o, node, kept->span);
}

void outline_boilerplate(struct outline *o, struct slice text, const char *why,
                         struct span span)
{
    struct outline_block *boilerplate =
        APPEND(o, boilerplate, dropped_count, dropped_capacity);
    *boilerplate = (struct outline_block){current(o),    BLOCK_PARAGRAPH,
                                          keep(o, text), slice_of(why),
                                          span,          o->file};
}

void outline_drop_content(struct outline *o, const char *why)
{
    for (size_t i = 0; i < o->block_count; i++) {
        struct outline_block *boilerplate =
            APPEND(o, boilerplate, dropped_count, dropped_capacity);
        *boilerplate = o->blocks[i];
        boilerplate->info = slice_of(why);
    }
}

void outline_anchor(struct outline *o, struct slice name)
{
    if (!name.size)
        return;
    struct outline_anchor *anchor =
        APPEND(o, anchors, anchor_count, anchor_capacity);
    *anchor = (struct outline_anchor){current(o), name};
}

void outline_ref(struct outline *o, struct slice text, struct slice url)
{
    struct outline_ref *ref = APPEND(o, refs, ref_count, ref_capacity);
    *ref = (struct outline_ref){current(o), keep(o, text), url};
}

/* ---- Notes that stand elsewhere ---- */

static bool leads_to(struct slice url, struct slice name)
{
    return url.size == name.size + 1 && url.data[0] == '#' &&
           !memcmp(url.data + 1, name.data, name.size);
}

bool outline_turn(struct outline *o, struct slice name)
{
    for (size_t i = 0; i < o->ref_count && o->compared < MAX_COMPARED; i++) {
        o->compared++;
        if (!leads_to(o->refs[i].url, name))
            continue;
        o->turned = true;
        o->turned_to = o->refs[i].node;
        return true;
    }
    return false;
}

void outline_return(struct outline *o)
{
    o->turned = false;
}

/* ---- To a tree ---- */

bool outline_same_title(struct slice a, struct slice b)
{
    struct buf left = {0}, right = {0};
    text_fold_compare(&left, a);
    text_fold_compare(&right, b);
    bool same = left.size && slice_equal(buf_slice(&left), buf_slice(&right));
    buf_free(&left);
    buf_free(&right);
    return same;
}

enum { MAX_PAGE_TITLE = 500 }; /* bytes, that are looked through */

/* Is the page's title the heading, and what the manual is called behind or before it: "Use —
 * Tool 1.0 documentation", "Tool 1.0: Use"? */
static bool is_called(struct slice page_title, struct slice heading)
{
    static const struct {
        const char *sign;
        bool before; /* the manual's name comes first */
    } between[] = {{" — ", false}, {" – ", false}, {" - ", false},
                   {" | ", false}, {" · ", false}, {" :: ", false},
                   {": ", true}};
    if (outline_same_title(heading, page_title))
        return true;
    if (page_title.size > MAX_PAGE_TITLE)
        return false;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        size_t size = strlen(between[i].sign);
        const char *start = page_title.data, *end = start + page_title.size;
        const char *at = start;
        while ((at = memmem(at, (size_t)(end - at), between[i].sign, size))) {
            struct slice before = {start, (size_t)(at - start)};
            at += size;
            struct slice behind = {at, (size_t)(end - at)};
            if (outline_same_title(heading,
                                   between[i].before ? behind : before))
                return true;
        }
    }
    return false;
}

/* Does the page's title stand above the first heading, which is the first of several by
 * its number, as a line of its own? */
static bool is_above(const struct outline *o, struct slice page_title)
{
    struct slice heading = o->nodes[0].title;
    if (!heading.size || heading.data[0] < '0' || heading.data[0] > '9')
        return false;
    for (size_t i = 0; i < o->block_count && o->blocks[i].node == TREE_NONE;
         i++)
        if (o->blocks[i].kind == BLOCK_PARAGRAPH &&
            outline_same_title(o->blocks[i].text, page_title))
            return true;
    return false;
}

/* Is the first heading the page's own? */
static bool heads_page(const struct outline *o, struct slice page_title)
{
    if (!o->count || o->nodes[0].entry || o->titled)
        return false;
    if (is_called(page_title, o->nodes[0].title))
        return true;
    if (is_above(o, page_title))
        return false;
    size_t tops = 0;
    for (size_t i = 0; i < o->count; i++)
        tops += o->nodes[i].parent == TREE_NONE &&
                o->nodes[i].level <= o->nodes[0].level;
    return tops == 1;
}

struct emission {
    struct tree *tree;
    uint32_t shift; /* from a node of the outline to one of the tree */
};

static uint32_t place_of(const struct emission *e, uint32_t node)
{
    return node == TREE_NONE ? 0 : node + e->shift;
}

static void emit_nodes(const struct outline *o, const struct emission *e,
                       struct slice page_title)
{
    if (e->shift || !o->count)
        tree_add_node(e->tree, TREE_NONE, 0, page_title, (struct slice){"", 0});
    for (size_t i = 0; i < o->count; i++) {
        const struct outline_node *node = &o->nodes[i];
        uint32_t parent = place_of(e, node->parent);
        if (!e->shift && !i)
            parent = TREE_NONE;
        uint32_t index = tree_add_node(e->tree, parent, node->level,
                                       node->title, node->anchor);
        e->tree->nodes[index].entry = node->entry;
    }
}

static void emit_origin(const struct emission *e, uint32_t node, uint32_t file,
                        struct span span)
{
    tree_add_origin(e->tree, node, (struct origin){file, span});
}

/* A node's first origin is where its title stands. */
static void emit_origins(const struct outline *o, const struct emission *e,
                         struct span page_span)
{
    bool page = e->shift || !o->count;
    if (page)
        emit_origin(e, 0, o->file, page_span);
    for (size_t i = 0; i < o->origin_count; i++)
        if (page || o->origins[i].node != TREE_NONE)
            emit_origin(e, place_of(e, o->origins[i].node), o->origins[i].file,
                        o->origins[i].span);
    for (size_t i = 0; !page && i < o->origin_count; i++)
        if (o->origins[i].node == TREE_NONE)
            emit_origin(e, 0, o->origins[i].file, o->origins[i].span);
}

static void emit_blocks(const struct emission *e,
                        const struct outline_block *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct outline_block *b = &blocks[i];
        tree_add_block(e->tree, place_of(e, b->node), b->kind, b->text, b->info,
                       (struct origin){b->file, b->span});
    }
}

static void emit_content(const struct outline *o, const struct emission *e)
{
    emit_blocks(e, o->blocks, o->block_count);
    for (size_t i = 0; i < o->ref_count; i++)
        tree_add_ref(e->tree, place_of(e, o->refs[i].node), o->refs[i].text,
                     o->refs[i].url);
}

void outline_emit(const struct outline *o, struct slice page_title,
                  struct span page_span, enum outline_part part,
                  struct tree *tree)
{
    struct emission e = {tree, heads_page(o, page_title) ? 0 : 1};
    tree_add_file(tree, (struct slice){"", 0});
    emit_nodes(o, &e, page_title);
    emit_origins(o, &e, page_span);
    if (part == OUTLINE_CONTENT)
        emit_content(o, &e);
    else if (part == OUTLINE_BOILERPLATE)
        emit_blocks(&e, o->boilerplate, o->dropped_count);
    for (size_t i = 0; i < o->anchor_count; i++) {
        const struct outline_anchor *anchor = &o->anchors[i];
        uint32_t node = place_of(&e, anchor->node);
        bool own = anchor->node != TREE_NONE &&
                   slice_equal(o->nodes[anchor->node].anchor, anchor->name);
        if (!own)
            tree_add_anchor(tree, node, anchor->name);
    }
}
