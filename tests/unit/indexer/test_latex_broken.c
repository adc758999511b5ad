/* What is broken, and what would never end. */
#include "tests/unit/support/latex_in_memory.h"

/* What a package says to whoever runs LaTeX is none of the text. */
static void test_messages(void **state)
{
    (void)state;
    expect("a\\PackageError{p}{no\\MessageBreak good}{help} "
           "b\\ClassWarningNoLine{c}{w} c\\GenericInfo{(p)}{i} "
           "d\\makeatletter\\@latex@warning{w} e\\wlog{x} f",
           "paragraph: a b c d e f");
}

static void expect_report(const char *text, const char *report)
{
    struct buf reports = {0};
    struct tree *tree = parse(text, NULL, &reports);
    buf_put_byte(&reports, '\0');
    if (!strstr(reports.data, report))
        fail_msg("no \"%s\" in \"%s\"", report, reports.data);
    tree_free(tree);
    buf_free(&reports);
}

/* ConTeXt is told: its chapters are not known. */
static void test_context(void **state)
{
    (void)state;
    expect_report("\\starttext\n\\startchapter[title=One]\na\n\\stopchapter\n"
                  "\\stoptext",
                  "this is ConTeXt, which is not read");
}

/* A name that is an argument by itself is no conditional that lacks its \fi. */
static void test_names_like_conditionals(void **state)
{
    (void)state;
    expect("\\ifspoken\\newcommand*{\\ifeff}{if-f}\\else"
           "\\newcommand*{\\ifeff}{iff}\\fi valid \\ifeff{} true",
           "paragraph: valid iff true");
}

/* A command of a class that is not here, where it is written as a word is. */
static void test_unknown_words(void **state)
{
    (void)state;
    expect("Detection of \\DAQ{} faults by the \\pump, the \\Valve.\n\n"
           "\\product{} shall (\\eg) start.",
           "paragraph: Detection of DAQ faults by the pump, the Valve. | "
           "paragraph: product shall (eg) start.");
    expect("Of the \\SRD and \\SRD\\ (the \\SRD).",
           "paragraph: Of the SRD and SRD (the SRD).");
    expect("Of \\SRD's and \\SRD-based pumps \\SRD-2 \\x-y.",
           "paragraph: Of SRD\u2019s and SRD-based pumps -2 -y.");
    expect("Of \\SRD.", "paragraph: Of SRD.");
    expect("Of \\SRD", "paragraph: Of");
    expect("Of \\SRD{}", "paragraph: Of SRD");
    expect("\\section{\\DAQ{} in a \\pump: how}x",
           "# DAQ in a pump: how | paragraph: x");
    /* What may set something, or what LaTeX has itself. */
    expect("a \\unknown b \\mbox{} c\\unknown. d \\other[o]. \\centering{} e "
           "\\layout{x} \\more1\n\n\\frontpages{}\n\\Start{} Then",
           "paragraph: a b c. d . e x 1 | paragraph: Then");
    expect("\\def\\a{of \\made{} x}\\a", "paragraph: of x");
}

/* An environment that nobody declared, as where a makefile puts a preamble before
 * the file, is code if TeX could not set it as text; then it is all along. */
static void test_unknown_code(void **state)
{
    (void)state;
    expect("Run:\n\\begin{shell}[x]\n$ make O=$HOME/x_1 # all\n  "
           "{a\\}\n\\end{shell}"
           "\\begin{shell}\nls\n\\end{shell}\\begin{listed}{C}\nint a_b;\n"
           "\\end{listed}",
           "paragraph: Run: | code: $ make O=$HOME/x_1 # all\n  {a\\} | code: "
           "ls | "
           "code: int a_b;");
    /* Not where one that lacks its end goes on with LaTeX. */
    expect("\\begin{shell}\n#\n\\end{shell}\\begin{shell}\nls\n\n\\section{A}"
           "\\begin{shell}\nps\n\\end{shell}",
           "code: # | paragraph: ls | # A | code: ps");
    expect("\\begin{remark}Of $a_1$ and $b$.\n\n% x_1\nSee "
           "\\figref{a_b}.\\end{remark}"
           "\\begin{claim}\\emph{Of} x_1.\\end{claim}",
           "paragraph: Of $a_1$ and $b$. | paragraph: See a_b.Of x_1.");
    expect(
        "\\begin{remark}Of $$E_0$$ it.\\end{remark}\\begin{claim}Of \\(a_1\\) "
        "and \\[b^2\\] c.\\end{claim}",
        "paragraph: Of | math: E_0 | paragraph: it.Of $a_1$ and | math: b^2 "
        "| paragraph: c.");
}

