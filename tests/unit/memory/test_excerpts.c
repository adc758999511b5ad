/* What of a section a model is to judge it by. */
#include "base/text.h"
#include "memory/routing/passage.h"
#include "memory/routing/passage_texts.h"
#include "tests/unit/support/route_fixtures.h"

enum { BYTES = 200 };

#define REST                                                                   \
    "Nothing else is said here of what one may want to know about it. "        \
    "It stands as it stood. "
#define SAYS "The gasket of the valve is changed when it leaks."

static const struct section plant[] = {
    {TREE_NONE, "Plant", "", NONE, NONE},
    {0, "Short", "A valve leaks.", NONE, NONE},
    {0, "Middle", REST REST REST SAYS " " REST REST REST, NONE, NONE},
    {0, "Late", REST REST REST SAYS, NONE, NONE},
    {0, "Wide",
     "valve " REST "ééééééééééééééééééééééééééééééééééééééééé"
     "ééééééééééééééééééééééééééééééééééééééééé",
     NONE, NONE},
};

static const char *excerpt_of(const struct route_result *result,
                              const struct buf *excerpts, const char *title)
{
    return excerpts[hit_of(result, title) - result->hits].data;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), some = strlen(end);
    return size >= some && !strcmp(text + size - some, end);
}

static void excerpts_begin_with_what_says_most(void **state)
{
    struct house house;
    struct buf excerpts[COUNT(plant)] = {{0}};
    (void)state;
    open_house(&house);
    put_texts(&house, add_manual(&house, "plant", plant, COUNT(plant)), plant,
              COUNT(plant));
    open_snapshot(&house);
    struct route_request request =
        request_of("valve leaks gasket changed", ROUTE_LEXICAL);
    struct route_result result = routed(&house, &request);
    assert_int_equal(result.count, 4);
    assert_int_equal(passages_excerpts(house.snapshot, &result, result.count,
                                       BYTES, NULL, excerpts, NULL),
                     0);
    assert_string_equal(excerpt_of(&result, excerpts, "Short"),
                        "A valve leaks.\n");
    assert_non_null(strstr(excerpt_of(&result, excerpts, "Middle"), SAYS));
    assert_false(ends_with(excerpt_of(&result, excerpts, "Middle"), "\n"));
    assert_true(ends_with(excerpt_of(&result, excerpts, "Late"), SAYS "\n"));
    for (size_t i = 0; i < result.count; i++) {
        assert_true(excerpts[i].size <= BYTES);
        assert_true(text_is_utf8(excerpts[i].data, excerpts[i].size));
        buf_free(&excerpts[i]);
    }
    const atomic_bool cancelled = true;
    assert_int_equal(passages_excerpts(house.snapshot, &result, result.count,
                                       BYTES, &cancelled, excerpts, NULL),
                     ERR_CANCELLED);
    assert_int_equal(excerpts[0].size, 0);
    route_result_free(&result);
    close_house(&house);
}

/* A line of links says nothing beside other text, which a signature is none of, nor does a
 * sentence say nothing that is a link. */
static void links_are_texts_where_nothing_else_is(void **state)
{
    static const struct {
        int kind;
        const char *first, *second;
        size_t texts;
    } cases[] = {
        {BLOCK_PARAGRAPH, "A valve shuts.", "See also: Valve, Pump", 1},
        {BLOCK_PARAGRAPH, "Pump", "See also: Valve, Pump", 2},
        {BLOCK_PARAGRAPH, "A valve shuts.", "Valve | Pumps", 2},
        {BLOCK_PARAGRAPH, "A valve shuts.", "A pump runs.", 2},
        {BLOCK_DEFINITION, "turn(valve, int)", "See also: Valve, Pump", 1},
        {BLOCK_DEFINITION, "turn(valve, int)", "A valve shuts.", 1},
    };
    struct ref refs[] = {{.text = slice_of("Valve")},
                         {.text = slice_of("Pump")},
                         {.text = slice_of("A pump runs.")}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct block blocks[] = {
            {.kind = cases[i].kind, .text = slice_of(cases[i].first)},
            {.kind = BLOCK_PARAGRAPH, .text = slice_of(cases[i].second)}};
        struct node node = {.title = slice_of("turn(valve"),
                            .blocks = blocks,
                            .block_count = COUNT(blocks),
                            .refs = refs,
                            .ref_count = COUNT(refs)};
        struct query query = {0};
        struct analyzer *maker = analyzer_new();
        struct passage_reader reader = {
            .query = &query, .sought = query_sought(&query), .maker = maker};
        struct passage_texts texts = passage_texts_read(&reader, &node);
        assert_int_equal(texts.count, cases[i].texts);
        passage_texts_free(&texts);
        analyzer_free(maker);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excerpts_begin_with_what_says_most),
        cmocka_unit_test(links_are_texts_where_nothing_else_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
