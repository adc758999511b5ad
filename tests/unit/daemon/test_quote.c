/* Passages found again in their files, and the typed words of LaTeX in their source. */
#include "tests/unit/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/mem.h"
#include "daemon/answer/latex_alignment.h"
#include "daemon/answer/quote.h"
#include "daemon/answer/quote_drawn.h"

enum { ROOM = 9000 };

/* As if each byte of the text were one of the file. */
static const struct text_place *places(void)
{
    static struct text_place all[ROOM];
    for (uint32_t i = 0; i < ROOM; i++)
        all[i] = (struct text_place){i, i + 1};
    return all;
}

static void white_space_is_any_run_of_it(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted;
        long from, to; /* -1: it is not there */
    } cases[] = {
        {"a b c", "b c", 2, 5},
        {"a  b \t\nc", "b c", 3, 8},
        {"a\xC2\xA0\xE2\x80\x82"
         "b",
         "a b", 0, 7},
        {"a b\xE2\x80\x82", "b ", 2, 6},
        {"ab", "a b", -1, -1},
        {"ab", "a\nb", 0, 2},
        {"a b", "a\nb", 0, 3},
        {"a b", "b c", -1, -1},
        {"a b", "a b c", -1, -1},
        {"a b", "", -1, -1},
        {"", "a", -1, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct span span = {0};
        bool found = quote_find(slice_of(cases[i].text), places(),
                                slice_of(cases[i].wanted), &span);
        if (found != (cases[i].from >= 0) ||
            (found && ((long)span.from != cases[i].from ||
                       (long)span.to != cases[i].to)))
            fail_msg("'%s' in '%s'", cases[i].wanted, cases[i].text);
    }
}

/* As between terms, where a block has a space for a <br>. */
static void a_tag_may_be_a_space(void **state)
{
    (void)state;
    static const struct text_place parted[] = {{0, 1}, {6, 7}, {7, 8}};
    struct span span = {0};
    assert_true(quote_find(slice_of("abc"), parted, slice_of("a bc"), &span));
    assert_int_equal(span.from, 0);
    assert_int_equal(span.to, 8);
    assert_true(quote_find(slice_of("abc"), parted, slice_of("abc"), &span));
    assert_false(quote_find(slice_of("abc"), parted, slice_of("ab c"), &span));
    assert_false(quote_find(slice_of("abc"), parted, slice_of("abc d"), &span));
}

/* The text of the bytes, without tags; spaces are as in parser_text. */
static bool finds(const char *bytes, const char *wanted, const char *ret_found)
{
    struct buf text = {0};
    struct text_place at[64];
    struct span span = {0};
    for (uint32_t i = 0; bytes[i]; i++) {
        if (bytes[i] == '<')
            i += (uint32_t)strcspn(bytes + i, ">");
        else if (bytes[i] != ' ' ||
                 (text.size && text.data[text.size - 1] != ' ')) {
            at[text.size] = (struct text_place){i, i + 1};
            buf_put_byte(&text, bytes[i]);
        }
    }
    bool found = quote_find_drawn(slice_of(bytes), buf_slice(&text), at,
                                  slice_of(wanted), &span);
    if (found && ret_found)
        assert_true(slice_is(
            (struct slice){bytes + span.from, span.to - span.from}, ret_found));
    buf_free(&text);
    return found;
}

