#include "tests/unit/support/unit.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "memory/vectors/vectors.h"
#include "tree/tree.h"

enum { WIDTH = 24, NODES = 700, OUTLINE = 800, MAX = 60 };

/* A table of random unit vectors: most nodes have segments, up to 5. */
struct fixture {
    struct vector_table table;
    uint32_t node_of[NODES];
    float *keys, *subtrees; /* copies, for the oracle */
    uint32_t *row_nodes;
    uint32_t row_count;
    struct vectors *vectors;
};

static void random_unit(uint64_t *seed, float *vector)
{
    double length = 0;
    for (int i = 0; i < WIDTH; i++) {
        vector[i] = (float)unit_below(seed, 2000001) / 1e6F - 1;
        length += (double)vector[i] * (double)vector[i];
    }
    for (int i = 0; i < WIDTH; i++)
        vector[i] /= (float)sqrt(length);
}

static float cosine(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++)
        sum += (double)a[i] * (double)b[i];
    return (float)sum;
}

static void *copy_of(const void *bytes, size_t size)
{
    return memcpy(mem_alloc(size), bytes, size);
}

/* Some nodes are gone from the outline; the others stand in another order. */
static void random_places(struct fixture *f, uint64_t *seed)
{
    uint32_t places[OUTLINE];
    for (uint32_t i = 0; i < OUTLINE; i++)
        places[i] = i;
    for (uint32_t i = OUTLINE - 1; i > 0; i--) {
        uint32_t j = unit_below(seed, i + 1), swap = places[i];
        places[i] = places[j];
        places[j] = swap;
    }
    for (uint32_t n = 0; n < NODES; n++)
        f->node_of[n] = unit_below(seed, 10) ? places[n] : (uint32_t)TREE_NONE;
}

static struct fixture *make_fixture(uint64_t seed)
{
    struct fixture *f = mem_alloc(sizeof *f);
    struct vector_table *t = &f->table;
    *t = (struct vector_table){
        .policy = {1, 2}, .generation = 7, .width = WIDTH, .node_count = NODES};
    t->nodes = mem_alloc(NODES * sizeof *t->nodes);
    t->subtrees = mem_alloc(NODES * WIDTH * sizeof *t->subtrees);
    t->row_nodes = mem_alloc(5 * NODES * sizeof *t->row_nodes);
    t->keys = mem_alloc(5 * NODES * WIDTH * sizeof *t->keys);
    for (uint32_t n = 0; n < NODES; n++) {
        t->nodes[n] = 1000 + n;
        random_unit(&seed, t->subtrees + (size_t)n * WIDTH);
        for (uint32_t s = unit_below(&seed, 6); s > 0; s--) {
            random_unit(&seed, t->keys + (size_t)t->row_count * WIDTH);
            t->row_nodes[t->row_count++] = n;
        }
    }
    random_places(f, &seed);
    f->row_count = t->row_count;
    f->keys = copy_of(t->keys, t->row_count * WIDTH * sizeof *t->keys);
    f->subtrees = copy_of(t->subtrees, NODES * WIDTH * sizeof *t->subtrees);
    f->row_nodes = copy_of(t->row_nodes, t->row_count * sizeof *t->row_nodes);
    struct err err;
    assert_int_equal(vectors_open(t, f->node_of, OUTLINE, &f->vectors, &err),
                     0);
    return f;
}

static void free_fixture(struct fixture *f)
{
    vectors_close(f->vectors);
    free(f->keys);
    free(f->subtrees);
    free(f->row_nodes);
    free(f);
}

/* ret [OUTLINE]: the best of each node's segments, -2: none. */
static void score_all(const struct fixture *f, const float *query, float *ret)
{
    for (uint32_t n = 0; n < OUTLINE; n++)
        ret[n] = -2;
    for (uint32_t row = 0; row < f->row_count; row++) {
        uint32_t node = f->node_of[f->row_nodes[row]];
        float score = cosine(query, f->keys + (size_t)row * WIDTH);
        if (node != TREE_NONE && score > ret[node])
            ret[node] = score;
    }
}

static bool is_third(void *context, uint32_t node)
{
    (*(size_t *)context)++;
    return node % 3 == 0;
}

static bool is_rare(void *context, uint32_t node)
{
    (void)context;
    return node % 100 == 0;
}

static void assert_same(const struct fixture *f, const float *query,
                        uint32_t from, uint32_t end,
                        bool (*accept)(void *, uint32_t), size_t max)
{
    float scores[OUTLINE];
    struct vector_hit hits[OUTLINE];
    size_t calls = 0;
    score_all(f, query, scores);
    size_t count =
        vectors_search(f->vectors, query, from, end, accept, &calls, max, hits);
    for (size_t i = 0; i < count; i++) {
        uint32_t best = 0;
        for (uint32_t n = 1; n < OUTLINE; n++)
            if (n >= from && n < end && (!accept || accept(&calls, n)) &&
                (scores[n] > scores[best] || best < from || best >= end ||
                 (accept && !accept(&calls, best))))
                best = n;
        assert_int_equal(hits[i].node, best);
        assert_true(fabsf(hits[i].score - scores[best]) <= 1e-5F);
        scores[best] = -2;
    }
    for (uint32_t n = from; n < end && count < max; n++)
        assert_true(scores[n] <= -2 || (accept && !accept(&calls, n)));
    assert_true(count <= max);
}

