#include "tests/unit/support/models.h"

#include "model/inference/forward.h"
#include "model/inference/sample.h"

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
    assert_int_equal(session_prefill(a, ids, 200, NULL, NULL, NULL), 0);
    session_rewind(a, 300);
    assert_non_null(session_logits(a));
    session_rewind(a, 30);
    assert_null(session_logits(a));
    assert_int_equal(session_length(a), 30);
    assert_int_equal(session_prefill(a, ids + 30, 40, NULL, NULL, NULL), 0);
    /* The other one is read in between, and grows page by page. */
    for (size_t i = 0; i < 70; i++)
        assert_int_equal(session_prefill(b, ids + i, 1, NULL, NULL, NULL), 0);
    check_near("truncated", session_logits(a), session_logits(b), vocabulary,
               1e-5);
    session_close(a);
    session_close(b);
    model_close(model);
}

static void check_same_logits(const char *what, struct session *a,
                              struct session *b, size_t vocabulary)
{
    assert_non_null(session_logits(a));
    assert_non_null(session_logits(b));
    if (memcmp(session_logits(a), session_logits(b),
               vocabulary * sizeof(float)) != 0)
        fail_msg("%s: other bits", what);
}

/* A session read up to `shared`, and a fork of it, go on with other tokens each;
 * as two that were never one. */
static void check_fork(struct model *model, size_t shared, size_t at,
                       size_t more)
{
    size_t vocabulary = model_facts(model)->vocabulary;
    int32_t ids[400];
    struct session *whole = open_session(model), *fork = NULL;
    struct session *alone[] = {open_session(model), open_session(model)};
    fill_ids(ids, 400, vocabulary, 11);
    assert_int_equal(session_prefill(whole, ids, shared, NULL, NULL, NULL), 0);
    assert_int_equal(session_fork(whole, at, &fork, NULL), 0);
    assert_int_equal(session_length(fork), at);
    if (at == shared)
        check_same_logits("fork", fork, whole, vocabulary);
    else
        assert_null(session_logits(fork));
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            session_prefill(alone[i], ids, shared, NULL, NULL, NULL), 0);
    session_rewind(alone[1], at);
    for (size_t i = 0; i < more; i++) { /* both write where they were one */
        assert_int_equal(
            session_prefill(fork, ids + 399 - i, 1, NULL, NULL, NULL), 0);
        assert_int_equal(
            session_prefill(whole, ids + shared + i, 1, NULL, NULL, NULL), 0);
        assert_int_equal(
            session_prefill(alone[0], ids + shared + i, 1, NULL, NULL, NULL),
            0);
        assert_int_equal(
            session_prefill(alone[1], ids + 399 - i, 1, NULL, NULL, NULL), 0);
    }
    check_same_logits("forked", whole, alone[0], vocabulary);
    check_same_logits("fork", fork, alone[1], vocabulary);
    session_close(whole); /* what is shared stays */
    assert_int_equal(session_prefill(fork, ids, 5, NULL, NULL, NULL), 0);
    assert_int_equal(session_prefill(alone[1], ids, 5, NULL, NULL, NULL), 0);
    check_same_logits("fork alone", fork, alone[1], vocabulary);
    session_close(fork);
    session_close(alone[0]);
    session_close(alone[1]);
}

static void forks_go_their_own_ways(void **state)
{
    (void)state;
    static const size_t ways[][3] = {{130, 130, 3}, {130, 100, 70}, {64, 64, 2},
                                     {128, 64, 1},  {70, 63, 3},    {5, 0, 4}};
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model = open_kind("untied", backend(b));
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
            check_fork(model, ways[i][0], ways[i][1], ways[i][2]);
        struct session *session = open_session(model), *none = NULL;
        assert_int_equal(session_fork(session, 1, &none, NULL), ERR_USAGE);
        assert_null(none);
        session_close(session);
        model_close(model);
    }
}

