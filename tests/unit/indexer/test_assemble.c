#include "tests/unit/support/pages.h"

static void up_and_next_links_decide(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "Second", "z.html", "", 0, 0, ""},
        {"b.html", "First", "z.html#top", "c.html", 0, 0, ""},
        {"c.html", "Below", "./b.html", "a.html", 0, 0, ""},
        {"z.html", "Book", "", "b.html", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages,
                 "M(Book(Notes,First(Notes,Below(Notes)),Second(Notes)))");
}

/* A trail says more than a list by hand, but no more than a generator's. */
static void trails_lead_to_pages(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "~classes.html", "", 0, 0, ""},
        {"classes.html", "Classes", "~home.html", "", 0, CONTENTS_GUESS, ""},
        {"home.html", "Home", "", "", 0, 0, ""},
        {"menu.html", "Menu", "", "", 0, CONTENTS_FRAMESET, ""},
        {"part.html", "Part", "", "", 0, CONTENTS_BELOW, "x.html"},
        {"text.html", "Text", "~home.html", "", 0, CONTENTS_GUESS, "a.html"},
        {"x.html", "X", "~home.html", "", 0, 0, ""},
        {"y.html", "Y", "~menu.html", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    static const struct page_of moved[] = {
        {"list.html", "List", "", "", 0, CONTENTS_GUESS, "x.html"},
        {"old.html", "Old", "", "", PAGE_REDIRECT, 0, ""},
        {"x.html", "X", "~old.html", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Home(Notes,Classes(Notes,A(Notes)),Text(Notes)),"
                        "Part(Notes,X(Notes)),Y(Notes))");
    assert_shape(moved, "M(List(Notes,X(Notes)))");
}

/* Where no page is called so, a heading is made, in the place of the first below it. */
static void names_lead_to_pages(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"c/a.html", "A", "=Use|Views", "", 0, 0, ""},
        {"c/b.html", "Views", "=use", "", 0, 0, ""},
        {"c/c.html", "C", "=Use|Lists|Long ones", "", 0, 0, ""},
        {"c/d.html", "D", "=Use|Lists", "", 0, 0, ""},
        {"c/e.html", "E", "=Use", "", 0, 0, ""},
        {"c/f.html", "Lists", "", "", 0, 0, ""},
        {"c/u.html", "Use", "", "", 0, CONTENTS_GUESS, "a.html"},
        {"c/z.html", "Z", "=Views", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    /* Of two helps in one manual each has its own names; an index page of a folder is
     * above those that name nothing. */
    static const struct page_of two[] = {
        {"a/index.html", "Top", "=Use", "", 0, 0, ""},
        {"b/c/x.html", "X", "=Use", "", 0, 0, ""},
        {"c/use.html", "Use", "", "", 0, 0, ""},
        {"index.html", "Home", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Lists(Notes),Use(Notes,Views(Notes,A(Notes)),"
                        "Lists(Long ones(C(Notes)),D(Notes)),E(Notes)),"
                        "Views(Z(Notes)))");
    assert_shape(two, "M(Home(Notes,Use(X(Notes)),"
                      "Use(Notes,Top(Notes))))");
}

/* The page that heads the folder stands below a heading that its own name makes. */
static void names_make_no_circles(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "=B", "", 0, 0, ""},
        {"b.html", "B", "=A", "", 0, 0, ""},
        {"index.html", "Top", "=Start", "", 0, CONTENTS_GUESS, "a.html"},
        {"s.html", "S", "=Start|Top|S", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Start(Top(Notes,S(S(Notes)))),B(A(Notes)),"
                        "A(B(Notes)))");
}

static void folders_have_index_pages(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"b/index.html", "B", "", "", 0, 0, ""},
        {"b/x.html", "X", "", "", 0, 0, ""},
        {"c/y.html", "Y", "", "", 0, 0, ""},
        {"index.html", "Top", "", "", 0, 0, ""},
        {"r.html", "R", "", "", PAGE_REDIRECT, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,B(Notes,X(Notes)),A(Notes),Y(Notes)))");
    /* In capitals, too, but for what has a name each. */
    static const struct page_of capitals[] = {
        {"INDEX.HTM", "Top", "", "", 0, 0, ""},
        {"a.htm", "A", "", "", 0, 0, ""},
        {"b/Index.html", "Index", "", "", PAGE_INDEX, 0, ""},
        {"b/x.html", "X", "", "", 0, 0, ""},
        {"c/Index.html", "C", "", "", 0, 0, ""},
        {"c/y.html", "Y", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(capitals, "M(Top(Notes,C(Notes,Y(Notes)),A(Notes),"
                           "Index(Notes),X(Notes)))");
}

static void generators_list_contents(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, CONTENTS_BELOW, "x.html"},
        {"b.html", "B", "", "", 0, 0, ""},
        {"i/index.html", "I", "", "", 0, CONTENTS_BELOW, "../a.html"},
        {"index.html", "Top", "", "", 0, CONTENTS_BELOW,
         "b.html i/index.html a.html >x.html >y.html"},
        {"x.html", "X", "", "", 0, CONTENTS_GUESS, "index.html y.html"},
        {"y.html", "Y", "", "", 0, 0, ""},
        {"z.html", "Z", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,B(Notes),I(Notes),"
                        "A(Notes,X(Notes),Y(Notes)),Z(Notes)))");
}

/* mdBook: every page has the whole list. */
static void whole_lists_nest(void **state)
{
    (void)state;
    static const char list[] = "index.html c.html >b.html >a.html d.html";
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, CONTENTS_WHOLE, list},
        {"b.html", "B", "", "", 0, CONTENTS_WHOLE, list},
        {"c.html", "C", "", "", 0, CONTENTS_WHOLE, list},
        {"d.html", "D", "", "", 0, CONTENTS_WHOLE, list},
        {"index.html", "Top", "", "", 0, CONTENTS_WHOLE, list},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,C(Notes,B(Notes),A(Notes)),D(Notes)))");
}

