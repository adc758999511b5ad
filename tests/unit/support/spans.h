/* What the tests share that compare a tree with the bytes of its file. */
#ifndef TESTS_UNIT_SUPPORT_SPANS_H
#define TESTS_UNIT_SUPPORT_SPANS_H

#include "tests/unit/support/parsing.h"

/* What a block's span reads must be the block's words.  Marks that only the
 * block has (bullets, commas between terms) are left out of the comparison. */
static inline void squeeze(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!strchr(" \n\t,-", text.data[i]))
            buf_put_byte(out, text.data[i]);
}

/* How a test's file is read. */
static enum parser_format format;
static struct slice file_head; /* of XML: what it begins with */

static inline void read_part(struct slice part, int encoding,
                             struct buf *ret_text, struct buf *ret_places)
{
    struct err err = {0};
    struct slice head = {format == PARSER_XML ? file_head.data : "", 0};
    if (format == PARSER_XML)
        head.size = file_head.size;
    if (parser_text(parser, head, part, format, (enum encoding)encoding,
                    ret_text, ret_places, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ret_places->size,
                     sizeof(struct text_place) * ret_text->size);
}

static inline void check_span(struct slice file, int encoding,
                              const struct block *block)
{
    struct span span = block->origin.span;
    assert_true(span.from < span.to && span.to <= file.size);
    struct buf text = {0}, places = {0}, folded = {0};
    struct slice part = {file.data + span.from, span.to - span.from};
    file_head = (struct slice){file.data, span.from};
    read_part(part, encoding, &text, &places);
    struct text_place first, last;
    memcpy(&first, places.data, sizeof first);
    memcpy(&last, places.data + places.size - sizeof last, sizeof last);
    if (part.data[0] != '<') {
        assert_int_equal(first.from, 0);
        assert_int_equal(last.to, part.size);
    }
    if (block->kind == BLOCK_PARAGRAPH || block->kind == BLOCK_CODE ||
        block->kind == BLOCK_NOTE) {
        text_fold_space(&folded, block->text);
        assert_string_equal(text.data, folded.data);
    } else {
        struct buf read = {0};
        squeeze(&folded, block->text);
        squeeze(&read, buf_slice(&text));
        assert_string_equal(read.data, folded.data);
        buf_free(&read);
    }
    buf_free(&text);
    buf_free(&places);
    buf_free(&folded);
}

static inline struct tree *parse_format(struct slice bytes)
{
    struct tree *tree = NULL;
    struct err err = {0};
    if (parser_parse(parser, bytes, format, NULL, &tree, &err))
        fail_msg("%s", err.message);
    return tree;
}

static inline void check_spans(struct slice file, uint32_t blocks)
{
    struct tree *tree = parse_format(file);
    uint32_t seen = 0;
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        assert_true(node->origin_count >= 1);
        for (uint32_t b = 0; b < node->block_count; b++, seen++)
            check_span(file, tree->page.encoding, &node->blocks[b]);
    }
    assert_int_equal(seen, blocks);
    tree_free(tree);
}

#endif