/* Whole pages are shared, the last one until somebody writes, and all go back. */
static void memory_goes_by_the_page(void **state)
{
    (void)state;
    struct model *model = open_kind("untied", kernels_cpu());
    const struct page_pool *pool_of = &model->pages;
    size_t page = cache_page_bytes(model);
    int32_t ids[400];
    struct session *a = open_session(model), *b = NULL;
    fill_ids(ids, 400, model_facts(model)->vocabulary, 11);
    assert_int_equal(session_prefill(a, ids, 64, NULL, NULL, NULL), 0);
    assert_int_equal(pool_of->used, 1);
    for (size_t i = 64; i < 130; i++)
        assert_int_equal(session_prefill(a, ids + i, 1, NULL, NULL, NULL), 0);
    assert_int_equal(pool_of->used, 3);
    assert_int_equal(session_bytes(a), 3 * page);
    assert_int_equal(session_fork(a, 130, &b, NULL), 0);
    assert_int_equal(pool_of->used, 3);
    assert_int_equal(session_bytes(b), 3 * page);
    assert_int_equal(session_prefill(b, ids, 1, NULL, NULL, NULL), 0);
    assert_int_equal(pool_of->used, 4);
    assert_int_equal(session_prefill(a, ids, 1, NULL, NULL, NULL), 0);
    assert_int_equal(pool_of->used, 4);
    session_rewind(a, 64);
    assert_int_equal(pool_of->used, 3);
    session_rewind(b, 65);
    assert_int_equal(pool_of->used, 2);
    assert_int_equal(session_reserve(b, 64, NULL), 0);
    assert_int_equal(pool_of->used, 3);
    assert_int_equal(session_length(b), 65);
    session_close(a);
    session_close(b);
    assert_int_equal(pool_of->used, 0);
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
    assert_int_equal(session_prefill(a, ids, 513, NULL, NULL, &err), ERR_LIMIT);
    assert_int_equal(session_prefill(a, ids, 512, NULL, NULL, &err), 0);
    assert_int_equal(session_prefill(b, ids, 500, NULL, NULL, &err), 0);
    assert_int_equal(session_prefill(b, ids + 500, 12, NULL, NULL, &err), 0);
    check_near("passes", session_logits(a), session_logits(b), vocabulary,
               1e-5);
    assert_int_equal(session_prefill(a, ids, 1, NULL, NULL, &err), ERR_LIMIT);
    struct answer answer = {.max = MAX_IDS};
    struct generate_options options = {.max = 9, .eos_ids = ids};
    size_t made;
    assert_int_equal(
        session_generate(a, &options, take_token, &answer, &made, &err), 0);
    assert_int_equal(made, 1); /* the context is full */
    session_close(a);
    session_close(b);
    model_close(model);
}

static void a_device_reads_wide_passes_of_one_size(void **state)
{
    (void)state;
    struct kernels wide = *kernels_cpu();
    const struct cache cache = {0};
    wide.pass_rows = 2000;
    struct model *model = open_kind("tied", &wide);
    assert_int_equal(forward_next(model, &cache, 2000), 2000);
    assert_int_equal(forward_next(model, &cache, 2001), 1001);
    assert_int_equal(forward_next(model, &cache, 5000), 1667);
    assert_true(forward_next(model, &cache, SIZE_MAX) <= 2000);
    model_close(model);
    model = open_kind("tied", kernels_cpu());
    assert_int_equal(forward_next(model, &cache, 100), 100);
    assert_int_equal(forward_next(model, &cache, 600), FORWARD_MAX_ROWS);
    model_close(model);
}

static bool after_some(void *context)
{
    int *left = context;
    return --*left < 0;
}

/* Put tokens are read with what comes next, also in several passes, of which the first
 * are of them alone: the logits asked for are those of the others. */
