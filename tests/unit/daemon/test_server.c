/* The daemon's parts that need no daemon: lines, requests, parameters, quotes,
 * the queue of the threads. */
#include "tests/unit/support/unit.h"

#include "daemon/net/line_reader.h"
#include "daemon/answer/quote.h"
#include "daemon/jobs/request.h"
#include "daemon/net/rpc.h"
#include "daemon/verbs/verbs.h"

/* ---- Lines ---- */

static void lines_come_whole_however_they_are_cut(void **state)
{
    (void)state;
    static const char input[] = "one\ntwo\r\n\n \t\r\nthree\nrest";
    static const char *const lines[] = {"one", "two\r", "three"};
    for (size_t piece = 1; piece < sizeof input; piece++) {
        struct line_reader line_reader = {0};
        struct slice line;
        size_t found = 0;
        for (size_t at = 0; at < sizeof input - 1; at += piece) {
            size_t size = sizeof input - 1 - at;
            line_reader_put(&line_reader, input + at,
                            size < piece ? size : piece);
            while (line_reader_next(&line_reader, 100, &line, NULL) == 1) {
                assert_true(found < 3);
                assert_true(slice_is(line, lines[found]));
                found++;
            }
        }
        assert_int_equal(found, 3);
        assert_int_equal(line_reader_rest(&line_reader), 4);
        line_reader_free(&line_reader);
    }
}

static void a_line_has_at_most_so_many_bytes(void **state)
{
    (void)state;
    struct line_reader line_reader = {0};
    struct slice line;
    struct err err;
    line_reader_put(&line_reader, "12345678\n", 9);
    assert_int_equal(line_reader_next(&line_reader, 8, &line, &err), 1);
    line_reader_put(&line_reader, "123456789\n", 10);
    assert_int_equal(line_reader_next(&line_reader, 8, &line, &err), ERR_LIMIT);
    line_reader_free(&line_reader);
    line_reader_put(&line_reader, "12345678", 8);
    assert_int_equal(line_reader_next(&line_reader, 8, &line, &err), 0);
    line_reader_put(&line_reader, "9", 1);
    assert_int_equal(line_reader_next(&line_reader, 8, &line, &err), ERR_LIMIT);
    line_reader_free(&line_reader);
    /* Blank lines count together, until another comes. */
    line_reader_put(&line_reader, "\n\n\n\n\n\n\n1\n\n \n\n\n\n\n\n", 16);
    assert_int_equal(line_reader_next(&line_reader, 8, &line, &err), 1);
    assert_int_equal(line_reader_next(&line_reader, 8, &line, &err), 0);
    line_reader_put(&line_reader, "\n\n", 2);
    assert_int_equal(line_reader_next(&line_reader, 8, &line, &err), ERR_LIMIT);
    line_reader_free(&line_reader);
}

/* ---- Requests ---- */

static int read_text(const char *text, struct rpc *rpc, cJSON **ret_message)
{
    assert_int_equal(json_parse(slice_of(text), ret_message, NULL), 0);
    return rpc_read(*ret_message, rpc, NULL);
}

static void what_is_no_request_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "[]",
        "1",
        "{}",
        "{\"method\":1}",
        "{\"method\":\"a\",\"params\":[]}",
        "{\"method\":\"a\",\"id\":{}}",
        "{\"method\":\"a\",\"id\":true}",
        "{\"method\":\"a\",\"jsonrpc\":\"1.0\"}",
        "{\"method\":\"a\",\"jsonrpc\":2}"};
    struct rpc rpc;
    cJSON *message;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(read_text(wrong[i], &rpc, &message),
                         RPC_NOT_A_REQUEST);
        cJSON_Delete(message);
    }
    assert_int_equal(read_text("{\"method\":\"a\",\"id\":null,\"params\":null}",
                               &rpc, &message),
                     0);
    assert_null(rpc.id);
    assert_null(rpc.params);
    cJSON_Delete(message);
}

