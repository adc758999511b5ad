#include "memory/embeddings/memories.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "memory/embeddings/postorder.h"

/* Changes when the same memories come to give other vectors, or the same nodes other
 * memories; of models made to embed, since segments have headings: 2. */
enum { VECTORS_VERSION = 1, EMBEDDED_VERSION = 2 };

/* A delta has at most as many nodes as this and a part of all, and as many names:
 * it keeps those of nodes that were made again. */
enum { SMALL_DELTA = 64, DELTA_PART = 8 };

struct memory_policy memories_can(const struct memory_policy *policy,
                                  const struct embedder_facts *facts)
{
    struct memory_policy can = *policy;
    size_t room = facts->context - plan_heading_tokens(facts);
    if (!facts->recalls)
        can.recall = RECALL_OFF;
    if (facts->embeds && can.segment_tokens > room)
        can.segment_tokens = room ? room : 1;
    return can;
}

struct hash128 memories_policy(const struct memory_policy *policy,
                               const struct embedder_facts *facts)
{
    struct memory_policy can = memories_can(policy, facts);
    struct buf text = {0};
    unsigned char bytes[32];
    hash_write(facts->model, bytes);
    hash_write(facts->tokenizer, bytes + 16);
    buf_put_varint(&text, facts->embeds ? EMBEDDED_VERSION : VECTORS_VERSION);
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
    const struct tree *outline = work->build->view->outline;
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
    const struct tree *outline = work->build->view->outline;
    const struct build *build = work->build;
    struct vector_table *table = &work->table;
    uint32_t row = 0, entry = 0;
    *table = (struct vector_table){
        .policy = memories_policy(&build->policy, &build->facts),
        .generation = build->view->manual.generation,
        .width = build->facts.key_width,
        .segments = work->plan.segments,
        .tokens = work->plan.tokens,
        .node_count = work->plan.made_nodes};
    table->nodes = mem_alloc(table->node_count * sizeof *table->nodes);
    table->row_nodes = mem_alloc(work->plan.made * sizeof *table->row_nodes);
    for (uint32_t n = 0; n < outline->count; n++) {
        if (work->plan.nodes[n].cached)
            continue;
        table->nodes[entry] = outline->nodes[n].id;
        work->rows[n] = row;
        work->entries[n] = entry;
        for (size_t s = 0;
             outline->nodes[n].words && s < work->plan.nodes[n].segments.count;
             s++)
            table->row_nodes[row++] = entry;
        entry++;
    }
    table->row_count = row;
    table->keys = mem_alloc(row * table->width * sizeof(float));
    table->subtrees = mem_alloc(entry * table->width * sizeof(float));
    table->names = plan_names(&work->plan, outline->count, &table->name_count);
    if (build->facts.keys_are_memories)
        name_rows(work);
}

/* ---- In place ---- */

