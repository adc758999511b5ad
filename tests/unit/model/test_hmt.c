/* HMT's recurrence against an independent one in double precision
 * (tests/experiments/model/make_hmt.py), and against plain reading. */
#include "tests/unit/support/models.h"

#include "model/encode/hmt.h"

enum {
    SEGMENT = 16,
    SENSORY = 4,
    KEPT = 3,
    TOKENS = 87,
    ASKING = 21,
    SEGMENTS = 6
};

static const struct hmt_options small = {SEGMENT, SENSORY, KEPT};

static struct hmt *open_hmt(const struct model *model,
                            const struct hmt_options *options)
{
    struct hmt *hmt = NULL;
    assert_int_equal(hmt_open(model, options, &hmt, NULL), 0);
    return hmt;
}

/* Of these, the second was made for HiLS, with chunks of 8 slots. */
static const char *const remembering[] = {"memory", "hils-memory"};
enum { REMEMBERING = sizeof remembering / sizeof remembering[0] };

/* The logits of `question`, read in pieces of `step` behind what is remembered. */
static void check_question(const struct hmt *hmt, struct model *model,
                           const int32_t *question, size_t step,
                           const float *want)
{
    size_t vocabulary = model_facts(model)->vocabulary;
    float *got = mem_alloc(ASKING * vocabulary * sizeof *got);
    struct session *session = NULL;
    assert_int_equal(
        hmt_session(hmt, model, question, ASKING, NULL, &session, NULL), 0);
    assert_int_equal(session_length(session), hmt_before(hmt));
    for (size_t at = 0, some; at < ASKING; at += some) {
        some = ASKING - at < step ? ASKING - at : step;
        assert_int_equal(session_prefill(session, question + at, some, NULL,
                                         got + at * vocabulary, NULL),
                         0);
    }
    check_near("logits", got, want, ASKING * vocabulary, 1e-4);
    session_close(session);
    free(got);
}

static void check_reference(size_t kind)
{
    struct safetensors *file = open_beside(remembering[kind], "hmt");
    int32_t *ids = golden(file, "ids"), *question = golden(file, "question");
    float *memories = golden(file, "memories"),
          *logits = golden(file, "logits");
    float *first = golden(file, "first");
    const struct hmt_options all = {SEGMENT, SENSORY, 100};
    for (size_t b = 0; b < BACKENDS; b++) {
        struct model *model = open_kind(remembering[kind], backend(b));
        struct hmt *hmt = open_hmt(model, &small),
                   *more = open_hmt(model, &all);
        size_t width = model_facts(model)->width, count;
        assert_int_equal(hmt_before(hmt), 1);
        check_question(hmt, model, question, ASKING, first);
        /* In two calls, the first of whole segments, and in one. */
        assert_int_equal(hmt_read(hmt, model, ids, 3 * SEGMENT, NULL, NULL), 0);
        assert_int_equal(hmt_read(hmt, model, ids + 3 * SEGMENT,
                                  TOKENS - 3 * SEGMENT, NULL, NULL),
                         0);
        const float *got = hmt_memories(hmt, &count);
        assert_int_equal(count, KEPT);
        check_near("memories", got, memories + (SEGMENTS - KEPT) * width,
                   KEPT * width, 1e-4);
        check_question(hmt, model, question, ASKING, logits);
        check_question(hmt, model, question, 1, logits);
        /* With more memories kept the first ones are the same, and from the
         * fifth on more is recalled. */
        assert_int_equal(hmt_read(more, model, ids, TOKENS, NULL, NULL), 0);
        got = hmt_memories(more, &count);
        assert_int_equal(count, SEGMENTS);
        check_near("first memories", got, memories, (KEPT + 1) * width, 1e-4);
        double apart = 0;
        for (size_t i = (KEPT + 1) * width; i < SEGMENTS * width; i++)
            apart = fmax(apart, fabs((double)got[i] - (double)memories[i]));
        assert_true(apart > 1e-3);
        hmt_close(hmt);
        hmt_close(more);
        model_close(model);
    }
    free(ids);
    free(question);
    free(memories);
    free(logits);
    free(first);
    safetensors_close(file);
}

static void memories_and_answers_as_the_reference(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < REMEMBERING; kind++)
        check_reference(kind);
}

/* One segment remembers what E_mem0 makes of it, and what asks behind nothing reads
 * as [mem0; question] does. */
