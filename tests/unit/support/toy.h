/* A small embedder for tests: ids and vectors are hashes, so equal input gives
 * equal output and anything else does not.  It notes what it is asked. */
#ifndef TESTS_UNIT_SUPPORT_TOY_H
#define TESTS_UNIT_SUPPORT_TOY_H

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/unit/support/unit.h"

#include "base/mem.h"
#include "base/vector.h"
#include "memory/embeddings/embedder.h"

enum { TOY_WIDTH = 12, TOY_WORD = 8, TOY_MAX = 4096 };

struct toy {
    struct embedder embedder;
    struct embedder_facts facts;
    size_t tokenized, bytes; /* texts that were tokenized */
    size_t calls, summaries, recalls;
    size_t encoded;          /* texts, but for summaries */
    int32_t firsts[TOY_MAX]; /* first id of each of these */
    size_t cancel_after;     /* calls of embed; 0: never */
    atomic_bool cancel;
    bool broken; /* gives NaN */
};

static inline int32_t toy_id(const char *word, size_t size)
{
    return (int32_t)(hash_bytes64(word, size) & 0x7FFFFFFF);
}

static inline int toy_facts(void *context, struct embedder_facts *ret,
                            struct err *err)
{
    (void)err;
    *ret = ((struct toy *)context)->facts;
    return 0;
}

#define TOY_TOO_MUCH "(((("

/* Gives up on some texts.  A token for each run of newlines (of a toy that goes by
 * words: for none), and for each eight bytes of a word. */
static inline int toy_tokenize(void *context, struct slice text,
                               struct embed_ids *ids, struct err *err)
{
    struct toy *toy = context;
    toy->tokenized++;
    toy->bytes += text.size;
    if (memmem(text.data, text.size, TOY_TOO_MUCH, sizeof TOY_TOO_MUCH - 1))
        return err_set(err, ERR_LIMIT, "too much for the tokenizer");
    for (size_t at = 0; at < text.size;) {
        size_t end = at + 1;
        if (text.data[at] == ' ' ||
            (text.data[at] == '\n' && toy->facts.words)) {
            at++;
            continue;
        }
        if (text.data[at] == '\n')
            while (end < text.size && text.data[end] == '\n')
                end++;
        else
            while (end < text.size && end - at < TOY_WORD &&
                   text.data[end] != ' ' && text.data[end] != '\n')
                end++;
        MEM_RESERVE(ids->ids, &ids->capacity, ids->count + 1);
        ids->ids[ids->count++] = toy_id(text.data + at, end - at);
        at = end;
    }
    return 0;
}

static inline void toy_embed_one(const struct embed_text *text, float *ret)
{
    uint64_t seed = hash_bytes64(text->ids, text->count * sizeof *text->ids) +
                    (uint64_t)text->soft;
    for (size_t i = 0; i < TOY_WIDTH; i++) {
        ret[i] = (float)unit_below(&seed, 2001) / 1000 - 1;
        if (text->soft == EMBED_RECALL)
            ret[i] += text->recall[i] / 2;
    }
}

static inline int toy_embed(void *context, const struct embed_text *texts,
                            size_t count, float *ret, struct err *err)
{
    struct toy *toy = context;
    (void)err;
    toy->calls++;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(texts[i].count <= toy->facts.context);
        toy_embed_one(&texts[i], ret + i * TOY_WIDTH);
        if (texts[i].soft == EMBED_SUMMARY)
            toy->summaries++;
        else if (toy->encoded < TOY_MAX)
            toy->firsts[toy->encoded++] = texts[i].count ? texts[i].ids[0] : 0;
    }
    if (toy->broken)
        ret[0] = NAN;
    if (toy->cancel_after && toy->calls >= toy->cancel_after)
        atomic_store(&toy->cancel, true);
    return 0;
}

static inline int toy_mean(void *context, int policy, const float *children,
                           const size_t *start, size_t groups, float *ret,
                           struct err *err)
{
    (void)context;
    (void)err;
    for (size_t at = 0; at < groups * TOY_WIDTH; at++) {
        size_t group = at / TOY_WIDTH, i = at % TOY_WIDTH;
        double sum = 0, all = 0;
        for (size_t c = start[group]; c < start[group + 1]; c++) {
            double weight = policy == AGGREGATE_MEAN
                                ? 1
                                : exp((double)children[c * TOY_WIDTH]);
            sum += weight * (double)children[c * TOY_WIDTH + i];
            all += weight;
        }
        ret[at] = (float)(sum / all);
    }
    return 0;
}

static inline int toy_recall(void *context, const float *query,
                             const float *memories, size_t count, float *ret,
                             struct err *err)
{
    double all = 0;
    (void)err;
    ((struct toy *)context)->recalls++;
    for (size_t i = 0; i < TOY_WIDTH; i++)
        ret[i] = 0;
    for (size_t c = 0; c < count; c++) {
        double weight = 0;
        for (size_t i = 0; i < TOY_WIDTH; i++)
            weight += (double)(query[i] * memories[c * TOY_WIDTH + i]);
        all += weight = exp(weight);
        for (size_t i = 0; i < TOY_WIDTH; i++)
            ret[i] += (float)weight * memories[c * TOY_WIDTH + i];
    }
    for (size_t i = 0; i < TOY_WIDTH; i++)
        ret[i] /= (float)all;
    return 0;
}

static inline int toy_keys(void *context, const float *memories, size_t count,
                           float *ret, struct err *err)
{
    (void)context;
    (void)err;
    for (size_t m = 0; m < count; m++) {
        const float *memory = memories + m * TOY_WIDTH;
        float square = 0;
        for (size_t i = 0; i < TOY_WIDTH; i++)
            square += memory[i] * memory[i];
        for (size_t i = 0; i < TOY_WIDTH; i++)
            ret[m * TOY_WIDTH + i] = memory[i] / sqrtf(square);
    }
    return 0;
}

static inline void toy_open(struct toy *toy, bool recalls)
{
    *toy = (struct toy){.facts = {.width = TOY_WIDTH,
                                  .key_width = TOY_WIDTH,
                                  .context = 512,
                                  .recalls = recalls,
                                  .keys_are_memories = !recalls,
                                  .model = {1, 2},
                                  .tokenizer = {3, 4}},
                        .embedder = {.context = toy,
                                     .facts = toy_facts,
                                     .tokenize = toy_tokenize,
                                     .embed = toy_embed,
                                     .recall = toy_recall,
                                     .aggregate = toy_mean,
                                     .keys = toy_keys}};
}

#endif
