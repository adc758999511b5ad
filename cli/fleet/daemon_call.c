/* The daemon of this machine, asked by a process that has other things to see to. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/file.h"
#include "cli/client.h"
#include "cli/fleet/fleet.h"

/* A signal may come between a look whether one has and the wait. */
enum { LOOK_MS = 1000 };

static int gone(struct err *err)
{
    return err_set(err, ERR_UNREACHABLE,
                   "the daemon went away before it answered");
}

static int take_error(const cJSON *error, struct err *err)
{
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(error, "data");
    int code = (int)json_get_int(error, "code", ERR_INTERNAL);
    const char *message = json_get_text(error, "message", "it failed");
    return err_set(err, code < 0 && code >= ERR_LAST ? code : ERR_INTERNAL,
                   "%s", json_get_text(data, "message", message));
}

/* 1: it was the reply. */
static int take_line(struct slice line, int64_t id, cJSON **ret_result,
                     int *ret_code, struct err *err)
{
    cJSON *reply;
    if (json_parse(line, &reply, NULL))
        return 0;
    const cJSON *whose = cJSON_GetObjectItemCaseSensitive(reply, "id");
    /* An error without an id: the daemon takes no more clients. */
    bool ours = json_get_int(reply, "id", -1) == id || cJSON_IsNull(whose);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(reply, "error");
    if (ours && error)
        *ret_code = take_error(error, err);
    else if (ours)
        *ret_result = cJSON_DetachItemFromObjectCaseSensitive(reply, "result");
    cJSON_Delete(reply);
    return ours;
}

static int await(struct fleet *fleet, int64_t id, fleet_each *each, void *user,
                 int64_t ms, cJSON **ret_result, struct err *err)
{
    int64_t next = clock_ms() + ms;
    for (;;) {
        struct slice line;
        int code = 0;
        while (connection_next(&fleet->daemon, &line))
            if (take_line(line, id, ret_result, &code, err))
                return code;
        if (fleet_is_over())
            code = err_set(err, ERR_CANCELLED, "interrupted");
        if (!code && each && clock_ms() >= next) {
            code = each(user, err);
            next = clock_ms() + ms;
        }
        if (code) {
            connection_cancel(&fleet->daemon, id);
            connection_close(&fleet->daemon);
            return code;
        }
        struct pollfd fd = {.fd = fleet->daemon.fd, .events = POLLIN};
        if (poll(&fd, 1, each && ms < LOOK_MS ? (int)ms : LOOK_MS) > 0 &&
            !connection_read(&fleet->daemon))
            return gone(err);
    }
}

int fleet_call(struct fleet *fleet, const char *method, struct slice params,
               fleet_each *each, void *user, int64_t ms, cJSON **ret_result,
               struct err *err)
{
    int64_t id;
    int code = connection_send(&fleet->daemon, &fleet->config,
                               fleet->config_flag, method, params, &id, err);
    if (code) { /* it may have been stopped since the last call */
        connection_close(&fleet->daemon);
        code = connection_send(&fleet->daemon, &fleet->config,
                               fleet->config_flag, method, params, &id, err);
    }
    if (!code)
        code = await(fleet, id, each, user, ms, ret_result, err);
    if (code == ERR_UNREACHABLE)
        connection_close(&fleet->daemon);
    return code;
}

int fleet_call_with(struct fleet *fleet, const char *method, const char *key,
                    const char *text, fleet_each *each, void *user, int64_t ms,
                    cJSON **ret_result, struct err *err)
{
    struct buf params = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    if (key)
        json_field_text(&json, key, text);
    json_end(&json, '}');
    int code = fleet_call(fleet, method, buf_slice(&params), each, user, ms,
                          ret_result, err);
    buf_free(&params);
    return code;
}

/* ---- Its store ---- */

enum { STATUS_MS = 2000 };

static int give_up(void *user, struct err *err)
{
    (void)user;
    return err_set(err, ERR_CANCELLED, "the daemon does not say its store");
}

int fleet_check_store(struct fleet *fleet, struct err *err)
{
    cJSON *status = NULL;
    if (client_connect(config_text(&fleet->config, CONFIG_SOCKET),
                       &fleet->daemon.fd, NULL)) {
        fleet->daemon.fd = -1;
        return 0;
    }
    fleet_call(fleet, "status", slice_of("{\"config\":true}"), give_up, NULL,
               STATUS_MS, &status, NULL);
    int code = client_check_store(&fleet->config, status, err);
    cJSON_Delete(status);
    return code;
}
