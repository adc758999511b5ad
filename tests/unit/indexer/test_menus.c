#include "tests/unit/support/pages.h"

/* Pages that only tell where others are. */

/* A menu that a site prints on each page, read where it is much of the page: no page is
 * above what it lists. */
static void menus_by_hand_are_no_pages_contents(void **state)
{
    (void)state;
    static const char menu[] = "a.html b.html c.html d.html";
    static const struct page_of pages[] = {
        {"a.html", "A", "", "", 0, CONTENTS_GUESS, menu},
        {"b.html", "B", "", "", 0, CONTENTS_GUESS, menu},
        {"c.html", "C", "", "", 0, CONTENTS_GUESS,
         "a.html b.html c.html d.html e.html"},
        {"d.html", "D", "", "", 0, CONTENTS_GUESS, menu},
        {"e.html", "E", "", "", 0, 0, ""},
        {"index.html", "Top", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Top(Notes,A(Notes),B(Notes),C(Notes,E(Notes)),"
                        "D(Notes)))");
    static const char groups[] = "c.html =Use >a.html >b.html =Parts >d.html";
    static const struct page_of sorted[] = {
        {"a.html", "A", "", "", 0, CONTENTS_GROUPS, groups},
        {"b.html", "B", "", "", 0, CONTENTS_GROUPS, groups},
        {"c.html", "C", "", "", 0, CONTENTS_GROUPS, groups},
        {"d.html", "D", "", "", 0, CONTENTS_GROUPS, groups},
        {"index.html", "Top", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(sorted, "M(Top(Notes,C(Notes),Use(A(Notes),B(Notes)),"
                         "Parts(D(Notes))))");
}

/* LibreOffice's contents, which a script puts into each page, are none of its pages. */
static void contents_in_a_script_are_no_page(void **state)
{
    (void)state;
    static char *const names[] = {"contents.js", "Contents.JS",
                                  "contents.js.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct page_of pages[] = {
            {names[i], "", "", "", 0, CONTENTS_WHOLE,
             "=Writer >text/a.html =Calc >text/c.html"},
            {"text/a.html", "A", "", "", 0, 0, ""},
            {"text/c.html", "C", "", "", 0, 0, ""},
            {NULL, NULL, NULL, NULL, 0, 0, NULL}};
        assert_shape(pages, "M(Writer(A(Notes)),Calc(C(Notes)))");
    }
    static const struct page_of unpacked[] = {
        {"toc.hhc.gz", "", "", "", 0, CONTENTS_WHOLE, "=Use >a.html"},
        {"a.html", "A", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(unpacked, "M(Use(A(Notes)))");
}

/* Flare's number their entries; those of another help in the manual have the same numbers.
 * What no page has is below what is above it, and above what is within. */
static void contents_by_number_are_of_their_folder(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"A/a.htm", "A", "", "", 0, 0, ""},
        {"A/b.htm", "B", "", "", 0, 0, ""},
        {"A/z.htm", "Z", "", "", 0, 0, ""},
        {"Data/Toc.js", "", "", "", 0, CONTENTS_WHOLE,
         "#0|/x >#1|/x >#8|/x >>#2|/x"},
        {"Data/Toc_Chunk0.js", "", "", "", 0, CONTENTS_MAP,
         "0|/x=/A/z.htm 1|/x=/A/b.htm 2|/x=/A/a.htm"},
        {"sub/A/a.htm", "C", "", "", 0, 0, ""},
        {"sub/A/d.htm", "D", "", "", 0, 0, ""},
        {"sub/Data/Toc.js", "", "", "", 0, CONTENTS_WHOLE, "#0|/x >#1|/x"},
        {"sub/Data/Toc_Chunk0.js", "", "", "", 0, CONTENTS_MAP,
         "0|/x=../A/d.htm 1|/x=../A/a.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Z(Notes,B(Notes),A(Notes)),D(Notes,C(Notes)))");
}

/* RoboHelp's: "toc3" is left over from a former edition. */
static void contents_of_a_book_stand_in_its_place(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.htm", "A", "", "", 0, 0, ""},
        {"b.htm", "B", "", "", 0, 0, ""},
        {"c.htm", "C", "", "", 0, 0, ""},
        {"d.htm", "D", "", "", 0, 0, ""},
        {"w/toc.new.js", "toc", "", "", 0, CONTENTS_WHOLE,
         "/d.htm >toc9.new.js =More >toc10.new.js"},
        {"w/toc10.new.js", "toc10", "", "", 0, CONTENTS_WHOLE, "/c.htm"},
        {"w/toc3.new.js", "toc3", "", "", 0, CONTENTS_WHOLE, "/a.htm /b.htm"},
        {"w/toc8.new.js", "toc8", "", "", 0, CONTENTS_WHOLE, "/a.htm"},
        {"w/toc9.new.js", "toc9", "", "", 0, CONTENTS_WHOLE,
         "/b.htm =In >toc8.new.js"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(D(Notes,B(Notes),In(A(Notes))),More(C(Notes)))");
}

/* Helps in folders of their own: the nearest page that the path may mean, of more folders
 * than a site has. */
static void contents_in_scripts_are_of_the_nearest_help(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.htm", "Far", "", "", 0, 0, ""},
        {"guide/a.htm", "A", "", "", 0, 0, ""},
        {"guide/b.htm", "B", "", "", 0, 0, ""},
        {"guide/js/hmcontent.js", "", "", "", 0, CONTENTS_WHOLE,
         "/b.htm >/a.htm /no/a.htm"},
        {"u/v/w/x/y/c.htm", "C", "", "", 0, 0, ""},
        {"u/v/w/x/y/d.htm", "D", "", "", 0, 0, ""},
        {"u/v/w/x/y/js/hmcontent.js", "", "", "", 0, CONTENTS_WHOLE,
         "/d.htm >/c.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(B(Notes,A(Notes)),D(Notes,C(Notes)),Far(Notes))");
    /* Eclipse's have the name of the plug-in before it. */
    static const struct page_of plugin[] = {
        {"a.htm", "A", "", "", 0, 0, ""},
        {"b.htm", "B", "", "", 0, 0, ""},
        {"toc.xml", "", "", "", 0, CONTENTS_WHOLE,
         "/org.pump/b.htm >/org.pump/a.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(plugin, "M(B(Notes,A(Notes)))");
}

/* What is below an entry whose page is missing is not below the entry before. */
static void a_missing_page_closes_what_was_open(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.htm", "A", "", "", 0, 0, ""},
        {"b.htm", "B", "", "", 0, 0, ""},
        {"c.htm", "C", "", "", 0, 0, ""},
        {"js/hmcontent.js", "", "", "", 0, CONTENTS_WHOLE,
         "/a.htm >/b.htm /gone.htm >/c.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(A(Notes,B(Notes)),C(Notes))");
}

/* Two contents of one help that begin with the same page: a map is called as its list. */
static void chunks_are_called_as_their_contents(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"A/a.htm", "A", "", "", 0, 0, ""},
        {"A/b.htm", "B", "", "", 0, 0, ""},
        {"A/c.htm", "C", "", "", 0, 0, ""},
        {"Data/Tocs/One.js", "", "", "", 0, CONTENTS_WHOLE, "#0|/x >#1|/x"},
        {"Data/Tocs/One_Chunk0.js", "", "", "", 0, CONTENTS_MAP,
         "0|/x=/A/a.htm 1|/x=/A/b.htm"},
        {"Data/Tocs/Two.js", "", "", "", 0, CONTENTS_WHOLE, "#0|/x >#1|/x"},
        {"Data/Tocs/Two_Chunk0.js", "", "", "", 0, CONTENTS_MAP,
         "0|/x=/A/a.htm 1|/x=/A/c.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(A(Notes,B(Notes),C(Notes)))");
    static const struct page_of longer[] = {
        {"A/a.htm", "A", "", "", 0, 0, ""},
        {"A/b.htm", "B", "", "", 0, 0, ""},
        {"A/c.htm", "C", "", "", 0, 0, ""},
        {"Data/Tocs/Use.js", "", "", "", 0, CONTENTS_WHOLE, "#0|/x >#1|/x"},
        {"Data/Tocs/User_Chunk0.js", "", "", "", 0, CONTENTS_MAP,
         "0|/x=/A/a.htm 1|/x=/A/b.htm"},
        {"Data/Tocs/Use_Chunk0.js", "", "", "", 0, CONTENTS_MAP,
         "0|/x=/A/a.htm 1|/x=/A/c.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(longer, "M(A(Notes,C(Notes)),B(Notes))");
}

/* Doxygen's tree, where no page lists what its author wrote. */
static void a_tree_of_pages_is_read_for_want_of_a_list(void **state)
{
    (void)state;
    static const char tree[] = "index.html >z.html >>a.html >topics.html";
    static const struct page_of alone[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"index.html", "Top", "", "", 0, 0, ""},
        {"navtreedata.js", "", "", "", 0, CONTENTS_WHOLE, tree},
        {"pages.html", "P", "", "", 0, CONTENTS_BELOW, ""},
        {"topics.html", "T", "", "", 0, 0, ""},
        {"z.html", "Z", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(alone, "M(Top(Notes,Z(Notes,A(Notes)),T(Notes),P(Notes)))");
    static const struct page_of listed[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"index.html", "Top", "", "", 0, 0, ""},
        {"navtreedata.js", "", "", "", 0, CONTENTS_WHOLE, tree},
        {"pages.html", "P", "", "", 0, CONTENTS_BELOW, "z.html >a.html"},
        {"topics.html", "T", "", "", 0, 0, ""},
        {"z.html", "Z", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(listed, "M(Top(Notes,P(Notes,Z(Notes,A(Notes))),T(Notes)))");
    static const struct page_of subset[] = {
        {"a.html", "A", "", "", 0, 0, ""},
        {"index.html", "Top", "", "", 0, 0, ""},
        {"v2/index.html", "Sub", "", "", 0, 0, ""},
        {"v2/navtreedata.js", "", "", "", 0, CONTENTS_WHOLE, tree},
        {"v2/z.html", "Z", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(subset, "M(Top(Notes,Sub(Notes,Z(Notes)),A(Notes)))");
}

/* A book without a page has its title in the map. */
static void books_by_number_are_headings(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"A/a.htm", "A", "", "", 0, 0, ""},
        {"A/b.htm", "B", "", "", 0, 0, ""},
        {"Data/Toc.js", "", "", "", 0, CONTENTS_WHOLE,
         "#0|/x >#1|/x >#2|/x >>#3|/x"},
        {"Data/Toc_Chunk0.js", "", "", "", 0, CONTENTS_MAP,
         "0|/x\nUse= 1|/x=/A/b.htm 2|/x\nMore= 3|/x=/A/a.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Use(B(Notes),More(A(Notes))))");
}

/* Headings that contents make and that pages' own names leave empty do not stand in the way
 * of the order of others. */
static void headings_above_nothing_keep_the_order(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"a.htm", "A", "", "", 0, 0, ""},
        {"js/hmcontent.js", "", "", "", 0, CONTENTS_WHOLE,
         "=One >x.htm =Two >y.htm =Three >z.htm"},
        {"js/x.htm", "X", "=Uno", "", 0, 0, ""},
        {"js/y.htm", "Y", "=Dos", "", 0, 0, ""},
        {"js/z.htm", "Z", "=Tres", "", 0, 0, ""},
        {"m.htm", "M", "", "", 0, 0, ""},
        {"n.htm", "N", "", "", 0, 0, ""},
        {"z.htm", "O", "", "", 0, 0, ""},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Uno(X(Notes)),Dos(Y(Notes)),Tres(Z(Notes)),"
                        "A(Notes),M(Notes),N(Notes),O(Notes))");
}

/* The same list in two helps is that of each. */
static void equal_contents_in_scripts_are_each_their_own(void **state)
{
    (void)state;
    static const struct page_of pages[] = {
        {"x/a.htm", "A", "", "", 0, 0, ""},
        {"x/b.htm", "B", "", "", 0, 0, ""},
        {"x/w/toc.new.js", "1", "", "", 0, CONTENTS_WHOLE, "=Use >toc1.new.js"},
        {"x/w/toc1.new.js", "same", "", "", 0, CONTENTS_WHOLE, "/b.htm /a.htm"},
        {"y/a.htm", "C", "", "", 0, 0, ""},
        {"y/b.htm", "D", "", "", 0, 0, ""},
        {"y/w/toc.new.js", "2", "", "", 0, CONTENTS_WHOLE,
         "=More >toc1.new.js"},
        {"y/w/toc1.new.js", "same", "", "", 0, CONTENTS_WHOLE, "/b.htm /a.htm"},
        {NULL, NULL, NULL, NULL, 0, 0, NULL}};
    assert_shape(pages, "M(Use(B(Notes),A(Notes)),More(D(Notes),C(Notes)))");
}

/* Neither title nor text: a script of it shows the others. */
static void a_nameless_index_heads_nothing(void **state)
{
    (void)state;
    static const char *const titles[] = {"", "Works"};
    for (int named = 0; named < 2; named++) {
        struct tree *index = tree_new(false), *page = page_with("a", "b");
        tree_add_file(index, slice_of(""));
        tree_add_node(index, TREE_NONE, 0, slice_of(titles[named]),
                      slice_of(""));
        assert_int_equal(tree_seal(index, NULL), 0);
        assert_int_equal(tree_seal(page, NULL), 0);
        struct piece pieces[] = {{.path = (char[]){"index.html"},
                                  .skeleton = assemble_skeleton(index)},
                                 {.path = (char[]){"use.html"},
                                  .skeleton = assemble_skeleton(page)}};
        struct tree *outline;
        assert_int_equal(assemble("M", pieces, 2, true, &outline, NULL), 0);
        struct buf out = {0};
        shape(outline, 0, &out);
        assert_string_equal(out.data,
                            named ? "M(Works(Title(a)))" : "M(Title(a))");
        assert_int_equal(outline->excluded[0],
                         named ? EXCLUDED_NOT : EXCLUDED_MENU);
        buf_free(&out);
        tree_free(outline);
        tree_free(index);
        tree_free(page);
        tree_free(pieces[0].skeleton);
        tree_free(pieces[1].skeleton);
    }
}

/* Doxygen's page of a folder is none where its author says nothing of it; what Oxygen opens
 * pages by has no text, and the edges of Word's pages have no heading. */
static void folders_and_helpers_are_no_pages(void **state)
{
    (void)state;
    static const struct {
        const char *path, *anchor;
        int reason;
        int level;
    } cases[] = {{"api.htm", "a", EXCLUDED_NOT, 0},
                 {"api_files/header.htm", NULL, EXCLUDED_NOT, 1},
                 {"cshelp.html", NULL, EXCLUDED_MENU, 0},
                 {"dir_0123456789abcdef0123456789abcdef.html", "files",
                  EXCLUDED_LISTS, 0},
                 {"dir_1123456789abcdef0123456789abcdef.html", "details",
                  EXCLUDED_NOT, 0},
                 {"dir_use.html", "files", EXCLUDED_NOT, 0},
                 {"html/context-help.html", NULL, EXCLUDED_NOT, 1},
                 {"html/cshelp.html", "a", EXCLUDED_NOT, 0},
                 {"pump.htm", "a", EXCLUDED_NOT, 0},
                 {"pump_files/header.htm", NULL, EXCLUDED_MENU, 0}};
    enum { CASES = sizeof cases / sizeof *cases };
    struct piece pieces[CASES] = {0};
    for (uint32_t i = 0; i < CASES; i++) {
        struct tree *tree = cases[i].anchor
                                ? page_with(cases[i].anchor, cases[i].path)
                                : tree_new(false);
        if (!cases[i].anchor) {
            tree_add_file(tree, slice_of(""));
            tree_add_node(tree, TREE_NONE, cases[i].level, slice_of("Help"),
                          slice_of(""));
        }
        assert_int_equal(tree_seal(tree, NULL), 0);
        pieces[i].path = cases[i].path;
        pieces[i].skeleton = assemble_skeleton(tree);
        tree_free(tree);
    }
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, CASES, true, &outline, NULL), 0);
    for (uint32_t i = 0; i < CASES; i++)
        assert_int_equal(outline->excluded[i], cases[i].reason);
    tree_free(outline);
    for (uint32_t i = 0; i < CASES; i++)
        tree_free(pieces[i].skeleton);
}

/* DocFX's contents, where no page is the first. */
static void contents_without_text_are_a_menu(void **state)
{
    (void)state;
    struct tree *toc = tree_new(false), *page = page_with("a", "b");
    struct page_link link = {{"use.html", 8}, 0, {"", 0}};
    tree_add_file(toc, slice_of(""));
    tree_add_node(toc, TREE_NONE, 0, slice_of(""), slice_of(""));
    toc->page.contents = CONTENTS_WHOLE;
    toc->page.links = tree_copy_links(toc, &link, 1);
    toc->page.link_count = 1;
    assert_int_equal(tree_seal(toc, NULL), 0);
    assert_int_equal(tree_seal(page, NULL), 0);
    struct piece pieces[] = {
        {.path = (char[]){"toc.html"}, .skeleton = assemble_skeleton(toc)},
        {.path = (char[]){"use.html"}, .skeleton = assemble_skeleton(page)}};
    struct tree *outline;
    assert_int_equal(assemble("M", pieces, 2, true, &outline, NULL), 0);
    assert_int_equal(outline->excluded[0], EXCLUDED_MENU);
    tree_free(outline);
    tree_free(toc);
    tree_free(page);
    tree_free(pieces[0].skeleton);
    tree_free(pieces[1].skeleton);
}

/* A program that writes what it shows, and nothing else: it says nothing of others. */
static void a_nameless_page_alone_is_no_menu(void **state)
{
    (void)state;
    struct tree *index = tree_new(false), *outline;
    tree_add_file(index, slice_of(""));
    tree_add_node(index, TREE_NONE, 0, slice_of(""), slice_of(""));
    assert_int_equal(tree_seal(index, NULL), 0);
    struct piece pieces[] = {
        {.path = (char[]){"index.html"}, .skeleton = assemble_skeleton(index)}};
    assert_int_equal(assemble("M", pieces, 1, true, &outline, NULL), 0);
    assert_int_equal(outline->excluded[0], EXCLUDED_NOT);
    tree_free(outline);
    tree_free(index);
    tree_free(pieces[0].skeleton);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contents_in_a_script_are_no_page),
        cmocka_unit_test(contents_by_number_are_of_their_folder),
        cmocka_unit_test(menus_by_hand_are_no_pages_contents),
        cmocka_unit_test(contents_of_a_book_stand_in_its_place),
        cmocka_unit_test(contents_in_scripts_are_of_the_nearest_help),
        cmocka_unit_test(a_missing_page_closes_what_was_open),
        cmocka_unit_test(chunks_are_called_as_their_contents),
        cmocka_unit_test(books_by_number_are_headings),
        cmocka_unit_test(headings_above_nothing_keep_the_order),
        cmocka_unit_test(a_tree_of_pages_is_read_for_want_of_a_list),
        cmocka_unit_test(equal_contents_in_scripts_are_each_their_own),
        cmocka_unit_test(a_nameless_index_heads_nothing),
        cmocka_unit_test(folders_and_helpers_are_no_pages),
        cmocka_unit_test(contents_without_text_are_a_menu),
        cmocka_unit_test(a_nameless_page_alone_is_no_menu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
