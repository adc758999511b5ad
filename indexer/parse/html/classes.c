#include "indexer/parse/html/classes.h"

#include <stdlib.h>

#include "base/text.h"

enum { MAX_LINK_LINE = 256 }; /* elements and texts in a line of links */

enum where {
    ON_DIV = 1,
    ON_TABLE = 2,
    ON_BLOCK = 4, /* every other element that is a block */
    ON_PIECE = 8, /* a heading, code, an item, a row, a cell, a term */
    ON_INLINE = 16,
    ON_BOX = ON_DIV | ON_TABLE | ON_BLOCK,
    ON_ALL = ON_BOX | ON_PIECE | ON_INLINE
};

struct class_rule {
    const char *name;
    unsigned char where;
    unsigned char part;
    bool index;
    const char *why; /* it is skipped */
};

#define SECTION(name)                                                          \
    {                                                                          \
        name, ON_DIV, PART_SECTION, false, NULL                                \
    }
#define NOTE(name)                                                             \
    {                                                                          \
        name, ON_BOX, PART_NOTE, false, NULL                                   \
    }
#define FOOTNOTES(name)                                                        \
    {                                                                          \
        name, ON_BOX, PART_FOOTNOTES, false, NULL                              \
    }
#define INDEX(name)                                                            \
    {                                                                          \
        name, ON_ALL, PART_INLINE, true, NULL                                  \
    }
#define SKIP(name, where, why)                                                 \
    {                                                                          \
        name, where, PART_SKIP, false, why                                     \
    }

