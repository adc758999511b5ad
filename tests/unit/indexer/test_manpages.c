#include "tests/unit/support/parsing.h"

/* Manual pages as groff writes them: what is indented is what is below. */

#define GROFF                                                                  \
    "<head><meta name=generator content='groff -Thtml, see www.gnu.org'>"      \
    "<title>TOOL</title></head><body><h1 align=center>TOOL</h1>\n"
#define WORDS                                                                  \
    "It has a meaning of more than a few words, which is what tells "          \
    "it from others."
#define TERM(name) "<p style='margin-left:11%;'>" name "</p>\n"
#define MEANING(words)                                                         \
    "<p style='margin-left:22%; margin-top: 1em'>" words "</p>\n"
#define ROW(name, words)                                                       \
    "<tr><td width='11%'></td><td width='4%'><p>" name "</p></td>"             \
    "<td width='7%'></td><td width='78%'><p>" words "</p></td></tr>\n"

static void test_options(void **state)
{
    (void)state;
    static const char page[] = GROFF
        "<a href='#NAME'>NAME</a><br>\n<a href='#OPTIONS'>OPTIONS</a><br>\n"
        "<hr>\n<h2>NAME<a name=NAME></a></h2>\n" TERM(
            "tool - it works") "<h2>OPTIONS<a name=OPTIONS></a></h2>\n" TERM("<"
                                                                             "b"
                                                                             ">"
                                                                             "-"
                                                                             "-"
                                                                             "a"
                                                                             "l"
                                                                             "l"
                                                                             "<"
                                                                             "/"
                                                                             "b"
                                                                             ">")
            MEANING(WORDS) MEANING("More.")
                TERM("The others are rare.") "<table>" ROW("-a", WORDS)
                    ROW("-b", WORDS) "</table>\n" MEANING("And b.");
    expect(page, "# TOOL\n## NAME {NAME}\nparagraph: tool - it works\n"
                 "## OPTIONS {OPTIONS}\nparagraph: The others are rare.\n"
                 "##* --all\nparagraph: " WORDS "\nparagraph: More.\n"
                 "##* -a\nparagraph: " WORDS "\n##* -b\nparagraph: " WORDS
                 "\nparagraph: And b.\n");
}

/* Few of them are read as terms, no less. */
static void test_few_terms(void **state)
{
    (void)state;
    expect(GROFF "<h2>FILES</h2>\n" TERM("tool.conf") MEANING("One.")
               MEANING("Two.") TERM("tool.log") MEANING("Log."),
           "# TOOL\n## FILES\ndefinition: tool.conf\\n  One.\\n  Two.\n"
           "definition: tool.log\\n  Log.\n");
}

static void test_what_is_no_term(void **state)
{
    (void)state;
    expect(GROFF "<h2>USE</h2>\n" TERM("It works.") MEANING("a")
               TERM("For example:") MEANING("b") TERM("1.") MEANING("c")
                   TERM("Which is one of: <br>\non") MEANING("d"),
           "# TOOL\n## USE\nparagraph: It works.\nparagraph: a\n"
           "paragraph: For example:\nparagraph: b\nparagraph: 1.\n"
           "paragraph: c\nparagraph: Which is one of: on\nparagraph: d\n");
    /* Nor is anything where others indent. */
    expect("<h1>T</h1>" TERM("on") MEANING("a"),
           "# T\nparagraph: on\nparagraph: a\n");
}

/* Headings within what stands between the terms do not have each counted anew, which
 * would take the time of their square. */
static void test_many_terms(void **state)
{
    (void)state;
    enum { TERMS = 20000 };
    struct buf page = {0};
    buf_put_text(&page, GROFF);
    for (int i = 0; i < TERMS; i++)
        buf_put_text(&page, TERM("on") MEANING("a") "<div><h2>b</h2></div>");
    struct tree *tree = parse(page.data);
    assert_int_equal(tree->count, 2 * TERMS + 1);
    tree_free(tree);
    buf_free(&page);
}

/* What mandoc, man2html and pod2html print besides. */
static void test_other_makers(void **state)
{
    (void)state;
    expect("<table class=head><tr><td class=head-ltitle>TOOL(8)<td>Works"
           "</table><div class=manual-text><h1>NAME</h1><p>tool</div><table "
           "class=foot><tr><td class=foot-date>May<td>Works</table>",
           "# NAME\nparagraph: tool\n");
    expect("<h1>TOOL</h1>Section: 8<br><a href=#index>Index</a> <a href=../>"
           "Return to Main Contents</a><hr><h2>NAME</h2>tool<h2>FILES</h2>none"
           "<hr><a name=index>&nbsp;</a><h2>Index</h2><dl><dt><a href=#a>NAME"
           "</a><dd><dt><a href=#b>FILES</a><dd></dl>made by man2html",
           "# TOOL\nparagraph: Section: 8\n## NAME\nparagraph: tool\n"
           "## FILES\nparagraph: none\n"
           "## Index {index}\nparagraph: made by man2html\n");
    expect("<h1>TOOL</h1><h2>FILES</h2>none<hr><a name=index>&nbsp;</a><h2>"
           "Index</h2><dl><dt><a href=#a>USE</a><dd><dt><a "
           "href=#b>FILES</a><dd></dl><hr>This document "
           "was created by <a href=/cgi-bin/man/man2html>man2html</a>, using "
           "the manual pages.<br>Time: 1:00",
           "# TOOL\n## FILES\nparagraph: none\n");
    expect("<body><ul id=index><li><a href=#NAME>NAME</a><li><a href=#USE>USE"
           "</a></ul><h1 id=NAME>NAME</h1><p>tool<h1 id=USE>USE</h1><p>a",
           "# \n## NAME {NAME}\nparagraph: tool\n"
           "## USE {USE}\nparagraph: a\n");
    expect("<h1>A</h1>b<br><a href=#index>c</a>, or <a href=d.html>d</a> for "
           "more.<hr>e",
           "# A\nparagraph: b\nparagraph: c, or d for more.\nparagraph: e\n");
    expect("<h1>A</h1><a href=#index>b</a> <a href=c.html>c</a><p>d<table "
           "class=head><tr><td>e<td>f"
           "</table>",
           "# A\nparagraph: b c\nparagraph: d\ntable: e\\tf\n");
}

/* One name in several forms is one entry, where all but the last have no meaning. */
static void test_forms_of_a_name(void **state)
{
    (void)state;
    static const char words[] =
        "one two three four five six seven eight nine ten eleven twelve "
        "thirteen fourteen fifteen";
    struct buf page = {0}, shown = {0};
    buf_printf(&page,
               "<h1>A</h1><dl><dt id=a1><code>abs VALUE</code><dd>\n<dt "
               "id=a2><code>abs</code><dd>%s %s %s<dt id=b1><code>bind S</code>"
               "<dd><dt id=c1><code>chop</code><dd>%s</dl>",
               words, words, words, words);
    buf_printf(
        &shown,
        "# A\n#* abs VALUE, abs {a1}\nparagraph: %s %s %s\n#* bind S {b1}\n"
        "definition: bind S\n#* chop {c1}\nparagraph: %s\n",
        words, words, words, words);
    expect(page.data, shown.data);
    buf_free(&page);
    buf_free(&shown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_options),         TEST(test_few_terms),
        TEST(test_what_is_no_term), TEST(test_many_terms),
        TEST(test_other_makers),    TEST(test_forms_of_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
