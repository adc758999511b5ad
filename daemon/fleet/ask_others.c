/* A question is answered by the one reader whose search is surest to hold an answer. */
#include <stdio.h>
#include <string.h>

#include "daemon/fleet/merge_results.h"
#include "daemon/fleet/with_others.h"
#include "memory/routing/route.h"

enum { ANSWER_MS = 120000 };

struct choosing {
    struct call *call;
    struct named named;
    struct reader_answer answers[OTHER_READERS_MAX];
    size_t count; /* of answers */
    bool here;    /* this daemon is asked, too */
};

/* What it is searched for with: the first section. */
static cJSON *to_search(const struct choosing *choosing, bool there)
{
    static const char *const kept[] = {"query", "manuals", "local",
                                       "file",  "mode",    "kind"};
    cJSON *params = named_params(choosing->call, &choosing->named, there);
    cJSON *search = cJSON_CreateObject(), *one;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if ((one = cJSON_DetachItemFromObjectCaseSensitive(params, kept[i])))
            cJSON_AddItemToObject(search, kept[i], one);
    cJSON_AddNumberToObject(search, "n", 1);
    cJSON_Delete(params);
    return search;
}

/* How sure this daemon is. */
static int search_here(struct choosing *choosing, double *ret_confidence,
                       struct err *err)
{
    struct call call = *choosing->call;
    cJSON *params = to_search(choosing, false), *result = NULL;
    *ret_confidence = 0;
    call.params = params;
    int code =
        choosing->here ? search_held(&call, &choosing->named, &result, err) : 0;
    if (!code)
        *ret_confidence = merge_confidence(result);
    cJSON_Delete(result);
    cJSON_Delete(params);
    return code;
}

/* The surest of those whose first section is of a manual that is not held here; NULL:
 * none is surer than `confidence`. */
static struct reader_answer *choose(struct choosing *choosing,
                                    double confidence)
{
    struct reader_answer *best = NULL;
    double least = confidence;
    if (choosing->here && least < route_min_confidence)
        least = route_min_confidence;
    for (size_t i = 0; i < choosing->count; i++) {
        struct reader_answer *answer = &choosing->answers[i];
        const cJSON *hit = cJSON_GetArrayItem(
            cJSON_GetObjectItemCaseSensitive(answer->result, "results"), 0);
        double there = merge_confidence(answer->result);
        if (!hit || there <= least ||
            others_hold(choosing->call, json_get_text(hit, "manual", "")))
            continue;
        best = answer;
        least = there;
    }
    return best;
}

static bool is_from_held(const struct choosing *choosing, const cJSON *place)
{
    return cJSON_IsObject(place) &&
           others_hold(choosing->call, json_get_text(place, "manual", ""));
}

/* Adds the names of those that are not held here to `unheld`.  True: some are. */
static bool is_from_here(const struct choosing *choosing, const cJSON *answer,
                         cJSON *unheld)
{
    const cJSON *place;
    bool any = is_from_held(choosing,
                            cJSON_GetObjectItemCaseSensitive(answer, "card"));
    cJSON_ArrayForEach (place,
                        cJSON_GetObjectItemCaseSensitive(answer, "citations")) {
        if (is_from_held(choosing, place))
            any = true;
        else
            cJSON_AddItemToArray(
                unheld, cJSON_CreateString(json_get_text(place, "manual", "")));
    }
    return any;
}

/* What is held here is not answered from there: an answer that is of both is asked for
 * again, from the other's manuals alone.  *ret NULL: it was from none of these. */
static int ask_for_unheld(const struct choosing *choosing,
                          struct other_reader *reader, cJSON *params,
                          cJSON **ret, struct err *err)
{
    for (int turn = 0; turn < 2; turn++) {
        cJSON *unheld = cJSON_CreateArray();
        int code =
            other_reader_ask(reader, "ask", params, ANSWER_MS,
                             &choosing->call->request->cancelled, ret, err);
        if (code || !is_from_here(choosing, *ret, unheld)) {
            cJSON_Delete(unheld);
            return code;
        }
        cJSON_Delete(*ret);
        *ret = NULL;
        cJSON_DeleteItemFromObjectCaseSensitive(params, "manuals");
        cJSON_AddItemToObject(params, "manuals", unheld);
        if (!cJSON_GetArraySize(unheld))
            break;
    }
    return 0;
}

