#include "tests/unit/support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "memory/lexical/lexical.h"
#include "memory/lexical/term_filter.h"
#include "tests/unit/support/stores.h"

enum { NODES = 40, MAX_ALIASES = 4, ROUNDS = 30, WORDS = 25 };

static const char *const words[WORDS] = {
    "index",  "table", "row",    "key",  "scan",     "page",    "cache",
    "buffer", "lock",  "heap",   "tree", "hash",     "sort",    "join",
    "merge",  "loop",  "plan",   "cost", "work_mem", "pg_stat", "::",
    "a.b",    "--all", "vacuum", "toast"};

static struct tree *random_content(uint64_t *seed)
{
    struct tree *tree = tree_new(false);
    tree_add_file(tree, slice_of(""));
    struct buf text = {0};
    for (int part = 0; part < 3; part++) {
        buf_clear(&text);
        for (uint32_t n = unit_below(seed, 12); n > 0; n--)
            buf_printf(&text, "%s ", words[unit_below(seed, WORDS)]);
        if (part == 0)
            tree_add_node(tree, TREE_NONE, 1, buf_slice(&text), slice_of(""));
        else
            tree_add_block(tree, 0, BLOCK_PARAGRAPH, buf_slice(&text),
                           slice_of(""), (struct origin){0, {0, 1}});
    }
    buf_free(&text);
    assert_int_equal(tree_seal(tree, NULL), 0);
    return tree;
}

/* Every term of `words` has the same postings in both epochs. */
static void assert_same_epochs(struct store *store, uint32_t a, uint32_t b)
{
    struct query query;
    struct store_txn *txn;
    assert_int_equal(store_read(store, &txn, NULL), 0);
    for (int w = 0; w < WORDS; w++) {
        query_parse(words[w], &query);
        for (size_t t = 0; t < query.count; t++) {
            struct slice term = slice_of(query.terms[t].term);
            struct slice first, second;
            assert_int_equal(store_get_postings(txn, 1, a, term, &first, NULL),
                             0);
            assert_int_equal(store_get_postings(txn, 1, b, term, &second, NULL),
                             0);
            assert_true(slice_equal(first, second));
        }
        query_free(&query);
    }
    store_end(txn);
}

static void apply(struct store *store, uint32_t epoch,
                  struct lexical_delta *delta)
{
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(lexical_apply(txn, 1, epoch, delta, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(lexical_delta_size(delta), 0);
}

/* Some nodes have names in the index, as their titles decide. */
static void change_aliases(struct lexical_delta *delta, uint64_t id,
                           const struct tree *content, bool gone)
{
    size_t names = content->nodes[0].title.size % MAX_ALIASES;
    for (size_t i = 0; i < names; i++) {
        struct slice name = slice_of(words[(id + i) % WORDS]);
        if (gone)
            lexical_remove_alias(delta, id, name);
        else
            lexical_add_alias(delta, id, name);
    }
}

static void add(struct lexical_delta *delta, uint64_t id,
                const struct tree *content)
{
    lexical_add(delta, id, &content->nodes[0]);
    change_aliases(delta, id, content, false);
}

/* Nodes come, go and change in epoch 1; after each round an epoch of its own
 * made of what is there then must hold the same postings. */
static void changes_in_place_equal_a_fresh_index(void **state)
{
    (void)state;
    uint64_t seed = 2024;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct tree *now[NODES] = {0};
    struct lexical_delta *delta = lexical_delta_new();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t n = 0; n < NODES; n++) {
            if (unit_below(&seed, 3))
                continue;
            if (now[n]) {
                lexical_remove(delta, n + 1, &now[n]->nodes[0]);
                change_aliases(delta, n + 1, now[n], true);
            }
            tree_free(now[n]);
            now[n] = unit_below(&seed, 4) ? random_content(&seed) : NULL;
            if (now[n])
                add(delta, n + 1, now[n]);
        }
        apply(store, 1, delta);
        for (uint32_t n = 0; n < NODES; n++)
            if (now[n])
                add(delta, n + 1, now[n]);
        apply(store, 2 + round, delta);
        assert_same_epochs(store, 1, 2 + round);
    }
    for (uint32_t n = 0; n < NODES; n++)
        tree_free(now[n]);
    lexical_delta_free(delta);
    store_close(store);
    unit_folder_remove(folder);
}

