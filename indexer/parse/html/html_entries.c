/* Reference entries while the page is walked: a list of terms of which each
 * is a node of its own, boxes that hold an entry whole, and labels above one. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/reference.h"
#include "indexer/parse/html/html_internal.h"

/* The entry whose terms are being read. */
struct entry {
    struct walk *walk;
    struct buf signature; /* all its terms */
    struct slice id;      /* of the first that has one */
    struct span span;
    size_t first_ref;
    size_t blocks; /* of the page when the entry began */
    bool open, begun, whole;
};

static void open_entry(struct entry *e)
{
    walk_flush(e->walk);
    outline_open(e->walk->outline, true, (struct slice){"", 0});
    buf_clear(&e->signature);
    e->id = (struct slice){"", 0};
    e->first_ref = e->walk->outline->ref_count;
    e->open = true;
    e->begun = false;
}

static void take_id(struct entry *e, const char *id)
{
    if (id && !e->id.size)
        e->id = slice_of(id);
}

/* What it reads goes to the signature. */
static void add_name(struct entry *e, const xmlNode *element)
{
    struct slice title;
    struct span span;
    take_id(e, dom_attribute(element, "id"));
    if (!walk_title(e->walk, element, &title, &span))
        return;
    /* Texinfo's category, where there is none. */
    if (title.size > 2 && !memcmp(title.data, ": ", 2))
        title = (struct slice){title.data + 2, title.size - 2};
    if (!e->signature.size)
        e->span = span;
    else
        buf_put_text(&e->signature, ", ");
    if (span.from < e->span.from)
        e->span.from = span.from;
    if (span.to > e->span.to)
        e->span.to = span.to;
    buf_put_slice(&e->signature, title);
}

/* A name that does not fit into a title whole stands in the entry, too. */
static void keep_long_name(struct entry *e)
{
    if (!e->whole)
        outline_block(e->walk->outline, BLOCK_DEFINITION,
                      buf_slice(&e->signature), (struct slice){"", 0}, e->span);
}

/* The terms are all there. */
static void begin_entry(struct entry *e)
{
    if (e->begun || !e->signature.size)
        return;
    e->begun = true;
    e->whole = outline_entry(e->walk->outline, buf_slice(&e->signature), e->id,
                             e->span, e->first_ref);
    e->blocks = e->walk->outline->block_count;
    keep_long_name(e);
}

/* An entry without words about it is found by its signature. */
static void close_entry(struct entry *e)
{
    if (!e->open)
        return;
    begin_entry(e);
    walk_flush(e->walk);
    if (e->begun && e->blocks == e->walk->outline->block_count)
        outline_block(e->walk->outline, BLOCK_DEFINITION,
                      buf_slice(&e->signature), (struct slice){"", 0}, e->span);
    outline_close(e->walk->outline);
    e->open = false;
}

static void read_body(struct entry *e, const xmlNode *element)
{
    begin_entry(e);
    e->walk->entries++;
    walk_within(e->walk, element, (struct context){.kind = BLOCK_PARAGRAPH});
    e->walk->entries--;
}

/* What stands between terms and meanings belongs to the entry above it. */
static void read_stray(struct entry *e, const xmlNode *node)
{
    if (e->open)
        begin_entry(e);
    walk_node(e->walk, node);
}

static void next_entry(struct entry *e)
{
    if (e->begun)
        close_entry(e);
    if (!e->open)
        open_entry(e);
}

static void read_part(struct entry *e, const xmlNode *part)
{
    if (reference_is_anchor_of_next(part)) {
        next_entry(e);
        walk_anchors(e->walk, part);
        take_id(e, dom_attribute(part, "id"));
        take_id(e, dom_attribute(part, "name"));
        return;
    }
    switch (dom_tag(part)) {
    case GUMBO_TAG_DT:
        if (!reference_is_nameless(part))
            next_entry(e);
        walk_anchors(e->walk, part);
        add_name(e, part);
        break;
    case GUMBO_TAG_DD:
        walk_anchors(e->walk, part);
        if (!reference_goes_on(part))
            read_body(e, part);
        break;
    case GUMBO_TAG_LAST:
        if (text_is_blank(dom_text(part)->text))
            break;
        /* fall through */
    default: read_stray(e, part);
    }
}

/* In an item of a list only what a tool documents by name and says where. */
static bool may_hold_entries(const struct walk *w, const xmlNode *list)
{
    return w->in.kind == BLOCK_PARAGRAPH ||
           (w->in.kind == BLOCK_LIST && reference_is_anchored(list));
}

bool entries_list(struct walk *w, const xmlNode *list)
{
    if (!may_hold_entries(w, list) || !reference_is_list(list, w->entries > 0))
        return false;
    struct entry entry = {.walk = w};
    walk_flush(w);
    if (!reference_is_signatures(list))
        outline_settle(w->outline);
    for (const xmlNode *part = list->children; part; part = part->next) {
        if (dom_tag(part) != GUMBO_TAG_DIV) {
            read_part(&entry, part);
            continue;
        }
        walk_anchors(w, part);
        for (const xmlNode *at = part->children; at; at = at->next)
            read_part(&entry, at);
    }
    close_entry(&entry);
    buf_free(&entry.signature);
    return true;
}

