#include "indexer/parse/html/commented.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"

static const char *attribute(const xmlNode *element, const char *name)
{
    const char *value =
        element && element->properties ? dom_attribute(element, name) : NULL;
    return value ? value : "";
}

static bool is_of(const xmlNode *element, int tag, const char *class)
{
    return element && dom_tag(element) == tag && element->properties &&
           classes_has(element, class);
}

/* ---- ApiGen: a row for each member ---- */

/* Is one of the first cells a name's? */
static bool has_names(const xmlNode *table)
{
    int left = 96; /* nodes of a row's first cells */
    const xmlNode *at = dom_next(table, table, false);
    while (at && left-- && !is_of(at, GUMBO_TAG_TD, "name"))
        at = dom_next(at, table, false);
    return is_of(at, GUMBO_TAG_TD, "name");
}

/* Of a class's methods, properties or constants. */
static bool is_members(const xmlNode *table)
{
    static const char *const kinds[] = {"methods", "properties", "constants",
                                        "magicMethods", "magicProperties"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_of(table, GUMBO_TAG_TABLE, "summary") &&
            !strcmp(attribute(table, "id"), kinds[i]))
            return has_names(table);
    return false;
}

/* The table of members around the element, of which it is in a row; or NULL. */
static const xmlNode *members_around(const xmlNode *element)
{
    enum { MAX_UP = 12 };
    const xmlNode *at = element->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(at); i++, at = at->parent)
        if (dom_tag(at) == GUMBO_TAG_TABLE)
            return is_members(at) ? at : NULL;
    return NULL;
}

/* What is described, in the cell of its name: <div><a>#</a><code>start( )</code>... */
static const xmlNode *name_in(const xmlNode *box)
{
    return is_of(box->parent, GUMBO_TAG_TD, "name") && members_around(box)
               ? dom_find(box, GUMBO_TAG_CODE)
               : NULL;
}

const xmlNode *commented_name_in(const xmlNode *box)
{
    return dom_tag(box) == GUMBO_TAG_DIV ? name_in(box) : NULL;
}

/* "Methods inherited from ..." and their names. */
static bool is_inherited(const xmlNode *box)
{
    const xmlNode *heading = is_of(box, GUMBO_TAG_DIV, "panel")
                                 ? dom_element_from(box->children)
                                 : NULL;
    const xmlNode *names = heading ? dom_element_from(heading->next) : NULL;
    return is_of(names, GUMBO_TAG_P, "elementList") ||
           (is_of(box, GUMBO_TAG_TABLE, "inherited") &&
            classes_has(box, "summary"));
}

static void table_of(const xmlNode *element, struct rule *rule)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_TABLE && is_inherited(element))
        rules_skip(rule, "contents");
    else if (tag == GUMBO_TAG_TABLE ? !is_members(element)
                                    : !members_around(element))
        return;
    else if (is_of(element, GUMBO_TAG_TD, "attributes"))
        rules_skip(rule, "label"); /* "public" */
    else
        rule->part = PART_BLOCK;
}

static void apigen(const xmlNode *box, struct rule *rule)
{
    if (is_inherited(box))
        rules_skip(rule, "contents");
    else if (is_of(box, GUMBO_TAG_DIV, "short") && members_around(box) &&
             is_of(dom_element_from(box->next), GUMBO_TAG_DIV, "detailed"))
        rules_skip(rule, "contents"); /* the beginning of what follows */
    else if (is_of(box, GUMBO_TAG_DIV, "detailed") && members_around(box))
        rule->part = PART_BLOCK; /* shown on demand */
}

/* Lines of code, each marked as one, in a box of their own.  A section may be called "Source"
 * and have code in colours. */
static bool is_source(const xmlNode *code)
{
    const xmlNode *within =
        dom_tag(code) == GUMBO_TAG_PRE ? code->parent : NULL;
    if (!within || dom_tag(within) != GUMBO_TAG_DIV ||
        strcmp(attribute(within, "id"), "source") != 0 ||
        dom_tag(dom_element_from(within->children)) != GUMBO_TAG_PRE)
        return false;
    const xmlNode *lines = dom_element_from(code->children);
    return lines && dom_tag(lines) == GUMBO_TAG_CODE &&
           is_of(dom_element_from(lines->children), GUMBO_TAG_SPAN, "l");
}

/* ---- ROBODoc ---- */

/* "[ Top ] [ Modules ]" */
static bool is_robo_trail(const xmlNode *line)
{
    const xmlNode *sign = line->children;
    if (!sign || dom_is_element(sign) || dom_text(sign)->text.data[0] != '[')
        return false;
    const xmlNode *link = dom_element_from(sign);
    return link && dom_tag(link) == GUMBO_TAG_A &&
           slice_ends(slice_of(attribute(link, "href")),
                      slice_of("#robo_top_of_doc"));
}

/* "A - B - C" above all names that begin so, which are links.  A glossary has text there. */
static bool is_robo_letters(const xmlNode *heading)
{
    enum { MIN_LETTERS = 26 };
    int letters = 0;
    for (const xmlNode *at = dom_element_from(heading->children); at;
         at = dom_element_from(at->next)) {
        const char *url = attribute(at, "href");
        letters += url[0] == '#' && url[1] && !url[2];
    }
    const xmlNode *first = dom_element_from(heading->next);
    return letters >= MIN_LETTERS && first &&
           is_of(dom_element_from(first->next), GUMBO_TAG_A, "indexitem");
}

/* ---- m2html: "PURPOSE", "SYNOPSIS", "DESCRIPTION" of a function ---- */