static void what_is_put_is_read_later(void **state)
{
    (void)state;
    enum { PUT = 600, COUNT = 40, ALL = PUT + COUNT };
    assert_true((size_t)PUT > FORWARD_MAX_ROWS);
    struct model *model = open_kind("star-qwen", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *s = open_session(model), *plain = open_session(model);
    struct session *fork = NULL;
    float *want = mem_alloc(COUNT * vocabulary * sizeof *want);
    float *got = mem_alloc(COUNT * vocabulary * sizeof *got);
    int left = 3; /* layers */
    struct cancel cancel = {after_some, &left};
    int32_t ids[ALL];
    fill_ids(ids, ALL, vocabulary, 12);
    assert_int_equal(session_prefill(plain, ids, PUT, NULL, NULL, NULL), 0);
    assert_int_equal(session_prefill(plain, ids + PUT, COUNT, NULL, want, NULL),
                     0);
    assert_int_equal(session_put(s, ids, PUT + 5, NULL), 0);
    assert_int_equal(session_length(s), PUT + 5);
    assert_null(session_logits(s));
    session_rewind(s, PUT); /* what was put is taken back */
    assert_int_equal(session_length(s), PUT);
    assert_int_equal(session_fork(s, PUT, &fork, NULL), 0);
    assert_int_equal(session_prefill(s, ids + PUT, COUNT, &cancel, got, NULL),
                     ERR_CANCELLED);
    assert_int_equal(session_length(s), PUT); /* and is still there */
    for (size_t i = 0; i < 2; i++) {
        struct session *of = i ? fork : s;
        memset(got, 0, COUNT * vocabulary * sizeof *got);
        assert_int_equal(session_prefill(of, ids + PUT, COUNT, NULL, got, NULL),
                         0);
        assert_int_equal(session_length(of), ALL);
        check_near("put", got, want, COUNT * vocabulary, 1e-5);
        check_near("put, the last", session_logits(of), session_logits(plain),
                   vocabulary, 1e-5);
    }
    session_close(s);
    session_close(plain);
    session_close(fork);
    model_close(model);
    free(want);
    free(got);
}

static void wrong_ids_are_refused(void **state)
{
    (void)state;
    struct model *model = open_kind("memory", kernels_ref());
    struct session *session = open_session(model);
    int32_t wrong[] = {1, (int32_t)model_facts(model)->vocabulary, -1};
    struct embed_input input = {.ids = wrong, .count = 2},
                       none = {.ids = wrong, .count = 0};
    float out[64];
    struct answer answer = {.max = MAX_IDS};
    struct generate_options options = {.max = 1};
    size_t made;
    assert_true(model_facts(model)->width <= 64);
    assert_int_equal(session_prefill(session, wrong, 2, NULL, NULL, NULL),
                     ERR_USAGE);
    assert_int_equal(session_prefill(session, wrong + 2, 1, NULL, NULL, NULL),
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
    assert_int_equal(session_prefill(session, ids, 4, &cancel, NULL, &err),
                     ERR_CANCELLED);
    assert_int_equal(session_length(session), 0);
    assert_int_equal(session_prefill(session, ids, 4, NULL, NULL, &err), 0);
    left = 2 * 3 + 1; /* three tokens of two layers, and one layer more */
    struct answer answer = {.max = MAX_IDS};
    struct generate_options options = {
        .max = 20, .eos_ids = &none, .eos_count = 1, .cancel = &cancel};
    size_t made = 0;
    assert_int_equal(
        session_generate(session, &options, take_token, &answer, &made, &err),
        ERR_CANCELLED);
    assert_int_equal(made, 4);
    assert_int_equal(answer.count, 4);
    assert_int_equal(session_length(session), 4 + 3);
    left = 0;
    struct embed_input input = {
        .ids = ids, .count = 4, .soft = model_mem(model)};
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
    struct generate_options options = {
        .max = 20,
        .sampling = {.temperature = temperature, .seed = seed},
        .eos_ids = &none,
        .eos_count = 1};
    size_t made;
    *answer = (struct answer){.max = MAX_IDS};
    assert_int_equal(session_prefill(session, ids, 4, NULL, NULL, NULL), 0);
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
    struct answer whole, part = {.max = MAX_IDS};
    answer_with(model, 0, 0, &whole);
    static const int32_t ids[] = {5, 6, 7, 8};
    struct session *session = open_session(model);
    struct generate_options options = {
        .max = 20, .eos_ids = &whole.ids[3], .eos_count = 1};
    size_t made, first = 0;
    while (whole.ids[first] != whole.ids[3])
        first++;
    assert_int_equal(session_prefill(session, ids, 4, NULL, NULL, NULL), 0);
    assert_int_equal(
        session_generate(session, &options, take_token, &part, &made, NULL), 0);
    assert_int_equal(made, first);
    session_rewind(session, 0);
    assert_int_equal(session_prefill(session, ids, 4, NULL, NULL, NULL), 0);
    options.eos_count = 0;
    part = (struct answer){.max = 2}; /* the caller has enough */
    assert_int_equal(
        session_generate(session, &options, take_token, &part, &made, NULL), 0);
    assert_int_equal(made, 2);
    /* generation_config.json's */
    assert_int_equal(model_facts(model)->eos_count, 2);
    assert_int_equal(model_facts(model)->eos_ids[0], 3);
    session_close(session);
    model_close(model);
}

static struct kernel_top_k list_of(const float *logits, size_t count,
                                   const struct sampler *sampler)
{
    struct kernel_top_k list;
    assert_int_equal(
        kernels_ref()->top_k(NULL, &list, logits, count, sampler_beta(sampler)),
        0);
    return list;
}

/* As a session does; *ret_all: how often the likeliest did not tell. */
static int32_t choose(struct sampler *sampler, const float *logits,
                      const int32_t *read, size_t read_count, size_t *ret_all)
{
    struct kernel_top_k list = list_of(logits, sampler->count, sampler);
    int32_t id = sampler_choose_top_k(sampler, &list);
    if (id != SAMPLER_ALL)
        return id;
    ++*ret_all;
    return sampler_choose(sampler, logits, read, read_count);
}

static void set(struct sampler *sampler, struct sampling how, size_t count)
{
    assert_int_equal(sampler_set(sampler, &how, count, NULL), 0);
}

static void draws_follow_the_odds(void **state)
{
    (void)state;
    const float logits[] = {0, logf(3), NAN, -INFINITY, logf(6)};
    const float none[] = {NAN, NAN};
    size_t counts[5] = {0}, all = 0;
    struct sampler sampler = {.count = 0}, of_none = {.count = 0};
    set(&sampler, (struct sampling){.temperature = 1, .seed = 3}, 5);
    for (int i = 0; i < 20000; i++)
        counts[choose(&sampler, logits, NULL, 0, &all)]++;
    assert_int_equal(counts[2] + counts[3], 0);
    assert_true(labs((long)counts[0] - 2000) < 200);
    assert_true(labs((long)counts[1] - 6000) < 300);
    set(&sampler, (struct sampling){.temperature = 0}, 5);
    assert_int_equal(choose(&sampler, logits, NULL, 0, &all), 4);
    set(&sampler, (struct sampling){.temperature = 1e-3}, 5);
    assert_int_equal(choose(&sampler, logits, NULL, 0, &all), 4);
    assert_int_equal(all, 0);
    set(&of_none, (struct sampling){.temperature = 1}, 2);
    assert_int_equal(choose(&of_none, none, NULL, 0, &all), -1);
    sampler_free(&sampler);
    sampler_free(&of_none);
}

/* The likeliest of many tell what all do, where they do; flat odds they do not. */
static void the_likeliest_tell_what_all_tell(void **state)
{
    (void)state;
    enum { COUNT = 500, DRAWS = 2000 };
    static const struct {
        struct sampling how;
        size_t min, max; /* draws for which all are asked */
    } ways[] = {{{.temperature = 0}, 0, 0},
                {{.temperature = 0.3}, 0, DRAWS / 20},
                {{.temperature = 3}, DRAWS / 20, DRAWS * 19 / 20},
                {{.temperature = 3, .top_k = 64}, 0, 0},
                {{.temperature = 3, .top_k = 65}, DRAWS, DRAWS},
                {{.temperature = 3, .top_k = 40, .top_p = 0.8}, 0, 0},
                {{.temperature = 0.3, .top_p = 0.9}, 0, 0},
                {{.temperature = 3, .top_p = 0.99}, DRAWS, DRAWS},
                {{.temperature = 1, .min_p = 0.3}, 0, 0},
                {{.temperature = 1, .min_p = 1e-9}, DRAWS, DRAWS},
                {{.temperature = 1, .penalty = 1.1}, DRAWS, DRAWS},
                {{.temperature = 0, .penalty = 1.1}, DRAWS, DRAWS}};
    static const int32_t read[] = {3, 7};
    float logits[COUNT];
    uint64_t seed = 5;
    for (size_t i = 0; i < COUNT; i++)
        logits[i] = (float)unit_below(&seed, 1000) / 100;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        struct sampler some = {.count = 0}, whole = {.count = 0};
        size_t all = 0;
        set(&some, ways[w].how, COUNT);
        set(&whole, ways[w].how, COUNT);
        for (int i = 0; i < DRAWS; i++)
            assert_int_equal(choose(&some, logits, read, 2, &all),
                             sampler_choose(&whole, logits, read, 2));
        if (all < ways[w].min || all > ways[w].max)
            fail_msg("way %zu: all are asked %zu times", w, all);
        sampler_free(&some);
        sampler_free(&whole);
    }
}

/* ---- Filters, against a plain reading of what they are ---- */

enum { CANDIDATES = 40 };

/* kept [CANDIDATES] weights of those that may be drawn, by sorting all. */
static void plain_filter(const struct sampling *how, const float *logits,
                         const int32_t *read, size_t read_count, double *kept)
{
    double score[CANDIDATES], all = 0, mass = 0;
    size_t order[CANDIDATES];
    for (size_t i = 0; i < CANDIDATES; i++) {
        bool again = false;
        for (size_t r = 0; r < read_count; r++)
            again = again || read[r] == (int32_t)i;
        double logit = (double)logits[i];
        score[i] = !again      ? logit
                   : logit > 0 ? logit / how->penalty
                               : logit * how->penalty;
        size_t at = i;
        for (; at > 0 && score[order[at - 1]] < score[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
        kept[i] = 0;
    }
    size_t max = how->top_k ? how->top_k : CANDIDATES;
    for (size_t i = 0; i < max; i++)
        all += exp((score[order[i]] - score[order[0]]) / how->temperature);
    for (size_t i = 0; i < max; i++) {
        double weight =
            exp((score[order[i]] - score[order[0]]) / how->temperature);
        if ((how->top_p > 0 && mass >= how->top_p * all) || weight < how->min_p)
            break;
        mass += weight;
        kept[order[i]] = weight;
    }
    for (size_t i = 0; i < CANDIDATES; i++)
        kept[i] /= mass;
}

static bool is_even(void *context, int32_t id)
{
    (void)context;
    return id % 2 == 0;
}

/* Draws by each way; where it allows only some tokens, as if the others had no
 * chance. */
static void check_draws(struct token_filter only)
{
    static const struct sampling ways[] = {
        {.temperature = 1, .top_k = 5, .penalty = 1},
        {.temperature = 1.5, .top_p = 0.7, .penalty = 1},
        {.temperature = 0.7, .min_p = 0.2, .penalty = 1},
        {.temperature = 2, .top_k = 12, .top_p = 0.6, .penalty = 1.8},
        {.temperature = 3,
         .top_k = 30,
         .top_p = .95,
         .min_p = .3,
         .penalty = 3},
        {.temperature = 1, .top_k = 1, .penalty = 1},
        {.temperature = 1, .top_k = 99, .top_p = 0.999, .penalty = 1.1}};
    static const int32_t read[] = {3, 7, 7, 21, 3};
    enum { DRAWS = 20000 };
    float logits[CANDIDATES], allowed[CANDIDATES];
    uint64_t seed = 12;
    for (size_t i = 0; i < CANDIDATES; i++) {
        logits[i] = (float)unit_below(&seed, 100000) / 20000 - 2;
        allowed[i] =
            only.allows && !only.allows(NULL, (int32_t)i) ? -1e30f : logits[i];
    }
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        struct sampler sampler = {.count = 0};
        struct sampling plain = ways[w], how = ways[w];
        how.only = only;
        double kept[CANDIDATES];
        size_t drawn[CANDIDATES] = {0};
        if (plain.top_k > CANDIDATES)
            plain.top_k = 0;
        plain_filter(&plain, allowed, read, 5, kept);
        size_t all = 0;
        set(&sampler, how, CANDIDATES);
        for (int i = 0; i < DRAWS; i++)
            drawn[choose(&sampler, logits, read, 5, &all)]++;
        for (size_t i = 0; i < CANDIDATES; i++) {
            double share = (double)drawn[i] / DRAWS;
            double off = 5 * sqrt(kept[i] / DRAWS);
            if (!(fabs(share - kept[i]) <= off))
                fail_msg("way %zu, token %zu: %g of the draws, not %g", w, i,
                         share, kept[i]);
        }
        sampler_free(&sampler);
    }
}

static void filters_keep_what_they_say(void **state)
{
    (void)state;
    check_draws((struct token_filter){NULL, NULL});
}

/* What is far from the likeliest has its odds, too. */
static void draws_beyond_the_likeliest_follow_the_odds(void **state)
{
    (void)state;
    enum { COUNT = 500, DRAWS = 40000 };
    const double temperature = 10;
    float logits[COUNT];
    size_t drawn[COUNT] = {0}, all = 0;
    double sum = 0;
    uint64_t seed = 8;
    struct sampler sampler = {.count = 0};
    for (size_t i = 0; i < COUNT; i++) {
        logits[i] = (float)unit_below(&seed, 2000) / 100;
        sum += exp((double)logits[i] / temperature);
    }
    set(&sampler, (struct sampling){.temperature = temperature}, COUNT);
    for (int i = 0; i < DRAWS; i++)
        drawn[choose(&sampler, logits, NULL, 0, &all)]++;
    assert_true(all > DRAWS / 2);
    for (size_t i = 0; i < COUNT; i++) {
        double odds = exp((double)logits[i] / temperature) / sum;
        double share = (double)drawn[i] / DRAWS;
        if (!(fabs(share - odds) <= 5 * sqrt(odds / DRAWS)))
            fail_msg("token %zu: %g of the draws, not %g", i, share, odds);
    }
    sampler_free(&sampler);
}

static void only_what_is_allowed_is_drawn(void **state)
{
    (void)state;
    check_draws((struct token_filter){is_even, NULL});
}

static size_t filter_calls;

static bool is_among_ids(void *context, int32_t id)
{
    const struct answer *allowed = context;
    filter_calls++;
    for (size_t i = 0; i < allowed->count; i++)
        if (allowed->ids[i] == id)
            return true;
    return false;
}

static void check_probability(struct session *session, size_t vocabulary,
                              int32_t id, double logprob)
{
    const float *logits = session_logits(session);
    double sum = 0;
    for (size_t i = 0; i < vocabulary; i++)
        sum += exp((double)logits[i]);
    assert_true(fabs(logprob - ((double)logits[id] - log(sum))) < 1e-5);
}

static int32_t largest(const float *logits, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

/* The likeliest of those allowed, its chance being that among all; with none an
 * answer ends. */
static void only_what_is_allowed_is_written(void **state)
{
    (void)state;
    struct model *model = open_kind("tied", kernels_cpu());
    static const int32_t ids[] = {5, 6, 7, 8};
    struct session *session = open_session(model);
    struct answer allowed = {.count = 2, .ids = {9, 30}}, written = {.max = 7};
    struct sampling how = {.only = {is_among_ids, &allowed}};
    struct generate_options options = {
        .max = 3, .sampling = how, .eos_ids = ids, .eos_count = 4};
    int32_t id;
    double logprob;
    size_t made, vocabulary = model_facts(model)->vocabulary;
    assert_int_equal(session_top_k(session), -1);
    assert_int_equal(session_prefill(session, ids, 4, NULL, NULL, NULL), 0);
    assert_int_equal(session_sampling(session, &how, NULL), 0);
    const float *logits = session_logits(session);
    assert_int_equal(session_choose(session, &id, &logprob, NULL), 0);
    assert_int_equal(id, logits[9] >= logits[30] ? 9 : 30);
    check_probability(session, vocabulary, id, logprob);
    assert_int_equal(session_top_k(session), largest(logits, vocabulary));
    assert_true(largest(logits, vocabulary) != id);
    assert_int_equal(
        session_generate(session, &options, take_token, &written, &made, NULL),
        0);
    assert_int_equal(made, 3);
    for (size_t i = 0; i < made; i++)
        assert_true(is_among_ids(&allowed, written.ids[i]));
    allowed.count = 0;
    assert_int_equal(session_choose(session, &id, &logprob, NULL), 0);
    assert_int_equal(id, -1);
    assert_int_equal(
        session_generate(session, &options, take_token, &written, &made, NULL),
        0);
    assert_int_equal(made, 0);
    assert_int_equal(session_sampling(session, &(struct sampling){0}, NULL), 0);
    assert_int_equal(session_choose(session, &id, &logprob, NULL), 0);
    assert_int_equal(id, largest(session_logits(session), vocabulary));
    session_close(session);
    model_close(model);
}

/* The third likeliest is the third that is asked about. */
static void few_are_asked_about(void **state)
{
    (void)state;
    const float logits[] = {2, 3, NAN, -1, 5, 4};
    struct answer allowed = {.count = 2, .ids = {1, 3}};
    struct sampler sampler = {.count = 0};
    size_t all = 0;
    set(&sampler, (struct sampling){.only = {is_among_ids, &allowed}}, 6);
    filter_calls = 0;
    assert_int_equal(choose(&sampler, logits, NULL, 0, &all), 1);
    assert_int_equal(filter_calls, 3);
    assert_int_equal(all, 0);
    /* with a penalty, which makes 1 the fourth */
    static const int32_t read[] = {1};
    set(&sampler,
        (struct sampling){.penalty = 2, .only = {is_among_ids, &allowed}}, 6);
    filter_calls = 0;
    assert_int_equal(choose(&sampler, logits, read, 1, &all), 1);
    assert_int_equal(filter_calls, 4);
    assert_int_equal(all, 1);
    allowed.count = 0;
    assert_int_equal(choose(&sampler, logits, NULL, 0, &all), -1);
    sampler_free(&sampler);
}

/* A penalty decides where there is no chance, too, and counts once. */
static void penalties_reach_the_top_k(void **state)
{
    (void)state;
    const float logits[] = {2, 3, NAN, -1};
    static const int32_t read[] = {1, 1, 1}, all[] = {0, 1, 3};
    struct sampler sampler = {.count = 0};
    struct sampling how = {.penalty = 1.4};
    assert_int_equal(sampler_set(&sampler, &how, 4, NULL), 0);
    assert_int_equal(sampler_choose(&sampler, logits, read, 3), 1);
    how.penalty = 1.6;
    assert_int_equal(sampler_set(&sampler, &how, 4, NULL), 0);
    assert_int_equal(sampler_choose(&sampler, logits, read, 3), 0);
    assert_int_equal(sampler_choose(&sampler, logits, all, 3), 1);
    assert_int_equal(sampler_choose(&sampler, logits, NULL, 0), 1);
    sampler_free(&sampler);
}

/* Another temperature after a token was chosen, and as much as before. */
static void the_temperature_may_change(void **state)
{
    (void)state;
    enum { SEEDS = 40 };
    static const int32_t ids[] = {5, 6, 7, 8};
    struct model *model = open_kind("tied", kernels_cpu());
    struct session *a = open_session(model), *b = open_session(model);
    int32_t chosen[2];
    double logprob[2];
    assert_int_equal(session_prefill(a, ids, 4, NULL, NULL, NULL), 0);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct sampling cold = {.temperature = 0.05, .seed = seed},
                        hot = {.temperature = 5, .seed = seed};
        session_rewind(b, 0);
        assert_int_equal(session_prefill(b, ids, 4, NULL, NULL, NULL), 0);
        assert_int_equal(session_sampling(a, &cold, NULL), 0);
        assert_int_equal(session_choose(a, chosen, logprob, NULL), 0);
        assert_int_equal(session_sampling(a, &hot, NULL), 0);
        assert_int_equal(session_choose(a, chosen, logprob, NULL), 0);
        assert_int_equal(session_sampling(b, &hot, NULL), 0);
        assert_int_equal(session_choose(b, chosen + 1, logprob + 1, NULL), 0);
        assert_int_equal(chosen[0], chosen[1]);
        assert_true(fabs(logprob[0] - logprob[1]) < 1e-9);
        check_probability(a, model_facts(model)->vocabulary, chosen[0],
                          logprob[0]);
    }
    session_close(a);
    session_close(b);
    model_close(model);
}

static void wrong_sampling_is_refused(void **state)
{
    (void)state;
    static const struct sampling wrong[] = {
        {.temperature = -1}, {.temperature = NAN}, {.top_p = 1.01},
        {.min_p = -0.1},     {.penalty = -1},      {.penalty = INFINITY}};
    struct model *model = open_kind("tied", kernels_cpu());
    struct session *session = open_session(model);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(session_sampling(session, &wrong[i], NULL), ERR_USAGE);
    int32_t id;
    double logprob;
    assert_int_equal(session_choose(session, &id, &logprob, NULL), ERR_USAGE);
    session_close(session);
    model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_forgotten_does_not_matter),
        cmocka_unit_test(forks_go_their_own_ways),
        cmocka_unit_test(memory_goes_by_the_page),
        cmocka_unit_test(long_prompts_are_read_in_passes),
        cmocka_unit_test(a_device_reads_wide_passes_of_one_size),
        cmocka_unit_test(what_is_put_is_read_later),
        cmocka_unit_test(wrong_ids_are_refused),
        cmocka_unit_test(work_is_cancelled),
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(answers_stop),
        cmocka_unit_test(draws_follow_the_odds),
        cmocka_unit_test(the_likeliest_tell_what_all_tell),
        cmocka_unit_test(draws_beyond_the_likeliest_follow_the_odds),
        cmocka_unit_test(the_temperature_may_change),
        cmocka_unit_test(filters_keep_what_they_say),
        cmocka_unit_test(only_what_is_allowed_is_drawn),
        cmocka_unit_test(only_what_is_allowed_is_written),
        cmocka_unit_test(few_are_asked_about),
        cmocka_unit_test(penalties_reach_the_top_k),
        cmocka_unit_test(wrong_sampling_is_refused),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
