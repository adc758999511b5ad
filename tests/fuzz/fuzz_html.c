/* Fuzz target: any bytes as a page.  What is read must be a whole tree: texts
 * are UTF-8, spans lie in the bytes, and encoding keeps all of it.  Bytes that
 * end in X are read as XML. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/html/html_fragment.h"
#include "indexer/parse/html/html.h"
#include "indexer/parser.h"
#include "tests/fuzz/fuzz.h"

static void check_text(struct slice text)
{
    CHECK(text_is_utf8(text.data, text.size));
}

static void check_span(struct span span, size_t size)
{
    CHECK(span.from <= span.to && span.to <= size);
}

static void check_node(const struct tree *tree, uint32_t n, size_t size)
{
    const struct node *node = &tree->nodes[n];
    CHECK(n ? node->parent < n : node->parent == TREE_NONE);
    CHECK(node->end > n && node->end <= tree->count);
    check_text(node->title);
    check_text(node->anchor);
    for (uint32_t i = 0; i < node->anchor_count; i++)
        check_text(node->anchors[i]);
    for (uint32_t i = 0; i < node->origin_count; i++)
        check_span(node->origins[i].span, size);
    for (uint32_t i = 0; i < node->ref_count; i++) {
        check_text(node->refs[i].text);
        check_text(node->refs[i].url);
    }
    for (uint32_t i = 0; i < node->block_count; i++) {
        const struct block *block = &node->blocks[i];
        CHECK(block->kind >= 0 && block->kind < BLOCK_KINDS);
        check_text(block->text);
        check_text(block->info);
        check_span(block->origin.span, size);
    }
}

static void check_fragments(struct slice bytes, int format, int encoding)
{
    struct buf out = {0};
    size_t from = bytes.size / 3;
    fragment_text(
        (struct slice){bytes.data, from},
        (struct slice){bytes.data + from, bytes.size - from - bytes.size / 4},
        format, encoding, &out);
    buf_free(&out);
}

/* What is left out is told for the same nodes. */
static void check_dropped(struct slice bytes, int format, uint32_t count)
{
    struct tree *tree = NULL;
    CHECK(!html_boilerplate(bytes, format, &tree, NULL));
    CHECK(tree->count == count);
    for (uint32_t n = 0; n < count; n++)
        check_node(tree, n, bytes.size);
    tree_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes = {(const char *)data, size};
    struct tree *tree = NULL;
    struct err err = {.position = -1};
    int format = size && data[size - 1] == 'X' ? PARSER_XML : PARSER_HTML;
    if (html_parse(bytes, format, &tree, NULL, &err))
        return 0;
    CHECK(tree->count && tree->file_count <= 1);
    for (uint32_t n = 0; n < tree->count; n++)
        check_node(tree, n, size);
    check_dropped(bytes, format, tree->count);
    check_fragments(bytes, format, tree->page.encoding);
    check_coding(tree);
    tree_free(tree);
    return 0;
}
