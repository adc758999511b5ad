#include "daemon/fleet/with_others.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/verbs/result.h"

bool others_hold(void *context, const char *manual)
{
    struct manual found;
    if (call_manual(context, manual, &found, NULL))
        return false;
    manual_free(&found);
    return true;
}

static void add_name(const struct call *call, struct named *named,
                     const char *name)
{
    struct call asked = *call;
    named->any = true;
    cJSON_AddItemToArray(others_hold(&asked, name) ? named->held
                                                   : named->unheld,
                         cJSON_CreateString(name));
}

void named_read(const struct call *call, struct named *ret)
{
    const char *one = json_get_text(call->params, "manual", NULL);
    const cJSON *name;
    *ret = (struct named){false, cJSON_CreateArray(), cJSON_CreateArray()};
    if (one)
        add_name(call, ret, one);
    cJSON_ArrayForEach (
        name, cJSON_GetObjectItemCaseSensitive(call->params, "manuals"))
        add_name(call, ret, name->valuestring);
}

void named_free(struct named *named)
{
    cJSON_Delete(named->held);
    cJSON_Delete(named->unheld);
}

cJSON *named_params(const struct call *call, const struct named *named,
                    bool there)
{
    cJSON *params = cJSON_Duplicate(call->params, true);
    const char *const replaced[] = {"manual", "manuals", "local"};
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
        cJSON_DeleteItemFromObjectCaseSensitive(params, replaced[i]);
    if (named->any)
        cJSON_AddItemToObject(
            params, "manuals",
            cJSON_Duplicate(there ? named->unheld : named->held, true));
    if (there) { /* where no model may write */
        cJSON_AddTrueToObject(params, "local");
        cJSON_DeleteItemFromObjectCaseSensitive(params, "expand");
    }
    return params;
}

int named_check(struct call *call, const struct named *named,
                const struct reader_answer *answers, size_t count,
                verb_run *run, struct err *err)
{
    const cJSON *name;
    cJSON_ArrayForEach (name, named->unheld) {
        const struct reader_answer *silent = NULL;
        bool known = false;
        for (size_t i = 0; i < count; i++) {
            const cJSON *unheld =
                cJSON_GetObjectItemCaseSensitive(answers[i].result, "unheld");
            known = known || (answers[i].result &&
                              !json_has_text(unheld, name->valuestring));
            silent = answers[i].result ? silent : &answers[i];
        }
        if (!known && silent)
            return err_set(err, ERR_UNREACHABLE,
                           "%.200s is not held here, and the reader %s cannot "
                           "be asked for it: %s",
                           name->valuestring, silent->reader->name,
                           silent->err.message);
        if (!known) { /* the verb says so */
            struct buf none = {0};
            struct json json = json_to(&none);
            int code = run(call, &json, err);
            buf_free(&none);
            return code;
        }
    }
    return 0;
}

int others_run(const struct call *call, verb_run *run, const cJSON *params,
               cJSON **ret, struct err *err)
{
    struct call inner = *call;
    struct buf text = {0};
    struct json json = json_to(&text);
    inner.params = params;
    int code = run(&inner, &json, err);
    if (!code)
        code = json_parse(buf_slice(&text), ret, err);
    buf_free(&text);
    return code;
}

void others_put(struct json *json, const cJSON *value)
{
    char *text = cJSON_PrintUnformatted(value);
    json_raw(json, slice_of(text ? text : "null"));
    free(text);
}

int others_relay(const struct call *call, const char *key, int64_t ms,
                 struct json *json, bool *ret_done, struct err *err)
{
    const char *node = json_get_text(call->params, key, "");
    struct other_reader *reader;
    struct buf name = {0};
    size_t size;
    int code = other_readers_of_node(call->daemon->other_readers, node, &reader,
                                     &size, err);
    *ret_done = code || reader;
    if (code || !reader)
        return code;
    cJSON *params = cJSON_Duplicate(call->params, true), *result;
    buf_put(&name, node, size);
    cJSON_ReplaceItemInObjectCaseSensitive(params, key,
                                           cJSON_CreateString(name.data));
    cJSON_DeleteItemFromObjectCaseSensitive(params, "stream");
    cJSON_DeleteItemFromObjectCaseSensitive(params, "expand");
    code = other_reader_ask(reader, call->request->verb->name, params, ms,
                            &call->request->cancelled, &result, err);
    if (!code) {
        others_put(json, result);
        cJSON_Delete(result);
    }
    cJSON_Delete(params);
    buf_free(&name);
    return code;
}
