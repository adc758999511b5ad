#include "indexer/place.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/url.h"
#include "indexer/repeated.h"

enum { NOT_PLACED = UINT32_MAX, MOST_NESTED = 32 };

/* What a list of contents says of a page. */
struct offer {
    uint32_t lister; /* page with the list; TREE_NONE: none has it */
    uint32_t parent; /* TREE_NONE: as if there were no list */
    uint32_t at;     /* in the list */
    uint32_t depth;
};

struct page_place {
    uint32_t next;     /* piece; TREE_NONE */
    uint32_t position; /* in the reading order; NOT_PLACED: not in it */
    uint32_t distance; /* lists between the top and it; NOT_PLACED: no way */
    uint64_t listed;   /* order among siblings by lists; UINT64_MAX: none */
    struct offer offer;
    bool surely; /* listed so by its generator */
    bool is_index, through;
};

struct placing {
    const struct piece *pieces;
    uint32_t count;
    struct place *places;
    struct page_place *pages;
    uint32_t **targets; /* [count][link_count] pieces that links lead to */
};

static const struct page *page_at(const struct placing *p, uint32_t piece)
{
    return &p->pieces[piece].skeleton->page;
}

/* ---- Paths ---- */

static uint32_t find_piece(const struct placing *p, const char *path)
{
    uint32_t low = 0, high = p->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(path, p->pieces[middle].path);
        if (!order)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return TREE_NONE;
}

