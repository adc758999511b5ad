#include "tests/unit/support/parsing.h"

/* What the makers of Web sites print around a manual's text. */

/* Nodes by their titles, in order, up to NULL. */
static void assert_titles(const char *html, const char *const *titles)
{
    struct tree *tree = parse(html);
    uint32_t count = 0;
    for (; titles[count]; count++) {
        assert_in_range(count, 0, tree->count - 1);
        assert_true(slice_is(tree->nodes[count].title, titles[count]));
    }
    assert_int_equal(tree->count, count);
    tree_free(tree);
}

/* ExDoc, rustdoc, VitePress: a heading holds what is no part of it; LilyPond: that of
 * the contents is none. */
static void test_controls_in_titles(void **state)
{
    (void)state;
    static const char *const titles[] = {
        "Pump", "Types", "start/1", "Struct pump::Valve", "Angle", NULL};
    assert_titles(
        "<h1>Pump <a href=x.ex rel=help><i class=icon></i> <span "
        "class=sr-only>View Source</span></a></h1><p>a"
        "<h2><a href=#types class=hover-link><i></i> <span class=sr-only>Link "
        "to this section</span></a> Types</h2><p>b"
        "<h2><button><span>start/1</span></button></h2><p>c"
        "<h2>Struct <b>pump::Valve</b><button id=copy-path><img alt='Copy item "
        "path' "
        "src=c.svg></button></h2><p>d"
        "<h2>Angle <a href=#angle aria-label='Permalink to "
        "Angle'>\u200b</a></h2><p>e"
        "<div id=tocframe><h4 class=toc_header><a href=index.html>Pump 2.24"
        "</a></h4></div>",
        titles);
    struct tree *tree =
        parse("<h1>A</h1><p>See <a href=b.html>the valve <span "
              "class=sr-only>(opens a window)</span></a>.</p><p><a "
              "href=c><svg></svg><span class=sr-only>Edit</span></a></p>");
    assert_int_equal(tree->nodes[0].block_count, 1);
    assert_true(slice_is(tree->nodes[0].blocks[0].text,
                         "See the valve (opens a window)."));
    tree_free(tree);
}

/* SQLite, javadoc: what a program of the page waits for.  A button that the text shows is
 * a part of it, and so is one that says what opens below. */
static void test_live_buttons(void **state)
{
    (void)state;
    expect(
        "<h1>A</h1><p>create-stmt: <button onclick='hide(\"x\")'>hide</button>"
        "</p><div><button role=tab>All Methods</button><button role=tab>"
        "Static Methods</button></div><p>Press <button>OK</button>. Press "
        "<button onclick='go()'>Start</button> to go on.</p>"
        "<button onclick='fold()'>What to do when it does not start</button>"
        "<p>b",
        "# A\nparagraph: create-stmt:\n"
        "paragraph: Press OK. Press Start to go on.\n"
        "paragraph: What to do when it does not start\nparagraph: b\n");
}

/* Apache's box of what the page has and where else to look. */
static void test_quickview(void **state)
{
    (void)state;
    expect("<h1>mod_alias</h1><p>a<div id=quickview><h3 class=directives>"
           "Directives</h3><ul id=toc><li><a href=#alias>Alias</a></ul><h3>"
           "See also</h3><ul class=seealso><li><a href=b.html>b</a></ul></div>"
           "<h2 id=alias>Alias Directive</h2><p>b",
           "# mod_alias\nparagraph: a\n## Alias Directive {alias}\n"
           "paragraph: b\n");
    expect("<h1>Use</h1><section id=quickview><h2>Quick view</h2><p>a</section>"
           "<div class=section id=quickview><h2>Its bar</h2><p>b</div>",
           "# Use\n## Quick view {quickview}\nparagraph: a\n"
           "## Its bar {quickview}\nparagraph: b\n");
}

/* PyData's theme of Sphinx: its field to search shows keys, its contents links. */
static void test_pydata(void **state)
{
    (void)state;
    expect("<form class='bd-search d-flex'><input><span><kbd>Ctrl</kbd>+<kbd>K"
           "</kbd></span></form><h1>Pump</h1><p>Runs.<div class="
           "bd-sidebar-secondary><div class='tocsection onthispage'>On this "
           "page</div></div>",
           "# Pump\nparagraph: Runs.\n");
}

/* Questions in bold at the head of their answer, which the page's own list links to in
 * these words; bold words that it does not are text. */
static void test_questions_that_are_linked(void **state)
{
    (void)state;
    struct buf html = {0};
    buf_put_text(&html, "<h1>FAQ</h1><ul>");
    for (int i = 0; i < 8; i++)
        buf_printf(&html, "<li><a href=#a%d>Why does valve %d\n leak?</a>", i,
                   i);
    buf_put_text(&html, "</ul><p><a id=b><b>Beware</b></a><br>of it all.</p>");
    for (int i = 0; i < 8; i++)
        buf_printf(&html,
                   "<p><a id=a%d><b>Why does valve %d leak?</b></a><br>Its "
                   "seal, which is of cork, is worn out and has to be "
                   "replaced by another.</p><p><b>%d</b></p>",
                   i, i, i);
    struct tree *tree = parse(html.data);
    assert_int_equal(tree->count, 9);
    for (uint32_t i = 1; i < tree->count; i++) {
        assert_true(
            slice_starts(tree->nodes[i].title, slice_of("Why does valve ")));
        assert_true(slice_starts(tree->nodes[i].blocks[0].text,
                                 slice_of("Its seal, ")));
        assert_int_equal(tree->nodes[i].anchor.data[1], '0' + (int)i - 1);
    }
    tree_free(tree);
    buf_free(&html);
}

