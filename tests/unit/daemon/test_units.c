/* Units: what is cut out of a manual around a passage. */
#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/answer/unit_tables.h"
#include "daemon/answer/units.h"

struct given {
    int kind;
    const char *text;
};

enum { MAX_BLOCKS = 20 };

static struct node node_of(const struct given *given)
{
    static struct block blocks[MAX_BLOCKS];
    struct node node = {.blocks = blocks};
    for (; given[node.block_count].text; node.block_count++)
        blocks[node.block_count] =
            (struct block){.kind = given[node.block_count].kind,
                           .text = slice_of(given[node.block_count].text)};
    return node;
}

/* What stands around `wanted` in one of the blocks: the units with a line between,
 * "~" where one is cut.  Valid until the next call. */
static const char *around(const struct given *given, const char *wanted)
{
    static struct buf out;
    struct node node = node_of(given);
    struct unit units[UNITS_AROUND];
    size_t count = 0;
    buf_clear(&out);
    for (uint32_t b = 0; b < node.block_count && !count; b++) {
        const char *at = strstr(given[b].text, wanted);
        if (at)
            count = units_around(&node, b, (size_t)(at - given[b].text),
                                 strlen(wanted), units);
    }
    for (size_t i = 0; i < count; i++) {
        buf_put_text(&out, i ? "\n|" : "");
        buf_put_text(&out, units[i].cut & CUT_BEGIN ? "~" : "");
        buf_put_slice(&out, units[i].text);
        buf_put_text(&out, units[i].cut & CUT_END ? "~" : "");
    }
    return out.data;
}

static void tables_are_found_by_their_captions(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH, "Table 1: Sieves"},
        {BLOCK_TABLE, "R1\t1"},
        {BLOCK_PARAGRAPH, "Table 2 lists more of them."},
        {BLOCK_PARAGRAPH, "Table 2 Cords"},
        {BLOCK_TABLE, "K1\t1"},
        {BLOCK_PARAGRAPH, "They are cut in May."},
        {BLOCK_PARAGRAPH, "Table 3: Reeds"},
        {BLOCK_PARAGRAPH, "Table 3: Reeds"},
        {BLOCK_TABLE, "S1\t1"},
        {0, NULL}};
    struct node node = node_of(given);
    assert_int_equal(table_numbered(&node, slice_of("1")), 1);
    assert_int_equal(table_numbered(&node, slice_of("2")), 4);
    assert_int_equal(table_numbered(&node, slice_of("3")), 8);
    assert_int_equal(table_numbered(&node, slice_of("4")), TREE_NONE);
}

static void references_to_tables_are_read(void **state)
{
    (void)state;
    struct slice text = slice_of(
        "See Tbl. 6.1, table A-2 of this manual, Table 3 of RFC 959, tab 4.");
    size_t at = 0;
    assert_true(slice_is(table_reference(text, &at), "6.1"));
    assert_true(slice_is(table_reference(text, &at), "A-2"));
    assert_true(slice_is(table_reference(text, &at), "4"));
    assert_int_equal(table_reference(text, &at).size, 0);
}

static void steps_follow_what_stands_above_them(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH, "A stone that is worn can be turned round."},
        {BLOCK_LIST, "1. Stop the mill.\n2. Lift the stone."},
        {BLOCK_PARAGRAPH, "A mill has two stones."},
        {BLOCK_LIST, "- The runner turns.\n- The other does not."},
        {0, NULL}};
    assert_string_equal(around(given, "worn"),
                        "A stone that is worn can be turned round.\n"
                        "|1. Stop the mill.\n2. Lift the stone.");
    assert_string_equal(around(given, "two stones"), given[2].text);
}

