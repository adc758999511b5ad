/* Answers by the model, several at once.
 *
 *     admitted ──► reading its prompt ──► writing ──► ended
 *         └──────────────┴───────────────────┴─ cancelled, failed
 *
 * A round reads one piece of the prompt that waits longest, then chooses a token
 * for each answer that is being written and reads all these in one pass.  So an
 * answer is never more than a piece behind, and each can end at every token. */
#include "daemon/engine/generation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "daemon/answer/extractive.h"
#include "daemon/engine/engine_prefixes.h"
#include "daemon/engine/stop_sequences.h"

enum {
    ENGINE_MESSAGES = 8 /* most of a prompt that is kept in files */
};

struct generation {
    const struct engine_prompt *prompt;
    struct engine_task *task;
    const struct model *model;
    const struct tokenizer *tokenizer;
    struct ids ids; /* of the prompt */
    size_t before;  /* positions of the session that are not in `ids` */
    size_t common;  /* tokens of the prompt before what its asker wrote */
    struct session *session; /* the engine's thread has it */
    size_t context;          /* of the model */
    struct engine_answer answer;
    size_t shown; /* bytes of its text that were handed over */
    struct tokenizer_stream stream;
    double start, log_sum;
    size_t looked_at; /* length of the session, for the next two; 0: never */
    int32_t top_k;    /* of all tokens */
    int32_t longest;  /* that must follow; -1: any that may */
    bool refused;     /* by `piece` */
    bool stopped;     /* by a stop text */
};

static double ms_since(double start)
{
    return (clock_seconds() - start) * 1000;
}

/* ---- The text ---- */

/* Hands over the answer's text up to `to`. */
static void hand_over(struct generation *g, size_t to)
{
    struct slice text = {g->answer.text.data + g->shown, to - g->shown};
    if (to <= g->shown)
        return;
    g->shown = to;
    if (g->prompt->piece && !g->refused)
        g->refused = !g->prompt->piece(g->prompt->context, text);
}

