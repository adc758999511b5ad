#include "daemon/care.h"

#include "base/file.h"

enum { PROGRESS_MS = 100 };

void care_progress(void *context, size_t done, size_t total)
{
    struct care_progress *progress = context;
    struct request *request = progress->call->request;
    int64_t now = clock_ms();
    if (!request->rpc.id || now - progress->told_at < PROGRESS_MS)
        return;
    progress->told_at = now;
    struct buf params = {0};
    struct json json = json_to(&params);
    json_begin(&json, '{');
    json_key(&json, "id");
    rpc_id_value(&json, request->rpc.id);
    json_field_text(&json, "manual", progress->manual);
    json_field_text(&json, "phase", progress->phase);
    json_field_int(&json, "done", (int64_t)done);
    json_field_int(&json, "total", (int64_t)total);
    json_end(&json, '}');
    request_notify(progress->call->daemon->outbox, request, "progress",
                   buf_slice(&params));
    buf_free(&params);
}
