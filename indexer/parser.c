#include "indexer/parser.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "indexer/parser_internal.h"
#include "indexer/wire.h"

enum {
    CANCEL_MS = 100, /* how often a cancellation is asked after */
    MAX_ASKED = 20000
};

struct parser *parser_new(const struct parser_options *options)
{
    struct parser *parser = mem_alloc(sizeof *parser);
    parser->program = mem_strdup(options->program);
    parser->max_memory =
        options->max_memory ? options->max_memory : (uint64_t)2 << 30;
    parser->max_seconds = options->max_seconds ? options->max_seconds : 60;
    parser->cancel = options->cancel;
    parser->socket = -1;
    return parser;
}

static void forget_handed(struct parser *parser)
{
    while (parser->handed_count)
        free(parser->handed[--parser->handed_count].path);
    parser->handed_bytes = 0;
}

void parser_free(struct parser *parser)
{
    if (!parser)
        return;
    if (parser->pid)
        process_end(parser, true);
    forget_handed(parser);
    free(parser->handed);
    free(parser->program);
    free(parser);
}

/* ---- Requests ---- */

/* Waits until the socket is ready; ERR_LIMIT at the deadline, ERR_CANCELLED. */
static int wait_for(struct parser *parser, short events, struct err *err)
{
    for (;;) {
        if (process_is_overdue(parser))
            return process_too_slow(parser, err);
        if (parser->cancel && atomic_load(parser->cancel)) {
            process_end(parser, true);
            return err_set(err, ERR_CANCELLED, "stopped while parsing");
        }
        struct pollfd one = {parser->socket, events, 0};
        int n = poll(&one, 1, CANCEL_MS);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return process_nonsense(parser, err);
    }
}