/* A delta is of the vectors that the view has.  *ret_number: of the making. */
static int put_vectors(const struct view *view, struct store *store,
                       const struct vector_table *table, uint64_t *ret_number,
                       struct err *err)
{
    struct store_txn *txn;
    struct manual now = {0};
    struct buf bytes = {0};
    int code = store_write(store, &txn, err);
    if (code)
        return code;
    code = store_get_manual(txn, view->manual.id, &now, err);
    if (code == ERR_NOT_FOUND ||
        (!code && (now.generation != view->manual.generation ||
                   (table->base && now.vectors != view->manual.vectors))))
        code = err_set(err, ERR_CANCELLED, "%s was changed meanwhile",
                       view->manual.name);
    *ret_number = now.vectors + 1;
    manual_free(&now);
    vector_table_encode(table, &bytes);
    if (!code)
        code = (table->base ? store_put_vector_delta : store_put_vectors)(
            txn, view->manual.id, buf_slice(&bytes), err);
    buf_free(&bytes);
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

static uint64_t *node_ids(const struct tree *outline)
{
    uint64_t *ids = mem_alloc(outline->count * sizeof *ids);
    for (uint32_t n = 0; n < outline->count; n++)
        ids[n] = outline->nodes[n].id;
    return ids;
}

/* *ret_before: the delta so far, empty: none. */
static int read_delta(const struct build *build, uint64_t *ret_base,
                      struct vector_table *ret_before, struct err *err)
{
    struct store_txn *txn;
    struct slice base, delta;
    uint32_t manual = build->view->manual.id;
    *ret_before = (struct vector_table){0};
    int code = store_read(build->snapshot->store, &txn, err);
    if (code)
        return code;
    code = store_get_vectors(txn, manual, &base, err);
    if (!code) {
        *ret_base = vector_table_hash(base);
        code = store_get_vector_delta(txn, manual, &delta, err);
        if (!code)
            code = vector_table_decode(delta, ret_before, err);
        else if (code == ERR_NOT_FOUND)
            code = 0;
    }
    store_end(txn);
    return code;
}

/* The table becomes the delta, with what that had before. */
static int make_delta(struct work *work, struct err *err)
{
    const struct tree *outline = work->build->view->outline;
    struct vector_table before, joined;
    int code = read_delta(work->build, &work->table.base, &before, err);
    if (code || !before.width)
        return code;
    uint64_t *ids = node_ids(outline);
    code = vector_table_join(&before, &work->table, ids, outline->count,
                             &joined, err);
    free(ids);
    vector_table_free(&before);
    if (code)
        return code;
    vector_table_free(&work->table);
    work->table = joined;
    return 0;
}

/* What the next making may begin with. */
static void keep(const struct work *work, uint64_t number,
                 struct plan_cache *plan_cache)
{
    const struct build *build = work->build;
    const struct tree *outline = build->view->outline;
    size_t width = build->facts.width;
    struct buf scratch = {0};
    struct plan_cache_manual of = {
        .manual = build->view->manual.id,
        .vectors = number,
        .policy = memories_policy(&build->policy, &build->facts),
        .width = width,
        .count = outline->count,
        .nodes = mem_alloc(outline->count * sizeof *of.nodes),
        .c = mem_alloc(outline->count * width * sizeof *of.c)};
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node_plan *plan = &work->plan.nodes[n];
        float *c = of.c + n * width;
        memcpy(c, plan->cached ? plan->cached->c : work->subtrees + n * width,
               width * sizeof *c);
        of.nodes[n] = (struct cached_node){
            .id = outline->nodes[n].id,
            .seen = plan_seen(build, n, &scratch),
            .whole = plan->whole,
            .own = plan->own,
            .segments = plan->cached ? plan->cached->segments
                                     : (uint32_t)plan->segments.count,
            .c = c};
    }
    buf_free(&scratch);
    plan_cache_put(plan_cache, &of);
}

static int make(struct work *work, struct plan_cache *plan_cache,
                struct err *err)
{
    const struct view *view = work->build->view;
    size_t count = view->outline->count;
    uint64_t number;
    work->subtrees =
        mem_alloc(count * work->build->facts.width * sizeof *work->subtrees);
    work->order = mem_alloc(count * sizeof *work->order);
    work->entries = mem_alloc(count * sizeof *work->entries);
    work->rows = mem_alloc(count * sizeof *work->rows);
    prepare_table(work);
    int code = postorder(work, err);
    if (!code && work->build->plan_cache)
        code = make_delta(work, err);
    if (!code)
        code = put_vectors(view, work->build->snapshot->store, &work->table,
                           &number, err);
    if (!code && plan_cache)
        keep(work, number, plan_cache);
    free(work->subtrees);
    free(work->order);
    free(work->entries);
    free(work->rows);
    vector_table_free(&work->table);
    return code;
}

/* The store has vectors, but they could not be read. */
static bool are_damaged(const struct view *view)
{
    return view->manual.vectors && !view->vectors;
}

