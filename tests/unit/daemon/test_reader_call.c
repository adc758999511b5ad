/* Calls of another daemon, with a thread at the other end that does what none should. */
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/fleet/with_others.h"
#include "tests/unit/support/unit.h"

enum { LONG = 30000, SHORT = 100, MANY = 1 << 20 };

struct peer_thread {
    char path[300];
    int listener;
    void (*act)(int fd);
    pthread_t thread;
};

/* Acts once it has the request. */
static void *serve(void *context)
{
    struct peer_thread *peer = context;
    char request[1000];
    int fd = accept(peer->listener, NULL, NULL);
    if (fd >= 0) {
        if (recv(fd, request, sizeof request, 0) > 0)
            peer->act(fd);
        close(fd);
    }
    return NULL;
}

static void peer_start(struct peer_thread *peer, const char *folder,
                       const char *name, void (*act)(int fd))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    peer->act = act;
    snprintf(peer->path, sizeof peer->path, "%s/%s", folder, name);
    assert_true(strlen(peer->path) < sizeof address.sun_path);
    memcpy(address.sun_path, peer->path, strlen(peer->path) + 1);
    peer->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(
        bind(peer->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(peer->listener, 1), 0);
    assert_int_equal(pthread_create(&peer->thread, NULL, serve, peer), 0);
}

static void peer_end(struct peer_thread *peer)
{
    pthread_join(peer->thread, NULL);
    close(peer->listener);
    unlink(peer->path);
}

/* ---- What peers do ---- */

