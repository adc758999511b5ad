/* Readers that are asked for what is not held here: their names, their nodes, and what
 * becomes of their results. */
#include "daemon/fleet/merge_results.h"
#include "tests/unit/support/unit.h"

static void names_are_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "big",
        "big=",
        "big=relative",
        "=/a",
        "b g=/a",
        "a=/x a=/y",
        "a234567890123456789012345678901234567890=/a",
        "a=/x b=/x c=/x d=/x e=/x f=/x g=/x h=/x i=/x"};
    struct other_readers *readers = NULL;
    struct err err;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(other_readers_open(wrong[i], &readers, &err),
                         ERR_USAGE);
    assert_null(readers);
    assert_int_equal(other_readers_open(" , ", &readers, &err), 0);
    assert_null(readers);
    assert_int_equal(other_readers_open("big=/run/a b.sock", &readers, &err),
                     ERR_USAGE);
    assert_int_equal(
        other_readers_open("big=/run/a.sock, the-2=/run/b", &readers, &err), 0);
    assert_int_equal(readers->count, 2);
    assert_string_equal(readers->items[0].path, "/run/a.sock");
    assert_string_equal(readers->items[1].name, "the-2");
    other_readers_free(readers);
}

static cJSON *parse(const char *text)
{
    cJSON *value;
    assert_int_equal(json_parse(slice_of(text), &value, NULL), 0);
    return value;
}

static void assert_json(cJSON *value, const char *expected)
{
    char *text = cJSON_PrintUnformatted(value);
    assert_string_equal(text, expected);
    cJSON_free(text);
    cJSON_Delete(value);
}

static void nodes_are_marked(void **state)
{
    (void)state;
    struct other_readers *readers;
    struct other_reader *of;
    size_t size;
    struct err err;
    assert_int_equal(other_readers_open("far=/a", &readers, &err), 0);
    cJSON *value =
        parse("{\"id\":\"n1\",\"path_nodes\":[\"n1\",\"n2\"],\"title\":\"n3\","
              "\"refs\":[{\"node\":null},{\"node\":\"n4\"}],\"children\":[{"
              "\"id\":\"\"}]}");
    other_reader_mark(&readers->items[0], value);
    assert_json(
        value,
        "{\"id\":\"n1@far\",\"path_nodes\":[\"n1@far\",\"n2@far\"],"
        "\"title\":\"n3\",\"refs\":[{\"node\":null},{\"node\":\"n4@far\"}],"
        "\"children\":[{\"id\":\"\"}]}");
    assert_int_equal(other_readers_of_node(readers, "n4@far", &of, &size, &err),
                     0);
    assert_ptr_equal(of, &readers->items[0]);
    assert_int_equal(size, 2);
    assert_int_equal(other_readers_of_node(readers, "n4", &of, &size, &err), 0);
    assert_null(of);
    assert_int_equal(other_readers_of_node(readers, "n4@x", &of, &size, &err),
                     ERR_USAGE);
    assert_int_equal(other_readers_of_node(NULL, "n4@far", &of, &size, &err),
                     ERR_USAGE);
    other_readers_free(readers);
}

static bool holds(void *context, const char *manual)
{
    return !strcmp(manual, context);
}

static void results_are_merged_by_confidence_and_rank(void **state)
{
    (void)state;
    struct other_readers *readers;
    struct err err;
    char held[] = "a";
    assert_int_equal(other_readers_open("x=/x y=/y z=/z", &readers, &err), 0);
    struct reader_answer answers[3] = {
        {.reader = &readers->items[0],
         .result =
             parse("{\"confidence\":0.9,\"confident\":true,\"searched\":2,"
                   "\"away\":true,\"results\":[{\"manual\":\"a\"},"
                   "{\"manual\":\"b\",\"node\":\"1\",\"reader\":\"z\"},{"
                   "\"manual\":\"b\","
                   "\"node\":\"2\"}]}")},
        {.reader = &readers->items[1],
         .result = parse("{\"confidence\":0.2,\"searched\":1,\"fresh\":false,"
                         "\"results\":[{\"manual\":\"b\",\"node\":\"3\"},"
                         "{\"manual\":\"c\"}]}")},
        {.reader = &readers->items[2], .err = {.message = "gone"}}};
    cJSON *result =
        parse("{\"confidence\":0.4,\"searched\":1,\"fresh\":true,\"results\":["
              "{\"manual\":\"a\",\"node\":\"4\"},{\"manual\":\"a\",\"node\":"
              "\"5\"}]}");
    /* .9 / 2, .4 / 1, .9 / 3, .4 / 2 */
    merge_results(result, answers, 3, 3, holds, held);
    assert_json(
        result,
        "{\"confidence\":0.9,\"searched\":4,\"fresh\":false,\"results\":["
        "{\"manual\":\"b\",\"node\":\"1\",\"reader\":\"x\"},"
        "{\"manual\":\"a\",\"node\":\"4\"},"
        "{\"manual\":\"b\",\"node\":\"2\",\"reader\":\"x\"}],"
        "\"confident\":true,\"complete\":false,\"away\":true,\"readers\":["
        "{\"name\":\"x\",\"searched\":2},{\"name\":\"y\",\"searched\":1},"
        "{\"name\":\"z\",\"problem\":\"gone\"}]}");
    for (size_t i = 0; i < 3; i++)
        cJSON_Delete(answers[i].result);
    other_readers_free(readers);
}

