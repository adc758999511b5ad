#include "daemon/verbs/verb_search.h"

#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/answer/freshness.h"
#include "daemon/answer/quote.h"
#include "daemon/engine/engine.h"
#include "daemon/verbs/expand.h"
#include "daemon/verbs/rerank.h"
#include "daemon/verbs/selection.h"
#include "memory/snapshot/content.h"

enum { MAX_RESULT = 32 << 20 };

static int mode_of(const char *name, int *ret_mode, struct err *err)
{
    static const char *const names[] = {[ROUTE_AUTO] = "auto",
                                        [ROUTE_TREE] = "tree",
                                        [ROUTE_DENSE] = "dense",
                                        [ROUTE_LEXICAL] = "lexical"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        if (!strcmp(name, names[i])) {
            *ret_mode = i;
            return 0;
        }
    }
    return err_set(err, ERR_USAGE,
                   "mode must be auto, tree, dense or lexical, not '%.40s'",
                   name);
}

/* "weights": [lexical, terms, dense, tree, block], to measure what they do; those
 * left out: 0. */
static int weights_of(const cJSON *params, struct route_weights *weights,
                      struct route_request *request, struct err *err)
{
    const cJSON *item,
        *array = cJSON_GetObjectItemCaseSensitive(params, "weights");
    int count = 0;
    if (!array || cJSON_IsNull(array))
        return 0;
    cJSON_ArrayForEach (item, array) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) ||
            count == ROUTE_RANKINGS)
            break;
        weights->by[count++] = item->valuedouble;
    }
    if (!cJSON_IsArray(array) || item || !count)
        return err_set(err, ERR_USAGE,
                       "weights must be an array of up to %d numbers, none "
                       "below 0",
                       ROUTE_RANKINGS);
    request->weights = weights;
    return 0;
}

int search_kinds(const struct call *call, kind_set *ret, struct err *err)
{
    const char *name = json_get_text(call->params, "kind", NULL);
    *ret = 0;
    for (int kind = 0; name && kind < BLOCK_KINDS; kind++)
        if (!strcmp(block_kind_name(kind), name))
            *ret = kind_bit(kind);
    return !name || *ret ? 0
                         : err_set(err, ERR_USAGE,
                                   "kind must be paragraph, code, table, list, "
                                   "quote, note, math, figure or definition, "
                                   "not '%.40s'",
                                   name);
}

/* The model reads a question that follows up others behind them. */
static int embed(const struct call *call, const struct route_request *request,
                 struct question *ret, struct err *err)
{
    const struct route_context *context = request->context;
    struct buf text = {0};
    for (size_t i = context ? context->question_count : 0; i-- > 0;)
        buf_printf(&text, "%s ", context->questions[i]);
    buf_put_text(&text, request->query);
    int code = question_embed(call, text.data, request->mode, ret, err);
    buf_free(&text);
    return code;
}

/* What the model saw lives as long as the question. */
static void take_vector(struct route_request *request,
                        const struct question *question)
{
    request->vector = question->vector;
    request->pieces = question->pieces;
    request->policy = question->policy;
    request->embeds = question->embeds;
}

/* Who names a part or a file wants what stands there. */
static bool may_fold(const struct route_request *request)
{
    return !request->under && !request->file;
}

/* Where copies are not named, only what says nothing else is left out; where manuals
 * are, what stands in each of them stays. */
static void fold(const struct call *call, const struct snapshot *snapshot,
                 const struct selection *selection, struct route_result *route,
                 size_t max, struct copies *ret_copies)
{
    struct copies copies;
    copies_fold(snapshot, route, max,
                (struct copies_rule){.equal = !ret_copies,
                                     .between = !selection->count},
                &call->request->cancelled, &copies);
    if (ret_copies)
        *ret_copies = copies;
    else
        copies_free(&copies);
}

/* ---- Operators ---- */

struct asked {
    const struct snapshot *snapshot;
    const struct selection *selection;
};

/* Sections that hold a term, of which one must hold it as it is written, or so many. */
enum { MAX_READ = 32 };