/* The piece that a link of the page leads to; TREE_NONE: none of ours. */
static uint32_t follow(const struct placing *p, uint32_t from, struct slice url)
{
    struct buf path = {0}, anchor = {0};
    uint32_t found = TREE_NONE;
    if (url.size &&
        url_resolve(slice_of(p->pieces[from].path), url, &path, &anchor))
        found = find_piece(p, path.data);
    buf_free(&path);
    buf_free(&anchor);
    return found == TREE_NONE ? found : p->places[found].same;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Is the name, without its ending, one of these? */
static bool is_named(const char *path, const char *const *names)
{
    const char *name = name_of(path);
    size_t size = strcspn(name, ".");
    for (; *names; names++)
        if (strlen(*names) == size && !strncasecmp(name, *names, size))
            return true;
    return false;
}

static const char *const summary_names[] = {"package-summary", NULL};

/* Does `path` lie below the folder of `above`? */
static bool is_deeper(const char *path, const char *above)
{
    size_t folder = (size_t)(name_of(above) - above);
    return !strncmp(path, above, folder) && strchr(path + folder, '/');
}

/* The index page of the page's folder, or of the nearest one above. */
static uint32_t folder_index(const struct placing *p, uint32_t page)
{
    static const char *const names[] = {"index.html", "package-summary.html",
                                        "index.htm", "index.xhtml"};
    const char *path = p->pieces[page].path;
    size_t size = (size_t)(name_of(path) - path);
    bool own_folder = p->pages[page].is_index;
    struct buf name = {0};
    uint32_t found = TREE_NONE;
    for (;;) {
        for (size_t i = 0; i < sizeof names / sizeof *names && !own_folder &&
                           found == TREE_NONE;
             i++) {
            buf_clear(&name);
            buf_put(&name, path, size);
            buf_put_text(&name, names[i]);
            found = find_piece(p, name.data);
            if (found == page ||
                (found != TREE_NONE && p->places[found].left_out))
                found = TREE_NONE;
        }
        own_folder = false;
        if (found != TREE_NONE || !size)
            break;
        size--;
        while (size && path[size - 1] != '/')
            size--;
    }
    buf_free(&name);
    return found;
}

/* ---- What is left out ---- */

/* Of "index.html" and "Index.html" in one folder the second is another. */
static bool is_index(const struct placing *p, uint32_t piece)
{
    static const char *const names[] = {"index", NULL};
    const char *path = p->pieces[piece].path, *name = name_of(path);
    if (!is_named(path, names) || page_at(p, piece)->role == PAGE_INDEX)
        return false;
    if (!strncmp(name, "index", 5))
        return true;
    struct buf plain = {0};
    buf_put(&plain, path, (size_t)(name - path));
    buf_put_text(&plain, "index");
    buf_put_text(&plain, name + 5);
    bool alone = find_piece(p, plain.data) == TREE_NONE;
    buf_free(&plain);
    return alone;
}

/* What javadoc makes besides the pages of packages and classes. */
static bool is_besides(const char *path)
{
    static const char *const names[] = {
        "allclasses",        "allclasses-frame",
        "allclasses-index",  "allclasses-noframe",
        "allpackages-index", "help-doc",
        "index-all",         "overview-frame",
        "overview-tree",     "overview-summary",
        "package-frame",     "package-tree",
        "package-use",       NULL};
    return is_named(path, names) || strstr(path, "class-use/") ||
           strstr(path, "src-html/");
}

struct content_key {
    struct hash128 hash;
    uint32_t piece;
};

static int by_content(const void *a, const void *b)
{
    const struct content_key *x = a, *y = b;
    if (x->hash.high != y->hash.high)
        return x->hash.high < y->hash.high ? -1 : 1;
    if (x->hash.low != y->hash.low)
        return x->hash.low < y->hash.low ? -1 : 1;
    return x->piece < y->piece ? -1 : x->piece > y->piece;
}

static void find_equals(struct placing *p)
{
    struct content_key *keys = mem_alloc(p->count * sizeof *keys);
    for (uint32_t i = 0; i < p->count; i++)
        keys[i] = (struct content_key){p->pieces[i].content, i};
    if (p->count)
        qsort(keys, p->count, sizeof *keys, by_content);
    for (uint32_t i = 0; i < p->count; i++) {
        struct hash128 hash = keys[i].hash;
        bool same =
            i && (hash.low || hash.high) && hash_equal(hash, keys[i - 1].hash);
        p->places[keys[i].piece].same =
            same ? p->places[keys[i - 1].piece].same : keys[i].piece;
    }
    free(keys);
}

static void look_at(struct placing *p)
{
    bool javadoc = false;
    for (uint32_t i = 0; i < p->count; i++)
        javadoc |= is_named(p->pieces[i].path, summary_names);
    find_equals(p);
    bool *wholes = mem_alloc(p->count * sizeof *wholes);
    repeated_wholes(p->pieces, p->count, wholes);
    for (uint32_t i = 0; i < p->count; i++) {
        const char *path = p->pieces[i].path;
        int role = page_at(p, i)->role;
        p->places[i].left_out = role == PAGE_REDIRECT || role == PAGE_SEARCH ||
                                (javadoc && is_besides(path)) || wholes[i] ||
                                p->places[i].same != i;
        p->pages[i] = (struct page_place){
            .is_index =
                is_index(p, i) || (javadoc && is_named(path, summary_names)),
            .distance = NOT_PLACED,
            .listed = UINT64_MAX,
            .offer = {.lister = TREE_NONE}};
    }
    for (uint32_t i = 0; i < p->count; i++) {
        const struct page *page = page_at(p, i);
        p->pages[i].next = follow(p, i, page->next);
        p->targets[i] = mem_alloc(page->link_count * sizeof **p->targets);
        for (uint32_t k = 0; k < page->link_count; k++)
            p->targets[i][k] = follow(p, i, page->links[k].url);
    }
    free(wholes);
}

/* ---- Lists of contents ---- */

/* How many lists one has to go through from the top to each page. */
static void measure_ways(struct placing *p)
{
    uint32_t *queue = mem_alloc(p->count * sizeof *queue);
    uint32_t first = 0, last = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->pages[i].is_index && !p->places[i].left_out &&
            folder_index(p, i) == TREE_NONE) {
            p->pages[i].distance = 0;
            queue[last++] = i;
        }
    for (; first < last; first++) {
        uint32_t from = queue[first];
        for (uint32_t k = 0; k < page_at(p, from)->link_count; k++) {
            uint32_t to = p->targets[from][k];
            if (to == TREE_NONE || p->pages[to].distance != NOT_PLACED)
                continue;
            p->pages[to].distance = p->pages[from].distance + 1;
            queue[last++] = to;
        }
    }
    free(queue);
}

static int worth_of(int contents)
{
    static const int worths[CONTENTS_KINDS] = {[CONTENTS_BELOW] = 4,
                                               [CONTENTS_WHOLE] = 3,
                                               [CONTENTS_FRAMES] = 2,
                                               [CONTENTS_GUESS] = 1};
    return worths[contents];
}

/* Is the list's word on the page better than the one there is? */
static bool is_better(const struct placing *p, uint32_t page,
                      const struct offer *new)
{
    const struct offer *old = &p->pages[page].offer;
    if (old->lister == TREE_NONE)
        return true;
    const struct page *x = page_at(p, new->lister),
                      *y = page_at(p, old->lister);
    if (x->contents != y->contents)
        return worth_of(x->contents) > worth_of(y->contents);
    if (x->contents == CONTENTS_WHOLE)
        return false;
    if (x->contents == CONTENTS_BELOW && new->depth != old->depth)
        return new->depth < old->depth;
    uint32_t near = p->pages[new->lister].distance,
             before = p->pages[old->lister].distance;
    if (near != before)
        return near < before;
    return x->link_count < y->link_count;
}

