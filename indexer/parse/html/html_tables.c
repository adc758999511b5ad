#include <stdlib.h>

#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/html_internal.h"
#include "indexer/parse/html/reference.h"

enum {
    MAX_SPAN = 1000,
    MAX_TERM = 12 /* words of a first cell, on average: of more it is a text */
};

/* The most cells with text that a row has; counts no further than `limit`. */
static unsigned filled_cells(const xmlNode *table, unsigned limit)
{
    unsigned max = 0, now = 0;
    bool skip = false;
    for (const xmlNode *at = dom_next(table, table, false); at;
         at = dom_next(at, table, skip)) {
        skip = dom_is_cell(at);
        if (dom_tag(at) == GUMBO_TAG_TR)
            now = 0;
        if (!skip || !dom_holds(at, DOM_HOLDS_TEXT) ||
            rules_of(at).part == PART_SKIP)
            continue;
        if (++now > max)
            max = now;
        if (max >= limit)
            break;
    }
    return max;
}

/* Is its first row of three headers or more, and nothing else? */
static bool is_headed(const xmlNode *table)
{
    enum { MIN_HEADERS = 3 };
    const xmlNode *row = dom_find(table, GUMBO_TAG_TR);
    unsigned headers = 0;
    for (const xmlNode *at = row ? row->children : NULL; at; at = at->next) {
        if (dom_tag(at) == GUMBO_TAG_TD || dom_holds(at, DOM_HOLDS_TABLE))
            return false;
        headers += dom_tag(at) == GUMBO_TAG_TH && dom_holds(at, DOM_HOLDS_TEXT);
    }
    return headers >= MIN_HEADERS;
}

/* Has one of its rows two cells with text, not all headers?  Where all of a page is in a
 * table, its text is in one. */
static bool has_rows(const xmlNode *table)
{
    unsigned filled = 0, headers = 0;
    bool cell = false;
    for (const xmlNode *at = dom_next(table, table, false);
         at && (filled < 2 || headers == filled);
         at = dom_next(at, table, cell)) {
        cell = dom_is_cell(at);
        if (dom_tag(at) == GUMBO_TAG_TR)
            filled = headers = 0;
        bool counts = cell && dom_holds(at, DOM_HOLDS_TEXT);
        filled += counts;
        headers += counts && dom_tag(at) == GUMBO_TAG_TH;
    }
    return filled > 1 && headers < filled;
}

/* In its cells: one in the caption is what the table is called. */
static bool has_headings(const xmlNode *table)
{
    bool cell = false;
    for (const xmlNode *at = dom_next(table, table, false); at;
         at = dom_next(at, table, cell)) {
        cell = dom_is_cell(at);
        if (cell && dom_holds(at, DOM_HOLDS_HEADING))
            return true;
    }
    return false;
}

/* A table that only puts things beside each other. */
static bool is_layout(const struct walk *w, const xmlNode *table)
{
    const char *role = dom_attribute(table, "role");
    if (role && (!strcmp(role, "presentation") || !strcmp(role, "none")))
        return true;
    if (w->in.kind == BLOCK_NOTE || classes_has(table, "highlighttable") ||
        classes_has(table, "boxed"))
        return true;
    bool headed = is_headed(table) && !has_headings(table);
    if (dom_holds(table, DOM_HOLDS_TABLE) && !(headed && has_rows(table)))
        return true;
    unsigned blocks = DOM_HOLDS_CODE | DOM_HOLDS_LIST | DOM_HOLDS_PARAGRAPH;
    if (headed || !dom_holds(table, blocks))
        return false;
    return dom_holds(table, DOM_HOLDS_HEADING) || filled_cells(table, 2) < 2;
}

/* ---- Code in cells ---- */

/* Has the code more than one line? */
static bool has_lines(const xmlNode *code)
{
    bool words = false, line = false;
    for (const xmlNode *at = dom_next(code, code, false); at;
         at = dom_next(at, code, false)) {
        struct slice text = {"", 0};
        if (!dom_is_element(at))
            text = dom_text(at)->text;
        line |= words && dom_tag(at) == GUMBO_TAG_BR;
        for (size_t i = 0; i < text.size; i++) {
            bool space = strchr(" \t\r\n", text.data[i]) != NULL;
            if (!space && line)
                return true;
            words |= !space;
            line |= words && text.data[i] == '\n';
        }
    }
    return false;
}

