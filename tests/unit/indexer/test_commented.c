#include "tests/unit/support/parsing.h"

/* References that ApiGen, ROBODoc and m2html make of comments, and pages that only list. */

/* A row for each member; what is shown on demand begins as what is shown does. */
static void test_apigen(void **state)
{
    (void)state;
    expect("<h1>Class Pump</h1><p>It pumps.<h2>Methods summary</h2><table "
           "class='summary table' id=methods><tr id=_start><td "
           "class=attributes><code>public</code><td class=name><div><a "
           "class=anchor href=#_start>#</a><code><a href=source-Pump.html#9>"
           "start</a>( <var>$at</var> )</code><div class='description short'>"
           "<p>Starts.</div><div class='description detailed hidden'><p>Starts."
           "<p>Now.<h4>Parameters</h4><div class=list><dl><dt>$at<dd>when</dl>"
           "</div></div></div></tr></table><div class=panel><div "
           "class=panel-heading><h3>Methods inherited from <a href=b.html>Base"
           "</a></h3></div><p class=elementList><code>stop()</code></div>",
           "# Class Pump\nparagraph: It pumps.\n## Methods summary\n"
           "##* start( $at ) {_start}\nparagraph: Starts.\n"
           "paragraph: Now.\nparagraph: Parameters\n"
           "definition: $at\\n  when\n");
    expect("<h1>Parts</h1><table class=summary><tr><td class=name><div><code>a"
           "</code></div><td>b</table>",
           "# Parts\ntable: a\\tb\n");
    expect_role("<h1>File Pump.php</h1><div id=source><pre><code><span "
                "class=l>1</span></code></pre></div>",
                PAGE_MADE);
    expect_role("<h1>Source</h1><div id=source><pre>a</pre></div>",
                PAGE_CONTENT);
}

static void test_robodoc(void **state)
{
    (void)state;
    expect("<title>pump.c</title><a name=robo_top_of_doc></a><a name=robo1></a>"
           "<h2>works/start [ Functions ]</h2><p>[ <a "
           "href=#robo_top_of_doc>Top</a> ] [ <a "
           "href=robo_functions.html#robo_top_of_doc>Functions</a> ]</p><p "
           "class=item_name>PURPOSE</p><pre>Starts.</pre>",
           "# works/start [ Functions ] {robo1}\n"
           "paragraph: PURPOSE\ncode: Starts.\n");
    struct buf page = {0};
    static const char *const below[] = {
        "<a class=indexitem href=a.html#robo1>air</a>", "<p>What begins so."};
    for (int i = 0; i < 3; i++) {
        int letters = i < 2 ? 26 : 5;
        buf_clear(&page);
        buf_put_text(&page, "<h1>Functions</h1><h2>");
        for (int k = 0; k < letters; k++)
            buf_printf(&page, "<a href=#%c>%c</a> - ", 'A' + k, 'A' + k);
        buf_printf(&page, "</h2><h2>A</h2>%s", below[i & 1]);
        expect_role(page.data, i ? PAGE_CONTENT : PAGE_MADE);
    }
    buf_free(&page);
}

/* "PURPOSE" and such are labels, and no sections; a picture leads to the top. */
static void test_m2html(void **state)
{
    (void)state;
    static const char up[] = "<a href=#_top><img alt='^' src=up.png></a>";
    struct buf page = {0};
    buf_printf(&page,
               "<title>Description of start</title><a name=_top></a><div "
               "id=_path><a href=i.html>Home</a> &gt; start.m</div><h1>start"
               "</h1><h2><a name=_name></a>PURPOSE %s</h2><p>Starts.<h2><a "
               "name=_synopsis></a>SYNOPSIS %s</h2><p>start(p)<h2><a "
               "name=other></a>Care %s</h2><p>a",
               up, up, up);
    expect(page.data, "# start {_top}\nparagraph: PURPOSE\n"
                      "paragraph: Starts.\nparagraph: SYNOPSIS\n"
                      "paragraph: start(p)\n## Care {other}\n"
                      "paragraph: a\n");
    buf_free(&page);
}

