#include "tests/unit/unit.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/charset.h"
#include "indexer/parse/latex/latex.h"

/* ---- A folder of files in memory ---- */

struct memory_file {
    const char *name, *text;
};

static bool open_memory(void *context, struct slice names,
                        struct buf *ret_bytes, struct buf *ret_path)
{
    for (const struct memory_file *file = context; file && file->name; file++) {
        struct buf line = {0};
        buf_printf(&line, "%s\n", file->name);
        bool named = memmem(names.data, names.size, line.data, line.size);
        buf_free(&line);
        if (!named)
            continue;
        buf_put_text(ret_bytes, file->text);
        buf_put_text(ret_path, file->name);
        return true;
    }
    return false;
}

static struct tree *parse(const char *text, const struct memory_file *files,
                          struct buf *reports)
{
    union {
        const struct memory_file *files;
        void *context;
    } held = {files};
    struct latex_reader reader = {held.context, open_memory};
    struct tree *tree = NULL;
    assert_int_equal(latex_parse(slice_of(text), &reader, &tree, reports, NULL),
                     0);
    return tree;
}

/* "# title" for each node below the page (a # a level), "kind: text" for each
 * block, separated by " | ". */
static void show(const struct tree *tree, struct buf *out)
{
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        for (uint32_t i = 0; n && i < tree_depth(tree, n); i++)
            buf_put_byte(out, node->entry ? '@' : '#');
        if (n)
            buf_printf(out, " %s | ", node->title.data);
        for (uint32_t b = 0; b < node->block_count; b++)
            buf_printf(out, "%s: %s | ", block_kind_name(node->blocks[b].kind),
                       node->blocks[b].text.data);
    }
    if (out->size > 3)
        out->size -= 3;
    buf_put_byte(out, '\0');
}

static void expect_of(const char *text, const struct memory_file *files,
                      const char *shown)
{
    struct buf out = {0}, reports = {0};
    struct tree *tree = parse(text, files, &reports);
    show(tree, &out);
    assert_string_equal(out.data, shown);
    tree_free(tree);
    buf_free(&out);
    buf_free(&reports);
}

static void expect(const char *text, const char *shown)
{
    expect_of(text, NULL, shown);
}

/* ---- Macros ---- */

static void test_macros(void **state)
{
    (void)state;
    expect("\\def\\a{x}\\a\\a y", "paragraph: xxy");
    expect("\\def\\a#1#2{(#2 #1)}\\a{one}2", "paragraph: (2 one)");
    expect("\\def\\a#1.#2;{[#1|#2]}\\a x y.z{;}; w", "paragraph: [x y|z;] w");
    expect("\\def\\a(#1){<#1>}\\a(b)", "paragraph: <b>");
    expect("\\def\\a#1#{[#1]}\\a b{c}", "paragraph: [b]c");
    expect("\\newcommand{\\a}[2][d]{(#1,#2)}\\a{x} \\a[y]{z}",
           "paragraph: (d,x) (y,z)");
    expect("\\newcommand*\\a[1]{<#1>}\\renewcommand\\a{n}\\a", "paragraph: n");
    expect(
        "\\newcommand\\a{1}\\providecommand\\a{2}\\providecommand\\q{3}\\a\\q",
        "paragraph: 13");
    expect("\\def\\a{1}\\edef\\b{\\a\\noexpand\\a}\\def\\a{2}\\b",
           "paragraph: 12");
    expect("\\def\\a{1}\\let\\b=\\a\\def\\a{2}\\b\\a", "paragraph: 12");
    expect("\\expandafter\\def\\csname x y\\endcsname{z}\\csname x "
           "y\\endcsname",
           "paragraph: z");
    expect("\\def\\a{1}{\\def\\a{2}\\a}\\a {\\gdef\\a{3}}\\a",
           "paragraph: 213");
    expect("\\def\\x#1{\\def\\y##1{#1##1}}\\x a\\y b", "paragraph: ab");
    expect("\\newenvironment{e}[1]{<#1>}{</>}\\begin{e}{t}in\\end{e}",
           "paragraph: <t>in</>");
    /* What the reader keeps by names of its own cannot be defined. */
    expect("\\catcode4=11 \\def\\\4k{x}\\ref{k}", "paragraph: k");
    expect("\\expandafter\\def\\csname -count 7\\endcsname{x}\\count7=5 "
           "\\the\\count7",
           "paragraph: 5");
    expect("\\catcode`\\@=11 \\def\\a@b{in}\\a@b\\catcode`\\@=12 \\a@b",
           "paragraph: in@b");
    expect("\\makeatletter\\def\\p@q{x}\\makeatother\\makeatletter\\p@q",
           "paragraph: x");
}