/* Where the file has what draws them, and there alone. */
static void signs_may_be_drawn(void **state)
{
    (void)state;
    assert_true(finds("a 2<sup>8</sup> b", "2^8", "2<sup>8"));
    assert_true(finds("(in <mo> O </mo> <mi> R </mi>) as 1<sup>2",
                      "(in O/R ) as 1^2", NULL));
    assert_true(finds("2<SUP>8</SUP>-1", "2^8-1", NULL));
    assert_true(
        finds("a <mfrac><mi> x </mi> <mn>2</mn></mfrac>b", "x/2", NULL));
    assert_true(finds("<mml:mi>x</mml:mi> <mml:mo>+</mml:mo>", "x^+", NULL));
    assert_true(finds("2</mn></msqrt><mo>=", "\u221a2=", NULL));
    assert_true(finds("x<mo>-</mo><mn>1</mn> <msup><mn>0</mn><mn>3",
                      "\u221a(x-10^3)", NULL));
    /* A changed file: the signs are gone, or other things come together. */
    assert_false(finds("<code>run</code><i>fast</i>", "run(fast)", NULL));
    assert_false(finds("/usr<b>bin</b>", "/usr/bin", NULL));
    assert_false(finds("a<i>n</i>", "a_n", NULL));
    assert_false(finds("2<b>8</b>", "2^8", NULL));
    assert_false(finds("2<sup>8</sup>", "2/8", NULL));
    assert_false(finds("Call run", "Call run()", NULL));
    assert_false(finds("<mark>a</mark><menu>b", "a/b", NULL));
    assert_false(finds("<td>1</td> <td>2</td>", "12", NULL));
    assert_false(finds("<mi>abc</mi>", "(", NULL));
    assert_false(finds("<mi>abc</mi>", "_/", NULL));
    assert_false(finds("2<sup>8</sup>", "2^9", NULL));
}

static void parts_end_at_stops_cells_and_lines(void **state)
{
    (void)state;
    assert_int_equal(quote_part_end(slice_of("One. Two"), 0), 4);
    assert_int_equal(quote_part_end(slice_of("1.5 and\tmore"), 0), 7);
    assert_int_equal(quote_part_end(slice_of("line\nmore"), 0), 4);
    assert_int_equal(quote_part_end(slice_of("the end."), 0), 8);
    assert_int_equal(quote_part_end(slice_of("stop?\xE2\x80\x82More"), 0), 5);
}

/* ---- LaTeX ---- */

static void align(const char *source, const char *wanted, long from, long to,
                  const char *made)
{
    struct span span = {0};
    struct buf pairs = {0};
    bool found = latex_align_find(slice_of(source), places(), slice_of(wanted),
                                  &span, &pairs);
    if (found != (from >= 0) ||
        (found && ((long)span.from != from || (long)span.to != to)))
        fail_msg("'%s' in '%s': %d, %u to %u", wanted, source, found,
                 (unsigned)span.from, (unsigned)span.to);
    struct buf words = {0};
    for (size_t at = 0; at < pairs.size; at += 2 * sizeof(size_t)) {
        size_t range[2];
        memcpy(range, pairs.data + at, sizeof range);
        buf_printf(&words, "[%.*s]", (int)(range[1] - range[0]),
                   wanted + range[0]);
    }
    assert_string_equal(words.size ? words.data : "", made);
    buf_free(&words);
    buf_free(&pairs);
}

static void typed_words_are_aligned(void **state)
{
    (void)state;
    align("A \\emph{red} apple.", "A red apple", 0, 18, "");
    align("The \\name\\ is red.", "The Kings Oak is red", 0, 17, "[Kings Oak]");
    align("It is red, of 12 \\kinds.", "It is red of 12 sorts here", 0, 16,
          "[sorts here]");
    align("\\made is red", "Apple is red", 6, 12, "[Apple]");
    /* The same words, closer together; and, before it, farther apart. */
    align("red a b c apple. red apple", "red apple", 17, 26, "");
    align("red apple. red a b c apple", "red apple", 0, 9, "");
    /* More of the words. */
    align("red x. red apple tree", "red apple tree", 7, 21, "");
    align("", "red", -1, -1, "");
    align("red", "", -1, -1, "");
    align("red", "...", -1, -1, "");
    align("blue", "red apple", -1, -1, "");
    align("red", "red green blue", -1, -1, "");
}

/* Two words of the passage are at most 60 of the source apart. */
static void words_far_apart_are_not_one_passage(void **state)
{
    (void)state;
    struct buf source = {0};
    buf_put_text(&source, "red ");
    for (int i = 0; i < 70; i++)
        buf_put_text(&source, "x ");
    buf_put_text(&source, "apple tree here");
    align(source.data, "red apple tree here", (long)source.size - 15,
          (long)source.size, "[red]");
    buf_free(&source);
}

