#include "daemon/net/stream_event.h"

bool event_wanted(const struct call *call)
{
    return call->request->rpc.id &&
           json_get_bool(call->params, "stream", false);
}

struct json event_begin(const struct call *call, const char *name,
                        struct buf *params)
{
    struct json json = json_to(params);
    json_begin(&json, '{');
    json_key(&json, "id");
    rpc_id_value(&json, call->request->rpc.id);
    json_field_text(&json, "event", name);
    return json;
}

void event_send(const struct call *call, struct json *json)
{
    json_end(json, '}');
    request_notify(call->daemon->response_queue, call->request, "event",
                   buf_slice(json->out));
    buf_free(json->out);
}

void event_token(const struct call *call, struct slice text)
{
    struct buf params = {0};
    struct json json = event_begin(call, "token", &params);
    json_field_string(&json, "text", text);
    event_send(call, &json);
}
