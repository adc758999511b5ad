#include "daemon/answer/compose.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/answer/context.h"
#include "daemon/answer/evidence_reader.h"
#include "daemon/answer/extractive.h"
#include "daemon/engine/engine.h"
#include "daemon/roles.h"
#include "daemon/net/stream_event.h"
#include "daemon/engine/prompt.h"

enum {
    WRAPPING = 16, /* tokens that a tokenizer may put around a prompt */
    FRAME = 96,    /* and a chat template, with the instruction */
    CHAT_TOKENS =
        1400, /* most in the prompt of a conversation: reading it takes a
                           processor seconds */
    CHAT_PASSAGES = 4,
    CHAT_PASSAGE_TOKENS = 280,
    DEFAULT_TOKENS = 96,
    CHAT_ANSWER_TOKENS = 192 /* four sentences, or two and a piece of code */
};

/* Chosen by measurement (docs/log/people.md), both.  The least share of the question's
 * words that what is written has. */
static const double MIN_ASKED = 0.2;
/* What a model in a conversation is told. */
static const char instruction[] = "You answer questions about software from "
                                  "its manual. Answer from the passages "
                                  "below, in one to four sentences, with the "
                                  "exact commands, option names and "
                                  "values that they give.";

struct writing {
    const struct call *call;
    const struct snapshot *snapshot;
    const struct passages *passages;
    const struct compose_options *options;
    struct answering answering;  /* of the model */
    size_t context, max;         /* tokens: positions, answer */
    struct context read;         /* what it reads */
    struct cite_source *sources; /* [read.count] */
    struct prompt prompt;
    bool chats;              /* the model answers in a conversation */
    struct copying *copying; /* NULL: the model may write what it likes */
    struct cite_reader reader;
    struct evidence_reader evidence; /* of what it says in a conversation */
    struct buf text;                 /* as it came out of the reader */
    struct prompt_section *sections; /* [section_count] that it reads */
    size_t section_count;
};

static struct engine *engine_of(const struct writing *writing)
{
    return roles_answers(writing->call->daemon);
}

/* ---- The prompt ---- */

static int count_tokens(void *context, struct slice text, size_t *ret,
                        struct err *err)
{
    return engine_count(context, text, ret, err);
}

static void limit(size_t *size, size_t max)
{
    *size = *size < max ? *size : max;
}

static void limit_chat(struct answering *answering)
{
    limit(&answering->prompt_tokens, CHAT_TOKENS);
    limit(&answering->passages, CHAT_PASSAGES);
    limit(&answering->passage_tokens, CHAT_PASSAGE_TOKENS);
}

static int learn_model(struct writing *writing, struct composed *ret,
                       struct err *err)
{
    struct engine_state state;
    size_t tokens;
    int code = engine_count(engine_of(writing), slice_of(""), &tokens, err);
    if (code)
        return code;
    engine_state(engine_of(writing), &state);
    if (!state.facts.writes)
        return err_set(err, ERR_MODEL,
                       "the model %s makes memories, but does not write",
                       state.facts.name);
    writing->answering = state.facts.answering;
    writing->chats = state.facts.chats && !writing->answering.copies;
    if (writing->chats)
        limit_chat(&writing->answering);
    writing->context = state.facts.context;
    writing->max = writing->options->max;
    if (!writing->max)
        writing->max = writing->chats ? CHAT_ANSWER_TOKENS : DEFAULT_TOKENS;
    if (writing->max > writing->context / 2)
        writing->max = writing->context / 2;
    ret->model = state.facts.name;
    return 0;
}

/* The prompt of a whole sub-tree has as many tokens as were asked for. */
static int open_whole(struct writing *writing, struct err *err)
{
    const struct compose_options *options = writing->options;
    if (!writing->chats)
        return err_set(err, ERR_MODEL,
                       "a whole sub-tree is read by models that answer in "
                       "their own words, with a chat template");
    writing->answering.prompt_tokens = options->whole_tokens;
    writing->answering.passage_tokens = options->whole_tokens;
    return context_below(writing->snapshot, options->view, options->node,
                         options->whole_tokens, &writing->read, err);
}

