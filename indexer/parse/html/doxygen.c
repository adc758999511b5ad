#include "indexer/parse/html/doxygen.h"

#include <string.h>

#include "base/text.h"
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

static bool is_first_line(const xmlNode *anchor)
{
    static const char line[] = "l00001";
    const char *name = anchor && dom_tag(anchor) == GUMBO_TAG_A
                           ? dom_attribute(anchor, "name")
                           : NULL;
    return name && !strcmp(name, line);
}

/* Text of the page's own, directly beside an element? */
static bool is_words(const xmlNode *text)
{
    return text && !dom_is_element(text) &&
           !text_is_blank(dom_text(text)->text);
}

/* Below the title and the way to what is said of the file stands nothing but the listing:
 * an author shows a file with its lines' numbers, too. */
static bool is_alone(const xmlNode *box)
{
    const xmlNode *before = dom_element_before(box);
    const xmlNode *after = dom_element_from(box->next);
    if (is_words(box->prev) || is_words(box->next))
        return false;
    if (before && dom_tag(before) == GUMBO_TAG_A) {
        if (is_words(before->prev))
            return false;
        before = dom_element_before(before);
    }
    return (!before || dom_tag(before) == GUMBO_TAG_H1) &&
           (!after || classes_has(after, "ttc") || /* of a name in it */
            (!classes_has(box->parent, "contents") &&
             dom_tag(after) != GUMBO_TAG_P));
}

/* Before 1.8 a listing's lines are in one <pre>. */
bool doxygen_is_listing(const xmlNode *box)
{
    if (!classes_has(box, "fragment"))
        return false;
    const xmlNode *line = dom_element_from(box->children);
    const xmlNode *first = line ? dom_element_from(line->children) : NULL;
    if (!first || dom_tag(line) == GUMBO_TAG_PRE)
        return first && is_first_line(first) && is_alone(box);
    return classes_has(box->parent, "contents") && classes_has(line, "line") &&
           dom_tag(first) == GUMBO_TAG_A &&
           (dom_has_id(first, "l00001") || is_first_line(first)) &&
           is_alone(box);
}

/* A heading in what is said of a member is a label there. */
static bool is_label(const xmlNode *heading)
{
    return classes_box_around(heading, "memdoc") != NULL;
}

int doxygen_level(const xmlNode *heading)
{
    int level = dom_tag(heading) - GUMBO_TAG_H1 + 1;
    const xmlNode *text = classes_box_around(heading, "textblock");
    const xmlNode *above = text ? dom_element_before(text) : NULL;
    if (!above || !classes_has(above, "groupheader"))
        return 0;
    return level > 4 ? 6 : level + 2;
}

/* Links to what stands below, beside the title. */
static bool is_summary(const xmlNode *element)
{
    return classes_is_box(element, "summary") &&
           classes_is_box(element->parent, "header") &&
           classes_is_box(dom_element_from(element->next), "headertitle");
}

/* The signature of a template, set as a heading before 1.9.2. */
static bool is_template(const xmlNode *heading)
{
    const xmlNode *text = heading->children, *around = heading->parent;
    return dom_tag(heading) == GUMBO_TAG_H3 &&
           classes_is_box(around, "textblock") &&
           !dom_element_before(heading) && text && !dom_is_element(text) &&
           slice_starts(dom_text(text)->text, slice_of("template<"));
}

/* "pump_8h_source.html", or "a00012_source.html" where its names are short. */
static bool is_source(const char *url)
{
    static const char end[] = "_source.html";
    if (strlen(url) < sizeof end || !slice_ends(slice_of(url), slice_of(end)))
        return false;
    const char *name = strrchr(url, '/');
    name = name ? name + 1 : url;
    size_t digits = *name == 'a' ? strspn(name + 1, "0123456789") : 0;
    return strstr(name, "_8") || (digits && !strcmp(name + 1 + digits, end));
}

/* "Go to the source code of this file." */
static bool is_way_to_source(const xmlNode *element)
{
    const xmlNode *link = dom_tag(element) == GUMBO_TAG_P &&
                                  classes_is_box(element->parent, "contents")
                              ? element->children
                              : NULL;
    const char *url = link && !link->next && dom_tag(link) == GUMBO_TAG_A
                          ? dom_attribute(link, "href")
                          : NULL;
    return url && is_source(url);
}

