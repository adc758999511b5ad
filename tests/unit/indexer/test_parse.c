#include "tests/unit/support/spans.h"

#include <unistd.h>

#include "base/file.h"
#include "daemon/answer/quote.h"

/* What is read from HTML. */

/* ---- Structure ---- */

static void test_reference_page(void **state)
{
    (void)state;
    expect("<html><head><title>ABORT</title></head><body>"
           "<div class=refentry id=SQL-ABORT><div class=titlepage></div>"
           "<a id=i1 class=indexterm></a><div class=refnamediv>"
           "<h2><span>ABORT</span></h2><p>ABORT — abort</p></div>"
           "<div class=refsynopsisdiv><h2>Synopsis</h2><pre>ABORT</pre></div>"
           "<div class=refsect1 id=d><h2>Description</h2><p>Text."
           "<div class=refsect2><h3>Deep</h3><p>Below.</p></div>After.</div>"
           "</div></body></html>",
           "# ABORT {SQL-ABORT}\n"
           "paragraph: ABORT — abort\n"
           "## Synopsis\n"
           "code: ABORT\n"
           "## Description {d}\n"
           "paragraph: Text.\n"
           "paragraph: After.\n"
           "### Deep\n"
           "paragraph: Below.\n");
}

static void test_book_page(void **state)
{
    (void)state;
    expect("<title>PG 15</title><div class=book id=B><div class=titlepage>"
           "<h1>PG 15</h1><h3 class=corpauthor>The Group</h3></div>"
           "<div class=toc><ul><li><a href=x>X</a></ul></div>"
           "<div class=preface><h2>Preface</h2></div></div>",
           "# PG 15 {B}\n"
           "paragraph: The Group\n"
           "## Preface\n");
}

static void test_levels(void **state)
{
    (void)state;
    expect("<title>Other</title><p>Lead<h1 id=a>A</h1>a<h3>B</h3>b<h2>C</h2>"
           "<h4>D</h4><h2></h2>",
           "# A {a}\nparagraph: Lead\nparagraph: a\n"
           "## B\nparagraph: b\n## C\n### D\n");
    expect("<title>Page</title><h2>A</h2><h3>B</h3><h2>C</h2>",
           "# Page\n## A\n### B\n## C\n");
    expect("<title>A</title><h2>A</h2><h2>B</h2>", "# A\n## B\n");
    /* A line that reads as the page's title is above its only heading. */
    expect("<title>COMMIT</title><div class=banner>COMMIT</div><h1>1. Use</h1>",
           "# COMMIT\nparagraph: COMMIT\n## 1. Use\n");
    expect("<title>Pump</title><div class=banner>Pump</div><h1>Valves</h1>x",
           "# Valves\nparagraph: Pump\nparagraph: x\n");
    expect("<title>COMMIT</title><p>COMMIT ends it.<h1>1. Use</h1><p>COMMIT",
           "# 1. Use\nparagraph: COMMIT ends it.\nparagraph: COMMIT\n");
    expect("<title>Page</title><div class=section><h3>A</h3></div><h4>Notes"
           "</h4>x",
           "# A\n## Notes\nparagraph: x\n");
    expect("<p>No heading at all", "# \nparagraph: No heading at all\n");
    /* A heading that nobody has closed holds the page. */
    expect("<h1>One <b>word</b>\n<p>A coin.\n<p>Another.<ul><li>x</ul>",
           "# One word\nparagraph: A coin.\nparagraph: Another.\nlist: - x\n");
    expect("<h1>One<pre>code</pre><h2>Two</h2>", "# One\ncode: code\n## Two\n");
    expect("<h1><p>One</p></h1><p>x", "# One\nparagraph: x\n");
    expect("<h1>One<div>A coin.</div><p>Another.",
           "# One\nparagraph: A coin.\nparagraph: Another.\n");
    expect("<h1>One<br>A coin.<hr>Another.",
           "# One\nparagraph: A coin.\nparagraph: Another.\n");
    expect("<h1>One<section><h2>Two</h2><p>A coin.</section>",
           "# One\n## Two\nparagraph: A coin.\n");
    /* Nor has anybody closed what is open in it. */
    expect("<h1><b>One<p>A coin.<p>Another.",
           "# One\nparagraph: A coin.\nparagraph: Another.\n");
    expect("<h1><a name=x><font size=5>One<p>A coin.<ul><li>x</ul><p>Another.",
           "# One {x}\nparagraph: A coin.\nlist: - x\nparagraph: Another.\n");
    /* One that is closed is all of it. */
    expect("<h1>One<br>two <div>three</div></h1><p>x",
           "# One two three\nparagraph: x\n");
    expect("<h1><div>One</div> <span>two</span><p>A coin.",
           "# One two\nparagraph: A coin.\n");
    expect("", "# \n");
}

static void test_printed_contents(void **state)
{
    (void)state;
    /* TtH's, SWI-Prolog's. */
    expect("<title>T</title><h1>T</h1><h1>Contents</h1><a href=#1>1 Use</a><br>"
           "<a href=#2>2 End</a><h2 id=1>1 Use</h2>x<h3>1.1 Y</h3>"
           "<h2 id=2>2 End</h2>",
           "# T\n## Contents\nparagraph: 1 Use\nparagraph: 2 End\n"
           "## 1 Use {1}\nparagraph: x\n### 1.1 Y\n## 2 End {2}\n");
    expect("<h1>T</h1><h2>Table of Contents</h2><div class=toc><a href=#1>A</a>"
           "</div><h3 id=1>A</h3>",
           "# T\n## Table of Contents\n## A {1}\n");
    /* A list that is told, and what a dialog calls so, is a section as any other. */
    expect(
        "<h1>T</h1><h2>Contents</h2><a href=#1>A</a> and more<h3 id=1>A</h3>",
        "# T\n## Contents\nparagraph: A and more\n### A {1}\n");
    expect("<h1>T</h1><h2>Contents</h2><h3>Text</h3>x",
           "# T\n## Contents\n### Text\nparagraph: x\n");
    expect("<h1>T</h1><h2>Contents</h2>Text.<h3 id=1><a href=#1>Its link</a>"
           "</h3>",
           "# T\n## Contents\nparagraph: Text.\n### Its link {1}\n");
    expect("<h1>T</h1><h2>Links</h2><a href=#1>A</a><h3 id=1>A</h3>",
           "# T\n## Links\nparagraph: A\n### A {1}\n");
}

