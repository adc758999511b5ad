/* Roles with real models, made of random numbers. */
#include "tests/unit/support/unit.h"

#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "daemon/roles.h"

#define MEMORY "tests/golden/models/memory"
#define TIED   "tests/golden/models/tied"
#define UNTIED "tests/golden/models/untied"
enum { STOP_MS = 20000, WAIT_MS = 20000 };

/* A daemon of both engines alone. */
struct fixture {
    struct config config;
    struct daemon daemon;
};

static void start(struct fixture *f, const char *model, const char *answers)
{
    memset(f, 0, sizeof *f);
    setenv("XDG_CONFIG_HOME", "/nowhere", 1);
    assert_int_equal(config_load(&f->config, NULL, NULL), 0);
    assert_int_equal(config_set(&f->config, CONFIG_MODEL, model, NULL), 0);
    if (answers)
        assert_int_equal(
            config_set(&f->config, CONFIG_ANSWER_MODEL, answers, NULL), 0);
    struct engine_options options = {.folder = NULL};
    assert_int_equal(roles_start(&f->daemon, &f->config, options, NULL), 0);
}

static void stop(struct fixture *f)
{
    assert_true(roles_stop(&f->daemon, clock_ms() + STOP_MS));
    config_free(&f->config);
}

static bool is_of(struct engine *engine, const char *model)
{
    struct engine_state state;
    engine_ref(engine); /* the folder's name lives as long */
    engine_state(engine, &state);
    const char *at = state.folder ? strstr(state.folder, model) : NULL;
    bool is = at && !strcmp(at, model);
    engine_unref(engine);
    return is;
}

static void wait_until(struct fixture *f, const char *memories,
                       const char *answers)
{
    int64_t end = clock_ms() + WAIT_MS;
    while (!(is_of(f->daemon.engine, memories) &&
             is_of(roles_answers(&f->daemon), answers))) {
        assert_true(clock_ms() < end);
        usleep(10000);
    }
}

static char *absolute(const char *path)
{
    return realpath(path, NULL);
}

static int use(struct fixture *f, enum config_role role, const char *path)
{
    char *folder = path[0] ? absolute(path) : NULL;
    int code = roles_use(&f->daemon, role, folder ? folder : "", NULL);
    free(folder);
    return code;
}

static void one_model_has_both_roles_and_is_held_once(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, MEMORY, NULL);
    assert_false(roles_differ(&f.daemon));
    assert_ptr_equal(roles_answers(&f.daemon), f.daemon.engine);
    assert_false(engine_has_model(f.daemon.answer_engine));
    stop(&f);
    start(&f, MEMORY, MEMORY);
    assert_false(roles_differ(&f.daemon));
    stop(&f);
    start(&f, MEMORY, TIED);
    assert_true(roles_differ(&f.daemon));
    assert_true(is_of(roles_answers(&f.daemon), TIED));
    assert_int_equal(use(&f, ROLE_ANSWERS, MEMORY), 0);
    wait_until(&f, MEMORY, MEMORY);
    assert_ptr_equal(roles_answers(&f.daemon), f.daemon.engine);
    stop(&f);
}

/* Between roles_ref and roles_unref, as in a request, the same model answers, which
 * is there. */
static void a_request_keeps_who_answers(void **state)
{
    (void)state;
    struct fixture f;
    size_t tokens;
    start(&f, MEMORY, NULL);
    assert_true(engine_ready(f.daemon.engine, WAIT_MS));
    roles_ref(&f.daemon);
    assert_int_equal(use(&f, ROLE_ANSWERS, TIED), 0);
    assert_true(is_of(roles_answers(&f.daemon), MEMORY));
    assert_int_equal(
        engine_count(roles_answers(&f.daemon), slice_of("a"), &tokens, NULL),
        0);
    roles_unref(&f.daemon);
    wait_until(&f, MEMORY, TIED);
    roles_ref(&f.daemon);
    assert_int_equal(use(&f, ROLES, MEMORY), 0);
    assert_true(is_of(roles_answers(&f.daemon), TIED));
    roles_unref(&f.daemon);
    wait_until(&f, MEMORY, MEMORY);
    stop(&f);
}

static void a_role_may_be_nobodys(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, MEMORY, "none");
    assert_true(roles_differ(&f.daemon));
    assert_false(engine_has_model(roles_answers(&f.daemon)));
    assert_int_equal(use(&f, ROLE_ANSWERS, TIED), 0);
    wait_until(&f, MEMORY, TIED);
    assert_int_equal(use(&f, ROLE_MEMORIES, ""), 0);
    int64_t end = clock_ms() + WAIT_MS;
    while (engine_has_model(f.daemon.engine) && clock_ms() < end)
        usleep(10000);
    assert_false(engine_has_model(f.daemon.engine));
    assert_true(is_of(roles_answers(&f.daemon), TIED));
    assert_int_equal(use(&f, ROLE_ANSWERS, ""), 0);
    while (engine_has_model(roles_answers(&f.daemon)) && clock_ms() < end)
        usleep(10000);
    assert_false(engine_has_model(roles_answers(&f.daemon)));
    assert_false(roles_differ(&f.daemon));
    stop(&f);
}

/* The model that had both roles keeps that of answers. */
static void other_memories_leave_the_answers(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, MEMORY, NULL);
    assert_int_equal(use(&f, ROLE_MEMORIES, TIED), 0);
    wait_until(&f, TIED, MEMORY);
    assert_int_equal(use(&f, ROLE_MEMORIES, MEMORY), 0);
    wait_until(&f, MEMORY, MEMORY);
    assert_int_equal(use(&f, ROLE_MEMORIES, "tests/golden"), ERR_MODEL);
    assert_true(is_of(f.daemon.engine, MEMORY));
    assert_true(is_of(roles_answers(&f.daemon), MEMORY));
    stop(&f);
}

/* What is still to come counts, not what goes. */
static void one_change_follows_another(void **state)
{
    (void)state;
    struct fixture f;
    start(&f, MEMORY, NULL);
    roles_ref(&f.daemon);
    assert_int_equal(use(&f, ROLE_ANSWERS, TIED), 0);
    assert_int_equal(use(&f, ROLE_MEMORIES, UNTIED), 0);
    roles_unref(&f.daemon);
    wait_until(&f, UNTIED, TIED);
    roles_ref(&f.daemon);
    assert_int_equal(use(&f, ROLE_MEMORIES, TIED), 0);
    assert_int_equal(use(&f, ROLE_MEMORIES, MEMORY), 0);
    roles_unref(&f.daemon);
    wait_until(&f, MEMORY, TIED);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_model_has_both_roles_and_is_held_once),
        cmocka_unit_test(a_request_keeps_who_answers),
        cmocka_unit_test(a_role_may_be_nobodys),
        cmocka_unit_test(other_memories_leave_the_answers),
        cmocka_unit_test(one_change_follows_another),
    };
    return cmocka_run_group_tests_name("roles", tests, NULL, NULL);
}