/* Word, FrameMaker, WebWorks, LibreOffice: styles are classes. */
static void test_paragraph_styles(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<title>Pump P7</title><p class=MsoTitle>Pump P7</p>"
        "<p class=MsoTocHeading>Contents</p><p class=MsoToc1><a href=#_Toc1>1 "
        "Use<span style='display:none'>....</span>2</a></p>"
        "<h1><a name=_Toc1>1 Use</a></h1><p class=MsoNormal>Open it.<a "
        "href=#_ftn1 name=_ftnref1>[1]</a></p>"
        "<div class=Heading_2><a name=p1>1.1 Valve</a></div><div>b</div>"
        "<p class=Heading3>Leaks</p><p>c</p>"
        "<div class=heading-2><p>Not one</p></div>"
        "<p class=MsoHeading2>1.2 Motor</p><p class=Headings>d</p>"
        "<p class=Heading7>e</p><div id='Table of Contents1'><p>1 Use 3</p>"
        "</div><div id=ftn1><p class=MsoFootnoteText><a href=#_ftnref1 "
        "name=_ftn1>[1]</a> By hand.</p></div>");
    static const struct {
        const char *title;
        uint32_t parent;
    } nodes[] = {{"Pump P7", TREE_NONE},
                 {"1 Use", 0},
                 {"1.1 Valve", 1},
                 {"Leaks", 2},
                 {"1.2 Motor", 1}};
    assert_int_equal(tree->count, sizeof nodes / sizeof *nodes);
    for (uint32_t n = 0; n < tree->count; n++) {
        assert_true(slice_is(tree->nodes[n].title, nodes[n].title));
        assert_int_equal(tree->nodes[n].parent, nodes[n].parent);
    }
    assert_int_equal(tree->nodes[0].block_count, 0);
    assert_int_equal(tree->nodes[1].block_count, 2);
    assert_int_equal(tree->nodes[1].blocks[1].kind, BLOCK_NOTE);
    assert_int_equal(tree->nodes[3].block_count, 2);
    assert_int_equal(tree->nodes[4].block_count, 2);
    tree_free(tree);
}

/* A title in a <div>, with its number in another: pgBackRest. */
static void test_section_headers(void **state)
{
    (void)state;
    expect("<title>Guide</title><div class=page-menu><a href=i.html>Home</a>"
           "</div><div class=page-toc>1 <a href=#use>Use</a></div>"
           "<div class=section1><a id=use></a><div class=section1-header>"
           "<div class=section1-number>1</div><div class=section1-title>Use"
           "</div></div><div class=section-body>Open it.<div class=section2>"
           "<a id=use/oil></a><div class=section2-header><div class="
           "section2-title>Oil (<span>--oil</span>)</div></div>Some.</div>"
           "</div></div><div class=section1><div class=section1-header>2 End"
           "</div></div><div class=section-header>Not one</div>",
           "# Guide\n## 1 Use {use}\nparagraph: Open it.\n"
           "### Oil (--oil) {use/oil}\nparagraph: Some.\n## 2 End\n"
           "paragraph: Not one\n");
}

/* All tabs are read, whichever is in front. */
static void test_tabs(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<h1>Install</h1><div role=tablist><div role=tab>apt</div></div><div "
        "role=tabpanel><pre>apt install pump</pre></div><div role=tabpanel "
        "hidden><pre>brew install pump</pre></div><div role=tabpanel "
        "aria-hidden=true style='display: none'><pre>port pump</pre></div><p "
        "hidden>a");
    uint32_t code = 0;
    for (uint32_t i = 0; i < tree->nodes[0].block_count; i++)
        code += tree->nodes[0].blocks[i].kind == BLOCK_CODE;
    assert_int_equal(code, 3);
    const struct block *last =
        &tree->nodes[0].blocks[tree->nodes[0].block_count - 1];
    assert_true(slice_is(last->text, "port pump"));
    tree_free(tree);
}

/* A space that Confluence wrote as HTML. */
static void test_confluence(void **state)
{
    (void)state;
    struct tree *tree = parse(
        "<title>Pumps : Start</title><div id=breadcrumb-section><ol "
        "id=breadcrumbs><li><span><a href=index.html>Pumps</a></span>"
        "<li><span><a href=Use_1.html>Use</a></span></ol></div><h1 "
        "id=title-heading><i>Home</i> <span>Pumps : Start</span></h1><div "
        "class=page-metadata>Created by A, last modified on May 1</div><div "
        "class=toc-macro><ul><li><a href=#s>Start</a></ul></div><h1 "
        "id=s>Start</h1><div class='confluence-information-macro "
        "confluence-information-macro-warning'><p class=title>Hot</p><div "
        "class=confluence-information-macro-body><p>Wait.</p></div></div>"
        "<p>Open it.</p><div class='pageSection group'><div "
        "class=pageSectionHeader><h2 id=attachments>Attachments:</h2></div>"
        "<div class=greybox><a href=attachments/p.png>p.png</a></div></div>");
    assert_int_equal(tree->count, 2);
    assert_true(tree->page.trail);
    assert_true(slice_is(tree->page.up, "Use_1.html"));
    assert_true(slice_is(tree->nodes[0].title, "Start"));
    assert_true(slice_is(tree->page.title, "Start"));
    assert_int_equal(tree->nodes[0].block_count, 0);
    assert_int_equal(tree->nodes[1].block_count, 3);
    assert_int_equal(tree->nodes[1].blocks[1].kind, BLOCK_NOTE);
    assert_true(slice_is(tree->nodes[1].blocks[1].info, "warning"));
    assert_true(slice_is(tree->nodes[1].blocks[2].text, "Open it."));
    tree_free(tree);
}