/* In the order of strcmp. */
static const struct class_rule classes[] = {
    SKIP("ChapSects", ON_DIV, "contents"), /* GAPDoc */
    SKIP("ChildLinks", ON_BLOCK, "contents"),
    SKIP("ContChap", ON_DIV, "contents"),
    INDEX("IEntry"),                                       /* Natural Docs */
    SKIP("MCWebHelpFramesetLink", ON_BLOCK, "navigation"), /* MadCap Flare */
    SKIP("MathJax_Preview", ON_ALL, "hidden"),
    SKIP("WebWorks_Breadcrumbs", ON_DIV, "navigation"),
    SECTION("acknowledgements"),
    NOTE("admonition"),
    NOTE("admonitionblock"),
    {"alert", ON_DIV, PART_NOTE, false, NULL}, /* Bootstrap */
    SKIP("anchorjs-link", ON_INLINE, "permalink"),
    SECTION("appendix"),
    SECTION("article"),
    SKIP("backrefs", ON_INLINE, "navigation"),
    SKIP("bd-search", ON_ALL, "control"), /* PyData's theme of Sphinx */
    SKIP("bd-sidebar-secondary", ON_DIV, "contents"),
    SECTION("bibliodiv"),
    SECTION("bibliography"),
    {"blockList", ON_BLOCK | ON_PIECE, PART_BLOCK, false, NULL},
    {"blockListLast", ON_BLOCK | ON_PIECE, PART_BLOCK, false, NULL},
    {"blockquote", ON_DIV, PART_QUOTE, false, NULL},
    SECTION("book"),
    SKIP("bottom-nav", ON_BOX, "navigation"),
    SKIP("bottomNav", ON_BOX, "navigation"),
    SKIP("breadcrumb", ON_ALL, "navigation"),
    SKIP("breadcrumbs", ON_ALL, "navigation"),
    {"callout", ON_DIV, PART_NOTE, false, NULL}, /* Quarto */
    SKIP("catlinks", ON_BOX, "navigation"),
    NOTE("caution"),
    SECTION("chapter"),
    SKIP("chlinkbot", ON_DIV, "navigation"),
    SKIP("chlinkprevnextbot", ON_DIV, "navigation"),
    SKIP("chlinkprevnexttop", ON_DIV, "navigation"),
    SKIP("chlinktop", ON_DIV, "navigation"),
    SKIP("clipboard-copy", ON_ALL, "control"),
    SECTION("colophon"),
    SKIP("contents-heading", ON_PIECE, "contents"),
    SKIP("copy-button", ON_ALL, "control"),
    SKIP("copy-popup-wrapper", ON_DIV, "control"), /* Dokka */
    SKIP("copybtn", ON_ALL, "control"),
    SKIP("copybutton", ON_ALL, "control"),
    SKIP("copyright-footer", ON_DIV, "footer"),       /* BoostBook */
    SKIP("crosslinks", ON_DIV, "navigation"),         /* TeX4ht */
    {"custom-block", ON_DIV, PART_NOTE, false, NULL}, /* VitePress */
    SKIP("data-footnote-backref", ON_INLINE, "navigation"),
    SECTION("dedication"),
    {"displaymath", ON_DIV, PART_MATH, false, NULL},
    SKIP("doc-labels", ON_INLINE, "label"), /* mkdocstrings */
    {"epigraph", ON_DIV, PART_QUOTE, false, NULL},
    {"figure", ON_DIV, PART_FIGURE, false, NULL},
    {"fn-text", ON_INLINE, PART_FOOTNOTES, false, NULL},
    SKIP("footer", ON_BOX, "footer"),
    SKIP("footer-relations", ON_DIV, "navigation"), /* Guzzle's of Sphinx */
    FOOTNOTES("footnote"),
    SKIP("footnote-back", ON_INLINE, "navigation"),
    SKIP("footnote-backref", ON_INLINE, "navigation"),
    FOOTNOTES("footnote-definition"),
    FOOTNOTES("footnote-list"),
    FOOTNOTES("footnotes"),
    FOOTNOTES("footnotes-segment"),
    {"formulaDsp", ON_BLOCK, PART_MATH, false, NULL},
    {"func-types-title", ON_PIECE, PART_BLOCK, false, NULL},
    INDEX("genindex-jumpbox"),
    INDEX("genindextable"),
    SECTION("glossary"),
    SECTION("glossdiv"),
    SKIP("gutter", ON_ALL, "line number"),
    SKIP("hash-link", ON_INLINE, "permalink"),
    SKIP("headerlink", ON_ALL, "permalink"),
    SKIP("hideme", ON_BLOCK, "hidden"),
    SKIP("id_link", ON_INLINE, "permalink"),
    {"implementors-toggle", ON_BLOCK, PART_SECTION, false, NULL},
    NOTE("important"),
    {"index", ON_DIV, PART_SECTION, true, NULL},
    {"indexdiv", ON_DIV, PART_SECTION, true, NULL},
    INDEX("indextable"),
    {"informalfigure", ON_DIV, PART_FIGURE, false, NULL},
    SKIP("ingroups", ON_DIV, "navigation"),
    SKIP("inheritedMembers", ON_DIV, "contents"), /* DocFX */
    SKIP("lineno", ON_ALL, "line number"),
    SKIP("linenodiv", ON_ALL, "line number"),
    SKIP("linenos", ON_ALL, "line number"),
    SKIP("list-of-equations", ON_BOX, "contents"),
    SKIP("list-of-examples", ON_BOX, "contents"),
    SKIP("list-of-figures", ON_BOX, "contents"),
    SKIP("list-of-procedures", ON_BOX, "contents"),
    SKIP("list-of-tables", ON_BOX, "contents"),
    {"lstlisting", ON_DIV, PART_CODE, false, NULL}, /* TeX4ht */
    {"math", ON_DIV, PART_MATH, false, NULL},
    {"mathjax_display", ON_DIV, PART_MATH, false, NULL},
    SKIP("md-footer", ON_BOX, "footer"),
    SKIP("md-header", ON_BOX, "header"),
    SKIP("md-sidebar", ON_BOX, "navigation"),
    {"mediaobject", ON_DIV, PART_FIGURE, false, NULL},
    {"member-list", ON_BLOCK, PART_BLOCK, false, NULL},
    SKIP("menu-bar", ON_BOX, "navigation"),
    SKIP("menu-title", ON_ALL, "header"),
    SKIP("method-click-advice", ON_ALL, "control"), /* RDoc */
    SKIP("method-controls", ON_DIV, "control"),
    SKIP("method-permalink", ON_INLINE, "permalink"), /* Crystal */
    SKIP("method-source-code", ON_DIV, "hidden"),
    {"method-toggle", ON_BLOCK, PART_SECTION, false, NULL},
    SKIP("mobile-hide", ON_INLINE, "control"), /* DocFX */
    SKIP("mw-editsection", ON_INLINE, "control"),
    SKIP("mw-jump-link", ON_INLINE, "navigation"),
    SKIP("nav", ON_TABLE, "navigation"),
    SKIP("nav-panel", ON_BOX, "navigation"),
    SKIP("nav_table", ON_TABLE, "navigation"),
    SKIP("navbar", ON_BOX, "navigation"),
    SKIP("navfooter", ON_BOX, "navigation"),
    SKIP("navheader", ON_BOX, "navigation"),
    SKIP("navigation", ON_DIV | ON_TABLE, "navigation"),
    SKIP("navpath", ON_BOX, "navigation"),
    SKIP("navsetbottom", ON_BOX, "navigation"),
    SKIP("navsettop", ON_BOX, "navigation"),
    SKIP("notable-traits", ON_INLINE, "hidden"),
    NOTE("note"),
    SKIP("page-menu", ON_DIV, "navigation"), /* pgBackRest */
    SKIP("page-toc", ON_DIV, "contents"),
    SECTION("part"),
    SECTION("partintro"),
    SECTION("preface"),
    INDEX("printindex"),
    SECTION("refentry"),
    SECTION("reference"),
    SECTION("refsect1"),
    SECTION("refsect2"),
    SECTION("refsect3"),
    SECTION("refsection"),
    SECTION("refsynopsisdiv"),
    SKIP("related", ON_DIV, "navigation"),
    SKIP("reversefootnote", ON_INLINE, "navigation"),
    SKIP("rightside", ON_INLINE, "permalink"),
    SKIP("rst-footer-buttons", ON_BOX, "navigation"),
    SKIP("rst-versions", ON_BOX, "control"),
    SKIP("search-results", ON_DIV, "control"), /* GitBook */
    SECTION("sect1"),
    SECTION("sect2"),
    SECTION("sect3"),
    SECTION("sect4"),
    SECTION("sect5"),
    SECTION("section"),
    SECTION("set"),
    SKIP("shortcontents", ON_DIV, "contents"),
    SKIP("shortcontents-heading", ON_PIECE, "contents"),
    SKIP("signature-attributes", ON_INLINE, "label"), /* JSDoc */
    SECTION("simplesect"),
    SKIP("skip-link", ON_ALL, "navigation"),
    SKIP("skip-to-content", ON_ALL, "navigation"), /* MadCap Flare */
    SKIP("source_code", ON_TABLE, "hidden"),       /* YARD */
    SKIP("sphinxsidebar", ON_BOX, "navigation"),
    SKIP("sphinxsidebarwrapper", ON_BOX, "navigation"),
    SKIP("srclink", ON_INLINE, "control"), /* gi-docgen */
    SKIP("sub-nav", ON_BOX, "navigation"),
    SKIP("subNav", ON_BOX, "navigation"),
    SKIP("summary_toggle", ON_INLINE, "control"), /* YARD */
    SKIP("table-of-contents", ON_BOX, "contents"),
    SKIP("tableofcontents", ON_DIV, "contents"), /* TeX4ht */
    NOTE("theme-admonition"),                    /* Docusaurus */
    SKIP("theme-doc-version-banner", ON_DIV, "navigation"),
    NOTE("tip"),
    SKIP("toc", ON_BOX, "contents"),
    SKIP("toc_header", ON_PIECE, "contents"), /* LilyPond */
    SKIP("tocset", ON_BOX, "contents"),
    SKIP("toctree-wrapper", ON_DIV, "contents"), /* Sphinx */
    SKIP("top-nav", ON_BOX, "navigation"),
    SKIP("topNav", ON_BOX, "navigation"),
    {"tsd-description", ON_PIECE, PART_BLOCK, false, NULL}, /* TypeDoc */
    {"tsd-descriptions", ON_BLOCK, PART_BLOCK, false, NULL},
    SKIP("tsd-index-group", ON_BLOCK, "contents"),
    SKIP("tsd-sources", ON_BLOCK, "control"),
    SKIP("ttc", ON_DIV, "hidden"),                  /* Doxygen's tooltips */
    SKIP("viewcode-back", ON_INLINE, "navigation"), /* Sphinx: "[docs]" */
    SKIP("viewcode-link", ON_INLINE, "navigation"), /* "[source]" */
    NOTE("warning"),
    SKIP("wy-breadcrumbs", ON_BOX, "navigation"),
    SKIP("wy-nav-side", ON_BOX, "navigation"),
    SKIP("wy-nav-top", ON_BOX, "navigation"),
};

