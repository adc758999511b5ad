#include "tests/unit/support/unit.h"

#include <stdio.h>
#include <string.h>

#include "daemon/answer/cite.h"
#include "daemon/answer/extractive.h"

#define BLOCK(of, words)                                                       \
    {                                                                          \
        .kind = BLOCK_##of, .text = { words, sizeof words - 1 }                \
    }

static struct copying_passage whole(const struct block *blocks, size_t count)
{
    return (struct copying_passage){blocks, 0, count - 1, 0,
                                    blocks[count - 1].text.size};
}

static struct copying *open_blocks(const struct block *blocks, size_t count)
{
    struct copying_passage passage = whole(blocks, count);
    return copying_open(&passage, 1);
}

/* Bytes of the text that may be written, in pieces of `piece` of them; *ret_ends:
 * the answer may then end. */
static size_t written(const struct copying_passage *passages, size_t count,
                      const char *text, size_t piece, bool *ret_ends)
{
    struct copying *copying = copying_open(passages, count);
    size_t at = 0, size = strlen(text);
    while (at < size) {
        size_t some = size - at < piece ? size - at : piece;
        if (!copying_allows(copying, (struct slice){text + at, some}))
            break;
        copying_take(copying, (struct slice){text + at, some});
        at += some;
    }
    *ret_ends = copying_may_end(copying);
    copying_close(copying);
    return at;
}

/* The whole text may be written, however it is cut, and be an answer. */
static void assert_answer(const struct copying_passage *passages, size_t count,
                          const char *text)
{
    bool ends;
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        size_t at = written(passages, count, text, piece, &ends);
        if (at != strlen(text) || !ends)
            fail_msg("'%s': %zu bytes in pieces of %zu%s", text, at, piece,
                     ends ? "" : ", and no end");
    }
}

/* The text may be written up to `upto`, and no byte of it further. */
static void assert_refused(const struct copying_passage *passages, size_t count,
                           const char *text, const char *upto)
{
    bool ends;
    size_t at = written(passages, count, text, 1, &ends);
    if (at != strlen(upto) || strncmp(text, upto, at) != 0)
        fail_msg("'%s': refused after %zu bytes, not after '%s'", text, at,
                 upto);
    at = written(passages, count, text, strlen(text), &ends);
    assert_int_equal(at, 0);
}

static const struct block lamp[] = {
    BLOCK(PARAGRAPH, "The lamp is bright. Is it safe? Charge it at night."),
    BLOCK(PARAGRAPH, "The lamp is light."),
};
static const struct block cable[] = {
    BLOCK(PARAGRAPH, "The cable is bright. It is red.")};

static void what_is_copied_is_cited(void **state)
{
    (void)state;
    struct copying_passage both[] = {whole(lamp, 2), whole(cable, 1)};
    assert_answer(both, 2, " The lamp is bright. [1]");
    assert_answer(both, 2, "The lamp is bright. [1]");
    assert_answer(both, 2, " Is it safe? Charge it at night. [1]");
    assert_answer(both, 2, " It is red. [2]");
    assert_answer(both, 2, " The lamp is light. [1] It is red. [2]");
    assert_answer(both, 2,
                  " It is red. [2] The cable is bright. [2] Is it safe? [1]");
    assert_refused(both, 2, " lamp is bright. [1]", " ");
    assert_refused(both, 2, "  The lamp", " ");
    assert_refused(both, 2, " The lamp is red.", " The lamp is ");
    assert_refused(both, 2, " The lamp [1]", " The lamp ");
    assert_refused(both, 2, " The lamp is bright.[1]", " The lamp is bright.");
    assert_refused(both, 2, " Charge it at night. The lamp is light.",
                   " Charge it at night. ");
    assert_refused(both, 2, " It is red. [2]It", " It is red. [2]");
}

