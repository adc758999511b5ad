/* A library with one manual, made of pages that a test writes down. */
#ifndef TESTS_UNIT_SUPPORT_MANUALS_H
#define TESTS_UNIT_SUPPORT_MANUALS_H

#include <string.h>

#include "tests/unit/support/unit.h"

#include "base/mem.h"
#include "memory/snapshot/library.h"

enum { PAGE_NODES = 8 };

struct test_node {
    int parent; /* of the page; -1: its root */
    const char *title;
    const char *text; /* blocks, separated by '|', those with a $ are code;
                         NULL: none */
};

struct test_page {
    const char *path;
    struct test_node nodes[PAGE_NODES]; /* the first without title ends them */
};

struct test_library {
    char folder[256];
    struct store *store;
    struct library *library;
    uint32_t manual;
    uint64_t generation;
};

static inline void test_library_open(struct test_library *lib)
{
    struct store_options options = {.folder = lib->folder,
                                    .max_bytes = 64 << 20};
    *lib = (struct test_library){0};
    snprintf(lib->folder, sizeof lib->folder, "%s", unit_folder());
    assert_int_equal(store_open(&options, &lib->store, NULL), 0);
    assert_int_equal(library_open(lib->store, &lib->library, NULL), 0);
}

static inline void test_library_close(struct test_library *lib)
{
    library_close(lib->library);
    store_close(lib->store);
    unit_folder_remove(lib->folder);
}

static inline struct tree *test_page_tree(const struct test_page *page)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    for (uint32_t n = 0; n < PAGE_NODES && page->nodes[n].title; n++) {
        const struct test_node *node = &page->nodes[n];
        uint32_t parent = node->parent < 0 ? TREE_NONE : (uint32_t)node->parent;
        tree_add_node(tree, parent, 1, slice_of(node->title), slice_of(""));
        for (const char *at = node->text; at;) {
            const char *bar = strchr(at, '|');
            struct slice text = {at, bar ? (size_t)(bar - at) : strlen(at)};
            tree_add_block(tree, n, *at == '$' ? BLOCK_CODE : BLOCK_PARAGRAPH,
                           text, slice_of(""), (struct origin){0, {0, 1}});
            at = bar ? bar + 1 : NULL;
        }
    }
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

/* The id of a node lasts while its title does. */
static inline void test_add_page(struct tree *outline, uint32_t file,
                                 const struct tree *tree)
{
    uint32_t first = outline->count;
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        uint32_t made = tree_add_node(outline, n ? first + node->parent : 0, 1,
                                      node->title, slice_of(""));
        outline->nodes[made].own = node->own;
        outline->nodes[made].words = node->block_count;
        outline->nodes[made].source_tree = file;
        outline->nodes[made].source_node = n;
        outline->nodes[made].id =
            hash_bytes64(node->title.data, node->title.size) | 1;
    }
}

/* Puts the pages, in order of their paths, in place as the next generation. */
static inline void test_publish(struct test_library *lib,
                                const struct test_page *pages, size_t count)
{
    struct tree *outline = tree_new(true);
    struct store_txn *txn;
    assert_int_equal(store_write(lib->store, &txn, NULL), 0);
    struct manual manual = {.name = mem_strdup("manual"),
                            .root = mem_strdup("/r"),
                            .ignore = mem_strdup(""),
                            .id = lib->manual,
                            .generation = ++lib->generation};
    assert_int_equal(store_put_manual(txn, &manual, NULL), 0);
    lib->manual = manual.id;
    manual_free(&manual);
    struct file *old;
    size_t old_count;
    assert_int_equal(store_list_files(txn, lib->manual, &old, &old_count, NULL),
                     0);
    for (size_t i = 0; i < old_count; i++) {
        assert_int_equal(store_delete_file(txn, lib->manual, old[i].path, NULL),
                         0);
        file_free(&old[i]);
    }
    free(old);
    for (size_t p = 0; p < count; p++)
        tree_add_file(outline, slice_of(pages[p].path));
    tree_add_node(outline, TREE_NONE, 0, slice_of("manual"), slice_of(""));
    outline->nodes[0].own = hash_bytes("manual", 6);
    outline->nodes[0].id = 1;
    for (size_t p = 0; p < count; p++) {
        struct tree *tree = test_page_tree(&pages[p]);
        struct file file = {.path = mem_strdup(pages[p].path),
                            .failure = mem_strdup(""),
                            .tree = tree->nodes[0].merkle};
        assert_int_equal(store_put_tree(txn, file.tree, tree, NULL), 0);
        assert_int_equal(store_put_file(txn, lib->manual, &file, NULL), 0);
        file_free(&file);
        test_add_page(outline, (uint32_t)p, tree);
        tree_free(tree);
    }
    assert_int_equal(tree_seal(outline, NULL), 0);
    assert_int_equal(
        store_put_outline(txn, lib->manual, lib->generation, outline, NULL), 0);
    tree_free(outline);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(library_refresh(lib->library, NULL), 0);
}

#endif
