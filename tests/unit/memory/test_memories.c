#include "tests/unit/support/memory_fixtures.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "memory/vectors/dense.h"
#include "memory/store/store_internal.h"
#include "memory/routing/route.h"

/* ---- What is encoded again ---- */

static bool was_encoded(const struct toy *toy, const char *first)
{
    for (size_t i = 0; i < toy->encoded; i++)
        if (toy->firsts[i] == toy_id(first, strlen(first)))
            return true;
    return false;
}

static void an_edit_encodes_its_segment_and_the_ancestors(void **state)
{
    (void)state;
    for (size_t p = 0; p < POLICIES; p++) {
        bool recalls = policies[p].recall != RECALL_OFF;
        struct test_library lib;
        struct toy toy;
        struct test_page edited[PAGES];
        struct vector_table before, after;
        toy_open(&toy, true);
        test_library_open(&lib);
        test_publish(&lib, pages, PAGES);
        check_update(&lib, &toy, &policies[p], SEGMENTS);
        read_table(&lib, &before);
        memcpy(edited, pages, sizeof pages);
        edited[0].nodes[2].text = "second text|a2c goes on with others";
        test_publish(&lib, edited, PAGES);
        check_update(&lib, &toy, &policies[p], recalls ? 3 : 1);
        assert_true(was_encoded(&toy, "a2c"));
        assert_int_equal(was_encoded(&toy, "A"), recalls);
        assert_int_equal(was_encoded(&toy, "manual"), recalls);
        read_table(&lib, &after);
        assert_int_equal(vectors_number(&lib), 2);
        for (uint32_t n = 0; n < NODES; n++) {
            bool same = !memcmp(before.subtrees + n * TOY_WIDTH,
                                after.subtrees + n * TOY_WIDTH,
                                TOY_WIDTH * sizeof(float));
            assert_int_equal(same, n != 0 && n != 1 && n != 3);
        }
        vector_table_free(&before);
        vector_table_free(&after);
        test_library_close(&lib);
    }
}

static void what_is_current_is_left_alone(void **state)
{
    (void)state;
    struct test_library lib;
    struct memories_report first, second;
    struct toy toy;
    toy_open(&toy, true);
    test_library_open(&lib);
    test_publish(&lib, pages, PAGES);
    assert_int_equal(update(&lib, &toy, &policies[1], &first, NULL), 0);
    assert_int_equal(update(&lib, &toy, &policies[1], &second, NULL), 0);
    assert_true(first.changed && !second.changed);
    assert_int_equal(first.segments, SEGMENTS);
    assert_int_equal(second.segments, SEGMENTS);
    assert_int_equal(first.tokens, second.tokens);
    assert_int_equal(first.encoded_tokens, first.tokens);
    assert_int_equal(second.encoded, 0);
    assert_int_equal(toy.calls + toy.tokenized, 0);
    assert_int_equal(vectors_number(&lib), 1);
    test_library_close(&lib);
}

static void put_damaged(struct test_library *lib, size_t part)
{
    struct store_txn *txn;
    struct slice bytes;
    assert_int_equal(store_write(lib->store, &txn, NULL), 0);
    assert_int_equal(store_get_vectors(txn, lib->manual, &bytes, NULL), 0);
    char *copy = mem_strndup(bytes.data, bytes.size);
    bytes = (struct slice){copy, bytes.size * part / 16};
    assert_int_equal(store_put_vectors(txn, lib->manual, bytes, NULL), 0);
    assert_int_equal(store_commit(txn, NULL), 0);
    free(copy);
    assert_int_equal(library_refresh(lib->library, NULL), 0);
}

/* Also when their head still says that they are current. */
static void damaged_vectors_are_made_again(void **state)
{
    (void)state;
    struct test_library lib;
    struct toy toy;
    toy_open(&toy, true);
    test_library_open(&lib);
    test_publish(&lib, pages, PAGES);
    check_update(&lib, &toy, &policies[1], SEGMENTS);
    for (size_t part = 0; part < 16; part += 5) {
        put_damaged(&lib, part);
        check_update(&lib, &toy, &policies[1], 0);
        assert_int_equal(library_refresh(lib.library, NULL), 0);
        struct snapshot *snapshot = library_snapshot(lib.library);
        assert_non_null(snapshot->views[0]->vectors);
        snapshot_unref(snapshot);
    }
    test_library_close(&lib);
}

