#include "indexer/parse/html/page.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "indexer/parse/html/apis.h"
#include "indexer/parse/html/bars.h"
#include "indexer/parse/html/classes.h"
#include "indexer/parse/html/commented.h"
#include "indexer/parse/html/contents.h"
#include "indexer/parse/html/docgens.h"
#include "indexer/parse/html/doxygen.h"
#include "indexer/parse/html/helps.h"
#include "indexer/parse/html/makers.h"
#include "indexer/parse/html/rules.h"
#include "indexer/parse/html/sandcastle.h"
#include "indexer/parse/outline/outline.h"
#include "indexer/parse/outline/writer.h"

enum {
    MAX_REDIRECT = 400, /* bytes of text of a page that sends one away */
    MAX_SEARCH = 800,   /* of a page that is there to search */
    MIN_LETTERS = 5,    /* of an alphabetical index */
    MANY_LETTERS = 15,  /* of one that says what each is for, in so many */
    MAX_DESCRIBED = 5,  /* times the text of its links */
    MAX_INDEX = 80      /* bytes of its title */
};

/* ---- Links to the neighbours ---- */

static bool has_word(const char *words, const char *word)
{
    size_t size = strlen(word);
    while (words && *words) {
        words += strspn(words, " \t\n");
        size_t n = strcspn(words, " \t\n");
        if (n == size && !strncasecmp(words, word, n))
            return true;
        words += n;
    }
    return false;
}

/* The first that says so wins. */
static void set(struct slice *place, const char *url)
{
    if (!place->size)
        *place = slice_of(url);
}

static void read_link(const xmlNode *element, struct page_facts *facts)
{
    const char *url = dom_attribute(element, "href");
    const char *rel = dom_attribute(element, "rel");
    const char *key = dom_attribute(element, "accesskey");
    if (url && helps_is_next(element))
        set(&facts->next, url);
    if (!url || (!rel && !key))
        return;
    if (has_word(rel, "prev") || has_word(rel, "previous") ||
        has_word(key, "p"))
        set(&facts->prev, url);
    /* LaTeX2HTML names the next of the same level first, then the next page. */
    if (dom_tag(element) == GUMBO_TAG_LINK && has_word(rel, "next"))
        facts->next = (struct slice){"", 0};
    if (has_word(rel, "next") || has_word(key, "n"))
        set(&facts->next, url);
    if (has_word(rel, "up") || has_word(rel, "parent") || has_word(key, "u"))
        set(&facts->up, url);
}

static void read_name(const xmlNode *heading, struct page_facts *facts)
{
    const char *last = NULL;
    for (const xmlNode *at = heading->children; at; at = at->next)
        if (dom_tag(at) == GUMBO_TAG_A && dom_attribute(at, "href"))
            last = dom_attribute(at, "href");
    if (last)
        set(&facts->up, last);
}

/* Links in the head of the page come first. */
static void read_bar(const xmlNode *bar, struct page_facts *facts)
{
    const char *up = bars_up(bar), *next = bars_next(bar);
    if (up)
        set(&facts->up, up);
    if (next)
        set(&facts->next, next);
}

/* ---- The trail from the first page to this one ---- */

enum trail { TRAIL_NONE, TRAIL_TO_PAGE, TRAIL_ABOVE };

/* MediaWiki's, Confluence's and some others have but the pages above, the rest end with
 * this one, which is no link. */
static enum trail trail_of(const xmlNode *element)
{
    static const char *const classes[] = {
        "WebWorks_Breadcrumbs", "breadcrumb",
        "breadcrumbs",          "navigationbar", /* QDoc */
        "wh_breadcrumb",                         /* Oxygen WebHelp */
        "wy-breadcrumbs"};
    const char *label = dom_attribute(element, "aria-label");
    const char *id = dom_attribute(element, "id");
    if (helps_is_trail(element) ||
        (id && !strcmp(id, "breadcrumbs"))) /* Confluence */
        return TRAIL_ABOVE;
    if (helps_is_trail_to(element))
        return TRAIL_TO_PAGE;
    if (label && !strncasecmp(label, "breadcrumb", strlen("breadcrumb")))
        return TRAIL_TO_PAGE;
    const char *rest = dom_attribute(element, "class");
    for (struct slice word; rest && (word = classes_next(&rest)).size;) {
        if (slice_is(word, "subpages") || slice_is(word, "parentlinks") ||
            slice_is(word, "phpdocumentor-breadcrumbs"))
            return TRAIL_ABOVE;
        for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
            if (slice_is(word, classes[i]))
                return TRAIL_TO_PAGE;
    }
    return TRAIL_NONE;
}

