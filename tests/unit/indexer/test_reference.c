#include "tests/unit/support/parsing.h"

/* Reference entries of the tools that manuals are made with, and the lists of
 * contents they leave. */

#define WORDS                                                                  \
    "It has a meaning of more than a few words, which is what tells "          \
    "it from others."

static void test_sphinx(void **state)
{
    (void)state;
    expect(
        "<h1>T</h1><p>Lead<dl class='py class'><dt class='sig sig-object py'"
        " id=m.C><em>class </em><span class=descname>C</span>(x)<a"
        " class=headerlink href=#m.C>¶</a></dt><dd><p>About C."
        "<dl class='py method'><dt class=sig id=m.C.f><span class=descname>f"
        "</span>()</dt><dt class=sig id=m.C.g><span class=descname>g</span>()"
        "</dt><dd><p>Both.<dl class='field-list'><dt>Returns</dt><dd>x</dd>"
        "</dl></dd></dl><p>More of C.</dd></dl><p>Tail",
        "# T\nparagraph: Lead\nparagraph: Tail\n"
        "#* class C(x) {m.C}\nparagraph: About C.\nparagraph: More of C.\n"
        "##* f(), g() {m.C.f}\nparagraph: Both.\ndefinition: Returns\\n  x\n");
    expect("<h1>T</h1><dl class=function><dt id=f><code class=descname>f</code>"
           "<dd></dl>",
           "# T\n#* f {f}\ndefinition: f\n");
}

static void test_named_terms(void **state)
{
    (void)state;
    expect("<h1>T</h1><div class=variablelist><dl class=variablelist>"
           "<dt id=GUC-A><span class=term><code>a</code> (<code>int</code>)"
           "<a id=i1 class=indexterm></a></span> <a href='#GUC-A'"
           " class=id_link>#</a></dt><dd><p>" WORDS "</dd>"
           "<dt id=GUC-B><code>b</code></dt><dd><p>" WORDS
           "<dl><dt id=v><code>on</code><dd>" WORDS "</dl></dd></dl></div>",
           "# T\n#* a (int) {GUC-A}\nparagraph: " WORDS "\n"
           "#* b {GUC-B}\nparagraph: " WORDS "\ndefinition: on\\n  " WORDS
           "\n");
    expect("<h1>T</h1><dl>\n<dt>-a</dt>\n<dt>--all</dt>\n<dd>" WORDS "</dd>\n"
           "<dt>--none</dt>\n<dd>" WORDS "</dd></dl>",
           "# T\n#* -a, --all\nparagraph: " WORDS
           "\n#* --none\nparagraph: " WORDS "\n");
}

/* man2html's <DT><DD> goes on with what is above it. */
static void test_terms_without_words(void **state)
{
    (void)state;
    expect("<h1>T</h1><DL COMPACT><dt><b>Depend</b><a id=D></a></dt><dd>" WORDS
           "<DT><DD><DL COMPACT><DT><DD><DL COMPACT><dt><b>kill_it</b></dt><dd>"
           "It dies.<DT><DD><P><dt><b>keep_it</b></dt><dd>It stays."
           "<DT><DD></DL></DL><P><dt><b>Other</b><a id=O></a></dt><dd>" WORDS
           "<P>" WORDS "<P>" WORDS "<DT><DD>" WORDS "</DL>",
           "# T\n#* Depend {D}\nparagraph: " WORDS
           "\ndefinition: kill_it\\n  It dies.\ndefinition: keep_it\\n  It "
           "stays.\n#* Other {O}\nparagraph: " WORDS "\nparagraph: " WORDS
           "\nparagraph: " WORDS "\nparagraph: " WORDS "\n");
    expect("<h1>T</h1><dl><dt>on<dd>It runs.<dt><dd>It is warm.<dt>off<dd>No."
           "</dl>",
           "# T\ndefinition: on\\n  It runs.\\n  It is warm.\n"
           "definition: off\\n  No.\n");
    /* What has an anchor is another item. */
    expect("<h1>T</h1><dl><dt id=a>-a<dd>" WORDS
           "<dt><a name=c></a></dt><dd>" WORDS " Lost.<dt id=b>-b<dd>" WORDS
           "</dl>",
           "# T\nparagraph: " WORDS " Lost.\n#* -a {a}\nparagraph: " WORDS
           "\n#* -b {b}\nparagraph: " WORDS "\n");
    expect("<h1>T</h1><dl><dt>on<dd>It runs.<dt id=c></dt><dd>It is lost.</dl>",
           "# T\ndefinition: on\\n  It runs.\ndefinition:   It is lost.\n");
    /* Items without names, where none above them has one. */
    expect("<h1>T</h1><dl><dt>&nbsp;</dt><dd>One.<dt></dt><dd>Two.<dt>on<dd>It "
           "runs.<dt></dt><dd>It is warm.</dl>",
           "# T\ndefinition:   One.\ndefinition:   Two.\n"
           "definition: on\\n  It runs.\\n  It is warm.\n");
}

