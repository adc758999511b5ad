#include "tests/unit/support/unit.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config.h"
#include "base/file.h"
#include "base/suggest.h"
#include "daemon/net/protocol.h"

static char *folder;
static char file[300];

static int set_up(void **state)
{
    (void)state;
    folder = unit_folder();
    snprintf(file, sizeof file, "%s/lectern.ini", folder);
    setenv("HOME", folder, 1);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_DATA_HOME");
    unsetenv("XDG_RUNTIME_DIR");
    unsetenv("LECTERN_SOCKET");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unit_folder_remove(folder);
    return 0;
}

static void write_file(const char *text)
{
    assert_int_equal(file_write(file, slice_of(text), NULL), 0);
}

static void assert_source(const struct config *config, enum config_key key,
                          const char *expected)
{
    struct buf source = {0};
    config_put_source(config, key, &source);
    assert_string_equal(source.data, expected);
    buf_free(&source);
}

static void assert_place(const char *text, const char *expected)
{
    struct config config;
    struct buf line = {0}, path = {0};
    buf_printf(&line, "fleet_packs = %s\n", text);
    write_file(line.data);
    assert_int_equal(config_load(&config, file, NULL), 0);
    if (expected[0] == '/')
        buf_put_text(&path, folder);
    buf_put_text(&path, expected);
    assert_string_equal(config_text(&config, CONFIG_FLEET_PACKS), path.data);
    buf_free(&line);
    buf_free(&path);
    config_free(&config);
}

static void a_place_is_a_path_or_an_address(void **state)
{
    (void)state;
    assert_place("packs", "/packs");
    assert_place("~/packs", "/packs");
    assert_place("http://files/packs", "http://files/packs");
    assert_place("HTTPS://files/packs", "HTTPS://files/packs");
}

static void defaults_work_without_a_file(void **state)
{
    (void)state;
    struct config config;
    struct buf path = {0};
    assert_int_equal(config_load(&config, NULL, NULL), 0);
    assert_false(config.file_read);
    buf_printf(&path, "%s/.local/share/lectern", folder);
    assert_string_equal(config_text(&config, CONFIG_STORE), path.data);
    assert_non_null(
        strstr(config_text(&config, CONFIG_SOCKET), "/lectern.sock"));
    assert_non_null(
        strstr(config_text(&config, CONFIG_PARSER), "/lectern-parse"));
    assert_in_range(config_number(&config, CONFIG_PARSERS), 1, 8);
    assert_int_equal(config_number(&config, CONFIG_PARSE_SECONDS), 60);
    assert_int_equal(config_number(&config, CONFIG_PARSE_MEMORY_MB), 2048);
    assert_int_equal(config_log_level(&config), LOG_LEVEL_INFO);
    for (int i = 0; i < CONFIG_KEYS; i++)
        assert_source(&config, (enum config_key)i, "default");
    buf_free(&path);
    config_free(&config);
}

static void values_know_their_source(void **state)
{
    (void)state;
    struct config config;
    struct buf expected = {0};
    write_file(
        "# a comment\nstore = ~/kept\n[lectern]\n  parsers = 3\n"
        "  parser = sub/parse ; of ours\nlog=debug # much\n"
        "socket=/s/file\nmodel = none\t# by words\nanswer_model = /a#b\n");
    setenv("LECTERN_SOCKET", "/s/environment", 1);
    assert_int_equal(config_load(&config, file, NULL), 0);
    unsetenv("LECTERN_SOCKET");
    assert_true(config.file_read);
    buf_printf(&expected, "%s/kept", folder);
    assert_string_equal(config_text(&config, CONFIG_STORE), expected.data);
    buf_clear(&expected);
    buf_printf(&expected, "%s/sub/parse", folder);
    assert_string_equal(config_text(&config, CONFIG_PARSER), expected.data);
    assert_int_equal(config_number(&config, CONFIG_PARSERS), 3);
    assert_int_equal(config_log_level(&config), LOG_LEVEL_DEBUG);
    assert_string_equal(config_text(&config, CONFIG_SOCKET), "/s/environment");
    assert_source(&config, CONFIG_SOCKET, "environment");
    assert_string_equal(config_text(&config, CONFIG_MODEL), "none");
    assert_string_equal(config_text(&config, CONFIG_ANSWER_MODEL), "/a#b");
    buf_clear(&expected);
    buf_printf(&expected, "%s:4", file);
    assert_source(&config, CONFIG_PARSERS, expected.data);
    assert_int_equal(config_set(&config, CONFIG_PARSERS, "5", NULL), 0);
    assert_source(&config, CONFIG_PARSERS, "flag");
    assert_int_equal(config_number(&config, CONFIG_PARSERS), 5);
    assert_int_equal(config_set(&config, CONFIG_PARSERS, "0", NULL), ERR_USAGE);
    assert_int_equal(config_number(&config, CONFIG_PARSERS), 5);
    buf_free(&expected);
    config_free(&config);
}

