#include "indexer/parse/html/apis.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"

/* ---- pdoc: a box for each member, with its name and its source ---- */

static bool is_pdoc_member(const xmlNode *box)
{
    return dom_tag(box) == GUMBO_TAG_SECTION
               ? dom_tag(box->parent) == GUMBO_TAG_MAIN &&
                     classes_has(box->parent, "pdoc")
               : classes_has(box, "classattr");
}

static void pdoc(const xmlNode *element, struct rule *rule)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_SECTION && is_pdoc_member(element))
        rule->part = PART_BLOCK;
    else if (tag == GUMBO_TAG_DIV && classes_has(element, "pdoc-code"))
        rules_skip(rule, "hidden"); /* the source */
    else if (tag == GUMBO_TAG_LABEL &&
             classes_has(element, "view-source-button"))
        rules_skip(rule, "control");
}

/* ---- Jazzy: members are the items of a list ---- */

static bool is_jazzy_member(const xmlNode *item)
{
    return dom_tag(item) == GUMBO_TAG_LI && classes_has(item, "item") &&
           classes_has(item->parent, "item-container");
}

static bool is_in_jazzy_member(const xmlNode *element)
{
    enum { MAX_UP = 8 };
    const xmlNode *up = element->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(up); i++, up = up->parent)
        if (is_jazzy_member(up))
            return true;
    return false;
}

static bool is_of(const xmlNode *element, const char *class, const char *around)
{
    return classes_has(element, class) && classes_has(element->parent, around);
}

/* What has a page of its own: "See more". */
static bool is_jazzy_summary(const xmlNode *item)
{
    for (const xmlNode *at = dom_next(item, item, false); at;
         at = dom_next(at, item, false))
        if (dom_tag(at) == GUMBO_TAG_A &&
            is_of(at, "slightly-smaller", "abstract"))
            return true;
    return false;
}

/* "Note" above a note's text, which is a box of its own. */
static bool is_jazzy_note(const xmlNode *box)
{
    const xmlNode *title = dom_element_from(box->children);
    return title && classes_has(box, "aside") &&
           is_of(title, "aside-title", "aside");
}

static void jazzy(const xmlNode *element, struct rule *rule)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_UL && classes_has(element, "item-container"))
        rule->part = PART_BLOCK;
    else if (is_jazzy_member(element) && is_jazzy_summary(element))
        rules_skip(rule, "contents");
    else if (is_jazzy_member(element))
        rule->part = PART_BLOCK;
    else if (tag == GUMBO_TAG_H4 && classes_has(element->parent, "declaration"))
        rules_skip(rule, "label");
    else if (tag == GUMBO_TAG_H4 && is_in_jazzy_member(element))
        rule->part = PART_BLOCK; /* "Parameters" */
    else if (tag == GUMBO_TAG_P && is_of(element, "aside-title", "language"))
        rules_skip(rule, "label"); /* "Swift" */
    else if (tag == GUMBO_TAG_P && is_of(element, "header-col", "header"))
        rules_skip(rule, "header");
    else if (tag == GUMBO_TAG_DIV && is_jazzy_note(element)) {
        rule->part = PART_NOTE;
        rule->info = "note";
    }
}

/* ---- Doctum: a table of methods, then what each does ---- */

static bool is_doctum_summary(const xmlNode *table)
{
    enum { MAX_LOOK = 64 };
    static const char method[] = "#method_";
    if (!table || !classes_has(table, "underlined") ||
        !classes_has(table, "container-fluid"))
        return false;
    int left = MAX_LOOK;
    for (const xmlNode *at = dom_next(table, table, false); at && left--;
         at = dom_next(at, table, false)) {
        const char *url =
            dom_tag(at) == GUMBO_TAG_A ? dom_attribute(at, "href") : NULL;
        if (url && slice_starts(slice_of(url), slice_of(method)))
            return true;
    }
    return false;
}

/* <h2 id="letterC">C</h2><dl id="indexC">: all names of that letter. */
static bool is_doctum_index(const xmlNode *list)
{
    const xmlNode *letter = dom_element_before(list);
    const char *id = dom_attribute(list, "id");
    const char *above = letter ? dom_attribute(letter, "id") : NULL;
    return id && above && dom_tag(letter) == GUMBO_TAG_H2 &&
           slice_starts(slice_of(id), slice_of("index")) &&
           slice_starts(slice_of(above), slice_of("letter")) &&
           strlen(id) == 6 && !strcmp(id + 5, above + 6);
}