/* A model made to embed reads the titles that a segment stands under; a new title is read
 * before all that it is over, also where the last plan is kept. */
static void embedded_segments_have_headings(void **state)
{
    (void)state;
    struct test_library lib;
    struct toy toy;
    struct test_page edited[PAGES];
    toy_open(&toy, false);
    toy.facts.embeds = true;
    kept_of_test = plan_cache_new(1 << 20);
    test_library_open(&lib);
    test_publish(&lib, pages, PAGES);
    check_update(&lib, &toy, &policies[0], SEGMENTS);
    assert_true(was_encoded(&toy, "A:") && was_encoded(&toy, "B1:"));
    assert_true(was_encoded(&toy, "manual:") && !was_encoded(&toy, "A1"));
    assert_int_equal(library_refresh(lib.library, NULL), 0);
    memcpy(edited, pages, sizeof pages);
    edited[0].nodes[0].title = "Q";
    test_publish(&lib, edited, PAGES);
    check_update(&lib, &toy, &policies[0], 4);
    assert_true(was_encoded(&toy, "Q:") && !was_encoded(&toy, "B1:"));
    test_library_close(&lib);
    plan_cache_free(kept_of_test);
    kept_of_test = NULL;
}

/* What several segments are read behind is tokenized once. */
static void headings_are_tokenized_once(void **state)
{
    (void)state;
    static const struct test_page page[] = {
        {"a.html",
         {{-1, "A", NULL},
          {0, "A1",
           "one two three four five|six seven eight nine ten|"
           "more and more and more words|to be read by themselves"},
          {0, "A2", "five"}}}};
    struct test_library lib;
    struct toy toy;
    struct memories_report report;
    toy_open(&toy, false);
    toy.facts.embeds = true;
    test_library_open(&lib);
    test_publish(&lib, page, 1);
    assert_int_equal(update(&lib, &toy, &policies[0], &report, NULL), 0);
    assert_true(report.segments > 6); /* A1's are several */
    toy.facts.model.low++;            /* they are cut already */
    toy.tokenized = 0;
    assert_int_equal(update(&lib, &toy, &policies[0], &report, NULL), 0);
    assert_int_equal(report.encoded, report.segments);
    /* "A: ", "A: A1", "A: " and "manual: "; nothing stands over the manual */
    assert_int_equal(toy.tokenized, report.segments + 4);
    test_library_close(&lib);
}

static void another_policy_encodes_what_it_concerns(void **state)
{
    (void)state;
    struct test_library lib;
    struct memory_policy longer = {.aggregate = AGGREGATE_MEAN,
                                   .recall = RECALL_OFF,
                                   .segment_tokens = 100};
    struct toy toy;
    toy_open(&toy, true);
    test_library_open(&lib);
    test_publish(&lib, pages, PAGES);
    check_update(&lib, &toy, &policies[0], SEGMENTS);
    assert_int_equal(toy.summaries + toy.recalls, 0);
    check_update(&lib, &toy, &policies[1], INNER);
    assert_int_equal(toy.summaries + toy.recalls, 0); /* of one a_v */
    check_update(&lib, &toy, &policies[2], INNER);
    assert_int_equal(toy.summaries, INNER - 1); /* B has one child */
    assert_int_equal(toy.recalls, INNER - 1);
    check_update(&lib, &toy, &policies[4], INNER);
    check_update(&lib, &toy, &policies[3], 0);
    check_update(&lib, &toy, &longer, 1); /* A2 whole */
    toy.facts.model.low = 9;
    check_update(&lib, &toy, &longer, SEGMENTS - 1);
    /* A model that does not recall: as if it were off. */
    toy.facts.recalls = false;
    check_update(&lib, &toy, &policies[0], 2); /* A2 in two */
    struct memories_report report;
    assert_int_equal(update(&lib, &toy, &policies[1], &report, NULL), 0);
    assert_false(report.changed);
    test_library_close(&lib);
}

/* ---- Interrupted ---- */

enum { MANY = 400 };

/* As many pages with a leaf each below them; some leaves are the same. */
static void publish_many(struct test_library *lib)
{
    struct test_page *many = mem_alloc(MANY * sizeof *many);
    char(*names)[3][32] = mem_alloc(MANY * sizeof *names);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i][0], 32, "p%03d.html", i);
        snprintf(names[i][1], 32, "P%03d", i);
        snprintf(names[i][2], 32, "text number %d", i / 2);
        many[i] = (struct test_page){
            names[i][0], {{-1, names[i][1], "p"}, {0, "Leaf", names[i][2]}}};
    }
    test_publish(lib, many, MANY);
    free(many);
    free(names);
}

