#include "tests/unit/support/parsing.h"

/* References that tools make of a program's source. */

/* Headings in what is said of a member part it neither from its words nor from those
 * that follow; those of a group's text stand below "Detailed Description". */
static void test_doxygen_headings(void **state)
{
    (void)state;
    expect("<div id=MSearchResultsWindow><iframe></iframe></div><div "
           "class=headertitle><div class=title>Pumps</div></div><div "
           "class=contents><h2 class=groupheader>Detailed Description</h2><div "
           "class=textblock><p>All.<h1>Use</h1><p>a<h2>Once</h2><p>b</div><h2 "
           "class=groupheader>Functions</h2><h2 class=memtitle>open()</h2><div "
           "class=memitem><div class=memproto>int open()</div><div "
           "class=memdoc><p>Opens it.<h1>Example</h1><p>open();</div></div><h2 "
           "class=memtitle>shut()</h2><div class=memitem><div class=memdoc><p>"
           "Shuts it.</div></div></div>",
           "# Pumps\n## Detailed Description\nparagraph: All.\n"
           "### Use\nparagraph: a\n#### Once\nparagraph: b\n"
           "## Functions\n##* open()\n"
           "paragraph: int open()\nparagraph: Opens it.\nparagraph: Example\n"
           "paragraph: open();\n"
           "##* shut()\nparagraph: Shuts it.\n");
}

/* Whatever the file is called: short names are numbers. */
static void test_listings(void **state)
{
    (void)state;
    static const char line[] =
        "<div class=fragment><div class=line><a id=l00001></a><span "
        "class=lineno> 1</span>int open();</div></div>";
    struct buf page = {0};
    buf_printf(&page, "<div class=title>a.h</div><div class=contents>%s</div>",
               line);
    expect_role(page.data, PAGE_MADE);
    buf_clear(&page);
    buf_printf(&page, "<div class=contents><div class=textblock>%s</div></div>",
               line);
    expect_role(page.data, PAGE_CONTENT);
    buf_free(&page);
    expect_role("<body>\n<code class=code><span class=keyword>sig</span> <span "
                "class=keyword>val</span> a : int <span class=keyword>end"
                "</span></code></body>",
                PAGE_MADE); /* ocamldoc */
    expect_role("<body>\n<code class=code>int <span class=keywordsign>-&gt;"
                "</span> int</code></body>",
                PAGE_MADE);
    expect_role("<body>\n<code class=code><span class=keyword>val</span></code>"
                "<p>It pumps.</body>",
                PAGE_CONTENT);
}

static void test_crystal(void **state)
{
    (void)state;
    expect(
        "<title>Pump - Works 1.6</title><div class=sidebar><div "
        "class=sidebar-header><h1 class=project-name>Works</h1></div><div "
        "class=types-list><ul><li><a href=Pump.html>Pump</a><li><a "
        "href=Valve.html>Valve</a></ul></div></div><div class=main-content><h1 "
        "class=type-name><span class=kind>class</span> Pump</h1><p>It pumps."
        "<h2>Instance Method Summary</h2><ul class=list-summary><li "
        "class=entry-summary><a href=#s class=signature>#start</a><div "
        "class=summary><p>Starts.</div></ul><div class=methods-inherited><h3>"
        "Instance methods inherited from class Object</h3>to_s</div><h2>"
        "Instance Method Detail</h2><div class=entry-detail "
        "id='start(at)'><div "
        "class=signature>def <strong>start</strong>(at) <a "
        "class=method-permalink href=#start%28at%29>#</a></div><div class=doc>"
        "<p>Starts it.</div><div>[<a class=view-source href=p.cr>View source"
        "</a>]</div></div></div>",
        "# class Pump\nparagraph: It pumps.\n## Instance Method Detail\n"
        "##* def start(at) {start(at)}\nparagraph: Starts it.\n");
    expect(
        "<div class=sidebar><p>A note beside.</div><ul class=list><li>a</ul>",
        "# \nparagraph: A note beside.\nlist: - a\n");
}

