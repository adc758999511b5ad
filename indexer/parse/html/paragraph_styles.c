#include "indexer/parse/html/paragraph_styles.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"

/* "section2-header": 2, which holds the number and the title; -1: another. */
static int level_of_header(struct slice style)
{
    static const char before[] = "section", behind[] = "-header";
    size_t size = sizeof before - 1;
    bool is =
        slice_starts(style, slice_of(before)) && style.size > size &&
        style.data[size] >= '1' && style.data[size] <= '6' &&
        slice_is((struct slice){style.data + size + 1, style.size - size - 1},
                 behind);
    return is ? style.data[size] - '0' : -1;
}

/* "Heading2", "Heading_2", "heading-2", "MsoHeading2", "pHeading2": 2; -1: another. */
static int level_of(struct slice style)
{
    static const char *const names[] = {"Heading", "MsoHeading", "pHeading"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (style.size <= size || strncasecmp(style.data, names[i], size))
            continue;
        const char *rest = style.data + size, *end = style.data + style.size;
        rest += *rest == '_' || *rest == '-';
        if (end - rest == 1 && *rest >= '1' && *rest <= '6')
            return *rest - '0';
    }
    return slice_is(style, "MsoTitle") ? 0 : level_of_header(style);
}

int paragraph_styles_level(const xmlNode *heading)
{
    int tag = dom_tag(heading), level = -1;
    const char *rest = NULL;
    if (tag == GUMBO_TAG_P || tag == GUMBO_TAG_DIV)
        rest = dom_attribute(heading, "class");
    for (struct slice word;
         rest && level < 0 && (word = classes_next(&rest)).size;)
        level = level_of(word);
    return level;
}

/* Word's contents, a paragraph each with the number of a page behind: "MsoToc1"; its
 * lists of figures; the heading above them. */
static bool is_contents(const xmlNode *element)
{
    const char *style = dom_attribute(element, "class");
    return style && dom_tag(element) == GUMBO_TAG_P &&
           (!strncmp(style, "MsoToc", 6) || !strcmp(style, "MsoTof"));
}

static bool is_numbered(const char *id, const char *prefix)
{
    size_t size = strlen(prefix);
    return !strncmp(id, prefix, size) && text_is_digit((unsigned char)id[size]);
}

/* A footnote of Word ("ftn1") or LibreOffice ("sdfootnote1"), and their endnotes. */
static bool is_footnote(const xmlNode *element)
{
    const char *id = dom_attribute(element, "id");
    return id && dom_tag(element) == GUMBO_TAG_DIV &&
           (is_numbered(id, "ftn") || is_numbered(id, "edn") ||
            is_numbered(id, "sdfootnote") || is_numbered(id, "sdendnote"));
}

void paragraph_styles_apply(const xmlNode *element, struct rule *rule)
{
    static const unsigned blocks = DOM_HOLDS_HEADING | DOM_HOLDS_TABLE |
                                   DOM_HOLDS_CODE | DOM_HOLDS_LIST |
                                   DOM_HOLDS_PARAGRAPH;
    if (rule->part != PART_BLOCK)
        return;
    if (is_contents(element))
        rules_skip(rule, "contents");
    else if (is_footnote(element))
        rule->part = PART_FOOTNOTES;
    else if (paragraph_styles_level(element) >= 0 &&
             dom_holds(element, DOM_HOLDS_TEXT) && !dom_holds(element, blocks))
        rule->part = PART_HEADING;
}
