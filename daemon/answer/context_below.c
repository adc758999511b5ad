/* A whole sub-tree as the context of an answer, in the manual's order. */
#include <stdlib.h>

#include "base/mem.h"
#include "daemon/answer/context.h"

/* One section, whole; its window begins with its first block. */
static int take_section(const struct snapshot *snapshot,
                        const struct view *view, uint32_t node,
                        struct context_source *source, struct err *err)
{
    source->parts = mem_alloc(sizeof *source->parts);
    struct context_part *part = source->parts;
    part->passage = (struct passage){.view = view, .node = node};
    int code = content_open(snapshot, view, node, &part->content, err);
    if (code)
        return code;
    const struct node *content = part->content.node;
    part->passage.encoding = part->content.page->encoding;
    source->part_count = 1;
    source->title = view->outline->nodes[node].title;
    source->count = content->block_count;
    source->blocks = mem_alloc((source->count + 1) * sizeof *source->blocks);
    source->heads = mem_alloc((source->count + 1) * sizeof *source->heads);
    source->owners = mem_alloc((source->count + 1) * sizeof *source->owners);
    for (size_t b = 0; b < source->count; b++)
        source->blocks[b] = content->blocks[b];
    return 0;
}

int context_below(const struct snapshot *snapshot, const struct view *view,
                  uint32_t node, size_t tokens, struct context *ret,
                  struct err *err)
{
    struct context context = {0};
    const struct node *nodes = view->outline->nodes;
    size_t capacity = 0, words = 0;
    int code = 0;
    for (uint32_t n = node; n < nodes[node].end && !code; n++) {
        if (!nodes[n].words)
            continue;
        words += nodes[n].words;
        if (words > tokens)
            code = err_set(
                err, ERR_LIMIT,
                "what is below %.*s has more than %zu words, and "
                "%zu tokens may be read: name a smaller part, or "
                "more tokens",
                (int)(nodes[node].title.size < 80 ? nodes[node].title.size
                                                  : 80),
                nodes[node].title.data, words - nodes[n].words, tokens);
        MEM_RESERVE(context.sources, &capacity, context.count + 1);
        context.sources[context.count] = (struct context_source){0};
        if (!code)
            code = take_section(snapshot, view, n,
                                &context.sources[context.count++], err);
    }
    if (!code && !context.count)
        code = err_set(err, ERR_NOT_FOUND, "nothing is written below it");
    if (code)
        context_close(&context);
    else
        *ret = context;
    return code;
}
