#include "tests/unit/support/spans.h"

/* What a reader of the page does not see is no text, and what may be opened is. */

/* What the page's own sheets do not show, unless something else may. */
static void test_hidden_by_styles(void **state)
{
    (void)state;
    expect("<style><!-- /* .c{} */ .a , #b,p.c.d{color:red;DISPLAY : none "
           "!important} @media screen{.e{display:none}}--></style>"
           "<p>a<p class='x a'>b<p id=b>c<p class=c>d<p class='d c'>e"
           "<div class='d c'>f</div><p class=e>g<p class=aa>h",
           "# \nparagraph: a\nparagraph: d\nparagraph: f\nparagraph: h\n");
    expect("<style>@import 'x.css';@media print{.a{display:none}.b{display:"
           "none}}@media (max-width:9px){@media screen{.c{display:none}}}"
           "b .d,.e:hover,.f[x],p{display:none}.g{x-display:none}</style>"
           "<style media=print>.h{display:none}</style><p class=a>a"
           "<p class=b>b<p class=c>c<p class=d>d<p class=e>e<p class=f>f"
           "<p class=g>g<p class=h>h",
           "# \nparagraph: a\nparagraph: b\nparagraph: c\nparagraph: d\n"
           "paragraph: e\nparagraph: f\nparagraph: g\nparagraph: h\n");
    /* A state, a rule that weighs more, tabs, what a script opens. */
    expect(
        "<style>.a,.b,.c,.tab-pane,.f,.g{display:none}.a:target{display:"
        "block}b:hover .b.on,x>i:hover{display:inline}@media (x){.g{display:"
        "flex}}p{display:block}</style><p class=a>a<p class=b>b"
        "<i class=c>c</i><div class=tab-pane>d</div><div class=f role=tabpanel"
        ">f</div><p class=g>g<p class=c>h<div class=c><h2>i</h2></div>",
        "# i\nparagraph: a\nparagraph: bc\nparagraph: d\nparagraph: f\n"
        "paragraph: g\n");
    expect("<style>.a{display:none}</style><p class=a>a<p>b"
           "<script>at.style.display = 'block'</script>",
           "# \nparagraph: a\nparagraph: b\n");
    expect("<noscript><style>.a{display:none}.b{display:block}</style>"
           "</noscript><style>.b{display:none}</style><p class=a>a<p class=b>b",
           "# \nparagraph: a\nparagraph: b\n");
    expect("<style>.a{display:none}<p class=a>b", "# \n");
}

/* Bootstrap's menus stand in the midst of sentences. */
static void test_menus(void **state)
{
    (void)state;
#define MENU                                                                   \
    "<span class=dropdown><a class=dropdown-toggle data-toggle=dropdown "      \
    "href='#'>gid</a><ul class='x dropdown-menu'><li>Available in:<li><ul>"    \
    "<li>a</ul></ul></span>"
    static const char html[] = "<pre>As &quot;" MENU "&quot; is.\nb</pre>"
                               "<div>As " MENU ", too.</div>";
    expect(html, "# \ncode: As \"gid\" is.\\nb\nparagraph: As gid, too.\n");
    check_spans(slice_of(html), 2);
    expect("<div><a data-bs-toggle=dropdown>a</a><div class=dropdown-menu>b"
           "</div></div><div><div class=dropdown-menu>c</div></div>",
           "# \nparagraph: a\nparagraph: c\n");
#undef MENU
}

/* Sphinx's links from a name to its source, and back. */
static void test_links_to_sources(void **state)
{
    (void)state;
    static const char html[] =
        "<h1>M</h1><p>a <a href=s><span class=viewcode-link><span>[source]"
        "</span></span></a>b<pre>def f():\n<a class=viewcode-back href=b>[docs]"
        "</a>class A:\n</pre>";
    expect(html, "# M\nparagraph: a b\ncode: def f():\\nclass A:\n");
    check_spans(slice_of(html), 2);
}

/* Flare's and Help & Manual's, not every box with such a style. */
static void test_opened_by_a_click(void **state)
{
    (void)state;
    expect(
        "<h1>A</h1><p>a<div class='x MCDropDownBody_0' style='display: none'>b"
        "</div><p>c <span class=MCExpandingBody style='display: none;'>d</span>"
        "<div MadCap:targetName=t1 style=display:none>e</div><div "
        "id=TOGGLE0186A1 style=display:none>f</div><div id=toggle "
        "class=body style=display:none>g</div>",
        "# A\nparagraph: a\nparagraph: b\nparagraph: c d\nparagraph: e\n"
        "paragraph: f\n");
}

