#include "tests/unit/support/parsing.h"

/* What the makers of Web sites print around a manual's text. */

/* Nodes by their titles, in order, up to NULL. */
static void assert_titles(const char *html, const char *const *titles)
{
    struct tree *tree = parse(html);
    uint32_t count = 0;
    for (; titles[count]; count++) {
        assert_in_range(count, 0, tree->count - 1);
        assert_true(slice_is(tree->nodes[count].title, titles[count]));
    }
    assert_int_equal(tree->count, count);
    tree_free(tree);
}

/* ExDoc, rustdoc, VitePress: a heading holds what is no part of it. */
static void test_controls_in_titles(void **state)
{
    (void)state;
    static const char *const titles[] = {
        "Pump", "Types", "start/1", "Struct pump::Valve", "Angle", NULL};
    assert_titles(
        "<h1>Pump <a href=x.ex rel=help><i class=icon></i> <span "
        "class=sr-only>View Source</span></a></h1><p>a"
        "<h2><a href=#types class=hover-link><i></i> <span class=sr-only>Link "
        "to this section</span></a> Types</h2><p>b"
        "<h2><button><span>start/1</span></button></h2><p>c"
        "<h2>Struct <b>pump::Valve</b><button id=copy-path><img alt='Copy item "
        "path' "
        "src=c.svg></button></h2><p>d"
        "<h2>Angle <a href=#angle aria-label='Permalink to "
        "Angle'>\u200b</a></h2><p>e",
        titles);
    struct tree *tree =
        parse("<h1>A</h1><p>See <a href=b.html>the valve <span "
              "class=sr-only>(opens a window)</span></a>.</p><p><a "
              "href=c><svg></svg><span class=sr-only>Edit</span></a></p>");
    assert_int_equal(tree->nodes[0].block_count, 1);
    assert_true(slice_is(tree->nodes[0].blocks[0].text,
                         "See the valve (opens a window)."));
    tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_controls_in_titles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
