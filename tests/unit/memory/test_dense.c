#include "tests/unit/support/unit.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "memory/vectors/dense.h"
#include "memory/vectors/vectors.h"
#include "tree/tree.h"

/* Volumes of nodes with up to 3 rows each; rows stand in groups. */
enum { WIDTH = 24, NODES = 1700, CENTRES = 60, VIEWS = 3, MAX = 10 };

static const struct hash128 POLICY = {1, 2}, OTHER_POLICY = {3, 4};

static float centres[CENTRES][WIDTH];

static void make_unit(float *vector)
{
    double length = 0;
    for (int i = 0; i < WIDTH; i++)
        length += (double)vector[i] * (double)vector[i];
    for (int i = 0; i < WIDTH; i++)
        vector[i] /= (float)sqrt(length);
}

static void random_near(uint64_t *seed, float share, float *ret)
{
    const float *centre = centres[unit_below(seed, CENTRES)];
    for (int i = 0; i < WIDTH; i++)
        ret[i] =
            share * centre[i] + (float)unit_below(seed, 2000001) / 1e6F - 1;
    make_unit(ret);
}

/* Of each node what is below `kept` in a hundred stands as `like` says, the
 * rest is new; of the nodes some are gone from the outline. */
static struct vectors *make_vectors(uint64_t *seed, const struct vectors *like,
                                    uint32_t kept, struct hash128 policy)
{
    struct vector_table t = {
        .policy = policy, .width = WIDTH, .node_count = NODES};
    uint32_t *node_of = mem_alloc(NODES * sizeof *node_of);
    t.nodes = mem_alloc(NODES * sizeof *t.nodes);
    t.subtrees = mem_alloc(NODES * WIDTH * sizeof *t.subtrees);
    t.row_nodes = mem_alloc(3 * NODES * sizeof *t.row_nodes);
    t.keys = mem_alloc(3 * NODES * WIDTH * sizeof *t.keys);
    for (uint32_t n = 0; n < NODES; n++) {
        t.nodes[n] = n + 1;
        node_of[n] = unit_below(seed, 50) ? NODES - 1 - n : (uint32_t)TREE_NONE;
        for (uint32_t s = 1 + n % 3; s > 0; s--) {
            float *key = t.keys + (size_t)t.row_count * WIDTH;
            if (like && unit_below(seed, 100) < kept)
                memcpy(key, vectors_key(like, t.row_count),
                       WIDTH * sizeof *key);
            else
                random_near(seed, 2, key);
            t.row_nodes[t.row_count++] = n;
        }
    }
    struct vectors *vectors;
    assert_int_equal(vectors_open(&t, node_of, NODES, &vectors, NULL), 0);
    free(node_of);
    return vectors;
}

struct house {
    struct view views[VIEWS];
    struct view *snapshot[VIEWS];
};

static void make_house(struct house *house, uint64_t *seed)
{
    for (int v = 0; v < VIEWS; v++) {
        house->views[v] =
            (struct view){.vectors = make_vectors(seed, NULL, 0, POLICY)};
        house->snapshot[v] = &house->views[v];
    }
}

static void change(struct house *house, uint64_t *seed, int v, uint32_t kept)
{
    struct vectors *before = house->views[v].vectors;
    house->views[v].vectors = make_vectors(seed, before, kept, POLICY);
    vectors_close(before);
}

static void empty_house(struct house *house)
{
    for (int v = 0; v < VIEWS; v++)
        vectors_close(house->views[v].vectors);
}

static struct dense_index *index_of(struct house *house)
{
    struct dense_index *index;
    assert_int_equal(
        dense_index_make(house->snapshot, VIEWS, NULL, &index, NULL), 0);
    return index;
}

static bool accept_all(void *context, size_t view, uint32_t node)
{
    (void)context;
    (void)view;
    assert_true(node != TREE_NONE);
    return true;
}

static bool accept_half(void *context, size_t view, uint32_t node)
{
    (void)context;
    return (node + view) % 2 == 0;
}

static bool accept_second(void *context, size_t view, uint32_t node)
{
    (void)context;
    (void)node;
    return view == 1;
}

static bool accept_few(void *context, size_t view, uint32_t node)
{
    (void)context;
    return (node + view) % 40 == 0;
}

typedef bool accepting(void *, size_t, uint32_t);

