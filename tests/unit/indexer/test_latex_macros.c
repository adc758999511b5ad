/* What macros make: definitions, registers, conditionals, loops, hooks. */
#include "tests/unit/support/latex_in_memory.h"

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

/* Plain TeX has no sections: what a document defines as its own are, and how they are
 * set is left alone; in LaTeX it is what it says. */
static void test_plain_headings(void **state)
{
    (void)state;
    expect(
        "\\def\\section#1{\\bigskip\\noindent{\\bf#1.}}\\def\\chapter#1#2\\par{"
        "\\centerline{#1}}\\def\\subsec#1{{\\it#1}}\\chapter{A}\n\n\\section{B}"
        "\\label{b}x\n\n\\subsec{C {\\tt d}}y",
        "# A | ## B | paragraph: x | ### C d | paragraph: y");
    expect("\\beginsection One {\\it two}\n\nx\n\n\\beginsection Three\\par y",
           "# One two | paragraph: x | # Three | paragraph: y");
    expect("\\def\\section #1.#2\\par{(#1)#2}\\section 1.A\n\nx",
           "paragraph: (1)A x");
    expect("\\documentclass{article}\\def\\section#1{(#1)}\\begin{document}"
           "\\section{A}x\\end{document}",
           "paragraph: (A)x");
}

/* A line that is gathered in a box, sign by sign. */
static void test_boxes_that_grow(void **state)
{
    (void)state;
    expect("\\newbox\\line\\newbox\\trial\\setbox\\line=\\hbox{A:}"
           "\\def\\m#1{\\setbox\\trial=\\hbox{\\unhcopy\\line\\ #1}"
           "\\ifdim\\wd\\trial>\\hsize\\box\\line\\else"
           "\\setbox\\line=\\hbox{\\unhbox\\trial}\\fi}\\m{b}\\m{c}\\m{d}"
           "\\box\\line. "
           "\\setbox0=\\hbox{x}\\setbox1=\\hbox{\\copy0y}\\setbox0=\\hbox{z}"
           "\\copy1",
           "paragraph: A: b c d. xy");
    expect("A\\setbox2=\\vbox{in}B\\setbox3=\\hbox{\\box2 1}\\par C\\box3",
           "paragraph: AB | paragraph: Cin1");
}

/* What plain TeX says of fonts and files, which names more than one token. */
static void test_plain_fonts(void **state)
{
    (void)state;
    expect(
        "\\font\\a=manfnt\n\\font\\b=cmr12 scaled \\magstep1\n\\font\\c cmbx10 "
        "scaled 1893\n\\font\\d=cmr10 at 12pt\n\\newread\\s\\openin\\s=f.aux\n"
        "\\magnification=\\magstephalf\\textfont\\x=\\a\\scriptfont1=\\b text",
        "paragraph: text");
    expect("\\font\\a=cmr10\\relax at last", "paragraph: at last");
    expect("\\epsfysize=9.0cm \\epsfxsize 2in\\epsffile{a.eps}b",
           "paragraph: b");
}

/* `\^^I is the code of a tab, not of "^". */
static void test_signs_by_code(void **state)
{
    (void)state;
    expect("{\\catcode`\\^^I=13 \\gdef\\tabs{\\catcode`\\^^I=13 }}\\tabs "
           "2\\^{}10, $x^2$",
           "paragraph: 2^10, $x^2$");
    expect("\\catcode`\\^^M=12 a b", "paragraph: a b");
    /* An empty line ends a paragraph, and what took the escape away, here too. */
    expect("{\\catcode`\\^^M=13\\catcode`\\\\=12 a\n\n\\section{B}",
           "paragraph: a | # B");
}

/* Accents on nothing are how "^" and "~" are written. */
static void test_bare_accents(void **state)
{
    (void)state;
    expect("2\\^{}10, \\~{}/bin, \\texttt{a\\~{ }b}, \\^o\\~{}n\\^{\\i}",
           "paragraph: 2^10, ~/bin, a~b, ô~nî");
    expect("\\begin{alltt}x\\^{}2\\end{alltt}\\v{}a",
           "code: x^2 | paragraph: a");
}

