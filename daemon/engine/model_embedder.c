/* The model as memory asks for it (memory/embeddings/embedder.h). */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/vector.h"
#include "daemon/engine/engine_internal.h"

enum {
    PIECE_MS = 20,      /* of indexing, before it looks whether to go on */
    MIN_PIECE = 256,    /* tokens: smaller passes are slower by the token */
    FIRST_PIECE = 256,  /* before the speed is known */
    MAX_TEXTS = 256,    /* of a piece */
    KEYS_A_PIECE = 4096 /* memories */
};

/* ---- What goes around a text ---- */

/* Where `inner` stands last in `outer`; false: nowhere. */
static bool find_last(const struct ids *outer, const struct ids *inner,
                      size_t *ret)
{
    for (size_t at = outer->count + 1; at > inner->count; at--) {
        *ret = at - 1 - inner->count;
        if (!memcmp(outer->items + *ret, inner->items,
                    inner->count * sizeof *inner->items))
            return true;
    }
    return false;
}

/* What stands around the text "a", with the prefix before it and what the
 * tokenizer adds; false: "a" cannot be told from it. */
static int try_wrapping(const struct tokenizer *tokenizer, const char *prefix,
                        bool *ret_found, struct engine_wrapping *ret,
                        struct err *err)
{
    struct ids plain = {0}, all = {0};
    struct buf text = {0};
    size_t before = 0;
    buf_put_text(&text, prefix);
    buf_put_text(&text, "a");
    int code = tokenizer_encode(tokenizer, slice_of("a"), false, &plain, err);
    if (!code)
        code = tokenizer_encode(tokenizer, buf_slice(&text), true, &all, err);
    *ret_found = !code && find_last(&all, &plain, &before);
    if (*ret_found)
        *ret = (struct engine_wrapping){all, before,
                                        all.count - before - plain.count};
    else
        ids_free(&all);
    ids_free(&plain);
    buf_free(&text);
    return code;
}

/* The prefix's own tokens behind what the tokenizer puts before a text. */
static int insert_prefix(const struct tokenizer *tokenizer, const char *prefix,
                         struct engine_wrapping *wrapping, struct err *err)
{
    struct ids whole = {0};
    for (size_t i = 0; i < wrapping->before; i++)
        ids_put(&whole, wrapping->ids.items[i]);
    int code =
        tokenizer_encode(tokenizer, slice_of(prefix), false, &whole, err);
    size_t before = whole.count;
    for (size_t i = wrapping->before; i < wrapping->ids.count; i++)
        ids_put(&whole, wrapping->ids.items[i]);
    ids_free(&wrapping->ids);
    wrapping->ids = whole;
    wrapping->before = before;
    return code;
}

int engine_wrapping(const struct tokenizer *tokenizer, const char *prefix,
                    struct engine_wrapping *ret, struct err *err)
{
    struct engine_wrapping wrapping = {0};
    bool found = false;
    int code =
        try_wrapping(tokenizer, prefix ? prefix : "", &found, &wrapping, err);
    if (!code && !found && prefix) {
        code = try_wrapping(tokenizer, "", &found, &wrapping, err);
        if (!code && found)
            code = insert_prefix(tokenizer, prefix, &wrapping, err);
    }
    if (!code && !found)
        code = err_set(err, ERR_FORMAT,
                       "the tokenizer's post-processor changes the text");
    if (code)
        engine_wrapping_free(&wrapping);
    else
        *ret = wrapping;
    return code;
}

void engine_wrapping_free(struct engine_wrapping *wrapping)
{
    ids_free(&wrapping->ids);
}

static size_t around(const struct engine_wrapping *wrapping)
{
    return wrapping->before + wrapping->after;
}

/* ---- Work on the engine's threads ---- */

struct embedding {
    const struct embed_text *texts;
    size_t count;
    const struct engine_wrapping *wrapping; /* NULL: soft tokens */
    float *ret;
    double seconds;
};

static const float *soft_of(const struct model *model,
                            const struct embed_text *text)
{
    switch (text->soft) {
    case EMBED_SUMMARY: return model_mem(model);
    case EMBED_ALONE: return model_mem0(model);
    default: return text->recall;
    }
}

