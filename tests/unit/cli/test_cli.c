#include "tests/unit/support/unit.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/output/address.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/output/explain.h"
#include "cli/output/output.h"
#include "cli/output/progress.h"
#include "cli/eval/question_formats.h"
#include "cli/eval/questions.h"
#include "cli/eval/score.h"
#include "cli/output/terminal.h"

/* Arguments, `words` up to NULL. */
static int parse(struct cli *cli, struct err *err, char **words)
{
    *cli = (struct cli){0};
    return arguments_parse(cli, words, err);
}

#define WORDS(...)                                                             \
    (char *[])                                                                 \
    {                                                                          \
        (char[]){"lectern"}, __VA_ARGS__, NULL                                 \
    }
#define W(text)                                                                \
    (char[])                                                                   \
    {                                                                          \
        text                                                                   \
    }

static void arguments_are_taken_apart(void **state)
{
    (void)state;
    struct cli cli;
    assert_int_equal(
        parse(&cli, NULL,
              WORDS(W("--json"), W("ask"), W("-n5"), W("how"), W("--mode=tree"),
                    W("-c"), W("git"), W("--"), W("--do"), W("-"))),
        0);
    assert_string_equal(cli.command->name, "ask");
    assert_true(cli.options.json);
    assert_int_equal(cli.options.count, 5);
    assert_int_equal(cli.options.depth, -1);
    assert_string_equal(cli.options.mode, "tree");
    assert_string_equal(cli.options.manual, "git");
    struct buf words = {0};
    cli_join_args(&cli, 0, &words);
    assert_string_equal(words.data, "how --do -");
    buf_clear(&words);
    arguments_free(&cli);
    /* A question that begins with what it asks about is none of ours. */
    assert_int_equal(parse(&cli, NULL,
                           WORDS(W("ask"), W("-weak vs -strict"), W("-n3"),
                                 W("--depth 1: what is it"))),
                     0);
    assert_int_equal(cli.options.count, 3);
    cli_join_args(&cli, 0, &words);
    assert_string_equal(words.data, "-weak vs -strict --depth 1: what is it");
    buf_free(&words);
    arguments_free(&cli);
    /* A name with a space in it may stand behind its letter. */
    assert_int_equal(parse(&cli, NULL,
                           WORDS(W("ask"), W("-cGNU Make"), W("-n5"), W("how"),
                                 W("-c is what"))),
                     0);
    assert_string_equal(cli.options.manual, "GNU Make");
    assert_int_equal(cli.args.count, 2);
    arguments_free(&cli);

    assert_int_equal(parse(&cli, NULL,
                           WORDS(W("add"), W("--ignore"), W("*.txt"), W("dir"),
                                 W("--ignore=b"), W("--wait"))),
                     0);
    assert_int_equal(cli.options.ignore.count, 2);
    assert_string_equal(cli.options.ignore.items[1], "b");
    assert_true(cli.options.wait);
    arguments_free(&cli);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    struct {
        char **words;
        const char *part;
    } cases[] = {
        {WORDS(W("serach"), W("x")), "did you mean 'search'?"},
        {WORDS(W("ask"), W("x"), W("--expalin")), "did you mean '--explain'?"},
        {WORDS(W("ls"), W("--wait")), "ls: unknown option '--wait'"},
        {WORDS(W("ask"), W("--force-with-lease")),
         "behind '--': lectern ask -- --force-with-lease"},
        {WORDS(W("ls"), W("-n"), W("3")), "ls: unknown option '-n'"},
        {WORDS(W("ls"), W("-éa")), "ls: unknown option '-é'"},
        {WORDS(W("--wait"), W("add"), W("x")), "unknown option '--wait'"},
        {WORDS(W("ask")), "needs an argument"},
        {WORDS(W("ls"), W("x")), "does not take 'x'"},
        {WORDS(W("ask"), W("x"), W("--mode")), "--mode needs a value"},
        {WORDS(W("ask"), W("x"), W("--mode=")), "--mode takes"},
        {WORDS(W("ask"), W("x"), W("--mode=au")), "--mode takes"},
        {WORDS(W("ask"), W("x"), W("--mode=auto|tree")), "--mode takes"},
        {WORDS(W("ask"), W("x"), W("--strict=yes")), "takes no value"},
        {WORDS(W("ask"), W("x"), W("-n0")), "from 1 to 1000"},
        {WORDS(W("ask"), W("x"), W("-n"), W("1e2")), "from 1 to 1000"},
        {WORDS(W("toc"), W("--depth"), W("99999999999999999999")), "number"},
        {WORDS(W("ls"), W("--socket="), W("x")), "--socket is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct cli cli;
        struct err err = {0};
        assert_int_equal(parse(&cli, &err, cases[i].words), ERR_USAGE);
        if (!strstr(err.message, cases[i].part))
            fail_msg("'%s' is not in '%s'", cases[i].part, err.message);
        arguments_free(&cli);
    }
}

static void members_are_found_unparsed(void **state)
{
    (void)state;
    static const char text[] =
        "{ \"a\\\"}\" : [1,{\"id\":9}], \"s\":\"}\\\\\",\"id\": 12 ,"
        "\"result\":{\"id\":[\"]\",{}]},\"last\":true}";
    struct slice value;
    assert_true(client_member(slice_of(text), "id", &value));
    assert_true(slice_is(value, "12"));
    assert_true(client_member(slice_of(text), "result", &value));
    assert_true(slice_is(value, "{\"id\":[\"]\",{}]}"));
    assert_true(client_member(slice_of(text), "last", &value));
    assert_true(slice_is(value, "true"));
    assert_false(client_member(slice_of(text), "error", &value));
    /* Whatever is cut off ends without reading past it. */
    for (size_t size = 0; size < sizeof text - 1; size++)
        client_member((struct slice){text, size}, "none", &value);
    assert_false(client_member(slice_of("[1]"), "id", &value));
}

/* A daemon for one connection: waits for a line, then writes `reply`. */
struct fake {
    int listening;
    struct slice reply;
    char request[4096];
};

static void *serve(void *user)
{
    struct fake *fake = user;
    int fd = accept(fake->listening, NULL, NULL);
    size_t size = 0;
    while (size + 1 < sizeof fake->request &&
           !memchr(fake->request, '\n', size)) {
        ssize_t n =
            read(fd, fake->request + size, sizeof fake->request - 1 - size);
        if (n <= 0)
            break;
        size += (size_t)n;
    }
    for (struct slice rest = fake->reply; rest.size;) {
        ssize_t n = send(fd, rest.data, rest.size, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        rest.data += n;
        rest.size -= (size_t)n;
    }
    close(fd);
    return NULL;
}

struct heard {
    int count;
    char params[64];
};

static void hear(void *user, struct slice method, struct slice params)
{
    struct heard *heard = user;
    assert_true(slice_is(method, "\"progress\""));
    assert_true(params.size < sizeof heard->params);
    memcpy(heard->params, params.data, params.size);
    heard->params[params.size] = '\0';
    heard->count++;
}

/* What client_call makes of a reply. */
static int converse(const char *folder, struct slice reply, struct heard *heard,
                    struct buf *result, struct err *err)
{
    struct fake fake = {.reply = reply};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct config config;
    struct client *client;
    pthread_t thread;
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/s", folder);
    unlink(address.sun_path);
    fake.listening = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(
        bind(fake.listening, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fake.listening, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve, &fake), 0);
    assert_int_equal(config_load(&config, NULL, NULL), 0);
    config_set(&config, CONFIG_SOCKET, address.sun_path, NULL);
    assert_int_equal(client_open(&config, NULL, false, &client, NULL), 0);
    int code = client_call(client, "ls", slice_of("{\"a\":1}"), hear, heard,
                           result, err);
    client_close(client);
    pthread_join(thread, NULL);
    close(fake.listening);
    config_free(&config);
    assert_string_equal(fake.request,
                        "{\"jsonrpc\":\"2.0\",\"id\":1,"
                        "\"method\":\"ls\",\"params\":{\"a\":1}}\n");
    return code;
}

static void replies_are_taken_as_they_come(void **state)
{
    (void)state;
    char *folder = unit_folder();
    setenv("HOME", folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    struct heard heard = {0};
    struct buf result = {0};
    struct err err = {0};
    assert_int_equal(
        converse(folder,
                 slice_of("{\"method\":\"progress\",\"params\":{\"id\":1}}\n"
                          "{\"id\":7,\"method\":\"progress\",\"params\":{}}\n"
                          "{\"id\":1,\"result\": {\"x\": 1.50} }\n"),
                 &heard, &result, &err),
        0);
    assert_string_equal(result.data, "{\"x\": 1.50}");
    assert_int_equal(heard.count, 2);
    assert_string_equal(heard.params, "{}");
    buf_clear(&result);

    struct buf big = {0};
    buf_put_text(&big, "{\"id\":1,\"result\":\"");
    for (int i = 0; i < 3000000; i++)
        buf_put_byte(&big, 'a' + i % 26);
    buf_put_text(&big, "\"}\n");
    assert_int_equal(converse(folder, buf_slice(&big), &heard, &result, &err),
                     0);
    assert_int_equal(result.size, 3000002);
    buf_free(&big);
    buf_free(&result);

    assert_int_equal(
        converse(folder,
                 slice_of("{\"id\":1,\"error\":{\"code\":-8,\"message\":\"m\","
                          "\"data\":{\"code\":\"store\",\"message\":\"full\","
                          "\"path\":\"/p\",\"position\":5}}}\n"),
                 &heard, &result, &err),
        ERR_STORE);
    assert_string_equal(err.message, "full");
    assert_string_equal(err.path, "/p");
    assert_int_equal(err.position, 5);
    assert_int_equal(
        converse(folder, slice_of("{\"id\":1,\"error\":{\"code\":-32601}}\n"),
                 &heard, &result, &err),
        ERR_USAGE);
    assert_int_equal(
        converse(folder, slice_of("{\"id\":1,\"resu"), &heard, &result, &err),
        ERR_UNREACHABLE);
    assert_int_equal(
        converse(folder, slice_of("{\"id\":1}\n"), &heard, &result, &err),
        ERR_INTERNAL);
    assert_int_equal(result.size, 0);
    buf_free(&result);
    unit_folder_remove(folder);
}

/* A `lecternd` in $PATH that ends at once, with what it says. */
static int launch(const char *folder, const char *script, struct err *err)
{
    struct buf path = {0};
    struct config config;
    int fd;
    file_join(&path, folder, "lecternd");
    assert_int_equal(file_write(path.data, slice_of(script), NULL), 0);
    assert_int_equal(chmod(path.data, 0700), 0);
    assert_int_equal(config_load(&config, NULL, NULL), 0);
    buf_clear(&path);
    file_join(&path, folder, "none.sock");
    config_set(&config, CONFIG_SOCKET, path.data, NULL);
    buf_clear(&path);
    file_join(&path, folder, "store");
    config_set(&config, CONFIG_STORE, path.data, NULL);
    bool own;
    int code = launch_daemon(&config, NULL, &fd, &own, err);
    buf_free(&path);
    config_free(&config);
    return code;
}

static void a_daemon_that_ends_at_once_is_told(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct err err = {0};
    struct buf path = {0};
    struct stat st;
    const char *before = getenv("PATH");
    setenv("HOME", folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    buf_printf(&path, "%s:%s", folder, before ? before : "");
    setenv("PATH", path.data, 1);
    assert_int_equal(launch(folder,
                            "#!/bin/sh\necho first >&2\n"
                            "echo '10:00:00 error: it is locked' >&2\n"
                            "exit 6\n",
                            &err),
                     ERR_STORE);
    assert_string_equal(err.message, "the daemon did not start: it is locked");
    assert_int_equal(launch(folder, "#!/bin/sh\nexit 1\n", &err),
                     ERR_UNREACHABLE);
    assert_non_null(strstr(err.message, "exit status 1"));
    assert_int_equal(launch(folder, "#!/bin/sh\nkill -9 $$\n", &err),
                     ERR_UNREACHABLE);
    assert_non_null(strstr(err.message, "signal 9"));
    buf_clear(&path);
    file_join(&path, folder, "store");
    assert_int_equal(stat(path.data, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    setenv("PATH", before ? before : "/usr/bin:/bin", 1);
    buf_free(&path);
    unit_folder_remove(folder);
}

static void assert_url(const char *file, const char *anchor, const char *text,
                       const char *expected)
{
    struct buf url = {0};
    address_put_url(&url, file, anchor, text);
    assert_string_equal(url.data, expected);
    buf_free(&url);
}

static void addresses_are_encoded(void **state)
{
    (void)state;
    assert_url("/m/a.html", "x-1", "t", "file:///m/a.html#x-1");
    assert_url("/a b/c#d%.html", NULL, NULL, "file:///a%20b/c%23d%25.html");
    assert_url("/a", "\xC3\xA4 \"", NULL, "file:///a#%C3%A4%20%22");
    assert_url("/a", "", " x-y,\n z & \xC3\xA4",
               "file:///a#:~:text=x%2Dy%2C%20z%20%26%20%C3%A4");
    assert_url("/a", NULL, "1 2 3 4 5 6 7 8 9 10 11",
               "file:///a#:~:text=1%202%203%204%205%206%207%208%209%2010");
    assert_url("/a", NULL, "  ", "file:///a");
    assert_int_equal(address_run("test  b =", NULL, "b"), 0);
    assert_int_equal(address_run("test %s = cbc", NULL, "cbc"), 0);
    assert_int_equal(address_run("test b", "=", "b"), 0);
    assert_int_equal(address_run("no-such-program", NULL, "x"), 127);
    assert_int_equal(address_run("", NULL, "x"), 127);
}

static void check_device(const char *members, const char *want)
{
    char json[300];
    struct buf out = {0};
    snprintf(json, sizeof json, "{\"device\":{%s}}", members);
    cJSON *model = cJSON_Parse(json);
    assert_non_null(model);
    output_put_device(&out, model);
    assert_string_equal(out.data, want);
    buf_free(&out);
    cJSON_Delete(model);
}

static void a_device_is_said_with_why(void **state)
{
    (void)state;
    check_device("\"choice\":\"cpu\",\"used\":\"cpu\"", "the CPU");
    check_device("\"used\":\"cpu\",\"reason\":\"no driver\"",
                 "the CPU: no driver");
    check_device("\"choice\":\"cuda:1\",\"used\":null",
                 "cuda:1, nothing runs on it yet");
    check_device("\"used\":\"cuda\",\"name\":\"X\",\"capability\":\"9.0\","
                 "\"free\":1e9,\"memory\":2e9,\"failed\":false",
                 "X (compute capability 9.0), 1.0 GB of 2.0 GB free");
    check_device("\"used\":\"cuda\",\"name\":\"X\",\"capability\":\"9.0\","
                 "\"free\":1e9,\"memory\":2e9,\"lacks\":\"no library\"",
                 "X (compute capability 9.0), 1.0 GB of 2.0 GB free; no "
                 "library");
    check_device("\"used\":\"cuda\",\"failed\":true",
                 "the GPU, which has failed: the CPU takes over as soon as "
                 "nothing waits for it");
}

/* A book whose first chapter is called as itself. */
static void a_title_stands_once_in_a_path(void **state)
{
    (void)state;
    struct buf out = {0};
    cJSON *path = cJSON_Parse("[\"Pumps\",\"Pumps\",\"Valves\",\"Pumps\"]");
    output_put_title_path(&out, path);
    assert_string_equal(out.data, "Pumps › Valves › Pumps");
    cJSON_Delete(path);
    buf_free(&out);
}

static void text_for_people(void **state)
{
    (void)state;
    struct buf out = {0};
    output_put_count(&out, 9999);
    buf_put_byte(&out, ' ');
    output_put_count(&out, 10234);
    buf_put_byte(&out, ' ');
    output_put_count(&out, 1234567);
    buf_put_byte(&out, ' ');
    output_put_bytes(&out, 12345678);
    assert_string_equal(out.data, "9999 10,234 1,234,567 12.3 MB");
    buf_clear(&out);
    buf_put_text(&out, "a\033[2J\tb\r\n\xC2\x9B"
                       "c\x7F");
    output_make_printable(&out);
    assert_string_equal(out.data, "a[2J\tb\nc");
    buf_clear(&out);
    output_put_start_of_text(&out, "one  two three four five", 2, 14, "> ");
    assert_string_equal(out.data, "> one two\n> three four …\n");
    buf_clear(&out);
    output_put_start_of_text(&out, "one", 2, 14, "> ");
    output_put_start_of_text(&out, " ", 2, 14, "> ");
    assert_string_equal(out.data, "> one\n");
    buf_clear(&out);
    progress_put_line(&out, "git  parse", 3, 6, 12.2, 80);
    assert_string_equal(out.data,
                        "git  parse  [############------------] 3/6  12/s");
    buf_clear(&out);
    progress_put_line(&out, "git  parse", 3, 0, 0, 10);
    assert_string_equal(out.data, "git  pars");
    buf_free(&out);
}

static void check_line(const char *line, int columns, const char *wanted)
{
    struct buf out = {0};
    terminal_put_line(&out, slice_of(line), columns, "  ");
    assert_string_equal(out.data, wanted);
    buf_free(&out);
}

static void lines_fit_the_terminal(void **state)
{
    (void)state;
    struct buf out = {0};
    assert_int_equal(terminal_width(slice_of("a\xCC\x88漢字")), 5);
    assert_int_equal(terminal_width(slice_of("\033[1mab\033[0m")), 2);
    assert_int_equal(
        terminal_width(slice_of("\033]8;;file:///a b\033\\ab\033]8;;\033\\")),
        2);
    check_line("one two  three", 0, "one two  three");
    check_line("one two  three", 7, "one two\n  three");
    check_line(" one two", 8, " one two");
    check_line(" one two", 7, " one\n  two");
    check_line("a_very_long_word b", 6, "a_very_long_word\n  b");
    check_line("漢字漢字 b", 6, "漢字漢\n  字 b");
    check_line("a\033]8;;x y\033\\b c", 4, "a\033]8;;x y\033\\b c");
    check_line("one two [1] [2-3] x", 11, "one\n  two [1] [2-3]\n  x");
    check_line("one [x] a[1]", 6, "one\n  [x]\n  a[1]");
    terminal_put_prose(&out, slice_of("one two\n  code stays\n\nthree four"),
                       5);
    assert_string_equal(out.data, "one\ntwo\n  code stays\n\nthree\nfour");
    assert_int_equal(terminal_rows_of(buf_slice(&out), 80), 6);
    assert_int_equal(terminal_rows_of(slice_of("12345\n123456\n\n"), 5), 4);
    assert_int_equal(terminal_rows_of(slice_of("漢字漢"), 5), 2);
    buf_clear(&out);
    terminal_put_cut(&out, slice_of("a漢字"), 4);
    terminal_pad(&out, 0, 5);
    assert_string_equal(out.data, "a漢  ");
    buf_clear(&out);
    output_put_start_of_text(&out, "漢字漢字漢字漢字", 2, 10, "> ");
    assert_string_equal(out.data, "> 漢字漢\n> 字漢字 …\n");
    buf_free(&out);
}

/* What a manual says can neither pass for a citation nor leave bold on. */
static void quotes_stay_quotes(void **state)
{
    (void)state;
    bool begins = true;
    struct buf out = {0};
    output_put_quote(&out, "[1] a\n\033[1m[2]\033[22m b [3]", &begins);
    assert_string_equal(out.data, "  [1] a\n\033[1m  [2]\033[22m b [3]");
    buf_clear(&out);
    output_put_start_of_text(&out, "a \033[1mlong word\033[22m", 1, 10, "> ");
    assert_string_equal(out.data, "> a \033[1mlong\033[22m …\n");
    buf_free(&out);
}

static bool right(const char *question, const char *result)
{
    struct questions questions;
    cJSON *value;
    assert_int_equal(questions_parse(slice_of(question), "q", &questions, NULL),
                     0);
    assert_int_equal(json_parse(slice_of(result), &value, NULL), 0);
    bool is_right = question_is_right(&questions.items[0], value);
    cJSON_Delete(value);
    questions_free(&questions);
    return is_right;
}

static void right_is_what_the_rule_says(void **state)
{
    (void)state;
    const char *section = "{\"question\":\"q\",\"section\":[\"B.\",\"c d\"]}";
    const char *several = "{\"question\":\"q\",\"section\":[\"x\"],"
                          "\"sections\":[[\"y\"],[\"+\"]]}";
    const char *evidence = "{\"question\":\"q\",\"section\":null,"
                           "\"evidence\":[\"\",\"Two, words\"]}";
    assert_true(right(section, "{\"path\":[\"A\",\"b\",\"C  D!\"]}"));
    assert_false(right(section, "{\"path\":[\"A\",\"b\",\"C  D!\",\"e\"]}"));
    assert_true(right(section, "{\"path\":[\"A\",\"b\",\"C D\",\"e\"],"
                               "\"entry\":true}"));
    assert_false(right(section, "{\"path\":[\"b\",\"C D\",\"e\",\"f\"],"
                                "\"entry\":true}"));
    assert_false(right(section, "{\"path\":[\"C D\"]}"));
    assert_false(right(section, "{\"path\":null}"));
    assert_true(right(several, "{\"path\":[\"A\",\"Y\"]}"));
    assert_true(right(several, "{\"path\":[\"A\",\"X\"]}"));
    assert_true(right(several, "{\"path\":[\"A\",\"+\"]}"));
    assert_false(right(several, "{\"path\":[\"A\",\"-\"]}"));
    assert_true(right(evidence, "{\"path\":[],\"text\":\"of two words.\"}"));
    assert_true(right(evidence, "{\"path\":[],\"quote\":\"two\\nwords\"}"));
    assert_false(right(evidence, "{\"path\":[],\"text\":\"two wordsmiths\"}"));
    assert_false(right("{\"question\":\"q\"}", "{\"path\":[\"a\"]}"));
    const char *page = "{\"question\":\"q\",\"pages\":[\"a/b.html\"]}";
    assert_true(right(page, "{\"path\":[\"x\"],\"file\":\"a/b.html\"}"));
    assert_false(right(page, "{\"path\":[\"x\"],\"file\":\"b.html\"}"));
}

static void parse_converted(const char *text, int format,
                            struct questions *questions)
{
    struct buf lines = {0};
    assert_int_equal(question_lines(slice_of(text), "q", format, &lines, NULL),
                     0);
    assert_int_equal(questions_parse(buf_slice(&lines), "q", questions, NULL),
                     0);
    buf_free(&lines);
}

static void squad_is_recognised(void **state)
{
    (void)state;
    const char *text =
        "{\"version\":\"v2.0\",\"data\":[{\"title\":\"T\",\"paragraphs\":[{"
        "\"context\":\"Sea salt is white.\",\"qas\":["
        "{\"id\":\"1\",\"question\":\"What colour?\",\"is_impossible\":false,"
        "\"answers\":[{\"text\":\"white\",\"answer_start\":12}]},"
        "{\"id\":\"2\",\"question\":\"How old?\",\"is_impossible\":true,"
        "\"answers\":[]}]}]}]}";
    struct questions questions;
    parse_converted(text, FORMAT_AUTO, &questions);
    assert_int_equal(questions.count, 2);
    assert_string_equal(questions.items[0].id, "1");
    assert_string_equal(questions.items[0].answers.items[0], "white");
    assert_string_equal(questions.items[0].evidence.items[0],
                        "Sea salt is white.");
    assert_false(questions.items[0].unanswerable);
    assert_true(questions.items[1].unanswerable);
    assert_false(question_has_place(&questions.items[1]));
    questions_free(&questions);
}

static void qasper_is_recognised(void **state)
{
    (void)state;
    const char *text =
        "{\"1901.1\":{\"title\":\"T\",\"full_text\":[],\"qas\":["
        "{\"question_id\":\"a\",\"question\":\"Which data?\",\"answers\":["
        "{\"answer\":{\"unanswerable\":false,\"extractive_spans\":[\"x\",\"y\"]"
        ","
        "\"yes_no\":null,\"free_form_answer\":\"\","
        "\"evidence\":[\"FLOAT SELECTED: Table 1\",\"We use x and y.\"]}},"
        "{\"answer\":{\"unanswerable\":false,\"extractive_spans\":[],"
        "\"yes_no\":true,\"free_form_answer\":\"\",\"evidence\":[]}}]},"
        "{\"question_id\":\"b\",\"question\":\"Why?\",\"answers\":["
        "{\"answer\":{\"unanswerable\":true}}]}]}}";
    struct questions questions;
    parse_converted(text, FORMAT_AUTO, &questions);
    assert_int_equal(questions.count, 2);
    const struct question *first = &questions.items[0];
    assert_string_equal(first->document, "1901.1.html");
    assert_int_equal(first->answers.count, 2);
    assert_string_equal(first->answers.items[0], "x, y");
    assert_string_equal(first->answers.items[1], "Yes");
    assert_int_equal(first->evidence.count, 1);
    assert_true(questions.items[1].unanswerable);
    questions_free(&questions);
}

static void formats_are_not_guessed_when_told(void **state)
{
    (void)state;
    struct buf lines = {0};
    struct err err = {0};
    const char *text = "{\"question\":\"q\"}";
    assert_int_equal(
        question_lines(slice_of(text), "f", FORMAT_AUTO, &lines, &err), 0);
    assert_int_equal(lines.size, 0);
    assert_int_equal(
        question_lines(slice_of(text), "f", FORMAT_SQUAD, &lines, &err),
        ERR_USAGE);
    assert_int_equal(
        question_lines(slice_of("no"), "f", FORMAT_QASPER, &lines, &err),
        ERR_USAGE);
    assert_non_null(strstr(err.message, "Qasper"));
    buf_free(&lines);
}

static void a_file_without_questions_says_so(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"data\":[{\"paragraphs\":[]}]}", "{\"p\":{\"qas\":[]}}",
        "{\"data\":[{\"paragraphs\":[7,{\"qas\":\"no\"}]},null]}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct buf lines = {0};
        struct err err = {0};
        assert_int_equal(
            question_lines(slice_of(texts[i]), "f", FORMAT_AUTO, &lines, &err),
            ERR_USAGE);
        assert_string_equal(err.message, "f has no questions");
        buf_free(&lines);
    }
}

static void bad_questions_are_refused_with_the_line(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"id\":\"x\"}",
        "[]",
        "nope",
        "{\"question\":\"\"}",
        "{\"question\":\"q\",\"section\":\"s\"}",
        "{\"question\":\"q\",\"section\":[1]}",
        "{\"question\":\"q\",\"sections\":[\"s\"]}",
        "{\"question\":\"q\",\"evidence\":[1]}",
        "{\"question\":\"q\",\"answer\":1}",
        "{\"question\":\"q\",\"document\":1}",
        "{\"question\":\"q\",\"pages\":\"a\"}",
        "{\"question\":\"q\",\"unanswerable\":1}",
        "{\"question\":\"q\",\"unanswerable\":true,\"answer\":\"a\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct questions questions;
        struct err err = {0};
        struct buf text = {0};
        buf_printf(&text, "{\"question\":\"q\"}\n \n%s\n", bad[i]);
        assert_int_equal(
            questions_parse(buf_slice(&text), "f", &questions, &err),
            ERR_USAGE);
        if (strncmp(err.message, "f:3: ", 5) != 0)
            fail_msg("%s", err.message);
        buf_free(&text);
    }
}

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) < 1e-9))
        fail_msg("%.12f is not %.12f", value, expected);
}