static void a_citation_has_the_number_of_its_passage(void **state)
{
    (void)state;
    struct copying_passage many[12];
    for (size_t i = 0; i < 12; i++)
        many[i] = whole(i == 10 ? cable : lamp, i == 10 ? 1 : 2);
    assert_answer(many, 12, " The cable is bright. [11]");
    assert_refused(many, 12, " The cable is bright. [1]",
                   " The cable is bright. [1");
    assert_refused(many, 12, " The cable is bright. [12]",
                   " The cable is bright. [1");
    assert_answer(many, 12, " The lamp is light. [1]");
    assert_answer(many, 12, " The lamp is light. [12]");
    assert_refused(many, 12, " The lamp is light. [11]",
                   " The lamp is light. [1");
    assert_refused(many, 12, " The lamp is light. [13]",
                   " The lamp is light. [1");
}

/* Where a word stands twice the copy goes on behind either, until they differ;
 * where a sentence is the beginning of another, it may end or go on. */
static void beginnings_that_are_alike_stay_open(void **state)
{
    (void)state;
    static const struct block blocks[] = {
        BLOCK(LIST, "- Press the key. Press the key twice.\n- Press the key"),
        BLOCK(PARAGRAPH, "Press the key or the lamp.")};
    struct copying_passage one = whole(blocks, 2);
    assert_answer(&one, 1, " Press the key. [1]");
    assert_answer(&one, 1, " Press the key [1]");
    assert_answer(&one, 1, " Press the key twice. [1]");
    assert_answer(&one, 1, " Press the key. Press the key twice. [1]");
    assert_answer(&one, 1, " Press the key or the lamp. [1]");
    assert_refused(&one, 1, " Press the key or twice.", " Press the key or t");
    assert_refused(&one, 1, " Press the lamp.", " Press the ");
    assert_refused(&one, 1, " Press the key. Press the key or",
                   " Press the key. Press the key ");
}

static void that_there_is_no_answer_is_all_that_is_said(void **state)
{
    (void)state;
    struct copying_passage one = whole(lamp, 2);
    assert_answer(&one, 1, " Not in these passages.");
    assert_answer(NULL, 0, " Not in these passages.");
    assert_refused(&one, 1, " Not in these passages. [1]",
                   " Not in these passages.");
    assert_refused(&one, 1, " Not in these passages. The",
                   " Not in these passages.");
    assert_refused(&one, 1, " The lamp is light. [1] Not in",
                   " The lamp is light. [1] ");
    assert_refused(NULL, 0, " The", " ");
    bool ends;
    written(&one, 1, "", 1, &ends);
    assert_false(ends); /* nothing is no answer */
    written(&one, 1, " Not in these passages", 1, &ends);
    assert_false(ends);
    written(&one, 1, " The lamp is light.", 1, &ends);
    assert_false(ends);
    written(&one, 1, " The lamp is light. [1] ", 1, &ends);
    assert_false(ends);
}

/* So an answer comes to an end. */
static void what_can_only_go_on_is_certain(void **state)
{
    struct copying *copying = open_blocks(lamp, 2);
    (void)state;
    assert_int_equal(copying_certain(copying), 0);
    copying_take(copying, slice_of(" "));
    assert_int_equal(copying_certain(copying), 0); /* where to begin */
    copying_take(copying, slice_of("The lamp is "));
    assert_int_equal(copying_certain(copying), 0); /* bright or light */
    copying_take(copying, slice_of("b"));
    assert_int_equal(copying_certain(copying), 6); /* right. */
    copying_take(copying, slice_of("right."));
    assert_int_equal(copying_certain(copying), 0); /* to go on, or to cite */
    copying_take(copying, slice_of(" [1"));
    assert_int_equal(copying_certain(copying), 1);
    copying_take(copying, slice_of("]"));
    assert_int_equal(copying_certain(copying), 0);
    copying_close(copying);
}

static void an_abstention_is_told_from_spans(void **state)
{
    static const struct block notes[] = {
        BLOCK(PARAGRAPH, "Not in the dark. It is bright.")};
    struct copying *copying = open_blocks(notes, 1);
    (void)state;
    assert_false(copying_abstains(copying, slice_of(" ")));
    assert_false(copying_abstains(copying, slice_of(" Not in the")));
    assert_true(copying_abstains(copying, slice_of(" Not in these")));
    assert_false(copying_abstains(copying, slice_of(" It")));
    copying_take(copying, slice_of(" "));
    assert_false(copying_abstains(copying, slice_of("Not")));
    assert_true(copying_abstains(copying, slice_of("Not in thes")));
    copying_take(copying, slice_of("N"));
    assert_false(copying_abstains(copying, slice_of("ot in")));
    assert_true(copying_abstains(copying, slice_of("ot in thes")));
    copying_take(copying, slice_of("ot in these pass"));
    assert_false(copying_abstains(copying, slice_of("ages.")));
    copying_close(copying);
    copying = copying_open(NULL, 0); /* nothing else can be written */
    assert_false(copying_abstains(copying, slice_of(" Not")));
    copying_close(copying);
}