static bool is_doctum_label(const xmlNode *heading)
{
    return dom_tag(heading) == GUMBO_TAG_H4 &&
           classes_has(heading->parent, "tags") &&
           dom_is_element(heading->parent->parent) &&
           classes_has(heading->parent->parent, "details");
}

/* "No description" */
static bool is_doctum_blank(const xmlNode *paragraph)
{
    return dom_tag(paragraph) == GUMBO_TAG_P &&
           is_of(paragraph, "no-description", "method-description");
}

static void doctum(const xmlNode *element, struct rule *rule)
{
    bool heading = rule->part == PART_HEADING;
    const xmlNode *table = heading ? dom_element_from(element->next) : element;
    if (dom_tag(element) == GUMBO_TAG_DL)
        rule->index |= is_doctum_index(element);
    if (is_doctum_summary(table))
        rules_skip(rule, "contents");
    else if (is_doctum_blank(element))
        rules_skip(rule, "label");
    else if (heading && is_doctum_label(element))
        rule->part = PART_BLOCK; /* "Return Value" */
    else if (classes_has(element, "location") &&
             dom_tag(element->parent) == GUMBO_TAG_H3 &&
             classes_has(element->parent->parent, "method-item"))
        rules_skip(rule, "navigation"); /* "at line 66" */
}

/* ---- dartdoc: what scripts fill at both sides, and the source ---- */

/* The page's name once more, between signs that are words of a font of icons. */
static bool is_dartdoc_top(const xmlNode *header)
{
    const xmlNode *first = dom_element_from(header->children);
    return first && dom_tag(header) == GUMBO_TAG_HEADER &&
           dom_has_id(first, "sidenav-left-toggle");
}

static bool is_parameters(const xmlNode *list)
{
    const xmlNode *item =
        dom_tag(list) == GUMBO_TAG_OL && classes_has(list, "parameter-list")
            ? dom_element_from(list->children)
            : NULL;
    const xmlNode *first = item ? dom_element_from(item->children) : NULL;
    return first && classes_has(first, "parameter");
}

static void dartdoc(const xmlNode *element, struct rule *rule)
{
    static const char sidebar[] = "dartdoc-sidebar-";
    const char *id = dom_attribute(element, "id");
    if (is_dartdoc_top(element))
        rules_skip(rule, "header");
    else if (id && slice_starts(slice_of(id), slice_of(sidebar)))
        rules_skip(rule, "navigation");
    else if (dom_tag(element) == GUMBO_TAG_SECTION &&
             classes_has(element, "source-code") &&
             classes_has(element, "summary"))
        rules_skip(rule, "hidden");
    else if (is_parameters(element) || (dom_tag(element) == GUMBO_TAG_LI &&
                                        is_parameters(element->parent)))
        rule->part = PART_INLINE; /* of a signature */
}

/* ---- Nim: an index of terms, and what stands beside each module ---- */

/* Terms with a link to themselves, and what they name below each. */
static bool is_nim_index(const xmlNode *list)
{
    const xmlNode *term = dom_element_from(list->children);
    const xmlNode *meaning = term ? dom_element_from(term->next) : NULL;
    const xmlNode *own = term ? dom_element_from(term->children) : NULL;
    const xmlNode *links = meaning ? dom_element_from(meaning->children) : NULL;
    const char *name = own ? dom_attribute(own, "name") : NULL;
    const char *url = own ? dom_attribute(own, "href") : NULL;
    return name && url && url[0] == '#' && !strcmp(url + 1, name) &&
           dom_tag(term) == GUMBO_TAG_DT && dom_tag(meaning) == GUMBO_TAG_DD &&
           links && dom_tag(links) == GUMBO_TAG_UL &&
           classes_has(links, "simple");
}

static void nim(const xmlNode *element, struct rule *rule)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_DL)
        rule->index |= is_nim_index(element);
    else if (tag == GUMBO_TAG_A && classes_has(element, "link-seesrc"))
        rules_skip(rule, "control");
    else if (tag == GUMBO_TAG_UL && classes_has(element, "simple-toc"))
        rules_skip(rule, "contents");
    else if (tag == GUMBO_TAG_SPAN && classes_has(element, "pragmawrap"))
        rules_skip(rule, "hidden"); /* shown by the dots before it */
    else if (tag == GUMBO_TAG_DIV && dom_has_id(element, "global-links"))
        rules_skip(rule, "navigation");
    else if (tag == GUMBO_TAG_DIV &&
             (dom_has_id(element, "searchInputDiv") ||
              classes_has(element, "theme-switch-wrapper")))
        rules_skip(rule, "control");
}

