/* Answers: without a model, the best passages themselves, each found again in
 * its file before it is quoted. */
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/jobs.h"
#include "daemon/quote.h"
#include "daemon/search.h"

enum {
    DEFAULT_QUOTES = 4,
    MOST_QUOTES = 20,
    SPARE = 4,     /* passages looked at beyond those wanted */
    ROUTE_HITS = 5 /* shown under "route" */
};

struct citation {
    const struct passage *passage;
    struct quote quote;
};

struct answer {
    struct citation *citations;
    size_t count;
    bool fresh;
};

static int check_answer(const struct call *call, struct err *err)
{
    const char *kind = json_get_text(call->params, "answer", "auto");
    if (!strcmp(kind, "auto") || !strcmp(kind, "passages"))
        return 0;
    if (!strcmp(kind, "generated"))
        return err_set(err, ERR_USAGE,
                       "a generated answer needs a model, and none is loaded");
    return err_set(err, ERR_USAGE,
                   "answer must be auto, passages or generated, not '%.40s'",
                   kind);
}

/* Keeps the passages that can be quoted, at most `most`. */
static int choose_quotes(const struct call *call,
                         const struct passages *passages, size_t most,
                         struct answer *answer, struct err *err)
{
    answer->citations = mem_alloc(most * sizeof *answer->citations);
    for (size_t i = 0; i < passages->count && answer->count < most; i++) {
        const struct passage *passage = &passages->items[i];
        struct citation *citation = &answer->citations[answer->count];
        struct err why;
        if (atomic_load(&call->request->cancelled))
            return err_set(err, ERR_CANCELLED, "cancelled");
        if (!quote_is_fresh(passage->volume, passage->block.file))
            answer->fresh = false;
        int code = quote_check(call->parser, passage, &citation->quote, &why);
        if (code == ERR_IO || code == ERR_INTERNAL) {
            *err = why; /* no parser: nothing can be shown to be true */
            return code;
        }
        if (code) {
            log_debug("not quoted: %s", why.message);
            continue;
        }
        citation->passage = passage;
        answer->count++;
    }
    return 0;
}

static void answer_free(struct answer *answer)
{
    for (size_t i = 0; i < answer->count; i++)
        quote_free(&answer->citations[i].quote);
    free(answer->citations);
}

static void put_text(struct json *json, const struct answer *answer)
{
    struct buf text = {0};
    for (size_t i = 0; i < answer->count; i++) {
        const struct citation *citation = &answer->citations[i];
        const struct passage *passage = citation->passage;
        bool code = passage->kind == BLOCK_CODE && citation->quote.whole;
        buf_put_text(&text, i ? "\n\n" : "");
        buf_put_slice(&text,
                      code ? passage->text : buf_slice(&citation->quote.text));
        buf_printf(&text, " [%zu]", i + 1);
    }
    json_field_string(json, "answer", buf_slice(&text));
    buf_free(&text);
}

static void put_citation(struct json *json, size_t number,
                         const struct citation *citation)
{
    const struct passage *passage = citation->passage;
    const struct volume *volume = passage->volume;
    const struct node *node = &volume->outline->nodes[passage->node];
    json_begin(json, '{');
    json_field_int(json, "n", (int64_t)number);
    result_node_id(json, "node", volume, passage->node);
    json_field_text(json, "manual", volume->manual.name);
    result_path(json, volume, passage->node);
    result_entry(json, volume, passage->node);
    json_field_string(json, "file",
                      volume->outline->files[passage->block.file]);
    if (node->anchor.size)
        json_field_string(json, "anchor", node->anchor);
    else
        json_field_null(json, "anchor");
    json_key(json, "span");
    result_span(json, citation->quote.span);
    json_field_string(json, "quote", buf_slice(&citation->quote.text));
    json_field_text(json, "status",
                    citation->quote.whole ? "verified" : "repaired");
    json_end(json, '}');
}

