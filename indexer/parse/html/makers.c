#include "indexer/parse/html/makers.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/doxygen.h"
#include "indexer/parse/html/sandcastle.h"

static bool has_one_of(const xmlNode *element, const char *const *names)
{
    while (*names && !classes_has(element, *names))
        names++;
    return *names != NULL;
}

static bool is_bare_div(const xmlNode *element, const char *id)
{
    return dom_tag(element) == GUMBO_TAG_DIV && dom_has_id(element, id) &&
           !dom_attribute(element, "class");
}

/* ---- LDoc: every page has the menu; tables sum up what lists say whole ---- */

bool makers_is_signatures(const xmlNode *list, const xmlNode *first_term)
{
    return classes_has(list, "function") &&
           dom_find(first_term, GUMBO_TAG_STRONG);
}

static bool is_summary(const xmlNode *element)
{
    return element && dom_tag(element) == GUMBO_TAG_TABLE &&
           classes_has(element, "function_list");
}

static void ldoc(const xmlNode *element, struct rule *rule)
{
    const xmlNode *around = element->parent;
    if (rule->part == PART_HEADING && dom_tag(around) == GUMBO_TAG_DD &&
        classes_has(around->parent, "function"))
        rule->part = PART_BLOCK; /* "Returns:" */
    else if (rule->part == PART_HEADING &&
             is_summary(dom_element_from(element->next)))
        rules_skip(rule, "contents");
    else if (is_summary(element))
        rules_skip(rule, "contents");
    else if (is_bare_div(element, "navigation"))
        rules_skip(rule, "navigation");
}

/* ---- Haddock ---- */

static bool is_caption(const xmlNode *element)
{
    return dom_tag(element) == GUMBO_TAG_P && classes_has(element, "caption");
}

/* All types and functions of the module, which stand below it. */
static bool is_synopsis(const xmlNode *element)
{
    const xmlNode *first = is_bare_div(element, "synopsis")
                               ? dom_element_from(element->children)
                               : NULL;
    return first && (dom_tag(first) == GUMBO_TAG_DETAILS || is_caption(first));
}

static void haddock(const xmlNode *element, struct rule *rule)
{
    const xmlNode *around = element->parent;
    if (is_caption(element)) {
        if (dom_has_id(around, "module-header") || dom_has_id(around, "index"))
            rule->part = PART_HEADING;
        else if (dom_has_id(around, "description"))
            rules_skip(rule, "label");
    } else if (dom_tag(element) == GUMBO_TAG_A &&
               classes_has(element, "link") && classes_has(around, "src")) {
        rules_skip(rule, "control"); /* "Source" */
    } else if (dom_tag(element) == GUMBO_TAG_A &&
               classes_has(element, "selflink") && classes_has(around, "src")) {
        rules_skip(rule, "permalink"); /* "#" */
    } else if (dom_tag(element) == GUMBO_TAG_TABLE &&
               dom_has_id(around, "index")) {
        const xmlNode *above = dom_element_before(element);
        rule->index = above && is_caption(above);
    } else if (is_bare_div(element, "package-header")) {
        rules_skip(rule, "header");
    } else if (is_synopsis(element)) {
        rules_skip(rule, "contents");
    }
}

/* <pre><span class="hs-pragma">, with an empty anchor for each line. */
static bool is_haddock_listing(const xmlNode *code)
{
    enum { MAX_LOOK = 16 };
    int left = MAX_LOOK;
    if (dom_tag(code->parent) != GUMBO_TAG_BODY || dom_element_before(code) ||
        dom_element_from(code->next))
        return false;
    for (const xmlNode *at = dom_element_from(code->children); at && left--;
         at = dom_element_from(at->next)) {
        const char *class = dom_attribute(at, "class");
        if (class)
            return !strncmp(class, "hs-", 3);
    }
    return false;
}

/* ---- Natural Docs: the name of a group is set as those of what it holds ---- */

static int natural_docs_level(const xmlNode *heading)
{
    const xmlNode *topic = heading->parent;
    if (classes_has(heading, "CHeading"))
        return 5; /* within the text of a topic */
    if (dom_tag(heading) != GUMBO_TAG_H3 || !classes_has(heading, "CTitle") ||
        !classes_has(topic, "CTopic") || !dom_is_element(topic->parent))
        return 0;
    return classes_has(topic->parent, "CGroup") ? 3 : 4;
}

