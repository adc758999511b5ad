#include "tests/unit/support/unit.h"

#include <string.h>

#include "indexer/parse/scripts/scripts.h"

/* Each link with a ">" for each depth; a heading in quotes, the name of a map's before "=". */
static void expect(const char *text, int contents, const char *expected)
{
    struct tree *tree = NULL;
    struct buf out = {0};
    assert_int_equal(scripts_parse(slice_of(text), &tree, NULL), 0);
    assert_int_equal(tree->page.contents, contents);
    assert_int_equal(tree->nodes[0].block_count, 0);
    for (uint32_t i = 0; i < tree->page.link_count; i++) {
        const struct page_link *link = &tree->page.links[i];
        buf_put_text(&out, i ? " " : "");
        for (uint32_t d = 0; d < link->depth; d++)
            buf_put_byte(&out, '>');
        if (link->title.size)
            buf_printf(&out, "%.*s=", (int)link->title.size, link->title.data);
        buf_put_slice(&out, link->url);
    }
    assert_string_equal(out.data ? out.data : "", expected);
    buf_free(&out);
    tree_free(tree);
}

/* Numbers in the list, and in the chunks the pages that they stand for. */
static void test_flare(void **state)
{
    (void)state;
    expect(
        "define({numchunks:2,prefix:'Toc_Chunk',chunkstart:['/C/Use.htm',"
        "'/C/Vent.htm'],tree:{n:[{i:0,c:0,n:[{i:2,c:1},{i:1,c:0,n:[{i:3,c:1}]"
        "}]},{i:4,c:7}]}});",
        CONTENTS_WHOLE,
        "#0|/C/Use.htm >#2|/C/Vent.htm >#1|/C/Use.htm >>#3|/C/Vent.htm #4|");
    expect(
        "define({'/C/Use.htm':{i:[0],t:['Use'],b:['']},'___':{i:[5],t:['More'"
        "],b:['']},\"/C/It\\'s.htm#a\": {\n i: [1, 4,],\n t: ['a','b']},"
        "'http://p.org':{i:[7]}});",
        CONTENTS_MAP,
        "0|/C/Use.htm=/C/Use.htm 5|/C/Use.htm\nMore= 1|/C/Use.htm=/C/It's.htm "
        "4|/C/Use.htm=/C/It's.htm");
}

static void test_help_and_manual(void **state)
{
    (void)state;
    expect(
        "\xEF\xBB\xBFhmLoadTOC({items:[\n{tp:\"topiclink\",bs:0,cp:\"Use\","
        "hf:\"use.html\",i0:\".\\/a.svg\",rf:null,items:[{cp:\"Pumps & \\u0041"
        "\",hf:\"\",items:[{cp:\"P\",hf:\"p.html#a\",items:[]}]}]},{cp:\"End\","
        "hf:\"end.html\"}]});",
        CONTENTS_WHOLE, "/use.html >Pumps & A= >>/p.html /end.html");
}

/* Each entry names what is above it. */
static void test_helpndoc(void **state)
{
    (void)state;
    expect(
        "[{ \"id\": \"a\", \"parent\" : \"#\", \"text\": \"A\", \"a_attr\": "
        "{\"href\": \"A.html\"} },{ \"id\": \"b\", \"parent\" : \"a\", \"text\""
        ": \"Book\", \"a_attr\": {\"href\": \"#\"} },{ \"id\": \"c\", "
        "\"parent\""
        " : \"b\", \"text\": \"C\", \"a_attr\": {\"href\": \"C.html\"} },{ "
        "\"id\": \"d\", \"parent\" : \"a\", \"text\": \"D\", \"a_attr\": "
        "{\"href\": \"D.html\"} "
        "},{\"id\":\"e\",\"parent\":\"#\",\"text\":\"E\","
        "\"a_attr\":{\"href\":\"E.html\"}}]",
        CONTENTS_WHOLE, "/A.html >Book= >>/C.html >/D.html /E.html");
}

