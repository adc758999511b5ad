#include "indexer/parse/rules.h"

#include <ctype.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/reference.h"

enum {
    MOST_AROUND = 8,   /* elements around a permalink that are looked at */
    MOST_LANGUAGE = 32 /* bytes of a language's name */
};

/* ---- Elements ---- */

static const unsigned char tags[GUMBO_TAG_LAST + 1] = {
    [GUMBO_TAG_HTML] = PART_BLOCK,       [GUMBO_TAG_BODY] = PART_BLOCK,
    [GUMBO_TAG_HEAD] = PART_SKIP,        [GUMBO_TAG_SCRIPT] = PART_SKIP,
    [GUMBO_TAG_STYLE] = PART_SKIP,       [GUMBO_TAG_TEMPLATE] = PART_SKIP,
    [GUMBO_TAG_NOSCRIPT] = PART_SKIP,    [GUMBO_TAG_NAV] = PART_SKIP,
    [GUMBO_TAG_FOOTER] = PART_SKIP,      [GUMBO_TAG_IFRAME] = PART_SKIP,
    [GUMBO_TAG_NOFRAMES] = PART_SKIP,    [GUMBO_TAG_NOEMBED] = PART_SKIP,
    [GUMBO_TAG_SELECT] = PART_SKIP,      [GUMBO_TAG_DATALIST] = PART_SKIP,
    [GUMBO_TAG_TITLE] = PART_SKIP,       [GUMBO_TAG_SECTION] = PART_SECTION,
    [GUMBO_TAG_ARTICLE] = PART_SECTION,  [GUMBO_TAG_ASIDE] = PART_SECTION,
    [GUMBO_TAG_H1] = PART_HEADING,       [GUMBO_TAG_H2] = PART_HEADING,
    [GUMBO_TAG_H3] = PART_HEADING,       [GUMBO_TAG_H4] = PART_HEADING,
    [GUMBO_TAG_H5] = PART_HEADING,       [GUMBO_TAG_H6] = PART_HEADING,
    [GUMBO_TAG_PRE] = PART_CODE,         [GUMBO_TAG_LISTING] = PART_CODE,
    [GUMBO_TAG_XMP] = PART_CODE,         [GUMBO_TAG_PLAINTEXT] = PART_CODE,
    [GUMBO_TAG_TEXTAREA] = PART_CODE,    [GUMBO_TAG_UL] = PART_LIST,
    [GUMBO_TAG_OL] = PART_LIST,          [GUMBO_TAG_DIR] = PART_LIST,
    [GUMBO_TAG_MENU] = PART_LIST,        [GUMBO_TAG_LI] = PART_ITEM,
    [GUMBO_TAG_TABLE] = PART_TABLE,      [GUMBO_TAG_TR] = PART_ROW,
    [GUMBO_TAG_TD] = PART_CELL,          [GUMBO_TAG_TH] = PART_CELL,
    [GUMBO_TAG_CAPTION] = PART_CAPTION,  [GUMBO_TAG_THEAD] = PART_BLOCK,
    [GUMBO_TAG_TBODY] = PART_BLOCK,      [GUMBO_TAG_TFOOT] = PART_BLOCK,
    [GUMBO_TAG_BLOCKQUOTE] = PART_QUOTE, [GUMBO_TAG_DL] = PART_TERMS,
    [GUMBO_TAG_DT] = PART_TERM,          [GUMBO_TAG_DD] = PART_MEANING,
    [GUMBO_TAG_FIGURE] = PART_FIGURE,    [GUMBO_TAG_FIGCAPTION] = PART_BLOCK,
    [GUMBO_TAG_IMG] = PART_IMAGE,        [GUMBO_TAG_IMAGE] = PART_IMAGE,
    [GUMBO_TAG_MATH] = PART_MATHML,      [GUMBO_TAG_SVG] = PART_DRAWING,
    [GUMBO_TAG_BR] = PART_BREAK,         [GUMBO_TAG_HR] = PART_BLOCK,
    [GUMBO_TAG_P] = PART_BLOCK,          [GUMBO_TAG_DIV] = PART_BLOCK,
    [GUMBO_TAG_MAIN] = PART_BLOCK,       [GUMBO_TAG_HEADER] = PART_BLOCK,
    [GUMBO_TAG_HGROUP] = PART_BLOCK,     [GUMBO_TAG_ADDRESS] = PART_BLOCK,
    [GUMBO_TAG_CENTER] = PART_BLOCK,     [GUMBO_TAG_DETAILS] = PART_BLOCK,
    [GUMBO_TAG_SUMMARY] = PART_BLOCK,    [GUMBO_TAG_FORM] = PART_BLOCK,
    [GUMBO_TAG_FIELDSET] = PART_BLOCK,   [GUMBO_TAG_LEGEND] = PART_BLOCK,
    [GUMBO_TAG_OPTION] = PART_BLOCK,     [GUMBO_TAG_OPTGROUP] = PART_BLOCK,
    [GUMBO_TAG_FRAMESET] = PART_BLOCK,   [GUMBO_TAG_MARQUEE] = PART_BLOCK,
};

