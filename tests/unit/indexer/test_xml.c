#include "tests/unit/support/spans.h"

/* XHTML and DocBook, read by the rules of XML. */

static int set_up_xml(void **state)
{
    format = PARSER_XML;
    return set_up(state);
}

static void expect_xml(const char *xml, const char *shown)
{
    struct tree *tree = parse_format(slice_of(xml));
    struct buf out = show(tree);
    assert_string_equal(out.data, shown);
    buf_free(&out);
    tree_free(tree);
}

static void expect_refused(const char *xml, int code, int64_t position,
                           const char *message)
{
    struct tree *tree = NULL;
    struct err err = {0};
    assert_int_equal(
        parser_parse(parser, slice_of(xml), format, NULL, &tree, &err), code);
    assert_int_equal(err.position, position);
    assert_non_null(strstr(err.message, message));
}

#define HTML "<html xmlns='http://www.w3.org/1999/xhtml'>"

static void test_xhtml(void **state)
{
    (void)state;
    expect_xml("<?xml version='1.0'?>\n<!DOCTYPE html [<!-- ]> ' --> "
               "<!ENTITY a '>'> ]>" HTML "<head><title>T &amp; é</title></head>"
               "<body><h1 id='x'>T &amp; é</h1><div/>a<p>b<br/>\nc<i/>d</p>"
               "<script>if (a &lt; b) <b>no</b></script>"
               "<p class='navheader'>e <!-- <p> > -->f<?pi <p>?></p>"
               "<textarea>x &lt; <b>y</b></textarea></body></html>\n",
               "# T & é {x}\nparagraph: a\nparagraph: b cd\n"
               "code: x < y\n");
}

/* Where HTML would read something else. */
static void test_rules_of_xml(void **state)
{
    (void)state;
    expect_xml(HTML "<body><p>a<p>b</p>c</p><table><p>d</p></table>"
                    "<P>e</P><_x>f</_x></body></html>",
               "# \nparagraph: a\nparagraph: b\nparagraph: c\nparagraph: d\n"
               "paragraph: ef\n");
    expect_xml("<h:html xmlns:h='http://www.w3.org/1999/xhtml'><h:body><h:h1 "
               "xml:id='i'>A</h:h1><h:pre>x\n y</h:pre></h:body></h:html>",
               "# A {i}\ncode: x\\n y\n");
}

/* A part of a file does not say whether it is XHTML, where `hidden` hides. */
static void test_hidden(void **state)
{
    (void)state;
    static const char html[] =
        HTML "<body><p>a <i hidden='hidden'>b</i> c</p></body></html>";
    static const char docbook[] =
        "<article><para>a <titleabbrev>b</titleabbrev> c</para></article>";
    static const char shown[] = "# \nparagraph: a\nparagraph: c\n";
    expect_xml(html, shown);
    check_spans(slice_of(html), 2);
    expect_xml(docbook, shown);
    check_spans(slice_of(docbook), 2);
}

static void test_cdata(void **state)
{
    (void)state;
    static const char xml[] = HTML "<body><p>a <![CDATA[<b> &amp; ]]>c</p>"
                                   "<pre><![CDATA[\n x < y &amp;\n]]></pre>"
                                   "<p><![CDATA[]]>d</p></body></html>";
    expect_xml(xml, "# \nparagraph: a <b> &amp; c\ncode:  x < y &amp;\n"
                    "paragraph: d\n");
    check_spans(slice_of(xml), 3);
}

static void test_entities(void **state)
{
    (void)state;
    expect_xml("<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' "
               "'http://nowhere.invalid/x.dtd' [<!ENTITY own 'x'>]>" HTML
               "<body><p>a&nbsp;&eacute;&#233;&#xe9;&own;&none;</p>"
               "<p id='&eacute;&own;'>b</p></body></html>",
               "# \nparagraph: a éééx&none;\nparagraph: b\n");
}

