#include "daemon/fleet/with_others.h"

#include <string.h>

static int read(struct call *call, verb_run *run, struct json *json,
                struct err *err)
{
    bool done;
    int code = others_relay(call, "node", READERS_MS, json, &done, err);
    return done ? code : run(call, json, err);
}

int get_with_others(struct call *call, struct json *json, struct err *err)
{
    return read(call, verb_get, json, err);
}

int quote_with_others(struct call *call, struct json *json, struct err *err)
{
    return read(call, verb_quote, json, err);
}

/* Its file is on another machine. */
int open_with_others(struct call *call, struct json *json, struct err *err)
{
    struct other_reader *reader;
    size_t size;
    int code = other_readers_of_node(call->daemon->other_readers,
                                     json_get_text(call->params, "node", ""),
                                     &reader, &size, err);
    if (!code && reader)
        code = err_set(err, ERR_STALE,
                       "the files of that section are not here: the reader %s "
                       "has it (lectern get)",
                       reader->name);
    return code ? code : verb_open(call, json, err);
}

/* The contents of a manual that is held elsewhere, of the first that has it. */
static int read_toc_there(struct call *call, struct json *json, struct err *err)
{
    struct other_readers *readers = call->daemon->other_readers;
    cJSON *params = cJSON_Duplicate(call->params, true), *result = NULL;
    int code = ERR_NOT_FOUND;
    cJSON_AddTrueToObject(params, "local");
    for (size_t i = 0; i < readers->count && code && code != ERR_CANCELLED; i++)
        code = other_reader_ask(&readers->items[i], "toc", params, READERS_MS,
                                &call->request->cancelled, &result, err);
    if (!code)
        others_put(json, result);
    cJSON_Delete(result);
    cJSON_Delete(params);
    return code;
}

int toc_with_others(struct call *call, struct json *json, struct err *err)
{
    const char *manual = json_get_text(call->params, "manual", NULL);
    bool local = json_get_bool(call->params, "local", false) ||
                 !call->daemon->other_readers;
    if (manual && !json_get_text(call->params, "node", NULL) && !local &&
        !others_hold(call, manual))
        return read_toc_there(call, json, err);
    return read(call, verb_toc, json, err);
}

bool others_may_wait(const struct request *request)
{
    static verb_run *const relayed[] = {search_with_others, ask_with_others,
                                        toc_with_others, get_with_others,
                                        quote_with_others};
    const cJSON *params = request->rpc.params;
    const char *node = json_get_text(params, "node", NULL);
    const char *under = json_get_text(params, "under", node);
    bool is_relayed = false;
    for (size_t i = 0; i < sizeof relayed / sizeof *relayed; i++)
        is_relayed = is_relayed || request->verb->run == relayed[i];
    return is_relayed && !json_get_bool(params, "local", false) &&
           (!under || strchr(under, '@'));
}
