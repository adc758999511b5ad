/* A device that is lost while several threads work, or has little memory, over a
 * table that is the processor's but for its name: what the emulation of CUDA
 * cannot show, as it knows one thread (test_device.c). */
#include "tests/unit/support/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "daemon/engine/engine.h"

#define MODEL "tests/golden/models/memory"
enum { STOP_MS = 60000, MAX_WIDTH = 64, PLENTY = 1 << 30 };

/* ---- The device ---- */

static struct kernels table;
static atomic_bool is_lost;
static atomic_int left;   /* products until it is lost; below 0: never */
static atomic_int looked; /* how often it was looked for */

static bool device_of(struct kernel_device *ret)
{
    *ret = (struct kernel_device){
        .name = "a test's", .major = 9, .total = PLENTY, .free = PLENTY};
    return !atomic_load(&is_lost);
}

static const char *lost(void)
{
    return atomic_load(&is_lost) ? "it was told to fail" : NULL;
}

/* Counts one more of what it can do so many times. */
static bool is_lost_after(atomic_int *times)
{
    int before = atomic_load(times);
    if (before >= 0 && atomic_fetch_sub(times, 1) <= 0)
        atomic_store(&is_lost, true);
    return atomic_load(&is_lost);
}

static int matmul(struct kernel_run *run, float *out, const float *a,
                  const struct kernel_weight *w, size_t m, bool add)
{
    return is_lost_after(&left) ? KERNEL_DEVICE_FAILED
                                : kernels_cpu()->matmul(run, out, a, w, m, add);
}

static int matmuls(struct kernel_run *run,
                   const struct kernel_product *products, size_t count,
                   const struct kernel_rows *a, size_t m)
{
    return is_lost_after(&left)
               ? KERNEL_DEVICE_FAILED
               : kernels_cpu()->matmuls(run, products, count, a, m);
}

/* Its products are one. */
static int attend_texts(struct kernel_run *run,
                        const struct kernel_text_part *part,
                        const struct kernel_rows *rows, size_t m)
{
    return is_lost_after(&left)
               ? KERNEL_DEVICE_FAILED
               : kernels_cpu()->attend_texts(run, part, rows, m);
}

static atomic_int choices; /* lists of logits until it is lost; as `left` */

static int top_k(struct kernel_run *run, struct kernel_top_k *host_ret,
                 const float *logits, size_t n, float beta)
{
    return is_lost_after(&choices)
               ? KERNEL_DEVICE_FAILED
               : kernels_cpu()->top_k(run, host_ret, logits, n, beta);
}

/* What is allocated, with its size in the line before. */
enum { LINE = 64 };
static atomic_size_t taken, peak, max;

static void *allocate(struct kernel_run *run, size_t bytes)
{
    size_t now = atomic_fetch_add(&taken, bytes) + bytes;
    char *memory = now <= atomic_load(&max)
                       ? kernels_cpu()->allocate(run, bytes + LINE)
                       : NULL;
    if (!memory) {
        atomic_fetch_sub(&taken, bytes);
        return NULL;
    }
    if (now > atomic_load(&peak))
        atomic_store(&peak, now);
    memcpy(memory, &bytes, sizeof bytes);
    return memory + LINE;
}

static void release(struct kernel_run *run, void *memory)
{
    size_t bytes;
    if (!memory)
        return;
    char *line = (char *)memory - LINE;
    memcpy(&bytes, line, sizeof bytes);
    atomic_fetch_sub(&taken, bytes);
    kernels_cpu()->release(run, line);
}

/* Lost where the first vector of a model is uploaded. */
static int lose(struct kernel_run *run, void *to, const void *host,
                size_t bytes)
{
    (void)run;
    (void)to;
    (void)host;
    (void)bytes;
    atomic_store(&is_lost, true);
    return KERNEL_DEVICE_FAILED;
}

static const struct kernels *find(const char **ret_reason)
{
    (void)ret_reason;
    atomic_fetch_add(&looked, 1);
    return &table;
}