bool apis_is_signatures(const xmlNode *list, const xmlNode *first_term)
{
    const xmlNode *code = dom_element_from(first_term->children);
    return classes_has(list, "item") && code && dom_tag(code) == GUMBO_TAG_PRE;
}

/* ---- FORD: how long a procedure is, what is on its page, and its source ---- */

static bool is_ford_contents(const xmlNode *box)
{
    const xmlNode *heading =
        dom_has_id(box, "sidebar") ? dom_element_from(box->children) : NULL;
    const xmlNode *next = heading ? dom_element_from(heading->next) : NULL;
    return next && dom_tag(heading) == GUMBO_TAG_H3 &&
           classes_has(next, "card");
}

static bool is_ford_source(const xmlNode *section)
{
    const xmlNode *heading = dom_tag(section) == GUMBO_TAG_SECTION
                                 ? dom_element_from(section->children)
                                 : NULL;
    const xmlNode *anchor = heading && dom_tag(heading) == GUMBO_TAG_H2
                                ? dom_element_from(heading->children)
                                : NULL;
    const xmlNode *code = anchor ? dom_element_from(heading->next) : NULL;
    return code && dom_has_id(anchor, "src") && classes_has(anchor, "anchor") &&
           (dom_tag(code) == GUMBO_TAG_PRE || dom_find(code, GUMBO_TAG_PRE)) &&
           !dom_element_from(code->next);
}

/* "29 statements", the source's file. */
static bool is_ford_bar(const xmlNode *box)
{
    const xmlNode *item = dom_has_id(box, "info-bar") && classes_has(box, "row")
                              ? dom_find(box, GUMBO_TAG_LI)
                              : NULL;
    return item && classes_has(item, "list-inline-item");
}

static bool begins_with(const xmlNode *heading, const char *words)
{
    const xmlNode *text = heading->children;
    struct buf folded = {0};
    if (text && !dom_is_element(text))
        text_fold_space(&folded, dom_text(text)->text);
    bool begins = slice_is(buf_slice(&folded), words);
    buf_free(&folded);
    return begins;
}

/* Does a heading of the text's own stand before it, with an id that Markdown gave it? */
static bool is_below_another(const xmlNode *heading)
{
    enum { MAX_BEFORE = 64 };
    const xmlNode *before = dom_element_before(heading);
    for (int i = 0; i < MAX_BEFORE && before; i++) {
        int tag = dom_tag(before);
        if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6 &&
            dom_attribute(before, "id"))
            return true;
        before = dom_element_before(before);
    }
    return false;
}

/* "Type Bound", "Arguments" and "Return Value" above parts of what is said of a procedure. */
static bool is_ford_label(const xmlNode *heading)
{
    int tag = dom_tag(heading);
    const xmlNode *next = dom_element_from(heading->next);
    if ((tag != GUMBO_TAG_H3 && tag != GUMBO_TAG_H4) || heading->properties ||
        is_below_another(heading))
        return false;
    if (next && classes_has(next, "varlist"))
        return begins_with(heading, "Arguments");
    if (dom_find(heading, GUMBO_TAG_SMALL))
        return begins_with(heading, "Return Value");
    const xmlNode *link = next ? dom_element_from(next->children) : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return url && strstr(url, "type/") && begins_with(heading, "Type Bound");
}

/* A type's page has a card for each procedure, and an item in it for what that stands
 * for; the headings of their texts are h3 as well. */
static int ford_level(const xmlNode *heading)
{
    const xmlNode *box = heading->parent;
    if (dom_tag(box) == GUMBO_TAG_LI && classes_has(box, "list-group-item"))
        return dom_tag(heading) == GUMBO_TAG_H3 && !dom_element_before(heading)
                   ? 4
                   : 6;
    const xmlNode *above =
        classes_has(box, "card-body") ? dom_element_before(box) : NULL;
    return above && classes_has(above, "codesum") ? 5 : 0;
}

/* What a card holds below its text is no list to read. */
static bool is_ford_list(const xmlNode *list)
{
    const xmlNode *first =
        dom_tag(list) == GUMBO_TAG_UL && classes_has(list, "list-group")
            ? dom_element_from(list->parent->children)
            : NULL;
    return first && classes_has(first, "codesum");
}

