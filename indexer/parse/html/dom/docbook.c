#include "indexer/parse/html/dom/docbook.h"

#include <stdlib.h>

enum role {
    ROLE_OTHER,
    ROLE_SECTION,
    ROLE_INFO, /* what a section says of itself */
    ROLE_NOTE,
    ROLE_FIGURE,
    ROLE_TABLE,
    ROLE_THEAD,
    ROLE_CELL,
    ROLE_ENTRY, /* of a list of terms */
    ROLE_TERM,
    ROLE_LISTITEM,
    ROLE_NAMES, /* of a reference page */
    ROLE_REFNAME,
    ROLE_TITLE
};

struct row {
    const char *name;
    int tag;
    enum role role;
    const char *class; /* as the stylesheets write it */
    bool hidden;
};

/* In the order of strcmp. */
static const struct row rows[] = {
    {"abstract", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"acknowledgements", GUMBO_TAG_DIV, ROLE_SECTION, "acknowledgements",
     false},
    {"address", GUMBO_TAG_PRE, ROLE_OTHER, NULL, false},
    {"anchor", GUMBO_TAG_A, ROLE_OTHER, NULL, false},
    {"answer", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"appendix", GUMBO_TAG_DIV, ROLE_SECTION, "appendix", false},
    {"appendixinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"article", GUMBO_TAG_DIV, ROLE_SECTION, "article", false},
    {"articleinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"attribution", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"bibliodiv", GUMBO_TAG_DIV, ROLE_SECTION, "bibliodiv", false},
    {"biblioentry", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"bibliography", GUMBO_TAG_DIV, ROLE_SECTION, "bibliography", false},
    {"bibliomixed", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"blockquote", GUMBO_TAG_BLOCKQUOTE, ROLE_OTHER, NULL, false},
    {"book", GUMBO_TAG_DIV, ROLE_SECTION, "book", false},
    {"bookinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"bridgehead", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"callout", GUMBO_TAG_LI, ROLE_OTHER, NULL, false},
    {"calloutlist", GUMBO_TAG_UL, ROLE_OTHER, NULL, false},
    {"caption", GUMBO_TAG_FIGCAPTION, ROLE_OTHER, NULL, false},
    {"caution", GUMBO_TAG_DIV, ROLE_NOTE, "caution", false},
    {"chapter", GUMBO_TAG_DIV, ROLE_SECTION, "chapter", false},
    {"chapterinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"classsynopsis", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"classsynopsisinfo", GUMBO_TAG_PRE, ROLE_OTHER, NULL, false},
    {"cmdsynopsis", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"code", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"colophon", GUMBO_TAG_DIV, ROLE_SECTION, "colophon", false},
    {"colspec", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"command", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"computeroutput", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"constant", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"dedication", GUMBO_TAG_DIV, ROLE_SECTION, "dedication", false},
    {"emphasis", GUMBO_TAG_EM, ROLE_OTHER, NULL, false},
    {"entry", GUMBO_TAG_TD, ROLE_CELL, NULL, false},
    {"epigraph", GUMBO_TAG_BLOCKQUOTE, ROLE_OTHER, NULL, false},
    {"equation", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"example", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"figure", GUMBO_TAG_FIGURE, ROLE_FIGURE, NULL, false},
    {"filename", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"footnote", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"formalpara", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"funcprototype", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"funcsynopsis", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"funcsynopsisinfo", GUMBO_TAG_PRE, ROLE_OTHER, NULL, false},
    {"function", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"glossary", GUMBO_TAG_DIV, ROLE_SECTION, "glossary", false},
    {"glossdef", GUMBO_TAG_DD, ROLE_OTHER, NULL, false},
    {"glossdiv", GUMBO_TAG_DIV, ROLE_SECTION, "glossdiv", false},
    {"glossentry", GUMBO_TAG_SPAN, ROLE_ENTRY, NULL, false},
    {"glosslist", GUMBO_TAG_DL, ROLE_OTHER, NULL, false},
    {"glossterm", GUMBO_TAG_DT, ROLE_TERM, NULL, false},
    {"imageobject", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"important", GUMBO_TAG_DIV, ROLE_NOTE, "important", false},
    {"index", GUMBO_TAG_DIV, ROLE_SECTION, "index", false},
    {"indexdiv", GUMBO_TAG_DIV, ROLE_SECTION, "indexdiv", false},
    {"indexterm", GUMBO_TAG_SCRIPT, ROLE_OTHER, NULL, false},
    {"info", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"informalequation", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"informalexample", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"informalfigure", GUMBO_TAG_FIGURE, ROLE_FIGURE, NULL, false},
    {"informaltable", GUMBO_TAG_TABLE, ROLE_TABLE, NULL, false},
    {"itemizedlist", GUMBO_TAG_UL, ROLE_OTHER, NULL, false},
    {"link", GUMBO_TAG_A, ROLE_OTHER, NULL, false},
    {"listitem", GUMBO_TAG_LI, ROLE_LISTITEM, NULL, false},
    {"literal", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"literallayout", GUMBO_TAG_PRE, ROLE_OTHER, NULL, false},
    {"lot", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"mediaobject", GUMBO_TAG_DIV, ROLE_OTHER, "mediaobject", false},
    {"mediaobjectco", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"member", GUMBO_TAG_LI, ROLE_OTHER, NULL, false},
    {"note", GUMBO_TAG_DIV, ROLE_NOTE, "note", false},
    {"olink", GUMBO_TAG_A, ROLE_OTHER, NULL, false},
    {"option", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"orderedlist", GUMBO_TAG_OL, ROLE_OTHER, NULL, false},
    {"para", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"part", GUMBO_TAG_DIV, ROLE_SECTION, "part", false},
    {"partinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"partintro", GUMBO_TAG_DIV, ROLE_SECTION, "partintro", false},
    {"preface", GUMBO_TAG_DIV, ROLE_SECTION, "preface", false},
    {"prefaceinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"procedure", GUMBO_TAG_OL, ROLE_OTHER, NULL, false},
    {"programlisting", GUMBO_TAG_PRE, ROLE_OTHER, NULL, false},
    {"programlistingco", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"qandadiv", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"qandaentry", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"qandaset", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"question", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"refclass", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"refdescriptor", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"refentry", GUMBO_TAG_DIV, ROLE_SECTION, "refentry", false},
    {"refentryinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"reference", GUMBO_TAG_DIV, ROLE_SECTION, "reference", false},
    {"referenceinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"refmeta", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"refname", GUMBO_TAG_SPAN, ROLE_REFNAME, NULL, false},
    {"refnamediv", GUMBO_TAG_DIV, ROLE_NAMES, NULL, false},
    {"refpurpose", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"refsect1", GUMBO_TAG_DIV, ROLE_SECTION, "refsect1", false},
    {"refsect1info", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"refsect2", GUMBO_TAG_DIV, ROLE_SECTION, "refsect2", false},
    {"refsect3", GUMBO_TAG_DIV, ROLE_SECTION, "refsect3", false},
    {"refsection", GUMBO_TAG_DIV, ROLE_SECTION, "refsection", false},
    {"refsynopsisdiv", GUMBO_TAG_DIV, ROLE_SECTION, "refsynopsisdiv", false},
    {"refsynopsisdivinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"releaseinfo", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"remark", GUMBO_TAG_SCRIPT, ROLE_OTHER, NULL, false},
    {"replaceable", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"row", GUMBO_TAG_TR, ROLE_OTHER, NULL, false},
    {"screen", GUMBO_TAG_PRE, ROLE_OTHER, NULL, false},
    {"screenco", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"sect1", GUMBO_TAG_DIV, ROLE_SECTION, "sect1", false},
    {"sect1info", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"sect2", GUMBO_TAG_DIV, ROLE_SECTION, "sect2", false},
    {"sect2info", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"sect3", GUMBO_TAG_DIV, ROLE_SECTION, "sect3", false},
    {"sect3info", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"sect4", GUMBO_TAG_DIV, ROLE_SECTION, "sect4", false},
    {"sect5", GUMBO_TAG_DIV, ROLE_SECTION, "sect5", false},
    {"section", GUMBO_TAG_DIV, ROLE_SECTION, "section", false},
    {"sectioninfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"seg", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"seglistitem", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"segmentedlist", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"set", GUMBO_TAG_DIV, ROLE_SECTION, "set", false},
    {"setinfo", GUMBO_TAG_DIV, ROLE_INFO, NULL, false},
    {"sidebar", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"simpara", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"simplelist", GUMBO_TAG_UL, ROLE_OTHER, NULL, false},
    {"simplesect", GUMBO_TAG_DIV, ROLE_SECTION, "simplesect", false},
    {"step", GUMBO_TAG_LI, ROLE_OTHER, NULL, false},
    {"subscript", GUMBO_TAG_SUB, ROLE_OTHER, NULL, false},
    {"substeps", GUMBO_TAG_OL, ROLE_OTHER, NULL, false},
    {"subtitle", GUMBO_TAG_P, ROLE_OTHER, NULL, false},
    {"superscript", GUMBO_TAG_SUP, ROLE_OTHER, NULL, false},
    {"synopsis", GUMBO_TAG_PRE, ROLE_OTHER, NULL, false},
    {"table", GUMBO_TAG_TABLE, ROLE_TABLE, NULL, false},
    {"tbody", GUMBO_TAG_TBODY, ROLE_OTHER, NULL, false},
    {"td", GUMBO_TAG_TD, ROLE_CELL, NULL, false},
    {"term", GUMBO_TAG_DT, ROLE_TERM, NULL, false},
    {"textobject", GUMBO_TAG_DIV, ROLE_OTHER, NULL, false},
    {"tfoot", GUMBO_TAG_TFOOT, ROLE_OTHER, NULL, false},
    {"th", GUMBO_TAG_TH, ROLE_OTHER, NULL, false},
    {"thead", GUMBO_TAG_THEAD, ROLE_THEAD, NULL, false},
    {"tip", GUMBO_TAG_DIV, ROLE_NOTE, "tip", false},
    {"title", GUMBO_TAG_P, ROLE_TITLE, NULL, false},
    {"titleabbrev", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"toc", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"tocchap", GUMBO_TAG_SPAN, ROLE_OTHER, NULL, true},
    {"topic", GUMBO_TAG_DIV, ROLE_SECTION, "section", false},
    {"tr", GUMBO_TAG_TR, ROLE_OTHER, NULL, false},
    {"type", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"ulink", GUMBO_TAG_A, ROLE_OTHER, NULL, false},
    {"userinput", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"variablelist", GUMBO_TAG_DL, ROLE_OTHER, NULL, false},
    {"varlistentry", GUMBO_TAG_SPAN, ROLE_ENTRY, NULL, false},
    {"varname", GUMBO_TAG_CODE, ROLE_OTHER, NULL, false},
    {"warning", GUMBO_TAG_DIV, ROLE_NOTE, "warning", false},
    {"xref", GUMBO_TAG_A, ROLE_OTHER, NULL, false},
};

static int compare(const void *name, const void *row)
{
    return strcmp(name, ((const struct row *)row)->name);
}

static struct row find(const char *name)
{
    const struct row *found =
        bsearch(name, rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
    struct row inline_element = {name, GUMBO_TAG_SPAN, ROLE_OTHER, NULL, false};
    return found ? *found : inline_element;
}

bool docbook_is_root(const char *name, const char *space)
{
    if (space && strcmp(space, "http://docbook.org/ns/docbook"))
        return false;
    return find(name).role == ROLE_SECTION;
}

/* The role of what is around, `up` elements out. */
static enum role around(const struct docbook *docbook, size_t up)
{
    return up < docbook->depth ? docbook->roles[docbook->depth - up]
                               : ROLE_OTHER;
}

static int heading(const struct docbook *docbook)
{
    unsigned level = docbook->sections;
    return (int)(GUMBO_TAG_H1 + (level < 1 ? 0 : level > 6 ? 5 : level - 1));
}

static int title_tag(const struct docbook *docbook)
{
    enum role parent = around(docbook, 0);
    if (parent == ROLE_INFO)
        parent = around(docbook, 1);
    switch (parent) {
    case ROLE_SECTION: return heading(docbook);
    case ROLE_TABLE: return GUMBO_TAG_CAPTION;
    case ROLE_FIGURE: return GUMBO_TAG_FIGCAPTION;
    default: return GUMBO_TAG_P;
    }
}

/* Elements that mean one thing here and another there. */
static void adapt(struct docbook *docbook, const char *name, struct row *row)
{
    enum role parent = around(docbook, 0);
    switch (row->role) {
    case ROLE_TITLE: row->tag = title_tag(docbook); break;
    case ROLE_LISTITEM:
        if (parent == ROLE_ENTRY)
            row->tag = GUMBO_TAG_DD;
        break;
    case ROLE_TERM:
        if (parent != ROLE_ENTRY)
            row->tag = GUMBO_TAG_SPAN;
        break;
    case ROLE_CELL:
        if (around(docbook, 1) == ROLE_THEAD)
            row->tag = GUMBO_TAG_TH;
        break;
    case ROLE_REFNAME:
        row->tag = docbook->named ? GUMBO_TAG_P : heading(docbook);
        docbook->named = true;
        break;
    default: break;
    }
    bool shown = row->role == ROLE_TITLE || !strcmp(name, "abstract") ||
                 !strcmp(name, "subtitle");
    if (parent == ROLE_INFO && !shown)
        row->hidden = true;
}

struct docbook_element docbook_open(struct docbook *docbook, const char *name)
{
    struct row row = find(name);
    if (!strcmp(name, "refentry"))
        docbook->named = false;
    adapt(docbook, name, &row);
    docbook->sections += row.role == ROLE_SECTION;
    /* Deeper than this, the tree refuses the element. */
    if (docbook->depth <= MAX_DEPTH)
        docbook->depth++;
    docbook->roles[docbook->depth] = (unsigned char)row.role;
    return (struct docbook_element){row.tag, row.class, row.hidden};
}

void docbook_close(struct docbook *docbook)
{
    docbook->sections -= docbook->roles[docbook->depth] == ROLE_SECTION;
    docbook->depth--;
}

static void add_prefixed(struct build *build, const char *name,
                         const char *prefix, struct slice value)
{
    struct buf text = {0};
    buf_put_text(&text, prefix);
    buf_put_slice(&text, value);
    build_attribute(build, name, buf_slice(&text));
    buf_free(&text);
}

void docbook_attribute(struct build *build, const char *name,
                       struct slice value)
{
    if (!strcmp(name, "id"))
        build_attribute(build, "id", value);
    else if (!strcmp(name, "href") || !strcmp(name, "url"))
        build_attribute(build, "href", value);
    else if (!strcmp(name, "linkend"))
        add_prefixed(build, "href", "#", value);
    else if (!strcmp(name, "language"))
        add_prefixed(build, "class", "language-", value);
}
