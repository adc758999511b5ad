#include "indexer/parse/html/docgens.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/contents.h"

static const xmlNode *child_of_class(const xmlNode *box, const char *class)
{
    const xmlNode *child = dom_element_from(box->children);
    while (child && !classes_has(child, class))
        child = dom_element_from(child->next);
    return child;
}

static bool has_anchor(const xmlNode *element, const char *prefix)
{
    const char *name = element && dom_tag(element) == GUMBO_TAG_A
                           ? dom_attribute(element, "name")
                           : NULL;
    return name && !strncmp(name, prefix, strlen(prefix));
}

/* ---- phpDocumentor 3: a menu, a table of members, and labels ---- */

static bool is_php_contents(const xmlNode *element)
{
    enum { MAX_HEADINGS = 2 }; /* "Table of Contents", "Methods" */
    const xmlNode *next = element;
    for (int i = 0;
         i < MAX_HEADINGS && next &&
         (dom_tag(next) == GUMBO_TAG_H3 || dom_tag(next) == GUMBO_TAG_H4);
         i++)
        next = dom_element_from(next->next);
    return next && dom_tag(next) == GUMBO_TAG_DL &&
           classes_has(next, "phpdocumentor-table-of-contents");
}

static void php_documentor(const xmlNode *element, struct rule *rule)
{
    static const struct {
        const char *class, *why;
    } chrome[] = {
        {"phpdocumentor-back-to-top", "navigation"},
        {"phpdocumentor-breadcrumbs", "navigation"},
        {"phpdocumentor-element-found-in", "control"},
        {"phpdocumentor-element__package", "label"},
        {"phpdocumentor-header", "header"},
        {"phpdocumentor-modal", "hidden"},
        {"phpdocumentor-on-this-page__content", "contents"},
        {"phpdocumentor-search-results", "control"},
        {"phpdocumentor-sidebar", "navigation"},
        {"phpdocumentor-sidebar__menu-icon", "control"},
    };
    for (size_t i = 0; i < sizeof chrome / sizeof *chrome; i++)
        if (classes_has(element, chrome[i].class))
            rules_skip(rule, chrome[i].why);
    if (is_php_contents(element))
        rules_skip(rule, "contents");
    else if (dom_tag(element) == GUMBO_TAG_H5 &&
             (classes_has(element, "phpdocumentor-argument-list__heading") ||
              classes_has(element, "phpdocumentor-return-value__heading") ||
              classes_has(element, "phpdocumentor-tag-list__heading")))
        rule->part = PART_BLOCK; /* "Parameters" */
}

/* ---- YUIDoc: a box for each method, property, attribute and event ---- */

static bool is_yui_item(const xmlNode *box)
{
    static const char *const kinds[] = {"method", "property", "attribute",
                                        "event"};
    if (!classes_is_box(box, "item"))
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (classes_has(box, kinds[i]))
            return true;
    return false;
}

static const xmlNode *yui_name(const xmlNode *box)
{
    const xmlNode *name = is_yui_item(box) ? child_of_class(box, "name") : NULL;
    return name && dom_tag(name) == GUMBO_TAG_H3 ? name : NULL;
}

/* "Item Index", and all members: the tab that is in front. */
static bool is_yui_index(const xmlNode *box)
{
    const xmlNode *first =
        dom_has_id(box, "index") && classes_is_box(box, "tab-pane")
            ? dom_element_from(box->children)
            : NULL;
    return first && dom_tag(first) == GUMBO_TAG_H2 &&
           classes_has(first, "off-left");
}

static bool is_yui_label(const xmlNode *heading)
{
    enum { MAX_UP = 6 };
    const xmlNode *up = heading->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(up); i++, up = up->parent)
        if (is_yui_item(up))
            return dom_tag(heading) == GUMBO_TAG_H4;
    return false;
}

/* What is said of a member in the class that defines it, on a page of the manual. */
static bool is_yui_inherited(const xmlNode *box)
{
    const xmlNode *meta = is_yui_item(box) && classes_has(box, "inherited")
                              ? child_of_class(box, "meta")
                              : NULL;
    const xmlNode *link = meta ? dom_find(meta, GUMBO_TAG_A) : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return url && slice_starts(slice_of(url), slice_of("../classes/"));
}

