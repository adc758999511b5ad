#include "memory/embeddings/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Change them when the same input comes to give other segments or memories. */
enum { SEGMENTS_VERSION = 1, MEMORIES_VERSION = 1 };

enum {
    AT_ONCE = 500 /* nodes a transaction */,
    TITLE_BYTES = 60,
    HEADING_TOKENS = 32
};

int build_poll(const struct build *build, struct err *err)
{
    return build->cancel && atomic_load(build->cancel)
               ? err_set(err, ERR_CANCELLED,
                         "the making of memories of %s was "
                         "stopped",
                         build->view->manual.name)
               : 0;
}

int build_open(const struct build *build, uint32_t node,
               struct content *ret_content, const struct node **ret_node,
               struct err *err)
{
    const struct node *bare = &build->view->outline->nodes[node];
    *ret_content = (struct content){0};
    *ret_node = bare;
    if (bare->source_tree == TREE_NONE)
        return 0;
    int code =
        content_open(build->snapshot, build->view, node, ret_content, err);
    if (!code)
        *ret_node = ret_content->node;
    return code;
}

/* ---- Names ---- */

static void put_hash(struct buf *of, struct hash128 hash)
{
    unsigned char bytes[16];
    hash_write(hash, bytes);
    buf_put(of, bytes, sizeof bytes);
}

/* The name of what the bytes tell; empties them. */
static struct hash128 take_name(struct buf *of)
{
    struct hash128 name = hash_bytes(of->data, of->size);
    buf_clear(of);
    return name;
}

static struct hash128 segments_name(const struct build *build,
                                    struct hash128 own, struct buf *scratch)
{
    buf_put_text(scratch, "segments");
    buf_put_varint(scratch, SEGMENTS_VERSION);
    put_hash(scratch, build->facts.tokenizer);
    buf_put_varint(scratch, build->policy.segment_tokens);
    put_hash(scratch, own);
    return take_name(scratch);
}

static struct hash128 memory_name(const struct build *build, uint32_t node,
                                  const struct node_plan *plan, size_t s,
                                  struct buf *scratch)
{
    const struct segment *segment = &plan->segments.items[s];
    struct hash128 heading = {0};
    if (build->facts.embeds) {
        plan_put_heading(build, node, s, scratch);
        heading = take_name(scratch);
    }
    buf_put_text(scratch, "memory");
    buf_put_varint(scratch, MEMORIES_VERSION);
    put_hash(scratch, build->facts.model);
    put_hash(scratch, build->facts.tokenizer);
    put_hash(scratch, segment->text);
    buf_put_varint(scratch, plan_reads(build, segment));
    if (build->facts.embeds)
        put_hash(scratch, heading);
    if (plan_recalls(build, node)) {
        buf_put_varint(scratch, build->policy.segment_tokens);
        buf_put_varint(scratch, (uint64_t)build->policy.recall);
        put_hash(scratch, plan->recalls);
    }
    return take_name(scratch);
}

/* The name of the node's L_v or a, from those of its children, which may stand
 * in any order: so does what is computed of them. */
static struct hash128 children_name(const struct build *build,
                                    const struct plan *plan, uint32_t node,
                                    const char *what, struct buf *scratch)
{
    const struct node *nodes = build->view->outline->nodes;
    struct hash128 *names = NULL;
    size_t count = 0, capacity = 0;
    for (uint32_t c = node + 1; c < nodes[node].end; c = nodes[c].end) {
        MEM_RESERVE(names, &capacity, count + 1);
        names[count++] = plan->nodes[c].whole;
    }
    qsort(names, count, sizeof *names, hash_compare);
    buf_put_text(scratch, what);
    for (size_t i = 0; i < count; i++)
        put_hash(scratch, names[i]);
    free(names);
    return take_name(scratch);
}

static void name_node(const struct build *build, struct plan *plan,
                      uint32_t node, struct buf *scratch)
{
    static const char *const policies[] = {"mean", "attention"};
    struct node_plan *of = &plan->nodes[node];
    bool inner = build->view->outline->nodes[node].height > 0;
    struct hash128 aggregate = {0};
    if (of->cached) {
        of->whole = of->cached->whole;
        return;
    }
    if (inner) {
        aggregate = children_name(build, plan, node,
                                  policies[build->policy.aggregate], scratch);
        of->recalls =
            build->policy.recall == RECALL_CHILDREN
                ? children_name(build, plan, node, "children", scratch)
                : aggregate;
    }
    for (size_t s = 0; s < of->segments.count; s++)
        plan->names[of->first + s] = memory_name(build, node, of, s, scratch);
    buf_put_text(scratch, "whole");
    for (size_t s = 0; s < of->segments.count; s++)
        put_hash(scratch, plan->names[of->first + s]);
    buf_put_varint(scratch, of->own);
    buf_put_varint(scratch, of->below);
    put_hash(scratch, aggregate);
    of->whole = take_name(scratch);
}

