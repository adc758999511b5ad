/* Memories and vectors against the equations, node by node. */
#include "tests/unit/support/memory_fixtures.h"

#include "kernels/q8.h"
#include "memory/snapshot/content.h"
#include "memory/embeddings/segment.h"
#include "model/model.h"

struct expected {
    const struct snapshot *snapshot;
    const struct view *view;
    const struct embedder *embedder;
    const struct memory_policy *policy;
    struct embedder_facts facts;
    float *subtrees;           /* [nodes, width] c */
    float *keys;               /* [nodes, key_width] M_v */
    uint64_t *tokens;          /* [nodes] of sub-trees */
    struct vector_table table; /* to compare with */
    uint32_t row;
    double worst;
};

static void compare(struct expected *x, const float *want, const float *got)
{
    double square = 0;
    for (size_t i = 0; i < x->facts.key_width; i++) {
        double difference = fabs((double)want[i] - (double)got[i]);
        if (!(difference <= x->worst))
            x->worst = difference;
        square += (double)got[i] * (double)got[i];
    }
    assert_true(fabs(square - 1) < 4e-3);
}

/* m of one segment: E_mem0, or E_r with r recalled by E_mem of the first half
 * from `memories` [count, width]. */
static void memory_of(struct expected *x, struct slice text,
                      const float *memories, size_t count, float *ret)
{
    const struct embedder *e = x->embedder;
    struct embed_ids ids = {0};
    float *query = mem_alloc(x->facts.width * sizeof *query);
    float *recalled = mem_alloc(x->facts.width * sizeof *query);
    assert_int_equal(e->tokenize(e->context, text, &ids, NULL), 0);
    assert_true(ids.count <= L);
    struct embed_text input = {
        .ids = ids.ids, .count = ids.count, .soft = EMBED_ALONE};
    if (count) {
        input.soft = EMBED_SUMMARY;
        input.count = ids.count < L / 2 ? ids.count : L / 2;
        assert_int_equal(e->embed(e->context, &input, 1, query, NULL), 0);
        assert_int_equal(
            e->recall(e->context, query, memories, count, recalled, NULL), 0);
        input = (struct embed_text){.ids = ids.ids,
                                    .count = ids.count,
                                    .soft = EMBED_RECALL,
                                    .recall = recalled};
    }
    assert_int_equal(e->embed(e->context, &input, 1, ret, NULL), 0);
    unsigned char *bytes = mem_alloc(q8_size(x->facts.width));
    q8_encode(ret, x->facts.width, bytes);
    q8_decode(bytes, x->facts.width, ret);
    free(bytes);
    free(ids.ids);
    free(query);
    free(recalled);
}

static void expect_node(struct expected *x, uint32_t n)
{
    const struct node *nodes = x->view->outline->nodes;
    const struct embedder *e = x->embedder;
    size_t width = x->facts.width, keys = x->facts.key_width, count = 0;
    float *children = mem_alloc(NODES * width * sizeof *children);
    float *a = mem_alloc(width * sizeof *a), *m = mem_alloc(width * sizeof *m);
    float *key = mem_alloc(keys * sizeof *key);
    float *sum_key = mem_alloc(keys * sizeof *key);
    float *sum = mem_alloc(width * sizeof *sum);
    double below = 0, own = 0;
    for (uint32_t c = n + 1; c < nodes[n].end; c = nodes[c].end) {
        memcpy(children + count++ * width, x->subtrees + c * width,
               width * sizeof *children);
        below += (double)x->tokens[c];
    }
    const size_t start[] = {0, count};
    if (count)
        assert_int_equal(e->aggregate(e->context, x->policy->aggregate,
                                      children, start, 1, a, NULL),
                         0);
    const float *from = x->policy->recall == RECALL_CHILDREN ? children : a;
    size_t from_count =
        x->policy->recall == RECALL_CHILDREN ? count : count > 0;
    if (x->policy->recall == RECALL_OFF)
        from_count = 0;
    struct content content = {0};
    const struct node *node = &nodes[n];
    if (node->source_tree != TREE_NONE) {
        assert_int_equal(content_open(x->snapshot, x->view, n, &content, NULL),
                         0);
        node = content.node;
    }
    struct segments segments;
    struct buf text = {0};
    segment_text(node, &text);
    assert_int_equal(segment_node(node, L, false, e, &segments, NULL), 0);
    for (size_t s = 0; s < segments.count; s++) {
        const struct segment *segment = &segments.items[s];
        memory_of(x,
                  (struct slice){text.data + segment->from,
                                 segment->to - segment->from},
                  from, from_count, m);
        assert_int_equal(e->keys(e->context, m, 1, key, NULL), 0);
        own += segment->tokens;
        for (size_t i = 0; i < width; i++)
            sum[i] += m[i] / (float)segments.count;
        for (size_t i = 0; i < keys; i++)
            sum_key[i] += (float)segment->tokens * key[i];
        if (nodes[n].words) {
            assert_int_equal(x->table.row_nodes[x->row], n);
            compare(x, key, x->table.keys + x->row++ * keys);
        }
    }
    make_unit(sum_key, keys);
    if (count)
        assert_int_equal(e->keys(e->context, a, 1, key, NULL), 0);
    for (size_t i = 0; i < width; i++)
        x->subtrees[n * width + i] =
            (float)((own * (double)sum[i] + below * (double)a[i]) /
                    (own + below));
    for (size_t i = 0; i < keys; i++)
        x->keys[n * keys + i] =
            (float)((own * (double)sum_key[i] + below * (double)key[i]) /
                    (own + below));
    if (!count)
        memcpy(x->keys + n * keys, sum_key, keys * sizeof *key);
    make_unit(x->keys + n * keys, keys);
    compare(x, x->keys + n * keys, x->table.subtrees + n * keys);
    x->tokens[n] = (uint64_t)(own + below);
    content_close(&content);
    segments_free(&segments);
    buf_free(&text);
    free(children);
    free(a);
    free(m);
    free(key);
    free(sum_key);
    free(sum);
}