static void test_xparse(void **state)
{
    (void)state;
    expect("\\NewDocumentCommand\\a{s O{d} m}{\\IfBooleanTF{#1}{star}{none} "
           "#2 #3}\\a{x}; \\a*[y]{z}",
           "paragraph: none d x; star y z");
    expect("\\NewDocumentCommand\\a{o m}{\\IfNoValueTF{#1}{no}{#1}:#2}\\a{x} "
           "\\a[y]{z}",
           "paragraph: no:x y:z");
    expect("\\NewDocumentCommand\\a{r() u;}{#1+#2}\\a(x)y;", "paragraph: x+y");
}

static void test_conditionals(void **state)
{
    (void)state;
    expect("\\iffalse a\\if b\\fi\\else c\\fi\\iftrue d\\else e\\fi",
           "paragraph: cd");
    expect("\\newif\\ifx@\\newif\\ifyes\\yestrue\\ifyes a\\else b\\fi\\yesfalse"
           "\\ifyes c\\else d\\fi",
           "paragraph: @ad");
    expect("\\ifnum 3<12 a\\else b\\fi\\ifodd 4 c\\else d\\fi",
           "paragraph: ad");
    expect("\\ifcase 2 a\\or b\\or c\\else d\\fi\\ifcase 7 a\\else e\\fi",
           "paragraph: ce");
    expect("\\def\\a{x}\\def\\b{x}\\ifx\\a\\b same\\fi\\ifx\\a\\c no\\else "
           "other\\fi",
           "paragraph: sameother");
    expect("\\ifthenelse{\\equal{a}{a} \\and 1 < 2}{yes}{no}",
           "paragraph: yes");
    expect(
        "\\newcount\\n \\n=3 \\loop\\number\\n\\advance\\n by -1 \\ifnum\\n>0 "
        "\\repeat.",
        "paragraph: 321.");
    expect("\\newcounter{c}\\setcounter{c}{4}\\stepcounter{c}\\thec, "
           "\\roman{c}, \\Alph{c}",
           "paragraph: 5, v, E");
    expect("a\\fi b\\else c", "paragraph: abc");
}

/* ---- Structure ---- */

static void test_sections(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\title{T}\\begin{document}"
           "\\section{A\\label{a}\\footnote{F}}x\\subsection[s]{B "
           "\\texorpdfstring{c}{d}}"
           "\\section*{C}\\section{D}\\appendix\\section{E}\\end{document}no",
           "# 1 A | paragraph: F | paragraph: x | ## 1.1 B c | # C | # 2 D | "
           "# A E");
    expect("\\documentclass{book}\\begin{document}\\part{P}\\frontmatter"
           "\\chapter{F}\\mainmatter\\chapter{G}\\section{H}\\end{document}",
           "# Part I. P | ## F | ## Chapter 1. G | ### 1.1 H");
    expect("\\documentclass{memoir}\\setsecnumdepth{subsection}"
           "\\begin{document}\\chapter{A}\\section{B}\\subsection{C}"
           "\\end{document}",
           "# Chapter 1. A | ## 1.1 B | ### 1.1.1 C");
    expect("text \\bf of plain \\TeX\\par and more\\bye no",
           "paragraph: text of plain TeX | paragraph: and more");
}

static void test_labels(void **state)
{
    struct buf reports = {0};
    struct tree *tree =
        parse("\\documentclass{article}\\begin{document}See \\ref{b}, "
              "\\cref{b}, \\nameref{b}, \\cite{k}.\\section{A}\\section{B}"
              "\\label{b}\\begin{thebibliography}{9}\\bibitem{k} Book."
              "\\end{thebibliography}\\end{document}",
              NULL, &reports);
    (void)state;
    assert_string_equal(tree->nodes[0].blocks[0].text.data,
                        "See 2, section 2, 2 B, [1].");
    assert_string_equal(tree->nodes[2].anchor.data, "b");
    assert_int_equal(tree->nodes[0].ref_count, 4);
    assert_string_equal(tree->nodes[0].refs[0].url.data, "#b");
    assert_string_equal(tree->nodes[0].refs[1].text.data, "section 2");
    assert_string_equal(tree->nodes[3].title.data, "References");
    assert_string_equal(tree->nodes[3].blocks[0].text.data, "[1] Book.");
    tree_free(tree);
    buf_free(&reports);
}

/* ---- Blocks ---- */

