/* Fuzz target: any bytes as what a client sends.  The same lines come out however the
 * bytes are cut up, and each is answered by one line of JSON that has the request's
 * id. */
#include "base/text.h"
#include "daemon/net/line_reader.h"
#include "daemon/net/rpc.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_LINE = 600 };

/* Takes what is whole; the lines are put one behind the other. */
static int take_lines(struct line_reader *reader, struct buf *ret)
{
    struct slice line;
    int code;
    while ((code = line_reader_next(reader, MAX_LINE, &line, NULL)) > 0) {
        CHECK(line.size <= MAX_LINE && !memchr(line.data, '\n', line.size));
        buf_put_slice(ret, line);
        buf_put_byte(ret, '\n');
    }
    return code;
}

/* By pieces of `step` bytes; 0: as one. */
static int read_lines(const uint8_t *data, size_t size, size_t step,
                      struct buf *ret)
{
    struct line_reader reader = {0};
    int code = 0;
    for (size_t at = 0; at < size && !code;) {
        size_t piece = step && step < size - at ? step : size - at;
        line_reader_put(&reader, (const char *)data + at, piece);
        at += piece;
        code = take_lines(&reader, ret);
    }
    line_reader_free(&reader);
    return code;
}

/* What is no UTF-8 cannot be said back in JSON. */
static bool can_be_said(const cJSON *id)
{
    return !cJSON_IsString(id) ||
           text_is_utf8(id->valuestring, strlen(id->valuestring));
}

static void check_line(const struct buf *line, const cJSON *id)
{
    cJSON *message = NULL;
    CHECK(line->size && line->data[line->size - 1] == '\n');
    CHECK(memchr(line->data, '\n', line->size) == line->data + line->size - 1);
    CHECK(!json_parse(buf_slice(line), &message, NULL));
    const cJSON *answered = cJSON_GetObjectItemCaseSensitive(message, "id");
    CHECK(!id ? cJSON_IsNull(answered)
              : !can_be_said(id) || cJSON_Compare(answered, id, true));
    cJSON_Delete(message);
}

static void answer(struct slice line)
{
    struct err err = {.position = -1};
    struct buf out = {0};
    cJSON *message = NULL;
    struct rpc rpc = {0};
    if (!json_parse(line, &message, &err) && !rpc_read(message, &rpc, &err)) {
        CHECK(rpc.method && (!rpc.params || cJSON_IsObject(rpc.params)));
        rpc_put_result(&out, rpc.id, slice_of("{}"));
        check_line(&out, rpc.id);
    } else {
        CHECK(err.code && err.message[0]);
        const cJSON *id = message ? rpc_id(message) : NULL;
        rpc_put_error(&out, id, &err);
        check_line(&out, id);
    }
    buf_free(&out);
    cJSON_Delete(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {0}, pieces = {0};
    int code = read_lines(data, size, 0, &whole);
    CHECK(code == read_lines(data, size, size ? 1 + data[0] % 7 : 1, &pieces));
    CHECK(slice_equal(buf_slice(&whole), buf_slice(&pieces)));
    for (size_t at = 0; at < whole.size;) {
        const char *line = whole.data + at;
        const char *end = memchr(line, '\n', whole.size - at);
        answer((struct slice){line, (size_t)(end - line)});
        at += (size_t)(end - line) + 1;
    }
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
