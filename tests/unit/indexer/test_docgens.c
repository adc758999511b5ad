#include "tests/unit/support/parsing.h"

/* More generators of references, and where links lead. */

/* phpDocumentor: its menu and its search are on each page, members are entries. */
static void test_php_documentor(void **state)
{
    (void)state;
    static const char page[] =
        "<title>Works</title><base href=../><header "
        "class='phpdocumentor-header phpdocumentor-section'><h1 "
        "class=phpdocumentor-title><a href>Works</a></h1></header><main><aside "
        "class='phpdocumentor-column phpdocumentor-sidebar'><h2>Packages</h2>"
        "<h4><a href=p/a.html>A</a></h4></aside><ul "
        "class=phpdocumentor-breadcrumbs><li><a href=n/works.html>Works</a>"
        "</ul><article><h2 class=phpdocumentor-content__title>Pump "
        "<span>extends"
        " Base</span><div class=phpdocumentor-element__package>in <ul><li>A"
        "</ul></div></h2><aside class=phpdocumentor-element-found-in>p.php : 10"
        "</aside><p>It pumps.</p><h3 id=toc>Table of Contents</h3><dl "
        "class=phpdocumentor-table-of-contents><dt>start()<dd>Starts.</dl>"
        "<section><h3 id=methods>Methods</h3><article><h4 "
        "class=phpdocumentor-element__name id=method_start>start() <a "
        "href=c/Pump.html#method_start class=headerlink><i></i></a></h4><p>"
        "Starts.</p><h5 class=phpdocumentor-argument-list__heading>Parameters"
        "</h5><p>none</p></article></section></article><section "
        "class='phpdocumentor-search-results x'><h2>Search results</h2>"
        "</section></main>";
    expect(page, "# Pump extends Base\nparagraph: It pumps.\n"
                 "## Methods {methods}\n##* start() {method_start}\n"
                 "paragraph: Starts.\nparagraph: Parameters\n"
                 "paragraph: none\n");
    struct tree *tree = parse(page);
    assert_true(slice_is(tree->page.up, "../n/works.html"));
    tree_free(tree);
}

/* Before version 2 members are rows, behind their anchors. */
static void test_old_php_documentor(void **state)
{
    (void)state;
    expect("<h2>Class Pump</h2><p>It pumps.<h3>Methods</h3>"
           "<a name=methodstart id=start><!-- --></a><div class=oddrow>"
           "<div class=method-header><img src=m.png> <span class=method-title>"
           "start</span> (line <span class=line-number>9</span>)</div>"
           "<p class=short-description>Starts.</p><ul class=tags><li><span "
           "class=field>return:</span> whether</ul></div><a name=var$at "
           "id=$at></a><div class=evenrow><div class=var-header><span "
           "class=var-title><span class=var-type>int</span> <span "
           "class=var-name>$at</span> = <span class=var-default>0</span> (line "
           "<span class=line-number>2</span>)</span></div><p>When.</div>",
           "# Class Pump\nparagraph: It pumps.\n## Methods\n"
           "##* start {methodstart}\nparagraph: (line 9)\n"
           "paragraph: Starts.\nlist: - return: whether\n"
           "##* int $at = 0 (line 2) {var$at}\nparagraph: When.\n");
}