/* The same names on pages that others made. */
static void test_others(void **state)
{
    (void)state;
    expect("<h1>Url</h1><p>a<div id=_path><h3>_path</h3><p>Kept.</div>",
           "# Url\nparagraph: a\n## _path {_path}\nparagraph: Kept.\n");
    expect("<h1>Url</h1><p>a<div id=_path>Where <a href=b>it</a> is.</div>",
           "# Url\nparagraph: a\nparagraph: Where it is.\n");
    expect("<h1>Pumps</h1><p>a<h2><a href=#_top><img src=u.png> Use</a></h2>"
           "<p>b",
           "# Pumps\nparagraph: a\n## Use\nparagraph: b\n");
    expect("<h1>Themes</h1><p>a<table class=inherited><tr><td>size<td>of the "
           "page<tr><td>color<td>of all</table>",
           "# Themes\nparagraph: a\ntable: size\\tof the page\\n"
           "color\\tof all\n");
    expect("<h1>Pumps</h1><p>a<table class=summary id=methods><tr><td>start<td "
           "class=attributes>slow<tr><td>stop<td class=attributes>fast</table>",
           "# Pumps\nparagraph: a\ntable: start\\tslow\\nstop\\tfast\n");
    /* docutils' section with code in colours, and one in which each line is marked */
    expect_role("<h1>Build</h1><p>a<div class=section id=source><h2>Source</h2>"
                "<pre class='code python'><span class=keyword>import</span> a"
                "</pre></div><h2>Use</h2><p>b",
                PAGE_CONTENT);
    expect_role("<h1>Build</h1><p>a<div id=source><p>b<pre><code><span class=l>"
                "import a</span></code></pre></div>",
                PAGE_CONTENT);
}

/* No box looks through all those behind it. */
static void test_many_boxes(void **state)
{
    (void)state;
    struct buf page = {0};
    buf_put_text(&page, "<h1>P</h1><table class=summary id=methods><tr><td "
                        "class=name><div><code>a</code>");
    for (int i = 0; i < 50000; i++)
        buf_put_text(&page, "<div class=short>a</div>");
    tree_free(parse_within(10, page.data));
    buf_free(&page);
}

/* A page that calls itself contents, and says what each page is for. */
static void test_said_contents(void **state)
{
    (void)state;
    static const char *const titles[] = {"Works - Table of Contents", "Works"};
    for (int i = 0; i < 2; i++) {
        struct buf page = {0};
        buf_printf(&page,
                   "<title>%s</title><h1>The Works</h1><dl><dt><a "
                   "href=a.html>Air</a><dd>lets the air out of it<dt><a "
                   "href=b.html>Base</a><dd>what all stands on<dt><a "
                   "href=c.html>Care</a><dd>oil, mostly<dt><a "
                   "href=d.html>Drain</a><dd>where water goes<dt><a "
                   "href=e.html>End</a><dd>the last of it</dl>",
                   titles[i]);
        struct tree *tree = parse(page.data);
        assert_int_equal(tree->page.contents,
                         i ? CONTENTS_NONE : CONTENTS_GUESS);
        assert_int_equal(tree->page.link_count, i ? 0 : 5);
        tree_free(tree);
        buf_free(&page);
    }
}

/* Long lists of an index are no entries: DocBook's. */
static void test_index_lists(void **state)
{
    (void)state;
    struct buf page = {0};
    buf_put_text(&page, "<title>Index</title><div class=index><h1>Index</h1>"
                        "<div class=indexdiv><h3>A</h3><dl>");
    for (int i = 0; i < 12; i++) {
        buf_printf(&page, "<dt>pump %d<dd><dl>", i);
        for (int k = 0; k < 20; k++)
            buf_printf(&page,
                       "<dt>care of it, <a href=x.html#p%d>The Care of all "
                       "Pumps</a>",
                       k);
        buf_put_text(&page, "</dl>");
    }
    buf_put_text(&page, "</dl></div></div>");
    struct tree *tree = parse(page.data);
    assert_int_equal(tree->page.role, PAGE_INDEX);
    assert_int_equal(tree->count, 2);
    tree_free(tree);
    buf_free(&page);
}

