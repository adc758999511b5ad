#include "tests/unit/support/spans.h"

#include <unistd.h>

#include "base/file.h"
#include "daemon/answer/quote.h"

/* Encodings: which one is chosen, what its bytes read, and that places are
 * those of the file as it is on disk. */

static const struct sample {
    const char *label, *name;
    const char *bytes, *text;
} samples[] = {
    {"euc-kr", "euc-kr", "\xc7\xd1\xb1\xdb a \xb9\xae\xbc\xad", "한글 a 문서"},
    {"KS_C_5601-1987", "euc-kr", "\xc7\xd1\x8c\x63", "한똠"},
    {"EUC-JP", "euc-jp", "\xc6\xfc\xcb\xdc\x8e\xb1\x8f\xb0\xa1", "日本ｱ丂"},
    {"x-sjis", "shift_jis", "\x93\xfa\x95\x5c \xb1\xb2\\x", "日表 ｱｲ\\x"},
    {"gb2312", "gb18030", "\xd6\xd0\xce\xc4\x81\x30\x81\x30x", "中文\xc2\x80x"},
    {"Big5", "big5", "\xa4\xa4\xa4\xe5\xa5\x5c\x88\x62", "中文功Ê̄"},
    {"koi8-r", "koi8-r", "\xf0\xd2\xc9\xd7\xc5\xd4, x", "Привет, x"},
    {"windows-1251", "windows-1251", "\xcf\xf0\xe8\xe2\xe5\xf2", "Привет"},
    {"ISO-8859-2", "iso-8859-2",
     "\xa3\xf3"
     "d\xbc",
     "Łódź"},
    {"latin-5", "windows-1254", "\xfe\xfd", "şı"},
    {"iso-8859-15", "iso-8859-15", "\xa4 x", "€ x"},
    {"windows-1258", "windows-1258", "a\xec", "a\u0301"},
    {"no-such-thing", "windows-1252", "caf\xe9", "café"},
    /* What is no character, and what must not be swallowed with it. */
    {"euc-kr", "euc-kr", "\xc7\xd1\xb1</p><p>\xff\xfe", "한�"},
    {"shift_jis", "shift_jis", "\x93\xfa\x81</p>", "日�"},
    {"iso-8859-3", "iso-8859-3", "\xa5z\xe6", "�zĉ"},
};

static void test_samples(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *sample = &samples[i];
        struct buf html = {0};
        buf_printf(&html, "<meta charset='%s'><p>%s", sample->label,
                   sample->bytes);
        struct tree *tree = parse_bytes(buf_slice(&html));
        assert_string_equal(encoding_name(tree->page.encoding), sample->name);
        const struct block *block = &tree->nodes[0].blocks[0];
        assert_string_equal(block->text.data, sample->text);
        assert_int_equal(block->origin.span.from,
                         strlen(sample->label) +
                             strlen("<meta charset=''><p>"));
        check_span(buf_slice(&html), tree->page.encoding, block);
        tree_free(tree);
        buf_free(&html);
    }
}

