#include "indexer/parse/html/contents.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/bars.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/docgens.h"
#include "indexer/parse/html/helps.h"
#include "indexer/parse/html/makers.h"
#include "indexer/parse/html/rules.h"

enum {
    MAX_LINKS = 50000,
    MIN_LINKS = 5,     /* of a page that is a list of links */
    MIN_GROUPS = 3,    /* headings of a list that sorts pages under them */
    MIN_SHARE = 3,     /* a third of the page's text is in it */
    MAX_HEADING = 500, /* bytes of one of them; what is longer is a text */
    MAX_CLIMB = 64     /* elements between a link and its list */
};

/* ---- Recognisers ---- */

struct recogniser {
    int tag; /* GUMBO_TAG_LAST: any */
    const char *class;
    int kind; /* enum page_contents */
};

/* In the order of preference: lists of the kind found first are read. */
static const struct recogniser recognisers[] = {
    {GUMBO_TAG_DIV, "toctree-wrapper", CONTENTS_BELOW}, /* Sphinx */
    {GUMBO_TAG_UL, "ChildLinks", CONTENTS_BELOW},       /* LaTeX2HTML */
    {GUMBO_TAG_TABLE, "menu", CONTENTS_BELOW},          /* Texinfo */
    {GUMBO_TAG_UL, "mini-toc", CONTENTS_BELOW},
    {GUMBO_TAG_UL, "section-toc", CONTENTS_BELOW},
    {GUMBO_TAG_TABLE, "directory", CONTENTS_BELOW}, /* Doxygen */
    {GUMBO_TAG_TD, "indexkey", CONTENTS_BELOW},     /* before 1.8 */
    {GUMBO_TAG_DIV, "toc", CONTENTS_BELOW},         /* DocBook */
    {GUMBO_TAG_DIV, "ContChap", CONTENTS_BELOW},    /* GAPDoc */
    {GUMBO_TAG_DIV, "item-left", CONTENTS_BELOW},   /* rustdoc */
    {GUMBO_TAG_DIV, "item-name", CONTENTS_BELOW},
    {GUMBO_TAG_TH, "colFirst", CONTENTS_BELOW}, /* javadoc */
    {GUMBO_TAG_DIV, "col-first", CONTENTS_BELOW},
    {GUMBO_TAG_A, "toptoclink", CONTENTS_GUESS}, /* Scribble: a row each */
    {GUMBO_TAG_A, "toclink", CONTENTS_GUESS},
    {GUMBO_TAG_OL, "chapter", CONTENTS_WHOLE},          /* mdBook */
    {GUMBO_TAG_NAV, "md-nav--primary", CONTENTS_WHOLE}, /* MkDocs Material */
    {GUMBO_TAG_NAV, "nav-menu", CONTENTS_WHOLE},        /* Antora */
    {GUMBO_TAG_UL, "theme-doc-sidebar-menu", CONTENTS_WHOLE}, /* Docusaurus */
    {GUMBO_TAG_ASIDE, "VPSidebar", CONTENTS_WHOLE},           /* VitePress */
    {GUMBO_TAG_NAV, "td-sidebar-nav", CONTENTS_WHOLE},        /* Docsy */
    {GUMBO_TAG_UL, "docs-menu", CONTENTS_WHOLE},              /* Documenter */
    {GUMBO_TAG_P, "tocbody", CONTENTS_WHOLE},                 /* RoboHelp */
    {GUMBO_TAG_DIV, "book-summary", CONTENTS_WHOLE},          /* GitBook */
    {GUMBO_TAG_DIV, "types-list", CONTENTS_WHOLE},            /* Crystal */
    {GUMBO_TAG_DIV, "MEntry", CONTENTS_WHOLE},                /* Natural Docs */
};

