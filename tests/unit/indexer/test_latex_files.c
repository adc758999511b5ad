/* Documents of several files: what is included, packages, drivers, bibliographies, what is written
 * and read again. */
#include "tests/unit/support/latex_in_memory.h"

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

/* What the document made of its macros stays when another asks for the same package. */
static void test_packages_are_read_once(void **state)
{
    static const struct memory_file files[] = {
        {"common.sty", "\\newcommand\\foo{original}"},
        {"b.sty", "\\RequirePackage{common}\\newcommand\\baz{baz}"},
        {NULL, NULL}};
    (void)state;
    expect_of("\\documentclass{article}\\usepackage{common}"
              "\\renewcommand\\foo{changed}\\usepackage{b,common}"
              "\\begin{document}\\foo, \\baz\\end{document}",
              files, "paragraph: changed, baz");
}

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

/* What a package leaves open must not outlive it. */
static void expect_survived(const char *package)
{
    const struct memory_file files[] = {{"own.sty", package}, {NULL, NULL}};
    expect_of("\\documentclass{article}\\usepackage{own}\\begin{document}"
              "\\section{A}All \\own{of} it.\n\nAnd more.\\end{document}",
              files, "# 1 A | paragraph: All (of) it. | paragraph: And more.");
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
    /* Lines of it are code, since nothing would read them as they stand. */
    expect_of("\\documentclass{article}\\begin{document}\\title{A}a\n"
              "\\begin{ourcode}[x]\n  \\documentclass{book}\n  \\title{B}\n"
              "\\end{ourcode}\n\\begin{ourtext}\nc\\end{ourtext}"
              "\\end{document}",
              files,
              "paragraph: a | code:   \\documentclass{book}\n  \\title{B} | "
              "paragraph: c");
    /* A command of another package's is no listing. */
    expect_of("\\documentclass{article}\\newcommand\\note[1]{\\begin{quote}"
              "\\comment{#1}\\end{quote}}\\begin{document}\n\\begin{ourbox}\n"
              "a \\note{b} c\n\\end{ourbox}\\end{document}",
              files, "paragraph: a | quote: b | paragraph: c");
    /* But not what stands around a listing of one. */
    expect_of("\\documentclass{article}\\begin{document}\n"
              "\\begin{ourtip}\nb: \\begin{verbatim}\n\\usepackage{x}\n"
              "\\end{verbatim}\nc\n\\end{ourtip}\\end{document}",
              files, "paragraph: b: | code: \\usepackage{x} | paragraph: c");
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
    static const struct memory_file open[] = {
        {"refs.bib", "@misc{knuth, title={Café"}, {NULL, NULL}};
    static const struct memory_file open_biblatex[] = {
        {"\\jobname.bbl", "\\entry{knuth}{book}{}\\field{title}{Café"},
        {NULL, NULL}};
    expect_of(text, open,
              "paragraph: [1] | # References | paragraph: [1] Café.");
    expect_of(text, open_biblatex,
              "paragraph: [1] | # References | paragraph: [1] Café.");
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
    /* What the driver has put away is a comment. */
    static const char whole[] =
        "% \\iffalse\n\\documentclass{ltxdoc}\n^^A\\OnlyDescription\n"
        "\\begin{document}\n\\DocInput{w.dtx}\\end{document}\n% \\fi\n"
        "% \\section{A}One.\\StopEventually{}\n% \\section{B}Two.\n"
        "%    \\begin{macrocode}\nx\n%    \\end{macrocode}\n";
    static const struct memory_file files[] = {
        {"w.dtx", whole},
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
    expect_of(whole, files,
              "# 1 A | paragraph: One. | # 2 B | paragraph: Two. | code: x");
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

/* l3doc's takes a list. */
static void test_dtx_list(void **state)
{
    static const char own[] =
        "% \\iffalse\n\\documentclass{l3doc}\n\\begin{document}\n"
        "\\DocInput{\n  a.dtx, b.dtx,\n}\\end{document}\n% \\fi\n"
        "% \\section{A}One.\n%    \\begin{macrocode}\nx\n"
        "%    \\end{macrocode}\n";
    static const struct memory_file files[] = {
        {"a.dtx", own},
        {"b.dtx", "% \\section{B}Two.\n%    \\begin{macrocode}\ny\n"
                  "%    \\end{macrocode}\n"},
        {NULL, NULL}};
    (void)state;
    expect_of(own, files,
              "# 1 A | paragraph: One. | code: x | # 2 B | paragraph: Two. | "
              "code: y");
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
    expect("\\newcommand{\\solutionextension}{out}\\newtheorem{ex}{Exercise}"
           "\\Newassociation{sol}{Solution}{d/ans}"
           "\\Opensolutionfile{d/ans}\\begin{ex}Why?\\begin{sol}\nSo."
           "\\end{sol}\\end{ex}\\Closesolutionfile{d/ans}"
           "\\section*{S}\\input{d/ans.out}\n\nAgain\n\n"
           "\\Readsolutionfile{d/ans}",
           "note: Exercise 1. Why? | # S | paragraph: 1 So. | "
           "paragraph: Again | paragraph: 1 So.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_code_files),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_packages_are_read_once),
        cmocka_unit_test(test_imports),
        cmocka_unit_test(test_styles),
        cmocka_unit_test(test_examples_of_documents),
        cmocka_unit_test(test_which_packages_are_loaded),
        cmocka_unit_test(test_packages_left_open),
        cmocka_unit_test(test_packages_not_followed),
        cmocka_unit_test(test_lost_words_are_told),
        cmocka_unit_test(test_lost_description_is_told),
        cmocka_unit_test(test_dtx),
        cmocka_unit_test(test_dtx_drivers),
        cmocka_unit_test(test_dtx_list),
        cmocka_unit_test(test_bibliography),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_places_of_code),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_written_files),
        cmocka_unit_test(test_written_passages),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