/* What attributes hide is left out of a sentence where it is read and where it is
 * quoted. */
static void test_hidden_within_sentences(void **state)
{
    (void)state;
    static const char html[] =
        "<p>Choose <b>Tools - </b><span><span hidden='true' id=W>Auto "
        "- </span></span><b>Options</b>. Click <i "
        "aria-hidden=TRUE>x<script>put('<i>')"
        "</script></i>OK."
        "<p>a<span style='color:red; Display : none'>b <img hidden src=x>"
        "</span>c <span hidden=until-found>d</span> <img aria-hidden=true "
        "src=y>e<p>f <span hidden id=default1>g</span> h <i class=switch><b "
        "hidden id=default2>i</b><b hidden id=MAC>j</b></i>";
    expect(html, "# \nparagraph: Choose Tools - Options. Click OK.\n"
                 "paragraph: ac d e\nparagraph: f\nparagraph: h i\n");
    check_spans(slice_of(html), 4);
}

/* Without its end tag such an element ends where its page has it end. */
static void test_hidden_without_end(void **state)
{
    (void)state;
    static const char html[] =
        "<table><tr><td>a<td hidden>b<p>x</p><td>c <i hidden>d</i>e<tr hidden>"
        "<td>f<tr><td>g<td>h</table>"
        "<ul><li>a<li hidden>b<ul><li>x</ul><b>y</b><script>'<li>'</script>"
        "<li>c <i hidden>d</i>e</ul>"
        "<ul><li>a<p hidden>b<i>x<li>c <i hidden>d</i>e<li>f<P HIDDEN>g<div>h"
        "</div><li>i</ul>";
    expect(html, "# \ntable: a\\tc e\\ng\\th\nlist: - a\\n- c e\n"
                 "list: - a\\n- c e\\n- f h\\n- i\n");
    check_spans(slice_of(html), 3);
}

/* End tags within it, and what is never ended within a line. */
static void test_hidden_with_ends_within(void **state)
{
    (void)state;
    static const char html[] =
        "<table><tr><td>a</td><td>c</td></tr><tr "
        "hidden><td>x</td><td>y</td></tr>"
        "<tr><td>b</td><td>d</td></tr></table>"
        "<ul><li>a</li><li hidden><svg><path d=''/></svg>x</li><li>b</li>"
        "<li hidden><b>x</li><li>c</li><li hidden><div>x</div>y</b>z</li></ul>"
        "<ul><li>a<div><p hidden>b</i>x</div>c</ul>";
    expect(html, "# \ntable: a\\tc\\nb\\td\nlist: - a\\n- b\\n- c\n"
                 "list: - a c\n");
    check_spans(slice_of(html), 3);
}

/* Who reads a part of a file does not know the sheets. */
static void test_hidden_by_sheets(void **state)
{
    (void)state;
    static const char html[] =
        "<style>.x{display:none}</style><p>a <i class=x>b</i> c";
    expect(html, "# \nparagraph: a\nparagraph: c\n");
    check_spans(slice_of(html), 2);
}

static void expect_reports(const char *html, const char *expected)
{
    struct tree *tree = NULL;
    struct err err = {0};
    struct buf reports = {0};
    const struct parser_inputs inputs = {.reports = &reports};
    buf_put_text(&reports, "");
    if (parser_parse(parser, slice_of(html), PARSER_HTML, &inputs, &tree, &err))
        fail_msg("%s", err.message);
    assert_string_equal(reports.data, expected);
    buf_free(&reports);
    tree_free(tree);
}

/* A page that only a script writes is told of: its text is not in the file. */
static void test_programs(void **state)
{
    (void)state;
    expect_reports(
        "<title>A</title><div id=app></div><script src=a.js></script>",
        "there is no text in it: a script writes what it shows\n");
    expect_reports("<div id=app>Text</div><script src=a.js></script>", "");
    expect_reports("<title>A</title><img src=a.png><script></script>", "");
    expect_reports("<title>A</title><script>location.href = 'b'</script>", "");
    expect_reports("<title>A</title><p>", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hidden_by_styles),        TEST(test_menus),
        TEST(test_links_to_sources),        TEST(test_hidden_within_sentences),
        TEST(test_opened_by_a_click),       TEST(test_hidden_by_sheets),
        TEST(test_hidden_without_end),      TEST(test_programs),
        TEST(test_hidden_with_ends_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
