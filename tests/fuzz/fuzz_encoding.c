/* Fuzz target: bytes as the making of a tree, of a file or an outline, whole or in
 * pieces.  What it holds is written as JSON before it is encoded and after it was
 * decoded: the same text. */
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_NODES = 24, MAX_ITEMS = 5, MAX_TEXT = 9 };

/* ---- Making ---- */

static struct slice some_text(struct tree *tree, struct choices *c)
{
    static const char *const parts[] = {"a",    "b ", "\n", "ä",
                                        "\x01", "😀",  "0",  ""};
    struct buf text = {0};
    for (uint32_t i = choose(c, MAX_TEXT); i; i--)
        buf_put_text(&text, parts[choose(c, 8)]);
    struct slice copy = tree_copy_text(tree, buf_slice(&text));
    buf_free(&text);
    return copy;
}

static struct origin some_origin(struct choices *c, uint32_t files)
{
    uint64_t from = choose(c, 70000);
    return (struct origin){choose(c, files), {from, from + choose(c, 300)}};
}

static void fill_node(struct tree *tree, uint32_t n, struct choices *c)
{
    for (uint32_t i = choose(c, MAX_ITEMS); i; i--)
        tree_add_anchor(tree, n, some_text(tree, c));
    for (uint32_t i = choose(c, MAX_ITEMS); i; i--)
        tree_add_origin(tree, n, some_origin(c, tree->file_count));
    for (uint32_t i = choose(c, MAX_ITEMS); i; i--) {
        struct slice text = some_text(tree, c), info = some_text(tree, c);
        tree_add_block(tree, n, (int)choose(c, BLOCK_KINDS), text, info,
                       some_origin(c, tree->file_count));
    }
    for (uint32_t i = choose(c, MAX_ITEMS); i; i--) {
        struct slice text = some_text(tree, c), url = some_text(tree, c);
        tree_add_ref(tree, n, text, url);
    }
}

static void fill_outline_node(struct node *node, struct choices *c)
{
    node->id = choose(c, 1 << 24);
    node->source_tree = choose(c, 2) ? 0 : TREE_NONE;
    node->source_node = node->source_tree == TREE_NONE ? 0 : choose(c, 300);
    node->words = choose(c, 300);
    node->own = hash_bytes(&node->id, sizeof node->id);
}

static uint32_t some_parent(const struct tree *tree, uint32_t last,
                            struct choices *c)
{
    for (uint32_t up = choose(c, 4); up && last; up--)
        last = tree->nodes[last].parent;
    return last;
}

static void fill_page(struct tree *tree, struct choices *c)
{
    struct page *page = &tree->page;
    struct page_link links[MAX_ITEMS] = {0};
    struct page_alias aliases[MAX_ITEMS] = {0};
    page->role = (int)choose(c, PAGE_MADE + 1);
    page->encoding = (int)choose(c, ENCODINGS);
    page->title = some_text(tree, c);
    page->up = some_text(tree, c);
    page->prev = some_text(tree, c);
    page->next = some_text(tree, c);
    page->contents = (int)choose(c, CONTENTS_KINDS);
    page->link_count = choose(c, MAX_ITEMS);
    for (uint32_t i = 0; i < page->link_count; i++)
        links[i] = (struct page_link){some_text(tree, c), choose(c, 9),
                                      some_text(tree, c)};
    page->links = tree_copy_links(tree, links, page->link_count);
    page->alias_count = choose(c, MAX_ITEMS);
    for (uint32_t i = 0; i < page->alias_count; i++)
        aliases[i] =
            (struct page_alias){some_text(tree, c), some_text(tree, c)};
    page->aliases = tree_copy_aliases(tree, aliases, page->alias_count);
}

