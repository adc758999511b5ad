/* What a document becomes: sections, labels, index, blocks, code, mathematics, entries. */
#include "tests/unit/support/latex_in_memory.h"

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
                        "See 2, section 2, B, [1].");
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

/* zref-clever's and cleveref's references, with what they are told. */
static void test_clever_references(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\begin{document}\\section{A}\\zlabel{a}"
           "\\subsection{B}\\label{b}See \\zcref[S,nocomp]{a,b}, "
           "\\zcref*[ref=title]{b}, \\crefrange{a}{b} on "
           "\\zcpageref[S]{b}.\\end{document}",
           "# 1 A | ## 1.1 B | paragraph: See section 1, subsection 1.1, "
           "subsection 1.1, section 1 to subsection 1.1 on “1.1 B”.");
}

/* What \crefname calls them; what \vpageref says of pages is none of it. */
static void test_names_of_references(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\crefname{section}{Sect.}{Sects.}"
           "\\begin{document}\\section{A}\\label{a}\\cref{a}"
           "\\vpageref[here][there]{a}.\\end{document}",
           "# 1 A | paragraph: Sect. 1.");
}

/* A package beside the document that wants LaTeX's notes on an earlier run. */
static void test_own_citations(void **state)
{
    static const struct memory_file files[] = {
        {"mycite.sty", "\\def\\cite#1{?\\@warning{Citation #1 undefined}}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{article}\\usepackage{mycite}\\begin{document}"
              "As in \\cite{k}.\\begin{thebibliography}{9}\\bibitem{k} Book."
              "\\end{thebibliography}\\end{document}",
              files,
              "paragraph: As in [1]. | # References | paragraph: [1] Book.");
    expect_of(
        "\\documentclass{article}\\usepackage{mycite}\\newcommand{\\citename}"
        "[1]{\\emph{#1}}\\newcommand\\footcite[1]{ (as #1 has it)}"
        "\\begin{document}By \\citename{Knuth}\\footcite{he}.\\end{document}",
        files, "paragraph: By Knuth (as he has it).");
}

/* There are no pages: the title of what stands on one. */
static void test_pages_referred_to(void **state)
{
    (void)state;
    expect("\\section{Oil \\ref{b}}\\label{a}As on page~\\pageref{b}, not "
           "\\pageref*{no} in it.\\section{Use}\\label{b}Page \\pageref{a}.",
           "# Oil Use | paragraph: As on page “Use”, not in it. | # Use | "
           "paragraph: Page “Oil ”.");
}

static void expect_title(const char *text, const char *title)
{
    struct tree *tree = parse(text, NULL, NULL);
    assert_string_equal(tree->page.title.data, title);
    tree_free(tree);
}

/* A counter that begins below zero numbers no heading. */
static void test_numbers_below_zero(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\begin{document}"
           "\\setcounter{section}{-2}\\section{Abstract}a\\section{Goals}b"
           "\\section{Use}c\\end{document}",
           "# Abstract | paragraph: a | # 0 Goals | paragraph: b | # 1 Use | "
           "paragraph: c");
}

/* Springer's classes have one with a star. */
static void test_starred_title(void **state)
{
    (void)state;
    expect_title("\\documentclass{svmult}\\title*{The Pump}\\begin{document}"
                 "\\maketitle Text.\\end{document}",
                 "The Pump");
}

/* Texinfo is another language, whatever its file is called. */
static void test_texinfo(void **state)
{
    (void)state;
    struct tree *tree =
        parse("\\input texinfo.tex @c -*-texinfo-*-\n@node Use\n@chapter Use\n"
              "Open it.\n@bye\n",
              NULL, NULL);
    assert_int_equal(tree->page.role, PAGE_MADE);
    tree_free(tree);
    tree = parse("Text.\n\n\\input texinfo\n", NULL, NULL);
    assert_int_equal(tree->page.role, PAGE_CONTENT);
    tree_free(tree);
}