bool contents_is_title(struct slice title, bool links)
{
    static const char *const names[] = {"table of contents",
                                        "inhaltsverzeichnis",
                                        "table des matières",
                                        "оглавление",
                                        "目次",
                                        "目录",
                                        NULL, /* those below name others, too */
                                        "contents",
                                        "toc",
                                        "inhalt",
                                        "sommaire",
                                        "sommario",
                                        "contenido",
                                        "содержание"};
    struct buf folded = {0};
    bool found = false;
    text_fold_compare(&folded, title);
    for (size_t i = 0; !found && i < sizeof names / sizeof *names; i++)
        if (names[i])
            found = slice_is(buf_slice(&folded), names[i]);
        else if (!links)
            break;
    buf_free(&folded);
    return found;
}

bool contents_is_topic(const xmlNode *element)
{
    const char *type = dom_tag(element) == GUMBO_TAG_OBJECT
                           ? dom_attribute(element, "type")
                           : NULL;
    return type && !strcasecmp(type, "text/sitemap");
}

static const struct recogniser *recognise(const xmlNode *element)
{
    static const struct recogniser made = {GUMBO_TAG_LAST, NULL,
                                           CONTENTS_BELOW};
    static const struct recogniser topic = {GUMBO_TAG_OBJECT, NULL,
                                            CONTENTS_WHOLE};
    static const struct recogniser list = {GUMBO_TAG_UL, NULL, CONTENTS_WHOLE};
    if (contents_is_topic(element))
        return &topic;
    if (dom_is_element(element) &&
        (helps_is_contents(element) || docgens_is_menu(element) ||
         makers_is_menu(element)))
        return &list;
    if (dom_is_element(element) && makers_is_contents(element))
        return &made;
    if (!dom_is_element(element) || !element->properties)
        return NULL;
    int tag = dom_tag(element);
    for (size_t i = 0; i < sizeof recognisers / sizeof *recognisers; i++)
        if (recognisers[i].tag == tag &&
            classes_has(element, recognisers[i].class))
            return makers_is_of_member(element) ? NULL : &recognisers[i];
    return NULL;
}

/* ---- Links ---- */

struct reading {
    struct tree *tree;
    struct page_link *links; /* [count] */
    size_t count, capacity;
    const xmlNode *top; /* of the page */
    bool sited;         /* site is known */
    struct slice site; /* "https://works.org", in which the page is; or empty */
};

bool contents_leads_on(const char *url)
{
    size_t scheme = 0;
    if (!*url || *url == '#' || *url == '/' || *url == '?')
        return false;
    while (isalpha((unsigned char)url[scheme]))
        scheme++;
    return url[scheme] != ':';
}

/* Without what follows "#". */
static struct slice page_of(const char *url)
{
    return (struct slice){url, strcspn(url, "#")};
}

static struct page_link *new_link(struct reading *r)
{
    MEM_RESERVE(r->links, &r->capacity, r->count + 1);
    return &r->links[r->count++];
}

static void add_page(struct reading *r, const char *url, uint32_t depth)
{
    struct slice page = page_of(url);
    if (r->count == MAX_LINKS ||
        (r->count && slice_equal(r->links[r->count - 1].url, page)))
        return;
    *new_link(r) =
        (struct page_link){tree_copy_text(r->tree, page), depth, {"", 0}};
}

static void add_link(struct reading *r, const char *url, uint32_t depth)
{
    if (contents_leads_on(url))
        add_page(r, url, depth);
}

/* Doxygen's rows: "row_0_1_" is in the second level. */
static uint32_t depth_of_row(const xmlNode *row)
{
    const char *id = dom_attribute(row, "id");
    uint32_t marks = 0;
    if (!id || strncmp(id, "row_", 4))
        return 0;
    for (const char *at = id + 4; *at; at++)
        marks += *at == '_';
    return marks ? marks - 1 : 0;
}

/* How many lists around the link lie within the outermost. */
static uint32_t depth_in(const xmlNode *link, const xmlNode *box)
{
    uint32_t lists = 0, rows = 0;
    const xmlNode *at = link;
    for (int i = 0; i < MAX_CLIMB && dom_is_element(at); i++) {
        int tag = dom_tag(at);
        lists += rules_is_list(tag);
        if (tag == GUMBO_TAG_TR)
            rows += depth_of_row(at);
        if (at == box)
            break;
        at = at->parent;
    }
    return (lists ? lists - 1 : 0) + rows;
}