/* groovydoc and javadoc before Java 8. */
static void test_summaries(void **state)
{
    (void)state;
    expect("<h2>Class P</h2><p>a<ul class=blockList><li class=blockList><a "
           "name=method_summary></a><h3>Methods Summary</h3><table><tr><td>"
           "Closes.</table></ul><h3>Method Detail</h3><p>b",
           "# Class P\nparagraph: a\n## Method Detail\nparagraph: b\n");
    expect(
        "<a href=#skip-navbar_top></a><table border=0><tr><td>Overview</table>"
        "<h2><font size=-1>com.works</font><br>Class P</h2><p>a<a "
        "name=constructor_summary></a><table border=1><tr><td>P()</table><a "
        "name=methods_inherited></a><p>b<a name=methods_summary></a>"
        "<table border=1><tr><td>c<td>d</table>",
        "# Class P\nparagraph: a\nparagraph: b\ntable: c\\td\n");
    expect("<h2><font color=red>Pumps</font><br> </h2><p>a",
           "# Pumps\nparagraph: a\n");
    expect("<h2><font color=red>All pumps</font><br>and tanks</h2><p>a",
           "# All pumps and tanks\nparagraph: a\n");
}

/* What others may call so, too. */
static void test_others(void **state)
{
    (void)state;
    expect("<h1>A</h1><h4 class=subHeading>Installing</h4><p>b",
           "# A\n## Installing\nparagraph: b\n");
    expect("<h1>A</h1><div><a class=view-source href=s>c</a><p>b</div>",
           "# A\nparagraph: c\nparagraph: b\n");
    expect("<h1>A</h1><h2>B</h2><ul class=list-summary><li>c<li>d</ul>",
           "# A\n## B\nlist: - c\\n- d\n");
}

static void test_sandcastle(void **state)
{
    (void)state;
    static const char page[] =
        "<title>Open Method</title><meta name=file content=M_Works_Pump_Open>"
        "<div id=header><table id=topTable><tr><td><span>Code: All</span></td>"
        "</tr><tr id=headerTableRow2><td><span id=nsrTitle>Pump..::.Open Method"
        "</span></td></tr><tr id=headerTableRow3><td><a href=T_Works_Pump.htm>"
        "Pump Class</a> <a href=#s>See Also</a></td></tr></table></div><div "
        "id=mainSection><p>Opens it.<h1 class=heading><span "
        "onclick='ExpandCollapse(syntaxToggle)'><img src=c.gif>Syntax</span>"
        "</h1><pre>void Open()</pre><h4 class=subHeading>Parameters</h4><p>none"
        "</div>";
    expect(page, "# Open Method\nparagraph: Opens it.\nparagraph: Syntax\n"
                 "code: void Open()\nparagraph: Parameters\nparagraph: none\n");
    struct tree *tree = parse(page);
    assert_true(slice_is(tree->page.up, "T_Works_Pump.htm"));
    tree_free(tree);
    expect_role("<title>Pump Members</title><meta name=file "
                "content=AllMembers_T_Works_Pump><p>a",
                PAGE_MADE);
    expect_role("<meta name=file content=M_Works_Pump_Open><p>a", PAGE_CONTENT);
    expect("<div id=header><table><tr><td>a<td>b</table></div><h1>c</h1><p>d",
           "# c\ntable: a\\tb\nparagraph: d\n");
}