static void a_sentence_that_goes_on_is_followed(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH, "Mills grind. A mill has two stones of granite."},
        {BLOCK_PARAGRAPH,
         "Note that the order of stones is significant. For example, the call"},
        {BLOCK_CODE, "grind > flour"},
        {BLOCK_PARAGRAPH, "grinds both kinds of grain at once, while the call"},
        {BLOCK_CODE, "flour > grind"},
        {BLOCK_PARAGRAPH, "grinds but one of them, since the other is flour."},
        {BLOCK_PARAGRAPH, "millers know this."},
        {0, NULL}};
    static const char all[] =
        "Note that the order of stones is significant. For example, the call\n"
        "|grind > flour\n"
        "|grinds both kinds of grain at once, while the call\n"
        "|flour > grind\n"
        "|grinds but one of them, since the other is flour.";
    assert_string_equal(around(given, "order of stones"), all);
    assert_string_equal(around(given, "both kinds"), all);
    assert_string_equal(around(given, "but one"), all);
    assert_string_equal(around(given, "millers"), "millers know this.");
    assert_string_equal(around(given, "two stones"), given[0].text);

    static const struct given parted[] = {
        {BLOCK_PARAGRAPH, "If some grain is long, and more so where it is wet, "
                          "think about the setting \"stone tunnel\","},
        {BLOCK_PARAGRAPH, "which overrides the others."},
        {0, NULL}};
    static const char *const wanted[] = {"some grain", "others."};
    for (size_t i = 0; i < 2; i++)
        assert_string_equal(around(parted, wanted[i]),
                            "If some grain is long, and more so where it is "
                            "wet, think about the setting \"stone tunnel\",\n"
                            "|which overrides the others.");

    static const struct given equal[] = {
        {BLOCK_PARAGRAPH, "Wheels may be named by a star of their own. Thus:"},
        {BLOCK_CODE, "turn (*)"},
        {BLOCK_PARAGRAPH, "or"},
        {BLOCK_CODE, "turn (+)"},
        {BLOCK_PARAGRAPH, "is equivalent to"},
        {BLOCK_CODE, "turn all"},
        {BLOCK_PARAGRAPH, "Turns accept no other names."},
        {0, NULL}};
    assert_string_equal(around(equal, "a star"),
                        "Wheels may be named by a star of their own. Thus:\n"
                        "|turn (*)\n|or\n|turn (+)\n|is equivalent to\n"
                        "|turn all");

    static const struct given formula[] = {
        {BLOCK_PARAGRAPH, "Grain is bought by the bushel, and its weight is a "
                          "figure of the mill that is given in"},
        {BLOCK_PARAGRAPH, "What = (w - m) / n"},
        {BLOCK_PARAGRAPH, "What follows is another matter."},
        {0, NULL}};
    assert_string_equal(around(formula, "bushel"),
                        "Grain is bought by the bushel, and its weight is a "
                        "figure of the mill that is given in\n"
                        "|What = (w - m) / n");
}

static void a_lead_in_takes_what_it_leads_in_to(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH, "Q: How is the mill of the yard set?"},
        {BLOCK_QUOTE, "A: The following sets it:"},
        {BLOCK_CODE, "set mill"},
        {BLOCK_PARAGRAPH, "mill accepts the following options of its own:"},
        {BLOCK_DEFINITION, "-a\n  Grinds all."},
        {BLOCK_DEFINITION, "-p\n  Prints. There are kinds:\n  Those that are."},
        {BLOCK_CODE, "KIND"},
        {BLOCK_PARAGRAPH, "A sentence that ends."},
        {BLOCK_PARAGRAPH, "And nothing else is led in to here:"},
        {0, NULL}};
    assert_string_equal(around(given, "How is"),
                        "Q: How is the mill of the yard set?\n"
                        "|A: The following sets it:\n|set mill");
    assert_string_equal(around(given, "following sets"),
                        "A: The following sets it:\n|set mill");
    assert_string_equal(around(given, "mill accepts"),
                        "mill accepts the following options of its own:\n"
                        "|-a\n  Grinds all.\n"
                        "|-p\n  Prints. There are kinds:\n  Those that are.");
    assert_string_equal(around(given, "There are kinds"),
                        "-p\n  Prints. There are kinds:\n  Those that are.");
    assert_string_equal(around(given, "A sentence"), "A sentence that ends.");
    assert_string_equal(around(given, "nothing else"),
                        "And nothing else is led in to here:~");
}

