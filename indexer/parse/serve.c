#include "indexer/parse/serve.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "indexer/parse/docset/docset.h"
#include "indexer/parse/scripts/scripts.h"
#include "indexer/parse/html/dom/xhtml.h"
#include "indexer/parse/html/html.h"
#include "indexer/parse/html/html_fragment.h"
#include "indexer/parse/latex/latex.h"
#include "indexer/parse/text/charset.h"
#include "indexer/wire.h"

void serve_load(void)
{
    charset_load();
    xhtml_load();
    docset_load();
}

static bool receive(void *bytes, size_t size)
{
    char *at = bytes;
    while (size) {
        ssize_t n = read(WIRE_FD, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool send_all(const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t n = send(WIRE_FD, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* A file that is parsed, and how much of others it was given. */
struct asking {
    uint64_t number; /* of the request */
    size_t given;    /* bytes */
};

/* Asks the daemon for a file that the document includes. */
static bool ask(void *context, struct slice names, struct buf *ret_bytes,
                struct buf *ret_path)
{
    struct asking *asking = context;
    struct wire_reply asks = {asking->number, WIRE_ASKS, -1, names.size};
    struct wire_request input;
    if (names.size > WIRE_MAX_NAMES)
        return false;
    if (!send_all(&asks, sizeof asks) || !send_all(names.data, names.size) ||
        !receive(&input, sizeof input) || input.kind != WIRE_INPUT ||
        input.size > PARSER_MAX_BYTES)
        _exit(0);
    buf_reserve(ret_bytes, input.size + 1);
    if (!receive(ret_bytes->data, input.size))
        _exit(0);
    ret_bytes->data[input.size] = '\0';
    buf_put_text(ret_path, ret_bytes->data);
    if (input.format) {
        size_t path = ret_path->size + 1;
        ret_bytes->size = input.size - path;
        memmove(ret_bytes->data, ret_bytes->data + path, ret_bytes->size);
        asking->given += ret_bytes->size;
    }
    return input.format != 0;
}

/* ERR_LIMIT: the tree that `out` holds from `head` on is more than the daemon would
 * believe of so many bytes.  An item is at least a byte of an encoded tree. */
static int check_tree(const struct buf *out, size_t head, size_t size,
                      struct err *err)
{
    const struct tree_limits limits = wire_tree_limits(size);
    struct tree *tree;
    if (out->size > wire_max_reply(size))
        return err_set(err, ERR_LIMIT,
                       "is read as %zu bytes, more than %d times what it has: "
                       "macros or spans of cells repeat its text",
                       out->size, WIRE_MAX_GROWTH);
    if (out->size - head <= size)
        return 0;
    if (tree_decode_within(out->data + head, out->size - head, &limits, &tree,
                           NULL))
        return err_set(err, ERR_LIMIT,
                       "is read as more sections, blocks and links than its "
                       "%zu bytes can hold: macros repeat them",
                       size);
    tree_free(tree);
    return 0;
}

/* Paths are bytes; what the daemon is told is text. */
static void put_reports(const struct buf *reports, struct buf *out)
{
    struct buf text = {0};
    text_put_utf8(&text, buf_slice(reports), SIZE_MAX);
    buf_put_string(out, buf_slice(&text));
    buf_free(&text);
}

static int parse(const struct wire_request *request, struct slice bytes,
                 struct buf *out, struct err *err)
{
    struct tree *tree = NULL;
    struct asking asking = {.number = request->number};
    int rc;
    if (request->format == PARSER_LATEX) {
        struct latex_reader reader = {&asking, ask};
        struct buf reports = {0};
        if (request->kind == WIRE_BOILERPLATE) /* nothing is */
            bytes.size = 0;
        rc = latex_parse(bytes, &reader, &tree, &reports, err);
        if (!rc)
            put_reports(&reports, out);
        buf_free(&reports);
    } else if (request->format == PARSER_DOCSET) {
        rc = docset_parse(bytes, &tree, err);
    } else if (request->format == PARSER_SCRIPT) {
        rc = scripts_parse(bytes, &tree, err);
        if (!rc)
            put_reports(&(struct buf){0}, out);
    } else {
        struct buf reports = {0};
        rc =
            request->kind == WIRE_BOILERPLATE
                ? html_boilerplate(bytes, (int)request->format, &tree, err)
                : html_parse(bytes, (int)request->format, &tree, &reports, err);
        if (!rc)
            put_reports(&reports, out);
        buf_free(&reports);
    }
    if (rc)
        return rc;
    size_t head = out->size;
    tree_encode(tree, out);
    tree_free(tree);
    return check_tree(out, head, bytes.size + asking.given, err);
}

static int answer(const struct wire_request *request, struct slice bytes,
                  struct buf *out, struct err *err)
{
    if (request->kind != WIRE_TEXT)
        return parse(request, bytes, out, err);
    if (request->format == PARSER_LATEX)
        latex_text(bytes, (int)request->encoding, out);
    else if (request->format == PARSER_DOCSET ||
             request->format == PARSER_SCRIPT) /* they have no text */
        buf_put(out, &(uint64_t){0}, sizeof(uint64_t));
    else
        fragment_text((struct slice){bytes.data, request->head},
                      (struct slice){bytes.data + request->head,
                                     bytes.size - request->head},
                      (int)request->format, (int)request->encoding, out);
    return 0;
}

/* A large file's buffer would be held against the next one's limit. */
static void shed(struct buf *buf)
{
    enum { KEPT = 1 << 22 };
    if (buf->capacity > KEPT)
        buf_free(buf);
    else
        buf_clear(buf);
}

/* False when there is nothing more to do. */
static bool serve(struct buf *in, struct buf *out)
{
    struct wire_request request;
    if (!receive(&request, sizeof request) || request.kind < WIRE_PARSE ||
        request.kind > WIRE_BOILERPLATE || request.size > PARSER_MAX_BYTES ||
        request.encoding >= ENCODINGS || request.format >= PARSER_FORMATS ||
        request.head > request.size)
        return false;
    shed(in);
    buf_reserve(in, request.size);
    if (!receive(in->data, request.size))
        return false;
    in->size = request.size;
    in->data[in->size] = '\0';

    struct err err = {.position = -1};
    shed(out);
    int rc = answer(&request, buf_slice(in), out, &err);
    if (rc) {
        buf_clear(out);
        /* Words of the file may be in it, cut within a character. */
        text_put_utf8(out, slice_of(err.message), sizeof err.message - 1);
    }
    struct wire_reply reply = {request.number, rc, err.position, out->size};
    return send_all(&reply, sizeof reply) && send_all(out->data, out->size);
}

void serve_all(void)
{
    struct buf in = {0}, out = {0};
    while (serve(&in, &out))
        continue;
    buf_free(&in);
    buf_free(&out);
}