static void ford(const xmlNode *element, struct rule *rule)
{
    if (is_ford_bar(element))
        rules_skip(rule, "header");
    else if (is_ford_contents(element))
        rules_skip(rule, "contents");
    else if (is_ford_source(element))
        rules_skip(rule, "hidden");
    else if (is_ford_list(element) || (dom_tag(element) == GUMBO_TAG_LI &&
                                       is_ford_list(element->parent)))
        rule->part = PART_BLOCK;
    else if (rule->part == PART_HEADING && is_ford_label(element))
        rule->part = PART_BLOCK;
}

/* ---- pkgdown: R's help pages, which are called by what their functions are for ---- */

/* "pump.Rd", which its sheet hides. */
static bool is_pkgdown_file(const xmlNode *box)
{
    return dom_tag(box) == GUMBO_TAG_DIV && classes_has(box, "name") &&
           (classes_has(box, "hidden") || classes_has(box, "d-none")) &&
           classes_has(box->parent, "page-header");
}

bool apis_is_list_of_names(const xmlNode *box)
{
    return dom_tag(box) == GUMBO_TAG_DIV &&
           classes_has(box, "template-reference-index");
}

/* ---- pydoctor: a page for each module and class, called by the names of all above ---- */

static bool is_pydoctor_title(const xmlNode *heading)
{
    const xmlNode *next = dom_tag(heading) == GUMBO_TAG_H1 &&
                                  dom_tag(heading->parent) == GUMBO_TAG_DIV &&
                                  classes_has(heading->parent, "page-header")
                              ? dom_element_from(heading->next)
                              : NULL;
    return next && dom_has_id(next, "showPrivate");
}

/* What all-documents.html says of each, for a program that searches. */
static bool is_pydoctor_document(const xmlNode *box)
{
    const xmlNode *next =
        classes_has(box, "fullName") ? dom_element_from(box->next) : NULL;
    return next && classes_has(next, "url");
}

/* "View In Hierarchy", "Undocumented" */
static bool is_pydoctor_blank(const xmlNode *element)
{
    const xmlNode *link =
        dom_tag(element) == GUMBO_TAG_P &&
                classes_has(element->parent, "extrasDocstring")
            ? dom_element_from(element->children)
            : NULL;
    const char *url = link ? dom_attribute(link, "href") : NULL;
    return (url && slice_starts(slice_of(url), slice_of("classIndex.html#"))) ||
           (dom_tag(element) == GUMBO_TAG_SPAN &&
            classes_has(element, "undocumented"));
}

static void pydoctor(const xmlNode *element, struct rule *rule)
{
    int tag = dom_tag(element);
    if (tag == GUMBO_TAG_A && (classes_has(element, "sourceLink") ||
                               classes_has(element, "headerLink")))
        rules_skip(rule, "control");
    else if (dom_has_id(element, "splitTables"))
        rules_skip(rule, "contents");
    else if (dom_has_id(element, "showPrivate") ||
             dom_has_id(element, "search-results-container"))
        rules_skip(rule, "control");
    else if (is_pydoctor_blank(element) ||
             (tag == GUMBO_TAG_DIV && classes_has(element, "categoryHeader")))
        rules_skip(rule, "label"); /* "class documentation" */
}

const char *apis_above(const xmlNode *heading)
{
    const char *last = NULL, *above = NULL;
    if (!is_pydoctor_title(heading))
        return NULL;
    for (const xmlNode *at = dom_next(heading, heading, false); at;
         at = dom_next(at, heading, false))
        if (dom_tag(at) == GUMBO_TAG_A && dom_attribute(at, "href")) {
            above = last;
            last = dom_attribute(at, "href");
        }
    return above;
}

/* ---- Doxygen: "Here is a list of all variables", "Class Index" ---- */

/* "bits : Pump, Valve", where only the classes are links. */
static bool is_doxygen_member(const xmlNode *item)
{
    static const char colon[] = "\u00a0:\u00a0";
    const xmlNode *text = item->children, *link = text ? text->next : NULL;
    if (!link || dom_is_element(text) || dom_tag(link) != GUMBO_TAG_A ||
        !classes_has(link, "el"))
        return false;
    struct slice words = dom_text(text)->text;
    size_t size = sizeof colon - 1;
    return words.size > size &&
           !memcmp(words.data + words.size - size, colon, size);
}

/* What all members are called, by letters or in one list, and of what each is one. */
static bool is_doxygen_members(const xmlNode *box)
{
    const xmlNode *at =
        classes_has(box, "contents") ? dom_element_from(box->children) : NULL;
    if (at && dom_tag(at) == GUMBO_TAG_DIV && classes_has(at, "textblock"))
        at = dom_element_from(at->next);
    if (at && dom_tag(at) == GUMBO_TAG_H3 && dom_find(at, GUMBO_TAG_A))
        at = dom_element_from(at->next);
    const xmlNode *item = at && dom_tag(at) == GUMBO_TAG_UL
                              ? dom_element_from(at->children)
                              : NULL;
    return item && is_doxygen_member(item);
}

