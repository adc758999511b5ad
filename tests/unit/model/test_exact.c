/* Sessions of models made for full attention that choose what they read, in some
 * layers, or from some token on. */
#include "base/mem.h"
#include "model/inference/session_internal.h"
#include "tests/unit/support/models.h"

enum { LENGTH = 330, MORE = 5 };
static const char *const some[] = {"untied", "llama2", "qwen2", "olmo3"};
enum { SOME = sizeof some / sizeof some[0] };

static struct model *open_exact(const char *kind, const struct kernels *kernels)
{
    char path[128];
    snprintf(path, sizeof path, MODELS "%s", kind);
    return open_at(path, kernels, true, false);
}

static struct session *open_by(struct model *model,
                               const struct session_exact *how)
{
    struct session *session = NULL;
    assert_int_equal(session_open_exact(model, how, &session, NULL), 0);
    return session;
}

static bool same(struct session *a, struct session *b, size_t vocabulary)
{
    return !memcmp(session_logits(a), session_logits(b),
                   vocabulary * sizeof(float));
}

/* Where nothing is chosen, or no layer chooses, it is full attention to the bit. */
static void what_chooses_nothing_reads_all(void **state)
{
    (void)state;
    int32_t ids[LENGTH];
    fill_ids(ids, LENGTH, 60, 3);
    const struct session_exact ways[] = {
        {.all = true},
        {.all = true, .window = LENGTH + MORE},
        {.top_k = 1, .window = 1, .full = 100}};
    for (size_t m = 0; m < SOME; m++) {
        struct model *model = open_exact(some[m], kernels_cpu());
        size_t vocabulary = model_facts(model)->vocabulary;
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            struct session *full = open_session(model);
            struct session *other = open_by(model, &ways[w]);
            feed(full, ids, LENGTH - MORE);
            feed(other, ids, LENGTH - MORE);
            assert_true(same(full, other, vocabulary));
            for (size_t i = LENGTH - MORE; i < LENGTH; i++) {
                feed(full, ids + i, 1);
                feed(other, ids + i, 1);
                assert_true(same(full, other, vocabulary));
            }
            session_close(full);
            session_close(other);
        }
        model_close(model);
    }
}

/* What was read in full has the means by which others choose: with all chunks
 * that is full attention, with few it is not. */
static void a_session_chooses_from_what_it_read(void **state)
{
    (void)state;
    int32_t ids[LENGTH];
    fill_ids(ids, LENGTH, 60, 4);
    const struct session_exact all = {.all = true},
                               every = {.top_k = 64, .window = 64},
                               few = {.top_k = 1, .window = 1};
    for (size_t m = 0; m < SOME; m++) {
        struct model *model = open_exact(some[m], kernels_cpu());
        size_t vocabulary = model_facts(model)->vocabulary;
        struct session *full = open_session(model), *wide, *narrow;
        struct session *base = open_by(model, &all);
        feed(full, ids, LENGTH);
        feed(base, ids, LENGTH - MORE);
        assert_int_equal(session_fork(base, 256, &wide, NULL), 0);
        assert_int_equal(session_fork(base, 256, &narrow, NULL), 0);
        session_exact_change(wide, &every);
        session_exact_change(narrow, &few);
        feed(wide, ids + 256, LENGTH - 256);
        feed(narrow, ids + 256, LENGTH - 256);
        check_near(some[m], session_logits(wide), session_logits(full),
                   vocabulary, 1e-5);
        assert_false(same(narrow, full, vocabulary));
        session_close(full);
        session_close(base);
        session_close(wide);
        session_close(narrow);
        model_close(model);
    }
}