/* Up to a character's end. */
static void put_title(struct slice title, struct buf *ret)
{
    buf_put(ret, title.data,
            title.size <= TITLE_BYTES ? title.size
                                      : text_begin(title.data, TITLE_BYTES));
}

size_t plan_heading_tokens(const struct embedder_facts *facts)
{
    size_t half = facts->context / 2;
    return half < HEADING_TOKENS ? half : HEADING_TOKENS;
}

void plan_put_heading(const struct build *build, uint32_t node, size_t segment,
                      struct buf *ret)
{
    const struct node *nodes = build->view->outline->nodes;
    uint32_t parent = nodes[node].parent;
    if (!build->facts.embeds)
        return;
    if (parent != TREE_NONE && nodes[parent].title.size) {
        put_title(nodes[parent].title, ret);
        buf_put_text(ret, ": ");
    }
    if (!segment)
        return;
    put_title(nodes[node].title, ret);
    buf_put_byte(ret, '\n');
}

struct hash128 plan_seen(const struct build *build, uint32_t node,
                         struct buf *scratch)
{
    const struct node *nodes = build->view->outline->nodes;
    if (!build->facts.embeds)
        return nodes[node].merkle;
    buf_clear(scratch);
    plan_put_heading(build, node, 1, scratch);
    put_hash(scratch, nodes[node].merkle);
    return take_name(scratch);
}

bool plan_recalls(const struct build *build, uint32_t node)
{
    return build->policy.recall != RECALL_OFF &&
           build->view->outline->nodes[node].height > 0;
}

size_t plan_reads(const struct build *build, const struct segment *segment)
{
    size_t max = build->facts.context;
    return segment->tokens < max ? segment->tokens : max;
}

/* ---- Segments ---- */

/* Those of nodes [from, end) that the store has; the others have none. */
static int find_segments(const struct build *build, struct plan *plan,
                         uint32_t from, uint32_t end, struct err *err)
{
    struct store_txn *txn;
    int code = store_read(build->snapshot->store, &txn, err);
    if (code)
        return code;
    for (uint32_t n = from; n < end; n++) {
        struct slice value;
        if (plan->nodes[n].cached)
            continue;
        code = store_get_segments(txn, plan->nodes[n].kept_under, &value, err);
        if (!code)
            code = segments_decode(value, &plan->nodes[n].segments, err);
        if (code && code != ERR_NOT_FOUND && code != ERR_FORMAT)
            break;
        code = 0;
    }
    store_end(txn);
    return code;
}

static int cut_node(const struct build *build, struct node_plan *plan,
                    uint32_t node, struct err *err)
{
    struct content content;
    const struct node *of;
    int code = build_poll(build, err);
    if (!code)
        code = build_open(build, node, &content, &of, err);
    if (code)
        return code;
    code = segment_node(of, build->policy.segment_tokens, build->facts.words,
                        build->embedder, &plan->segments, err);
    content_close(&content);
    return code;
}

static int put_segments(const struct build *build, const struct plan *plan,
                        const uint32_t *nodes, size_t count, struct err *err)
{
    struct store_txn *txn;
    int code = count ? store_write(build->snapshot->store, &txn, err) : 0;
    if (code || !count)
        return code;
    struct buf value = {0};
    struct hash128 names[AT_ONCE];
    for (size_t i = 0; i < count && !code; i++) {
        const struct node_plan *of = &plan->nodes[nodes[i]];
        names[i] = of->kept_under;
        buf_clear(&value);
        segments_encode(&of->segments, &value);
        code = store_put_segments(txn, of->kept_under, buf_slice(&value), err);
    }
    buf_free(&value);
    if (!code)
        code = store_note_made(txn, build->view->manual.id, UNFINISHED_SEGMENTS,
                               names, count, err);
    if (!code)
        return store_commit(txn, err);
    store_end(txn);
    return code;
}

