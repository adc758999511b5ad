#include "cli/web/web_reply.h"

#include <stdlib.h>

#include "base/mem.h"

enum { BLOCK = 1 << 14 };

/* Nothing but our own files, no frame, no form; no page may read or embed an answer,
 * and the address with the token is told to nobody. */
static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
     "'self'; img-src data:; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'; require-trusted-types-for 'script'"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
    {"Cache-Control", "no-store"},
};

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status,
                             const char *type, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++)
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    enum MHD_Result done = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return done;
}

static struct MHD_Response *copy_of(struct slice bytes)
{
    union {
        const char *read;
        void *bytes;
    } data = {bytes.data};
    return MHD_create_response_from_buffer(bytes.size, data.bytes,
                                           MHD_RESPMEM_MUST_COPY);
}

enum MHD_Result reply_bytes(struct MHD_Connection *connection, unsigned status,
                            const char *type, struct slice bytes)
{
    return reply(connection, status, type, copy_of(bytes));
}

enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned status,
                           const char *header, const char *value,
                           const char *text)
{
    struct MHD_Response *response = copy_of(slice_of(text));
    if (response && header)
        MHD_add_response_header(response, header, value);
    return reply(connection, status, "text/plain; charset=utf-8", response);
}

/* ---- Errors ---- */

static unsigned status_of(int code)
{
    switch (code) {
    case ERR_NOT_FOUND: return MHD_HTTP_NOT_FOUND;
    case ERR_USAGE: return MHD_HTTP_BAD_REQUEST;
    case ERR_LIMIT: return MHD_HTTP_CONTENT_TOO_LARGE;
    case ERR_MODEL: return MHD_HTTP_NOT_IMPLEMENTED;
    case ERR_UNREACHABLE:
    case ERR_BUSY:
    case ERR_CANCELLED: /* it is being stopped */
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    default: return MHD_HTTP_INTERNAL_SERVER_ERROR;
    }
}

static void put_error_as(struct buf *out, const char *code, const char *message)
{
    struct json json = json_to(out);
    json_begin(&json, '{');
    json_field_text(&json, "code", code);
    json_field_text(&json, "message", message);
    json_end(&json, '}');
}

static void put_error(struct buf *out, const struct err *err)
{
    put_error_as(out, err_name(err->code), err->message);
}

static void put_error_object(struct buf *out, struct slice error)
{
    struct json json = json_to(out);
    json_begin(&json, '{');
    json_key(&json, "error");
    json_raw(&json, error);
    json_end(&json, '}');
}

static enum MHD_Result reply_error_object(struct MHD_Connection *connection,
                                          unsigned status, struct slice error)
{
    struct buf out = {0};
    put_error_object(&out, error);
    enum MHD_Result done =
        reply_bytes(connection, status, TYPE_JSON, buf_slice(&out));
    buf_free(&out);
    return done;
}

enum MHD_Result reply_wants_key(struct MHD_Connection *connection,
                                const char *why)
{
    struct buf error = {0}, out = {0};
    put_error_as(&error, "invalid_api_key", why);
    put_error_object(&out, buf_slice(&error));
    struct MHD_Response *response = copy_of(buf_slice(&out));
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
                                "Bearer");
    buf_free(&error);
    buf_free(&out);
    return reply(connection, MHD_HTTP_UNAUTHORIZED, TYPE_JSON, response);
}

enum MHD_Result reply_error(struct MHD_Connection *connection,
                            const struct err *err)
{
    struct buf object = {0};
    put_error(&object, err);
    enum MHD_Result done = reply_error_object(connection, status_of(err->code),
                                              buf_slice(&object));
    buf_free(&object);
    return done;
}

/* The same of what the daemon has sent. */
static enum MHD_Result reply_daemon_error(struct MHD_Connection *connection,
                                          struct slice error)
{
    cJSON *object = NULL;
    unsigned status = MHD_HTTP_INTERNAL_SERVER_ERROR;
    json_parse(error, &object, NULL);
    const char *name = json_get_text(object, "code", "");
    for (int code = ERR_NOT_FOUND; code >= ERR_LAST; code--)
        if (!strcmp(name, err_name(code)))
            status = status_of(code);
    cJSON_Delete(object);
    return reply_error_object(connection, status, error);
}

/* ---- One answer ---- */

static int socket_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection,
                                   MHD_CONNECTION_INFO_CONNECTION_FD)
        ->connect_fd;
}

