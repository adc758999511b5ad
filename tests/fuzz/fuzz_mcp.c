/* Fuzz target: bytes as what an agent sends to `lectern mcp`, and behind the first NUL
 * as what a daemon answers.  Whatever comes, each line that goes out is one message of
 * JSON-RPC, and no request is answered twice. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/connection.h"
#include "cli/mcp/mcp.h"
#include "tests/fuzz/fuzz.h"

/* ---- The daemon: what is scripted stands for it (cli/connection.h) ---- */

static struct slice script; /* lines still to come */
static struct buf line;

int connection_send(struct connection *connection, const struct config *config,
                    const char *config_flag, const char *method,
                    struct slice params, int64_t *ret_id, struct err *err)
{
    cJSON *value = NULL;
    (void)config;
    (void)config_flag;
    CHECK(method[0] && !json_parse(params, &value, NULL) &&
          cJSON_IsObject(value));
    cJSON_Delete(value);
    if (!script.size)
        return err_set(err, ERR_UNREACHABLE, "nobody is there");
    if (connection->fd < 0)
        connection->fd = open("/dev/null", O_RDONLY); /* always ready */
    *ret_id = ++connection->last_id;
    return 0;
}

void connection_cancel(struct connection *connection, int64_t id)
{
    CHECK(id > 0 && id <= connection->last_id);
}

/* After the last line it has gone. */
bool connection_read(struct connection *connection)
{
    if (script.size)
        return true;
    connection_close(connection);
    return false;
}

bool connection_next(struct connection *connection, struct slice *ret_line)
{
    if (connection->fd < 0 || !script.size)
        return false;
    const char *end = memchr(script.data, '\n', script.size);
    size_t size = end ? (size_t)(end - script.data) : script.size;
    buf_clear(&line);
    buf_put(&line, script.data, size);
    script.data += size + (end != NULL);
    script.size -= size + (end != NULL);
    *ret_line = buf_slice(&line);
    return true;
}

void connection_close(struct connection *connection)
{
    if (connection->fd >= 0)
        close(connection->fd);
    connection->fd = -1;
}

/* ---- What went out ---- */

static void check_message(struct slice text)
{
    cJSON *message = NULL;
    CHECK(!json_parse(text, &message, NULL) && cJSON_IsObject(message));
    CHECK(!strcmp(json_get_text(message, "jsonrpc", ""), "2.0"));
    CHECK(cJSON_GetObjectItem(message, "id"));
    const cJSON *error = cJSON_GetObjectItem(message, "error");
    CHECK(!cJSON_GetObjectItem(message, "result") == (error != NULL));
    if (error)
        CHECK(json_get_text(error, "message", NULL) &&
              json_get_int(error, "code", 0));
    cJSON_Delete(message);
}

static size_t check_output(struct slice out)
{
    size_t lines = 0;
    while (out.size) {
        const char *end = memchr(out.data, '\n', out.size);
        CHECK(end);
        check_message((struct slice){out.data, (size_t)(end - out.data)});
        out.size -= (size_t)(end + 1 - out.data);
        out.data = end + 1;
        lines++;
    }
    return lines;
}

static size_t lines_in(struct slice text)
{
    size_t lines = 1;
    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    return lines;
}

/* ---- Standard input and output, as files in memory ---- */

static int in = -1, out = -1;

static void open_files(void)
{
    if (in >= 0)
        return;
    in = memfd_create("in", 0);
    out = memfd_create("out", 0);
    CHECK(in >= 0 && out >= 0 && dup2(in, STDIN_FILENO) >= 0 &&
          dup2(out, STDOUT_FILENO) >= 0);
}

static void set_input(struct slice text)
{
    CHECK(!ftruncate(in, 0) && !ftruncate(out, 0));
    lseek(out, 0, SEEK_SET);
    CHECK(pwrite(in, text.data, text.size, 0) == (ssize_t)text.size);
    lseek(in, 0, SEEK_SET);
}

static struct buf output(void)
{
    struct buf all = {0};
    fflush(stdout);
    off_t size = lseek(out, 0, SEEK_END);
    buf_reserve(&all, (size_t)size + 1);
    CHECK(pread(out, all.data, (size_t)size, 0) == size);
    all.size = (size_t)size;
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cli cli = {0};
    struct err err = {.position = -1};
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    struct slice asked = {(const char *)data,
                          nul ? (size_t)(nul - data) : size};
    script = nul ? (struct slice){(const char *)nul + 1, size - asked.size - 1}
                 : (struct slice){0};
    open_files();
    set_input(asked);
    int code = mcp_serve(&cli, &err);
    CHECK(!code || err.message[0]);
    struct buf all = output();
    CHECK(check_output(buf_slice(&all)) <= lines_in(asked));
    buf_free(&all);
    return 0;
}