/* The ids with those that the tokenizer adds, of which the caller has room. */
static size_t wrap(const struct engine_wrapping *wrapping,
                   const struct embed_text *text, size_t max, int32_t *out)
{
    const struct ids *ids = &wrapping->ids;
    size_t room = max > around(wrapping) ? max - around(wrapping) : 0;
    size_t inside = text->count < room ? text->count : room, count = 0;
    for (size_t i = 0; i < wrapping->before; i++)
        out[count++] = ids->items[i];
    for (size_t i = 0; i < inside; i++)
        out[count++] = text->ids[i];
    for (size_t i = ids->count - wrapping->after; i < ids->count; i++)
        out[count++] = ids->items[i];
    return count;
}

/* Of those behind the first `read`, which the model does not read. */
static void clear_tokens(const struct embed_text *text, size_t read,
                         size_t width)
{
    size_t left = text->count - read;
    if (text->ret_tokens)
        memset(text->ret_tokens + read * width, 0,
               left * width * sizeof *text->ret_tokens);
    if (text->ret_lengths)
        memset(text->ret_lengths + read, 0, left * sizeof *text->ret_lengths);
}

/* The states of what the text itself has of its wrapped ids. */
static struct embed_input wrapped_input(const struct engine_wrapping *wrapping,
                                        const struct embed_text *text,
                                        const int32_t *ids, size_t size,
                                        size_t width)
{
    size_t inside = size > around(wrapping) ? size - around(wrapping) : 0;
    clear_tokens(text, inside, width);
    return (struct embed_input){.ids = ids,
                                .count = size,
                                .first = wrapping->before,
                                .tokens = inside,
                                .ret_tokens = text->ret_tokens,
                                .ret_lengths = text->ret_lengths};
}

/* A text of no tokens, around which the tokenizer puts none, is zeros. */
static int embed_wrapped(struct model *model, const struct embedding *e,
                         const struct cancel *cancel, struct err *err)
{
    const struct model_facts *facts = model_facts(model);
    struct embed_input inputs[MAX_TEXTS];
    size_t room = 0, count = 0, from[MAX_TEXTS + 1] = {0};
    for (size_t i = 0; i < e->count; i++)
        room += e->texts[i].count + around(e->wrapping);
    int32_t *ids = mem_alloc((room + 1) * sizeof *ids), *next = ids;
    for (size_t i = 0; i < e->count; i++) {
        size_t size = wrap(e->wrapping, &e->texts[i], facts->context, next);
        if (size) {
            from[count] = i;
            inputs[count++] = wrapped_input(e->wrapping, &e->texts[i], next,
                                            size, facts->width);
        }
        next += size;
    }
    memset(e->ret, 0, e->count * facts->width * sizeof *e->ret);
    int code = model_embed(model, inputs, count, cancel, e->ret, err);
    for (size_t i = count; i > 0 && !code; i--) /* to where they belong */
        if (from[i - 1] != i - 1) {
            memcpy(e->ret + from[i - 1] * facts->width,
                   e->ret + (i - 1) * facts->width,
                   facts->width * sizeof *e->ret);
            memset(e->ret + (i - 1) * facts->width, 0,
                   facts->width * sizeof *e->ret);
        }
    free(ids);
    return code;
}

static int embed_soft(struct model *model, const struct embedding *e,
                      const struct cancel *cancel, struct err *err)
{
    struct embed_input inputs[MAX_TEXTS];
    const struct model_facts *facts = model_facts(model);
    size_t max = facts->context - 2;
    for (size_t i = 0; i < e->count; i++) {
        const struct embed_text *text = &e->texts[i];
        size_t count = text->count < max ? text->count : max;
        clear_tokens(text, count, facts->width);
        inputs[i] = (struct embed_input){.ids = text->ids,
                                         .count = count,
                                         .soft = soft_of(model, text),
                                         .tokens = count,
                                         .ret_tokens = text->ret_tokens,
                                         .ret_lengths = text->ret_lengths};
    }
    return model_embed(model, inputs, e->count, cancel, e->ret, err);
}

static int run_embedding(struct engine_task *task, struct model *model,
                         struct err *err)
{
    struct embedding *e = task->context;
    struct cancel cancel = engine_cancel_of(task);
    double start = clock_seconds();
    int code = e->wrapping ? embed_wrapped(model, e, &cancel, err)
                           : embed_soft(model, e, &cancel, err);
    e->seconds = clock_seconds() - start;
    return code;
}

struct recall {
    const float *query, *memories;
    size_t count;
    float *ret;
};

static int run_recall(struct engine_task *task, struct model *model,
                      struct err *err)
{
    const struct recall *r = task->context;
    return model_recall(model, r->query, r->memories, r->count, r->ret, err);
}

