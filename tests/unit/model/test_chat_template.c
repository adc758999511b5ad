#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/chat/chat_template.h"

#define GOLDEN "tests/golden/chat/"

enum { MAX_MESSAGES = 16, MAX_FLAGS = 4 };

/* 9 July 2024, 08:05:03, a Tuesday: as in tests/experiments/model/make_chats.py. */
static const struct tm now = {.tm_sec = 3,
                              .tm_min = 5,
                              .tm_hour = 8,
                              .tm_mday = 9,
                              .tm_mon = 6,
                              .tm_year = 124,
                              .tm_wday = 2,
                              .tm_yday = 190};

static void read_file(const char *path, struct buf *text)
{
    struct err err = {0};
    if (file_read(path, 4 << 20, text, &err))
        fail_msg("%s: %s", path, err.message);
}

/* Opens and renders; the code of what fails. */
static int render(struct slice text, const struct chat_input *input,
                  struct buf *out, struct err *err)
{
    struct chat_template *opened = NULL;
    int rc = chat_template_open(text, &opened, err);
    if (!rc)
        rc = chat_template_render(opened, input, out, err);
    chat_template_close(opened);
    return rc;
}

/* ---- Against Jinja2 (tests/experiments/model/make_chats.py) ---- */

struct conversation {
    struct chat_message messages[MAX_MESSAGES];
    struct chat_flag flags[MAX_FLAGS];
    struct chat_input input;
};

static void read_conversation(const cJSON *messages, const cJSON *rendering,
                              struct conversation *ret)
{
    const cJSON *one, *flags = cJSON_GetObjectItem(rendering, "flags");
    size_t count = 0, flag_count = 0;
    cJSON_ArrayForEach (one, messages) {
        assert_true(count < MAX_MESSAGES);
        ret->messages[count++] = (struct chat_message){
            slice_of(json_get_text(one, "role", NULL)),
            slice_of(json_get_text(one, "content", NULL))};
    }
    cJSON_ArrayForEach (one, flags) {
        assert_true(flag_count < MAX_FLAGS);
        ret->flags[flag_count++] =
            (struct chat_flag){one->string, cJSON_IsTrue(one)};
    }
    ret->input =
        (struct chat_input){.messages = ret->messages,
                            .message_count = count,
                            .flags = ret->flags,
                            .flag_count = flag_count,
                            .bos_token = "<s>",
                            .eos_token = "</s>",
                            .add_generation_prompt = json_get_bool(
                                rendering, "add_generation_prompt", false),
                            .now = &now};
}

static void check_rendering(const char *name, struct slice text,
                            const cJSON *conversations, const cJSON *rendering)
{
    const char *which = json_get_text(rendering, "conversation", "");
    const char *want = json_get_text(rendering, "output", NULL);
    struct conversation conversation;
    struct buf out = {0};
    struct err err = {0};
    read_conversation(cJSON_GetObjectItem(conversations, which), rendering,
                      &conversation);
    int rc = render(text, &conversation.input, &out, &err);
    if (want && rc)
        fail_msg("%s, %s: %s", name, which, err.message);
    if (want && !slice_is(buf_slice(&out), want))
        fail_msg("%s, %s:\n%s\ninstead of\n%s", name, which,
                 buf_slice(&out).data, want);
    if (!want && !rc)
        fail_msg("%s, %s: rendered what Jinja2 does not", name, which);
    assert_true(!rc || (strstr(err.message, "line ") && !out.size));
    buf_free(&out);
}

static size_t check_case(const cJSON *conversations, const cJSON *one)
{
    const char *name = json_get_text(one, "template", "");
    const cJSON *rendering;
    struct buf text = {0};
    char path[256];
    size_t count = 0, size = strlen(name);
    if (size > 6 && !strcmp(name + size - 6, ".jinja")) {
        snprintf(path, sizeof path, GOLDEN "%s", name);
        read_file(path, &text);
    } else {
        buf_put_text(&text, name);
    }
    cJSON_ArrayForEach (rendering, cJSON_GetObjectItem(one, "renderings")) {
        check_rendering(name, buf_slice(&text), conversations, rendering);
        count++;
    }
    buf_free(&text);
    return count;
}