static int try_match(struct store *store, uint32_t version,
                     struct matches *matches, struct err *err)
{
    struct node node = {.words = 1};
    struct tree outline = {.nodes = &node, .count = 1};
    struct view_run run = {.id = 7, .count = 1};
    uint32_t end = 1;
    uint64_t text = 1;
    struct view_node view_node = {.words = 1};
    struct view view = {
        .manual = {.id = 1, .epoch = version, .lexical = version, .name = "m"},
        .outline = &outline,
        .nodes = &view_node,
        .ends = &end,
        .texts = &text,
        .named = &text,
        .runs = &run,
        .run_count = 1};
    struct query query;
    struct store_txn *txn;
    query_parse("heap", &query);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    int code = lexical_match(txn, &view, &query, matches, err);
    store_end(txn);
    query_free(&query);
    return code;
}

static struct match match_of(struct store *store, uint32_t version)
{
    struct matches matches;
    assert_int_equal(try_match(store, version, &matches, NULL), 0);
    struct match match = matches_row(&matches, 0).of[0];
    matches_free(&matches);
    return match;
}

static void put_bytes(struct store *store, uint32_t epoch, struct slice value)
{
    struct store_txn *txn;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    assert_int_equal(
        store_put_postings(txn, 1, epoch, slice_of("heap"), value, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
}

static void put_posting(struct store *store, uint32_t epoch, uint64_t packed)
{
    struct buf value = {0};
    buf_put_varint(&value, 7);
    buf_put_varint(&value, packed);
    put_bytes(store, epoch, buf_slice(&value));
    buf_free(&value);
}

/* One that ends within a number, one without a count, ids that do not rise, and
 * ids beyond all numbers. */
static void damaged_postings_are_an_error(void **state)
{
    (void)state;
    static const struct slice values[] = {
        {"\x07\xC0", 2},
        {"\x07", 1},
        {"\x07\x40\x00\x40", 4},
        {"\x07\x40\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x40", 13}};
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct matches matches;
        struct err err = {0};
        put_bytes(store, 2, values[i]);
        assert_int_equal(try_match(store, 2, &matches, &err), ERR_STORE);
        assert_non_null(strstr(err.message, "'heap' in the manual m"));
    }
    store_close(store);
    unit_folder_remove(folder);
}

/* A posting of what is no node is damage, unless a later update has made it. */
static void postings_name_nodes(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct matches matches;
    struct err err = {0};
    uint32_t id = 0;
    put_bytes(store, 2, (struct slice){"\x08\x40", 2});
    put_manual(store, "m", 5, 2, &id);
    assert_int_equal(id, 1);
    assert_int_equal(try_match(store, 2, &matches, &err), 0);
    matches_free(&matches);
    put_manual(store, "m", 0, 2, &id);
    assert_int_equal(try_match(store, 2, &matches, &err), ERR_STORE);
    store_close(store);
    unit_folder_remove(folder);
}

static void postings_are_read_as_their_version_has_them(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    put_posting(store, 1, 5 << 4 | 2 << 2 | 1);
    put_posting(store, 2, 5 << 6 | 3 << 4 | 2 << 2 | 1);
    for (uint32_t version = 1; version <= 2; version++) {
        struct match match = match_of(store, version);
        assert_int_equal(match.title, 1);
        assert_int_equal(match.defined, 2);
        assert_int_equal(match.alias, version == 2 ? 3 : 0);
        assert_int_equal(match.body, 5);
    }
    store_close(store);
    unit_folder_remove(folder);
}

/* It knows each term of its postings, and of others takes few for one. */
static void a_filter_tells_which_terms_are_there(void **state)
{
    (void)state;
    enum { TERMS = 1000, OTHERS = 10000 };
    char *folder = unit_folder(), name[40];
    struct store *store = open_store(folder);
    struct store_txn *txn;
    struct term_filter *filter, *empty;
    size_t mistaken = 0;
    assert_int_equal(store_write(store, &txn, NULL), 0);
    for (int i = 0; i < TERMS; i++) {
        snprintf(name, sizeof name, "term%d", i);
        assert_int_equal(store_put_postings(txn, 1, 2, slice_of(name),
                                            slice_of("\x07\x40"), NULL),
                         0);
    }
    assert_int_equal(store_commit(txn, NULL), 0);
    assert_int_equal(store_read(store, &txn, NULL), 0);
    assert_int_equal(term_filter_read(txn, 1, 2, &filter, NULL), 0);
    assert_int_equal(term_filter_read(txn, 1, 3, &empty, NULL), 0);
    store_end(txn);
    for (int i = 0; i < TERMS; i++) {
        snprintf(name, sizeof name, "term%d", i);
        assert_true(term_filter_may_have(filter, slice_of(name)));
        assert_false(term_filter_may_have(empty, slice_of(name)));
    }
    for (int i = 0; i < OTHERS; i++) {
        snprintf(name, sizeof name, "other%d", i);
        mistaken += term_filter_may_have(filter, slice_of(name));
    }
    assert_in_range(mistaken, 1, OTHERS / 20);
    assert_true(term_filter_may_have(NULL, slice_of("anything")));
    term_filter_free(filter);
    term_filter_free(empty);
    term_filter_free(NULL);
    store_close(store);
    unit_folder_remove(folder);
}

/* A name in the index finds a node that does not hold it otherwise. */
static void aliases_find_their_node(void **state)
{
    (void)state;
    char *folder = unit_folder();
    struct store *store = open_store(folder);
    struct lexical_delta *delta = lexical_delta_new();
    struct node node = {.title = slice_of("Storage")};
    lexical_add(delta, 7, &node);
    lexical_add_alias(delta, 7, slice_of("heap, files of a"));
    apply(store, 2, delta);
    struct match match = match_of(store, 2);
    assert_true(match_holds(&match));
    assert_int_equal(match.alias, 1);
    assert_int_equal(match.title, 0);
    assert_int_equal(match.body, 0);
    lexical_delta_free(delta);
    store_close(store);
    unit_folder_remove(folder);
}

/* One name among many says less about a node than its only one. */
static void names_share_their_weight(void **state)
{
    (void)state;
    struct view_node nodes[] = {{.words = 10, .names = 1, .title_words = 1},
                                {.words = 10, .names = 9, .title_words = 1}};
    struct view view = {
        .nodes = nodes, .mean_words = 10, .mean_title_words = 1};
    struct query query = {.count = 1, .terms = {{.idf = 1, .weight = 1}}};
    struct match named = {.alias = 1}, written = {.body = 1};
    double only = lexical_score(&query, &view, 0, &named);
    double of_many = lexical_score(&query, &view, 1, &named);
    assert_true(only > of_many);
    assert_true(of_many > lexical_score(&query, &view, 1, &written));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postings_are_read_as_their_version_has_them),
        cmocka_unit_test(damaged_postings_are_an_error),
        cmocka_unit_test(postings_name_nodes),
        cmocka_unit_test(a_filter_tells_which_terms_are_there),
        cmocka_unit_test(aliases_find_their_node),
        cmocka_unit_test(names_share_their_weight),
        cmocka_unit_test(changes_in_place_equal_a_fresh_index),
    };
    return cmocka_run_group_tests_name("lexical", tests, NULL, NULL);
}
