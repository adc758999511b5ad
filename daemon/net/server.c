/* A client's life:
 *
 *     open ──► draining (sent what cannot be read on: its error is on the way,
 *       │         │        the rest of its input is thrown away)
 *       ▼         ▼
 *     ending (its input has ended; requests and output go on) ──► closed
 *
 * 1. A client is freed only in libuv's close callback, so code that has closed
 *    it may still look at its state.
 * 2. A request belongs to its client's list and to `in_flight` from its
 *    submission until its last response is out of the response queue; a client that goes
 *    leaves its requests without a client, cancelled. */
#include "daemon/net/server.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/net/line_reader.h"
#include "daemon/jobs/jobs.h"
#include "daemon/net/protocol.h"
#include "daemon/jobs/request.h"
#include "daemon/net/socket.h"
#include "daemon/verbs/verbs.h"
#include "daemon/net/watching.h"

enum {
    FEW_IN_FLIGHT = 16,     /* requests of a client, however long they are */
    SOME_INPUT = 1 << 20,   /* bytes of more of them; then its input waits */
    MAX_IN_FLIGHT = 256,    /* requests of a client; then its input waits */
    SOME_OUTPUT = 1 << 20,  /* unread bytes above which its input waits */
    MAX_OUTPUT = 64 << 20,  /* bytes that a client leaves unread */
    MAX_DRAINED = 16 << 20, /* bytes thrown away before it is closed */
    STOP_MS = 1000,         /* for answers on the way out */
    LOOK_MS = 500,          /* between looks at clients that are not read */
    BACKLOG = 128,
    READ_BYTES = 1 << 16
};

enum state { OPEN, DRAINING, ENDING, CLOSED };

struct client {
    uv_pipe_t pipe;
    struct server *server;
    struct client *next;
    struct client **link; /* what points to it */
    enum state state;
    struct line_reader line_reader;
    struct peer *peer;
    struct request *requests; /* by client_next */
    unsigned in_flight;
    size_t asked; /* bytes of those requests */
    size_t drained;
};

enum { SIGNALS = 3 };

struct server {
    uv_loop_t loop;
    uv_pipe_t listener;
    uv_async_t mail;
    uv_timer_t limit;
    uv_timer_t look; /* while there are clients that are not read */
    uv_signal_t signals[SIGNALS];
    struct daemon *daemon;
    struct work *work;
    struct watching *watching;
    struct client *clients;
    unsigned client_count;
    size_t in_flight;
    bool stopping, ended;
    char bytes[READ_BYTES]; /* what was just read, of any client */
};

struct output {
    uv_write_t write;
    struct client *client;
    struct buf line;
};

static void client_go_on(struct client *client);
static void server_stop(struct server *server);

/* ---- Requests ---- */

static void request_cancel(struct server *server, struct request *request)
{
    struct err err;
    atomic_store(&request->cancelled, true);
    if (work_withdraw(server->work, request))
        request_answer(server->daemon->response_queue, request,
                       err_set(&err, ERR_CANCELLED, "cancelled"),
                       (struct slice){0}, &err);
    else
        jobs_withdraw(server->daemon->jobs, request);
}

static void requests_cancel(struct client *client)
{
    for (struct request *r = client->requests; r; r = r->client_next)
        request_cancel(client->server, r);
}

static void request_link(struct client *client, struct request *request,
                         size_t size)
{
    request->client = client;
    request->client_next = client->requests;
    request->size = size;
    client->requests = request;
    client->in_flight++;
    client->asked += size;
    client->server->in_flight++;
}

static void request_unlink(struct server *server, struct request *request)
{
    server->in_flight--;
    struct client *client = request->client;
    if (!client)
        return;
    struct request **at = &client->requests;
    while (*at != request)
        at = &(*at)->client_next;
    *at = request->client_next;
    client->in_flight--;
    client->asked -= request->size;
}

/* ---- Clients: output and end ---- */

static void on_client_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    line_reader_free(&client->line_reader);
    peer_unref(client->peer);
    free(client);
}

static void client_close(struct client *client)
{
    if (client->state == CLOSED)
        return;
    if (line_reader_rest(&client->line_reader))
        log_debug("a client went and left a request without its end");
    client->state = CLOSED;
    requests_cancel(client);
    for (struct request *r = client->requests; r; r = r->client_next)
        r->client = NULL;
    client->requests = NULL;
    work_wake(client->server->work); /* for those that nobody wants now */
    *client->link = client->next;
    if (client->next)
        client->next->link = client->link;
    client->server->client_count--;
    uv_close((uv_handle_t *)&client->pipe, on_client_closed);
}

