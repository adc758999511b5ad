#include "memory/embeddings/encode_segments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"

enum {
    BATCH_SEGMENTS = 64,
    BATCH_TOKENS = 4096,
    SAVE_MS = 1000, /* saved as often at least: a crash loses no more */
    SAVE_SEGMENTS = 2048,
    SAVE_BYTES = 8 << 20 /* of memories */
};

struct missing {
    struct hash128 name;
    uint32_t at; /* index of its node among those handed in */
    uint32_t segment;
};

/* Memories that are encoded and not yet in the store. */
struct unsaved {
    struct hash128 names[SAVE_SEGMENTS + BATCH_SEGMENTS];
    float *memories;   /* [.., width] */
    size_t count, max; /* saved when there are so many: at most SAVE_SEGMENTS */
    int64_t since;
};

struct batch {
    struct embed_text texts[BATCH_SEGMENTS];
    struct embed_ids ids[BATCH_SEGMENTS];
    const struct recalled *recalled[BATCH_SEGMENTS]; /* NULL: nothing */
    struct hash128 names[BATCH_SEGMENTS];
    size_t count, tokens;
    float *queries, *recalls, *memories; /* [BATCH_SEGMENTS, width] */
};

/* What a segment is read behind; no bytes: nothing. */
struct heading {
    struct buf text;
    struct embed_ids ids;
};

struct encode_pass {
    struct encoder *encoder;
    const struct build *build;
    size_t width;
    const uint32_t *nodes;
    const struct recalled *recalled;
    struct missing *missing;
    size_t count;
    struct heading heading; /* of the segment added last */
    struct batch batch;
    struct unsaved unsaved;
};

/* ---- What is missing ---- */

