/* JSON-RPC 2.0: what a message asks for, and the lines that answer it. */
#ifndef DAEMON_NET_RPC_H
#define DAEMON_NET_RPC_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

/* JSON-RPC's own codes; they may stand in err.code. */
enum {
    RPC_NOT_JSON = -32700,
    RPC_NOT_A_REQUEST = -32600,
    RPC_NO_METHOD = -32601
};

/* Parts of a message, which owns them. */
struct rpc {
    const char *method;
    const cJSON *params; /* an object, or NULL */
    const cJSON *id;     /* NULL: none, so nobody waits for an answer */
};

/* RPC_NOT_A_REQUEST */
int rpc_read(const cJSON *message, struct rpc *ret_rpc, struct err *err);

/* The id of a message that may be wrong in all else; NULL: it has none. */
const cJSON *rpc_id(const cJSON *message);

/* These append a whole line with its end.  `id` NULL: null. */
void rpc_put_result(struct buf *line, const cJSON *id, struct slice result);
void rpc_put_error(struct buf *line, const cJSON *id, const struct err *err);
void rpc_put_notification(struct buf *line, const char *method,
                          struct slice params);

/* {"code":"store","message":...,"path":...,"position":...} as one value. */
void rpc_error_data(struct json *json, const struct err *err);

/* An id as one value. */
void rpc_id_value(struct json *json, const cJSON *id);

#endif