/* Terms that ask, of a FAQ. */
static void test_terms_that_ask(void **state)
{
    (void)state;
    expect("<h1>T</h1><dl><dt>How do I <b>start</b> it?\n</dt><dd>" WORDS
           "</dd><dt>Why <code>off</code>?<dd>" WORDS "</dd></dl>",
           "# T\n#* How do I start it?\nparagraph: " WORDS
           "\n#* Why off?\nparagraph: " WORDS "\n");
    /* Not one alone, nor a line of answer. */
    expect("<h1>T</h1><dl><dt>Why?<dd>" WORDS "</dl><dl><dt>On?<dd>No.<dt>Off?"
           "<dd>Yes.</dl>",
           "# T\ndefinition: Why?\\n  " WORDS
           "\ndefinition: On?\\n  No.\ndefinition: Off?\\n  Yes.\n");
    /* Signs that end so ask nothing. */
    expect("<h1>T</h1><dl><dt>*?<dd>" WORDS "<dt>a+?<dd>" WORDS "</dl>",
           "# T\ndefinition: *?\\n  " WORDS "\ndefinition: a+?\\n  " WORDS
           "\n");
}

/* Terms in prose, when each has an anchor and a section's worth of text. */
static void test_long_meanings(void **state)
{
    (void)state;
    expect("<h1>T</h1><dl><hr><dt><img alt=''><a name=box>(BOX)</a><dd>" WORDS
           "<p>" WORDS "<p>" WORDS "<dt><a name=arc>(ARC)</a><dd>" WORDS
           "<p>" WORDS "</dl>",
           "# T\n#* (BOX) {box}\nparagraph: " WORDS "\nparagraph: " WORDS
           "\nparagraph: " WORDS "\n#* (ARC) {arc}\nparagraph: " WORDS
           "\nparagraph: " WORDS "\n");
    /* Japanese has no spaces: 80 characters are 40 words. */
    struct buf html = {0};
    buf_put_text(&html, "<h1>T</h1><dl><dt id=a>x<dd>");
    for (int i = 0; i < 80; i++)
        buf_put_text(&html, "語");
    struct tree *tree = parse(html.data);
    assert_int_equal(tree->count, 2);
    assert_true(tree->nodes[1].entry);
    tree_free(tree);
    buf_free(&html);
}

static void test_definitions_stay(void **state)
{
    (void)state;
    expect("<dl><dt id=a><code>a</code><dd>short<dt id=b><code>b</code><dd>"
           "short</dl><dl><dt>- 1<dd>" WORDS "</dl>"
           "<dl class=glossary><dt id=g><code>g</code><dd>" WORDS "</dl>"
           "<dl><dt id=p>prose<dd>" WORDS "</dl>",
           "# \ndefinition: a\\n  short\ndefinition: b\\n  short\n"
           "definition: - 1\\n  " WORDS "\ndefinition: g\\n  " WORDS "\n"
           "definition: prose\\n  " WORDS "\n");
}

#define TEN_TIMES(x) x x x x x x x x x x
#define MUCH         TEN_TIMES(WORDS " ")

/* What `each` makes of each number, of 10 to 9 + count, in one page. */
static struct tree *parse_many(int count, const char *before, const char *each,
                               const char *after)
{
    struct buf html = {0};
    buf_printf(&html, "<h1>T</h1>%s", before);
    for (int i = 10; i < 10 + count; i++)
        for (const char *at = each; *at; at++) {
            if (*at == '@')
                buf_printf(&html, "%d", i);
            else
                buf_put_byte(&html, *at);
        }
    buf_put_text(&html, after);
    struct tree *tree = parse(html.data);
    buf_free(&html);
    return tree;
}

/* The first one's title and anchor, and that all are entries. */
static void expect_many(const char *before, const char *each, const char *after,
                        const char *title, const char *anchor)
{
    struct tree *tree = parse_many(9, before, each, after);
    assert_int_equal(tree->count, 10);
    for (uint32_t n = 1; n < tree->count; n++) {
        assert_true(tree->nodes[n].entry);
        assert_true(tree->nodes[n].block_count > 0);
    }
    struct slice given = tree->nodes[1].title;
    assert_int_equal(given.size, strlen(title));
    assert_memory_equal(given.data, title, given.size);
    assert_int_equal(tree->nodes[1].anchor.size, strlen(anchor));
    assert_memory_equal(tree->nodes[1].anchor.data, anchor, strlen(anchor));
    tree_free(tree);
}

static void expect_none(int count, const char *before, const char *each,
                        const char *after)
{
    struct tree *tree = parse_many(count, before, each, after);
    assert_int_equal(tree->count, 1);
    tree_free(tree);
}

/* Git's variables, FFmpeg's options, Python's and DocBook's glossaries: nobody reads
 * such a list from one end to the other. */
static void test_long_lists(void **state)
{
    (void)state;
    expect_many("<div class=dlist><dl>",
                "<dt class=hdlist1>core.x@</dt><dd><p>" MUCH, "</dl></div>",
                "core.x10", "");
    expect_many("<dl compact>",
                "<dt><span><samp>b@ <var>n</var></samp></span><dd>" MUCH,
                "</dl>", "b10 n", "");
    expect_many("<dl class=glossary>", "<dt id=term-@>a term @<dd>" MUCH,
                "</dl>", "a term 10", "term-10");
    expect_many("<dl>",
                "<dt id=g@><span class=glossterm>Term @</span><dd>" MUCH,
                "</dl>", "Term 10", "g10");
}

/* Seven of them, short ones, an index, terms that are sentences or numbers nobody
 * knows. */
static void test_lists_that_are_read(void **state)
{
    (void)state;
    expect_none(7, "<dl>", "<dt>core.x@<dd>" MUCH, "</dl>");
    expect_none(9, "<dl>", "<dt>core.x@<dd>" WORDS, "</dl>");
    expect_none(9, "<dl>", "<dt><a href=x.html>core.x@</a><dd>" MUCH, "</dl>");
    expect_none(9, "<dl>", "<dt>" WORDS "<dd>" MUCH, "</dl>");
    expect_none(9, "<dl>", "<dt>R-12345-67890-@<dd>" MUCH, "</dl>");
    expect_none(9, "<dl class=footnote>", "<dt>x@<dd>" MUCH, "</dl>");
}