static int open_passages(struct writing *writing, struct err *err)
{
    struct context_limits limits = {writing->answering.passages,
                                    writing->answering.passage_tokens};
    struct prompt_counter counter = {count_tokens, engine_of(writing)};
    int code = context_open(writing->snapshot, writing->passages, &limits,
                            &counter, &writing->read, err);
    if (!code && writing->chats)
        context_settle(&writing->read);
    return code;
}

static int open_sources(struct writing *writing, struct err *err)
{
    int code = (writing->options->whole_tokens ? open_whole
                                               : open_passages)(writing, err);
    if (code)
        return code;
    writing->sources =
        mem_alloc((writing->read.count + 1) * sizeof *writing->sources);
    for (size_t i = 0; i < writing->read.count; i++) {
        const struct context_source *source = &writing->read.sources[i];
        writing->sources[i] = (struct cite_source){
            source->blocks, source->count, source->title, source->heads};
    }
    return 0;
}

static int pack(struct writing *writing, struct err *err)
{
    size_t room = writing->context - writing->max;
    size_t around = writing->chats ? FRAME : WRAPPING;
    struct prompt_limits limits = {.tokens = room > around ? room - around : 0,
                                   .passages = writing->read.count,
                                   .passage_tokens =
                                       writing->answering.passage_tokens};
    if (limits.tokens > writing->answering.prompt_tokens)
        limits.tokens = writing->answering.prompt_tokens;
    struct prompt_counter counter = {count_tokens, engine_of(writing)};
    size_t count = writing->read.count;
    struct prompt_source *sources = mem_alloc((count + 1) * sizeof *sources);
    for (size_t i = 0; i < count; i++)
        sources[i] = context_prompt(&writing->read.sources[i]);
    const char *query = json_get_text(writing->call->params, "query", "");
    int code = prompt_pack(sources, count, slice_of(query), &limits, &counter,
                           &writing->prompt, err);
    free(sources);
    if (!code && writing->options->whole_tokens &&
        writing->prompt.whole < count)
        code = err_set(err, ERR_LIMIT,
                       "%zu of the %zu sections fit into %zu tokens: name a "
                       "smaller part, or more tokens (the model has %zu)",
                       writing->prompt.whole, count, limits.tokens,
                       writing->context);
    return code;
}

/* What may be copied of each passage are the sentences for which it was found:
 * the prompt shows more, of which a small model chooses worse. */
static void open_copying(struct writing *writing)
{
    size_t count = writing->prompt.passages;
    struct copying_passage *passages = mem_alloc(count * sizeof *passages);
    for (size_t i = 0; i < count; i++) {
        struct prompt_source one = context_prompt(&writing->read.sources[i]);
        passages[i] = (struct copying_passage){one.blocks, one.block, one.block,
                                               one.from, one.to};
    }
    writing->copying = copying_open(passages, count);
    free(passages);
}

static void open_evidence(struct writing *writing)
{
    const char *query = json_get_text(writing->call->params, "query", "");
    writing->evidence.index = evidence_index_new(
        writing->sources, writing->prompt.passages, slice_of(query));
}

/* ---- The answer ---- */

static void show(struct writing *writing, size_t from)
{
    struct slice text = {writing->text.data + from, writing->text.size - from};
    if (text.size && writing->options->live && event_wanted(writing->call))
        event_token(writing->call, text);
}

/* On the engine's thread, while the writing's own waits. */
static bool take_piece(void *context, struct slice piece)
{
    struct writing *writing = context;
    size_t from = writing->text.size;
    if (writing->chats)
        evidence_read(&writing->evidence, piece, &writing->text);
    else
        cite_read(&writing->reader, piece, &writing->text);
    show(writing, from);
    return true;
}

/* The sections as they are, by which what was read of them can be kept. */
static void note_sections(struct writing *writing)
{
    size_t capacity = 0;
    for (size_t i = 0; i < writing->prompt.passages; i++) {
        const struct context_source *source = &writing->read.sources[i];
        for (size_t p = 0; p < source->part_count; p++) {
            const struct passage *passage = &source->parts[p].passage;
            const struct node *node =
                &passage->view->outline->nodes[passage->node];
            MEM_RESERVE(writing->sections, &capacity,
                        writing->section_count + 1);
            writing->sections[writing->section_count++] =
                (struct prompt_section){node->id, node->own};
        }
    }
}

