/* Options of one letter, told apart by its case. */
#include "tests/unit/support/unit.h"

#include "memory/lexical/option_letters.h"

static void a_question_names_some(void **state)
{
    (void)state;
    static const struct {
        const char *question, *letters;
    } cases[] = {{"pump -C", "C"},
                 {"what do -C and (-x) do?", "Cx"},
                 {"-n3, --no-vent, x-y, -1, a -- b, -ab", ""},
                 {"-c vs -C", ""},
                 {"-c -C -c", ""},
                 {"-a -a -b -d -e -f -g -h -i -j -z", "abdefghijz"},
                 {"größe-c, -cé and ‘-n’", "n"},
                 {"HOW DO I USE PUMP -C", ""},
                 {"PUMP -C", "C"},
                 {"HOW DO I USE PUMP -c", "c"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct option_letters found =
            option_letters_of(slice_of(cases[i].question));
        assert_true(slice_is((struct slice){found.letters, found.count},
                             cases[i].letters));
    }
}

static void a_text_has_them_in_one_case_or_the_other(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum option_letter has;
    } cases[] = {{"-C --create", OPTION_LETTER_SAME},
                 {"-c --clean", OPTION_LETTER_OTHER},
                 {"[-c] [-C]", OPTION_LETTER_SAME},
                 {"-Cx, non-C, --C, C", OPTION_LETTER_NONE},
                 {"‘-C’", OPTION_LETTER_SAME},
                 {"-", OPTION_LETTER_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(option_letter_in(slice_of(cases[i].text), 'C'),
                         cases[i].has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_names_some),
        cmocka_unit_test(a_text_has_them_in_one_case_or_the_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
