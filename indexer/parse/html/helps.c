#include "indexer/parse/html/helps.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"

/* ---- HelpNDoc ---- */

/* The pages above, and behind them the arrows to the next ones. */
static bool is_helpndoc_trail(const xmlNode *list)
{
    const xmlNode *next =
        dom_tag(list) == GUMBO_TAG_OL && classes_has(list, "breadcrumb")
            ? dom_element_from(list->next)
            : NULL;
    return next && classes_has(next, "nav-arrows");
}

/* Before that, "Use ››" in the frame of the page, and a frame with the contents of all. */
static bool is_helpndoc_line(const xmlNode *line)
{
    return dom_has_id(line, "topic_breadcrumb") &&
           dom_has_id(line->parent, "topic_header_content");
}

static bool is_helpndoc_contents(const xmlNode *list)
{
    return dom_tag(list) == GUMBO_TAG_UL && dom_has_id(list, "toc") &&
           dom_has_id(list->parent, "tab-toc");
}

static bool is_among_arrows(const xmlNode *link)
{
    const xmlNode *box = link->parent;
    return classes_has(box, "nav-arrows") ||
           (classes_has(box, "btn-group") && dom_is_element(box->parent) &&
            classes_has(box->parent, "nav-arrows"));
}

static bool is_helpndoc_next(const xmlNode *sign)
{
    const char *file =
        dom_tag(sign) == GUMBO_TAG_IMG ? dom_attribute(sign, "src") : NULL;
    return (file && !strcmp(file, "img/arrow_right.png")) ||
           (classes_has(sign, "bi-chevron-right") &&
            is_among_arrows(sign->parent));
}

/* The manual's name above each page, and the button that opens its contents. */
static bool is_helpndoc_top(const xmlNode *header)
{
    const xmlNode *first = dom_tag(header) == GUMBO_TAG_HEADER
                               ? dom_element_from(header->children)
                               : NULL;
    return first && classes_has(first, "hnd-toggle");
}

/* "Created with the Personal Edition of HelpNDoc: Easily create EPub books" */
static bool is_helpndoc_mark(const xmlNode *paragraph)
{
    static const char site[] = "helpndoc.com/";
    const xmlNode *link = dom_tag(paragraph) == GUMBO_TAG_P
                              ? dom_find(paragraph, GUMBO_TAG_A)
                              : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    const xmlNode *first = dom_element_from(paragraph->children);
    const xmlNode *text = first ? first->children : NULL;
    return url && strstr(url, site) && text && !dom_is_element(text) &&
           slice_starts(dom_text(text)->text, slice_of("Created with the "));
}

static void helpndoc(const xmlNode *element, struct rule *rule)
{
    if (is_helpndoc_top(element) ||
        (dom_has_id(element, "topic_header") &&
         dom_begins_with_id(element, "topic_header_content")))
        rules_skip(rule, "header");
    else if (dom_has_id(element, "topic_footer") &&
             dom_begins_with_id(element, "topic_footer_content"))
        rules_skip(rule, "footer");
    else if (dom_has_id(element, "hndModal"))
        rules_skip(rule, "control");
}

/* ---- Help & Manual ---- */

/* "Navigation: Guide > Use >", beside the title. */
static bool is_manual_trail(const xmlNode *line)
{
    if (dom_tag(line) == GUMBO_TAG_P && classes_has(line, "topic_breadcrumbs"))
        return dom_has_id(line, "ptopic_breadcrumbs");
    return dom_tag(line) == GUMBO_TAG_P && classes_has(line, "crumbs") &&
           dom_tag(line->parent) == GUMBO_TAG_TD &&
           classes_has(line->parent, "topichead");
}

/* The title once more, for a printer. */
static bool is_printed_title(const xmlNode *box)
{
    const xmlNode *next =
        dom_has_id(box, "printheader") ? dom_element_from(box->next) : NULL;
    return next && dom_has_id(next, "idheader");
}

/* What a page says in place of a script, and of its keys. */
static void manual_box(const xmlNode *box, struct rule *rule)
{
    if (dom_has_id(box, "noscript") &&
        dom_begins_with_id(box, "noscriptwarning"))
        rules_skip(rule, "without scripts");
    else if ((dom_has_id(box, "keyboardinfo") &&
              dom_begins_with_id(box, "keynavtitle")) ||
             (dom_has_id(box, "navigationmenu") &&
              dom_begins_with_id(box, "hamburgermenu")))
        rules_skip(rule, "control");
}

