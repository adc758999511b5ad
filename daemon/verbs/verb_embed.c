/* Vectors of texts, as the memories of sections are made: for programs that compare
 * texts themselves. */
#include <stdlib.h>

#include "base/mem.h"
#include "daemon/engine/engine.h"
#include "daemon/verbs/verbs.h"

enum { MAX_TEXTS = 256, DECIMALS = 7 };

struct embedding {
    struct engine_embedder embedder;
    struct embedder_facts facts;
    size_t tokens; /* read so far */
};

/* ret [key_width], of length 1. */
static int embed_ids(struct embedding *e, const struct embed_ids *ids,
                     float *ret, struct err *err)
{
    const struct embedder *embedder = &e->embedder.embedder;
    struct embed_text text = {
        .ids = ids->ids, .count = ids->count, .soft = EMBED_ALONE};
    float *memory = mem_alloc(e->facts.width * sizeof *memory);
    int code = embedder->embed(&e->embedder, &text, 1, memory, err);
    if (!code)
        code = embedder->keys(&e->embedder, memory, 1, ret, err);
    free(memory);
    return code;
}

static int embed_text(struct embedding *e, const char *text, float *ret,
                      struct err *err)
{
    struct embed_ids ids = {0};
    int code =
        e->embedder.embedder.tokenize(&e->embedder, slice_of(text), &ids, err);
    if (!code && !ids.count)
        code = err_set(err, ERR_USAGE, "a text without words has no vector");
    if (!code && ids.count > e->facts.context)
        code = err_set(err, ERR_LIMIT,
                       "a text has %zu tokens, and the model reads %zu: give "
                       "it in parts",
                       ids.count, e->facts.context);
    if (!code)
        code = embed_ids(e, &ids, ret, err);
    e->tokens += ids.count;
    free(ids.ids);
    return code;
}

static void put_vector(struct json *json, const float *vector, size_t width)
{
    json_begin(json, '[');
    for (size_t i = 0; i < width; i++)
        json_double(json, (double)vector[i], DECIMALS);
    json_end(json, ']');
}

static int put_vectors(struct embedding *e, const cJSON *texts,
                       struct json *json, struct err *err)
{
    float *vector = mem_alloc(e->facts.key_width * sizeof *vector);
    const cJSON *text;
    int code = 0;
    json_key(json, "vectors");
    json_begin(json, '[');
    cJSON_ArrayForEach (text, texts) {
        code = embed_text(e, text->valuestring, vector, err);
        if (code)
            break;
        put_vector(json, vector, e->facts.key_width);
    }
    json_end(json, ']');
    free(vector);
    return code;
}

int verb_embed(struct call *call, struct json *json, struct err *err)
{
    const cJSON *texts =
        cJSON_GetObjectItemCaseSensitive(call->params, "texts");
    struct engine *engine = call->daemon->engine;
    struct embedding e = {0};
    struct engine_state state;
    if (cJSON_GetArraySize(texts) > MAX_TEXTS)
        return err_set(err, ERR_LIMIT, "at most %d texts at once", MAX_TEXTS);
    engine_embedder(engine, false, &call->request->cancelled, &e.embedder);
    int code = e.embedder.embedder.facts(&e.embedder, &e.facts, err);
    if (code)
        return code;
    engine_state(engine, &state);
    json_begin(json, '{');
    json_field_text(json, "model", state.facts.name);
    json_field_int(json, "width", (int64_t)e.facts.key_width);
    code = put_vectors(&e, texts, json, err);
    json_field_int(json, "tokens", (int64_t)e.tokens);
    json_end(json, '}');
    return code;
}
