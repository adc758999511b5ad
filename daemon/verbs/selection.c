#include "daemon/verbs/selection.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/fleet/fleet_look.h"
#include "daemon/jobs/jobs.h"
#include "daemon/verbs/result.h"

static const cJSON *several(const struct call *call)
{
    return cJSON_GetObjectItemCaseSensitive(call->params, "manuals");
}

struct selection selection_of(const struct call *call)
{
    struct selection selection = {0};
    const char *one = json_get_text(call->params, "manual", NULL);
    const cJSON *name;
    if (one)
        selection.names[selection.count++] = one;
    cJSON_ArrayForEach (name, several(call))
        if (selection.count < SELECTION_MAX)
            selection.names[selection.count++] = name->valuestring;
    return selection;
}

/* One that is not seen would be missing without a word. */
static int check_count(const struct call *call, struct err *err)
{
    int count = cJSON_GetArraySize(several(call)) +
                (json_get_text(call->params, "manual", NULL) != NULL);
    return count <= SELECTION_MAX
               ? 0
               : err_set(err, ERR_USAGE,
                         "%d manuals are named, and %d can be: without a name "
                         "all are asked",
                         count, SELECTION_MAX);
}

bool selection_has(const struct selection *selection, const char *name)
{
    size_t i = 0;
    while (i < selection->count && strcmp(selection->names[i], name) != 0)
        i++;
    return !selection->count || i < selection->count;
}

static int check_name(const struct call *call, const char *name,
                      struct err *err)
{
    struct manual manual;
    struct err why;
    int code = call_manual(call, name, &manual, &why);
    if (!code)
        manual_free(&manual);
    if (code == ERR_USAGE && fleet_is_elsewhere(call->daemon->config, name))
        return err_set(err, ERR_USAGE,
                       "the fleet has a manual %.200s, which is not held here: "
                       "fleet_manuals says which are",
                       name);
    if (code && err)
        *err = why;
    return code;
}

int selection_check(struct selection *selection, const struct call *call,
                    const struct snapshot *snapshot, bool *ret_none,
                    struct err *err)
{
    size_t kept = 0, count = selection->count;
    int many = check_count(call, err);
    if (many)
        return many;
    for (size_t i = 0; i < count; i++) {
        const char *name = selection->names[i];
        if (snapshot_view(snapshot, name)) {
            selection->names[kept++] = name;
            continue;
        }
        int code = snapshot_check(snapshot, name, err);
        if (!code)
            code = check_name(call, name, err);
        if (code)
            return code;
    }
    selection->count = kept;
    *ret_none = count && !kept;
    return 0;
}

int selection_check_damage(const struct selection *selection,
                           const struct snapshot *snapshot, struct err *err)
{
    int code = selection->count ? 0 : snapshot_check(snapshot, NULL, err);
    for (size_t i = 0; i < selection->count && !code; i++)
        code = snapshot_check(snapshot, selection->names[i], err);
    return code;
}

void selection_put_searched(struct json *json, const struct call *call,
                            const struct snapshot *snapshot)
{
    struct selection selection = selection_of(call);
    int64_t count = 0;
    for (size_t i = 0; i < snapshot->count; i++)
        count += selection_has(&selection, snapshot->views[i]->manual.name);
    json_field_int(json, "searched", count);
}

/* ---- What is missing ---- */

static void put_one(struct json *json, bool *begun, const char *manual,
                    const char *state, const char *reason)
{
    if (!*begun) {
        json_key(json, "missing");
        json_begin(json, '[');
        *begun = true;
    }
    json_begin(json, '{');
    json_field_text(json, "manual", manual);
    json_field_text(json, "state", state);
    json_field_text(json, "reason", reason);
    json_end(json, '}');
}

static void put_manual(struct json *json, const struct call *call,
                       const struct snapshot *snapshot,
                       const struct manual *manual, bool *begun)
{
    struct job_state state;
    jobs_state(call->daemon->jobs, manual->id, &state);
    bool searched = snapshot_view(snapshot, manual->name);
    if (state.err.code)
        put_one(json, begun, manual->name, searched ? "stale" : "failed",
                state.err.message);
    else if (!searched && !snapshot_check(snapshot, manual->name, NULL))
        put_one(json, begun, manual->name, "indexing",
                "it is being indexed for the first time");
}

void selection_put_missing(struct json *json, const struct call *call,
                           const struct snapshot *snapshot)
{
    struct selection selection = selection_of(call);
    if (selection_check_damage(&selection, snapshot, NULL))
        result_damaged(json, snapshot,
                       selection.count == 1 ? selection.names[0] : NULL);
    struct store_txn *txn;
    struct manual *manuals = NULL;
    size_t count = 0;
    bool begun = false;
    if (store_read(call->daemon->store, &txn, NULL))
        return;
    if (store_list_manuals(txn, &manuals, &count, NULL))
        count = 0;
    store_end(txn);
    for (size_t i = 0; i < count; i++) {
        if (selection_has(&selection, manuals[i].name))
            put_manual(json, call, snapshot, &manuals[i], &begun);
        manual_free(&manuals[i]);
    }
    free(manuals);
    if (begun)
        json_end(json, ']');
}