/* In the style of Visual Studio 2013 a program joins the parts of the title. */
static void test_sandcastle_of_2013(void **state)
{
    (void)state;
    expect(
        "<title>Pump.Open Method </title><meta name=Microsoft.Help.Id "
        "content='M:Works.Pump.Open'><div class=pageHeader id=PageHeader>"
        "Works 1.0</div><div class=leftNav id=leftNav><div id=tocNav><a "
        "href=w.htm>Works 1.0</a></div></div><div class=topicContent "
        "id=TopicContent><table class=titleTable><tr><td class=logoColumn>"
        "<img src=h.png><td class=titleColumn><h1>Pump<span id=LST1></span>"
        "<script>AddLanguageSpecificTextSet('LST1?cpp=::|nu=.')</script>Open "
        "Method</h1></table><p>Opens it.<h4 class=subHeading>Parameters</h4>"
        "<p>none</div><div id=pageFooter class=pageFooter>(c) Works</div>",
        "# Pump.Open Method\nparagraph: Opens it.\n"
        "paragraph: Parameters\nparagraph: none\n");
    expect("<title>a</title><table class=titleTable><tr><td class=titleColumn>"
           "Pumps<td>b</table><h1>c</h1><p>d",
           "# c\ntable: Pumps\\tb\nparagraph: d\n");
    expect(
        "<h1>Pump<span class=languageSpecificText><span class=cs>.</span>"
        "<span class=vb>.</span><span class=cpp>::</span></span>Open</h1><p>a",
        "# Pump.Open\nparagraph: a\n");
    expect("<title>Works</title><div id=PageHeader class=pageHeader><h1>Pumps"
           "</h1><p>a</div><p>b",
           "# Pumps {PageHeader}\nparagraph: a\nparagraph: b\n");
    expect_role("<meta name=Microsoft.Help.Id content='Methods.T:Works.Pump'>"
                "<p>a",
                PAGE_MADE);
    expect_role("<meta name=file content=Events_of_pumps><p>a", PAGE_CONTENT);
    expect_role("<meta name=file content=Overload_Works_Pump_Open><p>a",
                PAGE_MADE);
    expect_role("<meta name=Microsoft.Help.Id content='T:Works.Methods'><p>a",
                PAGE_CONTENT);
}

/* The source of each member stands in its box. */
static void test_pdoc(void **state)
{
    (void)state;
    expect(
        "<nav class=pdoc><ul><li>Pump</ul></nav><main class=pdoc><section "
        "class=module-info><h1 class=modulename>works</h1><div class=docstring>"
        "<p>All.</div></section><section id=Pump><div class='attr class'><span "
        "class=def>class</span> <span class=name>Pump</span>: <label "
        "class=view-source-button><span>View Source</span></label></div><div "
        "class='pdoc-code codehilite'><pre>class Pump: pass</pre></div><div "
        "class=docstring><p>It pumps.</div><div id=Pump.start class=classattr>"
        "<div class='attr function'><span class=def>def</span> <span "
        "class=name>"
        "start</span><span class='signature pdoc-code'>(at)</span>:</div><div "
        "class=docstring><p>Starts it.</div></div></section></main>",
        "# works\nparagraph: All.\n#* class Pump: {Pump}\nparagraph: It "
        "pumps.\n"
        "##* def start(at): {Pump.start}\nparagraph: Starts it.\n");
    expect("<h1>A</h1><section id=b><div class=attr>c</div><p>d</section>",
           "# A\nparagraph: c\nparagraph: d\n");
}

static void test_jazzy(void **state)
{
    (void)state;
    expect(
        "<header class=header><p class='header-col header-col--primary'>Works "
        "(96% documented)</header><h1>Pump</h1><p>It pumps.<ul "
        "class=item-container><li class=item><div><code><a name=start></a><a "
        "class=token href=#start>start(at:)</a></code></div><div><section "
        "class=section><div class=abstract><p>Starts it.<div class='aside "
        "aside-note'><p class=aside-title>Note</p>Once.</div></div><div "
        "class=declaration><h4>Declaration</h4><div class=language><p "
        "class=aside-title>Swift</p><pre>func start(at: Int)</pre></div></div>"
        "<div><h4>Parameters</h4><p>at: when</div></section></div><li "
        "class=item><div><code>Valve</code></div><div class=abstract><p>Shuts."
        "</p><a class=slightly-smaller href=Valve.html>See more</a></div></ul>",
        "# Pump\nparagraph: It pumps.\n#* start(at:) {start}\nparagraph: "
        "Starts "
        "it.\nnote(note): Once.\ncode: func start(at: Int)\nparagraph: "
        "Parameters\nparagraph: at: when\n");
    expect("<h1>A</h1><ul><li class=item><div>b</div><h4>c</h4></ul>",
           "# A\nlist: - b\n## c\n");
}