bool makers_is_index(const xmlNode *body)
{
    return classes_has(body, "wh_terms_page");
}

bool makers_is_search(const xmlNode *body)
{
    return classes_has(body, "FramedSearchResultsPage") ||
           classes_has(body, "PopupSearchResultsPage");
}

/* DocFX's contents of the whole site; others have those of a page in such boxes. */
bool makers_is_menu(const xmlNode *box)
{
    const xmlNode *list =
        dom_tag(box) == GUMBO_TAG_DIV && classes_has(box, "sidetoc")
            ? dom_element_from(box->children)
            : NULL;
    return list && classes_has(list, "toc");
}

/* ---- DocFX: labels above the parts of an entry are headings ---- */

static bool ends_with(const char *text, const char *const *ends)
{
    size_t size = strlen(text);
    for (; *ends; ends++)
        if (size > strlen(*ends) && !strcmp(text + size - strlen(*ends), *ends))
            return true;
    return false;
}

static bool is_docfx_label(const xmlNode *heading)
{
    static const char *const own[] = {
        "declaration", "decalaration",  "parameters", "typeParameters",
        "returns",     "propertyValue", "fieldValue", "eventType",
        "exceptions",  "overrides",     "implements", NULL};
    static const char *const boxes[] = {"inheritance", "implements",
                                        "inheritedMembers", NULL};
    static const char *const ends[] = {"_syntax", "_remarks", "_examples",
                                       "_seealso", NULL};
    int tag = dom_tag(heading);
    const xmlNode *around = heading->parent,
                  *first = dom_element_from(heading->children);
    if (tag == GUMBO_TAG_H5 && has_one_of(around, boxes))
        return true;
    if (dom_tag(around) != GUMBO_TAG_ARTICLE || !dom_has_id(around, "_content"))
        return false;
    const char *id = dom_attribute(heading, "id");
    return tag == GUMBO_TAG_H5
               ? has_one_of(heading, own) || (id && ends_with(id, ends))
               : tag == GUMBO_TAG_H6 && first &&
                     dom_tag(first) == GUMBO_TAG_STRONG;
}

/* ---- TypeDoc: so are the parameters and what is returned ---- */

static bool is_typedoc_label(const xmlNode *heading)
{
    static const char *const own[] = {"tsd-parameters-title",
                                      "tsd-returns-title",
                                      "tsd-type-parameters-title", NULL};
    const xmlNode *around = heading->parent;
    return has_one_of(heading, own) ||
           (dom_tag(heading) == GUMBO_TAG_H5 &&
            dom_tag(around) == GUMBO_TAG_LI && dom_is_element(around->parent) &&
            (classes_has(around->parent, "tsd-parameters") ||
             classes_has(around->parent, "tsd-type-parameters")));
}

/* ---- JSDoc: <h5>Parameters:</h5> and its kin below <h4 class="name"> ---- */

static bool is_jsdoc_label(const xmlNode *heading)
{
    enum { MAX_BEFORE = 32 };
    if (dom_tag(heading) != GUMBO_TAG_H5)
        return false;
    int left = MAX_BEFORE;
    const xmlNode *before = dom_element_before(heading);
    while (before && left-- && dom_tag(before) != GUMBO_TAG_H4)
        before = dom_element_before(before);
    return before && dom_tag(before) == GUMBO_TAG_H4 &&
           classes_has(before, "name");
}

/* ---- MadCap Flare: what it makes besides the text has classes of its own ---- */

/* "MCMiniTocBox_0": behind the name stands that of the style. */
static bool has_flare_class(const xmlNode *element, const char *name)
{
    const char *rest = dom_attribute(element, "class");
    for (struct slice word; rest && (word = classes_next(&rest)).size;)
        if (slice_starts(word, slice_of(name)))
            return true;
    return false;
}

/* Its names are those of page.above. */
static bool is_flare_trail(const xmlNode *element)
{
    return dom_tag(element) == GUMBO_TAG_DIV &&
           has_flare_class(element, "MCBreadcrumbsBox");
}

/* The pages below this one. */
static bool is_flare_contents(const xmlNode *element)
{
    return dom_tag(element) == GUMBO_TAG_DIV &&
           has_flare_class(element, "MCMiniTocBox");
}

