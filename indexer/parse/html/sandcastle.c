#include "indexer/parse/html/sandcastle.h"

#include <string.h>

#include "indexer/parse/html/classes.h"

/* "Syntax", which opens and closes what it heads. */
static bool opens_part(const xmlNode *heading)
{
    const xmlNode *first = dom_element_from(heading->children);
    const char *program = first ? dom_attribute(first, "onclick") : NULL;
    return program &&
           slice_starts(slice_of(program), slice_of("ExpandCollapse("));
}

/* "Parameters", within the text of its page. */
static bool is_sub_heading(const xmlNode *heading)
{
    const xmlNode *box = heading->parent;
    if (dom_tag(heading) != GUMBO_TAG_H4 || !classes_has(heading, "subHeading"))
        return false;
    while (dom_is_element(box) && !dom_has_id(box, "mainSection") &&
           !dom_has_id(box, "TopicContent"))
        box = box->parent;
    return dom_is_element(box);
}

/* What stands around the text of a page: contents, the manual's name and a form to search,
 * a licence and an address. */
static const char *frame(const xmlNode *box)
{
    if (dom_has_id(box, "header") && dom_begins_with_id(box, "topTable"))
        return "header";
    if (dom_has_id(box, "PageHeader") && classes_has(box, "pageHeader") &&
        !dom_holds(box, DOM_HOLDS_HEADING))
        return "header";
    if (dom_has_id(box, "pageFooter") && classes_has(box, "pageFooter"))
        return "footer";
    return (dom_has_id(box, "leftNav") && dom_begins_with_id(box, "tocNav")) ||
                   (dom_has_id(box, "TOCDiv") && classes_has(box, "TOCDiv"))
               ? "navigation"
               : NULL;
}

/* The sign between two parts of a name, in all languages: C#'s counts. */
static bool is_of_other_language(const xmlNode *sign)
{
    const xmlNode *box = sign->parent;
    const xmlNode *first = dom_tag(sign) == GUMBO_TAG_SPAN &&
                                   classes_has(box, "languageSpecificText")
                               ? dom_element_from(box->children)
                               : NULL;
    return first && first != sign && classes_has(first, "cs");
}

bool sandcastle_is_title(const xmlNode *cell)
{
    enum { MAX_UP = 4 }; /* <td>, <tr>, <tbody>, <table> */
    const xmlNode *top = cell;
    if (dom_tag(cell) != GUMBO_TAG_TD || !classes_has(cell, "titleColumn"))
        return false;
    for (int left = MAX_UP;
         dom_is_element(top) && left && !classes_has(top, "titleTable"); left--)
        top = top->parent;
    if (!dom_is_element(top) || !classes_has(top, "titleTable"))
        return false;
    return dom_is_element(top) && dom_is_element(top->parent) &&
           dom_has_id(top->parent, "TopicContent");
}

void sandcastle_apply(const xmlNode *element, struct rule *rule)
{
    const char *why = dom_tag(element) == GUMBO_TAG_DIV ? frame(element) : NULL;
    if (rule->part == PART_HEADING &&
        (opens_part(element) || is_sub_heading(element)))
        rule->part = PART_BLOCK;
    else if (why)
        rules_skip(rule, why);
    else if (is_of_other_language(element))
        rules_skip(rule, "control");
    else if (sandcastle_is_title(element))
        rules_skip(rule, "header");
}

/* "Methods_T_Works_Pump", or as an identifier "Methods.T:Works.Pump". */
bool sandcastle_is_list_of_members(const xmlNode *meta)
{
    static const char *const kinds[] = {"AllMembers", "Events",   "Fields",
                                        "Methods",    "Overload", "Properties"};
    const char *name = dom_attribute(meta, "name");
    const char *own = dom_attribute(meta, "content");
    if (!name || !own ||
        (strcmp(name, "file") && strcmp(name, "Microsoft.Help.Id")))
        return false;
    bool file = !strcmp(name, "file");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i]);
        bool named = !strncmp(own, kinds[i], size);
        const char *of = named ? own + size : "";
        if (!strncmp(of, file ? "_T_" : ".T:", 3) ||
            (!strcmp(kinds[i], "Overload") && *of == (file ? '_' : ':')))
            return true;
    }
    return false;
}

const char *sandcastle_above(const xmlNode *row)
{
    const xmlNode *link =
        dom_has_id(row, "headerTableRow3") ? dom_find(row, GUMBO_TAG_A) : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return url && slice_starts(slice_of(url), slice_of("T_")) ? url : NULL;
}
