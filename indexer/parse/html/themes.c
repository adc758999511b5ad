#include "indexer/parse/html/themes.h"

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
    if (rule->part == PART_HEADING && is_title_beside(element))
        rules_skip(rule, "header");
    else if (element->properties && is_trail(element))
        rules_skip(rule, "navigation");
}
