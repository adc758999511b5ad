/* Between the files that place pages (navigation.h): what is known of each page on
 * the way.  Private to this room. */
#ifndef INDEXER_NAVIGATION_NAVIGATION_INTERNAL_H
#define INDEXER_NAVIGATION_NAVIGATION_INTERNAL_H

#include "indexer/navigation/navigation.h"

enum { NOT_PLACED = UINT32_MAX };

/* What a list of contents says of a page. */
struct offer {
    uint32_t lister; /* page with the list; TREE_NONE: none has it */
    uint32_t parent; /* TREE_NONE: as if there were no list */
    uint32_t group;  /* the heading above it in the list; TREE_NONE */
    uint32_t at;     /* in the list */
    uint32_t depth;
};

struct page_place {
    uint32_t next;     /* piece; TREE_NONE */
    uint32_t position; /* in the reading order; NOT_PLACED: not in it */
    uint32_t distance; /* lists between the top and it; NOT_PLACED: no way */
    uint64_t listed;   /* order among siblings by lists; UINT64_MAX: none */
    struct offer offer;
    uint32_t named; /* with by_name: the place above; TREE_NONE: the root */
    bool by_name;   /* names say where it stands */
    bool surely;    /* listed so by its generator */
    bool in_menu;   /* most lists that no generator marked lead to it */
    bool has_menu;  /* its list is mostly of those: they are not below it */
    bool is_index, through;
};

/* What maps name: pages of JavaHelp and Flare, which their contents know by these names
 * alone. */
struct map_entry {
    struct slice name, book; /* its title, of one without a page; else empty */
    uint32_t page;           /* piece; TREE_NONE: a book */
    uint32_t map;            /* piece that names it */
};
struct maps {
    struct map_entry *entries; /* [count] by name */
    size_t count;
};

struct navigation {
    const struct piece *pieces;
    uint32_t count;
    struct place *places; /* [total] of the pieces, then of headings */
    uint32_t total;
    size_t capacity; /* of places */
    struct page_place *pages;
    uint32_t **targets; /* [count][link_count] pieces that links lead to */
    struct maps maps;
};

static inline const struct page *navigation_page(const struct navigation *p,
                                                 uint32_t piece)
{
    return &p->pieces[piece].skeleton->page;
}

/* ---- navigation_paths.c ---- */

/* The piece that a link of the page leads to; TREE_NONE: none of ours. */
uint32_t navigation_follow(const struct navigation *p, uint32_t from,
                           struct slice url);

/* Reads the maps, to be freed with p->maps.entries. */
void navigation_read_maps(struct navigation *p);

/* The same as navigation_follow, by names as well. */
uint32_t navigation_look_up(const struct navigation *p, uint32_t from,
                            struct slice url);

/* What a map calls the book without a page that the link names; empty: there is none. */
struct slice navigation_book_of(const struct navigation *p, uint32_t from,
                                struct slice url);

const char *navigation_name(const char *path);

/* Is the name, without its ending, one of these?  `names` ends with NULL. */
bool navigation_is_named(const char *path, const char *const *names);

/* Does `path` lie below the folder of `above`? */
bool navigation_is_deeper(const char *path, const char *above);

/* The index page of the page's folder, or of the nearest one above. */
uint32_t navigation_folder_index(const struct navigation *p, uint32_t page);

/* ---- navigation_variants.c ---- */

/* Excludes documents that are others once more, in another layout. */
void navigation_leave_out_variants(struct navigation *p);

/* ---- navigation_lists.c ---- */

/* How many lists one has to go through from the top to each page. */
void navigation_measure_ways(struct navigation *p);

/* The best offer for each page; which pages only tell where others are. */
void navigation_read_lists(struct navigation *p);

/* ---- navigation_names.c ---- */

/* A place that no page has, and its number; `parent`: TREE_NONE for the root. */
uint32_t navigation_add_heading(struct navigation *p, uint32_t parent,
                                struct slice title);

/* What stands above the pages that names say it of; adds the headings that are
 * missing, each behind the one that it is below. */
void navigation_read_names(struct navigation *p);

/* ---- navigation_order.c ---- */

/* Of pages that stand side by side for want of better, "4.2" goes below "4". */
void navigation_nest_by_number(struct navigation *p);

/* Along the "next" links. */
void navigation_read_in_order(struct navigation *p);

/* Links parents to children in order; returns the first page below the root. */
uint32_t navigation_link_children(struct navigation *p);

#endif