/* Sphinx's sources, and ocamldoc's index: its letters are no headings. */
static void test_made_pages(void **state)
{
    (void)state;
    expect_role("<h1>Source code for pump</h1><div class=highlight><pre>x = 1\n"
                "<div class=viewcode-block id=run><a class=viewcode-back "
                "href=pump.html#run>[docs]</a>def run():</div></pre></div>",
                PAGE_MADE);
    expect_role("<h1>Pumps</h1><div class=viewcode-block><p>Text.</div>",
                PAGE_CONTENT);
    expect_role("<body><h1>Index of values</h1><table><tr><td><div>R</div></td>"
                "</tr><tr><td><a href='Pump.html#VALrun'>run</a> [<a "
                "href=Pump.html>Pump</a>]</td><td><div class=info>Runs it."
                "</div></td></tr></table>",
                PAGE_INDEX);
    expect_role("<body><h1>Pumps</h1><table><tr><td><div>Name</div></td></tr>"
                "<tr><td><a href='Pump.html#run'>run</a></td></tr></table>",
                PAGE_CONTENT);
    expect("<body><h1>Pumps</h1><table><tr><td><div>Name</div></td></tr><tr>"
           "<td><a href='Pump.html#run'>run</a></td><td>Runs it.</td></tr>"
           "</table>",
           "# Pumps\ntable: Name\\nrun\\tRuns it.\n");
    expect_role("<body><h1>Index of values</h1><table><tr><td><div></div></td>"
                "</tr><tr><td><a href='Pump.html#VAL(+)'>(+)</a></td></tr>"
                "</table>",
                PAGE_INDEX);
}

/* A page of pkgdown's is called as the function is, not as what that is for. */
static void test_pkgdown(void **state)
{
    (void)state;
    expect("<title>Turns it — and oil — on — pump • works</title><div "
           "class=page-header><img src=l><h1>Turns it — and oil — on</h1><div "
           "class='d-none name'><code>pump.Rd</code></div></div><p>a<h2>Value"
           "</h2><p>b",
           "# pump\nparagraph: Turns it — and oil — on\nparagraph: a\n"
           "## Value\nparagraph: b\n");
    expect("<title>Pumps — old ones • works</title><div class=page-header><h1>"
           "Pumps — old ones</h1><div class='d-none name'><code>pump.Rmd</code>"
           "</div></div><p>a",
           "# Pumps — old ones\nparagraph: a\n"); /* an article */
    expect("<title>Use • works</title><div class=page-header><h1>Use</h1></div>"
           "<p>a",
           "# Use\nparagraph: a\n");
}

/* MATLAB prints the contents of a page in a box. */
static void test_matlab_contents(void **state)
{
    (void)state;
    expect("<h1>A</h1><h2>Contents</h2><div><ul><li><a href=#1>B</a><li><a "
           "href=#2>C</a></ul></div><h2 id=1>B</h2><p>b<h2 id=2>C</h2><p>c",
           "# A\n## B {1}\nparagraph: b\n## C {2}\nparagraph: c\n");
    expect("<h1>A</h1><h2>Contents</h2><div>c <ul><li><a href=#1>B</a><li><a "
           "href=#2>C</a></ul></div><h2 id=1>B</h2><p>b",
           "# A\n## Contents\nparagraph: c\nlist: - B\\n- C\n"
           "## B {1}\nparagraph: b\n");
    expect(
        "<h1>A</h1><h2>Contents</h2><div><ul><li><a href=b.html>B</a></ul><p>"
        "d</div>",
        "# A\n## Contents\nlist: - B\nparagraph: d\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pkgdown),     TEST(test_matlab_contents),
        TEST(test_apigen),      TEST(test_robodoc),
        TEST(test_m2html),      TEST(test_said_contents),
        TEST(test_index_lists), TEST(test_others),
        TEST(test_many_boxes),  TEST(test_made_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
