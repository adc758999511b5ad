#include "tests/unit/support/unit.h"

#include <string.h>

#include "tree/tree.h"

enum { SEEDS = 200 };

static struct slice random_text(uint64_t *seed, char *room, uint32_t max)
{
    uint32_t size = unit_below(seed, max);
    for (uint32_t i = 0; i < size; i++)
        room[i] = (char)unit_below(seed, 256);
    return (struct slice){room, size};
}

static struct origin random_origin(uint64_t *seed, uint32_t files)
{
    uint64_t from = unit_random(seed) >> (1 + unit_below(seed, 60));
    uint64_t size = unit_below(seed, 100000);
    if (from > (uint64_t)1 << 62)
        from >>= 2;
    return (struct origin){unit_below(seed, files), {from, from + size}};
}

static void add_content(struct tree *tree, uint32_t node, uint64_t *seed)
{
    char a[40], b[40];
    for (uint32_t n = unit_below(seed, 4); n > 0; n--)
        tree_add_block(tree, node, (int)unit_below(seed, BLOCK_KINDS),
                       random_text(seed, a, 40), random_text(seed, b, 8),
                       random_origin(seed, tree->file_count));
    for (uint32_t n = unit_below(seed, 3); n > 0; n--)
        tree_add_ref(tree, node, random_text(seed, a, 20),
                     random_text(seed, b, 20));
    for (uint32_t n = unit_below(seed, 3); n > 0; n--)
        tree_add_anchor(tree, node, random_text(seed, a, 10));
    for (uint32_t n = unit_below(seed, 3); n > 0; n--)
        tree_add_origin(tree, node, random_origin(seed, tree->file_count));
}

static void add_links(struct tree *tree, uint64_t *seed)
{
    char room[20];
    struct page_link links[5];
    uint32_t count = unit_below(seed, 6);
    for (uint32_t i = 0; i < count; i++)
        links[i] = (struct page_link){
            tree_copy_text(tree, random_text(seed, room, 20)),
            unit_below(seed, 9),
            tree_copy_text(tree, random_text(seed, room, 20))};
    tree->page.contents = (int)unit_below(seed, CONTENTS_KINDS);
    tree->page.links = tree_copy_links(tree, links, count);
    tree->page.link_count = count;
}

/* A random tree, not sealed. */
static void add_reasons(struct tree *tree, uint64_t *seed)
{
    tree->has_aliases = unit_below(seed, 2);
    tree->excluded = arena_alloc(&tree->arena, tree->file_count);
    for (uint32_t f = 0; f < tree->file_count; f++)
        tree->excluded[f] = (uint8_t)unit_below(seed, EXCLUDED_KINDS);
}

static struct tree *random_tree(uint64_t seed, bool outline)
{
    char room[40];
    struct tree *tree = tree_new(outline);
    for (uint32_t n = 1 + unit_below(&seed, 3); n > 0; n--)
        tree_add_file(tree, random_text(&seed, room, 30));
    tree->page.role = (int)unit_below(&seed, 4);
    tree->page.encoding = (int)unit_below(&seed, ENCODINGS);
    tree->page.up = tree_copy_text(tree, random_text(&seed, room, 20));
    tree->page.trail = unit_below(&seed, 2);
    if (unit_below(&seed, 2)) {
        tree->page.above = tree_copy_text(tree, random_text(&seed, room, 20));
        tree->page.home = tree_copy_text(tree, random_text(&seed, room, 5));
    }
    add_links(tree, &seed);
    if (outline)
        add_reasons(tree, &seed);
    uint32_t count = 1 + unit_below(&seed, 60);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t parent = n ? n - 1 : (uint32_t)TREE_NONE;
        while (n && tree->nodes[parent].parent != TREE_NONE &&
               unit_below(&seed, 2))
            parent = tree->nodes[parent].parent;
        char anchor[10];
        struct slice title = random_text(&seed, room, 40);
        tree_add_node(tree, parent, (int)unit_below(&seed, 8), title,
                      random_text(&seed, anchor, 10));
        tree->nodes[n].entry = unit_below(&seed, 2);
        add_content(tree, n, &seed);
        if (outline) {
            struct node *node = &tree->nodes[n];
            node->id = unit_random(&seed);
            node->own.low = unit_random(&seed);
            node->words = unit_below(&seed, 1000);
            node->source_node = unit_below(&seed, 1000);
            node->dropped_count = unit_below(&seed, 3);
            node->boilerplate = arena_alloc(&tree->arena, 2 * sizeof(uint32_t));
            node->boilerplate[0] = unit_below(&seed, 9);
            node->boilerplate[1] = 9 + unit_below(&seed, 9);
            if (unit_below(&seed, 2))
                node->source_tree = unit_below(&seed, 1000);
            node->alias_count = unit_below(&seed, 3);
            node->aliases = arena_alloc(&tree->arena, 2 * sizeof title);
            node->aliases[0] = node->title;
            node->aliases[1] = node->anchor;
        }
    }
    return tree;
}