static int make_device(void **state)
{
    (void)state;
    table = *kernels_cpu();
    table.name = "cuda";
    table.device = device_of;
    table.lost = lost;
    table.matmul = matmul;
    table.matmuls = matmuls;
    table.attend_texts = attend_texts;
    table.top_k = top_k;
    table.allocate = allocate;
    table.release = release;
    atomic_store(&max, SIZE_MAX);
    atomic_store(&is_lost, false);
    atomic_store(&left, -1);
    atomic_store(&choices, -1);
    return 0;
}

/* ---- The engine ---- */

static struct engine *start_at(const char *folder)
{
    struct engine_options options = {.folder = folder,
                                     .device_name = "cuda",
                                     .find_device = find,
                                     .device_only = true};
    struct engine *engine = NULL;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    assert_true(engine_ready(engine, STOP_MS));
    return engine;
}

static void stop(struct engine *engine)
{
    assert_true(engine_stop(engine, clock_ms() + STOP_MS));
}

static void check_backend(struct engine *engine, const char *backend)
{
    struct engine_state state;
    engine_ref(engine);
    engine_state(engine, &state);
    assert_true(state.open);
    assert_string_equal(state.facts.backend, backend);
    engine_unref(engine);
}

static int ask(struct engine *engine, struct err *err)
{
    struct engine_prompt prompt = {.text = slice_of("A vacuum frees"),
                                   .max = 12};
    struct engine_answer answer = {.text = {0}};
    engine_ref(engine);
    int code = engine_generate(engine, &prompt, &answer, err);
    engine_unref(engine);
    buf_free(&answer.text);
    return code;
}

/* The model on the CPU has taken over, or will within the time. */
static bool answers_soon(struct engine *engine, struct err *err)
{
    int64_t end = clock_ms() + 30000;
    int code;
    while ((code = ask(engine, err)) == ERR_MODEL && clock_ms() < end)
        usleep(50000);
    return !code;
}

/* ---- Who works while it is lost ---- */

struct worker {
    struct engine *engine;
    pthread_t thread;
    bool indexing;
    atomic_size_t failed, done;
};

/* For one who holds the model. */
static int embed(struct worker *worker)
{
    struct engine_embedder e;
    float key[MAX_WIDTH], vector[MAX_WIDTH];
    int32_t ids[] = {5, 6, 7};
    struct embed_text text = {.ids = ids, .count = 3, .soft = EMBED_ALONE};
    engine_embedder(worker->engine, worker->indexing, NULL, &e);
    return worker->indexing ? e.embedder.embed(&e, &text, 1, vector, NULL)
                            : e.embedder.question(&e, "dead rows", key, NULL);
}

/* Until it has failed, and then worked again. */
static void *work(void *context)
{
    struct worker *worker = context;
    int64_t end = clock_ms() + STOP_MS;
    while (clock_ms() < end && !worker->done) {
        engine_ref(worker->engine);
        int code = embed(worker);
        engine_unref(worker->engine);
        worker->failed += code == ERR_MODEL;
        worker->done += !code && worker->failed;
        usleep(1000);
    }
    return NULL;
}

static void all_who_work_go_on(void **state)
{
    (void)state;
    enum { WORKERS = 4 };
    struct worker workers[WORKERS];
    struct engine *engine = start_at(MODEL);
    struct err err = {0};
    assert_int_equal(ask(engine, &err), 0);
    check_backend(engine, "cuda");
    memset(workers, 0, sizeof workers);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i].engine = engine;
        workers[i].indexing = i % 2;
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    engine_ref(engine); /* so that each of them fails */
    atomic_store(&left, 50);
    int64_t end = clock_ms() + STOP_MS;
    for (size_t i = 0; i < WORKERS; i++)
        while (!workers[i].failed && clock_ms() < end)
            usleep(1000);
    engine_unref(engine);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        assert_true(workers[i].failed && workers[i].done);
    assert_int_equal(ask(engine, &err), 0);
    check_backend(engine, "cpu");
    stop(engine);
}