/* "entry > title of its section" for each entry of the index. */
static void expect_index(const char *text, const char *shown)
{
    struct buf out = {0};
    struct tree *tree = parse(text, NULL, NULL);
    for (uint32_t i = 0; i < tree->page.alias_count; i++) {
        const struct page_alias *alias = &tree->page.aliases[i];
        const char *title = "nowhere";
        for (uint32_t n = 0; n < tree->count; n++)
            for (uint32_t a = 0; a < tree->nodes[n].anchor_count; a++)
                if (!strcmp(tree->nodes[n].anchors[a].data,
                            alias->url.data + 1))
                    title = tree->nodes[n].title.data;
        buf_printf(&out, "%s%s > %s", i ? " | " : "", alias->text.data, title);
    }
    buf_put_byte(&out, '\0');
    assert_string_equal(out.data, shown);
    tree_free(tree);
    buf_free(&out);
}

static void test_index(void **state)
{
    (void)state;
    expect("a\\index{b!c} d\\index[x]{e|textbf}.", "paragraph: a d.");
    expect_index("\\section{A}\\index{one}x\\index{two}\\section{B}y\\index"
                 "{three}",
                 "one > A | two > A | three > B");
    expect_index("\\section{A\\index{one}}x\\section{B}y", "one > A");
    expect_index("\\section{A}\\index{fish!fried@\\emph{fried} caf\\'e!x}x",
                 "fish, fried café, x > A");
    expect_index("\\section{A}\\index{a\"!b\"@c\"|d\"\"e}x",
                 "a!b@c|d\"e > A");
    expect_index("\\section{A}\\index{a|(}\\index{b|textbf}\\index{a|)}\\index"
                 "{c|see{d}}\\index{e|seealso{d}}x",
                 "a > A | b > A");
    expect_index("\\def\\i#1{#1\\index{#1 rule}}\\section{A}\\i{left}",
                 "left rule > A");
    expect_index("\\section{A}x\\iffalse\\index{no}\\fi\\index{}\\index{ }",
                 "");
    expect_index("\\section{A}x\\index{open\n\ny", "open > A");
}

static void test_blocks(void **state)
{
    (void)state;
    expect("a\n\nb % c\n d", "paragraph: a | paragraph: b d");
    expect("\\begin{itemize}\\item a\\begin{enumerate}\\item b\\item c"
           "\\end{enumerate}\\item[x] d\\end{itemize}e",
           "list: - a\n  1. b\n  2. c\n- x d | paragraph: e");
    expect("\\begin{description}\\item[A] a\\item[B] b\\end{description}",
           "definition: A\n  a | definition: B\n  b");
    expect(
        "\\begin{tabular}{l|l}a & b\\\\\\hline\\multicolumn{2}{c}{c} & d \\\\ "
        "\\end{tabular}",
        "table: a\tb\nc\t\td");
    expect("\\begin{verbatim}\n a $%\\\n\n b\n\\end{verbatim}c",
           "code:  a $%\\\n\n b | paragraph: c");
    expect("\\verb|a{%|, \\verb+b c+\\footnote{F $x$}.",
           "paragraph: a{%, b c. | paragraph: F $x$");
    expect("\\newenvironment{code}{\\small\\verbatim}{\\endverbatim}"
           "\\begin{code}\n{x\n\\end{code}",
           "code: {x");
    expect(
        "\\DefineVerbatimEnvironment{V}{Verbatim}{}\\begin{V}[o]\n#\n\\end{V}",
        "code: #");
    expect("\\begin{lstlisting}[language=C]\nint\n\\end{lstlisting}",
           "code: int");
    expect("\\newtheorem{thm}{Theorem}\\begin{thm}[N]x\\end{thm}",
           "note: Theorem 1 (N). x");
    expect("\\begin{figure}\\includegraphics[w]{f}\\caption[s]{C}\\end{figure}",
           "figure: Figure 1: C");
    expect("\\begin{quote}q\\end{quote}r", "quote: q | paragraph: r");
    expect("a \\unknown[o]{b} \\textcolor{red}{c} \\vspace*{1cm}d \\hskip 2pt "
           "plus 1fil e",
           "paragraph: a b c d e");
}

static void test_math(void **state)
{
    (void)state;
    expect("$a_1$ \\(b\\) x $$c$$ y", "paragraph: $a_1$ $b$ x | math: c | "
                                      "paragraph: y");
    expect("\\def\\be{\\begin{equation}}\\def\\ee{\\end{equation}}"
           "\\be a\\label{l} = \\frac{1}{2}\\ee z",
           "math: a = \\frac{1}{2} | paragraph: z");
    expect("\\begin{align*}a &= b\\\\\\begin{array}{c}d\\end{array}"
           "\\end{align*}",
           "math: a &= b\\\\\\begin{array}{c}d\\end{array}");
    expect("a $b\n\nc", "paragraph: a $b$ | paragraph: c");
}