static void labels_and_questions_in_a_row_lead_nowhere(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH, "Setting mills"},
        {BLOCK_PARAGRAPH, "Setting stones"},
        {BLOCK_PARAGRAPH, "Setting wheels"},
        {BLOCK_PARAGRAPH, "1. Does it grind?"},
        {BLOCK_PARAGRAPH, "2. Does it turn?"},
        {BLOCK_PARAGRAPH, "Table 1. What a mill has of stones and wheels"},
        {BLOCK_TABLE, "stone\t2\nwheel\t1"},
        {BLOCK_PARAGRAPH,
         "Time that is spent in grinding, in milliseconds, while "
         "the stones turn (and while they turn slowly)"},
        {BLOCK_PARAGRAPH, "turns bigint"},
        {0, NULL}};
    assert_string_equal(around(given, "Setting mills"),
                        "Setting mills\n|Setting stones");
    assert_string_equal(around(given, "grind"), "1. Does it grind?");
    assert_string_equal(around(given, "wheel\t1"),
                        "Table 1. What a mill has of stones and wheels\n"
                        "|wheel\t1");
    assert_string_equal(around(given, "Time that"), given[7].text);
}

static struct slice repeated(const char *text, size_t times)
{
    static struct buf out;
    buf_clear(&out);
    for (size_t i = 0; i < times; i++)
        buf_put_text(&out, text);
    return buf_slice(&out);
}

static void what_is_led_in_to_may_be_cut(void **state)
{
    (void)state;
    struct slice list = repeated("- An item of a list that is long.\n", 60);
    const struct given given[] = {{BLOCK_PARAGRAPH, "These are the items:"},
                                  {BLOCK_LIST, list.data},
                                  {0, NULL}};
    const char *found = around(given, "These are");
    assert_memory_equal(found, "These are the items:\n|- An item", 31);
    assert_string_equal(found + strlen(found) - 10, " is long.~");
    assert_true(strlen(found) < UNIT_PROSE + 40);
}

static void what_is_announced_without_a_colon_follows(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH, "Stones are of the kinds in the following table. "
                          "All of them are of granite."},
        {BLOCK_PARAGRAPH, "Stones @ Mill."},
        {BLOCK_TABLE, "7\t6\nS\tT"},
        {BLOCK_TABLE, "bits\tname\n7\tSlow\n6\tTall"},
        {BLOCK_PARAGRAPH, "The dressing is described below."},
        {BLOCK_LIST, "- Lift.\n- Dress."},
        {BLOCK_PARAGRAPH, "The following applies to wheels. They are old."},
        {BLOCK_LIST, "- Oak.\n- Elm."},
        {BLOCK_PARAGRAPH, "The following wheels turn. They are old."},
        {BLOCK_TABLE, "wheel\t1"},
        {BLOCK_PARAGRAPH, "A wheel turns as the FOLLOWING table says."},
        {BLOCK_PARAGRAPH, "It is lost."},
        {BLOCK_TABLE, "1\t2"},
        {BLOCK_PARAGRAPH, "The following table was moved to another page."},
        {BLOCK_PARAGRAPH,
         "Nothing stands here but words that go on and on, "
         "until they end, which is never the case here, alas."},
        {BLOCK_TABLE, "3\t4"},
        {0, NULL}};
    assert_string_equal(around(given, "granite"),
                        "Stones are of the kinds in the following table. All "
                        "of them are of granite.\n"
                        "|Stones @ Mill.\n|7\t6\nS\tT\n"
                        "|bits\tname\n7\tSlow\n6\tTall");
    assert_string_equal(around(given, "dressing"),
                        "The dressing is described below.\n"
                        "|- Lift.\n- Dress.");
    assert_string_equal(around(given, "applies"), given[6].text);
    assert_string_equal(around(given, "wheels turn"),
                        "The following wheels turn. They are old.\n|wheel\t1");
    assert_string_equal(around(given, "FOLLOWING"),
                        "A wheel turns as the FOLLOWING table says.\n"
                        "|It is lost.\n|1\t2");
    assert_string_equal(around(given, "was moved"), given[13].text);

    struct slice code = repeated("turn stone; lift wheel;\n", 90);
    const struct given cut[] = {{BLOCK_PARAGRAPH, "See the listing below."},
                                {BLOCK_CODE, code.data},
                                {0, NULL}};
    assert_string_equal(around(cut, "listing"), cut[0].text);
    assert_string_equal(around(given, "go on"), given[14].text);

    struct slice table = repeated("A stone\tturns\n", 40);
    const struct given whole[] = {
        {BLOCK_PARAGRAPH, "Stones are in the following table."},
        {BLOCK_TABLE, table.data},
        {BLOCK_TABLE, "7\tSlow"},
        {0, NULL}};
    const char *found = around(whole, "Stones are");
    assert_memory_equal(found, "Stones are in the following table.\n|A", 37);
    assert_string_equal(found + strlen(found) - 6, "turns\n");
}

