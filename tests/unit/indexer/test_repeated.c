#include "tests/unit/support/unit.h"

#include "indexer/assemble.h"

/* What stands on most pages of a manual, and is some of it all the same. */

/* Takes the tree over. */
static struct piece piece_of(struct tree *tree, char *path)
{
    assert_int_equal(tree_seal(tree, NULL), 0);
    struct piece piece = {.path = path, .skeleton = assemble_skeleton(tree)};
    tree_free(tree);
    return piece;
}

static void free_all(struct tree *outline, const struct piece *pieces,
                     uint32_t count)
{
    tree_free(outline);
    for (uint32_t i = 0; i < count; i++)
        tree_free(pieces[i].skeleton);
}

/* Below a banner an entry is the page where the <title> says so, contents never are. */
static void what_banners_stand_above(void **state)
{
    (void)state;
    static const struct {
        const char *title, *name, *shown;
    } pages[] = {{"pump.start — Works", "pump.start", "pump.start"},
                 {"pump.stop — Works", "pump.stop", "pump.stop"},
                 {"Works", "pump.halt", "Works"},
                 {"Works", "Table of Contents", "Works"}};
    enum { PAGES = 8 };
    struct piece pieces[PAGES];
    char paths[PAGES][8];
    struct tree *outline;
    for (uint32_t i = 0; i < PAGES; i++) {
        struct tree *tree = tree_new(false);
        tree->page.title = slice_of(pages[i % 4].title);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of("Works"), slice_of(""));
        tree_add_node(tree, 0, 2, slice_of(pages[i % 4].name), slice_of(""));
        tree->nodes[1].entry = i % 4 < 3;
        snprintf(paths[i], sizeof paths[i], "%u.html", i);
        tree_add_block(tree, 1, BLOCK_PARAGRAPH, slice_of(paths[i]),
                       slice_of(""), (struct origin){0, {1, 2}});
        pieces[i] = piece_of(tree, paths[i]);
    }
    assert_int_equal(assemble("M", pieces, PAGES, true, &outline, NULL), 0);
    for (uint32_t i = 0, n = 1; i < PAGES; i++, n = outline->nodes[n].end) {
        assert_true(slice_is(outline->nodes[n].title, pages[i % 4].shown));
        assert_false(outline->nodes[n].entry);
    }
    free_all(outline, pieces, PAGES);
}

/* A section that all pages have keeps its text on the first, an option on each, as does
 * what each of several functions says of itself. */
static void what_has_a_name_is_kept(void **state)
{
    (void)state;
    enum { PAGES = 8 };
    struct piece pieces[PAGES] = {0};
    char paths[PAGES][8];
    struct origin origin = {0, {1, 2}};
    static const char *const titles[] = {"Command", "--quiet", "License",
                                         "Returns", "Returns", "Returns"};
    enum { NODES = sizeof titles / sizeof *titles };
    for (uint32_t i = 0; i < PAGES; i++) {
        struct tree *tree = tree_new(false);
        tree_add_file(tree, slice_of(""));
        snprintf(paths[i], sizeof paths[i], "%u.html", i);
        for (uint32_t n = 0; n < NODES; n++) {
            tree_add_node(tree, n ? 0 : TREE_NONE, n ? 2 : 1,
                          slice_of(titles[n]), slice_of(""));
            if (!n)
                tree_add_block(tree, n, BLOCK_PARAGRAPH, slice_of(paths[i]),
                               slice_of(""), origin);
            tree_add_block(tree, n, BLOCK_PARAGRAPH, slice_of(titles[n]),
                           slice_of(""), origin);
        }
        tree->nodes[1].entry = true;
        pieces[i] = piece_of(tree, paths[i]);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, PAGES, true, &outline, NULL), 0);
    assert_int_equal(outline->count, 1 + NODES * PAGES);
    for (uint32_t i = 0; i < PAGES; i++) {
        const struct node *page = &outline->nodes[1 + NODES * i];
        assert_int_equal(page[0].dropped_count, 1);
        assert_int_equal(page[1].dropped_count, 0);
        assert_int_equal(page[2].dropped_count, i > 0);
        for (uint32_t n = 3; n < NODES; n++)
            assert_int_equal(page[n].dropped_count, 0);
    }
    free_all(outline, pieces, PAGES);
}

/* A menu on each page is none of the first, nor is "Back to top" what sections say; an
 * address elsewhere may be. */
static void links_are_not_kept(void **state)
{
    (void)state;
    enum { PAGES = 8 };
    struct piece pieces[PAGES] = {0};
    char paths[PAGES][8];
    struct origin origin = {0, {1, 2}};
    static const char *const titles[] = {"Command", "Menu",    "Sources", "Use",
                                         "Cost",    "License", "Care"};
    static const char *const texts[] = {
        "Text",
        "- Pumps\n- Valves\n- Home",
        "http://works.org",
        "Back to top",
        "Back to top",
        "See the GPL, which comes with it as well.",
        "Back to top"};
    static const struct {
        uint32_t node;
        const char *text, *url;
    } links[] = {{1, "Pumps", "a.html"},
                 {1, "Valves", "b.html"},
                 {1, "Home", "http://works.org"},
                 {2, "http://works.org", "http://works.org"},
                 {3, "Back to top", "#"},
                 {4, "Back to top", "#"},
                 {5, "License", "#license"},
                 {5, "the GPL", "gpl.html"},
                 {6, "Back to top", "#"}};
    enum { NODES = sizeof titles / sizeof *titles };
    for (uint32_t i = 0; i < PAGES; i++) {
        struct tree *tree = tree_new(false);
        tree_add_file(tree, slice_of(""));
        snprintf(paths[i], sizeof paths[i], "%u.html", i);
        for (uint32_t n = 0; n < NODES; n++) {
            tree_add_node(tree, n ? 0 : TREE_NONE, n ? 2 : 1,
                          slice_of(titles[n]), slice_of(""));
            tree_add_block(tree, n, BLOCK_PARAGRAPH,
                           slice_of(n ? texts[n] : paths[i]), slice_of(""),
                           origin);
        }
        for (size_t k = 0; k < sizeof links / sizeof *links; k++)
            tree_add_ref(tree, links[k].node, slice_of(links[k].text),
                         slice_of(links[k].url));
        pieces[i] = piece_of(tree, paths[i]);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, PAGES, true, &outline, NULL), 0);
    for (uint32_t n = 1; n < NODES; n++)
        assert_int_equal(outline->nodes[1 + n].dropped_count, n != 2 && n != 5);
    free_all(outline, pieces, PAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_not_kept),
        cmocka_unit_test(what_has_a_name_is_kept),
        cmocka_unit_test(what_banners_stand_above),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