static int put(struct parser *parser, const void *bytes, size_t size,
               struct err *err)
{
    const char *at = bytes;
    while (size) {
        ssize_t n = send(parser->socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            int rc = wait_for(parser, POLLOUT, err);
            if (rc)
                return rc;
            continue;
        }
        if (n <= 0)
            return process_died(parser, err);
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

static int take(struct parser *parser, void *bytes, size_t size,
                struct err *err)
{
    char *at = bytes;
    while (size) {
        ssize_t n = recv(parser->socket, at, size, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            int rc = wait_for(parser, POLLIN, err);
            if (rc)
                return rc;
            continue;
        }
        if (n <= 0)
            return process_died(parser, err);
        at += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Appends in steps, so that a false size costs no more than what came. */
static int take_into(struct parser *parser, struct buf *buf, uint64_t size,
                     struct err *err)
{
    enum { STEP = 1 << 22 };
    while (size) {
        size_t step = size < STEP ? (size_t)size : STEP;
        buf_reserve(buf, step);
        int rc = take(parser, buf->data + buf->size, step, err);
        if (rc)
            return rc;
        buf->size += step;
        buf->data[buf->size] = '\0';
        size -= step;
    }
    return 0;
}

/* The failure that the process reports in place of an answer. */
static int reported(const struct wire_reply *reply, const struct buf *message,
                    struct parser *parser, struct err *err)
{
    struct slice text = buf_slice(message);
    if ((reply->status != ERR_FORMAT && reply->status != ERR_LIMIT) ||
        !text_is_utf8(text.data, text.size))
        return process_nonsense(parser, err);
    struct buf clean = {0};
    for (size_t at = 0, step; at < text.size; at += step) {
        uint32_t code = text_decode(text.data, text.size, at, &step);
        if (code >= ' ' && (code < 0x7f || code >= 0xa0))
            buf_put(&clean, text.data + at, step);
    }
    int code = (int)reply->status;
    err_set(err, code, "%s", buf_slice(&clean).data);
    buf_free(&clean);
    if (err)
        err->position = reply->position < -1 ? -1 : reply->position;
    return code;
}

/* ---- Handing files over ---- */

static void note_handed(struct parser *parser, const struct buf *path,
                        size_t size)
{
    for (size_t i = 0; i < parser->handed_count; i++)
        if (!strcmp(parser->handed[i].path, path->data))
            return;
    MEM_RESERVE(parser->handed, &parser->handed_capacity,
                parser->handed_count + 1);
    parser->handed[parser->handed_count++] =
        (struct handed){mem_strdup(path->data), size};
}

/* Answers the child's question for one of these names. */
static int hand_over(struct parser *parser, const struct wire_request *request,
                     struct slice names, struct err *err)
{
    struct slice bytes = {"", 0};
    struct buf path = {0};
    struct wire_request input = {.number = request->number, .kind = WIRE_INPUT};
    const struct parser_inputs *inputs = parser->inputs;
    int64_t began = clock_ms();
    bool found = inputs && inputs->open &&
                 inputs->open(inputs->context, names, &bytes, &path);
    parser->served_ms += clock_ms() - began;
    buf_put_byte(&path, '\0');
    if (found &&
        bytes.size + path.size + parser->handed_bytes > PARSER_MAX_BYTES) {
        found = false;
        buf_clear(&path);
        buf_printf(&path, "its files are larger than %d MiB",
                   PARSER_MAX_BYTES >> 20);
        buf_put_byte(&path, '\0');
    }
    if (found) {
        parser->handed_bytes += bytes.size;
        note_handed(parser, &path, bytes.size);
    } else {
        bytes.size = 0;
    }
    input.format = found;
    input.size = path.size + bytes.size;
    int rc = put(parser, &input, sizeof input, err);
    if (!rc)
        rc = put(parser, path.data, path.size, err);
    if (!rc)
        rc = put(parser, bytes.data, bytes.size, err);
    buf_free(&path);
    return rc;
}

/* Takes the reply's header, after all that the child asks for before. */
static int take_reply(struct parser *parser, const struct wire_request *request,
                      struct wire_reply *reply, struct err *err)
{
    for (size_t asked = 0;; asked++) {
        int rc = take(parser, reply, sizeof *reply, err);
        if (rc || reply->status != WIRE_ASKS)
            return rc;
        struct buf names = {0};
        /* One that asks without a pause is never waited for. */
        if (process_is_overdue(parser))
            return process_too_slow(parser, err);
        if (parser->cancel && atomic_load(parser->cancel)) {
            process_end(parser, true);
            return err_set(err, ERR_CANCELLED, "stopped while parsing");
        }
        if (reply->number != request->number || reply->size > WIRE_MAX_NAMES ||
            asked > MAX_ASKED)
            return process_nonsense(parser, err);
        rc = take_into(parser, &names, reply->size, err);
        if (!rc)
            rc = hand_over(parser, request, buf_slice(&names), err);
        buf_free(&names);
        if (rc)
            return rc;
    }
}

static int exchange(struct parser *parser, struct wire_request request,
                    struct slice bytes, struct buf *answer, struct err *err)
{
    request.number = ++parser->number;
    request.size = bytes.size;
    forget_handed(parser);
    int rc = put(parser, &request, sizeof request, err);
    if (!rc)
        rc = put(parser, bytes.data, bytes.size, err);
    struct wire_reply reply;
    if (!rc)
        rc = take_reply(parser, &request, &reply, err);
    if (rc)
        return rc;
    uint64_t size = bytes.size + parser->handed_bytes;
    uint64_t max =
        reply.status ? sizeof err->message - 1 : wire_max_reply(size);
    if (reply.number != request.number || reply.size > max)
        return process_nonsense(parser, err);
    rc = take_into(parser, answer, reply.size, err);
    if (!rc && reply.status)
        rc = reported(&reply, answer, parser, err);
    return rc;
}

static int ask(struct parser *parser, struct wire_request request,
               struct slice bytes, struct buf *answer, struct err *err)
{
    if (bytes.size > PARSER_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "larger than %d MiB",
                       PARSER_MAX_BYTES >> 20);
    int rc = process_ready(parser, err);
    if (rc)
        return rc;
    process_set_deadline(parser);
    parser->requests++;
    rc = exchange(parser, request, bytes, answer, err);
    parser->busy_ms += clock_ms() - parser->began;
    return rc;
}

/* ---- What is asked ---- */

static int ask_tree(struct parser *parser, enum wire_kind kind,
                    struct slice bytes, enum parser_format format,
                    const struct parser_inputs *inputs, struct tree **ret_tree,
                    struct err *err)
{
    struct buf answer = {0};
    struct wire_request request = {.kind = kind, .format = (uint64_t)format};
    parser->inputs = inputs;
    int rc = ask(parser, request, bytes, &answer, err);
    struct slice encoded = buf_slice(&answer);
    if (!rc &&
        ((format != PARSER_DOCSET && !reply_read_reports(&encoded, inputs)) ||
         !reply_read_tree(parser, encoded, bytes.size, ret_tree)))
        rc = process_nonsense(parser, err);
    parser->inputs = NULL;
    buf_free(&answer);
    return rc;
}

int parser_parse(struct parser *parser, struct slice bytes,
                 enum parser_format format, const struct parser_inputs *inputs,
                 struct tree **ret_tree, struct err *err)
{
    return ask_tree(parser, WIRE_PARSE, bytes, format, inputs, ret_tree, err);
}

int parser_boilerplate(struct parser *parser, struct slice bytes,
                       enum parser_format format, struct tree **ret_tree,
                       struct err *err)
{
    return ask_tree(parser, WIRE_BOILERPLATE, bytes, format, NULL, ret_tree,
                    err);
}

int parser_text(struct parser *parser, struct slice head, struct slice bytes,
                enum parser_format format, enum encoding encoding,
                struct buf *ret_text, struct buf *ret_places, struct err *err)
{
    struct buf answer = {0}, both = {0};
    struct wire_request request = {.kind = WIRE_TEXT,
                                   .format = (uint64_t)format,
                                   .encoding = (uint64_t)encoding,
                                   .head = head.size};
    if (head.size) {
        buf_put_slice(&both, head);
        buf_put_slice(&both, bytes);
    }
    int rc = ask(parser, request, head.size ? buf_slice(&both) : bytes, &answer,
                 err);
    buf_free(&both);
    struct slice text, places;
    if (!rc && !reply_read_text(&answer, bytes.size, &text, &places))
        rc = process_nonsense(parser, err);
    if (!rc) {
        buf_put_slice(ret_text, text);
        buf_put_slice(ret_places, places);
    }
    buf_free(&answer);
    return rc;
}