static void test_sections(void **state)
{
    (void)state;
    expect("<title>T</title><section id=s1><h1>One</h1>"
           "<section id=s2><h1>Two</h1>x</section>y"
           "<section><p>none</p><section><h1>Three</h1></section></section>"
           "</section>",
           "# One {s1}\nparagraph: y\nparagraph: none\n"
           "## Two {s2}\nparagraph: x\n## Three\n");
    expect("<h1>T</h1><article><h2>A</h2><h2>B</h2><h3>C</h3></article>z",
           "# T\nparagraph: z\n## A\n## B\n### C\n");
    expect("<table><tr><td><h1>T</h1></td></tr></table>"
           "<blockquote><h2>Q</h2>said</blockquote>",
           "# T\n## Q\nquote: said\n");
}

static void test_titles(void **state)
{
    (void)state;
    expect("<h1>2.1.&nbsp; The\n <code>x</code>y"
           "<a class=headerlink href='#x'>¶</a></h1>"
           "<h2 id=q><a class=anchor href='#q'>#</a>Quick &amp; dirty</h2>"
           "<h2><a class=header href='#r' id=r>Rest</a></h2>",
           "# 2.1. The xy\n## Quick & dirty {q}\n## Rest {r}\n");
    expect("<h1>Menu <img alt='[Help]' src=h.png></h1>", "# Menu [Help]\n");
}

static void test_anchors_and_refs(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<h1>T</h1><a name=near></a><h2>A<a href=n.html#z>link</a></h2>"
        "<p id=p1>See <a href='b.html'>the <b>b</b></a> and <a name=n2></a>"
        "<a class=headerlink href='#p1'>¶</a></p>");
    assert_int_equal(tree->count, 2);
    const struct node *node = &tree->nodes[1];
    assert_true(slice_is(node->anchor, "near"));
    assert_int_equal(node->anchor_count, 2);
    assert_true(slice_is(node->anchors[0], "p1"));
    assert_true(slice_is(node->anchors[1], "n2"));
    assert_int_equal(node->ref_count, 2);
    assert_true(slice_is(node->refs[0].url, "n.html#z"));
    assert_true(slice_is(node->refs[1].text, "the b"));
    assert_true(slice_is(node->refs[1].url, "b.html"));
    assert_int_equal(tree->nodes[0].ref_count, 0);
    tree_free(tree);
    /* A field is nothing's place, nor what it stands in. */
    expect(
        "<div id=menu><form id=f><input name=q id=box></form></div><h1>T</h1>"
        "<a id=near></a><input type=checkbox id=tick><h2>A</h2>",
        "# T\n## A {tick}\n");
    expect("<h1>T</h1><a name=all></a><input type=search><h2>All</h2>",
           "# T\n## All {all}\n");
}

/* The ids of permalinks lead to what they stand in. */
static void test_permalinks(void **state)
{
    (void)state;
    expect("<h1>T</h1><h3>fs.open()<span><a class=mark href=#o id=o>#</a>"
           "</span></h3><p>x",
           "# T\n## fs.open() {o}\nparagraph: x\n");
    expect("<h2 id=a>A <a href='#a'>§</a></h2><p id=p>one <a href=#p>∞</a></p>"
           "<section id=s><a href=#s>§</a><h4>B</h4></section>"
           "<dl><dt>t <a href=#t>#</a><dd>d</dl>",
           "# A {a}\nparagraph: one\ndefinition: t\\n  d\n## B {s}\n");
    expect("<p>The <a href='insert.html##'>#</a> and <a href=#inf>∞</a> and "
           "<a href='x.html#y'>¶</a> signs",
           "# \nparagraph: The # and ∞ and ¶ signs\n");
}

static void test_link_text(void **state)
{
    (void)state;
    struct buf html = {0};
    buf_put_text(&html, "<a href=x>a");
    for (int i = 0; i < 300; i++)
        buf_put_text(&html, "é");
    struct tree *tree = parse_bytes(buf_slice(&html));
    struct slice text = tree->nodes[0].refs[0].text;
    assert_int_equal(text.size, 499);
    assert_true(text_is_utf8(text.data, text.size));
    tree_free(tree);
    buf_free(&html);
}

/* ---- Blocks ---- */

static void test_paragraphs(void **state)
{
    (void)state;
    expect("<p><b>a</b>b <i> c</i>&#x20;&eacute;&notit; d<!-- e -->f</foo>g</p>"
           "<div>one<div>two</div>three<br>\nfour</div><p>five<br>six",
           "# \nparagraph: ab c é¬it; dfg\nparagraph: one\nparagraph: two\n"
           "paragraph: three four\nparagraph: five\nparagraph: six\n");
}

static void test_code(void **state)
{
    (void)state;
    expect("<div class=highlight-sql><div class=highlight><pre>\n  SELECT\t1;"
           "\n\n  <b>FROM</b> t &lt; u;\n</pre></div></div>"
           "<pre><code class='x language-c'>int a;<br>int b;</code></pre>",
           "# \ncode(sql):   SELECT\\t1;\\n\\n  FROM t < u;\n"
           "code(c): int a;\\nint b;\n");
}

static void test_language(void **state)
{
    (void)state;
    expect("<pre class='language-c++'>1</pre><pre class='brush:sql;'>2</pre>"
           "<pre class='lang-&lt;b>'>3</pre><pre class='language-text;'>4</pre>"
           "<pre><pre class=playground><code class='language-rust ignore'>6"
           "</code></pre></pre><pre "
           "class='lang-abcdefghijklmnopqrstuvwxyzabcdefghijkl'>5</pre>",
           "# \ncode(c++): 1\ncode(sql): 2\ncode: 3\ncode: 4\ncode(rust): 6\n"
           "code(abcdefghijklmnopqrstuvwxyzabcdef): 5\n");
}

