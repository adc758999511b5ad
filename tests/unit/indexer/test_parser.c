#include "tests/unit/support/parsing.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "indexer/wire.h"

/* The parser's process: what it refuses, and what becomes of it. */

static void test_not_html(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(refusal((struct slice){"\x7f"
                                            "ELF\x02\x01\x01",
                                            7},
                             &err),
                     ERR_FORMAT);
    assert_non_null(strstr(err.message, "not an HTML file"));
    assert_int_equal(refusal((struct slice){"<p>a\0b", 6}, &err), ERR_FORMAT);
    assert_int_equal(err.position, 4);
    assert_int_equal(refusal((struct slice){"\xff\xfe<\0p\0>\0\0\0", 10}, &err),
                     ERR_FORMAT);
    assert_int_equal(err.position, 8);
    assert_int_equal(refusal(slice_of("%PDF-1.4 and so on"), &err), ERR_FORMAT);
    assert_int_equal(refusal(slice_of("<p>\x07\x08\x02 data"), &err),
                     ERR_FORMAT);
    assert_int_equal(err.position, 3);
    expect("<p>a bell\x07", "# \nparagraph: a bell\n");
}

static struct buf repeat(const char *text, size_t times)
{
    struct buf buf = {0};
    for (size_t i = 0; i < times; i++)
        buf_put_text(&buf, text);
    return buf;
}

static void expect_many(const char *html, size_t times)
{
    struct buf many = repeat(html, times);
    tree_free(parse_bytes(buf_slice(&many)));
    buf_free(&many);
}

static void test_depth(void **state)
{
    (void)state;
    struct err err = {0};
    struct buf deep = repeat("<div>", 2001);
    assert_int_equal(refusal(buf_slice(&deep), &err), ERR_LIMIT);
    assert_int_equal(err.position, 2000 * 5);
    deep.size -= 5;
    tree_free(parse_bytes(buf_slice(&deep)));
    buf_free(&deep);
    /* Deep for the tree builder, though not by its tags. */
    deep = repeat("<b>", 4000);
    buf_put_text(&deep, "x");
    assert_int_equal(refusal(buf_slice(&deep), &err), ERR_LIMIT);
    buf_free(&deep);
    expect_many("<p><li><td><font size=1>x<br>", 5000);
    /* Headings end at the end tag of any, and where the next begins. */
    expect_many("<h2>S</h3><p>x", 2100);
    expect_many("<h2><span>S</h2><p>x", 2100);
    expect_many("<h2>S<p>x", 2100);
    expect("<p>fine again", "# \nparagraph: fine again\n");
}

/* A hundred times as deep as what is read, in every way there is. */
static void test_depth_bombs(void **state)
{
    (void)state;
    static const char *const bombs[] = {"<div>",
                                        "<ul><li>",
                                        "<table><tr><td>",
                                        "<blockquote>",
                                        "<span>",
                                        "<svg>",
                                        "<math><mrow>",
                                        "<dl><dd>",
                                        "<object>",
                                        "<button>",
                                        "<template>",
                                        "<x-y>",
                                        "<h1><div>",
                                        "<select>",
                                        "<ruby><rt>",
                                        "<frameset>",
                                        "<a><div></a>",
                                        "<p><table>",
                                        "<b><p>",
                                        "<!--",
                                        "<b>",
                                        "<em><i>",
                                        "<font size=1><br>",
                                        "</div>",
                                        "<![CDATA[",
                                        "<title>",
                                        "&lt"};
    parser_free(parser);
    parser = new_parser(0, 5);
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        struct buf deep = repeat(bombs[i], 200000);
        struct tree *tree = NULL;
        struct err err = {0};
        int rc = parser_parse(parser, buf_slice(&deep), PARSER_HTML, NULL,
                              &tree, &err);
        if (rc && rc != ERR_LIMIT)
            fail_msg("%s: %s", bombs[i], err.message);
        tree_free(tree);
        buf_free(&deep);
    }
    expect("<p>fine again", "# \nparagraph: fine again\n");
}