/* What a document declares counts before HTML's names, in titles, text and values;
 * markup in it is left out. */
static void test_declared_entities(void **state)
{
    (void)state;
    static const char xml[] =
        "<?xml version='1.0'?>\n<!-- <!DOCTYPE x [<!ENTITY sum 'no'>]> -->\n"
        "<!DOCTYPE book SYSTEM \"[x.dtd\" [\n<!-- <!ENTITY prod 'no'> -->"
        "<!ELEMENT x (#PCDATA)><?pi ]?><!ENTITY myprod \"Kappa\">"
        "<!ENTITY prod 'Kappa &ver; &eacute;&#33;'><!ENTITY prod 'second'>"
        "<!ENTITY ver '<b>1</b><i>.2</i> &amp; >'><!ENTITY sum \"S']um\">"
        "<!ENTITY c '<![CDATA[<]]>'><!ENTITY id 'i'>"
        "<!ENTITY % more '<!ENTITY late \"L\">'>%more;%none; ]>"
        "<book><title>The &myprod; book</title><chapter id='&id;d'><title>"
        "&prod;</title><para>a &sum; &late;&c;, &amp; &alpha; &none; z</para>"
        "<para>&ver;</para><programlisting>x = &myprod;;\n y</programlisting>"
        "</chapter></book>";
    expect_xml(xml, "# The Kappa book\n## Kappa 1 .2 & > é! {id}\n"
                    "paragraph: a S']um L<, & α &none; z\n"
                    "paragraph: 1 .2 & >\ncode: x = Kappa;\\n y\n");
    check_spans(slice_of(xml), 3);
}

static void expect_reports(const char *xml, const char *shown,
                           const char *expected)
{
    struct tree *tree = NULL;
    struct err err = {0};
    struct buf reports = {0};
    const struct parser_inputs inputs = {.reports = &reports};
    buf_put_text(&reports, "");
    if (parser_parse(parser, slice_of(xml), format, &inputs, &tree, &err))
        fail_msg("%s", err.message);
    struct buf out = show(tree);
    assert_string_equal(out.data, shown);
    assert_string_equal(reports.data, expected);
    buf_free(&out);
    buf_free(&reports);
    tree_free(tree);
}

/* Files are not read, and that is told; nothing is fetched. */
static void test_entities_in_files(void **state)
{
    (void)state;
    expect_reports(
        "<!DOCTYPE book [<!ENTITY sub SYSTEM 'sub.xml'><!ENTITY far PUBLIC 'p' "
        "'http://x.invalid/y'><!ENTITY unused SYSTEM 'u.xml'><!ENTITY pic "
        "SYSTEM 'p.png' NDATA png><!ENTITY % defs SYSTEM 'defs.ent'>%defs;"
        "<!ENTITY % dtd SYSTEM 'http://x.invalid/z.mod'>%dtd;]>"
        "<book><title>B</title><para>a &sub;b &far;&sub;</para></book>",
        "# B\nparagraph: a b\n",
        "the declarations in defs.ent, which %defs; names, are not read\n"
        "sub.xml, which &sub; names, is not read in its place\n"
        "http://x.invalid/y, which &far; names, is not fetched\n");
}

/* Loops end, and what grows without end is left as it is written. */
static void test_entities_that_grow(void **state)
{
    (void)state;
    expect_reports(
        "<!DOCTYPE book [<!ENTITY a 'x&b;'><!ENTITY b '&a;'>"
        "<!ENTITY % p '&#37;p;'>%p;]><book><para>&a; c</para></book>",
        "# \nparagraph: &a; c\n",
        "&b; refers to itself or is too long\n"
        "&a; refers to itself or is too long\n");
    struct buf xml = {0};
    buf_put_text(&xml, "<!DOCTYPE book [<!ENTITY a '");
    for (int i = 0; i < 16000; i++)
        buf_put_byte(&xml, 'x');
    buf_put_text(&xml, "'>]><book><para>");
    for (int i = 0; i < 1000; i++)
        buf_put_text(&xml, "&a;");
    buf_put_text(&xml, "</para></book>");
    expect_refused(xml.data, ERR_LIMIT, -1, "its entities are read as more");
    buf_free(&xml);
}