/* Each page prints the list, some of it closed, with headings that are no pages. */
static void whole_lists_have_headings(void **state)
{
    (void)state;
    static const char open[] = "index.html =Use >=Pumps >>a.html >>b.html "
                               "=More =Empty",
                      closed[] = "index.html =Use =More >d.html";
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, CONTENTS_WHOLE, open},
        {"b.html", "B", "", "", 0, CONTENTS_WHOLE, open},
        {"d.html", "D", "", "", 0, CONTENTS_WHOLE, closed},
        {"index.html", "Top", "", "", 0, CONTENTS_WHOLE, closed},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,Use(Pumps(A(Notes),B(Notes))),"
                        "More(D(Notes))))");
}

/* As a server finds them: folders, names without an ending, from the site's root. */
static void sites_have_paths_of_their_own(void **state)
{
    (void)state;
    static const char list[] = "/tool/use /tool/use/pump/ /tool/use/valve "
                               ">/tool/use/leak.html >/blog/use";
    static const struct page_of pages[] = {
        {"use.html", "Use", "", "", 0, CONTENTS_WHOLE, list},
        {"use/leak.html", "Leak", "", "", 0, CONTENTS_WHOLE, list},
        {"use/pump/index.html", "Pump", "", "../..", 0, CONTENTS_WHOLE, list},
        {"use/valve/index.html", "Valve", "", "../pump/", 0, CONTENTS_WHOLE,
         list},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Use(Notes),Pump(Notes),Valve(Notes,Leak(Notes)))");
    static const char below[] = "/use/b /use/a";
    static const struct page_of folder[] = {
        {"docs/index.html", "Docs", "", "", 0, CONTENTS_WHOLE, below},
        {"docs/use/a.html", "A", "", "", 0, CONTENTS_WHOLE, below},
        {"docs/use/b.html", "B", "", "", 0, CONTENTS_WHOLE, below},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(folder, "M(Docs(Notes,B(Notes),A(Notes)))");
}

static void lists_by_hand_lead_away_from_the_top(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"all.html", "All", "", "", 0, CONTENTS_GUESS,
         "a.html b.html c.html lang.html x.html index.html"},
        {"b.html", "B", "", "", 0, 0, ""},
        {"c.html", "C", "", "", 0, CONTENTS_GUESS, "lang.html b.html"},
        {"index.html", "Top", "", "", 0, CONTENTS_GUESS, "lang.html all.html"},
        {"lang.html", "Language", "", "", 0, CONTENTS_GUESS,
         "c.html a.html index.html"},
        {"x.html", "X", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,Language(Notes,C(Notes),A(Notes)),"
                        "All(Notes,B(Notes),X(Notes))))");
}

static void menus_give_way_to_their_pages(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"b.html", "B", "", "", 0, 0, ""},
        {"index.html", "Top", "", "", 0, CONTENTS_FRAMESET,
         "tabs.html main.html"},
        {"main.html", "Main", "", "", 0, 0, ""},
        {"tabs.html", "Tabs", "", "", 0, CONTENTS_GUESS, "b.html a.html"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,B(Notes),A(Notes),Main(Notes)))");
}

static void the_head_comes_first_though_a_menu_lists_the_others(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"b.html", "B", "", "", 0, CONTENTS_GUESS, "sitemap.html"},
        {"index.html", "Top", "", "", 0, 0, ""},
        {"sitemap.html", "Map", "", "", 0, CONTENTS_GUESS,
         "b.html a.html index.html"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes),B(Notes),A(Notes))");
}

static void javadoc_keeps_packages_and_classes(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"index.html", "Overview", "", "", 0, CONTENTS_BELOW,
         "org/b/package-summary.html org/package-summary.html"},
        {"index-files/index-1.html", "A-Index", "", "", 0, 0, ""},
        {"index-files/layout.html", "Layout of indexes", "", "", 0, 0, ""},
        {"org/A.html", "A", "", "", 0, 0, ""},
        {"org/B.html", "B", "", "", 0, 0, ""},
        {"org/b/C.html", "C", "", "", 0, 0, ""},
        {"org/b/package-summary.html", "org.b", "", "", 0, CONTENTS_BELOW,
         "C.html"},
        {"org/class-use/A.html", "Use", "", "", 0, 0, ""},
        {"org/package-summary.html", "org", "", "", 0, CONTENTS_BELOW,
         "B.html A.html"},
        {"org/package-tree.html", "Tree", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Overview(Notes,org.b(Notes,C(Notes)),"
                        "org(Notes,B(Notes),A(Notes))),"
                        "Layout of indexes(Notes))");
}

