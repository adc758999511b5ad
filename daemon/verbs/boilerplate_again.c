#include "daemon/verbs/boilerplate_again.h"

#include <stdlib.h>

#include "base/file.h"
#include "daemon/answer/quote.h"
#include "indexer/index.h"

static void add(struct dropped *dropped, const struct block *block,
                struct slice reason)
{
    void *texts = dropped->texts;
    mem_reserve(&texts, &dropped->capacity, dropped->count + 1,
                sizeof *dropped->texts);
    dropped->texts = texts;
    dropped->texts[dropped->count++] =
        (struct dropped_text){reason, block->text, block->origin.span};
}

static void add_chrome(struct dropped *dropped, uint32_t source)
{
    const struct node *node = &dropped->chrome->nodes[source];
    for (uint32_t i = 0; i < node->block_count; i++)
        add(dropped, &node->blocks[i], node->blocks[i].info);
}

/* Blocks of the file that the outline leaves out. */
static void add_repeated(struct dropped *dropped, const struct node *outlined)
{
    const struct node *node = &dropped->content->nodes[outlined->source_node];
    for (uint32_t i = 0; i < outlined->dropped_count; i++)
        if (outlined->dropped[i] < node->block_count)
            add(dropped, &node->blocks[outlined->dropped[i]],
                slice_of("repeated"));
}

/* A banner above the page's only section. */
static void add_banner(struct dropped *dropped, uint32_t source)
{
    const struct node *node = &dropped->content->nodes[source];
    for (uint32_t i = 0; i < node->block_count; i++)
        add(dropped, &node->blocks[i], slice_of("repeated"));
}

static bool heads_page(const struct tree *outline, uint32_t node)
{
    uint32_t parent = outline->nodes[node].parent;
    return parent == TREE_NONE || outline->nodes[parent].source_tree !=
                                      outline->nodes[node].source_tree;
}

static void add_page(struct dropped *dropped, const struct tree *outline,
                     uint32_t top)
{
    const struct node *nodes = outline->nodes;
    for (uint32_t n = 0; n < dropped->chrome->count; n++)
        add_chrome(dropped, n);
    for (uint32_t n = 0; n < nodes[top].source_node; n++)
        add_banner(dropped, n);
    for (uint32_t n = top; n < nodes[top].end; n++)
        if (nodes[n].source_tree == nodes[top].source_tree &&
            nodes[n].source_node < dropped->content->count)
            add_repeated(dropped, &nodes[n]);
}

static int by_place(const void *a, const void *b)
{
    const struct dropped_text *x = a, *y = b;
    if (x->span.from != y->span.from)
        return x->span.from < y->span.from ? -1 : 1;
    return (x->span.to > y->span.to) - (x->span.to < y->span.to);
}

static int read_file(const struct call *call, const struct volume *volume,
                     uint32_t file, struct dropped *ret, struct err *err)
{
    struct buf path = {0}, bytes = {0};
    struct source_root root = index_root(&volume->manual);
    file_join(&path, root.path, volume->outline->files[file].data);
    enum parser_format format = source_format(path.data);
    int code = 0;
    if (!quote_is_fresh(volume, file))
        code = err_set(err, ERR_STALE,
                       "%s is not as it was indexed, so what was dropped of "
                       "it cannot be told: lectern update",
                       path.data);
    if (!code)
        code = source_read(&root, path.data, &bytes, err);
    if (!code)
        code = source_unpack(path.data, &bytes, err);
    if (!code)
        code = parser_dropped(call->parser, buf_slice(&bytes), format,
                              &ret->chrome, err);
    if (!code)
        code = parser_parse(call->parser, buf_slice(&bytes), format, NULL,
                            &ret->content, err);
    buf_free(&bytes);
    buf_free(&path);
    return code;
}

int dropped_read(const struct call *call, const struct volume *volume,
                 uint32_t node, struct dropped *ret, struct err *err)
{
    const struct tree *outline = volume->outline;
    const struct node *n = &outline->nodes[node];
    *ret = (struct dropped){0};
    if (n->source_tree == TREE_NONE || n->source_tree >= outline->file_count)
        return 0;
    if (source_format(outline->files[n->source_tree].data) == PARSER_LATEX)
        return 0;
    struct dropped dropped = {0};
    int code = read_file(call, volume, n->source_tree, &dropped, err);
    if (!code && (n->source_node >= dropped.chrome->count ||
                  n->source_node >= dropped.content->count))
        code = err_set(err, ERR_STALE,
                       "the file is read otherwise than when it was indexed: "
                       "lectern update --force");
    if (code) {
        dropped_free(&dropped);
        return code;
    }
    if (heads_page(outline, node)) {
        add_page(&dropped, outline, node);
    } else {
        add_chrome(&dropped, n->source_node);
        add_repeated(&dropped, n);
    }
    if (dropped.count)
        qsort(dropped.texts, dropped.count, sizeof *dropped.texts, by_place);
    *ret = dropped;
    return 0;
}

void dropped_free(struct dropped *dropped)
{
    tree_free(dropped->chrome);
    tree_free(dropped->content);
    free(dropped->texts);
    *dropped = (struct dropped){0};
}