static bool say(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool say_text(int fd, const char *text)
{
    return say(fd, text, strlen(text));
}

/* Until the other end is closed. */
static void hear(int fd)
{
    char bytes[1000];
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        continue;
}

static void answer(int fd)
{
    say_text(fd,
             "{\"method\":\"progress\"}\n\n{\"id\":1,\"result\":{\"a\":7}}\n");
    hear(fd);
}

static void refuse(int fd)
{
    say_text(fd, "{\"id\":1,\"error\":{\"code\":-2,\"message\":\"no\"}}\n");
    hear(fd);
}

static void flood(int fd)
{
    while (say_text(fd, "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n"))
        continue;
}

static void drip(int fd)
{
    while (say_text(fd, "{}\n"))
        usleep(5000);
}

static void answer_too_much(int fd)
{
    static char bytes[1 << 16];
    memset(bytes, ' ', sizeof bytes);
    bool is_open = say_text(fd, "{\"id\":1,");
    while (is_open)
        is_open = say(fd, bytes, sizeof bytes);
}

static void cut_a_line(int fd)
{
    say_text(fd, "{\"id\":1,\"resu");
}

static void begin_a_line(int fd)
{
    cut_a_line(fd);
    hear(fd);
}

/* ---- One call ---- */

/* The code of a call of one that does so. */
static int call(void (*act)(int fd), int64_t ms, struct reader_call *ret)
{
    char *folder = unit_folder();
    struct peer_thread peer;
    struct err err;
    atomic_bool cancelled = false;
    peer_start(&peer, folder, "s", act);
    assert_int_equal(reader_call_begin(peer.path, "ls", NULL, ret, &err), 0);
    reader_calls_end(&ret, 1, clock_ms() + ms, &cancelled);
    assert_int_equal(ret->fd, -1);
    peer_end(&peer);
    unit_folder_remove(folder);
    return ret->code;
}

static void an_answer_is_taken(void **state)
{
    (void)state;
    struct reader_call ret;
    assert_int_equal(call(answer, LONG, &ret), 0);
    assert_int_equal(json_get_int(ret.result, "a", 0), 7);
    cJSON_Delete(ret.result);
    assert_int_equal(call(refuse, LONG, &ret), ERR_USAGE);
    assert_string_equal(ret.err.message, "no");
}

/* The deadline of the first is so far away that only a bound on bytes ends it. */
static void lines_that_are_no_reply_end(void **state)
{
    (void)state;
    struct reader_call ret;
    int64_t from = clock_ms();
    assert_int_equal(call(flood, 100 * LONG, &ret), ERR_LIMIT);
    assert_non_null(strstr(ret.err.message, "more than"));
    assert_int_equal(call(drip, SHORT, &ret), ERR_LIMIT);
    assert_non_null(strstr(ret.err.message, "in time"));
    assert_true(clock_ms() - from < 100 * LONG);
}

static void an_answer_has_at_most_so_many_bytes(void **state)
{
    (void)state;
    struct reader_call ret;
    assert_int_equal(call(answer_too_much, 100 * LONG, &ret), ERR_LIMIT);
    assert_non_null(strstr(ret.err.message, "more than"));
}

static void half_an_answer_is_none(void **state)
{
    (void)state;
    struct reader_call ret;
    assert_int_equal(call(cut_a_line, LONG, &ret), ERR_UNREACHABLE);
    assert_int_equal(call(begin_a_line, SHORT, &ret), ERR_LIMIT);
    assert_int_equal(call(hear, SHORT, &ret), ERR_LIMIT);
}

static void nobody_waits_for_what_is_cancelled(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct peer_thread peer;
    struct reader_call one, *calls[] = {&one};
    struct err err;
    atomic_bool cancelled = true;
    peer_start(&peer, folder, "s", hear);
    assert_int_equal(reader_call_begin(peer.path, "ls", NULL, &one, &err), 0);
    reader_calls_end(calls, 1, clock_ms() + 100 * LONG, &cancelled);
    assert_int_equal(one.code, ERR_CANCELLED);
    peer_end(&peer);
    unit_folder_remove(folder);
}

/* ---- Several ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static bool is_sent;

/* More than a socket holds. */
static void answer_much(int fd)
{
    char *text = mem_alloc(MANY + 1);
    memset(text, ' ', MANY);
    if (say_text(fd, "{\"id\":1,\"result\":{\"node\":\"n1\"") &&
        say(fd, text, MANY))
        say_text(fd, "}}\n");
    free(text);
    pthread_mutex_lock(&lock);
    is_sent = true; /* or will not be */
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    hear(fd);
}

static void say_nothing_until_that_is_sent(int fd)
{
    (void)fd;
    pthread_mutex_lock(&lock);
    while (!is_sent)
        pthread_cond_wait(&change, &lock);
    pthread_mutex_unlock(&lock);
}

/* The first goes away once the second has sent all, which it cannot while only the first
 * is read. */
static void a_silent_one_keeps_no_other_waiting(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct peer_thread silent, healthy;
    struct reader_call one, two, *calls[] = {&one, &two};
    struct err err;
    atomic_bool cancelled = false;
    is_sent = false;
    peer_start(&silent, folder, "a", say_nothing_until_that_is_sent);
    peer_start(&healthy, folder, "b", answer_much);
    assert_int_equal(reader_call_begin(silent.path, "ls", NULL, &one, &err), 0);
    assert_int_equal(reader_call_begin(healthy.path, "ls", NULL, &two, &err),
                     0);
    reader_calls_end(calls, 2, clock_ms() + LONG, &cancelled);
    peer_end(&silent);
    peer_end(&healthy);
    assert_int_equal(two.code, 0);
    assert_string_equal(json_get_text(two.result, "node", ""), "n1");
    assert_int_equal(one.code, ERR_UNREACHABLE);
    cJSON_Delete(two.result);
    unit_folder_remove(folder);
}

/* ---- Who is asked again ---- */

static bool is_left_out(void (*act)(int fd))
{
    char *folder = unit_folder(), configured[400];
    struct other_readers *readers;
    struct peer_thread peer;
    struct err err;
    atomic_bool cancelled = false;
    cJSON *result;
    peer_start(&peer, folder, "s", act);
    snprintf(configured, sizeof configured, "far=%s", peer.path);
    assert_int_equal(other_readers_open(configured, &readers, &err), 0);
    assert_int_equal(other_reader_ask(&readers->items[0], "ls", NULL, SHORT,
                                      &cancelled, &result, &err),
                     ERR_LIMIT);
    bool left_out = atomic_load(&readers->items[0].silent_until);
    other_readers_free(readers);
    peer_end(&peer);
    unit_folder_remove(folder);
    return left_out;
}

static void only_who_sends_nothing_is_left_out(void **state)
{
    (void)state;
    assert_true(is_left_out(hear));
    assert_false(is_left_out(begin_a_line));
}

/* ---- Threads ---- */

static bool may_wait(const char *method, const char *text)
{
    struct request request = {.verb = verb_find(method)};
    cJSON *params;
    assert_int_equal(json_parse(slice_of(text), &params, NULL), 0);
    request.rpc.params = params;
    bool waits = others_may_wait(&request);
    cJSON_Delete(params);
    return waits;
}

static void what_readers_ask_never_waits_for_readers(void **state)
{
    (void)state;
    assert_true(may_wait("search", "{}"));
    assert_true(may_wait("ask", "{\"local\":false}"));
    assert_true(may_wait("toc", "{\"manual\":\"m\"}"));
    assert_true(may_wait("get", "{\"node\":\"n1@far\"}"));
    assert_true(may_wait("search", "{\"under\":\"n1@far\"}"));
    assert_false(may_wait("search", "{\"local\":true}"));
    assert_false(may_wait("ask", "{\"local\":true}"));
    assert_false(may_wait("toc", "{\"manual\":\"m\",\"local\":true}"));
    assert_false(may_wait("get", "{\"node\":\"n1\"}"));
    assert_false(may_wait("quote", "{\"node\":\"n1\"}"));
    assert_false(may_wait("search", "{\"under\":\"n1\"}"));
    assert_false(may_wait("ls", "{}"));
    assert_false(may_wait("grep", "{\"under\":\"n1@far\"}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_taken),
        cmocka_unit_test(lines_that_are_no_reply_end),
        cmocka_unit_test(an_answer_has_at_most_so_many_bytes),
        cmocka_unit_test(half_an_answer_is_none),
        cmocka_unit_test(nobody_waits_for_what_is_cancelled),
        cmocka_unit_test(a_silent_one_keeps_no_other_waiting),
        cmocka_unit_test(only_who_sends_nothing_is_left_out),
        cmocka_unit_test(what_readers_ask_never_waits_for_readers),
    };
    return cmocka_run_group_tests_name("reader_call", tests, NULL, NULL);
}
