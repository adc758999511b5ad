#include "indexer/parse/html/rules.h"

#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/apis.h"
#include "indexer/parse/html/bars.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/commented.h"
#include "indexer/parse/html/controls.h"
#include "indexer/parse/html/docgens.h"
#include "indexer/parse/html/helps.h"
#include "indexer/parse/html/hidden.h"
#include "indexer/parse/html/makers.h"
#include "indexer/parse/html/paragraph_styles.h"
#include "indexer/parse/html/reference.h"
#include "indexer/parse/html/themes.h"

enum {
    MAX_AROUND = 8, /* elements around a permalink that are looked at */
    MAX_MORE = 32   /* bytes of "More..." */
};

/* ---- Elements ---- */

static const unsigned char tags[GUMBO_TAG_LAST + 1] = {
    [GUMBO_TAG_HTML] = PART_BLOCK,        [GUMBO_TAG_BODY] = PART_BLOCK,
    [GUMBO_TAG_HEAD] = PART_SKIP,         [GUMBO_TAG_SCRIPT] = PART_SKIP,
    [GUMBO_TAG_STYLE] = PART_SKIP,        [GUMBO_TAG_TEMPLATE] = PART_SKIP,
    [GUMBO_TAG_NOSCRIPT] = PART_SKIP,     [GUMBO_TAG_NAV] = PART_SKIP,
    [GUMBO_TAG_FOOTER] = PART_SKIP,       [GUMBO_TAG_IFRAME] = PART_SKIP,
    [GUMBO_TAG_NOFRAMES] = PART_NOFRAMES, [GUMBO_TAG_NOEMBED] = PART_SKIP,
    [GUMBO_TAG_SELECT] = PART_SKIP,       [GUMBO_TAG_DATALIST] = PART_SKIP,
    [GUMBO_TAG_TITLE] = PART_SKIP,        [GUMBO_TAG_SECTION] = PART_SECTION,
    [GUMBO_TAG_ARTICLE] = PART_SECTION,   [GUMBO_TAG_ASIDE] = PART_SECTION,
    [GUMBO_TAG_H1] = PART_HEADING,        [GUMBO_TAG_H2] = PART_HEADING,
    [GUMBO_TAG_H3] = PART_HEADING,        [GUMBO_TAG_H4] = PART_HEADING,
    [GUMBO_TAG_H5] = PART_HEADING,        [GUMBO_TAG_H6] = PART_HEADING,
    [GUMBO_TAG_PRE] = PART_CODE,          [GUMBO_TAG_LISTING] = PART_CODE,
    [GUMBO_TAG_XMP] = PART_CODE,          [GUMBO_TAG_PLAINTEXT] = PART_CODE,
    [GUMBO_TAG_TEXTAREA] = PART_CODE,     [GUMBO_TAG_UL] = PART_LIST,
    [GUMBO_TAG_OL] = PART_LIST,           [GUMBO_TAG_DIR] = PART_LIST,
    [GUMBO_TAG_MENU] = PART_LIST,         [GUMBO_TAG_LI] = PART_ITEM,
    [GUMBO_TAG_TABLE] = PART_TABLE,       [GUMBO_TAG_TR] = PART_ROW,
    [GUMBO_TAG_TD] = PART_CELL,           [GUMBO_TAG_TH] = PART_CELL,
    [GUMBO_TAG_CAPTION] = PART_CAPTION,   [GUMBO_TAG_THEAD] = PART_BLOCK,
    [GUMBO_TAG_TBODY] = PART_BLOCK,       [GUMBO_TAG_TFOOT] = PART_BLOCK,
    [GUMBO_TAG_BLOCKQUOTE] = PART_QUOTE,  [GUMBO_TAG_DL] = PART_TERMS,
    [GUMBO_TAG_DT] = PART_TERM,           [GUMBO_TAG_DD] = PART_MEANING,
    [GUMBO_TAG_FIGURE] = PART_FIGURE,     [GUMBO_TAG_FIGCAPTION] = PART_BLOCK,
    [GUMBO_TAG_IMG] = PART_IMAGE,         [GUMBO_TAG_IMAGE] = PART_IMAGE,
    [GUMBO_TAG_AREA] = PART_AREA,         [GUMBO_TAG_MATH] = PART_MATHML,
    [GUMBO_TAG_SVG] = PART_DRAWING,       [GUMBO_TAG_BR] = PART_BREAK,
    [GUMBO_TAG_HR] = PART_BLOCK,          [GUMBO_TAG_P] = PART_BLOCK,
    [GUMBO_TAG_DIV] = PART_BLOCK,         [GUMBO_TAG_MAIN] = PART_BLOCK,
    [GUMBO_TAG_HEADER] = PART_BLOCK,      [GUMBO_TAG_HGROUP] = PART_BLOCK,
    [GUMBO_TAG_ADDRESS] = PART_BLOCK,     [GUMBO_TAG_CENTER] = PART_BLOCK,
    [GUMBO_TAG_DETAILS] = PART_BLOCK,     [GUMBO_TAG_SUMMARY] = PART_BLOCK,
    [GUMBO_TAG_FORM] = PART_BLOCK,        [GUMBO_TAG_FIELDSET] = PART_BLOCK,
    [GUMBO_TAG_LEGEND] = PART_BLOCK,      [GUMBO_TAG_OPTION] = PART_BLOCK,
    [GUMBO_TAG_OPTGROUP] = PART_BLOCK,    [GUMBO_TAG_FRAMESET] = PART_BLOCK,
    [GUMBO_TAG_MARQUEE] = PART_BLOCK,     [GUMBO_TAG_VIDEO] = PART_SKIP,
    [GUMBO_TAG_AUDIO] = PART_SKIP,        [GUMBO_TAG_CANVAS] = PART_SKIP,
    [GUMBO_TAG_OBJECT] = PART_BLOCK,
};

