/* Answers: what a model writes about the best passages, when there is one and
 * what it wrote stands in them, else the passages themselves.  Every quote is
 * found again in its file first.
 *
 *     route ──► passages ──► written ──► checked ──► "generated"
 *       │           │           └─ auto: declined ─┐
 *       │           └──────── "passages" ◄─────────┘
 *       └─ too little confidence: "none" */
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "daemon/engine/engine.h"
#include "daemon/net/protocol.h"
#include "daemon/net/stream_event.h"
#include "daemon/answer/card_answer.h"
#include "daemon/answer/compose.h"
#include "daemon/roles.h"
#include "daemon/answer/freshness.h"
#include "daemon/verbs/expand.h"
#include "daemon/verbs/rerank.h"
#include "daemon/verbs/verb_search.h"
#include "daemon/verbs/selection.h"
#include "daemon/answer/conversation.h"
#include "daemon/answer/units.h"

enum {
    DEFAULT_QUOTES = 4,
    SPARE = 4, /* passages looked at beyond those wanted */
    MAX_STOPS = 16,
    OPEN_MS = 1000 /* waited for a model that is being opened, if need not be */
};

enum wanted { WANT_AUTO, WANT_GENERATED, WANT_PASSAGES };

struct asking {
    const struct call *call;
    struct snapshot *snapshot;
    int wanted;     /* enum wanted */
    size_t max;     /* sections quoted */
    kind_set kinds; /* of blocks; 0: any */
    enum extent extent;
    struct slice stops[MAX_STOPS];
    size_t stop_count;
    size_t whole_tokens; /* most of all that is below `node`, which is read
                            instead of passages; 0: passages */
    const struct view *view;
    uint32_t node;
    const char *session; /* its name; NULL: the question stands alone */
    struct conversation_past
        past; /* what is followed up; none unless it does */
    bool follows;
    struct question question; /* as the model saw it */
    struct route_result route;
    struct passages passages, units;
    struct composed written; /* without its answer */
    char abstained[sizeof((struct err *)0)->message];
    const char *kind;
    struct answer answer, card;
    double start, routed, first_token; /* clock_seconds, 0: none */
};

static bool has_model(const struct call *call)
{
    return engine_has_model(roles_answers(call->daemon));
}

static int read_wanted(struct asking *asking, struct err *err)
{
    static const char *const names[] = {[WANT_AUTO] = "auto",
                                        [WANT_GENERATED] = "generated",
                                        [WANT_PASSAGES] = "passages"};
    const char *name = json_get_text(asking->call->params, "answer", "auto");
    asking->wanted = -1;
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        if (!strcmp(name, names[i]))
            asking->wanted = i;
    if (asking->wanted < 0)
        return err_set(err, ERR_USAGE,
                       "answer must be auto, generated or passages, not "
                       "'%.40s'",
                       name);
    if (asking->wanted == WANT_GENERATED && !has_model(asking->call))
        return err_set(err, ERR_MODEL,
                       "a generated answer needs a model, and none is "
                       "configured (`model =` in the configuration)");
    return 0;
}

static int read_extent(struct asking *asking, struct err *err)
{
    static const char *const names[] = {[EXTENT_NORMAL] = "normal",
                                        [EXTENT_BRIEF] = "brief",
                                        [EXTENT_FULL] = "full"};
    const char *name = json_get_text(asking->call->params, "extent", "normal");
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        if (!strcmp(name, names[i])) {
            asking->extent = (enum extent)i;
            return 0;
        }
    return err_set(err, ERR_USAGE,
                   "extent must be normal, brief or full, not '%.40s'", name);
}

/* ---- The conversation ---- */

static int read_session(struct asking *asking, struct err *err)
{
    const char *name = json_get_text(asking->call->params, "session", NULL);
    if (!name)
        return 0;
    if (!name[0] || strlen(name) > CONVERSATION_NAME)
        return err_set(err, ERR_USAGE,
                       "a session's name has from 1 to %d bytes",
                       CONVERSATION_NAME);
    asking->session = name;
    conversations_past(asking->call->daemon->conversations, name, clock_ms(),
                       &asking->past);
    asking->follows =
        asking->past.count > 0 &&
        conversation_follows(json_get_text(asking->call->params, "query", ""));
    if (!asking->follows)
        asking->past.count = 0;
    return 0;
}