/* Rows come in the order of nodes, memories in that of heights: two walks. */
static void expect_all(struct expected *x)
{
    const struct tree *outline = x->view->outline;
    uint32_t *first_rows = mem_alloc((NODES + 1) * sizeof *first_rows);
    for (uint32_t r = x->table.row_count; r-- > 0;)
        first_rows[x->table.row_nodes[r]] = r;
    for (uint32_t n = outline->count; n-- > 0;) {
        x->row = first_rows[n];
        expect_node(x, n);
    }
    free(first_rows);
}

/* The greatest difference from what is in the store. */
static double check_equations(struct test_library *lib,
                              const struct embedder *embedder,
                              const struct memory_policy *policy)
{
    struct snapshot *snapshot = library_snapshot(lib->library);
    struct expected x = {.snapshot = snapshot,
                         .view = snapshot_view(snapshot, "manual"),
                         .embedder = embedder,
                         .policy = policy};
    assert_int_equal(embedder->facts(embedder->context, &x.facts, NULL), 0);
    read_table(lib, &x.table);
    assert_int_equal(x.table.node_count, NODES);
    assert_int_equal(x.table.generation, lib->generation);
    assert_true(hash_equal(x.table.policy, memories_policy(policy, &x.facts)));
    x.subtrees = mem_alloc(NODES * x.facts.width * sizeof(float));
    x.keys = mem_alloc(NODES * x.facts.key_width * sizeof(float));
    x.tokens = mem_alloc(NODES * sizeof *x.tokens);
    expect_all(&x);
    assert_int_equal(x.tokens[0], x.table.tokens);
    for (uint32_t n = 0; n < NODES; n++)
        assert_int_equal(x.table.nodes[n], x.view->outline->nodes[n].id);
    free(x.subtrees);
    free(x.keys);
    free(x.tokens);
    vector_table_free(&x.table);
    snapshot_unref(snapshot);
    return x.worst;
}

static void vectors_follow_the_equations(void **state)
{
    (void)state;
    for (size_t p = 0; p < POLICIES; p++) {
        struct test_library lib;
        struct toy toy;
        toy_open(&toy, true);
        test_library_open(&lib);
        test_publish(&lib, pages, PAGES);
        check_update(&lib, &toy, &policies[p], SEGMENTS);
        assert_true(check_equations(&lib, &toy.embedder, &policies[p]) < 4e-3);
        assert_int_equal(vectors_number(&lib), 1);
        test_library_close(&lib);
    }
}

/* ---- The small model that was trained for memories ---- */

enum { KEYS = 16 };

struct real {
    struct embedder embedder;
    struct model *model;
};

static int real_facts(void *context, struct embedder_facts *ret,
                      struct err *err)
{
    const struct real *real = context;
    const struct model_facts *facts = model_facts(real->model);
    (void)err;
    *ret = (struct embedder_facts){
        .width = facts->width,
        .key_width = KEYS,
        .context = facts->context,
        .recalls = true,
        .model = facts->fingerprint,
        .tokenizer = tokenizer_hash(model_tokenizer(real->model))};
    return 0;
}