static void many_places_are_not_all_tried(void **state)
{
    (void)state;
    struct buf source = {0};
    for (int i = 0; i < 2100; i++)
        buf_put_text(&source, "a ");
    buf_put_text(&source, "a b");
    align(source.data, "a b", 0, 1, "[b]");
    buf_free(&source);
}

/* ---- Files ---- */

struct bench {
    char folder[256];
    struct parser *parser;
    struct view view;
    struct tree outline;
    struct slice name; /* of its one file */
    struct file file;
    struct passage passage;
};

static void write_file(const struct bench *b, const char *name,
                       const char *text)
{
    struct buf path = {0};
    file_join(&path, b->folder, name);
    assert_int_equal(file_write(path.data, slice_of(text), NULL), 0);
    buf_free(&path);
}

static int set_up(void **state)
{
    struct bench *b = mem_alloc(sizeof *b);
    const char *program = getenv("LECTERN_PARSE");
    const struct parser_options options = {
        .program = program ? program : "build/release/lectern-parse"};
    snprintf(b->folder, sizeof b->folder, "%s", unit_folder());
    b->parser = parser_new(&options);
    b->outline.files = &b->name;
    b->view = (struct view){.manual = {.root = b->folder, .ignore = ""},
                            .files = &b->file};
    b->view.outline = &b->outline;
    b->passage = (struct passage){.view = &b->view};
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *b = *state;
    parser_free(b->parser);
    unit_folder_remove(b->folder);
    free(b);
    return 0;
}

/* The code of a quote of `text`, of all of the file `name`; `shown`: what is
 * quoted. */
static int quote(struct bench *b, const char *name, const char *text, int kind,
                 const char *shown)
{
    struct err err = {0};
    struct quote found = {0};
    struct buf path = {0};
    struct stat st = {0};
    file_join(&path, b->folder, name);
    stat(path.data, &st);
    buf_free(&path);
    b->name = slice_of(name);
    b->passage.kind = kind;
    b->passage.text = slice_of(text);
    b->passage.block = (struct origin){0, {0, (uint32_t)st.st_size}};
    int code = quote_check(b->parser, &b->passage, &found, &err);
    if (shown && (code || strcmp(found.text.data, shown) != 0))
        fail_msg("%s: %d '%s' %s", text, code,
                 found.text.size ? found.text.data : "", err.message);
    quote_free(&found);
    return code;
}