/* *ret NULL: the other had no answer that is wanted, and this daemon is asked. */
static int ask_there(const struct choosing *choosing,
                     struct other_reader *reader, cJSON **ret, struct err *err)
{
    cJSON *params = named_params(choosing->call, &choosing->named, true);
    cJSON_DeleteItemFromObjectCaseSensitive(params, "stream");
    if (choosing->here)
        cJSON_DeleteItemFromObjectCaseSensitive(params, "session");
    int code = ask_for_unheld(choosing, reader, params, ret, err);
    cJSON_Delete(params);
    if (code)
        return code;
    if (!*ret)
        return choosing->here
                   ? 0
                   : err_set(err, ERR_UNREACHABLE,
                             "the reader %s: it answers from manuals that are "
                             "held here, which it was not asked for",
                             reader->name);
    if (choosing->here &&
        !strcmp(json_get_text(*ret, "kind", "none"), "none")) {
        cJSON_Delete(*ret);
        *ret = NULL;
        return 0;
    }
    return 0;
}

static int ask_here(const struct choosing *choosing, cJSON **ret,
                    struct err *err)
{
    cJSON *params = named_params(choosing->call, &choosing->named, false);
    int code = others_run(choosing->call, verb_ask, params, ret, err);
    cJSON_Delete(params);
    return code;
}

/* It has a problem instead of a result, which stands beside its name. */
static void forget(struct reader_answer *answer)
{
    char *message = answer->err.message, named[READER_NAME + 16];
    size_t size = (size_t)snprintf(named, sizeof named,
                                   "the reader %s: ", answer->reader->name);
    if (!strncmp(message, named, size))
        memmove(message, message + size, strlen(message + size) + 1);
    cJSON_Delete(answer->result);
    answer->result = NULL;
}

static int answer(struct choosing *choosing, cJSON **ret, struct err *err)
{
    double confidence;
    int code = search_here(choosing, &confidence, err);
    other_readers_end(choosing->call->daemon->other_readers,
                      &choosing->call->request->cancelled, choosing->answers);
    if (code)
        return code;
    code = named_check(choosing->call, &choosing->named, choosing->answers,
                       choosing->count, verb_ask, err);
    struct reader_answer *surest = code ? NULL : choose(choosing, confidence);
    *ret = NULL;
    if (surest) {
        code = ask_there(choosing, surest->reader, ret, &surest->err);
        if (code && (!choosing->here || code == ERR_CANCELLED)) {
            *err = surest->err;
            return code;
        }
        if (code)
            forget(surest);
        code = 0;
    }
    if (!code && !*ret)
        code = ask_here(choosing, ret, err);
    if (!code && surest && choosing->here &&
        json_get_text(*ret, "reader", NULL)) /* what is held here may have it */
        cJSON_DeleteItemFromObjectCaseSensitive(*ret, "nowhere");
    if (!code)
        merge_put_readers(*ret, choosing->answers, choosing->count);
    return code;
}

/* Follow-ups go on where their session is, which is here unless nothing that is named
 * is. */
static bool is_asked_here_alone(const struct choosing *choosing)
{
    const struct call *call = choosing->call;
    bool apart = json_get_text(call->params, "under", NULL) ||
                 json_get_bool(call->params, "local", false) ||
                 !call->daemon->other_readers;
    return apart ||
           (choosing->named.any &&
            !cJSON_GetArraySize(choosing->named.unheld)) ||
           (choosing->here && json_get_text(call->params, "session", NULL));
}

/* Of all whose searches are asked for first. */
static int ask_the_surest(struct choosing *choosing, cJSON **ret,
                          struct err *err)
{
    struct other_readers *readers = choosing->call->daemon->other_readers;
    cJSON *search = to_search(choosing, true);
    choosing->count = readers->count;
    other_readers_begin(readers, "search", search, choosing->answers);
    int code = answer(choosing, ret, err);
    cJSON_Delete(search);
    reader_answers_free(readers, choosing->answers);
    return code;
}

int ask_with_others(struct call *call, struct json *json, struct err *err)
{
    struct choosing choosing = {.call = call};
    cJSON *result = NULL;
    bool done;
    int code = others_relay(call, "under", ANSWER_MS, json, &done, err);
    if (done)
        return code;
    named_read(call, &choosing.named);
    choosing.here =
        !choosing.named.any || cJSON_GetArraySize(choosing.named.held);
    if (!is_asked_here_alone(&choosing))
        code = ask_the_surest(&choosing, &result, err);
    else if (json_get_bool(call->params, "local", false) && choosing.here)
        code = ask_here(&choosing, &result, err);
    else
        code = verb_ask(call, json, err);
    if (result) {
        others_put(json, result);
        cJSON_Delete(result);
    }
    named_free(&choosing.named);
    return code;
}
