#include "tests/unit/support/parsing.h"

/* What the tools that make manuals write in ways of their own. */

/* Texinfo has no h5. */
static void test_texinfo_levels(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<title>Flags (FFTW)</title><h4 class=subsection>4.3.2 Flags</h4><p>a"
        "<h4 class=subsubheading>Rigor</h4><p>b<h4 class=subsubsection>4.3.2.1 "
        "Time</h4><p>c<h4 class=subsection>4.3.3 Real</h4><p>d");
    static const struct {
        const char *title;
        uint32_t parent;
    } nodes[] = {{"Flags (FFTW)", TREE_NONE},
                 {"4.3.2 Flags", 0},
                 {"Rigor", 1},
                 {"4.3.2.1 Time", 1},
                 {"4.3.3 Real", 0}};
    assert_int_equal(tree->count, sizeof nodes / sizeof *nodes);
    for (uint32_t n = 0; n < tree->count; n++) {
        assert_true(slice_is(tree->nodes[n].title, nodes[n].title));
        assert_int_equal(tree->nodes[n].parent, nodes[n].parent);
    }
    tree_free(tree);
}

/* By hand, and by tools that know of no questions: no anchor, a paragraph each. */
static void test_questions(void **state)
{
    (void)state;
    static const char answer[] =
        "<blockquote><p>A: By the second of two commands, of which the first "
        "one only shows what there is.</p><pre>tool "
        "--second</pre></blockquote>";
    static const char *const titles[] = {"FAQ", "Q: How do I set a port?",
                                         "Q2. Why is it slow?",
                                         "Question 3: What is it?"};
    struct buf page = {0};
    buf_put_text(&page, "<title>FAQ</title><h1>FAQ</h1>");
    for (size_t i = 1; i < sizeof titles / sizeof *titles; i++)
        buf_printf(&page, "<p>%s</p>%s", titles[i], answer);
    buf_printf(&page, "<p>Q: not asked.</p>%s<p>Quite so?</p>", answer);
    struct tree *tree = parse(page.data);
    assert_int_equal(tree->count, sizeof titles / sizeof *titles);
    for (uint32_t n = 0; n < tree->count; n++) {
        assert_true(slice_is(tree->nodes[n].title, titles[n]));
        assert_int_equal(tree->nodes[n].entry, n > 0);
    }
    tree_free(tree);
    buf_clear(&page);
    for (size_t i = 1; i < 3; i++) /* two are no run */
        buf_printf(&page, "<p>%s</p>%s", titles[i], answer);
    tree = parse(page.data);
    assert_int_equal(tree->count, 1);
    tree_free(tree);
    buf_free(&page);
}

static void test_texinfo_titles(void **state)
{
    (void)state;
    expect("<title>Top (Foo Manual)</title><h1 class=settitle>Foo Manual</h1>"
           "<div class=top id=Top><h1 class=top>Foo<a class=copiable-link "
           "href=#Top></a></h1><p>Text.<h2 class=chapter>1 Use</h2><p>More.",
           "# Foo Manual\nparagraph: Foo\nparagraph: Text.\n"
           "## 1 Use\nparagraph: More.\n");
    expect("<title>Foo</title><h1 class=settitle>Foo</h1><h1 class=top id=Foo>"
           "<span>Foo<a href=#Foo> ¶</a></span></h1><p>Text.",
           "# Foo\nparagraph: Text.\n");
    expect("<title>Top (Foo)</title><h1 class=top>Foo</h1><p>Text.",
           "# Foo\nparagraph: Text.\n");
}

/* An index that is a part of a page is no text of it, either. */
static void test_index_parts(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<h1>Book</h1><p>Text.<h2>Variables</h2><p>What follows are names."
        "<table class=index-ev><tr><th>Entry<tr><td><a href=#index-CC>CC</a>:"
        "<td><a href=#C>The C compiler</a></table><h2>Options</h2>"
        "<div class=printindex><dl><dt>-O<dd><a href=#O>Optimize</a></dl></div>"
        "<p>End");
    assert_int_equal(tree->page.role, PAGE_CONTENT);
    assert_int_equal(tree->page.alias_count, 3);
    assert_int_equal(tree->count, 3);
    assert_int_equal(tree->nodes[1].block_count, 1);
    assert_true(
        slice_is(tree->nodes[1].blocks[0].text, "What follows are names."));
    assert_int_equal(tree->nodes[2].block_count, 1);
    assert_true(slice_is(tree->nodes[2].blocks[0].text, "End"));
    tree_free(tree);
}

static void test_title_pages(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<div class=sect1><div class=titlepage><h2 class=title>12. Folders</h2>"
        "<h3 class=subtitle>Read them</h3><div class=author><h3 "
        "class=author>Ann"
        "</h3><h3 class=othercredit>Bo</h3></div></div><p>Text<div "
        "class=sect2><div class=titlepage><h3 "
        "class=title>12.1. Files</h3></div><p>More</div></div>");
    assert_int_equal(tree->count, 2);
    assert_true(slice_is(tree->nodes[0].title, "12. Folders"));
    assert_int_equal(tree->nodes[0].block_count, 4);
    assert_true(slice_is(tree->nodes[0].blocks[0].text, "Read them"));
    assert_true(slice_is(tree->nodes[1].title, "12.1. Files"));
    assert_int_equal(tree->nodes[1].parent, 0);
    tree_free(tree);
}

/* DocBook's DSSSL writes classes in capitals. */
static void test_classes_in_capitals(void **state)
{
    (void)state;
    expect("<DIV CLASS=NAVHEADER><TABLE><TR><TD>Prev<TD>Chapter 7<TD>Next"
           "</TABLE></DIV><DIV CLASS=SECTION><H1 CLASS=SECTION>7. Queries</H1>"
           "<P>Text.<DIV CLASS=NOTE><P>Mind.</DIV><DIV CLASS=SECTION><H1 "
           "CLASS=SECTION>7.1. Rows</H1><P>More.</DIV></DIV>",
           "# 7. Queries\nparagraph: Text.\nnote(note): Mind.\n"
           "## 7.1. Rows\nparagraph: More.\n");
}

