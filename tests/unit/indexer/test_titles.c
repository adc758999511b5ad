#include "tests/unit/support/parsing.h"

/* What a page is called where its first heading does not say it. */

/* AsciiDoc: all functions of a library are told by its one name. */
static void test_manual_pages(void **state)
{
    (void)state;
    expect("<div id=header><h1>libpump(3) Manual Page</h1><h2>NAME</h2><div "
           "class=sectionbody><p>pump_start,pump_stop -\n  Run it.</p></div>"
           "</div><div id=content><h2 id=_synopsis>SYNOPSIS</h2><p>int.</div>",
           "# pump_start,pump_stop {header}\n## NAME\n"
           "paragraph: pump_start,pump_stop - Run it.\n"
           "## SYNOPSIS {_synopsis}\nparagraph: int.\n");
    expect("<div id=header><h1>pump-start(1) Manual Page</h1><h2>NAME</h2><div "
           "class=sectionbody><p>pump-start - Run it.</p></div></div>",
           "# pump-start(1) Manual Page {header}\n## NAME\n"
           "paragraph: pump-start - Run it.\n");
    expect("<div id=header><h1>PUMP(1) Manual Page</h1><h2>NAME</h2><div "
           "class=sectionbody><p>pump - Run it.</p></div></div>",
           "# PUMP(1) Manual Page {header}\n## NAME\n"
           "paragraph: pump - Run it.\n");
    expect("<div id=header><h1>Works (new)</h1><h2>Pumps</h2><div "
           "class=sectionbody><p>Oil - see below.</p></div></div>",
           "# Works (new) {header}\n## Pumps\nparagraph: Oil - see below.\n");
}

/* Sphinx where it could not read a page, which is Markdown. */
static void test_no_title(void **state)
{
    (void)state;
    expect("<title>&lt;no title&gt; — Works</title><p># Pumps</p><p>Text.",
           "# Pumps\nparagraph: # Pumps\nparagraph: Text.\n");
    expect("<title>&lt;no title&gt; — Works</title><p>(care)=</p><p># Care",
           "# Care\nparagraph: (care)=\nparagraph: # Care\n");
    expect("<title>&lt;no title&gt; — Works</title><p>Text.",
           "# Works\nparagraph: Text.\n");
}

/* gi-docgen: the <title> has the name of a constant, below which is one heading. */
static void test_names_in_parts(void **state)
{
    (void)state;
    expect("<title>Pump.MAX</title><section><header><h3>Constant</h3><h1><a "
           "href=index.html>Pump</a><span class=sep></span>MAX</h1></header>"
           "<h4 id=description>Description</h4><p>The most.</section>",
           "# Pump.MAX\n## Description {description}\n"
           "paragraph: The most.\n");
}

/* OpenStack's theme of Sphinx has the title twice, and what it has around that. */
static void test_openstack(void **state)
{
    (void)state;
    expect("<title>Docs: Pumps</title><div class=row><div class=col-lg-8><h2>"
           "Pumps</h2></div><div class=docs-actions><a href=b.html><i></i>"
           "</a></div></div><div class='row docs-byline'><div "
           "class=docs-updated>updated: today</div></div><div class=docs-body>"
           "<section id=pumps><h1>Pumps</h1><p>Text.</section></div><div "
           "class=row><div class='col docs-license'><p>Free.</div><div "
           "class='col docs-actions-wrapper'><a href=q>questions?</a></div>"
           "</div><div class='col docs-sidebar'><div class="
           "docs-sidebar-releases>Zed</div><h4>Page Contents</h4></div>",
           "# Pumps {pumps}\nparagraph: Text.\n");
    expect("<div class=row><div class=col-lg-8><h2>Pumps</h2></div><div>b</div>"
           "</div>",
           "# Pumps\nparagraph: b\n");
    expect("<div class=docs-license><h1>License</h1><p>Free.</div>",
           "# License\nparagraph: Free.\n");
    expect("<div class='page docs-sidebar'><main><h1>Pumps</h1><p>Text.</main>"
           "<div class=docs-actions>It starts, <a href=b.html>stops</a>.</div>"
           "<div class=docs-actions-wrapper>Once.</div><p class=docs-updated>"
           "Now.<div class=docs-updated>Then.</div></div>",
           "# Pumps\nparagraph: Text.\nparagraph: It starts, stops.\n"
           "paragraph: Once.\nparagraph: Now.\nparagraph: Then.\n");
}

/* QDoc's trail to a page was a list of its text. */
static void test_qdoc_trails(void **state)
{
    (void)state;
    expect("<div class=main-rounded><div class=navigationbar><ul><li>Qt<li><a "
           "href=m.html>Types</a><li>Pump<li id=buildversion>Qt 5</ul></div>"
           "</div><h1 class=title>Pump</h1><p>Text.",
           "# Pump\nparagraph: Text.\n");
    expect("<h1>Pump</h1><div class=navigationbar><ul><li>a</ul></div>",
           "# Pump\nlist: - a\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_manual_pages),   TEST(test_no_title),
        TEST(test_names_in_parts), TEST(test_openstack),
        TEST(test_qdoc_trails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
