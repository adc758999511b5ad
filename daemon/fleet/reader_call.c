#include "daemon/fleet/reader_call.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/net/protocol.h"
#include "daemon/net/socket.h"

enum {
    READ_AT_ONCE = 1 << 16,
    LOOK_MS = 50 /* between looks at `cancelled` */
};

static int open_socket(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int code = protocol_check_path(path, err);
    if (code)
        return code;
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(err, ERR_UNREACHABLE, "cannot make a socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        code = err_errno(err, ERR_UNREACHABLE, "no daemon answers at %s", path);
    else if (!peer_is_allowed(fd))
        code =
            err_set(err, ERR_UNREACHABLE, "another user answers at %s", path);
    if (code)
        close(fd);
    else
        *ret_fd = fd;
    return code;
}

static void put_request(struct buf *line, const char *method,
                        const cJSON *params)
{
    struct json json = json_to(line);
    char *text = cJSON_PrintUnformatted(params);
    json_begin(&json, '{');
    json_field_text(&json, "jsonrpc", "2.0");
    json_field_int(&json, "id", 1);
    json_field_text(&json, "method", method);
    json_key(&json, "params");
    json_raw(&json, slice_of(text ? text : "{}"));
    json_end(&json, '}');
    buf_put_byte(line, '\n');
    free(text);
}

/* Who takes nothing of a request that a socket holds whole is not waited for. */
int reader_call_begin(const char *path, const char *method, const cJSON *params,
                      struct reader_call *ret, struct err *err)
{
    struct buf line = {0};
    int fd = -1, code = open_socket(path, &fd, err);
    *ret = (struct reader_call){.fd = -1, .err = {.position = -1}};
    if (code)
        return code;
    put_request(&line, method, params);
    if (send(fd, line.data, line.size, MSG_NOSIGNAL) != (ssize_t)line.size) {
        code = err_set(err, ERR_UNREACHABLE, "%s takes no request", path);
        close(fd);
    } else {
        ret->fd = fd;
    }
    buf_free(&line);
    return code;
}

/* 1: more may follow, or nothing came yet.  All that is sent counts, so that no
 * number of lines which are no reply goes on for ever. */
static int read_more(struct reader_call *call, struct err *err)
{
    char bytes[READ_AT_ONCE];
    ssize_t size = recv(call->fd, bytes, sizeof bytes, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (size <= 0)
        return err_set(err, ERR_UNREACHABLE, "it went away");
    call->size += (size_t)size;
    if (call->size > READER_MAX_ANSWER)
        return err_set(err, ERR_LIMIT, "it sends more than %d bytes",
                       READER_MAX_ANSWER);
    line_reader_put(&call->in, bytes, (size_t)size);
    return 1;
}

static int take_error(const cJSON *error, struct err *err)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(error, "data");
    int code = (int)json_get_int(error, "code", ERR_INTERNAL);
    return err_set(err, code < 0 && code >= ERR_LAST ? code : ERR_INTERNAL,
                   "%s",
                   json_get_text(data, "message",
                                 json_get_text(error, "message", "it failed")));
}

/* 1: it was no reply. */
static int take_line(struct slice line, cJSON **ret_result, struct err *err)
{
    cJSON *reply;
    int code = json_parse(line, &reply, err);
    if (code)
        return code;
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(reply, "error");
    cJSON *result = cJSON_DetachItemFromObjectCaseSensitive(reply, "result");
    if (error)
        code = take_error(error, err);
    else if (cJSON_IsObject(result))
        *ret_result = result;
    else
        code = 1;
    if (code)
        cJSON_Delete(result);
    cJSON_Delete(reply);
    return code;
}

/* 1: there is no reply yet. */
static int take_lines(struct reader_call *call, cJSON **ret_result,
                      struct err *err)
{
    struct slice line;
    int code = 1, any;
    while (code == 1 &&
           (any = line_reader_next(&call->in, READER_MAX_ANSWER, &line, err)))
        code = any < 0 ? any : take_line(line, ret_result, err);
    return code;
}

static void end(struct reader_call *call, int code)
{
    call->code = code;
    close(call->fd);
    call->fd = -1;
    line_reader_free(&call->in);
}

static void end_all(struct reader_call *const calls[], size_t count, int code,
                    const char *why)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i]->fd >= 0)
            end(calls[i], err_set(&calls[i]->err, code, "%s", why));
}

static void take_bytes(struct reader_call *call)
{
    int code = read_more(call, &call->err);
    if (code == 1)
        code = take_lines(call, &call->result, &call->err);
    if (code != 1)
        end(call, code);
}

/* Takes what has come, or comes before `ms` have passed, once from each. */
static void look(struct reader_call *const calls[], size_t count, int ms)
{
    struct pollfd fds[READER_CALLS_MAX];
    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = calls[i]->fd, .events = POLLIN};
    if (poll(fds, (nfds_t)count, ms) <= 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (fds[i].fd >= 0 && fds[i].revents)
            take_bytes(calls[i]);
}

static bool any_is_open(struct reader_call *const calls[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (calls[i]->fd >= 0)
            return true;
    return false;
}

void reader_calls_end(struct reader_call *const calls[], size_t count,
                      int64_t deadline_ms, const atomic_bool *cancelled)
{
    bool was_last = false;
    while (any_is_open(calls, count)) {
        int64_t left = deadline_ms - clock_ms();
        if (atomic_load(cancelled))
            end_all(calls, count, ERR_CANCELLED, "cancelled");
        else if (was_last)
            end_all(calls, count, ERR_LIMIT, "it does not answer in time");
        else
            look(calls, count,
                 left <= 0        ? 0
                 : left < LOOK_MS ? (int)left
                                  : LOOK_MS);
        was_last = left <= 0;
    }
}