/* What Doxygen's rows say of a class may link to others. */
static bool is_description(const xmlNode *node)
{
    return dom_tag(node) == GUMBO_TAG_TD && classes_has(node, "desc");
}

static void read_box(struct reading *r, const xmlNode *box)
{
    for (const xmlNode *at = box; at;
         at = dom_next(at, box, is_description(at))) {
        const char *url = NULL;
        if (dom_tag(at) == GUMBO_TAG_A)
            url = dom_attribute(at, "href");
        if (url)
            add_link(r, url, depth_in(at, box));
    }
}

/* ---- Headings of lists ---- */

/* Marks that open and close a list say nothing. */
static struct slice without_marks(struct slice text)
{
    while (text.size) {
        size_t size;
        uint32_t c = text_decode(text.data, text.size, 0, &size);
        if (c < 0x80 ? c != ' ' : text_is_letter(c) || text_is_digit(c))
            break;
        text.data += size;
        text.size -= size;
    }
    return text;
}

/* The text of an item before the list that it holds; empty: too long. */
static struct slice heading_of(struct reading *r, const xmlNode *item)
{
    struct buf raw = {0}, folded = {0};
    bool fits = true;
    for (const xmlNode *at = item; at && !rules_is_list(dom_tag(at)) && fits;
         at = dom_next(at, item, false)) {
        if (dom_is_element(at))
            continue;
        struct slice text = dom_text(at)->text;
        fits = raw.size + text.size <= MAX_HEADING;
        if (fits)
            buf_put_slice(&raw, text);
    }
    if (fits)
        text_fold_space(&folded, buf_slice(&raw));
    struct slice text =
        tree_copy_text(r->tree, without_marks(buf_slice(&folded)));
    buf_free(&raw);
    buf_free(&folded);
    return text;
}

static bool add_heading(struct reading *r, struct slice title, uint32_t depth)
{
    if (!title.size || r->count == MAX_LINKS)
        return false;
    *new_link(r) = (struct page_link){{"", 0}, depth, title};
    return true;
}

/* ---- Menus: what a site prints on each page of all its pages ---- */

/* VitePress and Natural Docs have no lists. */
static bool is_menu_item(const xmlNode *node)
{
    return dom_tag(node) == GUMBO_TAG_LI ||
           classes_has(node, "VPSidebarItem") || classes_has(node, "MEntry");
}

/* Natural Docs has a box for what a group holds. */
static uint32_t depth_of_entry_in(const xmlNode *entry, const xmlNode *box)
{
    uint32_t depth = 0;
    const xmlNode *at = entry;
    for (int i = 0; i < MAX_CLIMB && at != box && dom_is_element(at); i++) {
        at = at->parent;
        depth += classes_has(at, "MGroupContent");
    }
    return depth;
}

static uint32_t depth_of_item(const xmlNode *item, const xmlNode *box)
{
    static const char level[] = "level-";
    const char *rest = dom_attribute(item, "class");
    for (struct slice word; rest && (word = classes_next(&rest)).size;)
        if (word.size == sizeof level && slice_starts(word, slice_of(level)) &&
            isdigit((unsigned char)word.data[sizeof level - 1]))
            return (uint32_t)(word.data[sizeof level - 1] - '0');
    return classes_has(item, "MEntry") ? depth_of_entry_in(item, box)
                                       : depth_in(item, box);
}

/* The link or the text that the item shows, before those below it; or NULL. */
static const xmlNode *label_of(const xmlNode *item)
{
    for (const xmlNode *at = dom_next(item, item, false); at;
         at = dom_next(at, item, false)) {
        if (dom_is_element(at) &&
            (rules_is_list(dom_tag(at)) || is_menu_item(at)))
            return NULL;
        if (dom_tag(at) == GUMBO_TAG_A && dom_attribute(at, "href"))
            return at;
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            return at;
    }
    return NULL;
}