/* A row of a table is a line, in which code of several lines would be one. */
static void test_code_in_cells(void **state)
{
    (void)state;
    /* docutils' fields, SWI-Prolog's arguments */
    expect(
        "<table><caption>C</caption><tr><th>Question:<td><p>I get:<pre>\na\n b"
        "</pre><p>Why?<tr><th>Answer:<td>No.<tr><td><td>So.</table>",
        "# \nparagraph: C\ndefinition: Question:\\n  I get:\ncode: a\\n b\n"
        "definition:   Why?\ndefinition: Answer:\\n  No.\\n  So.\n");
    /* MediaWiki: what holds, and since when. */
    expect("<table><tr><td><p>Text.<pre>a();\nb();</pre><td>(C++17)</table>",
           "# \nparagraph: Text.\ncode: a();\\nb();\nparagraph: (C++17)\n");
    expect("<table><tr><td><p>Text.<pre>a();\nb();</pre></td>\n        "
           "<td>(C++17)</td></tr></table>",
           "# \nparagraph: Text.\ncode: a();\\nb();\nparagraph: (C++17)\n");
    /* One line, code beside code, three columns. */
    expect("<table><tr><td>x<td><pre>\na\n</pre></table>"
           "<table><tr><td><pre>a\nb</pre><td><pre>c\nd</pre></table>"
           "<table><tr><td>x<td>y<td><pre>a\nb</pre></table>",
           "# \ntable: x\\ta\ntable: a b\\tc d\ntable: x\\ty\\ta b\n");
}

/* Pike's chapters are lists of what would be terms. */
static void test_sections_as_terms(void **state)
{
    (void)state;
    expect("<title>Manual</title><dl><dt><h1>1. Use</h1></dt><dd><p>Text."
           "<dl><dt>a<dd>b</dl></dd><dt><h2>1.1. More</h2></dt><dd>Words.</dl>",
           "# 1. Use\nparagraph: Text.\ndefinition: a\\n  b\n"
           "## 1.1. More\nparagraph: Words.\n");
    /* No glossary is. */
    expect("<dl><dt><h2>A</h2></dt><dt>Apple<dd>Red.<dt>Axe<dd>Sharp.</dl>",
           "# A\ndefinition: Apple\\n  Red.\ndefinition: Axe\\n  Sharp.\n");
}

/* Eight tables with anchors called as they are, and text behind each. */
static void test_titles_of_tables(void **state)
{
    (void)state;
    struct buf html = {0};
    buf_put_text(&html, "<h1>Limits</h1>");
    for (int i = 0; i < 8; i++) {
        buf_printf(&html,
                   "<div class=table><a id=limits-%d></a><p class=title>"
                   "<strong>Limits %d</strong></p><table><tr><th>A<th>B<tr>"
                   "<td>a<td>b</table></div>",
                   i, i);
        for (int p = 0; p < 3; p++)
            buf_put_text(&html, "<p>These are the limits of that kind of "
                                "thing, and no others are.");
    }
    struct tree *tree = parse_bytes(buf_slice(&html));
    assert_int_equal(tree->count, 1);
    tree_free(tree);
    buf_free(&html);
}

/* Their label is no title, whatever the language. */
static void test_reference_pages(void **state)
{
    (void)state;
    expect("<title>tar</title><div class=refentry><a name=tar></a>"
           "<div class=titlepage></div><div class=refnamediv><h2>Nom</h2>"
           "<p>tar, <a href=#z>untar</a> — pack\n files</p></div>"
           "<div class=refsect1><h2>Options</h2><p>None</div></div>",
           "# tar, untar {tar}\n"
           "paragraph: tar, untar — pack files\n"
           "## Options\nparagraph: None\n");
    expect("<div class=refentry id=a><div class=refnamediv>"
           "<h2><span class=refentrytitle>ABORT</span></h2>"
           "<p>ABORT — end it</div></div>",
           "# ABORT {a}\nparagraph: ABORT — end it\n");
    expect("<div class=refentry><h1>tar(1)</h1><div class=refnamediv>"
           "<h2>Name</h2><p>tar — pack</div></div>",
           "# tar(1)\n## Name\nparagraph: tar — pack\n");
}

/* A manual's own header is within Doxygen's. */
static void test_doxygen_headers(void **state)
{
    (void)state;
    expect("<title>Lib: Memory</title><div id=top><div id=titlearea>Lib 2</div>"
           "<table><tr><td><h2><a href=index.html>Home</a></h2><td><h2>FAQ</h2>"
           "</table></div><div class=header><div class=headertitle><div "
           "class=title>Memory<span class=mlabels><span class=mlabel>abstract"
           "</span></span></div></div></div><div class=contents><p>Text.",
           "# Memory\nparagraph: Text.\n");
    expect(
        "<title>Open</title><div id=top><div id=titlearea><div>Lib 2</div>"
        "<div class=header><div class=headertitle><div class=title>Open</div>"
        "</div></div><div class=contents><p>Text.",
        "# Open\nparagraph: Lib 2\nparagraph: Text.\n");
    expect("<div id=top><h1>Memory</h1><p>Text.</div>",
           "# Memory {top}\nparagraph: Text.\n");
}

/* A page's title stands above its sections, which are h1; a signature is one text, not
 * a table with a row for each parameter. */
static void test_doxygen_pages(void **state)
{
    (void)state;
    expect("<title>Lib: Porting</title><div class=headertitle><div class=title>"
           "Porting</div></div><div class=contents><div class=textblock><h1>"
           "Registers</h1><p>Text.<h1>Interrupts</h1><p>More.</div></div>",
           "# Porting\n## Registers\nparagraph: Text.\n"
           "## Interrupts\nparagraph: More.\n");
    expect("<h2 class=memtitle>open()</h2><div class=memitem><div "
           "class=memproto><table class=mlabels><tr><td class=mlabels-left>"
           "<table class=memname><tr><td class=memname>int open </td><td>(</td>"
           " <td class=paramtype>char *&nbsp;</td> <td class=paramname><em>name"
           "</em>, </td></tr><tr><td class=paramkey></td><td></td> <td "
           "class=paramtype>int&nbsp;</td><td class=paramname><em>flags</em>"
           "</td></tr><tr><td></td><td>)</td></tr></table></td><td "
           "class=mlabels-right><span class=mlabel>inline</span></td></table>"
           "</div><div class=memdoc><p>Opens it.</div></div>",
           "# \n#* open()\n"
           "definition: int open ( char * name, int flags )\n"
           "paragraph: inline\nparagraph: Opens it.\n");
}