struct followed {
    const char *questions[CONVERSATION_TURNS];
    uint64_t near[CONVERSATION_NODES];
};

/* The questions are those that name a subject, the sections those of the last
 * turn that had any. */
static struct route_context context_of(const struct asking *asking,
                                       struct followed *followed)
{
    const struct conversation_past *past = &asking->past;
    const char *query = json_get_text(asking->call->params, "query", "");
    struct route_context context = {.questions = followed->questions,
                                    .names = conversation_names(query),
                                    .points = conversation_points_back(query),
                                    .near = followed->near};
    for (size_t i = 0; i < past->count; i++) {
        const struct conversation_turn *turn = &past->turns[i];
        if (conversation_names(turn->question))
            followed->questions[context.question_count++] = turn->question;
        if (context.near_count)
            continue;
        context.near_count = turn->node_count;
        memcpy(followed->near, turn->nodes, sizeof turn->nodes);
    }
    return context;
}

/* The sections that are cited, each once. */
static void take_nodes(const struct answer *answer,
                       struct conversation_turn *turn)
{
    for (size_t i = 0; i < answer->count; i++) {
        const struct passage *passage = &answer->citations[i].passage;
        uint64_t id = passage->view->outline->nodes[passage->node].id;
        size_t at = 0;
        while (at < turn->node_count && turn->nodes[at] != id)
            at++;
        if (at == turn->node_count && at < CONVERSATION_NODES)
            turn->nodes[turn->node_count++] = id;
    }
}

static void remember(const struct asking *asking)
{
    struct conversation_turn turn = {.follows = asking->follows};
    if (!asking->session)
        return;
    conversation_turn_ask(&turn,
                          json_get_text(asking->call->params, "query", ""));
    take_nodes(&asking->answer, &turn);
    conversations_add(asking->call->daemon->conversations, asking->session,
                      clock_ms(), &turn);
}

static void put_session(struct json *json, const struct asking *asking)
{
    struct followed followed;
    struct route_context context = context_of(asking, &followed);
    if (!asking->session)
        return;
    json_key(json, "session");
    json_begin(json, '{');
    json_field_text(json, "name", asking->session);
    json_field_int(json, "turn", (int64_t)asking->past.asked + 1);
    json_field_bool(json, "follows", asking->follows);
    json_key(json, "questions");
    json_begin(json, '[');
    for (size_t i = 0; i < context.question_count; i++)
        json_text(json, context.questions[i]);
    json_end(json, ']');
    json_key(json, "near");
    json_begin(json, '[');
    for (size_t i = 0; i < context.near_count; i++) {
        char name[24];
        node_name(context.near[i], name);
        json_text(json, name);
    }
    json_end(json, ']');
    json_end(json, '}');
}

/* ---- A whole sub-tree ---- */

/* With the snapshot. */
static int read_whole(struct asking *asking, struct err *err)
{
    const cJSON *params = asking->call->params;
    const char *under = json_get_text(params, "under", NULL);
    int64_t tokens = json_get_int(params, "context", 0);
    uint64_t id;
    if (!tokens)
        return 0;
    if (!under || asking->wanted == WANT_PASSAGES)
        return err_set(err, ERR_USAGE,
                       "context: a model reads what is below a node: name it "
                       "with `under`, and have an answer written");
    if (!has_model(asking->call))
        return err_set(err, ERR_MODEL,
                       "context: a model reads what is below a node, and none "
                       "is configured (lectern model use PATH)");
    if (!node_parse(under, &id) ||
        !snapshot_find(asking->snapshot, id, &asking->view, &asking->node))
        return err_set(err, ERR_USAGE, "under: '%.100s' does not name a node",
                       under);
    asking->whole_tokens = (size_t)tokens;
    return 0;
}

/* ---- What the answer is made of ---- */

