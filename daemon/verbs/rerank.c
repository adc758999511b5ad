#include "daemon/verbs/rerank.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "daemon/engine/engine.h"
#include "daemon/verbs/scored_hits.h"
#include "memory/routing/passage.h"

/* What the model's score counts beside that of what found them, chosen on people's
 * questions and on those of tests/questions/asked (docs/log/engine.md, "Rerankers"). */
static const double WEIGHT = 0.05;

bool rerank_wanted(const struct call *call)
{
    struct engine *engine = call->daemon->rank_engine;
    return engine && engine_has_model(engine);
}

/* The titles above, its own. */
static void put_titles(const struct route_hit *hit, struct buf *text)
{
    const struct node *nodes = hit->view->outline->nodes;
    size_t count;
    uint32_t *path = view_path(hit->view, hit->node, &count);
    size_t from = count > RERANK_TITLES ? count - RERANK_TITLES : count > 1;
    for (size_t i = from; i < count; i++) {
        buf_put_slice(text, nodes[path[i]].title);
        buf_put_text(text, i + 1 < count ? " > " : ": ");
    }
    free(path);
}

/* ---- Scores into an order ---- */

/* Logits of one model spread otherwise than another's; count: at least 1. */
static void standardise(const float *scores, size_t count, double *ret)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)scores[i];
    double mean = sum / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += ((double)scores[i] - mean) * ((double)scores[i] - mean);
    double deviation = sqrt(squares / (double)count);
    for (size_t i = 0; i < count; i++)
        ret[i] = deviation > 0 ? ((double)scores[i] - mean) / deviation : 0;
}

/* The best has the best one's fused score, and so on: what compares hits by these
 * finds them falling. */
static void put_in_order(struct route_hit *hits, size_t count,
                         const float *scores, size_t scored)
{
    struct scored_hit ranked[RERANK_HITS];
    double places[RERANK_HITS], said[RERANK_HITS] = {0};
    double most = hits[0].score > 0 ? hits[0].score : 1;
    standardise(scores, scored, said);
    for (size_t i = 0; i < count; i++) {
        ranked[i] = (struct scored_hit){
            hits[i], hits[i].score / most + WEIGHT * said[i], i};
        places[i] = hits[i].score;
    }
    scored_hits_sort(ranked, count);
    for (size_t i = 0; i < count; i++) {
        hits[i] = ranked[i].hit;
        hits[i].score = places[i];
    }
}

/* Who put so many in order. */
static void tell(const struct call *call, size_t scored, struct question *ret)
{
    struct engine_state state;
    engine_state(call->daemon->rank_engine, &state);
    ret->reranker = state.facts.name;
    ret->reranked = scored;
}

void rerank_put(struct json *json, const struct question *question)
{
    if (!question->reranker)
        return;
    json_key(json, "reranked");
    json_begin(json, '{');
    json_field_text(json, "by", question->reranker);
    json_field_int(json, "sections", (int64_t)question->reranked);
    json_end(json, '}');
}

int rerank(const struct call *call, const struct snapshot *snapshot,
           const char *question, struct route_result *route,
           struct question *ret, struct err *err)
{
    size_t count = route->count < RERANK_HITS ? route->count : RERANK_HITS;
    struct buf texts[RERANK_HITS] = {{0}};
    struct slice passages[RERANK_HITS];
    float scores[RERANK_HITS];
    struct err cause = {0};
    size_t scored = 0;
    if (count < 2 || !rerank_wanted(call))
        return 0;
    for (size_t i = 0; i < count; i++)
        put_titles(&route->hits[i], &texts[i]);
    int code = passages_excerpts(snapshot, route, count, RERANK_BYTES,
                                 &call->request->cancelled, texts, &cause);
    for (size_t i = 0; i < count; i++)
        passages[i] = buf_slice(&texts[i]);
    if (!code)
        code = engine_score(call->daemon->rank_engine, slice_of(question),
                            passages, count, RERANK_MS,
                            &call->request->cancelled, scores, &scored, &cause);
    if (code && code != ERR_CANCELLED) {
        log_warn("not reranked: %s", cause.message);
    } else if (!code && scored > 1) {
        put_in_order(route->hits, count, scores, scored);
        tell(call, scored, ret);
    }
    for (size_t i = 0; i < count; i++)
        buf_free(&texts[i]);
    return code == ERR_CANCELLED ? err_set(err, code, "cancelled") : 0;
}