/* ---- What is not read ---- */

static struct hiding hiding_of(const xmlNode *element)
{
    enum { ALWAYS = 5 }; /* the rest is asked of what is hidden alone */
    static const char *const names[] = {
        "hidden", "aria-hidden",      "style", "role", "id",
        "class",  "madcap:targetname"};
    struct hiding hiding = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value =
            i < ALWAYS || hiding.hidden || dom_element(element)->hidden
                ? dom_attribute(element, names[i])
                : NULL;
        if (value)
            hiding_add(&hiding, slice_of(names[i]), slice_of(value));
    }
    return hiding;
}

bool rules_are_passed(const struct source *source, const xmlNode *element)
{
    struct hiding hiding = hiding_of(element);
    const char *words = dom_attribute(element, "class");
    return (hiding_is(&hiding) && !source->xml) ||
           (words && classes_are_passed(slice_of(words)));
}

static bool is_hidden(const xmlNode *element)
{
    struct hiding hiding = hiding_of(element);
    return (hiding.hidden || dom_element(element)->hidden) && !hiding.tab;
}

/* Of alternatives that a script chooses from, all of which are hidden until then, the
 * one that is meant where none other is (LibreOffice: "Ctrl" but on a Mac). */
static bool is_chosen(const xmlNode *element)
{
    const char *id = dom_attribute(element, "id");
    return id && !strncmp(id, "default", strlen("default")) &&
           (classes_has(element->parent, "switchinline") ||
            classes_has(element->parent, "switch"));
}

static bool opens_menu(const xmlNode *element)
{
    const char *toggles = dom_attribute(element, "data-toggle");
    if (!toggles)
        toggles = dom_attribute(element, "data-bs-toggle");
    return classes_has(element, "dropdown-toggle") ||
           (toggles && !strcmp(toggles, "dropdown"));
}

/* Bootstrap's menus, which are not shown until somebody opens them. */
static bool is_menu(const xmlNode *element)
{
    static const char *const boxes[] = {"dropdown", "dropup", "dropstart",
                                        "dropend", "btn-group"};
    if (!classes_has(element, "dropdown-menu"))
        return false;
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (dom_is_element(element->parent) &&
            classes_has(element->parent, boxes[i]))
            return true;
    const xmlNode *before = element->prev;
    while (before && !dom_is_element(before))
        before = before->prev;
    return before && opens_menu(before);
}

/* Apache's box; a section that is called so has a class or a tag of its own. */
static bool is_quickview(const xmlNode *element)
{
    const char *id = dom_attribute(element, "id");
    return id && dom_tag(element) == GUMBO_TAG_DIV &&
           !strcmp(id, "quickview") && !dom_attribute(element, "class");
}