/* ExDoc: the summary says what stands below it. */
static void test_exdoc(void **state)
{
    (void)state;
    static const char *const titles[] = {"Pump", "Functions", "start(p)", NULL};
    assert_titles(
        "<h1>Pump</h1><p>a<section id=summary class=details-list><h1>Summary"
        "</h1><div class=summary><h2>Functions</h2><a href=#start/1>start(p)"
        "</a><p>Starts.</div></section><section id=functions "
        "class=details-list><h1>Functions</h1><section class=detail "
        "id=start/1><div class=detail-header><h1>start(p)</h1></div><section "
        "class=docstring><h2>Specs</h2><div class=specs><pre>start(p)</pre>"
        "</div><p>Starts.</section></section></section>",
        titles);
}

/* Docusaurus, VitePress, Quarto, Docsy: notes, with headings or without. */
static void test_notes(void **state)
{
    (void)state;
    static const struct {
        const char *html, *kind;
    } notes[] = {
        {"<div class='theme-admonition theme-admonition-info admonition_x'><div"
         ">info</div><p>Wait.</div>",
         "info"},
        {"<div class='danger custom-block'><p>DANGER</p><p>Wait.</div>",
         "danger"},
        {"<div class='callout callout-tip'><div>Tip</div><p>Wait.</div>",
         "tip"},
        {"<div class='alert alert-warning'><h4>Warning</h4><p>Wait.</div>",
         "warning"}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct tree *tree = parse(notes[i].html);
        assert_int_equal(tree->count, 1);
        assert_int_equal(tree->nodes[0].block_count, 1);
        assert_int_equal(tree->nodes[0].blocks[0].kind, BLOCK_NOTE);
        assert_true(slice_is(tree->nodes[0].blocks[0].info, notes[i].kind));
        assert_true(slice_is(tree->nodes[0].blocks[0].text, "Wait."));
        tree_free(tree);
    }
}

/* GitBook: the page is called as its heading is, and has a place for what is found. */
static void test_gitbook(void **state)
{
    (void)state;
    static const char *const titles[] = {"Valves", "Leaks", NULL};
    assert_titles("<title>Valves · Pump</title><div><h1>Valves</h1><p>a<h1>"
                  "Leaks</h1><p>b</div><div class=search-results><h1><span>"
                  "</span> results matching \"\"</h1><ul></ul><h1>No results "
                  "matching \"\"</h1></div>",
                  titles);
}

/* Above and below each topic of HelpNDoc and Help & Manual. */
static void test_help_programs(void **state)
{
    (void)state;
    static const char text[] = "# Pumps\nparagraph: a\n";
    expect("<title>Pumps</title><div id=topic_header><div "
           "id=topic_header_content><h1>Pumps</h1></div></div><div "
           "class=c><h1>Pumps</h1><p>a<p><span>Created with the "
           "Personal Edition of HelpNDoc: </span><a "
           "href=https://www.helpndoc.com/x>Easy help</a></div><div "
           "id=topic_footer><div id=topic_footer_content>Works</div></div>",
           text);
    static const char helpndoc[] =
        "<title>Pumps</title><header class=headroom><button class='hnd-toggle "
        "btn'></button><h1>Works Guide</h1></header><div class=navigation><ol "
        "class=breadcrumb><li><a href=use.html>Use</a><li><a "
        "href=parts.html>Parts</a></ol><div class=nav-arrows><a class=btn "
        "href=b.html><span "
        "class=bi-chevron-right></span></a></div></div><h3>Pumps</h3><p>a<div "
        "id=hndModal><h4>Title</h4>"
        "</div>";
    expect(helpndoc, text);
    static const char manual[] =
        "<title>Guide &gt; Use &gt; Pumps</title><div id=printheader><h1>Pumps"
        "</h1></div><div id=idheader><table><tr><td class=topichead><p "
        "class=sync-toc>&lt;&lt; <a href=index.html>Contents</a></p><p "
        "class=crumbs><b>Navigation:</b> <a href=guide.html>Guide</a> &gt; <a "
        "href=use.html>Use</a> &gt;</p><h1>Pumps</h1><td><a title=Next "
        "href=c.html><span class=hmbtnnext></span></a></table></div><p>a";
    expect(manual, "# Pumps {idheader}\nparagraph: a\n");
    struct tree *tree = parse(helpndoc);
    assert_true(slice_is(tree->page.up, "parts.html"));
    assert_true(slice_is(tree->page.next, "b.html"));
    tree_free(tree);
    static const char web[] =
        "<title>Pumps</title><div id=navigationmenu><ul id=hamburgermenu><li>"
        "Larger Text</ul></div><nav id=hmpageheader><table><tr><td><div "
        "id=topicheaderwrapper><p id=ptopic_breadcrumbs "
        "class=topic_breadcrumbs>Navigation: <a href=use.html>Use</a></p><h1 "
        "class=topictitle>Pumps</h1></div></table></nav>"
        "<h3>Oil</h3><p>a";
    expect(web, "# Pumps\n## Oil\nparagraph: a\n");
    tree = parse(web);
    assert_true(slice_is(tree->page.up, "use.html"));
    tree_free(tree);
    /* A button of Bootstrap's elsewhere is none of those. */
    tree = parse("<h1>A</h1><a class=btn href=b.html><i class=bi-chevron-right>"
                 "</i> Read on</a>");
    assert_int_equal(tree->page.next.size, 0);
    tree_free(tree);
    tree = parse(manual);
    assert_true(slice_is(tree->page.up, "use.html"));
    assert_true(slice_is(tree->page.next, "c.html"));
    tree_free(tree);
    tree = parse("<div id=topic_header><div id=topic_header_content><h1>P</h1>"
                 "<div id=topic_breadcrumb><a href=use.html>Use</a> ››</div>"
                 "</div><a href=d.html><img src=img/arrow_right.png></a></div>"
                 "<h1>P</h1><p>a");
    assert_true(slice_is(tree->page.up, "use.html"));
    assert_true(slice_is(tree->page.next, "d.html"));
    tree_free(tree);
    tree =
        parse("<div id=tab-toc><ul id=toc><li><a href=a.html>A</a><ul><li><a "
              "href=b.html>B</a></ul></ul></div>");
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 2);
    tree_free(tree);
    expect("<title>Pumps - Works</title><div id=topicheaderwrapper><h1 "
           "class=topictitle>Pumps</h1></div><h2>Oil</h2><p>a",
           "# Pumps {topicheaderwrapper}\n## Oil\nparagraph: a\n");
    expect("<div id=noscript><h2 id=noscriptwarning>Please</h2></div><h1>A</h1>"
           "<p>a<div id=keyboardinfo><h1 id=keynavtitle>Keys</h1><p>ALT</div>",
           "# A\nparagraph: a\n");
    expect("<div class=offcanvas-header><h5 class=offcanvas-title>Contents</h5>"
           "<button class=btn-close></button></div><h1>A</h1><p>a",
           "# A\nparagraph: a\n");
    expect("<h1>A</h1><div id=keyboardinfo><h2>Keys</h2><p>ALT</div>",
           "# A\n## Keys {keyboardinfo}\nparagraph: ALT\n");
    expect("<div id=printheader><h1>A</h1></div><p class=crumbs>b<p><span>"
           "Created with the pump: </span><a href=https://works.com/>c</a>",
           "# A {printheader}\nparagraph: b\n"
           "paragraph: Created with the pump: c\n");
}