/* An index page belongs to a folder above; a guess leads away from the top. */
static bool may_list(const struct placing *p, uint32_t lister, uint32_t page)
{
    const struct page_place *from = &p->pages[lister], *to = &p->pages[page];
    if (to->is_index &&
        !is_deeper(p->pieces[page].path, p->pieces[lister].path))
        return false;
    return page_at(p, lister)->contents != CONTENTS_GUESS ||
           from->distance < to->distance ||
           (from->distance == NOT_PLACED && to->distance == NOT_PLACED);
}

static void read_list(struct placing *p, uint32_t lister)
{
    const struct page *page = page_at(p, lister);
    bool whole = page->contents == CONTENTS_WHOLE;
    uint32_t open[MOST_NESTED + 1];
    for (uint32_t d = 0; d <= MOST_NESTED; d++)
        open[d] = TREE_NONE;
    for (uint32_t k = 0; k < page->link_count; k++) {
        uint32_t to = p->targets[lister][k], depth = page->links[k].depth;
        if (to == TREE_NONE || (to == lister && !whole))
            continue;
        if (depth > MOST_NESTED)
            depth = MOST_NESTED;
        uint32_t parent = whole ? TREE_NONE : lister;
        for (uint32_t d = 0; d < depth; d++)
            if (open[d] != TREE_NONE && open[d] != to)
                parent = open[d];
        open[depth] = to;
        for (uint32_t d = depth + 1; d <= MOST_NESTED; d++)
            open[d] = TREE_NONE;
        struct offer offer = {lister, parent, k, depth};
        if (may_list(p, lister, to) && is_better(p, to, &offer))
            p->pages[to].offer = offer;
    }
}

/* Neither heading nor text. */
static bool is_empty(const struct placing *p, uint32_t piece)
{
    const struct tree *bones = p->pieces[piece].skeleton;
    return bones->count == 1 && !bones->nodes[0].level &&
           !bones->nodes[0].words;
}

static bool is_titled_contents(const struct placing *p, uint32_t piece)
{
    struct buf title = {0};
    text_fold_compare(&title, p->pieces[piece].skeleton->nodes[0].title);
    struct slice folded = buf_slice(&title);
    bool found =
        slice_is(folded, "contents") || slice_is(folded, "table of contents");
    buf_free(&title);
    return found;
}

/* A page that only tells where others are. */
static bool is_menu(const struct placing *p, uint32_t piece)
{
    static const char *const names[] = {
        "contents", "toc",  "table-of-contents", "tableofcontents",
        "menu",     "left", "navigation",        "navbar",
        "nav",      "map",  "sitemap",           "frames",
        "sidebar",  NULL};
    int contents = page_at(p, piece)->contents;
    if (p->pages[piece].is_index)
        return false;
    uint32_t lister = p->pages[piece].offer.lister;
    bool framed =
        lister != TREE_NONE && page_at(p, lister)->contents == CONTENTS_FRAMES;
    if (contents == CONTENTS_FRAMES || (framed && is_empty(p, piece)))
        return true;
    if (folder_index(p, piece) == TREE_NONE)
        return false; /* it heads a work of its own */
    if (contents && (is_named(p->pieces[piece].path, names) ||
                     is_titled_contents(p, piece)))
        return true;
    return framed && contents == CONTENTS_GUESS;
}

static void read_lists(struct placing *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->places[i].left_out && page_at(p, i)->contents)
            read_list(p, i);
    for (uint32_t i = 0; i < p->count; i++)
        p->pages[i].through = !p->places[i].left_out && is_menu(p, i);
}

/* ---- Parents ---- */

static uint32_t choose_parent(const struct placing *p, uint32_t page)
{
    const struct offer *offer = &p->pages[page].offer;
    uint32_t parent = follow(p, page, page_at(p, page)->up);
    if ((parent == TREE_NONE || parent == page) && offer->lister != TREE_NONE)
        parent = offer->parent;
    if (parent == TREE_NONE || parent == page ||
        (p->places[parent].left_out && !p->pages[parent].through))
        parent = folder_index(p, page);
    return parent;
}