/* The arrow of a text that opens where it is clicked, called "Closed". */
static bool is_flare_arrow(const xmlNode *element)
{
    static const char *const icons[] = {"MCDropDown_Image_Icon",
                                        "MCExpanding_Image_Icon",
                                        "MCToggler_Image_Icon", NULL};
    return dom_tag(element) == GUMBO_TAG_IMG && has_one_of(element, icons);
}

static void flare(const xmlNode *element, struct rule *rule)
{
    if (is_flare_trail(element))
        rules_skip(rule, "navigation");
    else if (is_flare_arrow(element))
        rules_skip(rule, "control");
}

/* ---- Confluence: a space as HTML ---- */

/* Below the page's own text, "Attachments:" and "Comments:" and what is there. */
static bool is_pages_own(const xmlNode *element)
{
    const xmlNode *header = dom_element_from(element->children);
    return classes_has(element, "pageSection") && header &&
           classes_has(header, "pageSectionHeader");
}

static void confluence(const xmlNode *element, struct rule *rule)
{
    if (dom_tag(element) == GUMBO_TAG_OL && dom_has_id(element, "breadcrumbs"))
        rules_skip(rule, "navigation");
    else if (dom_tag(element) != GUMBO_TAG_DIV)
        return;
    else if (classes_has(element, "page-metadata") || is_pages_own(element))
        rules_skip(rule, "footer"); /* who wrote it, and when */
    else if (classes_has(element, "toc-macro"))
        rules_skip(rule, "contents");
    else if (classes_has(element, "confluence-information-macro"))
        rule->part = PART_NOTE;
}

/* "Pumps : Start", where the trail above begins with "Pumps". */
struct slice makers_title(const xmlNode *heading, struct slice title)
{
    const xmlNode *trail = dom_has_id(heading, "title-heading")
                               ? dom_element_before(heading)
                               : NULL;
    const xmlNode *link = trail && dom_has_id(trail, "breadcrumb-section")
                              ? dom_find(trail, GUMBO_TAG_A)
                              : NULL;
    if (!link || !link->children || dom_is_element(link->children))
        return title;
    struct buf space = {0};
    text_fold_space(&space, dom_text(link->children)->text);
    buf_put_text(&space, " : ");
    const char *found = memmem(title.data, title.size, space.data, space.size);
    size_t size = found ? (size_t)(found - title.data) + space.size : 0;
    buf_free(&space);
    return size < title.size
               ? (struct slice){title.data + size, title.size - size}
               : title;
}

/* ---- ExDoc: a summary of what stands below, and labels ---- */

static bool is_specs(const xmlNode *element)
{
    return element && classes_has(element, "specs");
}

static void exdoc(const xmlNode *element, struct rule *rule)
{
    if (dom_tag(element) == GUMBO_TAG_SECTION &&
        dom_has_id(element, "summary") && classes_has(element, "details-list"))
        rules_skip(rule, "contents");
    else if (rule->part == PART_HEADING &&
             is_specs(dom_element_from(element->next)))
        rules_skip(rule, "label"); /* "Specs" */
}

/* ---- Sphinx: what the agogo theme has beside the document ---- */

/* Not docutils' sidebar, which is a part of the text. */
static bool is_agogo_sidebar(const xmlNode *element)
{
    const xmlNode *before =
        classes_has(element, "sidebar") ? dom_element_before(element) : NULL;
    return before && classes_has(before, "document");
}

/* ---- BoostBook: an index by letter is a list of terms ---- */

static bool is_boost_index(const xmlNode *list)
{
    const xmlNode *meaning = dom_element_from(list->children);
    while (meaning && dom_tag(meaning) != GUMBO_TAG_DD)
        meaning = dom_element_from(meaning->next);
    const xmlNode *index = meaning ? dom_element_from(meaning->children) : NULL;
    return index && dom_tag(index) == GUMBO_TAG_DIV &&
           classes_has(index, "index");
}

/* ---- What the page says itself ---- */

bool makers_is_named(const xmlNode *meta, const char *maker)
{
    const char *name = dom_attribute(meta, "name");
    const char *content = dom_attribute(meta, "content");
    return name && content && !strcasecmp(name, "generator") &&
           !strncasecmp(content, maker, strlen(maker));
}

/* ---- fpdoc ---- */

bool makers_is_pop_up(const xmlNode *link)
{
    const char *program = dom_attribute(link, "onclick");
    return program && strstr(program, "opener.location");
}

