#include "tests/simulation/service.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "daemon/engine/engine.h"
#include "daemon/following.h"
#include "daemon/jobs/jobs.h"
#include "daemon/verbs/verbs.h"
#include "tests/simulation/fibres.h"
#include "tests/simulation/outside.h"

#define MODEL "tests/golden/models/memory"

enum { STORE_BYTES = 64 << 20 };
enum { SEGMENT_TOKENS = 256, SWEEP_SECONDS = 300, POLL_SECONDS = 30 };

static void must(int code, const struct err *err, const char *what)
{
    if (code)
        simulation_fails("%s: %s", what, err->message);
}

static void no_wake(void *context)
{
    (void)context;
}

static void open_store(struct service *service)
{
    struct err err;
    struct daemon *daemon = &service->daemon;
    struct store_options options = {.folder = service->store,
                                    .max_bytes = STORE_BYTES};
    struct engine_options none = {.folder = NULL};
    struct engine_options memories = {.folder = world.model ? MODEL : NULL};
    must(store_open(&options, &daemon->store, &err), &err, "open");
    must(library_open(daemon->store, &daemon->library, &err), &err, "library");
    must(engine_start(&memories, &daemon->engine, &err), &err, "engine");
    must(engine_start(&none, &daemon->answer_engine, &err), &err, "engine");
    must(engine_start(&none, &daemon->rank_engine, &err), &err, "engine");
}

static void configure(struct service *service, enum config_key key,
                      unsigned number)
{
    struct err err;
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    must(config_set(&service->config, key, text, &err), &err, "configure");
}

static void start_threads(struct service *service)
{
    struct err err;
    struct daemon *daemon = &service->daemon;
    must(config_load(&service->config, "/dev/null", &err), &err, "configure");
    configure(service, CONFIG_SEGMENT_TOKENS, SEGMENT_TOKENS);
    configure(service, CONFIG_SWEEP_SECONDS, SWEEP_SECONDS);
    configure(service, CONFIG_POLL_SECONDS, POLL_SECONDS);
    configure(service, CONFIG_PARSERS, 1 + (unsigned)chance_below(3));
    must(following_new(daemon, &service->config, no_wake, NULL, &err), &err,
         "following");
    must(jobs_start(daemon->jobs, &err), &err, "jobs");
    must(watching_start(daemon, &service->loop, &service->watching, &err), &err,
         "watching");
    service->loop_fibre = fibre_start(loop_run, NULL);
}

static void start(struct service *service)
{
    service->daemon = (struct daemon){0};
    service->looked = false;
    simulation_says("the daemon starts");
    loop_begin();
    events_begin();
    open_store(service);
    start_threads(service);
}

static void add(struct service *service, struct followed *manual)
{
    struct err err;
    struct manual record;
    const struct registering asked = {.folder = {.path = manual->root},
                                      .name = manual->name};
    must(index_register(service->daemon.store, &asked, &record, &err), &err,
         "add");
    manual->id = record.id;
    manual_free(&record);
    jobs_update(service->daemon.jobs, manual->id, manual->name, false);
}

void service_start(struct service *service, const char *store,
                   const char *const *roots, unsigned count)
{
    *service = (struct service){.count = count};
    snprintf(service->store, sizeof service->store, "%s", store);
    start(service);
    for (unsigned i = 0; i < count; i++) {
        struct followed *manual = &service->manuals[i];
        snprintf(manual->name, sizeof manual->name, "m%u", i % 10);
        snprintf(manual->root, sizeof manual->root, "%s", roots[i]);
        add(service, manual);
    }
}

static void stop_loop(struct service *service)
{
    watching_stop(service->watching);
    loop_end();
    while (!fibre_has_ended(service->loop_fibre))
        fibre_sleep(MS);
    fibre_forget(service->loop_fibre);
    watching_free(service->watching);
}

void service_stop(struct service *service)
{
    struct daemon *daemon = &service->daemon;
    simulation_says("the daemon stops");
    stop_loop(service);
    int64_t deadline = clock_ms() + 3600 * 1000;
    jobs_cancel(daemon->jobs);
    engine_cancel(daemon->engine);
    if (!jobs_stop(daemon->jobs, deadline) ||
        !engine_stop(daemon->engine, deadline) ||
        !engine_stop(daemon->answer_engine, deadline) ||
        !engine_stop(daemon->rank_engine, deadline))
        simulation_fails("a thread does not end");
    following_free(daemon);
    config_free(&service->config);
    library_close(daemon->library);
    store_close(daemon->store);
}

void service_restart(struct service *service,
                     void (*meanwhile)(struct service *service))
{
    service_stop(service);
    meanwhile(NULL);
    start(service);
}