/* A title page by hand. */
static void test_large_titles(void **state)
{
    (void)state;
    expect_title("\\documentclass{article}\\begin{document}Draft\n\n"
                 "\\begin{center}{\\LARGE\\bf The Pump}\\end{center}\n\n"
                 "{\\Huge By us}\n\n\\section{Use}Open.\\end{document}",
                 "The Pump");
    /* Not what is printed over each page; by a command of a class that is not here. */
    expect_title("\\documentclass{article}\\begin{document}\\begin{center}"
                 "{\\Huge DraftDraft}\\end{center}{\\Huge The Pump}\n\n"
                 "\\section{Use}Open.\\end{document}",
                 "The Pump");
    expect_title("\\documentclass{own}\\begin{document}\n\\OurSubtitle{Use}\n\n"
                 "\\OurTitle{The Pump}\n"
                 "Version 2.\n\n\\section{Use}Open.\\end{document}",
                 "The Pump");
    /* Not in its place, nor below a heading. */
    expect_title("\\documentclass{article}\\title{Valve}\\begin{document}"
                 "{\\Huge The Pump}\n\nText.\\end{document}",
                 "Valve");
    expect_title("\\documentclass{article}\\begin{document}\\section{Use}"
                 "{\\LARGE Open}\\end{document}",
                 "");
    /* Nor where it is no paragraph. */
    expect_title("\\documentclass{article}\\begin{document}\\begin{itemize}"
                 "\\item {\\Huge Open}\\item Close\\end{itemize}"
                 "\\end{document}",
                 "");
    expect_title("\\documentclass{article}\\begin{document}"
                 "\\begin{tabular}{ll}{\\Huge A} & b\\\\c & d\\end{tabular}"
                 "\\end{document}",
                 "");
}

/* An environment called as an entry of LaTeX's own documentation, which makes a
 * heading itself, is the document's; one that does not is the entry. */
static void test_own_headings(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\newenvironment{function}[1]"
           "{\\subsection{#1}\\label{fun:#1}\\index{#1}}{\\newpage}"
           "\\begin{document}\\section{Calls}\\begin{function}{OpenValve}"
           "\\subsubsection*{Synopsis}Opens it.\\end{function}"
           "\\begin{function}{CloseValve}Closes it.\\end{function}"
           "\\end{document}",
           "# 1 Calls | ## 1.1 OpenValve | ### Synopsis | paragraph: Opens it. "
           "| ## 1.2 CloseValve | paragraph: Closes it.");
    expect("\\documentclass{article}\\newenvironment{function}[1]{\\textbf{#1}}"
           "{}\\begin{document}\\section{Calls}\\begin{function}{OpenValve}"
           "Opens it.\\end{function}\\end{document}",
           "# 1 Calls | @@ OpenValve | paragraph: Opens it.");
}

/* A kind of section of the document's own stands where its level says. */
static void test_own_levels(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\makeatletter\\def\\detail{"
           "\\@startsection{detail}{4}{0pt}{-3ex}{1ex}{\\bf}*}\\def\\chunk{"
           "\\@startsection{chunk}{9}{0pt}{-3ex}{1ex}{\\bf}}"
           "\\begin{document}\\section{A}\\subsubsection{B}\\detail{C}c"
           "\\subsection{D}\\chunk{E}\\end{document}",
           "# 1 A | ## 1.0.1 B | ### C | paragraph: c | ## 1.1 D | # E");
}

/* Floats around code, minted's and those that a document declares. */
static void test_own_floats(void **state)
{
    (void)state;
    expect(
        "\\documentclass{report}\\newfloat{listing}{tbp}{lst}[chapter]"
        "\\DeclareFloatingEnvironment[name=Scheme]{scheme}\\begin{document}"
        "\\chapter{A}\\begin{listing}[tb]\\begin{verbatim}\nx\n\\end{verbatim}"
        "\\caption{One}\\label{l}\\end{listing}See \\cref{l}."
        "\\begin{scheme*}[h]y\\caption{Two}\\end{scheme*}\\end{document}",
        "# Chapter 1. A | code: x | figure: Listing 1.1: One | paragraph: "
        "See listing 1.1. | paragraph: y | figure: Scheme 1: Two");
    expect("\\begin{listing}[tb]\n\\begin{verbatim}\nx\n\\end{verbatim}\n"
           "\\caption{One}\\end{listing}",
           "code: x | figure: Listing 1: One");
    expect("\\documentclass{memoir}\\newfloat[chapter]{example}{loe}{Typeset}"
           "\\newfloat{prog}{tbp}{lop}\\floatname{prog}{Program}"
           "\\newfloat{input}{H}{exi}\\floatname{input}{}\\begin{document}"
           "\\begin{example}x\\caption{One}\\end{example}\\begin{prog}y"
           "\\caption{Two}\\end{prog}\\begin{input}\\caption{Three}\\end{input}"
           "\\end{document}",
           "paragraph: x | figure: Typeset 0.1: One | paragraph: y | figure: "
           "Program 1: Two | figure: Input 1: Three");
    expect("\\begin{listing}[5]{1}\nx_1 \\y\n\\begin{a}\n\\caption{b} % c\n"
           "\\end{listing}",
           "code: x_1 \\y\n\\begin{a}\n\\caption{b} % c");
}

