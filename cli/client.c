#include "cli/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "daemon/net/protocol.h"

enum { READ_AT_ONCE = 1 << 18 };

struct client {
    int fd;
    bool launched;
    int64_t last_id;
    struct buf in;
    size_t taken;   /* bytes of `in` that belong to lines already handled */
    size_t scanned; /* bytes of `in` that hold no further end of line */
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static int check_peer(int fd, const char *path, struct err *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return err_errno(err, ERR_UNREACHABLE, "cannot tell who answers at %s",
                         path);
    if (peer.uid == getuid() || peer.uid == 0)
        return 0;
    errno = EACCES;
    return err_set(err, ERR_UNREACHABLE, "another user (%ld) answers at %s",
                   (long)peer.uid, path);
}

int client_connect(const char *path, int *ret_fd, struct err *err)
{
    int code = protocol_check_path(path, err);
    if (code)
        return code;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot make a socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        code = err_errno(err, ERR_UNREACHABLE, "no daemon answers at %s", path);
    else
        code = check_peer(fd, path, err);
    if (code) {
        int why = errno;
        close(fd);
        errno = why;
    } else {
        *ret_fd = fd;
    }
    return code;
}

bool client_nobody(int code)
{
    return code == ERR_UNREACHABLE &&
           (errno == ENOENT || errno == ENOTDIR || errno == ECONNREFUSED);
}

static int reach(const struct config *config, const char *config_flag,
                 bool start, int *ret_fd, bool *ret_launched, struct err *err)
{
    int code = client_connect(config_text(config, CONFIG_SOCKET), ret_fd, err);
    if (client_nobody(code) && start)
        code = launch_daemon(config, config_flag, ret_fd, ret_launched, err);
    return code;
}

int client_reach(const struct config *config, const char *config_flag,
                 int *ret_fd, struct err *err)
{
    bool launched;
    return reach(config, config_flag, true, ret_fd, &launched, err);
}

int client_open(const struct config *config, const char *config_flag,
                bool start, struct client **ret_client, struct err *err)
{
    int fd;
    bool launched = false;
    int code = reach(config, config_flag, start, &fd, &launched, err);
    if (code)
        return code;
    struct client *client = mem_alloc(sizeof *client);
    client->fd = fd;
    client->launched = launched;
    *ret_client = client;
    return 0;
}

void client_close(struct client *client)
{
    if (!client)
        return;
    close(client->fd);
    buf_free(&client->in);
    free(client);
}

bool client_launched(const struct client *client)
{
    return client->launched;
}

static size_t skip_space(struct slice text, size_t at)
{
    while (at < text.size && strchr(" \t\r\n", text.data[at]) && text.data[at])
        at++;
    return at;
}

static size_t skip_string(struct slice text, size_t at)
{
    for (at++; at < text.size && text.data[at] != '"'; at++)
        if (text.data[at] == '\\')
            at++;
    return at < text.size ? at + 1 : text.size;
}

static size_t skip_value(struct slice text, size_t at)
{
    size_t depth = 0;
    while (at < text.size) {
        char c = text.data[at];
        if (c == '"') {
            at = skip_string(text, at);
            if (!depth)
                return at;
            continue;
        }
        if (!depth && (c == ',' || c == '}' || c == ' '))
            return at;
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return at;
    }
    return at;
}

bool client_member(struct slice object, const char *key,
                   struct slice *ret_value)
{
    size_t at = skip_space(object, 0);
    if (at >= object.size || object.data[at] != '{')
        return false;
    at = skip_space(object, at + 1);
    while (at < object.size && object.data[at] == '"') {
        size_t end = skip_string(object, at);
        struct slice name = {object.data + at + 1, end - at - 1};
        name.size -= name.size > 0;
        at = skip_space(object, end);
        if (at >= object.size || object.data[at] != ':')
            return false;
        at = skip_space(object, at + 1);
        end = skip_value(object, at);
        if (slice_is(name, key)) {
            *ret_value = (struct slice){object.data + at, end - at};
            return true;
        }
        at = skip_space(object, end);
        if (at < object.size && object.data[at] == ',')
            at = skip_space(object, at + 1);
    }
    return false;
}

int client_check_store(const struct config *config, const cJSON *status,
                       struct err *err)
{
    const cJSON *entry = config_entry(
        cJSON_GetObjectItemCaseSensitive(status, "config"), CONFIG_STORE);
    const char *ours = config_text(config, CONFIG_STORE);
    const char *its = json_get_text(entry, "value", ours);
    if (!strcmp(its, ours) || file_is_same_place(its, ours))
        return 0;
    return err_set(err, ERR_USAGE,
                   "the daemon that answers at %s has the store %s, not %s: "
                   "end it (lectern daemon --stop), or name another socket "
                   "(--socket)",
                   config_text(config, CONFIG_SOCKET), its, ours);
}

static int gone(struct err *err)
{
    return err_set(err, ERR_UNREACHABLE,
                   "the daemon went away before it answered; lecternd.log in "
                   "the store's folder may say why");
}

static int send_all(struct client *client, struct slice bytes, struct err *err)
{
    while (bytes.size) {
        ssize_t n = send(client->fd, bytes.data, bytes.size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR && !interrupted)
            continue;
        if (n < 0 && interrupted)
            return err_set(err, ERR_CANCELLED, "interrupted");
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return 0; /* it may have said why, which is read next */
        if (n < 0)
            return err_errno(err, ERR_UNREACHABLE, "cannot ask the daemon");
        bytes.data += n;
        bytes.size -= (size_t)n;
    }
    return 0;
}

static void send_cancel(struct client *client)
{
    struct buf line = {0};
    buf_printf(&line,
               "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\","
               "\"params\":{\"id\":%lld}}\n",
               (long long)client->last_id);
    ssize_t sent =
        send(client->fd, line.data, line.size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
    buf_free(&line);
}

/* Waits until there is something to read; SIGINT, blocked otherwise during a
 * call, gets through here alone, so that none is missed. */
static int wait_readable(struct client *client, const sigset_t *open_mask,
                         struct err *err)
{
    struct pollfd poll_fd = {.fd = client->fd, .events = POLLIN};
    while (!interrupted) {
        if (ppoll(&poll_fd, 1, NULL, open_mask) > 0)
            return 0;
        if (errno != EINTR)
            return err_errno(err, ERR_UNREACHABLE,
                             "cannot wait for the daemon");
    }
    send_cancel(client);
    return err_set(err, ERR_CANCELLED, "interrupted");
}

/* The next line without its end; valid until the next call. */
static int read_line(struct client *client, const sigset_t *open_mask,
                     struct slice *ret_line, struct err *err)
{
    struct buf *in = &client->in;
    if (client->taken) {
        memmove(in->data, in->data + client->taken, in->size - client->taken);
        in->size -= client->taken;
        client->taken = client->scanned = 0;
    }
    for (;;) {
        const char *end = NULL;
        if (in->size > client->scanned)
            end = memchr(in->data + client->scanned, '\n',
                         in->size - client->scanned);
        if (end) {
            *ret_line = (struct slice){in->data, (size_t)(end - in->data)};
            client->taken = ret_line->size + 1;
            return 0;
        }
        client->scanned = in->size;
        int code = wait_readable(client, open_mask, err);
        if (code)
            return code;
        buf_reserve(in, READ_AT_ONCE);
        ssize_t n = recv(client->fd, in->data + in->size, READ_AT_ONCE, 0);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return gone(err);
        in->size += (size_t)n;
    }
}

static int known_code(int code)
{
    if (code == -32601 || code == -32602)
        return ERR_USAGE;
    return code < ERR_OK && code >= ERR_LAST ? code : ERR_INTERNAL;
}

/* The reply's error object into `err`. */
static int take_error(struct slice text, struct err *err)
{
    cJSON *object;
    if (json_parse(text, &object, NULL))
        return err_set(err, ERR_INTERNAL,
                       "the daemon sent an error that is not JSON");
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(object, "data");
    int code = known_code((int)json_get_int(object, "code", ERR_INTERNAL));
    const char *message = json_get_text(object, "message", "it failed");
    err_set(err, code, "%s", json_get_text(data, "message", message));
    if (err) {
        const char *path = json_get_text(data, "path", "");
        if (path[0])
            err_at(err, path);
        err->position = json_get_int(data, "position", -1);
    }
    cJSON_Delete(object);
    return code;
}

/* 1: the reply was in this line, 0: it was not. */
static int take_line(struct client *client, struct slice line,
                     client_notify *notify, void *user,
                     struct slice *ret_result, int *ret_code, struct err *err)
{
    struct slice id, value, params = slice_of("{}");
    struct buf ours = {0};
    buf_printf(&ours, "%lld", (long long)client->last_id);
    bool has_id = client_member(line, "id", &id);
    bool reply = has_id && slice_equal(id, buf_slice(&ours));
    buf_free(&ours);
    /* An error without an id answers a request that could not be read. */
    bool lost = has_id && slice_is(id, "null");
    if (!reply && !lost) {
        client_member(line, "params", &params);
        if (notify && client_member(line, "method", &value))
            notify(user, value, params);
        return 0;
    }
    *ret_code = 0;
    if (client_member(line, "error", &value))
        *ret_code = take_error(value, err);
    else if (!client_member(line, "result", ret_result))
        *ret_code =
            err_set(err, ERR_INTERNAL, "the daemon's reply has no result");
    return 1;
}

static int converse(struct client *client, struct slice request,
                    const sigset_t *open_mask, client_notify *notify,
                    void *user, struct buf *ret_result, struct err *err)
{
    int code = send_all(client, request, err);
    while (!code) {
        struct slice line, result;
        int outcome = 0;
        code = read_line(client, open_mask, &line, err);
        if (code)
            break;
        if (!take_line(client, line, notify, user, &result, &outcome, err))
            continue;
        if (!outcome)
            buf_put_slice(ret_result, result);
        return outcome;
    }
    return code;
}

static int build_request(struct client *client, const char *method,
                         struct slice params, struct buf *out, struct err *err)
{
    struct json json = json_to(out);
    json_begin(&json, '{');
    json_field_text(&json, "jsonrpc", "2.0");
    json_field_int(&json, "id", ++client->last_id);
    json_field_text(&json, "method", method);
    json_key(&json, "params");
    json_raw(&json, params);
    json_end(&json, '}');
    buf_put_byte(out, '\n');
    if (out->size <= PROTOCOL_MAX_REQUEST)
        return 0;
    return err_set(err, ERR_LIMIT, "the request has %zu bytes, more than %d",
                   out->size, PROTOCOL_MAX_REQUEST);
}

int client_call(struct client *client, const char *method, struct slice params,
                client_notify *notify, void *user, struct buf *ret_result,
                struct err *err)
{
    struct buf request = {0};
    int code = build_request(client, method, params, &request, err);
    if (!code) {
        struct sigaction action = {.sa_handler = on_interrupt}, old_action;
        sigset_t closed, old_mask, open_mask;
        sigemptyset(&closed);
        sigaddset(&closed, SIGINT);
        sigprocmask(SIG_BLOCK, &closed, &old_mask);
        open_mask = old_mask;
        sigdelset(&open_mask, SIGINT);
        sigaction(SIGINT, &action, &old_action);
        code = converse(client, buf_slice(&request), &open_mask, notify, user,
                        ret_result, err);
        sigaction(SIGINT, &old_action, NULL);
        sigprocmask(SIG_SETMASK, &old_mask, NULL);
    }
    buf_free(&request);
    return code;
}
