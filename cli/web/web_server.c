#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/web/openai.h"
#include "cli/web/web_files.h"
#include "cli/web/web_gate.h"
#include "cli/web/web_reply.h"
#include "daemon/net/protocol.h"

enum {
    MAX_CONNECTIONS = 32, /* half of what the daemon takes */
    CONNECTION_BYTES = 1 << 16
};

struct web_server {
    struct MHD_Daemon *http;
};

/* ---- What the page asks of the daemon ---- */

/* The verbs that a page has a use for, none that changes anything. */
static const char *const verbs[] = {"search", "ask", "toc",
                                    "get",    "ls",  "quote"};

static const char *verb_of(const char *path)
{
    static const char api[] = "/api/";
    if (strncmp(path, api, sizeof api - 1) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        if (!strcmp(path + sizeof api - 1, verbs[i]))
            return verbs[i];
    return NULL;
}

/* An event a line, and at last {"result"} or {"error"}. */
static void put_line(void *state, enum relay_kind kind, struct slice value,
                     struct buf *out)
{
    static const char *const keys[] = {
        [RELAY_RESULT] = "result", [RELAY_ERROR] = "error"};
    (void)state;
    if (kind == RELAY_EVENT)
        buf_put_slice(out, value);
    else
        buf_printf(out, "{\"%s\":%.*s}", keys[kind], (int)value.size,
                   value.data);
    buf_put_byte(out, '\n');
}

/* The object is printed anew, as one line: a line is what the daemon takes for a
 * request. */
static enum MHD_Result ask_daemon(const struct web *web,
                                  struct MHD_Connection *connection,
                                  const char *verb, const cJSON *body)
{
    char *line = cJSON_PrintUnformatted(body);
    struct slice params = slice_of(line);
    enum MHD_Result done = !strcmp(verb, "ask")
                               ? reply_stream(web, connection, TYPE_LINES, verb,
                                              params, put_line, NULL)
                               : reply_result(web, connection, verb, params);
    cJSON_free(line);
    return done;
}

/* ---- What programs ask in OpenAI's form ---- */

static const struct {
    const char *path, *method;
    openai_answer *answer;
} openai[] = {
    {"/v1/models", MHD_HTTP_METHOD_GET, openai_models},
    {"/v1/chat/completions", MHD_HTTP_METHOD_POST, openai_chat},
    {"/v1/embeddings", MHD_HTTP_METHOD_POST, openai_embeddings},
    {"/v1/rerank", MHD_HTTP_METHOD_POST, openai_rerank},
};

/* ---- A request ---- */

/* What is kept of a request until its body is read. */
struct exchange {
    const char *path; /* behind the token */
    struct buf body;
    bool too_long;
};

static enum MHD_Result refuse(struct MHD_Connection *connection,
                              unsigned status, const char *why)
{
    return reply_text(connection, status, NULL, NULL, why);
}

/* What a path leads to: a file, a verb, or an answer in OpenAI's form. */
struct target {
    const char *method; /* that it takes; NULL: it leads nowhere */
    const char *verb;
    openai_answer *answer;
    struct web_file file;
};

static struct target target_of(const char *path)
{
    struct target target = {.verb = verb_of(path)};
    if (target.verb)
        target.method = MHD_HTTP_METHOD_POST;
    else if (web_file_find(path, &target.file))
        target.method = MHD_HTTP_METHOD_GET;
    for (size_t i = 0; i < sizeof openai / sizeof openai[0]; i++)
        if (!strcmp(path, openai[i].path)) {
            target.method = openai[i].method;
            target.answer = openai[i].answer;
        }
    return target;
}

static enum MHD_Result answer(const struct web *web,
                              struct MHD_Connection *connection,
                              const struct target *target, struct slice body)
{
    struct err err = {.position = -1};
    cJSON *value = NULL;
    enum MHD_Result done;
    int code = json_parse(body.size ? body : slice_of("{}"), &value, &err);
    if (!code)
        code = json_check_texts(body, &err);
    if (!code && !cJSON_IsObject(value))
        code = err_set(&err, ERR_USAGE, "the body is no JSON object");
    if (code) {
        err.code = ERR_USAGE;
        done = reply_error(connection, &err);
    } else if (target->verb) {
        done = ask_daemon(web, connection, target->verb, value);
    } else {
        done = target->answer(web, connection, value);
    }
    cJSON_Delete(value);
    return done;
}

/* HEAD is GET without the body, which the server of HTTP leaves out. */
static bool takes(const struct target *target, const char *method)
{
    return !strcmp(method, target->method) ||
           (!strcmp(method, MHD_HTTP_METHOD_HEAD) &&
            !strcmp(target->method, MHD_HTTP_METHOD_GET));
}

static enum MHD_Result refuse_method(struct MHD_Connection *connection,
                                     const char *taken)
{
    bool reads = !strcmp(taken, MHD_HTTP_METHOD_GET);
    return reply_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                      MHD_HTTP_HEADER_ALLOW, reads ? "GET, HEAD" : taken,
                      reads ? "This address takes GET.\n"
                            : "This address takes POST.\n");
}

