/* What the tests of whole models on a device share: one if there is one, and its
 * kernels emulated (tests/cuda: their logic, no result of a GPU).  Operation by
 * operation that is in the tests over bench.h. */
#ifndef TESTS_UNIT_SUPPORT_DEVICES_H
#define TESTS_UNIT_SUPPORT_DEVICES_H

#include "tests/unit/support/models.h"

#include "tests/cuda/emulated.h"

enum { TABLES = 2 };

/* NULL, said: it is not there. */
static inline const struct kernels *device_table(int i)
{
    const char *reason = NULL;
    const struct kernels *table =
        (i ? kernels_cuda : kernels_emulated)(&reason);
    if (!table)
        printf("SKIP %s: %s\n", i ? "cuda" : "cuda emulated", reason);
    return table;
}

/* Logits [count - prompt, vocabulary] of the tokens after a prompt, read one at a
 * time; to be freed. */
static inline float *read_steps(struct model *model, const int32_t *ids,
                                size_t prompt, size_t count)
{
    size_t vocabulary = model_facts(model)->vocabulary;
    float *logits = mem_alloc((count - prompt) * vocabulary * sizeof *logits);
    struct session *session = open_session(model);
    feed(session, ids, prompt);
    for (size_t i = prompt; i < count; i++) {
        feed(session, ids + i, 1);
        memcpy(logits + (i - prompt) * vocabulary, session_logits(session),
               vocabulary * sizeof *logits);
    }
    session_close(session);
    return logits;
}

/* With all chunks chosen `exact` is full attention. */
static inline void check_exact(struct model *model, double bound)
{
    enum { LENGTH = 200 };
    const struct session_exact all = {.top_k = 64, .window = 64};
    int32_t ids[LENGTH];
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *full = open_session(model), *exact = NULL;
    fill_ids(ids, LENGTH, vocabulary, 13);
    assert_int_equal(session_open_exact(model, &all, &exact, NULL), 0);
    feed(full, ids, LENGTH);
    feed(exact, ids, LENGTH);
    check_near("exact", session_logits(exact), session_logits(full), vocabulary,
               bound);
    session_close(full);
    session_close(exact);
}

#endif
