#include "cli/web/web_relay.h"

#include <errno.h>
#include <poll.h>

#include "base/json.h"
#include "cli/client.h"

int relay_open(struct relay *relay, const struct web *web, int browser,
               const char *method, struct slice params, struct err *err)
{
    int64_t id;
    *relay = (struct relay){.connection.fd = -1, .browser = browser};
    return connection_send(&relay->connection, &web->config, web->config_flag,
                           method, params, &id, err);
}

/* False: the line says nothing that the browser is told. */
static bool read_line(struct slice line, enum relay_kind *ret_kind,
                      struct slice *ret_value)
{
    struct slice method, error;
    if (client_member(line, "result", ret_value)) {
        *ret_kind = RELAY_RESULT;
        return true;
    }
    if (client_member(line, "error", &error)) {
        if (!client_member(error, "data", ret_value))
            *ret_value = error;
        *ret_kind = RELAY_ERROR;
        return true;
    }
    *ret_kind = RELAY_EVENT;
    return client_member(line, "method", &method) &&
           slice_is(method, "\"event\"") &&
           client_member(line, "params", ret_value);
}

/* An error without an id is of all that is asked: the daemon takes no more clients. */
static bool is_turned_away(struct slice line)
{
    struct slice id;
    return client_member(line, "id", &id) && slice_is(id, "null");
}

static int turn_away(struct slice error, struct err *err)
{
    cJSON *object = NULL;
    json_parse(error, &object, NULL);
    int code = err_set(err, ERR_UNREACHABLE, "%s",
                       json_get_text(object, "message", "the daemon is busy"));
    cJSON_Delete(object);
    return code;
}

int relay_next(struct relay *relay, enum relay_kind *ret_kind,
               struct slice *ret_value, struct err *err)
{
    struct slice line;
    for (;;) {
        while (connection_next(&relay->connection, &line))
            if (read_line(line, ret_kind, ret_value))
                return *ret_kind == RELAY_ERROR && is_turned_away(line)
                           ? turn_away(*ret_value, err)
                           : 0;
        struct pollfd fds[] = {{.fd = relay->connection.fd, .events = POLLIN},
                               {.fd = relay->browser, .events = POLLRDHUP}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return err_errno(err, ERR_IO, "cannot wait for the daemon");
        if (fds[1].revents) {
            *ret_kind = RELAY_GONE;
            return 0;
        }
        if (fds[0].revents && !connection_read(&relay->connection))
            return err_set(err, ERR_UNREACHABLE,
                           "the daemon went away before it answered; ask "
                           "again");
    }
}

void relay_close(struct relay *relay)
{
    connection_close(&relay->connection);
}
