#include "tests/unit/support/unit.h"

#include <string.h>

#include "daemon/answer/cite.h"

/* ---- Markers ---- */

/* Reads `text` in pieces of `piece` bytes; NUL-terminated. */
static char *read_in_pieces(struct cite_reader *reader, const char *text,
                            size_t piece)
{
    static char result[4096];
    struct buf out = {0};
    size_t size = strlen(text);
    for (size_t at = 0; at < size; at += piece)
        cite_read(
            reader,
            (struct slice){text + at, size - at < piece ? size - at : piece},
            &out);
    cite_read_end(reader, &out);
    snprintf(result, sizeof result, "%s", out.size ? out.data : "");
    assert_int_equal(reader->put, out.size);
    buf_free(&out);
    return result;
}

static void markers_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reads;
        size_t count;
    } cases[] = {
        {" A span. [2]", "A span. [1]", 1},
        {"One [3] two [1]", "One [1] two [2]", 2},
        {"One [3].\n\nTwo [3]. ", "One [1].\n\nTwo [2].", 2},
        {"use a[1] and f(x)[1] or a[1][2] [2]",
         "use a[1] and f(x)[1] or a[1][2] [1]", 1},
        {"see [4] or [0] or [x] or [12 [1]", "see [4] or [0] or [x] or [12 [1]",
         1},
        {"[1] claim before its number", "claim before its number", 0},
        {"twice [1][2] over", "twice [1] over", 1},
        {"twice [1] [2] over", "twice [1] over", 1},
        {"a stop [1]. [2]", "a stop [1].", 1},
        {"\"quoted\"[2]", "\"quoted\" [1]", 1},
        {"unfinished [2", "unfinished [2", 0},
        {"two  spaces \n [1]", "two  spaces [1]", 1},
        {"", "", 0},
        {" \n ", "", 0},
        {"[[1]] x [1]", "[] x [1]", 1},
        {"d\xC3\xA9j\xC3\xA0 [1] \xE2\x82\xAC",
         "d\xC3\xA9j\xC3\xA0 [1] \xE2\x82\xAC", 1},
        {"big [0000001] [99999999999999999999] [1]",
         "big [0000001] [99999999999999999999] [1]", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t piece = 1; piece < 9; piece++) {
            struct cite_reader reader = {.sources = 3};
            assert_string_equal(read_in_pieces(&reader, cases[i].text, piece),
                                cases[i].reads);
            assert_int_equal(reader.count, cases[i].count);
            cite_reader_free(&reader);
        }
}

static void pieces_do_not_matter(void **state)
{
    (void)state;
    static const char signs[] = "  [[[]]]112349ab.(\n\xC3\xA9";
    uint64_t seed = 11;
    for (int turn = 0; turn < 3000; turn++) {
        char text[40], whole[4096];
        size_t size = unit_below(&seed, sizeof text - 1);
        for (size_t i = 0; i < size; i++)
            text[i] = signs[unit_below(&seed, sizeof signs - 1)];
        text[size] = '\0';
        struct cite_reader one = {.sources = 3}, many = {.sources = 3};
        snprintf(whole, sizeof whole, "%s",
                 read_in_pieces(&one, text, sizeof text));
        const char *pieced =
            read_in_pieces(&many, text, 1 + unit_below(&seed, 5));
        /* A character in two pieces comes as two bytes that are none. */
        if (!memchr(text, '\xC3', size) && !memchr(text, '\xA9', size)) {
            assert_string_equal(pieced, whole);
            assert_int_equal(many.count, one.count);
        }
        for (size_t i = 0; i < one.count; i++) {
            char marker[32];
            snprintf(marker, sizeof marker, " [%zu]", i + 1);
            assert_int_equal(one.marks[i].end - one.marks[i].at,
                             strlen(marker));
            assert_memory_equal(whole + one.marks[i].at, marker,
                                strlen(marker));
            assert_in_range(one.marks[i].named, 1, 3);
        }
        cite_reader_free(&one);
        cite_reader_free(&many);
    }
}