/* What is said of oneself twice, of too much, or beyond what there is. */
static void answers_are_bounded_and_labelled(void **state)
{
    (void)state;
    struct other_readers *readers;
    struct err err;
    char held[] = "a";
    assert_int_equal(other_readers_open("x=/x", &readers, &err), 0);
    struct reader_answer answer = {
        .reader = &readers->items[0],
        .result = parse("{\"confidence\":1e999,\"results\":["
                        "{\"manual\":\"b\",\"reader\":\"y\",\"reader\":\"z\","
                        "\"manual\":\"a\"},"
                        "{\"manual\":\"a\"},{\"manual\":\"c\"}]}")};
    cJSON *result = parse("{\"confidence\":-3,\"results\":[]}");
    merge_results(result, &answer, 1, 2, holds, held);
    assert_json(result, "{\"confidence\":1,\"results\":["
                        "{\"manual\":\"b\",\"reader\":\"x\"}],\"searched\":0,"
                        "\"confident\":false,\"fresh\":true,\"complete\":true,"
                        "\"readers\":[{\"name\":\"x\",\"searched\":0}]}");
    cJSON_Delete(answer.result);
    cJSON *cited = parse("{\"reader\":\"y\",\"reader\":\"z\",\"confidence\":7,"
                         "\"citations\":[7,{\"reader\":1,\"reader\":2}],"
                         "\"citations\":[{\"manual\":\"a\"}],"
                         "\"card\":{\"manual\":\"b\",\"manual\":\"a\"},"
                         "\"card\":{\"manual\":\"a\"}}");
    merge_label(cited, answer.reader);
    assert_json(cited, "{\"confidence\":1,\"citations\":[7,{\"reader\":\"x\"}],"
                       "\"card\":{\"manual\":\"b\"},"
                       "\"reader\":\"x\"}");
    other_readers_free(readers);
}

static void assert_joined(const char *own, const char *other,
                          const char *expected)
{
    struct other_reader reader = {.name = "x"};
    struct reader_answer answer = {&reader, .result = parse(other)};
    cJSON *result = parse(own), *kept = cJSON_CreateObject(), *one;
    char held[] = "a";
    merge_results(result, &answer, 1, 10, holds, held);
    static const char *const members[] = {"fresh", "behind", "nowhere"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if ((one = cJSON_DetachItemFromObjectCaseSensitive(result, members[i])))
            cJSON_AddItemToObject(kept, members[i], one);
    assert_json(kept, expected);
    cJSON_Delete(result);
    cJSON_Delete(answer.result);
}

static void what_all_say_is_joined(void **state)
{
    (void)state;
    assert_joined("{}", "{\"fresh\":false,\"behind\":9}",
                  "{\"fresh\":false,\"behind\":9}");
    assert_joined("{\"fresh\":false,\"behind\":10}",
                  "{\"fresh\":false,\"behind\":9}",
                  "{\"fresh\":false,\"behind\":10}");
    assert_joined("{}", "{\"fresh\":false,\"behind\":null}",
                  "{\"fresh\":false,\"behind\":null}");
    assert_joined("{}", "{\"fresh\":true,\"behind\":9}", "{\"fresh\":true}");
    assert_joined("{\"nowhere\":[\"p\",\"q\"]}", "{\"nowhere\":[1,\"q\"]}",
                  "{\"fresh\":true,\"nowhere\":[\"q\"]}");
    assert_joined("{\"nowhere\":[\"p\"]}", "{}", "{\"fresh\":true}");
    assert_joined("{}", "{\"nowhere\":[\"p\"]}", "{\"fresh\":true}");
}

/* What another process says is not believed to be of any form. */
static void answers_of_another_form_do_no_harm(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "{}", "{\"results\":7}", "{\"results\":[1,null,[],{}]}",
        "{\"results\":{\"a\":{\"manual\":7}},\"confidence\":\"x\"}",
        "{\"searched\":[],\"fresh\":1,\"node\":{\"id\":[{\"node\":5}]}}"};
    struct other_readers *readers;
    struct err err;
    char held[] = "a";
    assert_int_equal(other_readers_open("x=/x", &readers, &err), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct reader_answer answer = {.reader = &readers->items[0],
                                       .result = parse(wrong[i])};
        cJSON *result = parse("{\"results\":[]}");
        other_reader_mark(answer.reader, answer.result);
        merge_results(result, &answer, 1, 10, holds, held);
        char *text = cJSON_PrintUnformatted(result);
        assert_non_null(text);
        cJSON_free(text);
        cJSON_Delete(result);
        cJSON_Delete(answer.result);
    }
    other_readers_free(readers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(nodes_are_marked),
        cmocka_unit_test(results_are_merged_by_confidence_and_rank),
        cmocka_unit_test(answers_are_bounded_and_labelled),
        cmocka_unit_test(what_all_say_is_joined),
        cmocka_unit_test(answers_of_another_form_do_no_harm),
    };
    return cmocka_run_group_tests_name("other_readers", tests, NULL, NULL);
}
