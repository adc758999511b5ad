#include "tests/unit/support/unit.h"

#include <string.h>

#include "daemon/answer/card.h"

/* ---- Which option is asked about ---- */

static bool is_asked(const char *title, bool entry, const char *question)
{
    const struct node node = {.title = slice_of(title), .entry = entry};
    return card_is_asked(question, &node);
}

static void an_option_is_asked_about_by_its_name(void **state)
{
    (void)state;
    assert_true(is_asked("max_tiles (integer)", true, "max_tiles default?"));
    assert_true(is_asked("max_tiles (integer)", true, "what is max tiles"));
    assert_true(is_asked("max_tiles", false, "Is MAX_TILES too low"));
    assert_true(
        is_asked("-o, --out-dir=<path>", true, "where does --out-dir go"));
    assert_true(is_asked("TileSize <n>", true, "TileSize and its range"));
    assert_true(is_asked("linger <seconds>", true, "linger: does it block?"));
    assert_true(is_asked("linger <seconds>", true, "linger"));
    assert_true(is_asked("linger <seconds>", true, "default of linger"));
    assert_true(
        is_asked("option linger <n>", true, "what is option linger for"));
}

static void another_option_has_no_card(void **state)
{
    (void)state;
    assert_false(is_asked("max_tiles (integer)", true, "max_tiles_total"));
    assert_false(is_asked("max_tiles (integer)", true, "how many tiles fit"));
    assert_false(is_asked("max_tiles", true, "max_tiles vs min_tiles"));
    assert_false(is_asked("max_tiles", true, "does max_tiles limit min_tiles"));
    assert_false(is_asked("max_tiles", true, "max_tiles or --all-tiles"));
    assert_false(is_asked("FILES", true, "where are the files"));
    assert_false(
        is_asked("linger <seconds>", true, "my sockets linger for long"));
    assert_false(is_asked("Linger", false, "default of linger"));
    assert_false(is_asked("tile_count (a, b)", true, "tile_count default"));
    assert_false(is_asked("", true, "max_tiles"));
    assert_true(is_asked("-c, --clean", true, "what does -c do"));
    assert_false(is_asked("-c, --clean", true, "what does -C do"));
}

static void titles_of_one_name_are_rivals(void **state)
{
    (void)state;
    assert_true(
        card_same_name(slice_of("limit <n>"), slice_of("limit <rate>")));
    assert_true(card_same_name(slice_of("limit, no limit"), slice_of("limit")));
    assert_false(card_same_name(slice_of("limit <n>"), slice_of("limits <n>")));
    assert_true(card_same_name(slice_of("-c"), slice_of("-c, --clean")));
    assert_false(card_same_name(slice_of("-c"), slice_of("-C, --create")));
}

/* ---- What its entry says ---- */

struct given {
    int kind;
    const char *text;
};

enum { MAX_BLOCKS = 6 };

static struct card read_entry(const char *title, const struct given *given,
                              bool right)
{
    static struct block blocks[MAX_BLOCKS];
    struct node node = {.title = slice_of(title), .blocks = blocks};
    for (; given[node.block_count].text; node.block_count++)
        blocks[node.block_count] =
            (struct block){.kind = given[node.block_count].kind,
                           .text = slice_of(given[node.block_count].text)};
    struct card card;
    assert_int_equal(card_read(node.title, &node, &card), right);
    return card;
}

/* The n-th piece of the field; "": there are fewer. */
static struct slice piece(const struct card *card, enum card_field field,
                          size_t n)
{
    for (size_t i = 0; i < card->count; i++)
        if (card->pieces[i].field == field && !n--)
            return card->pieces[i].text;
    return (struct slice){0};
}

static void assert_piece(const struct card *card, enum card_field field,
                         size_t n, const char *text)
{
    assert_true(slice_is(piece(card, field, n), text));
}

static void sentences_tell(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH,
         "Sets how many tiles are kept. They are dropped at night. The default "
         "is 20 tiles (20t). It can only be set when the mill starts."},
        {0, NULL}};
    struct card card = read_entry("max_tiles", given, true);
    assert_piece(&card, CARD_ABOUT, 0, "Sets how many tiles are kept.");
    assert_piece(&card, CARD_DEFAULT, 0, "The default is 20 tiles (20t).");
    assert_piece(&card, CARD_CHANGE, 0,
                 "It can only be set when the mill starts.");
    assert_int_equal(piece(&card, CARD_VALUES, 0).size, 0);
}

/* What holds of an example, or on a condition, is no default; what follows in a
 * text is not what the option is about. */
