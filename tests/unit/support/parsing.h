/* What the tests of the parser share: a parser for each test, and a tree shown
 * as text. */
#ifndef TESTS_UNIT_SUPPORT_PARSING_H
#define TESTS_UNIT_SUPPORT_PARSING_H

#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parser.h"

static struct parser *parser;

static inline struct parser *new_parser(uint64_t memory, uint32_t seconds)
{
    const char *program = getenv("LECTERN_PARSE");
    struct parser_options options = {
        .program = program ? program : "build/release/lectern-parse",
        .max_memory = memory,
        .max_seconds = seconds};
    return parser_new(&options);
}

static inline int set_up(void **state)
{
    (void)state;
    parser = new_parser(0, 0);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    parser_free(parser);
    return 0;
}

static inline struct tree *parse_bytes(struct slice bytes)
{
    struct tree *tree = NULL;
    struct err err = {0};
    if (parser_parse(parser, bytes, PARSER_HTML, NULL, &tree, &err))
        fail_msg("%s", err.message);
    return tree;
}

static inline struct tree *parse(const char *html)
{
    return parse_bytes(slice_of(html));
}

/* The page has so many seconds of a processor, which are the parser's and not those of the
 * test that waits for it. */
static inline struct tree *parse_within(uint32_t seconds, const char *html)
{
    struct parser *usual = parser;
    parser = new_parser(0, seconds);
    struct tree *tree = parse(html);
    parser_free(parser);
    parser = usual;
    return tree;
}

static inline int refusal(struct slice bytes, struct err *err)
{
    struct tree *tree = NULL;
    int rc = parser_parse(parser, bytes, PARSER_HTML, NULL, &tree, err);
    assert_null(tree);
    return rc;
}

/* The tree as text: a node is "# title {anchor}" ("*": an entry), a block "kind(info): text",
 * with line ends and tabs written out. */
static inline void show_text(struct buf *out, struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\n')
            buf_put_text(out, "\\n");
        else if (text.data[i] == '\t')
            buf_put_text(out, "\\t");
        else
            buf_put_byte(out, text.data[i]);
    }
}

static inline struct buf show(const struct tree *tree)
{
    struct buf out = {0};
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        for (uint32_t d = tree_depth(tree, n); d > 0; d--)
            buf_put_byte(&out, '#');
        buf_put_text(&out, node->entry ? "* " : "# ");
        show_text(&out, node->title);
        if (node->anchor.size)
            buf_printf(&out, " {%.*s}", (int)node->anchor.size,
                       node->anchor.data);
        buf_put_byte(&out, '\n');
        for (uint32_t b = 0; b < node->block_count; b++) {
            const struct block *block = &node->blocks[b];
            buf_put_text(&out, block_kind_name(block->kind));
            if (block->info.size)
                buf_printf(&out, "(%.*s)", (int)block->info.size,
                           block->info.data);
            buf_put_text(&out, ": ");
            show_text(&out, block->text);
            buf_put_byte(&out, '\n');
        }
    }
    return out;
}

static inline void expect(const char *html, const char *shown)
{
    struct tree *tree = parse(html);
    struct buf out = show(tree);
    assert_string_equal(out.data, shown);
    buf_free(&out);
    tree_free(tree);
}

static inline void expect_role(const char *html, int role)
{
    struct tree *tree = parse(html);
    assert_int_equal(tree->page.role, role);
    tree_free(tree);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