static enum MHD_Result route(const struct web *web,
                             struct MHD_Connection *connection,
                             const char *method,
                             const struct exchange *exchange)
{
    struct target target = target_of(exchange->path);
    if (exchange->too_long)
        return refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE,
                      "The request is too long.\n");
    if (!target.method)
        return refuse(connection, MHD_HTTP_NOT_FOUND,
                      "There is nothing at this address.\n");
    if (!takes(&target, method))
        return refuse_method(connection, target.method);
    if (target.verb || target.answer)
        return answer(web, connection, &target, buf_slice(&exchange->body));
    return reply_bytes(connection, MHD_HTTP_OK, target.file.type,
                       target.file.content);
}

/* Who has no token, or another. */
static enum MHD_Result refuse_unknown(struct MHD_Connection *connection,
                                      const char *url)
{
    if (!strncmp(url, "/v1/", 4))
        return reply_wants_key(connection,
                               "The key is the token, which stands in the "
                               "address that `lectern web` prints: "
                               "Authorization: Bearer TOKEN.");
    return refuse(connection, MHD_HTTP_FORBIDDEN,
                  "The address lacks its token: `lectern web` prints it "
                  "whole.\n");
}

static enum MHD_Result let_in(const struct web *web,
                              struct MHD_Connection *connection,
                              const char *url, struct exchange *exchange)
{
    if (!gate_is_ours(web, connection))
        return refuse(connection, MHD_HTTP_FORBIDDEN,
                      "Host or Origin is another's.\n");
    exchange->path = gate_path(web, connection, url);
    if (exchange->path)
        return MHD_YES;
    return refuse_unknown(connection, url);
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection,
                                  const char *url, const char *method,
                                  const char *version, const char *bytes,
                                  size_t *size, void **ret_exchange)
{
    const struct web *web = user;
    struct exchange *exchange = *ret_exchange;
    (void)version;
    if (!exchange) { /* the headers are there; the body follows */
        *ret_exchange = exchange = mem_alloc(sizeof *exchange);
        return let_in(web, connection, url, exchange);
    }
    if (!*size)
        return route(web, connection, method, exchange);
    exchange->too_long |=
        exchange->body.size + *size > PROTOCOL_MAX_REQUEST / 2;
    if (!exchange->too_long)
        buf_put(&exchange->body, bytes, *size);
    *size = 0;
    return MHD_YES;
}

static void on_end(void *user, struct MHD_Connection *connection,
                   void **exchange_at, enum MHD_RequestTerminationCode how)
{
    struct exchange *exchange = *exchange_at;
    (void)user;
    (void)connection;
    (void)how;
    if (exchange)
        buf_free(&exchange->body);
    free(exchange);
    *exchange_at = NULL;
}

/* ---- Its life ---- */

/* A socket that listens; the port that it got is known before anybody is served. */
static int listen_at(struct web *web, int *ret_fd, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(web->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, size) < 0 ||
        listen(fd, MAX_CONNECTIONS) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
        int code = err_errno(err, ERR_IO,
                             "cannot listen at 127.0.0.1:%u (--port takes "
                             "another; 0 is any that is free)",
                             web->port);
        if (fd >= 0)
            close(fd);
        return code;
    }
    web->port = ntohs(address.sin_port);
    *ret_fd = fd;
    return 0;
}

int web_server_start(struct web *web, struct web_server **ret_server,
                     struct err *err)
{
    int fd, code = listen_at(web, &fd, err);
    if (code)
        return code;
    struct MHD_Daemon *http = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
            MHD_USE_POLL | MHD_USE_ITC,
        web->port, NULL, NULL, on_request, web, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, WEB_IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, on_end,
        NULL, MHD_OPTION_END);
    if (!http)
        return err_set(err, ERR_IO, "the server of HTTP does not start");
    *ret_server = mem_alloc(sizeof **ret_server);
    (*ret_server)->http = http;
    return 0;
}

void web_server_stop(struct web_server *server)
{
    MHD_stop_daemon(server->http);
    free(server);
}