static struct tree *make_tree(struct choices *c)
{
    struct tree *tree = tree_new(choose(c, 2));
    for (uint32_t i = 1 + choose(c, 3); i; i--)
        tree_add_file(tree, some_text(tree, c));
    uint32_t count = 1 + choose(c, MAX_NODES), last = TREE_NONE;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t parent = n ? some_parent(tree, last, c) : TREE_NONE;
        struct slice title = some_text(tree, c), anchor = some_text(tree, c);
        last = tree_add_node(tree, parent, (int)choose(c, 7), title, anchor);
        tree->nodes[n].entry = choose(c, 2);
        fill_node(tree, n, c);
        if (tree->outline)
            fill_outline_node(&tree->nodes[n], c);
    }
    fill_page(tree, c);
    CHECK(!tree_seal(tree, NULL));
    return tree;
}

/* ---- Writing it down ---- */

static void put_origins(struct json *json, const struct origin *origin)
{
    json_begin(json, '[');
    json_int(json, origin->file);
    json_int(json, (int64_t)origin->span.from);
    json_int(json, (int64_t)origin->span.to);
    json_end(json, ']');
}

static void put_pair(struct json *json, struct slice a, struct slice b)
{
    json_begin(json, '[');
    json_string(json, a);
    json_string(json, b);
    json_end(json, ']');
}

static void put_node(struct json *json, const struct tree *tree,
                     const struct node *node)
{
    json_begin(json, '[');
    json_int(json, node->parent);
    json_int(json, node->end);
    json_int(json, node->height);
    json_int(json, node->level);
    json_int(json, node->entry);
    put_pair(json, node->title, node->anchor);
    for (uint32_t i = 0; i < node->anchor_count; i++)
        json_string(json, node->anchors[i]);
    for (uint32_t i = 0; i < node->origin_count; i++)
        put_origins(json, &node->origins[i]);
    for (uint32_t i = 0; i < node->block_count; i++) {
        json_int(json, node->blocks[i].kind);
        put_pair(json, node->blocks[i].text, node->blocks[i].info);
        put_origins(json, &node->blocks[i].origin);
    }
    for (uint32_t i = 0; i < node->ref_count; i++)
        put_pair(json, node->refs[i].text, node->refs[i].url);
    json_int(json, (int64_t)(node->own.low ^ node->own.high));
    json_int(json, (int64_t)(node->merkle.low ^ node->merkle.high));
    if (tree->outline) {
        json_int(json, (int64_t)node->id);
        json_int(json, node->source_tree);
        json_int(json, node->source_node);
        json_int(json, node->words);
    }
    json_end(json, ']');
}

static void put_page(struct json *json, const struct page *page)
{
    json_int(json, page->role);
    json_int(json, page->encoding);
    put_pair(json, page->title, page->up);
    put_pair(json, page->prev, page->next);
    json_int(json, page->contents);
    for (uint32_t i = 0; i < page->link_count; i++) {
        put_pair(json, page->links[i].url, page->links[i].title);
        json_int(json, page->links[i].depth);
    }
    for (uint32_t i = 0; i < page->alias_count; i++)
        put_pair(json, page->aliases[i].text, page->aliases[i].url);
}

static struct buf write_down(const struct tree *tree)
{
    struct buf out = {0};
    struct json json = json_to(&out);
    json_begin(&json, '[');
    json_int(&json, tree->outline);
    for (uint32_t f = 0; f < tree->file_count; f++)
        json_string(&json, tree->files[f]);
    put_page(&json, &tree->page);
    for (uint32_t n = 0; n < tree->count; n++)
        put_node(&json, tree, &tree->nodes[n]);
    json_end(&json, ']');
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices choices = {data, size, 0};
    struct tree *tree = make_tree(&choices), *again = NULL;
    struct buf before = write_down(tree), encoded = {0};
    tree_encode(tree, &encoded);
    CHECK(!tree_decode(encoded.data, encoded.size, &again, NULL));
    struct buf after = write_down(again);
    CHECK(slice_equal(buf_slice(&before), buf_slice(&after)));
    buf_free(&before);
    buf_free(&after);
    buf_free(&encoded);
    tree_free(tree);
    tree_free(again);
    return 0;
}