/* The tree builder compares each attribute of an element with all others. */
static void test_attributes(void **state)
{
    (void)state;
    parser_free(parser);
    parser = new_parser(0, 10);
    static const char *const wraps[][2] = {
        {"<p", ">x<b>y</b>"}, {"<p>x<b>y</b><a", ""}, {"<textarea", ">x"}};
    for (int i = 0; i < 3; i++) {
        struct buf html = {0};
        buf_put_text(&html, wraps[i][0]);
        for (int k = 0; k < 200000; k++)
            buf_printf(&html, " a%d=1", k);
        buf_put_text(&html, wraps[i][1]);
        struct tree *tree = parse_bytes(buf_slice(&html));
        assert_int_equal(tree->nodes[0].block_count, 1);
        struct span span = tree->nodes[0].blocks[0].origin.span;
        assert_int_equal(html.data[span.from], 'x');
        tree_free(tree);
        buf_free(&html);
    }
    struct buf html = {0};
    for (int k = 0; k < 200000; k++)
        buf_printf(&html, "<body a%d>", k);
    tree_free(parse_bytes(buf_slice(&html)));
    buf_free(&html);
}

static void test_size(void **state)
{
    (void)state;
    struct err err = {0};
    struct slice huge = {"", PARSER_MAX_BYTES + 1u};
    assert_int_equal(refusal(huge, &err), ERR_LIMIT);
}

/* Nearly all that is read, in one line. */
static void test_long_line(void **state)
{
    (void)state;
    enum { WORDS = PARSER_MAX_BYTES / 5 - 10 };
    struct buf line = repeat("<p>", 1);
    buf_reserve(&line, PARSER_MAX_BYTES);
    for (int i = 0; i < WORDS; i++)
        buf_put(&line, "word ", 5);
    struct tree *tree = parse_bytes(buf_slice(&line));
    assert_int_equal(tree->nodes[0].block_count, 1);
    assert_int_equal(tree->nodes[0].blocks[0].text.size, WORDS * 5 - 1);
    assert_int_equal(tree->nodes[0].blocks[0].origin.span.to, 2 + WORDS * 5);
    tree_free(tree);
    buf_free(&line);
}

/* After what a file is judged by, NULs are left out as browsers do. */
static void test_nul_bytes(void **state)
{
    (void)state;
    struct buf html = repeat("<!-- -->", 600);
    size_t start = html.size;
    static const char nuls[] = "<p \0id='\0i'>a\0b<b\0>\0c</b> \0&am\0p;</p>\0";
    buf_put(&html, nuls, sizeof nuls);
    struct tree *tree = parse_bytes(buf_slice(&html));
    struct buf out = show(tree);
    assert_string_equal(out.data, "# \nparagraph: abc &amp;\n" + 0);
    struct span span = tree->nodes[0].blocks[0].origin.span;
    assert_int_equal(span.from, start + 12);
    tree_free(tree);
    buf_free(&out);
    buf_free(&html);
}

/* Our child, found among all processes; 0: there is none. */
static pid_t find_child(void)
{
    DIR *folder = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; !found && (entry = readdir(folder));) {
        char path[300], line[300];
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file =
            isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        char *name = fgets(line, sizeof line, file);
        fclose(file);
        char *rest = name ? strrchr(line, ')') : NULL;
        int parent;
        if (rest && sscanf(rest, ") %*c %d", &parent) == 1 &&
            parent == getpid())
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    closedir(folder);
    return found;
}

/* Is `line` in /proc/PID/status? */
static bool has_status(pid_t pid, const char *line)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    return strstr(text, line) != NULL;
}

static void test_jail(void **state)
{
    (void)state;
    tree_free(parse("x"));
    pid_t child = find_child();
    assert_true(child > 0);
    assert_true(has_status(child, "\nSeccomp:\t2\n"));
    assert_true(has_status(child, "\nNoNewPrivs:\t1\n"));
    assert_int_not_equal(getpgid(child), getpgid(0));
}

static void *kill_child(void *unused)
{
    (void)unused;
    usleep(200000);
    pid_t child = find_child();
    if (child)
        kill(child, SIGKILL);
    return NULL;
}

static void test_crash(void **state)
{
    (void)state;
    struct err err = {0};
    /* Keeps the parser busy until it is killed. */
    struct buf slow = repeat("<b><p>", 1000000);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, kill_child, NULL), 0);
    int rc = refusal(buf_slice(&slow), &err);
    pthread_join(thread, NULL);
    buf_free(&slow);
    assert_int_equal(rc, ERR_CRASH);
    assert_non_null(strstr(err.message, "the parser died on this file"));
    expect("<p>next", "# \nparagraph: next\n");
    /* One that dies while nobody asks it anything costs no file. */
    pid_t child = find_child();
    assert_true(child > 0);
    kill(child, SIGKILL);
    usleep(100000);
    expect("<p>next", "# \nparagraph: next\n");
}

