/* What the parser makes of single files, before they are assembled.
 *
 *     trees LECTERN-PARSE [FILE...]
 *     trees LECTERN-PARSE --manual FOLDER [FILE...]
 *
 * In the second form files are relative to FOLDER, and LaTeX documents include
 * what they do in it.
 *
 * Prints one JSON object a line and file (without files: for each path on
 * standard input): "file" and either "failure", a sentence, or the page's
 * facts, "aliases" (the entries of an index) and "nodes" in pre-order, `parent` being an index among them (-1: the
 * root). */
#include <stdio.h>

#include "base/file.h"
#include "base/json.h"
#include "indexer/inputs.h"
#include "indexer/source.h"

static void put_span(struct json *json, const char *key, struct span span)
{
    json_key(json, key);
    json_begin(json, '[');
    json_int(json, (int64_t)span.from);
    json_int(json, (int64_t)span.to);
    json_end(json, ']');
}

static void put_blocks(struct json *json, const struct node *node)
{
    json_key(json, "blocks");
    json_begin(json, '[');
    for (uint32_t i = 0; i < node->block_count; i++) {
        const struct block *block = &node->blocks[i];
        json_begin(json, '{');
        json_field_text(json, "kind", block_kind_name(block->kind));
        json_field_string(json, "text", block->text);
        json_field_string(json, "info", block->info);
        json_field_int(json, "file", (int64_t)block->origin.file);
        put_span(json, "span", block->origin.span);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_links(struct json *json, const struct node *node)
{
    json_key(json, "anchors");
    json_begin(json, '[');
    for (uint32_t i = 0; i < node->anchor_count; i++)
        json_string(json, node->anchors[i]);
    json_end(json, ']');
    json_key(json, "refs");
    json_begin(json, '[');
    for (uint32_t i = 0; i < node->ref_count; i++) {
        json_begin(json, '{');
        json_field_string(json, "text", node->refs[i].text);
        json_field_string(json, "url", node->refs[i].url);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_aliases(struct json *json, const struct page *page)
{
    json_key(json, "aliases");
    json_begin(json, '[');
    for (uint32_t i = 0; i < page->alias_count; i++) {
        json_begin(json, '{');
        json_field_string(json, "text", page->aliases[i].text);
        json_field_string(json, "url", page->aliases[i].url);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_node(struct json *json, const struct node *node)
{
    json_begin(json, '{');
    json_field_int(json, "parent",
                   node->parent == TREE_NONE ? -1 : (int64_t)node->parent);
    json_field_int(json, "level", node->level);
    json_field_string(json, "title", node->title);
    json_field_string(json, "anchor", node->anchor);
    json_field_bool(json, "entry", node->entry);
    if (node->origin_count)
        put_span(json, "span", node->origins[0].span);
    put_blocks(json, node);
    put_links(json, node);
    json_end(json, '}');
}

static void put_tree(struct json *json, const struct tree *tree)
{
    static const char *const roles[] = {"content", "index", "redirect",
                                        "search"};
    const struct page *page = &tree->page;
    size_t known = sizeof roles / sizeof *roles;
    json_field_text(json, "role",
                    (size_t)page->role < known ? roles[page->role] : "other");
    json_field_text(json, "encoding", encoding_name(page->encoding));
    json_field_string(json, "title", page->title);
    json_field_string(json, "up", page->up);
    json_field_bool(json, "trail", page->trail);
    json_field_string(json, "above", page->above);
    json_field_string(json, "prev", page->prev);
    json_field_string(json, "next", page->next);
    put_aliases(json, page);
    json_key(json, "files");
    json_begin(json, '[');
    for (uint32_t f = 0; f < tree->file_count; f++)
        json_string(json, tree->files[f]);
    json_end(json, ']');
    json_key(json, "nodes");
    json_begin(json, '[');
    for (uint32_t n = 0; n < tree->count; n++)
        put_node(json, &tree->nodes[n]);
    json_end(json, ']');
}

/* What files are read from; `root` NULL: each by itself. */
struct manual {
    struct source_root root; /* path NULL: none */
    struct scan scan;
};

static int read_tree(struct parser *parser, const struct manual *manual,
                     const char *name, struct tree **ret_tree,
                     struct buf *reports, struct err *err)
{
    struct buf bytes = {0}, path = {0};
    struct inputs inputs = {
        .scan = &manual->scan, .root = &manual->root, .document = name};
    struct parser_inputs open = {&inputs, inputs_open, reports};
    if (manual->root.path)
        file_join(&path, manual->root.path, name);
    else
        buf_put_text(&path, name);
    int rc = source_read(NULL, path.data, &bytes, err);
    if (!rc)
        rc = source_unpack(path.data, &bytes, err);
    if (!rc)
        rc = parser_parse(parser, buf_slice(&bytes), source_format(name),
                          manual->root.path ? &open : NULL, ret_tree, err);
    buf_free(&inputs.record);
    inputs_free(&inputs);
    buf_free(&bytes);
    buf_free(&path);
    return rc;
}

static void print(struct parser *parser, const struct manual *manual,
                  const char *path)
{
    struct buf reports = {0};
    struct tree *tree = NULL;
    struct err err = {.position = -1};
    struct buf out = {0};
    struct json json = json_to(&out);
    json_begin(&json, '{');
    json_field_text(&json, "file", path);
    if (read_tree(parser, manual, path, &tree, &reports, &err))
        json_field_text(&json, "failure", err.message);
    else
        put_tree(&json, tree);
    json_field_string(&json, "reports", buf_slice(&reports));
    buf_free(&reports);
    json_end(&json, '}');
    puts(out.data);
    tree_free(tree);
    buf_free(&out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: trees LECTERN-PARSE [FILE...]\n", stderr);
        return 2;
    }
    struct parser_options options = {.program = argv[1]};
    struct parser *parser = parser_new(&options);
    struct manual manual = {0};
    struct err err = {.position = -1};
    char path[4096];
    int first = 2;
    if (argc > 3 && !strcmp(argv[2], "--manual")) {
        manual.root.path = argv[3];
        first = 4;
        if (scan_folder(&manual.root, "", &manual.scan, &err)) {
            fprintf(stderr, "trees: %s\n", err.message);
            return 1;
        }
    }
    for (int i = first; i < argc; i++)
        print(parser, &manual, argv[i]);
    while (argc == first && fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = '\0';
        print(parser, &manual, path);
        fflush(stdout);
    }
    scan_free(&manual.scan);
    parser_free(parser);
    return 0;
}