static int by_name(const void *a, const void *b)
{
    const struct missing *x = a, *y = b;
    int order = hash_compare(&x->name, &y->name);
    if (order)
        return order;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int by_place(const void *a, const void *b)
{
    const struct missing *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->segment < y->segment ? -1 : x->segment > y->segment;
}

/* Of equal texts one is encoded. */
static void keep_one_each(struct encode_pass *e)
{
    size_t kept = 0;
    if (!e->count)
        return;
    qsort(e->missing, e->count, sizeof *e->missing, by_name);
    for (size_t i = 0; i < e->count; i++)
        if (!i || !hash_equal(e->missing[i].name, e->missing[kept - 1].name))
            e->missing[kept++] = e->missing[i];
    e->count = kept;
    qsort(e->missing, e->count, sizeof *e->missing, by_place);
}

static bool is_there(const struct encode_pass *e, struct store_txn *txn,
                     struct hash128 name)
{
    return store_has_memory(txn, name, e->width);
}

static int find_missing(struct encode_pass *e, size_t node_count,
                        struct err *err)
{
    const struct plan *plan = e->encoder->plan;
    struct store_txn *txn;
    size_t total = 0;
    int code = store_read(e->build->snapshot->store, &txn, err);
    if (code)
        return code;
    for (size_t i = 0; i < node_count; i++)
        total += plan->nodes[e->nodes[i]].segments.count;
    e->missing = mem_alloc(total * sizeof *e->missing);
    for (size_t i = 0; i < node_count; i++) {
        const struct node_plan *of = &plan->nodes[e->nodes[i]];
        for (size_t s = 0; s < of->segments.count; s++) {
            struct hash128 name = plan->names[of->first + s];
            if (is_there(e, txn, name))
                continue;
            e->missing[e->count++] =
                (struct missing){name, (uint32_t)i, (uint32_t)s};
        }
    }
    store_end(txn);
    keep_one_each(e);
    e->encoder->done += total - e->count;
    return 0;
}

/* ---- Saving ---- */

static int save(struct encode_pass *e, struct err *err)
{
    struct unsaved *unsaved = &e->unsaved;
    struct store_txn *txn;
    int code =
        unsaved->count ? store_write(e->build->snapshot->store, &txn, err) : 0;
    if (code || !unsaved->count)
        return code;
    for (size_t i = 0; i < unsaved->count && !code; i++)
        code =
            store_put_memory(txn, unsaved->names[i],
                             unsaved->memories + i * e->width, e->width, err);
    if (!code)
        code =
            store_note_made(txn, e->build->view->manual.id, UNFINISHED_MEMORIES,
                            unsaved->names, unsaved->count, err);
    unsaved->count = 0;
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

static int check_memory(const float *memory, size_t width, struct err *err)
{
    for (size_t i = 0; i < width; i++)
        if (!isfinite(memory[i]))
            return err_set(err, ERR_MODEL,
                           "the model made a memory that is not a number; use "
                           "another model or device");
    return 0;
}

static int keep_batch(struct encode_pass *e, struct err *err)
{
    struct unsaved *unsaved = &e->unsaved;
    int64_t now = clock_ms();
    if (!unsaved->count)
        unsaved->since = now;
    for (size_t i = 0; i < e->batch.count; i++) {
        const float *memory = e->batch.memories + i * e->width;
        int code = check_memory(memory, e->width, err);
        if (code)
            return code;
        memcpy(unsaved->memories + unsaved->count * e->width, memory,
               e->width * sizeof *memory);
        unsaved->names[unsaved->count++] = e->batch.names[i];
    }
    if (unsaved->count >= unsaved->max || now - unsaved->since >= SAVE_MS)
        return save(e, err);
    return 0;
}

/* ---- A batch ---- */

/* Summary queries, of those whose L_v they have to choose from. */
static int embed_queries(struct encode_pass *e, struct err *err)
{
    const struct embedder *embedder = e->build->embedder;
    struct batch *batch = &e->batch;
    struct embed_text texts[BATCH_SEGMENTS];
    size_t count = 0, half = e->build->policy.segment_tokens / 2;
    for (size_t i = 0; i < batch->count; i++) {
        if (!batch->recalled[i] || batch->recalled[i]->count == 1)
            continue;
        texts[count] = batch->texts[i];
        texts[count].soft = EMBED_SUMMARY;
        if (texts[count].count > half)
            texts[count].count = half ? half : 1;
        count++;
    }
    return count ? embedder->embed(embedder->context, texts, count,
                                   batch->queries, err)
                 : 0;
}

/* Of one memory the recall is that memory, whatever the query. */
static int recall(struct encode_pass *e, struct err *err)
{
    const struct embedder *embedder = e->build->embedder;
    struct batch *batch = &e->batch;
    const float *query = batch->queries;
    int code = embed_queries(e, err);
    for (size_t i = 0; i < batch->count && !code; i++) {
        const struct recalled *of = batch->recalled[i];
        if (!of)
            continue;
        float *recalled = batch->recalls + i * e->width;
        batch->texts[i].soft = EMBED_RECALL;
        batch->texts[i].recall = of->count == 1 ? of->memories : recalled;
        if (of->count == 1)
            continue;
        code = embedder->recall(embedder->context, query, of->memories,
                                of->count, recalled, err);
        query += e->width;
    }
    return code;
}

static int run_batch(struct encode_pass *e, struct err *err)
{
    const struct embedder *embedder = e->build->embedder;
    struct encoder *encoder = e->encoder;
    struct batch *batch = &e->batch;
    int code = batch->count ? build_poll(e->build, err) : 0;
    if (code || !batch->count)
        return code;
    for (size_t i = 0; i < batch->count; i++)
        batch->texts[i].ids = batch->ids[i].ids;
    code = recall(e, err);
    if (!code)
        code = embedder->embed(embedder->context, batch->texts, batch->count,
                               batch->memories, err);
    if (!code)
        code = keep_batch(e, err);
    if (code)
        return code;
    encoder->done += batch->count;
    encoder->encoded += batch->count;
    encoder->encoded_tokens += batch->tokens;
    if (encoder->progress)
        encoder->progress(encoder->context, encoder->done, encoder->plan->made);
    batch->count = batch->tokens = 0;
    return 0;
}

/* Appends ids, of which `most` are kept.  What the tokenizer gives up on is read as
 * empty. */
static int append_ids(const struct encode_pass *e, struct slice text,
                      size_t most, struct embed_ids *ids, struct err *err)
{
    const struct embedder *embedder = e->build->embedder;
    size_t before = ids->count;
    int code =
        text.size ? embedder->tokenize(embedder->context, text, ids, err) : 0;
    if (code && code != ERR_LIMIT)
        return code;
    if (code) {
        ids->count = before;
        log_warn("%s: a line is left out of what is embedded: the tokenizer "
                 "gives up on it",
                 e->build->view->manual.name);
    }
    if (ids->count > before + most)
        ids->count = before + most;
    return 0;
}

/* Segments of a node and nodes side by side mostly stand behind the same heading, which
 * is tokenized once then. */
static int take_heading(struct encode_pass *e, uint32_t node, size_t segment,
                        struct err *err)
{
    struct heading *heading = &e->heading;
    struct buf text = {0};
    int code = 0;
    plan_put_heading(e->build, node, segment, &text);
    if (!slice_equal(buf_slice(&text), buf_slice(&heading->text))) {
        heading->ids.count = 0;
        buf_clear(&heading->text);
        code = append_ids(e, buf_slice(&text),
                          plan_heading_tokens(&e->build->facts), &heading->ids,
                          err);
        if (!code)
            buf_put_slice(&heading->text, buf_slice(&text));
    }
    buf_free(&text);
    return code;
}

/* The ids of the batch's next text, behind its heading.  A node of which a segment is
 * empty keeps its other segments. */
static int take_ids(struct encode_pass *e, struct slice text, size_t reads,
                    struct err *err)
{
    const struct embed_ids *heading = &e->heading.ids;
    const struct embedder_facts *facts = &e->build->facts;
    struct batch *batch = &e->batch;
    struct embed_ids *ids = &batch->ids[batch->count];
    MEM_RESERVE(ids->ids, &ids->capacity, heading->count);
    if (heading->count)
        memcpy(ids->ids, heading->ids, heading->count * sizeof *ids->ids);
    ids->count = heading->count;
    size_t left = facts->context - ids->count;
    int code = append_ids(e, text, reads < left ? reads : left, ids, err);
    if (code)
        return code;
    batch->texts[batch->count] =
        (struct embed_text){.count = ids->count, .soft = EMBED_ALONE};
    batch->tokens += ids->count;
    return 0;
}

static int add_missing(struct encode_pass *e, const struct missing *missing,
                       struct slice text, struct err *err)
{
    const struct node_plan *of =
        &e->encoder->plan->nodes[e->nodes[missing->at]];
    const struct segment *segment = &of->segments.items[missing->segment];
    struct batch *batch = &e->batch;
    if (segment->to > text.size)
        return err_set(err, ERR_STORE,
                       "the segments of a node of %s are damaged",
                       e->build->view->manual.name);
    text =
        (struct slice){text.data + segment->from, segment->to - segment->from};
    size_t reads = plan_reads(e->build, segment);
    size_t all = reads + plan_heading_tokens(&e->build->facts);
    int code = batch->count == BATCH_SEGMENTS ||
                       (batch->count && batch->tokens + all > BATCH_TOKENS)
                   ? run_batch(e, err)
                   : 0;
    if (!code)
        code = take_heading(e, e->nodes[missing->at], missing->segment, err);
    if (!code)
        code = take_ids(e, text, reads, err);
    if (code)
        return code;
    batch->recalled[batch->count] =
        plan_recalls(e->build, e->nodes[missing->at])
            ? &e->recalled[missing->at]
            : NULL;
    batch->names[batch->count++] = missing->name;
    return 0;
}

/* The missing ones from `first` on that are of the same node. */
static int add_node(struct encode_pass *e, size_t first, size_t *ret_end,
                    struct err *err)
{
    uint32_t at = e->missing[first].at;
    struct content content;
    const struct node *node;
    struct buf text = {0};
    int code = build_open(e->build, e->nodes[at], &content, &node, err);
    if (code)
        return code;
    segment_text(node, &text);
    content_close(&content);
    size_t i = first;
    for (; i < e->count && e->missing[i].at == at && !code; i++)
        code = add_missing(e, &e->missing[i], buf_slice(&text), err);
    buf_free(&text);
    *ret_end = i;
    return code;
}

static int encode_missing(struct encode_pass *e, struct err *err)
{
    int code = 0;
    size_t bytes = BATCH_SEGMENTS * e->width * sizeof(float);
    e->batch.queries = mem_alloc(bytes);
    e->batch.recalls = mem_alloc(bytes);
    e->batch.memories = mem_alloc(bytes);
    for (size_t first = 0, end; first < e->count && !code; first = end)
        code = add_node(e, first, &end, err);
    if (!code)
        code = run_batch(e, err);
    struct err later;
    int saved = save(e, code ? &later : err);
    free(e->batch.queries);
    free(e->batch.recalls);
    free(e->batch.memories);
    for (size_t i = 0; i < BATCH_SEGMENTS; i++)
        free(e->batch.ids[i].ids);
    free(e->heading.ids.ids);
    buf_free(&e->heading.text);
    return code ? code : saved;
}

int encode_nodes(struct encoder *encoder, const uint32_t *nodes, size_t count,
                 const struct recalled *recalled, struct err *err)
{
    struct encode_pass *e = mem_alloc(sizeof *e);
    *e = (struct encode_pass){.encoder = encoder,
                              .build = encoder->build,
                              .width = encoder->build->facts.width,
                              .nodes = nodes,
                              .recalled = recalled};
    size_t bytes = e->width * sizeof *e->unsaved.memories;
    e->unsaved.max =
        SAVE_BYTES / bytes < SAVE_SEGMENTS ? SAVE_BYTES / bytes : SAVE_SEGMENTS;
    e->unsaved.memories = mem_alloc((e->unsaved.max + BATCH_SEGMENTS) * bytes);
    int code = find_missing(e, count, err);
    if (!code && e->count)
        code = encode_missing(e, err);
    free(e->missing);
    free(e->unsaved.memories);
    free(e);
    return code;
}
