/* The engine's model: opening it, and exchanging it for what its folder has come
 * to hold. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "daemon/engine_parts.h"

enum { RETRY_MS = 5000 /* least time between two tries to open the model */ };

/* ---- Opening, on the engine's thread ---- */

static void fail_open(struct engine *engine, const char *what,
                      const struct err *cause)
{
    struct err err = {.position = -1};
    bool named = !cause->path[0] || strstr(cause->message, cause->path);
    err_set(&err, ERR_MODEL, "%s: %s%s%s", what, named ? "" : cause->path,
            named ? "" : ": ", cause->message);
    err_at(&err, cause->path[0] ? cause->path : engine->folder);
    err.position = cause->position;
    log_warn("%s", err.message);
    pthread_mutex_lock(&engine->lock);
    engine->err = err;
    engine->may_pass = cause->code == ERR_LIMIT;
    pthread_mutex_unlock(&engine->lock);
}

static int open_folder(struct engine *engine, struct model **ret,
                       struct err *err)
{
    struct model *model;
    int code = engine->pool ? 0 : pool_new(0, &engine->pool, err);
    if (code)
        return code;
    struct model_options options = {
        .kernels = kernels_cpu(),
        .pool = {engine->pool, pool_parallel_for, pool_threads(engine->pool)}};
    code = model_open(engine->folder, &options, &model, err);
    if (code)
        return code;
    if (model_tokenizer(model)) {
        *ret = model;
        return 0;
    }
    model_close(model);
    struct buf path = {0};
    file_join(&path, engine->folder, "tokenizer.json");
    err_set(err, ERR_IO, "there is no %s", path.data);
    err_at(err, path.data);
    buf_free(&path);
    return ERR_IO;
}

void engine_open(struct engine *engine)
{
    struct model *model = NULL;
    struct err err = {.position = -1};
    double start = clock_seconds();
    struct folder_look look = folder_look(engine->folder);
    if (engine->err.code &&
        (clock_ms() - engine->tried_ms < RETRY_MS ||
         (folder_same(look, engine->look) && !engine->may_pass)))
        return;
    if (open_folder(engine, &model, &err))
        fail_open(engine, "the model cannot be used", &err);
    pthread_mutex_lock(&engine->lock);
    engine->tried_ms = clock_ms();
    engine->look = look;
    engine->model = model;
    if (model)
        engine->err = (struct err){.position = -1};
    pthread_mutex_unlock(&engine->lock);
    if (model)
        log_info("model %s: %llu parameters, %s on %s, opened in %.0f ms",
                 engine->folder,
                 (unsigned long long)model_facts(model)->parameters,
                 model_facts(model)->type, model_facts(model)->backend,
                 (clock_seconds() - start) * 1000);
}

/* ---- Another one in its place ---- */

void engine_take_next(struct engine *engine)
{
    struct model *old = engine->model;
    if (!engine->next || engine->holders)
        return;
    engine->model = engine->next;
    engine->look = engine->next_look;
    engine->next = NULL;
    engine->err = (struct err){.position = -1};
    engine->exchanges++;
    pthread_mutex_unlock(&engine->lock);
    model_close(old);
    log_info("model %s: what its folder holds now is in use", engine->folder);
    pthread_mutex_lock(&engine->lock);
}

static int open_next(struct engine_task *task, struct model *model,
                     struct err *err)
{
    struct engine *engine = task->engine;
    struct folder_look look = folder_look(engine->folder);
    struct model *next = NULL, *unused = NULL;
    (void)model;
    int code = open_folder(engine, &next, err);
    if (code)
        fail_open(engine,
                  "the model has changed, and the one before stays in use",
                  err);
    pthread_mutex_lock(&engine->lock);
    if (code) {
        engine->refused = look;
    } else {
        unused = engine->next;
        engine->next = next;
        engine->next_look = look;
        engine_take_next(engine);
    }
    pthread_mutex_unlock(&engine->lock);
    model_close(unused);
    return code;
}

/* Changed, but not still changing; and not what was tried already. */
static bool is_due(struct engine *engine)
{
    struct folder_look look = folder_look(engine->folder);
    pthread_mutex_lock(&engine->lock);
    const struct folder_look *newest =
        engine->next ? &engine->next_look : &engine->look;
    bool due = engine->model && !folder_same(look, *newest) &&
               folder_same(look, engine->seen) &&
               !folder_same(look, engine->refused);
    engine->seen = look;
    pthread_mutex_unlock(&engine->lock);
    return due;
}

uint64_t engine_renew(struct engine *engine)
{
    struct engine_task task = {.run = open_next, .indexing = true};
    if (engine_has_model(engine) && is_due(engine))
        engine_do(engine, &task, NULL);
    pthread_mutex_lock(&engine->lock);
    uint64_t exchanges = engine->exchanges;
    pthread_mutex_unlock(&engine->lock);
    return exchanges;
}

/* ---- What others see of it ---- */

static int do_nothing(struct engine_task *task, struct model *model,
                      struct err *err)
{
    (void)task;
    (void)model;
    (void)err;
    return 0;
}

static struct model *opened(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    struct model *model = engine->model;
    pthread_mutex_unlock(&engine->lock);
    return model;
}

int engine_model(struct engine *engine, const atomic_bool *cancel,
                 const struct model **ret, struct err *err)
{
    struct engine_task task = {
        .run = do_nothing, .brief = true, .cancel = cancel};
    int code = opened(engine) ? 0 : engine_do(engine, &task, err);
    if (!code)
        *ret = opened(engine);
    return code;
}

bool engine_has_model(const struct engine *engine)
{
    return engine->folder;
}

bool engine_ready(struct engine *engine, int64_t most_ms)
{
    int64_t until = clock_ms() + most_ms;
    if (!engine_has_model(engine))
        return false;
    pthread_mutex_lock(&engine->lock);
    if (!engine->model && !atomic_load(&engine->stopping)) {
        engine->wanted = true;
        pthread_cond_signal(&engine->more);
    }
    while (engine->wanted && !engine->model && clock_ms() < until)
        engine_wait(engine, until);
    bool open = engine->model;
    pthread_mutex_unlock(&engine->lock);
    return open;
}

size_t engine_context(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    size_t context = engine->model ? model_facts(engine->model)->context : 0;
    pthread_mutex_unlock(&engine->lock);
    return context;
}

void engine_state(struct engine *engine, struct engine_state *ret)
{
    *ret = (struct engine_state){.folder = engine->folder, .err.position = -1};
    if (!engine_has_model(engine))
        return;
    struct folder_look look = folder_look(engine->folder);
    pthread_mutex_lock(&engine->lock);
    ret->open = engine->model;
    ret->err = engine->err;
    if (engine->model)
        ret->facts = *model_facts(engine->model);
    ret->changed =
        (engine->model || engine->err.code) && !folder_same(look, engine->look);
    pthread_mutex_unlock(&engine->lock);
}