static void send_route(const struct asking *asking)
{
    struct buf params = {0};
    if (!event_wanted(asking->call))
        return;
    struct json json = event_begin(asking->call, "route", &params);
    json_key(&json, "route");
    answer_put_route(&json, &asking->route);
    event_send(asking->call, &json);
}

static int find(struct asking *asking, struct err *err)
{
    const struct call *call = asking->call;
    size_t max = asking->max + SPARE;
    struct followed followed;
    struct route_context context = context_of(asking, &followed);
    int code = search_question(call, asking->snapshot, max,
                               asking->follows ? &context : NULL,
                               &asking->question, &asking->route, NULL, err);
    if (code)
        return code;
    asking->routed = clock_seconds();
    send_route(asking);
    if (!asking->route.count || asking->route.confidence < route_min_confidence)
        return 0;
    code = search_kinds(call, &asking->kinds, err);
    return code ? code
                : passages_choose(asking->snapshot, &asking->route, max,
                                  asking->kinds, &call->request->cancelled,
                                  &asking->passages, err);
}

static void decline(struct asking *asking, const char *why)
{
    log_debug("declined: %s", why);
    snprintf(asking->abstained, sizeof asking->abstained, "%s", why);
}

static struct sampling sampling_of(const cJSON *params)
{
    return (struct sampling){
        .penalty = json_get_double(params, "repetition_penalty", 1),
        .temperature = json_get_double(params, "temperature", 0),
        .top_k = (size_t)json_get_int(params, "top_k", 0),
        .top_p = json_get_double(params, "top_p", 1),
        .min_p = json_get_double(params, "min_p", 0),
        .seed = (uint64_t)json_get_int(params, "seed", 0)};
}

/* The texts that end an answer. */
static int read_stop_sequences(struct asking *asking, struct err *err)
{
    const cJSON *item;
    cJSON_ArrayForEach (
        item, cJSON_GetObjectItemCaseSensitive(asking->call->params, "stop")) {
        if (!item->valuestring[0] || asking->stop_count == MAX_STOPS)
            return err_set(err, ERR_USAGE,
                           "stop must be at most %d texts, none of them empty",
                           MAX_STOPS);
        asking->stops[asking->stop_count++] = slice_of(item->valuestring);
    }
    return 0;
}

/* Beneath what a model says in its own words: what would have been quoted, where it
 * is not cited already. */
static int quote_besides(struct asking *asking, struct err *err)
{
    struct answer *answer = &asking->answer;
    size_t sections = 0;
    int code = units_of(asking->snapshot, &asking->route, &asking->passages,
                        asking->kinds, asking->extent,
                        &asking->call->request->cancelled, &asking->units, err);
    for (size_t i = 0; i < asking->units.count && !code; i++) {
        const struct passage *unit = &asking->units.items[i];
        struct err why = {.position = -1};
        sections +=
            !i || unit->node != unit[-1].node || unit->view != unit[-1].view;
        if (sections > asking->max)
            break;
        if (!answer_cites(answer, unit))
            code = answer_cite(asking->call, answer, unit, CITE_VERIFIED, true,
                               &why);
        if (code && !answer_is_lost(code))
            code = 0; /* it has changed since */
        else if (code)
            *err = why;
    }
    return code;
}

/* A model's answer, unless passages are the better one. */
static int write_answer(struct asking *asking, struct err *err)
{
    const struct call *call = asking->call;
    bool must = asking->wanted == WANT_GENERATED || asking->whole_tokens;
    double start = clock_seconds();
    struct compose_options options = {
        .max = (size_t)json_get_int(call->params, "max_tokens", 0),
        .sampling = sampling_of(call->params),
        .stops = asking->stops,
        .stop_count = asking->stop_count,
        .live = must,
        .whole_tokens = asking->whole_tokens,
        .view = asking->view,
        .node = asking->node,
        .confident = !must};
    struct composed *written = &asking->written;
    struct err why = {.position = -1};
    if (!must && !engine_ready(roles_answers(call->daemon), OPEN_MS)) {
        decline(asking, "the model is not open");
        return 0;
    }
    int code = compose_answer(call, asking->snapshot, &asking->passages,
                              &options, written, &why);
    if (!must && (code == ERR_MODEL || code == ERR_LIMIT)) {
        decline(asking, why.message);
        return 0;
    }
    if (code) {
        *err = why;
        return code;
    }
    if (written->tokens)
        asking->first_token =
            start + (written->pack_ms + written->first_ms) / 1000;
    if (written->abstained)
        decline(asking, written->abstained);
    if (must || !written->abstained) {
        asking->kind = written->answer.text.size ? "generated" : "none";
        asking->answer = written->answer;
        if (written->by_evidence && written->answer.text.size &&
            asking->extent != EXTENT_BRIEF)
            return quote_besides(asking, err);
    } else {
        answer_free(&written->answer);
    }
    return 0;
}