static void text_is_held_back_no_longer_than_needed(void **state)
{
    (void)state;
    struct cite_reader reader = {.sources = 2};
    struct buf out = {0};
    cite_read(&reader, slice_of("A word"), &out);
    assert_string_equal(out.data, "A word");
    cite_read(&reader, slice_of(" [1"), &out);
    assert_string_equal(out.data, "A word");
    cite_read(&reader, slice_of("2 apples"), &out);
    assert_string_equal(out.data, "A word [12 apples");
    cite_read(&reader, slice_of(" [2]"), &out);
    assert_string_equal(out.data, "A word [12 apples [1]");
    assert_int_equal(reader.marks[0].named, 2);
    assert_int_equal(reader.marks[0].at, strlen("A word [12 apples"));
    assert_int_equal(reader.marks[0].end, out.size);
    buf_free(&out);
    cite_reader_free(&reader);
}

/* ---- Claims ---- */

#define BLOCK(words)                                                           \
    {                                                                          \
        .kind = BLOCK_PARAGRAPH, .text = { words, sizeof words - 1 }           \
    }

static const struct block birds[] = {
    BLOCK("The cassowary is a large bird. It lays green eggs, and it must not "
          "be fed by visitors of the park."),
    {.kind = BLOCK_CODE,
     .text = {"for (i = 0;  i < n; i++)\n    a[i] = b[1];", 42}},
};
static const struct block fish[] = {
    BLOCK("The coelacanth is old. SHOW all; prints everything."),
};
static const struct cite_source sources[] = {{.blocks = birds, .count = 2},
                                             {.blocks = fish, .count = 1}};

struct checked {
    struct cite_reader reader;
    struct buf answer, text;
    struct cites cites;
};

static struct checked check(const char *written)
{
    struct checked c = {.reader.sources = 2};
    cite_read(&c.reader, slice_of(written), &c.answer);
    cite_read_end(&c.reader, &c.answer);
    cites_check(&c.reader, buf_slice(&c.answer), sources, &c.cites);
    cites_text(&c.cites, buf_slice(&c.answer), &c.text);
    return c;
}

static void checked_free(struct checked *c)
{
    cite_reader_free(&c->reader);
    buf_free(&c->answer);
    buf_free(&c->text);
    cites_free(&c->cites);
}

static void assert_cite(const char *written, int status, size_t source,
                        const char *place)
{
    struct checked c = check(written);
    assert_int_equal(c.cites.count, 1);
    assert_false(c.cites.unmarked);
    assert_string_equal(cite_status_name(c.cites.items[0].status),
                        cite_status_name(status));
    assert_int_equal(c.cites.items[0].source, source);
    if (status != CITE_UNVERIFIED) {
        struct slice found = c.cites.items[0].place;
        assert_int_equal(found.size, strlen(place));
        assert_memory_equal(found.data, place, found.size);
    }
    checked_free(&c);
}

static void claims_are_looked_for(void **state)
{
    (void)state;
    assert_cite(" It lays green eggs [1]", CITE_VERIFIED, 0,
                "It lays green eggs");
    assert_cite(" It lays\n  green eggs. [1]", CITE_VERIFIED, 0,
                "It lays green eggs");
    assert_cite(" it LAYS\n  green eggs. [1]", CITE_REPAIRED, 0,
                "It lays green eggs");
    assert_cite("for (i = 0; i < n; i++) a[i] = b[1]; [1]", CITE_VERIFIED, 0,
                "for (i = 0;  i < n; i++)\n    a[i] = b[1];");
    /* In another passage than the one that is named. */
    assert_cite("The coelacanth is old. [1]", CITE_REPAIRED, 1,
                "The coelacanth is old.");
    /* Nearly: the source's own sentence is quoted. */
    assert_cite("It lays green eggs, and it must not be fed by visitors to "
                "the park. [1]",
                CITE_REPAIRED, 0,
                "It lays green eggs, and it must not be fed by visitors of the "
                "park.");
    /* Over two blocks: the quote is of the one that holds most of it. */
    assert_cite("of the park. for (i = 0; i < n; i++) a[i] [2]", CITE_REPAIRED,
                0, "for (i = 0;  i < n; i++)\n    a[i]");
    assert_cite("It lays white stones [1]", CITE_UNVERIFIED, 0, NULL);
    assert_cite("_ [1]", CITE_UNVERIFIED, 0, NULL);
    /* Parts of words are not words. */
    assert_cite("he cassowary is a lar [1]", CITE_UNVERIFIED, 0, NULL);
    assert_cite("old. SHOW all [2]", CITE_VERIFIED, 1, "old. SHOW all");
}