static void renders_as_jinja2(void **state)
{
    (void)state;
    struct buf text = {0};
    struct err err = {0};
    cJSON *root = NULL;
    const cJSON *one;
    size_t count = 0;
    read_file(GOLDEN "rendered.json", &text);
    assert_int_equal(json_parse(buf_slice(&text), &root, &err), 0);
    cJSON_ArrayForEach (one, cJSON_GetObjectItem(root, "cases"))
        count += check_case(cJSON_GetObjectItem(root, "conversations"), one);
    assert_true(count > 800);
    cJSON_Delete(root);
    buf_free(&text);
}

/* ---- What is refused, by name and line ---- */

static void check_failure(const char *text, int code, const char *message)
{
    struct chat_input input = {.now = &now};
    struct buf out = {0};
    struct err err = {0};
    int rc = render(slice_of(text), &input, &out, &err);
    if (rc != code || !strstr(err.message, message))
        fail_msg("%s: %d, %s", text, rc, err.message);
    assert_int_equal(out.size, 0);
    buf_free(&out);
}

static void names_what_it_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a\nb\n{% include 'x' %}", "line 3: the statement 'include' is not"},
        {"{% extends 'x' %}", "the statement 'extends'"},
        {"\n{{ 1 | urlize }}", "line 2: the filter 'urlize' is not supported"},
        {"{{ [1] | map('urlize') | list }}", "the filter 'urlize'"},
        {"{{ 1 is filter }}", "the test 'filter'"},
        {"{{ 'a'.zfill(3) }}", "the method 'zfill'"},
        {"{{ '{}'.format(1) }}", "the method 'format'"},
        {"{{ '%s' % 1 }}", "formatting a string by %"},
        {"{{ joiner() }}", "the function 'joiner'"},
        {"{% for x in [] recursive %}{% endfor %}", "a recursive loop"},
        {"{% for x in [1] %}{{ loop.cycle(1) }}{% endfor %}", "loop.cycle"},
        {"{% macro m() %}{{ varargs }}{% endmacro %}", "varargs in a macro"},
        {"{{ range(*[1]) }}", "arguments by * or **"},
        {"{{ 'stra\u00dfe' | upper }}", "the case of U+00DF"},
        {"{{ strftime_now('%s') }}", "the format '%s' of a date"},
        {"{{ range(3) }}", "printing a range"},
        {"{{ 9 ** 99 }}", "an integer beyond 64 bits"},
        {"{{ 9999999999999999999 }}", "an integer beyond 64 bits"},
        {"{{ 'a'|safe + '<' }}", "calculating with a safe string"},
        {"{{ ['a'|safe|upper] }}", "printing a safe string within"},
        {"{{ [1] | tojson(sort_keys=true) }}", "tojson with more than"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_failure(cases[i].text, ERR_MODEL, cases[i].message);
    check_failure("a\n{{ raise_exception('only two') }}", ERR_USAGE,
                  "line 2: it refuses the conversation: only two");
    check_failure("{{ \xFF }}", ERR_FORMAT, "not UTF-8");
}

/* ---- Budgets ---- */

static void put_times(struct buf *text, const char *piece, size_t times)
{
    while (times--)
        buf_put_text(text, piece);
}

/* `before`, so many `opens`, what is within, so many `closes`, `after`. */
static void check_nested(const char *before, const char *opens,
                         const char *closes, const char *after)
{
    struct buf text = {0};
    buf_put_text(&text, before);
    put_times(&text, opens, 5000);
    buf_put_text(&text, "1");
    put_times(&text, closes, 5000);
    buf_put_text(&text, after);
    check_failure(buf_slice(&text).data,
                  *opens == '(' || *opens == '[' ? ERR_FORMAT : ERR_LIMIT,
                  "too deeply");
    buf_free(&text);
}

