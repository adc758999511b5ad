#include "memory/embeddings/postorder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_SEGMENTS = 256 };

/* Nodes of one height that are done together. */
struct chunk {
    const uint32_t *nodes;
    size_t count, segments;
    float *aggregates;         /* [count, width] a; nothing for leaves */
    float *children;           /* children's c, those of one node in a row */
    struct recalled *recalled; /* [count] L_v */
    float *memories;           /* [segments + count, width] m, then a */
    float *keys;               /* [segments + count, key_width] likewise */
};

static const struct tree *outline_of(const struct work *work)
{
    return work->build->view->outline;
}

/* ---- Arithmetic ---- */

/* Of length 1, unless it has none. */
static void make_unit(double *values, size_t count)
{
    double square = 0;
    for (size_t i = 0; i < count; i++)
        square += values[i] * values[i];
    for (size_t i = 0; square > 0 && i < count; i++)
        values[i] /= sqrt(square);
}

/* c = (n_own mean_s m_s + n_desc a) / (n_own + n_desc) */
static void make_whole(const struct work *work, uint32_t node,
                       const float *memories, const float *aggregate)
{
    const struct node_plan *of = &work->plan.nodes[node];
    size_t width = work->build->facts.width, count = of->segments.count;
    double own = (double)of->own, below = (double)of->below;
    float *ret = work->subtrees + node * width;
    for (size_t i = 0; i < width; i++) {
        double sum = 0;
        for (size_t s = 0; s < count; s++)
            sum += (double)memories[s * width + i];
        sum *= own / (double)count;
        if (of->below)
            sum += below * (double)aggregate[i];
        ret[i] = (float)(sum / (own + below));
    }
}

/* M_v = unit((n_own unit(sum_s n_s k_s) + n_desc key(a)) / (n_own + n_desc)),
 * keys being of length 1. */
static void make_key(const struct work *work, uint32_t node, const float *keys,
                     const float *aggregate)
{
    const struct node_plan *of = &work->plan.nodes[node];
    size_t width = work->build->facts.key_width;
    double *sum = mem_alloc(width * sizeof *sum);
    float *ret = work->table.subtrees + work->entries[node] * width;
    for (size_t s = 0; s < of->segments.count; s++)
        for (size_t i = 0; i < width; i++)
            sum[i] +=
                of->segments.items[s].tokens * (double)keys[i + s * width];
    make_unit(sum, width);
    for (size_t i = 0; of->below && i < width; i++)
        sum[i] =
            (double)of->own * sum[i] + (double)of->below * (double)aggregate[i];
    make_unit(sum, width);
    for (size_t i = 0; i < width; i++)
        ret[i] = (float)sum[i];
    free(sum);
}

/* ---- A chunk of nodes ---- */

static size_t children_of(const struct tree *outline, uint32_t node)
{
    size_t count = 0;
    for (uint32_t c = node + 1; c < outline->nodes[node].end;
         c = outline->nodes[c].end)
        count++;
    return count;
}

/* All nodes of the chunk at once. */
static int aggregate(struct work *work, struct chunk *chunk, struct err *err)
{
    const struct tree *outline = outline_of(work);
    const struct embedder *embedder = work->build->embedder;
    size_t width = work->build->facts.width, total = 0;
    size_t *start = mem_alloc((chunk->count + 1) * sizeof *start);
    for (size_t i = 0; i < chunk->count; i++) {
        total += children_of(outline, chunk->nodes[i]);
        start[i + 1] = total;
    }
    chunk->children = mem_alloc(total * width * sizeof *chunk->children);
    float *at = chunk->children;
    for (size_t i = 0; i < chunk->count; i++) {
        const struct node *nodes = outline->nodes;
        uint32_t node = chunk->nodes[i];
        float *first = at, *ret = chunk->aggregates + i * width;
        for (uint32_t c = node + 1; c < nodes[node].end; c = nodes[c].end) {
            const struct cached_node *cached = work->plan.nodes[c].cached;
            memcpy(at, cached ? cached->c : work->subtrees + c * width,
                   width * sizeof *at);
            at += width;
        }
        chunk->recalled[i] =
            work->build->policy.recall == RECALL_CHILDREN
                ? (struct recalled){first, start[i + 1] - start[i]}
                : (struct recalled){ret, 1};
    }
    int code = embedder->aggregate(
        embedder->context, work->build->policy.aggregate, chunk->children,
        start, chunk->count, chunk->aggregates, err);
    free(start);
    return code;
}