/* The page itself, which may be a link: Oxygen WebHelp's. */
static bool is_current(const xmlNode *element)
{
    return dom_is_element(element) && (classes_has(element, "active") ||
                                       dom_attribute(element, "aria-current"));
}

static bool has_letters(struct slice text)
{
    enum { MAX_BYTES = 256 };
    for (size_t at = 0, size; at < text.size && at < MAX_BYTES; at += size) {
        uint32_t c = text_decode(text.data, text.size, at, &size);
        if (text_is_letter(c) || text_is_digit(c))
            return true;
    }
    return false;
}

/* The page above: the last link before the name of this page, behind which tools put
 * links to other things.  Trails are short. */
static struct slice end_of_trail(const xmlNode *trail, enum trail kind)
{
    enum { MAX_NODES = 256 };
    struct slice last = {"", 0};
    size_t nodes = 0;
    bool skip = false, named = kind == TRAIL_ABOVE;
    for (const xmlNode *at = dom_next(trail, trail, false);
         at && nodes < MAX_NODES; at = dom_next(at, trail, skip), nodes++) {
        skip = dom_tag(at) == GUMBO_TAG_A;
        if (last.size && is_current(at)) {
            named = true;
            break;
        }
        const char *url = skip ? dom_attribute(at, "href") : NULL;
        if (url && contents_leads_on(url)) {
            last = slice_of(url);
        } else if (!dom_is_element(at) && last.size &&
                   has_letters(dom_text(at)->text)) {
            named = true;
            break;
        }
    }
    return named ? last : (struct slice){"", 0};
}

/* ---- Names of the pages above: MadCap Flare's, on <html> ---- */

/* False: the name is a variable, which only the program that shows the page knows. */
static bool put_name(struct buf *names, struct slice name)
{
    if (memmem(name.data, name.size, "[%=", 3))
        return false;
    size_t before = names->size;
    if (before)
        buf_put_byte(names, '|');
    size_t start = names->size;
    text_fold_space(names, name);
    if (names->size == start)
        names->size = before;
    return true;
}

static void set_names(struct dom *dom, struct slice names,
                      struct page_facts *facts)
{
    facts->above = (struct slice){
        arena_copy(&dom->arena, names.data, names.size), names.size};
}

/* "Use|Views", of the items of a trail. */
static void read_books(struct dom *dom, const xmlNode *trail,
                       struct page_facts *facts)
{
    enum { MAX_BYTES = 1000 };
    struct buf names = {0}, words = {0};
    for (const xmlNode *item = dom_element_from(trail->children);
         item && names.size < MAX_BYTES; item = dom_element_from(item->next)) {
        words.size = 0;
        for (const xmlNode *at = dom_next(item, item, false); at;
             at = dom_next(at, item, false))
            if (!dom_is_element(at))
                buf_put_slice(&words, dom_text(at)->text);
        put_name(&names, buf_slice(&words));
    }
    set_names(dom, buf_slice(&names), facts);
    buf_free(&names);
    buf_free(&words);
}

/* Before version 8 Flare's attributes had other names. */
static const char *flare_says(const xmlNode *html, const char *name,
                              const char *older)
{
    const char *value = dom_attribute(html, name);
    return value ? value : dom_attribute(html, older);
}

/* What Flare makes besides its topics: the frame that shows them, a page to search. */
static bool is_no_topic(const xmlNode *html)
{
    const char *type =
        flare_says(html, "data-mc-runtime-file-type", "madcap:runtimefiletype");
    return type && !strstr(type, "Topic") && !strstr(type, "Glossary");
}