/* RDoc: a box for each method, with its source, which is shown when one clicks. */
static void test_ruby_methods(void **state)
{
    (void)state;
    static const char shown[] =
        "# class A\n## Methods\n##* pack(a) {method-i-pack}\n"
        "definition: pack(a)\n##* open → file {method-i-open}\n"
        "paragraph: open(name) → file\nparagraph: Opens it.\n";
    expect("<h1>class A</h1><section><header><h3>Methods</h3></header>"
           "<div id=method-i-pack class=method-detail><div "
           "class=method-heading><span class=method-name>pack</span><span "
           "class=method-args>(a)</span> <span class=method-click-advice>click "
           "to toggle source</span></div></div><div id=method-i-open "
           "class='method-detail '><div class=method-heading><span "
           "class=method-callseq>open → file</span></div><div "
           "class=method-heading>open(name) → file</div><div "
           "class=method-description><p>Opens it.<div class=method-source-code>"
           "<pre>def open; end</pre></div></div></div></section>",
           shown);
    expect("<div id=method-i-open class=method-detail><div "
           "class=method-header><div class=method-heading><a "
           "href=#method-i-open>open</a></div></div><div class=method-controls>"
           "<details><summary>Source</summary></details></div><p>Opens it.",
           "# \n#* open {method-i-open}\nparagraph: Opens it.\n");
}

/* GAPDoc's chapters begin with links to all others and with their contents. */
static void test_gap_chapters(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<title>GAP (ref) - Chapter 2: Lists</title><div class=chlinktop>"
        "<a href=chap0.html>Top</a> <a href=chap1.html>1</a></div>"
        "<p id=mathjaxlink><a href=chap2_mj.html>[MathJax on]</a></p>"
        "<div class=ChapSects><a href=chap2.html#X>2 Lists</a></div>"
        "<h3>2 Lists</h3><p>Text.<div class=chlinkbot><a href=chap0.html>Top"
        "</a></div>");
    assert_int_equal(tree->count, 1);
    assert_int_equal(tree->nodes[0].block_count, 1);
    assert_int_equal(tree->page.contents, CONTENTS_NONE);
    tree_free(tree);
    tree = parse("<h2>Book</h2><h3>Contents</h3><div class=ContChap><a "
                 "href=chap1.html#A>1 Preface</a><div class=ContSect><a "
                 "href=chap1.html#B>1.1 Authors</a></div></div><div "
                 "class=ContChap><a href=chap2.html#X>2 Lists</a></div>");
    assert_int_equal(tree->page.contents, CONTENTS_BELOW);
    assert_int_equal(tree->page.link_count, 2);
    assert_int_equal(tree->nodes[1].block_count, 0);
    tree_free(tree);
}

/* HeVeA: a paragraph of a subsubsection is h4 as that is; the authors below the title are a
 * heading; what is cited has an anchor. */
static void test_hevea(void **state)
{
    (void)state;
    expect("<table class=title><tr><td><h1 class=titlemain>Foo</h1><h3 "
           "class=titlerest>Ann<br>INRIA</h3></table><h2 class=section>1 Use"
           "</h2><h4 class=paragraph>Caveat</h4><p>a<h3 class=subsection>1.1 "
           "In</h3><h4 class=subsubsection>1.1.1 Up</h4><p>b<h4 "
           "class=paragraph>Actions</h4><p>c<h4 class=subsubsection>1.1.2 "
           "Down</h4><p>d",
           "# Foo\ntable: Ann INRIA\n## 1 Use\n### Caveat\nparagraph: a\n"
           "### 1.1 In\n#### 1.1.1 Up\nparagraph: b\n##### Actions\n"
           "paragraph: c\n#### 1.1.2 Down\nparagraph: d\n");
    struct buf html = {0};
    buf_put_text(&html, "<h2>References</h2><dl class=thebibliography>");
    for (int i = 1; i < 4; i++) {
        buf_printf(&html, "<dt><a id=b%d><span>[%d]</span></a><dd>", i, i);
        for (int word = 0; word < 50; word++)
            buf_put_text(&html, "Compilers, ");
    }
    struct tree *tree = parse_bytes(buf_slice(&html));
    assert_int_equal(tree->count, 1);
    tree_free(tree);
    buf_free(&html);
}

/* LyX: chapters are h1 as parts are. */
static void test_parts(void **state)
{
    (void)state;
    expect("<title>Book</title><h1 class=title>Book</h1><p>a<h1 class=part>"
           "Part I Use</h1><h1 class=chapter>1 In</h1><p>b<h2 class=section>"
           "1.1 Up</h2><p>c<h1 class=part>Part II Inside</h1><h1 class=chapter>"
           "2 Out</h1><p>d",
           "# Book\nparagraph: a\n## Part I Use\n### 1 In\nparagraph: b\n"
           "#### 1.1 Up\nparagraph: c\n## Part II Inside\n### 2 Out\n"
           "paragraph: d\n");
}

static void expect_trail(const char *html, const char *up, bool trail)
{
    struct tree *tree = parse(html);
    assert_true(slice_is(tree->page.up, up));
    assert_int_equal(tree->page.trail, trail);
    tree_free(tree);
}

/* The page above is the last before this one's name. */
static void test_trails(void **state)
{
    (void)state;
    expect_trail(
        "<div class=navigationbar><ul><li>Qt 5<li><a href=core.html>Core"
        "</a><li><a href=classes.html>Classes</a><li>QSize<li><a "
        "href=core.html>Qt 5.15</a></ul></div><h1>QSize Class</h1>",
        "classes.html", true);
    expect_trail("<nav aria-label=breadcrumb><ol><li><a href='../'>Home</a>"
                 "<li><a href=../use.html>Use</a> &raquo; <li>This</ol></nav>",
                 "../use.html", true);
    expect_trail("<span class=subpages>&lt; <a href=../cpp.html>cpp</a> | <a "
                 "href=../memory.html>memory</a></span><h1>std::free</h1>",
                 "../memory.html", true);
    expect_trail("<div class=WebWorks_Breadcrumbs><a href=a.html>Use</a> : <a "
                 "href=b.html>Pumps</a> : P7</div>",
                 "b.html", true);
    expect_trail("<nav aria-label=breadcrumb><a href=a.html>Use</a><a "
                 "aria-current=page href=b.html>Pumps</a></nav>",
                 "a.html", true);
    expect_trail("<div class=wh_breadcrumb><ol><li><a href=index.html>Home</a>"
                 "<li><a href=a.html>Use</a><li class=active><a "
                 "href=b.html>Pumps</a></ol></div>",
                 "a.html", true);
    /* What stands behind is none, nor what does not lead here. */
    expect_trail("<ul class=wy-breadcrumbs><li><a href='#'></a><li>This<li><a "
                 "href=x.rst.txt>Source</a></ul>",
                 "", false);
    expect_trail("<ul class=breadcrumb><li><a href=about.html>About</a></ul>",
                 "", false);
    expect_trail("<ul class=breadcrumb><li><a href=a.html>A</a><li>B</ul><a "
                 "rel=up href=up.html>Up</a>",
                 "up.html", false);
}