static void what_is_not_sure_is_left_out(void **state)
{
    (void)state;
    static const struct given examples[] = {
        {BLOCK_PARAGRAPH,
         "Sets how tiles burn. Valid values are on (the default) and off. For "
         "example, the default is off in a cold kiln. When the default is the "
         "opposite, say so. To burn them where none is the default, say on."},
        {0, NULL}};
    struct card card = read_entry("tile_burn", examples, true);
    assert_int_equal(piece(&card, CARD_DEFAULT, 0).size, 0);
    assert_piece(&card, CARD_ABOUT, 0, "Sets how tiles burn.");

    static const struct given named[] = {
        {BLOCK_PARAGRAPH,
         "tile_burn tells how long tiles burn. The default is 20, which is "
         "enough when they are wet. Finally, a kiln adds heat to them."},
        {0, NULL}};
    card = read_entry("tile_burn (integer)", named, true);
    assert_piece(&card, CARD_ABOUT, 0, "tile_burn tells how long tiles burn.");
    assert_piece(&card, CARD_DEFAULT, 0,
                 "The default is 20, which is enough when they are wet.");

    static const struct given later[] = {
        {BLOCK_PARAGRAPH,
         "in a kiln, burns. The default is 20. Finally, a kiln adds heat."},
        {0, NULL}};
    card = read_entry("tile_burn", later, true);
    assert_int_equal(piece(&card, CARD_ABOUT, 0).size, 0);
}

/* What stands in memory behind a text is none of it. */
static void a_text_ends_where_it_does(void **state)
{
    static const char text[] = "Donaudampfschifffahrt: what lies behind.";
    struct block blocks[] = {
        {.kind = BLOCK_PARAGRAPH, .text = {text, strcspn(text, ":")}},
        {.kind = BLOCK_PARAGRAPH, .text = slice_of("The default is 20.")}};
    const struct node node = {.blocks = blocks, .block_count = 2};
    struct card card;
    (void)state;
    assert_true(card_read(slice_of("max_tiles"), &node, &card));
    assert_piece(&card, CARD_ABOUT, 0, "Donaudampfschifffahrt");
}

static void items_tell(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_LIST,
         "- Units: tiles\n- Default: 20\n- Minimum: 1\n- Flags: slow"},
        {BLOCK_PARAGRAPH, "How many tiles are kept. The default is odd."},
        {0, NULL}};
    struct card card = read_entry("max_tiles", given, true);
    assert_piece(&card, CARD_DEFAULT, 0, "Default: 20");
    assert_int_equal(piece(&card, CARD_DEFAULT, 1).size, 0);
    assert_piece(&card, CARD_VALUES, 0, "Units: tiles");
    assert_piece(&card, CARD_VALUES, 1, "Minimum: 1");
    assert_piece(&card, CARD_CHANGE, 0, "Flags: slow");
    assert_piece(&card, CARD_ABOUT, 0, "How many tiles are kept.");
}

static void tables_tell(void **state)
{
    (void)state;
    static const struct given columns[] = {
        {BLOCK_TABLE, "type\tdefault\tmandatory\ninteger\t20\tno"}, {0, NULL}};
    struct card card = read_entry("tiles.max", columns, true);
    assert_piece(&card, CARD_DEFAULT, 0, "20");
    assert_piece(&card, CARD_VALUES, 0, "integer");

    static const struct given cells[] = {
        {BLOCK_TABLE, "max_tiles\tUse: mill\tType: integer\tDefault: 20"},
        {0, NULL}};
    card = read_entry("max_tiles", cells, true);
    assert_piece(&card, CARD_DEFAULT, 0, "Default: 20");
    assert_piece(&card, CARD_CHANGE, 0, "Use: mill");

    static const struct given used[] = {
        {BLOCK_PARAGRAPH, "Used in sections :"},
        {BLOCK_TABLE, "mill\toven\tyard\nyes\tno\tyes"},
        {0, NULL}};
    card = read_entry("linger <n>", used, true);
    assert_piece(&card, CARD_CHANGE, 0, "mill");
    assert_piece(&card, CARD_CHANGE, 1, "yard");
    assert_int_equal(piece(&card, CARD_CHANGE, 2).size, 0);
}

static void what_values_are_listed_is_told(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH, "Chooses the glaze of tiles. Valid values are:"},
        {BLOCK_DEFINITION, "matt\n  Rough."},
        {BLOCK_DEFINITION, "gloss\n  Smooth."},
        {0, NULL}};
    struct card card = read_entry("tile_glaze", given, true);
    assert_piece(&card, CARD_VALUES, 0, "matt");
    assert_piece(&card, CARD_VALUES, 1, "gloss");
}

static void what_says_nothing_of_an_option_is_no_card(void **state)
{
    (void)state;
    static const struct given given[] = {
        {BLOCK_PARAGRAPH,
         "Burns tiles until they are hard. It resets all to default values."},
        {BLOCK_TABLE, "kiln\tdefault\na\t1\nb\t2"},
        {BLOCK_CODE, "if (default) { is_the = 1; }"},
        {0, NULL}};
    read_entry("tile_burn", given, false);
    read_entry("--tiles=<n> [default: 3]", given, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_is_asked_about_by_its_name),
        cmocka_unit_test(another_option_has_no_card),
        cmocka_unit_test(titles_of_one_name_are_rivals),
        cmocka_unit_test(sentences_tell),
        cmocka_unit_test(what_is_not_sure_is_left_out),
        cmocka_unit_test(a_text_ends_where_it_does),
        cmocka_unit_test(items_tell),
        cmocka_unit_test(tables_tell),
        cmocka_unit_test(what_values_are_listed_is_told),
        cmocka_unit_test(what_says_nothing_of_an_option_is_no_card),
    };
    return cmocka_run_group_tests_name("card", tests, NULL, NULL);
}