enum { MANY_ENCODED = MANY + MANY / 2 + 1 };

static void what_was_encoded_stays(void **state)
{
    (void)state;
    struct vector_table whole, parts;
    struct test_library lib;
    struct toy toy;
    toy_open(&toy, true);
    test_library_open(&lib);
    publish_many(&lib);
    check_update(&lib, &toy, &policies[1], MANY_ENCODED);
    size_t calls = toy.calls;
    read_table(&lib, &whole);
    test_library_close(&lib);
    assert_true(calls >= MANY_ENCODED / 64 && calls <= MANY_ENCODED / 50 + 4);
    for (size_t after = 1; after < calls; after++) {
        struct memories_report report;
        struct err err = {0};
        toy_open(&toy, true);
        test_library_open(&lib);
        publish_many(&lib);
        toy.cancel_after = after;
        assert_int_equal(update(&lib, &toy, &policies[1], &report, &err),
                         ERR_CANCELLED);
        assert_int_equal(toy.calls, after);
        assert_int_equal(vectors_number(&lib), 0);
        size_t encoded = toy.encoded;
        assert_int_equal(store_collect(lib.store, NULL), 0);
        toy_open(&toy, true);
        check_update(&lib, &toy, &policies[1], MANY_ENCODED - encoded);
        read_table(&lib, &parts);
        assert_memory_equal(whole.subtrees, parts.subtrees,
                            whole.node_count * TOY_WIDTH * sizeof(float));
        assert_memory_equal(whole.keys, parts.keys,
                            whole.row_count * TOY_WIDTH * sizeof(float));
        vector_table_free(&parts);
        test_library_close(&lib);
    }
    vector_table_free(&whole);
}

static void failures_put_nothing_in_place(void **state)
{
    (void)state;
    struct test_library lib;
    struct memories_report report;
    struct err err = {0};
    struct toy toy;
    toy_open(&toy, true);
    test_library_open(&lib);
    test_publish(&lib, pages, PAGES);
    struct snapshot *old = library_snapshot(lib.library);
    toy.broken = true;
    assert_int_equal(update(&lib, &toy, &policies[1], &report, &err),
                     ERR_MODEL);
    toy.broken = false;
    test_publish(&lib, pages, PAGES - 1);
    assert_int_equal(memories_update(old, old->views[0], &toy.embedder,
                                     &policies[1], NULL, NULL, NULL, NULL,
                                     &report, &err),
                     ERR_CANCELLED);
    assert_non_null(strstr(err.message, "changed meanwhile"));
    assert_int_equal(vectors_number(&lib), 0);
    snapshot_unref(old);
    check_update(&lib, &toy, &policies[1], 1); /* the root */
    test_library_close(&lib);
}

static void read_joined(struct test_library *lib, struct vector_table *ret,
                        bool *ret_delta)
{
    struct snapshot *snapshot = library_snapshot(lib->library);
    const struct tree *outline = snapshot_view(snapshot, "manual")->outline;
    uint64_t *ids = mem_alloc(outline->count * sizeof *ids);
    struct store_txn *txn;
    struct slice delta;
    for (uint32_t n = 0; n < outline->count; n++)
        ids[n] = outline->nodes[n].id;
    assert_int_equal(store_read(lib->store, &txn, NULL), 0);
    assert_int_equal(
        vectors_read(txn, lib->manual, ids, outline->count, ret, NULL), 0);
    assert_int_equal(vector_table_read_keys(txn, ret, NULL), 0);
    *ret_delta = !store_get_vector_delta(txn, lib->manual, &delta, NULL);
    store_end(txn);
    free(ids);
    snapshot_unref(snapshot);
}