static void equal_pages_stand_once(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"b.html", "A", "", "", 0, 0, ""},
        {"c.html", "C", "b.html", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(A(Notes,C(Notes)))");
    struct tree *outline = assembled(pages);
    assert_int_equal(outline->file_count, 3);
    const struct node *a = &outline->nodes[1];
    assert_int_equal(a->origin_count, 2);
    assert_int_equal(a->origins[0].file, 0);
    assert_int_equal(a->origins[1].file, 1);
    tree_free(outline);
}

/* Pages of a banner, a line on most of them and a section each. */
static void what_most_pages_say_is_dropped(void **state)
{
    (void)state;
    struct piece pieces[9] = {0};
    char paths[9][8], title[8];
    struct origin origin = {0, {1, 2}};
    for (uint32_t i = 0; i < 9; i++) {
        struct tree *tree = tree_new(false);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of("Banner"), slice_of("b"));
        snprintf(title, sizeof title, "S%u", i);
        tree_add_node(tree, 0, 2, slice_of(title), slice_of(""));
        tree_add_block(tree, 0, BLOCK_PARAGRAPH, slice_of("Home | Next"),
                       slice_of(""), origin);
        tree_add_block(tree, 1, BLOCK_PARAGRAPH, slice_of(title), slice_of(""),
                       origin);
        tree_add_block(tree, 1, i < 5 ? BLOCK_PARAGRAPH : BLOCK_CODE,
                       slice_of("made by hand"), slice_of(""), origin);
        assert_int_equal(tree_seal(tree, NULL), 0);
        snprintf(paths[i], sizeof paths[i], "%u.html", i);
        pieces[i].path = paths[i];
        pieces[i].skeleton = assemble_skeleton(tree);
        tree_free(tree);
    }
    for (uint32_t count = 9; count >= 7; count -= 2) {
        struct tree *outline;
        assert_int_equal(assemble("M", pieces, count, true, &outline, NULL), 0);
        const struct node *node = &outline->nodes[1];
        assert_int_equal(outline->count, count == 9 ? 10 : 15);
        if (count == 9) {
            assert_true(slice_is(node->title, "S0"));
            assert_true(slice_is(node->anchors[0], "b"));
            assert_int_equal(node->dropped_count, 1);
            assert_int_equal(node->boilerplate[0], 1);
            assert_int_equal(outline->nodes[9].dropped_count, 0);
        }
        tree_free(outline);
    }
    for (uint32_t i = 0; i < 9; i++)
        tree_free(pieces[i].skeleton);
}

/* The <title> tells the banner from a chapter above its only section. */
static void banners_of_few_pages_are_dropped(void **state)
{
    (void)state;
    static const struct {
        const char *path, *title, *banner, *name, *shown;
    } pages[] = {{"a.html", "Guide 10 - Realm", "Guide", "Realm", "Realm"},
                 {"b.html", "Valve | Guide", "Guide", "Valve", "Valve"},
                 {"c.html", "Guide", "Guide", "Host", "Guide"},
                 {"d.html", "Guide (10) - Port", "Guide", "Port", "Port"},
                 {"e.html", "Book - Part", "Book", "Part", "Book"}};
    struct piece pieces[5] = {0};
    struct tree *outline;
    for (uint32_t i = 0; i < 5; i++) {
        struct tree *tree = tree_new(false);
        tree->page.title = slice_of(pages[i].title);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of(pages[i].banner),
                      slice_of(""));
        tree_add_node(tree, 0, 2, slice_of(pages[i].name), slice_of(""));
        tree_add_block(tree, 1, BLOCK_PARAGRAPH, slice_of(pages[i].name),
                       slice_of(""), (struct origin){0, {1, 2}});
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i] = (struct piece){.path = pages[i].path,
                                   .skeleton = assemble_skeleton(tree)};
        tree_free(tree);
    }
    assert_int_equal(assemble("M", pieces, 5, true, &outline, NULL), 0);
    for (uint32_t i = 0, n = 1; i < 5; i++, n = outline->nodes[n].end)
        assert_true(slice_is(outline->nodes[n].title, pages[i].shown));
    tree_free(outline);
    for (uint32_t i = 0; i < 5; i++)
        tree_free(pieces[i].skeleton);
}

/* Of several sections below such a banner the first is the page, where the <title> says so. */
static void banners_above_several_sections_are_dropped(void **state)
{
    (void)state;
    static const char *const titles[] = {"Works :: Pump", "Works :: Valve",
                                         "Works :: Host", "Works"};
    static const char *const names[] = {"Pump", "Valve", "Host", "Port"};
    struct piece pieces[4] = {0};
    char paths[4][8];
    struct tree *outline;
    for (uint32_t i = 0; i < 4; i++) {
        struct tree *tree = tree_new(false);
        tree->page.title = slice_of(titles[i]);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of("Works"), slice_of("w"));
        tree_add_node(tree, 0, 1, slice_of(names[i]), slice_of(""));
        tree_add_node(tree, 1, 2, slice_of("Use"), slice_of(""));
        tree_add_node(tree, 0, 1, slice_of("Care"), slice_of(""));
        tree_add_node(tree, 3, 2, slice_of("Oil"), slice_of(""));
        assert_int_equal(tree_seal(tree, NULL), 0);
        snprintf(paths[i], sizeof paths[i], "%u.html", i);
        pieces[i] = (struct piece){.path = paths[i],
                                   .skeleton = assemble_skeleton(tree)};
        tree_free(tree);
    }
    assert_int_equal(assemble("M", pieces, 4, true, &outline, NULL), 0);
    struct buf out = {0};
    shape(outline, 0, &out);
    assert_string_equal(out.data, "M(Pump(Use,Care(Oil)),Valve(Use,Care(Oil)),"
                                  "Host(Use,Care(Oil)),"
                                  "Works(Port(Use),Care(Oil)))");
    assert_true(slice_is(outline->nodes[1].anchors[0], "w"));
    buf_free(&out);
    tree_free(outline);
    for (uint32_t i = 0; i < 4; i++)
        tree_free(pieces[i].skeleton);
}

