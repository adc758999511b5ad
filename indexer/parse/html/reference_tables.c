#include "indexer/parse/html/reference.h"

#include "indexer/parse/html/labels.h"

enum { MANY = 8 /* rows */, MUCH = 1000 /* words */ };

static bool is_cell(const xmlNode *node)
{
    return dom_tag(node) == GUMBO_TAG_TD || dom_tag(node) == GUMBO_TAG_TH;
}

static const xmlNode *next_cell(const xmlNode *at)
{
    while (at && !is_cell(at))
        at = at->next;
    return at;
}

bool reference_row(const xmlNode *row, const xmlNode **ret_name,
                   const xmlNode **ret_meaning)
{
    if (dom_tag(row) != GUMBO_TAG_TR)
        return false;
    const xmlNode *name = next_cell(row->children);
    const xmlNode *meaning = name ? next_cell(name->next) : NULL;
    if (!meaning || next_cell(meaning->next) || !labels_is_named(name, row))
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
