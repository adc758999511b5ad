#include "indexer/parse/html/controls.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"

enum {
    MAX_UP = 8,
    MAX_NODES = 32,
    MAX_BUTTON =
        24 /* bytes of what a button does: "show"; of more it is a text */
};

/* Bootstrap's names and those of others for what a screen reader reads alone. */
static bool is_aloud(const xmlNode *element)
{
    static const char *const names[] = {"sr-only", "visually-hidden",
                                        "visuallyhidden", "screen-reader-text"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (classes_has(element, names[i]))
            return true;
    return false;
}

/* Are all of its words read aloud alone?  Icons have few elements. */
static bool shows_icon(const xmlNode *control)
{
    bool aloud = false, skip = false;
    int left = MAX_NODES;
    for (const xmlNode *at = dom_next(control, control, false); at;
         at = dom_next(at, control, skip)) {
        if (!left--)
            return false;
        skip = dom_is_element(at) && is_aloud(at);
        aloud |= skip && dom_holds(at, DOM_HOLDS_TEXT);
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            return false;
    }
    return aloud;
}

static const xmlNode *heading_around(const xmlNode *element)
{
    const xmlNode *at = element->parent;
    for (int i = 0; i < MAX_UP && at && dom_is_element(at); i++) {
        int tag = dom_tag(at);
        if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6)
            return at;
        at = at->parent;
    }
    return NULL;
}

/* Where the button is all of a heading, it says what opens below. */
static bool is_beside_words(const xmlNode *button)
{
    const xmlNode *heading = heading_around(button);
    bool skip = false;
    for (const xmlNode *at = heading ? dom_next(heading, heading, false) : NULL;
         at; at = dom_next(at, heading, skip)) {
        skip = dom_tag(at) == GUMBO_TAG_BUTTON;
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            return true;
    }
    return false;
}

static size_t text_size(const xmlNode *element)
{
    size_t size = 0;
    for (const xmlNode *at = dom_next(element, element, false); at;
         at = dom_next(at, element, false))
        size += dom_is_element(at) ? 0 : dom_text(at)->text.size;
    return size;
}

/* "Press [OK] to go on": a sentence that is read with its button. */
static bool goes_on(const xmlNode *button)
{
    const xmlNode *next = button->next;
    return next && !dom_is_element(next) &&
           !text_is_blank(dom_text(next)->text);
}

/* One of several tabs, or a button that a program of the page waits for. */
static bool is_live(const xmlNode *button)
{
    const char *role = dom_attribute(button, "role");
    return (role && !strcmp(role, "tab")) ||
           (dom_attribute(button, "onclick") && !heading_around(button) &&
            !goes_on(button) && text_size(button) <= MAX_BUTTON);
}

/* What a drawer of Bootstrap's is called, beside the button that closes it. */
static bool is_drawer_title(const xmlNode *box)
{
    const xmlNode *first = classes_has(box, "offcanvas-header")
                               ? dom_element_from(box->children)
                               : NULL;
    const xmlNode *next = first ? dom_element_from(first->next) : NULL;
    return next && classes_has(first, "offcanvas-title") &&
           dom_tag(next) == GUMBO_TAG_BUTTON && !dom_element_from(next->next);
}

bool controls_is(const xmlNode *element)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_DIV)
        return is_drawer_title(element);
    if (tag == GUMBO_TAG_BUTTON &&
        (is_beside_words(element) || is_live(element)))
        return true;
    return (tag == GUMBO_TAG_A || tag == GUMBO_TAG_BUTTON) &&
           shows_icon(element);
}