/* Several tokens at once read all up to some length, a token alone chooses. */
static void beginnings_may_be_read_in_full(void **state)
{
    (void)state;
    int32_t ids[LENGTH];
    fill_ids(ids, LENGTH, 60, 8);
    const struct session_exact all = {.all = true},
                               few = {.top_k = 1, .window = 1},
                               begin = {.top_k = 1, .window = 1, .read = 256};
    struct model *model = open_exact("llama2", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *full = open_by(model, &all),
                   *chooses = open_by(model, &few);
    struct session *both = open_by(model, &begin);
    feed(full, ids, 256);
    feed(both, ids, 256);
    feed(chooses, ids, 256);
    assert_true(same(both, full, vocabulary));
    assert_false(same(both, chooses, vocabulary));
    session_exact_change(full, &few);
    feed(full, ids + 256, 1);
    feed(both, ids + 256, 1);
    assert_true(same(both, full, vocabulary));
    session_rewind(full, 256);
    session_rewind(both, 256);
    feed(full, ids + 256, LENGTH - 256);
    feed(both, ids + 256, LENGTH - 256);
    assert_true(same(both, full, vocabulary));
    session_rewind(both, 200);
    session_exact_change(full, &all);
    session_rewind(full, 200);
    feed(full, ids + 200, 56);
    feed(both, ids + 200, 56);
    assert_true(same(both, full, vocabulary));
    feed(both, ids, 1); /* alone: it chooses */
    feed(full, ids, 1);
    assert_false(same(both, full, vocabulary));
    session_close(full);
    session_close(both);
    session_close(chooses);
    model_close(model);
}

/* Pages that lie elsewhere are keys and values; chunks are chosen by these keys. */
static void imported_pages_are_chosen_by_their_keys(void **state)
{
    (void)state;
    enum { PAGES = 5, TOKENS = PAGES * CACHE_PAGE };
    int32_t ids[LENGTH];
    fill_ids(ids, LENGTH, 60, 9);
    const struct session_exact few = {.top_k = 1, .window = 1};
    struct model *model = open_exact("llama2", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *first = open_by(model, &few), *again = open_by(model, &few);
    size_t bytes = session_page_bytes(first), layers = model->config.layers;
    char *pages = mem_alloc(PAGES * bytes);
    feed(first, ids, TOKENS);
    assert_int_equal(session_export(first, 0, TOKENS, pages, NULL), 0);
    assert_int_equal(bytes, layers * 2 * CACHE_PAGE * model->config.key_heads *
                                model->config.head * sizeof(float));
    assert_true(bytes < cache_page_bytes(model));
    assert_int_equal(session_import(again, ids, TOKENS, pages, NULL), 0);
    feed(first, ids + TOKENS, LENGTH - TOKENS);
    feed(again, ids + TOKENS, LENGTH - TOKENS);
    assert_true(same(first, again, vocabulary));
    session_close(first);
    session_close(again);
    free(pages);
    model_close(model);
}

/* Layers that read all differ from those that choose, alike by plain kernels. */
static void the_first_layers_may_read_all(void **state)
{
    (void)state;
    int32_t ids[LENGTH];
    fill_ids(ids, LENGTH, 60, 5);
    const struct session_exact first = {.top_k = 1, .window = 1, .full = 1},
                               none = {.top_k = 1, .window = 1};
    struct model *cpu = open_exact("llama2", kernels_cpu());
    struct model *ref = open_exact("llama2", kernels_ref());
    size_t vocabulary = model_facts(cpu)->vocabulary;
    assert_true(model_facts(cpu)->layers > 1);
    struct session *full = open_session(cpu), *chooses = open_by(cpu, &none);
    struct session *half = open_by(cpu, &first), *plain = open_by(ref, &first);
    struct session *const sessions[] = {full, chooses, half, plain};
    for (size_t i = 0; i < 4; i++)
        feed(sessions[i], ids, LENGTH);
    check_near("full 1", session_logits(half), session_logits(plain),
               vocabulary, 1e-5);
    assert_false(same(half, full, vocabulary));
    assert_false(same(half, chooses, vocabulary));
    for (size_t i = 0; i < 4; i++)
        session_close(sessions[i]);
    model_close(cpu);
    model_close(ref);
}

/* Chosen by the keys themselves: of all chunks that is full attention; of some, plain
 * kernels choose alike, and other chunks than by means; one by one as at once. */
static void chunks_may_be_chosen_by_their_keys(void **state)
{
    (void)state;
    enum { LONG = 500 };
    int32_t ids[LONG];
    fill_ids(ids, LONG, 60, 6);
    const struct session_exact every = {.top_k = 64,
                                        .window = 64,
                                        .rerank = SESSION_RERANKED},
                               two = {.top_k = 2,
                                      .window = 1,
                                      .rerank = SESSION_RERANKED},
                               plain = {.top_k = 2, .window = 1};
    struct model *cpu = open_exact("llama2", kernels_cpu());
    struct model *ref = open_exact("llama2", kernels_ref());
    size_t vocabulary = model_facts(cpu)->vocabulary;
    struct session *full = open_session(cpu), *wide = open_by(cpu, &every);
    struct session *some_cpu = open_by(cpu, &two), *steps = open_by(cpu, &two);
    struct session *some_ref = open_by(ref, &two),
                   *other = open_by(cpu, &plain);
    struct session *const sessions[] = {full,  wide,     some_cpu,
                                        steps, some_ref, other};
    for (size_t i = 0; i < 6; i++)
        feed(sessions[i], ids, i == 3 ? LONG - MORE : LONG);
    for (size_t i = LONG - MORE; i < LONG; i++)
        feed(steps, ids + i, 1);
    check_near("all", session_logits(wide), session_logits(full), vocabulary,
               1e-5);
    check_near("plain", session_logits(some_cpu), session_logits(some_ref),
               vocabulary, 1e-5);
    check_near("steps", session_logits(steps), session_logits(some_cpu),
               vocabulary, 1e-5);
    assert_false(same(some_cpu, other, vocabulary));
    for (size_t i = 0; i < 6; i++)
        session_close(sessions[i]);
    model_close(cpu);
    model_close(ref);
}

/* Looking at all chunks by their keys is what re-ranking some is where these
 * are all, and not where they are some; plain kernels choose alike. */
static void all_chunks_may_be_looked_at(void **state)
{
    (void)state;
    enum { LONG = 500 }; /* seven chunks before the last token's window */
    int32_t ids[LONG];
    fill_ids(ids, LONG, 60, 7);
    const struct session_exact
        some_first = {.top_k = 4, .window = 1, .rerank = SESSION_RERANKED},
        all = {.top_k = 4, .window = 1, .rerank = SESSION_BY_KEYS},
        few = {.top_k = 1, .window = 1, .rerank = SESSION_RERANKED},
        one = {.top_k = 1, .window = 1, .rerank = SESSION_BY_KEYS};
    struct model *cpu = open_exact("llama2", kernels_cpu());
    struct model *ref = open_exact("llama2", kernels_ref());
    size_t vocabulary = model_facts(cpu)->vocabulary;
    struct session *const sessions[] = {open_by(cpu, &some_first),
                                        open_by(cpu, &all), open_by(cpu, &few),
                                        open_by(cpu, &one), open_by(ref, &one)};
    for (size_t i = 0; i < 5; i++)
        feed(sessions[i], ids, LONG);
    assert_true(same(sessions[0], sessions[1], vocabulary));
    assert_false(same(sessions[2], sessions[3], vocabulary));
    check_near("plain", session_logits(sessions[3]),
               session_logits(sessions[4]), vocabulary, 1e-5);
    for (size_t i = 0; i < 5; i++)
        session_close(sessions[i]);
    model_close(cpu);
    model_close(ref);
}

/* What is kept of a session is of use to those alone that look at as many chunks. */
static void another_number_looked_at_is_another_kind(void **state)
{
    (void)state;
    struct session_exact how = {
        .top_k = 2, .window = 1, .rerank = SESSION_RERANKED};
    struct model *model = open_exact("llama2", kernels_cpu());
    struct session *one = open_by(model, &how), *other = open_by(model, &how);
    assert_true(hash_equal(session_kind(one), session_kind(other)));
    other->cache.hils.looks++;
    assert_false(hash_equal(session_kind(one), session_kind(other)));
    for (how.rerank = 0; how.rerank <= SESSION_BY_KEYS; how.rerank++) {
        session_exact_change(other, &how);
        assert_int_equal(hash_equal(session_kind(one), session_kind(other)),
                         how.rerank == SESSION_RERANKED);
    }
    session_close(one);
    session_close(other);
    model_close(model);
}

static void a_budget_is_a_window_and_chunks(void **state)
{
    (void)state;
    static const size_t cases[][3] = {{2560, 512, 32}, {1024, 512, 8},
                                      {512, 256, 4},   {256, 128, 2},
                                      {0, 1, 1},       {4096, 512, 56}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct session_exact got = session_exact_of(cases[i][0]);
        assert_int_equal(got.window, cases[i][1]);
        assert_int_equal(got.top_k, cases[i][2]);
        assert_false(got.all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_chooses_nothing_reads_all),
        cmocka_unit_test(a_session_chooses_from_what_it_read),
        cmocka_unit_test(beginnings_may_be_read_in_full),
        cmocka_unit_test(imported_pages_are_chosen_by_their_keys),
        cmocka_unit_test(the_first_layers_may_read_all),
        cmocka_unit_test(chunks_may_be_chosen_by_their_keys),
        cmocka_unit_test(all_chunks_may_be_looked_at),
        cmocka_unit_test(another_number_looked_at_is_another_kind),
        cmocka_unit_test(a_budget_is_a_window_and_chunks),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