/* The frame in which Flare's program shows its topics, and what else is no page. */
static void test_pages_made(void **state)
{
    (void)state;
    expect_role("<html data-mc-runtime-file-type='Default;TriPane'><title>Help"
                "</title><h1>Logo</h1><h1>Your search returned</h1>",
                PAGE_MADE);
    expect_role(
        "<html MadCap:RuntimeFileType=Favorites><title>Favorites</title>"
        "<p>a",
        PAGE_MADE);
    expect_role("<html MadCap:RuntimeFileType=Glossary><title>G</title><p>a",
                PAGE_CONTENT);
    expect_role("<html MadCap:RuntimeFileType=Topic><title>A</title><p>a",
                PAGE_CONTENT);
    expect_role("<body class=FramedSearchResultsPage><div id=Index><a href=a>b"
                "</a></div>",
                PAGE_MADE); /* Natural Docs */
    expect_role(
        "<title>Index Terms - Works</title><body class=wh_terms_page><ul>"
        "<li><span>O</span><ul><li><span>Oil</span><a href=a.html>[1]</a>"
        "</ul></ul>",
        PAGE_INDEX); /* Oxygen */
    expect_role("<title>Pump 1.0</title><div class=entry><div class=name>start"
                "</div><div class=occurrences><a href=P.html>P</a></div></div>",
                PAGE_MADE); /* Scaladoc */
    expect_role("<title>T: Member List</title><h1>T Member List</h1><table>"
                "<tr class=memlist><td><a href=t.html#f>f</a>(int)</table>",
                PAGE_MADE); /* Doxygen before 1.8 */
    expect_role("<title></title><p><a href=t.html onClick=\"opener.location."
                "href = 't.html'; return false;\">T</a>",
                PAGE_MADE); /* fpdoc */
    expect_role("<title>T</title><p>A valve, as in <a href=t.html onclick=\""
                "opener.location.href = 't.html'\">T</a>, is a part.",
                PAGE_CONTENT); /* a glossary's window */
    expect_role("<title>T</title><p><a href=t.html onclick='show()'>T</a> is",
                PAGE_CONTENT);
    expect_role("<html data-mc-runtime-file-type='Topic;Search;Default'><h1>A"
                "</h1><p>a",
                PAGE_CONTENT);
}

/* What leads to the other pages of a unit, and to windows that list members. */
static void test_fpdoc(void **state)
{
    (void)state;
    expect(
        "<title>Add</title><table class=bar><tr><td><b>[<a href=index-2.html>"
        "Types</a>]</b></td><td><span class=bartitle>Reference for unit 'u'"
        "</span></td></tr></table><h1>Add</h1><p>[<a href=a-1.html onClick=\""
        "window.open('a-1.html', 'list'); return false;\">Properties</a>]"
        "<p>It adds.<p><a href=a.png onclick=\"window.open('a.png')\">Figure 1"
        "</a> shows the pump.",
        "# Add\nparagraph: It adds.\nparagraph: Figure 1 shows the pump.\n");
    expect_role(
        "<h1>Index of all identifiers in the unit 'sysutils'</h1>"
        "<h2>A</h2><a href=a>AddDateSeparator</a><h2>B</h2><a href=b>"
        "BoolToStrWithNames</a><h2>C</h2><a href=c>CreateDirectories</a>"
        "<h2>D</h2><a href=d>DateTimeToString</a><h2>E</h2><a href=e>"
        "ExtractShortPathName</a>",
        PAGE_INDEX);
}

static void expect_above(const char *html, const char *above, const char *home)
{
    struct tree *tree = parse(html);
    assert_true(slice_is(tree->page.above, above));
    assert_true(slice_is(tree->page.home, home));
    tree_free(tree);
}

/* MadCap Flare names the pages above without links; what it calls a name is a variable
 * where only the program that shows the page knows it. */
static void test_names_above(void **state)
{
    (void)state;
    expect_above("<html data-mc-path-to-help-system='../' data-mc-toc-path='"
                 "Use |  The views'><h1>A</h1>",
                 "Use|The views", "../");
    expect_above("<html data-mc-toc-path='Use|[%=System.LinkedTitle%]|Views'>",
                 "Use", "");
    expect_above("<html data-mc-toc-path='||A||'><h1>A</h1>", "A", "");
    expect_above("<html data-mc-toc-path=''><h1>A</h1>", "", "");
    expect_above("<ol class=breadcrumb><li><a href=u.html>Use</a><li>Parts of "
                 "pumps</ol><div class=nav-arrows></div><h1>A</h1>",
                 "Use|Parts of pumps", ""); /* HelpNDoc */
    expect_above("<ol class=breadcrumb><li>Use<li><a href=p.html>Parts</a></ol>"
                 "<div class=nav-arrows></div><h1>A</h1>",
                 "", "");
    expect_above("<ol class=breadcrumb><li><a href=u.html>Use</a><li "
                 "class=active>A</ol><div class=nav-arrows></div><h1>A</h1>",
                 "", "");
    expect_above(
        "<html MadCap:PathToHelpSystem='../' MadCap:tocPath='Use|Views'>"
        "<h1>A</h1>",
        "Use|Views", "../");
}