/* The vectors of a table as they are when all are made. */
static void check_as_whole(struct test_library *lib, struct toy *toy,
                           const struct memory_policy *policy)
{
    struct vector_table got, want;
    struct memories_report report;
    bool delta;
    read_joined(lib, &got, &delta);
    assert_true(delta);
    struct memory_policy other = *policy; /* so that it is made anew */
    other.segment_tokens++;
    assert_int_equal(update(lib, toy, &other, &report, NULL), 0);
    assert_int_equal(library_refresh(lib->library, NULL), 0);
    assert_int_equal(update(lib, toy, policy, &report, NULL), 0);
    assert_true(report.changed);
    assert_int_equal(library_refresh(lib->library, NULL), 0);
    read_joined(lib, &want, &delta);
    assert_false(delta);
    assert_int_equal(got.node_count, want.node_count);
    assert_int_equal(got.row_count, want.row_count);
    assert_int_equal(got.segments, want.segments);
    assert_int_equal(got.tokens, want.tokens);
    assert_memory_equal(got.nodes, want.nodes,
                        got.node_count * sizeof *got.nodes);
    assert_memory_equal(got.row_nodes, want.row_nodes,
                        got.row_count * sizeof *got.row_nodes);
    assert_memory_equal(got.subtrees, want.subtrees,
                        got.node_count * got.width * sizeof *got.subtrees);
    assert_memory_equal(got.keys, want.keys,
                        got.row_count * got.width * sizeof *got.keys);
    vector_table_free(&got);
    vector_table_free(&want);
}

/* With what is kept only what changed is planned, and put before the rest; the
 * vectors are those of a making without it. */
static void what_is_kept_saves_work_only(void **state)
{
    (void)state;
    for (size_t p = 0; p < POLICIES; p++) {
        struct test_library lib;
        struct memories_report report;
        struct toy toy;
        struct plan_cache *plan_cache = plan_cache_new(1 << 20);
        toy_open(&toy, true);
        test_library_open(&lib);
        test_publish(&lib, pages, PAGES);
        kept_of_test = plan_cache;
        assert_int_equal(update(&lib, &toy, &policies[p], &report, NULL), 0);
        assert_int_equal(library_refresh(lib.library, NULL), 0);
        size_t encoded = report.encoded;
        test_publish(&lib, pages, PAGES - 1);
        assert_int_equal(update(&lib, &toy, &policies[p], &report, NULL), 0);
        assert_true(report.changed && report.encoded < encoded);
        assert_int_equal(library_refresh(lib.library, NULL), 0);
        test_publish(&lib, pages, PAGES);
        assert_int_equal(update(&lib, &toy, &policies[p], &report, NULL), 0);
        assert_int_equal(library_refresh(lib.library, NULL), 0);
        kept_of_test = NULL;
        check_as_whole(&lib, &toy, &policies[p]);
        plan_cache_free(plan_cache);
        test_library_close(&lib);
    }
}

static uint32_t names_of_delta(struct test_library *lib)
{
    struct store_txn *txn;
    struct slice bytes;
    struct vector_table head = {0};
    assert_int_equal(store_read(lib->store, &txn, NULL), 0);
    if (!store_get_vector_delta(txn, lib->manual, &bytes, NULL))
        assert_int_equal(vector_table_head(bytes, &head, NULL), 0);
    store_end(txn);
    uint32_t count = head.name_count;
    vector_table_free(&head);
    return count;
}

/* It names what edits before it made, too; not for ever. */
static void a_page_edited_often_is_written_anew(void **state)
{
    (void)state;
    struct test_library lib;
    struct memories_report report;
    struct toy toy;
    struct test_page edited[PAGES];
    struct plan_cache *plan_cache = plan_cache_new(1 << 20);
    size_t written = 0;
    toy_open(&toy, true);
    test_library_open(&lib);
    memcpy(edited, pages, sizeof pages);
    kept_of_test = plan_cache;
    for (int i = 0; i < 60; i++) {
        char text[40];
        snprintf(text, sizeof text, "second text|a2c edit number%d", i);
        edited[0].nodes[2].text = text;
        test_publish(&lib, edited, PAGES);
        assert_int_equal(update(&lib, &toy, &policies[1], &report, NULL), 0);
        assert_int_equal(library_refresh(lib.library, NULL), 0);
        uint32_t names = names_of_delta(&lib);
        written += names == 0;
        assert_true(names <= 64 + (SEGMENTS + NODES) / 8);
    }
    assert_true(written > 1 && written < 20);
    kept_of_test = NULL;
    plan_cache_free(plan_cache);
    test_library_close(&lib);
}