/* A list within an entry explains that, unless it is too long for an entry. */
static void test_long_lists_nest(void **state)
{
    (void)state;
    static const char before[] =
        "<dl><dt id=a><code>advice</code><dd>" WORDS "<dl>";
    struct tree *tree =
        parse_many(9, before, "<dt>x@<dd>" MUCH MUCH, "</dl></dl>");
    assert_int_equal(tree->count, 11);
    assert_int_equal(tree->nodes[2].parent, 1);
    tree_free(tree);
    tree = parse_many(9, before, "<dt>x@<dd>" MUCH, "</dl></dl>");
    assert_int_equal(tree->count, 2);
    tree_free(tree);
}

/* SQLite: the anchor stands above the term, between what is before and it. */
static void test_anchors_above_terms(void **state)
{
    (void)state;
    expect("<h1>T</h1><dl><a "
           "name=abs></a>\n<dt><p><b>abs(X)</b></p></dt><dd>" WORDS " " WORDS
           " " WORDS "</dd>\n<a name=hex></a> <a name=hex2></a><dt>hex(X)"
           "</dt><dd>" WORDS " " WORDS " " WORDS "</dd></dl>",
           "# T\n#* abs(X) {abs}\nparagraph: " WORDS " " WORDS " " WORDS
           "\n#* hex(X) {hex}\nparagraph: " WORDS " " WORDS " " WORDS "\n");
}

/* Tables whose rows are named: SQLite's opcodes. */
static void test_named_rows(void **state)
{
    (void)state;
    expect_many("<blockquote><table><tr><th>Name<th>Meaning</tr>",
                "<tr><td><a name=Op@></a>Op@<td>" MUCH, "</table></blockquote>",
                "Op10", "Op10");
    expect_many("<table>", "<tr id=op@><td>op@<td><p>" MUCH "<pre>x</pre>",
                "</table>", "op10", "op10");
    expect_many("<table>", /* several names, of which the first tells */
                "<tr "
                "id=op@><td>op@<br>n1<br>n2<br>n3<br>n4<br>n5<br>n6<br>n7<br>"
                "n8<br>n9<br>n10<br>n11<br>n12<br>n13<br>n14<br>n15<br>n16<br>"
                "n17<br>n18<br>n19<td>" MUCH,
                "</table>",
                "op10 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15 n16 "
                "n17 n18 n19",
                "op10");
    expect_many("<table>", /* a table in a cell does not make it a layout */
                "<tr id=op@><td>op@<td><p>" MUCH
                "<table><tr><td>a<td>b</table>",
                "</table>", "op10", "op10");
    expect_none(9, "<table>", "<tr><td>Op@<td>" MUCH, "</table>");
    expect_none(9, "<table>", "<tr><td><a name=Op@></a>Op@<td>" WORDS,
                "</table>");
    expect_none(9, "<table>", "<tr><td><a name=Op@></a>Op@<td>1<td>" MUCH,
                "</table>");
}

/* Items whose anchor is called as a name in them: SQLite's file controls. */
static void test_named_items(void **state)
{
    (void)state;
    expect_many("<ul>",
                "<li><a name=sqlitefcntl@></a>\nThe <a "
                "href='#x'>SQLITE_FCNTL_@</a> opcode. " MUCH "</li>",
                "</ul>", "SQLITE_FCNTL_10", "sqlitefcntl10");
    expect_many("<ul>", /* pod2html's */
                "<li><a name=item_y@></a><a name=y@></a><b>Y@ <i>number</i></b>"
                "<p>" MUCH "</li>",
                "</ul>", "Y10 number", "y10");
    expect_none(9, "<ul>", "<li><a name=x@></a>The <b>y@</b> is. " MUCH,
                "</ul>");
    expect_none(9, "<ul>", "<li><a name=x@></a><b>y@ <i>x</i></b> " MUCH,
                "</ul>");
    expect_none(9, "<ul>", "<li>The <b>y@</b> is. " MUCH, "</ul>");
    expect_none(7, "<ul>", "<li id=y@>The <b>y@</b> is. " MUCH, "</ul>");
    expect_none(9, "<ul>", "<li id=y@>The <b>y@</b> is. " WORDS, "</ul>");
}

/* Snd's manual: the code that says how it is called names it, too. */
static void test_defined_in_code(void **state)
{
    (void)state;
    expect("<h1>Pumps</h1><p>a<pre>\n<em class=def id=makepump>make-pump</em> "
           "pressure\n</pre><p>Makes one.<pre>(<em>x</em>)</pre><pre><em "
           "id=stop>stop-pump</em> p</pre><p>b",
           "# Pumps\nparagraph: a\n#* make-pump pressure {makepump}\n"
           "code: make-pump pressure\nparagraph: Makes one.\n"
           "code: (x)\ncode: stop-pump p\nparagraph: b\n");
}

/* What an anchor is called like: the end of a name, the number of a question, a
 * hidden line. */