/* Its requests may go on when it has read enough. */
static void was_read(struct client *client, size_t size)
{
    size_t before = atomic_fetch_sub(&client->peer->unread, size);
    if (before >= REQUESTS_MAX_UNREAD && before - size < REQUESTS_MAX_UNREAD)
        work_wake(client->server->work);
}

static void on_written(uv_write_t *write, int status)
{
    struct output *output = write->data;
    struct client *client = output->client;
    was_read(client, output->line.size);
    buf_free(&output->line);
    free(output);
    if (status < 0)
        client_close(client);
    else
        client_go_on(client);
}

/* Takes the line over, which is counted as unread. */
static void client_send(struct client *client, struct buf *line)
{
    uv_stream_t *stream = (uv_stream_t *)&client->pipe;
    if (client->state != CLOSED &&
        uv_stream_get_write_queue_size(stream) > MAX_OUTPUT) {
        log_warn("a client does not read its answers; it is dropped");
        client_close(client);
    }
    if (client->state == CLOSED || !line->size) {
        buf_free(line);
        return;
    }
    struct output *output = mem_alloc(sizeof *output);
    output->client = client;
    output->line = *line;
    output->write.data = output;
    *line = (struct buf){0};
    uv_buf_t bytes = {output->line.data, output->line.size};
    if (uv_write(&output->write, stream, &bytes, 1, on_written) < 0) {
        buf_free(&output->line);
        free(output);
        client_close(client);
    }
}

static void client_send_error(struct client *client, const cJSON *id,
                              const struct err *err)
{
    struct buf line = {0};
    log_debug("refused: %s", err->message);
    rpc_put_error(&line, id, err);
    atomic_fetch_add(&client->peer->unread, line.size);
    client_send(client, &line);
}

static void client_send_result(struct client *client, const cJSON *id,
                               struct slice result)
{
    struct buf line = {0};
    if (id)
        rpc_put_result(&line, id, result);
    atomic_fetch_add(&client->peer->unread, line.size);
    client_send(client, &line);
}

/* ---- Clients: input ---- */

static void cancel_by_id(struct client *client, const cJSON *id)
{
    for (struct request *r = client->requests; r; r = r->client_next)
        if (r->rpc.id && cJSON_Compare(r->rpc.id, id, true))
            request_cancel(client->server, r);
}

static void run_here(struct client *client, const struct verb *verb,
                     const struct rpc *rpc)
{
    if (!strcmp(verb->name, "cancel")) {
        cancel_by_id(client,
                     cJSON_GetObjectItemCaseSensitive(rpc->params, "id"));
        client_send_result(client, rpc->id, slice_of("{}"));
        return;
    }
    char result[64];
    snprintf(result, sizeof result, "{\"stopping\":true,\"pid\":%ld}",
             (long)getpid());
    client_send_result(client, rpc->id, slice_of(result));
    server_stop(client->server);
}

static int verb_of(const struct rpc *rpc, const struct verb **ret_verb,
                   struct err *err)
{
    const struct verb *verb = verb_find(rpc->method);
    if (!verb)
        return err_set(err, RPC_NO_METHOD, "no such method: %.100s",
                       rpc->method);
    *ret_verb = verb;
    return verb_check(verb, rpc->params, err);
}

static void take_line(struct client *client, struct slice line)
{
    cJSON *message;
    struct rpc rpc;
    struct err err;
    const struct verb *verb = NULL;
    if (json_parse(line, &message, &err)) {
        err.code = RPC_NOT_JSON;
        client_send_error(client, NULL, &err);
        return;
    }
    if (json_check_texts(line, &err) || rpc_read(message, &rpc, &err) ||
        verb_of(&rpc, &verb, &err)) {
        client_send_error(client, rpc_id(message), &err);
    } else if (verb->thread == VERB_LOOP) {
        run_here(client, verb, &rpc);
    } else {
        struct request *request = request_new(message, &rpc, verb);
        request->peer = peer_ref(client->peer);
        watching_read(client->server->watching);
        request_link(client, request, line.size);
        work_submit(client->server->work, request);
        return;
    }
    cJSON_Delete(message);
}

static void on_buffer(uv_handle_t *handle, size_t hint, uv_buf_t *ret)
{
    struct client *client = handle->data;
    (void)hint;
    *ret = uv_buf_init(client->server->bytes, READ_BYTES);
}