static void nothing_is_said_twice(void **state)
{
    (void)state;
    struct copying_passage both[] = {whole(lamp, 2), whole(cable, 1)};
    assert_refused(both, 2, " It is red. [2] It is red.", " It is red. [2] I");
    assert_refused(both, 2, " It is red. [2] The lamp is light. [1] It is red",
                   " It is red. [2] The lamp is light. [1] I");
    assert_answer(both, 2, " Is it safe? [1] Charge it at night. [1]");
    assert_answer(both, 2,
                  " Is it safe? Charge it at night. [1] Charge it at night. "
                  "[1]");
    assert_answer(both, 1,
                  "The lamp is bright. [1] The lamp is light. [1] Is it safe? "
                  "[1] Charge it at night. [1]");
    assert_refused(both, 1,
                   "The lamp is bright. [1] The lamp is light. [1] Is it safe? "
                   "[1] Charge it at night. [1] T",
                   "The lamp is bright. [1] The lamp is light. [1] Is it safe? "
                   "[1] Charge it at night. [1]"); /* nothing is left */
}

/* Many places become one where their sentences end. */
static void a_sentence_may_stand_often(void **state)
{
    (void)state;
    struct buf text = {0};
    for (int i = 0; i < 200; i++)
        buf_put_text(&text, "So it is. ");
    struct block block = {.text = buf_slice(&text)};
    struct copying_passage one = whole(&block, 1);
    assert_answer(&one, 1, " So it is. [1]");
    assert_answer(&one, 1, " So it is. [1] So it is. So it is. [1]");
    buf_free(&text);
}

/* As where a quote must stay, so that it is found again in its file. */
static void spans_stay_in_their_line(void **state)
{
    (void)state;
    static const struct block blocks[] = {
        BLOCK(LIST, "- One thing.\n  12. Another thing.\n-x"),
        BLOCK(TABLE, "Name\tUse\n-v\tSays more. Much more."),
        BLOCK(DEFINITION, "term\n  What it is."),
        BLOCK(CODE, "begin\n    stop. Here\n\n}\nend"),
    };
    struct copying_passage one = whole(blocks, 4);
    assert_answer(&one, 1, " One thing. [1]");
    assert_answer(&one, 1, " Another thing. [1]");
    assert_answer(&one, 1, " Name [1] Use [1] -v [1]");
    assert_answer(&one, 1, " Says more. Much more. [1]");
    assert_answer(&one, 1, " What it is. [1]");
    assert_answer(&one, 1, " begin\n    stop. Here [1]");
    assert_answer(&one, 1, " stop. Here\n\n}\nend [1]");
    assert_answer(&one, 1, " begin\n    stop. Here\n\n} [1]");
    assert_refused(&one, 1, " One thing.\n", " One thing.");
    assert_refused(&one, 1, " - One", " -");
    assert_refused(&one, 1, " Name\tUse", " Name");
    assert_refused(&one, 1, " term\n", " term");
    assert_refused(&one, 1, " Here", " ");
    assert_refused(&one, 1, " stop. [", " stop. ");
    assert_refused(&one, 1, " }", " "); /* no words */
}

static void long_code_is_copied_by_lines(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_put_text(&text, "first line\n  second line\n");
    while (text.size < 500)
        buf_put_text(&text, "0123456789\n");
    struct block code = {.kind = BLOCK_CODE, .text = buf_slice(&text)};
    struct copying_passage one = whole(&code, 1);
    assert_answer(&one, 1, " second line [1] first line [1]");
    assert_refused(&one, 1, " first line\n", " first line");
    buf_free(&text);
}

