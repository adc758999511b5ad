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

/* What comes directly behind; '\0': nothing does. */
static char next_byte(const xmlNode *sup)
{
    const xmlNode *next = sup->next;
    while (next && dom_is_element(next))
        next = next->children;
    struct slice text = next ? dom_text(next)->text : (struct slice){"", 0};
    return text.size ? text.data[0] : '\0';
}

/* Of at most two digits; 0: it is none. */
static int small_number(const xmlNode *element)
{
    const struct dom_text *text = only_text(element);
    int value = 0;
    if (!text || text->text.size > 2)
        return 0;
    for (size_t i = 0; i < text->text.size; i++) {
        char c = text->text.data[i];
        if (c < '0' || c > '9')
            return 0;
        value = value * 10 + c - '0';
    }
    return value;
}

bool superscripts_are_fraction(const struct writer *w, const xmlNode *sup)
{
    const xmlNode *bar = sup->next;
    char last = writer_goes_on(w) ? w->text.data[w->text.size - 1] : ' ';
    if (last < '0' || last > '9' || !bar || dom_is_element(bar) || !bar->next ||
        !dom_is_element(bar->next) || dom_tag(bar->next) != GUMBO_TAG_SUB)
        return false;
    int above = small_number(sup), below = small_number(bar->next);
    return above && above < below &&
           (slice_is(dom_text(bar)->text, "/") ||
            slice_is(dom_text(bar)->text, "\u2044"));
}

bool superscripts_raise(const struct writer *writer, const xmlNode *sup)
{
    const struct dom_text *text = only_text(sup);
    return text && !is_in_link(sup) &&
           exponents_follow(writer, text->text, next_byte(sup));
}