/* Waits for the last thing that comes. */
static int await(struct relay *relay, enum relay_kind *ret_kind,
                 struct slice *ret_value, struct err *err)
{
    int code = 0;
    do
        code = relay_next(relay, ret_kind, ret_value, err);
    while (!code && *ret_kind == RELAY_EVENT);
    return code;
}

static enum MHD_Result reply_value(struct MHD_Connection *connection,
                                   enum relay_kind kind, struct slice value,
                                   make_reply *make, void *state)
{
    struct buf out = {0};
    cJSON *result = NULL;
    if (kind == RELAY_GONE)
        return MHD_NO;
    if (kind == RELAY_ERROR)
        return reply_daemon_error(connection, value);
    if (make) {
        json_parse(value, &result, NULL);
        make(state, result, &out);
        cJSON_Delete(result);
        value = buf_slice(&out);
    }
    enum MHD_Result done =
        reply_bytes(connection, MHD_HTTP_OK, TYPE_JSON, value);
    buf_free(&out);
    return done;
}

enum MHD_Result reply_made(const struct web *web,
                           struct MHD_Connection *connection,
                           const char *method, struct slice params,
                           make_reply *make, void *state)
{
    struct err err = {.position = -1};
    struct slice value = {0};
    enum relay_kind kind = RELAY_GONE;
    struct relay relay;
    int code =
        relay_open(&relay, web, socket_of(connection), method, params, &err);
    if (!code)
        code = await(&relay, &kind, &value, &err);
    enum MHD_Result done =
        code ? reply_error(connection, &err)
             : reply_value(connection, kind, value, make, state);
    relay_close(&relay);
    free(state);
    return done;
}

enum MHD_Result reply_result(const struct web *web,
                             struct MHD_Connection *connection,
                             const char *method, struct slice params)
{
    return reply_made(web, connection, method, params, NULL, NULL);
}

/* ---- As it comes ---- */

struct stream {
    struct relay relay;
    struct MHD_Connection *connection;
    stream_put *put;
    void *state;
    struct buf out; /* made, and sent up to `sent` */
    size_t sent;
    bool ended; /* nothing more comes */
};

static void set_timeout(const struct stream *stream, unsigned seconds)
{
    MHD_set_connection_option(stream->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              seconds);
}

/* While the daemon is waited for, the browser is not idle. */
static int await_next(struct stream *stream, enum relay_kind *ret_kind,
                      struct slice *ret_value, struct err *err)
{
    set_timeout(stream, 0);
    int code = relay_next(&stream->relay, ret_kind, ret_value, err);
    set_timeout(stream, WEB_IDLE_SECONDS);
    return code;
}

/* Makes more to send, if there is more. */
static void take_next(struct stream *stream)
{
    struct err err = {.position = -1};
    struct slice value = {0};
    struct buf lost = {0};
    enum relay_kind kind = RELAY_ERROR;
    if (await_next(stream, &kind, &value, &err)) {
        put_error(&lost, &err);
        kind = RELAY_ERROR;
        value = buf_slice(&lost);
    }
    stream->ended = kind != RELAY_EVENT;
    buf_clear(&stream->out);
    stream->sent = 0;
    if (kind != RELAY_GONE)
        stream->put(stream->state, kind, value, &stream->out);
    buf_free(&lost);
}

static ssize_t read_stream(void *user, uint64_t at, char *bytes, size_t max)
{
    struct stream *stream = user;
    (void)at;
    while (stream->sent == stream->out.size && !stream->ended)
        take_next(stream);
    size_t size = stream->out.size - stream->sent;
    if (!size)
        return MHD_CONTENT_READER_END_OF_STREAM;
    size = size < max ? size : max;
    memcpy(bytes, stream->out.data + stream->sent, size);
    stream->sent += size;
    return (ssize_t)size;
}

static void free_stream(void *user)
{
    struct stream *stream = user;
    relay_close(&stream->relay);
    buf_free(&stream->out);
    free(stream->state);
    free(stream);
}

enum MHD_Result reply_stream(const struct web *web,
                             struct MHD_Connection *connection,
                             const char *type, const char *method,
                             struct slice params, stream_put *put, void *state)
{
    struct err err = {.position = -1};
    struct stream *stream = mem_alloc(sizeof *stream);
    *stream =
        (struct stream){.connection = connection, .put = put, .state = state};
    if (relay_open(&stream->relay, web, socket_of(connection), method, params,
                   &err)) {
        free_stream(stream);
        return reply_error(connection, &err);
    }
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, BLOCK, read_stream, stream, free_stream);
    if (!response)
        free_stream(stream);
    return reply(connection, MHD_HTTP_OK, type, response);
}
