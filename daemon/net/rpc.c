#include "daemon/net/rpc.h"

#include <math.h>

/* A number beyond all doubles could not be said back. */
static bool is_id(const cJSON *item)
{
    return cJSON_IsString(item) ||
           (cJSON_IsNumber(item) && isfinite(item->valuedouble));
}

const cJSON *rpc_id(const cJSON *message)
{
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(message, "id");
    return is_id(id) ? id : NULL;
}

static int wrong(struct err *err, const char *what)
{
    return err_set(err, RPC_NOT_A_REQUEST, "not a request: %s", what);
}

int rpc_read(const cJSON *message, struct rpc *ret_rpc, struct err *err)
{
    if (!cJSON_IsObject(message))
        return wrong(err, "a line must hold one object");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(message, "jsonrpc");
    if (version && !(cJSON_IsString(version) &&
                     slice_is(slice_of(version->valuestring), "2.0")))
        return wrong(err, "\"jsonrpc\" must be \"2.0\"");
    const char *method = json_get_text(message, "method", NULL);
    if (!method)
        return wrong(err, "\"method\" must be a string");
    const cJSON *params = cJSON_GetObjectItemCaseSensitive(message, "params");
    if (cJSON_IsNull(params))
        params = NULL;
    if (params && !cJSON_IsObject(params))
        return wrong(err, "\"params\" must be an object");
    const cJSON *id = cJSON_GetObjectItemCaseSensitive(message, "id");
    if (id && !is_id(id) && !cJSON_IsNull(id))
        return wrong(err, "\"id\" must be a string or a number");
    *ret_rpc = (struct rpc){method, params, rpc_id(message)};
    return 0;
}

void rpc_id_value(struct json *json, const cJSON *id)
{
    if (cJSON_IsString(id)) {
        json_string(json, slice_of(id->valuestring));
    } else if (cJSON_IsNumber(id)) {
        char *text = cJSON_PrintUnformatted(id);
        json_raw(json, slice_of(text ? text : "null"));
        cJSON_free(text);
    } else {
        json_null(json);
    }
}

static struct json begin(struct buf *line)
{
    struct json json = json_to(line);
    json_begin(&json, '{');
    json_field_text(&json, "jsonrpc", "2.0");
    return json;
}

static void end(struct json *json)
{
    json_end(json, '}');
    buf_put_byte(json->out, '\n');
}

void rpc_put_result(struct buf *line, const cJSON *id, struct slice result)
{
    struct json json = begin(line);
    json_key(&json, "id");
    rpc_id_value(&json, id);
    json_key(&json, "result");
    json_raw(&json, result);
    end(&json);
}

void rpc_error_data(struct json *json, const struct err *err)
{
    json_begin(json, '{');
    json_field_text(json, "code",
                    err_name(err->code < -32000 ? ERR_USAGE : err->code));
    json_field_text(json, "message", err->message);
    if (err->path[0])
        json_field_text(json, "path", err->path);
    if (err->position >= 0)
        json_field_int(json, "position", err->position);
    json_end(json, '}');
}

void rpc_put_error(struct buf *line, const cJSON *id, const struct err *err)
{
    struct json json = begin(line);
    json_key(&json, "id");
    rpc_id_value(&json, id);
    json_key(&json, "error");
    json_begin(&json, '{');
    json_field_int(&json, "code", err->code);
    json_field_text(&json, "message", err->message);
    json_key(&json, "data");
    rpc_error_data(&json, err);
    json_end(&json, '}');
    end(&json);
}

void rpc_put_notification(struct buf *line, const char *method,
                          struct slice params)
{
    struct json json = begin(line);
    json_field_text(&json, "method", method);
    json_key(&json, "params");
    json_raw(&json, params);
    end(&json);
}