/* Why an element of that id is no content; NULL: it is. */
static const char *chrome_id(const char *id)
{
    static const struct {
        const char *id, *why;
    } ids[] = {{"MSearchResultsWindow", "control"}, /* Doxygen */
               {"column2", "contents"},
               {"footer", "footer"},
               {"footer-text", "footer"},
               {"gtoc", "navigation"},
               {"mathjaxlink", "control"}, /* GAPDoc */
               {"toc", "contents"},
               {"table-of-contents", "contents"},
               {"versioninfo", "footer"}};
    if (!id)
        return NULL;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(id, ids[i].id))
            return ids[i].why;
    if (!strncmp(id, "Table of Contents", 17))
        return "contents"; /* LibreOffice: a number behind */
    return strncmp(id, "navrow", 6) ? NULL : "navigation"; /* Doxygen's tabs */
}

static const char *chrome_role(const xmlNode *element)
{
    static const struct {
        const char *role, *why;
    } roles[] = {{"navigation", "navigation"},
                 {"search", "control"},
                 {"contentinfo", "footer"},
                 {"doc-toc", "contents"}};
    const char *role = dom_attribute(element, "role");
    for (size_t i = 0; role && i < sizeof roles / sizeof *roles; i++)
        if (!strcasecmp(role, roles[i].role))
            return roles[i].why;
    return NULL;
}

/* Does a link stand in a heading or a term, or in what it leads to? */
static bool is_at_home(const xmlNode *link, const char *target)
{
    const xmlNode *at = link;
    for (int i = 0; i < MAX_AROUND && at && dom_is_element(at); i++) {
        const char *id = dom_attribute(at, "id");
        int part = tags[dom_tag(at)];
        if (part == PART_HEADING || part == PART_TERM ||
            (id && !strcmp(id, target)))
            return true;
        at = at->parent;
    }
    return false;
}

static bool is_sign(struct slice text, const xmlNode *link, const char *target)
{
    static const char *const signs[] = {
        "¶",     "🔗", "⚓", "☍", "◆", "\xef\x83\x81", "↩", "↩\xef\xb8\x8e",
        "\u200b"};
    static const char *const signs_and_words[] = {"#", "§", "∞"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (slice_is(text, signs[i]))
            return true;
    for (size_t i = 0; i < 3; i++)
        if (slice_is(text, signs_and_words[i]))
            return is_at_home(link, target);
    return false;
}

/* Is there text in the heading besides what the link shows? */
static bool is_besides_text(const xmlNode *link, const xmlNode *heading)
{
    int left = 64; /* nodes of a title */
    for (const xmlNode *at = dom_next(heading, heading, false); at && left--;
         at = dom_next(at, heading, at == link))
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            return true;
    return false;
}

/* A link in a heading that shows an arrow, as to the top of the page, and is not all of it. */
static bool is_arrow(struct slice text, const xmlNode *link)
{
    enum { MAX_UP = 4, TOP = 0x1F51D, UPWARDS = 0x1F53C };
    size_t size = 0;
    uint32_t c = text.size ? text_decode(text.data, text.size, 0, &size) : 0;
    bool arrow = (c >= 0x2190 && c <= 0x21FF) || (c >= 0x25B2 && c <= 0x25C5) ||
                 (c >= 0x2B00 && c <= 0x2B11) || c == TOP || c == UPWARDS;
    if (!arrow || size < text.size)
        return false;
    const xmlNode *at = link->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(at); i++, at = at->parent)
        if (dom_tag(at) >= GUMBO_TAG_H1 && dom_tag(at) <= GUMBO_TAG_H6)
            return is_besides_text(link, at);
    return false;
}

/* A link to its own place, or from a footnote back, that shows a sign and no
 * words. */
static bool is_permalink(const xmlNode *element)
{
    const char *href = dom_attribute(element, "href");
    if (!href || href[0] != '#')
        return false;
    const xmlNode *only = NULL;
    for (const xmlNode *at = dom_next(element, element, false); at;
         at = dom_next(at, element, false)) {
        if (dom_is_element(at))
            continue;
        if (only || dom_text(at)->text.size > 8)
            return false;
        only = at;
    }
    if (!only)
        return false;
    struct buf sign = {0};
    text_fold_space(&sign, dom_text(only)->text);
    bool found = is_sign(buf_slice(&sign), element, href + 1) ||
                 is_arrow(buf_slice(&sign), element);
    buf_free(&sign);
    return found;
}

