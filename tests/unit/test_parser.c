#include "tests/unit/parsing.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

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
    assert_int_equal(refusal((struct slice){"\xff\xfe<\0", 4}, &err),
                     ERR_FORMAT);
    assert_int_equal(refusal(slice_of("%PDF-1.4 and so on"), &err), ERR_FORMAT);
}

static struct buf repeat(const char *text, size_t times)
{
    struct buf buf = {0};
    for (size_t i = 0; i < times; i++)
        buf_put_text(&buf, text);
    return buf;
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
    struct buf flat = repeat("<p><li><td><font size=1>x<br>", 5000);
    tree_free(parse_bytes(buf_slice(&flat)));
    buf_free(&flat);
    expect("<p>fine again", "# \nparagraph: fine again\n");
}

static void test_size(void **state)
{
    (void)state;
    struct err err = {0};
    struct slice huge = {"", PARSER_MOST_BYTES + 1u};
    assert_int_equal(refusal(huge, &err), ERR_LIMIT);
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
    struct buf slow = repeat("<b>", 300000);
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
    struct buf slow = repeat("<b>", 300000);
    assert_int_equal(refusal(buf_slice(&slow), &err), ERR_LIMIT);
    assert_string_equal(err.message, "took longer than 1 s");
    buf_free(&slow);
    expect("<p>next", "# \nparagraph: next\n");
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
    assert_int_equal(parser_parse(none, slice_of("x"), &tree, &err), ERR_IO);
    parser_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_not_html), TEST(test_depth),    TEST(test_size),
        TEST(test_jail),     TEST(test_crash),    TEST(test_time),
        TEST(test_memory),   TEST(test_replaced), TEST(test_no_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