static void yuidoc(const xmlNode *element, struct rule *rule)
{
    const xmlNode *around = element->parent;
    if (is_yui_index(element) || is_yui_inherited(element))
        rules_skip(rule, "contents");
    else if (rule->part == PART_HEADING && is_yui_label(element))
        rule->part = PART_BLOCK; /* "Parameters:" */
    else if (dom_has_id(element, "docs-sidebar") &&
             classes_has(element, "apidocs"))
        rules_skip(rule, "navigation");
    else if (classes_has(element, "args-list") &&
             classes_is_box(around, "args"))
        rule->part = PART_INLINE; /* of a signature */
    else if (dom_tag(element) == GUMBO_TAG_LI && classes_has(element, "arg") &&
             classes_has(around, "args-list"))
        rule->part = PART_INLINE;
    else if (classes_is_box(element, "args") && is_yui_item(around))
        rule->part = PART_INLINE;
}

static bool is_yui_listing(const xmlNode *code)
{
    return dom_tag(code) == GUMBO_TAG_PRE && classes_has(code, "prettyprint") &&
           classes_has(code, "linenums") &&
           classes_is_box(code->parent, "file") && !dom_element_before(code);
}

/* ---- ASDoc: a table for each name, then what it is ---- */

static bool is_as_summary(const xmlNode *box)
{
    const xmlNode *title = classes_is_box(box, "summarySection")
                               ? dom_element_from(box->children)
                               : NULL;
    return title && classes_is_box(title, "summaryTableTitle");
}

static bool is_as_name(const xmlNode *table)
{
    const xmlNode *cell = classes_has(table, "detailHeader")
                              ? dom_find(table, GUMBO_TAG_TD)
                              : NULL;
    return cell && classes_has(cell, "detailHeaderName");
}

static void asdoc(const xmlNode *element, struct rule *rule)
{
    if (is_as_summary(element))
        rules_skip(rule, "contents");
    else if (classes_is_box(element, "detailSectionHeader"))
        rules_skip(rule, "label"); /* "Method detail" */
    else if (dom_is_cell(element) &&
             (classes_has(element, "detailHeaderType") ||
              classes_has(element, "detailHeaderRule") ||
              classes_has(element, "detailHeaderImage")))
        rules_skip(rule, "label"); /* "method" */
    else if (dom_tag(element) == GUMBO_TAG_TABLE &&
             classes_has(element, "titleTable") &&
             dom_has_id(element, "titleTable"))
        rules_skip(rule, "header");
}

const char *docgens_above(const xmlNode *row)
{
    const xmlNode *label = dom_element_from(row->children);
    const xmlNode *cell = label &&
                                  classes_has(label, "classHeaderTableLabel") &&
                                  !dom_element_before(row)
                              ? dom_element_from(label->next)
                              : NULL;
    const xmlNode *link = cell ? dom_find(cell, GUMBO_TAG_A) : NULL;
    return link ? dom_attribute(link, "href") : NULL;
}

/* All names that begin with a letter, each with what it is of. */
static bool is_as_index(const xmlNode *table)
{
    enum { MAX_LOOK = 256 };
    if (dom_tag(table) != GUMBO_TAG_TABLE ||
        !classes_is_box(table->parent, "MainContent"))
        return false;
    int left = MAX_LOOK;
    for (const xmlNode *at = dom_next(table, table, false); at && left--;
         at = dom_next(at, table, false))
        if (dom_tag(at) == GUMBO_TAG_TD && classes_has(at, "idxrow"))
            return true;
    return false;
}

/* What a frame beside the text shows. */
static bool is_as_frame(const xmlNode *body)
{
    return dom_tag(body) == GUMBO_TAG_BODY &&
           classes_has(body, "classFrameContent");
}

/* ---- Epydoc: sources, and what it says of itself ---- */

static bool is_epydoc_listing(const xmlNode *element)
{
    const xmlNode *line = dom_element_from(element->children);
    if (dom_tag(element) == GUMBO_TAG_PRE)
        return classes_has(element, "py-src") && has_anchor(line, "L1");
    const xmlNode *before = classes_is_box(element, "log-block") ||
                                    classes_is_box(element, "log-warning")
                                ? dom_element_before(element)
                                : NULL;
    return before && dom_tag(before) == GUMBO_TAG_P &&
           classes_has(before, "log");
}

static void epydoc(const xmlNode *element, struct rule *rule)
{
    const xmlNode *link = classes_has(element, "codelink")
                              ? dom_find(element, GUMBO_TAG_A)
                              : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    if (url && strstr(url, "-pysrc.html"))
        rules_skip(rule, "control"); /* "source code" */
}