static int read_memories(const struct work *work, struct chunk *chunk,
                         struct err *err)
{
    size_t width = work->build->facts.width;
    float *at = chunk->memories;
    struct store_txn *txn;
    int code = store_read(work->build->snapshot->store, &txn, err);
    if (code)
        return code;
    for (size_t i = 0; i < chunk->count && !code; i++) {
        const struct node_plan *of = &work->plan.nodes[chunk->nodes[i]];
        for (size_t s = 0; s < of->segments.count && !code; s++) {
            code = store_get_memory(txn, work->plan.names[of->first + s], at,
                                    width, err);
            at += width;
        }
    }
    store_end(txn);
    return code == ERR_NOT_FOUND
               ? err_set(err, ERR_INTERNAL, "a memory of %s is lost",
                         work->build->view->manual.name)
               : code;
}

static void finish_nodes(struct work *work, const struct chunk *chunk)
{
    size_t width = work->build->facts.width,
           key_width = work->build->facts.key_width, at = 0;
    for (size_t i = 0; i < chunk->count; i++) {
        uint32_t node = chunk->nodes[i];
        size_t count = work->plan.nodes[node].segments.count;
        const float *keys = chunk->keys + at * key_width;
        make_whole(work, node, chunk->memories + at * width,
                   chunk->aggregates + i * width);
        make_key(work, node, keys,
                 chunk->keys + (chunk->segments + i) * key_width);
        if (outline_of(work)->nodes[node].words)
            memcpy(work->table.keys + work->rows[node] * key_width, keys,
                   count * key_width * sizeof *keys);
        at += count;
    }
}

static int do_chunk(struct work *work, struct chunk *chunk, struct err *err)
{
    const struct embedder *embedder = work->build->embedder;
    bool inner = outline_of(work)->nodes[chunk->nodes[0]].height > 0;
    size_t width = work->build->facts.width;
    int code = build_poll(work->build, err);
    if (!code && inner)
        code = aggregate(work, chunk, err);
    if (!code)
        code = encode_nodes(&work->encoder, chunk->nodes, chunk->count,
                            inner ? chunk->recalled : NULL, err);
    if (!code)
        code = read_memories(work, chunk, err);
    if (code)
        return code;
    if (inner)
        memcpy(chunk->memories + chunk->segments * width, chunk->aggregates,
               chunk->count * width * sizeof *chunk->memories);
    code = embedder->keys(embedder->context, chunk->memories,
                          chunk->segments + (inner ? chunk->count : 0),
                          chunk->keys, err);
    if (!code)
        finish_nodes(work, chunk);
    if (!code && work->encoder.progress)
        work->encoder.progress(work->encoder.context, work->encoder.done,
                               work->plan.made);
    return code;
}

static int make_chunk(struct work *work, const uint32_t *nodes, size_t count,
                      size_t segments, struct err *err)
{
    size_t width = work->build->facts.width,
           key_width = work->build->facts.key_width;
    struct chunk chunk = {.nodes = nodes, .count = count, .segments = segments};
    chunk.aggregates = mem_alloc(count * width * sizeof(float));
    chunk.recalled = mem_alloc(count * sizeof *chunk.recalled);
    chunk.memories = mem_alloc((segments + count) * width * sizeof(float));
    chunk.keys = mem_alloc((segments + count) * key_width * sizeof(float));
    int code = do_chunk(work, &chunk, err);
    free(chunk.aggregates);
    free(chunk.children);
    free(chunk.recalled);
    free(chunk.memories);
    free(chunk.keys);
    return code;
}

/* ---- All nodes ---- */

static int make_height(struct work *work, uint32_t from, uint32_t end,
                       struct err *err)
{
    int code = 0;
    while (from < end && !code) {
        size_t segments = 0;
        uint32_t to = from;
        while (to < end && segments < CHUNK_SEGMENTS)
            segments += work->plan.nodes[work->order[to++]].segments.count;
        code = make_chunk(work, work->order + from, to - from, segments, err);
        from = to;
    }
    return code;
}

/* The end of those of order[from ... end) that are to be made. */
static uint32_t leave_out_kept(struct work *work, uint32_t from, uint32_t end)
{
    uint32_t to = from;
    for (; from < end; from++)
        if (!work->plan.nodes[work->order[from]].cached)
            work->order[to++] = work->order[from];
    return to;
}

int postorder(struct work *work, struct err *err)
{
    const struct tree *outline = outline_of(work);
    uint32_t heights = outline->nodes[0].height + 1;
    uint32_t *starts = mem_alloc((heights + 1) * sizeof *starts);
    int code = 0;
    tree_by_height(outline, work->order, starts);
    for (uint32_t h = 0; h < heights && !code; h++) {
        uint32_t end = leave_out_kept(work, starts[h], starts[h + 1]);
        code = make_height(work, starts[h], end, err);
    }
    free(starts);
    return code;
}