/* What a block of prose reads stands in the file without a gap. */
static void test_excluded(void **state)
{
    (void)state;
    expect("<p>before <span class=headerlink>drop</span> after word"
           "<p>a <b hidden></b> b<script>var x</script> c"
           "<p>end <a class=headerlink href=#x>¶</a></p>"
           "<pre><i class=lineno>1</i>x\n<i class=lineno>2</i>y</pre>",
           "# \nparagraph: before\nparagraph: after word\n"
           "paragraph: a b c\nparagraph: end\ncode: x\\ny\n");
}

static void test_controls(void **state)
{
    (void)state;
    expect("<title>x\x1b[0m</title><h1>T\x1b[0m\x1a</h1><p>a\x7f b&#7;&#27;c\vd"
           "<p><img alt='e\x1b-f'>",
           "# T[0m\nparagraph: a bc d\nfigure: e-f\n");
}

static void test_lists(void **state)
{
    (void)state;
    expect("<ul><li>a<li><p>b</p><p>c</p><ol start=3><li>d<li>e</ol>f"
           "<li>g<pre>code</pre>h</ul>",
           "# \nlist: - a\\n- b c\\n  3. d\\n  4. e\\n  f\\n- g\n"
           "code: code\nlist: h\n");
}

static void test_ordinals(void **state)
{
    (void)state;
    expect("<ol><li>a<li value=7>b<li>c</ol><ol type=a start=2><li>d<li>e</ol>"
           "<ol type=A start=27><li>f</ol><ol start=x><li value=-1>g</ol>"
           "<ol><li value=0>h<li>i</ol><ol start=0 type=a><li>j</ol>",
           "# \nlist: 1. a\\n7. b\\n8. c\nlist: b. d\\nc. e\n"
           "list: 27. f\nlist: 1. g\nlist: 0. h\\n1. i\nlist: 0. j\n");
}

/* Of what a script chooses from, what is meant where nothing else is. */
static void test_alternatives(void **state)
{
    (void)state;
    expect("<p>Press <span class=switchinline><span hidden=true id=MAC1 "
           "class=MAC><b>Cmd</b></span><span hidden=true id=default1><b>Ctrl"
           "</b></span></span>+<b>Q</b> to leave."
           "<p>a <span hidden=true id=default2>b</span> c",
           "# \nparagraph: Press Ctrl+Q to leave.\n"
           "paragraph: a\nparagraph: c\n");
}

/* What browsers do not show. */
static void test_hidden(void **state)
{
    (void)state;
    expect("<p>a<p style='color:red; DISPLAY : None !important'>b"
           "<p style='visibility:hidden'>c<p style='x-display:none'>d"
           "<div hidden>e</div><template><p>f</template><video>g</video>"
           "<canvas>h</canvas><object>i</object><details><summary>j</summary>k"
           "</details><p hidden=until-found>l<!-- m --><noscript>n</noscript>",
           "# \nparagraph: a\nparagraph: d\nparagraph: i\nparagraph: j\n"
           "paragraph: k\nparagraph: l\n");
    expect(
        "<title>T</title>lead<h2>A</h2><h2>B</h2><blockquote>q<footer>who"
        "</footer></blockquote><p>H<sub>2</sub>O <ruby>漢<rt>kan</rt></ruby>",
        "# T\nparagraph: lead\n## A\n## B\nquote: q\nquote: who\n"
        "paragraph: H2O 漢kan\n");
}

static void test_odd_lists(void **state)
{
    (void)state;
    expect("<dl><dd>no term</dl><dl><dt>no meaning</dl><dl>stray<dt>a<dd>b<dd>c"
           "</dl><dl><div><dt>x<dd>y</div></dl>",
           "# \ndefinition:   no term\ndefinition: no meaning\n"
           "definition: stray\ndefinition: a\\n  b\\n  c\n"
           "definition: x\\n  y\n");
    expect("<table><tr><td>a<td><table><tr><td>i<td>j</table><tr><td>c<td>d"
           "</table><pre>a<br>b<br/>c</pre>",
           "# \nparagraph: a\ntable: i\\tj\nparagraph: c\nparagraph: d\n"
           "code: a\\nb\\nc\n");
}

static void test_tables(void **state)
{
    (void)state;
    expect("<table><caption>Cap</caption><thead><tr><th>A</th><th>B</th></tr>"
           "</thead><tr><td>1</td><td></td><td><p>x</p><p>y</p></td></tr>"
           "<tr><td></td><td>2\n 3</td></tr></table>",
           "# \nparagraph: Cap\ntable(head=1): A\\tB\\n1\\t\\tx y\\n\\t2 3\n");
    expect("<table><tr><td><p>lay</p><pre>out</pre></td></tr></table>",
           "# \nparagraph: lay\ncode: out\n");
    expect("<table><tr><th rowspan=2>A<th colspan=2>B<th>C<tr><th>b<th>c<th>d"
           "<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td colspan=x>5</table>",
           "# \ntable(head=2): A\\tB\\t\\tC\\n\\tb\\tc\\td\\n1\\t2\\t3"
           "\\n\\t4\\t5\n");
    expect("<table>stray<tr><td>cell</table>",
           "# \nparagraph: stray\ntable: cell\n");
}

static void test_definitions(void **state)
{
    (void)state;
    expect("<dl><dt>a</dt><dt>b</dt><dd><p>one</p><p>two</p></dd>"
           "<dt>c<dd>three<ul><li>x</ul>four</dl>",
           "# \ndefinition: a, b\\n  one\\n  two\n"
           "definition: c\\n  three\nlist: - x\ndefinition:   four\n");
}