static void parts_of_words_are_not_found(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
        bool found;
    } cases[] = {
        {"A value of -1 disables it.", "1 disables it", false},
        {"A value of -1 disables it.", "-1 disables it", true},
        {"At most 1.5 MB are kept.", "5 MB are kept", false},
        {"At most 1.5 MB are kept.", "At most 1", false},
        {"At most 1,500 are kept.", "At most 1", false},
        {"At most 1.", "At most 1", true},
        {"At most 1, or 2.", "At most 1", true},
        {"Only non-negative values count.", "negative values count", false},
        {"The files are read-only.", "The files are read", false},
        {"The files are read-only.", "The files are read-only", true},
        {"You can't delete it.", "You can", false},
        {"You can\xE2\x80\x99t delete it.", "You can", false},
        {"It's called 'apple'.", "apple", true},
        {"the users' files", "the users", true},
        {"- first, then-", "first, then", true},
        {"\xC3\xA9-b c", "b c", false},
        {"A value of \xE2\x88\x92"
         "1 disables it.",
         "1 disables it", false},
        {"Numbers 3\xE2\x80\x90"
         "4 are kept.",
         "4 are kept", false},
        {"Numbers 3\xE2\x80\x91"
         "4 are kept.",
         "Numbers 3", false},
        {"a _name of its own", "name of", false},
        {"a text", "", false},
        {"a (b) c", "(b)", true},
        {"version 15.", "version 15", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice place;
        if (cite_find(slice_of(cases[i].text), slice_of(cases[i].wanted), false,
                      &place) != cases[i].found)
            fail_msg("'%s' in '%s'", cases[i].wanted, cases[i].text);
    }
}

static void what_is_nearly_right_gives_way_to_the_source(void **state)
{
    (void)state;
    struct checked c = check("It lays green eggs and it must not be fed by "
                             "visitors to the park. [1] "
                             "The coelacanth is old [2]. show all [2]");
    assert_string_equal(c.text.data,
                        "It lays green eggs, and it must not be fed by "
                        "visitors of the park. [1] The coelacanth is old [2]. "
                        "SHOW all [3]");
    assert_false(c.cites.items[0].exact);
    assert_true(c.cites.items[1].exact);
    assert_false(c.cites.unmarked);
    checked_free(&c);
}

static void words_without_a_marker_are_seen(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool unmarked;
    } cases[] = {
        {"The coelacanth is old [2]. And it flies.", true},
        {"The coelacanth is old [2] ...", false},
        {"The coelacanth is old", true},
        {"The coelacanth is old [7]", true},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct checked c = check(cases[i].text);
        assert_int_equal(c.cites.unmarked, cases[i].unmarked);
        checked_free(&c);
    }
}