static void test_time(void **state)
{
    (void)state;
    parser_free(parser);
    parser = new_parser(0, 1);
    struct err err = {0};
    struct buf slow = repeat("<b><p>", 1000000);
    assert_int_equal(refusal(buf_slice(&slow), &err), ERR_LIMIT);
    assert_string_equal(err.message, "took longer than 1 s");
    buf_free(&slow);
    expect("<p>next", "# \nparagraph: next\n");
}

static void *wake_child(void *child)
{
    usleep(2500000);
    kill(*(pid_t *)child, SIGCONT);
    return NULL;
}

/* What the machine has no time for is not the file's fault. */
static void test_pause(void **state)
{
    (void)state;
    parser_free(parser);
    parser = new_parser(0, 1);
    expect("<p>first", "# \nparagraph: first\n");
    pid_t child = find_child();
    pthread_t thread;
    assert_true(child > 0 && !kill(child, SIGSTOP));
    assert_int_equal(pthread_create(&thread, NULL, wake_child, &child), 0);
    expect("<p>next", "# \nparagraph: next\n");
    pthread_join(thread, NULL);
    assert_int_equal(find_child(), child);
}

static void test_memory(void **state)
{
    (void)state;
    parser_free(parser);
    parser = new_parser(256 << 20, 0);
    struct err err = {0};
    struct buf large = repeat("<p>text<b>s</b>", 2000000);
    assert_int_equal(refusal(buf_slice(&large), &err), ERR_LIMIT);
    assert_string_equal(err.message,
                        "needs more than 268435456 bytes of memory");
    buf_free(&large);
    expect("<p>next", "# \nparagraph: next\n");
}

/* Of the tree builder's tree and ours, never more than one is there whole. */
static void test_two_trees(void **state)
{
    (void)state;
    parser_free(parser);
    parser = new_parser(256 << 20, 0);
    struct buf large = repeat("<p>text<b>s</b>", 200000);
    struct tree *tree = parse_bytes(buf_slice(&large));
    assert_int_equal(tree->nodes[0].block_count, 200000);
    tree_free(tree);
    buf_free(&large);
}

static void test_replaced(void **state)
{
    (void)state;
    tree_free(parse("x"));
    pid_t first = find_child();
    for (int i = 0; i < 510; i++)
        tree_free(parse("<p>x"));
    assert_int_not_equal(find_child(), first);
}

static void test_no_program(void **state)
{
    (void)state;
    struct parser_options options = {.program = "/nonexistent/lectern-parse"};
    struct parser *none = parser_new(&options);
    struct tree *tree;
    struct err err = {0};
    assert_int_equal(
        parser_parse(none, slice_of("x"), PARSER_HTML, NULL, &tree, &err),
        ERR_IO);
    parser_free(none);
}

/* ---- An impostor: this program in place of lectern-parse ---- */

/* What the first byte of a request asks for. */
enum {
    HONEST = 'h', /* a tree whose title is the process's number */
    SURPLUS = 's',
    WRONG_NUMBER = 'w',
    MANY_NODES = 'n',
    MANY_ITEMS = 'i',
    BAD_TEXT = 't',
    MESSAGE = 'm',
    BAD_MESSAGE = 'b',
    BAD_ALIAS = 'a',
    ENDLESS = 'e' /* asks for files without waiting for them */
};

static struct slice no_text = {"", 0};

static void encode_false_tree(int what, size_t size, struct buf *out)
{
    char title[24];
    snprintf(title, sizeof title, "%d", (int)getpid());
    struct tree *tree = tree_new(false);
    tree_add_file(tree, no_text);
    tree_add_node(tree, TREE_NONE, 0,
                  slice_of(what == BAD_TEXT ? "\xe9" : title), no_text);
    for (size_t i = 0; what == MANY_NODES && i < 2 + size / 4; i++)
        tree_add_node(tree, 0, 1, no_text, no_text);
    for (size_t i = 0; what == MANY_ITEMS && i < 8 + size; i++)
        tree_add_anchor(tree, 0, no_text);
    if (what == BAD_ALIAS) {
        struct page_alias alias = {slice_of("\xe9"), slice_of("#x")};
        tree->page.aliases = tree_copy_aliases(tree, &alias, 1);
        tree->page.alias_count = 1;
    }
    tree_seal(tree, NULL);
    tree_encode(tree, out);
    tree_free(tree);
}