/* ERR_NOT_FOUND: there are none, or they are not of this generation. */
static int find_current(const struct build *build,
                        struct memories_report *report, struct err *err)
{
    const struct manual *manual = &build->view->manual;
    struct store_txn *txn;
    struct vector_table base = {0}, delta = {0};
    int code = store_read(build->snapshot->store, &txn, err);
    if (code)
        return code;
    code = vectors_heads(txn, manual->id, &base, &delta, err);
    store_end(txn);
    const struct vector_table *newest = vectors_newest(&base, &delta);
    if (code == ERR_FORMAT ||
        (!code &&
         (are_damaged(build->view) ||
          newest->generation != manual->generation ||
          !hash_equal(newest->policy,
                      memories_policy(&build->policy, &build->facts)))))
        code = ERR_NOT_FOUND;
    *report = (struct memories_report){.segments = newest->segments,
                                       .tokens = newest->tokens};
    vector_table_free(&base);
    vector_table_free(&delta);
    return code;
}

static bool is_small(size_t part, size_t all)
{
    return part <= SMALL_DELTA + all / DELTA_PART;
}

/* What the plan makes may go before the base, with the delta so far. */
static bool fits_delta(const struct build *build, const struct plan *plan)
{
    struct vector_table before;
    struct err err;
    uint64_t base;
    size_t nodes = build->view->outline->count;
    if (read_delta(build, &base, &before, &err))
        return false;
    bool fits = base &&
                is_small((size_t)before.node_count + plan->made_nodes, nodes) &&
                is_small(before.name_count + plan->made + plan->made_nodes,
                         plan->segments + nodes);
    vector_table_free(&before);
    return fits;
}

/* From what is kept, where that leaves little to make. */
static int plan_all(struct build *build, struct plan_cache *plan_cache,
                    struct plan *ret, struct err *err)
{
    const struct view *view = build->view;
    if (view->vectors)
        build->plan_cache =
            plan_cache_find(plan_cache, view->manual.id, view->manual.vectors,
                            memories_policy(&build->policy, &build->facts));
    int code = plan_make(build, ret, err);
    if (code || !build->plan_cache || fits_delta(build, ret))
        return code;
    plan_free(ret, view);
    build->plan_cache = NULL;
    return plan_make(build, ret, err);
}

static int renew(struct build *build, struct plan_cache *plan_cache,
                 memories_progress *progress, void *context,
                 struct memories_report *report, struct err *err)
{
    struct work work = {.build = build};
    int code = plan_all(build, plan_cache, &work.plan, err);
    if (code)
        return code;
    work.encoder = (struct encoder){.build = build,
                                    .plan = &work.plan,
                                    .progress = progress,
                                    .context = context};
    code = make(&work, plan_cache, err);
    *report =
        (struct memories_report){.segments = work.plan.segments,
                                 .tokens = work.plan.tokens,
                                 .encoded = work.encoder.encoded,
                                 .encoded_tokens = work.encoder.encoded_tokens,
                                 .changed = true};
    plan_free(&work.plan, build->view);
    return code;
}

int memories_update(const struct snapshot *snapshot, const struct view *view,
                    const struct embedder *embedder,
                    const struct memory_policy *policy,
                    struct plan_cache *plan_cache, memories_progress *progress,
                    void *context, const atomic_bool *cancel,
                    struct memories_report *ret_report, struct err *err)
{
    double start = clock_seconds();
    struct memories_report report = {0};
    struct build build = {.snapshot = snapshot,
                          .view = view,
                          .embedder = embedder,
                          .cancel = cancel};
    int code = embedder->facts(embedder->context, &build.facts, err);
    if (code)
        return code;
    build.policy = memories_can(policy, &build.facts);
    code = find_current(&build, &report, err);
    if (code == ERR_NOT_FOUND)
        code = renew(&build, plan_cache, progress, context, &report, err);
    if (code)
        return code;
    report.seconds = clock_seconds() - start;
    *ret_report = report;
    return 0;
}