static void stops_what_does_not_end(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}"
         "{% endfor %}",
         "its values take more than 64 MiB"},
        {"{{ 'x' * 10000000000 }}", "it does not end within"},
        {"{{ 'x' * 99999 * 10000000000 }}", "a text grows beyond"},
        {"{{ [1] * 10000000000 }}", "line 1"},
        {"{{ range(10 ** 18) }}", "more than 100000"},
        {"{% macro f() %}{{ f() }}{% endmacro %}\n{{ f() }}", "too deeply"},
        {"{% set n = namespace(x=[]) %}{% for i in range(9999) %}"
         "{% set n.x = [n.x] %}{% endfor %}{{ n.x }}",
         "too deeply"},
        {"{% set n = namespace(x=[1]) %}{% for i in range(99) %}"
         "{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == [n.x[0], n.x[0]] }}",
         "it does not end within"},
        {"{% set n = namespace(x='a') %}{% for i in range(99) %}"
         "{% set n.x = n.x ~ n.x %}{% endfor %}",
         "MiB"},
        {"{% set x = 'x' * 99999 %}{% for i in range(999) %}{{ x }}{% endfor "
         "%}",
         "a text grows beyond"},
        {"{{ 'a' | indent(10 ** 12, true) }}", "a text grows beyond"},
        {"{{ ('a' * 999 * 999).strip('b' * 999 * 999 ~ 'a') }}",
         "it does not end within"},
        {"{{ ('a' * 999 * 999) | trim('b' * 999 * 999 ~ 'a') }}",
         "it does not end within"},
        {"{{ ('a' * 999 * 9999).rfind('a' * 999 * 4999 ~ 'b') }}",
         "it does not end within"},
        {"{{ range(99999) | unique | list }}", "it does not end within"},
        {"{% set s = 'a' * 999 * 9999 %}{% for i in range(9999) %}"
         "{% set t = s.split() + s.splitlines() + s.split('b') %}{% endfor %}",
         "it does not end within"},
        {"{% set s = 'a' * 999 * 9999 %}{% for i in range(99999) %}"
         "{% set t = s.startswith(s) and s.strip('a') %}{% endfor %}",
         "it does not end within"},
        {"{{ ('a' * 99999).replace('', 'b' * 9999) }}", "MiB"},
        {"{% set l = [''] * 400000 %}{% for i in range(99) %}"
         "{% set t = ''.join(l) %}{% endfor %}",
         "it does not end within"},
        {"{% set l = [''] * 400000 %}{% for i in range(99) %}"
         "{% set t = l | join %}{% endfor %}",
         "it does not end within"},
        {"{% set l = [0] * 400000 %}{% for i in range(99) %}"
         "{% set t = l | sum %}{% endfor %}",
         "it does not end within"},
        {"{% set l = [0] * 400000 %}{% for i in range(99) %}"
         "{% set t = l | select %}{% endfor %}",
         "it does not end within"},
        {"{% set l = (0,) * 400000 %}{% for i in range(99) %}"
         "{% set t = {}.get(l) %}{% endfor %}",
         "it does not end within"},
        {"{{ (['x'] * 99) | map(attribute='0.' * 999 * 999 ~ '0') | list }}",
         "it does not end within"},
        {"{{ [[1]] | tojson(indent=10 ** 12) ~ [1] * 10 ** 12 }}", "line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_failure(cases[i][0], ERR_LIMIT, cases[i][1]);
    check_nested("", "{% if 1 %}", "{% endif %}", "");
    check_nested("", "{% for x in [1] %}", "{% endfor %}", "");
    check_nested("{{ ", "(", ")", " }}");
    check_nested("{{ ", "[", "]", " }}");
    check_nested("{{ ", "not ", "", " }}");
    check_nested("{{ ", "-", "", " }}");
    check_nested("{{ ", "1 + ", "", " }}");
    check_nested("{{ ", "1 if 1 else ", "", " }}");
    check_nested("{{ ", "", "|abs", " }}");
}

/* Blanks one after the other are looked at once each, not each with all that follow. */
static void a_title_takes_no_longer_than_it_is(void **state)
{
    (void)state;
    enum { BLANKS = 400 * 1000 };
    const double max_seconds = 2;
    const struct chat_input input = {.messages = NULL};
    struct buf out = {0};
    struct err err = {0};
    double start = unit_seconds();
    if (render(slice_of("{{ ('a' ~ ' ' * 1000 * 400 ~ 'b') | title }}"), &input,
               &out, &err))
        fail_msg("%s", err.message);
    assert_true(unit_seconds() - start < max_seconds);
    assert_int_equal(out.size, BLANKS + 2);
    assert_int_equal(out.data[0], 'A');
    assert_int_equal(out.data[BLANKS + 1], 'B');
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renders_as_jinja2),
        cmocka_unit_test(names_what_it_refuses),
        cmocka_unit_test(stops_what_does_not_end),
        cmocka_unit_test(a_title_takes_no_longer_than_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
