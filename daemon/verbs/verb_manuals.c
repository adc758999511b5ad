/* Verbs that change which manuals there are, or have them updated. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "daemon/jobs/jobs.h"
#include "daemon/verbs/result.h"
#include "indexer/index.h"

static bool waits(const struct call *call)
{
    return json_get_bool(call->params, "wait", false);
}

static void put_begun(struct json *json, const char *name)
{
    json_begin(json, '{');
    json_field_text(json, "manual", name);
    json_field_text(json, "state", "indexing");
    json_key(json, "files");
    json_begin(json, '{');
    json_field_int(json, "seen", 0);
    json_field_int(json, "indexed", 0);
    json_field_int(json, "failed", 0);
    json_end(json, '}');
    json_field_int(json, "nodes", 0);
    json_field_int(json, "segments", 0);
    json_field_int(json, "tokens", 0);
    json_field_double(json, "seconds", 0, 3);
    json_end(json, '}');
}

/* ---- add ---- */

/* The globs, one a line. */
static int ignore_list(const struct call *call, struct buf *ret,
                       struct err *err)
{
    const cJSON *glob;
    cJSON_ArrayForEach (
        glob, cJSON_GetObjectItemCaseSensitive(call->params, "ignore")) {
        if (strchr(glob->valuestring, '\n'))
            return err_set(err, ERR_USAGE, "ignore: a glob holds no line end");
        buf_put_text(ret, glob->valuestring);
        buf_put_byte(ret, '\n');
    }
    buf_put(ret, "", 0);
    return 0;
}

/* What lies in the store is the daemon's, but for what is unpacked there, a folder for
 * each manual. */
static int check_not_ours(const struct call *call, const char *folder,
                          struct err *err)
{
    const char *store = config_text(call->daemon->config, CONFIG_STORE);
    char real_store[PATH_MAX], real_unpacked[PATH_MAX];
    struct buf unpacked = {0};
    config_put_unpacked(call->daemon->config, &unpacked);
    bool copy = realpath(unpacked.data, real_unpacked) &&
                file_is_below(folder, real_unpacked) &&
                strcmp(folder, real_unpacked) != 0;
    bool ours = realpath(store, real_store) &&
                file_is_below(folder, real_store) && !copy;
    buf_free(&unpacked);
    return ours ? err_set(err, ERR_USAGE,
                          "%s is of the store %s, which Lectern keeps for "
                          "itself: name a manual's folder elsewhere",
                          folder, store)
                : 0;
}

/* `ret_manual` NULL: only whether it could be added. */
static int add(const struct call *call, struct manual *ret_manual,
               struct err *err)
{
    const char *folder = json_get_text(call->params, "dir", "");
    const char *name = json_get_text(call->params, "name", "");
    if (folder[0] != '/')
        return err_set(err, ERR_USAGE, "dir must be an absolute path");
    struct buf ignore = {0};
    char room[PATH_MAX], *real = realpath(folder, room);
    const cJSON *links =
        cJSON_GetObjectItemCaseSensitive(call->params, "follow_links");
    struct registering asked = {
        .folder = {real ? real : folder,
                   json_get_bool(call->params, "follow_links",
                                 call->daemon->all_links)},
        .name = name[0] ? name : NULL,
        .keeps_links = !cJSON_IsBool(links),
        .moves = json_get_bool(call->params, "moves", false)};
    int code = check_not_ours(call, asked.folder.path, err);
    if (!code)
        code = ignore_list(call, &ignore, err);
    if (cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(call->params, "ignore")))
        asked.ignore = ignore.data;
    if (!code && ret_manual)
        code = index_register(call->daemon->store, &asked, ret_manual, err);
    else if (!code)
        code = index_check(call->daemon->store, &asked, err);
    buf_free(&ignore);
    return code;
}

static int check(const struct call *call, struct json *json, struct err *err)
{
    int code = add(call, NULL, err);
    if (code)
        return code;
    json_begin(json, '{');
    json_field_text(json, "dir", json_get_text(call->params, "dir", ""));
    json_end(json, '}');
    return 0;
}

int verb_add(struct call *call, struct json *json, struct err *err)
{
    struct jobs *jobs = call->daemon->jobs;
    struct manual manual;
    if (json_get_bool(call->params, "check", false))
        return check(call, json, err);
    int code = add(call, &manual, err);
    if (code)
        return code;
    jobs_update(jobs, manual.id, manual.name, false);
    /* One that was there may have another name now. */
    if (manual.generation)
        code = jobs_refresh(jobs, err);
    if (code) {
        manual_free(&manual);
        return code;
    }
    if (waits(call)) {
        jobs_wait(jobs, call->request, manual.id);
        code = CALL_LATER;
    } else {
        put_begun(json, manual.name);
    }
    manual_free(&manual);
    return code;
}

/* ---- rm ---- */

static int delete (const struct call *call, uint32_t manual, struct err *err)
{
    struct store_txn *txn;
    int code = store_write(call->daemon->store, &txn, err);
    if (code)
        return code;
    code = store_delete_manual(txn, manual, err);
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

int verb_rm(struct call *call, struct json *json, struct err *err)
{
    struct jobs *jobs = call->daemon->jobs;
    struct manual manual;
    int code = call_manual(call, json_get_text(call->params, "manual", ""),
                           &manual, err);
    if (code)
        return code;
    code = jobs_forget(jobs, manual.id, err);
    if (!code) {
        code = delete (call, manual.id, err);
        if (code)
            jobs_update(jobs, manual.id, manual.name, false);
    }
    if (!code) {
        watch_forget(call->daemon->watch, manual.id);
        code = jobs_refresh(jobs, err);
    }
    if (!code) {
        jobs_collect(jobs);
        json_begin(json, '{');
        json_field_text(json, "manual", manual.name);
        json_field_bool(json, "removed", true);
        json_end(json, '}');
    }
    manual_free(&manual);
    return code;
}

/* ---- update, wait ---- */

static int update_all(const struct call *call, bool force, struct json *json,
                      struct err *err)
{
    struct manual *manuals;
    size_t count;
    int code = store_read_manuals(call->daemon->store, &manuals, &count, err);
    if (code)
        return code;
    json_begin(json, '{');
    json_key(json, "manuals");
    json_begin(json, '[');
    for (size_t i = 0; i < count; i++) {
        jobs_update(call->daemon->jobs, manuals[i].id, manuals[i].name, force);
        put_begun(json, manuals[i].name);
        manual_free(&manuals[i]);
    }
    json_end(json, ']');
    json_end(json, '}');
    free(manuals);
    return 0;
}

int verb_update(struct call *call, struct json *json, struct err *err)
{
    struct jobs *jobs = call->daemon->jobs;
    const char *name = json_get_text(call->params, "manual", NULL);
    bool force = json_get_bool(call->params, "force", false);
    struct manual manual = {0};
    int code = name ? call_manual(call, name, &manual, err)
                    : update_all(call, force, json, err);
    if (code)
        return code;
    if (name)
        jobs_update(jobs, manual.id, manual.name, force);
    if (waits(call)) {
        jobs_wait(jobs, call->request, manual.id);
        code = CALL_LATER;
    } else if (name) {
        put_begun(json, manual.name);
    }
    manual_free(&manual);
    return code;
}

int verb_wait(struct call *call, struct json *json, struct err *err)
{
    const char *name = json_get_text(call->params, "manual", NULL);
    struct manual manual = {0};
    int code = name ? call_manual(call, name, &manual, err) : 0;
    (void)json;
    if (code)
        return code;
    jobs_wait(call->daemon->jobs, call->request, manual.id);
    manual_free(&manual);
    return CALL_LATER;
}