/* What is called a listing there is none of the figures. */
static void test_captions_of_kinds(void **state)
{
    (void)state;
    expect(
        "\\newfloat{scheme}{t}{x}\\captionof{listing}{A}\\captionof{scheme}{B}"
        "\\captionof{table}{C}\\captionof{nothing}{D}\\begin{figure}"
        "\\caption{E}\\end{figure}",
        "figure: Listing 1: A | figure: Scheme 1: B | figure: Table 1: C | "
        "figure: Figure 1: D | figure: Figure 2: E");
}

/* A counter within itself would be numbered without end. */
static void test_counters_within_themselves(void **state)
{
    (void)state;
    expect("\\newfloat{prog}{t}{x}[prog]\\begin{prog}x\\caption{A}"
           "\\end{prog}After.",
           "paragraph: x | figure: Prog 1: A | paragraph: After.");
    expect("\\newtheorem{thm}{Theorem}[thm]\\begin{thm}x\\end{thm}After.",
           "note: Theorem 1. x | paragraph: After.");
    expect("\\counterwithin{figure}{figure}\\begin{figure}\\caption{A}"
           "\\end{figure}After.",
           "figure: Figure 1: A | paragraph: After.");
}

/* Of those with a star the number is shown as before. */
static void test_counters_within_others(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\counterwithin*{figure}{section}"
           "\\begin{document}\\section{A}\\begin{figure}\\caption{B}"
           "\\end{figure}\\section{C}\\begin{figure}\\caption{D}\\end{figure}"
           "\\end{document}",
           "# 1 A | figure: Figure 1: B | # 2 C | figure: Figure 1: D");
    expect("\\documentclass{article}\\counterwithin{figure}{section}"
           "\\counterwithout*{figure}{section}\\begin{document}\\section{A}"
           "\\begin{figure}\\caption{D}\\end{figure}\\end{document}",
           "# 1 A | figure: Figure 1.1: D");
}

/* So many that the list of names moves where they are added. */
static void test_many_floats(void **state)
{
    (void)state;
    struct buf text = {0};
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "\\newfloat{kind%d}{t}{x}", i);
    buf_put_text(&text, "\\begin{kind4999*}x\\caption{A}\\end{kind4999*}");
    expect(text.data, "paragraph: x | figure: Kind4999 1: A");
    buf_free(&text);
}

/* Lines with tab stops. */
static void test_tabbing(void **state)
{
    (void)state;
    expect("\\begin{tabbing}widest name \\= \\kill Key \\> Meaning \\\\ "
           "p \\> pressure, \\=bar\\\\\\>(absolute)\\end{tabbing}After \\=a.",
           "table: Key\tMeaning\np\tpressure,\tbar\n\t(absolute) | paragraph: "
           "After ā.");
    expect("{\\tt\\begin{tabbing}if \\=open:\\\\\\> close\\\\stop"
           "\\end{tabbing}}b",
           "code: if open:\n     close\nstop | paragraph: b");
    expect("\\begin{tabbing}\n\\verb|%d| \\= decimal\\\\\n\\verb|%x| \\> "
           "hexadecimal\\\\\n\\end{tabbing}",
           "table: %d\tdecimal\n%x\thexadecimal");
    /* Lines that set stops may stand anywhere. */
    expect(
        "\\begin{tabbing}one \\= two\\\\\nwidest \\> text \\= \\kill\na \\> b "
        "\\> c\\\\\nx\\=y\\kill\\end{tabbing}d",
        "table: one\ttwo\na\tb\tc | paragraph: d");
    expect("{\\tt\\begin{tabbing}one\\\\\nwidest\\=\\kill a\\\\\nb"
           "\\\\\n\\ c\\end{tabbing}}",
           "code: one\na\nb\n c");
    expect("a\\footnote{b \\begin{tabbing}w\\=x\\kill c\\>d\\\\e\\=f\\kill g"
           "\\end{tabbing}}",
           "paragraph: a | paragraph: b c d g");
    /* As books about programming languages wrap it. */
    expect("{\\catcode`\\^^M=13 \\gdef\\lines{\\catcode`\\^^M=13 "
           "\\def^^M{\\\\}}}\\newenvironment{program}{\\tt\\obeyspaces\\lines"
           "\\begin{tabbing}\\qquad\\=\\kill}{\\end{tabbing}}%\n"
           "\\begin{program}%\n(a b\n   (c d))\n\\end{program}",
           "code: (a b\n   (c d))");
}