static void one_segment_is_plain_reading(void **state)
{
    (void)state;
    struct safetensors *file = open_beside(remembering[0], "hmt");
    int32_t *ids = golden(file, "ids");
    struct model *model = open_kind("memory", kernels_cpu());
    struct hmt *hmt = open_hmt(model, &(struct hmt_options){0});
    size_t count, width = model_facts(model)->width;
    float *plain = mem_alloc(width * sizeof *plain);
    struct embed_input input = {
        .ids = ids, .count = TOKENS, .soft = model_mem0(model)};
    assert_int_equal(hmt_segment(hmt), 256);
    assert_int_equal(hmt_read(hmt, model, ids, TOKENS, NULL, NULL), 0);
    assert_int_equal(model_embed(model, &input, 1, NULL, plain, NULL), 0);
    const float *memory = hmt_memories(hmt, &count);
    assert_int_equal(count, 1);
    check_near("one segment", memory, plain, width, 1e-6);
    assert_int_equal(hmt_before(hmt), 33);
    free(plain);
    hmt_close(hmt);
    model_close(model);
    free(ids);
    safetensors_close(file);
}

/* Where the first layer alone makes memories they are those of a model that has no
 * other, and an answer is written behind them by all layers. */
static void the_first_layers_remember(void **state)
{
    (void)state;
    struct safetensors *file = open_beside("memory", "hmt");
    int32_t *ids = golden(file, "ids"), *question = golden(file, "question");
    save_first_layer("memory");
    struct model *first = open_at(own_folder, kernels_cpu(), false, false);
    save_with("memory", "\"lectern_memory_layers\": 1");
    struct model *model = open_at(own_folder, kernels_cpu(), false, false);
    struct model *all = open_at(MODELS "memory", kernels_cpu(), false, false);
    assert_int_equal(model_facts(model)->memory_layers, 1);
    assert_int_equal(model_facts(all)->memory_layers, model_facts(all)->layers);
    struct hmt *hmt = open_hmt(model, &small), *other = open_hmt(first, &small);
    size_t width = model_facts(model)->width, count;
    assert_int_equal(hmt_read(hmt, model, ids, TOKENS, NULL, NULL), 0);
    assert_int_equal(hmt_read(other, first, ids, TOKENS, NULL, NULL), 0);
    const float *memories = hmt_memories(other, &count);
    assert_int_equal(count, KEPT);
    assert_memory_equal(hmt_memories(hmt, &count), memories,
                        KEPT * width * sizeof *memories);
    float *query = mem_alloc(width * sizeof *query);
    float *recalled = mem_alloc(width * sizeof *recalled);
    struct embed_input asks = {
        .ids = question, .count = SEGMENT / 2, .soft = model_mem(first)};
    struct session *session = NULL, *plain = open_session(all);
    assert_int_equal(model_embed(first, &asks, 1, NULL, query, NULL), 0);
    assert_int_equal(model_recall(first, query, memories, KEPT, recalled, NULL),
                     0);
    int32_t both[SENSORY + ASKING];
    memcpy(both, ids + TOKENS - SENSORY, SENSORY * sizeof *ids);
    memcpy(both + SENSORY, question, ASKING * sizeof *ids);
    assert_int_equal(session_soft_prefix(plain, recalled, NULL), 0);
    assert_int_equal(
        hmt_session(hmt, model, question, ASKING, NULL, &session, NULL), 0);
    assert_int_equal(session_length(session), hmt_before(hmt));
    assert_null(session_logits(session)); /* nothing was read yet */
    feed(plain, both, SENSORY + ASKING);
    feed(session, question, ASKING);
    assert_memory_equal(session_logits(session), session_logits(plain),
                        model_facts(all)->vocabulary * sizeof *memories);
    session_close(session);
    session_close(plain);
    hmt_close(hmt);
    hmt_close(other);
    model_close(first);
    model_close(model);
    model_close(all);
    free(query);
    free(recalled);
    free(ids);
    free(question);
    safetensors_close(file);
}

/* ---- A vector before all tokens ---- */

/* Forks, what is forgotten and read again, and `exact` with all chunks chosen keep
 * the vector: the logits are those of one pass. */