static void read_names(struct dom *dom, const xmlNode *html,
                       struct page_facts *facts)
{
    enum { MAX_NAMES = 16, MAX_BYTES = 1000 };
    const char *path = flare_says(html, "data-mc-toc-path", "madcap:tocpath");
    const char *home = flare_says(html, "data-mc-path-to-help-system",
                                  "madcap:pathtohelpsystem");
    struct buf names = {0};
    for (int left = MAX_NAMES; path && *path && left > 0; left--) {
        struct slice name = {path, strcspn(path, "|")};
        if (names.size + name.size > MAX_BYTES || !put_name(&names, name))
            break;
        path += name.size + (path[name.size] == '|');
    }
    if (home)
        facts->home = slice_of(home);
    set_names(dom, buf_slice(&names), facts);
    buf_free(&names);
}

static void read_meta(const xmlNode *element, struct page_facts *facts)
{
    const char *name = dom_attribute(element, "http-equiv");
    const char *content = dom_attribute(element, "content");
    bool scripted = dom_tag(element->parent) == GUMBO_TAG_NOSCRIPT;
    if (name && content && !strcasecmp(name, "refresh") &&
        strcasestr(content, "url"))
        *(scripted ? &facts->refreshes_unscripted : &facts->refreshes) = true;
    facts->lists |= makers_is_named(element, "c2html") || /* sources */
                    sandcastle_is_list_of_members(element);
    facts->manpage |= makers_is_named(element, "groff");
}

/* Texinfo's first page: "Top (Manual)". */
static struct slice without_top(struct slice title)
{
    static const char before[] = "Top (";
    size_t size = sizeof before - 1;
    if (title.size > size + 1 && !memcmp(title.data, before, size) &&
        title.data[title.size - 1] == ')')
        return (struct slice){title.data + size, title.size - size - 1};
    return title;
}

/* Sphinx's first page, whose heading is that of its contents: what the manual is called. */
static struct slice without_contents(struct slice title)
{
    static const char *const before[] = {"Table of Contents — ", "Contents — "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t size = strlen(before[i]);
        if (title.size > size && !strncasecmp(title.data, before[i], size))
            return (struct slice){title.data + size, title.size - size};
    }
    return title;
}

static void read_title(struct dom *dom, const xmlNode *element,
                       struct page_facts *facts)
{
    struct writer writer = {.dom = dom};
    for (const xmlNode *text = element->children; text; text = text->next)
        if (!dom_is_element(text))
            writer_text(&writer, dom_text(text));
    struct slice title;
    if (writer_take(&writer, &title, &facts->span)) {
        title = without_contents(without_top(title));
        facts->title = (struct slice){
            arena_copy(&dom->arena, title.data, title.size), title.size};
    }
    buf_free(&writer.text);
}

/* Does it stand in what a site has beside the text of each page? */
static bool is_beside(const xmlNode *element)
{
    enum { MAX_UP = 32 };
    const xmlNode *at = element->parent;
    for (int i = 0; i < MAX_UP && dom_is_element(at); i++, at = at->parent) {
        int tag = dom_tag(at);
        if (tag == GUMBO_TAG_ASIDE || tag == GUMBO_TAG_NAV ||
            tag == GUMBO_TAG_HEADER || tag == GUMBO_TAG_FOOTER)
            return true;
    }
    return false;
}

