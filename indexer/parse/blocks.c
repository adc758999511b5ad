#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/walk.h"

enum { MOST_INDENT = 16, MOST_LOOKAHEAD = 8, MOST_SPAN = 1000 };

/* ---- Lists ---- */

static unsigned indent_of(unsigned depth)
{
    return 2 * (depth < MOST_INDENT ? depth : MOST_INDENT);
}

static unsigned first_ordinal(const xmlNode *list)
{
    if (dom_tag(list) != GUMBO_TAG_OL)
        return 0;
    const char *start = dom_attribute(list, "start");
    long value = start ? strtol(start, NULL, 10) : 1;
    return value > 0 && value < 1000000000 ? (unsigned)value : 1;
}

/* A list in an item goes on in the same block, one level deeper. */
static void nested_list(struct walk *w, const xmlNode *list)
{
    struct context outer = w->in;
    struct separator next = w->writer.next;
    uint64_t before = w->writer.written;
    w->in.depth++;
    w->in.ordinal = first_ordinal(list);
    writer_line(&w->writer, indent_of(w->in.depth), "");
    walk_children(w, list);
    w->in = outer;
    if (w->writer.written == before)
        w->writer.next = next;
    else
        writer_line(&w->writer, indent_of(outer.depth + 1), "");
}

static void list(struct walk *w, const xmlNode *list)
{
    if (w->in.kind == BLOCK_LIST)
        nested_list(w, list);
    else
        walk_within(w, list,
                    (struct context){.kind = BLOCK_LIST,
                                     .ordinal = first_ordinal(list)});
}

static bool item(struct walk *w, const xmlNode *item)
{
    if (w->in.kind != BLOCK_LIST)
        return false;
    char marker[16] = "- ";
    if (w->in.ordinal)
        snprintf(marker, sizeof marker, "%u. ", w->in.ordinal++);
    writer_line(&w->writer, indent_of(w->in.depth), marker);
    walk_children(w, item);
    writer_line(&w->writer, indent_of(w->in.depth), "");
    return true;
}

/* ---- Tables ---- */

/* The most cells with text that a row has; counts no further than two. */
static unsigned filled_cells(const xmlNode *table)
{
    unsigned most = 0, now = 0;
    bool skip = false;
    for (const xmlNode *at = dom_next(table, table, false); at;
         at = dom_next(at, table, skip)) {
        int tag = dom_tag(at);
        skip = tag == GUMBO_TAG_TD || tag == GUMBO_TAG_TH;
        if (tag == GUMBO_TAG_TR)
            now = 0;
        if (!skip || !dom_holds(at, DOM_HOLDS_TEXT) ||
            rules_of(at).part == PART_SKIP)
            continue;
        if (++now > most)
            most = now;
        if (most > 1)
            break;
    }
    return most;
}

/* A table that only puts things beside each other. */
static bool is_layout(const struct walk *w, const xmlNode *table)
{
    const char *role = dom_attribute(table, "role");
    if (role && (!strcmp(role, "presentation") || !strcmp(role, "none")))
        return true;
    if (dom_holds(table, DOM_HOLDS_TABLE) || w->in.kind == BLOCK_NOTE ||
        rules_has_class(table, "highlighttable") ||
        rules_has_class(table, "boxed"))
        return true;
    unsigned blocks = DOM_HOLDS_CODE | DOM_HOLDS_LIST | DOM_HOLDS_PARAGRAPH;
    if (!dom_holds(table, blocks))
        return false;
    return dom_holds(table, DOM_HOLDS_HEADING) || filled_cells(table) < 2;
}

/* Is it a row of <thead>, or one of <th> alone? */
static bool is_header(const xmlNode *row)
{
    unsigned headers = 0;
    if (dom_tag(row->parent) == GUMBO_TAG_THEAD)
        return true;
    for (const xmlNode *at = row->children; at; at = at->next) {
        if (dom_tag(at) == GUMBO_TAG_TD)
            return false;
        headers += dom_tag(at) == GUMBO_TAG_TH;
    }
    return headers > 0;
}

/* "head=2": the first two rows are headers; empty: none is. */
static struct slice headers_of(struct walk *w, const xmlNode *table)
{
    char info[24];
    unsigned rows = 0;
    for (const xmlNode *at = dom_next(table, table, false); at;
         at = dom_next(at, table, dom_tag(at) == GUMBO_TAG_TR)) {
        if (dom_tag(at) != GUMBO_TAG_TR)
            continue;
        if (!is_header(at))
            break;
        rows++;
    }
    if (!rows)
        return (struct slice){"", 0};
    int size = snprintf(info, sizeof info, "head=%u", rows);
    return (struct slice){arena_copy(&w->dom->arena, info, (size_t)size),
                          (size_t)size};
}