struct pooling_work {
    int policy;
    const float *children;
    const size_t *start;
    size_t groups;
    float *ret;
};

static int run_pooling(struct engine_task *task, struct model *model,
                       struct err *err)
{
    const struct pooling_work *p = task->context;
    return model_pool_groups(
        model, p->policy == AGGREGATE_ATTENTION ? POOL_ATTENTION : POOL_MEAN,
        p->children, p->start, p->groups, p->ret, err);
}

struct keys {
    const float *vectors;
    size_t count;
    bool query;
    float *ret;
};

static int run_keys(struct engine_task *task, struct model *model,
                    struct err *err)
{
    const struct keys *k = task->context;
    return model_keys(model, k->vectors, k->count, k->query, k->ret, err);
}

/* ---- struct embedder ---- */

static int perform(const struct engine_embedder *self,
                   int (*run)(struct engine_task *, struct model *,
                              struct err *),
                   void *context, struct err *err)
{
    struct engine_task task = {.run = run,
                               .context = context,
                               .indexing = self->indexing,
                               .cancel = self->cancel};
    return engine_do(self->engine, &task, err);
}

static int get_facts(void *context, struct embedder_facts *ret, struct err *err)
{
    const struct engine_embedder *self = context;
    const struct model *model;
    struct engine_wrapping wrapping = {0};
    int code = engine_model(self->engine, self->cancel, &model, err);
    if (code)
        return code;
    const struct model_facts *facts = model_facts(model);
    size_t added = 2;
    if (!facts->embeds)
        return err_set(err, ERR_MODEL,
                       "%s makes no memories: a model with %s attention "
                       "writes, but does not embed",
                       facts->name, facts->attention);
    if (!facts->soft_tokens) {
        code = engine_wrapping(model_tokenizer(model), facts->passage_prefix,
                               &wrapping, err);
        added = around(&wrapping);
        engine_wrapping_free(&wrapping);
    }
    if (code)
        return code;
    *ret = (struct embedder_facts){
        .width = facts->width,
        .key_width = facts->key_width,
        .tokens = facts->vocabulary,
        .keys_are_memories = !facts->recall,
        .embeds = !facts->writes,
        .bag = facts->bag,
        .words = tokenizer_goes_by_words(model_tokenizer(model)),
        .context = facts->context > added ? facts->context - added : 0,
        .recalls = facts->soft_tokens && facts->recall,
        .model = facts->fingerprint,
        .tokenizer = tokenizer_hash(model_tokenizer(model))};
    return 0;
}

static int tokenize(void *context, struct slice text, struct embed_ids *ret,
                    struct err *err)
{
    const struct engine_embedder *self = context;
    const struct model *model;
    struct ids ids = {0};
    int code = engine_model(self->engine, self->cancel, &model, err);
    if (!code)
        code = tokenizer_encode(model_tokenizer(model), text, false, &ids, err);
    if (!code && ids.count) {
        MEM_RESERVE(ret->ids, &ret->capacity, ret->count + ids.count);
        memcpy(ret->ids + ret->count, ids.items, ids.count * sizeof *ids.items);
        ret->count += ids.count;
    }
    ids_free(&ids);
    return code;
}

/* How many of the texts make a piece: at least one, then as many as `tokens`
 * allow. */
static size_t take_piece(const struct embed_text *texts, size_t count,
                         size_t tokens, size_t *ret_tokens)
{
    size_t taken = 0, sum = 0;
    while (taken < count && taken < MAX_TEXTS) {
        size_t next = sum + texts[taken].count + 2;
        if (taken && next > tokens)
            break;
        sum = next;
        taken++;
    }
    *ret_tokens = sum;
    return taken;
}

static size_t piece_tokens(struct engine_embedder *self)
{
    if (!self->indexing)
        return SIZE_MAX;
    if (!(self->speed > 0))
        return FIRST_PIECE;
    double tokens = self->speed * PIECE_MS / 1000;
    return tokens > MIN_PIECE ? (size_t)tokens : MIN_PIECE;
}

/* The speed is that of the last pieces, the latest counting most. */
static void measure(struct engine_embedder *self, size_t tokens, double seconds)
{
    if (!(seconds > 0))
        return;
    double speed = (double)tokens / seconds;
    self->speed = self->speed > 0 ? 0.75 * self->speed + 0.25 * speed : speed;
}

