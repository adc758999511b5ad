#include "cli/mcp/mcp_daemon.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/client.h"
#include "daemon/net/protocol.h"

enum { READ_AT_ONCE = 1 << 16 };

static int send_all(int fd, struct slice bytes, struct err *err)
{
    while (bytes.size) {
        ssize_t n = send(fd, bytes.data, bytes.size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, ERR_UNREACHABLE, "cannot ask the daemon");
        bytes.data += n;
        bytes.size -= (size_t)n;
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

int mcp_daemon_send(struct mcp_daemon *daemon, const struct cli *cli,
                    const char *method, struct slice params, int64_t *ret_id,
                    struct err *err)
{
    struct buf line = {0};
    struct json json = begin(&line, method);
    json_field_int(&json, "id", daemon->last_id + 1);
    json_key(&json, "params");
    json_raw(&json, params);
    json_end(&json, '}');
    buf_put_byte(&line, '\n');
    int code = 0;
    if (line.size > PROTOCOL_MAX_REQUEST)
        code = err_set(err, ERR_LIMIT, "the request has more than %d bytes",
                       PROTOCOL_MAX_REQUEST);
    if (!code && daemon->fd < 0)
        code =
            client_reach(&cli->config, cli->options.config, &daemon->fd, err);
    if (!code)
        code = send_all(daemon->fd, buf_slice(&line), err);
    if (!code)
        *ret_id = ++daemon->last_id;
    buf_free(&line);
    return code;
}

void mcp_daemon_cancel(struct mcp_daemon *daemon, int64_t id)
{
    struct buf line = {0};
    struct json json = begin(&line, "cancel");
    json_key(&json, "params");
    json_begin(&json, '{');
    json_field_int(&json, "id", id);
    json_end(&json, '}');
    json_end(&json, '}');
    buf_put_byte(&line, '\n');
    send_all(daemon->fd, buf_slice(&line), NULL);
    buf_free(&line);
}

bool mcp_daemon_read(struct mcp_daemon *daemon)
{
    char bytes[READ_AT_ONCE];
    ssize_t n = recv(daemon->fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0) {
        mcp_daemon_close(daemon);
        return false;
    }
    line_reader_put(&daemon->in, bytes, (size_t)n);
    return true;
}

bool mcp_daemon_next(struct mcp_daemon *daemon, struct slice *ret_line)
{
    return line_reader_next(&daemon->in, SIZE_MAX, ret_line, NULL) == 1;
}

void mcp_daemon_close(struct mcp_daemon *daemon)
{
    if (daemon->fd >= 0)
        close(daemon->fd);
    daemon->fd = -1;
    line_reader_free(&daemon->in);
}