static void test_labels_by_other_names(void **state)
{
    (void)state;
    expect_many(
        "",
        "<a name=enable_x@></a>\n<p><b>SQLITE_ENABLE_X@=<i>n</i></b></p>"
        "<blockquote>" WORDS "</blockquote>",
        "", "SQLITE_ENABLE_X10=n", "enable_x10");
    expect_many(
        "",
        "<a name=q@></a><p><b>(@) How do I do this?</b></p><blockquote>" WORDS
        "</blockquote>",
        "", "(10) How do I do this?", "q10");
    expect_many(
        "",
        "<a name=pragma_x@></a><h style='display:none'> PRAGMA x@</h><hr>"
        "<p><b>PRAGMA x@;</b><p>" WORDS,
        "", "PRAGMA x10", "pragma_x10");
    expect_none(9, "",
                "<a name=p@></a><p>(@) A paragraph with a number.</p><p>" WORDS,
                "");
    expect_none(
        9, "",
        "<a name=pragma_x@></a><h style='display:none'>Menu x@</h><p>" WORDS,
        "");
}

/* Labels of no known tool: a run of them, each with an anchor called like it. */
static void test_labels(void **state)
{
    (void)state;
    struct buf html = {0}, wanted = {0};
    buf_put_text(&html, "<h1>T</h1>");
    buf_put_text(&wanted, "# T\n");
    for (int i = 0; i < 8; i++) {
        buf_printf(&html,
                   "<a name='4-opt%d'></a><a name='opt %d'></a><div class=k><b>"
                   "opt%d</b> &lt;n&gt;</div><p>" WORDS "<div class=k>See "
                   "also</div>",
                   i, i, i);
        buf_printf(&wanted,
                   "#* opt%d <n> {opt %d}\nparagraph: " WORDS
                   "\nparagraph: See also\n",
                   i, i);
    }
    expect(html.data, wanted.data);
    buf_free(&html);
    buf_free(&wanted);
}

/* Forms of one keyword, each with its anchors, above one text. */
static void test_labels_of_one_entry(void **state)
{
    (void)state;
    struct buf html = {0}, wanted = {0};
    buf_put_text(&html, "<h1>T</h1>");
    buf_put_text(&wanted, "# T\n");
    for (int i = 0; i < 8; i++) {
        buf_printf(&html,
                   "<a name='opt'></a><a name='opt %d'></a><div class=k>opt %d"
                   "</div><a name='x'></a>\n<a name='no opt %d'></a><div "
                   "class=k>no opt %d</div><p>" WORDS WORDS "</p>",
                   i, i, i, i);
        buf_printf(&wanted,
                   "#* opt %d, no opt %d {opt %d}\nparagraph: " WORDS WORDS
                   "\n",
                   i, i, i);
    }
    expect(html.data, wanted.data);
    buf_free(&html);
    buf_free(&wanted);
}

static void expect_no_entries(int count, const char *open, const char *middle,
                              const char *close)
{
    struct buf html = {0};
    buf_put_text(&html, "<h1>T</h1>");
    for (int i = 10; i < 10 + count; i++)
        buf_printf(&html, "%s%d%s%d%s", open, i, middle, i, close);
    struct tree *tree = parse(html.data);
    assert_int_equal(tree->count, 1);
    tree_free(tree);
    buf_free(&html);
}

/* Anchors that are called otherwise, labels with little below, labels in lists,
 * few of them. */
static void test_labels_that_are_none(void **state)
{
    (void)state;
    expect_no_entries(20, "<p id=par", ">opt", "</p><p>" WORDS "</p>");
    expect_no_entries(20, "<p id=opt", ">opt", "</p><p>Short.</p>");
    expect_no_entries(20, "<ul><li><div id=opt", ">opt",
                      "</div><div>" WORDS "</div></ul>");
    expect_no_entries(7, "<p id=opt", ">opt", "</p><p>" WORDS "</p>");
}

static void test_texinfo(void **state)
{
    (void)state;
    expect("<h1>T</h1><a id=XREFf></a><dl class=def><dt id=index-f><span"
           " class=category>: </span><strong>f</strong> (<var>x</var>)<a"
           " href='#index-f' class=copiable-anchor> &para;</a></dt><dd>Does."
           "</dl>",
           "# T\n#* f (x) {index-f}\nparagraph: Does.\n");
}

static void test_doxygen(void **state)
{
    (void)state;
    expect("<h1>T</h1><h2 class=groupheader>Functions</h2><a id=a1></a>"
           "<h2 class=memtitle><span class=permalink><a href=#a1>◆&nbsp;</a>"
           "</span>f()</h2><div class=memitem><div class=memproto>int f()</div>"
           "<div class=memdoc><p>Does.</div></div>"
           "<h2 class=groupheader>Macros</h2><a class=anchor id=m></a>"
           "<div class=memitem><div class=memproto>#define M</div>"
           "<div class=memdoc>One.</div></div>",
           "# T\n## Functions\n##* f() {a1}\nparagraph: int f()\n"
           "paragraph: Does.\n## Macros\n##* #define M {m}\nparagraph: One.\n");
}

/* Lines of code are one block, but for those with numbers between. */
/* QDoc: what a type in QML has is a box with a table for its name. */
static void test_qml(void **state)
{
    (void)state;
    expect("<h1>Pump</h1><h2>Property Documentation</h2><div class=qmlitem>"
           "<div class=qmlproto><div class=table><table class=qmlname><tr "
           "id=rate-prop><td class=tblQmlPropNode><p><span class=name>rate"
           "</span> : <span class=type>int</span></table></div></div><div "
           "class=qmldoc><p>How fast.</div></div><div class=qmlitem><div "
           "class=qmlproto><p>run()</div><div class=qmldoc><p>Runs.</div>"
           "</div>",
           "# Pump\n## Property Documentation\n"
           "##* rate : int {rate-prop}\nparagraph: How fast.\n"
           "##* run()\nparagraph: Runs.\n");
}