/* A "$" that no other ends is the sign; what follows it is text. */
static void test_lone_dollar(void **state)
{
    (void)state;
    expect("Type \\code{$ gdb -p 1} in $HOME\\_1, \\emph{then} wait.\n\n"
           "Of $x$.",
           "paragraph: Type $ gdb -p 1 in $HOME_1, then wait. | paragraph: Of "
           "$x$.");
    /* Not one that a macro made. */
    expect("\\newenvironment{proof}{$\\begin{nd}}{\\end{nd}$}"
           "\\begin{proof}a\\end{proof}b",
           "paragraph: $\\begin{nd}a\\end{nd}$b");
    expect("\\newcommand\\open{$}\\open a\n\nb",
           "paragraph: $a$ | paragraph: b");
    expect("a $ b\n\\begin{verbatim}\nc%d #e\n\\end{verbatim}\n"
           "\\begin{listing}\n%f\n\\end{listing}g",
           "paragraph: a $ b | code: c%d #e | code: %f | paragraph: g");
    expect("a $ b \\url {http://a.b/c%20d#e} and f\n\ng",
           "paragraph: a $ b http://a.b/c%20d#e and f | paragraph: g");
    expect("a $b\\nolinkurl{c%d}$ e", "paragraph: a $bc%d$ e");
    expect_report("a $b", "a formula does not end");
}

static void test_repairs(void **state)
{
    (void)state;
    expect("a}b{c", "paragraph: abc");
    expect_report("a}b", "a stray }");
    expect_report("\\begin{center}a", "never closed");
    expect("\\begin{itemize}\\item a\\begin{center}b\\end{itemize}c",
           "list: - a b | paragraph: c");
    expect_report("\\begin{itemize}\\begin{center}\\end{itemize}",
                  "\\end{itemize} ends what is open");
    expect_report("\\end{quote}", "without \\begin");
    expect("\\def\\a#1{<#1>}\\a{b c\n\nd", "paragraph: <b c > | paragraph: d");
    expect("\\section{T\n\nx", "# T | paragraph: x");
    /* What has no end costs its paragraph. */
    expect("\\loop a\n\nb", "paragraph: a | paragraph: b");
    expect_report("\\loop a\n\nb", "\\loop without \\repeat");
    expect("\\NewDocumentCommand{\\a}{d<>}{}\\a<b\n\nc", "paragraph: c");
    expect("\\NewDocumentCommand{\\a}{v}{}\\a|b\n\nc", "paragraph: c");
    expect("\\begin{verbatim}x", "code: x");
}

/* Commands that read others expanded, in each other: each takes some of the
 * stack. */
static void test_expansions_within_expansions(void **state)
{
    static const char *const nested[] = {
        "\\ifnum",          "\\csname ",
        "\\numexpr ",       "\\ifodd",
        "\\dimexpr 1",      "\\ifcsname ",
        "\\the\\numexpr ",  "\\if",
        "\\number ",        "\\romannumeral ",
        "\\expandafter a",  "\\count0=\\numexpr-",
        "\\ifdim\\dimexpr", "\\ifcase",
    };
    (void)state;
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++) {
        struct buf deep = {0};
        buf_put_text(&deep, "before\n\n");
        for (int n = 0; n < 100000; n++)
            buf_put_text(&deep, nested[i]);
        buf_put_byte(&deep, '\0');
        struct tree *tree = parse(deep.data, NULL, NULL);
        tree_free(tree);
        buf_free(&deep);
    }
    struct buf deep = {0};
    for (int n = 0; n < 1000; n++)
        buf_put_text(&deep, "\\csname ");
    buf_put_byte(&deep, '\0');
    expect_report(deep.data, "expansions within expansions");
    buf_free(&deep);
}

