#include "tests/unit/support/unit.h"

#include <string.h>

#include "indexer/parse/html/dom/dom.h"

/* "svg(foo)" for each element that has text of its own, in document order. */
static void show(const xmlNode *node, struct buf *out)
{
    for (; node; node = node->next) {
        if (!dom_is_element(node)) {
            buf_printf(out, "%s(", (const char *)node->parent->name);
            buf_put_slice(out, dom_text(node)->text);
            buf_put_text(out, ")");
            continue;
        }
        show(node->children, out);
    }
}

static void expect(struct slice html, const char *texts)
{
    struct source source = {.data = html.data, .size = html.size};
    struct buf shown = {0};
    struct dom dom;
    assert_int_equal(dom_parse(&source, &dom, NULL), 0);
    buf_put_text(&shown, "");
    show(dom.doc->children, &shown);
    assert_string_equal(shown.data, texts);
    buf_free(&shown);
    dom_free(&dom);
}

#define EXPECT(html, texts) expect((struct slice){html, sizeof html - 1}, texts)

static void test_sections_of_raw_text(void **state)
{
    (void)state;
    EXPECT("<svg><![CDATA[a < b > c]]></svg>d", "svg(a < b > c)body(d)");
    EXPECT("<math><![CDATA[<svg>]]><mi>x", "math(<svg>)mi(x)");
    EXPECT("<svg></math><![CDATA[a>b", "svg(a>b)");
    EXPECT("<svg><![CDATA[a\r\nb &amp;]]>", "svg(a\nb &amp;)");
    EXPECT("<p><![CDATA[a]]>b", "p(b)");
}

/* What nests within a section has not been looked at for its depth. */
static void test_comment_that_looks_like_a_section(void **state)
{
    (void)state;
    EXPECT("<svg><p><![CDATA[a>b<i>c</i>]]>d", "p(bc]]>)p(d)");
}

/* gumbo aborts at this one when it is given it as it is. */
static void test_section_in_a_title_in_a_table(void **state)
{
    (void)state;
    EXPECT("<table><svg><title><![CDATA[a]]>b", "title(a)title(b)");
}

static void test_first_line_end(void **state)
{
    (void)state;
    EXPECT("<pre>\nA</pre>", "pre(A)");
    EXPECT("<pre>\r\n\r\nA</pre>", "pre(\nA)");
    EXPECT("<listing>&#x0a;&#10;A</listing>", "listing(\nA)");
    EXPECT("<textarea>\nA</textarea>", "textarea(A)");
    EXPECT("<pre><b>\nA</b></pre>", "b(\nA)");
    EXPECT("<pre></pre>\nA", "body(\nA)");
}

static void test_white_space_before_text(void **state)
{
    (void)state;
    EXPECT("<table><colgroup> foo</colgroup></table>", "body(foo)colgroup( )");
    EXPECT("<html> a <frameset></frameset>", "body(a )");
    EXPECT("<frameset> te st", "frameset(  )");
    EXPECT("<title>t</title> a", "title(t)head( )body(a)");
}

static void test_nul(void **state)
{
    (void)state;
    EXPECT("a\0b", "body(ab)");
    EXPECT("<style>a\0b</style>", "style(a\xEF\xBF\xBD"
                                  "b)");
    EXPECT("<svg>a\0b", "svg(a\xEF\xBF\xBD"
                        "b)");
    EXPECT("<math><mi>a\0b", "mi(ab)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections_of_raw_text),
        cmocka_unit_test(test_comment_that_looks_like_a_section),
        cmocka_unit_test(test_section_in_a_title_in_a_table),
        cmocka_unit_test(test_first_line_end),
        cmocka_unit_test(test_white_space_before_text),
        cmocka_unit_test(test_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