static void test_doxygen_code(void **state)
{
    (void)state;
    expect("<h1>T</h1><p>As in <div class=fragment><div class=line>int a;"
           "</div>\n<div class=line>  b();</div>\n<div class=ttc><div "
           "class=ttname>b</div></div></div><p>After.",
           "# T\nparagraph: As in\ncode: int a;\\n  b();\nparagraph: After.\n");
    expect("<h1>T</h1><div class=fragment><div class=line><a id=l1></a><span "
           "class=lineno> 1</span>a;</div>\n<div class=line><span class=lineno>"
           " 2</span>b;</div></div>",
           "# T\nparagraph: a;\nparagraph: b;\n");
}

/* What a heading names has the heading's level. */
static void test_levels(void **state)
{
    (void)state;
    struct tree *tree = parse("<h1>T</h1><h2 class=memtitle>f()</h2><p>Does."
                              "<h2>Other</h2><p>x");
    assert_true(tree->nodes[1].entry && !tree->nodes[2].entry);
    assert_int_equal(tree->nodes[1].level, 2);
    assert_int_equal(tree->nodes[2].parent, 0);
    tree_free(tree);
}

static void test_rustdoc(void **state)
{
    (void)state;
    expect("<h1>Vec</h1><h2>Implementations</h2><details class='toggle "
           "implementors-toggle' open><summary><section id=impl class=impl>"
           "<h3 class=code-header>impl Vec</h3></section></summary>"
           "<div class=impl-items><details class='toggle method-toggle' open>"
           "<summary><section id=method.new class=method><span class=rightside"
           "><a href=s>source</a></span><h4 class=code-header>fn "
           "new()</h4></section>"
           "</summary><div class=docblock><p>Makes.<h5>Examples</h5>x</div>"
           "</details></div></details><h2>Traits</h2>",
           "# Vec\n## Implementations\n### impl Vec {impl}\n"
           "###* fn new() {method.new}\nparagraph: Makes.\n"
           "##### Examples\nparagraph: x\n## Traits\n");
}

static void test_javadoc(void **state)
{
    (void)state;
    expect("<h1>Class C</h1><ul class=blockList><li class=blockList>"
           "<h3>Method Detail</h3><a id='f()'></a><ul class=blockList>"
           "<li class=blockList><h4>f</h4><pre>void f()</pre>"
           "<div class=block>Does.</div></li></ul></li></ul>",
           "# Class C\n## Method Detail\n##* f {f()}\ncode: void f()\n"
           "paragraph: Does.\n");
    expect("<h1>Class C</h1><section class=method-details><h2>Methods</h2>"
           "<ul class=member-list><li><section class=detail id='f()'><h3>f</h3>"
           "<div>void f()</div></section></li></ul></section>",
           "# Class C\n## Methods\n##* f {f()}\nparagraph: void f()\n");
}

static void test_others(void **state)
{
    (void)state;
    expect("<h1>M</h1><div class=top><p class=src><a id=v:f class=def>f</a> :: "
           "Int</p><div class=doc><p>Does.</div></div>after",
           "# M\nparagraph: after\n#* f :: Int {v:f}\nparagraph: Does.\n");
    expect("<h1>M</h1><h3 class=fn id=f><a name=f></a>void f()</h3><p>Does.",
           "# M\n#* void f() {f}\nparagraph: Does.\n");
    expect("<h1>M</h1><pre><span id=VALf>val f</span> : int</pre>"
           "<div class=info>Does.</div>",
           "# M\n#* val f : int {VALf}\ncode: val f : int\nparagraph: Does.\n");
    expect(
        "<h1>M</h1><dl class=latex><dt class=pubdef><a id=f/1><b>f</b>(X)</a>"
        "</dt><dd class=defbody>Does.</dl>",
        "# M\n#* f(X) {f/1}\nparagraph: Does.\n");
}

/* A long signature is a title by its beginning, and whole in a block. */
static void test_long_signature(void **state)
{
    (void)state;
    struct buf html = {0};
    buf_put_text(&html, "<h1>T</h1><dl class=c><dt class=sig id=f>f(");
    for (int i = 0; i < 40; i++)
        buf_put_text(&html, "int éé, ");
    buf_put_text(&html, ")<dd>x</dl>");
    struct tree *tree = parse_bytes(buf_slice(&html));
    const struct node *entry = &tree->nodes[1];
    assert_true(entry->entry);
    assert_int_equal(entry->level, TREE_LEVEL_ENTRY);
    assert_in_range(entry->title.size, 180, 200);
    assert_true(text_is_utf8(entry->title.data, entry->title.size));
    assert_int_equal(entry->block_count, 2);
    assert_int_equal(entry->blocks[0].kind, BLOCK_DEFINITION);
    assert_true(entry->blocks[0].text.size > 350);
    tree_free(tree);
    buf_free(&html);
}

/* ---- Contents ---- */

static void expect_contents(const char *html, int kind, const char *links)
{
    struct tree *tree = parse(html);
    struct buf shown = {0};
    for (uint32_t i = 0; i < tree->page.link_count; i++) {
        const struct page_link *link = &tree->page.links[i];
        for (uint32_t d = 0; d < link->depth; d++)
            buf_put_byte(&shown, '>');
        if (link->title.size)
            buf_put_byte(&shown, '=');
        buf_put_slice(&shown, link->title.size ? link->title : link->url);
        buf_put_byte(&shown, ' ');
    }
    assert_int_equal(tree->page.contents, kind);
    assert_string_equal(shown.size ? shown.data : "", links);
    buf_free(&shown);
    tree_free(tree);
}