static void test_not_well_formed(void **state)
{
    (void)state;
    expect_refused(HTML "<body><p>a</body></html>", ERR_FORMAT, 60,
                   "not well-formed XML: line 1: Opening and ending tag");
    expect_refused(HTML "<body>&", ERR_FORMAT, 50, "not well-formed XML");
    expect_refused("plain", ERR_FORMAT, 0, "not well-formed XML");
    expect_refused("<!DOCTYPE html [<!ENTITY a 'b'>", ERR_FORMAT, 31,
                   "not well-formed XML");
    expect_refused("", ERR_FORMAT, -1, "not well-formed XML");
    expect_refused(HTML "<p a='1' a='2'/></html>", ERR_FORMAT, 57,
                   "not well-formed XML: line 1: Attribute a redefined");
    expect_refused("<svg xmlns='http://www.w3.org/2000/svg'/>", ERR_FORMAT, 41,
                   "neither XHTML nor DocBook");
}

static void test_spans(void **state)
{
    (void)state;
    check_spans(slice_of("<?xml version='1.0' encoding='EUC-KR'?>\r\n" HTML
                         "<head><title>\xc7\xd1</title></head><body>"
                         "<h1>\xc7\xd1</h1>\r\n<p title='\xc7\xd1'> \xc7\xd1 "
                         "a<!-- b -->c <b>\xb1\xdb</b>&lt;</p>"
                         "<pre>x\r\n<![CDATA[ \xc7\xd1 ]]>y</pre>"
                         "<ul><li>\xb1\xdb</li></ul></body></html>"),
                3);
    struct tree *tree = parse_format(slice_of(
        "<?xml version='1.0' encoding='EUC-KR'?><html><p>\xc7\xd1</p></html>"));
    assert_int_equal(tree->page.encoding, ENCODING_EUC_KR);
    tree_free(tree);
}

/* ---- DocBook ---- */

static void test_book(void **state)
{
    (void)state;
    expect_xml("<?xml version='1.0'?><!DOCTYPE book PUBLIC "
               "'-//OASIS//DTD DocBook XML V4.5//EN' 'http://x/d.dtd'>"
               "<book id='b'><bookinfo><title>Book</title><author>N</author>"
               "<abstract><para>About.</para></abstract></bookinfo>"
               "<chapter id='c'><title>One</title><para>Text "
               "<command>ls</command><indexterm><primary>ls</primary>"
               "</indexterm>.</para><sect1 id='s'><title>Deep</title>"
               "<programlisting language='c'>a &lt; b</programlisting>"
               "<note><title>Note</title><para>n</para></note></sect1>"
               "</chapter></book>",
               "# Book {b}\nparagraph: About.\n## One {c}\nparagraph: Text ls."
               "\n### Deep {s}\ncode(c): a < b\nnote(note): n\n");
}

static void test_docbook_parts(void **state)
{
    (void)state;
    expect_xml(
        "<article xmlns='http://docbook.org/ns/docbook' "
        "xmlns:xlink='http://www.w3.org/1999/xlink' version='5.0'>"
        "<info><title>A</title></info>"
        "<section xml:id='x'><title>S</title>"
        "<variablelist><title>V</title><varlistentry><term>-a</term>"
        "<listitem><para>all</para></listitem></varlistentry>"
        "</variablelist><orderedlist><listitem><para>one</para>"
        "</listitem></orderedlist><table><title>T</title><tgroup "
        "cols='2'><thead><row><entry>h</entry><entry>i</entry></row>"
        "</thead><tbody><row><entry>a</entry><entry>b</entry></row>"
        "</tbody></tgroup></table><blockquote><para>q</para>"
        "</blockquote></section></article>",
        "# A\n## S {x}\ndefinition: V\ndefinition: -a\\n  all\n"
        "list: 1. one\nparagraph: T\ntable(head=1): h\\ti\\na\\tb\nquote: q\n");
}

