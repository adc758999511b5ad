/* What there is, and what goes on. */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/version.h"
#include "daemon/jobs.h"
#include "daemon/result.h"

struct manuals {
    struct manual *items;
    size_t count;
};

static int manuals_read(struct store *store, struct manuals *ret,
                        struct err *err)
{
    struct store_txn *txn;
    int code = store_read(store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, &ret->items, &ret->count, err);
    store_end(txn);
    return code;
}

static void manuals_free(struct manuals *manuals)
{
    for (size_t i = 0; i < manuals->count; i++)
        manual_free(&manuals->items[i]);
    free(manuals->items);
}

static const char *state_name(const struct job_state *state)
{
    return state->running    ? "indexing"
           : state->queued   ? "queued"
           : state->err.code ? "failed"
                             : "idle";
}

static void put_manual(struct json *json, const struct manual *manual,
                       const struct job_state *state)
{
    json_begin(json, '{');
    json_field_text(json, "name", manual->name);
    json_field_text(json, "root", manual->root);
    json_field_int(json, "generation", (int64_t)manual->generation);
    json_field_int(json, "files", (int64_t)(manual->files + manual->failed));
    json_field_int(json, "nodes", (int64_t)manual->nodes);
    json_field_int(json, "words", (int64_t)manual->words);
    json_field_int(json, "failed", (int64_t)manual->failed);
    if (state->counted)
        json_field_int(json, "pending", (int64_t)state->pending);
    else
        json_field_null(json, "pending");
    json_field_bool(json, "stale",
                    state->running || state->queued || state->err.code);
    json_field_int(json, "indexed_at", manual->indexed_at);
    json_field_text(json, "state", state_name(state));
    if (state->err.code) {
        json_key(json, "error");
        rpc_error_data(json, &state->err);
    }
    if (state->retry_ms >= 0)
        json_field_double(json, "retry_in", (double)state->retry_ms / 1000, 1);
    json_end(json, '}');
}

/* "manuals", and in *ret_state "indexing", "degraded" or "idle". */
static void put_manuals(struct json *json, const struct call *call,
                        const struct manuals *manuals, const char **ret_state)
{
    bool busy = false, failed = false;
    json_key(json, "manuals");
    json_begin(json, '[');
    for (size_t i = 0; i < manuals->count; i++) {
        struct job_state state;
        jobs_state(call->daemon->jobs, manuals->items[i].id, &state);
        busy = busy || state.running || state.queued;
        failed = failed || state.err.code;
        put_manual(json, &manuals->items[i], &state);
    }
    json_end(json, ']');
    *ret_state = busy ? "indexing" : failed ? "degraded" : "idle";
}

int verb_ls(struct call *call, struct json *json, struct err *err)
{
    struct manuals manuals = {0};
    const char *state;
    int code = manuals_read(call->daemon->store, &manuals, err);
    if (code)
        return code;
    json_begin(json, '{');
    put_manuals(json, call, &manuals, &state);
    json_end(json, '}');
    manuals_free(&manuals);
    return 0;
}

static void put_daemon(struct json *json, const struct call *call)
{
    struct shelf *shelf = library_shelf(call->daemon->library);
    uint64_t used, map;
    store_size(call->daemon->store, &used, &map);
    json_field_int(json, "generation", (int64_t)shelf->generation);
    json_field_text(json, "version", LECTERN_VERSION);
    json_field_int(json, "pid", getpid());
    json_field_double(json, "uptime",
                      (double)(clock_ms() - call->daemon->started_ms) / 1000,
                      1);
    json_field_null(json, "model");
    json_key(json, "store");
    json_begin(json, '{');
    json_field_int(json, "bytes", (int64_t)used);
    json_field_int(json, "map", (int64_t)map);
    json_end(json, '}');
    json_key(json, "watch");
    json_begin(json, '{');
    json_field_text(json, "mode", "off");
    json_end(json, '}');
    shelf_release(shelf);
}

int verb_status(struct call *call, struct json *json, struct err *err)
{
    struct manuals manuals = {0};
    const char *state;
    int code = manuals_read(call->daemon->store, &manuals, err);
    if (code)
        return code;
    json_begin(json, '{');
    put_manuals(json, call, &manuals, &state);
    json_field_text(json, "state", state);
    put_daemon(json, call);
    json_end(json, '}');
    manuals_free(&manuals);
    return 0;
}

/* ---- failed ---- */

static int put_failed(struct json *json, struct store_txn *txn,
                      const struct manual *manual, struct err *err)
{
    struct file *files;
    size_t count;
    int code = store_list_files(txn, manual->id, &files, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count; i++) {
        if (files[i].state == FILE_FAILED) {
            json_begin(json, '{');
            json_field_text(json, "manual", manual->name);
            json_field_text(json, "file", files[i].path);
            json_field_text(json, "reason", files[i].failure);
            json_end(json, '}');
        }
        file_free(&files[i]);
    }
    free(files);
    return 0;
}

static int put_all_failed(const struct call *call, const char *only,
                          struct json *json, struct err *err)
{
    struct manuals manuals = {0};
    struct store_txn *txn;
    int code = store_read(call->daemon->store, &txn, err);
    if (code)
        return code;
    code = store_list_manuals(txn, &manuals.items, &manuals.count, err);
    for (size_t i = 0; i < manuals.count && !code; i++)
        if (!only || !strcmp(only, manuals.items[i].name))
            code = put_failed(json, txn, &manuals.items[i], err);
    store_end(txn);
    manuals_free(&manuals);
    return code;
}

int verb_failed(struct call *call, struct json *json, struct err *err)
{
    const char *name = json_get_text(call->params, "manual", NULL);
    struct manual manual = {0};
    int code = name ? call_manual(call, name, &manual, err) : 0;
    if (code)
        return code;
    manual_free(&manual);
    json_begin(json, '{');
    json_key(json, "files");
    json_begin(json, '[');
    code = put_all_failed(call, name, json, err);
    json_end(json, ']');
    json_end(json, '}');
    return code;
}