/* The file as it is at this moment, between two calls to the outside: nobody writes, since
 * who does is not interrupted. */
static void keep_store(const struct service *service, struct buf *ret)
{
    struct err err;
    char path[224];
    snprintf(path, sizeof path, "%s/data.mdb", service->store);
    fibre_holds(1);
    must(file_read(path, STORE_BYTES, ret, &err), &err, "kept");
    fibre_holds(-1);
}

/* What it does while it stops is in a file that is thrown away. */
void service_killed(struct service *service,
                    void (*meanwhile)(struct service *service))
{
    struct err err;
    struct buf kept = {0};
    char path[224];
    simulation_says("the daemon is killed");
    keep_store(service, &kept);
    service_stop(service);
    snprintf(path, sizeof path, "%s/data.mdb", service->store);
    must(file_write(path, buf_slice(&kept), &err), &err, "kept");
    buf_free(&kept);
    meanwhile(NULL);
    start(service);
}

void service_hears(struct service *service)
{
    watching_read(service->watching);
}

static cJSON *ask_status(struct service *service)
{
    struct err err = {.position = -1};
    struct buf result = {0};
    struct json json = json_to(&result);
    struct call call = {.daemon = &service->daemon};
    must(verb_status(&call, &json, &err), &err, "status");
    buf_put_byte(&result, '\0');
    cJSON *status = cJSON_Parse(result.data);
    buf_free(&result);
    return status;
}

static bool is_text(const cJSON *object, const char *name, const char *text)
{
    return !strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(object, name)),
                   text);
}

static bool is_idle(const cJSON *manual)
{
    return cJSON_IsFalse(cJSON_GetObjectItem(manual, "stale")) &&
           is_text(manual, "state", "idle");
}

bool service_is_current(struct service *service)
{
    cJSON *status = ask_status(service);
    const cJSON *manuals = cJSON_GetObjectItem(status, "manuals"), *manual;
    bool current = is_text(status, "state", "idle") &&
                   cJSON_GetArraySize(manuals) == (int)service->count;
    cJSON_ArrayForEach (manual, manuals)
        current = current && is_idle(manual);
    simulation_says("status: %s", current ? "current" : "not current");
    cJSON_Delete(status);
    service->looked = service->looked || current;
    return current;
}

bool service_answers_currently(struct service *service)
{
    bool current = service->looked;
    for (unsigned i = 0; i < service->count; i++)
        current = current &&
                  jobs_is_current(service->daemon.jobs, service->manuals[i].id);
    return current;
}

bool service_has_memories(struct service *service)
{
    cJSON *status = ask_status(service);
    const cJSON *manual;
    bool current = true;
    cJSON_ArrayForEach (manual, cJSON_GetObjectItem(status, "manuals"))
        current = current && is_text(manual, "memories", "current");
    cJSON_Delete(status);
    return current;
}

static struct followed *some_manual(struct service *service)
{
    return &service->manuals[chance_below(service->count)];
}

void service_update(struct service *service, bool force)
{
    const struct followed *manual = some_manual(service);
    simulation_says("update%s %s", force ? " --force" : "", manual->name);
    jobs_update(service->daemon.jobs, manual->id, manual->name, force);
}

void service_retry(struct service *service)
{
    simulation_says("retry");
    for (unsigned i = 0; i < service->count; i++)
        jobs_retry(service->daemon.jobs, service->manuals[i].id,
                   service->manuals[i].name);
}

static void run(struct service *service, verb_run *verb, const char *key,
                const char *value, const char *name)
{
    struct err err = {.position = -1};
    struct buf result = {0};
    struct json json = json_to(&result);
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, key, value);
    if (name)
        cJSON_AddStringToObject(params, "name", name);
    struct call call = {.daemon = &service->daemon, .params = params};
    must(verb(&call, &json, &err), &err, "verb");
    cJSON_Delete(params);
    buf_free(&result);
}

void service_again(struct service *service, void (*meanwhile)(void))
{
    struct err err;
    struct store_txn *txn;
    struct manual record;
    struct followed *manual = some_manual(service);
    simulation_says("rm and add %s", manual->name);
    run(service, verb_rm, "manual", manual->name, NULL);
    meanwhile();
    run(service, verb_add, "dir", manual->root, manual->name);
    must(store_read(service->daemon.store, &txn, &err), &err, "read");
    must(store_find_manual(txn, manual->name, &record, &err), &err, "add");
    store_end(txn);
    manual->id = record.id;
    service->looked = false;
    manual_free(&record);
}

void service_rests(struct service *service, int64_t ns)
{
    struct err err;
    simulation_says("held");
    if (jobs_hold(service->daemon.jobs, NULL, &err))
        return;
    fibre_sleep(ns);
    jobs_go_on(service->daemon.jobs);
}
