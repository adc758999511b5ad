#include "tests/unit/support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "memory/lexical/comparison.h"

static void sides_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sides; /* with "|" between them */
    } cases[] = {
        {"bagof vs setof", "bagof|setof"},
        {"timeout client versus timeout server",
         "timeout client|timeout server"},
        {"what is the difference between hot and warm standby?",
         "hot|warm standby"},
        {"differences between srun and sbatch in Slurm", "srun|sbatch"},
        {"GAUGE vs. COUNTER vs. DERIVE", "GAUGE|COUNTER|DERIVE"},
        {"what is better with pumps, slow vs fast, when it is hot?",
         "slow|fast"},
        {"ON DELETE vs ON UPDATE", "DELETE|ON UPDATE"},
        {"how do I use VS Code with a compiler", ""},
        {"pumps and valves", ""},
        {"the difference of pressure between two valves", ""},
        {"difference between valves", ""},
        {"vs", ""},
        {"a vs", ""},
        {"vs b", ""},
        {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct slice sides[COMPARISON_MAX_SIDES];
        size_t count = comparison_sides(slice_of(cases[i].text), sides);
        struct buf all = {0};
        for (size_t s = 0; s < count; s++) {
            buf_put_text(&all, s ? "|" : "");
            buf_put_slice(&all, sides[s]);
        }
        buf_put_byte(&all, '\0');
        assert_string_equal(all.data, cases[i].sides);
        buf_free(&all);
    }
}

static void no_more_than_fit_are_given(void **state)
{
    (void)state;
    struct slice sides[COMPARISON_MAX_SIDES];
    assert_int_equal(
        comparison_sides(slice_of("a vs b vs c vs d vs e vs f"), sides),
        COMPARISON_MAX_SIDES);
}

/* Spaces are not passed again for each word behind them. */
static void spaces_cost_once(void **state)
{
    enum { SIZE = 1 << 20 };
    (void)state;
    struct slice sides[COMPARISON_MAX_SIDES];
    char *text = mem_alloc(SIZE);
    memset(text, ' ', SIZE);
    for (size_t i = SIZE / 2; i < SIZE; i += 2)
        text[i] = 'b';
    memcpy(text + SIZE - 6, "b vs c", 6);
    double start = unit_seconds();
    assert_int_equal(comparison_sides((struct slice){text, SIZE}, sides), 2);
    assert_true(unit_seconds() - start < 10);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_are_told),
        cmocka_unit_test(no_more_than_fit_are_given),
        cmocka_unit_test(spaces_cost_once)};
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
