/* What the tests of the papers' operations share.  The golden cases are in
 * test_kernels.c. */
#ifndef TESTS_UNIT_SUPPORT_PAPERS_H
#define TESTS_UNIT_SUPPORT_PAPERS_H

#include "tests/unit/support/bench_fixtures.h"

/* Whether the operation of the processor's table must not depend on threads. */
static inline bool on_processor(const struct bench *b)
{
    return strcmp(b->table->name, "cuda") != 0;
}

/* Fails unless an array of the bench holds exactly `expected`. */
static inline void check_same(const char *label, const char *what,
                              const void *a, const void *expected, size_t bytes)
{
    if (memcmp(a, expected, bytes) != 0)
        fail_msg("%s %s: differs", label, what);
}

static inline void check_error(const char *what, const float *a, const float *b,
                               size_t count, double bound)
{
    double error = case_error(a, b, count);
    if (!(error <= bound))
        fail_msg("%s: error %g", what, error);
}

/* Both tables of the processor. */
static inline const struct kernels *table_at(int index)
{
    ref = kernels_ref();
    return index ? kernels_cpu() : kernels_ref();
}

/* A weight of the table under test and of ref. */
struct weights {
    float *values;
    struct kernel_weight *mine, *theirs;
};

static inline bool make_weight(struct bench *b, struct weights *w, size_t n,
                               size_t k)
{
    w->mine = w->theirs = NULL;
    w->values = numbers(b, n * k, 1);
    assert_int_equal(
        ref->weight(&alone, w->values, KERNEL_F32, n, k, &w->theirs), 0);
    return done(
        b, "weight",
        b->table->weight(&b->run, w->values, KERNEL_F32, n, k, &w->mine));
}

static inline void free_weight(struct bench *b, struct weights *w)
{
    b->table->weight_free(&b->run, w->mine);
    ref->weight_free(&alone, w->theirs);
    free(w->values);
}

#endif