static int embed(void *context, const struct embed_text *texts, size_t count,
                 float *ret, struct err *err)
{
    struct engine_embedder *self = context;
    const struct model *model;
    struct engine_wrapping wrapping = {0};
    int code = engine_model(self->engine, self->cancel, &model, err);
    if (code)
        return code;
    bool soft = model_facts(model)->soft_tokens;
    size_t width = model_facts(model)->width, tokens;
    if (!soft) /* a question has its prefix already */
        code = engine_wrapping(model_tokenizer(model),
                               count && texts[0].soft == EMBED_SUMMARY
                                   ? NULL
                                   : model_facts(model)->passage_prefix,
                               &wrapping, err);
    for (size_t from = 0, some; from < count && !code; from += some) {
        some =
            take_piece(texts + from, count - from, piece_tokens(self), &tokens);
        struct embedding piece = {.texts = texts + from,
                                  .count = some,
                                  .wrapping = soft ? NULL : &wrapping,
                                  .ret = ret + from * width};
        code = perform(self, run_embedding, &piece, err);
        if (!code)
            measure(self, tokens, piece.seconds);
        self->encoded += code ? 0 : some;
    }
    engine_wrapping_free(&wrapping);
    return code;
}

static int recall(void *context, const float *query, const float *memories,
                  size_t count, float *ret, struct err *err)
{
    struct recall work = {
        .query = query, .memories = memories, .count = count, .ret = ret};
    return perform(context, run_recall, &work, err);
}

static int aggregate(void *context, int policy, const float *children,
                     const size_t *start, size_t groups, float *ret,
                     struct err *err)
{
    struct pooling_work work = {policy, children, start, groups, ret};
    return perform(context, run_pooling, &work, err);
}

static int project(const struct engine_embedder *self, const float *vectors,
                   size_t count, bool query, float *ret, struct err *err)
{
    const struct model *model;
    int code = engine_model(self->engine, self->cancel, &model, err);
    if (code)
        return code;
    const struct model_facts *facts = model_facts(model);
    for (size_t from = 0, some; from < count && !code; from += some) {
        some = count - from < KEYS_A_PIECE ? count - from : KEYS_A_PIECE;
        struct keys work = {.vectors = vectors + from * facts->width,
                            .count = some,
                            .query = query,
                            .ret = ret + from * facts->key_width};
        code = perform(self, run_keys, &work, err);
    }
    for (size_t i = 0; i < count && !code; i++)
        vector_unit(ret + i * facts->key_width, facts->key_width);
    return code;
}

static int keys(void *context, const float *memories, size_t count, float *ret,
                struct err *err)
{
    return project(context, memories, count, false, ret, err);
}

/* The question's ids behind those of the model's prefix: they are one text, as
 * the model was taught. */
static int tokenize_question(struct engine_embedder *self, const char *text,
                             struct embed_ids *ids, struct err *err)
{
    const struct model *model;
    struct buf whole = {0};
    int code = engine_model(self->engine, self->cancel, &model, err);
    if (code)
        return code;
    const struct model_facts *facts = model_facts(model);
    if (facts->query_prefix && !facts->soft_tokens)
        buf_put_text(&whole, facts->query_prefix);
    buf_put_text(&whole, text);
    code = tokenize(self, buf_slice(&whole), ids, err);
    if (ids->count > facts->context) /* more is not read */
        ids->count = facts->context;
    buf_free(&whole);
    return code;
}

static int question(void *context, const char *text, float *ret,
                    struct err *err)
{
    const struct engine_embedder *self = context;
    struct embed_ids ids = {0};
    struct embedder_facts facts;
    int code = get_facts(context, &facts, err);
    if (!code)
        code = tokenize_question(context, text, &ids, err);
    if (code) {
        free(ids.ids);
        return code;
    }
    float *memory = mem_alloc(facts.width * sizeof *memory);
    struct embed_text input = {
        .ids = ids.ids, .count = ids.count, .soft = EMBED_SUMMARY};
    code = embed(context, &input, 1, memory, err);
    if (!code)
        code = project(self, memory, 1, true, ret, err);
    free(memory);
    free(ids.ids);
    return code;
}

void engine_embedder(struct engine *engine, bool indexing,
                     const atomic_bool *cancel, struct engine_embedder *ret)
{
    *ret = (struct engine_embedder){.embedder = {.context = ret,
                                                 .facts = get_facts,
                                                 .tokenize = tokenize,
                                                 .embed = embed,
                                                 .recall = recall,
                                                 .aggregate = aggregate,
                                                 .keys = keys,
                                                 .question = question},
                                    .engine = engine,
                                    .indexing = indexing,
                                    .cancel = cancel};
}