static int write_text(struct writing *writing, struct composed *ret,
                      struct err *err)
{
    struct chat_message messages[] = {
        {slice_of("system"), slice_of(instruction)},
        {slice_of("user"), buf_slice(&writing->prompt.text)}};
    struct engine_prompt prompt = {.text = buf_slice(&writing->prompt.text),
                                   .messages = messages,
                                   .message_count = writing->chats ? 2 : 0,
                                   .max = writing->max,
                                   .sampling = writing->options->sampling,
                                   .copying = writing->copying,
                                   .stops = writing->options->stops,
                                   .stop_count = writing->options->stop_count,
                                   .sections = writing->sections,
                                   .section_count = writing->section_count,
                                   .asked = writing->prompt.asked,
                                   .cancel = &writing->call->request->cancelled,
                                   .piece = take_piece,
                                   .context = writing};
    struct engine_answer written;
    writing->reader.sources = writing->prompt.passages;
    int code = engine_generate(engine_of(writing), &prompt, &written, err);
    if (code)
        return code;
    size_t from = writing->text.size;
    if (writing->chats)
        evidence_read_end(&writing->evidence, written.ended, &writing->text);
    else
        cite_read_end(&writing->reader, &writing->text);
    show(writing, from);
    ret->prompt_tokens = written.prompt_tokens;
    ret->reused_tokens = written.reused_tokens;
    ret->attention = written.attention;
    ret->tokens = written.tokens;
    ret->truncated = written.truncated;
    ret->mean_log = written.mean_log;
    ret->first_ms = written.first_ms;
    buf_free(&written.text);
    return 0;
}

/* ---- Its citations ---- */

static int cite_one(const struct writing *writing, struct cite *cite,
                    struct answer *answer, struct err *err)
{
    const struct context_source *source = &writing->read.sources[cite->source];
    struct passage passage = source->parts[source->best].passage;
    struct err why = {.position = -1};
    int code = ERR_NOT_FOUND;
    if (cite->status != CITE_UNVERIFIED) {
        const struct context_part *owner = context_owner(source, cite->block);
        passage = owner->passage;
        passage.block = cite->block->origin;
        passage.block.file = content_file(&owner->content, passage.view,
                                          passage.node, cite->block);
        passage.kind = cite->block->kind;
        passage.text = cite_unmarked(cite);
        code = answer_cite(writing->call, answer, &passage, cite->status, false,
                           &why);
    }
    if (answer_is_lost(code)) {
        *err = why;
        return code;
    }
    if (code) {
        cite->status = CITE_UNVERIFIED;
        answer_cite_unverified(answer, &passage);
    }
    return 0;
}

static const char *judge(const struct writing *writing,
                         const struct cites *cites, double mean_log)
{
    if (!writing->text.size)
        return "nothing was written";
    if (!cites->count)
        return "nothing is cited";
    for (size_t i = 0; i < cites->count; i++)
        if (cites->items[i].status == CITE_UNVERIFIED)
            return "a citation is not true";
    if (cites->unmarked)
        return "its end is not cited";
    if (!(mean_log >= writing->answering.threshold))
        return "the model is not sure";
    return NULL;
}

/* Whether what the model read is what the files say now. */
static bool is_fresh(const struct writing *writing)
{
    for (size_t i = 0; i < writing->prompt.passages; i++) {
        const struct context_source *source = &writing->read.sources[i];
        for (size_t p = 0; p < source->part_count; p++) {
            const struct passage *passage = &source->parts[p].passage;
            if (!quote_is_away(passage->view) &&
                !quote_is_fresh(passage->view, passage->block.file))
                return false;
        }
    }
    return true;
}

