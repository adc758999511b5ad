/* What lists of contents say of where pages stand. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "indexer/navigation/navigation_internal.h"
#include "indexer/source.h"

enum {
    MAX_NESTED = 32,     /* lists */
    MAX_TITLE = 200,     /* bytes */
    MAX_HEADINGS = 16384 /* of menus, which are looked through for each page */
};

void navigation_measure_ways(struct navigation *p)
{
    uint32_t *queue = mem_alloc(p->count * sizeof *queue);
    uint32_t first = 0, last = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->pages[i].is_index && !p->places[i].excluded &&
            navigation_folder_index(p, i) == TREE_NONE) {
            p->pages[i].distance = 0;
            queue[last++] = i;
        }
    for (; first < last; first++) {
        uint32_t from = queue[first];
        for (uint32_t k = 0; k < navigation_page(p, from)->link_count; k++) {
            uint32_t to = p->targets[from][k];
            if (to == TREE_NONE || p->pages[to].distance != NOT_PLACED)
                continue;
            p->pages[to].distance = p->pages[from].distance + 1;
            queue[last++] = to;
        }
    }
    free(queue);
}

static bool is_titled_contents(const struct navigation *p, uint32_t piece)
{
    struct slice raw = p->pieces[piece].skeleton->nodes[0].title;
    struct buf title = {0};
    if (raw.size > MAX_TITLE)
        return false; /* it is asked for once a link */
    text_fold_compare(&title, raw);
    struct slice folded = buf_slice(&title);
    bool found =
        slice_is(folded, "contents") || slice_is(folded, "table of contents");
    buf_free(&title);
    return found;
}

static bool calls_itself_contents(const struct navigation *p, uint32_t piece)
{
    static const char *const names[] = {"contents", "toc", "table-of-contents",
                                        "tableofcontents", NULL};
    return navigation_is_named(p->pieces[piece].path, names) ||
           is_titled_contents(p, piece);
}

/* A frame set that is no index page says what it holds, not where that stands. */
static int worth_of(const struct navigation *p, uint32_t lister)
{
    static const int worths[CONTENTS_KINDS] = {[CONTENTS_BELOW] = 5,
                                               [CONTENTS_WHOLE] = 4,
                                               [CONTENTS_FRAMESET] = 3,
                                               [CONTENTS_GROUPS] = 2,
                                               [CONTENTS_GUESS] = 1};
    int contents = navigation_page(p, lister)->contents;
    bool frame = contents == CONTENTS_FRAMESET && !p->pages[lister].is_index;
    return frame ? 0 : worths[contents];
}

/* Doxygen's tree of what inherits from what is no table of contents, though it looks like
 * that of classes. */
static bool is_inheritance(const struct navigation *p, uint32_t lister)
{
    static const char *const names[] = {"hierarchy", NULL};
    return navigation_page(p, lister)->contents == CONTENTS_BELOW &&
           navigation_is_named(p->pieces[lister].path, names);
}

/* Is the list's word on the page better than the one there is? */
static bool is_better(const struct navigation *p, uint32_t page,
                      const struct offer *new)
{
    const struct offer *old = &p->pages[page].offer;
    if (old->lister == TREE_NONE)
        return true;
    const struct page *x = navigation_page(p, new->lister),
                      *y = navigation_page(p, old->lister);
    if (x->contents != y->contents)
        return worth_of(p, new->lister) > worth_of(p, old->lister);
    if (x->contents == CONTENTS_WHOLE)
        return false;
    bool inherits = is_inheritance(p, old->lister);
    if (is_inheritance(p, new->lister) != inherits)
        return inherits;
    if ((x->contents == CONTENTS_BELOW || x == y) && new->depth != old->depth)
        return new->depth < old->depth;
    bool named = calls_itself_contents(p, new->lister);
    if (x->contents == CONTENTS_GUESS &&
        named != calls_itself_contents(p, old->lister))
        return named;
    uint32_t near = p->pages[new->lister].distance,
             before = p->pages[old->lister].distance;
    if (near != before)
        return near < before;
    return x->link_count < y->link_count;
}

/* An index page belongs to a folder above; a guess leads away from the top. */
static bool may_list(const struct navigation *p, uint32_t lister, uint32_t page)
{
    const struct page_place *from = &p->pages[lister], *to = &p->pages[page];
    if (to->is_index &&
        !navigation_is_deeper(p->pieces[page].path, p->pieces[lister].path))
        return false;
    return navigation_page(p, lister)->contents != CONTENTS_GUESS ||
           from->distance < to->distance ||
           (from->distance == NOT_PLACED && to->distance == NOT_PLACED);
}

/* The page that heads all of the manual, as far as the page's folder tells. */
static uint32_t top_of(const struct navigation *p, uint32_t page)
{
    uint32_t top = TREE_NONE, next = navigation_folder_index(p, page);
    while (next != TREE_NONE) {
        top = next;
        next = navigation_folder_index(p, top);
    }
    return top;
}

