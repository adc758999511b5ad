/* How well texts answer a question, by the reranker: for programs that have found them
 * themselves. */
#include <stdlib.h>

#include "base/mem.h"
#include "daemon/daemon.h"
#include "daemon/engine/engine.h"
#include "daemon/verbs/rerank.h"

enum { MAX_TEXTS = 256, BUDGET_MS = 60000, DECIMALS = 6 };

static int score(const struct call *call, const cJSON *texts, size_t count,
                 float *ret, struct err *err)
{
    const char *query = json_get_text(call->params, "query", "");
    struct slice *passages = mem_alloc(count * sizeof *passages);
    const cJSON *text;
    size_t at = 0, scored = 0;
    cJSON_ArrayForEach (text, texts)
        passages[at++] = slice_of(text->valuestring);
    int code = engine_score(call->daemon->rank_engine, slice_of(query),
                            passages, count, BUDGET_MS,
                            &call->request->cancelled, ret, &scored, err);
    free(passages);
    if (!code && scored < count)
        code = err_set(err, ERR_LIMIT,
                       "%zu of %zu texts were read in %d s: give it fewer at "
                       "once",
                       scored, count, BUDGET_MS / 1000);
    return code;
}

static void put_scores(const struct call *call, const float *scores,
                       size_t count, struct json *json)
{
    struct engine_state state;
    engine_state(call->daemon->rank_engine, &state);
    json_begin(json, '{');
    json_field_text(json, "model", state.facts.name);
    json_key(json, "scores");
    json_begin(json, '[');
    for (size_t i = 0; i < count; i++)
        json_double(json, (double)scores[i], DECIMALS);
    json_end(json, ']');
    json_end(json, '}');
}

int verb_rank(struct call *call, struct json *json, struct err *err)
{
    const cJSON *texts =
        cJSON_GetObjectItemCaseSensitive(call->params, "texts");
    size_t count = (size_t)cJSON_GetArraySize(texts);
    if (!rerank_wanted(call))
        return err_set(err, ERR_MODEL,
                       "there is no reranker: lectern model use --for "
                       "reranking PATH");
    if (count > MAX_TEXTS)
        return err_set(err, ERR_LIMIT, "at most %d texts at once", MAX_TEXTS);
    float *scores = mem_alloc((count + 1) * sizeof *scores);
    int code = score(call, texts, count, scores, err);
    if (!code)
        put_scores(call, scores, count, json);
    free(scores);
    return code;
}
