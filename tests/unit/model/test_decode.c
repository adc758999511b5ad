/* What holds while an answer is written, for every family: a pass of several
 * tokens reads as single steps do, several sessions in one pass as each alone,
 * and nothing is allocated from token to token. */
#include "tests/unit/support/models.h"

#include <stdatomic.h>

#include "daemon/answer/extractive.h"

/* ---- The guard: every allocation of the program, its libraries' too ---- */

static atomic_size_t allocations;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { GUARDED = false }; /* the sanitizer has these functions for itself */
#else
enum { GUARDED = true };
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    *ret = __libc_memalign(alignment, size);
    return *ret ? 0 : 12;
}
#endif

static void the_guard_sees_allocations(void **state)
{
    (void)state;
    if (!GUARDED)
        skip();
    size_t before = atomic_load(&allocations);
    void *volatile memory = malloc(10);
    free(memory);
    memory = mem_alloc(10);
    free(memory);
    memory = kernels_cpu()->allocate(&(struct kernel_run){.step = NULL}, 10);
    free(memory);
    memory = strdup("within the C library");
    free(memory);
    assert_int_equal(atomic_load(&allocations) - before, 4);
}

/* ---- Sessions with something to go on from ---- */

enum { SESSIONS = 5, TOKENS = 70 };

/* Of different lengths, so that one is about to begin a page. */
static void open_sessions(struct model *model, struct session **sessions)
{
    static const size_t lengths[SESSIONS] = {5, 63, 64, 100, 1};
    size_t vocabulary = model_facts(model)->vocabulary;
    int32_t ids[100];
    for (size_t i = 0; i < SESSIONS; i++) {
        fill_ids(ids, lengths[i], vocabulary, i);
        sessions[i] = open_session(model);
        assert_int_equal(
            session_prefill(sessions[i], ids, lengths[i], NULL, NULL, NULL), 0);
    }
}

static void close_sessions(struct session **sessions)
{
    for (size_t i = 0; i < SESSIONS; i++)
        session_close(sessions[i]);
}

/* ---- Passes and steps ---- */

static void a_step_reads_as_a_pass(void **state)
{
    (void)state;
    int32_t ids[132];
    for (size_t k = 0; k < DECODERS; k++)
        for (size_t b = 0; b < BACKENDS; b++) {
            struct model *model = open_kind(decoders[k], backend(b));
            fill_ids(ids, 132, model_facts(model)->vocabulary, k);
            for (size_t n = 62; n <= 66; n++)
                check_boundary(decoders[k], model, open_session(model),
                               open_session(model), ids, n);
            for (size_t n = 126; n <= 130; n++)
                check_boundary(decoders[k], model, open_session(model),
                               open_session(model), ids, n);
            model_close(model);
        }
}

/* Several sessions in one pass, in another order each time, and now and then
 * without one of them. */
static void check_steps(const char *kind, struct model *model)
{
    size_t vocabulary = model_facts(model)->vocabulary;
    struct session *alone[SESSIONS], *together[SESSIONS], *batch[SESSIONS];
    int32_t ids[SESSIONS];
    uint64_t seed = 5;
    open_sessions(model, alone);
    open_sessions(model, together);
    for (size_t t = 0; t < TOKENS; t++) {
        size_t count = 0;
        for (size_t i = 0; i < SESSIONS; i++) {
            size_t at = (i + t) % SESSIONS;
            if (at == 3 && t % 7 == 0)
                continue;
            ids[count] = (int32_t)unit_below(&seed, (uint32_t)vocabulary);
            assert_int_equal(
                session_prefill(alone[at], &ids[count], 1, NULL, NULL, NULL),
                0);
            batch[count++] = together[at];
        }
        assert_int_equal(session_decode_batch(batch, ids, count, NULL, NULL),
                         0);
        for (size_t i = 0; i < SESSIONS; i++) {
            assert_int_equal(session_length(together[i]),
                             session_length(alone[i]));
            check_near(kind, session_logits(together[i]),
                       session_logits(alone[i]), vocabulary, 1e-5);
        }
    }
    close_sessions(alone);
    close_sessions(together);
}