/* A row that is no entry, as that of the headers, belongs to what is around. */
static void read_row(struct entry *e, const xmlNode *row)
{
    const xmlNode *name, *meaning;
    struct grid grid = {0};
    if (!reference_row(row, &name, &meaning)) {
        walk_within(e->walk, row,
                    (struct context){.kind = BLOCK_TABLE, .grid = &grid});
        return;
    }
    open_entry(e);
    walk_anchors(e->walk, row);
    walk_anchors(e->walk, name);
    take_id(e, dom_attribute(row, "id"));
    add_name(e, name);
    for (const xmlNode *at = name->next; at != meaning; at = at->next)
        if (dom_is_cell(at))
            read_body(e, at);
    walk_anchors(e->walk, meaning);
    read_body(e, meaning);
    close_entry(e);
}

bool entries_table(struct walk *w, const xmlNode *table)
{
    if ((w->in.kind != BLOCK_PARAGRAPH && w->in.kind != BLOCK_QUOTE) ||
        !reference_is_table(table))
        return false;
    struct entry entry = {.walk = w};
    walk_flush(w);
    outline_settle(w->outline);
    for (const xmlNode *at = dom_next(table, table, false); at;
         at = dom_next(at, table, dom_tag(at) == GUMBO_TAG_TR)) {
        if (dom_tag(at) == GUMBO_TAG_TR)
            read_row(&entry, at);
        else if (dom_tag(at) == GUMBO_TAG_CAPTION)
            walk_node(w, at);
    }
    buf_free(&entry.signature);
    return true;
}

/* What names an item is read once more with all of it. */
static void read_item(struct entry *e, const xmlNode *item)
{
    const xmlNode *anchor, *name = reference_item(item, &anchor);
    if (!name) {
        walk_within(e->walk, item, (struct context){.kind = BLOCK_PARAGRAPH});
        return;
    }
    open_entry(e);
    walk_anchors(e->walk, item);
    take_id(e, dom_attribute(anchor, "id"));
    take_id(e, dom_attribute(anchor, "name"));
    add_name(e, name);
    read_body(e, item);
    close_entry(e);
}

bool entries_items(struct walk *w, const xmlNode *list)
{
    if (w->in.kind != BLOCK_PARAGRAPH || !reference_is_items(list))
        return false;
    struct entry entry = {.walk = w};
    walk_flush(w);
    outline_settle(w->outline);
    for (const xmlNode *at = list->children; at; at = at->next) {
        if (dom_tag(at) == GUMBO_TAG_LI)
            read_item(&entry, at);
        else
            walk_node(w, at);
    }
    buf_free(&entry.signature);
    return true;
}

bool entries_box(struct walk *w, const xmlNode *box)
{
    const xmlNode *name = NULL;
    if (w->in.kind == BLOCK_PARAGRAPH)
        name = reference_name_in(box);
    if (!name)
        return false;
    struct entry entry = {.walk = w};
    open_entry(&entry);
    for (const xmlNode *part = box->children; part; part = part->next) {
        if (part == name) {
            walk_anchors(w, part);
            add_name(&entry, part);
            begin_entry(&entry);
        } else {
            w->entries++;
            walk_node(w, part);
            w->entries--;
        }
    }
    close_entry(&entry);
    buf_free(&entry.signature);
    return true;
}

void entries_named(struct walk *w, const xmlNode *name, const xmlNode *cell,
                   const xmlNode *from, const xmlNode *end)
{
    struct entry entry = {.walk = w};
    open_entry(&entry);
    walk_anchors(w, name);
    add_name(&entry, name);
    begin_entry(&entry);
    w->entries++;
    if (cell)
        walk_children(w, cell);
    for (const xmlNode *at = from; at && at != end; at = at->next)
        walk_node(w, at);
    w->entries--;
    close_entry(&entry);
    buf_free(&entry.signature);
}

bool entries_label(struct walk *w, const xmlNode *element)
{
    if (w->in.kind != BLOCK_PARAGRAPH || !labels_has(&w->labels, element))
        return false;
    struct entry entry = {.walk = w, .first_ref = w->outline->ref_count};
    const xmlNode *label = element, *next;
    add_name(&entry, label);
    if (!entry.id.size)
        entry.id = outline_newest_anchor(w->outline);
    while ((next = labels_next(&w->labels, label))) {
        for (label = label->next; label != next; label = label->next)
            walk_node(w, label);
        walk_anchors(w, label);
        add_name(&entry, label);
    }
    w->read = label != element ? label : NULL;
    entry.whole = outline_heading(w->outline, TREE_LEVEL_ENTRY, true,
                                  buf_slice(&entry.signature), entry.id,
                                  entry.span, entry.first_ref);
    keep_long_name(&entry);
    buf_free(&entry.signature);
    return true;
}