static void test_yuidoc(void **state)
{
    (void)state;
    expect("<div id=docs-sidebar class='sidebar apidocs'><h2>APIs</h2></div>"
           "<h1>Pump <small>Class</small></h1><p>It pumps.<div><div id=index "
           "class='tab-pane active'><h2 class=off-left>Item Index</h2><h3>"
           "Methods</h3><ul><li><a href=#s>start</a></ul></div><div><h2>"
           "Methods</h2><div id=method_start class='method item'><h3 "
           "class=name><code>start</code></h3><div class=args><span>(</span>"
           "<ul class='args-list inline'><li class=arg><code>at</code></ul>"
           "<span>)</span></div><div class=description><p>Starts.</div><div "
           "class=params><h4>Parameters:</h4><p>at: when</div></div></div>",
           "# Pump Class\nparagraph: It pumps.\n## Methods\n"
           "##* start {method_start}\nparagraph: (at)\nparagraph: Starts.\n"
           "paragraph: Parameters:\nparagraph: at: when\n");
    expect("<h1>Pump Class</h1><p>a<div id=method_stop class='method item "
           "inherited'><h3 class=name><code>stop</code></h3><div class=meta>"
           "<p>Inherited from <a href=../classes/Base.html#stop>Base</a></div>"
           "<p>Stops.</div><div id=method_go class='method item inherited'><h3 "
           "class=name><code>go</code></h3><div class=meta><p>Inherited from "
           "<a href=http://w.org/A.html>A</a></div><p>Goes.</div>",
           "# Pump Class\nparagraph: a\n#* go {method_go}\n"
           "paragraph: Inherited from A\nparagraph: Goes.\n");
    expect("<ol id=sidebar><li><h4>Search</h4><input type=search><li><h4>"
           "Classes</h4><ol><li><a href=a>Air</a><li><a href=b>Base</a><li><a "
           "href=c>Cap</a><li><a href=d>Drain</a><li><a href=e>End</a></ol>"
           "</ol><h1>Air</h1><p>a",
           "# Air\nparagraph: a\n"); /* of a theme */
    expect_role("<h1>pump.js</h1><div class=file><pre class='code prettyprint "
                "linenums'>var a;</pre></div>",
                PAGE_MADE);
    expect_role("<h1>Pumps</h1><pre class='prettyprint linenums'>var a;</pre>",
                PAGE_CONTENT);
}

/* Its members are tables and boxes. */
static void test_asdoc(void **state)
{
    (void)state;
    static const char page[] =
        "<title>works.Pump</title><table id=titleTable class=titleTable><tr>"
        "<td>Works</table><div class=MainContent><table class=classHeaderTable>"
        "<tr><td class=classHeaderTableLabel>Package<td><a "
        "href=package-detail.html>works</a><tr><td class=classHeaderTableLabel>"
        "Class<td>public class Pump</table><p>It pumps.<div "
        "class=summarySection><div class=summaryTableTitle>Public Methods</div>"
        "<table><tr><td>start()</table></div><div class=detailSectionHeader>"
        "Method detail</div><a name=start()></a><table class=detailHeader><tr>"
        "<td class=detailHeaderName>start</td><td class=detailHeaderParens>()"
        "<td class=detailHeaderType>method</table><div class=detailBody><code>"
        "public function start():void</code><p>Starts.</div></div>";
    expect(page, "# works.Pump\ntable: Package\\tworks\\nClass\\tpublic class "
                 "Pump\nparagraph: It pumps.\n#* start () {start()}\n"
                 "paragraph: public function start():void\n"
                 "paragraph: Starts.\n");
    struct tree *tree = parse(page);
    assert_true(slice_is(tree->page.up, "package-detail.html"));
    tree_free(tree);
    expect_role("<body class=classFrameContent><h3>All</h3><a href=p>P</a>",
                PAGE_MADE);
    expect_role("<title>B Index</title><div class=MainContent><table><tr><td>A"
                "<tr><td class=idxrow><a href=p>P</a> - Class</table></div>",
                PAGE_MADE);
    expect_role("<table><tr><td class=idxrow>a</table><p>b", PAGE_CONTENT);
}

static void test_epydoc(void **state)
{
    (void)state;
    expect("<h1 class=epydoc>Class Pump</h1><p>It pumps.<p><span "
           "class=codelink><a href=p-pysrc.html#P>source code</a></span>",
           "# Class Pump\nparagraph: It pumps.\n");
    expect_role("<h1>Source</h1><pre class=py-src><a name=L1></a>a</pre>",
                PAGE_MADE);
    expect_role("<h1>Epydoc Log</h1><p class=log>Started<div class=log-block>"
                "<h2>In a.py</h2></div>",
                PAGE_MADE);
    expect_role("<h1>Use</h1><pre class=py-src>a</pre>", PAGE_CONTENT);
    expect_role("<title>Pump xref</title><pre><a class=jxr_linenumber name=L1 "
                "href=#L1>1</a> a</pre>",
                PAGE_MADE); /* Maven's */
    expect_role("<h1>Pump.java</h1><pre class='source lang-java linenums'>a"
                "</pre>",
                PAGE_MADE); /* JaCoCo's */
    expect_role("<h1>Use</h1><pre class='source lang-java'>a</pre>",
                PAGE_CONTENT);
}