/* One question after the other, so that somebody always holds the model. */
static void *hold_on(void *context)
{
    struct worker *worker = context;
    int64_t end = clock_ms() + STOP_MS;
    while (clock_ms() < end && !worker->done) {
        engine_ref(worker->engine);
        usleep(20000);
        worker->done += worker->failed && !embed(worker);
        worker->failed += atomic_load(&is_lost);
        engine_unref(worker->engine);
    }
    return NULL;
}

static void those_who_come_let_the_cpu_in(void **state)
{
    (void)state;
    enum { WORKERS = 16 };
    struct worker workers[WORKERS];
    struct engine *engine = start_at(MODEL);
    struct err err = {0};
    memset(workers, 0, sizeof workers);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i].engine = engine;
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, hold_on, &workers[i]), 0);
    }
    atomic_store(&left, 0);
    assert_int_equal(ask(engine, &err), ERR_MODEL);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < WORKERS; i++)
        assert_true(workers[i].done);
    check_backend(engine, "cpu");
    stop(engine);
}

/* ---- The CPU cannot take over at once ---- */

static char folder[256], aside[300];

static int make_folder(void **state)
{
    char command[700];
    snprintf(folder, sizeof folder, "%s", unit_folder());
    snprintf(aside, sizeof aside, "%s-aside", folder);
    snprintf(command, sizeof command, "cp " MODEL "/* '%s'", folder);
    assert_int_equal(system(command), 0);
    return make_device(state);
}

static int end_folder(void **state)
{
    (void)state;
    unit_folder_remove(folder);
    return 0;
}

/* The folder is gone while the model on the CPU is opened, and is then there as
 * before. */
static void what_could_not_take_over_is_tried_again(void **state)
{
    (void)state;
    struct engine *engine = start_at(folder);
    struct engine_state state_of;
    struct err err = {0};
    assert_int_equal(rename(folder, aside), 0);
    atomic_store(&left, 3);
    assert_int_equal(ask(engine, &err), ERR_MODEL);
    int64_t end = clock_ms() + 30000;
    do {
        engine_state(engine, &state_of);
    } while (!state_of.err.code && clock_ms() < end);
    assert_non_null(strstr(state_of.err.message, "cannot take over"));
    assert_int_equal(rename(aside, folder), 0);
    if (!answers_soon(engine, &err))
        fail_msg("%s", err.message);
    check_backend(engine, "cpu");
    stop(engine);
}

/* ---- Other errors, and the end ---- */

static void lost_while_a_model_is_opened(void **state)
{
    (void)state;
    struct engine_state state_of;
    struct err err = {0};
    table.upload = lose;
    struct engine *engine = start_at(MODEL);
    check_backend(engine, "cpu");
    engine_state(engine, &state_of);
    assert_string_equal(state_of.device_note,
                        "the GPU has failed: it was told to fail");
    assert_int_equal(ask(engine, &err), 0);
    stop(engine);
}

/* The pass was fine, and its logits cannot be looked at. */
static void lost_while_a_token_is_chosen(void **state)
{
    (void)state;
    for (int chosen = 0; chosen < 3; chosen++) {
        make_device(NULL);
        struct engine *engine = start_at(MODEL);
        struct err err = {0};
        assert_int_equal(ask(engine, &err), 0);
        atomic_store(&choices, chosen);
        assert_int_equal(ask(engine, &err), ERR_MODEL);
        assert_non_null(strstr(err.message, "the GPU has failed"));
        if (!answers_soon(engine, &err))
            fail_msg("%s", err.message);
        check_backend(engine, "cpu");
        stop(engine);
    }
}

static void another_folder_has_errors_of_its_own(void **state)
{
    (void)state;
    struct engine *engine = start_at(MODEL);
    struct err err = {0};
    engine_ref(engine); /* so that the model stays */
    atomic_store(&left, 0);
    assert_int_equal(ask(engine, &err), ERR_MODEL);
    assert_non_null(strstr(err.message, "the GPU has failed"));
    assert_int_equal(engine_use(engine, "/nowhere/at/all", &err), ERR_MODEL);
    if (!strstr(err.message, "/nowhere/at/all"))
        fail_msg("%s", err.message);
    engine_unref(engine);
    stop(engine);
}