/* Scilab's pages are called as the function is; PeakRDL's frame has no text. */
static void test_help_of_tools(void **state)
{
    (void)state;
    static const char scilab[] =
        "<div class=manualnavbar><table><tr><td><span class=top><a "
        "href=search.html>Search</a></span></td><td class=next><span "
        "class=next><a href=gsort.html>gsort &gt;&gt;</a></span></td></table>"
        "</div><span class=path><a href=index.html>Help</a> &gt;&gt; <a "
        "href=search.html>Search</a> &gt; find</span><br><div "
        "class=refnamediv><h1 class=refname>find</h1><p class=refpurpose>gives "
        "the indices</div><p>a";
    expect(scilab, "# find\nparagraph: gives the indices\nparagraph: a\n");
    struct tree *tree = parse(scilab);
    assert_true(slice_is(tree->page.up, "search.html"));
    assert_true(slice_is(tree->page.next, "gsort.html"));
    tree_free(tree);
    expect("<h1>A</h1><span class=path>/etc/pump</span>",
           "# A\nparagraph: /etc/pump\n");
    expect("<title>Pump Registers</title><div id=_Content></div><div "
           "id=_HelpOverlay><h1>Keyboard Shortcuts</h1><p>Ctrl</div>",
           "# Pump Registers\n");
}

/* A page of a PDF file has long lines at its edges, and another one line twice. */
static void test_pdf_edges(void **state)
{
    (void)state;
    struct buf page = {0};
    for (int i = 1; i < 4; i++) {
        buf_printf(&page, "<a name=%d></a><div id=page%d-div>", i, i);
        if (i == 2)
            buf_put_text(&page, "<p>Step 1</p><p>Step 2</p>");
        else
            buf_printf(&page, "<p>Text %c%0500d</p>", 'a' + i, i);
        buf_printf(&page, "<p>Works Manual %d</p></div>", i);
    }
    buf_put_text(&page, "<a name=outline></a><h1>Document Outline</h1><ul><li>"
                        "<a href=p.html#1>Pumps</a></ul>");
    struct tree *tree = parse(page.data);
    struct buf text = show(tree);
    assert_non_null(strstr(text.data, "Text b0"));
    assert_non_null(strstr(text.data, "Step 1\nparagraph: Step 2\n"));
    assert_non_null(strstr(text.data, "Text d0"));
    assert_null(strstr(text.data, "Works Manual"));
    tree_free(tree);
    buf_free(&text);
    buf_free(&page);
}