/* The first, with a space before it, is shorter; one between holds nothing. */
static void claims_over_blocks_are_quoted_from_the_longest(void **state)
{
    (void)state;
    static const struct block blocks[] = {
        BLOCK("Nothing of it. A heron"), BLOCK("  "), BLOCK("..."),
        BLOCK("stands in the shallow water"), BLOCK("and waits. Nothing else")};
    const struct cite_source source = {.blocks = blocks, .count = 5};
    struct cite cite;
    cite_check_claim(
        slice_of("A heron ... stands in the shallow water and waits"), &source,
        &cite);
    assert_int_equal(cite.status, CITE_REPAIRED);
    assert_ptr_equal(cite.block, &blocks[3]);
    assert_int_equal(cite.place.size, strlen("stands in the shallow water"));
    cite_check_claim(slice_of("A stork flies over it"), &source, &cite);
    assert_int_equal(cite.status, CITE_UNVERIFIED);
    cite_check_claim(slice_of("..., ;"), &source, &cite);
    assert_int_equal(cite.status, CITE_UNVERIFIED);
    cite_check_claim(slice_of(".,"), &source, &cite);
    assert_int_equal(cite.status, CITE_UNVERIFIED);
}

/* What was changed turns the meaning round, so it is no slip that a repair may mend; the
 * nearest is told instead. */