/* "https://docs.works.org" of "https://docs.works.org/use/"; empty: there is none. */
static struct slice site_of(const char *url)
{
    const char *host = strstr(url, "://");
    const char *end = host ? strchr(host + 3, '/') : NULL;
    return end && end > host + 3 && !strncasecmp(url, "http", 4)
               ? (struct slice){url, (size_t)(end - url)}
               : (struct slice){"", 0};
}

static bool is_canonical(const xmlNode *link)
{
    const char *rel = dom_attribute(link, "rel");
    return rel && !strcasecmp(rel, "canonical");
}

static struct slice find_site(const xmlNode *top)
{
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false))
        if (dom_tag(at) == GUMBO_TAG_LINK && is_canonical(at) &&
            dom_attribute(at, "href"))
            return site_of(dom_attribute(at, "href"));
    return (struct slice){"", 0};
}

/* Sites write paths from their root, some with the site's name before them: navigation
 * looks for that. */
static void add_menu_link(struct reading *r, const xmlNode *link,
                          uint32_t depth)
{
    const char *url = dom_attribute(link, "href");
    if (url && !r->sited && !strncasecmp(url, "http", 4)) {
        r->site = find_site(r->top);
        r->sited = true;
    }
    if (url && r->site.size && slice_starts(slice_of(url), r->site) &&
        url[r->site.size] == '/')
        url += r->site.size;
    if (url && (contents_leads_on(url) || (url[0] == '/' && url[1] != '/')))
        add_page(r, url, depth);
}

/* Docusaurus links a category without a page to the first page in it, Natural Docs to a
 * program that opens it. */
static bool is_category(const xmlNode *link)
{
    const char *url = dom_attribute(link, "href");
    return classes_has(link, "menu__link--sublist-caret") ||
           !strcmp(url, "#") || !strncmp(url, "javascript:ToggleMenu(", 22);
}

static void read_item(struct reading *r, const xmlNode *item, uint32_t depth)
{
    const xmlNode *label = label_of(item);
    bool link = label && dom_tag(label) == GUMBO_TAG_A;
    while (label && !link && label->parent != item)
        label = label->parent;
    if (link && !is_category(label))
        add_menu_link(r, label, depth);
    else if (label)
        add_heading(r, heading_of(r, label), depth);
}

/* A link beside the items is what all of them are below. */
static void read_menu(struct reading *r, const xmlNode *box)
{
    uint32_t below = 0;
    bool skip = false;
    for (const xmlNode *at = box; at; at = dom_next(at, box, skip)) {
        skip = false;
        if (!dom_is_element(at))
            continue;
        if (is_menu_item(at)) {
            read_item(r, at, depth_of_item(at, box) + below);
        } else if (dom_tag(at) == GUMBO_TAG_A && !r->count) {
            add_menu_link(r, at, 0);
            below = r->count > 0;
        }
    }
}

/* ---- Scripts: LibreOffice's contents, which its pages write into themselves ---- */

static bool begins_script(struct slice text)
{
    static const char start[] =
        "document.getElementById(\"Contents\").innerHTML='";
    return slice_starts(text, slice_of(start));
}

/* Links begin with the name of the folder in which the script lies. */
static void leave_out_folders(struct reading *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct slice *url = &r->links[i].url;
        const char *end = memchr(url->data, '/', url->size);
        size_t folder = end ? (size_t)(end + 1 - url->data) : 0;
        url->data += folder;
        url->size -= folder;
    }
}

/* A list for each program, behind what puts them into the page.  One without links is
 * no page either. */
static int read_script(struct reading *r, const xmlNode *top)
{
    bool begun = false, skip = false;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, skip)) {
        skip = dom_tag(at) == GUMBO_TAG_UL;
        if (!begun && (skip || !dom_is_element(at))) {
            if (skip || !begins_script(dom_text(at)->text))
                return CONTENTS_NONE;
            begun = true;
        }
        if (skip)
            read_menu(r, at);
    }
    leave_out_folders(r);
    return begun ? CONTENTS_WHOLE : CONTENTS_NONE;
}

/* ---- Lines: RoboHelp's contents for browsers without scripts ---- */