static void test_reference(void **state)
{
    (void)state;
    expect_xml("<refentry id='ls'><refmeta><refentrytitle>ls</refentrytitle>"
               "</refmeta><refnamediv><refname>ls</refname><refname>dir"
               "</refname><refpurpose>lists</refpurpose></refnamediv>"
               "<refsect1><title>Description</title><para>d</para></refsect1>"
               "</refentry>",
               "# ls {ls}\nparagraph: dir\nparagraph: lists\n"
               "## Description\nparagraph: d\n");
    struct tree *tree =
        parse_format(slice_of("<article><para><link linkend='x'>a</link><ulink "
                              "url='http://u/'>b</ulink></para></article>"));
    assert_int_equal(tree->nodes[0].ref_count, 2);
    assert_string_equal(tree->nodes[0].refs[0].url.data, "#x");
    assert_string_equal(tree->nodes[0].refs[1].url.data, "http://u/");
    tree_free(tree);
}

/* ---- Bombs ---- */

static void expect_limit(struct buf *xml, const char *message)
{
    struct tree *tree = NULL;
    struct err err = {0};
    int rc = parser_parse(parser, buf_slice(xml), format, NULL, &tree, &err);
    assert_int_equal(rc, strstr(message, "not ") ? ERR_FORMAT : ERR_LIMIT);
    assert_non_null(strstr(err.message, message));
    buf_free(xml);
}

static void test_entity_bombs(void **state)
{
    (void)state;
    parser_free(parser);
    parser = new_parser(256 << 20, 5);
    struct buf xml = {0};
    buf_put_text(&xml, "<!DOCTYPE html [<!ENTITY a0 'lol'>");
    for (int i = 1; i < 40; i++)
        buf_printf(&xml, "<!ENTITY a%d '&a%d;&a%d;&a%d;'>", i, i - 1, i - 1,
                   i - 1);
    buf_put_text(&xml, "<!ENTITY x SYSTEM 'file:///etc/passwd'>"
                       "<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p;"
                       "<!ENTITY l '&m;'><!ENTITY m '&l;'>]>" HTML
                       "<body><p title='&a39;'>&a39; &x; &l;</p>"
                       "</body></html>");
    expect_xml(xml.data, "# \nparagraph: &a39; &l;\n");
    buf_free(&xml);
    buf_put_text(&xml, "<!DOCTYPE html [<!ENTITY q '");
    for (int i = 0; i < 60000; i++)
        buf_put_byte(&xml, 'q');
    buf_put_text(&xml, "'>]>" HTML "<p>");
    for (int i = 0; i < 1000000; i++)
        buf_put_text(&xml, "&q;");
    buf_put_text(&xml, "</p></html>");
    tree_free(parse_format(buf_slice(&xml)));
    buf_free(&xml);
}