static void assert_same_text(struct slice a, struct slice b)
{
    assert_true(slice_equal(a, b));
}

static void assert_same_origin(struct origin a, struct origin b)
{
    assert_int_equal(a.file, b.file);
    assert_true(a.span.from == b.span.from && a.span.to == b.span.to);
}

static void assert_same_node(const struct node *a, const struct node *b)
{
    assert_int_equal(a->parent, b->parent);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->height, b->height);
    assert_int_equal(a->level, b->level);
    assert_int_equal(a->entry, b->entry);
    assert_true(a->id == b->id && a->words == b->words);
    assert_int_equal(a->source_tree, b->source_tree);
    assert_int_equal(a->source_node, b->source_node);
    assert_same_text(a->title, b->title);
    assert_same_text(a->anchor, b->anchor);
    assert_true(hash_equal(a->own, b->own));
    assert_true(hash_equal(a->merkle, b->merkle));
    assert_int_equal(a->dropped_count, b->dropped_count);
    for (uint32_t i = 0; i < a->dropped_count; i++)
        assert_int_equal(a->boilerplate[i], b->boilerplate[i]);
    assert_int_equal(a->alias_count, b->alias_count);
    for (uint32_t i = 0; i < a->alias_count; i++)
        assert_same_text(a->aliases[i], b->aliases[i]);
    assert_int_equal(a->anchor_count, b->anchor_count);
    for (uint32_t i = 0; i < a->anchor_count; i++)
        assert_same_text(a->anchors[i], b->anchors[i]);
    assert_int_equal(a->origin_count, b->origin_count);
    for (uint32_t i = 0; i < a->origin_count; i++)
        assert_same_origin(a->origins[i], b->origins[i]);
    assert_int_equal(a->ref_count, b->ref_count);
    for (uint32_t i = 0; i < a->ref_count; i++) {
        assert_same_text(a->refs[i].text, b->refs[i].text);
        assert_same_text(a->refs[i].url, b->refs[i].url);
    }
    assert_int_equal(a->block_count, b->block_count);
    for (uint32_t i = 0; i < a->block_count; i++) {
        assert_int_equal(a->blocks[i].kind, b->blocks[i].kind);
        assert_same_text(a->blocks[i].text, b->blocks[i].text);
        assert_same_text(a->blocks[i].info, b->blocks[i].info);
        assert_same_origin(a->blocks[i].origin, b->blocks[i].origin);
    }
}

static void encoding_is_the_identity(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct tree *tree = random_tree(seed, seed & 1), *again;
        assert_int_equal(tree_seal(tree, NULL), 0);
        struct buf bytes = {0}, twice = {0};
        tree_encode(tree, &bytes);
        assert_int_equal(tree_decode(bytes.data, bytes.size, &again, NULL), 0);
        assert_int_equal(tree->count, again->count);
        assert_int_equal(tree->file_count, again->file_count);
        assert_int_equal(tree->page.role, again->page.role);
        assert_int_equal(tree->page.encoding, again->page.encoding);
        assert_same_text(tree->page.up, again->page.up);
        assert_int_equal(tree->page.trail, again->page.trail);
        assert_same_text(tree->page.above, again->page.above);
        assert_same_text(tree->page.home, again->page.home);
        assert_int_equal(tree->page.contents, again->page.contents);
        assert_int_equal(tree->page.link_count, again->page.link_count);
        for (uint32_t i = 0; i < tree->page.link_count; i++) {
            assert_same_text(tree->page.links[i].url, again->page.links[i].url);
            assert_int_equal(tree->page.links[i].depth,
                             again->page.links[i].depth);
            assert_same_text(tree->page.links[i].title,
                             again->page.links[i].title);
        }
        assert_int_equal(tree->page.alias_count, again->page.alias_count);
        for (uint32_t i = 0; i < tree->page.alias_count; i++) {
            assert_same_text(tree->page.aliases[i].text,
                             again->page.aliases[i].text);
            assert_same_text(tree->page.aliases[i].url,
                             again->page.aliases[i].url);
        }
        assert_int_equal(tree->has_aliases, again->has_aliases);
        for (uint32_t f = 0; f < tree->file_count; f++) {
            assert_same_text(tree->files[f], again->files[f]);
            if (tree->outline)
                assert_int_equal(tree->excluded[f], again->excluded[f]);
        }
        for (uint32_t n = 0; n < tree->count; n++)
            assert_same_node(&tree->nodes[n], &again->nodes[n]);
        tree_encode(again, &twice);
        assert_true(slice_equal(buf_slice(&bytes), buf_slice(&twice)));
        buf_free(&bytes);
        buf_free(&twice);
        tree_free(tree);
        tree_free(again);
    }
}

