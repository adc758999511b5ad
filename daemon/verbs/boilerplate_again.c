#include "daemon/verbs/boilerplate_again.h"

#include <stdlib.h>

#include "base/file.h"
#include "daemon/answer/quote.h"
#include "indexer/index.h"

static void add(struct boilerplate *boilerplate, const struct block *block,
                struct slice reason)
{
    MEM_RESERVE(boilerplate->texts, &boilerplate->capacity,
                boilerplate->count + 1);
    boilerplate->texts[boilerplate->count++] =
        (struct boilerplate_text){reason, block->text, block->origin.span};
}

static void add_chrome(struct boilerplate *boilerplate, uint32_t source)
{
    const struct node *node = &boilerplate->chrome->nodes[source];
    for (uint32_t i = 0; i < node->block_count; i++)
        add(boilerplate, &node->blocks[i], node->blocks[i].info);
}

/* Blocks of the file that the outline leaves out. */
static void add_repeated(struct boilerplate *boilerplate,
                         const struct node *outlined)
{
    const struct node *node =
        &boilerplate->content->nodes[outlined->source_node];
    for (uint32_t i = 0; i < outlined->dropped_count; i++)
        if (outlined->boilerplate[i] < node->block_count)
            add(boilerplate, &node->blocks[outlined->boilerplate[i]],
                slice_of("repeated"));
}

/* A banner above the page's only section. */
static void add_banner(struct boilerplate *boilerplate, uint32_t source)
{
    const struct node *node = &boilerplate->content->nodes[source];
    for (uint32_t i = 0; i < node->block_count; i++)
        add(boilerplate, &node->blocks[i], slice_of("repeated"));
}

static bool heads_page(const struct tree *outline, uint32_t node)
{
    uint32_t parent = outline->nodes[node].parent;
    return parent == TREE_NONE || outline->nodes[parent].source_tree !=
                                      outline->nodes[node].source_tree;
}

static void add_page(struct boilerplate *boilerplate,
                     const struct tree *outline, uint32_t top)
{
    const struct node *nodes = outline->nodes;
    for (uint32_t n = 0; n < boilerplate->chrome->count; n++)
        add_chrome(boilerplate, n);
    for (uint32_t n = 0; n < nodes[top].source_node; n++)
        add_banner(boilerplate, n);
    for (uint32_t n = top; n < nodes[top].end; n++)
        if (nodes[n].source_tree == nodes[top].source_tree &&
            nodes[n].source_node < boilerplate->content->count)
            add_repeated(boilerplate, &nodes[n]);
}

static int by_place(const void *a, const void *b)
{
    const struct boilerplate_text *x = a, *y = b;
    if (x->span.from != y->span.from)
        return x->span.from < y->span.from ? -1 : 1;
    return (x->span.to > y->span.to) - (x->span.to < y->span.to);
}

static int read_file(const struct call *call, const struct view *view,
                     uint32_t file, struct boilerplate *ret, struct err *err)
{
    struct buf path = {0}, bytes = {0};
    struct source_root root = index_root(&view->manual);
    file_join(&path, root.path, view->outline->files[file].data);
    enum parser_format format = source_format(path.data);
    int code = 0;
    if (!quote_is_fresh(view, file))
        code = err_set(err, ERR_STALE,
                       "%s is not as it was indexed, so what was dropped of "
                       "it cannot be told: lectern update",
                       path.data);
    if (!code)
        code = source_read(&root, path.data, &bytes, err);
    if (!code)
        code = source_unpack(path.data, &bytes, err);
    if (!code)
        code = parser_boilerplate(call->parser, buf_slice(&bytes), format,
                                  &ret->chrome, err);
    if (!code)
        code = parser_parse(call->parser, buf_slice(&bytes), format, NULL,
                            &ret->content, err);
    buf_free(&bytes);
    buf_free(&path);
    return code;
}

int boilerplate_read(const struct call *call, const struct view *view,
                     uint32_t node, struct boilerplate *ret, struct err *err)
{
    const struct tree *outline = view->outline;
    const struct node *n = &outline->nodes[node];
    *ret = (struct boilerplate){0};
    if (n->source_tree == TREE_NONE || n->source_tree >= outline->file_count)
        return 0;
    if (source_format(outline->files[n->source_tree].data) == PARSER_LATEX)
        return 0;
    struct boilerplate boilerplate = {0};
    int code = read_file(call, view, n->source_tree, &boilerplate, err);
    if (!code && (n->source_node >= boilerplate.chrome->count ||
                  n->source_node >= boilerplate.content->count))
        code = err_set(err, ERR_STALE,
                       "the file is read otherwise than when it was indexed: "
                       "lectern update --force");
    if (code) {
        boilerplate_free(&boilerplate);
        return code;
    }
    if (heads_page(outline, node)) {
        add_page(&boilerplate, outline, node);
    } else {
        add_chrome(&boilerplate, n->source_node);
        add_repeated(&boilerplate, n);
    }
    if (boilerplate.count)
        qsort(boilerplate.texts, boilerplate.count, sizeof *boilerplate.texts,
              by_place);
    *ret = boilerplate;
    return 0;
}

void boilerplate_free(struct boilerplate *boilerplate)
{
    tree_free(boilerplate->chrome);
    tree_free(boilerplate->content);
    free(boilerplate->texts);
    *boilerplate = (struct boilerplate){0};
}