static void sessions_step_together_as_alone(void **state)
{
    (void)state;
    for (size_t k = 0; k < DECODERS; k++)
        for (size_t b = 0; b < BACKENDS; b++) {
            struct model *model = open_kind(decoders[k], backend(b));
            check_steps(decoders[k], model);
            model_close(model);
        }
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static void steps_are_all_or_none(void **state)
{
    (void)state;
    struct model *model = open_kind("untied", kernels_cpu());
    struct session *sessions[SESSIONS];
    struct cancel cancel = {.asked = always};
    int32_t ids[SESSIONS] = {1, 2, 3, 4, 5};
    open_sessions(model, sessions);
    assert_int_equal(
        session_decode_batch(sessions, ids, SESSIONS, &cancel, NULL),
        ERR_CANCELLED);
    ids[4] = (int32_t)model_facts(model)->vocabulary;
    assert_int_equal(session_decode_batch(sessions, ids, SESSIONS, NULL, NULL),
                     ERR_USAGE);
    assert_int_equal(session_length(sessions[0]), 5);
    assert_non_null(session_logits(sessions[0]));
    assert_int_equal(session_decode_batch(sessions, ids, 0, NULL, NULL), 0);
    assert_int_equal(
        session_decode_batch(sessions, ids, SESSIONS_MAX + 1, NULL, NULL),
        ERR_USAGE);
    close_sessions(sessions);
    model_close(model);
}

/* ---- No allocation ---- */

static bool is_even(void *context, int32_t id)
{
    (void)context;
    return id % 2 == 0;
}

static const struct sampling ways[] = {{.temperature = 0},
                                       {.only = {is_even, NULL}},
                                       {.temperature = 1.2, .seed = 3},
                                       {.penalty = 1.3,
                                        .temperature = 0.8,
                                        .top_k = 20,
                                        .top_p = 0.9,
                                        .min_p = 0.01,
                                        .seed = 4}};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Chooses for all and steps all; the first time everything grows. */
static void write_tokens(struct session **sessions, size_t count, size_t tokens)
{
    int32_t ids[SESSIONS];
    double logprob;
    for (size_t t = 0; t < tokens; t++) {
        for (size_t i = 0; i < count; i++)
            if (session_choose(sessions[i], &ids[i], &logprob, NULL))
                abort();
        if (session_decode_batch(sessions, ids, count, NULL, NULL))
            abort();
    }
}

static void check_no_allocation(struct model *model, const struct sampling *how)
{
    struct session *sessions[SESSIONS];
    open_sessions(model, sessions);
    for (size_t i = 0; i < SESSIONS; i++) {
        assert_int_equal(session_sampling(sessions[i], how, NULL), 0);
        assert_int_equal(session_reserve(sessions[i], 2 * TOKENS + 1, NULL), 0);
    }
    write_tokens(sessions, SESSIONS, 1);
    size_t before = atomic_load(&allocations);
    write_tokens(sessions, SESSIONS, TOKENS);
    write_tokens(sessions + 1, 1, TOKENS);
    assert_int_equal(atomic_load(&allocations), before);
    close_sessions(sessions);
}

/* The same where sessions choose what they read, or were made to. */
static void check_no_allocation_of(const char *kind, bool exact)
{
    char path[128];
    struct model_options options = {
        .kernels = kernels_cpu(), .exact = exact, .no_tokenizer = true};
    struct session_exact few = {.top_k = 1, .window = 20};
    struct session *session = NULL;
    struct model *model = NULL;
    int32_t ids[200];
    options.pool =
        (struct kernel_pool){pool, pool_parallel_for, pool_threads(pool)};
    snprintf(path, sizeof path, MODELS "%s", kind);
    assert_int_equal(model_open(path, &options, &model, NULL), 0);
    fill_ids(ids, 200, model_facts(model)->vocabulary, 2);
    assert_int_equal(exact ? session_open_exact(model, &few, &session, NULL)
                           : session_open(model, &session, NULL),
                     0);
    assert_int_equal(session_prefill(session, ids, 200, NULL, NULL, NULL), 0);
    assert_int_equal(session_reserve(session, TOKENS + 1, NULL), 0);
    write_tokens(&session, 1, 1);
    size_t before = atomic_load(&allocations);
    write_tokens(&session, 1, TOKENS);
    assert_int_equal(atomic_load(&allocations), before);
    session_close(session);
    model_close(model);
}

static void choosing_allocates_nothing(void **state)
{
    (void)state;
    static const char *const exact[] = {"llama2", "untied", "olmo3"};
    static const char *const made[] = {"hils-olmo", "hils-qwen", "hils-shared",
                                       "star-qwen", "star-olmo", "hici-qwen"};
    if (!GUARDED)
        skip();
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++)
        check_no_allocation_of(exact[i], true);
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        check_no_allocation_of(made[i], false);
}