/* ---- Maven's sites: sources, each line with a number ---- */

static bool is_maven_listing(const xmlNode *code)
{
    const xmlNode *line = dom_tag(code) == GUMBO_TAG_PRE
                              ? dom_element_from(code->children)
                              : NULL;
    bool covered = dom_tag(code) == GUMBO_TAG_PRE && /* JaCoCo's */
                   dom_tag(code->parent) == GUMBO_TAG_BODY &&
                   classes_has(code, "source") &&
                   classes_has(code, "linenums") &&
                   strstr(dom_attribute(code, "class"), "lang-");
    return covered || (line && dom_tag(line) == GUMBO_TAG_A &&
                       classes_has(line, "jxr_linenumber"));
}

/* ---- PasDoc: a table for each member, below one of all of them ---- */

static bool is_pas_member(const xmlNode *table)
{
    return dom_tag(table) == GUMBO_TAG_TABLE && classes_has(table, "detail") &&
           classes_has(table, "wide_list");
}

/* The title of a class or a unit. */
static bool is_pas_title(const xmlNode *title)
{
    return dom_tag(title) == GUMBO_TAG_H1 &&
           (classes_has(title, "cio") || classes_has(title, "unit") ||
            classes_has(title, "allitems"));
}

/* Does it stand, with the page's text, behind such a title? */
static bool is_of_pas(const xmlNode *heading)
{
    enum { MAX_LOOK = 16 };
    int left = MAX_LOOK;
    const xmlNode *at = dom_element_from(heading->parent->children);
    while (at && left-- && dom_tag(at) != GUMBO_TAG_H1)
        at = dom_element_from(at->next);
    return at && is_pas_title(at);
}

static bool is_pas_summary(const xmlNode *element)
{
    const xmlNode *next = element;
    if (dom_tag(element) == GUMBO_TAG_H2 && classes_has(element, "overview"))
        return is_of_pas(element);
    if (dom_tag(element) == GUMBO_TAG_H3 && classes_has(element, "summary"))
        next = dom_element_from(element->next);
    return next && dom_tag(next) == GUMBO_TAG_TABLE &&
           classes_has(next, "summary") && classes_has(next, "wide_list");
}

/* "Unit", "Declaration", and "Description" above what the page is about. */
static bool is_pas_label(const xmlNode *heading)
{
    static const char *const names[] = {"unit", "declaration", "hierarchy"};
    if (dom_tag(heading) != GUMBO_TAG_H2 || !is_of_pas(heading))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (classes_has(heading, names[i]))
            return true;
    const xmlNode *next = dom_element_from(heading->next);
    return classes_has(heading, "description") && next &&
           dom_tag(next) == GUMBO_TAG_P;
}

/* What the project is called, above the title of each page. */
static bool is_pas_banner(const xmlNode *heading)
{
    const xmlNode *title = dom_tag(heading) == GUMBO_TAG_H2 &&
                                   !dom_attribute(heading, "class") &&
                                   !dom_element_before(heading) &&
                                   classes_has(heading->parent, "content")
                               ? heading
                               : NULL;
    while (title && dom_tag(title) != GUMBO_TAG_H1)
        title = dom_element_from(title->next);
    return title && is_pas_title(title);
}

/* A piece of the table that a member is laid out by. */
static bool is_pas_layout(const xmlNode *element)
{
    enum { MAX_UP = 3 };
    int tag = dom_tag(element);
    if (tag != GUMBO_TAG_TBODY && tag != GUMBO_TAG_TR && tag != GUMBO_TAG_TD)
        return false;
    const xmlNode *up = element->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(up); i++, up = up->parent)
        if (dom_tag(up) == GUMBO_TAG_TABLE)
            return is_pas_member(up);
    return false;
}

/* The page's menu, and its text: a table of two cells. */
static bool is_pas_page(const xmlNode *table)
{
    const xmlNode *menu =
        dom_tag(table) == GUMBO_TAG_TABLE && classes_has(table, "container")
            ? dom_find(table, GUMBO_TAG_TD)
            : NULL;
    const xmlNode *text = menu ? dom_element_from(menu->next) : NULL;
    return text && classes_has(menu, "navigation") &&
           classes_has(text, "content");
}