/* The heading of that title below `parent`, made where it is missing: each page of a site
 * prints it. */
static uint32_t heading_below(struct navigation *p, uint32_t parent,
                              struct slice title)
{
    for (uint32_t i = p->count; i < p->total; i++)
        if (p->places[i].parent == parent &&
            slice_equal(p->places[i].title, title))
            return i;
    return p->total - p->count < MAX_HEADINGS
               ? navigation_add_heading(p, parent, title)
               : parent;
}

/* What is open at each depth of a list: a page, or a heading. */
struct open_place {
    uint32_t page;        /* TREE_NONE */
    struct slice heading; /* empty */
};

/* RoboHelp's list of what a book holds, "toc12.new.js": it stands where another names it. */
static bool is_list_of_book(const struct navigation *p, uint32_t piece)
{
    static const char start[] = "toc";
    const char *path = p->pieces[piece].path, *name = navigation_name(path);
    return !strncmp(name, start, sizeof start - 1) &&
           isdigit((unsigned char)name[sizeof start - 1]) &&
           strstr(name, ".new.js") && source_format(path) == PARSER_SCRIPT;
}

/* The nearest page or heading above, of a list of the whole manual. */
static uint32_t place_above(struct navigation *p, uint32_t lister,
                            const struct open_place *open, uint32_t depth,
                            uint32_t page)
{
    uint32_t above = is_list_of_book(p, lister) ? p->pages[lister].offer.parent
                                                : (uint32_t)TREE_NONE;
    for (uint32_t d = 0; d < depth; d++) {
        if (open[d].page != TREE_NONE && open[d].page != page)
            above = open[d].page;
        else if (open[d].heading.size)
            above =
                heading_below(p, above == TREE_NONE ? top_of(p, page) : above,
                              open[d].heading);
    }
    return above;
}

static uint32_t page_above(const struct open_place *open, uint32_t depth,
                           uint32_t page, uint32_t lister)
{
    uint32_t above = lister;
    for (uint32_t d = 0; d < depth; d++)
        if (open[d].page != TREE_NONE && open[d].page != page)
            above = open[d].page;
    return above;
}

/* ---- What a site prints on each page by hand ---- */

enum {
    MIN_LISTERS = 4 /* pages with such lists: fewer have no menu */
};

/* No generator's mark tells that the list is contents. */
static bool is_unmarked(const struct navigation *p, uint32_t piece)
{
    int kind = navigation_page(p, piece)->contents;
    return !p->places[piece].excluded &&
           (kind == CONTENTS_GUESS || kind == CONTENTS_GROUPS);
}

/* How many such lists lead to each page: of a menu's pages, more than half of them. */
static uint32_t count_lists(const struct navigation *p, uint32_t *lists)
{
    uint32_t *last = mem_alloc(p->count * sizeof *last), listers = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!is_unmarked(p, i))
            continue;
        listers++;
        for (uint32_t k = 0; k < navigation_page(p, i)->link_count; k++) {
            uint32_t to = p->targets[i][k];
            if (to == TREE_NONE || last[to] == i + 1)
                continue;
            last[to] = i + 1;
            lists[to]++;
        }
    }
    free(last);
    return listers;
}

/* Is it a page by hand that links to little else?  An index page, or one of contents, says
 * where what it lists stands. */
static bool is_mostly_menu(const struct navigation *p, uint32_t piece)
{
    uint32_t links = 0, menu = 0;
    for (uint32_t k = 0; k < navigation_page(p, piece)->link_count; k++) {
        uint32_t to = p->targets[piece][k];
        links += to != TREE_NONE;
        menu += to != TREE_NONE && p->pages[to].in_menu;
    }
    return is_unmarked(p, piece) && 2 * menu > links &&
           !p->pages[piece].is_index && !calls_itself_contents(p, piece);
}

static void find_menus(struct navigation *p)
{
    uint32_t *lists = mem_alloc(p->count * sizeof *lists);
    uint32_t listers = count_lists(p, lists);
    for (uint32_t i = 0; i < p->count; i++)
        p->pages[i].in_menu = listers >= MIN_LISTERS && 2 * lists[i] > listers;
    for (uint32_t i = 0; i < p->count; i++)
        p->pages[i].has_menu = is_mostly_menu(p, i);
    free(lists);
}

/* What a tool lists besides the text is above nothing: what stands below it in the contents
 * is below what is above it. */
static bool is_list_besides(const struct navigation *p, uint32_t page)
{
    return p->places[page].excluded == EXCLUDED_LISTS;
}

/* What a book of RoboHelp's holds is read in its place; lists that none names are left over
 * from a former edition.  `from` is the place of the first entry; returns how many there are. */