/* What eight pages have as their <title> and above their section is the name of a book. */
static void names_of_books_are_dropped(void **state)
{
    (void)state;
    for (uint32_t count = 7; count <= 8; count++) {
        struct piece pieces[20] = {0};
        char names[20][8];
        struct tree *outline;
        for (uint32_t i = 0; i < 20; i++) {
            struct tree *tree = tree_new(false);
            snprintf(names[i], sizeof names[i], "%02u.html", i);
            tree->page.title = slice_of(i < count ? "Book" : names[i]);
            tree_add_file(tree, slice_of(""));
            tree_add_node(tree, TREE_NONE, 1, tree->page.title, slice_of(""));
            tree_add_node(tree, 0, 2, slice_of(names[i]), slice_of(""));
            assert_int_equal(tree_seal(tree, NULL), 0);
            pieces[i] = (struct piece){.path = names[i],
                                       .skeleton = assemble_skeleton(tree)};
            tree_free(tree);
        }
        assert_int_equal(assemble("M", pieces, 20, true, &outline, NULL), 0);
        assert_true(
            slice_is(outline->nodes[1].title, count == 8 ? "00.html" : "Book"));
        tree_free(outline);
        for (uint32_t i = 0; i < 20; i++)
            tree_free(pieces[i].skeleton);
    }
}

/* "Most pages" are most of those that are in the tree. */
static void what_is_left_out_does_not_count(void **state)
{
    (void)state;
    struct piece pieces[20] = {0};
    char paths[20][8];
    struct origin origin = {0, {1, 2}};
    for (uint32_t i = 0; i < 20; i++) {
        struct tree *tree = tree_new(false);
        snprintf(paths[i], sizeof paths[i], "%02u.html", i);
        tree->page.role = i < 9 ? PAGE_CONTENT : PAGE_REDIRECT;
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of(paths[i]), slice_of(""));
        tree_add_block(tree, 0, BLOCK_PARAGRAPH,
                       slice_of(i < 9 ? "Home | Next" : "Moved"), slice_of(""),
                       origin);
        tree_add_block(tree, 0, BLOCK_PARAGRAPH, slice_of(paths[i]),
                       slice_of(""), origin);
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i].path = paths[i];
        pieces[i].skeleton = assemble_skeleton(tree);
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, 20, true, &outline, NULL), 0);
    assert_int_equal(outline->count, 10);
    assert_int_equal(outline->nodes[1].dropped_count, 1);
    tree_free(outline);
    for (uint32_t i = 0; i < 20; i++)
        tree_free(pieces[i].skeleton);
}

/* Nine pages of 30 texts each, the last with all of them once more. */
static void the_whole_once_more_is_left_out(void **state)
{
    (void)state;
    struct piece pieces[10] = {0};
    char paths[10][8], text[80];
    struct origin origin = {0, {1, 2}};
    for (uint32_t i = 0; i < 10; i++) {
        struct tree *tree = tree_new(false);
        snprintf(paths[i], sizeof paths[i], "%u.html", i);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of(paths[i]), slice_of(""));
        for (uint32_t t = 0; t < 300; t++) {
            snprintf(text, sizeof text,
                     "text %u of more words than two pages have by chance", t);
            if (i == 9 ? t < 270 : t / 30 == i)
                tree_add_block(tree, 0, BLOCK_PARAGRAPH, slice_of(text),
                               slice_of(""), origin);
        }
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i].path = paths[i];
        pieces[i].skeleton = assemble_skeleton(tree);
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, 10, true, &outline, NULL), 0);
    assert_int_equal(outline->count, 10);
    assert_int_equal(find(outline, "9.html"), TREE_NONE);
    tree_free(outline);
    assert_int_equal(assemble("M", pieces + 3, 7, true, &outline, NULL), 0);
    assert_int_equal(outline->count, 8);
    tree_free(outline);
    for (uint32_t i = 0; i < 10; i++)
        tree_free(pieces[i].skeleton);
}

/* Six pages of 30 texts each, and two that have all of them once more, and `only` texts
 * that stand on these two alone. */
