/* The engine with a reranker, made of random numbers. */
#include "tests/unit/support/unit.h"

#include <math.h>
#include <stdatomic.h>

#include "base/file.h"
#include "daemon/engine/engine.h"

#define RERANKER "tests/golden/gguf/bert-rerank.gguf"
enum { PASSAGES = 6, LONG_MS = 600000 };

static const char question[] = "how do I make an index";
static const char *const texts[PASSAGES] = {
    "CREATE INDEX constructs an index on the specified column.",
    "An index can be declared unique.",
    "",
    "The library is covered by the GNU General Public License.",
    "a",
    "index index index"};

static struct engine *start(const char *folder)
{
    struct engine_options options = {.folder = folder};
    struct engine *engine = NULL;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    engine_ref(engine);
    return engine;
}

static void stop(struct engine *engine)
{
    engine_unref(engine);
    assert_true(engine_stop(engine, clock_ms() + LONG_MS));
}

static int score(struct engine *engine, int64_t budget_ms,
                 const atomic_bool *cancel, float *ret, size_t *ret_count,
                 struct err *err)
{
    struct slice passages[PASSAGES];
    for (size_t i = 0; i < PASSAGES; i++)
        passages[i] = slice_of(texts[i]);
    return engine_score(engine, slice_of(question), passages, PASSAGES,
                        budget_ms, cancel, ret, ret_count, err);
}

/* In pieces, but as the model says of each pair. */
static void scores_are_those_of_the_model(void **state)
{
    struct model_options options = {.kernels = kernels_cpu()};
    struct engine *engine = start(RERANKER);
    struct model *model = NULL;
    float got[PASSAGES], wanted;
    size_t count;
    (void)state;
    assert_int_equal(score(engine, LONG_MS, NULL, got, &count, NULL), 0);
    assert_int_equal(count, PASSAGES);
    assert_int_equal(model_open(RERANKER, &options, &model, NULL), 0);
    for (size_t i = 0; i < PASSAGES; i++) {
        struct score_input pair;
        assert_int_equal(model_pair(model, slice_of(question),
                                    slice_of(texts[i]), &pair, NULL),
                         0);
        assert_int_equal(model_score(model, &pair, 1, NULL, &wanted, NULL), 0);
        assert_true(fabsf(got[i] - wanted) <= 1e-5F);
        ids_free(&pair.ids);
    }
    model_close(model);
    stop(engine);
}

static void what_there_is_no_time_for_is_left(void **state)
{
    struct engine *engine = start(RERANKER);
    float got[PASSAGES];
    size_t count = 1;
    (void)state;
    assert_int_equal(score(engine, 0, NULL, got, &count, NULL), 0);
    assert_int_equal(count, 0);
    stop(engine);
}

static void others_score_nothing(void **state)
{
    struct engine *engine = start("tests/golden/models/memory");
    struct err err = {0};
    float got[PASSAGES];
    size_t count;
    (void)state;
    assert_int_equal(score(engine, LONG_MS, NULL, got, &count, &err),
                     ERR_MODEL);
    assert_int_equal(count, 0);
    stop(engine);
    engine = start(RERANKER);
    const atomic_bool cancel = true;
    assert_int_equal(score(engine, LONG_MS, &cancel, got, &count, &err),
                     ERR_CANCELLED);
    stop(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_model),
        cmocka_unit_test(what_there_is_no_time_for_is_left),
        cmocka_unit_test(others_score_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