/* A page may nest them, and have them often: it takes no longer for it. */
static void test_many(void **state)
{
    (void)state;
    enum { DEEP = 300, MANY = 100000 };
    struct buf page = {0};
    for (int i = 0; i < DEEP; i++)
        buf_put_text(&page, "<ol class=breadcrumb><li>a");
    for (int i = 0; i < DEEP; i++)
        buf_put_text(&page, "<address><small>");
    buf_put_text(&page, "<table><tr>");
    for (int i = 0; i < MANY; i++)
        buf_put_text(&page, "<td class=titleColumn>a<i></i><i></i><i></i>");
    buf_put_text(&page, "</table>");
    for (int i = 0; i < DEEP; i++)
        buf_put_text(&page, "</small></address>");
    for (int i = 0; i < DEEP; i++)
        buf_put_text(&page, "</ol><div class=nav-arrows></div>");
    tree_free(parse_within(4, page.data));
    buf_free(&page);
}

/* Flare's trail and its list of pages below are no text; what opens where it is
 * clicked is. */
static void test_flare(void **state)
{
    (void)state;
    static const char page[] =
        "<a class='skip-to-content fluid-skip' href='#'>Skip To Main Content"
        "</a><div class=MCBreadcrumbsBox_0><span class=MCBreadcrumbsPrefix>You "
        "are here: </span><a class=MCBreadcrumbsLink href=u.htm>Use</a></div>"
        "<h1>A</h1><p>a<div class='MCDropDown MCDropDown_Open dropDown'><span "
        "class='MCDropDownHead dropDownHead'><a class=MCDropDownHotSpot href="
        "'javascript:void(0);'><img class=MCDropDown_Image_Icon alt=Closed src="
        "x.gif>Inputs</a></span><div class='MCDropDownBody dropDownBody'><p>b"
        "</div></div><div class=MCMiniTocBox_0><p class=MiniTOC1_0><a class="
        "MiniTOC1 href=y.htm>Y</a><p class=MiniTOC1_0><a class=MiniTOC1 href="
        "x.htm>X</a></div>";
    expect(page, "# A\nparagraph: a\nparagraph: Inputs\nparagraph: b\n");
    struct tree *tree = parse(page);
    assert_int_equal(tree->page.contents, CONTENTS_BELOW);
    assert_int_equal(tree->page.link_count, 2);
    assert_true(slice_is(tree->page.links[0].url, "y.htm"));
    tree_free(tree);
}

/* gi-docgen: what stands between the parts of a name is drawn. */
static void test_names_in_parts(void **state)
{
    (void)state;
    static const char page[] =
        "<title>Soup.Session.send</title><section><header><h3>Method</h3><h1>"
        "<a href=index.html>Soup</a><span class=sep></span><a "
        "href=class.Session.html>Session</a><span class=sep></span>send</h1>"
        "</header><section><h4 id=declaration>Declaration<a class=anchor "
        "href=#declaration></a></h4><pre>send</pre><h4 id=description>"
        "Description<a class=srclink href=x>[src]</a></h4><p>Sends it.";
    expect(page, "# Soup.Session.send\n## Declaration {declaration}\n"
                 "code: send\n## Description {description}\n"
                 "paragraph: Sends it.\n");
    struct tree *tree = parse(page);
    assert_true(slice_is(tree->page.up, "class.Session.html"));
    tree_free(tree);
    expect("<title>Soup</title><header><h3>Namespace</h3><h1>Soup</h1></header>"
           "<p>Text.",
           "# Soup\nparagraph: Text.\n");
    expect("<title>Site</title><h1><a href=l.html>Linux</a> <span class=sep>/"
           "</span> Install</h1><p>One.<h2>Next</h2><p>Two.",
           "# Linux / Install\nparagraph: One.\n## Next\nparagraph: Two.\n");
    expect("<header><h1>Part one</h1><h1>Backup</h1></header><p>Text.",
           "# \n## Part one\n## Backup\nparagraph: Text.\n");
}

static void test_doxygen_more(void **state)
{
    (void)state;
    expect(
        "<h1>Sound</h1><p>Plays. <a href=s.html#details>More...</a></p><table "
        "class=memberdecls><tr><td class=memItemLeft>void <td "
        "class=memItemRight>play ()<tr><td class=mdescLeft>&nbsp;<td "
        "class=mdescRight>Start it. <a href=a.html#p>Mehr ...</a><br>"
        "</table><p>See <a href=#x>More...</a>",
        "# Sound\nparagraph: Plays.\n"
        "table: void\\tplay ()\\n\\tStart it.\n"
        "paragraph: See More...\n");
    expect("<h1>A</h1><p>See <a href=g.html#details>Backup strategies for "
           "large clusters...</a>",
           "# A\nparagraph: See Backup strategies for large clusters...\n");
    /* Where it stands in the sources, and what uses it. */
    expect("<h1>A</h1><p>Starts.</p><p class=definition>Definition at line <a "
           "class=el href=a_source.html#l1>1</a> of file a.c.</p><p "
           "class=reference>References <a class=el href=a.html#b>stop()</a>."
           "</p><p class=definition>A pump is <a href=p.html>one</a>.",
           "# A\nparagraph: Starts.\nparagraph: A pump is one.\n");
}

static void test_lists_of_members(void **state)
{
    (void)state;
    struct tree *tree =
        parse("<title>Lib: Class Members</title><h3><a id=index_b></a>- b -"
              "</h3><ul><li>back : <a href=a.html#b>Archive</a></ul>");
    assert_int_equal(tree->page.role, PAGE_MADE);
    tree_free(tree);
    tree =
        parse("<title>Poem</title><h2>- 1 -</h2><p>Text.<h2>- 2 -</h2>More.");
    assert_int_equal(tree->page.role, PAGE_CONTENT);
    tree_free(tree);
    tree = parse("<h3>- and so on -</h3><p>Text.");
    assert_int_equal(tree->page.role, PAGE_CONTENT);
    tree_free(tree);
}

static void test_labels_of_names(void **state)
{
    (void)state;
    expect("<h1>API</h1><h3 class='doc doc-heading' id=a><code>pages: List"
           "</code> <span class='doc doc-labels'><small><code>property</code>"
           "</small></span></h3><p>All of them.",
           "# API\n## pages: List {a}\nparagraph: All of them.\n");
}