static void test_notes_and_quotes(void **state)
{
    (void)state;
    expect("<div class=tip><h3 class=title>Tip</h3><p>one<p>two</div>"
           "<div class='admonition warning'><p class=admonition-title>Warning"
           "</p><p>hot</p><ul><li>x</ul></div>"
           "<div class=note><h3 class=title>Old names</h3><p>n</div>"
           "<blockquote><p>said</blockquote>",
           "# \nnote(tip): one\nnote(tip): two\nnote(warning): "
           "hot\nlist(warning): - x\n"
           "note(note): Old names\nnote(note): n\nquote: said\n");
    /* AsciiDoc's kind is in its label, Doxygen's note is a list of one. */
    expect("<div class=admonitionblock><table><tr><td class=icon><div "
           "class=title>Caution</div></td><td class=content>c</td></tr></table>"
           "</div><div class=admonitionblock><table><tr><td class=icon><img "
           "alt=Tip></td><td class=content>t</td></tr></table></div>"
           "<dl class='section see'><dt>See also</dt><dd>s</dd></dl>"
           "<dl class='section return'><dt>Returns</dt><dd>r</dd></dl>",
           "# \nnote(caution): c\nnote(tip): t\nnote(see): s\n"
           "definition: Returns\\n  r\n");
}

/* TeX, wherever a page has it. */
static void test_tex(void **state)
{
    (void)state;
    expect("<p>a <math alttext='x^2'><msup><mi>x</mi><mn>2</mn></msup></math> "
           "b <math><semantics><mi>y</mi><annotation encoding=LaTeX>\\psi"
           "</annotation></semantics></math> c <math><semantics><mi>z</mi>"
           "<annotation encoding=Maple>zed</annotation><annotation-xml>"
           "<ci>z</ci></annotation-xml></semantics></math>",
           "# \nparagraph: a x^2 b \\psi c z\n");
    expect(
        "<p>a <script type='math/tex'>x < y</script> b<script type='math/tex;"
        " mode=display'>\\sum</script>c <span class=MathJax_Preview>S</span>"
        "<math display=block alttext='\\int f'><mo>∫</mo></math>d",
        "# \nparagraph: a x < y b\nmath: \\sum\nparagraph: c\n"
        "math: \\int f\nparagraph: d\n");
    expect("<p>so \\(a < b\\) is <img class=math src=i.png alt='E=mc^2'> or "
           "<img class=formulaInl alt='$ q $'>.<p class=formulaDsp><img "
           "class=formulaDsp alt='\\[ s \\]'></p><div class=math><p><img "
           "alt='x_1'></p></div>",
           "# \nparagraph: so \\(a < b\\) is E=mc^2 or $ q $.\n"
           "math: \\[ s \\]\nmath: x_1\n");
    expect("<span class=katex><span class=katex-mathml><math><semantics><mi>k"
           "</mi><annotation encoding='application/x-tex'>\\kappa</annotation>"
           "</semantics></math></span><span aria-hidden=true>k</span></span>",
           "# \nparagraph: \\kappa\n");
    expect("<ul><li>a <math display=block><mi>x</mi></math> b</ul>",
           "# \nlist: - a\nmath: x\nlist: b\n");
}

/* Signs say nothing, and links that are but an image turn pages. */
static void test_images(void **state)
{
    (void)state;
    expect("<p><img alt=Logo> a <img alt='-'> <img alt=Logo></p>",
           "# \nparagraph: a\nfigure: Logo\n");
    expect("<p>a <a href=b><img alt=Next></a></p>", "# \nparagraph: a\n");
    expect(
        "<p>a <a href=#b><img alt=There></a> <a href=b.PNG><img alt=Big></a>",
        "# \nparagraph: a\nfigure: There\nfigure: Big\n");
    expect("<p>a <a href='#top'><img alt=Top></a></p>", "# \nparagraph: a\n");
    expect("<table><tr><td><a href='#b'><img alt='Line width'></a><td><a "
           "href='b.png'><img alt='A cat'></a><td><a href=b><img alt=Next></a>"
           "<td>x</table>",
           "# \ntable: Line width\\tA cat\\t\\tx\n");
    expect("<ul><li><img alt='\u2022'>one <img alt='\u6ce8'>two "
           "<img alt='\u2192 \u00bb'>three</ul>",
           "# \nlist: - one \u6ce8 two three\n");
    expect("<p>a <img alt='\u2014\u2014'> b <img alt='\u00c9t\u00e9'>",
           "# \nparagraph: a b\nfigure: \u00c9t\u00e9\n");
    expect("<ul><li><img alt='*'>one <img alt=File>menu</ul>",
           "# \nlist: - one File menu\n");
    expect("<table><tr><td><img alt=yes><td>b<td><a href=b><img alt=up></a>"
           "</table>",
           "# \ntable: yes\\tb\n");
    expect("<div class=note><img alt='[Note]'>a</div>", "# \nnote(note): a\n");
    static const char map[] =
        "<map><area href=a.html alt='Part A'><area alt='Part B'></map>";
    struct buf page = {0};
    buf_printf(&page, "<p>a</p>%s", map);
    expect(page.data, "# \nparagraph: a\nfigure: Part A\nfigure: Part B\n");
    expect(map, "# \n"); /* the page is a menu in a frame */
    buf_free(&page);
}

static void test_noframes(void **state)
{
    (void)state;
    expect("<frameset><frame src=a.html><noframes>Go to <a href=b.html>b</a>"
           " &amp; read.</noframes></frameset>",
           "# \nparagraph: Go to b & read.\n");
    expect("<body><p>a<noframes>b</noframes></body>", "# \nparagraph: a\n");
}

/* ---- Pages ---- */

static void test_chrome(void **state)
{
    (void)state;
    static const char html[] =
        "<head><title>T</title><link rel=next href=sibling.html><link rel=next "
        "href=n.html></head>"
        "<div class=navheader><a accesskey=u href=up.html>Up</a>"
        "<a accesskey=p href=p.html>Prev</a></div><nav>nav</nav>"
        "<script>var a = '<p>no</p>';</script><style>p {}</style>"
        "<div hidden>h</div><i aria-hidden=true>i</i><div role=search>s</div>"
        "<h1>T</h1><p>text<div class=toc>toc</div><footer>f</footer>";
    expect(html, "# T\nparagraph: text\n");
    expect("<p>a<div class=header><p>Up: <a href=x>X</a> [<a href=i rel=index>"
           "Index</a>]</p></div>",
           "# \nparagraph: a\n");
    expect(
        "<table class=nav_table><tr><td>[<a href=t rel=start>Top</a>]<td>[<a "
        "href=n>Next &gt;</a>]</table><p>a",
        "# \nparagraph: a\n");
    /* What has such a link far within is none. */
    struct buf page = {0};
    buf_put_text(&page, "<div class=header><p>a");
    for (int i = 0; i < 400; i++)
        buf_put_text(&page, "<br>");
    buf_put_text(&page, "<a rel=next href=n>b</a></div>");
    expect(page.data, "# \nparagraph: a b\n");
    buf_free(&page);
    struct tree *tree = parse(html);
    assert_true(slice_is(tree->page.title, "T"));
    assert_true(slice_is(tree->page.up, "up.html"));
    assert_true(slice_is(tree->page.prev, "p.html"));
    assert_true(slice_is(tree->page.next, "n.html"));
    assert_int_equal(tree->page.role, PAGE_CONTENT);
    tree_free(tree);
}