static struct unit within(int kind, const char *text, const char *wanted)
{
    const struct block block = {.kind = kind, .text = slice_of(text)};
    return unit_within(&block, (size_t)(strstr(text, wanted) - text),
                       strlen(wanted));
}

/* Of numbered items that are no steps, or of too many, the one. */
static void steps_stay_together(void **state)
{
    (void)state;
    static const char steps[] =
        "1. Stop the mill.\n2. Lift the stone:\n  - slowly\n3. Dress it.";
    struct unit unit = within(BLOCK_LIST, steps, "the stone");
    assert_true(slice_is(unit.text, steps));
    unit = within(BLOCK_LIST, "- Stop the mill.\n- Dress it.", "Dress");
    assert_true(slice_is(unit.text, "Dress it."));
    unit = within(BLOCK_LIST, "1. Stop the mill.", "Stop");
    assert_true(slice_is(unit.text, "Stop the mill."));
    unit = within(BLOCK_LIST, "3. Dress it.\n4. Lower it.", "Dress");
    assert_true(slice_is(unit.text, "Dress it."));
    struct buf many = {0};
    buf_put_text(&many, "1. Stop the mill.\n2. Dress it.\n");
    buf_put_slice(&many, repeated("3. Grind for a while.\n", 50));
    unit = within(BLOCK_LIST, many.data, "Dress");
    assert_true(slice_is(unit.text, "Dress it."));
    buf_free(&many);
}

static void a_long_sentence_is_whole_or_cut(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_put_text(&text, "One is short. The ");
    buf_put_slice(&text, repeated("words go on and ", 70));
    buf_put_text(&text, "end. Two.");
    struct unit unit = within(BLOCK_PARAGRAPH, text.data, "go on and words");
    assert_int_equal(unit.cut, 0);
    assert_memory_equal(unit.text.data, "The words go", 12);
    assert_true(unit.text.data[unit.text.size - 1] == '.');

    const char *from = strstr(text.data, "The words");
    unit = within(BLOCK_PARAGRAPH, from, ""); /* its beginning */
    assert_int_equal(unit.cut, 0);
    assert_int_equal(unit.text.size, strlen(from) - strlen(" Two."));

    buf_clear(&text);
    buf_put_slice(&text, repeated("words go on and ", 200));
    buf_put_text(&text, "end.");
    unit = within(BLOCK_PARAGRAPH, text.data, "words go on and words");
    assert_int_equal(unit.cut, CUT_END);
    buf_free(&text);
}

static void code_ends_with_its_statement_or_is_cut(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_put_text(&text, "open {\n\tgrind;\n\n\trest;\n};\n\n");
    buf_put_slice(&text, repeated("\n\nturn stone;", 150));
    struct unit unit = within(BLOCK_CODE, text.data, "grind;");
    assert_true(slice_is(unit.text, "open {\n\tgrind;\n\n\trest;\n};"));
    assert_int_equal(unit.cut, 0);

    buf_clear(&text);
    buf_put_text(&text, "zone {\n");
    buf_put_slice(&text, repeated("\ttype secondary stone;\n", 100));
    buf_put_text(&text, "};\n");
    unit = within(BLOCK_CODE, text.data, "zone {");
    assert_int_equal(unit.cut, CUT_END);
    assert_true(unit.text.size > 1000 && unit.text.size <= UNIT_CODE);

    buf_clear(&text);
    buf_put_slice(&text, repeated("a = 1\n", 200));
    buf_put_text(&text,
                 "raise Missing(\n    \"%s is missing.\" %\n    name\n)\n");
    buf_put_slice(&text, repeated("b = 2\n", 200));
    unit = within(BLOCK_CODE, text.data, "is missing.");
    assert_true(slice_is(
        unit.text, "raise Missing(\n    \"%s is missing.\" %\n    name\n)"));
    assert_int_equal(unit.cut, CUT_BEGIN | CUT_END);

    /* An item in a page of text. */
    buf_clear(&text);
    buf_put_slice(&text, repeated("  1..2  ==> [0x1]\n", 60));
    buf_put_text(&text,
                 "  pick  The stone that turns the least of all of them\n"
                 "        is taken from two that were picked by chance,\n"
                 "        which is enough.\n");
    buf_put_slice(&text, repeated("  1..2  ==> [0x1]\n", 60));
    unit = within(BLOCK_CODE, text.data, "turns the least");
    assert_memory_equal(unit.text.data, "  pick  The", 11);
    assert_memory_equal(unit.text.data + unit.text.size - 7, "enough.", 7);
    assert_int_equal(unit.cut, 0);

    /* A page of text. */
    buf_clear(&text);
    buf_put_slice(&text,
                  repeated("A stone turns in\nthe mill, at night. ", 60));
    buf_put_text(&text, "It stops.");
    unit = within(BLOCK_CODE, text.data, "A stone turns");
    assert_int_equal(unit.cut, 0);
    assert_true(unit.text.size > 1000 && unit.text.size <= UNIT_CODE);
    assert_true(unit.text.data[unit.text.size - 1] == '.');
    buf_free(&text);
}

