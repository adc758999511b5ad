#include "indexer/parse/html/doxygen.h"

#include <string.h>

#include "indexer/parse/html/classes.h"

/* Where a member stands in the sources, and what uses it there. */
static bool is_of_sources(const xmlNode *element)
{
    const xmlNode *link = dom_tag(element) == GUMBO_TAG_P
                              ? dom_element_from(element->children)
                              : NULL;
    return link && dom_tag(link) == GUMBO_TAG_A && classes_has(link, "el") &&
           (classes_has(element, "definition") ||
            classes_has(element, "reference"));
}

bool doxygen_is_listing(const xmlNode *box)
{
    const xmlNode *line =
        classes_has(box, "fragment") && classes_has(box->parent, "contents")
            ? dom_element_from(box->children)
            : NULL;
    const xmlNode *anchor = line && classes_has(line, "line")
                                ? dom_element_from(line->children)
                                : NULL;
    return anchor && dom_tag(anchor) == GUMBO_TAG_A &&
           dom_has_id(anchor, "l00001");
}

/* The nearest box of that class around it, or NULL. */
static const xmlNode *box_around(const xmlNode *element, const char *class)
{
    enum { MAX_UP = 8 };
    const xmlNode *box = element->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(box); i++, box = box->parent)
        if (dom_tag(box) == GUMBO_TAG_DIV && classes_has(box, class))
            return box;
    return NULL;
}

/* A heading in what is said of a member is a label there. */
static bool is_label(const xmlNode *heading)
{
    return box_around(heading, "memdoc") != NULL;
}

int doxygen_level(const xmlNode *heading)
{
    int level = dom_tag(heading) - GUMBO_TAG_H1 + 1;
    const xmlNode *text = box_around(heading, "textblock");
    const xmlNode *above = text ? dom_element_before(text) : NULL;
    if (!above || !classes_has(above, "groupheader"))
        return 0;
    return level > 4 ? 6 : level + 2;
}

void doxygen_apply(const xmlNode *element, struct rule *rule)
{
    if (element->properties && is_of_sources(element))
        rules_skip(rule, "navigation");
    if (rule->part == PART_HEADING && is_label(element))
        rule->part = PART_BLOCK;
}