/* The lines that the outline of a PDF file names, on the printed pages that it leads to. */
static void test_pdf_outline(void **state)
{
    (void)state;
    static const char outline[] =
        "<a name=outline></a><h1>Document Outline</h1><ul><li><a "
        "href=p.html#2>Pumps</a><ul><li><a href=p.html#2>Start</a><li><a "
        "href=p.html#3>Not there</a><li><a href=p.html#3>Stop</a></ul></ul>";
    struct buf page = {0};
    buf_printf(&page,
               "<title>Works</title><a name=1></a><div id=page1-div><p>Pumps . "
               ". 2</p></div><a name=2></a><div id=page2-div><p><b>1&#160;Pumps"
               "</b></p><p>They pump.</p><p>A.1 Start</p><p>We do not Start"
               "</p></div><a name=3></a><div id=page3-div><p>Start</p><p>"
               "Stop</p><p>a</p></div>%s",
               outline);
    expect(page.data, "# 1 Pumps {page2-div}\nparagraph: Pumps . . 2\n"
                      "paragraph: They pump.\n## A.1 Start\n"
                      "paragraph: We do not Start\nparagraph: Start\n"
                      "## Stop\nparagraph: a\n");
    buf_clear(&page);
    buf_printf(&page,
               "<title>Works</title><a name=2></a><b>Chapter 1 Pumps</b><br>"
               "They pump.<br><b>Start</b><br>a<hr>%s<hr>",
               outline);
    expect(page.data, "# Chapter 1 Pumps {2}\nparagraph: They pump.\n"
                      "## Start\nparagraph: a\n");
    /* What stands at the edge of most printed pages is no text. */
    buf_clear(&page);
    static const char *const ends[] = {"one", "two", "three"};
    for (int i = 2; i < 5; i++)
        buf_printf(
            &page,
            "<a name=%d></a><div id=page%d-div><p>Works Manual</p><p>%d / "
            "4</p><p>Pumps</p><p>a%d</p><p>%s</p></div>",
            i, i, i, i, ends[i - 2]);
    buf_put_text(&page, outline);
    expect(page.data, "# Pumps {page2-div}\nparagraph: a2\nparagraph: one\n"
                      "paragraph: Pumps\nparagraph: a3\nparagraph: two\n"
                      "paragraph: Pumps\nparagraph: a4\nparagraph: three\n");
    buf_free(&page);
    expect("<a name=2></a><p>Pumps<p>a<a name=outline></a><h1>Outline</h1><ul>"
           "<li><a href=p.html#3>Pumps</a></ul>",
           "# Outline\nparagraph: Pumps\nparagraph: a\n"
           "list: - Pumps\n");
    expect("<a name=1></a><p>They pump.<a name=2></a><p>a<a name=outline></a>"
           "<h1>Outline</h1><ul><li><a href=p.html#1>Pumps</a></ul>",
           "# Outline\nparagraph: They pump.\nparagraph: a\n"
           "list: - Pumps\n");
    /* One that is written by hand leads to no printed pages. */
    expect("<h1>A</h1><p>Pumps<p>a<a name=outline></a><h1>Outline</h1><ul><li>"
           "<a href=#p>Pumps</a> are first</ul>",
           "# \n## A\nparagraph: Pumps\nparagraph: a\n## Outline\n"
           "list: - Pumps are first\n");
}

/* Those that pdf2htmlEX places one by one: large ones are headings, those close below
 * another go on with it, and what most pages have at the edge is read once. */
static void test_pdf_lines(void **state)
{
    (void)state;
    static const char sheet[] =
        "<style>.fs0{font-size:44.16px;}.fs1{font-size:63.8px;}"
        ".fs2{font-size:90px;}.y1{bottom:90px;}.y2{bottom:80px;}"
        ".y3{bottom:70px;}.y4{bottom:60px;}.y5{bottom:30px;}"
        ".y6{bottom:99px;}@media print{.fs0{font-size:99pt;}}</style>";
    static const char title[] =
        "<div class=\"t x1 y6 fs2\">Pump<span class=_></span>s</div>";
    static const char text[] =
        "<div class=\"t x1 y1 fs0\">They pump water</div>"
        "<div class=\"t x1 y2 fs0\">up and down.</div>"
        "<div class=\"t x1 y3 fs0\">Then they stop</div>"
        "<div class=\"t x1 y5 fs0\">and rest for an hour or so.</div>";
    struct buf page = {0};
    buf_printf(&page,
               "%s<div id=sidebar><div id=outline></div></div>"
               "<div id=page-container><div id=pf1 class=\"pf w0\">"
               "<div class=\"pc pc1\">%s%s</div></div><div id=pf2 class=pf>"
               "<div class=pc>%s<div class=\"t x1 y6 fs1\">Use</div>%s<div "
               "class=\"t x2 y5 fs0\">2</div></div>"
               "</div><div id=pf3 class=pf><div class=pc>%s<div class=\"t "
               "x1 y4 fs0\">Use .............. 2</div><div class=\"t x2 y5 "
               "fs0\">The end of it</div></div></div></div>",
               sheet, title, text, title, text, title);
    expect(page.data, "# Pumps {pf1}\n"
                      "paragraph: They pump water up and down. Then they stop\n"
                      "paragraph: and rest for an hour or so.\n"
                      "## Use {pf2}\n"
                      "paragraph: They pump water up and down. Then they stop\n"
                      "paragraph: and rest for an hour or so.\nparagraph: 2\n"
                      "paragraph: The end of it\n");
    /* Its outline knows better which lines are headings. */
    buf_clear(&page);
    buf_printf(&page,
               "%s<div id=sidebar><div id=outline><ul><li><a class=l "
               "href=\"#pf1\">Pumps</a><ul><li><a class=l href=\"#pf1\">"
               "Then they stop</a></ul></ul></div></div>"
               "<div id=page-container><div id=pf1 class=pf><div class=pc>%s"
               "<div class=\"t x1 y6 fs1\">Large</div>%s</div></div></div>",
               sheet, title, text);
    expect(page.data, "# Pumps {pf1}\nparagraph: Large\n"
                      "paragraph: They pump water up and down.\n"
                      "## Then they stop\n"
                      "paragraph: and rest for an hour or so.\n");
    buf_free(&page);
}

/* The index of an HTML Help file: keywords within others, some of more than one page, what
 * is said of a page before its name or behind it. */