/* What the tokenizer cannot read costs its own words, not the manual. */
static void a_line_beyond_the_tokenizer_is_left_out(void **state)
{
    (void)state;
    struct test_library lib;
    struct toy toy;
    struct test_page odd[PAGES];
    toy_open(&toy, true);
    test_library_open(&lib);
    memcpy(odd, pages, sizeof pages);
    odd[2].nodes[0].text = "before it|$ " TOY_TOO_MUCH " y|after it";
    test_publish(&lib, odd, PAGES);
    struct memories_report report;
    assert_int_equal(update(&lib, &toy, &policies[1], &report, NULL), 0);
    assert_true(was_encoded(&toy, "C"));
    assert_true(was_encoded(&toy, "after"));
    assert_int_equal(report.segments, SEGMENTS + 2);
    assert_int_equal(vectors_number(&lib), 1);
    test_library_close(&lib);
}

static void what_no_vectors_are_made_of_is_collected(void **state)
{
    (void)state;
    struct test_library lib;
    struct toy toy;
    struct test_page edited[PAGES];
    toy_open(&toy, true);
    test_library_open(&lib);
    test_publish(&lib, pages, PAGES);
    check_update(&lib, &toy, &policies[1], SEGMENTS);
    memcpy(edited, pages, sizeof pages);
    edited[2].nodes[0].text = "other";
    test_publish(&lib, edited, PAGES);
    assert_int_equal(store_collect(lib.store, NULL), 0);
    check_update(&lib, &toy, &policies[1], 2);
    test_publish(&lib, pages, PAGES); /* back, while the old ones are there */
    check_update(&lib, &toy, &policies[1], 0);
    test_publish(&lib, edited, PAGES);
    check_update(&lib, &toy, &policies[1], 0);
    assert_int_equal(store_collect(lib.store, NULL), 0);
    test_publish(&lib, pages, PAGES); /* and when they are gone */
    check_update(&lib, &toy, &policies[1], 2);
    assert_int_equal(toy.tokenized, 3); /* cut, and both encoded */
    test_library_close(&lib);
}

/* ---- Many ---- */

enum { HEAPS = 1500, EACH = PAGE_NODES, ASKED = 20, FOUND = 10 };

/* Enough segments for an index; those of the first `changed` pages read
 * otherwise. */
static void publish_heaps(struct test_library *lib, int changed)
{
    struct test_page *heaps = mem_alloc(HEAPS * sizeof *heaps);
    char(*names)[1 + 2 * EACH][32] = mem_alloc(HEAPS * sizeof *names);
    for (int i = 0; i < HEAPS; i++) {
        snprintf(names[i][0], 32, "p%04d.html", i);
        heaps[i].path = names[i][0];
        for (int n = 0; n < EACH; n++) {
            char *title = names[i][1 + 2 * n], *text = names[i][2 + 2 * n];
            snprintf(title, 32, "T%d.%d", i, n);
            snprintf(text, 32, "%s %d %d", i < changed ? "new" : "old", i, n);
            heaps[i].nodes[n] = (struct test_node){n ? 0 : -1, title, text};
        }
    }
    test_publish(lib, heaps, HEAPS);
    free(heaps);
    free(names);
}

static void ask_dense(struct test_library *lib, const struct toy *toy,
                      const float *vector, struct route_result *ret)
{
    struct snapshot *snapshot = library_snapshot(lib->library);
    struct route_request request = {
        .query = "anything",
        .mode = ROUTE_DENSE,
        .max = FOUND,
        .vector = vector,
        .policy = memories_policy(&policies[0], &toy->facts)};
    assert_int_equal(route_question(snapshot, &request, ret, NULL), 0);
    snapshot_unref(snapshot);
    for (size_t i = 0; i < ret->count; i++)
        ret->hits[i].view = NULL; /* of a snapshot that may be gone */
}

struct indexing {
    struct library *library;
    atomic_bool ended;
};

static void *make_index(void *context)
{
    struct indexing *indexing = context;
    assert_int_equal(library_index(indexing->library, NULL, NULL), 0);
    atomic_store(&indexing->ended, true);
    return NULL;
}

/* What only older shelves refer to may be collected meanwhile. */
static void check_index_holds_no_shelf(struct test_library *lib)
{
    struct indexing indexing = {.library = lib->library};
    const struct timespec pause = {0, 1000000};
    bool settled = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_index, &indexing), 0);
    nanosleep(&pause, NULL);
    assert_int_equal(library_refresh(lib->library, NULL), 0);
    while (!atomic_load(&indexing.ended)) {
        bool now = library_is_settled(lib->library);
        settled = settled || (now && !atomic_load(&indexing.ended));
        nanosleep(&pause, NULL);
    }
    pthread_join(thread, NULL);
    assert_true(settled);
}