static void scores_are_right(void **state)
{
    (void)state;
    double none[] = {0, 0, 0}, mixed[] = {1, 0, 1, 0, 1, 0, 1, 0};
    double times[] = {4, 1, 3, 2};
    struct score score = score_of(none, 3);
    assert_close(score.mean, 0);
    assert_close(score.high, 0);
    score = score_of(mixed, 8);
    struct score again = score_of(mixed, 8);
    assert_close(score.mean, 0.5);
    assert_true(score.low >= 0.1 && score.low < 0.5);
    assert_true(score.high > 0.5 && score.high <= 0.9);
    assert_close(score.low, again.low);
    assert_true(isnan(score_of(NULL, 0).mean));
    assert_close(score_quantile(times, 4, 0.5), 2.5);
    assert_close(score_quantile(times, 4, 0.95), 3.85);
    assert_true(isnan(score_quantile(NULL, 0, 0.5)));
    assert_close(score_of_quantile(times, 4, 0.5).mean, 2.5);
    assert_true(score_of_quantile(times, 4, 0.5).low >= 1);
    assert_true(score_of_quantile(times, 4, 0.5).high <= 4);
    double parts[] = {1, 0, 2}, subtrees[] = {1, 0, 3};
    score = score_of_ratio(parts, subtrees, 3);
    assert_close(score.mean, 0.75);
    assert_true(score.low < 0.75 && score.high <= 1);
    assert_true(isnan(score_of_ratio(none, none, 3).mean));
}