/* No space is needed between attributes; of those some are not read. */
static void test_glued_attributes(void **state)
{
    (void)state;
    static const char html[] =
        "<h1>T</h1><table border=\"0\"class=\"x\"><tr><td align='l'colspan=2>a"
        "<td title=''id='i'>b</table><p>c<a title=\"t\"href='y.html'>d</a>"
        "<img border=\"0\"alt=\"Two words\"/><p lang=\"\"/class=\"note\">e";
    expect(html, "# T\ntable: a\\t\\tb\nparagraph: cd\nfigure: Two words\n"
                 "note(note): e\n");
    struct tree *tree = parse(html);
    assert_int_equal(tree->nodes[0].ref_count, 1);
    assert_true(slice_is(tree->nodes[0].refs[0].url, "y.html"));
    tree_free(tree);
}

/* What is left out can be had, with the reason. */
static void test_dropped(void **state)
{
    (void)state;
    static const char html[] =
        "<head><title>T</title></head><div class=navheader><a href=p>Prev</a>"
        "</div><h1>T</h1>a<!-- c --><script>s</script><div class=toc>toc</div>"
        "<h2 id=b>B<a class=headerlink href='#b'>¶</a></h2><p>b <b hidden>h "
        "<i>i</i></b><div class=note><h3>Note</h3>n</div><select><option>1"
        "<option>2</select><footer><p>f<p>g</footer>";
    struct tree *tree = NULL;
    struct err err = {0};
    assert_int_equal(
        parser_boilerplate(parser, slice_of(html), PARSER_HTML, &tree, &err),
        0);
    struct buf out = show(tree);
    assert_string_equal(out.data, "# T\nparagraph(navigation): Prev\n"
                                  "paragraph(contents): toc\n"
                                  "## B {b}\nparagraph(permalink): ¶\n"
                                  "paragraph(hidden): h i\n"
                                  "paragraph(label): Note\n"
                                  "paragraph(control): 1 2\n"
                                  "paragraph(footer): f g\n");
    struct span span = tree->nodes[1].blocks[4].origin.span;
    assert_int_equal(span.from, strstr(html, "f<p>g") - html);
    assert_int_equal(span.to, strstr(html, "</footer>") - html);
    buf_free(&out);
    tree_free(tree);
    static const char index[] =
        "<title>Index</title><h1>Index</h1><div class=index><dl><dt>abort, "
        "<a href=x>ABORT</a></dl></div>";
    assert_int_equal(
        parser_boilerplate(parser, slice_of(index), PARSER_HTML, &tree, &err),
        0);
    out = show(tree);
    assert_string_equal(out.data, "# Index\ndefinition(index): abort, ABORT\n");
    buf_free(&out);
    tree_free(tree);
}

static void expect_page(const char *html, int role, uint32_t nodes)
{
    struct tree *tree = parse(html);
    assert_int_equal(tree->page.role, role);
    assert_int_equal(tree->count, nodes);
    for (uint32_t n = 0; role != PAGE_CONTENT && n < nodes; n++)
        assert_int_equal(tree->nodes[n].block_count, 0);
    tree_free(tree);
}

static void test_roles(void **state)
{
    (void)state;
    expect_page("<title>Index</title><div class=index><h1>Index</h1>"
                "<div class=indexdiv><h3>A</h3><dl><dt>abort, "
                "<a href=x>ABORT</a></dl></div></div>",
                PAGE_INDEX, 2);
    expect_page("<h1>Concept Index</h1><a href=#a>A</a><a href=#b>B</a>"
                "<a href=#c>C</a><a href=#d>D</a><a href=#e>E</a>"
                "<p><a href=x>apple and pear</a>",
                PAGE_INDEX, 1);
    expect_page("<title>P-Index: Works</title><a href=a>A</a> <a href=b>B</a> "
                "<a href=c>C</a> <a href=o>O</a> <a href=p>P</a><h2>P</h2><dl>"
                "<dt><a href=x>pipes</a>, of iron<dt><a href=y>pumps</a></dl>",
                PAGE_INDEX, 1);
    expect_page("<title>P-Index: Works</title><p>What P-Index means.",
                PAGE_CONTENT, 1);
    expect_page("<title>Index</title><h1>Index</h1><p>Indexes are structures "
                "that make searches fast.",
                PAGE_CONTENT, 1);
    expect_page("<meta http-equiv=refresh content='0; url=a.html'>Moved.",
                PAGE_REDIRECT, 1);
    /* LibreOffice: only browsers without scripts are sent away. */
    expect_page("<head><noscript><meta http-equiv=refresh content='0; "
                "url=a.html'></noscript></head><h1>Status Bar</h1><p>Shows it.",
                PAGE_CONTENT, 1);
    expect_page("<head><script>location = 'a.html'</script><noscript><meta "
                "http-equiv=refresh content='0; url=a.html'></noscript></head>"
                "<p>Moved.",
                PAGE_REDIRECT, 1);
    expect_page("<title>Search</title><h1>Search</h1><form><input></form>",
                PAGE_SEARCH, 1);
    expect_page("<title>Search — Pump 1.0</title><nav><input type=text></nav>"
                "<p>Pump 1.0",
                PAGE_SEARCH, 1);
    expect_page("<title>Pump 1.0</title><header><input type=search></header>"
                "<h1>Search Results</h1><p>None yet.",
                PAGE_SEARCH, 1);
    expect_page("<title>Search tables</title><aside><div><input type=search>"
                "</div></aside><h1>Search tables</h1><p>By a form.",
                PAGE_CONTENT, 1);
}