/* Kinds of admonitions: class name and label are the same word. */
static const char *const note_kinds[] = {
    "attention", "caution", "danger", "error",  "hint",
    "important", "info",    "note",   "remark", "see",
    "seealso",   "tip",     "todo",   "warning"};

static int compare_rule(const void *key, const void *rule)
{
    const struct slice *word = key;
    const char *name = ((const struct class_rule *)rule)->name;
    int order = strncmp(word->data, name, word->size);
    return order ? order : name[word->size] ? -1 : 0;
}

static unsigned place_of(int tag, enum part own)
{
    if (tag == GUMBO_TAG_DIV)
        return ON_DIV;
    if (tag == GUMBO_TAG_TABLE)
        return ON_TABLE;
    switch (own) {
    case PART_INLINE:
    case PART_IMAGE: return ON_INLINE;
    case PART_HEADING:
    case PART_CODE:
    case PART_ITEM:
    case PART_ROW:
    case PART_CELL:
    case PART_TERM:
    case PART_MEANING:
    case PART_CAPTION: return ON_PIECE;
    default: return ON_BLOCK;
    }
}

struct slice classes_next(const char **rest)
{
    const char *at = *rest + strspn(*rest, " \t\n\r\f");
    size_t size = strcspn(at, " \t\n\r\f");
    *rest = at + size;
    return (struct slice){at, size};
}

