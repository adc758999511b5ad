/* What documents set in packages, and feet and heads of pages, are no text. */
#include "tests/unit/support/latex_in_memory.h"

/* scrlayer-scrpage: an inner foot is no conditional. */
static void test_feet_of_pages(void **state)
{
    (void)state;
    expect("\\documentclass{scrartcl}\\begin{document}\\ihead{Left}"
           "\\ifoot[]{\\pagemark}\\lofoot*{x}a \\iffalse b\\fi c"
           "\\end{document}",
           "paragraph: a c");
}

/* Lengths, colours and keys that a document sets are no words of it. */
static void test_settings(void **state)
{
    (void)state;
    expect(
        "a\\addvspace{3ex plus 1ex}b\\newgeometry{top=1cm}c\\linethickness"
        "{.4pt}d \\usebeamercolor[fg]{item}e\\tabto*{4cm}f\\setstretch{1.5}g"
        "\\setbeamertemplate{footline}[frame number]h\\setbeamertemplate{a}{b}"
        "i\\newfontfamily\\x[Scale=1]{Arial}j\\hhline{|=|}k",
        "paragraph: a bcd e fghijk");
}

/* A command of that name that has no such argument is another's. */
static void test_settings_without_arguments(void **state)
{
    (void)state;
    expect("The \\logo is at \\logo.\n\nA \\tabto\n\nb \\setul is, "
           "\\internal function, \\internal{Only for staff.} {\\logo} c "
           "\\internal[figure]{part} \\setbeamertemplate{a}[b] d "
           "\\addvspace\\bigskipamount e",
           "paragraph: The is at . | paragraph: A | paragraph: b is, function, "
           "Only for staff. c d e");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feet_of_pages),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_settings_without_arguments),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