static void test_bombs(void **state)
{
    (void)state;
    parser_free(parser);
    parser = new_parser(0, 10);
    struct buf xml = {0};
    buf_put_text(&xml, HTML "<body>");
    for (int i = 0; i < 200000; i++)
        buf_put_text(&xml, "<div>");
    expect_limit(&xml, "nests deeper than 250 elements");
    for (int i = 0; i < 250; i++)
        buf_put_text(&xml, i ? "<div>" : "<html>");
    for (int i = 250; i-- > 0;)
        buf_put_text(&xml, i ? "</div>" : "</html>");
    tree_free(parse_format(buf_slice(&xml)));
    buf_free(&xml);
    buf_put_text(&xml, HTML "<body><p");
    for (int i = 0; i < 200000; i++)
        buf_printf(&xml, " a%d='1'", i);
    buf_put_text(&xml, "/></body></html>");
    expect_limit(&xml, "an element has more than 256 attributes");
    buf_put_text(&xml, "<!DOCTYPE html [<!ATTLIST p ");
    for (int i = 0; i < 200000; i++)
        buf_printf(&xml, " a%d CDATA '1'", i);
    buf_put_text(&xml, ">]>" HTML "<p/></html>");
    expect_limit(&xml, "its document type declaration is larger than 64 KiB");
    buf_put_text(&xml, HTML "<p>a");
    buf_put(&xml, "\0", 1);
    buf_put_text(&xml, "b</p></html>");
    expect_limit(&xml, "not an HTML file");
    for (int i = 0; i < 5000; i++)
        buf_put_byte(&xml, ' ');
    buf_put_text(&xml, HTML "<p>a");
    buf_put(&xml, "\0", 1);
    buf_put_text(&xml, "b</p></html>");
    expect_limit(&xml, "not well-formed XML");
    expect_xml("<?xml version='1.0' encoding='utf-8'?>" HTML
               "<p>a\xff z\xed\xa0\x80</p></html>",
               "# \nparagraph: a� z���\n");
}

#define XML_TEST(name)                                                         \
    cmocka_unit_test_setup_teardown(name, set_up_xml, tear_down)

static void assert_link(const struct page *page, uint32_t at, const char *url,
                        uint32_t depth, const char *title)
{
    assert_in_range(at + 1, 1, page->link_count);
    assert_true(slice_is(page->links[at].url, url));
    assert_true(slice_is(page->links[at].title, title));
    assert_int_equal(page->links[at].depth, depth);
}

/* Eclipse's contents name files, JavaHelp's names that a map has. */
static void test_contents_of_help(void **state)
{
    (void)state;
    struct tree *tree = parse_format(slice_of(
        "<?xml version='1.0'?><!-- a --><toc label='Works' topic='home.htm'>"
        "<topic label='Use' href='use.htm#a'><topic label='Pumps'><topic "
        "href='p/pump.htm' label='Pump'/></topic><link toc='more.xml'/>"
        "</topic><anchor id='x'/></toc>"));
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 5);
    assert_link(&tree->page, 0, "/home.htm", 0, "");
    assert_link(&tree->page, 1, "/use.htm", 1, "");
    assert_link(&tree->page, 2, "", 2, "Pumps");
    assert_link(&tree->page, 3, "/p/pump.htm", 3, "");
    assert_link(&tree->page, 4, "more.xml", 2, "");
    tree_free(tree);
    tree =
        parse_format(slice_of("<toc version='2.0'><tocitem text='Use'><tocitem "
                              "text='Pump' target='pump'/></tocitem></toc>"));
    assert_int_equal(tree->page.link_count, 2);
    assert_link(&tree->page, 0, "", 0, "Use");
    assert_link(&tree->page, 1, "#pump", 1, "");
    tree_free(tree);
    tree = parse_format(slice_of("<map version='1.0'><mapID target='pump' "
                                 "url='en/pump.htm#a'/><mapID target='web' "
                                 "url='http://pumps.org'/></map>"));
    assert_int_equal(tree->page.contents, CONTENTS_MAP);
    assert_int_equal(tree->page.link_count, 1);
    assert_link(&tree->page, 0, "en/pump.htm", 0, "pump");
    tree_free(tree);
}

/* Before version 9; links lead from the folder of the whole help. */
static void test_contents_of_flare(void **state)
{
    (void)state;
    struct tree *tree = parse_format(slice_of(
        "<CatapultToc Version='1'><TocEntry Title='Use' Link='/C/u.htm'>"
        "<TocEntry Title='Pumps'><TocEntry Title='Pump' "
        "Link='/C/p.htm#a'/><TocEntry Title='Web' Link='http://p.org'/>"
        "</TocEntry></TocEntry></CatapultToc>"));
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 4);
    assert_link(&tree->page, 0, "/C/u.htm", 0, "");
    assert_link(&tree->page, 1, "", 1, "Pumps");
    assert_link(&tree->page, 2, "/C/p.htm", 2, "");
    assert_link(&tree->page, 3, "", 2, "Web");
    tree_free(tree);
}

