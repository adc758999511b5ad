/* Pages that groff made of manual pages: neither lists nor terms are marked, only
 * indented, and where a term is short, it stands in a table beside what it means. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/html_internal.h"
#include "indexer/parse/html/reference.h"

enum {
    MAX_TERM = 200, /* bytes */
    MAX_LINES =
        80,      /* of several, a line each: with more it is prose and a term */
    MAX_MARK = 3 /* of what is no term, but an item's mark: "12." */
};

static const xmlNode *next_of(const xmlNode *element)
{
    return dom_element_from(element->next);
}

/* ---- Indentation, in percent of the page ---- */

static int percent(const char *text)
{
    char *end = NULL;
    long value = text ? strtol(text, &end, 10) : -1;
    return end && *end == '%' && value >= 0 && value <= 100 ? (int)value : -1;
}

static bool is_blank_cell(const xmlNode *node)
{
    return node && dom_tag(node) == GUMBO_TAG_TD &&
           !dom_holds(node, DOM_HOLDS_TEXT);
}

static int margin_of_table(const xmlNode *table)
{
    const xmlNode *row = dom_find(table, GUMBO_TAG_TR);
    const xmlNode *cell = row ? dom_element_from(row->children) : NULL;
    return is_blank_cell(cell) ? percent(dom_attribute(cell, "width")) : -1;
}

/* -1: it tells none. */
static int margin_of(const xmlNode *element)
{
    static const char margin[] = "margin-left:";
    switch (dom_tag(element)) {
    case GUMBO_TAG_TABLE: return margin_of_table(element);
    case GUMBO_TAG_P:
    case GUMBO_TAG_PRE: {
        const char *style = dom_attribute(element, "style");
        const char *at = style ? strstr(style, margin) : NULL;
        return at ? percent(at + sizeof margin - 1) : -1;
    }
    default: return -1;
    }
}

/* ---- Terms ---- */

/* Short, and neither a sentence, nor what leads to an example, nor an item's mark. */
static bool is_name(const xmlNode *element)
{
    struct buf text = walk_words(element, MAX_TERM + 1);
    struct slice name = buf_slice(&text);
    char last = name.size ? name.data[name.size - 1] : '.';
    bool letter = false;
    for (size_t i = 0; i < name.size; i++)
        letter |= isalpha((unsigned char)name.data[i]) != 0;
    bool mark = name.size <= MAX_MARK && strchr(").", last);
    bool sentence =
        last == '.' && (name.size < 2 || name.data[name.size - 2] != '.');
    bool lines = dom_find(element, GUMBO_TAG_BR) != NULL;
    bool leads =
        last == ':' || (lines && memmem(name.data, name.size, ": ", 2));
    bool is = name.size <= (lines ? MAX_LINES : MAX_TERM) && letter && !mark &&
              !sentence && !leads;
    buf_free(&text);
    return is;
}

/* A row of a blank cell, the term and, where it is not below, what it means. */
static bool read_row(const xmlNode *row, const xmlNode **ret_name,
                     const xmlNode **ret_meaning)
{
    const xmlNode *cell = dom_element_from(row->children);
    *ret_name = *ret_meaning = NULL;
    if (!is_blank_cell(cell))
        return false;
    while ((cell = next_of(cell))) {
        if (is_blank_cell(cell))
            continue;
        if (*ret_meaning)
            return false;
        if (*ret_name)
            *ret_meaning = cell;
        else
            *ret_name = cell;
    }
    return *ret_name && is_name(*ret_name);
}

static const xmlNode *next_row(const xmlNode *at, const xmlNode *table)
{
    do
        at = dom_next(at, table, dom_tag(at) == GUMBO_TAG_TR);
    while (at && dom_tag(at) != GUMBO_TAG_TR);
    return at;
}

/* Each beside what it means; that of the last may be below the table. */
static bool has_terms(const xmlNode *table, bool below)
{
    const xmlNode *name, *meaning, *next, *row = next_row(table, table);
    bool all = row != NULL;
    for (; row && all; row = next) {
        next = next_row(row, table);
        all = read_row(row, &name, &meaning) && (meaning || (!next && below));
    }
    return all;
}

/* Does a term begin here, or several? */
static bool is_term(const xmlNode *element, int margin)
{
    int tag = dom_tag(element);
    if (margin < 0 || margin_of(element) != margin)
        return false;
    const xmlNode *next = next_of(element);
    bool below = next && margin_of(next) > margin;
    if (tag == GUMBO_TAG_TABLE)
        return has_terms(element, below);
    return tag == GUMBO_TAG_P && below && dom_holds(element, DOM_HOLDS_TEXT) &&
           is_name(element);
}