static void answers_are_compared_as_squad_does(void **state)
{
    (void)state;
    assert_close(score_f1("The cat, sat.", "a CAT sat"), 1);
    assert_close(score_f1("sat cat", "cat sat"), 1);
    assert_close(score_rouge_l("sat cat", "cat sat"), 0.5);
    assert_close(score_f1("a b b c", "b b d"), 2.0 * 2 / 6);
    assert_close(score_rouge_l("w x y z", "w q z"), 2.0 * 2 / 7);
    assert_close(score_f1("well-known", "wellknown"), 1);
    assert_close(score_f1("", "the"), 1);
    assert_close(score_f1("", "cat"), 0);
    assert_close(score_rouge_l("cat", ""), 0);
}

static void explanations_read_as_a_route(void **state)
{
    (void)state;
    static const char json[] =
        "{\"explain\":{\"mode\":\"auto\",\"terms\":["
        "{\"term\":\"vacuum\",\"written\":\"vacuun\",\"nodes\":1200,"
        "\"idf\":3,\"weight\":0.5}],"
        "\"dense\":{\"segments\":20000,\"by\":\"lists\",\"lists\":565,"
        "\"probes\":90,\"seen\":3100,\"added\":7},"
        "\"levels\":["
        "{\"by\":\"terms\",\"depth\":0,\"title\":\"A\",\"score\":9,"
        "\"kept\":true},"
        "{\"by\":\"terms\",\"depth\":1,\"title\":\"B\",\"score\":8,"
        "\"kept\":true},"
        "{\"by\":\"terms\",\"depth\":1,\"title\":\"C\",\"score\":7,"
        "\"kept\":false},"
        "{\"by\":\"tree\",\"depth\":0,\"title\":\"A\",\"score\":0.5,"
        "\"kept\":true}],"
        "\"weights\":{\"lexical\":1,\"terms\":0.15,\"dense\":0,\"tree\":0},"
        "\"hits\":[{\"node\":\"n5\",\"score\":1.1,"
        "\"lexical\":{\"rank\":1,\"score\":12.5},"
        "\"terms\":{\"rank\":2,\"score\":8}}],"
        "\"confidence\":0.75,\"least_confidence\":0.5}}";
    static const char right[] =
        "\nhow this was found\n"
        "  mode auto\n"
        "  words\n"
        "    vacuum, for vacuun, which stands nowhere: in 1200 sections, "
        "information 3.00, counts 0.50\n"
        "  vectors\n"
        "    20,000 segments; compared: 3100 in the 90 nearest of 565 lists, "
        "and 7 new ones\n"
        "  down the tree, by words\n"
        "    1. kept  A 9\n"
        "    2. kept  B 8\n"
        "       left  C 7\n"
        "  down the tree, by memories\n"
        "    1. kept  A 0.5\n"
        "  results, by 1 lexical 0.15 terms\n"
        "    1. n5  1.100 = lexical no. 1 (12.5) + terms no. 2 (8)\n"
        "  the manuals hold an answer with a probability of 75 %; one is given "
        "from 50 on\n";
    struct buf out = {0};
    cJSON *result = cJSON_Parse(json);
    explain_put(&out, result);
    assert_string_equal(out.data, right);
    buf_clear(&out);
    cJSON_DeleteItemFromObject(result, "explain");
    explain_put(&out, result);
    assert_int_equal(out.size, 0);
    cJSON_Delete(result);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_taken_apart),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(members_are_found_unparsed),
        cmocka_unit_test(replies_are_taken_as_they_come),
        cmocka_unit_test(a_daemon_that_ends_at_once_is_told),
        cmocka_unit_test(addresses_are_encoded),
        cmocka_unit_test(a_device_is_said_with_why),
        cmocka_unit_test(a_title_stands_once_in_a_path),
        cmocka_unit_test(text_for_people),
        cmocka_unit_test(lines_fit_the_terminal),
        cmocka_unit_test(quotes_stay_quotes),
        cmocka_unit_test(right_is_what_the_rule_says),
        cmocka_unit_test(bad_questions_are_refused_with_the_line),
        cmocka_unit_test(squad_is_recognised),
        cmocka_unit_test(qasper_is_recognised),
        cmocka_unit_test(formats_are_not_guessed_when_told),
        cmocka_unit_test(a_file_without_questions_says_so),
        cmocka_unit_test(scores_are_right),
        cmocka_unit_test(answers_are_compared_as_squad_does),
        cmocka_unit_test(explanations_read_as_a_route),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