static bool is_doxygen_classes(const xmlNode *box)
{
    const xmlNode *list =
        classes_has(box, "classindex") ? dom_element_from(box->children) : NULL;
    return list && dom_tag(list) == GUMBO_TAG_DL &&
           classes_has(list, "classindex");
}

bool apis_is_list_of_all(const xmlNode *element)
{
    return dom_tag(element) == GUMBO_TAG_H1
               ? is_pydoctor_title(element) && !dom_attribute(element, "class")
               : is_pydoctor_document(element) || is_doxygen_members(element) ||
                     is_doxygen_classes(element);
}

/* ---- Macaulay2: a box for each part of what is said of "gb -- Groebner bases" ---- */

static bool is_macaulay2_title(const xmlNode *heading)
{
    const xmlNode *text =
        heading && dom_tag(heading) == GUMBO_TAG_H1 ? heading->children : NULL;
    return text && !dom_is_element(text) &&
           memmem(dom_text(text)->text.data, dom_text(text)->text.size, " -- ",
                  4);
}

static bool is_macaulay2_label(const xmlNode *heading)
{
    const xmlNode *box = heading->parent;
    return dom_tag(heading) == GUMBO_TAG_H2 && dom_tag(box) == GUMBO_TAG_DIV &&
           !box->properties && dom_element_from(box->children) == heading &&
           dom_tag(box->parent) == GUMBO_TAG_DIV &&
           is_macaulay2_title(dom_element_from(box->parent->children)) &&
           (begins_with(heading, "Synopsis") ||
            begins_with(heading, "Description"));
}

/* ---- odoc: a box for each value, type and module ---- */

/* What of OCaml's the box describes, or NULL. */
static const xmlNode *odoc_item(const xmlNode *box)
{
    const xmlNode *item =
        dom_tag(box) == GUMBO_TAG_DIV && classes_has(box, "odoc-spec")
            ? dom_element_from(box->children)
            : NULL;
    return item && classes_has(item, "spec") && dom_attribute(item, "id")
               ? item
               : NULL;
}

/* "module Timer : sig ... end", with a link to its page: "Timer/index.html". */
static bool is_odoc_summary(const xmlNode *item)
{
    static const char module[] = "module-";
    enum { MAX_LOOK = 32 };
    const char *id = dom_attribute(item, "id");
    if (!slice_starts(slice_of(id), slice_of(module)))
        return false;
    const char *names[] = {id, id + sizeof module - 1};
    int left = MAX_LOOK;
    for (const xmlNode *at = dom_next(item, item, false); at && left--;
         at = dom_next(at, item, false)) {
        const char *url =
            dom_tag(at) == GUMBO_TAG_A ? dom_attribute(at, "href") : NULL;
        for (int i = 0; url && i < 2; i++)
            if (slice_starts(slice_of(url), slice_of(names[i])) &&
                url[strlen(names[i])] == '/')
                return true;
    }
    return false;
}

static bool is_odoc_member(const xmlNode *box)
{
    const xmlNode *item = odoc_item(box);
    return item && !classes_has(item, "module") &&
           !classes_has(item, "module-type") && !classes_has(item, "parameter");
}

static void odoc(const xmlNode *element, struct rule *rule)
{
    const xmlNode *item = odoc_item(element);
    if (item && is_odoc_summary(item))
        rules_skip(rule, "contents");
    else if (dom_tag(element) == GUMBO_TAG_A &&
             classes_has(element, "anchor") &&
             dom_is_element(element->parent) &&
             classes_has(element->parent, "anchored"))
        rules_skip(rule, "permalink");
}

/* ---- Documenter, of Julia's packages: a box for each docstring ---- */

/* Its <header>, or the <summary> of a box that folds. */
static const xmlNode *docstring_head(const xmlNode *box)
{
    const xmlNode *head =
        classes_has(box, "docstring") ? dom_element_from(box->children) : NULL;
    int tag = head ? dom_tag(head) : GUMBO_TAG_LAST;
    return tag == GUMBO_TAG_HEADER || tag == GUMBO_TAG_SUMMARY ? head : NULL;
}

