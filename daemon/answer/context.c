#include "daemon/answer/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "daemon/answer/shingles.h"

enum { MAX_PARTS = 16 };

/* Resemblance from which two sections say the same. */
static const double SAME = 0.8;

struct gathering {
    const struct snapshot *snapshot;
    const struct passages *passages;
    const struct context_limits *limits;
    const struct prompt_counter *counter;
    bool *taken;             /* [passages->count] */
    struct shingles *packed; /* [packed_count] of each part so far */
    size_t packed_count, packed_capacity;
};

/* ---- Parts ---- */

static const struct node *outline_node(const struct passage *passage)
{
    return &passage->view->outline->nodes[passage->node];
}

static int count_tokens(const struct gathering *gathering,
                        const struct content *content, size_t *ret,
                        struct err *err)
{
    struct buf text = {0};
    buf_put_slice(&text, content->node->title);
    buf_put_byte(&text, '\n');
    tree_node_text(content->node, &text);
    buf_put_text(&text, "\n\n");
    int code = gathering->counter->count(gathering->counter->context,
                                         buf_slice(&text), ret, err);
    buf_free(&text);
    return code;
}

static void insert_part(struct context_source *source, size_t at,
                        const struct context_part *part)
{
    memmove(&source->parts[at + 1], &source->parts[at],
            (source->part_count - at) * sizeof *part);
    source->parts[at] = *part;
    source->best += source->part_count && at <= source->best;
    source->part_count++;
}

/* True: an earlier part says the same.  Else it is remembered. */
static bool is_said(struct gathering *gathering, const struct node *node)
{
    struct shingles own;
    shingles_of(node, &own);
    for (size_t i = 0; i < gathering->packed_count; i++)
        if (shingles_alike(&own, &gathering->packed[i]) >= SAME) {
            shingles_free(&own);
            return true;
        }
    MEM_RESERVE(gathering->packed, &gathering->packed_capacity,
                gathering->packed_count + 1);
    gathering->packed[gathering->packed_count++] = own;
    return false;
}

/* In the order of the manual.  1: it is in, 0: it was said before, or does not
 * fit into `room`, which it takes from. */
static int add_part(struct gathering *gathering, struct context_source *source,
                    const struct passage *passage, size_t *room,
                    struct err *err)
{
    struct context_part part = {.passage = *passage};
    size_t tokens, at = 0;
    int code = content_open(gathering->snapshot, passage->view, passage->node,
                            &part.content, err);
    if (!code)
        code = count_tokens(gathering, &part.content, &tokens, err);
    /* A source's first section may be too long: a window of it is shown. */
    if (code || source->part_count == MAX_PARTS ||
        (source->part_count && tokens > *room) ||
        is_said(gathering, part.content.node)) {
        content_close(&part.content);
        return code;
    }
    part.passage.encoding = part.content.page->encoding;
    *room -= tokens < *room ? tokens : *room;
    while (at < source->part_count &&
           source->parts[at].passage.node < passage->node)
        at++;
    insert_part(source, at, &part);
    return 1;
}

/* ---- Sources ---- */

/* The node whose title stands for both; TREE_NONE: they have nothing closer in
 * common than the manual or one of its pages. */
static uint32_t common_parent(const struct passage *a, const struct passage *b)
{
    uint32_t above_a = outline_node(a)->parent,
             above_b = outline_node(b)->parent;
    if (a->view != b->view || a->node == b->node)
        return TREE_NONE;
    if (above_b == a->node)
        return a->node;
    if (above_a == b->node)
        return b->node;
    return above_a == above_b && above_a && above_a != TREE_NONE
               ? above_a
               : (uint32_t)TREE_NONE;
}

/* Is the node in this or an earlier source? */
static bool is_taken(const struct gathering *gathering, const struct view *view,
                     uint32_t node)
{
    const struct passages *passages = gathering->passages;
    for (size_t i = 0; i < passages->count; i++)
        if (gathering->taken[i] && passages->items[i].view == view &&
            passages->items[i].node == node)
            return true;
    return false;
}

/* Other passages beside or directly around the first one. */
static int gather_kin(struct gathering *gathering, size_t first,
                      struct context_source *source, size_t *room,
                      struct err *err)
{
    const struct passages *passages = gathering->passages;
    uint32_t parent = TREE_NONE;
    for (size_t i = first + 1; i < passages->count; i++) {
        const struct passage *passage = &passages->items[i];
        uint32_t common = common_parent(&passages->items[first], passage);
        if (is_taken(gathering, passage->view, passage->node) ||
            common == TREE_NONE || (parent != TREE_NONE && parent != common))
            continue;
        int code = add_part(gathering, source, passage, room, err);
        if (code < 0)
            return code;
        if (!code)
            continue;
        gathering->taken[i] = true;
        parent = common;
        source->title = passage->view->outline->nodes[parent].title;
    }
    return 0;
}

/* The sections that follow the last one under its parent, while they fit and
 * are not shown yet. */
static int gather_neighbours(struct gathering *gathering,
                             struct context_source *source, size_t *room,
                             struct err *err)
{
    const struct passage *last = &source->parts[source->part_count - 1].passage;
    const struct view *view = last->view;
    const struct node *nodes = view->outline->nodes;
    uint32_t parent = nodes[last->node].parent;
    uint32_t end = parent && parent != TREE_NONE ? nodes[parent].end : 0;
    int code = 1;
    for (uint32_t n = nodes[last->node].end;
         n < end && code > 0 && !is_taken(gathering, view, n);
         n = nodes[n].end) {
        struct passage next = {.view = view, .node = n};
        next.block.file = nodes[n].source_tree;
        code =
            nodes[n].words ? add_part(gathering, source, &next, room, err) : 0;
    }
    return code < 0 ? code : 0;
}

