/* Answers by the model. */
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "daemon/engine_parts.h"

enum { STEP = 256 }; /* tokens of the prompt between which others are served */

struct generation {
    const struct engine_prompt *prompt;
    struct engine_task *task;
    const struct tokenizer *tokenizer;
    struct ids ids; /* of the prompt */
    struct engine_answer answer;
    struct tokenizer_stream stream;
    double start, log_sum;
    bool refused; /* by `piece` */
};

static double ms_since(double start)
{
    return (clock_seconds() - start) * 1000;
}

/* Hands over what the answer's text has from `from` on. */
static void hand_over(struct generation *g, size_t from)
{
    struct slice text = {g->answer.text.data + from,
                         g->answer.text.size - from};
    if (text.size && g->prompt->piece && !g->refused)
        g->refused = !g->prompt->piece(g->prompt->context, text);
}

/* Adds the token's text, but for what is none: special tokens, and the NULs
 * that would end the text for who reads it. */
static void put_text(struct generation *g, int32_t id)
{
    struct buf *text = &g->answer.text;
    size_t to = text->size;
    if (tokenizer_is_special(g->tokenizer, id))
        return;
    tokenizer_stream_put(g->tokenizer, &g->stream, id, text);
    for (size_t at = to; at < text->size; at++)
        if (text->data[at])
            text->data[to++] = text->data[at];
    text->size = to;
    if (text->data)
        text->data[to] = '\0';
}

static bool take_token(void *context, int32_t id, double log_chance)
{
    struct generation *g = context;
    size_t from = g->answer.text.size;
    if (!g->answer.tokens++)
        g->answer.first_ms = ms_since(g->start);
    g->log_sum += log_chance;
    put_text(g, id);
    hand_over(g, from);
    engine_between(g->task->engine);
    return !g->refused;
}

static int read_prompt(struct generation *g, struct session *session,
                       const struct cancel *cancel, struct err *err)
{
    int code = 0;
    for (size_t from = 0; from < g->ids.count && !code; from += STEP) {
        size_t left = g->ids.count - from;
        engine_between(g->task->engine);
        code = session_feed(session, g->ids.items + from,
                            left < STEP ? left : STEP, cancel, NULL, err);
    }
    return code;
}

static int write_answer(struct generation *g, struct session *session,
                        const struct cancel *cancel, struct err *err)
{
    struct generate_options options = {.most = g->prompt->most,
                                       .temperature = g->prompt->temperature,
                                       .seed = g->prompt->seed,
                                       .cancel = cancel};
    size_t made;
    int code = session_generate(session, &options, take_token, g, &made, err);
    if (code)
        return code;
    size_t from = g->answer.text.size;
    tokenizer_stream_end(&g->stream, &g->answer.text);
    hand_over(g, from);
    g->answer.ended = made < g->prompt->most && !g->refused;
    g->answer.mean_log = made ? g->log_sum / (double)made : 0;
    return 0;
}

static int generate(struct engine_task *task, struct model *model,
                    struct err *err)
{
    struct generation *g = task->context;
    struct cancel cancel = engine_cancel_of(task);
    struct session *session;
    int code = session_open(model, &session, err);
    if (code)
        return code;
    code = read_prompt(g, session, &cancel, err);
    if (!code)
        code = write_answer(g, session, &cancel, err);
    session_close(session);
    return code;
}

/* What a manual says is text, also where a tokenizer would take it for more. */
static int check_no_special(const struct generation *g, size_t from,
                            struct err *err)
{
    for (size_t i = from; i < g->ids.count; i++)
        if (tokenizer_is_special(g->tokenizer, g->ids.items[i]))
            return err_set(err, ERR_LIMIT,
                           "a passage or the question holds what the model "
                           "takes for a special token");
    return 0;
}

/* The prompt with what the tokenizer puts before a text, but nothing behind:
 * the answer goes on from there. */
static int encode_prompt(struct generation *g, struct err *err)
{
    struct engine_wrapping wrapping = {0};
    int code = engine_wrapping(g->tokenizer, NULL, &wrapping, err);
    for (size_t i = 0; i < wrapping.before; i++)
        ids_put(&g->ids, wrapping.ids.items[i]);
    if (!code)
        code = tokenizer_encode(g->tokenizer, g->prompt->text, false, &g->ids,
                                err);
    if (!code)
        code = check_no_special(g, wrapping.before, err);
    engine_wrapping_free(&wrapping);
    return code;
}

int engine_generate(struct engine *engine, const struct engine_prompt *prompt,
                    struct engine_answer *ret, struct err *err)
{
    struct generation g = {.prompt = prompt, .start = clock_seconds()};
    struct engine_task task = {
        .run = generate, .context = &g, .cancel = prompt->cancel};
    const struct model *model;
    g.task = &task;
    int code = engine_model(engine, prompt->cancel, &model, err);
    if (code)
        return code;
    size_t context = model_facts(model)->context;
    g.tokenizer = model_tokenizer(model);
    code = encode_prompt(&g, err);
    if (!code &&
        (g.ids.count > context || prompt->most > context - g.ids.count))
        code = err_set(err, ERR_LIMIT,
                       "a prompt of %zu tokens and an answer of %zu are more "
                       "than the model's %zu",
                       g.ids.count, prompt->most, context);
    if (!code)
        code = engine_do(engine, &task, err);
    g.answer.prompt_tokens = g.ids.count;
    g.answer.total_ms = ms_since(g.start);
    ids_free(&g.ids);
    if (code)
        buf_free(&g.answer.text);
    else
        *ret = g.answer;
    return code;
}

int engine_count(struct engine *engine, struct slice text, size_t *ret,
                 struct err *err)
{
    const struct model *model;
    struct ids ids = {0};
    int code = engine_model(engine, NULL, &model, err);
    if (!code)
        code = tokenizer_encode(model_tokenizer(model), text, false, &ids, err);
    if (!code)
        *ret = ids.count;
    ids_free(&ids);
    return code;
}