struct holding {
    uint64_t ids[MAX_READ]; /* [count] */
    size_t count;
};

static void take_holder(void *context, struct slice term, uint64_t id,
                        uint64_t packed)
{
    struct holding *holding = context;
    (void)term;
    (void)packed;
    if (holding->count < MAX_READ)
        holding->ids[holding->count++] = id;
}

/* Of ASCII: typographic quotes and spaces are none. */
static bool is_of_word(unsigned char c)
{
    return c == '_' || c == '-' || (unsigned)((c | 32) - 'a') < 26 ||
           (unsigned)(c - '0') < 10;
}

/* Does the text hold it, to the letter and neither within a word nor behind one? */
static bool writes(struct slice text, struct slice written)
{
    const char *end = text.data + text.size, *at = text.data;
    while ((at = memmem(at, (size_t)(end - at), written.data, written.size))) {
        const char *behind = at + written.size;
        if ((at == text.data || !is_of_word((unsigned char)at[-1])) &&
            (behind == end || !is_of_word((unsigned char)*behind)))
            return true;
        at++;
    }
    return false;
}

static bool writes_in(const struct snapshot *snapshot, uint64_t id,
                      struct slice written)
{
    const struct view *view;
    struct content content;
    uint32_t node;
    if (!snapshot_find(snapshot, id, &view, &node))
        return false;
    bool found = writes(view->outline->nodes[node].title, written);
    if (found || content_open(snapshot, view, node, &content, NULL))
        return found;
    for (uint32_t b = 0; b < content.node->block_count && !found; b++)
        found = writes(content.node->blocks[b].text, written) ||
                writes(content.node->blocks[b].info, written);
    content_close(&content);
    return found;
}

/* Terms know no capitals: "-Unique" is an argument, and no option -unique.  An error
 * is met again, and told, by the search itself. */
static bool is_option(void *context, struct slice term, struct slice written)
{
    const struct asked *asked = context;
    const struct snapshot *snapshot = asked->snapshot;
    struct store_txn *txn;
    bool known = false;
    if (store_read(snapshot->store, &txn, NULL))
        return false;
    for (size_t i = 0; i < snapshot->count && !known; i++) {
        const struct view *view = snapshot->views[i];
        struct holding holding = {.count = 0};
        struct slice postings = {0};
        if (selection_has(asked->selection, view->manual.name) &&
            !lexical_postings(txn, view, term, &postings, NULL))
            lexical_read(term, postings, take_holder, &holding);
        known = holding.count == MAX_READ; /* too many to tell */
        for (size_t h = 0; h < holding.count && !known; h++)
            known = writes_in(snapshot, holding.ids[h], written);
    }
    store_end(txn);
    return known;
}

/* ---- Questions ---- */

/* Whether one of the first holds half of the question. */
static bool is_covered(const struct route_result *route)
{
    for (size_t i = 0; i < route->count && i < 3; i++)
        if (route->hits[i].coverage >= 0.5)
            return true;
    return false;
}

/* A question may quote what no section that answers it holds. */
static int route_loosely(const struct snapshot *snapshot,
                         struct route_request *request,
                         struct query_operators *operators,
                         struct route_result *ret_route, struct err *err)
{
    int code = route_question(snapshot, request, ret_route, err);
    if (code || !operators->joined || !operators->count ||
        is_covered(ret_route))
        return code;
    operators->loose = true;
    route_result_free(ret_route);
    return route_question(snapshot, request, ret_route, err);
}

/* What the words found is fused into what the question did. */
static int route_words(const struct call *call, const struct snapshot *snapshot,
                       const struct route_request *request, struct buf *words,
                       struct route_result *route, struct err *err)
{
    struct route_request second = *request;
    struct route_result also;
    struct question question;
    second.query = words->data;
    second.max = EXPAND_HITS;
    second.explain = false;
    int code = embed(call, &second, &question, err);
    if (code)
        return code;
    take_vector(&second, &question);
    code = route_question(snapshot, &second, &also, err);
    question_free(&question);
    if (code)
        return code;
    expand_fuse(route, &also, request->max);
    route_result_free(&also);
    route->expanded = words->data;
    *words = (struct buf){0};
    return 0;
}

