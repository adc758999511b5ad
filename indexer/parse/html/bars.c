#include "indexer/parse/html/bars.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/contents.h"

enum {
    MAX_BAR = 400,  /* bytes of text */
    MAX_NODES = 64, /* of a bar */
    MAX_BEHIND =
        256, /* nodes between a trail and the heading that it leads to */
    MAX_TITLE = 1000 /* bytes of that */
};

static const xmlNode *link_around(const xmlNode *text, const xmlNode *bar)
{
    const xmlNode *at = text->parent;
    while (at != bar && dom_tag(at) != GUMBO_TAG_A)
        at = at->parent;
    return at != bar && dom_attribute(at, "href") ? at : NULL;
}

/* The next text that is not blank, of few nodes; NULL: none. */
static const xmlNode *next_text(const xmlNode *at, const xmlNode *bar,
                                int *left)
{
    while ((at = dom_next(at, bar, false)) && *left) {
        --*left;
        if (!dom_is_element(at) && !text_is_blank(dom_text(at)->text))
            return at;
    }
    return NULL;
}

/* NULL: none, of few nodes. */
static const xmlNode *heading_behind(const xmlNode *element)
{
    const xmlNode *top = (const xmlNode *)element->doc;
    int left = MAX_BEHIND;
    for (const xmlNode *at = dom_next(element, top, true); at && left--;
         at = dom_next(at, top, false)) {
        int tag = dom_tag(at);
        if (tag >= GUMBO_TAG_H1 && tag <= GUMBO_TAG_H6)
            return at;
    }
    return NULL;
}

/* ---- The manual's name ---- */

/* Is the box what a site prints at the head of each page: <header>, "mobile-header"? */
static bool is_header(const xmlNode *box)
{
    const struct slice end = slice_of("-header");
    const char *rest =
        dom_tag(box) == GUMBO_TAG_DIV ? dom_attribute(box, "class") : NULL;
    for (struct slice word; rest && (word = classes_next(&rest)).size;)
        if (word.size > end.size && slice_ends(word, end))
            return true;
    return dom_tag(box) == GUMBO_TAG_HEADER;
}

/* To the site, or to the first page of a folder: a card has a link to its page, too. */
static bool leads_home(const char *url)
{
    const char *name = strrchr(url, '/');
    name = name ? name + 1 : url;
    return !strcmp(url, "/") ||
           (contents_leads_on(url) &&
            (!name[strspn(name, ".")] || !strncasecmp(name, "index.", 6)));
}

bool bars_is_banner(const xmlNode *heading)
{
    const xmlNode *text, *link = NULL;
    int left = MAX_NODES;
    const xmlNode *own =
        is_header(heading->parent) ? heading_behind(heading) : NULL;
    if (!own || dom_tag(own) > dom_tag(heading))
        return false;
    for (text = next_text(heading, heading, &left); text;
         text = next_text(text, heading, &left)) {
        const xmlNode *around = link_around(text, heading);
        if (!around || (link && around != link))
            return false;
        link = around;
    }
    const char *url = link && left ? dom_attribute(link, "href") : "#";
    return leads_home(url) || (dom_tag(heading->parent) == GUMBO_TAG_HEADER &&
                               contents_leads_on(url));
}

/* ---- Neighbours ---- */

/* The names of neighbours; those up to the first NULL say that it is one. */
static const char *const names[] = {"next",
                                    "next page",
                                    "previous",
                                    "previous page",
                                    "prev",
                                    "<<",
                                    ">>",
                                    "«",
                                    "»",
                                    "←",
                                    "→",
                                    NULL,
                                    "up",
                                    "top",
                                    "top of page",
                                    "back",
                                    "bottom of page",
                                    "home",
                                    "contents",
                                    "table of contents",
                                    "partial table of contents",
                                    "toc",
                                    "index",
                                    "forward",
                                    "backward",
                                    "first",
                                    "last",
                                    "title page",
                                    "cover",
                                    "glossary",
                                    "<",
                                    ">"};

enum name { NAME_NONE, NAME_OTHER, NAME_NEXT };

static bool reads(struct slice word, const char *name)
{
    return word.size == strlen(name) &&
           !strncasecmp(word.data, name, word.size);
}