static void test_doctum(void **state)
{
    (void)state;
    expect("<h1>Pump</h1><p>It pumps.<h2>Methods</h2><div "
           "class='container-fluid underlined'><div class=row><a "
           "href=#method_start>start</a>(int $at)</div></div><h2>Details</h2>"
           "<div class=method-item><h3 id=method_start><div class=location>at "
           "<a href=s>line 7</a></div><code>bool <strong>start</strong>(int "
           "$at)</code></h3><div class=details><div class=method-description>"
           "<p class=no-description>No description</div><div class=tags><h4>"
           "Return Value</h4><p>if it runs</div></div></div>",
           "# Pump\nparagraph: It pumps.\n## Details\n"
           "##* bool start(int $at) {method_start}\nparagraph: Return Value\n"
           "paragraph: if it runs\n");
    expect_role("<title>Index | Works</title><h1>Index</h1><h2 id=letterS>S"
                "</h2><dl id=indexS><dt><a href=Pump.html#method_start>"
                "Pump::start</a>()<dd>Starts it.</dl>",
                PAGE_INDEX);
    expect("<h1>A</h1><h2>B</h2><div class=underlined><a href=#method_b>c</a>"
           "</div><div class=tags><h4>D</h4><p>e</div>",
           "# A\n## B\nparagraph: c\n### D\nparagraph: e\n");
    expect("<h1>A</h1><article class=no-description><p class=no-description>b"
           "</article>",
           "# A\nparagraph: b\n");
}

static void test_dartdoc(void **state)
{
    (void)state;
    expect(
        "<header id=title><span id=sidenav-left-toggle>menu</span>works "
        "dark_mode</header><div id=dartdoc-main-content><h1>start method</h1>"
        "<section class=multi-line-signature>start(<ol "
        "class=parameter-list><li><span class=parameter>int at</span></ol>)"
        "</section><p>Starts it."
        "<section class='summary source-code' id=source><h2>Implementation"
        "</h2><pre>void start() {}</pre></section></div><div "
        "id=dartdoc-sidebar-left><h5>Pump class</h5></div>",
        "# start method {dartdoc-main-content}\nparagraph: start(int at)\n"
        "paragraph: Starts it.\n");
    expect("<header id=title><span>a</span></header><h1>B</h1><section "
           "class=source-code><pre>c</pre></section><ol class=parameter-list>"
           "<li>d<li>e</ol>",
           "# B\nparagraph: a\ncode: c\nlist: 1. d\\n2. e\n");
}

static void test_nim(void **state)
{
    (void)state;
    expect(
        "<h1>pumps</h1><div id=global-links><ul><li>Manual</ul></div><div "
        "id=searchInputDiv>Search:</div><ul class='simple simple-toc'><li><a "
        "href=#7>Procs</a></ul><h2>Procs</h2><dl class=item><div "
        "id='start,int'><dt><pre>proc start(at: int) {.<span "
        "class=pragmadots>...</span><span class=pragmawrap>raises: []</span>"
        ".}</pre></dt><dd>Starts it. <a class=link-seesrc href=s>Source</a>"
        "</dd></div></dl>",
        "# pumps\n## Procs\n##* proc start(at: int) {.....} {start,int}\n"
        "paragraph: Starts it.\n");
    static const char index[] =
        "<title>Index</title><h1>Index</h1><dl><dt><a name=start "
        "href=#start>start:</a></dt><dd><ul class=simple><li><a "
        "href=pumps.html#s>pumps: start</a></ul></dd></dl>";
    expect_role(index, PAGE_INDEX);
    expect_role("<title>Index</title><h1>Index</h1><dl><dt><a name=start "
                "href=#s>start:</a></dt><dd><ul class=simple><li>a</ul></dl>",
                PAGE_CONTENT);
    expect("<h1>A</h1><dl class=item><dt>b<dd>c</dl>",
           "# A\ndefinition: b\\n  c\n");
}