static bool opens_window(const xmlNode *element)
{
    const char *program = dom_tag(element) == GUMBO_TAG_A
                              ? dom_attribute(element, "onclick")
                              : NULL;
    return program && slice_starts(slice_of(program), slice_of("window.open("));
}

/* What leads to such windows: "[Properties] [Methods]", and no word beside. */
static bool opens_windows(const xmlNode *paragraph)
{
    bool opens = false;
    for (const xmlNode *at = paragraph->children; at; at = at->next) {
        if (dom_is_element(at) && !opens_window(at))
            return false;
        opens |= dom_is_element(at);
        struct slice text =
            dom_is_element(at) ? slice_of("") : dom_text(at)->text;
        for (size_t i = 0; i < text.size; i++)
            if (!strchr("[](), \t\n", text.data[i]))
                return false;
    }
    return opens;
}

static void fpdoc(const xmlNode *element, struct rule *rule)
{
    int tag = dom_tag(element);
    const xmlNode *title = tag == GUMBO_TAG_TABLE && classes_has(element, "bar")
                               ? dom_find(element, GUMBO_TAG_SPAN)
                               : NULL;
    if ((title && classes_has(title, "bartitle")) ||
        (tag == GUMBO_TAG_P && opens_windows(element)))
        rules_skip(rule, "navigation");
}

/* ---- Javadoc: tables of what stands below, and of what other classes have ---- */

/* Does the name begin so, dots or underscores? */
static bool is_called(const char *name, const char *start, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (name[i] != start[i] && !(name[i] == '_' && start[i] == '.'))
            return false;
    return true;
}

/* "method.summary", and as groovydoc and Java before 8 have it "method_summary". */
static bool is_anchor_of_summary(const xmlNode *anchor)
{
    static const char *const kinds[] = {"annotation.type.member",
                                        "constructor",
                                        "element",
                                        "enum.constant",
                                        "field",
                                        "method",
                                        "property",
                                        NULL};
    static const char summary[] = ".summary";
    if (dom_tag(anchor) != GUMBO_TAG_A)
        return false;
    const char *name = dom_attribute(anchor, "id");
    if (!name)
        name = dom_attribute(anchor, "name");
    for (size_t i = 0; name && kinds[i]; i++) {
        size_t kind = strlen(kinds[i]);
        if (is_called(name, kinds[i], kind) &&
            is_called(name + kind, summary, sizeof summary))
            return true;
    }
    return false;
}

/* From Java 14 on a section, before that an item with such an anchor, and before that a
 * table behind one. */
static bool is_javadoc_summary(const xmlNode *element)
{
    static const char *const sections[] = {
        "constructor-summary", "enum-constant-summary", "field-summary",
        "method-summary", NULL};
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_SECTION)
        return has_one_of(element, sections);
    const xmlNode *anchor = NULL;
    if (tag == GUMBO_TAG_TABLE)
        anchor = dom_element_before(element);
    else if (tag == GUMBO_TAG_LI && classes_has(element, "blockList"))
        anchor = dom_element_from(element->children);
    return anchor && is_anchor_of_summary(anchor);
}

/* From Java 16 on the first cells of all tables are called alike. */
bool makers_is_of_member(const xmlNode *cell)
{
    if (!classes_has(cell, "col-first") && !classes_has(cell, "colFirst"))
        return false;
    const xmlNode *box = cell->parent;
    while (dom_is_element(box) && dom_tag(box) != GUMBO_TAG_SECTION &&
           dom_tag(box) != GUMBO_TAG_TABLE)
        box = box->parent;
    if (dom_tag(box) == GUMBO_TAG_SECTION)
        return !classes_has(box, "summary") &&
               !classes_has(box, "packages-summary");
    return dom_tag(box) == GUMBO_TAG_TABLE &&
           (classes_has(box, "providesSummary") ||
            classes_has(box, "usesSummary"));
}

/* Before Java 7 a table, below a link that skips it. */
static bool is_javadoc_bar(const xmlNode *table)
{
    const xmlNode *link =
        dom_tag(table) == GUMBO_TAG_TABLE ? dom_element_before(table) : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return url && slice_starts(slice_of(url), slice_of("#skip-navbar_"));
}

static bool is_name(const xmlNode *text)
{
    return text &&
           (dom_is_element(text) || !text_is_blank(dom_text(text)->text));
}