static void test_keywords(void **state)
{
    (void)state;
    static const char file[] =
        "<ul><li><object type=text/sitemap><param name=Name value=Valves>"
        "<param name=Name value=Air><param name=Local value=html\\air.htm#a>"
        "<param name=Name value=Water><param name=Local value=water.htm>"
        "</object><ul><li><object type=text/sitemap><param name=Local "
        "value=open.htm><param name=Name value=open></object></ul><li><object "
        "type=text/sitemap><param name=Name value=Site><param name=Local "
        "value=http://x.org></object></ul>";
    struct buf out = {0};
    struct tree *tree = NULL;
    struct err err = {0};
    assert_int_equal(parser_parse(parser, slice_of(file), PARSER_KEYWORDS, NULL,
                                  &tree, &err),
                     0);
    for (uint32_t i = 0; i < tree->page.alias_count; i++)
        buf_printf(&out, "%s > %s\n", tree->page.aliases[i].text.data,
                   tree->page.aliases[i].url.data);
    assert_string_equal(out.data, "Valves > html/air.htm#a\n"
                                  "Valves > water.htm\n"
                                  "Valves, open > open.htm\n");
    assert_int_equal(tree->page.role, PAGE_INDEX);
    assert_int_equal(tree->page.link_count, 0);
    tree_free(tree);
    tree = parse(file);
    assert_int_equal(tree->page.alias_count, 0);
    tree_free(tree);
    buf_free(&out);
}

/* Whoever made them: a line of links to the neighbours, which say where the page stands. */
static void test_bars_of_neighbours(void **state)
{
    (void)state;
    static const char page[] =
        "<h1>Pumps</h1><b>[ <a href=a.html>Previous Page</a> | <a "
        "href=c.html>Next Page</a> | <a href=u.html>Up</a> | index | <a "
        "href='https://pumps.org'>Pumps and more</a> ]</b><p>They pump.<p>"
        "The <a href=n.html>next</a> page, or <a href=p.html>previous</a>.<p>"
        "<a href=#n>Next</a> | <a href=#p>Previous</a>";
    expect(page, "# Pumps\nparagraph: They pump.\n"
                 "paragraph: The next page, or previous.\n"
                 "paragraph: Next | Previous\n");
    struct tree *tree = parse(page);
    assert_true(slice_is(tree->page.up, "u.html"));
    assert_true(slice_is(tree->page.next, "c.html"));
    tree_free(tree);
    tree = parse("<link rel=next href=d.html><center><a href=a.html>&lt;&lt;"
                 "</a> <a href=c.html>Next</a></center><h1>Valves</h1>");
    assert_true(slice_is(tree->page.next, "d.html"));
    assert_int_equal(tree->nodes[0].block_count, 0);
    tree_free(tree);
}

/* "Guide > Use > Pumps", above what is called so. */
static void test_trails_of_links(void **state)
{
    (void)state;
    static const char *const trails[] = {
        "<div><a href=i.html>Guide</a> &gt; <a href=u.html>Use</a> &gt; "
        "<a href=p.html>Pumps</a></div>",
        "<p><a href=u.html>Use</a> :: Pumps</p>"};
    static const char *const others[] = {
        "<p><a href=i.html>Guide</a> &gt; <a href=u.html>Use</a></p>",
        "<p><a href=u.html>Use</a> &gt; Pumps &gt; Valves</p>",
        "<p><a href=u.html>Use</a> of Pumps</p>"};
    struct buf page = {0};
    for (size_t i = 0; i < 2; i++) {
        buf_clear(&page);
        buf_printf(&page, "%s<h1>Pumps -- they pump</h1><p>a", trails[i]);
        struct tree *tree = parse(page.data);
        assert_true(slice_is(tree->page.up, "u.html") && tree->page.trail);
        tree_free(tree);
        expect(page.data, "# Pumps -- they pump\nparagraph: a\n");
    }
    for (size_t i = 0; i < 3; i++) {
        buf_clear(&page);
        buf_printf(&page, "%s<h1>Pumps</h1><p>a", others[i]);
        struct tree *tree = parse(page.data);
        assert_false(tree->page.up.size);
        assert_int_equal(tree->nodes[0].block_count, 2);
        tree_free(tree);
    }
    buf_free(&page);
}

/* What a site prints above each page, and the page's name behind the manual's. */
static void test_names_of_manuals(void **state)
{
    (void)state;
    static const char *const titles[] = {"Use", "Pumps", "Valves", NULL};
    assert_titles("<title>Works 1.0: Use</title><header><h1><a "
                  "href=index.html>Works 1.0</a></h1></header><h1>Use</h1><p>a"
                  "<h1>Pumps</h1><p>b<h1>Valves</h1><p>c",
                  titles);
    static const char *const own[] = {"Use", "The pump", NULL};
    assert_titles("<title>Use</title><header><h1>Use</h1></header><p>a<h2><a "
                  "href=p.html>The pump</a></h2><p>b",
                  own);
    static const char *const only[] = {"The pump", "Seals", NULL};
    assert_titles("<title>Works</title><article><header><h1><a "
                  "href=p.html>The pump</a></h1></header><p>a<h2>Seals</h2><p>b"
                  "</article>",
                  only);
}

/* An index may say what each is for, below many letters, or have numbers of printed pages
 * as links, which stex marks. */
static void test_indexes_that_say_more(void **state)
{
    (void)state;
    struct buf page = {0};
    for (int letters = 14; letters <= 15; letters++) {
        buf_clear(&page);
        buf_printf(&page, "<title>Works: Index</title><h1>Index</h1>");
        for (int i = 0; i < letters; i++)
            buf_printf(&page,
                       "<h2>%c</h2><ul><li><a href=a.html#%c>pump_%c</a> "
                       "&mdash; Pumps the water.</ul>",
                       'A' + i, 'A' + i, 'A' + i);
        expect_role(page.data, letters == 15 ? PAGE_INDEX : PAGE_CONTENT);
    }
    buf_free(&page);
    static const char printed[] =
        "<h1>Index</h1><p>pumps, <a class=index href=a.html#p1>t8</a><br>";
    expect_role(printed, PAGE_INDEX);
    struct tree *tree = parse(printed);
    assert_int_equal(tree->page.alias_count, 1);
    assert_true(slice_is(tree->page.aliases[0].text, "pumps"));
    tree_free(tree);
}

