/* What packages declare that are not beside the document. */
#include "tests/unit/support/latex_in_memory.h"

/* The settings of tabularray's tables are arguments, their captions among them; a row
 * ends a line of a cell where it stands in braces. */
static void test_tabularray(void **state)
{
    (void)state;
    expect("\\begin{tblr}{colspec={|l|Q[c,2cm]|},hlines}\nName & Value \\\\ "
           "\\hline[dashed]\n\\SetCell[c=2]{c} both & \\\\\nalpha & {4 \\\\ "
           "5} \\\\\n\\end{tblr}",
           "table: Name\tValue\nboth\nalpha\t4 5");
    expect("\\documentclass{article}\\begin{document}\\begin{longtblr}[caption="
           "{Keys},label={t}]{colspec={ll},rowhead=1}k & m \\\\ 1 & 2 \\\\ "
           "\\SetHline{1-2}{blue}\\end{longtblr}See \\ref{t}.\\end{document}",
           "figure: Table 1: Keys | table: k\tm\n1\t2 | paragraph: "
           "See 1.");
    expect("\\begin{talltblr}[note{a}={First.},remark{Source} = {All of "
           "it.}]{ll}a & "
           "b\\end{talltblr}",
           "paragraph: a First. | paragraph: Source: All of it. | table: a\tb");
    expect("\\NewTblrEnviron{mine}\\SetTblrInner[mine]{rowsep=1pt}"
           "\\begin{mine}{ll}a & b\\end{mine}",
           "table: a\tb");
}

/* nicematrix draws before and behind its cells. */
static void test_nicematrix(void **state)
{
    (void)state;
    expect("\\begin{NiceTabular}{cc}[hvlines]\\CodeBefore \\rowcolor{red}{1} "
           "\\Body a & b \\\\ \\Block[l]{1-2}{two} & \\\\ \\CodeAfter "
           "\\line{1-1}{2-2}\\end{NiceTabular} x",
           "table: a\tb\ntwo | paragraph: x");
    expect("\\begin{NiceTabular}{cc}\n[a] & b \\\\ c & d \\\\ \\CodeAfter "
           "\\begin{tikzpicture}\\draw (1-1);\n\n\\end{tikzpicture}\n\n"
           "\\line{1-1}{2-2}\\end{NiceTabular} x",
           "table: [a]\tb\nc\td | paragraph: x");
}

/* Where a table stands and how wide it is are none of its cells. */
static void test_wide_tables(void **state)
{
    (void)state;
    static const struct memory_file files[] = {
        {"tabu_doxygen.sty", "\\def\\longtabu{\\tabu@x=}"}, {NULL, NULL}};
    expect_of(
        "\\documentclass{book}\\usepackage{tabu_doxygen}\\begin{document}"
        "\\tabulinesep=1mm\\begin{longtabu}{l}a\\end{longtabu}\\end{document}",
        files, "table: a");
    expect("\\begin{longtabu*}spread 0pt [l]{|X[-1,r]|X[-1,l]|}a & b \\\\ c & "
           "d\\end{longtabu*}",
           "table: a\tb\nc\td");
    expect("\\begin{xltabular}{\\textwidth}{lX}a & b\\end{xltabular}",
           "table: a\tb");
}

/* A brace over rows (bigdelim) is drawn, but for its text. */
static void test_bigdelim(void **state)
{
    (void)state;
    expect("\\begin{tabular}{lll}a & \\rdelim\\}{3}{10pt}[the frame] & b\\\\"
           "\\ldelim\\{{2}{*} & c & d\\end{tabular}",
           "table: a\tthe frame\tb\n\tc\td");
}

/* What mdframed is told is no text, its title is; its theorems are such. */
static void test_mdframed(void **state)
{
    (void)state;
    expect("\\mdfsetup{linecolor=blue!20}\\surroundwithmdframed[linewidth=1pt]"
           "{quote}a\\begin{mdframed}[frametitle={T},linewidth=1pt]b"
           "\\end{mdframed}",
           "paragraph: a | note: T. b");
    expect("\\newmdtheoremenv[linewidth=1pt]{lem}{Lemma}\\begin{lem}A."
           "\\end{lem}",
           "note: Lemma 1. A.");
}

/* A file that a PDF takes with it is called by its text. */
static void test_attachfile(void **state)
{
    (void)state;
    expect("Run \\textattachfile[color=1 0 0]{ex/a.lp}{a.lp}\\attachfile{b.c}.",
           "paragraph: Run a.lp.");
}

/* KOMA's fonts are called by what they set. */
static void test_koma_fonts(void **state)
{
    (void)state;
    expect("{\\usekomafont{title}\\huge a}\\setkomafont{title}{\\bfseries}b"
           "\\KOMAoptions{twoside=false}c",
           "paragraph: abc");
}

/* Lists that enumitem declares are of the kind that they are declared to be. */
static void test_newlist(void **state)
{
    (void)state;
    expect("\\newlist{steps}{enumerate}{1}\\setlist[steps]{label=S\\arabic*}"
           "\\begin{steps}[noitemsep]\\item a \\item b\\end{steps}",
           "list: 1. a\n2. b");
    expect(
        "\\renewlist{enumerate}{enumerate}{9}\\renewlist{itemize}{itemize}{9}"
        "\\begin{enumerate}\\item a\\end{enumerate}\\begin{itemize}\\item b"
        "\\end{itemize}c",
        "list: 1. a | list: - b | paragraph: c");
}

/* Theorems of tcolorbox take their title and the end of their label as arguments. */
static void test_tcbtheorem(void **state)
{
    (void)state;
    expect(
        "\\documentclass{article}\\newtcbtheorem[number within=section]{theo}"
        "{Theorem}{colback=green}{th}\\newtcbtheorem[use counter from=theo]"
        "{lem}{Lemma}{}{le}\\begin{document}\\section{A}\\begin{theo}{Of "
        "P.}{pyt}a\\end{theo}\\begin{lem}{}{}b\\end{lem}\\begin{lem*}{Of "
        "Q.}c\\end{lem*}See \\ref{th:pyt}.\\end{document}",
        "# 1 A | note: Theorem 1.1 (Of P.). a | note: Lemma 1.2. b | note: "
        "Lemma (Of Q.). c | paragraph: See 1.1.");
}