static bool is_one_word(const xmlNode *text)
{
    if (!text || dom_is_element(text) || text->next)
        return false;
    struct slice word = dom_text(text)->text;
    size_t at = text_skip_space(word, 0);
    while (at < word.size && !text_space(word.data, word.size, at))
        at++;
    return text_skip_space(word, at) >= word.size;
}

/* There its package stands above a class's name, within the heading. */
static bool is_package_above(const xmlNode *font)
{
    const xmlNode *next = dom_tag(font) == GUMBO_TAG_FONT &&
                                  dom_tag(font->parent) == GUMBO_TAG_H2 &&
                                  !dom_element_before(font)
                              ? dom_element_from(font->next)
                              : NULL;
    return next && dom_tag(next) == GUMBO_TAG_BR && is_name(next->next) &&
           is_one_word(font->children);
}

/* ---- Crystal: what all pages have at the side, and what methods there are ---- */

static bool is_crystal_list(const xmlNode *element)
{
    const xmlNode *item = element && dom_tag(element) == GUMBO_TAG_UL &&
                                  classes_has(element, "list-summary")
                              ? dom_element_from(element->children)
                              : NULL;
    return item && classes_has(item, "entry-summary");
}

static void crystal(const xmlNode *element, struct rule *rule)
{
    bool heading = rule->part == PART_HEADING;
    const xmlNode *list = heading ? dom_element_from(element->next) : element;
    if ((heading || rule->part == PART_LIST) && is_crystal_list(list))
        rules_skip(rule, "contents");
    const xmlNode *first = dom_tag(element) == GUMBO_TAG_DIV
                               ? dom_element_from(element->children)
                               : NULL;
    if (!first)
        return;
    if (classes_has(element, "methods-inherited"))
        rules_skip(rule, "contents");
    else if (classes_has(element, "sidebar") &&
             classes_has(first, "sidebar-header"))
        rules_skip(rule, "navigation");
    else if (classes_has(first, "view-source") &&
             !dom_element_from(first->next))
        rules_skip(rule, "control");
}

/* ---- Scaladoc: members are numbered, and say what they are for twice ---- */

static bool is_shorter(const xmlNode *element)
{
    const xmlNode *next = dom_element_from(element->next);
    return classes_has(element, "shortcomment") && next &&
           classes_has(next, "fullcomment");
}

static bool is_members(const xmlNode *list)
{
    return dom_tag(list) == GUMBO_TAG_OL &&
           dom_tag(list->parent) == GUMBO_TAG_DIV &&
           classes_has(list->parent, "members");
}

bool makers_is_occurrence(const xmlNode *element)
{
    return classes_has(element, "occurrences") &&
           classes_has(element->parent, "entry");
}

static void scaladoc(const xmlNode *element, struct rule *rule)
{
    int tag = dom_tag(element);
    const xmlNode *first = dom_element_from(element->children);
    if (is_members(element) ||
        (tag == GUMBO_TAG_LI && is_members(element->parent)) ||
        (tag == GUMBO_TAG_H4 && dom_has_id(element, "signature")))
        rule->part = PART_BLOCK;
    else if (is_shorter(element))
        rules_skip(rule, "contents");
    else if (tag == GUMBO_TAG_H3 && first && classes_has(first, "morelinks"))
        rules_skip(rule, "navigation");
    else if (tag == GUMBO_TAG_SPAN && classes_has(element, "permalink") &&
             dom_holds(element, DOM_HOLDS_IMAGE))
        rules_skip(rule, "permalink");
    else if (tag == GUMBO_TAG_DIV && dom_has_id(element, "mbrsel"))
        rules_skip(rule, "control");
    else if (tag == GUMBO_TAG_DIV && (dom_has_id(element, "inheritedMembers") ||
                                      dom_has_id(element, "groupedMembers")))
        rules_skip(rule, "contents");
}

/* ---- LinuxDoc: h2 is a section and what is below it, told by their anchors ---- */

/* The number in the anchor, "3.1" of "ss3.1", where that is also what it shows. */
static const char *number_of(const xmlNode *anchor, const char *prefix)
{
    const char *name =
        dom_tag(anchor) == GUMBO_TAG_A ? dom_attribute(anchor, "name") : NULL;
    const xmlNode *only = anchor->children;
    size_t size = strlen(prefix);
    if (!name || strncmp(name, prefix, size) || !only || only->next ||
        dom_is_element(only))
        return NULL;
    struct slice text = dom_text(only)->text;
    if (text.size && text.data[text.size - 1] == '.')
        text.size--;
    return text.size && text_is_digit((unsigned char)*text.data) &&
                   slice_is(text, name + size)
               ? name + size
               : NULL;
}