/* ---- Classes ---- */

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
};

#define SECTION(name)                                                          \
    {                                                                          \
        name, ON_DIV, PART_SECTION, false                                      \
    }
#define NOTE(name)                                                             \
    {                                                                          \
        name, ON_BOX, PART_NOTE, false                                         \
    }
#define INDEX(name)                                                            \
    {                                                                          \
        name, ON_ALL, PART_INLINE, true                                        \
    }
#define SKIP(name, where)                                                      \
    {                                                                          \
        name, where, PART_SKIP, false                                          \
    }

/* In the order of strcmp. */
static const struct class_rule classes[] = {
    SKIP("ChildLinks", ON_BLOCK),
    SECTION("acknowledgements"),
    NOTE("admonition"),
    NOTE("admonitionblock"),
    SKIP("anchorjs-link", ON_INLINE),
    SECTION("appendix"),
    SECTION("article"),
    SECTION("bibliodiv"),
    SECTION("bibliography"),
    {"blockList", ON_BLOCK | ON_PIECE, PART_BLOCK, false},
    {"blockListLast", ON_BLOCK | ON_PIECE, PART_BLOCK, false},
    {"blockquote", ON_DIV, PART_QUOTE, false},
    SECTION("book"),
    SKIP("bottom-nav", ON_BOX),
    SKIP("bottomNav", ON_BOX),
    SKIP("breadcrumb", ON_ALL),
    SKIP("breadcrumbs", ON_ALL),
    SKIP("catlinks", ON_BOX),
    NOTE("caution"),
    SECTION("chapter"),
    SKIP("clipboard-copy", ON_ALL),
    SECTION("colophon"),
    SKIP("contents-heading", ON_PIECE),
    SKIP("copy-button", ON_ALL),
    SKIP("copybtn", ON_ALL),
    SKIP("copybutton", ON_ALL),
    INDEX("cp-entries-printindex"),
    SECTION("dedication"),
    {"displaymath", ON_DIV, PART_MATH, false},
    {"epigraph", ON_DIV, PART_QUOTE, false},
    {"figure", ON_DIV, PART_FIGURE, false},
    SKIP("footer", ON_BOX),
    {"func-types-title", ON_PIECE, PART_BLOCK, false},
    INDEX("genindex-jumpbox"),
    INDEX("genindextable"),
    SECTION("glossary"),
    SECTION("glossdiv"),
    SKIP("gutter", ON_ALL),
    SKIP("hash-link", ON_INLINE),
    SKIP("headerlink", ON_ALL),
    SKIP("hideme", ON_BLOCK),
    SKIP("id_link", ON_INLINE),
    {"implementors-toggle", ON_BLOCK, PART_SECTION, false},
    NOTE("important"),
    {"index", ON_DIV, PART_SECTION, true},
    INDEX("index-cp"),
    INDEX("index-fn"),
    INDEX("index-ky"),
    INDEX("index-pg"),
    INDEX("index-tp"),
    INDEX("index-vr"),
    {"indexdiv", ON_DIV, PART_SECTION, true},
    INDEX("indextable"),
    {"informalfigure", ON_DIV, PART_FIGURE, false},
    SKIP("ingroups", ON_DIV),
    SKIP("lineno", ON_ALL),
    SKIP("linenodiv", ON_ALL),
    SKIP("linenos", ON_ALL),
    SKIP("list-of-equations", ON_BOX),
    SKIP("list-of-examples", ON_BOX),
    SKIP("list-of-figures", ON_BOX),
    SKIP("list-of-procedures", ON_BOX),
    SKIP("list-of-tables", ON_BOX),
    {"math", ON_DIV, PART_MATH, false},
    {"mathjax_display", ON_DIV, PART_MATH, false},
    SKIP("md-footer", ON_BOX),
    SKIP("md-header", ON_BOX),
    SKIP("md-sidebar", ON_BOX),
    {"mediaobject", ON_DIV, PART_FIGURE, false},
    {"member-list", ON_BLOCK, PART_BLOCK, false},
    SKIP("menu-bar", ON_BOX),
    SKIP("menu-title", ON_ALL),
    {"method-toggle", ON_BLOCK, PART_SECTION, false},
    SKIP("mw-editsection", ON_INLINE),
    SKIP("mw-jump-link", ON_INLINE),
    SKIP("nav", ON_TABLE),
    SKIP("nav-panel", ON_BOX),
    SKIP("navbar", ON_BOX),
    SKIP("navfooter", ON_BOX),
    SKIP("navheader", ON_BOX),
    SKIP("navigation", ON_DIV | ON_TABLE),
    SKIP("navpath", ON_BOX),
    SKIP("navsetbottom", ON_BOX),
    SKIP("navsettop", ON_BOX),
    SKIP("notable-traits", ON_INLINE),
    NOTE("note"),
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
    SKIP("related", ON_DIV),
    SKIP("rightside", ON_INLINE),
    SKIP("rst-footer-buttons", ON_BOX),
    SKIP("rst-versions", ON_BOX),
    SECTION("sect1"),
    SECTION("sect2"),
    SECTION("sect3"),
    SECTION("sect4"),
    SECTION("sect5"),
    SECTION("section"),
    SECTION("set"),
    SKIP("shortcontents", ON_DIV),
    SKIP("shortcontents-heading", ON_PIECE),
    SECTION("simplesect"),
    SKIP("skip-link", ON_ALL),
    SKIP("sphinxsidebar", ON_BOX),
    SKIP("sphinxsidebarwrapper", ON_BOX),
    SKIP("sub-nav", ON_BOX),
    SKIP("subNav", ON_BOX),
    SKIP("table-of-contents", ON_BOX),
    NOTE("tip"),
    SKIP("toc", ON_BOX),
    SKIP("tocset", ON_BOX),
    SKIP("top-nav", ON_BOX),
    SKIP("topNav", ON_BOX),
    NOTE("warning"),
    SKIP("wy-breadcrumbs", ON_BOX),
    SKIP("wy-nav-side", ON_BOX),
    SKIP("wy-nav-top", ON_BOX),
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

static unsigned place_of(int tag)
{
    if (tag == GUMBO_TAG_DIV)
        return ON_DIV;
    if (tag == GUMBO_TAG_TABLE)
        return ON_TABLE;
    switch (tags[tag]) {
    case PART_INLINE: return ON_INLINE;
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

/* Takes the next word off `*rest`. */
static struct slice next_class(const char **rest)
{
    const char *at = *rest + strspn(*rest, " \t\n\r\f");
    size_t size = strcspn(at, " \t\n\r\f");
    *rest = at + size;
    return (struct slice){at, size};
}

bool rules_has_class(const xmlNode *element, const char *name)
{
    const char *rest = dom_attribute(element, "class");
    for (struct slice word; rest && (word = next_class(&rest)).size;)
        if (slice_is(word, name))
            return true;
    return false;
}

static const char *note_kind(struct slice word)
{
    static const char prefix[] = "admonition-";
    if (word.size > sizeof prefix - 1 &&
        !strncmp(word.data, prefix, sizeof prefix - 1)) {
        word.data += sizeof prefix - 1;
        word.size -= sizeof prefix - 1;
    }
    for (size_t i = 0; i < sizeof note_kinds / sizeof *note_kinds; i++)
        if (slice_is(word, note_kinds[i]))
            return note_kinds[i];
    return NULL;
}

/* Texinfo's line of links above a section, which it calls a header. */
static bool is_link_line(const xmlNode *element)
{
    const xmlNode *link = dom_find(element, GUMBO_TAG_A);
    return link &&
           (dom_attribute(link, "accesskey") || dom_attribute(link, "rel"));
}

/* Texinfo's contents are a list; Doxygen calls so what a page contains. */
static bool begins_with_list(const xmlNode *element)
{
    const xmlNode *first = element->children;
    while (first && !dom_is_element(first))
        first = first->next;
    return first && dom_tag(first) == GUMBO_TAG_UL;
}

static void apply_classes(const xmlNode *element, const char *words,
                          struct rule *rule)
{
    unsigned place = place_of(dom_tag(element));
    bool local = false, contents = false;
    for (struct slice word; (word = next_class(&words)).size;) {
        const char *kind = note_kind(word);
        if (kind)
            rule->info = kind;
        local |= slice_is(word, "local") || slice_is(word, "topic");
        contents |= slice_is(word, "contents");
        if (place == ON_DIV && slice_is(word, "header") &&
            is_link_line(element))
            rule->part = PART_SKIP;
        const struct class_rule *found =
            bsearch(&word, classes, sizeof classes / sizeof *classes,
                    sizeof *classes, compare_rule);
        if (!found || !(found->where & place))
            continue;
        rule->index |= found->index;
        if (found->part != PART_INLINE && rule->part != PART_SKIP)
            rule->part = found->part;
        rule->strict |= found->part == PART_SECTION;
    }
    if (contents && (local || begins_with_list(element)))
        rule->part = PART_SKIP;
}

/* ---- The rest ---- */

static bool is_hidden(const xmlNode *element)
{
    const char *value = dom_attribute(element, "hidden");
    if (value && strcasecmp(value, "until-found"))
        return true;
    value = dom_attribute(element, "aria-hidden");
    if (value && !strcasecmp(value, "true"))
        return true;
    value = dom_attribute(element, "style");
    value = value ? strstr(value, "display:") : NULL;
    return value && !strncmp(value + 8 + strspn(value + 8, " "), "none", 4);
}

static bool is_chrome_id(const char *id)
{
    static const char *const ids[] = {
        "column2",           "footer",     "footer-text", "gtoc", "toc",
        "table-of-contents", "versioninfo"};
    if (!id)
        return false;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (!strcmp(id, ids[i]))
            return true;
    return !strncmp(id, "navrow", 6); /* Doxygen's tabs */
}

static bool is_chrome_role(const xmlNode *element)
{
    static const char *const roles[] = {"navigation", "search", "contentinfo",
                                        "doc-toc"};
    const char *role = dom_attribute(element, "role");
    for (size_t i = 0; role && i < sizeof roles / sizeof *roles; i++)
        if (!strcasecmp(role, roles[i]))
            return true;
    return false;
}

/* Does a link stand in a heading or a term, or in what it leads to? */
static bool is_at_home(const xmlNode *link, const char *target)
{
    const xmlNode *at = link;
    for (int i = 0; i < MOST_AROUND && at && dom_is_element(at); i++) {
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
    static const char *const signs[] = {"¶", "🔗", "⚓",
                                        "☍", "◆", "\xef\x83\x81"};
    static const char *const signs_and_words[] = {"#", "§", "∞"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (slice_is(text, signs[i]))
            return true;
    for (size_t i = 0; i < 3; i++)
        if (slice_is(text, signs_and_words[i]))
            return is_at_home(link, target);
    return false;
}

/* A link to its own place that shows a sign and no words. */
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
    bool found = is_sign(buf_slice(&sign), element, href + 1);
    buf_free(&sign);
    return found;
}

struct rule rules_of(const xmlNode *element)
{
    int tag = dom_tag(element);
    struct rule rule = {.part = tags[tag]};
    if (!element->properties || tag == GUMBO_TAG_BODY || tag == GUMBO_TAG_HTML)
        return rule;
    if (is_chrome_id(dom_attribute(element, "id")))
        rule.part = PART_SKIP;
    const char *words = dom_attribute(element, "class");
    if (words)
        apply_classes(element, words, &rule);
    if (tag == GUMBO_TAG_SCRIPT) {
        const char *type = dom_attribute(element, "type");
        if (type && !strncmp(type, "math/tex", 8))
            rule.part = PART_TEX;
    } else if (tag == GUMBO_TAG_A && is_permalink(element)) {
        rule.part = PART_SKIP;
    } else if (tag == GUMBO_TAG_DIV && rules_has_class(element, "title") &&
               rules_has_class(element->parent, "headertitle")) {
        rule.part = PART_HEADING; /* Doxygen */
    }
    if (tag == GUMBO_TAG_SECTION && reference_is_bare(element))
        rule.part = PART_BLOCK;
    if (is_hidden(element) || is_chrome_role(element))
        rule.part = PART_SKIP;
    if (rule.part == PART_NOTE && !rule.info)
        rule.info = "note";
    return rule;
}

int rules_level(const xmlNode *heading)
{
    int level = dom_tag(heading) - GUMBO_TAG_H1 + 1;
    return level >= 1 && level <= 6 ? level : 1;
}

static struct slice only_language(struct slice word)
{
    static const char others[] = "+#._-";
    size_t size = 0;
    while (size < word.size && size < MOST_LANGUAGE &&
           (isalnum((unsigned char)word.data[size]) ||
            memchr(others, word.data[size], sizeof others - 1)))
        size++;
    return (struct slice){word.data, size};
}

static struct slice language_in(const xmlNode *element)
{
    static const char *const prefixes[] = {"language-", "lang-", "highlight-",
                                           "brush:"};
    static const char *const none[] = {"default", "none", "text", "plaintext",
                                       "source"};
    const char *rest = dom_attribute(element, "class");
    for (struct slice word; rest && (word = next_class(&rest)).size;)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
            size_t size = strlen(prefixes[i]);
            if (word.size <= size || strncmp(word.data, prefixes[i], size))
                continue;
            word.data += size;
            word.size -= size;
            word = only_language(word);
            for (size_t k = 0; k < sizeof none / sizeof *none; k++)
                if (slice_is(word, none[k]))
                    return (struct slice){"", 0};
            return word;
        }
    return (struct slice){"", 0};
}

struct slice rules_language(const xmlNode *code)
{
    struct slice found = language_in(code);
    const xmlNode *child = code->children;
    while (child && !dom_is_element(child))
        child = child->next;
    if (!found.size && child && dom_tag(child) == GUMBO_TAG_CODE)
        found = language_in(child);
    const xmlNode *around = code->parent;
    for (int i = 0; i < 2 && !found.size; i++, around = around->parent) {
        if (!dom_is_element(around) || dom_tag(around) != GUMBO_TAG_DIV)
            break;
        found = language_in(around);
    }
    return found;
}

bool rules_is_label(struct slice text)
{
    struct buf folded = {0};
    text_fold_compare(&folded, text);
    struct slice label = buf_slice(&folded);
    if (label.size > 1 && label.data[label.size - 1] == 's')
        label.size--;
    bool found = slice_is(label, "see also");
    for (size_t i = 0; i < sizeof note_kinds / sizeof *note_kinds; i++)
        found |= slice_is(label, note_kinds[i]);
    buf_free(&folded);
    return found;
}