/* No-break spaces that a line begins with, as far as the text says. */
static uint32_t indent_in(struct slice text, bool *ret_words)
{
    uint32_t spaces = 0;
    for (size_t at = 0, size; at < text.size; at += size) {
        uint32_t c = text_decode(text.data, text.size, at, &size);
        if (c == 0xA0)
            spaces++;
        else if (!text_space(text.data, text.size, at))
            *ret_words = true;
    }
    return spaces;
}

/* A book is a heading, or a link to the same lines with that book open. */
static bool is_book(const xmlNode *link)
{
    const char *url = dom_attribute(link, "href");
    return url && !strncmp(url, "whlst", 5);
}

static void read_lines(struct reading *r, const xmlNode *box)
{
    enum { INDENT = 3 };
    uint32_t spaces = 0;
    bool skip = false, words = false;
    for (const xmlNode *at = dom_next(box, box, false); at;
         at = dom_next(at, box, skip)) {
        skip = dom_tag(at) == GUMBO_TAG_A;
        if (dom_tag(at) == GUMBO_TAG_BR) {
            spaces = 0;
            words = false;
        } else if (skip && is_book(at)) {
            add_heading(r, heading_of(r, at), spaces / INDENT);
        } else if (skip && dom_attribute(at, "href")) {
            add_link(r, dom_attribute(at, "href"), spaces / INDENT);
        } else if (!dom_is_element(at) && !words) {
            spaces += indent_in(dom_text(at)->text, &words);
            if (words)
                add_heading(r, heading_of(r, at), spaces / INDENT);
        }
    }
}

/* ---- Topics: the contents of an HTML Help file ---- */

/* What a topic says of itself by that name, or NULL. */
static const char *value_of(const xmlNode *topic, const char *name)
{
    for (const xmlNode *at = topic->children; at; at = at->next) {
        const char *own =
            dom_tag(at) == GUMBO_TAG_PARAM ? dom_attribute(at, "name") : NULL;
        if (own && !strcasecmp(own, name))
            return dom_attribute(at, "value");
    }
    return NULL;
}

void contents_put_path(struct buf *link, const char *path)
{
    for (; *path; path++)
        buf_put_byte(link, *path == '\\' ? '/' : *path);
}

/* A topic without one is a book of others. */
static void read_topic(struct reading *r, const xmlNode *topic, uint32_t depth)
{
    const char *path = value_of(topic, "Local");
    const char *name = value_of(topic, "Name");
    struct buf text = {0};
    if (path && *path) {
        contents_put_path(&text, path);
        add_link(r, text.data, depth);
    } else if (name && strlen(name) <= MAX_HEADING) {
        text_fold_space(&text, slice_of(name));
        add_heading(r, tree_copy_text(r->tree, buf_slice(&text)), depth);
    }
    buf_free(&text);
}

/* ---- The contents of JavaHelp, of MATLAB's, Eclipse's, Sandcastle's and Flare's help, in
 * XML ---- */

static bool is_called(const xmlNode *node, const char *name)
{
    return dom_is_element(node) && !strcmp((const char *)node->name, name);
}

static bool is_entry(const xmlNode *node)
{
    return is_called(node, "tocitem") || is_called(node, "topic") ||
           is_called(node, "HelpTOCNode") || is_called(node, "TocEntry");
}

static uint32_t depth_of_entry(const xmlNode *entry, const xmlNode *toc)
{
    uint32_t depth = dom_attribute(toc, "topic") != NULL;
    const xmlNode *at = entry->parent;
    for (int i = 0; i < MAX_CLIMB && at != toc; i++, at = at->parent)
        depth += is_entry(at);
    return depth;
}

/* Paths are from the folder of the whole help, wherever the list lies: as in a site. */
static void add_help_page(struct reading *r, const char *url, uint32_t depth)
{
    struct buf path = {0};
    buf_printf(&path, "/%s", url);
    add_page(r, path.data, depth);
    buf_free(&path);
}