static bool is_first_cell(const xmlNode *cell)
{
    do
        cell = cell->prev;
    while (cell && !dom_is_cell(cell));
    return !cell;
}

/* Code beside code is compared. */
static bool has_code_beside(const xmlNode *cell)
{
    for (const xmlNode *at = cell->next; at; at = at->next)
        if (dom_holds(at, DOM_HOLDS_CODE))
            return true;
    return false;
}

enum { IN_ROWS, IN_PAIRS, IN_BLOCKS };

/* The cells of a row stand in one line, where code of several would lose them.  So rows
 * of two cells with such code are terms and meanings; and where it stands in the first,
 * or that is a text, one block after the other. */
static int reading_of(const xmlNode *table)
{
    size_t words = 0, terms = 0;
    bool lines = false, blocks = false;
    if (!dom_holds(table, DOM_HOLDS_CODE) || filled_cells(table, 3) != 2)
        return IN_ROWS;
    bool code = false; /* which is looked at once, however code nests in it */
    for (const xmlNode *at = dom_next(table, table, false); at;
         at = dom_next(at, table, code)) {
        code = dom_tag(at) == GUMBO_TAG_PRE;
        lines = lines || (code && has_lines(at));
        if (!dom_is_cell(at) || !is_first_cell(at))
            continue;
        if (dom_holds(at, DOM_HOLDS_CODE)) {
            if (has_code_beside(at))
                return IN_ROWS;
            blocks = true;
        }
        words += reference_words(at);
        terms++;
    }
    if (!lines)
        return IN_ROWS;
    return blocks || words > MAX_TERM * terms ? IN_BLOCKS : IN_PAIRS;
}

/* ---- Tables ---- */

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

bool tables_table(struct walk *w, const xmlNode *table)
{
    if (walk_is_flat(w))
        return false;
    if (classes_has(table, "memname")) {
        /* Doxygen's signature, with a row for each parameter. */
        walk_within(w, table, (struct context){.kind = BLOCK_DEFINITION});
        return true;
    }
    if (entries_table(w, table))
        return true;
    int reading = is_layout(w, table) ? IN_BLOCKS : reading_of(table);
    if (reading == IN_PAIRS) {
        walk_within(w, table,
                    (struct context){.kind = BLOCK_DEFINITION, .pairs = true});
        return true;
    }
    if (reading == IN_ROWS) {
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
    return count < 1 ? 1 : count > MAX_SPAN ? MAX_SPAN : (unsigned)count;
}

bool tables_row(struct walk *w, const xmlNode *row)
{
    struct grid *grid = w->in.grid;
    if (w->in.kind == BLOCK_DEFINITION && w->in.pairs) {
        w->in.termed = false;
        walk_children(w, row);
        return true;
    }
    if (w->in.kind != BLOCK_TABLE)
        return false;
    writer_line(&w->writer, 0, "");
    for (unsigned c = grid->column; c < GRID_MAX; c++)
        grid->spanned[c] -= grid->spanned[c] > 0;
    grid->column = grid->tabs = 0;
    walk_children(w, row);
    return true;
}

/* Passes the columns that cells of rows above cover. */
static void pass_spanned(struct grid *grid)
{
    while (grid->column < GRID_MAX && grid->spanned[grid->column]) {
        grid->spanned[grid->column]--;
        grid->column++;
    }
}

bool tables_cell(struct walk *w, const xmlNode *cell)
{
    struct grid *grid = w->in.grid;
    if (w->in.kind == BLOCK_DEFINITION && w->in.pairs)
        return is_first_cell(cell) ? blocks_term(w, cell)
                                   : blocks_meaning(w, cell);
    if (w->in.kind != BLOCK_TABLE)
        return false;
    pass_spanned(grid);
    w->writer.next.tabs += grid->column - grid->tabs;
    grid->tabs = grid->column;
    unsigned rows = count_of(cell, "rowspan"), i = count_of(cell, "colspan");
    for (; i > 0; i--, grid->column++)
        if (grid->column < GRID_MAX)
            grid->spanned[grid->column] = rows - 1;
    walk_children(w, cell);
    writer_space(&w->writer);
    return true;
}