static void a_definition_is_whole_with_its_term(void **state)
{
    (void)state;
    static const char text[] = "-q\n  Is quiet.\n  Says why.\n-v\n  Says more.";
    static const char *const wanted[] = {"-q", "Is quiet", "Says why"};
    assert_true(slice_is(within(BLOCK_DEFINITION, text, wanted[0]).text,
                         "-q\n  Is quiet.\n  Says why."));
    assert_true(slice_is(within(BLOCK_DEFINITION, text, wanted[1]).text,
                         "-q\n  Is quiet.\n  Says why."));
    assert_true(slice_is(within(BLOCK_DEFINITION, text, "Says more").text,
                         "-v\n  Says more."));
}

/* A row whose first cell spans it from above is quoted with the row that has it. */
static void a_row_is_quoted_with_the_cell_that_spans_it(void **state)
{
    static const struct {
        const char *info, *text, *in, *unit;
    } rows[] = {
        {"head=1", "M\tV\nA1\t12 V\n\t24 V\n\t48 V\nB2\t5 V", "48 V",
         "A1\t12 V\n\t24 V\n\t48 V"},
        {"head=1", "M\tV\nA1\t12 V\n\t24 V\nB2\t5 V", "5 V", "B2\t5 V"},
        {"head=1", "M\tV\nA1\t12 V\n\t24 V\nB2\t5 V", "A1", "A1\t12 V\n\t24 V"},
        {"head=1", "M\tV\n\t24 V\n\t48 V", "M", "M\tV"},
        {"head=2", "M\tV\n\tmV\n\t24 V", "M", "M\tV\n\tmV"},
        {"", "#define\tRINSE\n\tRinses.\n#define\tVENT", "RINSE",
         "#define\tRINSE\n\tRinses."},
        {"head=1", "M\tV\n\t24 V\n\t48 V", "48 V", "\t48 V"},
        {"", "\t24 V\n\t48 V", "48 V", "\t48 V"},
        {"head=9", "M\tV\n\t24 V", "24", "\t24 V"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct block block = {.kind = BLOCK_TABLE,
                                    .text = slice_of(rows[i].text),
                                    .info = slice_of(rows[i].info)};
        const char *in = strstr(rows[i].text, rows[i].in);
        struct unit unit = unit_within(&block, (size_t)(in - rows[i].text),
                                       strlen(rows[i].in));
        assert_true(slice_is(unit.text, rows[i].unit));
        assert_int_equal(unit.cut, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_quoted_with_the_cell_that_spans_it),
        cmocka_unit_test(tables_are_found_by_their_captions),
        cmocka_unit_test(references_to_tables_are_read),
        cmocka_unit_test(steps_follow_what_stands_above_them),
        cmocka_unit_test(a_sentence_that_goes_on_is_followed),
        cmocka_unit_test(a_lead_in_takes_what_it_leads_in_to),
        cmocka_unit_test(labels_and_questions_in_a_row_lead_nowhere),
        cmocka_unit_test(what_is_announced_without_a_colon_follows),
        cmocka_unit_test(what_is_led_in_to_may_be_cut),
        cmocka_unit_test(steps_stay_together),
        cmocka_unit_test(a_long_sentence_is_whole_or_cut),
        cmocka_unit_test(code_ends_with_its_statement_or_is_cut),
        cmocka_unit_test(a_definition_is_whole_with_its_term),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