bool classes_has(const xmlNode *element, const char *name)
{
    const char *rest = dom_attribute(element, "class");
    for (struct slice word; rest && (word = classes_next(&rest)).size;)
        if (slice_is(word, name))
            return true;
    return false;
}

bool classes_is_box(const xmlNode *element, const char *name)
{
    return element && dom_tag(element) == GUMBO_TAG_DIV &&
           classes_has(element, name);
}

const xmlNode *classes_box_around(const xmlNode *element, const char *name)
{
    enum { MAX_UP = 8 };
    const xmlNode *box = element->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(box); i++, box = box->parent)
        if (classes_is_box(box, name))
            return box;
    return NULL;
}

bool classes_are_passed(struct slice words)
{
    static const char *const passed[] = {"dropdown-menu", "viewcode-back",
                                         "viewcode-link"};
    for (size_t at = 0, end; at < words.size; at = end + 1) {
        for (end = at;
             end < words.size && !memchr(" \t\n\r\f", words.data[end], 5);)
            end++;
        struct slice word = {words.data + at, end - at};
        for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
            if (slice_is(word, passed[i]))
                return true;
    }
    return false;
}

static const char *note_kind(struct slice word)
{
    static const char *const prefixes[] = {"admonition-", "alert-", "callout-",
                                           "confluence-information-macro-",
                                           "theme-admonition-"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t size = strlen(prefixes[i]);
        if (word.size > size && !strncmp(word.data, prefixes[i], size)) {
            word.data += size;
            word.size -= size;
        }
    }
    for (size_t i = 0; i < sizeof note_kinds / sizeof *note_kinds; i++)
        if (slice_is(word, note_kinds[i]))
            return note_kinds[i];
    return NULL;
}