/* "name > url", a line each. */
static void expect_aliases(const char *html, const char *expected)
{
    struct tree *tree = parse(html);
    struct buf out = {0};
    buf_put_text(&out, "");
    for (uint32_t i = 0; i < tree->page.alias_count; i++) {
        buf_put_slice(&out, tree->page.aliases[i].text);
        buf_put_text(&out, " > ");
        buf_put_slice(&out, tree->page.aliases[i].url);
        buf_put_byte(&out, '\n');
    }
    assert_string_equal(out.data, expected);
    buf_free(&out);
    tree_free(tree);
}

static void test_aliases(void **state)
{
    (void)state;
    /* DocBook: the links read as the sections do. */
    expect_aliases(
        "<title>Index</title><div class=index><h1>Index</h1>"
        "<div class=indexdiv><h3>I</h3><dl><dt>indexes, <a href=i.html>Indexes"
        "</a></dt><dd><dl><dt>partial, <a href=p.html#x>Partial</a>, <a "
        "href=q.html>Others</a></dt><dt>unique, see <a href=#u>u</a></dt></dl>"
        "</dd><dt>IPC, <a href=ipc.html>Kernel</a></dt></dl></div></div>",
        "indexes > i.html\nindexes, partial > p.html#x\n"
        "indexes, partial > q.html\nIPC > ipc.html\n");
    /* Sphinx: they read as the entries do. */
    expect_aliases(
        "<title>Index</title><h1>Index &ndash; P</h1><div "
        "class=genindex-jumpbox"
        "><a href=#A>A</a> | <a href=#B>B</a> | <a href=#C>C</a> | <a href=#D>D"
        "</a> | <a href=#P>P</a></div><h2>P</h2><table class=genindextable><tr>"
        "<td><ul><li><a href=s.html#pack>pack() (in module struct)</a><ul><li>"
        "<a href=s.html#Struct.pack>(struct.Struct method)</a></ul>"
        "<li><a href=g.html><strong>package</strong></a>, <a "
        "href=r.html>[1]</a>"
        "<ul><li><a href=n.html>namespace</a></ul></ul></table>",
        "pack() (in module struct) > s.html#pack\n"
        "pack() (struct.Struct method) > s.html#Struct.pack\n"
        "package > g.html\npackage > r.html\npackage, namespace > n.html\n");
    /* Texinfo: a row each.  Scribble: a line each. */
    expect_aliases(
        "<h1>Function Index</h1><a href=#a>A</a><a href=#b>B</a>"
        "<a href=#c>C</a><a href=#d>D</a><a href=#e>E</a><table><tr><th>A</th>"
        "<tr><td><a href='C.html#index-abs'><code>abs</code></a>:</td><td><a "
        "href=C.html>Complex</a></td></tr></table>"
        "<p><a href=x.html>one<br></a><a href=y.html>two<br></a>",
        "abs > C.html#index-abs\nabs > C.html\none > x.html\ntwo > y.html\n");
    expect_aliases("<h1>Text</h1><dl><dt>a, <a href=x>b</a></dl>", "");
    /* An index that is a part of a page. */
    expect_aliases(
        "<h1>Book</h1><p>See <a href=#C>C</a>.<h2 id=C>C</h2>Text<h2>Variables"
        "</h2><table><tr><th>Jump to: <a href=#i_C><b>C</b></a></table><table "
        "class=index-ev><tr><th>Entry<tr><th id=i_C>C<tr><td><a href=#index-CC>"
        "<code>CC</code></a>:<td><a href=#C>The C compiler</a></table><p>End",
        "CC > #index-CC\nCC > #C\n");
    /* pkgdown: several before what the page is for. */
    expect_aliases(
        "<div class=\"container template-reference-index\"><a href=../x.html>x"
        "</a><h1>Reference</h1><dl><dt><code><a href=p.html>pump()</a></code> "
        "<code><a href=p.html>lift()</a></code></dt><dd>Water, see <a "
        "href=w.html>it</a></dd></dl><table><tr><td><code><a href=v.html>valve"
        "</a></code><td>Air</table></div>",
        "pump() > p.html\nlift() > p.html\nvalve > v.html\n");
}

/* What is too long for a name costs no more than being read once. */
static void test_endless_entries(void **state)
{
    (void)state;
    struct buf page = {0}, text = {0};
    for (int i = 0; i < 200000; i++)
        buf_put_text(&text, "long ");
    buf_put_text(&page, "<title>Index</title><div class=index><ul><li>a "
                        "<a href=x>x</a><li>");
    buf_put_slice(&page, buf_slice(&text));
    buf_put_text(&page, "<ul>");
    for (int i = 0; i < 20000; i++)
        buf_put_text(&page, "<li>b <a href=y>y</a>");
    buf_put_text(&page, "</ul><li>c <a href=z>z</a></ul></div>");
    expect_aliases(page.data, "a > x\nc > z\n");
    buf_free(&page);
    buf_free(&text);
}

static void test_xhtml(void **state)
{
    (void)state;
    expect("<?xml version='1.0'?><html><head><title/></head><body>"
           "<h1><a id='x'/>T</h1><p/>a<div/>b<br/>\nc<script src='s'/>d"
           "</body></html>",
           "# T {x}\nparagraph: a\nparagraph: b cd\n");
}

/* ---- Places in the file ---- */

static const char page[] =
    "<title>T</title>\r\n<h1>T &mdash; <i>x</i></h1>\r\n"
    "<p>\r\n Caf\xe9 &lt;b&gt; <b>bold</b>ly &amp more &#8364;\r\n</p>"
    "<pre>\r\n a\r\n  b &amp;\xe9 <i>c</i>\r\n</pre>stray<!-- no -->text</x>er"
    "<ul><li> on\xe9 <li>two<ul><li>three</ul></ul>"
    "<table><tr><td> a &copy </td><td>b</td></tr></table>"
    "<dl><dt>t</dt><dd> d&eacute;f </dd></dl>"
    "<div class=note><h3>Note</h3><p>n &hellip; m</p></div>";