/* Its words are commands of the package's. */
static void test_algorithmic(void **state)
{
    (void)state;
    expect("\\begin{algorithmic}[1]\\Require $n$\\Function{Find}{$T, k$}\n"
           "\\State $x \\gets$ \\Call{New}{$k$} \\Comment{a leaf}\n\n"
           "\\While{$T$ is full}\\If{$k$}\\State left\\Else\\State right\n"
           "\\EndIf\\EndWhile\\State \\Return $T$\\EndFunction\n"
           "\\end{algorithmic}After.",
           "code: Require: $n$\nfunction Find($T, k$)\n  $x \\gets$ New($k$) ▷ "
           "a leaf\n  while $T$ is full do\n    if $k$ then\n      left\n"
           "    else\n      right\n    end if\n  end while\n  return $T$\n"
           "end function | paragraph: After.");
    expect("\\newcommand\\algorithmicrequire{Input:}\\newcommand\\TRUE{yes}"
           "\\begin{algorithmic}\\REQUIRE $n$\\FOR{$j=0$ \\TO $n$}\n"
           "\\IF{a \\AND b} \\RETURN \\TRUE \\ENDIF\\ENDFOR\\end{algorithmic}",
           "code: Input: $n$\nfor $j=0$ to $n$ do\n  if a and b then\n"
           "    return yes\n  end if\nend for");
    expect("\\begin{tabular}{l}\\begin{algorithmic}\\STATE a\\IF{b} \\STATE "
           "c\\ENDIF\\end{algorithmic}\\end{tabular}",
           "table: a if b then c end if");
}

/* Spaces of \obeyspaces part words, whatever a document makes of them. */
static void test_obeyed_spaces(void **state)
{
    (void)state;
    expect("{\\obeyspaces\\gdef {\\hbox{\\hskip0.5em}}}a {\\obeyspaces b  c}",
           "paragraph: a b c");
}

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
    expect("P\\hskip-.15em um\\hspace*{ -1pt}p a\\hspace{1em}b\\hskip.2em c",
           "paragraph: Pump a b c");
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
    /* A character beyond ASCII. */
    expect("\\MakeShortVerb{\\¦}Ends ¦\\ExplSyntaxOn¦ here, ¦a{¦ too. "
           "\\DeleteShortVerb{\\¦}A ¦ bar.",
           "paragraph: Ends \\ExplSyntaxOn here, a{ too. A ¦ bar.");
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

