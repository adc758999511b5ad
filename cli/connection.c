#include "cli/connection.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/client.h"
#include "daemon/net/protocol.h"

enum { READ_AT_ONCE = 1 << 16 };

/* Takes in what has come; false: nothing more comes. */
static bool take_in(struct connection *connection)
{
    char bytes[READ_AT_ONCE];
    ssize_t n = recv(connection->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n > 0)
        line_reader_put(&connection->in, bytes, (size_t)n);
    return n > 0;
}

/* Until the daemon reads on, which it does not while its answers are left unread. */
static void await_room(struct connection *connection)
{
    struct pollfd at = {.fd = connection->fd, .events = POLLIN | POLLOUT};
    if (poll(&at, 1, -1) > 0 && at.revents & POLLIN)
        take_in(connection);
}

/* Whether a daemon that takes no more has said why before, be it taken in already. */
static bool has_said(struct connection *connection, int reason)
{
    if (reason != EPIPE && reason != ECONNRESET)
        return false;
    take_in(connection);
    return line_reader_rest(&connection->in);
}

static int send_all(struct connection *connection, struct slice bytes,
                    struct err *err)
{
    while (bytes.size) {
        ssize_t n = send(connection->fd, bytes.data, bytes.size,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            await_room(connection);
        else if (n < 0 && has_said(connection, errno))
            return 0;
        else if (n < 0 && errno != EINTR)
            return err_errno(err, ERR_UNREACHABLE, "cannot ask the daemon");
        else if (n > 0)
            bytes = (struct slice){bytes.data + n, bytes.size - (size_t)n};
    }
    return 0;
}

/* The members of a request without those that `params` or nothing follow. */
static struct json begin(struct buf *line, const char *method)
{
    struct json json = json_to(line);
    json_begin(&json, '{');
    json_field_text(&json, "jsonrpc", "2.0");
    json_field_text(&json, "method", method);
    return json;
}

int connection_send(struct connection *connection, const struct config *config,
                    const char *config_flag, const char *method,
                    struct slice params, int64_t *ret_id, struct err *err)
{
    struct buf line = {0};
    struct json json = begin(&line, method);
    json_field_int(&json, "id", connection->last_id + 1);
    json_key(&json, "params");
    json_raw(&json, params);
    json_end(&json, '}');
    buf_put_byte(&line, '\n');
    int code = 0;
    if (line.size > PROTOCOL_MAX_REQUEST)
        code = err_set(err, ERR_LIMIT, "the request has more than %d bytes",
                       PROTOCOL_MAX_REQUEST);
    if (!code && connection->fd < 0)
        code = client_reach(config, config_flag, &connection->fd, err);
    if (!code)
        code = send_all(connection, buf_slice(&line), err);
    if (!code)
        *ret_id = ++connection->last_id;
    buf_free(&line);
    return code;
}

void connection_cancel(struct connection *connection, int64_t id)
{
    struct buf line = {0};
    struct json json = begin(&line, "cancel");
    json_key(&json, "params");
    json_begin(&json, '{');
    json_field_int(&json, "id", id);
    json_end(&json, '}');
    json_end(&json, '}');
    buf_put_byte(&line, '\n');
    send_all(connection, buf_slice(&line), NULL);
    buf_free(&line);
}

bool connection_read(struct connection *connection)
{
    bool open = take_in(connection);
    if (!open)
        connection_close(connection);
    return open;
}

bool connection_next(struct connection *connection, struct slice *ret_line)
{
    return line_reader_next(&connection->in, SIZE_MAX, ret_line, NULL) == 1;
}

void connection_close(struct connection *connection)
{
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
    line_reader_free(&connection->in);
}