static void many_segments_are_searched_through_an_index(void **state)
{
    (void)state;
    struct plan_cache *plan_cache = plan_cache_new(64 << 20);
    struct test_library lib;
    struct toy toy;
    struct memories_report report;
    struct route_result flat[ASKED], listed;
    float vectors[ASKED][TOY_WIDTH];
    uint64_t seed = 4;
    size_t same = 0;
    toy_open(&toy, false);
    test_library_open(&lib);
    publish_heaps(&lib, 0);
    kept_of_test = plan_cache;
    assert_false(library_wants_index(lib.library));
    assert_int_equal(update(&lib, &toy, &policies[0], &report, NULL), 0);
    assert_int_equal(library_refresh(lib.library, NULL), 0);
    assert_true(library_wants_index(lib.library));
    for (int q = 0; q < ASKED; q++) {
        for (int i = 0; i < TOY_WIDTH; i++)
            vectors[q][i] = (float)unit_below(&seed, 2001) / 1000 - 1;
        make_unit(vectors[q], TOY_WIDTH);
        ask_dense(&lib, &toy, vectors[q], &flat[q]);
        assert_int_equal(flat[q].dense.rows, HEAPS * EACH);
        assert_int_equal(flat[q].dense.lists, 0);
    }
    check_index_holds_no_shelf(&lib);
    assert_int_equal(library_refresh(lib.library, NULL), 0);
    assert_false(library_wants_index(lib.library));
    for (int q = 0; q < ASKED; q++) {
        ask_dense(&lib, &toy, vectors[q], &listed);
        assert_true(listed.dense.lists && listed.dense.probes &&
                    listed.dense.seen && !listed.dense.added);
        for (size_t i = 0; i < FOUND; i++)
            for (size_t j = 0; j < FOUND; j++)
                same += flat[q].hits[i].node == listed.hits[j].node;
        route_result_free(&flat[q]);
        route_result_free(&listed);
    }
    assert_true(same * 100 >= (size_t)ASKED * FOUND * 96);
    publish_heaps(&lib, 3); /* an edit: its segments are looked at besides */
    assert_int_equal(update(&lib, &toy, &policies[0], &report, NULL), 0);
    assert_int_equal(report.encoded, 3 * EACH);
    assert_true(names_of_delta(&lib) >= 3 * EACH);
    assert_int_equal(library_refresh(lib.library, NULL), 0);
    assert_false(library_wants_index(lib.library));
    struct snapshot *snapshot = library_snapshot(lib.library);
    const struct vectors *now = snapshot->views[0]->vectors;
    uint32_t node = vectors_node(now, 1);
    memcpy(vectors[0], vectors_key(now, 1), sizeof vectors[0]);
    struct dense_state dense;
    dense_state(snapshot->dense, &dense);
    assert_int_equal(dense.rows, HEAPS * EACH);
    assert_int_equal(dense.gone, 3 * EACH); /* the base's are of no use */
    snapshot_unref(snapshot);
    ask_dense(&lib, &toy, vectors[0], &listed);
    assert_int_equal(listed.dense.added, 3 * EACH);
    assert_int_equal(listed.hits[0].node, node);
    route_result_free(&listed);
    kept_of_test = NULL;
    plan_cache_free(plan_cache);
    test_library_close(&lib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_edit_encodes_its_segment_and_the_ancestors),
        cmocka_unit_test(what_is_current_is_left_alone),
        cmocka_unit_test(damaged_vectors_are_made_again),
        cmocka_unit_test(embedded_segments_have_headings),
        cmocka_unit_test(headings_are_tokenized_once),
        cmocka_unit_test(another_policy_encodes_what_it_concerns),
        cmocka_unit_test(what_was_encoded_stays),
        cmocka_unit_test(failures_put_nothing_in_place),
        cmocka_unit_test(what_is_kept_saves_work_only),
        cmocka_unit_test(a_page_edited_often_is_written_anew),
        cmocka_unit_test(a_line_beyond_the_tokenizer_is_left_out),
        cmocka_unit_test(what_no_vectors_are_made_of_is_collected),
        cmocka_unit_test(many_segments_are_searched_through_an_index),
    };
    return cmocka_run_group_tests_name("memories", tests, NULL, NULL);
}