void page_read(struct dom *dom, struct page_facts *ret)
{
    *ret = (struct page_facts){.title = {"", 0},
                               .up = {"", 0},
                               .prev = {"", 0},
                               .next = {"", 0},
                               .above = {"", 0},
                               .home = {"", 0},
                               .first_heading = {"", 0}};
    const xmlNode *top = (const xmlNode *)dom->doc;
    struct slice trail = {"", 0};
    for (const xmlNode *at = top->children; at; at = dom_next(at, top, false)) {
        if (!dom_is_element(at))
            continue;
        enum trail kind = trail.size ? TRAIL_NONE : trail_of(at);
        const char *last;
        if (kind && helps_is_trail_to_book(at))
            read_books(dom, at, ret);
        else if (kind)
            trail = end_of_trail(at, kind);
        else if (!trail.size && bars_is_trail(at, &last))
            trail = slice_of(last);
        else if (bars_is_neighbours(at))
            read_bar(at, ret);
        switch (dom_tag(at)) {
        case GUMBO_TAG_HTML:
            read_names(dom, at, ret);
            ret->frames = is_no_topic(at);
            break;
        case GUMBO_TAG_TITLE:
            if (!ret->title.size && !dom_element(at)->foreign)
                read_title(dom, at, ret);
            break;
        case GUMBO_TAG_BODY:
            ret->lists |= docgens_is_listing(at) || doxygen_is_search(at) ||
                          makers_is_search(at);
            ret->terms |= makers_is_index(at);
            break;
        case GUMBO_TAG_META: read_meta(at, ret); break;
        case GUMBO_TAG_A:
            ret->pops_up |= makers_is_pop_up(at); /* fall through */
        case GUMBO_TAG_LINK: read_link(at, ret); break;
        case GUMBO_TAG_H2: ret->lists |= commented_is_listing(at); break;
        case GUMBO_TAG_H1:
            ret->titled |=
                helps_is_title(at) || commented_name_of(at, &ret->title);
            if (rules_is_name_in_parts(at)) {
                read_name(at, ret);
                ret->titled = true;
            }
            if ((last = apis_above(at)))
                set(&ret->up, last);
            ret->lists |= apis_is_list_of_all(at);
            ret->title = makers_title(at, ret->title);
            break;
        case GUMBO_TAG_INPUT:
            *(is_beside(at) ? &ret->asks_beside : &ret->asks) = true;
            break;
        case GUMBO_TAG_TABLE:
            ret->lists |= apis_is_listing(at) || docgens_is_listing(at);
            break;
        case GUMBO_TAG_PRE:
            ret->lists |= apis_is_listing(at) || docgens_is_listing(at) ||
                          commented_is_listing(at); /* fall through */
        case GUMBO_TAG_CODE: ret->lists |= makers_is_listing(at); break;
        case GUMBO_TAG_DIV:
            ret->lists |= makers_is_occurrence(at) || makers_is_listing(at) ||
                          doxygen_is_letter(at);
            ret->lists |= apis_is_list_of_all(at) || docgens_is_listing(at);
            ret->names |= apis_is_list_of_names(at);
            break;
        case GUMBO_TAG_TD: ret->titled |= sandcastle_is_title(at); break;
        case GUMBO_TAG_TR: {
            const char *above = sandcastle_above(at);
            above = above ? above : docgens_above(at);
            ret->lists |= classes_has(at, "memlist");
            if (above)
                set(&ret->up, above);
            break;
        }
        default: break;
        }
    }
    ret->trail = !ret->up.size && trail.size;
    if (ret->trail)
        ret->up = trail;
}

/* ---- The role ---- */

/* "Index", "Concept Index", "Index of Functions", "Index – A", and such. */
static bool is_index_title(struct slice folded)
{
    static const char index[] = "index";
    size_t size = sizeof index - 1;
    if (folded.size < size || folded.size > MAX_INDEX)
        return false;
    const char *end = folded.data + folded.size;
    bool first = !memcmp(folded.data, index, size) &&
                 (folded.size == size || folded.data[size] == ' ');
    bool last = !memcmp(end - size, index, size) &&
                (folded.size == size || end[-(ptrdiff_t)size - 1] == ' ');
    return first || last;
}

static bool is_search_title(struct slice folded)
{
    static const char search[] = "search";
    return folded.size >= sizeof search - 1 &&
           !memcmp(folded.data, search, sizeof search - 1);
}

/* A field beside the text is that of the page where it has no heading of its own, but
 * "Search" (Read the Docs' theme of Sphinx) or "Search results". */