/* Their paths are from the folder of the list; MATLAB's entries are called by their text. */
static void test_contents_from_their_folder(void **state)
{
    (void)state;
    struct tree *tree = parse_format(
        slice_of("<HelpTOC>\n<HelpTOCNode Id='a' Title='Use' Url='html/u.htm'>"
                 "<HelpTOCNode Title='Pumps'><HelpTOCNode Title='Pump' "
                 "Url='html/p.htm'/></HelpTOCNode></HelpTOCNode></HelpTOC>"));
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 3);
    assert_link(&tree->page, 0, "html/u.htm", 0, "");
    assert_link(&tree->page, 1, "", 1, "Pumps");
    assert_link(&tree->page, 2, "html/p.htm", 2, "");
    tree_free(tree);
    tree = parse_format(slice_of(
        "<toc version='2.0'><tocitem target='u.html'>Use\n<tocitem> Pumps "
        "<tocitem target='p.html#a' image='i.gif'>Pump</tocitem></tocitem>"
        "<tocitem target='http://pumps.org'>Web</tocitem></tocitem></toc>"));
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 3);
    assert_link(&tree->page, 0, "u.html", 0, "");
    assert_link(&tree->page, 1, "", 1, "Pumps");
    assert_link(&tree->page, 2, "p.html", 2, "");
    tree_free(tree);
    tree = parse_format(slice_of("<toc version='2.0'><tocitem target='use'>\n"
                                 "<tocitem text='Pump' target='pump'/>"
                                 "</tocitem></toc>"));
    assert_int_equal(tree->page.link_count, 2); /* JavaHelp's */
    assert_link(&tree->page, 0, "#use", 0, "");
    assert_link(&tree->page, 1, "#pump", 1, "");
    tree_free(tree);
}

/* An entry may lead to a place in the page of the one before. */
static void test_contents_of_an_epub(void **state)
{
    (void)state;
    struct tree *tree = parse_format(slice_of(
        "<ncx xmlns='http://www.daisy.org/z3986/2005/ncx/'><head/><docTitle>"
        "<text>Works</text></docTitle><navMap><navPoint id='a'><navLabel><text>"
        "Use</text></navLabel><content src='t/use.xhtml'/><navPoint id='b'>"
        "<navLabel><text>Oil</text></navLabel><content src='t/use.xhtml#oil'/>"
        "</navPoint><navPoint id='c'><navLabel><text>Pumps</text></navLabel>"
        "<content src='t/pump.xhtml'/></navPoint></navPoint></navMap></ncx>"));
    assert_int_equal(tree->page.contents, CONTENTS_WHOLE);
    assert_int_equal(tree->page.link_count, 2);
    assert_link(&tree->page, 0, "t/use.xhtml", 0, "");
    assert_link(&tree->page, 1, "t/pump.xhtml", 1, "");
    tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        XML_TEST(test_xhtml),
        XML_TEST(test_rules_of_xml),
        XML_TEST(test_hidden),
        XML_TEST(test_cdata),
        XML_TEST(test_entities),
        XML_TEST(test_declared_entities),
        XML_TEST(test_entities_in_files),
        XML_TEST(test_entities_that_grow),
        XML_TEST(test_not_well_formed),
        XML_TEST(test_spans),
        XML_TEST(test_book),
        XML_TEST(test_docbook_parts),
        XML_TEST(test_reference),
        XML_TEST(test_entity_bombs),
        XML_TEST(test_bombs),
        XML_TEST(test_contents_of_help),
        XML_TEST(test_contents_of_flare),
        XML_TEST(test_contents_from_their_folder),
        XML_TEST(test_contents_of_an_epub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