/* LaTeX2HTML's stands between comments; one that nothing ends is none. */
static void test_panels(void **state)
{
    (void)state;
    static const char next[] = "<a href=n.html><img alt=next src=n.png></a><b> "
                               "Next:</b> <a href=n.html>*CONTACT</a><br>";
    struct buf page = {0};
    buf_printf(
        &page,
        "<body><!--Navigation Panel-->%s<!--End of Navigation Panel--><h1>"
        "*FILE</h1><p>Keyword type: step<hr><!--Navigation Panel-->%s<!--"
        "End of Navigation Panel--><address>g</address>",
        next, next);
    expect(page.data, "# *FILE\nparagraph: Keyword type: step\nparagraph: g\n");
    buf_free(&page);
    expect("<h1>A</h1><p>a<!--Navigation Panel--> b<p>c<!--End of Navigation "
           "Panel-->",
           "# A\nparagraph: a b\nparagraph: c\n");
}

/* LDoc: a menu on each page, tables that sum up what lists say whole, and labels
 * that are headings. */
static void test_ldoc(void **state)
{
    (void)state;
    expect(
        "<title>Module a - API</title><div id=navigation><h1>api</h1><ul><li>"
        "<a href=b.html>b</a></ul><h2>Contents</h2></div><div id=content><h1>"
        "Module <code>a</code></h1><p>Text.<h2><a href=#Functions>Functions"
        "</a></h2><table class=function_list><tr><td>spawn (cmd)<td>Run."
        "</table><h2 class=section-header><a name=Functions></a>Functions</h2>"
        "<dl class=function><dt><a name=spawn></a><strong>spawn (cmd)</strong>"
        "</dt><dd>Run a program.<ul><li>cmd The command.</ul><h3>Returns:</h3>"
        "<ol>The pid</ol></dd></dl></div>",
        "# Module a {content}\nparagraph: Text.\n## Functions {Functions}\n"
        "##* spawn (cmd) {spawn}\nparagraph: Run a program.\n"
        "list: - cmd The command.\nparagraph: Returns:\nlist: The pid\n");
}

static void test_haddock(void **state)
{
    (void)state;
    expect(
        "<title>A.B</title><div id=package-header><span class=caption>pkg"
        "</span><ul class=links><li><a href=index.html>Contents</a></ul></div>"
        "<div id=content><div id=module-header><p class=caption>A.B</p></div>"
        "<div id=description><p class=caption>Description</p><div class=doc>"
        "<p>Text.</div></div><div id=synopsis><details><summary>Synopsis"
        "</summary><ul><li class=src><a href=#v:f>f</a> :: Int</ul></details>"
        "</div><div id=interface><h1>Use</h1><div class=top><p class=src><a "
        "id=v:f class=def>f</a> :: Int <a href=src/A.B.html class=link>Source"
        "</a> <a href=#v:f class=selflink>#</a></p><div class=doc><p>One."
        "</div></div></div></div>",
        "# A.B {module-header}\nparagraph: Text.\n## Use {interface}\n##* f :: "
        "Int {v:f}\n"
        "paragraph: One.\n");
    struct tree *tree = parse(
        "<title>pkg: what it is (Index - F)</title><div id=content><div "
        "id=alphabet><ul><li><a href=doc-index-F.html>F</a></ul></div><div "
        "id=index><p class=caption>Index - F</p><table><tr><td class=src>f"
        "</td><td class=module><a href=A-B.html#v:f>A.B</a></table></div>");
    assert_int_equal(tree->page.role, PAGE_INDEX);
    tree_free(tree);
    tree = parse("<body><pre><span class=hs-pragma>{-# LANGUAGE CPP #-}</span>"
                 "<span>\n</span><span id=line-2></span></pre>");
    assert_int_equal(tree->page.role, PAGE_MADE);
    tree_free(tree);
    tree = parse("<body><pre><span>\n</span><span id=line-2></span><span "
                 "class=hs-pragma>{-# LINE 2 #-}</span></pre>"); /* of c2hs */
    assert_int_equal(tree->page.role, PAGE_MADE);
    tree_free(tree);
    tree = parse("<meta name=generator content='c2html 0.9'><pre>1: int x;");
    assert_int_equal(tree->page.role, PAGE_MADE);
    tree_free(tree);
    tree = parse("<meta name=description content='c2html'><p>Makes pages.");
    assert_int_equal(tree->page.role, PAGE_CONTENT);
    tree_free(tree);
}

/* Groups and what they hold are h3. */
static void test_natural_docs(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<div class=CClass><div class=CTopic id=MainTopic><h1 "
        "class=CTitle>Cache"
        "</h1><div class=CBody><p>Pairs.</div></div></div><div "
        "class=CGroup><div "
        "class=CTopic><h3 class=CTitle>Methods</h3></div></div><div "
        "class=CMethod>"
        "<div class=CTopic><h3 class=CTitle>put</h3><div class=CBody><p>Sets."
        "<h4 class=CHeading>Parameters</h4><p>k</div></div></div><div "
        "class=CMethod><div class=CTopic><h3 "
        "class=CTitle>get</h3></div></div>");
    static const uint32_t parents[] = {TREE_NONE, 0, 1, 2, 1};
    assert_int_equal(tree->count, 5);
    for (uint32_t n = 0; n < tree->count; n++)
        assert_int_equal(tree->nodes[n].parent, parents[n]);
    tree_free(tree);
}

/* DocFX: what stands above the parts of an entry is no section. */
static void test_docfx(void **state)
{
    (void)state;
    expect(
        "<article class='content wrap' id=_content><h1>Class A</h1><div "
        "class=inheritance><h5>Inheritance</h5><div>Object</div></div><div "
        "class=inheritedMembers><h5>Inherited Members</h5><a href=o.html>Equals"
        "</a></div><h6><strong>Namespace</strong>: N</h6><h5 id=N_A_syntax>"
        "Syntax</h5><pre>class A</pre><h3>Methods</h3><span class='small "
        "mobile-hide'><a href=x>View Source</a></span><h4 id=a>Run()</h4><p>"
        "Runs.<h5 class=returns>Returns</h5><p>int<h5>Own</h5><p>Words."
        "</article>",
        "# Class A {_content}\nparagraph: Inheritance\nparagraph: Object\n"
        "paragraph: Namespace: N\nparagraph: Syntax\ncode: class A\n"
        "## Methods\n### Run() {a}\nparagraph: Runs.\nparagraph: Returns\n"
        "paragraph: int\n#### Own\nparagraph: Words.\n");
}