/* Cuts a circle of parents where it is first met: that page becomes a child of
 * the root. */
static void cut_circles(struct placing *p)
{
    uint32_t *mark = mem_alloc(p->count * sizeof *mark);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t page = i;
        while (page != TREE_NONE && !mark[page]) {
            mark[page] = i + 1;
            page = p->places[page].parent;
        }
        if (page != TREE_NONE && mark[page] == i + 1)
            p->places[page].parent = TREE_NONE;
    }
    free(mark);
}

/* The pages of a menu stand where it does, and in its place among others. */
static void open_menus(struct placing *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        struct page_place *page = &p->pages[i];
        if (page->offer.lister == TREE_NONE)
            continue;
        int kind = page_at(p, page->offer.lister)->contents;
        page->listed = (uint64_t)page->offer.at << 20;
        page->surely = kind == CONTENTS_WHOLE ||
                       (kind == CONTENTS_BELOW &&
                        page->offer.parent == p->places[i].parent);
    }
    for (uint32_t i = 0; i < p->count; i++) {
        struct place *place = &p->places[i];
        while (place->parent != TREE_NONE && p->pages[place->parent].through) {
            const struct page_place *menu = &p->pages[place->parent];
            uint64_t own = p->pages[i].listed >> 20;
            if (menu->listed != UINT64_MAX && own < 1 << 20)
                p->pages[i].listed = menu->listed + own;
            place->parent = p->places[place->parent].parent;
        }
    }
    for (uint32_t i = 0; i < p->count; i++)
        p->places[i].left_out |= p->pages[i].through;
}

/* The number that the title begins with, "4.2" of "Section 4.2. Views". */
static struct slice number_of(struct slice title)
{
    static const char *const words[] = {"Section ", "Chapter ", "Part ",
                                        "Annex ", "Appendix "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        if (title.size > size && !strncasecmp(title.data, words[i], size))
            title = (struct slice){title.data + size, title.size - size};
    }
    size_t end = 0, at = 0;
    while (at < title.size) {
        size_t from = at;
        while (at < title.size && isdigit((unsigned char)title.data[at]))
            at++;
        if (at == from && at < title.size &&
            isupper((unsigned char)title.data[at]))
            at++;
        if (at == from)
            break;
        if (at < title.size && !strchr(". \t:", title.data[at]))
            return (struct slice){title.data, 0};
        end = at;
        if (at == title.size || title.data[at] != '.')
            break;
        at++;
    }
    return (struct slice){title.data, end};
}

struct numbered {
    uint32_t parent;
    struct slice number;
    uint32_t piece;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    size_t size =
        x->number.size < y->number.size ? x->number.size : y->number.size;
    int order = memcmp(x->number.data, y->number.data, size);
    if (order || x->number.size == y->number.size)
        return order;
    return x->number.size < y->number.size ? -1 : 1;
}

/* "rm-A.html" for "rm-A-1.html", where it is a neighbour; else TREE_NONE. */
static uint32_t named_above(const struct placing *p, uint32_t page)
{
    const char *path = p->pieces[page].path, *name = name_of(path);
    const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.');
    uint32_t found = TREE_NONE;
    if (!dash || !dot || dash == name || dot < dash)
        return found;
    struct buf above = {0};
    buf_put(&above, path, (size_t)(dash - path));
    buf_put_text(&above, dot);
    found = find_piece(p, above.data);
    buf_free(&above);
    bool beside =
        found != TREE_NONE && p->places[found].parent == p->places[page].parent;
    return beside ? found : (uint32_t)TREE_NONE;
}

/* Of pages that stand side by side for want of better, "4.2" goes below "4". */
static void nest_by_number(struct placing *p)
{
    struct numbered *all = mem_alloc(p->count * sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        struct slice number = number_of(p->pieces[i].skeleton->nodes[0].title);
        if (number.size && !p->places[i].left_out)
            all[count++] = (struct numbered){p->places[i].parent, number, i};
    }
    if (count)
        qsort(all, count, sizeof *all, by_number);
    for (uint32_t i = 0; i < count; i++) {
        struct numbered above = all[i];
        uint32_t page = above.piece;
        const struct offer *offer = &p->pages[page].offer;
        bool sure = follow(p, page, page_at(p, page)->up) != TREE_NONE ||
                    (offer->lister != TREE_NONE &&
                     page_at(p, offer->lister)->contents == CONTENTS_BELOW);
        while (above.number.size &&
               above.number.data[above.number.size - 1] != '.')
            above.number.size--;
        if (sure || !above.number.size)
            continue;
        above.number.size--;
        const struct numbered *found =
            bsearch(&above, all, count, sizeof *all, by_number);
        uint32_t parent = found ? found->piece : named_above(p, page);
        if (parent != TREE_NONE)
            p->places[page].parent = parent;
    }
    free(all);
}