static void test_signs(void **state)
{
    (void)state;
    expect("Caf\\'e na\\\"{\\i}ve \\c{c}a \\v{s} \\ss\\ \\o{} \\AA",
           "paragraph: Café naïve ça š ß ø Å");
    expect("``a'' `b' c--d---e \\ldots\\ f~g \\% \\$ \\LaTeX",
           "paragraph: “a” ‘b’ c–d—e … f g % $ LaTeX");
    expect("\\texttt{a--b ``c''}", "paragraph: a--b ``c''");
    expect("\\SI{3}{\\kilo\\metre\\per\\second}, \\num{5}, "
           "\\si{\\square\\metre}",
           "paragraph: 3 km/s, 5, m²");
}

static void test_entries(void **state)
{
    (void)state;
    expect("\\section{S}\\begin{macro}{\\foo}does\\end{macro}"
           "\\begin{key}{/a/b=\\meta{x}}is\\end{key}after",
           "# S | paragraph: after | @@ \\foo | paragraph: does | @@ "
           "/a/b=⟨x⟩ | paragraph: is");
    expect("\\DescribeMacro{\\bar} one \\section{T} two",
           "@ \\bar | paragraph: one | # T | paragraph: two");
}

/* ---- Files ---- */

static void test_inputs(void **state)
{
    static const struct memory_file files[] = {
        {"a.tex", "\\section{A}in a \\input{b}\\endinput\nnever"},
        {"b.tex", "in b \\input a "},
        {"own.sty", "\\def\\p@x{from own}\\let\\own\\p@x"},
        {NULL, NULL}};
    struct buf reports = {0}, out = {0};
    (void)state;
    struct tree *tree =
        parse("\\documentclass{book}\\usepackage{own}\\begin{document}"
              "\\include{a}\\own\\input{gone}\\end{document}",
              files, &reports);
    show(tree, &out);
    /* Chapters are numbered, but there was none. */
    assert_string_equal(out.data,
                        "# 0.1 A | paragraph: in a | paragraph: in b | "
                        "paragraph: from own");
    assert_int_equal(tree->file_count, 4);
    assert_non_null(strstr(reports.data, "a.tex includes itself"));
    assert_non_null(strstr(reports.data, "gone is not there"));
    tree_free(tree);
    buf_free(&reports);
    buf_free(&out);
}

static void test_places(void **state)
{
    static const char text[] =
        "\\def\\w{made} one \\w{} tw\\'o \\emph{three}\n\nfour";
    struct tree *tree = parse(text, NULL, NULL);
    const struct block *first = &tree->nodes[0].blocks[0];
    (void)state;
    assert_string_equal(first->text.data, "one made twó three");
    assert_int_equal(first->origin.span.from, strstr(text, "one") - text);
    assert_int_equal(first->origin.span.to, strstr(text, "three") + 5 - text);
    assert_int_equal(tree->nodes[0].blocks[1].origin.span.from,
                     strstr(text, "four") - text);
    tree_free(tree);
}

static void test_encodings(void **state)
{
    static const char latin[] = "\\usepackage[latin1]{inputenc} caf\xe9 x\n\ny";
    struct tree *tree = parse(latin, NULL, NULL);
    const struct block *blocks = tree->nodes[0].blocks;
    (void)state;
    assert_string_equal(blocks[0].text.data, "café x");
    assert_int_equal(blocks[1].origin.span.from, sizeof latin - 2);
    tree_free(tree);
    assert_int_equal(latex_parse((struct slice){"\x7f"
                                                "ELF",
                                                4},
                                 NULL, &tree, NULL, NULL),
                     ERR_FORMAT);
}

/* ---- What is broken ---- */

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
    expect("\\begin{verbatim}x", "code: x");
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
    for (int i = 0; i < 6000; i++)
        buf_put_text(&deep, "\\InputIfFileExists{x}{}{}");
    buf_put_byte(&deep, '\0');
    expect_report(deep.data, "more than 5000 files");
    buf_free(&deep);
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

static int load(void **state)
{
    (void)state;
    charset_load();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros),       cmocka_unit_test(test_xparse),
        cmocka_unit_test(test_conditionals), cmocka_unit_test(test_sections),
        cmocka_unit_test(test_labels),       cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_math),         cmocka_unit_test(test_signs),
        cmocka_unit_test(test_entries),      cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_places),       cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_repairs),      cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_fragment),     cmocka_unit_test(test_index),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