/* Doxygen's "More..." behind a brief description, in any language. */
static bool is_more(const xmlNode *link)
{
    const char *href = dom_attribute(link, "href");
    const xmlNode *only = link->children;
    if (!href || !only || only->next || dom_is_element(only))
        return false;
    struct slice text = dom_text(only)->text;
    const char *anchor = strchr(href, '#');
    return anchor && text.size > 3 && text.size <= MAX_MORE &&
           !memcmp(text.data + text.size - 3, "...", 3) &&
           (!strcmp(anchor, "#details") ||
            classes_has(link->parent, "mdescRight"));
}

/* ---- All of them ---- */

bool rules_is_list(int tag)
{
    return tags[tag] == PART_LIST || tags[tag] == PART_TERMS;
}

static const char *chrome_tag(int tag)
{
    switch (tag) {
    case GUMBO_TAG_NAV: return "navigation";
    case GUMBO_TAG_FOOTER: return "footer";
    case GUMBO_TAG_SELECT:
    case GUMBO_TAG_DATALIST: return "control";
    case GUMBO_TAG_NOSCRIPT: return "without scripts";
    case GUMBO_TAG_NOFRAMES: return "without frames";
    default: return "hidden";
    }
}

/* Doxygen's code.  Lines with numbers stay paragraphs: a block of them would not
 * stand in the file word for word. */
static bool is_fragment(const xmlNode *element)
{
    if (!classes_has(element, "fragment"))
        return false;
    int left = MAX_AROUND;
    for (const xmlNode *at = dom_next(element, element, false); at && left--;
         at = dom_next(at, element, false))
        if (dom_is_element(at) && classes_has(at, "lineno"))
            return false;
    return true;
}

bool rules_is_name_in_parts(const xmlNode *heading)
{
    if (dom_tag(heading) != GUMBO_TAG_H1)
        return false;
    for (const xmlNode *at = heading->children; at; at = at->next)
        if (dom_tag(at) == GUMBO_TAG_SPAN && classes_has(at, "sep") &&
            !at->children)
            return true;
    return false;
}

/* The kind of thing, above the heading that names it: gi-docgen's. */
static bool is_above_h1(const xmlNode *heading)
{
    if (dom_tag(heading) != GUMBO_TAG_H3)
        return false;
    const xmlNode *next = heading->next;
    while (next && !dom_is_element(next))
        next = next->next;
    return dom_tag(heading->parent) == GUMBO_TAG_HEADER && next &&
           dom_tag(next) == GUMBO_TAG_H1;
}

/* Does the page's own text stand in it, for want of an end tag? */
static bool holds_page(const xmlNode *top)
{
    for (const xmlNode *at = dom_next(top, top, false); at;
         at = dom_next(at, top, false))
        if (dom_is_element(at) &&
            (classes_has(at, "headertitle") || classes_has(at, "contents")))
            return true;
    return false;
}

/* What Doxygen's pages begin with, and what a manual has put there. */
static bool is_doxygen_top(const xmlNode *element)
{
    const char *id = dom_attribute(element, "id");
    if (!id || strcmp(id, "top"))
        return false;
    const xmlNode *first = element->children;
    while (first && !dom_is_element(first))
        first = first->next;
    id = first ? dom_attribute(first, "id") : NULL;
    return id && !strcmp(id, "titlearea") && !holds_page(element);
}