static size_t rows_of(const struct house *house, accepting *accept)
{
    size_t rows = 0;
    for (size_t v = 0; v < VIEWS; v++)
        for (uint32_t n = 0; n < NODES; n++)
            if (accept(NULL, v, n))
                rows += vectors_rows_of(house->views[v].vectors, n);
    return rows;
}

/* Hits are what they say, in order, each once; returns how many of the nearest
 * nodes are among them. */
static size_t check_hits(const struct house *house, const float *query,
                         accepting *accept, const struct dense_hit *hits)
{
    float *scores = mem_alloc(VIEWS * NODES * sizeof *scores);
    size_t right = 0;
    for (size_t v = 0; v < VIEWS; v++)
        for (uint32_t n = 0; n < NODES; n++)
            scores[v * NODES + n] =
                accept(NULL, v, n)
                    ? vectors_own(house->views[v].vectors, query, n)
                    : -2;
    for (size_t i = 0; i < MAX; i++) {
        float score = scores[hits[i].view * NODES + hits[i].node];
        assert_true(accept(NULL, hits[i].view, hits[i].node));
        assert_true(score > -2 && hits[i].score <= score + 1e-5F);
        assert_true(!i || hits[i].score <= hits[i - 1].score);
        for (size_t j = 0; j < i; j++)
            assert_true(hits[i].node != hits[j].node ||
                        hits[i].view != hits[j].view);
    }
    for (size_t n = 0; n < MAX; n++) {
        size_t best = 0;
        for (size_t i = 1; i < VIEWS * NODES; i++)
            if (scores[i] > scores[best])
                best = i;
        for (size_t i = 0; i < MAX; i++)
            right += hits[i].view * NODES + hits[i].node == best &&
                     fabsf(hits[i].score - scores[best]) <= 1e-5F;
        scores[best] = -2;
    }
    free(scores);
    return right;
}

/* At least .96 of the nearest, whatever came and went since the index; told that so
 * many rows are accepted. */
static void assert_recall_of(struct house *house, struct dense_index *index,
                             accepting *accept, size_t rows, uint64_t seed)
{
    enum { QUERIES = 40 };
    struct dense *dense = dense_new(index, house->snapshot, VIEWS);
    size_t right = 0;
    for (int q = 0; q < QUERIES; q++) {
        float vector[WIDTH];
        struct dense_hit hits[MAX];
        struct dense_trace trace;
        size_t count = 0;
        random_near(&seed, 1.5F, vector);
        struct dense_query query = {.vector = vector,
                                    .policy = POLICY,
                                    .rows = rows,
                                    .accept = accept,
                                    .max = MAX};
        assert_true(dense_search(dense, &query, hits, &count, &trace));
        assert_int_equal(count, MAX);
        right += check_hits(house, vector, accept, hits);
    }
    if (right * 100 < (size_t)QUERIES * MAX * 96)
        fail_msg("%zu of %d", right, QUERIES * MAX);
    dense_free(dense);
}

static void assert_recall(struct house *house, struct dense_index *index,
                          accepting *accept, uint64_t seed)
{
    assert_recall_of(house, index, accept, rows_of(house, accept), seed);
}

static void the_index_finds_what_a_scan_does(void **state)
{
    (void)state;
    uint64_t seed = 1;
    struct house house;
    make_house(&house, &seed);
    struct dense_index *index = index_of(&house);
    assert_recall(&house, index, accept_all, 2);
    assert_recall(&house, index, accept_half, 3);
    assert_recall(&house, index, accept_second, 4);
    dense_index_unref(index);
    empty_house(&house);
}

/* As where the nearest rows are all of one long section: of the first candidates too few
 * nodes are left. */
static void more_rows_are_looked_at_where_they_are_of_few_nodes(void **state)
{
    (void)state;
    uint64_t seed = 12;
    struct house house;
    make_house(&house, &seed);
    struct dense_index *index = index_of(&house);
    assert_recall_of(&house, index, accept_few, rows_of(&house, accept_half),
                     13);
    dense_index_unref(index);
    empty_house(&house);
}