/* One run of blocks, titles above those that begin a part which is not what the
 * source is titled after. */
static void join_parts(struct context_source *source)
{
    size_t count = 0;
    for (size_t p = 0; p < source->part_count; p++)
        count += source->parts[p].content.node->block_count;
    source->blocks = mem_alloc((count + 1) * sizeof *source->blocks);
    source->heads = mem_alloc((count + 1) * sizeof *source->heads);
    source->owners = mem_alloc((count + 1) * sizeof *source->owners);
    for (size_t p = 0; p < source->part_count; p++) {
        const struct node *node = source->parts[p].content.node;
        struct slice title = outline_node(&source->parts[p].passage)->title;
        for (uint32_t b = 0; b < node->block_count; b++) {
            size_t at = source->count++;
            source->blocks[at] = node->blocks[b];
            source->owners[at] = p;
            if (!b && title.data != source->title.data)
                source->heads[at] = title;
        }
    }
}

static int make_source(struct gathering *gathering, size_t first,
                       struct context_source *source, struct err *err)
{
    const struct passage *passage = &gathering->passages->items[first];
    size_t room = gathering->limits->tokens;
    source->parts = mem_alloc(MAX_PARTS * sizeof *source->parts);
    source->title = outline_node(passage)->title;
    gathering->taken[first] = true;
    int code = add_part(gathering, source, passage, &room, err);
    if (code > 0)
        code = gather_kin(gathering, first, source, &room, err);
    if (code >= 0 && source->part_count && room > gathering->limits->tokens / 2)
        code = gather_neighbours(gathering, source, &room, err);
    if (code >= 0)
        join_parts(source);
    return code < 0 ? code : 0;
}

static void free_source(struct context_source *source)
{
    for (size_t p = 0; p < source->part_count; p++)
        content_close(&source->parts[p].content);
    free(source->parts);
    free(source->blocks);
    free(source->heads);
    free(source->owners);
    *source = (struct context_source){0};
}

/* The one just made, unless nothing is in it. */
static void keep_source(struct context *context)
{
    struct context_source *source = &context->sources[context->count];
    if (source->part_count)
        context->count++;
    else
        free_source(source);
}

int context_open(const struct snapshot *snapshot,
                 const struct passages *passages,
                 const struct context_limits *limits,
                 const struct prompt_counter *counter, struct context *ret,
                 struct err *err)
{
    struct gathering gathering = {
        .snapshot = snapshot,
        .passages = passages,
        .limits = limits,
        .counter = counter,
        .taken = mem_alloc((passages->count + 1) * sizeof(bool))};
    struct context context = {
        mem_alloc((limits->sources + 1) * sizeof *context.sources), 0};
    int code = 0;
    for (size_t i = 0;
         i < passages->count && context.count < limits->sources && !code; i++)
        if (!is_taken(&gathering, passages->items[i].view,
                      passages->items[i].node)) {
            code = make_source(&gathering, i, &context.sources[context.count],
                               err);
            keep_source(&context);
        }
    for (size_t i = 0; i < gathering.packed_count; i++)
        shingles_free(&gathering.packed[i]);
    free(gathering.packed);
    free(gathering.taken);
    if (code)
        context_close(&context);
    else
        *ret = context;
    return code;
}

static int compare_places(const void *a, const void *b)
{
    const struct context_part *x = ((const struct context_source *)a)->parts;
    const struct context_part *y = ((const struct context_source *)b)->parts;
    uint32_t of_x = x->passage.view->manual.id,
             of_y = y->passage.view->manual.id;
    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    return (x->passage.node > y->passage.node) -
           (x->passage.node < y->passage.node);
}

void context_settle(struct context *context)
{
    if (context->count > 2)
        qsort(context->sources + 1, context->count - 1,
              sizeof *context->sources, compare_places);
}

void context_close(struct context *context)
{
    for (size_t s = 0; s < context->count; s++)
        free_source(&context->sources[s]);
    free(context->sources);
    *context = (struct context){0};
}

/* ---- As others see them ---- */

static bool holds(const struct block *block, const struct passage *passage)
{
    struct span own = block->origin.span, wanted = passage->block.span;
    size_t size = passage->text.size;
    return own.from == wanted.from && own.to == wanted.to &&
           passage->at <= block->text.size &&
           size <= block->text.size - passage->at &&
           !memcmp(block->text.data + passage->at, passage->text.data, size);
}

/* The best passage's sentence in the blocks of its section. */
struct prompt_source context_prompt(const struct context_source *source)
{
    const struct passage *passage = &source->parts[source->best].passage;
    struct prompt_source ret = {.title = source->title,
                                .blocks = source->blocks,
                                .heads = source->heads,
                                .count = source->count};
    for (size_t b = 0; b < source->count; b++) {
        const struct block *block = &source->blocks[b];
        if (source->owners[b] != source->best || !holds(block, passage))
            continue;
        ret.block = b;
        ret.from = passage->at;
        ret.to = ret.from + passage->text.size;
        break;
    }
    return ret;
}

const struct context_part *context_owner(const struct context_source *source,
                                         const struct block *block)
{
    return &source->parts[source->owners[block - source->blocks]];
}