static const char *number_in(const xmlNode *element, const char *prefix)
{
    const char *number = NULL;
    for (const xmlNode *at = element->children; at && !number; at = at->next)
        if (dom_is_element(at))
            number = number_of(at, prefix);
    return number;
}

static int linuxdoc_level(const xmlNode *heading)
{
    const char *number = number_in(heading, "ss");
    int level = number ? 1 : number_in(heading, "s") != NULL;
    for (; number && *number; number++)
        level += *number == '.';
    return level;
}

bool makers_is_contents(const xmlNode *element)
{
    int tag = dom_tag(element);
    const xmlNode *first =
        tag == GUMBO_TAG_UL ? dom_element_from(element->children) : NULL;
    return is_bare_div(element, "module-list") || is_flare_contents(element) ||
           (tag == GUMBO_TAG_H2 && number_in(element, "toc")) ||
           (first && dom_tag(first) == GUMBO_TAG_LI && number_in(first, "toc"));
}

/* Who wrote it, between the title and the contents. */
static bool is_author(const xmlNode *heading)
{
    enum { MAX_AUTHORS = 16, MAX_NODES = 64 };
    if (dom_tag(heading) != GUMBO_TAG_H2)
        return false;
    const xmlNode *before = dom_element_before(heading);
    for (int n = 0; before && dom_tag(before) == GUMBO_TAG_H2; n++)
        before = n < MAX_AUTHORS ? dom_element_before(before) : NULL;
    if (!before || dom_tag(before) != GUMBO_TAG_H1)
        return false;
    int left = MAX_NODES;
    for (const xmlNode *at = heading->next; at && left--; at = at->next)
        if (dom_tag(at) == GUMBO_TAG_H2 && makers_is_contents(at))
            return true;
    return false;
}

/* ---- Contents by hand: a list of the page's own headings, called so ---- */

/* "Contents", "Table of Contents:" */
static bool is_called_contents(const xmlNode *heading)
{
    enum { MAX_TEXT = 40 };
    struct buf raw = {0}, folded = {0};
    for (const xmlNode *at = dom_next(heading, heading, false);
         at && raw.size <= MAX_TEXT; at = dom_next(at, heading, false))
        if (!dom_is_element(at))
            buf_put_slice(&raw, dom_text(at)->text);
    if (raw.size <= MAX_TEXT)
        text_fold_compare(&folded, buf_slice(&raw));
    struct slice text = buf_slice(&folded);
    bool is = slice_is(text, "contents") || slice_is(text, "table of contents");
    buf_free(&raw);
    buf_free(&folded);
    return is;
}

/* Does all of the list lead to places of its page? */
static bool is_local(const xmlNode *list)
{
    size_t links = 0, linked = 0, text = 0;
    const xmlNode *link = NULL;
    for (const xmlNode *at = dom_next(list, list, false); at;
         at = dom_next(at, list, false)) {
        if (dom_tag(at) == GUMBO_TAG_A) {
            const char *url = dom_attribute(at, "href");
            if (url && url[0] != '#')
                return false;
            links += url != NULL;
            link = url ? at : link;
        } else if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text)) {
            const xmlNode *up = at->parent;
            for (int i = 0; i < 4 && up != link && dom_is_element(up); i++)
                up = up->parent;
            text += dom_text(at)->text.size;
            linked += up == link ? dom_text(at)->text.size : 0;
        }
    }
    return links > 1 && 4 * linked >= 3 * text;
}

static bool is_list(const xmlNode *element)
{
    return element && rules_is_list(dom_tag(element));
}

/* pod2html's, above the first heading. */
static bool is_pod_contents(const xmlNode *list)
{
    return dom_tag(list) == GUMBO_TAG_UL && dom_has_id(list, "index") &&
           dom_tag(list->parent) == GUMBO_TAG_BODY && is_local(list);
}

static bool is_words(const xmlNode *node)
{
    return node && !dom_is_element(node) &&
           !text_is_blank(dom_text(node)->text);
}

/* MATLAB puts the list into a box of its own. */
static const xmlNode *boxed_list(const xmlNode *box)
{
    const xmlNode *list = box && dom_tag(box) == GUMBO_TAG_DIV
                              ? dom_element_from(box->children)
                              : NULL;
    return list && !dom_element_from(list->next) && !is_words(list->prev) &&
                   !is_words(list->next)
               ? list
               : box;
}

