#include "tests/unit/support/toy.h"

#include <string.h>

#include "memory/embeddings/segment.h"

static const char *const words[] = {"a",
                                    "the",
                                    "index",
                                    "pg_stat_activity",
                                    "x.",
                                    "done.",
                                    "Really?",
                                    "caf\u00e9",
                                    "\u6f22\u5b57\u3002",
                                    "(see)",
                                    "a_very_long_identifier_of_some_kind",
                                    "no.)",
                                    "Then",
                                    "B-tree"};
enum { WORDS = sizeof words / sizeof words[0], NODES = 600 };

static void put_words(struct buf *text, uint64_t *seed, uint32_t max)
{
    for (uint32_t n = 1 + unit_below(seed, max); n > 0; n--)
        buf_printf(text, "%s%s", words[unit_below(seed, WORDS)],
                   n > 1 ? " " : "");
}

/* Code and tables have lines, some empty, some indented; prose has few. */
static void put_block(struct tree *tree, uint64_t *seed, struct buf *text)
{
    int kind = (int)unit_below(seed, BLOCK_KINDS);
    bool lines =
        kind == BLOCK_CODE || kind == BLOCK_TABLE || kind == BLOCK_LIST;
    buf_clear(text);
    for (uint32_t n = lines ? 1 + unit_below(seed, 12) : 1; n > 0; n--) {
        if (lines && unit_below(seed, 4) == 0)
            buf_put_text(text, "    ");
        if (!lines || unit_below(seed, 8))
            put_words(text, seed, unit_below(seed, 6) ? 15 : 80);
        if (n > 1)
            buf_put_byte(text, '\n');
    }
    tree_add_block(tree, 0, kind, buf_slice(text), slice_of(""),
                   (struct origin){0, {0, 1}});
}

static struct tree *random_node(uint64_t *seed)
{
    struct tree *tree = tree_new(false);
    struct buf text = {0};
    tree_add_file(tree, slice_of(""));
    if (unit_below(seed, 10))
        put_words(&text, seed, 8);
    tree_add_node(tree, TREE_NONE, 1, buf_slice(&text), slice_of(""));
    for (uint32_t n = unit_below(seed, 6); n > 0; n--)
        put_block(tree, seed, &text);
    buf_free(&text);
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

static size_t tokens_of(struct toy *toy, const char *text, size_t from,
                        size_t to)
{
    struct embed_ids ids = {0};
    toy_tokenize(toy, (struct slice){text + from, to - from}, &ids, NULL);
    free(ids.ids);
    return ids.count;
}

static bool is_blank(const char *text, size_t from, size_t to)
{
    while (from < to && (text[from] == ' ' || text[from] == '\n'))
        from++;
    return from == to;
}

/* White space around [from, to) apart. */
static bool is_cut_between(const struct segments *segments, const char *text,
                           size_t from, size_t to)
{
    while (from < to && is_blank(text, from, from + 1))
        from++;
    while (from < to && is_blank(text, to - 1, to))
        to--;
    for (size_t s = 0; s < segments->count; s++) {
        const struct segment *segment = &segments->items[s];
        if ((segment->from > from && segment->from < to) ||
            (segment->to > from && segment->to < to))
            return true;
    }
    return false;
}

static void check_cover(struct toy *toy, const struct segments *segments,
                        const struct buf *text, size_t max)
{
    size_t end = 0;
    for (size_t s = 0; s < segments->count; s++) {
        const struct segment *segment = &segments->items[s];
        size_t tokens = tokens_of(toy, text->data, segment->from, segment->to);
        assert_true(segment->from >= end && segment->to > segment->from);
        assert_true(is_blank(text->data, end, segment->from));
        assert_true(((unsigned char)text->data[segment->from] & 0xC0) != 0x80);
        assert_int_equal(segment->tokens, tokens < max ? tokens : max);
        assert_true(
            hash_equal(segment->text, hash_bytes(text->data + segment->from,
                                                 segment->to - segment->from)));
        end = segment->to;
    }
    assert_true(is_blank(text->data, end, text->size));
}

/* No line of [from, to) is cut; ret: the longest of them. */
static size_t check_lines(struct toy *toy, const struct segments *segments,
                          const char *text, size_t from, size_t to)
{
    size_t longest = 0;
    while (from < to) {
        const char *newline = memchr(text + from, '\n', to - from);
        size_t end = newline ? (size_t)(newline - text) : to;
        size_t tokens = tokens_of(toy, text, from, end);
        assert_false(is_cut_between(segments, text, from, end));
        longest = tokens > longest ? tokens : longest;
        from = end + 1;
    }
    return longest;
}

static void check_blocks(struct toy *toy, const struct segments *segments,
                         const struct node *node, const char *text, size_t max)
{
    size_t from = 0, at = node->title.size + (node->title.size > 0),
           longest = 0;
    for (uint32_t b = 0; b < node->block_count; b++) {
        const struct block *block = &node->blocks[b];
        size_t to = at + block->text.size;
        if (tokens_of(toy, text, from, to) <= max)
            assert_false(is_cut_between(segments, text, from, to));
        if (block->kind == BLOCK_CODE || block->kind == BLOCK_TABLE) {
            size_t line = check_lines(toy, segments, text, at, to);
            longest = line > longest ? line : longest;
        }
        from = at = to + 2;
    }
    for (size_t s = 0; s < segments->count; s++) {
        const struct segment *segment = &segments->items[s];
        size_t tokens = tokens_of(toy, text, segment->from, segment->to);
        if (tokens > max &&
            memchr(text + segment->from, '\n', segment->to - segment->from))
            fail_msg("%zu tokens in several lines", tokens);
        if (tokens > max && tokens > longest)
            fail_msg("%zu tokens that are no line of code", tokens);
    }
}

static void check_same(const struct segments *a, const struct segments *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t s = 0; s < a->count; s++) {
        assert_int_equal(a->items[s].from, b->items[s].from);
        assert_int_equal(a->items[s].to, b->items[s].to);
        assert_int_equal(a->items[s].tokens, b->items[s].tokens);
        assert_true(hash_equal(a->items[s].text, b->items[s].text));
    }
}

