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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_options),
        TEST(test_few_terms),
        TEST(test_what_is_no_term),
        TEST(test_many_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