static void add_name(struct reading *r, struct slice url, const char *name,
                     uint32_t depth)
{
    if (r->count < MAX_LINKS)
        *new_link(r) =
            (struct page_link){tree_copy_text(r->tree, url), depth,
                               tree_copy_text(r->tree, slice_of(name))};
}

static void add_book(struct reading *r, struct slice label, uint32_t depth)
{
    struct buf text = {0};
    text_fold_space(&text, label);
    if (text.size && text.size <= MAX_HEADING)
        add_heading(r, tree_copy_text(r->tree, buf_slice(&text)), depth);
    buf_free(&text);
}

/* What MATLAB calls an entry stands in it, not in an attribute. */
static struct slice own_name(const xmlNode *entry)
{
    const xmlNode *first = entry->children;
    const char *title = dom_attribute(entry, "label");
    bool node = is_called(entry, "HelpTOCNode");
    if (node && title)
        return slice_of(title);
    return !node && first && !dom_is_element(first) &&
                   !text_is_blank(dom_text(first)->text) &&
                   is_called(entry, "tocitem") && !dom_attribute(entry, "text")
               ? dom_text(first)->text
               : (struct slice){"", 0};
}

/* Sandcastle's and MATLAB's paths are from the folder of the list. */
static bool read_own(struct reading *r, const xmlNode *entry, uint32_t depth)
{
    struct slice name = own_name(entry);
    const char *url = dom_attribute(
        entry, is_called(entry, "HelpTOCNode") ? "url" : "target");
    if (!name.size)
        return false;
    if (url && *url)
        add_link(r, url, depth);
    else
        add_book(r, name, depth);
    return true;
}

/* Flare's, before version 9: paths are from the folder of the whole help. */
static void read_flare_entry(struct reading *r, const xmlNode *entry,
                             uint32_t depth)
{
    const char *url = dom_attribute(entry, "href");
    const char *title = dom_attribute(entry, "label");
    if (url && url[0] == '/' && url[1] != '/')
        add_page(r, url, depth);
    else if (title)
        add_book(r, slice_of(title), depth);
}

static void read_entry(struct reading *r, const xmlNode *entry, uint32_t depth)
{
    const char *url = dom_attribute(entry, "href");
    const char *target = dom_attribute(entry, "target");
    const char *label = dom_attribute(entry, "label");
    struct buf text = {0};
    if (!label)
        label = dom_attribute(entry, "text");
    if (url && contents_leads_on(url)) {
        add_help_page(r, url, depth);
    } else if (target && *target) {
        buf_printf(&text, "#%s", target);
        add_name(r, buf_slice(&text), "", depth);
    } else if (label) {
        add_book(r, slice_of(label), depth);
    }
    buf_free(&text);
}

/* A <link> has the entries of another file in its place. */
static int read_toc(struct reading *r, const xmlNode *toc)
{
    const char *first = dom_attribute(toc, "topic");
    if (first && contents_leads_on(first))
        add_help_page(r, first, 0);
    for (const xmlNode *at = dom_next(toc, toc, false); at;
         at = dom_next(at, toc, false)) {
        const char *other =
            is_called(at, "link") ? dom_attribute(at, "toc") : NULL;
        uint32_t depth = is_entry(at) ? depth_of_entry(at, toc) : 0;
        if (is_called(at, "TocEntry"))
            read_flare_entry(r, at, depth);
        else if (is_entry(at) && !read_own(r, at, depth))
            read_entry(r, at, depth);
        else if (other)
            add_link(r, other, depth_of_entry(at, toc));
    }
    return CONTENTS_WHOLE;
}

static int read_map(struct reading *r, const xmlNode *map)
{
    for (const xmlNode *at = dom_next(map, map, false); at;
         at = dom_next(at, map, false)) {
        const char *name =
            is_called(at, "mapID") ? dom_attribute(at, "target") : NULL;
        const char *url = name ? dom_attribute(at, "url") : NULL;
        if (url && *name && contents_leads_on(url))
            add_name(r, page_of(url), name, 0);
    }
    return CONTENTS_MAP;
}

/* ---- The contents of an EPUB, in XML ---- */