/* False when it has closed the whole connection, not only its sending side. */
static bool still_listens(const struct client *client)
{
    struct pollfd at = {.events = 0};
    return !uv_fileno((const uv_handle_t *)&client->pipe, &at.fd) &&
           poll(&at, 1, 0) >= 0 && !(at.revents & (POLLHUP | POLLERR));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *bytes)
{
    struct client *client = stream->data;
    if (size == UV_EOF && still_listens(client)) {
        uv_read_stop(stream);
        client->state = ENDING;
    } else if (size < 0) {
        client_close(client);
    } else if (client->state == DRAINING) {
        client->drained += (size_t)size;
        if (client->drained > MAX_DRAINED)
            client_close(client);
    } else {
        line_reader_put(&client->line_reader, bytes->base, (size_t)size);
    }
    client_go_on(client);
}

/* Its input waits: it has asked a lot, or leaves a lot unread.  Before, it is read on,
 * for it may cancel what it has asked, or go. */
static bool has_enough(const struct client *client)
{
    return client->in_flight >= MAX_IN_FLIGHT ||
           (client->in_flight >= FEW_IN_FLIGHT &&
            client->asked >= SOME_INPUT) ||
           uv_stream_get_write_queue_size((const uv_stream_t *)&client->pipe) >=
               SOME_OUTPUT;
}

/* Nothing tells that a client has gone of which nothing is read. */
static void on_look(uv_timer_t *timer)
{
    struct server *server = timer->data;
    struct client *next;
    bool more = false;
    for (struct client *client = server->clients; client; client = next) {
        next = client->next;
        if (client->state != ENDING &&
            (client->state != OPEN || !has_enough(client)))
            continue;
        if (still_listens(client))
            more = true;
        else
            client_close(client);
    }
    if (!more)
        uv_timer_stop(timer);
}

static void look_at_times(struct server *server)
{
    if (!uv_is_active((uv_handle_t *)&server->look))
        uv_timer_start(&server->look, on_look, LOOK_MS, LOOK_MS);
}

static void read_later(struct client *client)
{
    uv_read_stop((uv_stream_t *)&client->pipe);
    look_at_times(client->server);
}

/* A line that is too long: nothing that follows can be read. */
static void give_up(struct client *client, const struct err *err)
{
    client_send_error(client, NULL, err);
    line_reader_free(&client->line_reader);
    if (client->state == OPEN)
        client->state = DRAINING;
}

/* What may be done for a client after something has changed: take its next
 * lines, read on or not, close it. */
static void client_go_on(struct client *client)
{
    struct slice line;
    struct err err;
    int code = 0;
    uv_stream_t *stream = (uv_stream_t *)&client->pipe;
    while (client->state != CLOSED && !has_enough(client) &&
           (code = line_reader_next(&client->line_reader, PROTOCOL_MAX_REQUEST,
                                    &line, &err)) > 0)
        take_line(client, line);
    if (client->state == CLOSED)
        return;
    if (code < 0)
        give_up(client, &err);
    if (client->state == ENDING && !client->in_flight &&
        !uv_stream_get_write_queue_size(stream))
        client_close(client);
    else if (client->state == ENDING)
        look_at_times(client->server);
    else if (client->state == OPEN && has_enough(client))
        read_later(client);
    else
        uv_read_start(stream, on_buffer, on_read);
}

static struct client *client_new(struct server *server)
{
    struct client *client = mem_alloc(sizeof *client);
    client->server = server;
    client->peer = peer_new();
    uv_pipe_init(&server->loop, &client->pipe, 0);
    client->pipe.data = client;
    client->next = server->clients;
    client->link = &server->clients;
    if (client->next)
        client->next->link = &client->next;
    server->clients = client;
    server->client_count++;
    return client;
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct server *server = stream->data;
    if (status < 0) {
        log_warn("cannot accept a client: %s", uv_strerror(status));
        return;
    }
    struct client *client = client_new(server);
    uv_stream_t *pipe = (uv_stream_t *)&client->pipe;
    int fd;
    if (uv_accept(stream, pipe) < 0 ||
        uv_fileno((uv_handle_t *)pipe, &fd) < 0) {
        client_close(client);
    } else if (!peer_is_allowed(fd)) {
        log_warn("a client of another user was turned away");
        client_close(client);
    } else if (server->client_count > PROTOCOL_MAX_CLIENTS) {
        struct err err;
        err_set(&err, ERR_LIMIT, "the daemon has %d clients and takes no more",
                PROTOCOL_MAX_CLIENTS);
        client->state = ENDING;
        client_send_error(client, NULL, &err);
        client_go_on(client);
    } else {
        client_go_on(client);
    }
}

