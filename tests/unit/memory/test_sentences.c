#include "tests/unit/support/unit.h"

#include <string.h>

#include "memory/lexical/sentences.h"

/* The sentences of the block, `|` between them and `/` between lines. */
static void assert_sentences(int kind, const char *text, const char *expected)
{
    struct block block = {.kind = kind, .text = slice_of(text)};
    struct buf out = {0};
    buf_put_text(&out, "");
    for (size_t at = 0; at < block.text.size;) {
        buf_put_text(&out, at ? "/" : "");
        struct slice line = sentences_line(&block, &at);
        line = sentences_unmarked(&block, line);
        for (size_t from = 0, end; from < line.size;
             from = sentence_next(line, end)) {
            end = sentence_end(line, from);
            buf_put_text(&out, from ? "|" : "");
            buf_put(&out, line.data + from, end - from);
        }
    }
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void sentences_end_where_others_begin(void **state)
{
    (void)state;
    assert_sentences(BLOCK_PARAGRAPH,
                     "One thing. Another?  Third! (Like so.) End",
                     "One thing.|Another?|Third!|(Like so.)|End");
    assert_sentences(BLOCK_PARAGRAPH, "It is 1.5, e.g. this. No. 5 is it.",
                     "It is 1.5, e.g. this.|No. 5 is it.");
    assert_sentences(BLOCK_PARAGRAPH, "He says \"Go.\" And goes.",
                     "He says \"Go.\"|And goes.");
    assert_sentences(BLOCK_PARAGRAPH, "", "");
}

static void lines_and_cells_are_their_own(void **state)
{
    (void)state;
    assert_sentences(BLOCK_PARAGRAPH, "One\ttwo\nthree. Four",
                     "One\ttwo/three.|Four");
    assert_sentences(BLOCK_TABLE, "a\tbcde. F\n\tg", "a/bcde.|F//g");
    assert_sentences(BLOCK_LIST, "- a\n  12. b\n  c\n-v", "a/b/c/-v");
    assert_sentences(BLOCK_DEFINITION, "term\n  - what", "term/what");
    assert_sentences(BLOCK_PARAGRAPH, "- a", "- a");
}

static void pieces_end_at_blank_lines(void **state)
{
    (void)state;
    char text[4000];
    size_t at = 0;
    struct slice piece = sentences_piece(slice_of("a\nb\n\n\nc\n"), &at);
    assert_true(slice_is(piece, "a\nb"));
    assert_int_equal(at, 6);
    memset(text, 'x', sizeof text);
    for (size_t i = 99; i < sizeof text; i += 100)
        text[i] = '\n';
    at = 0;
    piece = sentences_piece((struct slice){text, sizeof text}, &at);
    assert_true(piece.size >= 1000 && piece.size < 1100);
    assert_int_equal(at, piece.size + 1);
    at = 3900;
    piece = sentences_piece((struct slice){text, sizeof text}, &at);
    assert_int_equal(piece.size, 99);
    assert_int_equal(at, sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_end_where_others_begin),
        cmocka_unit_test(lines_and_cells_are_their_own),
        cmocka_unit_test(pieces_end_at_blank_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