static void pasdoc(const xmlNode *element, struct rule *rule)
{
    const xmlNode *next = dom_element_from(element->next);
    if (dom_tag(element) == GUMBO_TAG_TD &&
        classes_has(element, "navigation") && next &&
        classes_has(next, "content"))
        rules_skip(rule, "navigation");
    else if (dom_tag(element) == GUMBO_TAG_TABLE &&
             classes_has(element, "sections") &&
             classes_has(element, "wide_list"))
        rules_skip(rule, "contents");
    else if (is_pas_summary(element))
        rules_skip(rule, "contents");
    else if (rule->part == PART_HEADING && is_pas_banner(element))
        rules_skip(rule, "header");
    else if (rule->part == PART_HEADING && is_pas_label(element))
        rule->part = PART_BLOCK;
    else if (classes_has(element, "visibility") && is_pas_layout(element))
        rules_skip(rule, "label"); /* an image called "Public" */
    else if (is_pas_member(element) || is_pas_layout(element) ||
             is_pas_page(element))
        rule->part = PART_BLOCK;
}

static bool is_pas_name(const xmlNode *cell)
{
    return classes_has(cell, "itemcode") && is_pas_layout(cell);
}

/* ---- HeaderDoc: an anchor and a name above each declaration ---- */

static bool is_header_entry(const xmlNode *heading)
{
    return dom_tag(heading) == GUMBO_TAG_H3 &&
           has_anchor(dom_element_before(heading), "//apple_ref/");
}

/* What a group holds, each with its first sentence. */
static bool is_header_summary(const xmlNode *list)
{
    const xmlNode *end =
        dom_tag(list) == GUMBO_TAG_DL ? dom_element_from(list->next) : NULL;
    return end && dom_tag(end) == GUMBO_TAG_HR &&
           classes_has(end, "betweenAPIEntries");
}

static void headerdoc(const xmlNode *element, struct rule *rule)
{
    if (is_header_summary(element))
        rules_skip(rule, "contents");
    else if (dom_tag(element) == GUMBO_TAG_H5 && classes_has(element, "tight"))
        rule->part = PART_BLOCK; /* "Parameters" */
    else if (dom_tag(element) == GUMBO_TAG_TD && dom_has_id(element, "tocMenu"))
        rules_skip(rule, "contents");
}

/* ---- appledoc: its page's title stands in two places ---- */

static void appledoc(const xmlNode *element, struct rule *rule)
{
    if (dom_tag(element) == GUMBO_TAG_HEADER &&
        dom_has_id(element, "top_header"))
        rules_skip(rule, "header");
    else if (classes_is_box(element, "main-navigation") ||
             classes_is_box(element, "navigation-bottom"))
        rules_skip(rule, "navigation");
    else if (classes_is_box(element, "section-tasks"))
        rules_skip(rule, "contents");
    else if (classes_is_box(element, "declared-in-section"))
        rules_skip(rule, "label");
    else if (dom_tag(element) == GUMBO_TAG_H4 &&
             classes_has(element, "method-subtitle"))
        rule->part = PART_BLOCK; /* "Parameters" */
}

/* ---- dox, of Haxe: a field is a box with its signature ---- */

/* Before version 1.6 a name stood above the signature. */
static bool is_dox_field(const xmlNode *heading)
{
    if (dom_tag(heading) != GUMBO_TAG_H3 ||
        !classes_is_box(heading->parent, "field"))
        return false;
    const xmlNode *name = dom_element_before(heading);
    const xmlNode *first = dom_element_from(heading->children);
    return classes_has(heading, "anchor") ||
           (name && dom_tag(name) == GUMBO_TAG_A &&
            dom_attribute(name, "name") && first &&
            dom_tag(first) == GUMBO_TAG_P);
}

static bool is_dox_package(const xmlNode *heading)
{
    const xmlNode *first = dom_element_from(heading->children);
    return dom_tag(heading) == GUMBO_TAG_H4 && first &&
           dom_tag(first) == GUMBO_TAG_SMALL &&
           classes_is_box(heading->parent, "page-header");
}

