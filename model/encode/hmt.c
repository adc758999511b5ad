#include "model/encode/hmt.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
    SEGMENT = 256,
    SENSORY = 32,
    MEMORIES = 300,
    QUERIES = 16 /* at once: they need no memories */
};

struct hmt {
    struct hmt_options how;
    size_t width;
    float *memories; /* [count, width], room for how.memories */
    size_t count;
    int32_t *tail; /* [tail_count] of the segment read last */
    size_t tail_count;
};

/* ---- A reading ---- */

static size_t or_else(size_t number, size_t usual)
{
    return number ? number : usual;
}

int hmt_open(const struct model *model, const struct hmt_options *options,
             struct hmt **ret, struct err *err)
{
    const struct model_facts *facts = model_facts(model);
    struct hmt_options how = {or_else(options->segment, SEGMENT),
                              or_else(options->sensory, SENSORY),
                              or_else(options->memories, MEMORIES)};
    size_t bytes;
    if (!facts->soft_tokens || !facts->recall)
        return err_set(
            err, ERR_USAGE,
            "HMT needs a model that was taught to recall, and %s has "
            "no soft tokens or no projections for it",
            facts->name);
    if (how.segment < 2 || facts->context < 2 ||
        how.segment > facts->context - 2 ||
        how.sensory > facts->context - 2 - how.segment)
        return err_set(err, ERR_LIMIT,
                       "segments of %zu tokens behind %zu do not fit into the "
                       "model's %zu",
                       how.segment, how.sensory, facts->context);
    if (!mem_mul(how.memories, facts->width * sizeof(float), &bytes))
        return err_set(err, ERR_LIMIT, "%zu memories are too many",
                       how.memories);
    struct hmt *hmt = mem_alloc(sizeof *hmt);
    *hmt = (struct hmt){.how = how, .width = facts->width};
    hmt->memories = mem_alloc(bytes);
    hmt->tail = mem_alloc(how.sensory * sizeof *hmt->tail);
    *ret = hmt;
    return 0;
}

void hmt_close(struct hmt *hmt)
{
    if (!hmt)
        return;
    free(hmt->memories);
    free(hmt->tail);
    free(hmt);
}

size_t hmt_segment(const struct hmt *hmt)
{
    return hmt->how.segment;
}

const float *hmt_memories(const struct hmt *hmt, size_t *ret_count)
{
    *ret_count = hmt->count;
    return hmt->memories;
}

/* ---- Recall ---- */

/* What asks for the memories: the beginning of the segment. */
static struct embed_input asking(const struct hmt *hmt,
                                 const struct model *model, const int32_t *ids,
                                 size_t count)
{
    size_t half = hmt->how.segment / 2;
    return (struct embed_input){.ids = ids,
                                .count = count < half ? count : half,
                                .soft = model_mem(model)};
}

static int recall(const struct hmt *hmt, struct model *model,
                  const float *query, float *ret, struct err *err)
{
    if (hmt->count)
        return model_recall(model, query, hmt->memories, hmt->count, ret, err);
    memcpy(ret, model_mem0(model), hmt->width * sizeof *ret);
    return 0;
}

/* ---- Reading ---- */

static void take_memory(struct hmt *hmt, const float *memory)
{
    size_t width = hmt->width;
    if (hmt->count == hmt->how.memories) {
        hmt->count--;
        memmove(hmt->memories, hmt->memories + width,
                hmt->count * width * sizeof *memory);
    }
    memcpy(hmt->memories + hmt->count++ * width, memory,
           width * sizeof *memory);
}

static void take_tail(struct hmt *hmt, const int32_t *ids, size_t count)
{
    size_t some = count < hmt->how.sensory ? count : hmt->how.sensory;
    hmt->tail_count = some;
    memcpy(hmt->tail, ids + count - some, some * sizeof *ids);
}

/* What one segment needs, taken once. */
struct room {
    int32_t *ids;                       /* [sensory + segment] */
    float *queries, *recalled, *memory; /* [QUERIES, width], [width], [width] */
};

static int read_segment(struct hmt *hmt, struct model *model,
                        const int32_t *ids, size_t count, const float *query,
                        const struct room *room, const struct cancel *cancel,
                        struct err *err)
{
    size_t before = hmt->tail_count;
    struct embed_input input = {
        .ids = room->ids, .count = before + count, .soft = room->recalled};
    memcpy(room->ids, hmt->tail, before * sizeof *ids);
    memcpy(room->ids + before, ids, count * sizeof *ids);
    int code = recall(hmt, model, query, room->recalled, err);
    if (!code)
        code = model_embed(model, &input, 1, cancel, room->memory, err);
    if (code)
        return code;
    take_memory(hmt, room->memory);
    take_tail(hmt, ids, count);
    return 0;
}

/* Some segments: their queries together, then one after the other. */
static int read_some(struct hmt *hmt, struct model *model, const int32_t *ids,
                     size_t count, const struct room *room,
                     const struct cancel *cancel, struct err *err)
{
    struct embed_input inputs[QUERIES] = {{.ids = NULL}};
    size_t segment = hmt->how.segment, segments = 0;
    for (size_t at = 0; at < count; at += segment)
        inputs[segments++] = asking(
            hmt, model, ids + at, count - at < segment ? count - at : segment);
    int code = model_embed(model, inputs, segments, cancel, room->queries, err);
    for (size_t i = 0; i < segments && !code; i++) {
        size_t at = i * segment, left = count - at;
        code =
            read_segment(hmt, model, ids + at, left < segment ? left : segment,
                         room->queries + i * hmt->width, room, cancel, err);
    }
    return code;
}

int hmt_read(struct hmt *hmt, struct model *model, const int32_t *ids,
             size_t count, const struct cancel *cancel, struct err *err)
{
    size_t width = hmt->width, max = QUERIES * hmt->how.segment, some;
    struct room room = {
        .ids = mem_alloc((hmt->how.sensory + hmt->how.segment) * sizeof *ids),
        .queries = mem_alloc(QUERIES * width * sizeof(float)),
        .recalled = mem_alloc(width * sizeof(float)),
        .memory = mem_alloc(width * sizeof(float))};
    int code = 0;
    for (size_t at = 0; at < count && !code; at += some) {
        some = count - at < max ? count - at : max;
        code = read_some(hmt, model, ids + at, some, &room, cancel, err);
    }
    free(room.ids);
    free(room.queries);
    free(room.recalled);
    free(room.memory);
    return code;
}

/* ---- Writing ---- */

size_t hmt_before(const struct hmt *hmt)
{
    return 1 + hmt->tail_count;
}

/* All of it is read with the question. */
static int begin(const struct hmt *hmt, struct session *session,
                 const float *recalled, struct err *err)
{
    int code = session_soft_prefix(session, recalled, err);
    return code ? code : session_put(session, hmt->tail, hmt->tail_count, err);
}

int hmt_session(const struct hmt *hmt, struct model *model, const int32_t *ids,
                size_t count, const struct cancel *cancel, struct session **ret,
                struct err *err)
{
    struct embed_input input = asking(hmt, model, ids, count);
    float *query = mem_alloc(hmt->width * sizeof *query);
    float *recalled = mem_alloc(hmt->width * sizeof *recalled);
    struct session *session = NULL;
    int code = model_embed(model, &input, 1, cancel, query, err);
    if (!code)
        code = recall(hmt, model, query, recalled, err);
    if (!code)
        code = session_open(model, &session, err);
    if (!code)
        code = begin(hmt, session, recalled, err);
    free(query);
    free(recalled);
    if (code)
        session_close(session);
    else
        *ret = session;
    return code;
}