/* A path as that of a header: no blank is in it. */
static bool is_path(const xmlNode *item)
{
    enum { MAX_NODES = 8 };
    struct buf raw = {0}, path = {0};
    int left = MAX_NODES;
    for (const xmlNode *at = dom_next(item, item, false); at && left;
         at = dom_next(at, item, false), left--)
        if (!dom_is_element(at))
            buf_put_slice(&raw, dom_text(at)->text);
    text_fold_space(&path, buf_slice(&raw));
    bool is = left && path.size && !memchr(path.data, ' ', path.size);
    buf_free(&raw);
    buf_free(&path);
    return is;
}

static bool is_of_paths(const xmlNode *list)
{
    const xmlNode *item = dom_element_from(list->children);
    bool are = item != NULL;
    for (; are && item; item = dom_element_from(item->next))
        are = dom_tag(item) == GUMBO_TAG_LI && is_path(item);
    return are;
}

/* Its head of a page: the title, behind links to what stands below. */
static bool is_head(const xmlNode *box)
{
    const xmlNode *title =
        classes_is_box(box, "header") ? dom_element_from(box->children) : NULL;
    if (title && is_summary(title))
        title = dom_element_from(title->next);
    return classes_is_box(title, "headertitle");
}

/* Behind it stands of which files the page was made, and nothing else. */
bool doxygen_is_end(const xmlNode *rule)
{
    const xmlNode *text = rule->next;
    const xmlNode *list = dom_tag(rule) == GUMBO_TAG_HR &&
                                  classes_is_box(rule->parent, "contents")
                              ? dom_element_from(rule->next)
                              : NULL;
    const xmlNode *end = list ? list->next : NULL;
    if (end && !dom_is_element(end) && text_is_blank(dom_text(end)->text))
        end = end->next;
    return list && dom_tag(list) == GUMBO_TAG_UL && !end &&
           !dom_is_element(text) && !text_is_blank(dom_text(text)->text) &&
           is_head(dom_element_before(rule->parent)) && is_of_paths(list);
}

/* "Generated on ... by Doxygen", the page's last line. */
static bool is_mark(const xmlNode *address)
{
    enum { MAX_BEFORE = 8 }; /* elements before the link */
    const xmlNode *line = dom_tag(address) == GUMBO_TAG_ADDRESS
                              ? dom_element_from(address->children)
                              : NULL;
    const xmlNode *link = line && dom_tag(line) == GUMBO_TAG_SMALL
                              ? dom_element_from(line->children)
                              : NULL;
    for (int left = MAX_BEFORE; link && dom_tag(link) != GUMBO_TAG_A; left--)
        link = left ? dom_element_from(link->next) : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return url && strstr(url, "doxygen.org/") &&
           !dom_element_from(address->next);
}

/* What its search offers, hidden by a sheet of its own. */
static bool is_search_box(const xmlNode *box)
{
    return dom_tag(box) == GUMBO_TAG_DIV &&
           dom_has_id(box, "MSearchSelectWindow");
}

bool doxygen_is_letter(const xmlNode *box)
{
    enum { MAX_UP = 4 };
    const xmlNode *table = classes_has(box, "ah") ? box->parent : NULL;
    for (int i = 0; i < MAX_UP && table && dom_tag(table) != GUMBO_TAG_TABLE;
         i++)
        table = dom_is_element(table->parent) ? table->parent : NULL;
    const xmlNode *anchor = table ? dom_element_before(table) : NULL;
    const char *name = anchor && dom_tag(anchor) == GUMBO_TAG_A
                           ? dom_attribute(anchor, "name")
                           : NULL;
    return name && slice_starts(slice_of(name), slice_of("letter_"));
}

bool doxygen_is_search(const xmlNode *body)
{
    const xmlNode *box = dom_element_from(body->children);
    return box && classes_has(body, "SRPage") && dom_has_id(box, "SRIndex");
}

void doxygen_apply(const xmlNode *element, struct rule *rule)
{
    if (rule->part == PART_HEADING) {
        if (is_label(element) || is_template(element))
            rule->part = PART_BLOCK;
        return;
    }
    if (element->properties) {
        if (is_of_sources(element))
            rules_skip(rule, "navigation");
        else if (is_summary(element))
            rules_skip(rule, "contents");
        else if (is_search_box(element))
            rules_skip(rule, "control");
        else if (is_mark(element))
            rules_skip(rule, "footer");
    } else if (is_mark(element)) {
        rules_skip(rule, "footer");
    } else if (is_way_to_source(element)) {
        rules_skip(rule, "control");
    }
}