static void another_meaning_is_not_repaired(void **state)
{
    (void)state;
    static const struct {
        const char *said, *stands;
        bool repaired;
    } cases[] = {
        {"The valve must be closed after 30 seconds of rest in the tank",
         "The valve must be closed after 30 seconds of rest in a tank.", true},
        {"the valve must be closed after 30 seconds of rest",
         "The valve must be closed after 30 seconds of rest.", true},
        {"The valve must be closed after 60 seconds of rest",
         "The valve must be closed after 30 seconds of rest.", false},
        {"The valve must be closed after 30 minutes of rest",
         "The valve must be closed after 30 seconds of rest.", false},
        {"The valve must be closed after two days of rest",
         "The valve must be closed after three days of rest.", false},
        {"The buffer takes 16 Mb of the memory",
         "The buffer takes 16 MB of "
         "the memory.",
         false},
        {"The valve must not be closed after a day of rest",
         "The valve must be closed after a day of rest.", false},
        {"The valve can be closed after a day of rest",
         "The valve can't be closed after a day of rest.", false},
        {"The valve isn't closed after a day of its rest",
         "The valve isn\xE2\x80\x99t closed after a day of rest.", true},
        {"The valve is **not** closed after a day of its rest",
         "The valve is not closed after a day of rest.", true},
        {"It never loses what was written to the disk",
         "It loses what was written to the disk.", false},
        {"The pump is not started and the valve is closed by hand",
         "The pump is started and the valve is not closed by hand.", false},
        {"The option -C makes it print every line twice",
         "The option -c makes it print every line twice.", false},
        {"With --all it prints every line of the file",
         "With --any it prints every line of the file.", false},
        {"Set max_size to have larger files kept on the disk",
         "Set min_size to have larger files kept on the disk.", false},
        {"A LEFT join has the rows of the first table",
         "A RIGHT join has the rows of the first table.", false},
        {"The temperature increases while the pump is running",
         "The temperature decreases while the pump is running.", false},
        {"Temperatures of -5 are measured by the sensor",
         "Temperatures of 5 are measured by the sensor.", false},
        {"The folder is named by the option or by the variable; there is "
         "default",
         "The folder is named by the option or by the variable; there is no "
         "default.",
         false},
        {"It does lose what was written. What it keeps is all that was "
         "flushed before",
         "It does not lose what was written. What it keeps is all that was "
         "flushed before.",
         false},
        {"It does not lose what was written. What it keeps is all which was "
         "flushed before",
         "It does not lose what was written. What it keeps is all that was "
         "flushed before.",
         true},
        {"Versions \xE2\x80\x9C"
         "1.5\xE2\x80\x9D and later of it print every line",
         "Versions \"1.5\" and later print every line.", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct block block = {.kind = BLOCK_PARAGRAPH,
                              .text = slice_of(cases[i].stands)};
        const struct cite_source source = {.blocks = &block, .count = 1};
        struct cite cite;
        cite_check_claim(slice_of(cases[i].said), &source, &cite);
        if (cite.status !=
                (cases[i].repaired ? CITE_REPAIRED : CITE_UNVERIFIED) ||
            cite.block != &block)
            fail_msg("%s: %s", cases[i].said, cite_status_name(cite.status));
    }
}

/* Of two rows that are as like the claim, the one that says the same; not one that is
 * less like it. */
static void the_nearest_is_quoted_if_it_agrees(void **state)
{
    (void)state;
    static const struct block rows[] = {
        BLOCK("The red valve holds a load of 20 tons at any time."),
        BLOCK("The old valve holds a load of 30 tons at any time."),
        BLOCK("The valve holds a load of 40 tons at any time, it says.")};
    const struct cite_source source = {.blocks = rows, .count = 3};
    struct cite cite;
    cite_check_claim(slice_of("The red valve holds a load of 30 tons any time"),
                     &source, &cite);
    assert_int_equal(cite.status, CITE_REPAIRED);
    assert_ptr_equal(cite.block, &rows[1]);
    cite_check_claim(
        slice_of("The red valve holds a load of 40 tons at any time"), &source,
        &cite);
    assert_int_equal(cite.status, CITE_UNVERIFIED);
    assert_ptr_equal(cite.block, &rows[0]);
}

/* Of a list or a definition; a paragraph may begin with a number. */
static void marks_of_items_are_not_quoted(void **state)
{
    (void)state;
    static const struct {
        int kind;
        const char *place, *unmarked;
    } cases[] = {
        {BLOCK_PARAGRAPH, "12. One", "12. One"},
        {BLOCK_LIST, "12. One", "One"},
        {BLOCK_LIST, "- One", "One"},
        {BLOCK_LIST, "-1 is less", "-1 is less"},
        {BLOCK_LIST, "12 apples", "12 apples"},
        {BLOCK_LIST, "1.5 of it", "1.5 of it"},
        {BLOCK_LIST, "12", "12"},
        {BLOCK_LIST, "-", "-"},
        {BLOCK_DEFINITION, "- One", "One"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct block block = {.kind = (uint8_t)cases[i].kind};
        const struct cite cite = {.block = &block,
                                  .place = slice_of(cases[i].place)};
        if (!slice_is(cite_unmarked(&cite), cases[i].unmarked))
            fail_msg("%s", cases[i].place);
    }
}

static void the_first_claims_are_checked(void **state)
{
    (void)state;
    enum { CLAIMS = 70, MOST = 64 };
    struct buf text = {0};
    for (int i = 0; i < CLAIMS; i++)
        buf_put_text(&text, "The coelacanth is old. [2] ");
    struct checked c = check(text.data);
    assert_int_equal(c.cites.count, CLAIMS);
    for (int i = 0; i < CLAIMS; i++)
        assert_int_equal(c.cites.items[i].status,
                         i < MOST ? CITE_VERIFIED : CITE_UNVERIFIED);
    checked_free(&c);
    buf_free(&text);
}

static void long_claims_cost_no_more_than_they_may(void **state)
{
    (void)state;
    struct buf text = {0};
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "word%d ", i);
    buf_put_text(&text, "[1]");
    struct checked c = check(text.data);
    assert_int_equal(c.cites.count, 1);
    assert_int_equal(c.cites.items[0].status, CITE_UNVERIFIED);
    checked_free(&c);
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markers_are_counted),
        cmocka_unit_test(pieces_do_not_matter),
        cmocka_unit_test(text_is_held_back_no_longer_than_needed),
        cmocka_unit_test(claims_are_looked_for),
        cmocka_unit_test(parts_of_words_are_not_found),
        cmocka_unit_test(what_is_nearly_right_gives_way_to_the_source),
        cmocka_unit_test(words_without_a_marker_are_seen),
        cmocka_unit_test(claims_over_blocks_are_quoted_from_the_longest),
        cmocka_unit_test(another_meaning_is_not_repaired),
        cmocka_unit_test(the_nearest_is_quoted_if_it_agrees),
        cmocka_unit_test(marks_of_items_are_not_quoted),
        cmocka_unit_test(the_first_claims_are_checked),
        cmocka_unit_test(long_claims_cost_no_more_than_they_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