/* A sentence that begins there is copied to its end, and nothing behind it. */
static void sentences_begin_where_they_may(void **state)
{
    (void)state;
    static const struct block blocks[] = {
        BLOCK(PARAGRAPH, "Hidden."),
        BLOCK(PARAGRAPH, "Left out. Cut: then shown. Whole."),
        BLOCK(PARAGRAPH, "Begun; then cut. Left off."),
        BLOCK(PARAGRAPH, "Hidden too."),
    };
    struct copying_passage one = {blocks, 1, 2, 15, 6};
    assert_answer(&one, 1, " Whole. [1]");
    assert_answer(&one, 1, " Cut: then shown. [1]");
    assert_answer(&one, 1, " Begun; then cut. [1]");
    assert_refused(&one, 1, " Begun; then cut. Left", " Begun; then cut. ");
    static const char *const hidden[] = {" Hidden", " Left", " then"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        assert_refused(&one, 1, hidden[i], " ");
}

static void long_sentences_are_not_begun(void **state)
{
    (void)state;
    char text[600];
    struct block block = {.kind = BLOCK_PARAGRAPH, .text = {text, 0}};
    for (size_t words = 94; words < 98; words++) {
        int size = snprintf(text, sizeof text, "It is few.");
        for (size_t i = 0; i < words; i++)
            size += snprintf(text + size, sizeof text - (size_t)size, " Word");
        size += snprintf(text + size, sizeof text - (size_t)size,
                         ". It is the end.");
        block.text.size = (size_t)size;
        struct copying_passage one = whole(&block, 1);
        assert_answer(&one, 1, " It is few. [1]");
        assert_answer(&one, 1, " It is the end. [1]");
        struct copying *copying = copying_open(&one, 1);
        bool begins = 5 * words <= 480; /* its space is the period */
        assert_int_equal(copying_allows(copying, slice_of(" Word")), begins);
        copying_close(copying);
    }
}

/* "see [1]" would be read as a claim and its citation. */
static void what_looks_like_a_citation_is_left_out(void **state)
{
    (void)state;
    static const struct block blocks[] = {
        BLOCK(PARAGRAPH, "Doe says so [1] and more. It is long."),
        BLOCK(PARAGRAPH, "Doe has a[1] and [2] things."),
        BLOCK(PARAGRAPH, "[1]")};
    struct copying_passage both[] = {whole(blocks, 3), whole(cable, 1)};
    assert_refused(both, 1, " Doe says", " Doe ");
    assert_refused(both, 1, " It is", " ");
    assert_answer(both, 1, " Doe has a[1] and [2] things. [1]");
    assert_refused(both, 2, " Doe", " "); /* there are two passages now */
    assert_answer(both, 2, " It is red. [2]");
    assert_false(cite_has_marker(slice_of("a[1] b(x)[1] [0] [3] [12 [x]"), 2));
    assert_true(cite_has_marker(slice_of("[2]"), 2));
    assert_true(cite_has_marker(slice_of("\xC3\xA9 \"[1]"), 2));
}

/* Tokens may be parts of characters. */
static void characters_may_come_in_parts(void **state)
{
    (void)state;
    static const struct block blocks[] = {
        BLOCK(PARAGRAPH, "\xC3\xA9t\xC3\xA9 \xE2\x82\xAC 5. \xC3\xA8re.")};
    struct copying_passage one = whole(blocks, 1);
    assert_answer(&one, 1, " \xC3\xA9t\xC3\xA9 \xE2\x82\xAC 5. [1]");
    struct copying *copying = open_blocks(blocks, 1);
    assert_true(copying_allows(copying, slice_of(" \xC3")));
    assert_false(copying_allows(copying, slice_of(" \xA9")));
    copying_take(copying, slice_of(" \xC3"));
    assert_true(copying_allows(copying, slice_of("\xA9t\xC3")));
    assert_true(copying_allows(copying, slice_of("\xA8")));
    assert_false(copying_allows(copying, slice_of("\xAA")));
    assert_false(copying_allows(copying, slice_of("\xA8t")));
    copying_close(copying);
}

/* Asking changes nothing, and what is not allowed is not taken. */
static void what_is_refused_leaves_no_trace(void **state)
{
    (void)state;
    struct copying *copying = open_blocks(lamp, 2);
    copying_take(copying, slice_of(" The lamp"));
    for (int i = 0; i < 2; i++) {
        assert_true(copying_allows(copying, slice_of(" is l")));
        assert_false(copying_allows(copying, slice_of(" was")));
        assert_false(copying_allows(copying, slice_of("")));
        assert_false(copying_allows(copying, (struct slice){"\0", 1}));
        copying_take(copying, slice_of(" was"));
        copying_take(copying, slice_of(""));
    }
    copying_take(copying, slice_of(" is light. [1]"));
    assert_true(copying_may_end(copying));
    copying_close(copying);
    copying_close(NULL);
}

/* Whatever may be written, drawn byte by byte, is verified where it is cited. */
static void all_that_may_be_written_is_verified(void **state)
{
    (void)state;
    static const struct block blocks[] = {
        BLOCK(PARAGRAPH,
              ".NET is old. \"Quoted.\" (So.) e.g. this? -x. 1.5 no"),
        BLOCK(LIST, "- a\n- b c. D\n  1. a"),
        BLOCK(CODE, "a = b\n\tc = d\n  \n(a)"),
        BLOCK(TABLE, "a\tb. C\n\t a\t..."),
        BLOCK(PARAGRAPH, "see [1]. a"),
        BLOCK(PARAGRAPH, "")};
    struct copying_passage both[] = {whole(blocks, 6), whole(cable, 1)};
    const struct cite_source sources[] = {{.blocks = blocks, .count = 6},
                                          {.blocks = cable, .count = 1}};
    uint64_t seed = 7;
    size_t answers = 0;
    for (int i = 0; i < 2000; i++) {
        struct copying *copying = copying_open(both, 2);
        struct cite_reader reader = {.sources = 2};
        struct cites cites;
        struct buf text = {0};
        while (text.size < 400 &&
               (!copying_may_end(copying) || unit_below(&seed, 2))) {
            char byte[256];
            size_t count = 0;
            for (int b = 0; b < 256; b++) {
                byte[count] = (char)b;
                count +=
                    copying_allows(copying, (struct slice){&byte[count], 1});
            }
            if (!count)
                break;
            struct slice one = {&byte[unit_below(&seed, (uint32_t)count)], 1};
            copying_take(copying, one);
            cite_read(&reader, one, &text);
        }
        bool whole = copying_may_end(copying);
        cite_read_end(&reader, &text);
        cites_check(&reader, buf_slice(&text), sources, &cites);
        bool none = slice_is(buf_slice(&text), "Not in these passages.");
        answers += whole && !none;
        for (size_t k = 0; k < cites.count; k++)
            if (cites.items[k].status != CITE_VERIFIED)
                fail_msg("'%s': claim %zu is %s", text.data, k + 1,
                         cite_status_name(cites.items[k].status));
        if (whole && !none)
            assert_true(cites.count > 0 && !cites.unmarked);
        cites_free(&cites);
        cite_reader_free(&reader);
        buf_free(&text);
        copying_close(copying);
    }
    assert_true(answers > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sentences_are_not_begun),
        cmocka_unit_test(what_can_only_go_on_is_certain),
        cmocka_unit_test(an_abstention_is_told_from_spans),
        cmocka_unit_test(what_is_copied_is_cited),
        cmocka_unit_test(a_citation_has_the_number_of_its_passage),
        cmocka_unit_test(beginnings_that_are_alike_stay_open),
        cmocka_unit_test(that_there_is_no_answer_is_all_that_is_said),
        cmocka_unit_test(nothing_is_said_twice),
        cmocka_unit_test(a_sentence_may_stand_often),
        cmocka_unit_test(spans_stay_in_their_line),
        cmocka_unit_test(long_code_is_copied_by_lines),
        cmocka_unit_test(sentences_begin_where_they_may),
        cmocka_unit_test(what_looks_like_a_citation_is_left_out),
        cmocka_unit_test(characters_may_come_in_parts),
        cmocka_unit_test(what_is_refused_leaves_no_trace),
        cmocka_unit_test(all_that_may_be_written_is_verified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