static int route_expanded(const struct call *call,
                          const struct snapshot *snapshot,
                          const struct selection *selection,
                          struct route_request *request,
                          struct query_operators *operators,
                          struct route_result *ret_route, struct err *err)
{
    size_t max = request->max;
    struct buf words = {0};
    bool expanded;
    int code = expand_wanted(call, request, &expanded, err);
    if (code)
        return code;
    if (expanded && max < EXPAND_HITS)
        request->max = EXPAND_HITS;
    code = route_loosely(snapshot, request, operators, ret_route, err);
    request->max = max;
    if (code || !expanded)
        return code;
    code = expand_write(call, snapshot, selection, request->query, &words, err);
    if (!code && words.size)
        code = route_words(call, snapshot, request, &words, ret_route, err);
    if (code)
        route_result_free(ret_route);
    else if (ret_route->count > max)
        ret_route->count = max;
    buf_free(&words);
    return code;
}

/* Of mode auto, but while the query is still being typed. */
static int route_reranked(const struct call *call,
                          const struct snapshot *snapshot,
                          const struct selection *selection,
                          struct route_request *request,
                          struct query_operators *operators,
                          struct question *ret_question,
                          struct route_result *ret_route, struct err *err)
{
    size_t max = request->max;
    bool reranked =
        request->mode == ROUTE_AUTO && !request->typing && rerank_wanted(call);
    if (reranked && max < RERANK_HITS)
        request->max = RERANK_HITS;
    int code = route_expanded(call, snapshot, selection, request, operators,
                              ret_route, err);
    request->max = max;
    if (code || !reranked)
        return code;
    code = rerank(call, snapshot, request->query, ret_route, ret_question, err);
    if (code)
        route_result_free(ret_route);
    else if (ret_route->count > max)
        ret_route->count = max;
    return code;
}

static int route(const struct call *call, const struct snapshot *snapshot,
                 const struct selection *selection,
                 struct route_request *request, struct question *ret_question,
                 struct route_result *ret_route, struct err *err)
{
    struct asked asked = {snapshot, selection};
    struct query_operators operators;
    operators_read(request->query, is_option, &asked, &operators);
    request->query = operators.words;
    request->operators = &operators;
    struct question question;
    int code = embed(call, request, &question, err);
    if (!code) {
        take_vector(request, &question);
        code = route_reranked(call, snapshot, selection, request, &operators,
                              &question, ret_route, err);
        question_free(&question);
        question.vector = NULL;
        question.pieces = NULL;
        request->pieces = NULL;
        *ret_question = question;
    }
    operators_free(&operators);
    return code;
}

int search_question(const struct call *call, const struct snapshot *snapshot,
                    size_t max, const struct route_context *context,
                    struct question *ret_question,
                    struct route_result *ret_route, struct copies *ret_copies,
                    struct err *err)
{
    const cJSON *params = call->params;
    const char *under = json_get_text(params, "under", NULL);
    struct route_request request = {
        .query = json_get_text(params, "query", ""),
        .file = json_get_text(params, "file", NULL),
        .max = max,
        .cancelled = &call->request->cancelled,
        .context = context,
        .pool = call->daemon->search_pool,
        .typing = json_get_bool(params, "typing", false),
        .explain = json_get_bool(params, "explain", false)};
    struct route_weights weights;
    int code =
        mode_of(json_get_text(params, "mode", "auto"), &request.mode, err);
    if (!code)
        code = weights_of(params, &weights, &request, err);
    if (!code)
        code = search_kinds(call, &request.kinds, err);
    if (code)
        return code;
    if (under && !node_parse(under, &request.under))
        return err_set(err, ERR_USAGE, "under: '%.100s' does not name a node",
                       under);
    struct selection selection = selection_of(call);
    bool none;
    code = selection_check(&selection, call, snapshot, &none, err);
    if (code)
        return code;
    request.manuals = selection.names;
    request.manual_count = selection.count;
    bool folded = may_fold(&request);
    if (folded)
        request.max = copies_depth(max);
    if (ret_copies)
        *ret_copies = (struct copies){0};
    if (none) {
        *ret_question = (struct question){0};
        *ret_route = (struct route_result){0};
        return 0;
    }
    code = route(call, snapshot, &selection, &request, ret_question, ret_route,
                 err);
    if (!code && !ret_route->count) {
        code = selection_check_damage(&selection, snapshot, err);
        if (code)
            route_result_free(ret_route);
    }
    if (!code && folded)
        fold(call, snapshot, &selection, ret_route, max, ret_copies);
    return code;
}