/* What the model read, for those who want to know. */
static void explain(const struct writing *writing, struct buf *out)
{
    struct json json = json_to(out);
    json_begin(&json, '{');
    json_key(&json, "sources");
    json_begin(&json, '[');
    for (size_t i = 0; i < writing->prompt.passages; i++) {
        const struct context_source *source = &writing->read.sources[i];
        json_begin(&json, '{');
        json_field_string(&json, "title", source->title);
        json_key(&json, "nodes");
        json_begin(&json, '[');
        for (size_t p = 0; p < source->part_count; p++) {
            const struct passage *passage = &source->parts[p].passage;
            char name[24];
            node_name(passage->view->outline->nodes[passage->node].id, name);
            json_text(&json, name);
        }
        json_end(&json, ']');
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_field_string(&json, "prompt", buf_slice(&writing->prompt.text));
    json_end(&json, '}');
}

/* Cites the evidence of a sentence, where the file still has it. */
static int cite_evidence(const struct writing *writing,
                         const struct evidence *evidence, struct answer *answer,
                         struct err *err)
{
    struct cite cite = {.status = CITE_VERIFIED,
                        .source = evidence->source,
                        .block = evidence->block,
                        .place = evidence->place};
    return cite_one(writing, &cite, answer, err);
}

/* Why what the model wrote in its own words should not be shown. */
static const char *judge_evidence(const struct writing *writing)
{
    const struct evidence_reader *reader = &writing->evidence;
    if (!reader->kept)
        return reader->dropped
                   ? "nothing that the model wrote stands in the passages"
                   : "the model says nothing of it";
    if (reader->kept < reader->dropped)
        return "most of what the model wrote stands in no passage";
    if (evidence_asked(reader->index, buf_slice(&writing->text)) < MIN_ASKED)
        return "the model wrote of something else";
    return NULL;
}

static int check_evidence(struct writing *writing, struct composed *ret,
                          struct err *err)
{
    const struct evidence_reader *reader = &writing->evidence;
    int code = 0;
    ret->answer.fresh = is_fresh(writing);
    for (size_t i = 0; i < reader->count && !code; i++)
        code = cite_evidence(writing, &reader->items[i], &ret->answer, err);
    buf_put_slice(&ret->answer.text, buf_slice(&writing->text));
    ret->dropped = reader->dropped;
    ret->by_evidence = true;
    ret->abstained = judge_evidence(writing);
    return code;
}

static int check(struct writing *writing, struct composed *ret, struct err *err)
{
    struct cites cites;
    struct slice text = buf_slice(&writing->text);
    int code = 0;
    ret->answer.fresh = is_fresh(writing);
    cites_check(&writing->reader, text, writing->sources, &cites);
    for (size_t i = 0; i < cites.count && !code; i++)
        code = cite_one(writing, &cites.items[i], &ret->answer, err);
    cites_text(&cites, text, &ret->answer.text);
    ret->abstained = judge(writing, &cites, ret->mean_log);
    cites_free(&cites);
    return code;
}

static int compose(struct writing *writing, struct composed *ret,
                   struct err *err)
{
    double start = clock_seconds();
    int code = learn_model(writing, ret, err);
    if (!code && writing->options->confident &&
        writing->answering.threshold > 0) {
        ret->abstained = "the model's answers are not to be shown";
        return 0;
    }
    if (!code)
        code = open_sources(writing, err);
    if (!code)
        code = pack(writing, err);
    ret->pack_ms = (clock_seconds() - start) * 1000;
    if (!code)
        log_debug("prompt of %zu passages, %zu tokens:\n%s",
                  writing->prompt.passages, writing->prompt.tokens,
                  writing->prompt.text.data);
    if (!code && json_get_bool(writing->call->params, "explain", false))
        explain(writing, &ret->read);
    if (!code && writing->answering.copies)
        open_copying(writing);
    if (!code && writing->chats)
        open_evidence(writing);
    if (!code)
        note_sections(writing);
    if (!code)
        code = write_text(writing, ret, err);
    if (code)
        return code;
    return writing->chats ? check_evidence(writing, ret, err)
                          : check(writing, ret, err);
}

int compose_answer(const struct call *call, const struct snapshot *snapshot,
                   const struct passages *passages,
                   const struct compose_options *options, struct composed *ret,
                   struct err *err)
{
    struct writing writing = {.call = call,
                              .snapshot = snapshot,
                              .passages = passages,
                              .options = options};
    struct composed composed = {.answer.fresh = true};
    int code = compose(&writing, &composed, err);
    context_close(&writing.read);
    free(writing.sections);
    free(writing.sources);
    buf_free(&writing.prompt.text);
    copying_close(writing.copying);
    cite_reader_free(&writing.reader);
    evidence_index_free(writing.evidence.index);
    evidence_reader_free(&writing.evidence);
    buf_free(&writing.text);
    if (code) {
        answer_free(&composed.answer);
        buf_free(&composed.read);
    } else {
        *ret = composed;
    }
    return code;
}
