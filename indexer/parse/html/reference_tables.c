#include "indexer/parse/html/reference.h"

#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/labels.h"

enum {
    MANY = 8,     /* rows or items */
    MUCH = 1000,  /* words */
    MAX_LOOK = 12 /* nodes of an item, for its name */
};

static const xmlNode *next_cell(const xmlNode *at)
{
    while (at && !dom_is_cell(at))
        at = at->next;
    return at;
}

/* An enumerator of Doxygen's, whose anchor is called by a number. */
static bool is_enumerator(const xmlNode *name)
{
    const xmlNode *anchor = dom_element_from(name->children);
    return classes_has(name, "fieldname") && anchor &&
           dom_tag(anchor) == GUMBO_TAG_A && dom_attribute(anchor, "id");
}

bool reference_row(const xmlNode *row, const xmlNode **ret_name,
                   const xmlNode **ret_meaning)
{
    if (dom_tag(row) != GUMBO_TAG_TR)
        return false;
    const xmlNode *name = next_cell(row->children);
    const xmlNode *meaning = name ? next_cell(name->next) : NULL;
    if (meaning && classes_has(meaning, "fieldinit"))
        meaning = next_cell(meaning->next);
    if (!meaning || next_cell(meaning->next) ||
        (!is_enumerator(name) && !labels_is_named(name, row)))
        return false;
    *ret_name = name;
    *ret_meaning = meaning;
    return true;
}

bool reference_is_table(const xmlNode *table)
{
    size_t rows = 0, named = 0, words = 0;
    for (const xmlNode *at = dom_next(table, table, false); at;
         at = dom_next(at, table, dom_tag(at) == GUMBO_TAG_TR)) {
        const xmlNode *name, *meaning;
        if (dom_tag(at) != GUMBO_TAG_TR)
            continue;
        rows++;
        if (!reference_row(at, &name, &meaning))
            continue;
        named++;
        words += reference_words(meaning);
    }
    return named >= MANY && 4 * named >= 3 * rows && words >= MUCH;
}

/* Elements that set a name off. */
static bool may_name(const xmlNode *node)
{
    switch (dom_tag(node)) {
    case GUMBO_TAG_A:
    case GUMBO_TAG_B:
    case GUMBO_TAG_STRONG:
    case GUMBO_TAG_CODE:
    case GUMBO_TAG_TT:
    case GUMBO_TAG_SAMP: return dom_holds(node, DOM_HOLDS_TEXT);
    default: return false;
    }
}

/* Is it an anchor without text? */
static bool is_anchor(const xmlNode *node)
{
    return node && dom_tag(node) == GUMBO_TAG_A &&
           !dom_holds(node, DOM_HOLDS_TEXT);
}

/* The item's first anchor: its own, or that of an element without text at its
 * beginning. */
static const xmlNode *anchor_of(const xmlNode *item)
{
    if (dom_attribute(item, "id"))
        return item;
    const xmlNode *first = dom_element_from(item->children);
    return is_anchor(first) ? first : NULL;
}

/* Does the item begin with anchors and, in bold, a name that one of them is called as,
 * and what goes with it: "pressure <number>"?  pod2html's do. */
static const xmlNode *name_behind(const xmlNode *anchor,
                                  const xmlNode **ret_anchor)
{
    const xmlNode *name = dom_element_from(anchor->next);
    while (is_anchor(name))
        name = dom_element_from(name->next);
    int tag = name ? dom_tag(name) : GUMBO_TAG_LAST;
    if (tag != GUMBO_TAG_B && tag != GUMBO_TAG_STRONG)
        return NULL;
    for (const xmlNode *at = anchor; at != name;
         at = dom_element_from(at->next))
        if (labels_begins_as(name, at)) {
            *ret_anchor = at;
            return name;
        }
    return NULL;
}

const xmlNode *reference_item(const xmlNode *item, const xmlNode **ret_anchor)
{
    const xmlNode *anchor =
        dom_tag(item) == GUMBO_TAG_LI ? anchor_of(item) : NULL;
    int left = MAX_LOOK;
    for (const xmlNode *at = anchor ? item->children : NULL; at && left--;
         at = dom_next(at, item, false))
        if (may_name(at) && labels_is_called(at, anchor)) {
            *ret_anchor = anchor;
            return at;
        }
    return is_anchor(anchor) ? name_behind(anchor, ret_anchor) : NULL;
}

bool reference_is_items(const xmlNode *list)
{
    size_t items = 0, named = 0, words = 0;
    for (const xmlNode *at = list->children; at; at = at->next) {
        const xmlNode *anchor;
        if (dom_tag(at) != GUMBO_TAG_LI)
            continue;
        items++;
        if (!reference_item(at, &anchor))
            continue;
        named++;
        words += reference_words(at);
    }
    return named >= MANY && 4 * named >= 3 * items && words >= MUCH;
}
