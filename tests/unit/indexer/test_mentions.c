#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/mem.h"
#include "indexer/mentions.h"

/* What a text names as included by it, and which files that may be. */

static void expect(const char *text, const char *names)
{
    struct buf found = {0};
    mentions_find(slice_of(text), &found);
    buf_put_byte(&found, '\0');
    assert_string_equal(found.data, names);
    buf_free(&found);
}

static void commands_that_include_name_files(void **state)
{
    (void)state;
    expect("\\input{a}\\include{parts/b}", "a\nb\n");
    expect("\\input a.tex\nText", "a.tex\n");
    expect("\\input {a}", "a\n");
    expect("\\subfile{a}\\subfileinclude{b}", "a\nb\n");
    expect("\\activity{../a/b.tex}\\practice[x]{c}", "b.tex\nc\n");
    expect("\\import{parts/}{a}\\subimport*{b}{ c }", "a\nb\nc\n");
    expect("\\olimport[a]{b}[c]", "b\n");
    expect("\\DocInput{a.dtx}\\tikzinput{b}", "a.dtx\nb\n");
    expect("\\ \\\\input{a}", "");
}

static void nothing_else_does(void **state)
{
    (void)state;
    expect("input{a} \\inp{a} \\includegraphics{a} \\begin{a}", "");
    expect("% \\input{a}\n\\input{\\dir/\\b}\\input{#1}\\input{}", "");
    expect("\\input{a", "");
    expect("\\input", "");
    expect("\\input ", "");
    expect("\\input{dir/}", "");
    expect("\\", "");
}

static void names_without_end_are_none(void **state)
{
    struct buf text = {0};
    (void)state;
    buf_put_text(&text, "\\input{");
    for (int i = 0; i < 1000; i++)
        buf_put_byte(&text, 'a');
    buf_put_text(&text, "}\\input{b}");
    buf_put_byte(&text, '\0');
    expect(text.data, "b\n");
    buf_free(&text);
}

static void files_of_that_name_are_marked(void **state)
{
    char *paths[] = {"a.tex", "b/A.tex.gz", "b/ba.tex", "c/a.dtx", "main.tex"};
    enum { COUNT = sizeof paths / sizeof *paths };
    struct scan_file files[COUNT] = {0};
    uint32_t ends[COUNT] = {0, 1, 2, 4, 3};
    struct scan scan = {files, COUNT, ends, ends};
    bool marked[COUNT] = {false};
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        files[i].path = paths[i];
    mentions_mark(&scan, slice_of("a\nmain\n"), 4, marked);
    assert_true(marked[0] && marked[1]);
    assert_false(marked[2] || marked[3] || marked[4]);
    mentions_mark(&scan, slice_of("a.dtx"), 4, marked);
    assert_true(marked[3]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_that_include_name_files),
        cmocka_unit_test(nothing_else_does),
        cmocka_unit_test(names_without_end_are_none),
        cmocka_unit_test(files_of_that_name_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
