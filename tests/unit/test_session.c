#include "tests/unit/models.h"

#include "model/sample.h"

static void what_is_forgotten_does_not_matter(void **state)
{
    (void)state;
    struct model *model = open_kind("untied", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *a = open_session(model), *b = open_session(model);
    int32_t ids[200];
    uint64_t seed = 9;
    for (size_t i = 0; i < 200; i++)
        ids[i] = (int32_t)unit_below(&seed, (uint32_t)vocabulary);
    assert_null(session_logits(a));
    assert_int_equal(session_feed(a, ids, 200, NULL, NULL, NULL), 0);
    session_truncate(a, 300);
    assert_non_null(session_logits(a));
    session_truncate(a, 30);
    assert_null(session_logits(a));
    assert_int_equal(session_length(a), 30);
    assert_int_equal(session_feed(a, ids + 30, 40, NULL, NULL, NULL), 0);
    /* The other one is read in between, and grows page by page. */
    for (size_t i = 0; i < 70; i++)
        assert_int_equal(session_feed(b, ids + i, 1, NULL, NULL, NULL), 0);
    check_near("truncated", session_logits(a), session_logits(b), vocabulary,
               1e-5);
    session_close(a);
    session_close(b);
    model_close(model);
}

/* Longer than one pass, and than a page many times over. */
static void long_prompts_are_read_in_passes(void **state)
{
    (void)state;
    struct model *model = open_kind("tied", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *a = open_session(model), *b = open_session(model);
    struct err err = {0};
    int32_t ids[513];
    uint64_t seed = 10;
    for (size_t i = 0; i < 513; i++)
        ids[i] = (int32_t)unit_below(&seed, (uint32_t)vocabulary);
    assert_int_equal(model_facts(model)->context, 512);
    assert_int_equal(session_feed(a, ids, 513, NULL, NULL, &err), ERR_LIMIT);
    assert_int_equal(session_feed(a, ids, 512, NULL, NULL, &err), 0);
    assert_int_equal(session_feed(b, ids, 500, NULL, NULL, &err), 0);
    assert_int_equal(session_feed(b, ids + 500, 12, NULL, NULL, &err), 0);
    check_near("passes", session_logits(a), session_logits(b), vocabulary,
               1e-5);
    assert_int_equal(session_feed(a, ids, 1, NULL, NULL, &err), ERR_LIMIT);
    struct answer answer = {.most = MOST_IDS};
    struct generate_options options = {.most = 9, .stops = ids};
    size_t made;
    assert_int_equal(
        session_generate(a, &options, take_token, &answer, &made, &err), 0);
    assert_int_equal(made, 1); /* the context is full */
    session_close(a);
    session_close(b);
    model_close(model);
}

static void wrong_ids_are_refused(void **state)
{
    (void)state;
    struct model *model = open_kind("memory", kernels_ref());
    struct session *session = open_session(model);
    int32_t wrong[] = {1, (int32_t)model_facts(model)->vocabulary, -1};
    struct embed_input input = {wrong, 2, NULL}, none = {wrong, 0, NULL};
    float out[64];
    struct answer answer = {.most = MOST_IDS};
    struct generate_options options = {.most = 1};
    size_t made;
    assert_true(model_facts(model)->width <= 64);
    assert_int_equal(session_feed(session, wrong, 2, NULL, NULL, NULL),
                     ERR_USAGE);
    assert_int_equal(session_feed(session, wrong + 2, 1, NULL, NULL, NULL),
                     ERR_USAGE);
    assert_int_equal(session_length(session), 0);
    assert_int_equal(
        session_generate(session, &options, take_token, &answer, &made, NULL),
        ERR_USAGE);
    assert_int_equal(model_embed(model, &input, 1, NULL, out, NULL), ERR_USAGE);
    assert_int_equal(model_embed(model, &none, 1, NULL, out, NULL), ERR_USAGE);
    session_close(session);
    model_close(model);
}

static bool after_some(void *context)
{
    int *left = context;
    return --*left < 0;
}

static void work_is_cancelled(void **state)
{
    (void)state;
    struct model *model = open_kind("memory", kernels_cpu());
    struct session *session = open_session(model);
    static const int32_t ids[] = {5, 6, 7, 8}, none = -1;
    int left = 1;
    struct cancel cancel = {after_some, &left};
    struct err err = {0};
    float out[64];
    assert_int_equal(session_feed(session, ids, 4, &cancel, NULL, &err),
                     ERR_CANCELLED);
    assert_int_equal(session_length(session), 0);
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, &err), 0);
    left = 2 * 3 + 1; /* three tokens of two layers, and one layer more */
    struct answer answer = {.most = MOST_IDS};
    struct generate_options options = {
        .most = 20, .stops = &none, .stop_count = 1, .cancel = &cancel};
    size_t made = 0;
    assert_int_equal(
        session_generate(session, &options, take_token, &answer, &made, &err),
        ERR_CANCELLED);
    assert_int_equal(made, 4);
    assert_int_equal(answer.count, 4);
    assert_int_equal(session_length(session), 4 + 3);
    left = 0;
    struct embed_input input = {ids, 4, model_mem(model)};
    assert_int_equal(model_embed(model, &input, 1, &cancel, out, &err),
                     ERR_CANCELLED);
    session_close(session);
    model_close(model);
}

