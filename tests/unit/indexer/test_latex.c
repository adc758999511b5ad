#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/text.h"
#include "indexer/parse/text/charset.h"
#include "indexer/parse/latex/latex.h"

/* ---- A folder of files in memory ---- */

struct memory_file {
    const char *name, *text;
};

static const struct memory_file *file_of(const struct memory_file *files,
                                         struct slice name)
{
    for (; files && files->name; files++)
        if (slice_is(name, files->name))
            return files;
    return NULL;
}

/* The first of the names that is there. */
static bool open_memory(void *context, struct slice names,
                        struct buf *ret_bytes, struct buf *ret_path)
{
    while (names.size) {
        const char *end = memchr(names.data, '\n', names.size);
        size_t size = end ? (size_t)(end - names.data) : names.size;
        const struct memory_file *file =
            file_of(context, (struct slice){names.data, size});
        if (file) {
            buf_put_text(ret_bytes, file->text);
            buf_put_text(ret_path, file->name);
            return true;
        }
        size += end != NULL;
        names.data += size;
        names.size -= size;
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

/* What a macro does not get is no call of it: the text stays. */
static void test_uncalled(void **state)
{
    (void)state;
    expect("\\def\\a#1;{\\a(#1)}\\a one two\n\nthree",
           "paragraph: one two | paragraph: three");
    expect("\\def\\x#1{\\ifx\\y\\empty none\\else some\\fi}\\def\\y{}\\x1"
           "\\def\\y{z}\\x1",
           "paragraph: nonesome");
    expect(
        "\\expandafter\\ifx\\csname no\\endcsname\\relax a\\else b\\fi"
        "\\ifx\\no\\relax c\\else d\\fi\\ifx\\no\\none e\\else f\\fi"
        "\\let\\x\\relax\\expandafter\\ifx\\csname x\\endcsname\\relax g\\fi",
        "paragraph: adeg");
    expect("\\makeatletter\\@ifmtarg{ }{a}{b}\\@ifnotmtarg{}{c}"
           "\\@ifnotmtarg{x}{d}",
           "paragraph: ad");
}

static void test_registers(void **state)
{
    (void)state;
    expect("\\toks0={a}\\toksdef\\x=4 \\x={b\\the\\toks0}\\the\\x",
           "paragraph: ba");
    expect("\\count5=7 \\advance\\count5 by 3 \\countdef\\x=5 \\the\\x",
           "paragraph: 10");
    expect("\\toks0={\\a}\\def\\a{1}\\edef\\b{\\the\\toks0}\\def\\a{2}\\b",
           "paragraph: 2");
    /* What is before the brace expands. */
    expect("\\toks0={b}\\toks0\\expandafter{\\the\\toks0 c}\\toks2=\\toks0 "
           "\\toks0=\\relax{x}\\the\\toks2",
           "paragraph: bc");
    /* The test is of the value that it follows. */
    expect("\\newdimen\\x\\x=1pt\\x=3pt \\ifdim\\x>2pt wide\\fi",
           "paragraph: wide");
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

/* What expl3 cannot be executed leaves its arguments' text, no tokens of its
 * own. */
static void test_expl(void **state)
{
    (void)state;
    expect("\\ExplSyntaxOn\n\\clist_new:N \\l_my_clist\n"
           "\\NewDocumentCommand{\\many}{m}{\n"
           "  \\clist_set:Nn \\l_my_clist {#1}\n"
           "  \\clist_map_inline:Nn \\l_my_clist { \\emph{zebra} ~ }\n"
           "  \\bool_if:NTF \\l_my_bool {never} {\\tl_use:N \\l_x_tl done}\n}\n"
           "\\ExplSyntaxOff\na_b: \\many{x, y} c",
           "paragraph: a_b: zebra done c");
    expect("\\ExplSyntaxOn\\NewDocumentCommand\\low{m}{"
           "\\exp_args:NV\\tl_if_head_eq_charcode:nNTF\\l_my_series{m}"
           "{never}{\\use:n}{#1}}\\ExplSyntaxOff a \\low{SI} b",
           "paragraph: a SI b");
    expect(
        "\\ExplSyntaxOn\\cs_new_protected:Npn \\my_pair:nn #1#2 {(#1,~#2)}"
        "\\NewDocumentCommand\\pair{mm}{\\my_pair:nn{#1}{#2}}\\ExplSyntaxOff "
        "\\pair ab",
        "paragraph: (a, b)");
    static const struct memory_file files[] = {
        {"own.sty", "\\ProvidesExplPackage{own}{2026}{1}{x}\n"
                    "\\msg_new:nnn {own} {bad} {This~is~bad}\n"
                    "\\cs_new:Npn \\own_it:n #1 { <#1> }\n"
                    "\\NewDocumentCommand \\own { m } { \\own_it:n {#1} }\n"},
        {NULL, NULL}};
    expect_of("\\documentclass{article}\\usepackage{own}\\begin{document}"
              "a_b \\own{c d}: e\\end{document}",
              files, "paragraph: a_b <c d>: e");
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
    expect("\\newcount\\n \\newcount\\m \\n=2 \\loop\\ifnum\\n>0 (\\m=2 "
           "{\\loop\\ifnum\\m>0 \\number\\m\\advance\\m by -1 \\repeat})"
           "\\advance\\n by -1 \\repeat.",
           "paragraph: (21)(21).");
    expect("\\newcounter{c}\\setcounter{c}{4}\\stepcounter{c}\\thec, "
           "\\roman{c}, \\Alph{c}",
           "paragraph: 5, v, E");
    expect("\\newcounter{c}\\setcounter{c}{4}\\makeatletter"
           "\\renewcommand\\thec{\\@Roman\\c@c}\\makeatother\\thec",
           "paragraph: IV");
    expect("\\documentclass{book}\\renewcommand\\chaptername{Cap\\'\\i"
           "tulo}\\renewcommand\\appendixname{AP\\^ENDICE}\\begin{document}"
           "\\chapter{A}\\appendix\\chapter{B}\\end{document}",
           "# Cap\u00EDtulo 1. A | # AP\u00CANDICE A. B");
    expect("\\newtoggle{a}\\providetoggle{x}\\toggletrue{x}\\providetoggle{x}"
           "\\iftoggle{a}{b}{c}\\iftoggle{x}{d}{e}\\nottoggle{x}{f}{g}"
           "\\settoggle{x}{false}\\iftoggle{x}{h}{i}\\ifx\\y\\y j\\fi",
           "paragraph: cdgij");
    expect("\\newbool{a}\\booltrue{a}\\ifbool{a}{b}{c}\\boolfalse{a}"
           "\\ifbool{a}{d}{e}",
           "paragraph: be");
    expect(
        "\\newcounter{c}\\setcounter{c}{4}\\ifnumgreater{\\value{c}}{3}{a}{b}"
        "\\ifnumless{2*\\value{c}}{8}{c}{d}\\ifnumcomp{1}{<}{2}{e}{f}"
        "\\ifnumodd{3}{g}{h}\\ifdimgreater{2cm}{1in}{i}{j}",
        "paragraph: adegj");
    expect("\\newcommand\\do[1]{(#1)}\\docsvlist{a, {b,c} ,, d}"
           "\\forcsvlist{\\textbf}{e,f}",
           "paragraph: (a)(b,c)(d)ef");
    /* Neither branch of what is only compared is carried out. */
    expect("\\newcommand\\a{\\def\\b{}}\\def\\b{c}\\ifstrempty{\\a}{d}{e}\\b"
           "\\ifblank{ }{f}{g}\\ifstrequal{x}{x}{h}{i}",
           "paragraph: ecfh");
    expect("\\newcommand\\again[1]{\\xpatchcmd{#1}{a}{b}{\\again{#1}}{}}"
           "\\again{\\x}c",
           "paragraph: c");
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
           "# 1 A | paragraph: F | paragraph: x | ## 1.1 B d | # C | # 2 D | "
           "# A E");
    expect(
        "\\section{A \\texorpdfstring{b}{}}\\subsection[s]{}\\section[t] {u}",
        "# A b | ## s | # u");
    expect("a\\begin{multicols}{2}[\\section{S}]b\\end{multicols}",
           "paragraph: a | # S | paragraph: b");
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
    expect("\\cite[question~5, \\emph{all}]{a} \\citep[see][p.~7]{b,c}. "
           "\\bibitem{a}A",
           "paragraph: [1, question 5, all] [see b, c, p. 7]. | "
           "paragraph: [1] A");
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
    expect_index("\\section{A}\\index{a\"!b\"@c\"|d\"\"e}x", "a!b@c|d\"e > A");
    expect_index("\\section{A}\\index{a|(}\\index{b|textbf}\\index{a|)}\\index"
                 "{c|see{d}}\\index{e|seealso{d}}x",
                 "a > A | b > A");
    expect_index("\\def\\i#1{#1\\index{#1 rule}}\\section{A}\\i{left}",
                 "left rule > A");
    expect_index("\\def\\i#1{\\index{\\string\\emph{#1}}}\\section{A}\\i{left}",
                 "left > A");
    expect_index("\\section{A}x\\iffalse\\index{no}\\fi\\index{}\\index{ }",
                 "");
    expect_index("\\section{A}x\\index{open\n\ny", "open > A");
}

/* By custom a document's own style; what it says of other things is not of
 * ours. */
static void test_index_style(void **state)
{
    static const struct memory_file files[] = {
        {"\\jobname.ist", "% actual 'x'\nactual '?'\n level '>' no\n"
                          "quote '\\'' % c\nitem_0 \"actual 'y'\"\n"},
        {NULL, NULL}};
    struct buf reports = {0};
    (void)state;
    struct tree *tree = parse(
        "\\makeindex\\section{A}\\index{b@c!d?e\"f'?|textbf}", files, &reports);
    assert_int_equal(tree->page.alias_count, 1);
    assert_string_equal(tree->page.aliases[0].text.data, "b@c, e\"f?");
    tree_free(tree);
    buf_free(&reports);
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
    expect("a \\halign to 3in{#\\hfil&\\quad#\\cr b&{c&\\cr}\\cr d&e\\crcr}f",
           "paragraph: a | table: b\tc\nd\te | paragraph: f");
    expect("a\n\n\\settabs\\+x&y\\cr\\+b&c\\cr\\+d&e\\cr\n\nf",
           "paragraph: a | paragraph: b c\nd e | paragraph: f");
    expect("a\\settabs 4\\columns \\+b\\cr", "paragraph: a\nb");
    expect("a\\halign b", "paragraph: ab");
    expect("a\\glossary{x} b\\glossary[f](k){t}{d} c", "paragraph: a b c");
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
    expect("\\newtheorem{t}{A}\\newtheorem{t}{B}\\begin{t}x\\end{t}",
           "note: B 1. x");
    expect("\\begin{figure}\\includegraphics[w]{f}\\caption[s]{C}\\end{figure}",
           "figure: Figure 1: C");
    expect("\\begin{quote}q\\end{quote}r", "quote: q | paragraph: r");
    expect("a \\unknown[o]{b} \\textcolor{red}{c} \\vspace*{1cm}d \\hskip 2pt "
           "plus 1fil e",
           "paragraph: a b c d e");
}

/* A box that is only measured is none of the text. */
static void test_boxes(void **state)
{
    (void)state;
    expect("\\newsavebox\\b\\sbox\\b{saved}a \\usebox{\\b}, \\usebox\\b",
           "paragraph: a saved, saved");
    expect("\\savebox{\\b}[3cm][c]{x}a\\sbox0{zero} \\box0 b \\unhbox 10 c",
           "paragraph: a zerob c");
    expect("\\def\\fit#1{\\sbox0{#1}\\ifdim\\wd0>3cm\\begin{quote}#1"
           "\\end{quote}\\else#1\\fi}\\fit{once}",
           "paragraph: once");
}

static void test_verb(void **state)
{
    (void)state;
    expect("\\verb%a%b\\verb|\\|c", "paragraph: ab\\c");
    /* In an argument, where \+ is a name and } the argument's end. */
    expect("\\def\\a#1{#1}\\a{\\verb+\\+ x}\\a{\\verb|y}z",
           "paragraph: \\ xyz");
    expect("\\index{x@\\verb+\\+ (y)}after", "paragraph: after");
    expect("$a \\verb%\\%b$ c", "paragraph: $a \\b$ c");
    expect("\\verb\u00a7a|b\u00a7c \\verb\u00d7\u00a7\u00d7",
           "paragraph: a|bc \u00a7");
    expect("\\def\\a#1{$\\b #1$}\\a{\\verb|+|z}", "paragraph: $\\b+z$");
    /* LaTeX 2.09 let it run on to the next line. */
    expect("\\verb%let\nx%=", "paragraph: let x=");
    expect("\\verb|never\n\nends", "paragraph: never | paragraph: ends");
    /* Made by the document itself, with TeX's categories. */
    expect("\\makeatletter\\begingroup\\catcode`|=0 \\catcode`[=1 "
           "\\catcode`]=2 \\catcode`\\\\=12 "
           "|gdef|x#1\\END[<#1>|endgroup]|endgroup"
           "\\def\\asis{\\begingroup\\let\\do\\@makeother\\dospecials\\x}"
           "\\asis a\\b%{\\END d",
           "paragraph: < a\\b%{> d");
    /* ... and never undone. */
    expect("\\makeatletter\\begingroup\\let\\do\\@makeother\\dospecials "
           "\\a\n\n\\section{Title}",
           "paragraph: \\a | # Title");
}

/* Wrappers around verbatim environments end where the wrapper does. */
static void test_own_listings(void **state)
{
    (void)state;
    expect("\\newenvironment{snip}[2][]{\\VerbatimEnvironment"
           "\\begin{mdframed}\\begin{minted}[#1]{#2}}"
           "{\\end{minted}\\end{mdframed}}"
           "a\n\\begin{snip}[x]{c}\nint %d;\n\\end{snip}\nb\n\n"
           "\\section{B}c\\begin{snip}{py}\nx = {\n\\end{snip}d",
           "paragraph: a | code: int %d; | paragraph: b | # B | "
           "paragraph: c | code: x = { | paragraph: d");
    expect("\\NewDocumentEnvironment{snip}{m}{\\begin{quote}\\begin{Verbatim}}"
           "{\\end{Verbatim}\\end{quote}}"
           "\\begin{snip}{c}\n\\x{\n\\end{snip}b",
           "code: \\x{ | paragraph: b");
    expect("\\DefineVerbatimEnvironment{out}{Verbatim}{frame=single}"
           "\\begin{out}[x=y]\n$ ls\n\\end{out}b",
           "code: $ ls | paragraph: b");
    expect("\\newminted{python}{linenos}\\newminted[cee]{c}{}"
           "\\begin{pythoncode}\na$\n\\end{pythoncode}"
           "\\begin{pythoncode*}{x}\nb$\n\\end{pythoncode*}"
           "\\begin{cee}\nc$\n\\end{cee}d",
           "code: a$ | code: b$ | code: c$ | paragraph: d");
    expect("\\lstnewenvironment{code}[2][]{\\lstset{language=C,#1}}{}"
           "\\begin{code}[x]{A title}\n%a\n\\end{code}b",
           "code: %a | paragraph: b");
    expect("\\newtcblisting[auto counter]{code}[2][]{listing only,#1}"
           "\\begin{code}[x]{A title}\n%a\n\\end{code}b",
           "code: %a | paragraph: b");
    expect("\\NewTCBListing{code}{O{} m}{listing only}"
           "\\begin{code}[x]{A title}\n%a\n\\end{code}b",
           "code: %a | paragraph: b");
}

/* Code in files: whole or some lines of it, at its place in that file. */
static void test_code_files(void **state)
{
    static const struct memory_file files[] = {
        {"code/a.c", "int a;\n\n  if (a % 2) {\n\t\\x\n}\n"}, {NULL, NULL}};
    const char *shown =
        "paragraph: a | code: int a;\n\n  if (a % 2) {\n\t\\x\n} "
        "| paragraph: b";
    (void)state;
    expect_of("a\\lstinputlisting[language=C]{code/a.c}b", files, shown);
    expect_of("a\\inputminted[linenos]{c}{code/a.c}b", files, shown);
    expect_of("a\\VerbatimInput{code/a.c}b", files, shown);
    expect_of("a\\verbatiminput{code/a.c}b", files, shown);
    expect_of("a\\tcbinputlisting{listing only, listing file={code/a.c}}b",
              files, shown);
    expect_of("\\newcommand\\src[2][c]{\\inputminted{#1}{code/#2}}a\\src{a.c}b",
              files, shown);
    struct tree *tree =
        parse("\\lstinputlisting[firstline=3,lastline=4,language={[99]C}]"
              "{code/a.c}",
              files, NULL);
    const struct block *block = &tree->nodes[0].blocks[0];
    assert_string_equal(block->text.data, "  if (a % 2) {\n\t\\x");
    assert_string_equal(block->info.data, "C");
    assert_int_equal(block->origin.file, 1);
    assert_int_equal(block->origin.span.from, 8);
    assert_int_equal(block->origin.span.to, 26);
    tree_free(tree);
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
    expect(
        "\\makeatletter\\def\\n#1{$\\m@th\\csname#1\\endcsname+1$}\\n{alpha}",
        "paragraph: $\\alpha+1$");
}

static void test_signs(void **state)
{
    (void)state;
    expect("Caf\\'e na\\\"{\\i}ve \\c{c}a \\v{s} \\ss\\ \\o{} \\AA",
           "paragraph: Café naïve ça š ß ø Å");
    expect("``a'' `b' c--d---e \\ldots\\ f~g \\% \\$ \\LaTeX",
           "paragraph: “a” ‘b’ c–d—e … f g % $ LaTeX");
    expect("\\texttt{a--b ``c''}", "paragraph: a--b ``c''");
    expect("\\documentclass{amsldoc}\\begin{document}\\latex/ 2 \\amstex/.",
           "paragraph: LaTeX 2 AmS-TeX.");
    expect("\\KOMAScript{} a.\\NEWfeature{1995} b",
           "paragraph: KOMA-Script a. b | paragraph: New feature 1995");
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
           "/a/b=⟨x⟩ (no default) | paragraph: is");
    expect("\\DescribeMacro{\\bar} one \\section{T} two",
           "@ \\bar | paragraph: one | # T | paragraph: two");
    expect("\\section{S}\\begin{ltxsyntax}\\cmditem{a}[b]{c}\n\nx\n\n"
           "\\cmditem*{d*}<q>* {y}\\envitem{e}[f]z\\end{ltxsyntax}"
           "\\optitem[g]{h}{\\prm{i}, \\opt{j}}v\\boolitem{k}w",
           "# S | @@ \\a[⟨b⟩]{⟨c⟩} | paragraph: x | @@ \\d*<⟨q⟩>* | paragraph: "
           "y | "
           "@@ \\begin{e}[⟨f⟩] | paragraph: z | @@ h=⟨i⟩, j (default: g) | "
           "paragraph: v | @@ k=true, false | paragraph: w");
    /* A brace that nothing opened. */
    expect("\\section{S}\\cmditem{a}<q}>x",
           "# S | @@ \\a<⟨q}⟩> | paragraph: x");
    expect(
        "\\begin{docCommand}[o]{a}{\\oarg{b}\\marg{c}}x\\end{docCommand}"
        "\\begin{docEnvironment}{d}{}y\\end{docEnvironment}"
        "\\begin{docTcbKey}[][o]{e f}{=\\meta{g}}{no default}z"
        "\\end{docTcbKey}\\begin{docKey}[h]{i}{}{}w\\end{docKey}",
        "@ \\a[⟨b⟩]{⟨c⟩} | paragraph: x | @ \\begin{d} | paragraph: y | "
        "@ /tcb/e f=⟨g⟩ (no default) | paragraph: z | @ /h/i | paragraph: w");
    expect("\\begin{dispExample*}{a=b}\n\\x\n\\end{dispExample*}y",
           "code: \\x | paragraph: y");
    /* What pgfmanual prints besides what is written. */
    expect(
        "\\begin{key}{/a}x\\end{key}\\begin{key}{/b (initially c)}x\\end{key}",
        "@ /a (no value) | paragraph: x | @ /b (initially c) | "
        "paragraph: x");
    expect("\\begin{key}{/a=\\marg{x} (default 1)}x\\end{key}"
           "\\begin{stylekey}{/b=\\meta{y} (initially 2)}x\\end{stylekey}"
           "\\begin{stylekey}{/c=y (default 3)}x\\end{stylekey}",
           "@ /a={⟨x⟩} (default 1) | paragraph: x | "
           "@ /b=⟨y⟩ (style, no default, initially 2) | paragraph: x | "
           "@ /c=y (style, default 3) | paragraph: x");
    expect("\\begin{tikzlibrary}{a.b}x\\end{tikzlibrary}"
           "\\begin{shape}{c}y\\end{shape}",
           "@ TikZ Library a.b | code: \\usetikzlibrary{a.b} % LaTeX and "
           "plain TeX\n\\usetikzlibrary[a.b] % ConTeXt | paragraph: x | "
           "@ Shape c | paragraph: y");
    expect("\\begin{pgfmodule}{}x\\end{pgfmodule}", "@  | paragraph: x");
    expect("\\begin{codeexample}[width=1cm, preamble={\\usetikzlibrary{a,b}}]"
           "\nx\n\\end{codeexample}",
           "code: \\usetikzlibrary{a,b}\nx");
    expect("\\begin{codeexample}[no preamble=a, preamble = {b}]\nx\n"
           "\\end{codeexample}",
           "code: b\nx");
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

/* Names are relative to the folder of what is imported, as long as it is read,
 * then to those around it. */
static void test_imports(void **state)
{
    static const struct memory_file files[] = {
        {"a/one.tex", "one \\subimport{in/}{deep}\\input{two}"},
        {"a/in/deep.tex", "deep \\input{near}\\input{two}"},
        {"a/in/near.tex", "near "},
        {"a/two.tex", "two "},
        {"a/b/three.tex", "wrong "},
        {"b/three.tex", "three "},
        {"a/next.tex", "wrong "},
        {"next.tex", "next "},
        {"s/sub.tex", "\\documentclass[../main]{subfiles}\\begin{document}sub "
                      "\\input{part}\\subfile{t/under}\\end{document}"},
        {"s/part.tex", "part "},
        {"s/t/under.tex", "\\begin{document}under \\input{leaf}"
                          "\\subfile{s/t/last}\\end{document}"},
        {"s/t/last.tex", "last \\input{leaf}\\subfile{../../u/side}"},
        {"u/side.tex", "side \\subfile{mate}"},
        {"u/mate.tex", "mate "},
        {"leaf.tex", "wrong "},
        {"s/t/leaf.tex", "leaf "},
        {NULL, NULL}};
    struct buf reports = {0}, out = {0};
    (void)state;
    struct tree *tree =
        parse("\\documentclass{article}\\begin{document}\\import{a}{one}"
              "\\subimport{b/}{three}\\input{next}\\subfile{s/sub}"
              "\\input{next}\\end{document}",
              files, &reports);
    show(tree, &out);
    assert_string_equal(out.data,
                        "paragraph: one | paragraph: deep | paragraph: near | "
                        "paragraph: two two | paragraph: three | "
                        "paragraph: next | paragraph: sub | paragraph: part | "
                        "paragraph: under | paragraph: leaf | paragraph: last "
                        "| paragraph: leaf | paragraph: side | "
                        "paragraph: mate | paragraph: next");
    assert_int_equal(reports.size, 0);
    tree_free(tree);
    buf_free(&out);
    buf_free(&reports);
}

static void test_styles(void **state)
{
    static const struct memory_file files[] = {
        {"../a.sty", "\\def\\x{a}\\def\\thebibliography#1{\\section*{Sources"
                     "\\@mkboth{S}{S}}\\list{x}{y}}"},
        {"b.sty", "\\edef\\x{\\x b}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentstyle[12pt,../a,b]{article}\\begin{document}\\x"
              "\\begin{thebibliography}{9}\\bibitem{k}Book"
              "\\end{thebibliography}",
              files, "paragraph: ab | # Sources | paragraph: [1] Book");
    expect_of("\\documentclass{article}\\usepackage{../a, b}"
              "\\begin{document}\\x",
              files, "paragraph: ab");
    expect("\\documentclass{memoir}\\begin{document}\\frontmatter"
           "\\chapter{A}\\section{B}\\mainmatter\\chapter{C}\\section{D}",
           "# A | ## B | # Chapter 1. C | ## 1.1 D");
}

/* A class and a package that choose by their options: those of the class are the
 * package's, too. */
static void test_options(void **state)
{
    static const struct memory_file files[] = {
        {"own.cls", "\\newif\\ifshow\\newif\\ifbig"
                    "\\DeclareOption{answers}{\\showtrue}"
                    "\\DeclareOption{none}{\\showfalse}"
                    "\\DeclareOption{big}{\\bigtrue}"
                    "\\DeclareOption*{\\edef\\others{\\CurrentOption}}"
                    "\\PassOptionsToPackage{passed}{named}"
                    "\\ExecuteOptions{none,big}\\ProcessOptions\\relax"
                    "\\newcommand\\answer[1]{\\ifshow Answer: #1\\fi}"},
        {"named.sty", "\\def\\named{}\\DeclareOption{big}{\\def\\named{b}}"
                      "\\DeclareOption{other}{\\def\\named{no}}"
                      "\\DeclareOption*{\\edef\\named{\\named\\CurrentOption}}"
                      "\\ProcessOptions*"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass[answers, big, x=1]{own}\\usepackage[y]{named}"
              "\\begin{document}\\answer{4} \\others{} \\named",
              files, "paragraph: Answer: 4 x=1 bpassedy");
    expect_of("\\documentclass{own}\\begin{document}\\answer{4}\\ifbig B\\fi",
              files, "paragraph: B");
}

static void test_keys(void **state)
{
    static const struct memory_file files[] = {
        {"own.sty",
         "\\SetupKeyvalOptions{prefix=o@}\\DeclareBoolOption{draft}"
         "\\DeclareBoolOption[true]{kept}\\DeclareStringOption[none]{note}"
         "\\DeclareStringOption{by}[me]\\DeclareVoidOption{flat}{\\def\\f{flat}"
         "}"
         "\\ProcessKeyvalOptions*\\let\\ifdraft\\ifo@draft\\let\\note\\o@note"
         "\\let\\ifkept\\ifo@kept\\let\\by\\o@by"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{article}\\usepackage[draft,note={a, b},flat,by]"
              "{own}\\begin{document}\\ifdraft D\\fi\\ifkept K\\fi, "
              "\\note, \\f, \\by",
              files, "paragraph: DK, a, b, flat, me");
    expect("\\makeatletter\\define@key{f}{depth}[3]{(depth #1)}"
           "\\define@key{f}{b}{(b #1)}\\setkeys{f}{ depth = {1,2}, b=, no=4}"
           "\\setkeys{f}{depth,b}",
           "paragraph: (depth 1,2)(b )(depth 3)");
    expect("\\documentclass{article}\\DefineFamily{k}\\DefineFamilyMember{k}"
           "\\DefineFamilyKey{k}{secnumdepth}[1]{\\setcounter{secnumdepth}{#1}}"
           "\\FamilyProcessOptions{k}\\begin{document}\\section{A}"
           "\\FamilyOptions{k}{secnumdepth=0}\\section{B}",
           "# 1 A | # B");
}

static void test_added_to_macros(void **state)
{
    (void)state;
    expect("\\makeatletter\\def\\x{a}{\\g@addto@macro\\x{b}\\appto\\x{c}\\x}"
           "\\preto\\x{0}\\x \\appto\\new{n}\\new "
           "\\def\\y#1{(#1)}\\apptocmd\\y{[#1]}{yes}{no}"
           "\\pretocmd\\y{<}{yes}{no}\\y{z}"
           "\\apptocmd\\par{z}{ yes}{ no}\\apptocmd\\gone{z}{ yes}{ no}",
           "paragraph: abc0abnyesyes<(z)[z] no no");
    expect("\\def\\x#1{a(#1)a(#1)}\\patchcmd\\x{a(#1)}{[#1]}{yes}{no}\\x1 "
           "\\patchcmd\\x{b}{c}{yes}{no}\\patchcmd\\par{b}{c}{yes}{no}"
           "\\def\\all#1#2{\\xpatchcmd\\x{#1}{#2}{\\all{#1}{#2}}{}}"
           "\\def\\x{a, a, a}\\all ab\\x",
           "paragraph: yes[1]a(1) nob, b, b");
    expect("\\documentclass{book}\\makeatletter\\g@addto@macro\\appendix{x}"
           "\\begin{document}\\chapter{A}",
           "# Chapter 1. A");
}

static void test_environments_with_a_body(void **state)
{
    (void)state;
    expect("\\NewEnviron{twice}[2][x]{<#1#2 \\BODY|\\BODY>}"
           "\\begin{twice}{y}a\\begin{center}b\\end{center}\\end{twice} c",
           "paragraph: <xy a | paragraph: b | paragraph: |a | paragraph: b | "
           "paragraph: > c");
    expect("\\NewEnviron{kept}{\\global\\let\\k\\BODY}"
           "\\begin{kept}in \\begin{kept}x\\end{kept} it\\end{kept}out, "
           "\\RenewEnviron{kept}{}\\k",
           "paragraph: out, in it");
    expect("\\NewEnviron{open}{\\BODY}a\\begin{open}b\n\nc",
           "paragraph: ab | paragraph: c");
}

/* What the package doc's index is told of a macro is not carried out. */
static void test_index_of_macros(void **state)
{
    (void)state;
    expect("\\makeatletter\\def\\cs#1{\\texttt{#1}\\expandafter\\SpecialIndex@"
           "\\expandafter{\\csname#1\\endcsname}{main}}"
           "The \\cs{ifshown} is true.",
           "paragraph: The ifshown is true.");
}

/* \setbox sets nothing; \box does. */
static void test_boxes_of_tex(void **state)
{
    (void)state;
    expect("a\\setbox0=\\hbox to 3pt{box}b\\box0 c "
           "\\newbox\\x\\setbox\\x\\vbox{named}d\\copy\\x",
           "paragraph: abboxc dnamed");
    expect("a\\fontdimen2\\font=3pt b\\hyphenchar\\font=-1 c\\accent23 d"
           "\\skip\\footins=7pt plus 1pt e",
           "paragraph: abcde");
}

/* What was asked for is loaded, whether it lies beside the document or not. */
static void test_which_packages_are_loaded(void **state)
{
    static const struct memory_file files[] = {
        {"own.cls",
         "\\LoadClass[a4paper]{article}\\RequirePackage[leqno]{amsmath}"
         "\\@ifpackageloaded{amsmath}{\\def\\a{A}}{\\def\\a{no}}"
         "\\@ifpackageloaded{amstex}{\\def\\b{no}}{\\def\\b{B}}"
         "\\@ifclasswith{own}{ nomath, 10pt}{\\def\\c{C}}{\\def\\c{no}}"
         "\\@ifclasswith{own}{nomath,11pt}{\\def\\d{no}}{\\def\\d{D}}"
         "\\@ifpackagewith{amsmath}{leqno}{\\def\\e{E}}{\\def\\e{no}}"
         "\\@ifclassloaded{article}{\\def\\f{F}}{\\def\\f{no}}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass[10pt,nomath]{own}\\begin{document}"
              "\\a\\b\\c\\d\\e\\f",
              files, "paragraph: ABCDEF");
}

/* As amsart and its copies do: a \title with an optional argument, \maketitle
 * that changes its letters by way of registers. */
static void test_titles_of_classes(void **state)
{
    static const struct memory_file files[] = {
        {"own.cls",
         "\\renewcommand*{\\title}[2][]{\\gdef\\short{#1}\\gdef\\@title{#2}}"
         "\\edef\\title{\\noexpand\\@dblarg\\expandafter\\noexpand"
         "\\csname\\string\\title\\endcsname}"
         "\\renewcommand\\normalsize{\\@setfontsize\\normalsize{10}{12}}"
         "\\normalsize"
         "\\def\\up#1{\\MakeTextUppercase{\\toks@{#1}}\\edef#1{\\the\\toks@}}"
         "\\def\\maketitle{\\up\\@title Set: \\@title, \\short\\par}"},
        {NULL, NULL}};
    (void)state;
    const char *text = "\\documentclass{own}\\begin{document}"
                       "\\title{On Rings}\\maketitle Text.";
    expect_of(text, files,
              "paragraph: Set: ON RINGS, On Rings | "
              "paragraph: Text.");
    struct tree *tree = parse(text, files, NULL);
    assert_true(slice_is(tree->page.title, "On Rings"));
    tree_free(tree);
}

/* What a package leaves open must not outlive it. */
static void expect_survived(const char *package)
{
    const struct memory_file files[] = {{"own.sty", package}, {NULL, NULL}};
    expect_of("\\documentclass{article}\\usepackage{own}\\begin{document}"
              "\\section{A}All \\own{of} it.\n\nAnd more.\\end{document}",
              files, "# 1 A | paragraph: All (of) it. | paragraph: And more.");
}

/* What a package says to whoever runs LaTeX is none of the text. */
static void test_messages(void **state)
{
    (void)state;
    expect("a\\PackageError{p}{no\\MessageBreak good}{help} "
           "b\\ClassWarningNoLine{c}{w} c\\GenericInfo{(p)}{i} "
           "d\\makeatletter\\@latex@warning{w} e\\wlog{x} f",
           "paragraph: a b c d e f");
}

/* A document's example of a document does not end it. */
static void test_examples_of_documents(void **state)
{
    (void)state;
    static const struct memory_file files[] = {{"own.sty", "\\def\\x{no}"},
                                               {NULL, NULL}};
    expect_of("\\documentclass{article}\\begin{document}\\def\\x{yes}a\n\n"
              "\\begin{ourexample}\\usepackage{own}\\begin{document}b"
              "\\end{document}\\end{ourexample}\n\nc \\x\\end{document}d",
              files, "paragraph: a | paragraph: b | paragraph: c yes");
}

static void test_packages_left_open(void **state)
{
    (void)state;
    expect_survived("\\newcommand\\own[1]{(#1)}\n\\if\\@tempa x\n");
    expect_survived("\\ifunheardof\n\\newcommand\\own[1]{(#1)}\n");
    expect_survived("\\newcommand\\own[1]{(#1)}\\iftrue\\iffalse\n");
    expect_survived("\\@tfor\\@@tmp:={a}{b}\\do{\\ifx\\@@tmp\\x\\fi}\n"
                    "\\newcommand\\own[1]{(#1)}");
    expect_survived("\\pretocmd{\\prob}{\\ifproblems\\ifproblemswrite}{}{}\n"
                    "\\newcommand\\own[1]{(#1)}");
    expect_survived("\\unheardof{\\ifproblems}\\newcommand\\own[1]{(#1)}");
    expect_survived("\\gdef\\own#1{(#1)}\\begingroup\\catcode`\\%=12 ");
    expect_survived("\\def\\own#1{(#1)}\\catcode`\\{=12 \\catcode`\\}=12 ");
    expect_survived("\\def\\own#1{(#1)}\\catcode`\\ =9 \\catcode`\\a=13 ");
    expect_survived("\\def\\own#1{(#1)}\\def\\lost{");
    expect_survived("\\def\\own#1{(#1)}\\PassOptionsToPackage[x");
}

/* A package that takes the text away is read for what it defines; what share
 * of the words is there is told. */
static void test_packages_not_followed(void **state)
{
    static const struct memory_file files[] = {
        {"own.sty",
         "\\newcommand\\own[1]{(#1)}\\iffalse\\newcommand\\two{2}\\fi"
         "\\everypar{\\lost}\n\\renewcommand\\section{\\endinput}"
         "\\AtBeginDocument{\\bye}{\\def\\no{no}}"},
        {NULL, NULL}};
    struct buf text = {0}, reports = {0};
    (void)state;
    buf_put_text(&text, "\\documentclass{article}\\usepackage{own}"
                        "\\begin{document}All \\own{of} it.\n\n");
    for (int i = 0; i < 100; i++)
        buf_put_text(&text, "Words stand here. ");
    buf_put_text(&text, "\\end{document}");
    buf_put_byte(&text, '\0');
    struct tree *tree = parse(text.data, files, &reports);
    buf_put_byte(&reports, '\0');
    assert_int_equal(tree->nodes[0].block_count, 2);
    assert_string_equal(tree->nodes[0].blocks[0].text.data, "All (of) it.");
    assert_non_null(strstr(reports.data, "its packages cannot be followed"));
    assert_null(strstr(reports.data, "of the words of its source"));
    tree_free(tree);
    buf_free(&reports);
    buf_free(&text);
}

static void test_lost_words_are_told(void **state)
{
    struct buf text = {0}, reports = {0};
    (void)state;
    buf_put_text(&text, "\\documentclass{article}\\def\\gone#1{}"
                        "\\begin{document}\\gone{");
    for (int i = 0; i < 100; i++)
        buf_put_text(&text, "Words stand here. % no word of it\n");
    buf_put_text(&text, "}These words are read.\\end{document}");
    buf_put_byte(&text, '\0');
    struct tree *tree = parse(text.data, NULL, &reports);
    buf_put_byte(&reports, '\0');
    assert_non_null(strstr(reports.data, "1 % of the words of its source are "
                                         "in its tree (4 of 304)"));
    tree_free(tree);
    buf_free(&reports);
    buf_free(&text);
}

/* Of a .dtx its description counts, if only that is read; its code does not. */
static void test_lost_description_is_told(void **state)
{
    struct buf text = {0}, reports = {0};
    (void)state;
    buf_put_text(&text, "% \\iffalse\n%<*driver>\n\\documentclass{ltxdoc}\n"
                        "\\OnlyDescription\\def\\gone#1{}\n"
                        "\\begin{document}\\DocInput{main.dtx}"
                        "\\end{document}\n%</driver>\n% \\fi\n% \\gone{");
    for (int i = 0; i < 100; i++)
        buf_put_text(&text, "Words stand here.\n% ");
    buf_put_text(&text, "}These words are read.\n% \\StopEventually{}\n");
    for (int i = 0; i < 1000; i++)
        buf_put_text(&text, "% This is said of code.\n");
    buf_put_text(&text, "%    \\begin{macrocode}\nx\n%    \\end{macrocode}\n");
    buf_put_byte(&text, '\0');
    struct tree *tree = parse(text.data, NULL, &reports);
    buf_put_byte(&reports, '\0');
    if (!strstr(reports.data, " % of the words of its source are in its tree"))
        fail_msg("'%s'", reports.data);
    tree_free(tree);
    buf_free(&reports);
    buf_free(&text);
}

static void test_loops(void **state)
{
    (void)state;
    expect(
        "\\foreach \\x in {1,...,3} {(\\x)}\\foreach \\x in {0,2,...,6} {\\x}",
        "paragraph: (1)(2)(3)0246");
    expect("\\def\\l{p, q}\\foreach \\m in \\l{<\\m>}"
           "\\foreach \\a/\\b [count=\\i] in {x/1,z} {\\a=\\b }",
           "paragraph: <p><q>x=1z=z");
    expect(
        "\\newcounter{i}\\whiledo{\\value{i}<3}{\\stepcounter{i}\\arabic{i}}.",
        "paragraph: 123.");
    expect(
        "\\newcount\\n\\loop\\advance\\n by 1 \\the\\n\\ifnum\\n<3 \\repeat.",
        "paragraph: 123.");
    /* Without end: the paragraph, not the document. */
    struct buf reports = {0}, out = {0};
    struct tree *tree = parse("\\whiledo{\\equal{a}{a}}{\\relax}lost\n\nkept"
                              "\\foreach\\x in{1,...,1000000000}{}",
                              NULL, &reports);
    show(tree, &out);
    assert_string_equal(out.data, "paragraph: kept");
    assert_non_null(strstr(reports.data, "\\whiledo goes on without end"));
    tree_free(tree);
    buf_free(&reports);
    buf_free(&out);
}

static void test_bibliography(void **state)
{
    static const struct memory_file bib[] = {
        {"refs.bib",
         "@comment{x @book{no, title={x}}}\n@string{aw = \"A\"}\n"
         "@Book{knuth, author = \"Donald Knuth\", title = {The {\\TeX}book},\n"
         "  publisher = {A} # {B}, year = 1984}\n"
         "@article{unread, author={X}, title={Y}}\n"
         "@misc(l:86, Title={\\\"Uber}, editor={E})@broken{"},
        {NULL, NULL}};
    static const struct memory_file biblatex[] = {
        {"\\jobname.bbl",
         "\\entry{knuth}{book}{}\\name{author}{2}{}{{{hash=a}{%\n"
         "family={Knuth},given={Donald\\bibnamedelima E.}}}%\n"
         "{{hash=b}{family={Bibby}}}}\\field{title}{The {\\TeX}book}"
         "\\field{year}{1984}\\endentry\\entry{no}{book}{}"
         "\\field{title}{No}\\endentry"},
        {NULL, NULL}};
    static const struct memory_file bibtex[] = {
        {"\\jobname.bbl", "\\begin{thebibliography}{1}\\bibitem{knuth}Made."
                          "\\end{thebibliography}"},
        {"refs.bib", "@misc{knuth, title={Not read}}"},
        {NULL, NULL}};
    const char *text = "\\documentclass{article}\\begin{document}\\cite{knuth}"
                       "\\nocite{l:86}\\bibliography{other,refs}";
    (void)state;
    expect_of(text, bib,
              "paragraph: [1] | # References | paragraph: [1] Donald Knuth. "
              "The TeXbook. A, 1984. | paragraph: [2] E. Über.");
    expect_of("\\documentclass{article}\\addbibresource{refs.bib}"
              "\\begin{document}\\nocite{*}\\printbibliography[title=x]",
              bib,
              "# References | paragraph: [1] Donald Knuth. The TeXbook. A, "
              "1984. | paragraph: [2] X. Y. | paragraph: [3] E. Über.");
    expect_of(text, biblatex,
              "paragraph: [1] | # References | paragraph: [1] Donald E. Knuth, "
              "Bibby. The TeXbook, 1984.");
    expect_of(text, bibtex,
              "paragraph: [1] | # References | paragraph: [1] Made.");
    expect_of("\\documentclass{article}\\begin{document}x\\bibliography{refs}",
              bib, "paragraph: x");
}

static void test_dtx(void **state)
{
    static const char *const driver =
        "% \\iffalse meta-comment\n% A licence.\n%<*driver>\n"
        "\\documentclass{ltxdoc}\n\\begin{document}\\DocInput{a.dtx}"
        "\\end{document}\n%</driver>\n% \\fi\n";
    static const char *const body =
        "% \\section{Use}^^A none\n% Text % and\n% more.\n"
        "% \\begin{verbatim}\n% one\n%  two\n% \\end{verbatim}\n"
        "% \\StopEventually{\\PrintIndex}\n% \\section{Code}\n"
        "%    \\begin{macrocode}\n%<*package>\n\\def\\a#1{% a\n}\n"
        "%    \\end{macrocode}\n% \\CheckSum{7}End.\n\\endinput\n";
    struct buf text = {0};
    (void)state;
    buf_put_text(&text, driver);
    buf_put_text(&text, body);
    const char *shown =
        "# 1 Use | paragraph: Text and more. | code:  one\n  two | # 2 Code | "
        "code: %<*package>\n\\def\\a#1{% a\n} | paragraph: End.";
    expect(text.data, shown);
    /* Its driver is another file: all of it is documentation. */
    buf_clear(&text);
    buf_put_text(&text, "\n");
    buf_put_text(&text, body);
    expect(text.data, "# Use | paragraph: Text and more. | code:  one\n  two | "
                      "# Code | code: %<*package>\n\\def\\a#1{% a\n} | "
                      "paragraph: End.");
    buf_free(&text);
}

/* A driver may read other files, too, and its own by whatever name; code may be
 * set off by any number of spaces, or by none. */
static void test_dtx_drivers(void **state)
{
    static const char own[] =
        "% \\iffalse\n\\documentclass{ltxdoc}\n\\begin{document}\n"
        "\\DocInput{a.dtx}\\DocInput{b.dtx}\\end{document}\n% \\fi\n"
        "% \\section{A}One.\n%    \\begin{macrocode}\nx\n"
        "%    \\end{macrocode}\n";
    static const char spaced[] =
        "% \\iffalse\n\\documentclass{ltxdoc}\n\\begin{document}\n"
        "\\DocInput{s.dtx}\\end{document}\n% \\fi\n"
        "% \\section{A}One.\n% \\begin{macrocode}\nx\n% "
        "\\end{macrocode}\n";
    static const struct memory_file files[] = {
        {"a.dtx", own},
        {"b.dtx", "% \\section{B}Two.\n%    \\begin{macrocode}\ny\n"
                  "%    \\end{macrocode}\n"},
        {"s.dtx", spaced},
        {NULL, NULL}};
    (void)state;
    expect_of(own, files,
              "# 1 A | paragraph: One. | code: x | # 2 B | paragraph: Two. | "
              "code: y");
    expect_of(spaced, files, "# 1 A | paragraph: One. | code: x");
    struct buf reports = {0};
    struct tree *tree = parse(spaced, files, &reports);
    assert_int_equal(tree->file_count, 1);
    assert_int_equal(reports.size, 0);
    tree_free(tree);
    /* Another file reads it, driver and all. */
    tree = parse("\\input s.dtx ", files, &reports);
    struct buf out = {0};
    show(tree, &out);
    assert_string_equal(out.data, "# 1 A | paragraph: One. | code: x");
    assert_null(strstr(reports.data, "includes itself"));
    tree_free(tree);
    buf_free(&out);
    buf_free(&reports);
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

/* Code that a macro makes stands nowhere: its place is that of the call. */
static void test_places_of_code(void **state)
{
    static const char text[] =
        "\\def\\v{\\begin{verbatim}a passage\\end{verbatim}}x\n\n\\v";
    struct tree *tree = parse(text, NULL, NULL);
    const struct block *code = &tree->nodes[0].blocks[1];
    (void)state;
    assert_string_equal(code->text.data, "a passage");
    assert_int_equal(code->origin.span.from, sizeof text - 3);
    assert_int_equal(code->origin.span.to, sizeof text - 1);
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

/* ---- Files that a document writes itself ---- */

/* What is written is read again with the categories of then; nothing else is in
 * the file. */
static void test_written_files(void **state)
{
    (void)state;
    expect("\\newwrite\\x\\def\\a{one}\\immediate\\openout\\x=\\jobname.ans "
           "\\immediate\\write\\x{\\string\\emph{\\a} \\noexpand\\b}"
           "\\write\\x{two}\\closeout\\x\\write\\x{lost}"
           "\\def\\a{other}\\def\\b{B}(\\input{\\jobname.ans})",
           "paragraph: (one B two )");
    /* Two streams at once; one that is opened again begins anew. */
    expect("\\newwrite\\x\\newwrite\\y\\openout\\x=a.tex \\openout\\y{b.tex}"
           "\\write\\x{1}\\write\\y{2}\\openout\\x=a.tex \\write\\x{3}"
           "\\closeout\\x\\closeout\\y\\input{b}\\input a .",
           "paragraph: 2 3 .");
    /* A macro's argument may begin in one line and end in the next. */
    expect("\\newwrite\\x\\openout\\x=a \\write\\x{\\string\\q\\string{1}"
           "\\write\\x{2\\string}.}\\closeout\\x\\def\\q#1{<#1>}\\input a",
           "paragraph: <1 2>.");
    expect("\\IfFileExists{font.tfm}{a}{b} \\IfFileExists{amsmath.sty}{a}{b} "
           "\\InputIfFileExists{hyperref.cfg}{a}{b} "
           "\\InputIfFileExists{\\jobname.cfg}{a}{b}",
           "paragraph: a a a b");
    /* A file that is only asked for is none of the document's. */
    static const struct memory_file files[] = {{"b.tex", "text"}, {NULL, NULL}};
    struct tree *tree = parse("\\IfFileExists{b.tex}{a}{b}", files, NULL);
    assert_int_equal(tree->file_count, 1);
    assert_string_equal(tree->nodes[0].blocks[0].text.data, "a");
    tree_free(tree);
    expect("\\IfFileExists{./no.tex}{there}{not there} "
           "\\InputIfFileExists{no}{there}{not there} "
           "\\begin{filecontents}{w.tex}\nwritten\n\\end{filecontents}"
           "\\IfFileExists{w}{\\input{w}}{not}",
           "paragraph: not there not there written");
}

/* fancyvrb, verbatim and answers write passages as they stand. */
static void test_written_passages(void **state)
{
    (void)state;
    expect("\\begin{VerbatimOut}{e.tex}\n\\emph{x}  y\n\\end{VerbatimOut}\n"
           "\\VerbatimInput{e.tex}\\input{e.tex}",
           "code: \\emph{x}  y | paragraph: x y");
    expect(
        "\\newwrite\\o\\makeatletter\\newenvironment{example}{\\openout\\o=e."
        "tex "
        "\\def\\verbatim@processline{\\write\\o{\\the\\verbatim@line}}"
        "\\verbatim@start}{\\closeout\\o\\verbatiminput{e.tex}\\input{e.tex}}"
        "\\makeatother\\begin{example}\n\\emph{x}  y\n\\end{example}",
        "code: \\emph{x}  y | paragraph: x y");
    expect(
        "\\newtheorem{ex}{Exercise}\\Newassociation{sol}{Solution}{ans}"
        "\\Opensolutionfile{ans}\\begin{ex}Why?\\begin{sol}\n"
        "So.\\begin{verbatim}\na  b\n\\end{verbatim}\\end{sol}\\end{ex}"
        "\\Closesolutionfile{ans}\\section*{Solutions}\\Readsolutionfile{ans}",
        "note: Exercise 1. Why? | # Solutions | paragraph: 1 So. | "
        "code: a  b");
}

static void test_xspace(void **state)
{
    (void)state;
    expect("\\def\\b{\\textsf{bib}\\xspace}\\b is, \\b, \\b's \\b{} x \\b\\ y "
           "(\\b) \\b\\emph{z} \\b $q$",
           "paragraph: bib is, bib, bib’s bib x bib y (bib) bib z bib $q$");
}

/* ltxdockit's examples. */
static void test_dockit_examples(void **state)
{
    (void)state;
    expect("\\begin{ltxexample}[style=latex]\n\\a{x}\n\\end{ltxexample}"
           "\\begin{ltxcode}{}\n\\section{y}\n\\end{ltxcode}z",
           "code: \\a{x} | code: \\section{y} | paragraph: z");
}

/* \let of an environment that is known ends with its group, and with another
 * \let. */
static void test_let_environments(void **state)
{
    (void)state;
    expect("\\newenvironment{e}{(}{)}{\\let\\e\\comment\\let\\ende\\endcomment "
           "\\begin{e}x\\end{e}}\\begin{e}y\\end{e}",
           "paragraph: (y)");
    expect("\\newenvironment{e}{(}{)}\\let\\o\\e\\let\\endo\\ende"
           "\\let\\e\\comment\\let\\ende\\endcomment\\begin{e}x\\end{e}"
           "\\let\\e\\o\\let\\ende\\endo\\begin{e}y\\end{e}",
           "paragraph: (y)");
}

/* babel's: shorthands of the document's own, and the words of its language. */
static void test_babel(void **state)
{
    (void)state;
    expect(
        "\\useshorthands{!}\\defineshorthand{!!}{\\t}\\defineshorthand{!a}{A}"
        "\\def\\t#1{<#1>}!!{x} !a wow! $!x$",
        "paragraph: <x> A wow! $!x$");
    expect("\\setlocalecaption{english}{problems}{Problems}"
           "\\section*{\\problemsname}x",
           "# Problems | paragraph: x");
    expect("{\\catcode`!=\\active\\gdef!{bang}}\\catcode`!=\\active a!",
           "paragraph: abang");
}

/* etoolbox's \undef; memoir's code behind each chapter's title. */
static void test_hooks(void **state)
{
    (void)state;
    expect("\\def\\a{x}\\undef\\a\\def\\b{y}\\csundef{b}\\ifdefined\\a x\\fi"
           "\\ifdefined\\b y\\fi z",
           "paragraph: z");
    expect("\\documentclass{memoir}\\def\\memendofchapterhook{hook}"
           "\\begin{document}\\chapter{A} text\\end{document}",
           "# Chapter 1. A | paragraph: hook text");
}

/* What is written into the PDF as it is. */
static void test_engines(void **state)
{
    (void)state;
    expect("a\\pdfliteral direct{/Span<</A(b)>>BDC}b\\pdfextension literal "
           "page {x}c\\pdfobj stream attr{/Type /X}{x y}d"
           "\\pdfannot width 3pt height 1ex{/Subtype}e\\pdfobj reserveobjnum f"
           "\\pdfcolorstack 0 push{1 g}g",
           "paragraph: abcdefg");
}

/* A picture is left out of a formula, with its empty lines; what a macro chooses
 * by its arguments is chosen. */
static void test_formula_choices(void **state)
{
    (void)state;
    expect(
        "a\\[x\\begin{tikzpicture}\n\n\\node {$q$};\n\n\\end{tikzpicture}y\\]b",
        "paragraph: a | math: xy | paragraph: b");
    expect("\\NewDocumentCommand\\l{m o}{\\ensuremath{\\mathbf{#1}"
           "\\IfNoValueTF{#2}{}{_{#2}}}}\\l{K} \\l{S}[5]",
           "paragraph: $\\mathbf{K}$ $\\mathbf{S}_{5}$");
}

/* What is saved in a \vbox stands where the box is set, with what it has of blocks and
 * headings; nothing is lost where its end does not come. */
static void test_boxes_of_blocks(void **state)
{
    (void)state;
    expect("\\newbox\\all\\newbox\\one\\newbox\\tmp\\newenvironment{answer}"
           "{\\global\\setbox\\one\\vbox\\bgroup}{\\egroup\\global\\setbox\\tmp"
           "\\vbox{\\unvbox\\all\\unvbox\\one}\\global\\setbox\\all\\copy\\tmp}"
           "a\n\n\\begin{answer}b\\begin{verbatim}\nx  "
           "y\n\\end{verbatim}\\end{answer}"
           "c\n\n\\begin{answer}d\n\n\\section*{D}e\\end{answer}f"
           "\\section*{S}\\unvbox\\all g",
           "paragraph: a | paragraph: c | paragraph: f | # S | paragraph: b | "
           "code: x  y | paragraph: d | # D | paragraph: e | paragraph: g");
    expect("\\setbox1\\vbox{b}\\setbox2\\copy1 a\n\n\\copy1\\copy2\\box1\\box1",
           "paragraph: a | paragraph: b | paragraph: b | paragraph: b");
    expect("\\setbox1\\vbox{measured}a", "paragraph: a");
    /* Within a paragraph it is none of it. */
    expect("a \\setbox1\\vbox{b\n\nc\\footnote{n}}\\footnote{m}d\n\n\\box1",
           "paragraph: a d | paragraph: m | paragraph: b | paragraph: c | "
           "paragraph: n");
    expect("a\\setbox1\\vbox\\bgroup b", "paragraph: a | paragraph: b");
    expect("\\setbox1\\vbox\\bgroup a\n\nb", "paragraph: a | paragraph: b");
    expect("\\begin{center}\\setbox1\\vbox\\bgroup a\\end{center}b",
           "paragraph: a | paragraph: b");
    expect("\\setbox1\\vbox{b}\\section{x\\copy1 y}", "# x b y");
}

/* \addcontentsline is a heading where nothing else is: the paragraph that reads as it does,
 * or what its line says. */
static void test_contents_lines(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\begin{document}\\section{A}a\n\n"
           "\\begin{center}\\addcontentsline{toc}{section}{Exercises}"
           "* \\textbf{Exercises} *\\end{center}b\\end{document}",
           "# 1 A | paragraph: a | # * Exercises * | paragraph: b");
    expect(
        "\\documentclass{article}\\begin{document}\\section{A}a\n\n"
        "\\textbf{B}\n\n\\addcontentsline{toc}{subsection}{B}b\\end{document}",
        "# 1 A | paragraph: a | ## B | paragraph: b");
    expect("\\documentclass{article}\\makeatletter\\def\\numberline#1{"
           "\\hb@xt@3em{#1\\hfil}}\\def\\t#1{\\addcontentsline{toc}{section}"
           "{\\numberline{Table 1:}{#1}}\\@makecaption{Table 1}{#1}}"
           "\\begin{document}a\n\n\\t{Signs}text\\end{document}",
           "paragraph: a | # Table 1: Signs | paragraph: text");
    expect("\\documentclass{article}\\begin{document}a\n\n"
           "\\addcontentsline{toc}{section}{C}text\\end{document}",
           "paragraph: a | # C | paragraph: text");
    /* It is of the heading before or behind it; no paragraph follows. */
    expect("\\documentclass{article}\\begin{document}\\section*{A}"
           "\\addcontentsline{toc}{section}{An A}a\n\n"
           "\\addcontentsline{toc}{section}{B}\\section*{B}b\n\n"
           "\\addcontentsline{toc}{section}{Index}\\end{document}",
           "# A | paragraph: a | # B | paragraph: b");
    expect(
        "\\documentclass{article}\\begin{document}a "
        "\\addcontentsline{toc}{section}{C}\\addcontentsline{lof}{figure}{F}c"
        "\\end{document}",
        "paragraph: a c");
}

/* zhnumber's */
static void test_chinese_numbers(void **state)
{
    (void)state;
    expect("\\zhnumber{4}\\newcounter{c}\\setcounter{c}{12}\\chinese{c} "
           "\\zhnumber{20} \\zhnumber{304} \\zhnumber{110} \\zhnumber{2005} "
           "\\zhnumber{0}",
           "paragraph: 四十二 二十 三百零四 一百一十 二千零五 零");
}

/* LaTeX within code is read as what it prints. */
static void test_escapes(void **state)
{
    (void)state;
    expect("\\newcommand\\tcode[1]{\\texttt{#1}}\\newcommand\\e[1]{\\index{#1}"
           "\\textit{#1}}"
           "\\newcommand\\s{\\lstset{escapechar=@,texcl=true}}"
           "\\lstnewenvironment{codeblock}{\\s}{}\\begin{codeblock}\n"
           "int @\\e{a}@ = @\\tcode{b\\_c}@;  // of \\tcode{d}\n"
           "\"//\\n\" @open\n\\end{codeblock}"
           "\\begin{lstlisting}\n@\\e{x}@ // \\e{y}\n\\end{lstlisting}",
           "code: int a = b_c;  // of d\n\"//\\n\" @open | "
           "code: @\\e{x}@ // \\e{y}");
    expect("\\begin{lstlisting}[escapeinside={(*@}{@*)}]\nf(*@$_{1}$@*)(x);\n"
           "\\end{lstlisting}\\lstset{escapeinside=||}\\begin{lstlisting}\n"
           "a|\\textbf{b}\\label{l}|\n\\end{lstlisting}",
           "code: f_1(x); | code: ab");
    /* What is open in one ends with it. */
    expect("\\def\\m#1{<#1>}\\begin{lstlisting}[escapechar=!]\n!\\m{a!b\n!"
           "\\iftrue!c\n"
           "\\end{lstlisting}d",
           "code: <a>b\nc | paragraph: d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros),
        cmocka_unit_test(test_uncalled),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_xparse),
        cmocka_unit_test(test_expl),
        cmocka_unit_test(test_conditionals),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_index_style),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_verb),
        cmocka_unit_test(test_own_listings),
        cmocka_unit_test(test_code_files),
        cmocka_unit_test(test_math),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_styles),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_added_to_macros),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_examples_of_documents),
        cmocka_unit_test(test_which_packages_are_loaded),
        cmocka_unit_test(test_titles_of_classes),
        cmocka_unit_test(test_environments_with_a_body),
        cmocka_unit_test(test_index_of_macros),
        cmocka_unit_test(test_boxes_of_tex),
        cmocka_unit_test(test_packages_left_open),
        cmocka_unit_test(test_packages_not_followed),
        cmocka_unit_test(test_lost_words_are_told),
        cmocka_unit_test(test_lost_description_is_told),
        cmocka_unit_test(test_dtx),
        cmocka_unit_test(test_dtx_drivers),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_bibliography),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_places_of_code),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_repairs),
        cmocka_unit_test(test_expansions_within_expansions),
        cmocka_unit_test(test_bombs),
        cmocka_unit_test(test_fragment),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_written_files),
        cmocka_unit_test(test_written_passages),
        cmocka_unit_test(test_dockit_examples),
        cmocka_unit_test(test_xspace),
        cmocka_unit_test(test_let_environments),
        cmocka_unit_test(test_babel),
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_formula_choices),
        cmocka_unit_test(test_engines),
        cmocka_unit_test(test_boxes_of_blocks),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_contents_lines),
        cmocka_unit_test(test_chinese_numbers),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