/* "Arguments" in what is said of a function. */
static bool is_in_docstring(const xmlNode *heading)
{
    enum { MAX_UP = 4 };
    const xmlNode *up = heading->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(up); i++, up = up->parent)
        if (docstring_head(up))
            return true;
    return false;
}

static void documenter(const xmlNode *element, struct rule *rule)
{
    if (docstring_head(element) ||
        (rule->part == PART_HEADING && is_in_docstring(element)))
        rule->part = PART_BLOCK;
    else if (dom_tag(element) == GUMBO_TAG_A &&
             classes_has(element, "docs-sourcelink"))
        rules_skip(rule, "control");
}

/* ---- ESDoc: what it makes has names of its own for each part ---- */

static bool is_ice(const xmlNode *element, const char *name)
{
    const char *own =
        dom_is_element(element) ? dom_attribute(element, "data-ice") : NULL;
    return own && !strcmp(own, name);
}

/* The name and signature of what the box describes, or NULL. */
static const xmlNode *esdoc_name(const xmlNode *box)
{
    const xmlNode *name =
        is_ice(box, "detail") ? dom_element_from(box->children) : NULL;
    return name && dom_tag(name) == GUMBO_TAG_H3 && is_ice(name, "anchor")
               ? name
               : NULL;
}

/* "Params:", "Return:" */
static bool is_esdoc_label(const xmlNode *heading)
{
    enum { MAX_UP = 8 };
    const xmlNode *up = heading->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(up); i++, up = up->parent)
        if (is_ice(up, "detail"))
            return dom_tag(heading) == GUMBO_TAG_H4;
    return false;
}

/* "methodSummary": a table of what is described below, or has pages of its own. */
static bool is_esdoc_summary(const xmlNode *box)
{
    static const char end[] = "Summary";
    const char *name =
        dom_tag(box) == GUMBO_TAG_DIV ? dom_attribute(box, "data-ice") : NULL;
    size_t size = name ? strlen(name) : 0, own = sizeof end - 1;
    return size > own && !strcmp(name + size - own, end);
}

static void esdoc(const xmlNode *element, struct rule *rule)
{
    if (is_esdoc_summary(element))
        rules_skip(rule, "contents");
    else if (rule->part == PART_HEADING && is_esdoc_label(element))
        rule->part = PART_BLOCK;
    else if (dom_tag(element) == GUMBO_TAG_SPAN && is_ice(element, "source"))
        rules_skip(rule, "control");
}

/* ESDoc's listing of a source, and its table of all. */
bool apis_is_listing(const xmlNode *element)
{
    const xmlNode *code = dom_element_from(element->children);
    if (dom_tag(element) == GUMBO_TAG_TABLE)
        return classes_has(element, "files-summary") &&
               is_ice(element, "files");
    return dom_tag(element) == GUMBO_TAG_PRE && code &&
           classes_has(element, "source-code") && is_ice(code, "content");
}

/* ---- All of them ---- */

void apis_apply(const xmlNode *element, struct rule *rule)
{
    if (element->properties) {
        pdoc(element, rule);
        jazzy(element, rule);
        odoc(element, rule);
    } else if (dom_tag(element) == GUMBO_TAG_H4) {
        jazzy(element, rule);
    }
    if (element->properties || rule->part == PART_HEADING)
        doctum(element, rule);
    dartdoc(element, rule);
    nim(element, rule);
    ford(element, rule);
    pydoctor(element, rule);
    if (element->properties || rule->part == PART_HEADING) {
        documenter(element, rule);
        esdoc(element, rule);
    }
    if (is_macaulay2_label(element))
        rules_skip(rule, "label");
    if (is_pkgdown_file(element))
        rules_skip(rule, "hidden");
}

int apis_level(const xmlNode *heading)
{
    return ford_level(heading);
}

static const xmlNode *child_called(const xmlNode *box, const char *class)
{
    const xmlNode *child = dom_element_from(box->children);
    while (child && !classes_has(child, class))
        child = dom_element_from(child->next);
    return child;
}

const xmlNode *apis_name_in(const xmlNode *box)
{
    if (is_jazzy_member(box))
        return dom_element_from(box->children);
    if (is_odoc_member(box))
        return odoc_item(box);
    const xmlNode *head = docstring_head(box);
    if ((head = head ? head : esdoc_name(box)))
        return head;
    int tag = dom_tag(box);
    return (tag == GUMBO_TAG_SECTION || tag == GUMBO_TAG_DIV) &&
                   is_pdoc_member(box)
               ? child_called(box, "attr")
               : NULL;
}