/* A table of a menu and the text, and one for each member. */
static void test_pasdoc(void **state)
{
    (void)state;
    expect("<table class=container><tr><td class=navigation><h2>Works</h2><a "
           "href=AllUnits.html>Units</a></td><td class=content><h2>Works 2"
           "</h2><a name=TPump></a><h1 class=cio>Class TPump</h1><table "
           "class='sections wide_list'><tr><td>Description</table><h2 "
           "class=unit>Unit</h2><p>Pumps<h2 class=description>Description</h2>"
           "<p>It pumps.<h2 class=overview>Overview</h2><h3 class=summary>"
           "Methods</h3><table class='summary wide_list'><tr><td>Start</table>"
           "<h2 class=description>Description</h2><h3 class=detail>Methods</h3>"
           "<table class='detail wide_list'><tr class=list><td "
           "class=visibility><img src=p.gif alt=Public></td><td "
           "class=itemcode><a name=Start></a><code>procedure <b>Start</b>;"
           "</code></td></tr><tr><td colspan=2><p>Starts.</table></table>",
           "# Class TPump {TPump}\nparagraph: Unit\nparagraph: Pumps\n"
           "paragraph: Description\nparagraph: It pumps.\n## Description\n"
           "### Methods\n###* procedure Start; {Start}\n"
           "paragraph: Starts.\n");
    expect("<h2>Works</h2><p>a<h1>Pumps</h1><p>b",
           "# \n## Works\nparagraph: a\n## Pumps\nparagraph: b\n");
}

static void test_headerdoc(void **state)
{
    (void)state;
    expect("<h1>pump.h</h1><h2>Functions</h2><dl><dt><a href=#s>start</a><dd>"
           "Starts.</dl><hr class=betweenAPIEntries><a "
           "name=//apple_ref/c/func/start></a><h3><a name=start>start</a></h3>"
           "<p>Starts.<h5 class=tight>Parameters</h5><p>none",
           "# pump.h\n## Functions\n##* start {start}\n"
           "paragraph: Starts.\nparagraph: Parameters\nparagraph: none\n");
    expect(
        "<h1>Pumps</h1><dl><dt>start<dd>Starts.</dl><a name=b></a><h3>Use"
        "</h3><p>a",
        "# Pumps\ndefinition: start\\n  Starts.\n## Use {b}\nparagraph: a\n");
}

static void test_appledoc(void **state)
{
    (void)state;
    expect("<header id=top_header><h1>Works</h1><h1>Pump Reference</h1>"
           "</header><div class=main-navigation><a href=i>Index</a></div><h1 "
           "class='title title-header'>Pump Reference</h1><div class='section "
           "section-tasks'><h2 class='subtitle subtitle-tasks'>Tasks</h2><a "
           "href=#s>start</a></div><div class='section section-methods'><h2 "
           "class='subtitle subtitle-methods'>Methods</h2><div "
           "class=section-method><h3 class='subsubtitle method-title'>start"
           "</h3><p>Starts.<h4 class='method-subtitle'>Return Value</h4><p>a"
           "<div class='x declared-in-section'><h4 class=method-subtitle>"
           "Declared In</h4>p.h</div></div><div class=section-method><h3 "
           "class='subsubtitle method-title'>stop</h3><p>Stops.</div></div>",
           "# Pump Reference\n## Methods\n##* start\nparagraph: Starts.\n"
           "paragraph: Return Value\nparagraph: a\n"
           "##* stop\nparagraph: Stops.\n");
}

/* Of Haxe. */
static void test_dox(void **state)
{
    (void)state;
    expect("<div class=page-header><span class=viewsource>View source</span>"
           "<h1><small>class</small> Pump</h1><h4><small>package <a "
           "href=i>works</a></small></h4></div><p>It pumps.<h3 class=section>"
           "Methods</h3><div class=fields><div class=field><a name=start></a>"
           "<h3 class=anchor><code><span class='label label-inline'>inline"
           "</span><a href=#start>start</a>():Void</code></h3><p>Starts."
           "</div></div><h3 class=section>Inherited Methods</h3><div "
           "class=fields><h4><a href=# class=expand-button></a>Defined by Base"
           "</h4><div>stop</div></div>",
           "# class Pump\nparagraph: package works\nparagraph: It pumps.\n"
           "## Methods\n##* start():Void {start}\nparagraph: Starts.\n");
    expect(
        "<h1>A</h1><h3 class=section>Methods</h3><div class=fields><div "
        "class='field '><a name=stop></a><h3><p><code>stop ()</code></p></h3>"
        "<div class=doc><p>Stops.</div></div></div>",
        "# A\n## Methods\n##* stop () {stop}\nparagraph: Stops.\n");
}