static void answers_carry_the_id(void **state)
{
    (void)state;
    struct rpc rpc;
    cJSON *message;
    struct buf line = {0};
    struct err err;
    assert_int_equal(
        read_text("{\"method\":\"a\",\"id\":\"x\\\"\"}", &rpc, &message), 0);
    rpc_put_result(&line, rpc.id, slice_of("[1]"));
    assert_string_equal(line.data, "{\"jsonrpc\":\"2.0\",\"id\":\"x\\\"\","
                                   "\"result\":[1]}\n");
    cJSON_Delete(message);
    buf_clear(&line);
    err_set(&err, ERR_STORE, "full");
    err_at(&err, "/a");
    rpc_put_error(&line, NULL, &err);
    assert_string_equal(line.data,
                        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{"
                        "\"code\":-8,\"message\":\"full\",\"data\":{"
                        "\"code\":\"store\",\"message\":\"full\","
                        "\"path\":\"/a\"}}}\n");
    buf_free(&line);
}

/* ---- Parameters ---- */

static int check(const char *name, const char *params, struct err *err)
{
    cJSON *value;
    const struct verb *verb = verb_find(name);
    assert_non_null(verb);
    assert_int_equal(json_parse(slice_of(params), &value, NULL), 0);
    int code = verb_check(verb, value, err);
    cJSON_Delete(value);
    return code;
}

static void parameters_are_checked(void **state)
{
    (void)state;
    struct err err;
    static const struct {
        const char *verb, *params, *message;
    } wrong[] = {
        {"search", "{}", "search needs the parameter 'query'"},
        {"search", "{\"query\":null}", "query must be a string"},
        {"search", "{\"query\":\"a\",\"n\":0}",
         "n must be a whole number from 1 to 1000"},
        {"search", "{\"query\":\"a\",\"n\":1.5}",
         "n must be a whole number from 1 to 1000"},
        {"search", "{\"query\":\"a\",\"n\":1e300}",
         "n must be a whole number from 1 to 1000"},
        {"search", "{\"query\":\"a\",\"explain\":1}",
         "explain must be true or false"},
        {"search", "{\"query\":\"a\",\"manul\":\"b\"}",
         "search takes no parameter 'manul'; did you mean 'manual'?"},
        {"add", "{\"dir\":\"/\",\"ignore\":[\"a\",1]}",
         "ignore must be an array of strings"},
        {"status", "{\"a\":1}", "status takes no parameter 'a'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(check(wrong[i].verb, wrong[i].params, &err),
                         ERR_USAGE);
        assert_string_equal(err.message, wrong[i].message);
    }
    assert_int_equal(check("search",
                           "{\"query\":\"a\",\"n\":1000,"
                           "\"manual\":null}",
                           &err),
                     0);
    assert_int_equal(verb_check(verb_find("ls"), NULL, &err), 0);
    assert_null(verb_find("nothing"));
    assert_null(verb_find(""));
}

/* ---- Quotes ---- */

/* `source` and the text it reads, byte i of which is from places[i]. */
static struct slice find(const char *source, const char *text,
                         const struct text_place *places, const char *wanted)
{
    struct span span;
    if (!quote_find(slice_of(text), places, slice_of(wanted), &span))
        return (struct slice){"", 0};
    assert_true(span.from < span.to && span.to <= strlen(source));
    return (struct slice){source + span.from, span.to - span.from};
}

static void a_quote_spans_its_own_characters(void **state)
{
    (void)state;
    static const char source[] = "Use <b>A&amp;</b> \xC3\xA9t\xC3\xA9 &lt";
    static const char text[] = "Use A& \xC3\xA9t\xC3\xA9 <";
    static const struct text_place places[] = {
        {0, 1},   {1, 2},   {2, 3},   {3, 4},   {7, 8},   {8, 13},  {17, 18},
        {18, 20}, {18, 20}, {20, 21}, {21, 23}, {21, 23}, {23, 24}, {24, 27}};
    assert_int_equal(sizeof places / sizeof places[0], sizeof text - 1);
    assert_true(slice_is(find(source, text, places, "Use A"), "Use <b>A"));
    assert_true(slice_is(find(source, text, places, "A&"), "A&amp;"));
    assert_true(slice_is(find(source, text, places, "\xC3\xA9t\xC3\xA9"),
                         "\xC3\xA9t\xC3\xA9"));
    assert_true(
        slice_is(find(source, text, places, "t\xC3\xA9 <"), "t\xC3\xA9 &lt"));
    assert_true(slice_is(find(source, text, places, "Use  A"), ""));
    assert_true(slice_is(find(source, text, places, "UseA"), ""));
    assert_true(slice_is(find(source, text, places, ""), ""));
}

static void a_space_matches_any_white_space(void **state)
{
    (void)state;
    static const char source[] = "a\n \xC2\xA0"
                                 "b  c";
    struct text_place places[sizeof source];
    for (uint32_t i = 0; i < sizeof source; i++)
        places[i] = (struct text_place){i, i + 1};
    assert_true(slice_is(find(source, source, places, "a b c"), source));
    assert_true(slice_is(find(source, source, places, "b c d"), ""));
}

/* ---- Queues and the response queue ---- */

static int wakes;

static void count_wake(void *context)
{
    (void)context;
    wakes++;
}

static struct request *request_of(const char *text)
{
    struct rpc rpc;
    cJSON *message;
    assert_int_equal(read_text(text, &rpc, &message), 0);
    return request_new(message, &rpc, verb_find(rpc.method));
}

static void queues_keep_their_order(void **state)
{
    (void)state;
    struct requests queue = {0};
    struct request *r[4];
    assert_null(requests_take(&queue));
    for (int i = 0; i < 4; i++)
        requests_put(&queue, r[i] = request_of("{\"method\":\"ls\"}"));
    assert_true(requests_remove(&queue, r[3]));
    assert_false(requests_remove(&queue, r[3]));
    assert_true(requests_remove(&queue, r[1]));
    requests_put(&queue, r[3]);
    assert_ptr_equal(requests_take(&queue), r[0]);
    assert_ptr_equal(requests_take(&queue), r[2]);
    assert_ptr_equal(requests_take(&queue), r[3]);
    assert_null(requests_take(&queue));
    requests_put(&queue, r[0]);
    assert_ptr_equal(requests_take(&queue), r[0]);
    for (int i = 0; i < 4; i++)
        request_free(r[i]);
}

static void clients_take_turns(void **state)
{
    (void)state;
    /* Only their addresses count. */
    struct client *greedy = (struct client *)state,
                  *other = (struct client *)(state + 1);
    struct requests queue = {0};
    struct request *r[6];
    for (size_t i = 0; i < 6; i++) {
        r[i] = request_of("{\"method\":\"ls\"}");
        r[i]->client = i < 4 ? greedy : other;
    }
    for (size_t i = 0; i < 4; i++)
        requests_put(&queue, r[i]);
    assert_ptr_equal(requests_take(&queue), r[0]);
    requests_put(&queue, r[4]);
    requests_put(&queue, r[5]);
    static const size_t order[] = {4, 1, 5, 2, 3};
    for (size_t i = 0; i < 5; i++)
        assert_ptr_equal(requests_take(&queue), r[order[i]]);
    assert_null(requests_take(&queue));
    for (size_t i = 0; i < 6; i++)
        request_free(r[i]);
}

/* A client that does not read waits, and so does the second of what one may have at
 * work once; others go on. */
static void who_does_not_read_waits(void **state)
{
    (void)state;
    struct requests queue = {.max_running = 1, .pool = VERB_QUERY};
    struct response_queue *response_queue =
        response_queue_new(count_wake, NULL);
    struct peer *slow = peer_new(), *other = peer_new();
    struct request *r[5];
    struct buf large = {0};
    for (size_t i = 0; i < 5; i++) {
        r[i] = request_of("{\"method\":\"toc\",\"id\":1}");
        r[i]->peer = peer_ref(i < 3 ? slow : other);
        r[i]->client =
            (struct client *)r[i]->peer; /* only its address counts */
        requests_put(&queue, r[i]);
    }
    buf_reserve(&large, REQUESTS_MAX_UNREAD + 2);
    memset(large.data, '1', REQUESTS_MAX_UNREAD);
    large.size = REQUESTS_MAX_UNREAD;
    assert_ptr_equal(requests_take(&queue), r[0]);
    assert_ptr_equal(requests_take(&queue), r[3]);
    assert_null(requests_take(&queue)); /* one of each is at work */
    requests_done(&queue, slow);
    request_answer(response_queue, r[0], 0, buf_slice(&large), NULL);
    assert_true(atomic_load(&slow->unread) > REQUESTS_MAX_UNREAD);
    assert_null(requests_take(&queue)); /* its answer lies there unread */
    requests_done(&queue, other);
    assert_ptr_equal(requests_take(&queue), r[4]);
    atomic_store(&r[1]->cancelled, true);
    assert_ptr_equal(requests_take(&queue), r[1]); /* nobody wants it */
    requests_done(&queue, slow);
    assert_null(requests_take(&queue));
    atomic_store(&slow->unread, 0);
    assert_ptr_equal(requests_take(&queue), r[2]);
    response_queue_free(response_queue);
    for (size_t i = 1; i < 5; i++)
        request_free(r[i]);
    peer_unref(slow);
    peer_unref(other);
    buf_free(&large);
}

static void the_outbox_keeps_its_order(void **state)
{
    (void)state;
    wakes = 0;
    struct err err;
    struct response_queue *response_queue =
        response_queue_new(count_wake, NULL);
    struct request *a = request_of("{\"method\":\"ls\",\"id\":1}");
    struct request *b = request_of("{\"method\":\"ls\",\"id\":2}");
    struct request *quiet = request_of("{\"method\":\"ls\"}");
    request_notify(response_queue, a, "progress", slice_of("{}"));
    request_answer(response_queue, a, 0, slice_of("7"), NULL);
    request_answer(response_queue, b, err_set(&err, ERR_CANCELLED, "x"),
                   slice_of("7"), &err);
    request_answer(response_queue, quiet, 0, slice_of("7"), NULL);
    assert_int_equal(wakes, 4);
    static const char *const expected[] = {"\"progress\"", "\"result\":7",
                                           "\"code\":\"cancelled\"", NULL};
    struct response *response = response_queue_take(response_queue);
    for (int i = 0; i < 4; i++) {
        assert_non_null(response);
        struct response *next = response->next;
        assert_int_equal(response->last, i > 0);
        if (expected[i])
            assert_non_null(strstr(response->line.data, expected[i]));
        else
            assert_int_equal(response->line.size, 0);
        if (response->last)
            request_free(response->request);
        response_free(response);
        response = next;
    }
    assert_null(response);
    assert_null(response_queue_take(response_queue));
    response_queue_free(response_queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_come_whole_however_they_are_cut),
        cmocka_unit_test(a_line_has_at_most_so_many_bytes),
        cmocka_unit_test(what_is_no_request_is_refused),
        cmocka_unit_test(answers_carry_the_id),
        cmocka_unit_test(parameters_are_checked),
        cmocka_unit_test(a_quote_spans_its_own_characters),
        cmocka_unit_test(a_space_matches_any_white_space),
        cmocka_unit_test(queues_keep_their_order),
        cmocka_unit_test(clients_take_turns),
        cmocka_unit_test(who_does_not_read_waits),
        cmocka_unit_test(the_outbox_keeps_its_order),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