static bool asks(const struct page_facts *facts)
{
    struct buf heading = {0};
    text_fold_compare(&heading, facts->first_heading);
    bool own = heading.size && !slice_is(buf_slice(&heading), "search") &&
               !slice_is(buf_slice(&heading), "search results");
    buf_free(&heading);
    return facts->asks || (facts->asks_beside && !own);
}

static bool title_is(const struct page_facts *facts,
                     bool (*is)(struct slice folded))
{
    const struct slice titles[] = {facts->title, facts->first_heading};
    bool found = false;
    struct buf folded = {0};
    for (int i = 0; i < 2 && !found; i++) {
        buf_clear(&folded);
        text_fold_compare(&folded, titles[i]);
        found = is(buf_slice(&folded));
    }
    buf_free(&folded);
    return found;
}

/* Doxygen's lists of all members, which are titles already: "- a -". */
static bool is_letter(struct slice heading)
{
    static const char mark[] = "- ";
    return heading.size > 4 && !memcmp(heading.data, mark, 2) &&
           !memcmp(heading.data + heading.size - 2, " -", 2) &&
           text_is_one((struct slice){heading.data + 2, heading.size - 4});
}

/* An entry is a name, and links to where it is; what is said above them, and at the page's
 * end, counts where there are few.  A glossary of a letter says more. */
static bool is_list_of_letter(const struct page_facts *facts)
{
    enum { LINKS = 8, FEW = 4 * LINKS, MAX_SAID = 400 };
    return is_letter(facts->first_heading) && facts->linked &&
           (LINKS * facts->linked >= facts->text ||
            (FEW * facts->linked >= facts->text && facts->text < MAX_SAID));
}

/* Who has no scripts may be sent from a page that is read (LibreOffice), and from one whose
 * script does the same. */
static bool is_redirect(const struct page_facts *facts)
{
    bool empty = facts->refreshes_unscripted && !facts->first_heading.size;
    return (facts->refreshes || empty) && facts->text < MAX_REDIRECT;
}

/* "Index" with what each entry is for; javadoc's are called otherwise, "L-Index (Works)",
 * and name what are titles already. */
static bool is_described_index(const struct page_facts *facts)
{
    static const char index[] = "index";
    size_t size = sizeof index - 1;
    struct slice title = facts->title;
    return facts->letters >= MANY_LETTERS && title.size >= size &&
           !strncasecmp(title.data + title.size - size, index, size) &&
           outline_same_title(facts->first_heading, slice_of(index)) &&
           MAX_DESCRIBED * facts->linked >= facts->text;
}

/* One letter's page of an index on several: "M-Index: The Works" above a bar of letters
 * and "M". */
static bool is_index_of_letter(const struct page_facts *facts)
{
    static const char behind[] = "-Index";
    struct slice title = facts->title;
    size_t size = 0;
    if (title.size)
        text_decode(title.data, title.size, 0, &size);
    struct slice rest = {title.data + size, title.size - size};
    return facts->letters >= MIN_LETTERS &&
           slice_starts(rest, slice_of(behind)) &&
           slice_equal(facts->first_heading,
                       (struct slice){title.data, size}) &&
           MAX_DESCRIBED * facts->linked >= facts->text;
}

int page_role(const struct page_facts *facts)
{
    if (facts->keywords || facts->terms)
        return PAGE_INDEX;
    if (is_redirect(facts))
        return PAGE_REDIRECT;
    if (facts->text < MAX_SEARCH && title_is(facts, is_search_title) &&
        asks(facts))
        return PAGE_SEARCH;
    bool members = facts->pops_up && 2 * facts->linked >= facts->text;
    if (facts->lists || facts->frames || members)
        return PAGE_MADE; /* a source; all members by letter; a frame */
    if (is_list_of_letter(facts))
        return PAGE_MADE;
    bool lettered =
        facts->letters >= MIN_LETTERS && 2 * facts->linked >= facts->text;
    lettered |= is_described_index(facts);
    if (((facts->index_parts || lettered) && title_is(facts, is_index_title)) ||
        is_index_of_letter(facts))
        return PAGE_INDEX;
    return PAGE_CONTENT;
}
