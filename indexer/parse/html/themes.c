#include "indexer/parse/html/themes.h"

#include <string.h>

#include "indexer/parse/html/classes.h"

/* OpenStack's: the title beside the links to the neighbours, and once more as the text's own
 * heading. */
static bool is_title_beside(const xmlNode *heading)
{
    const xmlNode *box = heading->parent;
    const xmlNode *links =
        dom_tag(box) == GUMBO_TAG_DIV ? dom_element_from(box->next) : NULL;
    return links && dom_tag(heading) == GUMBO_TAG_H2 &&
           classes_has(box, "col-lg-8") && classes_has(links, "docs-actions");
}

/* Links that are icons: to the neighbours, and where to report an error. */
static bool is_icons(const xmlNode *box)
{
    const xmlNode *link = dom_element_from(box->children);
    const xmlNode *icon = link && dom_tag(link) == GUMBO_TAG_A
                              ? dom_element_from(link->children)
                              : NULL;
    return icon && dom_tag(icon) == GUMBO_TAG_I;
}

/* What OpenStack's has around the text; NULL: it is none of that. */
static const char *around_text(const xmlNode *element)
{
    const char *class = dom_tag(element) == GUMBO_TAG_DIV
                            ? dom_attribute(element, "class")
                            : NULL;
    if (!class || !strstr(class, "docs-"))
        return NULL;
    if (classes_has(element, "docs-updated"))
        return classes_is_box(element->parent, "docs-byline") ? "footer" : NULL;
    if (classes_has(element, "docs-actions"))
        return is_icons(element) ? "control" : NULL;
    if (classes_has(element, "docs-license"))
        return classes_is_box(dom_element_from(element->next),
                              "docs-actions-wrapper")
                   ? "footer"
                   : NULL;
    if (classes_has(element, "docs-actions-wrapper"))
        return classes_is_box(dom_element_before(element), "docs-license")
                   ? "control"
                   : NULL;
    const xmlNode *first = classes_has(element, "docs-sidebar")
                               ? dom_element_from(element->children)
                               : NULL;
    return classes_is_box(first, "docs-sidebar-releases") ||
                   classes_is_box(first, "docs-sidebar-toc")
               ? "navigation"
               : NULL;
}

/* QDoc's trail, behind which it says of which edition the page is. */
static bool is_trail(const xmlNode *element)
{
    const xmlNode *list = dom_tag(element) == GUMBO_TAG_DIV &&
                                  classes_has(element, "navigationbar")
                              ? dom_element_from(element->children)
                              : NULL;
    return list && classes_has(element->parent, "main-rounded") &&
           (dom_tag(list) == GUMBO_TAG_UL || dom_tag(list) == GUMBO_TAG_TABLE);
}

void themes_apply(const xmlNode *element, struct rule *rule)
{
    const char *why = element->properties ? around_text(element) : NULL;
    if (why)
        rules_skip(rule, why);
    else if (rule->part == PART_HEADING && is_title_beside(element))
        rules_skip(rule, "header");
    else if (element->properties && is_trail(element))
        rules_skip(rule, "navigation");
}