static size_t at_first, at_last; /* allocations when it came */

static bool note_token(void *context, int32_t id, double logprob)
{
    size_t *count = context;
    (void)id;
    (void)logprob;
    at_last = atomic_load(&allocations);
    if (!(*count)++)
        at_first = at_last;
    return true;
}

/* session_generate takes what it needs before the first token. */
static void check_generate(struct model *model, const struct sampling *how)
{
    static const int32_t ids[] = {5, 6, 7}, none = -1;
    struct generate_options options = {
        .max = TOKENS, .sampling = *how, .eos_ids = &none, .eos_count = 1};
    struct session *session = open_session(model);
    size_t count = 0, made;
    assert_int_equal(session_prefill(session, ids, 3, NULL, NULL, NULL), 0);
    assert_int_equal(
        session_generate(session, &options, note_token, &count, &made, NULL),
        0);
    assert_int_equal(count, TOKENS);
    assert_int_equal(at_last, at_first);
    session_close(session);
}

static void writing_allocates_nothing(void **state)
{
    (void)state;
    if (!GUARDED)
        skip();
    for (size_t k = 0; k < DECODERS; k++) {
        struct model *model = open_kind(decoders[k], kernels_cpu());
        for (size_t w = 0; w < WAYS; w++) {
            check_no_allocation(model, &ways[w]);
            check_generate(model, &ways[w]);
        }
        model_close(model);
    }
}

static void copying_allocates_nothing(void **state)
{
    (void)state;
    static const char text[] = "One thing. Another thing. One more.";
    static const char answer[] = " One more. [1] One thing. Another thing. [1]";
    struct block block = {.text = {text, sizeof text - 1}};
    struct copying_passage passage = {&block, 0, 0, 0, sizeof text - 1};
    if (!GUARDED)
        skip();
    struct copying *copying = copying_open(&passage, 1);
    size_t before = atomic_load(&allocations);
    for (size_t i = 0; i + 1 < sizeof answer; i++) {
        if (!copying_allows(copying, (struct slice){answer + i, 1}) ||
            copying_allows(copying, slice_of("xyz")))
            abort();
        copying_take(copying, (struct slice){answer + i, 1});
    }
    assert_true(copying_may_end(copying));
    assert_int_equal(atomic_load(&allocations), before);
    copying_close(copying);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_guard_sees_allocations),
        cmocka_unit_test(a_step_reads_as_a_pass),
        cmocka_unit_test(sessions_step_together_as_alone),
        cmocka_unit_test(steps_are_all_or_none),
        cmocka_unit_test(writing_allocates_nothing),
        cmocka_unit_test(copying_allocates_nothing),
        cmocka_unit_test(choosing_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