/* An index that is old, of which half is gone, and one made anew. */
static void an_old_index_serves_what_is_new(void **state)
{
    (void)state;
    uint64_t seed = 5;
    struct house house;
    make_house(&house, &seed);
    struct dense_index *index = index_of(&house);
    change(&house, &seed, 0, 97);
    change(&house, &seed, 1, 10);
    assert_recall(&house, index, accept_all, 6);
    assert_recall(&house, index, accept_half, 7);
    change(&house, &seed, 0, 0);
    change(&house, &seed, 1, 0);
    change(&house, &seed, 2, 0);
    assert_recall(&house, index, accept_all, 8);
    struct dense_index *anew = index_of(&house);
    assert_recall(&house, anew, accept_all, 8);
    dense_index_unref(index);
    dense_index_unref(anew);
    empty_house(&house);
}

static void an_index_is_due_when_rows_are_new_or_gone(void **state)
{
    (void)state;
    uint64_t seed = 9;
    struct house house;
    struct dense_state is;
    make_house(&house, &seed);
    struct dense *none = dense_new(NULL, house.snapshot, VIEWS);
    struct dense *few = dense_new(NULL, house.snapshot, 1);
    assert_true(dense_is_due(none));
    assert_false(dense_is_due(few));
    dense_free(none);
    dense_free(few);
    struct dense_index *index = index_of(&house);
    struct dense *dense = dense_new(index, house.snapshot, VIEWS);
    dense_state(dense, &is);
    assert_false(dense_is_due(dense));
    assert_true(is.indexed && !is.added && !is.gone && is.lists && is.bytes);
    dense_free(dense);
    change(&house, &seed, 0, 95);
    dense = dense_new(index, house.snapshot, VIEWS);
    dense_state(dense, &is);
    assert_false(dense_is_due(dense));
    assert_true(is.added > 100 && is.added < 260);
    dense_free(dense);
    change(&house, &seed, 0, 0);
    dense = dense_new(index, house.snapshot, VIEWS);
    assert_true(dense_is_due(dense));
    dense_free(dense);
    dense_index_unref(index);
    empty_house(&house);
}

static bool search_with(const struct dense *dense, size_t rows,
                        struct hash128 policy, size_t max)
{
    float vector[WIDTH] = {1};
    struct dense_hit hits[MAX];
    struct dense_trace trace;
    size_t count;
    struct dense_query query = {.vector = vector,
                                .policy = policy,
                                .rows = rows,
                                .accept = accept_all,
                                .max = max};
    return dense_search(dense, &query, hits, &count, &trace);
}

static void what_the_index_does_not_serve_is_left_to_a_scan(void **state)
{
    (void)state;
    uint64_t seed = 10;
    struct house house;
    make_house(&house, &seed);
    struct dense_index *index = index_of(&house);
    struct dense *dense = dense_new(index, house.snapshot, VIEWS);
    struct dense *none = dense_new(NULL, house.snapshot, VIEWS);
    assert_true(search_with(dense, 10000, POLICY, MAX));
    assert_false(search_with(none, 10000, POLICY, MAX));
    assert_false(search_with(dense, 10000, OTHER_POLICY, MAX));
    assert_false(search_with(dense, 100, POLICY, MAX));
    assert_false(search_with(dense, 0, POLICY, MAX));
    assert_false(search_with(dense, 10000, POLICY, 0));
    dense_free(none);
    dense_free(dense);
    vectors_close(house.views[0].vectors);
    house.views[0].vectors = NULL; /* a manual without memories */
    struct vectors *second = house.views[1].vectors;
    house.views[1].vectors = make_vectors(&seed, second, 90, OTHER_POLICY);
    vectors_close(second);
    dense = dense_new(index, house.snapshot, VIEWS);
    assert_false(search_with(dense, 3400, POLICY, MAX));
    assert_false(dense_is_due(dense));
    dense_free(dense);
    dense_index_unref(index);
    empty_house(&house);
}

int main(void)
{
    uint64_t seed = 77;
    for (int c = 0; c < CENTRES; c++) {
        for (int i = 0; i < WIDTH; i++)
            centres[c][i] = (float)unit_below(&seed, 2000001) / 1e6F - 1;
        make_unit(centres[c]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_index_finds_what_a_scan_does),
        cmocka_unit_test(more_rows_are_looked_at_where_they_are_of_few_nodes),
        cmocka_unit_test(an_old_index_serves_what_is_new),
        cmocka_unit_test(an_index_is_due_when_rows_are_new_or_gone),
        cmocka_unit_test(what_the_index_does_not_serve_is_left_to_a_scan),
    };
    return cmocka_run_group_tests_name("dense", tests, NULL, NULL);
}