static void segments_are_as_promised(void **state)
{
    (void)state;
    static const size_t mosts[] = {5, 16, 40, 256};
    struct toy toy;
    uint64_t seed = 77;
    size_t cut = 0;
    toy_open(&toy, false);
    for (int n = 0; n < NODES; n++) {
        struct tree *tree = random_node(&seed);
        const struct node *node = &tree->nodes[0];
        struct buf text = {0}, bytes = {0};
        size_t max = mosts[n % 4];
        struct segments segments, again;
        segment_text(node, &text);
        assert_int_equal(
            segment_node(node, max, false, &toy.embedder, &segments, NULL), 0);
        check_cover(&toy, &segments, &text, max);
        check_blocks(&toy, &segments, node, text.data, max);
        cut += segments.count > 1;
        assert_int_equal(
            segment_node(node, max, false, &toy.embedder, &again, NULL), 0);
        check_same(&segments, &again);
        segments_free(&again);
        segments_encode(&segments, &bytes);
        assert_int_equal(segments_decode(buf_slice(&bytes), &again, NULL), 0);
        check_same(&segments, &again);
        segments_free(&again);
        segments_free(&segments);
        buf_free(&text);
        buf_free(&bytes);
        tree_free(tree);
    }
    assert_true(cut > NODES / 3);
}

/* Of a tokenizer that goes by words the same segments come of fewer texts. */
static void words_are_counted_once(void **state)
{
    (void)state;
    static const size_t mosts[] = {5, 16, 40, 256};
    struct toy toy;
    uint64_t seed = 78;
    size_t all = 0, fewer = 0;
    toy_open(&toy, false);
    toy.facts.words = true;
    for (int n = 0; n < NODES; n++) {
        struct tree *tree = random_node(&seed);
        const struct node *node = &tree->nodes[0];
        struct segments segments, again;
        toy.tokenized = toy.bytes = 0;
        assert_int_equal(segment_node(node, mosts[n % 4], false, &toy.embedder,
                                      &segments, NULL),
                         0);
        all += toy.bytes;
        toy.tokenized = toy.bytes = 0;
        assert_int_equal(
            segment_node(node, mosts[n % 4], true, &toy.embedder, &again, NULL),
            0);
        fewer += toy.bytes;
        check_same(&segments, &again);
        segments_free(&segments);
        segments_free(&again);
        tree_free(tree);
    }
    assert_true(fewer < all * 3 / 4);
}