/* One process asks, the other drops the answers. */
static void ask_endlessly(const struct wire_request *request)
{
    const struct wire_reply asks = {request->number, WIRE_ASKS, -1, 1};
    char bytes[4096];
    pid_t asking = fork();
    while (asking ? read(WIRE_FD, bytes, sizeof bytes) > 0
                  : write(WIRE_FD, &asks, sizeof asks) > 0 &&
                        write(WIRE_FD, "x", 1) > 0)
        continue;
    _exit(0);
}

static void reply_falsely(const struct wire_request *request, int what)
{
    struct buf out = {0};
    struct wire_reply reply = {.number = request->number, .position = -1};
    if (what == WRONG_NUMBER)
        reply.number--;
    if (what == MESSAGE || what == BAD_MESSAGE) {
        reply.status = ERR_FORMAT;
        buf_put_text(&out,
                     what == MESSAGE ? "\x1b[31mé\x7f\xc2\x9b\n\rx" : "\xe9");
    } else {
        buf_put_string(&out, no_text); /* nothing is wrong in it */
        encode_false_tree(what, request->size, &out);
    }
    reply.size = out.size;
    if (write(WIRE_FD, &reply, sizeof reply) < 0 ||
        write(WIRE_FD, out.data, out.size) < 0)
        _exit(1);
    buf_free(&out);
}

static int impostor(void)
{
    struct wire_request request;
    char bytes[4096];
    while (recv(WIRE_FD, &request, sizeof request, MSG_WAITALL) > 0 &&
           recv(WIRE_FD, bytes, request.size, MSG_WAITALL) > 0) {
        if (bytes[0] == ENDLESS)
            ask_endlessly(&request);
        reply_falsely(&request, bytes[0]);
        if (bytes[0] == SURPLUS)
            reply_falsely(&request, HONEST);
    }
    _exit(0);
}

static void with_impostor(void)
{
    struct parser_options options = {.program = "/proc/self/exe"};
    parser_free(parser);
    parser = parser_new(&options);
}

static int title_of(const char *request)
{
    struct tree *tree = parse(request);
    int title = (int)strtol(tree->nodes[0].title.data, NULL, 10);
    tree_free(tree);
    return title;
}

static void test_false_replies(void **state)
{
    (void)state;
    static const char all[] = {WRONG_NUMBER, MANY_NODES, MANY_ITEMS,
                               BAD_TEXT,     BAD_ALIAS,  BAD_MESSAGE};
    with_impostor();
    for (size_t i = 0; i < sizeof all; i++) {
        struct err err = {0};
        int before = title_of("h");
        char request[] = {all[i], '0', '1', '2', '3'};
        struct slice bytes = {request, sizeof request};
        assert_int_equal(refusal(bytes, &err), ERR_CRASH);
        assert_string_equal(err.message, "the parser's reply makes no sense");
        assert_int_not_equal(title_of("h"), before);
    }
}

static bool open_slowly(void *context, struct slice names,
                        struct slice *ret_bytes, struct buf *ret_path)
{
    (void)context;
    (void)names;
    (void)ret_bytes;
    (void)ret_path;
    usleep(1000);
    return false;
}

static void test_endless_questions(void **state)
{
    (void)state;
    struct parser_options options = {.program = "/proc/self/exe",
                                     .max_seconds = 1};
    struct parser_inputs inputs = {.open = open_slowly};
    struct err err = {0};
    struct tree *tree;
    parser_free(parser);
    parser = parser_new(&options);
    time_t began = time(NULL);
    assert_int_equal(
        parser_parse(parser, slice_of("e"), PARSER_LATEX, &inputs, &tree, &err),
        ERR_LIMIT);
    assert_string_equal(err.message, "took longer than 1 s");
    assert_true(time(NULL) - began < 10);
}

static void expect_reason(const char *bytes, enum parser_format format,
                          const char *reason)
{
    struct err err = {0};
    struct tree *tree;
    assert_int_equal(
        parser_parse(parser, slice_of(bytes), format, NULL, &tree, &err),
        ERR_FORMAT);
    if (!strstr(err.message, reason))
        fail_msg("%s", err.message);
}