static bool table(struct walk *w, const xmlNode *table)
{
    if (walk_is_flat(w))
        return false;
    if (!is_layout(w, table)) {
        struct grid grid = {0};
        walk_within(w, table,
                    (struct context){.kind = BLOCK_TABLE,
                                     .grid = &grid,
                                     .info = headers_of(w, table)});
        return true;
    }
    struct context inner = {.kind = BLOCK_PARAGRAPH};
    if (w->in.kind == BLOCK_NOTE || w->in.kind == BLOCK_QUOTE)
        inner = w->in;
    walk_within(w, table, inner);
    return true;
}

static unsigned count_of(const xmlNode *cell, const char *name)
{
    const char *value = dom_attribute(cell, name);
    long count = value ? strtol(value, NULL, 10) : 1;
    return count < 1 ? 1 : count > MOST_SPAN ? MOST_SPAN : (unsigned)count;
}

static bool row(struct walk *w, const xmlNode *row)
{
    struct grid *grid = w->in.grid;
    if (w->in.kind != BLOCK_TABLE)
        return false;
    writer_line(&w->writer, 0, "");
    for (unsigned c = grid->column; c < GRID_MOST; c++)
        grid->spanned[c] -= grid->spanned[c] > 0;
    grid->column = grid->tabs = 0;
    walk_children(w, row);
    return true;
}

/* Passes the columns that cells of rows above cover. */
static void pass_spanned(struct grid *grid)
{
    while (grid->column < GRID_MOST && grid->spanned[grid->column]) {
        grid->spanned[grid->column]--;
        grid->column++;
    }
}

static bool cell(struct walk *w, const xmlNode *cell)
{
    struct grid *grid = w->in.grid;
    if (w->in.kind != BLOCK_TABLE)
        return false;
    pass_spanned(grid);
    w->writer.next.tabs += grid->column - grid->tabs;
    grid->tabs = grid->column;
    unsigned rows = count_of(cell, "rowspan"), i = count_of(cell, "colspan");
    for (; i > 0; i--, grid->column++)
        if (grid->column < GRID_MOST)
            grid->spanned[grid->column] = rows - 1;
    walk_children(w, cell);
    writer_space(&w->writer);
    return true;
}

/* ---- Definitions ---- */

/* Each group of terms and what they mean is a block. */
static bool term(struct walk *w, const xmlNode *term)
{
    if (w->in.kind != BLOCK_DEFINITION)
        return false;
    if (!w->in.termed) {
        walk_flush(w);
        w->writer.next = (struct separator){0};
    }
    w->writer.next.comma = w->in.termed;
    w->in.termed = true;
    w->in.meaning = false;
    walk_children(w, term);
    return true;
}

static bool meaning(struct walk *w, const xmlNode *meaning)
{
    if (w->in.kind != BLOCK_DEFINITION)
        return false;
    w->in.termed = false;
    w->in.meaning = true;
    writer_line(&w->writer, 2, "");
    walk_children(w, meaning);
    return true;
}

/* ---- Figures and mathematics ---- */

static void figure(struct walk *w, const xmlNode *figure)
{
    unsigned blocks =
        DOM_HOLDS_CODE | DOM_HOLDS_TABLE | DOM_HOLDS_LIST | DOM_HOLDS_HEADING;
    int kind = dom_holds(figure, blocks) ? BLOCK_PARAGRAPH : BLOCK_FIGURE;
    walk_within(w, figure, (struct context){.kind = kind});
}

static bool is_tex(const xmlNode *image, const char *text)
{
    return text[0] == '\\' || text[0] == '$' || rules_has_class(image, "math");
}

static void image(struct walk *w, const xmlNode *image)
{
    const char *text = dom_attribute(image, "alt");
    if (!text || !*text)
        return;
    struct span span = walk_tag_span(image);
    if (w->in.kind == BLOCK_FIGURE || w->in.kind == IN_TITLE) {
        walk_boundary(w);
        writer_literal(&w->writer, slice_of(text), span);
        walk_boundary(w);
    } else if (w->in.kind == BLOCK_MATH || is_tex(image, text)) {
        writer_literal(&w->writer, slice_of(text), span);
    } else if (!walk_is_flat(w) && !w->writer.open && !w->image.size &&
               !(w->in.kind == BLOCK_NOTE && rules_is_label(slice_of(text)))) {
        w->image = slice_of(text);
        w->image_span = span;
    }
}

/* Text in a drawing stands where it is drawn: no order, no lines. */
static void drawing_text(struct walk *w, const xmlNode *drawing)
{
    bool skip = false;
    for (const xmlNode *at = dom_next(drawing, drawing, false); at;
         at = dom_next(at, drawing, skip)) {
        skip = false;
        if (dom_is_element(at)) {
            const char *name = (const char *)at->name;
            skip = !strcmp(name, "title") || !strcmp(name, "desc") ||
                   !strcmp(name, "style") || !strcmp(name, "script") ||
                   !strcmp(name, "metadata");
            writer_space(&w->writer);
        } else {
            writer_text(&w->writer, dom_text(at));
        }
    }
}

