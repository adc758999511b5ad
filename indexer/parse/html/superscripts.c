#include "indexer/parse/html/superscripts.h"

#include "base/text.h"
#include "indexer/parse/outline/exponents.h"

enum {
    MAX_ABOVE = 3, /* elements from it up to a link */
    MAX_WITHIN = 8 /* nodes in it */
};

static bool is_link(const xmlNode *node)
{
    return dom_is_element(node) && dom_tag(node) == GUMBO_TAG_A;
}

static bool is_in_link(const xmlNode *sup)
{
    const xmlNode *up = sup->parent;
    for (int i = 0; i < MAX_ABOVE && up && dom_is_element(up); i++) {
        if (is_link(up))
            return true;
        up = up->parent;
    }
    return false;
}

/* The one text in it; NULL: none, more, or a link. */
static const struct dom_text *only_text(const xmlNode *sup)
{
    const struct dom_text *only = NULL;
    size_t steps = MAX_WITHIN;
    for (const xmlNode *at = dom_next(sup, sup, false); at;
         at = dom_next(at, sup, false)) {
        if (!steps-- || is_link(at))
            return NULL;
        if (dom_is_element(at) || text_is_blank(dom_text(at)->text))
            continue;
        if (only)
            return NULL;
        only = dom_text(at);
    }
    return only;
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* LaTeX's name is written with a raised letter in it. */
static bool goes_on_in_letters(const xmlNode *sup)
{
    const xmlNode *next = sup->next;
    while (next && dom_is_element(next))
        next = next->children;
    struct slice text = next ? dom_text(next)->text : (struct slice){"", 0};
    return text.size && is_letter(text.data[0]);
}

bool superscripts_are_fraction(const xmlNode *sup)
{
    const xmlNode *bar = sup->next;
    if (!bar || dom_is_element(bar) || !bar->next ||
        !dom_is_element(bar->next) || dom_tag(bar->next) != GUMBO_TAG_SUB)
        return false;
    return slice_is(dom_text(bar)->text, "/") ||
           slice_is(dom_text(bar)->text, "\u2044");
}

bool superscripts_raise(const struct writer *writer, const xmlNode *sup)
{
    const struct dom_text *text = only_text(sup);
    if (!text || is_in_link(sup) ||
        (is_letter(text->text.data[0]) && goes_on_in_letters(sup)))
        return false;
    return exponents_follow(writer, text->text);
}