static void test_bombs(void **state)
{
    (void)state;
    struct buf deep = {0};
    expect_report("\\def\\a{\\a\\a}\\a\n\nafter", "without end");
    expect_report("\\def\\a{\\a}\\a\n\nafter", "without end");
    expect("\\def\\a{\\a}before\n\n\\a lost\n\nafter",
           "paragraph: before | paragraph: after");
    expect("\\def\\a#1{\\a{#1#1}}before\n\n\\a xx\n\nafter",
           "paragraph: before | paragraph: after");
    expect("\\def\\a{\\edef\\x{\\x\\x}\\a}\\def\\x{xx}x\n\n\\a\n\nafter",
           "paragraph: x | paragraph: after");
    for (int i = 0; i < 100000; i++)
        buf_put_byte(&deep, '{');
    buf_put_byte(&deep, '\0');
    expect_report(deep.data, "groups within groups");
    buf_clear(&deep);
    for (int i = 0; i < 50000; i++)
        buf_put_text(&deep, "\\iftrue\\begin{x}\\footnote{\\section{");
    buf_put_byte(&deep, '\0');
    struct tree *tree = parse(deep.data, NULL, NULL);
    tree_free(tree);
    buf_clear(&deep);
    /* An argument's end that is nearly there again and again. */
    buf_put_text(&deep, "\\def\\x#1b");
    for (int i = 0; i < 50000; i++)
        buf_put_byte(&deep, 'a');
    buf_put_text(&deep, "{}\\x ");
    for (int i = 0; i < 100000; i++)
        buf_put_byte(&deep, 'a');
    buf_put_byte(&deep, '\0');
    expect_report(deep.data, "more steps than it is given");
    buf_clear(&deep);
    /* Equal macros, and counters within one, again and again. */
    buf_put_text(&deep, "\\def\\a{");
    for (int i = 0; i < 50000; i++)
        buf_put_byte(&deep, 'x');
    buf_put_text(&deep, "}\\edef\\b{\\a}");
    for (int i = 0; i < 3000; i++)
        buf_put_text(&deep, "\\ifx\\a\\b\\fi");
    buf_put_byte(&deep, '\0');
    expect_report(deep.data, "more steps than it is given");
    buf_clear(&deep);
    for (int i = 0; i < 2000; i++)
        buf_printf(&deep, "\\newcounter{c%d}[page]", i);
    for (int i = 0; i < 5000; i++)
        buf_put_text(&deep, "\\stepcounter{page}");
    buf_put_byte(&deep, '\0');
    expect_report(deep.data, "more steps than it is given");
    buf_clear(&deep);
    for (int i = 0; i < 1001; i++)
        buf_printf(&deep, "\\newtheorem{t%d}{T}", i);
    expect_report(deep.data, "more than 1000 kinds of theorem");
    buf_clear(&deep);
    for (int i = 0; i < 6000; i++)
        buf_put_text(&deep, "\\InputIfFileExists{x}{}{}");
    buf_put_byte(&deep, '\0');
    expect_report(deep.data, "more than 5000 files");
    buf_free(&deep);
}

/* What is copied counts, however few words say so. */
static void test_bombs_of_copies(void **state)
{
    (void)state;
    struct buf text = {0};
    static const char again[] = "\\setbox0\\hbox{\\unhcopy0\\unhcopy0}";
    double start = unit_seconds();
    /* A box that doubles, and one that takes it in over and over. */
    buf_put_text(&text, "\\setbox0\\hbox{x}");
    for (int i = 0; i < 22; i++)
        buf_put_text(&text, again);
    buf_put_text(&text, "\n\n\\setbox1\\hbox{");
    for (int i = 0; i < 40; i++)
        buf_put_text(&text, "\\copy0");
    buf_put_text(&text, "}\n\nafter");
    expect_report(text.data, "too much is defined");
    buf_clear(&text);
    buf_put_text(&text, "\\setbox0\\hbox{x}");
    for (int i = 0; i < 20; i++)
        buf_put_text(&text, again);
    for (int i = 0; i < 400; i++)
        buf_put_text(&text, "\n\n\\setbox1\\hbox{\\copy0\\copy0\\copy0}");
    expect_report(text.data, "more steps than it is given");
    buf_clear(&text);
    /* A list of two long items, copied for each group that adds to it. */
    for (int i = 0; i < 2; i++) {
        buf_put_text(&text, "\\listadd\\l{");
        for (int k = 0; k < 300000; k++)
            buf_put_byte(&text, 'x');
        buf_put_text(&text, "}");
    }
    for (int i = 0; i < 20000; i++)
        buf_put_text(&text, "{\\listadd\\l{a}}\n\n");
    expect_report(text.data, "too much is defined");
    assert_true(unit_seconds() - start < 30);
    buf_free(&text);
}

