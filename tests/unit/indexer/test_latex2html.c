/* What latex2html gives manuals: html.sty's commands and environments. */
#include "tests/unit/support/latex_in_memory.h"

/* A part of a manual as latex2html wants it, by itself and in the manual. */
static void test_segments(void **state)
{
    (void)state;
    static const char part[] =
        "\\begin{htmlonly}\n\\documentclass{article}\n\\input{a.ptr}\n"
        "\\end{htmlonly}\n\\startdocument\nIt converts.";
    static const struct memory_file files[] = {{"part.tex", part},
                                               {NULL, NULL}};
    expect(part, "paragraph: It converts.");
    expect_of("\\documentclass{article}\\internal[figure]{part}"
              "\\begin{document}\\segment*{part}{section}{First}"
              "\\end{document}",
              files, "# 1 First | paragraph: It converts.");
    expect("\\segment{a}{b}{c}", "paragraph: abc");
}

/* What is printed, once, also where it begins and ends environments. */
static void test_two_forms(void **state)
{
    (void)state;
    expect(
        "\\documentclass{article}\\newenvironment{warning}{\\latexhtml{\\begin"
        "{quote}}{\\begin{rawhtml}<div class='w'>\\end{rawhtml}}}{\\latexhtml"
        "{\\end{quote}}{\\begin{rawhtml}</div>\\end{rawhtml}}}\\begin{document}"
        "a \\latexhtml{printed}{<b>shown</b>} b\\begin{warning}Hot.\\end"
        "{warning}\\section{Two}c\\end{document}",
        "paragraph: a printed b | quote: Hot. | # 1 Two | paragraph: c");
    expect("a\\htmlrule[x] b \\htmlimage{scale=2}c\\bodytext{bgcolor=white}"
           "\\htmladdimg[align=left]{a.gif} d\\tableofchildlinks*[off]",
           "paragraph: a b c d");
}

static void test_links(void **state)
{
    struct buf reports = {0};
    struct tree *tree =
        parse("See \\htmladdnormallink{the \\emph{page}}{http://a.org/~b/c#e} "
              "and \\htmlref{that part}{part}.\\section{Part}\\label{part}",
              NULL, &reports);
    (void)state;
    const struct node *node = &tree->nodes[0];
    assert_string_equal(node->blocks[0].text.data,
                        "See the page and that part.");
    assert_int_equal(node->ref_count, 2);
    assert_string_equal(node->refs[0].url.data, "http://a.org/~b/c#e");
    assert_string_equal(node->refs[0].text.data, "the page");
    assert_string_equal(node->refs[1].url.data, "#part");
    tree_free(tree);
    buf_free(&reports);
}

/* A link's text, its name before it, and where it stands. */
static void test_texts_of_links(void **state)
{
    static const struct {
        const char *source, *text, *url, *shown;
    } cases[] = {
        {"Go\\\\ \\htmlref{there}{x}.", "there", "#x", "Go there."},
        {"Go \\htmladdnormallink[n]{there}\n  {u}.", "there", "u", "Go there."},
        {"Go \\href{a\\_b\\#c}{there}.", "there", "a_b#c", "Go there."},
        {"Go \\newcommand\\q[1]{#1}\\q{\\htmlref{there}{x}}.", "there", "#x",
         "Go there."},
        {"Go to it \\href{u}{a\\par that is long and longer}.",
         "that is long and longer", "u", "Go to it a"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf reports = {0};
        struct tree *tree = parse(cases[i].source, NULL, &reports);
        const struct node *node = &tree->nodes[0];
        assert_string_equal(node->blocks[0].text.data, cases[i].shown);
        assert_int_equal(node->ref_count, 1);
        assert_string_equal(node->refs[0].text.data, cases[i].text);
        assert_string_equal(node->refs[0].url.data, cases[i].url);
        tree_free(tree);
        buf_free(&reports);
    }
    expect("\\section{Go \\htmlref{there}{x} now}a",
           "# Go there now | paragraph: a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_two_forms),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_texts_of_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
