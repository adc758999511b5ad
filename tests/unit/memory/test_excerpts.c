/* What of a section a model is to judge it by. */
#include "base/text.h"
#include "memory/routing/passage.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(excerpts_begin_with_what_says_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