static bool is_local_contents(const xmlNode *element, enum part part)
{
    if (is_pod_contents(element))
        return true;
    if (part == PART_HEADING) {
        const xmlNode *list = boxed_list(dom_element_from(element->next));
        return is_list(list) && is_called_contents(element) && is_local(list);
    }
    if (!is_list(element))
        return false;
    bool boxed = boxed_list(element->parent) == element;
    const xmlNode *heading =
        dom_element_before(boxed ? element->parent : element);
    int tag = heading ? dom_tag(heading) : GUMBO_TAG_LAST;
    return tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6 &&
           is_called_contents(heading) && is_local(element);
}

/* ---- Manual pages: mandoc's lines above and below, man2html's links ---- */

static bool is_mandoc_line(const xmlNode *table)
{
    static const char *const lines[] = {"head", "foot", NULL};
    static const char *const cells[] = {"head-ltitle", "foot-date", NULL};
    const xmlNode *cell =
        dom_tag(table) == GUMBO_TAG_TABLE && has_one_of(table, lines)
            ? dom_find(table, GUMBO_TAG_TD)
            : NULL;
    return cell && has_one_of(cell, cells);
}

static bool leads_to(const xmlNode *link, const char *url)
{
    const char *own = link && dom_tag(link) == GUMBO_TAG_A
                          ? dom_attribute(link, "href")
                          : NULL;
    return own && !strcmp(own, url);
}

/* The element behind it, if there is no text between them; or NULL. */
static const xmlNode *right_behind(const xmlNode *element)
{
    const xmlNode *next = element->next;
    while (next && !dom_is_element(next) && text_is_blank(dom_text(next)->text))
        next = next->next;
    return next && dom_is_element(next) ? next : NULL;
}

/* "Index" and "Return to Main Contents" above a line, below another. */
static bool is_man2html_link(const xmlNode *link)
{
    if (dom_tag(link) != GUMBO_TAG_A)
        return false;
    const xmlNode *first =
        leads_to(link, "#index") ? link : dom_element_before(link);
    const xmlNode *above = first ? dom_element_before(first) : NULL;
    const xmlNode *next = first ? right_behind(first) : NULL;
    const xmlNode *end = next ? right_behind(next) : NULL;
    return end && dom_tag(end) == GUMBO_TAG_HR && leads_to(first, "#index") &&
           dom_tag(next) == GUMBO_TAG_A && above &&
           dom_tag(above) == GUMBO_TAG_BR && right_behind(above) == first;
}

/* <a name="index"><h2>Index</h2><dl>: of its own headings, without a word. */
static bool is_man2html_contents(const xmlNode *list)
{
    const xmlNode *heading =
        dom_tag(list) == GUMBO_TAG_DL ? dom_element_before(list) : NULL;
    const xmlNode *anchor = heading && dom_tag(heading) == GUMBO_TAG_H2
                                ? dom_element_before(heading)
                                : NULL;
    const char *name = anchor && dom_tag(anchor) == GUMBO_TAG_A
                           ? dom_attribute(anchor, "name")
                           : NULL;
    return name && !strcmp(name, "index") && is_local(list);
}

/* Behind its contents and a rule: "This document was created by man2html". */
static bool is_end_of_man(const xmlNode *heading)
{
    static const char program[] = "man2html";
    const xmlNode *list = dom_tag(heading) == GUMBO_TAG_H2
                              ? dom_element_from(heading->next)
                              : NULL;
    const xmlNode *rule = list && is_man2html_contents(list)
                              ? dom_element_from(list->next)
                              : NULL;
    const xmlNode *link = rule && dom_tag(rule) == GUMBO_TAG_HR
                              ? dom_element_from(rule->next)
                              : NULL;
    const char *url = link && dom_tag(link) == GUMBO_TAG_A
                          ? dom_attribute(link, "href")
                          : NULL;
    size_t size = url ? strlen(url) : 0, own = sizeof program - 1;
    return size >= own && !strcmp(url + size - own, program);
}

bool makers_is_end(const xmlNode *element)
{
    return is_end_of_man(element) || doxygen_is_end(element);
}

static void manual_page(const xmlNode *element, struct rule *rule)
{
    if (is_mandoc_line(element))
        rules_skip(rule, "header");
    else if (is_man2html_link(element))
        rules_skip(rule, "navigation");
    else if (is_man2html_contents(element))
        rules_skip(rule, "contents");
}

