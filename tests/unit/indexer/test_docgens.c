#include "tests/unit/support/parsing.h"

/* More generators of references, and where links lead. */

/* What <base> says holds for all but places of the page. */
static void test_base(void **state)
{
    (void)state;
    static const struct {
        const char *base, *url, *up;
    } cases[] = {
        {"../", "use.html", "../use.html"},
        {"../x.html", "use.html", "../use.html"},
        {"../", "#use", "#use"},
        {"../", "/use.html", "/use.html"},
        {"../", "http://w.org/", "http://w.org/"},
        {"/docs/", "use.html", "use.html"},
        {"https://w.org/docs/", "use.html", "use.html"},
        {"", "use.html", "use.html"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf page = {0};
        buf_printf(&page, "<base href='%s'><link rel=up href='%s'><p>a",
                   cases[i].base, cases[i].url);
        struct tree *tree = parse(page.data);
        assert_true(slice_is(tree->page.up, cases[i].up));
        tree_free(tree);
        buf_free(&page);
    }
}

/* What stands before <html> makes its head a part of the body. */
static void test_late_title(void **state)
{
    (void)state;
    expect("<a href=n.html>Next</a><hr><html><head><title>Pumps</title></head>"
           "<body><p>a</body></html>",
           "# Pumps\nparagraph: Next\nparagraph: a\n");
    expect("<svg><title>Link</title></svg><p>a", "# \nparagraph: a\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_base), TEST(test_late_title)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