static void an_edit_changes_the_path_to_the_root(void **state)
{
    (void)state;
    int edits = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct tree *a = random_tree(seed, false),
                    *b = random_tree(seed, false);
        uint64_t choice = seed;
        uint32_t edited = unit_below(&choice, a->count);
        tree_add_block(a, edited, BLOCK_PARAGRAPH, slice_of("one"),
                       slice_of(""), (struct origin){0, {1, 2}});
        tree_add_block(b, edited, BLOCK_PARAGRAPH, slice_of("two"),
                       slice_of(""), (struct origin){0, {1, 2}});
        assert_int_equal(tree_seal(a, NULL), 0);
        assert_int_equal(tree_seal(b, NULL), 0);
        for (uint32_t n = 0; n < a->count; n++) {
            bool on_path = n <= edited && edited < a->nodes[n].end;
            assert_int_equal(hash_equal(a->nodes[n].own, b->nodes[n].own),
                             n != edited);
            assert_int_equal(hash_equal(a->nodes[n].merkle, b->nodes[n].merkle),
                             !on_path);
            edits += on_path;
        }
        tree_free(a);
        tree_free(b);
    }
    assert_true(edits > SEEDS);
}

static void origins_do_not_change_hashes(void **state)
{
    (void)state;
    struct tree *trees[2];
    for (int i = 0; i < 2; i++) {
        trees[i] = tree_new(false);
        tree_add_file(trees[i], slice_of(""));
        tree_add_node(trees[i], TREE_NONE, 1, slice_of("T"), slice_of("a"));
        tree_add_block(trees[i], 0, BLOCK_CODE, slice_of("x"), slice_of("c"),
                       (struct origin){0, {(uint64_t)i, 10}});
        assert_int_equal(tree_seal(trees[i], NULL), 0);
    }
    assert_true(
        hash_equal(trees[0]->nodes[0].merkle, trees[1]->nodes[0].merkle));
    tree_free(trees[0]);
    tree_free(trees[1]);
}

/* An outline as version 2 wrote it: stores hold such until their next update. */
static void the_version_before_is_read(void **state)
{
    static const unsigned char before[] =
        "LT\2\1"
        "\1\1f"                    /* files */
        "\1\1\1t\1u\0\0"           /* page */
        "\2"                       /* nodes */
        "\0\0\1m\0\0\0\0\0"        /* the root */
        "\7\0\0\0"                 /* outline: id 7, no source */
        "0123456789abcdef"         /* own */
        "\1\2\1c\1a\0\1\0\6\4\0\0" /* a child, from 3 to 7 of the file */
        "\11\1\2\3"
        "fedcba9876543210";
    struct tree *tree;
    (void)state;
    assert_int_equal(tree_decode(before, sizeof before - 1, &tree, NULL), 0);
    assert_int_equal(tree->count, 2);
    assert_int_equal(tree->page.encoding, ENCODING_WINDOWS_1252);
    assert_int_equal(tree->page.link_count, 0);
    assert_int_equal(tree->nodes[0].id, 7);
    const struct node *child = &tree->nodes[1];
    assert_true(slice_is(child->title, "c") && slice_is(child->anchor, "a"));
    assert_int_equal(child->level, 2);
    assert_false(child->entry);
    assert_int_equal(child->origins[0].span.to, 7);
    assert_int_equal(child->id, 9);
    assert_int_equal(child->source_tree, 0);
    assert_int_equal(child->source_node, 2);
    assert_int_equal(child->words, 3);
    assert_int_equal(child->dropped_count, 0);
    assert_int_equal(child->alias_count, 0);
    assert_int_equal(tree->excluded[0], EXCLUDED_NOT);
    tree_free(tree);
}