static int quote_from(struct asking *asking, const struct passages *passages,
                      struct err *err)
{
    passages_free(&asking->units);
    int code = units_of(asking->snapshot, &asking->route, passages,
                        asking->kinds, asking->extent,
                        &asking->call->request->cancelled, &asking->units, err);
    return code ? code
                : answer_from_passages(asking->call, &asking->units,
                                       asking->max, &asking->answer, err);
}

/* In brief by the first passage that can be quoted: what stands in no text, as the words
 * of a picture, cannot. */
static int quote_passages(struct asking *asking, struct err *err)
{
    bool brief = asking->extent == EXTENT_BRIEF;
    struct passages some = asking->passages;
    int failure = 0;
    asking->answer.fresh = true;
    for (size_t i = 0; i < asking->passages.count; i++) {
        if (asking->answer.count || (i && !brief) || answer_is_lost(failure))
            break;
        asking->answer.fresh = true;
        if (brief) {
            some.items = &asking->passages.items[i];
            some.count = asking->passages.count - i;
        }
        int code = quote_from(asking, &some, err);
        failure = code ? code : failure;
    }
    asking->kind = asking->answer.count ? "passages" : "none";
    return asking->answer.count && !answer_is_lost(failure) ? 0 : failure;
}

/* What was not sent while it was written. */
static void send_answer(const struct asking *asking)
{
    const struct answer *answer = &asking->answer;
    bool live = (asking->wanted == WANT_GENERATED || asking->whole_tokens) &&
                !strcmp(asking->kind, "generated");
    if (!event_wanted(asking->call))
        return;
    if (!live && answer->text.size)
        event_token(asking->call, buf_slice(&answer->text));
    for (size_t i = 0; i < answer->count; i++) {
        struct buf params = {0};
        struct json json = event_begin(asking->call, "citation", &params);
        answer_put_citation_members(&json, answer, i);
        event_send(asking->call, &json);
    }
}

static int answer(struct asking *asking, struct err *err)
{
    int code = find(asking, err);
    bool reads = asking->passages.count || asking->whole_tokens;
    if (!code && reads && asking->wanted != WANT_PASSAGES &&
        has_model(asking->call))
        code = write_answer(asking, err);
    if (!code && !asking->kind)
        code = quote_passages(asking, err);
    struct selection selection = selection_of(asking->call);
    if (!code && strcmp(asking->kind, "none") != 0)
        code = card_answer(asking->call, asking->snapshot, &asking->route,
                           json_get_text(asking->call->params, "query", ""),
                           &asking->card, err);
    if (!code && !strcmp(asking->kind, "none"))
        code = selection_check_damage(&selection, asking->snapshot, err);
    if (!code)
        send_answer(asking);
    return code;
}

/* ---- The result ---- */

static void put_costs(struct json *json, const struct asking *asking)
{
    const struct composed *written = &asking->written;
    double now = clock_seconds(), packed = now, first = asking->first_token;
    if (first > 0)
        packed = first - written->first_ms / 1000;
    json_key(json, "ms");
    json_begin(json, '{');
    json_field_double(json, "embed", asking->question.ms, 3);
    json_field_double(
        json, "route",
        (asking->routed - asking->start) * 1000 - asking->question.ms, 3);
    json_field_double(json, "pack", (packed - asking->routed) * 1000, 3);
    json_field_double(json, "first_token",
                      first > 0 ? (first - asking->start) * 1000 : 0, 3);
    json_field_double(json, "total", (now - asking->start) * 1000, 3);
    json_end(json, '}');
    json_key(json, "tokens");
    json_begin(json, '{');
    json_field_int(json, "prompt", (int64_t)written->prompt_tokens);
    json_field_int(json, "reused", (int64_t)written->reused_tokens);
    json_field_int(json, "answer", (int64_t)written->tokens);
    json_end(json, '}');
}