static uint32_t read_list(struct navigation *p, uint32_t lister, uint32_t from,
                          int nested)
{
    static const struct open_place none = {TREE_NONE, {"", 0}};
    const struct page *page = navigation_page(p, lister);
    bool whole = page->contents == CONTENTS_WHOLE;
    struct open_place open[MAX_NESTED + 1];
    uint32_t group = TREE_NONE, more = 0;
    for (uint32_t d = 0; d <= MAX_NESTED; d++)
        open[d] = none;
    for (uint32_t k = 0; k < page->link_count; k++) {
        uint32_t to = p->targets[lister][k], depth = page->links[k].depth;
        struct slice heading = page->links[k].title;
        if (whole && !heading.size)
            heading = navigation_book_of(p, lister, page->links[k].url);
        if (group != TREE_NONE && page->links[group].depth >= depth)
            group = TREE_NONE;
        if (heading.size && !whole)
            group = k;
        if (depth > MAX_NESTED)
            depth = MAX_NESTED;
        bool leads = to != TREE_NONE && (to != lister || whole);
        /* Also what leads nowhere: what follows is below what is above. */
        for (uint32_t d = depth;
             (heading.size || leads || whole) && d <= MAX_NESTED; d++)
            open[d] = none;
        if (heading.size) {
            open[depth].heading = heading;
            continue;
        }
        if (!leads)
            continue;
        if (is_list_besides(p, to))
            continue;
        open[depth].page = to;
        struct offer offer = {lister, page_above(open, depth, to, lister),
                              group, from + k + more, depth};
        if (!may_list(p, lister, to) || !is_better(p, to, &offer))
            continue;
        if (whole || (p->pages[lister].has_menu && p->pages[to].in_menu))
            offer.parent = place_above(p, lister, open, depth, to);
        p->pages[to].offer = offer;
        if (is_list_of_book(p, to) && nested < MAX_NESTED)
            more += read_list(p, to, from + k + more, nested + 1);
    }
    return page->link_count + more;
}

/* Neither heading nor text. */
static bool is_empty(const struct navigation *p, uint32_t piece)
{
    const struct tree *summary = p->pieces[piece].skeleton;
    return summary->count == 1 && !summary->nodes[0].level &&
           !summary->nodes[0].words;
}

/* A script of it sends one to what shows the others: WebWorks' first page.  Where there
 * are none it shows itself what the manual has. */
static bool is_nameless(const struct navigation *p, uint32_t piece)
{
    const struct page *page = navigation_page(p, piece);
    return p->count > 1 && is_empty(p, piece) && !page->title.size &&
           !page->contents && !p->pieces[piece].skeleton->nodes[0].title.size;
}

/* A page that only tells where others are. */
static bool is_menu(const struct navigation *p, uint32_t piece)
{
    static const char *const names[] = {
        "menu", "left",    "navigation", "navbar",  "nav",
        "map",  "sitemap", "frames",     "sidebar", NULL};
    int contents = navigation_page(p, piece)->contents;
    if (p->pages[piece].is_index)
        return is_nameless(p, piece);
    uint32_t lister = p->pages[piece].offer.lister;
    bool framed = lister != TREE_NONE &&
                  navigation_page(p, lister)->contents == CONTENTS_FRAMESET;
    if (contents == CONTENTS_FRAMESET || (framed && is_empty(p, piece)))
        return true;
    if (contents == CONTENTS_WHOLE && is_empty(p, piece) &&
        calls_itself_contents(p, piece))
        return true; /* DocFX's "toc.html", where no page is the first */
    if (navigation_folder_index(p, piece) == TREE_NONE)
        return false; /* it heads a work of its own */
    if (contents && (navigation_is_named(p->pieces[piece].path, names) ||
                     calls_itself_contents(p, piece)))
        return true;
    return framed && contents == CONTENTS_GUESS;
}

/* Doxygen's tree, where a page lists what the author wrote: the tree has that in the
 * page's place, and not the page.  What is below the first page is in the tree alone. */
static bool is_told_by_page(const struct navigation *p, uint32_t lister)
{
    static const char *const names[] = {"navtreedata", NULL};
    const char *path = p->pieces[lister].path;
    if (!navigation_is_named(path, names))
        return false;
    struct buf page = {0};
    buf_put(&page, path, (size_t)(navigation_name(path) - path));
    buf_put_text(&page, "pages.html");
    uint32_t found = assemble_find(p->pieces, p->count, page.data);
    buf_free(&page);
    return found != TREE_NONE && !p->places[found].excluded &&
           navigation_page(p, found)->link_count;
}

void navigation_read_lists(struct navigation *p)
{
    find_menus(p);
    for (uint32_t i = 0; i < p->count; i++) {
        int excluded = p->places[i].excluded;
        if ((!excluded || excluded == EXCLUDED_MENU) &&
            navigation_page(p, i)->contents &&
            navigation_page(p, i)->contents != CONTENTS_MAP &&
            !is_list_of_book(p, i) && !is_told_by_page(p, i))
            read_list(p, i, 0, 0);
    }
    for (uint32_t i = 0; i < p->count; i++)
        p->pages[i].through = !p->places[i].excluded && is_menu(p, i);
}
