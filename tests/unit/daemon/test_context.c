#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/mem.h"
#include "daemon/answer/context.h"
#include "daemon/answer/shingles.h"

static double alike(const char *a, const char *b)
{
    struct block blocks[2] = {{.text = slice_of(a)}, {.text = slice_of(b)}};
    struct node one = {.blocks = &blocks[0], .block_count = 1},
                other = {.blocks = &blocks[1], .block_count = 1};
    struct shingles x, y;
    shingles_of(&one, &x);
    shingles_of(&other, &y);
    double ret = shingles_alike(&x, &y);
    shingles_free(&x);
    shingles_free(&y);
    return ret;
}

static void the_same_words_are_the_same(void **state)
{
    (void)state;
    assert_true(alike("A b c d e.", "a B, c: d (e)") >= 1);
    assert_true(alike("Größe ändern ist gut so", "Größe ändern ist gut so") >=
                1);
    assert_true(alike("two words", "Two words!") >= 1);
    assert_true(alike("a b c d a b c d", "a b c d a b c d a b c d") >= 1);
}

static void other_words_are_not(void **state)
{
    (void)state;
    assert_true(alike("", "") <= 0);
    assert_true(alike("one two three four five", "") <= 0);
    assert_true(alike("a b c d", "d c b a") <= 0);
    assert_true(alike("two words", "too words") <= 0);
    /* 2 of 4 runs */
    double half = alike("a b c d e f", "a b c d e x");
    assert_true(half > 0.49 && half < 0.51);
}

/* What is said twice in a block is shown from where it was chosen. */
static void a_passage_is_where_it_was_chosen(void **state)
{
    (void)state;
    static const char said[] = "Wait. Turn it off. Then wait. Turn it off.";
    struct block blocks[] = {{.text = slice_of(said)},
                             {.text = slice_of("Turn it off.")},
                             {.text = slice_of(said)}};
    for (size_t b = 0; b < 3; b++)
        blocks[b].origin.span = (struct span){100 * b, 100 * b + 42};
    size_t owners[] = {0, 1, 1};
    struct context_part parts[2] = {
        {.passage = {.text = slice_of("Wait.")}},
        {.passage = {.text = slice_of("Turn it off."),
                     .at = 30,
                     .block = blocks[2].origin}}};
    struct context_source source = {.parts = parts,
                                    .part_count = 2,
                                    .best = 1,
                                    .blocks = blocks,
                                    .owners = owners,
                                    .count = 3};
    struct prompt_source shown = context_prompt(&source);
    assert_int_equal(shown.block, 2);
    assert_int_equal(shown.from, 30);
    assert_int_equal(shown.to, 42);
}

/* The best one stays first; the others no longer lie as they were ranked. */
static void sources_are_in_the_manuals_order(void **state)
{
    (void)state;
    static const struct {
        uint32_t manual, node;
    } ranked[] = {{2, 9}, {2, 4}, {1, 8}, {2, 1}, {1, 3}};
    static const uint32_t wanted[] = {9, 3, 8, 1, 4};
    enum { COUNT = 5 };
    struct view views[COUNT] = {0};
    struct context_part parts[COUNT] = {0};
    struct context_source sources[COUNT] = {0};
    struct context context = {sources, COUNT};
    for (size_t i = 0; i < COUNT; i++) {
        views[i].manual.id = ranked[i].manual;
        parts[i].passage.view = &views[i];
        parts[i].passage.node = ranked[i].node;
        sources[i].parts = &parts[i];
        sources[i].part_count = 1;
    }
    for (int again = 0; again < 2; again++) {
        context_settle(&context);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(sources[i].parts->passage.node, wanted[i]);
    }
    context.count = 0;
    context_settle(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_words_are_the_same),
        cmocka_unit_test(other_words_are_not),
        cmocka_unit_test(a_passage_is_where_it_was_chosen),
        cmocka_unit_test(sources_are_in_the_manuals_order),
    };
    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