static uint32_t nodes_of_two_wholes(uint32_t only)
{
    struct piece pieces[8] = {0};
    char paths[8][8], text[80];
    struct origin origin = {0, {1, 2}};
    for (uint32_t i = 0; i < 8; i++) {
        struct tree *tree = tree_new(false);
        snprintf(paths[i], sizeof paths[i], "%u.html", i);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, 1, slice_of(paths[i]), slice_of(""));
        for (uint32_t t = 0; t < 180 + only; t++) {
            snprintf(text, sizeof text,
                     "text %u of more words than two pages have by chance", t);
            if (i >= 6 || t / 30 == i)
                tree_add_block(tree, 0, BLOCK_PARAGRAPH, slice_of(text),
                               slice_of(""), origin);
        }
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i].path = paths[i];
        pieces[i].skeleton = assemble_skeleton(tree);
        /* or the second would be left out for being the same */
        pieces[i].content = (struct hash128){i + 1, i + 1};
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, 8, true, &outline, NULL), 0);
    uint32_t count = outline->count;
    tree_free(outline);
    for (uint32_t i = 0; i < 8; i++)
        tree_free(pieces[i].skeleton);
    return count;
}

/* What stands on two such pages and nowhere else is not lost with both. */
static void the_whole_twice_more_is_left_out(void **state)
{
    (void)state;
    assert_int_equal(nodes_of_two_wholes(0), 7);
    assert_int_equal(nodes_of_two_wholes(40), 8);
}

/* Doxygen's listings of sources are left out, whatever else ends so is not, and its page
 * of links to all others. */
static void listings_are_left_out(void **state)
{
    (void)state;
    enum { PAGES = 4 };
    static char *const paths[] = {"doxygen_crawl.html", "mem_8h.html",
                                  "mem_8h_source.html", "open_source.html"};
    struct piece pieces[PAGES] = {0};
    for (uint32_t i = 0; i < PAGES; i++) {
        struct tree *tree = page_with("a", paths[i]);
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i].path = paths[i];
        pieces[i].skeleton = assemble_skeleton(tree);
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, PAGES, true, &outline, NULL), 0);
    for (uint32_t i = 0; i < PAGES; i++)
        assert_int_equal(outline->excluded[i],
                         i == 0 || i == 2 ? EXCLUDED_LISTS : EXCLUDED_NOT);
    tree_free(outline);
    for (uint32_t i = 0; i < PAGES; i++)
        tree_free(pieces[i].skeleton);
}

/* Doxygen: each class is in the list of its own members, and deeper in that of all. */
static void lists_of_members_are_no_contents(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"annotated.html", "Classes", "", "", 0, CONTENTS_BELOW,
         "space.html >classa.html"},
        {"classa-members.html", "A Members", "", "", 0, CONTENTS_BELOW,
         "classa.html"},
        {"classa.html", "A", "", "", 0, 0, ""},
        {"club-members.html", "Members", "", "", 0, 0, ""},
        {"club.html", "Club", "", "", 0, 0, ""},
        {"group-members.html", "Nodes", "", "", 0, CONTENTS_BELOW,
         "leader.html"},
        {"group.html", "Group", "", "", 0, 0, ""},
        {"hierarchy.html", "Tree", "", "", 0, CONTENTS_BELOW, "classa.html"},
        {"leader.html", "Leader", "", "", 0, 0, ""},
        {"space.html", "Space", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Classes(Notes,Space(Notes,A(Notes))),"
                        "Members(Notes),Club(Notes),Nodes(Notes,Leader(Notes)),"
                        "Group(Notes),Tree(Notes))");
}

/* Those of all names of a kind are nothing but links. */
static void lists_of_names_are_left_out(void **state)
{
    (void)state;
    static char *const paths[] = {
        "functions.html",      "functions_b.html",     "functions_func_b.html",
        "functions_math.html", "functions_types.html", "global.html",
        "globals_enum.html",   "globals_vars.html",    "pump.html"};
    enum { PAGES = sizeof paths / sizeof *paths };
    struct piece pieces[PAGES] = {0};
    struct tree *outline;
    for (uint32_t i = 0; i < PAGES; i++) {
        struct tree *tree = tree_new(false);
        tree_add_file(tree, slice_of(""));
        tree_add_node(tree, TREE_NONE, i == 7, slice_of("Names"), slice_of(""));
        tree->page.contents = i == 6 ? CONTENTS_NONE : CONTENTS_BELOW;
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i] = (struct piece){.path = paths[i],
                                   .skeleton = assemble_skeleton(tree)};
        tree_free(tree);
    }
    assert_int_equal(assemble("M", pieces, PAGES, true, &outline, NULL), 0);
    for (uint32_t i = 0; i < PAGES; i++)
        assert_int_equal(outline->excluded[i] == EXCLUDED_LISTS,
                         i == 2 || i == 6);
    tree_free(outline);
    for (uint32_t i = 0; i < PAGES; i++)
        tree_free(pieces[i].skeleton);
}

/* QDoc's are called as the page of the class is. */
static void lists_of_members_are_left_out(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"qpen-members.html", "List of All Members for QPen", "", "", 0, 0, ""},
        {"qsize-members.html", "List of All Members for QSize", "", "", 0,
         CONTENTS_GUESS, "qsize.html"},
        {"qsize-obsolete.html", "Obsolete Members for QSize", "", "", 0, 0, ""},
        {"qsize.html", "QSize Class", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages,
                 "M(List of All Members for QPen(Notes),Obsolete Members "
                 "for QSize(Notes),QSize Class(Notes))");
}