static void answer_with(struct model *model, double temperature, uint64_t seed,
                        struct answer *answer)
{
    static const int32_t ids[] = {5, 6, 7, 8}, none = -1;
    struct session *session = open_session(model);
    struct generate_options options = {.most = 20,
                                       .temperature = temperature,
                                       .seed = seed,
                                       .stops = &none,
                                       .stop_count = 1};
    size_t made;
    *answer = (struct answer){.most = MOST_IDS};
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, NULL), 0);
    assert_int_equal(
        session_generate(session, &options, take_token, answer, &made, NULL),
        0);
    assert_int_equal(made, 20);
    session_close(session);
}

static void seeds_decide(void **state)
{
    (void)state;
    struct model *model = open_kind("tied", kernels_cpu());
    struct answer a, b;
    answer_with(model, 1.5, 1, &a);
    answer_with(model, 1.5, 1, &b);
    assert_memory_equal(a.ids, b.ids, 20 * sizeof *a.ids);
    answer_with(model, 1.5, 2, &b);
    assert_true(memcmp(a.ids, b.ids, 20 * sizeof *a.ids) != 0);
    answer_with(model, 0, 1, &a);
    answer_with(model, 0, 2, &b);
    assert_memory_equal(a.ids, b.ids, 20 * sizeof *a.ids);
    model_close(model);
}

static void answers_stop(void **state)
{
    (void)state;
    struct model *model = open_kind("tied", kernels_cpu());
    struct answer whole, part = {.most = MOST_IDS};
    answer_with(model, 0, 0, &whole);
    static const int32_t ids[] = {5, 6, 7, 8};
    struct session *session = open_session(model);
    struct generate_options options = {
        .most = 20, .stops = &whole.ids[3], .stop_count = 1};
    size_t made, first = 0;
    while (whole.ids[first] != whole.ids[3])
        first++;
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, NULL), 0);
    assert_int_equal(
        session_generate(session, &options, take_token, &part, &made, NULL), 0);
    assert_int_equal(made, first);
    session_truncate(session, 0);
    assert_int_equal(session_feed(session, ids, 4, NULL, NULL, NULL), 0);
    options.stop_count = 0;
    part = (struct answer){.most = 2}; /* the caller has enough */
    assert_int_equal(
        session_generate(session, &options, take_token, &part, &made, NULL), 0);
    assert_int_equal(made, 2);
    /* generation_config.json's */
    assert_int_equal(model_facts(model)->stop_count, 2);
    assert_int_equal(model_facts(model)->stops[0], 3);
    session_close(session);
    model_close(model);
}

static void draws_follow_the_odds(void **state)
{
    (void)state;
    const float logits[] = {0, logf(3), NAN, -INFINITY, logf(6)};
    const float none[] = {NAN, NAN};
    size_t counts[5] = {0};
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++)
        counts[sample_draw(logits, 5, 1, &seed)]++;
    assert_int_equal(counts[2] + counts[3], 0);
    assert_true(labs((long)counts[0] - 2000) < 200);
    assert_true(labs((long)counts[1] - 6000) < 300);
    assert_int_equal(sample_greedy(logits, 5), 4);
    assert_int_equal(sample_draw(logits, 5, 0, &seed), 4);
    assert_int_equal(sample_draw(logits, 5, 1e-3, &seed), 4);
    assert_int_equal(sample_draw(none, 2, 1, &seed), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_forgotten_does_not_matter),
        cmocka_unit_test(long_prompts_are_read_in_passes),
        cmocka_unit_test(wrong_ids_are_refused),
        cmocka_unit_test(work_is_cancelled),
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(answers_stop),
        cmocka_unit_test(draws_follow_the_odds),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