/* ---- The server ---- */

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Once the last client has gone, or time is up. */
static void server_end(struct server *server)
{
    if (server->ended)
        return;
    server->ended = true;
    while (server->clients)
        client_close(server->clients);
    close_handle((uv_handle_t *)&server->mail);
    close_handle((uv_handle_t *)&server->limit);
    close_handle((uv_handle_t *)&server->look);
    watching_stop(server->watching);
    for (int i = 0; i < SIGNALS; i++)
        close_handle((uv_handle_t *)&server->signals[i]);
}

static void stop_further(struct server *server)
{
    struct client *next;
    for (struct client *client = server->clients; client; client = next) {
        next = client->next;
        client_go_on(client);
    }
    if (!server->clients && !server->in_flight)
        server_end(server);
}

static void on_mail(uv_async_t *async)
{
    struct server *server = async->data;
    struct response *response =
        response_queue_take(server->daemon->response_queue);
    while (response) {
        struct response *next = response->next;
        struct request *request = response->request;
        struct client *client = request->client;
        if (client)
            client_send(client, &response->line);
        if (response->last) {
            request_unlink(server, request);
            request_free(request);
            if (client)
                client_go_on(client);
        }
        response_free(response);
        response = next;
    }
    if (server->stopping)
        stop_further(server);
}

static void on_limit(uv_timer_t *timer)
{
    server_end(timer->data);
}

static void server_stop(struct server *server)
{
    if (server->stopping)
        return;
    server->stopping = true;
    log_info("stopping");
    service_notify("STOPPING=1");
    close_handle((uv_handle_t *)&server->listener);
    uv_timer_start(&server->limit, on_limit, STOP_MS, 0);
    jobs_cancel(server->daemon->jobs);
    for (struct client *client = server->clients; client;
         client = client->next) {
        uv_read_stop((uv_stream_t *)&client->pipe);
        client->state = ENDING;
        line_reader_free(&client->line_reader);
        requests_cancel(client);
    }
    /* Goes on in on_mail: this may be inside a client's own input. */
    uv_async_send(&server->mail);
}

static void on_signal(uv_signal_t *handle, int number)
{
    log_info("signal %d", number);
    server_stop(handle->data);
}

static int failed(struct err *err, const char *what, int number)
{
    return err_set(err, ERR_IO, "%s: %s", what, uv_strerror(number));
}

int server_new(int fd, struct server **ret_server, struct err *err)
{
    struct server *server = mem_alloc(sizeof *server);
    int number = uv_loop_init(&server->loop);
    if (number) {
        free(server);
        return failed(err, "cannot make an event loop", number);
    }
    uv_pipe_init(&server->loop, &server->listener, 0);
    uv_timer_init(&server->loop, &server->limit);
    uv_timer_init(&server->loop, &server->look);
    number = uv_async_init(&server->loop, &server->mail, on_mail);
    for (int i = 0; i < SIGNALS; i++) {
        uv_signal_init(&server->loop, &server->signals[i]);
        server->signals[i].data = server;
    }
    server->listener.data = server->mail.data = server->limit.data = server;
    server->look.data = server;
    if (!number)
        number = uv_pipe_open(&server->listener, fd);
    if (number) {
        server_free(server);
        return failed(err, "cannot use the socket", number);
    }
    *ret_server = server;
    return 0;
}

static void watch_signals(struct server *server)
{
    static const int numbers[SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    for (int i = 0; i < SIGNALS; i++)
        uv_signal_start(&server->signals[i], on_signal, numbers[i]);
}

int server_run(struct server *server, struct daemon *daemon, struct work *work,
               struct err *err)
{
    server->daemon = daemon;
    server->work = work;
    watch_signals(server);
    int number =
        uv_listen((uv_stream_t *)&server->listener, BACKLOG, on_connection);
    if (number)
        return failed(err, "cannot listen", number);
    int code = watching_start(daemon, &server->loop, &server->watching, err);
    if (code)
        return code;
    uv_run(&server->loop, UV_RUN_DEFAULT);
    return 0;
}

static void close_any(uv_handle_t *handle, void *context)
{
    (void)context;
    close_handle(handle);
}

void server_free(struct server *server)
{
    if (!server)
        return;
    uv_walk(&server->loop, close_any, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    uv_loop_close(&server->loop);
    watching_free(server->watching);
    free(server);
}

void server_wake(void *server)
{
    uv_async_send(&((struct server *)server)->mail);
}
