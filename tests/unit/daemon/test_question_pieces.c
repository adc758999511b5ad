/* Whose pieces a question is compared by. */
#include "tests/unit/support/unit.h"

#include <string.h>

#include "base/file.h"
#include "daemon/answer/question_pieces.h"
#include "daemon/engine/engine.h"
#include "memory/embeddings/pieces.h"

#define NIB "model/nib"
enum { STOP_MS = 20000 };

/* Of a model with layers. */
static const struct embedder_facts layers = {.embeds = true, .model = {1, 2}};

struct fixture {
    struct engine *memories, *included;
    struct question_pieces *all;
};

static struct engine *start(const char *folder)
{
    const struct engine_options options = {.folder = folder};
    struct engine *engine;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    return engine;
}

static void open_fixture(struct fixture *f, const char *memories,
                         const char *included)
{
    f->memories = start(memories);
    f->included = start(included);
    f->all = question_pieces_new(f->memories, f->included);
}

static void close_fixture(struct fixture *f)
{
    question_pieces_free(f->all);
    assert_true(engine_stop(f->memories, clock_ms() + STOP_MS));
    assert_true(engine_stop(f->included, clock_ms() + STOP_MS));
}

static struct embedder_facts facts_of(struct engine *engine)
{
    struct engine_embedder e;
    struct embedder_facts facts;
    engine_embedder(engine, false, NULL, &e);
    assert_int_equal(e.embedder.facts(&e, &facts, NULL), 0);
    return facts;
}

static struct pieces *pieces_of(struct fixture *f,
                                const struct embedder_facts *memories)
{
    struct pieces *pieces = NULL;
    struct err err = {0};
    if (question_pieces_of(f->all, memories, &pieces, &err))
        fail_msg("%s", err.message);
    return pieces;
}

static void of_the_included_model_beside_one_with_layers(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, NULL, NIB);
    struct pieces *first = pieces_of(&f, &layers);
    struct pieces *second = pieces_of(&f, &layers);
    const struct embedder_facts nib = facts_of(f.included);
    assert_true(nib.bag && hash_equal(pieces_model(first), nib.model));
    assert_ptr_equal(first, second); /* read once */
    pieces_unref(first);
    pieces_unref(second);
    close_fixture(&f);
}

/* The included one is not even opened. */
static void of_the_model_of_memories_if_it_has_no_layers(void **state)
{
    (void)state;
    struct fixture f;
    struct engine_state state_of;
    open_fixture(&f, NIB, NIB);
    const struct embedder_facts nib = facts_of(f.memories);
    struct pieces *own = pieces_of(&f, &nib);
    assert_true(hash_equal(pieces_model(own), nib.model));
    engine_state(f.included, &state_of);
    assert_false(state_of.open);
    struct pieces *other =
        pieces_of(&f, &layers); /* another model's are read */
    assert_ptr_not_equal(own, other);
    engine_state(f.included, &state_of);
    assert_true(state_of.open);
    pieces_unref(own);
    pieces_unref(other);
    close_fixture(&f);
}

static void none_where_none_is_included_or_it_cannot_be_opened(void **state)
{
    (void)state;
    static const struct {
        const char *included, *reason;
    } cases[] = {{NULL, "no nib beside"}, {"/nowhere/nib", "/nowhere/nib"}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        struct pieces *pieces = NULL;
        struct err err = {0};
        open_fixture(&f, NULL, cases[i].included);
        assert_int_equal(question_pieces_of(f.all, &layers, &pieces, &err),
                         ERR_MODEL);
        assert_non_null(strstr(err.message, cases[i].reason));
        assert_null(pieces);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_included_model_beside_one_with_layers),
        cmocka_unit_test(of_the_model_of_memories_if_it_has_no_layers),
        cmocka_unit_test(none_where_none_is_included_or_it_cannot_be_opened),
    };
    return cmocka_run_group_tests_name("question_pieces", tests, NULL, NULL);
}