static void check_before(size_t kind)
{
    enum { READ = 150, CUT = 70 };
    int32_t ids[READ];
    uint64_t seed = 4;
    char path[128];
    snprintf(path, sizeof path, MODELS "%s", remembering[kind]);
    struct model *model = open_at(path, kernels_cpu(), true, false);
    size_t vocabulary = model_facts(model)->vocabulary;
    for (size_t i = 0; i < READ; i++)
        ids[i] = (int32_t)unit_below(&seed, (uint32_t)vocabulary);
    int ways = model_facts(model)->exact ? 2 : 1;
    struct session *whole = open_session(model), *bare = open_session(model);
    assert_int_equal(session_soft_prefix(whole, model_mem(model), NULL), 0);
    assert_int_equal(session_soft_prefix(whole, model_mem(model), NULL),
                     ERR_USAGE);
    assert_null(session_logits(whole));
    assert_int_equal(session_prefill(whole, ids, READ, NULL, NULL, NULL), 0);
    assert_int_equal(session_length(whole), READ + 1);
    assert_int_equal(session_ids(whole)[0], -1);
    const float *want = session_logits(whole);
    for (int exact = 0; exact < ways; exact++) {
        const struct session_exact everything = {.top_k = 100, .window = 64};
        struct session *session = NULL, *fork = NULL;
        if (exact)
            assert_int_equal(
                session_open_exact(model, &everything, &session, NULL), 0);
        else
            session = open_session(model);
        assert_int_equal(session_soft_prefix(session, model_mem(model), NULL),
                         0);
        assert_int_equal(session_prefill(session, ids, READ, NULL, NULL, NULL),
                         0);
        check_near("one pass", session_logits(session), want, vocabulary, 1e-5);
        for (size_t cut = 1; cut <= CUT; cut += CUT - 1) {
            assert_int_equal(session_fork(session, cut, &fork, NULL), 0);
            assert_int_equal(session_prefill(fork, ids + cut - 1,
                                             READ - cut + 1, NULL, NULL, NULL),
                             0);
            check_near("fork", session_logits(fork), want, vocabulary, 1e-5);
            session_rewind(fork, cut);
            for (size_t i = cut - 1; i < READ; i++)
                assert_int_equal(
                    session_decode_batch(&fork, ids + i, 1, NULL, NULL), 0);
            check_near("forgotten", session_logits(fork), want, vocabulary,
                       1e-5);
            session_close(fork);
        }
        /* All forgotten: nothing stands before them any more. */
        session_rewind(session, 0);
        assert_int_equal(session_prefill(session, ids, READ, NULL, NULL, NULL),
                         0);
        if (!exact)
            assert_int_equal(session_prefill(bare, ids, READ, NULL, NULL, NULL),
                             0);
        check_near("bare", session_logits(session), session_logits(bare),
                   vocabulary, 1e-5);
        assert_int_equal(session_soft_prefix(session, model_mem(model), NULL),
                         ERR_USAGE);
        session_close(session);
    }
    double apart = 0;
    for (size_t i = 0; i < vocabulary; i++)
        apart = fmax(apart,
                     fabs((double)want[i] - (double)session_logits(bare)[i]));
    assert_true(apart > 1e-3);
    session_close(bare);
    session_close(whole);
    model_close(model);
}

static void a_vector_stays_before_the_tokens(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < REMEMBERING; kind++)
        check_before(kind);
}

/* The penalty is of what was read; a vector is no token. */
static void a_vector_is_no_token_of_the_answer(void **state)
{
    (void)state;
    struct model *model = open_kind("memory", kernels_cpu());
    struct session *session = open_session(model);
    struct sampling how = {.penalty = 1.5};
    int32_t ids[] = {5, 6, 7}, id;
    double probability;
    assert_int_equal(session_soft_prefix(session, model_mem0(model), NULL), 0);
    assert_int_equal(session_sampling(session, &how, NULL), 0);
    assert_int_equal(session_choose(session, &id, &probability, NULL),
                     ERR_USAGE);
    assert_int_equal(session_prefill(session, ids, 3, NULL, NULL, NULL), 0);
    assert_int_equal(session_choose(session, &id, &probability, NULL), 0);
    assert_in_range(id, 0, model_facts(model)->vocabulary - 1);
    session_close(session);
    model_close(model);
}

/* ---- What is refused ---- */

static bool at_once(void *context)
{
    (void)context;
    return true;
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct model *model = open_kind("memory", kernels_cpu());
    struct model *tied = open_kind("tied", kernels_cpu());
    const struct hmt_options large = {.segment = 500};
    const struct hmt_options many = {.memories = SIZE_MAX / 8};
    const struct hmt_options huge = {.segment = SIZE_MAX};
    struct hmt *hmt = NULL;
    struct err err = {0};
    assert_int_equal(hmt_open(tied, &small, &hmt, &err), ERR_USAGE);
    assert_non_null(strstr(err.message, "tied"));
    assert_int_equal(hmt_open(model, &large, &hmt, NULL), ERR_LIMIT);
    assert_int_equal(hmt_open(model, &huge, &hmt, NULL), ERR_LIMIT);
    assert_int_equal(hmt_open(model, &many, &hmt, NULL), ERR_LIMIT);
    assert_null(hmt);
    hmt = open_hmt(model, &small);
    int32_t ids[20] = {1, 2, 3};
    size_t count;
    struct cancel cancel = {at_once, NULL};
    assert_int_equal(hmt_read(hmt, model, ids, 20, &cancel, NULL),
                     ERR_CANCELLED);
    ids[18] = -7; /* in the second segment: the queries come first */
    assert_int_equal(hmt_read(hmt, model, ids, 20, NULL, NULL), ERR_USAGE);
    hmt_memories(hmt, &count);
    assert_int_equal(count, 0);
    assert_int_equal(hmt_before(hmt), 1);
    hmt_close(hmt);
    model_close(tied);
    model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memories_and_answers_as_the_reference),
        cmocka_unit_test(one_segment_is_plain_reading),
        cmocka_unit_test_setup_teardown(the_first_layers_remember,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(a_vector_stays_before_the_tokens),
        cmocka_unit_test(a_vector_is_no_token_of_the_answer),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