static void test_contents(void **state)
{
    (void)state;
    expect_contents("<h1>T</h1><a href=no.html>x</a><div class=toctree-wrapper>"
                    "<ul><li><a href=a.html>A</a><ul><li><a href=a.html#s>S</a>"
                    "<li><a href=b.html>B</a></ul></ul></div>"
                    "<div class=toctree-wrapper><ul><li><a href=c.html>C</a>"
                    "<li><a href='https://x/y.html'>Y</a></ul></div>",
                    CONTENTS_BELOW, "a.html >b.html c.html ");
    expect_contents(
        "<nav><ol class=chapter><li><a href=a.html>A</a><li>"
        "<ol class=section><li><a href=b.html>B</a></ol></ol></nav>",
        CONTENTS_WHOLE, "a.html >b.html ");
    expect_contents("<table class=directory><tr id=row_0_><td><a href=a.html>A"
                    "</a><td class=desc>Base of <a href=c.html>C</a><tr "
                    "id=row_0_0_><td><a href=b.html>B</a></table>",
                    CONTENTS_BELOW, "a.html >b.html ");
    expect_contents("<table><tr><td class=indexkey><a href=a.html>A</a><td "
                    "class=indexvalue>Base of <a href=c.html>C</a><tr><td "
                    "class=indexkey><a href=b.html>B</a></table>",
                    CONTENTS_BELOW, "a.html b.html ");
    expect_contents("<frameset><frame src=menu.html><frame src=main.html>"
                    "</frameset>",
                    CONTENTS_FRAMESET, "menu.html main.html ");
    expect_contents(
        "<nav><a href=z.html>Z</a></nav><p>See<ul><li><a href=a.html"
        ">Aaa</a><li><a href=b.html>Bbb</a><li><a href=c.html>C</a>"
        "<li><a href=d.html>D</a><ul><li><a href=e.html>E</a></ul>"
        "</ul>",
        CONTENTS_GUESS, "a.html b.html c.html d.html >e.html ");
    expect_contents("<p>A text with <a href=a.html>a</a> <a href=b.html>b</a> "
                    "<a href=c.html>c</a> <a href=d.html>d</a> "
                    "<a href=e.html>e</a>, five links.",
                    CONTENTS_NONE, "");
    /* Whatever it says of each page, and not what it links to meanwhile. */
    expect_contents(
        "<h1>T</h1><ul><li><a href=s.html>S</a></ul>"
        "<ul><li><a onclick=x><span>►</span> One</a><ul>"
        "<li><a href=a.html>A</a> which is <a href=no.html>not</a> of one line"
        "<li><a href=b.html>B</a></ul>"
        "<li>Two<ul><li><a href=c.html>C</a><li><a href=d.html>D</a></ul>"
        "<li>Three<ul><li><a href=e.html>E</a><li><a href='http://x'>F</a>"
        "</ul></ul>",
        CONTENTS_GROUPS,
        "=One >a.html >b.html =Two >c.html >d.html =Three >e.html ");
    /* A text is no heading. */
    struct buf page = {0};
    buf_put_text(&page, "<h1>T</h1><ul>");
    for (char c = 'a'; c < 'e'; c++) {
        buf_put_text(&page, "<li>");
        for (int i = 0; i < (c == 'b' ? 600 : 1); i++)
            buf_put_byte(&page, c);
        buf_printf(&page, "<ul><li><a href=%c.html>A</a></ul>", c);
    }
    expect_contents(page.data, CONTENTS_GROUPS,
                    "=a >a.html >b.html =c >c.html =d >d.html ");
    buf_free(&page);
}

/* Javadoc's first cells of rows are alike: packages and classes stand below, but not what
 * members are of, nor services. */
static void test_contents_of_javadoc(void **state)
{
    (void)state;
    static const char rows[] =
        "<div class='summary-table'><div class='table-header col-first'>Type"
        "</div><div class='col-first even-row-color'><a href=A.html>A</a></div>"
        "<div class=col-last>Is one.</div></div></section>";
    static const struct {
        const char *section, *links;
    } sections[] = {
        {"<section class=summary><div id=class-summary>", "A.html "},
        {"<section class=packages-summary>", "A.html "},
        {"<section class=services-summary>", ""},
        {"<section class=field-summary>", ""},
        {"<section class=method-summary>", ""},
        {"", "A.html "}};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        struct buf html = {0};
        buf_printf(&html, "<h1>T</h1>%s%s", sections[i].section, rows);
        expect_contents(html.data,
                        *sections[i].links ? CONTENTS_BELOW : CONTENTS_NONE,
                        sections[i].links);
        buf_free(&html);
    }
    expect_contents("<h1>T</h1><table class=usesSummary><tr><th class=colFirst>"
                    "<a href=A.html>A</a></table><table class=packagesSummary>"
                    "<tr><th class=colFirst><a href=B.html>B</a></table>",
                    CONTENTS_BELOW, "B.html ");
}