static void test_ford(void **state)
{
    (void)state;
    expect(
        "<h1>start <small>Subroutine</small></h1><div class=row id=info-bar>"
        "<ul><li class=list-inline-item>29 statements</ul></div><div "
        "id=sidebar><h3>Contents</h3><div class=card>"
        "<h3>Source Code</h3></div></div><div><h2>subroutine start(at)</h2>"
        "<p>Starts it.<h3>Type Bound</h3><p><a href=../type/pump.html>pump</a>"
        "<h3>Arguments</h3><table class='table varlist'><tr><td>"
        "integer<td>at</table><section><h2><span class=anchor id=src></span>"
        "Source Code</h2><pre>end subroutine</pre></section></div>",
        "# start Subroutine\n## subroutine start(at)\nparagraph: Starts it.\n"
        "paragraph: Type Bound\nparagraph: pump\nparagraph: Arguments\n"
        "table: integer\\tat\n");
    /* A type's: what a bound name stands for is below it. */
    expect("<h1>pump</h1><section><h2>Type-Bound Procedures</h2><div "
           "class=card><div class='card-header codesum'><h3>generic :: <strong>"
           "start</strong></h3></div><div class=card-body><p>Starts it.<h3>"
           "Example</h3><p>a</div><ul class=list-group><li "
           "class=list-group-item><h3>subroutine <a href=p>start_at</a>(at)"
           "</h3><p>At once.<h3>Notes</h3><p>b<h4>Return Value <small>integer"
           "</small></h4></ul></div></section>",
           "# pump\n## Type-Bound Procedures\n### generic :: start\n"
           "paragraph: Starts it.\n#### Example\nparagraph: a\n"
           "#### subroutine start_at(at)\nparagraph: At once.\n"
           "##### Notes\nparagraph: b\nparagraph: Return Value integer\n");
    expect("<h1>A</h1><h3>Arguments</h3><table><tr><td>b</table><h3>Type Bound"
           "</h3><p>c<h3 id=e>E</h3><p>d<h3>Arguments</h3><table class=varlist>"
           "<tr><td>f</table>",
           "# A\n## Arguments\ntable: b\n## Type Bound\nparagraph: c\n"
           "## E {e}\nparagraph: d\n## Arguments\ntable: f\n");
    expect("<h1>A</h1><div id=sidebar><h3>B</h3><p>c</div><section><h2><span "
           "class=anchor></span>D</h2><pre>e</pre></section>",
           "# A\n## B {sidebar}\nparagraph: c\n## D\ncode: e\n");
    expect("<h1>A</h1><div class=row id=info-bar><p>b</div><section><h2><a "
           "class=anchor id=src></a>src</h2><p>c<pre>d</pre></section>",
           "# A\nparagraph: b\n## src {src}\nparagraph: c\ncode: d\n");
}

/* The file that R's help page was made from, which is hidden. */
static void test_pkgdown(void **state)
{
    (void)state;
    expect("<div class=page-header><h1>Start pumps</h1><div class='d-none "
           "name'><code>pump.Rd</code></div><div class=name>a</div></div>",
           "# Start pumps\nparagraph: a\n");
    expect("<h1>A</h1><div class='hidden name'>b.Rd</div>",
           "# A\nparagraph: b.Rd\n");
}

static void test_pydoctor(void **state)
{
    (void)state;
    static const char page[] =
        "<div class=page-header><h1 class=class><code><a href=index.html>works"
        "</a>.<a href=works.pumps.html>pumps</a>.<a href=works.pumps.Pump.html>"
        "Pump</a></code></h1><div id=showPrivate><button>Toggle Private API"
        "</button></div></div><div class=categoryHeader>class documentation"
        "</div><div class=extrasDocstring><p><code>class Pump: <a "
        "class=sourceLink href=p.py>(source)</a></code></p><p><a "
        "href='classIndex.html#Pump'>View In Hierarchy</a></p></div><p>It "
        "pumps.</p><div id=splitTables><table class=children><tr><td>Method"
        "<td><a href=#stop>stop</a><td>Stops it.</table></div><div "
        "id=childList><div class=basemethod><a name=works.pumps.Pump.stop></a>"
        "<a name=stop></a><div class=functionHeader><span class=py-keyword>def"
        "</span> <span class=py-defname>stop</span>(self): <a class=sourceLink "
        "href=p.py>(source)</a> <a class=headerLink href=#stop>¶</a></div><div "
        "class='docstring functionBody'><p>Stops it.</p><table "
        "class=fieldTable><tr><td>n<td><span class=undocumented>Undocumented"
        "</span></table></div></div></div>";
    expect(page, "# works.pumps.Pump\nparagraph: class Pump:\n"
                 "paragraph: It pumps.\n#* def stop(self): {stop}\n"
                 "paragraph: Stops it.\ntable: n\n");
    struct tree *tree = parse(page);
    assert_true(slice_is(tree->page.up, "works.pumps.html"));
    tree_free(tree);
    expect_role("<div class=page-header><h1>Index of Names</h1><div "
                "id=showPrivate></div></div><ul><li>Pump</ul>",
                PAGE_MADE);
    expect_role("<h1>All Documents</h1><ul><li><div class=fullName>works</div>"
                "<div class=url>index.html</div></ul>",
                PAGE_MADE);
    expect_role("<div class=page-header><h1>Pumps</h1></div><p>a",
                PAGE_CONTENT);
}

