/* What numbers in titles and "next" links say of where pages stand. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "indexer/navigation/navigation_internal.h"

/* ---- Numbers ---- */

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
    return slice_compare(x->number, y->number);
}

/* "rm-A.html" for "rm-A-1.html", where it is a neighbour; else TREE_NONE. */
static uint32_t named_above(const struct navigation *p, uint32_t page)
{
    const char *path = p->pieces[page].path, *name = navigation_name(path);
    const char *dash = strrchr(name, '-'), *dot = strrchr(name, '.');
    uint32_t found = TREE_NONE;
    if (!dash || !dot || dash == name || dot < dash)
        return found;
    struct buf above = {0};
    buf_put(&above, path, (size_t)(dash - path));
    buf_put_text(&above, dot);
    found = assemble_find(p->pieces, p->count, above.data);
    buf_free(&above);
    bool beside =
        found != TREE_NONE && p->places[found].parent == p->places[page].parent;
    return beside ? found : (uint32_t)TREE_NONE;
}

void navigation_nest_by_number(struct navigation *p)
{
    struct numbered *all = mem_alloc(p->count * sizeof *all);
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        struct slice number = number_of(p->pieces[i].skeleton->nodes[0].title);
        if (number.size && !p->places[i].excluded)
            all[count++] = (struct numbered){p->places[i].parent, number, i};
    }
    if (count)
        qsort(all, count, sizeof *all, by_number);
    for (uint32_t i = 0; i < count; i++) {
        struct numbered above = all[i];
        uint32_t page = above.piece;
        const struct offer *offer = &p->pages[page].offer;
        bool confident =
            p->pages[page].by_name ||
            navigation_follow(p, page, navigation_page(p, page)->up) !=
                TREE_NONE ||
            (offer->lister != TREE_NONE &&
             navigation_page(p, offer->lister)->contents == CONTENTS_BELOW);
        while (above.number.size &&
               above.number.data[above.number.size - 1] != '.')
            above.number.size--;
        if (confident || !above.number.size)
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
static uint32_t mark_chain(struct navigation *p, uint32_t first, uint32_t mark,
                           uint32_t step)
{
    uint32_t length = 0;
    for (uint32_t page = first;
         page != TREE_NONE && p->pages[page].position == NOT_PLACED;
         page = p->pages[page].next)
        p->pages[page].position = mark + step * length++;
    return length;
}

static void unmark_chain(struct navigation *p, uint32_t first, uint32_t length)
{
    for (uint32_t page = first; length > 0; length--) {
        p->pages[page].position = NOT_PLACED;
        page = p->pages[page].next;
    }
}

/* Numbers the pages along the "next" links, each chain from a page that no
 * other names as its next, the longest chain first. */
void navigation_read_in_order(struct navigation *p)
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

/* The page that heads a folder, of which no list says where it stands. */
static bool is_head(const struct navigation *p, uint32_t page)
{
    const struct page_place *place = &p->pages[page];
    return place->is_index && place->position == NOT_PLACED &&
           place->listed == UINT64_MAX &&
           navigation_folder_index(p, page) == TREE_NONE;
}

static int compare_pages(const struct navigation *p, uint32_t i, uint32_t j)
{
    const struct page_place *x = &p->pages[i], *y = &p->pages[j];
    uint64_t first = x->surely ? x->listed : UINT64_MAX,
             second = y->surely ? y->listed : UINT64_MAX;
    if (first != second)
        return first < second ? -1 : 1;
    if (is_head(p, i) != is_head(p, j))
        return is_head(p, i) ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->listed != y->listed)
        return x->listed < y->listed ? -1 : 1;
    if (x->is_index != y->is_index)
        return x->is_index ? -1 : 1;
    int order = strverscmp(p->pieces[i].path, p->pieces[j].path);
    return order ? order : i < j ? -1 : i > j;
}

struct ordered {
    uint32_t place;
    uint32_t page; /* itself, or the first below a heading; TREE_NONE */
};

static int by_place(const void *a, const void *b, void *context)
{
    const struct navigation *p = context;
    const struct ordered *x = a, *y = b;
    const struct place *a_place = &p->places[x->place],
                       *b_place = &p->places[y->place];
    if (a_place->parent != b_place->parent)
        return a_place->parent < b_place->parent ? -1 : 1;
    if (a_place->group != b_place->group)
        return a_place->group + 1 < b_place->group + 1 ? -1 : 1;
    bool first = x->page == TREE_NONE, second = y->page == TREE_NONE;
    if (first != second)
        return first ? 1 : -1; /* a heading above nothing, which is left out */
    if (first)
        return x->place < y->place ? -1 : x->place > y->place;
    return compare_pages(p, x->page, y->page);
}

/* A heading stands where the first page below it would. */
static void raise_first(const struct navigation *p, struct ordered *order,
                        uint32_t from)
{
    uint32_t parent = p->places[from].parent, page = order[from].page;
    if (parent == TREE_NONE || parent < p->count || page == TREE_NONE ||
        p->places[from].excluded)
        return;
    uint32_t *first = &order[parent].page;
    if (*first == TREE_NONE || compare_pages(p, page, *first) < 0)
        *first = page;
}

static struct ordered *order_places(struct navigation *p)
{
    struct ordered *order = mem_alloc(p->total * sizeof *order);
    for (uint32_t i = 0; i < p->total; i++)
        order[i] = (struct ordered){i, i < p->count ? i : (uint32_t)TREE_NONE};
    for (uint32_t i = 0; i < p->count; i++)
        raise_first(p, order, i);
    for (uint32_t i = p->total; i-- > p->count;)
        raise_first(p, order, i);
    if (p->total)
        qsort_r(order, p->total, sizeof *order, by_place, p);
    return order;
}

uint32_t navigation_link_children(struct navigation *p)
{
    struct ordered *order = order_places(p);
    uint32_t first_top = TREE_NONE;
    for (uint32_t i = 0; i < p->total; i++)
        p->places[i].child = p->places[i].sibling = TREE_NONE;
    for (uint32_t at = p->total; at-- > 0;) {
        struct place *place = &p->places[order[at].place];
        if (place->excluded || order[at].page == TREE_NONE)
            continue;
        uint32_t *first = place->parent == TREE_NONE
                              ? &first_top
                              : &p->places[place->parent].child;
        place->sibling = *first;
        *first = order[at].place;
    }
    free(order);
    return first_top;
}
