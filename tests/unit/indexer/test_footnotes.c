#include "tests/unit/support/spans.h"

/* Notes stand where they are referred to. */

/* A note belongs to the section that refers to it. */
static void test_footnotes(void **state)
{
    (void)state;
    /* DocBook */
    expect("<div class=sect1><h2>A</h2><p>one <a href='#ftn.1' class=footnote>"
           "<sup class=footnote id=1>[6]</sup></a></p><div class=sect2><h3>B"
           "</h3><p>two</div><div class=footnotes><br><hr><div id=ftn.1 "
           "class=footnote><p><a href='#1' class=para><sup>[6] </sup></a> deep"
           "<p>er</div></div></div>",
           "# A\nparagraph: one [6]\nnote(footnote): [6] deep\n"
           "note(footnote): er\n## B\nparagraph: two\n");
    /* Texinfo, of two ages */
    expect("<h3>A</h3><p>one <a id=DOCF1 href='#FOOT1'><sup>1</sup></a></p>"
           "<h4>B</h4>two<a href='#FOOT2'><sup>2</sup></a>"
           "<div class=footnote>\n<hr>\n<h4 class=footnotes-heading>Footnotes"
           "</h4>\n\n<h5><a id=FOOT1 href='#DOCF1'>(1)</a></h5>\n<p>deep</p>\n"
           "<h5><a id=FOOT2 href='#DOCF2'>(2)</a></h5><p>x</p></div>",
           "# A\nparagraph: one 1\nnote(footnote): (1) deep\n"
           "## B\nparagraph: two2\nnote(footnote): (2)\nnote(footnote): x\n");
    expect("<h3>A</h3>a<a href='#fn-1'>1</a><h4>B</h4>b<div class=footnote><hr>"
           "<h4>Footnotes</h4><p class=footnote><small>[<a name=fn-1 "
           "href='#fnd-1'>1</a>]</small> deep</p></div>",
           "# A\nparagraph: a1\nnote(footnote): [1] deep\n"
           "## B\nparagraph: b\n");
    /* Sphinx, of three ages */
    expect("<h1>T</h1><p>x <a href='#id9' id=id1>[1]</a></p><h2>B</h2>"
           "<aside class='footnote-list brackets'>\n<aside class='footnote "
           "brackets' id=id9 role=note>\n<span class=label>[1]</span>\n<span "
           "class=backrefs>(<a href='#id1'>1</a>)</span>\n<p>deep</p>\n</aside>"
           "</aside>",
           "# T\nparagraph: x [1]\nnote(footnote): [1]\n"
           "note(footnote): deep\n## B\n");
    expect("<h1>T</h1>x<a href='#id3'>1</a><h2>B</h2><dl class='footnote "
           "brackets'>\n<dt class=label id=id3><span class=brackets>1</span>"
           "</dt>\n<dd><p>deep</p>\n</dd></dl>",
           "# T\nparagraph: x1\nnote(footnote): 1 deep\n## B\n");
    expect("<h1>T</h1>x<a href='#id3'>[1]</a><h2>B</h2><table class='docutils "
           "footnote' id=id3><tr><td class=label>[1]</td><td>deep</td></tr>"
           "</table><p>on</p>",
           "# T\nparagraph: x[1]\nnote(footnote): [1]\n"
           "note(footnote): deep\n## B\nparagraph: on\n");
}

static void test_footnotes_of_markdown(void **state)
{
    (void)state;
    static const char notes[] =
        "<section class=footnotes role=doc-endnotes><hr><ol><li id=fn1><p>deep "
        "<a href='#r1'>↩</a></p></li><li id=fn2><p>x</p><ul><li>l</ul></li>"
        "</ol></section>";
    struct buf page = {0};
    buf_printf(&page,
               "<h1>T</h1><p>a<a href='#fn2'>2</a></p><h2>B</h2><p>b"
               "<a href='#fn1' id=r1>1</a></p><h2>C</h2>%s",
               notes);
    expect(page.data,
           "# T\nparagraph: a2\nnote(footnote): x\nlist(footnote): - l\n"
           "## B\nparagraph: b1\nnote(footnote): deep\n## C\n");
    /* What nothing refers to stays where it is. */
    expect(
        notes,
        "# \nnote(footnote): deep\nnote(footnote): x\nlist(footnote): - l\n");
    expect("<h1>T</h1><p>a<a href='#n1'>1</a></p><h2>B</h2>b<section "
           "class=footnotes><ol><li id=n1>one<li id=n2>two</ol></section>",
           "# T\nparagraph: a1\nnote(footnote): one\n"
           "## B\nparagraph: b\nnote(footnote): two\n");
    expect("<h1>T</h1><p>a<sup><a href='#s'>1</a></sup><h2>B</h2><div "
           "class=footnote-definition id=s><sup>1</sup>\n<p>deep</p></div>b",
           "# T\nparagraph: a1\nnote(footnote): 1 deep\n## B\nparagraph: b\n");
    /* A heading that the author wrote is one; a note in a sentence. */
    expect("<h1>T</h1><section><h2>Footnotes</h2><p>x</section><p>a"
           "<span class=footnote>note</span> b</p><ul><li>c <span "
           "class=footnote>d</span></ul>",
           "# T\nparagraph: a\nnote(footnote): note\nparagraph: b\n"
           "list: - c d\n## Footnotes\nparagraph: x\n");
    expect(
        "<table><tr><td>a<a href='#n'>1</a></td><td>b</td></tr><tbody "
        "class=footnotes>"
        "<tr><td colspan=2><div id=n class=footnote><p><a>[a] </a> deep</div>"
        "</table>",
        "# \ntable: a1\\tb\nnote(footnote): [a] deep\n");
    buf_free(&page);
}

/* The id of a note leads to the node that it is in. */
static void test_footnote_places(void **state)
{
    (void)state;
    static const char html[] =
        "<h1>T</h1><p>a<a href='#n'>1</a><h2>B</h2>b<div class=footnote id=n>"
        "<p>deep <a href=x.html>x</a></div><h3>C</h3><p>c";
    struct tree *tree = parse(html);
    assert_int_equal(tree->count, 3);
    const struct node *node = &tree->nodes[0];
    assert_int_equal(node->ref_count, 2);
    assert_int_equal(node->anchor_count, 1);
    assert_true(slice_is(node->anchors[0], "n"));
    assert_int_equal(node->origin_count, 2);
    assert_int_equal(node->origins[1].span.from, strstr(html, "deep") - html);
    assert_int_equal(tree->nodes[2].parent, 1);
    tree_free(tree);
    check_spans(slice_of(html), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_footnotes),
        TEST(test_footnotes_of_markdown),
        TEST(test_footnote_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