/* What is said of a function is its page's text; its other parts are sections. */
static void test_macaulay2(void **state)
{
    (void)state;
    expect("<div><h1>pump -- raises water</h1><div><h2>Synopsis</h2><ul><li>"
           "Usage: pump w</ul></div><div><h2>Description</h2>It pumps.</div>"
           "<div><h2>See also</h2>valve</div></div>",
           "# pump -- raises water\nlist: - Usage: pump w\n"
           "paragraph: It pumps.\n## See also\nparagraph: valve\n");
    expect("<div><h1>Pumps</h1><div><h2>Description</h2>They pump.</div></div>",
           "# Pumps\n## Description\nparagraph: They pump.\n");
}

/* Doxygen 1.9 and later: only what a member belongs to is a link. */
static void test_doxygen_lists(void **state)
{
    (void)state;
    static const char item[] =
        "<li>bits&#160;:&#160;<a class=el href=classPump.html>Pump</a></li>";
    struct buf page = {0};
    buf_printf(&page,
               "<div class=contents><div class=textblock>Here is a list of all "
               "documented variables with links to their classes:</div><ul>%s"
               "</ul></div>",
               item);
    expect_role(page.data, PAGE_MADE);
    buf_clear(&page);
    buf_printf(&page,
               "<div class=contents><div class=textblock>Here they are:</div>"
               "<h3><a id=index_b></a>- b -</h3><ul>%s</ul></div>",
               item);
    expect_role(page.data, PAGE_MADE);
    buf_clear(&page);
    buf_printf(&page,
               "<div class=contents><div class=textblock><ul>%s</ul></div>"
               "</div>",
               item);
    expect_role(page.data, PAGE_CONTENT);
    buf_free(&page);
    expect_role("<div class=contents><div class=qindex>P</div><div "
                "class=classindex><dl class='classindex even'><dt class="
                "alphachar>P</dt><dd><a class=el href=classPump.html>Pump</a> ("
                "<a class=el href=namespacew.html>w</a>)</dd></dl></div></div>",
                PAGE_MADE);
}

/* odoc: values and types are entries; modules have pages of their own. */
static void test_odoc(void **state)
{
    (void)state;
    expect(
        "<header class=odoc-preamble><h1>Module <code>Works.Pump</code></h1>"
        "<p>Pumps.</header><div class=odoc-content><div class=odoc-spec><div "
        "class='spec module anchored' id=module-Oil><a href=#module-Oil "
        "class=anchor></a><code>module <a href=Oil/index.html>Oil</a> : sig "
        "... end</code></div><div class=spec-doc><p>Its oil.</div></div>"
        "<h2 id=use><a href=#use class=anchor></a>Use</h2>"
        "<div class=odoc-spec><div class='spec value anchored' id=val-start>"
        "<a href=#val-start class=anchor></a><code>val start : t -&gt; unit"
        "</code></div><div class=spec-doc><p>Starts it.</div></div><div "
        "class=odoc-spec><div class='spec type anchored' id=type-t><code>"
        "type t</code></div></div><div class=odoc-spec><div class='spec "
        "module anchored' id=module-Map><code>module Map = <a "
        "href=../../base/Map/index.html>Base.Map</a></code></div></div>"
        "</div>",
        "# Module Works.Pump\nparagraph: Pumps.\n## Use {use}\n"
        "paragraph: module Map = Base.Map\n"
        "##* val start : t -> unit {val-start}\nparagraph: Starts it.\n"
        "##* type t {type-t}\ndefinition: type t\n");
}