static void put_model(struct json *json, const struct asking *asking)
{
    const struct composed *written = &asking->written;
    bool shown = !strcmp(asking->kind, "generated");
    json_field_text(json, "model", shown ? written->model : NULL);
    json_field_text(json, "attention", shown ? written->attention : NULL);
    if (written->tokens)
        json_field_double(json, "answer_confidence", written->mean_log, 4);
    if (shown && written->truncated)
        json_field_bool(json, "truncated", true);
    if (shown && written->dropped)
        json_field_int(json, "dropped", (int64_t)written->dropped);
    if (asking->abstained[0])
        json_field_text(json, "declined", asking->abstained);
}

static bool is_doubtful(const struct asking *asking)
{
    return strcmp(asking->kind, "none") != 0 &&
           asking->route.confidence < route_sure_confidence;
}

static void put_result(struct json *json, const struct asking *asking)
{
    const struct answer *answer = &asking->answer;
    struct freshness fresh = freshness_of(asking->call, asking->snapshot);
    json_begin(json, '{');
    json_field_text(json, "kind", asking->kind);
    json_field_string(json, "answer", buf_slice(&answer->text));
    search_generation(json, asking->call, asking->snapshot);
    freshness_put(json, &fresh, answer->fresh);
    selection_put_searched(json, asking->call, asking->snapshot);
    selection_put_missing(json, asking->call, asking->snapshot);
    card_put(json, &asking->card);
    json_key(json, "citations");
    json_begin(json, '[');
    for (size_t i = 0; i < answer->count; i++)
        answer_put_citation(json, answer, i);
    json_end(json, ']');
    json_key(json, "route");
    answer_put_route(json, &asking->route);
    json_field_double(json, "confidence", asking->route.confidence, 4);
    if (is_doubtful(asking))
        json_field_bool(json, "doubtful", true);
    search_terms(json, &asking->route);
    search_nowhere(json, &asking->route);
    expand_put(json, &asking->route);
    rerank_put(json, &asking->question);
    search_explain(json, asking->call, &asking->route);
    if (asking->written.read.size) {
        json_key(json, "read");
        json_raw(json, buf_slice(&asking->written.read));
    }
    put_session(json, asking);
    put_model(json, asking);
    if (!strcmp(asking->kind, "none") && asking->passages.count)
        json_field_int(json, "unquoted", (int64_t)asking->passages.count);
    put_costs(json, asking);
    json_end(json, '}');
}

int verb_ask(struct call *call, struct json *json, struct err *err)
{
    struct asking asking = {.call = call, .start = clock_seconds()};
    asking.max = (size_t)json_get_int(call->params, "n", DEFAULT_QUOTES);
    if (asking.max > PROTOCOL_MAX_QUOTED)
        asking.max = PROTOCOL_MAX_QUOTED;
    int code = read_wanted(&asking, err);
    if (!code)
        code = read_extent(&asking, err);
    if (!code)
        code = read_stop_sequences(&asking, err);
    if (!code)
        code = read_session(&asking, err);
    if (code)
        return code;
    asking.snapshot = library_snapshot(call->daemon->library);
    code = read_whole(&asking, err);
    if (!code)
        code = answer(&asking, err);
    if (!code) {
        put_result(json, &asking);
        remember(&asking);
    }
    answer_free(&asking.answer);
    answer_free(&asking.card);
    buf_free(&asking.written.read);
    passages_free(&asking.passages);
    passages_free(&asking.units);
    if (asking.routed > 0)
        route_result_free(&asking.route);
    snapshot_unref(asking.snapshot);
    return code;
}
