/* Skeletons kept between updates: found again, and bounded. */
#include "indexer/skeletons.h"

#include "tests/unit/support/unit.h"

static struct hash128 name_of(int i)
{
    return hash_bytes(&i, sizeof i);
}

static struct tree *skeleton(int i)
{
    char title[20];
    struct tree *tree = tree_new(true);
    snprintf(title, sizeof title, "title %d", i);
    tree_add_node(tree, TREE_NONE, 1, slice_of(title), slice_of(""));
    return tree;
}

static void add_many(struct skeletons *skeletons, int from, int end)
{
    for (int i = from; i < end; i++)
        skeletons_add(skeletons, name_of(i), skeleton(i));
}

static int count(struct skeletons *skeletons, int from, int end)
{
    int found = 0;
    for (int i = from; i < end; i++)
        found += skeletons_find(skeletons, name_of(i)) != NULL;
    return found;
}

static void what_was_added_is_found(void **state)
{
    struct skeletons *skeletons = skeletons_new(64 << 20);
    (void)state;
    add_many(skeletons, 0, 5000);
    skeletons_end_round(skeletons);
    for (int i = 0; i < 5000; i++) {
        char title[20];
        const struct tree *tree = skeletons_find(skeletons, name_of(i));
        snprintf(title, sizeof title, "title %d", i);
        assert_non_null(tree);
        assert_true(slice_is(tree->nodes[0].title, title));
    }
    assert_null(skeletons_find(skeletons, name_of(5000)));
    skeletons_free(skeletons);
}

static void what_a_round_did_not_use_goes_first(void **state)
{
    struct tree *one = skeleton(0);
    struct skeletons *skeletons = skeletons_new(150 * one->arena.used);
    (void)state;
    tree_free(one);
    add_many(skeletons, 0, 100);
    skeletons_end_round(skeletons);
    assert_int_equal(count(skeletons, 50, 100), 50);
    add_many(skeletons, 100, 160);
    assert_int_equal(count(skeletons, 100, 160), 60);
    skeletons_end_round(skeletons);
    assert_int_equal(count(skeletons, 0, 50), 0);
    assert_int_equal(count(skeletons, 50, 160), 110);
    skeletons_free(skeletons);
}

static void too_much_is_not_kept(void **state)
{
    struct skeletons *skeletons = skeletons_new(0);
    (void)state;
    add_many(skeletons, 0, 10);
    assert_int_equal(count(skeletons, 0, 10), 10);
    skeletons_end_round(skeletons);
    assert_int_equal(count(skeletons, 0, 10), 0);
    skeletons_free(skeletons);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found),
        cmocka_unit_test(what_a_round_did_not_use_goes_first),
        cmocka_unit_test(too_much_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