/* Hands over what is no part of a stop text; ends the text where one begins. */
static void hand_over_some(struct generation *g)
{
    struct stop_sequences stops = {g->prompt->stops, g->prompt->stop_count};
    struct buf *text = &g->answer.text;
    size_t to =
        stop_sequences_look(&stops, buf_slice(text), g->shown, &g->stopped);
    hand_over(g, to);
    if (g->stopped)
        text->size = to;
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

static void end_text(struct generation *g)
{
    if (g->stopped)
        return;
    tokenizer_stream_end(&g->stream, &g->answer.text);
    hand_over_some(g);
    if (!g->stopped)
        hand_over(g, g->answer.text.size);
}

/* ---- What may be written ---- */

static bool can_follow(const struct generation *g, int32_t id)
{
    return copying_allows(g->prompt->copying,
                          tokenizer_bytes(g->tokenizer, id)) &&
           !tokenizer_is_special(g->tokenizer, id);
}

/* Of at most so many bytes. */
static int32_t longest_to_follow(const struct generation *g, size_t vocabulary,
                                 size_t max)
{
    int32_t longest = -1;
    size_t length = 0;
    for (size_t i = 0; i < vocabulary; i++) {
        size_t size = tokenizer_bytes(g->tokenizer, (int32_t)i).size;
        if (size <= length || size > max || !can_follow(g, (int32_t)i))
            continue;
        longest = (int32_t)i;
        length = size;
    }
    return longest;
}

/* Once a token. */
static void look_ahead(struct generation *g)
{
    size_t length = session_length(g->session),
           vocabulary = model_facts(g->model)->vocabulary;
    if (g->looked_at == length)
        return;
    g->looked_at = length;
    g->top_k = session_top_k(g->session);
    g->longest = -1;
    size_t certain = copying_certain(g->prompt->copying);
    if (certain && g->top_k >= 0 && !can_follow(g, g->top_k))
        g->longest = longest_to_follow(g, vocabulary, certain);
}

/* An abstention is what the model would have written by itself, not what is left
 * when it would have begun a sentence that does not stand there.  And where there
 * is but one way on, which the model would not have gone, it is gone in long
 * tokens: a model that is astray would go letter by letter. */
static bool allows(void *context, int32_t id)
{
    struct generation *g = context;
    struct copying *copying = g->prompt->copying;
    if (model_is_eos(g->model, id))
        return copying_may_end(copying);
    if (!can_follow(g, id))
        return false;
    look_ahead(g);
    if (g->longest >= 0)
        return id == g->longest;
    return id == g->top_k ||
           !copying_abstains(copying, tokenizer_bytes(g->tokenizer, id));
}

static struct sampling sampling_of(struct generation *g)
{
    struct sampling sampling = g->prompt->sampling;
    if (g->prompt->copying)
        sampling.only = (struct token_filter){allows, g};
    return sampling;
}

static void note_token(struct generation *g, int32_t id)
{
    struct copying *copying = g->prompt->copying;
    if (copying)
        copying_take(copying, tokenizer_bytes(g->tokenizer, id));
}

/* ---- On the engine's thread ---- */

/* Decided once. */
static bool is_exact(const struct engine *engine, const struct generation *g)
{
    return model_facts(engine->model)->exact &&
           g->ids.count + g->prompt->max >= engine->exact_from;
}

static int open_session(struct engine *engine, struct generation *g,
                        const struct cancel *cancel, struct err *err)
{
    const struct engine_prompt *prompt = g->prompt;
    struct prefixes none = {.how = engine->prefixes.how};
    int code =
        prompt->hmt
            ? hmt_session(prompt->hmt, engine->model, g->ids.items,
                          g->ids.count, cancel, &g->session, err)
            : prefixes_fork(prompt->alone ? &none : &engine->prefixes,
                            engine->model, is_exact(engine, g), g->ids.items,
                            g->ids.count, &g->session, err);
    if (code)
        return code;
    g->answer.reused_tokens = session_length(g->session) - g->before;
    g->answer.attention = session_attention(g->session);
    engine_note_prompts(engine);
    struct sampling sampling = sampling_of(g);
    return session_sampling(g->session, &sampling, err);
}

/* Tokens of the prompt that were read. */
static size_t read_of(const struct generation *g)
{
    return g->session ? session_length(g->session) - g->before : 0;
}

static void keep_beginning(struct engine *engine, const struct generation *g)
{
    const struct engine_prompt *prompt = g->prompt;
    struct prefix_origin origin = {prompt->sections, prompt->section_count,
                                   g->common};
    prefixes_keep(&engine->prefixes, engine->model, g->session, &origin);
    engine_note_prompts(engine);
}

static int try_piece(struct engine *engine, struct generation *g,
                     struct err *err)
{
    struct cancel cancel = engine_cancel_of(g->task);
    int code = g->session ? 0 : open_session(engine, g, &cancel, err);
    if (code)
        return code;
    size_t from = read_of(g), left = g->ids.count - from;
    const struct model_facts *facts = model_facts(engine->model);
    bool whole = facts->whole;
    size_t piece = prefixes_piece(facts, is_exact(engine, g), from);
    piece = whole || left < piece ? left : piece;
    code = session_prefill(g->session, g->ids.items + from, piece, &cancel,
                           NULL, err);
    if (code || left > piece)
        return code;
    /* What follows a beginning of a whole changes it. */
    if (!whole && !g->prompt->hmt && !g->prompt->alone)
        keep_beginning(engine, g);
    return session_reserve(g->session, g->prompt->max, err);
}

/* Where memory is short, the beginnings that are kept are given back first. */
static int read_piece(struct engine *engine, struct generation *g,
                      struct err *err)
{
    int code = try_piece(engine, g, err);
    if (code != ERR_LIMIT || !engine->prefixes.count)
        return code;
    prefixes_clear(&engine->prefixes);
    return try_piece(engine, g, err);
}

/* Chooses a token and hands its text over.  *ret_ended: it is the last, or was
 * none. */
static int choose_token(struct generation *g, int32_t *ret_id, bool *ret_ended,
                        struct err *err)
{
    double logprob;
    int code = session_choose(g->session, ret_id, &logprob, err);
    if (code)
        return code;
    *ret_ended = true;
    if (!(g->answer.first_ms > 0))
        g->answer.first_ms = ms_since(g->start);
    if (*ret_id < 0 || model_is_eos(g->model, *ret_id)) {
        g->answer.ended = *ret_id >= 0 || copying_may_end(g->prompt->copying);
        return 0;
    }
    g->answer.tokens++;
    g->log_sum += logprob;
    note_token(g, *ret_id);
    put_text(g, *ret_id);
    hand_over_some(g);
    g->answer.ended = g->stopped;
    bool full = g->answer.tokens >= g->prompt->max ||
                session_length(g->session) == g->context;
    *ret_ended = g->stopped || g->refused || full;
    g->answer.truncated = full && !g->stopped;
    return 0;
}

static bool is_reading(const struct generation *g)
{
    return read_of(g) < g->ids.count;
}

static void end(struct generation *g, int code)
{
    size_t tokens = g->answer.tokens;
    session_close(g->session);
    g->session = NULL;
    if (!code)
        end_text(g);
    g->answer.mean_log = tokens ? g->log_sum / (double)tokens : 0;
    engine_end(g->task, code);
}

/* Takes the ended ones out of those under way. */
static void keep_others(struct engine *engine, const bool *ended)
{
    size_t kept = 0;
    for (size_t i = 0; i < engine->under_way; i++)
        if (!ended[i])
            engine->generations[kept++] = engine->generations[i];
    engine->under_way = kept;
}

static void end_cancelled(struct engine *engine)
{
    bool ended[MAX_ANSWERS];
    for (size_t i = 0; i < engine->under_way; i++) {
        struct generation *g = engine->generations[i];
        struct cancel cancel = engine_cancel_of(g->task);
        ended[i] = cancel.asked(cancel.context);
        if (ended[i])
            end(g, err_set(&g->task->err, ERR_CANCELLED, "cancelled"));
    }
    keep_others(engine, ended);
}

/* A piece of the oldest prompt that was not yet read. */
static void read_one(struct engine *engine)
{
    bool ended[MAX_ANSWERS] = {false};
    size_t at = 0;
    while (at < engine->under_way && !is_reading(engine->generations[at]))
        at++;
    if (at == engine->under_way)
        return;
    struct generation *g = engine->generations[at];
    int code = read_piece(engine, g, &g->task->err);
    ended[at] = code;
    if (code)
        end(g, code);
    keep_others(engine, ended);
}

/* A pass is cancelled when nobody is left who waits for it. */
struct batch {
    struct generation *items[MAX_ANSWERS];
    struct session *sessions[MAX_ANSWERS];
    int32_t ids[MAX_ANSWERS];
    size_t count;
};

static bool all_asked(void *context)
{
    const struct batch *batch = context;
    for (size_t i = 0; i < batch->count; i++) {
        struct cancel cancel = engine_cancel_of(batch->items[i]->task);
        if (!cancel.asked(cancel.context))
            return false;
    }
    return true;
}

static void write_all(struct engine *engine)
{
    struct batch batch = {.count = 0};
    bool ended[MAX_ANSWERS] = {false};
    struct err err = {.position = -1};
    for (size_t i = 0; i < engine->under_way; i++) {
        struct generation *g = engine->generations[i];
        if (is_reading(g))
            continue;
        int32_t *id = &batch.ids[batch.count];
        int code = choose_token(g, id, &ended[i], &g->task->err);
        ended[i] = ended[i] || code;
        if (ended[i]) {
            end(g, code);
            continue;
        }
        batch.items[batch.count] = g;
        batch.sessions[batch.count++] = g->session;
    }
    keep_others(engine, ended);
    struct cancel cancel = {all_asked, &batch};
    int code = session_decode_batch(batch.sessions, batch.ids, batch.count,
                                    &cancel, &err);
    if (!code || code == ERR_CANCELLED)
        return; /* those who are cancelled end with the next round */
    for (size_t i = 0; i < engine->under_way; i++) {
        struct generation *g = engine->generations[i];
        ended[i] = !is_reading(g);
        if (!ended[i])
            continue;
        g->task->err = err;
        end(g, code);
    }
    keep_others(engine, ended);
}

void generating_round(struct engine *engine)
{
    end_cancelled(engine);
    read_one(engine);
    write_all(engine);
}

/* ---- For those who ask ---- */

/* What a manual says is text, also where a tokenizer would take it for more. */
static int check_no_special(const struct generation *g, const struct ids *ids,
                            size_t from, struct err *err)
{
    for (size_t i = from; i < ids->count; i++)
        if (tokenizer_is_special(g->tokenizer, ids->items[i]))
            return err_set(err, ERR_LIMIT,
                           "a passage or the question holds what the model "
                           "takes for a special token");
    return 0;
}

static int encode_chat(const struct generation *g,
                       const struct engine_prompt *prompt, struct ids *ret,
                       struct err *err)
{
    const struct chat *chat = model_chat(g->model);
    if (!chat)
        return err_set(err, ERR_MODEL, "the model has no chat template");
    return chat_encode(chat, g->tokenizer, prompt->messages,
                       prompt->message_count, ret, err);
}

/* The prompt with what the tokenizer puts before a text, but nothing behind:
 * the answer goes on from there.  Behind memories it is no text's beginning. */
static int encode_text(const struct generation *g,
                       const struct engine_prompt *prompt, struct ids *ret,
                       struct err *err)
{
    struct engine_wrapping wrapping = {0};
    int code =
        prompt->hmt ? 0 : engine_wrapping(g->tokenizer, NULL, &wrapping, err);
    for (size_t i = 0; i < wrapping.before; i++)
        ids_put(ret, wrapping.ids.items[i]);
    for (size_t i = 0; i < prompt->before_count; i++)
        ids_put(ret, prompt->before[i]);
    if (!code)
        code = tokenizer_encode(g->tokenizer, prompt->text, false, ret, err);
    if (!code)
        code = check_no_special(g, ret, wrapping.before, err);
    engine_wrapping_free(&wrapping);
    return code;
}

static int encode(const struct generation *g,
                  const struct engine_prompt *prompt, struct ids *ret,
                  struct err *err)
{
    return (prompt->message_count ? encode_chat : encode_text)(g, prompt, ret,
                                                               err);
}

/* What the prompt has in common with itself without what was asked. */
static int find_common(struct generation *g, struct err *err)
{
    struct engine_prompt without = *g->prompt;
    struct chat_message messages[ENGINE_MESSAGES];
    struct ids ids = {0};
    if (!without.sections || without.message_count > ENGINE_MESSAGES)
        return 0;
    struct slice *last = &without.text;
    if (without.message_count) {
        memcpy(messages, without.messages,
               without.message_count * sizeof *messages);
        without.messages = messages;
        last = &messages[without.message_count - 1].content;
    }
    last->size -= without.asked < last->size ? without.asked : last->size;
    int code = encode(g, &without, &ids, err);
    while (!code && g->common < ids.count && g->common < g->ids.count &&
           ids.items[g->common] == g->ids.items[g->common])
        g->common++;
    ids_free(&ids);
    return code;
}

static int check_model(const struct generation *g, const struct model *model,
                       struct err *err)
{
    size_t context = model_facts(model)->context,
           count = g->ids.count + g->before;
    if (!model_facts(model)->writes) {
        err_set(err, ERR_USAGE,
                "the model has no head: it embeds, but does not write");
        return ERR_MODEL;
    }
    if (!g->ids.count)
        return err_set(err, ERR_MODEL, "the prompt is empty");
    if (count > context || g->prompt->max > context - count)
        return err_set(err, ERR_LIMIT,
                       "a prompt of %zu tokens and an answer of %zu are more "
                       "than the model's %zu",
                       count, g->prompt->max, context);
    return 0;
}

int engine_generate(struct engine *engine, const struct engine_prompt *prompt,
                    struct engine_answer *ret, struct err *err)
{
    struct generation g = {.prompt = prompt,
                           .before = prompt->hmt ? hmt_before(prompt->hmt) : 0,
                           .start = clock_seconds()};
    struct engine_task task = {.generation = &g, .cancel = prompt->cancel};
    g.task = &task;
    int code = engine_model(engine, prompt->cancel, &g.model, err);
    if (code)
        return code;
    g.tokenizer = model_tokenizer(g.model);
    g.context = model_facts(g.model)->context;
    code = encode(&g, prompt, &g.ids, err);
    if (!code)
        code = find_common(&g, err);
    if (!code)
        code = check_model(&g, g.model, err);
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