/* Where the meaning ends that begins at `element`. */
static const xmlNode *end_of_meaning(const xmlNode *element, int margin)
{
    while (element && margin_of(element) > margin)
        element = next_of(element);
    return element;
}

/* ---- How they are read ---- */

static void count(struct reference_counts *counts, const xmlNode *element,
                  int margin)
{
    const xmlNode *name, *meaning, *end;
    if (dom_tag(element) == GUMBO_TAG_TABLE) {
        for (const xmlNode *row = next_row(element, element); row;
             row = next_row(row, element)) {
            read_row(row, &name, &meaning);
            reference_count_term(counts, name);
            counts->groups++;
            counts->words += meaning ? reference_words(meaning) : 0;
        }
    } else {
        reference_count_term(counts, element);
        counts->groups++;
    }
    end = end_of_meaning(next_of(element), margin);
    for (const xmlNode *at = next_of(element); at != end; at = next_of(at))
        counts->words += reference_words(at);
}

/* One within what stands between the terms ends nothing: each is counted once. */
void manpages_heading(struct walk *w, const xmlNode *heading)
{
    const xmlNode *at = w->counted ? heading->parent->parent : NULL;
    while (at && at != w->counted)
        at = at->parent;
    w->counted = at;
}

/* All terms of the section, for prose may stand between them. */
static bool are_entries(struct walk *w, const xmlNode *element, int margin)
{
    struct reference_counts counts = {0};
    if (w->entries)
        return false;
    if (w->counted)
        return w->looked_up;
    for (const xmlNode *at = element; at && rules_of(at).part != PART_HEADING;
         at = next_of(at))
        if (is_term(at, margin))
            count(&counts, at, margin);
    w->counted = element->parent;
    w->looked_up = reference_are_entries(&counts);
    return w->looked_up;
}

static void define(struct walk *w, const xmlNode *name, const xmlNode *cell,
                   const xmlNode *from, const xmlNode *end)
{
    walk_anchors(w, name);
    blocks_term(w, name);
    if (cell)
        blocks_meaning(w, cell);
    for (const xmlNode *at = from; at && at != end; at = at->next) {
        if (dom_tag(at) == GUMBO_TAG_P)
            blocks_meaning(w, at);
        else
            walk_node(w, at);
    }
}

typedef void reading(struct walk *w, const xmlNode *name, const xmlNode *cell,
                     const xmlNode *from, const xmlNode *end);

/* Returns the element behind the term, or the terms of a table, and their meanings. */
static const xmlNode *read_term(struct walk *w, const xmlNode *element,
                                int margin, reading *read)
{
    const xmlNode *name, *meaning;
    const xmlNode *end = end_of_meaning(next_of(element), margin);
    if (dom_tag(element) == GUMBO_TAG_TABLE) {
        const xmlNode *row = next_row(element, element), *next;
        for (; row; row = next) {
            next = next_row(row, element);
            read_row(row, &name, &meaning);
            read(w, name, meaning, next ? NULL : element->next, end);
        }
    } else {
        read(w, element, NULL, element->next, end);
    }
    return end;
}

static void read_terms(struct walk *w, const xmlNode *element, int margin)
{
    const xmlNode *last = element, *end = element;
    bool entries = are_entries(w, element, margin);
    struct context outer = w->in;
    walk_flush(w);
    if (!entries)
        w->in = (struct context){.kind = BLOCK_DEFINITION};
    while (end && is_term(end, margin)) {
        end = read_term(w, end, margin, entries ? entries_named : define);
        last = end ? end->prev : element->parent->last;
    }
    walk_flush(w);
    w->in = outer;
    w->writer.next = (struct separator){0};
    w->read = last != element ? last : NULL;
}

/* The names of the sections, a line each above all of them. */
static bool is_contents(const xmlNode *element)
{
    const char *url = dom_attribute(element, "href");
    return dom_tag(element) == GUMBO_TAG_A && url && url[0] == '#' &&
           dom_tag(element->parent) == GUMBO_TAG_BODY;
}

bool manpages_element(struct walk *w, const xmlNode *element)
{
    int tag = dom_tag(element);
    if (!w->facts->manpage || w->in.kind != BLOCK_PARAGRAPH)
        return false;
    if (is_contents(element)) {
        boilerplate_keep(w, element, "contents");
        return true;
    }
    if (tag != GUMBO_TAG_P && tag != GUMBO_TAG_TABLE)
        return false;
    int margin = margin_of(element);
    if (!is_term(element, margin))
        return false;
    read_terms(w, element, margin);
    return true;
}