static uint32_t depth_of_point(const xmlNode *point)
{
    uint32_t depth = 0;
    const xmlNode *at = point->parent;
    for (int i = 0; i < MAX_CLIMB && dom_is_element(at); i++, at = at->parent)
        depth += is_called(at, "navPoint");
    return depth;
}

static int read_ncx(struct reading *r, const xmlNode *ncx)
{
    for (const xmlNode *at = dom_next(ncx, ncx, false); at;
         at = dom_next(at, ncx, false)) {
        const char *url =
            is_called(at, "content") ? dom_attribute(at, "src") : NULL;
        if (url && is_called(at->parent, "navPoint"))
            add_link(r, url, depth_of_point(at->parent));
    }
    return CONTENTS_WHOLE;
}

static int read_help(struct reading *r, const xmlNode *top)
{
    const xmlNode *root = dom_element_from(top->children);
    return !root ? CONTENTS_NONE
           : is_called(root, "toc") || is_called(root, "HelpTOC") ||
                   is_called(root, "CatapultToc")
               ? read_toc(r, root)
           : is_called(root, "map") ? read_map(r, root)
           : is_called(root, "ncx") ? read_ncx(r, root)
                                    : CONTENTS_NONE;
}

/* ---- Pages ---- */

/* All lists that one kind of recogniser finds. */
static int read_marked(struct reading *r, const xmlNode *top)
{
    int kind = CONTENTS_NONE;
    bool skip = false;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, skip)) {
        const struct recogniser *found = recognise(at);
        skip = found != NULL;
        if (!found || (kind && found->kind != kind))
            continue;
        if (found->tag == GUMBO_TAG_OBJECT)
            read_topic(r, at, depth_in(at, top));
        else if (found->tag == GUMBO_TAG_P)
            read_lines(r, at);
        else if (found->kind == CONTENTS_WHOLE)
            read_menu(r, at);
        else
            read_box(r, at);
        if (r->count)
            kind = found->kind;
    }
    return kind;
}

static int read_frameset(struct reading *r, const xmlNode *top)
{
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false)) {
        const char *url = NULL;
        if (dom_tag(at) == GUMBO_TAG_FRAME)
            url = dom_attribute(at, "src");
        if (url)
            add_link(r, url, 0);
    }
    return r->count ? CONTENTS_FRAMESET : CONTENTS_NONE;
}

/* ---- Lists that sort pages under headings ---- */

/* What an item begins with: a link that leads somewhere, a text, or NULL. */
static const xmlNode *lead_of(const xmlNode *item)
{
    for (const xmlNode *at = dom_next(item, item, false); at;
         at = dom_next(at, item, false)) {
        if (dom_tag(at) == GUMBO_TAG_A && dom_attribute(at, "href"))
            return at;
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            return at;
    }
    return NULL;
}

/* Its items that are headings of others, and those that begin with a link.
 * Returns how many headings there are. */
static size_t read_items(struct reading *r, const xmlNode *list)
{
    size_t headings = 0;
    for (const xmlNode *at = dom_next(list, list, false); at;
         at = dom_next(at, list, false)) {
        if (dom_tag(at) != GUMBO_TAG_LI && dom_tag(at) != GUMBO_TAG_DT)
            continue;
        const xmlNode *lead = lead_of(at);
        uint32_t depth = depth_in(at, list);
        if (lead && dom_tag(lead) == GUMBO_TAG_A) {
            add_link(r, dom_attribute(lead, "href"), depth);
        } else if (lead && dom_holds(at, DOM_HOLDS_LIST)) {
            headings += add_heading(r, heading_of(r, at), depth);
        }
    }
    return headings;
}

static uint64_t text_in(const xmlNode *top)
{
    uint64_t size = 0;
    for (const xmlNode *at = dom_next(top, top, false); at;
         at = dom_next(at, top, false))
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            size += dom_text(at)->text.size;
    return size;
}

