#include "indexer/assemble.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/url.h"

struct tree *assemble_skeleton(const struct tree *tree)
{
    struct tree *bones = tree_new(true);
    bones->page =
        (struct page){.role = tree->page.role,
                      .title = tree_copy_text(bones, tree->page.title),
                      .up = tree_copy_text(bones, tree->page.up),
                      .prev = tree_copy_text(bones, tree->page.prev),
                      .next = tree_copy_text(bones, tree->page.next)};
    for (uint32_t f = 0; f < tree->file_count; f++)
        tree_add_file(bones, tree->files[f]);
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        tree_add_node(bones, node->parent, node->level, node->title,
                      node->anchor);
        for (uint32_t i = 0; i < node->anchor_count; i++)
            tree_add_anchor(bones, n, node->anchors[i]);
        for (uint32_t i = 0; i < node->origin_count; i++)
            tree_add_origin(bones, n, node->origins[i]);
        bones->nodes[n].own = node->own;
        bones->nodes[n].words = node->block_count > 0;
    }
    tree_seal(bones, NULL);
    return bones;
}

/* ---- Where each page stands ---- */

enum { NOT_PLACED = UINT32_MAX };

struct place {
    uint32_t parent;         /* piece; TREE_NONE: the root */
    uint32_t next;           /* piece; TREE_NONE */
    uint32_t position;       /* in the reading order; NOT_PLACED: not in it */
    uint32_t child, sibling; /* lists, in order */
    bool is_index, left_out;
};

struct assembly {
    const struct piece *pieces;
    uint32_t count;
    struct place *places;
    struct tree *outline;
};