/* Jekyll's and Hugo's sources, and Go's: what stands before a page calls it, and is none
 * of its text. */
static void test_front_matter(void **state)
{
    (void)state;
    static const char yaml[] =
        "---\r\nlayout: page\r\ntitle: \"Pumps: use\"\r\n---\r\n<p>a";
    struct tree *tree = parse(yaml);
    assert_true(slice_is(tree->nodes[0].title, "Pumps: use"));
    assert_int_equal(tree->nodes[0].block_count, 1);
    assert_true(slice_is(tree->nodes[0].blocks[0].text, "a"));
    assert_int_equal(tree->nodes[0].blocks[0].origin.span.from,
                     strlen(yaml) - 1);
    tree_free(tree);
    expect("<!--{\n\t\"Title\": \"Pumps\",\n\t\"Path\": \"/p\"\n}-->\n<h2>Use"
           "</h2><p>a<h2>Oil</h2><p>b",
           "# Pumps\n## Use\nparagraph: a\n## Oil\nparagraph: b\n");
    expect("---\ntitle: {{ page.name }}\n---\n<h1>A</h1><p>b",
           "# A\nparagraph: b\n");
    static const char *const titles[][2] = {
        {"title: >-\n  Pumps\n  and oil", ""},
        {"title: |", ""},
        {"title: \"Use of \\\"oil\\\"\"", ""},
        {"title: 'The pump''s oil'", ""},
        {"title: \"Pumps\" # by hand", "Pumps"},
        {"title: Pumps # by hand", "Pumps"},
        {"title: C# pumps", "C# pumps"},
        {"title: '#1: oil'", "#1: oil"},
        {"title: # none", ""}};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        struct buf page = {0};
        buf_printf(&page, "---\n%s\n---\n<p>a", titles[i][0]);
        tree = parse(page.data);
        if (!slice_is(tree->nodes[0].title, titles[i][1]))
            fail_msg("%s", titles[i][0]);
        tree_free(tree);
        buf_free(&page);
    }
    expect("---\n<p>Not closed, title: a", "# \nparagraph: ---\n"
                                           "paragraph: Not closed, title: a\n");
    expect("---\nNo keys.\n---\n<p>a",
           "# \nparagraph: --- No keys. ---\nparagraph: a\n");
    expect("---\ntitle: Mine\n---\n<html><head><title>Own</title></head><body>"
           "<p>a",
           "# Own\nparagraph: a\n");
}

/* coqdoc: the library is above its sections, which are h1 as well. */
static void test_coqdoc(void **state)
{
    (void)state;
    expect("<div id=main><h1 class=libtitle>Works.Pump</h1><div class=doc><h1 "
           "class=section>Use</h1></div><p>a<h1 class=section>Oil</h1><p>b",
           "# Works.Pump {main}\n## Use\nparagraph: a\n## Oil\n"
           "paragraph: b\n");
}

/* Beside the text of each page of a manual by hand, with headings that are no pages. */
static void test_menu_by_hand(void **state)
{
    (void)state;
    static const char menu[] =
        "<title>Valves</title><div id=menu><h1>- <a href=/>Works</a> -</h1><ul>"
        "<li><a href=index.html>Start</a></ul><ul><li>Pumps<ul><li><a "
        "href=use.html>Use</a><li><a href=oil.html>Oil</a></ul><li>Valves<ul>"
        "<li><a href=valve.html>Valves</a></ul></ul></div><h1>Valves</h1><p>a";
    expect(menu, "# Valves\nparagraph: a\n");
    struct tree *tree = parse(menu);
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 6);
    assert_true(slice_is(tree->page.links[1].title, "Pumps"));
    assert_int_equal(tree->page.links[1].depth, tree->page.links[0].depth);
    assert_true(slice_is(tree->page.links[3].url, "oil.html"));
    assert_int_equal(tree->page.links[3].depth, tree->page.links[1].depth + 1);
    tree_free(tree);
    expect("<div id=hd><h1><a href=i.html>Works 3</a></h1></div><h1>Use</h1><p>"
           "a<div id=sidebar><div class=sphinxsidebar role=navigation><p>b"
           "</div><h3>Last update:</h3><p>Today</div>",
           "# \n## Works 3 {hd}\n## Use\nparagraph: a\n"); /* Django */
    expect("<h1>A</h1><div id=menu><p>Press <a href=b>this</a> to see what the "
           "menu has, which is not much.<ul><li>a</ul></div>",
           "# A\nparagraph: Press this to see what the menu has, which is not "
           "much.\nlist: - a\n");
    /* A chapter about menus: of Sphinx and of Texinfo. */
    static const char *const starts[] = {
        "<div class=section id=menu><h1>Menu</h1>",
        "<div class=chapter-level-extent id=Menu><h1>Menu</h1>"};
    static const char chapter[] =
        "<p>It has: <ul><li><a href=a>Files and folders</a><li><a href=b>Edit "
        "and undo</a><li><a href=c>What is seen</a><li><a href=d>All of the "
        "tools</a><li><a href=e>Help and more</a></ul></div>";
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct buf page = {0};
        buf_printf(&page, "%s%s", starts[i], chapter);
        tree = parse(page.data);
        assert_true(slice_is(tree->nodes[0].title, "Menu"));
        assert_int_equal(tree->nodes[0].block_count, 2);
        tree_free(tree);
        buf_free(&page);
    }
}