/* Of Lean. */
static void test_doc_gen(void **state)
{
    (void)state;
    expect("<header><h1><span>Documentation</span></h1><h2 "
           "class=header_filename>Works.<span>Pump</span></h2></header><main>"
           "<div class=mod_doc><h1 class=markdown-heading id=Use>Use <a "
           "class=hover-link href=#Use>#</a></h1><p>a</div><div class=decl "
           "id=start><div class=def><div class=gh_link><a href=s>source</a>"
           "</div><div class=decl_header><span>def</span> start :<div "
           "class=decl_type> Nat</div></div><p>Starts.</div></div></main>",
           "# Works.Pump\n## Use {Use}\nparagraph: a\n"
           "##* def start : Nat {start}\nparagraph: Starts.\n");
    expect("<header><h1>Documentation</h1></header><h2>Use</h2><p>a",
           "# Documentation\n## Use\nparagraph: a\n");
}

/* Just the Docs prints what is below a page once more; ikiwiki's trail leads to it. */
static void test_sites(void **state)
{
    (void)state;
    static const char page[] =
        "<link rel=canonical href=https://w.org/use><nav><ul "
        "class=nav-list><li class=nav-list-item><a "
        "href=https://w.org/>Home</a><li><a href=https://w.org/use>Use</a><ul>"
        "<li><a "
        "href=https://w.org/use/oil>Oil</a></ul><li><a "
        "href=https://w.org.uk/>UK</a></ul></nav><h1>Use</h1><p>a"
        "<hr><h2 class=text-delta>Table of contents</h2><ul><li><a "
        "href=https://w.org/use/oil>Oil</a></ul><p><a "
        "href=https://w.org.uk/>b</a>";
    struct tree *tree = parse(page);
    struct buf out = show(tree);
    assert_non_null(strstr(out.data, "# Use\nparagraph: a\nparagraph: b\n"));
    assert_null(strstr(out.data, "Table of contents"));
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 3);
    assert_true(slice_is(tree->page.links[2].url, "/use/oil"));
    buf_free(&out);
    tree_free(tree);
    tree = parse("<nav><ul class=nav-list><li><a href=a.html>A</a><li><a "
                 "href=b.html>B</a></ul></nav><h1>Use</h1><p>a"); /* javadoc */
    assert_int_equal(tree->page.contents, CONTENTS_NONE);
    tree_free(tree);
    tree = parse("<title>oil</title><div class=pageheader><span class="
                 "parentlinks><a href=../i.html>w</a>/ <a href=../use.html>use"
                 "</a>/ </span><span class=title>oil</span></div><p>a");
    out = show(tree);
    assert_string_equal(out.data, "# oil\nparagraph: a\n");
    assert_true(slice_is(tree->page.up, "../use.html"));
    buf_free(&out);
    tree_free(tree);
}

/* Classes that others use, too: what stands in them is text. */
static void test_others(void **state)
{
    (void)state;
    expect("<h1>Use</h1><p>Read <a class=hover-link href=m>it</a>.<p>Call "
           "<span class=codelink><a href=o>open()</a></span>.<p>A <span "
           "class='label label-meta'>beta</span> pump.",
           "# Use\nparagraph: Read it.\nparagraph: Call open().\n"
           "paragraph: A beta pump.\n");
    expect(
        "<h1>Use</h1><h2 class=overview>Overview</h2><p>a<h2 "
        "class=description>Description</h2><p>b<h2 class=unit>Units</h2><p>c",
        "# Use\n## Overview\nparagraph: a\n## Description\n"
        "paragraph: b\n## Units\nparagraph: c\n");
    expect("<h1>Use</h1><h3 class=section>Inputs</h3><div class=fields><div>"
           "</div><p>a</div><table class=detailHeader><tr><th>b<td>c</table>",
           "# Use\n## Inputs\nparagraph: a\ntable: b\\tc\n");
    expect("<h1>Use</h1><p>a<h3 class=section>Screen</h3><div class=fields><p>"
           "<img src=b.png alt=Valves></div>",
           "# Use\nparagraph: a\n## Screen\nfigure: Valves\n");
    expect("<h1>Use</h1><p>a<hr><h2 class=text-delta>See also</h2><ul><li>Ask "
           "<a href=b>b</a><li>Wait</ul>",
           "# Use\nparagraph: a\n## See also\nlist: - Ask b\\n- Wait\n");
    expect_role("<h1>Use</h1><p>a<pre class='source linenums'>b</pre>",
                PAGE_CONTENT);
}