/* Texinfo's indexes, of two ages, are called by two letters each: a manual may
 * have its own besides those of concepts (cp), functions (fn)... */
static bool is_texinfo_index(struct slice word)
{
    static const char prefix[] = "index-", suffix[] = "-entries-printindex";
    size_t before = sizeof prefix - 1, after = sizeof suffix - 1;
    return (word.size == before + 2 && !memcmp(word.data, prefix, before)) ||
           (word.size == after + 2 && !memcmp(word.data + 2, suffix, after));
}

/* DocBook and HeVeA print below a title as headings what is none: who wrote it, and
 * what it is called besides. */
static bool is_below_title(struct slice word)
{
    return slice_is(word, "author") || slice_is(word, "corpauthor") ||
           slice_is(word, "editor") || slice_is(word, "subtitle") ||
           slice_is(word, "othercredit") || slice_is(word, "titlerest");
}

/* Texinfo's line of links above a section, which it calls a header: there are
 * no more than a few. */
static bool is_link_line(const xmlNode *element)
{
    int left = MAX_LINK_LINE;
    for (const xmlNode *at = dom_next(element, element, false); at && left--;
         at = dom_next(at, element, false))
        if (dom_tag(at) == GUMBO_TAG_A &&
            (dom_attribute(at, "accesskey") || dom_attribute(at, "rel")))
            return true;
    return false;
}

/* Texinfo's contents are a list; Doxygen calls so what a page contains. */
static bool begins_with_list(const xmlNode *element)
{
    const xmlNode *first = element->children;
    while (first && !dom_is_element(first))
        first = first->next;
    return first && dom_tag(first) == GUMBO_TAG_UL;
}

void classes_apply(const xmlNode *element, const char *words, enum part own,
                   struct rule *rule)
{
    int tag = dom_tag(element);
    unsigned place = place_of(tag, own);
    bool local = false, contents = false;
    bool of_part = strstr(words, "subtitle-") != NULL; /* appledoc's */
    for (struct slice word; (word = classes_next(&words)).size;) {
        const char *kind = note_kind(word);
        if (kind)
            rule->info = kind;
        local |= slice_is(word, "local") || slice_is(word, "topic");
        contents |= slice_is(word, "contents");
        rule->index |=
            (place == ON_TABLE || place == ON_DIV) && is_texinfo_index(word);
        if (own == PART_HEADING && is_below_title(word) && !of_part)
            rule->part = PART_BLOCK;
        if (place == ON_DIV && slice_is(word, "header") &&
            is_link_line(element))
            rules_skip(rule, "navigation");
        if (kind && tag == GUMBO_TAG_DL && rule->part != PART_SKIP)
            rule->part = PART_NOTE; /* Doxygen */
        const struct class_rule *found =
            bsearch(&word, classes, sizeof classes / sizeof *classes,
                    sizeof *classes, compare_rule);
        if (!found || !(found->where & place))
            continue;
        rule->index |= found->index;
        if (found->part == PART_SKIP && rule->part != PART_SKIP)
            rules_skip(rule, found->why);
        else if (found->part != PART_INLINE && rule->part != PART_SKIP)
            rule->part = found->part;
        rule->strict |= found->part == PART_SECTION;
    }
    if (contents && (local || begins_with_list(element)))
        rules_skip(rule, "contents");
}

const char *classes_label(struct slice text)
{
    struct buf folded = {0};
    text_fold_compare(&folded, text);
    struct slice label = buf_slice(&folded);
    if (label.size > 1 && label.data[label.size - 1] == 's')
        label.size--;
    const char *found = slice_is(label, "see also") ? "seealso" : NULL;
    for (size_t i = 0; i < sizeof note_kinds / sizeof *note_kinds; i++)
        if (slice_is(label, note_kinds[i]))
            found = note_kinds[i];
    buf_free(&folded);
    return found;
}