/* There are none beside this program. */
static void models_that_are_not_there_are_none(void **state)
{
    (void)state;
    struct config config;
    write_file("watch = off\n");
    assert_int_equal(config_load(&config, file, NULL), 0);
    assert_string_equal(config_text(&config, CONFIG_MODEL), "none");
    assert_string_equal(config_text(&config, CONFIG_MEMORY_MODEL), "");
    assert_string_equal(config_model(&config, ROLE_MEMORIES), "");
    config_free(&config);
}

static void a_model_may_be_none(void **state)
{
    (void)state;
    struct config config;
    struct buf expected = {0};
    write_file("model = quill\naggregate = attention\nrecall = off\n"
               "segment_tokens = 32\n");
    assert_int_equal(config_load(&config, file, NULL), 0);
    buf_printf(&expected, "%s/quill", folder);
    assert_string_equal(config_model(&config, ROLE_MEMORIES), expected.data);
    assert_int_equal(config_choice(&config, CONFIG_AGGREGATE), 1);
    assert_int_equal(config_choice(&config, CONFIG_RECALL), 0);
    assert_int_equal(config_number(&config, CONFIG_SEGMENT_TOKENS), 32);
    assert_int_equal(config_choice(&config, CONFIG_WATCH), 0);
    assert_int_equal(config_number(&config, CONFIG_SWEEP_SECONDS), 300);
    assert_int_equal(config_number(&config, CONFIG_POLL_SECONDS), 30);
    assert_int_equal(config_set(&config, CONFIG_MODEL, "none", NULL), 0);
    assert_string_equal(config_text(&config, CONFIG_MODEL), "none");
    assert_string_equal(config_model(&config, ROLE_MEMORIES), "");
    buf_free(&expected);
    config_free(&config);
}

static void bad_files_are_refused_with_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"\nstroe = /x\n", ":2: unknown key 'stroe'; did you mean 'store'?"},
        {"[lectrn]\nstore=/x\n", ":1: unknown section [lectrn]"},
        {"[other]\n", ":1: unknown section [other]"},
        {"store = /x\nparsers = many\n", ":2: parsers must be a number"},
        {"parsers = 3x\n", ":1: parsers must be a number"},
        {"parse_seconds = 0\n", ":1: parse_seconds must be"},
        {"log = loud\n", ":1: log must be error, warn, info or debug"},
        {"aggregate = media\n", "must be mean or attention"},
        {"recall = child\n", "did you mean 'children'?"},
        {"segment_tokens = 31\n", "segment_tokens must be"},
        {"watch = always\n", "watch must be auto, inotify, poll or off"},
        {"sweep_seconds = 0\n", "sweep_seconds must be"},
        {"model =\n", "model has no value"},
        {"log = warning\n", "did you mean 'warn'?"},
        {"\n\nnonsense\n", ":3: not a line of the form"},
        {"store =\n", ":1: store has no value"},
        {"a = 1\nb = 2\n", ":1: unknown key 'a'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct err err = {0};
        write_file(cases[i].text);
        assert_int_equal(config_load(&config, file, &err), ERR_USAGE);
        if (!strstr(err.message, cases[i].part))
            fail_msg("'%s' is not in '%s'", cases[i].part, err.message);
        assert_string_equal(err.path, file);
    }
}