/* A-Frame's: the manual's name in a box called header, and a menu whose lists have headings
 * above them. */
static void test_aside(void **state)
{
    (void)state;
    static const char page[] =
        "<title>Pumps – Works</title><aside id=sidebar><select><option>Version "
        "1.0 of the works, which is no link</option></select>"
        "<h3>Use</h3><ol><li><a href=/w/a.html>The A of it</a><li><a "
        "href=/w/b.html>The B of it</a>"
        "</ol><h3>Care</h3><ol><li><a href=/w/c.html>The C of it</a><li><a "
        "href=/w/d.html>The D of it</a></ol><h3>Parts</h3><ol><li><a "
        "href=/w/e.html>The E of it</a><li><a href=/w/f.html>The F of "
        "it</a></ol></aside><div "
        "class=mobile-header><h1><a href=/>Works</a></h1></div><h1>Pumps</h1>"
        "<p>a<h1>Valves</h1><p>b";
    expect(page, "# Pumps\nparagraph: a\n## Valves\nparagraph: b\n");
    struct tree *tree = parse(page);
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 9);
    assert_true(slice_is(tree->page.links[0].title, "Use"));
    assert_true(slice_is(tree->page.links[1].url, "/w/a.html"));
    assert_int_equal(tree->page.links[1].depth, 1);
    tree_free(tree);
    expect("<h1>Works</h1><p>a<aside id=sidebar><h3>Note</h3><ul><li>b</ul>"
           "</aside>",
           "# Works\nparagraph: a\n## Note {sidebar}\nlist: - b\n");
    expect("<div class=page-header><h1><a href=/>Works</a></h1></div><p>a",
           "# Works\nparagraph: a\n");
    /* Bootstrap's cards. */
    expect("<h1>Works</h1><p>a<div class=card-header><h3><a href=use.html>Use"
           "</a></h3></div><p>b<div class=card-header><h3><a href=care.html>"
           "Care</a></h3></div><p>c",
           "# Works\nparagraph: a\n## Use\nparagraph: b\n## Care\n"
           "paragraph: c\n");
}

/* Ant's manual: an arrow to the top of the page. */
static void test_arrows_in_titles(void **state)
{
    (void)state;
    expect("<h1 id=t>Tasks</h1><h2>Files <a href=#t>🔝</a></h2><p>a<h2>Unsafe "
           "<a href=#u>⚠</a></h2><p>See <a href=#t>→</a>.",
           "# Tasks {t}\n## Files\nparagraph: a\n## Unsafe ⚠\n"
           "paragraph: See →.\n");
    /* What is about an arrow is called so. */
    expect("<h1>Signs</h1><p>a<h2 id=to><a href=#to>→</a></h2><p>b<h2 "
           "id=of><b><a href=#of>←</a></b></h2><p>c",
           "# Signs\nparagraph: a\n## → {to}\nparagraph: b\n## ← {of}\n"
           "paragraph: c\n");
}

/* LibreOffice's contents, which a script puts into each page: a list for each program,
 * whose links begin with the language's folder. */
static void test_contents_in_a_script(void **state)
{
    (void)state;
    static const char script[] =
        "document.getElementById(\"Contents\").innerHTML='\\\n"
        " <ul><li><input type=\"checkbox\" id=\"02\"><label for=\"02\">Writer"
        "</label><ul>\\\n <li><a target=\"_top\" href=\"en/text/a.html?x=1#b\">"
        "A page</a></li>\\\n </ul></li>\\\n </ul>\\\n <ul><li>"
        "<label>Calc</label><ul>\\\n <li><a href=\"en/text/c.html\">C</a>"
        "</li>\\\n </ul></li></ul>'";
    struct tree *tree = parse(script);
    const struct page_link *links = tree->page.links;
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 4);
    assert_true(slice_is(links[0].title, "Writer") && links[0].depth == 0);
    assert_true(slice_is(links[1].url, "text/a.html?x=1") &&
                links[1].depth == 1);
    assert_true(slice_is(links[2].title, "Calc") && links[2].depth == 0);
    assert_true(slice_is(links[3].url, "text/c.html"));
    tree_free(tree);
    tree = parse("document.getElementById(\"Contents\").innerHTML='<ul></ul>'");
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE); /* no page still */
    assert_int_equal(tree->page.link_count, 0);
    tree_free(tree);
    tree = parse("<p>document.getElementById(\"Contents\")<ul><li><a href="
                 "a/b.html>B</a></ul>");
    assert_int_equal(tree->page.contents, CONTENTS_NONE);
    tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_menu_by_hand),
        TEST(test_contents_in_a_script),
        TEST(test_front_matter),
        TEST(test_coqdoc),
        TEST(test_controls_in_titles),
        TEST(test_live_buttons),
        TEST(test_quickview),
        TEST(test_pydata),
        TEST(test_questions_that_are_linked),
        TEST(test_paragraph_styles),
        TEST(test_section_headers),
        TEST(test_tabs),
        TEST(test_gitbook),
        TEST(test_confluence),
        TEST(test_exdoc),
        TEST(test_notes),
        TEST(test_help_programs),
        TEST(test_help_of_tools),
        TEST(test_pdf_edges),
        TEST(test_pdf_outline),
        TEST(test_pdf_lines),
        TEST(test_keywords),
        TEST(test_bars_of_neighbours),
        TEST(test_trails_of_links),
        TEST(test_names_of_manuals),
        TEST(test_indexes_that_say_more),
        TEST(test_aside),
        TEST(test_arrows_in_titles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
