/* LaTeX parsed in memory, and what comes of it as a line. */
#ifndef TESTS_UNIT_SUPPORT_LATEX_IN_MEMORY_H
#define TESTS_UNIT_SUPPORT_LATEX_IN_MEMORY_H

#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/latex/latex.h"
#include "indexer/parse/text/charset.h"

/* ---- A folder of files in memory ---- */

struct memory_file {
    const char *name, *text;
};

static inline const struct memory_file *file_of(const struct memory_file *files,
                                                struct slice name)
{
    for (; files && files->name; files++)
        if (slice_is(name, files->name))
            return files;
    return NULL;
}

/* The first of the names that is there. */
static inline bool open_memory(void *context, struct slice names,
                               struct buf *ret_bytes, struct buf *ret_path)
{
    while (names.size) {
        const char *end = memchr(names.data, '\n', names.size);
        size_t size = end ? (size_t)(end - names.data) : names.size;
        const struct memory_file *file =
            file_of(context, (struct slice){names.data, size});
        if (file) {
            buf_put_text(ret_bytes, file->text);
            buf_put_text(ret_path, file->name);
            return true;
        }
        size += end != NULL;
        names.data += size;
        names.size -= size;
    }
    return false;
}

static inline struct tree *parse(const char *text,
                                 const struct memory_file *files,
                                 struct buf *reports)
{
    union {
        const struct memory_file *files;
        void *context;
    } held = {files};
    struct latex_reader reader = {held.context, open_memory};
    struct tree *tree = NULL;
    assert_int_equal(latex_parse(slice_of(text), &reader, &tree, reports, NULL),
                     0);
    return tree;
}

/* "# title" for each node below the page (a # a level), "kind: text" for each
 * block, separated by " | ". */
static inline void show(const struct tree *tree, struct buf *out)
{
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        for (uint32_t i = 0; n && i < tree_depth(tree, n); i++)
            buf_put_byte(out, node->entry ? '@' : '#');
        if (n)
            buf_printf(out, " %s | ", node->title.data);
        for (uint32_t b = 0; b < node->block_count; b++)
            buf_printf(out, "%s: %s | ", block_kind_name(node->blocks[b].kind),
                       node->blocks[b].text.data);
    }
    if (out->size > 3)
        out->size -= 3;
    buf_put_byte(out, '\0');
}

static inline void expect_of(const char *text, const struct memory_file *files,
                             const char *shown)
{
    struct buf out = {0}, reports = {0};
    struct tree *tree = parse(text, files, &reports);
    show(tree, &out);
    assert_string_equal(out.data, shown);
    tree_free(tree);
    buf_free(&out);
    buf_free(&reports);
}

static inline void expect(const char *text, const char *shown)
{
    expect_of(text, NULL, shown);
}

static inline int load(void **state)
{
    (void)state;
    charset_load();
    return 0;
}

#endif