/* LinuxDoc: h2 is a section, what is below it, who wrote it and the contents. */
static void test_linuxdoc(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<title>Guide</title><h1>Guide</h1><h2>by Ann</h2>2002<hr><p><h2><a "
        "name=toc1>1.</a> <a href=g-1.html>Use</a></h2><ul><li><a "
        "name=toc1.1>1.1"
        "</a> <a href=g-1.html#ss1.1>More</a></ul>");
    assert_int_equal(tree->count, 1);
    assert_int_equal(tree->nodes[0].block_count, 2);
    assert_int_equal(tree->page.link_count, 1);
    assert_true(slice_is(tree->page.links[0].url, "g-1.html"));
    tree_free(tree);
    expect(
        "<title>Guide: Use</title><h2><a name=s1>1.</a> <a href=g.html#toc1>Use"
        "</a></h2><p>Text.<h2><a name=x></a> <a name=ss1.1>1.1</a> <a "
        "href=g.html#toc1.1>More</a></h2><p>Words.<h3>Deep</h3><p>End.",
        "# 1. Use {s1}\nparagraph: Text.\n## 1.1 More {ss1.1}\nparagraph: "
        "Words.\n"
        "### Deep\nparagraph: End.\n");
}

/* TypeDoc: a method is one section; what says where it stands is none. */
static void test_typedoc(void **state)
{
    (void)state;
    expect("<title>ADI | API</title><h1>Class ADI</h1><section "
           "class='tsd-panel-group "
           "tsd-index-group'><h2>Index</h2><ul><li><a href=#read>read</a></ul>"
           "</section><section class=tsd-panel-group><h2>Methods</h2><section "
           "class=tsd-panel><a name=read class=tsd-anchor></a><h3>read</h3><ul "
           "class=tsd-descriptions><li class=tsd-description><aside "
           "class=tsd-sources><p>Defined in a.ts</aside><p>Reads.<h4 "
           "class=tsd-parameters-title>Parameters</h4><ul "
           "class=tsd-parameters><li>"
           "<h5>n: <span>number</span></h5><p>How "
           "many.</ul></ul></section></section>",
           "# Class ADI\n## Methods\n### read {read}\nparagraph: Reads.\n"
           "paragraph: Parameters\nlist: - n: number How many.\n");
}

/* JSDoc: what is about a method stands in its section. */
static void test_jsdoc(void **state)
{
    (void)state;
    expect(
        "<h1>A</h1><h3>Methods</h3><h4 class=name id=go>go<span "
        "class=signature>"
        "(n<span class=signature-attributes>opt</span>)</span></h4><div "
        "class=description>Goes.</div><h5>Parameters:</h5><table "
        "class=params><tr>"
        "<td>n<td>How far.</table><h5>Returns:</h5><p>Where.<h4>Other</h4><h5>"
        "Deep</h5><p>x",
        "# A\n## Methods\n### go(n) {go}\nparagraph: Goes.\n"
        "paragraph: Parameters:\ntable: n\\tHow far.\nparagraph: Returns:\n"
        "paragraph: Where.\n### Other\n#### Deep\nparagraph: x\n");
}

/* YARD: a method's source is shown when one asks for it. */
static void test_yard(void **state)
{
    (void)state;
    expect("<h1>Class: A</h1><h2>Methods <small><a href=# class=summary_toggle>"
           "collapse</a></small></h2><div class=method_details><h3 "
           "class=signature "
           "id=run>#run</h3><p>Runs.<table "
           "class=source_code><tr><td><pre>4\n5</pre>"
           "<td><pre class=code>def run\nend</pre></table></div>",
           "# Class: A\n## Methods\n### #run {run}\nparagraph: Runs.\n");
}

/* Sphinx's agogo theme repeats contents beside each document; docutils' sidebars are of
 * the text. */
static void test_agogo(void **state)
{
    (void)state;
    expect("<div class=content><div class=document><h1>Pump</h1><p>a<div "
           "class=sidebar><p class=sidebar-title>Note<p>b</div></div><div "
           "class=sidebar><h2>On this page</h2><ul><li><a href=#>Pump</a></ul>"
           "<h4>Search</h4></div></div>",
           "# Pump\nparagraph: a\nparagraph: Note\nparagraph: b\n");
}

/* BoostBook: what an index lists by letter, and who wrote the page, is no text. */
static void test_boostbook(void **state)
{
    (void)state;
    expect(
        "<h1>Reference</h1><p>What there is.<h3>Class Index</h3><p>A<dl class="
        "variablelist><dt><span class=term>A</span><dd><div class=index><ul "
        "class=index><li><p><span class=index-entry-level-0>any</span><div "
        "class=index><ul class=index><li><p><a href=a.html>Class any</a>"
        "</ul></div></ul></div></dl></div><table><tr><td><div class="
        "copyright-footer>Copyright © 2005 Ann<p>Distributed so.</div>"
        "</table>",
        "# Reference\nparagraph: What there is.\n"
        "## Class Index\nparagraph: A\n");
}

/* Sphinx's first page may have no heading but that of its contents. */
static void test_sphinx_contents(void **state)
{
    (void)state;
    expect("<title>Table Of Contents &mdash; Pump 1.0 documentation</title><p>a"
           "<section id=table-of-contents><h1>Table Of Contents</h1><div "
           "class=toctree-wrapper><ul><li><a href=b.html>B</a></ul></div>"
           "</section>",
           "# Pump 1.0 documentation\nparagraph: a\n");
    expect("<h1>Use</h1><p>a<div class='toctree-wrapper compound'><ul><li><a "
           "href=b.html>B</a></ul></div><p>b",
           "# Use\nparagraph: a\nparagraph: b\n");
    expect("<title>Contents of it — Pump</title><p>a",
           "# Contents of it — Pump\nparagraph: a\n");
}

/* The pages before and behind, below the text: Guzzle's theme of Sphinx. */
static void test_guzzle(void **state)
{
    (void)state;
    expect(
        "<h1>Use</h1><p>a</p><div class=footer-relations><div class=pull-left>"
        "<a class=btn href=b.html title='previous chapter'>Notes</a></div>"
        "</div>",
        "# Use\nparagraph: a\n");
}