static void drawing(struct walk *w, const xmlNode *drawing)
{
    if (!dom_holds(drawing, DOM_HOLDS_TEXT) || w->in.kind == IN_TITLE)
        return;
    if (walk_is_flat(w) || w->in.kind == BLOCK_FIGURE) {
        walk_boundary(w);
        drawing_text(w, drawing);
        walk_boundary(w);
        return;
    }
    walk_flush(w);
    struct context outer = w->in;
    struct separator next = w->writer.next;
    w->in = (struct context){.kind = BLOCK_FIGURE};
    w->writer.next = (struct separator){0};
    drawing_text(w, drawing);
    walk_flush(w);
    w->in = outer;
    w->writer.next = next;
}

/* The TeX source that a formula in MathML carries along, or NULL. */
static const xmlNode *tex_of(const xmlNode *formula)
{
    for (const xmlNode *at = dom_next(formula, formula, false); at;
         at = dom_next(at, formula, false)) {
        if (!dom_is_element(at) || strcmp((const char *)at->name, "annotation"))
            continue;
        const char *encoding = dom_attribute(at, "encoding");
        if (encoding && strstr(encoding, "tex"))
            return at;
    }
    return NULL;
}

static void mathml(struct walk *w, const xmlNode *formula)
{
    const xmlNode *tex = tex_of(formula);
    const char *display = dom_attribute(formula, "display");
    const xmlNode *source = tex ? tex : formula;
    if (display && !strcmp(display, "block") && !walk_is_flat(w))
        walk_within(w, source, (struct context){.kind = BLOCK_MATH});
    else
        walk_children(w, source);
}

static void tex_script(struct walk *w, const xmlNode *script)
{
    const char *type = dom_attribute(script, "type");
    if (strstr(type, "display") && !walk_is_flat(w))
        walk_within(w, script, (struct context){.kind = BLOCK_MATH});
    else
        walk_children(w, script);
}

/* Without white space beside it, a <br> ends the block: what a block reads
 * stands in the file, and there nothing is between the words. */
static void line_break(struct walk *w, const xmlNode *element)
{
    const xmlNode *top = (const xmlNode *)w->dom->doc;
    const xmlNode *next = dom_next(element, top, true);
    for (int i = 0; i < MOST_LOOKAHEAD && next && dom_is_element(next); i++)
        next = dom_next(next, top, false);
    struct slice text = {"", 0};
    if (next && !dom_is_element(next))
        text = dom_text(next)->text;
    bool space =
        w->writer.space || !text.size || text_space(text.data, text.size, 0);
    if (walk_is_prose(w) && !space)
        walk_flush(w);
    else
        writer_break(&w->writer);
}

/* ---- All of them ---- */

/* Blocks that have nothing of their own but their kind. */
static bool plain_block(struct walk *w, const xmlNode *element,
                        const struct rule *rule)
{
    struct context inner = {.kind = BLOCK_PARAGRAPH};
    switch (rule->part) {
    case PART_CODE:
        inner.kind = BLOCK_CODE;
        inner.info = rules_language(element);
        break;
    case PART_QUOTE: inner.kind = BLOCK_QUOTE; break;
    case PART_NOTE:
        inner.kind = BLOCK_NOTE;
        inner.info = slice_of(rule->info);
        break;
    case PART_MATH: inner.kind = BLOCK_MATH; break;
    default: return false;
    }
    if (walk_is_flat(w))
        return false;
    walk_within(w, element, inner);
    return true;
}

bool blocks_element(struct walk *w, const xmlNode *element,
                    const struct rule *rule)
{
    switch (rule->part) {
    case PART_LIST:
        if (walk_is_flat(w))
            return false;
        list(w, element);
        return true;
    case PART_ITEM: return item(w, element);
    case PART_TABLE: return table(w, element);
    case PART_ROW: return row(w, element);
    case PART_CELL: return cell(w, element);
    case PART_CAPTION:
        if (w->in.kind != BLOCK_TABLE)
            return false;
        walk_within(w, element, (struct context){.kind = BLOCK_PARAGRAPH});
        return true;
    case PART_TERMS:
        if (walk_is_flat(w))
            return false;
        if (!entries_list(w, element))
            walk_within(w, element, (struct context){.kind = BLOCK_DEFINITION});
        return true;
    case PART_TERM: return term(w, element);
    case PART_MEANING: return meaning(w, element);
    case PART_FIGURE:
        if (walk_is_flat(w) || w->in.kind == BLOCK_FIGURE)
            return false;
        figure(w, element);
        return true;
    case PART_IMAGE: image(w, element); return true;
    case PART_DRAWING: drawing(w, element); return true;
    case PART_MATHML: mathml(w, element); return true;
    case PART_TEX: tex_script(w, element); return true;
    case PART_BREAK: line_break(w, element); return true;
    default: return plain_block(w, element, rule);
    }
}