static void test_spans(void **state)
{
    (void)state;
    check_spans(slice_of(page), 7);
}

static void test_spans_utf8(void **state)
{
    (void)state;
    struct buf utf8 = {0};
    buf_put_text(&utf8, "\xef\xbb\xbf");
    for (const char *at = page; *at; at++)
        text_encode(&utf8, (unsigned char)*at);
    check_spans(buf_slice(&utf8), 7);
    buf_free(&utf8);
}

static void test_latin1(void **state)
{
    (void)state;
    expect("<title>\xc4</title><h1>\xc4</h1>caf\xe9 \x93q\x94 <a id='\xe9'>x"
           "</a><textarea title='\xe9\xe9'>\xe9z</textarea>",
           "# Ä\nparagraph: café “q” x\ncode: éz\n");
    static const char html[] = "<b title='\xe9\xe9'></b><textarea title='\xe9'>"
                               "\xe9z</textarea>";
    struct tree *tree = parse(html);
    struct span span = tree->nodes[0].blocks[0].origin.span;
    assert_int_equal(span.from, strlen(html) - strlen("\xe9z</textarea>"));
    assert_int_equal(span.to, span.from + 2);
    tree_free(tree);
}

static void expect_encoding(const char *html, int encoding, const char *shown)
{
    struct tree *tree = parse(html);
    struct buf out = show(tree);
    assert_int_equal(tree->page.encoding, encoding);
    assert_string_equal(out.data, shown);
    buf_free(&out);
    tree_free(tree);
}

/* One bad byte does not make a page of UTF-8 one of another encoding. */
static void test_broken_utf8(void **state)
{
    (void)state;
    expect_encoding("<meta charset=utf-8><p>\xe9", ENCODING_UTF8,
                    "# \nparagraph: �\n");
    expect_encoding("<META http-equiv=x content='text/html; Charset = UTF-8'>"
                    "<p>\xe9t\xe9 <a title='\xe9' id='é\xe9'>x",
                    ENCODING_UTF8, "# \nparagraph: �t� x\n");
    expect_encoding("<?xml version='1.0' encoding='utf-8'?><p>\xe9",
                    ENCODING_UTF8, "# \nparagraph: �\n");
    expect_encoding("\xef\xbb\xbf<p>\xe9", ENCODING_UTF8, "# \nparagraph: �\n");
    expect_encoding("<p>é\xe9é", ENCODING_UTF8, "# \nparagraph: é�é\n");
    expect_encoding("<p>é\xe9", ENCODING_WINDOWS_1252, "# \nparagraph: Ã©é\n");
    expect_encoding("<!-- <meta charset=utf-8> --><meta charset=latin1>"
                    "<meta charset=utf-8><p>\xe9",
                    ENCODING_WINDOWS_1252, "# \nparagraph: é\n");
    expect_encoding("<p>\x96\xda\x8e\x9f\x82\xe0\x82\xad\x82\xb6\x83\x56",
                    ENCODING_SHIFT_JIS, "# \nparagraph: 目次もくじシ\n");
    expect_encoding("<p>\x96\xda\x8e\x9f\x82\xe0\x82\xad\x82\xb6\x82",
                    ENCODING_WINDOWS_1252, "# \nparagraph: –ÚŽŸ‚à‚\u00ad‚¶‚\n");
    expect_encoding("<p>\x83"
                    "x \x83"
                    "y \x83"
                    "z \x83"
                    "w",
                    ENCODING_WINDOWS_1252, "# \nparagraph: ƒx ƒy ƒz ƒw\n");
    expect_encoding("<meta charset=latin1><p>é", ENCODING_UTF8,
                    "# \nparagraph: é\n");
    check_spans(slice_of("<meta charset=utf-8><b title='\xff\xc3'></b><p>é \xe9"
                         "x\xc3 <b>&eacute;y</b>z\xe2\x82<pre>\xe9</pre>"),
                2);
    /* A part is read as the whole is: here, none of it would be bad. */
    check_spans(slice_of("<p>\xc3\xa9<p>\xe9"), 2);
}

static void test_origins(void **state)
{
    (void)state;
    static const char html[] = "<div class=sect1><h1>A</h1><p>one</p><p>two</p>"
                               "<div class=sect2><h2>B</h2></div>three</div>";
    struct tree *tree = parse(html);
    const struct node *node = &tree->nodes[0];
    assert_int_equal(node->origin_count, 2);
    assert_int_equal(node->origins[0].span.from, strstr(html, "A<") - html);
    assert_int_equal(node->origins[0].span.to, strstr(html, "two") + 3 - html);
    assert_int_equal(node->origins[1].span.from, strstr(html, "three") - html);
    assert_int_equal(tree->nodes[1].origin_count, 1);
    tree_free(tree);
}

/* ---- Parts of a file ---- */

static void expect_text_in(enum encoding encoding, const char *html,
                           const char *text)
{
    struct buf out = {0}, places = {0};
    read_part(slice_of(html), encoding, &out, &places);
    assert_string_equal(out.data ? out.data : "", text);
    buf_free(&out);
    buf_free(&places);
}

static void expect_text(const char *html, const char *text)
{
    expect_text_in(ENCODING_UTF8, html, text);
}

static void test_fragments(void **state)
{
    (void)state;
    expect_text_in(ENCODING_WINDOWS_1252, "é\x93", "Ã©“");
    expect_text("é\x93\x07\x1b[0m&#7;", "é�[0m");
    expect_text("", "");
    expect_text("b</td><td>c</td></tr>d<tr>e</table>", "bcde");
    expect_text(" a\n<b>&nbsp;b</b>&lt;i> c ", "a b<i> c");
    expect_text("a<script>x < y</script>b<style>s</style>c<!-- > -->d", "abcd");
    expect_text("1 < 2 & 3 &unknown; &ampx &notin; &#0; &#x80;",
                "1 < 2 & 3 &unknown; &x ∉ � €");
    expect_text("<a title='>'>x</a", "x");
}