static void put_route(struct json *json, const struct route_result *route)
{
    json_key(json, "route");
    json_begin(json, '[');
    for (size_t i = 0; i < route->count && i < ROUTE_HITS; i++) {
        const struct route_hit *hit = &route->hits[i];
        json_begin(json, '{');
        result_node_id(json, "node", hit->volume, hit->node);
        json_field_string(json, "title",
                          hit->volume->outline->nodes[hit->node].title);
        result_path(json, hit->volume, hit->node);
        result_entry(json, hit->volume, hit->node);
        json_field_double(json, "score", hit->score, 6);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_costs(struct json *json, double start, double routed)
{
    double now = clock_seconds();
    json_key(json, "ms");
    json_begin(json, '{');
    json_field_double(json, "embed", 0, 3);
    json_field_double(json, "route", (routed - start) * 1000, 3);
    json_field_double(json, "pack", (now - routed) * 1000, 3);
    json_field_double(json, "first_token", 0, 3);
    json_field_double(json, "total", (now - start) * 1000, 3);
    json_end(json, '}');
    json_key(json, "tokens");
    json_begin(json, '{');
    json_field_int(json, "prompt", 0);
    json_field_int(json, "answer", 0);
    json_end(json, '}');
}

static void put_answer(struct json *json, const struct call *call,
                       const struct shelf *shelf, const struct answer *answer,
                       const struct route_result *route)
{
    json_field_text(json, "kind", answer->count ? "passages" : "none");
    put_text(json, answer);
    search_generation(json, call, shelf);
    json_field_bool(json, "fresh", answer->fresh);
    json_key(json, "citations");
    json_begin(json, '[');
    for (size_t i = 0; i < answer->count; i++)
        put_citation(json, i + 1, &answer->citations[i]);
    json_end(json, ']');
    put_route(json, route);
    json_field_double(json, "confidence", route->confidence, 4);
    search_explain(json, call, route);
    json_field_null(json, "model");
    json_field_null(json, "attention");
}

/* False: a manual that was asked is known to be behind its files, because its
 * last update failed or one is parsing. */
static bool is_current(const struct call *call, const struct shelf *shelf)
{
    const char *name = json_get_text(call->params, "manual", NULL);
    for (size_t i = 0; i < shelf->count; i++) {
        const struct manual *manual = &shelf->volumes[i]->manual;
        struct job_state state;
        if (name && strcmp(name, manual->name))
            continue;
        jobs_state(call->daemon->jobs, manual->id, &state);
        if (state.err.code || (state.running && state.counted && state.pending))
            return false;
    }
    return true;
}

/* Answers from what was routed to. */
static int answer_from(const struct call *call, const struct shelf *shelf,
                       const struct route_result *route, size_t most,
                       struct json *json, struct err *err)
{
    struct passages passages = {0};
    struct answer answer = {.fresh = is_current(call, shelf)};
    int code = 0;
    if (route->count && route->confidence >= route_least_confidence)
        code = passages_choose(shelf, json_get_text(call->params, "query", ""),
                               route, most + SPARE, &call->request->cancelled,
                               &passages, err);
    if (!code)
        code = choose_quotes(call, &passages, most, &answer, err);
    if (!code)
        put_answer(json, call, shelf, &answer, route);
    answer_free(&answer);
    passages_free(&passages);
    return code;
}

int verb_ask(struct call *call, struct json *json, struct err *err)
{
    double start = clock_seconds();
    size_t most = (size_t)json_get_int(call->params, "n", DEFAULT_QUOTES);
    if (most > MOST_QUOTES)
        most = MOST_QUOTES;
    struct route_result route;
    int code = check_answer(call, err);
    if (code)
        return code;
    struct shelf *shelf = library_shelf(call->daemon->library);
    code = search_route(call, shelf, most + SPARE, &route, err);
    if (!code) {
        double routed = clock_seconds();
        json_begin(json, '{');
        code = answer_from(call, shelf, &route, most, json, err);
        put_costs(json, start, routed);
        json_end(json, '}');
        route_result_free(&route);
    }
    shelf_release(shelf);
    return code;
}