/* A reason that has words of the file in it: a long one is cut, within a
 * character; others are no UTF-8. */
static void test_reasons_with_words_of_the_file(void **state)
{
    (void)state;
    static const char mismatch[] = "line 1: Opening and ending tag mismatch";
    struct buf xml = {0};
    for (int shift = 0; shift < 3; shift++) {
        buf_clear(&xml);
        buf_put_text(&xml, "<html xmlns='http://www.w3.org/1999/xhtml'><");
        buf_put(&xml, "aaa", (size_t)shift);
        for (int i = 0; i < 120; i++)
            buf_put_text(&xml, "\xe8\xaa\x9e");
        buf_put_text(&xml, "></p></html>");
        expect_reason(xml.data, PARSER_XML, mismatch);
    }
    expect_reason("<meta charset='iso-2022-\xe9-cn'>\x1b$)A x", PARSER_HTML,
                  "its encoding, iso-2022-\xef\xbf\xbd-cn, is not read");
    buf_free(&xml);
}

static bool open_named_otherwise(void *context, struct slice names,
                                 struct slice *ret_bytes, struct buf *ret_path)
{
    (void)context;
    (void)names;
    *ret_bytes = slice_of("x \\fi");
    buf_put_text(ret_path, "caf\xe9/b.tex");
    return true;
}

/* Names of files are bytes, what is said of them is text. */
static void test_reports_of_files_without_utf8_names(void **state)
{
    (void)state;
    struct buf reports = {0};
    struct parser_inputs inputs = {.open = open_named_otherwise,
                                   .reports = &reports};
    struct err err = {0};
    struct tree *tree;
    if (parser_parse(parser, slice_of("\\section{A}\\input b "), PARSER_LATEX,
                     &inputs, &tree, &err))
        fail_msg("%s", err.message);
    assert_string_equal(reports.data, "caf\xef\xbf\xbd/b.tex: byte 2: \\fi "
                                      "without \\if\n");
    assert_string_equal(tree->files[1].data, "caf\xe9/b.tex");
    tree_free(tree);
    buf_free(&reports);
}

static unsigned opened;

static bool open_very_slowly(void *context, struct slice names,
                             struct slice *ret_bytes, struct buf *ret_path)
{
    (void)context;
    (void)names;
    (void)ret_bytes;
    (void)ret_path;
    opened++;
    usleep(400000);
    return false;
}

/* What the daemon does for a file is time of the file's, too. */
static void test_slow_answers(void **state)
{
    (void)state;
    struct parser_options options = {.program = "/proc/self/exe",
                                     .max_seconds = 1};
    struct parser_inputs inputs = {.open = open_very_slowly};
    struct err err = {0};
    struct tree *tree;
    parser_free(parser);
    parser = parser_new(&options);
    assert_int_equal(
        parser_parse(parser, slice_of("e"), PARSER_LATEX, &inputs, &tree, &err),
        ERR_LIMIT);
    assert_string_equal(err.message, "took longer than 1 s");
    assert_in_range(opened, 1, 3);
}

static void test_surplus_reply(void **state)
{
    (void)state;
    with_impostor();
    int first = title_of("h");
    assert_int_equal(title_of("h"), first);
    assert_int_equal(title_of("s"), first);
    usleep(100000);
    assert_int_not_equal(title_of("h"), first);
}

static void test_message(void **state)
{
    (void)state;
    with_impostor();
    struct err err = {0};
    assert_int_equal(refusal(slice_of("m"), &err), ERR_FORMAT);
    assert_string_equal(err.message, "[31méx");
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[0], "lectern-parse"))
        return impostor();
    const struct CMUnitTest tests[] = {
        TEST(test_not_html),
        TEST(test_depth),
        TEST(test_size),
        TEST(test_jail),
        TEST(test_crash),
        TEST(test_time),
        TEST(test_pause),
        TEST(test_memory),
        TEST(test_two_trees),
        TEST(test_replaced),
        TEST(test_no_program),
        TEST(test_attributes),
        TEST(test_false_replies),
        TEST(test_surplus_reply),
        TEST(test_message),
        TEST(test_depth_bombs),
        TEST(test_long_line),
        TEST(test_nul_bytes),
        TEST(test_endless_questions),
        TEST(test_reasons_with_words_of_the_file),
        TEST(test_reports_of_files_without_utf8_names),
        TEST(test_slow_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