static void what_stands_there_is_quoted(void **state)
{
    struct bench *b = *state;
    write_file(b, "a.html",
               "<ul><li>Red apples are ripe.</li><li>Green ones</li></ul>"
               "<p>Brown bears sleep all winter. In a den? No</p>");
    quote(b, "a.html", "- Red apples are ripe.\n- Green ones", BLOCK_LIST,
          "Red apples are ripe. Green ones");
    quote(b, "a.html", "Brown bears sleep all winter. In a cave?",
          BLOCK_PARAGRAPH, "Brown bears sleep all winter.");
    /* Of what is left the longest line, then a sentence, then what is short. */
    quote(b, "a.html",
          "Term\n  Brown bears sleep all winter. In a den?\n  None such here.",
          BLOCK_DEFINITION, "Brown bears sleep all winter. In a den?");
    quote(b, "a.html", "None such here.\nGreen ones", BLOCK_PARAGRAPH,
          "Green ones");
    quote(b, "a.html", "In a den? Yes", BLOCK_PARAGRAPH, "In a den?");
    quote(b, "a.html", "\n \nGreen\tRed", BLOCK_PARAGRAPH, "Green");
    assert_int_equal(quote(b, "a.html", "x y z", BLOCK_PARAGRAPH, NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(quote(b, "a.html", " ", BLOCK_PARAGRAPH, NULL),
                     ERR_NOT_FOUND);
    write_file(b, "a.tex", "The \\emph{red} apple\\footnote{is} ripe.");
    quote(b, "a.tex", "The red apple ripe", BLOCK_PARAGRAPH,
          "The red apple ripe");
    assert_int_equal(quote(b, "a.tex", "Blue", BLOCK_PARAGRAPH, NULL),
                     ERR_NOT_FOUND);
}

/* Its fault: the passage is stale.  The machine's is not. */
static void a_file_is_gone(void **state)
{
    struct bench *b = *state;
    char path[300];
    write_file(b, "plain", "x");
    snprintf(path, sizeof path, "%s/loop.html", b->folder);
    assert_int_equal(symlink("loop.html", path), 0);
    snprintf(path, sizeof path, "%s/folder.html", b->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    static const char *const gone[] = {"none.html", "loop.html", "folder.html",
                                       "plain/below.html"};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        assert_int_equal(quote(b, gone[i], "x", BLOCK_PARAGRAPH, NULL),
                         ERR_STALE);
    /* Longer than any name. */
    char name[300];
    memset(name, 'x', sizeof name);
    memcpy(name + sizeof name - 6, ".html", 6);
    int code = quote(b, name, "x", BLOCK_PARAGRAPH, NULL);
    assert_true(code && code != ERR_STALE);
}

static void files_that_are_away_are_quoted_from_the_store(void **state)
{
    struct bench *b = *state;
    b->view.manual.root = "";
    quote(b, "a.html", "1. One\n\n2. Two", BLOCK_LIST, "One Two");
    assert_false(quote_is_fresh(&b->view, 0));
    b->view.manual.root = b->folder;
}

static void fresh_files_are_those_that_were_indexed(void **state)
{
    struct bench *b = *state;
    struct stat st;
    char path[300];
    snprintf(path, sizeof path, "%s/f.html", b->folder);
    write_file(b, "f.html", "abc");
    assert_int_equal(stat(path, &st), 0);
    b->file =
        (struct file){.path = "f.html",
                      .size = (uint64_t)st.st_size,
                      .inode = st.st_ino,
                      .mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 +
                                  st.st_mtim.tv_nsec,
                      .content = hash_bytes("abc", 3)};
    assert_true(quote_is_fresh(&b->view, 0));
    b->file.mtime_ns++; /* touched */
    assert_true(quote_is_fresh(&b->view, 0));
    b->file.inode++; /* replaced by the same */
    assert_true(quote_is_fresh(&b->view, 0));
    b->file.size++;
    b->file.content.low++; /* by another */
    assert_false(quote_is_fresh(&b->view, 0));
    assert_int_equal(unlink(path), 0);
    assert_false(quote_is_fresh(&b->view, 0));
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(quote_is_fresh(&b->view, 0));
    assert_int_equal(rmdir(path), 0);
}

/* A file that was changed when it was indexed, and not since, is read once. */
static void fresh_files_are_read_once(void **state)
{
    struct bench *b = *state;
    static char name[] = "tests/golden/README.md";
    char *root = b->view.manual.root;
    struct stat st;
    struct buf bytes = {0};
    _Atomic int64_t checked = 0;
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(file_read(name, 1 << 20, &bytes, NULL), 0);
    b->file = (struct file){.path = name,
                            .content = hash_bytes(bytes.data, bytes.size)};
    b->view.manual.root = ".";
    b->view.checked = &checked;
    assert_true(quote_is_fresh(&b->view, 0));
    assert_int_equal(checked, (int64_t)st.st_ctim.tv_sec * 1000000000 +
                                  st.st_ctim.tv_nsec);
    b->file.content.low++; /* that is not looked at */
    assert_true(quote_is_fresh(&b->view, 0));
    checked++; /* changed since */
    assert_false(quote_is_fresh(&b->view, 0));
    b->view.manual.root = root;
    b->view.checked = NULL;
    buf_free(&bytes);
}

#define WITH_FILES(name)                                                       \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_is_any_run_of_it),
        cmocka_unit_test(a_tag_may_be_a_space),
        cmocka_unit_test(signs_may_be_drawn),
        cmocka_unit_test(parts_end_at_stops_cells_and_lines),
        cmocka_unit_test(typed_words_are_aligned),
        cmocka_unit_test(words_far_apart_are_not_one_passage),
        cmocka_unit_test(many_places_are_not_all_tried),
        WITH_FILES(what_stands_there_is_quoted),
        WITH_FILES(a_file_is_gone),
        WITH_FILES(files_that_are_away_are_quoted_from_the_store),
        WITH_FILES(fresh_files_are_those_that_were_indexed),
        WITH_FILES(fresh_files_are_read_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