static void test_fragment_places(void **state)
{
    (void)state;
    struct buf text = {0}, places = {0};
    static const char html[] = " a <b>\n&eacute;</b>\r\nz";
    read_part(slice_of(html), ENCODING_UTF8, &text, &places);
    assert_string_equal(text.data, "a é z");
    /* white space ends where the tag begins that is in it */
    static const struct text_place wanted[] = {{1, 2},  {2, 3},   {7, 15},
                                               {7, 15}, {19, 21}, {21, 22}};
    assert_int_equal(places.size, sizeof wanted);
    assert_memory_equal(places.data, wanted, sizeof wanted);
    buf_free(&text);
    buf_free(&places);
}

/* A file with `html`, its first block, and what of it can be quoted. */
static void expect_quote(const char *html, const char *quoted, bool whole)
{
    char folder[] = "/tmp/lectern-quote-XXXXXX", name[] = "a.html";
    struct buf path = {0};
    assert_non_null(mkdtemp(folder));
    file_join(&path, folder, name);
    FILE *file = fopen(path.data, "w");
    assert_non_null(file);
    fputs(html, file);
    fclose(file);

    struct slice files[] = {slice_of(name)};
    struct tree outline = {.files = files, .file_count = 1};
    struct view view = {.manual = {.root = folder}, .outline = &outline};
    struct tree *tree = parse(html);
    const struct block *block = &tree->nodes[0].blocks[0];
    struct passage passage = {.view = &view,
                              .text = block->text,
                              .block = block->origin,
                              .encoding = tree->page.encoding};
    struct quote quote;
    struct err err = {0};
    if (quote_check(parser, &passage, &quote, &err))
        fail_msg("%s", err.message);
    assert_string_equal(quote.text.data, quoted);
    assert_int_equal(quote.whole, whole);
    quote_free(&quote);
    tree_free(tree);
    remove(path.data);
    remove(folder);
    buf_free(&path);
}

static void test_quotes(void **state)
{
    (void)state;
    expect_quote("<p>one <b>two</b>\n three", "one two three", true);
    expect_quote("<p>before <b class=headerlink>x</b> after", "before", true);
    /* The file's encoding, not that which the quoted part seems to have. */
    expect_quote("<p>\xc3\xa9 \xe9 <p>\xe9 \xe9", "Ã© é", true);
    expect_quote("<meta charset=utf-8><p>caf\xe9 cr\xc3\xa8me", "caf� crème",
                 true);
    /* Signs that are drawn. */
    expect_quote("<p>(in <math><mfrac><mrow><mo> &Omega; </mo>\n</mrow><mrow>"
                 "<mi> R </mi></mrow></mfrac></math>) as 1<sup>2</sup>",
                 "(in Ω/R ) as 1^2", true);
    expect_quote("<p><math><msqrt><mi>x</mi><mo>-</mo><mn>1</mn>\n"
                 "<msup><mn>0</mn><mn>3</mn></msup></msqrt></math>",
                 "√(x-10^3)", true);
    /* A list goes on past what is left out: the longest that stands there. */
    expect_quote("<ul><li>one <b class=headerlink>x</b> two; and three</ul>",
                 "and three", false);
    expect_quote("<dl><dt>t<dd>d e. f g <b class=headerlink>x</b><dd>h i</dl>",
                 "d e. f g", false);
}

/* EPICS: what a table is called is a heading in its caption, and a cell holds another
 * table; its rows are rows all the same. */
static void test_headed_tables(void **state)
{
    (void)state;
    expect("<h1>Record</h1><table><caption><a name=limits></a><h2>Limits</h2>"
           "</caption><tr><th>Name<th>Access<th>Comments<tr><td>HLM<td>R/W<td>"
           "High limit.<tr><td colspan=3>Which holds:<p>always.<tr><td>SPMG<td>"
           "R<td>Mode: <table><tr><td>0<td>Stop</table></table>",
           "# Record\n## Limits {limits}\n"
           "table(head=1): Name\\tAccess\\tComments\\nHLM\\tR/W\\tHigh limit."
           "\\nWhich holds: always.\\nSPMG\\tR\\tMode:\\n0\\tStop\n");
    expect("<h1>A</h1><table><tr><td><h2>B</h2><p>b<td><table><tr><td>c<td>d"
           "</table></table>",
           "# A\n## B\nparagraph: b\ntable: c\\td\n");
    /* What a row is about is a header, too. */
    expect("<h1>A</h1><table><tr><th>Name<th>Alias<th>Use<tr><th>a<th>b<td>c"
           "<table><tr><td>d<td>e</table></table>",
           "# A\ntable(head=1): Name\\tAlias\\tUse\\na\\tb\\tc\\nd\\te\n");
    /* All of the page is in one cell. */
    expect("<h1>A</h1><table><tr><th>Back<th>Chapter 3<th>On<tr><td colspan=3>"
           "<p>b<ul><li>c</ul><table><tr><td>d<td>e</table></table>",
           "# A\nparagraph: Back\nparagraph: Chapter 3\nparagraph: On\n"
           "paragraph: b\nlist: - c\ntable: d\\te\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_headed_tables),
        TEST(test_reference_page),
        TEST(test_book_page),
        TEST(test_levels),
        TEST(test_printed_contents),
        TEST(test_sections),
        TEST(test_titles),
        TEST(test_anchors_and_refs),
        TEST(test_permalinks),
        TEST(test_link_text),
        TEST(test_paragraphs),
        TEST(test_code),
        TEST(test_language),
        TEST(test_excluded),
        TEST(test_controls),
        TEST(test_lists),
        TEST(test_ordinals),
        TEST(test_hidden),
        TEST(test_alternatives),
        TEST(test_odd_lists),
        TEST(test_tables),
        TEST(test_definitions),
        TEST(test_notes_and_quotes),
        TEST(test_tex),
        TEST(test_images),
        TEST(test_noframes),
        TEST(test_chrome),
        TEST(test_glued_attributes),
        TEST(test_dropped),
        TEST(test_roles),
        TEST(test_aliases),
        TEST(test_endless_entries),
        TEST(test_xhtml),
        TEST(test_spans),
        TEST(test_spans_utf8),
        TEST(test_latin1),
        TEST(test_broken_utf8),
        TEST(test_origins),
        TEST(test_fragments),
        TEST(test_fragment_places),
        TEST(test_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
