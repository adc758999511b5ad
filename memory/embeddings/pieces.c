#include "memory/embeddings/pieces.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "memory/embeddings/word_ids.h"
#include "memory/vectors/byte_codes.h"
#include "memory/vectors/dots.h"

enum {
    TEXTS = 32, /* read at once */
    ROWS = 512  /* compared at once: they stay in the processor's cache */
};

const size_t pieces_max_bytes = (size_t)1 << 27;

struct pieces {
    const struct embedder *model;
    struct hash128 fingerprint;
    size_t count, width;
    struct codes codes;     /* [count, width] */
    float *lengths;         /* [count] */
    struct word_ids *words; /* NULL: a text's ids are not its words' */
    atomic_int references;
};

/* ---- Reading them ---- */

/* Texts of the tokens [from, from + count), as many in each as the model reads. */
static int read_rows(struct pieces *pieces, size_t context, size_t from,
                     size_t count, float *rows, struct err *err)
{
    const struct embedder *model = pieces->model;
    struct embed_text texts[TEXTS];
    int32_t *ids = mem_alloc(count * sizeof *ids);
    float *whole = mem_alloc(TEXTS * pieces->width * sizeof *whole);
    size_t text = 0;
    for (size_t at = 0; at < count; at += context, text++) {
        size_t some = count - at < context ? count - at : context;
        for (size_t i = at; i < at + some; i++)
            ids[i] = (int32_t)(from + i);
        texts[text] =
            (struct embed_text){.ids = ids + at,
                                .count = some,
                                .soft = EMBED_ALONE,
                                .ret_tokens = rows + at * pieces->width,
                                .ret_lengths = pieces->lengths + from + at};
    }
    int code = model->embed(model->context, texts, text, whole, err);
    for (size_t i = 0; i < count && !code; i++)
        codes_put(&pieces->codes, from + i, rows + i * pieces->width,
                  pieces->width);
    free(whole);
    free(ids);
    return code;
}

static int read_all(struct pieces *pieces, size_t context, struct err *err)
{
    size_t most = TEXTS * context;
    float *rows = mem_alloc(most * pieces->width * sizeof *rows);
    int code = 0;
    for (size_t at = 0; at < pieces->count && !code; at += most) {
        size_t left = pieces->count - at;
        code = read_rows(pieces, context, at, left < most ? left : most, rows,
                         err);
    }
    free(rows);
    return code;
}

int pieces_new(const struct embedder *model, struct pieces **ret,
               struct err *err)
{
    struct embedder_facts facts;
    int code = model->facts(model->context, &facts, err);
    if (code)
        return code;
    if (!facts.bag || !facts.context)
        return err_set(err, ERR_MODEL, "the model's tokens have no vectors");
    if (facts.tokens > pieces_max_bytes / (facts.width + 1))
        return err_set(err, ERR_LIMIT, "the vectors of %zu tokens are too many",
                       facts.tokens);
    struct pieces *pieces = mem_alloc(sizeof *pieces);
    *pieces =
        (struct pieces){.model = model,
                        .fingerprint = facts.model,
                        .count = facts.tokens,
                        .width = facts.width,
                        .codes = codes_of(facts.tokens, facts.width),
                        .lengths = mem_alloc(facts.tokens * sizeof(float)),
                        .words = facts.words ? word_ids_new() : NULL};
    atomic_init(&pieces->references, 1);
    code = read_all(pieces, facts.context, err);
    if (code)
        pieces_unref(pieces);
    else
        *ret = pieces;
    return code;
}

struct pieces *pieces_keep(struct pieces *pieces)
{
    atomic_fetch_add(&pieces->references, 1);
    return pieces;
}

void pieces_unref(struct pieces *pieces)
{
    if (!pieces || atomic_fetch_sub(&pieces->references, 1) != 1)
        return;
    word_ids_free(pieces->words);
    codes_free(&pieces->codes);
    free(pieces->lengths);
    free(pieces);
}

struct hash128 pieces_model(const struct pieces *pieces)
{
    return pieces->fingerprint;
}

/* ---- Using them ---- */

int pieces_cut(struct pieces *pieces, struct slice text, struct embed_ids *ids,
               struct err *err)
{
    const struct embedder *model = pieces->model;
    size_t from = ids->count;
    int code = pieces->words
                   ? word_ids_add(pieces->words, model, text, ids, err)
                   : model->tokenize(model->context, text, ids, err);
    for (size_t i = from; i < ids->count && !code; i++)
        if (ids->ids[i] < 0 || (size_t)ids->ids[i] >= pieces->count)
            code = err_set(err, ERR_MODEL, "a token without a vector");
    return code;
}

float pieces_length(const struct pieces *pieces, int32_t id)
{
    return pieces->lengths[id];
}

/* At most ROWS: copied together, then each of `asked` with all. */
static void near_of(const struct pieces *pieces,
                    const struct coded_query *asked, size_t asked_count,
                    const int32_t *ids, size_t count, uint8_t *rows, float *ret)
{
    int32_t products[ROWS];
    size_t width = pieces->width;
    for (size_t i = 0; i < count; i++)
        memcpy(rows + i * width, pieces->codes.values + (size_t)ids[i] * width,
               width);
    for (size_t q = 0; q < asked_count; q++) {
        dots_best()->bytes(asked[q].values, rows, count, width, products);
        for (size_t i = 0; i < count; i++) {
            float cosine = coded_score(&asked[q], products[i],
                                       pieces->codes.scales[ids[i]]);
            ret[i * asked_count + q] = cosine > 0 ? cosine : 0;
        }
    }
}

void pieces_near(const struct pieces *pieces, const int32_t *asked,
                 size_t asked_count, const int32_t *ids, size_t count,
                 float *ret)
{
    size_t width = pieces->width;
    struct coded_query *queries = mem_alloc(asked_count * sizeof *queries);
    int8_t *values = mem_alloc(asked_count * width);
    uint8_t *rows = mem_alloc(ROWS * width);
    for (size_t q = 0; q < asked_count; q++) {
        queries[q].values = values + q * width;
        coded_query_take(&queries[q], &pieces->codes, (size_t)asked[q], width);
    }
    for (size_t at = 0; at < count; at += ROWS) {
        size_t some = count - at < ROWS ? count - at : ROWS;
        near_of(pieces, queries, asked_count, ids + at, some, rows,
                ret + at * asked_count);
    }
    free(rows);
    free(values);
    free(queries);
}