/* Plain TeX's code: lines as they are, in typewriter, to the end of the group. */
static void test_obeyed_lines(void **state)
{
    (void)state;
    expect("Type\n{\\obeylines\\tt\na  b\n c\\^{}2\n}\nand\n\\begingroup\\tt"
           "\\obeylines\nd\ne\n\\endgroup more",
           "paragraph: Type | code: a  b\n c^2 | paragraph: and | code: d\ne | "
           "paragraph: more");
    expect(
        "\\def\\bc{\\begingroup\\catcode`\\@=0\\catcode`\\\\=12\\obeylines\\tt}"
        "\\def\\ec{\\endgroup\\par}x\n\\bc\n \\n;\n y\n@ec\nz",
        "paragraph: x | code:  \\n;\n y | paragraph: z");
    expect("{\\obeylines a\nb}", "paragraph: a b");
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
    expect("\\parshape=2\n0cm 2.3cm\n0cm 2.9cm\na\\parshape 0 b",
           "paragraph: ab");
    expect("\\makeatletter\\@ifmtarg{ }{a}{b}\\@ifnotmtarg{}{c}"
           "\\@ifnotmtarg{x}{d}",
           "paragraph: ad");
}

/* What is not known has a star and options as others do. */
static void test_stars(void **state)
{
    (void)state;
    expect("\\section{The \\pkg*{acid} Module}\\pkg*[x]{a} \\cs*{iupac}",
           "# The acid Module | paragraph: a \\iupac");
    expect("\\def\\own{\\pkg*{a}}\\own \\textbf{b}* {c} \\pkg*d \\pkg * {e}",
           "paragraph: ab* c *d * e");
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
    expect("\\documentclass{book}\\renewcommand\\chaptername{\\sf\\bfseries "
           "Kap\\'\\i tel}\\begin{document}\\chapter{A}x",
           "# Kap\u00EDtel 1. A | paragraph: x");
    expect("\\documentclass{book}\\renewcommand\\chaptername{{\\bfseries{}"
           "Kapitel}}\\begin{document}\\chapter{A}x",
           "# Kapitel 1. A | paragraph: x");
    expect("\\documentclass{book}\\renewcommand\\chaptername{\\textsc{"
           "Kapitel}}\\begin{document}\\chapter{A}x",
           "# Kapitel 1. A | paragraph: x");
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
    expect(
        "\\newcommand\\do[1]{(#1)}\\newcommand\\x{c}\\listadd\\l{a}"
        "{\\listgadd{\\l}{b, }\\listadd\\l{no}}\\listeadd\\l{\\x}"
        "\\renewcommand\\x{d}\\listadd\\l{}\\listcsadd{l}{\\x}\\dolistloop\\l"
        "\\forlistloop{\\textbf}{\\l}\\forlistcsloop{\\do}{none}.",
        "paragraph: (a)(b,)(c)(d)ab,cd.");
    expect("\\ifthenelse{\\isundefined\\x}{a}{b}\\ifthenelse{"
           "\\isundefined\\section}"
           "{c}{d}"
           "\\ifthenelse{\\isodd "
           "3}{e}{f}\\ifthenelse{}{g}{h}\\ifthenelse{?}{i}{j}.",
           "paragraph: adehj.");
    /* Neither branch of what is only compared is carried out. */
    expect("\\newcommand\\a{\\def\\b{}}\\def\\b{c}\\ifstrempty{\\a}{d}{e}\\b"
           "\\ifblank{ }{f}{g}\\ifstrequal{x}{x}{h}{i}",
           "paragraph: ecfh");
    expect("\\newcommand\\again[1]{\\xpatchcmd{#1}{a}{b}{\\again{#1}}{}}"
           "\\again{\\x}c",
           "paragraph: c");
    expect("a\\fi b\\else c", "paragraph: abc");
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

static void test_replace(void **state)
{
    (void)state;
    expect("\\def\\code#1{\\def\\x{#1}\\toolboxReplace{_}{\\_}\\x "
           "\\toolboxReplace{ }{{, }}\\x{\\ttfamily\\x}}The \\code{a_b c d} f.",
           "paragraph: The a_b, c, d f.");
    expect("a\\toolboxReplace{b}{c}\\unknown d", "paragraph: ad");
}

/* Active, and defined by nobody but the format. */
static void test_active_underscore(void **state)
{
    (void)state;
    expect("\\catcode`\\_=\\active Call ec_post_event and $x_1$.",
           "paragraph: Call ec_post_event and $x_1$.");
}

static void test_style_of_pictures(void **state)
{
    (void)state;
    expect("a\\tikzstyle{every picture}=[scale=1.1]b"
           "\\tikzstyle{x} += [red] c\\tikzstyle{y}d",
           "paragraph: ab cd");
}

/* The class of a role is no text of it. */
static void test_roles(void **state)
{
    (void)state;
    expect("See \\DUrole{std}{\\DUrole{std-ref}{Pipes}}.",
           "paragraph: See Pipes.");
}

/* The title of a box is an option of it, or of what declares it. */
static void test_tcolorbox(void **state)
{
    (void)state;
    expect("\\begin{tcolorbox}[title={One, two},colback=red]a\\end{tcolorbox}b",
           "note: One, two. a | paragraph: b");
    expect(
        "\\newtcolorbox[auto counter]{tip}[2][]{colback=red,title=Tip: #2,#1}"
        "\\begin{tip}[enhanced]{x}a\\end{tip}"
        "\\begin{tip}[title=Other]{x}a\\end{tip}"
        "\\newtcolorbox{plain}{colback=red}\\begin{plain}b\\end{plain}",
        "note: Tip: x. a | note: Other. a | note: b");
    expect(
        "\\DeclareTColorBox{say}{o m}{title=#2}\\begin{say}[c]{Hi}a\\end{say}",
        "note: Hi. a");
}

/* What Pygments makes of code in Sphinx's LaTeX. */
static void test_pygments(void **state)
{
    (void)state;
    expect("See \\sphinxcode{\\sphinxhyphen{}\\sphinxhyphen{}port}.\n\n"
           "\\begin{sphinxVerbatim}[commandchars=\\\\\\{\\}]\n"
           "\\PYG{k}{def}\\PYG{+w}{ "
           "}\\PYG{n+nf}{f}\\PYG{p}{(}\\PYG{p}{)}\\PYG{p}{:}\n"
           "    \\PYG{l+s+s2}{\\PYGZdq{}}a\\PYGZus{}b\\PYGZob{}\\PYGZcb{}\n"
           "\\end{sphinxVerbatim}\nAfter.",
           "paragraph: See --port. | code: def f():\n    \"a_b{} | paragraph: "
           "After.");
}

static void test_command_characters(void **state)
{
    (void)state;
    expect(
        "\\DefineVerbatimEnvironment{Highlighting}{Verbatim}"
        "{commandchars=\\\\\\{\\}}\\newcommand{\\NormalTok}[1]{#1}"
        "\\begin{Highlighting}[]\n\\NormalTok{import os }\n"
        "  x \\OperatorTok{=} 1\\NormalTok{\\_\\{\\}}\n\\end{Highlighting}\n",
        "code: import os \n  x = 1_{}");
    expect("\\DefineVerbatimEnvironment{raw}{Verbatim}{fontsize=\\small}"
           "\\begin{raw}\n\\a{b}\n\\end{raw}\n",
           "code: \\a{b}");
}

/* A wrapper of \section by its name, of a class that is not here. */
static void test_unknown_headings(void **state)
{
    (void)state;
    expect("\\Chapter{One}a\n  \\SubSection{Two}b \\Section c\\section{Three}",
           "# One | paragraph: a | ## Two | paragraph: b c | ## Three");
    expect("\\def\\Section#1{see #1}\\Section{x}", "paragraph: see x");
    /* In a line it refers to one. */
    expect("As \\Section{x} has it.", "paragraph: As x has it.");
    /* What there is not cannot stand in. */
    expect("\\let\\section\\undefined\n\\section{A} x\n\\Section{B} y",
           "paragraph: A x B y");
}

/* The class's own switches may be of a class that is not here. */
static void test_unknown_in_an_option(void **state)
{
    static const struct memory_file files[] = {
        {"own.cls", "\\DeclareOption{onecolumn}{\\@twocolumnfalse}"
                    "\\ExecuteOptions{onecolumn}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{own}\\begin{document}a", files, "paragraph: a");
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

static void test_xspace(void **state)
{
    (void)state;
    expect("\\def\\b{\\textsf{bib}\\xspace}\\b is, \\b, \\b's \\b{} x \\b\\ y "
           "(\\b) \\b\\emph{z} \\b $q$",
           "paragraph: bib is, bib, bib’s bib x bib y (bib) bib z bib $q$");
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
    expect("\\documentclass{article}\\renewcommand{\\part}[1]{"
           "\\addcontentsline{toc}{part}{\\protect\\numberline{I}#1}"
           "\\hbox{I\\hfil#1}\\par}\\begin{document}\\part{Slides}a"
           "\\end{document}",
           "# I Slides | paragraph: a");
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

/* Entries print what they have, wherever they were declared. */
static void test_glossaries(void **state)
{
    static const struct memory_file files[] = {
        {"terms.tex",
         "\\newglossaryentry{cap}{\n  name=capability, "
         "plural={capabilities},\n  "
         "description={A \\emph{token}, to an object}}\n"
         "\\newglossaryentry{loop}{name={\\gls{loop}\\gls{loop}}}\n"
         "\\newacronym{tcb}{TCB}{Thread Control Block}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\input{terms}\\section{A \\glsentrytext{cap}}\\Gls{cap} and "
              "\\glspl{cap}, \\glspl[x]{tcb}; \\acrlong{tcb} "
              "(\\acrshort{tcb}), \\gls{none}: \\glsdesc{cap}. \\ac{mpi}",
              files,
              "# A capability | paragraph: Capability and capabilities, TCBs; "
              "Thread Control Block (TCB), none: A token, to an object. mpi");
    expect("\\acrodef{mpi}[MPI]{Message Passing}\\acrodef{os}{system}"
           "\\ac{mpi} \\acl{mpi} \\ac{os}",
           "paragraph: MPI Message Passing os");
    /* The package acronym's: declared, or listed. */
    expect("\\newacro{VCD}{Change Dump}\\acrodefplural{VCD}[VCDz]{Dumps}"
           "\\section{\\acf{VCD}}\\acfp{VCD} \\acsp{VCD} \\acfp{no}",
           "# Change Dump (VCD) | paragraph: Dumps (VCDz) VCDz no");
    expect("\\begin{acronym}[XXX]\\acro{IRQ}{Interrupt Request}\n"
           "\\acro{os}[OS]{System}\\acroplural{os}[OSes]{Systems}"
           "\\end{acronym}\\ac{os} \\aclp{os} \\acp{os} \\acfp{IRQ}",
           "definition: IRQ\n  Interrupt Request | definition: OS\n  System | "
           "paragraph: OS Systems OSes Interrupt Requests (IRQs)");
    expect(
        "\\begin{acronym}\\acro{R\\&D}{Research}\\acro{can}[CAN]{Area "
        "\\acroextra{(ISO) }Network}\\acro{}{Void}\\end{acronym}"
        "\\ac{R\\&D} \\acp{R\\&D} \\acf{can}",
        "definition: R&D\n  Research | definition: CAN\n  Area (ISO) Network "
        "| definition:   Void | paragraph: R&D R&Ds Area Network (CAN)");
    /* Small capitals of another package's. */
    expect("The \\acro{PDF} file, \\acro{A} {b} and \\acro{TEX} [4]",
           "paragraph: The PDF file, A b and TEX [4]");
    expect_of("\\input{terms}\\gls{loop} x\n\nAfter.", files,
              "paragraph: After.");
}

/* A list that is added to one by one stays whole, and so does a macro. */
static void test_long_lists(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    static const char *const adding[] = {"\\listadd\\lst{a}",
                                         "\\appto\\lst{\\x}"};
    static const char *const using[] = {"\\forlistloop{\\y}\\lst", "\\lst"};
    for (int i = 0; i < 2; i++) {
        struct buf text = {0};
        buf_put_text(&text,
                     "\\newcount\\n\\def\\x{\\advance\\n 1 }\\def\\y#1{\\x}");
        for (int k = 0; k < MANY; k++)
            buf_put_text(&text, adding[i]);
        buf_printf(&text, "\\let\\alt\\lst{%s}%s%s \\the\\n.", adding[i],
                   adding[i], using[i]);
        expect(text.data, "paragraph: 20001.");
        buf_free(&text);
    }
    expect(
        "\\listadd\\lst{a}\\let\\alt\\lst{\\listadd\\lst{b}}\\listadd\\lst{c}"
        "\\listadd\\alt{d}\\forlistloop{\\textbf}\\lst:\\forlistloop{\\textbf}"
        "\\alt",
        "paragraph: ac:ad");
}

/* \NAME and \endNAME begin and end an environment in one that is made of it, as \begin
 * and \end do; what draws is no environment of text. */
static void test_environments_by_commands(void **state)
{
    (void)state;
    expect("\\newenvironment{my}{\\itemize}{\\enditemize}\\begin{my}\\item a "
           "\\item b\\end{my}",
           "list: - a\n- b");
    expect(
        "\\newenvironment{my}{\\center\\tabular{ll}}{\\endtabular\\endcenter}"
        "\\begin{my}a & b\\end{my}c",
        "table: a\tb | paragraph: c");
    expect("\\newenvironment{my}{\\center\\boxedverbatim}{\\endboxedverbatim"
           "\\endcenter}\na\n\\begin{my}\n${X}/ % y\n\\end{my}\nb",
           "paragraph: a | code: ${X}/ % y | paragraph: b");
    expect("\\NewDocumentEnvironment{my}{m}{\\quote #1 }{\\endquote}"
           "\\begin{my}{a}b\\end{my}",
           "quote: a b");
    expect("\\newenvironment{my}{\\SaveVerbatim{c}}{\\endSaveVerbatim"
           "\\fbox{\\BUseVerbatim{c}}}\na\n\\begin{my}\n$x % y\n\\end{my}\nb",
           "paragraph: a | code: $x % y | paragraph: b");
    expect("\\newenvironment{my}[1]{\\expandafter\\macro\\expandafter{"
           "\\csname #1\\endcsname}}{\\endmacro}\\begin{my}{x}a\\end{my}",
           "paragraph: a");
    expect("\\newenvironment{my}{\\tikzpicture\\node\\bgroup}{\\egroup;"
           "\\endtikzpicture}\\begin{my}a\\end{my} b",
           "paragraph: a; b");
}

/* A theorem made of its copy is what it was. */
static void test_copies_of_theorems(void **state)
{
    (void)state;
    expect("\\newtheorem{ex}{Example}\\let\\exold\\ex\\let\\endexold\\endex"
           "\\renewenvironment{ex}{\\exold}{.\\endexold}\\begin{ex}\\label{x}a"
           "\\end{ex}b \\ref{x}",
           "note: Example 1. a. | paragraph: b 1");
}

/* ... but where something is said of the name, and in an environment of that name. */
static void test_names_of_environments(void **state)
{
    (void)state;
    expect("\\newenvironment{my}{\\let\\old=\\quote\\let\\older\\quote}{\\let"
           "\\endquote\\relax}\\begin{my}a\\end{my} b",
           "paragraph: a b");
    expect("\\newenvironment{my}{\\def\\quote{Q: }\\quote}{\\def\\endquote{.}"
           "\\endquote}\\begin{my}a\\end{my} b",
           "paragraph: Q: a. b");
    expect("\\newenvironment{my}{\\renewcommand{\\quote}{Q: }\\quote}{"
           "\\renewcommand*\\endquote{.}\\endquote}\\begin{my}a\\end{my} b",
           "paragraph: Q: a. b");
    expect("\\newenvironment{my}{\\ifx\\quote\\par\\else\\quote\\fi}{"
           "\\endquote}\\begin{my}a\\end{my} b",
           "quote: a | paragraph: b");
    expect("\\newenvironment{my}{\\quote a\\endquote b \\quote}{\\endquote}"
           "\\begin{my}c\\end{my}d",
           "quote: a | paragraph: b | quote: c | paragraph: d");
    expect("\\renewenvironment{quote}{\\quote}{\\endquote}\\begin{quote}a"
           "\\end{quote}\n\nb",
           "paragraph: b");
}

/* Names are sought once, however many there are. */
static void test_many_names_of_environments(void **state)
{
    (void)state;
    struct buf text = {0};
    double start = unit_seconds();
    buf_put_text(&text, "\\newenvironment{my}{");
    for (int i = 0; i < 80000; i++)
        buf_put_text(&text, "\\quote");
    buf_put_text(&text, "}{");
    for (int i = 0; i < 400000; i++)
        buf_put_byte(&text, 'x');
    buf_put_text(&text, "\\endquote}a");
    buf_put_byte(&text, '\0');
    expect(text.data, "paragraph: a");
    assert_true(unit_seconds() - start < 3);
    buf_free(&text);
}

/* A formula that an environment of one's own began ends with it. */
static void test_environments_of_formulas(void **state)
{
    (void)state;
    expect("\\newenvironment{my}{\\begin{equation}}{\\end{equation}}a\n"
           "\\begin{my}b^2\\end{my}\nc",
           "paragraph: a | math: b^2 | paragraph: c");
    expect("\\newenvironment{my}{\\align}{\\endalign}a\n\\begin{my}b & = c\n"
           "\\end{my}\nd",
           "paragraph: a | math: b & = c | paragraph: d");
    expect("\\newenvironment{my}{\\begin{equation}}{.\\end{equation}}"
           "\\begin{my}\\begin{array}{l}b\\end{array}\\end{my}c",
           "math: \\begin{array}{l}b\\end{array}. | paragraph: c");
}

/* ... with what the environment began within it. */
static void test_environments_of_arrays(void **state)
{
    (void)state;
    expect("\\newenvironment{my}{\\begin{equation}\\begin{array}{l}}{"
           "\\end{array}\\end{equation}}\\begin{my}a\\end{my} b",
           "math: \\begin{array}{l}a\\end{array} | paragraph: b");
    expect("\\newenvironment{my}{\\[\\begin{array}{l}}{\\end{array}\\]}"
           "\\begin{my}a\\end{my} b",
           "math: \\begin{array}{l}a\\end{array} | paragraph: b");
    expect("\\newenvironment{my}{\\begin{quote}}{\\end{quote}}\\begin{my}a\n"
           "\\begin{equation}\\begin{my}b\\end{my}\\end{equation}\\end{my} c",
           "quote: a | math: \\begin{my}b\\end{my} | paragraph: c");
}

/* One that is not ended in its environment ends with that. */
static void test_formulas_left_open(void **state)
{
    (void)state;
    expect("\\newenvironment{my}{}{x}\\begin{my}\\begin{equation}a\\end{my}b",
           "math: a | paragraph: xb");
    expect("\\newenvironment{my}{}{}\\begin{my}\\begin{equation}a\\end{my} b",
           "math: a | paragraph: b");
    expect("\\begin{quote}\\begin{equation}a\\end{quote} b",
           "math: a | paragraph: b");
    expect("\\newtcolorbox{my}{before upper={\\begin{equation}},"
           "after upper={\\end{equation}}}\\begin{my}a\\end{my} b",
           "math: a | paragraph: b");
}

/* Without \long no paragraph is in an argument: what is missing takes no more. */
static void test_short_macros(void **state)
{
    (void)state;
    expect("\\def\\cut#1-#2-{[#1]}\\cut a-b-c \\cut one\n\ntwo - three - four",
           "paragraph: [a]c one | paragraph: two - three - four");
    expect("\\long\\def\\cut#1-{[#1]}\\cut a\n\nb-c",
           "paragraph: [a | paragraph: b]c");
    expect("\\def\\cut#1\\par{[#1]}\\cut a\n\nb", "paragraph: [a ]b");
    expect("\\def\\cut#1\\par\\stop{[#1]}\\cut a\\par\\stop b",
           "paragraph: [a]b");
    expect("\\ExplSyntaxOn\\cs_new:Npn\\cut#1;{[#1]}\\cs_new_nopar:Npn\\few#1;{"
           "[#1]}\\ExplSyntaxOff\\cut a\n\nb; \\few c\n\nd;",
           "paragraph: [a | paragraph: b] c | paragraph: d;");
}

/* \meaning of a macro is its text. */
static void test_meaning(void **state)
{
    (void)state;
    expect("\\def\\strip#1>{}\\def\\code{\\x y}\\expandafter\\strip\\meaning"
           "\\code; \\meaning a",
           "paragraph: \\x y; a");
    expect(
        "\\def\\code{\\x y}\\makeatletter\\expandafter\\strip@prefix\\meaning"
        "\\code; \\edef\\a{\\expandafter\\strip@prefix\\meaning\\code}\\a",
        "paragraph: \\x y; \\x y");
    struct buf text = {0};
    buf_put_text(&text, "\\def\\x{");
    for (int i = 0; i < 500000; i++)
        buf_put_byte(&text, 'x');
    buf_put_text(&text, "}\\def\\a{\\expandafter\\a\\meaning\\x}\\a\n\nb");
    buf_put_byte(&text, '\0');
    expect(text.data, "paragraph: b");
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macros),
        cmocka_unit_test(test_glossaries),
        cmocka_unit_test(test_plain_headings),
        cmocka_unit_test(test_plain_fonts),
        cmocka_unit_test(test_boxes_that_grow),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_signs_by_code),
        cmocka_unit_test(test_bare_accents),
        cmocka_unit_test(test_obeyed_lines),
        cmocka_unit_test(test_uncalled),
        cmocka_unit_test(test_stars),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_xparse),
        cmocka_unit_test(test_expl),
        cmocka_unit_test(test_conditionals),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_active_underscore),
        cmocka_unit_test(test_style_of_pictures),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_tcolorbox),
        cmocka_unit_test(test_pygments),
        cmocka_unit_test(test_command_characters),
        cmocka_unit_test(test_unknown_headings),
        cmocka_unit_test(test_unknown_in_an_option),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_added_to_macros),
        cmocka_unit_test(test_environments_with_a_body),
        cmocka_unit_test(test_boxes_of_tex),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_xspace),
        cmocka_unit_test(test_let_environments),
        cmocka_unit_test(test_babel),
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_engines),
        cmocka_unit_test(test_contents_lines),
        cmocka_unit_test(test_environments_by_commands),
        cmocka_unit_test(test_copies_of_theorems),
        cmocka_unit_test(test_names_of_environments),
        cmocka_unit_test(test_many_names_of_environments),
        cmocka_unit_test(test_environments_of_formulas),
        cmocka_unit_test(test_environments_of_arrays),
        cmocka_unit_test(test_formulas_left_open),
        cmocka_unit_test(test_short_macros),
        cmocka_unit_test(test_meaning),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
