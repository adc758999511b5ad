#include "tests/unit/support/parsing.h"

/* References that tools make of a program's source. */

/* Headings in what is said of a member part it neither from its words nor from those
 * that follow; those of a group's text stand below "Detailed Description". */
static void test_doxygen_headings(void **state)
{
    (void)state;
    expect("<div id=MSearchResultsWindow><iframe></iframe></div><div "
           "class=headertitle><div class=title>Pumps</div></div><div "
           "class=contents><h2 class=groupheader>Detailed Description</h2><div "
           "class=textblock><p>All.<h1>Use</h1><p>a<h2>Once</h2><p>b</div><h2 "
           "class=groupheader>Functions</h2><h2 class=memtitle>open()</h2><div "
           "class=memitem><div class=memproto>int open()</div><div "
           "class=memdoc><p>Opens it.<h1>Example</h1><p>open();</div></div><h2 "
           "class=memtitle>shut()</h2><div class=memitem><div class=memdoc><p>"
           "Shuts it.</div></div></div>",
           "# Pumps\n## Detailed Description\nparagraph: All.\n"
           "### Use\nparagraph: a\n#### Once\nparagraph: b\n"
           "## Functions\n##* open()\n"
           "paragraph: int open()\nparagraph: Opens it.\nparagraph: Example\n"
           "paragraph: open();\n"
           "##* shut()\nparagraph: Shuts it.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_doxygen_headings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
