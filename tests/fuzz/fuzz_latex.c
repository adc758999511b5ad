/* Fuzz target: any bytes as a LaTeX document that includes itself under other
 * names.  What is read must be a whole tree: texts are UTF-8, spans lie in
 * their files, and encoding keeps all of it. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/latex.h"
#include "indexer/parser.h"
#include "tests/fuzz/fuzz.h"

/* The second half of the document is what each file reads that it includes. */
static bool open_half(void *context, struct slice names, struct buf *ret_bytes,
                      struct buf *ret_path)
{
    const struct slice *bytes = context;
    size_t half = bytes->size / 2, size = 0;
    while (size < names.size && size < 3 && names.data[size] != '\n')
        size++;
    if (!text_is_utf8(names.data, size) || memchr(names.data, 'x', size))
        return false;
    buf_put(ret_bytes, bytes->data + half, bytes->size - half);
    buf_put(ret_path, names.data, size);
    return true;
}

static void check_text(struct slice text)
{
    CHECK(text_is_utf8(text.data, text.size));
}

static void check_origin(const struct tree *tree, const struct origin *origin,
                         size_t size)
{
    size_t max = origin->file ? size - size / 2 : size;
    CHECK(origin->file < tree->file_count);
    CHECK(origin->span.from <= origin->span.to && origin->span.to <= max);
}

static void check_node(const struct tree *tree, uint32_t n, size_t size)
{
    const struct node *node = &tree->nodes[n];
    check_text(node->title);
    check_text(node->anchor);
    for (uint32_t i = 0; i < node->anchor_count; i++)
        check_text(node->anchors[i]);
    for (uint32_t i = 0; i < node->origin_count; i++)
        check_origin(tree, &node->origins[i], size);
    for (uint32_t i = 0; i < node->ref_count; i++) {
        check_text(node->refs[i].text);
        check_text(node->refs[i].url);
    }
    for (uint32_t i = 0; i < node->block_count; i++) {
        check_text(node->blocks[i].text);
        check_text(node->blocks[i].info);
        check_origin(tree, &node->blocks[i].origin, size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = {(const char *)data, size};
    struct latex_reader reader = {&bytes, open_half};
    struct tree *tree = NULL;
    struct err err = {.position = -1};
    struct buf reports = {0}, out = {0};
    if (latex_parse(bytes, &reader, &tree, &reports, &err))
        return 0;
    check_text(buf_slice(&reports));
    for (uint32_t n = 0; n < tree->count; n++)
        check_node(tree, n, size);
    latex_text(bytes, tree->page.encoding, &out);
    check_coding(tree);
    buf_free(&reports);
    buf_free(&out);
    tree_free(tree);
    return 0;
}
