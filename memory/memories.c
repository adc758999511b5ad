#include "memory/memories.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "memory/postorder.h"

/* Changes when the same memories come to give other vectors. */
enum { VECTORS_VERSION = 1 };

static struct memory_policy as_it_can(const struct memory_policy *policy,
                                      const struct embedder_facts *facts)
{
    struct memory_policy can = *policy;
    if (!facts->recalls)
        can.recall = RECALL_OFF;
    return can;
}

struct hash128 memories_policy(const struct memory_policy *policy,
                               const struct embedder_facts *facts)
{
    struct memory_policy can = as_it_can(policy, facts);
    struct buf text = {0};
    unsigned char bytes[32];
    hash_write(facts->model, bytes);
    hash_write(facts->tokenizer, bytes + 16);
    buf_put_varint(&text, VECTORS_VERSION);
    buf_put_varint(&text, (uint64_t)can.aggregate);
    buf_put_varint(&text, (uint64_t)can.recall);
    buf_put_varint(&text, can.segment_tokens);
    buf_put_varint(&text, facts->width);
    buf_put_varint(&text, facts->key_width);
    buf_put(&text, bytes, sizeof bytes);
    struct hash128 name = hash_bytes(text.data, text.size);
    buf_free(&text);
    return name;
}

/* ---- The table ---- */

/* The memories that the rows' keys are. */
static void name_rows(struct work *work)
{
    const struct tree *outline = work->making->volume->outline;
    struct vector_table *table = &work->table;
    uint32_t row = 0;
    table->row_names = mem_alloc(table->row_count * sizeof *table->row_names);
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node_plan *of = &work->plan.nodes[n];
        for (size_t s = 0; outline->nodes[n].words && s < of->segments.count;
             s++) {
            const struct hash128 *name =
                bsearch(&work->plan.names[of->first + s], table->names,
                        table->name_count, sizeof *name, hash_compare);
            table->row_names[row++] = (uint32_t)(name - table->names);
        }
    }
}

static void prepare_table(struct work *work)
{
    const struct tree *outline = work->making->volume->outline;
    const struct making *making = work->making;
    struct vector_table *table = &work->table;
    uint32_t row = 0;
    *table = (struct vector_table){
        .policy = memories_policy(&making->policy, &making->facts),
        .generation = making->volume->manual.generation,
        .width = making->facts.key_width,
        .segments = work->plan.segments,
        .tokens = work->plan.tokens,
        .node_count = outline->count};
    table->nodes = mem_alloc(outline->count * sizeof *table->nodes);
    table->row_nodes =
        mem_alloc(work->plan.segments * sizeof *table->row_nodes);
    for (uint32_t n = 0; n < outline->count; n++) {
        table->nodes[n] = outline->nodes[n].id;
        work->rows[n] = row;
        for (size_t s = 0;
             outline->nodes[n].words && s < work->plan.nodes[n].segments.count;
             s++)
            table->row_nodes[row++] = n;
    }
    table->row_count = row;
    table->keys = mem_alloc(row * table->width * sizeof(float));
    table->wholes = mem_alloc(outline->count * table->width * sizeof(float));
    table->names =
        plan_names(&work->plan, table->node_count, &table->name_count);
    if (making->facts.keys_are_memories)
        name_rows(work);
}

/* ---- In place ---- */

static int put_vectors(const struct volume *volume, struct store *store,
                       struct slice bytes, struct err *err)
{
    struct store_txn *txn;
    struct manual now = {0};
    int code = store_write(store, &txn, err);
    if (code)
        return code;
    code = store_get_manual(txn, volume->manual.id, &now, err);
    if (code == ERR_NOT_FOUND ||
        (!code && now.generation != volume->manual.generation))
        code = err_set(err, ERR_CANCELLED, "%s was changed meanwhile",
                       volume->manual.name);
    manual_free(&now);
    if (!code)
        code = store_put_vectors(txn, volume->manual.id, bytes, err);
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

static int make(struct work *work, struct err *err)
{
    const struct volume *volume = work->making->volume;
    size_t count = volume->outline->count;
    work->wholes =
        mem_alloc(count * work->making->facts.width * sizeof *work->wholes);
    work->order = mem_alloc(count * sizeof *work->order);
    work->rows = mem_alloc(count * sizeof *work->rows);
    prepare_table(work);
    int code = postorder(work, err);
    if (!code) {
        struct buf bytes = {0};
        vector_table_encode(&work->table, &bytes);
        code = put_vectors(volume, work->making->shelf->store,
                           buf_slice(&bytes), err);
        buf_free(&bytes);
    }
    free(work->wholes);
    free(work->order);
    free(work->rows);
    vector_table_free(&work->table);
    return code;
}

/* The store has vectors, but they could not be read. */
static bool are_damaged(const struct volume *volume)
{
    return volume->manual.vectors && !volume->vectors;
}

/* ERR_NOT_FOUND: there are none, or they are not of this generation. */
static int find_current(const struct making *making,
                        struct memories_report *report, struct err *err)
{
    const struct manual *manual = &making->volume->manual;
    struct store_txn *txn;
    struct slice bytes;
    struct vector_table head = {0};
    int code = store_read(making->shelf->store, &txn, err);
    if (code)
        return code;
    code = store_get_vectors(txn, manual->id, &bytes, err);
    if (!code &&
        (are_damaged(making->volume) || vector_table_head(bytes, &head, NULL) ||
         head.generation != manual->generation ||
         !hash_equal(head.policy,
                     memories_policy(&making->policy, &making->facts))))
        code = ERR_NOT_FOUND;
    store_end(txn);
    *report = (struct memories_report){.segments = head.segments,
                                       .tokens = head.tokens};
    vector_table_free(&head);
    return code;
}

static int renew(struct making *making, memories_progress *progress,
                 void *context, struct memories_report *report, struct err *err)
{
    struct work work = {.making = making};
    int code = plan_make(making, &work.plan, err);
    if (code)
        return code;
    work.encoder = (struct encoder){.making = making,
                                    .plan = &work.plan,
                                    .progress = progress,
                                    .context = context};
    code = make(&work, err);
    *report =
        (struct memories_report){.segments = work.plan.segments,
                                 .tokens = work.plan.tokens,
                                 .encoded = work.encoder.encoded,
                                 .encoded_tokens = work.encoder.encoded_tokens,
                                 .changed = true};
    plan_free(&work.plan, making->volume);
    return code;
}

int memories_update(const struct shelf *shelf, const struct volume *volume,
                    const struct embedder *embedder,
                    const struct memory_policy *policy,
                    memories_progress *progress, void *context,
                    const atomic_bool *cancel,
                    struct memories_report *ret_report, struct err *err)
{
    double start = clock_seconds();
    struct memories_report report = {0};
    struct making making = {.shelf = shelf,
                            .volume = volume,
                            .embedder = embedder,
                            .cancel = cancel};
    int code = embedder->facts(embedder->context, &making.facts, err);
    if (code)
        return code;
    making.policy = as_it_can(policy, &making.facts);
    code = find_current(&making, &report, err);
    if (code == ERR_NOT_FOUND)
        code = renew(&making, progress, context, &report, err);
    if (code)
        return code;
    report.seconds = clock_seconds() - start;
    *ret_report = report;
    return 0;
}