static void pages_for_mathjax_are_variants(void **state)
{
    (void)state;
    static const char *const paths[] = {"chap1.html", "chap1_mj.html",
                                        "chap2_mj.html", "energy.html",
                                        "energy_mj.html"};
    struct piece pieces[5] = {0};
    for (uint32_t i = 0; i < 5; i++) {
        struct tree *tree = page_with("a", paths[i]);
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i].path = paths[i];
        pieces[i].skeleton = assemble_skeleton(tree);
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, 5, true, &outline, NULL), 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(outline->excluded[i],
                         i == 1 ? EXCLUDED_VARIANT : EXCLUDED_NOT);
    tree_free(outline);
    for (uint32_t i = 0; i < 5; i++)
        tree_free(pieces[i].skeleton);
}

/* An index page's entries go to what they lead to, each name once; those of a
 * page without text of its own to its first section, and not to another page's. */
static void index_entries_name_sections(void **state)
{
    (void)state;
    static const struct page_alias entries[] = {
        {{"second", 6}, {"b.html#two", 10}},
        {{"by another anchor", 17}, {"b.html#other", 12}},
        {{"second", 6}, {"b.html#other", 12}},
        {{"packed", 6}, {"b.html.gz#two", 13}},
        {{"page", 4}, {"a.html", 6}},
        {{"no such anchor", 14}, {"a.html#zero", 11}},
        {{"nowhere", 7}, {"c.html", 6}},
        {{"empty", 5}, {"aa.html", 7}},
    };
    enum { ENTRIES = sizeof entries / sizeof *entries };
    struct piece pieces[4] = {{.path = "a.html"},
                              {.path = "aa.html"},
                              {.path = "b.html"},
                              {.path = "index.html"}};
    struct tree *trees[4] = {page_with("one", "first"), tree_new(false),
                             page_with("two", "second"),
                             page_with("x", "index")};
    tree_add_file(trees[1], slice_of(""));
    tree_add_node(trees[1], TREE_NONE, 1, slice_of("Empty"), slice_of(""));
    tree_add_origin(trees[1], 0, (struct origin){0, {1, 2}});
    trees[3]->page.role = PAGE_INDEX;
    trees[3]->page.aliases = tree_copy_aliases(trees[3], entries, ENTRIES);
    trees[3]->page.alias_count = ENTRIES;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tree_seal(trees[i], NULL), 0);
        pieces[i].skeleton = assemble_skeleton(trees[i]);
        tree_free(trees[i]);
    }
    for (int with = 0; with < 2; with++) {
        struct tree *outline;
        assert_int_equal(assemble("M", pieces, 4, with, &outline, NULL), 0);
        assert_int_equal(outline->has_aliases, with);
        const struct node *one = &outline->nodes[find(outline, "one")];
        const struct node *two = &outline->nodes[find(outline, "two")];
        assert_int_equal(one->alias_count, with ? 2 : 0);
        assert_int_equal(two->alias_count, with ? 3 : 0);
        if (with) {
            assert_true(slice_is(one->aliases[0], "no such anchor"));
            assert_true(slice_is(one->aliases[1], "page"));
            assert_true(slice_is(two->aliases[0], "by another anchor"));
            assert_true(slice_is(two->aliases[1], "packed"));
            assert_true(slice_is(two->aliases[2], "second"));
        }
        tree_free(outline);
    }
    for (int i = 0; i < 4; i++)
        tree_free(pieces[i].skeleton);
}

/* Main files over the same chapters are one document. */
static void another_layout_is_excluded(void **state)
{
    (void)state;
    enum { LAYOUTS = 10 };
    struct piece pieces[LAYOUTS] = {0};
    char paths[LAYOUTS][8], text[80];
    for (uint32_t i = 0; i < LAYOUTS; i++) {
        struct tree *tree = tree_new(false);
        struct origin origin = {1, {1, 2}};
        snprintf(paths[i], sizeof paths[i], "%u.tex", i);
        tree_add_file(tree, slice_of(paths[i]));
        tree_add_file(tree, slice_of(i == 9 ? "own.tex" : "chapter.tex"));
        tree_add_node(tree, TREE_NONE, 1, slice_of(paths[i]), slice_of(""));
        /* 3 has most, 8 has much of its own, 9 includes something else. */
        for (uint32_t t = 0; t < (i == 3 ? 40 : i == 8 ? 10 : 30); t++) {
            snprintf(text, sizeof text, "a text of the book, number %u", t);
            tree_add_block(tree, 0, BLOCK_PARAGRAPH, slice_of(text),
                           slice_of(""), origin);
        }
        for (uint32_t t = 0; i == 8 && t < 20; t++) {
            snprintf(text, sizeof text, "a text of its own, number %u", t);
            tree_add_block(tree, 0, BLOCK_PARAGRAPH, slice_of(text),
                           slice_of(""), origin);
        }
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i].path = paths[i];
        pieces[i].skeleton = assemble_skeleton(tree);
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, LAYOUTS, true, &outline, NULL), 0);
    for (uint32_t i = 0; i < LAYOUTS; i++)
        assert_int_equal(outline->excluded[i],
                         i == 3 || i >= 8 ? EXCLUDED_NOT : EXCLUDED_VARIANT);
    tree_free(outline);
    for (int i = 0; i < LAYOUTS; i++)
        tree_free(pieces[i].skeleton);
}

