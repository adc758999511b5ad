#include "daemon/answer/question.h"

#include <stdlib.h>

#include "base/config.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vector.h"
#include "daemon/answer/question_pieces.h"
#include "daemon/engine/engine.h"
#include "memory/embeddings/pieces.h"
#include "memory/routing/route.h"

enum { OPEN_MS = 150 }; /* that a question in mode auto waits for the model */

/* By a model made to embed; one that writes, too, is left alone. */
static void take_pieces(const struct call *call,
                        const struct embedder_facts *facts,
                        struct question *question)
{
    struct err why = {.position = -1};
    if (facts->embeds &&
        config_choice(call->daemon->config, CONFIG_LATE_INTERACTION) &&
        question_pieces_of(call->daemon->question_pieces, facts,
                           &question->pieces, &why))
        log_debug("sections are not compared piece by piece: %s", why.message);
}

static int embed(const struct call *call, const char *text, int mode,
                 struct question *question, struct err *err)
{
    struct engine_embedder e;
    struct embedder_facts facts;
    struct engine_state state;
    engine_embedder(call->daemon->engine, false, &call->request->cancelled, &e);
    int code = e.embedder.facts(&e, &facts, err);
    if (code)
        return code;
    float *vector = mem_alloc(facts.key_width * sizeof *vector);
    code = e.embedder.question(&e, text, vector, err);
    if (code) {
        free(vector);
        return code;
    }
    if (mode != ROUTE_DENSE && vector_is_zero(vector, facts.key_width)) {
        free(vector); /* the model knows nothing of it: words alone */
        return 0;
    }
    engine_state(call->daemon->engine, &state);
    question->vector = vector;
    question->policy = memories_policy(&call->daemon->policy, &facts);
    question->embeds = facts.embeds;
    if (mode == ROUTE_AUTO)
        take_pieces(call, &facts, question);
    question->model = state.facts.name;
    return 0;
}

/* Whether to ask the model at all; in mode auto only when it is soon there. */
static bool is_asked(const struct call *call, const char *text, int mode)
{
    struct engine *engine = call->daemon->engine;
    if (mode == ROUTE_LEXICAL || !text[0])
        return false;
    return mode == ROUTE_DENSE ||
           (engine_has_model(engine) &&
            (mode == ROUTE_TREE || engine_ready(engine, OPEN_MS)));
}

int question_embed(const struct call *call, const char *text, int mode,
                   struct question *ret, struct err *err)
{
    struct err why = {.position = -1};
    struct question question = {0};
    double start = clock_seconds();
    int code = is_asked(call, text, mode)
                   ? embed(call, text, mode, &question, &why)
                   : 0;
    if (code && (mode == ROUTE_DENSE || code == ERR_CANCELLED)) {
        if (err)
            *err = why;
        return code;
    }
    if (code)
        log_debug("the question is searched by words alone: %s", why.message);
    question.ms = (clock_seconds() - start) * 1000;
    *ret = question;
    return 0;
}

void question_free(struct question *question)
{
    free(question->vector);
    pieces_unref(question->pieces);
}
