#include "daemon/verbs/rerank.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "daemon/engine/engine.h"
#include "memory/snapshot/content.h"

struct ranked {
    struct route_hit hit;
    float score;
    size_t place; /* before */
};

bool rerank_wanted(const struct call *call)
{
    struct engine *engine = call->daemon->rank_engine;
    return engine && engine_has_model(engine);
}

/* Its title, that of what it stands in, and what it begins with. */
static void put_text(const struct snapshot *snapshot,
                     const struct route_hit *hit, struct buf *text)
{
    const struct tree *outline = hit->view->outline;
    const struct node *node = &outline->nodes[hit->node];
    struct content content = {0};
    if (node->parent != TREE_NONE) {
        buf_put_slice(text, outline->nodes[node->parent].title);
        buf_put_text(text, ": ");
    }
    buf_put_slice(text, node->title);
    if (content_open(snapshot, hit->view, hit->node, &content, NULL))
        return;
    for (uint32_t i = 0; content.node && i < content.node->block_count; i++) {
        struct slice block = content.node->blocks[i].text;
        if (text->size >= RERANK_BYTES)
            break;
        size_t left = RERANK_BYTES - text->size;
        buf_put_text(text, "\n");
        buf_put(text, block.data, block.size < left ? block.size : left);
    }
    content_close(&content);
}

static int compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->score > y->score || x->score < y->score)
        return x->score > y->score ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The best has the best one's fused score, and so on: what compares hits by these
 * finds them falling. */
static void put_in_order(struct route_hit *hits, const float *scores,
                         size_t count)
{
    struct ranked ranked[RERANK_HITS];
    double places[RERANK_HITS];
    for (size_t i = 0; i < count; i++) {
        ranked[i] = (struct ranked){hits[i], scores[i], i};
        places[i] = hits[i].score;
    }
    if (count)
        qsort(ranked, count, sizeof *ranked, compare);
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
    for (size_t i = 0; i < count; i++) {
        put_text(snapshot, &route->hits[i], &texts[i]);
        passages[i] = buf_slice(&texts[i]);
    }
    int code = engine_score(call->daemon->rank_engine, slice_of(question),
                            passages, count, RERANK_MS,
                            &call->request->cancelled, scores, &scored, &cause);
    if (code && code != ERR_CANCELLED)
        log_warn("not reranked: %s", cause.message);
    else
        put_in_order(route->hits, scores, scored);
    if (!code && scored > 1)
        tell(call, scored, ret);
    for (size_t i = 0; i < count; i++)
        buf_free(&texts[i]);
    return code == ERR_CANCELLED ? err_set(err, code, "cancelled") : 0;
}