static void search_equals_brute_force(void **state)
{
    (void)state;
    uint64_t seed = 11;
    struct fixture *f = make_fixture(5);
    for (int round = 0; round < 20; round++) {
        float query[WIDTH];
        random_unit(&seed, query);
        uint32_t from = unit_below(&seed, OUTLINE);
        uint32_t end = from + 1 + unit_below(&seed, OUTLINE - from);
        assert_same(f, query, 0, OUTLINE, NULL, 1);
        assert_same(f, query, 0, OUTLINE, NULL, MAX);
        assert_same(f, query, 0, OUTLINE, NULL, OUTLINE);
        assert_same(f, query, 0, OUTLINE, is_third, MAX);
        assert_same(f, query, 0, OUTLINE, is_rare, 5);
        assert_same(f, query, 0, OUTLINE, is_rare, MAX);
        assert_same(f, query, from, end, NULL, 10);
        assert_same(f, query, from, end, is_third, MAX);
    }
    free_fixture(f);
}

/* What one of the threads that ask at once asks and finds. */
struct asker {
    const struct fixture *fixture;
    float query[WIDTH];
    struct vector_hit hits[2][MAX];
    size_t counts[2];
};

static void *ask(void *context)
{
    struct asker *asker = context;
    for (int round = 0; round < 20; round++)
        for (uint32_t from = 0; from < 2; from++)
            asker->counts[from] =
                vectors_search(asker->fixture->vectors, asker->query, from,
                               OUTLINE, NULL, NULL, MAX, asker->hits[from]);
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    uint64_t seed = 17;
    struct fixture *f = make_fixture(23);
    struct asker askers[THREADS], alone;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        memset(&askers[i], 0, sizeof askers[i]);
        askers[i].fixture = f;
        random_unit(&seed, askers[i].query);
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &askers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        memset(&alone, 0, sizeof alone);
        alone.fixture = f;
        memcpy(alone.query, askers[i].query, sizeof alone.query);
        ask(&alone);
        assert_memory_equal(&alone, &askers[i], sizeof alone);
    }
    free_fixture(f);
}

static void nodes_are_scored(void **state)
{
    (void)state;
    uint64_t seed = 3;
    struct fixture *f = make_fixture(9);
    float query[WIDTH], scores[OUTLINE];
    bool met[OUTLINE] = {0};
    random_unit(&seed, query);
    score_all(f, query, scores);
    for (uint32_t n = 0; n < NODES; n++) {
        uint32_t node = f->node_of[n];
        if (node == TREE_NONE)
            continue;
        met[node] = true;
        assert_true(fabsf(vectors_whole(f->vectors, query, node) -
                          cosine(query, f->subtrees + (size_t)n * WIDTH)) <=
                    1e-5F);
    }
    for (uint32_t node = 0; node < OUTLINE; node++) {
        assert_true(fabsf(vectors_own(f->vectors, query, node) -
                          scores[node]) <= 1e-5F);
        if (!met[node])
            assert_true(vectors_whole(f->vectors, query, node) <= -2);
    }
    free_fixture(f);
}

static void facts_are_kept(void **state)
{
    (void)state;
    struct fixture *f = make_fixture(1);
    assert_true(hash_equal(vectors_policy(f->vectors), (struct hash128){1, 2}));
    assert_int_equal(vectors_generation(f->vectors), 7);
    assert_int_equal(vectors_segments(f->vectors), f->row_count);
    assert_null(f->table.keys);
    free_fixture(f);
}

static struct vector_table small_table(uint32_t rows)
{
    struct vector_table t = {
        .width = WIDTH, .node_count = 2, .row_count = rows};
    t.nodes = mem_alloc(2 * sizeof *t.nodes);
    t.subtrees = mem_alloc(2 * WIDTH * sizeof *t.subtrees);
    t.row_nodes = mem_alloc((rows + 1) * sizeof *t.row_nodes);
    t.keys = mem_alloc((rows + 1) * WIDTH * sizeof *t.keys);
    return t;
}

static void disorder_is_refused(void **state)
{
    (void)state;
    static const uint32_t nodes[][3] = {{0, 2, 2}, {1, 0, 1}};
    static const uint32_t node_of[2] = {0, 1};
    for (size_t i = 0; i < 2; i++) {
        struct vectors *vectors = NULL;
        struct err err;
        struct vector_table t = small_table(3);
        memcpy(t.row_nodes, nodes[i], sizeof nodes[i]);
        assert_int_equal(vectors_open(&t, node_of, 2, &vectors, &err),
                         ERR_FORMAT);
        assert_null(vectors);
        assert_non_null(strstr(err.message, "out of order"));
    }
}

static void without_segments_nothing_is_found(void **state)
{
    (void)state;
    static const uint32_t node_of[2] = {1, 0};
    struct vector_table t = small_table(0);
    struct vectors *vectors;
    struct vector_hit hits[4];
    float query[WIDTH] = {1};
    assert_int_equal(vectors_open(&t, node_of, 2, &vectors, NULL), 0);
    assert_int_equal(vectors_search(vectors, query, 0, 2, NULL, NULL, 4, hits),
                     0);
    assert_true(vectors_own(vectors, query, 1) <= -2);
    vectors_close(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(search_equals_brute_force),
        cmocka_unit_test(threads_do_not_disturb_each_other),
        cmocka_unit_test(nodes_are_scored),
        cmocka_unit_test(facts_are_kept),
        cmocka_unit_test(disorder_is_refused),
        cmocka_unit_test(without_segments_nothing_is_found),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