/* Headings of a box and what the items of its lists link to; the number of headings. */
static size_t read_headed_lists(struct reading *r, const xmlNode *box)
{
    size_t headings = 0;
    for (const xmlNode *at = dom_next(box, box, false); at;
         at = dom_next(at, box, false)) {
        int tag = dom_tag(at);
        if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6) {
            headings += add_heading(r, heading_of(r, at), 0);
            continue;
        }
        const xmlNode *lead = tag == GUMBO_TAG_LI ? lead_of(at) : NULL;
        if (lead && headings && dom_tag(lead) == GUMBO_TAG_A)
            add_menu_link(r, lead, depth_in(at, box) + 1);
    }
    return headings;
}

/* A menu beside the text of each page, whose lists sort pages under headings: their own, or
 * those above them. */
static int read_menu_by_hand(struct reading *r, const xmlNode *top)
{
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false)) {
        if (!dom_is_element(at) || !at->properties || !bars_is_menu(at))
            continue;
        size_t headings = read_items(r, at);
        if (headings && r->count >= 2 * headings)
            return CONTENTS_WHOLE;
        r->count = 0;
        headings = read_headed_lists(r, at);
        if (headings >= MIN_GROUPS && r->count >= 2 * headings)
            return CONTENTS_WHOLE;
        r->count = 0;
    }
    return CONTENTS_NONE;
}

/* The first such list that has much of the page's text. */
static int read_groups(struct reading *r, const xmlNode *top, uint64_t text)
{
    bool skip = false;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, skip)) {
        bool list = rules_is_list(dom_tag(at));
        skip = list || (dom_is_element(at) && rules_of(at).part == PART_SKIP &&
                        dom_tag(at) != GUMBO_TAG_HEAD);
        if (!list || MIN_SHARE * text_in(at) < text)
            continue;
        size_t headings = read_items(r, at);
        if (headings >= MIN_GROUPS && r->count >= 2 * headings)
            return CONTENTS_GROUPS;
        r->count = 0;
    }
    return CONTENTS_NONE;
}

/* What chrome links to is not counted as the page's. */
static int read_guessed(struct reading *r, const xmlNode *top)
{
    bool skip = false;
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, skip)) {
        skip = dom_is_element(at) && rules_of(at).part == PART_SKIP &&
               dom_tag(at) != GUMBO_TAG_HEAD;
        const char *url = NULL;
        if (!skip && dom_tag(at) == GUMBO_TAG_A)
            url = dom_attribute(at, "href");
        if (url)
            add_link(r, url, depth_in(at, top));
    }
    if (r->count >= MIN_LINKS)
        return CONTENTS_GUESS;
    r->count = 0;
    return CONTENTS_NONE;
}

/* Are there links enough for a page that is hardly more than these?  One whose <title> ends
 * with "Table of Contents" may say what each leads to. */
static bool has_links(const struct page_facts *facts)
{
    enum { MAX_SAID = 5 }; /* times the text of its links */
    static const char name[] = "table of contents";
    size_t size = sizeof name - 1;
    struct slice title = facts->title;
    bool named = title.size >= size &&
                 !strncasecmp(title.data + title.size - size, name, size);
    return (named ? MAX_SAID : 2) * facts->linked >= facts->text;
}

void contents_read(const struct dom *dom, const struct page_facts *facts,
                   struct tree *tree)
{
    struct reading reading = {.tree = tree, .top = (const xmlNode *)dom->doc};
    struct page *page = &tree->page;
    const xmlNode *top = (const xmlNode *)dom->doc;
    if (page->role != PAGE_CONTENT)
        return;
    page->contents = read_help(&reading, top);
    if (!page->contents)
        page->contents = read_script(&reading, top);
    if (!page->contents)
        page->contents = read_marked(&reading, top);
    if (!page->contents)
        page->contents = read_frameset(&reading, top);
    if (!page->contents)
        page->contents = read_menu_by_hand(&reading, top);
    if (!page->contents)
        page->contents = read_groups(&reading, top, facts->text);
    if (!page->contents && has_links(facts))
        page->contents = read_guessed(&reading, top);
    page->links = tree_copy_links(tree, reading.links, reading.count);
    page->link_count = (uint32_t)reading.count;
    free(reading.links);
}