/* A page may be made of nothing else: it takes no longer for it. */
static void test_many(void **state)
{
    enum { MANY = 100000 };
    struct buf page = {0};
    (void)state;
    for (int i = 0; i < MANY; i++)
        buf_put_text(&page, "<h3>a</h3>");
    tree_free(parse_within(10, page.data));
    buf_clear(&page);
    /* Links are not written with a folder as long as the page. */
    buf_put_text(&page, "<base href='");
    for (int i = 0; i < MANY; i++)
        buf_put_text(&page, "a/");
    buf_put_text(&page, "'>");
    for (int i = 0; i < MANY; i++)
        buf_put_text(&page, "<a href=b>c</a>");
    buf_put_text(&page, "<link rel=up href=b>");
    struct tree *tree = parse(page.data);
    assert_true(slice_is(tree->page.up, "b"));
    tree_free(tree);
    buf_free(&page);
}

/* Tools that have no tag left write the number alone. */
static void test_numbers(void **state)
{
    (void)state;
    expect("<h1>Works</h1><h2>5.1 Use</h2><p>a<h3>5.1.1 Pumps</h3><p>b<h3>"
           "5.1.1.1 Oil</h3><p>c<h4>Cold</h4><p>d<h3>5.1.1.2 Air</h3><p>e<h3>"
           "5.1.2 Valves</h3><p>f<h2>5.10 End</h2><p>g",
           "# Works\n## 5.1 Use\nparagraph: a\n### 5.1.1 Pumps\n"
           "paragraph: b\n#### 5.1.1.1 Oil\nparagraph: c\n##### Cold\n"
           "paragraph: d\n#### 5.1.1.2 Air\nparagraph: e\n"
           "### 5.1.2 Valves\nparagraph: f\n## 5.10 End\nparagraph: g\n");
    expect("<h1>Changes</h1><h2>1.2</h2><p>a<h2>1.2.1 (May)</h2><p>b<h2>1.2.2"
           "</h2><p>c", /* versions */
           "# Changes\n## 1.2\nparagraph: a\n## 1.2.1 (May)\n"
           "paragraph: b\n## 1.2.2\nparagraph: c\n");
    expect("<h1>Parts</h1><h2>A Use</h2><p>a<h2>A.1 Pumps</h2><p>b<h2>Appendix"
           "</h2><p>c",
           "# Parts\n## A Use\nparagraph: a\n## A.1 Pumps\nparagraph: b\n"
           "## Appendix\nparagraph: c\n");
}

/* What <base> says holds for all but places of the page. */
static void test_base(void **state)
{
    (void)state;
    static const struct {
        const char *base, *url, *up;
    } cases[] = {
        {"../", "use.html", "../use.html"},
        {"../x.html", "use.html", "../use.html"},
        {"../", "#use", "#use"},
        {"../", "/use.html", "/use.html"},
        {"../", "http://w.org/", "http://w.org/"},
        {"/docs/", "use.html", "use.html"},
        {"https://w.org/docs/", "use.html", "use.html"},
        {"", "use.html", "use.html"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf page = {0};
        buf_printf(&page, "<base href='%s'><link rel=up href='%s'><p>a",
                   cases[i].base, cases[i].url);
        struct tree *tree = parse(page.data);
        assert_true(slice_is(tree->page.up, cases[i].up));
        tree_free(tree);
        buf_free(&page);
    }
}

/* What stands before <html> makes its head a part of the body. */
static void test_late_title(void **state)
{
    (void)state;
    expect("<a href=n.html>Next</a><hr><html><head><title>Pumps</title></head>"
           "<body><p>a</body></html>",
           "# Pumps\nparagraph: Next\nparagraph: a\n");
    expect("<svg><title>Link</title></svg><p>a", "# \nparagraph: a\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_php_documentor),
        TEST(test_old_php_documentor),
        TEST(test_yuidoc),
        TEST(test_asdoc),
        TEST(test_epydoc),
        TEST(test_pasdoc),
        TEST(test_headerdoc),
        TEST(test_appledoc),
        TEST(test_dox),
        TEST(test_doc_gen),
        TEST(test_sites),
        TEST(test_numbers),
        TEST(test_base),
        TEST(test_late_title),
        TEST(test_others),
        TEST(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
