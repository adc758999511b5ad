/* What the tests of memories share: a small manual, and what is made of it by the
 * toy of an embedder. */
#ifndef TESTS_UNIT_SUPPORT_MEMORIES_H
#define TESTS_UNIT_SUPPORT_MEMORIES_H

#include "tests/unit/support/manuals.h"
#include "tests/unit/support/toy.h"

#include <math.h>

#include "memory/embeddings/memories.h"
#include "memory/vectors/vectors.h"

/* With L = 8: A2 has two segments, all others one. */
enum { L = 8, PAGES = 3, NODES = 9, SEGMENTS = 10, INNER = 4 };
static const struct test_page pages[PAGES] = {
    {"a.html",
     {{-1, "A", "about things"},
      {0, "A1", "first text"},
      {0, "A2", "second text|a2b goes on with other words"}}},
    {"b.html",
     {{-1, "B", NULL},
      {0, "B1", "inner text"},
      {1, "B11", "deep text one"},
      {1, "B12", "deep text two"}}},
    {"c.html", {{-1, "C", "last"}}},
};

static const struct memory_policy policies[] = {
    {.aggregate = AGGREGATE_MEAN, .recall = RECALL_OFF, .segment_tokens = L},
    {.aggregate = AGGREGATE_MEAN,
     .recall = RECALL_AGGREGATE,
     .segment_tokens = L},
    {.aggregate = AGGREGATE_MEAN,
     .recall = RECALL_CHILDREN,
     .segment_tokens = L},
    {.aggregate = AGGREGATE_ATTENTION,
     .recall = RECALL_OFF,
     .segment_tokens = L},
    {.aggregate = AGGREGATE_ATTENTION,
     .recall = RECALL_AGGREGATE,
     .segment_tokens = L},
    {.aggregate = AGGREGATE_ATTENTION,
     .recall = RECALL_CHILDREN,
     .segment_tokens = L},
};
enum { POLICIES = sizeof policies / sizeof policies[0] };

static struct plan_cache *kept_of_test;

static inline int update(struct test_library *lib, struct toy *toy,
                         const struct memory_policy *policy,
                         struct memories_report *ret, struct err *err)
{
    struct snapshot *snapshot = library_snapshot(lib->library);
    const struct view *view = snapshot_view(snapshot, "manual");
    toy->tokenized = toy->calls = toy->summaries = toy->recalls = 0;
    toy->encoded = 0;
    int code =
        memories_update(snapshot, view, &toy->embedder, policy, kept_of_test,
                        NULL, NULL, &toy->cancel, ret, err);
    snapshot_unref(snapshot);
    return code;
}

/* Updates, and what was encoded is as many segments. */
static inline void check_update(struct test_library *lib, struct toy *toy,
                                const struct memory_policy *policy,
                                size_t encoded)
{
    struct memories_report report;
    struct err err = {0};
    if (update(lib, toy, policy, &report, &err))
        fail_msg("%s", err.message);
    assert_true(report.changed);
    assert_int_equal(report.encoded, encoded);
    assert_int_equal(toy->encoded, encoded);
}

static inline void read_table(struct test_library *lib,
                              struct vector_table *ret)
{
    struct store_txn *txn;
    struct slice bytes;
    assert_int_equal(store_read(lib->store, &txn, NULL), 0);
    assert_int_equal(store_get_vectors(txn, lib->manual, &bytes, NULL), 0);
    assert_int_equal(vector_table_decode(bytes, ret, NULL), 0);
    assert_int_equal(vector_table_read_keys(txn, ret, NULL), 0);
    store_end(txn);
}

static inline uint64_t vectors_number(struct test_library *lib)
{
    struct store_txn *txn;
    struct manual manual;
    assert_int_equal(store_read(lib->store, &txn, NULL), 0);
    assert_int_equal(store_get_manual(txn, lib->manual, &manual, NULL), 0);
    store_end(txn);
    manual_free(&manual);
    return manual.vectors;
}

static inline void make_unit(float *values, size_t count)
{
    double square = 0;
    for (size_t i = 0; i < count; i++)
        square += (double)values[i] * (double)values[i];
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((double)values[i] / sqrt(square));
}

#endif