void search_generation(struct json *json, const struct call *call,
                       const struct snapshot *snapshot)
{
    struct selection selection = selection_of(call);
    uint64_t generation = 0;
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct manual *manual = &snapshot->views[i]->manual;
        if (selection_has(&selection, manual->name) &&
            manual->generation > generation)
            generation = manual->generation;
    }
    json_field_int(json, "generation", (int64_t)generation);
}

static void explain_terms(struct json *json, const struct route_result *route)
{
    json_key(json, "terms");
    json_begin(json, '[');
    for (size_t i = 0; i < route->term_count; i++) {
        json_begin(json, '{');
        json_field_text(json, "term", route->terms[i].term);
        if (route->terms[i].written)
            json_field_text(json, "written", route->terms[i].written);
        json_field_int(json, "nodes", route->terms[i].nodes);
        json_field_double(json, "idf", route->terms[i].idf, 4);
        json_field_double(json, "weight", route->terms[i].weight, 4);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void explain_operators(struct json *json,
                              const struct route_result *route, const char *key,
                              bool exclude)
{
    json_key(json, key);
    json_begin(json, '[');
    for (size_t i = 0; i < route->operator_count; i++) {
        const struct route_operator *operator= & route->operators[i];
        if (operator->exclude != exclude)
            continue;
        json_begin(json, '{');
        json_field_text(json, "text", operator->text);
        json_field_int(json, "nodes", operator->nodes);
        if (!exclude)
            json_field_bool(json, "demanded", operator->demanded);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void search_nowhere(struct json *json, const struct route_result *route)
{
    bool begun = false;
    for (size_t i = 0; i < route->operator_count; i++) {
        if (!route->operators[i].nowhere)
            continue;
        if (!begun) {
            json_key(json, "nowhere");
            json_begin(json, '[');
        }
        begun = true;
        json_text(json, route->operators[i].text);
    }
    if (begun)
        json_end(json, ']');
}

static void explain_steps(struct json *json, const struct route_result *route)
{
    json_key(json, "levels");
    json_begin(json, '[');
    for (size_t i = 0; i < route->step_count; i++) {
        const struct route_step *step = &route->steps[i];
        json_begin(json, '{');
        json_field_text(json, "by", route_ranking_names[step->ranking]);
        json_field_int(json, "depth", step->depth);
        result_node_id(json, "node", step->view, step->node);
        json_field_string(json, "title",
                          step->view->outline->nodes[step->node].title);
        json_field_double(json, "score", step->score, 6);
        json_field_bool(json, "kept", step->kept);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* What each ranking counts. */
static void explain_weights(struct json *json, const struct route_result *route)
{
    json_key(json, "weights");
    json_begin(json, '{');
    for (int r = 0; r < ROUTE_RANKINGS; r++)
        json_field_double(json, route_ranking_names[r], route->weights.by[r],
                          4);
    json_end(json, '}');
}

static void explain_place(struct json *json, const char *ranking,
                          const struct route_place *place)
{
    json_key(json, ranking);
    json_begin(json, '{');
    json_field_int(json, "rank", place->rank);
    json_field_double(json, "score", place->score, 6);
    json_end(json, '}');
}

static void explain_hits(struct json *json, const struct route_result *route)
{
    json_key(json, "hits");
    json_begin(json, '[');
    for (size_t i = 0; i < route->count; i++) {
        const struct route_hit *hit = &route->hits[i];
        json_begin(json, '{');
        result_node_id(json, "node", hit->view, hit->node);
        json_field_double(json, "score", hit->score, 6);
        for (int r = 0; r < ROUTE_RANKINGS; r++)
            if (hit->by[r].rank)
                explain_place(json, route_ranking_names[r], &hit->by[r]);
        if (hit->pieces.rank)
            explain_place(json, "pieces", &hit->pieces);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* How the vectors were searched: "flat", each compared, or "lists" of an
 * index. */
static void explain_dense(struct json *json, const struct route_dense *dense)
{
    if (!dense->rows)
        return;
    json_key(json, "dense");
    json_begin(json, '{');
    json_field_int(json, "segments", (int64_t)dense->rows);
    json_field_text(json, "by", dense->lists ? "lists" : "flat");
    if (dense->lists) {
        json_field_int(json, "lists", dense->lists);
        json_field_int(json, "probes", dense->probes);
        json_field_int(json, "seen", (int64_t)dense->seen);
        json_field_int(json, "added", (int64_t)dense->added);
    }
    json_end(json, '}');
}

void search_terms(struct json *json, const struct route_result *route)
{
    json_key(json, "terms");
    json_begin(json, '[');
    for (size_t t = 0; t < route->term_count; t++)
        if (!route->terms[t].common)
            json_text(json, route->terms[t].term);
    json_end(json, ']');
}

/* What the confidence is told from. */
static void explain_evidence(struct json *json,
                             const struct route_result *route)
{
    json_key(json, "evidence");
    json_begin(json, '{');
    for (int f = 0; f < CONFIDENCE_FEATURES; f++)
        json_field_double(json, confidence_feature_names[f], route->features[f],
                          4);
    json_end(json, '}');
}

void search_explain(struct json *json, const struct call *call,
                    const struct route_result *route)
{
    if (!json_get_bool(call->params, "explain", false))
        return;
    json_key(json, "explain");
    json_begin(json, '{');
    json_field_text(json, "mode", json_get_text(call->params, "mode", "auto"));
    explain_terms(json, route);
    explain_operators(json, route, "phrases", false);
    explain_operators(json, route, "excluded", true);
    explain_dense(json, &route->dense);
    explain_steps(json, route);
    explain_weights(json, route);
    explain_hits(json, route);
    json_field_double(json, "confidence", route->confidence, 4);
    json_field_double(json, "least_confidence", route_min_confidence, 4);
    explain_evidence(json, route);
    json_end(json, '}');
}

/* The block that a hit was scored by, as get shows it. */
static void put_block(struct json *json, const struct route_hit *hit,
                      const struct content *content)
{
    if (hit->block >= content->node->block_count)
        return;
    const struct block *block = &content->node->blocks[hit->block];
    uint32_t file = content_file(content, hit->view, hit->node, block);
    json_key(json, "block");
    json_begin(json, '{');
    json_field_text(json, "kind", block_kind_name(block->kind));
    json_field_string(json, "text", block->text);
    json_field_string(json, "file", hit->view->outline->files[file]);
    json_key(json, "span");
    result_span(json, block->origin.span);
    json_end(json, '}');
}

/* The whole own text of an outline's node, and what it was scored by. */
static int put_texts(struct json *json, const struct snapshot *snapshot,
                     const struct route_hit *hit, struct err *err)
{
    struct content content;
    struct buf text = {0};
    int code = content_open(snapshot, hit->view, hit->node, &content, err);
    if (code && code != ERR_NOT_FOUND)
        return code;
    if (!code) {
        tree_node_text(content.node, &text);
        put_block(json, hit, &content);
        content_close(&content);
    }
    json_field_string(json, "text", buf_slice(&text));
    buf_free(&text);
    return 0;
}

/* Files that were looked at: results share them. */
struct looked {
    const struct view *view;
    uint32_t file;
    bool fresh;
};

struct looks {
    struct looked *items; /* [count] */
    size_t count;
    bool fresh; /* all of them */
};

static bool is_fresh(struct looks *looks, const struct route_hit *hit)
{
    const struct node *node = &hit->view->outline->nodes[hit->node];
    if (!node->origin_count)
        return true;
    uint32_t file = node->origins[0].file;
    for (size_t i = looks->count; i-- > 0;)
        if (looks->items[i].view == hit->view && looks->items[i].file == file)
            return looks->items[i].fresh;
    bool fresh = quote_is_fresh(hit->view, file);
    looks->items[looks->count++] = (struct looked){hit->view, file, fresh};
    looks->fresh = looks->fresh && fresh;
    return fresh;
}

static int put_hit(struct json *json, const struct snapshot *snapshot,
                   const struct route_result *route,
                   const struct copies *copies, size_t number,
                   struct looks *looks, struct err *err)
{
    const struct route_hit *hit = &route->hits[number];
    json_begin(json, '{');
    result_node_id(json, "node", hit->view, hit->node);
    json_field_text(json, "manual", hit->view->manual.name);
    result_path(json, hit->view, hit->node);
    result_entry(json, hit->view, hit->node);
    result_place(json, hit->view, hit->node);
    json_field_double(json, "score", hit->score, 6);
    json_field_double(json, "coverage", hit->coverage, 4);
    json_field_bool(json, "fresh", is_fresh(looks, hit));
    int code = put_texts(json, snapshot, hit, err);
    result_children(json, hit->view, hit->node);
    copies_put(json, copies, number);
    json_end(json, '}');
    return code;
}

static int put_results(struct json *json, const struct call *call,
                       const struct snapshot *snapshot,
                       const struct route_result *route,
                       const struct copies *copies, struct err *err)
{
    int code = 0;
    struct freshness fresh = freshness_of(call, snapshot);
    struct looks looks = {
        .items = mem_alloc(route->count * sizeof *looks.items), .fresh = true};
    json_key(json, "results");
    json_begin(json, '[');
    for (size_t i = 0; i < route->count && !code; i++) {
        if (atomic_load(&call->request->cancelled))
            code = err_set(err, ERR_CANCELLED, "cancelled");
        else if (json->out->size > MAX_RESULT)
            code = err_set(err, ERR_LIMIT,
                           "the first %zu results alone have more than %d MB: "
                           "ask for fewer with -n",
                           i, MAX_RESULT >> 20);
        else
            code = put_hit(json, snapshot, route, copies, i, &looks, err);
    }
    json_end(json, ']');
    freshness_put(json, &fresh, looks.fresh);
    selection_put_searched(json, call, snapshot);
    selection_put_missing(json, call, snapshot);
    free(looks.items);
    return code;
}

int verb_search(struct call *call, struct json *json, struct err *err)
{
    double start = clock_seconds();
    size_t max = (size_t)json_get_int(call->params, "n", SEARCH_DEFAULT_HITS);
    struct snapshot *snapshot = library_snapshot(call->daemon->library);
    struct route_result route;
    struct question question;
    struct copies copies;
    int code = search_question(call, snapshot, max, NULL, &question, &route,
                               &copies, err);
    if (!code) {
        double routed = clock_seconds();
        json_begin(json, '{');
        json_field_text(json, "query",
                        json_get_text(call->params, "query", ""));
        search_generation(json, call, snapshot);
        code = put_results(json, call, snapshot, &route, &copies, err);
        search_terms(json, &route);
        search_nowhere(json, &route);
        json_field_double(json, "confidence", route.confidence, 4);
        json_field_bool(json, "confident",
                        route.confidence >= route_min_confidence);
        search_explain(json, call, &route);
        json_field_text(json, "model", question.model);
        expand_put(json, &route);
        rerank_put(json, &question);
        json_key(json, "ms");
        json_begin(json, '{');
        json_field_double(json, "embed", question.ms, 3);
        json_field_double(json, "route", (routed - start) * 1000 - question.ms,
                          3);
        json_field_double(json, "total", (clock_seconds() - start) * 1000, 3);
        json_end(json, '}');
        json_end(json, '}');
        copies_free(&copies);
        route_result_free(&route);
    }
    snapshot_unref(snapshot);
    return code;
}