static void help_and_manual(const xmlNode *element, struct rule *rule)
{
    if (dom_tag(element) == GUMBO_TAG_DIV)
        manual_box(element, rule);
    if (is_printed_title(element))
        rules_skip(rule, "header");
    else if (is_manual_trail(element) ||
             (dom_tag(element) == GUMBO_TAG_P &&
              classes_has(element, "sync-toc") &&
              classes_has(element->parent, "topichead")))
        rules_skip(rule, "navigation");
}

/* ---- Scilab ---- */

static bool is_scilab_bar(const xmlNode *box)
{
    return dom_tag(box) == GUMBO_TAG_DIV && classes_has(box, "manualnavbar");
}

/* "Scilab Help >> Functions > Search > find", below the bar. */
static bool is_scilab_trail(const xmlNode *line)
{
    const xmlNode *bar =
        dom_tag(line) == GUMBO_TAG_SPAN && classes_has(line, "path")
            ? dom_element_before(line)
            : NULL;
    return bar && is_scilab_bar(bar);
}

static bool is_scilab_next(const xmlNode *link)
{
    return dom_tag(link->parent) == GUMBO_TAG_SPAN &&
           classes_has(link->parent, "next") &&
           dom_tag(link->parent->parent) == GUMBO_TAG_TD;
}

/* ---- PeakRDL: what its program shows pages of registers in ---- */

static bool is_peakrdl_frame(const xmlNode *box)
{
    static const char *const ids[] = {"_HelpOverlay", "_MobiTitlebar",
                                      "_SBTitlebox"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (dom_has_id(box, ids[i]))
            return true;
    return false;
}

/* ---- All of them ---- */

void helps_apply(const xmlNode *element, struct rule *rule)
{
    if (is_helpndoc_mark(element))
        rules_skip(rule, "footer");
    if (!element->properties)
        return;
    helpndoc(element, rule);
    help_and_manual(element, rule);
    if (is_scilab_bar(element) || is_scilab_trail(element))
        rules_skip(rule, "navigation");
    if (is_peakrdl_frame(element))
        rules_skip(rule, "control");
}

bool helps_is_trail(const xmlNode *element)
{
    return element->properties &&
           (is_helpndoc_trail(element) || is_helpndoc_line(element) ||
            is_manual_trail(element));
}

/* What is longer is no name. */
static bool is_name_alone(const xmlNode *item)
{
    enum { MAX_NODES = 32 };
    int left = MAX_NODES;
    const xmlNode *at = dom_next(item, item, false);
    for (; at && left && dom_tag(at) != GUMBO_TAG_A; left--)
        at = dom_next(at, item, false);
    return !at && dom_holds(item, DOM_HOLDS_TEXT);
}

bool helps_is_trail_to_book(const xmlNode *element)
{
    const xmlNode *last = NULL;
    if (!element->properties || !is_helpndoc_trail(element))
        return false;
    for (const xmlNode *at = dom_element_from(element->children); at;
         at = dom_element_from(at->next))
        last = at;
    return last && dom_tag(last) == GUMBO_TAG_LI &&
           !classes_has(last, "active") && /* the page itself: Bootstrap's */
           !dom_attribute(last, "aria-current") && is_name_alone(last);
}

bool helps_is_title(const xmlNode *heading)
{
    enum { MAX_UP = 8 };
    const xmlNode *box = heading->parent;
    if (!classes_has(heading, "topictitle") || !dom_is_element(box) ||
        !dom_has_id(box, "topicheaderwrapper"))
        return false;
    for (int left = MAX_UP; dom_is_element(box) && left; left--) {
        if (dom_tag(box) == GUMBO_TAG_NAV)
            return true;
        box = box->parent;
    }
    return false;
}

bool helps_is_trail_to(const xmlNode *element)
{
    return element->properties && is_scilab_trail(element);
}

bool helps_is_contents(const xmlNode *element)
{
    return element->properties && is_helpndoc_contents(element);
}

bool helps_is_next(const xmlNode *link)
{
    const xmlNode *sign = dom_element_from(link->children);
    return (sign && sign->properties &&
            (classes_has(sign, "hmbtnnext") || is_helpndoc_next(sign))) ||
           is_scilab_next(link);
}