/* As version 3 wrote it: links without titles, dropped blocks, no aliases. */
static void the_version_of_links_is_read(void **state)
{
    static const unsigned char before[] =
        "LT\3\1"
        "\1\1f"              /* files */
        "\1\1\1t\1u\0\0"     /* page */
        "\2\2\1x\1\1y\0"     /* its list of contents */
        "\2"                 /* nodes */
        "\0\0\1m\0\0\0\0\0"  /* the root */
        "\7\0\0\0"           /* outline: id 7, no source */
        "0123456789abcdef\0" /* own; nothing dropped */
        "\1\2\1c\1a\0\1\0\6\4\0\0"
        "\11\1\2\3"
        "fedcba9876543210"
        "\2\1\3"; /* blocks 1 and 4 are dropped */
    struct tree *tree;
    (void)state;
    assert_int_equal(tree_decode(before, sizeof before - 1, &tree, NULL), 0);
    assert_int_equal(tree->page.contents, 2);
    assert_int_equal(tree->page.link_count, 2);
    assert_true(slice_is(tree->page.links[0].url, "x"));
    assert_int_equal(tree->page.links[0].depth, 1);
    assert_int_equal(tree->page.links[1].title.size, 0);
    assert_int_equal(tree->page.alias_count, 0);
    assert_false(tree->has_aliases);
    assert_int_equal(tree->excluded[0], EXCLUDED_NOT);
    const struct node *child = &tree->nodes[1];
    assert_int_equal(child->dropped_count, 2);
    assert_int_equal(child->boilerplate[1], 4);
    assert_int_equal(child->alias_count, 0);
    tree_free(tree);
}

static void damaged_encodings_are_refused(void **state)
{
    (void)state;
    uint64_t seed = 42;
    struct tree *tree = random_tree(7, true), *again;
    assert_int_equal(tree_seal(tree, NULL), 0);
    struct buf bytes = {0};
    tree_encode(tree, &bytes);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(tree_decode(bytes.data, size, &again, NULL),
                         ERR_FORMAT);
    /* Any other damage is refused or gives some tree, but nothing worse. */
    for (int round = 0; round < 20000; round++) {
        size_t at = unit_below(&seed, (uint32_t)bytes.size);
        char before = bytes.data[at];
        bytes.data[at] = (char)unit_below(&seed, 256);
        if (!tree_decode(bytes.data, bytes.size, &again, NULL))
            tree_free(again);
        bytes.data[at] = before;
    }
    buf_free(&bytes);
    tree_free(tree);
}

static void what_is_believed_has_limits(void **state)
{
    (void)state;
    struct tree *tree = random_tree(3, false), *again;
    assert_int_equal(tree_seal(tree, NULL), 0);
    struct buf bytes = {0};
    tree_encode(tree, &bytes);
    struct tree_limits limits = {tree->count, (size_t)tree->file_count +
                                                  tree->page.link_count};
    for (uint32_t n = 0; n < tree->count; n++) {
        const struct node *node = &tree->nodes[n];
        limits.items += (size_t)node->anchor_count + node->origin_count +
                        node->block_count + node->ref_count;
    }
    for (int less = 0; less < 3; less++) {
        struct tree_limits now = {limits.nodes - (less == 1),
                                  limits.items - (less == 2)};
        int code =
            tree_decode_within(bytes.data, bytes.size, &now, &again, NULL);
        assert_int_equal(code, less ? ERR_FORMAT : 0);
        if (!code)
            tree_free(again);
    }
    buf_free(&bytes);
    tree_free(tree);
}

static void walks_meet_children_first(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct tree *tree = random_tree(seed, false);
        assert_int_equal(tree_seal(tree, NULL), 0);
        uint32_t count = tree->count, heights = tree->nodes[0].height + 1;
        uint32_t *order = mem_alloc(count * sizeof *order);
        uint32_t *starts = mem_alloc((heights + 1) * sizeof *starts);
        tree_by_height(tree, order, starts);
        assert_int_equal(starts[heights], count);
        for (uint32_t h = 0; h < heights; h++)
            for (uint32_t i = starts[h]; i < starts[h + 1]; i++)
                assert_int_equal(tree->nodes[order[i]].height, h);
        for (uint32_t n = 1; n < count; n++)
            assert_true(tree->nodes[n].height <
                        tree->nodes[tree->nodes[n].parent].height);
        free(order);
        free(starts);
        tree_free(tree);
    }
}

static void wrong_order_is_refused(void **state)
{
    (void)state;
    struct err err;
    struct tree *tree = tree_new(false);
    assert_int_equal(tree_seal(tree, &err), ERR_FORMAT);
    struct slice none = {"", 0};
    tree_add_node(tree, TREE_NONE, 0, none, none);
    tree_add_node(tree, 0, 0, none, none);
    tree_add_node(tree, 0, 0, none, none);
    tree_add_node(tree, 1, 0, none, none); /* 1 is closed by now */
    assert_int_equal(tree_seal(tree, &err), ERR_FORMAT);
    tree_free(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoding_is_the_identity),
        cmocka_unit_test(an_edit_changes_the_path_to_the_root),
        cmocka_unit_test(origins_do_not_change_hashes),
        cmocka_unit_test(the_version_before_is_read),
        cmocka_unit_test(the_version_of_links_is_read),
        cmocka_unit_test(damaged_encodings_are_refused),
        cmocka_unit_test(what_is_believed_has_limits),
        cmocka_unit_test(walks_meet_children_first),
        cmocka_unit_test(wrong_order_is_refused),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