/* ---- ocamldoc: the signature of a module or class once more, without a word ---- */

static bool is_ocaml_listing(const xmlNode *code)
{
    static const char *const words[] = {"keyword", "keywordsign", "constructor",
                                        NULL};
    const xmlNode *first = dom_element_from(code->children);
    while (first && dom_tag(first) == GUMBO_TAG_BR)
        first = dom_element_from(first->next);
    return dom_tag(code->parent) == GUMBO_TAG_BODY &&
           classes_has(code, "code") && !dom_element_before(code) &&
           !dom_element_from(code->next) && first && has_one_of(first, words);
}

/* A row for each letter; operators are below one without. */
static bool is_letter(const xmlNode *box)
{
    const xmlNode *text = box->children;
    return !text || (!text->next && !dom_is_element(text) &&
                     text_is_one(dom_text(text)->text));
}

/* "Index of values": a row for each letter, then one for each name. */
static bool is_ocaml_index(const xmlNode *table)
{
    const xmlNode *heading = dom_element_before(table);
    const xmlNode *row = dom_find(table, GUMBO_TAG_TR);
    const xmlNode *letter = row ? dom_element_from(row->children) : NULL;
    const xmlNode *box = letter ? dom_element_from(letter->children) : NULL;
    const xmlNode *next = row ? dom_element_from(row->next) : NULL;
    const xmlNode *link = next ? dom_find(next, GUMBO_TAG_A) : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return dom_tag(table->parent) == GUMBO_TAG_BODY && heading &&
           dom_tag(heading) == GUMBO_TAG_H1 && box &&
           dom_tag(box) == GUMBO_TAG_DIV && is_letter(box) &&
           !dom_element_from(letter->next) && url && strstr(url, ".html#");
}

/* ---- Sphinx: a module's source, with links back to what is said of it ---- */

static bool is_sphinx_listing(const xmlNode *box)
{
    const xmlNode *link = classes_has(box, "viewcode-block")
                              ? dom_element_from(box->children)
                              : NULL;
    return link && classes_has(link, "viewcode-back");
}

/* ---- All of them ---- */

bool makers_is_listing(const xmlNode *code)
{
    switch (dom_tag(code)) {
    case GUMBO_TAG_PRE: return is_haddock_listing(code);
    case GUMBO_TAG_DIV:
        return doxygen_is_listing(code) || is_sphinx_listing(code);
    case GUMBO_TAG_CODE: return is_ocaml_listing(code);
    default: return false;
    }
}

void makers_apply(const xmlNode *element, struct rule *rule)
{
    bool heading = rule->part == PART_HEADING;
    if (element->properties || heading)
        ldoc(element, rule);
    if (element->properties || rule->part == PART_TABLE)
        haddock(element, rule);
    if (element->properties) {
        flare(element, rule);
        confluence(element, rule);
        if (is_agogo_sidebar(element))
            rules_skip(rule, "contents");
        if (dom_tag(element) == GUMBO_TAG_DL)
            rule->index |= is_boost_index(element);
    }
    if (rule->part == PART_TABLE)
        rule->index |= is_ocaml_index(element);
    doxygen_apply(element, rule);
    fpdoc(element, rule);
    manual_page(element, rule);
    if ((element->properties || rule->part == PART_TABLE) &&
        is_javadoc_summary(element))
        rules_skip(rule, "contents");
    if (is_javadoc_bar(element))
        rules_skip(rule, "navigation");
    if (is_package_above(element))
        rules_skip(rule, "header");
    if (element->properties || heading) {
        exdoc(element, rule);
        sandcastle_apply(element, rule);
    }
    crystal(element, rule);
    if (element->properties || heading || rule->part == PART_LIST)
        scaladoc(element, rule);
    if (heading && (is_docfx_label(element) || is_typedoc_label(element) ||
                    is_jsdoc_label(element)))
        rule->part = PART_BLOCK;
    if (makers_is_contents(element) || is_local_contents(element, rule->part))
        rules_skip(rule, "contents");
    else if (heading && is_author(element))
        rule->part = PART_BLOCK;
}

int makers_level(const xmlNode *heading)
{
    int level = natural_docs_level(heading);
    level = level ? level : doxygen_level(heading);
    return level ? level : linuxdoc_level(heading);
}