static void a_file_asked_for_must_be_there(void **state)
{
    (void)state;
    struct config config;
    struct err err = {0};
    assert_int_equal(config_load(&config, "/nowhere/x.ini", &err), ERR_USAGE);
    assert_non_null(strstr(err.message, "/nowhere/x.ini"));
}

static void long_lines_are_read_or_refused(void **state)
{
    (void)state;
    struct config config;
    struct err err = {0};
    struct buf text = {0};
    buf_put_text(&text, "log = debug\nstore = /");
    for (int i = 0; i < 3000; i++)
        buf_put_byte(&text, 'x');
    write_file(text.data);
    assert_int_equal(config_load(&config, file, NULL), 0);
    assert_int_equal(strlen(config_text(&config, CONFIG_STORE)), 3001);
    config_free(&config);
    for (int i = 0; i < 3000; i++)
        buf_put_byte(&text, 'x');
    write_file(text.data);
    assert_int_equal(config_load(&config, file, &err), ERR_USAGE);
    assert_non_null(strstr(err.message, ":2: line too long"));
    buf_free(&text);
}

static void sockets_have_a_place_and_a_limit(void **state)
{
    (void)state;
    struct buf path = {0};
    config_default_socket(&path);
    assert_non_null(strstr(path.data, "/tmp/lectern-"));
    buf_clear(&path);
    setenv("XDG_RUNTIME_DIR", "/run/user/1", 1);
    config_default_socket(&path);
    assert_string_equal(path.data, "/run/user/1/lectern/lectern.sock");
    while (path.size < PROTOCOL_MAX_PATH)
        buf_put_byte(&path, 'x');
    assert_int_equal(protocol_check_path(path.data, NULL), 0);
    buf_put_byte(&path, 'x');
    assert_int_equal(protocol_check_path(path.data, NULL), ERR_USAGE);
    assert_int_equal(protocol_check_path("", NULL), ERR_USAGE);
    buf_free(&path);
}

static void nearest_words_are_near(void **state)
{
    (void)state;
    static const struct {
        const char *typed, *found;
    } cases[] = {{"serach", "search"}, {"stat", "status"}, {"x", NULL},
                 {"openn", "open"},    {"zebra", NULL},    {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nearest nearest = suggest_nearest(cases[i].typed);
        nearest_try(&nearest, "search");
        nearest_try(&nearest, "status");
        nearest_try(&nearest, "open");
        if (cases[i].found)
            assert_string_equal(nearest.found, cases[i].found);
        else
            assert_null(nearest.found);
    }
}

static void check_written(const char *before, const char *value,
                          const char *after)
{
    struct config config;
    struct buf text = {0};
    struct err err = {0};
    if (before)
        write_file(before);
    else
        unlink(file);
    assert_int_equal(config_load(&config, before ? file : NULL, NULL), 0);
    free(config.file);
    config.file = strdup(file);
    if (config_write(&config, CONFIG_MODEL, value, &err))
        fail_msg("%s", err.message);
    config_free(&config);
    assert_int_equal(file_read(file, 4096, &text, NULL), 0);
    assert_string_equal(text.data, after);
    buf_free(&text);
}

static void values_are_written(void **state)
{
    (void)state;
    check_written(NULL, "/m", "model = /m\n");
    check_written("", "/m", "model = /m\n");
    check_written("# mine\nlog=debug", "none",
                  "# mine\nlog=debug\nmodel = none\n");
    check_written("model = /a ; old\n# mine\n[lectern]\n model=/b\nlog=debug\n",
                  "/m n",
                  "model = /a ; old\n# mine\n[lectern]\n"
                  "model = /m n\nlog=debug\n");
    check_written("model = /a", "/m", "model = /m\n");
}

/* Who may read it is its owner's to say. */
static void who_may_read_it_stays(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0644, 0660};
    struct stat st;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        write_file("model = /a\n");
        assert_int_equal(chmod(file, modes[i]), 0);
        struct config config;
        assert_int_equal(config_load(&config, file, NULL), 0);
        assert_int_equal(config_write(&config, CONFIG_MODEL, "/m", NULL), 0);
        config_free(&config);
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
    }
    unlink(file);
    check_written(NULL, "/m", "model = /m\n");
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* What stands beside the file is not written over, whatever it is called. */
static void a_file_beside_stays(void **state)
{
    (void)state;
    struct buf beside = {0}, text = {0};
    buf_printf(&beside, "%s.new", file);
    assert_int_equal(file_write(beside.data, slice_of("mine"), NULL), 0);
    check_written("model = /a\n", "/m", "model = /m\n");
    assert_int_equal(file_read(beside.data, 4096, &text, NULL), 0);
    assert_string_equal(text.data, "mine");
    unlink(beside.data);
    buf_free(&beside);
    buf_free(&text);
}

