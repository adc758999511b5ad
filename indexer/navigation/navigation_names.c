/* What the names of the pages above say of where a page stands: a page that says
 * "Use|Views" is below the page called "Views" that itself says "Use"; where no page
 * is called so, below a heading that is made for those that say it. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/url.h"
#include "indexer/navigation/navigation_internal.h"

struct name {
    struct slice
        key; /* the folder that the names are of, then the names as they
                         are compared: "guide/|use|views" */
    struct slice title; /* the last of them, as written */
    uint32_t page;      /* is called so, or the first that names it */
    uint32_t place;     /* page or heading that stands for it */
};

struct names {
    struct arena arena;  /* keys */
    struct slice *above; /* [count] the key of what is above each page */
    struct name *called, *named;
    size_t called_count, called_capacity, named_count, named_capacity;
};

static int by_key(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    return slice_compare(x->key, y->key);
}

static int by_key_and_page(const void *a, const void *b)
{
    int order = by_key(a, b);
    const struct name *x = a, *y = b;
    return order ? order : x->page < y->page ? -1 : x->page > y->page;
}

/* The first of that key in an array in order; NULL: none. */
static const struct name *find_name(const struct name *names, size_t count,
                                    struct slice key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key(&names[middle], &(struct name){.key = key}) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && slice_equal(names[low].key, key) ? &names[low] : NULL;
}

static void put_folder(const struct navigation *p, uint32_t piece,
                       struct buf *key)
{
    struct slice home = navigation_page(p, piece)->home;
    struct buf anchor = {0};
    if (!url_resolve(slice_of(p->pieces[piece].path),
                     home.size ? home : slice_of("./"), key, &anchor))
        buf_clear(key); /* it is somewhere else: one for all */
    buf_free(&anchor);
}

static void put_part(struct buf *key, struct slice name)
{
    buf_put_byte(key, '|');
    text_fold_compare(key, name);
}

static void add_called(struct names *names, uint32_t page, struct slice above,
                       struct slice title)
{
    struct buf key = {0};
    if (!title.size)
        return;
    buf_put_slice(&key, above);
    put_part(&key, title);
    MEM_RESERVE(names->called, &names->called_capacity,
                names->called_count + 1);
    names->called[names->called_count++] = (struct name){
        .key = {arena_copy(&names->arena, key.data, key.size), key.size},
        .page = page,
        .place = page};
    buf_free(&key);
}

/* The page's names of what is above, and its own: those of its first heading and of
 * its <title>. */
static void add_names(struct names *names, const struct navigation *p,
                      uint32_t piece)
{
    const struct page *page = navigation_page(p, piece);
    struct slice rest = page->above;
    struct buf key = {0};
    size_t first = names->named_count;
    put_folder(p, piece, &key);
    while (rest.size) {
        const char *bar = memchr(rest.data, '|', rest.size);
        size_t size = bar ? (size_t)(bar - rest.data) : rest.size;
        struct slice title = {rest.data, size};
        put_part(&key, title);
        MEM_RESERVE(names->named, &names->named_capacity,
                    names->named_count + 1);
        names->named[names->named_count++] =
            (struct name){.key = {NULL, key.size},
                          .title = title,
                          .page = piece,
                          .place = TREE_NONE};
        rest.data += size + (bar != NULL);
        rest.size -= size + (bar != NULL);
    }
    struct slice all = {
        arena_copy(&names->arena, buf_slice(&key).data, key.size), key.size};
    for (size_t i = first; i < names->named_count; i++)
        names->named[i].key.data = all.data;
    names->above[piece] = all;
    add_called(names, piece, all, p->pieces[piece].skeleton->nodes[0].title);
    add_called(names, piece, all, page->title);
    buf_free(&key);
}

static void sort_names(struct names *names)
{
    size_t count = 0;
    if (names->called_count)
        qsort(names->called, names->called_count, sizeof *names->called,
              by_key_and_page);
    qsort(names->named, names->named_count, sizeof *names->named,
          by_key_and_page);
    for (size_t i = 0; i < names->named_count; i++)
        if (!count || by_key(&names->named[count - 1], &names->named[i]))
            names->named[count++] = names->named[i];
    names->named_count = count;
}

/* What stands for the names but the last; those come first in the order. */
static const struct name *name_above(const struct names *names,
                                     const struct name *name)
{
    const char *bar = memrchr(name->key.data, '|', name->key.size);
    struct slice key = {name->key.data, (size_t)(bar - name->key.data)};
    return find_name(names->named, names->named_count, key);
}

/* The page that heads the folder, unless names say where that is. */
static uint32_t top_of(const struct navigation *p, uint32_t page)
{
    uint32_t top = navigation_folder_index(p, page);
    return top == TREE_NONE || navigation_page(p, top)->above.size
               ? (uint32_t)TREE_NONE
               : top;
}

uint32_t navigation_add_heading(struct navigation *p, uint32_t parent,
                                struct slice title)
{
    MEM_RESERVE(p->places, &p->capacity, p->total + 1);
    p->places[p->total] = (struct place){.parent = parent,
                                         .child = TREE_NONE,
                                         .sibling = TREE_NONE,
                                         .group = TREE_NONE,
                                         .same = p->total,
                                         .title = title};
    return p->total++;
}

static void add_heading(struct navigation *p, const struct names *names,
                        struct name *name)
{
    const struct name *above = name_above(names, name);
    name->place = navigation_add_heading(
        p, above ? above->place : top_of(p, name->page), name->title);
}

static void choose_places(struct navigation *p, struct names *names)
{
    for (size_t i = 0; i < names->named_count; i++) {
        struct name *name = &names->named[i];
        const struct name *called =
            find_name(names->called, names->called_count, name->key);
        if (!called) {
            add_heading(p, names, name);
            continue;
        }
        name->place = called->place;
        struct page_place *page = &p->pages[called->page];
        if (!name_above(names, name)) {
            page->by_name = true;
            page->named = top_of(p, called->page);
        }
    }
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->places[i].excluded || !navigation_page(p, i)->above.size)
            continue;
        p->pages[i].by_name = true;
        p->pages[i].named =
            find_name(names->named, names->named_count, names->above[i])->place;
    }
}

void navigation_read_names(struct navigation *p)
{
    struct names names = {.above = mem_alloc(p->count * sizeof *names.above)};
    for (uint32_t i = 0; i < p->count; i++)
        if (!p->places[i].excluded)
            add_names(&names, p, i);
    if (names.named_count) {
        sort_names(&names);
        choose_places(p, &names);
    }
    free(names.above);
    free(names.called);
    free(names.named);
    arena_free(&names.arena);
}