static void test_declarations(void **state)
{
    (void)state;
    static const struct {
        const char *html, *name;
    } cases[] = {
        {"<?xml version='1.0' encoding='EUC-KR'?><p>\xc7\xd1", "euc-kr"},
        {"<meta http-equiv=content-type content='text/html; charset=EUC-KR'>"
         "\xc7\xd1",
         "euc-kr"},
        {"<meta charset=utf-16>caf\xe9", "utf-8"},
        {"<meta charset=euc-kr>plain", "utf-8"},
        {"<meta charset=koi8-r>caf\xc3\xa9", "utf-8"},
        /* Two characters of GBK that look like UTF-8. */
        {"<meta charset=gbk>\xc1\xaa\xcd\xa8", "gb18030"},
        {"<meta charset=gbk>\xcd\xa8", "gb18030"},
        {"<meta charset=gbk>ééééééééé", "utf-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tree *tree = parse(cases[i].html);
        assert_string_equal(encoding_name(tree->page.encoding), cases[i].name);
        tree_free(tree);
    }
    struct err err = {0};
    assert_int_equal(
        refusal(slice_of("<meta charset=iso-2022-jp>\x1b$B"), &err),
        ERR_FORMAT);
    assert_string_equal(err.message, "its encoding, iso-2022-jp, is not read");
    expect("<meta charset=iso-2022-jp><p>plain", "# \nparagraph: plain\n");
}

/* ---- UTF-16 ---- */

static struct buf utf16(const char *text, bool big, bool mark)
{
    struct buf out = {0};
    size_t size = strlen(text), step;
    if (mark)
        buf_put(&out, big ? "\xfe\xff" : "\xff\xfe", 2);
    for (size_t at = 0; at < size; at += step) {
        uint32_t code = text_decode(text, size, at, &step), units[2] = {code};
        if (code >= 0x10000) {
            units[0] = 0xD800 + ((code - 0x10000) >> 10);
            units[1] = 0xDC00 + (code & 0x3ff);
        }
        for (int i = 0; i < 1 + (code >= 0x10000); i++) {
            char bytes[] = {(char)(units[i] & 255), (char)(units[i] >> 8)};
            buf_put_byte(&out, bytes[big]);
            buf_put_byte(&out, bytes[!big]);
        }
    }
    return out;
}

static void test_utf16(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool big = i & 1, mark = i & 2;
        struct buf html = utf16("<title>T</title><h1>Ünö</h1><p>a &amp; 𝔸 "
                                "<b>한</b>.<pre>\n x &lt; y</pre><ul><li>z",
                                big, mark);
        struct tree *tree = parse_bytes(buf_slice(&html));
        struct buf out = show(tree);
        assert_string_equal(encoding_name(tree->page.encoding),
                            big ? "utf-16be" : "utf-16le");
        assert_string_equal(out.data, "# Ünö\nparagraph: a & 𝔸 한.\n"
                                      "code:  x < y\nlist: - z\n");
        struct span title = tree->nodes[0].origins[0].span;
        assert_int_equal(title.from,
                         (mark ? 2 : 0) + 2 * strlen("<title>T</title><h1>"));
        tree_free(tree);
        buf_free(&out);
        check_spans(buf_slice(&html), 3);
        /* Half a pair, half a unit. */
        buf_put(&html, big ? "\xd8\x00\x00" : "\x00\xd8\x00", 3);
        tree_free(parse_bytes(buf_slice(&html)));
        buf_free(&html);
    }
}

/* ---- Spans of all of it ---- */

static void test_spans(void **state)
{
    (void)state;
    check_spans(slice_of("<meta charset=euc-kr><title>\xc7\xd1</title>"
                         "<h1 id='\xc7\xd1'>\xc7\xd1</h1><p>\xc7\xd1 a\xb1\xdb "
                         "<b title='\xc7\xd1'>b&copy;</b>\xb1<i>\xdb\xff</i>c"
                         "<pre>\xc7\xd1\n  \xb1\xdb</pre>"
                         "<table><td>\xc7\xd1<td>x\xb1\xdb</table>"),
                3);
}

/* A quote is of the file's own bytes. */
static void test_quotes(void **state)
{
    (void)state;
    static const char html[] = "<meta charset=euc-kr><p>x</p><p>\xb1\xdb <b>"
                               "\xc7\xd1\xb1\xdb</b> \xb9\xae.";
    char *folder = unit_folder(), name[] = "a.html";
    struct buf path = {0};
    file_join(&path, folder, name);
    assert_int_equal(file_write(path.data, slice_of(html), NULL), 0);
    struct slice files[] = {slice_of(name)};
    struct tree outline = {.files = files, .file_count = 1};
    struct view view = {.manual = {.root = folder}, .outline = &outline};
    struct tree *tree = parse(html);
    struct passage passage = {.view = &view,
                              .text = slice_of("한글"),
                              .block = tree->nodes[0].blocks[1].origin,
                              .encoding = tree->page.encoding};
    struct quote quote;
    assert_int_equal(quote_check(parser, &passage, &quote, NULL), 0);
    assert_int_equal(quote.span.to - quote.span.from, 4);
    assert_memory_equal(html + quote.span.from, "\xc7\xd1\xb1\xdb", 4);
    quote_free(&quote);
    tree_free(tree);
    buf_free(&path);
    unit_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_samples), TEST(test_declarations), TEST(test_utf16),
        TEST(test_spans),   TEST(test_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