static void lines_that_came_meanwhile_stay(void **state)
{
    (void)state;
    struct config config;
    struct buf text = {0};
    write_file("log = debug\nmodel = /a\n");
    assert_int_equal(config_load(&config, file, NULL), 0);
    write_file("# mine\nlog = debug\nparsers = 2\nmodel = /b\n");
    assert_int_equal(config_write(&config, CONFIG_MODEL, "/m", NULL), 0);
    assert_int_equal(file_read(file, 4096, &text, NULL), 0);
    assert_string_equal(text.data,
                        "# mine\nlog = debug\nparsers = 2\nmodel = /m\n");
    config_free(&config);
    buf_free(&text);
}

static void what_would_not_be_read_is_not_written(void **state)
{
    (void)state;
    static const char before[] = "model = /a\n";
    static const char *const values[] = {"/m ; n", "/m # n", "/m\nlog = debug",
                                         "m"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct config config;
        struct buf text = {0};
        struct err err = {0};
        write_file(before);
        assert_int_equal(config_load(&config, file, NULL), 0);
        assert_int_equal(config_write(&config, CONFIG_MODEL, values[i], &err),
                         ERR_USAGE);
        assert_non_null(strstr(err.message, "cannot be written"));
        config_free(&config);
        assert_int_equal(file_read(file, 4096, &text, NULL), 0);
        assert_string_equal(text.data, before);
        buf_free(&text);
    }
    char path[400];
    snprintf(path, sizeof path, "%s.new", file);
    assert_true(access(path, F_OK) < 0);
}

static void devices_have_names_and_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum config_device device;
        unsigned number;
    } good[] = {{"cpu", DEVICE_CPU, 0},        {"auto", DEVICE_AUTO, 0},
                {"cuda", DEVICE_CUDA, 0},      {"cuda:0", DEVICE_CUDA, 0},
                {"cuda:12", DEVICE_CUDA, 12},  {"cuda:007", DEVICE_CUDA, 7},
                {"cuda:999", DEVICE_CUDA, 999}};
    static const char *const bad[] = {
        "",        "gpu",   "CUDA",  "cuda:",   "cuda:-1",
        "cuda:1 ", "cuda1", "cpu:0", "cuda:+1", "cuda:1000"};
    struct config config;
    struct err err = {0};
    unsigned number = 77;
    assert_int_equal(config_load(&config, NULL, NULL), 0);
    assert_int_equal(config_device(&config, &number), DEVICE_CPU);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(config_set(&config, CONFIG_DEVICE, good[i].text, NULL),
                         0);
        assert_int_equal(config_device(&config, &number), good[i].device);
        assert_int_equal(number, good[i].number);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (config_set(&config, CONFIG_DEVICE, bad[i], &err) != ERR_USAGE)
            fail_msg("'%s'", bad[i]);
        assert_non_null(strstr(err.message, "device"));
        assert_int_equal(config_device(&config, &number), DEVICE_CUDA);
        assert_int_equal(number, 999);
    }
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_place_is_a_path_or_an_address, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(devices_have_names_and_numbers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(defaults_work_without_a_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(values_know_their_source, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(models_that_are_not_there_are_none,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_model_may_be_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_refused_with_the_line,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_asked_for_must_be_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(long_lines_are_read_or_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sockets_have_a_place_and_a_limit,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_may_read_it_stays, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_beside_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_that_came_meanwhile_stay, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_would_not_be_read_is_not_written,
                                        set_up, tear_down),
        cmocka_unit_test(nearest_words_are_near),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