static void test_robohelp(void **state)
{
    (void)state;
    expect(
        "(function() {\nvar toc =  "
        "[{\"type\":\"book\",\"name\":\"Use\",\"key\":"
        "\"toc1\",\"url\":\"use/u.htm\"},{\"type\":\"book\",\"name\":\"More\","
        "\"key\":\"toc2\"},{\"type\":\"item\",\"name\":\"End\",\"url\":"
        "\"end.htm#a\"},{\"type\":\"item\",\"name\":\"Web\",\"url\":"
        "\"http://p.org\"}];\nwindow.rh.model.publish(x, toc, { sync:true });"
        "})();",
        CONTENTS_WHOLE,
        "/use/u.htm >toc1.new.js More= >toc2.new.js /end.htm Web=");
}

/* Entries are lists: what a text names is in another script.  All lie beside the tree, never
 * above it, where another project may have pages of these names. */
static void test_doxygen(void **state)
{
    (void)state;
    expect("/*\n@licstart [MIT] {\n@licend\n*/\nvar NAVTREE =\n[\n  [ \"W "
           "\\\"1\\\"\""
           ", \"index.html\", [\n    [ \"Use\", \"use.html\", [\n [ \"In\", "
           "\"use.html#in\", null ], [ \"P\", \"p.html\", null ]\n ] ],\n"
           "[ \"Web\", \"^http://p.org\", null ], [ \"Book\", null, [ [ \"B\", "
           "\"b.html\", null ] ] ], [],\n[ \"Classes\", \"annotated.html\", "
           "\"annotated_dup\" ]\n  ] ]\n];\n\nvar NAVTREEINDEX "
           "=\n[\n\"a.html\"\n];",
           CONTENTS_WHOLE,
           "index.html >use.html >>use.html >>p.html >Web= >Book= "
           ">>b.html >annotated.html");
}

/* Comments are no data; half a pair of \\u is left out, not what follows. */
static void test_unusual(void **state)
{
    (void)state;
    expect("hmLoadTOC({ /* don't */ items:[ // it's\r\n"
           "{cp:\"a\\uD83Db\\uD83D\\u0041\\uD83D\\uDE00\",hf:\"\"},\n"
           "{hf:\"a//b.html\"},/**/{hf:\"c.html\",},],/*",
           CONTENTS_WHOLE, "abA\xF0\x9F\x98\x80= /a//b.html /c.html");
}

/* Cut off, nested for ever, or something else. */
static void test_hostile(void **state)
{
    (void)state;
    expect(
        "hmLoadTOC({items:[{cp:\"A\",hf:\"a.html\",items:[{cp:\"B\",hf:\"b.ht",
        CONTENTS_WHOLE, "/a.html >/b.ht");
    expect("hmLoadTOC({items:[{hf:\"\\", CONTENTS_WHOLE, "/\\");
    expect("", CONTENTS_NONE, "");
    expect("alert('[{')", CONTENTS_NONE, "");
    expect("define(", CONTENTS_NONE, "");
    expect("define([1])", CONTENTS_MAP, "");
    expect("define({tree:{n:[{i:1,c:'x'},{i:{},c:[]},{}]}})", CONTENTS_WHOLE,
           "#1|");
    struct buf deep = {0};
    buf_put_text(&deep, "hmLoadTOC({items:[{hf:\"a.html\",items:[");
    for (int i = 0; i < 100000; i++)
        buf_put_text(&deep, "{hf:\"b.html\",items:[");
    struct tree *tree = NULL;
    assert_int_equal(scripts_parse(buf_slice(&deep), &tree, NULL), 0);
    assert_true(tree->page.link_count > 10 && tree->page.link_count < 64);
    tree_free(tree);
    buf_free(&deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flare),    cmocka_unit_test(test_help_and_manual),
        cmocka_unit_test(test_helpndoc), cmocka_unit_test(test_robohelp),
        cmocka_unit_test(test_doxygen),  cmocka_unit_test(test_unusual),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