/* What classes above define: "Inherited Methods". */
static bool is_dox_inherited(const xmlNode *element)
{
    const xmlNode *fields =
        dom_tag(element) == GUMBO_TAG_H3 && classes_has(element, "section")
            ? dom_element_from(element->next)
            : element;
    const xmlNode *first = fields && classes_is_box(fields, "fields")
                               ? dom_element_from(fields->children)
                               : NULL;
    const xmlNode *button = first && dom_tag(first) == GUMBO_TAG_H4
                                ? dom_element_from(first->children)
                                : NULL;
    return first && ((button && classes_has(button, "expand-button")) ||
                     !dom_holds(fields, DOM_HOLDS_TEXT | DOM_HOLDS_IMAGE));
}

/* "@:native" */
static bool is_dox_meta(const xmlNode *label)
{
    const xmlNode *text = label->children;
    return classes_has(label, "label") && classes_has(label, "label-meta") &&
           text && !dom_is_element(text) &&
           slice_starts(dom_text(text)->text, slice_of("@"));
}

static void dox(const xmlNode *element, struct rule *rule)
{
    if (rule->part == PART_HEADING && is_dox_package(element))
        rule->part = PART_BLOCK;
    else if (is_dox_inherited(element))
        rules_skip(rule, "contents");
    else if (dom_tag(element) == GUMBO_TAG_SPAN &&
             (classes_has(element, "viewsource") || is_dox_meta(element)))
        rules_skip(rule, "control");
    else if (dom_tag(element) == GUMBO_TAG_SPAN &&
             classes_has(element, "label") &&
             dom_tag(element->parent) == GUMBO_TAG_CODE &&
             is_dox_field(element->parent->parent))
        rules_skip(rule, "label"); /* "inline" */
}

/* ---- doc-gen4, of Lean: "Documentation" above each module's name ---- */

static bool is_lean_banner(const xmlNode *heading)
{
    const xmlNode *next = dom_tag(heading) == GUMBO_TAG_H1
                              ? dom_element_from(heading->next)
                              : NULL;
    return next && dom_tag(next) == GUMBO_TAG_H2 &&
           classes_has(next, "header_filename");
}

static const xmlNode *lean_name(const xmlNode *box)
{
    return dom_tag(box) == GUMBO_TAG_DIV && classes_is_box(box->parent, "decl")
               ? child_of_class(box, "decl_header")
               : NULL;
}

static void doc_gen(const xmlNode *element, struct rule *rule)
{
    if (rule->part == PART_HEADING && is_lean_banner(element))
        rules_skip(rule, "header");
    else if (classes_is_box(element, "gh_link") &&
             dom_is_element(element->parent->parent) &&
             classes_is_box(element->parent->parent, "decl"))
        rules_skip(rule, "control"); /* "source" */
    else if (dom_tag(element) == GUMBO_TAG_A &&
             classes_has(element, "hover-link") &&
             classes_has(element->parent, "markdown-heading"))
        rules_skip(rule, "permalink");
    else if (classes_is_box(element, "decl_type") &&
             classes_is_box(element->parent, "decl_header"))
        rule->part = PART_INLINE;
}

/* What is said of the module stands below its name, which is h2. */
static int lean_level(const xmlNode *heading)
{
    int level = dom_tag(heading) - GUMBO_TAG_H1 + 1;
    if (level == 2 && classes_has(heading, "header_filename"))
        return 1;
    return classes_has(heading, "markdown-heading") &&
                   classes_box_around(heading, "mod_doc")
               ? level + 1 - (level == 6)
               : 0;
}

/* ---- Just the Docs: pages below this one; ikiwiki: the trail and the title ---- */

/* Javadoc has lists of that name, too. */
bool docgens_is_menu(const xmlNode *list)
{
    const xmlNode *item =
        dom_tag(list) == GUMBO_TAG_UL && (classes_has(list, "nav-list") ||
                                          classes_has(list, "navigation-list"))
            ? dom_element_from(list->children)
            : NULL;
    return item && (classes_has(item, "nav-list-item") ||
                    classes_has(item, "navigation-list-item"));
}

/* "<a href=oil>Oil</a> - How to change it." */
static bool begins_with_link(const xmlNode *item)
{
    const xmlNode *at = item->children;
    while (at && !dom_is_element(at) && text_is_blank(dom_text(at)->text))
        at = at->next;
    return at && dom_tag(at) == GUMBO_TAG_A;
}

static bool lists_pages(const xmlNode *list)
{
    const xmlNode *item = dom_element_from(list->children);
    while (item && begins_with_link(item))
        item = dom_element_from(item->next);
    return !item;
}