static struct tree *node_of(const char *title, int kind,
                            const char *const *blocks, size_t count)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    tree_add_node(tree, TREE_NONE, 1, slice_of(title), slice_of(""));
    for (size_t b = 0; b < count; b++)
        tree_add_block(tree, 0, kind, slice_of(blocks[b]), slice_of(""),
                       (struct origin){0, {0, 1}});
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

static void check_cut(const char *title, int kind, const char *const *blocks,
                      size_t count, size_t max, const char *const *want,
                      size_t want_count)
{
    struct toy toy;
    struct segments segments;
    struct buf text = {0};
    struct tree *tree = node_of(title, kind, blocks, count);
    toy_open(&toy, false);
    segment_text(&tree->nodes[0], &text);
    assert_int_equal(segment_node(&tree->nodes[0], max, false, &toy.embedder,
                                  &segments, NULL),
                     0);
    assert_int_equal(segments.count, want_count);
    for (size_t s = 0; s < want_count; s++) {
        struct slice got = {text.data + segments.items[s].from,
                            segments.items[s].to - segments.items[s].from};
        if (!slice_is(got, want[s]))
            fail_msg("segment %zu is \"%.*s\", not \"%s\"", s, (int)got.size,
                     got.data, want[s]);
    }
    segments_free(&segments);
    buf_free(&text);
    tree_free(tree);
}

static void cuts_are_where_they_should_be(void **state)
{
    (void)state;
    static const char *const blocks[] = {"one two three", "four five six seven",
                                         "eight"};
    static const char *const block_cuts[] = {"T\none two three",
                                             "four five six seven\n\neight"};
    check_cut("T", BLOCK_PARAGRAPH, blocks, 3, 6, block_cuts, 2);
    static const char *const title[] = {"Only this"};
    check_cut("Only this", 0, NULL, 0, 6, title, 1);
    static const char *const nothing[] = {"\n"};
    check_cut("", 0, NULL, 0, 6, nothing, 1);
    static const char *const prose[] = {
        "It is so. It is (not so.) Said e.g. here and then he went on and on "
        "for long. End."};
    static const char *const sentences[] = {
        "T\nIt is so.", "It is (not so.)", "Said e.g. here and then",
        "he went on and on for", "long. End."};
    check_cut("T", BLOCK_PARAGRAPH, prose, 1, 6, sentences, 5);
    static const char *const full[] = {"It is so. Then it is."};
    static const char *const with_title[] = {"T\nIt is so.", "Then it is."};
    check_cut("T", BLOCK_PARAGRAPH, full, 1, 6, with_title, 2);
    static const char *const code[] = {
        "a = 1\n\n    b = 2\nthis line is much longer than six tokens\nend"};
    static const char *const lines[] = {
        "T\na = 1", "    b = 2", "this line is much longer than six tokens",
        "end"};
    check_cut("T", BLOCK_CODE, code, 1, 6, lines, 4);
}

static void damaged_segments_are_refused(void **state)
{
    (void)state;
    struct segment items[] = {{0, 5, 2, {1, 2}}, {7, 300, 9, {3, 4}}};
    struct segments segments = {items, 2}, got;
    struct buf bytes = {0};
    uint64_t seed = 3;
    segments_encode(&segments, &bytes);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(
            segments_decode((struct slice){bytes.data, size}, &got, NULL),
            ERR_FORMAT);
    for (int i = 0; i < 20000; i++) {
        char *copy = memcpy(mem_alloc(bytes.size), bytes.data, bytes.size);
        copy[unit_below(&seed, (uint32_t)bytes.size)] =
            (char)unit_below(&seed, 256);
        if (!segments_decode((struct slice){copy, bytes.size}, &got, NULL)) {
            for (size_t s = 0; s < got.count; s++)
                assert_true(got.items[s].from <= got.items[s].to);
            segments_free(&got);
        }
        free(copy);
    }
    buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segments_are_as_promised),
        cmocka_unit_test(words_are_counted_once),
        cmocka_unit_test(cuts_are_where_they_should_be),
        cmocka_unit_test(damaged_segments_are_refused),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