/* In an argument listings has a backslash before what TeX would not leave alone. */
static void test_escaped_listings(void **state)
{
    (void)state;
    expect("\\newcommand{\\kw}[1]{\\lstinline|\\\\#1|}\\newcommand{\\code}[1]"
           "{\\lstinline!#1!}\\kw{old} \\code{a\\_b\\{\\%c\\}}, "
           "\\lstinline|x\\\\y|, \\verb|\\\\|",
           "paragraph: \\old a_b{%c}, x\\\\y, \\\\");
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
    /* What a macro begins ends by its own name where that comes first. */
    expect("\\def\\bv{\\begin{verbatim}}\\newenvironment{step}{\\par}{\\par}"
           "\\begin{step}a\\bv\n$b\n\\end{verbatim}c\\end{step}d",
           "paragraph: a | code: $b | paragraph: c | paragraph: d");
    expect("\\let\\old\\verbatim\\let\\endold\\endverbatim"
           "\\def\\verbatim{\\begin{shaded*}\\old\\vskip-1pt}"
           "\\def\\endverbatim{\\endold\\end{shaded*}}"
           "a\\begin{verbatim}\n$b\n c\n\\end{verbatim}d",
           "paragraph: a | code: $b\n c | paragraph: d");
    expect("\\newenvironment{snip}{\\begin{quote}\\verbatim}"
           "{\\endverbatim\\end{quote}}\\begin{snip}\n$a\n\\end{snip}b",
           "code: $a | paragraph: b");
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
    expect("a $b\n\nc", "paragraph: a $b | paragraph: c");
    expect("Me$\\!$Ti$ \\! $S 10$\\,$mm $\\,x$",
           "paragraph: MeTiS 10 mm $\\,x$");
    expect("$<$me@x.org$>$, if 0 $<$ b, \\(\\{\\)y$\\}$ $|$ $\\backslash$x; "
           "$<y$ $\\alpha$ $x$",
           "paragraph: <me@x.org>, if 0 < b, {y} | \\x; $<y$ $\\alpha$ $x$");
    expect(
        "\\makeatletter\\def\\n#1{$\\m@th\\csname#1\\endcsname+1$}\\n{alpha}",
        "paragraph: $\\alpha+1$");
}

static void test_exponents(void **state)
{
    (void)state;
    expect("10\\textsuperscript{-6} m\\textsuperscript 2, "
           "2\\textsuperscript{31}, x\\textsuperscript{n}; "
           "word\\textsuperscript{1}, I\\textsuperscript{2}C, "
           "1\\textsuperscript{st}, "
           "2\\textsuperscript{\\emph{b}}, \\textsuperscript{3}, "
           "a\\textsuperscript{}",
           "paragraph: 10^-6 m^2, 2^31, x^n; word1, I2C, 1st, 2b, 3, a");
    expect("\\section{T\\textsuperscript{2}}", "# T^2");
    /* A formula that is raised only, behind text; a mark is none of the word. */
    expect("\\section{I$^\\text{2}$C}10$^{-6}$ m$^2$, 1$^{\\mathrm{st}}$, "
           "5\\,$^\\circ$C, 5$^{\\circ}$, \\ensuremath{^\\circ}F, x$^*$, "
           "y$^{n+1}$, $^2x$, z$_i$, Smith$^2$, 10$^{-n}$",
           "# I2C | paragraph: 10^-6 m^2, 1st, 5 °C, 5°, °F, x$^*$, "
           "y$^{n+1}$, $^2x$, z$_i$, Smith$^2$, 10$^{-n}$");
}