/* Javadoc: what the members are for stands above them once more, without much. */
static void test_javadoc(void **state)
{
    (void)state;
    static const char details[] =
        "<h2>Method Details</h2><section class=detail id='close()'><h3>close"
        "</h3><p>Closes.</section>";
    static const char *const summaries[] = {
        "<section class=method-summary id=method-summary><h2>Method Summary"
        "</h2><p>Closes.<div class=inherited-list><h3>Methods declared in "
        "Object</h3><code>wait</code></div></section>",
        "<ul class=blockList><li class=blockList><a id=method.summary></a><h3>"
        "Method Summary</h3><table><tr><td>Closes.</table></ul>"};
    for (size_t i = 0; i < 2; i++) {
        struct buf html = {0};
        buf_printf(&html, "<h1>Class P</h1><p>a%s%s", summaries[i], details);
        struct tree *tree = parse(html.data);
        assert_int_equal(tree->count, 3);
        assert_true(slice_is(tree->nodes[1].title, "Method Details"));
        assert_true(slice_is(tree->nodes[2].title, "close"));
        tree_free(tree);
        buf_free(&html);
    }
}

/* Scaladoc: a member is a section, and says once what it is for. */
static void test_scaladoc(void **state)
{
    (void)state;
    expect(
        "<h1>Pump</h1><h3><span class=morelinks>Related Doc: object Pump</span>"
        "</h3><span class=permalink><a href=x.html><img alt=Permalink src=p>"
        "</a></span><h4 id=signature class=signature>trait Pump</h4><p>a<div "
        "id=mbrsel><ol><li>Public</ol></div><div id=values class='values "
        "members'><h3>Value Members</h3><ol><li name=p#start><h4 "
        "class=signature>def start(): Unit</h4><p class=shortcomment>Starts."
        "<div class=fullcomment><p>Starts it.<dl><dt>returns<dd>b</dl></div>"
        "<li name=p#stop><h4 class=signature>def stop(): Unit</h4><p "
        "class=shortcomment>Stops.</ol></div><div id=inheritedMembers><h3>"
        "Inherited from Any</h3></div>",
        "# Pump\nparagraph: trait Pump\nparagraph: a\n## Value Members "
        "{values}\n"
        "### def start(): Unit\nparagraph: Starts it.\ndefinition: returns\\n  "
        "b\n"
        "### def stop(): Unit\nparagraph: Stops.\n");
}

static void test_tex4ht(void **state)
{
    (void)state;
    expect("<div class=crosslinks><p>[<a href=b.html>next</a>] [<a "
           "href=a.html#b>up</a>]</p></div><h2 class=chapterHead><span "
           "class=titlemark>Chapter 1</span><br><a id=x1></a>Pumps</h2><p>a"
           "<div class=tableofcontents><span class=sectionToc>1.1 <a "
           "href=#x2>Valves</a></span></div><div class=lstlisting><span "
           "class=label><a id=x1-1r1></a></span>open(p)<br><span "
           "class=label></span>close(p)<br></div>",
           "# Chapter 1 Pumps {x1}\nparagraph: a\ncode: open(p)\\nclose(p)\n");
}

static void test_titles_with_the_manual(void **state)
{
    (void)state;
    expect(
        "<title>Welcome! — Tool 1.0 documentation</title><h1>Welcome!</h1><p>a"
        "<h1>Indices</h1><p>b",
        "# Welcome!\nparagraph: a\n## Indices\nparagraph: b\n");
    expect(
        "<title>Tool — Welcome</title><h1>Welcome</h1><p>a<h1>More</h1><p>b",
        "# Tool — Welcome\n## Welcome\nparagraph: a\n## More\nparagraph: b\n");
}

/* Contents by hand that lead to places of the page say what its headings say; those
 * that lead elsewhere, and what is only called so, are read. */
static void test_local_contents(void **state)
{
    (void)state;
    expect(
        "<h1>A</h1><h3>Contents -</h3><ol><li><a href=#b>Beginning</a><li>2. "
        "<a href=#c><code>Continuing</code></a></ol><h2 id=b>Beginning</h2><p>b"
        "<h2 id=c>Continuing</h2><p>c",
        "# A\n## Beginning {b}\nparagraph: b\n## Continuing {c}\n"
        "paragraph: c\n");
    expect("<h1>A</h1><h2>Table of Contents</h2><ul><li><a "
           "href=b.html>B</a><li><a "
           "href=#c>C</a></ul>",
           "# A\n## Table of Contents\nlist: - B\\n- C\n");
    expect("<h1>Box</h1><h2>Contents</h2><ul><li>a cable, see <a "
           "href=#b>there</a><li>"
           "<a href=#c>a</a> printed manual</ul>",
           "# Box\n## Contents\nlist: - a cable, see there\\n- a printed "
           "manual\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_questions),
        TEST(test_texinfo_levels),
        TEST(test_texinfo_titles),
        TEST(test_index_parts),
        TEST(test_title_pages),
        TEST(test_classes_in_capitals),
        TEST(test_titles_of_tables),
        TEST(test_code_in_cells),
        TEST(test_sections_as_terms),
        TEST(test_reference_pages),
        TEST(test_panels),
        TEST(test_hevea),
        TEST(test_trails),
        TEST(test_many),
        TEST(test_names_above),
        TEST(test_pages_made),
        TEST(test_fpdoc),
        TEST(test_flare),
        TEST(test_names_in_parts),
        TEST(test_lists_of_members),
        TEST(test_doxygen_more),
        TEST(test_parts),
        TEST(test_labels_of_names),
        TEST(test_doxygen_headers),
        TEST(test_doxygen_pages),
        TEST(test_ruby_methods),
        TEST(test_gap_chapters),
        TEST(test_ldoc),
        TEST(test_haddock),
        TEST(test_natural_docs),
        TEST(test_docfx),
        TEST(test_linuxdoc),
        TEST(test_typedoc),
        TEST(test_jsdoc),
        TEST(test_yard),
        TEST(test_agogo),
        TEST(test_boostbook),
        TEST(test_sphinx_contents),
        TEST(test_guzzle),
        TEST(test_javadoc),
        TEST(test_scaladoc),
        TEST(test_tex4ht),
        TEST(test_titles_with_the_manual),
        TEST(test_local_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