static int real_tokenize(void *context, struct slice text,
                         struct embed_ids *ret, struct err *err)
{
    const struct real *real = context;
    struct ids ids = {0};
    int code =
        tokenizer_encode(model_tokenizer(real->model), text, false, &ids, err);
    MEM_RESERVE(ret->ids, &ret->capacity, ret->count + ids.count);
    for (size_t i = 0; i < ids.count; i++)
        ret->ids[ret->count++] = ids.items[i];
    free(ids.items);
    return code;
}

static int real_embed(void *context, const struct embed_text *texts,
                      size_t count, float *ret, struct err *err)
{
    const struct real *real = context;
    struct embed_input *inputs = mem_alloc(count * sizeof *inputs);
    for (size_t i = 0; i < count; i++)
        inputs[i] = (struct embed_input){
            .ids = texts[i].ids,
            .count = texts[i].count,
            .soft = texts[i].soft == EMBED_SUMMARY ? model_mem(real->model)
                    : texts[i].soft == EMBED_ALONE ? model_mem0(real->model)
                                                   : texts[i].recall};
    int code = model_embed(real->model, inputs, count, NULL, ret, err);
    free(inputs);
    return code;
}

static int real_recall(void *context, const float *query, const float *memories,
                       size_t count, float *ret, struct err *err)
{
    const struct real *real = context;
    return model_recall(real->model, query, memories, count, ret, err);
}

static int real_aggregate(void *context, int policy, const float *children,
                          const size_t *start, size_t groups, float *ret,
                          struct err *err)
{
    const struct real *real = context;
    return model_pool_groups(
        real->model, policy == AGGREGATE_MEAN ? POOL_MEAN : POOL_ATTENTION,
        children, start, groups, ret, err);
}

/* Through a fixed matrix: keys are no memories. */
static int real_keys(void *context, const float *memories, size_t count,
                     float *ret, struct err *err)
{
    const struct real *real = context;
    size_t width = model_facts(real->model)->width;
    (void)err;
    for (size_t m = 0; m < count; m++) {
        uint64_t seed = 5;
        for (size_t k = 0; k < KEYS; k++) {
            ret[m * KEYS + k] = 0;
            for (size_t i = 0; i < width; i++)
                ret[m * KEYS + k] += memories[m * width + i] *
                                     ((float)unit_below(&seed, 200) - 99.5F);
        }
        make_unit(ret + m * KEYS, KEYS);
    }
    return 0;
}

static void so_do_those_of_a_model(void **state)
{
    (void)state;
    struct real real = {.embedder = {.context = &real,
                                     .facts = real_facts,
                                     .tokenize = real_tokenize,
                                     .embed = real_embed,
                                     .recall = real_recall,
                                     .aggregate = real_aggregate,
                                     .keys = real_keys}};
    struct model_options options = {.kernels = kernels_cpu()};
    struct err err = {0};
    if (model_open("tests/golden/models/memory", &options, &real.model, &err))
        fail_msg("%s: %s", err.path, err.message);
    for (size_t p = 0; p < POLICIES; p++) {
        struct test_library lib;
        struct memories_report report;
        test_library_open(&lib);
        test_publish(&lib, pages, PAGES);
        struct snapshot *snapshot = library_snapshot(lib.library);
        if (memories_update(snapshot, snapshot->views[0], &real.embedder,
                            &policies[p], NULL, NULL, NULL, NULL, &report,
                            &err))
            fail_msg("%s", err.message);
        snapshot_unref(snapshot);
        assert_true(report.encoded > SEGMENTS);
        double worst = check_equations(&lib, &real.embedder, &policies[p]);
        if (!(worst < 3e-3))
            fail_msg("policy %zu: off by %g", p, worst);
        test_library_close(&lib);
    }
    model_close(real.model);
}

static void a_moved_file_encodes_nothing(void **state)
{
    (void)state;
    for (size_t p = 0; p < POLICIES; p++) {
        struct test_library lib;
        struct toy toy;
        struct test_page moved[PAGES] = {pages[1], pages[2], pages[0]};
        moved[2].path = "z.html";
        toy_open(&toy, true);
        test_library_open(&lib);
        test_publish(&lib, pages, PAGES);
        check_update(&lib, &toy, &policies[p], SEGMENTS);
        test_publish(&lib, moved, PAGES);
        check_update(&lib, &toy, &policies[p], 0);
        assert_int_equal(toy.calls + toy.tokenized, 0);
        assert_true(check_equations(&lib, &toy.embedder, &policies[p]) < 4e-3);
        test_library_close(&lib);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_follow_the_equations),
        cmocka_unit_test(so_do_those_of_a_model),
        cmocka_unit_test(a_moved_file_encodes_nothing),
    };
    return cmocka_run_group_tests_name("memories equations", tests, NULL, NULL);
}