static void test_signs(void **state)
{
    (void)state;
    expect("Caf\\'e na\\\"{\\i}ve \\c{c}a \\v{s} \\ss\\ \\o{} \\AA",
           "paragraph: Café naïve ça š ß ø Å");
    expect("``a'' `b' c--d---e \\ldots\\ f~g \\% \\$ \\LaTeX",
           "paragraph: “a” ‘b’ c–d—e … f g % $ LaTeX");
    expect("\\texttt{a--b ``c''}", "paragraph: a--b ``c''");
    /* Braces part them. */
    expect("\\textbf{-{}-jobs}, {-}-all, `{``}a''",
           "paragraph: --jobs, --all, ‘“a”");
    /* A sign alone is no formula: syntax is written so, and arrows. */
    expect("\\section{--x $\\langle$n$\\rangle$}a $\\mid$ b$[$c$]$ $\\sim$d "
           "$\\rightarrow$ 2 $\\times$ 3 $\\leq$ $\\infty$, $\\mu$, $a\\mid b$",
           "# –x ⟨n⟩ | paragraph: a | b[c] ~d → 2 × 3 ≤ ∞, $\\mu$, $a\\mid b$");
    expect("$-$40 to $+$85, $($a$)$, $*$, $\\approx$5, $\\uparrow$ "
           "$\\downarrow$, $\\bullet$ $\\checkmark$, a $\\cdot$ b, $-x$",
           "paragraph: -40 to +85, (a), *, ≈5, ↑ ↓, • ✓, a · b, $-x$");
    expect("Lines with $\\#$ or $\\%$, $\\#A$",
           "paragraph: Lines with # or %, $\\#A$");
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

/* What the package doc's index is told of a macro is not carried out. */
static void test_index_of_macros(void **state)
{
    (void)state;
    expect("\\makeatletter\\def\\cs#1{\\texttt{#1}\\expandafter\\SpecialIndex@"
           "\\expandafter{\\csname#1\\endcsname}{main}}"
           "The \\cs{ifshown} is true.",
           "paragraph: The ifshown is true.");
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

/* ltxdockit's examples. */
static void test_dockit_examples(void **state)
{
    (void)state;
    expect("\\begin{ltxexample}[style=latex]\n\\a{x}\n\\end{ltxexample}"
           "\\begin{ltxcode}{}\n\\section{y}\n\\end{ltxcode}z",
           "code: \\a{x} | code: \\section{y} | paragraph: z");
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
    /* A formula in a box of a macro ends none; what does may choose by what follows. */
    expect("\\newcommand\\ct[2]{#1\\mathbin{\\raisebox{1ex}{$\\cdot$}}#2}"
           "$\\ct{a}{b}$",
           "paragraph: $\\ct{a}{b}$");
    expect("\\makeatletter\\def\\x{\\@ifnextchar a{b$}{c$}}\\makeatother"
           "$q\\x d",
           "paragraph: $qc$d");
    expect("\\makeatletter\\newcommand\\sm[1]{(#1)\\@ifnextchar\\bgroup{\\sm}"
           "{.}}\\makeatother\\sm{a}{b} c",
           "paragraph: (a)(b).c");
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

/* Boxes within boxes that never end are filled as deep as anyone asks, and what is
 * deeper stands where it is. */
static void test_boxes_that_never_end(void **state)
{
    (void)state;
    struct buf source = {0}, expected = {0};
    for (int i = 0; i < 40; i++)
        buf_put_text(&source, "\\setbox1\\vbox\\bgroup a");
    for (int i = 0; i < 31; i++)
        buf_put_text(&expected, "paragraph: a | ");
    buf_put_text(&expected, "paragraph: aaaaaaaaa");
    expect(source.data, expected.data);
    buf_free(&source);
    buf_free(&expected);
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

/* "%" within an address or an entry that ends in its line is a character. */
static void test_percent(void **state)
{
    (void)state;
    expect("a \\href{https://x.y/b%20c}{there} is % no\nd",
           "paragraph: a there is d");
    expect("a \\href{%\nhttps://x.y}{there} is", "paragraph: a there is");
    expect("a\\index{b@\\verb+% c+} d.", "paragraph: a d.");
    expect_index("\\section{A}\\index{key@\\emph{@key} sign}x",
                 "@key sign > A");
    expect_index("\\section{A}\\index{f@\\emph{n\"!}}\\index{g@\\emph{\"a\"}}x",
                 "n! > A | \"a\" > A");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_own_headings),
        cmocka_unit_test(test_own_levels),
        cmocka_unit_test(test_own_floats),
        cmocka_unit_test(test_captions_of_kinds),
        cmocka_unit_test(test_counters_within_themselves),
        cmocka_unit_test(test_counters_within_others),
        cmocka_unit_test(test_many_floats),
        cmocka_unit_test(test_tabbing),
        cmocka_unit_test(test_algorithmic),
        cmocka_unit_test(test_obeyed_spaces),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_clever_references),
        cmocka_unit_test(test_names_of_references),
        cmocka_unit_test(test_own_citations),
        cmocka_unit_test(test_pages_referred_to),
        cmocka_unit_test(test_numbers_below_zero),
        cmocka_unit_test(test_starred_title),
        cmocka_unit_test(test_texinfo),
        cmocka_unit_test(test_large_titles),
        cmocka_unit_test(test_index_style),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_verb),
        cmocka_unit_test(test_escaped_listings),
        cmocka_unit_test(test_own_listings),
        cmocka_unit_test(test_math),
        cmocka_unit_test(test_exponents),
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_titles_of_classes),
        cmocka_unit_test(test_index_of_macros),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_dockit_examples),
        cmocka_unit_test(test_formula_choices),
        cmocka_unit_test(test_boxes_of_blocks),
        cmocka_unit_test(test_boxes_that_never_end),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_chinese_numbers),
        cmocka_unit_test(test_percent),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