struct rule rules_of(const xmlNode *element)
{
    int tag = dom_tag(element);
    struct rule rule = {.part = tags[tag]};
    const char *why;
    if (tag == GUMBO_TAG_NOFRAMES &&
        dom_tag(element->parent) != GUMBO_TAG_FRAMESET &&
        dom_tag(element->parent) != GUMBO_TAG_HTML)
        rule.part = PART_SKIP;
    if (tag == GUMBO_TAG_FOOTER &&
        dom_tag(element->parent) == GUMBO_TAG_BLOCKQUOTE)
        rule.part = PART_BLOCK; /* who said so */
    if (rule.part == PART_SKIP)
        rule.why = chrome_tag(tag);
    if (rule.part == PART_HEADING && rules_is_name_in_parts(element))
        rules_skip(&rule, "header");
    else if (rule.part == PART_HEADING && is_above_h1(element))
        rules_skip(&rule, "label");
    else if (rule.part == PART_HEADING && bars_is_banner(element))
        rules_skip(&rule, "header");
    if (dom_element(element)->line)
        rule.part = PART_LINE;
    if (dom_element(element)->heading)
        rule.part = PART_HEADING;
    makers_apply(element, &rule);
    apis_apply(element, &rule);
    docgens_apply(element, &rule);
    commented_apply(element, &rule);
    themes_apply(element, &rule);
    helps_apply(element, &rule);
    if (bars_is_neighbours(element) || bars_is_trail(element, NULL) ||
        (element->properties && bars_is_menu(element)))
        rules_skip(&rule, "navigation");
    if ((!element->properties && !dom_element(element)->hidden) ||
        tag == GUMBO_TAG_BODY || tag == GUMBO_TAG_HTML)
        return rule;
    if ((why = chrome_id(dom_attribute(element, "id"))))
        rules_skip(&rule, why);
    const char *words = dom_attribute(element, "class");
    if (words)
        classes_apply(element, words, tags[tag], &rule);
    paragraph_styles_apply(element, &rule);
    if (tag == GUMBO_TAG_SCRIPT) {
        const char *type = dom_attribute(element, "type");
        if (type && !strncmp(type, "math/tex", 8))
            rule.part = PART_TEX;
    } else if (tag == GUMBO_TAG_A && is_permalink(element)) {
        rules_skip(&rule, "permalink");
    } else if (tag == GUMBO_TAG_A && is_more(element)) {
        rules_skip(&rule, "navigation");
    } else if (controls_is(element)) {
        rules_skip(&rule, "control");
    } else if (tag == GUMBO_TAG_DIV && classes_has(element, "title") &&
               classes_has(element->parent, "headertitle")) {
        rule.part = PART_HEADING; /* Doxygen */
    } else if (tag == GUMBO_TAG_SPAN && classes_has(element, "mlabels") &&
               classes_has(element->parent, "title")) {
        rules_skip(&rule, "label"); /* Doxygen: "abstract", without a space */
    } else if (tag == GUMBO_TAG_DIV && is_doxygen_top(element)) {
        rules_skip(&rule, "header");
    } else if (is_quickview(element)) {
        rules_skip(&rule, "contents");
    } else if (tag == GUMBO_TAG_DIV && is_fragment(element)) {
        rule.part = PART_CODE;
    } else if (tag == GUMBO_TAG_DIV && classes_has(element, "line") &&
               is_fragment(element->parent)) {
        rule.part = PART_INLINE;
    } else if (tag == GUMBO_TAG_SPAN && classes_has(element, "footnote")) {
        rule.part = PART_FOOTNOTES; /* AsciiDoc */
    }
    if (tag == GUMBO_TAG_SECTION && reference_is_bare(element))
        rule.part = PART_BLOCK;
    if (is_hidden(element) && !is_chosen(element))
        rules_skip(&rule, "hidden");
    else if (is_menu(element))
        rules_skip(&rule, "navigation");
    else if ((why = chrome_role(element)))
        rules_skip(&rule, why);
    if (rule.part == PART_NOTE && !rule.info)
        rule.info = "note";
    return rule;
}

/* Texinfo's headings end with h4, and HeVeA's: what stands below a section of that
 * level is told by its class. */
static bool is_below_h4(const xmlNode *heading)
{
    static const char *const names[] = {"subsubsection", "subsubheading",
                                        "unnumberedsubsubsec",
                                        "appendixsubsubsec"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (classes_has(heading, names[i]))
            return true;
    return false;
}

int rules_level(const xmlNode *heading)
{
    if (dom_element(heading)->heading)
        return dom_element(heading)->heading;
    int style = paragraph_styles_level(heading);
    if (style >= 0)
        return style;
    if (dom_tag(heading) == GUMBO_TAG_DIV)
        return 0; /* Doxygen's title of a page, above its sections, which are h1 */
    int level = makers_level(heading);
    level = level ? level : apis_level(heading);
    level = level ? level : docgens_level(heading);
    if (level)
        return level;
    level = dom_tag(heading) - GUMBO_TAG_H1 + 1;
    if (level == 1 &&
        (classes_has(heading, "part") || classes_has(heading, "libtitle")))
        return 0; /* LyX and HeVeA, whose chapters are h1, too; coqdoc */
    if (level == 4 && classes_has(heading, "paragraph"))
        return 6; /* HeVeA */
    if (level == 4 && is_below_h4(heading))
        return 5;
    return level >= 1 && level <= 6 ? level : 1;
}