static int take_segments(const struct build *build, struct plan *plan,
                         uint32_t from, uint32_t end, struct err *err)
{
    uint32_t cut[AT_ONCE];
    size_t count = 0;
    int code = find_segments(build, plan, from, end, err);
    for (uint32_t n = from; n < end && !code && !build->only_look; n++) {
        if (plan->nodes[n].segments.count || plan->nodes[n].cached)
            continue;
        code = cut_node(build, &plan->nodes[n], n, err);
        if (!code)
            cut[count++] = n;
    }
    struct err later;
    int put = put_segments(build, plan, cut, count, code ? &later : err);
    return code ? code : put;
}

/* Where each node's segments stand, and how many tokens it has. */
static void count_segments(const struct build *build, struct plan *plan)
{
    const struct tree *outline = build->view->outline;
    for (uint32_t n = 0; n < outline->count; n++) {
        struct node_plan *of = &plan->nodes[n];
        of->first = plan->made;
        plan->made += of->segments.count;
        plan->made_nodes += !of->cached;
        plan->segments +=
            of->cached ? of->cached->segments : of->segments.count;
        of->own = of->cached ? of->cached->own : 0;
        for (size_t s = 0; s < of->segments.count; s++)
            of->own += of->segments.items[s].tokens;
        plan->tokens += of->own;
    }
    for (uint32_t n = outline->count; n-- > 1;)
        plan->nodes[outline->nodes[n].parent].below +=
            plan->nodes[n].own + plan->nodes[n].below;
}

/* What an unfinished making has left behind, and this one has no use for. */
static int prune(const struct build *build, const struct plan *plan,
                 enum unfinished_kind kind, struct err *err)
{
    uint32_t nodes = build->view->outline->count, count;
    if (build->only_look)
        return 0;
    struct hash128 *names = plan_names(plan, nodes, &count);
    int code = store_prune_made(build->snapshot->store, build->view->manual.id,
                                kind, names, count, err);
    free(names);
    return code;
}

/* What each node's segments are kept under, but for those that were made before
 * of the same content, their own and all below. */
static void find_kept(const struct build *build, struct plan *plan,
                      struct buf *scratch)
{
    const struct tree *outline = build->view->outline;
    for (uint32_t n = 0; n < outline->count; n++) {
        const struct node *node = &outline->nodes[n];
        struct node_plan *of = &plan->nodes[n];
        if (build->plan_cache)
            of->cached = plan_cache_same(build->plan_cache, node->id,
                                         plan_seen(build, n, scratch));
        if (!of->cached)
            of->kept_under = segments_name(build, node->own, scratch);
    }
}

int plan_make(const struct build *build, struct plan *ret, struct err *err)
{
    const struct tree *outline = build->view->outline;
    struct plan plan = {.nodes =
                            mem_alloc(outline->count * sizeof *plan.nodes)};
    struct buf scratch = {0};
    int code = 0;
    find_kept(build, &plan, &scratch);
    code = prune(build, &plan, UNFINISHED_SEGMENTS, err);
    for (uint32_t n = 0; n < outline->count && !code; n += AT_ONCE) {
        uint32_t rest = outline->count - n;
        code = take_segments(build, &plan, n,
                             n + (rest < AT_ONCE ? rest : AT_ONCE), err);
    }
    if (!code) {
        count_segments(build, &plan);
        plan.names = mem_alloc(plan.made * sizeof *plan.names);
        for (uint32_t n = outline->count; n-- > 0;)
            name_node(build, &plan, n, &scratch);
        code = prune(build, &plan, UNFINISHED_MEMORIES, err);
    }
    if (!code)
        *ret = plan;
    else
        plan_free(&plan, build->view);
    buf_free(&scratch);
    return code;
}

struct hash128 *plan_names(const struct plan *plan, uint32_t nodes,
                           uint32_t *ret_count)
{
    size_t count = plan->made, kept = 0;
    struct hash128 *names = mem_alloc((count + nodes) * sizeof *names);
    if (count)
        memcpy(names, plan->names, count * sizeof *names);
    for (uint32_t n = 0; n < nodes; n++)
        if (!plan->nodes[n].cached)
            names[count++] = plan->nodes[n].kept_under;
    qsort(names, count, sizeof *names, hash_compare);
    for (size_t i = 0; i < count; i++)
        if (!i || !hash_equal(names[i], names[kept - 1]))
            names[kept++] = names[i];
    *ret_count = (uint32_t)kept;
    return names;
}

void plan_free(struct plan *plan, const struct view *view)
{
    for (uint32_t n = 0; n < view->outline->count; n++)
        segments_free(&plan->nodes[n].segments);
    free(plan->nodes);
    free(plan->names);
    *plan = (struct plan){0};
}