static void find_parents(struct placing *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        p->places[i].parent = choose_parent(p, i);
    nest_by_number(p);
    cut_circles(p);
    open_menus(p);
}

/* ---- Order ---- */

struct chain {
    uint32_t first, length;
};

static int by_length(const void *a, const void *b)
{
    const struct chain *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Marks the pages from `first` along the "next" links that have no mark yet;
 * returns how many. */
static uint32_t mark_chain(struct placing *p, uint32_t first, uint32_t mark,
                           uint32_t step)
{
    uint32_t length = 0;
    for (uint32_t page = first;
         page != TREE_NONE && p->pages[page].position == NOT_PLACED;
         page = p->pages[page].next)
        p->pages[page].position = mark + step * length++;
    return length;
}

static void unmark_chain(struct placing *p, uint32_t first, uint32_t length)
{
    for (uint32_t page = first; length > 0; length--) {
        p->pages[page].position = NOT_PLACED;
        page = p->pages[page].next;
    }
}

/* Numbers the pages along the "next" links, each chain from a page that no
 * other names as its next, the longest chain first. */
static void read_in_order(struct placing *p)
{
    bool *has_previous = mem_alloc(p->count * sizeof *has_previous);
    struct chain *chains = mem_alloc(p->count * sizeof *chains);
    uint32_t chain_count = 0, position = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        p->pages[i].position = NOT_PLACED;
        if (p->pages[i].next != TREE_NONE)
            has_previous[p->pages[i].next] = true;
    }
    for (uint32_t i = 0; i < p->count; i++)
        if (!has_previous[i] && p->pages[i].next != TREE_NONE)
            chains[chain_count++] = (struct chain){i, mark_chain(p, i, 0, 0)};
    for (uint32_t i = 0; i < chain_count; i++)
        unmark_chain(p, chains[i].first, chains[i].length);
    if (chain_count)
        qsort(chains, chain_count, sizeof *chains, by_length);
    for (uint32_t i = 0; i < chain_count; i++)
        position += mark_chain(p, chains[i].first, position, 1);
    free(chains);
    free(has_previous);
}

static int by_place(const void *a, const void *b, void *context)
{
    const struct placing *p = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct page_place *x = &p->pages[i], *y = &p->pages[j];
    uint64_t first = x->surely ? x->listed : UINT64_MAX,
             second = y->surely ? y->listed : UINT64_MAX;
    if (first != second)
        return first < second ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->listed != y->listed)
        return x->listed < y->listed ? -1 : 1;
    if (x->is_index != y->is_index)
        return x->is_index ? -1 : 1;
    int order = strverscmp(p->pieces[i].path, p->pieces[j].path);
    return order ? order : i < j ? -1 : i > j;
}

/* Links parents to children in order; returns the first page below the root. */
static uint32_t link_children(struct placing *p)
{
    uint32_t *order = mem_alloc(p->count * sizeof *order);
    uint32_t first_top = TREE_NONE;
    for (uint32_t i = 0; i < p->count; i++) {
        order[i] = i;
        p->places[i].child = p->places[i].sibling = TREE_NONE;
    }
    if (p->count)
        qsort_r(order, p->count, sizeof *order, by_place, p);
    for (uint32_t at = p->count; at-- > 0;) {
        struct place *place = &p->places[order[at]];
        if (place->left_out)
            continue;
        uint32_t *first = place->parent == TREE_NONE
                              ? &first_top
                              : &p->places[place->parent].child;
        place->sibling = *first;
        *first = order[at];
    }
    free(order);
    return first_top;
}

uint32_t place_pages(const struct piece *pieces, uint32_t count,
                     struct place *places)
{
    struct placing p = {.pieces = pieces, .count = count, .places = places};
    p.pages = mem_alloc(count * sizeof *p.pages);
    p.targets = mem_alloc(count * sizeof *p.targets);
    look_at(&p);
    measure_ways(&p);
    read_lists(&p);
    find_parents(&p);
    read_in_order(&p);
    uint32_t first = link_children(&p);
    for (uint32_t i = 0; i < count; i++)
        free(p.targets[i]);
    free(p.targets);
    free(p.pages);
    return first;
}
