/* What the tests of where pages stand share: pages made of a line each, and the shape of
 * the manual that they make. */
#ifndef TESTS_UNIT_SUPPORT_PAGES_H
#define TESTS_UNIT_SUPPORT_PAGES_H

#include "tests/unit/support/unit.h"

#include <string.h>

#include "indexer/assemble.h"

struct page_of {
    const char *path, *title, *up, *next; /* up: "~x.html" ends a trail;
                                            "=A|B": names of what is above */
    int role, contents;
    const char *links; /* "a.html >b.html": ">" for every level; "=A" a heading;
                   "a=b.html" of a map */
};

static inline void add_links(struct tree *tree, const char *words)
{
    struct page_link links[16];
    uint32_t count = 0;
    while (*words) {
        uint32_t depth = (uint32_t)strspn(words, ">");
        size_t size = strcspn(words + depth, " ");
        struct slice url = {words + depth, size};
        bool heading = size && url.data[0] == '=';
        const char *equals = heading ? NULL : memchr(url.data, '=', size);
        struct slice title = {url.data + heading, heading ? size - 1 : 0};
        if (equals) {
            title.size = (size_t)(equals - url.data);
            url = (struct slice){equals + 1, size - title.size - 1};
        }
        url.size = heading ? 0 : url.size;
        links[count++] = (struct page_link){tree_copy_text(tree, url), depth,
                                            tree_copy_text(tree, title)};
        words += depth + size;
        words += strspn(words, " ");
    }
    tree->page.links = tree_copy_links(tree, links, count);
    tree->page.link_count = count;
}

static inline struct tree *page(const struct page_of *p)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree->page.role = p->role;
    tree->page.trail = p->up[0] == '~';
    if (p->up[0] == '=')
        tree->page.above = tree_copy_text(tree, slice_of(p->up + 1));
    else
        tree->page.up =
            tree_copy_text(tree, slice_of(p->up + tree->page.trail));
    if (strchr(p->path, '/'))
        tree->page.home = tree_copy_text(tree, slice_of("../"));
    tree->page.next = tree_copy_text(tree, slice_of(p->next));
    tree->page.contents = p->contents;
    add_links(tree, p->links);
    tree_add_node(tree, TREE_NONE, 1, slice_of(p->title), slice_of(p->title));
    tree_add_origin(tree, 0, (struct origin){0, {1, 4}});
    tree_add_node(tree, 0, 2, slice_of("Notes"), slice_of(""));
    tree_add_block(tree, 1, BLOCK_PARAGRAPH, slice_of(p->title), slice_of(""),
                   (struct origin){0, {5, 9}});
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

/* Pages in byte order of their paths, up to one without a path. */
static inline struct tree *assembled(const struct page_of *pages)
{
    struct piece pieces[16] = {0};
    uint32_t count = 0;
    for (; pages[count].path; count++) {
        struct tree *tree = page(&pages[count]);
        pieces[count].path = pages[count].path;
        pieces[count].skeleton = assemble_skeleton(tree);
        pieces[count].content = tree->nodes[1].own;
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, count, true, &outline, NULL), 0);
    for (uint32_t i = 0; i < count; i++)
        tree_free(pieces[i].skeleton);
    return outline;
}

/* "M(Book(Notes,One(Notes)))" */
static inline void shape(const struct tree *tree, uint32_t node,
                         struct buf *out)
{
    buf_put_slice(out, tree->nodes[node].title);
    uint32_t end = tree->nodes[node].end;
    for (uint32_t c = node + 1; c < end; c = tree->nodes[c].end) {
        buf_put_byte(out, c == node + 1 ? '(' : ',');
        shape(tree, c, out);
    }
    if (end > node + 1)
        buf_put_byte(out, ')');
}

static inline uint32_t find(const struct tree *tree, const char *title)
{
    for (uint32_t n = 0; n < tree->count; n++)
        if (slice_is(tree->nodes[n].title, title))
            return n;
    return TREE_NONE;
}

static inline void assert_shape(const struct page_of *pages,
                                const char *expected)
{
    struct tree *outline = assembled(pages);
    struct buf out = {0};
    shape(outline, 0, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
    tree_free(outline);
}

static inline struct tree *page_with(const char *anchor, const char *text)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of("Title"), slice_of(""));
    tree_add_node(tree, 0, 2, slice_of(anchor), slice_of(anchor));
    tree_add_anchor(tree, 1, slice_of("other"));
    tree_add_origin(tree, 0, (struct origin){0, {1, 2}});
    tree_add_block(tree, 1, BLOCK_PARAGRAPH, slice_of(text), slice_of(""),
                   (struct origin){0, {1, 2}});
    return tree;
}

#endif