/* Where a float stands, and how wide a box is, is no text. */
static void test_places(void **state)
{
    (void)state;
    expect("\\begin{wrapfigure}[5]{r}[1pt]{3cm}a\\end{wrapfigure}",
           "paragraph: a");
    expect("\\begin{subfigure}[b]{.5\\textwidth}a\\end{subfigure}",
           "paragraph: a");
    expect("\\begin{adjustbox}{max width=\\textwidth}a\\end{adjustbox}"
           "\\begin{addmargin}[1em]{2em}b\\end{addmargin}",
           "paragraph: a | paragraph: b");
}

/* Names of files that are made of the name of the one that is read (currfile). */
static void test_currfile(void **state)
{
    static const struct memory_file files[] = {
        {"one/two/a.tex",
         "[\\currfilename|\\currfilebase|\\currfileext]"
         "\\lstinputlisting{\\currfiledir/c/\\currfilebase.c}"},
        {"one/two//c/a.c", "int a;"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\input{one/two/a}", files,
              "paragraph: [a.tex|a|tex] | code: int a;");
}

/* Blocks of algorithm2e are arguments; its words and lines are those of code. */
static void test_algorithm2e(void **state)
{
    (void)state;
    expect(
        "\\documentclass{article}\\usepackage[ruled]{algorithm2e}\\SetKwInOut{"
        "Input}{in}\\SetKwFunction{Sort}{sort}\\SetKwProg{Fn}{Function}{:}{}"
        "\\begin{document}\\begin{algorithm}[H]\\SetAlgoLined\n\\KwData{a}\n"
        "\\Input{b}\nstart\\;\n\n\\While{not at end}{\n read "
        "\\tcp*[f]{one}\n\n "
        "\\eIf{x}{\n next\\;\n}{\n back\\;\n}\n}\n\\For{i \\KwTo n}{ "
        "\\Sort{x}\\; }"
        "\n\\lIf{y}{\\Return "
        "z}\n\\caption{How}\n\\Repeat{done}{x\\;}\\Fn{\\F{a}}{"
        "b\\;}\\end{algorithm}c\\end{document}",
        "code: Data: a\nin: b\nstart\nwhile not at end do\n  read // one\n  if "
        "x then\n    next\n  else\n    back\nfor i to n do\n  sort(x)\nif y "
        "then return z | figure: Algorithm 1: How | code: repeat\n  x\nuntil "
        "done\nFunction a\n  b | paragraph: c");
    expect("\\documentclass{article}\\usepackage{algorithm2e}\\SetKwArray{A}{A}"
           "\\SetKwComment{Note}{/* }{ */}\\SetKwFunction{Go}{go}\\SetKwData{L}"
           "{left}\\SetKwFor{ParFor}{parallel for}{do}{end}\\SetKwFor{For}{for}"
           "{do}{end}\\begin{document}\\begin{algorithm}x \\Note*[r]{one}\\L = "
           "\\A{i}, \\Go\\;\\ParFor{x}{\\Go{y}\\;}\\leIf{a}{b}{c}"
           "\\end{algorithm}\\end{document}",
           "code: x /* one\nleft = A[i], go\nparallel for x do\n  go(y)\nif a "
           "then "
           "b\nelse c");
    expect(
        "\\documentclass{article}\\usepackage{algorithm2e}\\begin{document}"
        "\\begin{tabular}{ll}a & \\begin{minipage}{3cm}\\begin{algorithm}x\\;"
        "\\end{algorithm}\\end{minipage} \\\\ c & d\\end{tabular}"
        "\\end{document}",
        "table: a\tx\nc\td");
}

/* longtable's heads and feet of the pages that follow are the paper's; its caption is
 * a table's. */
static void test_longtable(void **state)
{
    (void)state;
    expect("\\begin{longtable}{ll}\\caption{Cap}\\\\ h & i \\\\ \\midrule "
           "\\endfirsthead \\multicolumn{2}{l}{continued} \\\\ h & i \\\\ "
           "\\endhead \\multicolumn{2}{r}{to be continued} \\\\ \\endfoot "
           "\\bottomrule \\endlastfoot 1 & 2 \\\\ 3 & 4\\end{longtable}",
           "figure: Table 1: Cap | table: h\ti\n1\t2\n3\t4");
    expect(
        "\\begin{longtable}{ll}h & i \\\\ \\hline\\endhead \\hline\\endfoot 1 "
        "& 2\\end{longtable}",
        "table: h\ti\n1\t2");
    expect("\\begin{longtable}{ll}\\caption{Cap}\\\\ h & i \\\\ \\endfirsthead "
           "\\caption[]{(continued)}\\\\ h & i \\\\ \\endhead 1 & 2"
           "\\end{longtable}\\begin{table}\\caption{Next}\\end{table}",
           "figure: Table 1: Cap | table: h\ti\n1\t2 | figure: Table 2: Next");
    expect("\\begin{longtable}{ll}1 & 2 \\\\ \\caption{Below}\\end{longtable}",
           "table: 1\t2 | figure: Table 1: Below");
    expect("\\begin{table}\\caption*{Plain}\\end{table}\\begin{table}"
           "\\caption{A}\\end{table}",
           "figure: Plain | figure: Table 1: A");
}

/* A float stays what it is, whatever its parts stand in. */
static void test_figures_in_a_table(void **state)
{
    (void)state;
    expect(
        "\\begin{figure}\\begin{tabular}{l}\\begin{minipage}{3cm}x\\caption{A}"
        "\\end{minipage}\\end{tabular}\\end{figure}",
        "table: x | figure: Figure 1: A");
    expect("\\begin{quote}a \\captionof{figure}{B} c\\end{quote}",
           "quote: a | figure: Figure 1: B | quote: c");
}

/* What a theorem is called may have a font. */
static void test_names_of_theorems(void **state)
{
    (void)state;
    expect("\\newtheorem{a}{\\textbf{Fact}}\\newtheorem{b}{\\ttfamily Rule}"
           "\\begin{a}[N]x\\end{a}\\begin{b}y\\end{b}"
           "\\newtcbtheorem{c}{\\textbf{Law}}{}{p}\\begin{c}{M}{}z\\end{c}",
           "note: Fact 1 (N). x | note: Rule 1. y | note: Law 1 (M). z");
}

/* Parts of a float are counted within it, and their captions may come before its own. */
static void test_parts_of_floats(void **state)
{
    (void)state;
    static const char text[] =
        "\\documentclass{article}\\begin{document}\\begin{figure}"
        "\\begin{subfigure}{3cm}\\caption{A}\\end{subfigure}\\begin{subfigure}{"
        "3cm}"
        "\\caption{B}\\label{b}\\end{subfigure}\\caption{C}\\label{c}\\end{"
        "figure}"
        "\\begin{figure}\\caption{D}\\begin{subfigure}{3cm}\\caption{E}\\label{"
        "e}"
        "\\end{subfigure}\\end{figure}\\ref{b}, \\ref{c}, "
        "\\ref{e}\\end{document}";
    expect(text,
           "figure: (a) A | figure: (b) B | figure: Figure 1: C | figure: "
           "Figure 2: D | figure: (a) E | paragraph: 1b, 1, 2a");
}

/* What language a word is of, and where a term's description is, is no text. */
static void test_words_of_packages(void **state)
{
    (void)state;
    expect("\\foreignlanguage{german}{Wort} \\glslink{os}{linked}",
           "paragraph: Wort linked");
    expect("\\DeclareAcronym{cpu}{short=CPU,long=central unit}The \\ac{cpu}, "
           "\\acl{cpu}.",
           "paragraph: The CPU, central unit.");
    expect("\\acrodef{cpu}[CPU]{central unit}\\acf{cpu}, \\acp{cpu}",
           "paragraph: central unit (CPU), CPUs");
    expect("a \\faGithub{} b\\ding{51}\\ding{108}\\ding{172}",
           "paragraph: a b✓●①");
    expect("a\\bookmark[level=2,dest=example.0]{Example 0}b", "paragraph: ab");
    expect(
        "\\DeclareRobustCommand\\LaTeX{L\\kern-.3em{\\setbox0\\hbox{T}A}\\TeX}"
        "\\def\\pLaTeX{p\\LaTeX}\\pLaTeX",
        "paragraph: pLaTeX");
}

/* enumitem: where a list begins to count. */
static void test_numbers_of_lists(void **state)
{
    (void)state;
    expect(
        "\\begin{enumerate}[start=3]\\item a\\item b\\end{enumerate}x"
        "\\begin{enumerate}[resume,nosep]\\item c\\end{enumerate}"
        "\\begin{enumerate}\\item d\\end{enumerate}"
        "\\begin{enumerate}[label={I presume \\arabic*}]\\item e"
        "\\end{enumerate}\\begin{enumerate}[nosep, resume*]\\item f"
        "\\end{enumerate}",
        "list: 3. a\n4. b | paragraph: x | list: 5. c | list: 1. d | list: 1. "
        "e | list: 2. f");
}

/* Doxygen's code has commands, a line each; its style is beside the manual. */
static void test_doxygen(void **state)
{
    static const struct memory_file files[] = {
        {"doxygen.sty",
         "\\newcommand\\DoxyCodeLine[1]{\\hangpara{w}{1}{#1}\\par}"
         "\\newenvironment{DoxyCode}[1]{\\par}{\\par}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{book}\\usepackage{doxygen}\\begin{document}a\n"
              "\\begin{DoxyCode}{0}\n\\DoxyCodeLine{\\textcolor{x}{enum}\\ a\\ "
              "\\{}\n\\DoxyCodeLine{\\ \\ \\ b\\_c,}\n\\DoxyCodeLine{\\};}\n\n"
              "\\end{DoxyCode}\nd\\end{document}",
              files,
              "paragraph: a | code: enum a {\n   b_c,\n}; | paragraph: d");
    expect("\\begin{DoxyCode}\n\\textcolor{k}{int} a;\nb\n\\end{DoxyCode}c"
           "\\begin{DoxyCodeInclude}{0}\n\\DoxyCodeLine{d}\n"
           "\\end{DoxyCodeInclude}",
           "code: int a;\nb | paragraph: c | code: d");
}

/* What Sphinx says of functions are entries, its code is code and its tables are tables,
 * also where it put its style and its class beside the manual. */
static void test_sphinx(void **state)
{
    static const struct memory_file files[] = {
        {"sphinxmanual.cls", "\\LoadClass{report}\\setcounter{secnumdepth}{2}"},
        {"sphinx.sty",
         "\\newenvironment{sphinxVerbatim}{\\par}{\\par}"
         "\\newenvironment{fulllineitems}{\\begin{list}{}{}}{\\end{list}}"
         "\\newcommand{\\pysigline}[1]{\\item[{#1}]}"},
        {NULL, NULL}};
    (void)state;
    expect_of(
        "\\documentclass{sphinxmanual}\\usepackage{sphinx}"
        "\\setcounter{secnumdepth}{3}\\begin{document}\\chapter{C}"
        "\\section{S}\\subsection{T}\\subsubsection{U}"
        "\\begin{sphinxVerbatim}[commandchars=\\\\\\{\\}]\n\\PYG{k}{int} "
        "a;\nb\n"
        "\\end{sphinxVerbatim}\n"
        "\\begin{fulllineitems}\n\\phantomsection\\label{f}"
        "\\pysiglinewithargsret{int \\sphinxbfcode{ARKFree}}{void*"
        "\\sphinxstyleemphasis{ mem}\\sphinxoptional{, n}}{}\nFrees it.\n"
        "\\begin{itemize}\\item a\\end{itemize}\\end{fulllineitems}\n"
        "\\begin{fulllineitems}\\pysigline{class K}\\pysigline{class L}A.\n"
        "\\begin{fulllineitems}\\pysigline{m}B.\\end{fulllineitems}"
        "\\end{fulllineitems}After \\sphinxhref{http://x.org}{X}.\n\n"
        "\\begin{sphinxadmonition}{note}{Note:}\nOf it.\n"
        "\\end{sphinxadmonition}\\end{document}",
        files,
        "# Chapter 1. C | ## 1.1 S | ### 1.1.1 T | #### 1.1.1.1 U | "
        "code: int a;\nb | paragraph: After X. | note: Note: Of it. | "
        "@@@@@ int ARKFree(void* mem[, n]) | paragraph: Frees it. | "
        "list: - a | @@@@@ class K | paragraph: class L | paragraph: A. | "
        "@@@@@@ m | paragraph: B.");
    expect("\\begin{tabular}{l}\\begin{varwidth}[t]{\\sphinxcolwidth{1}{2}}a"
           "\\end{varwidth}\\\\\\end{tabular}\\begin{description}"
           "\\sphinxlineitem{t}b\\end{description}",
           "table: a | definition: t\n  b");
}

/* Boxes that are counted, and those that are commands, of files or within a line. */
static void test_tcolorboxes(void **state)
{
    static const struct memory_file files[] = {{"a.yaml", "k: 1\n"},
                                               {NULL, NULL}};
    (void)state;
    expect_of(
        "\\documentclass{article}"
        "\\newtcolorbox[auto counter,number within=section]{example}[1][]{"
        "title={Example~\\thetcbcounter},colback=white,#1}"
        "\\DeclareTCBInputListing[use counter=figure]{\\showfile}{s O{} m O{} "
        "m m}{mine,listing file={#3},listing options={style=x,#2},"
        "title={Listing \\thetcbcounter: #5},label={#6},#4,IfBooleanTF={#1}{x}"
        "{y}}\\newtcbox[init]{\\mine}[1][red]{on line,colback=#1}"
        "\\begin{document}\\section{S}\\begin{example}[label=e]A.\\end{example}"
        "\\begin{example}B.\\end{example}"
        "\\showfile*[style=s]{a.yaml}[width=1cm]{\\texttt{N}}{l}"
        "See \\ref{l}, \\ref{e} and \\mine[blue]{C}, "
        "\\tcbox[colback=red]{D}.\\end{document}",
        files,
        "# 1 S | note: Example 1.1. A. | note: Example 1.2. B. | paragraph: "
        "Listing 1: N | code: k: 1 | paragraph: See 1, 1.1 and C, D.");
}

/* Labels of BibTeX's styles are what their packages print of them. */
static void test_labels_of_works(void **state)
{
    (void)state;
    expect(
        "See \\cite{a}, \\cite{b}, \\cite{c}, \\cite{d}, \\cite{e}.\n\n"
        "\\begin{thebibliography}{}"
        "\\bibitem[Jones et~al.(1990)Jones, Baker, and Williams]{a} A."
        "\\bibitem[\\protect\\citeauthoryear{Chen\\ \\BBA {} Wu}{Chen\\ \\BBA "
        "{} Wu}{\\protect\\APACyear{2011}}]{b} B."
        "\\bibitem[{Alpert\\jbbfsasep Brown\\jbdy {1998}}%\n {}%\n"
        "{{0}{}{book}{1998}}{{The Book}{}}]{c} C."
        "\\bibitem[{\\textbf{KP}81}]{d} D."
        "\\bibitem[\\citeauthoryear{Lee}{2001}]{e} E."
        "\\end{thebibliography}",
        "paragraph: See [Jones et al. (1990)], [Chen & Wu 2011], "
        "[Alpert/Brown 1998], [KP81], [Lee 2001]. | # References | "
        "paragraph: [Jones et al. (1990)] A. | paragraph: [Chen & Wu 2011] "
        "B. | paragraph: [Alpert/Brown 1998] C. | paragraph: [KP81] D. | "
        "paragraph: [Lee 2001] E.");
    /* Those written otherwise are whole. */
    expect("\\begin{thebibliography}{}\\bibitem[{\\'A}{\\'E}99]{a} A."
           "\\bibitem[Knuth \\& Plass, 1986]{b} B."
           "\\bibitem[Smith (1986) rev. 2]{c} C."
           "\\bibitem[{\\O}stby, 1990]{d} D.\\bibitem[{{Lee}{ and }{Wu}}]{e} E."
           "\\end{thebibliography}",
           "# References | paragraph: [ÁÉ99] A. | paragraph: [Knuth & Plass, "
           "1986] B. | paragraph: [Smith (1986) rev. 2] C. | paragraph: "
           "[Østby, 1990] D. | paragraph: [Lee and Wu] E.");
    /* Accents by letters, and on letters that are commands. */
    expect("\\begin{thebibliography}{}\\bibitem[Garc{\\'\\i}a and "
           "{\\v{S}}ari{\\'c}(2001)]{a} A.\\bibitem[Fran{\\c c}ois]{b} B."
           "\\end{thebibliography}",
           "# References | paragraph: [García and Šarić (2001)] A. | "
           "paragraph: [François] B.");
}

/* What a PDF calls a document is its title where it has no other; a part that is put in
 * behind headings does not name the whole. */
static void expect_title(const char *text, const char *title)
{
    struct buf reports = {0};
    struct tree *tree = parse(text, NULL, &reports);
    assert_string_equal(tree->page.title.data, title);
    tree_free(tree);
    buf_free(&reports);
}

static void test_titles(void **state)
{
    (void)state;
    expect_title("\\documentclass{article}\\hypersetup{colorlinks,pdftitle = "
                 "{The Guide}}\\begin{document}a\\end{document}",
                 "The Guide");
    expect_title("\\documentclass{article}\\hypersetup{pdftitle={x}}\\title{T}"
                 "\\begin{document}\\maketitle\\section{S}\\title{Part}"
                 "\\maketitle\\end{document}",
                 "T");
    expect("\\documentclass{article}\\title{T}\\begin{document}\\maketitle"
           "\\section{S}a\\title{Part}\\maketitle b\\end{document}",
           "# 1 S | paragraph: a | paragraph: Part | paragraph: b");
}

/* Arguments of packages that are no text: how high, how far, which number. */
static void test_arguments_of_packages(void **state)
{
    static const struct memory_file files[] = {
        {"kao.sty",
         "\\RenewDocumentCommand\\sidenote{o o m}{\\marginnote[#2]{#3}}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{article}\\usepackage{kao}\\begin{document}"
              "a\\sidenote[][*2]{B.} c\\end{document}",
              files, "paragraph: a c | paragraph: B.");
    expect("\\needspace{7ex}{\\scalefont{1.1}A}\\sidenote[][1ex]{B.} c"
           "\\marginnote[2pt]{D.}",
           "paragraph: A c | paragraph: B. | paragraph: D.");
    expect("\\begin{edtable}{tabular}{@{}ll@{}}a & b\\end{edtable}",
           "table: a\tb");
    expect("\\begin{lstlisting}a\\end{lstlisting}"
           "\\refstepcounter{lstlisting}\\label{l}\\cref{l}",
           "code: a | paragraph: listing 1");
}

/* LaTeX's own documentation: names of macros and of what describes them. */
static void test_documentation(void **state)
{
    (void)state;
    expect("\\cs[index=x:N]{x_(g)y:N} \\begin{minipage}{1cm}\\ExplSyntaxOn "
           "\\end{minipage}a b",
           "paragraph: \\x_(g)y:N | paragraph: a b");
    expect("A \\cs[no-index]{\\meta{scope}_tmpa\\ldots{}} b.",
           "paragraph: A \\⟨scope⟩_tmpa… b.");
    expect("\\NewDocElement[toplevel=false]{InterfaceMacro}{imacro}"
           "\\DescribeInterfaceMacro\\MakeShortVerb on "
           "it.\\begin{imacro}{\\x}a\\end{imacro}",
           "@ \\MakeShortVerb | paragraph: on it. | @@ \\x | paragraph: a");
    expect("\\begin{macro}{\\cs_new:N , \\cs{x}}a\\end{macro}",
           "@ \\cs_new:N , \\x | paragraph: a");
    /* What is described may be what is known here. */
    expect("Of \\cmd\\ttfamily, \\cmd{\\protect}, \\cmd\\ldots, "
           "\\cmd\\\\, \\cmd\\& and \\cmd\\space.",
           "paragraph: Of \\ttfamily, \\protect, \\ldots, \\\\, \\& and "
           "\\space.");
    expect("\\DescribeMacro\\ldots Dots.\\begin{macro}{\\dots}a\\end{macro}",
           "@ \\ldots | paragraph: Dots. | @@ \\dots | paragraph: a");
}

/* The class cnltx-doc, by which the manuals of many packages are set. */
static void test_cnltx(void **state)
{
    static const struct memory_file files[] = {
        {"x-manual.cls",
         "\\LoadClass{cnltx-doc}\\setcnltx{package={x},info={Does it}}"},
        {NULL, NULL}};
    (void)state;
    expect_of(
        "\\documentclass{x-manual}\\begin{document}\\section{S}"
        "\\begin{commands}\\command{ac}[\\oarg{o}\\marg{id}] Prints it."
        "\\command*{acs} B.\\end{commands}After.\n"
        "\\begin{options}\\keyval{k}{text}\\Module{m}\\Initial D."
        "\\keychoice{c}{a,\\default{b}}\\Default!{a} E.\\keybool{f}\\Initial"
        "{false} F.\\opt{g}G.\\end{options}\n"
        "\\begin{example}[side-by-side]\n\\ac{x}\n\\end{example}"
        "\\end{document}",
        files,
        "# 1 S | paragraph: After. | code: \\ac{x} | "
        "@@ \\ac[⟨o⟩]{⟨id⟩} | paragraph: Prints it. | @@ \\acs | "
        "paragraph: B. | @@ k = ⟨text⟩ (module m) | paragraph: D. | "
        "@@ c = a|b (default: a) | paragraph: E. | "
        "@@ f = true|false (initially: false) | paragraph: F. | @@ g | "
        "paragraph: G.");
    expect_title("\\documentclass{cnltx-doc}\\setcnltx{package={x},info={Does "
                 "it}}\\begin{document}a\\end{document}",
                 "x: Does it");
    expect("\\begin{options}a \\newcommand\\opt[1]{#1}\\opt{b}\\end{options}",
           "paragraph: a b");
}

/* Slides: their titles are headings, on which of them a thing is shown is no text. */
static void test_beamer(void **state)
{
    (void)state;
    expect("\\documentclass{beamer}\\begin{document}\\section{A}"
           "\\begin{frame}<3->[fragile]{T}{Sub}\ny\\only<1>{z} \\pause "
           "\\alert<2>{w}\\includegraphics<1>[width=2cm]{a}"
           "\\begin{itemize}[<+->]\\item<1-> a\\item<2-|alert@3>[x] b"
           "\\item <stdio.h> \\item[<b>] c\\end{itemize}\\end{frame}"
           "\\begin{frame}\\frametitle<2>{U}\\onslide+<3->k\\mode<beamer>{m}"
           "\\begin{onlyenv}<2>n\\end{onlyenv}\\end{frame}"
           "\\begin{frame}{}v\\end{frame}\\end{document}",
           "# 1 A | ## T | paragraph: Sub | paragraph: yz w | "
           "list: - a\n- x b\n- <stdio.h>\n- <b> c | ## U | "
           "paragraph: kmn | paragraph: v");
    expect("\\frame{\\frametitle{T}\\begin{itemize}\\item<1-> a\\end{itemize}}",
           "# T | list: - a");
    /* On a list that is of no slide, and where no ">" follows. */
    expect("\\begin{itemize}\\item <h1> a\\item <-> b\\item <1> c"
           "\\end{itemize}",
           "list: - <h1> a\n- <-> b\n- <1> c");
    expect("\\begin{frame}{T}\\begin{itemize}\\item <5 a\\end{itemize}"
           "\\verb|50%|\\begin{verbatim}\nb % c\n\\end{verbatim}"
           "\\end{frame}",
           "# T | list: - <5 a | paragraph: 50% | code: b % c");
    expect("\\begin{frame}{T}\\begin{itemize}\\item<1-| alert@2, 4> a"
           "\\item<+(1)-> b\\item <1 or 2> c\\item <f(x)> d\\item <std::map> e"
           "\\end{itemize}\\end{frame}",
           "# T | list: - a\n- b\n- <1 or 2> c\n- <f(x)> d\n- <std::map> e");
}

/* Parts of a float that are commands are as those that are environments. */
static void test_subfloats(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\begin{document}\\begin{figure}"
           "\\subfloat[First\\label{a}]{\\includegraphics{x}}"
           "\\subfigure[of the list][Second]{\\includegraphics{y}}"
           "\\subfloat{\\includegraphics{y}}"
           "\\subcaptionbox{Third\\label{c}}[.4\\linewidth]{z}"
           "\\caption{All}\\label{f}\\end{figure}\\begin{table}"
           "\\subfloat[T]{\\begin{tabular}{l}a\\end{tabular}}\\caption{Tab}"
           "\\end{table}See \\ref{a}, \\ref{c}, \\ref{f}.\\end{document}",
           "figure: (a) First | figure: (b) Second | paragraph: z | "
           "figure: (c) Third | figure: Figure 1: All | table: a | figure: (a) "
           "T | figure: Table 1: Tab | paragraph: See 1a, 1c, 1.");
}

/* What is known here of a package does not come from a copy beside the document. */
static void test_copies_of_packages(void **state)
{
    static const struct memory_file files[] = {
        {"xcolor.sty", "\\ProvidesPackage{xcolor}[2022/06/12]"
                       "\\def\\textcolor#1#2{\\XC@lost#1}"},
        {"listings.sty", "\\ProvidesPackage\n  {listings}"
                         "\\def\\lstset#1{\\lst@lost}\\newenvironment{"
                         "lstlisting}{\\begingroup}{\\endgroup}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{article}\\usepackage{xcolor,listings}"
              "\\begin{document}\\textcolor{red}{A}.\\begin{lstlisting}\n"
              "if (a_b)\n  c;\n\\end{lstlisting}\\end{document}",
              files, "paragraph: A. | code: if (a_b)\n  c;");
}

/* One that is only called as such a package is the document's own. */
static void test_own_packages(void **state)
{
    static const struct memory_file files[] = {
        {"color.sty", "\\ProvidesPackage{house}"
                      "\\newcommand\\product{Pump}"},
        {"tabularx.sty", "\\newcommand\\maker{Works}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{article}\\usepackage{color,tabularx}"
              "\\begin{document}The \\product{} of \\maker."
              "\\end{document}",
              files, "paragraph: The Pump of Works.");
}

/* Folders, and lists of several items a line. */
static void test_other_lists(void **state)
{
    (void)state;
    expect("A\\dirtree{%\n.1 /.\n.2 my\\_bin.\n.3 ls.sh.\n.2 etc\\DTcomment{"
           "settings}.\n}B",
           "paragraph: A | code: /\n  my_bin\n    ls.sh\n  etc settings | "
           "paragraph: B");
    expect("\\dirtree{.1 a. .10 b.1 c.}\\dirtree{src/ main.c}",
           "code: a\n                  b.1 c | paragraph: src/ main.c");
    expect("\\dirtree{.1 a .5 cm.\n.2 b.}", "code: a .5 cm\n  b");
    expect("\\dirtree{}\\begin{tasks}[style=itemize](2)\\task one\n\\task two"
           "\\task*(2) three \\task! (4)\\end{tasks}",
           "list: - one\n- two\n- three\n- (4)");
}

/* Ximera: a course of activities, each a document with a title. */
static void test_ximera(void **state)
{
    static const struct memory_file files[] = {
        {"a/title.tex",
         "\\documentclass{ximera}%\\title{no}\n\\title{Limits}"
         "\\outcome{x}\\begin{document}\\maketitle In.\\end{document}"},
        {"a/one.tex",
         "\\documentclass{ximera}\\title[Dig-In:]{What {\\em is} one}"
         "\\begin{document}\\maketitle\\label{l}One.\\end{document}"},
        {"a/two.tex", "\\documentclass{ximera}\\begin{document}Two."
                      "\\end{document}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{xourse}\\title{Calculus}\\begin{document}"
              "\\maketitle\\chapterstyle\\activity{a/title}\\sectionstyle"
              "\\activity[v]{a/one.tex}\\practice{a/two}See \\ref{l}."
              "\\end{document}",
              files,
              "# Chapter 1. Limits | paragraph: In. | ## 1.1 What is one | "
              "paragraph: One. | paragraph: Two. | paragraph: See 1.1.");
    expect("An \\activity{pastime}.", "paragraph: An pastime.");
}

/* What says nothing before its body is passed over once for each time it is read. */
static void test_long_activities(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_put_text(&text, "\\documentclass{ximera}");
    for (int i = 0; i < 60000; i++)
        buf_put_text(&text, "\\title");
    buf_put_text(&text, "\n\\title{T}\\begin{document}a\\end{document}");
    buf_put_byte(&text, '\0');
    struct memory_file files[] = {{"a.tex", text.data}, {NULL, NULL}};
    struct buf course = {0};
    buf_put_text(&course, "\\documentclass{xourse}\\begin{document}");
    for (int i = 0; i < 40; i++)
        buf_put_text(&course, "\\activity{a}");
    buf_put_text(&course, "\\end{document}");
    double start = unit_seconds();
    struct tree *tree = parse(course.data, files, NULL);
    assert_int_equal(tree->count, 41);
    assert_true(unit_seconds() - start < 5);
    tree_free(tree);
    buf_free(&course);
    buf_free(&text);
}

/* fontspec's fonts are no text. */
static void test_fontspec(void **state)
{
    (void)state;
    expect("a {\\fontspec{Latin Modern Mono} b} {\\fontspec[Scale=1]{X}c}"
           "\\addfontfeature{Scale=2} d",
           "paragraph: a b c d");
    expect("a is {\\fontspec{Latin Modern Mono} [1,2]}, {\\fontspec{X}[A=b]c}.",
           "paragraph: a is [1,2], c.");
}

/* What hyperref writes for a bookmark is no part of a title. */
static void test_bookmarks(void **state)
{
    (void)state;
    expect("\\makeatletter\\newcommand\\mark[2]{#1{\\Hy@writebookmark{}{#2}{"
           "\\@currentHref}{0}{toc}#2}}\\mark\\section{One}a",
           "# One | paragraph: a");
}

/* What tcolorbox sets before a box's text. */
static void test_before_upper(void **state)
{
    (void)state;
    expect("\\newtcbox{\\name}[1][red]{on line,before upper=\\ttfamily"
           "\\char`\\\\,boxsep=0pt}of \\name{begin} and \\tcbox[a=b]{end}",
           "paragraph: of \\begin and end");
    expect("\\newtcbox{\\code}{before upper=\\ttfamily}of \\code{\\verb|a%b{|} "
           "and",
           "paragraph: of a%b{ and");
    expect("\\newtcolorbox{hint}{before upper={\\textbf{Hint:} }}"
           "\\begin{hint}a\\end{hint}",
           "note: Hint: a");
}

/* nomencl's lines stand behind the paragraph. */
static void test_nomenclature(void **state)
{
    (void)state;
    expect("a\\nomenclature[z] {DEM}{Discrete Elements} b.",
           "paragraph: a b. | paragraph: DEM: Discrete Elements");
    expect("\\begin{nomenclature}[2cm]\\label{symbols}{Two} words: c\n"
           "\\end{nomenclature}\n\nd",
           "paragraph: Two words: c | paragraph: d");
    expect("See \\nomenclature and on", "paragraph: See and on");
}

/* A copy of wrapfig by another name is not read: it says by how TeX sets a figure what
 * has been said. */
static void test_renamed_copy(void **state)
{
    (void)state;
    static const struct memory_file files[] = {
        {"mywrap.sty",
         "\\ProvidesPackage{mywrap}\\newcount\\c@WF@wrappedlines\n"
         "\\def\\wrapfigure#1#2{\\hsize=#2 width #2\\vtop\\bgroup}"
         "\\let\\endwrapfigure\\egroup"},
        {NULL, NULL}};
    expect_of("\\documentclass{book}\\usepackage{mywrap}"
              "\\newenvironment{side}[1]{\\wrapfigure{r}{#1}}{\\endwrapfigure}"
              "\\begin{document}\\begin{side}{2cm}\\caption{C}\\end{side}a"
              "\\end{document}",
              files, "figure: Figure 0.1: C | paragraph: a");
    static const struct memory_file more[] = {
        {"own.cls", "\\ProvidesClass{own}\\LoadClass{book}"
                    "\\newcount\\c@WF@wrappedlines\n\\newcommand\\who{Ada}"},
        {"mine.sty", "\\newcount\\c@WF@wrappedlines\n\\newcommand\\say{says}"
                     "\\newcommand\\thus{so}"},
        {NULL, NULL}};
    expect_of("\\documentclass{own}\\usepackage{mine}\\begin{document}"
              "\\who{} \\say{} it\\end{document}",
              more, "paragraph: Ada says it");
}

/* environ: \BODY by another name, for the environments that follow. */
static void test_names_of_bodies(void **state)
{
    (void)state;
    expect("\\environbodyname\\inner\\NewEnviron{task}[1]{Task #1: "
           "\\begin{quote}\\expandafter\\inner\\end{quote}}"
           "\\environbodyname\\BODY\\NewEnviron{hint}{Hint: \\BODY}"
           "\\begin{task}{One}Do it.\\end{task}\\begin{hint}Think."
           "\\end{hint}",
           "paragraph: Task One: | quote: Do it. | paragraph: Hint: Think.");
}

/* A body that is to be called by what is no name has none. */
static void test_body_without_name(void **state)
{
    (void)state;
    expect("\\makeatletter\\lectern@body{quote}{\360\237\230\200}{a}b"
           "\\end{quote} c",
           "paragraph: a c");
}

/* What keeps the lines of a title apart does not end it, and no size of ctex's is one
 * of its words. */
static void test_lines_of_titles(void **state)
{
    (void)state;
    expect("\\documentclass{book}\\begin{document}\\chapter*{\\zihao{4}Name "
           "\\vskip 32pt\\zihao{-4}\\bfseries Abstract\\bigskip}It is.\n\nSo."
           "\\end{document}",
           "# Name Abstract | paragraph: It is. | paragraph: So.");
}

/* hyperref expands what the document has defined in an address. */
static void test_macros_in_addresses(void **state)
{
    (void)state;
    expect("\\newcommand\\site{x.org/~me}\\newcommand\\repo[1]{y.org/#1/z}"
           "\\url{\\site} \\url{\\site/a_b%20c} \\nolinkurl{\\repo{d&e}} "
           "\\url{http://a.b/\\%7Ec\\d\\_\\#e} \\path{a\\_b}",
           "paragraph: x.org/~me x.org/~me/a_b%20c y.org/d&e/z "
           "http://a.b/%7Ec\\d_#e a\\_b");
    expect("\\newcommand\\site{x.org}\\newcommand\\page{\\url{\\site/a}}\\page",
           "paragraph: x.org/a");
}

/* A path of files is as it is, and so is an address whose braces are not even. */
static void test_backslashes_in_paths(void **state)
{
    (void)state;
    expect("\\newcommand\\temp{T}\\path{C:\\temp\\a} \\url|a{\\temp/b| c "
           "\\url|a}\\temp| d",
           "paragraph: C:\\temp\\a a{\\temp/b c a}\\temp d");
}

/* Numbers of siunitx have signs, also between them. */
static void test_signs_of_numbers(void **state)
{
    (void)state;
    expect("\\SI{\\pm 20}{\\ns}, \\SI{0.6 \\pm0.2}{\\tesla}, \\num{1.2+-.3}, "
           "\\num{3 x 4 \\times 5}, \\numrange{-1\\pm0}{2e-5}, \\num{\\le7}",
           "paragraph: ±20 ns, 0.6 ± 0.2 T, 1.2 ± .3, 3 × 4 × 5, -1 ± 0 to "
           "2e-5, ≤7");
}

/* An x of a word, or by itself, is a letter. */
static void test_letters_in_numbers(void **state)
{
    (void)state;
    expect("\\num{max}, \\SI[parse-numbers=false]{x}{\\metre}, \\num{2x}, "
           "\\num{Ex 3}, \\num{3x4}, \\num{2 x -1}, \\num{1e3 x 2.5}",
           "paragraph: max, x m, 2x, Ex 3, 3 × 4, 2 × -1, 1e3 × 2.5");
}

/* Figures of proofs are formulas, also where their package lies beside. */
static void test_figures_of_proofs(void **state)
{
    (void)state;
    static const struct memory_file files[] = {
        {"proof.sty", "\\def\\save{\\ifmmode$\\fi}\\def\\infer{\\save}"},
        {NULL, NULL}};
    expect_of("\\documentclass{article}\\usepackage{proof}\\begin{document}"
              "$$\\infer{a}{b}$$ c\\end{document}",
              files, "math: \\infer{a}{b} | paragraph: c");
}

/* Options of code stand on its first line; a bracket on the next one is code. */
static void test_brackets_in_code(void **state)
{
    (void)state;
    expect("\\begin{lstlisting}\n[section]\nkey\n\\end{lstlisting}",
           "code: [section]\nkey");
    expect("\\begin{Verbatim} \n [1, 2]\n\\end{Verbatim}", "code:  [1, 2]");
    expect("\\begin{lstlisting} [language=C]\n[0]\n\\end{lstlisting}",
           "code: [0]");
    expect("\\begin{lstlisting}%\n[language=C]\n[0]\n\\end{lstlisting}",
           "code: [0]");
    expect("\\begin{minted}\n[linenos]\n{toml}\n[a]\n\\end{minted}",
           "code: [a]");
    expect("\\lstnewenvironment{ini}[1][]{\\lstset{#1}}{}\\begin{ini}\n[a]\n"
           "\\end{ini}",
           "code: [a]");
    expect("\\newenvironment{ini}{\\lstlisting}{\\endlstlisting}\\begin{ini}\n"
           "[a]\n\\end{ini}",
           "code: [a]");
}

/* listings: code has its caption and its label in its options. */
static void test_captions_of_listings(void **state)
{
    (void)state;
    static const struct memory_file files[] = {{"a.c", "int a;\n"},
                                               {NULL, NULL}};
    expect(
        "\\begin{lstlisting}[caption={Sum, \\emph{fast}},label=lst:a]\nint s;\n"
        "\\end{lstlisting}\nSee \\ref{lst:a}, \\autoref{lst:b}.",
        "code: int s; | figure: Listing 1: Sum, fast | paragraph: See 1, "
        "lst:b.");
    expect_of(
        "\\lstinputlisting[float, label={lst:b}, caption={[Short]Main.}]{a.c}"
        "See \\ref{lst:b}.",
        files, "code: int a; | figure: Listing 1: Main. | paragraph: See 1.");
    expect("\\lstnewenvironment{c}[1][]{\\lstset{#1}}{}\\begin{c}[title=Loop]"
           "\nfor\n"
           "\\end{c}",
           "code: for | paragraph: Loop");
    expect("\\begin{Verbatim}[label=a.txt]\nx\n\\end{Verbatim}", "code: x");
}

/* A bracket in the braces of a short caption does not end it. */
static void test_brackets_in_short_captions(void **state)
{
    (void)state;
    expect("\\begin{lstlisting}[caption={[{S[0]}]Long {it} is},label=l]\nx\n"
           "\\end{lstlisting} See \\ref{l}.",
           "code: x | figure: Listing 1: Long it is | paragraph: See 1.");
}

/* A float is called as its kind where its name is a macro that is not there. */
static void test_missing_names(void **state)
{
    (void)state;
    expect("\\renewcommand\\lstlistingname{\\my@name}\\begin{lstlisting}["
           "caption=A]"
           "\nx\n\\end{lstlisting}",
           "code: x | figure: Listing 1: A");
    expect(
        "\\renewcommand\\algorithmname{\\my@name}\\begin{algorithm}\\caption{A}"
        "\\end{algorithm}",
        "figure: Algorithm 1: A");
}

/* References of fancyref, varioref and hyperref that begin a sentence. */
static void test_capital_references(void **state)
{
    (void)state;
    expect(
        "\\documentclass{article}\\begin{document}\\section{A}\\label{s}"
        "\\Fref{s}, \\Fref[vario]{s}, \\Vref{s}, \\Autoref{s}\\end{document}",
        "# 1 A | paragraph: section 1, section 1, section 1, section 1");
}

/* Of two titles by hand without text between them each is a heading. */
static void test_titles_by_hand(void **state)
{
    (void)state;
    expect("\\documentclass{article}\\begin{document}\\newcommand\\by[1]{"
           "\\clearpage"
           "\\addcontentsline{toc}{section}{#1}\\begin{center}#1\\end{center}}"
           "x\\by{First}\\by{Second}a"
           "\\end{document}",
           "paragraph: x | # First | # Second | paragraph: a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tabularray),
        cmocka_unit_test(test_nicematrix),
        cmocka_unit_test(test_wide_tables),
        cmocka_unit_test(test_bigdelim),
        cmocka_unit_test(test_mdframed),
        cmocka_unit_test(test_attachfile),
        cmocka_unit_test(test_koma_fonts),
        cmocka_unit_test(test_newlist),
        cmocka_unit_test(test_tcbtheorem),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_currfile),
        cmocka_unit_test(test_algorithm2e),
        cmocka_unit_test(test_doxygen),
        cmocka_unit_test(test_sphinx),
        cmocka_unit_test(test_other_lists),
        cmocka_unit_test(test_copies_of_packages),
        cmocka_unit_test(test_own_packages),
        cmocka_unit_test(test_subfloats),
        cmocka_unit_test(test_beamer),
        cmocka_unit_test(test_cnltx),
        cmocka_unit_test(test_labels_of_works),
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_arguments_of_packages),
        cmocka_unit_test(test_documentation),
        cmocka_unit_test(test_tcolorboxes),
        cmocka_unit_test(test_longtable),
        cmocka_unit_test(test_figures_in_a_table),
        cmocka_unit_test(test_parts_of_floats),
        cmocka_unit_test(test_names_of_theorems),
        cmocka_unit_test(test_words_of_packages),
        cmocka_unit_test(test_numbers_of_lists),
        cmocka_unit_test(test_ximera),
        cmocka_unit_test(test_long_activities),
        cmocka_unit_test(test_fontspec),
        cmocka_unit_test(test_bookmarks),
        cmocka_unit_test(test_before_upper),
        cmocka_unit_test(test_nomenclature),
        cmocka_unit_test(test_renamed_copy),
        cmocka_unit_test(test_names_of_bodies),
        cmocka_unit_test(test_body_without_name),
        cmocka_unit_test(test_brackets_in_code),
        cmocka_unit_test(test_captions_of_listings),
        cmocka_unit_test(test_brackets_in_short_captions),
        cmocka_unit_test(test_lines_of_titles),
        cmocka_unit_test(test_macros_in_addresses),
        cmocka_unit_test(test_backslashes_in_paths),
        cmocka_unit_test(test_signs_of_numbers),
        cmocka_unit_test(test_letters_in_numbers),
        cmocka_unit_test(test_figures_of_proofs),
        cmocka_unit_test(test_missing_names),
        cmocka_unit_test(test_titles_by_hand),
        cmocka_unit_test(test_capital_references),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
