/* How many launches a layer of a decode step takes, at small sizes that go the
 * ways of the large ones: each costs some microseconds whatever it does
 * (docs/design/gpu.md, "Launches"). */
#include "tests/cuda/bench.h"

#include <string.h>

#include "base/file.h"
#include "tests/cuda/emulated.h"
#include "tests/unit/support/unit.h"

/* Launches of the graph that a step after `length` tokens is. */
static size_t launches(const struct kernels *table, enum bench_kind kind,
                       bool exact, size_t layers, size_t length)
{
    enum {
        EACH = 1000,
        STEPS = 14
    }; /* the first find too little scratch memory */
    struct session_exact how = {0};
    struct session *session = NULL;
    struct model *model;
    struct err err = {0};
    struct bench b;
    int32_t id = 1;
    bench_begin(&b, table, stdout);
    b.tiny = true;
    struct bench_shape shape = bench_shape(&b, kind);
    shape.layers = layers;
    shape.context = 2 * length;
    int code = bench_model(&b, &shape, exact, false, &model, &err);
    if (!code)
        code = exact ? session_open_exact(model, &how, &session, &err)
                     : session_open(model, &session, &err);
    for (size_t at = 0; at < length && !code; at += EACH)
        code = bench_fill(&b, model, session,
                          at + EACH < length ? at + EACH : length, &err);
    for (int i = 0; i < STEPS && !code; i++)
        code = bench_read(session, &id, 1, &err);
    if (code)
        fail_msg("%s: %s", shape.name, err.message);
    session_close(session);
    model_close(model);
    return emulated_steps_seen()->nodes;
}

static void a_layer_takes_few_launches(void **state)
{
    (void)state;
    /* LONG, EXACT_LONG: so many chunks that the choice is split over blocks. */
    enum { SHORT = 40, MEDIUM = 600, LONG = 4200, EXACT_LONG = 33000 };
    static const struct {
        enum bench_kind kind;
        bool exact;
        size_t length, of_a_layer;
    } cases[] = {
        {BENCH_345M, false, SHORT, 9},
        {BENCH_345M, false, LONG, 9},
        {BENCH_345M_DENSE, false, SHORT, 6},
        {BENCH_345M_DENSE, false, MEDIUM, 6},
        {BENCH_8B, false, MEDIUM, 6},
        {BENCH_8B, true, MEDIUM, 8},
        {BENCH_8B, true, EXACT_LONG, 8},
        {BENCH_STAR, false, SHORT, 9},
    };
    const char *reason = NULL;
    const struct kernels *table = kernels_emulated(&reason);
    if (!table)
        printf("SKIP cuda emulated: %s\n", reason);
    size_t wrong = 0;
    for (size_t i = 0; table && i < sizeof cases / sizeof cases[0]; i++) {
        size_t one =
            launches(table, cases[i].kind, cases[i].exact, 1, cases[i].length);
        size_t two =
            launches(table, cases[i].kind, cases[i].exact, 2, cases[i].length);
        if (two - one == cases[i].of_a_layer)
            continue;
        printf("case %zu: %zu launches a layer, not %zu\n", i, two - one,
               cases[i].of_a_layer);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* All of a layer: each waits within for the one before. */
static void a_layer_begins_early(void **state)
{
    enum { LENGTH = 40 };
    static const struct {
        enum bench_kind kind;
        size_t of_a_layer;
    } cases[] = {{BENCH_345M, 9}, {BENCH_345M_DENSE, 6}};
    (void)state;
    const char *reason = NULL;
    const struct kernels *table = kernels_emulated(&reason);
    if (!table)
        printf("SKIP cuda emulated: %s\n", reason);
    for (size_t i = 0; table && i < sizeof cases / sizeof cases[0]; i++) {
        size_t early[2];
        for (size_t layers = 1; layers <= 2; layers++) {
            launches(table, cases[i].kind, false, layers, LENGTH);
            early[layers - 1] = emulated_steps_seen()->early;
        }
        assert_int_equal(early[1] - early[0], cases[i].of_a_layer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_takes_few_launches),
        cmocka_unit_test(a_layer_begins_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
