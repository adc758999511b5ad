#include "tests/unit/support/parsing.h"

/* What Doxygen writes around what comments in sources say. */

/* A page for each letter that something begins with, filled by a program. */
static void test_search(void **state)
{
    (void)state;
    expect_role("<title></title><body class=SRPage><div id=SRIndex><div "
                "class=SRStatus id=Loading>Loading...</div><div "
                "id=SRResults></div></div>",
                PAGE_MADE);
    expect_role("<title></title><body class=SRPage><p>Loading...",
                PAGE_CONTENT);
}

#define HEADER                                                                 \
    "<div class=header><div class=summary><a href=#pub>Public Functions</a> "  \
    "| <a href=a-members.html>All</a></div><div class=headertitle><div "       \
    "class=title>Pump Class</div></div></div>"

/* Links to what stands below, above the class. */
static void test_summary(void **state)
{
    (void)state;
    expect(HEADER "<div class=contents><p>It pumps.</div>",
           "# Pump Class\nparagraph: It pumps.\n");
    expect("<h1>Pump</h1><div class=summary><a href=#a>Care</a> | More</div>",
           "# Pump\nparagraph: Care | More\n");
}

/* The signature of a template was the heading of its description. */
static void test_template(void **state)
{
    (void)state;
    expect(HEADER "<div class=contents><h2 class=groupheader>Description</h2>"
                  "<div class=textblock><h3>template&lt;class T&gt;<br>class "
                  "Pump&lt; T &gt;</h3><p>It pumps.<h3>Care</h3><p>Oil.</div>"
                  "</div>",
           "# Pump Class\n## Description\n"
           "paragraph: template<class T>\n"
           "paragraph: class Pump< T >\nparagraph: It pumps.\n"
           "### Care\nparagraph: Oil.\n");
}

/* Behind the last member, "The documentation for this class was generated from". */
static void test_end(void **state)
{
    (void)state;
    expect(HEADER "<div class=contents><p>It pumps.</p><hr>Made of this file:"
                  "<ul><li>src/<a class=el href=pump_8h.html>pump.h</a></ul>"
                  "</div><p>End",
           "# Pump Class\nparagraph: It pumps.\nparagraph: End\n");
    expect(HEADER "<div class=contents><p>It pumps.</p><hr>Of two:<ul><li>a"
                  "</ul><p>Again.</div>",
           "# Pump Class\nparagraph: It pumps.\nparagraph: Of two:\n"
           "list: - a\nparagraph: Again.\n");
    expect("<h1>Pump</h1><div class=contents><hr>Of two:<ul><li>a</ul></div>",
           "# Pump\nparagraph: Of two:\nlist: - a\n");
}

/* What others write in such boxes is said of no file. */
static void test_list_at_the_end(void **state)
{
    (void)state;
    expect("<div class=header><h1>Pump</h1></div><div class=contents><p>It "
           "pumps.<hr>It reads these:<ul><li>/etc/pump.conf<li>~/.pumprc</ul>"
           "</div>",
           "# Pump\nparagraph: It pumps.\nparagraph: It reads these:\n"
           "list: - /etc/pump.conf\\n- ~/.pumprc\n");
    expect(HEADER "<div class=contents><p>It pumps.<hr>It has:<ul><li>a.h<li>"
                  "the oil</ul></div>",
           "# Pump Class\nparagraph: It pumps.\nparagraph: It has:\n"
           "list: - a.h\\n- the oil\n");
    expect(HEADER "<div class=contents><p>It pumps.<hr>Of two:<ul><li>Pump<li>"
                  "src/<a href=b_8h.html>b.h</a> </ul></div>",
           "# Pump Class\nparagraph: It pumps.\n");
}

/* A heading whose end tag was forgotten, and which says nothing before that. */
static void test_end_in_a_heading(void **state)
{
    (void)state;
    expect("<h1><div class=header><div class=headertitle></div></div><div "
           "class=contents><hr>Made of:<ul><li>a.h</ul></div><p>It pumps."
           "<h2>Oil</h2><p>Oil it.",
           "# Made of:\nlist: - a.h\nparagraph: It pumps.\n## Oil\n"
           "paragraph: Oil it.\n");
}