static bool is_table_of_pages(const xmlNode *element)
{
    const xmlNode *heading = dom_tag(element) == GUMBO_TAG_UL
                                 ? dom_element_before(element)
                                 : element;
    const xmlNode *list = heading ? dom_element_from(heading->next) : NULL;
    const xmlNode *above = heading ? dom_element_before(heading) : NULL;
    return list && above && dom_tag(heading) == GUMBO_TAG_H2 &&
           classes_has(heading, "text-delta") &&
           dom_tag(list) == GUMBO_TAG_UL && dom_tag(above) == GUMBO_TAG_HR &&
           lists_pages(list);
}

static bool is_wiki_head(const xmlNode *box)
{
    enum { MAX_LOOK = 16 };
    if (!classes_is_box(box, "pageheader"))
        return false;
    int left = MAX_LOOK;
    for (const xmlNode *at = dom_next(box, box, false); at && left--;
         at = dom_next(at, box, false))
        if (dom_tag(at) == GUMBO_TAG_SPAN && classes_has(at, "parentlinks"))
            return true;
    return false;
}

static void sites(const xmlNode *element, struct rule *rule)
{
    if (is_table_of_pages(element))
        rules_skip(rule, "contents");
    else if (is_wiki_head(element))
        rules_skip(rule, "header");
}

/* ---- All of them ---- */

static void heading_of(const xmlNode *heading, struct rule *rule)
{
    php_documentor(heading, rule);
    yuidoc(heading, rule);
    pasdoc(heading, rule);
    headerdoc(heading, rule);
    appledoc(heading, rule);
    dox(heading, rule);
    doc_gen(heading, rule);
    sites(heading, rule);
}

static void box_of(const xmlNode *box, struct rule *rule)
{
    yuidoc(box, rule);
    asdoc(box, rule);
    appledoc(box, rule);
    dox(box, rule);
    doc_gen(box, rule);
    sites(box, rule);
}

/* By the tags that each of them writes: this is asked of every element. */
void docgens_apply(const xmlNode *element, struct rule *rule)
{
    const char *class =
        element->properties ? dom_attribute(element, "class") : NULL;
    if (class && strstr(class, "phpdocumentor"))
        php_documentor(element, rule);
    switch (dom_tag(element)) {
    case GUMBO_TAG_H1:
    case GUMBO_TAG_H2:
    case GUMBO_TAG_H3:
    case GUMBO_TAG_H4:
    case GUMBO_TAG_H5: heading_of(element, rule); break;
    case GUMBO_TAG_DIV:
        if (class)
            box_of(element, rule);
        break;
    case GUMBO_TAG_HEADER: appledoc(element, rule); break;
    case GUMBO_TAG_DL: headerdoc(element, rule); break;
    case GUMBO_TAG_UL: sites(element, rule); /* fall through */
    case GUMBO_TAG_LI:
        if (class)
            yuidoc(element, rule);
        break;
    case GUMBO_TAG_TABLE:
    case GUMBO_TAG_TBODY:
    case GUMBO_TAG_TR:
    case GUMBO_TAG_TH:
    case GUMBO_TAG_TD:
        pasdoc(element, rule);
        if (class)
            asdoc(element, rule);
        headerdoc(element, rule);
        break;
    case GUMBO_TAG_A:
        if (class)
            doc_gen(element, rule);
        break;
    case GUMBO_TAG_SPAN:
        if (class) {
            epydoc(element, rule);
            dox(element, rule);
        }
        break;
    default: break;
    }
}

int docgens_level(const xmlNode *heading)
{
    return lean_level(heading);
}

bool docgens_is_heading(const xmlNode *element)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_TABLE)
        return is_as_name(element);
    if (tag == GUMBO_TAG_TD)
        return is_pas_name(element);
    if (tag == GUMBO_TAG_H4)
        return classes_has(element, "phpdocumentor-element__name");
    return tag == GUMBO_TAG_H3 &&
           (is_dox_field(element) || is_header_entry(element) ||
            (classes_has(element, "method-title") &&
             classes_is_box(element->parent, "section-method")));
}

const xmlNode *docgens_name_in(const xmlNode *box)
{
    const xmlNode *name = yui_name(box);
    return name ? name : lean_name(box);
}

bool docgens_is_listing(const xmlNode *element)
{
    return is_yui_listing(element) || is_as_frame(element) ||
           is_as_index(element) || is_epydoc_listing(element) ||
           is_maven_listing(element);
}