static bool is_matlab_label(const xmlNode *heading)
{
    static const char *const names[] = {"_name", "_synopsis", "_description",
                                        "_cross", "_subfunctions"};
    const xmlNode *anchor = dom_element_from(heading->children);
    const xmlNode *link = anchor ? dom_element_from(anchor->next) : NULL;
    if (!link || strcmp(attribute(link, "href"), "#_top"))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(attribute(anchor, "name"), names[i]))
            return true;
    return false;
}

/* "Home > start.m" */
static bool is_matlab_trail(const xmlNode *box)
{
    const xmlNode *first =
        strcmp(attribute(box, "id"), "_path") ? NULL : box->children;
    while (first && !dom_is_element(first) &&
           text_is_blank(dom_text(first)->text))
        first = first->next;
    return first && dom_tag(first) == GUMBO_TAG_A &&
           !dom_holds(box, DOM_HOLDS_HEADING | DOM_HOLDS_PARAGRAPH |
                               DOM_HOLDS_LIST | DOM_HOLDS_CODE |
                               DOM_HOLDS_TABLE);
}

/* ---- pkgdown: what a function is for, above the name of its page ---- */

/* "pump.Rd"; an article's is "pump.Rmd". */
static bool is_manual_file(const xmlNode *name)
{
    const xmlNode *code = dom_find(name, GUMBO_TAG_CODE);
    const xmlNode *text = code ? code->children : NULL;
    return text && !dom_is_element(text) &&
           slice_ends(dom_text(text)->text, slice_of(".Rd"));
}

static bool is_purpose(const xmlNode *heading)
{
    enum { MAX_BETWEEN = 8 };
    int left = MAX_BETWEEN;
    const xmlNode *name = dom_tag(heading->parent) == GUMBO_TAG_DIV &&
                                  classes_has(heading->parent, "page-header")
                              ? dom_element_from(heading->next)
                              : NULL;
    while (name && left && !classes_has(name, "name")) {
        name = dom_element_from(name->next);
        left--;
    }
    return name && left &&
           (classes_has(name, "hidden") || classes_has(name, "d-none")) &&
           is_manual_file(name);
}

/* "pump" of "Turns it on — pump • works"; empty: it is no such title. */
static struct slice function_in(struct slice title)
{
    enum { MAX_BYTES = 2000 };
    static const char before[] = " — ", behind[] = " • ";
    const char *start = NULL, *end = NULL;
    if (title.size > MAX_BYTES)
        return (struct slice){"", 0};
    struct slice rest = title;
    for (const char *at;
         (at = memmem(rest.data, rest.size, before, sizeof before - 1));) {
        start = at + sizeof before - 1;
        rest = (struct slice){start, rest.size - (size_t)(start - rest.data)};
    }
    if (start)
        end = memmem(rest.data, rest.size, behind, sizeof behind - 1);
    return end ? (struct slice){start, (size_t)(end - start)}
               : (struct slice){"", 0};
}

bool commented_name_of(const xmlNode *heading, struct slice *title)
{
    struct slice name =
        is_purpose(heading) ? function_in(*title) : (struct slice){"", 0};
    if (name.size)
        *title = name;
    return name.size > 0;
}

/* The heading is text where the <title> names the function. */
static bool is_below_name(const xmlNode *heading)
{
    enum { MAX_NODES = 1000 }; /* of a page's head */
    const xmlNode *top = (const xmlNode *)heading->doc, *at = top->children;
    int left = MAX_NODES;
    if (!is_purpose(heading))
        return false;
    while (at && left-- && dom_tag(at) != GUMBO_TAG_TITLE)
        at = dom_next(at, top, false);
    for (at = at && dom_tag(at) == GUMBO_TAG_TITLE ? at->children : NULL; at;
         at = at->next)
        if (!dom_is_element(at) && function_in(dom_text(at)->text).size)
            return true;
    return false;
}

/* ---- All of them ---- */

void commented_apply(const xmlNode *element, struct rule *rule)
{
    switch (dom_tag(element)) {
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_TBODY:
    case GUMBO_TAG_TR:
    case GUMBO_TAG_TD: table_of(element, rule); break;
    case GUMBO_TAG_DIV:
        if (is_matlab_trail(element))
            rules_skip(rule, "navigation");
        else if (element->properties)
            apigen(element, rule);
        break;
    case GUMBO_TAG_P:
        if (is_robo_trail(element))
            rules_skip(rule, "navigation");
        break;
    case GUMBO_TAG_H1:
        if (is_below_name(element))
            rule->part = PART_BLOCK;
        break;
    case GUMBO_TAG_H2:
        if (is_matlab_label(element))
            rule->part = PART_BLOCK;
        break;
    case GUMBO_TAG_H4:
        if (dom_tag(element->parent) == GUMBO_TAG_DIV &&
            members_around(element))
            rule->part = PART_BLOCK; /* "Parameters" */
        break;
    case GUMBO_TAG_A:
        if (dom_tag(element->parent) == GUMBO_TAG_H2 &&
            !strcmp(attribute(element, "href"), "#_top") &&
            dom_find(element, GUMBO_TAG_IMG) &&
            !dom_holds(element, DOM_HOLDS_TEXT))
            rules_skip(rule, "permalink");
        break;
    default: break;
    }
}

bool commented_is_listing(const xmlNode *element)
{
    return is_source(element) ||
           (dom_tag(element) == GUMBO_TAG_H2 && is_robo_letters(element));
}