/* What a site prints on each page of all its pages. */
static void test_menus(void **state)
{
    (void)state;
    expect_contents(
        "<nav class='md-nav md-nav--primary'><label><a href=../ "
        "class=md-logo></a>Tool</label><ul><li><a href=../>Home</a><li><label "
        "class=md-nav__link> Guide </label><nav><label>Guide</label><ul><li><a "
        "href=../use/>Use</a><ul><li><a href=#s>S</a></ul><li><a "
        "href='https://x/'>X</a></ul></nav></ul></nav><p>a",
        CONTENTS_WHOLE, "../ >=Guide >>../use/ ");
    expect_contents(
        "<nav class=nav-menu><h3><a href=i.html>Tool</a></h3><ul><li><ul>"
        "<li><button></button><a href=a.html>A</a><ul><li><a href=b.html>B</a>"
        "</ul></ul><li><span>Other</span><ul><li><a href=c.html>C</a></ul>"
        "</ul></nav><p>a",
        CONTENTS_WHOLE, "i.html >>a.html >>>b.html >=Other >>c.html ");
    expect_contents(
        "<ul class='theme-doc-sidebar-menu menu__list'><li><div><a "
        "class='menu__link menu__link--sublist menu__link--sublist-caret' "
        "href=/d/a>Start</a></div><ul><li><a href=/d/a>A</a></ul><li><div><a "
        "class='menu__link menu__link--sublist' href=/d/b>B</a><button>"
        "</button></div><li><a href='//x/c'>C</a></ul><p>a",
        CONTENTS_WHOLE, "=Start >/d/a /d/b ");
    expect_contents(
        "<aside class=VPSidebar><nav><section class='VPSidebarItem level-0'>"
        "<div class=item><h2>Core</h2></div><div class=items><div "
        "class='VPSidebarItem level-1'><a href=/a.html>A</a></div></div>"
        "</section></nav></aside><p>a",
        CONTENTS_WHOLE, "=Core >/a.html ");
    expect_contents("<p class=tocbody><a href=../w.htm><img src=p> Welcome</a>"
                    "<br><a href='whlstt2.htm#a'><img src=b> Use</a><br>"
                    "<img src=o> More<br>&nbsp;&nbsp;&nbsp;<a href=../a.htm>A"
                    "</a><br>&nbsp;&nbsp;&nbsp;<img src=o> Less<br>&nbsp;&nbsp;"
                    "&nbsp;&nbsp;&nbsp;&nbsp;<a href=../b.htm>B</a></p>",
                    CONTENTS_WHOLE,
                    "../w.htm =Use =More >../a.htm >=Less >>../b.htm ");
    expect_contents(
        "<ul><li><object type=text/sitemap><param name=Name value=Start><param "
        "name=Local value='html\\a.htm#s'></object><ul><li><object "
        "type=text/sitemap><param name=Name value='In &amp; out'></object><ul>"
        "<li><object type=text/sitemap><param name=Local value=b.htm></object>"
        "</ul></ul><li><object type=text/html><param name=Local value=c.htm>"
        "</object></ul>",
        CONTENTS_WHOLE, "html/a.htm >=In & out >>b.htm ");
    expect_contents(
        "<div class=sidetoc><div class=toc><ul class='nav level1'><li>"
        "<a href=a.html>A</a><ul><li><a href=b.html>B</a></ul></ul>"
        "</div></div>",
        CONTENTS_WHOLE, "a.html >b.html ");
    expect_contents("<div class=sidetoc><h2>Below</h2><ul><li><a href=a.html>A"
                    "</a><li><a href=b.html>B</a></ul></div><p>" WORDS WORDS,
                    CONTENTS_NONE, ""); /* others' */
    expect_contents("<div id=Menu><div class=MEntry><div class=MGroup><a "
                    "href=\"javascript:ToggleMenu('c')\">Use</a><div "
                    "class=MGroupContent><div class=MEntry><div class=MFile><a "
                    "href=a.html>A</a></div></div></div></div></div><div "
                    "class=MEntry><a href=b.html>B</a></div></div>",
                    CONTENTS_WHOLE, "=Use >a.html b.html ");
    expect_contents("<div class=book-summary><ul class=summary><li "
                    "class=chapter><a href=a.html>A</a><ul class=articles><li>"
                    "<a href=b.html>B</a></ul><li class=divider></ul></div><p>"
                    "a<ul class=summary><li><a href=c.html>C</a></ul>",
                    CONTENTS_WHOLE, "a.html >b.html ");
}

/* Sphinx's objects in items of a list; not what has no place of its own. */
static void test_objects_in_items(void **state)
{
    (void)state;
    expect(
        "<h1>M</h1><p>Values:<ul><li>before <dl class='py data'><dt class="
        "'sig sig-object py' id=m.A><code class=descname>A</code><a href=s>"
        "<span class=viewcode-link>[source]</span></a></dt><dd><p>a</dl>"
        "<li><dl class='py data'><dt class='sig' id=m.B><code>B</code><dd><p>"
        "b</dl>after<li>last</ul><p>end",
        "# M\nparagraph: Values:\nlist: - before\nlist: - after\\n- last\n"
        "paragraph: end\n#* A {m.A}\nparagraph: a\n"
        "#* B {m.B}\nparagraph: b\n");
    expect("<h1>M</h1><ul><li><dl><dt class=sig>A<dd>a</dl><li><dl><dt id=b>b"
           "<dd>c</dl></ul>",
           "# M\ndefinition: A\\n  a\ndefinition: b\\n  c\n");
}

/* A signature in bold whose anchor is the name in it; of few the page is read through. */
static void test_names_in_signatures(void **state)
{
    (void)state;
    for (int count = 7; count <= 8; count++) {
        struct buf page = {0};
        buf_printf(&page, "<h1>Pumps</h1><p>They pump.");
        for (int i = 0; i < count; i++)
            buf_printf(&page,
                       "<div class=api><b>int <a name=open_%d>open_%d</a>(char "
                       "*name);</b></div>Opens the pump that is called so, and "
                       "returns its number, or zero where there is no pump of "
                       "that name.",
                       i, i);
        struct tree *tree = parse(page.data);
        assert_int_equal(tree->count, count == 8 ? 9 : 1);
        if (count == 8)
            assert_true(
                slice_is(tree->nodes[8].title, "int open_7(char *name);") &&
                tree->nodes[8].entry);
        tree_free(tree);
        buf_free(&page);
    }
}

