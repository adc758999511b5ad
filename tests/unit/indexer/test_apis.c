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

/* Whatever the file is called: short names are numbers. */
static void test_listings(void **state)
{
    (void)state;
    static const char line[] =
        "<div class=fragment><div class=line><a id=l00001></a><span "
        "class=lineno> 1</span>int open();</div></div>";
    struct buf page = {0};
    buf_printf(&page, "<div class=title>a.h</div><div class=contents>%s</div>",
               line);
    expect_role(page.data, PAGE_MADE);
    buf_clear(&page);
    buf_printf(&page, "<div class=contents><div class=textblock>%s</div></div>",
               line);
    expect_role(page.data, PAGE_CONTENT);
    buf_free(&page);
    expect_role("<body>\n<code class=code><span class=keyword>sig</span> <span "
                "class=keyword>val</span> a : int <span class=keyword>end"
                "</span></code></body>",
                PAGE_MADE); /* ocamldoc */
    expect_role("<body>\n<code class=code>int <span class=keywordsign>-&gt;"
                "</span> int</code></body>",
                PAGE_MADE);
    expect_role("<body>\n<code class=code><span class=keyword>val</span></code>"
                "<p>It pumps.</body>",
                PAGE_CONTENT);
}

static void test_crystal(void **state)
{
    (void)state;
    expect(
        "<title>Pump - Works 1.6</title><div class=sidebar><div "
        "class=sidebar-header><h1 class=project-name>Works</h1></div><div "
        "class=types-list><ul><li><a href=Pump.html>Pump</a><li><a "
        "href=Valve.html>Valve</a></ul></div></div><div class=main-content><h1 "
        "class=type-name><span class=kind>class</span> Pump</h1><p>It pumps."
        "<h2>Instance Method Summary</h2><ul class=list-summary><li "
        "class=entry-summary><a href=#s class=signature>#start</a><div "
        "class=summary><p>Starts.</div></ul><div class=methods-inherited><h3>"
        "Instance methods inherited from class Object</h3>to_s</div><h2>"
        "Instance Method Detail</h2><div class=entry-detail "
        "id='start(at)'><div "
        "class=signature>def <strong>start</strong>(at) <a "
        "class=method-permalink href=#start%28at%29>#</a></div><div class=doc>"
        "<p>Starts it.</div><div>[<a class=view-source href=p.cr>View source"
        "</a>]</div></div></div>",
        "# class Pump\nparagraph: It pumps.\n## Instance Method Detail\n"
        "##* def start(at) {start(at)}\nparagraph: Starts it.\n");
    expect(
        "<div class=sidebar><p>A note beside.</div><ul class=list><li>a</ul>",
        "# \nparagraph: A note beside.\nlist: - a\n");
}

/* groovydoc and javadoc before Java 8. */
static void test_summaries(void **state)
{
    (void)state;
    expect("<h2>Class P</h2><p>a<ul class=blockList><li class=blockList><a "
           "name=method_summary></a><h3>Methods Summary</h3><table><tr><td>"
           "Closes.</table></ul><h3>Method Detail</h3><p>b",
           "# Class P\nparagraph: a\n## Method Detail\nparagraph: b\n");
    expect(
        "<a href=#skip-navbar_top></a><table border=0><tr><td>Overview</table>"
        "<h2><font size=-1>com.works</font><br>Class P</h2><p>a<a "
        "name=constructor_summary></a><table border=1><tr><td>P()</table><a "
        "name=methods_inherited></a><p>b<a name=methods_summary></a>"
        "<table border=1><tr><td>c<td>d</table>",
        "# Class P\nparagraph: a\nparagraph: b\ntable: c\\td\n");
    expect("<h2><font color=red>Pumps</font><br> </h2><p>a",
           "# Pumps\nparagraph: a\n");
    expect("<h2><font color=red>All pumps</font><br>and tanks</h2><p>a",
           "# All pumps and tanks\nparagraph: a\n");
}

/* What others may call so, too. */
static void test_others(void **state)
{
    (void)state;
    expect("<h1>A</h1><h4 class=subHeading>Installing</h4><p>b",
           "# A\n## Installing\nparagraph: b\n");
    expect("<h1>A</h1><div><a class=view-source href=s>c</a><p>b</div>",
           "# A\nparagraph: c\nparagraph: b\n");
    expect("<h1>A</h1><h2>B</h2><ul class=list-summary><li>c<li>d</ul>",
           "# A\n## B\nlist: - c\\n- d\n");
}

static void test_sandcastle(void **state)
{
    (void)state;
    static const char page[] =
        "<title>Open Method</title><meta name=file content=M_Works_Pump_Open>"
        "<div id=header><table id=topTable><tr><td><span>Code: All</span></td>"
        "</tr><tr id=headerTableRow2><td><span id=nsrTitle>Pump..::.Open Method"
        "</span></td></tr><tr id=headerTableRow3><td><a href=T_Works_Pump.htm>"
        "Pump Class</a> <a href=#s>See Also</a></td></tr></table></div><div "
        "id=mainSection><p>Opens it.<h1 class=heading><span "
        "onclick='ExpandCollapse(syntaxToggle)'><img src=c.gif>Syntax</span>"
        "</h1><pre>void Open()</pre><h4 class=subHeading>Parameters</h4><p>none"
        "</div>";
    expect(page, "# Open Method\nparagraph: Opens it.\nparagraph: Syntax\n"
                 "code: void Open()\nparagraph: Parameters\nparagraph: none\n");
    struct tree *tree = parse(page);
    assert_true(slice_is(tree->page.up, "T_Works_Pump.htm"));
    tree_free(tree);
    expect_role("<title>Pump Members</title><meta name=file "
                "content=AllMembers_T_Works_Pump><p>a",
                PAGE_MADE);
    expect_role("<meta name=file content=M_Works_Pump_Open><p>a", PAGE_CONTENT);
    expect("<div id=header><table><tr><td>a<td>b</table></div><h1>c</h1><p>d",
           "# c\ntable: a\\tb\nparagraph: d\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_doxygen_headings), TEST(test_listings),   TEST(test_crystal),
        TEST(test_summaries),        TEST(test_sandcastle), TEST(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