/* Every file that is not in the tree says why. */
static void what_is_left_out_has_a_reason(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"b.html", "A", "", "", 0, 0, ""},
        {"contents.html", "Contents", "", "", 0, CONTENTS_GUESS, "a.html"},
        {"index.html", "Top", "", "", 0, 0, ""},
        {"r.html", "R", "", "", PAGE_REDIRECT, 0, ""},
        {"s.html", "S", "", "", PAGE_SEARCH, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    static const int reasons[] = {EXCLUDED_NOT,      EXCLUDED_SAME,
                                  EXCLUDED_MENU,     EXCLUDED_NOT,
                                  EXCLUDED_REDIRECT, EXCLUDED_SEARCH};
    struct tree *outline = assembled(pages);
    for (int i = 0; i < 6; i++)
        assert_int_equal(outline->excluded[i], reasons[i]);
    tree_free(outline);
}

/* What WebWorks, RoboHelp and Help & Manual make besides pages; others may be called alike. */
static void help_frames_are_left_out(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"_hmpermalink.html", "P", "", "", 0, 0, ""},
        {"popups/oil.htm", "oil.htm", "", "", 0, 0, ""},
        {"popups/open.htm", "Open", "", "", 0, 0, ""},
        {"pump.htm", "Pump", "", "", 0, 0, ""},
        {"when.htm", "When", "", "", 0, 0, ""},
        {"whgdata/whlstt0.htm", "Contents", "", "", 0, CONTENTS_WHOLE,
         "../when.htm =Use >../pump.htm"},
        {"whnjs.htm", "Tabs", "", "", 0, 0, ""},
        {"wwhelp/wwhimpl/js/html/x.htm", "X", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(When(Notes),Use(Pump(Notes)),Open(Notes))");
    static const struct page_of others[] = {
        {"my_files/header.htm", "H", "", "", 0, 0, ""},
        {"popups/oil.htm", "O", "", "", 0, 0, ""},
        {"whgdata/whlstt0.htm", "A", "", "", 0, 0, ""},
        {"wwhelp/x.htm", "X", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(others, "M(H(Notes),O(Notes),A(Notes),X(Notes))");
}

/* Sandcastle's lists of a class's members are no pages; the members are below the class. */
static void lists_in_contents_are_above_nothing(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"WebTOC.xml", "", "", "", 0, CONTENTS_WHOLE,
         "pump.htm >new.htm >methods.htm >>open.htm"},
        {"methods.htm", "Methods", "", "", PAGE_MADE, 0, ""},
        {"new.htm", "New", "", "", 0, 0, ""},
        {"open.htm", "Open", "", "", 0, 0, ""},
        {"pump.htm", "Pump", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Pump(Notes,New(Notes),Open(Notes)))");
    static const struct page_of files[] = {
        {"dir.html", "Folder", "", "", PAGE_MADE, 0, ""},
        {"files.html", "Files", "", "", 0, CONTENTS_BELOW,
         "dir.html >pump.html"},
        {"pump.html", "pump.h", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(files, "M(Files(Notes,pump.h(Notes)))"); /* Doxygen's */
}

/* The contents of HTML Help say where pages stand, and are none. */
static void help_contents_are_read(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"html/pump.htm", "Pump", "", "", 0, 0, ""},
        {"html/start.htm", "Start", "", "", 0, 0, ""},
        {"html/when.htm", "When", "", "", 0, 0, ""},
        {"index.hhk", "index.hhk", "", "", PAGE_INDEX, 0, ""},
        {"toc.hhc", "toc.hhc", "", "", 0, CONTENTS_WHOLE,
         "html/start.htm =Use >html/when.htm >>html/pump.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Start(Notes),Use(When(Notes,Pump(Notes))))");
}

/* JavaHelp's name pages by a map, one for each language; Eclipse's may have a list in the
 * place of an entry of another. */
static void help_contents_in_xml_are_read(void **state)
{
    (void)state;
    static const struct page_of javahelp[] = {
        {"de/pump.htm", "Pumpe", "", "", 0, 0, ""},
        {"en/pump.htm", "Pump", "", "", 0, 0, ""},
        {"en/toc.xml", "toc", "", "", 0, CONTENTS_WHOLE, "#use >#pump >#gone"},
        {"en/use.htm", "Use", "", "", 0, 0, ""},
        {"map_de.jhm", "map", "", "", 0, CONTENTS_MAP, "pump=de/pump.htm"},
        {"map_en.jhm", "map", "", "", 0, CONTENTS_MAP,
         "pump=en/pump.htm use=en/use.htm gone=en/gone.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(javahelp, "M(Use(Notes,Pump(Notes)),Pumpe(Notes))");
    static const struct page_of eclipse[] = {
        {"more.xml", "more", "", "", 0, CONTENTS_WHOLE, "/pump.htm /valve.htm"},
        {"pump.htm", "Pump", "", "", 0, 0, ""},
        {"toc.xml", "toc", "", "", 0, CONTENTS_WHOLE, "/use.htm >more.xml"},
        {"use.htm", "Use", "", "", 0, 0, ""},
        {"valve.htm", "Valve", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(eclipse, "M(Use(Notes,Pump(Notes),Valve(Notes)))");
}

/* A list by hand that sorts pages under headings. */
static void headings_in_lists_become_nodes(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"b.html", "B", "", "", 0, 0, ""},
        {"c.html", "C", "", "", 0, 0, ""},
        {"d.html", "D", "", "", 0, 0, ""},
        {"docs.html", "Docs", "", "", 0, CONTENTS_GROUPS,
         "=First >c.html >a.html =Second >b.html >c.html d.html =Empty"},
        {"index.html", "Top", "", "", 0, CONTENTS_GUESS, "b.html docs.html"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,Docs(Notes,D(Notes),First(C(Notes),"
                        "A(Notes)),Second(B(Notes)))))");
}

static void circles_are_cut(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "b.html", "b.html", 0, 0, ""},
        {"b.html", "B", "a.html", "a.html", 0, 0, ""},
        {"s.html", "S", "s.html", "s.html", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(A(Notes,B(Notes)),S(Notes))");
}

static void links_that_lead_nowhere_do_no_harm(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "../../../etc/passwd", "http://x/", 0, 0, ""},
        {"b.html", "B", "missing.html", "#", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(A(Notes),B(Notes))");
}

static void ids_are_kept(void **state)
{
    (void)state;
    static const struct page_of before[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"b.html", "B", "", "", 0, 0, ""},
        {"c.html", "C", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    /* a is gone, b moved to another file, c stays
     * d is new. */
    static const struct page_of after[] = {
        {"c.html", "C", "", "", 0, 0, ""},
        {"d.html", "D", "", "", 0, 0, ""},
        {"x/b.html", "B", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    struct tree *old = assembled(before), *now = assembled(after);
    for (uint32_t n = 0; n < old->count; n++)
        old->nodes[n].id = 100 + n;
    uint32_t *matched = mem_alloc(now->count * sizeof *matched);
    assemble_match(now, old, matched);
    assert_int_equal(matched[0], 0);
    assert_int_equal(matched[find(now, "C")], find(old, "C"));
    assert_int_equal(matched[find(now, "B")], find(old, "B"));
    assert_int_equal(matched[find(now, "D")], TREE_NONE);
    assert_true(now->nodes[find(now, "B")].id == old->nodes[find(old, "B")].id);
    /* The three "Notes": those of b and c keep theirs, no id twice. */
    for (uint32_t n = 0; n < now->count; n++)
        for (uint32_t m = 0; m < n; m++)
            assert_true(matched[n] == TREE_NONE || matched[n] != matched[m]);
    assert_int_equal(matched[find(now, "B") + 1], find(old, "B") + 1);
    assert_int_equal(matched[find(now, "C") + 1], find(old, "C") + 1);
    free(matched);
    tree_free(old);
    tree_free(now);
}

static void nothing_before_means_all_new(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    struct tree *now = assembled(pages);
    uint32_t matched[8];
    assemble_match(now, NULL, matched);
    for (uint32_t n = 0; n < now->count; n++)
        assert_int_equal(matched[n], TREE_NONE);
    tree_free(now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_and_next_links_decide),
        cmocka_unit_test(trails_lead_to_pages),
        cmocka_unit_test(names_lead_to_pages),
        cmocka_unit_test(names_make_no_circles),
        cmocka_unit_test(folders_have_index_pages),
        cmocka_unit_test(generators_list_contents),
        cmocka_unit_test(whole_lists_nest),
        cmocka_unit_test(whole_lists_have_headings),
        cmocka_unit_test(sites_have_paths_of_their_own),
        cmocka_unit_test(lists_by_hand_lead_away_from_the_top),
        cmocka_unit_test(menus_give_way_to_their_pages),
        cmocka_unit_test(the_head_comes_first_though_a_menu_lists_the_others),
        cmocka_unit_test(javadoc_keeps_packages_and_classes),
        cmocka_unit_test(equal_pages_stand_once),
        cmocka_unit_test(what_most_pages_say_is_dropped),
        cmocka_unit_test(banners_of_few_pages_are_dropped),
        cmocka_unit_test(banners_above_several_sections_are_dropped),
        cmocka_unit_test(names_of_books_are_dropped),
        cmocka_unit_test(the_whole_once_more_is_left_out),
        cmocka_unit_test(the_whole_twice_more_is_left_out),
        cmocka_unit_test(listings_are_left_out),
        cmocka_unit_test(lists_of_members_are_no_contents),
        cmocka_unit_test(lists_of_members_are_left_out),
        cmocka_unit_test(lists_of_names_are_left_out),
        cmocka_unit_test(pages_for_mathjax_are_variants),
        cmocka_unit_test(index_entries_name_sections),
        cmocka_unit_test(another_layout_is_excluded),
        cmocka_unit_test(what_is_left_out_has_a_reason),
        cmocka_unit_test(help_frames_are_left_out),
        cmocka_unit_test(lists_in_contents_are_above_nothing),
        cmocka_unit_test(help_contents_are_read),
        cmocka_unit_test(help_contents_in_xml_are_read),
        cmocka_unit_test(headings_in_lists_become_nodes),
        cmocka_unit_test(what_is_left_out_does_not_count),
        cmocka_unit_test(circles_are_cut),
        cmocka_unit_test(links_that_lead_nowhere_do_no_harm),
        cmocka_unit_test(ids_are_kept),
        cmocka_unit_test(nothing_before_means_all_new),
    };
    return cmocka_run_group_tests_name("assemble", tests, NULL, NULL);
}