static void test_stex(void **state)
{
    (void)state;
    expect("<h1>Pumps</h1><p>They pump.<p><a name=p1></a><span class=formdef>"
           "<b>procedure</b>: <tt>(pump)</tt></span><br><span class=formdef><b>"
           "procedure</b>: <tt>(pump n)</tt></span><br><b>returns: </b>litres"
           "<p>Pumps.<p><a name=p2></a><span class=formdef><b>parameter</b>: "
           "<tt>rate</tt></span><br><p>How fast.",
           "# Pumps\nparagraph: They pump.\n#* procedure: (pump) {p1}\n"
           "paragraph: procedure: (pump n)\nparagraph: returns: litres\n"
           "paragraph: Pumps.\n#* parameter: rate {p2}\n"
           "paragraph: How fast.\n");
}

/* Backbone, Underscore: a name at the head of a paragraph, then how it is called. */
static void test_names_before_signatures(void **state)
{
    (void)state;
    struct buf html = {0}, shown = {0};
    buf_put_text(&html, "<h1>Pump</h1><ul>");
    for (int i = 0; i < 8; i++)
        buf_printf(&html, "<li>- <a href=#Pump-run%d>run%d</a>", i, i);
    buf_put_text(&html, "</ul>");
    for (int i = 0; i < 8; i++) {
        buf_printf(
            &html,
            "<p id=Pump-run%d><b class=header>run%d</b><code>pump.run%d("
            ")</code><br>Runs it %s. So it stands still for as long as "
            "it has to, and no longer.</p>",
            i, i, i,
            i % 2 ? ""
                  : "once, where its valve is open, as "
                    "that of each pump is which was delivered with its motor, "
                    "and with the oil that it needs");
    }
    struct tree *tree = parse(html.data);
    assert_int_equal(tree->count, 9);
    for (uint32_t i = 1; i < tree->count; i++) {
        buf_clear(&shown);
        buf_printf(&shown, "run%d", (int)i - 1);
        assert_true(slice_equal(tree->nodes[i].title, buf_slice(&shown)));
        assert_true(
            slice_starts(tree->nodes[i].blocks[0].text, slice_of("pump.run")));
    }
    tree_free(tree);
    buf_free(&html);
    buf_free(&shown);
}

/* Bold lines between a page's paragraphs, numbered, of a text that is in no box: of a
 * manual by hand, whose contents link to them without the number. */
static void test_bold_lines(void **state)
{
    (void)state;
    static const char *const names[] = {"Oil",   "Air",   "Water", "Steam",
                                        "Pumps", "Tanks", "Pipes", "Bugs"};
    static const char text[] =
        "One two three four five six seven eight nine ten eleven twelve more.";
    struct buf contents = {0}, parts = {0}, shown = {0};
    for (int i = 0; i < 8; i++) {
        buf_printf(&contents, "<li><a href=#p%d>%s</a>", i, names[i]);
        buf_printf(&parts, "<b><a name=p%d>%d. %s:</a></b><br><p>%s</p>", i,
                   i + 1, names[i], text);
        buf_printf(&shown, "#* %d. %s: {p%d}\nparagraph: %s\n", i + 1, names[i],
                   i, text);
    }
    struct buf page = {0}, tree = {0};
    buf_printf(&page, "<h1>Works</h1><ol>%s</ol>%s", contents.data, parts.data);
    buf_put_text(&tree, "# Works\nlist: 1. Oil\\n2. Air\\n3. Water\\n4. Steam"
                        "\\n5. Pumps\\n6. Tanks\\n7. Pipes\\n8. Bugs\n");
    buf_put_text(&tree, shown.data);
    expect(page.data, tree.data);
    buf_clear(&page); /* all of it indented */
    buf_printf(&page, "<h1>Works</h1><blockquote><ol>%s</ol>%s", contents.data,
               parts.data);
    struct tree *indented = parse(page.data);
    assert_int_equal(indented->count, 9);
    tree_free(indented);
    struct buf *const bufs[] = {&contents, &parts, &shown, &page, &tree};
    for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
        buf_free(bufs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bold_lines),
        TEST(test_names_before_signatures),
        TEST(test_sphinx),
        TEST(test_named_terms),
        TEST(test_terms_without_words),
        TEST(test_terms_that_ask),
        TEST(test_long_meanings),
        TEST(test_long_lists),
        TEST(test_lists_that_are_read),
        TEST(test_long_lists_nest),
        TEST(test_anchors_above_terms),
        TEST(test_named_rows),
        TEST(test_named_items),
        TEST(test_defined_in_code),
        TEST(test_labels_by_other_names),
        TEST(test_definitions_stay),
        TEST(test_labels),
        TEST(test_labels_that_are_none),
        TEST(test_labels_of_one_entry),
        TEST(test_texinfo),
        TEST(test_doxygen),
        TEST(test_doxygen_code),
        TEST(test_qml),
        TEST(test_levels),
        TEST(test_rustdoc),
        TEST(test_javadoc),
        TEST(test_others),
        TEST(test_long_signature),
        TEST(test_contents),
        TEST(test_contents_of_javadoc),
        TEST(test_menus),
        TEST(test_objects_in_items),
        TEST(test_names_in_signatures),
        TEST(test_stex),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