/* Before 1.8 a listing is one <pre>, and the last line no paragraph of its own class. */
static void test_older(void **state)
{
    (void)state;
    expect_role(
        "<h1>pump.c</h1><a href=a1.html>Go to the documentation of this "
        "file.</a><div class=fragment><pre class=fragment><a name=l00001>"
        "</a>00001 int a;</pre></div>",
        PAGE_MADE);
    expect_role(
        "<h1>Class Index</h1><table><tr><td><a name=letter_p></a><table>"
        "<tr><td><div class=ah>p</div></table><tr><td><a href=p.html>Pump"
        "</a></table>",
        PAGE_MADE);
    expect_role(
        "<p>Here is a list of all struct and union fields with links to "
        "the structures and unions that they belong to:<h3>- y -</h3><ul>"
        "<li>year : <a href=d.html>Date</a></ul><p>(c) Works",
        PAGE_MADE);
    expect_role("<div class=contents><h1>Use</h1>Start it:<p><div "
                "class=fragment><pre class=fragment><a name=l00001></a>00001 "
                "int a;</pre></div>",
                PAGE_CONTENT); /* \\includelineno */
    expect_role("<h1>Use</h1><div class=fragment><pre class=fragment><a "
                "name=l00001></a>00001 int a;</pre></div><p>Then stop it.",
                PAGE_CONTENT);
    expect_role("<div class=contents><p>Starts it.<div class=fragment><div "
                "class=line><a name=l00001></a>int a;</div></div></div>",
                PAGE_CONTENT);
    expect_role(
        "<div class=contents><a href=p.html>Go to the documentation of this "
        "file.</a><div class=fragment><div class=line><a name=l00001></a>int a;"
        "</div></div><div class=ttc>a</div></div>",
        PAGE_MADE);
    struct buf page = {0};
    buf_put_text(&page, "<h2>- p -</h2><p><a href=v.html>The valve of a pump"
                        "</a>");
    for (int i = 0; i < 40; i++)
        buf_put_text(&page, " moves water,");
    expect_role(page.data, PAGE_CONTENT);
    buf_free(&page);
    expect_role("<h1>A</h1><table><tr><td><div class=ah>p</div></table><p>a",
                PAGE_CONTENT);
    expect_role("<h1>Use</h1><div class=fragment><pre class=fragment>int a;"
                "</pre></div>",
                PAGE_CONTENT);
    expect("<h1>A</h1><p>a<div id=MSearchSelectWindow><a>All</a></div><hr>"
           "<address><small>Generated by <a href=http://www.doxygen.org/><img "
           "src=d.png></a> 1.4.6</small></address>",
           "# A\nparagraph: a\n");
    expect(
        "<h1>A</h1><address>Written by <a href=http://me.org/>me</a></address>",
        "# A\nparagraph: Written by me\n");
    expect("<h1>A</h1><address>One needs <a href=http://doxygen.org/>Doxygen"
           "</a>; ask A. Smith</address>",
           "# A\nparagraph: One needs Doxygen; ask A. Smith\n");
}

static void test_source_link(void **state)
{
    (void)state;
    expect(HEADER "<div class=contents><p><a href=pump_8h_source.html>Go to "
                  "the source code of this file.</a></p><p>See <a "
                  "href=pump_8h_source.html>it</a>.</div>",
           "# Pump Class\nparagraph: See it.\n");
    expect(HEADER "<div class=contents><p><a href=a00012_source.html>Go to "
                  "it.</a></p></div>",
           "# Pump Class\n");
    expect("<h1>Pump</h1><div class=contents><p><a href=open_source.html>Its "
           "licences</a></p></div>",
           "# Pump\nparagraph: Its licences\n");
}