static uint32_t find_piece(const struct assembly *assembly, const char *path)
{
    uint32_t low = 0, high = assembly->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(path, assembly->pieces[middle].path);
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
static uint32_t follow(const struct assembly *assembly, uint32_t from,
                       struct slice url)
{
    struct buf path = {0}, anchor = {0};
    uint32_t found = TREE_NONE;
    if (url.size &&
        url_resolve(slice_of(assembly->pieces[from].path), url, &path, &anchor))
        found = find_piece(assembly, path.data);
    buf_free(&path);
    buf_free(&anchor);
    return found;
}

static bool is_index_name(const char *path)
{
    static const char *const names[] = {"index.html", "index.htm",
                                        "index.xhtml"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return false;
}

/* The index page of the page's folder, or of the nearest one above. */
static uint32_t folder_index(const struct assembly *assembly, uint32_t page)
{
    const char *path = assembly->pieces[page].path;
    size_t size = strlen(path);
    bool own_folder = true;
    struct buf name = {0};
    uint32_t found = TREE_NONE;
    for (;;) {
        while (size && path[size - 1] != '/')
            size--;
        buf_clear(&name);
        buf_put(&name, path, size);
        buf_put_text(&name, "index.html");
        if (!(own_folder && assembly->places[page].is_index))
            found = find_piece(assembly, name.data);
        own_folder = false;
        if (found != TREE_NONE || !size)
            break;
        size--;
    }
    buf_free(&name);
    return found == page ? (uint32_t)TREE_NONE : found;
}

static void find_links(struct assembly *assembly)
{
    for (uint32_t i = 0; i < assembly->count; i++) {
        struct place *place = &assembly->places[i];
        const struct page *page = &assembly->pieces[i].skeleton->page;
        place->is_index = is_index_name(assembly->pieces[i].path);
        place->left_out =
            page->role == PAGE_REDIRECT || page->role == PAGE_SEARCH;
        place->next = follow(assembly, i, page->next);
    }
    for (uint32_t i = 0; i < assembly->count; i++) {
        struct place *place = &assembly->places[i];
        place->parent =
            follow(assembly, i, assembly->pieces[i].skeleton->page.up);
        if (place->parent == TREE_NONE || place->parent == i)
            place->parent = folder_index(assembly, i);
        if (place->parent != TREE_NONE &&
            assembly->places[place->parent].left_out)
            place->parent = TREE_NONE;
    }
}

/* Cuts a circle of parents where it is first met: that page becomes a child of
 * the root. */
static void cut_circles(struct assembly *assembly)
{
    uint32_t *mark = mem_alloc(assembly->count * sizeof *mark);
    for (uint32_t i = 0; i < assembly->count; i++) {
        uint32_t page = i;
        while (page != TREE_NONE && !mark[page]) {
            mark[page] = i + 1;
            page = assembly->places[page].parent;
        }
        if (page != TREE_NONE && mark[page] == i + 1)
            assembly->places[page].parent = TREE_NONE;
    }
    free(mark);
}

/* Numbers the pages along the "next" links, each chain from a page that no
 * other names as its next. */
static void read_in_order(struct assembly *assembly)
{
    bool *has_previous = mem_alloc(assembly->count * sizeof *has_previous);
    uint32_t position = 0;
    for (uint32_t i = 0; i < assembly->count; i++) {
        assembly->places[i].position = NOT_PLACED;
        if (assembly->places[i].next != TREE_NONE)
            has_previous[assembly->places[i].next] = true;
    }
    for (uint32_t i = 0; i < assembly->count; i++) {
        if (has_previous[i] || assembly->places[i].next == TREE_NONE)
            continue;
        for (uint32_t page = i;
             page != TREE_NONE && assembly->places[page].position == NOT_PLACED;
             page = assembly->places[page].next)
            assembly->places[page].position = position++;
    }
    free(has_previous);
}

static int by_place(const void *a, const void *b, void *context)
{
    const struct assembly *assembly = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    const struct place *x = &assembly->places[i], *y = &assembly->places[j];
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->is_index != y->is_index)
        return x->is_index ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* ---- Putting them together ---- */

/* Copies a page's nodes below `parent`; returns the index of its root. */
static uint32_t add_page(struct assembly *assembly, uint32_t page,
                         uint32_t parent)
{
    struct tree *outline = assembly->outline;
    const struct tree *bones = assembly->pieces[page].skeleton;
    uint32_t first = outline->count;
    for (uint32_t n = 0; n < bones->count; n++) {
        const struct node *node = &bones->nodes[n];
        struct slice title = node->title;
        if (n == 0 && !title.size)
            title = slice_of(assembly->pieces[page].path);
        uint32_t index =
            tree_add_node(outline, n ? first + node->parent : parent,
                          node->level, title, node->anchor);
        for (uint32_t i = 0; i < node->anchor_count; i++)
            tree_add_anchor(outline, index, node->anchors[i]);
        for (uint32_t i = 0; i < node->origin_count; i++)
            tree_add_origin(outline, index,
                            (struct origin){page, node->origins[i].span});
        struct node *made = &outline->nodes[index];
        made->own = node->own;
        made->words = node->words;
        made->source_tree = page;
        made->source_node = n;
    }
    return first;
}

/* Depth first over the pages, by parent links alone: no recursion. */
static void add_pages(struct assembly *assembly, uint32_t first_top)
{
    uint32_t *roots = mem_alloc(assembly->count * sizeof *roots);
    uint32_t page = first_top;
    while (page != TREE_NONE) {
        const struct place *place = &assembly->places[page];
        uint32_t above = place->parent == TREE_NONE ? 0 : roots[place->parent];
        roots[page] = add_page(assembly, page, above);
        if (place->child != TREE_NONE) {
            page = place->child;
            continue;
        }
        while (page != TREE_NONE && assembly->places[page].sibling == TREE_NONE)
            page = assembly->places[page].parent;
        if (page != TREE_NONE)
            page = assembly->places[page].sibling;
    }
    free(roots);
}

/* Links parents to children in order; returns the first page below the root. */
static uint32_t link_children(struct assembly *assembly)
{
    uint32_t *order = mem_alloc(assembly->count * sizeof *order);
    uint32_t first_top = TREE_NONE;
    for (uint32_t i = 0; i < assembly->count; i++) {
        order[i] = i;
        assembly->places[i].child = assembly->places[i].sibling = TREE_NONE;
    }
    if (assembly->count)
        qsort_r(order, assembly->count, sizeof *order, by_place, assembly);
    for (uint32_t at = assembly->count; at-- > 0;) {
        struct place *place = &assembly->places[order[at]];
        if (place->left_out)
            continue;
        uint32_t *first = place->parent == TREE_NONE
                              ? &first_top
                              : &assembly->places[place->parent].child;
        place->sibling = *first;
        *first = order[at];
    }
    free(order);
    return first_top;
}

int assemble(const char *manual, const struct piece *pieces, uint32_t count,
             struct tree **ret_outline, struct err *err)
{
    struct assembly assembly = {
        .pieces = pieces, .count = count, .outline = tree_new(true)};
    assembly.places = mem_alloc(count * sizeof *assembly.places);
    find_links(&assembly);
    cut_circles(&assembly);
    read_in_order(&assembly);
    for (uint32_t i = 0; i < count; i++)
        tree_add_file(assembly.outline, slice_of(pieces[i].path));
    tree_add_node(assembly.outline, TREE_NONE, 0, slice_of(manual),
                  (struct slice){"", 0});
    assembly.outline->nodes[0].own = hash_bytes(manual, strlen(manual));
    add_pages(&assembly, link_children(&assembly));
    free(assembly.places);
    int code = tree_seal(assembly.outline, err);
    if (code)
        tree_free(assembly.outline);
    else
        *ret_outline = assembly.outline;
    return code;
}
