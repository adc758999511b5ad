#include "daemon/verbs/maintenance.h"

#include "base/file.h"
#include "daemon/jobs/jobs.h"

enum { PROGRESS_MS = 100 };

void maintenance_progress(void *context, size_t done, size_t total)
{
    struct maintenance_progress *progress = context;
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
    request_notify(progress->call->daemon->response_queue, request, "progress",
                   buf_slice(&params));
    buf_free(&params);
}

static void put_copy(struct json *json, const struct copy_report *report,
                     double seconds)
{
    json_field_int(json, "before", (int64_t)report->before);
    json_field_int(json, "after", (int64_t)report->after);
    json_field_int(json, "needed", (int64_t)report->needed);
    json_field_int(json, "available", (int64_t)report->available);
    json_field_double(json, "seconds", seconds, 3);
}

/* What nothing refers to need not be copied. */
static int collect(struct call *call, struct err *err)
{
    struct jobs *jobs = call->daemon->jobs;
    const atomic_bool *cancel = &call->request->cancelled;
    int code = jobs_hold(jobs, cancel, err);
    if (code)
        return code;
    code = jobs_collect_held(jobs, cancel, err);
    jobs_go_on(jobs);
    return code;
}

int verb_compact(struct call *call, struct json *json, struct err *err)
{
    double start = clock_seconds();
    struct maintenance_progress progress = {.call = call, .phase = "compact"};
    struct copy_report report;
    uint64_t before, map;
    store_size(call->daemon->store, &before, &map);
    int code = collect(call, err);
    if (!code)
        code =
            store_compact(call->daemon->store, maintenance_progress, &progress,
                          &call->request->cancelled, &report, err);
    if (code)
        return code;
    report.before = before;
    json_begin(json, '{');
    put_copy(json, &report, clock_seconds() - start);
    json_end(json, '}');
    return 0;
}

int verb_backup(struct call *call, struct json *json, struct err *err)
{
    double start = clock_seconds();
    const char *folder = json_get_text(call->params, "dir", "");
    struct maintenance_progress progress = {.call = call, .phase = "backup"};
    struct copy_report report;
    int code = store_backup(call->daemon->store, folder, maintenance_progress,
                            &progress, &call->request->cancelled, &report, err);
    if (code)
        return code;
    json_begin(json, '{');
    json_field_text(json, "dir", folder);
    put_copy(json, &report, clock_seconds() - start);
    json_end(json, '}');
    return 0;
}