/* A long enumeration is looked up by its names. */
static void test_enumerators(void **state)
{
    (void)state;
    for (int words = 1; words < 200; words += 150) {
        struct buf page = {0};
        buf_put_text(&page,
                     HEADER "<div class=contents><h2 class=memtitle>err_t</h2>"
                            "<div class=memitem><div class=memdoc><p>Errors."
                            "<table class=fieldtable><tr><th colspan=2>"
                            "Enumerator</th></tr>");
        for (int i = 10; i < 19; i++) {
            buf_printf(&page,
                       "<tr><td class=fieldname><a id=gga%d></a>ERR_%d&#160;"
                       "</td><td class=fielddoc><p>Is",
                       i, i);
            for (int w = 0; w < words; w++)
                buf_put_text(&page, " said");
            buf_put_text(&page, ".</p></td></tr>");
        }
        buf_put_text(&page, "</table></div></div></div>");
        struct tree *tree = parse(page.data);
        bool many = words > 100;
        assert_int_equal(tree->count, many ? 11 : 2);
        if (many) {
            const struct node *node = &tree->nodes[2];
            assert_true(node->entry && node->parent == 1);
            assert_true(slice_is(node->title, "ERR_10"));
            assert_true(slice_is(node->anchor, "gga10"));
        }
        tree_free(tree);
        buf_free(&page);
    }
}

/* Their values stand in a cell of its own where Doxygen is of late. */
static void test_enumerator_values(void **state)
{
    (void)state;
    struct buf page = {0};
    buf_put_text(&page, HEADER "<div class=contents><table class=fieldtable>"
                               "<tr><th colspan=3>Enumerator</th></tr>");
    for (int i = 10; i < 19; i++) {
        buf_printf(&page,
                   "<tr><td class=fieldname><a id=gga%d></a>ERR_%d&#160;</td>"
                   "<td class=fieldinit>= 0x%d&#160;</td><td class=fielddoc>"
                   "<p>Is",
                   i, i, i);
        for (int w = 0; w < 150; w++)
            buf_put_text(&page, " said");
        buf_put_text(&page, ".</p></td></tr>");
    }
    buf_put_text(&page, "</table></div>");
    struct tree *tree = parse(page.data);
    assert_int_equal(tree->count, 10);
    const struct node *node = &tree->nodes[1];
    assert_true(node->entry && slice_is(node->title, "ERR_10"));
    assert_int_equal(node->block_count, 2);
    assert_true(slice_is(node->blocks[0].text, "= 0x10"));
    tree_free(tree);
    buf_free(&page);
}

/* Each line of a source within the text has an anchor that ends as its number. */
static void test_numbered_lines(void **state)
{
    (void)state;
    struct buf page = {0};
    buf_put_text(&page, HEADER "<div class=contents>");
    for (int i = 1000; i < 1009; i++)
        buf_printf(
            &page,
            "<h2 class=memtitle>run%d()</h2><div class=memdoc><p>It runs "
            "one two three four five six seven eight nine ten eleven "
            "twelve thirteen fourteen fifteen sixteen times.<div "
            "class=fragment><div class=line><a name=l0%d></a><span "
            "class=lineno>%d</span> {</div></div></div>",
            i, i, i);
    buf_put_text(&page, "</div>");
    struct tree *tree = parse(page.data);
    assert_int_equal(tree->count, 10);
    tree_free(tree);
    buf_free(&page);
}

/* Slides, and others, call so what is no code. */
static void test_labels_in_fragments(void **state)
{
    (void)state;
    static const char *const names[] = {"fast", "slow",  "cold", "warm", "full",
                                        "half", "empty", "shut", "open"};
    struct buf page = {0};
    buf_put_text(&page, "<h1>Options</h1>");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        buf_printf(&page,
                   "<p class=fragment id=%s>%s &lt;n&gt;</p><p>It says one two "
                   "three four five six seven eight nine ten eleven twelve "
                   "thirteen times.</p>",
                   names[i], names[i]);
    struct tree *tree = parse(page.data);
    assert_int_equal(tree->count, 10);
    tree_free(tree);
    buf_free(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_search),          TEST(test_summary),
        TEST(test_template),        TEST(test_end),
        TEST(test_list_at_the_end), TEST(test_end_in_a_heading),
        TEST(test_older),           TEST(test_source_link),
        TEST(test_numbered_lines),  TEST(test_labels_in_fragments),
        TEST(test_enumerators),     TEST(test_enumerator_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
