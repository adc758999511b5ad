#include "daemon/fleet/merge_results.h"
#include "daemon/fleet/with_others.h"
#include "daemon/verbs/rerank.h"
#include "daemon/verbs/verb_search.h"

_Static_assert(READERS_MS >= 2 * RERANK_MS, "who reranks would never be heard");

/* What a search of nothing finds. */
static cJSON *find_nothing(const char *query)
{
    cJSON *result = cJSON_CreateObject();
    cJSON_AddStringToObject(result, "query", query);
    cJSON_AddItemToObject(result, "results", cJSON_CreateArray());
    cJSON_AddTrueToObject(result, "fresh");
    cJSON_AddTrueToObject(result, "complete");
    cJSON_AddNumberToObject(result, "searched", 0);
    cJSON_AddNumberToObject(result, "confidence", 0);
    cJSON_AddFalseToObject(result, "confident");
    return result;
}

int search_held(const struct call *call, const struct named *named, cJSON **ret,
                struct err *err)
{
    cJSON *params = named_params(call, named, false);
    int code = 0;
    if (named->any && !cJSON_GetArraySize(named->held))
        *ret = find_nothing(json_get_text(params, "query", ""));
    else
        code = others_run(call, verb_search, params, ret, err);
    cJSON_Delete(params);
    return code;
}

/* What is not held here is named to whoever asked for it. */
static int search_locally(const struct call *call, const struct named *named,
                          struct json *json, struct err *err)
{
    cJSON *result;
    int code = search_held(call, named, &result, err);
    if (code)
        return code;
    cJSON_AddItemToObject(result, "unheld",
                          cJSON_Duplicate(named->unheld, true));
    others_put(json, result);
    cJSON_Delete(result);
    return 0;
}

/* What a search of this daemon alone says and the others' answers cannot be told
 * from: of these, the first one's. */
static void borrow(cJSON *result, const struct reader_answer *answers,
                   size_t count)
{
    static const char *const members[] = {"terms", "generation", "model", "ms"};
    for (size_t m = 0; m < sizeof members / sizeof *members; m++)
        for (size_t i = 0; i < count; i++) {
            const cJSON *member =
                cJSON_GetObjectItemCaseSensitive(answers[i].result, members[m]);
            if (member && !cJSON_GetObjectItemCaseSensitive(result, members[m]))
                cJSON_AddItemToObject(result, members[m],
                                      cJSON_Duplicate(member, true));
        }
}

static int search_everywhere(struct call *call, const struct named *named,
                             struct json *json, struct err *err)
{
    struct other_readers *readers = call->daemon->other_readers;
    struct reader_answer answers[OTHER_READERS_MAX];
    cJSON *there = named_params(call, named, true), *result = NULL;
    cJSON_DeleteItemFromObjectCaseSensitive(there, "explain");
    other_readers_begin(readers, "search", there, answers);
    int code = search_held(call, named, &result, err);
    other_readers_end(readers, &call->request->cancelled, answers);
    if (!code)
        code =
            named_check(call, named, answers, readers->count, verb_search, err);
    if (!code) {
        borrow(result, answers, readers->count);
        merge_results(
            result, answers, readers->count,
            (size_t)json_get_int(call->params, "n", SEARCH_DEFAULT_HITS),
            others_hold, call);
        others_put(json, result);
    }
    reader_answers_free(readers, answers);
    cJSON_Delete(result);
    cJSON_Delete(there);
    return code;
}

int search_with_others(struct call *call, struct json *json, struct err *err)
{
    struct named named;
    bool local = json_get_bool(call->params, "local", false), done;
    int code = others_relay(call, "under", READERS_MS, json, &done, err);
    if (done)
        return code;
    if (!local && (!call->daemon->other_readers ||
                   json_get_text(call->params, "under", NULL)))
        return verb_search(call, json, err);
    named_read(call, &named);
    if (local)
        code = search_locally(call, &named, json, err);
    else if (named.any && !cJSON_GetArraySize(named.unheld))
        code = verb_search(call, json, err);
    else
        code = search_everywhere(call, &named, json, err);
    named_free(&named);
    return code;
}