/* Documenter: a docstring is an entry, folded or not. */
static void test_documenter(void **state)
{
    (void)state;
    expect("<article class=content><h1>Pumps</h1><p>a<article class=docstring>"
           "<header><a class='docstring-article-toggle-button fa' "
           "title=Collapse></a><a class=docstring-binding id=P.start "
           "href=#P.start><code>P.start</code></a> — <span class="
           "docstring-category>Function</span>.</header><section><div><pre>"
           "start(p)</pre><p>Starts it.<h1>Arguments</h1><p>b</div><a class="
           "docs-sourcelink href=s>source</a></section></article><details "
           "class=docstring open><summary id=P.stop><a class=docstring-binding "
           "href=#P.stop><code>P.stop</code></a> — <span class="
           "docstring-category>Function</span></summary><section><p>Stops."
           "</section></details></article>",
           "# Pumps\nparagraph: a\n#* P.start — Function. {P.start}\n"
           "code: start(p)\nparagraph: Starts it.\nparagraph: Arguments\n"
           "paragraph: b\n#* P.stop — Function {P.stop}\nparagraph: Stops.\n");
    struct tree *tree = parse(
        "<nav class=docs-sidebar><ul class=docs-menu><li><a class=tocitem "
        "href=../>Home</a><li><span class=tocitem>Guide</span><ul><li "
        "class=is-active><a class=tocitem href>Pumps</a><ul class=internal><li>"
        "<a class=tocitem href=#Oil>Oil</a></ul><li><a class=tocitem "
        "href=../valves/>Valves</a></ul></ul></nav><h1>Pumps</h1><p>a");
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 3);
    assert_true(slice_is(tree->page.links[1].title, "Guide"));
    assert_true(slice_is(tree->page.links[2].url, "../valves/"));
    tree_free(tree);
}

/* ESDoc: members are entries, their parts no sections. */
static void test_esdoc(void **state)
{
    (void)state;
    expect("<div class=self-detail><h1 data-ice=name>Pump</h1><p>Pumps.</div>"
           "<div data-ice=methodSummary><h2>Method Summary</h2><table "
           "class=summary><tr><td>public start()</table></div><div data-ice="
           "methodDetails><h2 data-ice=title>Public Methods</h2><div "
           "class=detail data-ice=detail><h3 data-ice=anchor id=m-start>public "
           "<span data-ice=name>start</span>(n: number): * <span class="
           "right-info><span data-ice=source><a href=f>source</a></span></span>"
           "</h3><div data-ice=description><p>Starts.</div><div><h4 "
           "data-ice=title>Params:</h4><p>n: how often</div><div "
           "class=return-params><h4>Return:</h4><p>nothing</div></div></div>",
           "# Pump\nparagraph: Pumps.\n## Public Methods\n##* public start(n: "
           "number): * {m-start}\nparagraph: Starts.\nparagraph: Params:\n"
           "paragraph: n: how often\nparagraph: Return:\n"
           "paragraph: nothing\n");
    expect_role(
        "<h1>src/pump.js</h1><pre class='source-code line-number'><code "
        "data-ice=content>a</code></pre>",
        PAGE_MADE);
    expect_role("<h1>Source</h1><table class=files-summary data-ice=files><tr>"
                "<td>a</table>",
                PAGE_MADE);
    expect_role("<h1>Source</h1><pre class=source-code><code>a</code></pre>",
                PAGE_CONTENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_doxygen_lists),
        TEST(test_odoc),
        TEST(test_documenter),
        TEST(test_esdoc),
        TEST(test_doxygen_headings),
        TEST(test_listings),
        TEST(test_crystal),
        TEST(test_summaries),
        TEST(test_sandcastle),
        TEST(test_sandcastle_of_2013),
        TEST(test_others),
        TEST(test_pdoc),
        TEST(test_jazzy),
        TEST(test_doctum),
        TEST(test_dartdoc),
        TEST(test_nim),
        TEST(test_ford),
        TEST(test_pkgdown),
        TEST(test_pydoctor),
        TEST(test_macaulay2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