/* What asks whether the file is next looks at no long list. */
static void test_many_of_an_argument(void **state)
{
    (void)state;
    static const char *const asking[] = {"\\index{a}x ", "\\href{a}{x} ",
                                         "\\verb|a| "};
    struct buf line = {0};
    double begun = unit_seconds();
    buf_put_text(&line, "\\catcode`\\{=12 ");
    for (int k = 0; k < 60000; k++)
        buf_put_text(&line, "\\index{");
    buf_put_byte(&line, '\0');
    tree_free(parse(line.data, NULL, NULL));
    assert_true(unit_seconds() - begun < 3);
    buf_free(&line);
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        struct buf text = {0};
        double start = unit_seconds();
        buf_put_text(&text, "\\newcommand\\foo[1]{#1!}\\foo{");
        for (int k = 0; k < 60000; k++)
            buf_put_text(&text, asking[i]);
        buf_put_text(&text, "}");
        buf_put_byte(&text, '\0');
        tree_free(parse(text.data, NULL, NULL));
        assert_true(unit_seconds() - start < 3);
        buf_free(&text);
    }
}

/* To count the words of the source, an end that is missing is not looked for again and
 * again. */
static void test_many_without_an_end(void **state)
{
    (void)state;
    static const char *const begins[] = {"\\iffalse ", "\\begin{picture}"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        struct buf text = {0};
        double start = unit_seconds();
        buf_put_text(&text, "\\iffalse ");
        for (int k = 0; k < 120000; k++)
            buf_put_text(&text, begins[i]);
        buf_put_byte(&text, '\0');
        tree_free(parse(text.data, NULL, NULL));
        assert_true(unit_seconds() - start < 10);
        buf_free(&text);
    }
}

static void test_fragment(void **state)
{
    struct buf out = {0};
    uint64_t n;
    (void)state;
    latex_text(slice_of("a  \\b{c}\n % d"), ENCODING_UTF8, &out);
    memcpy(&n, out.data, sizeof n);
    assert_int_equal(n, strlen("a \\b{c} % d"));
    assert_memory_equal(out.data + sizeof n, "a \\b{c} % d", n);
    buf_free(&out);
}

/* What is left out on purpose is not missing. */
static void test_words_of_what_is_false(void **state)
{
    static const char *const around[][2] = {
        {"\\iffalse ", "\\fi"},
        {"\\iffalse ", "\\else shown\\fi"},
        {"\\iffalse\\ifx ab $a \\iff b$ \\\\fi \\fi ", "\\fi"},
        {"\\nothing{\\iffalse ", "\\fi}"},
        {"\\iffalse % \\fi\n", "\\fi"},
        {"\\iffalse 5\\% \\else\\fi", ""},
        {"\\def\\lost{", "}"}};
    (void)state;
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        struct buf text = {0}, reports = {0};
        for (int k = 0; k < 300; k++)
            buf_put_text(&text, "word ");
        buf_put_text(&text, around[i][0]);
        for (int k = 0; k < 600; k++)
            buf_put_text(&text, "left ");
        buf_put_text(&text, around[i][1]);
        tree_free(parse(text.data, NULL, &reports));
        bool missing = i + 1 == sizeof around / sizeof *around;
        assert_int_equal(reports.size && strstr(reports.data, "% of the words"),
                         missing);
        buf_free(&text);
        buf_free(&reports);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_words),
        cmocka_unit_test(test_unknown_code),
        cmocka_unit_test(test_names_like_conditionals),
        cmocka_unit_test(test_lone_dollar),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_repairs),
        cmocka_unit_test(test_expansions_within_expansions),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_bombs_of_copies),
        cmocka_unit_test(test_many_of_an_argument),
        cmocka_unit_test(test_many_without_an_end),
        cmocka_unit_test(test_fragment),
        cmocka_unit_test(test_context),
        cmocka_unit_test(test_words_of_what_is_false),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