struct ending {
    struct engine *engine;
    int looked;
};

/* Between two tokens: the device is lost, and the daemon is told to stop. */
static bool end_all(void *context, struct slice text)
{
    struct ending *ending = context;
    (void)text;
    ending->looked = atomic_load(&looked);
    atomic_store(&is_lost, true);
    engine_cancel(ending->engine);
    return true;
}

/* The pass after that one still works, as a device's does that fails at its
 * end. */
static int product_once_more(struct kernel_run *run, float *out, const float *a,
                             const struct kernel_weight *w, size_t m, bool add)
{
    return kernels_cpu()->matmul(run, out, a, w, m, add);
}

static void who_stops_opens_no_model(void **state)
{
    (void)state;
    table.matmul = product_once_more;
    struct ending ending = {.engine = start_at(MODEL)};
    struct engine_prompt prompt = {.text = slice_of("A vacuum frees"),
                                   .max = 12,
                                   .sampling = {.temperature = 1, .seed = 3},
                                   .piece = end_all,
                                   .context = &ending};
    struct engine_answer answer = {.text = {0}};
    assert_int_equal(engine_generate(ending.engine, &prompt, &answer, NULL),
                     ERR_CANCELLED);
    stop(ending.engine);
    assert_true(ending.looked > 0);
    assert_int_equal(atomic_load(&looked), ending.looked);
}

/* ---- Little memory ---- */

/* A prompt of 200 tokens that begins as no other `seed` does. */
static int ask_long(struct engine *engine, int32_t seed, struct err *err)
{
    int32_t ids[200];
    struct engine_prompt prompt = {
        .before = ids, .before_count = 200, .text = slice_of("."), .max = 4};
    struct engine_answer answer = {.text = {0}};
    for (int32_t i = 0; i < 200; i++)
        ids[i] = 10 + (i + seed) % 50;
    int code = engine_generate(engine, &prompt, &answer, err);
    buf_free(&answer.text);
    return code;
}

/* Beginnings that are kept take no room that a question needs. */
static void beginnings_make_room(void **state)
{
    (void)state;
    enum { QUESTIONS = 12 };
    struct engine *engine = start_at(MODEL);
    struct err err = {0};
    atomic_store(&peak, 0);
    assert_int_equal(ask_long(engine, 0, &err), 0);
    size_t alone = atomic_load(&peak);
    for (int32_t i = 1; i < QUESTIONS; i++)
        assert_int_equal(ask_long(engine, i, &err), 0);
    assert_true(atomic_load(&peak) > alone);
    stop(engine);
    assert_int_equal(atomic_load(&taken), 0);
    atomic_store(&max, alone);
    engine = start_at(MODEL);
    for (int32_t i = 0; i < QUESTIONS; i++)
        if (ask_long(engine, i, &err))
            fail_msg("%d: %s", (int)i, err.message);
    atomic_store(&max, alone / 2);
    assert_int_equal(ask_long(engine, QUESTIONS, &err), ERR_LIMIT);
    stop(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_who_work_go_on, make_device),
        cmocka_unit_test_setup(those_who_come_let_the_cpu_in, make_device),
        cmocka_unit_test_setup_teardown(what_could_not_take_over_is_tried_again,
                                        make_folder, end_folder),
        cmocka_unit_test_setup(lost_while_a_model_is_opened, make_device),
        cmocka_unit_test_setup(lost_while_a_token_is_chosen, make_device),
        cmocka_unit_test_setup(another_folder_has_errors_of_its_own,
                               make_device),
        cmocka_unit_test_setup(who_stops_opens_no_model, make_device),
        cmocka_unit_test_setup(beginnings_make_room, make_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