static enum name name_of(struct slice word)
{
    enum name kind = NAME_NEXT;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!names[i])
            kind = NAME_OTHER;
        else if (reads(word, names[i]))
            return kind;
    }
    return NAME_NONE;
}

/* What is left of a text between the signs that set links apart. */
static struct slice trim(struct slice text)
{
    static const char signs[] = " []()|,;:-*";
    while (text.size && strchr(signs, text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size && strchr(signs, text.data[text.size - 1]))
        text.size--;
    return text;
}

/* False: it says something else.  Counts the names. */
static bool read_names(const xmlNode *text, size_t *ret_names, bool *ret_next)
{
    struct buf folded = {0};
    bool all = true;
    text_fold_space(&folded, dom_text(text)->text);
    struct slice rest = buf_slice(&folded);
    while (all && rest.size) {
        const char *bar = memchr(rest.data, '|', rest.size);
        size_t size = bar ? (size_t)(bar - rest.data) : rest.size;
        struct slice word = trim((struct slice){rest.data, size});
        enum name name = word.size ? name_of(word) : NAME_NONE;
        all = !word.size || name;
        *ret_names += name != NAME_NONE;
        *ret_next |= name == NAME_NEXT;
        size += bar != NULL;
        rest.data += size;
        rest.size -= size;
    }
    buf_free(&folded);
    return all;
}

static bool may_be_bar(int tag)
{
    return tag == GUMBO_TAG_P || tag == GUMBO_TAG_DIV || tag == GUMBO_TAG_B ||
           tag == GUMBO_TAG_CENTER || tag == GUMBO_TAG_TABLE ||
           tag == GUMBO_TAG_SPAN || tag == GUMBO_TAG_SMALL;
}

/* To the site of the manual or its maker, whatever that is called. */
static bool leads_away(const char *url)
{
    return !strncmp(url, "http://", 7) || !strncmp(url, "https://", 8);
}

bool bars_is_neighbours(const xmlNode *element)
{
    size_t count = 0, links = 0;
    bool next = false;
    int left = MAX_NODES;
    if (!may_be_bar(dom_tag(element)))
        return false;
    for (const xmlNode *at = next_text(element, element, &left); at;
         at = next_text(at, element, &left)) {
        const xmlNode *link = link_around(at, element);
        const char *url = link ? dom_attribute(link, "href") : "#";
        if (leads_away(url))
            continue;
        if (dom_text(at)->text.size > MAX_BAR || !read_names(at, &count, &next))
            return false;
        links += contents_leads_on(url);
    }
    return left && next && count > 1 && links;
}

static const char *url_of(const xmlNode *bar, const char *const *words)
{
    int left = MAX_NODES;
    const char *found = NULL;
    for (const xmlNode *at = next_text(bar, bar, &left); at && !found;
         at = next_text(at, bar, &left)) {
        const xmlNode *link = link_around(at, bar);
        struct buf folded = {0};
        text_fold_space(&folded, dom_text(at)->text);
        for (size_t i = 0; link && words[i]; i++)
            if (reads(trim(buf_slice(&folded)), words[i]) &&
                contents_leads_on(dom_attribute(link, "href")))
                found = dom_attribute(link, "href");
        buf_free(&folded);
    }
    return found;
}

const char *bars_up(const xmlNode *bar)
{
    static const char *const words[] = {"up", NULL};
    return url_of(bar, words);
}

const char *bars_next(const xmlNode *bar)
{
    static const char *const words[] = {"next", "next page", NULL};
    return url_of(bar, words);
}

/* ---- Trails ---- */

/* What follows the sign between two names; false: there is none. */
static bool read_sign(struct slice *text)
{
    static const char *const signs[] = {">>", ">", "»", "›", "→", "::"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (!slice_starts(*text, slice_of(signs[i])))
            continue;
        text->data += strlen(signs[i]);
        text->size -= strlen(signs[i]);
        return true;
    }
    return false;
}

/* Does the heading (NULL: none) begin with that name, as a word? */
static bool is_called(const xmlNode *heading, struct slice name)
{
    if (!heading)
        return false;
    struct buf raw = {0}, title = {0}, own = {0};
    for (const xmlNode *at = dom_next(heading, heading, false);
         at && raw.size < MAX_TITLE; at = dom_next(at, heading, false))
        if (!dom_is_element(at))
            buf_put_slice(&raw, dom_text(at)->text);
    text_fold_compare(&title, buf_slice(&raw));
    text_fold_compare(&own, name);
    bool is = own.size && slice_starts(buf_slice(&title), buf_slice(&own)) &&
              (title.size == own.size || title.data[own.size] == ' ');
    buf_free(&raw);
    buf_free(&title);
    buf_free(&own);
    return is;
}

/* Behind the link `last`, or NULL: behind a sign, or at the beginning. */
struct trail {
    const xmlNode *last;
    const char *above; /* the link before the last sign; NULL: there was none */
};

/* Reads a link, a sign, or what is no link; takes the sign off.  False: this is no trail. */
static bool read_step(struct trail *trail, const xmlNode *link,
                      struct slice *words)
{
    if (link) {
        bool first = !trail->last;
        trail->last = link;
        return first && contents_leads_on(dom_attribute(link, "href"));
    }
    if (!trail->last)
        return trail->above != NULL;
    trail->above = dom_attribute(trail->last, "href");
    trail->last = NULL;
    return read_sign(words);
}

bool bars_is_trail(const xmlNode *element, const char **ret_above)
{
    struct trail trail = {NULL, NULL};
    struct buf folded = {0};
    bool found = false, goes_on = true;
    int tag = dom_tag(element), left = MAX_NODES;
    if (tag != GUMBO_TAG_DIV && tag != GUMBO_TAG_P)
        return false;
    for (const xmlNode *at = next_text(element, element, &left);
         at && goes_on;) {
        const xmlNode *link = link_around(at, element);
        buf_clear(&folded);
        if (dom_text(at)->text.size <= MAX_BAR)
            text_fold_space(&folded, dom_text(at)->text);
        struct slice words = buf_slice(&folded);
        goes_on = read_step(&trail, link, &words);
        at = next_text(at, element, &left);
        found = goes_on && !at && left && trail.above && words.size &&
                is_called(heading_behind(element), words);
        goes_on &= !words.size || link;
    }
    if (found && ret_above)
        *ret_above = trail.above;
    buf_free(&folded);
    return found;
}

/* ---- Menus beside the text ---- */

/* Sphinx's, docutils' and Texinfo's sections have their name as an id. */
static bool is_section(const xmlNode *box)
{
    const char *words = dom_attribute(box, "class");
    return classes_has(box, "section") ||
           (words && strstr(words, "-level-extent"));
}

static bool is_called_menu(const xmlNode *box)
{
    static const char *const ids[] = {"menu", "leftmenu", "sidemenu",
                                      "sidebar"};
    const char *id = dom_tag(box) == GUMBO_TAG_DIV ||
                             dom_tag(box) == GUMBO_TAG_ASIDE ||
                             rules_is_list(dom_tag(box))
                         ? dom_attribute(box, "id")
                         : NULL;
    for (size_t i = 0; id && i < sizeof ids / sizeof *ids; i++)
        if (!strcasecmp(id, ids[i]))
            return !is_section(box);
    return false;
}

bool bars_is_menu(const xmlNode *element)
{
    enum { MIN_LINKS = 5 };
    size_t links = 0, linked = 0, text = 0;
    bool sphinx = false;
    if (!is_called_menu(element))
        return false;
    for (const xmlNode *at = dom_next(element, element, false); at;
         at = dom_next(at, element, dom_tag(at) == GUMBO_TAG_SELECT)) {
        if (dom_tag(at) == GUMBO_TAG_A && dom_attribute(at, "href"))
            links++;
        sphinx |= dom_is_element(at) && classes_has(at, "sphinxsidebar");
        if (dom_is_element(at) || text_is_blank(dom_text(at)->text))
            continue;
        bool within = dom_tag(at->parent) == GUMBO_TAG_A ||
                      dom_tag(at->parent->parent) == GUMBO_TAG_A;
        linked += within ? dom_text(at)->text.size : 0;
        text += dom_text(at)->text.size;
    }
    return sphinx || (dom_holds(element, DOM_HOLDS_LIST) &&
                      links >= MIN_LINKS && 2 * linked >= text);
}
